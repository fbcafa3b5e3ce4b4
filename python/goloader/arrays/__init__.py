"""Arrays in files, whose rows are read on demand, and a dataset of them and of arrays in memory.

file_array.py   FileArray: where an array is in a file
chunked_array.py   ChunkedArray: where an array's chunks are
table_column.py    TableColumn, TableRows: where a column's parts are
formats.py      open_arrays: which format a file has
hdf5.py         HDF5
npy.py          .npy and .npz
archive.py      the zip archives that .npz and torch.save write
safetensors.py  .safetensors
torch_file.py   what torch.save writes
zarr.py         Zarr
parquet.py      Parquet
arrow.py        Arrow's files and streams (Feather)
arrow_types.py  which of Arrow's types are read
mapped.py       which file a memory map is of
ragged.py       RaggedArray: rows of different lengths
dataset.py      ArrayDataset
tokens.py       TokenDataset
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .file_array import FileArray
from .formats import open_arrays
from .ragged import RaggedArray

if TYPE_CHECKING:
    from .dataset import ArrayDataset
    from .tokens import TokenDataset

__all__ = ["ArrayDataset", "FileArray", "RaggedArray", "TokenDataset", "open_arrays"]


def __getattr__(name: str) -> Any:
    if name == "ArrayDataset":  # it needs torch
        from .dataset import ArrayDataset

        return ArrayDataset
    if name == "TokenDataset":
        from .tokens import TokenDataset

        return TokenDataset
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
