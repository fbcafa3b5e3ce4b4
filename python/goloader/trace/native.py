"""The core, carrying out recipes."""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Sequence
from typing import Any

import torch
from PIL import Image

from .._core import Core, Rejected, Run
from ..plan import Refusal, make_recipes
from . import switch
from .recipe import Source
from .session import Native, TroubleError
from .tensor import StandInTensor
from .wire import FIELDS_MAX, Field, Message, encode

__all__ = ["CoreNative"]


class CoreNative(Native):
    """A run of the core without a source. Raises whatever Pillow raises for a file that the core leaves to it."""

    def __init__(self, workers: int) -> None:
        plan = make_recipes()
        if isinstance(plan, Refusal):
            raise RuntimeError(str(plan))
        self._core = Core(plan)
        self._run: Run = self._core.start(workers=workers, streams=1, base_seed=0)

    def run(self, tensors: list[StandInTensor]) -> list[torch.Tensor]:
        """The tensors, shaped as the stand-ins are."""
        messages = deque(
            encode([Field(each.images, each.tail) for each in tensors[at : at + FIELDS_MAX]])
            for at in range(0, len(tensors), FIELDS_MAX)
        )
        arrays: list[Any] = []
        try:
            for message in messages:
                self._run.submit_recipes(message.data)
            while messages:
                arrays += self.receive(messages.popleft())
        except BaseException:
            self._run.reset()  # what was submitted and not received
            raise
        return [_tensor(array, each) for array, each in zip(arrays, tensors, strict=True)]

    def receive(self, message: Message) -> Sequence[Any]:
        """The arrays of the message that was submitted first."""
        try:
            fields = self._run.receive(_Helper(message))
        except Rejected as rejected:
            raise rejected.error from None
        assert fields is not None  # there is no time limit
        return fields

    def stats(self) -> dict[str, int]:
        """Counters of the core."""
        return self._core.stats()

    def close(self) -> None:
        """Stops the goroutines; tensors that were handed out stay."""
        self._run.close()


def _tensor(array: Any, stand_in: StandInTensor) -> torch.Tensor:
    tensor = torch.from_numpy(array)
    dtype = stand_in.tail.dtype
    return (tensor if tensor.dtype == dtype else tensor.view(dtype)).view(stand_in.shape)


class _Helper:
    """Answers the core's questions about one message."""

    def __init__(self, message: Message) -> None:
        self._sources = message.sources

    def pixels(self, row: int) -> tuple[bytes, int, int]:
        source: Source = self._sources[row]
        source.verify()
        with switch.off(), Image.open(source.data if source.path else io.BytesIO(source.data)) as image:
            if (image.size, image.mode) != (source.size, source.mode):
                raise TroubleError(f"Pillow opens {image.mode} {image.size} where {source} was expected")
            made = image.convert("RGB")
        return made.tobytes(), made.width, made.height

    def refused(self, position: int, row: int, reason: str) -> Exception:
        return RuntimeError(f"goloader's core refuses a recipe: {reason}")

    def exp(self, x: float) -> float:
        raise AssertionError("recipes draw nothing")
