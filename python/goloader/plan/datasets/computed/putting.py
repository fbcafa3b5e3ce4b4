"""Items of arrays and tensors that code sets: whole[keys] = item, as steps of a program.

Where the places are the same for all samples, the item is copied to them. Else a mask says which they are: made of the
ends of slices, of numbers, or by the code itself. Ends and places below 0 are left to the user's own code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import numpy as np
import torch

from ...bytecode import UnreadableError
from .arithmetic import Arithmetic, Value, dtype_of, kind_of, places_of, strides_of
from .program import Items

# What an axis is indexed with: a value, or the ends of a slice, and its step.
Key = Value | tuple[Value, ...]


def put(a: Arithmetic, whole: Value, keys: Sequence[Key], item: Value) -> Value:
    """What an array, or a tensor, is after whole[keys] = item. Raises UnreadableError."""
    if kind_of(whole.sample) not in ("array", "tensor"):
        raise UnreadableError(f"sets items of a {type(whole.sample).__qualname__}")
    spelt = tuple(slice(*(end.sample for end in key)) if isinstance(key, tuple) else key.sample for key in keys)
    sample = a.done(_put, [whole, Value(spelt), item])
    same = [_is_same(key) for key in keys]
    if whole.constant and item.constant and all(same):
        return Value(sample, constant=True)
    put_there = _converted(a, whole, item)
    if all(same):
        made = a.writer.begun(a.items(whole, dtype_of(sample)), tuple(sample.shape))
        part = np.asarray(places_of(made)[spelt])
        if (strides := strides_of(part)) is not None:
            a.writer.store(put_there, Items(made.room, made.number, made.dtype, part.shape, *strides))
            return a.value(sample, lambda: made)
    if put_there.shape:
        raise UnreadableError("sets items to an array, where they are not the same for all samples")
    return _chosen(a, sample, _mask(a, tuple(sample.shape), keys, spelt), put_there, whole)


def put_chosen(a: Arithmetic, whole: Value, mask: Value, other: Value) -> Value:
    """The same after whole[mask] = other[mask]."""
    alike = kind_of(whole.sample) == kind_of(other.sample) == kind_of(mask.sample)
    if not alike or whole.sample.shape != other.sample.shape or whole.sample.dtype != other.sample.dtype:
        raise UnreadableError("sets items by a mask to those of another kind of array")
    sample = a.done(lambda one, where: _put(one, where, one[where]), [whole, mask])
    wide = _behind(a.items(mask, "bool"), np.ndim(sample) - np.ndim(mask.sample))
    return _chosen(a, sample, wide, a.items(other, dtype_of(sample)), whole)


def is_mask(value: Any) -> bool:
    """Whether it is an array, or a tensor, that says of each item whether it is meant."""
    array = isinstance(value, Value) and kind_of(value.sample) in ("array", "tensor")
    return array and dtype_of(value.sample) == "bool" and bool(value.sample.ndim)


def _chosen(a: Arithmetic, sample: Any, mask: Items, then: Items, otherwise: Value) -> Value:
    operands = mask, then, a.items(otherwise, dtype_of(sample))
    return a.value(sample, lambda: a.writer.step("where", operands, dtype_of(sample)))


def first_put(a: Arithmetic, whole: Value, item: Value) -> Any:
    """What a number becomes where it is an item of an array."""
    return a.done(_put, [whole, Value((0,) * np.ndim(whole.sample), constant=True), item])[(0,) * np.ndim(whole.sample)]


def _put(whole: Any, key: Any, item: Any) -> Any:
    made = whole.clone() if isinstance(whole, torch.Tensor) else whole.copy(order="K")
    made[key] = item
    return made


def _is_same(key: Key) -> bool:
    """Whether it is the same for all samples."""
    return all(end.constant for end in key) if isinstance(key, tuple) else key.constant


def _converted(a: Arithmetic, whole: Value, item: Value) -> Items:
    """An item as the type of what it becomes part of."""
    dtype, kind = dtype_of(whole.sample), kind_of(item.sample)
    if item.constant and kind == "number":
        return a.items(Value(first_put(a, whole, item), constant=True), dtype)
    if kind not in ("number", kind_of(whole.sample)) and (kind, kind_of(whole.sample)) != ("scalar", "array"):
        raise UnreadableError("sets items to what is of another kind")
    own, single = dtype_of(item.sample), kind in ("number", "scalar")
    rounds = own.startswith("float") and dtype.startswith("float")
    exact = own == "int64" and dtype == "float64" and item.small
    if own != dtype and not rounds and not exact:
        raise UnreadableError(f"sets items of {dtype} to {own}")
    return a.items(item, dtype, watch=single or kind == "array", through=single)


def _mask(a: Arithmetic, shape: tuple[int, ...], keys: Sequence[Key], spelt: tuple[Any, ...]) -> Items:
    """Which items are set, along the axes that keys are of."""
    if len(keys) == 1 and is_mask(mask := keys[0]):
        return _behind(a.items(mask, "bool"), len(shape) - mask.sample.ndim)  # type: ignore[union-attr, arg-type]
    axes = list(zip(keys, spelt, strict=True))
    at = next((n for n, (_, known) in enumerate(axes) if known is ...), None)
    if at is not None:
        nothing = Value(None, constant=True)
        axes[at : at + 1] = [((nothing, nothing), slice(None))] * (len(shape) - len(axes) + 1)
    if len(axes) > len(shape):
        raise UnreadableError("sets items in a way that is not known")
    masks = []
    for axis, ((key, known), extent) in enumerate(zip(axes, shape, strict=False)):
        if not _is_same(key):
            found = _of_places(a, key, extent)
        elif type(known) in (int, slice):
            if known == slice(None):
                continue
            along = np.zeros(extent, bool)
            along[known] = True
            found = a.writer.constant(along)
        else:
            raise UnreadableError("sets items in a way that is not known")
        masks.append(_behind(found, len(shape) - axis - 1))
    return reduce(partial(_both, a), masks)


def _of_places(a: Arithmetic, key: Key, extent: int) -> Items:
    """Which items along an axis a slice takes, or a number."""
    if not isinstance(key, tuple):
        return a.places(_integer(a, key), extent)
    start, stop, *step = key
    if any(each.sample not in (None, 1) for each in step):
        raise UnreadableError("sets items by steps")
    places = a.writer.constant(np.arange(extent, dtype=np.int64))
    found = []
    for op, end in (("ge", start), ("lt", stop)):
        if end.sample is not None:
            if end.constant and end.sample < 0:
                end = Value(max(end.sample + extent, 0), constant=True)
            items = _integer(a, end)
            a.require(items)
            found.append(a.writer.step(op, (places, items), "bool"))
    return reduce(partial(_both, a), found)


def _both(a: Arithmetic, one: Items, other: Items) -> Items:
    return a.writer.step("and", (one, other), "bool")


def _integer(a: Arithmetic, value: Value) -> Items:
    """A number of Python's, numpy's or torch's that says where."""
    dtype = dtype_of(value.sample) if kind_of(value.sample) else ""
    if "int" not in dtype or dtype == "uint8" or np.ndim(value.sample):
        raise UnreadableError("sets other items than by numbers, slices or a mask")
    return a.items(value, "int64")


def _behind(items: Items, axes: int) -> Items:
    """With so many more axes behind its own, of one item."""
    return replace(items, shape=(*items.shape, *[1] * axes), strides=(*items.strides, *[0] * axes))
