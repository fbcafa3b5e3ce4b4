"""Puts a function in front of another by exchanging its code, so that every name that anybody gave it leads to ours."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

__all__ = ["Swap"]


class Swap:
    """A Python function, and what stands in front of it while it is installed.

    original  the function as it was, under another identity: calling it never meets the replacement
    """

    def __init__(self, function: Any, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        if not isinstance(function, FunctionType):
            raise TypeError(f"{function!r} is no plain function")
        self._function = function
        self._code: CodeType = function.__code__
        self.original = FunctionType(
            function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
        )
        self.original.__kwdefaults__ = function.__kwdefaults__
        self._replacement = make(self.original)
        self._key = f"__goloader_{function.__qualname__.replace('.', '_')}"
        self._front = _front(function, self._key)

    def install(self) -> None:
        """From now on callers of the function get the replacement."""
        self._function.__globals__[self._key] = self._replacement
        self._function.__code__ = self._front

    def undo(self) -> None:
        """Puts the function back as it was, unless somebody else has changed it meanwhile."""
        if self._function.__code__ is self._front:
            self._function.__code__ = self._code


def _front(function: FunctionType, key: str) -> CodeType:
    """Code with the function's own parameters and closure that calls what its module knows as `key`."""
    declared, passed = [], []
    star = False
    for name, parameter in inspect.signature(function, follow_wrapped=False).parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            declared.append(f"*{name}")
            passed.append(f"*{name}")
            star = True
        elif parameter.kind is parameter.VAR_KEYWORD:
            declared.append(f"**{name}")
            passed.append(f"**{name}")
        elif parameter.kind is parameter.KEYWORD_ONLY:
            if not star:
                declared.append("*")
                star = True
            declared.append(name)
            passed.append(f"{name}={name}")
        else:
            declared.append(name)
            passed.append(name)
    # Code is exchanged only for such as has the same names of a closure.
    closed = ", ".join(function.__code__.co_freevars)
    text = f"def make({closed}):\n def {function.__name__}({', '.join(declared)}):\n"
    text += f"  if 0: {closed or 0}\n  return {key}({', '.join(passed)})\n return {function.__name__}\n"
    scope: dict[str, Any] = {}
    exec(compile(text, "<goloader hook>", "exec"), scope)
    code: CodeType = scope["make"](*function.__code__.co_freevars).__code__
    return code
