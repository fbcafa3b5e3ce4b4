"""Integers that a `__getitem__` works out from its index, to take items by them: known for every index ahead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...bytecode import SIGNS, UnreadableError
from ..tree import Indices

# So many indices are worked out one by one at most.
_TABLE_MAX = 1 << 26
# Steps and starts beyond are nobody's; below, nothing overflows.
_SIZE_MAX = 1 << 40
# Well within an int64, as a sum or a product is known to be from its double.
_NUMBER_MAX = 1 << 62


@dataclass(frozen=True, eq=False)
class Integers:
    """scale * index + shift, and what `table` gives for each index, if there is one.

    divided  it is what "//" or "%" makes of others, without a table, and a number above 0
    """

    scale: int
    shift: int
    table: Callable[[Indices], Indices] | None = None
    divided: tuple[str, Integers, int] | None = None

    def at(self, indices: Indices) -> Indices:
        if self.table is None:
            return self.scale * indices + self.shift
        found = self.table(indices)
        if self.scale == self.shift == 0:
            return found
        return _without_wrapping(np.add, self.scale * indices + self.shift, found)

    @property
    def is_index(self) -> bool:
        return self.table is None and (self.scale, self.shift) == (1, 0)

    @property
    def constant(self) -> int | None:
        return self.shift if self.table is None and self.scale == 0 else None

    def minus(self, other: Integers) -> int | None:
        """The difference, if it is the same for all indices."""
        return self.shift - other.shift if (self.table, self.scale) == (other.table, other.scale) else None

    def joined(self, operator: str, other: Integers) -> Integers | None:
        """What an operator makes of both; None if that is not known."""
        ours, theirs = self.constant, other.constant
        if operator == "+" and self.table is None:
            self, other = other, self
        if operator in ("+", "-") and other.table is None:
            sign = 1 if operator == "+" else -1
            return _small(Integers(self.scale + sign * other.scale, self.shift + sign * other.shift, self.table))
        if operator == "*" and self.table is None and other.table is None and (ours is not None or theirs is not None):
            return _small(Integers(self.scale * other.shift + other.scale * self.shift, self.shift * other.shift))
        if operator in ("//", "%") and self.table is None and theirs and self.scale % theirs == 0:
            if operator == "//":
                return Integers(self.scale // theirs, self.shift // theirs)
            return Integers(0, self.shift % theirs)
        if operator not in _RECKONED or (operator in ("//", "%") and not theirs):
            return None
        function, left, right = SIGNS[operator], self, other
        divided = None
        if operator in ("//", "%") and left.table is None and theirs is not None and theirs > 0:
            divided = operator, left, theirs
        return Integers(0, 0, lambda indices: _without_wrapping(function, left.at(indices), right.at(indices)), divided)


def _without_wrapping(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Indices:
    """What a function makes of arrays of integers. Raises UnreadableError where Python's would outgrow an int64."""
    about = function(np.asarray(left, np.float64), np.asarray(right, np.float64))
    if np.abs(about).max(initial=0) > _NUMBER_MAX:
        raise UnreadableError("works with numbers that are too large")
    made: Indices = function(left, right)
    return made


_RECKONED = ("+", "-", "*", "//", "%")


def _small(integers: Integers) -> Integers | None:
    return integers if max(abs(integers.scale), abs(integers.shift)) <= _SIZE_MAX else None


INDEX = Integers(1, 0)


class Domain:
    """The indices for which all integers are inside what they are used for.

    plain  an index below 0 means an item as well, counted from the end
    """

    def __init__(self) -> None:
        self._limits: list[tuple[Integers, int]] = []
        self.plain = True

    def limit(self, integers: Integers, length: int) -> None:
        """They must be from 0 to below a length."""
        if integers.divided is not None:
            self.plain = False
            operator, whole, divisor = integers.divided
            if operator == "//":
                integers, length = whole, length * divisor
            elif divisor <= length:
                return
        self.plain &= integers.is_index and all(length == other for _, other in self._limits)
        self._limits.append((integers, length))

    def settle(self) -> tuple[int, NDArray[np.bool_] | None]:
        """So many indices from 0 on, and which of them are not in it, if any: a mask."""
        low, high = 0, None
        for integers, length in self._limits:
            if integers.table is not None:
                continue
            scale, shift = integers.scale, integers.shift
            if scale == 0:
                if not 0 <= shift < length:
                    raise UnreadableError("takes items that are not there")
                continue
            if scale > 0:
                first, last = -(shift // scale), (length - 1 - shift) // scale
            else:
                first, last = -((length - 1 - shift) // -scale), shift // -scale
            low, high = max(low, first), last + 1 if high is None else min(high, last + 1)
        if high is None:
            raise UnreadableError("takes items of no attribute that says how many there are")
        if high < low or (high == low and not self.plain):
            raise UnreadableError("takes items of attributes that are too short")
        if low == 0 and all(integers.table is None for integers, _ in self._limits):
            return high, None
        if high > _TABLE_MAX:
            raise UnreadableError(f"works out {high} indices")
        indices = np.arange(high, dtype=np.int64)
        missing = indices < low
        for integers, length in self._limits:
            if integers.table is not None:
                values = integers.at(np.where(missing, low, indices))
                missing |= (values < 0) | (values >= length)
        return high, missing if missing.any() else None
