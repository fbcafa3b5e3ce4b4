"""default_collate's tensors, stacked straight into slots.

torch's default_collate finds its function for tensors in a table that users may extend (default_collate_fn_map). In a
worker process ours stands there, unless something else already does; numpy arrays come to it too, as tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import torch

from ...adapters.torch import collate, within_worker

# Whether this process is a trial's, which takes no memory that others share.
apart = False

Empty = Callable[[tuple[int, ...], torch.dtype], torch.Tensor | None]


def install(empty: Empty) -> None:
    """In a worker process: `empty` makes the tensor to stack into, or says None for torch's way."""
    original = collate.collate_tensor_fn
    if collate.default_collate_fn_map.get(torch.Tensor) is not original:
        return

    def collate_tensor_fn(batch: Sequence[torch.Tensor], *, collate_fn_map: Any = None) -> torch.Tensor:
        if _alike(batch):
            first = batch[0]
            shape = (len(batch), *first.shape)
            out = torch.empty(shape, dtype=first.dtype, device="cpu") if apart else empty(shape, first.dtype)
            if out is not None:
                return torch.stack(tuple(batch), 0, out=out)
        # A trial collates as outside of workers: in memory that nobody shares.
        with within_worker(None) if apart else nullcontext():
            collated: torch.Tensor = original(batch, collate_fn_map=collate_fn_map)
        return collated

    collate.default_collate_fn_map[torch.Tensor] = collate_tensor_fn


@contextmanager
def as_in_a_worker() -> Iterator[None]:
    """Within it default_collate stacks tensors as in a worker process, though in memory that nobody shares: into a
    tensor of the first one's dtype. Outside of workers it makes one of the dtype that all are promoted to."""
    original, known = collate.collate_tensor_fn, collate.default_collate_fn_map

    def collate_tensor_fn(batch: Sequence[torch.Tensor], *, collate_fn_map: Any = None) -> torch.Tensor:
        first = batch[0]
        if type(first) is not torch.Tensor or not is_plain(first):
            plain: torch.Tensor = original(batch, collate_fn_map=collate_fn_map)
            return plain
        for each in batch:
            each.numel()  # which what is no tensor has not
        out = torch.empty((len(batch), *first.shape), dtype=first.dtype, device="cpu")
        return torch.stack(batch, 0, out=out)  # type: ignore[arg-type] # as torch does

    if known.get(torch.Tensor) is not original:
        yield
        return
    known[torch.Tensor] = collate_tensor_fn
    try:
        yield
    finally:
        known[torch.Tensor] = original


def is_plain(tensor: torch.Tensor) -> bool:
    """True for a tensor on the CPU whose storage, strides and dtype are all there is to it."""
    return (
        tensor.layout is torch.strided
        and tensor.device.type == "cpu"
        and not (tensor.is_quantized or tensor.is_nested or tensor.is_conj() or tensor.is_neg())
    )


def _alike(batch: Sequence[Any]) -> bool:
    """True for plain tensors of one shape and dtype: whatever else there is, and every error, is torch's."""
    if not isinstance(batch, list | tuple):
        return False  # torch.stack takes no other sequence
    first = batch[0]
    if type(first) is not torch.Tensor or not is_plain(first):
        return False
    shape, dtype = first.shape, first.dtype
    return all(
        type(tensor) is torch.Tensor
        and tensor.shape == shape
        and tensor.dtype == dtype
        and not tensor.requires_grad
        and tensor.layout is torch.strided
        and tensor.device.type == "cpu"
        for tensor in batch
    )
