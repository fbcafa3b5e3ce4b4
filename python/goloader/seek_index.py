"""SeekIndex: what a loader remembers about its JPEG files."""

from __future__ import annotations

import os
from dataclasses import dataclass

__all__ = ["SeekIndex"]


@dataclass(frozen=True)
class SeekIndex:
    """Limits of a seek index, and where it is kept between runs.

    While a JPEG is decoded, the core notes every few blocks where they begin in the file. From the second epoch on it
    skips what lies above a crop and to the right of it. Pixels are the same to the bit: an entry is valid only for a
    file of the same size, modification time and content (its hash).

    bytes_max  the most memory it may take, in bytes. Useful is up to about 1.5 KB for a photo of 500x375. With less it
               is sparser and saves less; with less than 96 bytes a file there is none. Ranks of one machine whose
               loaders have the same files in the same order have one index in memory together
    path       a file to load the index from when the first epoch begins. It is written as a whole at the end of an
               epoch that added much, and when the loader is gone. None keeps the index in memory only. Several
               processes may share the file. A damaged one is ignored, with a RuntimeWarning. For your own dataset
               classes, whose files the core learns during the epoch, nothing is kept between runs

    Raises ValueError for other values.
    """

    bytes_max: int = 512 << 20
    path: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.bytes_max, int) or isinstance(self.bytes_max, bool) or self.bytes_max < 1:
            raise ValueError(f"bytes_max should be a positive integer, but got bytes_max={self.bytes_max!r}")
        if self.path is not None:
            path = os.fspath(self.path)
            if not isinstance(path, str) or not path or "\0" in path or os.path.isdir(os.path.expanduser(path)):
                raise ValueError(f"path should be that of a file, but got path={self.path!r}")
            path.encode()  # the core takes no other; UnicodeEncodeError is a ValueError

    @staticmethod
    def of(value: bool | SeekIndex) -> SeekIndex | None:
        """What an argument seek_index=True, False or SeekIndex(...) means. Raises TypeError for anything else."""
        if isinstance(value, SeekIndex):
            return value
        if isinstance(value, bool):
            return SeekIndex() if value else None
        raise TypeError(f"seek_index should be a bool or a SeekIndex, but got {value!r}")

    def to_plan(self) -> dict[str, int | str | None]:
        path = None if self.path is None else os.path.abspath(os.path.expanduser(self.path))
        return {"bytes_max": self.bytes_max, "path": path}

    def __str__(self) -> str:
        where = "in memory" if self.path is None else f"saved in {os.fspath(self.path)}"
        return f"at most {self.bytes_max >> 20} MiB, {where}"
