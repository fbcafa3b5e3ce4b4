"""Functions that read a file as an array, and open it by Pillow: imread of imageio, scikit-image and matplotlib; and
torchvision's, which make tensors of files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import PosixPath
from typing import Any, NamedTuple

import numpy as np
import torch

from ...bytecode import UnreadableError
from ...trust.originals import is_original


class ArrayReader(NamedTuple):
    """A function `imread` of a module.

    parameter  that takes the path
    need       what it has to do (goloader.selfcheck)
    """

    module: str
    parameter: str
    need: str

    @property
    def library(self) -> str:
        return self.need.partition(".")[0]


_READERS = (
    ArrayReader("imageio", "uri", "imageio.read.v2"),
    ArrayReader("imageio.v2", "uri", "imageio.read.v2"),
    ArrayReader("imageio.v3", "uri", "imageio.read.v3"),
    ArrayReader("skimage.io._io", "fname", "skimage.read"),
    ArrayReader("matplotlib.image", "fname", "matplotlib.read"),
    ArrayReader("matplotlib.pyplot", "fname", "matplotlib.read"),
)


def array_reader(called: Any) -> ArrayReader | None:
    """The row of a function; None for any other."""
    for reader in _READERS:
        module = sys.modules.get(reader.module)
        if module is not None and called is not None and called is vars(module).get("imread"):
            return reader
    return None


def calls_of(reader: ArrayReader) -> list[tuple[Any, str]]:
    """What it calls: its own code, and what it finds in tables."""
    roots: list[tuple[Any, str]] = [(sys.modules[reader.module], "imread")]
    if reader.library == "skimage":
        roots.append((import_module("skimage.io._plugins.imageio_plugin"), "imread"))
    if reader.library != "matplotlib":
        roots += [(_plugin(), name) for name in ("__init__", "__enter__", "__exit__", "close", "metadata", "read")]
    return roots


def _plugin() -> Any:
    """imageio's class that reads by Pillow."""
    return import_module("imageio.plugins.pillow").PillowPlugin


class Way(NamedTuple):
    """How a function reads files.

    reader  its name in the core's plan (core/plan/script.go)
    made    what makes its array of Pillow's image
    stands  whether it still goes that way, as its library is set
    """

    reader: str
    made: Callable[[Any], Any]
    stands: Callable[[], bool] = lambda: True


def way_of(reader: ArrayReader, paths: Sequence[Any]) -> Way:
    """How it reads all of these. Raises UnreadableError where that is left to it, or differs."""
    if not {*map(type, paths)} <= {str, PosixPath}:
        raise UnreadableError("reads what are no paths as arrays")
    texts = [*map(os.fspath, paths)]
    # URLs, a home directory, and names that libraries have for other things.
    if any(text[:1] in ("~", "<") or ":" in text.partition("/")[0] for text in texts):
        raise UnreadableError("reads arrays of URLs")
    kinds = {os.path.splitext(text)[1].lower() for text in texts}
    if reader.library == "matplotlib":
        named = {text.lower().endswith(".png") for text in texts}
        if len(named) > 1 or named != {kind == ".png" for kind in kinds}:  # ".png" has no ending, or is one
            raise UnreadableError("reads arrays by matplotlib of PNG files and of others")
        return Way("matplotlib_png", as_floats) if True in named else Way("matplotlib", np.asarray)
    if reader.library == "skimage" and any(isinstance(path, PosixPath) and path.is_symlink() for path in paths):
        raise UnreadableError("reads arrays by links, which scikit-image resolves")

    def stands() -> bool:
        config = import_module("imageio.config")
        formats = (config.known_extensions.get(kind) or (None,) for kind in kinds)
        if any(first is None or first.priority[:1] != ["pillow"] for first, *_ in formats):
            return False
        if reader.library == "skimage":
            chosen = import_module("skimage.io.manage_plugins").plugin_store["imread"][0][1]
            if chosen is not import_module("skimage.io._plugins.imageio_plugin").imread:
                return False
        return config.known_plugins["pillow"].plugin_class is _plugin()

    if not stands():
        raise UnreadableError(f"reads {', '.join(sorted(kinds))} files otherwise than by Pillow")
    return Way("imageio", np.array, stands)


class TensorReader(NamedTuple):
    """A function of torchvision.io.image's that decodes a file.

    name     of it
    reader   its name in the core's plan (core/plan/script.go)
    formats  what it decodes
    """

    name: str
    reader: str
    formats: tuple[str, ...] = ("jpeg", "png")

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of those that may be given."""
        first = "path" if self.name == "read_image" else "input"
        return (first, "mode") if self.name == "decode_jpeg" else (first, "mode", "apply_exif_orientation")


_TENSOR_READERS = (
    TensorReader("read_image", "torchvision"),
    TensorReader("decode_image", "torchvision"),
    TensorReader("decode_jpeg", "torchvision_jpeg", ("jpeg",)),
    TensorReader("decode_png", "torchvision_png", ("png",)),
)


def tensor_reader(called: Any) -> TensorReader | None:
    """The row of a function; None for any other."""
    module = sys.modules.get("torchvision.io.image")
    for reader in _TENSOR_READERS if module is not None and called is not None else ():
        # behind a hook of door 2's perhaps
        if called is vars(module).get(reader.name) and is_original(called, "torchvision", "goloader"):
            return reader
    return None


def takes(function: str, name: str) -> bool:
    """Whether a function of torchvision.io.image's does something, in this version, with what it calls by a name."""
    return name in vars(sys.modules["torchvision.io.image"])[function].__code__.co_names


def as_tensor(image: Any) -> torch.Tensor:
    """[channels, height, width] of a PIL image, as torchvision decodes it: channels lie together."""
    pixels = np.array(image)
    return torch.from_numpy(pixels.reshape(*pixels.shape[:2], -1)).permute(2, 0, 1)


def as_floats(image: Any) -> Any:
    """An image of a PNG file as matplotlib gives it."""
    return np.divide(image, 255, dtype=np.float32)
