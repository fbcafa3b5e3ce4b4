"""Cases of against_torch.py: image folders whose colours and shapes are augmented, by a plan or recorded."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import torchvision.transforms as T
from torchvision.datasets import ImageFolder

from bench import photos
from bench.cases import case
from bench.own_classes import PHOTOS

TAIL = [T.ToTensor(), T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]
augmented_case = functools.partial(
    case, group="Photos: RandomResizedCrop(224), flip, and an augmentation", batch_size=64
)


def folder(*augmentations: Any) -> ImageFolder:
    """Photos, cropped and mirrored at random before what is compared."""
    before = [T.RandomResizedCrop(224), T.RandomHorizontalFlip()]
    return ImageFolder(photos.ensure_photos(PHOTOS), T.Compose([*before, *augmentations, *TAIL]))


@augmented_case("ColorJitter", target=3)
def color_jitter(scratch: Path) -> ImageFolder:
    return folder(T.ColorJitter(0.4, 0.4, 0.4, 0.1))


@augmented_case("RandAugment", target=2.5, headline=True)
def rand_augment(scratch: Path) -> ImageFolder:
    return folder(T.RandAugment())


@augmented_case("RandomRotation (recorded)", target=2.5)
def rotated(scratch: Path) -> ImageFolder:
    return folder(T.RandomRotation(20))
