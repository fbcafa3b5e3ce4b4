"""The demo's image folder: one class a photograph that scikit-image and scikit-learn ship, its images random crops."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from bench.photos import PICTURES, encode, jittered, load_picture, made_whole, random_crop, random_grain, random_size

# Goes into the folder's name: raise it when a change of the code below changes the files.
RECIPE = 1

QUALITY = 92
GRAIN = 5.0  # standard deviation, in 8-bit steps


def crop_bytes(name: str, number: int) -> bytes:
    """The JPEG of one crop of a picture, a function of its arguments alone."""
    rng = np.random.default_rng((list(PICTURES).index(name), number))
    pixels = jittered(random_crop(load_picture(name), random_size(rng), rng), rng)
    grained = pixels + GRAIN * random_grain(pixels.shape[:2], rng)
    return encode(np.clip(grained, 0, 255).astype(np.uint8), QUALITY, subsampling=2)


def folder_of(base: Path, each: int) -> Path:
    return base / f"photos-{RECIPE}-{each}"


def ensure_folder(base: Path, each: int, names: Iterable[str]) -> Path:
    """An image folder with `each` crops of every picture, made first if it is not there. Iterates over names once."""

    def fill(draft: Path) -> None:
        for name in names:
            (draft / name).mkdir()
            for number in range(each):
                (draft / name / f"{number:04d}.jpg").write_bytes(crop_bytes(name, number))

    return made_whole(folder_of(base, each), fill)
