"""Weighted, balanced and mixed draws: the same in torch's loader and ours, resumable, shared by ranks."""

from __future__ import annotations

import copy
import itertools
import pickle
import resource
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils import data
from torch.utils.data import ConcatDataset, TensorDataset

import goloader
from goloader.samplers import BalancedSampler, MixtureSampler, NumberedSampler, ShuffledSampler, WeightedSampler

ROWS = 30
SAMPLERS: dict[str, Callable[..., NumberedSampler]] = {
    "weighted": lambda **options: WeightedSampler(torch.arange(ROWS).float(), 100, **options),
    "weighted, float64": lambda **options: WeightedSampler(np.linspace(0, 1, ROWS), **options),
    "weighted, list": lambda **options: WeightedSampler([1, 0, 3] * 10, 17, **options),
    "shuffled": lambda **options: ShuffledSampler(ROWS, 101, **options),
    "balanced": lambda **options: BalancedSampler([0] * 20 + [7] * 9 + [-1], 61, **options),
    "mixture": lambda **options: MixtureSampler([10, 5, 15], [0.2, 0.7, 0.1], 101, **options),
}
EACH = pytest.mark.parametrize("name", SAMPLERS)


def dataset() -> TensorDataset:
    return TensorDataset(torch.arange(ROWS))


def seen(loader: Any) -> list[list[int]]:
    return [batch.tolist() for (batch,) in loader]


@EACH
@pytest.mark.parametrize("num_workers", [0, 2])
def test_torchs_loader_and_ours_get_the_same(name: str, num_workers: int) -> None:
    def epochs(kind: Any, **options: Any) -> Any:
        torch.manual_seed(3)
        if "generator" in options:
            options["generator"] = torch.Generator().manual_seed(5)
        sampler = SAMPLERS[name](**options)
        loader = kind(dataset(), batch_size=7, sampler=sampler, num_workers=num_workers)
        result = []
        for epoch in range(2):
            sampler.set_epoch(epoch)
            result += [seen(loader), len(loader), sampler.state_dict(), torch.get_rng_state().tolist()]
        return result

    for options in {}, {"generator": True}, {"seed": 11}, {"seed": 11, "num_replicas": 3, "rank": 1}:
        ours, theirs = epochs(goloader.DataLoader, **options), epochs(data.DataLoader, **options)
        assert ours == theirs
        assert ours[0] != ours[4], "every epoch is another"
        assert len(ours[0]) == ours[1]
    loader: Any = goloader.DataLoader(dataset(), sampler=SAMPLERS[name]())
    assert "its draws are made in Go" in str(loader.explain())


@EACH
def test_the_rest_of_an_epoch_comes_after_a_state_is_loaded(name: str) -> None:
    for taken in 0, 1, 7, 16, 17:
        first = SAMPLERS[name](seed=2)
        first.set_epoch(4)
        whole = list(first)
        iterator = iter(first)
        begun = list(itertools.islice(iterator, taken))
        state = first.state_dict() if taken else {**first.state_dict(), "taken": 0}
        second = SAMPLERS[name]()
        second.load_state_dict(pickle.loads(pickle.dumps(state)))
        assert begun + list(second) == whole
        assert len(list(second)) == len(whole), "the next epoch is whole"
    with pytest.raises(ValueError, match="indices taken"):
        first.load_state_dict({"seed": 1, "taken": 1000, "epoch": 0})


@EACH
def test_a_loader_goes_on_where_another_stood(name: str) -> None:
    sampler = SAMPLERS[name](seed=9)
    want = seen(goloader.DataLoader(dataset(), batch_size=4, sampler=sampler))
    iterator = iter(goloader.DataLoader(dataset(), batch_size=4, sampler=sampler, num_workers=2))
    got = [next(iterator)[0].tolist() for _ in range(3)]
    state = {**sampler.state_dict(), "taken": 3 * 4}  # workers are ahead
    resumed = SAMPLERS[name]()
    resumed.load_state_dict(state)
    assert got + seen(goloader.DataLoader(dataset(), batch_size=4, sampler=resumed, num_workers=2)) == want


@EACH
def test_ranks_share_one_stream(name: str) -> None:
    whole = list(SAMPLERS[name](seed=1))
    ranks = [list(SAMPLERS[name](seed=1, num_replicas=3, rank=rank)) for rank in range(3)]
    assert {len(rank) for rank in ranks} == {-(-len(whole) // 3)}
    assert [index for row in zip(*ranks, strict=True) for index in row][: len(whole)] == whole


@EACH
def test_copies_and_pickles(name: str) -> None:
    sampler = SAMPLERS[name](seed=1)
    want = list(sampler)
    for other in copy.copy(sampler), copy.deepcopy(sampler), pickle.loads(pickle.dumps(sampler)):
        assert list(other) == want


def test_chances() -> None:
    count = 20_000
    drawn = Counter(WeightedSampler([1.0, 0.0, 3.0], count, seed=0))
    assert set(drawn) == {0, 2}
    assert abs(drawn[2] - 0.75 * count) < 6 * (count * 0.75 * 0.25) ** 0.5
    labels = [5] * 98 + [6, 7]
    drawn = Counter(labels[index] for index in BalancedSampler(labels, count, seed=0))
    assert all(abs(drawn[label] - count / 3) < 6 * (count * 2 / 9) ** 0.5 for label in (5, 6, 7))


def test_a_shuffle_has_each_index_once_and_begins_again() -> None:
    for length in (1, 2, 3, 16, 17, 1000):
        drawn = list(ShuffledSampler(length, 3 * length, seed=length))
        passes = [drawn[at : at + length] for at in range(0, 3 * length, length)]
        assert all(sorted(each) == list(range(length)) for each in passes)
        assert length < 16 or len(set(map(tuple, passes))) == 3
    firsts = Counter(next(iter(ShuffledSampler(10, seed=seed))) for seed in range(5000))
    assert all(abs(firsts[index] - 500) < 6 * (5000 * 0.1 * 0.9) ** 0.5 for index in range(10))


@pytest.mark.slow
def test_a_thousand_ranks_share_ten_billion_samples(capsys: pytest.CaptureFixture[str]) -> None:
    """Ranks' draws are disjoint, those of one rank that has all, and go on anywhere; time and memory are printed."""
    samples, ranks, at_once = 10**10, 1000, 500
    whole = ShuffledSampler(samples, seed=5)
    begun, peak = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    drawn = np.empty((at_once, ranks), np.int64)
    for taken in (0, 7_654_321, 10**7 - at_once):
        for rank in range(ranks):
            one = ShuffledSampler(samples, seed=5, num_replicas=ranks, rank=rank)
            assert len(one) == 10**7
            seed = int(one.state_dict()["seed"])
            one.load_state_dict({"seed": seed, "taken": taken, "epoch": 0})
            drawn[:, rank] = next(one.arrays(at_once))
        assert len(np.unique(drawn)) == drawn.size
        assert 0 <= drawn.min() < samples / 1000
        assert samples - samples / 1000 < drawn.max() < samples
        whole.load_state_dict({"seed": seed, "taken": taken * ranks, "epoch": 0})
        assert (next(whole.arrays(drawn.size)) == drawn.ravel()).all()
    took, grown = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
    assert grown < 256 << 10  # KiB: of the arrays here
    with capsys.disabled():
        print(f"\n1,000 ranks, {3 * drawn.size:,} draws of 10 billion twice: {took:.1f} s, {grown / 1024:.0f} MiB more")


def test_a_mixture_of_datasets() -> None:
    parts = [TensorDataset(torch.full((n,), k)) for k, n in enumerate((50, 3, 20))]
    sampler = MixtureSampler(parts, [1, 2, 1], 400, seed=0)
    loader: Any = goloader.DataLoader(ConcatDataset(parts), batch_size=8, sampler=sampler)
    for (batch,) in loader:  # each batch has the proportions
        assert batch.bincount(minlength=3).tolist() == [2, 4, 2]
    indices = list(sampler)
    small = [index for index in indices if 50 <= index < 53]
    assert all(set(small[k : k + 3]) == {50, 51, 52} for k in range(0, len(small) - 2, 3))


def test_more_weights_than_torch_takes() -> None:
    weights = np.zeros((1 << 24) + 3, np.float32)
    weights[[5, len(weights) - 1]] = 1, 2
    with pytest.raises(RuntimeError, match="2\\^24"):
        torch.multinomial(torch.from_numpy(weights), 3, True)
    drawn = Counter(WeightedSampler(weights, 3000, seed=0))
    assert set(drawn) == {5, len(weights) - 1}
    assert 1700 < drawn[len(weights) - 1] < 2300


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: WeightedSampler([]), "num_samples should be a positive"),
        (lambda: ShuffledSampler([]), "num_samples should be a positive"),
        (lambda: list(ShuffledSampler(0, 5)), "shuffled sampler: 0 samples"),
        (lambda: WeightedSampler([[1.0]]), "1d sequence"),
        (lambda: list(WeightedSampler([0.0, 0.0])), "a sum of 0"),
        (lambda: list(WeightedSampler([1.0, -1.0])), "weight 1 is -1"),
        (lambda: list(WeightedSampler([float("nan")])), "weight 0 is NaN"),
        (lambda: WeightedSampler([1.0], 0), "num_samples should be a positive"),
        (lambda: WeightedSampler([1.0], 1, num_replicas=2), "one seed"),
        (lambda: WeightedSampler([1.0], 1, seed=1, num_replicas=2, rank=2), "Invalid rank"),
        (lambda: WeightedSampler([1.0], 1, seed=1, generator=torch.Generator()), "mutually exclusive"),
        (lambda: BalancedSampler([0.5]), "of integers"),
        (lambda: BalancedSampler([[1]]), "1d sequence"),
        (lambda: MixtureSampler([1, 2], [1.0]), "1 weights for 2 sources"),
        (lambda: MixtureSampler([1, 0], [1.0, 1.0]), "source 1 has 0 samples"),
        (lambda: MixtureSampler([1, 1], [0.0, 0.0]), "a sum of 0"),
    ],
)
def test_what_cannot_be_drawn_is_refused(make: Callable[[], Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        make()
