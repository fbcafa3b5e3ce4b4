"""What values were made of: it is quickly known whether they would be made of the very same now."""

from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from operator import is_
from pathlib import PosixPath
from typing import Any

import numpy as np
import torch

from ...arrays.mapped import is_shared
from ..bytecode import UnreadableError
from ..look import in_class, is_a, parents
from .connector import is_info
from .tree import Indices, alike, copied

TEXTS = (str, np.str_)
PATHS = (*TEXTS, PosixPath)
NUMPY_INTS = (np.int64, np.int32, np.int16, np.int8, np.uint64, np.uint32, np.uint16, np.uint8)
INTS = (int, *NUMPY_INTS)
FLOATS = (float, np.float64, np.float32, np.float16)

# Of values that cannot change.
_FIXED = {type(None), bool, bytes, *INTS, *FLOATS, *PATHS}

# What gives a field of a namedtuple.
FIELD = type(vars(namedtuple("_Field", "of"))["of"])

# Of these, equal ones are the same.
_EXACT = {type(None), bytes, str, PosixPath}

# Tells of another look at some data whether it has the very same: at these places of a list or an array, or at all.
Stand = Callable[[Any, Indices | None], bool]


def check_settled(value: Any, place: Any) -> None:
    """Raises UnreadableError for an array or a tensor of which no values may be kept: workers of torch's see what is
    written into it in the middle of an epoch, and persistent ones in those after it."""
    if is_a(value, np.ndarray, torch.Tensor) and is_shared(value):
        raise UnreadableError(f"keeps values of {place}, which is in memory that processes share", place)


def stand(value: Any) -> Stand | None:
    """None for data of which that cannot be said."""
    kind = type(value)
    if is_table(value):
        return _of_table(value)
    if is_a(value, np.ndarray, torch.Tensor):
        return None if value.dtype == object or not value.ndim or is_shared(value) else _of_array(copied(value))
    if kind in _FIXED or (kind is tuple and _is_fixed(value)):
        return lambda now, at: now is value
    if kind in (set, frozenset) and {*map(type, value)} <= _FIXED:
        members = [*value]
        return lambda now, at: type(now) is kind and {*map(id, now)} == {*map(id, members)}
    if kind is list and _is_fixed(value):
        return _of_list([*value])
    if kind in (list, tuple):
        parts = all_of(map(stand, value))
    elif kind in (dict, OrderedDict, defaultdict):
        parts = all_of((stand([*value]), stand([*value.values()])))
    else:
        return None
    if parts is None:
        return None

    def stands(now: Any, at: Indices | None) -> bool:
        if type(now) is not kind:
            return False
        inner = now if kind in (list, tuple) else ([*now], [*now.values()])
        return len(inner) == len(parts) and all(each(part, None) for each, part in zip(parts, inner, strict=True))

    return stands


def _is_fixed(whole: Any) -> bool:
    """Whether all in a list or tuple stays as it is, while that holds the very same objects."""
    kinds = {kind for kind in set(map(type, whole)) - _FIXED if not is_info(kind)}
    tuples = {kind for kind in kinds if kind is tuple or is_record(kind)}
    inner = chain.from_iterable(each for each in whole if type(each) in tuples)
    return kinds == tuples and (not tuples or _is_fixed([*inner]))


def is_record(kind: type) -> bool:
    """Whether it is a class of namedtuple's, of which fields are looked up, and gone through, as of a tuple."""
    return tuple in parents(kind) and all(
        in_class(kind, name) is vars(tuple)[name] for name in ("__getattribute__", "__iter__")
    )


def _of_array(was: Any) -> Stand:
    def stands(now: Any, at: Indices | None) -> bool:
        if type(now) is not type(was) or len(now) != len(was):
            return False
        if at is None and now.dtype == was.dtype and now.shape == was.shape:
            ours, theirs = _words(was), _words(now)
            if ours is not None and theirs is not None:
                return bool(np.array_equal(ours, theirs))
        return alike(now, was) if at is None else alike(now[at], was[at])

    return stands


def is_table(value: Any) -> bool:
    """Whether it is of pandas' own DataFrame or Series."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and type(value) in (pandas.DataFrame, pandas.Series)


def _of_table(table: Any) -> Stand | None:
    """Of a DataFrame or a Series of pandas': whether it is still this one, and all in it what it is now."""
    numbers = {n: each.to_numpy().copy() for n, each in _columns(table) if str(each.dtype) in _NUMBERS}
    objects = {n: [*each.to_numpy()] for n, each in _columns(table) if each.dtype == object}
    if not all(map(_is_fixed, objects.values())):  # they may change where they are
        return None
    others = {n: each.copy() for n, each in _columns(table) if n not in numbers and n not in objects}
    labels = [table.index.copy(), *([table.columns.copy()] if hasattr(table, "columns") else [])]

    def stands(now: Any, at: Indices | None) -> bool:
        if now is not table or not all(map(_same_labels, (now.index, getattr(now, "columns", None)), labels)):
            return False
        for n, each in _columns(now):
            if n in numbers:
                if str(each.dtype) not in _NUMBERS or not alike(each.to_numpy(), numbers[n]):
                    return False
            elif n in objects:
                if each.dtype != object or not all(map(is_, each.to_numpy(), objects[n])):
                    return False
            elif not others[n].equals(each):
                return False
        return True

    return stands


_NUMBERS = {"bool", *(f"{kind}{bits}" for kind in ("int", "float") for bits in (8, 16, 32, 64)), "uint8"}


def _columns(table: Any) -> Iterator[tuple[int, Any]]:
    """The columns of a table by their places; a Series is one."""
    if not hasattr(table, "columns"):
        return iter([(0, table)])
    return ((n, table.iloc[:, n]) for n in range(table.shape[1]))


def _same_labels(now: Any, was: Any) -> bool:
    return type(now) is type(was) and now.dtype == was.dtype and bool(now.equals(was))


def _words(array: Any) -> Any:
    """All of an array that lies in one piece as whole numbers, which compare quickly; None for another."""
    if isinstance(array, torch.Tensor):
        plain = array.layout == torch.strided and array.is_contiguous() and not (array.is_conj() or array.is_neg())
        array = array.detach().reshape(-1).view(torch.uint8).numpy() if plain and array.device.type == "cpu" else None
    elif array.flags.c_contiguous:
        array = array.reshape(-1).view(np.uint8)
    else:
        return None
    return array.view(np.uint64) if array is not None and array.size % 8 == 0 else array


def _of_list(was: list[Any]) -> Stand:
    exact = set(map(type, was)) <= _EXACT

    def stands(now: Any, at: Indices | None) -> bool:
        if type(now) is not list or len(now) != len(was):
            return False
        if at is None:
            return now == was if exact else all(map(is_, now, was))
        places = at.tolist()
        return all(map(is_, map(now.__getitem__, places), map(was.__getitem__, places)))

    return stands


def all_of(stands: Iterable[Stand | None]) -> list[Stand] | None:
    """None if one of them is."""
    known = []
    for each in stands:
        if each is None:
            return None
        known.append(each)
    return known


class Sources:
    """Data that values were made of."""

    def __init__(self, sources: Callable[[], list[Any]]) -> None:
        """`sources` gives it, and raises UnreadableError where it cannot be seen."""
        self._sources = sources
        # None where it may change unseen.
        self._stand: list[Stand] | None = None
        with suppress(UnreadableError):
            self._stand = all_of(map(stand, sources()))

    @property
    def known(self) -> bool:
        """Whether it can be said at all."""
        return self._stand is not None

    def stands(self) -> bool:
        """False where that cannot be said."""
        if self._stand is None:
            return False
        now = self._sources()
        return len(now) == len(self._stand) and all(
            each(part, None) for each, part in zip(self._stand, now, strict=True)
        )
