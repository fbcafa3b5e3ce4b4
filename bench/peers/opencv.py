"""torch's DataLoader with OpenCV's decoder and albumentations' transforms.

OpenCV's bilinear resize does not antialias; the others here do. It is what albumentations users get.
"""
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

from typing import Any

import albumentations
import cv2
import torch
from albumentations.pytorch import ToTensorV2
from torch.utils.data import Dataset

from bench.contender import Job
from bench.peers.folders import torch_loader

VERSIONS = ("albumentations", "opencv-python-headless", "torch")


class Photos(Dataset[tuple[torch.Tensor, int]]):
    """The same files through cv2.imread; the label is the sample's place."""

    def __init__(self, job: Job) -> None:
        self.files = job.files
        self.transform = albumentations.Compose(
            [
                albumentations.RandomResizedCrop(size=(job.size, job.size), scale=(0.08, 1.0), ratio=(3 / 4, 4 / 3)),
                albumentations.HorizontalFlip(),
                albumentations.Normalize(job.mean, job.std),
                ToTensorV2(),
            ]
        )

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        image = cv2.imread(self.files[index], cv2.IMREAD_COLOR_RGB)
        return self.transform(image=image)["image"], index


def image_folder(job: Job) -> Any:
    cv2.setNumThreads(0)  # workers are the parallelism
    return torch_loader(Photos(job), job)
