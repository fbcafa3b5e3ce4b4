"""Classes that draw what they do to arrays, which are in memory or in a file for each sample: flips, crops and noise,
by numpy and torch. Batches, errors and where the generators stand behind them are torch's."""

from __future__ import annotations

import pickle
import random
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset
from twins import Program, check, compare, loader_of, run

import goloader

COUNT, SHAPE = 13, (2, 12, 15)
SPACE = {"np": np, "torch": torch, "random": random, "pickle": pickle}

# What gives x, an array of SHAPE.
OF_FILES = {
    "npy": "x = np.load(self.paths[i])",
    "npz": "x = np.load(self.paths[i])['x']",
    "torch": "x = torch.load(self.paths[i], weights_only=True).numpy()",
    "pickle": "with open(self.paths[i], 'rb') as file:\n        x = pickle.load(file)['x']",
}
SOURCES = OF_FILES | {"rows": "x = self.rows[i]", "tensor": "x = self.tensors[i].numpy()"}

FLIPPED = {
    "by a slice": "if random.random() < 0.5:\n        x = x[:, :, ::-1]\n    return torch.from_numpy(x.copy())",
    "twice": "if np.random.rand() > 0.5:\n        x = np.flip(x, 2)\n    if np.random.rand() > 0.5:\n"
    "        x = np.flip(x, 1)\n    return torch.from_numpy(np.ascontiguousarray(x)).float(), i",
    "copied": "if random.random() < 0.5:\n        x = np.fliplr(x).copy()\n    return x, self.labels[i]",
    "by torch": "x = torch.from_numpy(x.copy())\n    if torch.rand(1) < 0.5:\n        x = x.flip(1)\n    return x",
    "and scaled": "if random.random() < 0.5:\n        x = x[:, ::-1]\n    return (x * 2.0 - 1).astype(np.float32)",
}
NOISY = {
    "normal": "return x + np.random.normal(0, 0.1, x.shape[2]), i",
    "uniform": "return {'x': x * np.random.uniform(0.8, 1.2), 'y': self.labels[i]}",
    "of torch": "x = torch.from_numpy(x.copy())\n    return x + 0.1 * torch.randn(x.shape), x",
    "like it": "x = torch.from_numpy(x.astype(np.float32))\n    return x + torch.randn_like(x), torch.rand_like(x)",
    "masked": "x = x.copy()\n    s = np.random.randint(0, 9)\n    x[:, s : s + 3] = 0\n    return torch.from_numpy(x)",
}
CUT = {
    "columns": "s = random.randint(0, x.shape[2] - 7)\n    return x[:, :, s : s + 7], i",
    "rows": "s = np.random.randint(0, x.shape[1] - 5 + 1)\n    return torch.from_numpy(x[:, s : s + 5].copy())",
    "both ways": "a, b = random.randint(0, 5), np.random.randint(0, 9)\n    return x[:, a : a + 7, b : b + 6], i",
    "both ways, one after the other": "a, b = random.randint(0, 5), random.randint(0, 9)\n"
    "    x = x[:, a : a + 7]\n    return torch.from_numpy(x[..., b : b + 6].copy()) / 2",
    "all ways": "a, b, c = random.randint(0, 1), random.randint(0, 4), random.randint(0, 5)\n"
    "    return x[a : a + 1, b : b + 8, c : c + 10] * 1",
    "and flipped": "a, b = random.randint(0, 5), random.randint(0, 9)\n    x = x[:, a : a + 7, b : b + 6]\n"
    "    if random.random() < 0.5:\n        x = x[:, :, ::-1]\n    return np.ascontiguousarray(x)",
    "planes": "s = random.randint(0, 1)\n    return x[s : s + 1].astype(np.float32)",
}


class Data(Dataset[Any]):
    def __init__(self, root: Path, source: str = "rows", dtype: str = "float32") -> None:
        self.paths = [str(root / f"{n}.data") for n in range(COUNT)]
        pixels = np.random.default_rng(zlib.crc32(f"{source} {dtype}".encode()))
        self.rows = np.stack([(pixels.random(SHAPE) * 200).astype(dtype) for _ in range(COUNT)])
        self.tensors = torch.from_numpy(self.rows.copy())
        self.labels = [3 * n for n in range(COUNT)]
        for path, row in zip(self.paths, self.rows, strict=True):
            write(path, source, row)

    def __len__(self) -> int:
        return COUNT


def write(path: str, source: str, row: Any) -> None:
    with open(path, "wb") as file:
        if source == "npy":
            np.save(file, row)
        elif source == "npz":
            np.savez(file, x=row)
        elif source == "torch":
            torch.save(torch.from_numpy(row), file)
        elif source == "pickle":
            pickle.dump({"x": row}, file, protocol=4)


def class_of(source: str, body: str) -> type[Data]:
    space: dict[str, Any] = {**SPACE}
    exec(f"def __getitem__(self, i):\n    {SOURCES[source]}\n    {body}", space)
    return type("Written", (Data,), {"__getitem__": space["__getitem__"], "__module__": __name__})


BODIES = FLIPPED | NOISY | CUT


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", BODIES)
def test_parts_are_drawn_in_go(tmp_path: Path, source: str, name: str) -> None:
    number = zlib.crc32(f"{source} {name}".encode())
    dtype = ("float32", "float64", "uint8")[number % 3]
    dataset = class_of(source, BODIES[name])(tmp_path, source, dtype)
    arguments = {"batch_size": 1 + number // 3 % 4, "num_workers": (0, 1, 3)[number // 12 % 3], "shuffle": True}
    check(Program(loader_of(dataset, **arguments), seed=number))


@pytest.mark.parametrize("source", OF_FILES)
@pytest.mark.parametrize("damage", ["missing", "cut", "another shape", "another type"])
def test_damaged_files_are_the_codes_own_matter(tmp_path: Path, source: str, damage: str) -> None:
    for body in ("return x * random.random(), i", CUT["columns"]):
        made = class_of(source, body)(tmp_path, source)
        path = Path(made.paths[5])
        if damage == "missing":
            path.unlink()
        elif damage == "cut":
            path.write_bytes(path.read_bytes()[:-40])
        else:
            row = made.rows[5]
            write(str(path), source, row[:, :11] if damage == "another shape" else row.astype(np.float64))
        for workers in (0, 1):
            program = Program(loader_of(made, batch_size=2, num_workers=workers), epochs=2)
            compare(run(goloader.DataLoader, program), run(torch.utils.data.DataLoader, program))


@pytest.mark.parametrize("source", ["npy", "npz", "pickle"])
def test_files_that_differ_in_length_are_cut(tmp_path: Path, source: str) -> None:
    """Along the first axis: of others all items of a row would have to be read by themselves."""
    made = class_of(source, "s = random.randint(0, len(x) - 5)\n    return x[s : s + 5], i")(tmp_path, source)
    for n, path in enumerate(made.paths):
        write(path, source, np.random.default_rng(n).random((5 + 3 * n % 11, 4)))
    for workers in (0, 2):
        check(Program(loader_of(made, batch_size=3, shuffle=True, num_workers=workers)))


def test_files_that_change_are_read_anew(tmp_path: Path) -> None:
    def change(epoch: int, loader: Any) -> None:
        write(loader.dataset.paths[epoch], "npy", np.full(SHAPE, epoch, np.float32))

    made = class_of("npy", CUT["columns"])
    check(Program(lambda: {"dataset": made(tmp_path, "npy"), "batch_size": 4}, epochs=3, before=change))


def test_arrays_that_may_go_backwards_are_given_as_torch_does(tmp_path: Path) -> None:
    """torch takes no array that goes backwards."""
    for body in ("return x", "return torch.from_numpy(x)", "return torch.from_numpy(x).clone(), i"):
        made = class_of("rows", f"if random.random() < 0.5:\n        x = x[:, ::-1]\n    {body}")(tmp_path)
        program = Program(loader_of(made, batch_size=2), epochs=2)
        compare(run(goloader.DataLoader, program), run(torch.utils.data.DataLoader, program))
