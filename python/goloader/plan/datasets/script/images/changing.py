"""Arrays that are changed in place, also on one way of a branch only; memory.py knows which share memory."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ....bytecode import (
    Attribute,
    Binary,
    Call,
    Closed,
    Constant,
    Display,
    Either,
    Expression,
    Item,
    Stored,
    UnreadableError,
)
from ....trust.look import in_class
from ....trust.originals import is_original
from ...reads.images import converts_arrays, reads_by_opencv
from ...reads.readers import array_reader
from .. import apart
from . import arrays, patches
from .memory import UNWRITABLE, Held, together
from .picture import TENSORS, Changed, Picture
from .pil import is_in_place

if TYPE_CHECKING:
    from ..compiler import Compiler


def held_of(c: Compiler, of: Expression) -> Held:
    """What memory an array or a tensor has that was just made."""
    if isinstance(of, Closed):
        return c.memory.of(of.value)
    if isinstance(of, Either):
        way = c.decided(of)
        ways = (of.then, of.otherwise) if way is None else (way,)
        return together([c.memory.of(each) for each in ways if not isinstance(each, Constant)])
    if isinstance(of, Item) and isinstance(of.owner, Call) and id(of.owner) in c.augmented:
        given = dict(of.owner.options)[c.constant(of.key)]  # itself, or a copy
        return c.memory.of(given)._replace(compact=False, forward=True)
    if c.form(of) == "finished" and not _is_in_place(of):
        return c.memory.new()
    operands = _operands(c, of)
    held = [c.memory.of(each) for each in operands if c.form(each) != "pil"]
    compact = all(each.compact for each in held)
    match of:
        case Binary(operator=name):
            return held[0] if name in arrays.IN_PLACE else c.memory.new(compact=compact)
        case Item(key=key):
            back, plain = _back_or_plain(c, key)
            return held[0]._replace(compact=compact and plain and not back, forward=held[0].forward and not back)
        case Call(function=Attribute(owner=owner, name=name), arguments=arguments, options=()) if operands[:1] == [
            owner
        ]:
            if name in ("copy", "clone") and not arguments:
                return c.memory.new()
            if name == "expand_as":
                return UNWRITABLE
            if name in arrays.IN_PLACE_METHODS:
                return held[0]
            if name == "astype" and len(arguments) == 1:
                return c.memory.new(compact=compact)
        case Call() if c.form(of) == "tensor" and not held:
            return c.memory.new()
        case Call(function=function):
            called, module = c.function(function), sys.modules.get("cv2")
            of_opencv = module is not None and any(
                called is getattr(module, name) for name in ("cvtColor", "flip", "resize", "transpose")
            )
            if reads_by_opencv(called) is not None or called is np.array or called is np.where:
                return c.memory.new(compact=compact)
            if array_reader(called) is not None and c.sure_picture(of).tail[0] is not np.asarray:
                return c.memory.new()
            if any(called is each for each in _NEW) or _is_normalize(called) or _is_scaled(c, called, operands):
                return c.memory.new()
            if _converts(called) and c.sure_picture(of).made().dtype != c.sure_picture(operands[0]).made().dtype:
                return c.memory.new()
            if of_opencv and len(operands) == 1:
                return c.memory.new()
            if called is np.ascontiguousarray:
                return together(held)._replace(compact=True, forward=True)  # itself, if it is in order already
            if any(called is each for each in (np.flip, np.fliplr, np.flipud, np.rot90)):
                return together(held)._replace(compact=False, forward=False)
    return together(held)._replace(compact=False) if held else UNWRITABLE


def _is_in_place(of: Expression) -> bool:
    """Whether it gives what it changes."""
    match of:
        case Binary(operator=name):
            return name.endswith("=")
        case Call(function=Attribute(name=name)):
            return name.endswith("_")
    return False


# What makes arrays and tensors that share no memory with what they are made of.
_NEW = (np.ones_like, np.zeros_like, torch.ones_like, torch.zeros_like, torch.tensor)


def _is_normalize(called: Any) -> bool:
    """Whether it is torchvision's, which makes a new tensor."""
    of_torchvision = is_original(in_class(type(called), "forward"), "torchvision")
    return of_torchvision and type(called).__name__ == "Normalize" and not is_in_place(called)


def _converts(called: Any) -> bool:
    """Whether it is torchvision's ConvertImageDtype, which makes a new tensor if there is anything to convert."""
    return type(called).__name__ == "ConvertImageDtype" and is_original(
        in_class(type(called), "forward"), "torchvision"
    )


def _is_scaled(c: Compiler, called: Any, of: list[Expression]) -> bool:
    """Whether it is torchvision's ToTensor of an array of bytes, which it divides."""
    return converts_arrays(called) and all(c.sure_picture(each).made().dtype == np.uint8 for each in of)


def _back_or_plain(c: Compiler, key: Expression) -> tuple[bool, bool]:
    """Whether an item of an array goes through it backwards, and whether it only cuts rows and columns."""
    keys = key.items if isinstance(key, Display) and key.kind is tuple else (key,)
    slices = [each for each in keys if isinstance(each, Display) and each.kind is slice]
    back = any(len(each.items) == 3 and c.constant(each.items[2]) not in (None, 1) for each in slices)
    others = [each for each in keys if each not in slices]
    return back, all(isinstance(each, Constant) and each.value is ... for each in others)


def _operands(c: Compiler, of: Expression) -> list[Expression]:
    """The images that an expression is made of."""
    match of:
        case Call(function=Attribute(owner=owner)) if c.form(owner) is not None:
            return [owner]
        case Call(arguments=arguments):
            return [each for each in arguments if c.form(each) is not None]
        case Binary(left=left, right=right):
            return [each for each in (left, right) if c.form(each) is not None]
        case Item(owner=owner):
            return [owner]
    return []


def store(c: Compiler, stored: Stored) -> None:
    """array[where] = value"""
    owner, where = stored.owner, c.picture(stored.key)
    if where is None:
        try:
            made = patches.store(c, stored)
        except UnreadableError:
            if c.picture(owner) is not None:
                raise
            apart.note_change(c, stored)
            return
        c.check_tail(made)
        c.accounted.add(id(stored))
        change(c, owner, made)
        return
    if where.form not in ("array", "tensor") or where.made().dtype not in (bool, torch.bool):
        raise UnreadableError(f"sets {owner}[{stored.key}]", stored)
    value = c.constant(stored.item)
    if type(value) not in (bool, int, float):
        raise UnreadableError(f"sets {owner}[{stored.key}] to {stored.item}", stored)
    before = c.picture(owner)
    if before is None:
        called = c.own.value(owner.function) if isinstance(owner, Call) else None
        if not any(called is each for each in arrays.FILLING):
            raise UnreadableError(f"sets {owner}[{stored.key}]", stored)
        assert isinstance(owner, Call)
        c.own.means(owner.function)
        before = arrays.new(c, owner, called, where)
    if (before.whole().register, before.mode, before.form) != (where.register, where.mode, where.form):
        raise UnreadableError(f"changes {owner} where another image is something", stored)
    made = replace(before, tail=(Changed(before.tail, where.whole().tail, value),))
    c.check_tail(made)
    c.accounted.add(id(stored))
    change(c, owner, made)


def change(c: Compiler, array: Expression, made: Picture, by: Expression | None = None) -> None:
    """An array becomes another in place, by an expression that gives it."""
    array = c.itself(array)
    if by is not None:
        c.given_back[id(by)] = array
    if made.form not in ("array", *TENSORS):
        raise UnreadableError(f"changes {array}", array)
    c.memory.change(array)
    _set(c, array, made)


def _set(c: Compiler, array: Expression, made: Picture) -> None:
    if c.changes:
        c.changes[-1].setdefault(id(array), c.known[id(array)])
    c.now += 1
    c.changed_at[id(array)] = c.now
    c.known[id(array)] = array, made


def taken_back(
    c: Compiler, changes: dict[int, tuple[Expression, Picture | None]], side: list[Any]
) -> list[tuple[Expression, Picture]]:
    """Arrays that were changed on one way of a branch, and what they are there: they are what they were before."""
    found = []
    for key, (array, before) in changes.items():
        now = c.known[key][1]
        assert now is not None
        if c.is_in(side, c.born[key]):
            del c.changed_at[key]
        else:
            found.append((array, now))
            c.known[key] = array, before
    return found


def change_all(c: Compiler, changed: Sequence[tuple[Expression, Picture]]) -> None:
    for array, made in changed:
        _set(c, array, made)


def change_either(
    c: Compiler,
    sides: tuple[list[Any], list[Any]],
    then: Sequence[tuple[Expression, Picture]],
    otherwise: Sequence[tuple[Expression, Picture]],
) -> None:
    """Arrays are what one way of a branch made of them, or the other."""
    made = {id(array): found for array, found in then}, {id(array): found for array, found in otherwise}
    for array in dict.fromkeys((id(array), array) for array, _ in (*then, *otherwise)):
        key, of = array
        before = c.known[key][1]
        assert before is not None
        _set(c, of, c.one_of(of, sides, made[0].get(key, before), made[1].get(key, before)))
