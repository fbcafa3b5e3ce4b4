"""NVIDIA DALI on the CPU: its file reader, crop-window decoder and antialiased resize, as in its ResNet example."""
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from nvidia.dali import fn, pipeline_def, types

from bench.contender import Job

VERSIONS = ("nvidia-dali-cuda130",)


def train_steps(job: Job, files: list[str]) -> Any:
    # shuffle_after_epoch is DALI's whole shuffle; random_shuffle alone only mixes inside a small buffer.
    jpegs, numbers = fn.readers.file(
        files=files, labels=list(range(len(files))), shuffle_after_epoch=True, pad_last_batch=True, name="reader"
    )
    images = fn.decoders.image_random_crop(
        jpegs, output_type=types.RGB, random_area=(0.08, 1.0), random_aspect_ratio=(3 / 4, 4 / 3)
    )
    images = fn.resize(images, size=(job.size, job.size), interp_type=types.INTERP_LINEAR)
    images = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=[255 * value for value in job.mean],
        std=[255 * value for value in job.std],
        mirror=fn.random.coin_flip(),
    )
    return images, numbers


class Epochs:
    """One pass over the reader for each iter(); the last batch is cut to the samples that are left."""

    def __init__(self, job: Job) -> None:
        self.samples = len(job.files)
        self.pipeline = pipeline_def(train_steps)(
            job, job.files, batch_size=job.batch_size, num_threads=job.workers, device_id=None, seed=job.seed
        )
        self.pipeline.build()

    def __iter__(self) -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
        left = self.samples
        while left:
            images, numbers = (np.asarray(output.as_tensor()) for output in self.pipeline.run())
            yield images[:left], numbers[:left]
            left -= min(left, len(images))


def image_folder(job: Job) -> Epochs:
    return Epochs(job)
