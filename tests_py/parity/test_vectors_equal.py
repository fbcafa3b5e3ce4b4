"""Rows of arrays, tensors and tables beside an image, as multi-label and landmark datasets have them: ours are torch's.

Which of the user's spellings Go's batches have beside their images, and what is left to their own code.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from class_of_lines import dataset_of
from photos import lay, plain
from torch.utils.data import Dataset
from twins import Program, check, loader_of

import goloader

COUNT = 11
NAMES = [f"a{k}" for k in range(6)]


class Base(Dataset[Any]):
    def __init__(self, root: Path) -> None:
        r = np.random.default_rng(0)
        self.files = sorted(map(str, root.iterdir()))
        self.frame = pd.DataFrame({"file": self.files, **{name: r.integers(0, 2, COUNT) for name in NAMES}})
        self.frame["x"], self.frame["y"], self.frame["on"] = r.random(COUNT), r.random(COUNT), r.random(COUNT) > 0.5
        self.numbers = self.frame[[*NAMES, "x"]]
        self.turned = self.numbers.astype(float).iloc[:, ::-1]  # whose rows go backwards in memory
        self.names, self.points = list(NAMES), ["x", "y"]
        self.ints = r.integers(-9, 9, (COUNT, 6))
        self.small, self.floats = self.ints.astype(np.int8), r.normal(size=(COUNT, 2, 3)).astype(np.float32)
        self.doubles, self.truths = r.normal(size=(COUNT, 4)), self.ints > 0
        self.tensor, self.halves = torch.tensor(self.doubles), torch.tensor(self.floats).half()
        self.records = [
            {"box": [k, 2 * k, 30.0 + k, k / 3], "tags": [k, -k, 1], "pairs": [[k, 1], [2, 3]]} for k in range(COUNT)
        ]
        for record in self.records:
            record["box"] = list(map(float, record["box"]))

    def __len__(self) -> int:
        return COUNT


def made_of(value: str, root: Path, *, alone: bool = False) -> Any:
    if alone:
        return dataset_of(Base, [value], root)
    image = "image = F.to_tensor(Image.open(self.files[i]).convert('RGB').resize((9, 8)))"
    return dataset_of(Base, [image, "j = random.randrange(11)", f"image, {value}"], root)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay(tmp_path_factory.mktemp("vectors"), plain(COUNT, width=20, height=18))


MADE = [
    "self.ints[i]",
    "self.floats[i]",
    "self.tensor[i]",
    "self.small[i], self.truths[i], self.halves[i]",
    "self.doubles[j], j",
    "torch.tensor(self.ints[i], dtype=torch.float32)",
    "torch.tensor(self.doubles[i])",
    "torch.as_tensor(self.floats[i]).view(3, 2)",
    "torch.from_numpy(self.doubles[i]).float()",
    "torch.from_numpy(self.doubles[i].astype(np.float32))",
    "torch.FloatTensor(self.ints[i])",
    "torch.LongTensor(self.ints[i])",
    "self.ints[i].astype('float32')",
    "self.tensor[i].long()",
    "self.tensor[i].to(torch.float16).unsqueeze(0)",
    "self.floats[i].reshape(-1)",
    "self.floats[i].flatten()",
    "self.floats[i][None]",
    "self.ints[i, 1:4]",
    "self.ints[i, ::2], self.tensor[i, :2]",
    "self.floats[i, 0, 1:]",
    "self.doubles[i] / 255.0",
    "2 * self.tensor[i] - 1",
    "1 - self.ints[i]",
    "self.frame.iloc[i, 1:7].values.astype('float32')",
    "torch.from_numpy(self.frame.iloc[i, 1:7].to_numpy().astype(float))",
    "self.frame.iloc[i, 7:9].values.astype(np.float64).reshape(-1, 2)",
    "np.array(self.frame.iloc[i, 1:9], dtype=np.float32)",
    "self.frame.iloc[i, [7, 8]].values.astype(float)",
    "self.frame.loc[i, self.names].values.astype(np.int64)",
    "self.frame[self.names].iloc[i].values.copy()",
    "self.numbers.iloc[i].values.astype(np.float32)",
    "torch.tensor(self.frame[self.points].values[i], dtype=torch.float32)",
    "torch.tensor(self.frame.iloc[i][self.names].values.astype(np.float32))",
    "torch.tensor(self.numbers.iloc[i, 1:6].to_numpy().copy())",  # of the dtype of these columns, from pandas 3 on
    "self.numbers.iloc[i, [0, 2]].values.copy(), self.numbers.iloc[i, 6:].values.copy()",
    "self.numbers.loc[i, self.names].values.copy()",
    "self.numbers.iloc[i][self.names].values.copy()",
    "self.numbers.iloc[i, 7:].values.copy()",
    "torch.tensor(self.frame.iloc[i, 1:7].astype(float).values)",
    "self.frame.iloc[i, 9:].values.astype(bool)",
    "torch.tensor(self.records[i]['box'])",
    "np.array(self.records[j]['tags'])",
    "torch.tensor(self.records[i]['pairs'], dtype=torch.float32)",
    "torch.as_tensor(np.array(self.records[i]['box']), dtype=torch.float32)",
    "torch.tensor(self.records[i]['box'], dtype=torch.float64)",
]


LEFT = [
    "self.ints",  # not a row
    "torch.tensor(self.tensor[i])",  # torch warns
    "self.frame[self.names].values[i]",  # not writable where pandas copies on write
    "self.ints[i].tolist()",
    "self.ints[i, ::-1]",  # torch raises
    "self.frame.iloc[i, 6:1:-1].values.astype(float)",
    "torch.tensor(self.numbers.iloc[i, ::-1].values)",
    "torch.tensor(self.numbers[::-1].iloc[i].values)",
    "torch.tensor(self.turned.iloc[i].values)",
    "torch.tensor(self.turned.values[i])",
    "self.ints[i].astype(object)",
    "self.ints[i].sum()",
    "torch.tensor(self.records[i]['tags'] + [0.5])",
    "self.doubles[i].astype(np.float32, copy=False)",
]


@pytest.mark.parametrize("value", MADE)
def test_a_row_beside_an_image(value: str, root: Path) -> None:
    chance = random.Random(value)
    dataset = made_of(value, root)
    check(Program(loader_of(dataset, batch_size=3, shuffle=chance.random() < 0.5), epochs=2, seed=chance.randrange(99)))


@pytest.mark.parametrize("value", [each for each in [*MADE, *LEFT] if "self.frame" in each or "self.numbers" in each])
def test_a_row_of_a_table_by_itself(value: str, root: Path) -> None:
    chance = random.Random(value)
    arguments = {"num_workers": chance.choice([0, 1, 3]), "shuffle": chance.random() < 0.5, "batch_size": 3}
    native = None if value in LEFT else True
    loader = loader_of(lambda: made_of(f"{value}, i", root, alone=True), **arguments)
    check(Program(loader, epochs=2, seed=chance.randrange(99)), native=native)


@pytest.mark.slow
@pytest.mark.parametrize("num_workers", [1, 3])
def test_with_workers(num_workers: int, root: Path) -> None:
    dataset = made_of(", ".join(f"({value})" for value in MADE), root)
    check(Program(loader_of(dataset, batch_size=4, shuffle=True, num_workers=num_workers), epochs=2, seed=5))


@pytest.mark.parametrize("value", LEFT)
def test_what_is_not_known_is_left_to_the_code(value: str, root: Path) -> None:
    native = goloader.DataLoader(made_of(value, root)).explain().native
    check(Program(loader_of(lambda: made_of(value, root), batch_size=2), epochs=1), native=native)


@pytest.mark.parametrize(
    ("value", "change"),
    [
        ("self.ints[i]", lambda dataset: dataset.ints.__setitem__((5, 2), 77)),
        ("self.ints[j]", lambda dataset: dataset.ints.__setitem__((5, 2), 77)),
        ("self.tensor[i].float()", lambda dataset: dataset.tensor.mul_(2)),
        ("self.frame.iloc[i, 1:7].values.astype('float32')", lambda dataset: dataset.frame.__setitem__("a1", 3)),
        ("self.frame[self.names].iloc[i].values.astype(float)", lambda dataset: dataset.names.pop()),
        ("torch.tensor(self.records[i]['box'])", lambda dataset: dataset.records[4]["box"].__setitem__(0, 5.5)),
        ("torch.tensor(self.records[i]['box'])", lambda dataset: torch.set_default_dtype(torch.float64)),
    ],
)
@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("alone", [False, True])
def test_a_change_is_seen(value: str, change: Any, within: bool, alone: bool, root: Path) -> None:
    def steps(kind: Any) -> list[Any]:
        random.seed(3)
        dataset = made_of(f"i, {value.replace('[j]', '[i]')}" if alone else value, root, alone=alone)
        loader, seen = kind(dataset, batch_size=2), []
        try:
            for epoch in range(2):
                for step, batch in enumerate(loader):
                    seen.append((batch[1].dtype, batch[1].tolist()))
                    if within and epoch == 0 and step == 1:
                        change(dataset)
                if not within and epoch == 0:
                    change(dataset)
        finally:
            torch.set_default_dtype(torch.float32)
        return seen

    assert steps(goloader.DataLoader) == steps(torch.utils.data.DataLoader)
