"""torchvision's datasets of images in memory: MNIST and its kin, CIFAR, SEMEION, SVHN, STL10, USPS, FER2013."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ..lowered import Lowered
from ..refusal import RefusalError, SourceRefusal, granted
from ..rows import Array, Pixels
from ..transforms import lower as lower_transform
from ..watch import Watch
from .beside import Beside
from .known import Known
from .sequences import Listed, Sequences, why_not_sequences
from .tensors import Tensor, layout_of
from .tree import Column, Indices, Node, check_class, copied, equal_at, name_of


@dataclass(frozen=True, eq=False)
class PixelPart:
    """Images in memory that share a transform: those of one dataset.

    labels  [images] int64
    beside  the fields of a sample from the third on
    pairs   a sample is (image, label), and the label of type int
    """

    dataset: Any
    pixels: Pixels
    labels: NDArray[np.int64]
    lowered: Lowered
    beside: tuple[Beside, ...] = ()
    pairs: bool = True

    views: ClassVar[int] = 1  # images a sample

    def __len__(self) -> int:
        return len(self.pixels.array)


@dataclass(frozen=True, eq=False)
class PixelPairPart(PixelPart):
    """Images in memory of which each is transformed twice: the second is called its target. labels do not count."""

    views: ClassVar[int] = 2


@dataclass(frozen=True)
class Kind(Known):
    """A class whose dataset[i] is (transform(Image.fromarray(data[i])), label i).

    axes          of its data: n images, y rows, x columns, c channels
    targets       the attribute that has the labels
    read          what it holds -> labels, if int() of an item is the label
    data          the attribute that has the images; if it has the labels too, it is a list of (image, label) tuples
    """

    axes: str
    targets: str
    read: Callable[[Any], NDArray[np.int64] | None]
    data: str = "data"


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


def _second_of_each(samples: Any) -> NDArray[np.int64] | None:
    """FER2013's; None where there are none, as of its test set."""
    return _ints([label for _, label in samples])


KINDS = (
    Kind("mnist", "MNIST", "nyx", "targets", _whole_numbers),  # FashionMNIST, KMNIST and EMNIST too
    Kind("mnist", "QMNIST", "nyx", "targets", _first_of_each),
    Kind("usps", "USPS", "nyx", "targets", _whole_numbers),
    Kind("cifar", "CIFAR10", "nyxc", "targets", _ints),  # CIFAR100 too
    Kind("semeion", "SEMEION", "nyx", "labels", _whole_numbers),
    Kind("svhn", "SVHN", "ncyx", "labels", _whole_numbers),
    Kind("stl10", "STL10", "ncyx", "labels", _whole_numbers),
    Kind("fer2013", "FER2013", "nyx", "_samples", _second_of_each, data="_samples"),
)


class Pictures(Node):
    """A dataset of images in memory. Pixels are read where they are; labels are copied."""

    structure = (0, 1)

    def __init__(self, dataset: Any, kind: Kind) -> None:
        self.dataset, self._kind = dataset, kind
        self._check()
        self._images = _images(dataset, kind)
        pixels = self._images.pixels
        lowered = self._lowered(pixels.channels)
        self._watch = Watch[Lowered]()
        targets = getattr(dataset, kind.targets)
        self._given = copied(targets)
        labels = kind.read(targets)
        if labels is None:
            raise SourceRefusal(name_of(dataset), f"its {kind.targets} are not whole numbers", "LABELS")
        self.length = len(pixels.array)
        if len(labels) != self.length:
            raise SourceRefusal(name_of(dataset), f"it has {len(labels)} labels for {self.length} images", "LABELS")
        self.part = PixelPart(dataset, pixels, labels, lowered)
        self.columns = (Column((self.part,), PixelPart),)

    def _check(self) -> None:
        """Raise RefusalError unless dataset[i] is what its class was written to make of an index."""
        dataset, kind = self.dataset, self._kind
        attributes = (kind.data, kind.targets, "transform", "target_transform")
        check_class(dataset, kind.base, "torchvision", attributes)
        if dataset.target_transform is not None:
            raise SourceRefusal(name_of(dataset), "it has a target_transform", "TARGET_TRANSFORM")
        if kind.name == "QMNIST" and dataset.compat is not True:
            raise SourceRefusal(name_of(dataset), "its labels are whole rows of a table", "LABELS")

    def _lowered(self, channels: int) -> Lowered:
        return granted(lower_transform(self.dataset.transform, channels))

    def _checked(self) -> Lowered:
        self._check()
        return self._lowered(self.part.pixels.channels)

    def unchanged(self, dataset: Any, at: Indices | None) -> bool:
        if dataset is not self.dataset:
            return False
        try:
            lowered = self._watch.found(self._checked, [vars(dataset).get("transform")], dataset)
        except RefusalError:
            return False
        return (
            self._images.unchanged(getattr(dataset, self._kind.data), at)
            and equal_at(getattr(dataset, self._kind.targets), self._given, at)
            and lowered == self.part.lowered
        )


def _images(dataset: Any, kind: Kind) -> Block | _Listed:
    name, data = name_of(dataset), getattr(dataset, kind.data)
    if kind.data == kind.targets:
        return _Listed(name, data)
    return Block(name, data, torch.Tensor if kind.module == "mnist" else np.ndarray, kind.axes)


class Block:
    """Images that are one array, or one tensor.

    axes  as a Kind's
    """

    def __init__(self, name: str, data: Any, wanted: type[Any], axes: str) -> None:
        if type(data) is not wanted or data.ndim != len(axes) or data.dtype not in (np.uint8, torch.uint8):
            raise SourceRefusal(name, f"its data is not a {wanted.__name__} of uint8 images", "PIXELS")
        self._data, self._layout = data, layout_of(data)
        if isinstance(data, np.ndarray):
            self.pixels = _pixels(name, data, data, axes)
        else:
            tensor = Tensor(data)
            self.pixels = _pixels(name, _over(tensor), tensor, axes)

    def unchanged(self, data: Any, at: Indices | None) -> bool:
        return data is self._data and layout_of(data) == self._layout


class _Listed:
    """Images that are tensors of their own, each in a tuple with its label."""

    def __init__(self, name: str, samples: Any) -> None:
        if type(samples) is not list or set(map(type, samples)) != {tuple} or set(map(len, samples)) != {2}:
            raise SourceRefusal(name, "its samples are not a list of (image, label) tuples", "PIXELS")
        self._samples, self._tensors = list(samples), [image for image, _ in samples]
        first = self._tensors[0]
        why = why_not_sequences(self._tensors)
        if why or type(first) is not torch.Tensor or first.dtype != torch.uint8 or first.ndim != 2:
            raise SourceRefusal(name, f"its images are a {why}" if why else "its images are not uint8", "PIXELS")
        if len({image.shape for image in self._tensors}) > 1 or not first.numel():
            raise SourceRefusal(name, "its images are not of one size", "PIXELS")
        self._rows = Sequences(Listed(self._tensors))
        if not self._rows.in_one_piece:
            raise SourceRefusal(name, "its images are not contiguous in memory", "PIXELS")
        height, width = first.shape
        rows = replace(self._rows.array, shape=(len(samples), height, width), strides=(0, width, 1), lengths=None)
        self.pixels = Pixels(rows, "flat", (height, width))

    def unchanged(self, samples: Any, at: Indices | None) -> bool:
        if type(samples) is not list or len(samples) != len(self._samples):
            return False
        rows = range(len(samples)) if at is None else at.tolist()
        return all(samples[i] is self._samples[i] for i in rows) and self._rows.unchanged(self._tensors, at)


def _over(tensor: Tensor) -> NDArray[np.uint8]:
    """An array over a tensor's memory, which is not kept alive by it."""
    shape, strides = tensor.array.shape, tensor.array.strides
    place = {"data": (tensor.array.address, False), "shape": shape, "strides": strides, "typestr": "|u1", "version": 3}
    holder = type("Memory", (), {"__array_interface__": place})()
    return np.asarray(holder)


def _pixels(name: str, array: NDArray[np.uint8], owner: Any, axes: str) -> Pixels:
    layout = "flat" if "c" not in axes else "interleaved" if array.strides[axes.index("c")] == 1 else "planar"
    if "c" in axes and array.shape[axes.index("c")] != 3:
        raise SourceRefusal(name, f"its images have {array.shape[axes.index('c')]} channels, not 3", "PIXELS")
    order = {"flat": "nyx", "interleaved": "nyxc", "planar": "ncyx"}[layout]
    height, width = (array.shape[axes.index(axis)] for axis in "yx")
    if height < 1 or width < 1:
        raise SourceRefusal(name, "its images have no pixels", "PIXELS")
    turned = array.transpose([axes.index(axis) for axis in order])
    view = Array(turned.__array_interface__["data"][0], turned.shape, turned.strides, owner)
    return Pixels(view, layout, (height, width))
