"""OpenCV: reading files, and its functions of arrays; all that are not recorded get the real arrays.

OpenCV's functions are builtins that take true arrays only, so each of them has something in front of it.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable
from functools import partial
from types import BuiltinFunctionType, ModuleType
from typing import Any

import cv2
import numpy as np
from PIL import Image

from .... import _pillow_steps, _steps
from .. import switch
from ..files import opencv
from ..stand_ins.array import Picture, StandInArray, made_real, of_pixels, record_call, record_function, record_pixels
from .front import Make

_SIDE_MAX = 1 << 20
_WARP_SIDE_MAX, _WARP_REACH = 1 << 15, 1 << 20

# core/recipe.Filter by OpenCV's flag. INTER_NEAREST_EXACT is Pillow's nearest. Others are not the core's.
_FILTERS = {cv2.INTER_NEAREST: 32, cv2.INTER_LINEAR: 33, cv2.INTER_AREA: 34, cv2.INTER_NEAREST_EXACT: 0}
_BORDERS = {
    cv2.BORDER_CONSTANT: "constant",
    cv2.BORDER_REPLICATE: "edge",
    cv2.BORDER_REFLECT: "symmetric",
    cv2.BORDER_REFLECT_101: "reflect",
}
_ROTATIONS = {
    cv2.ROTATE_90_CLOCKWISE: _pillow_steps.TRANSPOSES[int(Image.Transpose.ROTATE_270)],
    cv2.ROTATE_180: _pillow_steps.TRANSPOSES[int(Image.Transpose.ROTATE_180)],
    cv2.ROTATE_90_COUNTERCLOCKWISE: _pillow_steps.TRANSPOSES[int(Image.Transpose.ROTATE_90)],
}
_SWAPPED = _steps.select((2, 1, 0))
# Code of a conversion: mode before, steps, mode after.
_CONVERSIONS = {
    cv2.COLOR_BGR2RGB: ("RGB", (_SWAPPED,), "RGB"),
    cv2.COLOR_RGB2GRAY: ("RGB", (_steps.OPENCV_GRAY,), "L"),
    cv2.COLOR_BGR2GRAY: ("RGB", (_SWAPPED, _steps.OPENCV_GRAY), "L"),
    cv2.COLOR_GRAY2BGR: ("L", (_steps.grayscale(3),), "RGB"),
    cv2.COLOR_RGB2HSV: ("RGB", (_steps.OPENCV_TO_HSV,), "RGB"),
    cv2.COLOR_BGR2HSV: ("RGB", (_SWAPPED, _steps.OPENCV_TO_HSV), "RGB"),
}
# The same, of an OpenCV that fuses products and sums.
_FUSED_CONVERSIONS = {
    cv2.COLOR_HSV2RGB: ("RGB", (_steps.OPENCV_FROM_HSV,), "RGB"),
    cv2.COLOR_HSV2BGR: ("RGB", (_steps.OPENCV_FROM_HSV, _SWAPPED), "RGB"),
}


def fronts() -> tuple[tuple[Any, str, Make], ...]:
    """What stands in front of OpenCV's functions. Of one whose pixels are not known nothing is recorded."""
    made: dict[str, Callable[..., Any]] = {
        "cvtColor": partial(_of_first, _converted),
        "resize": partial(_of_first, _resized),
        "flip": partial(_of_first, _flipped),
        "copyMakeBorder": partial(_of_first, _bordered),
        "transpose": partial(_of_first, _transposed),
        "rotate": partial(_of_first, _rotated),
        "merge": _merged,
        "warpAffine": partial(_of_first, _warped),
        "LUT": _looked_up,
    }
    if not opencv.is_known():
        made = {}
    elif not any(name.startswith("OPENCV_IO_MAX") for name in os.environ):
        made |= {"imread": partial(_opened, _file), "imdecode": partial(_opened, _content)}
    parts = [each for each in vars(cv2).values() if isinstance(each, ModuleType) and each.__name__.startswith("cv2.")]
    return (
        *((cv2, name, _front(made.get(name))) for name in _builtins(cv2)),
        *((part, name, _front()) for part in parts for name in _builtins(part)),
        (cv2.CLAHE, "apply", _front()),
    )


def _builtins(module: ModuleType) -> list[str]:
    return [name for name, value in vars(module).items() if isinstance(value, BuiltinFunctionType)]


def _front(record: Callable[..., Any] | None = None) -> Make:
    """In front of a function: what `record(function, *arguments, **options)` makes in a thread that records; else, or
    where that is None, the function of real arrays."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        what = f"cv2.{original.__name__}"

        def front(*arguments: Any, **options: Any) -> Any:
            made = None if record is None or switch.current() is None else record(original, *arguments, **options)
            return original(*made_real(arguments, what), **made_real(options, what)) if made is None else made

        return front

    return make


def _opened(find: Callable[..., Any], original: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    try:
        source = find(*arguments, **options)
    except (TypeError, ValueError):  # OpenCV has its own words for wrong arguments
        source = None
    session = switch.current()
    if session is not None and session.streams and source is not None and not source.sound:
        source = None  # code may ask whether there is an image
    made = None if source is None else of_pixels(source.recipe(), "OpenCV", np.array)
    if made is None and session is not None:
        session.became_real(f"cv2.{original.__name__} of a file that the core leaves to OpenCV")
    return made


def _file(filename: Any, flags: int = cv2.IMREAD_COLOR) -> Any:
    return opencv.read_file(os.fsencode(filename), flags) if isinstance(filename, (str, bytes, os.PathLike)) else None


def _content(buf: Any, flags: int) -> Any:
    if type(buf) is not np.ndarray or buf.dtype != np.uint8 or not buf.flags.c_contiguous:
        return None
    return opencv.read(buf.tobytes(), flags)


# ---- functions of one array


def _of_first(
    steps: Callable[..., Picture | None], original: Callable[..., Any], *arguments: Any, **options: Any
) -> Any:
    """`steps` says what a call does to a picture, from (size, mode, *arguments); None if the core has no such."""
    of_stand_in = bool(arguments) and type(arguments[0]) is StandInArray
    return record_call(original, steps, *arguments, **options) if of_stand_in else None


def _converted(size: Any, mode: str, code: int, dst: Any = None, dstCn: int = 0) -> Picture | None:  # noqa: N803
    known = _CONVERSIONS | _FUSED_CONVERSIONS if opencv.fuses() else _CONVERSIONS
    before, steps, after = known.get(code, ("", (), ""))
    return (steps, size, after) if before == mode and dst is None and dstCn == 0 else None


def _resized(
    size: Any,
    mode: str,
    dsize: Any,
    dst: Any = None,
    fx: float = 0,
    fy: float = 0,
    interpolation: int = cv2.INTER_LINEAR,
) -> Picture | None:
    if dst is not None or interpolation not in _FILTERS:
        return None
    if dsize is None or tuple(dsize) == (0, 0):
        made = round(size[0] * fx), round(size[1] * fy)
        # OpenCV resizes by the factors it was given, the core by those of the sizes.
        if min(made) < 1 or (made[0] / size[0], made[1] / size[1]) != (fx, fy):
            return None
    else:
        made = operator.index(dsize[0]), operator.index(dsize[1])
        if len(dsize) != 2:
            return None
    if not all(0 < side < _SIDE_MAX for side in made):
        return None
    return () if made == size else (_steps.resize(*made, _FILTERS[interpolation]),), made, mode


def _flipped(size: Any, mode: str, flipCode: int, dst: Any = None) -> Picture | None:  # noqa: N803
    code = operator.index(flipCode)
    across = (_steps.FLIP_HORIZONTAL,) if code != 0 else ()
    down = (_steps.FLIP_VERTICAL,) if code <= 0 else ()
    return ((*across, *down), size, mode) if dst is None else None


def _transposed(size: Any, mode: str, dst: Any = None) -> Picture | None:
    return (_steps.TRANSPOSE, size[::-1], mode) if dst is None else None


def _rotated(size: Any, mode: str, rotateCode: int, dst: Any = None) -> Picture | None:  # noqa: N803
    steps, exchanged = _ROTATIONS.get(rotateCode, (None, False))
    return None if steps is None or dst is not None else (steps, size[::-1] if exchanged else size, mode)


def _warped(
    size: Any,
    mode: str,
    M: Any,  # noqa: N803
    dsize: Any,
    dst: Any = None,
    flags: int = cv2.INTER_LINEAR,
    borderMode: int = cv2.BORDER_CONSTANT,  # noqa: N803
    borderValue: Any = None,  # noqa: N803
) -> Picture | None:
    fill, made = _scalar(borderValue), (operator.index(dsize[0]), operator.index(dsize[1]))
    filtering = flags & ~cv2.WARP_INVERSE_MAP
    # The core's nearest neighbours are no faster than OpenCV's but for masks.
    is_mask = filtering == cv2.INTER_NEAREST and mode == "L" and borderMode == cv2.BORDER_CONSTANT
    if dst is not None or fill is None or borderMode not in _BORDERS or not (filtering == cv2.INTER_LINEAR or is_mask):
        return None
    if type(M) is not np.ndarray or M.shape != (2, 3) or M.dtype not in (np.float32, np.float64) or len(dsize) != 2:
        return None
    if not opencv.fuses() or not all(0 < side < _WARP_SIDE_MAX for side in (*size, *made)):
        return None
    matrix = [float(number) for number in M.flat]
    if not flags & cv2.WARP_INVERSE_MAP:
        matrix = opencv.inverted(matrix)
    # Farther away OpenCV's float32 and whole numbers do as they like.
    reach = [abs(a) * made[0] + abs(b) * made[1] + abs(c) for a, b, c in (matrix[:3], matrix[3:])]
    if not max(reach) < _WARP_REACH:
        return None
    step = _steps.opencv_affine(
        matrix, filtering == cv2.INTER_LINEAR, made, _BORDERS[borderMode], fill[:3] if mode == "RGB" else fill[:1]
    )
    return (step,), made, mode


def _bordered(
    size: Any,
    mode: str,
    top: int,
    bottom: int,
    left: int,
    right: int,
    borderType: int,  # noqa: N803
    dst: Any = None,
    value: Any = None,
) -> Picture | None:
    sides = operator.index(left), operator.index(top), operator.index(right), operator.index(bottom)
    if dst is not None or borderType not in _BORDERS or not all(0 <= side < _SIDE_MAX for side in sides):
        return None
    fill = _scalar(value)
    if fill is None:
        return None
    made = size[0] + sides[0] + sides[2], size[1] + sides[1] + sides[3]
    fill = fill[:3] if mode == "RGB" else fill[:1]
    return (_steps.pad(*sides, _BORDERS[borderType], fill),) if any(sides) else (), made, mode


def _scalar(value: Any) -> tuple[int, ...] | None:
    """The four bytes that OpenCV makes of a colour; None if they are not whole, or too large."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    numbers = () if value is None else tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if len(numbers) > 4 or not all(isinstance(n, (int, float, np.number)) and n in range(256) for n in numbers):
        return None
    return (*map(int, numbers), 0, 0, 0, 0)[:4]


def _looked_up(original: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    if len(arguments) != 2 or options or type(arguments[0]) is not StandInArray:
        return None
    array, table = arguments
    if type(table) is not np.ndarray or table.nbytes > 1 << 14 or table.dtype.hasobject:
        return None
    kept = table.copy()
    key = ("cv2.LUT", table.dtype.str, table.shape, table.tobytes())
    return record_function(key, lambda each: original(each, kept), (array,))


def _merged(original: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """One channel three times."""
    channels = arguments[0] if len(arguments) == 1 and not options else None
    if not isinstance(channels, (list, tuple)) or [type(each) for each in channels] != [StandInArray] * 3:
        return None
    first = channels[0]
    same = all(each is first for each in channels)
    return record_pixels(first, lambda grey: original([grey] * 3), _in_three) if same else None


def _in_three(size: tuple[int, int], mode: str) -> Picture | None:
    return ((_steps.grayscale(3),), size, "RGB") if mode == "L" else None
