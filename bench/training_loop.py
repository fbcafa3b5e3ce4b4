"""Is a training loop's own work slowed by its loader? Steps a second while batches are made.

    python -m bench.training_loop [--rounds N]

What: a loop that takes a batch of 64 photos with the train transform and then takes STEPS steps of about 0.7 ms, of one
of two kinds. "python" is pure Python, as a framework's bookkeeping. "ops" launches many small operations of torch's, as
an optimizer over many small parameters. The loop is slower than any of the loaders, so all of them load as many samples
a second, and go on loading meanwhile. What is timed are the steps alone, not the waits for batches.

How: one process; in each round, and for each kind of step, torch's DataLoader and goloader's, over ImageFolder
(lowered) and over a class of one's own (recorded), run in turn for an epoch each, after one that is not timed; rounds
go forwards and backwards. 'x torch' is the median over rounds of ours over torch's. 'alone' is the loop without a
loader.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader

import goloader
from bench import harness
from bench.own_classes import TRAIN, Mirrored, folder, table

STEPS = 500


def python() -> None:
    total = 0
    for i in range(15_000):
        total ^= i


PARAMETERS = [torch.rand(16) for _ in range(100)]


def ops() -> None:
    for parameter in PARAMETERS:
        parameter.mul_(0.999).add_(parameter, alpha=0.001).clamp_(-1, 1)


KINDS: dict[str, Callable[[], None]] = {"python": python, "ops": ops}


def steps_per_s(batches: Iterable[Any], step: Callable[[], None]) -> float:
    """Over an epoch. The last batch stays referred to during the steps, as in a training loop."""
    spent, count = 0.0, 0
    for _batch in batches:
        start = time.perf_counter()
        for _ in range(STEPS):
            step()
        spent += time.perf_counter() - start
        count += STEPS
    return count / spent


def main() -> None:
    parser = argparse.ArgumentParser(description="Time a training loop's own Python beside each loader.")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each loader (default: 3)")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="default: the cores")
    parser.add_argument("--output", type=Path, default=harness.RESULTS / "training_loop.json")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="goloader-bench-") as scratch:
        lowered, recorded = folder(Path(scratch)), Mirrored(table(Path(scratch)), TRAIN)
        options: dict[str, Any] = {"batch_size": 64, "num_workers": arguments.workers, "persistent_workers": True}
        loaders: dict[str, Iterable[Any]] = {
            "alone": range(len(lowered) // 64),
            "torch": DataLoader(lowered, shuffle=True, **options),
            "goloader, lowered": goloader.DataLoader(lowered, shuffle=True, **options),
            "goloader, recorded": goloader.DataLoader(recorded, shuffle=True, **options),
        }
        for loader in loaders.values():
            for _ in loader:
                pass
        speeds: dict[str, dict[str, list[float]]] = {kind: {name: [] for name in loaders} for kind in KINDS}
        for turn in range(arguments.rounds):
            for name in list(loaders)[:: 1 if turn % 2 == 0 else -1]:
                for kind, step in KINDS.items():
                    speeds[kind][name].append(steps_per_s(loaders[name], step))
                    print(f"{kind}, {name}: {speeds[kind][name][-1]:,.0f} steps/s", flush=True)
    result: dict[str, Any] = {"machine": harness.machine()}
    for kind, of_kind in speeds.items():
        ratios = {
            name: statistics.median(mine / other for mine, other in zip(values, of_kind["torch"], strict=True))
            for name, values in of_kind.items()
        }
        for name, values in of_kind.items():
            print(f"{kind:<7} {name:<20} {statistics.median(values):>7,.0f} steps/s {ratios[name]:>6.2f} x torch")
        result[kind] = {"steps_per_s": of_kind, "x_torch": ratios}
    arguments.output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
