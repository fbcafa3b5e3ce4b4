"""SciPy: the weights of its Gaussian filters, which are numpy's exponentials and so differ from machine to machine."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy import ndimage

# Where ndimage cuts a Gaussian off, in standard deviations.
_REACH = 4.0


@lru_cache(maxsize=256)
def smoothing(length: int, out: int) -> tuple[float, ...]:
    """What scikit-image weighs an axis by before it is resized: the middle number first, then those to either side."""
    deviation = max(0.0, (length / out - 1) / 2)
    radius = int(_REACH * deviation + 0.5)
    if radius == 0:
        return (1.0,)
    alone = np.zeros(2 * radius + 1)
    alone[radius] = 1.0
    # Of a number among zeros it makes just the weights.
    weights: list[float] = ndimage.gaussian_filter1d(alone, deviation, mode="constant")[radius:].tolist()
    return tuple(weights)
