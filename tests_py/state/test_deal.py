"""The rule by which what is left of an epoch is dealt to another number of ranks, without loaders and processes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import DistributedSampler

from goloader.samplers import BalancedSampler, LengthBatchSampler, MixtureSampler, NumberedSampler, WeightedSampler
from goloader.state.deal import Rest


def whole(samples: int) -> Rest:
    return Rest.of({"samples": samples})


def dealt(left: list[int], rank: int, ranks: int, drop_last: bool) -> list[int]:
    """What torch's sampler deals of a list."""
    if not left:
        return []
    sampler: Any = DistributedSampler(left, ranks, rank, shuffle=False, drop_last=drop_last)  # type: ignore[arg-type]
    return [left[place] for place in sampler]


@settings(max_examples=400)
@given(st.data())
def test_a_rest_is_dealt_as_torch_deals_a_list_of_it(data: st.DataObject) -> None:
    samples = data.draw(st.integers(1, 60))
    rest, left = whole(samples), list(range(samples))
    for _ in range(data.draw(st.integers(1, 4))):
        ranks, drop_last = data.draw(st.integers(1, 9)), data.draw(st.booleans())
        shares = [dealt(left, rank, ranks, drop_last) for rank in range(ranks)]
        assert [rest.share(rank, ranks, drop_last).tolist() for rank in range(ranks)] == shares
        assert len(rest) == len(left) and {rest.each(ranks, drop_last)} == {len(share) for share in shares}
        together = data.draw(st.booleans())
        step = data.draw(st.integers(0, len(shares[0])))
        taken = [step if together else data.draw(st.integers(0, len(share))) for share in shares]
        seen = {place for share, count in zip(shares, taken, strict=True) for place in share[:count]}
        left = [place for place in left if place not in seen]
        rest = rest.after(taken)
    assert rest.share(0, 1, False).tolist() == left


def test_a_thousand_ranks_of_one_step_leave_two_numbers() -> None:
    rest = whole(1_000_003)
    for ranks, steps in ((1000, 7), (999, 3), (1024, 50), (1, 11)):
        rest = rest.after([steps] * ranks)
        assert not len(rest.early)
    seen = 1000 * 7 + 999 * 3 + 1024 * 50 + 11
    assert (rest.begin, len(rest)) == (seen, 1_000_003 - seen)
    counts = np.zeros(1_000_003, np.int64)
    for rank in range(1000):
        np.add.at(counts, rest.share(rank, 1000, False), 1)
    assert not counts[:seen].any() and counts[seen:].min() == 1 and counts.sum() == -(-len(rest) // 1000) * 1000


def numbered(kind: type[NumberedSampler], **ranks: int) -> NumberedSampler:
    torch.manual_seed(0)
    if kind is WeightedSampler:
        return WeightedSampler(torch.rand(50), 40_000, seed=3, **ranks)
    if kind is BalancedSampler:
        return BalancedSampler([0, 1, 1, 2] * 10, 40_000, seed=3, **ranks)
    if kind is MixtureSampler:
        return MixtureSampler([700, 40, 1000], [0.5, 1, 2], 40_000, seed=3, **ranks)
    return LengthBatchSampler(torch.randint(1, 99, (900,)).numpy(), 7, seed=3, **ranks)


@pytest.mark.parametrize("kind", [WeightedSampler, BalancedSampler, MixtureSampler, LengthBatchSampler])
def test_draws_are_found_by_their_numbers(kind: type[NumberedSampler]) -> None:
    alone = numbered(kind)
    draws: Any = np.concatenate(list(alone.arrays()))
    seed = alone.state_dict()["seed"]
    among = numbered(kind, num_replicas=3, rank=1)
    for numbers in (torch.randperm(len(draws)).numpy()[:500], np.arange(len(draws) - 5, len(draws)), np.arange(0)):
        assert among.at(seed, numbers).tolist() == draws[numbers].tolist()
