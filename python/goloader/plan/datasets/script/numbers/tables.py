"""Tables of a script: numbers that the user's data has for each row, and lists of numbers, as the core reads them."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ....bytecode import UnreadableError
from ...own.sources import Sources
from . import arithmetic
from .arithmetic import Number

# Which kinds of numbers values are, by their types.
_KINDS: dict[type, str] = {int: "int", bool: "bool", float: "float", np.int64: "numpy"}
_EXACT_MAX = 1 << 53
# Numbers in all lists of a table.
_VALUES_MAX = 1 << 24


class Found(NamedTuple):
    """Tables as the core's plan has them, and the kind of the numbers in the last one.

    same  the number that all rows have, where no table is needed
    """

    kind: str
    tables: list[dict[str, Any]]
    same: int | None = None


class Kept:
    """Tables that are found anew only where what they were found in is not the very same."""

    def __init__(self, find: Callable[[], Found], sources: Callable[[], list[Any]]) -> None:
        """`sources` gives what `find` reads of the user's data. Raises what `find` raises."""
        self.found = find()
        self._find, self._sources = find, Sources(sources)

    def stands(self) -> bool:
        """Whether the same would be found. Raises what finding raises."""
        return self._sources.stands() or self._find() == self.found


class Lists(NamedTuple):
    """A list of numbers that differs from sample to sample.

    length  how many it has
    item    the one at a place
    """

    length: Number
    item: Callable[[Number], Number]


def kind_of(value: Any) -> str | None:
    """Of a number that may be in a table; None for what is none."""
    return _KINDS.get(type(value))


def is_list(value: Any) -> bool:
    """Whether it may be a row of a table of lists."""
    return type(value) in (list, tuple) or (type(value) is np.ndarray and value.ndim == 1 and value.dtype == np.int64)


def plain(values: Sequence[Any], kind: str) -> Found:
    """A table of a number a row. Raises UnreadableError unless all are of this kind."""
    if {_KINDS.get(each) for each in set(map(type, values))} - {kind}:
        raise UnreadableError("takes numbers of several types in one place")
    return Found(kind, [_table(values, kind, None)])


def lengths(lists: Sequence[Any]) -> Found:
    """Two tables: where each list begins if they follow one another, and how many items it has."""
    counts = list(map(len, lists))
    starts = [0, *np.cumsum(counts).tolist()]
    return Found("int", [_table(starts[:-1], "int", None), _table(counts, "int", None)])


def same(values: Sequence[Any], kind: str) -> Found:
    """No table, of rows that all have one number of this kind. Raises UnreadableError for others."""
    if not len(values) or {_KINDS.get(each) for each in set(map(type, values))} != {kind} or len({*values}) > 1:
        raise UnreadableError("has different numbers")
    return Found(kind, [], int(values[0]))


def of_lists(rows: Sequence[Any], by_numpy: bool) -> Found:
    """Two tables of lists of numbers: which list each row has, and the lists, each once.

    by_numpy  the lists are made arrays first

    Raises UnreadableError for what are no lists of numbers of one kind.
    """
    known: dict[Any, int] = {}
    lists: list[Any] = []
    places = []
    kinds: set[str | None] = set()
    for row in rows:
        if not is_list(row):
            raise UnreadableError("takes lists of numbers, and others")
        kinds |= {"numpy"} if isinstance(row, np.ndarray) else {_KINDS.get(each) for each in set(map(type, row))}
        if None in kinds:
            break
        key = id(row) if isinstance(row, np.ndarray) else repr(row)  # 0.0 equals -0.0, and 1 equals True
        if key not in known:
            known[key] = len(lists)
            lists.append(row)
        places.append(known[key])
    if by_numpy and kinds <= {"int", "numpy"}:
        kinds = {"numpy"}
    if len(kinds) != 1 or None in kinds or (by_numpy and kinds != {"numpy"}):
        raise UnreadableError("takes lists of other things than numbers of one type")
    (kind,) = kinds
    assert kind is not None
    return _two(kind, places, [row.tolist() if isinstance(row, np.ndarray) else row for row in lists])


def of_members(rows: Sequence[Any]) -> Found:
    """The same of integers in lists or sets, which ascend: to ask whether one is there.

    Raises UnreadableError for what are none.
    """
    known: dict[tuple[int, ...], int] = {}
    places = []
    for row in rows:
        if type(row) not in (list, tuple, set, frozenset) or not {*map(type, row)} <= {int, np.int64}:
            raise UnreadableError("asks what is in other things than lists and sets of integers")
        members = tuple(sorted({*map(int, row)}))
        places.append(known.setdefault(members, len(known)))
    return _two("int", places, [*known])


def _two(kind: str, places: Sequence[int], lists: Sequence[Sequence[Any]]) -> Found:
    """Which of the lists each row has, and the lists."""
    starts = [0, *np.cumsum(list(map(len, lists))).tolist()]
    if starts[-1] > _VALUES_MAX:
        raise UnreadableError("takes lists that are too long")
    flat = [each for row in lists for each in row]
    return Found(kind, [_table(places, "int", None), _table(flat, kind, starts)])


def _table(values: Sequence[Any], kind: str, starts: list[int] | None) -> dict[str, Any]:
    of = arithmetic.register_of(kind)
    if of == "float" and not all(map(math.isfinite, values)):
        raise UnreadableError("takes numbers that are not finite")
    if of == "int" and len(values) and not -_EXACT_MAX < min(values) <= max(values) < _EXACT_MAX:
        raise UnreadableError("takes numbers that are too large")
    array = np.array(values, np.float64 if of == "float" else np.int64)
    return {
        "type": of,
        "values": _bytes(array),
        "starts": None if starts is None else _bytes(np.array(starts, np.int64)),
    }


def _bytes(array: Any) -> str:
    return base64.b64encode(array.astype(array.dtype.newbyteorder("<")).tobytes()).decode("ascii")
