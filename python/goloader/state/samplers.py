"""StatefulDataLoader's samplers: the order that torchdata's class gives for a seed, which is not torch's.

They draw when iter() is called, where torch's draw at the first next(), and a RandomSampler without a generator takes a
seed when it is made and goes on with one generator from epoch to epoch.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sized
from typing import Any

import torch
from torch.utils.data import BatchSampler as _BatchSampler
from torch.utils.data import Sampler
from torch.utils.data.sampler import RandomSampler as _RandomSampler

from .protocol import has_state, restore, saved

# Indices drawn at a time with replacement, the last ones too.
_CHUNK = 32


class RandomSampler(Sampler[int]):
    """Indices in random order; arguments and errors as torch.utils.data.RandomSampler's."""

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        _RandomSampler(data_source, replacement, num_samples)  # raises for what torch refuses
        if generator is None:
            generator = torch.Generator()
            generator.manual_seed(int(torch.empty((), dtype=torch.int64).random_().item()))
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._num_samples = num_samples

    @property
    def num_samples(self) -> int:
        """Of an epoch; as the dataset's length if it was not given, which may change."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def blocks(self) -> Iterator[torch.Tensor]:
        """Draws indices without end: int64, [len(data_source)] at a time, or [32] with replacement; the first now."""
        first = self._draw()

        def blocks() -> Iterator[torch.Tensor]:
            yield first
            while True:
                yield self._draw()

        return blocks()

    def _draw(self) -> torch.Tensor:
        n = len(self.data_source)
        if self.replacement:
            return torch.randint(n, (_CHUNK,), dtype=torch.int64, generator=self.generator)
        return torch.randperm(n, generator=self.generator)

    def __len__(self) -> int:
        return self.num_samples

    def __iter__(self) -> Iterator[int]:
        return itertools.islice(
            itertools.chain.from_iterable(map(torch.Tensor.tolist, self.blocks())), self.num_samples
        )


class BatchSampler(_BatchSampler):
    """torch.utils.data.BatchSampler, but that iter() calls iter() of its sampler at once, and keeps its state."""

    def __iter__(self) -> Iterator[list[Any]]:
        batches = Batches(self)
        batches.begin()
        return batches


class Batches(Iterator[list[Any]]):
    """What iter() of torch's BatchSampler gives, with the sampler's state and its iterator's within reach.

    As there, a batch_size that is changed holds from the next batch on, unless incomplete batches are dropped.
    """

    def __init__(self, of: _BatchSampler) -> None:
        self._of, self._sampler, self._size = of, of.sampler, of.batch_size
        self._indices: Iterator[Any] | None = None
        self._samples = 0
        self.over = False  # the sampler has no more, which it may have forgotten
        self._ended = False  # as a generator has, after its last batch and after an error
        if has_state(self._sampler):
            self.begin()  # its state is then that of this epoch

    def begin(self) -> Iterator[Any]:
        """The iterator of the sampler, made if there is none yet."""
        if self._indices is None:
            self._indices = iter(self._sampler)
        return self._indices

    def __next__(self) -> list[Any]:
        if self._ended:
            raise StopIteration
        self._ended = True
        if not self._of.drop_last:
            self._size = self._of.batch_size
        batch = list(itertools.islice(self.begin(), self._size))
        self._samples += len(batch)
        self.over = len(batch) < self._size
        if not batch or (self._of.drop_last and self.over):
            raise StopIteration
        self._ended = False
        return batch

    def skip(self, samples: int) -> None:
        """Leaves the next samples out."""
        self._samples += samples
        next(itertools.islice(self.begin(), samples, samples), None)

    @property
    def stateful(self) -> bool:
        """Whether the sampler, or its iterator if there is one, has a state of its own."""
        return has_state(self._sampler) or has_state(self._indices)

    def state_dict(self) -> dict[str, Any]:
        state: dict[str, Any] = {"samples_yielded": self._samples}
        if has_state(self._sampler):
            state["sampler_state"] = saved(self._sampler)
        if has_state(self._indices):
            state["sampler_iter_state"] = saved(self._indices)
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._samples, self._ended = 0, False
        restore(self._sampler, state_dict.get("sampler_state"))
        self._indices = None
        restore(self.begin(), state_dict.get("sampler_iter_state"))
        if self.stateful:
            self._samples = state_dict["samples_yielded"]
        else:
            self.skip(state_dict["samples_yielded"])
