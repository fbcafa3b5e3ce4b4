"""Image folders that the parity tests share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import photos
import pytest
import torchvision.transforms as T
from photos import Make, tail
from torchvision.datasets import ImageFolder


@pytest.fixture(scope="session")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """38 files: JPEG and PNG of many kinds, and one that only Pillow reads."""
    return photos.fill(tmp_path_factory.mktemp("kinds"), photos.native())


@pytest.fixture
def dataset(kinds: Path, augment: T.Compose) -> ImageFolder:
    return ImageFolder(str(kinds), augment)


@pytest.fixture
def augment() -> T.Compose:
    """What everybody trains with."""
    return T.Compose([T.RandomResizedCrop(32), T.RandomHorizontalFlip(), *tail()])


@pytest.fixture
def make(tmp_path: Path, augment: T.Compose) -> Make:
    """An ImageFolder of given files: make(files, transform)."""

    def folder(files: dict[str, bytes], transform: Any = None) -> ImageFolder:
        root = tmp_path / str(len(list(tmp_path.iterdir())))
        return ImageFolder(str(photos.fill(root, files)), transform or augment)

    return folder
