"""The images of one column of a block, where they lie in memory."""

from __future__ import annotations

import ctypes
import hashlib
import io
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _native

PLACE = np.dtype(_native.Place)

# So much of an image's beginning and of its end tells it from others.
_TOLD_BYTES = 4096


@dataclass(frozen=True, eq=False)
class Images:
    """Images in memory.

    layout  None for encoded ones; of arrays of uint8 "interleaved" [height, width, 3] or "flat" [height, width]
    places  [n] of PLACE
    owner   what keeps their memory alive
    """

    layout: str | None
    places: NDArray[Any]
    owner: Any

    def __len__(self) -> int:
        return len(self.places)

    @property
    def channels(self) -> int:
        return 1 if self.layout == "flat" else 3

    def bytes(self, row: int) -> NDArray[np.uint8]:
        """An image's bytes, where they are."""
        data, size = (int(self.places[name][row]) for name in ("data", "bytes"))
        return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(data))

    def open(self, row: int) -> Any:
        """The PIL image: RGB, or of "flat" ones in mode L. Raises what Pillow raises."""
        from PIL import Image

        content = self.bytes(row)
        if self.layout is None:
            return Image.open(io.BytesIO(content.data)).convert("RGB")
        shape = [int(self.places[name][row]) for name in ("height", "width")] + [3] * (self.layout != "flat")
        return Image.fromarray(content.reshape(shape))

    def number(self, row: int) -> int:
        """A hash of an image's length, its first and its last 4,096 bytes."""
        content = self.bytes(row).data
        told = hashlib.blake2b(len(content).to_bytes(8, "little"), digest_size=8)
        told.update(content[:_TOLD_BYTES])
        told.update(content[-_TOLD_BYTES:])
        return int.from_bytes(told.digest(), "little")


class RowError(Exception):
    """Something is wrong with one row."""

    def __init__(self, row: int, why: object) -> None:
        super().__init__(row, why)
        self.row, self.why = row, why


def images_of(column: Any) -> Images:
    """The images of a column: a numpy array, a list, or an array of Arrow's.

    Its items are encoded images (bytes), paths of files (str), which are read, or arrays of uint8, all of them
    [height, width, 3] or all [height, width]. Raises TypeError for others, and RowError for one that is missing or
    cannot be read.
    """
    arrow = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(column, arrow.Array | arrow.ChunkedArray):
        return _of_arrow(arrow, column)
    if isinstance(column, np.ndarray) and column.dtype == np.uint8 and column.ndim > 1:
        return _of_array(column)
    if isinstance(column, np.ndarray) and column.dtype.kind not in "OU":
        # Of numpy's bytes zeros at the end would be gone.
        raise TypeError(f"a column of {column.dtype}{list(column.shape[1:])} has no images")
    return _of_items(list(column))


def to_arrow(rows: NDArray[Any]) -> Any:
    """Rows as Arrow has them, in their memory if they lie in order: numbers, or tensors of one shape."""
    import pyarrow

    flat = pyarrow.array(rows.reshape(-1))
    if rows.ndim == 1:
        return flat
    lists = pyarrow.FixedSizeListArray.from_arrays(flat, math.prod(rows.shape[1:]))
    return pyarrow.ExtensionArray.from_storage(pyarrow.fixed_shape_tensor(flat.type, rows.shape[1:]), lists)


def _of_arrow(arrow: Any, column: Any) -> Images:
    chunks = column.chunks if isinstance(column, arrow.ChunkedArray) else [column]
    if column.null_count:
        raise RowError(column.is_null().to_pylist().index(True), _MISSING)
    types = arrow.types
    if types.is_binary(column.type) or types.is_large_binary(column.type):
        places = [_in_place(chunk) for chunk in chunks if len(chunk)]
        return Images(None, np.concatenate([np.empty(0, PLACE), *places]), column)
    if types.is_string(column.type) or types.is_large_string(column.type):
        return _of_items(column.to_pylist())
    arrays = [_to_numpy(chunk) for chunk in chunks]
    return images_of(arrays[0]) if len(arrays) == 1 else _of_items([item for each in arrays for item in each])


def _to_numpy(chunk: Any) -> Any:
    # Of Arrow's own tensors to_numpy() has no shape.
    return chunk.to_numpy_ndarray() if hasattr(chunk, "to_numpy_ndarray") else chunk.to_numpy(zero_copy_only=False)


def _in_place(chunk: Any) -> NDArray[Any]:
    """Where Arrow has the items of an array of bytes."""
    wide = np.dtype(np.int64 if "large" in str(chunk.type) else np.int32)
    _, offsets, data = chunk.buffers()
    ends = np.frombuffer(offsets, wide, len(chunk) + 1, chunk.offset * wide.itemsize).astype(np.int64)
    return _placed(ends[:-1] + (0 if data is None else data.address), np.diff(ends))


def _placed(data: Any, sizes: Any, heights: Any = 0, widths: Any = 0) -> NDArray[Any]:
    places = np.zeros(len(data), PLACE)
    places["data"], places["bytes"], places["height"], places["width"] = data, sizes, heights, widths
    return places


def _of_items(items: Sequence[Any]) -> Images:
    kinds = {type(item) for item in items}
    if type(None) in kinds:
        raise RowError([item is None for item in items].index(True), _MISSING)
    if kinds and all(issubclass(kind, np.ndarray) for kind in kinds):
        return _of_arrays(items)
    if all(issubclass(kind, str) for kind in kinds):
        items = [_read(row, path) for row, path in enumerate(items)]
    elif not all(issubclass(kind, bytes | bytearray | memoryview) for kind in kinds):
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise TypeError(f"a column of {names} has no images: want bytes, paths, or arrays of uint8")
    arrays = [np.frombuffer(item, np.uint8) for item in items]
    return Images(None, _placed([_address(each) for each in arrays], [each.nbytes for each in arrays]), arrays)


def _of_arrays(items: Sequence[NDArray[Any]]) -> Images:
    layouts = {_layout(each.dtype, each.shape) for each in items}
    if len(layouts) > 1:
        raise TypeError("a column has images of one channel and of three")
    arrays = [np.ascontiguousarray(each) for each in items]
    sizes = [each.nbytes for each in arrays]
    heights, widths = ([each.shape[k] for each in arrays] for k in (0, 1))
    return Images(layouts.pop(), _placed([_address(each) for each in arrays], sizes, heights, widths), arrays)


def _of_array(column: NDArray[np.uint8]) -> Images:
    array = np.ascontiguousarray(column)
    layout = _layout(array.dtype, array.shape[1:])
    size = array[0].nbytes if len(array) else 0
    data = _address(array) + np.arange(len(array)) * size
    return Images(layout, _placed(data, size, *array.shape[1:3]), array)


def _layout(dtype: np.dtype[Any], shape: tuple[int, ...]) -> str:
    if dtype == np.uint8 and 0 not in shape:
        if len(shape) == 2:
            return "flat"
        if len(shape) == 3 and shape[2] == 3:
            return "interleaved"
    raise TypeError(f"{dtype}{list(shape)} is not an image: want uint8, [height, width, 3] or [height, width]")


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


def _read(row: int, path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise RowError(row, error) from error


_MISSING = "there is no image"
