"""A small image folder."""

from __future__ import annotations

from pathlib import Path

import photos
import pytest
import torchvision.transforms as T
from torchvision.datasets import ImageFolder

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 small JPEG files in three classes."""
    return photos.fill(tmp_path_factory.mktemp("plain"), photos.plain(24))


@pytest.fixture
def dataset(root: Path) -> ImageFolder:
    steps = [T.RandomResizedCrop(32), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(MEAN, STD)]
    return ImageFolder(str(root), T.Compose(steps))
