"""Colour, sharpness and histograms of core/op against Pillow and torchvision: every byte, with every set of kernels."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from op_library import (
    AUTOCONTRAST,
    CONTRAST,
    EQUALIZE,
    GREY,
    HUE,
    LOOKUP,
    SATURATION,
    SHARPNESS,
    TO_YCBCR,
    Bytes,
    Pass,
    Worker,
    identity,
    noise,
    planar,
    side,
)
from PIL import Image, ImageEnhance, ImageOps

ENHANCERS = {CONTRAST: ImageEnhance.Contrast, SATURATION: ImageEnhance.Color, SHARPNESS: ImageEnhance.Sharpness}
# The ends of what torchvision draws, what needs no clipping and what does, and values next to whole numbers in float32.
FACTORS = (0.0, 1.0, 0.3, 0.1, 0.7, 1.9, 2.0, 0.5, 1 / 3, 25.0, -0.8, 1e-9, 1e30, float(np.nextafter(np.float32(1), 2)))


def picture(rng: np.random.Generator) -> Bytes:
    """RGB or grey; noise, or a range of values only, as photos without contrast have."""
    pixels = noise(rng, side(rng), side(rng))
    if rng.random() < 0.5:
        low, high = sorted(rng.integers(0, 256, 2).tolist())
        pixels = np.clip(pixels, low, high)
    if rng.random() < 0.1:
        pixels[:] = pixels[0, 0]
    return np.ascontiguousarray(pixels[..., 0]) if rng.random() < 0.25 else pixels


def check(worker: Worker, pixels: Bytes, passes: list[Pass], want: Image.Image) -> None:
    channels = 1 if pixels.ndim == 2 else 3
    got = worker.run(pixels, passes, want.size, identity(channels))
    assert np.array_equal(got, planar(want)), (pixels.shape, [(each.kind, each.factor, each.shift) for each in passes])


def all_colours() -> Bytes:
    values = np.arange(256, dtype=np.uint8)
    return np.ascontiguousarray(np.stack(np.meshgrid(values, values, values, indexing="ij"), -1).reshape(4096, 4096, 3))


@pytest.mark.parametrize("kind", ENHANCERS)
def test_enhancers_equal_pillow(worker: Worker, kind: int) -> None:
    rng = np.random.default_rng(kind)
    for i in range(150):
        pixels = picture(rng)
        factor = FACTORS[i] if i < len(FACTORS) else float(rng.choice([rng.uniform(0, 2), rng.integers(0, 41) / 20]))
        want = ENHANCERS[kind](Image.fromarray(pixels)).enhance(factor)
        check(worker, pixels, [Pass(kind=kind, factor=factor)], want)


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (2, 2), (3, 3), (2, 40), (40, 3), (5, 67)])
def test_sharpness_leaves_the_outermost_pixels_alone(worker: Worker, shape: tuple[int, int]) -> None:
    pixels = noise(np.random.default_rng(0), *shape)
    for factor in (0.0, 1.7):
        want = ImageEnhance.Sharpness(Image.fromarray(pixels)).enhance(factor)
        check(worker, pixels, [Pass(kind=SHARPNESS, factor=factor)], want)


def test_the_blend_of_any_two_bytes_equals_pillow(worker: Worker) -> None:
    """All pairs of grey and colour bytes, by saturation of colours whose luma is known."""
    rng = np.random.default_rng(1)
    blend = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_float, ctypes.c_size_t, ctypes.c_void_p)
    one, other = (np.ascontiguousarray(each.ravel()) for each in np.mgrid[:256, :256].astype(np.uint8))
    function = blend(worker.kernel("blend"))
    for factor in (*FACTORS, *rng.uniform(-1, 3, 30).tolist(), *(np.arange(1, 20) / 10).tolist()):
        want = Image.blend(Image.fromarray(one[None]), Image.fromarray(other[None]), factor)
        got = np.empty_like(one)
        function(one.ctypes.data, other.ctypes.data, factor, one.size, got.ctypes.data)
        assert np.array_equal(got, np.asarray(want)[0]), factor


def test_luma_equals_pillow_for_all_colours(worker: Worker) -> None:
    pixels = all_colours()
    want = planar(Image.fromarray(pixels).convert("L"))
    got = worker.run(pixels, [Pass(kind=GREY, planes=1)], (4096, 4096), identity(1))
    assert np.array_equal(got, want)


def test_ycbcr_equals_pillow_for_all_colours(worker: Worker) -> None:
    check(worker, all_colours(), [Pass(kind=TO_YCBCR)], Image.fromarray(all_colours()).convert("YCbCr"))
    rng = np.random.default_rng(5)
    for _ in range(60):
        pixels = picture(rng)
        want = Image.fromarray(pixels).convert("YCbCr")
        got = worker.run(pixels, [Pass(kind=TO_YCBCR)], want.size, identity(3))
        assert np.array_equal(got, planar(want)), pixels.shape


@pytest.mark.parametrize("shift", [0, 25, 231])
def test_hue_equals_torchvision_for_all_colours(worker: Worker, shift: int) -> None:
    pixels = all_colours()
    h, s, v = Image.fromarray(pixels).convert("HSV").split()
    turned = Image.fromarray(np.asarray(h) + np.uint8(shift))
    check(worker, pixels, [Pass(kind=HUE, shift=shift)], Image.merge("HSV", (turned, s, v)).convert("RGB"))


def test_hue_equals_torchvision_for_all_shifts(worker: Worker) -> None:
    """Colours of each hue, saturation and value that Pillow's HSV can tell apart, thinned out, with every shift."""
    rng = np.random.default_rng(2)
    for shift in range(256):
        pixels = rng.integers(0, 256, (64, 128 + shift % 17, 3), dtype=np.uint8)
        h, s, v = Image.fromarray(pixels).convert("HSV").split()
        turned = Image.fromarray(np.asarray(h) + np.uint8(shift))
        check(worker, pixels, [Pass(kind=HUE, shift=shift)], Image.merge("HSV", (turned, s, v)).convert("RGB"))


def test_hue_of_a_grey_image_is_as_it_was(worker: Worker) -> None:
    pixels = noise(np.random.default_rng(3), 50, 20)[..., 0].copy()
    check(worker, pixels, [Pass(kind=HUE, shift=77)], Image.fromarray(pixels))


@pytest.mark.parametrize(("kind", "function"), [(AUTOCONTRAST, ImageOps.autocontrast), (EQUALIZE, ImageOps.equalize)])
def test_histogram_operations_equal_pillow(worker: Worker, kind: int, function: object) -> None:
    assert callable(function)
    rng = np.random.default_rng(kind)
    for _ in range(200):
        pixels = picture(rng)
        check(worker, pixels, [Pass(kind=kind)], function(Image.fromarray(pixels)))


def test_every_plane_is_looked_up_in_its_own_table(worker: Worker) -> None:
    rng = np.random.default_rng(4)
    for _ in range(60):
        pixels = picture(rng)
        table = rng.integers(0, 256, (3, 256), dtype=np.uint8)
        one = Pass(kind=LOOKUP)
        ctypes.memmove(one.table, table.ctypes.data, table.nbytes)
        channels = 1 if pixels.ndim == 2 else 3
        check(worker, pixels, [one], Image.fromarray(pixels).point(table[:channels].ravel().tolist()))


def test_chains_of_colour_equal_pillow_step_by_step(worker: Worker) -> None:
    rng = np.random.default_rng(5)
    for _ in range(100):
        pixels = picture(rng)
        image, passes = Image.fromarray(pixels), []
        for kind in rng.choice([*ENHANCERS, AUTOCONTRAST, EQUALIZE], int(rng.integers(2, 7))).tolist():
            factor = float(np.float32(rng.uniform(0, 2)))
            passes.append(Pass(kind=kind, factor=factor))
            if kind in ENHANCERS:
                image = ENHANCERS[kind](image).enhance(factor)
            else:
                image = ImageOps.autocontrast(image) if kind == AUTOCONTRAST else ImageOps.equalize(image)
        check(worker, pixels, passes, image)
