"""soundfile's behaviours, which are libsndfile's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from .behaviour import Behaviour, Late
from .sounds import Made, flat, reads, scaled

soundfile: Any = Late("soundfile")


def _read(path: str) -> Iterator[tuple[Any, int, Made]]:
    for dtype in ("float32", "float64"):
        array, rate = soundfile.read(path, dtype=dtype)
        yield array, rate, partial(_flat, dtype=dtype)
        array, rate = soundfile.read(path, dtype=dtype, always_2d=True)
        yield array, rate, partial(scaled, dtype=dtype)


def _flat(numbers: Any, dtype: str) -> Any:
    return flat(scaled(numbers, dtype=dtype))


BEHAVIOURS = {"soundfile.wav": Behaviour("soundfile", "reader of WAV files", partial(reads, _read))}
