"""Page-locked memory that is lent to the core for batches.

It is of torch's own allocator, so that torch knows when a copy from it has ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from numpy.typing import NDArray

_from_numpy = torch.from_numpy  # torch's own, whatever users put there since


def room(sizes: Iterable[int]) -> torch.Tensor:
    """Memory for fields of so many bytes."""
    end = 0
    for size in sizes:
        end = _aligned(end) + size
    return _locked(end)


def _locked(size: int) -> torch.Tensor:
    return torch.empty(size, dtype=torch.uint8, pin_memory=True)


def tensors(
    arrays: Sequence[NDArray[Any]], dtypes: Sequence[torch.dtype], lent: torch.Tensor | None
) -> list[torch.Tensor]:
    """The fields of a batch from the core; those in lent memory as torch's own allocator knows them."""
    if lent is None:
        return [_tensor(*each) for each in zip(arrays, dtypes, strict=True)]
    made: list[torch.Tensor] = []
    begin = 0
    for array, dtype in zip(arrays, dtypes, strict=True):
        begin = _aligned(begin)
        if not array.size or array.flags.owndata:
            made.append(_tensor(array, dtype))
        else:
            made.append(lent[begin : begin + array.nbytes].view(dtype).view(array.shape))
        begin += array.nbytes
    return made


def _tensor(array: NDArray[Any], dtype: torch.dtype) -> torch.Tensor:
    if not array.size:  # numpy has strides of its own for nothing
        return torch.empty(array.shape, dtype=dtype)
    tensor = _from_numpy(array)
    return tensor if tensor.dtype is dtype else tensor.view(dtype)


def _aligned(size: int) -> int:
    """Where the core puts a field: on a cache line of its own."""
    return (size + 63) & ~63
