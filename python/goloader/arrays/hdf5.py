"""HDF5: finds datasets, contiguous and in chunks, with h5py."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .chunked_array import ChunkedArray, Chunks, grid_of
from .file_array import DTYPES, FileArray

MAGIC = b"\x89HDF\r\n\x1a\n"

# Registered filters (https://github.com/HDFGroup/hdf5_plugins/blob/master/docs/RegisteredFilterPlugins.md).
_FILTERS: dict[int, Callable[[Any], str]] = {
    1: lambda values: "zlib",
    2: lambda values: f"shuffle:{values[0]}",
    3: lambda values: "fletcher32",
    32000: lambda values: "lzf",
    32001: lambda values: "blosc",
    32015: lambda values: "zstd",
}


def read(path: str, direct: bool) -> dict[str, FileArray]:
    try:
        import h5py
    except ImportError:
        raise ValueError(f"{path}: h5py, which finds the arrays in HDF5 files, is not installed") from None
    found: dict[str, FileArray] = {}
    left: list[str] = []

    def visit(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            array = _array(h5py, path, name, item, direct)
            if isinstance(array, str):
                left.append(f"{name} ({array})")
            else:
                found[name] = array

    try:
        with h5py.File(path, "r") as file:
            file.visititems(visit)
    except (OSError, RuntimeError) as error:
        raise ValueError(f"{path}: {error}") from error
    if not found:
        raise ValueError(f"{path}: it has no array that can be read: {', '.join(left[:5]) or 'it is empty'}")
    return found


def one(path: str, name: str) -> FileArray | None:
    """The array of a name; None for a group. Raises ValueError, KeyError or OSError for what cannot be read."""
    import h5py

    with h5py.File(path, "r") as file:
        item = file[name] if name else file
        found = _array(h5py, path, name, item, False) if isinstance(item, h5py.Dataset) else None
        if isinstance(found, str) or not isinstance(item, h5py.Dataset | h5py.Group):
            raise ValueError(found or f"a {type(item).__name__}")
    return found


def _array(h5py: Any, path: str, name: str, item: Any, direct: bool) -> FileArray | str:
    """The array of a dataset, or why there is none."""
    if not item.shape:
        return "no rows"
    if item.dtype.name not in DTYPES:
        return f"of {item.dtype}"
    if item.external or item.is_virtual:
        return "in other files"
    settings = item.id.get_create_plist()
    if settings.get_layout() != h5py.h5d.CHUNKED:
        offset = item.id.get_offset()
        if offset is None:
            return "not in a piece of the file"
        return FileArray(path, dtype=item.dtype, shape=item.shape, offset=offset, direct=direct)
    filters = []
    for code, _, values, text in map(settings.get_filter, range(settings.get_nfilters())):
        if code not in _FILTERS:
            return f"filter {text.decode(errors='replace') or code}"
        filters.append(_FILTERS[code](values))
    grid = grid_of(item.shape, item.chunks)
    places = np.zeros((math.prod(grid), 3), np.int64)

    def place(chunk: Any) -> None:
        at = [begin // size for begin, size in zip(chunk.chunk_offset, item.chunks, strict=True)]
        places[np.ravel_multi_index(at, grid)] = chunk.byte_offset, chunk.size, chunk.filter_mask

    if 0 not in grid and hasattr(item.id, "chunk_iter"):
        item.id.chunk_iter(place)
    else:  # HDF5 before 1.12.3, which looks for each chunk from the first one on
        for number in range(item.id.get_num_chunks()):
            place(item.id.get_chunk_info(number))
    fill = np.asarray(item.fillvalue, item.dtype).tobytes()
    chunks = Chunks(path, None, item.shape, item.chunks, places, tuple(filters), fill)
    return ChunkedArray(path, dtype=item.dtype, chunks=chunks, open=partial(_open, path, name))


def _open(path: str, name: str) -> Any:
    import h5py

    return h5py.File(path, "r")[name]
