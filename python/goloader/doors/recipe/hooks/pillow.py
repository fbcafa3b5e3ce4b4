"""Pillow: opening a file, ImageEnhance, and the functions of ImageOps that are more than an image's methods."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from PIL import Image, ImageEnhance, ImageFile, ImageOps

from .... import _steps
from .. import switch
from ..files import header
from ..recipe import Source
from ..record import OPENED
from ..stand_ins.array import StandInArray, pixels_of
from ..stand_ins.array import become_real as array_becomes_real
from ..stand_ins.image import StandInImage, become_real, decoded, derive, is_movable, is_plain, opened, stand_in
from .swap import Hook, recorder

_ORIENTATION = 0x0112

# Of an array: what is done to a smaller image takes Pillow no longer than it takes to record it.
_BYTES_MIN = 1 << 14

# What stand-ins do instead of images. All others an image does itself, real by then.
_METHODS = tuple(
    name
    for name, value in vars(StandInImage).items()
    if name in vars(Image.Image) and getattr(value, "__qualname__", "").startswith(StandInImage.__qualname__)
)


def hooks() -> tuple[Hook, ...]:
    return (
        Hook(Image, "open", _open, (Image.Image,), _METHODS),
        Hook(Image.Image, "convert", _convert),
        Hook(Image, "fromarray", from_array, (Image.Image,), _METHODS),
        Hook(Image, "frombytes", _of_buffer),
        Hook(Image, "frombuffer", _of_buffer),
        Hook(ImageOps, "expand", _expand),
        Hook(ImageOps, "exif_transpose", _exif_transpose),
        Hook(ImageOps, "autocontrast", _autocontrast),
        Hook(ImageOps, "equalize", _equalize),
        *(Hook(kind, "__init__", partial(_enhancer, kind)) for kind in _ENHANCERS),
        Hook(ImageEnhance._Enhance, "enhance", _enhance),
    )


def _open(original: Any, fp: Any, mode: Any, formats: Any) -> Any:
    session = switch.current()
    if session is not None:
        source = _source(fp) if mode == "r" and formats is None else None
        if source is not None and not (session.streams and source.sound is False):
            return opened(source, session)
        with switch.off():
            image = original(fp, mode, formats)
        session.became_real(f"{OPENED} {_kind(fp, image)}")
        return image
    return original(fp, mode, formats)


def _convert(original: Any, self: Any, mode: Any, matrix: Any, dither: Any, palette: Any, colors: Any) -> Any:
    """In front of Image.convert of images that are real: files that the core does not decode."""
    session = switch.current()
    if session is None or not isinstance(self, ImageFile.ImageFile) or mode not in ("RGB", "L"):
        return original(self, mode, matrix, dither, palette, colors)
    with switch.off():
        image = original(self, mode, matrix, dither, palette, colors)
    return decoded(image, session) if image.mode == mode and _is_plain(image) else image


def _is_plain(image: Any) -> bool:
    return type(image) is Image.Image and all(image.size) and not _too_large(image.size)


def from_array(original: Any, obj: Any, mode: Any) -> Any:
    """In front of Image.fromarray, and of functions like it."""
    if type(obj) is StandInArray:
        session = switch.current()
        # Pillow's image of one channel shares the array's memory.
        made = pixels_of(obj) if session is not None and mode in (None, "RGB") else None
        if session is not None and made is not None and made.mode == "RGB":
            return stand_in(made.then(original, (mode,), (), made.size, "RGB"), session)
        obj = array_becomes_real(obj, "Image.fromarray")
    session = switch.current()
    if session is None or type(obj) is not np.ndarray or obj.size < _BYTES_MIN:
        return original(obj, mode)
    with switch.off():
        image = original(obj, mode)
    # One of another mode may share the array's memory.
    return decoded(image, session) if image.mode == "RGB" and _is_plain(image) else image


def _of_buffer(original: Any, mode: Any, size: Any, data: Any, *decoder: Any) -> Any:
    if type(data) is StandInArray:
        data = array_becomes_real(data, f"Image.{original.__name__}")
    return original(mode, size, data, *decoder)


def _kind(fp: Any, image: Image.Image) -> str:
    if isinstance(fp, (str, bytes, os.PathLike, io.BufferedReader, io.BytesIO)):
        return f"a {image.format} file of mode {image.mode}"
    return type(fp).__name__


def _source(fp: Any) -> Source | None:
    """What the core can read; None for all else, and for errors: Pillow raises its own."""
    kind = type(fp)
    probed: header.Probed | None
    try:
        if kind is io.BytesIO:
            content = fp.getvalue()
            found = header.probe(content, switch.decoders)
            return None if found is None or _too_large(found[0]) else _of_kind(Source(content, fp, *found), content)
        if kind is io.BufferedReader:
            path = os.fsencode(os.path.abspath(fp.name)) if isinstance(fp.name, (str, bytes)) else b""
            number = fp.fileno()
            if not path or not os.path.samestat(os.fstat(number), os.stat(path)):
                return None
            probed = header.probe_file(number, switch.decoders)
        elif kind is str or kind is bytes or isinstance(fp, os.PathLike):
            path = os.fsencode(fp)
            if not path.startswith(b"/"):
                path = os.path.abspath(path)
            probed = header.probe_path(path, switch.decoders)
        else:
            return None
    except (OSError, ValueError):
        return None
    if probed is None or probed.header is None or _too_large(probed.header[0]):
        return None
    return _of_kind(Source(path, fp, *probed.header, probed.stamp), probed.head)


def _of_kind(source: Source, head: bytes) -> Source:
    """A source that knows Pillow's class of its image, by the file's first bytes."""
    if head.startswith(header.PNG):
        source.kind = "PngImageFile"
    elif head.startswith(header.JPEG) and b"MPF\0" not in head:  # of several pictures
        source.kind = "JpegImageFile"
    return source


def _too_large(size: tuple[int, int]) -> bool:
    """Pillow warns of such an image, or raises."""
    return Image.MAX_IMAGE_PIXELS is not None and size[0] * size[1] > Image.MAX_IMAGE_PIXELS


def record_border(
    image: Any, function: Callable[..., Any], arguments: tuple[Any, ...], sides: Any, mode: str, fill: Any
) -> StandInImage | None:
    """Records a border that `function(image, *arguments)` puts around a stand-in; None if the core has no such.

    sides  (left, top, right, bottom), or what ImageOps and torchvision take for it
    fill   an int or a tuple, as Pillow would get it; used by mode "constant"
    """
    if not is_movable(image) or image.mode == "YCbCr":  # torchvision makes RGB of that by some modes
        return None
    if type(sides) is int:
        sides = (sides,) * 4
    elif isinstance(sides, (tuple, list)) and len(sides) == 2:
        sides = (*sides, *sides)
    if not isinstance(sides, (tuple, list)) or len(sides) != 4:
        return None
    if not all(type(side) is int and 0 <= side < 1 << 20 for side in sides):
        return None
    channels = 3 if image.mode == "RGB" else 1
    values = fill if isinstance(fill, tuple) else (fill,)
    if mode != "constant" or values == (0,):
        values = (0,) * channels
    if len(values) != channels or not all(type(value) is int and 0 <= value <= 255 for value in values):
        return None
    left, top, right, bottom = sides
    size = image.width + left + right, image.height + top + bottom
    steps = (_steps.pad(left, top, right, bottom, mode, values),) if any(sides) else ()
    return derive(image, function, arguments, steps, size, image.mode)


def _expand(original: Any, image: Any, border: Any, fill: Any) -> Any:
    if switch.current() is not None and type(image) is StandInImage:
        sides = border if isinstance(border, (int, tuple)) else None
        made = record_border(image, original, (border, fill), sides, "constant", fill)
        if made is not None:
            return made
        become_real(image, "ImageOps.expand")
    return original(image, border, fill)


def _exif_transpose(original: Any, image: Any, **options: bool) -> Any:  # before Pillow 9.4 there are none
    if switch.current() is not None and type(image) is StandInImage:
        if image.__dict__["_recipe"].before is None and image.getexif().get(_ORIENTATION, 1) == 1:
            made = image.copy()
            return None if options.get("in_place") else made
        become_real(image, "ImageOps.exif_transpose")
    return original(image, **options)


@recorder
def _autocontrast(
    original: Any, image: Any, cutoff: Any, ignore: Any, mask: Any, preserve_tone: Any
) -> StandInImage | None:
    plain = type(cutoff) in (int, float) and not cutoff and ignore is None and mask is None and preserve_tone is False
    if not plain or not is_plain(image):
        return None
    return derive(image, original, (), (_steps.AUTOCONTRAST,), image.size, image.mode)


@recorder
def _equalize(original: Any, image: Any, mask: Any) -> StandInImage | None:
    if mask is not None or not is_plain(image):
        return None
    return derive(image, original, (), (_steps.EQUALIZE,), image.size, image.mode)


_ENHANCERS: dict[Any, Callable[[float], bytes]] = {
    ImageEnhance.Brightness: _steps.brightness,
    ImageEnhance.Contrast: _steps.contrast,
    ImageEnhance.Color: _steps.saturation,
    ImageEnhance.Sharpness: _steps.sharpness,
}
_FACTOR_MAX = 1e30  # far from what is not finite in float32


def _degenerate(image: Any, kind: Any) -> Any:
    return kind(image).degenerate


def _enhanced(image: Any, kind: Any, factor: float) -> Any:
    return kind(image).enhance(factor)


def _enhancer(kind: Any, original: Any, self: Any, image: Any) -> None:
    if switch.current() is None or type(self) is not kind or not is_plain(image):
        original(self, image)
        return
    self.image = image
    # What a factor of 0 gives: users may look at it, and those who change it get what they expect.
    if kind is ImageEnhance.Color and image.mode == "L":
        self.degenerate = image
    else:
        self.degenerate = derive(image, _degenerate, (kind,), (_ENHANCERS[kind](0.0),), image.size, image.mode)
    self.__dict__["_recorded"] = self.degenerate


@recorder
def _enhance(original: Any, self: Any, factor: Any) -> StandInImage | None:
    image = self.__dict__.get("image")
    if type(self) not in _ENHANCERS or not is_plain(image):
        return None
    same = is_plain(self.degenerate, 0) and self.degenerate is self.__dict__.get("_recorded")
    if not same or type(factor) not in (int, float) or not abs(factor) < _FACTOR_MAX:
        return None
    steps = (_ENHANCERS[type(self)](factor),)
    return derive(image, _enhanced, (type(self), factor), steps, image.size, image.mode)
