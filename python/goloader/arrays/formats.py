"""Finds the format of a file of arrays by its first bytes; a folder is Zarr's."""

from __future__ import annotations

import os

from . import hdf5, npy, safetensors, torch_file, zarr
from .archive import Archive
from .file_array import FileArray


def open_arrays(path: str | os.PathLike[str], *, direct: bool = False) -> FileArray | dict[str, FileArray]:
    """Opens the arrays of a .npy, .npz, .safetensors or HDF5 file, of one that torch.save wrote, or of a Zarr folder.

    Reads headers only. Returns one array if the file is one (.npy, a single saved tensor, a Zarr array), else a dict by
    name. Tensors in dicts and lists of a torch.save file are named by their path, such as "model.0.weight". Nothing is
    unpickled: from a torch.save file, tensors are taken and everything else is left out. Names of HDF5 (needs h5py) and
    of Zarr include groups, "a/b". Left out are what is not an array of numbers, and chunks with other codecs than gzip,
    zlib, Zstandard, shuffle, LZF, CRC-32C, and Blosc with zlib, Zstandard or LZ4.

    direct   as for FileArray; arrays in chunks are read through the page cache all the same

    Raises ValueError with file and byte for a damaged file, a compressed .npz, an array of objects or an unknown
    format; OSError if the file cannot be opened.
    """
    path = os.path.abspath(os.fspath(path))
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
    raise ValueError(f"{path}: neither .npy, .npz, .safetensors, HDF5 nor a file of torch.save; begins with {begin!r}")
