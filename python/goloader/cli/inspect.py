"""python -m goloader inspect: what files hold: archives, folders of images, tables, and files of other libraries."""

from __future__ import annotations

import argparse
import io
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .paths import are_archives, is_image_folder

if TYPE_CHECKING:
    from PIL import Image

# Of a contact sheet: the longest side of an image, in pixels, the height of the line below it, and images in a row.
_SIDE, _LINE, _COLUMNS = 160, 14, 6
_CHARACTERS = 26  # that fit below an image


def add(commands: Any) -> None:
    parser = commands.add(
        "inspect",
        _inspect,
        help="show what archives, folders of images and files of other libraries contain",
        description=(
            "Prints format, number of samples, fields and bytes of tar archives, of a folder of classes, and of what "
            "goloader.open(PATH) reads."
        ),
    )
    parser.add_argument("path", metavar="PATH", nargs="+", help="a folder or file, or several files")
    parser.add_argument("--sheet", metavar="FILE.png", type=Path, help="draw the images of some samples into FILE.png")
    parser.add_argument("--samples", metavar="N", type=int, default=24, help="of how many, evenly spread (%(default)s)")


@dataclass
class _Found:
    """What was found.

    fields   by their names, what each is
    samples  anything with a length and an index; its samples are mappings, or tuples
    """

    kind: str
    files: Sequence[str]
    fields: Mapping[str, str]
    samples: Any


def _inspect(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> int:
    if parsed.samples < 1:
        parser.error("--samples is below 1")
    try:
        found = _found(parsed.path)
        size = sum(map(os.path.getsize, found.files))
        print(f"{found.kind}: {len(found.samples):,} samples, {size:,} bytes in {len(found.files):,} files")
        width = max(map(len, found.fields), default=0)
        for name, what in found.fields.items():
            print(f"  {name:<{width}}  {what}")
        if parsed.sheet is not None:
            print(f"{_draw(found.samples, parsed.samples, parsed.sheet)} images in {parsed.sheet}")
    except (OSError, ValueError) as error:
        parser.error(str(error))
    return 0


def _found(paths: Sequence[str]) -> _Found:
    """Raises OSError and ValueError."""
    from ..arrays import ArrayDataset
    from ..formats import open

    if are_archives(paths):
        return _archives(paths)
    if len(paths) == 1 and is_image_folder(paths[0]):
        return _folder(paths[0])
    dataset = open(paths, allow_unsafe_types=True)  # nothing is decoded
    if isinstance(dataset, ArrayDataset):
        named = {str(name): each.text for name, each in dataset.named()}
        return _Found("a table", sorted(dataset.paths), named, dataset)
    return _Found(dataset.kind, dataset.files, dataset.fields, dataset)


def _archives(paths: Sequence[str]) -> _Found:
    from ..datasets import TarDataset, expand
    from ..plan.paths import Member

    dataset = TarDataset(paths, index=False)
    suffixes: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for member, _ in dataset.members:
        assert isinstance(member, Member)  # mypy
        suffix = os.path.basename(member).partition(".")[2].lower()
        suffixes[suffix] += 1
        sizes[suffix] += member.bytes
    fields = {name: f"{count:,} files, {sizes[name]:,} bytes" for name, count in suffixes.most_common()}
    return _Found("tar archives", expand(paths), fields, dataset)


def _folder(path: str) -> _Found:
    from ..datasets import ImageFolder

    dataset = ImageFolder(path)
    counts = Counter(dataset.targets.tolist())
    fields = {name: f"class {number}, {counts[number]:,} images" for name, number in dataset.class_to_idx.items()}
    return _Found("a folder of images", [path for path, _ in dataset.samples], fields, dataset)


def _draw(samples: Any, most: int, path: Path) -> int:
    """Draws the images of so many samples, and gives how many images there are. Raises ValueError if there is none."""
    from PIL import Image, ImageDraw

    count = min(most, len(samples))
    numbers = [n * len(samples) // count for n in range(count)]
    images = [(f"{number}: {name}", image) for number in numbers for name, image in _images(samples[number])]
    if not images:
        raise ValueError("none of these samples has an image")
    rows = -(-len(images) // _COLUMNS)
    width, height = _SIDE + 4, _SIDE + _LINE + 4
    sheet = Image.new("RGB", (width * min(_COLUMNS, len(images)), height * rows), "white")
    pen = ImageDraw.Draw(sheet)
    for place, (text, image) in enumerate(images):
        left, top = place % _COLUMNS * width, place // _COLUMNS * height
        image.thumbnail((_SIDE, _SIDE))
        sheet.paste(image, (left + (width - image.width) // 2, top + 2))
        pen.text((left + 2, top + _SIDE + 2), text[:_CHARACTERS], "black")
    sheet.save(path)
    return len(images)


def _images(sample: Any) -> list[tuple[str, Image.Image]]:
    """The images of a sample, each with what is written below it: its field, or its class."""
    from PIL import Image, UnidentifiedImageError

    if isinstance(sample, tuple) and len(sample) == 2 and isinstance(sample[0], Image.Image):
        return [(f"class {sample[1]}", sample[0].convert("RGB"))]
    images = []
    for name, value in sample.items() if isinstance(sample, Mapping) else enumerate(sample):
        if isinstance(value, bytes):
            try:
                value = Image.open(io.BytesIO(value))
            except (UnidentifiedImageError, OSError):
                continue
        if isinstance(value, Image.Image):
            images.append((str(name), value.convert("RGB")))
    return images
