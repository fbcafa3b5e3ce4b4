"""Cases of against_torch.py: own Dataset classes that open photos: read from their bytecode and lowered (door 1),
recorded (door 2), or left to Python."""

from __future__ import annotations

import csv
import functools
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import albumentations as A
import cv2
import numpy as np
import torch
import torchvision.transforms as T
import torchvision.transforms.functional as TF
from albumentations.pytorch import ToTensorV2
from PIL import Image
from torch.utils.data import Dataset, default_collate
from torchvision.datasets import ImageFolder
from torchvision.io import ImageReadMode, decode_image
from torchvision.transforms import v2

from bench import photos
from bench.cases import case

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
PHOTOS = photos.Settings(count=512)
TRAIN = T.Compose(
    [
        T.RandomResizedCrop(224),
        T.RandomHorizontalFlip(),
        T.ToTensor(),
        T.Normalize(MEAN, STD),
    ]
)
own_case = functools.partial(case, group="Own Dataset classes that open photos", batch_size=64)


class Table(Dataset[Any]):
    """A csv file of paths and labels, as many people's first dataset."""

    def __init__(self, file: Path, transform: Callable[..., Any]) -> None:
        with file.open(newline="") as lines:
            self.rows = list(csv.DictReader(lines))
        self.transform = transform

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Any:
        row = self.rows[index]
        image = Image.open(row["path"]).convert("RGB")
        return self.transform(image), int(row["label"])


class Views(Table):
    """Two views of each photo, as contrastive learning wants them."""

    def __getitem__(self, index: int) -> Any:
        row = self.rows[index]
        with Image.open(row["path"]) as file:
            image = file.convert("RGB")
        return self.transform(image), self.transform(image)


class Mirrored(Table):
    """Does a step of its transform by itself."""

    def __getitem__(self, index: int) -> Any:
        row = self.rows[index]
        image = Image.open(row["path"]).convert("RGB")
        if random.random() < 0.5:
            image = TF.hflip(image)
        return self.transform(image), int(row["label"])


class Brightened(Table):
    """Looks at the pixels of each image, so that nothing after that can be recorded."""

    def __getitem__(self, index: int) -> Any:
        row = self.rows[index]
        image = Image.open(row["path"]).convert("RGB")
        pixels = np.asarray(image)
        gain = 128 / max(float(pixels.mean()), 1)
        return self.transform(Image.fromarray(np.clip(pixels * gain, 0, 255).astype(np.uint8))), int(row["label"])


def folder(scratch: Path) -> ImageFolder:
    """The same photos, as Go knows them by itself."""
    return ImageFolder(photos.ensure_photos(PHOTOS), TRAIN)


def table(scratch: Path) -> Path:
    file = scratch / "table.csv"
    with file.open("w", newline="") as lines:
        writer = csv.writer(lines)
        writer.writerow(["path", "label"])
        writer.writerows(folder(scratch).samples)
    return file


@own_case("own Dataset: photos listed in a csv, training transform", target=3, headline=True, lowered=folder)
def own_csv(scratch: Path) -> Dataset[Any]:
    return Table(table(scratch), TRAIN)


@own_case("the same, made tensors before they are resized", target=2)
def own_floats(scratch: Path) -> Dataset[Any]:
    return Table(table(scratch), T.Compose([T.ToTensor(), T.Resize((224, 224)), T.Normalize(MEAN, STD)]))


@own_case("the same, two views of each photo", target=3)
def own_views(scratch: Path) -> Dataset[Any]:
    return Views(table(scratch), TRAIN)


@own_case("the same, flips by itself", target=1.2, lowered=folder)
def own_recorded(scratch: Path) -> Dataset[Any]:
    return Mirrored(table(scratch), TRAIN)


@own_case("the same, looks at each image's pixels", target=0.97, headline=True)
def own_touched(scratch: Path) -> Dataset[Any]:
    return Brightened(table(scratch), TRAIN)


MIX = v2.RandomChoice([v2.MixUp(num_classes=100), v2.CutMix(num_classes=100)])


def mixed(samples: list[Any]) -> Any:
    """As torchvision's documentation has it."""
    return MIX(*default_collate(samples))


@own_case("the same, MixUp or CutMix in collate_fn", target=2, headline=True, collate_fn=mixed)
def own_mixed(scratch: Path) -> Dataset[Any]:
    return Mirrored(table(scratch), TRAIN)


class Boxes(Table):
    """Photos as they are, with boxes that are mirrored with them."""

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.rows[index]["path"]).convert("RGB")
        boxes = torch.tensor([[10.0, 20.0, 200.0, 220.0], [30.0, 40.0, 90.0, 100.0]])
        if random.random() < 0.5:
            image = TF.hflip(image)
            boxes[:, [0, 2]] = image.width - boxes[:, [2, 0]]
        return TF.to_tensor(image), {"boxes": boxes, "labels": torch.tensor([1, 2]), "image_id": torch.tensor(index)}


def zipped(samples: list[Any]) -> Any:
    return tuple(zip(*samples, strict=True))


def padded(samples: list[Any]) -> Any:
    """Images in a batch as large as the largest."""
    images = [image for image, _ in samples]
    height, width = (max(image.shape[side] for image in images) for side in (1, 2))
    batch = torch.zeros(len(images), 3, height, width)
    for room, image in zip(batch, images, strict=True):
        room[:, : image.shape[1], : image.shape[2]].copy_(image)
    return batch, [target for _, target in samples]


@own_case("the same, boxes: lists of images and targets", target=4, batch_size=8, collate_fn=zipped)
def own_boxes(scratch: Path) -> Dataset[Any]:
    return Boxes(table(scratch), TRAIN)


@own_case("the same, boxes: images padded into a batch", target=4, batch_size=8, collate_fn=padded)
def own_padded(scratch: Path) -> Dataset[Any]:
    return Boxes(table(scratch), TRAIN)


class ByOpenCV(Table):
    """The same, opened by OpenCV, for albumentations."""

    def __getitem__(self, index: int) -> Any:
        row = self.rows[index]
        image: Any = cv2.imread(row["path"])
        return self.transform(image=cv2.cvtColor(image, cv2.COLOR_BGR2RGB))["image"], int(row["label"])


class Decoded(Table):
    """The same, decoded to a tensor."""

    def __getitem__(self, index: int) -> Any:
        row = self.rows[index]
        return self.transform(decode_image(row["path"], ImageReadMode.RGB)), int(row["label"])


@own_case("the same by OpenCV and albumentations", target=1.2, headline=True, same_bits=False)
def own_opencv(scratch: Path) -> Dataset[Any]:
    cv2.setNumThreads(1)
    steps = [A.RandomResizedCrop((224, 224)), A.HorizontalFlip(), A.Normalize(MEAN, STD), ToTensorV2()]
    return ByOpenCV(table(scratch), A.Compose(steps))


@own_case("the same, rotated, shifted, brightened and coloured by albumentations", target=1.2, same_bits=False)
def own_kaggle(scratch: Path) -> Dataset[Any]:
    cv2.setNumThreads(1)
    drawn = [A.RandomResizedCrop((224, 224)), A.HorizontalFlip(), A.Affine(rotate=(-30, 30), translate_percent=0.1)]
    colours = [A.RandomBrightnessContrast(), A.HueSaturationValue()]
    return ByOpenCV(table(scratch), A.Compose([*drawn, *colours, A.Normalize(MEAN, STD), ToTensorV2()]))


@own_case("the same by decode_image and v2", target=1.2)
def own_tensors(scratch: Path) -> Dataset[Any]:
    warnings.filterwarnings("ignore", "The image decoding and encoding")
    steps = [v2.RandomResizedCrop(224), v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True)]
    return Decoded(table(scratch), v2.Compose([*steps, v2.Normalize(MEAN, STD)]))


@own_case("the same by decode_image and v1, which resizes in float32", target=1.2)
def own_tensors_v1(scratch: Path) -> Dataset[Any]:
    warnings.filterwarnings("ignore", "The image decoding and encoding")
    steps = [T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ConvertImageDtype(torch.float32)]
    return Decoded(table(scratch), T.Compose([*steps, T.Normalize(MEAN, STD)]))
