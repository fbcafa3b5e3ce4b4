"""Samplers that draw in Go, for what torch's are slow at or refuse: torch's DataLoader takes them as well.

Draws are not torch's (torch.multinomial has another method, and a limit of 2^24 weights): another order, the same
chances. They are numbered: which index comes n-th depends on the epoch's seed and on n alone, so that a run goes on
where another stood, and ranks share one stream, without drawing over what came before.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence, Sized
from ctypes import byref, c_int64
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import Sampler

from . import _native
from ._errors import check_positive

__all__ = ["BalancedSampler", "LengthBatchSampler", "MixtureSampler", "NumberedSampler", "WeightedSampler"]

# Draws made at a time.
_CHUNK = 1 << 14


class NumberedSampler(Sampler[int]):
    """What the samplers here have in common.

    num_samples   of an epoch, of all ranks together; each rank has as many as the others, one more draw where that does
                  not come out even
    seed          None: each epoch has a new one, from `generator` or torch's own, as torch's RandomSampler; else that
                  of epoch e, set by set_epoch(e), is made of both numbers
    num_replicas, rank  a rank has every num_replicas-th draw; they have to have one seed
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
        """Says which epoch is next, as torch's DistributedSampler's: of use where there is a `seed`."""
        self.epoch = epoch

    def state_dict(self) -> dict[str, Any]:
        """Where the epoch stands that was begun last: its seed, and how many of its indices were taken.

        A loader with workers takes indices ahead of the batches that it gives; set "taken" to the number of samples
        that have come to go on from there.
        """
        return {"seed": self._epoch_seed, "taken": self._taken, "epoch": self.epoch}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next epoch is the rest of the one that the state is of."""
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

    def _open(self) -> int:
        """A handle of the core's table. Raises ValueError if nothing can be drawn."""
        raise NotImplementedError

    def _draws(self, seed: int, taken: int, size: int) -> Iterator[NDArray[np.int64]]:
        if self._table is None:
            self._table = _Table(self._open())
        table = self._table
        while taken < len(self):
            count = min(size, len(self) - taken)
            yield table.draw(seed, taken * self.num_replicas + self.rank, self.num_replicas, count)
            taken += count


class _Table:
    def __init__(self, handle: int) -> None:
        self._lib, self._handle = _native.library(), handle
        weakref.finalize(self, self._lib.gl_close, handle, None).atexit = False

    def draw(self, seed: int, first: int, step: int, count: int) -> NDArray[np.int64]:
        drawn = np.empty(count, np.int64)
        self._lib.call(self._lib.gl_draw, self._handle, seed, first, step, drawn.ctypes.data, count)
        return drawn


class WeightedSampler(_FromTable):
    """Draws with replacement, each index as often as its weight says: torch's WeightedRandomSampler without its limits.

    weights  [samples], finite and not negative; float32 and float64 arrays and tensors are read where they are, others
             are made float64. A table of 8 bytes a weight is made of them at the first epoch, in one sweep: for a
             billion weights too

    The other arguments are NumberedSampler's; num_samples=None is as many as there are weights. Raises ValueError for
    weights that nothing can be drawn by, at the first epoch.
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

    def _open(self) -> int:
        lib, handle, wide = _native.library(), c_int64(), self.weights.dtype == np.float64
        lib.call(lib.gl_weighted_open, self.weights.ctypes.data, wide, len(self.weights), byref(handle))
        return handle.value


class BalancedSampler(_FromTable):
    """Draws with replacement, each class as often as any other, and in a class each index.

    labels  [samples], the class of each: any integers

    The other arguments are NumberedSampler's; num_samples=None is as many as there are labels.
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

    def _open(self) -> int:
        lib, handle = _native.library(), c_int64()
        lib.call(lib.gl_balanced_open, self.labels.ctypes.data, len(self.labels), byref(handle))
        return handle.value


class MixtureSampler(NumberedSampler):
    """Indices of ConcatDataset(sources), mixed in exact proportions: at any time each source has been drawn from as
    often as its weight says, to within 1. Each goes through its samples in a random order, once, then in another.

    sources  datasets, or their lengths, in the order of the ConcatDataset
    weights  of each, finite and not negative; their sum need not be 1

    The other arguments are NumberedSampler's; num_samples=None is as many as the sources have together. With several
    ranks the proportions are those of all together.
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
        """The next draws; `drawn`, how often each source was drawn from, goes on."""
        lib, out = _native.library(), np.empty(count, np.int64)
        pointers = (each.ctypes.data for each in (self.lengths, self.weights, drawn))
        lib.call(lib.gl_mix, seed, *pointers, len(drawn), out.ctypes.data, count)
        return out

    def _draws(self, seed: int, taken: int, size: int) -> Iterator[NDArray[np.int64]]:
        drawn, step = np.zeros_like(self.lengths), self.num_replicas
        for begin in range(0, taken, _CHUNK):  # what was drawn before: 0.1 us an index
            self._mix(seed, drawn, step * min(_CHUNK, taken - begin))
        while taken < len(self):
            count = min(size, len(self) - taken)
            yield self._mix(seed, drawn, step * count)[self.rank :: step].copy()
            taken += count


class LengthBatchSampler(NumberedSampler):
    """batch_sampler=LengthBatchSampler(...): batches of samples of about one length, so that little is padding.

    Each epoch shuffles all samples, sorts stretches of `pool` batches by length, cuts them into batches and shuffles
    these. Every sample comes once.

    lengths     [samples], of each
    batch_size  samples of a batch; the last one made may be smaller, unless it is left out (drop_last)
    pool        batches that are sorted together: more mean less padding and less chance

    The other arguments are NumberedSampler's, with batches where it has indices: ranks share the batches of an epoch,
    and those that lack one get one that another has.
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
