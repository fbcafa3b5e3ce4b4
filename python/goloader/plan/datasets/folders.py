"""torchvision's image folders: lists of files with a label each."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from ..paths import Files
from ..refusal import Refusal, RefusalError
from ..transforms import lower as lower_transform
from .samples import Part
from .tree import Column, Indices, Node, check_class, name_of

__all__ = ["Folder", "is_folder"]


def is_folder(dataset: Any) -> bool:
    folder = sys.modules.get("torchvision.datasets.folder")
    return folder is not None and isinstance(dataset, folder.DatasetFolder)


class Folder(Node):
    """An ImageFolder or DatasetFolder."""

    structure = (0, 1)

    def __init__(self, dataset: Any) -> None:
        _check(dataset)
        lowered = lower_transform(dataset.transform)
        if isinstance(lowered, Refusal):
            raise RefusalError(lowered.stage, lowered.what, lowered.why)
        samples = _samples(dataset)
        try:
            files = samples if isinstance(samples, Files) else Files.of(samples)
        except OverflowError:
            raise RefusalError("source", name_of(dataset), "it has labels that do not fit an int64") from None
        self.dataset = dataset
        self.part = Part(dataset, samples, files, lowered)
        self.length = len(samples)
        self.columns = (Column((self.part,), Part),)

    def unchanged(self, dataset: Any, at: Indices | None) -> bool:
        if dataset is not self.dataset:
            return False
        try:
            _check(dataset)
        except RefusalError:
            return False
        return self._same(dataset.samples, at) and lower_transform(dataset.transform) == self.part.lowered

    def _same(self, samples: Any, at: Indices | None) -> bool:
        if isinstance(self.part.samples, Files):  # it never changes
            return samples is self.part.samples
        if at is None:
            # Comparing a list with its copy looks at identities first: 10 ms for a million samples.
            return bool(list(samples) == self.part.samples)
        return len(samples) == self.length and all(samples[i] == self.part.samples[i] for i in at.tolist())


def _check(dataset: Any) -> None:
    """Raise RefusalError unless dataset[i] is (transform(torchvision's loader(samples[i][0])), samples[i][1])."""
    folder = sys.modules["torchvision.datasets.folder"]
    name = name_of(dataset)
    check_class(dataset, folder.DatasetFolder, "torchvision", ("samples", "loader", "transform", "target_transform"))
    if dataset.target_transform is not None:
        raise RefusalError("source", name, "it has a target_transform")
    if dataset.loader is folder.default_loader:
        backend = sys.modules["torchvision"].get_image_backend()
        if backend != "PIL":
            raise RefusalError("source", name, f"torchvision's image backend is {backend}")
    elif dataset.loader is not folder.pil_loader:
        raise RefusalError("source", name, f"its loader, {_callable_name(dataset.loader)}, is not torchvision's")


def _samples(dataset: Any) -> Sequence[tuple[Any, int]]:
    """A copy of an image folder's list. Raises RefusalError if it holds anything but (path, int) tuples."""
    if type(dataset.samples) is Files:
        files: Files = dataset.samples
        return files
    name = name_of(dataset)
    if type(dataset.samples) not in (list, tuple):
        raise RefusalError("source", name, f"its samples are a {type(dataset.samples).__name__}, not a list")
    samples: list[Any] = list(dataset.samples)
    # A tuple cannot change unseen, as a list within the list could.
    if set(map(type, samples)) - {tuple} or set(map(len, samples)) - {2}:
        raise RefusalError("source", name, "its samples are not all (path, label) tuples")
    labels = {type(label) for _, label in samples} - {int}
    if labels:
        raise RefusalError("source", name, f"it has labels of type {labels.pop().__name__}, not int")
    for kind in {type(path) for path, _ in samples}:
        if not issubclass(kind, str | bytes | os.PathLike):
            raise RefusalError("source", name, f"it has paths of type {kind.__name__}")
    return samples


def _callable_name(function: Any) -> str:
    return str(getattr(function, "__qualname__", type(function).__qualname__))
