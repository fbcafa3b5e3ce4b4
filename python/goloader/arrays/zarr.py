"""Zarr, version 2 and 3, in folders and in zip archives: finds arrays by their metadata, without the zarr package."""

from __future__ import annotations

import json
import math
import os
import posixpath
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._crc import crc32c
from .archive import Archive
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


def one(path: str, name: str) -> FileArray | None:
    """The array of a name in a folder, or in a zip archive; None for a group. Raises ValueError or OSError for what
    cannot be read."""
    try:
        if os.path.isfile(path):
            with open(path, "rb") as file:
                return _one_in(Archive(path, file), name)
        place = about(path, name)
        return _array_of(place, _read_about(place))
    except _Unread as why:
        raise ValueError(f"{path}: {name}: {why}") from None


def _one_in(archive: Archive, name: str) -> FileArray | None:
    """The same in a zip archive whose files are stored as they are, as Zarr's ZipStore writes them."""
    if None in archive.members.values():
        raise _Unread("an archive that is compressed, or encrypted")
    places = [posixpath.join(name, each) for each in _ABOUT]
    place = next((each for each in places if each in archive.members), places[0])
    content = archive.read(place, most=os.path.getsize(archive.path))
    return _array_of(place, _parsed(f"{archive.path}/{place}", content), archive)


def _array_of(place: str, told: Any, archive: Archive | None = None) -> FileArray | None:
    return None if _tells_group(os.path.basename(place), told) else _made(place, told, archive)


def about(path: str, name: str = "") -> str:
    """The file that says what a folder of a name is, whether or not it is there; the archive, if it is in one."""
    if os.path.isfile(path):
        return path
    folder = os.path.join(path, name)
    places = [os.path.join(folder, name) for name in _ABOUT]
    return next(filter(os.path.isfile, places), places[0])


# Names of files that say what a folder is.
_ABOUT = ("zarr.json", ".zarray", ".zgroup")


def _read_about(place: str) -> Any:
    with open(place, "rb") as content:
        return _parsed(place, content.read())


def _parsed(place: str, content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place}: not metadata of Zarr: {error}") from None


def _tells_group(file: str, told: Any) -> bool:
    return file == ".zgroup" or (isinstance(told, dict) and told.get("node_type") == "group")


def _made(place: str, told: Any, archive: Archive | None = None) -> FileArray:
    """Raises _Unread, and ValueError for what is no metadata of an array."""
    folder, file = os.path.split(place)
    try:
        return (_version3 if file == "zarr.json" else _version2)(folder, told, archive)
    except _Unread:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise ValueError(f"{place}: not metadata of an array: {type(error).__name__}: {error}") from None


def _version2(folder: str, about: Any, archive: Archive | None) -> FileArray:
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
        folder, about["shape"], about["chunks"], about["dtype"], about["fill_value"], filters, prefix, separator,
        archive=archive,
    )  # fmt: skip


def _version3(folder: str, about: Any, archive: Archive | None) -> FileArray:
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
    encoding = about["chunk_key_encoding"]
    default = encoding["name"] == "default"
    separator = encoding.get("configuration", {}).get("separator", "/" if default else ".")
    prefix = os.path.join(folder, f"c{separator}" if default else "")
    chunk, codecs, shards = about["chunk_grid"]["configuration"]["chunk_shape"], about["codecs"], None
    if [each["name"] for each in codecs] == ["sharding_indexed"]:
        settings = codecs[0]["configuration"]
        shards = _Shards.of(chunk, settings)
        chunk, codecs = settings["chunk_shape"], settings["codecs"]
    order, filters = _codecs(codecs)
    kind = np.dtype(dtype).newbyteorder(order)
    return _array(folder, about["shape"], chunk, kind, about["fill_value"], filters, prefix, separator, shards, archive)


def _codecs(listed: Any) -> tuple[str, list[str]]:
    """The order of bytes, and what was done to them."""
    order, filters = "<", []
    for number, each in enumerate(listed):
        name, settings = each["name"], each.get("configuration", {})
        if name == "bytes" and number == 0:
            order = ">" if settings.get("endian") == "big" else "<"
        elif name in _CODECS and number > 0 and settings.get("cname", "lz4") in _IN_BLOSC:
            filters.append(_CODECS[name])
        else:
            raise _Unread(f"codec {name}")
    return order, filters


@dataclass(frozen=True)
class _Shards:
    """Files that hold several chunks each, and where these begin: Zarr's codec "sharding_indexed".

    grid     how many chunks there are along each dimension
    order    of the bytes of the index
    at_end   where the index is
    checked  a checksum follows it
    """

    grid: tuple[int, ...]
    order: str
    at_end: bool
    checked: bool

    @staticmethod
    def of(shape: Any, settings: Any) -> _Shards:
        """As the configuration of the codec has it. Raises _Unread."""
        order, filters = _codecs(settings["index_codecs"])
        inner = settings["chunk_shape"]
        if filters not in ([], ["crc32c"]):
            raise _Unread(f"an index with {' '.join(filters)}")
        if len(shape) != len(inner) or min(inner) < 1 or any(a % b for a, b in zip(shape, inner, strict=True)):
            raise ValueError(f"chunks {inner} in shards {shape}")
        grid = tuple(a // b for a, b in zip(shape, inner, strict=True))
        return _Shards(grid, order, settings.get("index_location", "end") == "end", bool(filters))

    def places(self, path: str, begin: int = 0, bytes: int | None = None) -> NDArray[np.int64]:
        """Of each chunk of a file, or of so many bytes of it, where it begins there and its bytes, [*grid, 2]; 0 bytes:
        never written. Raises OSError."""
        count = math.prod(self.grid) * 16
        size = count + 4 * self.checked
        with open(path, "rb") as file:
            whole = os.fstat(file.fileno()).st_size if bytes is None else bytes
            index = os.pread(file.fileno(), min(size, whole), begin + (max(whole - size, 0) if self.at_end else 0))
        if len(index) != size:
            raise OSError(f"{path}: {whole} bytes, fewer than the {size} of a shard's index")
        if self.checked and crc32c(index[:count]).to_bytes(4, "little") != index[count:]:
            raise OSError(f"{path}: the checksum of its index, at byte {whole - 4 if self.at_end else count}, is wrong")
        found = np.frombuffer(index[:count], f"{self.order}u8").reshape(*self.grid, 2)
        missing = (found == np.uint64(2**64 - 1)).all(-1, keepdims=True)
        begins, sizes = found[..., 0], found[..., 1]
        if bool(((begins > whole) | (sizes > whole - begins))[~missing[..., 0]].any()):
            raise OSError(f"{path}: its index has chunks beyond its {whole} bytes")
        return np.where(missing, 0, found).astype(np.int64)


def _array(
    folder: str,
    shape: Any,
    chunk: Any,
    kind: Any,
    fill: Any,
    filters: list[str],
    prefix: str,
    separator: str,
    shards: _Shards | None = None,
    archive: Archive | None = None,
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
    if archive is not None:
        places = _places_in(archive, prefix, separator, grid, shards)
        chunks = Chunks(archive.path, None, tuple(shape), tuple(chunk), places, tuple(filters), _fill(fill, dtype))
        return ChunkedArray(archive.path, dtype=dtype, chunks=chunks, open=partial(_open_in, archive.path, folder))
    places = _places(prefix, separator, grid, shards)
    shard = None if shards is None else shards.grid
    chunks = Chunks(prefix, separator, tuple(shape), tuple(chunk), places, tuple(filters), _fill(fill, dtype), shard)
    return ChunkedArray(folder, dtype=dtype, chunks=chunks, open=partial(_open, folder))


def _places(prefix: str, separator: str, grid: tuple[int, ...], shards: _Shards | None) -> NDArray[np.int64]:
    """Which chunks have files, or where they are in files."""
    places = np.zeros((*grid, 3), np.int64)
    files_of = grid if shards is None else grid_of(grid, shards.grid)
    for folder, _, files in os.walk(os.path.dirname(prefix), onerror=_raise):
        for file in files:
            at = _numbers(os.path.join(folder, file).removeprefix(prefix), separator, files_of)
            if at is not None and shards is None:
                places[(*at, 1)] = -1
            elif at is not None and shards is not None:
                _put(places, at, shards, shards.places(os.path.join(folder, file)))
    return places.reshape(-1, 3)


def _places_in(
    archive: Archive, prefix: str, separator: str, grid: tuple[int, ...], shards: _Shards | None
) -> NDArray[np.int64]:
    """Where chunks are in an archive."""
    places = np.zeros((*grid, 3), np.int64)
    files_of = grid if shards is None else grid_of(grid, shards.grid)
    for name in archive.members:
        begin, size = archive.place(name)
        at = _numbers(name.removeprefix(prefix), separator, files_of) if name.startswith(prefix) else None
        if at is not None and not size:
            raise _Unread("a chunk without bytes")
        if at is not None and shards is None:
            places[at] = begin, size, 0
        elif at is not None and shards is not None:
            held = shards.places(archive.path, begin, size)
            held[..., 0] += begin
            _put(places, at, shards, held)
    return places.reshape(-1, 3)


def _numbers(name: str, separator: str, counts: tuple[int, ...]) -> tuple[int, ...] | None:
    """Those of a chunk, or of a shard, by its name; None for other files."""
    words = name.split(separator)
    if len(words) != len(counts) or not all(word.isascii() and word.isdigit() for word in words):
        return None
    at = tuple(map(int, words))
    return at if all(number < count for number, count in zip(at, counts, strict=True)) else None


def _put(places: NDArray[np.int64], at: tuple[int, ...], shards: _Shards, held: NDArray[np.int64]) -> None:
    """Notes where the chunks of a shard are."""
    here = places[tuple(slice(n * size, (n + 1) * size) for n, size in zip(at, shards.grid, strict=True))]
    here[..., :2] = held[tuple(map(slice, here.shape[:-1]))]  # the last ones have chunks beyond the array


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
    return _package(folder).open(folder, mode="r")


def _open_in(archive: str, name: str) -> Any:
    zarr = _package(archive)
    return zarr.open(zarr.storage.ZipStore(archive, mode="r"), path=name, mode="r")


def _package(path: str) -> Any:
    try:
        import zarr
    except ImportError:
        raise OSError(f"{path}: zarr, which reads its rows in Python, is not installed") from None
    return zarr
