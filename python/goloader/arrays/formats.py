"""Finds the format of a file of arrays by its first bytes; a folder is Zarr's, or one of Parquet or Arrow files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import ModuleType

from . import arrow, hdf5, npy, parquet, ragged, safetensors, torch_file, zarr
from .archive import Archive
from .file_array import FileArray
from .ragged import RaggedArray

# Ends of names of files in a folder that are read as one table.
_TABLES = (".parquet", ".arrow", ".feather")


def open_arrays(
    path: str | os.PathLike[str] | Sequence[str], *, direct: bool = False, columns: Sequence[str] | None = None
) -> FileArray | dict[str, FileArray | RaggedArray]:
    """Opens the arrays of a .npy, .npz, .safetensors or HDF5 file, of one that torch.save wrote, or of a Zarr folder;
    or the columns of tables: Parquet, Arrow (.arrow, .feather), or a folder or list of such files.

    Reads headers only. Returns one array if the file is one (.npy, a single saved tensor, a Zarr array), else a dict by
    name. Tensors in dicts and lists of a torch.save file are named by their path, such as "model.0.weight". Nothing is
    unpickled: from a torch.save file, tensors are taken and everything else is left out. Names of HDF5 (needs h5py) and
    of Zarr include groups, "a/b". Left out are what is not an array of numbers, and chunks with other codecs than gzip,
    zlib, Zstandard, shuffle, LZF, CRC-32C, Fletcher-32, and Blosc with zlib, Zstandard or LZ4.

    Of tables (needs pyarrow), columns of numbers and of lists that have as many each are arrays, [rows, ...]; lists of
    other lengths, texts (str) and binary values (bytes) are rows of a RaggedArray, whose lengths are looked up when
    they are first needed. Nothing is left out: a column of another type, or with a value that is missing, is an error
    unless `columns` names others. Files of a folder are in the order of their paths, as pyarrow has them.

    direct   as for FileArray; chunks and tables are read through the page cache all the same
    columns  names of what is opened; None: all

    Raises ValueError with file and byte for a damaged file, a compressed .npz, an array of objects, an unknown format
    or name, and for files of a folder that differ in their columns; OSError if a file cannot be opened.
    """
    paths = [os.path.abspath(os.fspath(each)) for each in ([path] if isinstance(path, str | os.PathLike) else path)]
    if len(paths) == 1 and os.path.isdir(paths[0]):
        paths = tables_in(paths[0]) or paths
    kind = None if os.path.isdir(paths[0]) else _kind_of_table(paths[0])
    if kind is not None:
        other = next((each for each in paths[1:] if _kind_of_table(each) is not kind), None)
        if other is not None:
            raise ValueError(f"{other}: not of the format of {paths[0]}")
        return dict(kind.read(paths, columns))
    if len(paths) > 1:
        raise ValueError(f"{paths[0]}: several files are read together if they are tables, and it is none")
    found = _open(paths[0], direct)
    named: dict[str, FileArray | RaggedArray] = dict(found) if isinstance(found, dict) else {}
    if columns is None:
        return named if isinstance(found, dict) else found
    left = [name for name in columns if name not in named]
    if left:
        raise ValueError(f"{paths[0]}: it has no array {left[0]!r}")
    return {name: named[name] for name in columns}


def tables_in(folder: str) -> list[str]:
    """The Parquet or Arrow files in a folder and those below, in order; none in a folder of Zarr's.

    Raises ValueError for folders that are named for a column's value ("year=2024"), which would be a column more.
    """
    found: list[str] = []
    for place, folders, files in os.walk(folder):
        if not {"zarr.json", ".zarray", ".zgroup"}.isdisjoint(files):
            return []
        hidden = (".", "_")
        folders[:] = [each for each in folders if not each.startswith(hidden)]
        ours = [os.path.join(place, each) for each in files if each.endswith(_TABLES) and not each.startswith(hidden)]
        if ours and "=" in os.path.relpath(place, folder):
            raise ValueError(f"{place}: a folder that is named for a column's value; name the files instead")
        found += ours
    return sorted(found)


def _kind_of_table(path: str) -> ModuleType | None:
    with open(path, "rb") as file:
        begin = file.read(8)
    if begin.startswith(parquet.MAGIC):
        return parquet
    return arrow if begin == arrow.MAGIC or begin.startswith(arrow.STREAM) else None


def is_table(path: str) -> bool:
    """Whether a file is of Parquet or Arrow."""
    return _kind_of_table(path) is not None


def _open(path: str, direct: bool) -> FileArray | dict[str, FileArray]:
    if os.path.isdir(path):
        return zarr.read(path)
    with open(path, "rb") as file:
        begin = file.read(8)
        if begin.startswith(npy.MAGIC):
            return npy.read(path, file, 0, direct)
        if begin == hdf5.MAGIC:
            return hdf5.read(path, direct)
        if begin.startswith(Archive.MAGIC):
            archive = Archive(path, file)
            if torch_file.is_one(archive):
                return torch_file.read(archive, direct)
            return npy.read_members(archive, direct)
        if safetensors.is_one(begin, os.fstat(file.fileno()).st_size):
            return safetensors.read(path, file, direct)
    raise ValueError(
        f"{path}: neither .npy, .npz, .safetensors, HDF5, Parquet, Arrow nor a file of torch.save; "
        f"begins with {begin!r}"
    )


ragged.open_path = open_arrays
