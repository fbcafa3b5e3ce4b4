"""Sounds that functions which read WAV files are tried on, and what they are to make of them."""

from __future__ import annotations

import os
import struct
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

_RATE = 22050
_ENCODINGS = (("uint8", 8), ("int16", 16), ("int32", 24), ("int32", 32), ("float32", 32), ("float64", 64))
_GUID_TAIL = bytes.fromhex("000000001000800000aa00389b71")

# What is to be made of a sound's numbers.
Made = Callable[[NDArray[Any]], Any]


def _content(numbers: NDArray[Any], bits: int, extensible: bool) -> bytes:
    """A WAV file of [frames, channels]."""
    channels, tag = numbers.shape[1], 3 if numbers.dtype.kind == "f" else 1
    data = numbers.tobytes()
    if bits == 24:
        data = numbers.view(np.uint8).reshape(-1, 4)[:, 1:].tobytes()
    align = channels * bits // 8
    about = struct.pack("<HIIHH", channels, _RATE, _RATE * align, align, bits)
    if extensible:
        about = struct.pack("<H", 0xFFFE) + about + struct.pack("<HHIH", 22, bits, 0, tag) + _GUID_TAIL
    else:
        about = struct.pack("<H", tag) + about
    chunks = b"".join(
        name + struct.pack("<I", len(body)) + body + bytes(len(body) % 2)
        for name, body in ((b"fmt ", about), (b"LIST", b"INFO"), (b"data", data), (b"LIST", b"INFO"))
    )
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


def _numbers(dtype: str, bits: int, channels: int) -> NDArray[Any]:
    """[frames, channels]: any bits of integers, and floats beyond 1 and -1."""
    random = np.random.default_rng(bits + channels)
    if dtype.startswith("float"):
        return random.normal(0, 1, (37, channels)).astype(dtype)
    info = np.iinfo(dtype)
    made = random.integers(info.min, info.max, (37, channels), dtype, endpoint=True)
    made[:2, 0] = info.min, info.max
    return made & -256 if bits == 24 else made


def reads(read: Callable[[str], Iterator[tuple[Any, int, Made]]]) -> bool:
    """Whether a library makes of each sound what Go does: `read` gives arrays, rates, and what each array should be."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        path = os.path.join(folder, "sound.wav")
        for dtype, bits in _ENCODINGS:
            for channels, extensible in ((1, False), (1, True), (2, False)):
                numbers = _numbers(dtype, bits, channels)
                with open(path, "wb") as file:
                    file.write(_content(numbers, bits, extensible))
                for array, rate, made in read(path):
                    wanted = made(numbers)
                    alike = type(array) is np.ndarray and (array.dtype, array.shape) == (wanted.dtype, wanted.shape)
                    if not alike or array.tobytes() != wanted.tobytes() or rate != _RATE or not array.flags.writeable:
                        return False
    return not warned


def flat(numbers: Any) -> Any:
    """[frames] of one channel."""
    return numbers[:, 0] if numbers.shape[1] == 1 else numbers


def scaled(numbers: NDArray[Any], dtype: str) -> Any:
    """As floats, of which 1 stands for what is one more than the largest integer."""
    if numbers.dtype.kind == "f":
        return numbers.astype(dtype)
    made: Any = numbers.astype(dtype) - (128 if numbers.dtype == np.uint8 else 0)
    return made / np.dtype(dtype).type(1 << (8 * numbers.itemsize - 1))
