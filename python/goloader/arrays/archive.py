"""Zip archives whose members are stored uncompressed."""

from __future__ import annotations

import struct
import zipfile
from typing import IO


class Archive:
    """A zip archive.

    members  name -> (byte of the file at which it begins, bytes), None for one that is compressed or encrypted
    """

    MAGIC = b"PK\x03\x04"

    def __init__(self, path: str, file: IO[bytes]) -> None:
        self.path, self.file = path, file
        self.members: dict[str, tuple[int, int] | None] = {}
        try:
            with zipfile.ZipFile(file) as archive:
                for info in archive.infolist():
                    plain = info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1
                    self.members[info.filename] = (self._begin(info), info.file_size) if plain else None
        except (zipfile.BadZipFile, NotImplementedError, struct.error, UnicodeDecodeError, OverflowError) as error:
            raise ValueError(f"{path}: a damaged zip archive: {error}") from None

    def _begin(self, info: zipfile.ZipInfo) -> int:
        """Behind the member's own header, whose extra field may differ from that in the directory."""
        if info.header_offset < 0:
            raise ValueError(f"{self.path}: member {info.filename!r} begins at byte {info.header_offset}")
        self.file.seek(info.header_offset)
        header = self.file.read(30)
        if len(header) < 30 or not header.startswith(self.MAGIC):
            raise ValueError(f"{self.path} at byte {info.header_offset}: no header of member {info.filename!r}")
        name, extra = struct.unpack("<HH", header[26:30])
        return int(info.header_offset) + 30 + int(name) + int(extra)

    def place(self, name: str) -> tuple[int, int]:
        """Where a member begins and how long it is. Raises ValueError for one that is not there as it is."""
        place = self.members.get(name)
        if place is None:
            why = "is compressed" if name in self.members else "is missing"
            raise ValueError(f"{self.path}: member {name!r} {why}")
        return place

    def read(self, name: str, most: int) -> bytes:
        """A member of at most `most` bytes."""
        begin, size = self.place(name)
        if size > most:
            raise ValueError(f"{self.path} at byte {begin}: member {name!r} has {size} bytes, more than {most}")
        self.file.seek(begin)
        data = self.file.read(size)
        if len(data) < size:
            raise ValueError(f"{self.path}: member {name!r} ends at byte {begin + len(data)}, with the file")
        return data
