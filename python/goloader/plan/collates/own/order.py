"""The order that a collate_fn sorts the samples of a batch in, before it does anything else with them.

Columns come in the order of the batch: they are put into the other one, and all that is made of them is, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from ...bytecode import Batch, Expression, Reading, Sorted, UnreadableError, own_parts
from ...row_layouts import STACKED, PadRows, RowLayout
from ...rows import Field
from .filled import put_in_order
from .rules import JOINED
from .values import Columns, Known, Leaf, Number

if TYPE_CHECKING:
    from .compiler import Compiler


@dataclass(frozen=True)
class Order:
    """An order of samples: of a number of each."""

    expression: Sorted
    number: Number
    reverse: bool

    def laid(self, fields: Sequence[Field]) -> Callable[[Sequence[Any]], list[Any]]:
        """What puts the columns of these fields into it."""
        layouts = {view.columns[0]: view.layout for field in fields for view in field.views}

        def in_order(columns: Sequence[Any]) -> list[Any]:
            keys = self.number.each(Columns(columns))
            order = sorted(range(len(keys)), key=keys.__getitem__, reverse=self.reverse)
            return [_in_order(column, layouts.get(n), order) for n, column in enumerate(columns)]

        return in_order


def order_of(compiler: Compiler, reading: Reading) -> Order | None:
    """The order that all samples are in; None if that is the batch's. Raises UnreadableError."""
    used = {id(each): each for whole in (reading.result, *reading.loose) for each in _whole_batches(whole)}
    orders = [each for each in used.values() if isinstance(each, Sorted)]
    if not orders:
        return None
    if len(used) > 1:
        raise UnreadableError("uses samples in several orders", orders[0])
    number, reverse = compiler.value(orders[0].key), compiler.value(orders[0].reverse)
    if isinstance(number, Leaf):
        number = compiler.each(number, orders[0])
    if not isinstance(number, Number) or not isinstance(reverse, Known) or type(reverse.value) not in (bool, int):
        raise compiler.unknown(orders[0])
    return Order(orders[0], number, bool(reverse.value))


def _whole_batches(whole: Expression) -> Iterator[Expression]:
    """The batch, or what it is sorted to, wherever an expression uses it: each object once."""
    seen: set[int] = set()
    work = [whole]
    while work:
        part = work.pop()
        if id(part) not in seen:
            seen.add(id(part))
            if isinstance(part, Batch | Sorted):
                yield part
            else:
                work += own_parts(part)


def _in_order(column: Any, layout: RowLayout | None, order: list[int]) -> Any:
    if type(column) is list:
        return [column[n] for n in order]
    if isinstance(layout, PadRows):
        rows, *lengths = column if type(column) is tuple else (column,)
        ordered = [_rows_in_order(rows, 0 if layout.batch_first else 1, order)]
        ordered += [each[order] for each in lengths]
        return tuple(ordered) if type(column) is tuple else ordered[0]
    if layout is JOINED:
        rows, begins = column
        counts = begins.diff().tolist()
        parts = rows.split(counts)
        ends = torch.tensor([0, *(counts[n] for n in order)], dtype=begins.dtype).cumsum(0, dtype=begins.dtype)
        return torch.cat([parts[n] for n in order]), ends
    assert layout is STACKED
    return _rows_in_order(column, 0, order)


def _rows_in_order(rows: torch.Tensor, axis: int, order: list[int]) -> torch.Tensor:
    if axis == 0 and rows.ndim > 1 and rows.is_contiguous():
        put_in_order(rows, order)
        return rows
    return rows.index_select(axis, torch.tensor(order))
