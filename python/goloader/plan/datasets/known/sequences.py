"""A list of tensors, or of numpy arrays, that differ in length at most: rows that lie anyhow in memory."""

from __future__ import annotations

import operator
import zlib
from itertools import chain, cycle
from typing import Any

import numpy as np
import torch

from ....arrays.file_array import contiguous
from ...bytecode import extent_of
from ...refusal import SourceRefusal
from ...rows import DIMENSIONS_MAX, Array, Owner
from ..tree import Indices
from .tensors import NAMES

_SHAPE, _DTYPE = map(operator.attrgetter, ("shape", "dtype"))


class Listed:
    """What is at a place in each item of a list: its items themselves, or what keys lead to in these.

    elements  that

    Raises RefusalError where items differ in their type, length or names.
    """

    def __init__(self, given: Any, path: tuple[Any, ...] = ()) -> None:
        self._given = given
        self._length = len(given)
        # Of each key the lists, tuples or dicts that it is of, and their extent; a tuple stays as it is.
        self._levels: list[tuple[list[Any], Any, Any]] = []
        self.elements = list(given)
        for key in path:
            extent = _extent(self.elements)
            if extent is None:
                raise SourceRefusal("", "a list whose items differ in type, length or names", "CODE_UNREAD")
            self._levels.append((self.elements, key, None if type(self.elements[0]) is tuple else extent))
            self.elements = [each[key] for each in self.elements]

    def same(self, given: Any, rows: list[int] | None) -> list[Any] | None:
        """The elements of these rows (None: all) as long as they are the same objects; else None."""
        if given is not self._given or len(given) != self._length:
            return None
        now = list(given) if rows is None else [given[i] for i in rows]
        for kept, key, extent in self._levels:
            if not all(map(operator.is_, now, kept if rows is None else map(kept.__getitem__, rows))):
                return None
            if extent is not None and _extent(now) != extent:
                return None
            now = [each[key] for each in now]
        kept = self.elements
        return now if all(map(operator.is_, now, kept if rows is None else map(kept.__getitem__, rows))) else None


def _extent(elements: list[Any]) -> Any:
    """What extent_of says of each of them; None where they differ in type, or in that."""
    if not elements or len(set(map(type, elements))) > 1:
        return None
    extent = extent_of(elements[0])
    if extent is None or set(map(len, elements)) != {len(elements[0])}:
        return None
    if type(extent) is tuple and not all(map(operator.eq, chain.from_iterable(elements), cycle(extent))):
        return None
    return extent


class Sequences(Owner):
    """The rows of such a list. It stays what it is as long as `unchanged` says so.

    in_one_piece  each lies in one piece; else all have the same shape and strides
    """

    def __init__(self, listed: Listed) -> None:
        self._listed = listed
        self._elements = listed.elements
        first = self._elements[0]
        self._tensors = isinstance(first, torch.Tensor)
        # Of our own: memory lives on if the user's tensors are set to another.
        self._storages = [each.untyped_storage() for each in self._elements] if self._tensors else []
        self._held = False
        self._addresses, self._shapes = _addresses(self._elements), list(map(_SHAPE, self._elements))
        self._strides = _strides(self._elements)
        self.in_one_piece = all(map(_contiguous, self._elements))
        item = tuple(first.shape[1:])
        lengths = np.array([shape[0] for shape in self._shapes], np.int64) if first.ndim else None
        self.array = Array(
            0,
            (len(self._elements), *item),
            (0, *contiguous(item, first.itemsize)),
            self,
            begins=np.array(self._addresses, np.int64),
            lengths=lengths,
            bytes=np.iinfo(np.int64).max,
        )

    def __len__(self) -> int:
        return len(self.array)

    def alike(self) -> Any:
        """An array that has their items' layout, and as many rows; None if they differ in length."""
        first = self._elements[0]
        if any(shape != first.shape for shape in self._shapes):
            return None
        shape = (len(self._elements), *first.shape)
        return first.expand(shape) if self._tensors else np.broadcast_to(first, shape)

    def unchanged(self, given: Any, at: Indices | None) -> bool:
        """True if the same tensors are in it, and their items where they were."""
        rows = None if at is None else at.tolist()
        now = self._listed.same(given, rows)
        if now is None:
            return False
        addresses, shapes, strides = self._addresses, self._shapes, self._strides
        if rows is not None:
            addresses, shapes = [addresses[i] for i in rows], [shapes[i] for i in rows]
            strides = [strides[i] for i in rows]
        if list(map(_SHAPE, now)) != shapes or _strides(now) != strides:
            return False
        if not self._tensors:  # numpy moves no array that somebody else refers to
            return set(map(_DTYPE, now)) <= {self._elements[0].dtype}
        return list(map(torch.Tensor.data_ptr, now)) == addresses and not any(
            map(operator.attrgetter("requires_grad"), now)
        )

    def version(self) -> int:
        """Another number once the items were changed."""
        if self._tensors:
            return hash(tuple(map(operator.attrgetter("_version"), self._elements)))
        checksum = 0
        for each in self._elements:
            checksum = zlib.crc32(each.reshape(-1).view(np.uint8), checksum)
        return checksum

    def hold(self) -> None:
        # A storage that has had an array over it refuses resize_() from then on.
        if not self._held:
            over = torch.empty(0, dtype=torch.uint8)
            for storage in self._storages:
                over.set_(storage).numpy()
            self._held = True


def _contiguous(array: Any) -> bool:
    return bool(array.is_contiguous() if isinstance(array, torch.Tensor) else array.flags.c_contiguous)


def _strides(elements: list[Any]) -> list[tuple[int, ...]]:
    """In items of a tensor, in bytes of an array."""
    return [each.stride() if isinstance(each, torch.Tensor) else each.strides for each in elements]


def _alike(elements: list[Any]) -> bool:
    """True if they lie in memory in the same way, forwards."""
    shape, strides = elements[0].shape, _strides(elements)
    return all(each.shape == shape for each in elements) and len(set(strides)) == 1 and min(strides[0], default=0) >= 0


def _addresses(elements: list[Any]) -> list[int]:
    if isinstance(elements[0], torch.Tensor):
        return list(map(torch.Tensor.data_ptr, elements))
    return [each.__array_interface__["data"][0] for each in elements]


def why_not_sequences(elements: Any) -> str:
    """Why the elements of a list are no rows; empty if they are."""
    kinds = set(map(type, elements))
    if kinds not in ({torch.Tensor}, {np.ndarray}):
        return f"a {type(elements).__name__}, not of tensors alone, or of numpy arrays alone"
    if len(set(map(_DTYPE, elements))) > 1:
        return f"a {type(elements).__name__} of several dtypes"
    if len({shape[1:] for shape in map(_SHAPE, elements)}) > 1 or len({each.ndim for each in elements}) > 1:
        return f"a {type(elements).__name__} of shapes that differ in more than their length"
    if elements[0].ndim >= DIMENSIONS_MAX:
        return f"a {type(elements).__name__} of arrays of {elements[0].ndim} dimensions"
    return (_why_not_tensors if kinds == {torch.Tensor} else _why_not_arrays)(elements)


def _why_not_tensors(tensors: Any) -> str:
    first = tensors[0]
    if first.dtype not in NAMES or first.is_quantized:
        return f"of tensors of {first.dtype}"
    if any(map(operator.attrgetter("requires_grad"), tensors)):
        return "of tensors that require grad: their batches have a history"
    if {each.layout for each in tensors} != {torch.strided} or any(map(operator.attrgetter("is_nested"), tensors)):
        return "of tensors that are not strided"
    if {each.device.type for each in tensors} != {"cpu"}:
        return "of tensors that are not on the CPU"
    if any(each.is_conj() or each.is_neg() for each in tensors):
        return "of tensors that are conjugated or negated views"
    return "" if all(map(_contiguous, tensors)) or _alike(tensors) else "of tensors that lie in memory in several ways"


def _why_not_arrays(arrays: Any) -> str:
    dtype = arrays[0].dtype
    if dtype.name not in set(NAMES.values()) or dtype != np.dtype(dtype.name):
        return f"of arrays of {dtype}"
    return "" if all(map(_contiguous, arrays)) or _alike(arrays) else "of arrays that lie in memory in several ways"
