"""scikit-image's resize of bytes to float64, which the core does in C."""

from __future__ import annotations

import operator
from typing import Any

from skimage.transform import _warps

from .... import _steps
from ....adapters.scipy import smoothing
from .. import switch
from ..stand_ins.array import StandInArray, made_real, record_zoom
from .swap import Hook

_SIDE_MAX = 1 << 20


def hooks() -> tuple[Hook, ...]:
    """What is hooked of scikit-image."""
    return (Hook(_warps, "resize", _resize),) if switch.holds("skimage.resize") else ()


def _resize(
    original: Any,
    image: Any,
    output_shape: Any,
    order: Any,
    mode: Any,
    cval: Any,
    clip: Any,
    preserve_range: Any,
    anti_aliasing: Any,
    anti_aliasing_sigma: Any,
) -> Any:
    if type(image) is StandInArray and switch.current() is not None:
        known = type(cval) in (int, float) and anti_aliasing_sigma is None
        if known and (order, mode, clip) in ((None, "reflect", True), (1, "reflect", True)):
            made = _recorded(original, image, output_shape, preserve_range, anti_aliasing)
            if made is not None:
                return made
    image = made_real(image, "skimage.transform.resize")
    others = mode, cval, clip, preserve_range, anti_aliasing, anti_aliasing_sigma
    return original(image, output_shape, order, *others)


def _recorded(original: Any, image: StandInArray, output_shape: Any, preserve_range: Any, anti_aliasing: Any) -> Any:
    if type(preserve_range) is not bool or not (anti_aliasing is None or type(anti_aliasing) is bool):
        return None
    try:
        shape = tuple(map(operator.index, output_shape))
    except TypeError:  # it has its own words for wrong arguments
        return None
    whole = shape if len(shape) == image.ndim else (*shape, *image.shape[2:])
    if len(shape) < 2 or whole != (*shape[:2], *image.shape[2:]):
        return None
    size = shape[1], shape[0]
    if not all(0 < side < _SIDE_MAX for side in size):
        return None
    weights = [
        (1.0,) if anti_aliasing is False else smoothing(length, out)
        for length, out in zip((image.shape[1], image.shape[0]), size, strict=True)
    ]
    if max(map(len, weights)) > _steps.SMOOTH_MAX:
        return None

    def function(real: Any) -> Any:
        return original(real, shape, preserve_range=preserve_range, anti_aliasing=anti_aliasing)

    scale = 1.0 if preserve_range else 1.0 / 255
    return record_zoom(image, function, size, _steps.zoom(*size, scale, *weights), scale)
