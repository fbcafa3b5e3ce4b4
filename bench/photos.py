"""A folder of photo-like JPEGs, the same on every machine, made without downloading anything.

Crops of the colour photographs that scikit-image and scikit-learn ship are scaled to a photo's size, jittered, grained
and encoded so that their statistics are close to ImageNet's: a long side of 500 pixels, mostly landscape, about 100 KB,
three quarters 4:2:0 and one quarter 4:4:4, all baseline. Without the grain an enlarged crop is too smooth: it would
need a quality that no photo has to fill 100 KB. The quality is chosen to meet a random size.

    python -m bench.photos --count 2048        # prints the folder; later calls find it again

An image depends on (seed, its number) alone, so any number of processes write the same files.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import importlib.util
import io
import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import PIL
from PIL import Image

Pixels: TypeAlias = npt.NDArray[np.uint8]

DATA = Path(__file__).parent / "data"

# Goes into the folder's name: raise it when a change of the code below changes the files.
RECIPE = 1

# Only colour photographs that are inside the wheels themselves: name -> (package, path in it).
PICTURES = {
    "astronaut": ("skimage", "data/astronaut.png"),
    "cat": ("skimage", "data/chelsea.png"),
    "coffee": ("skimage", "data/coffee.png"),
    "galaxies": ("skimage", "data/hubble_deep_field.jpg"),
    "motorcycle": ("skimage", "data/motorcycle_left.png"),
    "retina": ("skimage", "data/retina.jpg"),
    "rocket": ("skimage", "data/rocket.jpg"),
    "tissue": ("skimage", "data/ihc.png"),
    "temple": ("sklearn", "datasets/images/china.jpg"),
    "flower": ("sklearn", "datasets/images/flower.jpg"),
}
# Mostly black ones compress to nothing at any grain a camera would have: not photo-like enough for a benchmark.
SCENES = tuple(name for name in PICTURES if name not in ("galaxies", "retina"))

LONG_SIDE = 500
SHORT_SIDES = (375, 375, 375, 333, 333, 400, 281, 500)  # 4:3 and 3:2 dominate, some 5:4, 16:9 and square
PORTRAIT_SHARE = 0.25
FULL_CHROMA_SHARE = 0.25
QUALITIES = (75, 97)  # what cameras and web sites use; chosen within it to meet the file's size
SIZE_SIGMA = 0.35  # of the log of the file's size
GRAIN = (3.0, 11.0)  # standard deviation, in 8-bit steps


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a folder of photos depends on, Pillow's version aside."""

    count: int = 2048  # a multiple of every batch size in use: no peer pads its last batch
    mean_bytes: int = 100_000
    classes: int = 16
    seed: int = 0

    def folder_name(self) -> str:
        recipe = [RECIPE, PIL.__version__, dataclasses.asdict(self)]
        return "photos-" + hashlib.sha256(json.dumps(recipe).encode()).hexdigest()[:12]


@cache
def load_picture(name: str) -> Image.Image:
    """The photograph as RGB. Raises FileNotFoundError naming the package to install if it is not there."""
    package, path = PICTURES[name]
    found = importlib.util.find_spec(package)
    for folder in (found.submodule_search_locations or []) if found else []:
        file = Path(folder) / path
        if file.is_file():
            with Image.open(file) as picture:
                return picture.convert("RGB")
    wheel = {"skimage": "scikit-image", "sklearn": "scikit-learn"}[package]
    raise FileNotFoundError(f"{path} of {package} is missing: pip install {wheel}")


def random_size(rng: np.random.Generator) -> tuple[int, int]:
    """(width, height) of one photo."""
    size = (LONG_SIDE, int(rng.choice(SHORT_SIDES)))
    return size if rng.random() >= PORTRAIT_SHARE else (size[1], size[0])


def random_crop(picture: Image.Image, size: tuple[int, int], rng: np.random.Generator) -> Image.Image:
    """A random window of size's shape, 50% to 100% of the largest one that fits, scaled to size, maybe mirrored."""
    fits = min(picture.width / size[0], picture.height / size[1])
    width, height = (side * fits * rng.uniform(0.5, 1.0) ** 0.5 for side in size)
    left, top = rng.uniform(0, picture.width - width), rng.uniform(0, picture.height - height)
    box = (left, top, left + width, top + height)
    crop = picture.resize(size, Image.Resampling.BICUBIC, box=box)
    return crop.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if rng.random() < 0.5 else crop


def jittered(crop: Image.Image, rng: np.random.Generator) -> npt.NDArray[np.float32]:
    """Another white balance, exposure and contrast: [H, W, 3] float32, about 0 to 255."""
    pixels = np.asarray(crop, dtype=np.float32)
    gains = rng.uniform(0.85, 1.15) * rng.uniform(0.94, 1.06, size=3)
    contrast = rng.uniform(0.85, 1.15)
    changed: npt.NDArray[np.float32] = ((pixels * gains - 128) * contrast + 128).astype(np.float32)
    return changed


def random_grain(shape: tuple[int, int], rng: np.random.Generator) -> npt.NDArray[np.float32]:
    """[H, W, 3], luma deviation about 1: brightness grain, a little colour, smoothed as by a camera's demosaic."""
    height, width = shape
    field = rng.standard_normal((height + 1, width + 1, 4), dtype=np.float32)
    field = (field[1:, 1:] + np.float32(0.5) * field[:-1, 1:] + np.float32(0.5) * field[1:, :-1]) * np.float32(0.816)
    grain: npt.NDArray[np.float32] = field[..., :1] + np.float32(0.35) * field[..., 1:]
    return grain


def encode(pixels: Pixels, quality: int, subsampling: int) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", quality=quality, subsampling=subsampling)
    return out.getvalue()


def encode_near(pixels: Pixels, subsampling: int, target: float) -> bytes:
    """Encodes at the quality in QUALITIES that brings the file nearest to target bytes."""
    low, high = QUALITIES
    best, best_miss = b"", float("inf")
    while low <= high:
        quality = (low + high) // 2
        jpeg = encode(pixels, quality, subsampling)
        miss = len(jpeg) / target - 1
        if abs(miss) < best_miss:
            best, best_miss = jpeg, abs(miss)
        low, high = (quality + 1, high) if miss < 0 else (low, quality - 1)
    return best


def photo(settings: Settings, number: int) -> bytes:
    """The JPEG file of image number, a function of (settings, number) alone."""
    rng = np.random.default_rng((settings.seed, number))
    picture = load_picture(SCENES[int(rng.integers(len(SCENES)))])
    size = random_size(rng)
    pixels = jittered(random_crop(picture, size, rng), rng)
    grained = pixels + rng.uniform(*GRAIN) * random_grain(pixels.shape[:2], rng)
    subsampling = 0 if rng.random() < FULL_CHROMA_SHARE else 2
    area = size[0] * size[1] / (LONG_SIDE * 375)
    target = settings.mean_bytes * area * float(np.exp(rng.normal(-(SIZE_SIGMA**2) / 2, SIZE_SIGMA)))
    return encode_near(np.clip(grained, 0, 255).astype(np.uint8), subsampling, target)


def write_photos(folder: Path, settings: Settings, numbers: Sequence[int]) -> int:
    """Writes these images as class_CC/NNNNNN.jpg; returns their bytes."""
    total = 0
    for number in numbers:
        jpeg = photo(settings, number)
        (folder / f"class_{number % settings.classes:02d}" / f"{number:06d}.jpg").write_bytes(jpeg)
        total += len(jpeg)
    return total


def made_whole(root: Path, fill: Callable[[Path], None]) -> Path:
    """root, filled first if it is not there: in a draft beside it, so that root appears whole or not at all."""
    if root.is_dir():
        return root
    root.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=root.parent))
    try:
        fill(draft)
        draft.chmod(0o755)  # mkdtemp's is private
        draft.rename(root)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return root


def pack(samples: Sequence[tuple[str, int]], out: Path, shards: int) -> str:
    """Archives as webdataset has them, of photos and their labels. Gives how they are called together."""
    for shard in range(shards):
        with tarfile.open(out / f"{shard:06}.tar", "w") as archive:
            for number, (path, label) in enumerate(samples[shard::shards]):
                archive.add(path, f"{number}.jpg")
                about = tarfile.TarInfo(f"{number}.cls")
                about.size = len(str(label))
                archive.addfile(about, io.BytesIO(str(label).encode()))
    return f"{{000000..{shards - 1:06}}}.tar"


def ensure_photos(settings: Settings, base: Path = DATA) -> Path:
    """The folder of these photos, made first if it is not there."""

    def fill(draft: Path) -> None:
        for label in range(settings.classes):
            (draft / f"class_{label:02d}").mkdir()
        runs = [range(start, min(start + 64, settings.count)) for start in range(0, settings.count, 64)]
        with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            total = sum(pool.map(write_photos, [draft] * len(runs), [settings] * len(runs), runs))
        manifest = dataclasses.asdict(settings) | {"recipe": RECIPE, "pillow": PIL.__version__, "bytes": total}
        (draft / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")

    return made_whole(base / settings.folder_name(), fill)


def describe(root: Path) -> dict[str, object]:
    """What a result says about its images: count, bytes, shapes, chroma."""
    files = sorted(root.glob("*/*.jpg"))
    portrait = full_chroma = 0
    pixels: list[int] = []
    for file in files:
        with Image.open(file) as image:
            pixels.append(image.width * image.height)
            portrait += image.height > image.width
            full_chroma += {band[1:3] for band in getattr(image, "layer", [])} == {(1, 1)}
    return {
        "images": len(files),
        "mean_kb": round(sum(file.stat().st_size for file in files) / len(files) / 1000, 1),
        "mean_megapixels": round(sum(pixels) / len(files) / 1e6, 3),
        "portrait_share": round(portrait / len(files), 3),
        "full_chroma_share": round(full_chroma / len(files), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the benchmark's photos and print where they are.")
    parser.add_argument("--count", type=int, default=Settings.count)
    parser.add_argument("--mean-bytes", type=int, default=Settings.mean_bytes)
    parser.add_argument("--classes", type=int, default=Settings.classes)
    parser.add_argument("--seed", type=int, default=Settings.seed)
    root = ensure_photos(Settings(**vars(parser.parse_args())))
    print(root)
    print(json.dumps(describe(root), indent=2))


if __name__ == "__main__":
    main()
