"""python -m goloader bench: the same batches or exit code 1, and the times of both loaders."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests_py import fresh

pytestmark = pytest.mark.slow

_MODULE = """
import os, torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

class Noise(Dataset):
    def __len__(self):
        return 20
    def __getitem__(self, index):
        return torch.tensor(list(os.urandom(4)))

class Liar(Noise):
    def __getitem__(self, index):
        return torch.tensor(float(os.environ.get("GOLOADER") == "off"))

class Broken(Noise):
    def __getitem__(self, index):
        raise KeyError(index)

class Endless(IterableDataset):
    def __iter__(self):
        print("not for the outcome")
        while True:
            yield {"draw": torch.rand(2), "name": "a"}

def shuffled():
    return DataLoader(TensorDataset(torch.rand(50, 3), torch.arange(50)), batch_size=7, shuffle=True, num_workers=1)

number = 3
"""


def _bench(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "mine.py").write_text(_MODULE)
    return fresh.command("bench", *arguments, "--rounds", "1", cwd=folder)


@pytest.mark.parametrize(("target", "batches"), [("mine:shuffled", 8), ("mine:Endless", 5)])
def test_both_loaders_are_timed(tmp_path: Path, target: str, batches: int) -> None:
    done = _bench(tmp_path, target, *(("--batches", "5") if batches == 5 else ()))
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{target}: {batches} batches an epoch" in done.stdout
    assert "batches: torch's, bit for bit" in done.stdout
    rows = re.findall(r"^ *(epoch \d|CPU, all) +([\d.]+) +([\d.]+) +([\d.]+)x$", done.stdout, re.MULTILINE)
    assert [name for name, *_ in rows] == ["epoch 0", "epoch 1", "CPU, all"]
    for _, theirs, ours, ratio in rows:
        # All three are rounded.
        assert (float(theirs) - 0.0006) / (float(ours) + 0.0006) < float(ratio) + 0.01
        assert float(ratio) - 0.01 < (float(theirs) + 0.0006) / max(float(ours) - 0.0006, 1e-9)
    assert "stage" in done.stdout


def test_batches_that_differ_are_an_error(tmp_path: Path) -> None:
    done = _bench(tmp_path, "mine:Liar")
    assert done.returncode == 1
    assert "mine:Liar: the batches differ from torch's" in done.stdout
    assert "torch s" not in done.stdout


def test_what_differs_with_torch_alone_is_not_compared(tmp_path: Path) -> None:
    done = _bench(tmp_path, "mine:Noise")
    assert done.returncode == 0
    assert "not compared" in done.stdout
    assert "bit for bit" not in done.stdout


def test_what_fails_is_told(tmp_path: Path) -> None:
    done = _bench(tmp_path, "mine:Broken")
    assert done.returncode == 1
    assert "KeyError: 0" in done.stderr
    assert "with torch's loader it ended with exit code 1" in done.stderr
    for wrong in (["mine:number"], ["mine:nothing"], ["mine:shuffled", "--batches", "0"]):
        assert _bench(tmp_path, *wrong).returncode != 0
