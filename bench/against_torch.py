"""goloader against torch's DataLoader at its best, over the same dataset objects.

    python -m bench.against_torch [--cases tensors,short_epochs] [--rounds N]

What: samples a second of whole epochs, iter() included, over the datasets of bench/cases.py: tensors, arrays, memory
maps, tokens, and classes of one's own (bench/own_classes.py). Batches are dropped as they come.

How: a process a case. It compares the first epoch of both loaders byte for byte, then runs them in turn: ours with the
workers of --workers, torch's with 0, as many and twice as many (only as many where the way home from workers is what
is timed), with persistent workers unless the case says otherwise, and all after one epoch that is not timed. A turn is
whole epochs for at least --seconds; rounds go forwards and backwards. Ratios are taken inside a round over torch's best
of that case, their median is shown.

How to read: 'x best' is ours over torch's best number of workers, 'x same' over torch with as many workers as ours, 'x
Go' a class of one's own over a dataset of the same samples that Go knows by itself.
'GB/s' are the bytes of our batches a second; 'memcpy' is a copy by one core, measured in the same process.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

import goloader
from bench import augmented, harness, own_classes  # noqa: F401  # their cases
from bench.cases import CASES, Case

LOWERED = "goloader, lowered"
MEMCPY_BYTES = 256 << 20


def tensors_of(batch: Any) -> Iterator[torch.Tensor]:
    """The tensors of a batch, in order, whatever their structure."""
    if isinstance(batch, torch.Tensor) and batch.is_nested:
        nested: Any = batch
        yield from (nested.values(), nested.offsets())
    elif isinstance(batch, torch.Tensor):
        yield batch
    elif isinstance(batch, dict):
        for value in batch.values():
            yield from tensors_of(value)
    elif isinstance(batch, list | tuple):
        for value in batch:
            yield from tensors_of(value)


def require_same_bits(ours: Any, theirs: Any) -> int:
    """Compares an epoch of each; the bytes of all its batches."""
    total = 0
    for mine, other in zip(seeded(ours), seeded(theirs), strict=True):
        for a, b in zip(tensors_of(mine), tensors_of(other), strict=True):
            if a.dtype != b.dtype or a.shape != b.shape or a.numpy().tobytes() != b.numpy().tobytes():
                raise ValueError(f"{a.dtype} {tuple(a.shape)} is not torch's {b.dtype} {tuple(b.shape)}")
            total += a.nbytes
    return total


def seeded(loader: Any) -> Iterator[Any]:
    torch.manual_seed(0)
    return iter(loader)


def samples_per_s(loader: Any, samples: int, seconds: float) -> float:
    """Whole epochs for at least so long."""
    start, epochs = time.perf_counter(), 0
    while (spent := time.perf_counter() - start) < seconds or not epochs:
        for _ in loader:
            pass
        epochs += 1
    return epochs * samples / spent


def memcpy_bytes_per_s() -> float:
    source, target = np.ones(MEMCPY_BYTES, np.uint8), np.zeros(MEMCPY_BYTES, np.uint8)
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        np.copyto(target, source)
        best = min(best, time.perf_counter() - start)
    return MEMCPY_BYTES / best


def measure(case: Case, workers: int, rounds: int, seconds: float) -> dict[str, Any]:
    """Runs one case in this process."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    warnings.filterwarnings("ignore", "This DataLoader will create")  # more workers than cores are part of the matter
    with tempfile.TemporaryDirectory(prefix="goloader-bench-") as scratch:
        dataset = case.make(Path(scratch))

        def loader(kind: Any, count: int) -> Any:
            return kind(dataset, num_workers=count, **{"persistent_workers": count > 0, **case.options})

        loaders = {"goloader": loader(goloader.DataLoader, workers)}
        for count in (workers,) if case.way_home else (0, workers, 2 * workers):
            loaders[f"torch, {count}"] = loader(DataLoader, count)
        if case.lowered is not None:
            loaders[LOWERED] = goloader.DataLoader(
                case.lowered(Path(scratch)), num_workers=workers, persistent_workers=True, **case.options
            )
        same = f"torch, {workers}"
        samples = len(dataset)
        bytes_a_sample = 0.0
        if case.same_bits:
            bytes_a_sample = require_same_bits(loaders["goloader"], loaders[same]) / samples
        for each in loaders.values():
            samples_per_s(each, samples, 0)
        print(loaders["goloader"].explain(), file=sys.stderr)
        speeds: dict[str, list[float]] = {name: [] for name in loaders}
        for turn in range(rounds):
            for name in list(loaders)[:: 1 if turn % 2 == 0 else -1]:
                speeds[name].append(samples_per_s(loaders[name], samples, seconds))
    best = max((name for name in speeds if name.startswith("torch")), key=lambda name: statistics.median(speeds[name]))
    ours = speeds["goloader"]
    return {
        "title": case.title,
        "samples_per_s": speeds,
        "torch_best": best,
        "ratio_best": statistics.median(mine / other for mine, other in zip(ours, speeds[best], strict=True)),
        "ratio_same": statistics.median(mine / other for mine, other in zip(ours, speeds[same], strict=True)),
        "ratio_lowered": statistics.median(mine / other for mine, other in zip(ours, speeds[LOWERED], strict=True))
        if case.lowered is not None
        else None,
        "target": case.target,
        "bytes_per_s": statistics.median(ours) * bytes_a_sample,
        "memcpy_bytes_per_s": memcpy_bytes_per_s(),
        "same_bits": case.same_bits,
    }


def table(results: dict[str, Any]) -> str:
    head = ["", "goloader", "torch's best", "with", "x best", "x same", "x Go", "GB/s", "memcpy"]
    rows = [head]
    for figures in results.values():
        speed = {name: statistics.median(values) for name, values in figures["samples_per_s"].items()}
        rows.append(
            [
                figures["title"],
                f"{speed['goloader']:,.0f}",
                f"{speed[figures['torch_best']]:,.0f}",
                figures["torch_best"].removeprefix("torch, ") + " workers",
                f"{figures['ratio_best']:.2f}x",
                f"{figures['ratio_same']:.2f}x",
                "" if figures["ratio_lowered"] is None else f"{figures['ratio_lowered']:.2f}x",
                f"{figures['bytes_per_s'] / 1e9:.1f}",
                f"{figures['memcpy_bytes_per_s'] / 1e9:.1f}",
            ]
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = [
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    lines.insert(1, "-" * len(lines[0]))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare with torch's DataLoader over the same datasets.")
    parser.add_argument("--cases", default=",".join(CASES), help="comma-separated (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each loader (default: 3)")
    parser.add_argument("--seconds", type=float, default=1.0, help="a turn takes at least so long (default: 1)")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="default: the cores")
    parser.add_argument("--output", type=Path, default=harness.RESULTS / "against_torch.json")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    names = arguments.cases.split(",")
    if unknown := sorted(set(names) - set(CASES)):
        parser.error(f"no case called {', '.join(unknown)}; there are {', '.join(CASES)}")
    if arguments.child:
        (name,) = names
        print(json.dumps(measure(CASES[name], arguments.workers, arguments.rounds, arguments.seconds)))
        return
    results = {}
    for name in names:
        command = [sys.executable, "-m", "bench.against_torch", "--child", "--cases", name]
        command += [f"--{key}={getattr(arguments, key)}" for key in ("rounds", "seconds", "workers")]
        print(f"{name} ...", file=sys.stderr)
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        results[name] = json.loads(done.stdout)
    print(table(results))
    arguments.output.write_text(json.dumps({"machine": harness.machine(), "cases": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
