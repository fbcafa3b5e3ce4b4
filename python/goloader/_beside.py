"""Data about a loader, kept beside it, so that loaders pickle, copy and list their attributes as torch's do."""

from __future__ import annotations

import weakref
from typing import Generic, TypeVar

Owner = TypeVar("Owner")
Value = TypeVar("Value")


class Beside(Generic[Owner, Value]):
    """A value for each of some objects, until the object is gone.

    A weakref.WeakKeyDictionary asks objects for their hash and equality, and a user's subclass may define these as it
    likes; here an object is itself.
    """

    def __init__(self) -> None:
        self._values: dict[int, tuple[weakref.ref[Owner], Value]] = {}

    def get(self, owner: Owner) -> Value | None:
        kept = self._values.get(id(owner))
        return None if kept is None else kept[1]

    def __contains__(self, owner: Owner) -> bool:
        return id(owner) in self._values

    def __setitem__(self, owner: Owner, value: Value) -> None:
        values, key = self._values, id(owner)
        # Before the id can be another's.
        values[key] = weakref.ref(owner, lambda _: values.pop(key, None)), value

    def pop(self, owner: Owner) -> None:
        """Forgets the value of an object, if there is one."""
        self._values.pop(id(owner), None)

    def __len__(self) -> int:
        return len(self._values)
