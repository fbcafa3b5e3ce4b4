"""Rows that programs are given."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import torch

from ...bytecode import (
    UnreadableError,
)
from ...rows import Array
from ..own.ahead import Ahead
from ..own.bases import Base
from ..own.integers import Integers
from ..tree import Indices


@dataclasses.dataclass(frozen=True, eq=False)
class Input:
    """Rows: which of a view of a base, by the index. base is None for the integers themselves.

    window  so many items of the base make a row; 0 if rows are anything else
    cuts    of arrays that differ in length, which of their items are taken, one slice after the other, and
    extent  how many these are; None where that differs
    """

    base: Base | Ahead | None
    view: Any
    rows: Integers
    window: int = 0
    cuts: tuple[slice, ...] = ()
    extent: int | None = None

    @property
    def is_element(self) -> bool:
        """True for arrays of a list as they are."""
        if self.base is None or self.view is not self.base.array or self.extent is not None:
            return False
        return bool(getattr(self.base.piece, "in_one_piece", False))

    def elements(self, length: int, usable: Any) -> Array:
        """These arrays, whatever their length."""
        assert self.base is not None
        whole, rows = self.base.piece.array, self._rows(length, usable)
        assert whole.begins is not None
        lengths = None if whole.lengths is None else whole.lengths[rows]
        begins = whole.begins[rows]
        if self.cuts:
            assert lengths is not None
            firsts, lengths = cut(lengths, self.cuts)
            begins = begins + firsts * _step(self.base.first)
        return dataclasses.replace(whole, shape=(length, *whole.shape[1:]), begins=begins, lengths=lengths)

    def array(self, length: int, usable: Any) -> Array:
        """The same, one for each index from 0."""
        if self.base is None:
            return self._of_numbers(length, usable)
        if self.extent is not None:
            whole = self.elements(length, usable)
            shape, strides = (length, self.extent, *whole.shape[1:]), (0, _step(self.base.first), *whole.strides[1:])
            return dataclasses.replace(whole, shape=shape, strides=strides, lengths=None)
        whole = self.base.piece.array
        item = self.view.itemsize
        if isinstance(self.view, torch.Tensor):
            address, strides = self.view.data_ptr(), tuple(stride * item for stride in self.view.stride())
            first = self.base.array.data_ptr()
        else:
            address, strides = self.view.__array_interface__["data"][0], self.view.strides
            first = self.base.array.__array_interface__["data"][0]
        shape = (length, *self.view.shape[1:])
        moved, begins, room = address - first, None, 0
        if whole.begins is not None:
            begins = whole.begins[self._rows(length, usable)] + moved
            return dataclasses.replace(whole, shape=shape, strides=(0, *strides[1:]), begins=begins, lengths=None)
        if self.rows.table is None and (usable is None or self.rows.scale == 0):
            moved += self.rows.shift * strides[0]
            step = self.rows.scale * strides[0]
        else:
            rows = self._rows(length, usable)
            begins, step = np.ascontiguousarray(rows * strides[0]), 0
            room = (len(self.view) - 1) * strides[0] + item
            room += sum((extent - 1) * stride for extent, stride in zip(shape[1:], strides[1:], strict=True))
            if strides[0] < 0:
                raise UnreadableError("takes rows of an array that lies backwards")
        placed = {"address": whole.address + moved} if whole.path is None else {"offset": whole.offset + moved}
        return dataclasses.replace(
            whole, shape=shape, strides=(step, *strides[1:]), begins=begins, bytes=room, **placed
        )

    def _of_numbers(self, length: int, usable: Any) -> Array:
        if self.rows.is_index:
            return Array(0, (length,), (8,), None, counts=True)
        made = np.ascontiguousarray(self._rows(length, usable))
        return Array.of(made)

    def _rows(self, length: int, usable: Any) -> Indices:
        """Which row each index means; those that mean none have one all the same."""
        indices = np.arange(length, dtype=np.int64)
        return self.rows.at(indices if usable is None else np.where(usable, indices, indices[usable][0]))


def cut(lengths: Indices, cuts: tuple[slice, ...]) -> tuple[Indices, Indices]:
    """Of arrays of these lengths the first item that is left of each, and how many are."""
    firsts = np.zeros_like(lengths)
    for each in cuts:
        start, stop = (
            np.full_like(lengths, default) if end is None else np.clip(end + lengths * (end < 0), 0, lengths)
            for end, default in ((each.start, 0), (each.stop, np.iinfo(np.int64).max))
        )
        firsts, lengths = firsts + start, np.maximum(np.minimum(stop, lengths) - start, 0)
    return firsts, lengths


def _step(first: Any) -> int:
    """Bytes from one item of an array to the next, or from one number of a list."""
    if type(first) in (list, tuple):
        return np.dtype(np.int64).itemsize
    return int(first.itemsize * math.prod(first.shape[1:]))


def windows(array: Any, axis: int, length: int) -> Any:
    """[windows, ...]: each `length` items along an axis, one item further than the one before."""
    count = array.shape[axis] - length + 1
    shape = (count, *array.shape[:axis], length, *array.shape[axis + 1 :])
    strides = _strides(array)
    return _strided(array, shape, (strides[axis], *strides))


def flattened(array: Any) -> tuple[Any, int]:
    """An array with its first two axes as one, and how many items of that a step along the first was. There may be
    items between its rows. Raises UnreadableError if they lie in another order.
    """
    outer, inner, *rest = _strides(array)
    if inner <= 0 or outer < inner or outer % inner or not array.shape[0]:
        raise UnreadableError("takes items by two numbers of an array that lies in another order")
    step = outer // inner
    shape = ((array.shape[0] - 1) * step + array.shape[1], *array.shape[2:])
    return _strided(array, shape, (inner, *rest)), step


def _strides(array: Any) -> tuple[int, ...]:
    """In items of a tensor, in bytes of an array."""
    strides: tuple[int, ...] = array.stride() if isinstance(array, torch.Tensor) else array.strides
    return strides


def _strided(array: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """The same memory with another shape and strides."""
    if isinstance(array, torch.Tensor):
        return torch.as_strided(array, shape, strides, array.storage_offset())
    return np.lib.stride_tricks.as_strided(array, shape, strides, writeable=array.flags.writeable)
