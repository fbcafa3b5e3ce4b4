"""What values are used by: whether one that is changed in place is used by nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .expressions import Attribute, Binary, Branch, Call, Drawn, Either, Expression, Item, own_parts
from .reading import Reading

# What tells nothing of an array's numbers.
_OF_SHAPE = ("dtype", "ndim", "shape")


class Uses:
    """Of all values of a reading."""

    def __init__(self, reading: Reading) -> None:
        self._by: dict[int, list[Expression | None]] = {}
        self._seen: set[int] = set()
        self._add((reading.result, *reading.evaluated, *reading.loose, *reading.again))
        for whole in (reading.result, *(condition for condition, _ in (*reading.conditions, *reading.asserted))):
            self._by.setdefault(id(whole), []).append(None)
            self._add((whole,))

    def _add(self, parts: Iterable[Any]) -> None:
        work = list(parts)
        while work:
            each = work.pop()
            if isinstance(each, Branch):
                self._by.setdefault(id(each.condition), []).append(None)
                work += (each.condition, *each.then, *each.otherwise)
            elif isinstance(each, Expression) and id(each) not in self._seen:
                self._seen.add(id(each))
                for part in own_parts(each):
                    self._by.setdefault(id(part), []).append(each)
                work += own_parts(each)

    def changes_alone(self, change: Binary) -> bool:
        """Whether what `left += right` changes is nothing else's afterwards: neither it nor a view of it is used again,
        but as what it has become."""
        return change.left is not change.right and self._is_alone(change.left, change)

    def is_one_of(self, of: Either) -> bool:
        """Whether both values of an Either, of which one may be what the other has become, are nothing else's."""
        return self._is_alone(of.then, of.otherwise) and self._is_alone(of.otherwise, of.then)

    def is_in_order_alone(self, shuffle: Call) -> bool:
        """The same of an array that a call puts into another order."""

        def is_ordered(use: Expression) -> bool:
            return use is shuffle or (isinstance(use, Item) and isinstance(use.key, Drawn) and use.key.call is shuffle)

        return self._all_uses(shuffle.arguments[0], is_ordered)

    def _is_alone(self, value: Expression, other: Expression) -> bool:
        """Whether a value is used by another one alone, by an Either of the two, or for its shape."""

        def is_others(use: Expression) -> bool:
            both = isinstance(use, Either) and {id(use.then), id(use.otherwise)} == {id(value), id(other)}
            return use is other or both

        return self._all_uses(value, is_others)

    def _all_uses(self, value: Expression, hold: Callable[[Expression], bool]) -> bool:
        """Whether this holds of all that a value is used by, but for its shape."""
        return all(
            use.name in _OF_SHAPE if isinstance(use, Attribute) else use is not None and hold(use)
            for use in self._by.get(id(value), ())
        )
