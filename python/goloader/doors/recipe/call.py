"""Calls that a user's code makes with stand-ins among the arguments: how they reach our functions, and are noted.

What our functions do not know, they answer with None; then the stand-ins become real, and the call is the library's.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from . import switch
from .constant import Constant, constant
from .value import View

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
