"""What a loader did and where its time went: DataLoader.stats(), and a line in the log at the end of an epoch."""

from __future__ import annotations

import logging
import math
import time
import weakref
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from html import escape
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from . import _cores, _ranks, _table, _told
from ._errors import ForkedError
from ._ranks import Rank
from .adapters.python import ForkLock

__all__ = ["Clock", "Rank", "Slow", "Stage", "Stats"]

# What happens to samples in Go's workers, and which of it keeps a core busy.
_WORK = ("read", "decode", "op", "gather")
_BUSY = ("decode", "op", "gather")
# How many of the slowest samples are kept, as in core/stats, and how many of them a table shows.
_SLOWEST_MAX, _SHOWN = 8, 3
# A consumer that waits for less of its time is not held up.
_WAITS_MIN = 0.05
# A rank waits longer than others, if it does for so much more of its time; and a batch that takes so long is told of.
_MORE_MIN, _LONG_S = 0.1, 5.0
# Work that keeps this share of the cores busy is what the batches wait for.
_BUSY_MIN = 0.6
# Of Stats, numbers that add up, by what the core calls them.
_COUNTERS = {
    "samples": "samples", "bytes_read": "bytes_read", "pillow": "pillow_samples", "retries": "read_retries",
    "requests": "requests", "hedged": "hedged_requests", "received": "received_bytes", "seek_hits": "seek_hits",
}  # fmt: skip
_WHAT = {
    "iter": "an epoch begins: workers are started",
    "next": "the program waits for a batch",
    "sampler": "the sampler gives the indices of a batch, in this process",
    "read": "a file or its part is read",
    "decode": "an image is decoded",
    "op": "an image's transforms, and its way into the batch",
    "gather": "a sample of rows, or of an array's program",
    "wait": "Go's batch is waited for",
    "hand_out": "a batch is ready before it is taken",
    "python": "a worker process makes a batch by Python, or records it",
    "collate": "a collate_fn of the program's own makes a batch of Go's samples",
}


@dataclass(frozen=True)
class Stage:
    """How long `count` operations took, in seconds.

    buckets  ascending pairs (upper end, number of operations in it); ends are within 25% of each other
    """

    count: int = 0
    total_s: float = 0.0
    max_s: float = 0.0
    buckets: tuple[tuple[float, int], ...] = field(default=(), repr=False)

    @property
    def mean_s(self) -> float:
        return self.total_s / self.count if self.count else 0.0

    def quantile(self, share: float) -> float:
        """The time that this share of the operations took at most, to within 25%; 0 if there were none."""
        left = share * self.count
        for end, count in self.buckets:
            left -= count
            if left <= 0:
                return min(end, self.max_s)
        return self.max_s

    @classmethod
    def of(cls, seconds: ArrayLike) -> Stage:
        """Doings that took so long, each."""
        each = np.asarray(seconds, np.float64)
        # Ends of a quarter of an octave, as core/stats has them: from 256 ns on.
        share, octave = np.frexp(np.maximum(each * 1e9, 1))
        ends = np.ldexp(np.floor(share * 8) + 1, octave - 3).clip(256)
        found, counts = np.unique(ends * 1e-9, return_counts=True)
        pairs = tuple(zip(found.tolist(), counts.tolist(), strict=True))
        return cls(each.size, float(each.sum()), float(each.max(initial=0)), pairs)

    def plus(self, other: Stage) -> Stage:
        """Both together."""
        return self._with(other, 1, max(self.max_s, other.max_s))

    def since(self, before: Stage) -> Stage:
        """The operations after an earlier moment; `max_s` stays that of all."""
        return self._with(before, -1, self.max_s)

    def _with(self, other: Stage, sign: int, max_s: float) -> Stage:
        counts = Counter(dict(self.buckets))
        for end, count in other.buckets:
            counts[end] += sign * count
        pairs = tuple(sorted(each for each in counts.items() if each[1]))
        return Stage(self.count + sign * other.count, self.total_s + sign * other.total_s, max_s, pairs)

    def to_dict(self) -> dict[str, float]:
        """A dict without the buckets, but with mean_s, p50_s, p95_s and p99_s."""
        quantiles = {f"p{number}_s": self.quantile(number / 100) for number in (50, 95, 99)}
        return {
            "count": self.count, "total_s": self.total_s, "mean_s": self.mean_s, **quantiles, "max_s": self.max_s
        }  # fmt: skip


@dataclass(frozen=True)
class Slow:
    """A sample that took long.

    stage    "read", or "decode", which has its transforms too. Of images that were decoded in one go this is the first,
             with their mean time
    """

    name: str
    stage: str
    seconds: float


@dataclass(frozen=True)
class Stats:
    """A snapshot of a loader: everything it did since it was made. Times are in seconds.

    batches      number of batches taken
    waited_s     time that the program spent in iter() and next()
    away_s       time between one next() and the following one in an epoch: mostly training steps
    num_workers  of the loader
    cores        that this process may use
    workers      how many of Go's workers may be at work at once, at this moment: fewer where the program does not wait
                 for them; 0 if Go makes no batches
    stages       times by stage: "iter", "next"; in Python "sampler", "python" (worker processes) and "collate"; in Go
                 "read", "decode", "op", "gather", "wait", "hand_out". "iter" and "next" include "sampler" and "collate"
    samples      number of samples that Go made
    bytes_read   bytes of files that Go read
    pillow       number of samples whose pixels came from Pillow
    detours      why samples took another way, and how often
    retries      number of reads that were repeated after a temporary error
    requests     number of requests that Go sent to remote stores; `hedged` is how many of them were second requests,
                 sent because the first was slow; `received` the bytes of all answers
    all_decoded  bytes that a cache with hold="decoded" would need for all images, to judge by those that were decoded;
                 0 if none were, or for a dataset whose images no cache keeps
    seek_hits    number of JPEG files with a seek index
    bad_samples  number of samples that on_error handled, by class of error, and those "quarantined" by an earlier run
    slowest      the samples that took Go longest, by the names of their files, the slowest first
    cache        of the dataset's cache, for all its loaders in this process: reads served from memory ("ram_hits") and
                 from disk ("disk_hits"), "misses", "ram_bytes" and "disk_bytes"
    ranks        of a job with several ranks on this machine, how each gets on with all its loaders: docs/distributed.md
    """

    batches: int = 0
    waited_s: float = 0.0
    away_s: float = 0.0
    num_workers: int = 0
    cores: int = 1
    workers: int = 0
    stages: Mapping[str, Stage] = field(default_factory=dict)
    samples: int = 0
    bytes_read: int = 0
    pillow: int = 0
    detours: Mapping[str, int] = field(default_factory=dict)
    retries: int = 0
    requests: int = 0
    hedged: int = 0
    received: int = 0
    all_decoded: int = 0
    seek_hits: int = 0
    bad_samples: Mapping[str, int] = field(default_factory=dict)
    slowest: tuple[Slow, ...] = ()
    cache: Mapping[str, int] = field(default_factory=dict)
    ranks: tuple[Rank, ...] = ()

    @property
    def busy(self) -> dict[str, float]:
        """How many of Go's workers were busy with a stage at a time, in the mean."""
        return {name: self._at_a_time(name) for name in _WORK if name in self.stages}

    @property
    def ready(self) -> float:
        """How many of Go's batches lay ready before they were asked for, in the mean."""
        return self._at_a_time("hand_out")

    def _at_a_time(self, name: str) -> float:
        whole = self.waited_s + self.away_s
        return self.stages.get(name, Stage()).total_s / whole if whole else 0.0

    @property
    def waited(self) -> float:
        """The share of the time, from 0 to 1, that the program waited for batches."""
        whole = self.waited_s + self.away_s
        return self.waited_s / whole if whole else 0.0

    @property
    def verdict(self) -> str:
        """One sentence: whether the program waited for data, and for which part of the work."""
        if not self.batches:
            return "no batch yet"
        whole = self.waited_s + self.away_s
        text = f"{_seconds(whole)}, waited {_seconds(self.waited_s)} ({self.waited:.0%}) for data"
        if self.waited >= _WAITS_MIN:
            return f"{text}: {self._bottleneck()}{self._beside()}"
        few = f" ({self.workers} of {self.num_workers} workers at work)" if 0 < self.workers < self.num_workers else ""
        return f"{text}: the loader keeps up{few}{self._beside()}"

    def _beside(self) -> str:
        """What differs among the ranks of this machine."""
        mine = [each for each in self.ranks if each.is_this]
        others = [each for each in self.ranks if not each.is_this]
        if not mine or not others:
            return ""
        for each in others:
            if each.state != "runs":
                return f"; rank {each.rank}, {each}"
        late = max(others, key=lambda each: each.waits_s)
        if late.waits_s >= _LONG_S:
            return f"; rank {late.rank} has waited for a batch for {_seconds(late.waits_s)}"
        slow = max(others, key=lambda each: each.waited)
        if slow.waited >= mine[0].waited + _MORE_MIN:
            return (
                f"; rank {slow.rank} waits for data longest of the ranks here, {slow.waited:.0%} of its time, this "
                f"rank {mine[0].waited:.0%}: where ranks step together, all wait for it"
            )
        if mine[0].waited >= slow.waited + _MORE_MIN:
            return f"; the other ranks here wait less ({slow.waited:.0%} at most, this rank {mine[0].waited:.0%})"
        return ""

    def _bottleneck(self) -> str:
        drawn = self.stages.get("sampler", Stage())
        if drawn.total_s > self.waited_s / 2:
            return f"the sampler is the bottleneck ({_seconds(drawn.mean_s)} a batch, in this process)"
        begun = self.stages["iter"]
        if begun.total_s > self.waited_s / 2:
            kept = "; persistent_workers=True keeps worker processes" if self.num_workers and not self.samples else ""
            return f"an epoch takes {_seconds(begun.mean_s)} to begin{kept}"
        ahead = "" if self.num_workers else "; num_workers=0 makes no batch before next() asks for it"
        collate = self.stages.get("collate", Stage())
        if collate.total_s > self.waited_s / 2:
            return f"collate_fn is the bottleneck ({_seconds(collate.mean_s)} a batch, in this process){ahead}"
        if not self.samples:
            who = "this process"
            if self.num_workers:
                batch = self.stages.get("python", Stage())
                share = self._at_a_time("python") / self.num_workers
                who = f"{self.num_workers} worker processes ({_seconds(batch.mean_s)} a batch, busy {share:.0%})"
            return f"Python makes the samples, in {who}: explain() says why{ahead}"
        spent = {name: self.stages[name].total_s for name in _WORK if name in self.stages}
        busy = sum(spent.get(name, 0.0) for name in _BUSY)
        # Without workers, nothing is made while the program is away.
        during = self.waited_s + (self.away_s if self.num_workers else 0.0)
        cores = busy / during if during else 0.0
        few = 0 < self.num_workers < self.cores
        if cores >= _BUSY_MIN * (self.num_workers if few else self.cores):
            heaviest = max(_BUSY, key=lambda name: spent.get(name, 0.0))
            ahead = f"; num_workers={self.cores} would use them all" if few else ahead
            kept = ""
            if heaviest == "decode" and self.all_decoded:
                kept = f"; decoded images would fit in a cache of {self.all_decoded / 1e9:.2g} GB"
            return f"{heaviest} is the bottleneck ({cores:.1f} of {self.cores} cores busy){kept}{ahead}"
        if spent.get("read", 0.0) > busy:
            read = self.stages["read"]
            half, most = _seconds(read.quantile(0.5)), _seconds(read.quantile(0.95))
            took = f"half of the reads take {half}, one in twenty {most} or more"
            kept = f"; a cache of {self.received / 1e9:.2g} GB would hold what came from the store"
            return f"reading is the bottleneck ({took}){kept if self.received and not self.cache else ''}{ahead}"
        return f"no stage of Go's keeps the cores busy ({cores:.1f} of {self.cores}): batches are small, or few{ahead}"

    def cost(self, *, cost_per_1000_requests: float = 0.0004, cost_per_gb: float = 0.0) -> float:
        """What the requests and the bytes received cost, in the currency of the prices.

        The default is Amazon's list price in dollars of a GET, within a region, where bytes are free.
        """
        return self.requests / 1000 * cost_per_1000_requests + self.received / 1e9 * cost_per_gb

    def since(self, before: Stats) -> Stats:
        """What was done after an earlier snapshot; `slowest` stays that of all."""
        stages = {name: stage.since(before.stages.get(name, Stage())) for name, stage in self.stages.items()}
        numbers = ("batches", "waited_s", "away_s", *_COUNTERS)
        left = {name: getattr(self, name) - getattr(before, name) for name in numbers}
        counts: dict[str, Any] = {
            name: {kind: count - getattr(before, name).get(kind, 0) for kind, count in getattr(self, name).items()}
            for name in ("detours", "bad_samples")
        }
        past = {name: 0 if name.endswith("_bytes") else count for name, count in before.cache.items()}
        cache = {name: count - past.get(name, 0) for name, count in self.cache.items()}
        return replace(self, stages=stages, cache=cache, **counts, **left)

    def to_dict(self) -> dict[str, Any]:
        """A dict for JSON, with `waited`, `busy`, `ready` and `verdict`."""
        plain = asdict(replace(self, stages={}))
        made = {name: getattr(self, name) for name in ("waited", "busy", "ready", "verdict")}
        return plain | made | {"stages": {name: stage.to_dict() for name, stage in self.stages.items()}}

    def scalars(self, prefix: str = "loader/") -> dict[str, float]:
        """Numbers by name, for TensorBoard, Weights & Biases, Lightning's log_dict and tqdm's set_postfix.

        They are waited (a share), samples_per_s (batches_per_s if Go makes no samples), and the mean and p95 of each
        stage in ms.
        """
        whole = self.waited_s + self.away_s
        made, what = (self.samples, "samples_per_s") if self.samples else (self.batches, "batches_per_s")
        found = {"waited": self.waited, what: made / whole if whole else 0.0}
        for name, stage in self.stages.items():
            if stage.count:
                found |= {f"{name}_ms": stage.mean_s * 1e3, f"{name}_p95_ms": stage.quantile(0.95) * 1e3}
        return {prefix + name: number for name, number in found.items()}

    def _cells(self) -> list[tuple[str, ...]]:
        head = ("stage", "count", "total", "mean", "p50", "p95", "p99", "max", "busy", "what")
        cells: list[tuple[str, ...]] = [head]
        for name, stage in self.stages.items():
            if stage.count:
                quantiles = map(stage.quantile, (0.5, 0.95, 0.99))
                spans = map(_seconds, (stage.total_s, stage.mean_s, *quantiles, stage.max_s))
                busy = f"{self.busy[name]:.2g}" if name in self.busy else ""
                cells.append((name, str(stage.count), *spans, busy, _WHAT.get(name, "")))
        return cells

    def __str__(self) -> str:
        return "\n".join([self.verdict, _table.text(self._cells(), right=range(1, 9)), *self._notes()])

    def _notes(self) -> list[str]:
        notes = {
            "slowest": [f"{each.name} {_seconds(each.seconds)} ({each.stage})" for each in self.slowest[:_SHOWN]],
            "bad samples": [f"{count} {kind}" for kind, count in self.bad_samples.items()],
            "another way": [f"{count} {why}" for why, count in self.detours.items()],
        }
        return [f"{what}: {', '.join(each)}" for what, each in notes.items() if each]

    def _repr_html_(self) -> str:
        below = "".join(f"<p>{escape(note)}</p>" for note in self._notes())
        return f"<p>{escape(self.verdict)}</p>{_table.html(self._cells())}{below}"


def _seconds(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} us"


class Counting(Protocol):
    """What has counters of the core's.

    number  the core's in what it tells of its events; None if there is no core
    """

    @property
    def number(self) -> int | None: ...

    def stats(self) -> dict[str, Any]:
        """gl_stats's; {} if there are none."""


# Moments that are kept until they are counted; one of several ranks counts them about so often, to tell the others.
MOMENTS_MAX, _TOLD_EVERY_S = 1 << 13, 1.0
_NEVER = math.nan
_lock = ForkLock()


class Clock:
    """Measures a program at its loader's iter() and next(), over all epochs. It does not hold the loader.

    watched  for a profile, of one or of all: "iter", "next" or "over", and when each was called and came back, by
             perf_counter
    moments  when next() was called and when it came back, by turns, of the batches that are not counted yet. Whoever
             takes a batch adds both at once, since several threads may, and calls took() if there are `most` or
             somebody watches
    """

    watched: list[tuple[str, float, float]] | None = None

    def __init__(self) -> None:
        self.num_workers = 0
        self._core: weakref.ref[Counting] | None = None
        self._past = Stats()  # what cores before this one did
        # Of iter() its seconds, as there is no batch before, and of the sampler's batches theirs. All these are counted
        # when somebody looks, or when they are many: an epoch may be short.
        self.moments: list[float] = []
        self.most = MOMENTS_MAX
        self._tells, self._counted = False, _NEVER  # other ranks, and when
        self._begun: list[float] = []
        self._drawn: list[float] = []
        self._left = _NEVER
        self._iter, self._next, self._sampler, self._away = Stage(), Stage(), Stage(), 0.0
        self._parts: list[tuple[str, float]] = []
        self._python: dict[str, Stage] = {}
        self._before: Stats | None = None

    def number(self) -> int | None:
        """The core's number, as Counting has it; None if Go makes no batches."""
        core = None if self._core is None else self._core()
        return None if core is None else core.number

    def use(self, core: Counting) -> None:
        """Whose counters belong to what is measured, from now on: a dataset that is changed has another core."""
        before = None if self._core is None else self._core()
        if before is not core:
            self._past, self._core = self._of_cores(), weakref.ref(core)

    def begin(self, num_workers: int) -> None:
        self.num_workers = num_workers
        self._tells = _ranks.are_several()
        self.most = 2 if self._tells else MOMENTS_MAX
        self._counted = time.perf_counter()
        self._keep(_NEVER, _NEVER)
        self._before = self.stats() if _told.log.isEnabledFor(logging.INFO) else None

    def began(self, asked: float) -> None:
        """iter() is done, which was called at this time of perf_counter."""
        now = time.perf_counter()
        self._begun.append(now - asked)
        if self.watched is not None:
            self.watched.append(("iter", asked, now))

    def took(self, asked: float, given: float) -> None:
        """next() has given a batch, whose moments are in `moments`: these are many, or somebody watches."""
        if self.watched is not None:
            self.watched.append(("next", asked, given))
        if len(self.moments) >= self.most:
            self._count()

    def over(self, asked: float) -> None:
        """next() was called at this time, and there are no more batches."""
        self._keep(asked, _NEVER)
        if self.watched is not None:
            self.watched.append(("over", asked, asked))

    @property
    def drew(self) -> Callable[[float], None]:
        """To be called with the seconds that a sampler took for the indices of a batch."""
        return self._drawn.append

    def did(self, stage: str, seconds: float) -> None:
        """What Python does for a batch, "python" or "collate", took so long."""
        self._parts.append((stage, seconds))

    def end(self, epoch: int) -> None:
        """An epoch is at its end."""
        if self._before is not None:
            _told.log.info("epoch %d: %s", epoch, self.stats().since(self._before).verdict)
            self._before = None

    def _keep(self, asked: float, given: float) -> None:
        self.moments += asked, given
        if len(self.moments) >= MOMENTS_MAX:
            self._count()

    def _count(self) -> None:
        with _lock:
            moments, begun, drawn, parts = self.moments[:], self._begun[:], self._drawn[:], self._parts[:]
            del self.moments[: len(moments)], self._begun[: len(begun)], self._drawn[: len(drawn)]
            del self._parts[: len(parts)]
            for name in {name for name, _ in parts}:
                stage = Stage.of([seconds for each, seconds in parts if each == name])
                self._python[name] = self._python.get(name, Stage()).plus(stage)
            self._iter, self._sampler = self._iter.plus(Stage.of(begun)), self._sampler.plus(Stage.of(drawn))
            asked, given = np.fromiter(moments, np.float64, len(moments)).reshape(-1, 2).T
            # Nothing is between two epochs.
            left = np.concatenate(([self._left], given))
            away = float(np.nansum((asked - left[:-1]).clip(0)))
            self._away += away
            self._left = float(left[-1])
            waits = given - asked
            waits = waits[~np.isnan(waits)]
            self._next = self._next.plus(Stage.of(waits))
            if self._tells:
                self._tell(waits.size, sum(begun) + float(waits.sum()), away)

    def _tell(self, batches: int, waited: float, away: float) -> None:
        """Tells other ranks, and sets when to count the next time: batches may come slower than before."""
        now = time.perf_counter()
        if batches:
            often = int(2 * batches * _TOLD_EVERY_S / max(now - self._counted, 1e-6))
            self.most = min(max(often, 2), 4 * self.most, MOMENTS_MAX)
            self._counted = now
        if batches or waited or away:
            _ranks.add(batches, waited, away)

    def stats(self) -> Stats:
        """All that was measured so far."""
        self._count()
        of_cores = self._of_cores()
        return replace(
            of_cores,
            batches=self._next.count,
            waited_s=self._iter.total_s + self._next.total_s,
            away_s=self._away,
            num_workers=self.num_workers,
            cores=_cores.share(),
            ranks=_ranks.told(),
            stages={
                "iter": self._iter,
                "next": self._next,
                "sampler": self._sampler,
                **self._python,
                **of_cores.stages,
            },
        )

    def _of_cores(self) -> Stats:
        core = None if self._core is None else self._core()
        try:
            counted = {} if core is None else core.stats()
        except ForkedError:  # it is that of the process that forked this one
            counted = {}
        past, stages = self._past, dict(self._past.stages)
        slowest = {(each.name, each.stage): each for each in past.slowest}
        for each in counted.get("slowest", ()):
            slow = Slow(each["name"], each["stage"], each["took_ns"] * 1e-9)
            known = slowest.setdefault((slow.name, slow.stage), slow)
            slowest[slow.name, slow.stage] = max(known, slow, key=lambda one: one.seconds)
        for name, each in counted.get("stages", {}).items():
            pairs = tuple((end * 1e-9, count) for end, count in each["buckets"])
            stage = Stage(each["count"], each["sum_ns"] * 1e-9, each["max_ns"] * 1e-9, pairs)
            stages[name] = stages.get(name, Stage()).plus(stage)
        counts: dict[str, Any] = {
            name: getattr(past, name) + counted.get(of_core, 0) for name, of_core in _COUNTERS.items()
        }
        return Stats(
            stages=stages,
            workers=counted.get("workers", past.workers),
            all_decoded=counted.get("all_decoded", past.all_decoded),
            detours=dict(+(Counter(past.detours) + Counter(counted.get("detours", {})))),
            slowest=tuple(sorted(slowest.values(), key=lambda one: -one.seconds)[:_SLOWEST_MAX]),
            cache=counted.get("cache", past.cache),
            **counts,
        )
