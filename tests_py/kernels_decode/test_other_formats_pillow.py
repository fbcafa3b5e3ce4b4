"""core/decode/webp, bmp, gif and tiff against Pillow: whatever they decode, Pillow decodes to the same bytes."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

import make_bmp
import make_gif
import make_tiff
import native
import numpy as np
import pytest
from PIL import Image

from goloader.adapters import pillow

FORMATS = ("webp", "bmp", "gif", "tiff")
Size = tuple[int, int]

# What Pillow says of damaged files.
pytestmark = pytest.mark.filterwarnings("ignore:.*:UserWarning", "ignore:.*:PIL.Image.DecompressionBombWarning")


class Decoders:
    """Those of one format: of RGB, and of Pillow's modes P and L as they are."""

    def __init__(self, library: ctypes.CDLL, name: str) -> None:
        self.name = name
        self.rgb = native.Decoder(library, f"gl_{name}")
        self.stored = {} if name == "webp" else {m: native.Decoder(library, f"gl_{name}_{m.lower()}") for m in "PL"}

    def check(self, data: bytes, size: Size, box: native.Box | None = None) -> bool:
        """Whether the file is decoded; what is decoded is Pillow's."""
        got = self.rgb.decode(data, size, box)
        for mode, decoder in self.stored.items():
            plane = decoder.decode(data, size, box)
            if plane is not None:
                with Image.open(BytesIO(data)) as image:
                    assert image.mode == mode, data.hex()
                    np.testing.assert_array_equal(plane[..., 0], cut(np.asarray(image), size, box), data.hex())
        if got is None:
            return False
        want = native.pillow(data)
        assert want is not None, f"Pillow refuses what we decode: {data.hex()}"
        np.testing.assert_array_equal(got, cut(want, size, box), data.hex())
        return True


def cut(pixels: np.ndarray, size: Size, box: native.Box | None) -> np.ndarray:
    assert pixels.shape[:2] == size[::-1]
    x, y, width, height = box or (0, 0, *size)
    return pixels[y : y + height, x : x + width]


def opened(data: bytes) -> Size | None:
    """The size that Pillow sees in a header, if it does."""
    try:
        with Image.open(BytesIO(data)) as image:
            return image.size
    except Exception:
        return None


@pytest.fixture(scope="module")
def decoders(library: ctypes.CDLL, kernels: str) -> Iterator[dict[str, Decoders]]:
    addresses = pillow.libwebp()
    assert addresses is not None
    assert library.gl_webp_use((ctypes.c_void_p * 3)(*addresses)) == 1
    made = {name: Decoders(library, name) for name in FORMATS}
    yield made
    for each in made.values():
        for decoder in (each.rgb, *each.stored.values()):
            decoder.close()


def window(pick: random.Random, size: Size) -> native.Box:
    width, height = (pick.randint(1, side) for side in size)
    return pick.randint(0, size[0] - width), pick.randint(0, size[1] - height), width, height


def webp(rng: np.random.Generator, pick: random.Random, size: Size) -> bytes:
    few = Image.fromarray(rng.integers(0, 256, (1 + size[1] // 5, 1 + size[0] // 5, pick.choice((3, 4))), np.uint8))
    out = BytesIO()
    options: list[dict[str, Any]] = [{}, {"icc_profile": b"odd"}, {"exif": b"Exif\0\0MM\0*\0\0\0\x08\0\0\0\0\0\0"}]
    lossless, quality = pick.random() < 0.5, pick.randint(1, 99)
    few.resize(size).save(out, "WEBP", lossless=lossless, quality=quality, exact=True, method=0, **pick.choice(options))
    return out.getvalue()


def bmp(rng: np.random.Generator, pick: random.Random, size: Size) -> bytes:
    kind = pick.choice(make_bmp.KINDS)
    grey = kind[0] in (1, 8) and pick.random() < 0.5
    colours = pick.choice((0, 7)) if kind[0] == 8 and kind[1] > 12 else 0
    gap = 4 * pick.randrange(3) if kind[0] > 8 else 0
    return make_bmp.bmp(rng, size, kind, grey=grey, colours=colours, gap=gap, down=kind[1] > 12 and pick.random() < 0.5)


def gif(rng: np.random.Generator, pick: random.Random, size: Size) -> bytes:
    """The picture is as large as its screen, or a part of it in the lower right."""
    left, top = (pick.randrange(side) for side in size) if pick.random() < 0.5 else (0, 0)
    comment = b"!\xfe\5hello\0" * pick.randrange(2)
    return make_gif.gif(
        rng, (size[0] - left, size[1] - top), at=(left, top), screen=pick.choice([size, (1, 1)]),
        bits=pick.randint(1, 8), local=pick.random() < 0.5, grey=pick.random() < 0.3, interlaced=pick.random() < 0.5,
        transparent=pick.choice((None, 1)), extensions=comment, behind=comment,
    )  # fmt: skip


def tiff(rng: np.random.Generator, pick: random.Random, size: Size) -> bytes:
    compression = pick.choice(make_tiff.COMPRESSIONS)
    predictor = pick.choice((1, 2)) if compression not in (make_tiff.PLAIN, make_tiff.PACKBITS) else 1
    pieces: list[dict[str, Any]] = [{}, {"rows": 3}, {"tile": (16, 32)}, {"tile": (64, 16)}]
    kind = pick.choice(make_tiff.KINDS)
    return make_tiff.tiff(
        rng, size, kind, compression=compression, predictor=predictor, order=pick.choice("<>"), **pick.choice(pieces)
    )


MAKE: dict[str, Callable[[np.random.Generator, random.Random, Size], bytes]] = {
    "webp": webp, "bmp": bmp, "gif": gif, "tiff": tiff,
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
def test_files_of_all_kinds_and_windows_of_them_equal_pillow(decoders: dict[str, Decoders], name: str) -> None:
    rng, pick = np.random.default_rng(1), random.Random(1)
    for number in range(250):
        size = (pick.randint(1, 90), pick.randint(1, 90))
        data = MAKE[name](rng, pick, size)
        assert decoders[name].check(data, size), (number, decoders[name].rgb.why)
        assert decoders[name].check(data, size, window(pick, size))


@pytest.mark.parametrize(
    "options", [{}, {"compression": "tiff_lzw"}, {"compression": "tiff_adobe_deflate"}, {"compression": "packbits"}]
)
@pytest.mark.parametrize("mode", ["L", "P", "RGB", "RGBA"])
def test_photos_as_pillow_writes_them(decoders: dict[str, Decoders], mode: str, options: dict[str, str]) -> None:
    """Enough pixels that codes get long, and their tables full."""
    rng = np.random.default_rng(2)
    soft = Image.fromarray(rng.integers(0, 256, (30, 40, 3), np.uint8)).resize((400, 300), Image.Resampling.BICUBIC)
    for name in ("tiff",) if options or mode == "RGBA" else ("tiff", "bmp", "gif"):
        out = BytesIO()
        soft.convert(mode).save(out, name.upper(), **options)
        assert decoders[name].check(out.getvalue(), soft.size), decoders[name].rgb.why


@pytest.mark.parametrize("name", FORMATS)
def test_every_cut_file_is_refused(decoders: dict[str, Decoders], name: str) -> None:
    rng, pick = np.random.default_rng(3), random.Random(3)
    for _ in range(12):
        size = (pick.randint(1, 12), pick.randint(1, 9))
        data = MAKE[name](rng, pick, size)
        for end in range(len(data)):
            if name == "tiff" and native.pillow(data[:end]) is not None:
                continue  # a filling byte
            assert decoders[name].rgb.decode(data[:end], size) is None, data[:end].hex()


@pytest.mark.parametrize("name", FORMATS)
def test_another_size_is_refused(decoders: dict[str, Decoders], name: str) -> None:
    data = MAKE[name](np.random.default_rng(4), random.Random(4), (12, 5))
    for size in ((5, 12), (12, 4), (13, 5), (100000, 100000)):
        assert decoders[name].rgb.decode(data, size, (0, 0, 1, 1)) is None


@pytest.mark.parametrize("name", FORMATS)
def test_whatever_decodes_after_mutation_decodes_in_pillow_to_the_same(
    decoders: dict[str, Decoders], name: str
) -> None:
    """Bytes changed, cut out, doubled anywhere, most of them where headers and directories are."""
    rng, pick = np.random.default_rng(5), random.Random(5)
    done = 0
    for _ in range(2500):
        size = (pick.randint(1, 24), pick.randint(1, 18))
        data = bytearray(MAKE[name](rng, pick, size))
        for _ in range(pick.randint(0, 3)):
            low, high = pick.choice([(0, len(data)), (0, 80), (len(data) - 400, len(data))])
            at = pick.randrange(max(low, 0), min(high, len(data)) or 1)
            action = pick.randrange(6)
            if action < 4:
                data[at : at + 1] = bytes([pick.choice((pick.randrange(256), 0, 1, 255))])
            elif action == 4:
                del data[at : at + pick.randint(1, 9)]
            else:
                data[at:at] = data[at : at + pick.randint(1, 30)]
        found = opened(bytes(data)) or size
        if found[0] * found[1] < 1 << 20:
            done += decoders[name].check(bytes(data), found)
    assert done > 300  # the law would hold for a decoder that refuses everything


def test_an_animation_is_left_to_pillow(decoders: dict[str, Decoders]) -> None:
    frames = [Image.new("RGB", (9, 7), colour) for colour in ("red", "blue")]
    out = BytesIO()
    frames[0].save(out, "WEBP", save_all=True, append_images=frames[1:])
    assert decoders["webp"].rgb.decode(out.getvalue(), (9, 7)) is None
    out = BytesIO()
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    assert decoders["gif"].check(out.getvalue(), (9, 7))  # its first picture


def test_windows_of_a_webp_that_is_known_to_be_sound_are_those_of_the_whole(decoders: dict[str, Decoders]) -> None:
    rng, pick = np.random.default_rng(6), random.Random(6)
    for _ in range(150):
        size = (pick.randint(1, 120), pick.randint(1, 90))
        data, seek, decoder = webp(rng, pick, size), native.Seek(64), decoders["webp"].rgb
        whole = decoder.decode(data, size, None, seek)
        assert seek.size > 0
        for _ in range(4):
            box = window(pick, size)
            part = decoder.decode(data, size, box, seek)
            assert part is not None
            np.testing.assert_array_equal(part, cut(whole, size, box))
        other = webp(rng, pick, size)  # the index of another file is not believed
        np.testing.assert_array_equal(decoder.decode(other, size, None, seek), native.pillow(other))
