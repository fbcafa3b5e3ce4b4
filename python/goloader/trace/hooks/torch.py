"""torch's default_collate: in a worker process it would make shared memory of what nobody has made yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data._utils import collate

from .. import switch
from ..tensor import StandInTensor
from .swap import Swap

__all__ = ["swaps"]


def swaps() -> tuple[Swap, ...]:
    """What is hooked of torch."""
    return (Swap(collate.collate_tensor_fn, _collate_tensor_fn),)


def _collate_tensor_fn(original: Callable[..., Any]) -> Callable[..., Any]:
    def collate_tensor_fn(batch: Any, *, collate_fn_map: Any) -> Any:
        if switch.current() is not None and type(batch[0]) is StandInTensor:
            return torch.stack(batch, 0)
        return original(batch, collate_fn_map=collate_fn_map)

    return collate_tensor_fn
