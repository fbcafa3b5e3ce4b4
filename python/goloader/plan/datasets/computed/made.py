"""Tensors and arrays that a user's `__getitem__` makes of numbers: labels, mostly, as torch.tensor(label)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ...bytecode import NONE, Attribute, Call, Display, Expression, Filled, UnreadableError
from ..own.code import OwnCode
from ..own.sources import FLOATS, INTS
from .arithmetic import dtype_of
from .functions import is_filled

_DTYPES: dict[Any, Any] = {torch.LongTensor: torch.int64, torch.FloatTensor: torch.float32}
_ARRAY_DTYPES = (np.int64, np.float32, np.float64)


@dataclass(frozen=True)
class Made:
    """What is made of numbers, by calls that neither fail nor warn for those that `check` lets pass.

    numbers  what it is made of
    make     these, one after the other -> it
    whole    it is of a dtype that takes whole numbers alone
    label    it is one number, as an int64 tensor if that is what the number is
    classes  numbers are 0 or more, and less than that; None for any
    array    it is a numpy array
    """

    numbers: tuple[Expression, ...]
    make: Callable[[Iterator[Any]], Any]
    whole: bool = False
    label: bool = False
    classes: int | None = None
    array: bool = False

    def check(self, columns: Sequence[Sequence[Any]]) -> None:
        """Raises UnreadableError for numbers of which it may not be made without an error or a warning."""
        kinds: set[type] = {*INTS, bool, *(() if self.whole else FLOATS)}  # of tensors torch.tensor warns
        if self.classes is not None:
            kinds = {int}
        for expression, values in zip(self.numbers, columns, strict=True):
            if not set(map(type, values)) <= kinds:
                raise UnreadableError(f"makes tensors of {expression}", expression)
            low, high = (-(2**63), 2**63) if self.classes is None else (0, self.classes)
            if any(not low <= each < high for each in values if type(each) in (int, np.uint64)):
                raise UnreadableError(f"makes tensors of {expression}, which do not hold its numbers", expression)


def made_of(own: OwnCode, given: Expression) -> Made | None:
    """What a value is, if it is made of numbers; None for one that is not."""
    match given:
        case Filled(of=Call(function=function, arguments=sizes, options=options), key=label, item=item, owner=owner):
            if owner != NONE:
                return None
            return _put(own, function, sizes, dict(options), label, item)
        case Call(function=Attribute(owner=inner, name="float" | "long" as name), arguments=(), options=()):
            made = made_of(own, inner)
            if made is not None and not made.array and made.classes is None:
                return _with(made, lambda tensor: getattr(tensor, name)())
        case Call(function=function, arguments=(value, *rest), options=options):
            called = own.if_seen(function)
            made = _made_by(own, called, value, (*rest, *(option for _, option in options)), dict(options))
            if made is not None:
                own.means(function)
            return made
    return None


def _made_by(
    own: OwnCode, called: Any, value: Expression, rest: Sequence[Expression], options: dict[str, Expression]
) -> Made | None:
    if called is torch.tensor or called is torch.as_tensor:
        dtype = own.means(options["dtype"]) if "dtype" in options else None
        if len(rest) != len(options) or not {*options} <= {"dtype"}:
            return None
        if not (dtype is None or dtype is torch.int64 or (type(dtype) is torch.dtype and dtype.is_floating_point)):
            return None
        return _of_numbers(value, lambda numbers: torch.tensor(numbers, dtype=dtype), dtype, torch.int64)
    of_kind = next((dtype for kind, dtype in _DTYPES.items() if called is kind), None)
    if of_kind is not None and not rest and isinstance(value, Display):
        return _of_numbers(value, called, of_kind, torch.int64)
    if called is np.array and len(rest) == len(options) and {*options} <= {"dtype"}:
        kind = own.means(options["dtype"]) if options else None
        if kind is None or kind in _ARRAY_DTYPES:
            made = _of_numbers(value, lambda numbers: np.array(numbers, dtype=kind), kind, np.int64)
            return made and Made(made.numbers, made.make, made.whole, array=True)
    if called is torch.from_numpy and not rest:
        array = made_of(own, value)
        if array is not None and array.array:
            return Made(array.numbers, lambda values: torch.from_numpy(array.make(values)), array.whole)
    one_hot = getattr(sys.modules["torch.nn.functional"], "one_hot", None)
    if called is one_hot and len(rest) == 1 and {*options} <= {"num_classes"}:
        label, classes = made_of(own, value), own.means(rest[0])
        if label is not None and label.label and type(classes) is int and classes > 0:
            return Made(label.numbers, lambda values: torch.nn.functional.one_hot(label.make(values), classes), True,
                        classes=classes)  # fmt: skip
    return None


def _put(
    own: OwnCode,
    function: Expression,
    sizes: Sequence[Expression],
    options: dict[str, Expression],
    label: Expression,
    item: Expression,
) -> Made | None:
    """zeros(size) and the like, with one item that a label sets."""
    try:
        called, number = own.means(function), own.means(item)
        extents = [
            tuple(map(own.means, each.items)) if isinstance(each, Display) else own.means(each) for each in sizes
        ]
        kinds = {name: own.means(each) for name, each in options.items()}
    except UnreadableError:
        return None
    if not is_filled(called) or not {*kinds} <= {"dtype"} or type(number) not in (int, float, bool):
        return None

    def hot(label: int) -> Any:
        array = called(*extents, **kinds)
        array[label] = number
        return array

    with suppress(Exception):  # what they are, the user's code raises, too
        array = hot(0)
        if array.ndim == 1 and dtype_of(array):
            return Made((label,), lambda values: hot(next(values)), True, classes=len(array))
    return None


def _of_numbers(value: Expression, make: Callable[[Any], Any], dtype: Any, int64: Any) -> Made:
    """Of one number, or of a list of them."""
    if isinstance(value, Display):
        count = len(value.items)
        return Made(value.items, lambda values: make([next(values) for _ in range(count)]), dtype is int64)
    return Made((value,), lambda values: make(next(values)), dtype is int64, label=dtype in (None, int64))


def _with(made: Made, function: Callable[[Any], Any]) -> Made:
    return Made(made.numbers, lambda values: function(made.make(values)), made.whole)
