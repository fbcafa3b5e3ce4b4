"""loader.profile(): a timeline that agrees with stats() and with the wall."""

from __future__ import annotations

import itertools
import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils import data
from torchvision.datasets import ImageFolder
from torchvision.transforms import Compose, Resize, ToTensor

import goloader
from goloader import _chart


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


def within(span: dict[str, Any], whole: dict[str, Any]) -> bool:
    end = whole["ts"] + whole["dur"]
    return bool(whole["ts"] - 1 <= span["ts"] and span["ts"] + span["dur"] <= end + 1)


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
    assert {name.partition(" ")[0] for name in names.values()} <= {"program", "batches", "worker", "reader", "goloader"}
    # A next() either waits for Go, without the GIL, or holds it. What lay ready is taken without a wait.
    waits = [span for span in spans if span["name"] == "wait"]
    calls = [span for span in spans if span["name"] == "next()" and any(within(wait, span) for wait in waits)]
    held = [span for span in spans if span["name"] == "holds the GIL"]
    assert calls and all(any(within(span, call) for call in calls) for span in held)
    assert seconds(held, "holds the GIL") + seconds(waits, "wait") == pytest.approx(seconds(calls, "next()"), rel=0.02)
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


class Spiky(Slow):
    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.3 if index == 7 else 0.01)
        return torch.tensor(index)


def test_spikes_are_marked_in_the_chart(tmp_path: Path) -> None:
    loader, svg = goloader.DataLoader(Spiky()), tmp_path / "chart.svg"
    list(loader)  # of a first epoch some batches wait until it is known how they are made
    with matplotlib.rc_context({"svg.fonttype": "none"}), loader.profile(tmp_path / "trace.json", svg):
        for _ in loader:
            time.sleep(0.01)
    assert re.findall(r"batch \d+", svg.read_text().replace("12 batches", "")) == ["batch 7"]
    _, spans = written(tmp_path / "trace.json")
    at, waits, steps = _chart.batches(spans)
    assert (len(at), waits.argmax(), steps[0]) == (12, 7, 0)
    assert waits.sum() == pytest.approx(seconds(spans, "next()"))
    assert steps[1:].min() > 0.009


def test_what_is_busy_is_what_spans_add_up_to() -> None:
    generator = np.random.default_rng(0)
    begins = generator.uniform(0, 9, 200)
    ends = begins + generator.uniform(0, 1, 200)
    edges = np.linspace(0, 10, 41)
    each = [np.clip(ends, low, high) - np.clip(begins, low, high) for low, high in itertools.pairwise(edges)]
    np.testing.assert_allclose(_chart.busy(begins, ends, edges), np.sum(each, axis=1) / 0.25, atol=1e-9)


def test_a_chart_without_matplotlib_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    profile = goloader.DataLoader(Slow()).profile(tmp_path / "trace.json", tmp_path / "chart.png")
    with pytest.raises(ModuleNotFoundError, match="pip install matplotlib"), profile:
        raise AssertionError


def test_a_file_that_cannot_be_written_is_told_at_once(tmp_path: Path) -> None:
    loader = goloader.DataLoader(Slow())
    with pytest.raises(FileNotFoundError), loader.profile(tmp_path / "absent" / "trace.json"):
        raise AssertionError
