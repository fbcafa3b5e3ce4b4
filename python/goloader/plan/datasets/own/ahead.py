"""What a `__getitem__` of the user's own has for each index, and is worked out ahead: numbers, texts as the numbers of
their characters or words, and paths of files, which the core reads (../reads/array_files.py).

    label = self.numbers[self.table.iloc[index]["name"]]
    tokens = torch.tensor([self.numbers[word] for word in self.texts[index].split()])
    spectrogram = torch.from_numpy(np.load(os.path.join(self.root, self.names[index])))

Each is as bases.Base: what items are taken of, by the index.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import is_
from typing import Any

import numpy as np
import torch

from ...bytecode import Expression, UnreadableError, parts_of
from ...rows import Array
from ..known.sequences import Listed
from ..tree import Indices, alike
from .bases import Base, Numbers, fit, why_not_numbers
from .code import ERRORS, ListItems, OwnCode, length_of
from .columns import Columns
from .frames import is_frame
from .integers import Integers
from .sources import Sources
from .vectors import are_rows


class Ahead:
    """Values of an expression, one for each index.

    place     the expression
    columns   that work it out
    values    these
    kept      they are the dataset's own, which it gives again
    axis      along which they differ, and
    lengths   [values] int64, their extents there; None where they are alike, or are no arrays
    """

    axis: int | None = None
    lengths: Indices | None = None
    is_list, in_lists, stored, kept = True, False, None, False
    first: Any
    # As an array that has the items' layout; None where they differ in length.
    array: Any = None
    piece: Any

    def __init__(
        self, own: OwnCode | ListItems, place: Expression, kinds: tuple[type, ...], most: int | None = None
    ) -> None:
        """`most`: of so many indices alone. Raises UnreadableError unless they are of these types."""
        if not isinstance(own, OwnCode):
            raise UnreadableError(f"uses {place}")
        self.place = place
        self.columns = Columns(own, [place], length=lambda: length_of(own.dataset))
        if not self.columns.length:
            raise UnreadableError(f"uses {place} of no samples")
        # What is not understood shows in the first one, mostly.
        length = self.columns.length
        for count in (1, length if most is None else min(most, length)):
            self.values = self._work_out(range(count))
            for kind in set(map(type, self.values)) - {*kinds}:
                raise UnreadableError(f"uses {place}, a {kind.__qualname__}", place)
        self._sources = None if self.kept else Sources(self.columns.sources)

    def __len__(self) -> int:
        return len(self.values)

    def _work_out(self, at: Sequence[int]) -> Sequence[Any]:
        try:
            return self.columns.work_out(at)[0]
        except ERRORS as error:
            raise UnreadableError(f"raises {type(error).__name__} in {self.place}: {error}", self.place) from None

    def reads(self, integers: Integers) -> None:
        """Items are taken by these: all are looked at in any case."""

    def unchanged(self, at: Indices | None) -> bool:
        """True if the values of these indices, or of all, are the same."""
        if at is None:
            if self._sources is not None and self._sources.stands():
                return True
            at = np.arange(len(self), dtype=np.int64)
        rows = at[at < len(self)].tolist()
        try:
            return alike([*self._work_out(rows)], [self.values[row] for row in rows])
        except UnreadableError:
            return False


class NumbersAhead(Ahead):
    """Numbers: all of Python's int, of its float, or of its bool, or of one of numpy's types."""

    def __init__(self, own: OwnCode | ListItems, place: Expression, most: int | None = None) -> None:
        super().__init__(own, place, _NUMBERS, most)
        if why := why_not_numbers(self.values):
            raise UnreadableError(f"uses {place}, of {why}", place)
        self.first = self.values[0]
        self.piece = Numbers(Listed(self.values))
        self.array = self.piece.items

    def numbers(self, integers: Integers) -> Indices:
        """These, to take items by them."""
        return np.array(self.array, np.int64)


_NUMBERS = (int, float, bool, np.int64, np.int32, np.int16, np.int8, np.uint8, np.float32, np.float64)


class RowsAhead(Ahead):
    """Rows of a table of pandas', as arrays, of which each is a copy."""

    is_list = False

    def __init__(self, own: OwnCode | ListItems, place: Expression, most: int | None = None) -> None:
        if not any(is_frame(own.if_seen(part)) for part in parts_of(place)):
            raise UnreadableError(f"uses {place}")
        super().__init__(own, place, (np.ndarray,), most)
        if not are_rows(self.values) or not self.values.flags.c_contiguous:  # type: ignore[attr-defined]
            raise UnreadableError(f"uses {place}, of which a row is none of numbers, or in another order", place)
        self.array, self.first = self.values, self.values[0]
        self.piece = Rows(Array.of(self.array))
        self.piece.in_one_piece = False


class ArraysAhead(Ahead):
    """Tensors, or numpy arrays, that the dataset has, as in a dict by their names."""

    in_lists = kept = True

    def __init__(self, own: OwnCode | ListItems, place: Expression, most: int | None = None) -> None:
        super().__init__(own, place, (torch.Tensor, np.ndarray), most)
        self.values = [*self.values]
        if self._work_out([0])[0] is not self.values[0]:  # a row of an array that Base does not take, copied
            raise UnreadableError(f"makes {place} for each index", place)
        listed = Base(place, self.values)
        self.piece, self.array, self.first = listed.piece, listed.array, listed.first

    def unchanged(self, at: Indices | None) -> bool:
        """True if they are the same objects, and lie where they did: what is in them is read for each batch."""
        at = np.arange(len(self), dtype=np.int64) if at is None else at[at < len(self)]
        rows = at.tolist()
        try:
            same = all(map(is_, self._work_out(rows), map(self.values.__getitem__, rows)))
        except UnreadableError:
            return False
        return same and bool(self.piece.unchanged(self.values, at))


class Rows:
    """Where rows are that differ in length; `array` says it.

    extents  of a row's shape, -1 for the one that differs where that is not the first: the array has rows of as many
             items then; () where it is
    """

    in_one_piece = True

    def __init__(self, array: Array, extents: tuple[int, ...] = ()) -> None:
        self.array, self.extents = array, extents

    def __len__(self) -> int:
        return len(self.array)


class TextsAhead(Ahead):
    """Texts, of whose characters each has a number, or lists of words.

    first  the list of the first one's numbers
    items  the numbers of all, one text's after the other's
    """

    def __init__(
        self,
        own: OwnCode | ListItems,
        place: Expression,
        numbers: dict[str, int],
        other: int | None,
        most: int | None = None,
    ) -> None:
        """
        numbers  of each
        other    of what is not in it; None: there may be nothing
        """
        super().__init__(own, place, (str, list), most)
        if any(type(each) is list and not set(map(type, each)) <= {str} for each in self.values):
            raise UnreadableError(f"goes over {place}, a list of more than texts", place)
        self.axis, self.lengths = 0, (lengths := np.fromiter(map(len, self.values), np.int64, len(self)))
        every = chain.from_iterable(self.values)
        try:
            of = numbers.__getitem__ if other is None else lambda each: numbers.get(each, other)
            looked_up = map(of, every)
            self.items = np.fromiter(looked_up, np.int64, int(lengths.sum()))
        except (LookupError, OverflowError) as error:
            raise UnreadableError(f"looks up what has no number in {place}: {error}", place) from None
        self.first = self.items[: lengths[0]].tolist()
        self.piece = Rows(Array.of_uneven(self.items, lengths))

    def fit(self, dtype: str) -> bool:
        """Whether each is the same as a number of a type."""
        return fit(self.items, dtype)


class Laid(Ahead):
    """Arrays, or tensors, of one dimension and one length, parts of which were set to such numbers, or to one number.

    What they are made of is looked at by itself.
    """

    is_list = False

    def __init__(self, of: TextsAhead, whole: Any, ends: Sequence[Integers | None], item: Any) -> None:
        """
        of     texts, of which there are as many
        whole  what they are before: one array or tensor, or what was set before
        ends   where the part begins, and where it ends: None where `whole` does
        item   one number of the same type; None for the numbers of the texts

        Raises UnreadableError where a part has another length than a text.
        """
        before = whole.array if isinstance(whole, Laid) else whole
        is_tensor, extent, count = isinstance(before, torch.Tensor), before.shape[-1], len(of)
        if count * extent * before.itemsize > _LAID_BYTES_MAX:
            raise UnreadableError("sets items of arrays that are too large to be kept")
        made = np.array(np.broadcast_to(np.asarray(before), (count, extent)))
        each = np.arange(count, dtype=np.int64)
        begin, end = (
            np.full(count, other) if one is None else _inside(one.at(each), extent)
            for one, other in zip(ends, (0, extent), strict=True)
        )
        lengths = np.maximum(end - begin, 0)
        if item is None and not np.array_equal(lengths, of.lengths):  # type: ignore[arg-type]
            raise UnreadableError("sets other items than as many as there are")
        columns = np.repeat(begin - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
        made[np.repeat(each, lengths), columns] = of.items if item is None else item
        self.values = made  # type: ignore[assignment]
        self.array = torch.from_numpy(made) if is_tensor else made
        self.piece = Rows(Array.of(made))
        self.piece.in_one_piece = False


def _inside(ends: Indices, extent: int) -> Indices:
    """Where ends of a slice lie in an array."""
    return np.clip(np.where(ends < 0, ends + extent, ends), 0, extent)


# As much is kept for all indices at most.
_LAID_BYTES_MAX = 1 << 28


class TextAhead(Ahead):
    """A text for each index, as it is: Python puts those of a batch beside what the core makes.

    As a piece of computed/.
    """

    is_row, extents, memory, program, inputs, cut, channels_last = True, (), frozenset[int](), None, (), None, False
    listed = True

    def __init__(self, own: OwnCode | ListItems, place: Expression, most: int | None = None) -> None:
        super().__init__(own, place, (str,), most)
