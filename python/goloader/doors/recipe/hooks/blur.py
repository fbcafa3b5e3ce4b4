"""torchvision's gaussian_blur, v1 and v2: images, and the step for tensors too."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from .... import _steps
from ....adapters.torch import convolves_plainly
from .. import switch
from ..stand_ins.image import StandInImage, derive, is_plain
from .swap import recorder


def hook(module: Any) -> Callable[..., Any]:
    """In front of a gaussian_blur of PIL images, whose weights of one axis the module makes."""
    return recorder(partial(_of_image, module))


def _of_image(module: Any, original: Any, img: Any, kernel_size: Any, sigma: Any) -> StandInImage | None:
    step = blur_step(module, kernel_size, sigma, img.size, img.mode) if is_plain(img) else None
    if step is None:
        return None
    return derive(img, original, (kept(kernel_size), kept(sigma)), (step,), img.size, img.mode)


def kept(value: Any) -> Any:
    """An argument, which its owner may change."""
    return list(value) if isinstance(value, (list, tuple)) else value


def blur_step(module: Any, kernel_size: Any, sigma: Any, size: tuple[int, int], mode: str) -> bytes | None:
    """What gaussian_blur does to bytes; None where torchvision raises, or where torch adds in an order of its own."""
    counts, sigmas = _pair(kernel_size), _pair(sigma)
    if counts is None or not all(type(n) is int and n % 2 == 1 and 0 < n <= _steps.TAPS_MAX for n in counts):
        return None
    if sigma is None:
        sigmas = (counts[0] * 0.15 + 0.35, counts[1] * 0.15 + 0.35)
    if sigmas is None or not all(type(each) in (int, float) and each > 0 for each in sigmas):
        return None
    if counts[0] // 2 >= size[0] or counts[1] // 2 >= size[1] or (mode == "L" and min(counts) <= 3):
        return None
    if not convolves_plainly() or not switch.holds("torch.convolve"):
        return None
    with switch.off():
        weights, cpu = module._get_gaussian_kernel1d, torch.device("cpu")
        across = weights(counts[0], sigmas[0], torch.float32, cpu).tolist()
        same = (counts[0], sigmas[0]) == (counts[1], sigmas[1])
        down = across if same else weights(counts[1], sigmas[1], torch.float32, cpu).tolist()
    return _steps.convolve(across, down) if all(0 <= weight <= 1 for weight in (*across, *down)) else None


def _pair(value: Any) -> tuple[Any, Any] | None:
    if type(value) in (int, float):
        return value, value
    values = tuple(value) if type(value) in (list, tuple) else ()
    return values if len(values) == 2 else None
