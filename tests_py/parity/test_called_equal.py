"""collate_fns that are called as they are with samples that Go made: they get what torch gives them."""

# ruff: noqa: B905, C416 - as people write

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms.functional as F
from photos import lay, plain
from PIL import Image
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset, Subset, default_collate, get_worker_info
from torch.utils.data.dataloader import default_collate as collated
from twins import Program, check, loader_of

import goloader

COUNT = 11


class Boxes(Dataset[Any]):
    """As detection has it: an image and a target, a dict."""

    def __init__(self, root: Path) -> None:
        self.files, self.points = sorted(map(str, root.iterdir())), np.random.default_rng(0).random((COUNT, 2, 2))
        self.labels, self.weights = [k % 4 for k in range(COUNT)], torch.arange(COUNT)

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, i: int) -> Any:
        image = Image.open(self.files[i]).convert("RGB").resize((9, 8))
        j = random.randrange(11)
        if random.random() < 0.5:
            image = F.hflip(image)
        target = {"label": self.labels[i], "name": self.files[i], "points": self.points[i], "weight": self.weights[j]}
        return [F.to_tensor(image), target, (i, j, random.random(), torch.tensor([self.labels[j]]), j > 4)]


def lists(batch: Any) -> Any:
    return tuple(zip(*batch))


def stacks(batch: Any) -> Any:
    images = torch.stack([each[0] for each in batch]).to(memory_format=torch.contiguous_format).float()
    targets = [{k: v for k, v in each[1].items()} for each in batch]
    return {"images": images, "targets": targets, "rest": [each[2] for each in batch]}


def without_none(batch: Any) -> Any:
    batch = list(filter(lambda each: each is not None, batch))
    return default_collate(batch)


def by_dataloader(batch: Any) -> Any:
    return collated([(each[0], each[2]) for each in batch]), len(batch)


def changes(batch: Any) -> Any:
    for image, target, _ in batch:
        image[0, :2] = 7
        target["points"][0] = -1
        target.update(new=image.shape)
    return batch


def pads(batch: Any) -> Any:
    rows = pad_sequence([torch.ones(each[1]["label"] + 1) for each in batch], batch_first=True, padding_value=-1)
    return rows, [str(type(each)) for each in batch[0][2]]


def sorts(batch: Any) -> Any:
    batch.sort(key=lambda each: each[1]["label"], reverse=True)
    return [each[1]["label"] for each in batch], torch.stack([each[0] for each in batch])


def fails(batch: Any) -> Any:
    return torch.stack([each[0][:, : 3 + len(batch) % 2 * (n % 2)] for n, each in enumerate(batch)])


class Padder:
    def __init__(self, size: int) -> None:
        self.size = size

    def __call__(self, batch: Any) -> Any:
        made = torch.zeros(len(batch), 3, self.size, self.size)
        for n, each in enumerate(batch):
            made[n, :, :8, :9] = each[0]
        return made, self.label(batch)

    def label(self, batch: Any) -> Any:
        return torch.as_tensor([each[1]["label"] for each in batch])


def with_size(size: int, batch: Any) -> Any:
    return [each[0].numpy()[:, :size] for each in batch], [each[1] for each in batch]


CALLED = [lists, stacks, without_none, by_dataloader, changes, pads, sorts, fails, Padder(12), partial(with_size, 5)]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay(tmp_path_factory.mktemp("called"), plain(COUNT, width=20, height=18))


@pytest.mark.parametrize("given", CALLED, ids=lambda given: getattr(given, "__name__", type(given).__name__))
@pytest.mark.parametrize("num_workers", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 3))])
def test_equal(given: Any, num_workers: int, root: Path) -> None:
    arguments = loader_of(lambda: Boxes(root), batch_size=3, shuffle=True, num_workers=num_workers)
    with_collate = lambda: arguments() | {"collate_fn": given}  # noqa: E731
    check(Program(with_collate, epochs=2, seed=3))
    assert "COLLATE_CALLED" in goloader.DataLoader(**with_collate()).explain().codes


def test_one_of_a_subset(root: Path) -> None:
    check(Program(lambda: {"dataset": Subset(Boxes(root), [4, 1, 1]), "batch_size": 2, "collate_fn": lists}, epochs=2))


kept: list[Any] = []


def keeps(batch: Any) -> Any:
    kept.append(len(batch))
    return batch, list(kept)


def draws(batch: Any) -> Any:
    return batch, random.random(), torch.rand(1)


def asks(batch: Any) -> Any:
    return batch, get_worker_info() is None


def says(batch: Any) -> Any:
    print(len(batch))
    return batch


def imports(batch: Any) -> Any:
    import os

    return batch, os.getpid() > 0


class Counting:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self, batch: Any) -> Any:
        self.count += 1
        return batch, self.count


class Drawing:
    def __call__(self, batch: Any) -> Any:
        return batch, self.number()

    def number(self) -> Any:
        return torch.rand(1)


class Unknown:
    def __call__(self, batch: Any) -> Any:
        return batch, self.number()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return random.random


class Appending:
    def __init__(self) -> None:
        self.data: list[int] = []

    def __call__(self, batch: Any) -> Any:
        self.data.append(len(batch))
        return batch, self.data.copy()


class Padding:
    def __call__(self, batch: Any) -> Any:
        return batch, self.pad()

    def pad(self) -> Any:
        return torch.rand(1)


def defaults(batch: Any, seen: list[int] = []) -> Any:  # noqa: B006
    seen.append(len(batch))
    return batch, seen.copy()


def given(seen: list[int], batch: Any) -> Any:
    seen.append(len(batch))
    return batch, seen.copy()


LEFT = {
    "keeps in a list of its own": Appending(), "draws in a method by a common name": Padding(),
    "keeps in a default": defaults, "keeps in an argument": partial(given, []),
    "keeps": keeps, "draws": draws, "asks": asks, "says": says, "imports": imports, "counts": Counting(),
    "draws in a method": Drawing(), "looks up": Unknown(),
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT)
def test_what_could_tell_processes_apart_is_left_to_them(name: str, root: Path) -> None:
    loader = goloader.DataLoader(Boxes(root), batch_size=2, collate_fn=LEFT[name], num_workers=1)
    assert not loader.explain().native and "COLLATE_CALLED" not in loader.explain().codes
