"""Values of a sample that Python makes beside its images: what is neither an image nor a number of the script.

    return image, torch.tensor([START, *self.vocab.numericalize(self.captions[index]), END])

    boxes = torch.tensor([each["bbox"] for each in self.annotations[index]])
    if random.random() < 0.5:
        boxes[:, [0, 2]] = image.width - boxes[:, [2, 0]]

Each step of the code that such a value comes of is done with numpy's and torch's own functions, in the code's order.
What it is made of is worked out ahead, for each index, or is a number of the script: an image's width, which way a
branch was gone. Values that need no such number are made as a batch is begun: where a function raises an error, the
dataset's own code makes the batch, and raises it again. The others are made as the batch is handed out, and once before
that of some numbers: an error would come too late for the generators to stand where torch leaves them.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from ...bytecode import (
    IN_PLACE,
    NONE,
    SIGNS,
    Apart,
    Attribute,
    Binary,
    Branch,
    Call,
    Constant,
    Display,
    Drawn,
    Either,
    Expression,
    Extended,
    Filled,
    Index,
    Item,
    Mapping,
    Member,
    Part,
    Repeated,
    Spread,
    Stored,
    Text,
    Unary,
    UnreadableError,
    own_parts,
    parts_of,
)
from ...trust.harmless import CHANGERS, FUNCTIONS, NAMES, PLAIN
from ...trust.look import derives, is_a
from ..computed.functions import makes_anew
from ..own.code import OwnCode
from ..own.columns import TensorItem
from ..own.pure import TEXT_NAMES
from ..own.sources import FLOATS, INTS, TEXTS
from .numbers.arithmetic import INDEX
from .numbers.rows import row_of

if TYPE_CHECKING:
    from .compiler import Compiler

# Seconds of Python's that a sample's values may take: torch's workers make them side by side, while a step is made. To
# take tensors from workers takes torch as long as to make a few.
_SECONDS_MAX, _SECONDS_MAX_UNCALLED = 200e-6, 1e-3
_TIMED = 4

_LEAVES = {*TEXTS, *INTS, *FLOATS, bool, np.bool_, bytes, type(None)}
_NAMES = (
    {*NAMES, *TEXT_NAMES, "clamp", "clip", "maximum", "minimum"}
    - CHANGERS
    - {"data", "functional", "nn", "numpy", "rnn", "utils"}
)
_ASKED = ("dtype", "ndim", "shape")
# What gives something that can be gone through once, or tells of classes.
_ITERATORS = (enumerate, filter, map, reversed, type, zip)
_FUNCTIONS = (
    *(each for each in FUNCTIONS if each not in _ITERATORS),
    np.arange, np.clip, np.expand_dims, np.full, np.full_like, np.maximum, np.minimum, np.ones, np.ones_like,
    np.reshape, np.squeeze, np.transpose, np.where, np.zeros, np.zeros_like, torch.arange, torch.clamp, torch.full_like,
    torch.maximum, torch.minimum, torch.ones_like, torch.where, torch.zeros_like, torch.nn.functional.one_hot,
    torch.nn.functional.pad,
)  # fmt: skip
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    **{sign: function for sign, function in SIGNS.items() if sign not in ("&", "|", "^")},
    "in": lambda one, whole: one in whole,
    "not in": lambda one, whole: one not in whole,
}
_UNARY: dict[str, Callable[[Any], Any]] = {"-": operator.neg, "not": operator.not_}
# What a function gives that is used as it is.
_GIVEN = {*_LEAVES, list, tuple, dict, set, torch.Tensor, np.ndarray}

# What samples may differ by, and what is made anew for each.
_DIFFERING = Apart | Drawn | Either | Index | Member
_BUILT = Display | Extended | Mapping

# Of functions and methods, those that give something of its own, which is part of nothing that they are given.
_FRESH = (
    abs, bool, float, int, len, range, str, np.clip, np.maximum, np.minimum, torch.clamp, torch.maximum, torch.minimum,
    np.full_like, np.ones_like, np.zeros_like, torch.full_like, torch.ones_like, torch.zeros_like,
    torch.nn.functional.one_hot, torch.nn.functional.pad,
)  # fmt: skip
_FRESH_NAMES = {
    *TEXT_NAMES, "argsort", "clamp", "clip", "dim", "eq", "ge", "gt", "item", "le", "lt", "maximum", "minimum", "ne",
    "new_full", "new_ones", "new_tensor", "new_zeros", "numel", "repeat", "size", "tolist",
}  # fmt: skip

# Of what is worked out ahead, what is copied for each sample: its code may change that.
_COPIED = (list, tuple, np.ndarray, torch.Tensor)
# What makes an array or a tensor with memory of its own of a list.
_NEW_OF_LISTS = (torch.as_tensor, np.asarray, torch.FloatTensor, torch.LongTensor)


class _Known(NamedTuple):
    """Of a sample.

    rows     what was worked out ahead
    numbers  the script's, as the core gave them
    made     by the ids of expressions what was made
    members  what a loop over each list is at
    """

    rows: Sequence[Any]
    numbers: Sequence[Any]
    made: dict[int, Any]
    members: dict[Expression, Any]


_Make = Callable[[_Known], Any]


class MadeApart:
    """As Made: what Python makes of values that are worked out ahead.

    numbers  these
    columns  the script's numbers that it is made of as well: the core's column of each, and its kind
    memory   tells what was made for the sample and what is given may be part of, or has as its part; None where that
             may be the dataset's
    like     what the first sample's is like, once that is known; of others the dataset's own code makes the batch
    """

    array = False

    def __init__(
        self,
        numbers: tuple[Expression, ...],
        make: _Make,
        columns: tuple[tuple[int, str], ...],
        memory: frozenset[int] | None,
        *,
        calls: bool,
    ) -> None:
        """`calls`: it calls functions of the user's as they are."""
        self.numbers, self._make, self.columns, self.calls = numbers, make, columns, calls
        self.memory = memory
        self.like: Any = None

    @property
    def late(self) -> bool:
        """Whether it is made as the batch is handed out, and not before the core makes it."""
        return bool(self.columns)

    def make(self, values: Iterator[Any]) -> Any:
        """Of numbers of the script these are some. Raises what the user's function raises, and FloatingPointError where
        numpy may warn: of the user's line."""
        return self._made_of([*values], [_SOME[kind] for _, kind in self.columns])

    def _made_of(self, values: Sequence[Any], numbers: Sequence[Any]) -> Any:
        found: list[str] = []
        with np.errstate(all="call", call=lambda kind, flag: found.append(kind)):
            made = self.make_late(values, numbers)
        if found:
            raise FloatingPointError(found[0])
        return made

    def rehearse(self, values: Sequence[Any]) -> None:
        """Makes it of some numbers of the script, each way of all branches, and raises as `make` and check_like do."""
        for way in (True, False):
            made = self._made_of(values, [way if kind == "way" else _SOME[kind] for _, kind in self.columns])
            self.like = like(made) if self.like is None else self.like
            self.check_like(made)

    def make_late(self, values: Sequence[Any], numbers: Sequence[Any]) -> Any:
        """Of the script's numbers, too. Raises what the user's code raises."""
        return self._make(_Known(values, numbers, {}, {}))

    def make_all(self, values: Sequence[Sequence[Any]], columns: Sequence[Any]) -> list[Any]:
        """The same of all samples of a batch, of the core's columns of numbers."""
        numbers = [list(map(type(_SOME[kind]), columns[column].tolist())) for column, kind in self.columns]
        return list(map(self.make_late, values, zip(*numbers, strict=True)))

    def check(self, columns: Sequence[Sequence[Any]]) -> None:
        """Raises UnreadableError for what code may do more with than is listed."""
        for expression, values in zip(self.numbers, columns, strict=True):
            if not all(map(_is_plain, values)):
                raise UnreadableError(f"calls a function with {expression}", expression)

    def check_like(self, value: Any) -> Any:
        """The same value. Raises TypeError for one of another kind than the first."""
        if like(value) != self.like:
            raise TypeError(f"{type(value).__qualname__} of another kind than in the first sample")
        return value


# Numbers of the script by their kinds, to see what is made of some.
_SOME: dict[str, Any] = {"int": 1, "float": 0.5, "bool": True, "way": True}


def _is_plain(value: Any) -> bool:
    """Whether it is a text, a number, an array of numbers that lie in order, or a list of these."""
    kind = type(value)
    if kind in (list, tuple):
        return {*map(type, value)} <= _LEAVES or all(map(_is_plain, value))
    if kind is np.ndarray:
        return bool(value.dtype.kind in "biuf" and value.flags.c_contiguous)
    if kind is torch.Tensor:
        return bool(value.is_contiguous() and not value.requires_grad and value.device.type == "cpu")
    return kind in _LEAVES


def kept(value: Any) -> Any:
    """A value that is worked out ahead, as it is now: code may change lists and arrays of the dataset."""
    kind = type(value)
    if kind is TensorItem:
        return torch.tensor(int(value))
    if kind is torch.Tensor:
        return value.clone()
    if kind is np.ndarray:
        return value.copy()
    return kind(map(kept, value)) if kind in (list, tuple) else value


def like(value: Any) -> Any:
    """What collate functions go by."""
    of_array = (value.dtype, value.ndim) if isinstance(value, torch.Tensor | np.ndarray) else ()
    return type(value), *of_array


def made_apart(compiler: Compiler, of: Expression) -> MadeApart:
    """Raises UnreadableError for what Python may not make out of order."""
    maker = _Maker(compiler)
    make = maker.whole(of)
    if not (maker.leaves or maker.columns or of.has(Call)):
        raise UnreadableError(f"gives {of}", of)
    calls = any(isinstance(part, Apart) for part in parts_of(of))
    if calls and maker.columns:  # it would be called more than once
        raise UnreadableError(f"calls a function by what is drawn, or known of an image: {of}", of)
    return MadeApart(tuple(maker.leaves), make, tuple(maker.columns), maker.memory(of), calls=calls)


def note_change(compiler: Compiler, stored: Stored) -> None:
    """Notes that items of an array are set which is no image. Raises UnreadableError unless nothing but the sample has
    it."""
    if not is_new(compiler.own, stored.owner):
        raise UnreadableError(f"sets {stored.owner}[{stored.key}]", stored)
    compiler.stored_apart.append(stored)
    compiler.account(stored)


def is_new(own: OwnCode, of: Expression) -> bool:
    """Whether an array or a tensor has memory of its own, which was made for its sample."""
    match of:
        case Filled(of=before):
            return is_new(own, before)
        case Call(function=function, arguments=(given, *_)) if _is_list(own, given):
            called = own.if_seen(function)
            return makes_anew(own, of) or any(called is each for each in _NEW_OF_LISTS)
    return makes_anew(own, of)


def _is_list(own: OwnCode, of: Expression) -> bool:
    """Whether it is a list that code makes, or one of the lists in a list."""
    match of:
        case Display() | Extended():
            return True
        case Item(owner=owner, key=Index()):
            lists = own.if_seen(owner)
            return type(lists) is list and len(lists) > 0 and {*map(type, lists)} == {list}
    return False


def check_seconds(makers: Sequence[Callable[[int], Any]], count: int, *, calls: bool) -> None:
    """Raises UnreadableError where Python takes long to make a sample's values, or cannot make the first ones.

    calls  it calls functions of the user's for them
    """
    most = _SECONDS_MAX if calls else _SECONDS_MAX_UNCALLED
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
    if min(took, default=0.0) > most:
        raise UnreadableError(f"calls a function that takes {min(took) * 1e6:.0f} us, which workers call side by side")


class _Maker:
    """Turns an expression into what makes its value of a sample.

    leaves   what is worked out ahead
    columns  numbers of the script, as MadeApart has them
    """

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler
        self.leaves: list[Expression] = []
        self.columns: list[tuple[int, str]] = []
        # Places in columns: of numbers, by the ids of expressions, with the block of instructions that sets them; and
        # of which way was gone, by the id of a branch's first side.
        self._numbers: dict[int, tuple[int, list[Any]]] = {}
        self._ways: dict[int, int] = {}
        self._changes: list[Stored] = []
        self._plain: set[int] = set()  # by the ids of expressions, what nobody can change
        self._loose: dict[int, frozenset[Expression]] = {}

    def whole(self, of: Expression) -> _Make:
        """With all that is set in it, in the code's order."""
        compiler = self._compiler
        needed = {id(part): part for part in parts_of(of)}
        left = compiler.stored_apart
        while taken := [each for each in left if id(each.owner) in needed]:
            left = [each for each in left if id(each.owner) not in needed]
            self._changes += taken
            needed |= {id(part): part for each in taken for part in parts_of(each)}
        compiler.given_apart |= {id(each) for each in self._changes}
        if not self._changes:
            return self.of(of)
        steps = self._steps(compiler.own.reading.evaluated, needed)
        make = self.of(of)

        def run(known: _Known) -> Any:
            for step in steps:
                step(known)
            return make(known)

        return run

    def _steps(self, evaluated: Sequence[Any], needed: dict[int, Expression]) -> list[_Make]:
        """What is done one after the other of what the code evaluates."""
        steps: list[_Make] = []
        for each in evaluated:
            if isinstance(each, Repeated):
                steps += self._steps(each.turn, needed)
            elif isinstance(each, Branch):
                steps += self._branch(each, needed)
            elif any(each is change for change in self._changes):
                parts = each.owner, each.key, each.item
                steps.append(self._call(operator.setitem, list(map(self.of, parts)), {}))
            elif id(each) in needed and self._is_array(each):
                steps.append(self.of(each))
        return steps

    def _branch(self, branch: Branch, needed: dict[int, Expression]) -> list[_Make]:
        compiler = self._compiler
        sides = compiler.branches.get(branch.number)
        if not isinstance(sides, tuple):
            return self._steps(branch.then if sides else branch.otherwise, needed)
        ways = []
        for side, evaluated in zip(sides, (branch.then, branch.otherwise), strict=True):
            with compiler.inside(side):
                ways.append(self._steps(evaluated, needed))
        if not any(ways):
            return []
        at = self._way(sides)

        def step(known: _Known) -> None:
            for each in ways[0] if known.numbers[at] else ways[1]:
                each(known)

        return [step]

    def _is_array(self, of: Expression) -> bool:
        """Whether it may be, or have a part that is, an array that items are set of: it is made in its turn."""
        if isinstance(of, Attribute) and of.name not in _ASKED:
            return False  # a method
        return not self._loose_in(of) and self._compiler.is_changed(of)

    def _way(self, sides: tuple[list[Any], list[Any]]) -> int:
        """Which number says that a branch was gone by its first side."""
        key = id(sides[0])
        if key not in self._ways:
            compiler = self._compiler
            register = compiler.register("int")
            for side, holds in zip(sides, (1, 0), strict=True):
                side.append({"do": "let", "number": register, "value": holds})
            self._ways[key] = self._column(register, "way")
        return self._ways[key]

    def _column(self, register: int, kind: str) -> int:
        self.columns.append((self._compiler.column_of(register), kind))
        return len(self.columns) - 1

    def _number(self, of: Expression) -> _Make:
        """A number of the script. Raises UnreadableError for what is none of Python's."""
        compiler = self._compiler
        number = compiler.number(of)
        if number.kind not in _SOME and not number.is_constant:
            raise UnreadableError(f"reckons with {of}", of)
        self._plain.add(id(of))
        if number.is_constant:
            return _same(number.value)
        at, block = self._numbers.get(id(of), (0, None))
        if block is None or not compiler.is_in(block):  # one side of a branch does not set what the other one uses
            known = isinstance(number.json, list) and number.json[0] == "number"
            register = number.json[1] if known else compiler.let(number.json, number.kind).json[1]
            at = self._column(register, number.kind)
            self._numbers[id(of)] = at, compiler.into
        return lambda known: known.numbers[at]

    def _loose_in(self, of: Expression) -> frozenset[Expression]:
        """What lists loops go over of which it has the Member, outside of what is made by these loops."""
        found = self._loose.get(id(of))
        if found is None:
            match of:
                case Member(owner=owner):
                    found = frozenset((owner,))
                case Spread(item=item, owner=owner):
                    found = (self._loose_in(item) - {owner}) | self._loose_in(owner)
                case Filled(of=before, key=key, item=item, owner=owner) if owner != NONE:
                    inner = self._loose_in(key) | self._loose_in(item)
                    found = self._loose_in(before) | (inner - {owner}) | self._loose_in(owner)
                case _:
                    found = frozenset[Expression]().union(*map(self._loose_in, own_parts(of)))
            self._loose[id(of)] = found
        return found

    def memory(self, of: Expression) -> frozenset[int] | None:
        """What MadeApart says of a value's memory, once it is known how the value is made."""
        own = self._compiler.own
        made = frozenset((id(of),))
        match of:
            case Filled(of=before):
                return self.memory(before)
            case Constant() | Index() | Text():
                return frozenset()
            case Attribute(name=name) if name in _ASKED:
                return frozenset()
            case _ if id(of) in self._plain:
                return frozenset()
            case _ if is_new(own, of):
                return made
            case _ if not of.has(_DIFFERING, _BUILT):
                seen = own.if_seen(of)
                return frozenset() if seen is not None and type(seen) in (*PLAIN, ModuleType) else None
            case Call(function=Attribute(name=name)) if name in _FRESH_NAMES:
                return made
            case Call(function=function) if any(own.if_seen(function) is each for each in _FRESH):
                return made
            case Apart(arguments=arguments, options=options):
                parts = (*arguments, *(each for _, each in options))
                return self._memory_of(made, [each for each in parts if each.has(_DIFFERING, _BUILT)])
            case Call(function=function, arguments=arguments, options=options):
                parts = (*arguments, *(each for _, each in options))
                return self._memory_of(made, (function.owner, *parts) if isinstance(function, Attribute) else parts)
            case Either(then=then, otherwise=otherwise):
                return self._memory_of(frozenset(), (then, otherwise))
            case Item(owner=owner) | Part(owner=owner) | Member(owner=owner):
                return self.memory(owner)
            case Spread(item=item):
                return self.memory(item)
        return self._memory_of(made, own_parts(of))

    def _memory_of(self, found: frozenset[int], parts: Sequence[Expression]) -> frozenset[int] | None:
        """The same of several."""
        for held in map(self.memory, parts):
            if held is None:
                return None
            found |= held
        return found

    def of(self, of: Expression) -> _Make:
        if isinstance(of, Constant):
            return _same(of.value)
        if isinstance(of, Member):
            return lambda known: known.members[of.owner]
        if not of.has(_DIFFERING, _BUILT):
            try:
                return self._fixed(of)
            except UnreadableError:
                if not isinstance(of, Call):
                    raise
        changed = self._compiler.is_changed(of)
        if of.has(Index) and not changed and not self._loose_in(of):
            with suppress(UnreadableError, ArithmeticError, LookupError, TypeError, ValueError):
                return self._leaf(of)
        if of.has(Drawn, Attribute) and not changed and not self._loose_in(of):
            with suppress(UnreadableError):
                return self._number(of)
        make, key = self._made(of), id(of)
        if self._loose_in(of):
            return make

        def once(known: _Known) -> Any:
            if key not in known.made:
                known.made[key] = make(known)
            return known.made[key]

        return once

    def _leaf(self, of: Expression) -> _Make:
        """What is worked out ahead."""
        moved, row = row_of(self._compiler, of)
        if row is not INDEX:
            raise UnreadableError(f"calls a function with what is drawn: {of}", of)
        (first,) = self._compiler.values(moved).work_out(range(1))[0]
        first = kept(first)
        if not _is_plain(first):
            raise UnreadableError(f"calls a function with {of}", of)
        if type(first) not in _COPIED:
            self._plain.add(id(of))
        if moved not in self.leaves:
            self.leaves.append(moved)
        at, key = self.leaves.index(moved), id(of)
        if type(first) not in _COPIED:
            return lambda known: known.rows[at]

        def once(known: _Known) -> Any:
            if key not in known.made:
                known.made[key] = kept(known.rows[at])
            return known.made[key]

        return once

    def _fixed(self, of: Expression, *, any_kind: bool = False) -> _Make:
        """What is the same for all samples."""
        value = self._compiler.own.means(of)
        is_dtype = is_a(value, np.dtype) or (is_a(value, type) and derives(value, np.generic))
        if type(value) not in PLAIN and not is_dtype and not any_kind:
            raise UnreadableError(f"gives {of}", of)
        return _same(value)

    def _argument(self, of: Expression) -> _Make:
        """The same, whatever it is: the function was looked through with it (../own/pure.py)."""
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
            case Either():
                return self._either(of)
            case Filled(of=before, key=key, item=item, owner=owner):
                return self._filled(of, before, key, item, owner)
            case Display(kind=kind, items=items) if kind in (list, tuple) and of.spread:
                return self._spread(kind, items)
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
            case Binary(operator=sign, left=left, right=right) if any(of is each.item for each in self._changes):
                return self._call(IN_PLACE[sign], [self.of(left), self.of(right)], {})
            case Unary(operator=sign, operand=operand) if sign in _UNARY:
                return self._call(_UNARY[sign], [self.of(operand)], {})
            case Text(parts=parts):
                return self._call(lambda *each: "".join(map(format, each)), list(map(self.of, parts)), {})
            case Attribute(owner=owner, name=name) if name in _ASKED:
                return self._call(operator.attrgetter(name), [self.of(owner)], {})
            case Call(function=function, arguments=arguments, options=options):
                return self._called(of, function, arguments, dict(options))
        raise UnreadableError(f"gives {of}", of)

    def _either(self, of: Either) -> _Make:
        """One of two values, by which way of a branch was gone."""
        compiler = self._compiler
        sides = compiler.branches.get(of.number)
        if not isinstance(sides, tuple):
            return self.of(compiler.way_of(of))
        ways = []
        for side, each in zip(sides, (of.then, of.otherwise), strict=True):
            with compiler.inside(side):
                ways.append(self.of(each))
        at = self._way(sides)
        return lambda known: (ways[0] if known.numbers[at] else ways[1])(known)

    def _filled(
        self, of: Expression, before: Expression, key: Expression, item: Expression, owner: Expression
    ) -> _Make:
        """An array of which items are set, once or for each item of a list."""
        if not is_new(self._compiler.own, before):
            raise UnreadableError(f"gives {of}", of)
        array, where, what = self.of(before), self.of(key), self.of(item)

        def once(known: _Known) -> Any:
            made = array(known)
            made[where(known)] = what(known)
            return made

        if owner == NONE:
            return once
        whole = self.of(owner)

        def each(known: _Known) -> Any:
            made = array(known)
            for member in _listed(whole(known)):
                known.members[owner] = member
                made[where(known)] = what(known)
            return made

        return each

    def _spread(self, kind: type, items: tuple[Expression, ...]) -> _Make:
        """A list of as many items as another has."""
        makes = [(each, self.of(each.owner), self.of(each.item)) if isinstance(each, Spread) else self.of(each)
                 for each in items]  # fmt: skip

        def make(known: _Known) -> Any:
            made: list[Any] = []
            for each in makes:
                if not isinstance(each, tuple):
                    made.append(each(known))
                    continue
                spread, whole, item = each
                for member in _listed(whole(known)):
                    known.members[spread.owner] = member
                    made.append(item(known))
            return kind(made)

        return make

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


def _listed(whole: Any) -> Any:
    """What a loop goes over. Raises TypeError for what may give other things each time."""
    if type(whole) not in (list, tuple):
        raise TypeError(f"a loop over a {type(whole).__qualname__}")
    return whole


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
