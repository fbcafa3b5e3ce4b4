"""albumentations: its functions of pixels that are one thing to the core, and many to OpenCV and numpy.

Its other transforms need no hooks: they call numpy, OpenCV and albucore.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from albumentations.augmentations.pixel import functional

from ... import _steps
from .. import switch
from ..array import Picture, StandInArray, record_pixels
from .albucore import by_table
from .swap import Swap

__all__ = ["swaps"]


def swaps() -> tuple[Swap, ...]:
    """What is hooked of albumentations."""
    return (
        Swap(functional.invert, partial(by_table, place=1, writes=False)),
        Swap(functional.channel_shuffle, partial(_recorded, find=_shuffled)),
    )


def _recorded(original: Callable[..., Any], find: Callable[..., Picture | None]) -> Callable[..., Any]:
    """`find` says what a call does to a picture, from (size, mode, *arguments); None if the core has no such."""

    def function(img: Any, *arguments: Any) -> Any:
        if switch.current() is not None and type(img) is StandInArray:
            made = record_pixels(
                img, lambda real: original(real, *arguments), lambda size, mode: find(size, mode, *arguments)
            )
            if made is not None:
                return made
        return original(img, *arguments)

    return function


def _shuffled(size: Any, mode: str, channels_shuffled: Any) -> Picture | None:
    channels = tuple(map(int, channels_shuffled))
    return ((_steps.select(channels),), size, mode) if mode == "RGB" and sorted(channels) == [0, 1, 2] else None
