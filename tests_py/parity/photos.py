"""Small image folders with files of every kind that ImageFolder lists."""

from __future__ import annotations

import io
import random
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torchvision.transforms as T
from PIL import Image
from torchvision.datasets import ImageFolder

# Makes an ImageFolder of files: make(files, transform).
Make = Callable[..., ImageFolder]


def tail() -> list[Any]:
    """What makes a tensor of an image in most pipelines."""
    return [T.ToTensor(), T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]


def picture(width: int, height: int, seed: int) -> Image.Image:
    """Smooth coloured noise, which JPEG keeps well and every crop of which is different."""
    coarse = Image.fromarray(np.random.default_rng(seed).integers(0, 256, (6, 7, 3), dtype=np.uint8))
    return coarse.resize((width, height), Image.Resampling.BICUBIC)


def _jpegs() -> list[bytes]:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees, which torchvision does not
    exif[0x010E] = "a description"
    return [
        *(save(picture(47, 33, seed), "JPEG", subsampling=seed % 3) for seed in range(6)),
        *(save(picture(64, 48, seed), "JPEG", subsampling=seed % 3, progressive=True) for seed in range(6, 9)),
        save(picture(40, 56, 10).convert("L"), "JPEG"),
        save(picture(39, 41, 11).convert("L"), "JPEG", progressive=True),
        save(picture(44, 40, 12).convert("CMYK"), "JPEG"),
        save(picture(33, 39, 13), "JPEG", exif=exif),
        save(picture(50, 37, 14), "JPEG", restart_marker_rows=1),
        save(picture(49, 57, 15), "JPEG", restart_marker_blocks=2, subsampling=2),
        save(picture(35, 35, 16), "JPEG", quality=100, optimize=True),
        save(picture(70, 34, 17), "JPEG", quality=5),
        save(picture(17, 90, 18), "JPEG"),
        save(picture(91, 16, 19), "JPEG"),
        save(picture(40, 40, 20), "JPEG") + b"trailing bytes",
        *(save(picture(30 + seed, 60 - seed, seed), "JPEG") for seed in range(21, 30)),
    ]


def _pngs() -> list[bytes]:
    base = picture(45, 38, 40)
    clear = base.copy()
    clear.putalpha(base.convert("L"))
    palette = base.quantize(23)
    deep = Image.fromarray((np.random.default_rng(0).integers(0, 65536, (33, 41))).astype(np.uint16))
    return [
        save(base, "PNG"),
        save(clear, "PNG"),
        save(base.convert("L"), "PNG"),
        save(clear.convert("LA"), "PNG"),
        save(palette, "PNG"),
        save(palette, "PNG", transparency=3),
        save(base.convert("1"), "PNG"),
        save(deep, "PNG"),
    ]


def save(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def fill(root: Path, files: dict[str, bytes], classes: str = "abc") -> Path:
    """root/class/name for each file, classes in turn."""
    for number, (name, content) in enumerate(files.items()):
        folder = root / classes[number % len(classes)]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return root


def lay(folder: Path, files: dict[str, bytes]) -> Path:
    """folder/name for each file."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def native() -> dict[str, bytes]:
    """JPEG and PNG of many kinds, and one PPM, which is below the share from which torch's path is faster."""
    files = {f"{number:02}.jpg": content for number, content in enumerate(_jpegs())}
    files |= {f"{number:02}.png": content for number, content in enumerate(_pngs(), len(files))}
    files["zz.ppm"] = save(picture(37, 43, 60), "PPM")
    return files


def foreign() -> dict[str, bytes]:
    """Formats beside JPEG and PNG, of which Pillow alone reads two, under their own names or others."""
    moving = [picture(41, 36, seed).quantize(16) for seed in (70, 71)]
    gif = io.BytesIO()
    moving[0].save(gif, "GIF", save_all=True, append_images=moving[1:])
    return {
        "00.bmp": save(picture(38, 44, 61), "BMP"),
        "01.ppm": save(picture(39, 43, 62), "PPM"),
        "02.pgm": save(picture(40, 42, 63).convert("L"), "PPM"),
        "03.tif": save(picture(41, 41, 64), "TIFF"),
        "04.tiff": save(picture(42, 40, 65), "TIFF", compression="tiff_lzw"),
        "05.webp": save(picture(43, 39, 66), "WEBP", lossless=True),
        "06.webp": save(picture(44, 38, 67), "WEBP"),
        "07.jpg": save(picture(45, 37, 68), "WEBP"),
        "08.jpg": save(picture(46, 36, 69), "PNG"),
        "09.png": save(picture(47, 35, 72), "JPEG"),
        "10.jpg": gif.getvalue(),
        "11.jpg": save(picture(48, 34, 73), "BMP"),
        "12.png": save(picture(49, 33, 74), "TIFF"),
        "13.jpg": save(picture(49, 50, 75), "JPEG"),
    }


def plain(count: int, *, width: int = 40, height: int = 40) -> dict[str, bytes]:
    """Small JPEG files."""
    return {f"{n:03}.jpg": save(picture(width + n % 7, height + n % 5, n), "JPEG") for n in range(count)}


# ---- odd files


def _exif() -> Any:
    made = Image.Exif()
    made[0x0112] = 6
    made[0x010F] = "somebody"
    return made


def odd() -> dict[str, bytes]:
    """Files that the libraries read otherwise than Pillow, or that they do not read, in between others."""
    base = picture(30, 24, 1)
    clear = base.copy()
    clear.putalpha(base.convert("L"))
    jpeg, png, grey = save(base, "JPEG"), save(base, "PNG"), base.convert("L")
    turned = save(base, "JPEG", exif=_exif())
    others = [picture(30, 24, seed) for seed in (2, 3)]
    deep = Image.fromarray(np.random.default_rng(0).integers(0, 65536, (24, 30)).astype(np.uint16))
    return {
        "grey.jpg": save(grey, "JPEG"),
        "grey.png": save(grey, "PNG"),
        "two bits.png": save(base.quantize(4).point(lambda v: v), "PNG", bits=2),
        "grey of two bits.png": _bits_png(2),
        "grey of four bits.png": _bits_png(4),
        "palette.png": save(base.quantize(23), "PNG"),
        "clear palette.png": save(base.quantize(23), "PNG", transparency=3),
        "clear.png": save(clear, "PNG"),
        "clear grey.png": save(clear.convert("LA"), "PNG"),
        "one colour is clear.png": save(base, "PNG", transparency=(1, 2, 3)),
        "one grey is clear.png": save(grey, "PNG", transparency=3),
        "one bit.png": save(base.convert("1"), "PNG"),
        "deep.png": save(deep, "PNG"),
        "CMYK.jpg": save(base.convert("CMYK"), "JPEG"),
        "moving.png": save(base, "PNG", save_all=True, append_images=others),
        "moving.gif": save(base, "GIF", save_all=True, append_images=others),
        "still.gif": save(base, "GIF"),
        "grey.gif": save(grey, "GIF"),
        "moving.webp": save(base, "WEBP", save_all=True, append_images=others),
        "still.webp": save(base, "WEBP", lossless=True),
        "turned.jpg": turned,
        "turned.png": save(base, "PNG", exif=_exif()),
        "turned by no order.jpg": turned.replace(b"MM\0*", b"XX\0*").replace(b"II*\0", b"XX*\0"),
        "turned to nowhere.jpg": turned.replace(b"MM\0*\0\0\0\x08", b"MM\0*\0\0\xff\xf0").replace(
            b"II*\0\x08\0", b"II*\0\xf0\xff"
        ),
        "cut.jpg": jpeg[: len(jpeg) // 2],
        "cut.png": png[: len(png) // 2],
        "empty.jpg": b"",
        "text.jpg": b"this is no picture",
        "page.tif": save(base, "TIFF"),
        "pages.tiff": save(base, "TIFF", save_all=True, append_images=others),
        "bitmap.bmp": save(base, "BMP"),
        "grey.bmp": save(grey, "BMP"),
        "a PNG.jpg": png,
        "a JPEG.png": jpeg,
        "a TIFF.jpg": save(base, "TIFF"),
        "a GIF.png": save(base, "GIF"),
        "a JPEG.tif": jpeg,
        "a JPEG": jpeg,
        "a JPEG.PNG": jpeg,
        "a PNG.PNG": png,
        "..png": png,
        ".png": jpeg,
        "plain.JPG": jpeg,
        "plain.jpeg": jpeg,
    }


def _bits_png(bits: int) -> bytes:
    """A grey PNG file of few bits."""
    rows = b"".join(b"\0" + bytes(random.Random(y).randrange(256) for _ in range(30 * bits // 8)) for y in range(24))
    head = struct.pack(">IIBBBBB", 30 * bits // 8 * 8 // bits, 24, bits, 0, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )


def kind_of(name: str) -> str:
    """Pillow's format of a file by its name: what it has no ending for is JPEG."""
    return {".png": "PNG", ".gif": "GIF", ".webp": "WEBP", ".bmp": "BMP", ".tif": "TIFF", ".tiff": "TIFF"}.get(
        Path(name).suffix.lower(), "JPEG"
    )
