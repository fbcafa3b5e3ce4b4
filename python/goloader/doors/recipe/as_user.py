"""Calls of libraries' functions that look as if the user's code had made them, which called us.

It imports no library: hooks are looked at where there is none.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FrameType, FunctionType
from typing import Any

from ...plan.trust.originals import exchanged

# What the function is called, in tracebacks, that as_user puts between the user's code and a library's.
AS_USER = "as_user"
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
_LINES_MAX = 10_000
_lines: dict[tuple[int, int], tuple[CodeType, Callable[..., Any]]] = {}
_call = lambda function, arguments, options: function(*arguments, **options)  # noqa: E731


def as_user(function: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
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
