"""Values of a sample that Python makes, by functions of the user's that are called as they are (pure.py).

    return image, torch.tensor([START, *self.vocab.numericalize(self.captions[index]), END])

What they are called with is worked out ahead, for each index, and so is known before the sample is made. They are made
as a batch is begun: where a function raises an error, the dataset's own code makes the batch, and raises it again.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ...bytecode import (
    SIGNS,
    Apart,
    Attribute,
    Binary,
    Call,
    Constant,
    Display,
    Drawn,
    Either,
    Expression,
    Extended,
    Index,
    Item,
    Mapping,
    Part,
    Text,
    Unary,
    UnreadableError,
)
from ...harmless import CHANGERS, FUNCTIONS, NAMES, PLAIN
from ...look import is_a
from ..pure import TEXT_NAMES
from ..sources import FLOATS, INTS, TEXTS
from .numbers import INDEX
from .rows import row_of

if TYPE_CHECKING:
    from .compiler import Compiler

# Seconds of Python's that a sample's values may take: torch's workers make them side by side, while a step is made.
_SECONDS_MAX = 200e-6
_TIMED = 4

_LEAVES = {*TEXTS, *INTS, *FLOATS, bool, np.bool_, bytes, type(None)}
_NAMES = {*NAMES, *TEXT_NAMES} - CHANGERS - {"data", "functional", "nn", "numpy", "rnn", "utils"}
_ASKED = ("dtype", "ndim", "shape")
# What gives something that can be gone through once, or tells of classes.
_ITERATORS = (enumerate, filter, map, reversed, type, zip)
_FUNCTIONS = (*(each for each in FUNCTIONS if each not in _ITERATORS), torch.nn.functional.pad)
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    **{sign: function for sign, function in SIGNS.items() if sign not in ("&", "|", "^")},
    "in": lambda one, whole: one in whole,
    "not in": lambda one, whole: one not in whole,
}
_UNARY: dict[str, Callable[[Any], Any]] = {"-": operator.neg, "not": operator.not_}
# What a function gives that is used as it is.
_GIVEN = {*_LEAVES, list, tuple, dict, set, torch.Tensor, np.ndarray}

# What samples may differ by, and what is made anew for each.
_DIFFERING = Apart | Drawn | Either | Index
_BUILT = Display | Extended | Mapping

# Of a sample: what was worked out ahead, and by the ids of expressions what was made.
_Known = tuple[Sequence[Any], dict[int, Any]]
_Make = Callable[[_Known], Any]


class MadeApart:
    """As Made: what Python makes of values that are worked out ahead.

    numbers  these
    like     what the first sample's is like, once that is known; of others the dataset's own code makes the batch
    """

    array = False

    def __init__(self, numbers: tuple[Expression, ...], make: _Make) -> None:
        self.numbers, self._make = numbers, make
        self.like: Any = None

    def make(self, values: Iterator[Any]) -> Any:
        """Raises what the user's function raises, and FloatingPointError where numpy may warn: of the user's line."""
        found: list[str] = []
        with np.errstate(all="call", call=lambda kind, flag: found.append(kind)):
            made = self._make(([*values], {}))
        if found:
            raise FloatingPointError(found[0])
        return made

    def check(self, columns: Sequence[Sequence[Any]]) -> None:
        """Raises UnreadableError for what code may do more with than is listed."""
        for expression, values in zip(self.numbers, columns, strict=True):
            if not set(map(type, values)) <= _LEAVES:
                raise UnreadableError(f"calls a function with {expression}", expression)

    def check_like(self, value: Any) -> Any:
        """The same value. Raises TypeError for one of another kind than the first."""
        if like(value) != self.like:
            raise TypeError(f"{type(value).__qualname__} of another kind than in the first sample")
        return value


def like(value: Any) -> Any:
    """What collate functions go by."""
    of_array = (value.dtype, value.ndim) if isinstance(value, torch.Tensor | np.ndarray) else ()
    return type(value), *of_array


def made_apart(compiler: Compiler, of: Expression) -> MadeApart:
    """Raises UnreadableError for what Python may not make out of order."""
    maker = _Maker(compiler)
    make = maker.of(of)
    if not maker.leaves:
        raise UnreadableError(f"gives {of}", of)
    return MadeApart(tuple(maker.leaves), make)


def check_seconds(makers: Sequence[Callable[[int], Any]], count: int) -> None:
    """Raises UnreadableError where Python takes long to make a sample's values, or cannot make the first ones."""
    took = []
    for row in range(min(count, _TIMED)):
        begun = time.thread_time()
        try:
            made = [make(row) for make in makers]
        except Exception as error:  # whatever the user's code raises
            raise UnreadableError(f"raises {type(error).__name__} in a function that is called as it is") from None
        took.append(time.thread_time() - begun)
        if any(isinstance(each, torch.Tensor) and each.device.type != "cpu" for each in made):
            raise UnreadableError("gives what is not on the CPU by a function that is called as it is")
    if min(took, default=0.0) > _SECONDS_MAX:
        raise UnreadableError(f"calls a function that takes {min(took) * 1e6:.0f} us, which workers call side by side")


class _Maker:
    """Turns an expression into what makes its value of a sample."""

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler
        self.leaves: list[Expression] = []

    def of(self, of: Expression) -> _Make:
        if isinstance(of, Constant):
            return _same(of.value)
        if isinstance(of, Either):
            return self.of(self._compiler.way_of(of))
        if not of.has(_DIFFERING, _BUILT):
            return self._fixed(of)
        if of.has(Index):
            with suppress(UnreadableError, ArithmeticError, LookupError, TypeError, ValueError):
                return self._leaf(of)
        make, key = self._made(of), id(of)

        def once(known: _Known) -> Any:
            if key not in known[1]:
                known[1][key] = make(known)
            return known[1][key]

        return once

    def _leaf(self, of: Expression) -> _Make:
        """What is worked out ahead."""
        moved, row = row_of(self._compiler, of)
        if row is not INDEX:
            raise UnreadableError(f"calls a function with what is drawn: {of}", of)
        (first,) = self._compiler.values(moved).work_out(range(1))[0]
        if type(first) not in _LEAVES:
            raise UnreadableError(f"calls a function with {of}", of)
        if moved not in self.leaves:
            self.leaves.append(moved)
        at = self.leaves.index(moved)
        return lambda known: known[0][at]

    def _fixed(self, of: Expression, *, any_kind: bool = False) -> _Make:
        """What is the same for all samples."""
        value = self._compiler.own.means(of)
        if type(value) not in PLAIN and not any_kind:
            raise UnreadableError(f"gives {of}", of)
        return _same(value)

    def _argument(self, of: Expression) -> _Make:
        """The same, whatever it is: the function was looked through with it (pure.py)."""
        try:
            return self.of(of)
        except UnreadableError:
            if of.has(_DIFFERING):
                raise
            return self._fixed(of, any_kind=True)

    def _made(self, of: Expression) -> _Make:
        match of:
            case Apart():
                function, named = of.function, {name: self._argument(each) for name, each in of.options}
                made = self._call(function, list(map(self._argument, of.arguments)), named)
                return lambda known: _checked(made(known))
            case Display(kind=kind, items=items) if kind in (list, tuple, slice):
                makes = list(map(self.of, items))
                if kind is slice:
                    return lambda known: slice(*(make(known) for make in makes))
                return lambda known: kind(make(known) for make in makes)
            case Extended(parts=parts):
                makes = list(map(self.of, parts))
                return lambda known: [each for make in makes for each in make(known)]
            case Mapping(names=names, items=items):
                inner = dict(zip(names, map(self.of, items), strict=True))
                return lambda known: {name: make(known) for name, make in inner.items()}
            case Item(owner=owner, key=key):
                return self._call(operator.getitem, [self.of(owner), self.of(key)], {})
            case Part(owner=owner, number=number, count=count):
                return self._call(lambda whole: _part(whole, number, count), [self.of(owner)], {})
            case Binary(operator=sign, left=left, right=right) if sign in _OPERATORS:
                return self._call(_OPERATORS[sign], [self.of(left), self.of(right)], {})
            case Unary(operator=sign, operand=operand) if sign in _UNARY:
                return self._call(_UNARY[sign], [self.of(operand)], {})
            case Text(parts=parts):
                return self._call(lambda *each: "".join(map(format, each)), list(map(self.of, parts)), {})
            case Attribute(owner=owner, name=name) if name in _ASKED:
                return self._call(operator.attrgetter(name), [self.of(owner)], {})
            case Call(function=function, arguments=arguments, options=options):
                return self._called(of, function, arguments, dict(options))
        raise UnreadableError(f"gives {of}", of)

    def _called(
        self, of: Expression, function: Expression, arguments: tuple[Expression, ...], options: dict[str, Expression]
    ) -> _Make:
        if {*options} & {"copy", "out"}:
            raise UnreadableError(f"gives {of}", of)
        named = {name: self.of(each) for name, each in options.items()}
        called = self._compiler.own.if_seen(function)
        if called is not None:
            if not any(called is each for each in _FUNCTIONS):
                raise UnreadableError(f"gives {of}", of)
            self._compiler.own.means(function)
            return self._call(called, list(map(self.of, arguments)), named)
        if not isinstance(function, Attribute) or function.name not in _NAMES:
            raise UnreadableError(f"gives {of}", of)
        if is_a(self._compiler.own.if_seen(function.owner), ModuleType):
            raise UnreadableError(f"gives {of}", of)
        name = function.name
        return self._call(
            lambda owner, *each, **given: getattr(owner, name)(*each, **given),
            [self.of(function.owner), *map(self.of, arguments)],
            named,
        )

    def _call(self, function: Callable[..., Any], makes: list[_Make], named: dict[str, _Make]) -> _Make:
        if not named:
            return lambda known: function(*[make(known) for make in makes])
        return lambda known: function(
            *[make(known) for make in makes], **{name: make(known) for name, make in named.items()}
        )


def _same(value: Any) -> _Make:
    return lambda known: value


def _part(whole: Any, number: int, count: int) -> Any:
    items = [*whole]
    if len(items) != count:
        raise ValueError(f"{len(items)} values to unpack to {count}")
    return items[number]


def _checked(given: Any) -> Any:
    if type(given) not in _GIVEN:
        raise TypeError(f"gives a {type(given).__qualname__}")
    return given
