"""Classes that draw a file of the list of a label, as for triplets: our batches are torch's."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest
import torch
import torchvision.transforms as T
from class_of_lines import dataset_of
from photos import picture
from torch.utils.data import DataLoader, Dataset
from twins import Program, bits, check, compare, loader_of, run

import goloader

COUNT = 12
OPEN = "from PIL import Image; import os; label = self.labels[i]; load = lambda p: self.transform(Image.open(p))"


class Labelled(Dataset[Any]):
    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.paths = [str(root / f"{number}.png") for number in range(COUNT)]
        self.labels = [number % 5 % 3 for number in range(COUNT)]
        self.by_label = {
            label: [path for path, each in zip(self.paths, self.labels, strict=True) if each == label]
            for label in (2, 0, 1)
        }
        self.lists = [self.by_label[label] for label in range(3)]
        self.names = [[os.path.basename(path) for path in each] for each in self.lists]
        self.transform = T.Compose([T.RandomCrop(16), T.ToTensor()])

    def __len__(self) -> int:
        return COUNT


CODES = {
    "a dict": [OPEN, "load(self.paths[i]), load(random.choice(self.by_label[label])), label"],
    "lists": [OPEN, "load(random.choice(self.lists[label])), load(random.choice(self.lists[label])), random.random()"],
    "names": [OPEN, "load(os.path.join(self.root, random.choice(self.names[label]))), load(self.paths[i])"],
    "another label": [
        OPEN,
        "other = random.randint(0, 2)",
        "while other == label:",
        "    other = random.randint(0, 2)",
        "load(self.paths[i]), load(random.choice(self.by_label[other])), other",
    ],
    "one way or another": [
        OPEN,
        "if random.random() < 0.5:",
        "    path = random.choice(self.paths)",
        "else:",
        "    path = random.choice(self.paths)",
        "load(path), random.random()",
    ],
    "this one or another": [
        OPEN,
        "path = self.paths[i] if random.random() < 0.5 else random.choice(self.paths)",
        "load(path), random.random()",
    ],
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("triplets")
    for number in range(COUNT):
        picture(20 + number, 18, number).save(folder / f"{number}.png")
    return folder


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("name", CODES)
def test_files_of_a_label(name: str, num_workers: int, root: Path) -> None:
    dataset = dataset_of(Labelled, CODES[name], root)
    check(Program(loader_of(dataset, batch_size=3, shuffle=True, num_workers=num_workers), epochs=2, seed=4))


def _longer(dataset: Any) -> None:
    dataset.by_label[1].append(dataset.paths[0])


def _other(dataset: Any) -> None:
    dataset.by_label = {label: each[::-1] for label, each in dataset.by_label.items()}


def _empty(dataset: Any) -> None:
    dataset.by_label[1].clear()


def _without_a_label(dataset: Any) -> None:
    del dataset.by_label[1]


def _with_another(dataset: Any) -> None:
    dataset.labels[3] = 7
    dataset.by_label[7] = [dataset.paths[5]]


def _by_word(dataset: Any) -> None:
    dataset.by_label[1] = "abc"


@pytest.mark.parametrize("change", [_longer, _other, _empty, _without_a_label, _with_another, _by_word])
@pytest.mark.parametrize("num_workers", [0, 2])
def test_lists_that_change_between_epochs(change: Any, num_workers: int, root: Path) -> None:
    def program() -> Program:
        dataset = dataset_of(Labelled, CODES["a dict"], root)
        return Program(
            loader_of(dataset, batch_size=3, num_workers=num_workers),
            epochs=3,
            seed=4,
            before=lambda epoch, loader: change(dataset) if epoch == 1 else None,
        )

    compare(run(goloader.DataLoader, program()), run(DataLoader, program()))


def test_a_list_that_grows_in_an_epoch(root: Path) -> None:
    shown = []
    for kind in (goloader.DataLoader, DataLoader):
        torch.manual_seed(3)
        random.seed(4)
        dataset = dataset_of(Labelled, CODES["lists"], root)
        made = []
        for batch in kind(dataset, batch_size=2):
            made.append(bits(batch))
            dataset.lists[0].insert(0, dataset.paths[len(made)])
        shown.append(made)
    assert shown[0] == shown[1]
