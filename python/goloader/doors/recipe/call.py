"""Calls that a user's code makes with stand-ins among the arguments: how they reach our functions, and are noted.

What our functions do not know, they answer with None; then the stand-ins become real, and the call is the library's.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

from ...plan.originals import exchanged
from . import switch
from .constant import Constant, constant
from .value import View

__all__ = ["AS_USER", "Noted", "as_user", "attempt", "by_place", "note"]

Options = Mapping[str, Any]


def attempt(function: Callable[..., Any], arguments: Sequence[Any], options: Options) -> Any:
    """What one of our functions says to a call; None as well if it does not take such arguments."""
    try:
        return function(*arguments, **options)
    except TypeError:
        if _takes(function, arguments, options):
            raise
        return None


def _takes(function: Callable[..., Any], arguments: Sequence[Any], options: Options) -> bool:
    try:
        inspect.signature(function).bind(*arguments, **options)
    except TypeError:
        return False
    return True


def by_place(
    parameters: Sequence[str], arguments: Sequence[Any], options: Options
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call whose parameters are called so: by place as far as they go, the others by keyword."""
    placed, left = list(arguments), dict(options)
    for name in parameters[len(placed) :]:
        if name not in left:
            break
        placed.append(left.pop(name))
    return tuple(placed), left


# What the function is called, in tracebacks, that as_user puts between the user's code and a library's.
AS_USER = "as_user"
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
_LINES_MAX = 10_000
_lines: dict[tuple[int, int], tuple[CodeType, Callable[..., Any]]] = {}
_call = lambda function, arguments, options: function(*arguments, **options)  # noqa: E731


def as_user(function: Callable[..., Any], arguments: Sequence[Any], options: Options) -> Any:
    """Calls a library's function as if from the line of the user's code that has called us.

    So its warnings name that line, and come as often as without us: Python counts them by the caller's module and line.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (frame.f_code.co_filename.startswith(_PACKAGE) or id(frame.f_code) in exchanged):
        frame = frame.f_back
    if frame is None:
        return function(*arguments, **options)
    code, line = frame.f_code, frame.f_lineno or frame.f_code.co_firstlineno
    known = _lines.get((id(code), line))
    if known is None:
        here = _call.__code__.replace(co_filename=code.co_filename, co_firstlineno=line, co_name=AS_USER)
        if len(_lines) >= _LINES_MAX:
            _lines.clear()
        known = _lines[id(code), line] = code, FunctionType(here, frame.f_globals)
    return known[1](function, arguments, options)


class Noted(NamedTuple):
    """A call.

    key     of its constants: with the same function and an equal key it does the same to the views
    views   what its stand-ins show, in their order
    others  extents of arrays among the constants
    run     the call, of the real arrays or tensors that the views are
    """

    key: tuple[Hashable, ...]
    views: list[View]
    others: list[tuple[int, ...]]
    run: Callable[..., Any]


def note(
    function: Callable[..., Any],
    arguments: Sequence[Any],
    options: Options,
    kind: Any,
    view_of: Callable[[Any], View],
    arrays: tuple[type, ...],
) -> Noted | None:
    """Notes `function(*arguments, **options)`; None if it cannot be, and where this thread does not record.

    arguments  may be noted already, as Constants
    kind     of stand-ins, and view_of what one shows
    arrays   of constants that are spread over an array
    """
    if switch.current() is None:
        return None
    views: list[View] = []
    keys: list[Hashable] = []
    others: list[tuple[int, ...]] = []
    template: list[Any] = []
    for argument in arguments:
        if isinstance(argument, kind):
            if argument.memory.real is not None:
                return None
            views.append(view_of(argument))
            keys.append("view")
            template.append(None)
            continue
        noted = argument if isinstance(argument, Constant) else constant(argument)
        if noted is None:
            return None
        keys.append(noted.key)
        template.append(noted)
        if isinstance(noted.value, arrays):
            others.append(noted.shape)
    for option, value in options.items():
        noted = constant(value)
        if noted is None or isinstance(noted.value, arrays):
            return None
        keys.append((option, noted.key))

    def run(*real: Any) -> Any:
        left = iter(real)
        return function(*(next(left) if each is None else each.value for each in template), **options)

    return Noted(tuple(keys), views, others, run) if views else None
