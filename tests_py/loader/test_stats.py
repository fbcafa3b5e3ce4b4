"""DataLoader.stats(): what it counts is what is seen from outside, and its verdict names what was made slow."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils import data
from torchvision import datasets
from torchvision import transforms as T

import goloader
from goloader.datasets import CacheOptions, TarImages
from goloader.stats import MOMENTS_MAX, Clock, Stage, Stats
from tests_py.files.ranges import packed, serving

NOISE = np.random.default_rng(0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("photos")
    for number in range(40):
        (root / str(number % 2)).mkdir(exist_ok=True)
        pixels = NOISE.integers(0, 256, (300, 400, 3), np.uint8)
        Image.fromarray(pixels).save(root / str(number % 2) / f"{number:02d}.jpg", quality=95)
    return root


class Slow(data.Dataset[Any]):
    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.01)
        return torch.tensor(index)


class Rows(data.Dataset[Any]):
    def __init__(self) -> None:
        self.rows = np.zeros((64, 8), np.float32)

    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> Any:
        return torch.from_numpy(self.rows[index])


def timed(loader: Any, pause: float = 0.0) -> tuple[int, float, float]:
    """An epoch as seen from outside: batches, seconds in iter() and next(), seconds between."""
    batches, away = 0, 0.0
    begun = time.perf_counter()
    iterator = iter(loader)
    waited = time.perf_counter() - begun
    while True:
        begun = time.perf_counter()
        try:
            next(iterator)
        except StopIteration:
            return batches, waited, away
        waited += time.perf_counter() - begun
        batches += 1
        begun = time.perf_counter()
        time.sleep(pause)
        away += time.perf_counter() - begun


def second(loader: Any, pause: float = 0.0) -> Stats:
    """What a second epoch was: in the first one the library is loaded, and workers are started."""
    timed(loader)
    before: Stats = loader.stats()
    timed(loader, pause)
    return loader.stats().since(before)


@pytest.mark.alone  # it compares how long things take with what is seen from outside
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("which", ["images", "rows", "python"])
def test_what_is_counted_is_what_happened(which: str, workers: int, folder: Path) -> None:
    made: dict[str, Any] = {
        "images": lambda: datasets.ImageFolder(str(folder), T.Compose([T.Resize((64, 64)), T.ToTensor()])),
        "rows": Rows,
        "python": Slow,
    }
    loader = goloader.DataLoader(made[which](), 5, num_workers=workers)
    whole = [timed(loader, 0.002) for _ in range(2)]
    stats = loader.stats()
    assert stats.batches == stats.stages["next"].count == sum(batches for batches, _, _ in whole)
    assert stats.stages["iter"].count == 2
    waited, away = (sum(each[place] for each in whole) for place in (1, 2))
    # What is not measured: calls from here to the loader and back, and the pause behind the last batch.
    assert 0.9 * waited - 0.05 < stats.waited_s <= waited
    assert 0.8 * away - 0.05 < stats.away_s < 1.1 * away + 0.05
    images = 80 if which == "images" else 0
    assert stats.samples == (images or (128 if which == "rows" else 0))
    assert stats.stages.get("decode", Stage()).count == images
    assert stats.bytes_read >= 2 * sum(path.stat().st_size for path in folder.rglob("*.jpg")) * bool(images)
    assert stats.num_workers == workers
    assert json.loads(json.dumps(stats.to_dict()))["stages"]["next"]["count"] == stats.batches


@pytest.mark.slow  # many seconds
@pytest.mark.alone  # it is about how long things take
def test_the_verdict_names_what_is_slow(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = goloader.DataLoader(Slow(), 3)
    timed(python)
    assert "Python makes the samples, in this process" in python.stats().verdict
    assert "num_workers=0 makes no batch before" in python.stats().verdict
    images = datasets.ImageFolder(str(folder), T.Compose([T.Resize((8, 8)), T.ToTensor()]))
    monkeypatch.setattr("goloader._cores.share", lambda: 1)
    big = goloader.DataLoader(data.ConcatDataset([images] * 8), 16, num_workers=1)
    assert big.stats().verdict == "no batch yet"
    assert "decode is the bottleneck (" in second(big).verdict
    half = T.Normalize([0.5] * 3, [0.5] * 3)
    large = T.Compose([T.Resize((1200, 1600)), T.RandomHorizontalFlip(), T.ToTensor(), half])
    dear = goloader.DataLoader(datasets.ImageFolder(str(folder), large), 16, num_workers=1)
    assert "op is the bottleneck (" in second(dear).verdict
    apart = goloader.DataLoader(Slow(), 3, num_workers=2, persistent_workers=True)
    found = re.search(r"in 2 worker processes \((\d+\.?\d*) ms a batch, busy (\d+)%\)", second(apart).verdict)
    assert found is not None
    assert float(found[1]) >= 30
    late = goloader.DataLoader(Rows(), 8, num_workers=1)
    assert "the loader keeps up" in second(late, 0.2).verdict


def pausing(samples: list[Any]) -> Any:
    images, labels = data.default_collate(samples)
    time.sleep(0.05)
    return images * 2, labels


@pytest.mark.alone  # it is about how long things take
@pytest.mark.parametrize("workers", [0, 2])
def test_the_verdict_names_a_collate_fn(folder: Path, workers: int) -> None:
    images = datasets.ImageFolder(str(folder), T.Compose([T.Resize((8, 8)), T.ToTensor()]))
    loader = goloader.DataLoader(images, 4, num_workers=workers, collate_fn=pausing)
    stats = second(loader)
    assert stats.stages["collate"].count == 10
    assert stats.stages["collate"].total_s >= 0.5
    assert stats.samples == 40
    found = re.search(r"collate_fn is the bottleneck \((\d+\.?\d*) ms a batch", stats.verdict)
    assert found is not None
    assert float(found[1]) >= 50


class Dawdling(data.Sampler[int]):
    """Each index takes 5 ms, and asking for an iterator 20."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[int]:
        time.sleep(0.02)
        return map(self.slowly, range(self.length))

    def slowly(self, index: int) -> int:
        time.sleep(0.005)
        return index


class Quick(data.Dataset[Any]):
    """Of the user's own, with nothing for Go."""

    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> Any:
        return {"names": str(index)}


@pytest.mark.alone  # it is about how long things take
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", [Rows, Quick])
def test_the_verdict_names_a_slow_sampler(kind: Any, workers: int) -> None:
    loader = goloader.DataLoader(kind(), 4, sampler=Dawdling(40), num_workers=workers, persistent_workers=workers > 0)
    stats = second(loader)
    drawn = stats.stages["sampler"]
    assert drawn.count == stats.batches == 10
    assert drawn.total_s >= 10 * 4 * 0.005 + 0.02
    assert drawn.max_s >= 4 * 0.005 + 0.02
    assert stats.samples == (40 if kind is Rows else 0)
    found = re.search(r"the sampler is the bottleneck \((\d+\.?\d*) ms a batch, in this process\)", stats.verdict)
    assert found is not None
    assert float(found[1]) >= 20


class Endless(data.IterableDataset[Any]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(20))


def test_each_batch_of_indices_is_counted_once() -> None:
    drawn = lambda loader: (list(loader), loader.stats().stages["sampler"].count)[1]  # noqa: E731
    assert drawn(goloader.DataLoader(Rows(), 8, shuffle=True)) == 8
    assert drawn(goloader.DataLoader(Rows(), None, num_workers=1)) == 64
    assert drawn(goloader.DataLoader(Endless(), 8)) == 0  # there is no sampler


@pytest.mark.slow
def test_the_verdict_names_a_slow_storage(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    wait_s = 0.0
    with serving(packed(sorted(folder.rglob("*.jpg"))), lambda _: time.sleep(wait_s)) as url:
        images = TarImages(url, transform=T.Compose([T.Resize((8, 8)), T.ToTensor()]))
        wait_s = 0.5
        stats = second(goloader.DataLoader(images, 4, num_workers=1))
    assert stats.samples == 40
    assert "reading is the bottleneck (half of the reads take 5" in stats.verdict
    assert {each.stage for each in stats.slowest[:3]} == {"read"}
    assert min(each.seconds for each in stats.slowest[:3]) > 0.5


@pytest.mark.parametrize(
    ("spent", "numbers", "said"),
    [
        ({"decode": 15, "op": 3}, {}, "decode is the bottleneck (1.8 of 2 cores busy)"),
        ({"decode": 5, "op": 14}, {}, "op is the bottleneck (1.9 of 2 cores busy)"),
        ({"decode": 15}, {"all_decoded": 11_400_000_000}, "cores busy); decoded images would fit in a cache of 11 GB"),
        ({"decode": 9}, {"num_workers": 1}, "decode is the bottleneck (0.9 of 2 cores busy); num_workers=2 would use"),
        ({"decode": 5}, {"num_workers": 1}, "no stage of Go's keeps the cores busy (0.5 of 2)"),
        ({"gather": 13}, {}, "gather is the bottleneck"),
        ({"decode": 5, "read": 14}, {}, "reading is the bottleneck"),
        ({"read": 14}, {"received": 3_200_000_000}, "a cache of 3.2 GB would hold what came from the store"),
        ({"decode": 2, "read": 1}, {}, "no stage of Go's keeps the cores busy (0.2 of 2)"),
        ({"decode": 5}, {"num_workers": 0, "waited_s": 3.0, "away_s": 7.0}, "decode is the bottleneck (1.7 of 2"),
        ({"decode": 5}, {"num_workers": 0, "waited_s": 3.0, "away_s": 7.0}, "num_workers=0 makes no batch before"),
        ({"sampler": 4, "iter": 4}, {"samples": 0}, "the sampler is the bottleneck (4.0 s a batch, in this process)"),
        ({"iter": 3}, {"waited_s": 5.0, "away_s": 5.0}, "an epoch takes 3.0 s to begin"),
        ({"iter": 3}, {"waited_s": 5.0, "samples": 0}, "persistent_workers=True keeps worker processes"),
        ({}, {"samples": 0}, "Python makes the samples, in 2 worker processes"),
        ({"python": 8}, {"samples": 0}, "in 2 worker processes (8.0 s a batch, busy 40%)"),
        ({"collate": 4, "decode": 15}, {}, "collate_fn is the bottleneck (4.0 s a batch, in this process)"),
        ({"decode": 9}, {"waited_s": 0.4, "away_s": 9.6}, "10.0 s, waited 400 ms (4%) for data: the loader keeps up"),
        ({"decode": 9}, {"waited_s": 0.0, "workers": 1}, "the loader keeps up (1 of 2 workers at work)"),
    ],
)
def test_the_verdict_is_of_the_stage_that_batches_wait_for(
    spent: dict[str, float], numbers: dict[str, Any], said: str
) -> None:
    stages = {name: Stage(1, seconds, seconds, ((seconds, 1),)) for name, seconds in spent.items()}
    known: dict[str, Any] = {"batches": 1, "waited_s": 6.0, "away_s": 4.0, "num_workers": 2, "samples": 9} | numbers
    assert said in Stats(cores=2, stages={"iter": Stage(), **stages}, **known).verdict


@pytest.mark.parametrize("first", [[], [T.Resize(9)]])
def test_the_size_of_a_cache_of_decoded_images_is_told(folder: Path, first: list[Any]) -> None:
    transform = T.Compose([*first, T.RandomCrop(8), T.ToTensor()])
    images = datasets.ImageFolder(str(folder), transform)
    pixels = [T.Compose(first)(images.loader(path)).size for path, _ in images.samples]
    plain = goloader.DataLoader(images, 4)
    for _ in plain:
        pass
    assert plain.stats().all_decoded == sum(64 + 3 * width * height for width, height in pixels)
    kept = CacheOptions(ram="1GB", hold="decoded")
    cached = goloader.DataLoader(goloader.datasets.ImageFolder(folder, transform, cache=kept), 4)
    for _ in cached:
        pass
    assert cached.stats().all_decoded == 0  # they are kept already


@pytest.mark.slow  # many seconds
def test_as_many_work_as_the_program_needs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goloader._cores.allowed", lambda *_: 2)
    images = datasets.ImageFolder(str(folder), T.Compose([T.Resize((8, 8)), T.RandomHorizontalFlip(), T.ToTensor()]))
    many = data.ConcatDataset([images] * 40)
    torch.manual_seed(5)
    theirs = [batch[1].tolist() for batch in data.DataLoader(many, 4, shuffle=True)]
    loader = goloader.DataLoader(many, 4, shuffle=True, num_workers=2)
    assert loader.stats().workers == 0  # none are started
    torch.manual_seed(5)
    iterator = iter(loader)
    assert loader.stats().workers == 2
    ours: list[Any] = []

    def take() -> bool:
        ours.append(next(iterator)[1].tolist())
        return len(ours) < len(theirs)

    while loader.stats().workers == 2 and take():
        time.sleep(0.02)  # a training step that takes longer than the loader
    assert loader.stats().workers == 1
    verdict = loader.stats().verdict
    assert "(1 of 2 workers at work)" in verdict or "waited" in verdict
    while loader.stats().workers == 1 and take():
        pass
    assert loader.stats().workers == 2
    assert len(ours) < len(theirs)
    ours += [batch[1].tolist() for batch in iterator]
    assert ours == theirs


@pytest.mark.parametrize("kind", [Slow, Rows])
def test_each_epoch_has_its_verdict_in_the_log(kind: Any, caplog: pytest.LogCaptureFixture) -> None:
    loader = goloader.DataLoader(kind(), 4)
    timed(loader)
    assert not [each for each in caplog.messages if each.startswith("epoch")]
    with caplog.at_level(logging.INFO, "goloader"):
        timed(loader)
        timed(loader, 0.02)
    first, second = (each for each in caplog.messages if each.startswith("epoch"))
    assert first.startswith("epoch 1: ")
    assert second.startswith("epoch 2: ")
    assert "waited" in first


def test_an_epoch_that_is_left_is_no_pause() -> None:
    loader = goloader.DataLoader(Rows(), 8)
    for _ in range(2):
        next(iter(loader))
        time.sleep(0.05)
    assert loader.stats().away_s == 0
    assert loader.stats().batches == 2


@pytest.mark.slow
def test_many_batches_are_all_counted() -> None:
    loader = goloader.DataLoader(data.ConcatDataset([Rows()] * 80), 1)
    batches, waited, _ = timed(loader)
    assert loader.stats().batches == batches == 5120
    assert loader.stats().waited_s == pytest.approx(waited, rel=0.3)


def test_threads_may_take_batches_and_look_at_once() -> None:
    clock = Clock()
    clock.begin(0)
    failed: list[BaseException] = []

    def take() -> None:
        try:
            for _ in range(20_000):
                asked, given = time.perf_counter(), time.perf_counter()
                clock.moments += asked, given
                if len(clock.moments) >= MOMENTS_MAX:
                    clock.took(asked, given)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        clock.stats()
    assert not failed
    assert clock.stats().batches == 80_000


def test_quantiles_are_numpys_to_a_quarter() -> None:
    durations = NOISE.lognormal(-7, 2, 5000)
    parts = np.split(durations, [10, 2000])
    stage = Stage()
    for part in parts:
        stage = stage.plus(Stage.of(part))
    assert stage.count == 5000
    assert stage.total_s == pytest.approx(durations.sum())
    assert stage.max_s == durations.max()
    for share in (0.01, 0.5, 0.95, 0.99, 1.0):
        exact = max(np.quantile(durations, share, method="inverted_cdf"), 256e-9 / 1.26)
        assert exact <= stage.quantile(share) * (1 + 1e-9)
        assert stage.quantile(share) <= 1.26 * exact
    left = stage.since(Stage.of(parts[0]))
    assert left.count == 4990
    assert sum(count for _, count in left.buckets) == 4990


def test_tables_show_every_stage(folder: Path) -> None:
    loader = goloader.DataLoader(datasets.ImageFolder(str(folder), T.ToTensor()), 4)
    timed(loader)
    stats = loader.stats()
    lines = str(stats).splitlines()
    assert lines[0] == stats.verdict
    shown = {line.split()[0] for line in lines[2:]}
    assert {"iter", "next", "read", "decode", "op", "wait"} <= shown
    assert stats._repr_html_().count("<tr>") == len(lines) - 2
    assert lines[-1].startswith("slowest: ")
    assert lines[-1] == re.sub("<.*?>", "\n", stats._repr_html_()).strip().splitlines()[-1]
    assert str(Stats()).splitlines()[0] == "no batch yet"


@pytest.mark.parametrize("workers", [0, 2])
def test_the_slowest_samples_are_named(folder: Path, workers: int, tmp_path: Path) -> None:
    root = shutil.copytree(folder, tmp_path / "copy")
    (large,) = (root / "0").glob("04.jpg")
    Image.fromarray(NOISE.integers(0, 256, (2000, 2500, 3), np.uint8)).save(large, quality=95)
    dataset = datasets.ImageFolder(str(root), T.Compose([T.Resize((16, 16)), T.ToTensor()]))
    loader = goloader.DataLoader(dataset, 1, num_workers=workers)
    for _ in range(2):
        timed(loader)
    first, *others = loader.stats().slowest
    assert (first.name, first.stage) == (str(large), "decode")
    assert len(others) == 7
    assert [each.seconds for each in others] == sorted((each.seconds for each in others), reverse=True)
    assert len({(each.name, each.stage) for each in others}) == 7
    found = loader.stats()
    assert first.seconds == pytest.approx(found.stages["decode"].max_s + found.stages["op"].max_s, rel=0.2)
    assert json.loads(json.dumps(found.to_dict()))["slowest"][0]["name"] == str(large)


@pytest.mark.slow
@pytest.mark.alone  # it compares how long things take with what is seen from outside
@pytest.mark.parametrize("workers", [0, 1, 3])
def test_stats_agree_with_the_kernel_and_another_clock_within_two_percent(workers: int, tmp_path: Path) -> None:
    for number in range(60):
        (tmp_path / "a").mkdir(exist_ok=True)
        pixels = NOISE.integers(0, 256, (600, 800, 3), np.uint8)
        Image.fromarray(pixels).save(tmp_path / "a" / f"{number:02d}.jpg", quality=95)
    dataset = datasets.ImageFolder(str(tmp_path), T.Compose([T.Resize((64, 64)), T.ToTensor()]))
    loader = goloader.DataLoader(dataset, 5, num_workers=workers)
    timed(loader)  # what is read and loaded once
    apart = []
    for _ in range(5):
        before, read = loader.stats(), bytes_read()
        batches, waited, away = clocked(loader)
        read = bytes_read() - read
        stats = loader.stats().since(before)
        assert stats.batches == batches == 12
        assert stats.bytes_read == pytest.approx(read, rel=0.02)
        assert stats.bytes_read == sum(path.stat().st_size for path in tmp_path.rglob("*.jpg"))
        assert stats.ready * (stats.waited_s + stats.away_s) == pytest.approx(stats.stages["hand_out"].total_s)
        assert stats.busy["decode"] * (stats.waited_s + stats.away_s) == pytest.approx(stats.stages["decode"].total_s)
        whole = waited + away
        apart.append(max(abs(stats.waited_s - waited), abs(stats.away_s - away)) / whole)
    # Where the process loses its core between the two clocks, one of them sees it and the other does not.
    assert min(apart) < 0.02


def clocked(loader: Any) -> tuple[int, float, float]:
    """An epoch as `timed` sees it, but each moment is looked at once: nothing is between what is waited and away."""
    batches, away, now = 0, 0.0, time.perf_counter
    asked = now()
    iterator = iter(loader)
    got = now()
    waited = got - asked
    while True:
        asked = now()
        away += asked - got if batches else 0.0
        try:
            next(iterator)
        except StopIteration:
            return batches, waited, away
        got = now()
        waited += got - asked
        batches += 1
        time.sleep(0.02)


def bytes_read() -> int:
    """By all read calls of this process, as the kernel counts them."""
    (line,) = (line for line in Path("/proc/self/io").read_text().splitlines() if line.startswith("rchar"))
    return int(line.split()[1])


@pytest.mark.parametrize("workers", [0, 2])
def test_a_dataset_that_is_changed_goes_on_counting(folder: Path, workers: int) -> None:
    dataset = datasets.ImageFolder(str(folder), T.Compose([T.Resize((16, 16)), T.ToTensor()]))
    loader = goloader.DataLoader(dataset, batch_size=5, num_workers=workers)
    for epoch in range(3):
        for number, _ in enumerate(loader):
            if number == 1:
                dataset.transform = T.Compose([T.Resize((16, 17 + epoch)), T.ToTensor()])
    stats = loader.stats()
    assert loader.explain().native
    assert (stats.samples, stats.batches) == (120, 24)
    assert stats.stages["decode"].count == 120


def test_a_forked_child_counts_its_own(folder: Path) -> None:
    loader = goloader.DataLoader(datasets.ImageFolder(str(folder), T.Compose([T.Resize((16, 16)), T.ToTensor()])), 8)
    list(loader)
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            list(loader)
            status = 0 if loader.stats().batches == 10 else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_scalars_are_the_numbers_of_the_table(folder: Path) -> None:
    loader = goloader.DataLoader(datasets.ImageFolder(str(folder), T.Compose([T.Resize((16, 16)), T.ToTensor()])), 8)
    assert goloader.DataLoader(Rows()).stats().scalars("") == {"waited": 0.0, "batches_per_s": 0.0}
    timed(loader, 0.002)
    stats = loader.stats()
    found, decode = stats.scalars(), stats.stages["decode"]
    assert (found["loader/decode_ms"], found["loader/decode_p95_ms"]) == (
        decode.mean_s * 1e3,
        decode.quantile(0.95) * 1e3,
    )
    assert found["loader/waited"] == stats.waited
    assert found["loader/samples_per_s"] == 40 / (stats.waited_s + stats.away_s)
    assert set(map(type, found.values())) == {float}
    assert not any(name.startswith("loader/gather") for name in found)
