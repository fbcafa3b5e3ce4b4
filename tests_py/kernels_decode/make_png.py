"""PNG files of any kind, also kinds and damages that no encoder writes."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

MAGIC = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
KINDS = [(1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (8, 2), (16, 2), (1, 3), (2, 3), (4, 3), (8, 3), (8, 4), (16, 4),
         (8, 6), (16, 6)]  # fmt: skip
PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]

Samples = npt.NDArray[np.uint16]  # [height, width, channels]


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def header(width: int, height: int, bits: int, colour: int, interlaced: bool) -> bytes:
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, int(interlaced)))


def _rows(samples: Samples, bits: int) -> list[bytes]:
    """Each row's bytes before filtering."""
    rows = []
    for row in samples:
        if bits == 16:
            rows.append(row.astype(">u2").tobytes())
        elif bits == 8:
            rows.append(row.astype(np.uint8).tobytes())
        else:
            digits = (row.reshape(-1, 1) >> np.arange(bits - 1, -1, -1)) & 1
            rows.append(np.packbits(digits.astype(np.uint8).ravel()).tobytes())
    return rows


def _filtered(rows: Sequence[bytes], pixel_bytes: int, filters: Sequence[int]) -> bytes:
    out = b""
    above = np.zeros(len(rows[0]), np.int32)
    for i, raw in enumerate(rows):
        kind = filters[i % len(filters)]
        x = np.frombuffer(raw, np.uint8).astype(np.int32)
        a = np.concatenate([np.zeros(pixel_bytes, np.int32), x])[: len(x)]
        c = np.concatenate([np.zeros(pixel_bytes, np.int32), above])[: len(x)]
        pa, pb, pc = abs(above - c), abs(a - c), abs(a + above - 2 * c)
        nearest = np.where((pa <= pb) & (pa <= pc), a, np.where(pb <= pc, above, c))
        guess = [0 * x, a, above, (a + above) // 2, nearest][kind]
        out += bytes([kind]) + ((x - guess) & 255).astype(np.uint8).tobytes()
        above = x
    return out


def filtered(samples: Samples, bits: int, interlaced: bool, filters: Sequence[int]) -> bytes:
    """What goes into the zlib stream; row i (of each pass) gets filters[i % len(filters)]."""
    pixel_bytes = max(1, samples.shape[2] * bits // 8)
    if not interlaced:
        return _filtered(_rows(samples, bits), pixel_bytes, filters)
    out = b""
    for x0, y0, dx, dy in PASSES:
        part = samples[y0::dy, x0::dx]
        if part.size:
            out += _filtered(_rows(part, bits), pixel_bytes, filters)
    return out


def png(samples: Samples, bits: int, colour: int, *, interlaced: bool = False, filters: Sequence[int] = (0, 1, 2, 3, 4),
        before: bytes = b"", after: bytes = b"", idat_bytes: int = 1 << 30) -> bytes:  # fmt: skip
    """A file with the chunks `before` and `after` its image data, which is cut in IDAT chunks of idat_bytes."""
    height, width, _ = samples.shape
    data = zlib.compress(filtered(samples, bits, interlaced, filters))
    parts = b"".join(chunk(b"IDAT", data[i : i + idat_bytes]) for i in range(0, len(data), idat_bytes))
    return MAGIC + header(width, height, bits, colour, interlaced) + before + parts + after + chunk(b"IEND", b"")


def noise(rng: np.random.Generator, width: int, height: int, bits: int, colour: int) -> Samples:
    """Random samples, half of the time smooth enough for every filter to have something to do."""
    shape = (height, width, CHANNELS[colour])
    if rng.random() < 0.5:
        return rng.integers(0, 1 << bits, shape, dtype=np.uint16)
    steps = rng.integers(-3, 4, shape).cumsum(0).cumsum(1)
    return (steps & ((1 << bits) - 1)).astype(np.uint16)


def palette(rng: np.random.Generator, bits: int) -> bytes:
    return chunk(b"PLTE", rng.integers(0, 256, 3 << bits, dtype=np.uint8).tobytes())
