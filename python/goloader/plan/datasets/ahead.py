"""What a `__getitem__` of the user's own has for each index, and is worked out ahead: numbers, texts as the numbers of
their characters or words, and paths of .npy files, which the core reads.

    label = self.numbers[self.table.iloc[index]["name"]]
    tokens = torch.tensor([self.numbers[word] for word in self.texts[index].split()])
    spectrogram = torch.from_numpy(np.load(os.path.join(self.root, self.names[index])))

Each is as bases.Base: what items are taken of, by the index.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from ...arrays.file_array import NUMPY_DTYPES, contiguous
from ...arrays.npy import MAGIC
from ..bytecode import Expression, UnreadableError
from ..paths import Files
from ..refusal import RefusalError
from ..rows import DIMENSIONS_MAX, Array, NpyFiles
from .bases import Numbers, fit, why_not_collated, why_not_numbers
from .columns import Columns
from .integers import Integers
from .own import ERRORS, ListItems, OwnCode, length_of
from .sequences import Listed
from .sources import PATHS, Sources
from .tree import Indices, alike


class Ahead:
    """Values of an expression, one for each index.

    place     the expression
    columns   that work it out
    values    these
    axis      along which they differ, and
    lengths   [values] int64, their extents there; None where they are alike, or are no arrays
    """

    axis: int | None = None
    lengths: Indices | None = None
    is_list, in_lists, stored = True, False, None
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
        self._sources = Sources(self.columns.sources)

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
            if self._sources.stands():
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
            self._numbers = np.fromiter(looked_up, np.int64, int(lengths.sum()))
        except (LookupError, OverflowError) as error:
            raise UnreadableError(f"looks up what has no number in {place}: {error}", place) from None
        self.first = self._numbers[: lengths[0]].tolist()
        ends = np.cumsum(lengths)
        whole = Array.of(self._numbers)
        self.piece = Rows(
            Array(
                whole.address, (len(self),), (0,), self._numbers, begins=8 * (ends - lengths), lengths=lengths,
                bytes=self._numbers.nbytes,
            )
        )  # fmt: skip

    def fit(self, dtype: str) -> bool:
        """Whether each is the same as a number of a type."""
        return fit(self._numbers, dtype)


class TextAhead(Ahead):
    """A text for each index, as it is: Python puts those of a batch beside what the core makes.

    As a piece of computed.py.
    """

    is_row, extents, memory, program, inputs, cut, channels_last = True, (), frozenset[int](), None, (), None, False
    listed = True

    def __init__(self, own: OwnCode | ListItems, place: Expression, most: int | None = None) -> None:
        super().__init__(own, place, (str,), most)


class NpyAhead(Ahead):
    """Arrays that are in a .npy file each, as np.load gives them, of the same shape, but for one extent perhaps.

    Only headers are read here: some, to see whether extents differ, and all where one does. The core looks at the
    header of each file that it reads: of one that has another array, the dataset's own code makes the batch.

    first  an array like the first one
    """

    is_list = False

    def __init__(self, own: OwnCode | ListItems, place: Expression) -> None:
        super().__init__(own, place, PATHS)
        try:
            self._files = Files.of((path, 0) for path in self.values)
        except RefusalError as error:
            raise UnreadableError(f"opens {place}, of which {error.refusal.why}", place) from None
        found, took = {}, []
        for number in _spread(len(self)):
            begun = time.perf_counter()
            found[number] = self._header(number)
            took.append(time.perf_counter() - begun)
        self._headers_s = sorted(took)[len(took) // 2] * len(self)
        before, shape, after = self._first(found[0])
        self.first = np.zeros(shape, self._dtype)
        if why := why_not_collated(self.first):
            raise UnreadableError(f"reads {place}, of which an array is {why}", place)
        size = self.first.nbytes
        if set(found.values()) == {found[0]}:
            begins = np.arange(len(self) + 1, dtype=np.int64) * size
            npy = NpyFiles(self._files, begins, None, found[0], "")
            strides = contiguous((len(self), *shape), self.first.itemsize)
            self.piece = Rows(Array(0, (len(self), *shape), strides, npy, path=self._path(0), npy=npy))
            self.piece.in_one_piece = False
            # Nobody looks at its items.
            self.array = np.lib.stride_tricks.as_strided(self.first, (len(self), *shape), strides, writeable=False)
        else:
            self.axis = self._axis(shape, before, after, found.values())
            self.piece = Rows(self._of_any_length(before, shape, after), self.extents if self.axis else ())

    def _path(self, number: int) -> str:
        return os.fsdecode(self._files.name(number))

    def _header(self, number: int) -> str:
        """A header's text; "" of what has none."""
        try:
            file = os.open(self._files.name(number), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return ""
        try:
            return _text_of(os.read(file, _HEADER_USUAL), file)
        except OSError:
            return ""
        finally:
            os.close(file)

    def _first(self, text: str) -> tuple[str, tuple[int, ...], str]:
        """The first header's shape, and its text before and behind that. Raises UnreadableError."""
        found = _HEADER.fullmatch(text)
        if found is None:
            raise UnreadableError(f"opens {self._path(0)}, which is no array that numpy wrote in C's order", self.place)
        try:
            self._dtype = np.dtype(found["dtype"])
        except TypeError:
            raise UnreadableError(f"opens {self._path(0)}, an array of {found['dtype']}", self.place) from None
        if self._dtype.name not in NUMPY_DTYPES or not self._dtype.isnative:
            raise UnreadableError(f"opens {self._path(0)}, an array of {self._dtype}", self.place)
        shape = _shape(found["shape"])
        if (
            len(shape) >= DIMENSIONS_MAX
            or not 0 < int(np.prod(shape, dtype=object)) * self._dtype.itemsize < _BYTES_MAX
        ):
            raise UnreadableError(f"opens {self._path(0)}, an array of the shape {shape}", self.place)
        return found["before"], shape, found["after"]

    def _axis(self, shape: tuple[int, ...], before: str, after: str, texts: Iterable[str]) -> int:
        """Along which arrays differ, by some headers. Raises UnreadableError where more differs."""
        if not shape:
            raise UnreadableError(f"opens {self.place}, numbers and arrays", self.place)
        axes = set()
        for text in texts:
            found = _HEADER.fullmatch(text)
            other = () if found is None else _shape(found["shape"])
            if found is not None and (found["before"], found["after"]) == (before, after) and len(other) == len(shape):
                axes |= {axis for axis, (one, extent) in enumerate(zip(shape, other, strict=True)) if one != extent}
        if len(axes) > 1:
            raise UnreadableError(f"opens {self.place}, arrays that differ in more than one extent", self.place)
        return axes.pop() if axes else 0

    @property
    def extents(self) -> tuple[int, ...]:
        """Of each array's shape; -1 for the one that differs."""
        return tuple(-1 if axis == self.axis else extent for axis, extent in enumerate(self.first.shape))

    def _of_any_length(self, before: str, shape: tuple[int, ...], after: str) -> Array:
        """Raises UnreadableError where more than one extent differs, or where it takes long to find out."""
        if self._headers_s > _HEADERS_S_MAX:
            why = f"whose headers take {self._headers_s:.0f} s to read, of {len(self)} files"
            raise UnreadableError(f"opens {self.place}, {why}", self.place)
        assert self.axis is not None
        head, tail = _around(shape, self.axis)
        head, tail = before + head, tail + after
        extents = np.full(len(self), _OTHER, np.int64)
        each = int(np.prod(shape, dtype=np.int64)) // shape[self.axis]  # numbers there are of one more
        for number in range(len(self)):
            text = self._header(number)
            middle = text[len(head) : len(text) - len(tail)]
            found = text.startswith(head) and text.endswith(tail) and middle.isdecimal() and len(middle) < _DIGITS_MAX
            if found and 0 < int(middle) * each * self.first.itemsize < _BYTES_MAX:
                extents[number] = int(middle)
        if (extents == _OTHER).sum() > _OTHERS_MAX * len(self):
            raise UnreadableError(f"opens {self.place}, arrays that differ in more than one extent", self.place)
        # Of the first extent, rows have as many items; of another, as many numbers.
        item = tuple(shape[1:]) if self.axis == 0 else ()
        self.lengths = np.where(extents == _OTHER, 1, extents)
        lengths = self.lengths if self.axis == 0 else self.lengths * each
        begins = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.lengths * each * self.first.itemsize)])
        npy = NpyFiles(self._files, begins, extents, head, tail)
        strides = (0, *contiguous(item, self.first.itemsize))
        return Array(
            0, (len(self), *item), strides, npy, path=self._path(0), begins=begins[:-1], lengths=lengths, npy=npy
        )


# As numpy writes it.
_HEADER = re.compile(
    r"(?P<before>\{'descr': '(?P<dtype>[^']+)', 'fortran_order': False, 'shape': )"
    r"(?P<shape>\((?:\d+,(?: \d+(?:, \d+)*)?)?\))(?P<after>, \})"
)
_HEADER_USUAL, _HEADER_MAX = 128, 4096
_BYTES_MAX = 1 << 40  # of an array
# All headers are read before the first batch comes; of files that were read in one epoch that is quick in the next.
_HEADERS_S_MAX = 2.0
_DIGITS_MAX = len(str(_BYTES_MAX)) + 1
# Files that are looked at to see whether lengths differ.
_SPREAD = 8
# The extent of an array that is another than all others, or is not there: no header says so.
_OTHER = -1
# The share of such files, of each of which the dataset's own code makes a whole batch.
_OTHERS_MAX = 0.01


def _spread(count: int) -> list[int]:
    return sorted({number * (count - 1) // max(1, _SPREAD - 1) for number in range(_SPREAD)})


def _text_of(content: bytes, file: int) -> str:
    """The text of the header that a file's first bytes begin, of which `file` has the others; "" of what is none."""
    if content[:6] != MAGIC or content[6:8] not in (b"\1\0", b"\2\0", b"\3\0") or len(content) < 12:
        return ""
    begin, size = (10, content[8:10]) if content[6] == 1 else (12, content[8:12])
    end = begin + int.from_bytes(size, "little")
    if end > _HEADER_MAX:
        return ""
    if len(content) < end:
        content += os.read(file, end - len(content))
    return content[begin:end].rstrip(b" \n").decode("latin-1") if len(content) >= end else ""


def _shape(text: str) -> tuple[int, ...]:
    """A shape as it is written."""
    return tuple(map(int, re.findall(r"\d+", text)))


def _around(shape: tuple[int, ...], axis: int) -> tuple[str, str]:
    """What is written of a shape before one of its extents, and behind it."""
    extents = list(map(str, shape))
    head = "".join(f"{each}, " for each in extents[:axis])
    tail = "".join(f", {each}" for each in extents[axis + 1 :])
    return f"({head}", f"{tail})" if len(shape) > 1 else ",)"
