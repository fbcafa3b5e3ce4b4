"""Images as MDS and LitData store them."""

from __future__ import annotations

import io
import struct
from typing import Any


def encoded(content: bytes) -> Any:
    """The image of a file's bytes by Pillow, opened and not decoded yet."""
    from PIL import Image

    return Image.open(io.BytesIO(content))


def raw(content: bytes) -> Any:
    """An image of width, height and the length of its mode (uint32), the mode, and its pixels."""
    from PIL import Image

    width, height, length = struct.unpack_from("<3I", content)
    return Image.frombytes(content[12 : 12 + length].decode(), (width, height), content[12 + length :])
