"""From an image to a tensor, and what happens to the tensor's numbers: a function of each byte, hence a table.

A Tail is a chain of functions, the first of which turns a PIL image into a tensor. Tails are shared: the same functions
with the same arguments give the same object, whose table was made and checked once (plan/tables.py).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import torch
from PIL import Image

from ..plan.refusal import RefusalError
from ..plan.tables import Table, run_tail
from . import switch

__all__ = ["Tail", "first"]

# Whoever scales by a random number has a new tail for each sample; making a table for each would take longer than the
# work it saves.
_FOLLOWERS_MAX = 16


class Tail:
    """A chain of functions.

    functions  the first takes a PIL image, the others a tensor
    table      what they make of every byte
    dtype      of the result
    planar     one tensor lies in memory channel by channel; else as the image's bytes do. Stacks are always planar
    """

    __slots__ = ("_followers", "dtype", "functions", "planar", "table")

    def __init__(self, functions: tuple[Callable[[Any], Any], ...], table: Table, planar: bool) -> None:
        self.functions, self.table, self.planar = functions, table, planar
        self.dtype: torch.dtype = getattr(torch, table.dtype)
        self._followers: dict[Hashable, Tail | None] = {}

    def then(self, key: Hashable, function: Callable[[Any], Any]) -> Tail | None:
        """The chain and one more function, named by a key; None if that is no function of each byte by itself."""
        if key in self._followers:
            return self._followers[key]
        if len(self._followers) >= _FOLLOWERS_MAX:
            return None
        made = self._followers[key] = _make((*self.functions, function), self.table.channels)
        return made

    def apply(self, image: Any) -> torch.Tensor:
        """The tensor of an image, made by the functions themselves."""
        with switch.off():
            return _apply(self.functions, image)


_first: dict[Hashable, Tail | None] = {}


def first(key: Hashable, function: Callable[[Any], Any], channels: int) -> Tail | None:
    """The chain of one function of PIL images of 1 or 3 channels."""
    place = (key, channels)
    if place not in _first:
        _first[place] = _make((function,), channels)
    return _first[place]


def _make(functions: tuple[Callable[[Any], Any], ...], channels: int) -> Tail | None:
    try:
        with switch.off():
            table = run_tail(functions, channels, "tail")
            strides = _apply(functions, Image.new("RGB" if channels == 3 else "L", (7, 5))).stride()
    except RefusalError:
        return None
    except Exception:  # whatever it is, the user's own call raises it
        return None
    if table.channels != channels or table.tensor != "Tensor":
        return None
    layouts = {(35, 7, 1): True, (1, 7 * channels, channels): False}
    return Tail(functions, table, layouts[strides]) if strides in layouts else None


def _apply(functions: tuple[Callable[[Any], Any], ...], image: Any) -> torch.Tensor:
    for function in functions:
        image = function(image)
    result: torch.Tensor = image
    return result
