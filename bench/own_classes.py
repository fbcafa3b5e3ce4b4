"""Cases of against_torch.py: classes of one's own that open photos, recorded (door 2) or left to Python."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torchvision.transforms as T
from PIL import Image
from torch.utils.data import Dataset
from torchvision.datasets import ImageFolder

from bench import photos
from bench.cases import case

PHOTOS = photos.Settings(count=512)
TRAIN = T.Compose(
    [
        T.RandomResizedCrop(224),
        T.RandomHorizontalFlip(),
        T.ToTensor(),
        T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    ]
)


class Table(Dataset[Any]):
    """A csv file of paths and labels, as many people's first dataset."""

    def __init__(self, file: Path, transform: Callable[[Image.Image], Any]) -> None:
        with file.open(newline="") as lines:
            self.rows = list(csv.DictReader(lines))
        self.transform = transform

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Any:
        row = self.rows[index]
        image = Image.open(row["path"]).convert("RGB")
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


@case("own class: a csv of photos, train transform", batch_size=64, target=3, lowered=folder)
def own_csv(scratch: Path) -> Dataset[Any]:
    return Table(table(scratch), TRAIN)


@case("own class: the same, looks at each image's pixels", batch_size=64, target=0.97)
def own_touched(scratch: Path) -> Dataset[Any]:
    return Brightened(table(scratch), TRAIN)
