"""Puts a function in front of one that is no Python function, in its module, while a thread records.

Other code than Swap's: a builtin has no code to exchange, so whoever took it from its module before keeps the original,
to which a stand-in becomes real.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import BuiltinFunctionType, MethodDescriptorType
from typing import Any

from ....plan.originals import exchanged
from .swap import LeftAloneError

__all__ = ["Front"]


class Front:
    """A builtin of a module or class, and what stands in front of it.

    Raises LeftAloneError if the name leads to something else.
    """

    def __init__(self, module: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        original = vars(module).get(name)
        if type(original) not in (BuiltinFunctionType, MethodDescriptorType):
            raise LeftAloneError("it is no builtin of the library's, or was replaced")
        self._module, self._name = module, name
        self._original: Any = original
        self._front = make(self._original)
        # Pickled, it is the function's name.
        functools.update_wrapper(self._front, self._original)
        self._front.__module__, self._front.__qualname__ = module.__name__, name
        exchanged[id(self._front)] = self._original

    def install(self) -> None:
        """From now on the module's name leads to ours, unless somebody else has changed it."""
        if vars(self._module).get(self._name) is self._original:
            setattr(self._module, self._name, self._front)

    def undo(self) -> None:
        """Puts the function back, unless somebody else has changed it meanwhile."""
        if vars(self._module).get(self._name) is self._front:
            setattr(self._module, self._name, self._original)
