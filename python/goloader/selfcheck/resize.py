"""Resizes, plainly written: Pillow's by every filter, and the orders of its two passes; torch's of floats;
scikit-image's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

# core/plan.PassOrder, newest first: of Pillow from 13.0, from 12.2, and before.
ORDERS = ("shrink_first", "tall_first", "horizontal_first")


def vertical_first(order: str, size: tuple[int, int], out: tuple[int, int]) -> bool:
    """Whether the vertical pass comes first; sizes are (width, height)."""
    (width, height), (out_width, out_height) = size, out
    if order == "tall_first":
        return height > 100 * width and out_height < height
    if order == "shrink_first":
        return height > out_height and height - out_height > 2 * (width - out_width)
    return False


def resized(pixels: NDArray[np.uint8], out: tuple[int, int], number: int, *, vertical: bool) -> NDArray[np.uint8]:
    """Pillow's resize of [height, width, ...] to (width, height) by filter `number`, plainly written.

    Source: Pillow, src/libImaging/Resample.c.
    """
    first, second = (0, 1) if vertical else (1, 0)
    for axis in (first, second):
        length = out[0] if axis == 1 else out[1]
        if pixels.shape[axis] != length:
            weights = _weights(pixels.shape[axis], length, number)
            moved = np.moveaxis(pixels.astype(np.int64), axis, 0)
            summed = (np.tensordot(weights, moved, axes=1) + (1 << 21)) >> 22
            pixels = np.moveaxis(np.clip(summed, 0, 255).astype(np.uint8), 0, axis)
    return pixels


def _weights(length: int, out: int, number: int) -> NDArray[np.int64]:
    """[out, length]: fixed-point weights, 22 bits of fraction."""
    scale = length / out
    stretch = max(scale, 1.0)
    kernel, reach = _KERNELS[number]
    support = reach * stretch
    table = np.zeros((out, length), np.int64)
    for place in range(out):
        centre = (place + 0.5) * scale
        low = max(int(centre - support + 0.5), 0)
        high = min(int(centre + support + 0.5), length)
        taps = [kernel((x - centre + 0.5) * (1.0 / stretch)) for x in range(low, high)]
        total = 0.0
        for tap in taps:
            total += tap
        for x, tap in enumerate(taps, low):
            share = tap / total if total else tap
            table[place, x] = int(share * (1 << 22) + (0.5 if share >= 0 else -0.5))
    return table


def resized_floats(values: NDArray[np.float32], out: int, group: int) -> NDArray[np.float32]:
    """torch's bilinear resize of the last axis of float32 numbers, plainly written (core/op/torch_float.c)."""
    single = np.float32
    length = values.shape[-1]
    scale = single(length) / single(out)
    support, inverse = max(scale, single(1)), single(1.0 / float(max(scale, single(1))))
    made = np.empty((*values.shape[:-1], out), single)
    for place in range(out):
        centre = single(float(scale) * (place + 0.5))
        low = max(int(float(centre - support) + 0.5), 0)
        high = min(int(float(centre + support) + 0.5), length)
        at = (np.arange(low, high, dtype=single) - centre).astype(np.float64) + 0.5
        weights = np.maximum(single(1) - np.abs((at * float(inverse)).astype(single)), single(0))
        weights = weights / weights.cumsum(dtype=single)[-1]
        parts = values[..., low:high]
        total = parts[..., 0] * weights[0]
        rounded = (high - low - 1) // group * group
        for n in range(1, high - low):
            if n <= rounded:
                total = total + parts[..., n] * weights[n]
            else:  # 48 bits of product and the sum fit a float64 closely enough
                total = (total + parts[..., n].astype(np.float64) * float(weights[n])).astype(single)
        made[..., place] = total
    return made


def zoomed(
    numbers: NDArray[np.float64], out: tuple[int, int], weights: Sequence[Sequence[float]]
) -> NDArray[np.float64]:
    """scikit-image's resize of [height, width, ...] to (height, width), plainly written (core/op/zoom.c).

    weights  that both axes are smoothed by: the middle one first, then those to either side
    """
    low, high = numbers.min(), numbers.max()
    for axis, (middle, *others) in enumerate(weights):
        at = np.arange(numbers.shape[axis])
        smooth = numbers * middle
        for reach, weight in reversed(tuple(enumerate(others, 1))):
            smooth += (_mirrored(numbers, at - reach, axis) + _mirrored(numbers, at + reach, axis)) * weight
        numbers = smooth
    made = np.zeros((*out, *numbers.shape[2:]))
    (rows, down), (columns, across) = (_between(numbers.shape[axis], out[axis]) for axis in (0, 1))
    for row, upper in zip(rows, down, strict=True):
        for column, left in zip(columns, across, strict=True):
            part = _mirrored(_mirrored(numbers, row, 0), column, 1)
            shares = [each.reshape(-1, *(1,) * (numbers.ndim - 1 - axis)) for axis, each in ((0, upper), (1, left))]
            made += part * shares[0] * shares[1]
    return np.clip(made, low, high)


def _mirrored(numbers: NDArray[np.float64], at: NDArray[np.int64], axis: int) -> NDArray[np.float64]:
    """Those at places along an axis that goes on beyond its ends mirrored."""
    last = numbers.shape[axis] - 1
    taken: NDArray[np.float64] = np.take(numbers, last - np.abs(last - np.abs(at) % (2 * last)), axis)
    return taken


def _between(length: int, out: int) -> tuple[tuple[NDArray[np.int64], ...], tuple[NDArray[np.float64], ...]]:
    """The two places between which each output lies, and the share of each."""
    centre = np.abs((np.arange(out) + 0.5) * (length / out) - 0.5)
    at = np.floor(centre)
    first = 1.0 - (centre - at)
    places = at.astype(np.int64)
    return (places, places + 1), (first, 1.0 - first)


# Pillow's are float constants of C: 0.54f and 0.46f.
_HAMMING_A, _HAMMING_B = float(np.float32(0.54)), float(np.float32(0.46))


def _hamming(x: float) -> float:
    x = abs(x)
    if x == 0.0:
        return 1.0
    if x >= 1.0:
        return 0.0
    x *= math.pi
    return math.sin(x) / x * (_HAMMING_A + _HAMMING_B * math.cos(x))


def _bicubic(x: float) -> float:
    a, x = -0.5, abs(x)
    if x < 1.0:
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1
    return (((x - 5) * x + 8) * x - 4) * a if x < 2.0 else 0.0


def _lanczos(x: float) -> float:
    return _sinc(x) * _sinc(x / 3) if -3.0 <= x < 3.0 else 0.0


def _sinc(x: float) -> float:
    return math.sin(x * math.pi) / (x * math.pi) if x else 1.0


# By Pillow's numbers, each with its reach.
_KERNELS: dict[int, tuple[Callable[[float], float], float]] = {
    1: (_lanczos, 3.0),
    2: (lambda x: max(1.0 - abs(x), 0.0), 1.0),  # bilinear
    3: (_bicubic, 2.0),
    4: (lambda x: 1.0 if -0.5 < x <= 0.5 else 0.0, 0.5),  # box
    5: (_hamming, 1.0),
}
