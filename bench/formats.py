"""Cases of against_torch.py: photos that are not JPEGs, or in archives."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import webdataset as wds
from PIL import Image
from torchvision.datasets import ImageFolder

from bench import own_classes, photos
from bench.cases import case
from bench.own_classes import PHOTOS, TRAIN
from goloader.datasets import TarImages

COUNT = 400
format_case = functools.partial(case, group="Photos of other formats: RandomResizedCrop(224), flip", batch_size=64)


def folder(scratch: Path, extension: str, *, every: int = 1, **options: Any) -> ImageFolder:
    """The first photos; every so many in another format, the others as they are."""
    files = sorted(photos.ensure_photos(PHOTOS).glob("*/*.jpg"))[:COUNT]
    for number, file in enumerate(files):
        target = scratch / file.parent.name / file.name
        target.parent.mkdir(exist_ok=True)
        if number % every:
            target.symlink_to(file)
        else:
            with Image.open(file) as image:
                image.save(target.with_suffix(extension), **options)
    return ImageFolder(scratch, TRAIN)


@format_case("ImageFolder of WebP photos", target=2)
def webp(scratch: Path) -> ImageFolder:
    return folder(scratch, ".webp")


@format_case("the same, of JPEGs, one in 20 WebP", target=3)
def webp_among_jpegs(scratch: Path) -> ImageFolder:
    return folder(scratch, ".webp", every=20)


@format_case("ImageFolder of BMP photos", target=2)
def bmp(scratch: Path) -> ImageFolder:
    return folder(scratch, ".bmp")


@format_case("ImageFolder of GIF photos (named .bmp)", target=2)
def gif(scratch: Path) -> ImageFolder:
    return folder(scratch, ".bmp", format="GIF")


@format_case("ImageFolder of TIFF photos, LZW", target=2)
def tiff(scratch: Path) -> ImageFolder:
    return folder(scratch, ".tiff", compression="tiff_lzw")


def shards(scratch: Path) -> str:
    """Four of WebDataset's archives with the photos of a folder; how they are called together."""
    return str(scratch / photos.pack(own_classes.folder(scratch).samples, scratch, 4))


@format_case("TarImages: JPEGs in four tar archives", target=3, lowered=own_classes.folder)
def tar(scratch: Path) -> TarImages:
    return TarImages(shards(scratch), TRAIN)


@format_case("webdataset's WebDataset: JPEGs in four tar archives", target=5, headline=True, lowered=tar, shuffle=False)
def webdataset(scratch: Path) -> Any:
    pipeline = wds.WebDataset(shards(scratch), shardshuffle=False).decode("pil").to_tuple("jpg", "cls")
    return pipeline.map_tuple(TRAIN).with_length(len(own_classes.folder(scratch)), silent=True)
