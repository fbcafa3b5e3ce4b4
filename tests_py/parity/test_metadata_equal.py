"""Classes of images that branch on what is known of a sample, look for files and handle errors: ours are torch's.

Where something is raised, the user's own code makes the batch.
"""

# ruff: noqa: E501 - rows of tables

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import torchvision.transforms.functional as F
from class_of_lines import dataset_of
from photos import lay, plain
from PIL import Image
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset
from twins import Program, check, loader_of

import goloader

COUNT = 11


class Base(Dataset[Any]):
    def __init__(self, root: Path) -> None:
        self.root, self.files = str(root), sorted(map(str, root.iterdir()))
        self.names = [os.path.basename(file) for file in self.files]
        self.kinds = ["good" if k % 3 else "bad" for k in range(COUNT)]
        self.table = {"good": 0, "bad": 1}
        self.extra = [None if k % 2 else k for k in range(COUNT)]
        self.tags = [["a", "b"][: k % 3] for k in range(COUNT)]
        self.frame = pd.DataFrame({"file": self.names, "kind": self.kinds})
        self.classes, self.some = ["bad", "good"], {0, 3, 5}
        self.labels = [k % 4 for k in range(COUNT)]

    def __len__(self) -> int:
        return COUNT

    def loaded(self, path: str) -> Any:
        try:
            with Image.open(path) as image:
                image = image.convert("RGB")
        except OSError as error:
            raise RuntimeError(f"cannot read {path}") from error
        return image.resize((9, 8))


OPEN = "image = Image.open(self.files[i]).convert('RGB').resize((9, 8))"

BRANCHES = {
    "text in text": [OPEN, "label = 1 if '03' in self.files[i] or '05' in self.files[i] else 0", "F.to_tensor(image), label"],
    "in a set": [OPEN, "if i in self.some: image = F.hflip(image)", "F.to_tensor(image)"],
    "label in a list": [OPEN, "if self.labels[i] in [1, 2]: image = F.hflip(image)", "F.to_tensor(image)"],
    "is None": [OPEN, "if self.extra[i] is None: image = F.vflip(image)", "F.to_tensor(image), int(self.extra[i] is not None)"],
    "truth of a text": [OPEN, "if self.kinds[i].replace('bad', ''): image = F.hflip(image)", "F.to_tensor(image)"],
    "truth of a list": [OPEN, "if not self.tags[i]: image = F.hflip(image)", "F.to_tensor(image), len(self.tags[i])"],
    "draws in a way": [OPEN, "if self.kinds[i] == 'bad' and random.random() < 0.5: image = F.hflip(image)", "F.to_tensor(image), self.kinds[i]"],
    "dict.get": [OPEN, "F.to_tensor(image), self.table.get(self.frame.iloc[i]['kind'], -1)"],
    "list.index": [OPEN, "F.to_tensor(image), self.classes.index(self.kinds[i])"],
    "path by number": ["path = os.path.join(self.root, f'{i:03d}.jpg')", "F.to_tensor(Image.open(path).convert('RGB').resize((9, 8))), self.labels[i]"],
    "path by %": ["path = '%s/%03d.jpg' % (self.root, i)", "F.to_tensor(Image.open(path).convert('RGB').resize((9, 8)))"],
    "number and draw": ["j = random.randrange(11)", "path = os.path.join(self.root, '%03d.jpg' % i)", "F.to_tensor(Image.open(path).convert('RGB').resize((9, 8))), self.kinds[j], f'n{i}'"],
    "asserts a file": ["assert os.path.exists(self.files[i]), self.files[i]", OPEN, "F.to_tensor(image)"],
    "raises without": ["path = os.path.join(self.root, self.names[i])", "if not os.path.isfile(path): raise FileNotFoundError(path)", "F.to_tensor(Image.open(path).convert('RGB').resize((9, 8)))"],
    "torchreid": [
        "got = False",
        "if not os.path.exists(self.files[i]): raise OSError(f'{self.files[i]} does not exist')",
        "while not got:",
        "    try:",
        "        image = Image.open(self.files[i]).convert('RGB')",
        "        got = True",
        "    except OSError:",
        "        image, got = Image.new('RGB', (9, 8)), True",
        "F.to_tensor(image.resize((9, 8))), self.labels[i]",
    ],
    "the next one instead": [
        "try:",
        "    image = Image.open(self.files[i]).convert('RGB')",
        "except Exception:",
        "    return self[(i + 1) % 11]",
        "if random.random() < 0.5: image = F.hflip(image)",
        "F.to_tensor(image.resize((9, 8))), self.labels[i]",
    ],
    "a method that handles": ["image = self.loaded(self.files[i])", "F.to_tensor(image), random.random()"],
    "finally": [
        "try:",
        "    image = self.loaded(self.files[i])",
        "    k = random.randrange(5)",
        "finally:",
        "    label = self.labels[i]",
        "F.to_tensor(image), label, k",
    ],
}  # fmt: skip


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return lay(tmp_path, plain(COUNT, width=20, height=18))


@pytest.mark.parametrize("name", BRANCHES, ids=lambda name: name.replace(" ", "-"))
@pytest.mark.parametrize("num_workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_equal(name: str, num_workers: int, root: Path) -> None:
    chance = random.Random(name)
    dataset = dataset_of(Base, BRANCHES[name], root)
    shuffle = chance.random() < 0.5
    arguments = loader_of(dataset, batch_size=3, shuffle=shuffle, num_workers=num_workers)
    check(Program(arguments, epochs=2, seed=chance.randrange(99)))


@pytest.mark.parametrize("damage", ["cut", "gone", "no image", "empty"])
@pytest.mark.parametrize(
    "name", ["torchreid", "the next one instead", "a method that handles", "finally", "asserts a file"]
)
@pytest.mark.parametrize("num_workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_errors_are_handled_by_the_code(name: str, damage: str, num_workers: int, root: Path) -> None:
    dataset = dataset_of(Base, BRANCHES[name], root)
    file = root / "004.jpg"
    data = {"cut": file.read_bytes()[:200], "no image": b"no image", "empty": b""}.get(damage)
    file.unlink() if data is None else file.write_bytes(data)
    arguments = loader_of(dataset, batch_size=3, shuffle=True, num_workers=num_workers)
    check(Program(arguments, epochs=2, seed=5))


LEFT = [
    [OPEN, "if os.path.exists(self.files[i] + '.txt'): image = F.hflip(image)", "F.to_tensor(image)"],
    [OPEN, "assert not os.path.exists(self.files[i] + '.txt')", "F.to_tensor(image)"],
    [OPEN, "if os.path.exists(self.root): label = 1\n        else: label = 0", "F.to_tensor(image), label"],
    [
        OPEN,
        "try: label = {0: 5, 1: 6}[self.labels[i]]\n        except KeyError: label = random.randrange(9)",
        "F.to_tensor(image), label",
    ],
]


@pytest.mark.parametrize("lines", LEFT)
def test_what_may_come_out_otherwise_is_left_to_the_code(lines: list[str], root: Path) -> None:
    assert not goloader.DataLoader(dataset_of(Base, lines, root)).explain().native
    check(Program(loader_of(dataset_of(Base, lines, root), batch_size=2), epochs=1), native=False)


class Boxed(Dataset[Any]):
    """Photos with lists of boxes that differ in length."""

    def __init__(self, root: Path) -> None:
        self.files = sorted(map(str, root.iterdir()))
        self.records = [
            {"boxes": [[k, n, k + 5, n + 0.5] for n in range(1 + k % 3)], "labels": [7, k][: 1 + k % 2]}
            for k in range(COUNT)
        ]

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> Any:
        record = self.records[index]
        image = Image.open(self.files[index]).convert("RGB").resize((9, 8))
        if random.random() < 0.5:
            image = F.hflip(image)
        boxes = torch.tensor(record["boxes"], dtype=torch.float32)
        return F.to_tensor(image), {"boxes": boxes, "labels": np.array(record["labels"]), "index": index}


def as_samples(batch: Any) -> Any:
    return tuple(zip(*batch, strict=True))


def in_lists(batch: Any) -> Any:
    return torch.stack([image for image, _ in batch]), [target["boxes"] for _, target in batch]


def padded(batch: Any) -> Any:
    images, targets = zip(*batch, strict=True)
    return torch.stack(images), pad_sequence([target["boxes"] for target in targets], batch_first=True)


def changed(batch: Any) -> Any:
    for _, target in batch:
        target["boxes"][:, 0] = -1
        target["labels"] += 1
    return as_samples(batch)


RAGGED = pytest.mark.parametrize("collate", [as_samples, in_lists, padded, changed])


@pytest.mark.parametrize("num_workers", [0, 2])
@RAGGED
def test_lists_that_differ_in_length(root: Path, collate: Any, num_workers: int) -> None:
    """Between epochs one changes, all become alike, and differ again."""

    def before(epoch: int, loader: Any) -> None:
        records = loader.dataset.records
        if epoch == 1:
            records[4]["boxes"].append([1, 2, 3, 4])
            records[5] = {"boxes": [[0, 0, 1, 1]], "labels": [3]}
        if epoch == 2:
            for record in records:
                record["boxes"] = record["boxes"][:1]
        if epoch == 3:
            records[0]["boxes"] = [[5, 6, 7, 8]] * 4

    arguments = loader_of(lambda: Boxed(root), batch_size=4, num_workers=num_workers, collate_fn=lambda: collate)
    check(Program(arguments, epochs=4, before=before, seed=3))


def kinds(records: Any) -> None:
    records[3]["labels"] = [1.5]


def empty(records: Any) -> None:
    records[3]["boxes"] = []


def uneven(records: Any) -> None:
    records[3]["boxes"] = [[1, 2, 3, 4], [1, 2]]


@pytest.mark.parametrize("change", [kinds, empty, uneven])
def test_lists_of_several_kinds_are_left_to_the_code(root: Path, change: Any) -> None:
    dataset = Boxed(root)
    change(dataset.records)
    check(Program(loader_of(dataset, batch_size=4, collate_fn=lambda: as_samples), epochs=1, seed=3), native=False)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_torch_puts_no_lists_together_that_differ_in_length(root: Path, num_workers: int) -> None:
    events = check(Program(loader_of(Boxed(root), batch_size=4, num_workers=num_workers), seed=3), native=False)
    assert "error" in {kind for kind, _ in events}
