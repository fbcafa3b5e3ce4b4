"""A recorded batch on its way from a worker process: a pickle with empty tensors in it, and the recipes that fill them.

While a batch is packed (doors/worker/parcel.py), tensors without memory of their own replace its stand-ins. Where
the batch is opened, these are listed in the order in which they were packed, and get the core's memory when it is made.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch.utils.data._utils import pin_memory

from ...plan.refusal import Refusal
from . import switch
from .layout import Layout
from .record import Made
from .value import Memory
from .wire import FIELDS_MAX, encode

__all__ = ["Arrival", "Letter", "Recipes", "Shipment"]


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


class Shipment:
    """A batch as a worker packs it; it is an Arrival where it is opened.

    recipes  of its stand-ins, once it is packed
    """

    def __init__(self, letter: Letter, batch: Any) -> None:
        self._letter, self._batch = letter, batch
        self.recipes = Recipes()

    def __reduce__(self) -> tuple[Callable[..., Arrival], tuple[Any, ...]]:
        # Pickled in this order: stand-ins first, and then what was noted of them.
        switch.pack(self.recipes)
        return Arrival, (self._batch, self._letter, self.recipes)


class Recipes:
    """Those of a batch's blocks of memory, in the order in which they were packed."""

    def __init__(self) -> None:
        self._memories: list[Memory] = []
        self._numbers: dict[int, int] = {}

    def put(self, memory: Memory, layout: Layout) -> tuple[Callable[..., torch.Tensor], tuple[Any, ...]]:
        """How pickle puts an empty tensor in the place of a stand-in, a view of a block."""
        number = self._numbers.setdefault(id(memory), len(self._memories))
        if number == len(self._memories):
            self._memories.append(memory)
        return _empty, (number, memory.value.tail.dtype, *layout)

    def made(self) -> list[torch.Tensor]:
        """The blocks, made as eager code does, in the core's layout. Raises what Pillow raises."""
        for memory in self._memories:
            if memory.real is None:
                memory.make()
        return [_as_tensor(memory.real) for memory in self._memories]

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        switch.pack(None)
        fields = [memory.value for memory in self._memories]
        return _as_it_is, ([encode(fields[at : at + FIELDS_MAX]) for at in range(0, len(fields), FIELDS_MAX)],)


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
        self._arrays: list[Any] = []
        self._views, _opened.views = _opened.views, {}

    def pin_memory(self) -> Arrival:
        """torch's hook for types of one's own: a batch that waits for nothing is pinned in its thread."""
        if not self.messages:
            self.batch = pin_memory.pin_memory(self.batch)
        return self

    def forget(self) -> None:
        """As if nothing had been submitted."""
        self.submitted = self.received = 0
        self._arrays.clear()

    def receive(self, arrays: Any) -> None:
        """The arrays of the next message; with the last ones the batch is whole."""
        self._arrays += arrays
        self.received += 1
        if self.received == len(self.messages):
            self.fill([torch.from_numpy(array) for array in self._arrays])

    def fill(self, blocks: Sequence[torch.Tensor]) -> None:
        """Gives the tensors of the batch their memory; the core has bytes for dtypes that numpy does not have."""
        for number, made in enumerate(blocks):
            for tensor, layout in self._views[number]:
                if made.dtype != tensor.dtype:
                    made = made.view(tensor.dtype)
                offset = made.storage_offset() + layout.offset
                tensor.set_(made.untyped_storage(), offset, layout.shape, layout.strides)
        self._arrays.clear()
        self._views.clear()


class _Opened(threading.local):
    def __init__(self) -> None:
        self.views: dict[int, list[tuple[torch.Tensor, Layout]]] = {}


_opened = _Opened()


def _empty(
    number: int, dtype: torch.dtype, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> torch.Tensor:
    tensor = torch.empty_strided(shape, (0,) * len(shape), dtype=dtype, device="cpu")
    _opened.views.setdefault(number, []).append((tensor, Layout(shape, strides, offset)))
    return tensor


def _as_it_is(value: Any) -> Any:
    return value


def _as_tensor(real: Any) -> torch.Tensor:
    return real if isinstance(real, torch.Tensor) else torch.from_numpy(real)
