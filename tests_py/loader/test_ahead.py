"""Files that only Pillow reads, among others: threads decode them ahead, and batches, draws and errors are torch's."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
import time
from pathlib import Path
from typing import Any

import photos
import pytest
import torchvision.transforms as T
import twins
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


@pytest.mark.parametrize("workers", [1, 3])
def test_batches_draws_and_errors_are_those_of_torch(root: Path, workers: int, decoded: list[int]) -> None:
    make = loader_of(ImageFolder(str(root), TRAIN), batch_size=8, shuffle=True, num_workers=workers)
    events = check(Program(make, epochs=2))
    assert len(twins.errors(events)) == 2, "the damaged file"
    assert decoded


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
