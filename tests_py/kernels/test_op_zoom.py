"""scikit-image's resize, bit for bit, with every set of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from op_library import HORIZONTAL, VERTICAL, ZOOM, Pass, Window, Worker, noise, side, window
from skimage.transform import resize

from goloader.adapters.scipy import smoothing


def zoom(pixels: Any, width: int, height: int, scale: float, out: Window, flip: int) -> Pass:
    one = Pass(kind=ZOOM, width=width, height=height, out=out, flip=flip)
    one.matrix[0] = scale
    for axis, weights in enumerate((smoothing(pixels.shape[1], width), smoothing(pixels.shape[0], height))):
        one.smooth[axis][: len(weights)] = weights
    return one


def test_zooms_equal_scikit_image(worker: Worker) -> None:
    rng = np.random.default_rng(0)
    for _ in range(150):
        pixels = noise(rng, side(rng), side(rng))
        if rng.random() < 0.3:
            pixels = np.ascontiguousarray(pixels[..., 0])
        if rng.random() < 0.1:
            pixels[...] = rng.integers(256)  # rounding would go beyond its one number
        height, width = (max(side(rng) % 400, -(-length // 16)) for length in pixels.shape[:2])
        keep, dtype = bool(rng.random() < 0.5), (np.float64, np.float32)[rng.integers(2)]
        want = resize(pixels, (height, width), preserve_range=keep)
        want = want.reshape(height, width, -1).transpose(2, 0, 1)
        kept, flip = window(rng, width, height), int(rng.integers(4))
        want = want[:, kept.y : kept.y + kept.height, kept.x : kept.x + kept.width]
        want = want[:, :: -1 if flip & VERTICAL else 1, :: -1 if flip & HORIZONTAL else 1]
        one = zoom(pixels, width, height, 1.0 if keep else 1 / 255, kept, flip)
        table = np.zeros((want.shape[0], 256), dtype)
        got = worker.run(pixels, [one], (kept.width, kept.height), table)
        assert np.array_equal(got, want.astype(dtype)), (pixels.shape, width, height, keep, dtype, flip)
