"""An array in a file: where it is, and its rows, read one by one."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Sequence
from functools import partial
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

# Item types by torch's names, and numpy's type for their bytes.
DTYPES: dict[str, np.dtype[Any]] = {
    **{
        name: np.dtype(name)
        for name in (
            "bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64",
            "float16", "float32", "float64", "complex64", "complex128",
        )
    },
    "bfloat16": np.dtype(np.uint16),
    "float8_e4m3fn": np.dtype(np.uint8),
    "float8_e4m3fnuz": np.dtype(np.uint8),
    "float8_e5m2": np.dtype(np.uint8),
    "float8_e5m2fnuz": np.dtype(np.uint8),
    "float8_e8m0fnu": np.dtype(np.uint8),
}  # fmt: skip
# Those that numpy has too.
NUMPY_DTYPES = tuple(name for name, dtype in DTYPES.items() if dtype.name == name)

# numpy's own limit.
_DIMENSIONS_MAX = 64


class FileArray:
    """An array in a file. Only the rows that are asked for are read, as copies.

        FileArray("tokens.bin", dtype="uint16", shape=(-1, 1024))

    path     of the file
    dtype    numpy's or torch's name of the dtype ("bfloat16"); little endian unless a numpy dtype says otherwise
    shape    rows first; one of them may be -1: as many as the file has. None: one dimension, the whole file
    offset   bytes in the file before the first item
    strides  bytes from one item to the next, for each dimension, not negative; None: contiguous
    direct   goloader reads past the page cache (O_DIRECT), for data much larger than memory that is read rarely. The
             file system must support it

    It pickles as its path: another process opens the file itself.

    Raises ValueError if the file is too short for the shape, or the shape is not possible; OSError if it cannot be
    opened; TypeError for a dtype that torch lacks.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        dtype: Any,
        shape: Sequence[int] | None = None,
        offset: int = 0,
        strides: Sequence[int] | None = None,
        direct: bool = False,
    ) -> None:
        self.path = os.path.abspath(os.fspath(path))
        self.dtype, self.numpy_dtype = _dtype(dtype)
        self.offset, self.direct = operator.index(offset), bool(direct)
        self._descriptor = _Descriptor(self.path, self.direct)
        item, size = self.numpy_dtype.itemsize, self._descriptor.size()
        if self.offset < 0 or self.offset > size:
            raise ValueError(f"{self.path}: an array at byte {self.offset} of a file of {size} bytes")
        self.shape = self._shape(shape, (size - self.offset) // item)
        self.strides = contiguous(self.shape, item) if strides is None else tuple(map(operator.index, strides))
        if len(self.strides) != len(self.shape) or min(self.strides) < 0:
            raise ValueError(f"{self.path}: strides {self.strides} for the shape {self.shape}")
        end = self.offset + reach(self.shape, self.strides, item)
        if end > size:
            raise ValueError(
                f"{self.path}: {self.dtype} {list(self.shape)} from byte {self.offset} on ends at byte {end}, "
                f"but the file has {size}"
            )

    def _shape(self, shape: Sequence[int] | None, items: int) -> tuple[int, ...]:
        sizes = (items,) if shape is None else tuple(map(operator.index, shape))
        if not 1 <= len(sizes) <= _DIMENSIONS_MAX:
            raise ValueError(f"{self.path}: an array of {len(sizes)} dimensions")
        if sizes.count(-1) == 1:
            rest = -math.prod(sizes)
            if rest <= 0 or items % rest:
                raise ValueError(f"{self.path}: {items} items are not a multiple of {rest}, as shape {sizes} needs")
            sizes = tuple(items // rest if size == -1 else size for size in sizes)
        if min(sizes) < 0 or max(sizes) > np.iinfo(np.int64).max:
            raise ValueError(f"{self.path}: the shape {sizes}")
        return sizes

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.numpy_dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    @overload
    def __getitem__(self, index: int) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, index: slice | Sequence[int] | NDArray[Any]) -> NDArray[Any]: ...
    def __getitem__(self, index: Any) -> NDArray[Any]:
        """Row `index`, or the rows of a slice or of several indices; of one dimension a row is an array without any.

        Items of types that numpy does not have (bfloat16) come as unsigned integers. Raises IndexError, and OSError if
        the file cannot be read or has become shorter.
        """
        if isinstance(index, slice):
            begin, stop, step = index.indices(len(self))
            rows = range(begin, stop, step)
            return self._rows(begin, len(rows)) if step == 1 else self._stacked(rows)
        if isinstance(index, list | np.ndarray) and np.ndim(index):
            return self._stacked(index)
        row = operator.index(index)
        if not -len(self) <= row < len(self):
            raise IndexError(f"index {row} is out of bounds for an array of {len(self)} rows")
        return self._rows(row % len(self), 1)[0, ...]

    def _stacked(self, rows: Any) -> NDArray[Any]:
        out = np.empty((len(rows), *self.shape[1:]), self.numpy_dtype.newbyteorder("="))
        for place, row in enumerate(rows):
            out[place] = self[row]
        return out

    def _rows(self, begin: int, count: int) -> NDArray[Any]:
        shape = (count, *self.shape[1:])
        begin = self.offset + begin * self.strides[0]
        data = self._descriptor.read(begin, reach(shape, self.strides, self.numpy_dtype.itemsize))
        rows: NDArray[Any] = np.ndarray(shape, self.numpy_dtype, data, strides=self.strides)
        return rows.astype(self.numpy_dtype.newbyteorder("="))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("an array in a file cannot be used without a copy")
        return self[:] if dtype is None else self[:].astype(dtype)

    def __repr__(self) -> str:
        return f"FileArray({self.path!r}, dtype={self.dtype!r}, shape={self.shape}, offset={self.offset})"

    def __reduce__(self) -> tuple[Any, ...]:
        dtype = self.dtype if self.numpy_dtype.isnative else self.numpy_dtype
        how = partial(
            FileArray, dtype=dtype, shape=self.shape, offset=self.offset, strides=self.strides, direct=self.direct
        )
        return how, (self.path,)


def _dtype(given: Any) -> tuple[str, np.dtype[Any]]:
    """torch's name of a dtype, and numpy's type of its bytes in the file."""
    name = given if isinstance(given, str) else str(given).removeprefix("torch.")
    if name in DTYPES:
        return name, DTYPES[name].newbyteorder("<")
    dtype = np.dtype(given)
    if dtype.name not in DTYPES:
        raise TypeError(f"torch has no dtype {dtype}")
    return dtype.name, dtype


def contiguous(shape: Sequence[int], item: int = 1) -> tuple[int, ...]:
    """Strides of an array whose items, of so many bytes, lie one after the other."""
    strides = [0] * len(shape)
    for place in reversed(range(len(shape))):
        strides[place] = item
        item *= shape[place]
    return tuple(strides)


def reach(shape: Sequence[int], strides: Sequence[int], item: int) -> int:
    """Bytes from the first item to the end of the last."""
    if 0 in shape:
        return 0
    return item + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


class _Descriptor:
    """A file, opened in this process."""

    def __init__(self, path: str, direct: bool) -> None:
        self._path, self._fd = path, -1
        if direct:  # only to see whether it works: rows that Python reads come through the page cache
            os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECT))
        # A FIFO is refused, not waited for.
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def read(self, begin: int, count: int) -> bytearray:
        data = bytearray(count)
        view, done = memoryview(data), 0
        while done < count:
            got = os.preadv(self._fd, [view[done:]], begin + done)
            if not got:
                raise OSError(f"{self._path}: {count} bytes at byte {begin} wanted, but the file has {self.size()}")
            done += got
        return data

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
