"""Affine and perspective transforms and quarter turns of core/op against Pillow: every byte."""

from __future__ import annotations

import math

import numpy as np
import pytest
from op_library import (
    AFFINE,
    HORIZONTAL,
    PERSPECTIVE,
    TURN,
    VERTICAL,
    Bytes,
    Pass,
    Worker,
    identity,
    noise,
    planar,
    side,
)
from PIL import Image

FILTERS = (Image.Resampling.NEAREST, Image.Resampling.BILINEAR, Image.Resampling.BICUBIC)


def picture(rng: np.random.Generator) -> Bytes:
    pixels = noise(rng, side(rng), side(rng))
    return np.ascontiguousarray(pixels[..., 0]) if rng.random() < 0.25 else pixels


def check(worker: Worker, pixels: Bytes, kind: int, matrix: tuple[float, ...], resampling: int, size: tuple[int, int],
          fill: tuple[int, ...]) -> None:  # fmt: skip
    channels = 1 if pixels.ndim == 2 else 3
    method = Image.Transform.AFFINE if kind == AFFINE else Image.Transform.PERSPECTIVE
    want = Image.fromarray(pixels).transform(
        size, method, matrix, resampling, fillcolor=fill[0] if channels == 1 else fill
    )
    one = Pass(kind=kind, width=size[0], height=size[1], filter=resampling)
    one.matrix[: len(matrix)] = matrix
    one.fill[:3] = fill
    got = worker.run(pixels, [one], size, identity(channels))
    assert np.array_equal(got, planar(want)), (pixels.shape, matrix, size)


def affine(rng: np.random.Generator, width: int, height: int) -> tuple[float, ...]:
    """As torchvision and timm make them: rotations, shears, whole and broken translations, scales, and anything."""
    kind = rng.integers(6)
    if kind == 0:
        angle = math.radians(float(rng.choice([rng.uniform(-180, 180), 45, 30, 135, 90, 60])))
        c, s = round(math.cos(angle), 15), round(math.sin(angle), 15)
        x, y = width / 2, height / 2
        return c, s, x - x * c - y * s, -s, c, y + x * s - y * c
    if kind == 1:
        shear = float(rng.uniform(-1, 1))
        return (1, shear, 0, 0, 1, 0) if rng.random() < 0.5 else (1, 0, 0, shear, 1, 0)
    if kind == 2:
        x, y = (float(v) for v in rng.integers(-60, 61, 2))
        return 1, 0, x, 0, 1, y
    if kind == 3:
        return (
            float(rng.uniform(-3, 3)),
            0,
            float(rng.uniform(-40, 40)),
            0,
            float(rng.uniform(-3, 3)),
            float(rng.normal()),
        )
    if kind == 4:  # beyond what 16.16 bits hold
        return tuple(float(v) for v in rng.normal(0, 1, 6) * rng.choice([1, 1e4, 1e6]))
    return tuple(float(v) for v in rng.normal(0, [1, 1, width / 2, 1, 1, height / 2]))


@pytest.mark.parametrize("resampling", FILTERS)
def test_affine_equals_pillow(worker: Worker, resampling: int) -> None:
    rng = np.random.default_rng(int(resampling))
    for _ in range(250):
        pixels = picture(rng)
        height, width = pixels.shape[:2]
        size = (width, height) if rng.random() < 0.7 else (side(rng), side(rng))
        fill = tuple(int(v) for v in rng.integers(0, 256, 3))
        check(worker, pixels, AFFINE, affine(rng, width, height), resampling, size, fill)


@pytest.mark.parametrize("resampling", FILTERS)
def test_perspective_equals_pillow(worker: Worker, resampling: int) -> None:
    rng = np.random.default_rng(10 + int(resampling))
    for _ in range(120):
        pixels = picture(rng)
        height, width = pixels.shape[:2]
        matrix = (*affine(rng, width, height), *(rng.normal(0, 1, 2) * rng.choice([0, 1e-4, 1e-3, 1e-1])).tolist())
        size = (width, height) if rng.random() < 0.7 else (side(rng), side(rng))
        check(worker, pixels, PERSPECTIVE, matrix, resampling, size, (0, 0, 0))


def test_pixels_at_the_edge_and_at_no_place_equal_pillow(worker: Worker) -> None:
    """Whole and half coordinates at the borders; 0 / 0, which is no number."""
    pixels = noise(np.random.default_rng(0), 9, 7)
    for resampling in FILTERS:
        for shift in (-9.5, -9, -0.5, -1e-17, 0.0, 0.5, 8.5, 9, 9.5):
            check(worker, pixels, AFFINE, (1, 0, shift, 0, 1, shift), resampling, (9, 7), (9, 8, 7))
            check(worker, pixels, AFFINE, (1, 1e-9, shift, 0, 1, shift), resampling, (9, 7), (9, 8, 7))
        check(worker, pixels, PERSPECTIVE, (1, 0, -0.5, 0, 1, -0.5, -2, 0), resampling, (9, 7), (0, 0, 0))


def test_quarter_turns_equal_pillow(worker: Worker) -> None:
    rng = np.random.default_rng(1)
    names = {
        0: Image.Transpose.ROTATE_90,
        HORIZONTAL | VERTICAL: Image.Transpose.ROTATE_270,
        VERTICAL: Image.Transpose.TRANSPOSE,
        HORIZONTAL: Image.Transpose.TRANSVERSE,
    }
    for _ in range(60):
        pixels = picture(rng)
        for flip, name in names.items():
            want = Image.fromarray(pixels).transpose(name)
            channels = 1 if pixels.ndim == 2 else 3
            got = worker.run(pixels, [Pass(kind=TURN, flip=flip)], want.size, identity(channels))
            assert np.array_equal(got, planar(want)), (pixels.shape, name)
