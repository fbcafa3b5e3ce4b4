"""A recorded batch on its way from a worker process: a pickle with empty tensors in it, and the recipes that fill them.

While a batch is packed (doors/worker/parcel.py), tensors without memory of their own replace its stand-ins. Where
the batch is opened, it is an Arrival (arrival.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from . import switch
from .arrival import Arrival, Letter, empty
from .stand_ins.layout import Layout
from .stand_ins.value import Memory
from .wire import FIELDS_MAX, encode


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
        return empty, (number, memory.value.tail.dtype, *layout)

    def made(self) -> list[torch.Tensor]:
        """The blocks, made as eager code does, in the core's layout. Raises what Pillow raises."""
        for memory in self._memories:
            if memory.real is None:
                memory.make()
        return [_as_tensor(memory.real) for memory in self._memories]

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        switch.pack(None)
        fields = [memory.value for memory in self._memories]
        return list, ([encode(fields[at : at + FIELDS_MAX]) for at in range(0, len(fields), FIELDS_MAX)],)


def _as_tensor(real: Any) -> torch.Tensor:
    return real if isinstance(real, torch.Tensor) else torch.from_numpy(real)
