"""Tar archives by index: what tarfile and webdataset's rules find, batches as torch's loader has them, damage named."""

from __future__ import annotations

import io
import os
import pickle
import random
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils import data
from torchvision import transforms as T

import goloader
from goloader.datasets import TarDataset, TarImages
from goloader.plan.paths import braces

FORMATS = (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)
Sample = tuple[str, dict[str, bytes]]


def encoded(seed: int, kind: str) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (20 + seed % 30, 25 + seed % 7, 3), np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, kind)
    return out.getvalue()


def samples(count: int, seed: int = 0) -> list[Sample]:
    chosen = random.Random(seed)
    made = []
    for number in range(count):
        suffix, kind = chosen.choice(
            [("jpg", "JPEG"), ("JPEG", "JPEG"), ("png", "PNG"), ("gif", "GIF"), ("webp", "WEBP")]
        )
        folder = chosen.choice(["", "a/", "long/" * 30, "ü中/"])
        parts = {suffix: encoded(seed * 1000 + number, kind), "cls": b" %d\n" % (number % 11), "seg.png": b"other"}
        names = list(parts)
        chosen.shuffle(names)
        made.append((f"{folder}{number:05}", {name: parts[name] for name in names}))
    return made


def write(path: Path, content: list[Sample], form: int = tarfile.GNU_FORMAT) -> Path:
    """An archive with folders and links between the files, as people's have."""
    with tarfile.open(path, "w", format=form) as archive:
        for number, (key, parts) in enumerate(content):
            if number % 3 == 0:
                link = tarfile.TarInfo(f"link{number}.jpg")
                link.type, link.linkname = tarfile.SYMTYPE, "elsewhere"
                archive.addfile(link)
            for suffix, body in parts.items():
                member = tarfile.TarInfo(f"{key}.{suffix}")
                member.size = len(body)
                archive.addfile(member, io.BytesIO(body))
    os.utime(path, (1e9, 1e9))  # an archive that was written just now may still be changing
    return path


@pytest.fixture
def shards(tmp_path: Path) -> list[Path]:
    return [write(tmp_path / f"set-{i:02}.tar", samples(17, i), FORMATS[i]) for i in range(3)]


def pattern(shards: list[Path]) -> str:
    return f"{shards[0].parent}/set-{{00..02}}.tar"


AUGMENT = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])


def epochs(loader: Any) -> list[Any]:
    return [batch for _ in range(2) for batch in loader]


def equal(one: Any, other: Any) -> bool:
    return len(one) == len(other) and all(
        torch.equal(x, y) for ours, theirs in zip(one, other, strict=True) for x, y in zip(ours, theirs, strict=True)
    )


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("kind", ["whole", "subset", "concat"])
def test_batches_are_those_of_torchs_loader(shards: list[Path], workers: int, kind: str) -> None:
    dataset: Any = TarImages(pattern(shards), AUGMENT)
    if kind == "subset":
        dataset = data.Subset(dataset, list(range(40, 3, -2)))
    if kind == "concat":
        dataset = data.ConcatDataset([TarImages(each, AUGMENT) for each in shards])
    found = []
    for made in (data.DataLoader, goloader.DataLoader):
        torch.manual_seed(3)
        loader = made(dataset, 7, shuffle=True, num_workers=workers)
        found.append((epochs(loader), torch.rand(1)))
    assert loader.explain().native
    assert equal(found[1][0], found[0][0]) and found[1][1] == found[0][1]


def test_samples_are_those_of_tarfile(shards: list[Path]) -> None:
    want = [each for i in range(3) for each in samples(17, i)]
    dataset = TarDataset(pattern(shards))
    assert len(dataset) == len(want)
    for number, (key, parts) in enumerate(want):
        got = dataset[number]
        assert (got.pop("__key__"), got.pop("__url__")) == (key, str(shards[number // 17]))
        assert got == {suffix.lower(): body for suffix, body in parts.items()}
    assert dataset[-1]["__key__"] == want[-1][0]
    with pytest.raises(IndexError):
        dataset[len(want)]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_transform_of_ones_own(shards: list[Path], workers: int) -> None:
    def decoded(sample: dict[str, Any]) -> Any:
        body = next(sample[suffix] for suffix in ("jpg", "jpeg", "png", "gif", "webp") if suffix in sample)
        return AUGMENT(Image.open(io.BytesIO(body)).convert("RGB")), int(sample["cls"])

    found = []
    for made in (data.DataLoader, goloader.DataLoader):
        torch.manual_seed(3)
        found.append(epochs(made(TarDataset(pattern(shards), decoded), 7, shuffle=True, num_workers=workers)))
    assert equal(*found)


def test_a_list_that_is_kept_counts_until_an_archive_changes(shards: list[Path]) -> None:
    want = list(TarImages(pattern(shards)).samples)
    index = Path(f"{shards[0]}.images.goloader")
    assert index.exists()
    content = shards[1].read_bytes()
    shards[1].write_bytes(b"x" * len(content))
    os.utime(shards[1], (1e9, 1e9))
    assert list(TarImages(pattern(shards)).samples) == want  # nobody has looked at the archives
    os.utime(shards[1], (1e9, 2e9))
    with pytest.raises(OSError, match=f"{shards[1]}.*byte"):
        TarImages(pattern(shards))
    shards[1].write_bytes(content)
    index.write_bytes(index.read_bytes()[:-3])
    with pytest.warns(UserWarning, match="damaged"):
        assert list(TarImages(pattern(shards)).samples) == want


def test_where_the_archives_are_cannot_be_written(
    shards: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOLOADER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(os, "access", lambda *_: False)
    want = list(TarImages(pattern(shards)).samples)
    assert list(TarImages(pattern(shards)).samples) == want
    assert len(list((tmp_path / "cache").iterdir())) == 1 and len(list(tmp_path.glob("*.goloader"))) == 0
    monkeypatch.setenv("GOLOADER_CACHE", str(shards[0] / "no folder"))
    assert list(TarImages(pattern(shards)).samples) == want


def test_a_dataset_travels_to_worker_processes(shards: list[Path]) -> None:
    dataset = TarImages(pattern(shards), AUGMENT)
    copy = pickle.loads(pickle.dumps(dataset))
    assert list(copy.samples) == list(dataset.samples)
    torch.manual_seed(0)
    ours = dataset[5]
    torch.manual_seed(0)
    assert torch.equal(copy[5][0], ours[0])


def test_an_archive_that_breaks_off_is_named(tmp_path: Path) -> None:
    content = samples(6)
    whole = write(tmp_path / "whole.tar", content).read_bytes()
    with tarfile.open(tmp_path / "whole.tar") as archive:
        everything = [member.offset_data + member.size for member in archive if member.isreg()]
    chosen, refused = random.Random(0), 0
    for size in chosen.sample(range(1, len(whole)), 60):
        cut = tmp_path / "cut.tar"
        cut.write_bytes(whole[:size])
        try:
            members = TarDataset(cut, index=False).members
        except OSError as error:
            assert str(cut) in str(error) and "byte" in str(error)
            refused += 1
        else:
            assert len(members) == sum(end <= size for end in everything)
    assert refused > 10


def test_an_archive_that_is_cut_later_is_named(shards: list[Path]) -> None:
    dataset = TarImages(pattern(shards), T.ToTensor())
    os.truncate(shards[2], 2000)
    for made in (data.DataLoader, goloader.DataLoader):
        with pytest.raises(OSError, match=f"{shards[2]} ends within"):
            list(made(dataset, 1))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([("a", {"cls": b"1"})], 'sample "a" has no .jpg'),
        ([("a", {"jpg": b"x"})], 'sample "a" has no .cls'),
        ([("a", {"jpg": b"x", "cls": b"cat"})], "holds no class number"),
        ([("a", {"jpg": b"x", "cls": b"1" * 40})], "holds no class number"),
        ([("a", {"jpg": b"x", "JPG": b"y", "cls": b"1"})], "two files .jpg, the second at byte"),
    ],
)
def test_samples_that_lack_something_are_named(tmp_path: Path, content: list[Sample], message: str) -> None:
    path = write(tmp_path / "set.tar", content)
    with pytest.raises(OSError, match=message) as raised:
        TarImages(path)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize("form", ["gnu", "posix"])
def test_sparse_files_are_refused(tmp_path: Path, form: str) -> None:
    if shutil.which("tar") is None:
        pytest.skip("no tar")
    with open(tmp_path / "a.jpg", "wb") as file:
        file.seek(1 << 20)
        file.write(b"end")
    subprocess.run(["tar", "-S", f"--format={form}", "-cf", "set.tar", "a.jpg"], cwd=tmp_path, check=True)
    with pytest.raises(OSError, match="sparse"):
        TarDataset(tmp_path / "set.tar")


def test_compressed_archives_and_no_archives_are_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "set.tar.gz", "w:gz"):
        pass
    with pytest.raises(OSError, match="compressed"):
        TarDataset(tmp_path / "set.tar.gz")
    with pytest.raises(FileNotFoundError, match=r"no such files: .*none"):
        TarDataset(tmp_path / "none*.tar")
    with pytest.raises(OSError, match=r"none\.tar"):
        TarDataset(tmp_path / "none.tar")


@pytest.mark.parametrize(
    "text",
    ["a{0..3}b", "{07..11}", "{3..1}", "{000..002}-{a,b}", "{a,bc,}x", "plain", "{0..1}{x,y}.tar", "{9..11}", "{1}"],
)
def test_braces_are_a_shells(text: str) -> None:
    said = subprocess.run(["bash", "-c", f"printf '%s\\n' {text}"], capture_output=True, text=True, check=True)
    assert list(braces(text)) == said.stdout.splitlines()
