"""The steps of a recipe for calls of Pillow, by their arguments."""

from __future__ import annotations

import math
import platform
from typing import Any

import numpy as np
from PIL import Image, ImageFilter

from ._steps import FLIP_HORIZONTAL, FLIP_VERTICAL, ROTATE_90, TRANSPOSE, box_blur, rank, stencil, transform

_SIDE_MAX = 1 << 20
_NUMBER_MAX = 1e30  # of a matrix: far from what is not finite

_HALF_TURN = (FLIP_HORIZONTAL, FLIP_VERTICAL)
# Steps, and whether width and height change places.
TRANSPOSES: dict[int, tuple[tuple[bytes, ...], bool]] = {
    int(Image.Transpose.FLIP_LEFT_RIGHT): ((FLIP_HORIZONTAL,), False),
    int(Image.Transpose.FLIP_TOP_BOTTOM): ((FLIP_VERTICAL,), False),
    int(Image.Transpose.ROTATE_180): (_HALF_TURN, False),
    int(Image.Transpose.ROTATE_90): ((ROTATE_90,), True),
    int(Image.Transpose.ROTATE_270): ((ROTATE_90, *_HALF_TURN), True),
    int(Image.Transpose.TRANSPOSE): (TRANSPOSE, True),
    int(Image.Transpose.TRANSVERSE): ((ROTATE_90, FLIP_HORIZONTAL), True),
}
# Every byte, in every channel: what a look-up makes of it is its table.
RAMPS = {
    "L": Image.frombytes("L", (256, 1), bytes(range(256))),
    "RGB": Image.frombytes("RGB", (256, 1), bytes(value for value in range(256) for _ in range(3))),
}


def table_of(mode: str, lut: Any) -> bytes | None:
    """What Image.point makes of each byte, by Pillow itself; None where it raises."""
    try:
        made = RAMPS[mode].point(lut)
    except Exception:  # to be raised again by the real image
        return None
    return by_channel(made)


def by_channel(ramp: Image.Image) -> bytes:
    """What became of RAMPS: a row of 256 for each channel."""
    made = ramp.tobytes()
    return made if ramp.mode == "L" else made[0::3] + made[1::3] + made[2::3]


_MATRIX_NUMBERS = {int(Image.Transform.AFFINE): 6, int(Image.Transform.PERSPECTIVE): 8}
_TRANSFORM_FILTERS = (Image.Resampling.NEAREST, Image.Resampling.BILINEAR, Image.Resampling.BICUBIC)


def transform_of(mode: str, size: Any, method: Any, data: Any, resample: Any, fillcolor: Any) -> bytes | None:
    """The step for a transform; None where the core has none or Pillow raises."""
    count = _MATRIX_NUMBERS.get(int(method)) if isinstance(method, int) else None
    pair = tuple(size) if isinstance(size, (tuple, list)) else ()
    if count is None or len(pair) != 2 or not all(type(side) is int and 0 < side < _SIDE_MAX for side in pair):
        return None
    if pair[0] * pair[1] > _SIDE_MAX * 256 or not isinstance(resample, int) or resample not in _TRANSFORM_FILTERS:
        return None
    if not isinstance(data, (tuple, list)) or len(data) < count:
        return None
    if not all(isinstance(number, (int, float)) and abs(number) < _NUMBER_MAX for number in data[:count]):
        return None
    channels = 3 if mode == "RGB" else 1
    colour = (0,) * channels if fillcolor is None else fillcolor if isinstance(fillcolor, tuple) else (fillcolor,)
    if len(colour) != channels or not all(type(value) is int and 0 <= value <= 255 for value in colour):
        return None
    return transform([float(number) for number in data[:count]], int(resample), pair, colour)


_GAUSSIAN_TIMES = 3  # boxes that make a Gaussian
_RADIUS_MAX = 1 << 20  # core/recipe.RadiusMax
# Elsewhere Pillow's compiler may round a product and a sum at once.
_ROUNDS_EACH = platform.machine() in ("x86_64", "AMD64")


_KERNELS = (
    ImageFilter.Kernel, ImageFilter.BLUR, ImageFilter.CONTOUR, ImageFilter.DETAIL, ImageFilter.EDGE_ENHANCE,
    ImageFilter.EDGE_ENHANCE_MORE, ImageFilter.EMBOSS, ImageFilter.FIND_EDGES, ImageFilter.SHARPEN,
    ImageFilter.SMOOTH, ImageFilter.SMOOTH_MORE,
)  # fmt: skip
_RANKS = (ImageFilter.MedianFilter, ImageFilter.MinFilter, ImageFilter.MaxFilter, ImageFilter.RankFilter)
_WEIGHT_MAX = 1 << 20  # core/recipe.StencilMax


def filter_of(chosen: Any) -> tuple[ImageFilter.Filter, tuple[bytes, ...]] | None:
    """A copy of a filter, which its owner may change, and its steps; None where the core has none or Pillow raises."""
    if chosen is ImageFilter.GaussianBlur:
        chosen = ImageFilter.GaussianBlur()
    kind = chosen if isinstance(chosen, type) else type(chosen)
    if kind in _KERNELS and len(arguments := getattr(chosen, "filterargs", ())) == 4:
        return _kernel_of(*arguments)
    if kind in _RANKS:
        chosen = kind() if kind is chosen and kind is not ImageFilter.RankFilter else chosen
        size: Any = getattr(chosen, "size", None)
        number: Any = getattr(chosen, "rank", None)
        if (type(size), type(number)) != (int, int) or size != 3 or not 0 <= number <= 8:
            return None
        return ImageFilter.RankFilter(size, number), (rank(number),)
    if kind is chosen or kind not in (ImageFilter.BoxBlur, ImageFilter.GaussianBlur):
        return None
    radius = chosen.radius
    pair = radius if type(radius) is tuple else (radius, radius)
    if len(pair) != 2 or not all(isinstance(each, (int, float)) for each in pair):
        return None
    times = 1
    if kind is ImageFilter.GaussianBlur:
        times = _GAUSSIAN_TIMES
        pair = _gaussian_radius(pair[0]), _gaussian_radius(pair[1])
    if not all(0 <= each <= _RADIUS_MAX for each in pair):
        return None
    return kind(radius), () if pair == (0, 0) else (box_blur(pair, times),)


def _kernel_of(size: Any, scale: Any, offset: Any, kernel: Any) -> tuple[ImageFilter.Filter, tuple[bytes, ...]] | None:
    """As filter_of, for an ImageFilter.Kernel."""
    numbers = (scale, offset, *kernel) if type(kernel) in (list, tuple) else ()
    if not _ROUNDS_EACH or size not in ((3, 3), (5, 5)) or len(numbers) != 2 + size[0] * size[1]:
        return None
    if not all(type(number) in (int, float) and abs(number) <= _WEIGHT_MAX for number in numbers) or scale == 0:
        return None
    weights = (np.array(kernel, np.float32) / np.float32(scale)).tolist()
    if not all(abs(weight) <= _WEIGHT_MAX for weight in weights):
        return None
    return ImageFilter.Kernel(size, tuple(kernel), scale, offset), (stencil(weights, offset),)


def _gaussian_radius(sigma: float) -> float:
    """The radius of Pillow's boxes (src/libImaging/BoxBlur.c), in its float32; NaN where its compiler decides."""
    if not abs(sigma) < _RADIUS_MAX:
        return math.nan
    f = np.float32
    variance = f(sigma) * f(sigma) / f(_GAUSSIAN_TIMES)
    whole = f((float(f(math.sqrt(12.0 * float(variance) + 1.0))) - 1.0) // 2.0)
    next_square = (whole + f(1)) * (whole + f(1))
    rests = whole * (whole + f(1)) - f(3) * variance, f(float(whole) * (float(whole) + 1) - 3.0 * float(variance))
    if rests[0] != rests[1] and not _ROUNDS_EACH:
        return math.nan
    return float(whole + (f(2) * whole + f(1)) * rests[0] / (f(6) * (variance - next_square)))
