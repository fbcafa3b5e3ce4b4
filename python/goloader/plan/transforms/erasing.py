"""torchvision's RandomErasing, lowered: what it draws, and what it fills with.

The rest of the pipeline makes of the filled numbers what it makes of all others, so a rectangle has a table as the
whole image has, only that all its entries are alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from ... import transforms as T
from .augments import Pixels, below

PATCHES_MAX = 8  # GL_PATCHES_MAX in core/op/op.h


@dataclass(frozen=True)
class RandomErasing(T.Geometry):
    """A rectangle that goes by another of the tables; nothing may follow it that moves pixels.

    p, scale, log_ratio  what is drawn, as for RandomResizedCrop
    table                which of the tables
    """

    op: ClassVar[str] = "random_erasing"
    random: ClassVar[bool] = True
    passes: ClassVar[int] = 0
    p: float
    scale: tuple[float, float]
    log_ratio: tuple[float, float]
    table: int

    def needs(self) -> tuple[str, ...]:
        return "torch.rand", "torch.uniform", "torch.randint"


class Filled:
    """What RandomErasing makes of pixels that it erases: a function of a tensor [channels, height, width]."""

    def __init__(self, each: Any) -> None:
        self.value = each.value

    def __call__(self, image: torch.Tensor) -> torch.Tensor:
        """Raises ValueError for numbers that the type of images cannot hold: processors differ in what they become."""
        values = list(self.value) if isinstance(self.value, (list, tuple)) else [self.value]
        if len(values) not in (1, image.shape[-3]):
            raise ValueError(f"value has {len(values)} numbers for {image.shape[-3]} channels")
        if not image.is_floating_point() and not all(0 <= value <= 255 for value in values):
            raise ValueError(f"{image.dtype} does not hold value={self.value!r}")
        filled = image.clone()
        filled[...] = torch.tensor([float(value) for value in values])[:, None, None]
        return filled


def read(api: T.Api, each: Any, _: Pixels, table: int) -> RandomErasing:
    """What it draws; `table` is the number of what it erases with."""
    if each.value is None or isinstance(each.value, str):
        raise ValueError("it draws noise by normal_, whose numbers depend on the processor")
    numbers = each.value if isinstance(each.value, (list, tuple)) else (each.value,)
    if not all(type(number) in (int, float) for number in (*numbers, each.p, *each.scale, *each.ratio)):
        raise TypeError(f"p={each.p!r}, scale={each.scale!r}, ratio={each.ratio!r}, value={each.value!r} are not plain")
    low, high = each.scale
    # v1 takes the logarithm at each draw, v2 once when it is made.
    logs = torch.log(torch.tensor(each.ratio)) if api == "v1" else each._log_ratio
    narrow, wide = logs.tolist()
    if not 0 <= low <= high <= 1 or not -T.LOG_RATIO_MAX <= narrow <= wide <= T.LOG_RATIO_MAX:
        raise ValueError(f"scale is {each.scale!r}, ratio {each.ratio!r}")
    if logs.dtype != torch.float32:
        raise TypeError(f"the logarithm of ratio is {logs.dtype}")
    return RandomErasing(below(each.p), (float(low), float(high)), (narrow, wide), table)
