"""core/op's resizes, grey and borders against OpenCV itself, and its resizes of bytes against torch: every byte."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
import torch
from op_library import (
    GREY,
    HORIZONTAL,
    MODES,
    PAD,
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
