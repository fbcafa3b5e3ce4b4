"""Cases of against_torch.py: own Dataset classes over arrays, tables and series, which are compiled."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch.utils.data import Dataset

from bench.cases import case, mapped_textures, textures
from goloader import ArrayDataset

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


class Listed(Dataset[Any]):
    """A list of files, one for each sample."""

    def __init__(self, folder: Path, count: int, suffix: str) -> None:
        self.paths = [str(folder / f"{number}{suffix}") for number in range(count)]

    def __len__(self) -> int:
        return len(self.paths)


class Clouds(Listed):
    """Points of shapes in text files, as PointNet's descendants have them."""

    def __getitem__(self, index: int) -> Any:
        points = np.loadtxt(self.paths[index], delimiter=",").astype(np.float32)
        return points[0:1024, 0:3], index % 40


class Features(Dataset[Any]):
    """What another network made of each sample."""

    def __init__(self, folder: Path, count: int) -> None:
        self.folder, self.count = folder, count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        return torch.load(f"{self.folder}/{index}.pt", weights_only=True), index % 10


class Archived(Listed):
    """An .npz file for each sample, with an image and a label."""

    def __getitem__(self, index: int) -> Any:
        data = np.load(self.paths[index])
        return torch.from_numpy(data["image"].astype(np.float32)), torch.tensor(data["label"])


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


class FileOfH5(Dataset[Any]):
    """Rows of an HDF5 file that is opened when the first of them is needed, as worker processes want it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file: Any = None
        with h5py.File(path, "r") as file:
            self.length = len(file["images"])

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        if self.file is None:
            self.file = h5py.File(self.path, "r")
        image = torch.from_numpy(self.file["images"][index]).permute(2, 0, 1).float() / 255
        return image, torch.tensor(self.file["labels"][index], dtype=torch.long)


class Pandas(Dataset[Any]):
    """Rows of a Parquet table that pandas has read."""

    def __init__(self, path: Path) -> None:
        self.df = pd.read_parquet(path)

    def __len__(self) -> int:
        return len(self.df)

    def __getitem__(self, index: int) -> Any:
        row = self.df.iloc[index]
        return {"x": torch.from_numpy(row["x"].copy()), "label": torch.tensor(row["label"]), "text": row["text"]}


@array_case("windows of 1024 of a mapped file of uint16, as int64", target=4)
def own_windows(scratch: Path) -> Dataset[Any]:
    path = scratch / "tokens.bin"
    np.random.default_rng(0).integers(0, 50_000, 20_000_000, np.uint16).tofile(path)
    return Windows(path, 1024)


@array_case("text files by np.loadtxt: 2,048 points of 6 numbers, of which [1024, 3] are given", target=4)
def clouds_in_text(scratch: Path) -> Dataset[Any]:
    for number in range(256):
        points = np.random.default_rng(number).normal(size=(2048, 6))
        np.savetxt(scratch / f"{number}.txt", points, fmt="%.6f", delimiter=",")
    return Clouds(scratch, 256, ".txt")


@array_case("a file of torch.save's for each sample: float32 [197, 384]", target=4)
def features_in_files(scratch: Path) -> Dataset[Any]:
    for number in range(1024):
        torch.save(torch.randn(197, 384, generator=torch.Generator().manual_seed(number)), scratch / f"{number}.pt")
    return Features(scratch, 1024)


@array_case("a compressed .npz file for each sample: int16 [128, 128] as float32, and a label", target=2)
def slices_in_archives(scratch: Path) -> Dataset[Any]:
    for number in range(1024):
        image = np.random.default_rng(number).normal(0, 100, (128, 128)).astype(np.int16)
        np.savez_compressed(scratch / f"{number}.npz", image=image, label=number % 2)
    return Archived(scratch, 1024, ".npz")


@array_case("a dict of a mapped row, tokens and the index", target=4, lowered=textures)
def own_dict(scratch: Path) -> Dataset[Any]:
    return Textured(*mapped_textures(scratch))


@array_case("rows of h5py's, opened in __getitem__: uint8 [32, 32, 3] in gzip, chunks of 8", target=3)
def own_h5py(scratch: Path) -> Dataset[Any]:
    noise = np.random.default_rng(0)
    with h5py.File(scratch / "photos.h5", "w") as file:
        images = noise.integers(0, 30, (8_000, 32, 32, 3), np.uint8)
        file.create_dataset("images", data=images, chunks=(8, 32, 32, 3), compression="gzip")
        file["labels"] = noise.integers(0, 10, len(images))
    return FileOfH5(scratch / "photos.h5")


def with_pandas(scratch: Path) -> Dataset[Any]:
    return Pandas(scratch / "table.parquet")


@array_case("a Parquet table of float32 [64], int64 and str; torch's has rows of pandas", target=3, theirs=with_pandas)
def parquet(scratch: Path) -> Dataset[Any]:
    noise = np.random.default_rng(0)
    x = pa.FixedSizeListArray.from_arrays(pa.array(noise.random(40_000 * 64, np.float32)), 64)
    table = pa.table({"x": x, "label": noise.integers(0, 10, len(x)), "text": [f"sample {n}" for n in range(len(x))]})
    pq.write_table(table, scratch / "table.parquet")
    return ArrayDataset(scratch / "table.parquet")


@array_case("a table, normalised and cast", target=8)
def own_table(scratch: Path) -> Dataset[Any]:
    return Table()


@array_case("windows of a series, and their marks of time", target=8)
def own_series(scratch: Path) -> Dataset[Any]:
    return Series()
