"""The node of such a class: what it is made of, and whether that is still what it was."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import torch

from ...bytecode import (
    Call,
    Constant,
    Display,
    Expression,
    Index,
    Item,
    Mapping,
    UnreadableError,
    Uses,
)
from ...collates.collation import Lists
from ...refusal import RefusalError
from ...structure import Structure
from ..known.sequences import Listed
from ..own.ahead import Ahead, Laid, NumbersAhead, TextAhead, TextsAhead
from ..own.bases import Base, Records
from ..own.code import ListItems, OwnCode
from ..own.integers import INDEX, Domain
from ..own.sources import check_settled
from ..reads.array_files import FilesAhead, Sounds, WavAhead, Within
from ..reads.array_readers import ArrayReader
from ..reads.stores import Group, StoredArray
from ..tree import NOWHERE, Column, Indices, Node, alike
from .arithmetic import Value, kind_of
from .leaf import Leaf, Record, are_numbers
from .pieces import Piece, read_once

# An array, or a dict, that is the same for all samples is compared with what it was, before each batch.
_KEPT_BYTES_MAX = 1 << 20
_KEPT_NAMES_MAX = 1 << 12


_AheadT = TypeVar("_AheadT", bound=Ahead)


class Computed(Node):
    """A dataset of such a class.

    Its length is that of what items are taken of, whatever `__len__` says. What an index beyond it gives is the class's
    own matter: Python loads such batches.
    """

    open_ended = True

    def __init__(self, own: OwnCode | ListItems, most: int | None = None, rows: Lists = "") -> None:
        """
        most  values are worked out ahead for so many indices, which shows mostly if the code is understood
        rows  which lists of numbers that samples have are rows
        """
        self._begin(own, most, rows)
        try:
            self.structure = self._structure(own.reading.result)
            for loose in own.reading.loose:
                self._evaluate(loose)
            for condition, outcome in own.reading.asserted:
                self._prove(condition, outcome)
            self._check_read()
            self.length, missing = self.domain.settle()
            index = None if missing is None else np.where(missing, NOWHERE, np.arange(self.length, dtype=np.int64))
            usable = None if missing is None else ~missing
            pieces = [
                leaf if isinstance(leaf, TextAhead) else Piece(leaf, self.length, usable) for leaf in self._leaves
            ]
            if all(isinstance(each, TextAhead) for each in pieces):
                raise UnreadableError("gives nothing but texts")
        except UnreadableError as error:
            raise own.unread(error) from None
        finally:
            self.forget()
        self.negatives = self.domain.plain and missing is None and not self.gives_index
        stored = any(base.stored is not None for base in self._bases.values())  # which take other indices in other ways
        self.any_integer = self.domain.plain and not (self.gives_index or own.asks_index or stored)
        plain = self.negatives and all(piece.is_row for piece in pieces)
        if isinstance(own, OwnCode):
            self.note = f"its __getitem__ {'only takes rows: read' if plain else 'was compiled'} from its bytecode"
        files = Counter(each.named for each in self._ahead.values() if isinstance(each, FilesAhead))
        for named, count in files.items():
            self.note += f"; {count} of its arrays are in {named} files, which Go reads"
        texts = sum(isinstance(each, TextAhead) for each in pieces)
        if texts:
            self.note += f"; Python puts {texts} of its values, texts, beside"
        made = [(p, leaf) for p, leaf in zip(pieces, self._leaves, strict=True) if isinstance(p, Piece)]
        read_once([piece for piece, _ in made], [leaf for _, leaf in made if isinstance(leaf, Leaf)], usable)
        self.columns = tuple(
            Column((piece,), str if isinstance(piece, TextAhead) else piece.spec, index) for piece in pieces
        )

    def _begin(self, own: OwnCode | ListItems, most: int | None, rows: Lists) -> None:
        """Nothing is compiled yet."""
        self.rows = rows
        self.dataset = own.dataset
        self.own = own
        self._most = most
        self._bases: dict[tuple[Expression, tuple[Any, ...]], Base] = {}
        self._ahead: dict[tuple[Any, ...], Ahead] = {}
        self._laid: dict[Expression, Laid] = {}
        self._kept: list[tuple[Expression, Any]] = []
        # By their ids, bases of which other rows are taken than the index's.
        self._drawn_of: set[int] = set()
        self.domain = Domain()
        self._dtype = torch.get_default_dtype()
        self._leaves: list[Leaf | TextAhead] = []
        self.compiling: list[Leaf] = []  # all that there are, until it is done

    def forget(self) -> None:
        """Forgets what only compiling needs, so that a dataset goes as soon as nobody has it."""
        for leaf in self.compiling:
            leaf.forget()
        self.compiling.clear()

    @cached_property
    def uses(self) -> Uses:
        """What its values are used by."""
        return Uses(self.own.reading)

    @property
    def works_ahead(self) -> bool:
        """Whether some of its values are worked out before there are batches."""
        return bool(self._ahead)

    def _structure(self, given: Expression) -> Structure:
        """The structure of a sample; compiles its fields."""
        if isinstance(given, Display) and given.items and given.kind is not slice:
            return tuple(map(self._structure, given.items))
        if isinstance(given, Mapping) and given.items:
            return dict(zip(given.names, map(self._structure, given.items), strict=True))
        match given:
            case Call(
                function=function,
                arguments=(Call(function=zipped, arguments=(Display(items=names), Display(items=items)), options=()),),
                options=(),
            ) if self.own.if_seen(function) is dict and self.own.if_seen(zipped) is zip:
                keys = [each.value for each in names if isinstance(each, Constant) and each.kind is str]
                if len({*keys}) == len(names) == len(items):
                    return dict(zip(keys, map(self._structure, items), strict=True))
        leaf: Leaf | TextAhead = (made := Leaf(self))
        try:
            value = made.value(given)
            if isinstance(value, Record) and not (self.rows == "all" and are_numbers(value.sample)):
                self._check_alike(value)
                return self._structure(value.spread(given))
            made.give(given, value)
        except UnreadableError:
            text = self._text(given)
            if text is None:
                raise
            leaf = text
        self._leaves.append(leaf)
        return len(self._leaves) - 1

    def _check_alike(self, record: Record) -> None:
        """Raises UnreadableError unless there is as much in it for every index, under the same names.

        What is in it may be worked out ahead, which asks for no more than the first one has.
        """
        if not record.sample:
            return
        path = (*record.path, next(iter(record.sample)) if type(record.sample) is dict else 0)
        known = record.place, (*path, Records)
        if known not in self._bases:
            self._bases[known] = Base(record.place, self.own.value(record.place), path, records=True)
        self._bases[known].reads(record.rows)

    def _text(self, given: Expression) -> TextAhead | None:
        """A text that is given as it is; None where it is none that is worked out ahead."""
        if not given.has(Index):
            return None
        try:
            text = self._worked_ahead((str, given), lambda: TextAhead(self.own, given, self._most))
        except UnreadableError:
            return None
        self.domain.limit(INDEX, len(text))
        return text

    def unchanged(self, dataset: Any, at: Indices | None) -> bool:
        if not self.own.unchanged(dataset):
            return False
        try:
            return self.stands(at, at)
        except UnreadableError:
            return False

    @cached_property
    def _places(self) -> tuple[Expression, ...]:
        """What it is made of, once all is compiled."""
        return (*(place for place, _ in self._bases), *(place for place, _ in self._kept))

    def stands(self, at: Indices | None, ahead: Indices | None) -> bool:
        """Whether all that it is made of is what it was, at these indices, and what was worked out ahead at those.

        Raises UnreadableError where something is not there any more.
        """
        if torch.get_default_dtype() is not self._dtype:
            return False
        values, count = self.own.values(self._places), len(self._bases)
        rows = (None if id(base) in self._drawn_of else at for base in self._bases.values())
        return (
            all(map(Base.unchanged, self._bases.values(), values, rows))
            and all(same(value, kept) for value, (_, kept) in zip(values[count:], self._kept, strict=True))
            and all(each.unchanged(ahead) for each in self._ahead.values())
        )

    def constant(self, expression: Expression) -> Any:
        """What an expression without the index stands for, which is to be the same from now on."""
        found = self.own.value(expression)
        kind = kind_of(found)
        if kind in ("tensor", "array"):
            if kind == "tensor" and (
                found.requires_grad or found.device.type != "cpu" or found.layout != torch.strided or found.is_quantized
            ):
                raise UnreadableError(f"uses {expression}, which is not a plain tensor", expression)
            if math.prod(found.shape) * found.itemsize > _KEPT_BYTES_MAX:
                raise UnreadableError(f"uses all of {expression}", expression)
            check_settled(found, expression)
            found = found.clone() if kind == "tensor" else np.array(found)
            self._kept.append((expression, found))
            return found
        if type(found) in (list, tuple) and all(type(each) in (int, float, bool) for each in found):
            found = type(found)(found)
            self._kept.append((expression, found))
            return found
        return self.own.means(expression)

    def _evaluate(self, loose: Expression) -> None:
        """Raises UnreadableError for what is evaluated and not given, where it may do more than to be evaluated."""
        if self.is_stored(loose):
            return
        leaf = Leaf(self)
        value = leaf.value(loose)
        if not isinstance(value, Record | list):
            leaf.give(loose, value)
            if leaf.writer.reckons:
                raise UnreadableError(f"works {loose} out for nothing, where it may fail or warn", loose)

    def _prove(self, condition: Expression, outcome: bool) -> None:
        """Raises UnreadableError unless a condition comes out so for every index: by shapes, or by values ahead."""
        with suppress(UnreadableError):
            value = Leaf(self).value(condition)
            if isinstance(value, Value) and value.constant and value.sample is outcome:
                return
        with suppress(UnreadableError):
            known = self.worked_out(NumbersAhead, condition)
            if all(each is outcome for each in known.values):
                self.domain.limit(INDEX, len(known))
                return
        raise UnreadableError(f"branches on {condition}", condition)

    def _check_read(self) -> None:
        """Raises UnreadableError for a file of which no field is made: to read it may fail."""
        read = {id(each.base) for leaf in self._leaves if isinstance(leaf, Leaf) for each in leaf.inputs}
        for each in self._ahead.values():
            if isinstance(each, FilesAhead) and id(each) not in read:
                raise UnreadableError(f"opens {each.place} for nothing, where it may fail", each.place)

    def is_stored(self, place: Expression) -> bool:
        """Whether it is a file that is opened, or an array in one."""
        return isinstance(self.own.if_seen(place), Group | StoredArray)

    def base(self, place: Expression, path: tuple[Any, ...] = ()) -> Base:
        """What items are taken of."""
        if (place, path) not in self._bases:
            self._bases[place, path] = Base(place, self.own.value(place), path)
        return self._bases[place, path]

    def text(self, place: Expression, table: Expression, other: int | None) -> Base:
        """A text, of whose characters a dict has the numbers, which is to be the same from now on.

        other  that of a character which is not in it; None: there may be none
        """
        path = (table, other)
        if (place, path) not in self._bases:
            numbers = self._names(table, "a text's characters")
            text = self.own.value(place)
            known = numbers if other is None or type(text) is not str else dict.fromkeys(text, other) | numbers
            self._bases[place, path] = Base(place, text, numbers=known)
            self._kept.append((table, dict(numbers)))
        return self._bases[place, path]

    def texts(self, place: Expression, table: Expression, other: int | None) -> TextsAhead:
        """The same of a text, or a list of words, for each index."""

        def make() -> TextsAhead:
            numbers = self._names(table, "texts")
            made = TextsAhead(self.own, place, numbers, other, self._most)
            self._kept.append((table, dict(numbers)))
            return made

        return self._worked_ahead((place, table, other), make)

    def _names(self, table: Expression, what: str) -> dict[str, int]:
        """The numbers of texts. Raises UnreadableError for another value, or for more than are compared each time."""
        numbers: dict[str, int] = self.own.value(table)
        if not _numbers_characters(numbers) or len(numbers) > _KEPT_NAMES_MAX:
            raise UnreadableError(f"looks up in {table}, which is no dict of {what}", table)
        return numbers

    def any_texts(self) -> TextsAhead | None:
        """Texts that were worked out for each index, if there are any."""
        return next((each for each in self._ahead.values() if isinstance(each, TextsAhead)), None)

    def laid(self, expression: Expression, make: Callable[[], Laid]) -> Laid:
        """Arrays that the code makes and sets parts of: the same, wherever they are used."""
        if expression not in self._laid:
            self._laid[expression] = make()
        return self._laid[expression]

    def loaded(self, path: Expression, reader: ArrayReader, given: dict[str, Any], within: Within | None) -> FilesAhead:
        key = path, reader.library, reader.name, repr(given), within
        return self._worked_ahead(key, lambda: reader.ahead(self.own, path, given, within))

    def sounds(self, path: Expression, how: Sounds) -> WavAhead:
        return self._worked_ahead((how, path), lambda: WavAhead(self.own, path, how))

    def worked_out(self, kind: Callable[..., _AheadT], place: Expression) -> _AheadT:
        """Numbers, rows or arrays that are worked out, or found, for each index."""
        return self._worked_ahead((kind, place), lambda: kind(self.own, place, self._most))

    def _worked_ahead(self, key: tuple[Any, ...], make: Callable[[], _AheadT]) -> _AheadT:
        """What is worked out for each index, once."""
        if key not in self._ahead:
            made = self._ahead[key] = make()
            if made.columns.reckons:
                self.gives_index = True
            if not made.columns.negatives:
                self.domain.plain = False
        return self._ahead[key]  # type: ignore[return-value]

    def uneven(self, place: Expression, path: tuple[Any, ...]) -> Base | None:
        """Lists of numbers that differ in length, in a list; None where they do not."""
        if (place, path) in self._bases:
            base = self._bases[place, path]
            return base if base.array is None else None
        try:
            elements = Listed(self.own.value(place), path).elements
        except RefusalError:
            return None
        lists = set(map(type, elements)) <= {list, tuple}
        return self.base(place, path) if lists and len(set(map(len, elements))) > 1 else None

    def record(self, place: Expression) -> Any:
        """The first item of a list of lists, tuples or dicts; None of anything else."""
        value = self.own.value(place)
        if type(value) in (list, tuple) and value and type(value[0]) in (list, tuple, dict):
            return value[0]
        return None


def in_lists(own: OwnCode | ListItems) -> bool:
    """Whether a sample is made of items of lists as they are, by the first item of each: to look at all of them takes
    as long as torch's epoch."""
    work = [own.reading.result]
    while work:
        match work.pop():
            case Display(items=items) | Mapping(items=items) if items:
                work += items
            case Item(owner=owner, key=Index()):
                whole = own.if_seen(owner)
                if type(whole) not in (list, tuple) or not whole:
                    return False
                first = whole[0]
                each = first.values() if type(first) is dict else first if type(first) in (list, tuple) else (first,)
                if not _AS_THEY_ARE.issuperset(map(type, each)):
                    return False
            case _:
                return False
    return True


_AS_THEY_ARE = {torch.Tensor, np.ndarray, int, float, bool}


def same(value: Any, kept: Any) -> bool:
    if isinstance(kept, dict):
        return _numbers_characters(value) and bool(value == kept)
    return alike(np.asarray(value) if kind_of(value) == "array" else value, kept)


def _numbers_characters(value: Any) -> bool:
    """Whether it is a dict from texts to integers."""
    return type(value) is dict and set(map(type, value)) == {str} and set(map(type, value.values())) == {int}
