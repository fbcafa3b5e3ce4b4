"""Dicts: samples by keys that code takes of lists or makes, and arrays by their names. Both are torch's, and stay so
where something is changed."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch
import twins
from torch.nn.utils.rnn import pad_sequence
from torch.utils import data

import goloader
from goloader.plan.collates.own import compiler

COUNT = 23


class Keys(data.Dataset[Any]):
    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.arrays = {name: rng.random((COUNT, 3)).astype(np.float32) for name in ("obs", "act", "n_obs", "n_act")}
        self.keys, self.names, self.horizon, self.part = ["obs", "act"], ("act", "obs"), 4, "n_"

    def __len__(self) -> int:
        return COUNT


class Looped(Keys):
    def __getitem__(self, index: int) -> Any:
        result: Any = dict()  # noqa: C408 - as people write
        for key in self.keys:
            result[key] = self.arrays[key][index]
        return result


class Made(Keys):
    def __getitem__(self, index: int) -> Any:
        result: Any = {"index": index}
        for key, name in zip(self.keys, self.names):  # noqa: B905
            result["x_" + key] = self.arrays[key][index]
            result[f"{self.part}{name}"] = self.arrays[name][index]
        return result


class Numbers(Keys):
    def __getitem__(self, index: int) -> Any:
        observations = self.arrays["obs"]
        return {0: observations[index], self.horizon - 1: observations[-1], 2 * self.horizon: index}


class Comprehended(Keys):
    def __getitem__(self, index: int) -> Any:
        return {"x_" + key: self.arrays[key][index] for key in self.keys}


class Drawn(Keys):
    def __getitem__(self, index: int) -> Any:
        result: Any = {}
        for key in self.keys:
            result[key + "_noisy"] = self.arrays[key][index] + np.random.normal(0, 1, 3)
            result[f"{key}_{self.horizon}"] = random.random()
        return result


CLASSES = [Looped, Made, Numbers, Comprehended, Drawn]


def change(dataset: Any, number: int) -> None:
    """Another list, the same one changed, one more number; 1 where True was, which is another key."""
    [
        lambda: setattr(dataset, "keys", ["act", "obs"]),
        lambda: dataset.keys.reverse(),
        lambda: setattr(dataset, "horizon", number % 7 + 4),
        lambda: setattr(dataset, "horizon", True if dataset.horizon == 1 else 1),
    ][number % 4]()


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("num_workers", [0, 1, 3])
def test_keys_that_code_makes(kind: Any, num_workers: int) -> None:
    batch_size = random.choice([1, 4, 5])
    twins.check(twins.Program(twins.loader_of(kind(), batch_size=batch_size, shuffle=True, num_workers=num_workers)))


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("num_workers", [0, 1])
def test_keys_that_change(kind: Any, num_workers: int) -> None:
    events = []
    for loader in (goloader.DataLoader, data.DataLoader):
        twins.seed(1)
        events.append(list(twins.changed(loader, kind, change, batch_size=5, num_workers=num_workers)))
    assert events[0] == events[1]


class Indexed(Keys):
    def __getitem__(self, index: int) -> Any:
        return {index: self.arrays["obs"][index]}


class Drew(Keys):
    def __getitem__(self, index: int) -> Any:
        return {random.choice(self.keys): self.arrays["obs"][index]}


@pytest.mark.parametrize("kind", [Indexed, Drew])
def test_keys_that_differ_are_left_to_python(kind: Any) -> None:
    twins.check(twins.Program(twins.loader_of(kind(), batch_size=1, shuffle=True)), native=False)


class Names(data.Dataset[Any]):
    """Arrays and tensors by their names: of one length, and of several."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.names = [f"video_{n}" for n in rng.permutation(COUNT)]
        self.pairs = [(int(n), name) for n, name in enumerate(self.names)]
        self.features = {name: rng.random((4, 3)).astype(np.float32) for name in sorted(self.names)}
        self.tensors = {n: torch.from_numpy(rng.integers(0, 9, (rng.integers(2, 9), 2))) for n in range(COUNT)}
        self.labels = {name: n % 4 for n, name in enumerate(self.names)}

    def __len__(self) -> int:
        return COUNT


class ByName(Names):
    def __getitem__(self, index: int) -> Any:
        name = self.names[index]
        return self.features[name], self.labels[name]


class Reckoned(Names):
    def __getitem__(self, index: int) -> Any:
        _, name = self.pairs[index]
        x = torch.from_numpy(self.features[name]).float()
        return {"x": x[:, 1] * 2 - 1, "first": self.features[name][0], "y": self.labels[name]}


class OfSeveralLengths(Names):
    def __getitem__(self, index: int) -> Any:
        return self.tensors[self.pairs[index][0]], self.labels[self.names[index]]


class NextOne(Names):
    """At most the last one."""

    def __getitem__(self, index: int) -> Any:
        after = min(index + 1, COUNT - 1)
        return self.features[self.names[index]], self.features[self.names[after]], max(0, index - 3), abs(index - 9)


def padded(batch: Any) -> Any:
    rows, labels = zip(*batch)  # noqa: B905
    return pad_sequence(rows, batch_first=True), torch.tensor(labels)


NAMED: list[tuple[Any, Any]] = [(ByName, None), (Reckoned, None), (OfSeveralLengths, padded), (NextOne, None)]


@pytest.mark.parametrize(("kind", "collate"), NAMED)
@pytest.mark.parametrize("num_workers", [0, 1, 3])
def test_arrays_by_their_names(kind: Any, collate: Any, num_workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "PAYS_FROM", dict.fromkeys(compiler.PAYS_FROM, 0))
    batch_size = random.choice([2, 4, 5])
    arguments = {"batch_size": batch_size, "shuffle": True, "num_workers": num_workers, "collate_fn": lambda: collate}
    twins.check(twins.Program(twins.loader_of(kind(), **arguments)))


@pytest.mark.parametrize("kind", [ByName, Reckoned, NextOne])
@pytest.mark.parametrize("num_workers", [0, 2])
def test_indices_below_zero_and_names_that_are_not_there(kind: Any, num_workers: int) -> None:
    sampler = [0, -1, 3, 30, 5, -COUNT, -COUNT - 1, 2]
    twins.check(twins.Program(twins.loader_of(kind(), batch_size=2, sampler=sampler, num_workers=num_workers)))
    batches = goloader.DataLoader(kind(), batch_size=None, sampler=[0, 1, 0])
    theirs = data.DataLoader(kind(), batch_size=None, sampler=[0, 1, 0])
    assert list(map(twins.bits, batches)) == list(map(twins.bits, theirs))


def replace(dataset: Any, number: int) -> None:
    """Another array, numbers of one, another dict, another length, one that is not there any more."""
    name = dataset.names[(number + 3) % COUNT]
    [
        lambda: dataset.features.__setitem__(name, dataset.features[name] + 1),
        lambda: np.multiply(dataset.features[name], 3, out=dataset.features[name]),
        lambda: setattr(dataset, "features", {each: x + 1 for each, x in dataset.features.items()}),
        lambda: dataset.names.reverse(),
        lambda: dataset.tensors.__setitem__(number % COUNT, torch.ones(3, 2, dtype=torch.int64)),
        lambda: dataset.tensors[5].mul_(2),
        lambda: setattr(dataset.features[name], "shape", (3, 4)),
        lambda: dataset.features.pop(name, None),
    ][number % 8]()


@pytest.mark.parametrize(("kind", "collate"), NAMED)
@pytest.mark.parametrize("num_workers", [0, 1])
@pytest.mark.parametrize("first", range(8))
def test_arrays_that_change(
    kind: Any, collate: Any, num_workers: int, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler, "PAYS_FROM", dict.fromkeys(compiler.PAYS_FROM, 0))
    events = []
    for loader in (goloader.DataLoader, data.DataLoader):

        def change(dataset: Any, number: int) -> None:
            replace(dataset, number + first)

        events.append(
            list(twins.changed(loader, kind, change, batch_size=4, num_workers=num_workers, collate_fn=collate))
        )
    assert events[0] == events[1]
