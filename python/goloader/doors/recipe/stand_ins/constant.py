"""Arguments of functions other than stand-ins: numbers, and small arrays with one number a channel.

Each has a key: functions with equal keys are one and the same function. Arrays are copied, since whoever gave them may
write into them later.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
import torch

_ITEMS_MAX = 16


class Constant(NamedTuple):
    """An argument.

    key    with those of other types and values unequal
    value  as the function gets it
    shape  of an array; () for all else
    """

    key: Hashable
    value: Any
    shape: tuple[int, ...] = ()


def constant(value: Any) -> Constant | None:
    """An argument that can be noted; None for all else."""
    kind = type(value)
    if kind in (int, float, bool, str) or value is None:
        return Constant((kind, repr(value)), value)
    if isinstance(value, np.generic):
        return Constant((kind, value.tobytes()), value)
    if kind is np.ndarray:
        if value.size > _ITEMS_MAX or value.dtype.hasobject:
            return None
        return Constant((kind, value.dtype.str, value.shape, value.tobytes()), value.copy(), value.shape)
    if kind is torch.Tensor:
        if value.numel() > _ITEMS_MAX or value.device.type != "cpu" or value.layout != torch.strided:
            return None
        if value.requires_grad or value.dtype == torch.bfloat16:
            return None
        copy = value.clone()
        shape = tuple(value.shape)
        return Constant((kind, value.dtype, shape, copy.numpy().tobytes()), copy, shape)
    if kind in (list, tuple):
        if len(value) <= _ITEMS_MAX and all(type(each) is float for each in value):  # mean, std
            return Constant((kind, struct.pack(f"{len(value)}d", *value)), kind(value), (len(value),))
        items = [constant(each) for each in value[: _ITEMS_MAX + 1]]
        if len(items) > _ITEMS_MAX or any(item is None or item.shape for item in items):
            return None
        kept = kind(item.value for item in items if item is not None)
        return Constant((kind, *(item.key for item in items if item is not None)), kept, (len(items),))
    if isinstance(value, (torch.dtype, np.dtype)) or (isinstance(value, type) and value in _DTYPES):
        return Constant((type(value), str(value)), value)
    return None


_DTYPES = (
    np.uint8, np.int8, np.int16, np.int32, np.int64, np.float16, np.float32, np.float64, np.bool_, float, int, bool,
)  # fmt: skip
