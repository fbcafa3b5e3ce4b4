"""goloader.ImageFolder is torchvision's, in a fraction of the memory; so are the folders of NumpyLoader."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms as T
from PIL import Image
from torch.utils import data
from torchvision import datasets

import goloader
from goloader import NumpyLoader
from goloader.datasets import ImageFolder


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three classes of images at several depths, a text file and a link."""
    folder = tmp_path_factory.mktemp("images")
    pixels = np.random.default_rng(0)
    for name in ("b/2.jpg", "b/10.PNG", "b/deep/er/1.jpg", "a b/é.jpeg", "c/x.jpg", "c/y.jpg"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.integers(0, 256, (40, 30, 3), np.uint8)).save(folder / name)
    (folder / "b" / "note.txt").touch()
    (folder / "c" / "linked").symlink_to(folder / "b")
    return folder


def pair(root: Path, **arguments: Any) -> tuple[ImageFolder, datasets.ImageFolder]:
    return ImageFolder(root, **arguments), datasets.ImageFolder(root, **arguments)


def test_it_is_torchvisions_dataset(root: Path) -> None:
    ours, theirs = pair(root, transform=T.ToTensor())
    assert isinstance(ours, datasets.ImageFolder)
    assert ours.samples == theirs.samples == list(ours.imgs)
    assert ours.targets.tolist() == theirs.targets
    assert (ours.classes, ours.class_to_idx) == (theirs.classes, theirs.class_to_idx)
    assert (len(ours), repr(ours)) == (len(theirs), repr(theirs))
    for index in range(-len(theirs), len(theirs)):
        mine, its = ours[index], theirs[index]
        assert torch.equal(mine[0], its[0])
        assert mine[1:] == its[1:]
        assert type(mine[1]) is int
    for index in (len(theirs), -len(theirs) - 1):
        with pytest.raises(IndexError):
            ours[index]


def test_its_arguments_are_torchvisions(root: Path) -> None:
    arguments: list[dict[str, Any]] = [
        {"target_transform": lambda label: label + 1},
        {"loader": lambda path: Path(path).name},
        {"is_valid_file": lambda path: path.endswith("g")},
    ]
    for each in arguments:
        ours, theirs = pair(root, **each)
        assert list(ours) == list(theirs)


class EvenClasses(ImageFolder):
    """A subclass that numbers and leaves out classes as torchvision lets it."""

    def find_classes(self, directory: str | Path) -> tuple[list[str], dict[str, int]]:
        return ["c", "b"], {"c": 4, "b": 2}


class TheirEvenClasses(datasets.ImageFolder):
    find_classes = EvenClasses.find_classes


def test_find_classes_can_be_overridden(root: Path) -> None:
    ours, theirs = EvenClasses(root), TheirEvenClasses(root)
    assert ours.samples == theirs.samples
    assert ours.targets.tolist() == theirs.targets


@pytest.mark.parametrize("num_workers", [0, 2])
def test_batches_come_from_go_and_are_torchs(root: Path, num_workers: int) -> None:
    transform = T.Compose([T.RandomResizedCrop(16), T.ToTensor()])
    ours, theirs = pair(root, transform=transform)

    def batches(loader: Any) -> list[Any]:
        torch.manual_seed(5)
        return [batch for _ in range(2) for batch in loader]

    loader = goloader.DataLoader(ours, 4, shuffle=True, num_workers=num_workers)
    assert loader.explain().native
    got, want = batches(loader), batches(data.DataLoader(theirs, 4, shuffle=True, num_workers=num_workers))
    also = batches(data.DataLoader(ours, 4, shuffle=True, num_workers=num_workers))
    for mine, its, torchs in zip(got, want, also, strict=True):
        assert torch.equal(mine[0], its[0]) and torch.equal(torchs[0], its[0])
        assert torch.equal(mine[1], its[1]) and torch.equal(torchs[1], its[1])


def test_subsets_and_sums_of_it_come_from_go(root: Path) -> None:
    both = data.ConcatDataset([data.Subset(dataset, [3, 0, -1]) for dataset in pair(root, transform=T.PILToTensor())])
    loader = goloader.DataLoader(both, 1)
    assert loader.explain().native
    for mine, its in zip(loader, data.DataLoader(both, 1), strict=True):
        assert torch.equal(mine[0], its[0]) and torch.equal(mine[1], its[1])


def test_a_changed_list_is_noticed(root: Path) -> None:
    dataset = ImageFolder(root, T.PILToTensor())
    loader = goloader.DataLoader(dataset, None)
    before = [int(label) for _, label in loader]
    dataset.samples = list(dataset.samples)[::-1]
    assert [int(label) for _, label in loader] == before[::-1]


def test_it_pickles(root: Path) -> None:
    dataset = ImageFolder(root)
    again = pickle.loads(pickle.dumps(dataset))
    assert again.samples == dataset.samples
    assert again.targets.tolist() == dataset.targets.tolist()


def test_the_index_stands_in_the_folder_if_asked_for(root: Path, tmp_path: Path) -> None:
    counts: list[int] = []
    dataset = ImageFolder(root, index=True, progress=counts.append)
    assert counts[-1] == len(dataset)
    assert (root / ".goloader").is_file()
    assert ImageFolder(root, index=True).samples == datasets.ImageFolder(root).samples
    (root / ".goloader").unlink()
    ImageFolder(root, index=tmp_path / "list")
    assert (tmp_path / "list").is_file()


def neutral(root: Path, **arguments: Any) -> Any:
    return NumpyLoader(root, **arguments)


@pytest.mark.parametrize("make", [ImageFolder, neutral])
def test_errors_are_torchvisions(tmp_path: Path, make: Callable[..., Any]) -> None:
    def both() -> None:
        errors = []
        for kind in (make, datasets.ImageFolder):
            with pytest.raises(FileNotFoundError) as error:
                kind(root)
            errors.append(str(error.value))
        assert errors[0] == errors[1]

    root = tmp_path / "missing"
    both()
    root = tmp_path
    both()
    for name in ("x", "y", "z"):
        (tmp_path / name).mkdir()
    (tmp_path / "x" / "note.txt").touch()
    both()
    (tmp_path / "x" / "a.png").touch()
    both()
    if make is ImageFolder:
        assert ImageFolder(root, allow_empty=True).samples == datasets.ImageFolder(root, allow_empty=True).samples


def test_labels_of_numpy_loaders_are_in_the_folders_order(root: Path) -> None:
    loader = NumpyLoader(root, [goloader.transforms.Resize((8, 8))], batch_size=random.Random(0).randint(2, 5))
    theirs = datasets.ImageFolder(root)
    assert loader.classes == tuple(theirs.classes)
    assert np.concatenate([labels for _, labels in loader]).tolist() == theirs.targets
