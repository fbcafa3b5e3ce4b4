"""Samples that are dicts, by keys that code takes of lists or makes: they are torch's, after a change as well."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import twins
from torch.utils import data

import goloader

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
