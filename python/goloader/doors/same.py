"""Whether two batches are the same, bit for bit, and where they first differ."""

from __future__ import annotations

import collections.abc
from typing import Any

import numpy as np
import torch
from PIL import Image


def difference(eager: Any, traced: Any, place: str = "the batch") -> str | None:
    """What differs, for a person; None if nothing does. Unknown types are compared with ==, where they can.

    Raises whatever a user's types raise on the way, RecursionError for what refers to itself.
    """
    if type(eager) is not type(traced):
        return f"{place} is a {type(traced).__name__}, not a {type(eager).__name__}"
    if isinstance(eager, torch.Tensor):
        return _tensors(eager, traced, place)
    if isinstance(eager, np.ndarray):
        if (eager.dtype, eager.shape) != (traced.dtype, traced.shape):
            return f"{place} is {traced.dtype}{traced.shape}, not {eager.dtype}{eager.shape}"
        if eager.dtype == object:
            return _items(enumerate(eager.flat), traced.flat, place)
        return None if eager.tobytes() == traced.tobytes() else f"{place} has other values"
    if isinstance(eager, Image.Image):
        same = eager.mode == traced.mode and eager.size == traced.size and eager.tobytes() == traced.tobytes()
        return None if same else f"{place} is another image"
    if isinstance(eager, collections.abc.Mapping):
        if list(eager) != list(traced):
            return f"{place} has other keys"
        return next((d for k in eager if (d := difference(eager[k], traced[k], f"{place}[{k!r}]"))), None)
    if isinstance(eager, (list, tuple)):
        if len(eager) != len(traced):
            return f"{place} has {len(traced)} items, not {len(eager)}"
        return _items(enumerate(eager), traced, place)
    if isinstance(eager, float):
        return None if eager.hex() == traced.hex() else f"{place} is {traced!r}, not {eager!r}"
    if hasattr(eager, "__dict__") and "__eq__" not in vars(type(eager)) and not callable(eager):
        return difference(vars(eager), vars(traced), place)
    try:
        return None if bool(eager == traced) else f"{place} is {traced!r}, not {eager!r}"
    except Exception:  # nothing can be said of what refuses to be compared
        return None


def _items(eager: Any, traced: Any, place: str) -> str | None:
    pairs = zip(eager, traced, strict=True)
    return next((found for (at, one), other in pairs if (found := difference(one, other, f"{place}[{at}]"))), None)


def _tensors(eager: torch.Tensor, traced: torch.Tensor, place: str) -> str | None:
    if eager.layout == traced.layout == torch.jagged:
        return difference(_parts(eager), _parts(traced), place)
    mine, theirs = (
        (tuple(each.shape), each.dtype, each.layout, each.requires_grad, each.device) for each in (traced, eager)
    )
    if mine != theirs:
        return f"{place} is {mine[1]} {mine[0]}, not {theirs[1]} {theirs[0]}"
    if eager.layout != torch.strided or eager.device.type != "cpu":
        return None if torch.equal(eager, traced) else f"{place} has other values"
    # How far apart the items of an extent of 1 are said to be is anybody's choice.
    strides = zip(eager.shape, eager.stride(), traced.stride(), strict=True)
    if eager.numel() and any(one != other for length, one, other in strides if length > 1):
        return f"{place} has strides {traced.stride()}, not {eager.stride()}"
    one, other = (bits(each.detach().as_subclass(torch.Tensor)) for each in (eager, traced))
    return None if torch.equal(one, other) else f"{place} has other values"


def _parts(nested: torch.Tensor) -> tuple[Any, ...]:
    """What a jagged tensor is made of; the symbol for its lengths is another each time."""
    return nested.values(), nested.offsets(), nested.lengths(), nested._ragged_idx  # type: ignore[attr-defined]


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of a plain CPU tensor: they compare where numbers (NaN, -0.0) do not."""
    # A lone item may have any stride, and torch views bytes only where it is 1.
    return tensor.contiguous().as_strided((tensor.numel(),), (1,)).view(torch.uint8)
