"""Colours of uint8 tensors: torchvision's, byte for byte, with every set of kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from op_library import TORCH_COLOUR, Pass, Worker, identity, noise, side
from torchvision.transforms.v2 import functional as F

from goloader import selfcheck

GREY, CONTRAST, SATURATION, SHARPNESS, HUE, AUTOCONTRAST = range(6)
FACTORS = (0.0, 1.0, 0.3, 0.5, 1 / 3, 1.9, 2.0, 25.0, 1e-9, float(np.nextafter(np.float32(1), 2)))


def check(worker: Worker, pixels: Any, mode: int, function: Callable[..., Any], factor: float | None = None) -> None:
    one = Pass(kind=TORCH_COLOUR, mode=mode, fused=selfcheck.value("torch.add"))
    if factor is not None:
        one.factor, one.rest = factor, 1.0 - factor
    image = torch.from_numpy(pixels.reshape(*pixels.shape[:2], -1)).permute(2, 0, 1).contiguous()
    want = (function(image) if factor is None else function(image, factor)).numpy()
    got = worker.run(pixels, [one], (want.shape[2], want.shape[1]), identity(want.shape[0]))
    assert np.array_equal(got, want), (pixels.shape, mode, factor)


def all_colours() -> Any:
    values = np.arange(256, dtype=np.uint8)
    return np.ascontiguousarray(np.stack(np.meshgrid(values, values, values, indexing="ij"), -1).reshape(4096, 4096, 3))


def test_torch_adds_in_a_known_way() -> None:
    assert selfcheck.holds("torch.add")


@pytest.mark.parametrize("mode", [CONTRAST, SATURATION, SHARPNESS])
def test_blends_equal_torchvision(worker: Worker, mode: int) -> None:
    function = {
        CONTRAST: F.adjust_contrast,
        SATURATION: F.adjust_saturation,
        SHARPNESS: F.adjust_sharpness,
    }[mode]
    rng = np.random.default_rng(mode)
    for i in range(200):
        pixels = noise(rng, side(rng), side(rng))[:200, :300].copy()
        if mode != SATURATION and rng.random() < 0.3:
            pixels = np.ascontiguousarray(pixels[..., 0])
        factor = FACTORS[i] if i < len(FACTORS) else float(np.float32(rng.uniform(0, 2)))
        check(worker, pixels, mode, function, factor)


@pytest.mark.parametrize("factor", [0.0, 0.7, 1.6180339])
def test_saturation_of_every_colour(worker: Worker, factor: float) -> None:
    check(worker, all_colours(), SATURATION, F.adjust_saturation, factor)


def test_grey_of_every_colour(worker: Worker) -> None:
    check(worker, all_colours(), GREY, F.rgb_to_grayscale)


@pytest.mark.parametrize("factor", [-0.5, -0.1, 0.0, 1e-9, -1e-9, 0.25, 0.3333, 0.5])
def test_hue_of_every_colour(worker: Worker, factor: float) -> None:
    pixels = all_colours()
    check(worker, pixels if factor in (-0.1, 0.3333) else pixels[::7, ::5].copy(), HUE, F.adjust_hue, factor)


def test_autocontrast_equals_torchvision(worker: Worker) -> None:
    rng = np.random.default_rng(5)
    for _ in range(100):
        pixels = noise(rng, side(rng), side(rng))
        low, high = sorted(rng.integers(0, 256, 2).tolist())
        pixels = np.clip(pixels, low, high)
        check(worker, pixels if rng.random() < 0.7 else pixels[..., 0].copy(), AUTOCONTRAST, F.autocontrast)


def test_an_image_whose_mean_torch_would_round_is_refused(worker: Worker) -> None:
    with pytest.raises(AssertionError):
        check(worker, np.zeros((257, 257, 3), np.uint8), CONTRAST, F.adjust_contrast, 0.5)
