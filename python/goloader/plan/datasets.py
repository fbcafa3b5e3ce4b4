"""torchvision's image folders, and torch's Subset and ConcatDataset over them, lowered to lists of files.

`lower(dataset)` answers with Samples: every file with its label, one after the other, and which of them each index of
the dataset stands for. A subclass is taken only if it changes nothing of what is done for an index.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import ConcatDataset, Dataset, Subset

from .lowered import Lowered
from .paths import Paths, native_share
from .refusal import Refusal, RefusalError
from .transforms import is_original
from .transforms import lower as lower_transform

__all__ = ["Part", "Samples", "fails_ahead", "lower"]

# Share of files that only Pillow reads from which torch's worker processes are faster than one Pillow here.
FOREIGN_SHARE_MAX = 0.05

# An index of a composed dataset whose own lookup would fail, as when a Subset lists samples that are not there.
_NOWHERE = -1


@dataclass(frozen=True, eq=False)
class Part:
    """Files that share a transform: those of one image folder.

    samples  its (path, label) tuples; ours, so that a later change of the dataset's own list is seen
    labels   [samples] int64
    """

    dataset: Any
    samples: list[tuple[Any, int]]
    labels: NDArray[np.int64]
    lowered: Lowered


class Samples:
    """A dataset as the core has it: files, labels, and which of them an index means.

    parts    the image folders, each once
    length   len(dataset)
    index    [length] int64, index of the dataset -> number of the file, counted through all parts; None if the same
    paths    of all files
    labels   [files] int64
    foreign  share of the dataset's samples whose files only Pillow reads
    """

    def __init__(self, root: _Node, parts: Sequence[Part]) -> None:
        self._root = root
        self.parts = tuple(parts)
        self.length = root.length
        self.index = root.index
        self.paths = Paths.of([path for part in parts for path, _ in part.samples])
        self.labels = np.concatenate([part.labels for part in parts])
        self.foreign = 1.0 - native_share(self.paths.names, self.index)

    def resolve(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers of files for indices of the dataset, negative ones included.

        Raises IndexError if one is out of range: then `dataset[i]` has the error that torch's users would see.
        """
        low, high = -self.length, self.length
        found = np.where(indices < 0, indices + self.length, indices)
        if not ((indices >= low) & (indices < high)).all():
            raise IndexError(f"index out of range for a dataset of {self.length}")
        if self.index is not None:
            found = self.index[found]
            if (found == _NOWHERE).any():
                raise IndexError("a Subset lists an index that its dataset does not have")
        return found

    def unchanged(self, dataset: Any, rows: NDArray[np.int64] | None = None) -> bool:
        """True if `dataset` is still what was lowered: same objects, same lists, same transforms.

        With `rows` only these files are looked at, and the lengths of the lists: cheap enough for every batch.
        """
        return self._root.unchanged(dataset, rows)


def lower(dataset: Any) -> Samples | Refusal:
    """The files of `dataset`, or the reason why torch's own path has to load it."""
    try:
        parts: dict[int, _Folder] = {}
        root = _node(dataset, parts)
        samples = Samples(root, [folder.part for folder in parts.values()])
    except RefusalError as refused:
        return refused.refusal
    if samples.foreign > FOREIGN_SHARE_MAX:
        return Refusal(
            "source",
            _name(dataset),
            f"{samples.foreign:.0%} of its files are of kinds that only Pillow reads; torch's workers read in parallel",
        )
    return samples


def fails_ahead(dataset: Any, indices: Any) -> bool:
    """True if `dataset` fails to look an index of the batch up before it loads the first sample.

    A Subset of a Subset hands the whole batch down (Subset.__getitems__): all look-ups but the last come first.
    """
    while type(dataset) is Subset and type(dataset.dataset) is Subset:
        try:
            indices = [dataset.indices[i] for i in indices]
        except Exception:  # whatever it is, the dataset raises it again
            return True
        dataset = dataset.dataset
    return False


# The tree of a dataset: image folders below, Subset and ConcatDataset above. Each node knows how to tell whether its
# object is still the one that was lowered.


class _Node:
    length: int
    index: NDArray[np.int64] | None

    def unchanged(self, dataset: Any, rows: NDArray[np.int64] | None) -> bool:
        raise NotImplementedError


class _Folder(_Node):
    """An ImageFolder or DatasetFolder. `first` is the number of its first file."""

    def __init__(self, dataset: Any, first: int) -> None:
        _check_folder(dataset)
        lowered = lower_transform(dataset.transform)
        if isinstance(lowered, Refusal):
            raise RefusalError(lowered.stage, lowered.what, lowered.why)
        samples = _samples(dataset)
        try:
            labels = np.fromiter((label for _, label in samples), np.int64, len(samples))
        except OverflowError:
            raise RefusalError("source", _name(dataset), "it has labels that do not fit an int64") from None
        self.part = Part(dataset, samples, labels, lowered)
        self.first = first
        self.length = len(samples)
        self.index = np.arange(first, first + self.length, dtype=np.int64) if first else None

    def unchanged(self, dataset: Any, rows: NDArray[np.int64] | None) -> bool:
        if dataset is not self.part.dataset:
            return False
        try:
            _check_folder(dataset)
        except RefusalError:
            return False
        return self._same(dataset.samples, rows) and lower_transform(dataset.transform) == self.part.lowered

    def _same(self, samples: Any, rows: NDArray[np.int64] | None) -> bool:
        if rows is None:
            # Comparing a list with its copy looks at identities first: 10 ms for a million samples.
            return bool(list(samples) == self.part.samples)
        ours = rows[(rows >= self.first) & (rows < self.first + self.length)] - self.first
        return len(samples) == self.length and all(samples[i] == self.part.samples[i] for i in ours.tolist())


class _Subset(_Node):
    def __init__(self, dataset: Subset[Any], parts: dict[int, _Folder]) -> None:
        _check_plain(dataset, ("dataset", "indices"))
        self.dataset = dataset
        self.inner = _node(dataset.dataset, parts)
        self.given = _copy(dataset.indices)
        at = _integers(dataset, dataset.indices)
        self.length = len(at)
        inside = (at >= -self.inner.length) & (at < self.inner.length)
        at = np.where(at < 0, at + self.inner.length, at)
        if self.inner.index is None:
            self.index = np.where(inside, at, _NOWHERE)
        else:
            self.index = np.full(len(at), _NOWHERE, np.int64)
            self.index[inside] = self.inner.index[at[inside]]

    def unchanged(self, dataset: Any, rows: NDArray[np.int64] | None) -> bool:
        return (
            dataset is self.dataset
            and _is_plain(dataset, ("dataset", "indices"))
            and (len(dataset.indices) == self.length if rows is not None else _equal(dataset.indices, self.given))
            and self.inner.unchanged(dataset.dataset, rows)
        )


class _Concat(_Node):
    def __init__(self, dataset: ConcatDataset[Any], parts: dict[int, _Folder]) -> None:
        _check_plain(dataset, ("datasets", "cumulative_sizes"))
        self.dataset = dataset
        self.inner = [_node(each, parts) for each in dataset.datasets]
        self.sizes = list(itertools.accumulate(node.length for node in self.inner))
        self.length = self.sizes[-1] if self.sizes else 0
        if not self._fits(dataset):
            raise RefusalError("source", "ConcatDataset", "a dataset in it has changed its length since")
        pieces = [np.arange(node.length, dtype=np.int64) if node.index is None else node.index for node in self.inner]
        index = np.concatenate(pieces)
        self.index = None if np.array_equal(index, np.arange(self.length)) else index

    def _fits(self, dataset: ConcatDataset[Any]) -> bool:
        """ConcatDataset looks its lengths up when it is built, and never again."""
        return dataset.cumulative_sizes == self.sizes

    def unchanged(self, dataset: Any, rows: NDArray[np.int64] | None) -> bool:
        return (
            dataset is self.dataset
            and _is_plain(dataset, ("datasets", "cumulative_sizes"))
            and len(dataset.datasets) == len(self.inner)
            and self._fits(dataset)
            and all(node.unchanged(each, rows) for node, each in zip(self.inner, dataset.datasets, strict=True))
        )


def _node(dataset: Any, parts: dict[int, _Folder]) -> _Node:
    """The tree of `dataset`. Image folders met for the first time go into `parts`, by id."""
    if type(dataset) is Subset:
        return _Subset(dataset, parts)
    if type(dataset) is ConcatDataset:
        return _Concat(dataset, parts)
    if id(dataset) not in parts:
        parts[id(dataset)] = _Folder(dataset, sum(folder.length for folder in parts.values()))
    return parts[id(dataset)]


# Checks


def _check_folder(dataset: Any) -> None:
    """Raise RefusalError unless dataset[i] is (transform(torchvision's loader(samples[i][0])), samples[i][1])."""
    folder = sys.modules.get("torchvision.datasets.folder")
    kind: Any = type(dataset)
    name = _name(dataset)
    if folder is None or not isinstance(dataset, folder.DatasetFolder):
        raise RefusalError("source", name, f"goloader does not know {kind.__module__}.{kind.__qualname__}")
    for method in ("__getitem__", "__len__"):
        if getattr(kind, method) is not getattr(folder.DatasetFolder, method) or not is_original(
            getattr(kind, method), "torchvision"
        ):
            raise RefusalError("source", name, f"its class overrides {method}")
        if method in vars(dataset):
            raise RefusalError("source", name, f"it has a {method} of its own")
    if hasattr(dataset, "__getitems__"):
        raise RefusalError("source", name, "it has __getitems__")
    if kind.__getattribute__ is not object.__getattribute__ or (
        getattr(kind, "__getattr__", None) is not getattr(Dataset, "__getattr__", None)
    ):
        raise RefusalError("source", name, "its class overrides attribute access")
    for attribute in ("samples", "loader", "transform", "target_transform"):
        if attribute not in vars(dataset) or hasattr(type(getattr(kind, attribute, None)), "__set__"):
            raise RefusalError("source", name, f"its {attribute} is computed")
    if dataset.target_transform is not None:
        raise RefusalError("source", name, "it has a target_transform")
    if dataset.loader is folder.default_loader:
        backend = sys.modules["torchvision"].get_image_backend()
        if backend != "PIL":
            raise RefusalError("source", name, f"torchvision's image backend is {backend}")
    elif dataset.loader is not folder.pil_loader:
        raise RefusalError("source", name, f"its loader, {_callable_name(dataset.loader)}, is not torchvision's")


def _samples(dataset: Any) -> list[tuple[Any, int]]:
    """A copy of an image folder's list. Raises RefusalError if it holds anything but (path, int) tuples."""
    name = _name(dataset)
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


def _check_plain(dataset: Any, attributes: tuple[str, ...]) -> None:
    if not _is_plain(dataset, attributes):
        raise RefusalError("source", _name(dataset), "its methods or attributes were replaced")


def _is_plain(dataset: Any, attributes: tuple[str, ...]) -> bool:
    """True for an unpatched Subset or ConcatDataset with nothing hung onto it that torch would call instead."""
    methods = ("__getitem__", "__len__", *(("__getitems__",) if type(dataset) is Subset else ()))
    return (
        all(is_original(getattr(type(dataset), method), "torch") for method in methods)
        and not {"__getitem__", "__getitems__", "__len__"} & vars(dataset).keys()
        and all(attribute in vars(dataset) for attribute in attributes)
    )


def _integers(dataset: Any, indices: Any) -> NDArray[np.int64]:
    """A Subset's indices as int64; refused where indexing with them may mean something else than with ints."""
    name = _name(dataset)
    kinds: set[Any]
    if isinstance(indices, torch.Tensor) and indices.ndim == 1 and indices.device.type == "cpu":
        kinds = {indices.dtype}
        values: Any = indices.numpy() if kinds <= {torch.int32, torch.int64} else None
    elif type(indices) is np.ndarray and indices.ndim == 1:
        kinds = {indices.dtype}
        values = indices if kinds <= {np.dtype(np.int32), np.dtype(np.int64)} else None
    elif type(indices) is range:
        kinds = {range}
        values = np.arange(indices.start, indices.stop, indices.step, dtype=np.int64)
    elif type(indices) in (list, tuple):
        kinds = set(map(type, indices))
        values = indices if kinds <= {int, np.int32, np.int64} else None
    else:
        kinds = {type(indices).__name__}
        values = None
    if values is None:
        raise RefusalError("source", name, f"its indices are of type {', '.join(sorted(map(_kind_name, kinds)))}")
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        raise RefusalError("source", name, "it has indices that do not fit an int64") from None


def _kind_name(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind)


def _copy(indices: Any) -> Any:
    """What `_equal` compares with later; a range cannot change."""
    if isinstance(indices, torch.Tensor):
        return indices.clone()
    return indices.copy() if isinstance(indices, list | np.ndarray) else indices


def _equal(indices: Any, given: Any) -> bool:
    if type(indices) is not type(given):
        return False
    if isinstance(given, torch.Tensor):
        return indices.dtype == given.dtype and torch.equal(indices, given)
    if isinstance(given, np.ndarray):
        return indices.dtype == given.dtype and np.array_equal(indices, given)
    return bool(indices == given)


def _name(dataset: Any) -> str:
    root = getattr(dataset, "root", None)
    kind = type(dataset).__qualname__
    return f"{kind}({root!r})" if isinstance(root, str | os.PathLike) else kind


def _callable_name(function: Any) -> str:
    return str(getattr(function, "__qualname__", type(function).__qualname__))
