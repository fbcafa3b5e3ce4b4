"""Datasets that PyTorch's own loader takes as well, for what theirs are slow at."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torchvision import datasets
from torchvision.datasets.folder import IMG_EXTENSIONS, default_loader

from . import _native
from ._files import list_files
from .doors import allowed

__all__ = ["ImageFolder"]


class ImageFolder(datasets.ImageFolder):  # type: ignore[misc]  # torchvision has no types
    """torchvision.datasets.ImageFolder for millions of files: the same samples in the same order, listed by all cores.

    What differs: `samples` and `imgs` are a sequence that makes each (path, class) tuple when it is asked for, and
    `targets` is a read-only int64 array [files]. They take 16 bytes a file beside the bytes of the paths, where lists
    take about 200, and worker processes share them.

    index     keeps the list in a file, so that the next start need not walk the folder: its path, or True for
              root/.goloader. The list counts as long as no directory below root has changed; a folder whose images are
              links to other places is noticed to change only in the links
    progress  called about ten times a second with the number of files found so far

    The other arguments, and what is raised, are torchvision's. With `is_valid_file`, which is Python for each file, the
    folder is listed as torchvision lists it, as it is where goloader's library cannot be loaded and with GOLOADER=off.
    """

    samples: Any
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
    ) -> None:
        if is_valid_file is not None or allowed.off() or _native.missing() is not None:
            super().__init__(root, transform, target_transform, loader, is_valid_file, allow_empty)
            return
        datasets.VisionDataset.__init__(self, root, transform=transform, target_transform=target_transform)
        self.loader = loader
        self.extensions = IMG_EXTENSIONS
        self.classes, self.class_to_idx = self.find_classes(self.root)
        kept = os.path.join(self.root, ".goloader") if index is True else index or None
        self.samples = self.imgs = list_files(
            self.root, self.class_to_idx, allow_empty=allow_empty, index=kept, progress=progress
        )
        self.targets = self.samples.labels
