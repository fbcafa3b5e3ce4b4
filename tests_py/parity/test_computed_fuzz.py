"""Random expressions over arrays, tensors, lists and the index, in classes of one's own: our batches are torch's.

A grammar makes the source of a `__getitem__`. What is not compiled is left out field by field, and what fails is
compared by itself; of the rest whole classes are made, and both kinds of loader go over them: bits, dtypes, shapes,
containers, errors and warnings.
"""

from __future__ import annotations

import os
import random
import warnings
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from twins import Program, check, loader_of

import goloader
from goloader.plan import Plan, planner

SEED = int(os.environ.get("GOLOADER_FUZZ_SEED", "20261123"))
ROWS = 37
NUMPY = ("bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
TORCH = ("bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64")


CONSTANTS = ("2", "3", "-1", "0.5", "255.0", "255", "self.n", "self.half", "self.mean", "self.std", "self.tmean")
NUMBERS = (
    "i", "i * 2 + 1", "self.ints[i]", "self.floats[i]", "int(self.n_int64_s[i])", "float(self.n_float32_s[i])",
    "self.t_int64_s[i].item()", "-i", "self.ints[i] * 3 - i", "self.floats[i] / 3", "i / 7", "abs(self.ints[i])",
    "len(self.n_uint8_m[i])", "self.ints[i] // 4", "self.ints[i] % 5", "int(self.floats[i])",
    "self.large[i]", "self.large[i] * 3", "-self.large[i] - self.large[i]", "self.large[i] * self.large[i] // 2**90",
    "self.large[i] - 2**62 + i", "i * 2**40 * self.ints[i]",
)  # fmt: skip
TENSORS = (
    "torch.tensor({})", "torch.from_numpy({})", "torch.as_tensor({})", "torch.tensor({}, dtype=torch.float32)",
)  # fmt: skip
LISTED = (
    "torch.tensor(self.rows[i])", "np.array(self.rows[i])", "torch.tensor(self.rows[self.order[i]])", "self.rows[i][2]",
    "torch.FloatTensor(self.halves[i])", "torch.Tensor(self.halves[i])", "np.asarray(self.halves[i], dtype=np.float32)",
    "self.halves[i][1]", "self.pairs[i][0]", "self.pairs[i][1]", "self.pairs[i + 1][0]", "self.records[i]['x']",
    "self.records[i]['y'][0]", "torch.tensor(self.records[i]['y'])", "self.table['a'][i]",
    "torch.tensor([c[i] for c in self.columns])", "np.array([self.n_float32_v[i, k] for k in range(1, 3)])",
    "np.stack([self.n_int32_v[i + k] for k in range(3)])", "torch.stack([self.t_uint8_m[i][k] for k in (0, 2)])",
    "torch.cat([self.table[name][i] for name in ('b', 'b')])",
    "np.array([k * c[i] for k, c in enumerate(self.columns)])",
    "np.array([a + b for a, b in zip(self.pairs[i], self.columns[:0])] + [i, 2])",
    "sum([self.table['b'][i], self.table['b'][i]])",
    "[torch.tensor(v[i]) for k, v in self.table.items() if k == 'c'][0]",
    "tuple(self.table[k][i] for k in self.table if k != 'b')[0]", "dict((k, v[i]) for k, v in self.table.items())['a']",
    "(lambda v: v[i])(self.table['a'])", "{**self.records[i]}['x']", "{k: v[i] for k, v in self.table.items()}['b']",
)  # fmt: skip
VIEWS = (
    "({})[None]", "({})[1:]", "({})[..., ::2]", "({}).reshape(-1)", "({}).flatten()", "({}).T", "({})[:, 1]",
    "({})[-1]", "({}).unsqueeze(0)", "({}).transpose(1, 0)", "({}).transpose(0, 1)", "({}).permute(1, 0)",
    "({}).view(-1)", "({}).squeeze()", "np.expand_dims({}, 0)", "({})[::-1]", "({})[:, ::-2]", "({})[::-1].copy()",
)  # fmt: skip
UNARY = (
    "abs({})", "-({})", "np.sqrt({})", "torch.sqrt({})", "np.clip({}, 0, 1)", "({}).clamp(-1, 1)", "~({})",
    "({}).clip(0, 5)", "torch.clamp({}, min=0)", "np.abs({})", "({}) ** 2", "torch.Tensor({})", "torch.LongTensor({})",
)  # fmt: skip
REDUCTIONS = (
    "({}).{}()", "({}).{}(0)", "({}).{}(-1)", "({}).{}(axis=0, keepdims=True)", "({}).{}(dim=0, keepdim=True)",
    "np.{1}({0}, axis=-1)", "torch.{1}({0}, 0)", "np.linalg.norm({}, axis=-1)",
)  # fmt: skip
REDUCING = ("sum", "mean", "std", "var", "max", "min", "argmax", "argmin")
JOINS = (
    "torch.stack([{}, {}])", "np.stack([{}, {}])", "np.concatenate([{}, {}])", "torch.cat([{}, {}])",
    "torch.tensor([{}, {}])", "np.array([{}, {}])",
)  # fmt: skip


class Data(Dataset[Any]):
    """Arrays of every type, with zeros, limits, infinities and what is no number among their items."""

    def __init__(self) -> None:
        noise = np.random.default_rng(SEED)
        for name in NUMPY:
            info: Any = np.iinfo(name) if "int" in name else None
            for shape, of in (((ROWS,), "s"), ((ROWS, 4), "v"), ((ROWS, 3, 4), "m")):
                items: Any
                if name == "bool":
                    items = noise.random(shape) < 0.5
                elif info is not None:
                    items = noise.integers(max(info.min, -9), 10, shape).astype(name)
                    items.reshape(-1)[noise.integers(0, items.size, 2)] = info.max, info.min
                else:
                    items = noise.normal(size=shape).astype(name)
                    items.reshape(-1)[noise.integers(0, items.size, 4)] = 0.0, -0.0, 300.7, -1.5
                    if of == "m":
                        items.reshape(-1)[noise.integers(0, items.size, 3)] = np.nan, np.inf, -np.inf
                setattr(self, f"n_{name}_{of}", items)
                if name in TORCH:
                    setattr(self, f"t_{name}_{of}", torch.from_numpy(items.copy()))
        self.ints, self.floats = [3 * i - 40 for i in range(ROWS)], [i / 7 for i in range(ROWS)]
        self.rows = [[3 * i - k for k in range(4)] for i in range(ROWS)]
        self.halves = [(i / 3, i / 7, -float(i)) for i in range(ROWS)]
        self.large = [2**62 + i * 2**40 for i in range(ROWS)]
        self.pairs = [(noise.normal(size=3), i * i) for i in range(ROWS)]
        self.records = [{"x": torch.from_numpy(noise.normal(size=(2, 3))), "y": [i, i + 1]} for i in range(ROWS)]
        self.columns = [self.floats, self.ints, self.n_float32_s]
        self.table = {"a": self.n_int16_v, "b": self.t_float64_v, "c": self.rows}
        self.order = noise.permutation(ROWS)
        self.mean, self.std = noise.normal(size=4).astype(np.float32), np.abs(noise.normal(size=4)) + 0.5
        self.tmean, self.n, self.half = torch.from_numpy(self.mean.copy()), 5, 0.5

    def __len__(self) -> int:
        return ROWS - 8


class Grammar:
    """Sources of expressions."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)

    def integer(self) -> str:
        return self.r.choice(
            ["i", "i", "i", "i + 1", "i + self.n", "2 * i // 3", "self.order[i]", "self.order[i] // 2"]
        )

    def array(self) -> str:
        kind = self.r.choice("nt")
        name = self.r.choice(NUMPY if kind == "n" else TORCH)
        return f"self.{kind}_{name}_{self.r.choice('vvm')}"

    def row(self) -> str:
        if self.r.random() < 0.25:
            start = self.r.choice(["i", "i + 1", "self.order[i] // 2"])
            return f"{self.array()}[{start}:{start} + {self.r.choice(['3', 'self.n', 'self.n:2', '4:3'])}]"
        if self.r.random() < 0.15:
            place = self.r.choice(["i % 3", "self.order[i] // 15", "i % 2 : i % 2 + 2", "(i + 1) // 20"])
            row = self.r.choice([self.integer(), "i // 3"])
            return f"{self.array()}[{row}{self.r.choice([', ', ']['])}{place}]"
        return f"{self.array()}[{self.integer()}]"

    def number(self) -> str:
        return self.r.choice(NUMBERS)

    def scalar(self) -> str:
        kind = self.r.choice("nt")
        return f"self.{kind}_{self.r.choice(NUMPY if kind == 'n' else TORCH)}_s[{self.integer()}]"

    def listed(self) -> str:
        return self.r.choice(LISTED)

    def constant(self) -> str:
        return self.r.choice(CONSTANTS)

    def value(self, depth: int) -> str:
        if depth == 0:
            return self.r.choice([self.row, self.row, self.row, self.scalar, self.number, self.listed])()
        inner = self.value(depth - 1)
        match self.r.randrange(12):
            case 0 | 1 | 2:
                other = self.r.choice([self.constant(), self.constant(), self.value(depth - 1), self.scalar()])
                pair = (inner, other) if self.r.random() < 0.7 else (other, inner)
                return f"({pair[0]} {self.r.choice(['+', '-', '*', '/', '//', '%', '<', '>=', '=='])} {pair[1]})"
            case 3:
                return self.r.choice(["({}).astype(np.{})", "np.asarray({}, dtype=np.{})"]).format(
                    inner, self.r.choice(["float32", "float64", "int64", "uint8", "int32"])
                )
            case 4:
                return self.r.choice(["({}).{}()", "({}).to(torch.{}32)"]).format(
                    inner, self.r.choice(["float", "long", "double", "int"])
                )
            case 5:
                return self.r.choice(TENSORS).format(inner)
            case 6:
                return self.r.choice(VIEWS).format(inner)
            case 7:
                return self.r.choice(UNARY).format(inner)
            case 8:
                other = self.r.choice(["0", "0.5", self.number(), self.scalar()])
                form = self.r.choice(["np.where({0} > 0, {0}, {1})", "torch.where({0} > 0, {0}, {1})"])
                return form.format(inner, other)
            case 9:
                return self.r.choice(REDUCTIONS).format(inner, self.r.choice(REDUCING))
            case 10:
                other = self.value(depth - 1)
                form = self.r.choice(JOINS)
                return form.format(inner, other)
            case _:
                return f"F.one_hot({inner}, num_classes=10)"


def dataset_of(data: Data, sources: list[str]) -> Any:
    names: dict[str, Any] = {"np": np, "torch": torch, "F": F, "Data": Data, "__name__": __name__}
    body = f"class Made(Data):\n    def __getitem__(self, i):\n        return ({', '.join(sources)},)\n"
    exec(compile(body, "made.py", "exec"), names)
    made = names["Made"].__new__(names["Made"])
    made.__dict__.update(vars(data))
    return made


def is_compiled(data: Data, source: str) -> bool:
    return isinstance(planner.make(goloader.DataLoader(dataset_of(data, [source]), batch_size=4)), Plan)


def works(data: Data, source: str) -> bool:
    """True if torch's loader makes batches of it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return bool(list(DataLoader(dataset_of(data, [source]), batch_size=4)))
    except Exception:
        return False


def shown(batch: Any) -> Any:
    if isinstance(batch, torch.Tensor):
        return (
            str(batch.dtype),
            tuple(batch.shape),
            batch.stride(),
            batch.contiguous().view(-1).view(torch.uint8).tolist(),
        )
    return type(batch).__name__, [shown(each) for each in batch]


def epochs(kind: Any, dataset: Any, workers: int) -> tuple[list[Any], set[str]]:
    torch.manual_seed(1)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        loader = kind(dataset, batch_size=5, shuffle=True, num_workers=workers)
        made = [shown(batch) for _ in range(2) for batch in loader]
    return made, {str(each.message) for each in warned if each.category is RuntimeWarning}


@pytest.fixture(scope="module")
def data() -> Data:
    return Data()


@pytest.mark.slow  # many seconds
@pytest.mark.parametrize("part", range(6))
def test_random_expressions_make_torchs_batches(part: int, data: Data) -> None:
    grammar = Grammar(SEED + part)
    print(f"GOLOADER_FUZZ_SEED={SEED}")
    tried = working = 0
    compiled: list[str] = []
    while len(compiled) < 48:
        source = grammar.value(grammar.r.choice([0, 1, 1, 2, 2, 3]))
        tried += 1
        if works(data, source):
            working += 1
            if is_compiled(data, source):
                compiled.append(source)
        elif is_compiled(data, source):
            refused = loader_of(dataset_of(data, [source]), batch_size=5, shuffle=True)
            try:
                check(Program(refused, epochs=1))
            except AssertionError as error:
                raise AssertionError(source) from error
    assert len(compiled) > working / 3, "most of what works is compiled"
    for at in range(0, len(compiled), 12):
        sources = compiled[at : at + 12]
        dataset = dataset_of(data, sources)
        ours, theirs = (epochs(kind, dataset, 0) for kind in (goloader.DataLoader, DataLoader))
        if ours != theirs:
            for source in sources:
                one = dataset_of(data, [source])
                assert epochs(goloader.DataLoader, one, 0) == epochs(DataLoader, one, 0), source
        assert ours == theirs, sources
    dataset = dataset_of(data, compiled[:12])
    assert epochs(goloader.DataLoader, dataset, 2)[0] == epochs(DataLoader, dataset, 2)[0], compiled[:12]
