"""Whether functions that read a file as an array make of it what Pillow's image of it says."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .behaviour import Late
from .pillow import JPEG, PNG, files_of

Image: Any = Late("PIL.Image")

# A segment of a JPEG file: EXIF, by which the image is to be turned.
_TURNED = bytes.fromhex("ffe1 0022 457869660000 4d4d002a00000008 0001 0112 0003 00000001 00060000 00000000")


def reads(read: Callable[[Any], Any], of_jpeg: Callable[[Any], Any], of_png: Callable[[Any], Any]) -> bool:
    """`of_jpeg` and `of_png` make of Pillow's images, RGB and grey, the arrays that `read` is to make of paths."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind, made in ((JPEG, of_jpeg), (PNG, of_png)):
            path = Path(folder, f"image.{kind}")
            for file in files_of(kind):
                for content in (file, file[:2] + _TURNED + file[2:]) if kind == JPEG else (file,):
                    path.write_bytes(content)
                    with Image.open(path) as image:
                        wanted = made(image) if image.mode in ("RGB", "L") else None
                    if wanted is not None and not all(_alike(read(each), wanted) for each in (path, os.fspath(path))):
                        return False
    return True


def _alike(array: Any, wanted: Any) -> bool:
    return (
        type(array) is type(wanted)
        and (array.dtype, array.shape, array.strides) == (wanted.dtype, wanted.shape, wanted.strides)
        and array.flags.writeable == wanted.flags.writeable
        and array.tobytes() == wanted.tobytes()
    )
