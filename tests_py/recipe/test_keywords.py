"""Calls as people spell them, by place and by keyword: what stand-ins give is what numpy and torch give."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms.functional as F
from PIL import Image
from torch.utils import data

import goloader
from goloader.doors.recipe import door
from goloader.doors.same import difference

# Of an array x [height, width, 3] or a tensor x [3, height, width], both of bytes. Nothing in these needs the numbers.
NATIVE_NUMPY = """
np.transpose(x, axes=(2, 0, 1))
np.transpose(a=x, axes=[2, 0, 1])
np.swapaxes(x, axis1=0, axis2=2)
np.moveaxis(x, source=-1, destination=0)
np.moveaxis(x, destination=0, source=2)
np.rollaxis(x, axis=2)
np.rollaxis(x, 2, start=1)
np.expand_dims(x, axis=0)
np.expand_dims(a=x, axis=-1)
np.expand_dims(x, axis=(0, 2))
np.squeeze(x[None], axis=0)
np.squeeze(x[None, :, None], axis=(0, 2))
x[None].squeeze(axis=0)
np.squeeze(a=x[None])
np.flip(x, axis=1)
np.flip(m=x, axis=(0, 1))
np.rot90(x, k=2, axes=(0, 1))
np.moveaxis(x, source=[0, 1], destination=[1, 0])
np.flip(x)
np.fliplr(m=x)
np.clip(x, a_min=10, a_max=99)
np.clip(x, 10, a_max=None)
np.clip(a=x, a_max=99, a_min=3)
np.clip(x, min=10, max=99)
np.clip(x, max=99)
x.clip(10, 99)
x.clip(min=10)
x.clip(max=9)
np.stack(arrays=[x, x], axis=0)
np.stack([x, x], 0, out=None)
np.copy(a=x, order='C')
np.copy(x, subok=True)
np.add(x, 1, dtype=np.float32)
np.array(x, dtype=np.float32, copy=True)
(x, np.shape(a=x), np.ndim(a=x), np.size(a=x))
"""
NATIVE_TORCH = """
x.unsqueeze(dim=0)
torch.unsqueeze(x, dim=-1)
torch.unsqueeze(input=x, dim=1)
x.unsqueeze(axis=0)
x[None].squeeze(dim=0)
torch.squeeze(x[None], dim=(0, 1))
torch.squeeze(input=x[None])
x[None].squeeze(())
x.permute(dims=(1, 2, 0))
torch.permute(x, dims=(1, 2, 0))
torch.permute(input=x, dims=[2, 0, 1])
x.transpose(dim0=0, dim1=2)
torch.transpose(x, dim1=0, dim0=1)
torch.transpose(input=x, dim0=0, dim1=2)
x.swapdims(dim0=0, dim1=2)
x.swapaxes(axis0=0, axis1=2)
torch.swapaxes(x, axis0=1, axis1=2)
x.movedim(source=0, destination=2)
torch.movedim(x, source=0, destination=-1)
torch.moveaxis(x, 0, destination=2)
x.flip(dims=(-1,))
torch.flip(x, dims=[1, 2])
torch.flip(input=x, dims=(2,))
x.contiguous().view(size=(1, *x.shape))
x.contiguous().reshape(shape=(1, 3, -1, x.shape[2]))
torch.reshape(input=x.contiguous(), shape=(*x.shape, 1))
torch.reshape(x.contiguous(), shape=x.shape)
x.clamp(min=10, max=99)
x.clamp(max=10)
torch.clamp(input=x, min=3)
torch.clip(x, max=3, min=1)
x.clamp_(min=3)
x.clamp_max(max=9)
torch.clamp_min(x, min=9)
x.clamp(min=x)
x.clip_(min=3, max=7)
x.add(other=1)
x.add(other=x, alpha=2)
torch.mul(input=x, other=x)
torch.div(x, other=255)
x.mul_(other=2)
x.float().div_(other=255)
x.float().sub_(other=1, alpha=2)
x.eq(other=3)
x.masked_fill(mask=x > 3, value=0)
x.masked_fill_(value=1, mask=x > 3)
torch.floor(input=x.float())
torch.where(condition=x > 3, input=x, other=0)
torch.where(x > 3, input=x, other=x)
torch.clone(input=x)
torch.stack(tensors=[x, x])
torch.stack([x, x], dim=0)
torch.stack([x, x], axis=0)
torch.cat(tensors=[x[None], x[None]], dim=0)
torch.cat([x[None]] * 2, axis=0)
x.to(dtype=torch.float32)
"""
# Something in these needs the numbers, or is not recorded, or is an error.
REAL_NUMPY = """
np.squeeze(x, axis=0)
np.squeeze(x, 2)
x.squeeze(axis=(0, 0))
np.flip(x, axis=5)
np.transpose(x, axes=(0, 1))
np.clip(x, 10, 99, out=x)
np.clip(x, 10, 99, x)
x.clip(10, 99, x)
x.clip(10, out=x)
np.clip(x, min=x - 1)
np.clip(x, a_min=1, max=3)
np.clip(x, min=[1, 2, 3])
np.clip(x, no=1)
np.stack([x, x], axis=-1)
np.stack([x, x], dtype=np.float32)
np.stack([x, x], out=np.empty((2, *x.shape), 'u1'))
np.add(x, 1, out=x, where=x > 3)
np.sum(x, axis=0)
x.sum(axis=-1)
np.mean(a=x, axis=(0, 1))
np.flip(x, axis=1, no=2)
np.size(x, axis=0)
np.asarray(x, None, 'C')
np.array(object=x)
np.pad(x, pad_width=((1, 1), (0, 0), (0, 0)), mode='edge')
x.real
x[0, 0, 0]
x[0, 0][1]
{x[0, 0, 0]: 1}
x == None
x == object
np.real(val=x)
np.flip(x, axis=(0, -3))
"""
REAL_TORCH = """
x.sum(dim=0)
x.float().mean(dim=(1, 2), keepdim=True)
torch.amax(x, dim=0)
x.max(dim=0)[0]
x.view(dtype=torch.int8)
x.unsqueeze(dim=9)
x.unsqueeze(no=1)
x.permute(dims=(0, 1))
x.clamp()
x.transpose(dim0=0)
x.permute(0, dims=(1, 2))
x.squeeze(dim=None)
x.flip(dims=(0, 0))
torch.add(x, 1, out=torch.empty(0, dtype=torch.uint8))
torch.add(x, 1, out=x)
x.flip(dims=(0, -3))
x[:1].flip(dims=(0, 0))
x.clamp(max=x - 1)
torch.stack([x, x], dim=1)
torch.cat([x, x], axis=-1)
x.where(condition=x > 3, other=x)
torch.stack([x, x], out=torch.empty(2, *x.shape, dtype=x.dtype))
x == None
x == object
x.clone(no=1)
x.to(device='cpu', dtype=torch.float32)
x.float(memory_format=torch.preserve_format)
x.numpy(force=True)
F.resize(x, [5, 6], antialias=True)
F.pad(x, [1, 2])
F.rotate(x, angle=10, expand=True)
x[None].squeeze(dim=(0, -4))
"""


def array(path: str) -> Any:
    return np.array(Image.open(path).convert("RGB"))


def tensor(path: str) -> Any:
    return F.pil_to_tensor(Image.open(path).convert("RGB"))


def said(opened: Any, call: str, path: str) -> Any:
    """What a call gives and what it leaves of its argument, or how it fails."""
    x = opened(path)
    try:
        return eval(call, {"x": x, "np": np, "torch": torch, "F": F}), x
    except (TypeError, ValueError, RuntimeError, IndexError) as error:
        return type(error), str(error)


@pytest.mark.parametrize(("opened", "calls"), [(array, NATIVE_NUMPY), (tensor, NATIVE_TORCH)], ids=["numpy", "torch"])
def test_what_is_recorded_is_so_however_it_is_spelled(run: Any, jpeg: str, opened: Any, calls: str) -> None:
    for call in calls.split("\n")[1:-1]:
        want = said(opened, call, jpeg)
        got, made, reasons = run(said, opened, call, jpeg)
        assert difference(want, got) is None, call
        assert made and not reasons, (call, reasons)


@pytest.mark.parametrize(("opened", "calls"), [(array, REAL_NUMPY), (tensor, REAL_TORCH)], ids=["numpy", "torch"])
def test_what_is_not_recorded_is_numpy_s_and_torch_s(run: Any, jpeg: str, opened: Any, calls: str) -> None:
    for call in calls.split("\n")[1:-1]:
        want = said(opened, call, jpeg)
        got, _, reasons = run(said, opened, call, jpeg)
        assert difference(want, got) is None, call
        assert reasons or isinstance(want[0], type), call  # errors may be found before a stand-in is


class Photos(data.Dataset[Any]):
    """Transforms of tensors as torchvision's first version has them: it unsqueezes by keyword."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __len__(self) -> int:
        return 24

    def __getitem__(self, i: int) -> Any:
        resized = F.resize(F.to_tensor(Image.open(self.path).convert("RGB")), [8, 9], antialias=True)
        return np.flip(array(self.path), axis=i % 2).copy(), F.pad(resized, [1, 2])


def test_keywords_do_not_end_tracing(jpeg: str) -> None:
    want = list(data.DataLoader(Photos(jpeg), 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loader = goloader.DataLoader(Photos(jpeg), 4)
        assert difference(want, list(loader)) is None
    assert door.record(loader).on and door.record(loader).samples
