"""TokenDataset: what torch's loader and ours make of it, and what is in it."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils import data
from torch.utils.data import ConcatDataset, Subset
from twins import Program, check, errors, loader_of

import goloader
from goloader import TokenDataset

DTYPES = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "int64"]


def tokens(length: int, dtype: str = "uint16", seed: int = 0) -> Any:
    info = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(info.min, info.max, length, dtype, endpoint=True)


def raw(path: Path, content: Any) -> Path:
    content.tofile(path)
    return path


@pytest.mark.parametrize("num_workers", [0, 1, 2])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(tmp_path: Path, dtype: str, num_workers: int) -> None:
    np.save(tmp_path / "a.npy", tokens(200, dtype))
    paths = [raw(tmp_path / "b.bin", tokens(130, dtype, 1)), tmp_path / "a.npy"]
    dataset = TokenDataset(paths, 16, dtype=dtype)
    check(Program(loader_of(dataset, batch_size=3, shuffle=True, num_workers=num_workers)))


def test_windows_are_those_of_the_file(tmp_path: Path) -> None:
    chance = random.Random(0)
    for number in range(60):
        sizes = [chance.randrange(0, 90) for _ in range(chance.randrange(1, 4))]
        block, stride = chance.randrange(1, 20), chance.randrange(1, 30)
        parts = [tokens(size, seed=number) for size in sizes]
        paths = [raw(tmp_path / f"{number}-{k}.bin", part) for k, part in enumerate(parts)]
        want = [
            (part[i : i + block], part[i + 1 : i + 1 + block])
            for part in parts
            for i in range(0, len(part) - block, stride)
        ]
        if not want:
            with pytest.raises(ValueError, match="no window of"):
                TokenDataset(paths, block, stride)
            continue
        dataset = TokenDataset(paths, block, stride)
        assert len(dataset) == len(want)
        for kind in data.DataLoader, goloader.DataLoader:
            got = [pair for x, y in kind(dataset, batch_size=5) for pair in zip(x, y, strict=True)]
            for (x, y), (a, b) in zip(got, want, strict=True):
                assert x.dtype == y.dtype == torch.int64
                assert x.tolist() == a.tolist() and y.tolist() == b.tolist()


@pytest.mark.parametrize("num_workers", [0, 2])
def test_indices_and_datasets_of_it(tmp_path: Path, num_workers: int) -> None:
    dataset = TokenDataset(raw(tmp_path / "a.bin", tokens(500)), 16, 7)
    check(Program(loader_of(dataset, batch_size=3, sampler=[3, -1, 3, -len(dataset), 0], num_workers=num_workers)))
    assert errors(check(Program(loader_of(dataset, batch_size=2, sampler=[0, len(dataset), 1]), epochs=1)))
    other = TokenDataset(raw(tmp_path / "b.bin", tokens(90, seed=1)), 16)
    both = ConcatDataset([dataset, Subset(other, [2, 0]), dataset])
    check(Program(loader_of(both, batch_size=4, shuffle=True, num_workers=num_workers)))


@pytest.mark.slow
def test_a_file_that_was_cut_is_named_with_the_place(tmp_path: Path) -> None:
    path = raw(tmp_path / "a.bin", tokens(4000))
    dataset = TokenDataset(path, 100)
    for num_workers in 0, 2:
        for kind in data.DataLoader, goloader.DataLoader:
            raw(path, tokens(4000))
            loader: Any = kind(dataset, batch_size=1, num_workers=num_workers)
            iterator = iter(loader)
            next(iterator)
            raw(path, tokens(100))
            with pytest.raises(OSError, match=r"a\.bin.* bytes at byte \d+ wanted"):
                list(iterator)


def test_documents(tmp_path: Path) -> None:
    eos, size = 7, 8
    path = raw(tmp_path / "a.bin", np.array([1, 2, 7, 3, 7, 7, 4, 5, 6, 7, 7, 1, 2, 3, 4, 5, 6], np.uint16))
    dataset = TokenDataset(path, size, eos=eos)
    x, y, positions, cu_seqlens = dataset[0]
    assert x.tolist() == [1, 2, 7, 3, 7, 7, 4, 5] and y.tolist() == [2, 7, 3, 7, 7, 4, 5, 6]
    assert positions.tolist() == [0, 1, 2, 0, 1, 0, 0, 1] and positions.dtype == torch.int64
    assert cu_seqlens.tolist() == [0, 3, 5, 6, 8, 8, 8, 8, 8] and cu_seqlens.dtype == torch.int32
    assert dataset[1][3].tolist() == [0, 2, 3, 8, 8, 8, 8, 8, 8]
    for num_workers in 0, 2:
        check(Program(loader_of(dataset, batch_size=2, num_workers=num_workers)))
    everywhere = TokenDataset(raw(tmp_path / "b.bin", np.full(9, eos, np.uint16)), size, eos=eos)
    assert everywhere[0][2].tolist() == [0] * 8 and everywhere[0][3].tolist() == list(range(9))


def test_it_pickles_as_its_paths(tmp_path: Path) -> None:
    dataset = TokenDataset(raw(tmp_path / "a.bin", tokens(100_000)), 50)
    pickled = pickle.dumps(dataset)
    assert len(pickled) < 2000
    again = pickle.loads(pickled)
    assert len(again) == len(dataset) and all(torch.equal(a, b) for a, b in zip(again[3], dataset[3], strict=True))


def test_a_subclass_stays_with_torch(tmp_path: Path) -> None:
    class Masked(TokenDataset):
        def __getitem__(self, index: int) -> Any:
            x, y = super().__getitem__(index)
            return x, torch.where(y == 3, -100, y)

    dataset = Masked(raw(tmp_path / "a.bin", tokens(300)), 16)
    check(Program(loader_of(dataset, batch_size=2), epochs=1), native=False)


def test_a_change_of_it_is_seen(tmp_path: Path) -> None:
    dataset = TokenDataset(raw(tmp_path / "a.bin", tokens(300)), 16)
    loader: Any = goloader.DataLoader(dataset, batch_size=2)
    first = [x.tolist() for x, _ in loader]
    vars(dataset).update(vars(TokenDataset(raw(tmp_path / "b.bin", tokens(300, seed=1)), 16)))
    assert [x.tolist() for x, _ in loader] == [x.tolist() for x, _ in data.DataLoader(dataset, batch_size=2)] != first


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda root: TokenDataset(root / "a.bin", 0), "block_size should be a positive"),
        (lambda root: TokenDataset(root / "a.bin", 4, 0), "stride should be a positive"),
        (lambda root: TokenDataset(root / "a.bin", 51), r"no window of 51 \+ 1 tokens in .*a\.bin"),
        (lambda root: TokenDataset([], 50), "no files"),
        (lambda root: TokenDataset(root / "a.bin", 4, dtype="uint32"), r"a\.bin: 102 bytes are not tokens of uint32"),
        (lambda root: TokenDataset(root / "a.bin", 4, dtype="float32"), "102 bytes are not tokens"),
        (lambda root: TokenDataset(root / "a.bin", 4, dtype="float16"), "tokens of float16, not one of"),
        (lambda root: TokenDataset(root / "a.bin", 4, dtype=">u2"), "byte order"),
        (lambda root: TokenDataset(root / "two.npy", 4), r"two\.npy: an array of shape \(3, 4\)"),
        (lambda root: TokenDataset(root / "one.npy", 4, dtype="uint16"), "tokens of int32, not of uint16"),
        (lambda root: TokenDataset(root / "cut.npy", 4), r"cut\.npy: "),
        (lambda root: TokenDataset(root / "objects.npy", 4), "pickles are not read"),
    ],
)
def test_what_is_not_tokens_is_refused(tmp_path: Path, make: Any, why: str) -> None:
    raw(tmp_path / "a.bin", tokens(51))
    np.save(tmp_path / "two.npy", np.zeros((3, 4), np.int32))
    np.save(tmp_path / "one.npy", np.zeros(30, np.int32))
    np.save(tmp_path / "objects.npy", np.array([None] * 30))
    (tmp_path / "cut.npy").write_bytes((tmp_path / "one.npy").read_bytes()[:-4])
    with pytest.raises(ValueError, match=why):
        make(tmp_path)
    with pytest.raises(FileNotFoundError, match="missing"):
        TokenDataset(tmp_path / "missing", 4)
