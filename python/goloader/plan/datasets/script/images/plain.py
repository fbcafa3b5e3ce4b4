"""Functions of torchvision's in plain lines, which are read in place of its own code: of images that they do not refuse
they make the same (goloader.selfcheck). Imported where torchvision is."""

from __future__ import annotations

from typing import Any

from torchvision.transforms import functional as F


def five_crop(img: Any, size: Any) -> Any:
    _, image_height, image_width = F.get_dimensions(img)
    height, width = size
    if width > image_width or height > image_height:
        raise ValueError("left to torchvision")
    right, bottom = image_width - width, image_height - height
    return (
        F.crop(img, 0, 0, height, width),
        F.crop(img, 0, right, height, width),
        F.crop(img, bottom, 0, height, width),
        F.crop(img, bottom, right, height, width),
        F.crop(img, round(bottom / 2), round(right / 2), height, width),
    )


def ten_crop(img: Any, size: Any, vertical_flip: bool = False) -> Any:
    first = F.five_crop(img, size)
    img = F.vflip(img) if vertical_flip else F.hflip(img)
    return first + F.five_crop(img, size)
