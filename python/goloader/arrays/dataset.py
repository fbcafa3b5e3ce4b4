"""A dataset whose samples are rows of arrays."""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import Dataset

from .file_array import DTYPES, FileArray
from .formats import open_arrays
from .mapped import file_of
from .ragged import RaggedArray
from .table_column import TableColumn, TableRows


class ArrayDataset(Dataset[Any]):
    """Rows of arrays, in memory or in files: sample i is row i of each array, as torch tensors; texts as str or bytes.

        ArrayDataset(images, labels)                                 # (images[i], labels[i])
        ArrayDataset(x="textures.npy", tokens=tokens)                # {"x": ..., "tokens": ...}
        ArrayDataset("features.safetensors")                         # the tensors of the file by name
        ArrayDataset("train.parquet")                                # the columns of the table by name
        ArrayDataset(x=FileArray("tokens.bin", dtype="uint16", shape=(-1, 1024)), dtypes={"x": torch.int64})

    arrays   numpy arrays, memory maps, torch tensors, FileArrays, paths of .npy, .npz, .safetensors, HDF5, Zarr,
             Parquet, Arrow and torch.save files (see open_arrays), or RaggedArrays, whose rows differ in length. All
             have the same number of rows. Given by position, samples are tuples; given by name, or as one file of
             several arrays, or a folder of tables, samples are dicts
    dtypes   cast fields: a dtype for all, or a mapping from names (or numbers) of fields to dtypes; None casts nothing

    torch's DataLoader takes this dataset too. A row of a one-dimensional array is a tensor without dimensions. Arrays
    in memory are not copied. Maps of files (np.memmap, np.load(mmap_mode=...)) are read from their files, so worker
    processes and pickles carry the path and not the data.

    Raises ValueError for no arrays, for unequal lengths, and for a file that is damaged or has several arrays where one
    is expected; TypeError for something that is not an array, or has a dtype that torch lacks; OSError if a file cannot
    be opened.
    """

    def __init__(self, *arrays: Any, dtypes: Any = None, **named: Any) -> None:
        if arrays and named:
            raise ValueError("arrays are given either by position or by name")
        if len(arrays) == 1 and isinstance(arrays[0], str | os.PathLike):
            opened = open_arrays(arrays[0])
            if isinstance(opened, dict):
                arrays, named = (), opened
        self.names = tuple(named) if not arrays else None
        fields = (
            dict(zip(self.names, named.values(), strict=True)) if self.names is not None else dict(enumerate(arrays))
        )
        if not fields:
            raise ValueError("at least one array is needed")
        self.fields = tuple(_Field(name, array) for name, array in fields.items())
        lengths = {name: len(field.array) for name, field in zip(fields, self.fields, strict=True)}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"arrays differ in length: {lengths}")
        _cast(dict(zip(fields, self.fields, strict=True)), dtypes)

    def __len__(self) -> int:
        return len(self.fields[0].array)

    @property
    def paths(self) -> set[str]:
        """The files that its arrays are in."""
        return {path for field in self.fields for path in field.paths}

    def named(self) -> list[tuple[str | int, _Field]]:
        """Its fields, by their names or numbers."""
        return list(zip(range(len(self.fields)) if self.names is None else self.names, self.fields, strict=True))

    def __getitem__(self, index: int) -> Any:
        """Sample `index`, which may be negative. Raises IndexError, and OSError if a file cannot be read."""
        row = operator.index(index)
        if not -len(self) <= row < len(self):
            raise IndexError(f"index {row} is out of range for a dataset of {len(self)}")
        rows = [field.row(row % len(self)) for field in self.fields]
        return tuple(rows) if self.names is None else dict(zip(self.names, rows, strict=True))


class _Field:
    """One field of the samples.

    array  a numpy array, a torch tensor, a FileArray, or a RaggedArray of one of these
    dtype  of its rows, a torch.dtype
    """

    def __init__(self, name: str | int, given: Any) -> None:
        self.array: NDArray[Any] | torch.Tensor | FileArray | RaggedArray = _array(name, given)
        items = self.array.values if isinstance(self.array, RaggedArray) else self.array
        if isinstance(items, torch.Tensor):
            self.stored = items.dtype
        else:
            self.stored = getattr(torch, items.dtype if isinstance(items, FileArray) else items.dtype.name)
        self.dtype: torch.dtype = self.stored

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that it is in."""
        items = self.array.values if isinstance(self.array, RaggedArray) else self.array
        if isinstance(items, TableColumn):
            return items.parts.paths
        return (items.path,) if isinstance(items, FileArray) else ()

    @property
    def text(self) -> str:
        """What its rows are, in words."""
        array: Any = self.array
        if isinstance(array, TableRows) and array.kind != "list":
            return array.kind
        extents = ["any", *array.values.shape[1:]] if isinstance(array, RaggedArray) else array.shape[1:]
        return f"{str(self.dtype).removeprefix('torch.')}[{', '.join(map(str, extents))}]"

    def row(self, index: int) -> torch.Tensor | str | bytes:
        found = self.array[index]
        if isinstance(found, str | bytes):
            return found
        if isinstance(found, torch.Tensor):
            row = found
        else:
            items = np.asarray(found)
            row = torch.from_numpy(np.array(items, items.dtype.newbyteorder("=")))
            if row.dtype != self.stored:  # numpy does not have it
                row = row.view(self.stored)
        return row if row.dtype == self.dtype else row.to(self.dtype)


def _array(name: str | int, given: Any) -> Any:
    if isinstance(given, str | os.PathLike):
        opened = open_arrays(given)
        if isinstance(opened, dict):
            raise ValueError(
                f"{os.fspath(given)} holds {len(opened)} arrays ({', '.join(list(opened)[:5])}, ...): "
                "take one of open_arrays(path)"
            )
        given = opened
    if isinstance(given, RaggedArray):
        values = _array(name, given.values)
        return given if values is given.values else RaggedArray(values, given.offsets)
    if isinstance(given, np.ndarray):
        if given.dtype.name not in DTYPES:
            raise TypeError(f"field {name!r} has dtype {given.dtype}, which torch does not have")
        given = file_of(given) or given
    elif not isinstance(given, torch.Tensor | FileArray):
        raise TypeError(f"field {name!r} is a {type(given).__name__}, not an array, a tensor or a path")
    if given.ndim == 0:
        raise ValueError(f"field {name!r} has no dimensions, so no rows")
    return given


def _cast(fields: dict[Any, _Field], dtypes: Any) -> None:
    wanted = dtypes if isinstance(dtypes, Mapping) else {} if dtypes is None else dict.fromkeys(fields, dtypes)
    unknown = [name for name in wanted if name not in fields]
    if unknown:
        raise ValueError(f"dtypes names {', '.join(map(repr, unknown))}, but fields are {', '.join(map(repr, fields))}")
    for name, dtype in wanted.items():
        if not isinstance(dtype, torch.dtype):
            text = dtype if isinstance(dtype, str) else np.dtype(dtype).name
            dtype = getattr(torch, text, None)
        if not isinstance(dtype, torch.dtype):
            raise TypeError(f"torch has no dtype {wanted[name]!r}")
        array = fields[name].array
        if isinstance(array, TableRows) and array.kind != "list":
            raise TypeError(f"field {name!r} has texts, which have no dtype")
        fields[name].dtype = dtype
