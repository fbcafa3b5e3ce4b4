"""python -m goloader explain: where each stage and each line runs, and what to change."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests_py import fresh

_MODULE = """
import numpy as np, torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, Subset
from torchvision import transforms as T


class Windows(Dataset):
    def __init__(self):
        self.tokens = np.arange(1000, dtype=np.uint16)

    def __len__(self):
        return 30

    def start(self, i):
        return i * 16

    def __getitem__(self, i):
        at = self.start(i)
        return torch.from_numpy(self.tokens[at : at + 16].astype(np.int64))


class Spectrum(Windows):
    def __getitem__(self, i):
        x = super().__getitem__(i)
        return torch.fft.fft(x)


class Photos(Dataset):
    def __init__(self):
        for k in range(40):
            noise = np.random.default_rng(k).integers(0, 255, (200, 300, 3), np.uint8)
            Image.fromarray(noise).save(f"{k}.jpg")
        self.transform = T.Compose([T.RandomResizedCrop(64), T.ToTensor()])

    def __len__(self):
        return 40

    def __getitem__(self, i):
        image = Image.open(f"{i}.jpg").convert("RGB")
        if torch.rand(1) < 0.5:
            image = image.rotate(90)
        dark = np.array(image).mean() < 10
        return self.transform(image), dark


def loader():
    return DataLoader(Subset(Windows(), range(10)), batch_size=4)


made, number = loader(), 3
"""


def _explain(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "mine.py").write_text(_MODULE)
    return fresh.command("explain", *arguments, cwd=folder)


def _note(out: str, source: str) -> str:
    """What stands beside a line of the source."""
    (line,) = [each for each in out.splitlines() if source in each and "def " not in each]
    return line.partition(source)[2].strip()


@pytest.mark.slow
@pytest.mark.parametrize("target", ["mine:Windows", "mine.py:Windows", "mine:loader", "mine:made"])
def test_each_line_of_a_compiled_class_says_what_it_was_read_as(tmp_path: Path, target: str) -> None:
    done = _explain(tmp_path, target)
    assert (done.returncode, done.stderr) == (0, "")
    assert _note(done.stdout, "return i * 16") == "Go: (index * 16)"
    taken = _note(done.stdout, "return torch.from_numpy(self.tokens[at : at + 16].astype(np.int64))")
    assert taken.startswith("Go: torch.from_numpy(self.tokens[") and "index * 16" in taken
    assert "compiled from its bytecode" in done.stdout
    assert "so far" in done.stdout


@pytest.mark.slow
def test_the_line_is_named_at_which_reading_stopped(tmp_path: Path) -> None:
    done = _explain(tmp_path, "mine:Spectrum", "--batches", "0")
    assert done.returncode == 0
    assert _note(done.stdout, "return torch.fft.fft(x)").startswith("Python: calls torch.fft.fft")
    assert _note(done.stdout, "x = super().__getitem__(i)") == ""
    assert "What helps: " in done.stdout.partition("CODE_UNREAD: ")[2]
    assert "so far" not in done.stdout


@pytest.mark.slow
def test_the_line_is_named_that_needs_pixels(tmp_path: Path) -> None:
    done = _explain(tmp_path, "mine:Photos", "--batches", "5")
    assert done.returncode == 0
    assert _note(done.stdout, "dark = np.array(image).mean() < 10") == "Python: ndarray.mean"
    assert _note(done.stdout, "image = image.rotate(90)") == ""
    assert "images in batch[0]" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["mine:absent"], "has no attribute 'absent'"),
        (["absent:loader"], "No module named 'absent'"),
        (["mine:number"], "gives a int, neither a DataLoader nor a dataset"),
        (["mine"], "is not MODULE:OBJECT"),
        (["mine:made", "--batches", "-1"], "--batches is below 0"),
    ],
)
def test_what_cannot_be_explained_is_exit_code_2(tmp_path: Path, arguments: list[str], told: str) -> None:
    done = _explain(tmp_path, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
