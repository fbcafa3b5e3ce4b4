"""install() makes torch's DataLoader make goloader's loaders; uninstall() undoes it.

torch's class stays the same object, so names bound to it, isinstance and annotations keep their meaning. Three things
are done to it:

- Called, it makes one of ours: its __init__ turns the new object into a goloader.DataLoader, a subclass of torch's.
- Its subclasses, those of frameworks imported earlier among them, get ours as base class in its place.
- So do subclasses defined later.
"""

from __future__ import annotations

import functools
import inspect
import threading
import weakref
from typing import Any

_lock = threading.Lock()
_installed: _Installed | None = None


def install(*, explain: bool = False) -> None:
    """Makes torch.utils.data.DataLoader make goloader's loaders, under whatever name it was imported.

    Subclasses get goloader's class as their base, unless that would hide a method of theirs. Loaders that exist do not
    change. Any thread may call this. With `explain`, each loader prints its explain() table on stderr when its first
    epoch begins; a second call only sets `explain`. Raises ImportError without torch.
    """
    from torch.utils import data

    from ._loader import DataLoader
    from .doors import choice

    global _installed
    with _lock:
        choice.announcing = explain
        if _installed is None:
            _installed = _Installed(data.DataLoader, DataLoader)


def uninstall() -> None:
    """Undoes install(), or does nothing without one. Loaders made in between stay goloader's."""
    global _installed
    with _lock:
        if _installed is not None:
            from .doors import choice

            choice.announcing = False
            _installed.undo()
            _installed = None


class _Installed:
    """What install() changed."""

    def __init__(self, theirs: type[Any], ours: type[Any]) -> None:
        self._theirs, self._ours = theirs, ours
        self._adopted: weakref.WeakSet[type[Any]] = weakref.WeakSet()
        self._active = True
        self._own_init = self._theirs.__init__
        self._init = self._theirs.__init__ = self._making_ours()
        self._theirs.__init_subclass__ = self._adopting()
        for kind in self._theirs.__subclasses__():
            self._adopt(kind)

    def undo(self) -> None:
        self._active = False
        # If somebody has wrapped __init__ since, theirs stays, and ours in it does nothing from now on.
        if self._theirs.__init__ is self._init:
            self._theirs.__init__ = self._own_init
        del self._theirs.__init_subclass__
        for kind in list(self._adopted):
            kind.__bases__ = _replaced(kind.__bases__, self._ours, self._theirs)

    def _making_ours(self) -> Any:
        @functools.wraps(self._own_init)
        def __init__(loader: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            if type(loader) is self._theirs and self._active:
                loader.__class__ = self._ours
                loader.__init__(*args, **kwargs)
            else:
                self._own_init(loader, *args, **kwargs)

        return __init__

    def _adopting(self) -> Any:
        def __init_subclass__(kind: type[Any], /, **kwargs: Any) -> None:  # noqa: N807
            super(self._theirs, kind).__init_subclass__(**kwargs)
            self._adopt(kind)

        return classmethod(__init_subclass__)

    def _adopt(self, kind: type[Any]) -> None:
        """Makes ours a base class of a subclass of torch's, if everything that is not torch's stays what it was."""
        if self._theirs not in kind.__bases__ or issubclass(kind, self._ours):
            return
        bases, own = kind.__bases__, _attributes(kind, self._ours)
        theirs = _attributes(self._theirs, self._ours)
        try:
            kind.__bases__ = _replaced(bases, self._theirs, self._ours)
        except TypeError:  # its base classes are in an order in which ours has no place
            return
        new = _attributes(kind, self._ours)
        if any(own[name] is not theirs[name] and own[name] is not new[name] for name in own):
            kind.__bases__ = bases
        else:
            self._adopted.add(kind)


def _attributes(kind: type[Any], names_of: type[Any]) -> dict[str, Any]:
    """What a class has, itself or from a base class, under the names that another defines."""
    return {name: inspect.getattr_static(kind, name, None) for name in vars(names_of)}


def _replaced(bases: tuple[type[Any], ...], old: type[Any], new: type[Any]) -> tuple[type[Any], ...]:
    return tuple(new if base is old else base for base in bases)
