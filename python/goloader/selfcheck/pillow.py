"""Pillow's behaviours: its decoders, and what its functions make of pixels."""

from __future__ import annotations

import ctypes
import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .behaviour import Behaviour, Late, golden, picture
from .resize import ORDERS, resized, vertical_first

Image: Any = Late("PIL.Image")
ImageEnhance: Any = Late("PIL.ImageEnhance")
ImageFilter: Any = Late("PIL.ImageFilter")
ImageOps: Any = Late("PIL.ImageOps")
_MODULE = "PIL.Image"


def _images() -> list[Any]:
    """A picture of each mode that the core has."""
    return [Image.frombytes(mode, (29, 17), picture(29, 17, len(mode)).tobytes()) for mode in ("RGB", "L")]


# ---- decoders

# Folders of files of 27 x 21 in pictures/, numbered:
#
#     jpeg  4:2:0, 4:4:4, 4:2:2, progressive, grey, with restarts, CMYK
#     png   RGB, grey, RGB and grey with alpha, palettes of 4 and of 8 bits
#     webp  with loss, with loss and alpha, without loss, that with alpha, with a profile and EXIF
#     bmp   24 and 32 bits, palettes of 1, 4 and 8 bits, grey, 16 bits of both kinds, rows that go down
#     gif   a palette, interlaced, grey, a part of the screen with and without transparency
#     tiff  without compression, LZW and deflate with and without differences, PackBits, grey both ways, a palette,
#           RGBA, tiles, big-endian
JPEG, PNG, WEBP, BMP, GIF, TIFF = "jpeg", "png", "webp", "bmp", "gif", "tiff"
CMYK, OF_ALPHA_OR_PALETTES = 6, (2, 3, 4, 5)  # their numbers among JPEG, and among PNG


def _decoded(files: str) -> Iterator[Any]:
    """Each file as it is, and in RGB."""
    for file in files_of(files):
        with Image.open(io.BytesIO(file)) as image:
            yield image
            yield image.convert("RGB")


def files_of(folder: str) -> Iterator[bytes]:
    """The files of one of these."""
    for path in sorted((Path(__file__).parent / "pictures" / folder).iterdir()):
        yield path.read_bytes()


# ---- resizes

# (width, height) before and after: where the orders differ each way, the edges of their conditions, an enlargement,
# and more pixels for the arithmetic.
_RESIZES = (
    ((4, 30), (3, 20)),
    ((6, 12), (5, 10)),
    ((6, 13), (5, 10)),
    ((2, 201), (1, 200)),
    ((2, 200), (1, 199)),
    ((5, 513), (2, 507)),
    ((5, 4), (9, 11)),
    ((31, 23), (17, 19)),
    ((60, 40), (11, 13)),
)
_FILTERS = {"lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5}


def _order(number: int) -> str | None:
    """The order of passes in which a filter gives Pillow's pixels."""
    left = list(ORDERS)
    for size, out in _RESIZES:
        colours, grey = _noise(size)
        fits = {}
        for vertical in {vertical_first(order, size, out) for order in left}:
            fits[vertical] = all(
                np.array_equal(_made(pixels, out, number), resized(pixels, out, number, vertical=vertical))
                for pixels in (colours, grey)
            )
        left = [order for order in left if fits[vertical_first(order, size, out)]]
    return left[0] if len(left) == 1 else None


def _noise(size: tuple[int, int]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """RGB, black and white, where the orders differ most; and a plane of all values, where those of a box do."""
    return (picture(*size) > 127) * np.uint8(255), picture(*size, 1)


def _made(pixels: NDArray[np.uint8], out: tuple[int, int], number: int) -> NDArray[np.uint8]:
    size = pixels.shape[1], pixels.shape[0]
    image = Image.frombytes("RGB" if pixels.ndim == 3 else "L", size, pixels.tobytes())
    return np.asarray(image.resize(out, number))


def _resize(name: str, number: int) -> Behaviour:
    return Behaviour(_MODULE, f"{name} resize", lambda: _order(number), ORDERS)


def _nearest() -> Iterator[Any]:
    for image in _images():
        yield from (image.resize(size, 0) for size in ((13, 40), (58, 7), (29, 18), (3, 2)))


# ---- functions of pixels


def _crops() -> Iterator[Any]:
    for image in _images():
        yield image.crop((3, 2, 20, 15))
        yield image.crop((-4, 5, 31, 12))


def _transposes() -> Iterator[Any]:
    for image in _images():
        yield from (image.transpose(method) for method in range(7))


def _expansions() -> Iterator[Any]:
    for image in _images():
        yield ImageOps.expand(image, border=(1, 2, 3, 4), fill=(9, 8, 7) if image.mode == "RGB" else 9)
        yield ImageOps.expand(image, border=2, fill=0)


def _lumas() -> Iterator[Any]:
    image, grey = _images()
    yield image.convert("L")
    yield grey.convert("RGB")


def _enhanced(kind: str) -> Iterator[Any]:
    for image in _images():
        for factor in (0.0, 0.3, 0.7931, 1.0, 1.4, 2.7):
            yield getattr(ImageEnhance, kind)(image).enhance(factor)


def _hues() -> Iterator[Any]:
    image = _images()[0]
    for shift in (0, 25, 200):
        hue, saturation, value = image.convert("HSV").split()
        turned = ((np.asarray(hue).astype(np.int32) + shift) % 256).astype(np.uint8)
        hue = Image.frombytes("L", image.size, turned.tobytes())
        yield Image.merge("HSV", (hue, saturation, value)).convert("RGB")


def _levels(name: str) -> Iterator[Any]:
    for image in _images():
        yield getattr(ImageOps, name)(image.crop((0, 0, 9, 7)).point(lambda value: value // 3 + 40))
        yield getattr(ImageOps, name)(image)


def _transforms(method: int, data: tuple[float, ...], number: int) -> Iterator[Any]:
    for image in _images():
        fill = (9, 8, 7) if image.mode == "RGB" else 9
        for size in ((29, 17), (35, 22)):
            yield image.transform(size, method, data, number, fillcolor=fill)


_AFFINE = (0.91, 0.32, -1.7, -0.27, 1.13, 1.3)
_PERSPECTIVE = (0.93, 0.21, -1.2, -0.14, 1.07, 0.8, 0.003, -0.004)


def _transform(kind: str, method: int, data: tuple[float, ...], name: str, number: int, known: int) -> Behaviour:
    return golden(_MODULE, f"{name} {kind} transform", lambda: _transforms(method, data, number), known)


def _blurs() -> Iterator[Any]:
    for image in _images():
        yield from (image.filter(ImageFilter.GaussianBlur(radius)) for radius in (0.4, 1.0, 2.3))
        yield from (image.filter(ImageFilter.BoxBlur(radius)) for radius in (0.6, 2))


def _kernels() -> Iterator[Any]:
    for image in _images():
        yield image.filter(ImageFilter.SMOOTH)
        yield image.filter(ImageFilter.DETAIL)
        yield image.filter(ImageFilter.SMOOTH_MORE)
        yield image.filter(ImageFilter.Kernel((5, 5), [(n * 7 % 11 - 4) / 3 for n in range(25)], 5.5, 3.25))


def _ranks() -> Iterator[Any]:
    for image in _images():
        yield from (image.filter(ImageFilter.RankFilter(3, number)) for number in range(9))


def _ycbcr() -> Iterator[Any]:
    for image in _images():
        yield image.convert("YCbCr")


def _angles() -> bool:
    """Whether the cosines with which images are turned are the C library's, which core/draw calls."""
    library = ctypes.CDLL(None)
    for name in ("cos", "sin", "tan"):
        function = getattr(library, name)
        function.argtypes, function.restype = [ctypes.c_double], ctypes.c_double
        if any(function(n * 0.0123) != getattr(math, name)(n * 0.0123) for n in range(-1000, 1000)):
            return False
    return True


BEHAVIOURS = {
    "pillow.decode.jpeg": golden(_MODULE, "JPEG decoder", lambda: _decoded(JPEG), 4251988186),
    "pillow.decode.png": golden(_MODULE, "PNG decoder", lambda: _decoded(PNG), 3364407028),
    "pillow.decode.webp": golden(_MODULE, "WebP decoder", lambda: _decoded(WEBP), 2395494564),
    "pillow.decode.bmp": golden(_MODULE, "BMP decoder", lambda: _decoded(BMP), 1967281785),
    "pillow.decode.gif": golden(_MODULE, "GIF decoder", lambda: _decoded(GIF), 1723826379),
    "pillow.decode.tiff": golden(_MODULE, "TIFF decoder", lambda: _decoded(TIFF), 1703020315),
    "pillow.resize.nearest": golden(_MODULE, "nearest resize", _nearest, 2529267695),
    **{f"pillow.resize.{name}": _resize(name, number) for name, number in _FILTERS.items()},
    "pillow.crop": golden(_MODULE, "crop", _crops, 1576422467),
    "pillow.transpose": golden(_MODULE, "transpose", _transposes, 4288592668),
    "pillow.expand": golden(_MODULE, "ImageOps.expand", _expansions, 3153291481),
    "pillow.luma": golden(_MODULE, "conversion between RGB and grey", _lumas, 268333611),
    "pillow.brightness": golden(_MODULE, "ImageEnhance.Brightness", lambda: _enhanced("Brightness"), 3318571207),
    "pillow.contrast": golden(_MODULE, "ImageEnhance.Contrast", lambda: _enhanced("Contrast"), 4210512206),
    "pillow.saturation": golden(_MODULE, "ImageEnhance.Color", lambda: _enhanced("Color"), 3443813579),
    "pillow.sharpness": golden(_MODULE, "ImageEnhance.Sharpness", lambda: _enhanced("Sharpness"), 480363605),
    "pillow.hue": golden(_MODULE, "conversion between RGB and HSV", _hues, 4006967071),
    "pillow.autocontrast": golden(_MODULE, "ImageOps.autocontrast", lambda: _levels("autocontrast"), 1500638130),
    "pillow.equalize": golden(_MODULE, "ImageOps.equalize", lambda: _levels("equalize"), 2335762658),
    "pillow.affine.nearest": _transform("affine", 0, _AFFINE, "nearest", 0, 4281395531),
    "pillow.affine.bilinear": _transform("affine", 0, _AFFINE, "bilinear", 2, 3294058425),
    "pillow.affine.bicubic": _transform("affine", 0, _AFFINE, "bicubic", 3, 4091159132),
    "pillow.perspective.nearest": _transform("perspective", 2, _PERSPECTIVE, "nearest", 0, 1164575639),
    "pillow.perspective.bilinear": _transform("perspective", 2, _PERSPECTIVE, "bilinear", 2, 3115546372),
    "pillow.perspective.bicubic": _transform("perspective", 2, _PERSPECTIVE, "bicubic", 3, 2196345391),
    "pillow.blur": golden(_MODULE, "Gaussian and box blur", _blurs, 843270387),
    "pillow.angles": Behaviour(_MODULE, "cosine", _angles),
    "pillow.kernel": golden(_MODULE, "ImageFilter.Kernel", _kernels, 3725880958),
    "pillow.rank": golden(_MODULE, "ImageFilter.RankFilter", _ranks, 4266425329),
    "pillow.ycbcr": golden(_MODULE, "Image.convert to YCbCr", _ycbcr, 3072231477),
}
