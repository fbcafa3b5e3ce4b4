"""What code asks of the pixels of an image."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from ....bytecode import COMPARISONS, Attribute, Binary, Call, Constant, Expression, Unary, UnreadableError
from . import arrays
from .picture import Applied, Picture

if TYPE_CHECKING:
    from ..compiler import Compiler


def looked(c: Compiler, condition: Expression) -> bool | None:
    """How a condition comes out that asks if there is an image, or looks at its pixels; None for others.

    It is taken that there is a pixel of those that it looks for. Images that have none are left to the user's code.
    """
    whole, turned = condition, False
    while isinstance(condition, Unary) and condition.operator == "not":
        condition, turned = condition.operand, not turned
    match condition:
        # OpenCV gives None for a file that it cannot read: these are left to the user's code.
        case Binary(operator="is" | "is not" as sign, left=image, right=Constant(value=None)) if c.form(image):
            c.account(whole)
            return (sign == "is") is turned
    found = _asked(c, condition)
    if found is None:
        return None
    c.account(whole)
    picture, negated = found
    marks = arrays.marks(picture)
    if 1 not in marks:
        return negated is not turned
    if 0 in marks and c.marks.setdefault(picture.register, marks) != marks:
        raise UnreadableError(f"looks at an image again by {condition}", condition)
    return negated is turned


def _asked(c: Compiler, condition: Expression) -> tuple[Picture, bool] | None:
    """Of a condition an array of bools, and whether it is that none of them holds, not that any does."""
    match condition:
        case Call(function=Attribute(owner=owner, name="any" | "all" as name), arguments=(), options=()) if c.form(
            owner
        ) in ("array", "tensor"):
            picture = c.sure_picture(owner)
            if str(picture.made().dtype) not in ("bool", "torch.bool"):
                return None
            none = Applied(np.logical_not if picture.form == "array" else torch.logical_not)
            return (picture, False) if name == "any" else (picture.then(none), True)
        case Binary(
            operator=">" | ">=" | "<" | "<=" as sign,
            left=Call(function=Attribute(owner=owner, name="max" | "min" as name), arguments=(), options=()),
            right=other,
        ) if c.form(owner) in ("array", "tensor"):
            value = c.constant(other)
            if type(value) not in (int, float):
                return None
            # A largest number above a value is any above it, one up to it none above it.
            any_of = (sign[0] == ">") is (name == "max")
            holds = COMPARISONS[sign if any_of else {">": "<=", ">=": "<", "<": ">=", "<=": ">"}[sign]]
            picture = c.sure_picture(owner).then(Applied(holds, (value,)))
            return picture, not any_of
    return None


def looks_of(c: Compiler) -> list[bytes | None]:
    """Which bytes each image that is given has to have. Raises UnreadableError where that does not show in it."""
    found = []
    left = dict(c.marks)
    for picture, table in zip(c.pictures, c.tables, strict=True):
        marks = left.pop(picture.register, None)
        found.append(marks)
        if marks is None:
            continue
        size = len(table.data) // (256 * table.channels)
        numbers = [table.data[at : at + size] for at in range(0, len(table.data), size)]
        for channel in range(0, len(numbers), 256):
            sides: tuple[set[bytes], set[bytes]] = set(), set()
            for number, mark in zip(numbers[channel : channel + 256], marks[channel : channel + 256], strict=False):
                sides[mark].add(number)
            if sides[0] & sides[1] or len(marks) != len(numbers):
                raise UnreadableError("looks at pixels that it does not give")
    if left:
        raise UnreadableError("looks at an image that it does not give")
    return found
