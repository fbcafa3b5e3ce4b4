"""Members of a tar archive that is a plain local file, read with little Python.

Source: tarfile.TarFile in mode "r|*", which it equals. What is not plain (compressed archives, links, sparse files,
long names of GNU's, global headers, damage) is tarfile's own to read, from the archive's begin, without what was
given yet.
"""

from __future__ import annotations

import io
import os
import re
import stat
import tarfile
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["Archive"]

_BLOCK = tarfile.BLOCKSIZE
# A header alone, or one with times in a pax header before it, as webdataset's TarWriter makes them.
_HEAD_BYTES = 3 * _BLOCK
_ZEROS = bytes(_BLOCK)
_RECORD = re.compile(rb"(\d+) ([A-Za-z]+)=([^\n]*)\n")
# What a pax header may say without changing which bytes the member has.
_PAX_PLAIN = {b"atime", b"comment", b"ctime", b"gid", b"gname", b"mtime", b"path", b"uid", b"uname"}


class _Member(tarfile.TarInfo):
    """A member of which only the name, kind and place were read; tarfile reads the rest if it is asked for."""

    __slots__ = ("_headers",)

    def __init__(self, name: str, kind: bytes, size: int, at: int, headers: bytes) -> None:
        self.name, self.type, self.size, self.offset_data, self._headers = name, kind, size, at, headers
        self.offset = at - len(headers)

    def __getattr__(self, name: str) -> Any:
        if name not in tarfile.TarInfo.__slots__:
            raise AttributeError(name)
        with tarfile.open(fileobj=io.BytesIO(self._headers), mode="r:") as alone:
            whole = alone.next()
        for each in tarfile.TarInfo.__slots__:
            if each not in ("name", "type", "size", "offset", "offset_data"):
                setattr(self, each, getattr(whole, each, None))
        return getattr(self, name)


class Archive:
    """What tarfile.open(fileobj=file, mode="r|*") gives, as far as members are read in turn; the rest is tarfile's.

    whole  opens the archive by tarfile
    """

    def __init__(self, file: io.BufferedReader, whole: Callable[[], tarfile.TarFile]) -> None:
        self._file, self._whole = file, whole
        self._begin, self._fd = file.tell(), file.fileno()
        self._size = os.fstat(self._fd).st_size - self._begin
        self._given = 0
        self._tarfile: tarfile.TarFile | None = None

    @classmethod
    def of(cls, file: Any, whole: Callable[[], tarfile.TarFile]) -> Archive | None:
        """An archive whose first member is plain; None for others."""
        if type(file) is not io.BufferedReader or type(file.raw) is not io.FileIO:
            return None
        try:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            archive = cls(file, whole)
            return None if archive._member(0, archive._read(0, _HEAD_BYTES)) is None else archive
        except (OSError, ValueError):  # it is closed
            return None

    def __iter__(self) -> Iterator[tarfile.TarInfo]:
        at = 0
        while self._tarfile is None:
            head = self._read(at, _HEAD_BYTES)
            if head.startswith(_ZEROS):  # the mark of the archive's end
                return
            member = self._member(at, head)
            if member is None:
                break
            at = member.offset_data + (-(-member.size // _BLOCK) * _BLOCK if member.isreg() else 0)
            self._given += 1
            yield member
        left = self._rest()
        while (found := left.next()) is not None:
            yield found
            left.members = []  # type: ignore[attr-defined]

    def extractfile(self, member: Any) -> Any:
        """A member's content, as a file. Raises tarfile.ReadError where it was cut since."""
        if self._tarfile is not None or type(member) is not _Member or not member.isreg():
            return self._rest().extractfile(member)
        content = self._read(member.offset_data, member.size)
        if len(content) < member.size:
            raise tarfile.ReadError("unexpected end of data")
        return io.BytesIO(content)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._rest(), name)

    def _rest(self) -> tarfile.TarFile:
        """The archive by tarfile, behind what was given."""
        if self._tarfile is None:
            self._tarfile = self._whole()
            for _ in range(self._given):
                self._tarfile.next()
                self._tarfile.members = []  # type: ignore[attr-defined]
        return self._tarfile

    def _read(self, at: int, count: int) -> bytes:
        content = os.pread(self._fd, count, self._begin + at)
        while 0 < len(content) < count:  # a read may end early, above 2 GiB at least
            more = os.pread(self._fd, count - len(content), self._begin + at + len(content))
            if not more:
                break
            content += more
        return content

    def _member(self, at: int, head: bytes) -> _Member | None:
        """The member whose headers these are, and stand there; None if it is not plain, or not whole."""
        name, block = "", 0
        if head[156:157] == tarfile.XHDTYPE:
            size = _size(head[:_BLOCK])
            block = _BLOCK + -(-(size or 0) // _BLOCK) * _BLOCK
            if not size or len(head) < block + _BLOCK:
                return None
            path = _path(head[_BLOCK : _BLOCK + size])
            if path is None:
                return None
            name = path
        header = head[block : block + _BLOCK]
        size, kind = _size(header), header[156:157]
        if size is None or kind not in (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE):
            return None
        if not name:
            folder = _text(header[345:500])
            name = f"{folder}/{_text(header[:100])}" if folder else _text(header[:100])
        if kind == tarfile.DIRTYPE:
            name = name.rstrip("/")
        elif name.endswith("/"):  # a folder, for old archives
            return None
        begin = at + block + _BLOCK
        if kind != tarfile.DIRTYPE and begin + size > self._size:
            return None
        return _Member(name, kind, size, begin, head[: block + _BLOCK])


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode(tarfile.ENCODING, "surrogateescape")


def _number(field: bytes) -> int | None:
    digits = field.partition(b"\0")[0].strip()
    try:
        return int(digits or b"0", 8) if not digits or digits.isdigit() else None
    except ValueError:
        return None


def _size(header: bytes) -> int | None:
    """The bytes that follow a header; None if it is not whole."""
    if len(header) < _BLOCK or _number(header[148:156]) != 256 + sum(header[:148]) + sum(header[156:]):
        return None
    return _number(header[124:136])


def _path(records: bytes) -> str | None:
    """The path in a pax header's records, "" if there is none; None if they say anything that is not plain."""
    at, path = 0, ""
    while at < len(records):
        found = _RECORD.match(records, at)
        if found is None or int(found[1]) != found.end() - at or found[2] not in _PAX_PLAIN:
            return None
        if found[2] == b"path":
            try:
                path = found[3].decode().rstrip("/")
            except UnicodeDecodeError:
                return None
        at = found.end()
    return path
