"""Samplers that draw in Go, for what is slow or refused in torch's. torch's DataLoader takes them too.

The order is not torch's (torch.multinomial has another method, and a limit of 2^24 weights); the probabilities are the
same. Draws are numbered: the n-th index depends only on the epoch's seed and on n. So a run can continue where another
one stopped, and ranks share one stream without repeating a draw.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence, Sized
from ctypes import byref, c_int64
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import Sampler

from . import _native
from ._errors import check_positive

__all__ = [
    "BalancedSampler", "LengthBatchSampler", "MixtureSampler", "NumberedSampler", "ShuffledSampler",
    "WeightedSampler",
]  # fmt: skip

# Draws made at a time.
_CHUNK = 1 << 14


class NumberedSampler(Sampler[int]):
    """What the samplers of this module have in common.

    num_samples         in an epoch, of all ranks together. Each rank has the same number, rounded up
    seed                None: a new one for each epoch, from `generator` or torch's own, as torch's RandomSampler. A
                        number: the seed of epoch e is made of both numbers; set_epoch(e) sets e
    num_replicas, rank  a rank takes every num_replicas-th draw. All ranks need the same seed
    """

    def __init__(
        self,
        num_samples: int,
        seed: int | None = None,
        generator: torch.Generator | None = None,
        num_replicas: int = 1,
        rank: int = 0,
    ) -> None:
        check_positive(num_samples=num_samples, num_replicas=num_replicas)
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        if seed is not None and generator is not None:
            raise ValueError("seed option is mutually exclusive with generator")
        if seed is None and num_replicas > 1:
            raise ValueError("ranks that share a stream need one seed: seed=...")
        self.num_samples, self.seed, self.generator = num_samples, seed, generator
        self.num_replicas, self.rank, self.epoch = num_replicas, rank, 0
        self._epoch_seed = 0
        self._taken = 0  # of this rank's draws, by whoever iterates last
        self._resumed: dict[str, Any] | None = None

    def __len__(self) -> int:
        return -(-self.num_samples // self.num_replicas)

    def set_epoch(self, epoch: int) -> None:
        """Sets the number of the next epoch, as torch's DistributedSampler does. Only used with a `seed`."""
        self.epoch = epoch

    def state_dict(self) -> dict[str, Any]:
        """Returns the seed of the latest epoch and the number of its indices that were taken.

        A loader with workers takes indices ahead of the batches that it gives. To continue after those batches, set
        "taken" to the number of samples in them.
        """
        return {"seed": self._epoch_seed, "taken": self._taken, "epoch": self.epoch}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Makes the next epoch the rest of the one that the state belongs to."""
        if not 0 <= state["taken"] <= len(self):
            raise ValueError(f"{state['taken']} of {len(self)} indices taken")
        self._resumed = dict(state)
        self.epoch = state["epoch"]
        self._epoch_seed, self._taken = state["seed"], state["taken"]

    def __iter__(self) -> Iterator[int]:
        for array in self.arrays(_CHUNK):
            for index in array.tolist():
                self._taken += 1
                yield index

    def arrays(self, size: int = _CHUNK) -> Iterator[NDArray[np.int64]]:
        """The indices of an epoch as int64 arrays. Whoever takes of them says so by `take`."""
        begin, self._resumed = self._resumed, None
        if begin is None:
            begin = {"seed": self._next_seed(), "taken": 0}
        self._epoch_seed, self._taken = begin["seed"], begin["taken"]
        return self._draws(begin["seed"], begin["taken"], size)

    def take(self, count: int) -> None:
        """Counts indices as taken."""
        self._taken += count

    def at(self, seed: int, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The draws of these numbers, of all that the ranks share in an epoch of this seed: [n] for [n] numbers."""
        alone = object.__new__(type(self))
        vars(alone).update(vars(self), num_replicas=1, rank=0)
        order = np.argsort(numbers, kind="stable")
        ascending, found = numbers[order], np.empty_like(numbers)
        at = int(ascending[0]) if len(numbers) else len(alone)
        for array in alone._draws(seed, at, _CHUNK):
            begin, end = np.searchsorted(ascending, (at, at + len(array)))
            found[order[begin:end]] = array[ascending[begin:end] - at]
            at += len(array)
        return found

    def _next_seed(self) -> int:
        if self.seed is None:
            return int(torch.empty((), dtype=torch.int64).random_(generator=self.generator).item())
        mixed = np.random.SeedSequence((self.seed % (1 << 64), self.epoch % (1 << 64)))
        return int(mixed.generate_state(1, np.uint64)[0] >> 1)

    def _draws(self, seed: int, taken: int, size: int) -> Iterator[NDArray[np.int64]]:
        raise NotImplementedError


class _FromTable(NumberedSampler):
    """A sampler of which the core keeps a table."""

    _table: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_table": None}

    def _open(self, lib: _native.Library, handle: Any) -> None:
        """Has the core make the table, and writes its handle. Raises ValueError if nothing can be drawn."""
        raise NotImplementedError

    def _draws(self, seed: int, taken: int, size: int) -> Iterator[NDArray[np.int64]]:
        if self._table is None:
            self._table = _Table(self._open)
        table = self._table
        while taken < len(self):
            count = min(size, len(self) - taken)
            yield table.draw(seed, taken * self.num_replicas + self.rank, self.num_replicas, count)
            taken += count


class _Table:
    def __init__(self, make: Callable[[_native.Library, Any], None]) -> None:
        self._lib, handle = _native.library(), c_int64()
        make(self._lib, byref(handle))
        self._handle = handle.value
        weakref.finalize(self, self._lib.gl_close, self._handle, None).atexit = False

    def draw(self, seed: int, first: int, step: int, count: int) -> NDArray[np.int64]:
        drawn = np.empty(count, np.int64)
        self._lib.call(self._lib.gl_draw, self._handle, seed, first, step, drawn.ctypes.data, count)
        return drawn


class WeightedSampler(_FromTable):
    """Draws indices with replacement, in proportion to their weights: torch's WeightedRandomSampler without its limits.

    weights  [samples], finite and not negative. float32 and float64 arrays and tensors are read in place, others are
             converted to float64. The first epoch makes a table of 8 bytes a weight

    The other arguments are NumberedSampler's; num_samples=None is the number of weights. The first epoch raises
    ValueError for weights from which nothing can be drawn.
    """

    def __init__(
        self,
        weights: Sequence[float] | NDArray[Any] | torch.Tensor,
        num_samples: int | None = None,
        *,
        seed: int | None = None,
        generator: torch.Generator | None = None,
        num_replicas: int = 1,
        rank: int = 0,
    ) -> None:
        array = np.asarray(weights)
        if array.ndim != 1:
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {array.shape}")
        self.weights = np.ascontiguousarray(array, None if array.dtype in (np.float32, np.float64) else np.float64)
        count = len(self.weights) if num_samples is None else num_samples
        super().__init__(count, seed, generator, num_replicas, rank)

    def _open(self, lib: _native.Library, handle: Any) -> None:
        wide = self.weights.dtype == np.float64
        lib.call(lib.gl_weighted_open, self.weights.ctypes.data, wide, len(self.weights), handle)


class BalancedSampler(_FromTable):
    """Draws indices with replacement: each class equally often, and within a class each index equally often.

    labels  [samples], the class of each: any integers

    The other arguments are NumberedSampler's; num_samples=None is the number of labels.
    """

    def __init__(
        self,
        labels: Sequence[int] | NDArray[Any] | torch.Tensor,
        num_samples: int | None = None,
        *,
        seed: int | None = None,
        generator: torch.Generator | None = None,
        num_replicas: int = 1,
        rank: int = 0,
    ) -> None:
        array = np.asarray(labels)
        if array.ndim != 1 or array.dtype.kind not in "iub":
            raise ValueError(f"labels should be a 1d sequence of integers, not {array.dtype}{list(array.shape)}")
        self.labels = np.ascontiguousarray(array, np.int64)
        super().__init__(len(array) if num_samples is None else num_samples, seed, generator, num_replicas, rank)

    def _open(self, lib: _native.Library, handle: Any) -> None:
        lib.call(lib.gl_balanced_open, self.labels.ctypes.data, len(self.labels), handle)


class ShuffledSampler(_FromTable):
    """Draws each index once, in random order: torch's RandomSampler and DistributedSampler, for billions of samples.

    No order is kept: each index is computed from its number (a Feistel network; Luby and Rackoff 1988, Black and
    Rogaway 2002). So an epoch begins, and continues anywhere, at once and in no memory, on any number of ranks.

    data_source  a dataset, or its length

    The other arguments are NumberedSampler's; num_samples=None is the length. More samples, or those that fill up the
    last ranks, are the first ones of another random order.
    """

    def __init__(
        self,
        data_source: Sized | int,
        num_samples: int | None = None,
        *,
        seed: int | None = None,
        generator: torch.Generator | None = None,
        num_replicas: int = 1,
        rank: int = 0,
    ) -> None:
        self.length = data_source if isinstance(data_source, int) else len(data_source)
        super().__init__(self.length if num_samples is None else num_samples, seed, generator, num_replicas, rank)

    def _open(self, lib: _native.Library, handle: Any) -> None:
        lib.call(lib.gl_shuffled_open, self.length, handle)


class MixtureSampler(NumberedSampler):
    """Draws indices of ConcatDataset(sources) in exact proportions.

    At any time each source has been drawn from as often as its weight says, to within 1. Each source gives its samples
    in a random order, once, and then in another one.

    sources  datasets, or their lengths, in the order of the ConcatDataset
    weights  one for each source, finite and not negative; their sum need not be 1

    The other arguments are NumberedSampler's; num_samples=None is the number of samples of all sources. With several
    ranks, the proportions hold for all ranks together.
    """

    def __init__(
        self,
        sources: Sequence[Sized | int],
        weights: Sequence[float],
        num_samples: int | None = None,
        *,
        seed: int | None = None,
        generator: torch.Generator | None = None,
        num_replicas: int = 1,
        rank: int = 0,
    ) -> None:
        self.lengths = np.array([each if isinstance(each, int) else len(each) for each in sources], np.int64)
        self.weights = np.array(weights, np.float64)
        if self.weights.shape != self.lengths.shape:
            raise ValueError(f"{self.weights.size} weights for {self.lengths.size} sources")
        total = int(self.lengths.sum())
        super().__init__(total if num_samples is None else num_samples, seed, generator, num_replicas, rank)
        self._mix(0, np.zeros_like(self.lengths), 0)  # raises ValueError

    def _mix(self, seed: int, drawn: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """The rank's part of the next draws of all; `drawn`, how often each source was drawn from, goes on."""
        lib, out = _native.library(), np.empty(count, np.int64)
        pointers = (each.ctypes.data for each in (self.lengths, self.weights, drawn))
        lib.call(lib.gl_mix, seed, *pointers, len(drawn), self.rank, self.num_replicas, out.ctypes.data, count)
        return out

    def _draws(self, seed: int, taken: int, size: int) -> Iterator[NDArray[np.int64]]:
        drawn = np.zeros_like(self.lengths)
        for begin in range(0, taken, _CHUNK):  # what was drawn before
            self._mix(seed, drawn, min(_CHUNK, taken - begin))
        while taken < len(self):
            count = min(size, len(self) - taken)
            yield self._mix(seed, drawn, count)
            taken += count


class LengthBatchSampler(NumberedSampler):
    """batch_sampler=LengthBatchSampler(...): batches of samples of about the same length, to save padding.

    Each epoch shuffles all samples, sorts groups of `pool` batches by length, cuts them into batches and shuffles the
    batches. Every sample comes once.

    lengths     [samples], of each
    batch_size  samples in a batch; the last batch made may be smaller, unless drop_last leaves it out
    pool        batches that are sorted together: a larger pool means less padding and less randomness

    The other arguments are NumberedSampler's, for batches instead of indices: ranks share the batches of an epoch, and
    ranks that lack one repeat one of another rank.
    """

    def __init__(
        self,
        lengths: Sequence[int] | NDArray[Any] | torch.Tensor,
        batch_size: int,
        drop_last: bool = False,
        *,
        pool: int = 100,
        seed: int | None = None,
        generator: torch.Generator | None = None,
        num_replicas: int = 1,
        rank: int = 0,
    ) -> None:
        self.lengths = np.asarray(lengths)
        if self.lengths.ndim != 1 or self.lengths.dtype.kind not in "iu":
            raise ValueError(
                f"lengths should be a 1d sequence of integers, not {self.lengths.dtype}{list(self.lengths.shape)}"
            )
        check_positive(batch_size=batch_size, pool=pool)
        self.batch_size, self.drop_last, self.pool = batch_size, drop_last, pool
        full, rest = divmod(len(self.lengths), batch_size)
        super().__init__(full + (rest > 0 and not drop_last), seed, generator, num_replicas, rank)

    def __iter__(self) -> Iterator[list[int]]:  # type: ignore[override] # a sampler of batches
        for numbers in self.arrays():
            for number in numbers:
                self._taken += 1
                yield self._batches[number].tolist()

    def _draws(self, seed: int, taken: int, size: int) -> Iterator[NDArray[np.int64]]:
        chance = np.random.Generator(np.random.Philox(seed))
        order = chance.permutation(len(self.lengths))
        step = self.pool * self.batch_size
        for begin in range(0, len(order), step):
            stretch = order[begin : begin + step]
            order[begin : begin + step] = stretch[np.argsort(self.lengths[stretch], kind="stable")]
        self._batches = [order[k * self.batch_size : (k + 1) * self.batch_size] for k in range(self.num_samples)]
        places = np.arange(taken, len(self)) * self.num_replicas + self.rank
        yield chance.permutation(self.num_samples)[places % self.num_samples]
