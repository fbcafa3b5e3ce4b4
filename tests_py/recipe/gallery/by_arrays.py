"""Datasets whose images are in memory, and transforms that nobody knows."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torchvision.transforms as T
from classes import COUNT, NORM, TRAIN, Case, Files
from PIL import Image, ImageDraw


class Turn:
    """A transform of one's own."""

    def __call__(self, image: Any) -> Any:
        return image.transpose(Image.Transpose.ROTATE_90) if random.random() < 0.5 else image


class Arrays(Files):
    """Images in an array."""

    def __init__(self, root: Path, transform: Any = None) -> None:
        super().__init__(root, transform)
        self.images = np.random.default_rng(0).integers(0, 256, (COUNT, 40, 50, 3), dtype=np.uint8)

    def __getitem__(self, i: int) -> Any:
        return self.transform(Image.fromarray(self.images[i])), i


class Scratch(Arrays):
    """Each image stands in the same array for a while."""

    def __init__(self, root: Path, transform: Any = None) -> None:
        super().__init__(root, transform)
        self.room = np.empty((40, 50, 3), np.uint8)

    def __getitem__(self, i: int) -> Any:
        self.room[:] = self.images[i]
        image = Image.fromarray(self.room)
        self.room[:] = 7
        return self.transform(image), i


class Planes(Arrays):
    """Of one channel: Pillow's image shares the array's memory."""

    def __getitem__(self, i: int) -> Any:
        plane = self.images[i, :, :, 0].copy()
        image = Image.fromarray(plane)
        plane[:9] = 7
        return T.functional.to_tensor(image.resize((20, 21))), i


class Written(Arrays):
    def __getitem__(self, i: int) -> Any:
        image = Image.fromarray(self.images[i])
        ImageDraw.Draw(image).line((0, 0, 20, 20), fill=9)
        image.putpixel((3, 4), (1, 2, 3))
        return self.transform(image), i, int(np.asarray(image).sum())


class Crops(Arrays):
    """Several views of an image, and it."""

    def __getitem__(self, i: int) -> Any:
        image = Image.fromarray(self.images[i][:, ::-1])
        return torch.stack([self.transform(image) for _ in range(3)]), np.array(image)


TURNED = T.Compose([T.RandomResizedCrop(32), Turn(), *NORM])

CASES = {
    "images in memory": Case(lambda root: Arrays(root, TURNED)),
    "images in memory, views": Case(lambda root: Crops(root, TRAIN)),
    "images in an array that is used again": Case(lambda root: Scratch(root, TURNED)),
    "images in memory, written into": Case(lambda root: Written(root, TURNED), "Python"),
    "images of one channel in memory": Case(Planes, "Python"),
}
