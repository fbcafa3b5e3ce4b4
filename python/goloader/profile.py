"""A timeline of loaders and the program around them: DataLoader.profile(), and python -m goloader profile."""

from __future__ import annotations

import atexit
import bisect
import json
import os
import threading
import time
from collections.abc import Container, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from . import _chart, _core, _told
from ._errors import ForkedError
from .stats import Clock

__all__ = ["Profile"]

# Much less than it takes to fill the core's ring of events.
_COPIED_EVERY_S = 0.02
_STAGES = ("read", "decode", "op", "gather", "wait")  # what lies ready before it is taken is no work
_WORK = _STAGES[:4]
_ROLES = ("batches", "worker", "reader")
_GIL = 999  # the number of a track: those of Go begin at 1, 1001 and 2001


class Profile:
    """A context manager that writes what happens in its block as a Chrome trace; ui.perfetto.dev shows it.

        with loader.profile("trace.json") as profile:
            for batch in loader:
                train(batch)

    The trace has a track for the program (each iter(), next() and training step) and one for each Go worker: what it
    reads, decodes, transforms and gathers, for which batch and sample. Of a next() that gives Go's batch, another track
    shows when it holds the GIL. Worker processes have none. Times are in microseconds from the start. With `chart`, it
    is also drawn to a .png, .svg or .pdf file: batch times with spikes marked, waits, stages and throughput.

    events  number of events in the file, once it is written
    lost    number of Go's events that could not be copied in time and are missing
    """

    def __init__(
        self, clock: Clock | None, path: str | os.PathLike[str], chart: str | os.PathLike[str] | None = None
    ) -> None:
        """`clock` is the loader's; None: those of all loaders of this process."""
        self.path, self.chart = Path(path), None if chart is None else Path(chart)
        self.events = self.lost = 0
        self._clock = clock
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._copy, name="goloader-profile", daemon=True)
        self._copied: list[Any] = []
        self._numbers: set[int] = set()
        self._at, self._begin = 0, 0.0

    def __enter__(self) -> Profile:
        self.path.write_text("")  # raises now what would else be raised at the end
        self.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def begin(self) -> None:
        """What happens from now on is in the timeline. Raises ModuleNotFoundError if it cannot be drawn."""
        if self.chart is not None:
            _chart.figure()  # which imports what an interpreter that ends may not import any more
        self._at = _core.events(-1)[1]
        (self._clock or Clock).watched = []
        self._begin = time.perf_counter()
        self._thread.start()

    def end(self) -> None:
        """Writes the file, but none of all loaders if there was no batch."""
        self._done.set()
        self._thread.join()
        watched = (self._clock or Clock).watched or []
        (self._clock or Clock).watched = None
        numbers = None if self._clock is None else self._numbers
        program, go = _program(watched), [span for part in self._copied for span in _of_go(part, numbers)]
        events = [*program, *_holding(program, [span for span in go if span["name"] == "wait"]), *go]
        self.events = len(events)
        if not events and self._clock is None:
            return
        for event in events:
            event["ts"] -= self._begin * 1e6
        if self.chart is not None:
            _chart.draw(self.chart, events, _WORK)
        _write(self.path, events, os.getpid())

    def _copy(self) -> None:
        done = False
        while not done:
            done = self._done.wait(_COPIED_EVERY_S)
            number = None if self._clock is None else self._clock.number()
            if number is not None:
                self._numbers.add(number)
            copied, self._at, lost = _core.events(self._at)
            self.lost += lost
            self._copied.append(copied)


def note(error: BaseException, doing: str) -> None:
    """Adds to an error that ends a wait what Go is doing, if it is; with GOLOADER_RECORD=FOLDER in the environment it
    also writes what Go did last to FOLDER/PID.json, and makes the folder."""
    _told.note(error, doing)
    folder = os.environ.get("GOLOADER_RECORD")
    if folder and isinstance(error, Exception | KeyboardInterrupt):
        path = Path(folder, f"{os.getpid()}.json")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if write_last(path, _core.events(0)[0], os.getpid()):
                _told.note(error, f"what Go did last is in {path}")
        except (OSError, ForkedError) as failed:
            _told.note(error, f"what Go did last could not be written: {failed}")


def write_last(path: Path, events: Iterable[Any], pid: int) -> int:
    """Writes a process's last events as a timeline, in microseconds before the last one's end. Returns how many."""
    spans = _of_go(events, None)
    if spans:
        end = max(span["ts"] + span["dur"] for span in spans)
        for span in spans:
            span["ts"] -= end
        _write(path, spans, pid)
    return len(spans)


def _of_go(events: Iterable[Any], numbers: Container[int] | None) -> list[dict[str, Any]]:
    """Spans of what the loaders of these numbers did, or all."""
    found = []
    for each in events:
        if (numbers is None or each["loader"] in numbers) and each["stage"] < len(_STAGES):
            role, worker = _ROLES[each["role"]], int(each["worker"])
            names = ("batch", "count", "sample")[: 2 if each["sample"] < 0 else 3]
            found.append(
                _event(
                    _STAGES[each["stage"]], each["begin_ns"] * 1e-3, each["took_ns"] * 1e-3,
                    1 + int(each["role"]) * 1000 + worker, f"{role} {worker}" if each["role"] else role,
                    {name: int(each[name]) for name in names},
                )
            )  # fmt: skip
    return found


def _write(path: Path, events: list[dict[str, Any]], pid: int) -> None:
    tracks = sorted({(event["tid"], event.pop("track")) for event in events})
    named: list[dict[str, Any]] = [
        {"name": "thread_name", "ph": "M", "tid": number, "args": {"name": name}} for number, name in tracks
    ]
    trace = [{"pid": pid, **event} for event in named + events]
    path.write_text(json.dumps({"traceEvents": trace, "displayTimeUnit": "ms"}))


def until_exit(folder: str, *, chart: bool) -> None:
    """Has this process write, as it ends, what its loaders did from now on: to rank-N.json, or else PID.json; and draw
    it to a .png of that name."""
    rank, own = os.environ.get("RANK"), os.getpid()
    path = Path(folder, f"{own}.json" if rank is None else f"rank-{rank}.json")
    profile = Profile(None, path, path.with_suffix(".png") if chart else None)

    def end() -> None:
        if os.getpid() == own:  # not in a child that was forked
            profile.end()

    profile.begin()
    atexit.register(end)


def _program(watched: list[tuple[str, float, float]]) -> list[dict[str, Any]]:
    """iter() and next() as they were called, and steps in between."""
    found, before = [], None
    for name, asked, given in sorted(watched, key=lambda each: each[1]):
        if name != "iter" and before is not None and asked > before:
            found.append(_event("step", before * 1e6, (asked - before) * 1e6, 0, "program"))
        if name != "over":
            found.append(_event(f"{name}()", asked * 1e6, (given - asked) * 1e6, 0, "program"))
        before = given if name == "next" else None  # nothing is between two epochs
    return found


def _holding(program: list[dict[str, Any]], waits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """When a next() that waits for Go's batch holds the GIL: before and after it waits, in which it does not."""
    found = []
    waits = sorted(waits, key=lambda wait: wait["ts"])
    ends = [wait["ts"] + wait["dur"] for wait in waits]
    for call in program:
        begin, end = call["ts"], call["ts"] + call["dur"]
        inside = range(bisect.bisect(ends, begin), bisect.bisect(ends, end))
        if call["name"] != "next()" or not inside:
            continue
        for free_at, held_at in [*((waits[n]["ts"], ends[n]) for n in inside), (end, end)]:
            if free_at > begin:
                found.append(_event("holds the GIL", begin, free_at - begin, _GIL, "goloader in next()"))
            begin = held_at
    return found


def _event(
    name: str, begin_us: float, took_us: float, number: int, track: str, more: dict[str, Any] | None = None
) -> dict[str, Any]:
    what: dict[str, Any] = {"name": name, "ph": "X", "tid": number, "track": track}
    return what | {"ts": float(begin_us), "dur": float(took_us), "args": more or {}}
