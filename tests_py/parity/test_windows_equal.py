"""Random windows and rows of arrays, tensors, maps of files and lists of arrays are in Go what they are in Python: each
batch, each error, and where the generators stand behind it."""

# ruff: noqa: RET504, RUF005 - as people write

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import twins
from torch.utils.data import Dataset

import goloader

COUNT = 23


class Data(Dataset[Any]):
    """What the classes below take their samples of; `seed` says what is in it."""

    T = 16

    def __init__(self, seed: int = 0, dtype: str = "float32", count: int = COUNT) -> None:
        rng = np.random.default_rng(seed)
        make = lambda *shape: _numbers(rng, dtype, shape)  # noqa: E731
        self.count = count
        self.data = make(int(rng.integers(100, 1000)))
        self.tens = torch.from_numpy(make(int(rng.integers(100, 1000))).copy())
        self.series = make(int(rng.integers(60, 400)), 3)
        self.flat = make(count, int(rng.integers(20, 60)))
        self.stack = make(count, int(rng.integers(20, 60)), 4)
        self.tstack = torch.from_numpy(make(count, int(rng.integers(20, 60)), 4).copy())
        self.images = rng.integers(0, 255, (count, 7, 5)).astype(np.uint8)
        self.rows = [make(int(rng.integers(17, 90))) for _ in range(count)]
        self.trows = [torch.from_numpy(make(int(rng.integers(17, 90)), 3).copy()) for _ in range(count)]
        self.labels = [int(each) for each in rng.integers(0, 3, count)]
        self.labels[:3] = [0, 1, 2]
        self.labels[3:6] = [0, 1, 2]
        self.nplabels = np.array(self.labels)
        self.tlabels = torch.tensor(self.labels)
        self.by_label = {label: [n for n in range(count) if self.labels[n] == label] for label in range(3)}
        self.np_by_label = {label: np.array(where) for label, where in self.by_label.items()}

    def __len__(self) -> int:
        return self.count


def _numbers(rng: Any, dtype: str, shape: Any) -> Any:
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith("float"):
        return rng.normal(0, 1, shape).astype(dtype)
    low = 0 if dtype.startswith("u") else -100
    return rng.integers(low, 100, shape).astype(dtype)


class Tokens(Data):
    """A language model's, which ignores the index."""

    def __getitem__(self, index: int) -> Any:
        i = random.randint(0, len(self.data) - self.T - 1)
        x = torch.from_numpy(self.data[i : i + self.T].astype(np.int64))
        y = torch.from_numpy(self.data[i + 1 : i + 1 + self.T].astype(np.int64))
        return x, y


class TextSampler(Data):
    """A start that is a tensor."""

    def __getitem__(self, index: int) -> Any:
        rand_start = torch.randint(0, self.tens.size(0) - self.T - 1, (1,))
        full_seq = self.tens[rand_start : rand_start + self.T + 1].long()
        return full_seq


class Chunks(Data):
    def __getitem__(self, index: int) -> Any:
        start = torch.randint(0, self.tens.shape[0] - self.T, (1,)).item()
        chunk = self.tens[start : start + self.T + 1]
        return {"input_ids": chunk[:-1], "labels": chunk[1:]}


class Series(Data):
    def __getitem__(self, index: int) -> Any:
        s = np.random.randint(0, len(self.series) - self.T)
        window = self.series[s : s + self.T]
        return torch.from_numpy(window), torch.tensor(self.series[s + self.T, 0]), self.series[s + self.T]


class Rows(Data):
    def __getitem__(self, index: int) -> Any:
        row = self.rows[index]
        start = np.random.randint(0, row.shape[0] - self.T)
        return torch.from_numpy(row[start : start + self.T]), self.labels[index]


class TensorRows(Data):
    def __getitem__(self, index: int) -> Any:
        row = self.trows[index]
        start = random.randint(0, row.size(0) - self.T)
        return row[start : start + self.T].float().t(), self.nplabels[index]


class Stack(Data):
    def __getitem__(self, index: int) -> Any:
        row = self.stack[index]
        start = random.randrange(row.shape[0] - self.T)
        return row[start : start + self.T], row[start : start + self.T, 1]


class Flat(Data):
    def __getitem__(self, index: int) -> Any:
        start = np.random.randint(0, self.flat.shape[1] - self.T)
        return torch.from_numpy(self.flat[index, start : start + self.T]), self.tlabels[index]


class Transposed(Data):
    def __getitem__(self, index: int) -> Any:
        x = self.tstack[index].t()
        start = random.randint(0, x.shape[1] - self.T)
        return x[:, start : start + self.T], x[..., start : start + self.T][1:3]


class Partner(Data):
    def __getitem__(self, index: int) -> Any:
        j = random.randint(0, len(self) - 1)
        return self.images[index], self.images[j], self.labels[index] == self.labels[j]


class Siamese(Data):
    def __getitem__(self, index: int) -> Any:
        target = np.random.randint(0, 2)
        img1, label1 = self.images[index], self.nplabels[index].item()
        if target == 1:
            siamese_index = index
            while siamese_index == index:
                siamese_index = np.random.choice(self.np_by_label[label1])
        else:
            siamese_index = np.random.choice(self.np_by_label[(label1 + 1) % 3])
        img2 = self.images[siamese_index]
        return (img1, img2), target


class Triplet(Data):
    def __getitem__(self, index: int) -> Any:
        anchor, label = self.tstack[index], self.labels[index]
        positive = random.choice(self.by_label[label])
        negative = random.randint(0, len(self.tstack) - 1)
        while self.labels[negative] == label:
            negative = random.randint(0, len(self.tstack) - 1)
        return anchor, self.tstack[positive].float() * 2.0, self.tstack[negative]


class Chosen(Data):
    """An array that is drawn of a list, or a row by a place that is drawn in one branch or in another."""

    def __getitem__(self, index: int) -> Any:
        tensor = random.choice(self.trows)
        start = random.randint(0, len(tensor) - self.T)
        other = random.randint(0, 5) if random.random() < 0.5 else index
        return tensor[start : start + self.T], torch.as_tensor(self.flat[other])


class Branches(Data):
    def __getitem__(self, index: int) -> Any:
        row = self.rows[index]
        if len(row) > 40:
            start = random.randint(0, len(row) - self.T)
            row = row[start : start + self.T]
        else:
            row = row[: self.T]
        return torch.from_numpy(row)


class Cut(Data):
    """Cut at a random place if it is long, padded if it is short."""

    def __getitem__(self, index: int) -> Any:
        x = self.rows[index]
        if x.size < 60:
            x = np.pad(x, (0, 60 - x.size))
        else:
            start = random.randrange(0, x.size - 60 + 1)
            x = x[start : start + 60]
        return x, self.labels[index]


class Beside(Data):
    """Windows of which the index tells both ends, beside one that is drawn."""

    def __getitem__(self, index: int) -> Any:
        start = random.randint(0, 20)
        return self.series[start : start + 9], self.series[index + 6 : index + 18], self.data[index + 3 : 9 + index]


CLASSES = [
    Cut, Beside, Tokens, TextSampler, Chunks, Series, Rows, TensorRows, Stack, Flat, Transposed, Partner, Siamese,
    Triplet, Chosen, Branches,
]  # fmt: skip


def check(dataset: Any, *, native: bool = True, workers: tuple[int, ...] = (0, 1, 3), **options: Any) -> None:
    for count in workers:
        arguments = {"dataset": dataset, "batch_size": 4, "shuffle": True, "num_workers": count, **options}
        twins.check(twins.Program(lambda arguments=arguments: arguments, draw=True, seed=count), native=native)


@pytest.mark.parametrize("made", CLASSES)
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint16", "bool", "float16"])
def test_windows_and_rows(made: Any, dtype: str) -> None:
    native = dtype != "float16" or made in (Cut, Beside, Chunks, Rows, Flat, Partner, Siamese, Chosen, Branches)
    check(made(len(dtype), dtype), native=native)


class Forecast(Data):
    """What the index alone tells: windows with their places, columns put together, and one of several series."""

    def __getitem__(self, index: int) -> Any:
        begin, agent, at = index + 2, index % 4, index // 4
        places = np.arange(begin, begin + self.T), torch.arange(index * 2, index * 2 + 3)
        x, y = self.series[begin : begin + self.T], self.series[begin + 3 : begin + 3 + self.T]
        both = np.concatenate([x, y[:, :1], x], axis=1), np.stack((x, y), axis=-1)
        tensors = torch.from_numpy(x), torch.from_numpy(y)
        joined = torch.cat([tensors[0][:, 1:], tensors[1]], dim=-1), torch.stack(tensors, dim=1)
        of_agents = self.stack[at : at + 5, agent], self.tstack[at : at + 5, agent + 1, 1:3]
        return {"places": places, "all": (both, joined), "agents": of_agents, "x": x}


class Zipped(Forecast):
    def __getitem__(self, index: int) -> Any:
        x = self.series[index : index + self.T]
        return dict(zip(["x", "y"], [x, torch.from_numpy(x) + 1]))  # noqa: B905


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("made", [Forecast, Zipped])
def test_what_the_index_tells(made: Any, seed: int) -> None:
    check(made(seed, ("float32", "int64", "float64")[seed]), workers=(0, 2))


@pytest.mark.parametrize("made", CLASSES)
def test_batches_are_gos(made: Any) -> None:
    loader = goloader.DataLoader(made(), batch_size=COUNT, num_workers=1)
    list(loader)
    assert [row for row in loader.explain().rows if row.stage == "so far" and row.where == "Go"], loader.explain()


@pytest.mark.parametrize("dtype", ["uint16", "int32", "float32"])
def test_maps_of_files(tmp_path: Path, dtype: str) -> None:
    """Also where the dataset is longer than its array, and where it is not writable, of which torch warns."""
    for made, mode in ((Tokens, "r"), (Series, "r+"), (Series, "r")):
        dataset = made(count=150)
        for name in ("data", "series"):
            array = _numbers(np.random.default_rng(3), dtype, (40, 3) if name == "series" else (90,))
            array.tofile(tmp_path / name)
            setattr(dataset, name, np.memmap(tmp_path / name, dtype, mode, shape=array.shape))
        check(dataset, workers=(0, 3))


class Anywhere(Data):
    """Windows that are cut, or empty, or begin before their row: each batch with one fails, or has other shapes."""

    low, high = -3, 3

    def __getitem__(self, index: int) -> Any:
        start = random.randint(self.low, len(self.data) - self.T + self.high)
        return self.data[start : start + self.T]


@pytest.mark.parametrize("ends", [(-3, 0), (0, 3), (-40, 40), (0, 0)])
def test_windows_that_leave_their_array(ends: tuple[int, int]) -> None:
    dataset = Anywhere()
    dataset.low, dataset.high = ends
    check(dataset)
    check(dataset, batch_size=1)


@pytest.mark.parametrize("length", [0, 1, 17, 90, 1000])
@pytest.mark.parametrize("made", [Tokens, Chunks, Rows, Flat])
def test_windows_of_any_length(made: Any, length: int) -> None:
    """randint raises the same error, with the same batch, where there is no place for one."""
    dataset = made()
    dataset.T = length
    native = goloader.DataLoader(dataset, batch_size=4, num_workers=1).explain().native
    assert native == (length > 0)
    check(dataset, native=native, workers=(0, 2))


class Random(Data):
    """A row that may not be there, or be counted from behind."""

    low, high = -2, COUNT + 1

    def __getitem__(self, index: int) -> Any:
        j = random.randint(self.low, self.high)
        return self.flat[j], self.rows[j][: self.T]


def test_rows_that_are_not_there() -> None:
    check(Random(), batch_size=1)
    check(Random(), batch_size=3)


class Viewed(Data):
    """What torch does with a window that lies in several pieces it does here, or fails to do."""

    def __getitem__(self, index: int) -> Any:
        x = torch.from_numpy(self.stack[index].astype(np.float32)).t()
        start = random.randint(0, 3)
        return x[:, start : start + self.T].view(-1)


class Mean(Data):
    """By all of a row, which a window does not show."""

    def __getitem__(self, index: int) -> Any:
        row = self.stack[index]
        row = row - row.mean(axis=0)
        start = random.randint(0, 3)
        return row[start : start + self.T]


class Either(Data):
    def __getitem__(self, index: int) -> Any:
        row = self.flat[index]
        if random.random() < 0.5:
            row = row[::-1].copy()
        return torch.from_numpy(row)


class Together(Data):
    def __getitem__(self, index: int) -> Any:
        j = random.randint(0, len(self) - 1)
        return self.flat[index] * 0.5 + self.flat[j] * 0.5


class Padded(Data):
    def __getitem__(self, index: int) -> Any:
        row = torch.from_numpy(self.rows[index])
        if len(row) >= 50:
            start = random.randint(0, len(row) - 50)
            return row[start : start + 50]
        return F.pad(row, (0, 50 - len(row)))


class Backwards(Data):
    def __init__(self, seed: int = 0, dtype: str = "float32") -> None:
        super().__init__(seed, dtype)
        self.series = self.series[::-1]

    def __getitem__(self, index: int) -> Any:
        start = random.randint(0, 5)
        return self.series[start : start + self.T].copy()


class Scaled(Data):
    """Zeros are behind what goes by all of a row."""

    def __getitem__(self, index: int) -> Any:
        row = torch.from_numpy(self.rows[index])
        row = row / row.max()
        return F.pad(row, (0, 100 - len(row)))


class Before(Data):
    def __getitem__(self, index: int) -> Any:
        row = torch.from_numpy(self.rows[index])
        return F.pad(row, (100 - len(row), 0))


@pytest.mark.parametrize("made", [Viewed, Mean, Scaled, Before, Backwards])
def test_what_a_window_does_not_show_is_torchs(made: Any) -> None:
    dataset = made()
    native = goloader.DataLoader(dataset, batch_size=4, num_workers=1).explain().native
    assert not native
    check(dataset, native=native, workers=(0, 1))


class Uneven(Data):
    """Windows of series that differ in length, at places that were worked out before: arrays, tensors, in records."""

    def __init__(self, seed: int = 0, dtype: str = "float32") -> None:
        super().__init__(seed, dtype)
        self.h = 1 + seed % 3
        ends = self.T + self.h - 1
        self.places = [(k, t) for k, row in enumerate(self.rows) for t in range(0, len(row) - ends, 4)]
        self.tplaces = [(k, t) for k, row in enumerate(self.trows) for t in range(0, len(row) - self.T + 1, 5)]
        self.records = [{"x": row, "y": label} for row, label in zip(self.trows, self.labels, strict=True)]
        self.pairs = list(zip(self.rows, self.labels, strict=True))

    def __len__(self) -> int:
        return min(len(self.places), len(self.tplaces))

    def __getitem__(self, index: int) -> Any:
        k, t = self.places[index]
        row = self.rows[k]
        x, y = row[t : t + self.T], row[t + self.T : t + self.T + self.h]
        n, u = self.tplaces[index]
        record = self.records[n]
        other, _ = self.pairs[k]
        return torch.from_numpy(x), torch.tensor(y), record["x"][u : u + self.T], record["y"], other[t : t + self.T]


class OneOfTwo(Data):
    """By a label, a number of the data, and whether a list is empty."""

    def __init__(self, seed: int = 0, dtype: str = "float32") -> None:
        super().__init__(seed, dtype)
        self.scores = (np.random.default_rng(seed).random(self.count)).tolist()
        self.words = [[1] * (n % 3) for n in range(self.count)]

    def __getitem__(self, index: int) -> Any:
        x = torch.from_numpy(self.flat[index])
        if self.labels[index] == 1:
            x = x * 2
        elif self.scores[index] > 0.5:
            x = x + 1
        if len(self.words[index]) == 0:
            return x + x, 0
        return x, 1


class CropOrPad(Data):
    n = 50

    def __getitem__(self, index: int) -> Any:
        row, tensor = self.rows[index], self.trows[index]
        if len(row) > self.n:
            row = row[: self.n]
        elif len(row) < self.n:
            row = np.pad(row, (0, self.n - len(row)))
        if tensor.size(0) >= self.n:
            start = random.randint(0, tensor.size(0) - self.n)
            tensor = tensor[start : start + self.n]
        else:
            tensor = F.pad(tensor, (0, 0, 0, self.n - tensor.size(0)), value=3)
        return row, tensor, self.labels[index]


class Decisions(Data):
    """As decision transformers have it."""

    context_len = 40

    def __init__(self, seed: int = 0, dtype: str = "float32") -> None:
        super().__init__(seed, dtype)
        self.trajectories = [
            {"observations": row.numpy(), "returns_to_go": row[:, 0].clone().numpy()} for row in self.trows
        ]

    def __getitem__(self, idx: int) -> Any:
        traj = self.trajectories[idx]
        traj_len = traj["observations"].shape[0]
        if traj_len >= self.context_len:
            si = random.randint(0, traj_len - self.context_len)
            states = torch.from_numpy(traj["observations"][si : si + self.context_len])
            returns_to_go = torch.from_numpy(traj["returns_to_go"][si : si + self.context_len])
            timesteps = torch.arange(start=si, end=si + self.context_len, step=1)
            traj_mask = torch.ones(self.context_len, dtype=torch.long)
        else:
            padding_len = self.context_len - traj_len
            states = torch.from_numpy(traj["observations"])
            states = torch.cat(
                [states, torch.zeros(([padding_len] + list(states.shape[1:])), dtype=states.dtype)], dim=0
            )
            returns_to_go = torch.from_numpy(traj["returns_to_go"])
            returns_to_go = torch.cat(
                [
                    returns_to_go,
                    torch.zeros(([padding_len] + list(returns_to_go.shape[1:])), dtype=returns_to_go.dtype),
                ],
                0,
            )
            timesteps = torch.arange(start=0, end=self.context_len, step=1)
            traj_mask = torch.cat(
                [torch.ones(traj_len, dtype=torch.long), torch.zeros(padding_len, dtype=torch.long)], dim=0
            )
        return timesteps, states, returns_to_go, traj_mask


class Masked(Data):
    """What is there of rows that are cut, or have others behind."""

    n = 45

    def __getitem__(self, index: int) -> Any:
        row = self.rows[index][: self.n]
        length = len(row)
        mask = [1] * length + [0] * (self.n - length)
        there = torch.arange(self.n) < len(row)
        x = np.zeros((self.n,), row.dtype)
        x[:length] = row[:length]
        tail = np.concatenate([row, np.full(self.n - len(row), 7, dtype=row.dtype)])
        return torch.tensor(mask), there, torch.from_numpy(x), tail, length


CHOOSING = [Uneven, OneOfTwo, CropOrPad, Decisions, Masked]


@pytest.mark.parametrize("made", CHOOSING)
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8"])
@pytest.mark.parametrize("seed", range(3))
def test_what_goes_by_lengths_and_labels(made: Any, dtype: str, seed: int) -> None:
    dataset = made(seed, dtype)
    check(dataset, workers=(0, 2))


@pytest.mark.parametrize("made", CHOOSING)
def test_these_batches_are_gos(made: Any) -> None:
    loader = goloader.DataLoader(made(7), batch_size=1, num_workers=1)
    list(loader)
    (row,) = [row for row in loader.explain().rows if row.stage == "so far"]
    assert row.where == "Go"
    assert f"{len(loader)} batches" in row.what, loader.explain()


@pytest.mark.parametrize("seed", range(12))
def test_crops_and_zeros_of_any_length(seed: int) -> None:
    """Of none, and of as many as there are; of arrays that lie in one another nothing is put behind."""
    draw = random.Random(seed)
    made = draw.choice([CropOrPad, Decisions, Masked])
    dataset = made(seed, draw.choice(["float32", "float64", "int16"]))
    made_of = dataset.rows
    for n in range(COUNT):
        made_of[n] = made_of[n][: draw.choice([0, 1, 2, 30, 90])] if draw.random() < 0.4 else made_of[n]
    if draw.random() < 0.3:
        whole = np.concatenate(made_of)
        dataset.rows = [whole[n : n + 20 + 3 * n] for n in range(COUNT)]
    dataset.n = dataset.context_len = draw.choice([1, 2, 20, 41, 60, 120])
    native = goloader.DataLoader(dataset, batch_size=4, num_workers=1).explain().native
    check(dataset, native=native, workers=(0, 2))


class Replaced(CropOrPad):
    """Another array in a list, while batches are made."""

    def __getitem__(self, index: int) -> Any:
        return self.rows[index][: self.T], F.pad(self.trows[index], (0, 0, 0, 100 - len(self.trows[index])))


def test_arrays_of_lists_that_are_replaced_in_an_epoch() -> None:
    def batches(kind: Any) -> Any:
        dataset = Replaced(3)
        made = []
        for _ in range(2):
            for n, batch in enumerate(kind(dataset, batch_size=3)):
                made.append(twins.bits(batch))
                if n == 2:
                    dataset.rows[15] = dataset.rows[2] * 2
                    dataset.trows[16] = dataset.trows[3].clone()
                if n == 5:
                    dataset.rows[20][:] = 4
        return made

    assert batches(goloader.DataLoader) == batches(torch.utils.data.DataLoader)


@pytest.mark.slow  # many seconds
def test_what_changes_between_epochs() -> None:
    """What is in arrays, another array, another length, and lists of arrays."""

    class Program:
        def __init__(self, made: Any) -> None:
            self.made, self.dataset = made, made()

        def __call__(self) -> dict[str, Any]:
            self.dataset = self.made()
            return {"dataset": self.dataset, "batch_size": 4, "num_workers": 1}

    for made in (Tokens, Series, Rows, TensorRows, Flat, Triplet):
        program = Program(made)

        def change(epoch: int, loader: Any, program: Any = program) -> None:
            dataset = program.dataset
            if epoch == 1:
                dataset.data[:] = dataset.data[::-1].copy()
                dataset.rows[3][:] = 5
                dataset.tstack[2] = 7
                dataset.flat[1:] += 1
            if epoch == 2:
                dataset.data, dataset.series = dataset.data[:70], dataset.series[10:50].copy()
                dataset.rows.reverse()
                dataset.flat = dataset.flat[:, :30]
                dataset.by_label = {label: where[:1] for label, where in dataset.by_label.items()}
            if epoch == 3:
                dataset.T = 11
                dataset.trows[2] = dataset.trows[1]
                dataset.tens = dataset.tens[:50]

        twins.check(twins.Program(program, epochs=5, before=change))


class Sources(Data):
    """Of a list of records one may be missing, by which samples differ."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.mix = [[f"{n}.wav", n] for n in range(self.count)]
        self.mix[5] = None  # type: ignore[call-overload]

    def __getitem__(self, index: int) -> Any:
        start = 0 if self.mix[index] is None else np.random.randint(0, 3)
        return self.flat[index][start : start + self.T]


def test_branches_on_records_of_a_list() -> None:
    dataset = Sources()
    explained = str(goloader.DataLoader(dataset, batch_size=4).explain())
    assert "TypeError" not in explained, explained
    check(dataset, native=goloader.DataLoader(dataset, batch_size=4).explain().native)


class Trajectories(Data):
    """In dicts of a list, and of lengths that differ."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.paths = [{"seen": row, "done": row[::-1].copy()} for row in self.rows]

    def __getitem__(self, index: int) -> Any:
        path = self.paths[index]
        length = path["seen"].shape[0]
        if length >= 2 * self.T:
            start = random.randint(0, length - self.T)
            return torch.from_numpy(path["seen"][start : start + self.T]), path["done"][start : start + self.T]
        return torch.from_numpy(path["seen"][: self.T]), path["done"][: self.T]


def test_windows_of_records() -> None:
    dataset = Trajectories()
    explained = goloader.DataLoader(dataset, batch_size=4).explain()
    assert not [row for row in explained.rows if row.stage == "loader"], explained
    check(dataset, native=explained.native)


class Arrays(Data):
    def __getitem__(self, index: int) -> Any:
        start = random.randint(0, 3)
        return self.data[start : start + self.T], self.nplabels[index], self.data[start]


def collate(batch: Any) -> Any:
    assert all(type(window) is np.ndarray for window, *_ in batch)
    return torch.from_numpy(np.stack([window for window, *_ in batch])), [type(label).__name__ for _, label, _ in batch]


@pytest.mark.parametrize("own", [collate, lambda batch: [len(batch), [type(each[0]).__name__ for each in batch]]])
def test_own_collate_fns_get_what_the_code_gives(own: Any) -> None:
    dataset = Arrays()
    native = goloader.DataLoader(dataset, batch_size=4, num_workers=1, collate_fn=own).explain().native
    check(dataset, native=native, workers=(1,), collate_fn=own)


def test_a_worker_init_fn_that_writes_into_arrays() -> None:
    """torch's workers have arrays of their own then."""
    dataset = Tokens()

    def begin(number: int) -> None:
        dataset.data[:] = number

    loader = goloader.DataLoader(dataset, batch_size=4, num_workers=2, worker_init_fn=begin)
    native = loader.explain().native
    check(dataset, native=native, workers=(2,), worker_init_fn=begin)
