"""torchvision.transforms.functional: from images to tensors, and what is done to these; its PIL helpers.

Most need no hooks: torchvision calls the image's own methods, or functions of Pillow that have hooks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torchvision.transforms import _functional_pil, functional

from .. import recipe, switch
from .. import tail as tails
from ..image import StandInImage, become_real, derive, is_plain, recipe_of
from ..tensor import StandInTensor, over, record_function
from ..value import Memory, layout_of, of_image
from .pillow import record_border
from .swap import Swap

__all__ = ["swaps"]


def swaps() -> tuple[Swap, ...]:
    """What is hooked of torchvision."""
    return (
        Swap(functional.to_tensor, _tensor_maker("to_tensor")),
        Swap(functional.pil_to_tensor, _tensor_maker("pil_to_tensor")),
        Swap(functional.convert_image_dtype, _convert_image_dtype),
        Swap(functional.normalize, _normalize),
        Swap(_functional_pil.pad, _pad),
        Swap(_functional_pil.to_grayscale, _to_grayscale),
        Swap(_functional_pil.adjust_hue, _adjust_hue),
    )


def _tensor_maker(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def to_tensor(pic: Any) -> Any:
            session = switch.current()
            if session is not None and type(pic) is StandInImage:
                if is_plain(pic, 0):
                    channels, dims = (3, "chw") if pic.mode == "RGB" else (1, "_hw")
                    followed = tails.first((name, torch.get_default_dtype()), original, channels, dims)
                    if followed is not None:
                        image = recipe_of(pic)
                        value = of_image(image, followed, lambda: original(image.carry_out()))
                        shape = (channels, pic.height, pic.width)
                        return over(Memory(value, session), layout_of(followed, shape, dims))
                become_real(pic, name)
            return original(pic)

        return to_tensor

    return make


def _convert_image_dtype(original: Callable[..., Any]) -> Callable[..., Any]:
    def convert_image_dtype(image: Any, dtype: Any) -> Any:
        if switch.current() is not None and type(image) is StandInTensor and isinstance(dtype, torch.dtype):
            if image.dtype == dtype:
                return image
            made = record_function("convert_image_dtype", original, (image, dtype))
            if made is not None:
                return made
        return original(image, dtype)

    return convert_image_dtype


def _normalize(original: Callable[..., Any]) -> Callable[..., Any]:
    def normalize(tensor: Any, mean: Any, std: Any, inplace: Any) -> Any:
        if switch.current() is not None and type(tensor) is StandInTensor:
            mean, std = _listed(mean), _listed(std)
            made = record_function("normalize", original, (tensor, mean, std, inplace), bool(inplace))
            if made is not None:
                return made
        return original(tensor, mean, std, inplace)

    return normalize


def _listed(values: Any) -> Any:
    """torchvision makes the same tensor of a tuple and of a list, of 1 and of 1.0."""
    if type(values) in (int, float):
        return float(values)
    if isinstance(values, (list, tuple)) and all(type(value) in (int, float) for value in values):
        return list(map(float, values))
    return values


def _pad(original: Callable[..., Any]) -> Callable[..., Any]:
    def pad(img: Any, padding: Any, fill: Any, padding_mode: Any) -> Any:
        if switch.current() is not None and type(img) is StandInImage:
            sides = padding[0] if isinstance(padding, (list, tuple)) and len(padding) == 1 else padding
            color = _color(fill, img) if padding_mode == "constant" else 0
            if color is not None and padding_mode in ("constant", "edge", "reflect", "symmetric"):
                arguments = (padding, fill, padding_mode)
                made = record_border(img, original, arguments, sides, padding_mode, color)
                if made is not None:
                    return made
            become_real(img, "pad")
        return original(img, padding, fill, padding_mode)

    return pad


def _color(fill: Any, image: StandInImage) -> Any:
    """The colour that torchvision hands to Pillow; None if that is unclear, or an error."""
    values = (0 if fill is None else fill,) if not isinstance(fill, (list, tuple)) else fill
    if not all(type(value) in (int, float) for value in values):
        return None
    channels = len(image.getbands())
    if len(values) == 1:
        values = tuple(values) * channels
    return tuple(int(value) for value in values) if len(values) == channels else None


def _adjust_hue(original: Callable[..., Any]) -> Callable[..., Any]:
    def adjust_hue(img: Any, hue_factor: Any) -> Any:
        known = type(hue_factor) in (int, float) and -0.5 <= hue_factor <= 0.5
        if switch.current() is not None and known and is_plain(img) and img.mode == "RGB":
            shift = int(np.int32(hue_factor * 255).astype(np.uint8))
            return derive(img, original, (hue_factor,), (recipe.hue(shift),), img.size, "RGB")
        return original(img, hue_factor)

    return adjust_hue


def _to_grayscale(original: Callable[..., Any]) -> Callable[..., Any]:
    def to_grayscale(img: Any, num_output_channels: Any) -> Any:
        if switch.current() is not None and is_plain(img) and num_output_channels in (1, 3):
            steps = () if img.mode == "L" and num_output_channels == 1 else (recipe.grayscale(num_output_channels),)
            mode = "L" if num_output_channels == 1 else "RGB"
            return derive(img, original, (num_output_channels,), steps, img.size, mode)
        return original(img, num_output_channels)

    return to_grayscale
