"""A reading (plan.bytecode) as a script of the core (core/plan/script.go): instructions in the order in which code
draws.

What a sample gives is its images and, beside them, values that are worked out ahead for each index
(datasets/columns.py), items of lists at a place that is drawn, and numbers.

Whatever the code evaluates is accounted for as it is evaluated (_take), or the class is refused: it is an image or a
number, which the script makes at that place, where it may fail; or a draw; or a value that is worked out ahead, used or
not; or it does nothing that could be seen and cannot fail; or it is part of one of these. A way of a branch that raises
an error is left to the user's own code as it comes.
"""

from __future__ import annotations

import base64
import copy
import os
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import BuiltinFunctionType, FunctionType
from typing import Any, NamedTuple

import numpy as np
import torch

from .... import transforms as T
from ...bytecode import (
    Apart,
    Attribute,
    Binary,
    Branch,
    Call,
    Chosen,
    Closed,
    Constant,
    Display,
    Drawn,
    Either,
    Entered,
    Exited,
    Expression,
    Extended,
    Index,
    Inner,
    Item,
    Mapping,
    Name,
    Part,
    Stored,
    Text,
    Unary,
    Unknown,
    UnreadableError,
    fields_of,
    own_parts,
    parts_of,
)
from ...look import is_a
from ...lowered import PASSES_MAX
from ...refusal import RefusalError
from ...structure import Structure
from ...tables import Table, run_tail
from .. import vectors
from ..columns import Columns
from ..images import array_of, content_path, encoded_path, makes_image, opens, reads_by_opencv
from ..made import Made, made_of
from ..masks import mode_of
from . import arrays, convolutions, numbers, tables
from .apart import MadeApart, made_apart
from .code import CHOSEN_MAX, ScriptCode, drawn_by
from .images import ENHANCEMENTS, METHODS, bind, enhanced, function_row, known_transform
from .memory import UNWRITABLE, Held, Memory, together
from .numbers import INDEX, Number, constant
from .picture import PROBE, Applied, Changed, InPlace, Picture
from .series import Series, series_of
from .stack import Stack
from .tables import Lists


@dataclass(frozen=True)
class Opened:
    """A file that a sample opens, or an image of an array that it takes.

    columns  says the path of each row, or None for an array
    path     the expression of the path, with the row as its index; of an array the one of the array
    row      which row it is
    mode     of the image as code gets it
    axes     of the array, "" for files
    plain    the file itself has to be of that mode; else it is converted
    opencv   OpenCV reads it
    """

    columns: Columns | None
    path: Expression
    row: Number
    mode: str
    axes: str = ""
    plain: bool = False
    opencv: bool = False


@dataclass(frozen=True)
class Given:
    """A value of a sample that is no image.

    batch   what it is in a batch that torch puts together, as Beside has it
    values  columns that it is made of, each by the row; () for the index itself
    made    how it is made of them, if it is made
    row     the row, where it is not the index
    number  the core's column of numbers that it is, in place of all else
    kind    of these
    """

    batch: type
    values: tuple[Expression, ...] = ()
    columns: Columns | None = None
    made: Made | MadeApart | None = None
    row: Number | None = None
    number: int | None = None
    kind: str = ""


class Compiler:
    """Compiles one reading. Raises UnreadableError or RefusalError.

    structure  of a sample: images are fields from 0 on, then what is given
    """

    def __init__(self, own: ScriptCode) -> None:
        self.own = own
        self.opened: list[Opened] = []
        self.given: list[Given] = []
        self.pictures: list[Picture] = []
        self.stacks: list[Stack] = []
        self.needs: dict[str, None] = {}
        self.calls = {**own.calls}
        self.transforms: list[Any] = []
        self.looked: list[Callable[[], Any]] = []
        self.names: list[str] = []
        # The first registers are those of the files that a sample opens.
        self._images = own.opens_images
        self._first: list[Any] = []
        self._body: list[Any] = []
        self._into = self._body
        self._drawn: dict[int, Number | Expression] = {}
        # Of what was drawn of a list of things: the places.
        self._places: dict[int, list[Number]] = {}
        self._branches: dict[int, tuple[list[Any], list[Any]] | bool] = {}
        # The block of instructions that each is part of, by the id of the other.
        self._around: dict[int, list[Any]] = {}
        # By the number of a branch that converts a file's image unless it has a mode: the image, and before.
        self._conversions: dict[int, tuple[Expression, Expression]] = {}
        self._either: dict[Any, Number | Picture] = {}
        # By the id of an expression, which is kept, so that no other has it.
        self._known: dict[int, tuple[Expression, Picture | None]] = {}
        self._let_as: dict[int, tuple[Expression, Number, list[Any]]] = {}
        # Values worked out ahead that were evaluated, and whether by the index; and those that nothing is made of.
        self._found: list[tuple[Expression, Columns, bool]] = []
        self.asides: list[tuple[Columns, bool]] = []
        self._length_now: int | None = None
        # Paths of files that have to be there.
        self.looked_for: list[Expression] = []
        # Lists that code goes by, and what they held.
        self.copies: list[tuple[Expression, Any]] = []
        self.lengths: list[tuple[Expression, int]] = []
        # By their ids, what was evaluated and is accounted for.
        self._accounted: set[int] = set()
        # Files whose image is used as it is in them.
        self._used: set[int] = set()
        self._entered: set[int] = set()
        # Which arrays share memory, those that were changed in place within each branch that is being gone, with what
        # they were before it, and when each was changed last.
        self.memory = Memory()
        self._changes: list[dict[int, tuple[Expression, Picture | None]]] = []
        self._born: dict[int, list[Any]] = {}
        self._now = 0
        self._changed_at: dict[int, int] = {}
        self._began: dict[int, int] = {}
        # Parameters of the user's modules that were set, to what, and in which block of instructions.
        self.written: dict[int, tuple[Any, Series, list[Any]]] = {}
        self._series: dict[int, tuple[Expression, Series | None]] = {}
        self._without_grad: list[Expression] = []  # which `with torch.no_grad()` it is in
        # What it goes by that is no object's: how torch adds up.
        self.settings: list[Callable[[], Any]] = []
        # Which bytes an image has to have for the way that was gone, by its register: [channels, 256].
        self._looks: dict[int, bytes] = {}
        self._columns: list[int] = []
        self._registers: list[str] = []
        self.number_tables: list[tables.Kept] = []
        self._table_count = 0
        self._table_numbers: dict[Any, int | None] = {}
        self._table_same: dict[Any, Any] = {}
        # Turns of a loop ask for the same things: columns, the first value in each, and what is no row by itself.
        self._ahead: dict[tuple[Expression, ...], Columns] = {}
        self._firsts: dict[Expression, Any] = {}
        self._no_rows: set[Expression] = set()
        reading = own.reading
        self._accounted |= set(map(id, reading.loose))
        self._walk(reading.evaluated)
        self.structure = self._structure(reading.result, list)
        if not self.pictures:
            raise UnreadableError("gives no images")
        if {picture.file for picture in self.pictures} != set(range(len(self.opened))):
            raise UnreadableError("opens an image that it does not give")
        for path in self.looked_for:
            found, row = self.row_of(path)
            if not any(each.path == found and each.row == row for each in self.opened):
                raise UnreadableError(f"looks for {path}", path)
        self._check_all(reading.evaluated)
        self.tables = []
        for number, (table, reverse) in enumerate(self._all_tables()):
            self.tables.append(table)
            if reverse:
                self.pictures[number] = self._reversed(self.pictures[number])
        self.looks = self._looks_of()
        self._first, self._body = self._split()

    def goes_by(self) -> str:
        """What it goes by beside what the code means: what transforms do, and functions of numbers. Raises as compiling
        does."""
        return repr(([look() for look in self.looked], [table.data for table, _ in self._all_tables()]))

    def _all_tables(self) -> list[tuple[Table, bool]]:
        """Of all images that are given, and whether their channels are reversed first."""
        known: dict[Any, tuple[Table, bool]] = {}  # views are often alike
        tables = []
        for picture in self.pictures:
            kind = picture.mode, picture.form, tuple(map(id, picture.tail))
            if kind not in known:
                known[kind] = self._table(picture)
            if known[kind][0].channels != picture.channels:
                raise UnreadableError("gives images with more channels than there were")
            tables.append(known[kind])
        return tables

    # What is evaluated, in order

    def _walk(self, evaluated: Sequence[Any]) -> None:
        for each in evaluated:
            if isinstance(each, Branch):
                self._branch(each)
            elif isinstance(each, Unknown):
                if not each.left:
                    raise UnreadableError(each.why)
                self._fail()
            elif isinstance(each, Drawn):
                self._draw(each)
            elif isinstance(each, Stored):
                self._store(each)
            elif isinstance(each, Exited):
                self._without_grad = [manager for manager in self._without_grad if manager is not each.manager]
                self._accounted.add(id(each))
            else:
                self._take(each)

    def _take(self, of: Expression) -> None:
        """A value that is evaluated now. What stays unaccounted for has to be part of another."""
        if isinstance(of, Call | Binary | Entered | Item) and self.picture(of) is not None:
            self._check_tail(self.picture(of))
        elif self._is_sure(of):
            self._accounted.add(id(of))
            if isinstance(of, Entered):
                self._without_grad.append(of.manager)
        elif self.series(of) is not None:
            self.account(of)
        elif convolutions.copied(self, of):
            return
        elif self._reckons(of) or not self._is_ahead(of):
            with suppress(UnreadableError):
                self._let_as[id(of)] = of, self._sure(self.number(of)), self._into
                self._accounted.add(id(of))

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
            case Call(function=Name() as function) if _is_super(self.function(function)):
                return len(of.arguments) == 2
            case (
                Call(function=function, arguments=(), options=())
                | Entered(manager=Call(function=function, arguments=(), options=()))
            ) if self.function(function) is torch.no_grad:
                return True
            case Call(function=Attribute(owner=owner, name="load"), arguments=(), options=()) if (
                self._form(owner) == "pil"
            ):
                self.calls[sys.modules["PIL.Image"].Image, "load"] = None
                self.use(self._sure_picture(owner))
                return True
            case Attribute(owner=owner, name=name) if (form := self._form(owner)) is not None:
                if form == "pil":
                    return name in METHODS or name in ("size", "width", "height", "mode", "load")
                return name in ("shape", "ndim", "dtype", *arrays.ASKING) or (form, name) in arrays.METHODS
            case Item(owner=Attribute(owner=owner, name="shape"), key=Display()) if self._form(owner) is not None:
                with suppress(UnreadableError):
                    self.several(of)
                    return True
            case Attribute(owner=Drawn() as drawn, name="item"):
                found = self._drawn.get(drawn.number)
                return isinstance(found, Number) and not found.is_python
            case Binary(operator="==" | "!=") if self._mode_of(of) is not None or self._dtypes(of) is not None:
                return True
            case Binary(operator="in" | "not in", left=Attribute(owner=owner, name="mode")) if (
                self._form(owner) == "pil"
            ):
                return True
            case Call(function=function, arguments=(image,), options=()) if self._form(image) == "pil":
                if self._dimensions(self.function(function), image) is not None:
                    return True
        for ask in (self.own.known, self.own.decided):
            with suppress(UnreadableError):
                ask(of)
                return True
        return False

    def _is_ahead(self, of: Expression) -> bool:
        """Whether it is worked out ahead, for all rows, or is of a row that is made sure of."""
        try:
            moved, row = self.row_of(of)
            found = self.values(moved)
        except UnreadableError:
            return False
        if row is not INDEX:
            self._within(row, found.length)
        self._found.append((of, found, row is INDEX))
        return True

    def values(self, *of: Expression) -> Columns:
        """Values that are worked out ahead. Raises UnreadableError for those that are not."""
        if of not in self._ahead:
            self._ahead[of] = self._columns_of(of)
        return self._ahead[of]

    def _columns_of(self, of: tuple[Expression, ...]) -> Columns:
        for part in (part for each in of for part in parts_of(each)):
            if isinstance(part, Apart | Drawn | Either | Closed | Entered | Extended | Inner):
                raise UnreadableError(f"uses {part}", part)
        columns = Columns(self.own, of, length=self._dataset_length)
        if columns.reckons:  # with the index it may be a number, and none of these
            columns.work_out(range(min(columns.length, 1)))
        return columns

    def _dataset_length(self) -> int:
        """len(dataset), as torch's samplers ask for it. Raises UnreadableError."""
        if self._length_now is None:
            self._length_now = length_of(self.own.dataset)
        return self._length_now

    def _within(self, row: Number, length: int) -> None:
        """A place is in a list; another, and one that is counted from behind, is left to the user's code."""
        for outside in (["<", row.json, 0], ["<=", length, row.json]):
            self._into.append({"do": "if", "condition": outside, "then": [{"do": "fail"}], "else": []})

    def _fail(self) -> None:
        self._into.append({"do": "fail"})

    def _sure(self, number: Number) -> Number:
        """A number as it is computed now, where that may fail."""
        if not isinstance(number.json, list) or number.json[0] in ("number", "index", "width", "height"):
            return number
        return self._let(number.json, number.kind)

    def _check_tail(self, picture: Picture | None) -> None:
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
                            self._conversions[branch.number] = made, owner
                            return way is branch.then
        return None

    def _branch(self, branch: Branch) -> None:
        holds = self._converting(branch)
        if holds is None:
            holds = self._looked(branch.condition)
        if holds is None:
            holds = self._looked_for(branch)
        if holds is None:
            condition = self._condition(branch)
            if not (condition.is_python or condition.kind == "condition"):
                raise UnreadableError(f"branches on {branch.condition}", place=branch.place)
            if condition.is_constant:
                holds = bool(condition.json)
        if holds is not None:
            self._branches[branch.number] = holds
            self._walk(branch.then if holds else branch.otherwise)
            self._pass_over(branch.otherwise if holds else branch.then)
            return
        self._began[branch.number] = self._now
        outer, sides = self._into, ([], [])  # type: tuple[list[Any], tuple[list[Any], list[Any]]]
        outer.append({"do": "if", "condition": condition.json, "then": sides[0], "else": sides[1]})
        self._around |= {id(side): outer for side in sides}
        self._branches[branch.number] = sides
        changed = []
        for side, evaluated in zip(sides, (branch.then, branch.otherwise), strict=True):
            self._into = side
            self._changes.append({})
            self._walk(evaluated)
            changed.append(self._taken_back(self._changes.pop(), side))
        self._into = outer
        left = [any(isinstance(each, Unknown) for each in evaluated) for evaluated in (branch.then, branch.otherwise)]
        if any(left):
            self._branches[branch.number] = not left[0]
            self._change_all(changed[left[0]])
        else:
            self._change_either(sides, *changed)

    def _condition(self, branch: Branch) -> Number:
        """What a branch goes by: a number, or whether a value that is worked out ahead is true."""
        for each in (branch.condition, Unary("not", Unary("not", branch.condition))):
            with suppress(UnreadableError):
                return self.number(each)
        raise UnreadableError(f"branches on {branch.condition}", place=branch.place)

    def _looked_for(self, branch: Branch) -> bool | None:
        """Which way a branch goes that raises an error unless a file is there: one that is opened is."""
        match branch.condition:
            case Call(function=function, arguments=(path,), options=()):
                called: Any = self.function(function)
                left = [each for each in (branch.otherwise[:1]) if isinstance(each, Unknown) and each.left]
                if (called is os.path.exists or called is os.path.isfile) and left:
                    self.looked_for.append(path)
                    self.account(branch.condition)
                    return True
        return None

    def _pass_over(self, evaluated: Sequence[Any]) -> None:
        """What is never evaluated, or left to the user's code."""
        for each in evaluated:
            if isinstance(each, Branch):
                self._branches.setdefault(each.number, True)
                self._pass_over((*each.then, *each.otherwise))
            else:
                self._accounted.add(id(each))

    def account(self, expression: Expression) -> None:
        """An expression is made use of, with all that it is made of."""
        self._accounted |= {id(part) for part in parts_of(expression)}

    def _check_all(self, evaluated: Sequence[Any]) -> None:
        """Raises UnreadableError for what was evaluated and is not accounted for."""
        asides = {id(of): (values, by_index) for of, values, by_index in self._found}
        for each in reversed(evaluated):  # what something is made of comes before it
            if isinstance(each, Branch):
                self._check_all((*each.then, *each.otherwise))
            elif not isinstance(each, Unknown) and id(each) not in self._accounted:
                if id(each) not in asides:
                    if isinstance(each, Apart):
                        raise UnreadableError(each.why[0], None, each.why[1])
                    raise UnreadableError(f"evaluates {each}", each)
                self.asides.append(asides[id(each)])
                self.account(each)

    # Draws

    def _let(self, value: Any, kind: str) -> Number:
        register = self._register(numbers.register_of(kind))
        self._into.append({"do": "let", "number": register, "value": value})
        return Number(["number", register], kind)

    def _register(self, kind: str) -> int:
        self._registers.append(kind)
        return len(self._registers) - 1

    def _draw(self, drawn: Drawn) -> None:
        call = drawn.call
        assert isinstance(call, Call)
        name = drawn_by(self.own.means(call.function))
        if name is None:
            raise UnreadableError(f"draws by {call}", call)
        library, _, kind = name.partition(".")
        self._accounted.add(id(drawn))
        choice = self.own.chosen(call)
        if choice is None:
            self._drawn[drawn.number] = self._by_kind(call, library, kind)
        else:
            self._places[drawn.number] = [
                self._place(kind, library, len(choice.items)) for _ in range(choice.count or 1)
            ]

    def _place(self, kind: str, library: str, count: int) -> Number:
        """A place of so many, as one of these functions draws it."""
        if kind == "choices":
            drawn = self._let(["python.random"], "float")
            return self._sure(numbers.unary("int", numbers.binary("*", drawn, Number(float(count), "float"))))
        return self._let(["python.randbelow" if library == "random" else "numpy.randint", count], "int")

    def _by_kind(self, call: Call, library: str, kind: str) -> Number | Expression:
        random, below = {
            "random": ("python.random", "python.randbelow"),
            "numpy": ("numpy.random", "numpy.randint"),
            "torch": ("torch.rand", "torch.randint"),
        }[library]
        if kind in ("random", "random_sample", "rand") and library != "torch":
            if call.arguments or call.options:
                raise UnreadableError(f"draws several numbers: {call}", call)
            return self._let([random], "float")
        if kind == "rand":
            self._only_one(call, call.arguments, set())
            return self._let([random], "float32")
        if kind == "gauss":
            bound = bind(call, ("mu", "sigma"))
            mean, deviation = (self.number(bound[name]) if name in bound else Number(value, "float")
                               for name, value in (("mu", 0.0), ("sigma", 1.0)))  # fmt: skip
            drawn = self._let(["python.gauss"], "float")
            return self._sure(numbers.binary("+", mean, numbers.binary("*", drawn, deviation)))
        if kind == "uniform":
            names = ("a", "b") if library == "random" else ("low", "high")
            bound = bind(call, names)
            if len(bound) != 2:
                raise UnreadableError(f"draws by {call}", call)
            ends = [self.number(bound[name]) for name in names]
            drawn = self._let([random], "float")
            width = numbers.binary("-", ends[1], ends[0])
            return self._sure(numbers.binary("+", ends[0], numbers.binary("*", width, drawn)))
        if kind == "choice":
            (of,) = call.arguments if len(call.arguments) == 1 and not call.options else (None,)
            if of is None:
                raise UnreadableError(f"draws by {call}", call)
            lists = self._lists(of, by_numpy=library == "numpy")  # of a list numpy makes an array
            if lists is not None:
                return self._sure(lists.item(self._let([below, lists.length.json], "int")))
            if library == "numpy":
                return self._let([below, self._integer(of).json], "numpy")
            place = self._let([below, self._length(of).json], "int")
            return Item(of, _Place(place))
        return self._from_range(call, library, kind, below)

    def _integer(self, of: Expression) -> Number:
        found = self.number(of)
        if found.kind != "int":
            raise UnreadableError(f"draws below {of}", of)
        return found

    def _from_range(self, call: Call, library: str, kind: str, below: str) -> Number:
        ends = call.arguments
        if library == "torch":
            *ends_, size = (*call.arguments, *(value for name, value in call.options if name == "size"))
            self._only_one(call, (size,), {name for name, _ in call.options} - {"size"})
            ends = tuple(ends_)
        elif call.options:
            raise UnreadableError(f"draws by {call}", call)
        if not 1 <= len(ends) <= 2:
            raise UnreadableError(f"draws by {call}", call)
        if kind == "randint" and library == "random" and len(ends) == 1:
            raise UnreadableError(f"draws by {call}", call)
        low, high = map(self._integer, ends) if len(ends) == 2 else (Number(0, "int"), self._integer(ends[0]))
        if kind == "randint" and library == "random":
            high = numbers.binary("+", high, Number(1, "int"))
        drawn = self._let([below, numbers.binary("-", high, low).json], "int")
        return self._sure(numbers.binary("+", low, drawn))._replace(kind="int64" if library == "torch" else "int")

    def _only_one(self, call: Call, sizes: Sequence[Expression], options: set[str]) -> None:
        """Raises UnreadableError unless a draw of torch's is one number."""
        shapes = [self.constant(each) for each in sizes]
        if options or shapes not in ([1], [(1,)], [[1]], [()]):
            raise UnreadableError(f"draws several numbers: {call}", call)

    def _length(self, of: Expression) -> Number:
        """len(of), of what is the same for all samples."""
        if isinstance(of, Display) and of.kind in (list, tuple):
            return Number(len(of.items), "int")
        known = self.own.length_of(of)
        if known is not None:
            return self.number(known) if isinstance(known, Constant) else self._length(known)
        try:
            value = self.own.means(of)
        except UnreadableError:
            if (lists := self._lists(of)) is not None:
                return lists.length
            raise
        if type(value) in (list, tuple, range):
            self.lengths.append((of, len(value)))
            return Number(len(value), "int")
        if type(value) is np.ndarray and value.ndim == 1:
            return Number(len(value), "int")
        raise UnreadableError(f"takes the length of {of}", of)

    # Tables

    def _tables_of(self, key: Any, find: Callable[[], tables.Found], sources: Callable[[], list[Any]]) -> int | None:
        """Tables that `find` gives, now and as long as the data is what it was: the number of the first.

        key      tells them from others
        sources  gives what `find` reads

        None if it raises UnreadableError, or what looking at the user's data does.
        """
        if key not in self._table_numbers:
            self._table_numbers[key] = None
            with suppress(UnreadableError, *_ERRORS):
                self.number_tables.append(kept := tables.Kept(find, sources))
                self._table_numbers[key] = self._table_count
                self._table_count += len(kept.found.tables)
                self._table_same[key] = kept.found.same
        return self._table_numbers[key]

    def _rows(self, of: Expression) -> _Rows:
        """Values of the user's data, one of which an expression is. Raises UnreadableError, or as its code may."""
        match of:
            case Item(owner=owner, key=key) if (keys := self._keys_of(owner)) is not None:
                number = self.number(key)
                whole = lambda: [self.own.value(owner)]  # noqa: E731
                keys_now = lambda: tables.plain([*map(int, self._keys_of(owner) or ())], "int")  # noqa: E731
                at = self._tables_of(("keys", owner), keys_now, whole)
                if number.kind not in numbers.PLACES or number.is_constant or at is None:
                    raise UnreadableError(f"takes items by {key}", of)
                values = lambda: list(map(self.own.value(owner).get, self._keys_of(owner) or ()))  # noqa: E731
                row = Number(["find", at, number.json], "int")
                return _Rows(owner, values, whole, self.own.value(owner)[keys[0]], row)
        moved, row = self.row_of(of)
        columns = self.values(moved)
        all_now = lambda: columns.work_out(range(columns.length))[0]  # noqa: E731
        return _Rows(moved, all_now, columns.sources, self._first_of(moved), row, columns)

    def _first_of(self, moved: Expression) -> Any:
        """The first of the values that are worked out ahead. Raises UnreadableError, or what its code may."""
        if moved not in self._firsts:
            ((self._firsts[moved],),) = self.values(moved).work_out(range(1))
        return self._firsts[moved]

    def _keys_of(self, owner: Expression) -> list[Any] | None:
        """The keys of a dict by integers, in order; None for what is none."""
        with suppress(UnreadableError):
            whole = self.own.value(owner)
            if type(whole) in (dict, OrderedDict, defaultdict) and whole and {*map(type, whole)} <= {int, np.int64}:
                return sorted(whole)
        return None

    def _tabled(self, of: Expression) -> Number | None:
        """A number of the user's data that differs from sample to sample; None for what is none."""
        if isinstance(of, Index | Constant | Drawn | Either | Display):
            return None
        with suppress(UnreadableError, *_ERRORS):
            rows = self._rows(of)
            kind = tables.kind_of(rows.first)
            if kind is not None:
                if (same := self._same_in_all(rows, kind)) is not None:
                    self.account(of)
                    return same
                table = self._tables_of(("item", rows.key), lambda: tables.plain(rows.values(), kind), rows.sources)
                if table is not None:
                    self.account(of)
                    return Number(["item", table, rows.row.json], kind)
        return None

    def _same_in_all(self, rows: _Rows, kind: str) -> Number | None:
        """A number that is the same for all samples, as long as the data is what it was; None for others."""
        if rows.columns is None or rows.row is not INDEX or kind not in ("int", "bool"):
            return None
        key = ("same", rows.key)
        if self._tables_of(key, lambda: tables.same(rows.values(), kind), rows.sources) is None:
            return None
        if (rows.columns, True) not in self.asides:
            self.asides.append((rows.columns, True))
        return Number(self._table_same[key], kind)

    def _lists(self, of: Expression, *, by_numpy: bool = False) -> Lists | None:
        """A list of numbers of the user's data; None for what is none.

        by_numpy  as the array that numpy makes of it
        """
        if isinstance(of, Index | Constant | Drawn | Either | Display):
            return None
        with suppress(UnreadableError, *_ERRORS):
            try:
                whole = lambda: [self.own.value(of)]  # noqa: E731
                rows = _Rows(of, whole, whole, self.own.value(of), Number(0, "int"))
            except UnreadableError:
                rows = self._rows(of)
            if tables.is_list(rows.first):
                places = self._tables_of(
                    ("lists", rows.key, by_numpy), lambda: tables.of_lists(rows.values(), by_numpy), rows.sources
                )
                if places is not None:
                    self.account(of)
                    kind = tables.of_lists([rows.first], by_numpy).kind
                    at = ["item", places, rows.row.json]
                    return Lists(
                        Number(["length", places + 1, at], "int"),
                        lambda place: Number(["member", places + 1, at, place.json], kind),
                    )
        return None

    # Numbers

    def number(self, of: Expression | Number) -> Number:
        """What an expression is, if it is a number. Raises UnreadableError."""
        if isinstance(of, Number):
            return of
        let = self._let_as.get(id(of))
        if let is not None and self.is_in(let[2]):
            return let[1]
        try:
            return self._number(of)
        except UnreadableError:
            if (found := self._tabled(of)) is not None:
                return found
            raise

    def _number(self, of: Expression) -> Number:
        match of:
            case Index():
                return INDEX
            case _Place(number=found):
                return found
            case Chosen(drawn=Drawn(number=drawn), number=which) if drawn in self._places:
                return self._places[drawn][which]
            case Drawn(number=drawn):
                value = self._drawn.get(drawn)
                return self.number(value) if value is not None else self._no_number(of)
            case Either():
                return self._number_of_two(of)
            case Binary(operator=name, left=left, right=right):
                return self._compared(of) or numbers.binary(name, self.number(left), self.number(right))
            case Unary(operator="-", operand=operand):
                return numbers.unary("neg", self.number(operand))
            case Unary(operator="not", operand=operand):
                return numbers.unary("not", self.number(operand))
            case Attribute(owner=owner, name="width" | "height" as name) if self._form(owner) == "pil":
                return self._extents(owner)[name == "height"]
            case Attribute(owner=owner, name="ndim") if self._form(owner) in ("array", "tensor"):
                return Number(len(self._sure_picture(owner).axes()), "int")
            case Part(owner=owner, number=place, count=count):
                return self.number(self.several(owner, count)[place])
            case Item(owner=owner, key=key):
                try:
                    at = self.number(key)
                    if not at.is_constant and (tabled := self._tabled(of)) is not None:
                        return tabled
                    if at.kind in numbers.PLACES and (lists := self._lists(owner)) is not None:
                        behind = at.is_constant and at.value < 0
                        return lists.item(numbers.binary("+", lists.length, at) if behind else at)
                    items = self.several(owner)
                except UnreadableError:
                    return self._plain(of)
                if at.is_constant and type(at.value) is int and -len(items) <= at.value < len(items):
                    return self.number(items[at.value])
                return self._chosen(of, items, at)
            case Call():
                return self._called(of)
        return self._plain(of)

    @property
    def block(self) -> list[Any]:
        """Where instructions go now."""
        return self._into

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
                found = replace(found, numbers=tuple(map(self._sure, found.numbers)))
            self._series[id(of)] = of, found
        return self._series[id(of)][1]

    def is_in(self, block: list[Any]) -> bool:
        """Whether what is set in a block is set where instructions go now."""
        inner: list[Any] | None = self._into
        while inner is not None and inner is not block:
            inner = self._around.get(id(inner))
        return inner is block

    def _plain(self, of: Expression) -> Number:
        found = constant(self.own.value(of))
        if found is None:
            self._no_number(of)
        self.own.means(of)
        return found  # type: ignore[return-value]

    def _no_number(self, of: Expression) -> Number:
        raise UnreadableError(f"reckons with {of}", of)

    def _chosen(self, of: Expression, items: Sequence[Expression | Number], place: Number) -> Number:
        """An item of a few numbers, at a place that differs from sample to sample."""
        if place.kind not in numbers.PLACES or not 0 < len(items) <= CHOSEN_MAX or place.is_constant:
            return self._no_number(of)
        found = list(map(self.number, items))
        if len({each.kind for each in found}) != 1:
            return self._no_number(of)
        self._within(place, len(items))
        chosen = found[-1]
        for k in range(len(found) - 2, -1, -1):
            chosen = self.either(Number(["==", place.json, k], "bool"), found[k], chosen)
        return chosen

    def _called(self, call: Call) -> Number:
        match call:
            case Call(function=Attribute(owner=Drawn() as drawn, name="item"), arguments=(), options=()):
                found = self.number(drawn)
                if not found.is_python:
                    return numbers.unary("float" if found.kind == "float32" else "int", found)
            case Call(function=Name() as function, arguments=arguments, options=()):
                called: Any = self.function(function)
                if any(called is each for each in (int, float, round, abs)) and len(arguments) == 1:
                    return numbers.unary(called.__name__, self.number(arguments[0]))
                if (called is min or called is max) and arguments:
                    values = self.several(arguments[0]) if len(arguments) == 1 else arguments
                    return numbers.extreme(called.__name__, list(map(self.number, values)))
                if called is len and len(arguments) == 1:
                    try:
                        return Number(len(self.several(arguments[0])), "int")
                    except UnreadableError:
                        return self._length(arguments[0])
                if called is isinstance and len(arguments) == 2 and (form := self._form(arguments[0])) is not None:
                    return self._is_instance(form, arguments[1])
        if not call.options and (called := self.function(call.function)) is not None:
            for name, known in numbers.MATH.items():
                if called is known:
                    return numbers.of_math(name, list(map(self.number, call.arguments)))
        with suppress(UnreadableError):
            return self._plain(call)
        return self._no_number(call)

    def _is_instance(self, form: str, kinds: Expression) -> Number:
        """Whether an image of a form is of some classes."""
        asked = [self.constant(each) for each in kinds.items] if isinstance(kinds, Display) else [self.constant(kinds)]
        image = sys.modules["PIL.Image"].Image
        known = {torch.Tensor: "tensor", np.ndarray: "array", image: "pil"}
        if not all(any(each is kind for kind in known) for each in asked):
            raise UnreadableError("asks for the class of an image", kinds)
        return Number(int(any(known[each] == form for each in asked)), "bool")

    def _mode_of(self, of: Binary) -> tuple[Picture, Any] | None:
        """A PIL image of which a comparison is about the mode, and what with."""
        for mode, other in ((of.left, of.right), (of.right, of.left)):
            match mode, other:
                case Attribute(owner=owner, name="mode"), Constant(value=value) if self._form(owner) == "pil":
                    return self._sure_picture(owner), value
        return None

    def _dtypes(self, of: Binary) -> bool | None:
        """How a comparison of an array's dtype comes out; None for others."""
        match of:
            case Binary(operator="==" | "!=" as sign, left=Attribute(owner=owner, name="dtype"), right=other) if (
                self._form(owner) in ("array", "tensor")
            ):
                other = self.constant(other)
                if type(other) in (str, type, np.dtype, torch.dtype) or is_a(other, np.dtype):
                    return bool(self._sure_picture(owner).made().dtype == other) is (sign == "==")
        return None

    def _compared(self, of: Binary) -> Number | None:
        """A comparison of an image's mode or dtype, of two tuples of numbers, or of a number with None; else None."""
        match of:
            case Binary(operator="is" | "is not" as sign, left=left, right=Constant(value=None)):
                self.number(left)  # then it is none
                return Number(int(sign == "is not"), "bool")
            case Binary(operator="in" | "not in" as sign, left=Attribute(owner=owner, name="mode"), right=right) if (
                self._form(owner) == "pil"
            ):
                picture = self.use(self._sure_picture(owner))
                return Number(int((picture.mode in self.constant(right)) is (sign == "in")), "bool")
        if of.operator not in ("==", "!="):
            return None
        if (found := self._mode_of(of)) is not None:
            picture, other = found
            self.use(picture)
            return Number(int((picture.mode == other) is (of.operator == "==")), "bool")
        if (same := self._dtypes(of)) is not None:
            return Number(int(same), "bool")
        sides = [each for each in (of.left, of.right) if self._is_tuple(each)]
        if len(sides) < 2:
            return None
        items, others = map(self.several, sides)
        alike = Number(int(len(items) == len(others)), "bool")
        for one, another in zip(items, others, strict=False):
            alike = _both(alike, numbers.binary("==", self.number(one), self.number(another)))
        return alike if of.operator == "==" else numbers.unary("not", alike)

    def _is_tuple(self, of: Expression) -> bool:
        match of:
            case Display(kind=kind):
                return kind is tuple
            case Attribute(owner=owner, name="size" | "shape" as name):
                return self._form(owner) in (("pil",) if name == "size" else ("array", "tensor"))
            case Item(owner=Attribute() as owner, key=Display(kind=kind)):
                return kind is slice and self._is_tuple(owner)
        return False

    def equal(self, one: Number, other: Number) -> None:
        """Two numbers are equal; others are left to the user's code."""
        if one.json != other.json:
            self._into.append(
                {"do": "if", "condition": ["==", one.json, other.json], "then": [], "else": [{"do": "fail"}]}
            )

    def either(self, condition: Number, then: Number, otherwise: Number) -> Number:
        """One of two numbers of a type."""
        if condition.is_constant:
            return then if condition.json else otherwise
        if then.kind != otherwise.kind or not then.is_python:
            raise UnreadableError("has numbers of several types in one place")
        register = self._register(numbers.register_of(then.kind))
        sides = ([{"do": "let", "number": register, "value": each.json}] for each in (then, otherwise))
        self._into.append({"do": "if", "condition": condition.json, **dict(zip(("then", "else"), sides, strict=True))})
        return Number(["number", register], then.kind)

    def _number_of_two(self, of: Either) -> Number:
        sides = self._branches.get(of.number)
        if sides is None or of.number in self._conversions:
            return self._no_number(of)
        if isinstance(sides, bool):
            return self.number(of.then if sides else of.otherwise)
        if of not in self._either:
            values = []
            outer = self._into
            for self._into, each in zip(sides, (of.then, of.otherwise), strict=True):
                try:
                    values.append(self.number(each))
                finally:
                    self._into = outer
            kind = values[0].kind
            if kind != values[1].kind or kind not in (*numbers.PYTHON, "numpy"):
                raise UnreadableError(f"has numbers of several types in one place: {of}", of)
            register = self._register(numbers.register_of(values[0].kind))
            for side, value in zip(sides, values, strict=True):
                side.append({"do": "let", "number": register, "value": value.json})
            self._either[of] = Number(["number", register], values[0].kind)
        found = self._either[of]
        assert isinstance(found, Number)
        return found

    def several(self, of: Expression, count: int | None = None) -> Sequence[Expression | Number]:
        """The items of a tuple or list. Raises UnreadableError."""
        items = self._items(of)
        if count is not None and len(items) != count:
            raise UnreadableError(f"takes {of} for {count} numbers", of)
        return items

    def one_or_several(self, of: Expression) -> Sequence[Expression | Number]:
        """The same, or one number as a list of itself."""
        try:
            return self._items(of)
        except UnreadableError:
            return [self.number(of)]

    def _items(self, of: Expression) -> Sequence[Expression | Number]:
        match of:
            case Either() if isinstance(holds := self._branches.get(of.number), bool):
                return self._items(of.then if holds else of.otherwise)
            case Display(kind=kind, items=items) if kind in (list, tuple):
                return items
            case Attribute(owner=owner, name="size") if self._form(owner) == "pil":
                return self._extents(owner)
            case Attribute(owner=owner, name="shape") if self._form(owner) in ("array", "tensor"):
                return self._shape(self._sure_picture(owner))
            case Item(owner=Attribute(name="shape") as whole, key=Display(kind=kind, items=ends)) if kind is slice:
                return self.several(whole)[slice(*map(self.constant, ends))]
            case Call(function=function, arguments=(image,), options=()) if self._form(image) == "pil":
                found = self._dimensions(self.function(function), image)
                if found is not None:
                    return found
        value = self.own.value(of)
        self.own.means(of)
        if type(value) in (list, tuple):
            return [Constant(each, type(each)) for each in self._copied(of, value)]
        raise UnreadableError(f"takes the items of {of}", of)

    def _dimensions(self, called: Any, image: Expression) -> Sequence[Number] | None:
        """What functions of torchvision's say of an image's size."""
        functional: Any = sys.modules.get("torchvision.transforms.functional")
        if functional is None:
            return None
        if called is functional.get_dimensions:
            width, height = self._extents(image)
            return Number(self._sure_picture(image).channels, "int"), height, width
        return self._extents(image) if called is functional.get_image_size else None

    def _extents(self, image: Expression) -> tuple[Number, Number]:
        return self._sure_picture(image).extents()

    def _shape(self, picture: Picture) -> list[Number]:
        width, height = picture.extents()
        known = {PROBE[0]: height, PROBE[1]: width}
        return [known.get(extent, Number(int(extent), "int")) for extent in picture.made().shape]

    # Images

    def picture(self, of: Expression) -> Picture | None:
        """The image that an expression is; None for what is none. Raises UnreadableError for one that is not known."""
        if id(of) not in self._known:
            found = self._picture(of)
            self._known[id(of)] = of, found
            self._born[id(of)] = self._into
            if found is not None:
                self._accounted.add(id(of))
                if found.form != "pil":
                    self.memory.put(of, self._held(of))
        self.memory.check(of)
        return self._known[id(of)][1]

    def _sure_picture(self, of: Expression) -> Picture:
        picture = self.picture(of)
        assert picture is not None
        return picture

    def _form(self, of: Expression) -> str | None:
        """The form of an image; None for what is none."""
        picture = self.picture(of) if isinstance(of, Closed | Entered | Either | Call | Binary | Item) else None
        return None if picture is None else picture.form

    def _picture(self, of: Expression) -> Picture | None:
        match of:
            case Closed(value=value):
                picture = self.picture(value)
                if picture is not None and picture.form == "pil":
                    raise UnreadableError(f"uses {value} behind the end of its with", value)
                return picture
            case Entered(manager=inner):
                return self.picture(inner)
            case Either():
                return self._picture_of_two(of)
            case Call():
                return self._picture_of_call(of)
            case Binary():
                return self._arithmetic(of)
            case Item(owner=owner, key=key) if self._form(owner) in ("array", "tensor"):
                return arrays.indexed(self, self._sure_picture(owner), key)
        return None

    def _picture_of_call(self, call: Call) -> Picture | None:
        function, arguments = call.function, call.arguments
        match function:
            case Attribute(owner=Call(function=enhancer, arguments=(of,), options=()) as enhancing, name="enhance"):
                if (what := self._enhancement(enhancer)) and self._form(of) == "pil":
                    self._accounted |= {id(enhancing), id(function)}
                    self.names.append(what)
                    return enhanced(self, self._sure_picture(of), what, bind(call, ("factor",))["factor"])
        if isinstance(function, Attribute) and (owner := self.picture(function.owner)) is not None:
            if function.name == "load" or (function.name in arrays.ASKING and not arguments and not call.options):
                return None
            if owner.form == "pil" and function.name in METHODS:
                names, row = METHODS[function.name]
                self.calls[sys.modules["PIL.Image"].Image, function.name] = None
                self.names.append(function.name)
                return row(self, owner, bind(call, names))
            method = arrays.METHODS.get((owner.form, function.name))
            if method is not None:
                return method(self, owner, call)
            raise UnreadableError(f"calls {function}", call)
        try:
            called = self.own.value(function)
        except UnreadableError:
            return None
        if opens(called):
            self.own.means(function)
            self.calls[sys.modules[called.__module__], called.__name__] = None
            if len(arguments) != 1 or call.options:
                raise UnreadableError(f"opens images by {call}", call)
            return self._open(arguments[0], called)
        if (reads := reads_by_opencv(called)) is not None:
            self.own.means(function)
            return self._read_by_opencv(call, reads)
        if makes_image(called):
            self.own.means(function)
            self.calls[sys.modules[called.__module__], called.__name__] = None
            if len(arguments) == 1 and not call.options and self._form(arguments[0]) == "array":
                return arrays.to_pil(self, self._sure_picture(arguments[0]))
            return self._of_array(call)
        if not arguments:
            return None
        if called is np.where and len(arguments) == 3 and not call.options:
            return self._joined(np.where, arguments)
        image = self.picture(arguments[0])
        if image is None:
            return None
        row_of = function_row(called, image)
        self.own.means(function)
        if row_of is None:
            if is_a(called, FunctionType, BuiltinFunctionType, type):
                return None
            if len(arguments) > 1 or call.options:
                raise UnreadableError(f"calls {function} with an image", call)
            self.transforms.append(called)
            self.names.append(type(called).__name__)
            if image.form in ("tensor", "summed") and convolutions.takes(called):
                return convolutions.through(self, image, called)
            return self._checked(image, arguments[0], known_transform(self, image, called))
        names, row, place = row_of
        if place is not None:
            self.calls[place] = None
        self.names.append(getattr(called, "__name__", str(called)))
        behind = replace(call, arguments=arguments[1:])
        if called is not getattr(sys.modules.get("cv2"), "flip", None):
            return self._checked(image, arguments[0], row(self, image, bind(behind, names)))
        given = bind(behind, (*names, "dst"))
        made = row(self, image, given)
        if "dst" in given:
            if given["dst"] is not arguments[0] or not self.memory.of(arguments[0]).compact:
                raise UnreadableError(f"writes to another array by {call}", call)
            self._change(arguments[0], made)
        return made

    def _enhancement(self, enhancer: Expression) -> str | None:
        """What one of Pillow's classes changes."""
        module = sys.modules.get("PIL.ImageEnhance")
        called = None if module is None else self.function(enhancer)
        for name, what in ENHANCEMENTS.items():
            if module is not None and called is not None and called is vars(module).get(name):
                self.calls |= {(called, "__init__"): None, (called, "enhance"): None}
                return what
        return None

    def _checked(self, before: Picture, of: Expression, made: Picture) -> Picture:
        """What is made of an image. Raises UnreadableError for a tensor of an array that goes backwards."""
        if before.form == "array" and made.form == "tensor" and not self.memory.of(of).forward:
            raise UnreadableError(f"makes a tensor of {of}, which goes backwards", of)
        return made

    def _arithmetic(self, of: Binary) -> Picture | None:
        for image, other, turned in ((of.left, of.right, False), (of.right, of.left, True)):
            picture = self.picture(image)
            if picture is None or picture.form not in ("array", "tensor"):
                continue
            if of.operator in arrays.ARITHMETIC:
                function = arrays.ARITHMETIC[of.operator]
                if self.picture(other) is not None:
                    return self._joined(function, (of.left, of.right))
                return picture.then(Applied(function, (self.constant(other),), turned=turned))
            if of.operator in arrays.IN_PLACE and not turned:
                value = self.constant(other)
                if type(value) not in (bool, int, float, list, tuple, np.ndarray):
                    raise UnreadableError(f"changes an array by {other}", other)
                made = picture.then(InPlace(arrays.IN_PLACE[of.operator], value))
                self._check_tail(made)
                self._change(image, made)
                return made
        return None

    def _joined(self, function: Any, parts: Sequence[Expression]) -> Picture | None:
        """A function of several arrays that are made of one image, and of constants."""
        found = [self.picture(each) for each in parts]
        pictures = [each for each in found if each is not None]
        if not pictures or any(each.form not in ("array", "tensor") for each in pictures):
            return None
        given = [
            self.constant(part) if picture is None else picture for part, picture in zip(parts, found, strict=True)
        ]
        return arrays.joined(function, given, pictures)

    # Arrays that are changed in place

    def _held(self, of: Expression) -> Held:
        """What memory an array or a tensor has that was just made."""
        if isinstance(of, Closed):
            return self.memory.of(of.value)
        if isinstance(of, Either):
            return together([self.memory.of(of.then), self.memory.of(of.otherwise)])
        operands = self._operands(of)
        held = [self.memory.of(each) for each in operands if self._form(each) != "pil"]
        compact = all(each.compact for each in held)
        match of:
            case Binary(operator=name):
                return held[0] if name in arrays.IN_PLACE else self.memory.new(compact=compact)
            case Item(key=key):
                back, plain = self._back_or_plain(key)
                return held[0]._replace(compact=compact and plain and not back, forward=held[0].forward and not back)
            case Call(function=Attribute(owner=owner, name=name), arguments=arguments, options=()) if operands[:1] == [
                owner
            ]:
                if name == "copy" and not arguments:
                    return self.memory.new()
                if name == "astype" and len(arguments) == 1:
                    return self.memory.new(compact=compact)
            case Call(function=function):
                called, module = self.function(function), sys.modules.get("cv2")
                of_opencv = module is not None and any(
                    called is getattr(module, name) for name in ("cvtColor", "flip", "resize", "transpose")
                )
                if reads_by_opencv(called) is not None or called is np.array or called is np.where:
                    return self.memory.new(compact=compact)
                if of_opencv and len(operands) == 1:
                    return self.memory.new()
                if called is np.ascontiguousarray:
                    return together(held)._replace(compact=True) if held[0].forward else self.memory.new()
                if any(called is each for each in (np.flip, np.fliplr, np.flipud, np.rot90)):
                    return together(held)._replace(compact=False, forward=False)
        return together(held)._replace(compact=False) if held else UNWRITABLE

    def _back_or_plain(self, key: Expression) -> tuple[bool, bool]:
        """Whether an item of an array goes through it backwards, and whether it only cuts rows and columns."""
        keys = key.items if isinstance(key, Display) and key.kind is tuple else (key,)
        slices = [each for each in keys if isinstance(each, Display) and each.kind is slice]
        back = any(len(each.items) == 3 and self.constant(each.items[2]) not in (None, 1) for each in slices)
        others = [each for each in keys if each not in slices]
        return back, all(isinstance(each, Constant) and each.value is ... for each in others)

    def _operands(self, of: Expression) -> list[Expression]:
        """The images that an expression is made of."""
        match of:
            case Call(function=Attribute(owner=owner)) if self._form(owner) is not None:
                return [owner]
            case Call(arguments=arguments):
                return [each for each in arguments if self._form(each) is not None]
            case Binary(left=left, right=right):
                return [each for each in (left, right) if self._form(each) is not None]
            case Item(owner=owner):
                return [owner]
        return []

    def _store(self, stored: Stored) -> None:
        """array[where] = value"""
        owner, where = stored.owner, self.picture(stored.key)
        if where is None or where.form != "array" or where.made().dtype != bool:
            raise UnreadableError(f"sets {owner}[{stored.key}]", stored)
        value = self.constant(stored.item)
        if type(value) not in (bool, int, float):
            raise UnreadableError(f"sets {owner}[{stored.key}] to {stored.item}", stored)
        before = self.picture(owner)
        if before is None:
            called = self.own.value(owner.function) if isinstance(owner, Call) else None
            if not any(called is each for each in arrays.FILLING):
                raise UnreadableError(f"sets {owner}[{stored.key}]", stored)
            assert isinstance(owner, Call)
            self.own.means(owner.function)
            before = replace(where, tail=(arrays.filled(self, owner, called, where),))
            self._known[id(owner)] = owner, before
            self._accounted.add(id(owner))
            self.memory.put(owner, self.memory.new())
        if (before.register, before.mode, before.form) != (where.register, where.mode, "array"):
            raise UnreadableError(f"changes {owner} where another image is something", stored)
        made = replace(before, tail=(Changed(before.tail, where.tail, value),))
        self._check_tail(made)
        self._accounted.add(id(stored))
        self._change(owner, made)

    def _change(self, array: Expression, made: Picture) -> None:
        """An array becomes another in place."""
        if made.form != "array":
            raise UnreadableError(f"changes {array}", array)
        self.memory.change(array)
        self._set(array, made)

    def _set(self, array: Expression, made: Picture) -> None:
        if self._changes:
            self._changes[-1].setdefault(id(array), self._known[id(array)])
        self._now += 1
        self._changed_at[id(array)] = self._now
        self._known[id(array)] = array, made

    def _taken_back(
        self, changes: dict[int, tuple[Expression, Picture | None]], side: list[Any]
    ) -> list[tuple[Expression, Picture]]:
        """Arrays that were changed on one way of a branch, and what they are there: they are what they were before."""
        found = []
        for key, (array, before) in changes.items():
            now = self._known[key][1]
            assert now is not None
            if self._is_within(self._born[key], side):
                del self._changed_at[key]
            else:
                found.append((array, now))
                self._known[key] = array, before
        return found

    def _is_within(self, block: list[Any] | None, outer: list[Any]) -> bool:
        while block is not None and block is not outer:
            block = self._around.get(id(block))
        return block is outer

    def _change_all(self, changed: Sequence[tuple[Expression, Picture]]) -> None:
        for array, made in changed:
            self._set(array, made)

    def _change_either(
        self,
        sides: tuple[list[Any], list[Any]],
        then: Sequence[tuple[Expression, Picture]],
        otherwise: Sequence[tuple[Expression, Picture]],
    ) -> None:
        """Arrays are what one way of a branch made of them, or the other."""
        made = {id(array): found for array, found in then}, {id(array): found for array, found in otherwise}
        for array in dict.fromkeys((id(array), array) for array, _ in (*then, *otherwise)):
            key, of = array
            before = self._known[key][1]
            assert before is not None
            self._set(of, self._one_of(of, sides, made[0].get(key, before), made[1].get(key, before)))

    # What the pixels of an image are like

    def _looked(self, condition: Expression) -> bool | None:
        """How a condition comes out that looks at an image's pixels; None for others.

        It is taken that there is a pixel of those that it looks for. Images that have none are left to the user's code.
        """
        whole, turned = condition, False
        while isinstance(condition, Unary) and condition.operator == "not":
            condition, turned = condition.operand, not turned
        found = self._asked(condition)
        if found is None:
            return None
        self.account(whole)
        picture, negated = found
        marks = arrays.marks(picture)
        if 1 not in marks:
            return negated is not turned
        if 0 in marks and self._looks.setdefault(picture.register, marks) != marks:
            raise UnreadableError(f"looks at an image again by {condition}", condition)
        return negated is turned

    def _asked(self, condition: Expression) -> tuple[Picture, bool] | None:
        """Of a condition an array of bools, and whether it is that none of them holds, not that any does."""
        match condition:
            case Call(function=Attribute(owner=owner, name="any" | "all" as name), arguments=(), options=()) if (
                self._form(owner) in ("array", "tensor")
            ):
                picture = self._sure_picture(owner)
                if str(picture.made().dtype) not in ("bool", "torch.bool"):
                    return None
                none = Applied(np.logical_not if picture.form == "array" else torch.logical_not)
                return (picture, False) if name == "any" else (picture.then(none), True)
            case Binary(
                operator=">" | ">=" | "<" | "<=" as sign,
                left=Call(function=Attribute(owner=owner, name="max" | "min" as name), arguments=(), options=()),
                right=other,
            ) if self._form(owner) in ("array", "tensor"):
                value = self.constant(other)
                if type(value) not in (int, float):
                    return None
                # A largest number above a value is any above it, one up to it none above it.
                any_of = (sign[0] == ">") is (name == "max")
                holds = arrays.COMPARISONS[sign if any_of else {">": "<=", ">=": "<", "<": ">=", "<=": ">"}[sign]]
                picture = self._sure_picture(owner).then(Applied(holds, (value,)))
                return picture, not any_of
        return None

    def _new(self, file: int, mode: str) -> Picture:
        self._images += 1
        return Picture(self._images - 1, file, mode)

    def _open(self, path: Expression, called: Any) -> Picture:
        column, found, row = self._files(path, content_path(self.own, path))
        if called is not sys.modules["PIL.Image"].open:
            return self._add(Opened(column, found, row, "RGB"))
        mode, _ = mode_of(next(iter(column.work_out(range(min(column.length, 1)))[0]), ""))
        return self._add(Opened(column, found, row, mode if mode in ("L", "P") else "RGB", plain=True))

    def _files(self, opened: Expression, path: Expression) -> tuple[Columns, Expression, Number]:
        """Which files there are, by the path of one, and which of them it is."""
        found, row = self.row_of(path)
        try:
            column = self.values(found)
        except UnreadableError as error:
            raise UnreadableError(error.args[0], error.of or path) from None
        for each in parts_of(opened):
            if isinstance(each, Entered):
                if id(each) in self._entered:
                    raise UnreadableError(f"reads {each} twice", each)
                self._entered.add(id(each))
        self.account(opened)
        return column, found, row

    def _read_by_opencv(self, call: Call, name: str) -> Picture:
        """An image that cv2.imread or cv2.imdecode makes of a file."""
        module: Any = sys.modules["cv2"]
        bound = bind(call, ("filename" if name == "imread" else "buf", "flags"))
        flags = self.constant(bound["flags"]) if "flags" in bound else module.IMREAD_COLOR
        flags_known = (module.IMREAD_COLOR, module.IMREAD_GRAYSCALE, getattr(module, "IMREAD_COLOR_RGB", -1))
        if (
            type(flags) is not int
            or flags not in flags_known
            or flags < 0
            or (name == "imdecode" and "flags" not in bound)
        ):
            raise UnreadableError(f"reads images by {call}", call)
        if any(each.startswith("OPENCV_IO_MAX") for each in os.environ):
            raise UnreadableError("reads images by OpenCV, whose limits are set in the environment")
        source = bound.get("filename", bound.get("buf"))
        path = source if name == "imread" or source is None else encoded_path(self.own, source)
        if source is None or path is None:
            raise UnreadableError(f"reads images by {call}", call)
        column, found, row = self._files(source, path)
        if name == "imread" and not {*map(type, column.work_out(range(column.length))[0])} <= {str}:
            raise UnreadableError("opens by OpenCV what are no texts", call)
        grey = flags == module.IMREAD_GRAYSCALE
        self.needs.update(dict.fromkeys(("opencv.decode.jpeg", "opencv.decode.png")))
        picture = self._add(Opened(column, found, row, "L" if grey else "RGB", plain=grey, opencv=True))
        in_order = flags not in (module.IMREAD_COLOR, module.IMREAD_GRAYSCALE)
        return self.use(picture).then(arrays.opened_rgb if in_order else arrays.opened, "array")

    def _add(self, opened: Opened) -> Picture:
        if self._into is not self._body:
            raise UnreadableError("opens images in a branch")
        self.opened.append(opened)
        return Picture(len(self.opened) - 1, len(self.opened) - 1, opened.mode, plain=opened.plain)

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

    def _of_array(self, call: Call) -> Picture:
        place, axes, mode = array_of(self.own, call)
        row = self.number(place.key)
        if row.kind not in numbers.PLACES:
            raise UnreadableError(f"takes rows by {place.key}", place)
        self.own.means(place.owner)
        self.account(call.arguments[0])
        return self._add(Opened(None, place.owner, row, mode, axes))

    def apply(
        self, picture: Picture, steps: Sequence[dict[str, Any]], needs: Sequence[str], size: T.Size | None = None,
        *, channels: int | None = None, passes: int = 1,
    ) -> Picture:  # fmt: skip
        """What steps make of an image."""
        if picture.passes + passes > PASSES_MAX:
            raise UnreadableError(f"goes over an image more than {PASSES_MAX} times")
        self.needs.update(dict.fromkeys(needs))
        picture = self.use(picture)
        self._images += 1
        made = self._images - 1
        self._into.append(
            {
                "do": "apply",
                "from": picture.register,
                "to": made,
                "channels": picture.channels,
                "transforms": list(steps),
            }
        )
        mode = picture.mode if channels in (None, picture.channels) else "RGB" if channels == 3 else "L"
        return replace(picture, register=made, size=size, known=None, mode=mode, passes=picture.passes + passes)

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

    def _picture_of_two(self, of: Either) -> Picture | None:
        sides = self._branches.get(of.number)
        if sides is None:
            return None
        if of.number in self._conversions:
            converted, before = self._conversions[of.number]
            if {id(of.then), id(of.otherwise)} != {id(converted), id(before)}:
                return None
            return self.picture(converted)
        if isinstance(sides, bool):
            return self.picture(of.then if sides else of.otherwise)
        one, other = self.picture(of.then), self.picture(of.otherwise)
        if one is None or other is None:
            return None
        if not (one.plain and other.plain):
            one, other = self.use(one), self.use(other)
        if any(self._changed_at.get(id(each), 0) > self._began[of.number] for each in (of.then, of.otherwise)):
            raise UnreadableError(f"uses one of two arrays after it was changed: {of}", of)
        key = of.number, one.register, one.tail, one.summed, other.register, other.tail, other.summed
        if key not in self._either:
            self._either[key] = self._one_of(of, sides, one, other)
        found = self._either[key]
        assert isinstance(found, Picture)
        return found

    def _one_of(self, of: Expression, sides: tuple[list[Any], list[Any]], one: Picture, other: Picture) -> Picture:
        """An image that is one of two, by which way of a branch was gone."""
        kinds = [(each.file, each.mode, each.form, each.tail, each.summed) for each in (one, other)]
        alike = kinds[0] == kinds[1]
        if not alike:
            raise UnreadableError(f"has images of several kinds in one place: {of}", of)
        self._images += 1
        for side, each in zip(sides, (one, other), strict=True):
            side.append({"do": "apply", "from": each.register, "to": self._images - 1,
                         "channels": each.channels, "transforms": []})  # fmt: skip
        size = one.size if one.size == other.size else None
        known = one.known if one.known == other.known else None
        return replace(one, register=self._images - 1, size=size, known=known, passes=max(one.passes, other.passes))

    # Values

    def function(self, of: Expression) -> Any:
        """What is called, which has to go on being that; None if it cannot be said."""
        try:
            return self.own.means(of)
        except UnreadableError:
            return None

    def constant(self, of: Expression) -> Any:
        """A value that is the same for all samples. Raises UnreadableError."""
        self._accounted.add(id(of))
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
        return self._copied(of, value)

    def _copied(self, of: Expression, value: Any) -> Any:
        """A value, of which a list, an array or a tensor is noted with what it holds."""
        if type(value) in (list, np.ndarray, torch.Tensor):
            value = copy.copy(value) if type(value) is list else copy.deepcopy(value)
            self.copies.append((of, value))
        return value

    def row_of(self, of: Expression) -> tuple[Expression, Number]:
        """An expression of values that are worked out ahead, with its row as the index, and which row that is."""
        for part in _visible(of):
            if self._known.get(id(part), (part, None))[1] is not None:
                raise UnreadableError(f"uses the image {part}", part)
        of = self._placed(of)
        keys = list(_keys(of, self._is_row))
        rows = [key for key in keys if self._is_row(key)]
        if not rows:
            return of, INDEX
        first, *others = rows
        if any(other != first for other in others) or any(isinstance(key, Index) for key in keys):
            raise UnreadableError(f"uses several rows in {of}", of)
        row = self.number(first)
        if row.kind not in numbers.PLACES:
            raise UnreadableError(f"takes rows by {first}", of)
        return _with_index(of, first), row

    def _placed(self, of: Expression) -> Expression:
        """An expression with items of lists in place of those that are drawn of them."""

        def place(each: Expression) -> Expression | None:
            found = self._drawn.get(each.number) if isinstance(each, Drawn) else None
            return found if isinstance(found, Expression) else None

        return _replaced(of, place)

    def _is_row(self, key: Expression) -> bool:
        if isinstance(key, Index | Constant | Display | Item | Name | Attribute | Text):
            return False
        if key in self._no_rows:
            return False
        try:
            if self.number(key).is_constant:
                return False
        except UnreadableError:
            return False
        with suppress(UnreadableError, *_ERRORS):  # one that is worked out ahead is none by itself
            moved, row = self.row_of(key)
            self._first_of(moved)
            if row is INDEX:
                self._no_rows.add(key)
            return False
        return True

    def _structure(self, given: Expression, batch: type) -> Structure:
        if isinstance(given, Display) and given.kind in (list, tuple):
            return tuple(self._structure(each, tuple) for each in given.items)
        if isinstance(given, Mapping):
            return {name: self._structure(each, list) for name, each in zip(given.names, given.items, strict=True)}
        picture = self.picture(given)
        if picture is not None:
            return _IMAGES + self._give_image(picture, given)
        stack = self._stacked(given)
        if stack is not None:
            self.account(given)
            self.stacks.append(stack)
            return STACKS + len(self.stacks) - 1
        self.given.append(self._give(given, batch))
        return len(self.given) - 1

    def _give_image(self, picture: Picture, given: Expression) -> int:
        if picture.form != "tensor":
            raise UnreadableError("gives images that are no tensors", given)
        self.pictures.append(self.use(picture))
        return len(self.pictures) - 1

    def _stacked(self, given: Expression) -> Stack | None:
        """Images in one tensor; None for all else. Raises UnreadableError."""
        match given:
            case Call(function=Attribute(owner=owner, name=name), arguments=arguments, options=()) if (
                name in ("contiguous", "permute", "transpose") and (stack := self._stacked(owner)) is not None
            ):
                return stack.then(name, tuple(map(self.constant, arguments)))
            case Call(function=function, arguments=(Display(items=items), *dims), options=options) if items:
                called: Any = self.function(function)
                if called is not torch.stack and called is not torch.cat:
                    return None
                pictures = [each for each in map(self.picture, items) if each is not None]
                places = [*dims, *(each for name, each in options if name == "dim")]
                if len(pictures) < len(items) or len(places) > 1 or len(places) < len(dims) + len(options):
                    return None
                if len({each.size for each in pictures} | {None}) != 2:
                    raise UnreadableError("puts images together whose sizes may differ", given)
                at = self.constant(places[0]) if places else 0
                numbers = [self._give_image(*each) for each in zip(pictures, items, strict=True)]
                return Stack.of(numbers, [each.made() for each in pictures], at, joins=called is torch.cat)
        return None

    def _give(self, of: Expression, batch: type) -> Given:
        if isinstance(of, Index):
            return Given(batch)
        if self._is_number_of_index(of):
            return self._give_number(of, self.number(of), batch)
        try:
            moved, row = self.row_of(of)
            made = None if self._is_vector(moved) else made_of(self.own, moved)
            values = (moved,) if made is None else made.numbers
            columns = self.values(*values)
        except UnreadableError as error:
            try:
                number = self.number(of)
            except UnreadableError:
                return self._give_apart(of, batch, error)
            return self._give_number(of, number, batch)
        self.account(of)
        return Given(batch, values, columns, made, None if row is INDEX else row)

    def _give_apart(self, of: Expression, batch: type, why: UnreadableError) -> Given:
        """A value that Python makes. Raises UnreadableError: for that `why`, where no function is called for it."""
        try:
            made = made_apart(self, of)
        except UnreadableError as error:
            called = [part for part in parts_of(of) if isinstance(part, Apart)]
            if called:
                raise UnreadableError(called[0].why[0], None, called[0].why[1]) from None
            raise why if error.of is None or error.of is of else error from None
        self.account(of)
        return Given(batch, made.numbers, self.values(*made.numbers), made)

    def way_of(self, of: Either) -> Expression:
        """What a value is that depends on a branch which all samples go the same way. Raises UnreadableError."""
        holds = self._branches.get(of.number)
        if not isinstance(holds, bool):
            raise UnreadableError(f"gives one of two values: {of}", of)
        return of.then if holds else of.otherwise

    def _give_number(self, of: Expression, number: Number, batch: type) -> Given:
        if not number.is_python and number.kind != "numpy":
            raise UnreadableError(f"gives {of}", of)
        register = self._let(number.json, number.kind).json[1]
        return Given(batch, number=self._column_of(register), kind=number.kind)

    def _is_number_of_index(self, of: Expression) -> bool:
        """Whether it is a number that the index is part of, more than as a place: its type may be that of the index."""
        with suppress(UnreadableError):
            return self.values(of).reckons and self.number(of).kind in (*numbers.PYTHON, "numpy")
        return False

    def _is_vector(self, moved: Expression) -> bool:
        """Whether it is an array or a tensor that is worked out ahead."""
        with suppress(UnreadableError, *_ERRORS):
            return vectors.are_rows(self.values(moved).work_out(range(1))[0])
        return False

    def _column_of(self, register: int) -> int:
        self._columns.append(register)
        return len(self._columns) - 1

    def number_column(self, number: Number) -> int:
        """The core's column of a number."""
        if isinstance(number.json, list) and number.json[0] == "number":
            return self._column_of(number.json[1])
        self._into = self._body
        return self._column_of(self._let(number.json, number.kind).json[1])

    def _table(self, picture: Picture) -> tuple[Table, bool]:
        """What its functions make of every byte, and whether they leave its channels in reverse order."""
        names = ", ".join(self.names[-3:])
        tail = picture.tail
        if picture.made().ndim == 2:
            tail = (*tail, lambda made: made.unsqueeze(0))
        try:
            return run_tail(tail, picture.channels, names, picture.begin), False
        except RefusalError:
            if picture.mode != "RGB":
                raise
            return run_tail(tail, picture.channels, names, replace(picture, reverse=True).begin), True

    def _reversed(self, picture: Picture) -> Picture:
        """An image that goes on as BGR."""
        self._into = self._body
        made = self.apply(picture, [{"op": "reverse_channels"}], (), size=picture.size)
        if (marks := self._looks.pop(picture.register, None)) is not None:
            self._looks[made.register] = b"".join(marks[256 * channel :][:256] for channel in (2, 1, 0))
        return replace(made, reverse=True)

    def _looks_of(self) -> list[bytes | None]:
        """Which bytes each image that is given has to have. Raises UnreadableError where that does not show in it."""
        found = []
        left = dict(self._looks)
        for picture, table in zip(self.pictures, self.tables, strict=True):
            marks = left.pop(picture.register, None)
            found.append(marks)
            if marks is None:
                continue
            size = len(table.data) // (256 * table.channels)
            numbers = [table.data[at : at + size] for at in range(0, len(table.data), size)]
            for channel in range(0, len(numbers), 256):
                sides: tuple[set[bytes], set[bytes]] = set(), set()
                for number, mark in zip(numbers[channel : channel + 256], marks[channel : channel + 256], strict=False):
                    sides[mark].add(number)
                if sides[0] & sides[1] or len(marks) != len(numbers):
                    raise UnreadableError("looks at pixels that it does not give")
        if left:
            raise UnreadableError("looks at an image that it does not give")
        return found

    # The script

    def _split(self) -> tuple[list[Any], list[Any]]:
        """What is drawn before files are known, and the rest. Raises UnreadableError.

        A generator is drawn from by one of the two, in the code's order: what else is drawn from those that choose
        files comes first, too.
        """
        first = {register for each in self.opened for register in _registers(each.row.json)}
        if not first:
            return [], self._body
        generators: set[str] = set()
        known = -1
        while known != len(first) + len(generators):
            known = len(first) + len(generators)
            _wanted(self._body, first, generators)
        parts = _parted(self._body, first)
        if _looks_at_images(parts[0]):
            raise UnreadableError("looks at an image before it knows which others it opens")
        if generators & _generators(parts[1]):
            raise UnreadableError("draws from one generator for its files and for its images")
        return parts

    def to_plan(self, counts: Sequence[int], lists: Sequence[int]) -> dict[str, Any]:
        """The script of a part.

        counts  files of each list
        lists   which list each opened file is of
        """
        return {
            "files": list(counts),
            "images": self._images,
            "numbers": self._registers,
            "tables": [table for each in self.number_tables for table in each.found.tables],
            "opens": [
                {
                    "list": number,
                    "row": each.row.json,
                    "mode": each.mode,
                    "plain": each.plain,
                    "opencv": each.opencv,
                }
                for number, each in zip(lists, self.opened, strict=True)
            ],
            "first": self._first,
            "body": self._body,
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
            self.own.looks_at_index
            or any(columns.reckons for columns in self._ahead.values())
            or any(each == ["index"] for each in _flat([*self._first, *self._body]))
        )

    @property
    def generators(self) -> set[str]:
        """Which of a worker's generators are drawn from: "torch", "python", "numpy"."""
        return _generators([*self._first, *self._body])

    @property
    def column_kinds(self) -> list[str]:
        return [self._registers[register] for register in self._columns]


# Where the numbers of a sample's images begin while its other values are counted.
_IMAGES = 1 << 20
IMAGES = _IMAGES
STACKS = 1 << 21

_OF_PALETTES = (T.CenterCrop, T.RandomCrop, T.RandomHorizontalFlip, T.RandomVerticalFlip, T.Pad)

# What the user's data raises where it is looked at rather than run.
_ERRORS = (ArithmeticError, LookupError, TypeError, ValueError)

# What makes numbers of numbers that are the same for all samples.
_OF_CONSTANTS = (np.array, np.asarray, np.float32, np.float64)


class _Rows(NamedTuple):
    """Values of the user's data.

    key      tells them from others
    values   all of them, as they are now
    sources  what they are made of, as it is now
    first    one of them
    row      which one a sample has
    columns  that work them out, if some do
    """

    key: Expression
    values: Callable[[], Sequence[Any]]
    sources: Callable[[], list[Any]]
    first: Any
    row: Number
    columns: Columns | None = None


@dataclass(frozen=True)
class _Place(Expression):
    """A number of the script as an expression."""

    spelling = "a place that is drawn"
    number: Number

    def __hash__(self) -> int:
        return hash(repr(self.number))


def length_of(dataset: Any) -> int:
    """len(dataset), as torch's samplers ask for it. Raises UnreadableError."""
    try:
        return len(dataset)
    except Exception as error:  # code of the user's
        raise UnreadableError(f"has no length: {error}") from None


def _both(one: Number, other: Number) -> Number:
    """Two conditions at once."""
    if one.is_constant:
        return other if one.value else one
    return Number(["*", one.json, other.json], "bool")


def _is_super(called: Any) -> bool:
    return called is super


def _visible(of: Expression) -> Iterator[Expression]:
    """Parts of an expression: not those of what is drawn, or is one of two, which are numbers by themselves."""
    yield of
    if not isinstance(of, Drawn | Either):
        for part in own_parts(of):
            yield from _visible(part)


def _keys(of: Expression, is_row: Callable[[Expression], bool]) -> Iterator[Expression]:
    """What items are taken by in an expression; not within a key that is a row, which is a number by itself."""
    if isinstance(of, Item):
        yield of.key
        yield from _keys(of.owner, is_row)
        if not is_row(of.key):
            yield from _keys(of.key, is_row)
    elif not isinstance(of, Drawn | Either):
        for part in own_parts(of):
            yield from _keys(part, is_row)


def _with_index(of: Expression, key: Expression) -> Expression:
    """An expression with the index in place of a key."""
    return _replaced(of, lambda each: Index() if each == key else None)


def _replaced(of: Expression, change: Callable[[Expression], Expression | None]) -> Expression:
    """An expression with others in place of parts for which `change` gives one; itself where there are none."""
    if (other := change(of)) is not None:
        return other
    if isinstance(of, Drawn | Either):
        return of
    changes: dict[str, Any] = {}
    for name in fields_of(of):
        value = getattr(of, name)
        changed: Any = value
        if isinstance(value, Expression):
            changed = _replaced(value, change)
        elif type(value) is tuple and value and all(isinstance(each, Expression) for each in value):
            changed = tuple(_replaced(each, change) for each in value)
        elif type(value) is tuple and value and all(type(each) is tuple and len(each) == 2 for each in value):
            changed = tuple((first, _replaced(second, change)) for first, second in value)
        both = (value, changed) if isinstance(value, tuple) else ((value,), (changed,))
        if any(one is not new and one != new for one, new in zip(*both, strict=True)):
            changes[name] = changed
    return replace(of, **changes) if changes else of  # type: ignore[type-var]


def _flat(json: Any) -> Iterator[Any]:
    """Lists and dicts in a plan's JSON."""
    if isinstance(json, (list, dict)):
        yield json
        for each in json if isinstance(json, list) else json.values():
            yield from _flat(each)


def _registers(json: Any) -> Iterator[int]:
    return (each[1] for each in _flat(json) if isinstance(each, list) and each[:1] == ["number"])


def _wanted(instructions: Sequence[Any], first: set[int], generators: set[str]) -> bool:
    """Adds to `first` the numbers that its numbers are made of, and those that are drawn from the same generators.

    True if any of the instructions sets one of them.
    """
    found = False
    for each in reversed(instructions):  # what a number is made of comes before it
        if each["do"] == "let":
            drawn = _generators(each["value"])
            if each["number"] in first or drawn & generators:
                first |= {each["number"], *_registers(each["value"])}
                generators |= drawn
                found = True
        elif each["do"] == "if":
            sides = [_wanted(each[side], first, generators) for side in ("then", "else")]
            if any(sides):
                first |= set(_registers(each["condition"]))
                found = True
    return found


def _parted(instructions: Sequence[Any], first: set[int]) -> tuple[list[Any], list[Any]]:
    """Instructions that set numbers of `first`, and all others; both in their order."""
    parts: tuple[list[Any], list[Any]] = [], []
    for each in instructions:
        if each["do"] == "if":
            sides = _parted(each["then"], first), _parted(each["else"], first)
            for part, then, otherwise in zip(parts, *sides, strict=True):
                if then or otherwise:
                    part.append(each | {"then": then, "else": otherwise})
        else:
            parts[0 if each["do"] == "let" and each["number"] in first else 1].append(each)
    return parts


def _looks_at_images(instruction: Any) -> bool:
    return any(
        each[:1] in (["width"], ["height"]) if isinstance(each, list) else each.get("do") == "apply"
        for each in _flat(instruction)
    )


_RANDOM_OPS = {"augment", "auto_augment", "color_jitter", "random_apply"}


def _generators(instructions: Any) -> set[str]:
    found = set()
    for each in _flat(instructions):
        if isinstance(each, list) and each and isinstance(each[0], str) and each[0].partition(".")[0] in _DRAWN:
            found.add(each[0].partition(".")[0])
        if isinstance(each, dict) and str(each.get("op", "")).startswith(("random_", *_RANDOM_OPS)):
            found.add("torch")
    return found


_DRAWN = ("python", "numpy", "torch")
