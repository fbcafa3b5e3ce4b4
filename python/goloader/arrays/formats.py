"""Which format a file of arrays has: its first bytes say so."""

from __future__ import annotations

import os

from . import hdf5, npy, safetensors, torch_file
from .archive import Archive
from .file_array import FileArray


def open_arrays(path: str | os.PathLike[str], *, direct: bool = False) -> FileArray | dict[str, FileArray]:
    """The arrays of a .npy, .npz, .safetensors or HDF5 file, or of one that torch.save wrote; only headers are read.

    An array where the file is one (.npy, a tensor saved by itself), else a dict by name; tensors inside dicts and lists
    of a torch.save file are named by their way, as "model.0.weight". Nothing is unpickled: of a torch.save file only
    what tensors consist of is understood, and everything else in it is left out. Of an HDF5 file, which takes h5py, the
    datasets that lie in one piece: those in chunks, compressed ones say, are left out; groups are in the names, "a/b".

    direct   as FileArray's

    Raises ValueError that names file and byte for a damaged file, a compressed .npz, an array of objects or a format
    that is none of these; OSError if the file cannot be opened.
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
