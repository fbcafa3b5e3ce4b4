"""python -m goloader index: lists tar archives and folders of images ahead, so that a training starts at once."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .paths import are_archives, is_image_folder


def add(commands: Any) -> None:
    parser = commands.add(
        "index",
        _index,
        help="list tar archives or a folder of images ahead",
        description=(
            "Writes the list that TarImages, TarDataset or ImageFolder(index=True) makes when it is first used: for "
            "archives beside the first of them, for a folder of classes as FOLDER/.goloader. Archives get the list of "
            "their images if each sample has an image and a .cls file, and always the list of all files. A list counts "
            "as long as nothing has changed; run the command again after a change."
        ),
    )
    parser.add_argument("path", metavar="PATH", nargs="+", help="tar archives, or one folder of classes")


def _index(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> int:
    from .. import datasets

    folder = parsed.path[0]
    try:
        if are_archives(parsed.path):
            with _progress("files") as progress:
                members = datasets.TarDataset(parsed.path, progress=progress)
            print(f"{len(members):,} samples of {len(members.members):,} files")
            try:
                with _progress("images") as progress:
                    images = datasets.TarImages(parsed.path, progress=progress)
                print(f"{len(images.samples):,} of them images with a class")
            except OSError as error:
                print(f"no list of images: {error}")
        elif len(parsed.path) == 1 and is_image_folder(folder):
            with _progress("files") as progress:
                listed = datasets.ImageFolder(folder, index=True, progress=progress)
            print(f"{len(listed.samples):,} images of {len(listed.classes):,} classes")
        else:
            parser.error("give tar archives, or one folder of classes with images")
    except (OSError, ValueError) as error:
        parser.error(str(error))
    return 0


@contextmanager
def _progress(unit: str) -> Iterator[Callable[[int], object] | None]:
    """What shows how many were found, on a terminal if tqdm is installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        yield None
        return
    with tqdm(unit=f" {unit}", disable=None) as bar:
        yield lambda count: bar.update(count - bar.n)
