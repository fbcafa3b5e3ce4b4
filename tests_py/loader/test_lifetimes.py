"""A dataset goes, with its memory and its files, as soon as nobody has it, as with torch: no garbage collection is
waited for."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import ConcatDataset, Dataset, Subset
from torchvision import transforms
from torchvision.datasets import ImageFolder

from goloader import DataLoader


class Rows(Dataset[Any]):
    """Rows of an array, and their numbers."""

    def __init__(self, folder: Path) -> None:
        self.rows = np.arange(48 * 20, dtype=np.float32).reshape(48, 20)
        self.others = np.arange(48)[::-1].copy()
        self.series = [np.arange(40.0) * n for n in range(48)]
        self.uneven = [np.arange(20.0 + n) for n in range(48)]
        self.table, self.texts = {"a": 1, "b": 2}, ["a b b", "b a a"] * 24
        self.seen = [{n, n + 1} for n in range(48)]
        self.images = sorted(folder.glob("*/*.png"))
        self.files = sorted(folder.glob("*.npy"))
        self.transform = transforms.Compose([transforms.RandomCrop(5), transforms.ToTensor()])

    def __len__(self) -> int:
        return 48

    def __getitem__(self, index: int) -> Any:
        return torch.from_numpy(self.rows[index]), self.others[index]


class Computed(Rows):
    def __getitem__(self, index: int) -> Any:
        row = self.rows[self.others[index]]
        return torch.tensor((row - row.mean()) / 3), {"index": index}


class Windows(Rows):
    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int) -> Any:
        return torch.tensor(self.others[index : index + 9])


class Files(Rows):
    def __getitem__(self, index: int) -> Any:
        return torch.from_numpy(np.load(self.files[index])).float()


class Tokens(Rows):
    def __getitem__(self, index: int) -> Any:
        return torch.tensor([self.table[word] for word in self.texts[index].split()])


class Images(Rows):
    def __getitem__(self, index: int) -> Any:
        return {"image": self.transform(Image.open(self.images[index]).convert("RGB")), "path": str(index)}


class Drawn(Rows):
    def __getitem__(self, index: int) -> Any:
        return torch.from_numpy(self.rows[index]) + 0.1 * torch.randn(20), self.others[index]


class Crops(Rows):
    def __getitem__(self, index: int) -> Any:
        row = self.uneven[index]
        begin = np.random.randint(0, len(row) - 9)
        return torch.from_numpy(row[begin : begin + 9])


class Negatives(Rows):
    def __getitem__(self, index: int) -> Any:
        other = np.random.randint(48)
        while other in self.seen[index]:
            other = np.random.randint(48)
        return index, other


class Refused(Rows):
    def __getitem__(self, index: int) -> Any:
        return torch.sigmoid(torch.from_numpy(self.rows[index])).sort()[0], hash(str(index)) % 2


CLASSES = [Rows, Computed, Windows, Files, Tokens, Images, Drawn, Crops, Negatives, Refused]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lifetimes")
    (folder / "of").mkdir()
    for n in range(48):
        Image.fromarray(np.full((7, 6, 3), n, np.uint8)).save(folder / "of" / f"{n:02}.png")
        np.save(folder / f"{n:02}.npy", np.full((2, 3), n))
    return folder


@pytest.fixture
def no_collections() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def of(kind: type[Rows]) -> Any:
    return pytest.param(kind, id=kind.__name__)


@pytest.mark.usefixtures("no_collections")
@pytest.mark.parametrize("kind", [of(each) for each in CLASSES])
def test_a_dataset_goes_with_its_loader(kind: type[Rows], folder: Path) -> None:
    for num_workers in (0, 2):
        dataset = kind(folder)
        known = weakref.ref(dataset)
        loader = DataLoader(dataset, batch_size=8, shuffle=True, num_workers=num_workers)
        if num_workers:
            assert [*loader]
        else:
            assert loader.explain().native == (kind is not Refused)
        del loader, dataset
        assert known() is None, num_workers


@pytest.mark.usefixtures("no_collections")
def test_datasets_in_others_go_with_their_loader(folder: Path) -> None:
    crop = transforms.Compose([transforms.RandomCrop(5), transforms.ToTensor()])
    joined: Any = ConcatDataset([ImageFolder(str(folder), crop), Subset(ImageFolder(str(folder), crop), range(9))])
    known = [weakref.ref(joined), weakref.ref(joined.datasets[0]), weakref.ref(joined.datasets[1].dataset)]
    loader = DataLoader(joined, batch_size=8, num_workers=2)
    next(iter(loader))
    del loader, joined
    assert [each() for each in known] == [None] * 3
