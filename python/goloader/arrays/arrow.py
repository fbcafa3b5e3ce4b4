"""Arrow's IPC files (Feather is one) and streams: finds the buffers of columns in record batches.

pyarrow reads the schema; where buffers lie is read here. Source: Arrow's Columnar.rst, Message.fbs and Schema.fbs.
A message is -1, the bytes of its description, that as a flatbuffer, and its body, in which buffers lie.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from .arrow_types import Kind, items_in, kind_of
from .table_column import Found, Parts, TableColumn, TableRows, chosen, exactly

MAGIC = b"ARROW1\0\0"
STREAM = b"\xff\xff\xff\xff"

_SCHEMA, _DICTIONARY, _BATCH = 1, 2, 3  # kinds of messages
_CODECS = ("lz4", "zstd")
_DESCRIPTION_MAX = 1 << 28
_SPARE = 16  # times a buffer may be longer than its values (core/source/tables)


def read(paths: Sequence[str], columns: Sequence[str] | None) -> dict[str, TableColumn | TableRows]:
    """The columns of files that have the same ones, by name.

    Raises ValueError, also for a column of another type than arrow_types knows, and for values that are missing.
    """
    schema, batches = None, []
    for number, path in enumerate(paths):
        own, found = _batches(path, number)
        if schema is None:
            schema = own
        elif not own.equals(schema):
            raise ValueError(f"{path}: its columns are not those of {paths[0]}")
        batches += found
    assert schema is not None
    names = chosen(paths[0], schema.names, columns)
    return {
        name: _column(name, schema, schema.names.index(name), tuple(paths), batches)
        for name in names
    }  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Batch:
    """A record batch.

    file     number of its file
    rows     how many it has
    nodes    [nodes, 2] int64: of each array, also of those in lists, its length and how many values are missing
    buffers  [buffers, 2] int64: where each begins in the file, and its bytes
    codec    what they are compressed by; "" for nothing
    """

    file: int
    rows: int
    nodes: NDArray[np.int64]
    buffers: NDArray[np.int64]
    codec: str


class _Flat:
    """A table of a flatbuffer. Raises struct.error, or gives what is not there, for one that is damaged."""

    def __init__(self, content: bytes, at: int) -> None:
        self._content, self._at = content, at
        self._fields = at - struct.unpack_from("<i", content, at)[0]
        if self._fields < 0:
            raise struct.error("a table outside the flatbuffer")

    def _place(self, number: int) -> int:
        (size,) = struct.unpack_from("<H", self._content, self._fields)
        if 4 + 2 * number >= size:
            return 0
        (offset,) = struct.unpack_from("<H", self._content, self._fields + 4 + 2 * number)
        return self._at + offset if offset else 0

    def number(self, number: int, form: str, default: int = 0) -> int:
        place = self._place(number)
        return int(struct.unpack_from(f"<{form}", self._content, place)[0]) if place else default

    def table(self, number: int) -> _Flat | None:
        place = self._place(number)
        return _Flat(self._content, place + self.number(number, "I")) if place else None

    def structs(self, number: int) -> NDArray[np.int64]:
        """A vector of structs of two numbers."""
        place = self._place(number)
        if not place:
            return np.zeros((0, 2), np.int64)
        place += self.number(number, "I")
        (count,) = struct.unpack_from("<I", self._content, place)
        if 16 * count > len(self._content) - place - 4:
            raise struct.error("a vector beyond the end of the flatbuffer")
        return np.frombuffer(self._content, "<i8", 2 * count, place + 4).reshape(count, 2)


def _batches(path: str, number: int) -> tuple[Any, list[_Batch]]:
    """The schema, and the record batches of a file."""
    try:
        import pyarrow as pa
    except ImportError:
        raise ValueError(f"{path}: pyarrow, which reads the columns' types, is not installed") from None
    schema, batches = None, []
    with open(path, "rb") as file:
        total = os.fstat(file.fileno()).st_size
        begin = len(MAGIC) if file.read(len(MAGIC)) == MAGIC else 0
        for at, message, size, body in _messages(path, file, begin, total):
            try:
                kind, header = message.number(1, "B"), message.table(2)
                if kind == _SCHEMA:
                    schema = pa.ipc.read_schema(pa.py_buffer(exactly(path, at, size)))
                elif kind == _BATCH and header is not None:
                    batches.append(_batch(header, number, at + size, body))
            except (struct.error, ValueError, pa.ArrowException) as error:
                raise ValueError(f"{path}: the message at byte {at}: {error}") from None
        if schema is None:
            raise ValueError(f"{path}: at byte {begin} begins no schema")
        if begin:
            try:
                count = pa.ipc.open_file(path).num_record_batches
            except (OSError, ValueError) as error:
                raise ValueError(f"{path}: {error}") from None
            if count != len(batches):
                raise ValueError(f"{path}: it has {len(batches)} record batches, but says that there are {count}")
    return schema, batches


def _messages(path: str, file: IO[bytes], at: int, total: int) -> Iterator[tuple[int, _Flat, int, int]]:
    """Of each message where it begins, its description, the bytes of that with what is before it, and of its body."""
    while at + 8 <= total:
        file.seek(at)
        mark, size = struct.unpack("<Ii", file.read(8))
        if mark != 0xFFFFFFFF or not size:
            if mark:
                break  # the end
            raise ValueError(f"{path}: at byte {at} begins no message")
        if not 0 < size <= min(total - at - 8, _DESCRIPTION_MAX):
            raise ValueError(f"{path}: a message at byte {at} of {size} bytes, but the file has {total}")
        content = file.read(size)
        try:
            message = _Flat(content, struct.unpack_from("<I", content)[0])
            body = message.number(3, "q")
        except struct.error as error:
            raise ValueError(f"{path}: the message at byte {at}: {error}") from None
        if not 0 <= body <= total - at - 8 - size:
            raise ValueError(f"{path}: a message at byte {at} with {body} bytes behind it, but the file has {total}")
        yield at, message, 8 + size, body
        at += 8 + size + body


def _batch(header: _Flat, file: int, begin: int, body: int) -> _Batch:
    buffers = header.structs(2).copy()
    if buffers.size and (buffers.min() < 0 or buffers.max() > body or buffers.sum(axis=1).max() > body):
        raise ValueError("a buffer that is not within it")
    buffers[:, 0] += begin
    codec, compression = "", header.table(3)
    if compression is not None:
        codec = _CODECS[compression.number(0, "b")]
    rows, nodes = header.number(0, "q"), header.structs(1)
    if rows < 0 or (nodes < 0).any():
        raise ValueError(f"{rows} rows")
    return _Batch(file, rows, nodes, buffers, codec)


def _used(given: Any) -> tuple[int, int]:
    """How many arrays and buffers of a batch a column of such a type has. Raises ValueError."""
    if hasattr(given, "storage_type"):
        return _used(given.storage_type)
    name = str(given)
    if hasattr(given, "index_type"):
        return 1, 2
    if name == "null":
        return 1, 0
    if "view" in name or name.startswith(("run_end", "sparse_union", "dense_union")):
        raise ValueError(f"a column of {name}, which is not read, nor what is behind it")
    if name in ("string", "large_string", "binary", "large_binary"):
        return 1, 3
    inner = [_used(given.field(n).type) for n in range(given.num_fields)]
    if not inner:
        return 1, 2
    own = 1 if hasattr(given, "list_size") or name.startswith("struct") else 2
    return 1 + sum(each[0] for each in inner), own + sum(each[1] for each in inner)


def _column(
    name: str, schema: Any, place: int, paths: tuple[str, ...], batches: Sequence[_Batch]
) -> TableColumn | TableRows:
    given = schema.field(place).type
    kind = kind_of(paths[0], name, given)
    if hasattr(given, "index_type"):
        raise ValueError(f"{paths[0]}: column {name!r} is of {given}, which is not read from Arrow's files")
    try:
        before = [_used(schema.field(n).type) for n in range(place)]
        nodes, buffers = _used(given)
    except ValueError as error:
        raise ValueError(f"{paths[0]}: {error}") from None
    node, buffer = (sum(each[n] for each in before) for n in (0, 1))
    encodings: dict[str, int] = {}
    places = np.zeros((len(batches), 5), np.int64)
    ends = np.zeros((len(batches), 4), np.int64)
    for number, batch in enumerate(batches):
        path = paths[batch.file]
        arrays = batch.nodes[node : node + nodes]
        if len(arrays) < nodes or len(batch.buffers) < buffer + buffers or arrays[0, 0] != batch.rows:
            raise ValueError(f"{path}: record batch {number} has no column {name!r} of {given}")
        if count := int(arrays[:, 1].sum()):
            raise ValueError(f"{path}: column {name!r} has {count} values that are missing (null)")
        begin, size = batch.buffers[buffer + buffers - 1]  # values are the last
        ends[number] = batch.file, *batch.buffers[buffer + 1], batch.rows
        words = " ".join(filter(None, (batch.codec, "bits" if kind.dtype == "bool" else "plain")))
        count = batch.rows * items_in(kind) * kind.item if kind.what == "number" else 0
        places[number] = batch.file, encodings.setdefault(words, len(encodings)), begin, size, count
        least = (count + 7) // 8 if kind.dtype == "bool" else count
        if not batch.codec and least > size:
            raise ValueError(f"{path}: the values of column {name!r} at byte {begin} have {size} bytes, not {least}")
    parts = Parts(name, paths, kind.item, tuple(encodings), places)
    if kind.what == "number":
        return TableColumn(parts, kind.dtype, kind.row, partial(_load, kind))
    wide = str(given).startswith("large")
    rows = sum(batch.rows for batch in batches)
    return TableRows(kind.what, rows, partial(_look, parts, kind, ends, wide))


def _buffer(path: str, begin: int, size: int, codec: str, least: int) -> bytes:
    """A buffer of at least so many bytes, decompressed. Raises ValueError for one that is shorter, or damaged."""
    content = exactly(path, begin, size)
    if codec:
        import pyarrow as pa

        length = int.from_bytes(content[:8], "little", signed=True)
        content = content[8:]
        if length != -1:
            if not least <= length <= _SPARE * least + (64 << 10):
                raise ValueError(f"{path}: a buffer of {length} bytes at byte {begin}, for {least} bytes of values")
            try:
                content = pa.decompress(content, length, codec).to_pybytes()
            except (OSError, ValueError) as error:
                raise ValueError(f"{path}: the buffer at byte {begin}: {error}") from None
    if len(content) < least:
        raise ValueError(f"{path}: a buffer of {len(content)} bytes at byte {begin}, for {least} bytes of values")
    return content


def _load(kind: Kind, parts: Parts, part: int) -> NDArray[Any]:
    _, _, begin, size, count = parts.places[part].tolist()
    *codec, form = parts.encoding(part).split()
    bits = form == "bits"
    try:
        content = _buffer(parts.path(part), begin, size, "".join(codec), (count + 7) // 8 if bits else count)
    except ValueError as error:
        raise OSError(str(error)) from None
    if bits:
        return np.unpackbits(np.frombuffer(content, np.uint8), count=count, bitorder="little").view(np.bool_)
    return np.frombuffer(content[:count], kind.dtype)


def _look(parts: Parts, kind: Kind, ends: NDArray[np.int64], wide: bool) -> Found:
    """Reads the offsets of lists or texts."""
    dtype = np.dtype("<i8" if wide else "<i4")
    found, places, step = [np.zeros(1, np.int64)], parts.places.copy(), items_in(kind) * kind.item
    total = 0
    for number, (file, begin, size, rows) in enumerate(ends.tolist()):
        if not rows:
            continue
        path, codec = parts.paths[file], parts.encoding(number).partition(" ")[0]
        codec = codec if codec in _CODECS else ""
        content = _buffer(path, begin, size, codec, dtype.itemsize * (rows + 1))
        offsets = np.frombuffer(content, dtype, rows + 1).astype(np.int64)
        first, last = offsets[0], offsets[-1]
        if first < 0 or (np.diff(offsets) < 0).any() or (codec and first):
            raise ValueError(f"{path}: offsets of column {parts.name!r} at byte {begin} do not ascend from 0")
        places[number, 4] = (last - first) * step
        if not codec and kind.dtype != "bool":
            places[number, 2] += first * step
            places[number, 3] -= first * step
            if places[number, 4] > places[number, 3]:
                raise ValueError(
                    f"{path}: the values of column {parts.name!r} at byte {places[number, 2]} end before its offsets do"
                )
        elif first:
            raise ValueError(f"{path}: offsets of column {parts.name!r} at byte {begin} begin with {first}")
        found.append(offsets[1:] - first + total)
        total += int(last - first)
    made = TableColumn(replace(parts, places=places), kind.dtype, kind.row, partial(_load, kind))
    return Found(made, np.concatenate(found))
