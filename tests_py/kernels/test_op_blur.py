"""Blurs of core/op against Pillow: every byte, with every set of kernels."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from op_library import BOX_BLUR, Bytes, Pass, Worker, identity, noise, planar, side
from PIL import Image, ImageFilter

from goloader._steps import filter_of


def blurring(chosen: ImageFilter.Filter) -> list[Pass]:
    """The pass for a filter, with the numbers of its step."""
    found = filter_of(chosen)
    assert found is not None
    return [
        Pass(kind=BOX_BLUR, radius=(across, down), times=times)
        for across, down, times in (struct.unpack("<2fI", step[32:]) for step in found[1])
    ]


def check(worker: Worker, pixels: Bytes, chosen: ImageFilter.Filter) -> None:
    passes = blurring(chosen) or [Pass(kind=BOX_BLUR, times=1)]
    channels = 1 if pixels.ndim == 2 else 3
    got = worker.run(pixels, passes, pixels.shape[1::-1], identity(channels))
    assert np.array_equal(got, planar(Image.fromarray(pixels).filter(chosen))), (pixels.shape, chosen.radius)


def picture(rng: np.random.Generator) -> Bytes:
    pixels = noise(rng, side(rng), side(rng))
    return np.ascontiguousarray(pixels[..., 0]) if rng.random() < 0.3 else pixels


@pytest.mark.parametrize("kind", [ImageFilter.GaussianBlur, ImageFilter.BoxBlur])
def test_blurs_equal_pillow(worker: Worker, kind: type[ImageFilter.Filter]) -> None:
    rng = np.random.default_rng(0)
    for _ in range(150):
        pair = tuple(0.0 if rng.random() < 0.1 else float(np.exp(rng.uniform(-7, 6))) for _ in range(2))
        check(worker, picture(rng), kind(pair if rng.random() < 0.5 else pair[0]))


@pytest.mark.parametrize("radius", [0, 1, 2, 63, 64, 65, 127, 128, 1e-30, 1e-4, 0.5, 1.9999999, (0, 3), (7, 0), 1e5])
def test_blurs_of_any_radius_equal_pillow(worker: Worker, radius: float) -> None:
    rng = np.random.default_rng(1)
    for width, height in ((1, 1), (1, 90), (70, 1), (2, 3), (64, 65), (300, 17)):
        for kind in (ImageFilter.GaussianBlur, ImageFilter.BoxBlur):
            check(worker, noise(rng, width, height), kind(radius))


def test_what_pillow_refuses_is_left_to_it() -> None:
    for radius in (float("nan"), float("inf"), "2", None, (1,), (1, 2, 3), [1, 2], (1, "2"), 1e7):
        assert filter_of(ImageFilter.GaussianBlur(radius)) is None
    assert filter_of(ImageFilter.MedianFilter(3)) is None
    changed = ImageFilter.BoxBlur(2)
    changed.radius = -1
    assert filter_of(changed) is None
