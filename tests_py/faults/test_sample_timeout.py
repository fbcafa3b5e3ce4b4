"""OnError(sample_timeout=...): a sample that takes longer is in error like others, wherever it is made."""

from __future__ import annotations

import os
import random
import signal
import tarfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils import data
from torchvision import transforms as T
from torchvision.datasets import ImageFolder

import goloader
from goloader import OnError
from goloader.datasets import TarImages
from goloader.on_error import limited
from tests_py.files.ranges import packed, serving

pytestmark = pytest.mark.filterwarnings("ignore::goloader.GoloaderWarning")

WORKERS = pytest.mark.parametrize("num_workers", [0, 2])
# Long enough for what is good, also on a busy machine.
LIMIT_S = 3.0
HANGS = 5


class Sleeping(data.Dataset[Any]):
    """Draws, and then does not come back for one of the samples, unless `known` says that it is not to be asked for."""

    def __init__(self, known: bool = False) -> None:
        self.known = known

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> Any:
        drawn = torch.rand(2), np.random.rand(), random.random()
        if index == HANGS:
            assert not self.known
            time.sleep(60)
        return index, drawn


class Told(data.Sampler[Any]):
    """A sampler that knows which sample hangs."""

    def __init__(self, action: str, length: int) -> None:
        self.action, self.inner = action, data.BatchSampler(data.RandomSampler(range(length)), 4, False)

    def __iter__(self) -> Iterator[list[int]]:
        for batch in self.inner:
            if self.action == "skip":
                yield [index for index in batch if index != HANGS]
            else:
                yield [index + (index == HANGS) for index in batch]


def flat(batches: Any) -> list[list[Any]]:
    return [[each.tolist() for each in torch.utils._pytree.tree_leaves(batch)] for batch in batches]


def seed() -> None:
    torch.manual_seed(3)
    np.random.seed(3)
    random.seed(3)


def check_equal(dataset: Any, copy: Any, action: Any, num_workers: int) -> Any:
    """Two epochs are those of torch's loader with a sampler that knows which sample hangs, of a copy that has it."""
    seed()
    theirs = data.DataLoader(copy, batch_sampler=Told(action, len(copy)), num_workers=num_workers)
    want = flat(theirs), flat(theirs)
    seed()
    policy = OnError(action, sample_timeout=LIMIT_S)
    loader = goloader.DataLoader(dataset, 4, shuffle=True, num_workers=num_workers, on_error=policy)
    begun = time.monotonic()
    assert (flat(loader), flat(loader)) == want
    assert loader.stats().bad_samples == {"TimeoutError": 1}
    assert time.monotonic() - begun > LIMIT_S
    return loader


@pytest.mark.slow
@pytest.mark.parametrize("action", ["skip", "replace"])
@WORKERS
def test_python_s_samples(action: Any, num_workers: int) -> None:
    loader = check_equal(Sleeping(), Sleeping(known=True), action, num_workers)
    assert not loader.explain().native


def images(folder: Path, count: int = 12) -> ImageFolder:
    (folder / "a").mkdir(parents=True)
    for number in range(count):
        pixels = np.random.default_rng(number).integers(0, 256, (40, 50, 3), np.uint8)
        Image.fromarray(pixels).save(folder / "a" / f"{number:02d}.jpg")
    return ImageFolder(str(folder), T.Compose([T.RandomResizedCrop(16), T.ToTensor()]))


class Drawing(data.Dataset[Any]):
    """A script of the core."""

    def __init__(self, folder: ImageFolder) -> None:
        self.paths, self.transform = [path for path, _ in folder.samples], folder.transform

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        drawn = random.random()
        return self.transform(Image.open(self.paths[index]).convert("RGB")), drawn, np.random.rand()


@pytest.mark.slow
@pytest.mark.parametrize("action", ["skip", "replace"])
@pytest.mark.parametrize("kind", [lambda folder: folder, Drawing])
@WORKERS
def test_what_pillow_waits_for(kind: Any, action: Any, num_workers: int, tmp_path: Path) -> None:
    """A named pipe that nobody writes into is opened by Pillow."""
    copy, dataset = images(tmp_path / "copy"), images(tmp_path / "pipe")
    pipe = dataset.samples[HANGS][0]
    os.unlink(pipe)
    os.mkfifo(pipe)
    loader = check_equal(kind(dataset), kind(copy), action, num_workers)
    assert loader.explain().native


@contextmanager
def stalling(tmp_path: Path) -> Iterator[tuple[Any, Any]]:
    """Images in an archive on a server that does not send one of them, and a copy of it."""
    content = packed(Path(path) for path, _ in images(tmp_path / "images").samples)
    copy = tmp_path / "copy.tar"
    copy.write_bytes(content)
    with tarfile.open(copy) as archive:
        hangs = archive.getmember(f"{HANGS:02d}.jpg").offset_data
    transform = T.Compose([T.RandomResizedCrop(16), T.ToTensor()])
    over = threading.Event()
    with serving(content, lambda begin: begin == hangs and over.wait()) as url:
        try:
            yield (
                TarImages(url, transform=transform, index=False),
                TarImages(str(copy), transform=transform, index=False),
            )
        finally:
            over.set()


@pytest.mark.slow
@pytest.mark.parametrize("action", ["skip", "replace"])
@WORKERS
def test_what_go_waits_for(action: Any, num_workers: int, tmp_path: Path) -> None:
    with stalling(tmp_path) as made:
        loader = check_equal(*made, action, num_workers)
        assert loader.explain().native


@pytest.mark.slow
@WORKERS
@pytest.mark.parametrize("kind", ["python", "go"])
def test_it_is_raised_and_the_next_batch_comes(kind: str, num_workers: int, tmp_path: Path) -> None:
    with stalling(tmp_path) as made:
        dataset = made[0] if kind == "go" else Sleeping()
        policy = OnError("raise", sample_timeout=LIMIT_S)
        batches = iter(goloader.DataLoader(dataset, 4, num_workers=num_workers, on_error=policy))
        next(batches)
        text = "photos.tar.*: not read within 3 s" if kind == "go" else "the sample takes longer than 3 s"
        with pytest.raises(TimeoutError, match=text) as raised:
            next(batches)
        assert len(list(batches)) == 1
        del raised


def test_somebodys_own_timer_goes_on() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda *_: heard.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 1000)
        with pytest.raises(TimeoutError, match=r"longer than 0\.01 s"), limited(0.01):
            time.sleep(600)
        with limited(500.0):
            pass
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 1000 - 0.01
        assert not heard
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(TimeoutError, match=r"longer than 0\.01 s"), limited(0.01):
            time.sleep(600)
        while not heard:  # it may have come by now
            time.sleep(0.01)
        assert heard == [1]
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_other_threads_are_left_alone() -> None:
    failed: list[BaseException] = []

    def work() -> None:
        try:
            with limited(0.001):
                time.sleep(0.01)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not failed


@pytest.mark.parametrize("wrong", [0, -1, "1"])
def test_what_is_no_limit_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="sample_timeout is a number of seconds above 0"):
        OnError("skip", sample_timeout=wrong)
