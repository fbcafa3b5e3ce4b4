"""Which files a folder has by a pattern, as pathlib and glob find them: of a listing that is taken once for as long as
the folder stays what it is."""

from __future__ import annotations

import glob
import os
import posixpath
import time
from bisect import bisect_left
from dataclasses import dataclass
from pathlib import Path, PosixPath
from typing import Any

from ...bytecode import UnreadableError
from ...trust.originals import is_original

# A folder that has changed less than so many nanoseconds before it was listed may have changed since, within one tick
# of its file system's clock.
_TICK_NS = 2_000_000_000

# Folders that are kept.
_KEPT_MAX = 64


@dataclass(frozen=True)
class Listing:
    """Names in a folder.

    names  in the order in which the folder has them
    order  the same in alphabetical order, each with its place in names
    stamp  tells whether the folder is what it was
    sure   a change since would show in the stamp
    """

    names: tuple[str, ...]
    order: list[tuple[str, int]]
    stamp: tuple[int, ...]
    sure: bool

    def matching(self, pattern: str) -> list[str]:
        """Names that a pattern with one star stands for, in the folder's order."""
        begin, end = pattern.split("*")
        found = []
        for name, place in self.order[bisect_left(self.order, (begin, 0)) :]:
            if not name.startswith(begin):
                break
            if name.endswith(end) and len(name) >= len(begin) + len(end):
                found.append(place)
        return [self.names[place] for place in sorted(found)]


_known: dict[str, Listing] = {}


def listing(folder: str) -> Listing:
    """Of a folder as it is now: the very same object as long as it is what it was. Raises UnreadableError."""
    try:
        found = os.stat(folder)
        stamp = found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns
        known = _known.get(folder)
        if known is not None and known.stamp == stamp and known.sure:
            return known
        sure = time.time_ns() - max(stamp[2:]) > _TICK_NS
        with os.scandir(folder) as entries:
            names = tuple(entry.name for entry in entries)
    except (OSError, ValueError) as error:
        raise UnreadableError(f"looks into a folder that cannot be read: {error}") from None
    if known is None or known.names != names or known.stamp[:2] != stamp[:2]:
        known = Listing(names, sorted(zip(names, range(len(names)), strict=True)), stamp, sure)
    else:
        known = Listing(known.names, known.order, stamp, sure)
    if len(_known) >= _KEPT_MAX:
        _known.clear()
    _known[folder] = known
    return known


def is_pathlib() -> bool:
    """Whether paths find files as pathlib has it."""
    return "glob" not in vars(PosixPath) and is_original(vars(Path).get("glob"), "pathlib")


def is_glob(called: Any) -> bool:
    return called is glob.glob and is_original(called, "glob")


def found_by_pathlib(folder: PosixPath, pattern: str) -> list[PosixPath]:
    """list(folder.glob(pattern)). Raises UnreadableError for patterns other than a name with one star in it."""
    _check(pattern)
    return [folder / name for name in listing(os.fspath(folder)).matching(pattern)]


def found_by_glob(path: str) -> list[str]:
    """glob.glob(path). Raises UnreadableError unless its last part alone has a star, and that one."""
    folder, pattern = posixpath.split(path)
    _check(pattern)
    if not folder or glob.has_magic(folder):
        raise UnreadableError(f"looks for {path!r}")
    names = listing(folder).matching(pattern)
    return [posixpath.join(folder, name) for name in names if pattern.startswith(".") or not name.startswith(".")]


def _check(pattern: str) -> None:
    if pattern.count("*") != 1 or any(each in pattern for each in "?[/\0"):
        raise UnreadableError(f"looks for {pattern!r}")
