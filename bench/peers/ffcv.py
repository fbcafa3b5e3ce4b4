"""FFCV over a .beton file that holds the very bytes of the image folder's JPEGs, written once and not timed.

FFCV's own writer would encode the pixels again, to other sizes. Its crop is resized by area, and its batches are
channels-last in memory; a contiguous [N, 3, H, W], which the others give, takes the copies that ToTorchImage makes.
"""
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from ffcv.fields import IntField, RGBImageField
from ffcv.fields.decoders import IntDecoder, RandomResizedCropRGBImageDecoder
from ffcv.fields.rgb_image import IMAGE_MODES
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, Squeeze, ToTensor, ToTorchImage
from ffcv.writer import DatasetWriter
from PIL import Image

from bench.contender import Job

VERSIONS = ("ffcv", "numba", "torch")


class StoredJpeg(RGBImageField):  # type: ignore[misc]  # ffcv has no types
    """An image field that takes the path of a JPEG and stores the file as it is."""

    def encode(self, destination: Any, image: Any, malloc: Any) -> None:
        with Image.open(image) as opened:
            destination["width"], destination["height"] = opened.size
        jpeg = np.fromfile(image, dtype=np.uint8)
        destination["mode"] = IMAGE_MODES["jpg"]
        destination["data_ptr"], storage = malloc(jpeg.nbytes)
        storage[:] = jpeg


def beton(job: Job) -> Path:
    return Path(job.scratch, "photos.beton")


def prepare(job: Job) -> None:
    if beton(job).exists():
        return
    draft = beton(job).with_suffix(".draft")
    writer = DatasetWriter(str(draft), {"image": StoredJpeg(), "number": IntField()}, num_workers=job.workers)
    writer.from_indexed_dataset([(path, place) for place, path in enumerate(job.files)])
    draft.rename(beton(job))


def image_folder(job: Job) -> Any:
    torch.set_num_threads(1)
    scale = np.float32(255)
    return Loader(
        str(beton(job)),
        batch_size=job.batch_size,
        num_workers=job.workers,
        order=OrderOption.RANDOM,
        os_cache=True,
        drop_last=False,
        seed=job.seed,
        custom_fields={"image": RGBImageField},
        pipelines={
            "image": [
                RandomResizedCropRGBImageDecoder((job.size, job.size)),
                RandomHorizontalFlip(),
                NormalizeImage(np.array(job.mean) * scale, np.array(job.std) * scale, np.float32),
                ToTensor(),
                ToTorchImage(channels_last=job.layout == "channels_last"),
            ],
            "number": [IntDecoder(), ToTensor(), Squeeze()],
        },
    )
