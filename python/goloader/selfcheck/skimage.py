"""scikit-image's behaviours."""

from __future__ import annotations

from typing import Any

import numpy as np

from .behaviour import Behaviour, Late
from .readers import reads

io: Any = Late("skimage.io")


BEHAVIOURS = {"skimage.read": Behaviour("skimage.io", "reader of images", lambda: reads(io.imread, np.array, np.array))}
