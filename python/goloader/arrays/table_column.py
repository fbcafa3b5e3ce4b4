"""A column of tables in files: numbers, lists of numbers, and texts."""

from __future__ import annotations

import bisect
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .file_array import FileArray, contiguous
from .ragged import RaggedArray


@dataclass(frozen=True, eq=False)
class Parts:
    """Where a column is, as gl_column in capi/goloader.h has it.

    name       of the column
    paths      of its files
    item       bytes of a value; 1 for texts, whose bytes are its values
    encodings  as core/source/tables has them
    places     [parts, 5] int64: number of the file and of the encoding, where it begins, its bytes there, those of its
               values
    """

    name: str
    paths: tuple[str, ...]
    item: int
    encodings: tuple[str, ...]
    places: NDArray[np.int64]

    def path(self, part: int) -> str:
        return self.paths[int(self.places[part, 0])]

    def encoding(self, part: int) -> str:
        return self.encodings[int(self.places[part, 1])]


# (the parts, the number of one) -> its values, as bytes or numbers in one dimension.
Load = Callable[[Parts, int], NDArray[Any]]


class TableColumn(FileArray):
    """A column of numbers, or of lists of as many each, as `open_arrays` gives it; or what lists or texts have in them.

    Go reads and decodes its parts itself. In Python `load` does, and what it gives is kept for a while.
    """

    def __init__(self, parts: Parts, dtype: str, row: tuple[int, ...], load: Load) -> None:
        self.path, self.parts, self.direct, self.offset = parts.paths[0], parts, False, 0
        self.dtype, self.numpy_dtype = dtype, np.dtype(dtype)
        self._load = load
        self._row = int(np.prod(row, dtype=np.int64))  # values of one
        self._ends = np.cumsum(parts.places[:, 4] // parts.item).tolist()
        self.shape = ((self._ends[-1] if self._ends else 0) // self._row, *row)
        self.strides = contiguous(self.shape, self.numpy_dtype.itemsize)

    def _rows(self, begin: int, count: int) -> NDArray[Any]:
        out = np.empty(count * self._row, self.numpy_dtype)
        at, done = begin * self._row, 0
        while done < len(out):
            part = bisect.bisect_right(self._ends, at)
            skip = at - (self._ends[part - 1] if part else 0)
            values = self._values(part, skip, len(out) - done)
            out[done : done + len(values)] = values
            at, done = at + len(values), done + len(values)
        return out.reshape(count, *self.shape[1:])

    def _values(self, part: int, skip: int, most: int) -> NDArray[Any]:
        """Of one part, from a value on."""
        if self.parts.encoding(part) == "plain":
            _, _, begin, _, size = self.parts.places[part].tolist()
            item = self.parts.item
            count = min(most, size // item - skip)
            path = self.parts.path(part)
            place = begin + skip * item
            return np.frombuffer(exactly(path, place, count * item), self.numpy_dtype)
        return _RECENT.get(self.parts, part, self._load)[skip : skip + most]

    def __repr__(self) -> str:
        return f"TableColumn({self.parts.name!r} of {self.path!r}, dtype={self.dtype!r}, shape={self.shape})"

    def __reduce__(self) -> tuple[Any, ...]:
        return TableColumn, (self.parts, self.dtype, self.shape[1:], self._load)


class Found(NamedTuple):
    """What lists or texts have in them, all one after the other, and where each begins: [rows + 1] int64."""

    values: TableColumn
    offsets: NDArray[np.int64]


class TableRows(RaggedArray):
    """A column of lists of numbers, which may differ in length, or of texts: row i is an array, a str or bytes.

    kind  "list", "str" or "bytes"

    How long they are is looked up when it is first asked for.
    """

    def __init__(self, kind: Literal["list", "str", "bytes"], rows: int, look: Callable[[], Found]) -> None:
        self.kind, self._rows, self._look = kind, rows, look

    @cached_property
    def _found(self) -> Found:
        found = self._look()
        found.offsets.flags.writeable = False  # loaders rely on it
        return found

    @property
    def values(self) -> TableColumn:  # type: ignore[override]
        return self._found.values

    @property
    def offsets(self) -> NDArray[np.int64]:  # type: ignore[override]
        return self._found.offsets

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, index: int) -> Any:
        row = super().__getitem__(index)
        return row if self.kind == "list" else made(self.kind, row.tobytes())

    def __repr__(self) -> str:
        return f"TableRows({self._rows} rows of {self.kind})"

    def __reduce__(self) -> tuple[Any, ...]:
        return TableRows, (self.kind, self._rows, self._look)


def made(kind: str, content: bytes) -> str | bytes:
    """A text of its bytes, as pyarrow makes it."""
    return content.decode() if kind == "str" else content


def exactly(path: str, begin: int, size: int) -> bytes:
    """Bytes of a file. Raises OSError where it ends before."""
    with open(path, "rb") as file:
        content = os.pread(file.fileno(), size, begin)
    if len(content) != size:
        raise OSError(f"{path}: {size} bytes at byte {begin} wanted, but it ends within them")
    return content


def chosen(path: str, names: Sequence[str], wanted: Sequence[str] | None) -> list[str]:
    """The columns that are wanted, or all. Raises ValueError for one that is not there, or twice."""
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1 and (wanted is None or name in wanted)]
    if twice:
        raise ValueError(f"{path}: it has several columns {twice[0]!r}")
    left = [name for name in wanted or () if name not in names]
    if left:
        raise ValueError(f"{path}: it has no column {left[0]!r}, but {', '.join(map(repr, names))}")
    return list(names if wanted is None else wanted)


class _Recent:
    """Parts that Python has read, those that were used last, up to 64 MiB of them."""

    most = 64 << 20

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, int], tuple[Parts, NDArray[Any]]] = OrderedDict()

    def get(self, parts: Parts, part: int, load: Load) -> NDArray[Any]:
        key = id(parts), part
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][1]
        values = load(parts, part)
        with self._lock:
            self._kept[key] = parts, values
            while len(self._kept) > 1 and sum(each.nbytes for _, each in self._kept.values()) > self.most:
                self._kept.popitem(last=False)
        return values


_RECENT = _Recent()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_RECENT.__init__)  # type: ignore[misc]
