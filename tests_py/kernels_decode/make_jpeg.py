"""JPEG files of any kind libjpeg-turbo writes, by encode.c."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

GREY, RGB, YCC, CMYK, YCCK = 1, 2, 3, 4, 5  # J_COLOR_SPACE

# Sampling factors (horizontal, vertical) of luma and both chroma components.
SAMPLINGS: dict[str, list[tuple[int, int]]] = {
    "4:4:4": [(1, 1), (1, 1), (1, 1)], "4:2:2": [(2, 1), (1, 1), (1, 1)], "4:2:0": [(2, 2), (1, 1), (1, 1)],
    "4:4:0": [(1, 2), (1, 1), (1, 1)], "4:1:1": [(4, 1), (1, 1), (1, 1)], "4:1:0": [(4, 2), (1, 1), (1, 1)],
    "4:4:1": [(1, 4), (1, 1), (1, 1)], "3x1": [(3, 1), (1, 1), (1, 1)], "3x2": [(3, 2), (1, 1), (1, 1)],
    "mixed": [(2, 2), (2, 1), (1, 2)], "crossed": [(2, 1), (1, 2), (1, 1)], "chroma": [(1, 1), (2, 2), (2, 2)],
    "4:2:2 tall": [(2, 2), (1, 2), (1, 2)],
}  # fmt: skip


class _Options(ctypes.Structure):
    _fields_ = [
        ("width", ctypes.c_int), ("height", ctypes.c_int), ("components", ctypes.c_int), ("colour", ctypes.c_int),
        ("h", ctypes.c_int * 4), ("v", ctypes.c_int * 4), ("quality", ctypes.c_int), ("progressive", ctypes.c_int),
        ("arithmetic", ctypes.c_int), ("restart_rows", ctypes.c_int), ("restart_blocks", ctypes.c_int),
        ("one_scan_each", ctypes.c_int),
    ]  # fmt: skip


def jpeg(lib: ctypes.CDLL, pixels: npt.NDArray[np.uint8], colour: int, sampling: Sequence[tuple[int, int]] = (), *,
         quality: int = 85, progressive: bool = False, arithmetic: bool = False, restart_rows: int = 0,
         restart_blocks: int = 0, one_scan_each: bool = False) -> bytes | None:  # fmt: skip
    """pixels: [height, width, 1 | 3 | 4]. None if libjpeg does not write such a file."""
    lib.test_encode_jpeg.restype = ctypes.c_void_p
    lib.test_free.argtypes = [ctypes.c_void_p]
    pixels = np.ascontiguousarray(pixels)
    height, width, components = pixels.shape
    factors = [*sampling, *[(1, 1)] * (4 - len(sampling))] if sampling else [(0, 0)] * 4
    options = _Options(
        width, height, components, colour, tuple(h for h, _ in factors), tuple(v for _, v in factors), quality,
        progressive, arithmetic, restart_rows, restart_blocks, one_scan_each,
    )  # fmt: skip
    size = ctypes.c_ulong()
    at = lib.test_encode_jpeg(ctypes.byref(options), ctypes.c_void_p(pixels.ctypes.data), ctypes.byref(size))
    if not at:
        return None
    data = ctypes.string_at(at, size.value)
    lib.test_free(at)
    return data


def segment(code: int, data: bytes) -> bytes:
    return bytes([0xFF, code]) + (len(data) + 2).to_bytes(2, "big") + data


def with_segments(data: bytes, *segments: bytes) -> bytes:
    """Puts segments right behind SOI."""
    return data[:2] + b"".join(segments) + data[2:]


def scan_start(data: bytes) -> int:
    """Offset of the entropy-coded bytes of the first scan."""
    at = 2
    while data[at + 1] != 0xDA:
        at += 1 if data[at + 1] == 0xFF else 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
