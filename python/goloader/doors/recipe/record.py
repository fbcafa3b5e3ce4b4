"""What is known about tracing one loader's dataset: whether it goes on, and what explain() says of it."""

from __future__ import annotations

import itertools
import math
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ...plan.explain import Row, number_of
from ...plan.refusal import Refusal
from .session import Session

__all__ = ["CHECK_EVERY", "Record"]

# Samples between two shadow checks, and samples of one.
CHECK_EVERY = 4096
CHECK_SAMPLES = 8

# A dataset for which nothing was native in as many samples goes on without stand-ins.
_BARREN_SAMPLES = 64
# Batches that had to be run again, since a stand-in was in the way, before tracing ends.
_TROUBLES_MAX = 2
# Batches that had to be run again since a file could not be decoded, before tracing ends, if it was 1 in as many.
_DAMAGED_MAX = 8
_DAMAGED_SHARE = 20
# Checks that could not be made, before tracing ends.
_ATTEMPTS_MAX = 3
# Checks one after the other in which stand-ins took longer than eager code, before tracing ends, and samples between.
_SLOWER_MAX = 3
_SLOWER_CHECK_EVERY = 64
# Lines that are kept.
_REASONS_MAX = 100


@dataclass
class Record:
    """State of tracing for one dataset.

    off        why nothing is recorded (any more)
    warn       whether the user is to be warned of that
    remote     this is a worker process: the main process does it
    due        samples until the next check
    samples    recorded so far
    batches    recorded so far
    recorded   stand-ins made
    leaves     place in the batch, or what needed them before -> images that the core made for it
    reasons    (what was done, line) -> how often Python made a stand-in real for that
    seen       the same of what the core made, for Python to go on with
    keeps      arrays outlived their batch, so that there are no stand-ins for any
    steady     no sample has changed what another may be made from
    demand     worker processes that were busy at a time, of the last epoch with any; None if there was none
    crews      (processes, workers) of the last epoch whose workers shared processes; None if there was none
    """

    off: Refusal | None = None
    warn: bool = False
    remote: bool = False
    due: int = 0
    samples: int = 0
    batches: int = 0
    recorded: int = 0
    troubles: int = 0
    damaged: int = 0
    attempts: int = 0
    checks: int = 0
    slower: int = 0
    keeps: bool = False
    steady: bool = True
    demand: float | None = None
    crews: tuple[int, int] | None = None
    leaves: Counter[str] = field(default_factory=Counter)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    seen: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def on(self) -> bool:
        """True while batches are to be recorded."""
        return self.off is None

    @property
    def state(self) -> str:
        """ "native", "looked at", "partly" or "Python": where the images' pixels come from.

        Those that were looked at come from Go too, and Python went on with some of them.
        """
        if self.off is not None or not self.leaves:
            return "Python"
        return "partly" if self.reasons else "looked at" if self.seen else "native"

    def tracers(self, workers: int) -> int:
        """How many processes an epoch's workers share: as many as keep them idle for half of the time.

        Each has one to itself while nothing was measured, while Python makes pixels, and where samples leave something
        behind, which other workers must not find.
        """
        if self.demand is None or self.state != "native" or not self.steady:
            return workers
        return min(workers, max(1, math.ceil(2 * self.demand)))

    def stop(self, what: str, why: str, warn: bool = False) -> None:
        """Ends tracing of this dataset."""
        self.adopt(Refusal("source", what, why, "RECORDING_ENDED"), warn)

    def adopt(self, off: Refusal, warn: bool) -> None:
        """Ends tracing of this dataset for a reason that may come from another process, which leaves warning to us."""
        self.off, self.warn = off, warn
        if warn and not self.remote:
            warnings.warn(
                f"goloader: {off.what}: {off.why}. This dataset now runs as torch runs it; "
                "DataLoader(trace=False) does so from the start. Please report this.",
                RuntimeWarning,
                stacklevel=2,
            )

    def differs(self, dataset: Any, found: str, reasons: Counter[tuple[str, str]]) -> None:
        """A shadow check found a difference; `reasons` are the batch's."""
        lines = ", ".join(f"{what} at {line}" for what, line in itertools.islice(reasons, 3))
        self.stop(type(dataset).__qualname__, f"{found} when traced ({lines or 'all native'})", warn=True)

    def passed(self, eager_s: float, traced_s: float) -> None:
        """A shadow check found no difference, and took so long in each way."""
        self.attempts = 0
        self.checks += 1
        self.slower = self.slower + 1 if traced_s > eager_s else 0
        self.due = _SLOWER_CHECK_EVERY if self.slower else CHECK_EVERY
        if self.slower >= _SLOWER_MAX:
            took = f"{traced_s * 1e3:.1f} ms with stand-ins, {eager_s * 1e3:.1f} ms without"
            self.stop("trace", f"it gains nothing: samples took {took}")

    def compared(self) -> None:
        """Another process made a shadow check, and this one found no difference."""
        self.checks += 1
        self.due = CHECK_EVERY

    def failed(self, why: str) -> None:
        """A shadow check could not be made."""
        self.attempts += 1
        if self.attempts >= _ATTEMPTS_MAX:
            self.stop("trace", why)

    def count(self, samples: int, leaves: Counter[str], session: Session) -> None:
        """A batch was recorded."""
        self.samples, self.batches, self.recorded = samples, 1, session.recorded
        self.leaves, self.reasons, self.seen, self.keeps = leaves, session.reasons, session.seen, not session.arrays

    def add(self, made: Record) -> None:
        """A batch, of which `made` says what was recorded, is used."""
        self.samples += made.samples
        self.batches += made.batches
        self.recorded += made.recorded
        self.due -= made.samples
        self.keeps |= made.keeps
        self.leaves += made.leaves
        for kept, new in ((self.reasons, made.reasons), (self.seen, made.seen)):
            for reason, times in new.items():
                if reason in kept or len(kept) < _REASONS_MAX:
                    kept[reason] += times
        if not self.leaves and self.samples >= _BARREN_SAMPLES:
            first = next(iter(self.reasons), None)
            self.stop("trace", "it opens no images" if first is None else f"{first[0]} at {first[1]} needs every pixel")

    def trouble(self, error: BaseException) -> None:
        """A batch had to be run again since a stand-in was in the way."""
        self.troubles += 1
        if self.troubles >= _TROUBLES_MAX:
            self.stop("trace", f"a stand-in was in the way: {type(error).__name__}: {error}")

    def undecoded(self, error: OSError) -> None:
        """A batch had to be run again since a file could not be decoded, which may be the dataset's own matter."""
        self.damaged += 1
        if self.damaged >= _DAMAGED_MAX and self.damaged * _DAMAGED_SHARE > self.batches:
            self.stop("trace", f"too many files cannot be decoded: {error}")

    def rows(self) -> list[Row]:
        """What explain() says."""
        if self.off is not None and not self.leaves:
            return [Row("trace", "no images", "Python", f"all of it runs as torch runs it: {self.off.why}")]
        rows = []
        if not self.samples:
            rows.append(Row("trace", "not run yet", "Python", "what Go can do of it shows as it runs"))
        for place, count in self.leaves.items():
            how = "your code ran and said what is to be done to them, which Go did"
            where = place if place.startswith("for ") else f"in {place}"
            rows.append(Row("trace", f"{number_of(count, 'image')} {where}", "Go", how))
        for (what, line), count in self.reasons.most_common(8):
            times = f"{number_of(count, 'time')} at {line}"
            rows.append(Row("trace", what, "Python", f"needs the pixels, {times}: Python does this and what follows"))
        for (what, line), count in self.seen.most_common(8):
            why = "Go made them, Python does this and what follows"
            rows.append(Row("trace", what, "Python", f"needs the pixels, {number_of(count, 'time')} at {line}: {why}"))
        if self.crews is not None:
            processes, workers = self.crews
            what = f"{number_of(processes, 'process', 'processes')} for {workers} workers"
            rows.append(Row("trace", what, "Python", "to run your code, no more were kept busy"))
        if self.off is not None:
            rows.append(Row("trace", "from here on", "Python", f"it runs as torch runs it: {self.off.why}"))
        return rows


def places(batch: Any, found: Any, at: str = "batch") -> Counter[str]:
    """Where in a batch the objects are that `found` counts images of; 0 for others."""
    images = found(batch)
    if images:
        return Counter({at: images})
    pairs: Any = ()
    if isinstance(batch, dict):
        pairs = batch.items()
    elif isinstance(batch, (list, tuple)):
        pairs = enumerate(batch)
    total: Counter[str] = Counter()
    for key, value in pairs:
        total += places(value, found, f"{at}[{key!r}]")
    return total
