"""LMDB, read without its library: a tree of pages whose leaves have keys, and values or where these lie.

Source: libraries/liblmdb/mdb.c of LMDB 0.9 (MDB_meta, MDB_db, MDB_page, MDB_node), as 64-bit little-endian machines
write it. A page has a head of 16 bytes, with its number and what it is, and then the places of its nodes.
"""

from __future__ import annotations

import os
import struct
from array import array
from typing import Any

import numpy as np

_HEAD = 16
_META = np.dtype([("magic", "<u4"), ("version", "<u4"), ("address", "<u8"), ("map", "<u8"), ("databases", [
    ("page", "<u4"), ("flags", "<u2"), ("depth", "<u2"), ("branches", "<u8"), ("leaves", "<u8"), ("overflows", "<u8"),
    ("entries", "<u8"), ("root", "<u8"),
], 2), ("last", "<u8"), ("transaction", "<u8")])  # fmt: skip
_MAGIC, _VERSION = 0xBEEFC0DE, 1
_NONE = (1 << 64) - 1  # the root of an empty tree
_BRANCH, _LEAF = 1, 2  # kinds of pages
_BIG, _TREE, _SEVERAL = 1, 2, 4  # flags of a node: its value has pages of its own, is a database, is one of several
_REVERSED, _INTEGERS = 2, 8  # flags of a database: how its keys are compared
_NODE = struct.Struct("<HHHH")


class Tree:
    """The main database, as the last transaction left it.

    keys    in their order, which is that of bytes if is_by_bytes
    places  of each where its value begins, and where it ends

    Raises OSError with the file and its byte for what is not sound, and for what is not read: databases in it, and
    several values of a key.
    """

    def __init__(self, path: str, file: int) -> None:
        self._path, self._file, self._total = path, file, os.fstat(file).st_size
        meta = _last_meta(path, file)
        self._page = int(meta["databases"]["page"][0])
        self.keys: list[bytes] = []
        self.places = array("q")
        main, left = meta["databases"][1], self._total // self._page
        self.is_by_bytes = not int(main["flags"]) & (_REVERSED | _INTEGERS)
        waiting = [] if main["root"] == _NONE else [int(main["root"])]
        while waiting:
            number, left = waiting.pop(), left - 1
            if left < 0:
                raise OSError(f"{path}: its tree has more pages than the file")
            try:
                waiting += reversed(self._nodes(number))
            except (struct.error, ValueError) as error:
                raise OSError(f"{path}: the page at byte {number * self._page}: {error}") from error
        if len(self.keys) != main["entries"]:
            raise OSError(f"{path}: {len(self.keys)} keys were found, but it says that there are {main['entries']}")

    def _read(self, number: int) -> bytes:
        return _page(self._path, self._file, number, self._page)

    def _nodes(self, number: int) -> list[int]:
        """Notes the keys and values of a leaf, or returns the pages below another."""
        page, below = self._read(number), []
        own, kind, lower = struct.unpack_from("<Q2xHH", page)
        if own != number or not kind & (_BRANCH | _LEAF):
            raise ValueError(f"it is page {own} of kind {kind}")
        for (at,) in struct.iter_unpack("<H", page[_HEAD:lower]):
            low, high, flags, length = _NODE.unpack_from(page, at)
            begin, size = at + _NODE.size + length, low | high << 16
            if kind & _BRANCH:
                below.append(size | flags << 32)
                continue
            if flags & (_TREE | _SEVERAL):
                raise ValueError("databases in it, and several values of a key, are not read")
            place = number * self._page + begin
            if flags & _BIG:
                place = struct.unpack_from("<Q", page, begin)[0] * self._page + _HEAD
            elif begin + size > len(page):
                raise ValueError(f"the node at its byte {at} goes beyond it")
            if place + size > self._total:
                raise ValueError(f"a value, {size} bytes from byte {place} on, goes beyond the file")
            self.keys.append(page[at + _NODE.size : begin])
            self.places += array("q", (place, place + size))
        return below


def last_transaction(path: str, file: int) -> int:
    """The number of the last transaction that wrote to a file. Raises OSError for one that is no LMDB."""
    return int(_last_meta(path, file)["transaction"])


def _last_meta(path: str, file: int) -> Any:
    """The newer one of the two pages that say where all is."""
    first = _meta(path, file, 0, 4096)
    second = _meta(path, file, 1, int(first["databases"]["page"][0]))
    return max(first, second, key=lambda each: int(each["transaction"]))


def _meta(path: str, file: int, number: int, size: int) -> Any:
    meta = np.frombuffer(_page(path, file, number, size)[_HEAD : _HEAD + _META.itemsize], _META)[0]
    page = int(meta["databases"]["page"][0])
    if meta["magic"] != _MAGIC or meta["version"] != _VERSION or not 256 <= page <= 1 << 16:
        raise OSError(f"{path}: at byte {number * size} begins no LMDB of version {_VERSION}")
    return meta


def _page(path: str, file: int, number: int, size: int) -> bytes:
    content = os.pread(file, size, number * size) if number < 1 << 47 else b""
    if len(content) != size:
        raise OSError(f"{path} ends within the page at byte {number * size}")
    return content


def file_of(path: str) -> str | None:
    """The file of an LMDB folder, or of a path that is one itself; None if there is none."""
    for found in (os.path.join(path, "data.mdb"), path):
        if os.path.isfile(found):
            with open(found, "rb") as file:
                if file.read(_HEAD + 4)[_HEAD:] == _MAGIC.to_bytes(4, "little"):
                    return found
    return None
