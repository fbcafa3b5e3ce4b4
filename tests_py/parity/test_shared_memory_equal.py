"""Data in memory that processes share, changed while workers are kept: those of torch's see it, and so do batches here.

Programs tell workers the size of images, the step of a curriculum or a new order so. Values that are kept would be old
ones. Each dataset is changed as often as a loader begins an epoch, by the program that has it.
"""

from __future__ import annotations

import math
import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import photos
import pytest
import torch
import torchvision.transforms as T
from PIL import Image
from torch.utils import data

import goloader
from goloader.doors.same import difference
from goloader.plan.datasets.own import kept

COUNT = 12


@pytest.fixture(autouse=True)
def at_any_price(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples are kept however long they take."""
    monkeypatch.setattr(kept, "ALL_S_MAX", math.inf)


class Shared(data.Dataset[Any]):
    """order, numbers  a permutation and more, as a tensor and as an array over memory of multiprocessing's."""

    def __init__(self, plain: bool = False) -> None:
        self.x = torch.arange(COUNT * 6.0).reshape(COUNT, 2, 3)
        self.words = [f"word {number}" for number in range(COUNT)]
        self.order, self.one = torch.arange(COUNT), torch.tensor(1)
        self.numbers = np.arange(COUNT) if plain else np.frombuffer(multiprocessing.RawArray("q", COUNT), np.int64)
        self.numbers[:] = range(COUNT)
        if not plain:
            self.order.share_memory_()
            self.one.share_memory_()

    def __len__(self) -> int:
        return COUNT

    def change(self) -> None:
        self.one += 1
        self.order.copy_(self.order.flip(0))
        self.numbers[:] = self.numbers[::-1].copy()


class Scaled(Shared):
    def __getitem__(self, i: int) -> Any:
        return self.x[i] * self.one.item()


class Given(Shared):
    def __getitem__(self, i: int) -> Any:
        return self.x[i], int(self.one), self.numbers[1]


class Ordered(Shared):
    def __getitem__(self, i: int) -> Any:
        return self.x[self.order[i]]


class OrderedByArray(Shared):
    def __getitem__(self, i: int) -> Any:
        return self.x[self.numbers[i]]


class Named(Shared):
    def __getitem__(self, i: int) -> Any:
        return self.x[i], self.words[int(self.order[i])]


class Kept(Shared):
    def __getitem__(self, i: int) -> Any:
        return self.x[i], torch.tensor(sorted(self.order[: i + 1].tolist())[-1])


class Pixels(Shared):
    """Images that are opened, with a label."""

    def __init__(self, plain: bool = False, paths: list[str] | None = None) -> None:
        super().__init__(plain)
        self.paths = paths or []

    def __getitem__(self, i: int) -> Any:
        image = T.functional.to_tensor(Image.open(self.paths[i]).convert("RGB").resize((8, 8)))
        return image, int(self.order[i])


class Rows(Shared):
    """Only takes rows, which are read where they are."""

    def __getitem__(self, i: int) -> Any:
        return self.x[i], self.order[i]


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder: Path = photos.fill(tmp_path_factory.mktemp("shared"), photos.plain(COUNT))
    return sorted(map(str, folder.rglob("*.jpg")))


KINDS: list[Callable[..., Any]] = [Scaled, Given, Ordered, OrderedByArray, Named, Kept, Rows]


def epochs(kind: type[data.DataLoader[Any]], dataset: Any) -> list[Any]:
    """Those of a loader that keeps its workers."""
    loader = kind(dataset, batch_size=4, num_workers=2, persistent_workers=True)
    seen = []
    for _ in range(3):
        seen += [*loader]
        getattr(dataset, "dataset", dataset).change()
    return seen


@pytest.mark.parametrize("kind", KINDS)
def test_changes_are_seen_in_the_next_epoch(kind: Callable[..., Any]) -> None:
    assert difference(epochs(data.DataLoader, kind()), epochs(goloader.DataLoader, kind())) is None


@pytest.mark.parametrize("kind", KINDS)
def test_go_makes_batches_of_memory_of_its_own(kind: Callable[..., Any]) -> None:
    explained = goloader.DataLoader(kind(plain=True), 4, num_workers=2).explain()
    assert explained.native_fraction == 1, str(explained)


def test_rows_are_read_where_they_are() -> None:
    assert goloader.DataLoader(Rows(), 4, num_workers=2).explain().native_fraction == 1


def test_labels_of_images_are_seen(paths: list[str]) -> None:
    made = [epochs(kind, Pixels(paths=paths)) for kind in (data.DataLoader, goloader.DataLoader)]
    assert difference(*made) is None
    assert goloader.DataLoader(Pixels(plain=True, paths=paths), 4, num_workers=2).explain().native_fraction == 1


def test_indices_of_a_subset_are_seen() -> None:
    def subset(plain: bool = False) -> Any:
        dataset = Rows(plain)
        return data.Subset(dataset, dataset.numbers)  # type: ignore[arg-type]

    assert difference(epochs(data.DataLoader, subset()), epochs(goloader.DataLoader, subset())) is None
    assert goloader.DataLoader(subset(plain=True), 4, num_workers=2).explain().native_fraction == 1
