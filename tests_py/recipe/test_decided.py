"""When it is decided whether a dataset is recorded changes nothing but the time; what was decided is kept on disk."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils import data
from torchvision.transforms.functional import to_tensor

import goloader
from goloader.doors.recipe import door, fetch, first, kept, record
from goloader.plan.refusal import Refusal
from tests_py.loader.test_later import same, states

COUNT = 24
NO_GAIN = Refusal("source", "trace", "it opens no images", "NO_GAIN")


class Numbers(data.Dataset[Any]):
    """Tells how often its code has run in this process, and draws from all generators."""

    runs = 0

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> Any:
        self.runs += 1
        return index, self.runs, random.random(), np.random.rand(), torch.rand(2)


class Pictures(Numbers):
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        pixels = np.random.default_rng(5).integers(0, 256, (40, 40, 3), np.uint8)
        Image.fromarray(pixels).save(folder / "image.png")

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.folder / "image.png").convert("RGB")
        return to_tensor(image.crop((0, 0, 8, 9))), *super().__getitem__(index)


def epochs(loader: Any) -> list[Any]:
    return [(batch, states()) for _ in range(2) for batch in loader] + [states()]


@pytest.mark.parametrize("opens", [False, True])
@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_batches_and_states_are_torchs_wherever_it_is_decided(
    opens: bool, workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = random.randrange(1, 6)
    monkeypatch.setattr(record, "_SPENT_S", float(random.randrange(COUNT // size)))
    monkeypatch.setattr(record.Record, "spend", lambda self, cpu_s, clock_s: self.page.spend(1.0))
    seed, given = random.randrange(1 << 30), []
    for kind in (data.DataLoader, goloader.DataLoader):
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed & 0xFFFF)
        dataset = Pictures(tmp_path) if opens else Numbers()
        loader: Any = kind(dataset, size, shuffle=True, num_workers=workers, persistent_workers=workers > 0)
        given.append(epochs(loader))
        runs = dataset.runs
        assert runs == (0 if workers else 2 * COUNT)
    assert same(*given)
    told = loader.explain()
    assert ("NO_GAIN" in told.codes, "in batch[0]" in str(told)) == (not opens, opens)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GOLOADER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def code(tmp_path: Path) -> Path:
    path = tmp_path / "code.py"
    path.write_text("pass\n")
    return path


@pytest.mark.parametrize("off", [None, NO_GAIN])
def test_what_was_found_holds_while_all_code_is_as_it_was(off: Refusal | None, cache: Path, code: Path) -> None:
    assert kept.found("name") is None
    kept.keep("name", [str(code), __file__], off)
    assert kept.found("name") == kept.Kept(off)
    code.write_text("pass\n\n")
    assert kept.found("name") is None
    kept.keep("name", [str(code), __file__], off)
    code.unlink()
    assert kept.found("name") is None


@pytest.mark.parametrize("off", ["3", '"text"', '["source", "trace"]', "[1, 2, 3, 4]", "{}}"])
def test_a_damaged_file_says_nothing(off: str, cache: Path, code: Path) -> None:
    kept.keep("name", [str(code)], NO_GAIN)
    (path,) = (cache / "recordings").iterdir()
    text = path.read_text()
    told = text[text.index('"off": ') + 7 : -1]
    path.write_text(text.replace(told, off))
    assert kept.found("name") is None
    path.write_text(text[: len(text) // 2])
    assert kept.found("name") is None
    path.write_text(text)
    assert kept.found("name") == kept.Kept(NO_GAIN)


def test_a_folder_that_cannot_be_written_keeps_nothing(cache: Path, code: Path) -> None:
    cache.write_text("a file")
    kept.keep("name", [str(code)], NO_GAIN)
    assert kept.found("name") is None


def test_code_of_no_file_keeps_nothing(cache: Path) -> None:
    kept.keep("name", ["<string>"], NO_GAIN)
    assert kept.found("name") is None


def test_where_nothing_was_gained_it_is_tried_again_after_much_time(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Any] = []
    monkeypatch.setattr(door, "sandbox", SimpleNamespace(WAITS=False, here=lambda: False))
    monkeypatch.setattr(first, "begin_trial", lambda *given, **named: tried.append(given))
    monkeypatch.setattr(record, "_SPENT_AGAIN_S", 10.0)
    monkeypatch.setattr(record.Record, "spend", lambda self, cpu_s, clock_s: self.page.spend(1.0))
    dataset = Numbers()
    loader = goloader.DataLoader(dataset, 4)
    list(loader)
    assert tried, "nothing is known, and batches have taken long enough"
    kept.keep(kept.named(loader), [__file__], NO_GAIN)
    tried.clear()
    loader = goloader.DataLoader(dataset, 4)
    assert "NO_GAIN" in loader.explain().codes
    list(loader)
    assert not tried
    list(loader)
    assert tried


def test_what_a_trial_finds_is_kept(cache: Path) -> None:
    loader = goloader.DataLoader(Numbers(), 4)
    name = kept.named(loader)  # before the dataset counts
    list(loader)
    assert kept.found(name) == kept.Kept(NO_GAIN)


def test_what_was_kept_is_recorded_at_once_and_tried_with_the_second_batch(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []
    monkeypatch.setattr(door, "sandbox", SimpleNamespace(WAITS=False, here=lambda: False))
    monkeypatch.setattr(fetch, "begin_trial", lambda record, *given, **named: tried.append(record.batches))
    loader = goloader.DataLoader(Pictures(tmp_path), 4)
    kept.keep(kept.named(loader), [__file__], None)
    given = []
    for kind in (data.DataLoader, goloader.DataLoader):
        torch.manual_seed(7)
        random.seed(7)
        np.random.seed(7)
        loader = kind(Pictures(tmp_path), 4)
        given.append(epochs(loader))
    assert same(*given)
    assert door.record(loader).samples == 2 * COUNT and tried[0] == 1


def test_a_stream_of_ones_own_imports_nothing_of_pipelines(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("goloader.plan.streams", "goloader.webdataset"):
        monkeypatch.setitem(sys.modules, name, None)

    class Stream(data.IterableDataset[Any]):
        def __iter__(self) -> Any:
            return iter(range(9))

    loader = goloader.DataLoader(Stream(), 4)
    assert [batch.tolist() for batch in loader] == [[0, 1, 2, 3], [4, 5, 6, 7], [8]]
    assert "ITERABLE" in loader.explain().codes
