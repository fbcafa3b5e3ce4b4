"""Folders in storages that only fsspec reads are those of a local copy."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
import torchvision.transforms as T
from PIL import Image
from torch.utils import data
from torchvision import datasets
from twins import Program, check, compare, loader_of, run

from goloader.datasets import ImageFolder

URL = "memory://photos/train"
TRANSFORM = T.Compose([T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.ToTensor()])


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Path]:
    """A folder, with a copy at URL."""
    pixels = np.random.default_rng(0)
    names = ["b/2.jpg", "b/10.PNG", "b/deep/er/1.jpg", "b/deep.er/1.jpg", "a b+c/é #1?%41.jpeg", "c/x&y=1.jpg"]
    for name in names + [f"c/more/{n:02}.jpg" for n in range(12)]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.integers(0, 256, (40, 30, 3), np.uint8)).save(tmp_path / name)
    (tmp_path / "b" / "note.txt").write_text("no image")
    storage = fsspec.filesystem("memory")
    for path in tmp_path.rglob("*"):
        if path.is_file():
            storage.pipe(f"/photos/train/{path.relative_to(tmp_path)}", path.read_bytes())
    yield tmp_path
    storage.rm("/photos", recursive=True)


def test_a_folder_is_its_copy(local: Path) -> None:
    ours, theirs = ImageFolder(URL), datasets.ImageFolder(local)
    assert (ours.classes, ours.class_to_idx, ours.targets) == (theirs.classes, theirs.class_to_idx, theirs.targets)
    assert [(path.rpartition("photos/train")[2], label) for path, label in ours.samples] == [
        (path.removeprefix(str(local)), label) for path, label in theirs.samples
    ]
    for path, copy in zip(ours.samples, theirs.samples, strict=True):
        assert path[0].read() == Path(copy[0]).read_bytes()
        assert type(pickle.loads(pickle.dumps(path[0]))) is type(path[0])


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_are_those_of_the_copy(local: Path, workers: int) -> None:
    arguments: dict[str, Any] = {"shuffle": True, "batch_size": 4, "num_workers": workers}
    remote = Program(loader_of(ImageFolder(URL, TRANSFORM), **arguments))
    copy = Program(loader_of(datasets.ImageFolder(local, TRANSFORM), **arguments))
    compare(check(remote, native=False), run(data.DataLoader, copy))


def test_what_cannot_be_had_is_an_error(local: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ImageFolder("memory://photos/none")
    fsspec.filesystem("memory").pipe("/photos/train/d/note.txt", b"")
    with pytest.raises(FileNotFoundError, match="Found no valid file for the classes d"):
        ImageFolder(URL)
    assert len(ImageFolder(URL, allow_empty=True)) == 18
    with pytest.raises(ValueError, match="takes no is_valid_file, no index and no cache"):
        ImageFolder(URL, cache="ram:1GB")
    with pytest.raises(ValueError, match="nosuch"):
        ImageFolder("nosuch://place/train")
