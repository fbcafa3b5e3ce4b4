"""Size and mode of WebP, BMP, GIF and TIFF files, as Pillow's Image.open would tell, for plain files that are whole.

Which of them the core decodes is decided there: here is only what a stand-in has to know.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection

# Gives `count` bytes of a file from an offset on; fewer where it ends.
Read = Callable[[int, int], bytes]
Header = tuple[tuple[int, int], str]


def probe_other(head: bytes, size: int, read: Read, formats: Collection[str]) -> Header | None:
    """((width, height), mode) of a file of `size` bytes that begins so; None if it is not plain, or another's."""
    name = next((name for name, starts in _STARTS.items() if head.startswith(starts)), "")
    if name not in formats:
        return None
    try:
        found = _READERS[name](head, size, read)
    except (struct.error, IndexError):  # the file ends early
        return None
    return found if found is not None and all(0 < side < 1 << 31 for side in found[0]) else None


def _webp(head: bytes, size: int, read: Read) -> Header | None:
    if head[8:12] != b"WEBP" or int.from_bytes(head[4:8], "little") != size - 8:
        return None
    kind = head[12:16]
    if kind != b"VP8X":
        return _webp_image(kind, head[20:30])
    flags, at = head[20], 30
    canvas = 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
    if flags & ~0x3C:  # an animation
        return None
    if flags & 0x20:  # a profile
        length = int.from_bytes(head[34:38], "little")
        at += 8 + length + length % 2
    chunk = read(at, 18)
    if chunk[:4] == b"ALPH":
        return (canvas, "RGBA") if flags & 0x10 else None
    found = _webp_image(chunk[:4], chunk[8:])
    return found if found == (canvas, "RGBA" if flags & 0x10 else "RGB") else None


def _webp_image(kind: bytes, pixels: bytes) -> Header | None:
    if kind == b"VP8 " and pixels[3:6] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", pixels, 6)
        return (width & 0x3FFF, height & 0x3FFF), "RGB"
    if kind == b"VP8L" and pixels[0] == 0x2F:
        (bits,) = struct.unpack_from("<I", pixels, 1)
        return (1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)), "RGBA" if bits >> 28 & 1 else "RGB"
    return None


def _bmp(head: bytes, size: int, read: Read) -> Header | None:
    offset, header = struct.unpack_from("<II", head, 10)
    compression = colours = 0
    down = False
    if header == 12:
        width, height, _, bits = struct.unpack_from("<4H", head, 18)
    elif header in (40, 108, 124):
        width, height, _, bits, compression = struct.unpack_from("<IIHHI", head, 18)
        (colours,) = struct.unpack_from("<I", head, 46)
        down = head[25] == 0xFF
    else:
        return None
    height = (1 << 32) - height if down else height
    if offset + (width * bits + 31) // 32 * 4 * height > size or compression not in (0, 3):
        return None
    mode = "RGB" if bits in (16, 24, 32) else None
    if compression and bits == 32 and header > 40 and struct.unpack_from("<I", head, 66)[0]:
        mode = "RGBA"
    if bits in (1, 4, 8) and not compression and colours <= 1 << bits:
        mode = _bmp_mode(bits, colours or 1 << bits, read(14 + header, 1024), 3 if header == 12 else 4)
    return None if mode is None else ((width, height), mode)


def _bmp_mode(bits: int, colours: int, palette: bytes, step: int) -> str | None:
    """Pillow drops palettes of greys."""
    ramp = bytes((0, 255) if colours == 2 else range(colours))
    if any(palette[channel : step * colours : step] != ramp for channel in range(3)):
        return "P"
    return "L" if bits == 8 and colours > 2 else None


def _gif(head: bytes, size: int, read: Read) -> Header | None:
    if read(size - 2, 2) != b"\0;":
        return None
    head = read(0, 4096)
    width, height, flags = struct.unpack_from("<HHB", head, 6)
    at = 13 + _table_bytes(flags)
    colours = _is_needed(head[13:at])
    while head[at] == ord("!"):
        at += 2
        while head[at]:
            at += 1 + head[at]
        at += 1
    if head[at] != ord(","):
        return None
    left, top, wide, high, flags = struct.unpack_from("<4HB", head, at + 1)
    at += 10
    if flags & 0x80:
        table = head[at : at + _table_bytes(flags)]
        if colours and not _is_needed(table):
            return None  # Pillow mixes them up
        colours = _is_needed(table)
    return (max(width, left + wide), max(height, top + high)), "P" if colours else "L"


def _table_bytes(flags: int) -> int:
    return 6 << (flags & 7) if flags & 0x80 else 0


def _is_needed(table: bytes) -> bool:
    """Pillow takes samples for greys if the colours are 0, 1, 2 ..."""
    return any(table[channel::3] != bytes(range(len(table) // 3)) for channel in range(3))


# (photometric interpretation, samples, extra samples) of 8 bits each.
_TIFF_MODES = {
    (0, 1, ()): "L", (1, 1, ()): "L", (3, 1, ()): "P", (2, 3, ()): "RGB", (2, 4, ()): "RGBA", (2, 4, (2,)): "RGBA",
    (1, 2, (2,)): "LA",
}  # fmt: skip
_TIFF_COLOURS = 320
_TIFF_SHAPES = {3: "H", 4: "I"}
# Tags whose numbers count here: 1 in all files but those of which something is unusual, and others.
_TIFF_ONES = (266, 274, 284)
_TIFF_TAGS = {256, 257, 258, 259, 262, 273, 277, 279, 324, 325, 338, *_TIFF_ONES}
# Pillow follows these, or turns the image as they say.
_TIFF_STRANGE = {330, 347, 700, 34665, 34853, 40965, 0xBC01}


def _tiff(head: bytes, size: int, read: Read) -> Header | None:
    order = "<" if head[0] == ord("I") else ">"
    (begin,) = struct.unpack_from(order + "I", head, 4)
    entries = read(begin, 2 + 12 * 256)
    tags: dict[int, tuple[int, ...]] = {}
    for number in range(struct.unpack_from(order + "H", entries)[0]):
        tag, kind, count, place = struct.unpack_from(order + "HHII", entries, 2 + 12 * number)
        if tag in _TIFF_STRANGE:
            return None
        if tag == _TIFF_COLOURS:
            tags[tag] = ()
        if tag in _TIFF_TAGS:
            if kind not in _TIFF_SHAPES or count > size // 2:
                return None
            values = struct.Struct(f"{order}{count}{_TIFF_SHAPES[kind]}")
            here = entries[10 + 12 * number :][: values.size]
            tags[tag] = values.unpack(here if values.size <= 4 else read(place, values.size))
    samples = tags.get(277, (1,))
    mode = _TIFF_MODES.get((*tags.get(262, ()), *samples, tags.get(338, ())))  # type: ignore[arg-type]
    offsets, sizes = tags.get(273, ()) or tags.get(324, ()), tags.get(279, ()) or tags.get(325, ())
    plain = (
        mode is not None
        and tags.get(258) == (8,) * samples[0]
        and tags.get(259, (1,)) in ((1,), (5,), (8,), (32773,), (32946,))
        and all(tags.get(tag, (1,)) == (1,) for tag in _TIFF_ONES)
        and len(offsets) == len(sizes) > 0
        and all(offset + length <= size for offset, length in zip(offsets, sizes, strict=True))
        and all(len(tags.get(tag, ())) == 1 for tag in (256, 257))
        and (mode != "P" or _TIFF_COLOURS in tags)
    )
    return ((tags[256][0], tags[257][0]), mode) if plain and mode is not None else None


_STARTS: dict[str, bytes | tuple[bytes, ...]] = {
    "webp": b"RIFF",
    "bmp": b"BM",
    "gif": (b"GIF87a", b"GIF89a"),
    "tiff": (b"II*\0", b"MM\0*"),
}
_READERS = {"webp": _webp, "bmp": _bmp, "gif": _gif, "tiff": _tiff}
