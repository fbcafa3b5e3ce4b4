"""What a `__getitem__` does for an index, read from its bytecode without running it.

`read(function, decide)` follows code that runs straight through, and says as expressions what is evaluated and what is
given:

    def __getitem__(self, index):
        row = self.rows[index]
        image = Image.open(os.path.join(self.root, row["file"])).convert("RGB")
        if self.transform is not None:
            image = self.transform(image)
        return image, int(row["label"])

Which way a branch goes is asked for: `decide` says it of conditions that are the same for every index. So is whose
code a call, a property or a subscript runs, if that is to be read as well: `callee` says it; and what a loop goes over:
`value` says it of what is the same for every index. A loop is followed item by item, and so is a comprehension; of what
is taken by the index (`self.text[index : index + 8]`) one turn is read, as of the samples below. What an expression
means (whether a name is what it seems to be, whether a call has effects) is for the caller to find out.

Where a `draws` is given, calls of random numbers are told apart (Drawn), and a branch that `decide` cannot tell is
followed both ways to where they meet (Branch): behind it a value is Either the one or the other. What sets an item of
something that was not made here is told as well (Stored). A way that is not understood, or raises, is Unknown; so are
turns of a loop that draws anew (`while other == index`), from the 17th on. What raises is left to the code itself:
handlers of exceptions are read past. What an object that the code makes has by a name is for `given` to say.

A `collate_fn` is read as well: of a batch of samples, which its loops and comprehensions go through. What a loop does
for a sample is read once, as an expression of the Member that it is at; a list that it fills has a Spread in it.

An attribute that the code sets is what it was set to from there on, if `keeps` says that it may set it.

Anything else (an instruction that is not in the table below) is not understood, which is an answer too. The
instructions are those of CPython 3.10 to 3.14, where the tests of this module ran; in any other Python nothing is
understood.
"""

from __future__ import annotations

import copy
import dis
import importlib.util
import inspect
import itertools
import operator
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from types import CellType, CodeType, FunctionType
from typing import Any, ClassVar

_VERSIONS = range(10, 15)  # of Python 3

# Functions that are read through within functions.
_DEPTH_MAX = 12

# Items that a loop goes over, and instructions that are followed in all.
_ITEMS_MAX = 256
_STEPS_MAX = 60_000

# Turns that are followed of a loop which goes on while two values are equal, as comparisons come out then.
_TURNS_MAX = 16
_PARTS_MAX = 1_000  # in all variables then
_SELDOM = {"==": True, "!=": False}


class UnreadableError(Exception):
    """Says what of a function is not understood, as the end of a sentence.

    of     the expression it is about, if it is about one
    place  "file.py:12"; "" if that is not known yet
    """

    def __init__(self, why: str, of: Expression | None = None, place: str = "") -> None:
        super().__init__(why)
        self.of, self.place = of, place

    def __str__(self) -> str:
        return f"{self.args[0]} ({self.place})" if self.place else str(self.args[0])


class _TurnsError(UnreadableError):
    """A loop that goes on drawing anew."""


class Expression:
    """What is known of a value. Expressions are equal if they are spelt alike, and str() spells them, cut if need be.

    What an expression is made of may be in it many times over: hashes, spellings and the like are found once.
    """

    spelling: ClassVar[str] = ""  # for str.format; "" where nobody gets to read it

    def __eq__(self, other: object) -> bool:
        if self is other or type(other) is not type(self):
            return self is other
        names = fields_of(self)
        return hash(self) == hash(other) and all(getattr(self, name) == getattr(other, name) for name in names)

    def __hash__(self) -> int:
        return int(self._once("hash", lambda: hash((type(self), *(getattr(self, name) for name in fields_of(self))))))

    def __str__(self) -> str:
        return str(self._once("text", lambda: _cut(self._spelt(), _TEXT_MAX)))

    def __format__(self, _: str) -> str:
        """How messages spell it: cut."""
        return _cut(str(self), 80)

    def _spelt(self) -> str:
        return self.spelling.format(self) if self.spelling else repr(self)

    def _once(self, name: str, find: Callable[[], Any]) -> Any:
        kept = self.__dict__.get("_kept")
        if kept is None:
            object.__setattr__(self, "_kept", kept := {})
        if name not in kept:
            kept[name] = find()
        return kept[name]


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."


_TEXT_MAX = 2000


class _Alone(Expression):
    """One that is equal to itself alone."""

    __eq__ = object.__eq__
    __hash__ = object.__hash__


@dataclass(frozen=True, eq=False)
class Itself(Expression):
    """The dataset."""

    spelling = "self"


@dataclass(frozen=True, eq=False)
class Index(Expression):
    """The index."""

    spelling = "index"


@dataclass(frozen=True, eq=False)
class Batch(Expression):
    """The list of samples that a collate_fn gets."""

    spelling = "batch"


@dataclass(frozen=True, eq=False)
class Member(Expression):
    """The one that a loop over `owner` is at."""

    spelling = "{0.owner!s}[i]"
    owner: Expression


@dataclass(frozen=True, eq=False)
class Spread(Expression):
    """As many items of a list, or arguments, as there are in `owner`: `item` for each Member of it."""

    spelling = "*({0.item!s} for {0.owner!s})"
    item: Expression
    owner: Expression


@dataclass(frozen=True, eq=False)
class Constant(Expression):
    """A constant of the code.

    kind  its type, since 1 and True are equal
    """

    spelling = "{0.value!r}"
    value: Any
    kind: type

    def __eq__(self, other: object) -> bool:
        return type(other) is Constant and self._itself() == other._itself()

    def __hash__(self) -> int:
        return hash(self._itself())

    def _itself(self) -> tuple[type, Any]:
        # 0.0 equals -0.0, frozenset({1}) equals frozenset({True}), and a NaN not even itself.
        return self.kind, repr(self.value) if self.kind in (float, complex, frozenset) else self.value


@dataclass(frozen=True, eq=False)
class Name(Expression):
    """A variable of the module or of a function around, or a builtin.

    function  whose variable it is
    """

    spelling = "{0.name!s}"
    name: str
    function: FunctionType


@dataclass(frozen=True, eq=False)
class Module(Expression):
    """A module that the function imports, by its whole name."""

    spelling = "{0.name!s}"
    name: str


@dataclass(frozen=True, eq=False)
class Attribute(Expression):
    """owner.name"""

    spelling = "{0.owner!s}.{0.name!s}"
    owner: Expression
    name: str


@dataclass(frozen=True, eq=False)
class Item(Expression):
    """owner[key]"""

    spelling = "{0.owner!s}[{0.key!s}]"
    owner: Expression
    key: Expression


@dataclass(frozen=True, eq=False)
class Part(Expression):
    """One of the items that owner is unpacked to, counted from 0: a ValueError unless there are `count` of them."""

    spelling = "{0.owner!s}[{0.number!s}]"
    owner: Expression
    number: int
    count: int


@dataclass(frozen=True, eq=False)
class Entered(Expression):
    """What `with manager as` gives."""

    spelling = "{0.manager!s}"
    manager: Expression


@dataclass(frozen=True, eq=False)
class Exited(Expression):
    """The end of `with manager`: nothing else is evaluated there."""

    spelling = "the end of {0.manager!s}"
    manager: Expression


@dataclass(frozen=True, eq=False)
class Closed(Expression):
    """A value that needs what a `with` entered, behind its end."""

    spelling = "{0.value!s}, which is closed"
    value: Expression


@dataclass(frozen=True, eq=False)
class Drawn(Expression):
    """What a call gives that draws random numbers: another one each time.

    number  tells it from all others
    """

    spelling = "{0.call!s}"
    call: Expression
    number: int


@dataclass(frozen=True, eq=False)
class Chosen(Expression):
    """The place, in the list that it was drawn of, of what was drawn as the number-th."""

    spelling = "the place of {0.drawn!s}"
    drawn: Drawn
    number: int


@dataclass(frozen=True, eq=False)
class Either(Expression):
    """`then` where a Branch's condition holds, else `otherwise`.

    number  the branch's
    """

    spelling = "({0.then!s} if {0.condition!s} else {0.otherwise!s})"
    condition: Expression
    then: Expression
    otherwise: Expression
    number: int


@dataclass(frozen=True, eq=False)
class Stored(Expression):
    """owner[key] = item: what it changes, nobody has made here."""

    spelling = "{0.owner!s}[{0.key!s}] = {0.item!s}"
    owner: Expression
    key: Expression
    item: Expression


@dataclass(frozen=True, eq=False)
class Unknown(Expression):
    """What nobody can say of a way that code may go.

    left  samples that go it may be left to the code itself: it comes to no return, or is hardly ever gone
    """

    why: str
    left: bool

    def _spelt(self) -> str:
        return f"what {self.why}"


@dataclass(frozen=True, eq=False)
class Branch:
    """A place where code goes one of two ways, and what it evaluates on each."""

    condition: Expression
    then: tuple[Expression | Branch, ...]
    otherwise: tuple[Expression | Branch, ...]
    number: int
    place: str


@dataclass(frozen=True, eq=False)
class _Exit(Expression):
    """What the end of `with manager` calls."""

    manager: Expression


@dataclass(frozen=True, eq=False)
class _Enter(Expression):
    """What the beginning of `with manager` calls, where that is an instruction of its own."""

    manager: Expression


@dataclass(frozen=True, eq=False)
class _Iterator(Expression):
    """What a loop still has to go over.

    of  what it was begun with
    """

    items: tuple[Expression, ...]
    of: tuple[Expression, ...] = ()


@dataclass(frozen=True, eq=False)
class _Through(Expression):
    """What a loop goes through of which one turn is read."""

    owner: Expression


@dataclass(frozen=True, eq=False)
class Inner(_Alone):
    """A function made within: a comprehension, a lambda or a def.

    around    the variables around that it uses
    defaults  what its last arguments are that are not given
    """

    function: FunctionType
    around: tuple[Expression, ...] = ()
    defaults: tuple[Expression, ...] = ()

    def _spelt(self) -> str:
        return self.function.__name__


@dataclass(frozen=True, eq=False)
class Call(Expression):
    """function(*arguments, **options)"""

    function: Expression
    arguments: tuple[Expression, ...]
    options: tuple[tuple[str, Expression], ...] = ()

    def _spelt(self) -> str:
        options = (f"{name}={value!s}" for name, value in self.options)
        return f"{self.function!s}({', '.join([*map(str, self.arguments), *options])})"


@dataclass(frozen=True, eq=False)
class Text(Expression):
    """f"{part}{part}...": without formats."""

    parts: tuple[Expression, ...]

    def _spelt(self) -> str:
        return "f'" + "".join(f"{{{part!s}}}" for part in self.parts) + "'"


@dataclass(frozen=True, eq=False)
class Binary(Expression):
    """left operator right: arithmetic, a comparison, "is", "is not", "in" or "not in".

    "+=" and the like change what can be changed, and give it.
    """

    spelling = "({0.left!s} {0.operator!s} {0.right!s})"
    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, eq=False)
class Unary(Expression):
    """operator operand: "-", "~" or, with draws, "not"."""

    spelling = "{0.operator!s}{0.operand!s}"
    operator: str
    operand: Expression


class _Made(Expression):
    """What code makes of other values.

    born  tells it from what was made before it
    """

    born: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "born", next(_births))


_births = itertools.count()


@dataclass(frozen=True, eq=False)
class Display(_Made):
    """A tuple, a list or a slice."""

    kind: type
    items: tuple[Expression, ...]

    def _spelt(self) -> str:
        if self.kind is slice:
            return ":".join("" if each == _None else str(each) for each in self.items)
        return f"{self.kind.__name__}({', '.join(map(str, self.items))})"


@dataclass(frozen=True, eq=False)
class Extended(_Made):
    """A list that was made here of the items of all these: of some nobody knows how many they have."""

    parts: tuple[Expression, ...]

    def _spelt(self) -> str:
        return f"[{', '.join(f'*{part!s}' for part in self.parts)}]"


@dataclass(frozen=True, eq=False)
class Apart(Expression):
    """What a call gives of a function that is not read through, but called as it is.

    call                           as code has it
    function, arguments, options   that function, and what it is called with
    why                            it is not read through: a message, and a place
    """

    spelling = "{0.call!s}"
    call: Expression
    function: FunctionType
    arguments: tuple[Expression, ...]
    options: tuple[tuple[str, Expression], ...]
    why: tuple[str, str]


@dataclass(frozen=True, eq=False)
class _Adding(_Alone):
    """owner.append or owner.extend, of a list that is being made."""

    owner: Display | Extended
    name: str


@dataclass(frozen=True, eq=False)
class Mapping(_Made):
    """A dict by constant names, str or int."""

    names: tuple[Any, ...]
    items: tuple[Expression, ...]

    def _spelt(self) -> str:
        return "{" + ", ".join(f"{name!r}: {item!s}" for name, item in zip(self.names, self.items, strict=True)) + "}"


def parts_of(expression: Expression) -> Iterator[Expression]:
    """An expression and all that it is made of, each object once."""
    seen: set[int] = set()
    work = [expression]
    while work:
        part = work.pop()
        if id(part) not in seen:
            seen.add(id(part))
            yield part
            work += reversed([*own_parts(part)])


def fields_of(expression: Expression) -> tuple[str, ...]:
    """The names of what an expression is made of."""
    kind: Any = type(expression)
    return _fields(kind)


@cache
def _fields(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def own_parts(expression: Expression) -> Iterator[Expression]:
    """What an expression is made of first."""
    for name in fields_of(expression):
        value = getattr(expression, name)
        for each in value if type(value) is tuple else (value,):
            part = each[1] if type(each) is tuple and len(each) == 2 else each
            if isinstance(part, Expression):
                yield part


@dataclass(frozen=True)
class Reading:
    """What a function does for an index.

    result      what it returns
    evaluated   whatever it evaluates on the way, in this order; the same objects as in result, loose and conditions.
                With `draws` there are Branches among them, and loose are functions that were read through, and what
                loops go over
    loose       what it evaluates besides, and never uses
    again       of calls, what is gone through, unpacked or given to others more than once
    conditions  those that decide which way it goes, and how they came out
    extents     what it loops over, and how much that is: a length, or the names in a dict
    places      where each expression was evaluated first: "file.py:12"
    imports     names of modules that it imports
    """

    result: Expression
    evaluated: tuple[Any, ...]
    loose: tuple[Expression, ...]
    again: tuple[Expression, ...]
    conditions: tuple[tuple[Expression, bool], ...]
    extents: tuple[tuple[Expression, Any], ...]
    places: dict[Expression, str]
    imports: tuple[str, ...] = ()


def _is_window(of: Expression) -> bool:
    """Whether it is items that are taken by a slice which depends on the index."""
    match of:
        case Item(key=Display(kind=kind) as key) if kind is slice:
            return any(isinstance(part, Index) for part in parts_of(key))
    return False


def extent_of(value: Any) -> Any:
    """How much a loop goes over; None for what is no list, tuple or dict."""
    if type(value) is dict:
        return tuple(value)
    return len(value) if type(value) in (list, tuple) else None


@dataclass(frozen=True)
class Choice:
    """What a call draws of a list of things that code calls, or looks into.

    items  of the list
    kind   list, if it gives a list; Several for an array
    count  how many are drawn; None for one, by itself
    """

    items: tuple[Expression, ...]
    kind: type = list
    count: int | None = None


class Several:
    """The kind of a Display that is an array of objects: it can be gone through, and little else."""


@dataclass(frozen=True)
class Callee:
    """A function whose code is to be read for an expression, what it is called, and what it is called with.

    defaults  what its last arguments are that are not given, of a function that was made within
    """

    function: FunctionType
    called: Expression
    arguments: tuple[Expression, ...]
    options: tuple[tuple[str, Expression], ...] = ()
    defaults: tuple[Expression, ...] = ()


def check_python() -> None:
    """Raises UnreadableError where instructions are not known."""
    if sys.implementation.name != "cpython" or sys.version_info[0] != 3 or sys.version_info[1] not in _VERSIONS:
        raise UnreadableError(f"has bytecode of {sys.implementation.name} {sys.version.split()[0]}")


def read(
    function: Any,
    decide: Callable[[Expression], bool],
    callee: Callable[[Expression], Callee | None] = lambda expression: None,
    value: Callable[[Expression], Any] | None = None,
    arguments: tuple[Expression, ...] = (Itself(), Index()),
    draws: Callable[[Expression], bool] | None = None,
    given: Callable[[Call, str], Expression | None] = lambda made, name: None,
    chosen: Callable[[Call], Choice | None] = lambda call: None,
    keeps: Callable[[Attribute, Expression], bool] = lambda attribute, value: False,
    apart: Callable[[Expression, Callee], bool] = lambda expression, callee: False,
) -> Reading:
    """What `function(*arguments)` does; loops are read where a Batch is among these.

    `apart` says whether a function that cannot be read through may be called as it is: its call is Apart then.

    Raises UnreadableError, as `decide` may for what it cannot tell.

    Whatever is evaluated is part of what is given, of what is loose, or of a condition.
    """
    check_python()
    if type(function) is not FunctionType:
        raise UnreadableError(f"is a {type(function).__name__}, not a plain function")
    reader = _Reader(decide, callee, value or _unknown, Batch() in arguments, draws, given, chosen, keeps, apart)
    result = reader.run(Callee(function, Itself(), arguments))
    if draws is not None:
        return _reading(reader, result, reader.through)
    wholes = [result, *(condition for condition, _ in reader.conditions)]
    known = {id(part) for whole in (*wholes, *reader.through) for part in parts_of(whole)}
    loose = []
    for each in reversed(reader.evaluated):  # what something is made of comes before it
        if id(each) not in known and not isinstance(each, Display | Mapping):
            loose.append(each)
            known |= set(map(id, parts_of(each)))
    return _reading(reader, result, loose)


def _reading(reader: _Reader, result: Expression, loose: list[Expression]) -> Reading:
    return Reading(
        result,
        tuple(reader.evaluated),
        tuple(loose),
        tuple(reader.again),
        tuple(reader.conditions),
        tuple(reader.extents),
        reader.places,
        tuple(reader.imports),
    )


def _unknown(expression: Expression) -> Any:
    raise UnreadableError(f"goes over {expression}")


class _Reader:
    """What is found out while functions are read."""

    def __init__(
        self,
        decide: Callable[[Expression], bool],
        callee: Callable[[Expression], Callee | None],
        value: Callable[[Expression], Any],
        samples: bool,
        draws: Callable[[Expression], bool] | None,
        given: Callable[[Call, str], Expression | None],
        chosen: Callable[[Call], Choice | None],
        keeps: Callable[[Attribute, Expression], bool],
        apart: Callable[[Expression, Callee], bool],
    ) -> None:
        """`samples`: loops go through those of a batch."""
        self.keeps, self.apart = keeps, apart
        self.kept: dict[Expression, Expression] = {}  # attributes that were set, and to what
        self.decide, self.callee, self.value, self.draws, self.given = decide, callee, value, draws, given
        self.chosen = chosen
        self.numbers = itertools.count()
        self.choices: set[int] = set()  # numbers of what is one of the things that were drawn of a list
        self.running: list[_Machine] = []  # each called by the one before it
        self.samples, self.looping = samples, False
        self._used: list[Expression] = []
        self.again: list[Expression] = []
        self._before = 0  # what was evaluated before the loop
        self.evaluated: list[Any] = []
        self.through: list[Expression] = []  # the functions that were read, as they were called
        self.gone: list[Expression] = []  # what gives its items but once, and has
        self.conditions: list[tuple[Expression, bool]] = []
        self.extents: list[tuple[Expression, Any]] = []
        self.places: dict[Expression, str] = {}
        self.imports: list[str] = []
        self.steps = 0
        self._depth = 0

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
            case Display(items=items):
                return items
            case _Iterator(items=items):
                self._take(of)
                return items
            case Mapping(names=names):
                return tuple(map(_constant, names))
            case Call(function=Attribute(owner=owner, name="items" | "keys" | "values" as name), arguments=()):
                values: tuple[Expression, ...] = owner.items if isinstance(owner, Mapping) else ()
                names = self.items(owner)
                if not isinstance(owner, Mapping):
                    if type(self.value(owner)) is not dict:
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
                    return tuple(Display(tuple, (_constant(n), each)) for n, each in numbered)
                raise UnreadableError(f"goes over {of}", of)
        extent = extent_of(self.value(of))
        names = extent if type(extent) is tuple else ()
        if extent is None or not set(map(type, names)) <= {str, int}:
            raise UnreadableError(f"goes over {of}", of)
        self.extents.append((of, extent))
        if type(extent) is tuple:
            return tuple(map(_constant, names))
        return tuple(Item(of, _constant(n)) for n in range(min(extent, _ITEMS_MAX + 1)))

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
                return tuple(Binary("+", begin, _constant(place)) for place in places[: _ITEMS_MAX + 1])
        return tuple(map(_constant, range(*map(self._number, arguments))[: _ITEMS_MAX + 1]))

    def _number(self, of: Expression) -> int:
        """A number that is the same for every index."""
        match of:
            case Binary(operator=sign, left=left, right=right) if sign in _WHOLE_NUMBERS:
                return _WHOLE_NUMBERS[sign](self._number(left), self._number(right))
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
        machine = _Machine(called, self, around)
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
            self.evaluated, self.through, self.gone, self.again, self._used, self.conditions, self.extents,
            self.imports,
        )  # fmt: skip
        before = [len(each) for each in logs], [each.state for each in self.running]
        try:
            return self.run(called)
        except UnreadableError as error:
            if not self.apart(value, called):
                raise
            for each, length in zip(logs, before[0], strict=True):
                del each[length:]
            for machine, state in zip(self.running, before[1], strict=True):
                machine.stack, machine.locals, machine.made = state
            why = error.args[0], error.place
        made = Apart(value, called.function, called.arguments, called.options, why)
        self.evaluated.append(made)
        self.places.setdefault(made, place)
        return made

    def one_of(self, drawn: Expression) -> Expression:
        """What is known of what a call gives that draws of a list."""
        assert isinstance(drawn, Drawn) and isinstance(drawn.call, Call)
        choice = self.chosen(drawn.call)
        if choice is None:
            return drawn
        made = [self._chosen(Chosen(drawn, n), choice.items) for n in range(choice.count or 1)]
        return made[0] if choice.count is None else Display(choice.kind, tuple(made))

    def _chosen(self, place: Chosen, items: tuple[Expression, ...]) -> Expression:
        made = items[-1]
        for n in range(len(items) - 2, -1, -1):
            number = next(self.numbers)
            self.choices.add(number)
            made = Either(Binary("==", place, _constant(n)), items[n], made, number)
        return made


def _check(code: CodeType, draws: bool) -> None:
    """Raises UnreadableError for code that is no plain function's, nor a comprehension's.

    draws  it may take any number of arguments, and handle exceptions: what it does then is never read
    """
    special = inspect.CO_COROUTINE | (0 if draws else inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    if code.co_name != "<genexpr>":
        special |= inspect.CO_GENERATOR
    if code.co_flags & (special | inspect.CO_ASYNC_GENERATOR):
        raise UnreadableError(f"takes or gives more in {code.co_name} than arguments and a value")
    handles = bool(getattr(code, "co_exceptiontable", b""))
    if not draws and handles and not all(map(_raises_on, _handlers(code))):
        raise UnreadableError("handles exceptions")


def _handlers(code: CodeType) -> Iterator[list[str]]:
    """How each handler of exceptions begins."""
    names = [(each.offset, each.opname) for each in _instructions(code)]
    for entry in dis.Bytecode(code).exception_entries:  # type: ignore[attr-defined] # Python 3.11
        yield [name for offset, name in names if offset >= entry.target]


def _raises_on(handler: list[str]) -> bool:
    """True for the handler of a `with`, and for one that a compiler adds, which only cleans up."""
    if handler[0] == "PUSH_EXC_INFO":
        return handler[1] == "WITH_EXCEPT_START"
    return "RERAISE" in handler and {*handler[: handler.index("RERAISE")]} <= _CLEANING


# CALL_INTRINSIC_1 is that of a generator, which turns a StopIteration into a RuntimeError.
_CLEANING = {
    "CALL_INTRINSIC_1", "COPY", "POP_EXCEPT", "POP_TOP", "STORE_FAST", "STORE_FAST_STORE_FAST", "SWAP",
}  # fmt: skip


def _bound(called: Callee) -> dict[str, Expression]:
    """The arguments of a function by their names."""
    function, code = called.function, called.function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    given = dict(zip(names[: code.co_argcount], called.arguments, strict=False))
    options = dict(called.options)
    wrong = UnreadableError(f"calls {code.co_name} with arguments that it does not take")
    more: dict[str, Expression] = {}
    others = code.co_varnames[len(names) :]
    if code.co_flags & inspect.CO_VARARGS:
        more[others[0]] = Display(tuple, called.arguments[code.co_argcount :])
    elif len(called.arguments) > code.co_argcount:
        raise wrong
    if code.co_flags & inspect.CO_VARKEYWORDS:
        unnamed = {name: options.pop(name) for name in [*options] if name not in names[code.co_posonlyargcount :]}
        more[others[len(more)]] = Mapping(tuple(unnamed), tuple(unnamed.values()))
    if {*options} & {*given} or not {*options} <= {*names[code.co_posonlyargcount :]}:
        raise wrong
    given |= options
    defaults: tuple[Any, ...] = called.defaults or function.__defaults__ or ()
    left = dict(zip(names[code.co_argcount - len(defaults) : code.co_argcount], defaults, strict=True))
    left |= function.__kwdefaults__ or {}
    for name in names:
        if name not in given:
            if name not in left:
                raise wrong
            if not isinstance(left[name], Expression | str | bytes | int | float | None):
                raise UnreadableError(f"calls {code.co_name} with a default of type {type(left[name]).__qualname__}")
            given[name] = left[name] if isinstance(left[name], Expression) else _constant(left[name])
    return given | more


@lru_cache(maxsize=64)  # a loader asks at each epoch
def _instructions(code: CodeType) -> tuple[dis.Instruction, ...]:
    return tuple(dis.get_instructions(code))


class _Lists:
    """Lists, each of which is itself alone, not those that are equal."""

    def __init__(self, lists: Iterable[Expression] = ()) -> None:
        self.all = list(lists)

    def __contains__(self, one: Expression) -> bool:
        return any(one is each for each in self.all)

    def replace(self, one: Expression, other: Expression) -> None:
        self.all = [other if each is one else each for each in self.all]


@dataclass
class _Loop:
    """A loop that is being read.

    start, end  its FOR_ITER, and where it goes on behind its last turn: offsets
    depth       of the stack while it stands at FOR_ITER
    owner       what it goes through
    stored      variables that it sets: what they were is not read within it, nor what they are behind it
    lists       those made before it; so are
    used        those that it looks at, and
    grown       those that it adds to
    """

    start: int
    end: int
    depth: int
    owner: Expression
    stored: set[str]
    lists: _Lists
    used: _Lists
    grown: _Lists


@lru_cache(maxsize=64)
def _follow(code: CodeType) -> tuple[list[list[int]], set[int], set[int]]:
    """The places to which each instruction may go on; those that return; and those that may come to one of these."""
    instructions = _instructions(code)
    places = {each.offset: place for place, each in enumerate(instructions)}
    follow: list[list[int]] = []
    for place, each in enumerate(instructions):
        ends = each.opname.startswith(("RETURN_VALUE", "RETURN_CONST", "RAISE", "RERAISE"))
        jumps = "JUMP" in each.opname or each.opname in ("FOR_ITER", "SETUP_WITH", "SETUP_FINALLY")
        always = jumps and each.opname.startswith("JUMP_") and "_IF_" not in each.opname
        on = [] if ends or always else [place + 1]
        follow.append([*on, *([places[each.argval]] if jumps and each.argval in places else [])])
    returns = {place for place, each in enumerate(instructions) if each.opname in ("RETURN_VALUE", "RETURN_CONST")}
    ending = set(returns)
    while more := {place for place, on in enumerate(follow) if place not in ending and ending & set(on)}:
        ending |= more
    return follow, returns, ending


def _ending(code: CodeType) -> set[int]:
    """The offsets of instructions that may come to a return."""
    return {_instructions(code)[place].offset for place in _follow(code)[2]}


@lru_cache(maxsize=64)
def _meets(code: CodeType) -> dict[int, int]:
    """Where the two ways of each branch meet that come to the function's end: the offset of the instruction, by that of
    the branch; none for ways that meet nowhere before it."""
    instructions = _instructions(code)
    follow, returns, ending = _follow(code)
    last = len(instructions)
    # Which instructions all ways from one go through, itself included.
    through = {place: {last, place} if place in returns else {*ending, last} for place in ending}
    changed = True
    while changed:
        changed = False
        for place in sorted(ending - returns, reverse=True):
            found = {place} | set.intersection(*(through[on] for on in follow[place] if on in ending))
            changed = changed or found != through[place]
            through[place] = found
    meets = {}
    for place in ending:
        if len(follow[place]) > 1 and (common := through[place] - {place, last}):
            first = max(common, key=lambda each: len(through[each]))
            meets[instructions[place].offset] = instructions[first].offset
    return meets


class _Fork(Exception):
    """An instruction that goes one of two ways.

    either  the value that it goes by, if it is no branch
    """

    def __init__(self, condition: Expression, either: Either | None = None) -> None:
        super().__init__(condition)
        self.condition, self.either = condition, either


@dataclass(frozen=True)
class _Partly:
    """What comes of ways of which some return, while others come to where they meet.

    flag   whether it has returned
    value  what it has returned then
    """

    flag: Expression
    value: Expression


class _Machine:
    """The stack and the local variables of a function, holding what is known of each value."""

    def __init__(self, called: Callee, reader: _Reader, around: tuple[Expression, ...] = ()) -> None:
        self.function = function = called.function
        self.first = next(iter(called.arguments), None)  # what super() is about
        self.locals: dict[str, Expression] = {}
        self._called = called
        self.loop: _Loop | None = None
        self.made = _Lists()
        self.stack: list[Expression] = []
        self.options: tuple[str, ...] = ()  # names of the next call's last arguments
        self.constants = function.__code__.co_consts
        self.around = dict(zip(function.__code__.co_freevars, around, strict=False))
        self.yielded: list[Expression] = []
        self.captured: set[str] = set()  # variables that functions made within use later
        self._reader = reader
        self._code = _instructions(function.__code__)
        self.samples, self.use = reader.samples, reader.use
        self._at = 0
        self._outcome: bool | None = None  # of the next branch, if that is known
        # Instructions of which one way is being gone, and which: in a loop once for each turn.
        self._within: tuple[tuple[tuple[int, int | None, tuple[int, ...]], bool], ...] = ()
        self._line: int | None = function.__code__.co_firstlineno

    @property
    def place(self) -> str:
        """Where it stands."""
        return f"{os.path.basename(self.function.__code__.co_filename)}:{self._line}"

    @property
    def state(self) -> tuple[list[Expression], dict[str, Expression], _Lists]:
        """What it knows, which functions that it calls may change."""
        return [*self.stack], {**self.locals}, _Lists(self.made.all)

    def run(self) -> Expression:
        """What is returned."""
        _check(self.function.__code__, self._reader.draws is not None)
        self.locals = _bound(self._called)
        result = self._go_on()
        assert isinstance(result, Expression)  # it stops nowhere
        return result

    def _go_on(self, until: int | None = None) -> Expression | _Partly | None:
        """What is returned; None where it comes to an offset before."""
        while self._at < len(self._code):
            instruction = self._code[self._at]
            if instruction.offset == until:
                return None
            before = (list(self.stack), self.options) if self._reader.draws is not None else ([], ())
            self._at += 1
            self._reader.steps += 1
            if self._reader.steps > _STEPS_MAX:
                raise UnreadableError("has a loop that is too long")
            self._line = getattr(instruction, "line_number", instruction.starts_line) or self._line
            step = _STEPS.get(instruction.opname)
            if step is None:
                raise _unread(instruction)
            try:
                step(self, instruction)
            except _Fork as fork:
                self.stack, self.options = before
                self._at -= 1
                returned = self._both_ways(fork, until)
                if returned is not None:
                    return returned
                continue
            if instruction.opname in ("RETURN_VALUE", "RETURN_CONST"):
                if self.loop is not None:
                    raise UnreadableError("leaves a loop before its end")
                is_generator = self.function.__code__.co_flags & inspect.CO_GENERATOR
                return _Iterator(tuple(self.yielded)) if is_generator else self.stack.pop()
        raise UnreadableError("does not return")  # not code of a compiler

    def _both_ways(self, fork: _Fork, until: int | None) -> Expression | _Partly | None:
        """What is returned by way of an instruction that goes one of two ways; None if it goes on where they meet."""
        if self.loop is not None:
            raise UnreadableError("has a loop that branches")
        instruction, condition = self._code[self._at], fork.condition
        turn = tuple(len(each.items) for each in self.stack if isinstance(each, _Iterator))
        within = instruction.offset, None if fork.either is None else fork.either.number, turn
        outcomes = [outcome for each, outcome in self._within if each == within]
        if outcomes:
            why = f"has a loop that goes on by {condition}"
            seldom = isinstance(condition, Binary) and _SELDOM.get(condition.operator) is outcomes[-1]
            places = [each[:2] for each, _ in self._within if each != within]
            # A loop in a loop would have too many turns, and values may grow by each.
            if not seldom or len(set(places)) < len(places) or self._is_large(condition):
                raise UnreadableError(why)
            if len(outcomes) == _TURNS_MAX:
                raise _TurnsError(why)
        reader, place, number = self._reader, self.place, next(self._reader.numbers)
        before, meet = reader.evaluated, _meets(self.function.__code__).get(instruction.offset)
        if meet is None and fork.either is None:
            meet = self._turn_of(instruction.offset)
        gone, gone_since = reader.gone, []
        if fork.either is not None and fork.either.number in reader.choices and instruction.opname == "UNPACK_SEQUENCE":
            meet = self._turn_of(instruction.offset)  # what is unpacked of one thing belongs together
        elif fork.either is not None and instruction.opname != "GET_ITER":
            meet = self._code[self._at + 1].offset
        ways: list[tuple[_Machine, Expression | _Partly | None, tuple[Any, ...]]] = []
        for outcome in (True, False):
            machine = copy.copy(self)
            machine.stack, machine.locals, machine.yielded = list(self.stack), dict(self.locals), list(self.yielded)
            machine.made, machine._within = _Lists(self.made.all), (*self._within, (within, outcome))
            if fork.either is None:
                machine._outcome = outcome
            else:
                machine._settle(fork.either.number, outcome)
            reader.evaluated, reader.gone, reader.running[-1] = [], list(gone), machine
            try:
                result = machine._go_on(meet)
                went = tuple(reader.evaluated)
            except UnreadableError as error:
                result = machine._unknown(error)
                went = (result,)  # what it has done before is unknown as well
            ways.append((machine, result, went))
            gone_since += reader.gone[len(gone) :]
        reader.evaluated, reader.gone, reader.running[-1] = before, [*gone, *gone_since], self
        (_, then, first), (_, otherwise, second) = ways
        if isinstance(then, Unknown) and isinstance(otherwise, Unknown):
            raise UnreadableError(then.why if otherwise.left else otherwise.why)
        reader.evaluated.append(Branch(condition, first, second, number, place))
        coming = [machine for machine, result, _ in ways if result is None or isinstance(result, _Partly)]
        if coming:
            self._join(condition, number, *coming)
        if all(result is None or isinstance(result, Unknown) for _, result, _ in ways):
            return None
        if isinstance(then, Expression) and isinstance(otherwise, Expression):
            return self._given(condition, number, then, otherwise)
        one, other = _returned(then), _returned(otherwise)
        partly = _Partly(
            self._given(condition, number, one.flag, other.flag), self._given(condition, number, one.value, other.value)
        )
        return partly if meet == until else self._go_on_unless(partly, until, place)

    def _go_on_unless(self, partly: _Partly, until: int | None, place: str) -> Expression | _Partly:
        """The same where some ways have returned, and the others go on from here."""
        reader, before, number = self._reader, self._reader.evaluated, next(self._reader.numbers)
        reader.evaluated = []
        try:
            rest = self._go_on(until)
            went = tuple(reader.evaluated)
        except UnreadableError as error:
            rest = self._unknown(error)
            went = (rest,)
        reader.evaluated = before
        reader.evaluated.append(Branch(partly.flag, (), went, number, place))
        if isinstance(rest, Expression):
            return self._given(partly.flag, number, partly.value, rest)
        other = _returned(rest)
        flag = self._given(partly.flag, number, _constant(True), other.flag)
        return _Partly(flag, self._given(partly.flag, number, partly.value, other.value))

    def _given(self, condition: Expression, number: int, then: Expression, otherwise: Expression) -> Expression:
        """What is given on one of two ways."""
        callers = self._reader.running[:-1]
        places = [(then, otherwise)] if callers else []  # nobody else changes what comes of all
        return _Joint(condition, number, places, self._around(callers)).of(then, otherwise)

    def _around(self, machines: Iterable[_Machine]) -> list[Expression]:
        """What functions around know."""
        known = (each for m in machines for each in (*m.stack, *m.locals.values(), *m.around.values()))
        return [*known, *self.around.values()]

    def _unknown(self, error: UnreadableError) -> Unknown:
        """What nobody can say of where it stands."""
        error.place = error.place or self.place
        stands = self._code[self._at - 1].offset
        return Unknown(str(error), isinstance(error, _TurnsError) or stands not in _ending(self.function.__code__))

    def _turn_of(self, offset: int) -> int | None:
        """Where the next turn begins of the innermost loop around an instruction; None where there is none."""
        begin = None
        for n, each in enumerate(self._code):
            if each.opname == "FOR_ITER" and each.offset < offset < each.argval:
                while n and self._code[n - 1].opname == "EXTENDED_ARG":
                    n -= 1
                begin = self._code[n].offset
        return begin

    def _is_large(self, condition: Expression) -> bool:
        """Whether a condition and the variables are made of many parts, each counted wherever it is."""
        parts = (part for each in (condition, *self.locals.values()) for part in parts_of(each))
        return next(itertools.islice(parts, _PARTS_MAX, None), None) is not None

    def _settle(self, number: int, outcome: bool) -> None:
        """All values that a branch decides are what they are on one of its ways."""
        known = (*self.stack, *self.locals.values())
        held = [one for each in known for one in _held(each)]
        held += [one for each in self._around(self._reader.running[:-1]) for one in _changeable(each)]
        settled = {id(one): one for one in held}  # which stay as they are: something has them that does too
        self.stack = [_settled(each, number, outcome, settled) for each in self.stack]
        self.locals = {name: _settled(each, number, outcome, settled) for name, each in self.locals.items()}
        self.made = _Lists(settled.get(id(each), each) for each in self.made.all)

    def one_of(self, value: Expression) -> None:
        """Goes both ways if it depends on a branch what a value is, where that has to be known."""
        if isinstance(value, Either) and self._reader.draws is not None:
            raise _Fork(value.condition, value)

    def one_chosen(self, *values: Expression) -> None:
        """The same of what was drawn of a list."""
        for value in values:
            if isinstance(value, Either) and value.number in self._reader.choices:
                raise _Fork(value.condition, value)

    def _join(self, condition: Expression, number: int, one: _Machine, other: _Machine | None = None) -> None:
        """Goes on where one or two ways have come to."""
        other = other or one
        if len(one.stack) != len(other.stack) or len(one.yielded) != len(other.yielded):
            raise UnreadableError("has two ways that meet with other values")

        names = [name for name in one.locals if name in other.locals]
        places = [*zip(one.stack, other.stack, strict=True), *zip(one.yielded, other.yielded, strict=True)]
        places += [(one.locals[name], other.locals[name]) for name in names]
        joint = _Joint(condition, number, places, self._around(self._reader.running[:-1]))
        self._at = one._at
        self.stack = list(map(joint.of, one.stack, other.stack))
        self.yielded = list(map(joint.of, one.yielded, other.yielded))
        self.locals = {name: joint.of(one.locals[name], other.locals[name]) for name in names}
        made = (each for then, otherwise, each in joint.made if then in one.made and otherwise in other.made)
        self.made = _Lists([*one.made.all, *other.made.all, *made])

    def pop(self, count: int) -> list[Expression]:
        if count == 0:
            return []
        taken = self.stack[-count:]
        del self.stack[-count:]
        return taken

    def push(self, value: Expression) -> None:
        """A value that was evaluated, or what the function that it calls gives."""
        if isinstance(value, Attribute) and isinstance(value.owner, Call):
            given = self._reader.given(value.owner, value.name)
            if given is not None:
                self.stack.append(given)
                return
        if isinstance(value, Item):
            self.one_chosen(value.owner)
        if isinstance(value, Item) and isinstance(value.key, Constant):
            if _is_made(value.owner):
                self.one_of(value.owner)
            item = _item_of(value.owner, value.key.value)
            if item is not None:
                self.stack.append(item)
                return
        self._look(value)
        for each in own_parts(value):
            self._reader.use(each)
        called = self._reader.callee(value)
        if called is not None:
            result = self._reader.result(value, called, self.place)  # which may change what is on the stack
            self.stack.append(result)
            return
        if isinstance(value, Call):
            self.one_chosen(*value.arguments, *(each for _, each in value.options))
        draws = self._reader.draws is not None and self._reader.draws(value)
        if draws:
            value = Drawn(value, next(self._reader.numbers))
        self._reader.evaluated.append(value)
        self._reader.places.setdefault(value, self.place)
        self.stack.append(self._reader.one_of(value) if draws else value)

    def jump(self, instruction: dis.Instruction) -> None:
        """Goes on at another instruction. Raises UnreadableError where that is none of the loop over samples."""
        at = next(at for at, each in enumerate(self._code) if each.offset == instruction.argval)
        if self._reader.samples and at < self._at:
            raise UnreadableError("has a loop")
        if self.loop is not None and instruction.argval >= self.loop.end:
            raise UnreadableError("leaves a loop before its end")
        self._at = at

    def iterate(self, instruction: dis.Instruction) -> None:
        """The next item of the loop that the stack ends with, or what comes behind the loop."""
        iterator = self.stack.pop()
        if not isinstance(iterator, _Iterator):
            raise UnreadableError("has a loop")
        if iterator.items:
            self.stack += [_Iterator(iterator.items[1:], iterator.of), iterator.items[0]]
            return
        self.jump(instruction)
        # What would take the iterator from the stack, which some versions skip.
        while self._code[self._at].opname in ("END_FOR", "POP_ITER"):
            ends = self._code[self._at].opname == "END_FOR" and sys.version_info[:2] == (3, 13)
            self._at += 2 if ends else 1

    def loop_over(self, of: Expression) -> None:
        """Begins a loop."""
        self.one_of(of)
        if self.samples or _is_window(of):
            self.use(of)
            self.stack.append(_Through(of))
            return
        items = self._reader.items(of)
        if len(items) > _ITEMS_MAX:
            raise UnreadableError(f"goes over more than {_ITEMS_MAX} items", of)
        self.stack.append(_Iterator(items, (of,)))

    def change(self, made: Expression, changed: Expression) -> None:
        """A list or a dict that was made here becomes another, wherever it is.

        Raises UnreadableError where it is part of something else, or comes from the caller.
        """
        if self._reader.samples:
            raise UnreadableError(f"changes {made}")
        own = True  # nobody has gone one of two ways since the caller called
        for machine in reversed(self._reader.running):
            known = (*machine.stack, *machine.locals.values(), *machine.around.values())
            if any(_holds(whole, made) for each in known if each is not made for whole in own_parts(each)):
                raise UnreadableError(f"changes {made}, which is used elsewhere")
            if any(each is made for each in known):
                if not own or any(each is made for each in machine.around.values()):
                    raise UnreadableError(f"changes {made}, which is used elsewhere")
                machine.stack = [changed if each is made else each for each in machine.stack]
                machine.locals = {name: changed if each is made else each for name, each in machine.locals.items()}
            own = own and not machine._within

    def _looks_up(self, function: Expression, arguments: list[Expression], names: tuple[str, ...]) -> bool:
        """Whether it is made.get(...) or made.pop(...), of what was made here: then it is done."""
        match function:
            case Attribute(owner=Mapping() as made, name="get" | "pop" as name) if (
                1 <= len(arguments) <= 2 and not names and isinstance(arguments[0], Constant)
            ):
                key = arguments[0].value
                if key in made.names:
                    self.stack.append(made.items[made.names.index(key)])
                    if name == "pop":
                        left = [pair for pair in zip(made.names, made.items, strict=True) if pair[0] != key]
                        found = self.stack.pop()
                        self.change(made, Mapping(tuple(each for each, _ in left), tuple(each for _, each in left)))
                        self.stack.append(found)
                elif len(arguments) == 2 or name == "get":
                    self.stack.append(arguments[1] if len(arguments) == 2 else _None)
                else:
                    return False
            case _:
                return False
        self._reader.through.append(function)
        return True

    def _extends(self, function: Expression, arguments: list[Expression], names: tuple[str, ...]) -> bool:
        """Whether it is made.update(...), of what was made here: then it is done."""
        match function:
            case Attribute(owner=Mapping() as made, name="update") if all(
                isinstance(each, Mapping) for each in arguments[: -len(names) or None]
            ):
                changed: Expression = made
                for each in arguments[: -len(names) or None]:
                    for name, item in zip(each.names, each.items, strict=True):  # type: ignore[attr-defined]
                        changed = _with(changed, name, item)
                for name, item in zip(names, arguments[len(arguments) - len(names) :], strict=True):
                    changed = _with(changed, name, item)
            case _:
                return False
        self._reader.through.append(function)
        self.change(made, changed)
        self.stack.append(_None)
        return True

    def _gathers(self, function: Expression, arguments: list[Expression], names: tuple[str, ...]) -> bool:
        """Whether it is tuple(...), list(...) or dict(...) of what is known item by item: then it is made."""
        if (
            self._reader.samples
            or not isinstance(function, Name)
            or function.name not in ("tuple", "list", "dict")
            or len(arguments) > 1
            or names
        ):
            return False
        (of,) = arguments or (Mapping((), ()) if function.name == "dict" else Display(tuple, ()),)
        if not isinstance(of, _Iterator | Display | Mapping | Call):
            return False
        kind = self._reader.value(function)
        if kind not in (tuple, list, dict) or (kind is dict and not isinstance(of, _Iterator | Mapping)):
            return False
        try:
            items = self._reader.items(of)
        except UnreadableError:
            return False
        made: Expression = Display(kind, items)
        if isinstance(of, Mapping) and kind is dict:
            made = Mapping(of.names, of.items)
        elif kind is dict:
            made = Mapping((), ())
            for pair in items:
                if not isinstance(pair, Display) or len(pair.items) != 2:
                    return False
                made = _with(made, _value(pair.items[0]), pair.items[1])
        self._reader.through.append(function)
        self.made.all.append(made)
        self.stack.append(made)
        return True

    def begin(self, instruction: dis.Instruction) -> None:
        """Begins with the one turn of a loop that is read."""
        iterator = self.stack[-1]
        self._reader.begin()
        if not isinstance(iterator, _Through):
            raise UnreadableError("has a loop")
        inside = (each for each in self._code if instruction.offset < each.offset < instruction.argval)
        stored = {name for each in inside for name in _stored(each)}
        lists = _Lists(each for each in (*self.stack, *self.locals.values()) if each in self.made)
        stored = {name for name in stored if self.locals.get(name, _None) not in lists}
        self.loop = _Loop(
            instruction.offset, instruction.argval, len(self.stack), iterator.owner, stored, lists, _Lists(), _Lists()
        )
        self._forget(stored)
        self.stack.append(Member(iterator.owner))

    def again(self, instruction: dis.Instruction) -> None:
        """Goes on behind the end of a loop."""
        loop = self.loop
        if loop is None or instruction.argval != loop.start or len(self.stack) != loop.depth:
            raise UnreadableError("has a loop")
        self.stack.pop()
        self._forget(loop.stored)
        self.loop, self._reader.looping = None, False
        while self._code[self._at].offset < loop.end:
            self._at += 1
        for name in ("END_FOR", "POP_ITER", *(("POP_TOP",) if sys.version_info[:2] == (3, 13) else ())):
            self._at += self._code[self._at].opname == name

    def _forget(self, names: set[str]) -> None:
        for name in names:
            self.locals.pop(name, None)

    def load(self, name: str) -> None:
        """Pushes a variable."""
        if name not in self.locals:
            raise UnreadableError(f"uses {name} before it is assigned")
        self.stack.append(self.locals[name])

    def store(self, name: str, value: Expression) -> None:
        """Sets a variable."""
        if value is _unset:
            self.locals.pop(name, None)
            return
        if self.loop is not None and name not in self.loop.stored and value is not self.locals.get(name):
            raise UnreadableError(f"sets {name} anew in a loop")
        self.locals[name] = value

    def grow(self, made: Display, items: tuple[Expression, ...]) -> Display:
        """A list becomes longer, by whatever name it goes."""
        loop, longer = self.loop, Display(list, (*made.items, *items))
        known = [each for each in (*self.stack, *self.locals.values()) if each is not made]
        known += self._around(self._reader.running[:-1])
        if made not in self.made or any(_holds(each, made) for each in known):
            raise UnreadableError("adds to a list that something else has, too")
        if loop is not None and made in loop.lists:
            if made in loop.used or made in loop.grown or len(items) > 1:
                raise UnreadableError("has a loop that uses a list as it grows")
            longer = Display(list, (*made.items, *(Spread(item, loop.owner) for item in items)))
            loop.grown.all.append(longer)
            loop.lists.replace(made, longer)
        self.made.replace(made, longer)
        self.stack = [longer if each is made else each for each in self.stack]
        self.locals = {name: longer if each is made else each for name, each in self.locals.items()}
        return longer

    def lengthen(self, made: Display | Extended, more: Expression) -> None:
        """A list becomes longer by items of which nobody knows how many they are, by whatever name it goes."""
        parts = _parts_of_list(more)
        known = [each for each in (*self.stack, *self.locals.values()) if each is not made]
        known += self._around(self._reader.running[:-1])
        within = any(each._within for each in self._reader.running)  # where two ways meet, it would be one of two
        if parts is None or within or made not in self.made or any(_holds(each, made) for each in known):
            raise UnreadableError("adds to a list what cannot be counted")
        longer = Extended((*(made.parts if isinstance(made, Extended) else (made,)), *parts))
        self.made.replace(made, longer)
        self.stack = [longer if each is made else each for each in self.stack]
        self.locals = {name: longer if each is made else each for name, each in self.locals.items()}

    def _look(self, value: Expression) -> None:
        """A value is made of others, or a branch goes by it."""
        if self.loop is None:
            return
        for each in parts_of(value):
            if each in self.loop.grown:
                raise UnreadableError("has a loop that uses a list as it grows")
            if each in self.loop.lists:
                self.loop.used.all.append(each)

    def holds(self, condition: Expression) -> bool:
        """How a condition comes out."""
        if self._outcome is not None:
            outcome, self._outcome = self._outcome, None
            return outcome
        made = self._made_outcome(condition)
        if made is not None:
            return made
        self._look(condition)
        try:
            outcome = self._reader.decide(condition)
        except UnreadableError:
            if self._reader.draws is None:
                raise
            raise _Fork(condition) from None
        self._reader.conditions.append((condition, outcome))
        return outcome

    def _made_outcome(self, condition: Expression) -> bool | None:
        """How a condition comes out that goes by what is in a list, tuple or dict that was made here."""
        match condition:
            case Binary(operator="in" | "not in" as sign, left=Constant(value=key), right=Mapping(names=names)):
                return (key in names) is (sign == "in")
            case Display() | Mapping():
                count = self._count(condition)
                return None if count is None else count > 0
            case Binary(
                operator=sign, left=Constant(value=left, kind=kind), right=Constant(value=right, kind=other)
            ) if kind is other is int and sign in _COMPARISONS:
                return _COMPARISONS[sign](left, right)
        return None

    def _count(self, made: Expression) -> int | None:
        """How many items there are in what was made here; None where that is not known."""
        if self._reader.looping or not isinstance(made, Display | Mapping):
            return None
        if isinstance(made, Display) and made.kind in (slice, Several):
            return None
        return None if any(isinstance(each, Spread) for each in made.items) else len(made.items)

    def call(self, count: int) -> None:
        self.one_of(self.stack[-count - 1])
        names, self.options = self.options, ()
        function, *arguments = self.pop(count + 1)
        if function == _None and self.stack and isinstance(self.stack[-1], _Exit):
            function = self.stack.pop()  # some versions count one of its three arguments as part of it
        if isinstance(function, _Iterator | _Through) and self.stack and isinstance(self.stack[-1], Inner):
            function, arguments = self.stack.pop(), [function]  # of a comprehension, in some versions
        if isinstance(function, _Adding) and len(arguments) == 1 and not names:
            (more,) = arguments
            items: tuple[Expression, ...] = (more,)
            whole = more if function.name == "extend" else Display(list, items)
            if isinstance(function.owner, Extended) or isinstance(whole, Apart | Extended):
                self.lengthen(function.owner, whole)
                self.stack.append(_None)
                return
            if function.name == "extend":
                if not isinstance(more, Display):
                    raise UnreadableError("unpacks values whose number is not known")
                items = more.items
            self.grow(function.owner, items)
            self.stack.append(_None)
            return
        if isinstance(function, _Enter):
            self.push(Entered(function.manager))
            return
        if isinstance(function, _Exit):
            self._leave(function.manager)
            self.stack.append(_None)
            if self._reader.draws is not None:
                self._reader.evaluated.append(Exited(function.manager))
            return
        if function == Name("len", self.function) and len(arguments) == 1 and not names:
            items_made = self._count(arguments[0])
            if items_made is not None and self._reader.value(function) is len:
                self.push(_constant(items_made))
                return
        if not arguments and function == Name("super", self.function) and self.first is not None:
            arguments = [Name("__class__", self.function), self.first]
        if isinstance(function, Inner):
            plain = len(arguments) - len(names)
            options = tuple(zip(names, arguments[plain:], strict=True))
            called = Callee(function.function, function, tuple(arguments[:plain]), options, function.defaults)
            result = self._reader.run(called, function.around)
            self.stack.append(result)
            self.made.all.append(result)
            if isinstance(self.stack[-1], _Iterator):
                self._take_at_once()
            return
        if (
            self._extends(function, arguments, names)
            or self._looks_up(function, arguments, names)
            or self._gathers(function, arguments, names)
        ):
            return
        plain = len(arguments) - len(names)
        self.push(Call(function, tuple(arguments[:plain]), tuple(zip(names, arguments[plain:], strict=True))))

    def _take_at_once(self) -> None:
        """What a generator expression gives is evaluated as it is taken: raises UnreadableError unless the next
        instruction takes all of it, and does nothing else."""
        left = (each for each in self._code[self._at :] if each.opname not in ("CACHE", "NOP", "PRECALL"))
        instruction, function = next(left), self.stack[-2] if len(self.stack) > 1 else None
        if self._reader.draws is None:
            # It has no effects: what counts is that no variable of it is another by then.
            if instruction.opname.startswith("STORE"):
                raise UnreadableError("makes a generator that is not taken at once")
            return
        calls = instruction.opname in ("CALL", "CALL_FUNCTION") and instruction.argval == 1 and not self.options
        taken = calls and isinstance(function, Name) and function.name in ("tuple", "list", "dict")
        if not taken or self._reader.value(function) not in (tuple, list, dict):  # type: ignore[arg-type]
            raise UnreadableError("makes a generator that is not taken at once")

    def _leave(self, manager: Expression) -> None:
        """Behind the end of a `with`, what it entered is closed, and what needs that."""
        self.stack = [_behind(value, manager) for value in self.stack]
        self.locals = {name: _behind(value, manager) for name, value in self.locals.items()}

    # Instructions

    def load_fast(self, instruction: dis.Instruction) -> None:
        for name in _several(instruction.argval):
            self.load(name)

    def load_and_clear(self, instruction: dis.Instruction) -> None:
        """A variable that a comprehension uses for its own, to be put back behind it."""
        self.stack.append(self.locals.pop(instruction.argval, _unset))

    def store_fast(self, instruction: dis.Instruction) -> None:
        for name in _several(instruction.argval):
            self.store(name, self.stack.pop())

    def store_fast_load_fast(self, instruction: dis.Instruction) -> None:
        stored, loaded = instruction.argval
        self.store(stored, self.stack.pop())
        self.load(loaded)

    def load_attr(self, instruction: dis.Instruction) -> None:
        owner, name = self.stack.pop(), instruction.argval
        self.one_chosen(owner)
        if _is_list(owner) and name in ("append", "extend"):
            self.one_of(owner)
        grows = isinstance(owner, Extended) or (isinstance(owner, Display) and owner.kind is list)
        if isinstance(owner, Display | Extended) and grows and name in ("append", "extend"):
            self.stack.append(_Adding(owner, name))
        elif (kept := self._reader.kept.get(Attribute(owner, name))) is not None:
            self.stack.append(kept)
        else:
            self.push(Attribute(owner, name))

    def store_attr(self, instruction: dis.Instruction) -> None:
        value, owner = self.pop(2)
        attribute = Attribute(owner, instruction.argval)
        if not self._reader.keeps(attribute, value):
            raise UnreadableError(f"sets {attribute}")
        self._reader.kept[attribute] = value

    def load_name(self, instruction: dis.Instruction) -> None:
        self.push(Name(instruction.argval, self.function))

    def import_name(self, instruction: dis.Instruction) -> None:
        level, names = map(_value, self.pop(2))
        package = self.function.__globals__.get("__package__") or ""
        try:
            name = importlib.util.resolve_name("." * level + instruction.argval, package)
        except ImportError:
            raise UnreadableError(f"imports {instruction.argval}") from None
        if self._reader.draws is not None and name not in sys.modules:
            raise UnreadableError(f"imports {name}, which is not imported yet")
        self._reader.imports.append(name)
        self.stack.append(Module(name if names else name.partition(".")[0]))

    def import_from(self, instruction: dis.Instruction) -> None:
        self.push(Attribute(self.stack[-1], instruction.argval))

    def load_deref(self, instruction: dis.Instruction) -> None:
        if instruction.argval in self.around:
            if self.around[instruction.argval] is _unset:
                raise UnreadableError(f"uses {instruction.argval} before it is assigned")
            self.stack.append(self.around[instruction.argval])
        elif instruction.argval in self.function.__code__.co_cellvars:
            self.load_fast(instruction)  # a comprehension uses it too
        else:
            self.load_name(instruction)

    def load_closure(self, instruction: dis.Instruction) -> None:
        """A variable that is handed to a function made within: as what it is now, which it stays."""
        name = instruction.argval
        known = self.around.get(name) or self.locals.get(name)
        if known is None:
            known = Name(name, self.function) if name in self.function.__code__.co_freevars else _unset
        self.stack.append(known)

    def store_deref(self, instruction: dis.Instruction) -> None:
        if instruction.argval not in self.function.__code__.co_cellvars:
            raise UnreadableError(f"sets {instruction.argval} of a function around")
        if instruction.argval in self.captured:
            raise UnreadableError(f"sets {instruction.argval}, which a function made within uses")
        self.store_fast(instruction)

    def make_function(self, instruction: dis.Instruction) -> None:
        if sys.version_info < (3, 11):
            self.stack.pop()  # its name
        code = self.stack.pop()
        flags = instruction.arg or 0
        around = self.stack.pop() if flags & _CLOSURE else Display(tuple, ())
        if flags & _ANNOTATIONS:
            self.stack.pop()
        defaults = self.stack.pop() if flags & _DEFAULTS else Display(tuple, ())
        if flags & ~(_CLOSURE | _DEFAULTS | _ANNOTATIONS):
            raise UnreadableError("makes a function")
        self._make(code, around, defaults)

    def set_function_attribute(self, instruction: dis.Instruction) -> None:
        function, value = self.stack.pop(), self.stack.pop()
        if instruction.arg not in (_CLOSURE, _DEFAULTS, *_ABOUT) or not isinstance(function, Inner):
            raise UnreadableError("makes a function")
        if instruction.arg in _ABOUT:
            self.stack.append(function)
            return
        around, defaults = Display(tuple, function.around), Display(tuple, function.defaults)
        if instruction.arg == _CLOSURE:
            self._make(_constant(function.function.__code__), value, defaults)
        else:
            self._make(_constant(function.function.__code__), around, value)

    def _make(self, code: Expression, around: Expression, defaults: Expression) -> None:
        if not isinstance(code, Constant) or code.kind is not CodeType:
            raise UnreadableError("makes a function")
        name = code.value.co_name
        at_once = name in ("<listcomp>", "<dictcomp>", "<genexpr>")
        if (
            (self.samples and name != "<listcomp>")
            or not isinstance(around, Display)
            or not isinstance(defaults, Display)
        ):
            raise UnreadableError(f"makes a function ({name})")
        if not at_once:
            self.captured.update(code.value.co_freevars)
        cells = tuple(CellType() for _ in code.value.co_freevars)
        function = FunctionType(code.value, self.function.__globals__, closure=cells or None)
        self.stack.append(Inner(function, around.items, defaults.items))

    def get_iter(self, instruction: dis.Instruction) -> None:
        self.loop_over(self.stack.pop())

    def for_iter(self, instruction: dis.Instruction) -> None:
        if self.samples or isinstance(self.stack[-1], _Through):
            self.begin(instruction)
        else:
            self.iterate(instruction)

    def jump_back(self, instruction: dis.Instruction) -> None:
        if self.loop is not None and instruction.argval == self.loop.start:
            self.again(instruction)
        else:
            self.jump(instruction)

    def map_add(self, instruction: dis.Instruction) -> None:
        name, item = self.pop(2)
        made = self.stack[-(instruction.arg or 1)]
        if self.samples or not isinstance(made, Mapping):
            raise UnreadableError("adds to what is no dict of its own")
        self.stack[-(instruction.arg or 1)] = _with(made, _value(name), item)

    def dict_update(self, instruction: dis.Instruction) -> None:
        more, at = self.stack.pop(), -(instruction.arg or 1)
        made = self.stack[at]
        if self._reader.draws is not None and not isinstance(more, Mapping):
            names = self._reader.items(more)
            more = Mapping(tuple(map(_value, names)), tuple(Item(more, each) for each in names))
        if not isinstance(made, Mapping) or not isinstance(more, Mapping):
            raise UnreadableError("unpacks a dict that is not its own")
        if instruction.opname == "DICT_MERGE" and {*made.names} & {*more.names}:
            raise UnreadableError("gives an argument twice")
        for name, item in zip(more.names, more.items, strict=True):
            made = _with(made, name, item)
        self.stack[at] = made

    def store_item(self, instruction: dis.Instruction) -> None:
        item, made, name = self.pop(3)
        if _is_made(made):
            self.one_of(made)
        if self._reader.draws is not None and self.loop is None and not _is_made(made):
            stored = Stored(made, name, item)
            self._reader.evaluated.append(stored)
            self._reader.places.setdefault(stored, self.place)
            return
        if not isinstance(made, Mapping) or not isinstance(name, Constant):
            raise UnreadableError(f"sets {made}[{name}]")
        self.change(made, _with(made, name.value, item))

    def call_with_names(self, instruction: dis.Instruction) -> None:
        self.options = _value(self.stack.pop())
        self.call(instruction.argval)

    def call_with_unpacked(self, instruction: dis.Instruction) -> None:
        """function(*argument, **options), where the number of values is known, or the argument is as long as there are
        samples."""
        options = self.stack.pop() if instruction.arg else Mapping((), ())
        function, argument = self.pop(2)
        if self._reader.draws is not None and not isinstance(argument, Display):
            argument = Display(tuple, self._reader.items(argument))
        if (
            not isinstance(options, Mapping)
            or (options.names and self.samples)
            or not (self.samples or isinstance(argument, Display))
        ):
            raise UnreadableError("unpacks values whose number is not known")
        if isinstance(argument, Display) and not self.samples:
            given = (*argument.items, *options.items)
            self.stack += [function, *given]
            self.options = options.names
            self.call(len(given))
            return
        arguments = argument.items if isinstance(argument, Display) else (Spread(Member(argument), argument),)
        self.push(Call(function, arguments))

    def kw_names(self, instruction: dis.Instruction) -> None:
        self.options = self.constants[instruction.arg or 0]

    def load_super_attr(self, instruction: dis.Instruction) -> None:
        function, *arguments = self.pop(3)
        self.push(Call(function, tuple(arguments)))
        self.push(Attribute(self.stack.pop(), instruction.argval))

    def before_with(self, instruction: dis.Instruction) -> None:
        manager = self.stack.pop()
        self.stack.append(_Exit(manager))
        self.push(Entered(manager))

    def load_special(self, instruction: dis.Instruction) -> None:
        """A manager's __exit__, with the place that its `self` has on the stack, or its __enter__, called next."""
        manager = self.stack.pop()
        if instruction.argrepr == "__exit__":
            self.stack += [_Exit(manager), _None]
        elif instruction.argrepr == "__enter__":
            self.stack.append(_Enter(manager))
        else:
            raise UnreadableError(f"uses {instruction.argrepr}")

    def unpack_sequence(self, instruction: dis.Instruction) -> None:
        owner, count = self.stack.pop(), instruction.argval
        self.one_of(owner)
        self.use(owner)
        if isinstance(owner, Display):
            if len(owner.items) != count:
                raise UnreadableError(f"unpacks {len(owner.items)} values to {count}")
            parts: list[Expression] = list(owner.items)
        elif self._reader.draws is not None and self._is_of(owner, count):
            parts = list(self._reader.items(owner))
        else:
            parts = [Part(owner, number, count) for number in range(count)]
            if self._reader.draws is not None:  # it may fail, whether they are used or not
                if isinstance(owner, _Iterator) or not parts:
                    raise UnreadableError(f"unpacks {owner}")
                self._reader.evaluated.append(parts[0])
                self._reader.places.setdefault(parts[0], self.place)
        self.stack += reversed(parts)

    def _is_of(self, owner: Expression, count: int) -> bool:
        """Whether a value is a list or tuple of so many items, the same for every index."""
        try:
            value = self._reader.value(owner)
        except UnreadableError:
            return False
        return type(value) in (list, tuple) and len(value) == count

    def unpack_more(self, instruction: dis.Instruction) -> None:
        """first, *others, last = made"""
        owner, arg = self.stack.pop(), instruction.arg or 0
        before, behind = arg & 0xFF, arg >> 8
        self.one_of(owner)
        if self.samples or not isinstance(owner, Display) or len(owner.items) < before + behind:
            raise UnreadableError(f"unpacks {owner}")
        end = len(owner.items) - behind
        others = Display(list, owner.items[before:end])
        self.made.all.append(others)
        self.stack += reversed([*owner.items[:before], others, *owner.items[end:]])

    def binary_slice(self, instruction: dis.Instruction) -> None:
        owner, *ends = self.pop(3)
        self.push(Display(slice, tuple(ends)))
        self.push(Item(owner, self.stack.pop()))

    def handle(self, instruction: dis.Instruction) -> None:
        """The beginning of a `try`."""
        if self._reader.draws is None:
            raise _unread(instruction)

    def binary_op(self, instruction: dis.Instruction) -> None:
        if instruction.argrepr == "[]":
            self.push(Item(*self.pop(2)))
        else:
            self.binary(instruction.argrepr)

    def binary(self, sign: str) -> None:
        left, right = self.pop(2)
        if sign == "+=":
            for side, other in ((left, right), (right, left)):
                if isinstance(other, Display) or _is_list(other):
                    self.one_of(side)
        if (
            sign == "+"
            and isinstance(left, Display)
            and isinstance(right, Display)
            and left.kind is right.kind is not Several
        ):
            self.push(Display(left.kind, (*left.items, *right.items)))
            return
        grows = isinstance(left, Extended) or (_is_list(left) and isinstance(right, Apart | Extended))
        if sign == "+=" and grows and isinstance(left, Display | Extended):
            self.stack.append(left)
            self.lengthen(left, right)
            return
        lists = [each for each in (left, right) if isinstance(each, Display) and each.kind is list]
        if sign == "+=" and len(lists) == 2:
            left, right = lists
            self.stack.append(left)
            self.grow(left, right.items)
            return
        self.push(Binary(sign, left, right))

    def list_extend(self, instruction: dis.Instruction) -> None:
        more = self.stack.pop()
        self.one_of(more)
        made, at = self.stack[-(instruction.arg or 1)], -(instruction.arg or 1)
        if self._reader.draws is not None and isinstance(made, Display | Extended):
            parts = _parts_of_list(more)
            if parts is not None and (isinstance(made, Extended) or not isinstance(more, Display)):
                self.stack[at] = longer = Extended((*(made.parts if isinstance(made, Extended) else (made,)), *parts))
                self.made.replace(made, longer)
                return
        self.extend(instruction, more.items if isinstance(more, Display) else None)

    def extend(self, instruction: dis.Instruction, items: tuple[Expression, ...] | None) -> None:
        """A list that is being made becomes longer."""
        made = self.stack[-(instruction.arg or 1)]
        if isinstance(made, Extended) and items is not None:
            self.stack[-(instruction.arg or 1)] = longer_yet = Extended((*made.parts, Display(list, items)))
            self.made.replace(made, longer_yet)
            return
        if items is None or not isinstance(made, Display):
            raise UnreadableError("unpacks values whose number is not known")
        if self.loop is not None and made in self.loop.lists:
            self.grow(made, items)
            return
        self.stack[-(instruction.arg or 1)] = longer = Display(made.kind, (*made.items, *items))
        self.made.replace(made, longer)

    def list_to_tuple(self, instruction: dis.Instruction) -> None:
        made = self.stack.pop()
        if not isinstance(made, Display) or (instruction.opname == "CALL_INTRINSIC_1" and instruction.arg != _TO_TUPLE):
            raise UnreadableError(f"does more than can be read ({instruction.opname})")
        self.stack.append(Display(tuple, made.items))

    def build_map(self, instruction: dis.Instruction) -> None:
        items = self.pop(2 * instruction.argval)
        self.map(list(map(_value, items[::2])), items[1::2])

    def build_const_key_map(self, instruction: dis.Instruction) -> None:
        names = _value(self.stack.pop())
        self.map(names, self.pop(instruction.argval))

    def map(self, names: Any, items: list[Expression]) -> None:
        if not {type(name) for name in names} <= {str, int} or len(set(names)) < len(names):
            raise UnreadableError("makes a dict with names that are not constants, or the same")
        self.push(Mapping(tuple(names), tuple(items)))

    def format_value(self, instruction: dis.Instruction) -> None:
        arg = instruction.arg or 0
        if arg & _CONVERTED:
            raise UnreadableError("formats a value")
        if arg & _WITH_SPEC or instruction.opname == "FORMAT_WITH_SPEC":
            self.push(Call(_constant(format), tuple(self.pop(2))))
        else:
            self.push(Text((self.stack.pop(),)))

    def negate(self, instruction: dis.Instruction) -> None:
        if self._reader.draws is None:
            raise _unread(instruction)
        self.push(Unary("not", self.stack.pop()))

    def swap(self, instruction: dis.Instruction) -> None:
        stack, depth = self.stack, instruction.argval
        stack[-1], stack[-depth] = stack[-depth], stack[-1]


def _returned(result: Expression | _Partly | None) -> _Partly:
    """What has come of one way."""
    if isinstance(result, _Partly):
        return result
    returned = result is not None and not isinstance(result, Unknown)
    value = result if returned else Unknown("has not returned", left=True)
    assert value is not None
    return _Partly(_constant(returned), value)


def _unread(instruction: dis.Instruction) -> UnreadableError:
    return UnreadableError(f"does more than can be read ({instruction.opname})")


class _Joint:
    """What is known of values where two ways meet.

    Of lists, tuples or dicts on both ways one is made that has what is in them. A list or dict may be changed later, by
    whatever name. So it becomes one with another only if these two are in the same places on both ways.
    """

    def __init__(
        self,
        condition: Expression,
        number: int,
        places: Iterable[tuple[Expression, Expression]],
        others: Iterable[Expression],
    ) -> None:
        """places  what is in each place on the one way, and on the other
        others  what is in other places, on both ways
        """
        self.made: list[tuple[Expression, Expression, Expression]] = []
        self._condition, self._number = condition, number
        self._known: dict[tuple[int, int], Expression] = {}
        self._beside: tuple[dict[int, set[int]], dict[int, set[int]]] = ({}, {})
        for pair in (*((each, each) for each in others), *places):
            self._look(*pair)

    def _look(self, then: Expression, otherwise: Expression) -> None:
        """Notes what lists and dicts are in the same place."""
        if then is not otherwise and _are_alike(then, otherwise):
            if _can_change(then):
                self._note([then], [otherwise])
            for pair in zip(then.items, otherwise.items, strict=True):  # type: ignore[attr-defined]
                self._look(*pair)
        elif then is otherwise:
            for each in _changeable(then):
                self._note([each], [each])
        else:
            self._note(_changeable(then), ())
            self._note((), _changeable(otherwise))

    def _note(self, then: Iterable[Expression], otherwise: Iterable[Expression]) -> None:
        ways = [{*map(id, then)}, {*map(id, otherwise)}]
        for known, here, there in zip(self._beside, ways, ways[::-1], strict=True):
            for each in here:
                known.setdefault(each, set()).update(there or {0})

    def of(self, then: Expression, otherwise: Expression) -> Expression:
        if then is otherwise or isinstance(otherwise, Unknown):
            return then
        if isinstance(then, Unknown):
            return otherwise
        # A value is alike wherever it is evaluated, unless that is a call's, or can be changed.
        plain = not _changeable(then) and not any(isinstance(part, Call | Drawn | Either) for part in parts_of(then))
        if plain and then == otherwise:
            return then
        ids = id(then), id(otherwise)
        if not _are_alike(then, otherwise) or not all(
            known.get(one, {other}) == {other} for known, one, other in zip(self._beside, ids, ids[::-1], strict=True)
        ):
            return Either(self._condition, then, otherwise, self._number)
        if ids not in self._known:
            items = tuple(map(self.of, then.items, otherwise.items))  # type: ignore[attr-defined]
            self._known[ids] = made = _made_again(then, items)
            self.made.append((then, otherwise, made))
        return self._known[ids]


def _are_alike(one: Expression, other: Expression) -> bool:
    """Whether both are lists, tuples or dicts of as many items."""
    match one, other:
        case Display(kind=kind, items=items), Display(kind=other_kind, items=others):
            return kind is other_kind and len(items) == len(others)
        case Mapping(names=names), Mapping(names=others):
            return names == others
    return False


def _made_again(made: Expression, items: tuple[Expression, ...]) -> Expression:
    """The same with other items."""
    if isinstance(made, Display):
        return Display(made.kind, items)
    assert isinstance(made, Mapping)
    return Mapping(made.names, items)


def _parts_of_list(more: Expression) -> tuple[Expression, ...] | None:
    """What becomes part of a list that is extended by something; None where that is not known."""
    match more:
        case Display(kind=kind, items=items) if kind in (list, tuple):
            return (Display(list, items),)
        case Extended(parts=parts):
            return parts
        case Apart():
            return (more,)
    return None


def _can_change(value: Expression) -> bool:
    return isinstance(value, Extended | Mapping) or (isinstance(value, Display) and value.kind is list)


def _changeable(value: Expression) -> tuple[Expression, ...]:
    """The lists and dicts that were made here and are part of a value."""
    if _newest(value) < 0:
        return ()
    found: tuple[Expression, ...] = value._once("changeable", lambda: tuple(filter(_can_change, parts_of(value))))
    return found


def _held(value: Expression) -> Iterator[Expression]:
    """Those that something else has than lists, tuples, dicts or one of two ways."""
    if not _changeable(value):
        return
    match value:
        case Display(items=items) | Mapping(items=items):
            for each in items:
                yield from _held(each)
        case Either(condition=condition, then=then, otherwise=otherwise):
            yield from (*_changeable(condition), *_held(then), *_held(otherwise))
        case _:
            yield from _changeable(value)


def _is_made(value: Expression) -> bool:
    """Whether it is a list, tuple or dict that was made here, whichever way was gone."""
    if isinstance(value, Either):
        return _is_made(value.then) and _is_made(value.otherwise)
    return isinstance(value, Display | Mapping)


def _item_of(made: Expression, key: Any) -> Expression | None:
    """The item of a list, tuple or dict that was made here; None where there is none, or it is another value."""
    if isinstance(made, Mapping) and key in made.names:
        return made.items[made.names.index(key)]
    if not isinstance(made, Display) or made.kind is slice or type(key) is not int:
        return None
    spread = any(isinstance(each, Spread) for each in made.items)
    return made.items[key] if -len(made.items) <= key < len(made.items) and not spread else None


def _is_list(value: Expression) -> bool:
    """Whether it is a list that was made here, whichever way was gone."""
    if isinstance(value, Either):
        return _is_list(value.then) and _is_list(value.otherwise)
    return isinstance(value, Display) and value.kind is list


def _settled(value: Expression, number: int, outcome: bool, settled: dict[int, Expression]) -> Expression:
    """What a value is on one way of a branch; it stays itself where nothing depends on that.

    settled  what that is of lists, tuples and dicts, by their ids
    """
    match value:
        case Either(number=own) if own == number:
            return _settled(value.then if outcome else value.otherwise, number, outcome, settled)
        case Either(condition=condition, then=then, otherwise=otherwise):
            sides = (_settled(each, number, outcome, settled) for each in (then, otherwise))
            one, other = sides
            return value if one is then and other is otherwise else Either(condition, one, other, value.number)
        case Display(items=items) | Mapping(items=items):
            if id(value) not in settled:
                made = tuple(_settled(each, number, outcome, settled) for each in items)
                settled[id(value)] = value if all(map(operator.is_, made, items)) else _made_again(value, made)
            return settled[id(value)]
    return value


def _holds(value: Expression, one: Expression) -> bool:
    """Whether a list or dict that was made here is part of a value, itself and not its equal."""
    assert isinstance(one, _Made)
    seen: set[int] = set()
    work = [value]
    while work:
        part = work.pop()
        if part is one:
            return True
        if id(part) not in seen and _newest(part) >= one.born:
            seen.add(id(part))
            work += own_parts(part)
    return False


def _newest(value: Expression) -> int:
    """When the last of all that was made here and is part of a value was made; -1 where there is nothing."""

    def find() -> int:
        born = value.born if isinstance(value, _Made) else -1
        return max((born, *map(_newest, own_parts(value))))

    return int(value._once("newest", find))


def _with(made: Expression, name: Any, item: Expression) -> Expression:
    """A dict with one more item, or another one."""
    assert isinstance(made, Mapping)
    if type(name) not in (str, int):
        raise UnreadableError("makes a dict with names that are not constants, or the same")
    if name in made.names:
        at = made.names.index(name)
        return Mapping(made.names, (*made.items[:at], item, *made.items[at + 1 :]))
    return Mapping((*made.names, name), (*made.items, item))


def _behind(value: Expression, manager: Expression) -> Expression:
    return Closed(value) if _needs(value, manager) else value


def _needs(value: Expression, manager: Expression) -> bool:
    """True for what `with manager` entered, and for what may go on reading from it: not for what its methods give."""
    match value:
        case Entered():
            return value.manager == manager or _needs(value.manager, manager)
        case Call(function=Attribute(), arguments=arguments, options=options):
            return any(_needs(each, manager) for each in (*arguments, *(option for _, option in options)))
        case Closed():
            return False
    return any(_needs(each, manager) for each in own_parts(value))


_None = Constant(None, type(None))
_unset = Constant(..., type(...))


def _constant(value: Any) -> Expression:
    if type(value) is tuple:
        return Display(tuple, tuple(map(_constant, value)))
    if type(value) is slice:
        ends = (value.start, value.stop, *(() if value.step is None else (value.step,)))
        return Display(slice, tuple(map(_constant, ends)))
    return Constant(value, type(value))


def _value(expression: Expression) -> Any:
    """The value of a constant that the compiler made."""
    if type(expression) is Display:
        return tuple(map(_value, expression.items))
    if type(expression) is not Constant:
        raise UnreadableError("has bytecode that no compiler makes")
    return expression.value


# What MAKE_FUNCTION or SET_FUNCTION_ATTRIBUTE gives a function; the last one came with Python 3.14.
_CLOSURE, _DEFAULTS, _ANNOTATIONS, _ANNOTATE = 8, 1, 4, 16
_ABOUT = (_ANNOTATIONS, _ANNOTATE)
_TO_TUPLE = 6  # INTRINSIC_LIST_TO_TUPLE
_CONVERTED, _WITH_SPEC = 3, 4  # of FORMAT_VALUE

_WHOLE_NUMBERS: dict[str, Callable[[int, int], int]] = {
    "*": operator.mul, "+": operator.add, "-": operator.sub, "//": operator.floordiv,
}  # fmt: skip
_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "!=": operator.ne, "==": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def _several(names: Any) -> tuple[str, ...]:
    return names if isinstance(names, tuple) else (names,)


def _stored(instruction: dis.Instruction) -> tuple[str, ...]:
    """The variables that an instruction sets."""
    if not instruction.opname.startswith(("STORE_FAST", "STORE_DEREF")):
        return ()
    names = _several(instruction.argval)
    return names[:1] if instruction.opname == "STORE_FAST_LOAD_FAST" else names


_Step = Callable[[_Machine, dis.Instruction], object]


def _operator(operator: str) -> _Step:
    return lambda machine, instruction: machine.binary(operator)


def _unary(operator: str) -> _Step:
    return lambda machine, instruction: machine.push(Unary(operator, machine.stack.pop()))


def _negatable(positive: str, negative: str) -> _Step:
    return lambda machine, instruction: machine.push(Binary(negative if instruction.arg else positive, *machine.pop(2)))


def _pop_jump(wanted: bool, none: bool = False) -> _Step:
    """Jumps if a condition is as wanted; with `none`, if it is as wanted that a value is None."""

    def step(machine: _Machine, instruction: dis.Instruction) -> None:
        condition = machine.stack.pop()
        if none:
            condition = Binary("is", condition, _None)
        if machine.holds(condition) is wanted:
            machine.jump(instruction)

    return step


def _jump_or_pop(wanted: bool) -> _Step:
    def step(machine: _Machine, instruction: dis.Instruction) -> None:
        if machine.holds(machine.stack[-1]) is wanted:
            machine.jump(instruction)
        else:
            machine.stack.pop()

    return step


def _build(kind: type) -> _Step:
    def step(machine: _Machine, instruction: dis.Instruction) -> None:
        machine.push(Display(kind, tuple(machine.pop(instruction.argval))))
        machine.made.all.append(machine.stack[-1])

    return step


# What instructions do, by their names: of a machine `m` and an instruction `i`.
_ROWS: tuple[tuple[str, _Step], ...] = (
    (
        "CACHE COPY_FREE_VARS END_FOR EXTENDED_ARG GEN_START MAKE_CELL NOP NOT_TAKEN POP_BLOCK PRECALL PUSH_NULL "
        "RESUME RETURN_VALUE TO_BOOL",
        lambda m, i: None,
    ),
    ("BEFORE_WITH SETUP_WITH", _Machine.before_with),
    ("BINARY_ADD", _operator("+")),
    ("BINARY_FLOOR_DIVIDE", _operator("//")),
    ("BINARY_MODULO", _operator("%")),
    ("BINARY_MULTIPLY", _operator("*")),
    ("BINARY_OP", _Machine.binary_op),
    ("BINARY_SLICE", _Machine.binary_slice),
    ("BINARY_SUBSCR", lambda m, i: m.push(Item(*m.pop(2)))),
    ("BINARY_SUBTRACT", _operator("-")),
    ("BINARY_TRUE_DIVIDE", _operator("/")),
    ("BUILD_CONST_KEY_MAP", _Machine.build_const_key_map),
    ("BUILD_LIST", _build(list)),
    ("BUILD_MAP", _Machine.build_map),
    ("BUILD_SLICE", lambda m, i: m.push(Display(slice, tuple(m.pop(i.argval))))),
    ("BUILD_STRING", lambda m, i: m.push(Text(tuple(m.pop(i.argval))))),
    ("BUILD_TUPLE", _build(tuple)),
    ("CALL CALL_FUNCTION CALL_METHOD", lambda m, i: m.call(i.argval)),
    ("CALL_FUNCTION_EX", _Machine.call_with_unpacked),
    ("CALL_FUNCTION_KW CALL_KW", _Machine.call_with_names),
    ("CALL_INTRINSIC_1 LIST_TO_TUPLE", _Machine.list_to_tuple),
    # 3.13 spells "bool(==)" where the outcome is all that is wanted.
    ("COMPARE_OP", lambda m, i: m.push(Binary(str(i.argval), *m.pop(2)))),
    ("CONTAINS_OP", _negatable("in", "not in")),
    ("COPY DUP_TOP", lambda m, i: m.stack.append(m.stack[-(i.arg or 1)])),
    ("DICT_MERGE DICT_UPDATE", _Machine.dict_update),
    ("FOR_ITER", _Machine.for_iter),
    ("FORMAT_SIMPLE FORMAT_VALUE FORMAT_WITH_SPEC", _Machine.format_value),
    ("GET_ITER", _Machine.get_iter),
    ("INPLACE_ADD", _operator("+=")),
    ("IMPORT_FROM", _Machine.import_from),
    ("IMPORT_NAME", _Machine.import_name),
    ("IS_OP", _negatable("is", "is not")),
    ("JUMP_ABSOLUTE JUMP_BACKWARD", _Machine.jump_back),
    ("JUMP_FORWARD", _Machine.jump),
    ("JUMP_IF_FALSE_OR_POP", _jump_or_pop(False)),
    ("JUMP_IF_TRUE_OR_POP", _jump_or_pop(True)),
    ("KW_NAMES", _Machine.kw_names),
    ("LIST_APPEND", lambda m, i: m.extend(i, (m.stack.pop(),))),
    ("LIST_EXTEND", _Machine.list_extend),
    ("LOAD_ATTR LOAD_METHOD", _Machine.load_attr),
    ("LOAD_CLOSURE", _Machine.load_closure),
    ("LOAD_CONST LOAD_SMALL_INT RETURN_CONST", lambda m, i: m.stack.append(_constant(i.argval))),
    ("LOAD_DEREF", _Machine.load_deref),
    (
        "LOAD_FAST LOAD_FAST_BORROW LOAD_FAST_BORROW_LOAD_FAST_BORROW LOAD_FAST_CHECK LOAD_FAST_LOAD_FAST",
        _Machine.load_fast,
    ),
    ("LOAD_FAST_AND_CLEAR", _Machine.load_and_clear),
    ("LOAD_GLOBAL", _Machine.load_name),
    ("LOAD_SPECIAL", _Machine.load_special),
    ("LOAD_SUPER_ATTR", _Machine.load_super_attr),
    ("MAKE_FUNCTION", _Machine.make_function),
    ("MAP_ADD", _Machine.map_add),
    ("POP_TOP", lambda m, i: m.stack.pop()),
    ("RETURN_GENERATOR", lambda m, i: m.stack.append(_None)),  # POP_TOP takes it
    ("ROT_THREE", lambda m, i: m.stack.insert(-2, m.stack.pop())),
    ("ROT_TWO", lambda m, i: m.stack.insert(-1, m.stack.pop())),
    ("SET_FUNCTION_ATTRIBUTE", _Machine.set_function_attribute),
    ("STORE_ATTR", _Machine.store_attr),
    ("STORE_DEREF", _Machine.store_deref),
    ("STORE_FAST STORE_FAST_STORE_FAST", _Machine.store_fast),
    ("STORE_FAST_LOAD_FAST", _Machine.store_fast_load_fast),
    ("SETUP_FINALLY", _Machine.handle),
    ("STORE_SUBSCR", _Machine.store_item),
    ("SWAP", _Machine.swap),
    ("UNARY_INVERT", _unary("~")),
    ("UNARY_NEGATIVE", _unary("-")),
    ("UNARY_NOT", _Machine.negate),
    ("UNPACK_EX", _Machine.unpack_more),
    ("UNPACK_SEQUENCE", _Machine.unpack_sequence),
    ("YIELD_VALUE", lambda m, i: m.yielded.append(m.stack[-1])),
    *(
        (f"POP_JUMP_IF_{name} POP_JUMP_FORWARD_IF_{name} POP_JUMP_BACKWARD_IF_{name}", _pop_jump(wanted, none))
        for name, wanted, none in (
            ("TRUE", True, False), ("FALSE", False, False), ("NONE", True, True), ("NOT_NONE", False, True),
        )
    ),
)  # fmt: skip
_STEPS = {name: step for names, step in _ROWS for name in names.split()}
