"""The child side of a comparison: one loader in one process.

    PYTHON -m bench.contender PEER SCENARIO JOB_JSON
    PYTHON -m bench.contender PEER prepare JOB_JSON       # one-time conversion into job.scratch, for peers that need it

Standard output has two lines: "timed" when the clock of the warm epochs starts, and the figures as JSON. Runs in the
peer's own interpreter, so it needs the standard library and numpy only. Every byte of every batch is read
and every sample is counted: a lazy view that nobody reads costs nothing, and a loader that drops samples looks fast.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.metadata
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclasses.dataclass(frozen=True)
class Job:
    """What a scenario asks of a loader; travels as JSON."""

    root: str  # the image folder
    scratch: str  # where a peer may keep what it converted, made already
    size: int = 224
    batch_size: int = 64
    workers: int = 2  # threads or processes, whatever the peer calls its workers
    seed: int = 0
    warm_epochs: int = 2
    layout: str = "contiguous"  # of [N, 3, H, W] in memory; or "channels_last", if that is a peer's better one
    mean: tuple[float, float, float] = (0.485, 0.456, 0.406)
    std: tuple[float, float, float] = (0.229, 0.224, 0.225)

    @property
    def files(self) -> list[str]:
        """Every image in the order of ImageFolder: classes by name, then files by name."""
        return [str(file) for file in sorted(Path(self.root).glob("*/*.jpg"))]


class Tally:
    """What an epoch delivered: each sample's count, and a checksum that needs every byte."""

    def __init__(self, samples: int, job: Job) -> None:
        self.seen = np.zeros(samples, dtype=np.int64)
        self.shape = (3, job.size, job.size)
        self.layout = job.layout
        self.checksum = 0

    def take(self, images: Any, numbers: Any) -> None:
        pixels: npt.NDArray[np.float32] = np.asarray(images)
        if pixels.dtype != np.float32 or pixels.shape[1:] != self.shape:
            raise TypeError(f"a batch of float32 [N, *{self.shape}] was due, not {pixels.dtype} {pixels.shape}")
        stored = pixels.transpose(0, 2, 3, 1) if self.layout == "channels_last" else pixels
        if not stored.flags.c_contiguous:
            raise TypeError(f"a {self.layout} batch was due, not strides of {pixels.strides} for {pixels.shape}")
        words = int(np.bitwise_xor.reduce(stored.reshape(-1).view(np.uint64)))
        self.checksum = (31 * self.checksum + words) % 2**64  # the order of the batches matters
        places = np.asarray(numbers).reshape(-1)
        if len(places) != len(pixels):
            raise ValueError(f"{len(pixels)} images came with {len(places)} numbers")
        np.add.at(self.seen, places, 1)

    def check(self, epoch: str) -> None:
        missing, twice = np.flatnonzero(self.seen == 0), np.flatnonzero(self.seen > 1)
        if len(missing) or len(twice):
            raise ValueError(f"{epoch}: {len(missing)} missing {missing[:5]}, {len(twice)} repeated {twice[:5]}")


def live_children_cpu() -> float:
    """CPU seconds, so far, of every living process below this one, and of those it has waited for."""
    ticks: dict[int, float] = {}
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            # Fields after the command name in brackets, which may itself hold spaces: man 5 proc.
            fields = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # ended between listing and reading
        parents[int(entry)] = int(fields[1])
        ticks[int(entry)] = sum(int(value) for value in fields[11:15])
    family = {os.getpid()}
    while grown := {child for child, parent in parents.items() if parent in family and child not in family}:
        family |= grown
    below = family - {os.getpid()}
    return sum(ticks[pid] for pid in below) / os.sysconf("SC_CLK_TCK")


def tree_cpu() -> float:
    """CPU seconds of this process and all below it."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages) + live_children_cpu()


def measure(
    loader: Iterable[tuple[Any, Any]], job: Job, samples: int, clock_starts: Callable[[], None]
) -> dict[str, Any]:
    """Runs one cold epoch and job.warm_epochs warm ones; calls clock_starts between them."""
    start = time.perf_counter()
    cold = Tally(samples, job)
    first_batch_s = 0.0
    means: list[float] = []
    squares: list[float] = []
    for images, numbers in loader:
        first_batch_s = first_batch_s or time.perf_counter() - start
        cold.take(images, numbers)
        some = np.asarray(images)[:, :, ::8, ::8].astype(np.float64)
        means += some.mean(axis=(1, 2, 3)).tolist()
        squares += (some**2).mean(axis=(1, 2, 3)).tolist()
    cold_s = time.perf_counter() - start
    cold.check("first epoch")

    clock_starts()
    tallies = []
    cpu_start, warm_start = tree_cpu(), time.perf_counter()
    for _ in range(job.warm_epochs):
        tally = Tally(samples, job)
        for images, numbers in loader:
            tally.take(images, numbers)
        tallies.append(tally)
    warm_s, cpu_s = time.perf_counter() - warm_start, tree_cpu() - cpu_start
    for epoch, tally in enumerate(tallies, 2):
        tally.check(f"epoch {epoch}")

    images_warm = samples * job.warm_epochs
    return {
        "images": images_warm,
        "seconds": warm_s,
        "images_per_s": images_warm / warm_s,
        "cpu_s_per_1000": 1000 * cpu_s / images_warm,
        "first_batch_s": first_batch_s,
        "cold_epoch_s": cold_s,
        "pixel_mean": float(np.mean(means)),
        "pixel_std": float(np.mean(squares) - np.mean(means) ** 2) ** 0.5,
        "checksums": [f"{tally.checksum:016x}" for tally in [cold, *tallies]],
        "samples_checked": True,
    }


def versions(names: Iterable[str]) -> dict[str, str]:
    found = {"python": sys.version.split()[0]}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "from the working tree"
    return found


def main(peer: str, scenario: str, job_json: str) -> None:
    job = Job(**json.loads(job_json))
    # Whatever a peer prints goes to standard error: standard output is for the two lines.
    lines, sys.stdout = sys.stdout, sys.stderr
    samples = len(job.files)

    start = time.perf_counter()
    adapter = importlib.import_module(f"bench.peers.{peer}")
    import_s = time.perf_counter() - start

    if scenario == "prepare":
        adapter.prepare(job)
        return
    start = time.perf_counter()
    loader = getattr(adapter, scenario)(job)
    build_s = time.perf_counter() - start

    result = {"import_s": import_s, "build_s": build_s} | measure(
        loader, job, samples, clock_starts=lambda: print("timed", file=lines, flush=True)
    )
    result["versions"] = versions(adapter.VERSIONS)
    print(json.dumps(result), file=lines, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
