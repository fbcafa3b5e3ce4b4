"""pandas' DataFrames and Series, as items are taken of them one by one. Nothing here imports pandas."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from ..bytecode import UnreadableError

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
