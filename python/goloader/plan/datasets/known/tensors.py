"""torch's TensorDataset: rows of tensors, gathered straight from the tensors' memory."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import torch
from torch.utils.data import TensorDataset

from ....arrays.file_array import DTYPES
from ...refusal import SourceRefusal, refuses
from ...rows import DIMENSIONS_MAX, Array, Owner
from ..tree import Checked, Column, Indices, Node, check_class

# The core's name for the items of a dtype; others of a size that it knows travel as integers.
NAMES = {
    getattr(torch, name): name if name == "bfloat16" else kept.name
    for name, kept in (DTYPES | {"complex32": np.dtype(np.uint32), "float4_e2m1fn_x2": np.dtype(np.uint8)}).items()
    if hasattr(torch, name)  # some are of torch 2.7 and 2.8
}


def layout_of(array: Any) -> Any:
    """Where an array or a tensor lies in memory, and how: equal as long as that stays so; None for what is neither."""
    if isinstance(array, torch.Tensor):
        return array.data_ptr(), tuple(array.shape), array.stride(), array.dtype
    if isinstance(array, np.ndarray):
        return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype
    return None


def checksum(array: Any) -> int:
    """Of the items of an array, of which numpy keeps no version."""
    items: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return zlib.crc32(items)


class Tensor(Owner):
    """One tensor, and where its items are. It stays what it is as long as `unchanged` says so."""

    def __init__(self, tensor: Any) -> None:
        why = _why_not(tensor)
        if why:
            raise SourceRefusal("TensorDataset", why, "TENSOR_LAYOUT")
        self.given = tensor
        # Of our own: the storage lives on if the user's tensor is set to another.
        self._alias = tensor.detach()
        self._dtype, self._layout = tensor.dtype, (tensor.data_ptr(), tensor.shape, tensor.stride())
        size = tensor.element_size()
        strides = tuple(stride * size for stride in tensor.stride())
        self.array = Array(tensor.data_ptr(), tuple(tensor.shape), strides, self)
        self.spec = (NAMES[tensor.dtype], tuple(tensor.shape[1:]), str(tensor.dtype).removeprefix("torch."))

    def __len__(self) -> int:
        return len(self.array)

    def unchanged(self, tensor: Any) -> bool:
        """True if `tensor` is the one that was given, and its items are where they were."""
        return (
            tensor is self.given
            and tensor.dtype is self._dtype
            and (tensor.data_ptr(), tensor.shape, tensor.stride()) == self._layout
            and not tensor.requires_grad
        )

    def version(self) -> int:
        """Another number once the items were changed."""
        return int(self.given._version)

    def hold(self) -> None:
        # A storage with an array over it refuses resize_().
        torch.empty(0, dtype=torch.uint8).set_(self._alias.untyped_storage()).numpy()


class Tensors(Node):
    """A TensorDataset."""

    def __init__(self, dataset: Any) -> None:
        _check(dataset)
        self.dataset, self._checked = dataset, Checked(dataset)
        self.given = dataset.tensors
        self.tensors = [Tensor(tensor) for tensor in dataset.tensors]
        self.length = len(self.tensors[0])
        if any(len(tensor) != self.length for tensor in self.tensors):
            raise SourceRefusal(type(dataset).__qualname__, "its tensors differ in length", "TENSOR_LAYOUT")
        self.structure = tuple(range(len(self.tensors)))
        self.columns = tuple(Column((tensor,), tensor.spec) for tensor in self.tensors)

    def unchanged(self, dataset: Any, at: Indices | None) -> bool:
        if not self._checked.stands(dataset) or dataset.tensors is not self.given:
            return False
        if at is None and refuses(_check, dataset):
            return False
        return len(self.given) == len(self.tensors) and all(map(Tensor.unchanged, self.tensors, self.given))


def _check(dataset: Any) -> None:
    check_class(dataset, TensorDataset, "torch", ("tensors",))
    if type(dataset.tensors) not in (tuple, list) or not dataset.tensors:
        raise SourceRefusal(type(dataset).__qualname__, "its tensors are not a tuple of tensors", "TENSOR_LAYOUT")


def _why_not(tensor: Any) -> str:
    """Why rows of `tensor` cannot be copied as they lie in memory; empty if they can."""
    if type(tensor) is not torch.Tensor:
        return f"it holds a {type(tensor).__qualname__}, which may do more when it is indexed"
    if tensor.layout != torch.strided or tensor.is_nested:
        return f"it holds a tensor of layout {tensor.layout}"
    if tensor.device.type != "cpu":
        return f"it holds a tensor on {tensor.device}"
    if tensor.requires_grad:
        return "it holds a tensor that requires grad: its batches have a history"
    if tensor.dtype not in NAMES or tensor.is_quantized:
        return f"it holds a tensor of {tensor.dtype}"
    if tensor.is_conj() or tensor.is_neg():
        return "it holds a conjugate or negative view, whose items are not what lies in memory"
    if not 1 <= tensor.ndim <= DIMENSIONS_MAX:
        return f"it holds a tensor of {tensor.ndim} dimensions"
    return ""
