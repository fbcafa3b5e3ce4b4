"""scikit-image: its plugin that reads by imageio."""

from __future__ import annotations

from typing import Any

import numpy as np
from imageio.v3 import imread
from skimage.io._plugins import imageio_plugin

from .. import switch
from ..stand_ins.array import StandInArray
from .swap import Hook


def hooks() -> tuple[Hook, ...]:
    return (Hook(imageio_plugin, "imread", _read),) if switch.holds("skimage.read") else ()


def _read(original: Any, *arguments: Any, **options: Any) -> Any:
    """It asks whether imageio's array may be written to, and copies one that may not."""
    if switch.current() is None:
        return original(*arguments, **options)
    made: Any = imread(*arguments, **options)
    if type(made) is StandInArray:
        return made
    array = np.asarray(made)
    return array if array.flags["WRITEABLE"] else array.copy()
