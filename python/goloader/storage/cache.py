"""Where a dataset keeps what it read: in memory, on disk, or both. core/source/cache does the work."""

from __future__ import annotations

import json
import math
import os
import re
import warnings
import weakref
from collections.abc import Iterable
from ctypes import byref, c_int64, create_string_buffer
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from .. import _native

_UNITS = {"": 1} | {
    prefix + middle: base**power for power, prefix in enumerate("KMGT", 1) for middle, base in (("", 1000), ("i", 1024))
}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]i?|)B", re.IGNORECASE)


def size_of(text: str) -> int:
    """The bytes of "500 B", "1.5GB" (10^9) or "32GiB" (2^30). Raises ValueError for other texts, and for nothing."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not a size; write 500B, 64KB, 1.5GB, 32GiB or 2TB")
    number, unit = found.groups()
    size = int(Fraction(number) * _UNITS[unit.upper().replace("I", "i")])
    if size == 0:
        raise ValueError(f"{text!r}: a cache of 0 bytes keeps nothing")
    return size


@dataclass(frozen=True)
class CacheOptions:
    """Where a dataset keeps what it read; in memory first if both are given.

    ram        the most memory to use: bytes, or a text such as "32GB" or "32GiB"; inf: no limit, 0: none. Each process
               has its own; the worker processes of a loader share the size
    disk       a folder, shared by all processes of a machine and found by later ones
    disk_size  the most that all of them keep there together, written like `ram`
    hold       what is kept: "encoded", files as they are stored; or "decoded", images that Go decoded, after the first
               steps of the transform if these are Resize, CenterCrop or Pad. They take 3 bytes a pixel, and later
               epochs neither read nor decode them

    Raises ValueError for sizes that are not valid, if neither is given, and for another `hold`.
    """

    ram: float | str = 0
    disk: str | os.PathLike[str] | None = None
    disk_size: float | str = math.inf
    hold: Literal["encoded", "decoded"] = "encoded"

    def __post_init__(self) -> None:
        if self.disk is not None:
            object.__setattr__(self, "disk", os.path.abspath(os.path.expanduser(self.disk)))
        for name, least in (("ram", 0), ("disk_size", 1)):
            size = getattr(self, name)
            size = size_of(size) if isinstance(size, str) else size
            if size < least or (size != math.inf and size != int(size)):
                raise ValueError(f"{name}={size!r}: give a number of bytes, at least {least}")
            object.__setattr__(self, name, size)
        if self.hold not in ("encoded", "decoded"):
            raise ValueError(f"hold={self.hold!r}: a cache holds what is 'encoded' or what is 'decoded'")
        if not self.ram and self.disk is None:
            raise ValueError("a cache is in memory, on a disk, or both: give ram= or disk=")

    @classmethod
    def of(cls, given: Any) -> CacheOptions:
        """From "ram", "ram:32GB", "/path", "/path:500GB", or one of each in a list. Raises ValueError, TypeError."""
        if isinstance(given, CacheOptions):
            return given
        texts = [given] if isinstance(given, str | os.PathLike) else list(given)
        found: dict[str, Any] = {}
        made: dict[str, Any]
        for each in texts:
            text = str(os.fspath(each))
            place, colon, size = text.rpartition(":")
            if not colon or not re.match(r"\s*\d[^/]*$", size):  # a folder's name may have a colon
                place, size = text, ""
            if text == "ram" or text.startswith("ram:"):
                made = {"ram": text[4:] if ":" in text else math.inf}
            elif place:
                made = {"disk": place, "disk_size": size or math.inf}
            else:
                raise ValueError(f"{text!r} is not a place; write ram:32GB or /folder:500GB")
            if found.keys() & made.keys():
                raise ValueError(f"{text!r}: a cache takes one size of memory and one folder")
            found |= made
        return cls(**found)

    def __str__(self) -> str:
        parts = []
        if self.ram:
            parts.append(f"memory{_limit(self.ram)}")
        if self.disk is not None:
            parts.append(f"{os.fspath(self.disk)}{_limit(self.disk_size)}")
        return ", then ".join(parts)


Given = str | os.PathLike[str] | CacheOptions | Iterable[str | os.PathLike[str]]


def _bytes(size: Any) -> int:
    """As the core has it."""
    return -1 if size == math.inf else int(size)


def _limit(size: Any) -> str:
    return "" if size == math.inf else f" ({size:,} bytes)"


class Cache:
    """A cache at work. Datasets with the same options share one in each process, which lives as long as one of them."""

    @classmethod
    def of(cls, given: Given | None) -> Cache | None:
        """The cache of this process for what CacheOptions.of takes; None for None. Warns if it cannot be written."""
        if given is None:
            return None
        options = CacheOptions.of(given)
        made = _open.get(options)
        if made is None:
            _open[options] = made = cls(options)
        return made

    def __init__(self, options: CacheOptions) -> None:
        self.options = options
        self._handles: dict[_native.Library, int] = {}
        self.handle(_native.own_library(), warn=True)

    def __reduce__(self) -> tuple[Any, ...]:
        return Cache.of, (self.options,)

    def __str__(self) -> str:
        return str(self.options)

    def handle(self, lib: _native.Library, warn: bool = False) -> int:
        """Its handle in a library: a forked child has a library, and memory, of its own."""
        if lib not in self._handles:
            disk = None if self.options.disk is None else os.fsencode(self.options.disk)
            options = self.options
            made = _native.Cache(self._ram(), disk, _bytes(options.disk_size), options.hold == "decoded")
            handle, error = c_int64(), _native.Error()
            lib.check(lib.gl_cache_open(byref(made), byref(handle), byref(error)), error)
            self._handles[lib] = handle.value
            lib.fetches = True
            weakref.finalize(self, lib.gl_close, handle.value, None).atexit = False
            if warn:
                _warn(error)
        return self._handles[lib]

    def _ram(self) -> int:
        """The bytes of memory for this process."""
        from torch.utils.data import get_worker_info

        size, worker = _bytes(self.options.ram), get_worker_info()
        return size if worker is None or size <= 0 else max(1, size // worker.num_workers)

    def stats(self) -> dict[str, int]:
        """What it did in this process, and holds: ram_hits, ram_bytes, disk_hits, disk_bytes, misses.

        `disk_bytes` are those of all processes. Warns once if the disk cannot be written any more.
        """
        lib = _native.own_library()
        text, error = create_string_buffer(1 << 12), _native.Error()
        lib.check(lib.gl_cache_stats(self.handle(lib), text, len(text), byref(error)), error)
        _warn(error)
        found: dict[str, int] = json.loads(text.value)
        return found


# By their options.
_open: weakref.WeakValueDictionary[CacheOptions, Cache] = weakref.WeakValueDictionary()


def _warn(error: _native.Error) -> None:
    if error.text:
        warnings.warn(f"goloader: {error.text.decode(errors='replace')}", RuntimeWarning, stacklevel=5)
