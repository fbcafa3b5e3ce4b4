"""torch's DataLoader over ImageFolder: Pillow decodes, torchvision v1 does the rest. What most people run."""

from __future__ import annotations

from typing import Any

from bench.contender import Job
from bench.peers.folders import numbered_folder, torch_loader, train_transform

VERSIONS = ("torch", "torchvision", "pillow")


def image_folder(job: Job) -> Any:
    return torch_loader(numbered_folder(job, train_transform(job)), job)
