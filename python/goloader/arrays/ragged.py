"""Rows of different lengths in one array."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .file_array import FileArray

if TYPE_CHECKING:
    import torch


class RaggedArray:
    """Rows of different lengths, stored one after the other: row i is values[offsets[i]:offsets[i + 1]].

        ArrayDataset(tokens=RaggedArray("tokens.npy", "offsets.npy"), label=labels)
        RaggedArray.of([[1, 2, 3], [4], []])

    values   [items, ...]: a numpy array, a memory map, a torch tensor, a FileArray, or the path of a file with one
             array
    offsets  [rows + 1] non-decreasing integers: a sequence, an array, or such a path; kept in memory as int64

    Use a collate function for sequences to make batches: goloader.collate's Pad, Jagged or Pack.

    Raises ValueError with the position for offsets that are not integers, descend, or lie outside of the values;
    TypeError for values that are not an array; OSError if a file cannot be opened.
    """

    def __init__(self, values: Any, offsets: Any) -> None:
        self.values: NDArray[Any] | torch.Tensor | FileArray = _opened(values, "values")
        if not hasattr(self.values, "shape") or not hasattr(self.values, "dtype"):
            raise TypeError(f"values are a {type(values).__name__}, not an array, a tensor or a path")
        if not self.values.shape:
            raise ValueError("values have no dimensions, so no items")
        self.offsets = _offsets(_opened(offsets, "offsets"), len(self.values))

    @classmethod
    def of(cls, rows: Iterable[Any], dtype: Any = None) -> RaggedArray:
        """Copies lists or arrays into one RaggedArray. They may differ in their first dimension only.

        `dtype` is numpy's; None lets numpy choose. Raises ValueError for no rows, and what numpy raises for rows that
        do not fit together.
        """
        arrays = [np.asarray(row, dtype) for row in rows]
        if not arrays:
            raise ValueError("at least one row is needed")
        offsets = np.concatenate([[0], np.cumsum([len(array) for array in arrays])])
        # An empty list has no dtype of its own.
        filled = [array for array in arrays if len(array)] or arrays[:1]
        return cls(np.concatenate(filled), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> Any:
        """Row `index`, of the kind that the values are: [length, ...]. Raises IndexError; OSError if the file cannot be
        read."""
        row = operator.index(index)
        if not -len(self) <= row < len(self):
            raise IndexError(f"index {row} is out of range for {len(self)} rows")
        row %= len(self)
        return self.values[int(self.offsets[row]) : int(self.offsets[row + 1])]

    def __repr__(self) -> str:
        return f"RaggedArray({len(self)} rows of {self.values.dtype}, {len(self.values)} items)"


# What opens a path: formats.py says it, which imports this module for ragged columns of tables.
open_path: Callable[[Any], Any] | None = None


def _opened(given: Any, what: str) -> Any:
    if not isinstance(given, str | os.PathLike):
        return given
    assert open_path is not None
    array = open_path(given)
    if isinstance(array, dict):
        raise ValueError(f"{os.fspath(given)} holds {len(array)} arrays: take one of open_arrays(path) for {what}")
    return array


def _offsets(given: Any, items: int) -> NDArray[np.int64]:
    offsets = np.asarray(given)
    if offsets.ndim != 1 or not len(offsets) or offsets.dtype.kind not in "iu":
        raise ValueError(f"offsets are {offsets.dtype} of shape {offsets.shape}, not integers, one more than rows")
    signed = offsets.astype(np.int64)
    wrong = np.flatnonzero((signed < 0) | (signed > items))
    if wrong.size:
        raise ValueError(f"offsets[{wrong[0]}] is {offsets[wrong[0]]}, but there are {items} items")
    falls = np.flatnonzero(signed[1:] < signed[:-1])
    if falls.size:
        at = int(falls[0])
        raise ValueError(f"offsets decrease from {offsets[at]} to {offsets[at + 1]} at row {at}")
    signed.flags.writeable = False  # loaders rely on it
    return signed
