"""A machine with an accelerator, as far as torch's loader looks. What is page-locked is ordinary memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from goloader.doors import lent


def pretend(patch: pytest.MonkeyPatch, pin: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """`pin` is torch.Tensor.pin_memory then."""
    patch.setattr(torch.accelerator, "is_available", lambda: True)
    patch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cpu"))
    patch.setattr(torch.accelerator, "current_device_index", lambda: 0)
    patch.setattr(torch.accelerator, "set_device_index", lambda index: None)
    patch.setattr(torch.Tensor, "pin_memory", pin)


class Lent:
    """Looks on while batches are page-locked.

    blocks  memory that was lent for batches
    copied  bytes of tensors that were not in such memory, and were copied
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.blocks: list[torch.Tensor] = []
        self.copied: list[int] = []

        def locked(size: int) -> torch.Tensor:
            self.blocks.append(torch.full((size,), 99, dtype=torch.uint8))
            return self.blocks[-1]

        def pin(tensor: torch.Tensor) -> torch.Tensor:
            if self.has(tensor):
                return tensor
            self.copied.append(tensor.nbytes)
            return tensor.detach().clone()

        patch.setattr(lent, "_locked", locked)
        pretend(patch, pin)

    def has(self, tensor: torch.Tensor) -> bool:
        """True for a tensor in lent memory."""
        return any(tensor.untyped_storage().data_ptr() == block.data_ptr() for block in self.blocks)
