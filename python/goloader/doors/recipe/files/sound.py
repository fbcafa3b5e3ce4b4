"""Whether a JPEG file is one that libjpeg, and Pillow around it, decode without an error.

What fills the scans may be damaged: libjpeg warns of that, and goes on. So it is enough to read the headers, and to see
that nothing but the end of the file follows the last scan.

Source: libjpeg-turbo, jdmarker.c, jdinput.c, jdhuff.c, jdphuff.c and jdsample.c; Pillow, JpegImagePlugin.py.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["is_sound"]

_SIDE_MAX = 65500  # JPEG_MAX_DIMENSION
_SCANS_MAX = 100
_BLOCKS_MAX = 10  # D_MAX_BLOCKS_IN_MCU
_LOW_BIT_MAX = 13

_SOF, _SOF_PROGRESSIVE, _DHT, _EOI, _SOS, _DQT, _DRI, _COM = (0xC0, 0xC1), 0xC2, 0xC4, 0xD9, 0xDA, 0xDB, 0xDD, 0xFE
# Bytes that have to follow what an application's header begins with: Pillow reads them. No file of several images.
_APPLICATIONS = {0xE0: ((b"JFIF", 7),), 0xE2: ((b"ICC_PROFILE\0", 14), (b"MPF\0", 1 << 16)), 0xEE: ((b"Adobe", 12),)}
# A marker behind a scan's bytes, among which 0xFF is followed by 0 or is a restart.
_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7]")


def is_sound(content: bytes) -> bool | None:
    """True if the whole JPEG file surely decodes; False if it may not; None for other files."""
    if not content.startswith(b"\xff\xd8"):
        return None
    try:
        return _is_sound(content)
    except (IndexError, KeyError):
        return False


def _is_sound(content: bytes) -> bool:
    at, end = 2, len(content) - 2
    quantizations: frozenset[int] = frozenset()
    codes: frozenset[int] = frozenset()
    components: dict[int, tuple[int, int, int]] = {}
    scanned: list[int] = []
    progressive, scans = False, 0
    while at < end:
        if content[at] != 0xFF:
            return False
        code = content[at + 1]
        behind = at + 2 + (content[at + 2] << 8 | content[at + 3])
        segment = content[at + 4 : behind]
        if behind > end or behind < at + 4:
            return False
        at = behind
        if code in (_DQT, _DHT):
            found = _quantizations(segment) if code == _DQT else _codes(segment)
            if found is None:
                return False
            if code == _DQT:
                quantizations |= found
            else:
                codes |= found
        elif code in _SOF or code == _SOF_PROGRESSIVE:
            progressive = code == _SOF_PROGRESSIVE
            if components or not _is_frame(segment):
                return False
            components = {
                segment[each]: (segment[each + 1] >> 4, segment[each + 1] & 15, segment[each + 2])
                for each in range(6, len(segment), 3)
            }
        elif code == _SOS:
            scans += 1
            count = segment[0]
            chosen, tables = segment[1 : 1 + 2 * count : 2], segment[2 : 2 + 2 * count : 2]
            parts = [components[each] for each in chosen]
            if len(segment) != 4 + 2 * count or not 0 < count <= 4 or len(set(chosen)) < count or scans > _SCANS_MAX:
                return False
            if count > 1 and sum(h * v for h, v, _ in parts) > _BLOCKS_MAX:
                return False
            needed = _progressive(segment[-3:], tables) if progressive else _sequential(segment[-3:], tables)
            if needed is None or not codes.issuperset(needed):
                return False
            if not quantizations.issuperset(number for _, _, number in parts):
                return False
            scanned += chosen
            marker = _MARKER.search(content, at)
            if marker is None:
                return False
            at = marker.start()
        elif code == _DRI:
            if len(segment) != 2:
                return False
        elif 0xE0 <= code <= 0xEF:
            if any(segment.startswith(name) and len(segment) < size for name, size in _APPLICATIONS.get(code, ())):
                return False
        elif code != _COM:
            return False
    if at != end or content[at:] != b"\xff\xd9" or not components or set(scanned) != set(components):
        return False
    return progressive or len(scanned) == len(components)


def _is_frame(segment: bytes) -> bool:
    height, width, count = segment[1] << 8 | segment[2], segment[3] << 8 | segment[4], segment[5]
    if segment[0] != 8 or not (0 < height <= _SIDE_MAX and 0 < width <= _SIDE_MAX):
        return False
    if count not in (1, 3, 4) or len(segment) != 6 + 3 * count or len(set(segment[6::3])) < count:
        return False
    for sides in [each >> 4 for each in segment[7::3]], [each & 15 for each in segment[7::3]]:
        if not all(0 < side <= 4 and max(sides) % side == 0 for side in sides):
            return False
    return True


def _sequential(band: bytes, tables: bytes) -> list[int] | None:
    """The codes that a scan needs; None if libjpeg would say anything about it."""
    return [code for each in tables for code in (each >> 4, 16 + (each & 15))] if band == b"\x00\x3f\x00" else None


def _progressive(band: bytes, tables: bytes) -> list[int] | None:
    first, last, high, low = band[0], band[1], band[2] >> 4, band[2] & 15
    if (high and low != high - 1) or low > _LOW_BIT_MAX:
        return None
    if first == 0:
        return None if last else [] if high else [each >> 4 for each in tables]
    return [16 + (tables[0] & 15)] if first <= last < 64 and len(tables) == 1 else None


@lru_cache(maxsize=256)  # few programs write JPEG files, and each has few tables
def _quantizations(segment: bytes) -> frozenset[int] | None:
    """The numbers of the tables in a segment; None if it is wrong."""
    found, at = set(), 0
    while at < len(segment):
        if segment[at] >> 4 > 1 or segment[at] & 15 > 3:
            return None
        found.add(segment[at] & 15)
        at += 1 + (64 << (segment[at] >> 4))
    return frozenset(found) if at == len(segment) else None


@lru_cache(maxsize=1024)  # those that were made for a file are met once, or once an epoch
def _codes(segment: bytes) -> frozenset[int] | None:
    """The same of Huffman codes, 16 more for those of AC coefficients."""
    found, at = set(), 0
    while at < len(segment):
        number, lengths = segment[at], segment[at + 1 : at + 17]
        symbols = segment[at + 17 : at + 17 + sum(lengths)]
        if number & 0xEF > 3 or len(lengths) < 16 or len(symbols) < sum(lengths) or sum(lengths) > 256:
            return None
        if number < 16 and any(symbol > 15 for symbol in symbols):
            return None
        code = 0
        for length, count in enumerate(lengths, 1):
            code += count
            if code > 1 << length:
                return None
            code <<= 1
        found.add(number)
        at += 17 + len(symbols)
    return frozenset(found)
