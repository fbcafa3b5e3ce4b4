"""TensorFlow's TFRecord files of tf.train.Example, without TensorFlow.

A record is its length (uint64), a checksum of that, its bytes, and a checksum of these (tensorflow/core/lib/io/
record_writer.h). An Example is a map from names to lists of bytes, floats or integers, as protobuf stores it
(tensorflow/core/example/feature.proto; protobuf.dev/programming-guides/encoding).
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._crc import checksums, crc32c
from ..plan.paths import read_at
from .records import Read, Records, Spans, slices

_HEAD = struct.Struct("<QI")
_KINDS = {1: "bytes", 2: "float", 3: "int64"}
_GZIP = b"\x1f\x8b"
_VARINT_MAX = 10  # bytes
_BYTES = 2  # a wire type


def is_one(path: str) -> bool:
    """True for a file that begins with a record. Raises ValueError for one that is compressed."""
    with open(path, "rb") as file:
        head = file.read(_HEAD.size)
    if head.startswith(_GZIP):
        raise ValueError(f"{path} is compressed by gzip, so its samples cannot be read by position")
    return len(head) == _HEAD.size and _sound(np.frombuffer(head, np.uint8)[None]).item()


class TFRecord(Records):
    """Examples of TFRecord files: bytes, or a list of them, where a feature has bytes, else an array of its numbers."""

    kind = "TFRecord"

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__(paths, [_table_of(path) for path in paths], {})
        if len(self):
            read = self.reader(0)
            for name, (at, _) in self.checked(0, read).items():
                self.fields[name] = _KINDS.get(read(at, 1)[0] >> 3, "")

    def reader(self, row: int) -> Read:
        path, begin, size = self.place(row)
        content = read_at(path, begin, size + 4)
        record = content[:size]
        if struct.pack("<I", _masked(crc32c(record))) != content[size:]:
            raise OSError(f"{path}: sample {row} at byte {begin}: its checksum is not that of its {size} bytes")
        return slices(record)

    def spans(self, row: int, read: Read) -> Spans:
        found = {}
        for number, kind, begin, end in _parts(read, 0, int(self.size[row])):
            if (number, kind) == (1, _BYTES):
                for entry in _parts(read, begin, end):
                    if entry[:2] == (1, _BYTES):
                        sides = {side: (low, high) for side, _, low, high in _parts(read, *entry[2:])}
                        low, high = sides.get(1, (0, 0))
                        at, stop = sides.get(2, (0, 0))
                        if stop > at:  # a feature without a list is none
                            found[read(low, high - low).decode()] = at, stop - at
        return found

    def payload(self, row: int, name: str, read: Read, at: int, count: int) -> tuple[int, int]:
        for number, _, begin, end in _parts(read, at, at + count):
            items = [(low, high - low) for item, _, low, high in _parts(read, begin, end) if item == 1]
            if number != 1 or len(items) != 1:
                raise ValueError(f"{name!r} is not one file's bytes")
            return items[0]
        raise ValueError(f"{name!r} is empty")

    def value(self, row: int, name: str, content: bytes) -> Any:
        read = slices(content)
        *_, (number, _, begin, end) = _parts(read, 0, len(content))
        items = [content[low:high] for item, _, low, high in _parts(read, begin, end) if item == 1]
        match number:
            case 1:
                return items[0] if len(items) == 1 else items
            case 2:
                return np.frombuffer(b"".join(items), "<f4")
            case 3:
                return _integers(b"".join(items))
        raise ValueError(f"a list of kind {number}")


def _table_of(path: str) -> NDArray[np.int64]:
    """Begins and ends of a file's records. Raises OSError for a length that is not what was written."""
    begins: list[int] = []
    sizes: list[int] = []
    heads: list[bytes] = []
    with open(path, "rb") as file:
        total, at = os.fstat(file.fileno()).st_size, 0
        while at < total:
            head = os.pread(file.fileno(), _HEAD.size, at)
            if len(head) < _HEAD.size:
                raise OSError(f"{path} ends within the length of sample {len(begins)}, at byte {at}")
            size, _ = _HEAD.unpack(head)
            heads.append(head)
            begins.append(at + _HEAD.size)
            sizes.append(min(size, total))
            at += _HEAD.size + size + 4
    wrong = np.flatnonzero(~_sound(np.frombuffer(b"".join(heads), np.uint8).reshape(-1, _HEAD.size)))
    if wrong.size:
        row = int(wrong[0])
        raise OSError(
            f"{path}: the length of sample {row}, at byte {begins[row] - _HEAD.size}, is not what was written"
        )
    if at != total:
        raise OSError(f"{path} ends within sample {len(begins) - 1}, which begins at byte {begins[-1]}")
    low = np.array(begins, np.int64)
    return np.stack([low, low + np.array(sizes, np.int64)], axis=1)


def _sound(heads: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Whether lengths, [records, 12] with their checksums, are what was written."""
    written = np.ascontiguousarray(heads[:, 8:]).view("<u4")[:, 0]
    found: NDArray[np.bool_] = _masked(checksums(heads[:, :8])) == written
    return found


def _masked(crc: Any) -> Any:
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _parts(read: Read, at: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Number and wire type of a message's fields, and where the content of each begins and ends."""
    while at < end:
        head = read(at, 2 * _VARINT_MAX)
        tag, used = _varint(head, 0)
        begin, kind = at + used, tag & 7
        match kind:
            case 0:  # an integer
                size = _varint(head, used)[1] - used
            case 1:
                size = 8
            case 2:  # bytes behind their number
                size, after = _varint(head, used)
                begin = at + after
            case 5:
                size = 4
            case _:
                raise ValueError(f"no Example: a field of type {kind} at its byte {at}")
        at = begin + size
        if at > end:
            raise ValueError(f"no Example: a field at its byte {begin} has {size} bytes, and {end - begin} are left")
        yield tag >> 3, kind, begin, at


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """An integer, and where what follows it begins. Raises IndexError where it does not end."""
    value = 0
    for shift in range(0, 7 * _VARINT_MAX, 7):
        byte = content[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
    raise ValueError("no Example: an integer of more than 64 bits")


def _integers(content: bytes) -> NDArray[np.int64]:
    """Integers one after the other."""
    if 0 < len(content) <= _VARINT_MAX and content[-1] < 0x80 <= min(content[:-1], default=0x80):  # one
        return np.array([_varint(content, 0)[0] & (1 << 64) - 1], np.uint64).view(np.int64)
    digits = np.frombuffer(content, np.uint8)
    last = np.flatnonzero(digits < 0x80)
    begins = np.concatenate([[0], last[:-1] + 1])[: len(last)]
    lengths = last - begins + 1
    if (last[-1:] != len(digits) - 1).any() or (len(digits) and not len(last)) or lengths.max(initial=0) > _VARINT_MAX:
        raise ValueError("integers that do not end")
    if not len(last):
        return np.zeros(0, np.int64)
    shifts = 7 * (np.arange(len(digits)) - np.repeat(begins, lengths))
    values = (digits & 0x7F).astype(np.uint64) << shifts.astype(np.uint64)
    return np.bitwise_or.reduceat(values, begins).view(np.int64)
