"""Functions that read WAV files, and what Go makes of a file in the place of each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ....selfcheck import differing
from ...bytecode import UnreadableError
from ...trust.originals import is_original
from .array_files import Sounds


class Reader(NamedTuple):
    """A function that gives an array and the frames a second, which are first with `rate_first`.

    how  by its options, which are constants; None for those that are not known
    """

    module: str
    name: str
    library: str
    rate_first: bool
    how: Callable[[Mapping[str, Any]], Sounds | None]


def _of_scipy(options: Mapping[str, Any]) -> Sounds | None:
    if options.keys() <= {"mmap"} and options.get("mmap", False) is False:
        return Sounds("stored", ("fact", "LIST", "JUNK", "Fake"))
    return None


def _of_soundfile(options: Mapping[str, Any]) -> Sounds | None:
    dtype, flat = options.get("dtype", "float64"), options.get("always_2d", False)
    if options.keys() <= {"dtype", "always_2d"} and dtype in ("float32", "float64") and type(flat) is bool:
        return Sounds(dtype, ("fact", "LIST", "JUNK", "PEAK"), always_2d=flat)
    return None


READERS = (
    Reader("scipy.io.wavfile", "read", "scipy", True, _of_scipy),
    Reader("soundfile", "read", "soundfile", False, _of_soundfile),
)


def reader_of(called: Any) -> Reader | None:
    """The row of a function; None for any other."""
    for reader in READERS:
        module = sys.modules.get(reader.module)
        if module is not None and called is not None and called is vars(module).get(reader.name):
            return reader
    return None


def how_read(reader: Reader, called: Any, options: Mapping[str, Any]) -> Sounds:
    """Raises UnreadableError where the library's own code has to read files."""
    name = f"{reader.module}.{reader.name}"
    if not is_original(called, reader.library):
        raise UnreadableError(f"calls {name}, which was replaced")
    how = reader.how(options)
    if how is None:
        raise UnreadableError(f"calls {name} with other arguments")
    if (found := differing(f"{reader.library}.wav")) is not None:
        raise UnreadableError(f"calls {name}, but of {found[0]} {found[1]}")
    return how
