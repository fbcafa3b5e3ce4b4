"""A collate_fn of the user's own, read from its bytecode: what it does with each field is done by the core.

A sample's fields are followed through its code: to torch.stack, torch.cat and pad_sequence, which the core does as it
reads the rows, to tensors that a loop fills with them, which are padded ones, and to lists of numbers. What is made of
a whole batch of these, a mask or sums of lengths, is made by
the very functions that are called there, once a batch. Whatever is in no table below is not understood.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import FunctionType, MethodType
from typing import Any

import numpy as np
import torch
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import default_collate

from .bytecode import (
    NONE,
    Attribute,
    Batch,
    Binary,
    Call,
    Display,
    Expression,
    Filled,
    Item,
    Itself,
    Mapping,
    Member,
    Part,
    Spread,
    Unary,
    UnreadableError,
    parts_of,
)
from .collation import After, Lists, is_channels_last, padding, stacked, stands, surroundings
from .datasets.own import OwnCode, is_plain
from .look import in_class, name_of
from .originals import is_original
from .refusal import RefusalError
from .row_layouts import STACKED, JaggedRows, PadRows, RowLayout, TextRows
from .rows import Field
from .structure import Structure


class _Columns:
    """The columns of a batch, and what was made of them: each thing once, as the code makes it."""

    def __init__(self, columns: Sequence[Any]) -> None:
        self._columns = columns
        self._made: dict[int, Any] = {}

    def __getitem__(self, number: int) -> Any:
        return self._columns[number]

    def once(self, of: Any, make: Callable[[_Columns], Any]) -> Any:
        if id(of) not in self._made:
            self._made[id(of)] = make(self)
        return self._made[id(of)]


class CollateCode(OwnCode):
    """What `collate_fn(batch)` does. Nothing of it is run."""

    def __init__(self, given: Any) -> None:
        self.given = given
        self.arguments = (Batch(),) if type(given) is FunctionType else (Itself(), Batch())
        super().__init__(given.__self__ if type(given) is MethodType else given)

    def function_of(self, dataset: Any) -> FunctionType:
        if type(self.given) is FunctionType:
            return self.given
        owner: Any = self.given.__func__ if type(self.given) is MethodType else in_class(type(dataset), "__call__")
        if type(owner) is not FunctionType or not is_plain(dataset):
            raise self.refusal("it is neither a plain function nor a plain object with a __call__")
        return owner

    def refusal(self, why: str) -> RefusalError:
        return RefusalError("collate", name_of(self.given), why, "COLLATE_OWN")

    def unread(self, error: UnreadableError) -> RefusalError:
        if error.of is not None and not error.place:
            error.place = self.reading.places.get(error.of, "")
        return self.refusal(f"it {error}")

    def _outcome(self, condition: Expression) -> bool | None:
        match condition:
            case Binary(operator="==" | "!=" as name, left=Binary(operator="%", left=whole, right=step), right=rest):
                # Whether a length is a multiple of one: of other steps, that depends on the batch.
                if self._is_whole(whole) and type(self.value(step)) is int and self.value(step) == 1:
                    return (self.value(rest) == 0) is (name == "==")
        return super()._outcome(condition)

    def _is_whole(self, expression: Expression) -> bool:
        """Whether it is an int, of lengths."""
        match expression:
            case Call(function=Attribute(name="size"), arguments=(_,), options=()):
                return True
            case Call(function=function, arguments=(Display(items=(Spread(item=item),)),), options=()):
                return self.if_seen(function) in (max, min) and self._is_whole(item)
            case Call(function=function, arguments=(_,), options=()):
                return self.if_seen(function) is len
        return False


class OwnCollate:
    """As plan.collation's Collation. Raises RefusalError for code that is not understood."""

    plain, own = False, True
    after: After | None = None
    takes_lists: Lists = "uneven"
    note = "compiled from its bytecode"

    def __init__(self, given: Any) -> None:
        self.given = given
        self.code = CollateCode(given)
        self.name = name_of(given)
        self._around = surroundings()

    def __str__(self) -> str:
        return str(self.code.reading.result)

    def unchanged(self) -> bool:
        """True if what the code meant is meant still, by torch's default_collate too."""
        return self.code.unchanged(self.code.dataset) and stands(self._around)

    def lay(
        self,
        fields: Sequence[Field],
        structure: Structure,
        sample: Any,
        size: int | None = None,
        listed: Collection[int] = (),
    ) -> tuple[tuple[Field, ...], Callable[[Sequence[Any]], Any]]:
        """The fields of samples like this one with their layouts in the batch, and what makes the batch of the columns.

        size    samples of a batch, if Python is to be faster for few of them: where no worker processes are spared
        listed  fields of which the column is a list of each sample's value

        Without fields, which images have not, the columns are those of default_collate.
        Raises RefusalError for what is not understood.
        """
        reading = self.code.reading
        try:
            ragged = {number: _axis(each) for each in fields for view in each.views for number in view.columns}
            compiler = _Compiler(self.code, _sample(structure, sample, listed, ragged), exact=bool(fields))
            compiler.check_lists(fields)
            make = compiler.made(reading.result)
            for loose in reading.loose:
                compiler.value(loose)
            for each in reading.again:
                if getattr(compiler.value(each), "kind", None) is object:
                    raise UnreadableError("goes through an iterator again", each)
            compiler.measure()
            in_memory = not any(each.opens_files for each in fields)
            if size is not None and in_memory and size < compiler.pays_from():
                why = f"Python puts {size} samples together sooner than Go is asked for them"
                raise RefusalError("collate", self.name, why, "SMALL_BATCHES")
            self.code.values(())
            if fields:
                laid = compiler.laid(fields)
                if not laid:
                    raise UnreadableError("makes nothing of the samples")
                return laid, lambda columns: make(_Columns(columns))
            numbers = compiler.numbers()
            return (), lambda columns: make(_Columns([columns[number] for number in numbers]))
        except UnreadableError as error:
            raise self.code.unread(error) from None


@dataclass(frozen=True)
class _Leaf:
    """A field of a sample: a tensor, an array, a list of ints, or a number.

    sample  of it, of the first sample
    front   items that are put in front of it, and
    back    behind it
    row     it has an extent of 1 in front
    listed  its column is a list of each sample's
    axis    of its extents, the one that differs from sample to sample; None if none does
    """

    number: int
    sample: Any = field(compare=False)
    listed: bool = field(default=False, compare=False)
    front: tuple[Any, ...] = ()
    back: tuple[Any, ...] = ()
    row: bool = False
    axis: int | None = None

    @property
    def is_tensor(self) -> bool:
        return type(self.sample) is torch.Tensor

    @property
    def dimensions(self) -> int:
        return 1 if self.is_list else self.sample.ndim if self.is_tensor or type(self.sample) is np.ndarray else 0

    @property
    def is_list(self) -> bool:
        return type(self.sample) is list

    def as_tensor(self) -> _Leaf:
        """The same, of a list, in torch.tensor."""
        return replace(self, sample=torch.tensor(self.sample))


@dataclass(frozen=True)
class _Same:
    """A tensor of one number for each sample, as long as a field.

    like  the field
    """

    like: _Leaf
    number: int
    dtype: torch.dtype


@dataclass(frozen=True)
class _Number:
    """A number of Python's for each sample.

    each  gives them of the columns
    of    the field whose extent along its axis it is, and the order of samples, if it is one
    """

    each: Callable[[_Columns], list[Any]]
    of: tuple[_Leaf, _Made | None] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class _Scalar:
    """torch.tensor(number) for each sample."""

    number: _Number
    options: tuple[tuple[str, Any], ...]


class _Position:
    """The place of a sample in the batch."""


@dataclass(frozen=True)
class _Picked:
    """The field of the sample that an order of the batch has at a position.

    order  numbers of samples; None: the field is that of one sample, whatever the position
    """

    leaf: _Leaf
    order: _Made | None


@dataclass(frozen=True)
class _Place:
    """The number that an order of the batch has at a position."""

    order: _Made


@dataclass(frozen=True)
class _Shape:
    """The shape of a tensor, or of a picked one."""

    of: _Leaf | _Picked


@dataclass(frozen=True, eq=False)
class _Parts:
    """A tuple, a list or a dict of values, or an iterator over them: object."""

    kind: type
    items: dict[Any, Any]


@dataclass(frozen=True, eq=False)
class _Rows:
    """A value for each sample.

    kind  list, tuple, or object for an iterator
    """

    item: Any
    kind: type = list


@dataclass(frozen=True, eq=False)
class _Made:
    """A value of the whole batch, and how it is made of the columns.

    rows   it is a tensor of one number for each sample; and
    order  these are the numbers of all samples, each once
    """

    make: Callable[[_Columns], Any]
    rows: bool = False
    order: bool = False


@dataclass(frozen=True, eq=False)
class _Fresh(_Made):
    """A tensor that the code makes, and nobody else has.

    value  of all its items; None where they are set otherwise, or not yet
    fill   `make` does not set them
    dtype  of it
    """

    value: Any = None
    fill: bool = False
    dtype: torch.dtype = torch.float32


@dataclass(frozen=True)
class _Known:
    """What is the same for all batches."""

    value: Any


# Samples a batch from which Go is faster than torch in one process, by what is done with their fields: a crossing takes
# 50 us, and rows of a list are each looked at before a batch, as a user may have changed them.
PAYS_FROM = {"stacked": 24, "joined": 96, "beside": 8, "lists": 8}

# What may be the same for all batches: nothing that can change while it stays the same object.
_CONSTANTS = (int, float, bool, str, type(None), type(...), torch.dtype, torch.device)
_TYPES = (bool, float, int, np.float32, np.float64, np.int32, np.int64)


class _Compiler:
    """Follows the code of a collate_fn for samples of one structure."""

    def __init__(self, code: CollateCode, sample: Any, *, exact: bool) -> None:
        """`exact`: the extents of samples that do not differ are those of this one."""
        self._code, self._exact = code, exact
        # By the expression itself: one that is spelt alike makes another tensor.
        self._values: dict[int, Any] = {}
        self._layouts: dict[tuple[_Leaf, RowLayout], int] = {}
        self._given: set[int] = set()
        self._ordered: set[int] = set()
        self._measured: dict[_Leaf, tuple[RowLayout, int] | None] = {}
        self._batch = _Rows(sample)

    def check_lists(self, fields: Sequence[Field]) -> None:
        """Raises UnreadableError for lists of which torch makes tensors of several dtypes: of empty ones."""
        lists = {leaf.number for leaf in _leaves(self._batch.item) if leaf.is_list}
        for each in fields:
            lengths = [array.lengths for array in each.arrays if array.lengths is not None]
            if lists.intersection(*(view.columns for view in each.views)) and any(0 in each for each in lengths):
                raise UnreadableError("gets lists that are empty")

    def value(self, expression: Expression) -> Any:
        """What is known of an expression. Raises UnreadableError."""
        if id(expression) not in self._values:
            try:
                self._values[id(expression)] = self._compiled(expression)
            except UnreadableError:
                raise
            except Exception as error:  # whatever it is, the collate_fn raises it, too
                raise UnreadableError(f"fails in {expression}: {error}", expression) from None
        return self._values[id(expression)]

    def means(self, expression: Expression) -> Any:
        return self._code.means(expression)

    def made(self, expression: Expression) -> Callable[[_Columns], Any]:
        """How a value of the whole batch is made. Raises UnreadableError if it is none."""
        value = self.value(expression)
        make = self._maker(value, expression)
        return lambda columns: columns.once(value, make)

    def numbers(self) -> list[int]:
        """The fields that are used. Raises UnreadableError if they are not all stacked."""
        if any(layout is not STACKED for _, layout in self._layouts):
            raise UnreadableError("puts images together as sequences")
        return [leaf.number for leaf, _ in self._layouts]

    def laid(self, fields: Sequence[Field]) -> tuple[Field, ...]:
        """The fields that are used, with their layouts. Raises UnreadableError if one is not that may fail."""
        laid = [(each, self._laid(each)) for each in fields]
        if any(made is None and each.may_fail for each, made in laid):
            raise UnreadableError("leaves out what was worked out, or read of files, and may have failed")
        return tuple(made for _, made in laid if made is not None)

    def _laid(self, of: Field) -> Field | None:
        wanted = [
            (leaf, layout, number, view)
            for (leaf, layout), number in self._layouts.items()
            for view in of.views
            if leaf.number in view.columns
        ]
        if not wanted:
            return None
        if any(layout is STACKED or view.layout is not STACKED for _, layout, _, view in wanted):
            of = stacked(of)
        views = []
        for leaf, layout, number, view in wanted:
            if isinstance(layout, PadRows) and (layout, number) == self._measured.get(leaf):
                layout = replace(layout, lengths=True)
            if isinstance(view.layout, TextRows):
                raise UnreadableError("uses texts")
            if of.extents and getattr(layout, "extents", ()) != of.extents:
                raise UnreadableError("puts arrays together that differ in more than their length")
            if view.layout is not STACKED:
                if layout is not STACKED:
                    raise UnreadableError("pads what goloader puts together")
                layout = view.layout
            front, back = (np.array(side, of.dtype).tobytes() if side else b"" for side in (leaf.front, leaf.back))
            views.append(replace(view, columns=(number,), layout=layout, front=front, back=back))
        return replace(of, views=tuple(views))

    def _unknown(self, expression: Expression) -> UnreadableError:
        return UnreadableError(f"does more than is understood: {expression}", expression)

    def _compiled(self, expression: Expression) -> Any:
        if not any(isinstance(part, Batch) for part in parts_of(expression)):
            return self._constant(expression)
        match expression:
            case Batch():
                return self._batch
            case Member(owner=owner):
                return self.rows(owner).item
            case Part(owner=owner, number=number, count=count):
                parts = self.value(owner)
                if isinstance(parts, _Parts) and parts.kind is not dict and len(parts.items) == count:
                    return parts.items[number]
            case Item(owner=owner, key=key):
                return self._item(expression, self.value(owner), self.value(key))
            case Display(kind=kind, items=(Spread(item=item, owner=owner),)):
                whole = self.value(owner)
                if isinstance(whole, _Parts) and whole.kind is not dict:
                    return _Parts(kind, {n: self._with(owner, each, item) for n, each in whole.items.items()})
                self.rows(owner)
                return _Rows(self.value(item), kind)
            case Display(kind=kind, items=items):
                return self._display(expression, kind, items)
            case Mapping(names=names, items=items):
                return self._listed(dict, dict(zip(names, items, strict=True)))
            case Filled():
                return self._filled(expression)
            case Attribute(owner=owner, name="shape"):
                leaf = self.value(owner)
                if isinstance(leaf, _Picked) or (isinstance(leaf, _Leaf) and leaf.dimensions and not leaf.is_list):
                    return _Shape(leaf)
            case Binary(operator=name, left=left, right=right) if name in _OPERATORS:
                sides = list(map(self.value, (left, right)))
                for one, other in (sides, sides[::-1]):
                    if isinstance(one, _Number | _Leaf) and isinstance(other, _Known):
                        return self._reckoned(_OPERATORS[name], one, other.value, expression, one is sides[0])
                return self.done(_OPERATORS[name], expression, (left, right))
            case Unary(operator=name, operand=operand):
                return self.done({"-": operator.neg, "~": operator.invert}[name], expression, (operand,))
            case Call(function=function, arguments=arguments, options=options):
                if any(isinstance(part, Batch) for part in parts_of(function)):
                    if isinstance(function, Attribute):
                        return self._method(expression, function.owner, function.name)
                else:
                    return self._call(expression, self.means(function), arguments, dict(options))
        raise self._unknown(expression)

    def _constant(self, expression: Expression) -> Any:
        """Of an expression without the batch."""
        match expression:
            case Call(function=function, arguments=arguments, options=options):
                called = self.means(function)
                if called is torch.device or any(called is each for each in (*_CALLS, *_LISTED)):
                    values = [self._constant(each).value for each in arguments]
                    return _Known(called(*values, **{name: self._constant(each).value for name, each in options}))
            case Display(kind=kind, items=items):
                values = [self._constant(each).value for each in items]
                return _Known(slice(*values) if kind is slice else kind(values))
            case Unary(operator="-", operand=operand):
                return _Known(-self._constant(operand).value)
            case Mapping() | Spread() | Member():
                pass
            case _:
                known = self.means(expression)
                if any(type(known) is kind for kind in _CONSTANTS) or any(known is kind for kind in _TYPES):
                    return _Known(known)
        raise self._unknown(expression)

    def _with(self, owner: Expression, member: Any, item: Expression) -> Any:
        """What an item of a list is where a loop over several values is at one of them."""
        known = self._values
        self._values = known | {id(each): member for each in parts_of(item) if each == Member(owner)}
        for each in parts_of(item):
            if any(part == Member(owner) for part in parts_of(each)) and each != Member(owner):
                self._values.pop(id(each), None)
        try:
            return self.value(item)
        finally:
            self._values = known

    def _reckoned(self, function: Any, numbers: Any, known: Any, expression: Expression, first: bool) -> _Number:
        """Arithmetic with a number of each sample."""
        if isinstance(numbers, _Leaf):
            if type(numbers.sample) not in (int, float, bool):
                raise self._unknown(expression)
            numbers = self.each(numbers, expression)
        if type(known) not in (int, float, bool):
            raise self._unknown(expression)
        if first:
            return _Number(lambda columns: [function(each, known) for each in numbers.each(columns)])
        return _Number(lambda columns: [function(known, each) for each in numbers.each(columns)])

    def rows(self, expression: Expression) -> _Rows:
        rows = self.value(expression)
        if not isinstance(rows, _Rows):
            raise self._unknown(expression)
        return rows

    def _item(self, expression: Expression, owner: Any, key: Any) -> Any:
        if isinstance(owner, _Rows) and isinstance(key, _Position):
            return owner.item
        if isinstance(owner, _Made) and owner.order and isinstance(key, _Position):
            return _Place(owner)
        at: Any = key.value if isinstance(key, _Known) else None
        of_samples = isinstance(owner, _Rows) and owner.kind is not object and isinstance(owner.item, _Parts | _Leaf)
        if of_samples and (isinstance(key, _Place) or type(at) is int):
            return self._picked(owner.item, key.order if isinstance(key, _Place) else None, expression)
        if isinstance(owner, _Parts) and type(at) in (int, str) and owner.kind is not object:
            if owner.kind is not dict and type(at) is int and at < 0:
                at += len(owner.items)
            if at in owner.items:
                return owner.items[at]
        if isinstance(owner, _Shape) and type(at) is int:
            return self.extent(owner.of, at, expression)
        if isinstance(owner, _Made) or (isinstance(owner, _Rows) and isinstance(owner.item, _Number)):
            return self.done(operator.getitem, expression, (expression.owner, expression.key))  # type: ignore[attr-defined]
        raise self._unknown(expression)

    def _listed(self, kind: type, items: dict[Any, Expression]) -> _Parts:
        values = {name: self.value(each) for name, each in items.items()}
        for name, value in values.items():
            if getattr(value, "kind", None) is object:
                raise UnreadableError("keeps an iterator", items[name])
        return _Parts(kind, values)

    def _display(self, expression: Expression, kind: type, items: tuple[Expression, ...]) -> Any:
        if kind is slice:
            raise self._unknown(expression)
        if not any(isinstance(each, Spread) for each in items):
            return self._listed(kind, dict(enumerate(items)))
        # Numbers, some of which are the same for all batches.
        parts: list[Callable[[_Columns], Any]] = []
        for each in items:
            if isinstance(each, Spread):
                self.rows(each.owner)
                value = self.value(each.item)
                if not isinstance(value, _Number):
                    raise self._unknown(expression)
                parts.append(value.each)
            else:
                made = self.made(each)
                parts.append(lambda columns, made=made: [made(columns)])  # type: ignore[misc]
        return _Made(lambda columns: kind(number for part in parts for number in part(columns)))

    def _maker(self, value: Any, expression: Expression) -> Callable[[_Columns], Any]:
        match value:
            case _Fresh():
                return lambda columns: _set(value, value.make(columns))
            case _Made(make=make):
                return make
            case _Known(value=known):
                several = type(known) in (list, tuple)
                if type(known) is not torch.Tensor and (
                    not several or all(type(each) in (*_CONSTANTS, slice) for each in known)
                ):
                    return lambda columns: type(known)(known) if several else known
            case _Parts(kind=kind, items=items) if kind is not object:
                makes = {name: (each, self._maker(each, expression)) for name, each in items.items()}
                if kind is dict:
                    return lambda columns: {name: columns.once(*make) for name, make in makes.items()}
                return lambda columns: kind(columns.once(*make) for make in makes.values())
            case _Rows(item=_Number(each=each), kind=kind) if kind is not object:
                return lambda columns: kind(each(columns))
            case _Rows(item=_Leaf(listed=True) as leaf, kind=kind) if kind is not object:
                return self.of_list(leaf, kind).make
            case _Rows(item=_Leaf() as leaf, kind=kind) if kind is not object and not leaf.dimensions:
                if not leaf.is_tensor:
                    numbers = self.each(leaf, expression)
                    return lambda columns: kind(numbers.each(columns))
        raise UnreadableError(f"gives samples one by one: {expression}", expression)

    def done(
        self, function: Any, expression: Expression, arguments: tuple[Expression, ...], options: Any = ()
    ) -> _Made:
        """What a function makes of a batch's values: itself does so."""
        if not all(self._of_batch(each) for each in (*arguments, *dict(options).values())):
            raise self._unknown(expression)
        makes = list(map(self.made, arguments))
        named = {name: self.made(each) for name, each in dict(options).items()}
        return _Made(
            lambda columns: function(
                *(make(columns) for make in makes), **{name: make(columns) for name, make in named.items()}
            )
        )

    def _of_batch(self, expression: Expression) -> bool:
        """Whether a value is one of the whole batch, not of a sample in it, and on the CPU."""
        value = self.value(expression)
        if isinstance(value, _Known) and type(value.value) in (str, torch.device):
            return str(value.value) == "cpu"
        return not isinstance(value, _Leaf | _Same | _Number | _Scalar | _Position | _Shape | _Picked | _Place)

    def _column(self, leaf: _Leaf, layout: RowLayout) -> Callable[[_Columns], Any]:
        number = self._layouts.setdefault((leaf, layout), len(self._layouts))
        return lambda columns: columns[number]

    def tensor(self, leaf: _Leaf, layout: RowLayout, *, ordered: bool = False) -> _Made:
        """The tensor of a column: each that is made is another. `ordered`: its rows are put in another order."""
        column = self._column(leaf, layout)
        number = self._layouts[leaf, layout]
        again = number in self._given
        if number in self._ordered or (again and ordered):
            raise UnreadableError("uses rows in several orders")
        if ordered:
            self._ordered.add(number)
        self._given.add(number)

        def make(columns: _Columns) -> Any:
            whole = column(columns)
            whole = whole[0] if type(whole) is tuple else whole
            return whole.clone() if again else whole

        return _Made(make)

    def of_list(self, leaf: _Leaf, function: Callable[[list[Any]], Any]) -> _Made:
        """What a function makes of a list with each sample's value."""
        if leaf.front or leaf.back:
            raise UnreadableError("puts items beside values that Python makes")
        column = self._column(replace(leaf, row=False), STACKED)
        if leaf.row:
            return _Made(lambda columns: function([each.unsqueeze(0) for each in column(columns)]))
        return _Made(lambda columns: function([*column(columns)]))

    def each(self, leaf: _Leaf, expression: Expression) -> _Number:
        """A field of numbers."""
        number = leaf.is_tensor and not leaf.dimensions and not leaf.sample.is_complex()
        if type(leaf.sample) not in (int, float, bool) and not number:
            raise self._unknown(expression)
        if leaf.listed:
            of_list = self.of_list(leaf, list if not number else lambda values: [each.item() for each in values])
            return _Number(of_list.make)
        column = self._column(leaf, STACKED)
        return _Number(lambda columns: column(columns).tolist())

    def length(self, leaf: _Leaf) -> _Number:
        """The lengths of a field: with what is made of its rows, if anything is."""
        if leaf.row:
            raise UnreadableError("uses the length of a row of one")
        if leaf.listed:
            return _Number(self.of_list(leaf, lambda values: list(map(len, values))).make)
        self._measured.setdefault(leaf, None)

        def each(columns: _Columns) -> list[Any]:
            layout, number = self._measured[leaf]  # type: ignore[misc] # `laid` has found one
            _, beside = columns[number]
            lengths: list[Any] = (beside if isinstance(layout, PadRows) else beside.diff()).tolist()
            return lengths

        return _Number(each)

    def extent(self, of: _Leaf | _Picked, at: int, expression: Expression) -> _Number | _Known:
        """An extent of a field."""
        leaf, order = (of.leaf, of.order) if isinstance(of, _Picked) else (of, None)
        if not leaf.dimensions or (isinstance(of, _Picked) and (leaf.listed or leaf.row)):
            raise self._unknown(expression)
        place = at + leaf.dimensions if at < 0 else at
        if place == (leaf.axis or 0) and not (isinstance(of, _Picked) and order is None):
            if leaf.row:
                raise UnreadableError("uses the length of a row of one")
            whole = self.length(leaf)
            if order is None:
                return replace(whole, of=(leaf, None))
            return _Number(
                lambda columns: (lengths := whole.each(columns)) and [lengths[n] for n in order.make(columns).tolist()],
                (leaf, order),
            )
        if not self._exact or not 0 <= place < leaf.dimensions or place == leaf.axis or leaf.row:
            raise self._unknown(expression)
        return _Known(leaf.sample.shape[place])

    def _picked(self, item: Any, order: _Made | None, expression: Expression) -> Any:
        if isinstance(item, _Parts) and item.kind is not object:
            return _Parts(item.kind, {name: self._picked(each, order, expression) for name, each in item.items.items()})
        if isinstance(item, _Leaf):
            return _Picked(item, order)
        raise self._unknown(expression)

    def count(self, expression: Expression) -> _Made:
        """How many samples there are, as the lengths of a field show."""
        leaves = _leaves(self._batch.item)
        leaf = next((each for each in leaves if each.dimensions and not each.listed), None)
        if leaf is None:
            raise self._unknown(expression)
        lengths = self.length(leaf)
        return _Made(lambda columns: len(lengths.each(columns)))

    def padded(self, same: _Same, first: bool, value: Any) -> _Made:
        """pad_sequence of tensors that are each as long as a field."""
        lengths = self.length(same.like)
        kept = torch.full((1,), value, dtype=same.dtype)

        def make(columns: _Columns) -> Any:
            each = torch.tensor(lengths.each(columns))
            inside = torch.arange(int(each.max())) < each[:, None]
            whole = torch.where(inside, torch.full((1,), same.number, dtype=same.dtype), kept)
            return whole if first else whole.t().clone(memory_format=torch.contiguous_format)

        return _Made(make)

    def _filled(self, expression: Filled) -> _Fresh:
        """A tensor that a loop fills with rows, or with numbers."""
        base, item = self.value(expression.of), self.value(expression.item)
        if not isinstance(base, _Fresh):
            raise self._unknown(expression)
        if expression.owner == NONE:
            value = item.value if isinstance(item, _Known) else None
            if type(value) not in (int, float, bool):
                raise self._unknown(expression)
            return replace(base, value=value, fill=True)
        self.rows(expression.owner)
        key = expression.key
        first, *others = key.items if isinstance(key, Display) and key.kind is tuple else (key,)
        if not isinstance(self.value(first), _Position):
            raise self._unknown(expression)
        slices = [self._slice(each, expression) for each in others]
        if isinstance(item, _Leaf) and not item.dimensions:
            item = self.each(item, expression)
        if isinstance(item, _Leaf | _Picked):
            return self._filled_with_rows(base, item, slices, expression)
        if not isinstance(item, _Number) and not (isinstance(item, _Known) and type(item.value) in (int, float, bool)):
            raise self._unknown(expression)
        if base.value is None and slices:
            raise UnreadableError("sets a part of what was not set before", expression)
        count, parts = self.count(expression), [*slices, (item, None)]

        def make(columns: _Columns) -> Any:
            whole, samples = _set(base, base.make(columns)), range(count.make(columns))
            columns_of = [[_numbers(end, columns, len(samples)) for end in part] for part in parts]
            (items, _), sides = columns_of.pop(), columns_of
            plain = whole.dtype in _PLAIN and all(type(each) is int and abs(each) < _SMALL for each in items)
            fits = whole.ndim == 1 + len(sides) and len(whole) >= len(samples)
            into = whole.numpy() if plain and fits else whole  # numpy does the same, sooner
            for n in samples:
                into[(n, *(slice(low[n], high[n]) for low, high in sides))] = items[n]
            return whole

        return replace(base, make=make, value=None, fill=False)

    def _slice(self, key: Expression, expression: Expression) -> tuple[Any, Any]:
        """Where a slice begins and ends: each a number for all samples, one for each, or nothing."""
        if not isinstance(key, Display) or key.kind is not slice or len(key.items) != 2:
            raise self._unknown(expression)
        low, high = map(self.value, key.items)
        if not all(isinstance(each, _Number) or _is_end(each) for each in (low, high)):
            raise self._unknown(expression)
        return low, high

    def _filled_with_rows(
        self, base: _Fresh, item: _Leaf | _Picked, slices: list[tuple[Any, Any]], expression: Expression
    ) -> _Fresh:
        """The same with each sample's field, up to where it ends: it is what pads them, if that is as large."""
        leaf, order = (item.leaf, item.order) if isinstance(item, _Picked) else (item, None)
        axis, dimensions = leaf.axis, leaf.dimensions
        known = self._exact and leaf.is_tensor and not leaf.listed and not leaf.row and not (leaf.front or leaf.back)
        if not known or axis not in (0, dimensions - 1) or (isinstance(item, _Picked) and order is None):
            raise self._unknown(expression)
        assert axis is not None
        if axis >= len(slices) or len(slices) > dimensions:
            raise self._unknown(expression)
        for n, (low, high) in enumerate(slices):
            begins = isinstance(low, _Known) and low.value in (None, 0)
            ends = isinstance(high, _Number) and high.of == (leaf, order) if n == axis else high == _Known(None)
            if not begins or not ends:
                raise self._unknown(expression)
        if base.value is None:
            raise UnreadableError("puts rows into what was not set before", expression)
        kept = torch.tensor(base.value, dtype=leaf.sample.dtype)
        if kept.to(base.dtype) != torch.tensor(base.value, dtype=base.dtype):
            raise UnreadableError(f"pads {leaf.sample.dtype} with {base.value}", expression)
        value = padding("a tensor", base.value, str(leaf.sample.dtype).removeprefix("torch."))
        extents = () if axis == 0 else tuple(-1 if n == axis else extent for n, extent in enumerate(leaf.sample.shape))
        layout = PadRows(True, value, 1, False, extents)
        padded, lengths = self.tensor(leaf, layout, ordered=order is not None), self.length(leaf)

        def make(columns: _Columns) -> Any:
            rows, whole = padded.make(columns), base.make(columns)
            numbers = lengths.each(columns)
            if order is not None:
                places = order.make(columns).tolist()
                _put_in_order(rows, places)
                numbers = [numbers[n] for n in places]
            if whole.shape == rows.shape:
                return rows.to(whole.dtype)
            whole = _set(base, whole)
            longest, along = rows.shape[axis + 1], [*range(1, rows.ndim)]
            fits = whole.ndim == rows.ndim and all(
                whole.shape[n] >= longest if n == axis + 1 else whole.shape[n] == rows.shape[n] for n in along
            )
            if fits and len(whole) >= len(rows):
                whole[: len(rows)].narrow(axis + 1, 0, longest).copy_(rows)
                return whole
            for n, length in enumerate(numbers):  # which may raise what the code raises
                whole[(n, *[slice(None)] * axis, slice(length))] = rows[n].narrow(axis, 0, length)
            return whole

        return replace(base, make=make, value=None, fill=False)

    def pays_from(self) -> int:
        """So many samples a batch are put together sooner by Go."""
        if any(leaf.front or leaf.back for leaf, _ in self._layouts):
            return PAYS_FROM["beside"]
        joined = any(layout is not STACKED for _, layout in self._layouts)
        if any(leaf.is_list for leaf in _leaves(self._batch.item)):
            return PAYS_FROM["lists"]
        return PAYS_FROM["joined" if joined else "stacked"]

    def measure(self) -> None:
        """Finds where the lengths of rows come from."""
        for leaf in self._measured:
            fits = [
                (layout, n) for (other, layout), n in self._layouts.items() if other == leaf and layout is not STACKED
            ]
            if not fits:
                self._column(leaf, _JOINED)
                fits = [(_JOINED, self._layouts[leaf, _JOINED])]
            self._measured[leaf] = fits[0]

    def _method(self, expression: Call, owner: Expression, name: str) -> Any:
        value = self.value(owner)
        known = [self.value(each) for each in expression.arguments]
        values = [each.value for each in known if isinstance(each, _Known) and type(each.value) is int]
        plain = len(values) == len(known) and not expression.options
        if isinstance(value, _Picked) and name == "size" and plain and len(values) == 1:
            return self.extent(value, values[0], expression)
        if isinstance(value, _Leaf) and not value.is_list:
            if name == "size" and plain and value.dimensions and len(values) == 1:
                return self.extent(value, values[0], expression)
            if name == "size" and value.dimensions and not known and not expression.options:
                return _Shape(value)
            if name == "numel" and plain and value.is_tensor and value.dimensions == 1 and not known:
                return self.length(value)
            if name == "item" and plain and not known and value.is_tensor:
                return self.each(value, expression)
            if name == "numpy" and plain and not known and value.is_tensor and value.dimensions:
                return self._as_array(value)
            if name == "unsqueeze" and values == [0] and plain and value.is_tensor and not value.row:
                return replace(value, row=True)
        if isinstance(value, _Made) and name in _METHODS and (name != "sum" or _counts(owner)):
            return self.done(
                lambda whole, *given, **options: getattr(whole, name)(*given, **options),
                expression,
                (owner, *expression.arguments),
                expression.options,
            )
        raise self._unknown(expression)

    def _as_array(self, leaf: _Leaf) -> _Leaf:
        """tensor.numpy(): of no use for tensors that numpy does not know."""
        array = leaf.sample.numpy()
        if leaf.row or leaf.front or leaf.back or is_channels_last(array.shape, array.strides):
            raise UnreadableError("makes an array of what was put together")
        return replace(leaf, sample=array)

    def _call(
        self, expression: Call, function: Any, arguments: tuple[Expression, ...], options: dict[str, Expression]
    ) -> Any:
        rule = next((rule for known, rule in _RULES.items() if function is known), None)
        if rule is not None:
            if type(function) is FunctionType and not is_original(function, "torch"):
                raise UnreadableError(f"calls {expression.function}, which was replaced", expression)
            found = rule(self, expression, arguments, options)
            if found is not None:
                return found
        if any(function is each for each in _CALLS):
            made = self.done(function, expression, arguments, options)
            return replace(made, rows=function in (torch.tensor, torch.as_tensor) and self._numbers_in(arguments))
        raise self._unknown(expression)

    def _numbers_in(self, arguments: tuple[Expression, ...]) -> bool:
        """Whether there is one argument, a number of each sample."""
        value = self.value(arguments[0]) if len(arguments) == 1 else None
        return isinstance(value, _Rows) and isinstance(value.item, _Number)


class _Joined(JaggedRows):
    """torch.cat's, with the places where rows begin."""

    def values(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        return (tuple(tensors),)


_JOINED = _Joined()


def _axis(of: Field) -> int | None:
    """Along which a field's rows differ; None if they do not."""
    if not of.ragged:
        return None
    return of.extents.index(-1) if of.extents else 0


def _leaves(sample: Any) -> Iterator[_Leaf]:
    """All fields of a sample."""
    if isinstance(sample, _Leaf):
        yield sample
    elif isinstance(sample, _Parts):
        for each in sample.items.values():
            yield from _leaves(each)


def _set(base: _Fresh, whole: Any) -> Any:
    """A tensor that was made, with its value in it."""
    return whole.fill_(base.value) if base.fill else whole


def _put_in_order(rows: torch.Tensor, order: list[int]) -> None:
    """rows[order] in the memory of rows, which are contiguous: in numpy, where no threads are waited for."""
    if not rows.numel():
        return
    items = rows.view(torch.uint8).numpy()
    left = {n for n, place in enumerate(order) if n != place}
    while left:
        first = at = left.pop()
        kept = items[first].copy()
        while order[at] != first:
            items[at] = items[order[at]]
            at = order[at]
            left.remove(at)
        items[at] = kept


# Tensors into which numpy puts an int as torch does, if it is below that.
_PLAIN = {torch.float32, torch.float64, torch.int32, torch.int64}
_SMALL = 1 << 24


def _is_end(value: Any) -> bool:
    return isinstance(value, _Known) and (value.value is None or type(value.value) is int)


def _numbers(of: _Number | _Known | None, columns: _Columns, count: int) -> list[Any]:
    """A number for each sample."""
    if isinstance(of, _Number):
        return of.each(columns)
    return [None if of is None else of.value] * count


def _sample(structure: Structure, sample: Any, listed: Collection[int], ragged: dict[int, int | None]) -> Any:
    """What is known of a sample; `ragged`: along which axes fields differ."""
    if isinstance(structure, dict):
        if type(sample) is dict and list(sample) == list(structure):
            parts = {name: _sample(each, sample[name], listed, ragged) for name, each in structure.items()}
            return _Parts(dict, parts)
    elif isinstance(structure, tuple):
        if type(sample) in (tuple, list) and len(sample) == len(structure):
            several = (_sample(*each, listed, ragged) for each in zip(structure, sample, strict=True))
            return _Parts(type(sample), dict(enumerate(several)))
    else:
        return _Leaf(structure, sample, structure in listed, axis=ragged.get(structure))
    raise UnreadableError(f"gets samples of type {type(sample).__qualname__}")


def _counts(expression: Expression) -> bool:
    """Whether a value is of integers, or of bool: sums of floats depend on how many threads make them."""
    match expression:
        case Binary(operator=name):
            return name in _COMPARISONS
        case Call(function=Attribute(name=name)):
            return name in ("bool", "eq", "ge", "gt", "int", "le", "long", "lt", "ne")
    return False


# What is made of a value for each sample. A rule gives None for values that it is not about.

_Rule = Callable[[_Compiler, Call, tuple[Expression, ...], dict[str, Expression]], Any]


def _bound(
    compiler: _Compiler, names: tuple[str, ...], arguments: tuple[Expression, ...], options: dict[str, Expression]
) -> tuple[Any, dict[str, Any]]:
    """The rows that a function is called with, and its other arguments, which are the same for all batches."""
    given = dict(zip(names, arguments, strict=False)) | options
    if len(arguments) > len(names) or names[0] not in given:
        return None, {}
    values = {name: compiler.value(each) for name, each in given.items()}
    rows = values.pop(names[0])
    known = {name: each.value for name, each in values.items() if isinstance(each, _Known)}
    return (rows.item if isinstance(rows, _Rows) and len(known) == len(values) else None), known


def _stack(compiler: _Compiler, call: Call, arguments: Any, options: Any) -> Any:
    item, given = _bound(compiler, ("tensors", "dim"), arguments, options)
    if given.pop("dim", 0) != 0 or given:
        return None
    return _stacked_rows(compiler, item, call)


def _stacked_rows(compiler: _Compiler, item: Any, call: Expression) -> Any:
    if isinstance(item, _Scalar):
        return _Made(lambda columns: torch.tensor(item.number.each(columns), **dict(item.options)))
    if isinstance(item, _Leaf) and item.is_tensor and item.listed:
        return compiler.of_list(item, torch.stack)
    if isinstance(item, _Leaf) and item.is_tensor and not item.row:
        _check_order(item.sample, call)
        return compiler.tensor(item, STACKED)
    return None


def _check_order(tensor: torch.Tensor, call: Expression) -> None:
    """Raises UnreadableError if torch.stack and torch.cat keep the order in which a tensor's dimensions lie."""
    if is_channels_last(tensor.shape, tensor.stride()):
        raise UnreadableError(f"puts tensors in channels_last together: {call}", call)


def _cat(compiler: _Compiler, call: Call, arguments: Any, options: Any) -> Any:
    item, given = _bound(compiler, ("tensors", "dim"), arguments, options)
    if isinstance(item, _Leaf) and item.is_tensor and item.listed:
        return compiler.of_list(item, torch.cat) if given.pop("dim", 0) == 0 and not given else None
    if isinstance(item, _Leaf) and item.is_tensor and item.dimensions and given.pop("dim", 0) == 0 and not given:
        _check_order(item.sample[None] if item.row else item.sample, call)
        if item.row:
            return compiler.tensor(replace(item, row=False), STACKED)
        return compiler.tensor(item, _JOINED)
    return _beside(compiler, arguments, options) if item is None else None


def _beside(compiler: _Compiler, arguments: Any, options: Any) -> Any:
    """torch.cat of a row and of items that are the same for all rows."""
    if not arguments or len(arguments) > 2 or not {*options} <= {"dim"}:
        return None
    parts, *dims = map(compiler.value, (*arguments, *options.values()))
    if any(not isinstance(each, _Known) or each.value not in (0, -1) for each in dims) or not isinstance(parts, _Parts):
        return None
    items = list(parts.items.values())
    places = [n for n, each in enumerate(items) if isinstance(each, _Leaf)]
    if len(places) != 1 or not items[places[0]].is_tensor or items[places[0]].sample.ndim != 1 or items[places[0]].row:
        return None
    leaf = items.pop(places[0])
    if leaf.listed:
        return None
    for each in items:
        value = each.value if isinstance(each, _Known) else None
        if type(value) is not torch.Tensor or value.ndim != 1 or value.dtype != leaf.sample.dtype:
            return None
        if value.dtype not in _INTEGERS:
            return None
    sides = [
        tuple(n for each in side for n in each.value.tolist()) for side in (items[: places[0]], items[places[0] :])
    ]
    return replace(leaf, front=sides[0] + leaf.front, back=leaf.back + sides[1])


_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def _pad(compiler: _Compiler, call: Call, arguments: Any, options: Any) -> Any:
    names = ("sequences", "batch_first", "padding_value", "padding_side")
    item, given = _bound(compiler, names, arguments, options)
    same = isinstance(item, _Same)
    if not same and (not isinstance(item, _Leaf) or not item.is_tensor or not item.dimensions or item.row):
        return None
    first, value = given.get("batch_first", False), given.get("padding_value", 0.0)
    if (
        type(first) is not bool
        or type(value) not in (int, float, bool)
        or given.get("padding_side", "right") != "right"
    ):
        return None
    if same:
        return compiler.padded(item, first, value)
    if item.listed:
        return compiler.of_list(item, lambda rows: pad_sequence(rows, first, value))
    dtype = str(item.sample.dtype).removeprefix("torch.")
    return compiler.tensor(item, PadRows(first, padding(str(call.function), value, dtype), 1, False))


def _tensor(compiler: _Compiler, call: Call, arguments: Any, options: Any) -> Any:
    """torch.tensor of a number, of numbers, or of tensors that are numbers."""
    if len(arguments) != 1 or not {*options} <= {"dtype"}:
        return None
    value, given = compiler.value(arguments[0]), {name: compiler.value(each) for name, each in options.items()}
    if not all(isinstance(each, _Known) for each in given.values()):
        return None
    known = {name: each.value for name, each in given.items()}
    if isinstance(value, _Leaf) and not value.dimensions and not value.is_tensor:
        value = compiler.each(value, call)
    if isinstance(value, _Number):
        return _Scalar(value, tuple(known.items()))
    if isinstance(value, _Leaf) and type(value.sample) is np.ndarray and not known and not value.listed:
        if compiler.means(call.function) is not torch.tensor:  # others warn of arrays that cannot be written
            return None
        return replace(value, sample=torch.tensor(value.sample))
    if isinstance(value, _Leaf) and value.is_list and known in ({}, {"dtype": torch.int64}) and not value.listed:
        return value.as_tensor()
    item = value.item if isinstance(value, _Rows) else None
    if isinstance(item, _Leaf) and item.is_tensor and not item.dimensions:
        numbers, dtype = compiler.each(item, call), known.get("dtype") or item.sample.dtype
        if item.sample.is_floating_point() and not dtype.is_floating_point:  # as of Python's numbers, torch does not
            raise UnreadableError(f"makes {dtype} of tensors of {item.sample.dtype}: {call}", call)
        return _Made(lambda columns: torch.tensor(numbers.each(columns), dtype=dtype))
    return None


def _typed(compiler: _Compiler, call: Call, arguments: Any, options: Any) -> Any:
    """torch.LongTensor of numbers, or of a size."""
    value = compiler.value(arguments[0]) if len(arguments) == 1 and not options else None
    if isinstance(value, _Leaf) and value.is_list and not value.listed:
        return value.as_tensor() if compiler.means(call.function) is torch.LongTensor else None
    if isinstance(value, _Rows) and isinstance(value.item, _Number | _Leaf):
        made = compiler.done(compiler.means(call.function), call, arguments)
        return replace(made, rows=isinstance(value.item, _Number))
    if any(isinstance(each, Display) for each in arguments):
        return None  # what is in it
    return _sized(compiler, call, arguments, options)


def _like(compiler: _Compiler, call: Call, arguments: Any, options: Any) -> Any:
    """torch.ones_like and torch.zeros_like of a sequence of numbers."""
    leaf = compiler.value(arguments[0]) if len(arguments) == 1 and {*options} <= {"dtype"} else None
    given = [compiler.value(each) for each in options.values()]
    if not isinstance(leaf, _Leaf) or not leaf.is_tensor or leaf.dimensions != 1:
        return None
    if leaf.listed or leaf.row or leaf.front or leaf.back or not all(isinstance(each, _Known) for each in given):
        return None
    dtype = given[0].value if given else leaf.sample.dtype
    return _Same(leaf, int(compiler.means(call.function) is torch.ones_like), dtype)


def _sized(compiler: _Compiler, call: Call, arguments: Any, options: Any) -> Any:
    """A tensor of a size that the batch has: torch.zeros(len(batch), longest)."""
    if not arguments or not {*options} <= {"dtype"}:
        return None
    inner = arguments[0].items if len(arguments) == 1 and isinstance(arguments[0], Display) else arguments
    function = compiler.means(call.function)
    found = [_size(compiler, each) for each in inner]
    sizes = [each for each in found if each is not None]
    given = {name: compiler.value(each) for name, each in options.items()}
    if len(sizes) < len(found) or not all(isinstance(each, _Known) for each in given.values()):
        return None
    if len(sizes) == 1 and isinstance(compiler.value(inner[0]), _Made) and inner is arguments:
        return None  # it may be what a tensor is made of
    known = {name: each.value for name, each in given.items()}
    like = function(*[1] * len(sizes), **known)
    value = {torch.zeros: 0, torch.ones: 1}.get(function)
    one = inner is not arguments

    def make(columns: _Columns) -> Any:
        size = [each.make(columns) for each in sizes]
        return function(*((size,) if one else size), **known)

    return _Fresh(make, value=value, dtype=like.dtype)


def _size(compiler: _Compiler, expression: Expression) -> _Made | None:
    value = compiler.value(expression)
    if isinstance(expression, Call) and isinstance(value, _Rows) and isinstance(value.item, _Position):
        return compiler.count(expression) if compiler.means(expression.function) is len else None
    if isinstance(value, _Known) and type(value.value) is int:
        return _Made(lambda columns: value.value)
    return value if type(value) is _Made else None


def _sort(compiler: _Compiler, call: Call, arguments: Any, options: Any) -> Any:
    """torch.sort, or torch.argsort, of a number for each sample."""
    value = compiler.value(arguments[0]) if arguments else None
    if not isinstance(value, _Made) or not value.rows:
        return None
    function = compiler.means(call.function)
    whole = compiler.done(function, call, arguments, options)
    if function is torch.argsort:
        return replace(whole, rows=True, order=True)
    # Not the named tuple that it is: it has to be unpacked.
    parts = (
        _Made(lambda columns, n=n: columns.once(whole, whole.make)[n], rows=True, order=n == 1)  # type: ignore[misc]
        for n in range(2)
    )
    return _Parts(object, dict(enumerate(parts)))


def _len(compiler: _Compiler, call: Call, arguments: Any, options: Any) -> Any:
    value = compiler.value(arguments[0]) if len(arguments) == 1 and not options else None
    if isinstance(value, _Picked) or (isinstance(value, _Leaf) and value.dimensions):
        return compiler.extent(value, 0, call)
    if isinstance(value, _Made) and value.rows:
        return _Rows(_Position(), range)
    if isinstance(value, _Rows) and not isinstance(value.item, _Number):
        return _Rows(_Position(), range)  # of which only a range is made
    return None


def _range(compiler: _Compiler, call: Call, arguments: Any, options: Any) -> Any:
    value = compiler.value(arguments[0]) if len(arguments) == 1 and not options else None
    return value if isinstance(value, _Rows) and isinstance(value.item, _Position) else None


def _zip(compiler: _Compiler, call: Call, arguments: Any, options: Any) -> Any:
    if options:
        return None
    if len(arguments) == 1 and isinstance(arguments[0], Spread):
        compiler.rows(arguments[0].owner)
        sample = compiler.value(arguments[0].item)
        if not isinstance(sample, _Parts) or sample.kind is dict:
            return None
        return _Parts(object, {number: _Rows(each, tuple) for number, each in sample.items.items()})
    rows = [compiler.value(each) for each in arguments]
    if not rows or not all(isinstance(each, _Rows) for each in rows):
        return None
    return _Rows(_Parts(tuple, {number: each.item for number, each in enumerate(rows)}), object)


def _enumerate(compiler: _Compiler, call: Call, arguments: Any, options: Any) -> Any:
    value = compiler.value(arguments[0]) if len(arguments) == 1 and not options else None
    return _Rows(_Parts(tuple, {0: _Position(), 1: value.item}), object) if isinstance(value, _Rows) else None


def _kept(kind: type) -> _Rule:
    def rule(compiler: _Compiler, call: Call, arguments: Any, options: Any) -> Any:
        value = compiler.value(arguments[0]) if len(arguments) == 1 and not options else None
        if isinstance(value, _Rows) and not isinstance(value.item, _Position):
            return replace(value, kind=kind)
        return replace(value, kind=kind) if isinstance(value, _Parts) and value.kind is not dict else None

    return rule


def _dict(compiler: _Compiler, call: Call, arguments: Any, options: Any) -> Any:
    return None if arguments else _Parts(dict, {name: compiler.value(each) for name, each in options.items()})


def _default(compiler: _Compiler, call: Call, arguments: Any, options: Any) -> Any:
    item, given = _bound(compiler, ("batch",), arguments, options)
    return None if given else _collated(compiler, item, call)


def _collated(compiler: _Compiler, item: Any, call: Call) -> Any:
    if isinstance(item, _Parts):
        made = {name: _collated(compiler, each, call) for name, each in item.items.items()}
        return None if None in made.values() else _Parts(dict if item.kind is dict else list, made)
    if isinstance(item, _Leaf) and item.listed and item.dimensions > 1:  # their order in memory may not be kept
        raise UnreadableError(f"puts what Python makes together: {call}", call)
    if isinstance(item, _Leaf) and item.listed and not item.row:
        return compiler.of_list(item, default_collate)
    if isinstance(item, _Leaf) and not item.is_tensor and not item.dimensions:
        numbers = compiler.each(item, call)
        dtype = torch.float64 if type(item.sample) is float else None
        return _Made(lambda columns: torch.tensor(numbers.each(columns), dtype=dtype))
    if isinstance(item, _Leaf) and type(item.sample) is np.ndarray:
        array = item.sample
        if is_channels_last(array.shape, array.strides):
            raise UnreadableError(f"puts arrays in channels_last together: {call}", call)
        item = replace(item, sample=torch.tensor(array))
    return _stacked_rows(compiler, item, call)


def _of_arrays(compiler: _Compiler, call: Call, arguments: Any, options: Any) -> Any:
    """np.stack and np.array of arrays."""
    value = compiler.value(arguments[0]) if len(arguments) == 1 and not options else None
    if not isinstance(value, _Rows) or not isinstance(value.item, _Leaf) or type(value.item.sample) is not np.ndarray:
        return None
    if value.item.listed:
        return None
    if compiler.means(call.function) is np.stack and not value.item.sample.flags.c_contiguous:
        raise UnreadableError(f"stacks arrays whose order in memory np.stack keeps: {call}", call)
    whole = compiler.tensor(value.item, STACKED)
    return _Made(lambda columns: whole.make(columns).numpy().copy())


def _number(kind: type) -> _Rule:
    def rule(compiler: _Compiler, call: Call, arguments: Any, options: Any) -> Any:
        value = compiler.value(arguments[0]) if len(arguments) == 1 and not options else None
        if isinstance(value, _Leaf) and not value.dimensions:
            value = compiler.each(value, call)
        if not isinstance(value, _Number):
            return None
        numbers = value
        return _Number(lambda columns: list(map(kind, numbers.each(columns))))

    return rule


_RULES: dict[Any, _Rule] = {
    default_collate: _default,
    dict: _dict,
    enumerate: _enumerate,
    float: _number(float),
    int: _number(int),
    len: _len,
    list: _kept(list),
    np.array: _of_arrays,
    np.stack: _of_arrays,
    pad_sequence: _pad,
    range: _range,
    torch.FloatTensor: _typed,
    torch.IntTensor: _typed,
    torch.LongTensor: _typed,
    torch.argsort: _sort,
    torch.as_tensor: _tensor,
    torch.cat: _cat,
    torch.concat: _cat,
    torch.empty: _sized,
    torch.ones: _sized,
    torch.ones_like: _like,
    torch.sort: _sort,
    torch.stack: _stack,
    torch.tensor: _tensor,
    torch.zeros: _sized,
    torch.zeros_like: _like,
    tuple: _kept(tuple),
    zip: _zip,
}

# What is called with values of a whole batch, or with constants: it draws nothing, and changes nothing.
_CALLS = {
    functional.one_hot, len, max, min, np.array, np.asarray, np.cumsum, sum, torch.arange, torch.as_tensor,
    torch.cumsum, torch.diff,
    torch.eq, torch.flatten, torch.from_numpy, torch.ne, torch.permute, torch.tensor, torch.transpose, torch.unsqueeze,
}  # fmt: skip

# Of lists of constants.
_LISTED = (torch.FloatTensor, torch.IntTensor, torch.LongTensor)

# Methods of such values; the same is true of them.
_METHODS = {
    "bool", "clone", "contiguous", "cumsum", "diff", "double", "eq", "flatten", "float", "ge", "gt", "half", "int",
    "le", "long", "lt", "movedim", "ne", "permute", "reshape", "size", "squeeze", "sum", "t", "to", "tolist",
    "transpose", "unsqueeze", "view",
}  # fmt: skip

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "!=": operator.ne, "==": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    **_COMPARISONS,
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
}  # fmt: skip
