"""What was done to an image so far: where it comes from, the calls that Pillow would make, and the core's steps.

A recipe can be carried out by the core, from its steps, or by Pillow itself, from its calls: an image that becomes real
is made by the very functions that the user's code called.
"""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
from PIL import Image

from ... import _steps
from . import switch
from .files.sound import is_sound
from .session import TroubleError

STEPS_MAX = 16  # each may be a pass, and core/op takes as many

# Who makes an image where the core does not, as in core/recipe's wire form.
PILLOW, OPENCV, TORCHVISION = range(3)

Size = tuple[int, int]  # width, height

ONE_CHANNEL = ("L", "P")  # modes of recipes that have steps; the others have three


class Source:
    """An image file that was opened: a path or bytes, and what its header says.

    data    the path, absolute, or the whole file
    opened  what the user gave to Image.open
    stamp   of a path: the file's bytes, and when it was modified, in ns
    looks   how often the core has made something of it for code that looked at it
    sound   whether it surely decodes, as sound.is_sound says
    kind    of which Pillow class the image is: "JpegImageFile" or "PngImageFile"; None where only Pillow can tell

    reader  whose pixels it has: PILLOW's, OPENCV's or TORCHVISION's
    """

    reader = PILLOW
    kind: str | None = None
    __slots__ = ("__dict__", "data", "looks", "mode", "opened", "path", "size", "stamp")

    def __init__(self, data: bytes, opened: Any, size: Size, mode: str, stamp: tuple[int, int] | None = None) -> None:
        self.data, self.opened, self.size, self.mode = data, opened, size, mode
        self.path = stamp is not None
        self.stamp = stamp or (0, 0)
        self.looks = 0

    @property
    def closed(self) -> bool:
        """The user gave an open file and has closed it since."""
        return bool(getattr(self.opened, "closed", False))

    @cached_property
    def sound(self) -> bool | None:
        if not self.path:
            return is_sound(self.data)
        try:
            with open(self.data, "rb") as file:
                return is_sound(file.read())
        except OSError:
            return False

    def open_as_given(self) -> Image.Image:
        """The image as the user's own call would open it."""
        self.verify()
        with switch.off():
            return Image.open(self.opened)

    def load(self) -> Image.Image:
        """The image, decoded; what the user gave may be closed meanwhile."""
        with self._opened() as image:
            image.load()
            return image

    def info(self) -> dict[Any, Any] | None:
        """What images made of it have as their info; None where Pillow's methods may change that on the way."""
        try:
            with self._opened() as image:
                # Other files may say more behind their pixels.
                return image.info if image.format == "JPEG" else None
        except OSError:
            return None

    @contextmanager
    def _opened(self) -> Iterator[Image.Image]:
        self.verify()
        with switch.off(), Image.open(os.fsdecode(self.data) if self.path else io.BytesIO(self.data)) as image:
            yield image

    def verify(self) -> None:
        """Raises TroubleError if the file is not the one that was opened: a user's image would be of that one."""
        if self.path:
            about = os.stat(self.data)
            if (about.st_size, about.st_mtime_ns) != self.stamp:
                raise TroubleError(f"{os.fsdecode(self.data)} was changed since it was opened")


class Decoded(Source):
    """An image of mode RGB or L that Pillow has decoded: the core gets it as a PNG file without compression."""

    __slots__ = ("_data", "_image")

    def __init__(self, image: Image.Image) -> None:
        self._image, self._data = image, b""
        super().__init__(b"", None, image.size, image.mode)

    @property
    def data(self) -> bytes:
        """The file, written when it is first asked for: code that looks at the image never needs it."""
        self._data = self._data or _png_of(self._image)
        return self._data

    @data.setter
    def data(self, value: bytes) -> None:
        self._data = value

    def load(self) -> Image.Image:
        """The image, which nobody may change."""
        return self._image


def _png_of(image: Image.Image) -> bytes:
    width, height = image.size
    pixels = np.frombuffer(image.tobytes(), np.uint8).reshape(height, -1)
    lines = np.zeros((height, 1 + pixels.shape[1]), np.uint8)  # each begins with the number of its filter: none
    lines[:, 1:] = pixels
    about = struct.pack(">2I5B", width, height, 8, 2 if image.mode == "RGB" else 0, 0, 0, 0)
    chunks = (b"IHDR", about), (b"IDAT", zlib.compress(lines.data, 0)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(content, zlib.crc32(kind)))
        for kind, content in chunks
    )


class Recipe:
    """An image that nobody has made yet.

    source   where it begins
    before   the recipe that `call` goes on from; None at the source, and where `call` makes the image of nothing
    call     (function, arguments), to be called with the image of `before`; None at the source
    steps    the core's, in wire form
    size     (width, height) of the result
    mode     Pillow's, of the result; other modes than RGB, YCbCr, L and P have no steps
    stored   they go on from the palette indices of an image of mode P, not from its colours
    """

    __slots__ = ("_image", "before", "call", "followed", "mode", "size", "source", "steps", "stored")

    def __init__(
        self,
        source: Source,
        before: Recipe | None,
        call: tuple[Callable[..., Any], tuple[Any, ...]] | None,
        steps: tuple[bytes, ...],
        size: Size,
        mode: str,
        stored: bool = False,
    ) -> None:
        self.source, self.before, self.call = source, before, call
        self.steps, self.size, self.mode, self.stored = steps, size, mode, stored
        self.followed = False
        self._image: Image.Image | None = None

    @classmethod
    def of(cls, source: Source) -> Recipe:
        """The image as it is in its file; one of mode L is the core's RGB image without its colours."""
        steps = (_steps.grayscale(1),) if source.mode == "L" else ()
        return cls(source, None, None, steps, source.size, source.mode, source.mode == "P")

    def then(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], steps: tuple[bytes, ...], size: Size, mode: str
    ) -> Recipe:
        """What `function(image, *arguments)` makes of it."""
        self.followed = True
        stored = self.stored and (self.mode != "P" or mode == "P")  # else its colours were taken, before any step
        return Recipe(self.source, self, (function, arguments), self.steps + steps, size, mode, stored)

    def with_steps(self, steps: tuple[bytes, ...], size: Size, mode: str) -> Recipe:
        """What a view of an array shows, for the core alone: carry_out and then are not for it."""
        return Recipe(self.source, None, None, self.steps + steps, size, mode, self.stored)

    def shown(self, make: Callable[[], Any]) -> Recipe:
        """The same, of which `make` gives the pixels: an array, for what goes on from there."""
        mode = "L" if self.mode in ONE_CHANNEL else "RGB"
        return Recipe(self.source, None, (make, ()), self.steps, self.size, mode, self.stored)

    @property
    def is_as_read(self) -> bool:
        """Nothing was done to the image of its file."""
        return len(self.steps) == (self.source.mode == "L")

    @property
    def is_made(self) -> bool:
        """There is such an image already."""
        return self._image is not None

    @property
    def is_at_hand(self) -> bool:
        """The same, of it or of what it is made of."""
        return self.is_made or (self.before is not None and self.before.is_at_hand)

    def give(self, image: Image.Image) -> None:
        """The image, made otherwise than by Pillow: it is carry_out's."""
        self._image = image

    def carry_out(self) -> Image.Image:
        """The image, made by Pillow; nobody may change it. Raises what Pillow raises."""
        if self._image is None:
            if self.call is None:
                self._image = self.source.load()
            else:
                function, arguments = self.call
                before = () if self.before is None else (self.before.carry_out(),)
                with switch.off():
                    self._image = function(*before, *arguments)
        return self._image

    def hand_over(self) -> Image.Image:
        """The image, made by Pillow, for a user who may change it: recipes that go on from here must not see that."""
        image = self.carry_out()
        if self.followed:
            return image.copy()
        self._image = None
        return image
