"""torchvision's RandomErasing, lowered: what it draws, and what it fills with.

The rest of the pipeline makes of the filled numbers what it makes of all others, so a rectangle has a table as the
whole image has, only that all its entries are alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch

from ... import transforms as T
from ...selfcheck import value
from .augments import Pixels, below

PATCHES_MAX = 8  # GL_PATCHES_MAX in core/op/op.h


@dataclass(frozen=True)
class RandomErasing(T.Geometry):
    """A rectangle that goes by another of the tables, nothing that moves pixels may follow; or, over numbers, is set.

    p, scale, log_ratio  what is drawn, as for RandomResizedCrop
    table                which of the tables; 0 over numbers
    noise                over numbers, how what it is set to is drawn; empty for a fill
    """

    op: ClassVar[str] = "random_erasing"
    random: ClassVar[bool] = True
    passes: ClassVar[int] = 0
    p: float
    scale: tuple[float, float]
    log_ratio: tuple[float, float]
    table: int
    noise: str = ""

    def needs(self) -> tuple[str, ...]:
        return "torch.rand", "torch.uniform", "torch.randint", *(["torch.randn"] if self.noise else [])


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


def read(api: T.Api, each: Any, pixels: Pixels, table: int) -> RandomErasing:
    """What it draws; `table` is the number of what it erases with."""
    is_noise = each.value is None or isinstance(each.value, str)
    numbers = each.value if isinstance(each.value, (list, tuple)) else () if is_noise else (each.value,)
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
    made = RandomErasing(below(each.p), (float(low), float(high)), (narrow, wide), table)
    if not is_noise:
        return made
    if _numbers_min(made, pixels) < _NORMALS_MIN:
        raise ValueError("it draws noise for few pixels, whose normal_ is another, or for images of sizes not known")
    return replace(made, table=0, noise="torch.randn.avx2" if value("torch.randn") == "avx2" else "torch.randn")


_NORMALS_MIN = 16  # GL_NOISE_NORMALS_MIN in core/rng/noise.h


def _numbers_min(step: RandomErasing, pixels: Pixels) -> float:
    """So many numbers at least are in a rectangle that has any."""
    if pixels.size is None:
        return 0
    area = pixels.size[0] * pixels.size[1] * step.scale[0] * (1 - 1e-6)
    sides = [math.sqrt(area * ratio) for ratio in map(math.exp, (*step.log_ratio, *(-log for log in step.log_ratio)))]
    # Each side is rounded: the shortest by the most.
    short = min(sides) - 0.5001
    return pixels.channels * short * (area / min(sides) - 0.5001) if short > 0 else 0
