"""core/decode/png against Pillow: whatever it decodes, Pillow decodes to the same bytes."""

from __future__ import annotations

import random
import struct
import zlib
from io import BytesIO
from typing import Any

import make_png
import native
import numpy as np
import pytest
from make_png import KINDS, MAGIC, chunk, header, noise, palette
from PIL import Image

SIZES = [(1, 1), (2, 1), (1, 9), (3, 3), (5, 4), (7, 8), (8, 7), (9, 17), (16, 16), (33, 5), (67, 41), (129, 35)]


def boxes(rng: np.random.Generator, width: int, height: int, n: int) -> list[native.Box]:
    found: list[native.Box] = [(0, 0, width, height), (width - 1, height - 1, 1, 1)]
    for _ in range(n):
        w, h = int(rng.integers(1, width + 1)), int(rng.integers(1, height + 1))
        found.append((int(rng.integers(0, width - w + 1)), int(rng.integers(0, height - h + 1)), w, h))
    return found


def check(decoder: native.Decoder, data: bytes, size: tuple[int, int], windows: list[native.Box]) -> None:
    want = native.pillow(data)
    assert want is not None
    for box in windows:
        got = decoder.decode(data, size, box)
        assert got is not None, decoder.why
        x, y, w, h = box
        np.testing.assert_array_equal(got, want[y : y + h, x : x + w], f"{box} of {size}")


@pytest.mark.parametrize("interlaced", [False, True], ids=["plain", "interlaced"])
@pytest.mark.parametrize(("bits", "colour"), KINDS)
def test_every_kind_and_filter_equals_pillow(png: native.Decoder, bits: int, colour: int, interlaced: bool) -> None:
    rng = np.random.default_rng(100 * bits + colour)
    for width, height in SIZES:
        samples = noise(rng, width, height, bits, colour)
        before = palette(rng, bits) if colour == 3 else b""
        filters = tuple(int(f) for f in rng.integers(0, 5, 7))
        data = make_png.png(samples, bits, colour, interlaced=interlaced, filters=filters, before=before,
                            idat_bytes=int(rng.choice([7, 100, 1 << 30])))  # fmt: skip
        check(png, data, (width, height), boxes(rng, width, height, 3))


@pytest.mark.parametrize("filter_type", range(5))
def test_one_filter_all_the_way_down(png: native.Decoder, filter_type: int) -> None:
    rng = np.random.default_rng(filter_type)
    for bits, colour in KINDS:
        before = palette(rng, bits) if colour == 3 else b""
        data = make_png.png(noise(rng, 41, 23, bits, colour), bits, colour, filters=[filter_type], before=before)
        check(png, data, (41, 23), [(0, 0, 41, 23), (5, 7, 11, 9)])


def test_pictures_as_pillow_writes_them(png: native.Decoder) -> None:
    skimage_data = pytest.importorskip("skimage.data")
    photo = Image.fromarray(skimage_data.astronaut()).crop((40, 10, 340, 210))
    rng = np.random.default_rng(7)
    for mode in ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"]:
        choices: list[dict[str, Any]] = [{}, {"optimize": True}, {"compress_level": 0}, {"dpi": (72, 72)}]
        for options in choices:
            out = BytesIO()
            source = photo.convert("L") if mode == "I;16" else photo
            source.convert(mode).save(out, "PNG", **options)
            check(png, out.getvalue(), photo.size, boxes(rng, *photo.size, 2))


def test_transparency_is_dropped_as_pillow_drops_it(png: native.Decoder) -> None:
    rng = np.random.default_rng(3)
    for bits, colour in KINDS:
        length = {0: [2, 5], 2: [6], 3: [1, 2, 1 << bits]}.get(colour, [0, 3])
        for n in length:
            trns = chunk(b"tRNS", rng.choice([0, 255, 128], n).astype(np.uint8).tobytes())
            before = (palette(rng, bits) if colour == 3 else b"") + trns
            data = make_png.png(noise(rng, 9, 6, bits, colour), bits, colour, before=before)
            check(png, data, (9, 6), [(0, 0, 9, 6)])


COMMON = [
    chunk(b"gAMA", struct.pack(">I", 45455)), chunk(b"cHRM", bytes(32)), chunk(b"sRGB", b"\0"),
    chunk(b"pHYs", struct.pack(">IIB", 2835, 2835, 1)), chunk(b"tIME", bytes(7)), chunk(b"tEXt", b"Title\0a picture"),
    chunk(b"tEXt", b"no separator"), chunk(b"zTXt", b"Comment\0\0" + zlib.compress(b"text " * 500)),
    chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0<x/>"), chunk(b"iTXt", b"k\0\1\0en\0K\0" + zlib.compress(b"text")),
    chunk(b"iCCP", b"profile\0\0" + zlib.compress(bytes(3000))), chunk(b"eXIf", b"MM\0*\0\0\0\x08\0\0"),
    chunk(b"bKGD", bytes(6)), chunk(b"prVt", b"private"), chunk(b"PLTE", bytes(9)),
]  # fmt: skip


@pytest.mark.parametrize("extra", COMMON, ids=[c[4:8].decode() for c in COMMON])
def test_common_chunks_do_not_matter(png: native.Decoder, extra: bytes) -> None:
    samples = noise(np.random.default_rng(1), 12, 5, 8, 2)
    check(png, make_png.png(samples, 8, 2, before=extra), (12, 5), [(0, 0, 12, 5)])
    if extra[4:8] != b"PLTE":
        check(png, make_png.png(samples, 8, 2, after=extra), (12, 5), [(0, 0, 12, 5)])


def test_what_follows_the_end_does_not_matter(png: native.Decoder) -> None:
    data = make_png.png(noise(np.random.default_rng(1), 12, 5, 8, 2), 8, 2)
    check(png, data + b"junk", (12, 5), [(0, 0, 12, 5)])


def _broken() -> dict[str, bytes]:
    rng = np.random.default_rng(5)
    samples = noise(rng, 12, 9, 8, 2)
    good = make_png.png(samples, 8, 2)
    raw = make_png.filtered(samples, 8, False, [0])
    start = MAGIC + header(12, 9, 8, 2, False)
    end = chunk(b"IEND", b"")

    def idat(data: bytes) -> bytes:
        return start + chunk(b"IDAT", data) + end

    return {
        "no rows": idat(zlib.compress(b"")),
        "one row short": idat(zlib.compress(raw[:-37])),
        "one row too many": idat(zlib.compress(raw + raw[:37])),
        "checksum of the stream": idat(zlib.compress(raw)[:-1] + b"\0"),
        "stream cut": idat(zlib.compress(raw)[:-9]),
        "unknown filter at the end": idat(zlib.compress(raw[:-37] + b"\5" + raw[-36:])),
        "no end": good[:-12],
        "cut in the data": good[:-40],
        "checksum of IHDR": good[:29] + b"\0\0\0\0" + good[33:],
        "checksum of text": make_png.png(samples, 8, 2, before=chunk(b"tEXt", b"a\0b")[:-1] + b"?"),
        "short sRGB": make_png.png(samples, 8, 2, before=chunk(b"sRGB", b"")),
        "short sRGB behind": make_png.png(samples, 8, 2, after=chunk(b"sRGB", b"")),
        "short tRNS": make_png.png(samples, 8, 2, before=chunk(b"tRNS", b"abc")),
        "profile without name": make_png.png(samples, 8, 2, before=chunk(b"iCCP", b"abc")),
        "text bomb": make_png.png(samples, 8, 2, before=chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(2 << 20)))),
        "chunk name": make_png.png(samples, 8, 2, before=chunk(b"a?cd", b"")),
        "animation": make_png.png(samples, 8, 2, before=chunk(b"acTL", struct.pack(">II", 2, 0))),
        "no palette": make_png.png(noise(rng, 12, 9, 8, 3), 8, 3),
        "palette too large": make_png.png(noise(rng, 12, 9, 8, 3), 8, 3, before=chunk(b"PLTE", bytes(900))),
        "colour not in the palette": make_png.png(noise(rng, 12, 9, 8, 3), 8, 3, before=chunk(b"PLTE", bytes(9))),
        "IDAT apart": start + chunk(b"IDAT", zlib.compress(raw)[:9]) + chunk(b"prVt", b"")
        + chunk(b"IDAT", zlib.compress(raw)[9:]) + end,
        "huge": MAGIC + header(60000, 60000, 8, 2, False) + chunk(b"IDAT", zlib.compress(raw)) + end,
    }  # fmt: skip


@pytest.mark.parametrize("name", _broken())
def test_damaged_files_are_refused(png: native.Decoder, name: str) -> None:
    data = _broken()[name]
    width, height = struct.unpack(">II", data[16:24])
    assert png.decode(data, (width, height), (0, 0, 12, 9)) is None


def test_wrong_size_is_refused(png: native.Decoder) -> None:
    data = make_png.png(noise(np.random.default_rng(1), 12, 5, 8, 2), 8, 2)
    assert png.decode(data, (5, 12)) is None
    assert "size" in png.why


def test_whatever_decodes_after_mutation_decodes_in_pillow_to_the_same(png: native.Decoder) -> None:
    """Bytes changed, cut out, doubled anywhere; checksums are mended half of the time, so that damage gets deep."""
    rng, pick = np.random.default_rng(11), random.Random(11)
    decoded = 0
    for i in range(2500):
        bits, colour = pick.choice(KINDS)
        width, height = pick.randint(1, 20), pick.randint(1, 12)
        samples = noise(rng, width, height, bits, colour)
        raw = bytearray(make_png.filtered(samples, bits, i % 3 == 0, [pick.randrange(5)]))
        extra = b"".join(pick.sample(COMMON, 2)) + (palette(rng, bits) if colour == 3 else b"")
        if pick.random() < 0.3:
            raw[pick.randrange(len(raw))] = pick.randrange(8)
        head = header(width, height, bits, colour, i % 3 == 0)
        chunks = [head, extra, chunk(b"IDAT", zlib.compress(bytes(raw))), chunk(b"IEND", b"")]
        data = bytearray(MAGIC + b"".join(chunks))
        for _ in range(pick.randint(0, 2)):
            at = pick.randrange(8, len(data) + 1)
            action = pick.randrange(4)
            if action == 0:
                data[at : at + 1] = bytes([pick.randrange(256)])
            elif action == 1:
                del data[at : at + pick.randint(1, 9)]
            elif action == 2:
                data[at:at] = data[at : at + pick.randint(1, 30)]
            else:
                del data[at:]
        if pick.random() < 0.5:
            data = _mend(data)
        got = png.decode(bytes(data), (width, height))
        if got is not None:
            decoded += 1
            want = native.pillow(bytes(data))
            assert want is not None, f"Pillow refuses what we decode: {bytes(data).hex()}"
            np.testing.assert_array_equal(got, want, bytes(data).hex())
    assert decoded > 300  # the law would hold for a decoder that refuses everything


def _mend(data: bytearray) -> bytearray:
    """Puts the right checksum behind every chunk that is still inside the file."""
    at = 8
    while at + 12 <= len(data):
        (size,) = struct.unpack_from(">I", data, at)
        if at + 12 + size > len(data):
            break
        struct.pack_into(">I", data, at + 8 + size, zlib.crc32(data[at + 4 : at + 8 + size]))
        at += 12 + size
    return data
