"""FFCV's .beton files: a table of the samples, and images and arrays in pages behind it.

Source: ffcv/types.py, reader.py and fields/. Behind the header are descriptions of the fields, a row of numbers a
sample (what a field has no room for there is a pointer), the pages, and a list of what was put where in them.
"""

from __future__ import annotations

import json
import math
import os
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..plan.paths import read_at
from .encodings import encoded
from .records import Read, Records, Spans

_VERSION = 2
_HEAD = np.dtype(
    [("version", "<u2"), ("fields", "<u2"), ("page", "<u4"), ("samples", "<u8"), ("allocated", "<u8")], align=True
)
_FIELD = np.dtype([("kind", "u1"), ("name", "S16"), ("arguments", "u1", 1024)])
_ALLOCATED = np.dtype([("sample", "<u8"), ("begin", "<u8"), ("size", "<u8")])
_POINTER = np.dtype([("begin", "<u8"), ("size", "<u8")])
# What a row has of each kind of field.
_KINDS: dict[int, tuple[str, Any]] = {
    0: ("float", "<f8"),
    1: ("int", "<i8"),
    2: ("image", np.dtype([("mode", "u1"), ("width", "<u2"), ("height", "<u2"), ("begin", "<u8")])),
    3: ("bytes", _POINTER),
    4: ("ndarray", "<u8"),
    5: ("json", _POINTER),
    6: ("tensor", "<u8"),
}
_JPEG, _RAW = 0, 1


class FFCV(Records):
    """Samples of a .beton file. A record is all of the file: fields lie anywhere in it."""

    kind = "FFCV"

    def __init__(self, path: str) -> None:
        total = os.path.getsize(path)

        def table(begin: int, dtype: Any, count: int) -> NDArray[Any]:
            size = np.dtype(dtype).itemsize * count
            if begin + size > total:
                raise OSError(f"{path} ends within {size} bytes from byte {begin} on")
            return np.frombuffer(read_at(path, begin, size), dtype)

        head = table(0, _HEAD, 1)[0]
        if head["version"] != _VERSION:
            raise OSError(f"{path}: version {head['version']} at byte 0, not {_VERSION}")
        described = table(_HEAD.itemsize, _FIELD, int(head["fields"]))
        fields: dict[str, str] = {}
        self._arrays: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {}
        for kind, name, arguments in described.tolist():
            if kind not in _KINDS:
                raise ValueError(f"{path}: the field {name!r} is of a kind of its user's own ({kind})")
            text = name.decode("ascii", "replace")
            fields[text] = _KINDS[kind][0]
            if fields[text] in ("ndarray", "tensor"):
                self._arrays[text] = _array_of(path, bytes(arguments))
        if len(fields) != len(described):
            raise OSError(f"{path}: two fields of one name, from byte {_HEAD.itemsize} on")
        row = np.dtype(
            [(name, _KINDS[kind][1]) for name, kind in zip(fields, described["kind"], strict=True)], align=True
        )
        self._places = {name: (place[0], place[1]) for name, place in (row.fields or {}).items()}
        self._begin = _HEAD.itemsize + described.nbytes
        self._rows = table(self._begin, row, int(head["samples"]))
        begin = int(head["allocated"])
        found = table(begin, _ALLOCATED, max(0, total - begin) // _ALLOCATED.itemsize)
        self._allocated = found[np.lexsort((found["size"], found["begin"]))]
        super().__init__([path], [np.tile(np.array([0, total]), (len(self._rows), 1))], fields)

    def reader(self, row: int) -> Read:
        return partial(read_at, self.files[0])

    def spans(self, row: int, read: Read) -> Spans:
        return {name: self._span(row, name) for name in self.fields}

    def _span(self, row: int, name: str) -> tuple[int, int]:
        value, (dtype, offset) = self._rows[row][name], self._places[name]
        match self.fields[name]:
            case "float" | "int":
                return self._begin + row * self._rows.itemsize + offset, dtype.itemsize
            case "bytes" | "json":
                return int(value["begin"]), int(value["size"])
            case "image" if value["mode"] == _RAW:
                return int(value["begin"]), 3 * int(value["width"]) * int(value["height"])
            case "image" if value["mode"] == _JPEG:
                # The last one: what has no bytes may begin there as well.
                place = int(np.searchsorted(self._allocated["begin"], value["begin"], side="right")) - 1
                if place < 0 or self._allocated["begin"][place] != value["begin"]:
                    raise ValueError(f"{name!r} at byte {value['begin']} is not in the list of what was put where")
                return int(value["begin"]), int(self._allocated["size"][place])
            case "image":
                raise ValueError(f"{name!r} is of mode {value['mode']}, which is not known")
        dtype, shape = self._arrays[name]
        return int(value), math.prod(shape) * dtype.itemsize

    def payload(self, row: int, name: str, read: Read, at: int, count: int) -> tuple[int, int]:
        if self.fields[name] == "image" and self._rows[row][name]["mode"] != _JPEG:
            raise ValueError(f"{name!r} has pixels, not a file")
        return at, count

    def value(self, row: int, name: str, content: bytes) -> Any:
        match self.fields[name]:
            case "float" | "int":
                return np.frombuffer(content, self._rows.dtype[name])[0].item()
            case "bytes":
                return np.frombuffer(content, np.uint8)
            case "json":
                return json.loads(content.partition(b"\0")[0])
            case "image" if self._rows[row][name]["mode"] == _JPEG:
                return encoded(content)
            case "image":
                from PIL import Image

                size = self._rows[row][name][["width", "height"]].item()
                return Image.frombytes("RGB", size, content)
        dtype, shape = self._arrays[name]
        array = np.frombuffer(content, dtype).reshape(shape)
        if self.fields[name] == "ndarray":
            return array
        import torch

        return torch.from_numpy(array.copy())


def _array_of(path: str, arguments: bytes) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """dtype and shape of an array field: 32 sizes, 0 behind the last, then the dtype in JSON behind its length."""
    sizes = np.frombuffer(arguments[:256], "<u8").tolist()
    length = int.from_bytes(arguments[256:264], "little")
    try:
        ((_, dtype),) = json.loads(arguments[264 : 264 + length])
        return np.dtype(str(dtype)), tuple(size for size in sizes if size)
    except (ValueError, TypeError) as error:
        raise OSError(f"{path}: an array's dtype: {error}") from error
