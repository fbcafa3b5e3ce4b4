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
from ..stand_ins.array import StandInArray, record_function, record_pixels
from .swap import Hook, recorder

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
    return (
        Hook(functions, "normalize", _normalize),
        Hook(functions, "to_float", _to_float),
        *(Hook(functions, name, by_table(*known)) for name, known in _BY_TABLE.items()),
    )


@recorder
def _normalize(original: Any, img: Any, mean: Any, denominator: Any) -> Any:
    return _recorded("albucore.normalize", original, img, mean, denominator)


@recorder
def _to_float(original: Any, img: Any, max_value: Any) -> Any:
    return _recorded("albucore.to_float", original, img, max_value)


def _recorded(name: str, original: Any, img: Any, *values: Any) -> Any:
    return record_function(name, original, (img, *values)) if type(img) is StandInArray else None


def by_table(place: int, writes: bool) -> Callable[..., Any]:
    """In front of a function of bytes by a table, whose argument at `place` says that it writes into the first one."""
    return recorder(partial(_by_table, place, writes))


def _by_table(place: int, writes: bool, original: Any, img: Any, *values: Any, **options: Any) -> Any:
    if type(img) is not StandInArray or img.dtype != np.uint8:
        return None
    into = values[place - 1] if len(values) >= place else options.get("inplace", writes)
    ramp = _RAMPS.get(img.ndim)
    # A value for each pixel is no table.
    if into or ramp is None or any(np.ndim(each) >= 2 for each in (*values, *options.values())):
        return None
    kept = tuple(each.copy() if type(each) is np.ndarray else each for each in values)
    try:
        with switch.off():
            made = original(ramp, *kept, **options)
    except Exception:  # to be raised again by the real image
        return None
    if made is ramp:
        return img
    if type(made) is not np.ndarray or made.dtype != np.uint8 or made.shape != ramp.shape:
        return None
    step = _steps.lookup(made[0].T.tobytes())
    return record_pixels(img, lambda real: original(real, *kept, **options), lambda size, mode: ((step,), size, mode))
