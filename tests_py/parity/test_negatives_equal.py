"""Numbers that a class draws until they are in none of a user's lists, as recommenders' negatives: as torch's, bit for
bit."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from class_of_lines import dataset_of
from torch.utils.data import DataLoader, Dataset
from twins import Program, check, loader_of

import goloader


class Rated(Dataset[Any]):
    """What 20 people rated of 60 things, and one of these that each did not."""

    def __init__(self, _: Any = None) -> None:
        chance = np.random.default_rng(5)
        self.rated = [chance.choice(60, int(count), replace=False).tolist() for count in chance.integers(1, 40, 20)]
        self.sets, self.by_user = list(map(set, self.rated)), {user: set(each) for user, each in enumerate(self.rated)}
        self.users, self.count = chance.integers(0, 20, 61).tolist(), 60

    def __len__(self) -> int:
        return 61

    def other(self, i: int) -> int:
        while True:
            j = random.randint(0, 60)
            if self.users[j] != self.users[i]:
                return j


NEGATIVES = {
    "a list": [
        "j = random.randint(0, self.count - 1)",
        "while j in self.rated[self.users[i]]: j = random.randint(0, self.count - 1)",
        "self.users[i], j",
    ],
    "a set": ["j = np.random.randint(60)", "while j in self.sets[i % 20]: j = np.random.randint(60)", "i, j"],
    "a dict of sets": [
        "found = []",
        "for _ in range(3):",
        "    j = np.random.randint(60)",
        "    while j in self.by_user[self.users[i]]: j = np.random.randint(60)",
        "    found.append(j)",
        "{'user': self.users[i], 'others': torch.LongTensor(found)}",
    ],
    "until one is not": [
        "while True:",
        "    j = random.randrange(self.count)",
        "    if j not in set(self.rated[self.users[i]]): break",
        "self.users[i], j, random.random()",
    ],
    "until one is": [
        "while True:",
        "    j = random.choice(self.users)",
        "    if j == self.users[i]:",
        "        break",
        "i, j, random.random()",
    ],
    "until two are": [
        "first, second = 0, 1",
        "while self.users[first] != self.users[second]:",
        "    first = np.random.randint(61)",
        "    second = random.randrange(61)",
        "i, first, second",
    ],
    "a loop in a function": ["j = self.other(i)", "k = self.other(j)", "i, j, k"],
    "one way or another": [
        "j = np.random.randint(60)",
        "self.users[i], j, 1.0 if j in self.rated[self.users[i]] else 0.5",
    ],
}


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("name", NEGATIVES)
def test_what_is_drawn_until_it_is_in_no_list(name: str, num_workers: int, tmp_path: Path) -> None:
    dataset = dataset_of(Rated, NEGATIVES[name], tmp_path)
    check(Program(loader_of(dataset, batch_size=8, shuffle=True, num_workers=num_workers)))


# What a turn leaves to the next: nothing says then what all turns do.
LEFT = {
    "the number before": ["a = b = 0", "while a + b < 90:", "    a = b", "    b = random.randrange(60)", "i, a, b"],
    "two turns ago": [
        "a, b, c = 0, 0, 0",
        "while a + c < 90:",
        "    a = b",
        "    b = c",
        "    c = random.randrange(60)",
        "i, a, b, c",
    ],
    "how many there were": ["n = 0", "while random.random() < 0.5:", "    n += 1", "i, n"],
    "a list": ["found = []", "while random.random() < 0.5:", "    found.append(random.random())", "i, len(found)"],
    "the best": ["j = 0", "while random.random() < 0.8:", "    j = max(j, random.randrange(60))", "i, j"],
    "a sum": ["j = 0", "while j < 60:", "    j = j + random.randrange(20)", "i, j"],
    "none at the end": [
        "j = 60",
        "while random.random() < 0.8:",
        "    k = j",
        "    j = random.randrange(60)",
        "i, j, k",
    ],
}


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("name", LEFT)
def test_turns_that_differ(name: str, num_workers: int, tmp_path: Path) -> None:
    dataset = dataset_of(Rated, LEFT[name], tmp_path)
    check(Program(loader_of(dataset, batch_size=8, shuffle=True, num_workers=num_workers)), native=False)


def test_lists_that_are_asked_may_change(tmp_path: Path) -> None:
    dataset = dataset_of(Rated, NEGATIVES["a set"], tmp_path)
    loader = goloader.DataLoader(dataset, batch_size=8)
    assert loader.explain().native
    for kept in ({7}, {13}):
        dataset.sets[:] = [{*range(60)} - kept - {59}] * 20
        assert {j for _, several in loader for j in several.tolist()} <= {*kept, 59}


@pytest.mark.parametrize("name", ["a set", "a list"])
def test_lists_that_are_asked_may_grow_in_an_epoch(name: str, tmp_path: Path) -> None:
    made = []
    for kind in (goloader.DataLoader, DataLoader):
        torch.manual_seed(3)
        random.seed(4)
        np.random.seed(5)
        dataset = dataset_of(Rated, NEGATIVES[name], tmp_path)
        shown = []
        for number, batch in enumerate(kind(dataset, batch_size=8)):
            shown.append([each.tolist() for each in batch])
            for rated, chosen in zip(dataset.rated, dataset.sets, strict=True):
                rated.extend(range(6 * number, 6 * number + 6))
                chosen.update(rated)
        made.append(shown)
    assert made[0] == made[1]


@pytest.mark.parametrize("lines", [["j = np.random.randint(60)", "i, j, j in self.floats"]])
def test_other_lists_are_asked_by_python(lines: list[str], tmp_path: Path) -> None:
    dataset = dataset_of(Rated, lines, tmp_path)
    dataset.floats = [1.0, 2.5, np.float64(7)]
    check(Program(loader_of(dataset, batch_size=8)), native=False)
