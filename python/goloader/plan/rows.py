"""Fields whose samples are rows of arrays, as the core takes them."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import FileArray
from ..arrays.chunked_array import ChunkedArray, Chunks
from ..arrays.table_column import Parts, TableColumn
from .paths import Files
from .row_layouts import STACKED, RowLayout

DIMENSIONS_MAX = 8  # GL_NDIM_MAX in capi/goloader.h, of a batch
FIELDS_MAX = 64  # GL_FIELDS_MAX


class Owner:
    """What keeps an array's memory alive, where somebody may change what is in it."""

    def version(self) -> int:
        """Another number once the items were changed in this process alone."""
        return 0

    def hold(self) -> None:
        """Keeps resize_() from moving the memory; numpy resizes no array that somebody else refers to."""


@dataclass(frozen=True, eq=False)
class ArrayFiles:
    """Arrays that are in a file each.

    format   of the files, as capi/goloader.h has it
    files    their paths
    begins   [files + 1] int64: of each array's bytes behind those of all before it, and the end
    extents  [files] int64: of each array's shape, the one by which they differ, if they do
    head     the text of their headers, up to that extent, and
    tail     behind it; head is all of it if there are no extents
    """

    format: str
    files: Files
    begins: NDArray[np.int64]
    extents: NDArray[np.int64] | None
    head: str
    tail: str


@dataclass(frozen=True, eq=False)
class Array:
    """An array in memory or in a file.

    address  of its first item
    shape    rows first
    strides  bytes, one for each dimension; any sign
    owner    what keeps the memory alive: an Owner, or any object
    stored   dtype of its items where they are to be cast, one of core/tensor's names; "" if it is the field's
    path     of the file that it is in; then `address` is 0, and
    offset   is where its first item is there
    direct   the file is read past the page cache
    begins   [rows] int64, bytes from the first item to each row, where they lie anyhow; None: `strides` says it
    lengths  [rows] int64, items of each row, where they differ; `shape` is then that of an item, behind the rows
    bytes    that there are from `address` on, where rows have begins
    ends     int64, where arrays in memory end that a script reads, in bytes from the first item on, ascending: a
             row goes no further than the one in which it begins, zeros are behind it; None: rows are whole
    counts   there is no memory: row i is the number i, int64
    chunks   where the array's bytes are in the file, or in files; `offset` is then as if they lay there in one piece
    parts    the same of a column of tables, whose first file `path` is
    files    the same of files of an array each, of which `path` is the first
    late     rows, and their lengths, are put there as batches ask for them
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    owner: Any
    stored: str = ""
    path: str | None = None
    offset: int = 0
    direct: bool = False
    begins: NDArray[np.int64] | None = None
    lengths: NDArray[np.int64] | None = None
    bytes: int = 0
    ends: NDArray[np.int64] | None = None
    counts: bool = False
    chunks: Chunks | None = None
    parts: Parts | None = None
    files: ArrayFiles | None = None
    late: bool = False

    @classmethod
    def of(cls, array: NDArray[Any] | FileArray, owner: Any = None, stored: str = "") -> Array:
        owner = array if owner is None else owner
        if isinstance(array, ChunkedArray):
            path = array.chunks.prefix
            return cls(0, array.shape, array.strides, owner, stored, path, array.offset, chunks=array.chunks)
        if isinstance(array, FileArray):
            parts = array.parts if isinstance(array, TableColumn) else None
            place = (array.path, array.offset, array.direct)
            return cls(0, array.shape, array.strides, owner, stored, *place, parts=parts)
        return cls(array.__array_interface__["data"][0], array.shape, array.strides, owner, stored)

    @classmethod
    def of_uneven(cls, items: NDArray[Any], lengths: NDArray[np.int64]) -> Array:
        """Rows of so many items each, which lie in an array of one dimension one behind the other."""
        begins = items.itemsize * (np.cumsum(lengths) - lengths)
        address = items.__array_interface__["data"][0]
        return cls(address, (len(lengths),), (0,), items, begins=begins, lengths=lengths, bytes=items.nbytes)

    def __len__(self) -> int:
        return self.shape[0]


@dataclass(frozen=True, eq=False)
class Pixels:
    """Images of one size in an array of uint8.

    array   an image a row
    layout  of a row: "flat" [height, width], "interleaved" [height, width, 3], "planar" [3, height, width]
    size    (height, width)
    """

    array: Array
    layout: str
    size: tuple[int, int]

    def to_plan(self) -> dict[str, Any]:
        return {"layout": self.layout, "size": list(self.size)}


@dataclass(frozen=True)
class View:
    """What rows are handed out as.

    columns  numbers of the sample's fields that they make
    skip     items of a row that are left out in front
    drop     and at its end
    front    items that are the same for all rows, as they lie in memory, which stand before what is left, and
    back     those behind it
    layout   how rows lie in a batch
    """

    columns: tuple[int, ...]
    skip: int = 0
    drop: int = 0
    layout: RowLayout = STACKED
    front: bytes = b""
    back: bytes = b""

    def to_plan(self) -> dict[str, Any]:
        front, back = (base64.b64encode(side).decode("ascii") for side in (self.front, self.back))
        cut = {"skip": self.skip, "drop": self.drop, "front": front, "back": back}
        return {**cut, "layout": self.layout.to_plan()}


@dataclass(frozen=True, eq=False)
class Program:
    """How a row is made of the rows of some arrays: core/plan's Program, as JSON has it."""

    plan: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Field:
    """Rows of arrays, which make one field of a sample, or several.

    dtype   of their items, one of core/tensor's names
    shape   of a row; if they are ragged, which is to say that they differ in length, of an item of one
    arrays  where the rows are, one array after the other
    index   [samples] int64, sample -> row; None if they are the same
    torch   torch's name of the dtype, where the core knows items of that size by another
    views   what is made of a row
    program it is made by, of rows of `inputs`
    inputs  as `arrays`, for each input of the program
    extents of a row's shape, -1 for the one that differs, where that is not the first; else (). The core then knows
            rows of numbers
    """

    dtype: str
    shape: tuple[int, ...]
    arrays: tuple[Array, ...]
    index: NDArray[np.int64] | None = None
    torch: str = ""
    ragged: bool = False
    views: tuple[View, ...] = ()
    program: Program | None = None
    inputs: tuple[tuple[Array, ...], ...] = ()
    extents: tuple[int, ...] = ()

    @property
    def sources(self) -> tuple[tuple[Array, ...], ...]:
        """Where rows are read: those that it is of, or those that it is made of."""
        return (self.arrays,) if self.program is None else self.inputs

    @property
    def opens_files(self) -> bool:
        """Whether each sample has a file of its own, which is opened for it."""
        return any(array.files is not None for arrays in self.sources for array in arrays)

    @property
    def may_fail(self) -> bool:
        """Whether there may be samples that only the user's own code makes, or fails to make."""
        return self.program is not None or self.opens_files

    @property
    def dtypes(self) -> tuple[str, ...]:
        """torch's dtypes of the batch's tensors that come of it."""
        name = self.torch or self.dtype
        return tuple(dtype for view in self.views for dtype in view.layout.dtypes(name))

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...] | None:
        """Of one sample's part of each of these; None if that depends on the batch."""
        found: list[tuple[int, ...]] = []
        for view in self.views:
            row = self.shape
            if row and not self.ragged:
                row = (row[0] - view.skip - view.drop, *row[1:])
            shapes = view.layout.shapes(row)
            if shapes is None:
                return None
            found += shapes
        return tuple(found)

    def __str__(self) -> str:
        extents = (["any"] if self.ragged else []) + list(map(str, self.shape))
        if self.extents:
            extents = ["any" if extent < 0 else str(extent) for extent in self.extents]
        return f"{self.torch or self.dtype}[{', '.join(extents)}]"

    def to_plan(self) -> dict[str, Any]:
        stored = next((array.stored for array in self.arrays), "") or self.dtype
        plan = {
            "dtype": self.dtype,
            "shape": list(self.shape),
            "stored": stored,
            "ragged": self.ragged,
            "views": [view.to_plan() for view in self.views],
        }
        return plan if self.program is None else plan | {"program": self.program.plan}
