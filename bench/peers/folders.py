"""What the adapters over torch's ImageFolder share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder

from bench.contender import Job


def train_transform(job: Job) -> transforms.Compose:
    return transforms.Compose(
        [
            transforms.RandomResizedCrop(job.size),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(job.mean, job.std),
        ]
    )


def numbered_folder(job: Job, transform: Callable[..., Any], **options: Any) -> ImageFolder:
    """An ImageFolder whose label is the sample's place in job.files, so that each delivered sample can be counted."""
    dataset = ImageFolder(job.root, transform, **options)
    dataset.samples = dataset.imgs = [(path, place) for place, (path, _) in enumerate(dataset.samples)]
    dataset.targets = [place for _, place in dataset.samples]
    return dataset


def torch_loader(dataset: Any, job: Job, loader: Callable[..., Any] = DataLoader) -> Any:
    """loader over dataset as a careful user of torch sets it up: shuffled, persistent workers, one thread each."""
    torch.set_num_threads(1)
    torch.manual_seed(job.seed)
    return loader(
        dataset,
        batch_size=job.batch_size,
        shuffle=True,
        num_workers=job.workers,
        persistent_workers=job.workers > 0,
    )
