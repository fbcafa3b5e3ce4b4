"""Tensors that a loop fills with each sample's rows, or with numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from ...bytecode import NONE, Display, Expression, Filled, UnreadableError
from ...row_layouts import PadRows
from ..collation import padding
from .values import Columns, Fresh, Head, Known, Leaf, Number, Picked, Position

if TYPE_CHECKING:
    from .compiler import Compiler


# Tensors into which numpy puts an int as torch does, if it is below that.
_PLAIN = {torch.float32, torch.float64, torch.int32, torch.int64}
_SMALL = 1 << 24


def filled(compiler: Compiler, expression: Filled) -> Fresh:
    """A tensor that a loop fills with rows, or with numbers."""
    base, item = compiler.value(expression.of), compiler.value(expression.item)
    if not isinstance(base, Fresh):
        raise compiler.unknown(expression)
    if expression.owner == NONE:
        value = item.value if isinstance(item, Known) else None
        if type(value) not in (int, float, bool):
            raise compiler.unknown(expression)
        return replace(base, value=value, fill=True)
    compiler.rows(expression.owner)
    key = expression.key
    first, *others = key.items if isinstance(key, Display) and key.kind is tuple else (key,)
    if not isinstance(compiler.value(first), Position):
        raise compiler.unknown(expression)
    slices = [_slice(compiler, each, expression) for each in others]
    if isinstance(item, Leaf) and not item.dimensions:
        item = compiler.each(item, expression)
    if isinstance(item, Leaf | Picked | Head):
        return _with_rows(compiler, base, item, slices, expression)
    if not isinstance(item, Number) and not (isinstance(item, Known) and type(item.value) in (int, float, bool)):
        raise compiler.unknown(expression)
    if base.value is None and slices:
        raise UnreadableError("sets a part of what was not set before", expression)
    count, parts = compiler.count(expression), [*slices, (item, None)]

    def make(columns: Columns) -> Any:
        whole, samples = with_value(base, base.make(columns)), range(count.make(columns))
        columns_of = [[_numbers(end, columns, len(samples)) for end in part] for part in parts]
        (items, _), sides = columns_of.pop(), columns_of
        plain = whole.dtype in _PLAIN and all(type(each) is int and abs(each) < _SMALL for each in items)
        fits = whole.ndim == 1 + len(sides) and len(whole) >= len(samples)
        into = whole.numpy() if plain and fits else whole  # numpy does the same, sooner
        for n in samples:
            into[(n, *(slice(low[n], high[n]) for low, high in sides))] = items[n]
        return whole

    return replace(base, make=make, value=None, fill=False)


def _slice(compiler: Compiler, key: Expression, expression: Expression) -> tuple[Any, Any]:
    """Where a slice begins and ends: each a number for all samples, one for each, or nothing."""
    if not isinstance(key, Display) or key.kind is not slice or len(key.items) != 2:
        raise compiler.unknown(expression)
    low, high = map(compiler.value, key.items)
    if not all(isinstance(each, Number) or _is_end(each) for each in (low, high)):
        raise compiler.unknown(expression)
    return low, high


def _with_rows(
    compiler: Compiler, base: Fresh, item: Leaf | Picked | Head, slices: list[tuple[Any, Any]], expression: Expression
) -> Fresh:
    """The same with each sample's field, up to where it ends, or the first items of it: it is what pads them, if that
    is as large."""
    most = item.count.most if isinstance(item, Head) else None
    item = item.of if isinstance(item, Head) else item
    leaf, order = (item.leaf, item.order) if isinstance(item, Picked) else (item, None)
    axis, dimensions = leaf.axis, leaf.dimensions
    other = None  # what says where rows end, though it is the length of another field
    known = compiler.exact and leaf.is_tensor and not leaf.listed and not leaf.row and not (leaf.front or leaf.back)
    if not known or axis not in (0, dimensions - 1) or (isinstance(item, Picked) and order is None):
        raise compiler.unknown(expression)
    assert axis is not None
    if axis >= len(slices) or len(slices) > dimensions:
        raise compiler.unknown(expression)
    for n, (low, high) in enumerate(slices):
        begins = isinstance(low, Known) and low.value in (None, 0)
        ends = high == Known(None)
        if n == axis:
            of = high.of if isinstance(high, Number) and high.most == most else None
            ends = of is not None and of[1] is order and (of[0] == leaf or most is None)
            other = high if ends and of is not None and of[0] != leaf else None
        if not begins or not ends:
            raise compiler.unknown(expression)
    if base.value is None:
        raise UnreadableError("puts rows into what was not set before", expression)
    kept = torch.tensor(base.value, dtype=leaf.sample.dtype)
    if kept.to(base.dtype) != torch.tensor(base.value, dtype=base.dtype):
        raise UnreadableError(f"pads {leaf.sample.dtype} with {base.value}", expression)
    value = padding("a tensor", base.value, str(leaf.sample.dtype).removeprefix("torch."))
    extents = () if axis == 0 else tuple(-1 if n == axis else extent for n, extent in enumerate(leaf.sample.shape))
    layout = PadRows(True, value, 1, False, extents)
    padded, lengths = compiler.tensor(leaf, layout, ordered=order is not None), compiler.length(leaf)

    def make(columns: Columns) -> Any:
        rows, whole = padded.make(columns), base.make(columns)
        numbers = lengths.each(columns)
        if order is not None:
            places = order.make(columns).tolist()
            put_in_order(rows, places)
            numbers = [numbers[n] for n in places]
        if cut := most is not None and most < rows.shape[axis + 1]:
            numbers = [min(each, most) for each in numbers]
            rows = rows.narrow(axis + 1, 0, most)
        if other is not None and (ends := other.each(columns)) != numbers:
            return in_turn(whole, rows, numbers, ends)
        if whole.shape == rows.shape:
            return rows.to(whole.dtype, copy=cut, memory_format=torch.contiguous_format)
        whole = with_value(base, whole)
        longest, along = rows.shape[axis + 1], [*range(1, rows.ndim)]
        fits = whole.ndim == rows.ndim and all(
            whole.shape[n] >= longest if n == axis + 1 else whole.shape[n] == rows.shape[n] for n in along
        )
        if fits and len(whole) >= len(rows):
            whole[: len(rows)].narrow(axis + 1, 0, longest).copy_(rows)
            return whole
        return in_turn(whole, rows, numbers, numbers)

    def in_turn(whole: Any, rows: Any, numbers: list[int], ends: list[int]) -> Any:
        """As the code does it: it may raise what that raises."""
        whole = with_value(base, whole)
        for n, (length, end) in enumerate(zip(numbers, ends, strict=True)):
            whole[(n, *[slice(None)] * axis, slice(end))] = rows[n].narrow(axis, 0, length)
        return whole

    return replace(base, make=make, value=None, fill=False)


def with_value(base: Fresh, whole: Any) -> Any:
    """A tensor that was made, with its value in it."""
    return whole.fill_(base.value) if base.fill else whole


def put_in_order(rows: torch.Tensor, order: list[int]) -> None:
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


def _is_end(value: Any) -> bool:
    return isinstance(value, Known) and (value.value is None or type(value.value) is int)


def _numbers(of: Number | Known | None, columns: Columns, count: int) -> list[Any]:
    """A number for each sample."""
    if isinstance(of, Number):
        return of.each(columns)
    return [None if of is None else of.value] * count
