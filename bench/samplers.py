"""Samplers: an epoch of indices by goloader's and by what torch has for it.

    python -m bench.samplers [--rounds N] [--draws N]

What: indices a second of a whole epoch through `iter(sampler)`. Weighted: for numbers of weights up to torch's limit of
2^24, and beyond it for ours alone. Balanced and mixed: torch draws by the weights that balance a thousand classes, or
that three sources of different sizes have. By length: shuffled batches of 64 of about one length, for which torch has
batches that do not look at it.

How: in one process, the two in turn, forwards and backwards; a turn makes a new sampler, so that ours pays for its
table and torch for its sums. Ratios are taken inside a round, their median is shown.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.utils.data import BatchSampler, RandomSampler, WeightedRandomSampler

from goloader.samplers import BalancedSampler, LengthBatchSampler, MixtureSampler, WeightedSampler

WEIGHTS = (1 << 10, 1 << 20, 1 << 24, 1 << 26)
TORCH_MAX = 1 << 24
BATCH = 64


class Pair(NamedTuple):
    """Two samplers of as many indices; torch's is None where it has none."""

    title: str
    ours: Callable[[], Any]
    torchs: Callable[[], Any] | None


def by_weights(weights: Any, draws: int) -> Any:
    return WeightedRandomSampler(torch.from_numpy(weights), draws)  # type: ignore[arg-type]


def weighted(count: int, draws: int) -> Pair:
    weights = np.random.default_rng(0).random(count, np.float32)
    torchs = (lambda: by_weights(weights, draws)) if count <= TORCH_MAX else None
    return Pair(f"{count:,} weights", lambda: WeightedSampler(weights, draws), torchs)


def balanced(draws: int) -> Pair:
    labels = (np.random.default_rng(0).random(1 << 20) ** 3 * 1000).astype(np.int64)
    return Pair(
        f"{len(labels):,} samples of 1,000 classes, balanced",
        lambda: BalancedSampler(labels, draws),
        lambda: by_weights(1 / np.bincount(labels)[labels], draws),
    )


def mixed(draws: int) -> Pair:
    lengths, weights = (1_000_000, 100_000, 10_000), (5, 3, 2)
    each = np.repeat([weight / length for weight, length in zip(weights, lengths, strict=True)], lengths)
    return Pair(
        "3 sources, mixed by weight",
        lambda: MixtureSampler(lengths, weights, draws),
        lambda: by_weights(each, draws),
    )


def by_length(draws: int) -> Pair:
    lengths = np.random.default_rng(0).integers(1, 2000, draws)
    return Pair(
        f"{draws:,} lengths, batches of {BATCH}",
        lambda: LengthBatchSampler(lengths, BATCH),
        lambda: BatchSampler(RandomSampler(range(draws)), BATCH, False),
    )


def pairs(draws: int) -> Iterator[Pair]:
    for count in WEIGHTS:
        yield weighted(count, draws)
    yield balanced(draws)
    yield mixed(draws)
    yield by_length(draws)


def seconds(make: Callable[[], Any], draws: int) -> float:
    start = time.perf_counter()
    got = sum(len(each) if isinstance(each, list | np.ndarray) else 1 for each in make())
    spent = time.perf_counter() - start
    if got != draws:
        raise ValueError(f"{got} indices, not {draws}")
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare samplers.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--draws", type=int, default=1_000_000, help="indices of an epoch (default: a million)")
    arguments = parser.parse_args()
    print(f"{'':46}  {'goloader, indices/s':>20}  {'torch, indices/s':>18}  {'x torch':>8}")
    for title, ours, torchs in pairs(arguments.draws):
        makers = [ours] if torchs is None else [ours, torchs]
        spent: dict[Any, list[float]] = {make: [] for make in makers}
        for turn in range(arguments.rounds):
            for make in makers[:: 1 if turn % 2 == 0 else -1]:
                spent[make].append(seconds(make, arguments.draws))
        speed = {make: arguments.draws / statistics.median(times) for make, times in spent.items()}
        line = f"{title:46}  {speed[ours]:>20,.0f}"
        if torchs is None:
            line += f"  {'refuses':>18}"
        else:
            ratio = statistics.median(theirs / mine for mine, theirs in zip(spent[ours], spent[torchs], strict=True))
            line += f"  {speed[torchs]:>18,.0f}  {ratio:>7.1f}x"
        print(line, flush=True)


if __name__ == "__main__":
    main()
