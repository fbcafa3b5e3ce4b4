"""Reads a function, and those that it calls."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from .expressions import (
    SIGNS,
    Apart,
    Attribute,
    Batch,
    Binary,
    Call,
    Chosen,
    Constant,
    Display,
    Drawn,
    Either,
    Expression,
    Index,
    Item,
    Iterated,
    Itself,
    Mapping,
    Name,
    Part,
    UnreadableError,
    as_constant,
    parts_of,
)
from .machine import ITEMS_MAX, Machine
from .reading import Callee, Choice, Reading, Shuffled, extent_of

_VERSIONS = range(10, 15)  # of Python 3

# Functions that are read through within functions.
_DEPTH_MAX = 12

_OF_WHOLE_NUMBERS = ("*", "+", "-", "//")


def check_python() -> None:
    """Raises UnreadableError where instructions are not known."""
    if sys.implementation.name != "cpython" or sys.version_info[0] != 3 or sys.version_info[1] not in _VERSIONS:
        raise UnreadableError(f"has bytecode of {sys.implementation.name} {sys.version.split()[0]}")


def _unknown(expression: Expression) -> Any:
    raise UnreadableError(f"goes over {expression}")


@dataclass(eq=False)
class Reader:
    """Reads a function, and those that it calls: `read` may be called once.

    decide, callee, value, draws, given, keeps  as the package says
    chosen  what a call draws of a list
    listed  of an item of a list of things, at a place that is drawn: which place that is as an int, and the things
    apart   whether a function that cannot be read through may be called as it is: then its call is Apart
    count   how many items a list or tuple has that differs with the index, the same for every index; 0 for others
    told    what a text or a number is that code makes of what is the same for every index, for keys of dicts
    turns   with draws: whether one turn is read of a loop over what differs with the index, how many there may be

    numbers_alone  with draws: whether code that has evaluated this has had nothing to do with images
    names   of a batch: the names in a dict that differs with the sample, the same for all; None for others

    decide, callee, value and told may raise UnreadableError for what they cannot tell.
    """

    decide: Callable[[Expression], bool]
    callee: Callable[[Expression], Callee | None] = lambda expression: None
    value: Callable[[Expression], Any] = _unknown
    draws: Callable[[Expression], bool] | None = None
    given: Callable[[Call, str], Expression | None] = lambda made, name: None
    chosen: Callable[[Call], Choice | None] = lambda call: None
    listed: Callable[[Item], tuple[Expression, tuple[Expression, ...]] | None] = lambda item: None
    keeps: Callable[[Attribute, Expression], bool] = lambda attribute, value: False
    apart: Callable[[Expression, Callee], bool] = lambda expression, callee: False
    count: Callable[[Expression], int] = lambda expression: 0
    turns: Callable[[], bool] = lambda: False
    told: Callable[[Expression], Any] = _unknown
    numbers_alone: Callable[[Iterable[Expression]], bool] = lambda evaluated: False
    names: Callable[[Expression], tuple[Any, ...] | None] = lambda expression: None

    def __post_init__(self) -> None:
        self.kept: dict[Expression, Expression] = {}  # attributes that were set, and to what
        self.numbers = itertools.count()
        self.choices: set[int] = set()  # numbers of what is one of the things that were drawn of a list
        self.running: list[Machine] = []  # each called by the one before it
        self.samples = self.looping = False  # loops go through the samples of a batch; one does now
        self._used: list[Expression] = []
        self.again: list[Expression] = []
        self._before = 0  # what was evaluated before the loop
        self.evaluated: list[Any] = []
        self.through: list[Expression] = []  # the functions that were read, as they were called
        self.gone: list[Expression] = []  # what gives its items but once, and has
        self.conditions: list[tuple[Expression, bool]] = []
        self.asserted: list[tuple[Expression, bool]] = []
        self.extents: list[tuple[Expression, Any]] = []
        self.places: dict[Expression, str] = {}
        self.imports: list[str] = []
        self.steps = self.forks = 0
        self._depth = 0

    def read(self, function: Any, arguments: tuple[Expression, ...] = (Itself(), Index())) -> Reading:
        """What `function(*arguments)` does: as read_call."""
        return self.read_call(Callee(function, Itself(), arguments))

    def read_call(self, called: Callee) -> Reading:
        """What a call does; loops are read where a Batch is among its arguments. Raises UnreadableError.

        Whatever is evaluated is part of what is given, of what is loose, or of a condition, asserted or not.
        """
        check_python()
        if type(called.function) is not FunctionType:
            raise UnreadableError(f"is a {type(called.function).__name__}, not a plain function")
        self.samples = Batch() in called.arguments
        result = self.run(called)
        loose = self.through if self.draws is not None else self._loose(result)
        return Reading(
            result, tuple(self.evaluated), tuple(loose), tuple(self.again), tuple(self.conditions),
            tuple(self.extents), self.places, tuple(self.imports), tuple(self.asserted),
        )  # fmt: skip

    def _loose(self, result: Expression) -> list[Expression]:
        """What was evaluated, and is part of nothing that counts."""
        wholes = [result, *(condition for condition, _ in (*self.conditions, *self.asserted)), *self.through]
        known = {id(part) for whole in wholes for part in parts_of(whole)}
        loose = []
        for each in reversed(self.evaluated):  # what something is made of comes before it
            if id(each) not in known and not isinstance(each, Display | Mapping):
                loose.append(each)
                known |= set(map(id, parts_of(each)))
        return loose

    def begin(self) -> None:
        """Begins with a loop. Raises UnreadableError if it is within another."""
        if self.looping:
            raise UnreadableError("has a loop in a loop")
        self.looping, self._before = True, len(self.evaluated)

    def use(self, value: Expression) -> None:
        """Notes what a call has given as it is gone through, unpacked or given on: an iterator gives it but once."""
        if self.samples and isinstance(value, Call):
            several = self.looping and any(value is each for each in self.evaluated[: self._before])
            (self.again if several or any(value is each for each in self._used) else self._used).append(value)

    def items(self, of: Expression) -> tuple[Expression, ...]:
        """What a loop over an expression goes over. Raises UnreadableError."""
        self.through.append(of)
        match of:
            case Display(items=items, spread=False):
                return items
            case Iterated(items=items):
                self._take(of)
                return items
            case Mapping(names=names):
                return tuple(map(as_constant, names))
            case Call(function=Attribute(owner=owner, name="items" | "keys" | "values" as name), arguments=()):
                values: tuple[Expression, ...] = owner.items if isinstance(owner, Mapping) else ()
                names = self.items(owner)
                if not isinstance(owner, Mapping):
                    if self.names(owner) is None and (owner.has(Batch) or type(self.value(owner)) is not dict):
                        raise UnreadableError(f"goes over {of}", of)
                    values = tuple(Item(owner, each) for each in names)
                pairs = (Display(tuple, pair) for pair in zip(names, values, strict=True))
                return names if name == "keys" else values if name == "values" else tuple(pairs)
            case Call(function=Name() as function, arguments=arguments, options=()) if arguments:
                called = self.value(function)
                if called is range:
                    return self._range(arguments)
                self._take(of)
                if called is zip:
                    return tuple(Display(tuple, pair) for pair in zip(*map(self.items, arguments), strict=False))
                if called is enumerate and len(arguments) == 1:
                    numbered = enumerate(self.items(arguments[0]))
                    return tuple(Display(tuple, (as_constant(n), each)) for n, each in numbered)
                raise UnreadableError(f"goes over {of}", of)
        if 0 < (count := self.count(of)) <= ITEMS_MAX:
            parts = tuple(Part(of, number, count) for number in range(count))
            self.add(parts[0], self.running[-1].place)  # it says how many there are, used or not
            return parts
        known = self.names(of)
        if known is not None:
            return tuple(map(as_constant, known))
        if of.has(Batch):
            raise UnreadableError(f"goes over {of}", of)
        extent = extent_of(self.value(of))
        names = extent if type(extent) is tuple else ()
        if extent is None or not set(map(type, names)) <= {str, int}:
            raise UnreadableError(f"goes over {of}", of)
        self.extents.append((of, extent))
        if type(extent) is tuple:
            return tuple(map(as_constant, names))
        return tuple(Item(of, as_constant(n)) for n in range(min(extent, ITEMS_MAX + 1)))

    def _take(self, of: Expression) -> None:
        """What gives its items but once gives them. Raises UnreadableError where it has."""
        if any(of is each for each in self.gone):
            raise UnreadableError(f"goes over {of} twice", of)
        self.gone.append(of)

    def _range(self, arguments: tuple[Expression, ...]) -> tuple[Expression, ...]:
        """The items of range(*arguments): numbers, or a begin that is known later plus numbers."""
        match arguments:
            case (begin, Binary(operator="+", left=left, right=right), *step) if (
                self.draws is not None and len(step) < 2 and begin in (left, right) and not isinstance(begin, Constant)
            ):
                places = range(0, self._number(right if left == begin else left), *map(self._number, step))
                return tuple(Binary("+", begin, as_constant(place)) for place in places[: ITEMS_MAX + 1])
        return tuple(map(as_constant, range(*map(self._number, arguments))[: ITEMS_MAX + 1]))

    def _number(self, of: Expression) -> int:
        """A number that is the same for every index."""
        match of:
            case Binary(operator=sign, left=left, right=right) if sign in _OF_WHOLE_NUMBERS:
                return int(SIGNS[sign](self._number(left), self._number(right)))
            case Call(function=Name() as function, arguments=(whole,), options=()):
                known: Any = len
                if self.value(function) is known:
                    return len(self.items(whole))
        found = self.value(of)
        if type(found) is not int:
            raise UnreadableError(f"counts by {of}", of)
        return int(found)

    def run(self, called: Callee, around: tuple[Expression, ...] = ()) -> Expression:
        """What a function returns; `around` is what its variables of functions around are."""
        if self._depth == _DEPTH_MAX:
            raise UnreadableError(f"calls functions {_DEPTH_MAX} deep")
        machine = Machine(called, self, around)
        self._depth += 1
        self.running.append(machine)
        try:
            return machine.run()
        except UnreadableError as error:
            error.place = error.place or machine.place
            raise
        finally:
            self._depth -= 1
            self.running.pop()

    def result(self, value: Expression, called: Callee, place: str) -> Expression:
        """What the function gives that a value calls, read through or called as it is."""
        self.through.append(called.called)
        logs: tuple[list[Any], ...] = (
            self.evaluated, self.through, self.gone, self.again, self._used, self.conditions, self.asserted,
            self.extents, self.imports,
        )  # fmt: skip
        before = [len(each) for each in logs], [each.state for each in self.running], (self.looping, self._before)
        try:
            return self.run(called)
        except UnreadableError as error:
            if not self.apart(value, called):
                raise
            for each, length in zip(logs, before[0], strict=True):
                del each[length:]
            for machine, state in zip(self.running, before[1], strict=True):
                machine.stack, machine.locals, machine.made = state
            self.looping, self._before = before[2]
            why = error.args[0], error.place
        made = Apart(value, called.function, called.arguments, called.options, why)
        self.add(made, place)
        return made

    def add(self, value: Expression, place: str) -> None:
        """Something is evaluated; what is alike was evaluated where it came first."""
        self.evaluated.append(value)
        self.places.setdefault(value, place)

    def one_of(self, drawn: Expression) -> tuple[Expression, Expression | None]:
        """What is known of what a call gives that draws of a list; and the list, if that becomes it."""
        assert isinstance(drawn, Drawn) and isinstance(drawn.call, Call)
        choice = self.chosen(drawn.call)
        if choice is None:
            return drawn, None
        if choice.kind is Shuffled:
            assert choice.of is not None
            return Item(choice.of, drawn), choice.of
        made = [self.at_place(Chosen(drawn, n), choice.items) for n in range(choice.count or 1)]
        return made[0] if choice.count is None else Display(choice.kind, tuple(made)), choice.of

    def at_place(self, place: Expression, items: tuple[Expression, ...]) -> Expression:
        """The item at a place that is drawn; the place itself where there are none."""
        made = items[-1] if items else place
        for n in range(len(items) - 2, -1, -1):
            number = next(self.numbers)
            self.choices.add(number)
            made = Either(Binary("==", place, as_constant(n)), items[n], made, number)
        return made
