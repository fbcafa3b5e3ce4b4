"""Files beside JPEG and PNG: the core decodes most, Pillow the others, and Go does what follows."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance, ImageOps
from torch.utils import data
from torchvision.transforms import functional as F

import goloader
from goloader.doors.recipe import door
from goloader.doors.recipe.recipe import Source

# How a file is written, of pixels [height, width, 3].
KINDS = {
    "webp": lambda pixels, to: Image.fromarray(pixels).save(to, "WEBP"),
    "webp with alpha": lambda pixels, to: Image.fromarray(pixels).convert("RGBA").save(to, "WEBP", lossless=True),
    "bmp": lambda pixels, to: Image.fromarray(pixels).save(to, "BMP"),
    "gif": lambda pixels, to: Image.fromarray(pixels).save(to, "GIF"),
    "tiff": lambda pixels, to: Image.fromarray(pixels).save(to, "TIFF"),
    "tiff, grey": lambda pixels, to: Image.fromarray(pixels[..., 0]).save(to, "TIFF"),
    "ppm": lambda pixels, to: Image.fromarray(pixels).save(to, "PPM"),
    "png of 16 bits": lambda pixels, to: Image.fromarray(pixels[..., 0].astype(np.uint16) * 257).save(to, "PNG"),
    "png of 1 bit": lambda pixels, to: Image.fromarray(pixels[..., 0]).convert("1").save(to, "PNG"),
    "cmyk": lambda pixels, to: Image.fromarray(pixels).convert("CMYK").save(to, "TIFF"),
}

NATIVE = ("webp", "webp with alpha", "bmp", "gif", "tiff", "tiff, grey")


def flip(image: Image.Image) -> Image.Image:
    return ImageOps.mirror(image.resize((30, 20)))


def colours(image: Image.Image) -> Image.Image:
    return ImageEnhance.Color(image.resize((30, 20))).enhance(1.7)


def drawn_on(image: Image.Image) -> Image.Image:
    image.putpixel((3, 4), 9)
    return image.resize((30, 20))


def kept(image: Image.Image) -> Image.Image:
    """The image that a step went on from is changed: the step must not see it."""
    made = image.resize((30, 20))
    image.paste(7, (0, 0, 50, 50))
    return made


CODE = (flip, colours, drawn_on, kept)


class Mixed(data.Dataset[Any]):
    """Files of one kind among JPEGs."""

    def __init__(self, paths: list[Path], mode: str, code: Any) -> None:
        self.paths, self.mode, self.code, self.opened = paths, mode, code, 0

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        self.opened += 1  # so that it is not read from its bytecode
        image = Image.open(self.paths[index]).convert(self.mode)
        return F.to_tensor(self.code(image)), index


@pytest.mark.slow  # many seconds
@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("mode", ["RGB", "L"])
@pytest.mark.parametrize("kind", KINDS)
def test_one_among_others_sends_no_batch_to_python(kind: str, mode: str, num_workers: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    paths = []
    for number in range(24):
        paths.append(tmp_path / f"{number:02}")
        pixels = np.kron(rng.integers(0, 256, (10, 13, 3), np.uint8), np.ones((4, 4, 1), np.uint8))
        made = io.BytesIO()
        (KINDS[kind] if number % 4 == 1 else lambda pixels, to: Image.fromarray(pixels).save(to, "JPEG"))(pixels, made)
        paths[-1].write_bytes(made.getvalue())
    for code in CODE:
        dataset = Mixed(paths, mode, code)
        theirs = list(data.DataLoader(dataset, 4))
        ours = goloader.DataLoader(dataset, 4, num_workers=num_workers)
        for _ in range(3):
            for mine, other in zip(ours, theirs, strict=True):
                assert all(map(torch.equal, mine, other))
        record = door.record(ours)
        if code in (flip, colours):
            assert record.on, record.rows()
            by_pillow = {what.partition(" of ")[0].partition(" from ")[0] for what, _ in record.reasons}
            assert by_pillow <= (set() if kind in NATIVE and mode == "RGB" else {"Image.open", "Image.convert"})
            assert sum(record.leaves.values()) == record.samples


@pytest.mark.parametrize("name", NATIVE)
def test_what_is_told_behind_the_pixels(tmp_path: Path, name: str, traced: Any) -> None:
    """Pillow knows some of an image's info when it has decoded it."""
    path = tmp_path / "image"
    KINDS[name](np.random.default_rng(0).integers(0, 256, (60, 70, 3), dtype=np.uint8), path)

    def told(path: Path) -> Any:
        image = Image.open(path)
        before = dict(image.info)
        image.convert("RGB")
        return before, dict(image.info), image.format

    assert traced(told, path)[0] == told(path)


def test_a_file_that_is_replaced_by_no_image_is_told_as_pillow_tells_it(tmp_path: Path) -> None:
    path = tmp_path / "image.png"
    path.write_bytes(b"no image")
    about = path.stat()
    source = Source(os.fsencode(path), str(path), (2, 2), "RGB", (about.st_size, about.st_mtime_ns))
    with pytest.raises(OSError, match=re.escape(f"cannot identify image file '{path}'")):
        source.load()


class SeveralDtypes(data.Dataset[Any]):
    def __init__(self, path: Path) -> None:
        self.path, self.opened = path, 0

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> Any:
        self.opened += 1  # so that it is not read from its bytecode
        made = F.to_tensor(Image.open(self.path).convert("RGB"))
        return made.double() if index % 4 == 1 else made


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_batch_of_several_dtypes(tmp_path: Path, num_workers: int) -> None:
    path = tmp_path / "image.webp"
    KINDS["webp"](np.random.default_rng(0).integers(0, 256, (60, 70, 3), dtype=np.uint8), path)
    loaders = [
        kind(SeveralDtypes(path), batch_size=3, num_workers=num_workers)
        for kind in (data.DataLoader, goloader.DataLoader)
    ]
    want, got = ([(batch.dtype, batch.tolist()) for _ in range(2) for batch in loader] for loader in loaders)
    assert got == want
