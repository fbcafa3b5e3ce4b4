"""Writes small images of every kind, and golden.json with what Pillow says of each: size, and a hash of its RGB bytes.

    python tests_go/decode/testdata/generate.py

The seed is fixed; a new Pillow may write other bytes, but must read the old ones as before.
"""

from __future__ import annotations

import hashlib
import json
import struct
import sys
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tests_py" / "kernels_decode"))

import make_jpeg  # noqa: E402
import make_png  # noqa: E402
import native  # noqa: E402

WIDTH, HEIGHT = 37, 29


def picture(channels: int) -> npt.NDArray[np.uint8]:
    """Waves with a little noise."""
    rng = np.random.default_rng(channels)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    waves = [127 + 100 * np.sin(x / (3 + c) + y / (7 - c)) for c in range(channels)]
    return np.clip(np.stack(waves, 2) + rng.normal(0, 6, (HEIGHT, WIDTH, channels)), 0, 255).astype(np.uint8)


def save(format_name: str, mode: str = "RGB", **options: Any) -> bytes:
    out = BytesIO()
    Image.fromarray(picture(3)).convert(mode).save(out, format_name, **options)
    return out.getvalue()


def jpegs() -> dict[str, bytes]:
    files = {
        "jpeg_grey": save("JPEG", "L"), "jpeg_cmyk": save("JPEG", "CMYK"),
        "jpeg_icc": save("JPEG", icc_profile=bytes(300)), "jpeg_trailing": save("JPEG") + b"junk",
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        library = native.build(Path(folder))
        codings: dict[str, dict[str, Any]] = {
            "": {}, "_progressive": {"progressive": True}, "_restart": {"restart_rows": 1},
            "_arithmetic": {"arithmetic": True}, "_scans": {"one_scan_each": True},
        }  # fmt: skip
        for name, options in codings.items():
            for sampling in ["4:4:4", "4:2:0", "4:2:2", "4:4:0"]:
                data = make_jpeg.jpeg(library, picture(3), make_jpeg.YCC, make_jpeg.SAMPLINGS[sampling], **options)
                assert data is not None
                files[f"jpeg_{sampling.replace(':', '')}{name}"] = data
        for colour, name in [(make_jpeg.RGB, "rgb"), (make_jpeg.YCCK, "ycck")]:
            data = make_jpeg.jpeg(library, picture(3 if name == "rgb" else 4), colour)
            assert data is not None
            files[f"jpeg_{name}"] = data
    return files


def pngs() -> dict[str, bytes]:
    files = {}
    for bits, colour in make_png.KINDS:
        rng = np.random.default_rng(bits + colour)
        samples = make_png.noise(rng, WIDTH, HEIGHT, bits, colour)
        before = make_png.palette(rng, bits) if colour == 3 else b""
        for interlaced in [False, True]:
            name = f"png_{colour}_{bits}{'_interlaced' if interlaced else ''}"
            files[name] = make_png.png(samples, bits, colour, interlaced=interlaced, before=before, idat_bytes=1000)
    return files


def others() -> dict[str, bytes]:
    tall = save("BMP")
    rows_down = tall[:22] + struct.pack("<i", -HEIGHT) + tall[26:]
    turned = Image.Exif()
    turned[274] = 6
    return {
        "bmp": tall, "bmp_rows_down": rows_down, "bmp_grey": save("BMP", "L"),
        "ppm": save("PPM"), "pgm": save("PPM", "L"), "pbm": save("PPM", "1"),
        "ppm_comment": b"P3\n# 9 9\n 2\t1\n255\n1 2 3 4 5 6\n",
        "gif": save("GIF"),
        "gif_animated": save("GIF", save_all=True, append_images=[Image.new("RGB", (WIDTH, HEIGHT))]),
        "webp_lossy": save("WEBP"), "webp_lossless": save("WEBP", lossless=True),
        "webp_extended": save("WEBP", exif=turned.tobytes()),
        "tiff": save("TIFF"), "tiff_deflate": save("TIFF", compression="tiff_deflate"),
        "tiff_turned": save("TIFF", exif=turned),
        "tiff_big_endian": b"MM\0*\0\0\0\x08\0\6" + b"".join(
            struct.pack(">HHIHH", tag, 3, 1, value, 0)
            for tag, value in [(256, 2), (257, 3), (258, 8), (262, 1), (273, 86), (279, 6)]
        ) + bytes(4) + bytes(range(6)),
    }  # fmt: skip


def main() -> None:
    golden = {}
    for name, data in sorted({**jpegs(), **pngs(), **others()}.items()):
        (HERE / name).write_bytes(data)
        image = Image.open(BytesIO(data))
        width, height = image.size
        pixels = native.pillow(data)
        assert pixels is not None, name
        golden[name] = {"width": width, "height": height, "sha256": hashlib.sha256(pixels.tobytes()).hexdigest()}
    (HERE / "golden.json").write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
