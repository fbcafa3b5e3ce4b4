"""A recorded batch where it arrives: empty tensors in it, and messages for the core, whose memory these tensors get.

These are listed in the order in which they were packed (shipment.py). Nothing here needs what records.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.utils.data._utils import pin_memory

from ...plan.refusal import Refusal
from .stand_ins.layout import Layout

if TYPE_CHECKING:
    from .record import Made


class Letter(NamedTuple):
    """What a worker sends along with a batch.

    made     what was recorded of the batch; None if it was made without stand-ins
    trusted  trials have shown that recorded samples are the same
    off      why nothing is recorded by this worker any more
    warn     whether the user is to be warned of that
    """

    made: Made | None
    trusted: bool
    off: Refusal | None
    warn: bool


@dataclass(frozen=True)
class Finish:
    """A task for a worker: to make what it has recorded of a batch, since the core could not."""

    task: int


class Arrival:
    """A batch that arrived.

    batch      with empty tensors in it until receive() has them all
    letter     from its worker
    messages   for the core, in wire form
    submitted, received  how many of them the core was given, and has answered
    failed     why the core could not make them
    """

    def __init__(self, batch: Any, letter: Letter, messages: list[bytes]) -> None:
        self.batch, self.letter, self.messages = batch, letter, messages
        self.submitted = self.received = 0
        self.failed: Exception | None = None
        self._blocks: list[torch.Tensor] = []
        self._views, _opened.views = _opened.views, {}

    def pin_memory(self) -> Arrival:
        """torch's hook for types of one's own: a batch that waits for nothing is pinned in its thread."""
        if not self.messages:
            self.batch = pin_memory.pin_memory(self.batch)
        return self

    def forget(self) -> None:
        """As if nothing had been submitted."""
        self.submitted = self.received = 0
        self._blocks.clear()

    def receive(self, blocks: Sequence[torch.Tensor]) -> None:
        """The tensors of the next message; with the last ones the batch is whole."""
        self._blocks += blocks
        self.received += 1
        if self.received == len(self.messages):
            self.fill(self._blocks)

    def fill(self, blocks: Sequence[torch.Tensor]) -> None:
        """Gives the tensors of the batch their memory."""
        for number, made in enumerate(blocks):
            for tensor, layout in self._views[number]:
                if made.dtype != tensor.dtype:
                    made = made.view(tensor.dtype)
                offset = made.storage_offset() + layout.offset
                tensor.set_(made.untyped_storage(), offset, layout.shape, layout.strides)
        self._blocks.clear()
        self._views.clear()


class _Opened(threading.local):
    def __init__(self) -> None:
        self.views: dict[int, list[tuple[torch.Tensor, Layout]]] = {}


_opened = _Opened()


def empty(
    number: int, dtype: torch.dtype, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> torch.Tensor:
    """A view of a block of the batch that is being opened, without memory so far."""
    tensor = torch.empty_strided(shape, (0,) * len(shape), dtype=dtype, device="cpu")
    _opened.views.setdefault(number, []).append((tensor, Layout(shape, strides, offset)))
    return tensor
