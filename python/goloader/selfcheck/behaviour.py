"""What a row of the tables is made of: a behaviour, the pictures that it is tried on, and digests of what comes out."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

Outputs = Callable[[], Iterable[Any]]


class Late:
    """A module that is imported when it is used: the tables can be read without their libraries."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


@dataclass(frozen=True)
class Behaviour:
    """Something that a library does.

    module    whose import says that the program uses it: nothing is tried before, and nothing is imported for it
    what      it is, as in "Pillow 12.0: its bilinear resize is not the one known"
    look      tries it, and says which of `variants` holds; anything else, or an exception, means that none does
    variants  that goloader can follow; the first one stands for a library that the program does not use
    make      gives what `look` takes the digest of, if that is what it does
    """

    module: str
    what: str
    look: Callable[[], Any]
    variants: tuple[Any, ...] = (True,)
    make: Outputs | None = None


def golden(module: str, what: str, make: Outputs, *known: int) -> Behaviour:
    """A behaviour that holds where the digest of what `make` gives is a known one."""
    return Behaviour(module, what, lambda: digest(make()) in known, make=make)


def digest(outputs: Iterable[Any]) -> int:
    """CRC-32 of images, arrays, tensors, bytes, and numbers or their lists, one after the other."""
    crc = 0
    for output in outputs:
        crc = zlib.crc32(_bytes(output), crc)
    return crc


def _bytes(output: Any) -> bytes:
    if isinstance(output, bytes):
        return output
    if hasattr(output, "getbands"):
        return repr((output.mode, output.size)).encode() + bytes(output.tobytes())
    if isinstance(output, (int, float, str, list, tuple)):
        return repr(output).encode()
    array = np.asarray(output)
    return repr((array.dtype.str, array.shape)).encode() + array.tobytes()


def picture(width: int, height: int, channels: int = 3) -> NDArray[np.uint8]:
    """[height, width, channels], or [height, width] with one channel: bytes that look random."""
    numbers = np.arange(height * width * channels, dtype=np.uint32)
    values = ((numbers * numbers * np.uint32(2654435761) >> 15) % 256).astype(np.uint8)
    return values.reshape((height, width, channels) if channels > 1 else (height, width))


def numbers(*shape: int) -> NDArray[np.float64]:
    """Numbers of different sizes: their sum in any other order would show."""
    count = np.arange(np.prod(shape))
    spread: NDArray[np.float64] = np.ldexp((count * 0.618034) % 1.0 - 0.5, count % 7)
    return spread.reshape(shape)
