"""torch: tensors of arrays; and default_collate, which in a worker process would make shared memory of what nobody has
made yet."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.utils.data._utils import collate

from ..as_user import as_user
from ..stand_ins.array import StandInArray, become_real, record_function, to_tensor
from ..stand_ins.call import attempt
from ..stand_ins.tensor import StandInTensor, canvas
from ..stand_ins.tensor import become_real as tensor_becomes_real
from ..switch import current
from .front import Make
from .swap import Hook, recorder


def hooks() -> tuple[Hook, ...]:
    return (Hook(collate, "collate_tensor_fn", _collate_tensor_fn),)


@recorder
def _collate_tensor_fn(original: Any, batch: Any, *, collate_fn_map: Any) -> Any:
    first = batch[0]
    # Of several dtypes a worker process makes the first one, and others a common one.
    alike = isinstance(first, StandInTensor) and all(getattr(each, "dtype", None) == first.dtype for each in batch)
    return torch.stack(batch, 0) if alike else None


def fronts() -> tuple[tuple[Any, str, Make], ...]:
    """What stands in front of torch's functions."""
    makers = ((torch, name, partial(_front, name, record)) for name, record in _MAKERS.items())
    blanks = ((torch, name, partial(_blank, number)) for name, number in _BLANKS.items())
    return (*makers, *blanks)


def _front(name: str, record: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    """In front of a function of numbers: what `record(function, *arguments, **options)` makes of a stand-in, or the
    function of the real thing."""

    def front(data: Any, *arguments: Any, **options: Any) -> Any:
        if type(data) is StandInArray or isinstance(data, StandInTensor):
            made = attempt(record, (original, data, *arguments), options)
            if made is not None:
                return made
        elif _is_of_numbers(data):
            return original(data, *arguments, **options)
        if type(data) is StandInArray:
            data = become_real(data, f"torch.{name}")
        return as_user(original, (data, *arguments), options)

    return front


_NUMBERS = frozenset((bool, float, int))
_LISTS = frozenset((list, tuple))
_ITEMS_MAX = 64


def _is_of_numbers(data: Any) -> bool:
    """Whether it is a list of plain numbers, or of lists of them, of which torch surely warns nothing."""
    if type(data) not in _LISTS or len(data) > _ITEMS_MAX:
        return False
    kinds = set(map(type, data))
    if kinds and kinds <= _LISTS:
        kinds = {type(item) for items in data for item in items}
    return kinds <= _NUMBERS


def _blank(number: int | None, original: Callable[..., Any]) -> Callable[..., Any]:
    """In front of what makes tensors full of one number: the last argument, if that is None."""

    def front(*size: Any, **options: Any) -> Any:
        session = current()
        if session is not None and session.collating and options.keys() <= _BLANK_OPTIONS:
            if number is not None:
                made = canvas(size, number, **options)
            else:  # without a dtype torch.full has the number's own
                known = len(size) == 2 and (options.get("dtype") is not None or type(size[1]) is float)
                made = canvas(size[0], size[1], **options) if known else None
            if made is not None:
                return made
        return original(*size, **options)

    return front


def _shared(original: Callable[..., Any], array: Any, dtype: Any = None, device: Any = None) -> Any:
    if type(array) is not StandInArray or (device is not None and device != "cpu" and device != torch.device("cpu")):
        return None
    if dtype in (None, array.memory.value.tail.dtype):
        made = to_tensor(array)
        if made is not None and not array.writeable:
            as_user(original, (_READ_ONLY,), {})  # torch warns of such arrays, once in a process
        return made
    return record_function("as_tensor", original, (array,), dtype=dtype)


_READ_ONLY = np.frombuffer(b" ", np.uint8)


def _copied(original: Callable[..., Any], data: Any, *arguments: Any, **options: Any) -> Any:
    plain = set(options) <= {"dtype"}
    if type(data) is StandInArray:
        return record_function("tensor", original, (data, *arguments), **options) if plain else None
    if type(data) is StandInTensor and not arguments and plain:
        as_user(original, (torch.empty(0),), {})  # it warns of copies of tensors
        dtype = options.get("dtype") or data.dtype
        return data.clone() if dtype == data.dtype else data.to(dtype)
    tensor_becomes_real(data, "torch.tensor")  # torch goes round __torch_function__ here
    return None


# torch's functions that make a tensor full of a number, and that; None: it is given.
_BLANKS: dict[str, int | None] = {"full": None, "ones": 1, "zeros": 0}
_BLANK_OPTIONS = {"device", "dtype"}

_MAKERS: dict[str, Callable[..., Any]] = {"from_numpy": _shared, "as_tensor": _shared, "tensor": _copied}
