"""A collate_fn of the user's own, for samples of one structure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from ...bytecode import UnreadableError
from ...refusal import RefusalError
from ...rows import Field, View
from ...structure import Structure
from ...trust.look import name_of
from ..collation import After, Lists, stands, surroundings
from .code import CollateCode, Kind, SampleAskedError
from .compiler import Compiler
from .order import order_of
from .values import Columns, Leaf, Parts


class OwnCollate:
    """As plan.collation's Collation. Raises RefusalError for code that is not understood."""

    plain, own = False, True
    after: After | None = None
    takes_lists: Lists = "uneven"
    note = "compiled from its bytecode"

    def __init__(self, given: Any) -> None:
        self.given = given
        self.code: CollateCode | None
        try:
            self.code, self._asks = CollateCode(given), False
        except SampleAskedError:  # it is read for each kind of samples
            self.code, self._asks = None, True
        self.name = name_of(given)
        # Of the columns that are lists, where they stand among all, and which fields they are.
        self.listed: dict[int, int] = {}
        self._around = surroundings()

    def __str__(self) -> str:
        return str(self.code.reading.result) if self.code is not None else self.name

    def unchanged(self) -> bool:
        """True if what the code meant is meant still, by torch's default_collate too."""
        return (self.code is None or self.code.unchanged(self.code.dataset)) and stands(self._around)

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
        if self._asks:
            self.code = CollateCode(self.given, (_kinds(structure, sample, listed),))
        assert self.code is not None
        reading = self.code.reading
        try:
            ragged = {number: _axis(each) for each in fields for view in each.views for number in view.columns}
            compiler = Compiler(self.code, _sample(structure, sample, listed, ragged), exact=bool(fields))
            compiler.check_lists(fields)
            order = order_of(compiler, reading)
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
                in_order = None if order is None else order.laid(laid)
                self.listed = compiler.listed()
                laid = _without_gaps(laid, self.listed)
                if in_order is not None:
                    return laid, lambda columns: make(Columns(in_order(columns)))
                return laid, lambda columns: make(Columns(columns))
            if order is not None:
                raise UnreadableError("sorts images", order.expression)
            numbers, self.listed = compiler.numbers(), compiler.listed()
            return (), lambda columns: make(Columns([columns[number] for number in numbers]))
        except UnreadableError as error:
            raise self.code.unread(error) from None


def _without_gaps(fields: Sequence[Field], listed: Collection[int]) -> tuple[Field, ...]:
    """Fields whose columns are counted without those that the core does not make."""

    def counted(view: View) -> View:
        (number,) = view.columns
        return replace(view, columns=(number - sum(each < number for each in listed),))

    return tuple(replace(each, views=tuple(map(counted, each.views))) for each in fields) if listed else tuple(fields)


def _axis(of: Field) -> int | None:
    """Along which a field's rows differ; None if they do not."""
    if not of.ragged:
        return None
    return of.extents.index(-1) if of.extents else 0


def _kinds(structure: Structure, sample: Any, listed: Collection[int]) -> Any:
    """What kinds of things all samples are: Python may make fields that differ in theirs."""
    if isinstance(structure, dict) and type(sample) is dict and {*structure} == {*sample}:
        return {name: _kinds(structure[name], each, listed) for name, each in sample.items()}
    if isinstance(structure, tuple) and type(sample) in (tuple, list) and len(sample) == len(structure):
        return type(sample)(_kinds(*each, listed) for each in zip(structure, sample, strict=True))
    known = type(structure) is int and structure not in listed and sample is not None
    return Kind(type(sample) if known else None)


def _sample(structure: Structure, sample: Any, listed: Collection[int], ragged: dict[int, int | None]) -> Any:
    """What is known of a sample; `ragged`: along which axes fields differ."""
    if isinstance(structure, dict):
        if type(sample) is dict and list(sample) == list(structure):
            parts = {name: _sample(each, sample[name], listed, ragged) for name, each in structure.items()}
            return Parts(dict, parts)
    elif isinstance(structure, tuple):
        if type(sample) in (tuple, list) and len(sample) == len(structure):
            several = (_sample(*each, listed, ragged) for each in zip(structure, sample, strict=True))
            return Parts(type(sample), dict(enumerate(several)))
    else:
        return Leaf(structure, sample, structure in listed, axis=ragged.get(structure))
    raise UnreadableError(f"gets samples of type {type(sample).__qualname__}")
