"""The core's library: found, loaded at first use, and each function of goloader.h declared once.

Loaded lazily, since a process that has the library inside warns at each fork (Python 3.12 and later).
"""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import os
import shutil
from ctypes import (
    POINTER,
    Structure,
    byref,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int32,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
)
from functools import cache
from pathlib import Path
from typing import Any

from . import _cores, _library
from ._errors import BY_STATUS, CoreError, ForkedError, LibraryError
from .adapters import mkl, pillow

ABI_MAJOR = 23
LIBRARY = Path(__file__).parent / "lib" / "libgoloader.so"

OK, EMPTY, ASK, IDLE, LEFT, END = 0, 1, 2, 3, 4, 5
ASK_PIXELS, ASK_SAMPLE, ASK_EXP, ASK_BATCH, ASK_SHARD, ASK_LATE = 1, 2, 3, 4, 5, 6


class Error(Structure):
    _fields_ = [("text", c_char * 4096)]


class Chunks(Structure):
    _fields_ = [
        ("shape", POINTER(c_int64)), ("chunk", POINTER(c_int64)), ("ndim", c_int32), ("item", c_int32),
        ("fill", c_char_p), ("places", c_void_p), ("count", c_int64), ("filters", c_char_p), ("separator", c_char_p),
        ("shard", POINTER(c_int64)),
    ]  # fmt: skip


class Column(Structure):
    _fields_ = [
        ("name", c_char_p), ("paths", c_char_p), ("npaths", c_int32), ("item", c_int32), ("encodings", c_char_p),
        ("nencodings", c_int32), ("parts", c_void_p), ("count", c_int64),
    ]  # fmt: skip


class ArrayFiles(Structure):
    _fields_ = [
        ("format", c_char_p), ("paths", c_void_p), ("offsets", c_void_p), ("begins", c_void_p), ("extents", c_void_p),
        ("head", c_char_p), ("tail", c_char_p), ("count", c_int64),
    ]  # fmt: skip


class Array(Structure):
    _fields_ = [
        ("data", c_void_p), ("count", c_int64), ("stride", c_int64 * 8), ("path", c_char_p), ("offset", c_int64),
        ("direct", c_int32), ("counts", c_int32), ("begins", c_void_p), ("lengths", c_void_p), ("bytes", c_int64),
        ("ends", c_void_p), ("nends", c_int64), ("chunks", POINTER(Chunks)), ("column", POINTER(Column)),
        ("files", POINTER(ArrayFiles)),
    ]  # fmt: skip


class Rows(Structure):
    _fields_ = [("arrays", POINTER(Array)), ("narrays", c_int64), ("index", c_void_p)]


class Place(Structure):
    _fields_ = [
        ("data", c_void_p), ("bytes", c_int64), ("label", c_int64), ("height", c_int64), ("width", c_int64),
    ]  # fmt: skip


class Source(Structure):
    _fields_ = [
        ("count", c_int64), ("paths", c_char_p), ("offsets", c_void_p), ("labels", c_void_p), ("spans", c_void_p),
        ("files", c_int64), ("cache", c_int64), ("rows", POINTER(Rows)), ("places", c_void_p),
    ]  # fmt: skip


class Tree(Structure):
    _fields_ = [
        ("root", c_char_p), ("classes", POINTER(c_char_p)), ("nclasses", c_int32), ("extensions", POINTER(c_char_p)),
        ("nextensions", c_int32), ("index", c_char_p),
    ]  # fmt: skip


class Shards(Structure):
    _fields_ = [
        ("paths", POINTER(c_char_p)), ("npaths", c_int32), ("images", POINTER(c_char_p)), ("nimages", c_int32),
        ("target", c_char_p), ("index", c_char_p),
    ]  # fmt: skip


class Files(Structure):
    _fields_ = [
        ("count", c_int64), ("paths", c_void_p), ("offsets", c_void_p), ("labels", c_void_p), ("spans", c_void_p),
        ("indexed", c_int32), ("notice", c_char * 256),
    ]  # fmt: skip


class Cache(Structure):
    _fields_ = [("ram_bytes_max", c_int64), ("disk", c_char_p), ("disk_bytes_max", c_int64), ("decoded", c_int32)]


class Field(Structure):
    _fields_ = [("offset", c_int64), ("dtype", c_int32), ("ndim", c_int32), ("shape", c_int64 * 8)]


class Batch(Structure):
    _fields_ = [
        ("data", c_void_p), ("bytes", c_int64), ("lease", c_void_p), ("sequence", c_int64), ("nfields", c_int32),
        ("field", Field * 64),
    ]  # fmt: skip


class Ask(Structure):
    _fields_ = [
        ("kind", c_int32), ("position", c_int32), ("sequence", c_int64), ("index", c_int64), ("x", c_float),
        ("reason", c_char * 256),
    ]  # fmt: skip


class RunOptions(Structure):
    _fields_ = [
        ("workers", c_int32), ("streams", c_int32), ("base_seed", c_uint64), ("poison", c_int32), ("seeds", c_void_p),
        ("hold_directory", c_int32), ("sample_timeout_ms", c_int64), ("nice", c_int32), ("ncpus", c_int32),
        ("cpus", c_void_p),
    ]  # fmt: skip


class Event(Structure):
    _fields_ = [
        ("begin_ns", c_int64), ("took_ns", c_int64), ("batch", c_int64), ("sample", c_int64), ("loader", c_int32),
        ("run", c_int32), ("role", c_int32), ("worker", c_int32), ("stage", c_int32), ("count", c_int32),
    ]  # fmt: skip


class Drawn(Structure):
    _fields_ = [
        ("width", c_int32), ("height", c_int32), ("count", c_int32), ("words", c_int32), ("word", c_uint32 * 64),
        ("ends", c_int32 * 16), ("steps", c_uint8 * (16 * 800)),
    ]  # fmt: skip


class Slot(Structure):
    _fields_ = [("data", c_void_p), ("bytes", c_int64), ("lease", c_int64), ("sequence", c_int64), ("number", c_int32)]


class SlotsUsage(Structure):
    _fields_ = [("slots", c_int64), ("held", c_int64), ("bytes", c_int64), ("bytes_max", c_int64)]


# Functions that may take longer than a moment run without the GIL (ctypes.CDLL); the rest keep it (ctypes.PyDLL), since
# giving it away can cost a whole switch interval when another thread is busy.
_LONG = {
    "gl_open": (c_int32, [c_char_p, c_size_t, POINTER(Source), POINTER(c_int64), POINTER(Error)]),
    "gl_array_headers": (c_int32, [c_char_p, c_char_p, c_int32, POINTER(c_char), c_size_t, POINTER(Error)]),
    "gl_wait": (c_int32, [c_int32, c_int32]),
    "gl_files_list": (c_int32, [POINTER(Tree), POINTER(c_int64), POINTER(Error)]),
    "gl_shards_list": (c_int32, [POINTER(Shards), POINTER(c_int64), POINTER(Error)]),
    "gl_files_wait": (c_int32, [c_int64, c_int32, POINTER(Files), POINTER(Error)]),
    "gl_fetch_wait": (c_int32, [c_int64, c_int32, POINTER(c_void_p), POINTER(c_int64), POINTER(Error)]),
    "gl_cache_open": (c_int32, [POINTER(Cache), POINTER(c_int64), POINTER(Error)]),
    "gl_cache_stats": (c_int32, [c_int64, POINTER(c_char), c_size_t, POINTER(Error)]),
    "gl_answer_pixels": (c_int32, [c_int64, c_char_p, c_int32, c_int32, POINTER(Error)]),
    "gl_reject": (c_int32, [c_int64, POINTER(Error)]),
    "gl_asked_sample": (c_int32, [c_int64, POINTER(c_void_p), POINTER(c_int64), POINTER(Error)]),
    "gl_leave_out": (c_int32, [c_int64, c_int32, POINTER(Error)]),
    "gl_reset": (c_int32, [c_int64, POINTER(Error)]),
    "gl_resume": (c_int32, [c_int64, c_int64, c_void_p, c_int32, POINTER(Error)]),
    "gl_close": (c_int32, [c_int64, POINTER(Error)]),
    "gl_observe": (c_int32, [c_int32, POINTER(Error)]),
    "gl_join": (c_int32, [c_int32, c_int32, c_int32, POINTER(Error)]),
    "gl_common": (c_int32, [c_char_p, c_int64, POINTER(c_int32), POINTER(Error)]),
    "gl_settle": (c_int32, [c_int32, POINTER(Error)]),
    "gl_seeds": (c_int32, [c_uint64, c_int64, c_void_p, c_int64, POINTER(Error)]),
    "gl_weighted_open": (c_int32, [c_void_p, c_int32, c_int64, POINTER(c_int64), POINTER(Error)]),
    "gl_shuffled_open": (c_int32, [c_int64, POINTER(c_int64), POINTER(Error)]),
    "gl_balanced_open": (c_int32, [c_void_p, c_int64, POINTER(c_int64), POINTER(Error)]),
    "gl_draw": (c_int32, [c_int64, c_uint64, c_int64, c_int64, c_void_p, c_int64, POINTER(Error)]),
    "gl_mix": (
        c_int32,
        [c_uint64, c_void_p, c_void_p, c_void_p, c_int32, c_int64, c_int64, c_void_p, c_int64, POINTER(Error)],
    ),
    "gl_mix_up": (c_int32, [c_void_p, c_int64, c_int64, c_int32, c_double, POINTER(Error)]),
    "gl_cut_mix": (c_int32, [c_void_p, POINTER(c_int64), c_int32, POINTER(c_int64), POINTER(Error)]),
    "gl_augmentation_open": (c_int32, [c_char_p, c_size_t, POINTER(c_int64), POINTER(Error)]),
    "gl_permutation": (c_int32, [c_uint64, c_void_p, c_int64, POINTER(Error)]),
    "gl_slots_close": (None, [c_void_p]),
    "gl_slots_trim": (None, [c_void_p]),
    "gl_slots_reclaim": (None, [c_void_p, c_int32]),
    "gl_slot_fill": (None, [POINTER(Slot), c_void_p, c_int64]),
    "gl_slot_copy": (c_int32, [c_void_p, c_int32, c_int64, c_void_p, c_int64, POINTER(Error)]),
}
_SHORT = {
    "gl_abi_version": (c_uint32, []),
    "gl_dtype_name": (c_char_p, [c_int32]),
    "gl_kernels": (c_char_p, []),
    "gl_use_libwebp": (c_int32, [c_void_p, c_void_p, c_void_p, POINTER(Error)]),
    "gl_use_mkl": (c_int32, [c_void_p, POINTER(Error)]),
    "gl_remote_use": (c_int32, [c_char_p, POINTER(Error)]),
    "gl_fetch": (c_int32, [c_char_p, c_int64, c_int64, c_int64, POINTER(c_int64), POINTER(Error)]),
    "gl_cache_look": (c_int32, [c_char_p, c_int32, POINTER(c_int64), POINTER(Error)]),
    "gl_start": (c_int32, [c_int64, POINTER(RunOptions), POINTER(c_int64), POINTER(c_int32), POINTER(Error)]),
    "gl_submit": (c_int32, [c_int64, c_void_p, c_int64, c_void_p, c_int64, POINTER(Error)]),
    "gl_submit_seeded": (c_int32, [c_int64, c_void_p, c_void_p, c_int64, c_void_p, c_int64, POINTER(Error)]),
    "gl_submit_recipes": (c_int32, [c_int64, c_char_p, c_size_t, c_void_p, c_int64, POINTER(Error)]),
    "gl_lane_open": (c_int32, [c_int64, c_int32, c_char_p, c_size_t, c_int32, POINTER(Error)]),
    "gl_submit_next": (c_int32, [c_int64, c_int32, c_int64, c_void_p, c_int64, POINTER(Error)]),
    "gl_lane_state": (c_int32, [c_int64, c_int32, POINTER(c_char), c_int64, POINTER(c_int64), POINTER(Error)]),
    "gl_next": (c_int32, [c_int64, POINTER(Batch), POINTER(Ask), POINTER(Error)]),
    "gl_answer_exp": (c_int32, [c_int64, c_float, c_float, POINTER(Error)]),
    "gl_rng_set": (c_int32, [c_int64, c_void_p, c_size_t, POINTER(Error)]),
    "gl_follow": (c_int32, [c_int64, c_int32, c_void_p, c_size_t, c_int32, POINTER(Error)]),
    "gl_states_set": (c_int32, [c_int64, c_int32, c_void_p, c_size_t, POINTER(Error)]),
    "gl_asked_states": (c_int32, [c_int64, c_void_p, c_size_t, POINTER(Error)]),
    "gl_skip": (c_int32, [c_int64, c_void_p, c_size_t, POINTER(Error)]),
    "gl_position": (c_int32, [c_int64, c_void_p, c_int32, POINTER(Error)]),
    "gl_release": (None, [c_void_p]),
    "gl_doubts": (c_int32, [c_int64, c_void_p, c_int32, POINTER(c_int32), POINTER(Error)]),
    "gl_doing": (c_int32, [c_int64, POINTER(c_char), c_size_t, POINTER(Error)]),
    "gl_events": (
        c_int32,
        [c_int64, c_void_p, c_int32, POINTER(c_int32), POINTER(c_int64), POINTER(c_int64), POINTER(Error)],
    ),
    "gl_stats": (c_int32, [c_int64, POINTER(c_char), c_size_t, POINTER(Error)]),
    "gl_live": (c_int32, [POINTER(c_char), c_size_t, POINTER(Error)]),
    "gl_augmentation_draw": (c_int32, [c_int64, c_void_p, POINTER(Drawn), POINTER(Error)]),
    "gl_slots_create": (c_int32, [c_int64, POINTER(c_int32), c_void_p, POINTER(Error)]),
    "gl_slots_open": (c_int32, [c_int32, c_void_p, POINTER(Error)]),
    "gl_slots_count": (None, [c_void_p, POINTER(SlotsUsage)]),
    "gl_slot_take": (c_int32, [c_void_p, c_int64, c_int32, POINTER(Slot)]),
    "gl_slot_send": (None, [c_void_p, c_int32]),
    "gl_slot_lease": (c_int32, [c_void_p, c_int32, c_int64, c_int64, POINTER(Slot), POINTER(Error)]),
    "gl_slot_release": (None, [c_void_p, c_int64]),
}
DECLARED = _LONG | _SHORT


class Library:
    """The functions of goloader.h by their names."""

    def __init__(self, path: Path) -> None:
        _library.check(path)
        try:
            long, short = ctypes.CDLL(os.fspath(path)), ctypes.PyDLL(os.fspath(path))
            for name, (result, arguments) in DECLARED.items():
                function = getattr(long if name in _LONG else short, name)
                function.restype, function.argtypes = result, arguments
                setattr(self, name, function)
        except (OSError, AttributeError) as error:
            raise _library.refused(path, str(error)) from error
        version: int = self.gl_abi_version()
        if version >> 16 != ABI_MAJOR:
            raise LibraryError(
                f"{path} has ABI {version >> 16}.{version & 0xFFFF}, but this package needs {ABI_MAJOR}.x: "
                "build both from one commit"
            )
        self.gl_observe(os.environ.get("GOLOADER_TOP", "1") != "0", None)
        self.pid = os.getpid()
        self._told_of_libwebp = self._told_of_mkl = self._told_of_ranks = False
        self.told_of_remotes: object = None
        self.fetches = False

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def check(self, status: int, error: Error) -> int:
        """Returns a status that is news, raises one that is an error."""
        if status >= OK:
            return status
        raise BY_STATUS.get(status, CoreError)(error.text.decode(errors="replace"))

    def call(self, function: Any, *arguments: Any) -> int:
        """The same of a function that takes its arguments and an Error."""
        error = Error()
        return self.check(function(*arguments, byref(error)), error)

    def find_libwebp(self) -> None:
        """Tells the library where Pillow has its libwebp, once; one that is refused leaves its files to Pillow."""
        if not self._told_of_libwebp:
            addresses = pillow.libwebp()
            if addresses is not None:
                self.gl_use_libwebp(*addresses, None)
                self._told_of_libwebp = True

    def find_mkl(self) -> None:
        """Tells the library where torch has MKL, once."""
        address = None if self._told_of_mkl else mkl.vmsexp()
        if address is not None:
            self.gl_use_mkl(address, None)
            self._told_of_mkl = True

    def join_ranks(self) -> None:
        """Tells the library of other ranks on this machine, once, unless this is a worker process of one.

        Where it cannot find them, each has its share.
        """
        rank, count = _cores.ranks()
        if count > 1 and not self._told_of_ranks and not multiprocessing.current_process().daemon:
            self._told_of_ranks = True
            self.gl_join(rank, count, 0 if _cores.bound() else _cores.allowed(), None)

    def json(self, function: Any, *arguments: Any) -> dict[str, Any]:
        """What a function that writes JSON says."""
        text = ctypes.create_string_buffer(1 << 15)
        self.call(function, *arguments, text, len(text))
        value: dict[str, Any] = json.loads(text.value)
        return value


# The process that has loaded the library; none has before that.
_loaded_in: int | None = None


@cache
def _load() -> Library:
    global _loaded_in
    loaded = Library(LIBRARY)
    _loaded_in = loaded.pid
    return loaded


@cache
def installed() -> bool:
    """Whether there is a library to be loaded. Looked for once: each look is a system call."""
    return LIBRARY.exists()


@cache
def missing() -> str | None:
    """Why there is no library on this machine, in a line; None if there is one: it is loaded then."""
    try:
        _load()
    except LibraryError as error:
        return error.line
    return None


def is_loaded() -> bool:
    return _loaded_in is not None


def library() -> Library:
    """The library, loaded at the first call. Raises LibraryError; ForkedError in a child of the process that did."""
    loaded = _load()
    if loaded.pid != os.getpid():
        raise ForkedError("this process was forked after goloader was loaded, and Go does not survive a fork")
    return loaded


def own_library() -> Library:
    """A library whose Go runs in this process: in a forked child a second copy, beside the one that died in the fork.

    What one copy gave, handles above all, means nothing to the other. Raises LibraryError where there can be no copy.
    """
    return library() if available() else _copied(os.getpid())


@cache
def _copied(pid: int) -> Library:
    if os.environ.get("GOLOADER_FORKED_CORE", "1") == "0":
        raise LibraryError("GOLOADER_FORKED_CORE=0 keeps the core out of forked processes")
    try:
        with open(os.memfd_create("libgoloader"), "wb", buffering=0) as copy, LIBRARY.open("rb") as original:
            shutil.copyfileobj(original, copy, 1 << 20)
            # Whatever has the inode or the path of a file that is loaded here is taken for it: a parent's, perhaps.
            loaded = Library(Path(f"/proc/{pid}/fd/{copy.fileno()}"))
    except (AttributeError, OSError) as error:  # no memfd, no /proc
        raise LibraryError(f"goloader's core cannot be loaded a second time: {error}") from error
    if loaded.gl_kernels() is None:
        raise LibraryError("goloader's core cannot be loaded a second time: it is the one that died in the fork")
    return loaded


def slots_library() -> Library:
    """The library for its functions of slots, which never enter Go: a forked child may call them too."""
    return _load()


def available() -> bool:
    """False in a forked child, where the core cannot run."""
    return _loaded_in is None or _loaded_in == os.getpid()


def fetches() -> bool:
    """True if Python reads by the library of this process, or of the one that it was forked from."""
    return is_loaded() and _load().fetches


def live() -> dict[str, int]:
    """What is alive in the core: handles, and bytes and blocks by purpose. For leak checks."""
    lib = library()
    return lib.json(lib.gl_live)


def dtype_name(lib: Library, dtype: int) -> str:
    """A gl_field.dtype as numpy names it."""
    name: bytes = lib.gl_dtype_name(dtype)
    return name.decode()
