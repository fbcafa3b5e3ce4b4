"""goloader against torch's DataLoader at its best, over the same dataset objects, or over the same samples.

    python -m bench.against_torch [--cases tensors,short_epochs] [--rounds N] [--seconds S] [--output FILE]

What: samples a second of whole epochs, iter() included, over the datasets of bench/cases.py: tensors, arrays, memory
maps, tokens, photos, and own Dataset classes. Batches are dropped as they come.

How: a process a case. It compares the first epoch of both loaders byte for byte, then runs them in turn: ours with the
workers of --workers, torch's with 0, as many and twice as many (only as many where the way home from workers is what
is timed), with persistent workers unless the case says otherwise, and all after one epoch that is not timed. A turn is
whole epochs for at least --seconds; rounds go forwards and backwards. Ratios are taken inside a round over torch's best
of that case, their median is shown. What a case measured is kept at once, beside what the file has of other cases.

How to read: '/ best' is ours over torch's best number of workers, '/ same' over torch with as many workers as ours, '/
Go' an own Dataset class over a dataset of the same samples that Go knows by itself; in brackets what is wanted. 'GB/s'
are the bytes of our batches a second, and of a copy by one core, measured in the same process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

import goloader
from bench import against_table, annotated, augmented, formats, harness, own_arrays, own_classes  # noqa: F401  # cases
from bench.against_table import LOWERED, OURS, torch_with
from bench.cases import CASES, Case
from bench.peers import ROOT

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
        theirs = dataset if case.theirs is None else case.theirs(Path(scratch))

        def loader(kind: Any, data: Any, count: int) -> Any:
            return kind(data, num_workers=count, **{"persistent_workers": count > 0, **case.options})

        loaders = {OURS: loader(goloader.DataLoader, dataset, workers)}
        for count in (workers,) if case.way_home else (0, workers, 2 * workers):
            loaders[torch_with(count)] = loader(DataLoader, theirs, count)
        if case.lowered is not None:
            loaders[LOWERED] = loader(goloader.DataLoader, case.lowered(Path(scratch)), workers)
        samples = len(dataset)
        bytes_per_sample = 0.0
        if case.same_bits:
            bytes_per_sample = require_same_bits(loaders[OURS], loaders[torch_with(workers)]) / samples
        for each in loaders.values():
            samples_per_s(each, samples, 0)
        print(loaders[OURS].explain(), file=sys.stderr)
        speeds: dict[str, list[float]] = {name: [] for name in loaders}
        for turn in range(rounds):
            for name in list(loaders)[:: 1 if turn % 2 == 0 else -1]:
                speeds[name].append(samples_per_s(loaders[name], samples, seconds))
    return {
        "workers": workers,
        "seconds": seconds,
        "samples_per_s": speeds,
        "bytes_per_sample": bytes_per_sample,
        "memcpy_bytes_per_s": memcpy_bytes_per_s(),
    }


def keep(path: Path, name: str, figures: dict[str, Any]) -> dict[str, Any]:
    """Puts a case into a file of results, beside the cases it has; the cases of the file, in the order of CASES."""
    kept = json.loads(path.read_text())["cases"] if path.exists() else {}
    kept[name] = figures
    ordered = {each: kept[each] for each in CASES if each in kept}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"scenario": "against_torch", "cases": ordered}, indent=2) + "\n")
    return ordered


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Compare with torch's DataLoader over the same datasets.")
    parser.add_argument("--cases", default=",".join(CASES), help="comma-separated (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each loader (default: 3)")
    parser.add_argument("--seconds", type=float, default=1.0, help="a turn takes at least so long (default: 1)")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="default: the cores")
    parser.add_argument(
        "--output", type=Path, default=harness.RESULTS / "against_torch.json",
        help="what it has of other cases stays (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    names = harness.chosen(parser, arguments.cases, CASES, "case")
    if arguments.child:
        (name,) = names
        print(json.dumps(measure(CASES[name], arguments.workers, arguments.rounds, arguments.seconds)))
        return
    results = {}
    for name in names:
        command = [sys.executable, "-m", "bench.against_torch", "--child", "--cases", name]
        command += [f"--{key}={getattr(arguments, key)}" for key in ("rounds", "seconds", "workers")]
        harness.say(f"{name} ...")
        about = {"date": harness.now(), "machine": harness.machine()}
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        results[name] = about | json.loads(done.stdout)
        keep(arguments.output, name, results[name])
    print(against_table.text(results))
    print(f"\nkept in {arguments.output}")


if __name__ == "__main__":
    main()
