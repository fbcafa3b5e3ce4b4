"""TokenDataset: windows of token files, for language models. torch's own DataLoader takes the same object."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from .file_array import FileArray
from .formats import open_arrays

__all__ = ["TokenDataset"]

# Of tokens; torch's embeddings and losses want int64, to which all of these go without loss.
_DTYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "int64")

_Path = str | os.PathLike[str]


class TokenDataset(Dataset[Any]):
    """Windows of token files: sample i is (x, y), both [block_size] int64, y the tokens that follow those of x.

    path        of a file of tokens and nothing else (nanoGPT's train.bin, say), of a 1-d .npy file, or several such,
                whose windows are counted one after the other; no window goes across the end of a file
    block_size  tokens of x
    stride      tokens from one window to the next; None for block_size, so that every token is predicted once
    dtype       of the tokens in files that do not say; uint8 to int64, None for uint16
    eos         the token that ends a document. Samples are then (x, y, position_ids, cu_seqlens), for attention within
                documents: position_ids [block_size] int64 begin at 0 with each document, and with the window;
                cu_seqlens [block_size + 1] int32 are the places in x where documents begin, and block_size to the end
                of the row: torch.nn.attention.varlen and FlashAttention skip sequences of length 0
    direct      goloader reads past the page cache

    A tail too short for a window is left out. Files are read as samples are asked for, with no memory map: one that was
    cut gives an error, not a dead process. It pickles as its paths.

    Raises ValueError, naming the file, if it is not what it should be, or if there is no window; OSError if it cannot
    be opened.
    """

    def __init__(
        self,
        path: _Path | Sequence[_Path],
        block_size: int,
        stride: int | None = None,
        dtype: Any = None,
        *,
        eos: int | None = None,
        direct: bool = False,
    ) -> None:
        stride = block_size if stride is None else stride
        for name, value in (("block_size", block_size), ("stride", stride)):
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} should be a positive integer value, but got {name}={value!r}")
        paths = [path] if isinstance(path, str | os.PathLike) else list(path)
        self.files = tuple(_tokens(each, dtype, direct) for each in paths)
        self.block_size, self.stride, self.eos = block_size, stride, eos
        self.windows = tuple(max(0, (len(file) - 1 - block_size) // stride + 1) for file in self.files)
        self._ends = np.cumsum(self.windows, dtype=np.int64)
        if not sum(self.windows):
            names = ", ".join(file.path for file in self.files) or "no files"
            raise ValueError(f"no window of {block_size} + 1 tokens in {names}")

    def __len__(self) -> int:
        return sum(self.windows)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, ...]:
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"index {index} is out of range for {len(self)} windows of {self.block_size} tokens")
        number = int(np.searchsorted(self._ends, place, side="right"))
        begin = (place - int(self._ends[number]) + self.windows[number]) * self.stride
        tokens = torch.from_numpy(self.files[number][begin : begin + self.block_size + 1].astype(np.int64))
        x, y = tokens[:-1], tokens[1:]
        return (x, y) if self.eos is None else (x, y, *documents(x, self.eos))

    def __repr__(self) -> str:
        return f"TokenDataset({len(self)} windows of {self.block_size} tokens, {len(self.files)} files)"


def documents(x: torch.Tensor, eos: int) -> tuple[torch.Tensor, torch.Tensor]:
    """position_ids and cu_seqlens of a window, whose documents end with the token `eos`."""
    size = len(x)
    begins = torch.nonzero(x[:-1] == eos).reshape(-1) + 1
    cu_seqlens = torch.full((size + 1,), size, dtype=torch.int32)
    cu_seqlens[0] = 0
    cu_seqlens[1 : len(begins) + 1] = begins
    lengths = torch.diff(cu_seqlens).long()
    starts = torch.repeat_interleave(cu_seqlens[:-1].long(), lengths)
    return torch.arange(size) - starts, cu_seqlens


def _tokens(path: _Path, dtype: Any, direct: bool) -> FileArray:
    """The tokens of a file, one after the other."""
    with open(path, "rb") as file:
        own = file.read(6) == b"\x93NUMPY"
    if not own:
        raw = FileArray(path, dtype="uint16" if dtype is None else dtype, direct=direct)
        size = os.path.getsize(path)
        if size % raw.numpy_dtype.itemsize:
            raise ValueError(f"{raw.path}: {size} bytes are not tokens of {raw.dtype}")
        return _checked(raw)
    array = open_arrays(path, direct=direct)
    assert isinstance(array, FileArray)  # of a .npy file
    if array.ndim != 1:
        raise ValueError(f"{array.path}: an array of shape {array.shape}, not tokens one after the other")
    if dtype is not None and np.dtype(dtype) != array.numpy_dtype:
        raise ValueError(f"{array.path}: tokens of {array.dtype}, not of {np.dtype(dtype).name}")
    return _checked(array)


def _checked(array: FileArray) -> FileArray:
    if array.dtype not in _DTYPES or not array.numpy_dtype.isnative:
        kinds = f"one of {', '.join(_DTYPES)} in this machine's byte order"
        raise ValueError(f"{array.path}: tokens of {array.numpy_dtype}, not {kinds}")
    return array
