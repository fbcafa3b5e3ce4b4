"""python -m goloader pack and verify: what goes in comes out, whatever ends the command in between."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import photos
import pytest
import torch
import torchvision.transforms as T
from PIL import Image
from torchvision.datasets import ImageFolder

from goloader.cli import main
from goloader.datasets import TarDataset, TarImages

_MODULE = """
import os, time
import numpy as np, torch
from PIL import Image

class Mixed:
    def __len__(self):
        return 23
    def __getitem__(self, i):
        if i >= 23:
            raise IndexError(i)
        if i == 9:
            time.sleep(float(os.environ.get("SLOW", 0)))
        pixels = np.random.default_rng(i).integers(0, 255, (5, 7, 3), np.uint8)
        return {"__key__": "unused", "image": Image.fromarray(pixels), "jpg": b"bytes", "cls": i % 3,
                "tokens": torch.arange(i), "caption": f"number {i}", "boxes": [[i, 0.5]], "flag": i % 2 == 0}

class Pairs(Mixed):
    def __getitem__(self, i):
        return torch.full((2, 3), i), i

class Triples(Mixed):
    def __getitem__(self, i):
        return np.float32(i) * np.ones(2, np.float32), i, "text"

class Two(Mixed):
    def __getitem__(self, i):
        return torch.full((2,), i), torch.tensor(i % 3)

class Numbers(Mixed):
    def __getitem__(self, i):
        return [i, i % 3]

class Bytes(Mixed):
    def __getitem__(self, i):
        return b"%d" % i, i % 3

class Odd(Mixed):
    def __getitem__(self, i):
        return {"value": object()} if i == 5 else {"value": 1.5}

class Twice(Mixed):
    def __getitem__(self, i):
        return {"a": 1, "A": 2}

class Nothing(Mixed):
    def __getitem__(self, i):
        return {"__key__": str(i)}

class Paths(Mixed):
    def __getitem__(self, i):
        return {"../out": i}
"""


def pack(*arguments: Any) -> int:
    return main(["pack", *map(str, arguments)])


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(_MODULE)
    return path


@pytest.mark.parametrize("samples", [7, 24, 1000])
def test_a_folder_s_images_come_out_as_they_were(tmp_path: Path, samples: int) -> None:
    root, out = photos.fill(tmp_path / "in", photos.plain(24)), tmp_path / "out"
    assert pack(root, out, "--samples", samples) == 0
    transform = T.ToTensor()
    want, got = ImageFolder(root, transform), TarImages(out / "*.tar", transform, index=False)
    assert len(list(out.glob("*.tar"))) == -(-24 // samples)
    assert len(want) == len(got)
    for (image, target), (same, number) in zip(want, got, strict=True):
        assert torch.equal(image, same) and target == number
    assert main(["verify", str(out), "--decode"]) == 0
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=out, check=True, capture_output=True)


def test_samples_of_all_kinds(tmp_path: Path, module: Path) -> None:
    assert pack(f"{module}:Mixed", tmp_path / "out", "--samples", 10) == 0
    dataset = TarDataset(tmp_path / "out" / "*.tar", index=False)
    assert len(dataset) == 23
    for i, sample in enumerate(dataset):
        pixels = np.random.default_rng(i).integers(0, 255, (5, 7, 3), np.uint8)
        assert np.array_equal(Image.open(io.BytesIO(sample["image.png"])), pixels)
        assert (sample["jpg"], sample["cls"], sample["caption.txt"]) == (b"bytes", b"%d" % (i % 3), b"number %d" % i)
        assert np.array_equal(np.load(io.BytesIO(sample["tokens.npy"])), np.arange(i))
        assert json.loads(sample["boxes.json"]) == [[i, 0.5]] and json.loads(sample["flag.json"]) is (i % 2 == 0)
        assert len(sample) == 9  # with __key__ and __url__


@pytest.mark.parametrize(("kind", "names"), [("Pairs", {"npy", "cls"}), ("Triples", {"0.npy", "1.cls", "2.txt"})])
def test_samples_without_names(tmp_path: Path, module: Path, kind: str, names: set[str]) -> None:
    assert pack(f"{module}:{kind}", tmp_path / "out") == 0
    for i, sample in enumerate(TarDataset(tmp_path / "out" / "*.tar", index=False)):
        assert {*sample} - {"__key__", "__url__"} == names
        (label,) = (sample[name] for name in names if name.endswith("cls"))
        assert int(label) == i


@pytest.mark.parametrize(
    ("kind", "names"), [("Two", {"0.npy", "1.npy"}), ("Numbers", {"0.cls", "1.cls"}), ("Bytes", {"0", "1.cls"})]
)
def test_both_parts_of_a_pair_come_out(tmp_path: Path, module: Path, kind: str, names: set[str]) -> None:
    assert pack(f"{module}:{kind}", tmp_path / "out") == 0
    for i, sample in enumerate(TarDataset(tmp_path / "out" / "*.tar", index=False)):
        assert {*sample} - {"__key__", "__url__"} == names
        first, second = (sample[name] for name in sorted(names))
        if kind == "Two":
            assert np.load(io.BytesIO(first)).tolist() == [i, i] and np.load(io.BytesIO(second)) == i % 3
        else:
            assert (int(first), int(second)) == (i, i % 3)


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("Odd", "sample 5: 'value' is a object"),
        ("Paths", "'../out' cannot be part of a file's name"),
        ("Twice", "sample 0 has two files .a.cls"),
        ("Nothing", "sample 0 has nothing in it"),
    ],
)
def test_what_cannot_be_written_is_named(
    tmp_path: Path, module: Path, kind: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pack(f"{module}:{kind}", tmp_path / "out") == 1
    assert told in capsys.readouterr().err
    assert not list((tmp_path / "out").glob("*.tar"))


@pytest.mark.slow
def test_it_goes_on_where_it_was_killed(tmp_path: Path, module: Path) -> None:
    out, whole = tmp_path / "out", tmp_path / "whole"
    command = [sys.executable, "-m", "goloader", "pack", f"{module}:Mixed", str(out), "--samples", "4"]
    process = subprocess.Popen(command, env=os.environ | {"SLOW": "1000"}, stderr=subprocess.DEVNULL)
    while not (out / "SHA256SUMS").exists() and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    sums = (out / "SHA256SUMS").read_text()
    written = {path: path.stat().st_mtime_ns for path in out.glob("*.tar") if path.name in sums}
    assert written
    assert pack(f"{module}:Mixed", out, "--samples", 4) == pack(f"{module}:Mixed", whole, "--samples", 4) == 0
    assert all(path.stat().st_mtime_ns == at for path, at in written.items())
    assert {path.name: path.read_bytes() for path in out.iterdir() if path.suffix != ".part"} == {
        path.name: path.read_bytes() for path in whole.iterdir()
    }
    assert pack(f"{module}:Mixed", out, "--samples", 5) == 1


def test_damage_is_found(tmp_path: Path, module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    pack(f"{module}:Mixed", out, "--samples", 6)
    first, second, third, fourth = sorted(out.glob("*.tar"))
    first.write_bytes(first.read_bytes()[:-1] + b"x")
    second.unlink()
    fourth.rename(out / "other.tar")
    capsys.readouterr()
    assert main(["verify", str(out)]) == 1
    told = capsys.readouterr().out
    for path, why in (first, "checksum"), (second, "not there"), (fourth, "not there"), (out / "other.tar", "not in"):
        assert any(str(path) in line and why in line for line in told.splitlines()), (path, told)
    assert str(third) not in told


def test_an_image_that_does_not_decode_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root, out = photos.fill(tmp_path / "in", photos.plain(6)), tmp_path / "out"
    broken = sorted(root.rglob("*.jpg"))[2]
    broken.write_bytes(broken.read_bytes()[:200])
    assert pack(root, out) == 0
    assert main(["verify", str(out)]) == 0
    assert main(["verify", str(out), "--decode"]) == 1
    assert "000002.jpg" in capsys.readouterr().out
