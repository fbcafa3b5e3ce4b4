"""Arrays of h5py and zarr that a user's class takes rows of, or the files of which it opens, clients of stores
(clients.py), and environments of LMDB (databases.py). Nothing here imports them.

A class has such objects from its `__init__`, or opens the file when it is first asked for a sample, as it has to where
worker processes do so, or for each sample. Where its chunks lie is looked up (arrays/hdf5.py, arrays/zarr.py), and its
rows are then read by the core.
"""

from __future__ import annotations

import os
import posixpath
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ....arrays import FileArray, hdf5, zarr
from ....storage.stores import known
from ...bytecode import UnreadableError
from ..known.s3torchconnector import Connector, is_reader
from .clients import Client, is_client, is_session, made_by
from .databases import Environments, is_environment

# Arguments of h5py.File and of zarr's functions that change nothing of what is read.
_OF_CACHE = ("libver", "rdcc_nbytes", "rdcc_nslots", "rdcc_w0")
_OPEN = ("open", "open_array", "open_group")


@dataclass(frozen=True, eq=False)
class StoredArray:
    """An array of either library, which gives copies of its rows.

    is_zarr  of Zarr's, whose items without dimensions are arrays
    array    where it is in the file, or in files
    """

    is_zarr: bool
    array: FileArray


class Group:
    """A file of HDF5, a folder of Zarr, or a group in one, that is opened for reading alone.

    is_zarr     of Zarr's
    path, name  of the file or folder, and of the group in it
    opened      the user's own object; None where the code opens the file itself
    """

    def __init__(self, stores: Stores, is_zarr: bool, path: str, name: str = "", opened: Any = None) -> None:
        self._stores, self.is_zarr, self.path, self.name, self.opened = stores, is_zarr, path, name, opened

    def __getitem__(self, key: str) -> Group | StoredArray:
        """What a name stands for. Raises UnreadableError for what is no group, and no array that can be read."""
        return self._stores.member(self, key)


class Stores:
    """What one dataset's code takes of files: always the same objects, as long as the files are the same ones."""

    def __init__(self) -> None:
        self._groups: dict[tuple[bool, str, str, int], Group] = {}
        self._objects: dict[int, tuple[Any, tuple[str, str, Any]]] = {}  # of the user's, by their ids
        self._versions: dict[str, tuple[int, ...]] = {}  # of files, and of what says what a folder is
        self._open: set[int] = set()  # of these objects those that are known to be so
        self._known: dict[tuple[bool, str, str], tuple[Any, StoredArray | None]] = {}
        self._clients: dict[int, tuple[Any, Client]] = {}  # by the ids of the user's own
        self._environments = Environments()
        self._made: dict[str, Any] = {}  # clients that are made as the code makes them, by how

    def look_again(self) -> None:
        """Whether files are still the same, and open, is looked up anew from now on, once for each."""
        self._versions.clear()
        self._open.clear()
        self._environments.look_again()

    def stand(self) -> bool:
        """Whether clients are as they were."""
        return all(client.stands() for _, client in self._clients.values())

    def of(self, value: Any) -> Any:
        """A Group for a group of either library, a StoredArray for an array, a Client for a client of S3, a Database
        for an environment of LMDB; anything else as it is.

        Raises UnreadableError for one that is closed, or may be written to, and for a client that does more than read.
        """
        if is_client(value) or is_reader(value):
            if id(value) not in self._clients or not self._clients[id(value)][1].stands():
                self._clients[id(value)] = value, (Connector if is_reader(value) else Client)(value)
            return self._clients[id(value)][1]
        if is_environment(value):
            return self._environments.of(value)
        h5py, is_zarr = sys.modules.get("h5py"), sys.modules.get("zarr")
        if h5py is not None and type(value) in (h5py.File, h5py.Group, h5py.Dataset):
            return self._held(value, _of_h5py)
        if is_zarr is not None and type(value) in (is_zarr.Group, is_zarr.Array):
            return self._held(value, _of_zarr)
        return value

    def _held(self, value: Any, look: Callable[[Any], tuple[str, str, Any]]) -> Group | StoredArray:
        """What an object of the user's is. Raises UnreadableError."""
        if id(value) not in self._objects:
            self._objects[id(value)] = value, look(value)
        _, (path, name, inode) = self._objects[id(value)]
        is_zarr = look is _of_zarr
        if id(value) not in self._open:
            if not is_zarr and not value:
                raise UnreadableError("uses a file of h5py's that is closed")
            self._open.add(id(value))
        return self._at(is_zarr, path, name, value, inode)

    def opened(self, function: Any, arguments: Sequence[Any], options: dict[str, Any]) -> Any:
        """What h5py.File, lmdb.open or a function of zarr's opens, or a client that is made; None for a call of
        something else, or with other arguments."""
        lmdb = sys.modules.get("lmdb")
        if lmdb is not None and (function is lmdb.open or function is lmdb.Environment):
            return self._environments.opened(arguments, options)
        if (maker := made_by(function)) is not None:
            return self._client_made(maker, function.__qualname__, arguments, options)
        h5py, of_zarr = sys.modules.get("h5py"), sys.modules.get("zarr")
        for_h5py = h5py is not None and function is h5py.File
        if not for_h5py and not (of_zarr is not None and any(function is vars(of_zarr).get(name) for name in _OPEN)):
            return None
        given = dict(zip(("path", "mode"), arguments, strict=False))
        left = {name: value for name, value in options.items() if not (for_h5py and name in _OF_CACHE)}
        path = given["path"] if "path" in given else left.pop("name" if for_h5py else "store", None)
        mode = given["mode"] if "mode" in given else left.pop("mode", "r" if for_h5py else None)
        if len(arguments) > 2 or left or mode != "r" or not (type(path) is str or isinstance(path, os.PathLike)):
            return None
        place = os.path.abspath(os.fspath(path))
        if not isinstance(place, str):
            return None
        found = self._at(not for_h5py, place, "", None)
        wanted = {"open_array": StoredArray, "open_group": Group}.get(function.__name__, object)
        return found if for_h5py or isinstance(found, wanted) else None

    def opened_by(self, owner: Any, name: str, arguments: Sequence[Any], options: dict[str, Any]) -> Any:
        """The same of what a method gives: client and resource of a session, and Bucket of a resource."""
        if name in ("client", "resource") and is_session(owner):
            return self._client_made(getattr(owner, name), (name, id(owner)), arguments, options)
        if name == "Bucket" and isinstance(owner, Client) and owner.takes == "Object" and owner.bucket is None:

            def bucket(*given: Any, **named: Any) -> Any:
                return owner.bucket_of(given, named)

            return self._client_made(bucket, (name, owner.name), arguments, options)
        return None

    def _client_made(
        self, maker: Callable[..., Any], by: Any, arguments: Sequence[Any], options: dict[str, Any]
    ) -> Any:
        how = repr((by, arguments, options, known()))
        if how not in self._made:
            try:
                self._made[how] = maker(*arguments, **options)
            except Exception as error:  # whatever it is, the code raises it
                raise UnreadableError(f"makes a client, which fails: {error}") from None
        return self._made[how]

    def member(self, group: Group, key: str) -> Group | StoredArray:
        """What a name stands for in a group. Raises UnreadableError."""
        if group.opened is not None:
            self.of(group.opened)
        name = posixpath.join(group.name, key).strip("/")
        if key.startswith("/"):
            name = key.strip("/")
        if {"", ".", ".."} & {*name.split("/")}:
            raise UnreadableError(f"uses {key!r} of {group.path}")
        return self._at(group.is_zarr, group.path, name, group.opened)

    def _at(self, is_zarr: bool, path: str, name: str, opened: Any, inode: Any = None) -> Group | StoredArray:
        """What is at a place of a file or folder, looked up anew if that has changed.

        Raises UnreadableError, also where the file is not the one with the inode.
        """
        place = os.path.join(path, name) if is_zarr and not os.path.isfile(path) else path
        if place not in self._versions:
            try:
                state = os.stat(zarr.about(path, name) if is_zarr else place)
            except OSError as error:
                raise UnreadableError(f"uses {place}, which cannot be read: {error}") from None
            self._versions[place] = state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns
        version = self._versions[place]
        if inode is not None and inode != version[:2]:
            raise UnreadableError(f"uses {path}, which was replaced since it was opened")
        known = self._known.get((is_zarr, path, name))
        if known is None or known[0] != version:
            try:
                array = zarr.one(path, name) if is_zarr else hdf5.one(path, name)
            except (OSError, ValueError, KeyError) as error:
                raise UnreadableError(f"uses {name!r} of {path}, which goloader does not read: {error}") from None
            known = version, None if array is None else StoredArray(is_zarr, array)
            self._known[is_zarr, path, name] = known
        if known[1] is not None:
            return known[1]
        key = is_zarr, path, name, id(opened)  # which stays its own, as the group keeps it
        if key not in self._groups:
            self._groups[key] = Group(self, is_zarr, path, name, opened)
        return self._groups[key]


def _of_h5py(value: Any) -> tuple[str, str, Any]:
    """Path of the file, name in it, and device and inode of an object of h5py's. Raises UnreadableError."""
    if not value or value.file.mode != "r" or value.file.swmr_mode or value.file.driver != "sec2":
        raise UnreadableError("uses a file of h5py's that is closed, or not opened for reading alone")
    state = os.fstat(value.file.id.get_vfd_handle())
    path = os.path.abspath(os.fspath(value.file.filename))
    return path, str(value.name).strip("/"), (state.st_dev, state.st_ino)


def _of_zarr(value: Any) -> tuple[str, str, Any]:
    """The same of zarr's; folders have no inode that counts."""
    store, inode = value.store, None
    root = vars(store).get({"LocalStore": "root", "ZipStore": "path"}.get(type(store).__name__, ""))
    if not value.read_only or root is None:
        raise UnreadableError(
            "uses an array or a group of zarr's that is no folder or archive opened for reading alone"
        )
    opened = vars(store).get("_zf")
    if opened is not None and opened.fp is not None:
        state = os.fstat(opened.fp.fileno())
        inode = state.st_dev, state.st_ino
    return os.path.abspath(os.fspath(root)), value.path.strip("/"), inode
