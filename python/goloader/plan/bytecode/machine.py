"""The stack and the variables of a function that is read: calls, loops, and branches gone both ways."""

from __future__ import annotations

import copy
import inspect
import itertools
import operator
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from dis import Instruction
from io import BytesIO
from typing import TYPE_CHECKING, Any

from .expressions import (
    COMPARISONS,
    IN_PLACE,
    NONE,
    UNSET,
    Adding,
    Apart,
    Attribute,
    Batch,
    Binary,
    Branch,
    Call,
    Constant,
    Display,
    Drawn,
    Either,
    Enter,
    Entered,
    Exit,
    Exited,
    Expression,
    Extended,
    Filled,
    Index,
    Inner,
    Item,
    Iterated,
    Made,
    Mapping,
    Member,
    Name,
    Part,
    Repeated,
    Sorted,
    Spread,
    Text,
    Through,
    Unary,
    Unknown,
    UnreadableError,
    as_constant,
    own_parts,
    parts_of,
    value_of,
)
from .flow import check, ending, instructions_of, meets, stored_by
from .instructions import STEPS, unread
from .made import (
    Joint,
    Lists,
    behind,
    changeable,
    extended,
    held_in,
    holds,
    is_made,
    item_of,
    parts_of_list,
    settled_by,
    with_item,
)
from .reading import Callee, Several

if TYPE_CHECKING:
    from .reader import Reader


# Items that a loop goes over, and instructions that are followed in all.
ITEMS_MAX = 256
_STEPS_MAX = 60_000
_FORKS_MAX = 512  # of code for one sample: random erasing that tries a hundred times has 300

_PARTS_MAX = 1_000  # in all variables, where a loop is looked at

# What a turn of a loop may evaluate that is taken again and again.
_OF_TURNS = Attribute | Binary | Call | Drawn | Item | Name | Part | Unary

# Constants of the same one of these are compared here, in a collate_fn.
_PLAIN = {int, str}

# What may be an array that was made here.
_ARRAYS = Binary | Call | Drawn | Either | Filled | Item | Unary

# What takes all that a generator gives: in a sample's code, and in a collate_fn's.
_GATHERERS: dict[str, Any] = {"tuple": tuple, "list": list, "dict": dict}
_REDUCERS: dict[str, Any] = {"tuple": tuple, "list": list, "max": max, "min": min, "sum": sum}


class _Fork(Exception):
    """An instruction that goes one of two ways.

    either  the value that it goes by, if it is no branch
    """

    def __init__(self, condition: Expression, either: Either | None = None) -> None:
        super().__init__(condition)
        self.condition, self.either = condition, either


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
    lists: Lists
    used: Lists
    grown: Lists


@dataclass(frozen=True)
class _Partly:
    """What comes of ways of which some return, while others come to where they meet.

    flag   whether it has returned
    value  what it has returned then
    """

    flag: Expression
    value: Expression


class Machine:
    """The stack and the local variables of a function, holding what is known of each value."""

    def __init__(self, called: Callee, reader: Reader, around: tuple[Expression, ...] = ()) -> None:
        self.function = function = called.function
        self.first = next(iter(called.arguments), None)  # what super() is about
        self.locals: dict[str, Expression] = {}
        self._called = called
        self.loop: _Loop | None = None
        self.made = Lists()
        self.stack: list[Expression] = []
        self.options: tuple[str, ...] = ()  # names of the next call's last arguments
        self.constants = function.__code__.co_consts
        self.around = dict(zip(function.__code__.co_freevars, around, strict=False))
        self.yielded: list[Expression] = []
        self.captured: set[str] = set()  # variables that functions made within use later
        self.reader = reader
        self._code = instructions_of(function.__code__)
        self.samples, self.use = reader.samples, reader.use
        self._at = 0
        self._outcome: bool | None = None  # of the next branch, if that is known
        # Instructions of which one way is being gone, and which: in a loop once for each turn.
        # At each of these: the number of the Branch, and the variables.
        self._passed: tuple[tuple[int, dict[str, Expression]], ...] = ()
        self._within: tuple[tuple[tuple[int, int | None, tuple[int, ...]], bool], ...] = ()
        self._line: int | None = function.__code__.co_firstlineno

    @property
    def place(self) -> str:
        """Where it stands."""
        return f"{os.path.basename(self.function.__code__.co_filename)}:{self._line}"

    @property
    def state(self) -> tuple[list[Expression], dict[str, Expression], Lists]:
        """What it knows, which functions that it calls may change."""
        return [*self.stack], {**self.locals}, Lists(self.made.all)

    def run(self) -> Expression:
        """What is returned."""
        check(self.function.__code__, self.reader.draws is not None)
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
            before = (list(self.stack), self.options) if self.reader.draws is not None else ([], ())
            self._at += 1
            self.reader.steps += 1
            if self.reader.steps > _STEPS_MAX:
                raise UnreadableError("has a loop that is too long")
            self._line = getattr(instruction, "line_number", instruction.starts_line) or self._line
            step = STEPS.get(instruction.opname)
            if step is None:
                raise unread(instruction)
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
                if is_generator and self.samples:
                    return Display(list, tuple(self.yielded))  # what takes it at once makes no difference
                return Iterated(tuple(self.yielded)) if is_generator else self.stack.pop()
        raise UnreadableError("does not return")  # not code of a compiler

    def _both_ways(self, fork: _Fork, until: int | None) -> Expression | _Partly | None:
        """What is returned by way of an instruction that goes one of two ways; None if it goes on where they meet."""
        if self.loop is not None:
            raise UnreadableError("has a loop that branches")
        self.reader.forks += 1
        if self.reader.forks > _FORKS_MAX:
            raise UnreadableError("branches too often")
        instruction, condition = self._code[self._at], fork.condition
        turn = tuple(len(each.items) for each in self.stack if isinstance(each, Iterated))
        within = instruction.offset, None if fork.either is None else fork.either.number, turn
        outcomes = [outcome for each, outcome in self._within if each == within]
        if outcomes:
            if self._within[-1] == (within, outcomes[-1]) and self._is_alike(condition):
                self._outcome = not outcomes[-1]
                alike = Repeated(tuple(self.reader.evaluated), condition, self._outcome, self.place)
                self.reader.evaluated[:] = [alike]
                return None
            places = [each[:2] for each, _ in self._within if each != within]
            # A loop in a loop would have too many turns, and values may grow by each.
            if len(outcomes) > 1 or len(set(places)) < len(places) or self._is_large(condition):
                raise UnreadableError(f"has a loop that goes on by {condition}")
        reader, place, number = self.reader, self.place, next(self.reader.numbers)
        meet = meets(self.function.__code__).get(instruction.offset)
        if meet is None and fork.either is None:
            meet = self._turn_of(instruction.offset)
        gone, gone_since = reader.gone, []
        if fork.either is not None and fork.either.number in reader.choices and instruction.opname == "UNPACK_SEQUENCE":
            meet = self._turn_of(instruction.offset)  # what is unpacked of one thing belongs together
        elif fork.either is not None and instruction.opname != "GET_ITER":
            meet = self._code[self._at + 1].offset
        ways: list[tuple[Machine, Expression | _Partly | None, tuple[Any, ...]]] = []
        for outcome in (True, False):
            machine = copy.copy(self)
            machine.stack, machine.locals, machine.yielded = list(self.stack), dict(self.locals), list(self.yielded)
            machine.made, machine._within = Lists(self.made.all), (*self._within, (within, outcome))
            machine._passed = (*self._passed, (number, machine.locals.copy()))
            if fork.either is None:
                machine._outcome = outcome
            else:
                machine._settle(fork.either.number, outcome)
            reader.gone, reader.running[-1] = list(gone), machine
            ways.append((machine, *machine._gone(meet)))
            gone_since += reader.gone[len(gone) :]
        reader.gone, reader.running[-1] = [*gone, *gone_since], self
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
        number = next(self.reader.numbers)
        rest, went = self._gone(until)
        self.reader.evaluated.append(Branch(partly.flag, (), went, number, place))
        if isinstance(rest, Expression):
            return self._given(partly.flag, number, partly.value, rest)
        other = _returned(rest)
        flag = self._given(partly.flag, number, as_constant(True), other.flag)
        return _Partly(flag, self._given(partly.flag, number, partly.value, other.value))

    def _gone(self, until: int | None) -> tuple[Expression | _Partly | None, tuple[Any, ...]]:
        """What _go_on gives, and what is evaluated on the way: nobody can say of a way that is not understood."""
        before, self.reader.evaluated = self.reader.evaluated, []
        result: Expression | _Partly | None
        try:
            result = self._go_on(until)
            return result, tuple(self.reader.evaluated)
        except UnreadableError as error:
            result = self._unknown(error)
            return result, (result,)
        finally:
            self.reader.evaluated = before

    def _given(self, condition: Expression, number: int, then: Expression, otherwise: Expression) -> Expression:
        """What is given on one of two ways."""
        places = [(then, otherwise)] if self.reader.running[:-1] else []  # nobody else changes what comes of all
        return Joint(condition, number, places, self._callers()).of(then, otherwise)

    def _callers(self) -> list[Expression]:
        """What functions around know."""
        callers = self.reader.running[:-1]
        known = (each for m in callers for each in (*m.stack, *m.locals.values(), *m.around.values()))
        return [*known, *self.around.values()]

    def _others(self, made: Expression, *more: Expression) -> list[Expression]:
        """All that this function and those around know, beside something."""
        known = (*self.stack, *self.locals.values(), *more)
        return [each for each in known if each is not made] + self._callers()

    def _unknown(self, error: UnreadableError) -> Unknown:
        """What nobody can say of where it stands."""
        error.place = error.place or self.place
        stands = self._code[self._at - 1].offset
        return Unknown(str(error), stands not in ending(self.function.__code__))

    def _turn_of(self, offset: int) -> int | None:
        """Where the next turn begins of the innermost loop around an instruction; None where there is none."""
        begin = None
        for n, each in enumerate(self._code):
            if each.opname == "FOR_ITER" and each.offset < offset < each.argval:
                while n and self._code[n - 1].opname == "EXTENDED_ARG":
                    n -= 1
                begin = self._code[n].offset
        return begin

    def _is_alike(self, condition: Expression) -> bool:
        """Whether the turn of a loop that ends with a condition is like all that may follow it: it draws, nothing in it
        is made of what the turn before it drew, and every variable is what that left, or is drawn anew."""
        if len(self._passed) < 2 or self._within[-1] != self._within[-2] or self._is_large(condition):
            return False
        (before, _), (begin, known) = self._passed[-2:]
        turn = self.reader.evaluated
        if not all(isinstance(each, _OF_TURNS) for each in turn) or not self.reader.numbers_alone(turn):
            return False

        def drawn(of: Expression) -> list[int]:
            return [part.number for part in parts_of(of) if isinstance(part, Drawn)]

        numbers = [number for each in (*turn, condition) for number in drawn(each)]
        if not any(number > begin for number in numbers) or any(before < number < begin for number in numbers):
            return False
        if known.keys() != self.locals.keys():
            return False
        anew = ((known[name], value, drawn(value)) for name, value in self.locals.items())
        return all(
            was is value or (not found and was == value) or (max(found, default=0) > begin and not is_made(value))
            for was, value, found in anew
        )

    def _is_large(self, condition: Expression) -> bool:
        """Whether a condition and the variables are made of many parts, each counted wherever it is."""
        parts = (part for each in (condition, *self.locals.values()) for part in parts_of(each))
        return next(itertools.islice(parts, _PARTS_MAX, None), None) is not None

    def _settle(self, number: int, outcome: bool) -> None:
        """All values that a branch decides are what they are on one of its ways."""
        known = (*self.stack, *self.locals.values())
        held = [one for each in known for one in held_in(each)]
        held += [one for each in self._callers() for one in changeable(each)]
        settled = {id(one): one for one in held}  # which stay as they are: something has them that does too
        self.stack = [settled_by(each, number, outcome, settled) for each in self.stack]
        self.locals = {name: settled_by(each, number, outcome, settled) for name, each in self.locals.items()}
        self.made = Lists(settled.get(id(each), each) for each in self.made.all)

    def one_of(self, value: Expression) -> None:
        """Goes both ways if it depends on a branch what a value is, where that has to be known."""
        if isinstance(value, Either) and self.reader.draws is not None:
            raise _Fork(value.condition, value)

    def one_chosen(self, *values: Expression) -> None:
        """The same of what was drawn of a list."""
        for value in values:
            if isinstance(value, Either) and value.number in self.reader.choices:
                raise _Fork(value.condition, value)

    def _join(self, condition: Expression, number: int, one: Machine, other: Machine | None = None) -> None:
        """Goes on where one or two ways have come to."""
        other = other or one
        if len(one.stack) != len(other.stack) or len(one.yielded) != len(other.yielded):
            raise UnreadableError("has two ways that meet with other values")

        names = [name for name in one.locals if name in other.locals]
        places = [*zip(one.stack, other.stack, strict=True), *zip(one.yielded, other.yielded, strict=True)]
        places += [(one.locals[name], other.locals[name]) for name in names]
        joint = Joint(condition, number, places, self._callers())
        self._at = one._at
        self.stack = list(map(joint.of, one.stack, other.stack))
        self.yielded = list(map(joint.of, one.yielded, other.yielded))
        self.locals = {name: joint.of(one.locals[name], other.locals[name]) for name in names}
        made = (each for then, otherwise, each in joint.made if then in one.made and otherwise in other.made)
        self.made = Lists([*one.made.all, *other.made.all, *made])

    def pop(self, count: int) -> list[Expression]:
        if count == 0:
            return []
        taken = self.stack[-count:]
        del self.stack[-count:]
        return taken

    def push(self, value: Expression) -> None:
        """A value that was evaluated, or what the function that it calls gives."""
        if isinstance(value, Attribute) and isinstance(value.owner, Call):
            given = self.reader.given(value.owner, value.name)
            if given is not None:
                self.stack.append(given)
                return
        if isinstance(value, Item):
            self.one_chosen(value.owner, value.key)
            listed = self.reader.listed(value) if self.reader.draws is not None else None
            if listed is not None:
                self.stack.append(self._at_place(*listed))
                return
        if isinstance(value, Item) and isinstance(value.key, Constant):
            if is_made(value.owner):
                self.one_of(value.owner)
            item = item_of(value.owner, value.key.value)
            if item is not None:
                self.stack.append(item)
                return
        self._look(value)
        for each in own_parts(value):
            self.reader.use(each)
        called = self.reader.callee(value)
        if called is not None:
            result = self.reader.result(value, called, self.place)  # which may change what is on the stack
            self.stack.append(result)
            return
        if isinstance(value, Call):
            self.one_chosen(*value.arguments, *(each for _, each in value.options))
        draws = self.reader.draws is not None and self.reader.draws(value)
        if draws and self.reader.looping:
            raise UnreadableError("has a loop that draws, nobody knows how often", value)
        if draws:
            value = Drawn(value, next(self.reader.numbers))
        self.reader.add(value, self.place)
        if draws:
            value, ordered = self.reader.one_of(value)
            if ordered is not None:
                self.change(ordered, value)
                self.made.replace(ordered, value)
                value = NONE
        self.stack.append(value)

    def _at_place(self, place: Expression, items: tuple[Expression, ...]) -> Expression:
        """One of a few things, at a place that is drawn; one outside of them, and one that is counted from behind, is
        left to the code itself."""
        outside = (Unknown("takes a place outside of a list", left=True),)
        for condition in (Binary("<", place, as_constant(0)), Binary("<=", as_constant(len(items)), place)):
            self.reader.evaluated.append(Branch(condition, outside, (), next(self.reader.numbers), self.place))
        return self.reader.at_place(place, items)

    def jump(self, instruction: Instruction) -> None:
        """Goes on at another instruction. Raises UnreadableError where that is of a `while` over a batch's samples."""
        at = next(at for at, each in enumerate(self._code) if each.offset == instruction.argval)
        over = bool(self.stack) and isinstance(self.stack[-1], Iterated)
        if self.reader.samples and at < self._at and not over:
            raise UnreadableError("has a loop")
        if self.loop is not None and instruction.argval >= self.loop.end:
            raise UnreadableError("leaves a loop before its end")
        self._at = at

    def iterate(self, instruction: Instruction) -> None:
        """The next item of the loop that the stack ends with, or what comes behind the loop."""
        iterator = self.stack.pop()
        if not isinstance(iterator, Iterated):
            raise UnreadableError("has a loop")
        if iterator.items:
            self.stack += [Iterated(iterator.items[1:], iterator.of), iterator.items[0]]
            return
        self.jump(instruction)
        # What would take the iterator from the stack, which some versions skip.
        while self._code[self._at].opname in ("END_FOR", "POP_ITER"):
            ends = self._code[self._at].opname == "END_FOR" and sys.version_info[:2] == (3, 13)
            self._at += 2 if ends else 1

    def loop_over(self, of: Expression) -> None:
        """Begins a loop."""
        self.one_of(of)
        if _is_window(of):
            self.use(of)
            self.stack.append(Through(of))
            return
        try:
            items = self.reader.items(of)
        except UnreadableError:
            if of.has(Batch):
                self.use(of)
            elif not self.reads_turns(of):  # a text of the sample's, or its words
                raise
            self.stack.append(Through(of))
            return
        if len(items) > ITEMS_MAX:
            raise UnreadableError(f"goes over more than {ITEMS_MAX} items", of)
        self.stack.append(Iterated(items, (of,)))

    def reads_turns(self, of: Expression) -> bool:
        """Whether one turn is read of a loop over something: it differs with the index, how many there may be."""
        if not of.has(Index):
            return False
        return self.reader.draws is None or self.reader.turns()

    def change(self, made: Expression, changed: Expression) -> None:
        """A list, a dict or an array that was made here becomes another, wherever it is.

        Raises UnreadableError where it is part of something else, or comes from the caller. What has an array is for
        Uses to say.
        """
        if self.reader.looping:
            raise UnreadableError(f"has a loop that changes {made}")
        own = True  # nobody has gone one of two ways since the caller called
        for machine in reversed(self.reader.running):
            known = (*machine.stack, *machine.locals.values(), *machine.around.values())
            parts = isinstance(made, Made)
            if parts and any(holds(whole, made) for each in known if each is not made for whole in own_parts(each)):
                raise UnreadableError(f"changes {made}, which is used elsewhere")
            if any(each is made for each in known):
                if not own or any(each is made for each in machine.around.values()):
                    raise UnreadableError(f"changes {made}, which is used elsewhere")
                machine._become(made, changed)
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
                    self.stack.append(arguments[1] if len(arguments) == 2 else NONE)
                else:
                    return False
            case _:
                return False
        self.reader.through.append(function)
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
                        changed = with_item(changed, name, item)
                for name, item in zip(names, arguments[len(arguments) - len(names) :], strict=True):
                    changed = with_item(changed, name, item)
            case _:
                return False
        self.reader.through.append(function)
        self.change(made, changed)
        self.stack.append(NONE)
        return True

    def _fills(self, function: Expression, arguments: list[Expression], names: tuple[str, ...]) -> bool:
        """Whether it is made.write(content), of an empty BytesIO that was made here: then it is one of the content.
        It stands at its end, which those that begin at its start do not notice, as Pillow does."""
        match function:
            case Attribute(owner=Call(function=maker, arguments=(), options=()) as made, name="write") if (
                len(arguments) == 1 and not names and self.reader.draws is not None
            ):
                if self.reader.value(maker) is not BytesIO:
                    return False
            case _:
                return False
        if self._within or any(part is made for each in self._others(made) for part in parts_of(each)):
            raise UnreadableError(f"changes {made}, which is used elsewhere")
        content = Call(maker, tuple(arguments), ())
        self._become(made, content)
        self.stack.append(NONE)
        self.reader.evaluated.append(content)
        return True

    def _gathers(self, function: Expression, arguments: list[Expression], names: tuple[str, ...]) -> bool:
        """Whether it is tuple(...), list(...) or dict(...) of what is known item by item: then it is made."""
        if (
            not isinstance(function, Name)
            or function.name not in ("tuple", "list", "dict")
            or len(arguments) > 1
            or names
        ):
            return False
        (of,) = arguments or (Mapping((), ()) if function.name == "dict" else Display(tuple, ()),)
        # Of a batch, what goes by the names in its samples alone: rules say more of all else.
        if not isinstance(of, Call if self.samples else Iterated | Display | Mapping | Call):
            return False
        kind = self.reader.value(function)
        if kind not in (tuple, list, dict) or (kind is dict and not isinstance(of, Iterated | Mapping)):
            return False
        try:
            items = self.reader.items(of)
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
                made = with_item(made, value_of(pair.items[0]), pair.items[1])
        self.reader.through.append(function)
        self.made.all.append(made)
        self.stack.append(made)
        return True

    def _maps(self, function: Expression, arguments: list[Expression], names: tuple[str, ...]) -> bool:
        """Whether it is map(...) over what is known item by item, all of which is taken at once: then it is called for
        each."""
        if self.reader.samples or function != Name("map", self.function) or len(arguments) < 2 or names:
            return False
        following = self._following()
        unpacked = following.opname == "UNPACK_SEQUENCE"
        taken = unpacked or self._is_taken(following, self.stack[-1] if self.stack else None, _GATHERERS)
        if not taken or self.reader.value(function) is not map:
            return False
        called, *several = arguments
        try:
            given = list(zip(*map(self.reader.items, several), strict=False))
        except UnreadableError:
            return False
        if len(given) > ITEMS_MAX:
            return False
        at = len(self.stack)
        self.stack.append(NONE)
        for number, each in enumerate(given):
            # On the stack, as in a loop: what is still to come, and what was given, must not be changed by a call.
            self.stack[at] = Iterated(tuple(itertools.chain.from_iterable(given[number + 1 :])), tuple(several))
            self.stack += [called, *each]
            try:
                self.call(len(each))
            except _Fork:
                raise UnreadableError(f"goes one of two ways for an item of {several[0]}", several[0]) from None
        made = tuple(self.stack[at + 1 :])
        del self.stack[at:]
        self.reader.through.append(function)
        self.stack.append(Display(tuple, made) if unpacked else Iterated(made))
        return True

    def _maps_samples(self, function: Expression, arguments: list[Expression], names: tuple[str, ...]) -> bool:
        """Whether it is map(...) over what there is of each sample, all of which is taken at once: then it is called
        for the Member."""
        if not self.samples or function != Name("map", self.function) or len(arguments) != 2 or names:
            return False
        following = self._following()
        taken = following.opname == "UNPACK_SEQUENCE" or self._is_taken(
            following, self.stack[-1] if self.stack else None, _REDUCERS
        )
        called, of = arguments
        if not taken or self.reader.looping or not of.has(Batch) or self.reader.value(function) is not map:
            return False
        self.use(of)
        self.stack.append(Display(list, (Spread(self._of_member(called, of), of),)))
        self.reader.through.append(function)
        return True

    def _filters_samples(self, function: Expression, arguments: list[Expression], names: tuple[str, ...]) -> bool:
        """Whether it is list(filter(...)) over the samples, none of which it leaves out."""
        if not self.samples or function != Name("filter", self.function) or len(arguments) != 2 or names:
            return False
        called, of = arguments
        taken = self._is_taken(
            self._following(), self.stack[-1] if self.stack else None, {"list": list, "tuple": tuple}
        )
        if not taken or self.reader.looping or not isinstance(of, Batch) or self.reader.value(function) is not filter:
            return False
        self.use(of)
        if called == NONE or not self.holds(self._of_member(called, of)):
            raise UnreadableError("may leave samples out")
        self.stack.append(Display(list, (Spread(Member(of), of),)))
        self.reader.through.append(function)
        return True

    def _of_member(self, called: Expression, of: Expression) -> Expression:
        """What a function gives for the Member of a list."""
        self.reader.begin()
        self.stack += [called, Member(of)]
        self.call(1)
        self.reader.looping = False
        return self.stack.pop()

    def _sorts(self, function: Expression, arguments: list[Expression], names: tuple[str, ...]) -> bool:
        """Whether it is batch.sort(key=...) or sorted(batch, key=...): then the samples are in that order."""
        given, options = (
            arguments[: len(arguments) - len(names)],
            dict(zip(names, arguments[-len(names) :], strict=False)),
        )
        match function, given:
            case Attribute(owner=Batch() as of, name="sort"), []:
                in_place = True
            case Name(name="sorted"), [Batch() as of]:
                in_place = False
                if self.reader.value(function) is not sorted:
                    return False
            case _:
                return False
        key = options.pop("key", None)
        reverse = options.pop("reverse", as_constant(False))
        if (
            key is None
            or options
            or self.reader.looping
            or (in_place and any(each.has(Batch) for each in self._callers()))
        ):
            return False
        ordered = Sorted(of, self._of_member(key, of), reverse)
        self.reader.through.append(function)
        self.reader.add(ordered, self.place)
        if in_place:
            self._become(of, ordered)
        self.stack.append(NONE if in_place else ordered)
        return True

    def begin(self, instruction: Instruction) -> None:
        """Begins with the one turn of a loop that is read."""
        iterator = self.stack[-1]
        self.reader.begin()
        if not isinstance(iterator, Through):
            raise UnreadableError("has a loop")
        inside = (each for each in self._code if instruction.offset < each.offset < instruction.argval)
        stored = {name for each in inside for name in stored_by(each)}
        lists = Lists(each for each in (*self.stack, *self.locals.values()) if each in self.made)
        stored = {name for name in stored if self.locals.get(name, NONE) not in lists}
        self.loop = _Loop(
            instruction.offset, instruction.argval, len(self.stack), iterator.owner, stored, lists, Lists(), Lists()
        )
        self._forget(stored)
        self.stack.append(Member(iterator.owner))

    def again(self, instruction: Instruction) -> None:
        """Goes on behind the end of a loop."""
        loop = self.loop
        if loop is None or instruction.argval != loop.start or len(self.stack) != loop.depth:
            raise UnreadableError("has a loop")
        self.stack.pop()
        self._forget(loop.stored)
        self.loop, self.reader.looping = None, False
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
        if value is UNSET:
            self.locals.pop(name, None)
            return
        if self.loop is not None and name not in self.loop.stored and value is not self.locals.get(name):
            raise UnreadableError(f"sets {name} anew in a loop")
        self.locals[name] = value

    def _has_alone(self, made: Expression) -> bool:
        """Whether it was made here, and nothing else has it as a part."""
        return made in self.made and not any(holds(each, made) for each in self._others(made))

    def _become(self, made: Expression, other: Expression) -> None:
        """Something is another, wherever this function has it by itself."""
        self.stack = [other if each is made else each for each in self.stack]
        self.locals = {name: other if each is made else each for name, each in self.locals.items()}

    def grow(self, made: Display, items: tuple[Expression, ...]) -> None:
        """A list becomes longer, by whatever name it goes."""
        loop, longer = self.loop, Display(list, (*made.items, *items))
        if not self._has_alone(made):
            raise UnreadableError("adds to a list that something else has, too")
        if loop is not None and made in loop.lists:
            if made in loop.used or made in loop.grown or len(items) > 1:
                raise UnreadableError("has a loop that uses a list as it grows")
            longer = Display(list, (*made.items, *(Spread(item, loop.owner) for item in items)))
            loop.grown.all.append(longer)
            loop.lists.replace(made, longer)
        self.made.replace(made, longer)
        self._become(made, longer)

    @property
    def _is_within(self) -> bool:
        """Whether this is one of two ways: what is changed here is one of two things where they meet."""
        return any(each._within for each in self.reader.running)

    def sets_numbers(self, made: Expression) -> bool:
        """Whether it may be an array, or a tensor, of a dataset's numbers of which items are set: Uses says whether
        anything else has it."""
        if self.samples or self.loop is not None or not isinstance(made, _ARRAYS):
            return False
        return self.reader.draws is None or self.reader.numbers_alone(self.reader.places)

    def set_numbers(self, made: Expression, key: Expression, item: Expression) -> None:
        """made[key] = item, or made[key] += item and the like, which sets items to others of their own type."""
        match item:
            case Binary(operator=sign, left=Item(owner=owner, key=at) as left, right=right) if (
                sign in IN_PLACE and owner is made and _are_same(at, key)
            ):
                self.reader.evaluated[:] = [each for each in self.reader.evaluated if each is not item]
                item = Binary(sign[:-1], left, right)
                self.reader.add(item, self.place)
        filled = Filled(made, key, item, NONE)
        self.change(made, filled)
        self.reader.add(filled, self.place)

    def sets_one(self, made: Call | Filled, key: Expression) -> bool:
        """Whether it may be one item of an array, as large for all samples, that is set whichever way the code goes."""
        if self.samples or self.loop is not None:
            return False
        sizes = made.arguments if isinstance(made, Call) else ()
        varies = any(each.has(Index, Drawn, Either) for each in sizes)
        several = isinstance(key, Display | Binary | Unary)
        return not varies and not several and not self._is_within

    def fill(self, made: Expression, key: Expression, item: Expression, owner: Expression) -> Filled:
        """Items of a tensor are set, by whatever name it goes. Raises UnreadableError where anything else has it."""
        known = (part for each in self._others(made, key, item) for part in parts_of(each))
        if (owner is NONE and self.loop is not None) or any(part is made for part in known):
            raise UnreadableError("changes a tensor that something else has, too")
        filled = Filled(made, key, item, owner)
        if self.loop is not None:
            self.loop.grown.all.append(filled)
        self._become(made, filled)
        return filled

    def lengthen(self, made: Display | Extended, more: Expression) -> None:
        """A list becomes longer by items of which nobody knows how many they are, by whatever name it goes."""
        parts = parts_of_list(more)
        if parts is None or self._is_within or not self._has_alone(made):
            raise UnreadableError("adds to a list what cannot be counted")
        longer = extended(made, parts)
        self.made.replace(made, longer)
        self._become(made, longer)

    def _look(self, value: Expression) -> None:
        """A value is made of others, or a branch goes by it."""
        if self.loop is None:
            return
        for each in parts_of(value):
            if each in self.loop.grown:
                raise UnreadableError("has a loop that uses a list as it grows")
            if each in self.loop.lists:
                self.loop.used.all.append(each)

    def raises_unless(self, instruction: Instruction, wanted: bool) -> bool | None:
        """How the condition of a jump, taken if that is as wanted, has to come out where the other way can only raise
        an error; None where both ways may return."""
        ending_ = ending(self.function.__code__)
        falls, jumps = self._code[self._at].offset in ending_, instruction.argval in ending_
        return None if falls is jumps else jumps is wanted

    def holds(self, condition: Expression, unless_raised: bool | None = None) -> bool:
        """How a condition comes out.

        unless_raised  how it does where no error is raised, if it does in one way then
        """
        if self._outcome is not None:
            outcome, self._outcome = self._outcome, None
            return outcome
        made = self._made_outcome(condition)
        if made is not None:
            if self.samples:
                self.reader.through.append(condition)
            return made
        self._look(condition)
        try:
            outcome = self.reader.decide(condition)
        except UnreadableError:
            if self.reader.draws is None:
                if unless_raised is None or self.reader.samples:
                    raise
                self.reader.asserted.append((condition, unless_raised))
                return unless_raised
            raise _Fork(condition) from None
        self.reader.conditions.append((condition, outcome))
        return outcome

    def key(self, of: Expression) -> Any:
        """The key of a dict that something is, the same for every index. Raises UnreadableError."""
        if isinstance(of, Constant):
            return of.value
        known = self.reader.told(of)
        self.reader.through += parts_of(of)
        conditions = [(of, known)]
        if type(known) is int:  # which True equals, too
            conditions.append((Text((of,)), str(known)))
        self.reader.conditions += ((Binary("==", one, as_constant(other)), True) for one, other in conditions)
        return known

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
            ) if kind is other and kind in (_PLAIN if self.samples else {int}) and sign in COMPARISONS:
                return bool(COMPARISONS[sign](left, right))
            case Binary(operator="in" | "not in" as sign, left=Constant(value=left, kind=kind), right=right) if (
                self.samples and kind in _PLAIN and (items := _constants(right)) is not None
            ):
                return (left in items) is (sign == "in")
        return None

    def _count(self, made: Expression) -> int | None:
        """How many items there are in what was made here, or in a text; None where that is not known."""
        if isinstance(made, Constant) and isinstance(made.value, str):
            return len(made.value)
        if self.reader.looping or not isinstance(made, Display | Mapping):
            return None
        if isinstance(made, Display) and made.kind in (slice, Several):
            return None
        return None if any(isinstance(each, Spread) for each in made.items) else len(made.items)

    def call(self, count: int) -> None:
        self.one_of(self.stack[-count - 1])
        names, self.options = self.options, ()
        function, *arguments = self.pop(count + 1)
        if function == NONE and self.stack and isinstance(self.stack[-1], Exit):
            function = self.stack.pop()  # some versions count one of its three arguments as part of it
        if isinstance(function, Iterated | Through) and self.stack and isinstance(self.stack[-1], Inner):
            function, arguments = self.stack.pop(), [function]  # of a comprehension, in some versions
        if isinstance(function, Adding) and function.name in ("fill_", "zero_"):
            if names or len(arguments) != (function.name == "fill_"):
                raise UnreadableError(f"calls {function.name} with more than a number")
            (value,) = arguments or (as_constant(0),)
            filled = self.fill(function.owner, as_constant(...), value, NONE)
            self.stack.append(filled)
            return
        if isinstance(function, Adding) and len(arguments) == 1 and not names:
            assert isinstance(function.owner, Display | Extended)
            (more,) = arguments
            items: tuple[Expression, ...] = (more,)
            whole = more if function.name == "extend" else Display(list, items)
            if isinstance(function.owner, Extended) or isinstance(whole, Apart | Extended):
                self.lengthen(function.owner, whole)
                self.stack.append(NONE)
                return
            if function.name == "extend":
                if not isinstance(more, Display):
                    raise UnreadableError("unpacks values whose number is not known")
                items = more.items
            self.grow(function.owner, items)
            self.stack.append(NONE)
            return
        if isinstance(function, Enter):
            self.push(Entered(function.manager))
            return
        if isinstance(function, Exit):
            self._leave(function.manager)
            self.stack.append(NONE)
            if self.reader.draws is not None:
                self.reader.evaluated.append(Exited(function.manager))
            return
        if function == Name("len", self.function) and len(arguments) == 1 and not names:
            items_made = self._count(arguments[0])
            if items_made is not None and self.reader.value(function) is len:
                self.push(as_constant(items_made))
                return
        if not arguments and function == Name("super", self.function) and self.first is not None:
            arguments = [Name("__class__", self.function), self.first]
        if isinstance(function, Inner):
            plain = len(arguments) - len(names)
            options = tuple(zip(names, arguments[plain:], strict=True))
            called = Callee(function.function, function, tuple(arguments[:plain]), options, function.defaults)
            result = self.reader.run(called, function.around)
            self.stack.append(result)
            self.made.all.append(result)
            if isinstance(self.stack[-1], Iterated) or function.function.__code__.co_name == "<genexpr>":
                self._take_at_once()
            return
        named = bool(names) and len(names) == len(arguments)
        if named and function == Name("dict", self.function) and self.reader.value(function) is dict:
            self.reader.through.append(function)
            self.push(Mapping(names, tuple(arguments)))
            return
        if (
            self._extends(function, arguments, names)
            or self._looks_up(function, arguments, names)
            or self._gathers(function, arguments, names)
            or self._maps(function, arguments, names)
            or self._maps_samples(function, arguments, names)
            or self._filters_samples(function, arguments, names)
            or self._sorts(function, arguments, names)
            or self._fills(function, arguments, names)
        ):
            return
        plain = len(arguments) - len(names)
        self.push(Call(function, tuple(arguments[:plain]), tuple(zip(names, arguments[plain:], strict=True))))

    def give(self, value: Expression) -> None:
        """A generator expression gives a value."""
        if self.loop is None:
            self.yielded.append(value)
        elif self.yielded:
            raise UnreadableError("makes a generator")
        else:
            self.yielded.append(Spread(value, self.loop.owner))

    def _take_at_once(self) -> None:
        """What a generator expression gives is evaluated as it is taken: raises UnreadableError unless the next
        instruction takes all of it, and does nothing else."""
        instruction, function = self._following(), self.stack[-2] if len(self.stack) > 1 else None
        if self.reader.draws is None and not self.samples:
            # It has no effects: what counts is that no variable of it is another by then.
            if instruction.opname.startswith("STORE"):
                raise UnreadableError("makes a generator that is not taken at once")
            return
        if not self._is_taken(instruction, function, _REDUCERS if self.samples else _GATHERERS):
            raise UnreadableError("makes a generator that is not taken at once")

    def _following(self) -> Instruction:
        """The next instruction that does something."""
        return next(each for each in self._code[self._at :] if each.opname not in ("CACHE", "NOP", "PRECALL"))

    def _is_taken(self, instruction: Instruction, function: Expression | None, takers: dict[str, Any]) -> bool:
        """Whether an instruction calls one of some functions with what was made last."""
        calls = instruction.opname in ("CALL", "CALL_FUNCTION") and instruction.argval == 1 and not self.options
        if not calls or not isinstance(function, Name) or function.name not in takers:
            return False
        return self.reader.value(function) is takers[function.name]

    def _leave(self, manager: Expression) -> None:
        """Behind the end of a `with`, what it entered is closed, and what needs that."""
        made: dict[int, tuple[Expression, Expression]] = {}
        self.stack = [behind(value, manager, made) for value in self.stack]
        self.locals = {name: behind(value, manager, made) for name, value in self.locals.items()}
        for before, closed in made.values():
            self.made.replace(before, closed)


def _returned(result: Expression | _Partly | None) -> _Partly:
    """What has come of one way."""
    if isinstance(result, _Partly):
        return result
    returned = result is not None and not isinstance(result, Unknown)
    value = result if returned else Unknown("has not returned", left=True)
    assert value is not None
    return _Partly(as_constant(returned), value)


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
    defaults = called.defaults or _defaults(called.called, "__defaults__", enumerate(function.__defaults__ or ()))
    if len(defaults) > code.co_argcount:  # where somebody has set __defaults__
        raise UnreadableError(f"calls {code.co_name}, which has more default values than arguments")
    left = dict(zip(names[code.co_argcount - len(defaults) : code.co_argcount], defaults, strict=True))
    options = function.__kwdefaults__ or {}
    left |= zip(options, _defaults(called.called, "__kwdefaults__", options.items()), strict=True)
    if not {*names} <= given.keys() | left.keys():
        raise wrong
    return {name: given.get(name) or left[name] for name in names} | more


def _defaults(function: Expression, name: str, given: Iterable[tuple[Any, Any]]) -> tuple[Expression, ...]:
    """Default arguments of a function: constants, and others as items of what the function keeps them in."""
    return tuple(
        as_constant(value)
        if isinstance(value, str | bytes | int | float | None)
        else Item(Attribute(function, name), as_constant(key))
        for key, value in given
    )


def _are_same(one: Expression, other: Expression) -> bool:
    """Whether they are one object, or slices with the same ends."""
    slices = isinstance(one, Display) and isinstance(other, Display) and one.kind is other.kind is slice
    if slices and len(one.items) == len(other.items):  # type: ignore[attr-defined]
        return all(map(operator.is_, one.items, other.items))  # type: ignore[attr-defined]
    return one is other


def _constants(of: Expression) -> tuple[Any, ...] | None:
    """The texts and ints that a tuple, a list or a set of the code is made of; None for others."""
    items: tuple[Any, ...] | None = None
    if isinstance(of, Constant) and of.kind is frozenset:
        items = tuple(of.value)
    elif isinstance(of, Display) and of.kind in (list, tuple) and all(isinstance(each, Constant) for each in of.items):
        items = tuple(each.value for each in of.items)  # type: ignore[attr-defined]
    return items if items is not None and {*map(type, items)} <= _PLAIN else None


def _is_window(of: Expression) -> bool:
    """Whether it is items that are taken by a slice which depends on the index."""
    match of:
        case Item(key=Display(kind=kind) as key) if kind is slice:
            return key.has(Index)
    return False
