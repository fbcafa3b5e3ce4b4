"""Which arrays of a user's code share memory: where one of them is changed in place, the others are changed as well,
and are not known any more."""

from __future__ import annotations

import itertools
from typing import NamedTuple

from ....bytecode import Expression, UnreadableError


class Held(NamedTuple):
    """Memory of an array.

    of        tells it from other memory; several where it may be one or the other
    writable  it may be written to
    compact   a row's items follow each other, as OpenCV wants them
    forward   no dimension is gone through backwards
    """

    of: frozenset[int]
    writable: bool = True
    compact: bool = True
    forward: bool = True


UNWRITABLE = Held(frozenset(), writable=False)


def together(several: list[Held]) -> Held:
    """Of a view of several, or of one of them."""
    return Held(
        frozenset().union(*(each.of for each in several)),
        *(all(getattr(each, name) for each in several) for name in ("writable", "compact", "forward")),
    )


class Memory:
    """What is known of arrays, by the expressions that they are: each is itself alone."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._held: dict[int, tuple[Expression, Held]] = {}
        self._stale: set[int] = set()

    def of(self, array: Expression) -> Held:
        found = self._held.get(id(array))
        return UNWRITABLE if found is None else found[1]

    def put(self, array: Expression, held: Held) -> None:
        self._held[id(array)] = array, held

    def new(self, *, compact: bool = True) -> Held:
        return Held(frozenset((next(self._numbers),)), compact=compact)

    def change(self, array: Expression) -> None:
        """An array is changed in place. Raises UnreadableError unless that may be done."""
        held = self.of(array)
        if not held.writable or not held.of:
            raise UnreadableError(f"changes {array}", array)
        for key, (each, other) in self._held.items():
            if each is not array and other.of & held.of:
                self._stale.add(key)

    def check(self, array: Expression) -> None:
        """Raises UnreadableError for one that was changed by way of another."""
        if id(array) in self._stale:
            raise UnreadableError(f"uses {array} after it was changed by another name", array)
