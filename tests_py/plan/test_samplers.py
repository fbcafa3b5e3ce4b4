"""plan/samplers.py: step by step, index_batches gives torch's batches and leaves every generator as torch would."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

from goloader.plan.samplers import Foreign, describe, index_batches

SEED = 11


class Both:
    """Two equal loaders with generators of their own, walked side by side: one by torch's sampler, one by ours."""

    def __init__(self, make: Callable[[torch.Generator | None], Any], *, generator: bool) -> None:
        self.generators = [torch.Generator().manual_seed(5) if generator else None for _ in range(2)]
        self.loaders = [make(each) for each in self.generators]
        self.states = [torch.Generator().manual_seed(SEED).get_state() for _ in range(2)]

    def on(self, side: int, call: Callable[[], Any]) -> Any:
        """Run with that side's global generator."""
        kept = torch.get_rng_state()
        torch.set_rng_state(self.states[side])
        try:
            return call()
        except Exception as error:
            return type(error), str(error)
        finally:
            self.states[side] = torch.get_rng_state()
            torch.set_rng_state(kept)

    def check_states(self) -> None:
        assert torch.equal(*self.states)
        one, other = self.generators
        if one is not None and other is not None:
            assert torch.equal(one.get_state(), other.get_state())

    def epoch(self, steps: int | None = None) -> list[Any]:
        """Walk both, at most `steps` pulls, the end and one pull behind it included."""
        ours: Any = self.on(0, lambda: index_batches(self.loaders[0]))
        theirs: Any = self.on(1, lambda: iter(self.loaders[1]._index_sampler))
        self.check_states()
        seen = []
        if isinstance(ours, tuple) or isinstance(theirs, tuple):
            assert ours == theirs
            return []
        ended = 0
        while ended < 2 and (steps is None or len(seen) < steps):
            got = self.on(0, lambda: next(ours, None))
            want = self.on(1, lambda: next(theirs, None))
            self.check_states()
            if want is None or isinstance(want, tuple):
                assert got == want if not isinstance(got, np.ndarray) else False
                ended += 1
                continue
            if isinstance(got, Foreign):
                assert set(map(type, want if isinstance(want, list) else [want])) & {np.int64, torch.Tensor}
                got = got.ints
            assert isinstance(got, np.ndarray)
            assert got.dtype == np.int64
            assert got.tolist() == (list(map(int, want)) if isinstance(want, list) else int(want))
            seen.append(got)
        return seen


class Sized:
    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: Any) -> Any:
        return index


@st.composite
def samplers(draw: st.DrawFn) -> Callable[[torch.Generator | None], Any]:
    n = draw(st.integers(1, 150))
    count = draw(st.integers(1, 200))
    kind = draw(
        st.sampled_from(["sequential", "random", "replacement", "count", "subset", "weighted", "distributed", "list"])
    )
    data = Sized(n)
    indices = draw(st.lists(st.integers(-n, n - 1), max_size=40))
    form = draw(st.sampled_from([list, tuple, np.array, torch.tensor]))
    replace = draw(st.booleans())
    shards = draw(st.integers(1, 7))
    rank = draw(st.integers(0, shards - 1))
    shuffle, drop = draw(st.booleans()), draw(st.booleans())

    def make(generator: torch.Generator | None) -> Any:
        match kind:
            case "sequential":
                return SequentialSampler(data)
            case "random":
                return RandomSampler(data, generator=generator)
            case "replacement":
                return RandomSampler(data, True, count, generator)
            case "count":
                return RandomSampler(data, False, count, generator)
            case "subset":
                return SubsetRandomSampler(form(indices) if indices else [], generator)
            case "weighted":
                weights = np.random.default_rng(n).random(n) + 0.01
                return WeightedRandomSampler(weights, count if replace else min(count, n), replace, generator)
            case "distributed":
                sampler = DistributedSampler(data, shards, rank, shuffle, seed=3, drop_last=drop)
                sampler.set_epoch(n)
                return sampler
            case _:
                return indices

    return make


@given(samplers(), st.integers(1, 40), st.booleans(), st.booleans(), st.integers(0, 8))
@settings(max_examples=300)
def test_batches_and_draws_are_torchs(make: Any, size: int, drop: bool, generator: bool, steps: int) -> None:
    both = Both(
        lambda g: DataLoader(Sized(150), batch_size=size, sampler=make(g), drop_last=drop, generator=g),
        generator=generator,
    )
    both.epoch()
    both.epoch(steps)
    both.epoch()


@given(samplers(), st.booleans(), st.integers(0, 8))
@settings(max_examples=100)
def test_single_indices_and_draws_are_torchs(make: Any, generator: bool, steps: int) -> None:
    both = Both(lambda g: DataLoader(Sized(150), batch_size=None, sampler=make(g), generator=g), generator=generator)
    both.epoch(steps)
    both.epoch()


@pytest.mark.parametrize("generator", [False, True])
@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize(("n", "size"), [(0, 4), (1, 4), (4, 4), (8, 4), (9, 4), (11, 4), (3, 50)])
def test_shuffle_draws_one_more_permutation_at_the_end(n: int, size: int, drop: bool, generator: bool) -> None:
    if n == 0:
        both = Both(lambda g: DataLoader(Sized(0), batch_size=size, drop_last=drop), generator=generator)
    else:
        both = Both(lambda g: DataLoader(Sized(n), size, True, drop_last=drop, generator=g), generator=generator)
    for _ in range(3):
        both.epoch()


def test_draws_come_at_the_first_pull() -> None:
    loader = DataLoader(Sized(10), 4, True)
    torch.manual_seed(0)
    before = torch.get_rng_state()
    batches = index_batches(loader)
    assert torch.equal(torch.get_rng_state(), before)
    next(batches)
    assert not torch.equal(torch.get_rng_state(), before)


def test_many_draws_with_replacement() -> None:
    both = Both(
        lambda g: DataLoader(Sized(1000), 1000, sampler=RandomSampler(Sized(1000), True, 70_001, g)), generator=False
    )
    assert sum(map(len, both.epoch())) == 70_001


def test_a_long_sequence_crosses_chunks() -> None:
    both = Both(lambda g: DataLoader(Sized(70_001), 30_000), generator=False)
    assert sum(map(len, both.epoch())) == 70_001


def test_lengths_are_looked_up_when_torch_looks() -> None:
    for size in (4, None):
        data = [Sized(10), Sized(10)]
        loaders = [DataLoader(each, size) for each in data]
        ours, theirs = index_batches(loaders[0]), iter(loaders[1]._index_sampler)
        for each in data:
            each.length = 6
        assert [each.tolist() for each in ours] == list(theirs)  # type: ignore[union-attr]


def test_set_epoch_is_seen_when_torch_sees_it() -> None:
    for size in (4, None):
        sampler = DistributedSampler(Sized(20), 2, 1)
        loader = DataLoader(Sized(20), size, sampler=sampler)
        ours, theirs = index_batches(loader), iter(loader._index_sampler)
        sampler.set_epoch(3)
        assert [each.tolist() for each in ours] == list(theirs)  # type: ignore[union-attr]


def test_batch_size_is_read_as_torch_reads_it() -> None:
    loaders = [DataLoader(Sized(20), 4), DataLoader(Sized(20), 4)]
    ours, theirs = index_batches(loaders[0]), iter(loaders[1]._index_sampler)
    for step in range(4):
        assert next(ours).tolist() == next(theirs)  # type: ignore[union-attr]
        for loader in loaders:
            loader.batch_sampler.batch_size = 3 + step  # type: ignore[union-attr]


def test_batches_are_arrays_of_their_own() -> None:
    for sampler in (SequentialSampler(Sized(9)), RandomSampler(Sized(9)), [np.arange(3)]):
        arguments = {"batch_sampler": sampler} if isinstance(sampler, list) else {"sampler": sampler, "batch_size": 3}
        batches: Any = list(index_batches(DataLoader(Sized(9), **arguments)))
        batches = [batch.ints if isinstance(batch, Foreign) else batch for batch in batches]
        kept = [batch.copy() for batch in batches]
        for batch in batches:
            assert batch.flags.writeable
            batch[:] = -1
        assert all((batch >= 0).all() for batch in kept)


class Mine(RandomSampler):
    def __iter__(self) -> Iterator[int]:
        return iter([3, 1, 2])


class Angry:
    """An iterator that raises once and goes on."""

    def __init__(self) -> None:
        self.step = 0

    def __iter__(self) -> Angry:
        return self

    def __next__(self) -> list[int]:
        self.step += 1
        if self.step == 2:
            raise KeyError("second")
        if self.step > 3:
            raise StopIteration
        return [self.step]


def test_samplers_of_others_are_pulled_as_torch_pulls_them() -> None:
    assert [b.tolist() for b in index_batches(DataLoader(Sized(9), 2, sampler=Mine(Sized(9))))] == [[3, 1], [2]]  # type: ignore[union-attr]

    class Doubled(BatchSampler):
        def __iter__(self) -> Iterator[list[int]]:
            return ([i, i] for i in range(2))

    loader = DataLoader(Sized(9), batch_sampler=Doubled(SequentialSampler(Sized(9)), 1, False))
    assert [b.tolist() for b in index_batches(loader)] == [[0, 0], [1, 1]]  # type: ignore[union-attr]
    batches: Any = index_batches(DataLoader(Sized(9), batch_sampler=Angry()))
    assert next(batches).tolist() == [1]
    with pytest.raises(KeyError):
        next(batches)
    assert next(batches).tolist() == [3]
    with pytest.raises(StopIteration):
        next(batches)


def test_a_generator_of_batches_is_not_read_ahead() -> None:
    pulled = []

    def batches() -> Iterator[list[int]]:
        for number in range(3):
            pulled.append(number)
            yield [number]

    ours = index_batches(DataLoader(Sized(9), batch_sampler=batches()))
    assert pulled == []
    next(ours)
    assert pulled == [0]


@pytest.mark.parametrize(
    ("batch", "ints"),
    [
        ([1, 2], True),
        ((1, 2), True),
        (range(1, 3), True),
        (np.array([1, 2]), False),
        (torch.tensor([1, 2]), False),
        ([np.int64(1), 2], False),
        ([torch.tensor(1), 2], False),
    ],
    ids=repr,
)
def test_lists_of_integers_in_any_form(batch: Any, ints: bool) -> None:
    (given,) = index_batches(DataLoader(Sized(9), batch_sampler=[batch]))
    got: Any = given
    if not ints:
        assert got.value is batch
        got = got.ints
    assert isinstance(got, np.ndarray)
    assert got.dtype == np.int64
    assert got.tolist() == [1, 2]


@pytest.mark.parametrize(
    "batch",
    [
        [],
        ["a"],
        [1.0],
        [True],
        [np.uint8(3)],
        [None],
        [2**63],
        "12",
        5,
        None,
        {1, 2},
        [[1, 2]],
        np.array([1.0]),
        [np.int32(1)],
    ],
    ids=repr,
)
def test_what_only_the_dataset_understands_is_handed_on(batch: Any) -> None:
    (got,) = index_batches(DataLoader(Sized(9), batch_sampler=[batch]))
    assert isinstance(got, Foreign)
    assert got.value is batch


def test_foreign_single_indices() -> None:
    ours = list(index_batches(DataLoader(Sized(9), None, sampler=[1, "a", np.int64(2), torch.tensor(3), [4, 5]])))  # type: ignore[arg-type]
    assert [each.value if isinstance(each, Foreign) else int(each) for each in ours] == [1, "a", 2, 3, [4, 5]]
    (single,) = index_batches(DataLoader(Sized(9), None, sampler=SubsetRandomSampler(["key"])))  # type: ignore[list-item]
    assert isinstance(single, Foreign)
    assert single.value == "key"


def test_subset_random_looks_its_list_up_batch_by_batch() -> None:
    for kind in (list, np.array, torch.tensor):
        indices = kind([10, 20, 30, 40])
        loader = DataLoader(Sized(99), 2, sampler=SubsetRandomSampler(indices, torch.Generator().manual_seed(1)))
        batches: Any = index_batches(loader)
        next(batches)
        for place in range(4):
            indices[place] = 7
        seven = next(batches)
        assert (seven if kind is list else seven.ints).tolist() == [7, 7]


def test_an_error_in_a_draw_is_torchs() -> None:
    both = Both(
        lambda g: DataLoader(Sized(9), 2, sampler=WeightedRandomSampler([0.0, 0.0], 3, True, g)), generator=True
    )
    both.epoch()
    both = Both(lambda g: DataLoader(Sized(0), 2, sampler=RandomSampler(Sized(0), False, 3, g)), generator=True)
    both.epoch()


def test_describe() -> None:
    assert describe(DataLoader(Sized(9), 2, True)) == ("BatchSampler over RandomSampler", "torch's draws, as arrays")
    assert describe(DataLoader(Sized(9), None, sampler=Mine(Sized(9)))) == ("Mine", "its own code, an int at a time")
