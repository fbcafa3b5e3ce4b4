"""Size and mode of an image file, as Pillow's Image.open would tell, for plain files that the core decodes.

Anything that is not plain gives None, and the file is opened by Pillow. A file that lacks its end is not plain: so its
error is raised by Pillow, at the line where the user's own code expects it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from typing import NamedTuple

from .other_headers import Header, probe_other

# How the files begin.
JPEG = b"\xff\xd8\xff"
PNG = b"\x89PNG"

_HEAD_BYTES = 1024
HEAD_BYTES_MAX = 1 << 18
_JPEG_MODES = {1: "L", 3: "RGB", 4: "CMYK"}
# (colour type, bits) of a PNG file. Other kinds are left to Pillow.
_PNG_MODES = {(0, 2): "L", (0, 4): "L", (0, 8): "L", (2, 8): "RGB", (2, 16): "RGB", (4, 8): "LA", (6, 8): "RGBA"}
_PNG_MODES |= {(3, bits): "P" for bits in (1, 2, 4, 8)}
_PNG_END = b"\x00\x00\x00\x00IEND\xae\x42\x60\x82"
_JPEG_END = b"\xff\xd9"


Others = Callable[[], Collection[str]]  # the formats beside JPEG and PNG that are wanted


def probe(content: bytes, others: Others | None = None) -> Header | None:
    """((width, height), mode) of a whole file."""
    if content.startswith((JPEG, PNG)):
        return _probe_head(content) if content.endswith((_PNG_END, _JPEG_END)) else None
    if others is None:
        return None
    return probe_other(content[:_HEAD_BYTES], len(content), lambda at, n: content[at : at + n], others())


class Probed(NamedTuple):
    """What was seen of a file.

    header  None if it is not plain
    stamp   its bytes, and when it was modified, in ns
    head    its first bytes: 1024, and of a JPEG file whose header lies behind them 1 << 18
    """

    header: Header | None
    stamp: tuple[int, int]
    head: bytes


def probe_path(path: bytes, others: Others | None = None) -> Probed | None:
    """What is seen of a file; None if it cannot be read."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            return probe_file(number, others)
        finally:
            os.close(number)
    except (OSError, ValueError):
        return None


def probe_file(fd: int, others: Others | None = None) -> Probed:
    """The same of an open file, without moving it. Raises OSError."""
    about = os.fstat(fd)
    size, stamp = about.st_size, (about.st_size, about.st_mtime_ns)
    head = os.pread(fd, _HEAD_BYTES, 0)
    if not head.startswith((JPEG, PNG)):
        found = None if others is None else probe_other(head, size, lambda at, n: os.pread(fd, n, at), others())
        return Probed(found, stamp, head)
    end = os.pread(fd, 12, max(size - 12, 0))
    if not end.endswith((_PNG_END, _JPEG_END)):
        return Probed(None, stamp, head)
    header = _probe_head(head)
    if header is None and head[:3] == JPEG and size > _HEAD_BYTES:
        # The frame header lies behind a thumbnail or a colour profile.
        head = os.pread(fd, HEAD_BYTES_MAX, 0)
        header = _probe_head(head)
    return Probed(header, stamp, head)


def _probe_head(head: bytes) -> Header | None:
    if head[:3] == JPEG:
        return _jpeg(head)
    if head[:16] == b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR" and len(head) > 28:
        mode = _PNG_MODES.get((head[25], head[24]))
        size = int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
        return (size, mode) if mode is not None and 0 < size[0] < 1 << 31 and 0 < size[1] < 1 << 31 else None
    return None


def _jpeg(head: bytes) -> Header | None:
    at, end = 2, len(head) - 10
    while at <= end:
        if head[at] != 0xFF:
            return None
        code = head[at + 1]
        if 0xC0 <= code <= 0xCF and code not in (0xC4, 0xC8, 0xCC):
            mode = _JPEG_MODES.get(head[at + 9])
            size = head[at + 7] << 8 | head[at + 8], head[at + 5] << 8 | head[at + 6]
            return (size, mode) if mode is not None and head[at + 4] == 8 and all(size) else None
        if code < 0xC0 or 0xD0 <= code <= 0xDA:
            return None
        at += 2 + (head[at + 2] << 8 | head[at + 3])
    return None
