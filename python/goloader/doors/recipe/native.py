"""Carries out recipes with the core."""

from __future__ import annotations

import io
import os
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import torch
from PIL import Image

from ..._core import Core, Rejected, Run
from ..._errors import LibraryError
from ..._native import Library, own_library
from ...plan import Refusal
from ...plan.neutral import make_recipes
from .. import lent
from . import switch
from .files.opencv import OpenCVSource
from .session import Native, TroubleError
from .stand_ins.value import Value
from .wire import FIELDS_MAX, encode, fields_of, source_of


class _Asked(NamedTuple):
    """A message under way; the core writes into `memory`, if there is some."""

    message: bytes
    dtypes: list[torch.dtype]
    memory: torch.Tensor | None


class CoreNative(Native):
    """A run of the core without a source. Raises whatever Pillow raises for a file that the core leaves to it."""

    def __init__(self, core: Core, workers: int = 0) -> None:
        """Starts as many goroutines as `workers` asks, 0 for one a core."""
        super().__init__()
        self._core = core
        self._run: Run = core.start(workers=workers, streams=1, base_seed=0)
        self._asked: deque[_Asked] = deque()

    def library(self) -> Library | None:
        return self._core.library

    def run(self, values: list[Value], pinned: bool = False) -> list[torch.Tensor]:
        """Blocks that hold these values, shaped as they lie in memory; in page-locked memory if `pinned`."""
        blocks: list[torch.Tensor] = []
        try:
            for at in range(0, len(values), FIELDS_MAX):
                self.submit(encode(values[at : at + FIELDS_MAX]), pinned)
            while self._asked:
                blocks += self.receive() or ()
        except BaseException:
            self.reset()
            raise
        return [block.view(each.shape) for block, each in zip(blocks, values, strict=True)]

    def submit(self, message: bytes, pinned: bool = False) -> None:
        """Asks for the tensors of a message in wire form; in page-locked memory if `pinned`."""
        fields = fields_of(message)
        memory = lent.room(size for _, size in fields) if pinned else None
        self._run.submit_recipes(message, memory)
        self._asked.append(_Asked(message, [dtype for dtype, _ in fields], memory))

    def reset(self) -> None:
        """Forgets messages that were submitted and not received."""
        self._run.reset()
        self._asked.clear()

    def receive(self, timeout: float = 0) -> Sequence[torch.Tensor] | None:
        """The tensors of the message that was submitted first; None after `timeout` seconds, if that is not 0."""
        asked = self._asked[0]
        try:
            arrays = self._run.receive(_Helper(asked.message), timeout)
        except Rejected as rejected:
            self._asked.popleft()
            raise rejected.error from None
        except Exception:
            self._asked.popleft()  # whatever is wrong, it is this message's
            raise
        if arrays is None:
            return None
        self._asked.popleft()
        return lent.tensors(arrays, asked.dtypes, asked.memory)

    def doing(self) -> str:
        """As Run.doing."""
        return self._run.doing()

    def stats(self) -> dict[str, int]:
        """Counters of the core."""
        return self._core.stats()

    def close(self) -> None:
        """Stops the goroutines; tensors that were handed out stay."""
        self._run.close()


class WorkerNative(Native):
    """A core in a worker process, for what code there looks at: opened when that first happens, with one goroutine.

    It forgets where the parts of files begin: what a worker looks at it rarely looks at again.
    """

    def __init__(self) -> None:
        super().__init__()
        self._core: CoreNative | None = None
        self._refused = False
        self._library: Library | None = None

    def library(self) -> Library | None:
        if self._library is None and not self._refused:
            try:
                self._library = own_library()
            except LibraryError:
                self._refused = True
        return self._library

    def opened(self) -> bool:
        """False where this process cannot have a core."""
        if self._core is None and not self._refused:
            # Whatever it is, Pillow and torch make it all then.
            with suppress(Exception), switch.off():
                plan = make_recipes()
                self._core = None if isinstance(plan, Refusal) else CoreNative(Core(plan, own_library()), workers=1)
            self._refused = self._core is None
        return self._core is not None

    def run(self, values: list[Value]) -> list[torch.Tensor]:
        assert self._core is not None  # opened says so
        return self._core.run(values)


class _Helper:
    """Answers the core's questions about one message."""

    def __init__(self, message: bytes) -> None:
        self._message = message

    skips = None

    def pixels(self, row: int) -> tuple[bytes, int, int]:
        source = source_of(self._message, row)
        if isinstance(source, OpenCVSource):
            pixels = source.load()
            if pixels.shape != (source.size[1], source.size[0], 3):
                raise TroubleError(f"OpenCV reads {pixels.shape} where {source.size} were expected")
            return pixels.tobytes(), *source.size
        source.verify()
        with switch.off(), Image.open(os.fsdecode(source.data) if source.path else io.BytesIO(source.data)) as image:
            if image.size != source.size:
                raise TroubleError(f"Pillow opens {image.size} pixels where {source.size} were expected")
            if source.mode == "P" != image.mode:
                raise TroubleError(f"Pillow opens an image of mode {image.mode} where P was expected")
            image.load()
            made = image if source.mode == "P" else image.convert("RGB")
        return made.tobytes(), made.width, made.height

    def refused(self, position: int, row: int, reason: str) -> Exception:
        return RuntimeError(f"goloader's core refuses a recipe: {reason}")

    def exp(self, x: float) -> float:
        raise AssertionError("recipes draw nothing")
