"""SciPy's behaviours."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from .behaviour import Behaviour, Late
from .sounds import Made, flat, reads

wavfile: Any = Late("scipy.io.wavfile")


def _read(path: str) -> Iterator[tuple[Any, int, Made]]:
    rate, array = wavfile.read(path)
    yield array, rate, flat


BEHAVIOURS = {"scipy.wav": Behaviour("scipy.io.wavfile", "reader of WAV files", partial(reads, _read))}
