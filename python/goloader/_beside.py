"""Data about a loader or a dataset, kept so that loaders pickle, copy and compare as torch's do."""

from __future__ import annotations

import weakref
from typing import Any, Generic, TypeVar

Owner = TypeVar("Owner")
Value = TypeVar("Value")

# Among a loader's own attributes.
NAME = "_goloader"


class _Values(dict[Any, Any]):
    """All that is kept of one loader. A copy or a pickle of the loader begins without."""

    def __init__(self, owner: object = None) -> None:
        super().__init__()
        self.owner = None if owner is None else weakref.ref(owner)

    def __reduce__(self) -> tuple[type[_Values], tuple[()]]:
        return _Values, ()


class Beside(Generic[Owner, Value]):
    """A value for each of some loaders.

    It is in the loader's own dict: so the garbage collector sees what the value refers to, and takes both where that is
    the loader itself.
    """

    def _of(self, owner: Owner) -> _Values | None:
        values: _Values | None = vars(owner).get(NAME)
        known = None if values is None else values.owner
        return values if known is not None and known() is owner else None  # a shallow copy has those of another

    def get(self, owner: Owner) -> Value | None:
        values = self._of(owner)
        return None if values is None else values.get(self)

    def __contains__(self, owner: Owner) -> bool:
        return self in (self._of(owner) or ())

    def __setitem__(self, owner: Owner, value: Value) -> None:
        values = self._of(owner)
        if values is None:
            values = vars(owner)[NAME] = _Values(owner)
        values[self] = value

    def pop(self, owner: Owner) -> None:
        """Forgets the value of a loader, if there is one."""
        values = self._of(owner)
        if values is not None:
            values.pop(self, None)


class Notes(Generic[Owner, Value]):
    """A value for each of some objects that have attributes of the user's alone, until the object is gone.

    The value does not refer to the object. A weakref.WeakKeyDictionary asks objects for their hash and equality, and a
    user's class may define these as it likes; here an object is itself.
    """

    def __init__(self) -> None:
        self._values: dict[int, tuple[weakref.ref[Owner], Value]] = {}

    def get(self, owner: Owner) -> Value | None:
        kept = self._values.get(id(owner))
        return None if kept is None else kept[1]

    def __setitem__(self, owner: Owner, value: Value) -> None:
        values, key = self._values, id(owner)
        # Before the id can be another's.
        values[key] = weakref.ref(owner, lambda _: values.pop(key, None)), value

    def pop(self, owner: Owner) -> None:
        """Forgets the value of an object, if there is one."""
        self._values.pop(id(owner), None)
