"""Arrays and tensors by numbers that are drawn, one or as many as they have: noise, scaling, masks, mixtures, one of
two ways, changes in place. They are in Go what they are in Python, and so are the generators behind them."""

# ruff: noqa: SIM108 - as people write

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
import torch
import twins
from test_windows_equal import COUNT, Data, check
from torch.utils import data

import goloader


class Scaled(Data):
    def __getitem__(self, index: int) -> Any:
        return torch.from_numpy(self.flat[index] * random.uniform(0.8, 1.2)), self.labels[index]


class Shifted(Data):
    def __getitem__(self, index: int) -> Any:
        s, k = np.random.uniform(-1, 1), np.random.normal(0, 0.5)
        return self.flat[index] * s + k, self.stack[index] / (2 + s) - np.random.randn()


class Noisy(Data):
    """One number more than torch has drawn in pairs."""

    def __getitem__(self, index: int) -> Any:
        x = self.series[index]
        return x + np.random.normal(0, 0.1, x.shape), np.random.normal(), x + np.random.standard_normal(3)


class Float32(Data):
    def __getitem__(self, index: int) -> Any:
        x = self.flat[index]
        return torch.tensor(x + np.random.normal(scale=0.1, size=x.shape).astype(np.float32))


class Jittered(Data):
    """PointNet's and DGCNN's."""

    def __getitem__(self, index: int) -> Any:
        points = self.stack[index]
        scale = np.random.uniform(low=2.0 / 3.0, high=3.0 / 2.0, size=[4])
        shift = np.random.uniform(low=-0.2, high=0.2, size=[4])
        points = np.add(np.multiply(points, scale), shift).astype("float32")
        n, c = points.shape
        points = points + np.clip(0.01 * np.random.randn(n, c), -1 * 0.02, 0.02)
        return points, self.nplabels[index]


class Masked(Data):
    def __getitem__(self, index: int) -> Any:
        x = self.tstack[index]
        mask = torch.rand(x.shape) > 0.3
        row = self.flat[index]
        kept = np.where(np.random.rand(*row.shape) < 0.2, 0, row)
        return x * mask, torch.where(torch.rand(*x.shape) < 0.5, x, torch.zeros(4)), kept


class Channels(Data):
    def __getitem__(self, index: int) -> Any:
        x = self.tstack[index].float()
        uniform = torch.empty(1).uniform_(0, 2)
        return x * torch.rand(x.shape[0], 1) + torch.rand(1, 4), x * torch.rand(1) - torch.rand(()), x * uniform


class Flipped(Data):
    def __getitem__(self, index: int) -> Any:
        x = self.tstack[index]
        if random.random() < 0.5:
            x = torch.flip(x, (1,))
        y = self.flat[index]
        if np.random.rand() < 0.5:
            y = -y
        else:
            y = y * 2
        return x, y


class Mixture(Data):
    def __getitem__(self, index: int) -> Any:
        j = random.randrange(len(self.flat))
        s = np.random.uniform(0, 1)
        x = s * self.flat[index] + (1 - s) * self.flat[j]
        return x, self.labels[j], s


class Background(Data):
    """A window of another array is added."""

    def __getitem__(self, index: int) -> Any:
        start, other = random.randint(0, len(self.data) - 16), random.randint(0, 40)
        noise = self.data[start : start + 16]
        return self.flat[index][:16] + 0.1 * noise, self.series[other : other + 5] * random.random()


class Turned(Data):
    def __getitem__(self, index: int) -> Any:
        theta = random.uniform(0, 2 * math.pi)
        x = self.flat[index]
        return x * math.cos(theta) - x[::-1].copy() * math.sin(theta), theta


class InPlace(Data):
    def __getitem__(self, index: int) -> Any:
        x = self.flat[index].copy()
        x += np.random.normal(0, 0.02, size=x.shape)
        y = self.tstack[index].clone()
        if random.random() < 0.5:
            y *= random.uniform(0.5, 2)
        y /= 2
        return torch.from_numpy(x), y


class Indexed(Data):
    """Arrays by the index, and by numbers of lists, of which there are no rows."""

    def __getitem__(self, index: int) -> Any:
        drawn = {"x": torch.rand(3, 4) + index, "y": np.random.rand(2) * self.labels[index], "name": str(index)}
        return drawn, self.flat[index] * random.random() + self.labels[index], self.flat[index] - index * 2


class OneHot(Data):
    def __getitem__(self, index: int) -> Any:
        y = torch.zeros(3)
        y[self.labels[index]] = 1
        return y * random.random() + torch.rand(3), self.flat[index] + random.random()


class Backwards(Data):
    """Parts of what goes backwards, and of what has its numbers in another order."""

    def __getitem__(self, index: int) -> Any:
        x = np.flip(self.flat[index], 0).copy()
        pairs = self.stack[index].reshape(4, -1)
        return x[1:] - x[:-1], self.tstack[index].flip(0)[:3], pairs[:, :5], random.random()


NAMES = [f"{number}" for number in range(7)]


class Named(Data):
    """Values that are none of Go's, by places that are reckoned of what is drawn."""

    def __getitem__(self, index: int) -> Any:
        name = NAMES[(random.randrange(7) + index) % 7]
        return self.tstack[index], NAMES[random.choice([1, 2, 3]) % 3], name, NAMES[7 - random.randint(1, 7)]


class Nothing(Data):
    """Beside the labels it gives what it draws."""

    def __getitem__(self, index: int) -> Any:
        return np.random.rand(4), torch.rand(3, 2), np.random.uniform(1, 2, (2,)), self.labels[index]


class Tokens(Data):
    """Rows of tokens for the masks of language models."""

    def __init__(self, seed: int = 0, dtype: str = "float32") -> None:
        super().__init__(seed, dtype)
        self.tokens = torch.from_numpy(np.random.default_rng(seed).integers(0, 90, (self.count, 12 + 9 * seed)))


class Collated(Tokens):
    """As transformers' collator masks."""

    def __getitem__(self, index: int) -> Any:
        inputs = self.tokens[index].clone()
        labels = inputs.clone()
        masked = torch.bernoulli(torch.full(labels.shape, 0.15)).bool()
        labels[~masked] = -100
        replaced = torch.bernoulli(torch.full(labels.shape, 0.8)).bool() & masked
        inputs[replaced] = 3
        other = torch.bernoulli(torch.full(labels.shape, 0.5)).bool() & masked & ~replaced
        words = torch.randint(100, labels.shape, dtype=torch.long)
        inputs[other] = words[other]
        return inputs, labels


class MaskedTokens(Tokens):
    """But for those that are special."""

    def __getitem__(self, index: int) -> Any:
        inputs = self.tokens[index]
        drawn = torch.rand(inputs.shape)
        mask = (drawn < 0.15) * (inputs != 1) * (inputs != 2)
        labels = inputs.masked_fill(~mask, -100)
        return {
            "inputs": torch.masked_fill(inputs, mask, 3),
            "labels": labels,
            "mask": mask,
            "any": mask + (inputs < 5),
        }


class Bernoulli(Data):
    """Of none, of all, and of a chance each."""

    def __getitem__(self, index: int) -> Any:
        x = self.flat[index]
        kept = torch.bernoulli(torch.arange(len(x)) / (len(x) - 1))
        return (
            torch.bernoulli(torch.zeros(3)),
            torch.bernoulli(torch.ones(2, 2)),
            kept * torch.bernoulli(kept * 0 + 0.5),
        )


class ByChance(Data):
    def __getitem__(self, index: int) -> Any:
        x = torch.from_numpy(self.flat[index])
        return x * torch.bernoulli(torch.full((len(x),), 0.7)), random.random()


CLASSES = [
    Collated, MaskedTokens, ByChance, Scaled, Shifted, Noisy, Float32, Jittered, Masked, Channels, Flipped, Mixture,
    Background, Turned, InPlace, Indexed, OneHot, Backwards, Named, Nothing,
]  # fmt: skip


@pytest.mark.parametrize("made", CLASSES)
def test_what_is_made_by_drawn_numbers(made: Any) -> None:
    for seed in range(2):
        check(made(seed))


@pytest.mark.parametrize("dtype", ["float64", "int64", "uint8", "int16", "bool"])
@pytest.mark.parametrize("made", CLASSES)
def test_of_other_types(made: Any, dtype: str) -> None:
    dataset = made(len(dtype), dtype)
    check(dataset, native=goloader.DataLoader(dataset, batch_size=4, num_workers=1).explain().native, workers=(0, 1))


def test_batches_are_gos() -> None:
    for made in CLASSES:
        loader = goloader.DataLoader(made(), batch_size=COUNT, num_workers=1)
        list(loader)
        assert [row for row in loader.explain().rows if row.stage == "so far" and row.where == "Go"], made


def test_chances_that_are_drawn_are_pythons() -> None:
    check(Bernoulli(), native=False, workers=(0, 1))


class Many(Data):
    """So many that torch's workers draw them sooner, side by side, than Go does one after the other."""

    def __getitem__(self, index: int) -> Any:
        return self.labels[index], np.random.normal(0, 1, 200), torch.randn(self.randn)


@pytest.mark.parametrize("count", [16, 200, 300])
def test_many_numbers_are_left_to_workers(count: int) -> None:
    dataset = Many()
    dataset.randn = count  # type: ignore[attr-defined]
    check(dataset, native=count < 300, workers=(0, 2))


class Alias(Data):
    def __getitem__(self, index: int) -> Any:
        x = self.flat[index].copy()
        y = x
        y += random.random()
        return x


class View(Data):
    def __getitem__(self, index: int) -> Any:
        x = self.flat[index] * 2
        t = torch.from_numpy(x)
        x *= random.random()
        return t, x[1:]


class Part(Data):
    def __getitem__(self, index: int) -> Any:
        x = self.stack[index] + 1
        column = x[:, 0]
        column += np.random.rand()
        return x


class Own(Data):
    """It changes its own array: each sample and epoch has other numbers."""

    def __getitem__(self, index: int) -> Any:
        x = self.flat[index]
        x *= random.uniform(0.9, 1.1)
        return x.copy()


class Grows(Data):
    """int64 += float64 is an error, and so is what has another shape."""

    def __getitem__(self, index: int) -> Any:
        x = self.nplabels[index : index + 1] + 1
        x += random.random()
        return x


class Deviation(Data):
    """numpy refuses a deviation below 0."""

    def __getitem__(self, index: int) -> Any:
        return self.flat[index] + np.random.normal(0, random.uniform(-0.2, 1), self.flat.shape[1])


class Range(Data):
    """numpy refuses one that is too wide for a float."""

    def __getitem__(self, index: int) -> Any:
        wide = np.random.uniform(0, 1e308) + 1e308 * (random.random() < 0.9)
        return self.flat[index] * np.random.uniform(-wide, 1e308, self.flat.shape[1]), np.random.uniform(-wide, wide)


class Product(Data):
    """By zero now and then, of which numpy warns."""

    def __getitem__(self, index: int) -> Any:
        return self.flat[index] / np.where(np.random.rand(1) < 0.3, 0, 1.5)


class Ragged(Data):
    """Rows that differ in length are no batch."""

    def __getitem__(self, index: int) -> Any:
        return self.rows[index], random.random()


class RaggedCopy(Data):
    def __getitem__(self, index: int) -> Any:
        return torch.from_numpy(self.rows[index].copy()) * 2, random.random()


class RaggedPartner(Data):
    def __getitem__(self, index: int) -> Any:
        return self.trows[random.randrange(COUNT)].float(), self.labels[index]


class Few(Data):
    """Of fewer than 16 normal numbers, and of a size that is drawn, torch.randn is none of Go's draws."""

    def __getitem__(self, index: int) -> Any:
        k = 1 if random.random() < 0.5 else self.stack.shape[1]
        return self.tstack[index] * torch.randn(k, 1)


@pytest.mark.parametrize(
    "made",
    [Few, Ragged, RaggedCopy, RaggedPartner, Alias, View, Part, Own, Grows, Deviation, Range, Product],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value", "ignore:overflow")
def test_what_may_be_otherwise_is_pythons(made: Any) -> None:
    dataset = made()
    native = goloader.DataLoader(dataset, batch_size=4, num_workers=1).explain().native
    assert native == (made in (Deviation, Range, Product, RaggedCopy))
    check(dataset, native=native, workers=(0, 2) if made is not Own else (2,), batch_size=3)


_OTHERS: dict[str, Any] = {"random": random}  # of another module, whose numbers are objects of their own
exec("def doubled(x):\n    return x * 2 if random.random() < 0.5 else x", _OTHERS)


class InTwo(Data):
    """The same number in two functions."""

    doubled = staticmethod(_OTHERS["doubled"])

    def __getitem__(self, index: int) -> Any:
        x = self.doubled(self.flat[index])
        return x + 1 if random.random() < 0.5 else x


def test_an_error_behind_one_number_of_two_functions() -> None:
    twins.check(twins.Program(twins.loader_of(InTwo(), sampler=[0, COUNT, 2], num_workers=2)))


@pytest.mark.parametrize("made", [Scaled, Noisy])
def test_another_generator_of_numpys(made: Any) -> None:
    """It takes the place of numpy's own after a batch: torch goes on with it, and so do we."""
    own = np.random.get_bit_generator()  # type: ignore[attr-defined]

    def run(kind: Any) -> list[Any]:
        twins.seed(0)
        batches = iter(kind(made(), batch_size=5))
        try:
            found = [next(batches)]
            np.random.set_bit_generator(np.random.PCG64(3))  # type: ignore[attr-defined]
            return [twins.bits([*found, *batches]), np.random.rand(), random.random()]
        finally:
            np.random.set_bit_generator(own)  # type: ignore[attr-defined]

    assert run(goloader.DataLoader) == run(data.DataLoader)


class Shares(Data):
    """Rows of the dataset's own memory, beside what is drawn."""

    def __getitem__(self, index: int) -> Any:
        return self.tstack[index], torch.rand(3)


class SharesOneWay(Data):
    def __getitem__(self, index: int) -> Any:
        x = self.tstack[index]
        if random.random() < 0.5:
            x = x * 2
        return x, torch.rand(3)


class SharesAnother(Data):
    def __getitem__(self, index: int) -> Any:
        x = torch.from_numpy(self.flat[random.randrange(COUNT)])
        return x, x[2:5]


class Twice(Data):
    """Each has the same memory, of the sample alone."""

    def __getitem__(self, index: int) -> Any:
        x = self.tstack[index] * torch.rand(4)
        return x, x


class TwiceOneWay(Data):
    def __getitem__(self, index: int) -> Any:
        x = self.tstack[index] * torch.rand(4)
        y = x if random.random() < 0.5 else x * 2
        return x, y


class PartOfAnother(Data):
    def __getitem__(self, index: int) -> Any:
        s = torch.rand(4)
        return s, s[1:], self.tstack[index] * s


class AllAlone(Data):
    def __getitem__(self, index: int) -> Any:
        y = self.tstack[index].clone()
        y += torch.rand(4)
        return self.tstack[index] * random.random(), y, torch.rand(3)


_SHARE = [Shares, SharesOneWay, SharesAnother, Twice, TwiceOneWay, PartOfAnother]


def _changed_and_stacked(samples: list[Any]) -> Any:
    for sample in samples:
        for each in sample:
            each += 1
    return data.default_collate(samples)


def _epochs(kind: Any, dataset: Any, collate: Any) -> list[Any]:
    """Batches of two epochs, each before and after they are changed in place."""
    twins.seed(0)
    events = []
    for _ in range(2):
        for batch in kind(dataset, batch_size=4, collate_fn=collate):
            events.append(twins.bits(batch))
            for sample in batch:
                for each in sample:
                    each += 1
            events.append(twins.bits(batch))
    return [*events, twins.bits([dataset.tstack, dataset.flat])]


@pytest.mark.parametrize("collate", [list, _changed_and_stacked])
@pytest.mark.parametrize("made", [*_SHARE, AllAlone])
def test_samples_share_memory_where_torchs_do(made: Any, collate: Any) -> None:
    collate_fn = (lambda samples: samples) if collate is list else collate
    assert _epochs(goloader.DataLoader, made(), collate_fn) == _epochs(data.DataLoader, made(), collate_fn)
    loader = goloader.DataLoader(made(), batch_size=4, collate_fn=collate_fn)
    assert loader.explain().native == (made is AllAlone)


# Lines about an array x, in which {n} is a number.
_ARRAYS = [
    "x = x * random.uniform(0.5, 1.5)",
    "x = x + np.random.normal(0, 0.1, x.shape)",
    "x = x + np.random.normal({n}, random.random() + 0.1, size=x.shape).astype(np.float32)",
    "if random.random() < 0.5: x = x[::-1].copy()",
    "if np.random.rand() < 0.3: x = x * 2\n    else: x = x - np.random.randn()",
    "x = x.copy()\n    x += np.random.rand(len(x))",
    "x = np.where(np.random.rand(*x.shape) < 0.3, {n}, x)",
    "s = random.random()\n    x = x * s + (1 - s) * self.flat[random.randint(0, len(self.flat) - 1)]",
    "x -= np.random.uniform(-1, {n})",
    "y = x\n    y *= 2",
    "x = (x + 1).astype(np.float64)",
    "x = x * np.random.choice([0.5, {n}, 2.0])",
    "if self.labels[index] > 1:\n        k = np.random.uniform(1, 2)\n        x = x / k",
    "x = np.clip(x, -{n} - random.random(), 1)",
    "for _ in range(2): x = x + np.random.standard_normal(x.shape) * {n}",
]
_TENSORS = [
    "x = x * random.uniform(0.5, 1.5)",
    "x = x + torch.rand(x.shape) * {n}",
    "x = x * (torch.rand(*x.shape) > 0.25)",
    "if torch.rand(1) < 0.5: x = x.flip(0)",
    "if random.random() < 0.5: x = -x\n    else: x = x + torch.rand(1)",
    "x = x.clone()\n    x += {n} * torch.rand(x.shape[0])",
    "x = torch.where(torch.rand(x.size(0)) < 0.3, x, torch.zeros(x.shape[0]))",
    "x /= random.uniform(1, 2)",
    "y = x\n    y -= 1",
    "x = x.double() * np.random.normal(0, 1)",
    "x = torch.clamp(x, min=-{n})",
    "x = x.masked_fill((torch.rand(x.shape) < 0.4) * (x > 0), {n})",
    "x = x * torch.bernoulli(torch.full(x.shape, 0.6))",
    "m = torch.bernoulli(torch.full((len(x),), 0.3)).bool() | (x < 0)\n    x = x.masked_fill(m + (x > 1), -{n})",
    "s = torch.rand(1).item()\n    y = self.flat[random.randrange(COUNT)]\n    x = s * x + torch.tensor(y)",
]


@pytest.mark.parametrize("seed", range(20))
def test_random_code(seed: int) -> None:
    rng = random.Random(seed)
    native = 0
    for _ in range(6):
        tensors = rng.random() < 0.4
        first = rng.choice(
            ["self.flat[index].copy()", "self.flat[random.randrange(COUNT)].copy()", "self.flat[index] * 2"]
        )
        lines = [f"x = torch.from_numpy({first})" if tensors else f"x = {first}"]
        lines += rng.choices(_TENSORS if tensors else _ARRAYS, k=rng.randint(1, 4))
        source = "def __getitem__(self, index):\n    " + "\n    ".join(lines) + "\n    return x, self.labels[index]"
        source = source.replace("{n}", rng.choice(["0", "0.5", "1", "0.25"]))

        def dataset_of(getitem: Any) -> Any:
            return type("Written", (Data,), {"__getitem__": getitem})(seed)

        names = {"np": np, "torch": torch, "random": random, "COUNT": COUNT}
        native += twins.check_code(source, names, dataset_of, None)
    assert native
