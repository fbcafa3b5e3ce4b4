"""torchvision's tensors of bytes: what its functions make of a stand-in for one, and what a grid makes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from PIL import Image

from .... import _steps
from ....plan.datasets.reads.readers import as_tensor
from .. import switch
from ..recipe import STEPS_MAX, Recipe
from ..stand_ins.tensor import StandInTensor, bytes_of, made_of
from ..stand_ins.value import of_image


def tensor_of(made: Recipe, order: str) -> StandInTensor | None:
    """The tensor of a recipe whose carry_out gives one; `order` says how it lies in memory."""
    function = channels_last if order == "hwc" else contiguous
    return made_of(of_image(made, ("torchvision", order), function, "chw" if made.mode == "RGB" else "_hw"))


def channels_last(pixels: Any) -> torch.Tensor:
    """A tensor [channels, height, width] in the order of an image's bytes, of a PIL image or of such a tensor."""
    if isinstance(pixels, Image.Image):
        return as_tensor(pixels)
    made: torch.Tensor = pixels.permute(1, 2, 0).clone(memory_format=torch.contiguous_format)
    return made.permute(2, 0, 1)


def contiguous(pixels: Any) -> torch.Tensor:
    """The same, channel by channel."""
    tensor = channels_last(pixels) if isinstance(pixels, Image.Image) else pixels
    return tensor.clone(memory_format=torch.contiguous_format)


_BILINEAR = {"nearest": False, "bilinear": True}
_MATRIX_MAX = 1e30


def by_grid(
    api: str,
    original: Callable[..., Any],
    image: Any,
    given: tuple[Any, ...],
    interpolation: Any,
    fill: Any,
    matrix: Callable[[tuple[int, int]], Sequence[float]],
) -> StandInTensor | None:
    """What an affine or perspective transform makes of a tensor; None where it is not known.

    given   the function's arguments behind the image
    matrix  its numbers for an image of a size (width, height)
    """
    shown = bytes_of(image)
    bilinear = _BILINEAR.get(getattr(interpolation, "value", interpolation))
    if shown is None or len(shown.steps) >= STEPS_MAX or min(shown.size) < 2 or bilinear is None:
        return None
    values = [] if fill is None else list(fill) if isinstance(fill, (list, tuple)) else [fill]
    of_bytes = all(type(number) in (int, float) and number in range(256) for number in values)
    if not of_bytes or (fill is not None and len(values) not in (1, 3 if shown.mode == "RGB" else 1)):
        return None
    fused = switch.value("torch.grid")
    if (
        fused is None
        or torch.get_default_dtype() != torch.float32
        or not switch.holds(f"torchvision.tensor.affine.{api}")
    ):
        return None
    numbers = [float(number) for number in matrix(shown.size)]
    if not all(abs(number) < _MATRIX_MAX for number in numbers):
        return None
    step = _steps.torch_transform(numbers, bilinear, fused, api, None if fill is None else list(map(int, values)))
    return tensor_of(shown.then(original, given, (step,), shown.size, shown.mode), "chw")
