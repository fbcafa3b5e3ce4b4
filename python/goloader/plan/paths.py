"""Lists of files as the core takes them, and image folders without torchvision."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .refusal import RefusalError

__all__ = ["IMG_EXTENSIONS", "Paths", "find_classes", "find_samples", "native_share"]

# torchvision.datasets.folder.IMG_EXTENSIONS
IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")

# Those with a decoder in core/decode; all others go to Pillow, one by one.
_NATIVE_EXTENSIONS = (b".jpg", b".jpeg", b".png")


@dataclass(frozen=True, eq=False)
class Paths:
    """File names as the kernel takes them.

    names    one a file
    blob     the names one after the other, each followed by a NUL
    offsets  [files + 1] int64: where in blob each begins, and its length at the end
    """

    names: list[bytes]
    blob: bytes
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, paths: Sequence[Any]) -> Paths:
        """From str, bytes or PathLike. Raises RefusalError for a path with a NUL inside, which no file can have."""
        names = [os.fsencode(path) for path in paths]
        blob = b"".join(name + b"\0" for name in names)
        if blob.count(b"\0") != len(names):
            raise RefusalError("source", "path", "one of the paths has a NUL inside")
        offsets = np.zeros(len(names) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, names), np.int64, len(names)) + 1, out=offsets[1:])
        return cls(names, blob, offsets)


def native_share(names: Sequence[bytes], index: NDArray[np.int64] | None) -> float:
    """Share of samples whose file has a decoder in the core, by its extension; `index` is the samples' files."""
    native = np.fromiter((name.lower().endswith(_NATIVE_EXTENSIONS) for name in names), np.bool_, len(names))
    if index is not None:
        native = native[index[index >= 0]]
    return float(native.mean()) if native.size else 1.0


def find_classes(directory: str | os.PathLike[str]) -> tuple[list[str], dict[str, int]]:
    """Names of the class folders in order, and their numbers. Raises FileNotFoundError if there is none.

    torchvision.datasets.folder.find_classes
    """
    with os.scandir(directory) as entries:
        classes = sorted(entry.name for entry in entries if entry.is_dir())
    if not classes:
        raise FileNotFoundError(f"Couldn't find any class folder in {directory}.")
    return classes, {name: number for number, name in enumerate(classes)}


def find_samples(
    directory: str | os.PathLike[str], class_to_idx: dict[str, int], *, allow_empty: bool = False
) -> list[tuple[str, int]]:
    """(path, class number) of every image under the class folders. Raises FileNotFoundError if a class has none.

    torchvision.datasets.folder.make_dataset with extensions=IMG_EXTENSIONS
    """
    directory = os.path.expanduser(directory)
    samples: list[tuple[str, int]] = []
    empty: list[str] = []
    join = os.path.join  # as torchvision: Path would rewrite what users compare
    for name in sorted(class_to_idx):
        before = len(samples)
        for root, _, files in sorted(os.walk(join(directory, name), followlinks=True)):
            paths = [join(root, file) for file in sorted(files)]
            samples += [(path, class_to_idx[name]) for path in paths if path.lower().endswith(IMG_EXTENSIONS)]
        if len(samples) == before:
            empty.append(name)
    if empty and not allow_empty:
        raise FileNotFoundError(
            f"Found no valid file for the classes {', '.join(empty)}. "
            f"Supported extensions are: {', '.join(IMG_EXTENSIONS)}"
        )
    return samples
