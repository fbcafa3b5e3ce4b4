"""MosaicML Streaming's MDS: shards of records, and an index.json that says what they hold.

Source: streaming/base/format/mds/reader.py and encodings.py. A shard has the number of samples, their offsets (both
uint32), its own settings in JSON, and the samples: the sizes of the fields that vary in size, then all fields.
"""

from __future__ import annotations

import json
import math
import os
import pickle
from decimal import Decimal
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .encodings import Decode, encoded, listed, raw, sized
from .records import Read, Records, Spans, table_of, within

_DTYPES = {
    8: "uint8", 9: "int8", 16: "uint16", 17: "int16", 18: "float16", 32: "uint32", 33: "int32", 34: "float32",
    64: "uint64", 65: "int64", 66: "float64",
}  # fmt: skip


class MDS(Records):
    """Samples of a folder with an index.json of MosaicML Streaming."""

    kind = "MosaicML MDS"

    def __init__(self, folder: str, index: dict[str, Any], allow_unsafe_types: bool = False) -> None:
        # Of each shard: bytes of each column, 0 where they vary, and its encoding.
        self._columns: list[tuple[dict[str, int], dict[str, str]]] = []
        files: list[str] = []
        tables: list[NDArray[np.int64]] = []
        fields: dict[str, str] = {}
        for shard in index["shards"]:
            if shard.get("format") != "mds" or index.get("version") != 2 or shard.get("version") != 2:
                raise ValueError(f"{folder}: shards of format {shard.get('format')!r}, not 'mds' of version 2")
            try:
                names, encodings, sizes = (shard[f"column_{each}"] for each in ("names", "encodings", "sizes"))
                columns = dict(zip(map(str, names), map(str, encodings), strict=True))
                path = within(folder, shard["raw_data"]["basename"])
                samples = int(shard["samples"])
                bytes_of = {name: int(size or 0) for name, size in zip(columns, sizes, strict=True)}
            except (KeyError, TypeError, ValueError) as error:
                raise OSError(f"{folder}/index.json: shard {len(files)}: {error!r}") from error
            self._columns.append((bytes_of, columns))
            for name, encoding in columns.items():
                if encoding == "pkl" and not allow_unsafe_types:
                    raise ValueError(
                        f"Column {name} contains an unsafe type: pkl. To proceed anyway, set "
                        "``allow_unsafe_types=True``."
                    )
                _decoder(encoding)
            if shard.get("zip_data") and not os.path.exists(path):
                raise ValueError(
                    f"{path} is only there compressed ({shard.get('compression')}), so its samples "
                    "cannot be read by position: decompress it first"
                )
            files.append(path)
            tables.append(table_of(path, samples))
            fields |= columns
        super().__init__(files, tables, fields)

    def spans(self, row: int, read: Read) -> Spans:
        return sized(self._columns[self.number[row]][0], read, int(self.size[row]))

    def value(self, row: int, name: str, content: bytes) -> Any:
        return _decoder(self._columns[self.number[row]][1][name])(content)


@cache
def _decoder(encoding: str) -> Decode:
    """What makes a value of the bytes of a column. Raises ValueError for an encoding that is not known."""
    kind, _, rest = encoding.partition(":")
    if kind == "ndarray":
        dtype, _, shape = rest.partition(":")
        return partial(_array, dtype=dtype, shape=tuple(map(int, shape.split(","))) if shape else ())
    if encoding not in _DECODERS:
        raise ValueError(f"the encoding {encoding!r} of a column is not known")
    return _DECODERS[encoding]


def _scalar(content: bytes, dtype: str) -> Any:
    return np.frombuffer(content, dtype)[0]


def _array(content: bytes, dtype: str, shape: tuple[int, ...]) -> Any:
    at = 0
    if not dtype:
        dtype, at = _DTYPES[content[0]], 1
    if not shape:
        dimensions, width = content[at] >> 2, 1 << content[at] % 4
        end = at + 1 + dimensions * width
        shape = tuple(np.frombuffer(content[at + 1 : end], f"<u{width}").tolist())
        at = end
    # frombuffer alone would take a part of an item's bytes for none.
    if math.prod(shape) * np.dtype(dtype).itemsize != len(content) - at:
        raise ValueError(f"{len(content) - at} bytes are no {dtype} of shape {shape}")
    return np.frombuffer(content[at:], dtype).reshape(shape)


_DECODERS: dict[str, Decode] = {
    "bytes": bytes,
    "str": bytes.decode,
    "int": lambda content: int(_scalar(content, "<i8")),
    "str_int": lambda content: int(content.decode()),
    "str_float": lambda content: float(content.decode()),
    "str_decimal": lambda content: Decimal(content.decode()),
    "json": lambda content: json.loads(content.decode()),
    "pkl": pickle.loads,
    **{dtype: partial(_scalar, dtype=dtype) for dtype in _DTYPES.values()},
    "pil": raw,
    "jpeg": encoded,
    "png": encoded,
    "jpeg_array": partial(listed, begin=0, decode=encoded),
    "jpegarray": partial(listed, begin=0, decode=encoded),
    **{
        f"list[{kind}]": partial(listed, begin=4, decode=decode)
        for kind, decode in (("pil", raw), ("jpeg", encoded), ("png", encoded))
    },
}
