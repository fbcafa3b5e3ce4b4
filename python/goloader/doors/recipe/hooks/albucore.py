"""albucore, which albumentations calls for its arithmetic: functions of each number by itself.

Crops, flips, resizes and borders need no hooks: albumentations slices arrays and calls OpenCV.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from albucore import functions

from .... import _steps
from .. import switch
from ..array import StandInArray, record_function, record_pixels
from .swap import Hook

# Functions of bytes by a table; where among their arguments it stands that they write into the first one, and whether
# they do if nothing is said.
_BY_TABLE = {
    "sz_lut": (2, True),
    "multiply_add": (3, False),
    "multiply": (2, False),
    "add": (2, False),
    "power": (2, False),
}
# Every byte, in every channel.
_RAMPS = {2: np.arange(256, dtype=np.uint8)[None, :], 3: np.arange(256, dtype=np.uint8)[None, :, None].repeat(3, 2)}


def hooks() -> tuple[Hook, ...]:
    """What is hooked of albucore."""
    return (
        Hook(functions, "normalize", _normalize),
        Hook(functions, "to_float", _to_float),
        *(
            Hook(functions, name, partial(by_table, place=place, writes=writes))
            for name, (place, writes) in _BY_TABLE.items()
        ),
    )


def _normalize(original: Callable[..., Any]) -> Callable[..., Any]:
    def normalize(img: Any, mean: Any, denominator: Any) -> Any:
        if switch.current() is not None and type(img) is StandInArray:
            made = record_function("albucore.normalize", original, (img, mean, denominator))
            if made is not None:
                return made
        return original(img, mean, denominator)

    return normalize


def _to_float(original: Callable[..., Any]) -> Callable[..., Any]:
    def to_float(img: Any, max_value: Any) -> Any:
        if switch.current() is not None and type(img) is StandInArray:
            made = record_function("albucore.to_float", original, (img, max_value))
            if made is not None:
                return made
        return original(img, max_value)

    return to_float


def by_table(original: Callable[..., Any], place: int, writes: bool) -> Callable[..., Any]:
    """In front of a function of bytes by a table, whose argument at `place` says that it writes into the first one."""

    def function(img: Any, *values: Any, **options: Any) -> Any:
        if switch.current() is None or type(img) is not StandInArray or img.dtype != np.uint8:
            return original(img, *values, **options)
        into = values[place - 1] if len(values) >= place else options.get("inplace", writes)
        ramp = _RAMPS.get(img.ndim)
        # A value for each pixel is no table.
        if not into and ramp is not None and all(np.ndim(each) < 2 for each in (*values, *options.values())):
            kept = tuple(each.copy() if type(each) is np.ndarray else each for each in values)
            try:
                with switch.off():
                    made = original(ramp, *kept, **options)
            except Exception:  # to be raised again by the real image
                made = None
            if made is ramp:
                return img
            if type(made) is np.ndarray and made.dtype == np.uint8 and made.shape == ramp.shape:
                step = _steps.lookup(made[0].T.tobytes())
                found = record_pixels(
                    img, lambda real: original(real, *kept, **options), lambda size, mode: ((step,), size, mode)
                )
                if found is not None:
                    return found
        return original(img, *values, **options)

    return function
