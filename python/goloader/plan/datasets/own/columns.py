"""Expressions of a user's `__getitem__` that make paths and labels, worked out for many indices at once.

An expression is a list with an item for each index, or one value that is the same for all. Each operation is tried on
the types that it is for, and on no others, so that no code but Python's own is run: what is worked out ahead is what
the user's code would find.
"""

from __future__ import annotations

import operator
import os
import posixpath
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice, repeat
from pathlib import Path, PosixPath
from types import ModuleType
from typing import Any

import numpy as np
import torch

from ...bytecode import (
    SIGNS,
    Attribute,
    Binary,
    Call,
    Constant,
    Display,
    Expression,
    Index,
    Item,
    Member,
    Name,
    Part,
    Spread,
    Text,
    Unary,
    UnreadableError,
    own_parts,
    parts_of,
)
from ...trust.look import in_class, is_a
from ..reads import databases, fetched, folders
from ..tree import Indices
from . import frames, vectors
from .code import OwnCode
from .sources import (
    FIELD,
    FLOATS,
    INTS,
    NUMPY_INTS,
    PATHS,
    TEXTS,
    Stand,
    all_of,
    check_settled,
    is_record,
    stand,
)


class TensorItem(int):
    """An item of a tensor of int64."""


_PLAIN = (*PATHS, *INTS, float, bool, type(None))
_WHOLES = (list, tuple, dict, set, frozenset)

# What torch puts together to a batch.
VALUES = (*TEXTS, *INTS, *FLOATS, bool, np.bool_, TensorItem)

# What is called, of which types.
_FUNCTIONS: dict[Any, tuple[type, ...]] = {
    int: (*TEXTS, bytes, *INTS, *FLOATS, TensorItem, bool),
    float: (*TEXTS, *INTS, *FLOATS, TensorItem, bool),
    **dict.fromkeys((np.int64, np.int32, np.float64, np.float32, np.float16), (str, *INTS, *FLOATS, bool)),
    str: _PLAIN,
    format: _PLAIN,
    Path: PATHS,
    posixpath.basename: PATHS,
    posixpath.dirname: PATHS,
    posixpath.join: PATHS,
    posixpath.splitext: PATHS,
    os.fspath: PATHS,
    **dict.fromkeys((fetched.object_of, fetched.object_at, fetched.object_named, fetched.page_of), (str,)),
    **dict.fromkeys((databases.member_of, databases.value_of), (str, bytes)),
    **dict.fromkeys((abs, max, min), INTS),
    bool: (*_PLAIN, *_WHOLES),
    len: (*TEXTS, *_WHOLES),
}
# Of which types more it is known of which classes they are, and what attributes they have.
_OBJECTS: dict[Any, tuple[type, ...]] = {isinstance: (np.ndarray, torch.Tensor), hasattr: ()}
_TEXT_METHODS = (
    "endswith", "format", "lower", "lstrip", "removeprefix", "removesuffix", "replace", "rsplit", "rstrip", "split",
    "startswith", "strip", "upper", "zfill",
)  # fmt: skip
# Of which types what has a method is, and what it is called with.
_METHODS: dict[str, tuple[tuple[type, ...], tuple[type, ...]]] = {
    "encode": ((str,), (str,)),
    "decode": ((bytes,), (str,)),
    **dict.fromkeys(_TEXT_METHODS, (TEXTS, _PLAIN)),
}
_PATH_PROPERTIES = ("name", "parent", "stem", "suffix")
# Numbers of Python's own.
_REALS = ((int, float), (int, float))
# Of which types the values on both sides of a sign are.
_SIDES: dict[str, tuple[tuple[tuple[type, ...], tuple[type, ...]], ...]] = {
    **dict.fromkeys(("*", "//", "<", "<=", ">", ">="), (_REALS,)),
    **dict.fromkeys(("==", "!="), ((TEXTS, TEXTS), _REALS)),
    "+": ((TEXTS, TEXTS), ((bytes,), (bytes,)), (INTS, INTS), _REALS),
    "-": ((INTS, INTS), _REALS),
    "/": (((PosixPath,), PATHS), (TEXTS, (PosixPath,)), _REALS),
    "%": ((TEXTS, (*TEXTS, *INTS)), ((bytes,), (bytes, *INTS)), ((int,), (int,))),
}
# Of such types none is changed in place.
_IN_PLACE = {f"{sign}=": sign for sign in ("+", "-", "*", "/", "//", "%")}


@dataclass(frozen=True)
class _Same:
    """A value that is the same for every index."""

    value: Any


_Column = Sequence[Any] | _Same | frames.Rows


# A list or dict with more items is not looked through for each batch.
_SAME_MAX = 256


class Columns:
    """The expressions of one `__getitem__`.

    length     of all that it takes items of by the index
    negatives  an index below 0 means an item as well; else it is a KeyError, as in a table that is asked by its labels
    reckons    the index is more than a place; then it has to be one of 0 and above
    takes_items  of something by the index, which has the length
    """

    def __init__(
        self,
        own: OwnCode,
        expressions: Sequence[Expression],
        rows: Sequence[Expression] = (),
        *,
        length: Callable[[], int] | None = None,
    ) -> None:
        """
        rows    items of arrays that are taken by the index as well, and are not worked out
        length  of the dataset, where the index may be more than a place
        """
        self._own = own
        self.reckons = length is not None and any(map(_has_bare_index, expressions))
        self._expressions = tuple(expressions)
        parts = [part for whole in (*self._expressions, *rows) for part in parts_of(whole)]
        self._places = _places(parts)
        self._of_values = _places(part for whole in self._expressions for part in parts_of(whole))
        # What is the same for every index, and goes into values.
        self._same: dict[Expression, Any] = {}
        for place in self._of_values:
            check_settled(self._container(place), place)
        self.takes_items = bool(self._places)
        by_label = {place for place in self._places if self._by_label(place)}
        self.negatives = not by_label
        self._dataset_length = length() if length is not None and self.reckons and not self._places else None
        self.length = self._length()
        # What is looked into for files.
        self._folders: dict[str, None] = {}
        # Of how many lists and arrays items are taken by the index, these and what is the same, and whether they stand.
        self._kept: tuple[int, tuple[Expression, ...], list[Stand]] | None = None
        # Of an index that has no item, these are errors.
        failing = by_label or self._places
        self._failing = [
            part for part in parts if isinstance(part, Item) and _is_index(part.key) and part.owner in failing
        ]

    def _length(self) -> int:
        if self._dataset_length is not None:
            return self._dataset_length
        lengths = {len(self._container(place)) for place in self._places}
        if len(lengths) != 1:
            raise UnreadableError(
                "takes items of attributes that differ in length" if lengths else "takes items of no attribute"
            )
        return int(lengths.pop())

    def keep(self) -> None:
        """Keeps what all values were worked out of, for `stands`."""
        places, made_of = self._made_of()
        if self._folders:
            return
        try:
            wholes = self._own.values(made_of)
        except UnreadableError:  # of a table of pandas
            return
        sized = (list, dict, set, frozenset)
        small = all(type(whole) not in sized or len(whole) <= _SAME_MAX for whole in wholes[len(places) :])
        stands = all_of(map(stand, wholes)) if small else None
        if stands is not None:
            self._kept = len(places), made_of, stands

    def sources(self) -> list[Any]:
        """What all values were worked out of, as it is now. Raises UnreadableError for a table of pandas."""
        return [*map(self._own.value, self._made_of()[1]), *(folders.listing(each).names for each in self._folders)]

    def _made_of(self) -> tuple[list[Expression], tuple[Expression, ...]]:
        """What items are taken of by the index for values, and with it what is the same for every index."""
        places = [place for place in self._places if place in self._of_values]
        return places, (*places, *self._same)

    def stands(self, at: Indices | None) -> bool:
        """True if the values of these indices, or of all, are made of what `keep` kept; False if that cannot be said.

        It is asked after the code's `unchanged`, for each batch.
        """
        if self._kept is None:
            return False
        count, expressions, stands = self._kept
        now = zip(self._own.values(expressions), stands, strict=True)
        return all(each(whole, at if n < count else None) for n, (whole, each) in enumerate(now))

    def fails_before(self, others: Sequence[Expression]) -> bool:
        """True if an index without an item is an error before any of these expressions is evaluated."""
        order = {expression: place for place, expression in enumerate(self._own.reading.places)}
        return min(order[each] for each in self._failing) < min(order[each] for each in others)

    def _container(self, place: Expression) -> Any:
        """What items are taken of by the index: a list, an array, a tensor, or a Series or a DataFrame of pandas."""
        if isinstance(place, Attribute) and place.name in ("iloc", "values", "loc", "at"):
            table = self._table(place.owner)
            if place.name == "values" and frames.is_frame(table):
                return table.to_numpy()
            if frames.is_series(table) or frames.is_frame(table):
                return frames.by_label(table) if place.name in ("loc", "at") else table
        value = self._table(place)
        if frames.is_series(value):
            return frames.by_label(value)
        if type(value) in (list, tuple) or frames.is_texts(value):
            return value
        if type(value) in (np.ndarray, torch.Tensor) and value.ndim:
            return value
        if value is None:
            value = self._own.value(place)
        raise UnreadableError(f"takes items of {place}, a {type(value).__qualname__}", place)

    def _tensor_of(self, item: Expression) -> torch.Tensor | None:
        """The tensor that an item is taken of by the index, if it is one."""
        container: Any = None
        match item:
            case Item(owner=Item(owner=place, key=Index()), key=Constant(value=int(key))) if self._is_matrix(place):
                container = self._container(place)[:, key]
            case Item(owner=place, key=Index()):
                container = self._container(place)
        return container if is_a(container, torch.Tensor) and container.ndim == 1 else None

    def _is_matrix(self, place: Expression) -> bool:
        container = self._container(place)
        return is_a(container, np.ndarray, torch.Tensor) and container.ndim == 2

    def _key(self, of: Expression) -> Any:
        """A place, a slice, a list of names, a dtype: what is the same for every index. Raises UnreadableError."""
        match of:
            case Display(kind=kind, items=items):
                found = map(self._key, items)
                return slice(*found) if kind is slice else kind(found)
            case Unary(operator="-", operand=operand):
                return -self._key(operand)
            case Constant(value=value):
                return value
        found = self._own.means(of)
        if type(found) is list:  # which may be changed
            self._same[of] = found
        return found

    def _by_label(self, place: Expression) -> bool:
        """True for a table that is asked by its labels, not by places."""
        if isinstance(place, Attribute) and place.name in ("loc", "at"):
            return True
        return frames.is_series(self._table(place))

    def _frame(self, place: Expression) -> Any:
        """The DataFrame of frame.iloc, frame.loc or frame.at."""
        frame = self._container(place)
        if not frames.is_frame(frame):
            raise UnreadableError(f"takes items of {place}, of a {type(frame).__qualname__}", place)
        return frame

    def _table(self, place: Expression) -> Any:
        """A DataFrame, or a Series: an attribute, frame["name"] or frame.name; what else is there; None for nothing."""
        try:
            match place:
                case Item(owner=owner, key=key):
                    whole, name = self._own.value(owner), self._key(key)
                    if frames.is_frame(whole) and isinstance(name, str):
                        return frames.column(whole, name)
                    if frames.is_frame(whole) and type(name) is list:
                        return frames.part(whole, name)
                case Attribute(owner=owner, name=name):
                    whole = self._own.value(owner)
                    if frames.is_frame(whole):
                        return frames.attribute(whole, name)
            return self._own.value(place)
        except UnreadableError:
            return None

    def work_out(self, at: Sequence[int], known: dict[Expression, _Column] | None = None) -> list[Sequence[Any]]:
        """The values of each expression, for these indices.

        known  what was worked out for the same indices, of this code and at this time: more is put there

        Raises UnreadableError for one that is not known to be worked out by Python's own types alone, and whatever
        these raise.
        """
        known = {} if known is None else known
        if self._length() != self.length:
            raise UnreadableError("takes items of attributes that have changed their length")
        with np.errstate(all="raise"):  # what numpy would warn of is left to the user's code
            return [_listed(self._column(each, at, known), len(at)) for each in self._expressions]

    def _vectors(self, expression: Expression, at: Sequence[int], column: Callable[[Expression], _Column]) -> Any:
        """The values of an expression that are arrays or tensors, one for each index; None where they are not."""

        def rows(of: Expression) -> Any | None:
            found = column(of) if of.has(Index) else None
            return found if isinstance(found, frames.Rows) or vectors.are_rows(found) else None

        match expression:
            case Item(owner=place, key=Display(kind=kind, items=(Index(), *rest))) if kind is tuple:
                if is_a(self._container(place), np.ndarray, torch.Tensor):
                    return vectors.take(self._container(place), at, tuple(map(self._key, rest)))
            case Item(owner=owner, key=Constant(value=None)) if vectors.are_rows(made := rows(owner)):
                return vectors.expanded(made)
            case Attribute(owner=owner, name="values") if isinstance(made := rows(owner), frames.Rows):
                return made.matrix
            case Binary(operator=sign, left=left, right=right) if sign in vectors.RECKONED:
                for side, other in ((left, right), (right, left)):
                    if isinstance(other, Constant) and vectors.are_rows(made := rows(side)):
                        return vectors.reckoned(sign, made, other.value, turned=side is right)
            case Call(function=Attribute(owner=owner, name=name), arguments=arguments, options=options) if (
                made := rows(owner)
            ) is not None:
                given = tuple(map(self._key, arguments))
                named = {option: self._key(value) for option, value in options}
                if isinstance(made, frames.Rows):
                    return made.called(name, given, named)
                return vectors.called(name, made, given, named)
            case Call(function=function, arguments=(of,), options=options) if vectors.makes(
                self._own.if_seen(function)
            ):
                maker, named = self._own.means(function), {option: self._key(value) for option, value in options}
                values = column(of)
                if isinstance(values, frames.Rows):
                    return values.array(maker, named)
                if vectors.are_rows(values):
                    return vectors.called(maker, values, (), named)
                if isinstance(values, list) and _types(values) <= {list, tuple}:
                    return vectors.of_lists(maker, values, named)
        return None

    def _search(self, looked: Expression) -> Call | None:
        """What looks for files in a folder, folder.glob(pattern), by itself or as an iterator; None for all else."""
        match looked:
            case Call(function=Attribute(owner=owner, name="glob"), arguments=(_,), options=()):
                with suppress(UnreadableError):
                    if is_a(self._own.value(owner), ModuleType):
                        return None
                return looked
            case Call(function=Name(name="iter"), arguments=(Call(function=Attribute()) as inner,), options=()):
                return self._search(inner)
        return None

    def _searched(self, search: Call, column: Callable[[Expression], _Column], length: int) -> _Column:
        """Of folder.glob(pattern) the lists of files."""
        assert isinstance(search.function, Attribute)
        folder, pattern = column(search.function.owner), column(search.arguments[0])
        _check(search, [folder], (PosixPath,))
        _check(search, [pattern], (str,))
        if not folders.is_pathlib():
            raise UnreadableError(f"uses {search}, which was replaced", search)
        self._folders |= {os.fspath(each): None for each in _each(folder)}
        return _mapped(folders.found_by_pathlib, [folder, pattern], length)

    def _are_sets(self, columns: Sequence[_Column]) -> bool:
        """Whether all values are sets of integers."""
        return all(
            _types(column) <= {set, frozenset} and {type(each) for whole in _each(column) for each in whole} <= {*INTS}
            for column in columns
        )

    def _spread(
        self, kind: Any, item: Expression, owner: Expression, at: Sequence[int], known: dict[Expression, _Column]
    ) -> _Column:
        """kind(item for each in owner): all items of all lists in one go."""
        wholes = self._column(owner, at, known)
        _check(owner, [wholes], (list, tuple))
        lists = _listed(wholes, len(at))
        counts = [*map(len, lists)]
        members: dict[Expression, _Column] = {Member(owner): [*chain.from_iterable(lists)]}
        made = self._column(item, [*chain.from_iterable(map(repeat, at, counts))], members)
        each = iter(_listed(made, sum(counts)))
        return [kind(islice(each, count)) for count in counts]

    def _asked(self, function: Any, expression: Expression, column: _Column, asked: Any, length: int) -> _Column:
        """isinstance(value, asked) or hasattr(value, asked), of values of types that say no more of themselves."""
        kinds = asked if type(asked) is tuple else (asked,)
        if isinstance(column, frames.Rows) or not all(
            type(each) is (str if function is hasattr else type) for each in kinds
        ):
            raise UnreadableError(f"uses {expression}", expression)
        _check(expression, [column], (*_PLAIN, *FLOATS, *_WHOLES, bytes, *_OBJECTS[function]))
        return _mapped(lambda value: function(value, asked), [column], length)

    def _check_members(self, expression: Expression, wholes: _Column) -> None:
        """Raises UnreadableError unless all in lists, tuples, sets, or keys of dicts, are known by their types."""
        _check(expression, [wholes], _WHOLES)
        _check(expression, [[each for whole in _each(wholes) for each in whole]], _PLAIN)

    def _column(self, expression: Expression, at: Sequence[int], known: dict[Expression, _Column]) -> _Column:
        if expression not in known:
            known[expression] = self._worked_out(expression, at, known)
        return known[expression]

    def _worked_out(self, expression: Expression, at: Sequence[int], known: dict[Expression, _Column]) -> Any:
        def column(part: Expression) -> _Column:
            return self._column(part, at, known)

        if not expression.has(Index, Call, Binary, Text, Part, Display):
            same = self._same[expression] = self._own.value(expression)
            check_settled(same, expression)
            return _Same(same)
        rows = self._vectors(expression, at, column)
        if rows is not None:
            return rows
        match expression:
            case Index() if self.reckons:
                return list(at)
            case Index():
                # A negative one means a row as well, and is another number.
                raise UnreadableError("uses the index for more than to take items by it", expression)
            case Text(parts=parts):
                texts = [column(part) for part in parts]
                _check(expression, texts, _PLAIN)
                return _mapped(lambda *each: "".join(map(format, each)), texts, len(at))
            case Binary(operator="-", left=left, right=right) if self._are_sets(sides := [column(left), column(right)]):
                return _mapped(operator.sub, sides, len(at))
            case Binary(operator=sign, left=left, right=right) if (name := _IN_PLACE.get(sign, sign)) in _SIDES:
                function, sides = SIGNS[name], [column(left), column(right)]
                if name == "%" and _types(sides[1]) == {tuple}:
                    _check(expression, sides[:1], TEXTS)
                    self._check_members(expression, sides[1])
                    return _mapped(function, sides, len(at))
                if any(_types(sides[0]) <= {*one} and _types(sides[1]) <= {*other} for one, other in _SIDES[name]):
                    return _mapped(function, sides, len(at))
            case Binary(operator="is" | "is not" as name, left=left, right=Constant(value=None)):
                return _mapped(lambda one: (one is None) is (name == "is"), [column(left)], len(at))
            case Binary(operator="in" | "not in" as name, left=left, right=right):
                pair = [column(right), column(left)]
                in_text = _types(pair[0]) <= {*TEXTS}
                _check(expression, pair[1:], TEXTS if in_text else _PLAIN)
                if not in_text:
                    self._check_members(expression, pair[0])
                return _mapped(lambda whole, one: (one in whole) is (name == "in"), pair, len(at))
            case Unary(operator="not", operand=operand):
                _check(expression, [column(operand)], (*_PLAIN, *_WHOLES))
                return _mapped(operator.not_, [column(operand)], len(at))
            case Item(
                owner=Attribute(name="iloc" | "loc" | "at" as by) as place, key=Display(kind=kind, items=(Index(), key))
            ) if kind is tuple:
                name = self._key(key)
                if type(name) is (int if by == "iloc" else str):
                    return frames.items(frames.column(self._frame(place), name), at)
                return frames.rows(self._frame(place), name, at, by_place=by == "iloc", at_once=True)
            case Item(owner=Item(owner=Attribute(name="iloc" | "loc") as place, key=Index()), key=key) if type(
                name := self._key(key)
            ) in (str, list, slice):
                if type(name) is str:
                    return frames.items_of_rows(self._frame(place), name, at)
                return frames.rows(self._frame(place), name, at, by_place=type(name) is slice)
            case Attribute(owner=Item(owner=Attribute(name="iloc" | "loc") as place, key=Index()), name=name):
                return frames.attributes_of_rows(self._frame(place), name, at)
            case Item(owner=place, key=Index()):
                return _items(self._container(place), at)
            case Item(owner=Item(owner=place, key=Index()), key=Constant(value=int(key))) if self._is_matrix(place):
                return _items(self._container(place)[:, key], at)
            case Part(owner=owner, number=number, count=count):
                wholes = column(owner)
                _check(expression, [wholes], (list, tuple))
                if {*map(len, _each(wholes))} - {count}:
                    raise UnreadableError(f"unpacks {owner} to {count} values, and there are others", owner)
                return _mapped(operator.itemgetter(number), [wholes], len(at))
            case Display(kind=kind, items=items) if kind is slice:
                ends = [column(each) for each in items]
                _check(expression, ends, (int, type(None)))
                return _mapped(slice, ends, len(at))
            case Display(kind=kind, items=(Spread(item=item, owner=owner),)) if kind in (list, tuple):
                return self._spread(kind, item, owner, at, known)
            case Call(
                function=Name() as function,
                arguments=(Call(function=Name(name="map") as mapper, arguments=(made_by, owner), options=()),),
                options=(),
            ) if (kind := self._own.means(function)) in (list, tuple) and self._own.means(mapper) is map:
                return self._spread(kind, Call(made_by, (Member(owner),)), owner, at, known)
            case Display(kind=kind, items=items) if kind in (list, tuple):
                return _mapped(lambda *each: kind(each), [column(each) for each in items], len(at))
            case Call(function=Name() as function, arguments=(looked,), options=()) if (
                search := self._search(looked)
            ) is not None:
                called = self._own.means(function)
                makes: Any = next((each for each in (list, sorted, next) if called is each), None)
                iterates = looked is not search
                if makes is None or (iterates and self._own.means(looked.function) is not iter):  # type: ignore[attr-defined]
                    raise UnreadableError(f"uses {expression}", expression)
                return _mapped(_first if makes is next else makes, [self._searched(search, column, len(at))], len(at))
            case Call(function=Name() as function, arguments=(of,), options=()) if (
                (called := self._own.means(function)) is set or called is list or called is sorted
            ):
                of_sets = called is list and self._are_sets([column(of)])
                if not of_sets:
                    _check(expression, [column(of)], (list, tuple))
                    members: tuple[type, ...] = (str,) if called is sorted else _PLAIN
                    _check(expression, [[each for whole in _each(column(of)) for each in whole]], members)
                return _mapped(_in_order if of_sets else called, [column(of)], len(at))
            case Item(owner=owner, key=key):
                pair = [column(owner), column(key)]
                sliced = _types(pair[1]) == {slice}
                if not _is_array_of_one(pair[0]):
                    _check(expression, pair[:1], (*TEXTS, list, tuple) if sliced else (dict, list, tuple))
                _check(expression, pair[1:], (slice,) if sliced else (*TEXTS, *INTS))
                return _mapped(operator.getitem, pair, len(at))
            case Attribute(owner=owner, name="key" | "bucket" as name) if (
                read := fetched.reader_of(self._own, owner)
            ) is not None:
                return column(read[2] if name == "key" else read[1])
            case Attribute(owner=owner, name=name) if _are_records(records := column(owner), name):
                return _mapped(operator.attrgetter(name), [records], len(at))
            case Attribute(owner=owner, name=name) if name in _PATH_PROPERTIES:
                paths = column(owner)
                _check(expression, [paths], (PosixPath,))
                return _mapped(operator.attrgetter(name), [paths], len(at))
            case Call(function=Attribute(owner=owner, name="get"), arguments=(key,), options=()) if isinstance(
                self._own.if_seen(owner), databases.Transaction
            ):
                return column(fetched.in_database(self._own, owner, databases.value_of, key))
            case Call(
                function=Attribute(owner=owner, name="get" | "index" as name), arguments=arguments, options=()
            ) if 0 < len(arguments) <= (2 if name == "get" else 1):
                given = [column(owner), *map(column, arguments)]
                _check(expression, given[:1], (dict,) if name == "get" else (list, tuple))
                self._check_members(expression, given[0])
                _check(expression, given[1:], _PLAIN)
                return _mapped(lambda whole, *each: getattr(whole, name)(*each), given, len(at))
            case Call(function=Attribute(owner=owner, name="item"), arguments=(), options=()):
                numbers = column(owner)
                _check(expression, [numbers], (*NUMPY_INTS, TensorItem))
                return _mapped(int, [numbers], len(at))
            case Call(function=Attribute(owner=owner, name=name), arguments=arguments, options=()) if name in _METHODS:
                owners, others = _METHODS[name]
                texts = [column(owner), *map(column, arguments)]
                _check(expression, texts[:1], owners)
                _check(expression, texts[1:], others)
                return _mapped(lambda text, *each: getattr(text, name)(*each), texts, len(at))
            case Call(function=function, arguments=(path,), options=()) if folders.is_glob(self._own.means(function)):
                paths = column(path)
                _check(expression, [paths], (str,))
                self._folders |= {os.path.dirname(each): None for each in _each(paths)}
                return _mapped(folders.found_by_glob, [paths], len(at))
            case Call(function=Name() as function, arguments=(of, asked), options=()) if (
                called := self._own.means(function)
            ) is isinstance or called is hasattr:
                return self._asked(called, expression, column(of), self._key(asked), len(at))
            case Call(function=function, arguments=arguments, options=()) if arguments:
                called = self._own.means(function)
                if called is int and len(arguments) == 1 and (tensor := self._tensor_of(arguments[0])) is not None:
                    return _numbers(tensor, at)  # so many TensorItems have the garbage collector look at everything
                given = [column(each) for each in arguments]
                for known_function, types in _FUNCTIONS.items():
                    if called is known_function:
                        _check(expression, given, types)
                        return _mapped(called, given, len(at))
        raise UnreadableError(f"does more than open a file and transform its image: it uses {expression}", expression)


def _are_records(column: _Column, name: str) -> bool:
    """Whether all values are of classes of namedtuple's, which have such a field."""
    return all(is_record(kind) and type(in_class(kind, name)) is FIELD for kind in _types(column))


def _is_array_of_one(column: _Column) -> bool:
    """Whether it is one array of texts or numbers, the same for every index."""
    whole = column.value if isinstance(column, _Same) else None
    return type(whole) is np.ndarray and whole.ndim == 1 and whole.dtype.kind in "biufU"


def _first(found: list[Any]) -> Any:
    if not found:
        raise UnreadableError("takes the first file of none")
    return found[0]


def _in_order(numbers: Any) -> list[Any]:
    """list(numbers), of a set of which any process makes the same list. Raises UnreadableError for others."""
    made = list(numbers)
    # In no table of a set's do such numbers share a place.
    if made != sorted(made) or (made and not 0 <= made[0] <= made[-1] < max(8, len(made) * 5 // 3)):
        raise UnreadableError("makes a list of a set that may have another order elsewhere")
    return made


def _places(parts: Iterable[Expression]) -> set[Expression]:
    """What items are taken of by the index."""
    return {part.owner for part in parts if isinstance(part, Item) and _is_index(part.key)}


def _has_bare_index(of: Expression) -> bool:
    """Whether the index is more in it than a place of which items are taken."""
    match of:
        case Index():
            return True
        case Item(owner=owner, key=key) if _is_index(key):
            return _has_bare_index(owner)
    return any(map(_has_bare_index, own_parts(of)))


def _is_index(key: Expression) -> bool:
    match key:
        case Display(kind=kind, items=(Index(), *_)):
            return kind is tuple
    return isinstance(key, Index)


def _items(container: Any, at: Sequence[int]) -> Any:
    """container[i] for each index; of pandas, container.iloc[i]."""
    if frames.is_series(container):
        return frames.items(container, at)
    if frames.is_frame(container):
        return frames.rows(container, slice(None), at)
    if vectors.are_rows(container):
        return vectors.take(container, at)
    if is_a(container, torch.Tensor):
        if container.dtype != torch.int64:
            raise UnreadableError(f"takes numbers of {container.dtype}")
        return list(map(TensorItem, _numbers(container, at)))
    return [*container] if at == range(len(container)) else [*map(container.__getitem__, at)]


def _numbers(tensor: torch.Tensor, at: Sequence[int]) -> list[int]:
    """The items of a tensor, as ints."""
    if tensor.dtype not in (torch.int32, torch.int64):
        raise UnreadableError(f"takes numbers of {tensor.dtype}")
    numbers = tensor.numpy()
    found: list[int] = (numbers if at == range(len(numbers)) else numbers[list(at)]).tolist()
    return found


def _listed(column: _Column, length: int) -> Any:
    return [column.value] * length if isinstance(column, _Same) else column


def _each(column: _Column) -> Iterable[Any]:
    """Its values; one that is the same for all once."""
    return [column.value] if isinstance(column, _Same) else column


def _types(column: _Column) -> set[type]:
    return set(map(type, _each(column)))


def _check(expression: Expression, columns: Sequence[_Column], types: tuple[type, ...]) -> None:
    """Raises UnreadableError for values that may run code of their own."""
    for column in columns:
        for kind in _types(column) - {*types}:
            raise UnreadableError(f"uses {expression}, of a {kind.__qualname__}", expression)


def _mapped(function: Callable[..., Any], columns: Sequence[_Column], length: int) -> _Column:
    if all(isinstance(column, _Same) for column in columns):
        return _Same(function(*(column.value for column in columns if isinstance(column, _Same))))
    lists = (repeat(column.value, length) if isinstance(column, _Same) else column for column in columns)
    return list(map(function, *lists))
