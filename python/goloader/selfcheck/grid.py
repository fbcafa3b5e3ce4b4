"""torchvision's affine transforms of tensors, plainly written: a grid, and grid_sample (core/op/torch_grid.h)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

# Bits of how torch adds products here: grid_sample with one rounding, and bmm.
FUSED_SAMPLE, FUSED_GRID = 1, 2
# Of fewer products bmm has a loop of its own.
_BMM_LEAST = 400


def sampled(pixels: Floats, matrix: Sequence[float], bilinear: bool, fused: int) -> Floats:
    """What torch makes of [channels, height, width] by 6 numbers, with zeros outside."""
    height, width = pixels.shape[1:]
    x, y = _places(matrix, width, height, fused)
    edge = np.zeros((len(pixels), height + 5, width + 5), np.float32)
    edge[:, 2 : height + 2, 2 : width + 2] = pixels

    def taken(column: Floats, line: Floats, right: int = 0, below: int = 0) -> Floats:
        rows, columns = (np.clip(at, -2, n).astype(int) + 2 for at, n in ((line, height), (column, width)))
        found: Floats = edge[:, rows + below, columns + right]
        return found

    if not bilinear:
        return taken(np.rint(x), np.rint(y))
    column, line = np.floor(x), np.floor(y)
    right, below = x - column, y - line
    left, above = np.float32(1) - right, np.float32(1) - below
    total = taken(column, line) * (above * left)
    for at, weight in (((1, 0), above * right), ((0, 1), below * left), ((1, 1), below * right)):
        total = _added(total, taken(column, line, *at), weight, bool(fused & FUSED_SAMPLE))
    return total


def _places(matrix: Sequence[float], width: int, height: int, fused: int) -> tuple[Floats, Floats]:
    """Where each pixel comes from."""
    across = np.arange(width, dtype=np.float32) - np.float32((width - 1) / 2)
    down = (np.arange(height, dtype=np.float32) - np.float32((height - 1) / 2))[:, None]
    is_fused = bool(fused & FUSED_GRID) and 6 * width * height >= _BMM_LEAST
    made = []
    for row, length in ((0, width), (3, height)):
        a, b, c = np.array(matrix[row : row + 3], np.float32) / np.float32(0.5 * length)
        grid = _added(across * a, down, b, is_fused) + c
        half, moved = np.float32(length) / np.float32(2), grid + np.float32(1)
        made.append(_added(np.full_like(moved, -0.5), moved, half, bool(fused & FUSED_SAMPLE)))
    return made[0], made[1]


def _added(total: Floats, one: Floats, other: Floats | np.float32, fused: bool) -> Floats:
    """A sum and a product; 48 bits of that and the sum fit a float64 closely enough."""
    if not fused:
        return total + one * other
    made: Floats = (total + one.astype(np.float64) * np.asarray(other, np.float64)).astype(np.float32)
    return made
