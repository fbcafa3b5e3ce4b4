"""python -m goloader doctor: the machine, the self-check, and exit code 1 where a loader is not Go's."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import PIL
import pytest
import torch
from PIL import Image
from torch.utils import data

import goloader
from goloader.cli import main
from tests_py import fresh
from tests_py.pages import part, require_part

_MODULE = """
import torch
from torch.utils.data import DataLoader, TensorDataset

def rows():
    return DataLoader(TensorDataset(torch.zeros(100, 256)), batch_size=8, num_workers=1, prefetch_factor=3)

class Own:
    def __len__(self):
        return 10
    def __getitem__(self, index):
        return torch.fft.fft(torch.zeros(4))
"""

_PHOTOS = """
import time
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import ToTensor

class Slow:
    def __len__(self):
        return 40
    def __getitem__(self, index):
        time.sleep(0.005)
        return index

def photos():
    return DataLoader(Slow(), batch_size=4)

def folder():
    return DataLoader(ImageFolder("photos", ToTensor()), batch_size=4)
"""


def _doctor(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return fresh.command("doctor", *arguments, cwd=folder)


def _found(out: str) -> dict[str, dict[str, str]]:
    """The first table, by part."""
    found: dict[str, dict[str, str]] = {}
    for line in out.partition("\n\n")[0].splitlines()[1:]:
        name, what, value = re.split(r"\s{2,}", line, maxsplit=2)
        found.setdefault(name, {})[what] = value
    return found


def _kernels() -> str:
    """The kernels for what the system says of this processor."""
    if platform.machine() == "aarch64":
        return "neon"
    flags = set(re.findall(r"\S+", next(re.finditer("^flags.*", Path("/proc/cpuinfo").read_text(), re.M))[0]))
    if flags >= {"fma", "avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512vbmi", "avx512_vnni"}:
        return "avx512"
    return "avx2" if flags >= {"fma", "avx2"} else "plain"


def test_it_says_what_is_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    found = _found(capsys.readouterr().out)
    assert list(found) == ["machine", "version", "self-check"]
    assert found["machine"]["system"] == platform.platform()
    assert found["machine"]["cores"].startswith(f"{len(os.sched_getaffinity(0))} of {os.cpu_count()}")
    assert found["machine"]["CPU kernels"] == _kernels()
    assert {found["machine"][name].split()[1] for name in ("memory", "/dev/shm")} <= {"KiB", "MiB", "GiB"}
    for name, version in {"Pillow": PIL.__version__, "torch": torch.__version__, "numpy": np.__version__}.items():
        assert found["version"][name] == version
    for library, text in found["self-check"].items():
        known, of = map(int, re.findall(r"\d+", text))
        assert known == of > (5 if library in ("Pillow", "torch", "torchvision", "OpenCV") else 0)


def test_a_library_that_behaves_otherwise_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Image.Image.resize
    monkeypatch.setattr(Image.Image, "resize", lambda self, *args, **kw: original(self, *args, **kw).transpose(0))
    assert main(["doctor"]) == 0
    assert re.search(r"behaviours are known; not its .*resize", _found(capsys.readouterr().out)["self-check"]["Pillow"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "more", "status"),
    [
        ("mine:rows", ["--fail-on", "python"], 0),
        ("mine.py:Own", ["--fail-on", "python"], 1),
        ("mine:rows", [], 0),
        ("mine.py:Own", [], 0),
    ],
)
def test_exit_code_1_where_a_stage_runs_in_python(tmp_path: Path, target: str, more: list[str], status: int) -> None:
    (tmp_path / "mine.py").write_text(_MODULE)
    done = _doctor(tmp_path, target, *more)
    assert (done.returncode, done.stderr) == (status, ""), done
    assert ("CODE_UNREAD: " in done.stdout) is (target == "mine.py:Own")


@pytest.mark.slow
def test_json_is_the_same_report(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(_MODULE)
    done = _doctor(tmp_path, "mine:rows", "--json")
    report: dict[str, Any] = json.loads(done.stdout)
    explanation = goloader.DataLoader(data.TensorDataset(torch.zeros(100, 256)), 8, num_workers=1).explain()
    assert report.pop("loader")["rows"][: len(explanation)] == explanation.to_dict()["rows"]
    assert report.pop("reasons") == {}
    measured = {part: report[part] for part in ("machine", "speed")}
    assert report == _found(_doctor(tmp_path, "mine:rows").stdout) | measured
    assert report["memory"] == {
        "a batch": "8.0 KiB, the largest that was made",
        "batches": "40.0 KiB, for 5 at a time",
    }


@pytest.mark.slow
def test_speed_and_storage_are_measured(tmp_path: Path) -> None:
    (tmp_path / "photos" / "a").mkdir(parents=True)
    for number in range(40):
        Image.new("RGB", (16, 16), (number, 0, 0)).save(tmp_path / "photos" / "a" / f"{number}.jpg")
    (tmp_path / "with_photos.py").write_text(_PHOTOS)
    found = _found(_doctor(tmp_path, "with_photos.py:photos", "--seconds", "0.6").stdout)
    speed = re.fullmatch(
        r"(\d+) a second, an epoch in (\d+\.\d) s; the first batch after .* s", found["speed"]["samples"]
    )
    assert speed is not None
    # The dataset sleeps for 5 ms a sample, in this process.
    assert 0 < int(speed[1]) <= 200
    assert float(speed[2]) == pytest.approx(40 / int(speed[1]), rel=0.2, abs=0.06)
    storage = _found(_doctor(tmp_path, "with_photos.py:folder", "--seconds", "0.1").stdout)["storage"]
    assert re.fullmatch(r"\d+ MB/s: 40 files, .* ms each, one after the other", storage["reading"])
    kind, _, mounted = storage["file system"].partition(" on ")
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    assert [mounted.partition(",")[0], kind] in [each[1:3] for each in mounts]


@pytest.mark.parametrize(
    "arguments",
    [["--fail-on", "python"], ["m:x", "--fail-on", "go"], ["m:x", "--batches", "0"], ["m:x", "--seconds", "0"]],
)
def test_arguments_that_make_no_sense_are_exit_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["doctor", *arguments])
    assert left.value.code == 2
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_the_example_of_the_page_is_what_is_printed(tmp_path: Path) -> None:
    example = re.findall(r"```python\n(.*?)```", part("docs/slow.md", "doctor"), re.DOTALL)[0]
    (tmp_path / "train.py").write_text(f"import numpy, torch\n\n{example}")
    done = _doctor(tmp_path, "train.py:Spectra", "--fail-on", "python")
    assert (done.returncode, done.stderr) == (1, "")
    command = '$ python -m goloader doctor train.py:Spectra --fail-on python || echo "exit code $?"'
    said = f"{command}\n...\n\n{done.stdout.partition(chr(10) * 2)[2]}exit code 1\n"
    require_part("docs/slow.md", "doctor", f"```python\n{example}```\n\n```text\n{said}```\n")
