"""pandas' DataFrames and Series, as items are taken of them one by one. Nothing here imports pandas."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...bytecode import UnreadableError
from . import vectors

_TEXTS = {"object", "str", "string"}


def is_frame(value: Any) -> bool:
    """True for a DataFrame of pandas' own class."""
    return type(value) is getattr(sys.modules.get("pandas"), "DataFrame", None)


def is_series(value: Any) -> bool:
    """True for a Series of pandas' own class."""
    return type(value) is getattr(sys.modules.get("pandas"), "Series", None)


def is_texts(value: Any) -> bool:
    """True for what `.values` of a column of texts is."""
    arrays = getattr(sys.modules.get("pandas"), "arrays", None)
    return any(type(value) is getattr(arrays, name, None) for name in ("ArrowStringArray", "StringArray"))


def column(frame: Any, key: int | str) -> Any:
    """The Series frame[key] of a name, or frame.iloc[:, key] of a number. Raises UnreadableError if it is not one."""
    if isinstance(key, int):
        return frame.iloc[:, key]
    if not frame.columns.is_unique or key not in frame.columns:
        raise UnreadableError(f"takes a column {key!r}, of which there is not one")
    return frame[key]


def part(frame: Any, names: list[Any]) -> Any:
    """The DataFrame frame[names]. Raises UnreadableError if these are not names of a column each."""
    if set(map(type, names)) != {str} or not frame.columns.is_unique or not {*names} <= {*frame.columns}:
        raise UnreadableError(f"takes columns {names!r}, of which there is not one each")
    return frame[names]


def attribute(frame: Any, name: str) -> Any:
    """The Series frame.name. Raises UnreadableError if it is not one, or not a column's."""
    if hasattr(type(frame), name) or name in vars(frame):
        raise UnreadableError(f"takes .{name} of a table, which is pandas' own")
    return column(frame, name)


def by_label(table: Any) -> Any:
    """A DataFrame or a Series whose labels are the numbers of its rows, from 0. Raises UnreadableError for another."""
    index = table.index
    if type(index) is not sys.modules["pandas"].RangeIndex or (index.start, index.step) != (0, 1):
        raise UnreadableError("takes items of a table by labels that are not the numbers of its rows")
    return table


def items(series: Any, at: Sequence[int]) -> list[Any]:
    """series.iloc[i] for each i.

    Raises UnreadableError for a Series of anything but objects, texts, bool, int64 and float64.
    """
    kind = str(series.dtype)
    numbers = kind in ("bool", "int64", "float64")
    if not numbers and kind not in _TEXTS:
        raise UnreadableError(f"takes items of a column of {kind}")
    return list(series.iloc[list(at)].to_numpy(dtype=kind if numbers else object))


class Rows:
    """Parts of rows of a DataFrame, each a Series of several columns: [rows, columns], of the dtype that pandas gives
    them. Of no use as values by themselves."""

    def __init__(self, matrix: Any, *, writable: bool) -> None:
        """`writable`: the values of a Series are."""
        self.matrix = matrix
        matrix.flags.writeable = writable

    def __len__(self) -> int:
        return len(self.matrix)

    def __iter__(self) -> Iterator[Any]:
        return itertools.repeat(self, len(self.matrix))

    def called(self, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """row.name(*arguments) for each row. Raises UnreadableError for other methods than to_numpy and astype."""
        if name == "to_numpy" and not arguments and not options:
            return self.matrix
        if name == "astype" and not options:
            return Rows(vectors.called("astype", self.matrix, arguments), writable=self.matrix.flags.writeable)
        raise UnreadableError(f"calls .{name} of a row of a table")

    def array(self, maker: Any, options: dict[str, Any]) -> Any:
        """What numpy.array or numpy.asarray make of each row. Raises UnreadableError for others."""
        if maker is np.array or maker is np.asarray:
            return vectors.called(maker, self.matrix, (), options)
        raise UnreadableError("makes tensors of rows of a table")


def rows(frame: Any, key: Any, at: Sequence[int], *, by_place: bool = True, at_once: bool = False) -> Rows:
    """frame.iloc[i][key] for each i, of a slice of places, or of a list of places or of names (`by_place` is False);
    frame.iloc[i, key] or frame.loc[i, key] where both are taken `at_once`.

    Raises UnreadableError for columns of anything but bool, int64 and float64.
    """
    if type(key) is list:
        taken = frame.iloc[:, key] if by_place else part(frame, key)
    elif by_place and type(key) is slice:
        taken = frame.iloc[:, key]
    else:
        raise UnreadableError(f"takes columns {key!r} of a table")
    if not set(map(str, taken.dtypes)) <= {"bool", "int64", "float64"} or not len(frame):
        raise UnreadableError("takes several columns of a table that are not all of numbers")
    if len(at) * taken.iloc[:1].to_numpy().nbytes > vectors.BYTES_MAX:
        raise UnreadableError("takes several columns of a table that is too large to be kept")
    # pandas makes a Series of the whole row first, of one dtype; what is taken at once it makes of these columns alone
    # from version 3 on.
    first = (frame.iloc if by_place else frame.loc)[0, key] if at_once else frame.iloc[0]
    matrix = taken.iloc[list(at)].to_numpy(dtype=first.dtype if first.dtype.kind in "biuf" else object).copy()
    return Rows(matrix, writable=first.to_numpy().flags.writeable)


def items_of_rows(frame: Any, name: str, at: Sequence[int]) -> list[Any]:
    """frame.iloc[i][name] for each i: pandas makes a Series of each row first, whose items have one dtype."""
    kinds = set(map(str, frame.dtypes))
    if len(kinds) > 1 and not kinds & _TEXTS:
        raise UnreadableError(f"takes rows of {' and '.join(sorted(kinds))} at once")
    return items(column(frame, name), at)


def attributes_of_rows(frame: Any, name: str, at: Sequence[int]) -> list[Any]:
    """frame.iloc[i].name for each i."""
    if hasattr(sys.modules["pandas"].Series, name):
        raise UnreadableError(f"takes .{name} of a row, which is pandas' own")
    return items_of_rows(frame, name, at)
