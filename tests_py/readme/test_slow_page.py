"""docs/slow.md: its examples and commands run, and its pictures and outputs are theirs: `GOLOADER_UPDATE=1 pytest
tests_py/readme/test_slow_page.py` writes them anew."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from torchvision.datasets import ImageFolder
from torchvision.transforms import Compose, RandomResizedCrop, ToTensor

from goloader import DataLoader
from tests_py.pages import REPOSITORY, part, require_part

pytestmark = pytest.mark.slow

_PAGE = "docs/slow.md"
# A program whose loader is slower than its steps.
_TRAIN = """
import time
from torchvision.datasets import ImageFolder
from torchvision.transforms import Compose, RandomResizedCrop, ToTensor
from goloader import DataLoader

def make_loader():
    transform = Compose([RandomResizedCrop(224), ToTensor()])
    return DataLoader(ImageFolder("photos", transform), batch_size=8, shuffle=True, num_workers=2)

if __name__ == "__main__":
    for images, labels in make_loader():
        time.sleep(0.01)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a program and its photos are; the working directory."""
    noise = np.random.default_rng(0)
    (tmp_path / "photos/cat").mkdir(parents=True)
    for number in range(1280):
        path = tmp_path / f"photos/cat/{number:04d}.jpg"
        if number >= 16:
            os.link(path.with_name(f"{number % 16:04d}.jpg"), path)
        else:
            Image.fromarray(noise.integers(0, 256, (300, 400, 3), np.uint8)).save(path, quality=90)
    (tmp_path / "train.py").write_text(_TRAIN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def blocks(language: str) -> list[str]:
    """The page's examples, but for those that other tests run."""
    text = (REPOSITORY / _PAGE).read_text()
    for name in "metrics", "doctor":
        text = text.replace(part(_PAGE, name), "")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_what_it_shows_in_python_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def train(*_: Any) -> None:
        time.sleep(0.01)

    names: dict[str, Any] = {
        "DataLoader": DataLoader, "ImageFolder": ImageFolder, "train": train, "logging": logging,
        "transform": Compose([RandomResizedCrop(224), ToTensor()]),
    }  # fmt: skip
    next(iter(DataLoader(ImageFolder("photos", names["transform"]))))  # the library is loaded once
    for example in blocks("python"):
        exec(compile(example, _PAGE, "exec"), names)
    said = capsys.readouterr().out.splitlines()
    assert re.match(r"\d+(\.\d+)? m?s, waited .* for data: ", said[0])
    if os.environ.get("GOLOADER_UPDATE"):
        require_part(_PAGE, "stats", "```text\n" + "\n".join(said) + "\n```\n")
    shown = part(_PAGE, "stats").splitlines()[1:-1]
    assert [line.split()[0] for line in said[1:]] == [line.split()[0] for line in shown[1:]]
    assert said[1].split() == shown[1].split()
    assert said[-1].startswith("slowest: photos/cat/")
    spans = [each["name"] for each in json.loads((folder / "trace.json").read_text())["traceEvents"]]
    assert {"next()", "step", "read", "decode", "op"} <= set(spans)
    _picture(folder / "chart.png", "slow_chart.png")


@pytest.mark.parametrize("which", ["bench", "profile"])  # tune's is that of tests_py/cli/test_tune.py
def test_its_commands_run(which: str, folder: Path) -> None:
    commands = [line.partition("#")[0].split() for block in blocks("bash") for line in block.splitlines()]
    assert sorted(command[3] for command in commands) == ["bench", "profile", "tune"]
    (command,) = (command for command in commands if command[3] == which)
    quick = ["--rounds", "1", "--batches", "8"] if which == "bench" else []
    done = subprocess.run([sys.executable, *command[1:], *quick], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout, done.stderr)
    if which == "profile":
        assert {path.suffix for path in (folder / "traces").iterdir()} == {".json", ".png"}


def _picture(made: Path, name: str) -> None:
    """Asserts that a command has made a picture like the page's; with GOLOADER_UPDATE=1 puts it there."""
    shown = REPOSITORY / "docs" / name
    if os.environ.get("GOLOADER_UPDATE"):
        shutil.copy(made, shown)
    with Image.open(made) as one, Image.open(shown) as other:
        assert one.size == other.size
    assert f"({name})" in (REPOSITORY / _PAGE).read_text()
