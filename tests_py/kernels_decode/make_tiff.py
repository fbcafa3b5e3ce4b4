"""TIFF files of all kinds, written by hand."""

from __future__ import annotations

import struct
import zlib

import numpy as np

PLAIN, LZW, DEFLATE, OLD_DEFLATE, PACKBITS = 1, 5, 8, 32946, 32773
COMPRESSIONS = (PLAIN, LZW, DEFLATE, OLD_DEFLATE, PACKBITS)
# (photometric interpretation, samples, extra samples)
KINDS = ((0, 1, ()), (1, 1, ()), (3, 1, ()), (2, 3, ()), (2, 4, ()), (2, 4, (2,)), (1, 2, (2,)))


def lzw(data: bytes) -> bytes:
    """TIFF 6.0, section 13."""
    bits = ""
    table: dict[bytes, int] = {}

    def put(code: int) -> None:
        nonlocal bits
        width = max(9, (len(table) + 2).bit_length())
        bits += format(code, f"0{width}b")

    def clear() -> None:
        put(256)
        table.clear()
        table.update({bytes([i]): i for i in range(256)})

    clear()
    string = b""
    for value in data:
        longer = string + bytes([value])
        if longer in table:
            string = longer
            continue
        put(table[string])
        table[longer] = len(table) + 2
        string = longer[-1:]
        if len(table) + 2 == 4094:
            clear()
    if string:
        put(table[string])
        table[b""] = len(table) + 2
    put(257)
    count = -(-len(bits) // 8)
    return int(bits.ljust(8 * count, "0"), 2).to_bytes(count, "big")


def packbits(row: bytes) -> bytes:
    out, at = b"", 0
    while at < len(row):
        run = 1
        while run < 128 and at + run < len(row) and row[at + run] == row[at]:
            run += 1
        if run > 1:
            out += bytes([257 - run, row[at]])
        else:
            while run < 100 and at + run < len(row) and row[at + run] != row[at + run - 1]:
                run += 1
            out += bytes([run - 1]) + row[at : at + run]
        at += run
    return out


def pack(piece: np.ndarray, compression: int, predictor: int) -> bytes:
    """One strip or tile, [rows, columns, samples]."""
    if predictor == 2:
        piece = np.diff(piece, axis=1, prepend=np.zeros_like(piece[:, :1])).astype(np.uint8)
    data = piece.tobytes()
    if compression == LZW:
        return lzw(data)
    if compression in (DEFLATE, OLD_DEFLATE):
        return zlib.compress(data)
    return b"".join(packbits(row.tobytes()) for row in piece) if compression == PACKBITS else data


def tiff(
    rng: np.random.Generator, size: tuple[int, int], kind: tuple[int, int, tuple[int, ...]] = KINDS[3], *,
    compression: int = PLAIN, predictor: int = 1, order: str = "<", rows: int = 0, tile: tuple[int, int] | None = None,
    tags: dict[int, tuple[int, int, bytes]] | None = None,
) -> bytes:  # fmt: skip
    """Random pixels, in strips of `rows` (0: one) or in tiles; `tags` come in place of its own, or beside them."""
    (width, height), (photometric, samples, extra) = size, kind
    pixels = rng.integers(0, 256, (height, width, samples), np.uint8)
    if rng.random() < 0.5:
        pixels = np.sort(pixels, axis=1)
    if tile is None:
        pieces = [pixels[y : y + (rows or height)] for y in range(0, height, rows or height)]
    else:
        across, down = tile
        padded = np.pad(pixels, ((0, -height % down), (0, -width % across), (0, 0)))
        pieces = [
            padded[y : y + down, x : x + across] for y in range(0, height, down) for x in range(0, width, across)
        ]  # fmt: skip
    data, offsets, sizes = b"", [], []
    for piece in pieces:
        packed = pack(piece, compression, predictor)
        offsets.append(8 + len(data))
        sizes.append(len(packed))
        data += packed + b"\0" * (len(packed) % 2)

    def of(kind: int, *values: int) -> tuple[int, int, bytes]:
        return kind, len(values), struct.pack(f"{order}{len(values)}{'H' if kind == 3 else 'I'}", *values)

    found = {
        256: of(3, width), 257: of(4, height), 258: of(3, *(8,) * samples), 259: of(3, compression),
        262: of(3, photometric), 277: of(3, samples), 284: of(3, 1), 317: of(3, predictor),
    }  # fmt: skip
    if tile is None:
        found |= {273: of(4, *offsets), 278: of(3, rows or height), 279: of(4, *sizes)}
    else:
        found |= {322: of(3, tile[0]), 323: of(3, tile[1]), 324: of(4, *offsets), 325: of(4, *sizes)}
    if extra:
        found[338] = of(3, *extra)
    if photometric == 3:
        found[320] = of(3, *map(int, rng.integers(0, 1 << 16, 768)))
    found |= tags or {}
    directory, behind = b"", b""
    begin = 8 + len(data)
    end = begin + 2 + 12 * len(found) + 4
    for tag, (type_, count, value) in sorted(found.items()):
        if len(value) > 4:
            place = struct.pack(order + "I", end + len(behind))
            behind += value + b"\0" * (len(value) % 2)
        else:
            place = value.ljust(4, b"\0")
        directory += struct.pack(order + "HHI", tag, type_, count) + place
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", begin)
    return head + data + struct.pack(order + "H", len(found)) + directory + bytes(4) + behind
