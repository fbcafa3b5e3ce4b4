"""core/decode/jpeg against Pillow: whatever it decodes, Pillow decodes to the same bytes."""

from __future__ import annotations

import ctypes
import random
import struct
from io import BytesIO
from typing import Any

import make_jpeg
import native
import numpy as np
import pytest
from make_jpeg import CMYK, GREY, RGB, SAMPLINGS, YCC, YCCK, scan_start, segment, with_segments
from PIL import Image

SIZES = [(1, 1), (2, 2), (3, 1), (7, 5), (8, 8), (9, 9), (17, 15), (16, 16), (33, 17), (1, 31), (33, 2), (199, 151)]
CODINGS: dict[str, dict[str, Any]] = {
    "baseline": {}, "progressive": {"progressive": True}, "restart rows": {"restart_rows": 1},
    "restart blocks": {"restart_blocks": 3}, "arithmetic": {"arithmetic": True},
    "arithmetic progressive": {"arithmetic": True, "progressive": True}, "scan each": {"one_scan_each": True},
    "quality 100": {"quality": 100}, "quality 3": {"quality": 3},
}  # fmt: skip

OPTIONS: list[dict[str, Any]] = [  # of Pillow's save
    {"quality": 87}, {"quality": 95, "subsampling": 0}, {"progressive": True}, {"keep_rgb": True},
]  # fmt: skip


def picture(rng: np.random.Generator, width: int, height: int, channels: int) -> native.Pixels:
    """Noise, or slopes with some noise."""
    if rng.random() < 0.4:
        return rng.integers(0, 256, (height, width, channels), dtype=np.uint8)
    y, x = np.mgrid[0:height, 0:width]
    slopes = [x * rng.uniform(-2, 2) + y * rng.uniform(-2, 2) + rng.uniform(0, 255) for _ in range(channels)]
    return np.clip(np.stack(slopes, 2) + rng.normal(0, 8, (height, width, channels)), 0, 255).astype(np.uint8)


def boxes(rng: np.random.Generator, width: int, height: int, n: int) -> list[native.Box]:
    """The whole, random windows, and windows whose edges are borders of blocks, where region decoding has its own."""
    found: list[native.Box] = [(0, 0, width, height)]
    for i in range(n):
        grid = 8 if i % 2 and width > 16 and height > 16 else 1
        x, y = (int(rng.integers(0, length)) // grid * grid for length in (width, height))
        w, h = int(rng.integers(1, width - x + 1)), int(rng.integers(1, height - y + 1))
        if grid > 1:
            w, h = min(-(-w // grid) * grid, width - x), min(-(-h // grid) * grid, height - y)
        found.append((x, y, w, h))
    return found


def check(decoder: native.Decoder, data: bytes, size: tuple[int, int], windows: list[native.Box]) -> None:
    want = native.pillow(data)
    assert want is not None
    for box in windows:
        got = decoder.decode(data, size, box)
        assert got is not None, decoder.why
        x, y, w, h = box
        np.testing.assert_array_equal(got, want[y : y + h, x : x + w], f"{box} of {size}")


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_every_sampling_and_coding_equals_pillow(
    jpeg: native.Decoder, library: ctypes.CDLL, sampling: str, coding: str
) -> None:
    rng = np.random.default_rng(len(sampling) * 100 + len(coding))
    written = 0
    for width, height in SIZES:
        data = make_jpeg.jpeg(library, picture(rng, width, height, 3), YCC, SAMPLINGS[sampling], **CODINGS[coding])
        if data is not None:
            written += 1
            check(jpeg, data, (width, height), boxes(rng, width, height, 6))
    assert written


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize(("colour", "channels"), [(GREY, 1), (RGB, 3), (CMYK, 4), (YCCK, 4)])
def test_every_colour_space_equals_pillow(
    jpeg: native.Decoder, library: ctypes.CDLL, colour: int, channels: int, coding: str
) -> None:
    rng = np.random.default_rng(colour)
    for width, height in SIZES:
        for sampling in [[], [(2, 2), (1, 1), (1, 1), (2, 2)][:channels]]:
            data = make_jpeg.jpeg(library, picture(rng, width, height, channels), colour, sampling, **CODINGS[coding])
            assert data is not None
            check(jpeg, data, (width, height), boxes(rng, width, height, 3))


def test_all_of_the_cmyk_cube(jpeg: native.Decoder, library: ctypes.CDLL) -> None:
    steps = np.arange(256, dtype=np.uint8)
    ink, key = np.meshgrid(np.repeat(steps, 8), np.repeat(steps, 8))
    data = make_jpeg.jpeg(library, np.stack([ink, 255 - ink, ink, key], 2), CMYK, quality=100)
    assert data is not None
    check(jpeg, data, (2048, 2048), [(0, 0, 2048, 2048)])


def test_photographs_as_pillow_writes_them(jpeg: native.Decoder) -> None:
    skimage_data = pytest.importorskip("skimage.data")
    rng = np.random.default_rng(2)
    for photo in [skimage_data.astronaut(), skimage_data.coffee(), skimage_data.chelsea()]:
        image = Image.fromarray(photo).crop((3, 5, 403, 292))
        for mode in ["L", "RGB", "CMYK"]:
            for options in OPTIONS:
                out = BytesIO()
                image.convert(mode).save(out, "JPEG", **options)
                check(jpeg, out.getvalue(), image.size, boxes(rng, *image.size, 4))


def _small(**options: Any) -> bytes:
    out = BytesIO()
    Image.fromarray(picture(np.random.default_rng(4), 50, 40, 3)).save(out, "JPEG", **options)
    return out.getvalue()


def _exif(*entries: bytes, order: str = "<") -> bytes:
    start = b"II*\0\x08\0\0\0" if order == "<" else b"MM\0*\0\0\0\x08"
    return segment(0xE1, b"Exif\0\0" + start + struct.pack(order + "H", len(entries)) + b"".join(entries) + bytes(20))


def _accepted() -> dict[str, bytes]:
    no_jfif = _small()[:2] + _small()[20:]
    resolution = struct.pack("<HHII", 0x011A, 5, 1, 38)
    unit = struct.pack("<HHIHH", 0x0128, 3, 1, 2, 0)
    exif = Image.Exif()
    exif[0x0112] = 6
    mpo = BytesIO()
    pictures = [Image.fromarray(picture(np.random.default_rng(i), 50, 40, 3)) for i in range(2)]
    pictures[0].save(mpo, "MPO", save_all=True, append_images=pictures[1:])
    return {
        "junk behind the end": _small() + b"junk" * 20,
        "another file behind the end": _small() + _small(),
        "fill bytes before a marker": _small()[:2] + b"\xff\xff" + _small()[2:],
        "comment": _small(comment=b"a comment"),
        "profile": _small(icc_profile=bytes(70000)),
        "dpi": _small(dpi=(72, 72)),
        "orientation": _small(exif=exif),
        "EXIF alone": with_segments(no_jfif, _exif(unit, resolution)),
        "EXIF alone, big end": with_segments(no_jfif, _exif(struct.pack(">HHII", 0x011A, 5, 1, 38), order=">")),
        "EXIF without resolution": with_segments(no_jfif, _exif()),
        "EXIF cut": with_segments(no_jfif, segment(0xE1, b"Exif\0\0II*\0\x08\0")),
        "Photoshop": with_segments(_small(), segment(0xED, b"Photoshop 3.0\0" + b"8BIM\x04\x04\0\0\0\0\0\x05abcde\0"
                                                     + b"8BIM\x03\xed\x03abc\0\0\0\x10" + bytes(16))),
        "several pictures": mpo.getvalue(),
        "no Adobe, no JFIF": no_jfif,
        "Huffman tables left out": _without(_small(), 0xC4),
    }  # fmt: skip


def _without(data: bytes, code: int) -> bytes:
    """Drops the segments of one kind from the header.  (Motion JPEG leaves out the standard Huffman tables.)"""
    parts, at = [data[:2]], 2
    while data[at + 1] != 0xDA:
        end = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        if data[at + 1] != code:
            parts.append(data[at:end])
        at = end
    return b"".join(parts) + data[at:]


@pytest.mark.parametrize("name", _accepted())
def test_harmless_oddities_are_decoded(jpeg: native.Decoder, name: str) -> None:
    check(jpeg, _accepted()[name], (50, 40), [(0, 0, 50, 40), (5, 9, 20, 11)])


def _refused() -> dict[str, bytes]:
    good, progressive = _small(), _small(progressive=True)
    no_jfif = good[:2] + good[20:]
    start = scan_start(good)
    return {
        "empty": b"", "SOI alone": b"\xff\xd8\xff",
        "no end": good[:-2], "half of the end": good[:-1], "cut": good[:-200], "cut in the header": good[:100],
        "progressive without end": progressive[:-2], "progressive cut": progressive[:-200],
        "fill bytes in the scan": good[: start + 40] + b"\xff\xff" + good[start + 40 :],
        "junk before the first marker": good[:2] + b"\0\0" + good[2:],
        "junk between markers": good[:20] + b"\0" + good[20:],
        "marker 01": good[:20] + b"\xff\x01" + good[20:],
        "JFIF cut": with_segments(no_jfif, segment(0xE0, b"JFIF\0")),
        "Adobe cut": with_segments(good, segment(0xEE, b"Adobe")),
        "profile cut": with_segments(good, segment(0xE2, b"ICC_PROFILE\0\1")),
        "Photoshop cut": with_segments(good, segment(0xED, b"Photoshop 3.0\0" + b"8BIM\x04\x04")),
        "EXIF resolution is text": with_segments(no_jfif, _exif(struct.pack("<HHII", 0x0128, 3, 1, 2),
                                                              struct.pack("<HHII", 0x011A, 2, 1, 0))),
        "picture index broken": with_segments(good, segment(0xE2, b"MPF\0II*\0")),
        "Huffman table broken": good.replace(b"\xff\xc4\0\x1f\0\0\1\5", b"\xff\xc4\0\x1f\0\xff\xff\5"),
        "12 bits": good.replace(b"\xff\xc0\0\x11\x08", b"\xff\xc0\0\x11\x0c"),
        "2 components": good.replace(b"\x08\0\x28\0\x32\3", b"\x08\0\x28\0\x32\2"),
        "lossless": good.replace(b"\xff\xc0", b"\xff\xc3"),
    }  # fmt: skip


@pytest.mark.parametrize("name", _refused())
def test_damaged_files_are_refused(jpeg: native.Decoder, name: str) -> None:
    data = _refused()[name]
    assert jpeg.decode(data, (50, 40)) is None
    assert jpeg.decode(data, (50, 40), (0, 0, 50, 1)) is None, "the rows above the damage must not pass"


def test_tables_of_one_file_are_not_lent_to_the_next(jpeg: native.Decoder) -> None:
    good = _small(quality=30)
    assert jpeg.decode(good, (50, 40)) is not None
    assert jpeg.decode(_without(good, 0xDB), (50, 40)) is None
    assert "Quantization table" in jpeg.why


def test_wrong_size_is_refused(jpeg: native.Decoder) -> None:
    assert jpeg.decode(_small(), (40, 50)) is None
    assert "size" in jpeg.why


def test_claimed_sizes_cost_no_memory(jpeg: native.Decoder) -> None:
    for data in [_small(), _small(progressive=True)]:
        huge = data.replace(b"\x08\0\x28\0\x32", b"\x08" + struct.pack(">HH", 9000, 9000))
        assert jpeg.decode(huge, (9000, 9000), (0, 0, 1, 1)) is None
        assert "fewer bits" in jpeg.why


def _mutated(pick: random.Random, data: bytes) -> bytes:
    out = bytearray(data)
    start = scan_start(data)
    for _ in range(pick.randint(1, 3)):
        where = pick.random()
        at = pick.randrange(2, start) if where < 0.4 else pick.randrange(start, len(out)) if len(out) > start else 2
        action = pick.randrange(6)
        if action < 3:
            out[at : at + 1] = bytes([pick.choice([0, 255, 0xD9, pick.randrange(256), pick.randrange(256)])])
        elif action == 3:
            del out[at : at + pick.randint(1, 5)]
        elif action == 4:
            out[at:at] = out[at : at + pick.randint(1, 20)]
        else:
            del out[at:]
            out += pick.choice([b"", b"\xff\xd9", b"\xff\xd9junk"])
    return bytes(out)


def test_whatever_decodes_after_mutation_decodes_in_pillow_to_the_same(
    jpeg: native.Decoder, library: ctypes.CDLL
) -> None:
    pick, rng = random.Random(9), np.random.default_rng(9)
    files = list(_accepted().values())
    for coding in CODINGS.values():
        for sampling in ["4:2:0", "4:4:4", "4:2:2"]:
            data = make_jpeg.jpeg(library, picture(rng, 50, 40, 3), YCC, SAMPLINGS[sampling], **coding)
            assert data is not None
            files.append(data)
        for colour, channels in [(GREY, 1), (YCCK, 4)]:
            data = make_jpeg.jpeg(library, picture(rng, 50, 40, channels), colour, **coding)
            assert data is not None
            files.append(data)
    decoded = 0
    for _ in range(3000):
        data = _mutated(pick, pick.choice(files))
        for box in boxes(rng, 50, 40, 1):
            got = jpeg.decode(data, (50, 40), box)
            if got is None:
                continue
            decoded += 1
            want = native.pillow(data)
            assert want is not None, f"Pillow refuses what we decode: {data.hex()}"
            x, y, w, h = box
            np.testing.assert_array_equal(got, want[y : y + h, x : x + w], f"{box}: {data.hex()}")
    assert decoded > 300  # the law would hold for a decoder that refuses everything
