"""HDF5: finds contiguous datasets, with h5py."""

from __future__ import annotations

from typing import Any

from .file_array import DTYPES, FileArray

MAGIC = b"\x89HDF\r\n\x1a\n"


def read(path: str, direct: bool) -> dict[str, FileArray]:
    try:
        import h5py
    except ImportError:
        raise ValueError(f"{path}: h5py, which finds the arrays in HDF5 files, is not installed") from None
    found: dict[str, FileArray] = {}
    left: list[str] = []

    def visit(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            offset = None if item.external or item.is_virtual else item.id.get_offset()
            if offset is None or not item.shape or item.dtype.name not in DTYPES:
                left.append(name)
            else:
                found[name] = FileArray(path, dtype=item.dtype, shape=item.shape, offset=offset, direct=direct)

    try:
        with h5py.File(path, "r") as file:
            file.visititems(visit)
    except (OSError, RuntimeError) as error:
        raise ValueError(f"{path}: {error}") from error
    if not found:
        raise ValueError(
            f"{path}: it has no contiguous array, only chunked ones: {', '.join(left[:5]) or 'it is empty'}"
        )
    return found
