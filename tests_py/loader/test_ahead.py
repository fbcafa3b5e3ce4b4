"""Files that only Pillow reads, among others: threads decode them ahead, and batches, draws and errors are torch's."""

from __future__ import annotations

import contextlib
import gc
import os
import random
import threading
import time
from pathlib import Path
from typing import Any

import photos
import pytest
import torchvision.transforms as T
import twins
from PIL import Image
from torch.utils.data import Dataset
from torchvision.datasets import ImageFolder
from twins import Program, check, loader_of

import goloader
from goloader.doors.index import ahead

TRAIN = T.Compose([T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.ToTensor()])


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """150 PNGs, 6 PPMs, and one PPM that ends too soon."""
    files = photos.plain(150)
    for i in range(7):
        files[f"{i * 20:03d}_foreign.ppm"] = photos.save(photos.picture(60, 50, i), "PPM")
    files["060_foreign.ppm"] = files["060_foreign.ppm"][:2000]
    return photos.fill(tmp_path_factory.mktemp("ahead"), files)


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The files that threads were given."""
    right, seen = ahead.pixels, []

    def looked_at(samples: Any, row: int) -> Any:
        seen.append(row)
        return right(samples, row)

    monkeypatch.setattr(ahead, "pixels", looked_at)
    return seen


class Drawing(Dataset[Any]):
    """A script of the core, which opens the same files."""

    def __init__(self, root: Path) -> None:
        self.samples = ImageFolder(str(root)).samples

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> Any:
        path, label = self.samples[index]
        image = Image.open(path).convert("RGB")
        return TRAIN(image), label, random.random()


KINDS = {"folder": lambda root: ImageFolder(str(root), TRAIN), "script": Drawing}


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_batches_draws_and_errors_are_those_of_torch(root: Path, kind: str, workers: int, decoded: list[int]) -> None:
    make = loader_of(KINDS[kind](root), batch_size=8, shuffle=True, num_workers=workers)
    events = check(Program(make, epochs=2))
    assert len(twins.errors(events)) == 2, "the damaged file"
    assert decoded


@pytest.mark.parametrize("kind", KINDS)
def test_where_all_files_are_pillows_workers_read_them(kind: str, tmp_path: Path) -> None:
    root = photos.fill(tmp_path, {f"{i}.ppm": photos.save(photos.picture(60, 50, i), "PPM") for i in range(9)})
    loader = goloader.DataLoader(KINDS[kind](root), batch_size=3, num_workers=2)
    assert "FOREIGN_FILES" in loader.explain().codes


def test_only_files_whose_place_is_known_are_decoded_ahead(
    root: Path, decoded: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root.parent)
    check(Program(loader_of(ImageFolder(root.name, TRAIN), batch_size=8, num_workers=2)))
    assert not decoded


@pytest.mark.slow
@pytest.mark.parametrize("relative", [False, True])
def test_a_file_that_only_python_opens_and_never_ends_is_a_timeout(
    relative: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = photos.fill(tmp_path / "root", photos.plain(4))
    (first,) = (path for path in root.rglob("*") if path.name.startswith("002"))
    first.unlink()
    os.mkfifo(first)  # nobody writes to it
    monkeypatch.chdir(tmp_path)
    dataset = ImageFolder("root" if relative else str(root), T.ToTensor())
    loader = goloader.DataLoader(dataset, batch_size=1, num_workers=1, timeout=1)
    assert loader.explain().native
    with pytest.raises(RuntimeError, match="timed out after 1"):
        list(loader)
    with open(first, "wb"):  # lets the thread end
        pass


def test_threads_end_with_the_iterator(root: Path, decoded: list[int]) -> None:
    before = threading.enumerate()
    loader = goloader.DataLoader(ImageFolder(str(root), TRAIN), 8, num_workers=2, prefetch_factor=8)
    for close in True, False:
        iterator = iter(loader)
        time.sleep(0.5)  # what the core has read by now it knows to be Pillow's
        for _ in range(10):
            with contextlib.suppress(OSError):
                next(iterator)
        if close:
            iterator._shutdown_workers()
        del iterator
        gc.collect()
    begun = [thread for thread in threading.enumerate() if thread not in before]
    for thread in begun:
        thread.join(240)
    assert decoded
    assert not [thread for thread in begun if thread.is_alive()]
