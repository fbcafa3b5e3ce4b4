"""scikit-image's behaviours."""

from __future__ import annotations

from typing import Any

import numpy as np

from .behaviour import Behaviour, Late, picture
from .readers import reads
from .resize import zoomed

io: Any = Late("skimage.io")
transform: Any = Late("skimage.transform")
scipy: Any = Late("goloader.adapters.scipy")

# (height, width) before and after: both shrink, both grow, or one of either; some by so much that what smooths them
# reaches beyond both ends.
_SIZES = (((31, 44), (23, 30)), ((9, 7), (40, 61)), ((20, 6), (11, 25)), ((33, 50), (3, 50)), ((12, 90), (30, 7)))


def _resizes() -> bool:
    same = True
    for size, out in _SIZES:
        weights = tuple(map(scipy.smoothing, size, out))
        for channels in (1, 3):
            pixels = picture(size[1], size[0], channels)
            for keep in (False, True):
                numbers = pixels.astype(np.float64) * (1.0 if keep else 1.0 / 255)
                made = transform.resize(pixels, out, preserve_range=keep)
                same = same and made.dtype == np.float64 and np.array_equal(made, zoomed(numbers, out, weights))
    return same


BEHAVIOURS = {
    "skimage.read": Behaviour("skimage.io", "reader of images", lambda: reads(io.imread, np.array, np.array)),
    "skimage.resize": Behaviour("skimage.transform._warps", "resize", _resizes),
}
