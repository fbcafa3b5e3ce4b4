"""goloader's TokenDataset: windows of token files, read once for x and y, and cast in Go."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ....arrays import FileArray, TokenDataset
from ....arrays.tokens import inner
from ...refusal import SourceRefusal, refuses
from ...row_layouts import DocumentRows
from ...rows import Array
from ..cuts import Cut
from ..tree import Checked, Column, Indices, Node, check_class

_ATTRIBUTES = ("files", "block_size", "stride", "windows", "eos", "offsets", "documents", "begins", "lengths", "_ends")


class Tokens(Node):
    """A TokenDataset: x and y are a window without its last token and without its first."""

    def __init__(self, dataset: Any) -> None:
        _check(dataset)
        self.dataset, self._checked = dataset, Checked(dataset)
        self._given = _attributes(dataset)
        self.length = len(dataset)
        stored = {file.dtype for file in dataset.files}
        if len(stored) > 1:
            raise SourceRefusal("TokenDataset", f"its files hold {' and '.join(sorted(stored))}", "ARRAY_LAYOUT")
        windows = [_windows(dataset, number) for number, count in enumerate(dataset.windows) if count]
        columns = [_column(windows, Cut(None, drop=1)), _column(windows, Cut(None, skip=1))]
        size = dataset.block_size
        if dataset.documents == "pack" and dataset.eos is not None:
            columns += _documents(windows, Cut(None, drop=1, layout=DocumentRows(size, dataset.eos)))
        elif dataset.documents == "pack" and dataset.offsets is not None:
            marks = [_marks(dataset, number) for number, count in enumerate(dataset.windows) if count]
            columns += _documents(marks, Cut(None, layout=DocumentRows(size)))
        self.columns = tuple(columns)
        self.structure = tuple(range(len(columns)))
        self.note = f"read from {', '.join(sorted({file.path for file in dataset.files}))}"

    def unchanged(self, dataset: Any, at: Indices | None) -> bool:
        if not self._checked.stands(dataset) or any(
            one is not other for one, other in zip(_attributes(dataset), self._given, strict=True)
        ):
            return False
        return at is not None or not refuses(_check, dataset)


def _attributes(dataset: Any) -> tuple[Any, ...]:
    return tuple(getattr(dataset, name) for name in _ATTRIBUTES)


def _check(dataset: Any) -> None:
    check_class(dataset, TokenDataset, "goloader", _ATTRIBUTES)


class _Piece:
    """Rows of int64 out of one file, or made of one's offsets, in one of their columns."""

    def __init__(self, array: Array, cut: Cut) -> None:
        self.array, self.cut = array, cut

    def __len__(self) -> int:
        return len(self.array)


def _column(rows: list[Array], cut: Cut) -> Column:
    pieces = tuple(_Piece(array, replace(cut, whole=array)) for array in rows)
    first = rows[0]
    ragged = first.lengths is not None
    how = cut.skip, cut.drop, cut.layout, cut.value
    return Column(pieces, ("int64", first.shape[1:], "int64", "ragged" if ragged else "array", first.stored, how))


def _documents(rows: list[Array], cut: Cut) -> list[Column]:
    return [_column(rows, replace(cut, value=value)) for value in (0, 1)]


def _windows(dataset: Any, number: int) -> Array:
    """The windows of one file, each with the token behind it."""
    file: FileArray = dataset.files[number]
    item, stored = file.numpy_dtype.itemsize, "" if file.dtype == "int64" else file.dtype
    if dataset.begins is None:
        shape, strides = (dataset.windows[number], dataset.block_size + 1), (dataset.stride * item, item)
        windows = FileArray(
            file.path, dtype=file.dtype, shape=shape, offset=file.offset, strides=strides, direct=file.direct
        )
        return Array.of(windows, windows, stored)
    begins, lengths = dataset.begins[number], dataset.lengths[number]
    whole = Array.of(file, file, stored)
    return replace(whole, shape=(len(begins),), strides=(0,), begins=begins * item, lengths=lengths + 1)


def _marks(dataset: Any, number: int) -> Array:
    """Where documents begin in each window of one file."""
    starts = np.arange(dataset.windows[number], dtype=np.int64) * dataset.stride
    places, ends = inner(dataset.offsets[number], starts, dataset.block_size)
    return Array.of_uneven(np.ascontiguousarray(places, np.int64), np.diff(ends))
