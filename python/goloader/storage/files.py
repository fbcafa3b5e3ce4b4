"""Lists of files in folders and tar archives, made and kept outside Python's heap: there may be millions."""

from __future__ import annotations

import ctypes
import os
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from ctypes import byref, c_char_p, c_int64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _native
from ..plan.paths import IMG_EXTENSIONS, Files, is_url
from . import remote as _remote

_WAIT_MS = 100

# Of arrays' headers that the core reads in one call, between which Ctrl-C is heard.
_HEADERS_AT_ONCE, _HEADER_BYTES = 256, 512


def list_files(
    directory: str | os.PathLike[str],
    class_to_idx: Mapping[str, int],
    *,
    allow_empty: bool = False,
    index: str | os.PathLike[str] | None = None,
    progress: Callable[[int], object] | None = None,
) -> Files:
    """(path, class number) of every image under the class folders; see `walk`.

    torchvision.datasets.folder.make_dataset with extensions=IMG_EXTENSIONS. Raises FileNotFoundError if a class has no
    image, unless allow_empty, and ValueError without classes.
    """
    if not class_to_idx:
        raise ValueError("'class_to_index' must have at least one entry to collect any samples.")
    classes = sorted(class_to_idx)
    files = walk(os.path.expanduser(directory), classes, IMG_EXTENSIONS, index=index, progress=progress)
    counts = np.bincount(files.labels, minlength=len(classes))
    empty = [name for name, count in zip(classes, counts.tolist(), strict=True) if not count]
    if empty and not allow_empty:
        raise FileNotFoundError(
            f"Found no valid file for the classes {', '.join(empty)}. "
            f"Supported extensions are: {', '.join(IMG_EXTENSIONS)}"
        )
    numbers = np.array([class_to_idx[name] for name in classes], np.int64)
    if (numbers == np.arange(len(classes))).all():
        return files
    labels = numbers[files.labels]
    labels.flags.writeable = False
    return Files(files.paths, files.offsets, labels, remote=files.remote, cache=files.cache)


def array_headers(format: str, files: Files, numbers: Sequence[int]) -> list[str]:
    """The texts of headers of files that have an array each, as `format` has it (capi/goloader.h); "" of any other.

    All cores read them. Raises LibraryError where there is no core.
    """
    lib, texts = _native.own_library(), []
    for begin in range(0, len(numbers), _HEADERS_AT_ONCE):
        names = [files.name(number) + b"\0" for number in numbers[begin : begin + _HEADERS_AT_ONCE]]
        out = ctypes.create_string_buffer(len(names) * _HEADER_BYTES)
        lib.call(lib.gl_array_headers, format.encode(), b"".join(names), len(names), out, _HEADER_BYTES)
        found = out.raw
        pieces = (found[at : at + _HEADER_BYTES] for at in range(0, len(found), _HEADER_BYTES))
        texts += [piece.partition(b"\0")[0] for piece in pieces]
    return [text.decode("latin-1") for text in texts]


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

    All cores list directories; a bucket (s3://, without an index) is listed by many requests at once. Names sort by
    their code points, those of UTF-8. Ctrl-C is heard within 0.1 s.
    """
    lib, remote = _library([root])
    tree = _native.Tree(os.fsencode(root), *_texts(classes), *_texts(extensions), _place(index))
    return _listed(lib, lib.gl_files_list, tree, remote, progress)


def archived(
    shards: Sequence[str | os.PathLike[str]],
    images: Sequence[str] = (),
    target: str = "",
    *,
    index: str | os.PathLike[str] | None = None,
    progress: Callable[[int], object] | None = None,
) -> Files:
    """The files of samples in tar archives, in their order, labelled by the number of their sample.

    Files that follow each other and share a name up to the first dot are a sample, as webdataset has it.

    images  suffixes of names, without the first dot; given some, only the file with the first of them that a sample
            has is listed, labelled by the number in its file with the suffix `target`
    index, progress  as walk has them; the index counts as long as every archive has the time of change that it had

    Raises OSError for an archive that is damaged, and for a sample that lacks one of these files or has one twice.
    """
    lib, remote = _library(shards)
    paths = _texts([os.fspath(each) for each in shards])
    what = _native.Shards(*paths, *_texts(images), os.fsencode(target), _place(index))
    return _listed(lib, lib.gl_shards_list, what, remote, progress)


def _library(places: Sequence[str | os.PathLike[str]]) -> tuple[_native.Library, bool]:
    """The core, and whether it is to look in remote stores, which it then knows."""
    lib, remote = _native.library(), any(map(is_url, places))
    return _remote.ready(lib) if remote else lib, remote


def _texts(texts: Sequence[str]) -> tuple[Any, int]:
    return (c_char_p * len(texts))(*map(os.fsencode, texts)), len(texts)


def _place(index: str | os.PathLike[str] | None) -> bytes | None:
    return None if index is None else os.path.abspath(os.fsencode(index))


def _listed(
    lib: _native.Library,
    begin: Any,
    what: ctypes.Structure,
    remote: bool,
    progress: Callable[[int], object] | None,
) -> Files:
    """Lists what `begin` begins to list. Ctrl-C is heard within 0.1 s."""
    lib.join_ranks()
    handle, found = c_int64(), _native.Files()
    lib.call(begin, byref(what), byref(handle))
    owner = _Owner(lib, handle.value)
    while lib.call(lib.gl_files_wait, handle, _WAIT_MS, byref(found)) != _native.OK:
        if progress is not None:
            progress(found.count)
    if progress is not None:
        progress(found.count)
    if found.notice:
        warnings.warn(f"goloader: {found.notice.decode(errors='replace')}", stacklevel=3)
    offsets = _view(owner, found.offsets, found.count + 1, np.int64)
    return Files(
        _view(owner, found.paths, int(offsets[-1]), np.uint8),
        offsets,
        _view(owner, found.labels, found.count, np.int64),
        handle.value,
        None if found.spans is None else _view(owner, found.spans, 2 * found.count, np.int64).reshape(-1, 2),
        remote,
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
