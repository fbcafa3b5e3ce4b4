"""A loader that goes on from a state gives what the loader that gave the state gives: every bit, in later epochs too.

A run is interrupted at random places, its state goes through JSON or torch.save, and a loader made anew goes on.
Whatever happened to the process's random generators in between, only what the user restores of them counts: resuming
itself draws nothing.
"""

from __future__ import annotations

import copy
import itertools
import json
import multiprocessing
import pickle
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms as T
import twins
from PIL import Image
from resumed import by_json, by_torch, check, flat, maker, process, seeded, take
from torch.utils import data
from torchvision.datasets import ImageFolder

import goloader
from goloader import DataLoader, StatefulDataLoader
from goloader.samplers import WeightedSampler
from goloader.state.samplers import RandomSampler
from tests_py import fresh
from tests_py.torch_suite.stateful.distributed_sampler import StatefulDistributedSampler


class Rows(data.Dataset[Any]):
    """A dataset of the user's: the index and something random."""

    def __init__(self, length: int = 30) -> None:
        self.length, self.loads = length, 0

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        self.loads += 1
        assert type(index) is int
        return index, torch.rand(2)


class Shuffled(data.Sampler[int]):
    """Draws from all of the process's generators, when iter() is called or when the first index is wanted."""

    def __init__(self, length: int, lazy: bool) -> None:
        self.length, self.lazy = length, lazy

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[int]:
        return self.draw() if self.lazy else iter(list(self.draw()))

    def draw(self) -> Iterator[int]:
        order = torch.randperm(self.length).tolist()
        random.shuffle(order)
        yield from np.random.permutation(order).tolist()


class Walk(data.Sampler[int]):
    """Has a state of its own; so has its iterator, or the sampler is its only iterator."""

    def __init__(self, length: int, *, own: bool) -> None:
        self.length, self.own, self.epoch = length, own, 0

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Any:
        walker = Walker(self)
        return walker if self.own else self.generate()

    def generate(self) -> Iterator[int]:
        for at in range(getattr(self, "resume", 0), self.length):
            self.at = at + 1
            yield (at * 7 + self.epoch) % self.length
        self.resume = self.at = 0
        self.epoch += 1

    def state_dict(self) -> dict[str, Any]:
        return {"epoch": self.epoch, "at": getattr(self, "at", 0)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.epoch, self.resume, self.at = state["epoch"], state["at"], state["at"]


class Walker:
    def __init__(self, walk: Walk) -> None:
        self.walk, self.at = walk, 0

    def __iter__(self) -> Walker:
        return self

    def __next__(self) -> int:
        if self.at >= self.walk.length:
            self.walk.epoch += self.at == self.walk.length
            self.at = self.walk.length + 1
            raise StopIteration
        self.at += 1
        return (self.at * 7 + self.walk.epoch) % self.walk.length

    def state_dict(self) -> dict[str, Any]:
        return {"at": self.at}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.at = state["at"]


class Skipping(data.BatchSampler):
    """accelerate's way: a subclass without a sampler of its own."""

    def __init__(self, batches: data.BatchSampler) -> None:
        self.batches = batches

    def __len__(self) -> int:
        return len(self.batches) - 1

    def __iter__(self) -> Iterator[Any]:
        return itertools.islice(self.batches, 1, None)


class Mixing(data.BatchSampler):
    """Draws, which its sampler does not."""

    def __iter__(self) -> Iterator[Any]:
        batches = list(super().__iter__())
        random.shuffle(batches)
        return iter(batches)


class Yielding(Mixing):
    """Draws too, and nothing before its first batch is wanted."""

    def __iter__(self) -> Iterator[Any]:
        yield from super().__iter__()


def weighted(generator: torch.Generator | None = None, *, replacement: bool = True) -> Any:
    return data.WeightedRandomSampler(torch.arange(1.0, 31.0), 30 if replacement else 28, replacement, generator)


# Arguments of the loader; functions are called for each loader, with the dataset.
ORDERS: dict[str, dict[str, Any]] = {
    "sequential": {},
    "shuffled": {"shuffle": True},
    "with a generator": {"shuffle": True, "generator": lambda _: seeded()},
    "a generator without shuffling": {"generator": lambda _: seeded()},
    "a generator of the sampler": {"sampler": lambda d: data.RandomSampler(d, generator=seeded())},
    "two generators": {
        "generator": lambda _: seeded(),
        "sampler": lambda d: data.RandomSampler(d, generator=torch.Generator().manual_seed(6)),
    },
    "with replacement": {"sampler": lambda d: data.RandomSampler(d, replacement=True, num_samples=45)},
    "several times over": {"sampler": lambda d: data.RandomSampler(d, num_samples=70, generator=seeded())},
    "a subset": {"sampler": lambda d: data.SubsetRandomSampler([3, 1, 4, 15, 9, 2, 6, 5, 13, 11, 8, 20])},
    "weighted": {"sampler": lambda _: weighted()},
    "weighted with a generator": {"sampler": lambda _: weighted(seeded(), replacement=False)},
    "distributed": {"sampler": lambda d: data.DistributedSampler(d, num_replicas=2, rank=1, seed=4)},
    "a stateful distributed sampler": {"sampler": lambda d: StatefulDistributedSampler(d, num_replicas=2, rank=0)},
    "a sampler that draws at iter()": {"sampler": lambda d: Shuffled(len(d), lazy=False)},
    "a sampler that draws at next()": {"sampler": lambda d: Shuffled(len(d), lazy=True)},
    "a sampler whose iterator has a state": {"sampler": lambda d: Walk(len(d), own=True)},
    "a sampler with a state": {"sampler": lambda d: Walk(len(d), own=False)},
    "torchdata's shuffle": {"sampler": lambda d: RandomSampler(d)},
    "weighted in Go": {"sampler": lambda _: WeightedSampler(torch.arange(1.0, 31.0), 40)},
    "weighted in Go, seeded": {"sampler": lambda _: WeightedSampler(torch.arange(1.0, 31.0), 40, seed=7)},
    "a batch sampler": {"batch_sampler": lambda d: data.BatchSampler(Shuffled(len(d), lazy=True), 4, True)},
    "a batch sampler without a sampler": {
        "batch_sampler": lambda d: Skipping(data.BatchSampler(data.RandomSampler(d), 4, False))
    },
    "a batch sampler that draws": {"batch_sampler": lambda d: Mixing(data.SequentialSampler(d), 4, False)},
    "a list of batches": {"batch_sampler": [[1, 2], [3], [4, 5, 6], [0], [7, 8]]},
    "a batch sampler that yields": {"batch_sampler": lambda d: Yielding(data.SequentialSampler(d), 4, False)},
    "one by one": {"batch_size": None, "sampler": lambda d: Shuffled(len(d), lazy=False)},
    "one by one, shuffled": {"batch_size": None, "shuffle": True},
    "the last one dropped": {"shuffle": True, "drop_last": True},
}


@pytest.mark.parametrize("num_workers", [0, 1, 2, 3])
@pytest.mark.parametrize("order", ORDERS)
def test_go_s_batches_go_on(dataset: ImageFolder, order: str, num_workers: int) -> None:
    choose = random.Random(f"{order} {num_workers}")
    length = len(maker(DataLoader, dataset, ORDERS[order])())
    for persistent in [False, True][: 1 + (num_workers > 0)]:
        make = maker(DataLoader, dataset, ORDERS[order], num_workers=num_workers, persistent_workers=persistent)
        assert make().explain().native
        for steps in {0, choose.randint(1, length - 1), choose.choice([length - 1, length])}:
            check(make, choose.randint(0, 1), steps, carry=choose.choice([by_json, by_torch]))
        check(make, choose.randint(0, 1), None)


@pytest.mark.parametrize("order", ORDERS)
def test_python_s_batches_go_on(order: str) -> None:
    dataset, choose = Rows(), random.Random(order)
    make = maker(DataLoader, dataset, ORDERS[order])
    assert not make().explain().native
    length = len(make())
    for steps in {0, choose.randint(1, length - 1), length}:
        check(make, choose.randint(0, 1), steps, carry=choose.choice([by_json, by_torch]))
    check(make, 1, None)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_state_is_small_and_no_sample_is_loaded_again(
    dataset: ImageFolder, num_workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    loader = DataLoader(dataset, 4, shuffle=True, num_workers=num_workers)
    iterator = iter(loader)
    for _ in range(6):
        next(iterator)
    state = loader.state_dict()
    assert len(json.dumps(state)) < 500
    assert state["order"]["batches"] == state["yielded"] == 6
    resumed = DataLoader(dataset, 4, shuffle=True, num_workers=num_workers)
    resumed.load_state_dict(state)
    assert len(list(resumed)) == 2
    counted = str(resumed.explain())
    assert "6 samples in 2 batches" in counted, counted

    rows = Rows()
    plain = DataLoader(rows, 3, shuffle=True)
    iterator = iter(plain)
    for _ in range(7):
        next(iterator)
    again = DataLoader(rows, 3, shuffle=True)
    again.load_state_dict(plain.state_dict())
    rows.loads = 0
    assert len(list(again)) == 3
    assert rows.loads == 9


def test_a_position_is_found_by_arithmetic_in_a_huge_dataset() -> None:
    rows = Rows(1 << 24)
    loader = DataLoader(rows, 64)
    iterator = iter(loader)
    next(iterator)
    state = loader.state_dict()
    state["goloader"]["order"] |= {"batches": (1 << 18) - 2, "taken": 64 * ((1 << 18) - 2)}
    resumed = DataLoader(rows, 64)
    resumed.load_state_dict(state)
    index, _ = next(iter(resumed))
    assert index[0] == 64 * ((1 << 18) - 2)


@pytest.mark.slow
def test_another_process_goes_on(dataset: ImageFolder) -> None:
    torch.manual_seed(3)
    loader = DataLoader(dataset, 4, shuffle=True, num_workers=2, generator=seeded())
    iterator = iter(loader)
    for _ in range(3):
        next(iterator)
    state = loader.state_dict()
    want = [images.double().sum().item() for images, _ in iterator]
    want += [images.double().sum().item() for images, _ in loader]
    script = f"""
import json, sys, torch
from goloader import DataLoader
import torchvision.transforms as T
from torchvision.datasets import ImageFolder
steps = [T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()]
dataset = ImageFolder({dataset.root!r}, T.Compose(steps))
loader = DataLoader(dataset, 4, shuffle=True, num_workers=2, generator=torch.Generator())
loader.load_state_dict(json.loads(sys.argv[1]))
print(json.dumps([images.double().sum().item() for _ in range(2) for images, _ in loader]))
"""
    out = fresh.run(script, json.dumps(state))
    assert json.loads(out.stdout) == want, out.stderr


@pytest.mark.parametrize("num_workers", [0, 2])
def test_the_most_recent_iterator_counts_also_when_it_is_gone(dataset: ImageFolder, num_workers: int) -> None:
    loader = DataLoader(dataset, 4, num_workers=num_workers)
    for _ in itertools.islice(loader, 3):
        pass
    assert loader.state_dict()["yielded"] == 3
    first, second = iter(loader), iter(loader)
    next(first)
    next(first)
    next(second)
    assert loader.state_dict()["yielded"] == 1


def test_a_state_before_the_first_iterator_is_that_of_the_next(dataset: ImageFolder) -> None:
    torch.manual_seed(2)
    loader = DataLoader(dataset, 4, shuffle=True, num_workers=2)
    state = loader.state_dict()
    want = take(loader, 2)
    resumed = DataLoader(dataset, 4, shuffle=True, num_workers=2)
    resumed.load_state_dict(state)
    assert resumed.state_dict() == state
    torch.manual_seed(2)
    assert take(resumed, 2) == want


@pytest.mark.parametrize("rng", [None, "sample"])
def test_asking_a_loader_that_has_begun_nothing_draws_nothing(rng: Any) -> None:
    """accelerate asks each loader that it is given."""
    for num_workers in (0, 2):
        generator = seeded()
        before = process(), generator.get_state()
        loader = DataLoader(Rows(), 4, shuffle=True, num_workers=num_workers, generator=generator, rng=rng)
        state = by_json(loader.state_dict())
        assert all(map(np.array_equal, map(flat, process()), map(flat, before[0])))
        assert torch.equal(generator.get_state(), before[1])
        assert not multiprocessing.active_children()
        other = torch.Generator().manual_seed(5 if rng else 6)
        again = DataLoader(Rows(), 4, shuffle=True, num_workers=num_workers, generator=other, rng=rng)
        again.load_state_dict(state)
        want, got = ([batch[0].tolist() for batch in each] for each in (loader, again))
        assert want == got


def test_an_empty_state_starts_over(dataset: ImageFolder) -> None:
    loader = DataLoader(dataset, 4)
    next(iter(loader))
    loader.load_state_dict({})
    assert len(list(loader)) == len(loader)


def test_errors_count_as_batches(dataset: ImageFolder) -> None:
    loader = DataLoader(dataset, batch_sampler=[[0, 1], [2, 99], [3], [4]], num_workers=2)
    iterator = iter(loader)
    next(iterator)
    with pytest.raises(IndexError):
        next(iterator)
    state = loader.state_dict()
    want = [twins.bits(batch) for batch in iterator]
    resumed = DataLoader(dataset, batch_sampler=[[0, 1], [2, 99], [3], [4]], num_workers=2)
    resumed.load_state_dict(state)
    assert take(resumed, 1) == [want]


def test_num_workers_may_change_where_nothing_random_depends_on_it(dataset: ImageFolder, still: ImageFolder) -> None:
    for one, other in itertools.product((0, 1, 3), repeat=2):
        loader = DataLoader(still, 4, shuffle=True, num_workers=one)
        iterator = iter(loader)
        next(iterator)
        state, want = loader.state_dict(), [twins.bits(batch) for batch in iterator]
        resumed = DataLoader(still, 4, shuffle=True, num_workers=other)
        resumed.load_state_dict(state)
        assert take(resumed, 1) == [want]

        loader = DataLoader(dataset, 4, num_workers=one)
        next(iter(loader))
        resumed = DataLoader(dataset, 4, num_workers=other)
        resumed.load_state_dict(loader.state_dict())
        if one == other:
            next(iter(resumed))
            continue
        for _ in range(2):  # it does not begin an epoch in silence
            with pytest.raises(ValueError, match=f"num_workers={one}"):
                iter(resumed)


def test_states_that_do_not_fit_are_refused(dataset: ImageFolder) -> None:
    def state_of(*args: Any, **arguments: Any) -> dict[str, Any]:
        loader = DataLoader(*args, **arguments)
        next(iter(loader))
        return loader.state_dict()

    shuffled = state_of(dataset, 4, shuffle=True, num_workers=1)
    half = data.Subset(dataset, range(15))
    for error, state, loader in (
        ("not a list", [], DataLoader(dataset)),
        ("not a state", {"epoch": 1}, DataLoader(dataset)),
        ("format 99", shuffled | {"goloader": 99}, DataLoader(dataset)),
        ("not a state", {k: v for k, v in shuffled.items() if k != "epoch"}, DataLoader(dataset)),
        ("RandomSampler, not a SequentialSampler", shuffled, DataLoader(dataset, 4, num_workers=1)),
        ("30 shuffled samples, this loader has 15", shuffled, DataLoader(half, 4, shuffle=True, num_workers=1)),
        (
            "generators of nothing, the loader has generators of loader",
            shuffled,
            DataLoader(dataset, 4, shuffle=True, num_workers=1, generator=torch.Generator()),
        ),
        ('without rng="sample"', shuffled, DataLoader(dataset, 4, shuffle=True, num_workers=1, rng="sample")),
    ):
        with pytest.raises(goloader.StateError, match=error):
            loader.load_state_dict(state)
            iter(loader)


def test_copies_and_pickles_carry_a_state_to_be_loaded(still: ImageFolder) -> None:
    loader = DataLoader(still, 4, shuffle=True)
    iterator = iter(loader)
    next(iterator)
    state, want = loader.state_dict(), [twins.bits(batch) for batch in iterator]
    for copied in (copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))):
        resumed = DataLoader(still, 4, shuffle=True)
        resumed.load_state_dict(state)
        assert take(copied(resumed), 1) == [want]


class Stream(data.IterableDataset[Any]):
    """Numbers; the dataset has a state, or its iterator has, or neither."""

    def __init__(self, length: int, stateful: str) -> None:
        self.length, self.epoch, self.resume, self.at = length, 0, 0, 0
        self.loads = 0
        if stateful == "dataset":
            self.state_dict = lambda: {"at": self.at, "epoch": self.epoch}
            self.load_state_dict = self.go_to
        self.stateful = stateful

    def go_to(self, state: dict[str, Any]) -> None:
        self.resume, self.epoch = state["at"], state["epoch"]

    def __iter__(self) -> Iterator[Any]:
        return Numbers(self.length) if self.stateful == "iterator" else self.generate()

    def generate(self) -> Iterator[Any]:
        start, self.resume = self.resume, 0
        for at in range(start + 1, self.length + 1):
            self.at = at
            self.loads += 1
            yield at, self.epoch
        self.at = 0
        if self.stateful == "dataset":
            self.epoch += 1


class Numbers(Walker):
    def __init__(self, length: int) -> None:
        super().__init__(Walk(length, own=True))


@pytest.mark.parametrize("stateful", ["dataset", "iterator", "nothing"])
@pytest.mark.parametrize("batch_size", [4, None])
def test_iterable_datasets_go_on(stateful: str, batch_size: int | None, caplog: pytest.LogCaptureFixture) -> None:
    def make() -> DataLoader[Any]:
        return DataLoader(Stream(22, stateful), batch_size)

    for steps in (0, 2, 5, None):
        check(make, 1 if stateful == "dataset" else 0, steps, then=1)
    assert ("once more and dropped" in caplog.text) == (stateful == "nothing")


def test_a_map_style_dataset_with_a_state_goes_on() -> None:
    class Counting(Rows):
        def state_dict(self) -> dict[str, Any]:
            return {"loads": self.loads}

        def load_state_dict(self, state: dict[str, Any]) -> None:
            self.loads = state["loads"]

        def __getitem__(self, index: int) -> Any:
            return super().__getitem__(index)[0], self.loads

    check(lambda: DataLoader(Counting(), 4, shuffle=True), 1, 3, then=1)
    check(lambda: DataLoader(Counting(), 4, shuffle=True), 1, None, then=1)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_stateful_loader_goes_on(dataset: ImageFolder, num_workers: int) -> None:
    for arguments in ({}, {"generator": lambda _: seeded()}, {"batch_size": None}):
        make = maker(StatefulDataLoader, dataset, {"shuffle": True, **arguments}, num_workers=num_workers)
        for steps in (0, 3, None):
            check(make, 1, steps)


def test_an_iterator_that_is_gone_leaves_nothing_behind() -> None:
    closed = []

    class Files(data.IterableDataset[Any]):
        def __iter__(self) -> Iterator[int]:
            try:
                yield from range(10)
            finally:
                closed.append(True)

    loader = DataLoader(Files())
    for _ in loader:
        break
    assert closed, "as with torch, the user's generator ends with its iterator"


class Photos(data.Dataset[Any]):
    """Opens its images itself: door 2."""

    steps = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])

    def __init__(self, root: Path) -> None:
        self.files = sorted(root.rglob("*.jp*g"))

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Any:
        with Image.open(self.files[index]) as image:
            return self.steps(image.convert("RGB")), index


@pytest.mark.parametrize("rng", [None, "sample"])
def test_datasets_that_are_traced_go_on(root: Path, rng: Any) -> None:
    make = maker(DataLoader, Photos(root), {"shuffle": True}, rng=rng)
    check(make, 1, 3)
    check(make, 0, None)
    plain = maker(DataLoader, Photos(root), {"shuffle": True}, rng=rng, trace=False)
    torch.manual_seed(5)
    want = take(plain(), 2)
    torch.manual_seed(5)
    loader = make()
    assert take(loader, 2) == want
    assert "Go" in str(loader.explain()), "nothing was traced"
