"""A small image folder that all tests of plan/ share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three classes, 23 files of different sizes: JPEG and PNG."""
    root = tmp_path_factory.mktemp("photos")
    rng = np.random.default_rng(0)
    for number in range(23):
        folder = root / "abc"[number % 3]
        folder.mkdir(exist_ok=True)
        height, width = (int(edge) for edge in rng.integers(20, 60, 2))
        coarse = Image.fromarray(rng.integers(0, 256, (5, 6, 3), dtype=np.uint8))
        image = coarse.resize((width, height), Image.Resampling.BICUBIC)
        image.save(folder / f"{number:02}.{'png' if number % 5 == 0 else 'jpg'}")
    return root
