"""Stand-ins for arrays that outlive the code that they were made for: each is replaced by the real array.

A stand-in for an image or a tensor becomes the real object itself. An ndarray cannot be put into another object's
place, so whatever refers to a stand-in for one is given the array instead.
"""

from __future__ import annotations

import gc
from collections.abc import Mapping
from types import CellType, FunctionType, ModuleType
from typing import Any

import numpy as np
import torch

from ..record import Record
from .array import StandInArray, become_real
from .image import StandInImage
from .image import become_real as image_becomes_real
from .tensor import StandInTensor
from .tensor import become_real as tensor_becomes_real

_DEPTH_MAX = 8
_HOLDERS_MAX = 8  # from an array to what holds it: cache[i] = {"image": (array, label)} is 3


def without_stand_ins(value: Any) -> Any:
    """A batch with real arrays: its lists, dicts and objects are changed, its tuples made anew."""
    return _walk(value, {}, 0)


def _walk(value: Any, seen: dict[int, Any], depth: int) -> Any:
    kind = type(value)
    if kind is StandInArray:
        return become_real(value, "an array in the batch")
    if depth > _DEPTH_MAX or isinstance(value, _OPAQUE) or kind in (int, float, str, bytes, bool, type(None)):
        return value
    if id(value) in seen:
        return seen[id(value)]
    seen[id(value)] = value
    if isinstance(value, tuple):
        items = [_walk(item, seen, depth + 1) for item in value]
        if any(one is not other for one, other in zip(items, value, strict=True)):
            seen[id(value)] = _tuple(value, items)
        return seen[id(value)]
    if isinstance(value, list):
        for at, item in enumerate(value):
            made = _walk(item, seen, depth + 1)
            if made is not item:
                value[at] = made
    elif isinstance(value, Mapping):
        for key, item in list(value.items()):
            made = _walk(item, seen, depth + 1)
            if made is not item:
                value[key] = made  # type: ignore[index]
    if type(getattr(value, "__dict__", None)) is dict:
        _walk(vars(value), seen, depth + 1)
    return value


_OPAQUE = (torch.Tensor, torch.nn.Module, np.ndarray, np.generic, type, ModuleType, FunctionType)


def _tuple(value: Any, items: list[Any]) -> Any:
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)


def reached(batch: Any) -> list[Any]:
    """The stand-ins to which a batch leads, by whatever refers to them, in no order."""
    found: list[Any] = []
    seen: dict[int, Any] = {}
    level = [batch]
    while level:
        seen.update((id(each), each) for each in level)
        ends = [each for each in level if is_stand_in(each)]
        found += ends
        known = set(map(id, ends))
        new = gc.get_referents(*(each for each in level if id(each) not in known and not _leads_everywhere(each)))
        level = list({id(each): each for each in new if gc.is_tracked(each) and id(each) not in seen}.values())
    return found


def _leads_everywhere(value: Any) -> bool:
    return isinstance(value, (type, ModuleType)) or (type(value) is dict and "__builtins__" in value)


def is_stand_in(value: Any) -> bool:
    """Whether it is one, still."""
    return type(value) is StandInArray or isinstance(value, StandInTensor) or type(value) is StandInImage


def in_sight(error: BaseException) -> bool:
    """Whether a stand-in is a variable, or in a list, tuple or dict that is, of code that an error went through."""
    at = error.__traceback__
    while at is not None:
        values = list(at.tb_frame.f_locals.values())
        values += [item for value in values if type(value) in (list, tuple) for item in value]
        values += [item for value in values if type(value) is dict for item in value.values()]
        if any(map(is_stand_in, values)):
            return True
        at = at.tb_next
    return False


def settle(record: Record) -> None:
    """Makes real what a stream has kept: nobody looks for stand-ins in the batches to come."""
    left, record.left = record.left, None
    if left is not None:
        for each in left.living():
            make_real(each)
        left.clear()


def make_real(each: Any) -> None:
    """Makes a stand-in real for whoever holds it. Raises what that raises."""
    if type(each) is StandInArray:
        give_arrays(each)
    elif isinstance(each, StandInTensor):
        tensor_becomes_real(each, "")
    elif type(each) is StandInImage:
        image_becomes_real(each, "", note=False)


def give_arrays(stand_in: StandInArray) -> None:
    """Gives the real array to whatever refers to a stand-in: a dataset's cache, say.

    It takes a look at all objects there are. What is no dict, list, tuple, object or variable keeps the stand-in, which
    is as good as the array for most code.
    """
    _exchange(stand_in, become_real(stand_in, "an array that is kept"), 0)


def _exchange(old: Any, new: Any, depth: int) -> None:
    # No comprehensions here: their cells would be among those that refer to the stand-in.
    for holder in gc.get_referrers(old):
        if isinstance(holder, dict):
            _in_dict(holder, old, new)
        elif isinstance(holder, list):
            _in_list(holder, old, new)
        elif isinstance(holder, tuple):
            if depth < _HOLDERS_MAX:
                items = list(holder)
                _in_list(items, old, new)
                _exchange(holder, _tuple(holder, items), depth + 1)
        elif isinstance(holder, CellType):
            holder.cell_contents = new
        elif type(getattr(holder, "__dict__", None)) is dict:
            _in_dict(vars(holder), old, new)


def _in_dict(holder: dict[Any, Any], old: Any, new: Any) -> None:
    for key, value in list(holder.items()):
        if value is old:
            holder[key] = new


def _in_list(holder: list[Any], old: Any, new: Any) -> None:
    for at, value in enumerate(holder):
        if value is old:
            holder[at] = new
