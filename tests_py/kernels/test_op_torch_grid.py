"""Affine and perspective transforms of uint8 tensors: torchvision's, byte for byte, with every set of kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from op_library import TORCH_AFFINE, TORCH_PERSPECTIVE, Bytes, Pass, Worker, identity, noise, side
from torchvision.transforms import InterpolationMode, _functional_tensor
from torchvision.transforms.v2.functional import _geometry

from goloader import selfcheck
from goloader.selfcheck.grid import sampled

ZEROS, V1, V2 = range(3)
MODES = ((0, InterpolationMode.NEAREST), (2, InterpolationMode.BILINEAR))


def picture(rng: np.random.Generator) -> Bytes:
    pixels = noise(rng, side(rng), side(rng))[:300, :300]
    return np.ascontiguousarray(pixels[..., 0] if rng.random() < 0.25 else pixels)


def tensor_of(pixels: Bytes) -> torch.Tensor:
    return torch.from_numpy(pixels.reshape(*pixels.shape[:2], -1)).permute(2, 0, 1)


def check(worker: Worker, pixels: Bytes, kind: int, matrix: list[float], mode: Any, outside: int, fill: list[float],
          want: Callable[[Any], Any]) -> None:  # fmt: skip
    height, width = pixels.shape[:2]
    one = Pass(kind=kind, filter=mode[0], mode=outside, fused=selfcheck.value("torch.grid"))
    one.matrix[: len(matrix)] = matrix
    one.fill[:3] = [int(number) for number in (*fill, *fill, *fill)[:3]]
    image = tensor_of(pixels)
    expected = want(image).numpy()
    got = worker.run(pixels, [one], (width, height), identity(len(image)))
    assert np.array_equal(got, expected), (pixels.shape, kind, matrix, mode, outside, fill)


def filling(rng: np.random.Generator, pixels: Bytes) -> tuple[int, list[float], Any]:
    """How a pass fills what is outside, with what, and what torchvision is told of it."""
    outside = int(rng.integers(3))
    count = int(rng.choice([1, 1 if pixels.ndim == 2 else 3]))
    fill = [float(number) for number in rng.choice([0, 255, rng.integers(256)], count)]
    return outside, fill, None if outside == ZEROS else fill


def affine(rng: np.random.Generator, width: int, height: int) -> list[float]:
    """Rotations, shears, scales, moves, quarter turns, and anything."""
    kind = rng.integers(6)
    if kind == 0:
        angle = float(rng.choice([rng.uniform(-400, 400), 90, 180, 45, 30]))
        return _geometry._get_inverse_affine_matrix([0.0, 0.0], angle, [0.0, 0.0], 1.0, [0.0, 0.0])
    if kind == 1:
        return [1, 0, float(rng.integers(-9, 10)), 0, 1, float(rng.integers(-9, 10))]
    if kind == 2:
        return [float(v) for v in rng.normal(0, 1, 6) * rng.choice([1, 1e-3, 1e4, 1e9, 1e20, 1e36])]
    if kind == 3:
        return [float(v) for v in rng.normal(0, [1, 1, width / 2, 1, 1, height / 2])]
    center = [float(rng.uniform(-width, width)), float(rng.uniform(-height, height))]
    shear = [float(v) for v in rng.uniform(-40, 40, 2)]
    to = [float(v) for v in rng.uniform(-5, 5, 2)]
    return _geometry._get_inverse_affine_matrix(
        center if kind == 4 else [0.0, 0.0], float(rng.uniform(-30, 30)), to, float(rng.uniform(0.5, 2)), shear
    )


def affine_of_v1(matrix: list[float], mode: Any, fill: Any) -> Callable[[Any], Any]:
    return lambda image: _functional_tensor.affine(image, matrix, mode[1].value, fill)


def affine_of_v2(matrix: list[float], mode: Any, fill: Any) -> Callable[[Any], Any]:
    def made(image: Any) -> Any:
        height, width = image.shape[-2:]
        theta = torch.tensor(matrix, dtype=torch.float32).reshape(1, 2, 3)
        grid = _geometry._affine_grid(theta, w=width, h=height, ow=width, oh=height)
        return _geometry._apply_grid_transform(image, grid, mode[1].value, fill)

    return made


def test_torch_makes_grids_in_a_known_way() -> None:
    assert selfcheck.holds("torch.grid")


@pytest.mark.parametrize("mode", MODES)
def test_affine_equals_torchvision(worker: Worker, mode: Any) -> None:
    rng = np.random.default_rng(mode[0])
    for _ in range(250):
        pixels = picture(rng)
        outside, fill, told = filling(rng, pixels)
        matrix = affine(rng, pixels.shape[1], pixels.shape[0])
        made = affine_of_v1 if outside == V1 else affine_of_v2
        check(worker, pixels, TORCH_AFFINE, matrix, mode, outside, fill, made(matrix, mode, told))


@pytest.mark.parametrize("mode", MODES)
def test_perspective_equals_torchvision(worker: Worker, mode: Any) -> None:
    rng = np.random.default_rng(10 + mode[0])
    for _ in range(250):
        pixels = picture(rng)
        width = pixels.shape[1]
        outside, fill, told = filling(rng, pixels)
        matrix = [float(v) for v in rng.normal([1, 0, 0, 0, 1, 0, 0, 0], [0.3, 0.3, 9, 0.3, 0.3, 9, 1e-2, 1e-2])]
        if rng.random() < 0.3:  # no number at some places: a depth of 0
            matrix[6:] = [-1 / (int(rng.integers(width)) + 0.5), 0.0]
        if rng.random() < 0.1:
            matrix[2] = matrix[5] = 0.0
        functions: Any = _functional_tensor.perspective if outside == V1 else _geometry.perspective_image

        def want(image: Any, matrix: Any = matrix, told: Any = told, functions: Any = functions) -> Any:
            if functions is _functional_tensor.perspective:
                return functions(image, matrix, mode[1].value, told)
            return functions(image, None, None, mode[1], told, matrix)

        check(worker, pixels, TORCH_PERSPECTIVE, matrix, mode, outside, fill, want)


@pytest.mark.parametrize("mode", MODES)
def test_every_small_size(worker: Worker, mode: Any) -> None:
    rng = np.random.default_rng(3)
    for height in range(1, 12):
        for width in range(1, 12):
            pixels = noise(rng, width, height)
            matrix = affine(rng, width, height)
            check(worker, pixels, TORCH_AFFINE, matrix, mode, V2, [9.0], affine_of_v2(matrix, mode, [9.0]))


@pytest.mark.parametrize("fused", range(4))
@pytest.mark.parametrize("mode", MODES)
def test_all_ways_to_add_are_as_plainly_written(worker: Worker, mode: Any, fused: int) -> None:
    rng = np.random.default_rng(fused)
    for width, height in ((8, 8), (9, 8), (61, 40), (300, 120)):
        pixels = noise(rng, width, height)
        matrix = affine(rng, width, height)
        one = Pass(kind=TORCH_AFFINE, filter=mode[0], mode=ZEROS, fused=fused)
        one.matrix[:6] = matrix
        got = worker.run(pixels, [one], (width, height), identity())
        want = sampled(pixels.transpose(2, 0, 1).astype(np.float32), matrix, mode[0] == 2, fused)
        assert np.array_equal(got, np.rint(want).astype(np.uint8))
