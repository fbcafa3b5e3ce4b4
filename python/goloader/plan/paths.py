"""Lists of files as the core takes them, those in tar archives too, and image folders without torchvision."""

from __future__ import annotations

import builtins
import os
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from ..storage.stores import SCHEMES
from .needs import decoders
from .refusal import SourceRefusal

if TYPE_CHECKING:
    from ..storage.cache import Cache

# torchvision.datasets.folder.IMG_EXTENSIONS
IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")

# Those of formats with a decoder in core/decode, the last ones where needs.decoders() has it; all others go to Pillow,
# one by one.
_NATIVE_EXTENSIONS = (b".jpg", b".jpeg", b".png")
_EXTENSIONS_OF = {"webp": (b".webp",), "bmp": (b".bmp",), "gif": (b".gif",), "tiff": (b".tif", b".tiff")}
# Some that Pillow reads, these among them.
_PILLOWS_EXTENSIONS = (
    *(each for names in _EXTENSIONS_OF.values() for each in names),
    b".avif", b".dds", b".ico", b".j2k", b".jp2", b".pbm", b".pcx", b".pgm", b".pnm", b".ppm", b".sgi", b".tga",
)  # fmt: skip

# How image files begin, and what they are called.
_MAGICS = {
    b"\xff\xd8\xff": b"jpg",
    b"\x89PNG": b"png",
    b"RIFF": b"webp",
    b"BM": b"bmp",
    b"GIF8": b"gif",
    b"II*\0": b"tif",
    b"MM\0*": b"tif",
}
SUFFIXES = (*_MAGICS.values(), b"bin")


def suffix_of(begin: bytes) -> int:
    """Which of SUFFIXES a file that begins so usually has: explain() counts kinds by it."""
    return next((place for place, magic in enumerate(_MAGICS) if begin.startswith(magic)), len(_MAGICS))


def is_url(path: object) -> bool:
    """True for what the core reads from a remote store."""
    return isinstance(path, str) and path.startswith(SCHEMES)


def braces(text: str) -> Iterator[str]:
    """ "a{0..2}" -> "a0", "a1", "a2"; "{a,b}c" -> "ac", "bc"; as a shell has it, numbers filled up with zeros."""
    found = re.search(r"\{(?:(\d+)\.\.(\d+)|([^{}]*,[^{}]*))\}", text)
    if found is None:
        yield text
        return
    first, last, names = found.groups()
    if names is None:
        step = 1 if int(first) <= int(last) else -1
        filled = any(len(each) > 1 and each[0] == "0" for each in (first, last))
        width = max(len(first), len(last)) if filled else 0
        parts = [f"{number:0{width}}" for number in range(int(first), int(last) + step, step)]
    else:
        parts = names.split(",")
    for part in parts:
        for rest in braces(text[found.end() :]):
            yield f"{text[: found.start()]}{part}{rest}"


class Object(str):
    """A file in a remote store, or behind a cache; as a str its URL, or its path.

    version  as the store's list gave it, "" if that is not known; None of a file
    cache    that it is read through
    """

    version: str | None = ""
    cache: Cache | None = None

    @classmethod
    def of(cls, name: str, version: str | None, cache: Cache | None) -> Object:
        made = cls(name)
        made.version, made.cache = version, cache
        return made

    @property
    def key(self) -> builtins.bytes:
        """How the core's lists have it (Files.paths)."""
        return os.fsencode(f"{_versioned(self, self.version)}\0")

    def read(self) -> builtins.bytes:
        """Its bytes. Raises FileNotFoundError, PermissionError, else OSError."""
        from ..storage.remote import fetch

        return fetch(_versioned(self, self.version), cache=self.cache)


class Member(str):
    """A file within another, of a tar archive say; as a str archive/name.

    archive  path of the other, or its URL
    offset   of its first byte there
    bytes    how many it has
    version  of an archive in a remote store as its server names it, "" if it does not; None of a file
    cache    that it is read through
    """

    __slots__ = "archive", "bytes", "cache", "offset", "version"  # there may be millions

    archive: str
    offset: int
    bytes: int
    version: str | None
    cache: Cache | None

    @classmethod
    def of(
        cls, archive: str, name: str, offset: int, size: int, version: str | None = None, cache: Cache | None = None
    ) -> Member:
        made = cls(f"{archive}/{name}")
        made.archive, made.offset, made.bytes, made.version, made.cache = archive, offset, size, version, cache
        return made

    @property
    def key(self) -> builtins.bytes:
        """How the core's lists have it (Files.paths)."""
        return os.fsencode(f"{_versioned(self.archive, self.version)}\0{self[len(self.archive) + 1 :]}\0")

    def read(self) -> builtins.bytes:
        """Its bytes. Raises OSError where the archive cannot be read, ends before, or is of another version."""
        if self.version is None and self.cache is None:
            return read_at(self.archive, self.offset, self.bytes, f"{self}, ")
        from ..storage.remote import fetch

        return fetch(_versioned(self.archive, self.version), self.offset, self.bytes, self.cache)


def _versioned(name: str, version: str | None) -> str:
    return str(name) if version is None else f"{name}#{version}"


def read_at(path: str, offset: int, size: int, what: str = "") -> bytes:
    """So many bytes of a file. Raises OSError where it cannot be read, or ends before."""
    with open(path, "rb") as file:
        content = os.pread(file.fileno(), size, offset)
    if len(content) != size:
        raise OSError(f"{path} ends within {what}{size} bytes from byte {offset} on")
    return content


class Files(Sequence[tuple[str, int]]):
    """(path, class number) of each file of an image folder; what torchvision's ImageFolder keeps as a list of tuples.

    A tuple is made when it is asked for. 16 bytes a file beside the bytes of its path, in memory that no garbage
    collector walks through and that worker processes share.

    paths    [bytes] uint8: the paths, each followed by a NUL
    offsets  [files + 1] int64: where in paths each begins, and its length at the end
    labels   [files] int64
    handle   of the list in the core; 0 if the arrays are all there is
    spans    None; or for files in tar archives [files, 2] int64: where each begins there, and its bytes. Its path is
             that of the archive, a NUL, and its name there, and what is given for a path is a Member
    remote   the paths are URLs with a '#' and the version behind them, and what is given is an Object or a Member
    cache    that the files are read through, absolute paths if they are no URLs; what is given is an Object or a Member
    """

    @classmethod
    def of(cls, paths: Sequence[Any], labels: Iterable[int] = ()) -> Files:
        """From paths (str, bytes or PathLike) and labels; all are 0 if there are none.

        Raises RefusalError for a path with a NUL inside, which no file can have, and OverflowError for a label that is
        no int64.
        """
        if {*map(type, paths)} <= {str}:  # in one go: there may be millions
            joined = os.fsencode("\0".join(paths))
        else:
            joined = b"\0".join(map(os.fsencode, paths))
        content = np.frombuffer(joined + b"\0" if len(paths) else b"", np.uint8)
        ends = np.flatnonzero(content == 0) + 1
        if len(ends) != len(paths):
            raise SourceRefusal("path", "one of the paths has a NUL inside", "FILE_LIST")
        numbers = np.frombuffer(array("q", labels) or array("q", [0]) * len(paths), np.int64)
        return cls(content, np.concatenate([np.zeros(1, np.int64), ends]), numbers)

    @classmethod
    def of_readable(cls, paths: Sequence[Any], labels: Iterable[int] = ()) -> Files:
        """From Objects, or Members, which read themselves, and labels. Raises RefusalError for what is neither."""
        kinds = {(type(path), getattr(path, "version", "") is None, getattr(path, "cache", None)) for path in paths}
        if len(kinds) > 1 or not {kind for kind, *_ in kinds} <= {Member, Object}:
            why = "they are not all in archives, or all in remote stores, with the same cache"
            raise SourceRefusal("files", why, "FILE_LIST")
        files = cls.of(paths, labels)
        if not kinds:
            return files
        ((kind, local, cache),) = kinds
        names = [path.key for path in paths]
        spans = None
        if kind is Member:
            spans = np.array([(path.offset, path.bytes) for path in paths], np.int64)
        offsets = _offsets([np.fromiter(map(len, names), np.int64)])
        content = np.frombuffer(b"".join(names), np.uint8)
        return cls(content, offsets, files.labels, spans=spans, remote=not local, cache=cache)

    @classmethod
    def joined(cls, parts: Sequence[Files]) -> Files:
        """The files of all parts, one after the other.

        Raises RefusalError if only some are in archives, or in remote stores, or if their caches differ.
        """
        if len(parts) == 1:
            return parts[0]
        if len({part.remote for part in parts}) > 1:
            raise SourceRefusal("files", "some are in remote stores, others are not", "FILE_LIST")
        if len({part.cache for part in parts}) > 1:
            raise SourceRefusal("files", "their caches differ: give all datasets the same cache=", "FILE_LIST")
        spans = [part.spans for part in parts if part.spans is not None]
        if 0 < len(spans) < len(parts):
            raise SourceRefusal("files", "some are in tar archives, others are not", "FILE_LIST")
        return cls(
            np.concatenate([part.paths for part in parts]),
            _offsets([np.diff(part.offsets) for part in parts]),
            np.concatenate([part.labels for part in parts]),
            spans=np.concatenate(spans) if spans else None,
            remote=parts[0].remote,
            cache=parts[0].cache,
        )

    def __init__(
        self,
        paths: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        labels: NDArray[np.int64],
        handle: int = 0,
        spans: NDArray[np.int64] | None = None,
        remote: bool = False,
        cache: Cache | None = None,
    ) -> None:
        self.remote, self.cache = remote, cache
        self.paths, self.offsets, self.labels, self.handle, self.spans = paths, offsets, labels, handle, spans
        for each in self._arrays():
            each.flags.writeable = False  # the core reads them where they are, and has looked at them before

    def _arrays(self) -> list[NDArray[Any]]:
        arrays = self.paths, self.offsets, self.labels, self.spans
        return [each for each in arrays if each is not None]

    def __len__(self) -> int:
        return len(self.labels)

    @overload
    def __getitem__(self, index: int) -> tuple[str, int]: ...
    @overload
    def __getitem__(self, index: slice) -> list[tuple[str, int]]: ...
    def __getitem__(self, index: int | slice) -> tuple[str, int] | list[tuple[str, int]]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        label = int(self.labels[index])  # raises IndexError
        row = range(len(self))[index]
        container, _, name = os.fsdecode(self._path(row)).partition("\0")
        version = None
        if self.remote:
            container, _, version = container.rpartition("#")
        if self.spans is not None:
            begin, size = self.spans[row].tolist()
            return Member.of(container, name, begin, size, version, self.cache), label
        plain = not self.remote and self.cache is None
        return container if plain else Object.of(container, version, self.cache), label

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Files):
            ours, theirs = self._arrays(), other._arrays()
            same = self.remote == other.remote and len(ours) == len(theirs)
            return same and all(map(np.array_equal, ours, theirs))
        if isinstance(other, list):
            return len(self) == len(other) and all(mine == its for mine, its in zip(self, other, strict=True))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # equal to lists, which have none

    def __repr__(self) -> str:
        return f"<{len(self)} files>"

    def __reduce__(self) -> tuple[Any, ...]:
        spans = None if self.spans is None else self.spans.copy()
        return Files, (self.paths.copy(), self.offsets.copy(), self.labels.copy(), 0, spans, self.remote, self.cache)

    def name(self, row: int) -> bytes:
        """The path of a file as the kernel has it, archive/name of one in an archive; row is not negative."""
        container, nul, name = self._path(row).partition(b"\0")
        if self.remote:
            container = container.rpartition(b"#")[0]
        return container + b"/" + name if nul else container

    def _path(self, row: int) -> bytes:
        return self.paths[self.offsets[row] : self.offsets[row + 1] - 1].tobytes()

    def relative(self) -> bool:
        """True if one of the paths depends on the working directory."""
        return not self.remote and bool((self.paths[self.offsets[:-1]] != ord("/")).any())

    def native_share(self, index: NDArray[np.int64] | None = None) -> float:
        """Share of samples whose file has a decoder in the core, by its extension; `index` is the samples' files."""
        return self._share(_native_extensions(), index, none=1.0)

    @property
    def foreign_share(self) -> float:
        """Share of files of which their extension says that only Pillow reads them."""
        native = _native_extensions()
        return self._share([each for each in _PILLOWS_EXTENSIONS if each not in native], none=0.0)

    def _share(self, extensions: Sequence[bytes], index: NDArray[np.int64] | None = None, *, none: float) -> float:
        """Share of samples whose file has one of these; `none` of no samples."""
        found = np.zeros(len(self), np.bool_)
        all_ends = self.offsets[1:]
        if self.remote and self.spans is None:  # each ends in front of its version
            marks = np.flatnonzero(self.paths == ord("#"))
            all_ends = marks[np.searchsorted(marks, all_ends) - 1] + 1
        for begin in range(0, len(self), _CHUNK):
            ends = all_ends[begin : begin + _CHUNK]
            # The 8 bytes in front of each NUL; where a path is shorter, others' NULs are among them.
            tails = self.paths[np.maximum(ends[:, None] - 1 + np.arange(-8, 0), 0)]
            letters = (tails >= ord("A")) & (tails <= ord("Z"))
            words = np.where(letters, tails | 0x20, tails).view("<u8")[:, 0]
            for extension in extensions:
                wanted = int.from_bytes(extension, "little")
                found[begin : begin + len(ends)] |= words >> np.uint64(64 - 8 * len(extension)) == wanted
        if index is not None:
            found = found[index[index >= 0]]
        return float(found.mean()) if found.size else none


def _native_extensions() -> list[bytes]:
    return [*_NATIVE_EXTENSIONS, *(each for name in decoders() for each in _EXTENSIONS_OF[name])]


def _offsets(lengths: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(lengths), dtype=np.int64)])


# Paths looked at in one go.
_CHUNK = 1 << 16


def find_classes(directory: str | os.PathLike[str]) -> tuple[list[str], dict[str, int]]:
    """Names of the class folders in order, and their numbers. Raises FileNotFoundError if there is none.

    torchvision.datasets.folder.find_classes
    """
    with os.scandir(directory) as entries:
        classes = sorted(entry.name for entry in entries if entry.is_dir())
    if not classes:
        raise FileNotFoundError(f"Couldn't find any class folder in {directory}.")
    return classes, {name: number for number, name in enumerate(classes)}
