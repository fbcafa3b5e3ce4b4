"""Steps of a recipe in wire form, as core/recipe reads them (steps.go), and which steps Pillow's calls are."""

from __future__ import annotations

import math
import platform
import struct
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from PIL import Image, ImageFilter

Size = tuple[int, int]  # width, height
_SIDE_MAX = 1 << 20
_NUMBER_MAX = 1e30  # of a matrix: far from what is not finite

# A core/recipe.Step in wire form: kind, filter, mode, channels, fill, shift, left, top, right, bottom, width, height.
# Behind it comes what some kinds have more.
_STEP = struct.Struct("<4B4B6i")

# Kinds of step, in the order of core/recipe/steps.go.
(
    _CROP, _RESIZE, _HORIZONTAL_FLIP, _VERTICAL_FLIP, _PAD, _GRAYSCALE, _OPENCV_GRAY, _LOOKUP, _BRIGHTNESS,
    _CONTRAST, _SATURATION, _SHARPNESS, _HUE, _AUTOCONTRAST, _EQUALIZE, _AFFINE, _PERSPECTIVE, _ROTATE_90,
    _SELECT, _PATCH, _BOX_BLUR, _CONVOLVE, _STENCIL, _OPENCV_TO_HSV, _OPENCV_FROM_HSV, _TORCH_COLOUR,
) = range(26)  # fmt: skip

# Bytes that kinds have more.
_MORE = {
    _LOOKUP: 768, _BRIGHTNESS: 4, _CONTRAST: 4, _SATURATION: 4, _SHARPNESS: 4, _AFFINE: 48, _PERSPECTIVE: 64,
    _PATCH: 4, _BOX_BLUR: 12, _CONVOLVE: 248, _STENCIL: 104, _TORCH_COLOUR: 12,
}  # fmt: skip
# Behaviours of other libraries (goloader.selfcheck) that a step stands for, by its kind; or by its kind and filter.
_NEEDS: dict[Any, str] = {
    _CROP: "pillow.crop", _HORIZONTAL_FLIP: "pillow.transpose", _VERTICAL_FLIP: "pillow.transpose",
    _PAD: "pillow.expand", _GRAYSCALE: "pillow.luma", _OPENCV_GRAY: "opencv.grey", _BRIGHTNESS: "pillow.brightness",
    _CONTRAST: "pillow.contrast pillow.luma", _SATURATION: "pillow.saturation", _SHARPNESS: "pillow.sharpness",
    _HUE: "pillow.hue", _AUTOCONTRAST: "pillow.autocontrast", _EQUALIZE: "pillow.equalize",
    _ROTATE_90: "pillow.transpose", _BOX_BLUR: "pillow.blur", _CONVOLVE: "torch.convolve",
    _STENCIL: "pillow.kernel", _OPENCV_TO_HSV: "opencv.to_hsv", _OPENCV_FROM_HSV: "opencv.from_hsv",
    (_RESIZE, 0): "pillow.resize.nearest", (_RESIZE, 1): "pillow.resize.lanczos",
    (_RESIZE, 2): "pillow.resize.bilinear", (_RESIZE, 3): "pillow.resize.bicubic",
    (_RESIZE, 4): "pillow.resize.box", (_RESIZE, 5): "pillow.resize.hamming",
    (_RESIZE, 16): "torchvision.resize.bilinear", (_RESIZE, 17): "torchvision.resize.bicubic",
    (_RESIZE, 18): "torch.resize.nearest", (_RESIZE, 32): "opencv.resize.nearest",
    (_RESIZE, 33): "opencv.resize.linear", (_RESIZE, 34): "opencv.resize.area",
    (_AFFINE, 0): "pillow.affine.nearest", (_AFFINE, 2): "pillow.affine.bilinear",
    (_AFFINE, 3): "pillow.affine.bicubic", (_AFFINE, 32): "opencv.warp.nearest",
    (_AFFINE, 33): "opencv.warp.linear", (_PERSPECTIVE, 0): "pillow.perspective.nearest",
    (_PERSPECTIVE, 2): "pillow.perspective.bilinear", (_PERSPECTIVE, 3): "pillow.perspective.bicubic",
}  # fmt: skip


def needs(steps: bytes) -> tuple[str, ...]:
    """The behaviours that steps, one behind the other, stand for."""
    found: list[str] = []
    at = 0
    while at < len(steps):
        found += needed((steps[at], steps[at + 1]))
        at += _STEP.size + _MORE.get(steps[at], 0)
    return tuple(found)


def kind(step: bytes) -> tuple[int, int]:
    """What a step is, whatever its numbers, and the filter that it resamples with."""
    return step[0], step[1]


# Of Pillow's methods that give an image like theirs.
_MOVES = frozenset((_CROP, _RESIZE, _HORIZONTAL_FLIP, _VERTICAL_FLIP, _AFFINE, _PERSPECTIVE, _ROTATE_90))


def are_moves(steps: Sequence[bytes]) -> bool:
    """Whether Pillow takes them by methods of the image: crop, resize, transpose, transform."""
    return all(step[0] in _MOVES for step in steps)


def needed(kind: tuple[int, int]) -> list[str]:
    """The behaviours that a step of a kind stands for."""
    return (_NEEDS.get(kind[0]) or _NEEDS.get(kind, "")).split()


def _plain(kind: int) -> bytes:
    return _STEP.pack(kind, *(0,) * 13)


FLIP_HORIZONTAL = _plain(_HORIZONTAL_FLIP)  # mirrors left and right
FLIP_VERTICAL = _plain(_VERTICAL_FLIP)  # mirrors top and bottom
ROTATE_90 = _plain(_ROTATE_90)  # a quarter turn, counter-clockwise
TRANSPOSE = ROTATE_90, FLIP_VERTICAL  # rows become columns
AUTOCONTRAST = _plain(_AUTOCONTRAST)  # ImageOps'
EQUALIZE = _plain(_EQUALIZE)  # ImageOps'
OPENCV_GRAY = _STEP.pack(_OPENCV_GRAY, 0, 0, 1, *(0,) * 10)  # cv2.cvtColor's luma of RGB, in one channel
OPENCV_TO_HSV = _plain(_OPENCV_TO_HSV)  # cv2.cvtColor from RGB
OPENCV_FROM_HSV = _plain(_OPENCV_FROM_HSV)  # and to RGB


def _blend(kind: int, factor: float) -> bytes:
    return _plain(kind) + struct.pack("<f", factor)


# ImageEnhance's, by their factors.
brightness = partial(_blend, _BRIGHTNESS)
contrast = partial(_blend, _CONTRAST)
saturation = partial(_blend, _SATURATION)
sharpness = partial(_blend, _SHARPNESS)


def crop(left: int, top: int, width: int, height: int) -> bytes:
    """Keeps a rectangle that lies inside the image."""
    return _STEP.pack(_CROP, 0, 0, 0, 0, 0, 0, 0, left, top, 0, 0, width, height)


def resize(width: int, height: int, resample: int) -> bytes:
    """Resamples by Pillow's filter number."""
    return _STEP.pack(_RESIZE, resample, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, width, height)


_PAD_MODES = {"constant": 0, "edge": 1, "reflect": 2, "symmetric": 3}


def pad(left: int, top: int, right: int, bottom: int, mode: str, fill: tuple[int, ...] = (0,)) -> bytes:
    """Adds a border; mode is torchvision's, fill a byte a channel or one for all."""
    red, green, blue = fill if len(fill) == 3 else (fill[0],) * 3
    return _STEP.pack(_PAD, 0, _PAD_MODES[mode], 0, red, green, blue, 0, left, top, right, bottom, 0, 0)


def grayscale(channels: int) -> bytes:
    """Luma, as 1 channel or 3 equal ones."""
    return _STEP.pack(_GRAYSCALE, 0, 0, channels, *(0,) * 10)


def lookup(table: bytes) -> bytes:
    """Replaces each byte; a row of 256 for each of 3 channels, or one for all."""
    return _plain(_LOOKUP) + (table if len(table) == 768 else 3 * table)


def hue(shift: int) -> bytes:
    """Adds to H of Pillow's HSV, modulo 256."""
    return _STEP.pack(_HUE, 0, 0, 0, 0, 0, 0, shift, *(0,) * 6)


def transform(matrix: Sequence[float], resample: int, size: Size, fill: tuple[int, ...]) -> bytes:
    """Image.transform by 6 numbers (AFFINE) or 8 (PERSPECTIVE); fill a byte a channel or one for all."""
    kind = _AFFINE if len(matrix) == 6 else _PERSPECTIVE
    red, green, blue = fill if len(fill) == 3 else (fill[0],) * 3
    return _STEP.pack(kind, resample, 0, 0, red, green, blue, 0, 0, 0, 0, 0, *size) + struct.pack(
        f"<{len(matrix)}d", *matrix
    )


def opencv_affine(matrix: Sequence[float], linear: bool, size: Size, mode: str, fill: tuple[int, ...]) -> bytes:
    """cv2.warpAffine by 6 numbers that lead from output to input; mode and fill as for pad."""
    red, green, blue = fill if len(fill) == 3 else (fill[0],) * 3
    return _STEP.pack(
        _AFFINE, 33 if linear else 32, _PAD_MODES[mode], 0, red, green, blue, 0, 0, 0, 0, 0, *size
    ) + struct.pack("<6d", *matrix)


def select(channels: tuple[int, ...]) -> bytes:
    """Keeps 1 channel or 3, in an order of their own."""
    one, two, three = channels if len(channels) == 3 else (*channels, 0, 0)
    return _STEP.pack(_SELECT, 0, 0, len(channels), one, two, three, 0, *(0,) * 6)


def box_blur(radius: tuple[float, float], times: int) -> bytes:
    """ImageFilter.BoxBlur with two radii, `times` times across and then down."""
    return _plain(_BOX_BLUR) + struct.pack("<2fI", *radius, times)


def patch(left: int, top: int, width: int, height: int, number: int) -> bytes:
    """A rectangle of the finished sample that goes by another of its tables; behind all other steps."""
    return _STEP.pack(_PATCH, 0, 0, 0, 0, 0, 0, 0, left, top, 0, 0, width, height) + struct.pack("<I", number)


TAPS_MAX = 31  # core/recipe.TapsMax


def convolve(across: Sequence[float], down: Sequence[float]) -> bytes:
    """A sum of weighted pixels, in float32: at most TAPS_MAX weights from 0 to 1 each way, an odd number."""
    row, column = ((*weights, *(0.0,) * (TAPS_MAX - len(weights))) for weights in (across, down))
    return _STEP.pack(_CONVOLVE, *(0,) * 11, len(across), len(down)) + struct.pack(f"<{2 * TAPS_MAX}f", *row, *column)


def stencil(weights: Sequence[float], offset: float) -> bytes:
    """ImageFilter.Kernel of 3 x 3 or 5 x 5 weights, row by row."""
    side = 3 if len(weights) == 9 else 5
    more = struct.pack("<26f", offset, *weights, *(0.0,) * (25 - len(weights)))
    return _STEP.pack(_STENCIL, *(0,) * 11, side, side) + more


_TORCH_COLOURS = ("grey", "contrast", "saturation", "sharpness", "hue", "autocontrast")


def torch_colour(name: str, fused: bool, factor: float = 0.0, rest: float = 0.0) -> bytes:
    """What torchvision does to a uint8 tensor: grey, contrast, saturation, sharpness, hue or autocontrast.

    factor, rest  shares of the image and of what it is blended with; what is added to the hue
    fused         torch adds a multiple with one rounding
    """
    more = struct.pack("<2f2BH", factor, rest, _TORCH_COLOURS.index(name), fused, 0)
    return _plain(_TORCH_COLOUR) + more


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
    ImageFilter.Kernel,
    ImageFilter.BLUR,
    ImageFilter.CONTOUR,
    ImageFilter.DETAIL,
    ImageFilter.EDGE_ENHANCE,
    ImageFilter.EDGE_ENHANCE_MORE,
    ImageFilter.EMBOSS,
    ImageFilter.FIND_EDGES,
    ImageFilter.SHARPEN,
    ImageFilter.SMOOTH,
    ImageFilter.SMOOTH_MORE,
)
_WEIGHT_MAX = 1 << 20  # core/recipe.StencilMax


def filter_of(chosen: Any) -> tuple[ImageFilter.Filter, tuple[bytes, ...]] | None:
    """A copy of a filter, which its owner may change, and its steps; None where the core has none or Pillow raises."""
    if chosen is ImageFilter.GaussianBlur:
        chosen = ImageFilter.GaussianBlur()
    kind = chosen if isinstance(chosen, type) else type(chosen)
    if kind in _KERNELS and len(arguments := getattr(chosen, "filterargs", ())) == 4:
        return _kernel_of(*arguments)
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
