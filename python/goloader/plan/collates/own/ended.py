"""Rows to whose ends one item is added, as often as it takes to make them as long as the longest one.

longest = max(len(x["input_ids"]) for x in batch)
ids = torch.tensor([x["input_ids"] + [0] * (longest - len(x["input_ids"])) for x in batch])
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.functional import pad

from ...bytecode import Expression
from ...row_layouts import PadRows
from ..collation import padding
from .values import Columns, Known, Leaf, Made, Number

if TYPE_CHECKING:
    from .compiler import Compiler


@dataclass(frozen=True)
class Rest:
    """By how much a field is shorter than the longest of the batch, in it or in another field."""

    of: Leaf
    longest: Leaf


@dataclass(frozen=True)
class Repeated:
    """A list, or a tensor of that dtype, of one number: as long as a field, or as what it lacks."""

    item: Any
    count: Leaf | Rest
    dtype: torch.dtype | None = None


@dataclass(frozen=True)
class Ended:
    """A field, or one number as often as a field has items, with another number as often as a field lacks items.

    crops  a field that lacks less than none is cut, as functional.pad does
    left   the other number stands in front
    """

    row: Leaf | Repeated
    end: Repeated
    crops: bool = False
    left: bool = False

    @property
    def rest(self) -> Rest:
        assert isinstance(self.end.count, Rest)
        return self.end.count


def lacks(left: Any, right: Any) -> Rest | None:
    """longest - length"""
    if isinstance(left, Made) and isinstance(right, Number) and right.of is not None and right.most is None:
        leaf, order = right.of
        return Rest(leaf, left.longest) if order is None and left.longest is not None else None
    return None


def repeated(items: Any, count: Any) -> Repeated | None:
    """[number] * count, or count * [number]"""
    if isinstance(count, Known):
        items, count = count, items
    if not isinstance(items, Known) or type(items.value) is not list or len(items.value) != 1:
        return None
    of = _times(count)
    (item,) = items.value
    return Repeated(item, of) if of is not None and type(item) in (int, float, bool) else None


def _times(count: Any) -> Leaf | Rest | None:
    if isinstance(count, Rest):
        return count
    if isinstance(count, Number) and count.of is not None and count.of[1] is None and count.most is None:
        return count.of[0]
    return None


def as_tensor(value: Ended, dtype: torch.dtype | None) -> Ended | None:
    """torch.tensor of the list that it is."""
    row, end = value.row, value.end
    made = dtype or {int: torch.int64, bool: torch.bool}.get(type(end.item))
    if made is None or end.dtype is not None or (isinstance(row, Leaf) and made is not torch.int64):
        return None
    row = row.as_tensor() if isinstance(row, Leaf) else replace(row, dtype=made)
    return replace(value, row=row, end=replace(end, dtype=made))


def ended(row: Any, end: Any) -> Ended | None:
    """row + [number] * (longest - length), or the other way round, and the same of tensors."""
    left = isinstance(row, Repeated) and isinstance(row.count, Rest)
    if left:
        row, end = end, row
    if not isinstance(end, Repeated) or not isinstance(end.count, Rest):
        return None
    if isinstance(row, Repeated) and isinstance(row.count, Leaf):
        return Ended(row, end, left=left) if end.dtype is row.dtype and type(row.item) is type(end.item) else None
    if not isinstance(row, Leaf) or row.listed or row.row or row.front or row.back or row.dimensions != 1:
        return None
    if row.is_list:
        return Ended(row, end, left=left) if end.dtype is None and type(end.item) is int else None
    fits = row.is_tensor and end.dtype is row.sample.dtype
    if row.is_tensor and fits and not row.sample.is_floating_point() and type(end.item) is not int:
        fits = end.item == int(end.item) and row.sample.dtype is not torch.bool
    return Ended(row, end, left=left) if fits and not row.sample.is_complex() else None


def put_together(
    compiler: Compiler, value: Ended, expression: Expression, dtype: torch.dtype | None = None
) -> Made | None:
    """The tensor of all samples' rows: torch.stack's, or torch.tensor's of lists."""
    lacking, longest_of = compiler.length(value.rest.of), compiler.length(value.rest.longest)
    row, item, lists = value.row, value.end.item, value.end.dtype is None
    turn = operator.itemgetter(slice(None, None, -1 if value.left else 1))
    dtype = dtype or value.end.dtype
    if isinstance(row, Repeated):
        assert isinstance(row.count, Leaf)
        lengths, first = compiler.length(row.count), row.item

        def make(columns: Columns) -> Any:
            counts, others, longest = lengths.each(columns), lacking.each(columns), max(longest_of.each(columns))
            if counts != others or max(counts) != longest:
                rows = zip(counts, others, strict=True)
                return torch.tensor([turn([first] * n + [item] * (longest - m)) for n, m in rows], dtype=dtype)
            of = torch.tensor(item, dtype=dtype).dtype
            places = torch.arange(longest - 1, -1, -1) if value.left else torch.arange(longest)
            inside = places < torch.tensor(counts)[:, None]
            return torch.where(inside, torch.tensor(first, dtype=of), torch.tensor(item, dtype=of))

        return Made(make)
    if lists and dtype not in (None, torch.int64):
        return None
    leaf = row.as_tensor() if row.is_list else row
    kept = padding(str(expression), item, str(leaf.sample.dtype).removeprefix("torch."))
    whole, lengths = compiler.tensor(leaf, PadRows(True, kept, 1, False, left=value.left)), compiler.length(row)

    def make_padded(columns: Columns) -> Any:
        padded = whole.make(columns)
        counts, others, longest = lengths.each(columns), lacking.each(columns), max(longest_of.each(columns))
        if counts == others and max(counts) == longest:
            return padded
        # What follows is what the code does.
        inside = [slice(len(padded[0]) - n, None) if value.left else slice(n) for n in counts]
        if lists:
            given = zip(padded.tolist(), inside, others, strict=True)
            pairs = (turn((each[own], [item] * (longest - n))) for each, own, n in given)
            return torch.tensor([one + other for one, other in pairs])
        tensors = [each[own] for each, own in zip(padded, inside, strict=True)]
        rests = [longest - n for n in others]
        if value.crops:
            return torch.stack([pad(each, (0, n), value=item) for each, n in zip(tensors, rests, strict=True)])
        ends = (torch.full((n,), item, dtype=leaf.sample.dtype) for n in rests)
        return torch.stack([torch.cat(turn(pair)) for pair in zip(tensors, ends, strict=True)])

    return Made(make_padded)
