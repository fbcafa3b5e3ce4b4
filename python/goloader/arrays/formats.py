"""Finds the format of a file of arrays by its first bytes."""

from __future__ import annotations

import os

from . import hdf5, npy, safetensors, torch_file
from .archive import Archive
from .file_array import FileArray


def open_arrays(path: str | os.PathLike[str], *, direct: bool = False) -> FileArray | dict[str, FileArray]:
    """Opens the arrays of a .npy, .npz, .safetensors or HDF5 file, or of one that torch.save wrote. Reads headers only.

    Returns one array if the file is one (.npy, a single saved tensor), else a dict by name. Tensors in dicts and lists
    of a torch.save file are named by their path, such as "model.0.weight". Nothing is unpickled: from a torch.save
    file, tensors are taken and everything else is left out. From an HDF5 file (needs h5py), contiguous datasets are
    taken and chunked or compressed ones are left out; names include groups, "a/b".

    direct   as for FileArray

    Raises ValueError with file and byte for a damaged file, a compressed .npz, an array of objects or an unknown
    format; OSError if the file cannot be opened.
    """
    path = os.path.abspath(os.fspath(path))
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
