"""What torchvision keeps private, from 0.19 on: how its MixUp and CutMix change a batch. Import it where they are used.

Both make tensors as large as the batch. With the classes here the core changes images in the memory that they lie in,
and all else is left to torchvision: draws, labels and errors.
"""

from __future__ import annotations

from ctypes import c_int64
from typing import Any

import torch
from torchvision.transforms import v2

from .. import _native

# Before 0.21 it was private.
METHOD = "transform" if "transform" in vars(v2.MixUp) else "_transform"


class MixUp(v2.MixUp):  # type: ignore[misc]
    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if not _fits(inpt, params) or inpt.dtype not in (torch.float32, torch.float64):
            return _of(v2.MixUp, self, inpt, params)
        lib, count = _native.own_library(), len(inpt)
        wide = inpt.dtype == torch.float64
        lib.call(lib.gl_mix_up, inpt.data_ptr(), count, inpt.numel() // count, wide, params["lam"])
        return inpt


class CutMix(v2.CutMix):  # type: ignore[misc]
    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if not _fits(inpt, params):
            return _of(v2.CutMix, self, inpt, params)
        lib, sides = _native.own_library(), (c_int64 * 4)
        lib.call(lib.gl_cut_mix, inpt.data_ptr(), sides(*inpt.shape), inpt.element_size(), sides(*params["box"]))
        return inpt


for _kind in (MixUp, CutMix):
    setattr(_kind, METHOD, _kind.transform)


def _fits(inpt: Any, params: dict[str, Any]) -> bool:
    """Whether it is a batch of images whose memory a result of torchvision's would have the layout of."""
    return (
        inpt is not params["labels"]
        and type(inpt) is torch.Tensor
        and inpt.shape[:1] == (params["batch_size"],)
        and inpt.ndim == 4
        and inpt.numel() > 0
        and inpt.is_contiguous()
        and not inpt.requires_grad
    )


def _of(kind: Any, transform: Any, inpt: Any, params: dict[str, Any]) -> Any:
    return getattr(kind, METHOD)(transform, inpt, params)


def mixes_alike() -> bool:
    """Whether what is made in place has the bits that torchvision's own have."""
    numbers = torch.linspace(-3, 7, 5 * 3 * 19 * 23).reshape(5, 3, 19, 23)
    batches = [numbers[:count].to(dtype) for count in (1, 5) for dtype in (torch.float32, torch.float64)]
    for ours, theirs, chosen in (
        (MixUp, v2.MixUp, [{"lam": lam} for lam in (0.0, 0.3, 0.7213, 1.0)]),
        (
            CutMix,
            v2.CutMix,
            [{"box": box, "lam_adjusted": 0.5} for box in ((0, 0, 23, 19), (2, 3, 9, 4), (4, 4, 4, 7))],
        ),
    ):
        for params in chosen:
            for batch in batches:
                about = {**params, "labels": torch.zeros(len(batch)), "batch_size": len(batch)}
                given = batch.clone()
                want = _of(theirs, theirs(num_classes=2), batch, about)
                made = _of(ours, ours(num_classes=2), given, about)
                if made is not given or made.dtype != want.dtype or made.stride() != want.stride():
                    return False
                if not torch.equal(made.view(torch.uint8), want.contiguous().view(torch.uint8)):
                    return False
    return True
