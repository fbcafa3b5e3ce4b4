"""What values are used by: whether one that is changed in place is used by nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .expressions import (
    Attribute,
    Binary,
    Branch,
    Call,
    Drawn,
    Either,
    Expression,
    Filled,
    Item,
    Name,
    Repeated,
    own_parts,
    parts_of,
)
from .reading import Reading

# What tells nothing of an array's numbers.
_OF_SHAPE = ("dtype", "ndim", "shape")


class Uses:
    """Of all values of a reading."""

    def __init__(self, reading: Reading) -> None:
        self._by: dict[int, list[Expression | None]] = {}
        self._seen: set[int] = set()
        # Which ways of branches each is evaluated on, by the branches' numbers.
        self._ways: dict[int, dict[int, bool]] = {}
        self._add((reading.result, *reading.loose, *reading.again))
        self._add_evaluated(reading.evaluated, {})
        for whole in (reading.result, *(condition for condition, _ in (*reading.conditions, *reading.asserted))):
            self._by.setdefault(id(whole), []).append(None)
            self._add((whole,))

    def _add_evaluated(self, evaluated: Iterable[Any], ways: dict[int, bool]) -> None:
        for each in evaluated:
            if isinstance(each, Branch | Repeated):
                self._by.setdefault(id(each.condition), []).append(None)
                self._add((each.condition,))
            if isinstance(each, Branch):
                self._add_evaluated(each.then, {**ways, each.number: True})
                self._add_evaluated(each.otherwise, {**ways, each.number: False})
            elif isinstance(each, Repeated):
                self._add_evaluated(each.turn, ways)
            else:
                self._ways[id(each)] = ways
                self._add((each,))

    def _add(self, parts: Iterable[Expression]) -> None:
        work = list(parts)
        while work:
            each = work.pop()
            if id(each) not in self._seen:
                self._seen.add(id(each))
                for part in own_parts(each):
                    self._by.setdefault(id(part), []).append(each)
                work += own_parts(each)

    def _are_apart(self, one: Expression, other: Expression) -> bool:
        """Whether no sample goes where both are evaluated."""
        here, there = (self._ways.get(id(each), {}) for each in (one, other))
        return any(there.get(number, way) is not way for number, way in here.items())

    def changes_alone(
        self, value: Expression, change: Binary | Filled, makes_anew: Callable[[Expression], bool] = lambda of: False
    ) -> bool:
        """Whether what `value += ...` or `value[...] = ...` changes is nothing else's afterwards: neither it nor a view
        of it is used again, but as what it has become.

        makes_anew  whether a value has memory of its own; it was made before items were set then, as whatever uses the
                    value by its name later uses what it has become
        """
        given = (change.right,) if isinstance(change, Binary) else (change.key, change.item)
        if any(value is each for each in given):
            return False
        if isinstance(change, Binary):
            return self._is_alone(value, change)
        if _may_be_part(change.item, value, makes_anew):
            return False  # it has items that are set at the same time
        before = {id(part) for each in given for part in parts_of(each)}
        return self._is_alone(value, change, lambda use: self._is_past(use, change, before, makes_anew))

    def _is_past(
        self, use: Expression, change: Expression, before: set[int], makes_anew: Callable[[Expression], bool]
    ) -> bool:
        """Whether nothing comes of a use that may be a view, once a change has been made."""
        if use is change or makes_anew(use):
            return True
        return id(use) in before and self._all_uses(use, lambda other: self._is_past(other, change, before, makes_anew))

    def is_given_alone(self, value: Expression, to: Expression) -> bool:
        """Whether a value is used by another one alone, or for its shape."""
        return self._all_uses(value, lambda use: use is to)

    def is_one_of(self, of: Either) -> bool:
        """Whether both values of an Either, of which one may be what the other has become, are nothing else's."""
        return self._is_alone(of.then, of.otherwise) and self._is_alone(of.otherwise, of.then)

    def is_in_order_alone(self, shuffle: Call) -> bool:
        """The same of an array that a call puts into another order."""

        def is_ordered(use: Expression) -> bool:
            return use is shuffle or (isinstance(use, Item) and isinstance(use.key, Drawn) and use.key.call is shuffle)

        return self._all_uses(shuffle.arguments[0], is_ordered)

    def _is_alone(
        self, value: Expression, other: Expression, is_past: Callable[[Expression], bool] = lambda use: False
    ) -> bool:
        """Whether a value is used by another one alone, by an Either of the two, for its shape, or in the past."""

        def is_others(use: Expression) -> bool:
            both = isinstance(use, Either) and {id(use.then), id(use.otherwise)} == {id(value), id(other)}
            return use is other or both or is_past(use) or self._are_apart(use, other)

        return self._all_uses(value, is_others)

    def _all_uses(self, value: Expression, hold: Callable[[Expression], bool]) -> bool:
        """Whether this holds of all that a value is used by, but for its shape."""
        return all(use is not None and self._holds(use, hold) for use in self._by.get(id(value), ()))

    def _holds(self, use: Expression, hold: Callable[[Expression], bool]) -> bool:
        match use:
            case Attribute(name=name):
                calls = self._by.get(id(use), ())
                return name in _OF_SHAPE or all(
                    isinstance(each, Call) and each.function is use and self._holds(each, hold) for each in calls
                )
            case Call(function=Name(name="len") | Attribute(name="dim" | "numel" | "size")):
                return True
        return hold(use)


def _may_be_part(of: Expression, value: Expression, makes_anew: Callable[[Expression], bool]) -> bool:
    """Whether something may be a value, or a view of it."""
    if of is value:
        return True
    if makes_anew(of) or (isinstance(of, Attribute) and of.name in _OF_SHAPE):
        return False
    parts = (of.owner,) if isinstance(of, Item | Attribute) else own_parts(of)
    return any(_may_be_part(each, value, makes_anew) for each in parts)
