"""The cases of bench/against_torch.py: datasets that are read, not decoded, and short ones.

A case is a function that makes a dataset in a folder that it may fill, and what a DataLoader takes besides it. What it
writes is made again at each start: it is small, or cheap.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

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


@case("short epochs: TensorDataset of 512", batch_size=64, target=1)
def short_epochs(scratch: Path) -> Dataset[Any]:
    return TensorDataset(torch.rand(512, 32), torch.randint(10, (512,)))
