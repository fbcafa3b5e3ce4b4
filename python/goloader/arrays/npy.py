""".npy and .npz: numpy parses the text of the headers."""

from __future__ import annotations

from typing import IO, Any

import numpy as np

from .archive import Archive
from .file_array import DTYPES, FileArray

MAGIC = b"\x93NUMPY"


def read(path: str, file: IO[bytes], begin: int, direct: bool) -> FileArray:
    """The array whose .npy header begins at a byte of the file."""
    file.seek(begin)
    try:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            header: Any = np.lib.format.read_array_header_1_0(file)
        elif version == (2, 0):
            header = np.lib.format.read_array_header_2_0(file)
        else:
            raise ValueError(f"version {version} of the format")
        shape, fortran, dtype = header
    # The text of a header is Python, of which numpy takes literals only; whatever it raises, the header is damaged.
    except Exception as error:
        raise ValueError(f"{path} at byte {begin}: not a .npy header: {error}") from None
    if dtype.hasobject:
        raise ValueError(f"{path} at byte {begin}: an array of objects, which are pickled; pickles are not read")
    if dtype.name not in DTYPES:
        raise ValueError(f"{path} at byte {begin}: torch has no dtype {dtype}")
    if not shape:
        raise ValueError(f"{path} at byte {begin}: an array without dimensions has no rows")
    strides = None
    if fortran:
        strides = [dtype.itemsize]
        for size in shape[:-1]:
            strides.append(strides[-1] * size)
    return FileArray(path, dtype=dtype, shape=shape, offset=file.tell(), strides=strides, direct=direct)


def read_members(archive: Archive, direct: bool) -> dict[str, FileArray]:
    """The arrays of a .npz file."""
    arrays = {}
    for name in archive.members:
        if not name.endswith(".npy"):
            raise ValueError(f"{archive.path}: member {name!r} is no .npy file")
        if archive.members[name] is None:
            raise ValueError(f"{archive.path}: member {name!r} is compressed: np.savez, not np.savez_compressed")
        begin, size = archive.place(name)
        array = read(archive.path, archive.file, begin, direct)
        if array.offset + array.nbytes > begin + size:
            raise ValueError(f"{archive.path} at byte {begin}: {name!r} is longer than its member of {size} bytes")
        arrays[name.removesuffix(".npy")] = array
    return arrays
