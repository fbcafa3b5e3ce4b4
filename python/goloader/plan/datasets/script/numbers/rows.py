"""The user's data: which row of it a sample has, and tables of numbers that differ from row to row."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....bytecode import (
    Apart,
    Attribute,
    Call,
    Closed,
    Constant,
    Display,
    Drawn,
    Either,
    Entered,
    Expression,
    Extended,
    Index,
    Inner,
    Item,
    Name,
    Text,
    UnreadableError,
    fields_of,
    own_parts,
    parts_of,
)
from ...own.code import ERRORS
from ...own.columns import Columns
from ...own.sources import check_settled
from ...reads.databases import Transaction
from ..code import AllItems
from . import arithmetic, tables
from .arithmetic import INDEX, Number
from .tables import Lists

if TYPE_CHECKING:
    from ..compiler import Compiler


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
class Place(Expression):
    """A number of the script as an expression."""

    spelling = "a place that is drawn"
    number: Number

    def __hash__(self) -> int:
        return hash(repr(self.number))


def _visible(of: Expression) -> Iterator[Expression]:
    """Parts of an expression: not those of what is drawn, or is one of two, which are numbers by themselves."""
    yield of
    if not isinstance(of, Drawn | Either):
        for part in own_parts(of):
            yield from _visible(part)


def _keys(of: Expression, is_row: Callable[[Expression], bool]) -> Iterator[Expression]:
    """What items are taken by in an expression; not within a key that is a row, which is a number by itc."""
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


def columns_of(c: Compiler, of: tuple[Expression, ...]) -> Columns:
    for part in (part for each in of for part in parts_of(each)):
        reads = isinstance(part, Entered) and isinstance(c.own.if_seen(part), Transaction)
        sound = isinstance(part, Call) and c.crops is not None and c.crops.reads(part)
        if (isinstance(part, Apart | Drawn | Either | Closed | Entered | Extended | Inner) and not reads) or sound:
            raise UnreadableError(f"uses {part}", part)
    columns = Columns(c.own, of, length=c.dataset_length)
    if columns.reckons:  # with the index it may be a number, and none of these
        columns.work_out(range(min(columns.length, 1)))
    return columns


def tables_of(c: Compiler, key: Any, find: Callable[[], tables.Found], sources: Callable[[], list[Any]]) -> int | None:
    """Tables that `find` gives, now and as long as the data is what it was: the number of the first.

    key      tells them from others
    sources  gives what `find` reads

    None if it raises UnreadableError, or what looking at the user's data does.
    """
    if key not in c.table_numbers:
        c.table_numbers[key] = None
        with suppress(UnreadableError, *ERRORS):
            c.number_tables.append(kept := tables.Kept(find, sources))
            c.table_numbers[key] = c.table_count
            c.table_count += len(kept.found.tables)
            c.table_same[key] = kept.found.same
    return c.table_numbers[key]


def _rows(c: Compiler, of: Expression) -> _Rows:
    """Values of the user's data, one of which an expression is. Raises UnreadableError, or as its code may."""
    match of:
        case Item(owner=owner, key=key) if (keys := _keys_of(c, owner)) is not None:
            whole = lambda: [c.own.value(owner)]  # noqa: E731
            values = lambda: list(map(c.own.value(owner).get, _keys_of(c, owner) or ()))  # noqa: E731
            row = Number(_found(c, owner, key), "int")
            return _Rows(owner, values, whole, c.own.value(owner)[keys[0]], row)
    moved, row = row_of(c, of)
    columns = c.values(moved)
    all_now = lambda: columns.work_out(range(columns.length))[0]  # noqa: E731
    return _Rows(moved, all_now, columns.sources, _first_of(c, moved), row, columns)


def _first_of(c: Compiler, moved: Expression) -> Any:
    """The first of the values that are worked out ahead. Raises UnreadableError, or what its code may."""
    if moved not in c.firsts:
        ((c.firsts[moved],),) = c.values(moved).work_out(range(1))
    return c.firsts[moved]


def _keys_of(c: Compiler, owner: Expression) -> list[Any] | None:
    """The keys of a dict by integers, in order; None for what is none."""
    with suppress(UnreadableError):
        whole = c.own.value(owner)
        if type(whole) in (dict, OrderedDict, defaultdict) and whole and {*map(type, whole)} <= {int, np.int64}:
            return sorted(whole)
    return None


def _found(c: Compiler, owner: Expression, key: Expression) -> list[Any]:
    """Which of the ascending keys of a dict a number is. Raises UnreadableError for what is none."""
    number = c.number(key)
    keys_now = lambda: tables.plain([*map(int, _keys_of(c, owner) or ())], "int")  # noqa: E731
    at = tables_of(c, ("keys", owner), keys_now, lambda: [c.own.value(owner)])
    if number.kind not in arithmetic.PLACES or number.is_constant or at is None:
        raise UnreadableError(f"takes items by {key}", key)
    return ["find", at, number.json]


def tabled(c: Compiler, of: Expression) -> Number | None:
    """A number of the user's data that differs from sample to sample; None for what is none."""
    if isinstance(of, Index | Constant | Drawn | Either | Display):
        return None
    with suppress(UnreadableError, *ERRORS):
        rows = _rows(c, of)
        kind = tables.kind_of(rows.first)
        if kind is not None:
            if (same := _same_in_all(c, rows, kind)) is not None:
                c.account(of)
                return same
            table = tables_of(c, ("item", rows.key), lambda: tables.plain(rows.values(), kind), rows.sources)
            if table is not None:
                c.account(of)
                return Number(["item", table, rows.row.json], kind)
    return None


def _same_in_all(c: Compiler, rows: _Rows, kind: str) -> Number | None:
    """A number that is the same for all samples, as long as the data is what it was; None for others."""
    if rows.columns is None or rows.row is not INDEX or kind not in ("int", "bool"):
        return None
    key = ("same", rows.key)
    if tables_of(c, key, lambda: tables.same(rows.values(), kind), rows.sources) is None:
        return None
    if (rows.columns, True) not in c.asides:
        c.asides.append((rows.columns, True))
    return Number(c.table_same[key], kind)


def lists_of(c: Compiler, of: Expression, *, by_numpy: bool = False) -> Lists | None:
    """A list of numbers of the user's data; None for what is none.

    by_numpy  as the array that numpy makes of it
    """
    if isinstance(of, Index | Constant | Drawn | Either) or (isinstance(of, Display) and not of.spread):
        return None
    with suppress(UnreadableError, *ERRORS):
        rows = _rows_of_lists(c, of)
        if tables.is_list(rows.first):
            places = tables_of(
                c, ("lists", rows.key, by_numpy), lambda: tables.of_lists(rows.values(), by_numpy), rows.sources
            )
            if places is not None:
                c.account(of)
                kind = tables.of_lists([rows.first], by_numpy).kind
                at = ["item", places, rows.row.json]
                return Lists(
                    Number(["length", places + 1, at], "int"),
                    lambda place: Number(["member", places + 1, at, place.json], kind),
                )
    return None


def members_of(c: Compiler, of: Expression) -> Callable[[Number], Number] | None:
    """What says whether an integer is in a list, or a set, of the user's data; None for anything else."""
    match of:
        case Call(function=Name() as function, arguments=(inner,), options=()) if c.function(function) in (set, list):
            found = members_of(c, inner)
            if found is not None:
                c.account(of)
            return found
        case Index() | Constant() | Drawn() | Either() | Display():
            return None
    with suppress(UnreadableError, *ERRORS):
        rows = _rows_of_lists(c, of)
        places = tables_of(c, ("members", rows.key), lambda: tables.of_members(rows.values()), rows.sources)
        if places is not None:
            c.account(of)
            at = ["item", places, rows.row.json]
            return lambda number: Number(["has", places + 1, at, number.json], "bool")
    return None


def _rows_of_lists(c: Compiler, of: Expression) -> _Rows:
    """Lists of the user's data: one for all samples, or one a row. Raises UnreadableError, or as its code may."""
    try:
        first = c.own.value(of)
    except UnreadableError:
        return _rows(c, of)
    check_settled(first, of)
    whole = lambda: [c.own.value(of)]  # noqa: E731
    return _Rows(of, whole, whole, first, Number(0, "int"))


def item_drawn(c: Compiler, of: Expression, below: str) -> Expression | None:
    """An item that is drawn of one of the user's lists, where which list it is differs from sample to sample; None for
    other things."""
    if not isinstance(of, Item) or isinstance(of.key, Constant):
        return None
    with suppress(UnreadableError, *ERRORS):
        owner, whole = of.owner, lambda: [c.own.value(of.owner)]
        keys = _keys_of(c, owner)
        lists = AllItems.lists(c.own.value(owner))
        number = c.number(of.key)
        if number.kind not in arithmetic.PLACES or number.is_constant:
            return None
        starts = tables_of(c, ("starts", owner), lambda: tables.lengths(AllItems.lists(c.own.value(owner))), whole)
        if starts is None:
            return None
        row = number.json
        if keys is not None:
            row = _found(c, owner, of.key)
        else:
            c.within(number, len(lists))
            c.lengths.append((owner, len(lists)))
        c.account(of)
        drawn = c.let([below, ["item", starts + 1, row]], "int")
        start = Number(["item", starts, row], "int")
        return Item(AllItems(owner), Place(c.sure(arithmetic.binary("+", start, drawn))))
    return None


def row_of(c: Compiler, of: Expression) -> tuple[Expression, Number]:
    """An expression of values that are worked out ahead, with its row as the index, and which row that is."""
    parts = list(_visible(of))
    for part in parts:
        if c.known.get(id(part), (part, None))[1] is not None:
            raise UnreadableError(f"uses the image {part}", part)
    if any(isinstance(part, Drawn | Either) for part in parts):
        of = _placed(c, of)
    keys = list(_keys(of, lambda key: _is_row(c, key)))
    rows = [key for key in keys if _is_row(c, key)]
    if not rows:
        return of, INDEX
    first, *others = rows
    if any(other != first for other in others) or any(isinstance(key, Index) for key in keys):
        raise UnreadableError(f"uses several rows in {of}", of)
    row = c.number(first)
    if row.kind not in arithmetic.PLACES:
        raise UnreadableError(f"takes rows by {first}", of)
    return _with_index(of, first), row


def _placed(c: Compiler, of: Expression) -> Expression:
    """An expression with items of lists in place of those that are drawn of them."""

    def place(each: Expression) -> Expression | None:
        if isinstance(each, Either):
            return _one_place(c, each)
        found = c.drawn.get(each.number) if isinstance(each, Drawn) else None
        return found if isinstance(found, Expression) else None

    return _replaced(of, place)


def _one_place(c: Compiler, of: Either) -> Expression | None:
    """The item of a list at one of two places, in place of one of two items of it; None for all else."""
    if of not in c.items_of_two:
        c.items_of_two[of] = None
        match [_placed(c, each) for each in (of.then, of.otherwise)]:
            case [Item(owner=owner, key=then), Item(owner=other, key=otherwise)] if owner == other:
                if all(isinstance(key, Index) or _is_row(c, key) for key in (then, otherwise)):
                    c.items_of_two[of] = Item(owner, replace(of, then=then, otherwise=otherwise))
    return c.items_of_two[of]


def _is_row(c: Compiler, key: Expression) -> bool:
    if isinstance(key, Index | Constant | Display | Item | Name | Attribute | Text):
        return False
    if key in c.no_rows:
        return False
    try:
        if c.number(key).is_constant:
            return False
    except UnreadableError:
        return False
    with suppress(UnreadableError, *ERRORS):  # one that is worked out ahead is none by itself
        moved, row = row_of(c, key)
        _first_of(c, moved)
        if row is INDEX:
            c.no_rows.add(key)
        return False
    return True


def count_of(c: Compiler, of: Expression) -> Number:
    """len(of), of what is the same for all samples."""
    if isinstance(of, Display) and of.kind in (list, tuple) and not of.spread:
        return Number(len(of.items), "int")
    known = c.own.length_of(of)
    if known is not None:
        return c.number(known) if isinstance(known, Constant) else count_of(c, known)
    try:
        value = c.own.means(of)
    except UnreadableError:
        if (lists := lists_of(c, of)) is not None:
            return lists.length
        raise
    if type(value) in (list, tuple, range):
        c.lengths.append((of, len(value)))
        return Number(len(value), "int")
    if type(value) is np.ndarray and value.ndim == 1:
        return Number(len(value), "int")
    raise UnreadableError(f"takes the length of {of}", of)
