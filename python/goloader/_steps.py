"""Steps of a recipe in wire form, as core/recipe reads them (steps.go)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

Size = tuple[int, int]  # width, height

# A core/recipe.Step in wire form: kind, filter, mode, channels, fill, shift, left, top, right, bottom, width, height.
# Behind it comes what some kinds have more.
_STEP = struct.Struct("<4B4B6i")

# Kinds of step, in the order of core/recipe/steps.go.
(
    _CROP, _RESIZE, _HORIZONTAL_FLIP, _VERTICAL_FLIP, _PAD, _GRAYSCALE, _OPENCV_GRAY, _LOOKUP, _BRIGHTNESS,
    _CONTRAST, _SATURATION, _SHARPNESS, _HUE, _AUTOCONTRAST, _EQUALIZE, _AFFINE, _PERSPECTIVE, _ROTATE_90,
    _SELECT, _PATCH, _BOX_BLUR, _CONVOLVE, _STENCIL, _OPENCV_TO_HSV, _OPENCV_FROM_HSV, _TORCH_COLOUR, _RANK,
    _TO_YCBCR, _CONVOLVE_UNIT, _ZOOM, _TORCH_AFFINE, _TORCH_PERSPECTIVE,
) = range(32)  # fmt: skip

# Bytes that kinds have more.
_MORE = {
    _LOOKUP: 768, _BRIGHTNESS: 4, _CONTRAST: 4, _SATURATION: 4, _SHARPNESS: 4, _AFFINE: 48, _PERSPECTIVE: 64,
    _PATCH: 4, _BOX_BLUR: 12, _CONVOLVE: 248, _STENCIL: 104, _TORCH_COLOUR: 12,
    _CONVOLVE_UNIT: 248, _ZOOM: 520, _TORCH_AFFINE: 52, _TORCH_PERSPECTIVE: 68,
}  # fmt: skip
# Behaviours of other libraries (goloader.selfcheck) that a step stands for, by its kind; or by its kind and filter.
_NEEDS: dict[Any, str] = {
    _CROP: "pillow.crop", _HORIZONTAL_FLIP: "pillow.transpose", _VERTICAL_FLIP: "pillow.transpose",
    _PAD: "pillow.expand", _GRAYSCALE: "pillow.luma", _OPENCV_GRAY: "opencv.grey", _BRIGHTNESS: "pillow.brightness",
    _CONTRAST: "pillow.contrast pillow.luma", _SATURATION: "pillow.saturation", _SHARPNESS: "pillow.sharpness",
    _HUE: "pillow.hue", _AUTOCONTRAST: "pillow.autocontrast", _EQUALIZE: "pillow.equalize",
    _ROTATE_90: "pillow.transpose", _BOX_BLUR: "pillow.blur", _CONVOLVE: "torch.convolve",
    _STENCIL: "pillow.kernel", _RANK: "pillow.rank", _TO_YCBCR: "pillow.ycbcr", _OPENCV_TO_HSV: "opencv.to_hsv",
    _OPENCV_FROM_HSV: "opencv.from_hsv", _CONVOLVE_UNIT: "torch.convolve.axes",
    _ZOOM: "skimage.resize", _TORCH_AFFINE: "torch.grid", _TORCH_PERSPECTIVE: "torch.grid",
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


def _step(
    kind: int,
    filter: int = 0,
    mode: int = 0,
    channels: int = 0,
    fill: tuple[int, ...] = (0,),
    shift: int = 0,
    place: tuple[int, int, int, int] = (0, 0, 0, 0),
    size: Size = (0, 0),
) -> bytes:
    """A step in wire form, of kinds that have more without that.

    fill  a byte a channel, or one for all
    """
    colour = fill if len(fill) == 3 else (fill[0],) * 3
    return _STEP.pack(kind, filter, mode, channels, *colour, shift, *place, *size)


FLIP_HORIZONTAL = _step(_HORIZONTAL_FLIP)  # mirrors left and right
FLIP_VERTICAL = _step(_VERTICAL_FLIP)  # mirrors top and bottom
ROTATE_90 = _step(_ROTATE_90)  # a quarter turn, counter-clockwise
TRANSPOSE = ROTATE_90, FLIP_VERTICAL  # rows become columns
AUTOCONTRAST = _step(_AUTOCONTRAST)  # ImageOps'
EQUALIZE = _step(_EQUALIZE)  # ImageOps'
TO_YCBCR = _step(_TO_YCBCR)  # Image.convert("YCbCr"), from RGB or L
OPENCV_GRAY = _step(_OPENCV_GRAY, channels=1)  # cv2.cvtColor's luma of RGB, in one channel
OPENCV_TO_HSV = _step(_OPENCV_TO_HSV)  # cv2.cvtColor from RGB
OPENCV_FROM_HSV = _step(_OPENCV_FROM_HSV)  # and to RGB


def _blend(kind: int, factor: float) -> bytes:
    return _step(kind) + struct.pack("<f", factor)


# ImageEnhance's, by their factors.
brightness = partial(_blend, _BRIGHTNESS)
contrast = partial(_blend, _CONTRAST)
saturation = partial(_blend, _SATURATION)
sharpness = partial(_blend, _SHARPNESS)


def crop(left: int, top: int, width: int, height: int) -> bytes:
    """Keeps a rectangle that lies inside the image."""
    return _STEP.pack(_CROP, 0, 0, 0, 0, 0, 0, 0, left, top, 0, 0, width, height)  # most images are: _step takes longer


def resize(width: int, height: int, resample: int) -> bytes:
    """Resamples by Pillow's filter number."""
    return _STEP.pack(_RESIZE, resample, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, width, height)


_PAD_MODES = {"constant": 0, "edge": 1, "reflect": 2, "symmetric": 3}


def pad(left: int, top: int, right: int, bottom: int, mode: str, fill: tuple[int, ...] = (0,)) -> bytes:
    """Adds a border; mode is torchvision's, fill a byte a channel or one for all."""
    return _step(_PAD, mode=_PAD_MODES[mode], fill=fill, place=(left, top, right, bottom))


def grayscale(channels: int) -> bytes:
    """Luma, as 1 channel or 3 equal ones."""
    return _step(_GRAYSCALE, channels=channels)


def lookup(table: bytes) -> bytes:
    """Replaces each byte; a row of 256 for each of 3 channels, or one for all."""
    return _step(_LOOKUP) + (table if len(table) == 768 else 3 * table)


def hue(shift: int) -> bytes:
    """Adds to H of Pillow's HSV, modulo 256."""
    return _step(_HUE, shift=shift)


def transform(matrix: Sequence[float], resample: int, size: Size, fill: tuple[int, ...]) -> bytes:
    """Image.transform by 6 numbers (AFFINE) or 8 (PERSPECTIVE); fill a byte a channel or one for all."""
    kind = _AFFINE if len(matrix) == 6 else _PERSPECTIVE
    return _step(kind, resample, fill=fill, size=size) + struct.pack(f"<{len(matrix)}d", *matrix)


def opencv_affine(matrix: Sequence[float], linear: bool, size: Size, mode: str, fill: tuple[int, ...]) -> bytes:
    """cv2.warpAffine by 6 numbers that lead from output to input; mode and fill as for pad."""
    step = _step(_AFFINE, 33 if linear else 32, _PAD_MODES[mode], fill=fill, size=size)
    return step + struct.pack("<6d", *matrix)


def select(channels: tuple[int, ...]) -> bytes:
    """Keeps 1 channel or 3, in an order of their own."""
    return _step(_SELECT, channels=len(channels), fill=(*channels, 0, 0)[:3])


def box_blur(radius: tuple[float, float], times: int) -> bytes:
    """ImageFilter.BoxBlur with two radii, `times` times across and then down."""
    return _step(_BOX_BLUR) + struct.pack("<2fI", *radius, times)


def patch(left: int, top: int, width: int, height: int, number: int) -> bytes:
    """A rectangle of the finished sample that goes by another of its tables; behind all other steps."""
    return _step(_PATCH, place=(left, top, 0, 0), size=(width, height)) + struct.pack("<I", number)


TAPS_MAX = 31  # core/recipe.TapsMax


def convolve(across: Sequence[float], down: Sequence[float]) -> bytes:
    """A sum of weighted pixels, in float32: at most TAPS_MAX weights from 0 to 1 each way, an odd number."""
    row, column = ((*weights, *(0.0,) * (TAPS_MAX - len(weights))) for weights in (across, down))
    return _step(_CONVOLVE, size=(len(across), len(down))) + struct.pack(f"<{2 * TAPS_MAX}f", *row, *column)


def stencil(weights: Sequence[float], offset: float) -> bytes:
    """ImageFilter.Kernel of 3 x 3 or 5 x 5 weights, row by row."""
    side = 3 if len(weights) == 9 else 5
    more = struct.pack("<26f", offset, *weights, *(0.0,) * (25 - len(weights)))
    return _step(_STENCIL, size=(side, side)) + more


def rank(number: int) -> bytes:
    """ImageFilter.RankFilter(3, number)."""
    return _step(_RANK, shift=number)


_TORCH_COLOURS = ("grey", "contrast", "saturation", "sharpness", "hue", "autocontrast")
_OF_SHARES = ("contrast", "saturation", "sharpness")
# Pixels of which torch's mean, for its contrast, is exact: GL_TORCH_MEAN_MAX in core/op/passes.h.
TORCH_MEAN_MAX = (1 << 24) // 255


def torch_colour(name: str, fused: bool, factor: float = 0.0) -> bytes:
    """What torchvision does to a uint8 tensor: grey, brightness, contrast, saturation, sharpness, hue, autocontrast or
    equalize.

    factor  the share of the image, or what is added to the hue
    fused   torch adds a multiple with one rounding
    """
    if name == "equalize":  # which is Pillow's, as is brightness
        return EQUALIZE
    if name == "brightness":
        return brightness(factor)
    rest = 1.0 - factor if name in _OF_SHARES else 0.0
    return _step(_TORCH_COLOUR) + struct.pack("<2f2BH", factor, rest, _TORCH_COLOURS.index(name), fused, 0)


_OUTSIDE = {"zeros": 0, "v1": 1, "v2": 2}  # core/recipe.Outside


def torch_transform(matrix: Sequence[float], bilinear: bool, fused: int, api: str, fill: Sequence[int] | None) -> bytes:
    """What torchvision does to a uint8 tensor, of any size, by 6 numbers (affine, from the middle) or 8 (perspective).

    fused  what goloader.selfcheck says of "torch.grid"
    fill   a byte a channel, one for all, or None
    """
    kind = _TORCH_AFFINE if len(matrix) == 6 else _TORCH_PERSPECTIVE
    step = _step(kind, 2 if bilinear else 0, fill=tuple(fill or (0,)))
    outside = _OUTSIDE["zeros" if fill is None else api]
    return step + struct.pack(f"<{len(matrix)}d4B", *matrix, outside, fused & 1, fused >> 1, 0)


SMOOTH_MAX = 32  # core/recipe.SmoothMax


def zoom(width: int, height: int, scale: float, across: Sequence[float], down: Sequence[float]) -> bytes:
    """scikit-image's resize of each byte times `scale`, 0 to 1, to numbers, behind which the core only crops and flips.

    across, down  weights that it is smoothed by, the middle one first, then those to either side: at most SMOOTH_MAX
    """
    return _step(_ZOOM, size=(width, height)) + _zoomed(scale, tuple(across), tuple(down))


@lru_cache(maxsize=256)
def _zoomed(scale: float, *weights: tuple[float, ...]) -> bytes:
    row, column = ((*each, *(0.0,) * (SMOOTH_MAX - len(each))) for each in weights)
    return struct.pack(f"<{1 + 2 * SMOOTH_MAX}d", scale, *row, *column)


def makes_numbers(steps: Sequence[bytes]) -> bool:
    """Whether there is a zoom among them."""
    return any(step[0] == _ZOOM for step in steps)
