"""albumentations: its functions of pixels that are one thing to the core, and many to OpenCV and numpy.

Its other transforms need no hooks: they call numpy, OpenCV and albucore.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from albucore.functions import add_constant
from albumentations.augmentations.pixel import functional

from .... import _steps
from ..files import opencv
from ..stand_ins.array import Picture, StandInArray, record_call
from .albucore import by_table
from .swap import Hook, recorder

_RAMP = np.arange(256, dtype=np.uint8)


def hooks() -> tuple[Hook, ...]:
    return (
        Hook(functional, "invert", by_table(1, False)),
        Hook(functional, "channel_shuffle", recorder(partial(_recorded, _shuffled))),
        Hook(functional, "shift_hsv", recorder(partial(_recorded, _shifted))),
        Hook(functional, "_adjust_hue_torchvision_uint8", recorder(partial(_recorded, _turned))),
    )


def _recorded(find: Callable[..., Picture | None], original: Any, img: Any, *arguments: Any, **options: Any) -> Any:
    """`find` says what a call does to a picture, from (size, mode, *arguments); None if the core has no such."""
    if type(img) is not StandInArray or options:
        return None
    return record_call(original, find, img, *arguments)


def _shuffled(size: Any, mode: str, channels_shuffled: Any) -> Picture | None:
    channels = tuple(map(int, channels_shuffled))
    return ((_steps.select(channels),), size, mode) if mode == "RGB" and sorted(channels) == [0, 1, 2] else None


def _shifted(size: Any, mode: str, hue_shift: Any, sat_shift: Any, val_shift: Any) -> Picture | None:
    if not (hue_shift or sat_shift or val_shift):
        return None
    saturation = _added(sat_shift)
    saturation[0] = 0  # what is grey stays grey
    return _in_hsv(size, mode, _hues(hue_shift), saturation, _added(val_shift))


def _turned(size: Any, mode: str, factor: Any) -> Picture | None:
    return _in_hsv(size, mode, _hues(180 * factor), _RAMP, _RAMP)


def _hues(shift: Any) -> Any:
    return np.mod(np.arange(256, dtype=np.int16) + shift, 180).astype(np.uint8) if shift else _RAMP


def _added(shift: Any) -> Any:
    return add_constant(_RAMP[None].copy(), shift, inplace=True)[0] if shift else _RAMP.copy()


def _in_hsv(size: Any, mode: str, *tables: Any) -> Picture | None:
    """Hue, saturation and value by tables."""
    if mode != "RGB" or not opencv.fuses():
        return None
    table = b"".join(table.tobytes() for table in tables)
    return (_steps.OPENCV_TO_HSV, _steps.lookup(table), _steps.OPENCV_FROM_HSV), size, mode
