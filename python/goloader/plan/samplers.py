"""Batches of indices as arrays, drawn as torch's samplers draw them.

torch's samplers hand out Python ints, one for each sample of an epoch. `index_batches(loader)` takes the place of
`iter(loader._index_sampler)`: the same batches, the same draws from the same generators at the same moments (a
generator is part of the user's program), but int64 arrays. What it does not know it pulls as torch does.

A stream here is a Python generator of arrays. Like torch's generators it draws when somebody needs the next number that
is not there yet, not earlier: so an exhausted stream has drawn what torch's would have drawn, and one left early has
not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

from ..samplers import BalancedSampler, MixtureSampler, NumberedSampler, WeightedSampler
from ..state import samplers as stateful
from .trust.look import is_a, name_of
from .trust.originals import is_original

Indices = NDArray[np.int64]

# Numbers made at a time where nobody can see when they are made.
_CHUNK = 1 << 15

# Not bool, and no narrow integers, whose arithmetic in ConcatDataset overflows.
_INTEGERS: set[type] = {int, np.int64}


@dataclass(frozen=True, eq=False)
class Foreign:
    """What a sampler yielded that is not a list of ints: only the dataset knows what it means by it.

    same  the same as ints, if it is of integers of numpy's or of torch's: or a tensor or an array of them
    """

    value: Any
    same: Indices | torch.Tensor | None = None

    @property
    def ints(self) -> Indices | None:
        """The same as ints, in an array of its own. Ask before the sampler yields more: it may fill the same tensor."""
        same: Any = self.same
        if same is not None and same is self.value:
            same = (_array(same.detach()) if is_a(same, torch.Tensor) else same).copy()
        return same  # type: ignore[no-any-return]


def index_batches(loader: Any) -> Iterator[Indices | Foreign]:
    """The index batches of one epoch, in place of `iter(loader._index_sampler)`.

    With automatic batching each is an array [batch]; with batch_size=None an array [] of one index. Done at once is
    only what torch does at once: `iter()` of the sampler.
    """
    sampler = loader._index_sampler
    if not loader._auto_collation:
        if _known(sampler) is None:
            return as_arrays(iter(sampler), batched=False)
    elif type(sampler) is BatchSampler and is_original(BatchSampler.__iter__, "torch"):
        return _batches(sampler)
    elif known(loader) is None:
        return as_arrays(iter(sampler), batched=True)
    return known_batches(loader)[0]


def known_batches(
    loader: Any, *, seed: int | None = None, share: Indices | None = None
) -> tuple[Iterator[Indices | Foreign], Callable[[int], None]]:
    """index_batches of `known` samplers, and a function that leaves indices out, for no more than the draws.

    seed   what a RandomSampler without a generator drew in an epoch before, in place of a new draw
    share  the indices of the epoch, in place of what the sampler gives
    """
    sampler = loader._index_sampler
    single = sampler.sampler if loader._auto_collation else sampler
    taker = _Taker(_stream_of(single, seed) if share is None else _Stream(iter((share,))))
    return _cut(sampler, taker) if loader._auto_collation else _singles(taker), taker.skip


def known(loader: Any) -> Any | None:
    """The sampler of single indices, if it and the one for batches are torch's own or StatefulDataLoader's."""
    sampler = loader._index_sampler
    if loader._auto_collation:
        if type(sampler) not in (BatchSampler, stateful.BatchSampler) or not is_original(
            BatchSampler.__iter__, "torch"
        ):
            return None
        sampler = sampler.sampler
    return None if _known(sampler) is None else sampler


def as_arrays(batches: Iterator[Any], *, batched: bool) -> Iterator[Indices | Foreign]:
    """What any sampler yields, as arrays where that is the same."""
    return map(_many if batched else _single, batches)


def describe(loader: Any) -> tuple[str, str]:
    """For explain(): which sampler, and whether its indices travel as arrays or as Python ints."""
    sampler = loader._index_sampler
    names = [name_of(sampler)]
    if type(sampler) in (BatchSampler, stateful.BatchSampler):
        sampler = sampler.sampler
        names.append(name_of(sampler))
    if is_a(sampler, NumberedSampler):
        return " over ".join(names), "its draws are made in Go"
    known = _known(sampler) is not None
    return " over ".join(names), "torch's draws, as arrays" if known else "its own code, an int at a time"


def _batches(sampler: Any) -> Iterator[Indices | Foreign]:
    """BatchSampler.__iter__, a generator too: nothing happens before the first batch is pulled."""
    if _known(sampler.sampler) is None:
        yield from map(_many, iter(sampler))
    else:
        yield from _cut(sampler, _Taker(_stream_of(sampler.sampler)))


def _cut(sampler: Any, taker: _Taker) -> Iterator[Indices | Foreign]:
    size = sampler.batch_size
    if sampler.drop_last:
        while (batch := taker.take(size)) is not None and len(batch) == size:
            yield taker.finish(batch)
    else:
        while (batch := taker.take(sampler.batch_size)) is not None and len(batch):
            yield taker.finish(batch)


def _singles(taker: _Taker) -> Iterator[Indices | Foreign]:
    while (one := taker.take(1)) is not None and len(one):
        finished = taker.finish(one)
        yield _single(finished.value[0]) if isinstance(finished, Foreign) else finished.reshape(())


# Streams


@dataclass(frozen=True)
class _Stream:
    """Arrays of numbers, and what becomes of the numbers (a look-up, say) once a batch of them is taken."""

    arrays: Iterator[Indices]
    finish: Callable[[Indices], Indices | Foreign] = lambda batch: batch


_Streams = Callable[[Any], _Stream]


class _Taker:
    """Cuts a stream into batches."""

    def __init__(self, stream: _Stream) -> None:
        self._arrays = stream.arrays
        self._rest: Indices = np.empty(0, np.int64)
        self.finish = stream.finish

    def _more(self) -> bool:
        """Draws if nothing is left; False at the end of the stream."""
        if not len(self._rest):
            array = next(self._arrays, None)
            if array is None:
                return False
            self._rest = array
        return True

    def take(self, count: int) -> Indices | None:
        """The next `count` numbers, fewer at the end of the stream; an array of its own."""
        rest = self._rest
        if 0 < count <= len(rest):
            self._rest = rest[count:]
            return rest[:count].copy()
        taken: list[Indices] = []
        missing = count
        while missing > 0 and self._more():
            taken.append(self._rest[:missing])
            missing -= len(taken[-1])
            self._rest = self._rest[len(taken[-1]) :]
        return np.concatenate(taken) if taken else None

    def skip(self, count: int) -> None:
        """Leaves the next numbers out. What is drawn is what taking them would have drawn."""
        while count > 0 and self._more():
            left_out = min(count, len(self._rest))
            self._rest = self._rest[left_out:]
            count -= left_out


def _stream_of(sampler: Any, seed: int | None = None) -> _Stream:
    streams = _known(sampler)
    assert streams is not None
    return _Stream(_random_arrays(sampler, seed)) if type(sampler) is RandomSampler else streams(sampler)


def _known(sampler: Any) -> _Streams | None:
    """How to stream `sampler`, if it is one of torch's own, unpatched, or one of StatefulDataLoader's or goloader's."""
    kind = type(sampler)
    if kind in _OF_TORCH and not (is_original(kind.__iter__, "torch") and is_original(kind.__len__, "torch")):
        return None
    return _STREAMS.get(kind)


def _counting(length: int) -> Iterator[Indices]:
    for start in range(0, length, _CHUNK):
        yield np.arange(start, min(start + _CHUNK, length), dtype=np.int64)


def _random_arrays(sampler: RandomSampler, seed: int | None = None) -> Iterator[Indices]:
    n = len(sampler.data_source)
    private = sampler.generator is None
    if private:
        if seed is None:
            seed = int(torch.empty((), dtype=torch.int64).random_().item())
        generator = torch.Generator()
        generator.manual_seed(seed)
    else:
        generator = sampler.generator
    if sampler.replacement:
        # 32 at a time, as torch: how far a generator has moved shows. A private one shows nothing.
        blocks = sampler.num_samples // 32
        step = _CHUNK // 32 if private else 1
        for block in range(0, blocks, step):
            yield _array(torch.randint(n, (32 * min(step, blocks - block),), dtype=torch.int64, generator=generator))
        yield _array(torch.randint(n, (sampler.num_samples % 32,), dtype=torch.int64, generator=generator))
    else:
        for _ in range(sampler.num_samples // n):
            yield _array(torch.randperm(n, generator=generator))
        yield _array(torch.randperm(n, generator=generator))[: sampler.num_samples % n]


def _stateful_random(sampler: stateful.RandomSampler) -> _Stream:
    blocks = sampler.blocks()  # draws when iter() is called

    def arrays() -> Iterator[Indices]:
        left = sampler.num_samples
        while left > 0:
            block = _array(next(blocks))[:left]
            left -= len(block)
            yield block

    return _Stream(arrays())


def _subset_random(sampler: SubsetRandomSampler) -> _Stream:
    def arrays() -> Iterator[Indices]:
        yield _array(torch.randperm(len(sampler.indices), generator=sampler.generator))

    def look_up(batch: Indices) -> Indices | Foreign:
        # A batch at a time, as the list stands then.
        indices: Any = sampler.indices
        if type(indices) is np.ndarray and indices.ndim == 1 and indices.dtype == np.int64:
            return _many(indices[batch])
        if type(indices) is torch.Tensor and indices.ndim == 1 and indices.dtype == torch.int64:
            return _many(indices[torch.from_numpy(batch)])
        return _many([indices[i] for i in batch.tolist()])

    return _Stream(arrays(), look_up)


def _weighted(sampler: WeightedRandomSampler) -> _Stream:
    def arrays() -> Iterator[Indices]:
        yield _array(
            torch.multinomial(sampler.weights, sampler.num_samples, sampler.replacement, generator=sampler.generator)
        )

    return _Stream(arrays())


def _numbered(sampler: NumberedSampler) -> _Stream:
    def taken(batch: Indices) -> Indices:
        sampler.take(len(batch))
        return batch

    def arrays() -> Iterator[Indices]:
        yield from sampler.arrays()

    return _Stream(arrays(), taken)


def _distributed_share(sampler: DistributedSampler[Any]) -> Indices:
    """DistributedSampler.__iter__, which makes the whole list when iter() is called."""
    n = len(sampler.dataset)  # type: ignore[arg-type]
    if sampler.shuffle:
        generator = torch.Generator()
        generator.manual_seed(sampler.seed + sampler.epoch)
        indices = _array(torch.randperm(n, generator=generator))
    else:
        indices = np.arange(n, dtype=np.int64)
    if not sampler.drop_last:
        padding = sampler.total_size - n
        if padding <= n:
            # A negative padding cuts the copy from its end, as a slice of a list does.
            indices = np.concatenate([indices, indices[:padding]])
        else:
            indices = np.concatenate([indices, np.tile(indices, math.ceil(padding / n))[:padding]])
    else:
        indices = indices[: sampler.total_size]
    if len(indices) != sampler.total_size:
        raise AssertionError(f"Number of indices ({len(indices)}) does not match total_size ({sampler.total_size})")
    indices = indices[sampler.rank : sampler.total_size : sampler.num_replicas]
    if len(indices) != sampler.num_samples:
        raise AssertionError(
            f"Number of subsampled indices ({len(indices)}) does not match num_samples ({sampler.num_samples})"
        )
    return indices


_OF_TORCH: dict[type, _Streams] = {
    # Its length is looked up when iter() is called.
    SequentialSampler: lambda sampler: _Stream(_counting(len(sampler.data_source))),
    RandomSampler: lambda sampler: _Stream(_random_arrays(sampler)),
    SubsetRandomSampler: _subset_random,
    WeightedRandomSampler: _weighted,
    DistributedSampler: lambda sampler: _Stream(iter((_distributed_share(sampler),))),
}
_STREAMS: dict[type, _Streams] = {
    **_OF_TORCH,
    stateful.RandomSampler: _stateful_random,
    **dict.fromkeys((WeightedSampler, BalancedSampler, MixtureSampler), _numbered),
}

# Conversion


def _array(tensor: torch.Tensor) -> Indices:
    array: Indices = tensor.cpu().numpy()
    return array


def _many(batch: Any) -> Indices | Foreign:
    """A batch of indices as an array, if they are ints; with one, if they are other integers."""
    if is_a(batch, torch.Tensor):
        if batch.ndim == 1 and batch.dtype == torch.int64 and len(batch):
            return Foreign(batch, batch)
    elif type(batch) is np.ndarray:
        if batch.ndim == 1 and batch.dtype == np.int64 and len(batch):
            return Foreign(batch, batch)
    elif type(batch) in (list, tuple, range) and len(batch):
        kinds = set(map(type, batch))
        if not kinds <= _INTEGERS and not all(map(is_index, batch)):
            return Foreign(batch)
        try:
            ints = np.fromiter(map(int, batch), np.int64, len(batch))
        except OverflowError:
            return Foreign(batch)
        return ints if kinds == {int} else Foreign(batch, ints)
    return Foreign(batch)


def _single(index: Any) -> Indices | Foreign:
    if is_index(index):
        try:
            ints = np.array(int(index), np.int64)
            return ints if type(index) is int else Foreign(index, ints)
        except OverflowError:
            pass
    return Foreign(index)


def is_index(value: Any) -> bool:
    """Whether it means what the int means, to datasets that reckon with no index."""
    return type(value) in _INTEGERS or (is_a(value, torch.Tensor) and value.ndim == 0 and value.dtype == torch.int64)
