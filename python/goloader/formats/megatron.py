"""Megatron's tokens: PREFIX.bin with tokens one after the other, PREFIX.idx with where sequences and documents begin.

Source: megatron/core/datasets/indexed_dataset.py, _IndexReader.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.utils import data

from ..arrays import FileArray, RaggedArray, TokenDataset

_MAGIC = b"MMIDIDX\0\0"
_HEAD = struct.Struct("<9sQBQQ")
_DTYPES = {1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float64", 7: "float32", 8: "uint16"}


class TokenSequences(data.Dataset[Any]):
    """Sequences of tokens in files of Megatron: sample i is IndexedDataset's, [length] of the file's dtype.

    transform  called with that array; what it returns is the sample
    sequences  the same as a RaggedArray, for ArrayDataset
    documents  where documents begin, and where the last one ends, in tokens: [documents + 1] int64
    kind, files, fields  as a RecordDataset has them
    """

    kind = "Megatron tokens"

    def __init__(self, index: str, transform: Callable[[NDArray[Any]], Any] | None = None) -> None:
        self.transform = transform
        self.path = index.removesuffix(".idx") + ".bin"
        dtype, offsets, documents = _read(index)
        try:
            tokens = FileArray(self.path, dtype=dtype, shape=(int(offsets[-1]),))
        except ValueError as error:
            raise OSError(f"{index} does not fit: {error}") from error
        self.sequences, self.documents = RaggedArray(tokens, offsets), offsets[documents]
        self.files, self.fields = [self.path, index], {"tokens": dtype}

    def __len__(self) -> int:
        return len(self.sequences)

    def __getitem__(self, index: int) -> Any:
        sequence = self.sequences[index]
        return sequence if self.transform is None else self.transform(sequence)

    def __repr__(self) -> str:
        return f"<{self.kind}: {len(self)} sequences>"

    def windows(self, block_size: int, stride: int | None = None, *, documents: str = "pack") -> TokenDataset:
        """Windows of `block_size` tokens and what follows them, made in Go; see TokenDataset for the arguments."""
        dtype = self.sequences.values.dtype
        return TokenDataset(self.path, block_size, stride, dtype, offsets=self.documents, documents=documents)


def index_of(path: str) -> str | None:
    """The .idx of a path: of itself, of the .bin with it, or of their prefix. None if there is none."""
    for found in (path, path.removesuffix(".bin") + ".idx"):
        if os.path.isfile(found):
            with open(found, "rb") as file:
                if file.read(len(_MAGIC)) == _MAGIC:
                    return found
    return None


def _read(path: str) -> tuple[str, NDArray[np.int64], NDArray[np.int64]]:
    """The dtype of tokens, where sequences begin and the last one ends, and which sequences begin documents."""
    with open(path, "rb") as file:
        size, head = os.fstat(file.fileno()).st_size, file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            raise OSError(f"{path} ends within its header, {_HEAD.size} bytes")
        _, version, code, sequences, documents = _HEAD.unpack(head)
        if version != 1 or code not in _DTYPES:
            raise OSError(f"{path}: version {version} and dtype {code} at byte 9, which are not known")
        if _HEAD.size + 12 * sequences + 8 * documents > size:
            raise OSError(f"{path}: {sequences} sequences and {documents} documents do not fit into {size} bytes")
        lengths = np.frombuffer(file.read(4 * sequences), "<i4").astype(np.int64)
        pointers = np.frombuffer(file.read(8 * sequences), "<i8")
        begins = np.frombuffer(file.read(8 * documents), "<i8")
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    wrong = np.flatnonzero((pointers != offsets[:-1] * np.dtype(_DTYPES[code]).itemsize) | (lengths < 0))
    if wrong.size:
        row = int(wrong[0])
        raise OSError(
            f"{path}: sequence {row}, of {lengths[row]} tokens at byte {pointers[row]}, does not follow the one before"
        )
    if not documents or begins[-1] != sequences or (np.diff(begins, prepend=0) < 0).any():
        raise OSError(f"{path}: the document index is not an ascending list that ends with {sequences}")
    return _DTYPES[code], offsets, begins
