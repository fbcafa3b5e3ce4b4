"""torch's DataLoader with torchvision's own decoder and v2 transforms, which work on uint8 tensors."""

from __future__ import annotations

from typing import Any

import torch
from torchvision.io import ImageReadMode, decode_image
from torchvision.transforms import v2

from bench.contender import Job
from bench.peers.folders import numbered_folder, torch_loader

VERSIONS = ("torch", "torchvision")


def decode_rgb(path: str) -> torch.Tensor:
    image: torch.Tensor = decode_image(path, ImageReadMode.RGB)
    return image


def image_folder(job: Job) -> Any:
    transform = v2.Compose(
        [
            v2.RandomResizedCrop(job.size, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(list(job.mean), list(job.std)),
        ]
    )
    return torch_loader(numbered_folder(job, transform, loader=decode_rgb), job)
