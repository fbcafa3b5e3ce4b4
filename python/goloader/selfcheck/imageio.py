"""imageio's behaviours."""

from __future__ import annotations

from typing import Any

import numpy as np

from .behaviour import Behaviour, Late
from .readers import reads


def _row(module: str) -> Behaviour:
    of: Any = Late(module)
    return Behaviour(module, "reader of images", lambda: reads(of.imread, np.array, np.array))


BEHAVIOURS = {"imageio.read.v2": _row("imageio.v2"), "imageio.read.v3": _row("imageio.v3")}
