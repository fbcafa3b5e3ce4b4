"""Cases of against_torch.py: image folders whose colours and shapes are augmented."""

from __future__ import annotations

import functools
import random
from pathlib import Path
from typing import Any

import torch
import torchvision.transforms as T
from PIL import Image, ImageFilter
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

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


@augmented_case("ImageFolder of photos: RandAugment", target=2.5, headline=True)
def rand_augment(scratch: Path) -> ImageFolder:
    return folder(T.RandAugment())


class MocoBlur:
    """As MoCo's code has it: Pillow's blur, its strength by Python's random."""

    def __call__(self, image: Image.Image) -> Image.Image:
        return image.filter(ImageFilter.GaussianBlur(radius=random.uniform(0.1, 2.0)))


@augmented_case("SimCLR: colours, grey, GaussianBlur(23)", target=2.5)
def simclr(scratch: Path) -> ImageFolder:
    jitter = T.RandomApply([T.ColorJitter(0.8, 0.8, 0.8, 0.2)], p=0.8)
    return folder(jitter, T.RandomGrayscale(p=0.2), T.RandomApply([T.GaussianBlur(23, (0.1, 2.0))], p=0.5))


@augmented_case("MoCo v2: colours, grey, Pillow's blur", target=2.5)
def moco(scratch: Path) -> ImageFolder:
    jitter = T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8)
    return folder(jitter, T.RandomGrayscale(p=0.2), T.RandomApply([MocoBlur()], p=0.5))


@augmented_case("RandomRotation", target=2.5)
def rotated(scratch: Path) -> ImageFolder:
    return folder(T.RandomRotation(20))


@augmented_case("v2 on tensors of bytes: TrivialAugmentWide", target=2.5)
def trivial_augment_of_tensors(scratch: Path) -> ImageFolder:
    before = [v2.ToImage(), v2.RandomResizedCrop(224), v2.RandomHorizontalFlip()]
    tail = [v2.ToDtype(torch.float32, scale=True), v2.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]
    return ImageFolder(photos.ensure_photos(PHOTOS), v2.Compose([*before, v2.TrivialAugmentWide(), *tail]))


class AddGaussianNoise:
    """As people copy it from one another."""

    def __init__(self, mean: float = 0.0, std: float = 1.0) -> None:
        self.std = std
        self.mean = mean

    def __call__(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor + torch.randn(tensor.size()) * self.std + self.mean


@augmented_case("noise by torch.randn, of a class of the user's own", target=2.5)
def noise(scratch: Path) -> ImageFolder:
    before = [T.RandomResizedCrop(224), T.RandomHorizontalFlip()]
    return ImageFolder(photos.ensure_photos(PHOTOS), T.Compose([*before, *TAIL, AddGaussianNoise(0.0, 0.1)]))
