"""One training, run with torch's loaders and with ours: both must see the same batches and reach the same losses."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torchvision.transforms as T
from torch import nn
from torch.utils import data
from torchvision.datasets import ImageFolder

import goloader

CLASSES, SIZE = 3, 16


@dataclass
class Seen:
    """What a training saw: of each step a digest of the batch and the loss; and the loaders that it used."""

    steps: list[tuple[str, str]] = field(default_factory=list)
    loaders: list[Any] = field(default_factory=list)

    def step(self, batch: Any, loss: torch.Tensor | float = 0.0) -> None:
        # As text: a loss that is not a number is the same in both.
        self.steps.append((digest(batch), repr(float(torch.as_tensor(loss).detach()))))


def digest(batch: Any) -> str:
    """A short name for every bit of a batch."""
    made = hashlib.sha256()

    def add(part: Any) -> None:
        made.update(type(part).__name__.encode())
        if isinstance(part, torch.Tensor):
            made.update(f"{part.dtype}{tuple(part.shape)}".encode())
            made.update(part.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
        elif isinstance(part, dict):
            add(list(part.items()))
        elif isinstance(part, list | tuple):
            for item in part:
                add(item)
        else:
            made.update(repr(part).encode())

    add(batch)
    return made.hexdigest()[:16]


def same_with_both(train: Callable[[], Seen]) -> Seen:
    """Runs a training with torch's loaders and after install(), compares, and returns what ours saw."""
    goloader.uninstall()
    seed()
    theirs = train()
    goloader.install()
    try:
        seed()
        ours = train()
        assert ours.loaders
        # What accelerate wraps says that it is of the class that it wraps.
        assert all(isinstance(loader, goloader.DataLoader) for loader in ours.loaders)
    finally:
        goloader.uninstall()
    assert theirs.steps
    assert ours.steps == theirs.steps
    assert not any(isinstance(loader, goloader.DataLoader) for loader in theirs.loaders)
    return ours


def seed() -> None:
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


def images(root: Any) -> ImageFolder:
    """An ImageFolder that runs in Go, augmentation included."""
    steps = [T.RandomResizedCrop(SIZE), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize((0.5,) * 3, (0.25,) * 3)]
    return ImageFolder(str(root), T.Compose(steps))


class Numbers(data.Dataset[tuple[torch.Tensor, int]]):
    """A dataset of the user's own, with a random number in each sample."""

    def __init__(self, length: int = 24) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return index + torch.rand(3, SIZE, SIZE), index % CLASSES


def network() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Flatten(), nn.Linear(3 * SIZE * SIZE, CLASSES))
