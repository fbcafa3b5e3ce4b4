"""Finds the file of a memory map, whatever made it (np.memmap, np.load, mmap), and of views of it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .file_array import DTYPES, FileArray, reach

# A line of /proc/PID/maps (proc(5)): addresses, permissions, offset, device, inode, path.
_LINE = re.compile(r"(\w+)-(\w+) (....) (\w+) \S+ ([0-9]+) *(.*)")


class Map(NamedTuple):
    """Addresses of this process's, and the place in a file that is mapped there: "" for memory without one."""

    first: int
    last: int
    offset: int
    writable: bool
    shared: bool
    inode: int
    path: str


def maps() -> Iterator[Map]:
    """Of all this process's memory, in order."""
    with open("/proc/self/maps", errors="surrogateescape") as lines:
        for first, last, kind, offset, inode, path in (_LINE.match(line).groups() for line in lines):  # type: ignore[union-attr]
            yield Map(int(first, 16), int(last, 16), int(offset, 16), kind[1] == "w", kind[3] == "s", int(inode), path)


def is_shared(array: Any) -> bool:
    """Whether a process forked from now on would see what this one writes into a tensor or an array.

    So it is of share_memory_(), multiprocessing's RawArray and SharedMemory, and maps of files that may be written.
    """
    torch = sys.modules.get("torch")
    if torch is not None and issubclass(type(array), torch.Tensor):
        with torch._C.DisableTorchFunctionSubclass():  # a subclass of the user's may do anything
            return _is_shared(array)
    return _has_map(array) and _is_in_shared_map(array.__array_interface__["data"][0])


def _is_shared(tensor: Any) -> bool:
    if tensor.layout != sys.modules["torch"].strided or tensor.device.type != "cpu":
        return False
    storage = tensor.untyped_storage()
    if storage.is_shared():
        return True
    if storage.resizable():  # torch's own memory; not that of an array
        return False
    return _is_in_shared_map(tensor.data_ptr())


def _is_in_shared_map(address: int) -> bool:
    return any(each.shared and each.writable and each.first <= address < each.last for each in maps())


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
    place = next((each for each in maps() if each.first <= begin and end <= each.last), None)
    if place is None or not place.shared or not place.path.startswith("/"):
        return None
    return _same_file(array, place.path, place.inode, place.offset + begin - place.first)


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
