"""A reading (plan.bytecode) as a script of the core (core/plan/script.go): instructions in the order in which code
draws.

What a sample gives is its images and, beside them, values that are worked out ahead for each index
(datasets/own/columns.py), items of lists at a place that is drawn, and numbers.

Whatever the code evaluates is accounted for as it is evaluated (_take), or the class is refused: it is an image or a
number, which the script makes at that place, where it may fail; or a draw; or a value that is worked out ahead, used or
not; or it does nothing that could be seen and cannot fail; or it is part of one of these. A way of a branch that raises
an error is left to the user's own code as it comes.
"""

from __future__ import annotations

import base64
import copy
import io
import os
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch

from .... import transforms as T
from ...bytecode import (
    Apart,
    Attribute,
    Binary,
    Branch,
    Call,
    Closed,
    Constant,
    Display,
    Drawn,
    Either,
    Entered,
    Exited,
    Expression,
    Filled,
    Index,
    Inner,
    Item,
    Mapping,
    Name,
    Part,
    Repeated,
    Stored,
    Unary,
    Unknown,
    UnreadableError,
    Uses,
    parts_of,
)
from ...rows import Field
from ...structure import Structure
from ...transforms.lowered import PASSES_MAX
from ...transforms.tables import Table
from ..computed.functions import makes_anew
from ..own.code import length_of
from ..own.columns import Columns
from ..own.sources import check_settled
from .code import ScriptCode
from .giving import Given, reversed_of, spread_of, structure_of, table_of
from .images import arrays, convolutions, noise, patches
from .images.changing import change_all, change_either, held_of, store, taken_back
from .images.looking import looked, looks_of
from .images.making import picture_of
from .images.memory import Memory
from .images.picture import TENSORS, Picture, tail_of_both
from .images.pil import METHODS
from .images.stack import Stack
from .instructions import flat, generators_of, registers_in, split
from .numbers import arithmetic, tables
from .numbers.arithmetic import INDEX, Number, Vector
from .numbers.drawing import draw
from .numbers.reckoning import dimensions, dtypes, items_of, mode_compared, number_of
from .numbers.rows import columns_of, row_of, tabled
from .numbers.series import Series, series_of
from .opening import Opened
from .parts.crops import Crops

_OF_PALETTES = (T.CenterCrop, T.RandomCrop, T.RandomHorizontalFlip, T.RandomVerticalFlip, T.Pad)

# Files of those that code asks whether they are there, which are looked for.
_LOOKED_FOR_MAX = 256

# What makes numbers of numbers that are the same for all samples.
_OF_CONSTANTS = (np.array, np.asarray, np.float32, np.float64)


# What images are.
_IMAGES = (Closed, Entered, Either, Call, Binary, Item, Part, Drawn)


class Compiler:
    """Compiles one reading. Raises UnreadableError or RefusalError.

    structure  of a sample: images are fields from 0 on, then what is given
    """

    def __init__(self, own: ScriptCode) -> None:
        self.own = own
        self.opened: list[Opened] = []
        self.given: list[Given] = []
        self.pictures: list[Picture] = []
        self.image_memory: list[frozenset[Any]] = []  # what tells the memory of each
        self.built: list[int] = []  # by their ids, lists and dicts in a sample
        self.stacks: list[Stack] = []
        self.needs: dict[str, None] = {**own.needs}
        self.calls = {**own.calls}
        self.transforms: list[Any] = []
        self.looked: list[Callable[[Compiler], Any]] = []
        # Tables that need not be tried again on all probes.
        self.proved: set[Any] = set()
        self.names: list[str] = []
        # The first registers are those of the files that a sample opens.
        self._images = own.opens_images
        self._first: list[Any] = []
        self.body: list[Any] = []
        self.into = self.body
        self.drawn: dict[int, Number | Vector | Expression] = {}
        # States of generators that were kept, by the numbers of what asked for them: whose, where, and in which block.
        self.states: dict[int, tuple[str, int, list[Any]]] = {}
        # By the numbers of what was drawn: tensors as large as images, of which there are so many.
        self.noise: dict[int, Picture] = {}
        self.noises = 0
        # Of what was drawn of a list of things: the places.
        self.places: dict[int, list[Number]] = {}
        self.branches: dict[int, tuple[list[Any], list[Any]] | bool] = {}
        # The block of instructions that each is part of, by the id of the other.
        self.around: dict[int, list[Any]] = {}
        # By the number of a branch that converts a file's image unless it has a mode: the image, and before.
        self.conversions: dict[int, tuple[Expression, Expression]] = {}
        self.of_two: dict[Any, Number | Picture] = {}
        self.items_of_two: dict[Either, Expression | None] = {}
        # By the id of an expression, which is kept, so that no other has it.
        self.known: dict[int, tuple[Expression, Picture | None]] = {}
        self._let_as: dict[int, tuple[Expression, Number, list[Any]]] = {}
        # Values worked out ahead that were evaluated, and whether by the index; and those that nothing is made of.
        self._found: list[tuple[Expression, Columns, bool]] = []
        self.asides: list[tuple[Columns, bool]] = []
        self._length_now: int | None = None
        self.crops = None if own.opens_images else Crops(self)
        # Paths of files that have to be there.
        self.looked_for: list[Expression] = []
        # Lists that code goes by, and what they held.
        self.copies: list[tuple[Expression, Any]] = []
        self.lengths: list[tuple[Expression, int]] = []
        # By their ids, what was evaluated and is accounted for.
        self.accounted: set[int] = set()
        # Files whose image is used as it is in them.
        self._used: set[int] = set()
        # By the id of an image that was loaded: the block of instructions that does so.
        self.loaded: dict[int, list[Any]] = {}
        self.entered: set[int] = set()
        # Which arrays share memory, those that were changed in place within each branch that is being gone, with what
        # they were before it, and when each was changed last.
        self.memory = Memory()
        self.changes: list[dict[int, tuple[Expression, Picture | None]]] = []
        self.born: dict[int, list[Any]] = {}
        self.now = 0
        self.changed_at: dict[int, int] = {}
        self.given_back: dict[int, Expression] = {}
        self.gives_arrays = False  # some of its images are arrays
        self.lacks_fields = False
        # Where items are set of arrays beside the images, and by their ids what Python does of that.
        self.stored_apart: list[Stored] = []
        self.given_apart: set[int] = set()
        # When each value was evaluated, by its id.
        self.taken_at: dict[int, int] = {}
        self.began: dict[int, int] = {}
        # Parameters of the user's modules that were set, to what, and in which block of instructions.
        self.written: dict[int, tuple[Any, Series, list[Any]]] = {}
        # By how they are computed: numbers, and the block of instructions that does so.
        self._computed: dict[str, tuple[Number, list[Any]]] = {}
        self._series: dict[int, tuple[Expression, Series | None]] = {}
        self._without_grad: list[Expression] = []  # which `with torch.no_grad()` it is in
        # What one of albumentations' objects gives, by the id of the call, and the generators that these draw from.
        self.augmented: dict[int, tuple[Expression, dict[str, Picture]]] = {}
        self.objects: list[random.Random] = []
        # What it goes by that is no object's: how torch adds up.
        self.settings: list[Callable[[], Any]] = []
        # Which bytes an image has to have for the way that was gone, by its register: [channels, 256].
        self.marks: dict[int, bytes] = {}
        self._columns: list[int] = []
        self._registers: list[str] = []
        self._vectors: list[tuple[str, int]] = []
        self.drawing_ns = 0  # what a sample's numbers in vectors take to be drawn
        self.number_tables: list[tables.Kept] = []
        self.table_count = 0
        self.table_numbers: dict[Any, int | None] = {}
        self.table_same: dict[Any, Any] = {}
        # Turns of a loop ask for the same things: columns, the first value in each, and what is no row by itself.
        self._ahead: dict[tuple[Expression, ...], Columns] = {}
        self.firsts: dict[Expression, Any] = {}
        self.no_rows: set[Expression] = set()
        try:
            self._compile()
        finally:
            if self.crops is not None:
                self.crops.forget()

    def _compile(self) -> None:
        reading = self.own.reading
        self.accounted |= set(map(id, reading.loose))
        self._walk(reading.evaluated)
        self.structure = self._structure(reading.result)
        if not self.pictures and not self.fields:
            raise UnreadableError("gives no images" if self.crops is None else "gives no arrays that Go reads")
        for each in self.stored_apart:
            if id(each) not in self.given_apart:
                raise UnreadableError(f"sets {each.owner}[{each.key}], which it does not give", each)
        if self.crops is not None:
            self.crops.check_read()
        if {picture.file for picture in self.pictures} != set(range(len(self.opened))):
            raise UnreadableError("opens an image that it does not give")
        for path in self.looked_for:
            found, row = row_of(self, path)
            if not any(each.path == found and each.row == row for each in self.opened):
                raise UnreadableError(f"looks for {path}", path)
        self._check_all(reading.evaluated)
        self.tables = []
        each_table = self._all_tables()
        # What goes_by() would find as long as nobody could have changed anything.
        self._just_found = None if any(reverse for _, reverse in each_table) else each_table
        for number, (table, reverse) in enumerate(each_table):
            self.tables.append(table)
            if reverse:
                self.pictures[number] = reversed_of(self, self.pictures[number])
            if table.channels != self.pictures[number].channels:
                self.pictures[number] = spread_of(self, self.pictures[number])
        self.looks = looks_of(self)
        if self.fields:
            self._first, self.body = self.body, []
            return
        first = {register for each in self.opened for register in registers_in(each.row.json)}
        self._first, self.body = split(self.body, first)

    @property
    def fields(self) -> list[Field]:
        """Of sounds."""
        return [] if self.crops is None else self.crops.fields

    def goes_by(self) -> str:
        """What it goes by beside what the code means: what transforms do, and functions of numbers. Raises as compiling
        does."""
        each_table, self._just_found = self._just_found or self._all_tables(), None
        return repr(([look(self) for look in self.looked], [table.data for table, _ in each_table]))

    def _all_tables(self) -> list[tuple[Table, bool]]:
        """Of all images that are given, and whether their channels are reversed first."""
        known: dict[Any, tuple[Table, bool]] = {}  # views are often alike
        tables = []
        for picture in self.pictures:
            kind = picture.mode, picture.resized, picture.form, tuple(tuple(map(id, each)) for each in picture.tails)
            if kind not in known:
                known[kind] = table_of(self, picture)
            tables.append(known[kind])
        return tables

    # What is evaluated, in order

    def _structure(self, result: Expression) -> Structure:
        """The structure of a sample. Where no rows are in it, numbers that are drawn make fields."""
        try:
            structure = structure_of(self, result, list)
            if self.crops is None or self.fields:
                return structure
        except UnreadableError:
            if self.crops is None or self.fields:
                raise
        self.lacks_fields = True
        self.given.clear()
        self.built.clear()
        self._columns.clear()
        return structure_of(self, result, list)

    def _walk(self, evaluated: Sequence[Any]) -> None:
        for each in evaluated:
            if isinstance(each, Branch):
                self._branch(each)
            elif isinstance(each, Repeated):
                self._repeat(each)
            elif isinstance(each, Unknown):
                if not each.left:
                    raise UnreadableError(each.why)
                self._fail()
            elif isinstance(each, Drawn):
                draw(self, each)
            elif isinstance(each, Stored):
                store(self, each)
            elif isinstance(each, Filled) and not self._changes_alone(each):
                raise UnreadableError(f"sets items of {each.of}, which is used elsewhere", each)
            elif isinstance(each, Exited):
                self._without_grad = [manager for manager in self._without_grad if manager is not each.manager]
                self.accounted.add(id(each))
            else:
                self._take(each)

    @cached_property
    def uses(self) -> Uses:
        """What values are used by."""
        return Uses(self.own.reading)

    def _changes_alone(self, filled: Filled) -> bool:
        """Whether nothing else has an array of which items are set."""
        return self.uses.changes_alone(filled.of, filled, partial(makes_anew, self.own))

    def _take(self, of: Expression) -> None:
        """A value that is evaluated now. What stays unaccounted for has to be part of another."""
        self.taken_at[id(of)] = self.now
        if isinstance(of, Call | Binary | Entered | Item | Part) and self.picture(of) is not None:
            self.check_tail(self.picture(of))
        elif self._is_sure(of):
            self.accounted.add(id(of))
            if isinstance(of, Entered):
                self._without_grad.append(of.manager)
        elif self.series(of) is not None:
            self.account(of)
        elif convolutions.copied(self, of) or self._is_of_sound(of):
            return
        elif self._reckons(of) or not self._is_ahead(of):
            with suppress(UnreadableError):
                self._let_as[id(of)] = of, self.sure(self.number(of)), self.into
                self.accounted.add(id(of))

    def _is_of_sound(self, of: Expression) -> bool:
        """Whether it is a sound's rate, which goes by the file's header."""
        return isinstance(of, Part) and self.crops is not None and self.crops.number(of) is not None

    def _reckons(self, of: Expression) -> bool:
        """Whether it is arithmetic of numbers that are known: these are not looked into again."""
        operands = (of.left, of.right) if isinstance(of, Binary) else (of.operand,) if isinstance(of, Unary) else ()
        known = (isinstance(each, Index | Constant | Drawn) or id(each) in self._let_as for each in operands)
        return bool(operands) and all(known)

    def _is_sure(self, of: Expression) -> bool:
        """Whether evaluating it, beside its parts, cannot fail, or be noticed, whatever it gives."""
        match of:
            case Inner() | Display() | Mapping() | Binary(operator="is" | "is not"):
                return True
            case Binary(operator="in" | "not in", left=Constant(), right=Mapping()):
                return True
            case Attribute(owner=owner, name="get") if type(self.own.if_seen(owner)) is dict:
                return True
            case Call() if id(of) in self.augmented:
                return True
            case (
                Call(function=function, arguments=(), options=())
                | Attribute(owner=Call(function=function, arguments=()), name="write")
                | Attribute(owner=Call(function=function, arguments=(_,)), name="seek")
                | Call(
                    function=Attribute(owner=Call(function=function, arguments=(_,)), name="seek"),
                    arguments=(Constant(value=0),),
                )
            ) if self.function(function) is io.BytesIO:
                return True
            case Call(function=Name() as function) if self.function(function) is super:
                return len(of.arguments) == 2
            case (
                Call(function=function, arguments=(), options=())
                | Entered(manager=Call(function=function, arguments=(), options=()))
            ) if self.function(function) is torch.no_grad:
                return True
            case Call(function=Attribute(owner=owner, name="load"), arguments=(), options=()) if (
                self.form(owner) == "pil"
            ):
                self.calls[sys.modules["PIL.Image"].Image, "load"] = None
                self.use(self.sure_picture(owner))
                self.loaded[id(owner)] = self.into
                return True
            case Attribute(owner=owner, name=name) if (form := self.form(owner)) is not None:
                if form == "pil":
                    return name in METHODS or name in ("size", "width", "height", "mode", "load")
                asked = name in ("shape", "ndim", "dtype", *arrays.ASKING) or (
                    form in TENSORS and name in ("size", "dim", "ndimension", *noise.METHODS)
                )
                return asked or (form, name) in arrays.METHODS
            case Call(function=Attribute(owner=owner, name="size"), arguments=(), options=()) if (
                self.form(owner) in TENSORS
            ):
                return True
            case Item(owner=Attribute(owner=owner, name="shape"), key=Display()) if self.form(owner) is not None:
                with suppress(UnreadableError):
                    self.several(of)
                    return True
            case Attribute(owner=Drawn() as drawn, name="item"):
                found = self.drawn.get(drawn.number)
                return isinstance(found, Number) and not found.is_python
            case Binary(operator="==" | "!=") if mode_compared(self, of) is not None or dtypes(self, of) is not None:
                return True
            case Binary(operator="in" | "not in", left=Attribute(owner=owner, name="mode")) if (
                self.form(owner) == "pil"
            ):
                return True
            case Call(function=function, arguments=(image,), options=()) if self.form(image) in ("pil", "tensor"):
                if dimensions(self, self.function(function), image) is not None:
                    return True
        return self.own.is_known(of)

    def _is_ahead(self, of: Expression) -> bool:
        """Whether it is worked out ahead, for all rows, or is of a row that is made sure of."""
        try:
            moved, row = row_of(self, of)
            found = self.values(moved)
        except UnreadableError:
            return False
        if row is not INDEX:
            self.within(row, found.length)
        self._found.append((of, found, row is INDEX))
        return True

    def values(self, *of: Expression) -> Columns:
        """Values that are worked out ahead. Raises UnreadableError for those that are not."""
        self._check_unchanged(*of)
        if of not in self._ahead:
            self._ahead[of] = columns_of(self, of)
        return self._ahead[of]

    def is_changed(self, of: Expression) -> bool:
        """Whether items are set of an array that it is made of."""
        changed = {id(each.owner) for each in self.stored_apart}
        return bool(changed) and any(id(part) in changed for part in parts_of(of))

    def _check_unchanged(self, *of: Expression) -> None:
        for each in of:
            if self.is_changed(each):
                raise UnreadableError(f"uses {each}, of which items are set", each)

    def dataset_length(self) -> int:
        """len(dataset), as torch's samplers ask for it. Raises UnreadableError."""
        if self._length_now is None:
            self._length_now = length_of(self.own.dataset)
        return self._length_now

    def within(self, row: Number, length: int) -> None:
        """A place is in a list; another, and one that is counted from behind, is left to the user's code."""
        self.check(["<=", 0, row.json], ["<", row.json, length])

    def check(self, *holds: Any) -> None:
        """What does not hold for a sample leaves it to the user's code."""
        for each in holds:
            self.into.append({"do": "if", "condition": each, "then": [], "else": [{"do": "fail"}]})

    def _fail(self) -> None:
        self.into.append({"do": "fail"})

    def sure(self, number: Number) -> Number:
        """A number as it is computed now, where that may fail."""
        if not isinstance(number.json, list) or number.json[0] in ("number", "index", "width", "height"):
            return number
        key = repr(number)
        known = self._computed.get(key)
        if known is None or not self.is_in(known[1]):
            known = self._computed[key] = self.let(number.json, number.kind), self.into
        return known[0]

    def check_tail(self, picture: Picture | None) -> None:
        """Raises UnreadableError if functions of numbers fail, used or not."""
        assert picture is not None
        if picture.tail:
            try:
                picture.made()
            except Exception as error:  # whatever a library raises
                raise UnreadableError(f"does what raises {type(error).__name__}: {error}") from None

    def _converting(self, branch: Branch) -> bool | None:
        """Which way a branch goes that converts a file's image to a mode unless it is of that: then all are."""
        match branch.condition:
            case Binary(
                operator="==" | "!=" as sign, left=Attribute(owner=owner, name="mode"), right=Constant() as mode
            ):
                way, other = (branch.then, branch.otherwise)[:: 1 if sign == "!=" else -1]
                picture = self.picture(owner)
                if picture is None or not picture.plain or picture.file in self._used or other:
                    return None
                match [each for each in way if not isinstance(each, Attribute)]:
                    case [Call(function=Attribute(owner=image, name="convert"), arguments=(given,)) as made]:
                        if image is owner and given == mode and not made.options:
                            self.conversions[branch.number] = made, owner
                            return way is branch.then
        return None

    def _branch(self, branch: Branch) -> None:
        holds = self._converting(branch)
        if holds is None:
            holds = looked(self, branch.condition)
        if holds is None:
            holds = self._looked_for(branch)
        if holds is None:
            condition = self._condition(branch)
            if condition.is_constant:
                holds = bool(condition.json)
        if holds is not None:
            self.branches[branch.number] = holds
            self._walk(branch.then if holds else branch.otherwise)
            self._pass_over(branch.otherwise if holds else branch.then)
            return
        self.began[branch.number] = self.now
        self.branches[branch.number] = sides = self.sides(condition)
        changed = []
        for side, evaluated in zip(sides, (branch.then, branch.otherwise), strict=True):
            with self.inside(side):
                self.changes.append({})
                self._walk(evaluated)
                changed.append(taken_back(self, self.changes.pop(), side))
        left = [any(isinstance(each, Unknown) for each in evaluated) for evaluated in (branch.then, branch.otherwise)]
        if any(left):
            self.branches[branch.number] = not left[0]
            change_all(self, changed[left[0]])
        else:
            change_either(self, sides, *changed)

    def sides(self, condition: Number) -> tuple[list[Any], list[Any]]:
        """Two lists for instructions: where a condition holds, and where it does not."""
        sides: tuple[list[Any], list[Any]] = ([], [])
        self.into.append({"do": "if", "condition": condition.json, "then": sides[0], "else": sides[1]})
        self.around |= {id(side): self.into for side in sides}
        return sides

    @contextmanager
    def inside(self, side: list[Any]) -> Iterator[None]:
        """Within it, instructions go there."""
        outer, self.into = self.into, side
        try:
            yield
        finally:
            self.into = outer

    def _repeat(self, repeated: Repeated) -> None:
        """A turn of a loop that is taken until a number says that it was the last."""
        turn: list[Any] = []
        self.around[id(turn)] = self.into
        with self.inside(turn):
            self._walk(repeated.turn)
            holds = self._condition(repeated)
        self.into.append(
            {"do": "repeat", "turn": turn, "until": holds.json if repeated.outcome else ["not", holds.json]}
        )

    def _condition(self, branch: Branch | Repeated) -> Number:
        """What a branch goes by: a number, or whether a value that is worked out ahead is true."""
        for each in (branch.condition, Unary("not", Unary("not", branch.condition))):
            with suppress(UnreadableError):
                found = self.number(each)
                if found.is_python or found.kind == "condition":
                    return found
                break
        raise UnreadableError(f"branches on {branch.condition}", place=branch.place)

    def _looked_for(self, branch: Branch) -> bool | None:
        """Which way a branch goes that asks whether a file is there: one that is opened is.

        A sample whose file is not there is left to the code, which is slow where these are many.
        """
        match branch.condition:
            case Call(function=function, arguments=(path,), options=()):
                called: Any = self.function(function)
                left = [each for each in (branch.otherwise[:1]) if isinstance(each, Unknown) and each.left]
                if called is os.path.exists or called is os.path.isfile:
                    if not left and not self._are_there(path, called):
                        raise UnreadableError(f"branches on {branch.condition}", place=branch.place)
                    self.looked_for.append(path)
                    self.account(branch.condition)
                    return True
        return None

    def _are_there(self, path: Expression, asked: Callable[[Any], bool]) -> bool:
        """Whether the first files are there."""
        found, _ = row_of(self, path)
        columns = self.values(found)
        return all(map(asked, columns.work_out(range(min(columns.length, _LOOKED_FOR_MAX)))[0]))

    def _pass_over(self, evaluated: Sequence[Any]) -> None:
        """What is never evaluated, or left to the user's code."""
        for each in evaluated:
            if isinstance(each, Branch):
                self.branches.setdefault(each.number, True)
                self._pass_over((*each.then, *each.otherwise))
            elif isinstance(each, Repeated):
                self._pass_over(each.turn)
            else:
                self.accounted.add(id(each))

    def account(self, expression: Expression) -> None:
        """An expression is made use of, with all that it is made of."""
        self.accounted |= {id(part) for part in parts_of(expression)}

    def _check_all(self, evaluated: Sequence[Any]) -> None:
        """Raises UnreadableError for what was evaluated and is not accounted for."""
        asides = {id(of): (values, by_index) for of, values, by_index in self._found}
        for each in reversed(evaluated):  # what something is made of comes before it
            if isinstance(each, Branch):
                self._check_all((*each.then, *each.otherwise))
            elif isinstance(each, Repeated):
                self._check_all(each.turn)
            elif not isinstance(each, Unknown) and id(each) not in self.accounted:
                if id(each) not in asides:
                    if isinstance(each, Apart):
                        raise UnreadableError(each.why[0], None, each.why[1])
                    raise UnreadableError(f"evaluates {each}", each)
                self.asides.append(asides[id(each)])
                self.account(each)

    # Draws

    def let(self, value: Any, kind: str) -> Number:
        register = self.register(arithmetic.register_of(kind))
        self.into.append({"do": "let", "number": register, "value": value})
        return Number(["number", register], kind)

    def register(self, kind: str) -> int:
        self._registers.append(kind)
        return len(self._registers) - 1

    def fill(self, value: Any, kind: str, count: int) -> int:
        """A vector whose numbers are set now, each by itself."""
        self._vectors.append((arithmetic.register_of(kind), count))
        self.into.append({"do": "fill", "vector": len(self._vectors) - 1, "value": value})
        return len(self._vectors) - 1

    # Numbers

    def number(self, of: Expression | Number) -> Number:
        """What an expression is, if it is a number. Raises UnreadableError."""
        if isinstance(of, Number):
            return of
        self._check_unchanged(of)
        let = self._let_as.get(id(of))
        if let is not None and self.is_in(let[2]):
            return let[1]
        try:
            return number_of(self, of)
        except UnreadableError:
            if self.crops is not None and (found := self.crops.number(of)) is not None:
                return found
            if (found := tabled(self, of)) is not None:
                return found
            raise

    @property
    def without_grad(self) -> bool:
        """Whether torch keeps no gradients where the code is."""
        return bool(self._without_grad)

    def series(self, of: Expression) -> Series | None:
        """The array of numbers that an expression is; None for what is none."""
        if not isinstance(of, Binary | Unary | Call):
            return None
        if id(of) not in self._series:
            found = series_of(self, of)
            if found is not None:
                found = replace(found, numbers=tuple(map(self.sure, found.numbers)))
            self._series[id(of)] = of, found
        return self._series[id(of)][1]

    def is_in(self, block: list[Any], inner: list[Any] | None = None) -> bool:
        """Whether what is set in a block is set in another one, or where instructions go now."""
        inner = self.into if inner is None else inner
        while inner is not None and inner is not block:
            inner = self.around.get(id(inner))
        return inner is block

    def equal(self, one: Number, other: Number) -> None:
        """Two numbers are equal; others are left to the user's code."""
        if one.json != other.json:
            self.check(["==", one.json, other.json])

    def on_sides(self, sides: tuple[list[Any], list[Any]], then: Number, otherwise: Number) -> Number:
        """A number that is one of two of a kind, on the two sides of a branch."""
        register = self.register(arithmetic.register_of(then.kind))
        for side, value in zip(sides, (then, otherwise), strict=True):
            side.append({"do": "let", "number": register, "value": value.json})
        return Number(["number", register], then.kind)

    def either(self, condition: Number, then: Number, otherwise: Number) -> Number:
        """One of two numbers of a type."""
        if condition.is_constant:
            return then if condition.json else otherwise
        if then.kind != otherwise.kind or not then.is_python:
            raise UnreadableError("has numbers of several types in one place")
        register = self.register(arithmetic.register_of(then.kind))
        sides = ([{"do": "let", "number": register, "value": each.json}] for each in (then, otherwise))
        self.into.append({"do": "if", "condition": condition.json, **dict(zip(("then", "else"), sides, strict=True))})
        return Number(["number", register], then.kind)

    def several(self, of: Expression, count: int | None = None) -> Sequence[Expression | Number]:
        """The items of a tuple or list. Raises UnreadableError."""
        items = items_of(self, of)
        if count is not None and len(items) != count:
            raise UnreadableError(f"takes {of} for {count} numbers", of)
        return items

    def one_or_several(self, of: Expression) -> Sequence[Expression | Number]:
        """The same, or one number as a list of itself."""
        try:
            return items_of(self, of)
        except UnreadableError:
            return [self.number(of)]

    # Images

    def picture(self, of: Expression) -> Picture | None:
        """The image that an expression is; None for what is none. Raises UnreadableError for one that is not known."""
        of = self.itself(of)
        if id(of) not in self.known:
            found = picture_of(self, of)
            self.known[id(of)] = of, found
            self.born[id(of)] = self.into
            if found is not None:
                self.accounted.add(id(of))
                if found.form != "pil":
                    self.memory.put(of, held_of(self, of))
        self.memory.check(of)
        return self.known[id(of)][1]

    def itself(self, of: Expression) -> Expression:
        """The array that an expression is, if what it calls changed that in place and gave it."""
        return self.given_back.get(id(of), of)

    def sure_picture(self, of: Expression) -> Picture:
        picture = self.picture(of)
        assert picture is not None
        return picture

    def form(self, of: Expression) -> str | None:
        """The form of an image; None for what is none."""
        picture = self.picture(of) if isinstance(of, _IMAGES) else None
        return None if picture is None else picture.form

    # Arrays that are changed in place

    # What the pixels of an image are like

    def convert_file(self, picture: Picture, mode: str) -> Picture | None:
        """A file's image, as code got it, converted to RGB as it is read; None for others, and one that was used."""
        opened = self.opened[picture.file]
        if not picture.plain or mode != "RGB" or picture.file in self._used or opened.mode != picture.mode:
            return None
        self.opened[picture.file] = replace(opened, mode=mode, plain=False)
        return replace(picture, mode=mode, plain=False)

    def use(self, picture: Picture) -> Picture:
        """An image of which something is made: a file's own has to be of its mode then."""
        if picture.plain:
            if not self.opened[picture.file].plain:
                raise UnreadableError("takes a file's image as it is, and converted")
            self._used.add(picture.file)
        return replace(picture, plain=False)

    def apply(
        self, picture: Picture, steps: Sequence[dict[str, Any]], needs: Sequence[str], size: T.Size | None = None,
        *, channels: int | None = None, passes: int = 1,
    ) -> Picture:  # fmt: skip
        """What steps make of an image."""
        if not all(map(patches.moves, steps)):
            picture = picture.whole()
        if picture.form == "finished" and any(each["op"] != "arithmetic_to" for each in steps):
            raise UnreadableError("moves pixels of a tensor with noise")
        if picture.passes + passes > PASSES_MAX:
            raise UnreadableError(f"goes over an image more than {PASSES_MAX} times")
        self.needs.update(dict.fromkeys(needs))
        picture = self.use(picture)
        self._images += 1
        made = self._images - 1
        self.into.append(
            {
                "do": "apply",
                "from": picture.register,
                "to": made,
                "channels": picture.channels,
                "transforms": list(steps),
            }
        )
        moved = picture.form != "pil" and any(noise.moves(picture.form, each) for each in steps)
        mode = picture.mode if channels in (None, picture.channels) else "RGB" if channels == 3 else "L"
        return replace(picture, register=made, size=size, known=None, mode=mode, passes=picture.passes + passes,
                       bare=None, last=None, resize=None, moved=picture.moved or moved)  # fmt: skip

    def transform(self, picture: Picture, step: T.Geometry) -> Picture:
        """What one of goloader's transforms makes of an image."""
        if picture.mode == "P" and not isinstance(step, _OF_PALETTES):
            raise UnreadableError(f"transforms palette indices by {type(step).__name__}")
        needs = step.needs()
        if step.random:
            needs = (*needs, "torch.generator", "torch.random")
        after = step.channels_after(picture.channels)
        size = step.size_after(picture.size)
        return self.apply(picture, [step.to_plan()], needs, size, channels=after, passes=step.passes)

    def one_of(self, of: Expression | str, sides: tuple[list[Any], list[Any]], one: Picture, other: Picture) -> Picture:
        """An image that is one of two, by which way of a branch was gone; `of` is the expression, or its name."""
        one, other = noise.alike(one, other)
        kinds = [(each.file, each.mode, each.form, each.summed, each.resized) for each in (one, other)]
        few, many = sorted((one.patched, other.patched), key=len)
        tail = tail_of_both(one, other) if kinds[0] == kinds[1] and many[: len(few)] == few else None
        if tail is None:
            why = f"has images of several kinds in one place: {of}"
            raise UnreadableError(why, of if isinstance(of, Expression) else None)
        self._images += 1
        for side, each in zip(sides, (one, other), strict=True):
            side.append({"do": "apply", "from": each.register, "to": self._images - 1,
                         "channels": each.channels, "transforms": noise.step(each)})  # fmt: skip
        size = one.size if one.size == other.size else None
        known = one.known if one.known == other.known else None
        return replace(
            one, register=self._images - 1, size=size, known=known, passes=max(one.passes, other.passes), patched=many,
            bare=None, last=None, tail=tail, terms=(), moved=one.moved or other.moved,
        )  # fmt: skip

    # Values

    def function(self, of: Expression) -> Any:
        """What is called, which has to go on being that; None if it cannot be said."""
        return self.own.means_if_seen(of)

    def constant(self, of: Expression) -> Any:
        """A value that is the same for all samples. Raises UnreadableError."""
        self._check_unchanged(of)
        self.accounted.add(id(of))
        match of:
            case Display(kind=kind, items=items) if kind in (list, tuple):
                return kind(map(self.constant, items))
            case Unary(operator="-", operand=operand):
                return -self.constant(operand)
            case Binary(operator="*", left=left, right=right):  # [0.5] * 3
                return self.constant(left) * self.constant(right)
            case Call(function=function, arguments=(value,), options=options) if any(
                self.function(function) is each for each in _OF_CONSTANTS
            ):
                named = {name: self.constant(each) for name, each in options if name == "dtype"}
                if len(named) == len(options):
                    return self.own.means(function)(self.constant(value), **named)
        try:
            value = self.own.means(of)
        except UnreadableError:
            found = self.number(of)
            if found.is_constant:
                return found.value
            raise
        return self.copied(of, value)

    def copied(self, of: Expression, value: Any) -> Any:
        """A value, of which a list, an array or a tensor is noted with what it holds."""
        if type(value) in (list, np.ndarray, torch.Tensor):
            check_settled(value, of)
            value = copy.copy(value) if type(value) is list else copy.deepcopy(value)
            self.copies.append((of, value))
        return value

    def decided(self, of: Either) -> Expression | None:
        """What a value is that depends on a branch which all samples go the same way; None where they do not."""
        holds = self.branches.get(of.number)
        return (of.then if holds else of.otherwise) if isinstance(holds, bool) else None

    def way_of(self, of: Either) -> Expression:
        """The same. Raises UnreadableError."""
        way = self.decided(of)
        if way is None or of.number in self.conversions:
            raise UnreadableError(f"gives one of two values: {of}", of)
        return way

    def column_of(self, register: int) -> int:
        self._columns.append(register)
        return len(self._columns) - 1

    def number_column(self, number: Number) -> int:
        if isinstance(number.json, list) and number.json[0] == "number":
            return self.column_of(number.json[1])
        self.into = self._first if self.fields else self.body
        return self.column_of(self.let(number.json, number.kind).json[1])

    # The script

    def to_plan(self, counts: Sequence[int], lists: Sequence[int]) -> dict[str, Any]:
        """The script of a part.

        counts  files of each list
        lists   which list each opened file is of
        """
        rows = {"rows": [each.json for each in self.crops.places]} if self.crops is not None and self.fields else {}
        return {
            **rows,
            "files": list(counts),
            "generators": len(self.objects),
            "slots": len(self.states),
            "noises": self.noises,
            "apart": False,
            "followed": False,
            "images": self._images,
            "numbers": self._registers,
            "vectors": [{"type": kind, "count": count} for kind, count in self._vectors],
            "tables": [table for each in self.number_tables for table in each.found.tables],
            "opens": [
                {
                    "list": number,
                    "row": each.row.json,
                    "mode": each.mode,
                    "plain": each.plain,
                    "reader": each.reader,
                }
                for number, each in zip(lists, self.opened, strict=True)
            ],
            "first": self._first,
            "body": self.body,
            "gives": [
                {
                    "image": picture.register,
                    "file": picture.file,
                    "output": {"dtype": table.dtype, "channels": table.channels},
                    "table": base64.b64encode(table.data).decode("ascii"),
                    "looks": None if looks is None else base64.b64encode(looks).decode("ascii"),
                }
                for picture, table, looks in zip(self.pictures, self.tables, self.looks, strict=True)
            ],
            "columns": self._columns,
        }

    @property
    def reckons(self) -> bool:
        """Whether the index is more than a place in lists, or given as it is: then its type matters."""
        return (
            self.own.asks_index
            or any(columns.reckons for columns in self._ahead.values())
            or (self.crops is not None and self.crops.reckons)
            or any(each == ["index"] for each in flat([*self._first, *self.body]))
        )

    @property
    def generators(self) -> set[str]:
        """Which of a worker's generators are drawn from: "torch", "python", "numpy"."""
        return generators_of([*self._first, *self.body])

    @property
    def column_kinds(self) -> list[str]:
        return [self._registers[register] for register in self._columns]
