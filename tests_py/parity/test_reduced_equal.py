"""Sums, means, deviations and extremes of rows: numpy's and torch's, to the bit, whatever the shape and the layout."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch
from test_windows_equal import COUNT, Data, check

import goloader


def pc_normalize(pc: Any) -> Any:
    centroid = np.mean(pc, axis=0)
    pc = pc - centroid
    m = np.max(np.sqrt(np.sum(pc**2, axis=1)))
    return pc / m


class Points(Data):
    """PointNet's."""

    def __getitem__(self, index: int) -> Any:
        return pc_normalize(self.stack[index][:, 0:3]), self.labels[index]


class Drawn(Data):
    """The same of points that are drawn."""

    def __getitem__(self, index: int) -> Any:
        points = self.stack[index][np.random.choice(20, 15, replace=True), :]
        points = points - np.expand_dims(np.mean(points, axis=0), 0)
        dist = np.max(np.sqrt(np.sum(points**2, axis=1)), 0)
        return torch.from_numpy(points / dist)


class Standardised(Data):
    """Windows of a series by their own mean and deviation."""

    def __getitem__(self, index: int) -> Any:
        x = self.series[index : index + 24]
        mean, std = x.mean(axis=0, keepdims=True), x.std(axis=0, keepdims=True)
        return (x - mean) / (std + 1e-5), mean, (x - x.mean()) / x.std()


class Instances(Data):
    """RevIN's, of tensors."""

    def __getitem__(self, index: int) -> Any:
        x = self.tstack[index]
        x = (x - x.mean(dim=0, keepdim=True)) / (x.std(dim=0, unbiased=False, keepdim=True) + 1e-5)
        return x, (x - x.mean()) / x.std(), x.sum(-1)


class Scaled(Data):
    """From 0 to 1, and to a peak of 1."""

    def __getitem__(self, index: int) -> Any:
        x, t = self.flat[index], self.tstack[index]
        return (x - x.min()) / (x.max() - x.min()), x / np.abs(x).max(), t / t.abs().max(), t.amax(dim=1) - t.amin(1)


class Classes(Data):
    """Labels that are kept as columns."""

    def __getitem__(self, index: int) -> Any:
        scores, tensor = self.stack[index], self.tstack[index]
        values, places = tensor.max(dim=1)
        return scores[0].argmax(), np.argmin(scores, axis=1), torch.argmax(tensor[0]), tensor.argmax(1), values, places


class Lengths(Data):
    def __getitem__(self, index: int) -> Any:
        x = self.stack[index]
        return x / np.linalg.norm(x, axis=1, keepdims=True), np.linalg.norm(x, 2, -1)


class Counts(Data):
    """Integers and truths."""

    def __getitem__(self, index: int) -> Any:
        x, t = self.images[index], self.tstack[index]
        return x.sum() / 2, x.mean(), x.std(axis=1), (x > 100).sum(axis=0), (t > 0).sum(), x.max(0), x.mean(axis=(0, 1))


CLASSES = [Points, Drawn, Standardised, Instances, Scaled, Classes, Lengths, Counts]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("made", CLASSES)
def test_rows_are_reduced_as_by_their_library(made: Any, dtype: str) -> None:
    check(made(len(dtype), dtype))


@pytest.mark.parametrize("made", CLASSES)
def test_batches_are_gos(made: Any) -> None:
    loader = goloader.DataLoader(made(), batch_size=COUNT, num_workers=1)
    list(loader)
    assert [row for row in loader.explain().rows if row.stage == "so far" and row.where == "Go"], loader.explain()


class Reduced(Data):
    """One reduction of rows of any shape, dtype and layout."""

    def __init__(self, array: Any, code: str) -> None:
        self.count, self.x = 3, array
        names = {"np": np, "torch": torch, "__name__": __name__}
        exec(f"def get(self, index):\n    return {code}\n", names)
        type(self).__getitem__ = names["get"]  # type: ignore[attr-defined, assignment]


_EXTENTS = [1, 2, 3, 5, 7, 8, 9, 16, 17, 33, 40, 127, 128, 129, 300, 1100]


def _array(draw: random.Random, dtype: str, *, tensor: bool) -> Any:
    while True:
        shape = [3, *(draw.choice(_EXTENTS) for _ in range(draw.randrange(1, 4)))]
        if 1 < np.prod(shape[1:]) < 20_000:
            break
    noise = np.random.default_rng(draw.randrange(1 << 30))
    array = noise.normal(0, 3, shape).astype(dtype)
    array[noise.random(shape) < 0.02] = 0.0
    match draw.randrange(4):
        case 0:
            order = [0, *draw.sample(range(1, len(shape)), len(shape) - 1)]
            array = array.transpose(order)
        case 1:
            array = array[tuple(slice(draw.randrange(2) if extent > 3 else 0, None) for extent in shape)]
            array = array if len(array) == 3 else np.concatenate([array, array])[:3]
        case 2 if shape[-1] > 3:
            array = array[..., ::2]
    return torch.from_numpy(array) if tensor else array


def _code(draw: random.Random, dims: int, *, tensor: bool) -> str:
    name = draw.choice(["sum", "mean", "std", "var", "sum", "mean", "max", "argmax", "min"])
    axes = draw.sample(range(dims), draw.randrange(1, dims + 1))
    axis, keep = ("dim", "keepdim") if tensor else ("axis", "keepdims")
    one = str(axes[0] - draw.choice([0, dims]))
    several = one if (name in ("max", "min", "argmax") and tensor) or name == "argmax" else str(tuple(axes))
    said = draw.choice(["", one, f"{axis}={several}", f"{axis}={one}, {keep}=True"])
    if name in ("std", "var") and draw.random() < 0.5:
        said += (", " if said else "") + ("unbiased=False" if tensor else "ddof=1")
    of = draw.choice(["self.x[index]", "(self.x[index] * 2)", "(self.x[index] - self.x[index][:1])"])
    call = f"{of}.{name}({said})"
    if tensor and name in ("max", "min") and said:
        call += draw.choice(["[0]", "[1]"])
    return call if draw.random() < 0.7 else f"{of} - {call}" if "argmax" not in call and "[1]" not in call else call


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, 12))])
@pytest.mark.filterwarnings("ignore")
def test_any_shape_and_layout(part: int) -> None:
    draw, native, tried = random.Random(part), 0, 0
    while tried < 40:
        tensor = draw.random() < 0.5
        array = _array(draw, draw.choice(["float32", "float32", "float64"]), tensor=tensor)
        code = _code(draw, array.ndim - 1, tensor=tensor)
        dataset = Reduced(array, code)
        try:
            wanted = [dataset[n] for n in range(3)]
        except Exception:
            continue
        tried += 1
        loader = goloader.DataLoader(dataset, batch_size=3, num_workers=1)
        if not loader.explain().native:
            continue
        (batch,) = loader
        native += any(row.stage == "so far" and row.where == "Go" for row in loader.explain().rows)
        expected = torch.utils.data.default_collate(wanted)
        equal = torch.equal(batch.view(torch.uint8), expected.view(torch.uint8)) if batch.ndim else batch == expected
        assert batch.dtype == expected.dtype and batch.shape == expected.shape and equal, (
            code,
            array.dtype,
            array.shape,
            array.stride() if tensor else array.strides,
        )
    assert native > tried / 2
