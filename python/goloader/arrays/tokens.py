"""TokenDataset: windows of token files, for language models. torch's own DataLoader takes the same object."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import Dataset

from .._errors import check_positive
from .file_array import FileArray
from .formats import open_arrays
from .ragged import RaggedArray

# Of tokens; torch's embeddings and losses want int64, to which all of these go without loss.
_DTYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "int64")

_SCANNED = 1 << 22  # tokens that are looked through at a time

_Path = str | os.PathLike[str]
_Integers = NDArray[np.int64]


class TokenDataset(Dataset[Any]):
    """Windows of token files, for language models: sample i is (x, y), both int64 [block_size], y one token further on.

    path        of a file that contains only tokens (such as nanoGPT's train.bin), of a 1-d .npy file, or of several
                such files. Windows are numbered through all files; no window crosses the end of a file
    block_size  tokens in x
    stride      tokens from one window to the next; None: block_size, so that every token is predicted once
    dtype       of tokens in files that do not say it, uint8 to int64; None: uint16
    eos         the token that ends a document and belongs to it; or
    offsets     where documents begin and the last one ends, in tokens: [documents + 1] non-decreasing integers, or the
                path of such an array; for several files a list of them
    documents   what to do with documents, if `eos` or `offsets` is given:
                "pack": windows cross documents, and samples are (x, y, position_ids, cu_seqlens), for attention within
                documents. position_ids, int64 [block_size], start at 0 with each document and with the window.
                cu_seqlens, int32 [block_size + 1], are the positions in x where documents begin, filled up with
                block_size: torch.nn.attention.varlen and FlashAttention skip sequences of length 0.
                "split": no window crosses the end of a document. Samples are (x, y) with block_size tokens, or fewer at
                the end of a document: use collate_fn=goloader.collate.Pad(...), Jagged() or Pack(). Documents of one
                token have no window. With `eos`, files are scanned when the dataset is made
    direct      goloader reads past the page cache

    Without "split", a tail too short for a window is left out. Files are read when samples are asked for, without a
    memory map: a truncated file raises an error instead of killing the process. The dataset pickles as its paths, and
    torch's DataLoader takes it too.

    Raises ValueError with the name of the file if it is not what it should be, or if there is no window; OSError if it
    cannot be opened.
    """

    def __init__(
        self,
        path: _Path | Sequence[_Path],
        block_size: int,
        stride: int | None = None,
        dtype: Any = None,
        *,
        eos: int | None = None,
        offsets: Any = None,
        documents: str = "pack",
        direct: bool = False,
    ) -> None:
        stride = block_size if stride is None else stride
        check_positive(block_size=block_size, stride=stride)
        if documents not in ("pack", "split"):
            raise ValueError(f"documents should be 'pack' or 'split', but got {documents!r}")
        if eos is not None and offsets is not None:
            raise ValueError("documents end at eos or lie between offsets, not both")
        if documents == "split" and eos is None and offsets is None:
            raise ValueError("documents='split' needs eos or offsets: where documents end")
        one = isinstance(path, str | os.PathLike)
        paths = [path] if isinstance(path, str | os.PathLike) else list(path)
        self.files = tuple(_tokens(each, dtype, direct) for each in paths)
        self.block_size, self.stride, self.eos, self.documents = block_size, stride, eos, documents
        self.offsets = None if offsets is None else _offsets([offsets] if one else list(offsets), self.files)
        self.begins: tuple[_Integers, ...] | None = None
        self.lengths: tuple[_Integers, ...] | None = None
        if documents == "split":
            ends = self.offsets or tuple(_ends(file, eos) for file in self.files)
            split = [_split(each, block_size, stride) for each in ends]
            self.begins, self.lengths = tuple(begins for begins, _ in split), tuple(lengths for _, lengths in split)
            self.windows = tuple(map(len, self.begins))
        else:
            self.windows = tuple(max(0, (len(file) - 1 - block_size) // stride + 1) for file in self.files)
        self._ends = np.cumsum(self.windows, dtype=np.int64)
        if not sum(self.windows):
            names = ", ".join(file.path for file in self.files) or "no files"
            what = f"{block_size} + 1 tokens" if documents == "pack" else "two tokens of one document"
            raise ValueError(f"no window of {what} in {names}")

    def __len__(self) -> int:
        return sum(self.windows)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, ...]:
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"index {index} is out of range for {len(self)} windows of {self.block_size} tokens")
        number = int(np.searchsorted(self._ends, place, side="right"))
        window = place - int(self._ends[number]) + self.windows[number]
        begin, length = window * self.stride, self.block_size
        if self.begins is not None and self.lengths is not None:
            begin, length = int(self.begins[number][window]), int(self.lengths[number][window])
        tokens = torch.from_numpy(self.files[number][begin : begin + length + 1].astype(np.int64))
        x, y = tokens[:-1], tokens[1:]
        if self.documents == "split" or (self.eos is None and self.offsets is None):
            return x, y
        if self.offsets is not None:
            inside = torch.from_numpy(inner(self.offsets[number], np.array([begin]), length)[0])
        else:
            inside = torch.from_numpy(np.flatnonzero(x[:-1].numpy() == self.eos) + 1)
        return x, y, *_places(length, inside)

    def __repr__(self) -> str:
        return f"TokenDataset({len(self)} windows of {self.block_size} tokens, {len(self.files)} files)"


def inner(offsets: _Integers, begins: _Integers, size: int) -> tuple[_Integers, _Integers]:
    """Where documents begin inside windows of `size` tokens, counted from each window's begin; none at its very begin.

    Returns the places of all windows, one after the other, and where each window's are, [windows + 1].
    """
    bounds = np.unique(offsets)
    low, high = np.searchsorted(bounds, begins, "right"), np.searchsorted(bounds, begins + size, "left")
    counts = high - low
    ends = np.concatenate([[0], np.cumsum(counts)])
    places = np.arange(ends[-1]) + np.repeat(low - ends[:-1], counts)
    return bounds[places] - np.repeat(begins, counts), ends


def _places(size: int, begins: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """position_ids and cu_seqlens of a window, in which documents begin there."""
    cu_seqlens = torch.full((size + 1,), size, dtype=torch.int32)
    cu_seqlens[0] = 0
    cu_seqlens[1 : len(begins) + 1] = begins
    lengths = torch.diff(cu_seqlens).long()
    starts = torch.repeat_interleave(cu_seqlens[:-1].long(), lengths)
    return torch.arange(size) - starts, cu_seqlens


def _split(offsets: _Integers, size: int, stride: int) -> tuple[_Integers, _Integers]:
    """Begins and lengths of the windows of at most `size` tokens of each document; each has one more to predict."""
    predicted = np.maximum(np.diff(offsets) - 1, 0)
    counts = np.where(predicted > 0, np.maximum(-(-(predicted - size) // stride), 0) + 1, 0)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    shift = (np.arange(len(first)) - first) * stride
    return np.repeat(offsets[:-1], counts) + shift, np.minimum(np.repeat(predicted, counts) - shift, size)


def _ends(file: FileArray, eos: int | None) -> _Integers:
    """Where documents begin that end with a token, and where the last one ends."""
    found = [np.zeros(1, np.int64)]
    for begin in range(0, len(file), _SCANNED):
        found.append(np.flatnonzero(file[begin : begin + _SCANNED] == eos) + (begin + 1))
    if found[-1].size == 0 or found[-1][-1] != len(file):
        found.append(np.array([len(file)], np.int64))
    return np.concatenate(found)


def _offsets(given: list[Any], files: Sequence[FileArray]) -> tuple[_Integers, ...]:
    if len(given) != len(files):
        raise ValueError(f"{len(given)} lists of offsets for {len(files)} files")
    made: list[_Integers] = []
    for offsets, file in zip(given, files, strict=True):
        try:
            made.append(RaggedArray(file, offsets).offsets)
        except ValueError as error:
            raise ValueError(f"{file.path}: {error}") from None
    return tuple(made)


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
        raise ValueError(f"{array.path}: an array of shape {array.shape}, not a sequence of tokens")
    if dtype is not None and np.dtype(dtype) != array.numpy_dtype:
        raise ValueError(f"{array.path}: tokens of {array.dtype}, not of {np.dtype(dtype).name}")
    return _checked(array)


def _checked(array: FileArray) -> FileArray:
    if array.dtype not in _DTYPES or not array.numpy_dtype.isnative:
        kinds = f"one of {', '.join(_DTYPES)} in this machine's byte order"
        raise ValueError(f"{array.path}: tokens of {array.numpy_dtype}, not {kinds}")
    return array
