"""Lists of image files, made and kept outside Python's heap: for folders of millions."""

from __future__ import annotations

import ctypes
import os
import sys
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from ctypes import byref, c_char_p, c_int64
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from . import _native

_WAIT_MS = 100


class Files(Sequence[tuple[str, int]]):
    """(path, class number) of each file of an image folder; what torchvision's ImageFolder keeps as a list of tuples.

    A tuple is made when it is asked for. 16 bytes a file beside the bytes of its path, in memory that no garbage
    collector walks through and that worker processes share.

    paths    [bytes] uint8: the paths, each followed by a NUL
    offsets  [files + 1] int64: where in paths each begins, and its length at the end
    labels   [files] int64
    handle   of the list in the core; 0 if the arrays are all there is
    """

    def __init__(
        self, paths: NDArray[np.uint8], offsets: NDArray[np.int64], labels: NDArray[np.int64], handle: int = 0
    ) -> None:
        self.paths, self.offsets, self.labels, self.handle = paths, offsets, labels, handle

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
        return os.fsdecode(self.name(range(len(self))[index])), label

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Files):
            return np.array_equal(self.labels, other.labels) and np.array_equal(self.paths, other.paths)
        if isinstance(other, list):
            return len(self) == len(other) and all(mine == its for mine, its in zip(self, other, strict=True))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # equal to lists, which have none

    def __repr__(self) -> str:
        return f"<{len(self)} files>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Files, (self.paths.copy(), self.offsets.copy(), self.labels.copy())

    def name(self, row: int) -> bytes:
        """The path of a file as the kernel has it; row is not negative."""
        return self.paths[self.offsets[row] : self.offsets[row + 1] - 1].tobytes()


def walk(
    root: str | os.PathLike[str],
    classes: Sequence[str],
    extensions: Sequence[str],
    *,
    index: str | os.PathLike[str] | None = None,
    progress: Callable[[int], object] | None = None,
) -> Files:
    """The files below root/class for each class, labelled 0, 1, ..., in the order of torchvision's make_dataset.

    extensions  in small letters, with their dots; other files are left out
    index       file that keeps the list for the next time. It counts only as long as every directory has the time of
                change that it had; a damaged or unwritable one is a warning
    progress    called about ten times a second with the number of files found

    All cores list directories. Ctrl-C is heard within 0.1 s.
    """
    lib, error = _native.library(), _native.Error()
    names = [os.fsencode(name) for name in classes]
    ends = [extension.encode() for extension in extensions]
    tree = _native.Tree(
        os.fsencode(root),
        (c_char_p * len(names))(*names),
        len(names),
        (c_char_p * len(ends))(*ends),
        len(ends),
        None if index is None else os.path.abspath(os.fsencode(index)),
    )
    handle, found = c_int64(), _native.Files()
    lib.check(lib.gl_files_list(byref(tree), byref(handle), byref(error)), error)
    owner = _Owner(lib, handle.value)
    while lib.check(lib.gl_files_wait(handle, _WAIT_MS, byref(found), byref(error)), error) != _native.OK:
        if progress is not None:
            progress(found.count)
    if progress is not None:
        progress(found.count)
    if found.notice:
        warnings.warn(f"goloader: {found.notice.decode(errors='replace')}", stacklevel=2)
    offsets = _view(owner, found.offsets, found.count + 1, np.int64)
    return Files(
        _view(owner, found.paths, int(offsets[-1]), np.uint8),
        offsets,
        _view(owner, found.labels, found.count, np.int64),
        handle.value,
    )


class _Owner:
    """Closes a list in the core when the last view of it is gone."""

    def __init__(self, lib: _native.Library, handle: int) -> None:
        weakref.finalize(self, lib.gl_close, handle, None).atexit = False


def _view(owner: _Owner, address: int | None, count: int, dtype: type[np.generic]) -> NDArray[Any]:
    if not count or address is None:
        return np.zeros(count, dtype)
    memory: Any = (ctypes.c_uint8 * (count * np.dtype(dtype).itemsize)).from_address(address)
    memory._owner = owner
    view: NDArray[Any] = np.ndarray(count, dtype, buffer=memory)
    view.flags.writeable = False
    return view


def ordered_as_here() -> bool:
    """True if Python orders file names as `walk` does: by the code points of UTF-8."""
    return sys.getfilesystemencoding() == "utf-8"
