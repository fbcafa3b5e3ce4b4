"""Zarr, version 2 and 3, in folders: finds arrays by their metadata, without the zarr package."""

from __future__ import annotations

import json
import math
import os
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .chunked_array import ChunkedArray, Chunks, grid_of
from .file_array import NUMPY_DTYPES, FileArray

# Names of the core.
_CODECS = {"zlib": "zlib", "gzip": "zlib", "zstd": "zstd", "blosc": "blosc", "crc32c": "crc32c"}
_IN_BLOSC = ("lz4", "lz4hc", "zlib", "zstd")
# In metadata of version 3. Who does not know another is not to read the array.
_KNOWN = {
    "zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs",
    "attributes", "dimension_names", "storage_transformers",
}  # fmt: skip
_FILLS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class _Unread(Exception):
    """Why an array is left out."""


def read(path: str) -> FileArray | dict[str, FileArray]:
    """The array of a folder, or all those in it by name."""
    found: dict[str, FileArray] = {}
    left: list[str] = []
    for folder, folders, files in os.walk(path, onerror=_raise):
        file = next((name for name in _ABOUT if name in files), None)
        if file is None:
            folders.clear()
            continue
        folders.sort()
        place = os.path.join(folder, file)
        told = _read_about(place)
        if _tells_group(file, told):
            continue
        folders.clear()
        name = "" if folder == path else os.path.relpath(folder, path)
        try:
            found[name] = _made(place, told)
        except _Unread as why:
            left.append(f"{name or 'the array'} ({why})")
    if not found:
        raise ValueError(f"{path}: it has no array that can be read: {', '.join(left[:5]) or 'no Zarr'}")
    return found.get("", found)


def one(folder: str) -> FileArray | None:
    """The array of a folder; None for a group. Raises ValueError or OSError for what cannot be read."""
    place = about(folder)
    told = _read_about(place)
    if _tells_group(os.path.basename(place), told):
        return None
    try:
        return _made(place, told)
    except _Unread as why:
        raise ValueError(f"{folder}: {why}") from None


def about(folder: str) -> str:
    """The file that says what a folder is, whether or not it is there."""
    places = [os.path.join(folder, name) for name in _ABOUT]
    return next(filter(os.path.isfile, places), places[0])


# Names of files that say what a folder is.
_ABOUT = ("zarr.json", ".zarray", ".zgroup")


def _read_about(place: str) -> Any:
    with open(place, "rb") as content:
        try:
            return json.load(content)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{place}: not metadata of Zarr: {error}") from None


def _tells_group(file: str, told: Any) -> bool:
    return file == ".zgroup" or (isinstance(told, dict) and told.get("node_type") == "group")


def _made(place: str, told: Any) -> FileArray:
    """Raises _Unread, and ValueError for what is no metadata of an array."""
    folder, file = os.path.split(place)
    try:
        return (_version3 if file == "zarr.json" else _version2)(folder, told)
    except _Unread:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise ValueError(f"{place}: not metadata of an array: {type(error).__name__}: {error}") from None


def _version2(folder: str, about: Any) -> FileArray:
    if not isinstance(about["dtype"], str):
        raise _Unread(f"of {about['dtype']}")
    if about["order"] != "C":
        raise _Unread(f"order {about['order']}")
    names = [*(about["filters"] or ()), *([about["compressor"]] if about["compressor"] else ())]
    filters = []
    for each in names:
        if each["id"] in _CODECS and each.get("cname", "lz4") in _IN_BLOSC:
            filters.append(_CODECS[each["id"]])
        elif each["id"] == "shuffle":
            filters.append(f"shuffle:{each['elementsize']}")
        else:
            raise _Unread(f"codec {each['id']}")
    separator = about.get("dimension_separator", ".")
    prefix = os.path.join(folder, "")
    return _array(
        folder, about["shape"], about["chunks"], about["dtype"], about["fill_value"], filters, prefix, separator
    )


def _version3(folder: str, about: Any) -> FileArray:
    dtype = about["data_type"]
    if dtype not in NUMPY_DTYPES:
        raise _Unread(f"of {dtype}")
    for key in about.keys() - _KNOWN:
        if not isinstance(about[key], dict) or about[key].get("must_understand") is not False:
            raise _Unread(key)
    if about.get("storage_transformers"):
        raise _Unread("storage transformers")
    for part, known in (("chunk_grid", ("regular",)), ("chunk_key_encoding", ("default", "v2"))):
        if about[part]["name"] not in known:
            raise _Unread(f"{part} {about[part]['name']}")
    order, filters = "<", []
    for number, each in enumerate(about["codecs"]):
        name, settings = each["name"], each.get("configuration", {})
        if name == "bytes" and number == 0:
            order = ">" if settings.get("endian") == "big" else "<"
        elif name in _CODECS and number > 0 and settings.get("cname", "lz4") in _IN_BLOSC:
            filters.append(_CODECS[name])
        else:
            raise _Unread(f"codec {name}")
    encoding = about["chunk_key_encoding"]
    default = encoding["name"] == "default"
    separator = encoding.get("configuration", {}).get("separator", "/" if default else ".")
    prefix = os.path.join(folder, f"c{separator}" if default else "")
    chunk = about["chunk_grid"]["configuration"]["chunk_shape"]
    kind = np.dtype(dtype).newbyteorder(order)
    return _array(folder, about["shape"], chunk, kind, about["fill_value"], filters, prefix, separator)


def _array(
    folder: str, shape: Any, chunk: Any, kind: Any, fill: Any, filters: list[str], prefix: str, separator: str
) -> FileArray:
    dtype = np.dtype(kind)
    if dtype.name not in NUMPY_DTYPES:
        raise _Unread(f"of {dtype}")
    if shape == []:
        raise _Unread("no rows")
    if separator not in (".", "/"):
        raise ValueError(f"chunks are named with {separator!r}")
    if len(shape) != len(chunk) or min(shape) < 0 or min(chunk) < 1:
        raise ValueError(f"chunks {chunk} of an array {shape}")
    grid = grid_of(shape, chunk)
    places = _places(prefix, separator, grid)
    chunks = Chunks(prefix, separator, tuple(shape), tuple(chunk), places, tuple(filters), _fill(fill, dtype))
    return ChunkedArray(folder, dtype=dtype, chunks=chunks, open=partial(_open, folder))


def _places(prefix: str, separator: str, grid: tuple[int, ...]) -> NDArray[np.int64]:
    """Which chunks have files."""
    places = np.zeros((math.prod(grid), 3), np.int64)
    for folder, _, files in os.walk(os.path.dirname(prefix), onerror=_raise):
        for file in files:
            words = os.path.join(folder, file).removeprefix(prefix).split(separator)
            if len(words) == len(grid) and all(word.isascii() and word.isdigit() for word in words):
                at = tuple(map(int, words))
                if all(number < count for number, count in zip(at, grid, strict=True)):
                    places[np.ravel_multi_index(at, grid), 1] = -1
    return places


def _raise(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):  # no folder of chunks, none of which was written then
        raise error


def _fill(given: Any, dtype: np.dtype[Any]) -> bytes:
    """An item of chunks that were never written."""
    if given is None:
        given = 0
    if isinstance(given, str):
        if given not in _FILLS or dtype.kind != "f":
            raise _Unread(f"fill value {given!r}")
        given = _FILLS[given]
    if isinstance(given, list):  # of a complex number
        if not all(type(part) in (int, float) for part in given):
            raise _Unread(f"fill value {given}")
        given = complex(*given)
    return np.asarray(given, dtype).tobytes()


def _open(folder: str) -> Any:
    try:
        import zarr
    except ImportError:
        raise OSError(f"{folder}: zarr, which reads its rows in Python, is not installed") from None
    return zarr.open(folder, mode="r")
