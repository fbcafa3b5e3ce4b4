"""An array in chunks, of a file or a file each."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .file_array import FileArray, contiguous


@dataclass(frozen=True, eq=False)
class Chunks:
    """Where chunks are, as gl_chunks in capi/goloader.h has it.

    prefix     the file that all are in; or, of a file each, what their names begin with
    separator  None if all are in one file; else what is between the numbers in a chunk's name
    shape      of the array
    chunk      extents of each
    places     [chunks, 3] int64: where it begins, its bytes (-1: to the end of its file; 0: it was never written), and
               a bit for each filter that was not applied to it
    filters    as they were applied
    fill       an item of chunks that were never written
    shard      chunks along each dimension that lie in one file; None: one
    """

    prefix: str
    separator: str | None
    shape: tuple[int, ...]
    chunk: tuple[int, ...]
    places: NDArray[np.int64]
    filters: tuple[str, ...]
    fill: bytes
    shard: tuple[int, ...] | None = None


def grid_of(shape: Sequence[int], chunk: Sequence[int]) -> tuple[int, ...]:
    """How many chunks there are along each dimension."""
    return tuple(-(-extent // size) for extent, size in zip(shape, chunk, strict=True))


class ChunkedArray(FileArray):
    """An array in chunks, as `open_arrays` gives it. Go reads the chunks itself, Python by the format's own library.

    open  opens the array with that library: what it gives takes slices of rows
    """

    def __init__(self, path: str, *, dtype: np.dtype[Any], chunks: Chunks, open: Callable[[], Any]) -> None:
        self.path, self.chunks, self.direct, self.offset = path, chunks, False, 0
        self.dtype, self.numpy_dtype = dtype.name, dtype
        self.shape = chunks.shape
        self.strides = contiguous(self.shape, dtype.itemsize)
        self._open = open
        self._opened: tuple[int, Any] = 0, None

    def _rows(self, begin: int, count: int) -> NDArray[Any]:
        process, opened = self._opened
        if process != os.getpid():  # neither library goes on in a forked child with what its parent opened
            opened = self._open()
            self._opened = os.getpid(), opened
        rows: NDArray[Any] = np.asarray(opened[begin : begin + count])
        return rows.astype(self.numpy_dtype.newbyteorder("="), copy=False)

    def __repr__(self) -> str:
        return f"ChunkedArray({self.path!r}, dtype={self.dtype!r}, shape={self.shape})"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(ChunkedArray, dtype=self.numpy_dtype, chunks=self.chunks, open=self._open), (self.path,)
