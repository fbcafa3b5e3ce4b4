"""LMDB environments that a user's class has, or opens, and takes values of. Nothing here imports the library.

    with self.env.begin(write=False) as txn:
        image = Image.open(io.BytesIO(txn.get(f"{index:08}".encode())))

Keys are worked out ahead, and where values lie is looked up in the file (storage/lmdb.py). An image in a value is one
that the core reads there; other values are read as labels are. A key that is missing is left to the user's own code.
"""

from __future__ import annotations

import os
import sys
import weakref
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from typing import Any

from ....storage.lmdb import Tree, last_transaction
from ...bytecode import UnreadableError
from ...paths import SUFFIXES, Member, read_at, suffix_of

# Arguments of lmdb.open that change nothing of what is read.
_HARMLESS = {
    "create", "lock", "map_async", "map_size", "max_dbs", "max_readers", "max_spare_txns", "meminit", "metasync",
    "mode", "readahead", "sync", "writemap",
}  # fmt: skip
# Where no file has bytes.
_NOWHERE = 1 << 60
# Values that code looks into are read ahead: so many bytes at most, if all are as long as the first.
_VALUES_BYTES_MAX = 64 << 20


class Database:
    """A file of LMDB as it is now: what its transactions read.

    name     among all, for what is worked out of it
    version  tells it from what the file was, and will be

    Raises UnreadableError for a file that is not understood.
    """

    # So that no code finds attributes.
    __slots__ = "__weakref__", "_keys", "_path", "_places", "_suffix", "name", "transaction", "version"

    def __init__(self, path: str, version: Any) -> None:
        try:
            with open(path, "rb") as file:
                tree = Tree(path, file.fileno())
        except OSError as error:
            raise UnreadableError(f"uses LMDB that goloader does not read: {error}") from None
        if not tree.is_by_bytes:
            raise UnreadableError(f"uses {path}, whose keys are not in the order of bytes")
        self._path, self.version, self._keys, self._places = path, version, tree.keys, tree.places
        self._suffix = ""
        self.name = str(next(_names))
        _known[self.name] = self
        self.transaction = Transaction(self)

    def _place(self, key: bytes) -> tuple[int, int] | None:
        at = bisect_left(self._keys, key)
        if at == len(self._keys) or self._keys[at] != key:
            return None
        begin, end = self._places[2 * at : 2 * at + 2]
        return begin, end - begin

    def member(self, key: bytes) -> Member:
        """Where a value lies; nowhere if there is none, so that a sample of it is left to the user's code."""
        begin, size = self._place(key) or (_NOWHERE, 1)
        if not self._suffix and begin < _NOWHERE:  # what explain() counts; images of one file are alike
            self._suffix = SUFFIXES[suffix_of(read_at(self._path, begin, min(4, size)))].decode()
        name = key.decode("ascii", "backslashreplace").replace("\0", "\\x00")
        return Member.of(self._path, f"{name}.{self._suffix}", begin, size)

    def value(self, key: bytes) -> bytes | None:
        """A value. Raises UnreadableError where all of them would be too much to be read ahead."""
        place = self._place(key)
        if place is not None and place[1] * len(self._keys) > _VALUES_BYTES_MAX:
            raise UnreadableError("looks into large values of LMDB")
        return None if place is None else read_at(self._path, *place)


class Transaction:
    """What gives the values of a database to code, by its `get`."""

    __slots__ = ("database",)

    def __init__(self, database: Database) -> None:
        self.database = weakref.proxy(database)


# By their names.
_known: weakref.WeakValueDictionary[str, Database] = weakref.WeakValueDictionary()
_names = count(1)


def member_of(name: str, key: bytes) -> Member:
    """Where the value of a key lies, in the database of a name."""
    return _known[name].member(key)


def value_of(name: str, key: bytes) -> bytes | None:
    """The value itself; None if there is none. Raises UnreadableError."""
    return _known[name].value(key)


def is_environment(value: Any) -> bool:
    """Whether it is an environment of the lmdb package."""
    return type(value) is getattr(sys.modules.get("lmdb"), "Environment", None)


class Environments:
    """The files of environments that one dataset's code has or opens, each looked at once until all are looked at
    again."""

    def __init__(self) -> None:
        self._versions: dict[str, Any] = {}
        self._databases: dict[str, Database] = {}
        self._open: dict[int, tuple[Any, int]] = {}  # of the user's own, by their ids, with the number of their file

    def look_again(self) -> None:
        self._versions.clear()

    def of(self, environment: Any) -> Database:
        """What an environment of the user's reads. Raises UnreadableError for one that is closed, may be written to, or
        whose file was replaced."""
        try:
            flags, last = environment.flags(), environment.info()["last_txnid"]
            path = os.path.abspath(os.fsdecode(environment.path()))
        except sys.modules["lmdb"].Error as error:
            raise UnreadableError(f"uses an LMDB environment that is closed: {error}") from None
        if not flags["readonly"]:
            raise UnreadableError("uses an LMDB environment that may be written to")
        path = os.path.join(path, "data.mdb") if flags["subdir"] else path
        found = self._at(path)
        here = found.version[:2]
        known = self._open.get(id(environment))
        if known is None or _inode(known[1]) != here:
            number = next((each for each in _numbers() if _inode(each) == here), None)
            if number is None:
                raise UnreadableError(f"uses {path}, which was replaced since it was opened")
            self._open[id(environment)] = environment, number
        if found.version[-1] != last:
            raise UnreadableError(f"uses {path}, which is being written to")
        return found

    def opened(self, arguments: Sequence[Any], options: dict[str, Any]) -> Database | None:
        """What lmdb.open opens for reading; None for other arguments. Raises UnreadableError."""
        left = {name: value for name, value in options.items() if name not in _HARMLESS}
        path = arguments[0] if arguments else left.pop("path", None)
        if left.pop("readonly", False) is not True or len(arguments) > 1 or not isinstance(path, str | os.PathLike):
            return None
        subdir = left.pop("subdir", True)
        if left or type(subdir) is not bool:
            return None
        place = os.path.abspath(os.fsdecode(path))
        return self._at(os.path.join(place, "data.mdb") if subdir else place)

    def _at(self, path: str) -> Database:
        if path not in self._versions:
            try:
                self._versions[path] = _version(path)
            except OSError as error:
                raise UnreadableError(f"uses {path}, which cannot be read: {error}") from None
        known = self._databases.get(path)
        if known is None or known.version != self._versions[path]:
            known = self._databases[path] = Database(path, self._versions[path])
        return known


def _version(path: str) -> tuple[Any, ...]:
    """Device and inode of a file, its size, when it was written to, and the number of its last transaction."""
    with open(path, "rb") as file:
        state = os.fstat(file.fileno())
        return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, last_transaction(path, file.fileno())


def _numbers() -> list[int]:
    """Of all files that are open in this process."""
    return [int(each) for each in os.listdir("/proc/self/fd")]


def _inode(number: int) -> tuple[int, int] | None:
    with suppress(OSError):
        state = os.fstat(number)
        return state.st_dev, state.st_ino
    return None
