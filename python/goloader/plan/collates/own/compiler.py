"""The code of a collate_fn, followed for samples of one structure: which rows the core puts together, and the rest."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np
import torch

from ...bytecode import (
    Attribute,
    Batch,
    Binary,
    Call,
    Display,
    Expression,
    Filled,
    Item,
    Mapping,
    Member,
    Part,
    Sorted,
    Spread,
    Unary,
    UnreadableError,
    parts_of,
)
from ...row_layouts import STACKED, PadRows, RowLayout, TextRows
from ...rows import Field
from ...trust.originals import is_original
from ..collation import is_channels_last, stacked
from .code import CollateCode
from .ended import Ended, Repeated, Rest, ended, lacks, repeated
from .filled import filled, with_value
from .rules import CALLS, CASTS, JOINED, LISTED, METHODS, OPERATORS, RULES, counts
from .values import (
    Columns,
    Fresh,
    Head,
    Known,
    Leaf,
    Made,
    Number,
    Parts,
    Picked,
    Place,
    Position,
    Rows,
    Same,
    Scalar,
    Shape,
    leaves,
)

# Samples a batch from which Go is faster than torch in one process, by what is done with their fields: a crossing takes
# 50 us, and rows of a list are each looked at before a batch, as a user may have changed them.
PAYS_FROM = {"stacked": 24, "joined": 96, "beside": 8, "lists": 8}


# What may be the same for all batches: nothing that can change while it stays the same object.
_CONSTANTS = (int, float, bool, str, type(None), type(...), torch.dtype, torch.device)


_TYPES = (bool, float, int, np.float32, np.float64, np.int32, np.int64)


class Compiler:
    """Follows the code of a collate_fn for samples of one structure."""

    def __init__(self, code: CollateCode, sample: Any, *, exact: bool) -> None:
        """`exact`: the extents of samples that do not differ are those of this one."""
        self._code, self.exact = code, exact
        # By the expression itself: one that is spelt alike makes another tensor.
        self._values: dict[int, Any] = {}
        self._layouts: dict[tuple[Leaf, RowLayout], int] = {}
        self._given: set[int] = set()
        self._ordered: set[int] = set()
        self._measured: dict[Leaf, tuple[RowLayout, int] | None] = {}
        self._batch = Rows(sample)

    def check_lists(self, fields: Sequence[Field]) -> None:
        """Raises UnreadableError for lists of which torch makes tensors of several dtypes: of empty ones."""
        lists = {leaf.number for leaf in leaves(self._batch.item) if leaf.is_list}
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

    def made(self, expression: Expression) -> Callable[[Columns], Any]:
        """How a value of the whole batch is made. Raises UnreadableError if it is none."""
        value = self.value(expression)
        make = self._maker(value, expression)
        return lambda columns: columns.once(value, make)

    def numbers(self) -> list[int]:
        """The fields that are used. Raises UnreadableError if they are not all stacked."""
        if any(layout is not STACKED for _, layout in self._layouts):
            raise UnreadableError("puts images together as sequences")
        return [leaf.number for leaf, _ in self._layouts]

    def listed(self) -> dict[int, int]:
        """Of columns that are lists of each sample's value, their places among all, and which fields they are."""
        return {number: leaf.number for (leaf, _), number in self._layouts.items() if leaf.listed}

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

    def unknown(self, expression: Expression) -> UnreadableError:
        return UnreadableError(f"does more than is understood: {expression}", expression)

    def _compiled(self, expression: Expression) -> Any:
        if not expression.has(Batch):
            return self._constant(expression)
        match expression:
            case Batch() | Sorted():
                return self._batch
            case Member(owner=owner):
                return self.rows(owner).item
            case Part(owner=owner, number=number, count=count):
                parts = self.value(owner)
                if isinstance(parts, Parts) and parts.kind is not dict and len(parts.items) == count:
                    return parts.items[number]
            case Item(owner=owner, key=key):
                whole = self.value(owner)
                if isinstance(whole, Leaf | Picked):
                    return self._head(expression, whole, key)
                return self._item(expression, whole, self.value(key))
            case Display(kind=kind, items=(Spread(item=item, owner=owner),)):
                whole = self.value(owner)
                if isinstance(whole, Parts) and whole.kind is not dict:
                    return Parts(kind, {n: self._with(owner, each, item) for n, each in whole.items.items()})
                self.rows(owner)
                return Rows(self.value(item), kind)
            case Display(kind=kind, items=items):
                return self._display(expression, kind, items)
            case Mapping(names=names, items=items):
                return self._listed(dict, dict(zip(names, items, strict=True)))
            case Filled():
                return filled(self, expression)
            case Attribute(owner=owner, name="shape"):
                leaf = self.value(owner)
                if isinstance(leaf, Picked | Head) or (isinstance(leaf, Leaf) and leaf.dimensions and not leaf.is_list):
                    return Shape(leaf)
            case Attribute(owner=owner, name="device") if isinstance(whole := self.value(owner), Made):
                return Made(lambda columns: columns.once(whole, whole.make).device)
            case Binary(operator=name, left=left, right=right) if name in OPERATORS:
                sides = list(map(self.value, (left, right)))
                found = {"-": lacks, "*": repeated, "+": ended}.get(name, lambda *sides: None)(*sides)
                if found is not None:
                    return found
                for one, other in (sides, sides[::-1]):
                    if isinstance(one, Number | Leaf) and isinstance(other, Known):
                        return self._reckoned(OPERATORS[name], one, other.value, expression, one is sides[0])
                return self.done(OPERATORS[name], expression, (left, right))
            case Unary(operator="-", operand=operand) if isinstance(numbers := self.value(operand), Number):
                return Number(lambda columns: [-each for each in numbers.each(columns)])
            case Unary(operator=name, operand=operand):
                return self.done({"-": operator.neg, "~": operator.invert}[name], expression, (operand,))
            case Call(function=function, arguments=arguments, options=options):
                if function.has(Batch):
                    if isinstance(function, Attribute):
                        return self._method(expression, function.owner, function.name)
                else:
                    return self._call(expression, self.means(function), arguments, dict(options))
        raise self.unknown(expression)

    def _constant(self, expression: Expression) -> Any:
        """Of an expression without the batch."""
        match expression:
            case Call(function=function, arguments=arguments, options=options):
                called = self.means(function)
                if called is torch.device or any(called is each for each in (*CALLS, *LISTED)):
                    values = [self._constant(each).value for each in arguments]
                    return Known(called(*values, **{name: self._constant(each).value for name, each in options}))
            case Display(kind=kind, items=items):
                values = [self._constant(each).value for each in items]
                return Known(slice(*values) if kind is slice else kind(values))
            case Unary(operator="-", operand=operand):
                return Known(-self._constant(operand).value)
            case Mapping() | Spread() | Member():
                pass
            case _:
                known = self.means(expression)
                if any(type(known) is kind for kind in _CONSTANTS) or any(known is kind for kind in _TYPES):
                    return Known(known)
        raise self.unknown(expression)

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

    def _reckoned(self, function: Any, numbers: Any, known: Any, expression: Expression, first: bool) -> Number:
        """Arithmetic with a number of each sample."""
        if isinstance(numbers, Leaf):
            if type(numbers.sample) not in (int, float, bool):
                raise self.unknown(expression)
            numbers = self.each(numbers, expression)
        if type(known) not in (int, float, bool):
            raise self.unknown(expression)
        if first:
            return Number(lambda columns: [function(each, known) for each in numbers.each(columns)])
        return Number(lambda columns: [function(known, each) for each in numbers.each(columns)])

    def rows(self, expression: Expression) -> Rows:
        rows = self.value(expression)
        if not isinstance(rows, Rows):
            raise self.unknown(expression)
        return rows

    def _item(self, expression: Expression, owner: Any, key: Any) -> Any:
        if isinstance(owner, Rows) and isinstance(key, Position):
            return owner.item
        if isinstance(owner, Made) and owner.order and isinstance(key, Position):
            return Place(owner)
        at: Any = key.value if isinstance(key, Known) else None
        of_samples = isinstance(owner, Rows) and owner.kind is not object and isinstance(owner.item, Parts | Leaf)
        if of_samples and (isinstance(key, Place) or type(at) is int):
            return self._picked(owner.item, key.order if isinstance(key, Place) else None, expression)
        if isinstance(owner, Parts) and type(at) in (int, str) and owner.kind is not object:
            if owner.kind is not dict and type(at) is int and at < 0:
                at += len(owner.items)
            if at in owner.items:
                return owner.items[at]
        if isinstance(owner, Shape) and type(at) is int:
            return self.extent(owner.of, at, expression)
        if isinstance(owner, Made) or (isinstance(owner, Rows) and isinstance(owner.item, Number)):
            return self.done(operator.getitem, expression, (expression.owner, expression.key))  # type: ignore[attr-defined]
        raise self.unknown(expression)

    def _head(self, expression: Expression, of: Leaf | Picked, key: Expression) -> Head:
        """The first items of a field: field[:, :end], where the axis along which it differs is the second one."""
        axis = (of.leaf if isinstance(of, Picked) else of).axis
        keys = key.items if isinstance(key, Display) and key.kind is tuple else (key,)
        if axis is None or axis >= len(keys):
            raise self.unknown(expression)
        ends = [self.end(each, expression) for each in keys]
        extent = self.extent(of, axis, expression)
        end = ends.pop(axis)
        assert isinstance(extent, Number)
        if isinstance(end, Known) and type(end.value) is int:
            end = self.at_most(extent, end.value)
        if not isinstance(end, Number) or end.of != extent.of or any(each != Known(None) for each in ends):
            raise self.unknown(expression)
        return Head(of, end)

    def end(self, key: Expression, expression: Expression) -> Any:
        """Where a slice that begins with the first item ends. Raises UnreadableError for anything else."""
        if not isinstance(key, Display) or key.kind is not slice or len(key.items) != 2:
            raise self.unknown(expression)
        begin, end = map(self.value, key.items)
        if not isinstance(begin, Known) or begin.value not in (None, 0):
            raise self.unknown(expression)
        return end

    def at_most(self, numbers: Number, most: int) -> Number | None:
        """min(number, most) of each; None for what may be below 0."""
        if type(most) is not int or most < 0:
            return None
        least = most if numbers.most is None else min(most, numbers.most)
        return Number(lambda columns: [min(each, most) for each in numbers.each(columns)], numbers.of, least)

    def _listed(self, kind: type, items: dict[Any, Expression]) -> Parts:
        values = {name: self.value(each) for name, each in items.items()}
        for name, value in values.items():
            if getattr(value, "kind", None) is object:
                raise UnreadableError("keeps an iterator", items[name])
        return Parts(kind, values)

    def _display(self, expression: Expression, kind: type, items: tuple[Expression, ...]) -> Any:
        if kind is slice:
            raise self.unknown(expression)
        if not any(isinstance(each, Spread) for each in items):
            return self._listed(kind, dict(enumerate(items)))
        # Numbers, some of which are the same for all batches.
        parts: list[Callable[[Columns], Any]] = []
        for each in items:
            if isinstance(each, Spread):
                self.rows(each.owner)
                value = self.value(each.item)
                if not isinstance(value, Number):
                    raise self.unknown(expression)
                parts.append(value.each)
            else:
                made = self.made(each)
                parts.append(lambda columns, made=made: [made(columns)])  # type: ignore[misc]
        return Made(lambda columns: kind(number for part in parts for number in part(columns)))

    def _maker(self, value: Any, expression: Expression) -> Callable[[Columns], Any]:
        match value:
            case Fresh():
                return lambda columns: with_value(value, value.make(columns))
            case Made(make=make):
                return make
            case Known(value=known):
                several = type(known) in (list, tuple)
                if type(known) is not torch.Tensor and (
                    not several or all(type(each) in (*_CONSTANTS, slice) for each in known)
                ):
                    return lambda columns: type(known)(known) if several else known
            case Parts(kind=kind, items=items) if kind is not object:
                makes = {name: (each, self._maker(each, expression)) for name, each in items.items()}
                if kind is dict:
                    return lambda columns: {name: columns.once(*make) for name, make in makes.items()}
                return lambda columns: kind(columns.once(*make) for make in makes.values())
            case Rows(item=Number(each=each), kind=kind) if kind is not object:
                return lambda columns: kind(each(columns))
            case Rows(item=Leaf(listed=True) as leaf, kind=kind) if kind is not object:
                return self.of_list(leaf, kind).make
            case Rows(item=Leaf() as leaf, kind=kind) if kind is not object and not leaf.dimensions:
                if not leaf.is_tensor:
                    numbers = self.each(leaf, expression)
                    return lambda columns: kind(numbers.each(columns))
        raise UnreadableError(f"gives samples one by one: {expression}", expression)

    def done(self, function: Any, expression: Expression, arguments: tuple[Expression, ...], options: Any = ()) -> Made:
        """What a function makes of a batch's values: itself does so."""
        if not all(self._of_batch(each) for each in (*arguments, *dict(options).values())):
            raise self.unknown(expression)
        makes = list(map(self.made, arguments))
        named = {name: self.made(each) for name, each in dict(options).items()}
        return Made(
            lambda columns: function(
                *(make(columns) for make in makes), **{name: make(columns) for name, make in named.items()}
            )
        )

    def _of_batch(self, expression: Expression) -> bool:
        """Whether a value is one of the whole batch, not of a sample in it, and on the CPU."""
        value = self.value(expression)
        if isinstance(value, Known) and type(value.value) in (str, torch.device):
            return str(value.value) == "cpu"
        return not isinstance(
            value, Leaf | Same | Number | Scalar | Position | Shape | Picked | Head | Place | Rest | Repeated | Ended
        )

    def _column(self, leaf: Leaf, layout: RowLayout) -> Callable[[Columns], Any]:
        number = self._layouts.setdefault((leaf, layout), len(self._layouts))
        return lambda columns: columns[number]

    def tensor(self, leaf: Leaf, layout: RowLayout, *, ordered: bool = False) -> Made:
        """The tensor of a column: each that is made is another. `ordered`: its rows are put in another order."""
        column = self._column(leaf, layout)
        number = self._layouts[leaf, layout]
        again = number in self._given
        if number in self._ordered or (again and ordered):
            raise UnreadableError("uses rows in several orders")
        if ordered:
            self._ordered.add(number)
        self._given.add(number)

        def make(columns: Columns) -> Any:
            whole = column(columns)
            whole = whole[0] if type(whole) is tuple else whole
            return whole.clone() if again else whole

        return Made(make)

    def of_list(self, leaf: Leaf, function: Callable[[list[Any]], Any]) -> Made:
        """What a function makes of a list with each sample's value."""
        if leaf.front or leaf.back:
            raise UnreadableError("puts items beside values that Python makes")
        column = self._column(replace(leaf, row=False), STACKED)
        if leaf.row:
            return Made(lambda columns: function([each.unsqueeze(0) for each in column(columns)]))
        return Made(lambda columns: function([*column(columns)]))

    def each(self, leaf: Leaf, expression: Expression) -> Number:
        """A field of numbers."""
        number = leaf.is_tensor and not leaf.dimensions and not leaf.sample.is_complex()
        kind = type(leaf.sample)
        if kind not in (int, float, bool, np.int64) and not number:
            raise self.unknown(expression)
        if leaf.listed:
            of_list = self.of_list(leaf, list if not number else lambda values: [each.item() for each in values])
            return Number(of_list.make)
        column = self._column(leaf, STACKED)
        if kind is np.int64:
            return Number(lambda columns: [*column(columns).numpy()])
        return Number(lambda columns: column(columns).tolist())

    def length(self, leaf: Leaf) -> Number:
        """The lengths of a field: with what is made of its rows, if anything is."""
        if leaf.row:
            raise UnreadableError("uses the length of a row of one")
        if leaf.listed:
            return Number(self.of_list(leaf, lambda values: list(map(len, values))).make)
        self._measured.setdefault(leaf, None)

        def each(columns: Columns) -> list[Any]:
            layout, number = self._measured[leaf]  # type: ignore[misc] # `laid` has found one
            _, beside = columns[number]
            lengths: list[Any] = (beside if isinstance(layout, PadRows) else beside.diff()).tolist()
            return lengths

        return Number(each)

    def extent(self, of: Leaf | Picked | Head, at: int, expression: Expression) -> Number | Known:
        """An extent of a field."""
        if isinstance(of, Head):
            whole = self.extent(of.of, at, expression)
            return of.count if isinstance(whole, Number) else whole
        leaf, order = (of.leaf, of.order) if isinstance(of, Picked) else (of, None)
        if not leaf.dimensions or (isinstance(of, Picked) and (leaf.listed or leaf.row)):
            raise self.unknown(expression)
        place = at + leaf.dimensions if at < 0 else at
        if place == (leaf.axis or 0) and not (isinstance(of, Picked) and order is None):
            if leaf.row:
                raise UnreadableError("uses the length of a row of one")
            whole = self.length(leaf)
            if order is None:
                return replace(whole, of=(leaf, None))
            return Number(
                lambda columns: (lengths := whole.each(columns)) and [lengths[n] for n in order.make(columns).tolist()],
                (leaf, order),
            )
        if not self.exact or not 0 <= place < leaf.dimensions or place == leaf.axis or leaf.row:
            raise self.unknown(expression)
        return Known(leaf.sample.shape[place])

    def of_longest_first(self, expression: Expression, picked: Picked) -> Made | None:
        """The length of a field in the first sample, where all are sorted by it, the longest first; None of others."""
        whole, key = expression, expression
        while isinstance(whole, Item | Part):
            whole, key = whole.owner, whole
        if not isinstance(whole, Sorted) or not isinstance(key, Item) or self.value(key.key) != Known(0):
            return None
        number, reverse = self.value(whole.key), self.value(whole.reverse)
        by_length = isinstance(number, Number) and number.of == (picked.leaf, None) and number.most is None
        if not by_length or not isinstance(reverse, Known) or reverse.value is not True:
            return None
        return Made(lambda columns: max(number.each(columns)), longest=picked.leaf)

    def _picked(self, item: Any, order: Made | None, expression: Expression) -> Any:
        if isinstance(item, Parts) and item.kind is not object:
            return Parts(item.kind, {name: self._picked(each, order, expression) for name, each in item.items.items()})
        if isinstance(item, Leaf):
            return Picked(item, order)
        raise self.unknown(expression)

    def count(self, expression: Expression) -> Made:
        """How many samples there are, as the lengths of a field show."""
        fields = leaves(self._batch.item)
        leaf = next((each for each in fields if each.dimensions and not each.listed), None)
        if leaf is None:
            raise self.unknown(expression)
        lengths = self.length(leaf)
        return Made(lambda columns: len(lengths.each(columns)))

    def padded(self, same: Same, first: bool, value: Any) -> Made:
        """pad_sequence of tensors that are each as long as a field."""
        lengths = self.length(same.like)
        kept = torch.full((1,), value, dtype=same.dtype)

        def make(columns: Columns) -> Any:
            each = torch.tensor(lengths.each(columns))
            inside = torch.arange(int(each.max())) < each[:, None]
            whole = torch.where(inside, torch.full((1,), same.number, dtype=same.dtype), kept)
            return whole if first else whole.t().clone(memory_format=torch.contiguous_format)

        return Made(make)

    def pays_from(self) -> int:
        """So many samples a batch are put together sooner by Go."""
        if any(leaf.front or leaf.back for leaf, _ in self._layouts):
            return PAYS_FROM["beside"]
        joined = any(layout is not STACKED for _, layout in self._layouts)
        if any(leaf.is_list for leaf in leaves(self._batch.item)):
            return PAYS_FROM["lists"]
        return PAYS_FROM["joined" if joined else "stacked"]

    def measure(self) -> None:
        """Finds where the lengths of rows come from."""
        for leaf in self._measured:
            fits = [
                (layout, n) for (other, layout), n in self._layouts.items() if other == leaf and layout is not STACKED
            ]
            if not fits:
                self._column(leaf, JOINED)
                fits = [(JOINED, self._layouts[leaf, JOINED])]
            self._measured[leaf] = fits[0]

    def _method(self, expression: Call, owner: Expression, name: str) -> Any:
        value = self.value(owner)
        known = [self.value(each) for each in expression.arguments]
        values = [each.value for each in known if isinstance(each, Known) and type(each.value) is int]
        plain = len(values) == len(known) and not expression.options
        if isinstance(value, Picked | Head) and name == "size" and plain and len(values) == 1:
            return self.extent(value, values[0], expression)
        if isinstance(value, Leaf) and not value.is_list:
            if name == "size" and plain and value.dimensions and len(values) == 1:
                return self.extent(value, values[0], expression)
            if name == "size" and value.dimensions and not known and not expression.options:
                return Shape(value)
            if name == "numel" and plain and value.is_tensor and value.dimensions == 1 and not known:
                return self.length(value)
            if name == "item" and plain and not known and value.is_tensor:
                return self.each(value, expression)
            if name == "numpy" and plain and not known and value.is_tensor and value.dimensions:
                return self._as_array(value)
            if name == "unsqueeze" and values == [0] and plain and value.is_tensor and not value.row:
                return replace(value, row=True)
        if type(value) is Fresh and value.value is not None and name in CASTS and not known and not expression.options:
            return value.cast(CASTS[name])
        if isinstance(value, Made) and name in METHODS and (name != "sum" or counts(owner)):
            return self.done(
                lambda whole, *given, **options: getattr(whole, name)(*given, **options),
                expression,
                (owner, *expression.arguments),
                expression.options,
            )
        raise self.unknown(expression)

    def _as_array(self, leaf: Leaf) -> Leaf:
        """tensor.numpy(): of no use for tensors that numpy does not know."""
        array = leaf.sample.numpy()
        if leaf.row or leaf.front or leaf.back or is_channels_last(array.shape, array.strides):
            raise UnreadableError("makes an array of what was put together")
        return replace(leaf, sample=array)

    def _call(
        self, expression: Call, function: Any, arguments: tuple[Expression, ...], options: dict[str, Expression]
    ) -> Any:
        rule = next((rule for known, rule in RULES.items() if function is known), None)
        if rule is not None:
            if type(function) is FunctionType and not is_original(function, "torch"):
                raise UnreadableError(f"calls {expression.function}, which was replaced", expression)
            found = rule(self, expression, arguments, options)
            if found is not None:
                return found
        if any(function is each for each in CALLS):
            made = self.done(function, expression, arguments, options)
            return replace(made, rows=function in (torch.tensor, torch.as_tensor) and self._numbers_in(arguments))
        raise self.unknown(expression)

    def _numbers_in(self, arguments: tuple[Expression, ...]) -> bool:
        """Whether there is one argument, a number of each sample."""
        value = self.value(arguments[0]) if len(arguments) == 1 else None
        return isinstance(value, Rows) and isinstance(value.item, Number)
