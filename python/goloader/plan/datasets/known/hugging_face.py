"""Hugging Face's datasets.Dataset: columns of numbers, read where Arrow has them, in its files or in memory.

Its rows are what its "torch", "numpy" or plain format makes of them: datasets/formatting of the package says how.
"""

from __future__ import annotations

import bisect
import itertools
import os
import sys
from collections.abc import Sequence
from operator import attrgetter, eq, is_
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....arrays.mapped import Map, maps
from ...collates.collation import Lists
from ...refusal import RefusalError, SourceRefusal
from ...rows import Array
from ...trust.originals import is_original, module_of
from ..tree import Column, Indices, Node
from .arrays import castable

# What its __getitems__ goes by.
_ATTRIBUTES = (
    "_data", "_indices", "_info", "_format_type", "_format_kwargs", "_format_columns", "_output_all_columns",
)  # fmt: skip
_METHODS = ("__getitem__", "__getitems__", "__len__", "_getitem")
# Features whose values are numbers as Arrow has them.
_PLAIN = ("ClassLabel", "LargeList", "List", "Sequence", "Value")
# Arrow's names of numbers, as the core names them.
_NUMBERS = {
    "bool": "bool",
    "double": "float64",
    "float": "float32",
    "halffloat": "float16",
    **{name: name for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")},
}


# A column of numbers of up to so many bytes is copied.
_KEPT_BYTES_MAX = 64 << 20


def is_table(dataset: Any) -> bool:
    """Whether a dataset is one of the package's; a subclass is not. Nothing is imported to look for it."""
    module = sys.modules.get("datasets.arrow_dataset")
    return module is not None and type(dataset) is vars(module).get("Dataset")


class Table(Node):
    """A datasets.Dataset with the format None, "numpy" or "torch", and without arguments of its format."""

    any_integer = False
    tried = True

    def __init__(self, dataset: Any, *, rows: Lists = "") -> None:
        """`rows`: which lists of numbers, as they are with the format None, are rows, too."""
        self.dataset = dataset
        self._given = _attributes(dataset)
        columns = [name for name in dataset._data.column_names if name in (dataset._format_columns or [name])]
        if not columns or not dataset._data.num_rows:
            raise _refusal("it is empty", "FIELDS")
        places = list(maps())
        pieces = [_pieces(dataset, name, places, rows=rows) for name in columns]
        index: Indices | None = None
        self.length = dataset._data.num_rows
        if dataset._indices is not None:
            index = dataset._indices.column(0).to_numpy().astype(np.int64)
            self.length = len(index)
        self.structure = dict(zip(columns, range(len(columns)), strict=True))
        self.columns = tuple(Column(tuple(each), each[0].spec, index) for each in pieces)
        self._pieces = list(itertools.chain.from_iterable(pieces))
        # A number alone keeps its dtype.
        self.batched = dataset._format_type == "numpy" and any(each.is_cast_number for each in self._pieces)
        files = sorted({each.array.path for each in self._pieces if each.array.path is not None})
        self.note = f"columns of {', '.join(files)}" if files else "columns of Arrow's in memory"

    def unchanged(self, dataset: Any, at: Indices | None) -> bool:
        if dataset is not self.dataset:
            return False
        try:
            now = _attributes(dataset)
        except RefusalError:
            return False
        *same, columns = zip(now, self._given, strict=True)
        return all(itertools.starmap(is_, same)) and eq(*columns) and all(each.unchanged for each in self._pieces)


def _refusal(why: str, code: str) -> RefusalError:
    return SourceRefusal("datasets.Dataset", why, code)


def _attributes(dataset: Any) -> tuple[Any, ...]:
    """What its rows depend on; a plain copy of what may be changed in place. Raises RefusalError."""
    own = vars(dataset)
    kind = type(dataset)
    formats = vars(sys.modules["datasets.formatting"])
    name = own.get("_format_type")
    formatter = formats["_FORMAT_TYPES"].get(name)
    methods = [vars(kind).get(each) for each in _METHODS]
    methods += [formats.get(each) for each in ("format_table", "query_table")]
    methods += [getattr(formatter, each, None) for each in ("format_batch", "format_row")]
    if not own.keys() >= set(_ATTRIBUTES) or own.keys() & set(_METHODS):
        raise _refusal("its methods or attributes were replaced", "FUNCTION_REPLACED")
    if not all(is_original(each, "datasets") for each in methods):
        raise _refusal("functions of its package were replaced", "FUNCTION_REPLACED")
    if name not in (None, "numpy", "torch") or own["_format_kwargs"] or own["_output_all_columns"]:
        raise _refusal(f"its format is {name!r}, or has arguments of its own", "DATASET_OPTIONS")
    chosen = own["_format_columns"]
    return (
        *(own[each] for each in ("_data", "_indices", "_info", "_format_type")),
        formatter,
        None if chosen is None else list(chosen),
    )


class _Piece:
    """Rows of a column, which nobody can write into, unless another file is put in the place of theirs."""

    def __init__(self, array: Array, spec: tuple[Any, ...]) -> None:
        self.array, self.spec = array, spec
        self._file = self._stat()

    def __len__(self) -> int:
        return len(self.array)

    def _stat(self) -> Any:
        if self.array.path is None:
            return None
        try:
            return os.stat(self.array.path)[:8]
        except OSError:
            return False

    @property
    def is_cast_number(self) -> bool:
        return self.array.shape[1:] == () and self.array.lengths is None and self.array.stored != ""

    @property
    def unchanged(self) -> bool:
        return self._file is not False and self._stat() == self._file


def _pieces(dataset: Any, name: str, maps: Sequence[Map], *, rows: Lists) -> list[_Piece]:
    """The rows of a column. Raises RefusalError."""
    column, form = dataset._data.column(name), dataset._format_type
    is_list = hasattr(column.type, "value_type")
    stored = _NUMBERS.get(str(column.type.value_type if is_list else column.type), "")
    dtype = _made(stored, form)
    as_is = is_list and (stored == "bool" or (form is None and not rows))
    if not _is_plain(dataset._info.features[name]) or not stored or as_is:
        raise _refusal(f"its column {name!r} is of {column.type}, which only Python makes samples of", "FIELDS")
    if dtype != stored and not castable(dtype, stored):
        raise _refusal(f"its column {name!r} is of {column.type}", "FIELDS")
    if column.null_count or (is_list and any(chunk.flatten().null_count for chunk in column.chunks)):
        raise _refusal(f"its column {name!r} has values that are missing", "FIELDS")
    cast = "" if dtype == stored else stored
    # Arrow has eight of bool in a byte. A file is read for what is too much to be kept.
    if not is_list and (stored == "bool" or column.nbytes <= _KEPT_BYTES_MAX):
        kept = column.to_numpy().copy()
        return [_Piece(Array.of(kept, stored=cast), (dtype, (), dtype, "column", cast))]
    item = np.dtype(stored).itemsize
    runs = [_run(chunk, item, maps) for chunk in column.chunks if len(chunk)]
    lengths = np.concatenate([run.lengths for run in runs])
    ragged = bool((lengths != lengths[0]).any())
    shape = (int(lengths[0]),) if is_list and not ragged else ()
    spec = (dtype, shape, dtype, "ragged column" if ragged else "column", cast)
    pieces = []
    for path, several in itertools.groupby(runs, attrgetter("path")):
        same = list(several)
        begins, counts = (np.concatenate([getattr(run, each) for run in same]) for each in ("begins", "lengths"))
        array = Array(
            0,
            (len(begins), *shape),
            (0, *(item for _ in shape)),
            column,
            cast,
            path,
            begins=begins,
            lengths=counts if ragged else None,
            bytes=np.iinfo(np.int64).max if path is None else os.stat(path).st_size,
        )
        pieces.append(_Piece(array, spec))
    return pieces


def _made(stored: str, form: str | None) -> str:
    """torch's dtype of a batch of such numbers."""
    if stored == "bool":
        return stored
    return "int64" if "int" in stored else "float64" if form is None else "float32"


def _is_plain(feature: Any) -> bool:
    """Whether values are numbers, or lists of them, as Arrow has them."""
    inner = getattr(feature, "feature", feature)
    return all(
        module_of(type(each)) == "datasets.features.features" and type(each).__name__ in _PLAIN
        for each in (feature, inner)
    )


class _Run(NamedTuple):
    """Rows that follow each other in one file, or in memory.

    begins   of each row's items: places in the file, or addresses
    lengths  items of each row
    """

    path: str | None
    begins: NDArray[np.int64]
    lengths: NDArray[np.int64]


def _run(chunk: Any, size: int, maps: Sequence[Map]) -> _Run:
    """The rows of a piece of a column, of items of so many bytes."""
    values, first, lengths = chunk, np.arange(len(chunk), dtype=np.int64), np.ones(len(chunk), np.int64)
    if hasattr(chunk, "offsets"):
        offsets = chunk.offsets.to_numpy().astype(np.int64)
        values, first, lengths = chunk.values, offsets[:-1], np.diff(offsets)
    elif hasattr(chunk.type, "list_size"):
        values, lengths = chunk.flatten(), lengths * chunk.type.list_size
        first = first * chunk.type.list_size
    buffer = values.buffers()[1]
    address = 0 if buffer is None else buffer.address
    at = bisect.bisect_right(maps, address, key=attrgetter("first")) - 1
    place = maps[at] if at >= 0 else None
    begins = address + (values.offset + first) * size
    # What was removed is in memory alone.
    if place is None or address >= place.last or not place.path.startswith("/") or place.path.endswith(" (deleted)"):
        return _Run(None, begins, lengths)
    return _Run(place.path, begins - place.first + place.offset, lengths)
