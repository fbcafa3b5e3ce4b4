"""Masks that are laid on images: real arrays that hold one number but for a rectangle of another, as Cutout's do.

What a function makes of an image and a mask is what it makes with the one number, and in the rectangle with the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from .constant import Constant
from .patch import cut
from .value import Noted, Recorded, View, pasted, record, see


def record_masked(arguments: Sequence[Any], note: Callable[[Sequence[Any]], Noted | None]) -> Recorded | None:
    """Records a function of stand-ins, numbers and one mask; None if it cannot be.

    note  notes the function with other arguments
    """
    places = [at for at, each in enumerate(arguments) if type(each) in (torch.Tensor, np.ndarray)]
    if len(places) != 1:
        return None
    (at,) = places
    mask = arguments[at]
    if mask.ndim < 2 or not _is_plain(mask):
        return None
    array = mask if type(mask) is np.ndarray else mask.numpy()

    def noted_with(number: Any) -> Noted | None:
        value = number if type(mask) is np.ndarray else torch.from_numpy(number)
        return note([*arguments[:at], value, *arguments[at + 1 :]])

    noted = noted_with(array[(slice(1),) * array.ndim].copy())
    plane = None if noted is None else _plane(noted.views[0], array)
    found = None if plane is None else cut(plane)
    # Whoever gave the mask may write into it later.
    kept = Constant(None, mask.copy() if type(mask) is np.ndarray else mask.clone())
    whole = note([*arguments[:at], kept, *arguments[at + 1 :]])
    if found is None or whole is None:
        return None
    made: list[Recorded] = []
    for number in (found.outside, found.inside):
        noted = noted_with(number.reshape((1,) * array.ndim).copy())
        recorded = None if noted is None else record(noted)
        if recorded is None:
            return None
        made.append(recorded)
    outside, inside = made
    return pasted(outside, inside, found.place, whole)


def _is_plain(mask: Any) -> bool:
    if type(mask) is np.ndarray:
        return not mask.dtype.hasobject
    dense = mask.device.type == "cpu" and mask.layout == torch.strided
    return dense and not mask.requires_grad and mask.dtype != torch.bfloat16  # numpy has none


def _plane(view: View, mask: Any) -> Any:
    """The numbers [height, width] that a mask has at the pixels of a view, if they are the same in all channels."""
    seen = see(*view)
    more = len(view[1].shape) - mask.ndim
    if seen is None or more < 0:
        return None
    dims, shape = seen.pattern.dims[more:], view[1].shape[more:]
    if "h" not in dims or "w" not in dims or mask.itemsize not in (1, 2, 4, 8):
        return None
    for length, full, letter in zip(mask.shape, shape, dims, strict=True):
        if length != full and (length != 1 or letter in "hw"):
            return None
    first = tuple(slice(None) if letter in "hw" else slice(1) for letter in dims)
    bits = mask.view(f"u{mask.itemsize}")
    if not (bits == bits[first]).all():
        return None
    plane = mask[tuple(slice(None) if letter in "hw" else 0 for letter in dims)]
    return plane if dims.index("h") < dims.index("w") else plane.T
