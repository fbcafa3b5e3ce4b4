"""What MDS and LitData store alike: records behind the sizes of their fields, images, and lists of them."""

from __future__ import annotations

import io
import itertools
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .records import Read, Spans

Decode = Callable[[bytes], Any]


def sized(fields: Mapping[str, int], read: Read, size: int) -> Spans:
    """Where fields lie in a record: it begins with the sizes (uint32) of those whose size is 0 here, as it varies.

    Raises ValueError where they are not the whole record.
    """
    head = 4 * sum(not fixed for fixed in fields.values())
    content = read(0, head)
    if len(content) != head:
        raise ValueError(f"it ends within the sizes of its fields, {head} bytes")
    varying = iter(np.frombuffer(content, "<u4").tolist())
    sizes = [fixed or next(varying) for fixed in fields.values()]
    ends = list(itertools.accumulate(sizes, initial=head))
    if ends[-1] != size:
        raise ValueError(f"its fields end at its byte {ends[-1]}, but it has {size}")
    return {name: (begin, count) for name, begin, count in zip(fields, ends, sizes, strict=False)}


def encoded(content: bytes) -> Any:
    """The image of a file's bytes by Pillow, opened and not decoded yet."""
    from PIL import Image

    return Image.open(io.BytesIO(content))


def raw(content: bytes) -> Any:
    """An image of width, height and the length of its mode (uint32), the mode, and its pixels."""
    from PIL import Image

    width, height, length = struct.unpack_from("<3I", content)
    pixels = content[12 + length :]
    if -(-width // 8) * height > len(pixels):  # Pillow takes memory for all of it before it looks
        raise ValueError(f"{len(pixels)} bytes are no image of {width} x {height}")
    return Image.frombytes(content[12 : 12 + length].decode(), (width, height), pixels)


def listed(content: bytes, begin: int, decode: Decode) -> list[Any]:
    """A list of items behind their count, which is at byte `begin`, and their sizes."""
    (count,) = struct.unpack_from("<I", content, begin)
    at = begin + 4 + 4 * count
    sizes = np.frombuffer(content[begin + 4 : at], "<u4").tolist()
    if len(sizes) != count or at + sum(sizes) > len(content):
        raise ValueError(f"{len(content)} bytes are no list of {count} items")
    return [decode(content[low:high]) for low, high in itertools.pairwise(itertools.accumulate(sizes, initial=at))]
