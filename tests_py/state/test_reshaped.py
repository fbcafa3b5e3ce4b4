"""A job that goes on with other ranks, workers or batches: what any rank has seen of an epoch is not seen again in it,
nothing is left out, and all ranks have as many steps. Ranks are loaders of one process here; test_elastic.py has real
ones."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import twins
from resumed import by_json, maker, seeded, take
from torch.utils import data
from torch.utils.data import DistributedSampler
from torchvision.datasets import ImageFolder

from goloader import DataLoader, StateError, StatefulDataLoader, TensorDataset
from goloader.distributed import gather_state
from goloader.samplers import BalancedSampler, MixtureSampler, WeightedSampler

SAMPLES = 101


class Numbers(data.Dataset[Any]):
    """A dataset of the user's that Python runs."""

    def __init__(self, length: int = SAMPLES) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        assert type(index) is int
        return torch.tensor(index)


class Drawing(Numbers):
    def __getitem__(self, index: int) -> Any:
        return index, torch.rand(())


class Counting(Numbers):
    """Has a state."""

    def state_dict(self) -> dict[str, Any]:
        return {"length": self.length}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.length = state["length"]


def rows(length: int = SAMPLES) -> TensorDataset:
    return TensorDataset(torch.arange(length))


def numbers(batch: Any) -> list[int]:
    return [int(number) for number in (batch[0] if isinstance(batch, list) else batch)]


SAMPLERS: dict[str, Callable[[Any, int, int], Any]] = {
    "shuffled": lambda dataset, ranks, rank: DistributedSampler(dataset, ranks, rank, seed=3),
    "shuffled, even": lambda dataset, ranks, rank: DistributedSampler(dataset, ranks, rank, seed=3, drop_last=True),
    "in sequence": lambda dataset, ranks, rank: DistributedSampler(dataset, ranks, rank, shuffle=False),
    "weighted": lambda dataset, ranks, rank: WeightedSampler(
        [*range(1, 1 + len(dataset))], seed=3, num_replicas=ranks, rank=rank
    ),
    "balanced": lambda dataset, ranks, rank: BalancedSampler(
        [k % 5 for k in range(len(dataset))], seed=3, num_replicas=ranks, rank=rank
    ),
    "mixture": lambda dataset, ranks, rank: MixtureSampler(
        [20, len(dataset) - 20], [2, 1], seed=3, num_replicas=ranks, rank=rank
    ),
}


class Job:
    """Loaders of ranks that step together, and the indices that they have given in an epoch."""

    def __init__(self, make: Callable[[int, int], DataLoader[Any]], ranks: int) -> None:
        self.loaders = [make(ranks, rank) for rank in range(ranks)]
        self.seen: list[list[int]] = [[] for _ in range(ranks)]

    def begin(self, epoch: int) -> None:
        for loader in self.loaders:
            loader.sampler.set_epoch(epoch)  # type: ignore[attr-defined]
        self.iterators: list[Iterator[Any]] = [iter(loader) for loader in self.loaders]

    def step(self) -> bool:
        """A step of all ranks; False at the end of the epoch, which all are to see at once."""
        got = [next(iterator, None) for iterator in self.iterators]
        for seen, batch in zip(self.seen, got, strict=True):
            seen += [] if batch is None else numbers(batch)
        assert len({batch is None for batch in got}) == 1, "not as many steps in all ranks"
        return got[0] is not None

    def state(self) -> dict[str, Any]:
        return by_json({"ranks": [loader.state_dict() for loader in self.loaders]})

    def go_on(self, state: dict[str, Any]) -> None:
        for loader in self.loaders:
            loader.load_state_dict(state)


def epoch_of(job: Job, epoch: int) -> list[list[int]]:
    """What each rank is given in a whole epoch."""
    job.begin(epoch)
    job.seen = [[] for _ in job.loaders]
    while job.step():
        pass
    return job.seen


@pytest.mark.parametrize("order", SAMPLERS)
@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_seen_twice_and_nothing_left_out(order: str, seed: int) -> None:
    choose = random.Random(f"{order} {seed}")
    dataset: Any = rows() if choose.random() < 0.5 else Numbers()
    kind = choose.choice([DataLoader, DataLoader, StatefulDataLoader])

    def make(ranks: int, rank: int) -> DataLoader[Any]:
        workers = choose.choice([0, 0, 0, 1, 3]) if ranks < 4 else 0
        return kind(dataset, batch, sampler=SAMPLERS[order](dataset, ranks, rank), num_workers=workers)

    batch, epoch, seen, left, state = 1, choose.randint(0, 2), Counter[int](), SAMPLES, {}
    parts = [choose.randint(1, 5) for _ in range(choose.randint(2, 3))]
    alone = numbers_of(SAMPLERS[order](dataset, 1, 0), epoch)
    for part, ranks in enumerate(parts):
        batch = choose.choice([1, 2, 3, 5])
        job = Job(make, ranks)
        if state:
            job.go_on(state)
        else:
            for earlier in range(epoch):
                epoch_of(job, earlier)
                job.seen = [[] for _ in job.loaders]
        job.begin(epoch)
        steps = choose.randint(0, max(0, left // (2 * ranks * batch)))
        for _ in range(steps):
            assert job.step()
        if part + 1 == len(parts):
            break
        state = job.state()
        seen += Counter(number for each in job.seen for number in each)
        left -= steps * ranks * batch
        assert sum(seen.values()) == SAMPLES - left
    while job.step():
        pass
    seen += Counter(number for each in job.seen for number in each)
    whole, ranks = Counter(alone), len(job.loaders)
    if order == "shuffled, even":
        assert not seen - whole and sum((whole - seen).values()) < ranks
    else:
        assert not whole - seen and sum((seen - whole).values()) == -left % ranks
    later, anew = epoch_of(job, epoch + 1), epoch_of(Job(make, ranks), epoch + 1)
    assert later == anew


def numbers_of(sampler: Any, epoch: int) -> list[int]:
    sampler.set_epoch(epoch)
    return list(sampler)


def stepped(job: Job, epoch: int, steps: int) -> Job:
    job.begin(epoch)
    assert all(job.step() for _ in range(steps))
    return job


@pytest.mark.slow
def test_ranks_that_stand_at_different_steps_and_ends() -> None:
    """In step or not, and one rank may have asked for a batch too many."""

    def make(ranks: int, rank: int) -> DataLoader[Any]:
        return DataLoader(Numbers(20), 2, sampler=DistributedSampler(Numbers(20), ranks, rank, seed=1))

    for steps in ((1, 3, 0), (4, 4, 3), (4, 2, 1), (5, 4, 4), (5, 5, 1), (5, 5, 5)):
        job = stepped(Job(make, 3), 0, 0)
        for ranks in range(3, 0, -1):
            while len(job.seen[ranks - 1]) < min(7, 2 * steps[ranks - 1]):
                job.seen[ranks - 1] += numbers(next(job.iterators[ranks - 1]))
            if steps[ranks - 1] == 5:
                assert next(job.iterators[ranks - 1], None) is None
        seen, state = [number for each in job.seen for number in each], job.state()
        after = Job(make, 2)
        after.go_on(state)
        over = all(count == 5 for count in steps)
        rest = epoch_of(after, 1 if over else 0)
        assert len(rest[0]) == len(rest[1])
        left = set(range(20)) - (set() if over else set(seen))
        assert set(rest[0]) | set(rest[1]) == left and len(rest[0]) == -(-len(left) // 2), steps
        assert epoch_of(after, 2) == epoch_of(Job(make, 2), 2)


def test_a_state_of_one_rank_is_enough_where_all_stand_at_one_step() -> None:
    def make(ranks: int, rank: int) -> DataLoader[Any]:
        return DataLoader(rows(), 3, sampler=DistributedSampler(rows(), ranks, rank))

    state = stepped(Job(make, 3), 2, 4).state()
    one, other = Job(make, 2), Job(make, 2)
    one.go_on(state)
    other.go_on(state["ranks"][1])
    assert epoch_of(one, 2) == epoch_of(other, 2)


def test_a_thousand_ranks_become_six_hundred() -> None:
    many = rows(60_013)

    def make(ranks: int, rank: int) -> DataLoader[Any]:
        return DataLoader(many, 9, sampler=DistributedSampler(many, ranks, rank, seed=2))

    whole = numbers_of(DistributedSampler(many, 1, 0, seed=2), 4)
    steps = {rank: 2 + (rank == 7) for rank in range(0, 1000, 7)}
    ranks: dict[int, Any] = {}
    for rank, count in steps.items():
        job = Job(lambda *_, rank=rank: make(1000, rank), 1)  # type: ignore[misc]
        ranks[rank] = stepped(job, 4, count).state()["ranks"][0]
    state = by_json({"ranks": [ranks.get(rank, ranks[0]) for rank in range(1000)]})
    seen = set(whole[: 1000 * 18]) | set(whole[18_007:27_000:1000])
    left = [number for number in whole if number not in seen]
    assert len(left) == len(whole) - 18_009
    for rank in (0, 1, 298, 599):
        job = Job(lambda *_, rank=rank: make(600, rank), 1)  # type: ignore[misc]
        job.go_on(state)
        assert epoch_of(job, 4) == [(left + left)[rank : len(left) + -len(left) % 600 : 600]]


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("kind", [DataLoader, StatefulDataLoader])
def test_a_shuffled_loader_goes_on_in_several_ranks_and_ranks_in_one(kind: Any, given: bool) -> None:
    def alone() -> DataLoader[Any]:
        torch.manual_seed(8)
        return kind(rows(), 4, True, num_workers=2, generator=seeded() if given else None)  # type: ignore[no-any-return]

    def make(ranks: int, rank: int) -> DataLoader[Any]:
        return kind(rows(), 5, sampler=DistributedSampler(rows(), ranks, rank))  # type: ignore[no-any-return]

    loader = alone()
    iterator = iter(loader)
    seen = [number for _ in range(6) for number in numbers(next(iterator))]
    state, job = by_json(loader.state_dict()), Job(make, 3)
    whole = seen + [number for batch in iterator for number in numbers(batch)]
    job.go_on(state)
    job.begin(0)
    assert job.step()
    dealt = [list(row) for row in zip(*job.seen, strict=True)]
    assert [number for row in dealt for number in row] == whole[24 : 24 + 15]

    back = alone()
    back.load_state_dict(job.state())
    assert [number for batch in back for number in numbers(batch)] == whole[24 + 15 :]
    assert sorted(number for batch in back for number in numbers(batch)) == list(range(SAMPLES))


ONE_RANK: dict[str, dict[str, Any]] = {
    "in sequence": {},
    "shuffled": {"shuffle": True},
    "its own generator": {"shuffle": True, "generator": lambda _: seeded()},
    "with replacement": {"sampler": lambda d: data.RandomSampler(d, replacement=True, num_samples=77)},
    "more than there are": {"sampler": lambda d: data.RandomSampler(d, num_samples=250, generator=seeded())},
    "a subset": {"sampler": lambda d: data.SubsetRandomSampler(range(3, 90))},
    "weighted": {"sampler": lambda d: data.WeightedRandomSampler(torch.arange(1.0, 102.0), 90)},
    "weighted in Go": {"sampler": lambda d: WeightedSampler(torch.arange(1.0, 102.0), 90)},
    "a list": {"sampler": lambda d: list(range(90, 3, -1))},
}


@pytest.mark.parametrize("order", ONE_RANK)
@pytest.mark.parametrize("kind", [DataLoader, StatefulDataLoader])
@pytest.mark.parametrize("native", [False, True])
def test_another_batch_size_goes_on_in_the_same_order(order: str, kind: Any, native: bool) -> None:
    choose = random.Random(f"{order} {kind} {native}")
    dataset: Any = rows() if native else Numbers()

    def run(now: Any, state: Any, steps: int | None, batch_size: int | None, num_workers: int) -> Any:
        """Indices of so many steps, or to the end and of an epoch more; the random and the loader's state then."""
        torch.manual_seed(1)
        loader = maker(kind, dataset, ONE_RANK[order], batch_size=batch_size, num_workers=num_workers)()
        if state is not None:
            loader.load_state_dict(by_json(state))
            torch.set_rng_state(now)
        iterator = iter(loader)
        batches = [*iterator, *loader] if steps is None else [next(iterator) for _ in range(steps)]
        found = [int(number) for batch in batches for number in torch.as_tensor(batch[0] if native else batch).ravel()]
        return found, torch.get_rng_state(), loader.state_dict()

    for num_workers in (0, 2) if native else (0,):
        whole, after, _ = run(None, None, None, 4, num_workers)
        got, now, state = run(None, None, choose.randint(0, 5), 4, num_workers)
        for batch_size in (choose.randint(1, 9), None, choose.randint(1, 9)):
            more, now, state = run(now, state, choose.randint(0, 3), batch_size, num_workers)
            got += more
        more, now, state = run(now, state, None, 4, num_workers)
        assert got + more == whole and torch.equal(now, after)


def test_augmentation_by_sample_is_the_same_for_any_shape(dataset: ImageFolder) -> None:
    """rng="sample": each sample of the epoch is what it is in an uninterrupted run of one rank."""

    def make(ranks: int, rank: int, workers: int, batch: int) -> DataLoader[Any]:
        torch.manual_seed(4)
        sampler: Any = DistributedSampler(WithIndex(dataset), ranks, rank)
        return DataLoader(WithIndex(dataset), batch, sampler=sampler, num_workers=workers, rng="sample")

    samples: list[dict[int, bytes]] = []
    for shapes in (((1, 0, 4),), ((3, 2, 1), (2, 0, 2), (5, 1, 3))):
        found, state = dict[int, bytes](), None
        for ranks, workers, batch in shapes:
            loaders = [make(ranks, rank, workers, batch) for rank in range(ranks)]
            for loader in loaders:
                loader.set_epoch(1)
                loader.sampler.set_epoch(1)  # type: ignore[attr-defined]
                if state is not None:
                    loader.load_state_dict(state)
            iterators = [iter(loader) for loader in loaders]
            for _ in range(2 if len(shapes) > 1 and ranks != 5 else 99):
                for iterator in iterators:
                    for index, image in zip(*(next(iterator, None) or ((), ())), strict=True):
                        found[int(index)] = image.numpy().tobytes()
            state = by_json({"ranks": [loader.state_dict() for loader in loaders]})
        samples.append(found)
    assert len(samples[0]) == 30 and samples[0] == samples[1]


class WithIndex(data.Dataset[Any]):
    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __len__(self) -> int:
        return len(self.inner)

    def __getitem__(self, index: int) -> Any:
        return index, self.inner[index][0]


def test_the_same_shape_goes_on_as_each_rank_alone(dataset: ImageFolder) -> None:
    """Workers draw: only as many ranks, with as many workers, go on with that, and they do bit for bit."""

    def make(ranks: int, rank: int) -> DataLoader[Any]:
        torch.manual_seed(rank)
        return DataLoader(dataset, 2, sampler=DistributedSampler(dataset, ranks, rank), num_workers=2)

    loaders = [make(3, rank) for rank in range(3)]
    iterators = [iter(loader) for loader in loaders]
    for iterator in iterators:
        next(iterator)
        next(iterator)
    state = by_json({"ranks": [loader.state_dict() for loader in loaders]})
    for rank, iterator in enumerate(iterators):
        resumed = make(3, rank)
        resumed.load_state_dict(state)
        assert [twins.bits(batch) for batch in resumed] == [twins.bits(batch) for batch in iterator]
    with pytest.raises(StateError, match="random numbers were drawn in workers"):
        make(2, 0).load_state_dict(state)


def test_accelerate_s_sampler_goes_on_in_as_many_processes_only() -> None:
    accelerate = pytest.importorskip("accelerate.data_loader", reason="accelerate is not installed")

    def make(processes: int, process: int) -> DataLoader[Any]:
        batches = data.BatchSampler(range(SAMPLES), 3, False)
        return DataLoader(Numbers(), batch_sampler=accelerate.BatchSamplerShard(batches, processes, process))

    loader = make(3, 1)
    iterator = iter(loader)
    next(iterator)
    state, resumed = by_json(loader.state_dict()), make(3, 1)
    resumed.load_state_dict(state)
    assert take(resumed, 1)[0] == [twins.bits(batch) for batch in iterator]
    with pytest.raises(StateError, match="3 ranks with a BatchSamplerShard"):
        make(2, 1).load_state_dict(state)


class Mine(DistributedSampler[Any]):
    pass


def by_ranks(
    dataset: Any = None, sampler: Any = DistributedSampler, batch_size: int = 2, **more: Any
) -> Callable[[int, int], DataLoader[Any]]:
    dataset = Numbers() if dataset is None else dataset
    return lambda ranks, rank: DataLoader(dataset, batch_size, sampler=sampler(dataset, ranks, rank), **more)


@pytest.mark.parametrize(
    ("then", "now", "why"),
    [
        (by_ranks(Drawing(), num_workers=1), by_ranks(Drawing(), num_workers=1), "were drawn in workers"),
        (by_ranks(Counting()), by_ranks(Counting()), "has its own state"),
        (by_ranks(Counting(), num_workers=1), by_ranks(Counting(), num_workers=1), "has its own state"),
        (by_ranks(sampler=Mine), by_ranks(sampler=Mine), "with a Mine"),
        (by_ranks(), by_ranks(sampler=Mine), "has a Mine for 2"),
        (by_ranks(), by_ranks(sampler=SAMPLERS["weighted"]), "cannot divide"),
        (by_ranks(sampler=SAMPLERS["weighted"]), by_ranks(sampler=SAMPLERS["balanced"]), "cannot divide"),
        (by_ranks(), by_ranks(Numbers(99)), "of 101 samples, this loader has 99"),
    ],
)
def test_what_cannot_be_carried_is_an_error_that_says_so(then: Any, now: Any, why: str) -> None:
    state = stepped_plainly(Job(then, 3)).state()
    for loader in Job(now, 2).loaders:
        with pytest.raises(StateError, match=why):
            loader.load_state_dict(state)


def stepped_plainly(job: Job) -> Job:
    job.iterators = [iter(loader) for loader in job.loaders]
    for iterator in job.iterators:
        next(iterator)
    return job


def over(epochs: int) -> list[DataLoader[Any]]:
    """A loader behind so many epochs."""
    job = Job(by_ranks(sampler=SAMPLERS["shuffled"]), 1)
    for epoch in range(epochs):
        epoch_of(job, epoch)
    return job.loaders


def test_states_that_do_not_belong_together_are_refused() -> None:
    ahead, behind = (stepped(Job(by_ranks(), 3), epoch, 2).state() for epoch in (1, 0))
    other = stepped(Job(by_ranks(sampler=SAMPLERS["shuffled"]), 3), 1, 2).state()
    for mixed in (
        {"ranks": [*ahead["ranks"][:2], behind["ranks"][2] | {"epoch": 7}]},
        {"ranks": [*ahead["ranks"][:2], other["ranks"][2]]},
        {"ranks": [loader.state_dict() for loader in (*over(1), *over(2))]},
        {"ranks": ahead["ranks"][:2]},
        {"ranks": [*ahead["ranks"], ahead["ranks"][0]]},
        {"ranks": [{"goloader": 2}] * 3},
    ):
        with pytest.raises(StateError):
            Job(by_ranks(), 5).loaders[0].load_state_dict(mixed)


def test_batches_that_would_be_made_again_in_another_size_are_refused() -> None:
    class Stream(data.IterableDataset[Any]):
        def __iter__(self) -> Iterator[int]:
            return iter(range(30))

    for make in (
        lambda size: DataLoader(Stream(), size),
        lambda size: DataLoader(Stream(), size, num_workers=1),
        lambda size: DataLoader(Counting(), size, num_workers=1),
        lambda size: DataLoader(Numbers(), batch_sampler=Halves(size)),
    ):
        loader = make(4)
        iterator = iter(loader)
        for _ in range(2):
            next(iterator)
        resumed = make(2)
        resumed.load_state_dict(loader.state_dict())
        with pytest.raises(StateError, match="batches of 4"):
            next(iter(resumed))


class Halves(data.BatchSampler):
    """Of a class that may make its batches of anything."""

    def __init__(self, size: int) -> None:
        super().__init__(range(30), size, False)


def test_without_torch_distributed_the_state_of_a_job_is_this_loader_s(tmp_path: Path) -> None:
    loader = DataLoader(rows(), 4, shuffle=True)
    iterator = iter(loader)
    next(iterator)
    state = gather_state(loader)
    assert state == {"ranks": [loader.state_dict()]}
    resumed = DataLoader(rows(), 4, shuffle=True)
    resumed.load_state_dict(by_json(state))
    assert take(resumed, 1)[0] == [twins.bits(batch) for batch in iterator]
