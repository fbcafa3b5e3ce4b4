"""Seek indexes: pixels are the same with any, and from the second visit on an index is used."""

from __future__ import annotations

import ctypes

import make_jpeg
import native
import numpy as np
import pytest
import test_jpeg_pillow as laws
from make_jpeg import scan_start
from test_own_pillow import CODINGS, OURS, make

HEADER, SIZE = 32, (199, 151)
# 8 MCUs a place, a row or less often, no place at all, less than a header.
ROOMS = [1 << 16, 400, 100, HEADER, 10]


def check(alone: native.Decoder, data: bytes, want: native.Pixels, box: native.Box, seek: native.Seek | None) -> None:
    x, y, w, h = box
    height, width = want.shape[:2]
    np.testing.assert_array_equal(alone.decode(data, (width, height), box, seek), want[y : y + h, x : x + w], f"{box}")


@pytest.mark.parametrize("room", ROOMS)
@pytest.mark.parametrize("kind", OURS)
def test_windows_one_after_another(alone: native.Decoder, library: ctypes.CDLL, kind: str, room: int) -> None:
    rng = np.random.default_rng(room)
    for coding in CODINGS.values():
        for size in [(5, 1), (16, 16), (33, 17), SIZE]:
            data = make(library, kind, size, **coding)
            want = native.pillow(data)
            assert want is not None
            seek = native.Seek(room)
            used = 0
            for box in laws.boxes(rng, *size, 12)[::-1]:
                check(alone, data, want, box, seek)
                assert used <= seek.size <= room
                used = seek.size


def _filled(alone: native.Decoder, data: bytes, size: tuple[int, int], room: int = 1 << 16) -> native.Seek:
    seek = native.Seek(room)
    assert alone.decode(data, size, seek=seek) is not None
    assert seek.size > HEADER
    return seek


def test_an_index_is_used(alone: native.Decoder, library: ctypes.CDLL) -> None:
    """With another prediction in a place, sealed anew, other pixels come out."""
    for kind, (colour, sampling) in OURS.items():
        noise = np.random.default_rng(1).integers(0, 256, (*SIZE[::-1], 1 if kind == "grey" else 3), dtype=np.uint8)
        data = make_jpeg.jpeg(library, noise, colour, sampling)
        assert data is not None
        seek = _filled(alone, data, SIZE)
        box = (100, 100, 40, 40)
        sound = alone.decode(data, SIZE, box, seek)
        seek.bytes[HEADER : seek.size].reshape(-1, 6 if kind == "grey" else 10)[:, 4] ^= 0x3F
        library.gl_jpeg_index_seal(ctypes.byref(seek))
        forged = alone.decode(data, SIZE, box, seek)
        assert not np.array_equal(sound, forged), kind


def test_each_damaged_byte_is_noticed(alone: native.Decoder, library: ctypes.CDLL) -> None:
    data = make(library, "4:2:0", SIZE)
    want = native.pillow(data)
    assert want is not None
    sound = _filled(alone, data, SIZE)
    for at in range(sound.size):
        seek = native.Seek(1 << 16)
        seek.bytes[:], seek.size = sound.bytes, sound.size
        seek.bytes[at] ^= 1 << at % 8
        check(alone, data, want, (100, 100, 40, 40), seek)
    for size in [*range(HEADER + 12), sound.size - 1, sound.size + 10, 1 << 16, (1 << 16) + 1, 1 << 62]:
        seek = native.Seek(1 << 16)
        seek.bytes[:], seek.size = sound.bytes, size
        check(alone, data, want, (100, 100, 40, 40), seek)


def test_an_index_of_another_content_is_made_anew(alone: native.Decoder, library: ctypes.CDLL) -> None:
    """Two contents of one length that decode differently: a byte of the scan changed, or of a header."""
    data = make(library, "4:4:4", SIZE, quality=60)
    start, tried = scan_start(data), 0
    quant = data.index(b"\xff\xdb") + 10
    for at in [quant, *range(start, len(data) - 2, 61)]:
        other = data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]
        seek = _filled(alone, data, SIZE)
        got = alone.decode(other, SIZE, (100, 100, 40, 40), seek)
        if got is None:
            continue
        tried += 1
        np.testing.assert_array_equal(got, alone.decode(other, SIZE, (100, 100, 40, 40)))
    assert tried > 10
