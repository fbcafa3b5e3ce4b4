"""Images in memory: rows of an array or a tensor, as MNIST and CIFAR10 have them, or tensors in a list."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...refusal import SourceRefusal
from ...rows import Array, Pixels
from ..tree import Indices
from .sequences import Listed, Sequences, why_not_sequences
from .tensors import Tensor, layout_of


class Block:
    """Images that are one array, or one tensor.

    axes   "n" for images, "y", "x", and "c" for channels, or "1" for the one that there is
    shape  of one image; None for that which the array has
    """

    def __init__(
        self, name: str, data: Any, wanted: type[Any], axes: str, shape: tuple[int, ...] | None = None
    ) -> None:
        if shape is None:
            shape = tuple(data.shape[1:]) if type(data) is wanted else ()
        if type(data) is not wanted or len(axes) != 1 + len(shape) or data.dtype not in (np.uint8, torch.uint8):
            raise SourceRefusal(name, f"its data is not a {wanted.__name__} of uint8 images", "PIXELS")
        self._data, self._layout = data, layout_of(data)
        owner = data if isinstance(data, np.ndarray) else Tensor(data)
        array = owner if isinstance(owner, np.ndarray) else _over(owner)
        if array.shape[1:] != shape:
            if not array[:1].flags.c_contiguous:
                raise SourceRefusal(name, "its images are not contiguous in memory", "PIXELS")
            array = array.reshape(len(array), *shape)
        self.pixels = _pixels(name, array, owner, axes)

    def unchanged(self, data: Any, at: Indices | None) -> bool:
        return data is self._data and layout_of(data) == self._layout


class PixelList:
    """Images that are tensors of their own, which are what keys lead to in each item of a list."""

    def __init__(self, name: str, given: list[Any], path: tuple[int, ...]) -> None:
        listed = Listed(given, path)
        why, first = why_not_sequences(listed.elements), next(iter(listed.elements), None)
        if why or type(first) is not torch.Tensor or first.dtype != torch.uint8 or first.ndim != 2:
            raise SourceRefusal(name, f"its images are a {why}" if why else "its images are not uint8", "PIXELS")
        if len({image.shape for image in listed.elements}) > 1 or not first.numel():
            raise SourceRefusal(name, "its images are not of one size", "PIXELS")
        self._rows = Sequences(listed)
        if not self._rows.in_one_piece:
            raise SourceRefusal(name, "its images are not contiguous in memory", "PIXELS")
        height, width = first.shape
        rows = replace(self._rows.array, shape=(len(given), height, width), strides=(0, width, 1), lengths=None)
        self.pixels = Pixels(rows, "flat", (height, width))

    def unchanged(self, given: Any, at: Indices | None) -> bool:
        return self._rows.unchanged(given, at)


def _over(tensor: Tensor) -> NDArray[np.uint8]:
    """An array over a tensor's memory, which is not kept alive by it."""
    shape, strides = tensor.array.shape, tensor.array.strides
    place = {"data": (tensor.array.address, False), "shape": shape, "strides": strides, "typestr": "|u1", "version": 3}
    holder = type("Memory", (), {"__array_interface__": place})()
    return np.asarray(holder)


def _pixels(name: str, array: NDArray[np.uint8], owner: Any, axes: str) -> Pixels:
    if "1" in axes:
        array, axes = array.squeeze(axes.index("1")), axes.replace("1", "")
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
