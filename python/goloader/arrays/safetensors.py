""".safetensors: the length of a JSON header, the header, then the tensors (huggingface/safetensors, README)."""

from __future__ import annotations

import json
from typing import IO, Any

from .file_array import FileArray

# That of the format's own reader.
_HEADER_BYTES_MAX = 100_000_000

_NAMES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32", "I32": "int32",
    "U64": "uint64", "I64": "int64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
    "C64": "complex64", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu",
}  # fmt: skip


def is_one(begin: bytes, size: int) -> bool:
    """True if a file that begins so, and is so long, can be one: the header's length fits."""
    return len(begin) == 8 and 2 <= int.from_bytes(begin, "little") <= min(_HEADER_BYTES_MAX, size - 8)


def read(path: str, file: IO[bytes], direct: bool) -> dict[str, FileArray]:
    file.seek(0)
    count = int.from_bytes(file.read(8), "little")
    try:
        header = json.loads(file.read(count))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} at byte 8: not a header of safetensors: {error}") from None
    if not isinstance(header, dict):
        raise ValueError(f"{path} at byte 8: a header of safetensors is an object, not {type(header).__name__}")
    return {
        name: _array(path, 8 + count, name, entry, direct) for name, entry in header.items() if name != "__metadata__"
    }


def _array(path: str, data: int, name: str, entry: Any, direct: bool) -> FileArray:
    where = f"{path} at byte 8: tensor {name!r}"
    match entry:
        case {"dtype": str(dtype), "shape": list(shape), "data_offsets": [int(begin), int(end)]}:
            pass
        case _:
            raise ValueError(f"{where} has no dtype, shape and data_offsets")
    if dtype not in _NAMES:
        raise ValueError(f"{where} has dtype {dtype!r}")
    if not shape or not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError(f"{where} has shape {shape!r}, of which there are no rows")
    if begin < 0:
        raise ValueError(f"{where} begins at {begin}")
    array = FileArray(path, dtype=_NAMES[dtype], shape=shape, offset=data + begin, direct=direct)
    if array.nbytes != end - begin:
        raise ValueError(f"{where} takes bytes {begin} to {end}, but {dtype} {shape} is {array.nbytes} bytes")
    return array
