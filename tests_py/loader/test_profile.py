"""loader.profile(): a timeline that agrees with stats() and with the wall."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils import data
from torchvision.datasets import ImageFolder
from torchvision.transforms import Compose, Resize, ToTensor

import goloader

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Any:
    root = tmp_path_factory.mktemp("photos")
    (root / "a").mkdir()
    for number in range(24):
        pixels = np.random.default_rng(number).integers(0, 256, (90, 120, 3), np.uint8)
        Image.fromarray(pixels).save(root / "a" / f"{number:02d}.jpg")
    return ImageFolder(str(root), Compose([Resize((32, 32)), ToTensor()]))


def written(path: Path) -> tuple[dict[int, str], list[dict[str, Any]]]:
    """The names of tracks, and the spans."""
    events = json.loads(path.read_text())["traceEvents"]
    names = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
    return names, [event for event in events if event["ph"] == "X"]


def seconds(spans: list[dict[str, Any]], name: str) -> float:
    return sum(float(span["dur"]) for span in spans if span["name"] == name) * 1e-6


@pytest.mark.parametrize("workers", [0, 2])
def test_spans_agree_with_stats_and_the_wall(photos: Any, workers: int, tmp_path: Path) -> None:
    loader = goloader.DataLoader(photos, batch_size=4, num_workers=workers)
    list(loader)
    before = loader.stats()
    begun = time.perf_counter()
    with loader.profile(tmp_path / "trace.json") as profile:
        for _ in range(2):
            for number, _ in enumerate(loader):
                time.sleep(0.02 * (number % 3))
    wall = time.perf_counter() - begun
    names, spans = written(tmp_path / "trace.json")
    assert (profile.lost, profile.events) == (0, len(spans))
    done = loader.stats().since(before)
    assert done.batches == sum(span["name"] == "next()" for span in spans) == 12
    assert seconds(spans, "step") == pytest.approx(done.away_s, rel=0.02)
    assert seconds(spans, "iter()") + seconds(spans, "next()") == pytest.approx(done.waited_s, rel=0.02)
    assert all(span["ts"] >= -1 and span["ts"] + span["dur"] <= wall * 1e6 for span in spans)
    for stage in ("read", "decode", "op"):
        count = sum(span["args"]["count"] for span in spans if span["name"] == stage)
        assert 46 <= count <= done.stages[stage].count == 48  # but for what took less than a microsecond
        assert seconds(spans, stage) == pytest.approx(done.stages[stage].total_s, rel=0.02)
    assert names[0] == "program"
    assert {name.partition(" ")[0] for name in names.values()} <= {"program", "batches", "worker", "reader"}
    # A track has one thing at a time.
    for track in names:
        own = sorted((span["ts"], span["dur"]) for span in spans if span["tid"] == track)
        assert all(at + took <= after + 1 for (at, took), (after, _) in itertools.pairwise(own))


def test_the_next_epoch_is_not_in_it_nor_are_other_loaders(photos: Any, tmp_path: Path) -> None:
    loader, other = (goloader.DataLoader(photos, batch_size=4, num_workers=1) for _ in range(2))
    list(loader)
    with loader.profile(tmp_path / "trace.json"):
        list(other)
    assert written(tmp_path / "trace.json")[1] == []
    list(loader)
    assert written(tmp_path / "trace.json")[1] == []


class Slow(data.Dataset[Any]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.05)
        return torch.tensor(index)


@pytest.mark.parametrize("workers", [0, 1])
def test_python_s_batches_have_the_program_s_track(workers: int, tmp_path: Path) -> None:
    loader = goloader.DataLoader(Slow(), num_workers=workers)
    with pytest.raises(KeyError), loader.profile(tmp_path / "trace.json"):
        list(loader)
        raise KeyError
    names, spans = written(tmp_path / "trace.json")
    assert set(names.values()) == {"program"}
    assert [span["name"] for span in spans].count("next()") == 4
    assert seconds(spans, "iter()") + seconds(spans, "next()") > 0.19


def test_a_file_that_cannot_be_written_is_told_at_once(tmp_path: Path) -> None:
    loader = goloader.DataLoader(Slow())
    with pytest.raises(FileNotFoundError), loader.profile(tmp_path / "absent" / "trace.json"):
        raise AssertionError
