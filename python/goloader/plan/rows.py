"""Fields whose samples are rows of arrays, as the core takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import FileArray

__all__ = ["DIMENSIONS_MAX", "FIELDS_MAX", "Array", "Field", "Pixels"]

DIMENSIONS_MAX = 8  # GL_NDIM_MAX in capi/goloader.h, of a batch
FIELDS_MAX = 16  # GL_FIELDS_MAX


@dataclass(frozen=True, eq=False)
class Array:
    """An array in memory or in a file.

    address  of its first item
    shape    rows first
    strides  bytes, one for each dimension; any sign
    owner    what keeps the memory alive
    stored   dtype of its items where they are to be cast, one of core/tensor's names; "" if it is the field's
    path     of the file that it is in; then `address` is 0, and
    offset   is where its first item is there
    direct   the file is read past the page cache
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    owner: Any
    stored: str = ""
    path: str | None = None
    offset: int = 0
    direct: bool = False

    @classmethod
    def of(cls, array: NDArray[Any] | FileArray, owner: Any = None, stored: str = "") -> Array:
        owner = array if owner is None else owner
        if isinstance(array, FileArray):
            return cls(0, array.shape, array.strides, owner, stored, array.path, array.offset, array.direct)
        return cls(array.__array_interface__["data"][0], array.shape, array.strides, owner, stored)

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

    @property
    def channels(self) -> int:
        return 1 if self.layout == "flat" else 3

    def to_plan(self) -> dict[str, Any]:
        return {"layout": self.layout, "size": list(self.size)}


@dataclass(frozen=True, eq=False)
class Field:
    """One field of a sample.

    dtype   of its items, one of core/tensor's names
    shape   of a row
    arrays  where the rows are, one array after the other
    index   [samples] int64, sample -> row; None if they are the same
    torch   torch's name of the dtype, where the core knows items of that size by another
    """

    dtype: str
    shape: tuple[int, ...]
    arrays: tuple[Array, ...]
    index: NDArray[np.int64] | None = None
    torch: str = ""

    @property
    def spec(self) -> tuple[str, tuple[int, ...], str]:
        """What rows of one field have in common."""
        return self.dtype, self.shape, self.torch

    def to_plan(self) -> dict[str, Any]:
        stored = next((array.stored for array in self.arrays), "") or self.dtype
        return {"dtype": self.dtype, "shape": list(self.shape), "stored": stored}
