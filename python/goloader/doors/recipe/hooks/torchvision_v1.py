"""torchvision.transforms.functional: from images to tensors, and what is done to these; its PIL helpers.

Most need no hooks: torchvision calls the image's own methods, or functions of Pillow that have hooks. Two have some to
do the same with less Python, since nearly all training calls them: RandomResizedCrop.get_params and resized_crop.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any

import numpy as np
import torch
from torchvision import utils
from torchvision.transforms import (
    Compose,
    InterpolationMode,
    RandomResizedCrop,
    _functional_pil,
    _functional_tensor,
    functional,
)

from .... import _steps
from ....plan.transforms.torchvision import known_classes
from .. import chains, switch
from ..recipe import ONE_CHANNEL
from ..stand_ins.image import StandInImage, become_real, derive, is_movable, is_plain, recipe_of
from ..stand_ins.tensor import StandInTensor, made_of, record_function
from ..stand_ins.value import of_image
from . import blur
from .pillow import from_array, record_border
from .swap import Hook, recorder
from .tensors import by_grid


def hooks() -> tuple[Hook, ...]:
    return (
        Hook(functional, "to_tensor", recorder(partial(_to_tensor, "to_tensor"))),
        Hook(functional, "pil_to_tensor", recorder(partial(_to_tensor, "pil_to_tensor"))),
        Hook(functional, "convert_image_dtype", _convert_image_dtype),
        Hook(functional, "normalize", _normalize),
        Hook(_functional_pil, "pad", _pad),
        Hook(_functional_pil, "to_grayscale", _to_grayscale),
        Hook(_functional_pil, "adjust_hue", _adjust_hue),
        Hook(utils, "_Image_fromarray", from_array),  # to_pil_image's
        Hook(RandomResizedCrop, "get_params", _get_params),
        Hook(functional, "resized_crop", _resized_crop),
        Hook(functional, "gaussian_blur", blur.hook(_functional_tensor)),
        *(Hook(_functional_tensor, name, _by_matrix) for name in ("affine", "rotate", "perspective")),
        Hook(Compose, "__call__", partial(chains.call, Compose), known_classes("v1"), ("forward",)),
    )


def _to_tensor(name: str, original: Any, pic: Any) -> StandInTensor | None:
    if switch.current() is None or type(pic) is not StandInImage:
        return None
    made = None
    if is_movable(pic, 0):
        dims = "_hw" if pic.mode in ONE_CHANNEL else "chw"
        made = made_of(of_image(recipe_of(pic), (name, torch.get_default_dtype()), original, dims))
    if made is None:
        become_real(pic, name)
    return made


@recorder
def _convert_image_dtype(original: Any, image: Any, dtype: Any) -> StandInTensor | None:
    if not isinstance(image, StandInTensor) or not isinstance(dtype, torch.dtype):
        return None
    return image if image.dtype == dtype else record_function("convert_image_dtype", original, (image, dtype))


@recorder
def _normalize(original: Any, tensor: Any, mean: Any, std: Any, inplace: Any) -> StandInTensor | None:
    if not isinstance(tensor, StandInTensor):
        return None
    return record_function("normalize", original, (tensor, _listed(mean), _listed(std), inplace), bool(inplace))


@recorder
def _by_matrix(original: Any, img: Any, matrix: Any, interpolation: Any, *more: Any) -> StandInTensor | None:
    """affine or perspective of a tensor, or rotate, which may expand it; the last argument is the fill."""
    *expand, fill = map(blur.kept, more)
    numbers = blur.kept(matrix)
    if type(numbers) is not list or len(numbers) not in (6, 8) or expand not in ([], [False]):
        return None
    if not all(type(number) in (int, float) for number in numbers):
        return None
    given = (numbers, interpolation, *expand, fill)
    return by_grid("v1", original, img, given, interpolation, fill, lambda _: numbers)


def _listed(values: Any) -> Any:
    """torchvision makes the same tensor of a tuple and of a list, of 1 and of 1.0."""
    if type(values) in (int, float):
        return float(values)
    if isinstance(values, (list, tuple)) and all(type(value) in (int, float) for value in values):
        return list(map(float, values))
    return values


@recorder
def _pad(original: Any, img: Any, padding: Any, fill: Any, padding_mode: Any) -> StandInImage | None:
    if type(img) is not StandInImage:
        return None
    made = None
    sides = padding[0] if isinstance(padding, (list, tuple)) and len(padding) == 1 else padding
    color = _color(fill, img) if padding_mode == "constant" else 0
    if color is not None and padding_mode in ("constant", "edge", "reflect", "symmetric"):
        made = record_border(img, original, (padding, fill, padding_mode), sides, padding_mode, color)
    if made is None:
        become_real(img, "pad")
    return made


def _color(fill: Any, image: StandInImage) -> Any:
    """The colour that torchvision hands to Pillow; None if that is unclear, or an error."""
    values = (0 if fill is None else fill,) if not isinstance(fill, (list, tuple)) else fill
    if not all(type(value) in (int, float) for value in values):
        return None
    channels = len(image.getbands())
    if len(values) == 1:
        values = tuple(values) * channels
    return tuple(int(value) for value in values) if len(values) == channels else None


@recorder
def _adjust_hue(original: Any, img: Any, hue_factor: Any) -> StandInImage | None:
    known = type(hue_factor) in (int, float) and -0.5 <= hue_factor <= 0.5
    if not known or not is_plain(img) or img.mode != "RGB":
        return None
    shift = int(np.int32(hue_factor * 255).astype(np.uint8))
    return derive(img, original, (hue_factor,), (_steps.hue(shift),), img.size, "RGB")


@recorder
def _to_grayscale(original: Any, img: Any, num_output_channels: Any) -> StandInImage | None:
    if not is_plain(img) or num_output_channels not in (1, 3):
        return None
    steps = () if img.mode == "L" and num_output_channels == 1 else (_steps.grayscale(num_output_channels),)
    mode = "L" if num_output_channels == 1 else "RGB"
    return derive(img, original, (num_output_channels,), steps, img.size, mode)


@recorder
def _get_params(original: Any, img: Any, scale: Any, ratio: Any) -> tuple[Any, ...] | None:
    if type(img) is not StandInImage or not (_is_range(scale) and _is_range(ratio)):
        return None
    width, height = img.size
    area = height * width
    low, high = _logarithms(*ratio, torch.get_default_dtype())
    number = torch.empty(1)
    for _ in range(10):
        target_area = area * number.uniform_(scale[0], scale[1]).item()
        aspect_ratio = torch.exp(number.uniform_(low, high)).item()
        w = round(math.sqrt(target_area * aspect_ratio))
        h = round(math.sqrt(target_area / aspect_ratio))
        if 0 < w <= width and 0 < h <= height:
            top = torch.randint(0, height - h + 1, size=(1,)).item()
            left = torch.randint(0, width - w + 1, size=(1,)).item()
            return top, left, h, w
    narrowest, widest = min(ratio), max(ratio)
    w, h = width, height
    if width / height < narrowest:
        h = round(w / narrowest)
    elif width / height > widest:
        w = round(h * widest)
    return (height - h) // 2, (width - w) // 2, h, w


@lru_cache(maxsize=64)
def _logarithms(low: float, high: float, dtype: torch.dtype) -> tuple[float, float]:
    """torch's, of numbers of the default dtype."""
    with switch.off():
        first, second = torch.log(torch.tensor((low, high), dtype=dtype)).tolist()
    return first, second


def _is_range(values: Any) -> bool:
    return type(values) in (tuple, list) and len(values) == 2 and all(type(value) in (int, float) for value in values)


@recorder
def _resized_crop(
    original: Any,
    img: Any,
    top: Any,
    left: Any,
    height: Any,
    width: Any,
    size: Any,
    interpolation: Any,
    antialias: Any,
) -> Any:
    if (
        type(img) is not StandInImage
        or antialias is False  # it warns
        or type(size) not in (tuple, list)
        or len(size) != 2
        or not all(type(number) is int for number in (top, left, height, width, *size))
        or type(interpolation) is not InterpolationMode
    ):
        return None
    cropped = img.crop((left, top, left + width, top + height))
    if (height, width) == tuple(size):
        return cropped
    return cropped.resize((size[1], size[0]), functional.pil_modes_mapping[interpolation])
