"""The core at work on images that lie anywhere in memory, for one transform."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core import Core, Helper
from ..plan import Plan
from .columns import Images

# Rows of a batch, each 40 bytes of a table that takes as much memory as is used of it.
ROWS_MAX = 1 << 20


class Engine:
    """A plan of places at work. Any thread may call; one works at a time."""

    def __init__(self, plan: Plan, workers: int) -> None:
        self._core = Core(plan)
        self._run = self._core.start(workers=workers, streams=1)
        self._lock = threading.Lock()
        self._left: Images | None = None

    def fits(self, plan: Plan) -> bool:
        """Whether it does what that plan says, Pillow's settings of this moment included."""
        return self._core.text == plan.to_json()

    def make(self, images: Images, seeds: NDArray[np.uint64] | None, helper: Helper) -> NDArray[Any]:
        """The finished images, of at most ROWS_MAX: [n, channels, height, width].

        seeds  [n]: each image draws as after torch.manual_seed(seed); None where nothing is drawn

        Raises Rejected for an image in error, and StackError where images differ in size.
        """
        table = self._core.plan.places
        assert table is not None
        with self._lock:
            table[: len(images)] = images.places
            try:
                self._run.submit(np.arange(len(images)), seeds=seeds)
                made = self._run.receive(helper)
            except BaseException:
                self._left = images  # should a read go on
                self._run.reset()
                raise
        assert made is not None  # there is no time limit
        return made[0]
