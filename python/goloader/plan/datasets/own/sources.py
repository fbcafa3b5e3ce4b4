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
from numpy.typing import NDArray

from ....arrays.mapped import is_shared
from ...bytecode import UnreadableError
from ...trust.look import in_class, is_a, parents
from ..known.s3torchconnector import is_info
from ..tree import Indices, alike, copied

TEXTS = (str, np.str_)
PATHS = (*TEXTS, PosixPath)
NUMPY_INTS = (np.int64, np.int32, np.int16, np.int8, np.uint64, np.uint32, np.uint16, np.uint8)
INTS = (int, *NUMPY_INTS)
FLOATS = (float, np.float64, np.float32, np.float16)

# Of values that cannot change.
FIXED = {type(None), bool, bytes, *INTS, *FLOATS, *PATHS}

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
    if is_texts(value):
        held = value.__arrow_array__()  # which cannot change: another one takes its place
        return lambda now, at: now is value and now.__arrow_array__() is held
    if kind is np.ndarray and value.dtype == object:
        return _of_objects(value)
    if is_a(value, np.ndarray, torch.Tensor):
        return None if value.dtype == object or not value.ndim or is_shared(value) else _of_array(copied(value))
    if kind in FIXED or (kind is tuple and _is_fixed(value)):
        return lambda now, at: now is value
    if kind in (set, frozenset) and {*map(type, value)} <= FIXED:
        members = [*value]
        return lambda now, at: type(now) is kind and {*map(id, now)} == {*map(id, members)}
    if kind in (list, tuple):
        length, items = len(value), _of_items([*value])
        if items is None:
            return None

        def stands(now: Any, at: Indices | None) -> bool:
            if type(now) is not kind or len(now) != length:
                return False
            if at is None:
                return items([*now], None)
            return items([*map(now.__getitem__, at.tolist())], np.where(at < 0, at + length, at))

        return stands
    inner = _of_items([value]) if kind in _INNER else None
    return None if inner is None else lambda now, at: inner([now], None)


# Tells whether items of a list, all or those from these places, are what they were.
_Items = Callable[[list[Any], Indices | None], bool]


def _of_items(was: list[Any], above: tuple[list[Any], ...] = ()) -> _Items | None:
    """All items of a type in one go, and then all that is in them: there may be millions.

    above  what they are in, and all that is beside it
    """
    if _is_fixed(was):
        return _of_fixed(was)
    kinds = [*map(type, was)]
    if len({*kinds}) == 1:
        return _of_one_kind(was, above) if kinds[0] in _INNER else _of_each(was)
    parts = []
    for kind in dict.fromkeys(kinds):
        places = np.flatnonzero([each is kind for each in kinds])
        part = _of_items([was[n] for n in places], above)
        if part is None:
            return None
        parts.append((kind, places, part))

    def stand_so(now: list[Any], at: Indices | None) -> bool:
        if not all(map(is_, map(type, now), kinds if at is None else map(kinds.__getitem__, at.tolist()))):
            return False
        for kind, places, part in parts:
            these = None if at is None else np.searchsorted(places, at[np.isin(at, places)])
            if not part([each for each in now if type(each) is kind], these):
                return False
        return True

    return stand_so


def _of_fixed(was: list[Any]) -> _Items:
    exact = {*map(type, was)} <= _EXACT

    def stand_so(now: list[Any], at: Indices | None) -> bool:
        if at is None:
            return now == was if exact else all(map(is_, now, was))
        return all(map(is_, now, map(was.__getitem__, at.tolist())))

    return stand_so


def _of_each(was: list[Any]) -> _Items | None:
    parts = all_of(map(stand, was))
    if parts is None:
        return None

    def stand_so(now: list[Any], at: Indices | None) -> bool:
        these = parts if at is None else map(parts.__getitem__, at.tolist())
        return all(part(each, None) for part, each in zip(these, now, strict=True))

    return stand_so


def _of_one_kind(was: list[Any], above: tuple[list[Any], ...]) -> _Items | None:
    """Of lists, of tuples, or of dicts."""
    kind = type(was[0])
    if above and not {*map(id, was)}.isdisjoint(map(id, chain.from_iterable(above))):  # one is in itself
        return None
    parts = []
    for inner in _INNER[kind]:
        part = _of_items([*chain.from_iterable(map(inner, was))], (*above, was))
        if part is None:
            return None
        parts.append((inner, part))
    lengths = np.fromiter(map(len, was), np.int64, len(was))
    ends = np.cumsum(lengths)

    def stand_so(now: list[Any], at: Indices | None) -> bool:
        if not {*map(type, now)} <= {kind}:
            return False
        counts = lengths if at is None else lengths[at]
        if not np.array_equal(np.fromiter(map(len, now), np.int64, len(now)), counts):
            return False
        places = None
        if at is not None:
            places = np.repeat(ends[at] - np.cumsum(counts), counts) + np.arange(counts.sum())
        return all(part([*chain.from_iterable(map(inner, now))], places) for inner, part in parts)

    return stand_so


# What there is to go through in each of them.
_INNER: dict[type, tuple[Callable[[Any], Iterable[Any]], ...]] = {
    list: (iter,),
    tuple: (iter,),
    **{kind: (iter, kind.values) for kind in (dict, OrderedDict, defaultdict)},
}


def _is_fixed(whole: Any) -> bool:
    """Whether all in a list or tuple stays as it is, while that holds the very same objects."""
    every = {*map(type, whole)}
    kinds = {kind for kind in every - FIXED if not is_info(kind)}
    tuples = {kind for kind in kinds if kind is tuple or is_record(kind)}
    if not kinds or kinds != tuples:
        return not kinds
    inner = whole if every == tuples else (each for each in whole if type(each) in tuples)
    return _is_fixed([*chain.from_iterable(inner)])


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


def _of_objects(array: NDArray[np.object_]) -> Stand | None:
    was = array.ravel().tolist()
    if not {*map(type, was)} <= FIXED:
        return None
    like = array.dtype, array.shape

    def stands(now: Any, at: Indices | None) -> bool:
        return type(now) is np.ndarray and (now.dtype, now.shape) == like and all(map(is_, now.ravel().tolist(), was))

    return stands


def is_texts(value: Any) -> bool:
    """Whether it is a column of texts, as pandas keeps them in Arrow's memory."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and type(value) is getattr(pandas.arrays, "ArrowStringArray", None)


def is_table(value: Any) -> bool:
    """Whether it is of pandas' own DataFrame or Series."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and type(value) in (pandas.DataFrame, pandas.Series)


def _of_table(table: Any) -> Stand | None:
    """Of a DataFrame or a Series of pandas': whether it is still this one, and all in it what it is now."""
    labels = [table.index.copy(), *([table.columns.copy()] if hasattr(table, "columns") else [])]

    def is_this(now: Any) -> bool:
        return now is table and all(map(_same_labels, (now.index, getattr(now, "columns", None)), labels))

    if (block := _block(table)) is not None:
        was = block.copy(order="K")
        return lambda now, at: is_this(now) and _is_block(now.to_numpy(), block, was)
    numbers = {n: each.to_numpy().copy() for n, each in _columns(table) if str(each.dtype) in _NUMBERS}
    objects = {n: [*each.to_numpy()] for n, each in _columns(table) if each.dtype == object}
    if not all(map(_is_fixed, objects.values())):  # they may change where they are
        return None
    others = {n: each.copy() for n, each in _columns(table) if n not in numbers and n not in objects}

    def stands(now: Any, at: Indices | None) -> bool:
        if not is_this(now):
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


def _block(table: Any) -> Any:
    """All numbers of a table as the array that they lie in; None where there is no such array."""
    dtypes = [*table.dtypes.array] if hasattr(table, "columns") else [table.dtype]
    if len({*dtypes}) != 1 or str(dtypes[0]) not in _NUMBERS:
        return None
    block = table.to_numpy()
    return block if _place(block) == _place(table.to_numpy()) else None


def _place(array: Any) -> tuple[Any, ...]:
    """Where an array is. While it is held, another one there is of the same memory."""
    return array.ctypes.data, array.dtype, array.shape, array.strides


def _is_block(now: Any, block: Any, was: Any) -> bool:
    """Whether a table still has its numbers there, and these. If one column had another dtype, all would be copied."""
    if _place(now) != _place(block):
        return False
    ours, theirs = _words(now.T if now.flags.f_contiguous else now), _words(was.T if was.flags.f_contiguous else was)
    return alike(now, was) if ours is None else bool(np.array_equal(ours, theirs))


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
            parts = sources()
            stands = {key: stand(part) for key, part in {id(part): part for part in parts}.items()}
            self._stand = all_of(stands[id(part)] for part in parts)

    @property
    def known(self) -> bool:
        """Whether it can be said at all."""
        return self._stand is not None

    def stands(self) -> bool:
        """False where that cannot be said."""
        if self._stand is None:
            return False
        now = self._sources()
        pairs = {(id(each), id(part)): (each, part) for each, part in zip(self._stand, now, strict=False)}
        return len(now) == len(self._stand) and all(each(part, None) for each, part in pairs.values())
