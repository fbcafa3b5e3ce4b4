"""torch: tensors of arrays; and default_collate, which in a worker process would make shared memory of what nobody has
made yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils.data._utils import collate

from ..array import StandInArray, become_real, record_function, to_tensor
from ..as_user import as_user
from ..call import attempt
from ..tensor import StandInTensor
from ..tensor import become_real as tensor_becomes_real
from .front import Make
from .swap import Hook, recorder


def hooks() -> tuple[Hook, ...]:
    """What is hooked of torch."""
    return (Hook(collate, "collate_tensor_fn", _collate_tensor_fn),)


@recorder
def _collate_tensor_fn(original: Any, batch: Any, *, collate_fn_map: Any) -> Any:
    return torch.stack(batch, 0) if isinstance(batch[0], StandInTensor) else None


def fronts() -> tuple[tuple[Any, str, Make], ...]:
    """What stands in front of torch's functions."""
    return (
        (torch, "from_numpy", _from_numpy),
        (torch, "as_tensor", _as_tensor),
        (torch, "tensor", _tensor),
    )


def _from_numpy(original: Callable[..., Any]) -> Callable[..., Any]:
    def from_numpy(array: Any) -> Any:
        if type(array) is StandInArray:
            made = _shared(original, array)
            if made is not None:
                return made
            array = become_real(array, "torch.from_numpy")
        return as_user(original, (array,), {})

    return from_numpy


def _as_tensor(original: Callable[..., Any]) -> Callable[..., Any]:
    def as_tensor(data: Any, *arguments: Any, **options: Any) -> Any:
        if type(data) is StandInArray:
            made = attempt(_shared, (original, data, *arguments), options)
            if made is not None:
                return made
            data = become_real(data, "torch.as_tensor")
        return as_user(original, (data, *arguments), options)

    return as_tensor


def _shared(original: Callable[..., Any], array: StandInArray, dtype: Any = None, device: Any = None) -> Any:
    if device is not None and device != "cpu" and device != torch.device("cpu"):
        return None
    if dtype in (None, array.memory.value.tail.dtype):
        made = to_tensor(array)
        if made is not None and not array.writeable:
            as_user(original, (_READ_ONLY,), {})  # torch warns of such arrays, once in a process
        return made
    return record_function("as_tensor", original, (array,), dtype=dtype)


_READ_ONLY = np.frombuffer(b" ", np.uint8)


def _tensor(original: Callable[..., Any]) -> Callable[..., Any]:
    def tensor(data: Any, *arguments: Any, **options: Any) -> Any:
        if type(data) is StandInArray:
            made = (
                record_function("tensor", original, (data, *arguments), **options)
                if set(options) <= {"dtype"}
                else None
            )
            if made is not None:
                return made
            data = become_real(data, "torch.tensor")
        elif isinstance(data, StandInTensor):  # torch goes round __torch_function__ here
            if type(data) is StandInTensor and not arguments and set(options) <= {"dtype"}:
                as_user(original, (torch.empty(0),), {})  # it warns of copies of tensors
                dtype = options.get("dtype") or data.dtype
                return data.clone() if dtype == data.dtype else data.to(dtype)
            tensor_becomes_real(data, "torch.tensor")
        return as_user(original, (data, *arguments), options)

    return tensor
