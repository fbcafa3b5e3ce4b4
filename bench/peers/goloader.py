"""goloader: torch_pil's program with the import changed."""

from __future__ import annotations

import sys
from typing import Any

from bench.contender import Job
from bench.peers.folders import numbered_folder, torch_loader, train_transform
from goloader import DataLoader

VERSIONS = ("goloader", "torch", "torchvision", "pillow")


def image_folder(job: Job) -> Any:
    loader = torch_loader(numbered_folder(job, train_transform(job)), job, DataLoader)
    print(loader.explain(), file=sys.stderr)
    return loader
