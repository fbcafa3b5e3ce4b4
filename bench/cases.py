"""The cases of bench/against_torch.py: datasets that are read, not decoded, and short ones.

A case is a function that makes a dataset in a folder that it may fill, and what a DataLoader takes besides it. What it
writes is made again at each start: it is small, or cheap.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from torch.utils.data import Dataset, TensorDataset

Make: TypeAlias = Callable[[Path], Any]


@dataclasses.dataclass(frozen=True)
class Case:
    """One comparison.

    options     for both DataLoaders
    target      how many times the samples a second of torch's best it is to have
    same_bits   False if torch's own batches differ from run to run
    """

    name: str
    title: str
    make: Make
    options: dict[str, Any]
    target: float
    same_bits: bool = True


CASES: dict[str, Case] = {}


def case(title: str, *, target: float, same_bits: bool = True, **options: Any) -> Callable[[Make], Make]:
    """Adds the decorated function as a case of its name."""

    def add(make: Make) -> Make:
        CASES[make.__name__] = Case(make.__name__, title, make, {"shuffle": True, **options}, target, same_bits)
        return make

    return add


@case("TensorDataset, float32 [60000, 1, 28, 28] and labels", batch_size=256, target=8)
def tensors(scratch: Path) -> Dataset[Any]:
    return TensorDataset(torch.rand(60_000, 1, 28, 28), torch.randint(10, (60_000,)))


class Own(Dataset[Any]):
    """A class such as people write, of numpy arrays and a list."""

    def __init__(self) -> None:
        noise = np.random.default_rng(0)
        self.features = noise.random((60_000, 28, 28), np.float32)
        self.labels = noise.integers(0, 10, 60_000).tolist()

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, index: int) -> Any:
        return self.features[index], self.labels[index]


@case("a class of one's own: numpy float32 [60000, 28, 28] and a list of labels", batch_size=256, target=8)
def own_class(scratch: Path) -> Dataset[Any]:
    return Own()


@case("short epochs: TensorDataset of 512", batch_size=64, target=1)
def short_epochs(scratch: Path) -> Dataset[Any]:
    return TensorDataset(torch.rand(512, 32), torch.randint(10, (512,)))
