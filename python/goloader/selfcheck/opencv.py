"""OpenCV's behaviours. They differ between versions, with what it was built with, and with the processor."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from .behaviour import Behaviour, Late, golden, picture
from .pillow import CMYK, JPEG, OF_ALPHA_OR_PALETTES, PNG, files_of

cv2: Any = Late("cv2")
_MATRIX = np.array([[0.9, 0.31, 2.7], [-0.28, 1.1, 3.3]])


def _decoded(files: str) -> Iterator[Any]:
    for number, file in enumerate(files_of(files)):
        if files == PNG or number != CMYK:  # left to OpenCV
            yield cv2.imdecode(np.frombuffer(file, np.uint8), cv2.IMREAD_COLOR)


def _unchanged() -> Iterator[Any]:
    """Files of RGB and grey: others are left to OpenCV."""
    for files, left in ((JPEG, (CMYK,)), (PNG, OF_ALPHA_OR_PALETTES)):
        for number, file in enumerate(files_of(files)):
            if number not in left:
                yield cv2.imdecode(np.frombuffer(file, np.uint8), cv2.IMREAD_UNCHANGED)


_SIZES = (((31, 23), (17, 19)), ((9, 7), (30, 22)), ((24, 16), (12, 8)), ((24, 18), (8, 6)), ((9, 20), (14, 11)))


def _resized(name: str) -> Iterator[Any]:
    for channels in (3, 1):
        for size, out in _SIZES:
            yield cv2.resize(picture(*size, channels), out, interpolation=getattr(cv2, f"INTER_{name}"))


def _converted(*names: str) -> Iterator[Any]:
    for name in names:
        # Whole vectors, and pixels left behind them.
        yield cv2.cvtColor(picture(75, 40), getattr(cv2, f"COLOR_{name}"))


def _warped(name: str) -> Iterator[Any]:
    for channels in (3, 1):
        flag = getattr(cv2, f"INTER_{name}")
        for border in (cv2.BORDER_CONSTANT, cv2.BORDER_REFLECT_101):
            made = cv2.warpAffine(picture(75, 40, channels), _MATRIX, (70, 50), flags=flag, borderMode=border)
            # The core's nearest neighbours are of masks, with a border of one value.
            if name == "LINEAR" or (channels == 1 and border == cv2.BORDER_CONSTANT):
                yield made


def _row(what: str, make: Any, known: int) -> Behaviour:
    return golden("cv2", what, make, known)


BEHAVIOURS = {
    "opencv.decode.jpeg": _row("JPEG decoder", partial(_decoded, JPEG), 4287786564),
    "opencv.decode.png": _row("PNG decoder", partial(_decoded, PNG), 1256867310),
    "opencv.decode.unchanged": _row("decoder of unchanged images", _unchanged, 978388628),
    "opencv.resize.nearest": _row("nearest resize", partial(_resized, "NEAREST"), 2871514489),
    "opencv.resize.linear": _row("linear resize", partial(_resized, "LINEAR"), 597851234),
    "opencv.resize.area": _row("area resize", partial(_resized, "AREA"), 1277863237),
    "opencv.grey": _row("conversion to grey", partial(_converted, "BGR2GRAY", "RGB2GRAY"), 450498161),
    "opencv.to_hsv": _row("conversion to HSV", partial(_converted, "BGR2HSV", "RGB2HSV"), 4052248248),
    "opencv.from_hsv": _row("conversion from HSV", partial(_converted, "HSV2RGB", "HSV2BGR"), 1974633505),
    "opencv.warp.nearest": _row("nearest affine transform", partial(_warped, "NEAREST"), 606735482),
    "opencv.warp.linear": _row("linear affine transform", partial(_warped, "LINEAR"), 4123670825),
}
