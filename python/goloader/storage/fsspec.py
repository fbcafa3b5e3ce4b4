"""Image folders in storages that only fsspec reads: sftp://, abfs://, memory://, ... Python reads their files."""

from __future__ import annotations

import io
import posixpath
from collections.abc import Mapping
from typing import Any

from PIL import Image

from ..plan.paths import IMG_EXTENSIONS


class Remote(str):
    """A file in such a storage; as a str its URL."""

    def read(self) -> bytes:
        """Its bytes. Raises what its file system raises."""
        import fsspec

        with fsspec.open(str(self), "rb") as file:
            content: bytes = file.read()
            return content


def open_remote(path: Remote) -> Image.Image:
    """A file as an image of mode RGB, as torchvision's pil_loader makes it."""
    with Image.open(io.BytesIO(path.read())) as image:
        return image.convert("RGB")


def _file_system(url: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError:
        raise ImportError(f"{url}: goloader reads this storage by fsspec, which is not installed") from None
    fs, path = fsspec.core.url_to_fs(url)
    return fs, path


def folders(url: str) -> list[str]:
    """The names of the folders directly below one, sorted. Raises FileNotFoundError."""
    fs, path = _file_system(url)
    found = [
        posixpath.basename(each["name"].rstrip("/")) for each in fs.ls(path, detail=True) if each["type"] == "directory"
    ]
    return sorted(found)


def images(url: str, class_to_idx: Mapping[str, int], *, allow_empty: bool) -> list[tuple[Remote, int]]:
    """(file, class number) of every image below the class folders, in the order of torchvision's make_dataset.

    Raises FileNotFoundError if a class has no image, unless allow_empty.
    """
    fs, path = _file_system(url)
    samples, empty = [], []
    for name in sorted(class_to_idx):
        files = [each for each in fs.find(posixpath.join(path, name)) if each.lower().endswith(IMG_EXTENSIONS)]
        samples += [
            (Remote(fs.unstrip_protocol(each)), class_to_idx[name]) for each in sorted(files, key=posixpath.split)
        ]
        if not files:
            empty.append(name)
    if empty and not allow_empty:
        raise FileNotFoundError(
            f"Found no valid file for the classes {', '.join(empty)}. "
            f"Supported extensions are: {', '.join(IMG_EXTENSIONS)}"
        )
    return samples
