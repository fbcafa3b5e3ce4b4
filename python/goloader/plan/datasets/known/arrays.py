"""goloader's ArrayDataset: rows of arrays in memory and in files, cast on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ....arrays import ArrayDataset, FileArray, RaggedArray
from ....arrays.file_array import DTYPES, contiguous
from ....arrays.table_column import TableRows
from ...refusal import SourceRefusal, refuses
from ...row_layouts import TextRows
from ...rows import DIMENSIONS_MAX, Array, Owner
from ..cuts import Cut
from ..tree import Checked, Column, Indices, Node, check_class
from .tensors import NAMES, Tensor, checksum, layout_of

_INTEGERS = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
_PATHS_MAX = 8  # are named
_FLOATS = ("float16", "bfloat16", "float32", "float64")


class Rows(Node):
    """An ArrayDataset."""

    def __init__(self, dataset: Any) -> None:
        _check(dataset)
        self.dataset, self._checked = dataset, Checked(dataset)
        self._given = dataset.fields
        self._names = dataset.names
        many = tuple if dataset.names is None else list
        self._pieces = [_Piece(field, many) for field in dataset.fields]
        self.length = len(dataset)
        numbers = range(len(self._pieces))
        self.structure = tuple(numbers) if self._names is None else dict(zip(self._names, numbers, strict=True))
        self.columns = tuple(Column((piece,), piece.spec) for piece in self._pieces)
        paths = sorted(dataset.paths)
        more = f" and {len(paths) - _PATHS_MAX} more" if len(paths) > _PATHS_MAX else ""
        self.note = f"read from {', '.join(paths[:_PATHS_MAX])}{more}" if paths else ""

    def unchanged(self, dataset: Any, at: Indices | None) -> bool:
        if not self._checked.stands(dataset):
            return False
        if dataset.fields is not self._given or dataset.names is not self._names:
            return False
        if at is None and refuses(_check, dataset):
            return False
        return all(map(_Piece.unchanged, self._pieces, dataset.fields))


def _check(dataset: Any) -> None:
    check_class(dataset, ArrayDataset, "goloader", ("fields", "names"))


class _Piece(Owner):
    """One field of the dataset."""

    cut: Cut | None = None

    def __init__(self, field: Any, many: type) -> None:
        """`many` is what default_collate puts texts of a batch in."""
        self._field, self._dtype = field.array, field.dtype
        ragged = isinstance(field.array, RaggedArray)
        self.given = field.array.values if ragged else field.array
        self._tensor = Tensor(self.given) if isinstance(self.given, torch.Tensor) else None
        self._layout = layout_of(self.given)
        self._offsets = field.array.offsets if ragged else None
        name, stored = _name(field.dtype), _name(field.stored)
        if field.dtype == field.stored:
            cast = ""
        elif castable(name, stored):
            cast = stored
        else:
            raise SourceRefusal(
                "ArrayDataset",
                f"{field.stored} is cast to {field.dtype}, which torch does not define for all values",
                "ARRAY_LAYOUT",
            )
        self.array = self._array(cast)
        if self._offsets is not None:
            self.array = _ragged(self.array, self._offsets, NAMES[field.stored])
        kind = "ragged" if ragged else "array"
        if isinstance(field.array, TableRows) and field.array.kind != "list":
            kind = field.array.kind
            self.cut = Cut(self.array, layout=TextRows(kind, many))
        self.spec = (NAMES[field.dtype], self.array.shape[1:], name, kind, cast, field.stored)

    def _array(self, cast: str) -> Array:
        given: Any = self.given
        if not 1 <= given.ndim <= DIMENSIONS_MAX:
            raise SourceRefusal("ArrayDataset", f"it holds an array of {given.ndim} dimensions", "ARRAY_LAYOUT")
        if isinstance(given, FileArray):
            if not given.numpy_dtype.isnative:
                raise SourceRefusal(
                    "ArrayDataset", f"the items of {given.path} have another byte order", "ARRAY_LAYOUT"
                )
            if scattered(given):
                raise SourceRefusal("ArrayDataset", f"rows of {given.path} are scattered over the file", "ARRAY_LAYOUT")
        elif isinstance(given, np.ndarray):
            if not given.dtype.isnative:
                raise SourceRefusal("ArrayDataset", "it holds an array of another byte order", "ARRAY_LAYOUT")
        else:
            assert self._tensor is not None
            return replace(self._tensor.array, owner=self, stored=cast)
        return Array.of(given, self, cast)

    def __len__(self) -> int:
        return len(self.array)

    def unchanged(self, field: Any) -> bool:
        given = field.array.values if self._offsets is not None else field.array
        return (
            field.array is self._field
            and given is self.given
            and field.dtype is self._dtype
            and layout_of(given) == self._layout
            and (self._tensor is None or self._tensor.unchanged(given))
            and (self._offsets is None or field.array.offsets is self._offsets)
        )

    def version(self) -> int:
        """Another number once the items were changed in this process alone, as those of a file cannot be."""
        if self._tensor is not None:
            return self._tensor.version()
        if isinstance(self.given, FileArray):
            return 0
        return checksum(self.given)

    def hold(self) -> None:
        if self._tensor is not None:
            self._tensor.hold()


def _ragged(values: Array, offsets: NDArray[np.int64], dtype: str) -> Array:
    """The rows of a RaggedArray, whose items must lie one after the other."""
    strides = contiguous(values.shape, DTYPES[dtype].itemsize)
    if (
        len(values) > 1
        and 0 not in values.shape
        and any(
            extent > 1 and ours != theirs
            for extent, ours, theirs in zip(values.shape, values.strides, strides, strict=True)
        )
    ):
        raise SourceRefusal("ArrayDataset", "the items of a RaggedArray are not contiguous", "ARRAY_LAYOUT")
    return replace(
        values,
        shape=(len(offsets) - 1, *values.shape[1:]),
        strides=(0, *strides[1:]),
        begins=offsets[:-1] * strides[0],
        lengths=np.diff(offsets),
        bytes=len(values) * strides[0],
    )


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def castable(to: str, stored: str) -> bool:
    """castOf in core/source/array/cast.go."""
    if stored in (*_INTEGERS, "bool"):
        return to in (*_INTEGERS, *_FLOATS)
    return stored in _FLOATS and to in _FLOATS


def scattered(array: FileArray) -> bool:
    """Whether a row takes more of the file than core/source/array reads for it."""
    return is_scattered(array.shape, array.strides, array.numpy_dtype.itemsize)


def is_scattered(shape: Sequence[int], strides: Sequence[int], item: int) -> bool:
    """The same of rows of such a shape (scatterMax, scatterMin)."""
    row = reach = item
    for size, stride in zip(shape[1:], strides[1:], strict=True):
        row *= size
        reach += max(size - 1, 0) * abs(stride)
    return reach > 16 * row + (64 << 10)
