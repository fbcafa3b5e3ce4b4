"""How an array or tensor lies in a block of memory: extents, and how far apart items are; and what changes only that.

Counted in items of the block, as torch does; numpy counts strides in bytes. What a view does to that, numpy and torch
say themselves: they are given an array or a tensor that lies so, in memory that is not there.
"""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch

from ....arrays.file_array import contiguous


class Layout(NamedTuple):
    """A view of a block.

    shape    extents
    strides  items between neighbours along each extent; numpy's may be negative
    offset   of the first item, from the block's first
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def is_contiguous(self) -> bool:
        """Whether items follow each other, the last extent fastest."""
        step = 1
        for length, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if length != 1:
                if stride != step:
                    return False
                step *= length
        return True


# Items without bytes: numpy reads nothing of them, whatever is done to an array. No process has memory at this address.
_NO_BYTES = np.dtype("V0")
_BEGIN, _BYTES = 1 << 62, 1 << 56
_NOWHERE = memoryview((ctypes.c_uint8 * _BYTES).from_address(_BEGIN))

_NONE: Mapping[str, Any] = {}


def viewed(
    view: Callable[..., Any],
    layout: Layout,
    arguments: tuple[Any, ...],
    options: Mapping[str, Any] = _NONE,
    *,
    numpy: bool,
) -> Layout | None:
    """How what `view(array, *arguments, **options)` gives lies; of a tensor, if not `numpy`.

    None for what is no view, or has no items, for arrays of one item, for errors, and for arguments other than
    integers, slices, None, ... and lists and tuples of them.
    """
    kinds = _kinds((*arguments, *options.values()) if options else arguments)
    if kinds is None:
        return None
    if kinds or options:
        return _look(view, layout, arguments, options, numpy)
    return _known(view, layout, arguments, numpy)


def indexed(layout: Layout, key: Any, *, numpy: bool) -> Layout | None:
    """How array[key] lies, or tensor[key], also where that is one item; None as of viewed."""
    keys = key if type(key) is tuple else (key,)
    plain = _part(layout, keys)
    if plain is not None:
        return plain
    whole = keys if any(each is Ellipsis for each in keys) else (*keys, ...)
    if not numpy and any(each is None for each in keys):  # torch has another stride for a new extent
        return viewed(torch.Tensor.__getitem__, layout, (whole,), numpy=False)
    found = viewed(operator.getitem, layout, (whole,), numpy=True)
    # torch refuses steps backwards.
    return None if found is None or (not numpy and any(stride < 0 for stride in found.strides)) else found


def _part(layout: Layout, keys: tuple[Any, ...]) -> Layout | None:
    """How array[keys] lies for integers and slices that leave out nothing in between; None for all else.

    numpy and torch agree there, and batches of images that differ in size ask for many such views.
    """
    shape, strides, offset = layout
    if len(keys) > len(shape):
        return None
    lengths, steps = [], []
    for at, key in enumerate(keys):
        length, stride = shape[at], strides[at]
        if type(key) is int:
            if not -length <= key < length:
                return None
            offset += (key if key >= 0 else key + length) * stride
            continue
        if type(key) is not slice or key.step is not None:
            return None
        for bound in (key.start, key.stop):
            if bound is not None and type(bound) is not int:
                return None
        start, stop, _ = key.indices(length)
        if start >= stop:
            return None
        offset += start * stride
        lengths.append(stop - start)
        steps.append(stride)
    if not lengths and len(keys) == len(shape):
        return None
    return Layout((*lengths, *shape[len(keys) :]), (*steps, *strides[len(keys) :]), offset)


def _kinds(values: Iterable[Any]) -> bool | None:
    """Whether some of the arguments are others than integers, None, ... and tuples of them; None if a view takes no
    such argument, or gives a copy for it."""
    others = False
    for value in values:
        kind = type(value)
        if kind is int or value is None or value is Ellipsis:
            continue
        if kind is list or isinstance(value, tuple):
            inside = _kinds(value)
            if inside is None:
                return None
            others = others or inside or kind is list
        elif kind is slice or isinstance(value, np.integer):
            others = True
        else:
            return None
    return others


def _look(
    view: Callable[..., Any], layout: Layout, arguments: tuple[Any, ...], options: Mapping[str, Any], numpy: bool
) -> Layout | None:
    try:
        if numpy:
            whole = np.ndarray(layout.shape, _NO_BYTES, _NOWHERE, layout.offset, layout.strides)
            if whole.size < 2:  # of one item numpy's strides may be its bytes
                return None
            made = view(whole, *arguments, **options)
            at = made.__array_interface__["data"][0] - _BEGIN
            found = Layout(made.shape, made.strides, at) if type(made) is np.ndarray and 0 <= at < _BYTES else None
        else:
            made = view(_meta().as_strided(*layout), *arguments, **options)
            same = made.untyped_storage()._cdata == _meta().untyped_storage()._cdata
            found = Layout(tuple(made.shape), made.stride(), made.storage_offset()) if same else None
    except Exception:  # whatever it is, the user's own call raises it
        return None
    return None if found is None or 0 in found.shape else found


@lru_cache(maxsize=1024)  # most samples of a dataset have views of the same few kinds
def _known(view: Callable[..., Any], layout: Layout, arguments: tuple[Any, ...], numpy: bool) -> Layout | None:
    return _look(view, layout, arguments, _NONE, numpy)


@cache
def _meta() -> torch.Tensor:
    return torch.empty(1 << 40, dtype=torch.uint8, device="meta")


def are_places(dims: tuple[Any, ...], ndim: int) -> bool:
    """Whether these are numbers of as many extents."""
    return all(type(dim) is int and -ndim <= dim < ndim for dim in dims) and len({dim % ndim for dim in dims}) == len(
        dims
    )


def dense(shape: tuple[int, ...]) -> Layout:
    """A block of its own, whose last extent is the fastest."""
    return Layout(shape, contiguous(shape))
