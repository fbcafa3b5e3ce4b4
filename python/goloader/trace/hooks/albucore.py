"""albucore, which albumentations calls for its arithmetic: functions of each number by itself.

Crops, flips, resizes and borders need no hooks: albumentations slices arrays and calls OpenCV.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from albucore import functions

from .. import switch
from ..array import StandInArray, record_function
from .swap import Swap

__all__ = ["swaps"]


def swaps() -> tuple[Swap, ...]:
    """What is hooked of albucore."""
    return Swap(functions.normalize, _normalize), Swap(functions.to_float, _to_float)


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
