"""How the ranks of this machine get on with their batches: each has a line in memory that all of them have.

Nobody waits for another: a rank writes its own line once in a second or so, and reads those of others when it is asked.
"""

from __future__ import annotations

import mmap
import multiprocessing
import os
import sys
import time
from contextlib import suppress
from ctypes import byref, c_int32
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from . import _cores, _native

# A rank's numbers: its own, and its process's; batches that it took; the time that it waited for them lately, and was
# away from them; when it asked for the one that it waits for now, or 0; and when all that was written. Times are in
# microseconds, moments of a clock that all processes have. 0 for a process: no rank yet.
_RANK, _PID, _BATCHES, _WAITED, _AWAY, _ASKED, _TOLD = range(7)
_NUMBERS = 8  # a cache line for each

# What was so long ago counts half.
_HALF_LIFE_S = 30.0
# A wait is told of once it is so long.
_LONG_S = 1.0


@dataclass(frozen=True)
class Rank:
    """A rank of this machine, as it said last.

    rank      its number in torch.distributed, or as its launcher says
    waited    the share of its time, from 0 to 1, that it waited for batches in the last minute or so
    batches   number of batches that its loaders gave
    waits_s   how long it has waited for a batch by now, in seconds; 0 if it does not, or not for long
    silent_s  seconds since it said so: some, or as long as a batch and a step take
    is_this   whether it is this process
    pid       its process
    state     what that does: "runs", "is stopped" (SIGSTOP, a debugger), or "has ended"
    """

    rank: int
    waited: float
    batches: int
    waits_s: float
    silent_s: float
    is_this: bool
    pid: int
    state: Literal["runs", "is stopped", "has ended"]

    def __str__(self) -> str:
        """What it does, after its name."""
        if self.state != "runs":
            return f"process {self.pid} {self.state}"
        if self.waits_s:
            return f"process {self.pid} has waited for a batch for {self.waits_s:.0f} s"
        return f"process {self.pid} last took a batch {self.silent_s:.0f} s ago"


def _state(pid: int) -> Literal["runs", "is stopped", "has ended"]:
    try:
        letter = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]  # proc(5)
    except OSError:
        return "has ended"
    return "has ended" if letter in "ZX" else "is stopped" if letter in "Tt" else "runs"


class _Table:
    """The lines of all ranks; this process's is `own`."""

    def __init__(self, lib: _native.Library, place: int, count: int) -> None:
        """Raises OSError, and what the library raises, where there is no such memory."""
        fd, size = c_int32(), count * _NUMBERS * 8
        lib.call(lib.gl_common, b"ranks", size, byref(fd))
        self.lines = np.frombuffer(mmap.mmap(fd.value, size), np.int64).reshape(count, _NUMBERS)
        self.own = self.lines[place]
        self.own[:] = 0
        self._waited = self._away = 0.0
        self._at = time.monotonic()
        self.waits = False
        self.add(0, 0.0, 0.0)

    def add(self, batches: int, waited: float, away: float) -> None:
        now = time.monotonic()
        left = 0.5 ** ((now - self._at) / _HALF_LIFE_S)
        self._waited, self._away, self._at = self._waited * left + waited, self._away * left + away, now
        told = _micro(self._waited), _micro(self._away), 0, _micro(now)
        self.own[:] = _number(), os.getpid(), self.own[_BATCHES] + batches, *told, 0
        self.waits = False

    def ranks(self) -> list[Rank]:
        now, found = _micro(time.monotonic()), []
        for line in self.lines.tolist():
            if line[_PID]:
                waits = max(0, now - line[_ASKED]) / 1e6 if line[_ASKED] else 0.0
                waited, whole = line[_WAITED] / 1e6 + waits, (line[_WAITED] + line[_AWAY]) / 1e6 + waits
                found.append(
                    Rank(
                        rank=line[_RANK],
                        waited=waited / whole if whole else 0.0,
                        batches=line[_BATCHES],
                        waits_s=waits,
                        silent_s=max(0, now - line[_TOLD]) / 1e6,
                        is_this=line[_PID] == os.getpid(),
                        pid=line[_PID],
                        state=_state(line[_PID]),
                    )
                )
        return sorted(found, key=lambda each: each.rank)


def _micro(seconds: float) -> int:
    return int(seconds * 1e6)


def _number() -> int:
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        rank: int = distributed.get_rank()
        return rank
    try:
        return int(os.environ["RANK"])
    except (KeyError, ValueError):
        return _cores.ranks()[0]


# Of the process with this number; nothing else of this module's is in a forked child.
_tables: dict[int, _Table | None] = {}


def are_several() -> bool:
    """Whether this process is one of several ranks on its machine, and no worker process of one."""
    return _cores.ranks()[1] > 1 and not multiprocessing.current_process().daemon


def join(*, load: bool) -> None:
    """Takes this process's line, where there are others, once. Only with `load` the library is loaded for that."""
    if os.getpid() in _tables or not are_several() or not (load or _native.is_loaded()):
        return
    made = None
    with suppress(OSError, RuntimeError):  # of the library too; each then knows of itself only
        made = _Table(_native.library(), *_cores.ranks())
    _tables[os.getpid()] = made


def add(batches: int, waited: float, away: float) -> None:
    """This rank has taken so many more batches; it waited for them and was away from them for so many seconds."""
    join(load=False)
    if (table := _tables.get(os.getpid())) is not None:
        table.add(batches, waited, away)


def waits(since: float) -> None:
    """This rank waits for a batch, since this moment of time.monotonic()."""
    table = _tables.get(os.getpid())
    if table is not None and not table.waits and time.monotonic() - since >= _LONG_S:
        table.own[_ASKED], table.waits = _micro(since), True


def came() -> None:
    """What this rank waited for has come."""
    table = _tables.get(os.getpid())
    if table is not None and table.waits:
        table.own[_ASKED], table.waits = 0, False


def told() -> tuple[Rank, ...]:
    """All ranks of this machine that have said something; none if this process is not one of several."""
    table = _tables.get(os.getpid())
    return () if table is None else tuple(table.ranks())
