"""DataLoader.stats(): what it counts is what is seen from outside, and its verdict names what was made slow."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
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
from goloader.stats import Clock, Stage, Stats

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
    timed(big)
    assert "decode is the bottleneck (" in big.stats().verdict
    late = goloader.DataLoader(Rows(), 8, num_workers=1)
    timed(late)
    before = late.stats()
    timed(late, 0.2)
    assert "the loader keeps up" in late.stats().since(before).verdict


@pytest.mark.parametrize(
    ("spent", "numbers", "said"),
    [
        ({"decode": 15, "op": 3}, {}, "decode is the bottleneck (1.8 of 2 cores busy)"),
        ({"decode": 5, "op": 14}, {}, "op is the bottleneck (1.9 of 2 cores busy)"),
        ({"gather": 13}, {}, "gather is the bottleneck"),
        ({"decode": 5, "read": 14}, {}, "reading is the bottleneck"),
        ({"decode": 2, "read": 1}, {}, "no stage of Go's keeps the cores busy (0.2 of 2)"),
        ({"decode": 5}, {"num_workers": 0, "waited_s": 3.0, "away_s": 7.0}, "decode is the bottleneck (1.7 of 2"),
        ({"decode": 5}, {"num_workers": 0, "waited_s": 3.0, "away_s": 7.0}, "num_workers=0 makes no batch before"),
        ({"iter": 3}, {"waited_s": 5.0, "away_s": 5.0}, "an epoch takes 3.0 s to begin"),
        ({"iter": 3}, {"waited_s": 5.0, "samples": 0}, "persistent_workers=True keeps worker processes"),
        ({}, {"samples": 0}, "Python makes the samples, in 2 worker processes"),
        ({"decode": 9}, {"waited_s": 0.4, "away_s": 9.6}, "10.0 s, waited 400 ms (4%) for data: the loader keeps up"),
    ],
)
def test_the_verdict_is_of_the_stage_that_batches_wait_for(
    spent: dict[str, float], numbers: dict[str, Any], said: str
) -> None:
    stages = {name: Stage(1, seconds, seconds, ((seconds, 1),)) for name, seconds in spent.items()}
    known: dict[str, Any] = {"batches": 1, "waited_s": 6.0, "away_s": 4.0, "num_workers": 2, "samples": 9} | numbers
    assert said in Stats(cores=2, stages={"iter": Stage(), **stages}, **known).verdict


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
                clock.took(time.perf_counter())
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
    assert stats._repr_html_().count("<tr>") == len(lines) - 1
    assert str(Stats()).splitlines()[0] == "no batch yet"


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
