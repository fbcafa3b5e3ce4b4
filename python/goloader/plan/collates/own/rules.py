"""Tables of the functions, methods and signs that a collate_fn may use.

A rule gives None for values that it is not about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import default_collate

from ...bytecode import COMPARISONS, SIGNS, Attribute, Binary, Call, Display, Expression, Spread, UnreadableError
from ...row_layouts import STACKED, JaggedRows, PadRows
from ..collation import is_channels_last, padding
from .ended import Ended, Repeated, Rest, as_tensor, ended, put_together
from .values import Columns, Fresh, Head, Known, Leaf, Made, Number, Parts, Picked, Position, Rows, Same, Scalar

if TYPE_CHECKING:
    from .compiler import Compiler

_Rule = Callable[["Compiler", Call, tuple[Expression, ...], dict[str, Expression]], Any]


class _Joined(JaggedRows):
    """torch.cat's, with the places where rows begin."""

    def values(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        return (tuple(tensors),)


JOINED = _Joined()


def _one(compiler: Compiler, arguments: Any, options: Any) -> Any:
    """The value of the one argument; None where there are others."""
    return compiler.value(arguments[0]) if len(arguments) == 1 and not options else None


def _of_one(rule: Callable[[Compiler, Call, Any], Any]) -> _Rule:
    """A rule for what is called with one argument, whose value it gets."""
    return lambda compiler, call, arguments, options: rule(compiler, call, _one(compiler, arguments, options))


def _bound(
    compiler: Compiler, names: tuple[str, ...], arguments: tuple[Expression, ...], options: dict[str, Expression]
) -> tuple[Any, dict[str, Any]]:
    """The rows that a function is called with, and its other arguments, which are the same for all batches."""
    given = dict(zip(names, arguments, strict=False)) | options
    if len(arguments) > len(names) or names[0] not in given:
        return None, {}
    values = {name: compiler.value(each) for name, each in given.items()}
    rows = values.pop(names[0])
    known = {name: each.value for name, each in values.items() if isinstance(each, Known)}
    return (rows.item if isinstance(rows, Rows) and len(known) == len(values) else None), known


def _stack(compiler: Compiler, call: Call, arguments: Any, options: Any) -> Any:
    item, given = _bound(compiler, ("tensors", "dim"), arguments, options)
    if given.pop("dim", 0) != 0 or given:
        return None
    return _stacked_rows(compiler, item, call)


def _stacked_rows(compiler: Compiler, item: Any, call: Expression) -> Any:
    if isinstance(item, Scalar):
        return Made(lambda columns: torch.tensor(item.number.each(columns), **dict(item.options)))
    if isinstance(item, Ended):
        return put_together(compiler, item, call) if item.end.dtype is not None else None
    if isinstance(item, Leaf) and item.is_tensor and item.listed:
        return compiler.of_list(item, torch.stack)
    if isinstance(item, Leaf) and item.is_tensor and not item.row:
        _check_order(item.sample, call)
        return compiler.tensor(item, STACKED)
    return None


def _check_order(tensor: torch.Tensor, call: Expression) -> None:
    """Raises UnreadableError if torch.stack and torch.cat keep the order in which a tensor's dimensions lie."""
    if is_channels_last(tensor.shape, tensor.stride()):
        raise UnreadableError(f"puts tensors in channels_last together: {call}", call)


def _cat(compiler: Compiler, call: Call, arguments: Any, options: Any) -> Any:
    item, given = _bound(compiler, ("tensors", "dim"), arguments, options)
    if isinstance(item, Leaf) and item.is_tensor and item.listed:
        return compiler.of_list(item, torch.cat) if given.pop("dim", 0) == 0 and not given else None
    if isinstance(item, Leaf) and item.is_tensor and item.dimensions and given.pop("dim", 0) == 0 and not given:
        _check_order(item.sample[None] if item.row else item.sample, call)
        if item.row:
            return compiler.tensor(replace(item, row=False), STACKED)
        return compiler.tensor(item, JOINED)
    return _beside(compiler, arguments, options) if item is None else None


def _beside(compiler: Compiler, arguments: Any, options: Any) -> Any:
    """torch.cat of a row and of items that are the same for all rows."""
    if not arguments or len(arguments) > 2 or not {*options} <= {"dim"}:
        return None
    parts, *dims = map(compiler.value, (*arguments, *options.values()))
    if any(not isinstance(each, Known) or each.value not in (0, -1) for each in dims) or not isinstance(parts, Parts):
        return None
    items = list(parts.items.values())
    if len(items) == 2 and any(isinstance(each, Repeated) for each in items):
        return ended(*items)
    places = [n for n, each in enumerate(items) if isinstance(each, Leaf)]
    if len(places) != 1 or not items[places[0]].is_tensor or items[places[0]].sample.ndim != 1 or items[places[0]].row:
        return None
    leaf = items.pop(places[0])
    if leaf.listed:
        return None
    for each in items:
        value = each.value if isinstance(each, Known) else None
        if type(value) is not torch.Tensor or value.ndim != 1 or value.dtype != leaf.sample.dtype:
            return None
        if value.dtype not in _INTEGERS:
            return None
    sides = [
        tuple(n for each in side for n in each.value.tolist()) for side in (items[: places[0]], items[places[0] :])
    ]
    return replace(leaf, front=sides[0] + leaf.front, back=leaf.back + sides[1])


_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def _pad(compiler: Compiler, call: Call, arguments: Any, options: Any) -> Any:
    names = ("sequences", "batch_first", "padding_value", "padding_side")
    item, given = _bound(compiler, names, arguments, options)
    same = isinstance(item, Same)
    if not same and (not isinstance(item, Leaf) or not item.is_tensor or not item.dimensions or item.row):
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


def _tensor(compiler: Compiler, call: Call, arguments: Any, options: Any) -> Any:
    """torch.tensor of a number, of numbers, or of tensors that are numbers."""
    if len(arguments) != 1 or not {*options} <= {"dtype"}:
        return None
    value, given = compiler.value(arguments[0]), {name: compiler.value(each) for name, each in options.items()}
    if not all(isinstance(each, Known) for each in given.values()):
        return None
    known = {name: each.value for name, each in given.items()}
    if isinstance(value, Ended):
        return as_tensor(value, known.get("dtype"))
    if isinstance(value, Rows) and isinstance(value.item, Ended):
        return put_together(compiler, value.item, call, known.get("dtype")) if value.item.end.dtype is None else None
    if isinstance(value, Leaf) and not value.dimensions and not value.is_tensor:
        value = compiler.each(value, call)
    if isinstance(value, Number):
        return Scalar(value, tuple(known.items()))
    if isinstance(value, Leaf) and type(value.sample) is np.ndarray and not known and not value.listed:
        if compiler.means(call.function) is torch.tensor:
            return replace(value, sample=torch.tensor(value.sample))
        return _as_tensor(value)
    if isinstance(value, Leaf) and value.is_list and known in ({}, {"dtype": torch.int64}) and not value.listed:
        return value.as_tensor()
    item = value.item if isinstance(value, Rows) else None
    if isinstance(item, Leaf) and item.is_tensor and not item.dimensions:
        numbers, dtype = compiler.each(item, call), known.get("dtype") or item.sample.dtype
        if item.sample.is_floating_point() and not dtype.is_floating_point:  # as of Python's numbers, torch does not
            raise UnreadableError(f"makes {dtype} of tensors of {item.sample.dtype}: {call}", call)
        return Made(lambda columns: torch.tensor(numbers.each(columns), dtype=dtype))
    return None


@_of_one
def _from_numpy(compiler: Compiler, call: Call, value: Any) -> Any:
    array = isinstance(value, Leaf) and type(value.sample) is np.ndarray and not value.listed
    return _as_tensor(value) if array else None


def _as_tensor(leaf: Leaf) -> Leaf | None:
    """An array as the tensor that has its memory; None where torch warns, of arrays that cannot be written."""
    return replace(leaf, sample=torch.from_numpy(leaf.sample)) if leaf.sample.flags.writeable else None


def _typed(compiler: Compiler, call: Call, arguments: Any, options: Any) -> Any:
    """torch.LongTensor of numbers, or of a size."""
    value = _one(compiler, arguments, options)
    if isinstance(value, Leaf) and value.is_list and not value.listed:
        return value.as_tensor() if compiler.means(call.function) is torch.LongTensor else None
    if isinstance(value, Rows) and isinstance(value.item, Ended):
        lists, longs = value.item.end.dtype is None, compiler.means(call.function) is torch.LongTensor
        return put_together(compiler, value.item, call, torch.int64) if lists and longs else None
    if isinstance(value, Rows) and isinstance(value.item, Number | Leaf):
        made = compiler.done(compiler.means(call.function), call, arguments)
        return replace(made, rows=isinstance(value.item, Number))
    if any(isinstance(each, Display) for each in arguments):
        return None  # what is in it
    return _sized(compiler, call, arguments, options)


def _like(compiler: Compiler, call: Call, arguments: Any, options: Any) -> Any:
    """torch.ones_like and torch.zeros_like of a sequence of numbers."""
    leaf = compiler.value(arguments[0]) if len(arguments) == 1 and {*options} <= {"dtype"} else None
    given = [compiler.value(each) for each in options.values()]
    if not isinstance(leaf, Leaf) or not leaf.is_tensor or leaf.dimensions != 1:
        return None
    if leaf.listed or leaf.row or leaf.front or leaf.back or not all(isinstance(each, Known) for each in given):
        return None
    dtype = given[0].value if given else leaf.sample.dtype
    return Same(leaf, int(compiler.means(call.function) is torch.ones_like), dtype)


def _sized(compiler: Compiler, call: Call, arguments: Any, options: Any) -> Any:
    """A tensor of a size that the batch has: torch.zeros(len(batch), longest)."""
    if not arguments or not {*options} <= {"dtype"}:
        return None
    value = compiler.value(arguments[0])
    if isinstance(value, Parts) and len(value.items) == 1:
        (value,) = value.items.values()
    if len(arguments) == 1 and isinstance(value, Rest):
        dtype = compiler.value(options["dtype"]) if options else Known(torch.get_default_dtype())
        item = {torch.zeros: 0, torch.ones: 1}.get(compiler.means(call.function))
        return Repeated(item, value, dtype.value) if isinstance(dtype, Known) and item is not None else None
    return _of_size(compiler, compiler.means(call.function), arguments, options)


def _full(compiler: Compiler, call: Call, arguments: Any, options: Any) -> Any:
    """torch.full of such a size."""
    if len(arguments) == 1 and "fill_value" in options:
        arguments, options = (
            (*arguments, options["fill_value"]),
            {n: each for n, each in options.items() if n != "fill_value"},
        )
    if len(arguments) != 2 or not isinstance(arguments[0], Display) or not {*options} <= {"dtype"}:
        return None
    value = compiler.value(arguments[1])
    if not isinstance(value, Known) or type(value.value) not in (int, float, bool):
        return None
    made = torch.full((), value.value).dtype
    dtype = compiler.value(options["dtype"]) if options else Known(made)
    sizes = arguments[0].items
    if len(sizes) == 1 and isinstance(rest := compiler.value(sizes[0]), Rest):
        return Repeated(value.value, rest, dtype.value) if isinstance(dtype, Known) else None
    return _of_size(compiler, torch.full, arguments[:1], options, (value.value,))


def _of_size(
    compiler: Compiler, function: Any, arguments: Any, options: Any, more: tuple[Any, ...] = ()
) -> Fresh | None:
    inner = arguments[0].items if len(arguments) == 1 and isinstance(arguments[0], Display) else arguments
    found = [_size(compiler, each) for each in inner]
    sizes = [each for each in found if each is not None]
    given = {name: compiler.value(each) for name, each in options.items()}
    if len(sizes) < len(found) or not all(isinstance(each, Known) for each in given.values()):
        return None
    if len(sizes) == 1 and isinstance(compiler.value(inner[0]), Made) and inner is arguments:
        return None  # it may be what a tensor is made of
    known = {name: each.value for name, each in given.items()}
    like = function([1] * len(sizes), *more, **known)
    value = more[0] if more else {torch.zeros: 0, torch.ones: 1}.get(function)
    one = inner is not arguments

    def make(columns: Columns) -> Any:
        size = [each.make(columns) for each in sizes]
        return function(*((size,) if one else size), *more, **known)

    return Fresh(make, value=value, dtype=like.dtype)


def _size(compiler: Compiler, expression: Expression) -> Made | None:
    value = compiler.value(expression)
    if isinstance(expression, Call) and isinstance(value, Rows) and isinstance(value.item, Position):
        return compiler.count(expression) if compiler.means(expression.function) is len else None
    if isinstance(value, Known) and type(value.value) is int:
        return Made(lambda columns: value.value)
    return value if type(value) is Made else None


def _sort(compiler: Compiler, call: Call, arguments: Any, options: Any) -> Any:
    """torch.sort, or torch.argsort, of a number for each sample."""
    value = compiler.value(arguments[0]) if arguments else None
    if not isinstance(value, Made) or not value.rows:
        return None
    function = compiler.means(call.function)
    whole = compiler.done(function, call, arguments, options)
    if function is torch.argsort:
        return replace(whole, rows=True, order=True)
    # Not the named tuple that it is: it has to be unpacked.
    parts = (
        Made(lambda columns, n=n: columns.once(whole, whole.make)[n], rows=True, order=n == 1)  # type: ignore[misc]
        for n in range(2)
    )
    return Parts(object, dict(enumerate(parts)))


@_of_one
def _len(compiler: Compiler, call: Call, value: Any) -> Any:
    if isinstance(value, Picked) and (longest := compiler.of_longest_first(call.arguments[0], value)) is not None:
        return longest
    if isinstance(value, Picked | Head) or (isinstance(value, Leaf) and value.dimensions):
        return compiler.extent(value, 0, call)
    if isinstance(value, Made) and value.rows:
        return Rows(Position(), range)
    if isinstance(value, Rows) and not isinstance(value.item, Number):
        return Rows(Position(), range)  # of which only a range is made
    return None


@_of_one
def _range(compiler: Compiler, call: Call, value: Any) -> Any:
    return value if isinstance(value, Rows) and isinstance(value.item, Position) else None


def _zip(compiler: Compiler, call: Call, arguments: Any, options: Any) -> Any:
    if options:
        return None
    if len(arguments) == 1 and isinstance(arguments[0], Spread):
        compiler.rows(arguments[0].owner)
        sample = compiler.value(arguments[0].item)
        if not isinstance(sample, Parts) or sample.kind is dict:
            return None
        return Parts(object, {number: Rows(each, tuple) for number, each in sample.items.items()})
    rows = [compiler.value(each) for each in arguments]
    if not rows or not all(isinstance(each, Rows) for each in rows):
        return None
    return Rows(Parts(tuple, {number: each.item for number, each in enumerate(rows)}), object)


@_of_one
def _enumerate(compiler: Compiler, call: Call, value: Any) -> Any:
    return Rows(Parts(tuple, {0: Position(), 1: value.item}), object) if isinstance(value, Rows) else None


def _kept(kind: type) -> _Rule:
    @_of_one
    def rule(compiler: Compiler, call: Call, value: Any) -> Any:
        if isinstance(value, Rows) and not isinstance(value.item, Position):
            return replace(value, kind=kind)
        return replace(value, kind=kind) if isinstance(value, Parts) and value.kind is not dict else None

    return rule


def _dict(compiler: Compiler, call: Call, arguments: Any, options: Any) -> Any:
    return None if arguments else Parts(dict, {name: compiler.value(each) for name, each in options.items()})


def _default(compiler: Compiler, call: Call, arguments: Any, options: Any) -> Any:
    item, given = _bound(compiler, ("batch",), arguments, options)
    return None if given else _collated(compiler, item, call)


def _collated(compiler: Compiler, item: Any, call: Call) -> Any:
    if isinstance(item, Parts):
        made = {name: _collated(compiler, each, call) for name, each in item.items.items()}
        return None if None in made.values() else Parts(dict if item.kind is dict else list, made)
    if isinstance(item, Leaf) and item.listed and item.dimensions > 1:  # their order in memory may not be kept
        raise UnreadableError(f"puts what Python makes together: {call}", call)
    if isinstance(item, Leaf) and item.listed and not item.row:
        return compiler.of_list(item, default_collate)
    if isinstance(item, Leaf) and not item.is_tensor and not item.dimensions:
        numbers = compiler.each(item, call)
        dtype = torch.float64 if type(item.sample) is float else None
        return Made(lambda columns: torch.tensor(numbers.each(columns), dtype=dtype))
    if isinstance(item, Leaf) and type(item.sample) is np.ndarray:
        array = item.sample
        if is_channels_last(array.shape, array.strides):
            raise UnreadableError(f"puts arrays in channels_last together: {call}", call)
        item = replace(item, sample=torch.tensor(array))
    return _stacked_rows(compiler, item, call)


@_of_one
def _of_arrays(compiler: Compiler, call: Call, value: Any) -> Any:
    """np.stack and np.array of arrays."""
    if not isinstance(value, Rows) or not isinstance(value.item, Leaf) or type(value.item.sample) is not np.ndarray:
        return None
    if value.item.listed:
        return None
    if compiler.means(call.function) is np.stack and not value.item.sample.flags.c_contiguous:
        raise UnreadableError(f"stacks arrays whose order in memory np.stack keeps: {call}", call)
    whole = compiler.tensor(value.item, STACKED)
    return Made(lambda columns: whole.make(columns).numpy().copy())


def _number(kind: type) -> _Rule:
    @_of_one
    def rule(compiler: Compiler, call: Call, value: Any) -> Any:
        if isinstance(value, Leaf) and not value.dimensions:
            value = compiler.each(value, call)
        if not isinstance(value, Number):
            return None
        numbers = value
        return Number(lambda columns: list(map(kind, numbers.each(columns))))

    return rule


def _max(compiler: Compiler, call: Call, arguments: Any, options: Any) -> Any:
    """max of the lengths of a field."""
    value = _one(compiler, arguments, options)
    if isinstance(value, Rows) and isinstance(value.item, Number) and value.item.of is not None:
        leaf, order = value.item.of
        if order is None and value.item.most is None:
            return replace(compiler.done(max, call, arguments), longest=leaf)
    return None


def _pad_end(compiler: Compiler, call: Call, arguments: Any, options: Any) -> Any:
    """functional.pad of a row to the longest one's length."""
    given = dict(zip(("input", "pad", "mode", "value"), arguments, strict=False)) | options
    if not {"input", "pad"} <= {*given} <= {"input", "pad", "mode", "value"}:
        return None
    leaf, sides = compiler.value(given["input"]), compiler.value(given["pad"])
    mode, value = (
        compiler.value(given[name]) if name in given else Known(default)
        for name, default in (("mode", "constant"), ("value", 0))
    )
    if not isinstance(leaf, Leaf) or not leaf.is_tensor or not isinstance(sides, Parts) or len(sides.items) != 2:
        return None
    before, behind = sides.items[0], sides.items[1]
    if before != Known(0) or not isinstance(behind, Rest) or mode != Known("constant") or not isinstance(value, Known):
        return None
    item = 0 if value.value is None else value.value
    found = ended(leaf, Repeated(item, behind, leaf.sample.dtype)) if type(item) in (int, float) else None
    return None if found is None else replace(found, crops=True)


def _min(compiler: Compiler, call: Call, arguments: Any, options: Any) -> Any:
    """min of a number of each sample and one that is the same for all."""
    values = [compiler.value(each) for each in arguments]
    match sorted(values, key=lambda value: isinstance(value, Known)):
        case [Number(of=tuple()) as numbers, Known(value=most)] if not options:
            return compiler.at_most(numbers, most)
    return None


RULES: dict[Any, _Rule] = {
    default_collate: _default,
    dict: _dict,
    enumerate: _enumerate,
    float: _number(float),
    int: _number(int),
    len: _len,
    list: _kept(list),
    max: _max,
    min: _min,
    np.array: _of_arrays,
    np.stack: _of_arrays,
    functional.pad: _pad_end,
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
    torch.from_numpy: _from_numpy,
    torch.full: _full,
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
CALLS = {
    functional.one_hot, len, max, min, np.array, np.asarray, np.cumsum, sum, torch.arange, torch.as_tensor,
    torch.cumsum, torch.diff,
    torch.eq, torch.flatten, torch.from_numpy, torch.ne, torch.permute, torch.tensor, torch.transpose, torch.unsqueeze,
}  # fmt: skip


# Of lists of constants.
LISTED = (torch.FloatTensor, torch.IntTensor, torch.LongTensor)


# Methods of such values; the same is true of them.
METHODS = {
    "bool", "clone", "contiguous", "cumsum", "diff", "double", "eq", "flatten", "float", "ge", "gt", "half", "int",
    "item", "le", "long", "lt", "max", "min", "movedim", "ne", "numel", "permute", "repeat", "reshape", "size",
    "squeeze", "sum", "t", "to",
    "tolist", "transpose", "type_as", "unsqueeze", "view",
}  # fmt: skip


# Methods that cast a tensor that was just made.
CASTS = {
    "bool": torch.bool, "double": torch.float64, "float": torch.float32, "int": torch.int32, "long": torch.int64,
}  # fmt: skip


OPERATORS = {sign: SIGNS[sign] for sign in ("+", "-", "*", "/", *COMPARISONS)}


def counts(expression: Expression) -> bool:
    """Whether a value is of integers, or of bool: sums of floats depend on how many threads make them."""
    match expression:
        case Binary(operator=name):
            return name in COMPARISONS
        case Call(function=Attribute(name=name)):
            return name in ("bool", "eq", "ge", "gt", "int", "le", "long", "lt", "ne")
    return False
