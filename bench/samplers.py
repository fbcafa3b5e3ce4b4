"""Weighted sampling: an epoch of indices by goloader's alias table and by torch's WeightedRandomSampler.

    python -m bench.samplers [--rounds N] [--draws N]

What: indices a second of a whole epoch through `iter(sampler)`, for numbers of weights up to torch's limit of 2^24, and
beyond it for ours alone.

How: in one process, the two in turn, forwards and backwards; a turn makes a new sampler, so that ours pays for its
table and torch for its sums. Ratios are taken inside a round, their median is shown.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import numpy as np
import torch
from torch.utils.data import WeightedRandomSampler

from goloader.samplers import WeightedSampler

COUNTS = (1 << 10, 1 << 20, 1 << 24, 1 << 26)
TORCH_MAX = 1 << 24


def ours(weights: Any, draws: int) -> Any:
    return WeightedSampler(weights, draws)


def torchs(weights: Any, draws: int) -> Any:
    return WeightedRandomSampler(torch.from_numpy(weights), draws)  # type: ignore[arg-type]


def seconds(make: Any, weights: Any, draws: int) -> float:
    start = time.perf_counter()
    got = sum(1 for _ in make(weights, draws))
    spent = time.perf_counter() - start
    if got != draws:
        raise ValueError(f"{got} indices, not {draws}")
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare weighted samplers.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--draws", type=int, default=1_000_000, help="indices of an epoch (default: a million)")
    arguments = parser.parse_args()
    print(f"{'weights':>12}  {'goloader, indices/s':>20}  {'torch, indices/s':>18}  {'x torch':>8}")
    for count in COUNTS:
        weights = np.random.default_rng(0).random(count, np.float32)
        makers = [ours, torchs] if count <= TORCH_MAX else [ours]
        spent: dict[Any, list[float]] = {make: [] for make in makers}
        for turn in range(arguments.rounds):
            for make in makers[:: 1 if turn % 2 == 0 else -1]:
                spent[make].append(seconds(make, weights, arguments.draws))
        speed = {make: arguments.draws / statistics.median(times) for make, times in spent.items()}
        line = f"{count:>12,}  {speed[ours]:>20,.0f}"
        if torchs in spent:
            ratio = statistics.median(theirs / mine for mine, theirs in zip(spent[ours], spent[torchs], strict=True))
            line += f"  {speed[torchs]:>18,.0f}  {ratio:>7.1f}x"
        else:
            line += f"  {'refuses':>18}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
