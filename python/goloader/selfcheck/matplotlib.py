"""matplotlib's behaviours."""

from __future__ import annotations

from typing import Any

import numpy as np

from .behaviour import Behaviour, Late
from .readers import reads

image: Any = Late("matplotlib.image")


def _look() -> bool:
    return reads(image.imread, np.asarray, lambda png: np.divide(png, 255, dtype=np.float32))


BEHAVIOURS = {"matplotlib.read": Behaviour("matplotlib.image", "reader of images", _look)}
