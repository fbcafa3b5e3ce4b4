"""Puts a function in front of one that is no Python function, in its module, while a thread records.

Other code than Swap's: a builtin has no code to exchange, so whoever took it from its module before keeps the original,
to which a stand-in becomes real.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from operator import is_
from types import BuiltinFunctionType, MethodDescriptorType, ModuleType
from typing import Any

from ....plan.trust.originals import exchanged
from .swap import LeftAloneError

# A function -> what stands in front of it.
Make = Callable[[Callable[..., Any]], Callable[..., Any]]


class Front:
    """A builtin of a module or class, and what stands in front of it.

    Raises LeftAloneError if the name leads to something else.
    """

    def __init__(self, module: Any, name: str, make: Make) -> None:
        original = vars(module).get(name)
        if type(original) not in (BuiltinFunctionType, MethodDescriptorType):
            raise LeftAloneError("it is no builtin of the library's, or was replaced")
        self.module, self.name = module, name
        self.original: Any = original
        self.front = make(self.original)
        # Pickled, it is the function's name.
        functools.update_wrapper(self.front, self.original)
        self.front.__module__, self.front.__qualname__ = module.__name__, name
        exchanged[id(self.front)] = self.original


class Fronts:
    """All of one module or class, which are exchanged together: OpenCV has hundreds, and each batch does it twice."""

    def __init__(self, fronts: Iterable[Front]) -> None:
        several = tuple(fronts)
        self._module = several[0].module
        self._originals = {each.name: each.original for each in several}
        self._fronts = {each.name: each.front for each in several}

    def install(self) -> None:
        """From now on the module's names lead to ours, but for those that somebody else has changed."""
        self._exchange(self._originals, self._fronts)

    def undo(self) -> None:
        """Puts the functions back, but for those that somebody else has changed meanwhile."""
        self._exchange(self._fronts, self._originals)

    def _exchange(self, old: dict[str, Any], new: dict[str, Any]) -> None:
        names = vars(self._module)
        if type(self._module) is ModuleType and all(map(is_, map(names.get, old), old.values())):
            names.update(new)
            return
        for name, was in old.items():
            if names.get(name) is was:
                setattr(self._module, name, new[name])
