"""torch's TensorDataset: rows of tensors, gathered straight from the tensors' memory."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data import TensorDataset

from ..look import has
from ..refusal import RefusalError, refuses
from ..rows import DIMENSIONS_MAX, Array
from .tree import Column, Indices, Node, check_class

# The core's name for the items of a dtype; others of a size that it knows travel as integers.
NAMES = {
    torch.bool: "bool",
    torch.uint8: "uint8",
    torch.int8: "int8",
    torch.uint16: "uint16",
    torch.int16: "int16",
    torch.uint32: "uint32",
    torch.int32: "int32",
    torch.uint64: "uint64",
    torch.int64: "int64",
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.float32: "float32",
    torch.float64: "float64",
    torch.complex64: "complex64",
    torch.complex128: "complex128",
    torch.complex32: "uint32",
    **{
        getattr(torch, name): "uint8"
        for name in (
            "float8_e4m3fn",
            "float8_e4m3fnuz",
            "float8_e5m2",
            "float8_e5m2fnuz",
            "float8_e8m0fnu",  # since torch 2.7
            "float4_e2m1fn_x2",  # since torch 2.8
        )
        if hasattr(torch, name)
    },
}


class Tensor:
    """One tensor, and where its items are. It stays what it is as long as `unchanged` says so."""

    def __init__(self, tensor: Any) -> None:
        why = _why_not(tensor)
        if why:
            raise RefusalError("source", "TensorDataset", why, "TENSOR_LAYOUT")
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
        self.dataset = dataset
        self.given = dataset.tensors
        self.tensors = [Tensor(tensor) for tensor in dataset.tensors]
        self.length = len(self.tensors[0])
        if any(len(tensor) != self.length for tensor in self.tensors):
            raise RefusalError("source", type(dataset).__qualname__, "its tensors differ in length", "TENSOR_LAYOUT")
        self.structure = tuple(range(len(self.tensors)))
        self.columns = tuple(Column((tensor,), tensor.spec) for tensor in self.tensors)

    def unchanged(self, dataset: Any, at: Indices | None) -> bool:
        if dataset is not self.dataset or dataset.tensors is not self.given or has(dataset, "__getitems__"):
            return False
        if at is None and refuses(_check, dataset):
            return False
        return len(self.given) == len(self.tensors) and all(
            ours.unchanged(theirs) for ours, theirs in zip(self.tensors, self.given, strict=True)
        )


def _check(dataset: Any) -> None:
    check_class(dataset, TensorDataset, "torch", ("tensors",))
    if type(dataset.tensors) not in (tuple, list) or not dataset.tensors:
        raise RefusalError(
            "source", type(dataset).__qualname__, "its tensors are not a tuple of tensors", "TENSOR_LAYOUT"
        )


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
