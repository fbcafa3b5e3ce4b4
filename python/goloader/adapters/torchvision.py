"""What torchvision keeps private, from 0.19 on: how its MixUp and CutMix change a batch. Import it where they are used.

Both make tensors as large as the batch. The classes here change images in the memory that they lie in, and leave all
else to torchvision: draws, labels and errors.
"""

from __future__ import annotations

from typing import Any

import torch
from torchvision.transforms import v2

# Before 0.21 it was private.
METHOD = "transform" if "transform" in vars(v2.MixUp) else "_transform"


class MixUp(v2.MixUp):  # type: ignore[misc]
    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if not _fits(inpt, params) or not inpt.is_floating_point():
            return _of(v2.MixUp, self, inpt, params)
        # images.roll(1, 0).mul_(1.0 - lam).add_(images.mul(lam)), from the last image to the first
        images, lam = inpt.unbind(), params["lam"]
        last, share = images[-1].clone(), torch.empty_like(images[-1])
        for image, before in zip(reversed(images), (*reversed(images[:-1]), last), strict=True):
            torch.mul(before, 1.0 - lam, out=share)
            torch.add(share, image.mul_(lam), out=image)
        return inpt


class CutMix(v2.CutMix):  # type: ignore[misc]
    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if not _fits(inpt, params):
            return _of(v2.CutMix, self, inpt, params)
        x1, y1, x2, y2 = params["box"]
        box = inpt[..., y1:y2, x1:x2]
        box.copy_(box.roll(1, 0))
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
    numbers = torch.linspace(-3, 7, 5 * 3 * 9 * 11).reshape(5, 3, 9, 11)
    batches = [numbers[:count].to(dtype) for count in (1, 5) for dtype in (torch.float32, torch.float64)]
    for ours, theirs, chosen in (
        (MixUp, v2.MixUp, [{"lam": lam} for lam in (0.0, 0.3, 0.7213, 1.0)]),
        (CutMix, v2.CutMix, [{"box": box, "lam_adjusted": 0.5} for box in ((0, 0, 11, 9), (2, 3, 9, 4), (4, 4, 4, 7))]),
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
