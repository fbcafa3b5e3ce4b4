"""Items at places that an array says: those that are drawn, an order that numpy.random.shuffle makes, and a list or an
array that is the same for all samples. In Go they are what they are in Python, and so are generators behind them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch
import twins
from test_windows_equal import COUNT, Data, check
from torch.utils import data

import goloader


def translate_pointcloud(pointcloud: Any) -> Any:
    xyz1 = np.random.uniform(low=2.0 / 3.0, high=3.0 / 2.0, size=[4])
    xyz2 = np.random.uniform(low=-0.2, high=0.2, size=[4])
    return np.add(np.multiply(pointcloud, xyz1), xyz2).astype("float32")


class Points(Data):
    """DGCNN's ModelNet40."""

    num_points, partition = 19, "train"

    def __getitem__(self, item: int) -> Any:
        pointcloud = self.stack[item][: self.num_points]
        label = self.labels[item]
        if self.partition == "train":
            pointcloud = translate_pointcloud(pointcloud)
            np.random.shuffle(pointcloud)
        return pointcloud, label


class Again(Data):
    """PointNet's, with the classes of the points."""

    def __getitem__(self, index: int) -> Any:
        points, seg = self.stack[index], self.stack[index, :, 0]
        choice = np.random.choice(len(seg), 30, replace=True)
        points = points[choice, :]
        return torch.from_numpy(points), torch.from_numpy(seg[choice].astype(np.int64)), self.labels[index]


class Once(Data):
    def __getitem__(self, index: int) -> Any:
        x = self.stack[index]
        return x[np.random.choice(x.shape[0], 7, False)], x[np.random.choice(a=20, size=9)] * 2


class Permuted(Data):
    def __getitem__(self, index: int) -> Any:
        x = self.stack[index]
        idx = np.random.permutation(x.shape[0])
        kept, left = x[idx[:5]], x[idx[5:]]
        return kept - kept[:1], left, idx[::2], self.flat[index][idx[:4]]


class Tensors(Data):
    def __getitem__(self, index: int) -> Any:
        x = self.tstack[index]
        idx = torch.randperm(x.shape[0])[:6]
        again = torch.randint(0, x.shape[0], (12,))
        return x[idx], x[again, :], x[torch.randint(-3, 3, size=(2,))], again, x[idx].sub(1).mul(torch.rand(4))


class Integers(Data):
    """Also arrays of them that are no places."""

    def __getitem__(self, index: int) -> Any:
        low = random.randrange(5)
        idx = np.random.randint(low, 20, size=6)
        return self.stack[index][idx], idx + 1, np.random.randint(7, size=(2, 3)), torch.randint(-9, 9, (4,)) * 2


class Known(Data):
    """Places that are the same for all samples."""

    def __getitem__(self, index: int) -> Any:
        x, t = self.stack[index], self.tstack[index]
        by_name = x[self.np_by_label[1]], t[self.by_label[0]]
        return by_name, t[:, [2, 0, 0]], x[[-1, 4]] + random.random(), t[torch.tensor([1, 3])]


class Masked(Data):
    """Every other row, by an array of bools."""

    def __getitem__(self, index: int) -> Any:
        keep = np.arange(20) % 2 == 0
        return self.stack[index][:20][keep], self.labels[index] + random.random()


class Order(Data):
    """Of an array that is made for the sample, but of the same numbers."""

    def __getitem__(self, index: int) -> Any:
        order = np.arange(self.stack.shape[1])
        np.random.shuffle(order)
        return self.stack[index][order], order[:3]


class Renamed(Data):
    """Whatever is the same array has the same order."""

    def _mixed(self, points: Any) -> Any:
        np.random.shuffle(points)
        return points

    def __getitem__(self, index: int) -> Any:
        x = y = self.stack[index].copy()
        self._mixed(x)
        z = self._mixed(self.flat[index] * 2)
        return x, y, z, z


class Twice(Data):
    def __getitem__(self, index: int) -> Any:
        x = self.stack[index] + 1
        np.random.shuffle(x)
        np.random.shuffle(x)
        return x + np.random.normal(0, 0.02, x.shape)


CLASSES = [Points, Again, Once, Permuted, Tensors, Integers, Known, Masked, Order, Renamed, Twice]


@pytest.mark.parametrize("made", CLASSES)
def test_places_are_those_of_torchs_workers(made: Any) -> None:
    for seed in range(2):
        check(made(seed))


@pytest.mark.parametrize("dtype", ["float64", "int64", "uint8", "int16", "bool", "float16"])
@pytest.mark.parametrize("made", CLASSES)
def test_of_other_types(made: Any, dtype: str) -> None:
    dataset = made(len(dtype), dtype)
    native = goloader.DataLoader(dataset, batch_size=4, num_workers=1).explain().native
    assert native or dtype in ("bool", "float16") or made is Again
    check(dataset, native=native, workers=(0, 1))


def test_batches_are_gos() -> None:
    for made in CLASSES:
        loader = goloader.DataLoader(made(), batch_size=COUNT, num_workers=1)
        list(loader)
        assert [row for row in loader.explain().rows if row.stage == "so far" and row.where == "Go"], made


class Given(Data):
    """It changes the dataset's own array: each sample and epoch has another order."""

    def __getitem__(self, index: int) -> Any:
        x = self.stack[index]
        np.random.shuffle(x)
        return x.copy()


class Unused(Data):
    """The same, and nothing comes of it here."""

    def __getitem__(self, index: int) -> Any:
        np.random.shuffle(self.nplabels)
        return self.flat[index]


class View(Data):
    def __getitem__(self, index: int) -> Any:
        x = self.stack[index] * 2
        first = x[0]
        np.random.shuffle(x)
        return first, x


class Before(Data):
    def __getitem__(self, index: int) -> Any:
        x = self.stack[index] * 2
        y = x + 1
        np.random.shuffle(x)
        return x, y


class Kept(Data):
    def __getitem__(self, index: int) -> Any:
        x = self.stack[index] * 2
        several = [x]
        np.random.shuffle(several[0])
        return several


class OneWay(Data):
    def __getitem__(self, index: int) -> Any:
        x = self.stack[index] * 2
        if random.random() < 0.5:
            np.random.shuffle(x)
        return x


class Ways(Data):
    """Rows that are drawn one way only."""

    def __getitem__(self, index: int) -> Any:
        x = self.stack[index]
        if random.random() < 0.5:
            return x[np.random.permutation(20)]
        return x[:20]


class Tensor(Data):
    """numpy puts a tensor in order by exchanging views of it."""

    def __getitem__(self, index: int) -> Any:
        x = self.tstack[index] * 2
        np.random.shuffle(x)
        return x


class Listed(Data):
    def __getitem__(self, index: int) -> Any:
        several = [1, 2, 3, 4]
        np.random.shuffle(several)
        return several, self.flat[index]


class Replaced(Data):
    """What was taken is new memory: changing it changes nothing else."""

    def __getitem__(self, index: int) -> Any:
        x = self.stack[index][np.random.permutation(20)]
        x *= 2
        return x


class Many(Data):
    """So many that torch's workers draw them sooner, side by side, than Go does one after the other."""

    def __getitem__(self, index: int) -> Any:
        return self.labels[index], np.random.permutation(3000)


class TooFar(Data):
    """Now and then there is no such place."""

    def __getitem__(self, index: int) -> Any:
        return self.stack[index][np.random.randint(0, self.stack.shape[1] + 1, size=3)]


class Empty(Data):
    """A range that is empty now and then."""

    def __getitem__(self, index: int) -> Any:
        return self.stack[index][np.random.randint(random.randrange(12), 11, size=3)]


@pytest.mark.parametrize(
    "made",
    [Given, Unused, View, Before, Kept, OneWay, Ways, Tensor, Listed, Replaced, Many, TooFar, Empty],
)
@pytest.mark.filterwarnings("ignore:you are shuffling")
def test_what_may_be_otherwise_is_torchs(made: Any) -> None:
    dataset = made()
    explained = goloader.DataLoader(dataset, batch_size=4, num_workers=1).explain()
    assert explained.native == (made in (Ways, Replaced, TooFar, Empty)), explained
    check(dataset, native=explained.native, workers=(0, 2) if made not in (Given, Unused) else (2,), batch_size=3)


class Numbered(Data):
    """Places that the user changes."""

    def __init__(self) -> None:
        super().__init__()
        self.order, self.columns, self.amount = np.array([3, 1, 0]), [0, 2], 5
        np.random.seed(0)

    def __getitem__(self, index: int) -> Any:
        x = self.stack[index]
        return x[self.order], x[:9][self.columns], x[np.random.permutation(20)[: self.amount]]


def _change(dataset: Any, number: int) -> None:
    if number < 10:
        dataset.order[0] = 7 - number
        dataset.columns.append(8)
    else:
        dataset.order, dataset.columns, dataset.amount = np.array([-1, number % 9]), [1], 11
        dataset.stack[2] += 1


@pytest.mark.parametrize("workers", [0, 2])
def test_places_that_change_are_seen(workers: int) -> None:
    ours, theirs = (
        list(twins.changed(kind, Numbered, _change, batch_size=5, num_workers=workers))
        for kind in (goloader.DataLoader, data.DataLoader)
    )
    assert ours == theirs
    assert goloader.DataLoader(Numbered()).explain().native


_PLACES = [
    "np.random.permutation({n})[:{k}]", "np.random.choice({n}, {k})", "np.random.choice({n}, {k}, replace=False)",
    "np.random.randint({n}, size={k})", "np.random.randint(-{k}, {n}, size=({k},))", "np.random.randint(0, {n}, {k})",
    "torch.randperm({n})[:{k}]", "torch.randint({n}, ({k},))", "torch.randint(-2, {n}, size=[{k}])", "[0, -1, {k}]",
    "np.arange({n})[::-1][:{k}]", "np.arange({k})",
]  # fmt: skip
_ROWS = [
    "self.stack[index]",
    "self.stack[index] * 2",
    "self.stack[index][:20]",
    "self.stack[index][:, 1:3]",
    "self.flat[index]",
]
_TENSORS = ["self.tstack[index]", "self.tstack[index] + torch.rand(4)", "self.tstack[index][:, 0]"]


def _written(draw: random.Random, number: int) -> str:
    lines, given = [], []
    for n in range(draw.randrange(1, 4)):
        of_torch = draw.random() < 0.4
        rows = draw.choice(_TENSORS if of_torch else _ROWS)
        places = draw.choice(_PLACES[6:10] if of_torch else [*_PLACES[:6], *_PLACES[9:]])
        lines += [f"x{n} = {rows}", f"at{n} = " + places.format(n=draw.randrange(12, 20), k=draw.randrange(1, 12))]
        if draw.random() < 0.3 and not of_torch:
            lines += [f"y{n} = x{n}[at{n}] + 1", f"np.random.shuffle(y{n})", f"x{n} = y{n}"]
        else:
            axes = "" if "flat" in rows or ", 0]" in rows or draw.random() < 0.6 else ", :"
            lines.append(f"x{n} = x{n}[at{n}{axes}]")
        if draw.random() < 0.3:
            lines.append(f"x{n} = x{n} * random.uniform(0.5, 2)")
        given.append(f"x{n}")
    body = "\n        ".join([*lines, f"return {', '.join(given)}, self.labels[index]"])
    return f"class Made{number}(Data):\n    def __getitem__(self, index):\n        {body}\n"


@pytest.mark.parametrize("part", range(24))
def test_random_code(part: int, tmp_path: Any) -> None:
    draw = random.Random(part)
    native = 0
    for number in range(4):
        text = _written(draw, number)
        path = tmp_path / f"written{number}.py"
        path.write_text(text)
        names: dict[str, Any] = {"Data": Data, "np": np, "torch": torch, "random": random, "__name__": "written"}
        exec(compile(text, str(path), "exec"), names)
        dataset = names[f"Made{number}"](part)
        explained = goloader.DataLoader(dataset, batch_size=4, num_workers=1).explain()
        native += explained.native
        check(dataset, native=explained.native, workers=(draw.choice((0, 2)),))
    assert native >= 2


class Alone(Data):
    def __getitem__(self, index: int) -> Any:
        x = self.stack[index] * 2
        np.random.shuffle(x)
        return torch.from_numpy(x), self.tstack[index][torch.randperm(12)]


def _changed(samples: list[Any]) -> Any:
    for sample in samples:
        for each in sample:
            each += 1
    return data.default_collate(samples)


def test_what_is_taken_has_memory_of_its_own() -> None:
    """A collate_fn that changes its samples changes nothing of the dataset."""
    dataset = Alone()
    before = dataset.stack.copy(), dataset.tstack.clone()
    check(dataset, native=False, collate_fn=_changed)
    assert np.array_equal(before[0], dataset.stack) and torch.equal(before[1], dataset.tstack)
