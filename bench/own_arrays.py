"""Cases of against_torch.py: own Dataset classes over arrays, tables and series, which are compiled."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from bench.cases import case, mapped_textures, textures

array_case = functools.partial(case, group="Own Dataset classes over arrays", batch_size=64)


class Windows(Dataset[Any]):
    """nanoGPT's batches in a class."""

    def __init__(self, file: Path, block_size: int) -> None:
        self.data = np.memmap(file, np.uint16, "r")
        self.block_size = block_size

    def __len__(self) -> int:
        return (len(self.data) - 1) // self.block_size

    def __getitem__(self, index: int) -> Any:
        i = index * self.block_size
        x = torch.from_numpy(self.data[i : i + self.block_size].astype(np.int64))
        y = torch.from_numpy(self.data[i + 1 : i + 1 + self.block_size].astype(np.int64))
        return dict(input_ids=x, labels=y)  # noqa: C408 - as people write it


class Textured(Dataset[Any]):
    """A mapped array, tokens, and which sample it is."""

    def __init__(self, x: Any, tokens: Any) -> None:
        self.x, self.tokens = x, tokens

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, idx: int) -> Any:
        if torch.is_tensor(idx):
            idx = idx.tolist()
        return {"x": self.x[idx], "tokens": self.tokens[idx], "idx": idx}


class Table(Dataset[Any]):
    """Columns that are normalised, and a class."""

    def __init__(self) -> None:
        noise = np.random.default_rng(0)
        self.x, self.y = noise.normal(3, 2, (100_000, 64)), noise.integers(0, 10, 100_000)
        self.mean, self.std = self.x.mean(0), self.x.std(0)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, i: int) -> Any:
        x = (self.x[i] - self.mean) / self.std
        return torch.tensor(x, dtype=torch.float32), torch.tensor(self.y[i]).long()


class Series(Dataset[Any]):
    """Informer's windows: what was, what is to be told, and the marks of time of both."""

    def __init__(self, seq_len: int = 96, label_len: int = 48, pred_len: int = 24) -> None:
        noise = np.random.default_rng(0)
        self.data_x = noise.normal(size=(20_000, 7))
        self.data_y = self.data_x
        self.data_stamp = noise.normal(size=(20_000, 4))
        self.seq_len, self.label_len, self.pred_len = seq_len, label_len, pred_len

    def __len__(self) -> int:
        return len(self.data_x) - self.seq_len - self.pred_len + 1

    def __getitem__(self, index: int) -> Any:
        s_begin = index
        s_end = s_begin + self.seq_len
        r_begin = s_end - self.label_len
        r_end = r_begin + self.label_len + self.pred_len
        seq_x = self.data_x[s_begin:s_end]
        seq_y = self.data_y[r_begin:r_end]
        return seq_x, seq_y, self.data_stamp[s_begin:s_end], self.data_stamp[r_begin:r_end]


@array_case("windows of 1024 of a mapped file of uint16, as int64", target=4)
def own_windows(scratch: Path) -> Dataset[Any]:
    path = scratch / "tokens.bin"
    np.random.default_rng(0).integers(0, 50_000, 20_000_000, np.uint16).tofile(path)
    return Windows(path, 1024)


@array_case("a dict of a mapped row, tokens and the index", target=4, lowered=textures)
def own_dict(scratch: Path) -> Dataset[Any]:
    return Textured(*mapped_textures(scratch))


@array_case("a table, normalised and cast", target=8)
def own_table(scratch: Path) -> Dataset[Any]:
    return Table()


@array_case("windows of a series, and their marks of time", target=8)
def own_series(scratch: Path) -> Dataset[Any]:
    return Series()
