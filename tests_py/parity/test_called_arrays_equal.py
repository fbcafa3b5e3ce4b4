"""Samples of arrays that differ in shape, each of a .npy file, for a collate_fn that is called as it is: it gets what
torch gives it, and batches, errors and what is seen of changes are torch's."""

# ruff: noqa: B905 - as people write

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from mels import COUNT, Checked, Mels, Padded, lists, refuses
from torch.utils.data import ConcatDataset, Dataset, Subset
from twins import Program, batches, bits, check, errors, loader_of

import goloader
from goloader import _cores
from goloader.plan.datasets.reads import array_files

WORKERS = pytest.mark.parametrize("num_workers", [0, 1, 2])


def save(root: Path, shape: Callable[[int], tuple[int, ...]], dtype: Any = np.float32) -> Path:
    root.mkdir(exist_ok=True)
    for number in range(COUNT):
        noise = np.random.default_rng(number).integers(0, 100, shape(number))
        np.save(root / f"{number}.npy", noise.astype(dtype))
    return root


def frames(number: int) -> tuple[int, ...]:
    """The shape of a spectrogram."""
    return 4, 3 + number * 5 % 7


def as_they_are(batch: Any) -> Any:
    return batch


def changes(batch: Any) -> Any:
    for text, mel in batch:
        text += 1
        mel[0] = -1
        mel.zero_() if len(text) % 2 else mel[:, :1].fill_(7)
    return [list(each) for each in batch]


def program(dataset: Any, num_workers: int, collate: Any, **arguments: Any) -> Program:
    given = {"batch_size": 4, "shuffle": True, "num_workers": num_workers, "collate_fn": lambda: collate}
    return Program(loader_of(dataset, **{**given, **arguments}))


@WORKERS
@pytest.mark.parametrize("collate", [Padded(1), Padded(5), as_they_are, lists, changes, refuses])
def test_a_collate_fn_gets_torchs_samples(collate: Any, num_workers: int, tmp_path: Path) -> None:
    dataset = Mels(save(tmp_path, frames))
    loader: Any = goloader.DataLoader(**program(dataset, num_workers, collate).arguments())
    compiled = isinstance(collate, Padded) and collate.step == 1  # of other steps, the batch decides what is padded
    assert ("COLLATE_CALLED" in loader.explain().codes) != compiled
    found = check(program(dataset, num_workers, collate))
    assert batches(found) and bool(errors(found)) == (collate is refuses)
    check(program(Subset(dataset, [3, 0, 16, 3, 5]), num_workers, collate, shuffle=False))


class Kinds(Dataset[Any]):
    """Arrays, numbers and what is worked out of them, in a dict."""

    def __init__(self, root: Path) -> None:
        self.root, self.labels = root, [number % 3 for number in range(COUNT)]

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, i: int) -> Any:
        x = np.load(self.root / f"{i}.npy")
        return {"x": x, "label": self.labels[i], "more": [float(i), torch.tensor(self.labels[i])]}


class Shaped(Kinds):
    def __getitem__(self, i: int) -> Any:
        x = torch.from_numpy(np.load(self.root / f"{i}.npy")).float()
        if x.dim() != 3 or x.shape[0] != 2 or x.ndim == 4 or x.dtype == torch.int8:
            raise ValueError("another shape")
        return x, x.shape[1], len(x), x.size(-2), x.size()[2]


class Doubles(Kinds):
    def __getitem__(self, i: int) -> Any:
        return torch.from_numpy(np.load(self.root / f"{i}.npy")).sqrt().double(), i


def of_dicts(batch: Any) -> Any:
    return [each["x"] for each in batch], torch.tensor([each["label"] for each in batch]), batch


@WORKERS
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float64", "complex64"])
def test_each_type_and_axis_is_torchs(dtype: str, axis: int, num_workers: int, tmp_path: Path) -> None:
    def shape(number: int) -> tuple[int, ...]:
        return tuple(1 + number % 5 if each == axis else 2 + each for each in range(3))

    assert batches(check(program(Kinds(save(tmp_path, shape, dtype)), num_workers, of_dicts)))


@WORKERS
def test_what_is_asked_of_a_shape_is_torchs(num_workers: int, tmp_path: Path) -> None:
    def shape(number: int) -> tuple[int, ...]:
        return 2, 1 + number % 5, 3

    dataset = Shaped(save(tmp_path, shape, np.int16))
    assert batches(check(program(dataset, num_workers, as_they_are)))
    assert batches(check(program(dataset, num_workers, lists)))
    other = Shaped(save(tmp_path / "other", lambda number: (2 + number % 2, 2, 3)))
    assert errors(check(program(other, num_workers, as_they_are), native=False))
    check(program(Doubles(save(tmp_path / "floats", shape)), num_workers, as_they_are), native=False)


@WORKERS
def test_what_is_checked_before_is_torchs(num_workers: int, tmp_path: Path) -> None:
    root = save(tmp_path, frames)

    def change(epoch: int, loader: Any) -> None:
        loader.dataset.labels[6] = 3
        if epoch == 1:
            loader.dataset.labels[6] = -1

    given = {"batch_size": 4, "num_workers": num_workers, "collate_fn": lambda: lists}
    assert errors(check(Program(loader_of(lambda: Checked(root), **given), epochs=3, before=change)))
    check(program(Checked(root), num_workers, lists, sampler=[3, -1, 16], shuffle=False))
    beyond = check(program(Checked(root), num_workers, lists, sampler=[3, 16, 17], shuffle=False))
    assert errors(beyond)


def wide(file: Path) -> None:
    np.save(file, np.ones((5, 6), np.float32))


def long(file: Path) -> None:
    np.save(file, np.ones((4, 90), np.float32))


def flat(file: Path) -> None:
    np.save(file, np.ones(24, np.float32))


def turned(file: Path) -> None:
    np.save(file, np.ones((6, 4), np.float32).T)


def swapped(file: Path) -> None:
    np.save(file, np.ones((4, 6), ">f4"))


def of_doubles(file: Path) -> None:
    np.save(file, np.ones((4, 6)))


def truncated(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-5])


def of_nothing(file: Path) -> None:
    np.save(file, np.ones((4, 0), np.float32))


CHANGES = [Path.unlink, wide, long, flat, turned, swapped, of_doubles, truncated, of_nothing]


@WORKERS
@pytest.mark.parametrize("change", CHANGES)
def test_files_that_change_are_seen(change: Any, num_workers: int, tmp_path: Path) -> None:
    def begin(epoch: int, loader: Any) -> None:
        """The second epoch finds another file, the third the first one again."""
        shutil.rmtree(tmp_path / "files", ignore_errors=True)
        save(tmp_path / "files", frames)
        if epoch == 1:
            change(tmp_path / "files" / "8.npy")

    begin(0, None)
    made = partial(Mels, tmp_path / "files")
    given = {"batch_size": 4, "num_workers": num_workers, "collate_fn": lambda: Padded(2)}
    check(Program(loader_of(lambda: made(), **given), epochs=3, before=begin))


@WORKERS
@pytest.mark.parametrize("change", [each for each in CHANGES if each not in (long, truncated)])
def test_other_files_than_numpys_plain_ones_are_torchs(change: Any, num_workers: int, tmp_path: Path) -> None:
    save(tmp_path, frames)
    for number in range(3, COUNT):
        change(tmp_path / f"{number}.npy")
    check(program(Mels(tmp_path), num_workers, Padded(1)), native=False)


@WORKERS
def test_a_dataset_that_is_changed_is_seen(num_workers: int, tmp_path: Path) -> None:
    root = save(tmp_path, frames)

    def change(epoch: int, loader: Any) -> None:
        given = loader.dataset
        if epoch == 1:
            given.listed[2] = [f"{root}/5.npy", "abba"]
            loader.collate_fn.step = 4
        if epoch == 2:
            given.bands = 3  # whatever is loaded is an error
        if epoch == 3:
            given.bands, given.listed[7][1] = 4, "x"  # which has no number

    given = {"batch_size": 4, "num_workers": num_workers, "collate_fn": lambda: Padded(2)}
    found = check(Program(loader_of(lambda: Mels(root), **given), epochs=4, before=change))
    assert len(errors(found)) > 5


class Twice(Mels):
    """Two of an array's parts share its memory."""

    def __getitem__(self, i: int) -> Any:
        mel = torch.from_numpy(np.load(f"{self.root}/{i}.npy"))
        return mel, mel


class InMemory(Mels):
    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.rows = torch.arange(3.0 * COUNT).view(COUNT, 3)

    def __getitem__(self, i: int) -> Any:
        return self.rows[i], torch.from_numpy(np.load(f"{self.root}/{i}.npy"))


class Mean(Mels):
    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.mean = torch.zeros(3)

    def __getitem__(self, i: int) -> Any:
        return self.mean, torch.from_numpy(np.load(f"{self.root}/{i}.npy"))


class Turned(Mels):
    def __getitem__(self, i: int) -> Any:
        return i, torch.from_numpy(np.load(f"{self.root}/{i}.npy")).t()


def adds(batch: Any) -> Any:
    for each in batch:
        one = each[0]
        one += 1
    return batch


@pytest.mark.parametrize("kind", [Twice, InMemory, Mean])
def test_memory_that_somebody_else_has_is_torchs(kind: Any, tmp_path: Path) -> None:
    dataset: Callable[[], Any] = lambda: kind(save(tmp_path, lambda number: (4, 6)))  # noqa: E731
    check(program(dataset, 0, adds), native=False)
    check(program(dataset, 0, lists), native=False)
    # torch's workers send memory while it is changed: what comes of that is nobody's.
    assert not goloader.DataLoader(dataset(), num_workers=2, collate_fn=adds).explain().native
    if kind is InMemory:  # which workers send copies of
        check(program(dataset, 2, lists))


def test_what_is_not_known_is_torchs(tmp_path: Path) -> None:
    root = save(tmp_path, frames)
    check(program(Turned(root), 0, lists), native=False)
    both = ConcatDataset([Mels(root), Mels(root)])
    check(program(both, 0, lists), native=False)
    for collate in (lambda batch: [each[1].sum() for each in batch], lambda batch: torch.rand(3)):
        check(program(Mels(root), 0, collate), native=False)
    check(program(Kinds(save(tmp_path / "numbers", lambda number: ())), 0, of_dicts), native=False)
    cubes = Kinds(save(tmp_path / "cubes", lambda number: (1 + number % 2, 1 + number % 3)))
    check(program(cubes, 0, of_dicts), native=False)


@WORKERS
def test_on_error_leaves_samples_out(num_workers: int, tmp_path: Path) -> None:
    dataset = Mels(save(tmp_path, frames))
    loader: Any = goloader.DataLoader(dataset, 4, num_workers=num_workers, collate_fn=lists, on_error="skip")
    assert loader.explain().native
    assert [len(texts) for texts, _ in loader] == [4, 4, 4, 4, 1]
    (tmp_path / "5.npy").unlink()
    assert [len(texts) for texts, _ in loader] == [4, 3, 4, 4, 1]


def slowly(batch: Any) -> Any:
    for _ in range(100_000):
        pass
    return batch


@pytest.mark.parametrize("cores", [1, 16])
def test_what_takes_long_is_left_to_many_workers(cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_cores, "allowed", lambda: cores)
    dataset = Mels(save(tmp_path, frames))
    for collate, stays in ((slowly, cores == 1), (lists, True)):
        loader: Any = goloader.DataLoader(dataset, batch_size=2, num_workers=8, collate_fn=collate)
        first = list(loader)
        assert bool(loader.explain().native) == stays
        assert bits(first) == bits(list(loader))


def test_headers_that_take_long_are_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_files, "_HEADERS_S_MAX", 0.0)
    check(program(Mels(save(tmp_path / "mels", frames)), 1, lists), native=False)
    check(program(Kinds(save(tmp_path / "alike", lambda number: (4, 6))), 1, of_dicts))  # of which few are read


def test_batches_that_are_kept_stay_what_they_are(tmp_path: Path) -> None:
    loader: Any = goloader.DataLoader(Mels(save(tmp_path, frames)), batch_size=2, num_workers=2, collate_fn=lists)
    kept = list(loader)
    for number, (texts, mels) in enumerate(kept):
        for place, (text, mel) in enumerate(zip(texts, mels)):
            wanted = loader.dataset[2 * number + place]
            assert torch.equal(text, wanted[0]) and torch.equal(mel, wanted[1])
            mel.zero_()
    again = next(iter(loader))
    assert torch.equal(again[1][0], loader.dataset[0][1])
