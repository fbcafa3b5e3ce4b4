"""core/op's resizes, grey and borders against OpenCV itself, and its resizes of bytes against torch: every byte."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
import torch
from op_library import (
    AFFINE,
    FROM_HSV,
    GREY,
    HORIZONTAL,
    MODES,
    PAD,
    TO_HSV,
    VERTICAL,
    Bytes,
    Pass,
    Window,
    Worker,
    identity,
    noise,
    resample,
    side,
    window,
)

OPENCV = {32: cv2.INTER_NEAREST, 33: cv2.INTER_LINEAR, 34: cv2.INTER_AREA}
TORCH = {16: "bilinear", 17: "bicubic"}
BORDERS = {
    "constant": cv2.BORDER_CONSTANT,
    "edge": cv2.BORDER_REPLICATE,
    "reflect": cv2.BORDER_REFLECT_101,
    "symmetric": cv2.BORDER_REFLECT,
}
GREY_OPENCV = 1


def by_opencv(pixels: Bytes, width: int, height: int, number: int) -> Bytes:
    """[h, w, 3] of the same; OpenCV leaves out an extent of 1 at the end only of one channel."""
    return np.asarray(cv2.resize(pixels, (width, height), interpolation=OPENCV[number]), np.uint8)


def by_torch(pixels: Bytes, width: int, height: int, number: int) -> Bytes:
    if (width, height) == (pixels.shape[1], pixels.shape[0]):
        return pixels
    image = torch.from_numpy(np.ascontiguousarray(pixels)).permute(2, 0, 1)[None]
    made = torch.nn.functional.interpolate(image, size=(height, width), mode=TORCH[number], antialias=True)
    return np.ascontiguousarray(made[0].permute(1, 2, 0).numpy())


def flipped(pixels: Bytes, flip: int) -> Bytes:
    if flip & HORIZONTAL:
        pixels = pixels[:, ::-1]
    if flip & VERTICAL:
        pixels = pixels[::-1]
    return np.ascontiguousarray(pixels)


def cropped(pixels: Bytes, w: Window) -> Bytes:
    return np.ascontiguousarray(pixels[w.y : w.y + w.height, w.x : w.x + w.width])


def planar(pixels: Bytes) -> Bytes:
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))


def sizes(rng: np.random.Generator) -> tuple[int, int, int, int]:
    """Of an image and of what it is resized to, with whole factors among them."""
    w, h, width, height = (side(rng) for _ in range(4))
    kind = rng.random()
    if kind < 0.15:
        w, h = min(2 * width, 900), min(2 * height, 900)
    elif kind < 0.3:
        w, h = min(int(rng.integers(1, 5)) * width, 900), min(int(rng.integers(1, 5)) * height, 900)
    elif kind < 0.4:
        width = w
    elif kind < 0.5:
        height = h
    elif kind < 0.7:
        width, height = max(w // int(rng.integers(1, 4)), 1), max(h // int(rng.integers(1, 4)), 1)
    return w, h, width, height


@pytest.mark.parametrize("number", [*OPENCV, *TORCH])
def test_resizes_equal_those_of_their_library(worker: Worker, number: int) -> None:
    rng = np.random.default_rng(number)
    resize = by_opencv if number in OPENCV else by_torch
    for _ in range(200):
        w, h, width, height = sizes(rng)
        if number in TORCH and (width, height) == (1, 1):
            continue  # torch raises an internal error
        pixels = noise(rng, w, h)
        want = planar(resize(pixels, width, height, number))
        got = worker.run(pixels, [resample(Window(0, 0, w, h), width, height, number)], (width, height), identity())
        assert np.array_equal(got, want), (w, h, width, height)


@pytest.mark.parametrize(
    ("w", "h", "width", "height"),
    [(1, 1, 300, 300), (1, 900, 5, 7), (900, 1, 7, 5), (3000, 11, 2, 11), (11, 3000, 11, 2), (2, 3, 1500, 40),
     (5000, 2, 1, 2), (2, 5000, 2, 1), (64, 64, 64, 1), (129, 65, 128, 64), (2600, 40, 224, 224), (98, 49, 2, 1)],
)  # fmt: skip
def test_extreme_resizes_equal_those_of_their_library(worker: Worker, w: int, h: int, width: int, height: int) -> None:
    pixels = noise(np.random.default_rng(w + h), w, h)
    for number in [*OPENCV, *TORCH]:
        want = planar((by_opencv if number in OPENCV else by_torch)(pixels, width, height, number))
        got = worker.run(pixels, [resample(Window(0, 0, w, h), width, height, number)], (width, height), identity())
        assert np.array_equal(got, want), number


def test_crop_resize_crop_flip_in_one_pass_equals_one_by_one(worker: Worker) -> None:
    rng = np.random.default_rng(1)
    numbers = [*OPENCV, *TORCH]
    for _ in range(500):
        number = numbers[rng.integers(len(numbers))]
        w, h, width, height = sizes(rng)
        pixels, src = noise(rng, w, h), window(rng, w, h)
        if rng.random() < 0.3:
            src = Window(0, 0, w, h)
        if number in TORCH and (width, height) == (1, 1):
            continue
        out, flip = window(rng, width, height), int(rng.integers(4))
        resize = by_opencv if number in OPENCV else by_torch
        want = flipped(cropped(resize(cropped(pixels, src), width, height, number), out), flip)
        made = resample(src, width, height, number, out, flip)
        got = worker.run(pixels, [made], (out.width, out.height), identity())
        assert np.array_equal(got, planar(want)), (w, h, width, height, number, flip)


@pytest.mark.parametrize("planes", [1, 3])
def test_grey_equals_opencv_for_colours_of_all_kinds(worker: Worker, planes: int) -> None:
    values = np.arange(0, 256, 3, dtype=np.uint8)
    pixels = np.ascontiguousarray(np.stack(np.meshgrid(values, values, values), -1).reshape(86, -1, 3))
    want = np.asarray(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY), np.uint8)
    assert np.array_equal(want, cv2.cvtColor(pixels[..., ::-1].copy(), cv2.COLOR_BGR2GRAY))
    size = (pixels.shape[1], pixels.shape[0])
    got = worker.run(pixels, [Pass(kind=GREY, planes=planes, mode=GREY_OPENCV)], size, identity(planes))
    assert np.array_equal(got, np.stack([want] * planes))


@pytest.mark.parametrize("mode", MODES)
def test_pad_equals_opencv(worker: Worker, mode: str) -> None:
    rng = np.random.default_rng(2)
    for _ in range(100):
        w, h = int(rng.integers(1, 60)), int(rng.integers(1, 60))
        pixels = noise(rng, w, h)
        left, right, top, bottom = (int(side) for side in rng.integers(0, 150, 4))
        fill = tuple(int(v) for v in rng.integers(0, 256, 3))
        want = np.asarray(cv2.copyMakeBorder(pixels, top, bottom, left, right, BORDERS[mode], value=fill), np.uint8)
        size = (w + left + right, h + top + bottom)
        pad = Pass(kind=PAD, left=left, top=top, right=right, bottom=bottom, mode=MODES.index(mode))
        pad.out, pad.fill[:3] = Window(0, 0, *size), fill
        assert np.array_equal(worker.run(pixels, [pad], size, identity()), planar(want)), (w, h, left, top)


def every_colour() -> Bytes:
    """[4096, 4096, 3]: whole vectors of OpenCV's, and nothing left behind them."""
    values = np.arange(256, dtype=np.uint8)
    return np.stack(np.meshgrid(values, values, values, indexing="ij"), -1).reshape(4096, 4096, 3)


@pytest.mark.parametrize("width", [4096, 16])
@pytest.mark.parametrize(("kind", "code"), [(TO_HSV, cv2.COLOR_RGB2HSV), (FROM_HSV, cv2.COLOR_HSV2RGB)])
def test_hsv_equals_opencv_for_every_colour(worker: Worker, kind: int, code: int, width: int) -> None:
    pixels = every_colour().reshape(-1, width, 3)
    want = np.asarray(cv2.cvtColor(pixels, code), np.uint8)
    got = worker.run(pixels, [Pass(kind=kind)], (width, len(pixels)), identity())
    assert np.array_equal(got, planar(want))


def test_hsv_equals_opencv_at_all_widths(worker: Worker) -> None:
    rng = np.random.default_rng(3)
    for width in range(1, 140):
        pixels = noise(rng, width, 5)
        there = np.asarray(cv2.cvtColor(pixels, cv2.COLOR_RGB2HSV), np.uint8)
        back = np.asarray(cv2.cvtColor(there, cv2.COLOR_HSV2RGB), np.uint8)
        assert np.array_equal(worker.run(pixels, [Pass(kind=TO_HSV)], (width, 5), identity()), planar(there))
        passes = [Pass(kind=TO_HSV), Pass(kind=FROM_HSV)]
        assert np.array_equal(worker.run(pixels, passes, (width, 5), identity()), planar(back))


def by_warp_affine(
    pixels: Bytes, matrix: np.ndarray[Any, Any], size: tuple[int, int], number: int, mode: str, fill: tuple[int, ...]
) -> Bytes:
    flags = OPENCV[number] | cv2.WARP_INVERSE_MAP
    return np.asarray(
        cv2.warpAffine(pixels, matrix, size, flags=flags, borderMode=BORDERS[mode], borderValue=fill), np.uint8
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("number", [32, 33])
def test_affine_transforms_equal_opencv(worker: Worker, number: int, mode: str) -> None:
    rng = np.random.default_rng(number)
    for turn in range(400):
        w, h, width, height = (side(rng) for _ in range(4))
        pixels = noise(rng, w, h)
        angle, scale = rng.uniform(-3.2, 3.2), rng.uniform(0.2, 3)
        matrix = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0]]) / scale
        if turn % 3 == 0:
            matrix[:, :2] += rng.normal(0, 0.4, (2, 2))
        elif turn % 5 == 0:
            matrix[:, :2] = np.eye(2) * rng.choice([1, 0.5, 2])
        middle = matrix[:, :2] @ [width / 2, height / 2]
        matrix[:, 2] = [w / 2, h / 2] - middle + rng.normal(0, rng.choice([0, 5, 300]), 2)
        fill = tuple(int(v) for v in rng.integers(0, 256, 3))
        if turn % 4 == 0:
            pixels = np.ascontiguousarray(pixels[..., 0])
        want = by_warp_affine(pixels, matrix, (width, height), number, mode, fill)
        warp = Pass(kind=AFFINE, width=width, height=height, filter=number, mode=MODES.index(mode))
        warp.matrix[:6], warp.fill[:3] = [float(v) for v in matrix.flat], fill
        got = worker.run(pixels, [warp], (width, height), identity(3 if pixels.ndim == 3 else 1))
        assert np.array_equal(got, planar(want.reshape(height, width, -1))), (w, h, width, height, matrix.tolist())


@pytest.mark.parametrize("number", [32, 33])
def test_places_far_outside_are_outside(worker: Worker, number: int) -> None:
    pixels = noise(np.random.default_rng(0), 9, 8)
    for matrix in (
        [1e9, 0, 0, 0, 1e9, 0],
        [1, 0, -2e9, 0, 1, 2e9],
        [2e9, 2e9, -2e9, -2e9, 2e9, 2e9],
        [0, 0, 4, 0, 0, 3],
    ):
        for mode in range(4):
            warp = Pass(kind=AFFINE, width=40, height=30, filter=number, mode=mode)
            warp.matrix[:6] = matrix
            worker.run(pixels, [warp], (40, 30), identity())
