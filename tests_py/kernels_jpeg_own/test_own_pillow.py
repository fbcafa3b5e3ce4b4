"""Our JPEG decoder against Pillow: the laws of tests_py/kernels_decode, and that it is ours which did the work."""

from __future__ import annotations

import ctypes
import os
import random
from io import BytesIO
from typing import Any

import make_jpeg
import native
import numpy as np
import pytest
import test_jpeg_pillow as laws
from make_jpeg import CMYK, GREY, RGB, SAMPLINGS, YCC, scan_start, segment, with_segments
from PIL import Image

# Every law of libjpeg-turbo's engine holds for ours with libjpeg-turbo behind it: only the `jpeg` fixture differs.
globals().update({name: law for name, law in vars(laws).items() if name.startswith("test_")})

OURS: dict[str, tuple[int, list[tuple[int, int]]]] = {
    **{name: (YCC, SAMPLINGS[name]) for name in ["4:4:4", "4:2:2", "4:2:0", "4:4:0"]}, "grey": (GREY, []),
    "RGB": (RGB, []),
}  # fmt: skip
CODINGS: dict[str, dict[str, Any]] = {
    "baseline": {}, "restart rows": {"restart_rows": 1}, "restart blocks": {"restart_blocks": 3},
    "restart each": {"restart_blocks": 1}, "quality 100": {"quality": 100}, "quality 95": {"quality": 95},
    "quality 30": {"quality": 30}, "quality 3": {"quality": 3},
}  # fmt: skip
SIZES = [(5, 1), (5, 5), (7, 5), (8, 8), (9, 9), (17, 15), (16, 16), (33, 17), (5, 31), (33, 2), (64, 48), (199, 151)]


def make(library: ctypes.CDLL, kind: str, size: tuple[int, int], **coding: Any) -> bytes:
    colour, sampling = OURS[kind]
    rng = np.random.default_rng(size[0] * 1000 + size[1])
    pixels = laws.picture(rng, *size, 1 if colour == GREY else 3)
    data = make_jpeg.jpeg(library, pixels, colour, sampling, **coding)
    assert data is not None
    return data


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("kind", OURS)
def test_what_is_ours_equals_pillow(alone: native.Decoder, library: ctypes.CDLL, kind: str, coding: str) -> None:
    rng = np.random.default_rng(len(kind) * 100 + len(coding))
    for size in SIZES:
        laws.check(alone, make(library, kind, size, **CODINGS[coding]), size, laws.boxes(rng, *size, 20))


@pytest.mark.parametrize("subsampling", [0, 1, 2])
def test_all_qualities_and_optimised_tables_equal_pillow(alone: native.Decoder, subsampling: int) -> None:
    photo = pytest.importorskip("skimage.data").astronaut()
    image = Image.fromarray(photo).crop((100, 40, 260, 170))
    rng = np.random.default_rng(subsampling)
    for quality in range(5, 101):
        out = BytesIO()
        image.save(out, "JPEG", quality=quality, subsampling=subsampling, optimize=quality % 2 == 0)
        laws.check(alone, out.getvalue(), image.size, laws.boxes(rng, *image.size, 2))


def test_every_window_of_a_small_image(alone: native.Decoder, library: ctypes.CDLL) -> None:
    size = 35, 19
    for kind in OURS:
        data = make(library, kind, size)
        want = native.pillow(data)
        assert want is not None
        for w, h in [(1, 1), (2, 3), (16, 8), (17, 9)]:
            for y in range(size[1] - h + 1):
                for x in range(size[0] - w + 1):
                    got = alone.decode(data, size, (x, y, w, h))
                    np.testing.assert_array_equal(got, want[y : y + h, x : x + w], f"{kind} {x, y, w, h}")


def test_state_goes_from_image_to_image(alone: native.Decoder, library: ctypes.CDLL) -> None:
    """Tables are kept when the next file has the same ones, buffers only grow; refusals come in between."""
    rng = np.random.default_rng(3)
    files = []
    for kind in OURS:
        for size in [(199, 151), (9, 9), (64, 48)]:
            for optimize in [False, True]:
                out = BytesIO()
                Image.open(BytesIO(make(library, kind, size))).save(out, "JPEG", optimize=optimize, subsampling=0)
                files += [(out.getvalue(), size), (make(library, kind, size, quality=97), size)]
    for i in rng.permutation(len(files) * 3) % len(files):
        data, size = files[i]
        if rng.random() < 0.3:
            alone.decode(data[: len(data) // 2], size)
        laws.check(alone, data, size, laws.boxes(rng, *size, 1))


def _any_file(pick: random.Random, rng: np.random.Generator, library: ctypes.CDLL) -> tuple[bytes, tuple[int, int]]:
    """Any kind that is ours, of any quality and of any size from 1x1 on."""
    colour, sampling = OURS[pick.choice(list(OURS))]
    size = pick.choice([1, 8, 16, pick.randint(1, 90)]), pick.choice([1, 8, 16, pick.randint(1, 90)])
    restarts = pick.choice([{}, {}, {"restart_rows": 1}, {"restart_blocks": pick.randint(1, 5)}])
    pixels = laws.picture(rng, *size, 1 if colour == GREY else 3)
    data = make_jpeg.jpeg(library, pixels, colour, sampling, quality=pick.randint(5, 100), **restarts)
    assert data is not None
    if pick.random() < 0.3:
        out = BytesIO()
        Image.open(BytesIO(data)).save(out, "JPEG", quality=pick.randint(5, 100), optimize=True)
        data = out.getvalue()
    return data, size


def test_damaged_files_of_any_kind_equal_pillow_where_both_take_them(
    jpeg: native.Decoder, library: ctypes.CDLL
) -> None:
    """What we decode, Pillow decodes to the same; with a seek index, made anew or by the windows before.

    GOLOADER_TEST_MUTATIONS=100000 tries as many files.
    """
    files = int(os.environ.get("GOLOADER_TEST_MUTATIONS", "2000"))
    pick, rng = random.Random(files), np.random.default_rng(files)
    decoded = damaged = 0
    while damaged < files:
        data, size = _any_file(pick, rng, library)
        laws.check(jpeg, data, size, laws.boxes(rng, *size, 1))
        seek = native.Seek(pick.choice([4096, 300]))
        for _ in range(20):
            damaged += 1
            changed = laws._mutated(pick, data)
            want = native.pillow(changed)
            # A header that now tells of another size is one to believe.
            now = size if want is None else (want.shape[1], want.shape[0])
            for x, y, w, h in laws.boxes(rng, *now, 1):
                got = jpeg.decode(changed, now, (x, y, w, h), seek)
                if got is not None:
                    decoded += 1
                    assert want is not None, f"Pillow refuses what we decode: {changed.hex()}"
                    np.testing.assert_array_equal(got, want[y : y + h, x : x + w], f"{x, y, w, h}: {changed.hex()}")
    assert decoded > files // 3  # the law would hold for a decoder that refuses everything
    print(f"{damaged} damaged files, {decoded} windows decoded, none differs")


def _not_ours(library: ctypes.CDLL) -> dict[str, bytes]:
    size = 50, 40
    rng = np.random.default_rng(8)
    pixels = laws.picture(rng, *size, 3)
    good = make(library, "4:2:0", size)
    restarts = make(library, "4:2:0", size, restart_blocks=2)
    start, first = scan_start(good), restarts.index(b"\xff\xd0")
    quant = good.index(b"\xff\xdb")
    jfif = good.index(b"JFIF\0")

    def made(colour: int, sampling: list[tuple[int, int]] | None = None, **coding: Any) -> bytes:
        channels = laws.picture(rng, *size, 4) if colour == CMYK else pixels
        data = make_jpeg.jpeg(library, channels, colour, sampling or [], **coding)
        assert data is not None
        return data

    return {
        "progressive": made(YCC, progressive=True), "arithmetic": made(YCC, arithmetic=True), "CMYK": made(CMYK),
        "a scan each": made(YCC, one_scan_each=True), "4:1:1": made(YCC, SAMPLINGS["4:1:1"]),
        "odd chroma": made(YCC, SAMPLINGS["mixed"]), "RGB 4:2:0": made(RGB, SAMPLINGS["4:2:0"]),
        "marker inside": good[: start + 40] + b"\xff\xd0" + good[start + 40 :],
        "fill bytes inside": good[: start + 40] + b"\xff\xff" + good[start + 40 :],
        "restart out of order": restarts[: first + 1] + b"\xd1" + restarts[first + 2 :],
        "restart lost": restarts[:first] + restarts[first + 2 :],
        "bytes before a restart": restarts[:first] + b"\x55\x55" + restarts[first:],
        "interval cut": restarts[: first - 4] + restarts[first:],
        "scan cut": good[: start + 100] + b"\xff\xd9", "no end": good[:-2],
        "ones": good[: start + 60] + b"\xff\0" * 20 + good[start + 60 :],
        "JFIF 2": good[: jfif + 5] + b"\2" + good[jfif + 6 :],
        "Adobe transform 7": with_segments(good[:2] + good[20:], segment(0xEE, b"Adobe\0\x64\0\0\0\0\7")),
        "long quantisation table": good[: quant + 3] + bytes([good[quant + 3] + 1]) + good[quant + 4 :],
        "unknown marker": with_segments(good, segment(0xF0, b"?")),
    }  # fmt: skip


def test_what_is_not_ours_goes_to_libjpeg_turbo(
    alone: native.Decoder, jpeg: native.Decoder, turbo: native.Decoder, library: ctypes.CDLL
) -> None:
    size = 50, 40
    for name, data in _not_ours(library).items():
        assert alone.decode(data, size) is None, name
        want = turbo.decode(data, size)
        got = jpeg.decode(data, size)
        assert (got is None) == (want is None), name
        assert jpeg.why == turbo.why, name
        if want is not None:
            np.testing.assert_array_equal(got, want, name)


def test_predictions_beyond_16_bits_are_not_ours(alone: native.Decoder, library: ctypes.CDLL) -> None:
    """Blocks of the largest DC difference, 2047, and nothing else, one after another: 16 of them fit."""
    out = BytesIO()
    Image.new("L", (8 * 40, 8)).save(out, "JPEG", optimize=False)
    data = out.getvalue()
    block = "111111110" + "1" * 11 + "1010"  # size 11, 2047, end of block in the standard tables
    bits = block * 40
    bits += "1" * (-len(bits) % 8)
    scan = int(bits, 2).to_bytes(len(bits) // 8, "big").replace(b"\xff", b"\xff\0")
    broken = data[: scan_start(data)] + scan + b"\xff\xd9"
    assert alone.decode(broken, (8 * 40, 8)) is None


@pytest.mark.parametrize("coefficient", range(8))
def test_coefficients_that_overflow_a_shortcut_are_not_ours(
    alone: native.Decoder, library: ctypes.CDLL, coefficient: int
) -> None:
    """A quantiser of 16 bits makes any coefficient of the first row as large as one likes."""
    zigzag = [0, 1, 5, 6, 14, 15, 27, 28]
    data = make(library, "grey", (64, 64), quality=90)
    at = data.index(b"\xff\xdb")
    steps = [int(q) for q in data[at + 5 : at + 69]]
    steps[zigzag[coefficient]] = 9000
    table = b"\xff\xdb" + (2 + 129).to_bytes(2, "big") + b"\x10" + b"".join(q.to_bytes(2, "big") for q in steps)
    wide = data[:at] + table + data[at + 69 :]
    wide = wide.replace(b"\xff\xc0", b"\xff\xc1", 1)  # extended sequential: tables of 16 bits are allowed
    assert native.pillow(wide) is not None
    assert alone.decode(wide, (64, 64)) is None
