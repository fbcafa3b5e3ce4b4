"""rng="sample": every sample is made as if its random generators had been seeded just before.

Before dataset[index], with key a mix of (seed, epoch, index), it is as if these had run:

    torch.manual_seed(key); random.seed(key); numpy.random.seed(key % 2**32)

(torch's generator for the CPU alone.) So a sample of an epoch is the same for any num_workers, batch size, number of
ranks and door. With mix(x) the finalizer of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
generators", 2014), all modulo 2**64:

    key = mix(mix(mix(seed) + epoch) + index)
"""

from __future__ import annotations

import hashlib
import operator
import random
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..adapters.torch import MapFetcher
from . import generators


def keys(seed: int, epoch: int, indices: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The keys of samples: [n] uint64 for [n] indices."""
    with np.errstate(over="ignore"):
        of_epoch = _mix(_mix(_word(seed)) + _word(epoch))
        return np.ascontiguousarray(_mix(of_epoch + indices.reshape(-1).astype(np.uint64)))


def key(seed: int, epoch: int, index: Any) -> int:
    """The key of one sample. What is no integer counts by a hash of its repr.

    Raises TypeError for an index whose repr is not the same in every process.
    """
    return int(keys(seed, epoch, numbers([index]))[0])


def numbers(indices: Iterable[Any]) -> NDArray[np.int64]:
    """What keys() takes in the place of indices of any kind, as key() has it: [n] int64. Raises TypeError."""
    words = [_number(index) & 0xFFFF_FFFF_FFFF_FFFF for index in indices]
    return np.array(words, np.uint64).view(np.int64)


def _number(index: Any) -> int:
    try:
        return operator.index(index)
    except TypeError:
        if not _plain(index):
            raise TypeError(
                f'rng="sample" needs indices that are integers, strings, or tuples or lists of them, not {type(index)}'
            ) from None
    return int.from_bytes(hashlib.blake2b(repr(index).encode(), digest_size=8).digest(), "little")


def seed_all(key: int) -> None:
    """Seeds the generators that a dataset may draw from."""
    torch.default_generator.manual_seed(key)
    random.seed(key)
    np.random.seed(key % 2**32)


class SeededFetcher(MapFetcher):
    """torch's fetcher for map-style datasets, with every sample seeded. The process's generators stay as they were.

    The dataset is asked for one sample at a time, also if it has __getitems__.
    """

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self._seed = self._epoch = 0

    def begin(self, seed: int | None, epoch: int) -> None:
        """Says what samples are keyed with from now on."""
        assert seed is not None
        self._seed, self._epoch = seed, epoch

    def fetch(self, possibly_batched_index: Any) -> Any:
        with generators.untouched():
            if self.auto_collation:
                data: Any = [self._sample(index) for index in possibly_batched_index]
            else:
                data = self._sample(possibly_batched_index)
        return self.collate_fn(data)

    def _sample(self, index: Any) -> Any:
        seed_all(key(self._seed, self._epoch, index))
        return self.dataset[index]


def _word(value: int) -> NDArray[np.uint64]:
    return np.array([value & 0xFFFF_FFFF_FFFF_FFFF], np.uint64)


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = x ^ (x >> np.uint64(31))
    return mixed


def _plain(index: Any) -> bool:
    if isinstance(index, tuple | list):
        return all(map(_plain, index))
    return isinstance(index, str | bytes | int)
