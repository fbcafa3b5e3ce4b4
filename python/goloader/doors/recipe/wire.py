"""A batch of recipes as bytes, as core/recipe/batch.go reads them; it describes the layout."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import torch

from ... import _steps
from .files.opencv import IMREAD_COLOR_RGB, OpenCVSource
from .recipe import OPENCV, TORCHVISION, Source
from .stand_ins.tail import Tail
from .stand_ins.value import Value

FIELDS_MAX = 64  # GL_FIELDS_MAX

_MAGIC = 0x32424C47
_HEADER = struct.Struct("<6I")
_FIELD = struct.Struct("<8I")
_SOURCE = struct.Struct("<5I2qQq")
_IMAGE = struct.Struct("<4I")

# Of a source: where its bytes begin in the file, and how many they are: all.
_WHOLE = 0, -1
# Of a source's kind: palette indices are taken, not colours (core/recipe.Palette).
_STORED = 16

# core/tensor.DType by torch's types.
DTYPES = {
    torch.uint8: 1, torch.int8: 2, torch.int16: 4, torch.int32: 6, torch.int64: 8, torch.float16: 9,
    torch.bfloat16: 10, torch.float32: 11, torch.float64: 12, torch.bool: 13,
}  # fmt: skip
_BY_NUMBER = {number: dtype for dtype, number in DTYPES.items()}


def encode(fields: Sequence[Value]) -> bytes:
    """The message of at most FIELDS_MAX blocks, each an array of images that the core can lay out so.

    Images that share a place follow each other, so that crops of one photo read it once.
    """
    body: list[bytes] = []
    at = 0

    def put(data: bytes) -> tuple[int, int]:
        nonlocal at
        body.append(data)
        at += len(data)
        return at - len(data), len(data)

    heads = []
    tables: list[dict[Tail, int]] = []
    for field in fields:
        width, height = field.images[0].size
        tail, last = field.tail, field.axes == "hwc"
        numbers_of = {tail: 0}
        for patches in field.patches:
            for patch in patches:
                numbers_of.setdefault(patch.tail, len(numbers_of))
        where = put(b"".join(each.data for each in numbers_of))
        heads.append(_FIELD.pack(len(field.images), DTYPES[tail.dtype], tail.channels, height, width, last, *where))
        tables.append(numbers_of)
    numbers: dict[tuple[int, bool], int] = {}
    sources: list[bytes] = []
    images: list[bytes] = []
    steps: list[bytes] = []
    for place in range(max(len(field.images) for field in fields)):
        for number, field in enumerate(fields):
            if place >= len(field.images):
                continue
            image = field.images[place]
            source = image.source
            known = numbers.get((id(source), image.stored))
            if known is None:
                known = numbers[id(source), image.stored] = len(sources)
                where = put(source.data + b"\0" if source.path else source.data)
                kind = (not source.path) + 2 * source.reader + _STORED * image.stored
                sources.append(_SOURCE.pack(kind, *source.size, *where, *_WHOLE, *source.stamp))
            before = len(steps)
            steps += image.steps
            if field.patches:
                steps += [_steps.patch(*each, tables[number][tail]) for each, tail in field.patches[place]]
            images.append(_IMAGE.pack(known, number, before, len(steps) - before))
    header = _HEADER.pack(_MAGIC, len(heads), len(sources), len(images), len(steps), at)
    return b"".join((header, *heads, *sources, *images, *steps, *body))


def fields_of(message: bytes) -> list[tuple[torch.dtype, int]]:
    """Of each array of a message: its dtype, and how many bytes it takes."""
    fields = []
    for at in range(_HEADER.unpack_from(message)[1]):
        count, number, channels, height, width, *_ = _FIELD.unpack_from(message, _HEADER.size + at * _FIELD.size)
        dtype = _BY_NUMBER[number]
        fields.append((dtype, count * channels * height * width * dtype.itemsize))
    return fields


def source_of(message: bytes, image: int) -> Source:
    """Where an image of a message comes from. What the user gave for it is not known any more, and its mode only, P, if
    its palette indices are wanted.

    Its pixels [height, width, 3] are Pillow's, or OpenCV's as its flag IMREAD_COLOR_RGB gives them. Raises OSError for
    one whose pixels only its own library can make, which is done where the batch is run again.
    """
    _, fields, sources, *_, body = _HEADER.unpack_from(message)
    first = _HEADER.size + fields * _FIELD.size
    number = _IMAGE.unpack_from(message, first + sources * _SOURCE.size + image * _IMAGE.size)[0]
    kind, width, height, at, size, _, _, *stamp = _SOURCE.unpack_from(message, first + number * _SOURCE.size)
    at += len(message) - body
    data = message[at : at + size]
    mode = "P" if kind >= _STORED else ""
    path, modified = (data, None) if kind & 1 else (data[:-1], (stamp[0], stamp[1]))
    reader = kind % _STORED >> 1
    if reader == TORCHVISION:
        raise OSError("torchvision decodes it, or says what is wrong with it")
    if reader == OPENCV:
        return OpenCVSource(path, IMREAD_COLOR_RGB, (width, height), "RGB", modified)
    return Source(path, None, (width, height), mode, modified)
