"""Reads remote stores (stores.py) through the core, with settings from the environment.

Credentials go from the environment to the core and nowhere else: no dataset, pickle or message contains them.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_int64, c_void_p
from typing import TYPE_CHECKING, Any

from .. import _native
from . import stores

if TYPE_CHECKING:
    from .cache import Cache

_WAIT_MS = 100


def fetch(name: str, offset: int = 0, length: int = -1, cache: Cache | None = None) -> bytes:
    """The bytes of an object, whole, or so many of one version of it: a URL, '#', and the version that was listed.

    With a cache also those of a file, by its absolute path. Raises FileNotFoundError, PermissionError, else OSError;
    LibraryError without the core. Ctrl-C is heard within 0.1 s.
    """
    lib = _native.own_library()
    if not name.startswith("/"):
        ready(lib)
    kept = 0 if cache is None else cache.handle(lib)
    try:
        return fetched(lib, lib.gl_fetch, os.fsencode(name), offset, length, kept)
    except PermissionError as error:
        scheme = next((each for each in stores.SCHEMES if name.startswith(each)), "")
        who = stores.STORES[scheme].who if scheme else ()
        found = stores.settings(stores.known()).get(scheme, {})
        if who and not any(found[each] for each in who):
            raise PermissionError(f"{error} (the environment names no credentials)") from None
        raise


def fetched(lib: _native.Library, begin: Any, *arguments: object) -> bytes:
    """The bytes of what `begin` begins to fetch. Ctrl-C is heard within 0.1 s."""
    handle, data, size = c_int64(), c_void_p(), c_int64()
    try:
        lib.call(begin, *arguments, byref(handle))
        while lib.call(lib.gl_fetch_wait, handle, _WAIT_MS, byref(data), byref(size)) != _native.OK:
            pass
        return ctypes.string_at(data, size.value) if size.value else b""
    finally:
        if handle.value:
            lib.gl_close(handle, None)


def folders(url: str) -> list[str]:
    """The names of the folders directly below the folder of a bucket, sorted. Raises as fetch does."""
    return sorted(map(os.fsdecode, fetch(url.rstrip("/") + "/", 0, 0).split(b"\0")[:-1]))


def ready(lib: _native.Library) -> _native.Library:
    """Has the core know what the environment, and clients of the user's, say now.

    Raises ValueError where that is not whole.
    """
    known = stores.known(), stores.clients()
    if lib.told_of_remotes != known:
        lib.call(lib.gl_remote_use, stores.told(*known))
        lib.told_of_remotes, lib.fetches = known, True
    return lib


def prepare() -> None:
    """Where Python reads by the core, loads what a forked child reads by: its copy is a file that is written."""
    if _native.fetches():
        _native.own_library()
