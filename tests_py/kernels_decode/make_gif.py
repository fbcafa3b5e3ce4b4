"""GIF files of all kinds: the codes are Pillow's, the blocks around them are written by hand."""

from __future__ import annotations

import struct
from io import BytesIO

import numpy as np
from PIL import Image


def codes(samples: np.ndarray, *, interlaced: bool) -> bytes:
    """A picture of samples [height, width]: the size of its samples, and its sub-blocks."""
    image = Image.frombytes("P", samples.shape[::-1], samples.tobytes())
    image.putpalette(bytes(np.random.default_rng(0).integers(0, 256, 768, np.uint8)))
    out = BytesIO()
    image.save(out, "GIF", interlace=int(interlaced), optimize=False)
    written = out.getvalue()
    at = 13 + (3 << (written[10] & 7) + 1)
    while written[at] == ord("!"):
        at += 2
        while written[at]:
            at += 1 + written[at]
        at += 1
    start = at = at + 10 + ((3 << (written[at + 9] & 7) + 1) if written[at + 9] & 0x80 else 0)
    at += 1
    while written[at]:
        at += 1 + written[at]
    return written[start : at + 1]


def table(rng: np.random.Generator, entries: int, *, grey: bool) -> bytes:
    colours = np.repeat(np.arange(entries)[:, None], 3, 1) if grey else rng.integers(0, 256, (entries, 3))
    return colours.astype(np.uint8).tobytes()


def gif(
    rng: np.random.Generator, size: tuple[int, int], *, bits: int = 8, screen: tuple[int, int] | None = None,
    at: tuple[int, int] = (0, 0), local: bool = False, grey: bool = False, interlaced: bool = False,
    transparent: int | None = None, extensions: bytes = b"", behind: bytes = b"",
) -> bytes:  # fmt: skip
    """Random samples of some bits in a picture of `size`, at `at` of the screen."""
    width, height = size
    samples = rng.integers(0, 1 << bits, (height, width), np.uint8)
    if rng.random() < 0.5:  # strings get long
        samples = np.sort(samples, axis=None).reshape(height, width)
    flags = 0x80 | (bits - 1)
    colours = table(rng, 1 << bits, grey=grey)
    head = b"GIF89a" + struct.pack("<HHBBB", *(screen or size), 0 if local else flags, 0, 0)
    control = b"" if transparent is None else b"!\xf9\4\1\0\0" + bytes([transparent]) + b"\0"
    picture = b"," + struct.pack("<4HB", *at, width, height, (flags if local else 0) | 0x40 * interlaced)
    if local:
        picture += colours
    else:
        head += colours
    return head + extensions + control + picture + codes(samples, interlaced=interlaced) + behind + b";"
