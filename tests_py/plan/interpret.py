"""A plan carried out with Pillow, numpy and torch's generator: what the core is to do, written as plainly as possible.

It follows the plan alone, never the object it came from, so that comparing it with torchvision tests the lowering.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from goloader.plan import Lowered

FILTERS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5}


def run(lowered: Lowered, image: Image.Image) -> torch.Tensor:
    """One sample; draws come from torch's global generator."""
    for step in lowered.to_plan(1)["transforms"]:
        image = globals()[step["op"]](image, step)
    pixels = np.atleast_3d(np.asarray(image)).transpose(2, 0, 1)
    itemsize = len(lowered.table) // (256 * lowered.channels)
    table = np.frombuffer(lowered.table, np.uint8).reshape(lowered.channels, 256, itemsize)
    assert pixels.shape[0] == lowered.channels
    if lowered.size is not None:
        assert pixels.shape[1:] == lowered.size
    out = np.stack([table[channel][plane] for channel, plane in enumerate(pixels)])
    return torch.from_numpy(out).view(getattr(torch, lowered.dtype)).squeeze(-1)


def resize(image: Image.Image, step: dict[str, Any]) -> Image.Image:
    width, height = image.size
    size, limit = step["size"], step["max_size"]
    if size is not None and len(size) == 2:
        return _resized(image, size[0], size[1], step["filter"])
    short, long = sorted((width, height))
    if size is None:
        new = int(limit * short / long), limit
    else:
        new = size[0], int(size[0] * long / short)
        if limit is not None and new[1] > limit:
            new = int(limit * new[0] / new[1]), limit
    new_width, new_height = new if width <= height else new[::-1]
    return _resized(image, new_height, new_width, step["filter"])


def _resized(image: Image.Image, height: int, width: int, name: str) -> Image.Image:
    return image if image.size == (width, height) else image.resize((width, height), Image.Resampling(FILTERS[name]))


def center_crop(image: Image.Image, step: dict[str, Any]) -> Image.Image:
    height, width = step["size"]
    lack_x, lack_y = max(width - image.width, 0), max(height - image.height, 0)
    image = _padded(image, [lack_x // 2, lack_y // 2, (lack_x + 1) // 2, (lack_y + 1) // 2], [0], "constant")
    return _cropped(image, round((image.height - height) / 2), round((image.width - width) / 2), height, width)


def random_crop(image: Image.Image, step: dict[str, Any]) -> Image.Image:
    height, width = step["size"]

    def pad_by(image: Image.Image, sides: list[int]) -> Image.Image:
        return _padded(image, sides, step["fill"], step["padding_mode"])

    sides = list(step["padding"] or [0, 0, 0, 0])
    if step["api"] == "v1":
        image = pad_by(image, sides)
        if step["pad_if_needed"]:
            lack = max(width - image.width, 0)
            image = pad_by(image, [lack, 0, lack, 0])
            lack = max(height - image.height, 0)
            image = pad_by(image, [0, lack, 0, lack])
        if image.size == (width, height):
            return image
        top = int(torch.randint(0, image.height - height + 1, (1,)))
        left = int(torch.randint(0, image.width - width + 1, (1,)))
        return _cropped(image, top, left, height, width)
    if step["pad_if_needed"]:
        lack_x = max(width - image.width - sides[0] - sides[2], 0)
        lack_y = max(height - image.height - sides[1] - sides[3], 0)
        sides = [sides[0] + lack_x, sides[1] + lack_y, sides[2] + lack_x, sides[3] + lack_y]
    image = pad_by(image, sides)
    top = int(torch.randint(0, image.height - height + 1, ())) if image.height > height else 0
    left = int(torch.randint(0, image.width - width + 1, ())) if image.width > width else 0
    return _cropped(image, top, left, height, width)


def random_resized_crop(image: Image.Image, step: dict[str, Any]) -> Image.Image:
    low, high = np.array(step["log_ratio"], np.float32)
    for _ in range(10):
        area = image.width * image.height * torch.empty(1).uniform_(*step["scale"]).item()
        ratio = torch.exp(torch.empty(1).uniform_(float(low), float(high))).item()
        width, height = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < width <= image.width and 0 < height <= image.height:
            top = int(torch.randint(0, image.height - height + 1, (1,)))
            left = int(torch.randint(0, image.width - width + 1, (1,)))
            break
    else:
        width, height = image.size
        if width / height < step["ratio"][0]:
            height = round(width / step["ratio"][0])
        elif width / height > step["ratio"][1]:
            width = round(height * step["ratio"][1])
        top, left = (image.height - height) // 2, (image.width - width) // 2
    return _resized(_cropped(image, top, left, height, width), *step["size"], step["filter"])


def random_horizontal_flip(image: Image.Image, step: dict[str, Any]) -> Image.Image:
    flipped = torch.rand(1).numpy()[0] < np.float32(step["p"])
    return image.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if flipped else image


def random_vertical_flip(image: Image.Image, step: dict[str, Any]) -> Image.Image:
    flipped = torch.rand(1).numpy()[0] < np.float32(step["p"])
    return image.transpose(Image.Transpose.FLIP_TOP_BOTTOM) if flipped else image


def pad(image: Image.Image, step: dict[str, Any]) -> Image.Image:
    return _padded(image, step["padding"], step["fill"], step["padding_mode"])


def grayscale(image: Image.Image, step: dict[str, Any]) -> Image.Image:
    grey = image.convert("L")
    return grey if step["channels"] == 1 else Image.merge("RGB", [grey] * 3)


def _padded(image: Image.Image, sides: list[int], fill: list[int], mode: str) -> Image.Image:
    left, top, right, bottom = sides
    pixels: NDArray[np.uint8] = np.atleast_3d(np.asarray(image))
    channels = pixels.shape[2]
    assert len(fill) in (1, channels)
    around = ((top, bottom), (left, right))
    values = fill * channels if len(fill) == 1 else fill
    planes = [
        np.pad(pixels[:, :, channel], around, mode, constant_values=values[channel])
        if mode == "constant"
        else np.pad(pixels[:, :, channel], around, mode)  # type: ignore[call-overload]
        for channel in range(channels)
    ]
    return Image.fromarray(planes[0] if channels == 1 else np.stack(planes, axis=2))


def _cropped(image: Image.Image, top: int, left: int, height: int, width: int) -> Image.Image:
    return image.crop((left, top, left + width, top + height))
