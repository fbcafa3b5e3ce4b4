"""Datasets that resume, and what an interrupted run is compared with."""

from __future__ import annotations

from pathlib import Path

import photos
import pytest
import torchvision.transforms as T
from torchvision.datasets import ImageFolder


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """30 small JPEG files in three classes."""
    return photos.fill(tmp_path_factory.mktemp("plain"), photos.plain(30))


@pytest.fixture
def dataset(root: Path) -> ImageFolder:
    """Augmented: every sample draws."""
    return ImageFolder(str(root), T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()]))


@pytest.fixture
def still(root: Path) -> ImageFolder:
    """Nothing is random."""
    return ImageFolder(str(root), T.Compose([T.Resize((8, 8)), T.ToTensor()]))
