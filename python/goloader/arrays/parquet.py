"""Parquet: finds columns and their column chunks with pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrow_types import Kind, items_in, kind_of, leaves_of, missing, numbers_of
from .table_column import Found, Parts, TableColumn, TableRows, chosen

MAGIC = b"PAR1"

_CODECS = ("UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "LZ4")
_PHYSICAL = ("BOOLEAN", "INT32", "INT64", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
# Lengths of texts and lists in a column of more bytes are kept for the next start.
_QUICK_BYTES = 32 << 20


def read(paths: Sequence[str], columns: Sequence[str] | None) -> dict[str, TableColumn | TableRows]:
    """The columns of files that have the same ones, by name.

    Raises ValueError, also for a column of another type than arrow_types knows, and for values that are missing.
    """
    schema, groups = None, []
    for number, path in enumerate(paths):
        with _opened(path) as file:
            if schema is None:
                schema = file.schema_arrow
            elif not file.schema_arrow.equals(schema):
                raise ValueError(f"{path}: its columns are not those of {paths[0]}")
            groups += [_Group(number, n, file.metadata, file.schema) for n in range(file.metadata.num_row_groups)]
    assert schema is not None
    names = chosen(paths[0], schema.names, columns)
    leaves = np.cumsum([0, *(leaves_of(field.type) for field in schema)]).tolist()
    found: dict[str, TableColumn | TableRows] = {}
    for name in names:
        place = schema.names.index(name)
        kind = kind_of(paths[0], name, schema.field(place).type)
        found[name] = _column(name, kind, tuple(paths), groups, leaves[place])
    return found


@dataclass(frozen=True, eq=False)
class _Group:
    """A row group, by the numbers of its file and in it."""

    file: int
    number: int
    metadata: Any
    schema: Any

    @property
    def rows(self) -> int:
        count: int = self.metadata.row_group(self.number).num_rows
        return count


def _opened(path: str) -> Any:
    try:
        from pyarrow import parquet
    except ImportError:
        raise ValueError(f"{path}: pyarrow, which finds the columns in Parquet files, is not installed") from None
    try:
        return parquet.ParquetFile(path)
    except ValueError as error:  # pyarrow's own errors are of it as well
        raise ValueError(f"{path}: {error}") from error


def _column(
    name: str, kind: Kind, paths: tuple[str, ...], groups: Sequence[_Group], leaf: int
) -> TableColumn | TableRows:
    encodings: dict[str, int] = {}
    places = np.zeros((len(groups), 5), np.int64)
    for place, group in zip(places, groups, strict=True):
        about = group.metadata.row_group(group.number).column(leaf)
        described = group.schema.column(leaf)
        path = paths[group.file]
        if about.physical_type not in _PHYSICAL or about.compression not in _CODECS:
            raise ValueError(
                f"{path}: column {name!r} is of {about.physical_type}, compressed by {about.compression}, which is not "
                "read"
            )
        if kind.what != "list" and about.is_stats_set and about.statistics.null_count:
            raise _nulls(path, name, about.statistics.null_count)
        even = ("even",) if kind.what != "list" else ()
        levels = map(str, (described.max_definition_level, described.max_repetition_level))
        words = " ".join(("parquet", about.compression, about.physical_type, *levels, *even))
        begins = (about.dictionary_page_offset, about.data_page_offset)
        begin = min(begin for begin in begins if begin)
        size = group.rows * items_in(kind) * kind.item if kind.what == "number" else 0
        place[:] = group.file, encodings.setdefault(words, len(encodings)), begin, about.total_compressed_size, size
    parts = Parts(name, paths, kind.item, tuple(encodings), places)
    load = partial(_load, kind, tuple(group.number for group in groups))
    if kind.what == "number":
        return TableColumn(parts, kind.dtype, kind.row, load)
    return TableRows(kind.what, sum(group.rows for group in groups), partial(_look, parts, kind, load))


def _nulls(path: str, name: str, count: int) -> ValueError:
    return ValueError(f"{path}: column {name!r} has {count} values that are missing (null)")


def _arrays(path: str, group: int, name: str) -> Iterator[Any]:
    """The arrays of a row group's column. Raises ValueError where values are missing."""
    with _opened(path) as file:
        for batch in file.iter_batches(row_groups=[group], columns=[name]):
            array = batch.column(batch.schema.names.index(name))
            if count := missing(array):
                raise _nulls(path, name, count)
            yield array


def _load(kind: Kind, groups: Sequence[int], parts: Parts, part: int) -> NDArray[Any]:
    arrays = [numbers_of(array, kind) for array in _arrays(parts.path(part), groups[part], parts.name)]
    return np.concatenate(arrays) if arrays else np.zeros(0, kind.dtype)


def _look(parts: Parts, kind: Kind, load: Any) -> Found:
    """Goes through all of a column for the lengths of its lists or texts."""
    from .._kept import kept

    groups: Sequence[int] = load.args[1]

    def find() -> dict[str, NDArray[Any]]:
        each = [_lengths(parts.path(n), group, parts.name) for n, group in enumerate(groups)]
        return {"lengths": np.concatenate([np.zeros(0, np.int64), *each]), "rows": np.array(list(map(len, each)))}

    slow = int(parts.places[:, 3].sum()) > _QUICK_BYTES
    found = kept(parts.paths, ("Parquet", parts.name), find) if slow else find()
    offsets = np.concatenate([[0], np.cumsum(found["lengths"], dtype=np.int64)])
    ends = np.cumsum(found["rows"], dtype=np.int64)
    places = parts.places.copy()
    places[:, 4] = (offsets[ends] - offsets[ends - found["rows"]]) * items_in(kind) * kind.item
    return Found(TableColumn(replace(parts, places=places), kind.dtype, kind.row, load), offsets)


def _lengths(path: str, group: int, name: str) -> NDArray[np.int64]:
    from pyarrow import compute

    found = [np.zeros(0, np.int64)]
    for array in _arrays(path, group, name):
        if hasattr(array.type, "index_type"):
            array = array.dictionary_decode()
        length = compute.list_value_length if hasattr(array.type, "value_type") else compute.binary_length
        found.append(length(array).to_numpy(zero_copy_only=False).astype(np.int64))
    return np.concatenate(found)
