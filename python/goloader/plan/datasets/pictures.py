"""torchvision's datasets of images in memory: MNIST and its kin, CIFAR, SEMEION, SVHN, STL10, USPS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ..lowered import Lowered
from ..refusal import Refusal, RefusalError
from ..rows import Array, Pixels
from ..transforms import lower as lower_transform
from .known import Known, nearest
from .tensors import Tensor
from .tree import Column, Indices, Node, check_class, copied, equal, equal_at, name_of

__all__ = ["Pictures", "PixelPart", "kind_of"]


@dataclass(frozen=True, eq=False)
class PixelPart:
    """Images in memory that share a transform: those of one dataset.

    labels  [images] int64
    """

    dataset: Any
    pixels: Pixels
    labels: NDArray[np.int64]
    lowered: Lowered

    views: ClassVar[int] = 1

    def __len__(self) -> int:
        return len(self.pixels.array)


@dataclass(frozen=True)
class Kind(Known):
    """A class whose dataset[i] is (transform(Image.fromarray(data[i])), label i).

    axes          of its data: n images, y rows, x columns, c channels
    targets       the attribute that has the labels
    read          what it holds -> labels, if int() of an item is the label
    """

    axes: str
    targets: str
    read: Callable[[Any], NDArray[np.int64] | None]


def _ints(targets: Any) -> NDArray[np.int64] | None:
    """Of a list of ints, which are labels as they are."""
    if type(targets) is not list or set(map(type, targets)) - {int}:
        return None
    try:
        return np.fromiter(targets, np.int64, len(targets))
    except OverflowError:
        return None


def _whole_numbers(targets: Any) -> NDArray[np.int64] | None:
    """Of a list or an array of whole numbers."""
    array = targets
    if type(array) is torch.Tensor and array.device.type == "cpu" and array.layout == torch.strided:
        array = array.detach().numpy()
    if type(array) is np.ndarray and array.ndim == 1 and array.dtype.kind in "iu" and array.dtype != np.uint64:
        return array.astype(np.int64)
    return _ints(targets)


def _first_of_each(targets: Any) -> NDArray[np.int64] | None:
    """QMNIST's, whose targets are a table."""
    if type(targets) is torch.Tensor and targets.ndim == 2 and targets.shape[1] > 0:
        return _whole_numbers(targets[:, 0])
    return None


_KINDS = (
    Kind("mnist", "MNIST", "nyx", "targets", _whole_numbers),  # FashionMNIST, KMNIST and EMNIST too
    Kind("mnist", "QMNIST", "nyx", "targets", _first_of_each),
    Kind("usps", "USPS", "nyx", "targets", _whole_numbers),
    Kind("cifar", "CIFAR10", "nyxc", "targets", _ints),  # CIFAR100 too
    Kind("semeion", "SEMEION", "nyx", "labels", _whole_numbers),
    Kind("svhn", "SVHN", "ncyx", "labels", _whole_numbers),
    Kind("stl10", "STL10", "ncyx", "labels", _whole_numbers),
)


def kind_of(dataset: Any) -> Kind | None:
    """Which of these classes `dataset` is of; the one nearest to its own."""
    return nearest(dataset, _KINDS)


class Pictures(Node):
    """A dataset of images in memory. Pixels are read where they are; labels are copied."""

    structure = (0, 1)

    def __init__(self, dataset: Any, kind: Kind) -> None:
        self.dataset, self._kind = dataset, kind
        self._check()
        self._data = dataset.data
        self._array = _array(dataset, kind)
        pixels = _pixels(self._array, kind)
        lowered = lower_transform(dataset.transform, pixels.channels)
        if isinstance(lowered, Refusal):
            raise RefusalError(lowered.stage, lowered.what, lowered.why)
        targets = getattr(dataset, kind.targets)
        self._given = copied(targets)
        labels = kind.read(targets)
        if labels is None:
            raise RefusalError("source", name_of(dataset), f"its {kind.targets} are not whole numbers")
        self.length = len(pixels.array)
        if len(labels) != self.length:
            raise RefusalError("source", name_of(dataset), f"it has {len(labels)} labels for {self.length} images")
        self.part = PixelPart(dataset, pixels, labels, lowered)
        self.columns = (Column((self.part,), PixelPart),)

    def _check(self) -> None:
        """Raise RefusalError unless dataset[i] is what its class was written to make of an index."""
        dataset, kind = self.dataset, self._kind
        attributes = ("data", kind.targets, "transform", "target_transform")
        check_class(dataset, kind.base, "torchvision", attributes)
        if dataset.target_transform is not None:
            raise RefusalError("source", name_of(dataset), "it has a target_transform")
        if kind.name == "QMNIST" and dataset.compat is not True:
            raise RefusalError("source", name_of(dataset), "its labels are whole rows of a table")

    def unchanged(self, dataset: Any, at: Indices | None) -> bool:
        if dataset is not self.dataset:
            return False
        try:
            self._check()
        except RefusalError:
            return False
        targets = getattr(dataset, self._kind.targets)
        return (
            dataset.data is self._data
            and _layout(dataset.data) == self._array.layout
            and type(targets) is type(self._given)
            and len(targets) == len(self._given)
            and (equal(targets, self._given) if at is None else equal_at(targets, self._given, at))
            and lower_transform(dataset.transform, self.part.pixels.channels) == self.part.lowered
        )


@dataclass(frozen=True, eq=False)
class _Memory:
    """Data as a numpy array of uint8, what keeps it alive, and where it is."""

    array: NDArray[np.uint8]
    owner: Any
    layout: Any


def _layout(data: Any) -> Any:
    if isinstance(data, torch.Tensor):
        return data.data_ptr(), tuple(data.shape), data.stride(), data.dtype
    return data.__array_interface__["data"][0], data.shape, data.strides, data.dtype


def _array(dataset: Any, kind: Kind) -> _Memory:
    data = dataset.data
    wanted = torch.Tensor if kind.module == "mnist" else np.ndarray
    if type(data) is not wanted or data.ndim != len(kind.axes) or data.dtype not in (np.uint8, torch.uint8):
        raise RefusalError("source", name_of(dataset), f"its data is not a {wanted.__name__} of uint8 images")
    if isinstance(data, np.ndarray):
        return _Memory(data, data, _layout(data))
    tensor = Tensor(data)
    shape, strides = tensor.array.shape, tensor.array.strides
    place = {"data": (tensor.array.address, False), "shape": shape, "strides": strides, "typestr": "|u1", "version": 3}
    holder = type("Memory", (), {"__array_interface__": place})()
    return _Memory(np.asarray(holder), tensor, _layout(data))


def _pixels(memory: _Memory, kind: Kind) -> Pixels:
    array, axes = memory.array, kind.axes
    layout = "flat" if "c" not in axes else "interleaved" if array.strides[axes.index("c")] == 1 else "planar"
    if "c" in axes and array.shape[axes.index("c")] != 3:
        raise RefusalError("source", kind.name, f"its images have {array.shape[axes.index('c')]} channels, not 3")
    order = {"flat": "nyx", "interleaved": "nyxc", "planar": "ncyx"}[layout]
    height, width = (array.shape[axes.index(axis)] for axis in "yx")
    if height < 1 or width < 1:
        raise RefusalError("source", kind.name, "its images have no pixels")
    turned = array.transpose([axes.index(axis) for axis in order])
    view = Array(turned.__array_interface__["data"][0], turned.shape, turned.strides, memory.owner)
    return Pixels(view, layout, (height, width))
