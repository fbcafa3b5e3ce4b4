"""Datasets whose collate_fn does more than to stack: it writes images into a batch, pads, mixes, or lists them."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as functional
import torchvision.transforms as T
import torchvision.transforms.functional as F
from classes import NORM, TRAIN, Case, Files
from PIL import Image
from torch.utils.data import default_collate


class Boxes(Files):
    """Detection: an image of its own size, and its boxes, flipped together."""

    def __getitem__(self, i: int) -> Any:
        image = Image.open(self.path(i)).convert("RGB")
        boxes = torch.tensor([[1.0, 2.0, 9.0 + i, 12.0], [3.0, 4.0, 20.0, 21.0]])
        if random.random() < 0.5:
            image = F.hflip(image)
            boxes[:, [0, 2]] = image.width - boxes[:, [2, 0]]
        area = (boxes[:, 3] - boxes[:, 1]) * (boxes[:, 2] - boxes[:, 0])
        target = {"boxes": boxes, "labels": torch.tensor([1, 2]), "image_id": i, "area": area}
        return F.normalize(F.to_tensor(image), [0.4] * 3, [0.2] * 3), target


class Annotated(Files):
    """COCO's annotations of each image, as corners, with areas."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.annotations: dict[int, list[dict[str, Any]]] = {}
        for number in range(3 * len(self)):
            image = (number * number) % len(self) if number >= len(self) else number
            found = {"bbox": [1.0 * number, 2.0, 5.5, 4.0 + number], "category_id": number % 5}
            self.annotations.setdefault(image, []).append(found)

    def __getitem__(self, i: int) -> Any:
        image = Image.open(self.path(i)).convert("RGB")
        boxes, labels = [], []
        for each in self.annotations[i]:
            x, y, w, h = each["bbox"]
            boxes.append([x, y, x + w, y + h])
            labels.append(each["category_id"])
        corners = torch.as_tensor(boxes, dtype=torch.float32)
        area = (corners[:, 3] - corners[:, 1]) * (corners[:, 2] - corners[:, 0])
        crowd = torch.zeros((len(corners),), dtype=torch.int64)
        target = {"boxes": corners, "labels": torch.tensor(labels), "area": area, "iscrowd": crowd}
        return F.to_tensor(image), target


class Tagged(Files):
    """Several classes of an image, as words of a csv."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, TRAIN)
        self.tags = [" ".join(str(tag) for tag in range(12) if (i + tag) % 5 == 0) for i in range(len(self))]

    def __getitem__(self, i: int) -> Any:
        image = Image.open(self.path(i)).convert("RGB")
        target = torch.zeros(12)
        for tag in self.tags[i].split():
            target[int(tag)] = 1
        return self.transform(image), target


class KeyPoints(Files):
    """Points of an image, scaled and mirrored with it."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.points = np.random.default_rng(3).uniform(0, 40, (len(self), 10))

    def __getitem__(self, i: int) -> Any:
        image = Image.open(self.path(i)).convert("RGB")
        w, h = image.size
        image = image.resize((32, 32))
        points = self.points[i].reshape(-1, 2) * [32 / w, 32 / h]
        if random.random() < 0.5:
            image = F.hflip(image)
            points[:, 0] = 32 - points[:, 0]
        return F.normalize(F.to_tensor(image), [0.4] * 3, [0.2] * 3), torch.tensor(points, dtype=torch.float32)


def zipped(samples: list[Any]) -> Any:
    return tuple(zip(*samples, strict=True))


def extents(images: list[Any]) -> tuple[int, int]:
    return max(image.shape[1] for image in images), max(image.shape[2] for image in images)


def nested(samples: list[Any]) -> Any:
    """As DETR pads: views of a batch, copied into, and a mask."""
    images = [image for image, _ in samples]
    height, width = extents(images)
    batch = images[0].new_zeros((len(images), 3, height, width))
    mask = torch.ones((len(images), height, width), dtype=torch.bool)
    for image, room, free in zip(images, batch, mask, strict=True):
        room[: image.shape[0], : image.shape[1], : image.shape[2]].copy_(image)
        free[: image.shape[1], : image.shape[2]] = False
    return batch, mask, [target for _, target in samples]


def written(samples: list[Any]) -> Any:
    images = [image for image, _ in samples]
    batch = torch.zeros((len(images), 3, *extents(images)))
    for at, image in enumerate(images):
        batch[at, :, : image.shape[1], : image.shape[2]] = image
    return batch, [target for _, target in samples]


def padded(samples: list[Any]) -> Any:
    images = [image for image, _ in samples]
    height, width = extents(images)
    return torch.stack([functional.pad(each, (0, width - each.shape[2], 0, height - each.shape[1])) for each in images])


def bytes_of_arrays(samples: list[Any]) -> Any:
    """timm's fast_collate."""
    targets = torch.tensor([label for _, label in samples], dtype=torch.int64)
    batch = torch.zeros((len(samples), *samples[0][0].shape), dtype=torch.uint8)
    for at, (image, _) in enumerate(samples):
        batch[at] += torch.from_numpy(image)
    return batch, targets


class ToArray:
    """timm's ToNumpy."""

    def __call__(self, image: Any) -> Any:
        return np.rollaxis(np.array(image, dtype=np.uint8), 2)


class Dicts(Files):
    """Several samples of one photo, as MONAI's crops give them."""

    def __getitem__(self, i: int) -> Any:
        return [{"image": super(Dicts, self).__getitem__(i)[0], "label": i} for _ in range(2)]


def of_dicts(samples: list[Any]) -> Any:
    """MONAI's list_data_collate."""
    flat = [each for several in samples for each in several]
    return {key: default_collate([each[key] for each in flat]) for key in flat[0]}


def mixed(samples: list[Any]) -> Any:
    images, labels = default_collate(samples)
    share, order = np.random.beta(1.0, 1.0), torch.randperm(len(images))
    return share * images + (1 - share) * images[order], labels, labels[order], share


def cut(samples: list[Any]) -> Any:
    images, labels = default_collate(samples)
    order, side = torch.randperm(len(images)), int(16 * math.sqrt(np.random.beta(1.0, 1.0)))
    images[:, :, 4 : 4 + side, 6 : 6 + side] = images[order, :, 4 : 4 + side, 6 : 6 + side]
    return images, (labels, labels[order])


class Erasing:
    """timm's RandomErasing.

    pixels  a number for each pixel, or else one for all
    """

    def __init__(self, pixels: bool) -> None:
        self.pixels = pixels

    def __call__(self, image: Any) -> Any:
        if random.random() < 0.5:
            height, width = random.randint(4, 12), random.randint(4, 12)
            top, left = random.randint(0, 19), random.randint(0, 19)
            shape = (3, height, width) if self.pixels else (3, 1, 1)
            image[:, top : top + height, left : left + width] = torch.empty(shape).normal_()
        return image


def erased(pixels: bool, state: str) -> Case:
    return Case(lambda root: Files(root, T.Compose([T.RandomResizedCrop(32), *NORM, Erasing(pixels)])), state)


def train(root: Path) -> Files:
    return Files(root, TRAIN)


CASES = {
    "detection, zipped": Case(Boxes, options={"collate_fn": zipped}),
    "detection, COCO's annotations": Case(Annotated, options={"collate_fn": zipped}),
    "classes, several an image": Case(Tagged),
    "key points": Case(KeyPoints),
    "detection, padded as DETR does": Case(Boxes, options={"collate_fn": nested}),
    "detection, written into a batch": Case(Boxes, options={"collate_fn": written}),
    "detection, padded by F.pad": Case(Boxes, options={"collate_fn": padded}),
    "fast_collate": Case(
        lambda root: Files(root, T.Compose([T.RandomResizedCrop(32), T.RandomHorizontalFlip(), ToArray()])),
        "looked at",
        {"collate_fn": bytes_of_arrays},
    ),
    "list_data_collate": Case(lambda root: Dicts(root, TRAIN), options={"collate_fn": of_dicts}),
    "MixUp by hand": Case(train, "looked at", {"collate_fn": mixed}),
    "CutMix by hand": Case(train, "looked at", {"collate_fn": cut}),
    "a number erases": erased(False, "native"),
    "random pixels erase": erased(True, "looked at"),
}
