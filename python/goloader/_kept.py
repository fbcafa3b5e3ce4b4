"""Arrays that take long to find in files, kept for the next start."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .selfcheck import memory

_VERSION = 1
_YOUNG_NS = 2_000_000_000  # a file that was written just now may still be changing

Arrays = dict[str, NDArray[Any]]


def kept(files: Sequence[str], what: Sequence[str], find: Callable[[], Arrays]) -> Arrays:
    """What `find` finds in files, or what it found before, as long as none of them has another size or time of change.

    It lies beside the first file, hidden so that no wildcard means it, or in the user's cache where that folder cannot
    be written. `what` is all else that it depends on.
    """
    if not files:
        return find()
    folder = os.path.dirname(files[0])
    name = hashlib.sha256(json.dumps([list(files), *what]).encode()).hexdigest()[:32]
    place = os.path.join(folder if os.access(folder, os.W_OK) else memory.folder(), f".{name}.goloader")
    states = list(map(os.stat, files))
    stamp = np.array([_VERSION, *(part for each in states for part in (each.st_size, each.st_mtime_ns))])
    with suppress(Exception):  # whatever is wrong with it, it is made anew
        with open(place, "rb") as file:
            found = dict(np.load(file, allow_pickle=False))
        if np.array_equal(found.pop("stamp"), stamp):
            return found
    found = find()
    if all(time.time_ns() - each.st_mtime_ns > _YOUNG_NS for each in states):
        with suppress(OSError), memory.replacing(place) as file:  # it is made anew next time
            arrays: dict[str, Any] = {**found, "stamp": stamp}
            np.savez(file, **arrays)
    return found
