"""What is known about recording one loader's dataset: whether it goes on, and what explain() says of it."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ... import _told
from ...plan.explain import Row, number_of
from ...plan.refusal import Refusal
from ..sandbox import LIMIT_S, WAITS, Page
from . import kept

if TYPE_CHECKING:
    from .arrival import Letter
    from .session import Session

# Who keeps samples is better off with real ones: why, and the code of it.
KEPT = "its samples are kept for later, so that they have to be made at once", "SAMPLES_KEPT"
# How a reason begins that tells of a file which the core does not decode.
OPENED = "Image.open of"

# How long a batch waits for an answer; batches are made without stand-ins meanwhile.
WAIT_S = float(LIMIT_S) if WAITS else 0.0
# What batches have to take before a trial. It takes 0.3 to 0.7 s of CPU time itself; where one has found before that
# nothing is gained, another may cost 1% of what was spent.
_SPENT_S, _SPENT_AGAIN_S = (0.0, 0.0) if WAITS else (2.0, 60.0)
# Samples between two trials.
CHECK_EVERY = 4096

# A dataset for which nothing was native in as many samples goes on without stand-ins.
_BARREN_SAMPLES = 64
# Trials that failed in the user's own code, before recording ends.
_ATTEMPTS_MAX = 3
# Lines that are kept.
_REASONS_MAX = 100


class Finding(NamedTuple):
    """What a trial found.

    off      why nothing may be recorded; None if it may
    warn     whether the user is to be warned of that
    failed   the user's own code failed, so that nothing was found out
    reasons  as a Session's
    seen     as a Session's
    files    of all code that made the samples; empty if that is not known, or the next process is to find it out too
    """

    off: Refusal | None
    warn: bool = False
    failed: bool = False
    reasons: Sequence[tuple[tuple[str, str], int]] = ()
    seen: Sequence[tuple[tuple[str, str], int]] = ()
    files: tuple[str, ...] = ()

    @classmethod
    def none(cls, why: str) -> Finding:
        """It could not be done."""
        return cls(
            Refusal("source", "trace", f"samples could not be checked in a child process: {why}", "RECORDING_ENDED")
        )


@dataclass
class Made:
    """What was recorded.

    samples   of batches that were used
    batches   these
    recorded  stand-ins made
    leaves    place in the batch, or what needed them before -> images that the core made for it
    reasons   (what was done, line) -> how often Python made a stand-in real for that
    seen      the same of what the core made, for Python to go on with
    """

    samples: int = 0
    batches: int = 0
    recorded: int = 0
    leaves: Counter[str] = field(default_factory=Counter)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    seen: Counter[tuple[str, str]] = field(default_factory=Counter)

    @classmethod
    def of(cls, samples: int, leaves: Counter[str], session: Session) -> Made:
        """A batch of so many samples, whose session has ended."""
        return cls(samples, 1, session.recorded, leaves, session.reasons, session.seen)


@dataclass
class Record(Made):
    """State of recording for one dataset.

    name     what trials are kept under
    page     where trials answer
    off      why nothing is recorded (any more)
    warn     whether the user is to be warned of that
    remote   this is a worker process: the main process does it
    trusted  a trial has shown that recorded samples are the same
    kept     a trial in another process has
    before   why it has shown that nothing may be recorded
    begun    batches that were made without stand-ins while nothing was known
    due      samples until the next trial
    left     of a stream, the session of its last batch: samples may be kept for later ones
    """

    name: str = ""
    page: Page = field(default_factory=Page)
    off: Refusal | None = None
    warn: bool = False
    remote: bool = False
    trusted: bool = False
    kept: bool = False
    before: Refusal | None = None
    begun: int = 0
    due: int = 0
    attempts: int = 0
    left: Session | None = None

    def __post_init__(self) -> None:
        weakref.finalize(self, self.page.close)

    @property
    def due_s(self) -> float:
        """What batches have to take, in all of a loader's processes, before a first trial is worth what it takes."""
        return _SPENT_S if self.before is None else _SPENT_AGAIN_S

    def spend(self, cpu_s: float, clock_s: float) -> None:
        """Batches have taken so long. Most of it may be waiting, of which recording saves some, too."""
        self.page.spend(max(cpu_s, clock_s / 10))

    @property
    def on(self) -> bool:
        """True while batches are to be recorded, or may be later."""
        return self.off is None

    @property
    def state(self) -> str:
        """ "native", "looked at", "partly" or "Python": where the images' pixels come from.

        Those that were looked at come from Go too, and Python went on with some of them.
        """
        if self.off is not None or not self.leaves:
            return "Python"
        return "partly" if self.reasons else "looked at" if self.seen else "native"

    def hear(self) -> None:
        """Takes the answer of a trial, if there is one."""
        try:
            finding: Finding | None = self.page.take(WAIT_S)
        except LookupError as error:
            finding = Finding.none(str(error))
        if finding is None:
            return
        if finding.files and self.name:
            kept.keep(self.name, finding.files, finding.off)
        if finding.off is not None:
            self.reasons.update(dict(finding.reasons))
            self.seen.update(dict(finding.seen))
            self.adopt(finding.off, finding.warn)
        elif finding.failed:
            self.attempts += 1
            if self.attempts >= _ATTEMPTS_MAX:
                self.stop("trace", "its own code raised errors whenever samples were tried")
        else:
            self.kept, self.trusted, self.due = False, True, CHECK_EVERY

    def stop(self, what: str, why: str, code: str = "RECORDING_ENDED", warn: bool = False) -> None:
        """Ends recording of this dataset."""
        self.adopt(Refusal("source", what, why, code), warn)

    def adopt(self, off: Refusal, warn: bool) -> None:
        """Ends recording of this dataset. The reason may come from another process, which leaves it to us to warn."""
        if self.off is not None:
            return
        self.off, self.warn = off, warn
        if warn and not self.remote:
            _told.stopped(off, "DataLoader(trace=False) does so from the start. Please report this.")

    def know(self, letter: Letter) -> None:
        """Takes what a worker process says with a batch that is about to be used."""
        self.hear()
        if letter.made is not None:
            self.add(letter.made)
        elif not self.trusted:
            self.begun += 1
        if letter.off is not None:
            self.adopt(letter.off, letter.warn)
        elif letter.trusted and not self.trusted:
            self.trusted, self.due = True, CHECK_EVERY

    def add(self, made: Made) -> None:
        """A batch was recorded, and is used."""
        self.samples += made.samples
        self.batches += made.batches
        self.recorded += made.recorded
        self.due -= made.samples
        self.leaves += made.leaves
        for told, new in ((self.reasons, made.reasons), (self.seen, made.seen)):
            for reason, times in new.items():
                if reason in told or len(told) < _REASONS_MAX:
                    told[reason] += times
        if not self.leaves and self.samples >= _BARREN_SAMPLES:
            self.stop("trace", *no_gain(self.reasons))

    def rows(self) -> list[Row]:
        """What explain() says."""
        if self.off is not None and not self.leaves:
            return [Row("trace", "no images", "Python", f"everything runs as with torch: {self.off.why}")]
        rows = []
        if self.before is not None and not self.samples:
            how = f"everything runs as with torch: {self.before.why}, as a process before this one found"
            rows.append(Row("trace", "no images", "Python", how, self.before.code))
        elif not self.samples:
            rows.append(Row("trace", "not run yet", "Python", "the first batches will show what Go can make"))
        for place, count in self.leaves.items():
            how = "your code was recorded, and Go made the pixels"
            where = place if place.startswith("for ") else f"in {place}"
            rows.append(Row("trace", f"{number_of(count, 'image')} {where}", "Go", how))
        for (what, line), count in self.reasons.most_common(8):
            times = f"{number_of(count, 'time')} at {line}"
            how = f"needs the pixels, {times}: Python does this and what follows"
            if what.startswith(OPENED):
                how = f"{times}: Python decodes it; Go goes on where it is converted to RGB or L"
            rows.append(Row("trace", what, "Python", how))
        for (what, line), count in self.seen.most_common(8):
            why = "Go made them, Python does this and what follows"
            rows.append(Row("trace", what, "Python", f"needs the pixels, {number_of(count, 'time')} at {line}: {why}"))
        if self.off is not None:
            rows.append(Row("trace", "from here on", "Python", f"it runs as with torch: {self.off.why}"))
        return rows


def no_gain(reasons: Iterable[tuple[str, str]]) -> tuple[str, str]:
    """Why code gains nothing that no image was recorded of, and the code of that."""
    first = next(iter(reasons), None)
    return "it opens no images" if first is None else f"{first[0]} at {first[1]} needs every pixel", "NO_GAIN"


def places(batch: Any, found: Callable[[Any], int]) -> Counter[str]:
    """Where in a batch the objects are that `found` counts images of; 0 for others."""
    total: Counter[str] = Counter()

    def visit(value: Any, path: tuple[Any, ...]) -> None:
        images = found(value)
        if images:
            total["batch" + "".join(f"[{key!r}]" for key in path)] += images
        elif isinstance(value, dict):
            for key, item in value.items():
                visit(item, (*path, key))
        elif isinstance(value, (list, tuple)):
            for at, item in enumerate(value):
                visit(item, (*path, at))

    visit(batch, ())
    return total
