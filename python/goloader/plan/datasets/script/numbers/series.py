"""Small arrays of float64 that code reckons from what it drew, by numpy, and tensors of them: weights of a blur.

Each item is a number of the script. Where an item goes when an array is given another shape is what numpy or torch
itself does to the items' places.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ....bytecode import Attribute, Binary, Call, Expression, Name, Unary, UnreadableError
from .arithmetic import Number, binary, of_math, unary

if TYPE_CHECKING:
    from ..compiler import Compiler


@dataclass(frozen=True, eq=False)
class Series:
    """An array of numbers, or a tensor.

    places  of the same shape: which number is where, an array or a tensor of ints
    off     numpy's own numbers, none of which is negative, may lie so many ulps off: its exp differs by processor
    """

    numbers: tuple[Number, ...]
    places: Any
    off: int = 0

    def float32s(self) -> Series:
        """The same, for torch to make float32 of. Where numpy's may be another float32, the code makes the sample."""
        if not self.off:
            return self
        return _each(self, lambda number: Number(["settled", number.json, float(self.off)], "float"))

    def at(self, places: Any) -> tuple[Number, ...]:
        """The numbers at places, which are an array or a tensor of any shape."""
        return tuple(self.numbers[place] for place in np.asarray(places).ravel().tolist())


_ITEMS_MAX = 64

# How far numpy's exp and the C library's may lie apart, in ulps: each is less than 2 off.
_EXP_OFF = 4

_ARITHMETIC = ("+", "-", "*", "/")

# What makes arrays of constants, none of which changes what it is given.
_OF_CONSTANTS = (np.arange, np.power, np.square, np.abs)

# What gives an array or a tensor another shape.
_MOVES = {
    np.ndarray: ("copy", "flatten", "ravel", "reshape", "transpose"),
    torch.Tensor: ("contiguous", "expand", "flatten", "permute", "repeat", "reshape", "squeeze", "t", "transpose",
                   "unsqueeze", "view"),
}  # fmt: skip


def series_of(c: Compiler, of: Expression) -> Series | None:
    """The array that an expression is, of numbers not all of which are constants; None for what is none."""
    match of:
        case Binary(operator=sign, left=left, right=right) if sign in _ARITHMETIC:
            sides: list[Any] = [_array(c, each) for each in (left, right)]
            if not any(sides) or all(type(side) is _Constants for side in sides):
                return None
            sides = [side or _number(c, each) for side, each in zip(sides, (left, right), strict=True)]
            return None if None in sides else _reckoned(sign, *sides)
        case Unary(operator="-", operand=operand) if (inner := c.series(operand)) is not None:
            return _each(_exact(inner), lambda number: unary("neg", number))
        case Call(function=Attribute(owner=owner, name=name), arguments=arguments, options=()) if (
            inner := c.series(owner)
        ) is not None:
            if name == "sum" and not arguments and type(inner.places) is np.ndarray:
                return _sum(inner)
            if name in _MOVES[type(inner.places)]:
                try:
                    return replace(inner, places=getattr(inner.places, name)(*map(c.constant, arguments)))
                except (RuntimeError, ValueError, TypeError, IndexError) as error:  # of a shape that it cannot have
                    raise UnreadableError(f"does what raises {type(error).__name__}: {error}", of) from None
        case Call(function=function, arguments=(argument,), options=()) if (
            inner := c.series(argument)
        ) is not None and type(inner.places) is np.ndarray:
            called = c.function(function)
            if called is np.exp:
                return replace(_each(_exact(inner), lambda number: of_math("exp", [number])), off=_EXP_OFF)
            if called is np.sum:
                return _sum(inner)
            if called is torch.from_numpy and inner.places.ndim:
                return replace(inner, places=torch.from_numpy(inner.places))
    return None


@dataclass(frozen=True, eq=False)
class _Constants:
    """An array that is the same for all samples, of ints or floats."""

    array: np.ndarray[Any, Any]


def _array(c: Compiler, of: Expression) -> Series | _Constants | None:
    """What arithmetic may be done with beside numbers."""
    found = c.series(of)
    if found is not None:
        return found if type(found.places) is np.ndarray else None
    array = _constants(c, of)
    return None if array is None else _Constants(array)


def _number(c: Compiler, of: Expression) -> Number | None:
    """A float, or an int that is the same for all samples."""
    try:
        number = c.number(of)
    except UnreadableError:
        return None
    return number if number.kind == "float" or (number.is_constant and number.kind == "int") else None


def _constants(c: Compiler, of: Expression) -> np.ndarray[Any, Any] | None:
    """An array that is the same for all samples; None for what is none."""
    made: Any = None
    try:
        match of:
            case Unary(operator="-", operand=operand):
                inner = _constants(c, operand)
                made = None if inner is None else -inner
            case Call(function=function, arguments=arguments, options=()) if any(
                c.own.if_seen(function) is each for each in _OF_CONSTANTS
            ):
                given = [(_constants(c, each), each) for each in arguments]
                made = c.own.means(function)(*(c.constant(each) if array is None else array for array, each in given))
            case Attribute() | Name() if _is_small(c.own.if_seen(of)):
                made = c.constant(of)
    except (UnreadableError, ArithmeticError, TypeError, ValueError):
        return None
    return made if _is_small(made) and np.isfinite(made).all() and np.abs(made).max() < 2**53 else None


def _is_small(value: Any) -> bool:
    return type(value) is np.ndarray and value.dtype in (np.int64, np.float64) and 0 < value.size <= _ITEMS_MAX


def _reckoned(sign: str, left: Any, right: Any) -> Series:
    """Arithmetic of float64, item by item."""
    sides = [side if type(side) is Series else _plain(side) for side in (left, right)]
    off = 0
    if any(side.off for side in sides):
        if sign != "/" or not all(side.off for side in sides):
            raise UnreadableError("reckons with an exp otherwise than to divide it by its sum")
        off = sum(side.off for side in sides) + 1
        sides[1] = _each(sides[1], lambda number: Number(["divisor", number.json], "float"))
    try:
        places = np.broadcast_arrays(*(side.places for side in sides))
    except ValueError as error:
        raise UnreadableError(f"does what raises ValueError: {error}") from None
    if places[0].size > _ITEMS_MAX:
        raise UnreadableError("reckons with too many numbers")
    pairs = zip(*(side.at(place) for side, place in zip(sides, places, strict=True)), strict=True)
    made = tuple(binary(sign, *pair) for pair in pairs)
    return Series(made, np.arange(len(made)).reshape(places[0].shape), off)


def _plain(side: _Constants | Number) -> Series:
    if isinstance(side, Number):
        return Series((_float(side),), np.array(0))
    numbers = tuple(Number(float(each), "float") for each in side.array.ravel().tolist())
    return Series(numbers, np.arange(side.array.size).reshape(side.array.shape))


def _float(number: Number) -> Number:
    return Number(float(number.value), "float") if number.is_constant else number


def _exact(inner: Series) -> Series:
    """The same, if it is numpy's to the bit. Raises UnreadableError."""
    if inner.off:
        raise UnreadableError("reckons with an exp otherwise than to divide it by its sum")
    return inner


def _each(inner: Series, function: Callable[[Number], Number]) -> Series:
    """The same done to each number, of which it is known what it is."""
    return replace(inner, numbers=tuple(map(function, inner.numbers)))


def _sum(inner: Series) -> Series:
    """What numpy adds up, in its order."""
    count = len(inner.numbers)
    off = inner.off + count if inner.off else 0
    if inner.places.shape != (count,) or not (inner.places == np.arange(count)).all() or not _sums_in_order(count):
        raise UnreadableError("adds up an array in an order that is not known")
    return Series((_in_order(list(inner.numbers), lambda one, other: binary("+", one, other)),), np.array(0), off)


def _in_order(items: list[Any], add: Callable[[Any, Any], Any]) -> Any:
    """numpy's pairwise sum of at most _ITEMS_MAX items: eight sums, or one of fewer than eight."""
    whole = len(items) // 8 * 8
    if not whole:
        return reduce(add, items)
    eight = [reduce(add, items[at:whole:8]) for at in range(8)]
    pairs = [add(eight[at], eight[at + 1]) for at in range(0, 8, 2)]
    return reduce(add, items[whole:], add(add(pairs[0], pairs[1]), add(pairs[2], pairs[3])))


@cache
def _sums_in_order(count: int) -> bool:
    """Whether numpy adds up so many numbers in this order."""
    tried = np.random.default_rng(0).random((32, count)) ** 8
    return all(float(row.sum()) == _in_order(row.tolist(), lambda one, other: one + other) for row in tried)
