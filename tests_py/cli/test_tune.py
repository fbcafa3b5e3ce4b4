"""python -m goloader tune: what it measures and says of a dataset that is slow on purpose."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from torch.utils import data

import goloader
from goloader.cli import main, tune
from tests_py import fresh
from tests_py.files.ranges import packed, serving

# Each setting is a process of its own.
pytestmark = pytest.mark.timeout(600)

_MODULE = """
import time, torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

class Slow(Dataset):
    def __len__(self):
        return 40
    def __getitem__(self, index):
        time.sleep(0.05)
        return torch.tensor(index)

class Endless(IterableDataset):
    def __iter__(self):
        print("not for the outcome")
        while True:
            yield {"name": "a", "draw": torch.rand(2)}

def slow():
    return DataLoader(Slow(), batch_size=4, shuffle=True)

def photos():
    from goloader.datasets import TarImages
    from torchvision.transforms import ToTensor
    return DataLoader(TarImages(URL, ToTensor()), batch_size=2)

def none():
    return DataLoader(Slow(), batch_size=64, drop_last=True)
"""


def _tune(folder: Path, *arguments: str, url: str = "", seconds: float = 0.3) -> subprocess.CompletedProcess[str]:
    (folder / "mine.py").write_text(f"URL = {url!r}\n{_MODULE}")
    return fresh.command("tune", *arguments, "--seconds", str(seconds), "--rounds", "1", cwd=folder)


@pytest.mark.slow
def test_a_dataset_that_waits_is_tuned(tmp_path: Path) -> None:
    # Long enough for two workers to be faster than none on a busy machine.
    done = _tune(tmp_path, "mine:slow", "--workers", "2", "--chart", "chart.png", seconds=1)
    assert (done.returncode, done.stderr) == (0, "")
    rows = re.findall(r"^ +(\d+) +(\d+|-) +(\d+) +- +(\d+) +[\d.]+ +[\d.]+$", done.stdout, re.MULTILINE)
    settings = [tuple(row[:3]) for row in rows]
    assert settings[:3] == [("0", "-", "4"), ("1", "2", "4"), ("2", "2", "4")]
    # How many workers are enough is the machine's to say.
    chosen = settings[3][0]
    assert settings[3:6] == [(chosen, factor, "4") for factor in ("1", "4", "8")]
    assert [row[2] for row in settings[6:]] == ["2", "8"]
    assert 0 < int(rows[0][3]) <= 20
    pasted = done.stdout.rstrip().rpartition("\n")[2]
    made = rf"num_workers={chosen}, prefetch_factor=\d, batch_size=4, persistent_workers=True"
    assert re.fullmatch(rf"DataLoader\(dataset, \.\.\., {made}\)", pasted)
    with Image.open(tmp_path / "chart.png") as image:
        assert image.size == (800, 400)


@pytest.mark.slow
def test_a_cache_is_measured_for_remote_files(tmp_path: Path) -> None:
    for number in range(12):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(tmp_path / f"{number}.png")
    with serving(packed(sorted(tmp_path.glob("*.png"))), lambda _: time.sleep(0.05)) as url:
        done = _tune(tmp_path, "mine:photos", "--workers", "1", url=url)
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^ +(\d+) +[\d-]+ +(\d+) +(-|ram) +(\d+) ", done.stdout, re.MULTILINE)
    assert [row[2] for row in rows] == [*["-"] * (len(rows) - 1), "ram"]
    # The files are never asked for again, and each answer takes 50 ms.
    assert int(rows[-1][3]) > 2 * max(int(row[3]) for row in rows[:-1])
    assert re.search(r"With a cache of the dataset's, later epochs: \d+\.\d\d times", done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "status", "said"),
    [
        ("mine:Endless", 0, "batch_size=8"),
        ("mine:none", 1, "the loader has no batches"),
        ("mine:nothing", 1, "nothing"),
    ],
)
def test_other_targets(tmp_path: Path, target: str, status: int, said: str) -> None:
    done = _tune(tmp_path, target, "--workers", "0")
    assert (done.returncode, said in done.stdout + done.stderr) == (status, True), done.stderr


@pytest.mark.parametrize("wrong", [["--workers", "-1"], ["--seconds", "0"], ["--rounds", "0"]])
def test_arguments_that_make_no_sense(wrong: list[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["tune", "mine:slow", *wrong])
    assert left.value.code == 2


def test_a_chart_without_matplotlib_is_told_before_anything_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(SystemExit, match="pip install matplotlib"):
        main(["tune", "mine:slow", "--chart", "chart.png"])


def test_the_least_that_is_enough_is_chosen() -> None:
    def least(*rates: float) -> int:
        settings = [tune.Setting(count, None, 1) for count in range(len(rates))]
        results = {each: tune.Measured(rate, 0, 0) for each, rate in zip(settings, rates, strict=True)}
        return tune._least(settings, results).num_workers

    assert [least(100, 200, 204), least(100, 200, 220), least(5), least(200, 100)] == [1, 2, 0, 0]
    assert [tune._counts(most) for most in (0, 2, 6, 16)] == [
        [0],
        [0, 1, 2],
        [0, 1, 2, 3, 4, 6],
        [0, 1, 2, 3, 4, 8, 16],
    ]


class Own(data.Sampler[list[int]]):
    def __iter__(self) -> Any:
        yield from ([0, 1, 2], [3])

    def __len__(self) -> int:
        return 2


class Counted(data.IterableDataset[int]):
    def __iter__(self) -> Any:
        return iter(range(5))


@pytest.mark.parametrize(
    "arguments",
    [
        {"batch_size": 3, "shuffle": True, "drop_last": True},
        {"batch_size": None},
        {"batch_sampler": Own()},
        {"batch_size": 2, "sampler": [3, 1, 2], "collate_fn": list},
    ],
)
def test_a_loader_made_anew_gives_the_same_batches(arguments: dict[str, Any]) -> None:
    for dataset in (data.TensorDataset(torch.arange(10)), Counted()):
        if isinstance(dataset, Counted) and arguments.keys() & {"sampler", "batch_sampler", "shuffle"}:
            continue
        loader = goloader.DataLoader(dataset, **arguments)
        anew = tune._made_anew(loader, tune.Setting(0, None, loader.batch_size))
        made = []
        for each in (loader, anew):
            torch.manual_seed(0)
            made.append(str(list(each)))
        assert made[0] == made[1]
    working = tune._made_anew(loader, tune.Setting(2, 3, loader.batch_size))
    assert (working.num_workers, working.prefetch_factor, working.persistent_workers) == (2, 3, True)
