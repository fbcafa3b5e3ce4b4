"""Datasets for what is slow in torchvision's or missing there. torch's DataLoader takes them too."""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from torch.utils import data
from torchvision import datasets
from torchvision.datasets.folder import IMG_EXTENSIONS, default_loader

from . import _native
from .doors import allowed
from .plan.datasets.known.image_folders import open_member
from .plan.paths import Files, Member, braces, is_url
from .selfcheck import memory
from .storage import fsspec as _fsspec
from .storage import remote as _remote
from .storage.cache import Cache, CacheOptions, Given
from .storage.files import archived, list_files

__all__ = ["CacheOptions", "ImageFolder", "TarDataset", "TarImages"]

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


class ImageFolder(datasets.ImageFolder):  # type: ignore[misc]  # torchvision has no types
    """torchvision.datasets.ImageFolder for millions of files: the same samples in the same order, listed by all cores.

    `samples` and `imgs` are a sequence that makes each (path, class) tuple when it is asked for, and `targets` is a
    read-only int64 array [files]. They take 16 bytes a file plus the paths, where lists take about 200, and worker
    processes share them.

    root      may also be a folder of a bucket, "s3://bucket/train" ("gs://", "az://"), or of the Hugging Face Hub,
              "hf://datasets/owner/name/train" (docs/remote.md). Samples are those of a local copy, and each path is a
              str whose read() returns the bytes. Such a folder has no index. URLs of other kinds ("sftp://") are listed
              and read by fsspec, in Python; Go makes the images
    index     keeps the list in a file, so that the next start need not walk the folder: its path, or True for
              root/.goloader. The list is valid as long as no directory below root has changed. If images are links to
              other places, only changes of the links are noticed
    progress  called about ten times a second with the number of files found so far
    cache     keeps files that were read: "ram:32GB", "/nvme/cache:500GB", a list of both, or CacheOptions
              (docs/remote.md). Paths then have a read() too, and are absolute

    The other arguments, and the errors, are torchvision's. With `is_valid_file`, which calls Python for each file,
    torchvision lists the folder. So it does if goloader's library cannot be loaded, and with GOLOADER=off.
    """

    samples: Any
    imgs: Any
    targets: Any

    def __init__(
        self,
        root: str | Path,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        loader: Callable[[str], Any] = default_loader,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
        *,
        index: bool | str | os.PathLike[str] = False,
        progress: Callable[[int], object] | None = None,
        cache: Given | None = None,
    ) -> None:
        remote, foreign = is_url(root), _is_foreign(root)
        if is_valid_file is not None and cache is not None:
            raise ValueError(f"{root}: a folder with a cache takes no is_valid_file")
        if remote or foreign:
            root = str(root).rstrip("/")
            if is_valid_file is not None or index or (foreign and cache is not None):
                no = "no is_valid_file, no index and no cache" if foreign else "no is_valid_file and no index"
                raise ValueError(f"{root}: a folder of a remote store takes {no}")
        elif cache is not None:
            root = os.path.abspath(os.path.expanduser(root))
        if is_valid_file is not None or (not (remote or foreign) and (allowed.off() or _native.missing() is not None)):
            super().__init__(root, transform, target_transform, loader, is_valid_file, allow_empty)
            return
        datasets.VisionDataset.__init__(self, root, transform=transform, target_transform=target_transform)
        self.loader: Callable[[Any], Any] = loader
        if loader is default_loader:
            self.loader = _fsspec.open_remote if foreign else open_member if remote or cache is not None else loader
        self.extensions = IMG_EXTENSIONS
        self.classes, self.class_to_idx = self.find_classes(self.root)
        if foreign:
            self.samples = self.imgs = _fsspec.images(self.root, self.class_to_idx, allow_empty=allow_empty)
            self.targets = [number for _, number in self.samples]
            return
        kept = os.path.join(self.root, ".goloader") if index is True else index or None
        files = list_files(self.root, self.class_to_idx, allow_empty=allow_empty, index=kept, progress=progress)
        files.cache = Cache.of(cache)
        self.samples = self.imgs = files
        self.targets = files.labels

    def find_classes(self, directory: str | Path) -> tuple[list[str], dict[str, int]]:
        """torchvision's, of a folder of a bucket too."""
        if not is_url(directory) and not _is_foreign(directory):
            return super().find_classes(directory)  # type: ignore[no-any-return]
        classes = (_remote if is_url(directory) else _fsspec).folders(str(directory))
        if not classes:
            raise FileNotFoundError(f"Couldn't find any class folder in {directory}.")
        return classes, {name: number for number, name in enumerate(classes)}


def _is_foreign(root: object) -> bool:
    """True for the URL of a storage that the core does not read."""
    return isinstance(root, str) and re.match(r"[a-z][a-z0-9+]*://", root) is not None and not is_url(root)


class MemberImages(datasets.DatasetFolder):  # type: ignore[misc]  # torchvision has no types
    """Images that lie inside other files, with the interface of torchvision's ImageFolder.

    A sample is (transform(image), class number). `samples` and `imgs` are a sequence of (Member, class number), and
    `targets` is a read-only int64 array [samples].
    """

    samples: Any
    targets: Any

    def __init__(
        self,
        samples: Files,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        loader: Callable[[Member], Any] = open_member,
        *,
        root: str = "",
        classes: list[str] | None = None,
    ) -> None:
        datasets.VisionDataset.__init__(self, root, transform=transform, target_transform=target_transform)
        self.loader, self.samples, self.imgs, self.targets = loader, samples, samples, samples.labels
        count = int(self.targets.max(initial=-1)) + 1
        self.classes = list(map(str, range(count))) if classes is None else classes
        self.class_to_idx = {name: number for number, name in enumerate(self.classes)}


class TarImages(MemberImages):
    """Images in WebDataset's tar archives, with the interface of torchvision's ImageFolder.

    A sample is (transform(image), class number). There is a length, and any sample can be read by its index, so
    samplers, Subset, exact shuffles over all archives and resume work as on a folder. Nothing is unpacked.

    shards   paths of uncompressed tar archives: one or several, with braces ("train-{0000..0146}.tar") or wildcards; or
             URLs (s3://, gs://, az://, hf://, http://, https://; docs/remote.md), with braces
    loader   makes an image of a Member; default open_member: mode RGB, as ImageFolder's
    image    suffixes of image files; the first that a sample has is used
    target   suffix of the file with the class number
    classes  names of the classes; default: the numbers
    index    keeps the list of members in a file, so that the next start need not scan the archives: its path, or True
             for the first archive's path plus ".images.goloader", or a file in the user's cache if that folder cannot
             be written or does not exist. It is valid as long as no archive has changed
    cache    keeps files that were read: see ImageFolder

    Raises OSError for an archive that cannot be read or is damaged, for a sample without an image or class number, and
    if goloader's library cannot be loaded; FileNotFoundError if `shards` matches no file.
    """

    def __init__(
        self,
        shards: Paths,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        loader: Callable[[Member], Any] = open_member,
        *,
        image: Iterable[str] = ("jpg", "jpeg", "png", "webp", "bmp", "tif", "tiff", "gif"),
        target: str = "cls",
        classes: list[str] | None = None,
        index: bool | str | os.PathLike[str] = True,
        progress: Callable[[int], object] | None = None,
        cache: Given | None = None,
    ) -> None:
        paths = expand(shards, absolute=cache is not None)
        self.extensions = tuple(image)
        samples = archived(paths, self.extensions, target, index=_index(index, paths, "images"), progress=progress)
        samples.cache = Cache.of(cache)
        super().__init__(samples, transform, target_transform, loader, root=os.path.dirname(paths[0]), classes=classes)


class TarDataset(data.Dataset[Any]):
    """Samples in WebDataset's tar archives, by index.

    A sample is what webdataset.WebDataset gives before decoding: a dict of `__key__`, `__url__` (the archive) and the
    bytes of each file by suffix: `{"__key__": "0001", "__url__": ..., "jpg": b"...", "cls": b"7"}`.

    transform  called with that dict; its result is the sample

    shards, index, progress and cache, and the errors, are those of TarImages.
    """

    def __init__(
        self,
        shards: Paths,
        transform: Callable[[dict[str, Any]], Any] | None = None,
        *,
        index: bool | str | os.PathLike[str] = True,
        progress: Callable[[int], object] | None = None,
        cache: Given | None = None,
    ) -> None:
        paths = expand(shards, absolute=cache is not None)
        self.transform = transform
        self.members = archived(paths, index=_index(index, paths, "members"), progress=progress)
        self.members.cache = Cache.of(cache)
        count = int(self.members.labels.max(initial=-1)) + 1
        # Members of sample i: from begins[i] up to begins[i + 1].
        self._begins = np.searchsorted(self.members.labels, np.arange(count + 1))

    def __len__(self) -> int:
        return len(self._begins) - 1

    def __getitem__(self, index: int) -> Any:
        row = range(len(self))[index]  # raises IndexError
        begin, end = self._begins[row : row + 2].tolist()
        sample: dict[str, Any] = {}
        for member, _ in self.members[begin:end]:
            assert isinstance(member, Member)  # mypy
            folder, slash, name = member[len(member.archive) + 1 :].rpartition("/")
            stem, _, suffix = name.partition(".")
            if not sample:
                sample = {"__key__": f"{folder}{slash}{stem}", "__url__": member.archive}
            sample[suffix.lower()] = member.read()
        return sample if self.transform is None else self.transform(sample)


def _index(index: bool | str | os.PathLike[str], shards: list[str], kind: str) -> str | os.PathLike[str] | None:
    if index is not True:
        return index or None
    beside = f"{shards[0]}.{kind}.goloader"
    remote = any(map(is_url, shards))
    if not remote and os.access(os.path.dirname(beside) or ".", os.W_OK):
        return beside
    try:
        os.makedirs(memory.folder(), exist_ok=True)
    except OSError:  # all is listed anew each time
        return None
    names = "\0".join(shards if remote else map(os.path.abspath, shards))
    return os.path.join(memory.folder(), f"{hashlib.sha256(os.fsencode(names)).hexdigest()[:32]}.{kind}")


def expand(shards: Paths, absolute: bool = False) -> list[str]:
    """Paths of files, with braces and wildcards written out. Raises FileNotFoundError if there is none."""
    given = [shards] if isinstance(shards, str | os.PathLike) else list(shards)
    paths = [
        path
        for each in given
        for text in braces(os.fspath(each))
        for path in (sorted(glob.glob(text)) if _is_pattern(text) else [text])
    ]
    if not paths:
        raise FileNotFoundError(f"no such files: {', '.join(map(str, given)) or 'an empty list'}")
    return [path if is_url(path) else os.path.abspath(path) for path in paths] if absolute else paths


def _is_pattern(text: str) -> bool:
    return glob.has_magic(text) and not is_url(text) and not os.path.exists(text)
