"""What is known of values: expressions, which are equal if they are spelt alike."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from types import FunctionType
from typing import Any, ClassVar

# What signs do that code has between two values.
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "&": operator.and_, "|": operator.or_, "^": operator.xor, **COMPARISONS,
}  # fmt: skip
# What changes what can be changed, and gives it.
IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv, "//=": operator.ifloordiv,
    "%=": operator.imod, "&=": operator.iand, "|=": operator.ior, "^=": operator.ixor,
}  # fmt: skip


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


class Expression:
    """What is known of a value. Expressions are equal if they are spelt alike, and str() spells them, cut if need be.

    What an expression is made of may be in it many times over: hashes, spellings and the like are found once.
    """

    spelling: ClassVar[str] = ""  # for str.format; "" where nobody gets to read it

    def __eq__(self, other: object) -> bool:
        if self is other or type(other) is not type(self):
            return self is other
        if hash(self) != hash(other):
            return False
        # What was found equal is compared by the same tuple from then on: a part that is in both many times over, at
        # any depth, would else be compared as often as there are ways to it.
        mine, theirs = (each.__dict__.get("_alike") or each._values() for each in (self, other))
        if mine != theirs:
            return False
        self.__dict__["_alike"] = other.__dict__["_alike"] = mine
        return True

    def __hash__(self) -> int:
        kept = self.__dict__  # and not _once: it is asked for a hundred thousand times as a long method is read
        found: int | None = kept.get("_hash")
        if found is None:
            found = kept["_hash"] = hash((type(self), *self._values()))
        return found

    def _values(self) -> tuple[Any, ...]:
        """What it is made of."""
        kept = self.__dict__
        found: tuple[Any, ...] | None = kept.get("_values_")
        if found is None:
            found = kept["_values_"] = tuple([getattr(self, name) for name in fields_of(self)])
        return found

    def __str__(self) -> str:
        return str(self._once("_text", lambda: _cut(self._spelt(), _TEXT_MAX)))

    def __format__(self, _: str) -> str:
        """How messages spell it: cut."""
        return _cut(str(self), 80)

    def _spelt(self) -> str:
        return self.spelling.format(self) if self.spelling else repr(self)

    def has(self, *kinds: Any) -> bool:
        """Whether it is of one of these classes, or made of something that is."""
        return any(isinstance(part, kinds) for part in parts_of(self))

    def _found(self, name: str) -> Any:
        """What `_once` has found by a name; None where it was not asked."""
        return self.__dict__.get(name)

    def _once(self, name: str, find: Callable[[], Any]) -> Any:
        kept = self.__dict__
        if name not in kept:
            kept[name] = find()
        return kept[name]


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."


_TEXT_MAX = 2000


class Alone(Expression):
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
class Sorted(Expression):
    """The list of samples in the order of `key`, of each Member of `owner`."""

    spelling = "sorted({0.owner!s}, key={0.key!s})"
    owner: Expression
    key: Expression
    reverse: Expression


@dataclass(frozen=True, eq=False)
class Spread(Expression):
    """As many items of a list, or arguments, as there are in `owner`: `item` for each Member of it."""

    spelling = "*({0.item!s} for {0.owner!s})"
    item: Expression
    owner: Expression


# Py_TPFLAGS_HEAPTYPE: what others are is not asked of code of the user's.
_HEAP_TYPE, _flags = 1 << 9, vars(type)["__flags__"].__get__


@dataclass(frozen=True, eq=False)
class Constant(Expression):
    """A constant of the code.

    kind  its type, since 1 and True are equal
    """

    value: Any
    kind: type

    def _spelt(self) -> str:
        return f"a {self.kind.__qualname__}" if _flags(self.kind) & _HEAP_TYPE else repr(self.value)

    def __eq__(self, other: object) -> bool:
        return type(other) is Constant and self._itself() == other._itself()

    def __hash__(self) -> int:
        return hash(self._itself())

    def _itself(self) -> tuple[type, Any]:
        # A list in a list, or an object of the user's: it is what it is, whatever it holds.
        if _flags(self.kind) & _HEAP_TYPE or self.kind.__hash__ is None:
            return self.kind, id(self.value)
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
class Filled(Alone):
    """A tensor or an array that was made here, `of`, some of whose items were set: of[key] = item.

    owner  of the loop that does so for each Member of it; NONE: it is done once; of a batch's, to all items
    """

    spelling = "{0.of!s} with [{0.key!s}] = {0.item!s}"
    of: Expression
    key: Expression
    item: Expression
    owner: Expression


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
class Repeated:
    """A turn of a loop, which is taken again until a condition comes out as `outcome`."""

    turn: tuple[Expression, ...]
    condition: Expression
    outcome: bool
    place: str


@dataclass(frozen=True, eq=False)
class Exit(Expression):
    """What the end of `with manager` calls."""

    manager: Expression


@dataclass(frozen=True, eq=False)
class Enter(Expression):
    """What the beginning of `with manager` calls, where that is an instruction of its own."""

    manager: Expression


@dataclass(frozen=True, eq=False)
class Iterated(Expression):
    """What a loop still has to go over.

    of  what it was begun with
    """

    items: tuple[Expression, ...]
    of: tuple[Expression, ...] = ()


@dataclass(frozen=True, eq=False)
class Through(Expression):
    """What a loop goes through of which one turn is read."""

    owner: Expression


@dataclass(frozen=True, eq=False)
class Inner(Alone):
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


class Made(Expression):
    """What code makes of other values.

    born  tells it from what was made before it
    """

    born: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "born", next(_births))


_births = itertools.count()


@dataclass(frozen=True, eq=False)
class Display(Made):
    """A tuple, a list or a slice."""

    kind: type
    items: tuple[Expression, ...]

    @property
    def spread(self) -> bool:
        """Whether nobody knows how many items it has."""
        return any(isinstance(each, Spread) for each in self.items)

    def _spelt(self) -> str:
        if self.kind is slice:
            return ":".join("" if each == NONE else str(each) for each in self.items)
        return f"{self.kind.__name__}({', '.join(map(str, self.items))})"


@dataclass(frozen=True, eq=False)
class Extended(Made):
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
class Adding(Alone):
    """owner.append or owner.extend, of a list that is being made; owner.zero_ or owner.fill_, of a tensor."""

    owner: Expression
    name: str


@dataclass(frozen=True, eq=False)
class Mapping(Made):
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
            work += reversed(own_parts(part))


def fields_of(expression: Expression) -> tuple[str, ...]:
    """The names of what an expression is made of."""
    kind: Any = type(expression)
    return _fields(kind)


@cache
def _fields(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def own_parts(expression: Expression) -> tuple[Expression, ...]:
    """What an expression is made of first."""
    kept = expression.__dict__
    found: tuple[Expression, ...] | None = kept.get("_parts")
    if found is None:
        parts = []
        for value in expression._values():
            for each in value if type(value) is tuple else (value,):
                part = each[1] if type(each) is tuple and len(each) == 2 else each
                if issubclass(type(part), Expression):  # a constant may be anybody's class, and isinstance() asks it
                    parts.append(part)
        found = kept["_parts"] = tuple(parts)
    return found


NONE = Constant(None, type(None))
UNSET = Constant(..., type(...))


def as_constant(value: Any) -> Expression:
    if type(value) is tuple:
        return Display(tuple, tuple(map(as_constant, value)))
    if type(value) is slice:
        ends = (value.start, value.stop, *(() if value.step is None else (value.step,)))
        return Display(slice, tuple(map(as_constant, ends)))
    return Constant(value, type(value))


def value_of(expression: Expression) -> Any:
    """The value of a constant that the compiler made."""
    if type(expression) is Display:
        return tuple(map(value_of, expression.items))
    if type(expression) is not Constant:
        raise UnreadableError("has bytecode that no compiler makes")
    return expression.value
