"""Rectangles that code sets in an array or a tensor: `image[:, y1:y2, x1:x2] = 0`, or in a mask that an image is
multiplied by, as Cutout has it.

The core lays them on the finished image: what is in a rectangle has its own table of what bytes become
(Picture.patched).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..... import _steps
from ....bytecode import Call, Constant, Display, Expression, Stored, UnreadableError, parts_of
from ....transforms.augments import Steps
from ....transforms.erasing import PATCHES_MAX
from ..numbers.arithmetic import PLACES, Number
from . import arrays
from .picture import Picture, Step, Tail

if TYPE_CHECKING:
    from ..compiler import Compiler

FLIPS = [Steps(each).to_plan() for each in (_steps.FLIP_HORIZONTAL, _steps.FLIP_VERTICAL)]
_MOVES = ("crop_to", "patch_to", "random_horizontal_flip", "random_vertical_flip", "reverse_channels", "arithmetic_to")
_WHOLE = slice(None)


def moves(step: dict[str, Any]) -> bool:
    """Whether a step takes rectangles along with the pixels below them."""
    without_border = step["op"] == "random_crop" and step["padding"] is None and not step["pad_if_needed"]
    return step["op"] in _MOVES or step in FLIPS or without_border


@dataclass(frozen=True, eq=False)
class Set(Step):
    """An array or a tensor after array[key] = value, where the key takes all rows and columns."""

    key: tuple[Any, ...]
    value: Any

    def __call__(self, made: Any) -> Any:
        made = made.copy() if isinstance(made, np.ndarray) else made.clone()
        made[self.key] = self.value
        return made


def store(c: Compiler, stored: Stored) -> Picture:
    """What array[slices] = value makes of an array or a tensor. Raises UnreadableError."""
    owner = stored.owner
    before = c.picture(owner) or _made(c, owner)
    if before is None or before.form not in ("array", "tensor"):
        raise UnreadableError(f"sets {owner}[{stored.key}]", stored)
    place, key = _place(c, before, stored.key)
    setting = _setting(c, stored, before, key)
    full = all(each == _WHOLE for each in key)
    if before.last is not None and before.last[0] == place and not full:
        below = before.patched[before.last[1]]
    elif full or not before.patched:
        below = before.tail
    else:
        raise UnreadableError("sets some channels of several rectangles", stored)
    tail: Tail = (*below, setting)
    patched = before.patched if tail in before.patched else (*before.patched, tail)
    if len(patched) > PATCHES_MAX:
        raise UnreadableError(f"sets rectangles to more than {PATCHES_MAX} values", stored)
    number = patched.index(tail)
    step = {"op": "patch_to", "table": 1 + number, **dict(zip(("top", "bottom", "left", "right"), place, strict=True))}
    made = c.apply(before, [step], (), size=before.size)
    bare = before.bare if before.patched else before.register
    return replace(made, known=before.known, patched=patched, bare=bare, last=(place, number))


def _made(c: Compiler, call: Expression) -> Picture | None:
    """A new array as large as an image, to set rectangles in."""
    called = c.function(call.function) if isinstance(call, Call) else None
    if not isinstance(call, Call) or not any(called is each for each in arrays.FILLING):
        return None
    near = [c.known[id(part)][1] for part in parts_of(call) if id(part) in c.known]
    for image in (*near, *(each for _, each in reversed(c.known.values()))):
        if image is not None and image.form in ("array", "tensor"):
            return arrays.new(c, call, called, image.whole())
    return None


def _place(c: Compiler, p: Picture, key: Expression) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The ends of a rectangle's rows and columns, and the key that takes all of them."""
    names = p.moving()
    keys = list(key.items) if isinstance(key, Display) and key.kind is tuple else [key]
    rest = [n for n, each in enumerate(keys) if isinstance(each, Constant) and each.value is ...]
    whole = Display(slice, (Constant(None, type(None)), Constant(None, type(None))))
    at = rest[0] if rest else len(keys)
    keys[at : at + 1] = [whole] * (len(names) - len(keys) + len(rest))
    if len(rest) > 1 or len(keys) != len(names):
        raise UnreadableError(f"sets items {key}", key)
    width, height = p.extents()
    ends: dict[str, list[Any]] = {}
    taken: list[Any] = []
    for name, each in zip(names, keys, strict=True):
        items = each.items if isinstance(each, Display) and each.kind is slice else ()
        if name not in "yx":
            taken.append(slice(*map(c.constant, items)) if items else c.constant(each))
            continue
        if not items or (len(items) == 3 and c.constant(items[2]) not in (None, 1)):
            raise UnreadableError(f"sets items {key}", key)
        both = zip(items[:2], (Number(0, "int"), height if name == "y" else width), strict=True)
        ends[name] = [_end(c, *pair).json for pair in both]
        taken.append(_WHOLE)
    if any(type(each) not in (int, slice) for each in taken):
        raise UnreadableError(f"sets items {key}", key)
    c.account(key)
    return (*ends["y"], *ends["x"]), tuple(taken)


def _end(c: Compiler, of: Expression, left_out: Number) -> Number:
    if isinstance(of, Constant) and of.value is None:
        return left_out
    number = c.number(of)
    if number.kind not in PLACES:
        raise UnreadableError(f"takes items up to {of}", of)
    return number


def _setting(c: Compiler, stored: Stored, p: Picture, key: Sequence[Any]) -> Set:
    """What is set: numbers that are the same for all samples, and for all pixels."""
    value = c.constant(stored.item)
    axes = [name for name, each in zip(p.axes(), key, strict=True) if type(each) is slice]
    if type(value) in (bool, int, float):
        return Set(tuple(key), value)
    of_numpy = type(value) in (list, tuple, np.ndarray) and p.form == "array"
    if not of_numpy and not (type(value) is torch.Tensor and p.form == "tensor"):
        raise UnreadableError(f"sets {stored.owner}[{stored.key}] to {stored.item}", stored)
    items = np.asarray(value)
    if items.ndim > len(axes) or any(
        extent != 1 and name in "yx" for name, extent in zip(axes[::-1], items.shape[::-1], strict=False)
    ):
        raise UnreadableError(f"sets {stored.owner}[{stored.key}] to {stored.item}", stored)
    return Set(tuple(key), value)
