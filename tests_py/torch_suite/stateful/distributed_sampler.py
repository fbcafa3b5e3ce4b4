"""A sampler with a state that is a user's own, as torchdata's StatefulDistributedSampler is."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from torch.utils.data import DistributedSampler


class StatefulDistributedSampler(DistributedSampler[Any]):
    """torch's DistributedSampler with a state: its epoch, and how far it is in it."""

    _YIELDED = "yielded"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.yielded = 0
        self.next_yielded: int | None = None

    def __iter__(self) -> Iterator[Any]:
        self.yielded, self.next_yielded = self.next_yielded or 0, None
        return self._rest(itertools.islice(super().__iter__(), self.yielded, None))

    def _rest(self, indices: Iterator[Any]) -> Iterator[Any]:
        for index in indices:
            self.yielded += 1
            yield index

    def state_dict(self) -> dict[str, Any]:
        """The epoch and the number of indices yielded in it."""
        return {self._YIELDED: self.yielded, "epoch": self.epoch}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes effect at the next iter(). Raises ValueError for what is no such state; torchdata's has no epoch."""
        if state_dict.get(self._YIELDED, -1) < 0:
            raise ValueError(f"not a state of {type(self).__name__}: {state_dict}")
        self.set_epoch(state_dict.get("epoch", self.epoch))
        self.next_yielded = state_dict[self._YIELDED]
