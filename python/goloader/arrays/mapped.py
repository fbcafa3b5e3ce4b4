"""Finds the file of a memory map, whatever made it (np.memmap, np.load, mmap), and of views of it."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .file_array import DTYPES, FileArray, reach

# A line of /proc/PID/maps (proc(5)): addresses, permissions, offset, device, inode, path.
_LINE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) r[w-][x-]s ([0-9a-f]+) [0-9a-f]+:[0-9a-f]+ ([0-9]+) +(/.*)")


def file_of(array: NDArray[Any]) -> FileArray | None:
    """The array in the file, if its memory is a shared map of one that is still where it was; else None.

    A shared map and its file are the same bytes, so that rows may be read from the file: no page faults, and no crash
    if the file is cut. A map with changes of its own (mode "c") is memory like any other.
    """
    if not array.size or array.ndim == 0 or array.dtype.name not in DTYPES or min(array.strides) < 0:
        return None
    begin = array.__array_interface__["data"][0]
    end = begin + reach(array.shape, array.strides, array.itemsize)
    if not _has_map(array):
        return None
    with open("/proc/self/maps", errors="surrogateescape") as maps:
        for line in maps:
            found = _LINE.match(line)
            if found is None:
                continue
            low, high, offset = (int(number, 16) for number in found.group(1, 2, 3))
            if low <= begin and end <= high:
                return _same_file(array, found[5], int(found[4]), offset + begin - low)
    return None


def _has_map(array: Any) -> bool:
    """True if the array, or what it was cut out of, is over memory that is not numpy's own."""
    while isinstance(array, np.ndarray):
        if array.flags.owndata:
            return False
        array = array.base
    return array is not None


def _same_file(array: NDArray[Any], path: str, inode: int, offset: int) -> FileArray | None:
    try:
        if os.stat(path).st_ino != inode:
            return None
        return FileArray(path, dtype=array.dtype, shape=array.shape, offset=offset, strides=array.strides)
    except (OSError, ValueError):  # it was deleted or cut since
        return None
