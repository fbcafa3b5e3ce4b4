"""Puts a function in front of one that is no Python function, in its module, while a thread records.

Other code than Swap's: a builtin has no code to exchange, so whoever took it from its module before keeps the original,
to which a stand-in becomes real.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["Front"]


class Front:
    """A module's function, and what stands in front of it.

    original  as it was
    """

    def __init__(self, module: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        self._module, self._name = module, name
        self.original: Callable[..., Any] = getattr(module, name)
        self._front = make(self.original)
        # Pickled, it is the function's name.
        functools.update_wrapper(self._front, self.original)
        self._front.__module__, self._front.__qualname__ = module.__name__, name

    def install(self) -> None:
        """From now on the module's name leads to ours, unless somebody else has changed it."""
        if getattr(self._module, self._name) is self.original:
            setattr(self._module, self._name, self._front)

    def undo(self) -> None:
        """Puts the function back, unless somebody else has changed it meanwhile."""
        if getattr(self._module, self._name) is self._front:
            setattr(self._module, self._name, self.original)
