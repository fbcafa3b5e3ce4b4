"""BMP files of all kinds, written by hand: Pillow writes only a few of them."""

from __future__ import annotations

import struct

import numpy as np

# (bits, bytes of the information header, masks if it has bit fields)
KINDS: list[tuple[int, int, tuple[int, ...]]] = [
    *((bits, header, ()) for bits in (1, 4, 8, 16, 24, 32) for header in (12, 40, 108, 124)),
    *((16, header, (0xF800, 0x7E0, 0x1F, 0)) for header in (40, 108, 124)),
    *((16, header, (0x7C00, 0x3E0, 0x1F, 0)) for header in (40, 108, 124)),
    *((32, header, (0xFF0000, 0xFF00, 0xFF, 0)) for header in (40, 108, 124)),
    (32, 40, (0xFF000000, 0xFF0000, 0xFF00, 0)),
    (32, 108, (0xFF0000, 0xFF00, 0xFF, 0xFF000000)),
    (32, 124, (0xFF, 0xFF00, 0xFF0000, 0xFF000000)),
    (32, 124, (0xFF000000, 0xFF0000, 0xFF00, 0xFF)),
]  # fmt: skip


def bmp(
    rng: np.random.Generator, size: tuple[int, int], kind: tuple[int, int, tuple[int, ...]], *, grey: bool = False,
    down: bool = False, colours: int = 0, gap: int = 0,
) -> bytes:  # fmt: skip
    """Random pixels; `colours` of the palette, 0 for all, `gap` bytes in front of the rows."""
    (width, height), (bits, header, masks) = size, kind
    rows = rng.integers(0, 256, (height, (width * bits + 31) // 32 * 4), np.uint8)
    palette = b""
    if bits <= 8:
        entries = colours or 1 << bits
        ramp = np.linspace(0, 255, entries) if entries == 2 else np.arange(entries)
        table = np.repeat(ramp[:, None], 3, 1) if grey else rng.integers(0, 256, (entries, 3))
        palette = np.pad(table.astype(np.uint8), ((0, 0), (0, 0 if header == 12 else 1))).tobytes()
        if colours and bits == 8:
            rows %= colours
    behind = struct.pack("<3I", *masks[:3]) if masks and header == 40 else b""
    offset = 14 + header + len(behind) + len(palette) + gap
    if header == 12:
        info = struct.pack("<I4H", 12, width, height, 1, bits)
    else:
        compression = 3 if masks else 0
        signed = -height if down else height
        info = struct.pack("<IiiHHIIiiII", 40, width, signed, 1, bits, compression, rows.size, 2835, 2835, colours, 0)
        info = struct.pack("<I", header) + info[4:] + struct.pack("<4I", *(masks or (0,) * 4)) + bytes(header)
        info = info[:header]
    head = b"BM" + struct.pack("<IHHI", offset + rows.size, 0, 0, offset)
    return head + info + behind + palette + bytes(gap) + rows.tobytes()
