"""Image files as OpenCV reads them: which ones the core decodes to the same pixels, and whether this OpenCV is known.

The core's pixels are those of libjpeg-turbo, and a PNG file's bytes; OpenCV's are the same, in reverse order, but
for files that it turns by their EXIF orientation, for CMYK, and for what it takes out of an animation.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .... import _steps
from .. import recipe, switch
from ..recipe import Recipe, Source
from . import header
from .other_headers import Header

# What OpenCV reads at most, unless its environment says otherwise.
_SIDE_MAX = 1 << 20
_PIXELS_MAX = 1 << 30

_IMREAD_UNCHANGED = -1
_IMREAD_GRAYSCALE = 0
_IMREAD_COLOR_BGR = 1
_IMREAD_IGNORE_ORIENTATION = 128
IMREAD_COLOR_RGB = 256

_ORIENTATION = 0x0112

# Flags that are known, with the modes of files that they read as the core does: three colours, without alpha, or grey
# as it is in the file. OpenCV's grey of a coloured JPEG file is not that of its colours.
_COLOURS = frozenset(("L", "RGB", "LA", "RGBA"))
_MODES = {
    _IMREAD_COLOR_BGR: _COLOURS,
    IMREAD_COLOR_RGB: _COLOURS,
    _IMREAD_GRAYSCALE: frozenset("L"),
    _IMREAD_UNCHANGED: frozenset(("L", "RGB")),
}


class OpenCVSource(Source):
    """An image file that cv2.imread or cv2.imdecode reads with these flags."""

    __slots__ = ("flags",)
    reader = recipe.OPENCV

    def __init__(
        self, data: bytes, flags: int, size: tuple[int, int], mode: str, stamp: tuple[int, int] | None = None
    ) -> None:
        super().__init__(data, None, size, mode, stamp)
        self.flags = flags

    def load(self) -> Any:
        """The array [height, width, 3] or [height, width], as OpenCV makes it. Raises OSError if it cannot."""
        import cv2

        self.verify()
        with switch.off():
            made = cv2.imread(os.fsdecode(self.data), self.flags) if self.path else _decode(self.data, self.flags)
        if made is None:
            raise OSError("OpenCV cannot decode it")
        return made

    def recipe(self) -> Recipe:
        """The array as it is in its file."""
        if self.mode == "L":
            return Recipe(self, None, None, (_steps.grayscale(1),), self.size, "L")
        steps = () if self.flags > 0 and self.flags & IMREAD_COLOR_RGB else (_steps.select((2, 1, 0)),)
        return Recipe(self, None, None, steps, self.size, "RGB")


def _decode(content: bytes, flags: int) -> Any:
    import cv2

    return cv2.imdecode(np.frombuffer(content, np.uint8), flags)


def read(content: bytes, flags: int) -> OpenCVSource | None:
    """What cv2.imdecode reads from a whole file; None for what the core leaves to it."""
    found = _found(header.probe(content), flags)
    if found is None or not _is_plain(content, flags):
        return None
    return OpenCVSource(content, flags, *found)


def read_file(path: bytes, flags: int) -> OpenCVSource | None:
    """What cv2.imread reads from a file; None for what the core leaves to it, and for errors."""
    probed = header.probe_path(path)
    found = None if probed is None else _found(probed.header, flags)
    if probed is None or found is None:
        return None
    content = probed.head
    length = probed.stamp[0] if content.startswith(header.PNG) else header.HEAD_BYTES_MAX
    if len(content) < length and (content.startswith(header.PNG) or not _is_plain(content, flags)):
        try:
            with open(path, "rb") as file:
                content = file.read(length)
        except OSError:
            return None
    if not _is_plain(content, flags):
        return None
    return OpenCVSource(os.path.abspath(path), flags, *found, probed.stamp)


def _found(found: Header | None, flags: int) -> tuple[tuple[int, int], str] | None:
    """Size and mode of what OpenCV reads."""
    if found is None or type(flags) is not int:
        return None
    (width, height), mode = found
    known = _MODES.get(flags if flags < 0 else flags & ~_IMREAD_IGNORE_ORIENTATION, ())
    if mode not in known or max(width, height) > _SIDE_MAX or width * height > _PIXELS_MAX:
        return None
    in_colour = flags > 0 and flags & (_IMREAD_COLOR_BGR | IMREAD_COLOR_RGB)
    return (width, height), "RGB" if in_colour or mode == "RGB" else "L"


def _is_plain(content: bytes, flags: int) -> bool:
    """Whether OpenCV gives the pixels as they are; `content` are a PNG file, and the headers of a JPEG file."""
    if content.startswith(header.PNG):
        # An animation's first frame, and an orientation. Elsewhere than as a chunk's name that is rare.
        turned = flags >= 0 and not flags & _IMREAD_IGNORE_ORIENTATION and b"eXIf" in content
        return not turned and b"acTL" not in content and (flags >= 0 or (content[24] <= 8 and b"tRNS" not in content))
    return flags < 0 or bool(flags & _IMREAD_IGNORE_ORIENTATION) or _is_upright(content)


def _is_upright(head: bytes) -> bool:
    """Whether nothing in a JPEG's headers turns it; False also if not all of them are there."""
    at, end = 2, len(head) - 4
    while at <= end:
        if head[at] != 0xFF:
            return False
        code = head[at + 1]
        if code == 0xDA:
            return True
        length = int.from_bytes(head[at + 2 : at + 4], "big")
        if (
            code == 0xE1
            and head[at + 4 : at + 10] == b"Exif\0\0"
            and not _is_exif_upright(head[at + 10 : at + 2 + length])
        ):
            return False
        at += 2 + length
    return False


def _is_exif_upright(tiff: bytes) -> bool:
    """Whether the first directory of an EXIF header has no orientation, or none but 1."""
    order = {b"II*\0": "little", b"MM\0*": "big"}.get(tiff[:4])
    if order is None or len(tiff) < 8:
        return False

    def number(at: int, size: int) -> int:
        return int.from_bytes(tiff[at : at + size], order)  # type: ignore[arg-type]

    first = number(4, 4)
    end = first + 2 + 12 * number(first, 2)
    if end > len(tiff):
        return False
    return all(number(at, 2) != _ORIENTATION or number(at + 8, 2) == 1 for at in range(first + 2, end, 12))


def is_known() -> bool:
    """Whether the installed OpenCV decodes files as the core does."""
    return switch.holds("opencv.decode.jpeg", "opencv.decode.png")


def fuses() -> bool:
    """Whether OpenCV uses the processor as it did when its behaviours were tried: users may tell it not to."""
    import cv2

    return bool(cv2.useOptimized())


def inverted(matrix: list[float]) -> list[float]:
    """The matrix from output to input, as cv2.warpAffine computes it of one from input to output."""
    a, b, c, d, e, f = matrix
    determinant = a * e - b * d
    scale = 1.0 / determinant if determinant != 0 else 0.0
    a, b, d, e = e * scale, b * -scale, d * -scale, a * scale
    return [a, b, -a * c - b * f, d, e, -d * c - e * f]
