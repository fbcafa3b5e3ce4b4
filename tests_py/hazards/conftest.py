"""A small image folder, and programs that ran under both loaders."""

from __future__ import annotations

from pathlib import Path

import photos
import pytest


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 small JPEG files in three classes."""
    return photos.fill(tmp_path_factory.mktemp("plain"), photos.plain(24))
