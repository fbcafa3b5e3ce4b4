"""Columns of pandas' DataFrames, as items are taken of them one by one. Nothing here imports pandas."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from ..bytecode import UnreadableError

__all__ = ["attribute_of_rows", "column", "column_of_rows", "is_frame"]


def is_frame(value: Any) -> bool:
    """True for a DataFrame of pandas' own class."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and type(value) is getattr(pandas, "DataFrame", None)


def column(frame: Any, key: int | str, at: Sequence[int]) -> list[Any]:
    """frame.iloc[i, key], or frame[key].iloc[i] of a name, for each i.

    Raises UnreadableError for a column of anything but objects, texts, bool, int64 and float64.
    """
    if isinstance(key, str):
        if not frame.columns.is_unique or key not in frame.columns:
            raise UnreadableError(f"takes a column {key!r}, of which there is not one")
        values = frame[key]
    else:
        values = frame.iloc[:, key]
    kind = str(values.dtype)
    numbers = kind in ("bool", "int64", "float64")
    if not numbers and kind not in ("object", "str", "string"):
        raise UnreadableError(f"takes items of a column of {kind}")
    return list(values.iloc[list(at)].to_numpy(dtype=kind if numbers else object))


def column_of_rows(frame: Any, name: str, at: Sequence[int]) -> list[Any]:
    """frame.iloc[i][name] for each i: pandas makes a Series of each row first, whose items have one dtype."""
    kinds = set(map(str, frame.dtypes))
    if len(kinds) > 1 and not kinds & {"object", "str", "string"}:
        raise UnreadableError(f"takes rows of {' and '.join(sorted(kinds))} at once")
    return column(frame, name, at)


def attribute_of_rows(frame: Any, name: str, at: Sequence[int]) -> list[Any]:
    """frame.iloc[i].name for each i."""
    if hasattr(sys.modules["pandas"].Series, name):
        raise UnreadableError(f"takes .{name} of a row, which is pandas' own")
    return column_of_rows(frame, name, at)
