"""Classes of one's own over LMDB: batches and errors are torch's, and the core reads images where the file has them."""

from __future__ import annotations

import io
import os
import re
import shutil
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch
import torchvision.transforms as T
from PIL import Image
from torch.utils import data
from twins import Program, batches, check, errors, loader_of, run

import goloader

lmdb = pytest.importorskip("lmdb")

COUNT = 11

transform = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])


def photo(number: int, kind: str = "JPEG", side: int = 30) -> bytes:
    content = io.BytesIO()
    pixels = np.random.default_rng(number).integers(0, 256, (side, side + number % 5, 3), np.uint8)
    Image.fromarray(pixels).save(content, kind)
    return content.getvalue()


def put(path: Path, values: dict[bytes, bytes]) -> None:
    with lmdb.open(str(path), map_size=1 << 26) as env, env.begin(write=True) as txn:
        for key, value in values.items():
            txn.put(key, value)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Images of up to 8 pages each, or within one, with their labels."""
    images = {f"{n:08}".encode(): photo(n, "PNG" if n % 3 else "JPEG", 8 if n % 4 == 0 else 60) for n in range(COUNT)}
    labels = {f"label-{n}".encode(): str(n % 4).encode() for n in range(COUNT)}
    put(tmp_path / "set", images | labels | {b"length": str(COUNT).encode()})
    return tmp_path / "set"


class Base(data.Dataset[Any]):
    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.begin()

    def begin(self) -> None:
        self.env = lmdb.open(self.path, readonly=True, lock=False, readahead=False, meminit=False)
        with self.env.begin(write=False) as txn:
            self.length = int(txn.get(b"length").decode())
        self.keys = [f"{n:08}".encode() for n in range(self.length)]

    def __len__(self) -> int:
        return COUNT


class ByNumber(Base):
    def __getitem__(self, index: int) -> Any:
        with self.env.begin(write=False) as txn:
            content = txn.get(f"{index:08}".encode())
        return transform(Image.open(io.BytesIO(content)).convert("RGB")), index


class ByList(Base):
    """As torchvision's LSUN has it."""

    def __getitem__(self, index: int) -> Any:
        env = self.env
        with env.begin(write=False) as txn:
            content = txn.get(self.keys[index])
        buffer = io.BytesIO()
        buffer.write(content)
        buffer.seek(0)
        return transform(Image.open(buffer).convert("RGB"))


class Labelled(Base):
    """As recognisers of texts have it: the label is beside the image."""

    def __getitem__(self, index: int) -> Any:
        with self.env.begin(write=False) as txn:
            label = txn.get(f"label-{index}".encode()).decode("utf-8")
            image = Image.open(io.BytesIO(txn.get(str(index).zfill(8).encode("utf-8")))).convert("RGB")
        return transform(image), label, int(txn_label(self, index))


def txn_label(dataset: Base, index: int) -> bytes:
    with dataset.env.begin() as txn:
        found: bytes = txn.get(b"label-" + str(index).encode())
    return found


class Lazily(Base):
    def begin(self) -> None:
        self.env: Any = None

    def _open(self) -> None:
        self.env = lmdb.open(self.path, readonly=True, lock=False, max_readers=1)

    def __getitem__(self, index: int) -> Any:
        if self.env is None:
            self._open()
        with self.env.begin(write=False) as txn:
            image = Image.open(io.BytesIO(txn.get(f"{index:08}".encode()))).convert("RGB")
        return transform(image)


class KeptTransaction(Lazily):
    def _open(self) -> None:
        self.env = lmdb.open(self.path, readonly=True, lock=False)
        self.txn = self.env.begin()

    def __getitem__(self, index: int) -> Any:
        if self.env is None:
            self._open()
        return transform(Image.open(io.BytesIO(self.txn.get(f"{index:08}".encode()))).convert("RGB"))


class EachTime(Lazily):
    def __getitem__(self, index: int) -> Any:
        with lmdb.open(self.path, readonly=True, lock=False) as env, env.begin(write=False) as txn:
            image = Image.open(io.BytesIO(txn.get(f"{index:08}".encode()))).convert("RGB")
        return transform(image)


class ByOpenCV(Base):
    def __getitem__(self, index: int) -> Any:
        with self.env.begin(write=False) as txn:
            content = txn.get(f"{index:08}".encode())
        image = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
        image = cv2.resize(cv2.cvtColor(image, cv2.COLOR_BGR2RGB), (16, 16))
        return torch.from_numpy(image.transpose(2, 0, 1)).float() / 255


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("kind", [ByNumber, ByList, Labelled, EachTime, ByOpenCV])
def test_batches_are_torch_s(kind: type[Base], num_workers: int, path: Path) -> None:
    check(Program(loader_of(kind(path), batch_size=4, shuffle=True, num_workers=num_workers)))


@pytest.mark.parametrize("kind", [Lazily, KeptTransaction])
def test_what_workers_open_is_not_opened_by_this_process(kind: type[Base], path: Path) -> None:
    dataset = kind(path)
    check(Program(loader_of(dataset, batch_size=4, shuffle=True, num_workers=2)))
    assert dataset.env is None


def without_addresses(events: list[tuple[str, Any]]) -> list[tuple[str, str]]:
    return [(what, re.sub("0x[0-9a-f]+", "", str(told))) for what, told in events]


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("content", [None, b"", b"no image", photo(0)[:99]])
def test_a_value_that_is_missing_or_no_image_raises_the_code_s_own_error(
    content: bytes | None, num_workers: int, path: Path
) -> None:
    with lmdb.open(str(path), map_size=1 << 26) as env, env.begin(write=True) as txn:
        txn.delete(b"00000005") if content is None else txn.put(b"00000005", content)
    program = Program(loader_of(ByNumber(path), batch_size=2, num_workers=num_workers))
    seen = check_without_addresses(program)
    assert len(errors(seen)) == 2 and len(batches(seen)) == 10


def check_without_addresses(program: Program) -> list[tuple[str, Any]]:
    assert goloader.DataLoader(**program.arguments()).explain().native
    ours, theirs = run(goloader.DataLoader, program), run(data.DataLoader, program)
    assert without_addresses(ours) == without_addresses(theirs)
    return theirs


@pytest.mark.parametrize("num_workers", [0, 2])
def test_what_is_written_between_epochs_is_read(num_workers: int, path: Path) -> None:
    """In the first epoch one image, in the next another, of another size and place."""

    def write(epoch: int, loader: Any) -> None:
        put(path, {b"00000003": photo(70 + epoch, side=50 + epoch), b"%d" % epoch: b"x" * 9000})

    kind = EachTime if num_workers == 0 else Lazily
    program = Program(loader_of(kind(path), batch_size=4, num_workers=num_workers), epochs=3, before=write)
    seen = check(program)
    assert len({str(each) for each in batches(seen)[::3]}) == 3


def test_a_file_that_was_replaced_is_read_by_the_environment_that_has_the_old_one(path: Path, tmp_path: Path) -> None:
    dataset = ByNumber(path)
    put(tmp_path / "other", {f"{n:08}".encode(): photo(90 + n) for n in range(COUNT)})
    assert goloader.DataLoader(dataset).explain().native
    shutil.move(tmp_path / "other" / "data.mdb", path / "data.mdb")
    check(Program(loader_of(dataset, batch_size=4)), native=False)


def explained(dataset: Any) -> str:
    explanation = goloader.DataLoader(dataset, batch_size=4).explain()
    assert not explanation.native
    return str(explanation)


class Writable(ByNumber):
    def begin(self) -> None:
        self.env = lmdb.open(self.path, map_size=1 << 26)


class Buffers(Base):
    def __getitem__(self, index: int) -> Any:
        with self.env.begin(buffers=True) as txn:
            return transform(Image.open(io.BytesIO(txn.get(f"{index:08}".encode()))).convert("RGB"))


class Default(Base):
    def __getitem__(self, index: int) -> Any:
        with self.env.begin() as txn:
            return transform(Image.open(io.BytesIO(txn.get(b"none", self.keys[index]))).convert("RGB"))


class Afterwards(Base):
    def __getitem__(self, index: int) -> Any:
        with self.env.begin() as txn:
            pass
        return transform(Image.open(io.BytesIO(txn.get(self.keys[index]))).convert("RGB"))


class WrittenTwice(Base):
    def __getitem__(self, index: int) -> Any:
        with self.env.begin() as txn:
            content = txn.get(self.keys[index])
        buffer = io.BytesIO()
        buffer.write(content)
        buffer.write(b"more")
        return transform(Image.open(buffer).convert("RGB"))


class WrittenInABranch(Base):
    def __getitem__(self, index: int) -> Any:
        with self.env.begin() as txn:
            content = txn.get(self.keys[index])
        buffer = io.BytesIO()
        if torch.rand(1) < 2:
            buffer.write(content)
        return transform(Image.open(buffer).convert("RGB"))


@pytest.mark.parametrize("num_workers", [0, 1])
@pytest.mark.parametrize("kind", [Writable, Buffers, Default, Afterwards, WrittenTwice, WrittenInABranch])
def test_what_is_not_understood_stays_with_python(kind: type[Base], num_workers: int, path: Path) -> None:
    program = Program(loader_of(kind(path), batch_size=4, num_workers=num_workers))
    assert not goloader.DataLoader(**program.arguments()).explain().native
    ours, theirs = run(goloader.DataLoader, program), run(data.DataLoader, program)
    assert without_addresses(ours) == without_addresses(theirs)


def test_an_environment_that_is_closed_is_the_code_s_error(path: Path) -> None:
    dataset = ByNumber(path)
    dataset.env.close()
    assert "closed" in explained(dataset)


def test_a_file_that_is_cut_is_not_read(path: Path) -> None:
    dataset = Lazily(path)
    os.truncate(path / "data.mdb", 4096)
    explained(dataset)
