"""What a user's own class takes items of: tensors, numpy arrays, texts, lists of numbers, of tensors and of arrays.

Whatever makes indexing more than that (subclasses of arrays, other containers) keeps the dataset with torch.
"""

from __future__ import annotations

import dataclasses
import mmap
import os
from itertools import chain
from operator import eq, is_
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ....adapters.torch import default_device
from ....arrays.file_array import NUMPY_DTYPES, reach
from ....arrays.mapped import file_of
from ...bytecode import Expression, UnreadableError
from ...collates.collation import collates_plainly
from ...refusal import RefusalError, SourceRefusal
from ...rows import DIMENSIONS_MAX, Array, Owner
from ...trust.look import is_a, name_of
from ..known.arrays import scattered
from ..known.sequences import Listed, Sequences, why_not_sequences
from ..known.tensors import Tensor, checksum, layout_of
from ..reads.stores import StoredArray
from ..tree import Indices
from .integers import INDEX, Integers
from .sources import check_settled


class Base:
    """What items are taken of, as long as `unchanged` says so.

    array  a tensor or an array that says how items lie in memory; of a list of arrays that differ in length, None
    in_lists  items are objects in a list that is there already
    """

    def __init__(
        self,
        place: Expression,
        value: Any,
        path: tuple[Any, ...] = (),
        numbers: dict[str, int] | None = None,
        *,
        records: bool = False,
    ) -> None:
        """`path` are keys that lead from items of a list to what is taken; `numbers` those of a text's characters.

        records  what the last key is of: no items are taken, but all are to have the same type, and length or names
        """
        self.is_list = self.in_lists = type(value) in (list, tuple)
        self._place = place
        self._kept: Indices | None = None
        # Of a list the items that are read, of an array those that others are taken by: what has to stay as it is.
        self._read: list[Integers] = []
        self.piece: Tensor | NumpyArray | Stored | Numbers | Uneven | Characters | Sequences
        try:
            listed = Listed(value, path) if self.is_list else None
            self.first = listed.elements[0] if listed is not None and listed.elements else None
            if numbers is not None:
                self.piece = Characters(value, numbers)
            elif records and listed is not None:
                self.piece = Records(listed)  # type: ignore[assignment] # of which no items are taken
            else:
                self.piece = _piece(value) if listed is None else _piece_of(listed)
        except RefusalError as error:
            why = error.refusal.why
            raise UnreadableError(f"takes items of {place}, which is {why}", place) from None
        self.array: Any = value
        self.stored = self.piece if isinstance(self.piece, Stored) else None
        if self.stored is not None:
            self.array = self.stored.alike()
        elif isinstance(self.piece, Uneven):
            self.array = None
        elif isinstance(self.piece, Numbers | Characters):
            self.array = self.piece.items
        elif isinstance(self.piece, Sequences):
            self.array = self.piece.alike()

    def fit(self, dtype: str) -> bool:
        """Whether each of the numbers in lists that differ in length is the same as a number of a type."""
        return isinstance(self.piece, Uneven) and fit(self.piece.items, dtype)

    def reads(self, integers: Integers) -> None:
        """Items are taken by these."""
        if self.is_list and integers not in self._read:
            self._read.append(integers)

    def numbers(self, integers: Integers) -> Indices:
        """Its items, to take others by them, kept as they are now."""
        if self.stored is not None:
            raise UnreadableError(f"takes items by those of {self._place}, which are in a file")
        if self._kept is None:
            array = self.array.numpy() if isinstance(self.array, torch.Tensor) else self.array
            if array.ndim != 1 or array.dtype.kind not in "iu" or array.dtype == np.uint64:
                raise UnreadableError(f"takes items by those of {self._place}, which are no integers")
            check_settled(array, self._place)
            self._kept = np.array(array, np.int64)
        if integers not in self._read:
            self._read.append(integers)
        return self._kept

    def unchanged(self, value: Any, at: Indices | None) -> bool:
        """True if `value` is what was given, and what is read of it ahead, for these indices (None: all), the same."""
        piece: Any = self.piece
        if self.is_list:
            for integers in self._read if at is not None else (None,):
                if not piece.unchanged(value, integers and self._rows(integers, at)):
                    return False
            return True
        if not piece.unchanged(value):
            return False
        if not self._read:
            return True
        assert self._kept is not None
        array = value.numpy() if isinstance(value, torch.Tensor) else value
        if at is None:
            return bool(np.array_equal(array, self._kept))
        found = (self._rows(integers, at) for integers in self._read)
        return all(np.array_equal(array[rows], self._kept[rows]) for rows in found)

    def _rows(self, integers: Integers, at: Any) -> Indices:
        if integers is INDEX:
            found: Indices = at
            return found
        rows = integers.at(at)
        return rows[(rows >= 0) & (rows < len(self.piece))]


def _piece(value: Any) -> Tensor | NumpyArray | Stored:
    """Raises RefusalError."""
    if is_a(value, torch.Tensor):
        return Tensor(value)
    if isinstance(value, StoredArray):
        return Stored(value)
    why = f"a {name_of(value)}, not a tensor, a numpy array or a list of numbers, tensors or arrays"
    if type(value) in (np.ndarray, np.memmap):
        why = _why_not_array(value)
    if why:
        raise SourceRefusal("", why, "CODE_UNREAD")
    return NumpyArray(value)


def _piece_of(listed: Listed) -> Numbers | Uneven | Sequences:
    """Raises RefusalError."""
    elements = listed.elements
    arrays = bool(elements) and is_a(elements[0], torch.Tensor, np.ndarray)
    if arrays:
        why = why_not_sequences(elements) or _why_not_mapped(elements) or why_not_collated(elements[0])
    elif elements and type(elements[0]) in (list, tuple):
        uneven = Uneven.takes(elements)
        why = "" if uneven else _why_not_rows(elements) or why_not_numbers(list(chain.from_iterable(elements)))
        if uneven:
            return Uneven(listed)
    else:
        why = why_not_numbers(elements)
    if why:
        raise SourceRefusal("", why, "CODE_UNREAD")
    return Sequences(listed) if arrays else Numbers(listed)


def like(array: Any) -> Any:
    """An item of an array by its first dimension, or one like it where there is none."""
    if len(array):
        return array[0]
    if isinstance(array, torch.Tensor):
        return torch.empty(array.shape[1:], dtype=array.dtype)
    return np.zeros(array.shape[1:], array.dtype)[()]


class NumpyArray(Owner):
    """A numpy array."""

    def __init__(self, array: Any) -> None:
        self.given = array
        self._layout = layout_of(array)
        # A map's file may shrink, which kills whoever looks at the map: its rows are read from the file.
        self.file = file_of(array)
        self._inode = self._stat()
        self.array = dataclasses.replace(Array.of(self.file or array), owner=self)

    def __len__(self) -> int:
        return len(self.array)

    def _stat(self) -> Any:
        try:
            return None if self.file is None else os.stat(self.file.path)[1:3]  # inode and device
        except OSError:
            return False

    def unchanged(self, array: Any) -> bool:
        return array is self.given and layout_of(array) == self._layout and self._stat() == self._inode

    def version(self) -> int:
        """Another number once the items were changed: numpy keeps none, so they are all looked at.

        A map that workers share is the file itself, whoever writes into it.
        """
        if self.file is not None:
            return 0
        return checksum(self.given)


class Stored(Owner):
    """An array of h5py or zarr, in a file."""

    def __init__(self, given: StoredArray) -> None:
        array, why = given.array, ""
        if array.dtype not in NUMPY_DTYPES or not array.numpy_dtype.isnative:
            why = f"an array of {array.numpy_dtype}"
        elif not 1 <= array.ndim <= DIMENSIONS_MAX:
            why = f"an array of {array.ndim} dimensions"
        elif scattered(array):
            why = f"an array whose rows are scattered over {array.path}"
        scalar = array.ndim == 1 and not given.is_zarr
        why = why or why_not_collated(array.numpy_dtype.type() if scalar else np.zeros(1, array.numpy_dtype))
        if why:
            raise SourceRefusal("", why, "CODE_UNREAD")
        self.given = given
        self.array = dataclasses.replace(Array.of(array), owner=self)

    def __len__(self) -> int:
        return len(self.array)

    def copy(self, sample: Any, keys: tuple[Any, ...]) -> Any:
        """What the library gives where numpy gives `sample`, by an index and some more keys: an array of its own.

        Raises UnreadableError for keys that the libraries do not take.
        """
        if any(each is None or (isinstance(each, slice) and each.step is not None and each.step < 1) for each in keys):
            raise UnreadableError("takes items in a way that h5py and zarr do not know")
        return np.array(sample) if isinstance(sample, np.ndarray) or self.given.is_zarr else sample

    def alike(self) -> NDArray[Any]:
        """An array of zeros whose items lie as those of the file do. It takes no memory."""
        array = self.given.array
        size = max(1, reach(array.shape, array.strides, array.numpy_dtype.itemsize))
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ)
        return np.ndarray(array.shape, array.numpy_dtype, memory, strides=array.strides)

    def unchanged(self, given: Any) -> bool:
        return given is self.given


class Numbers:
    """A list of Python's numbers, or of numpy's, or of lists of as many each, as an array of our own."""

    def __init__(self, listed: Listed) -> None:
        self._listed = listed
        first = listed.elements[0]
        # Of each list what was in it; a tuple stays as it is.
        self._rows = list(map(tuple, listed.elements)) if type(first) is list else None
        kind = type(first[0] if type(first) in (list, tuple) else first)
        self.items = np.array(listed.elements, PYTHON.get(kind, kind))
        self.array = Array.of(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def unchanged(self, given: Any, at: Indices | None) -> bool:
        """True if the same objects are in it: equal ones (1 and True) may not make the same batch."""
        rows = None if at is None else at.tolist()
        now = self._listed.same(given, rows)
        if now is None or self._rows is None:
            return now is not None
        kept = self._rows if rows is None else [self._rows[i] for i in rows]
        same_lengths = all(map(eq, map(len, now), map(len, kept)))
        return same_lengths and all(map(is_, chain.from_iterable(now), chain.from_iterable(kept)))


class Uneven(Numbers):
    """A list of lists of ints that differ in length, as an array of our own with all of them."""

    in_one_piece = True
    extents: tuple[int, ...] = ()

    def __init__(self, listed: Listed) -> None:
        self._listed = listed
        elements = listed.elements
        self._rows = list(map(tuple, elements)) if type(elements[0]) is list else None
        lengths = np.fromiter(map(len, elements), np.int64, len(elements))
        self.items = np.fromiter(chain.from_iterable(elements), np.int64, int(lengths.sum()))
        self.array = Array.of_uneven(self.items, lengths)

    def __len__(self) -> int:
        return len(self.array)

    @staticmethod
    def takes(elements: list[Any]) -> bool:
        """Whether elements of a list are such."""
        if set(map(type, elements)) not in ({list}, {tuple}) or len(lengths := set(map(len, elements))) < 2:
            return False
        count = sum(map(len, elements))
        whole = chain.from_iterable(elements)
        return 0 not in lengths and count <= _NESTED_MAX and set(map(type, whole)) == {int} and _fit(elements)


def _fit(lists: list[Any]) -> bool:
    """Whether all numbers in lists fit an int64."""
    least, most = min(map(min, lists)), max(map(max, lists))
    return bool(least >= -(2**63) and most < 2**63)


# Integers up to which a float is equal to them.
_EXACT = {"float32": 1 << 24, "float64": 1 << 53}


def fit(numbers: NDArray[np.int64], dtype: str) -> bool:
    """Whether each is the same as a number of a type."""
    if not len(numbers):
        return True
    low, high = int(numbers.min()), int(numbers.max())
    if dtype.startswith("float"):
        return max(-low, high) <= _EXACT[dtype] if dtype in _EXACT else False
    return "int" in dtype and np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max


class Records:
    """Lists, tuples or dicts that are all alike, in a list: of one type, and of one length or with the same names."""

    def __init__(self, listed: Listed) -> None:
        self._listed = listed

    def __len__(self) -> int:
        return len(self._listed.elements)

    def unchanged(self, given: Any, at: Indices | None) -> bool:
        """True if they are the same ones, and still alike."""
        return self._listed.same(given, None if at is None else at.tolist()) is not None


class Characters:
    """A text, of whose characters each has a number, as an array of our own."""

    def __init__(self, text: Any, numbers: dict[str, int]) -> None:
        if type(text) is not str or not text:
            raise SourceRefusal("", f"a {name_of(text)}, not a text", "CODE_UNREAD")
        self.given = text
        used = set(text)
        if left := sorted(used - numbers.keys()):
            raise SourceRefusal("", f"a text with {left[0]!r}, which has no number", "CODE_UNREAD")
        each = [numbers[character] for character in used]
        dtype = next(
            (kind for kind in _INTEGERS if min(each) >= np.iinfo(kind).min and max(each) <= np.iinfo(kind).max), None
        )
        if dtype is None:
            raise SourceRefusal("", "a text whose characters have numbers that do not fit an int64", "CODE_UNREAD")
        table = np.zeros(ord(max(used)) + 1, dtype)
        table[list(map(ord, used))] = each
        parts = (text[at : at + _CHARACTERS] for at in range(0, len(text), _CHARACTERS))
        self.items = np.concatenate([table[_code_points(part)] for part in parts])
        self.array = Array.of(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def unchanged(self, text: Any) -> bool:
        return text is self.given


# So many are looked up at a time.
_CHARACTERS = 1 << 20
# What their numbers are kept as.
_INTEGERS = (np.uint8, np.int16, np.int32, np.int64)


def _code_points(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


# Numbers in lists are held once more as objects, and once as an array.
_NESTED_MAX = 1 << 24

# What torch makes of Python's numbers in a batch.
PYTHON: dict[type, Any] = {int: np.int64, float: np.float64, bool: np.bool_}


def _why_not_array(array: Any) -> str:
    """Why batches of rows of a numpy array are not what lies in memory; empty if they are."""
    if array.dtype.name not in NUMPY_DTYPES or array.dtype != np.dtype(array.dtype.name):
        return f"an array of {array.dtype}"
    if not 1 <= array.ndim <= DIMENSIONS_MAX:
        return f"an array of {array.ndim} dimensions"
    # torch refuses such rows, in words of its own.
    if any(stride < 0 or stride % array.itemsize for stride in array.strides[1:]):
        return "an array with strides that torch does not take"
    if why := _why_not_mapped([array]):
        stored = file_of(array)
        if stored is None:
            return why
        if scattered(stored):
            return f"an array whose rows are scattered over {stored.path}"
    return why_not_collated(array[:1] if array.ndim > 1 else array.dtype.type())


def _why_not_mapped(arrays: Any) -> str:
    """Arrays over memory that may not be there when it is read; empty if there is none."""
    seen: set[int] = set()
    for base in arrays:
        while base is not None and id(base) not in seen and not is_a(base, torch.Tensor):
            seen.add(id(base))
            if is_a(base, mmap.mmap, np.memmap):
                return "mapped from a file, which may shrink while it is read"
            base = base.base if is_a(base, np.ndarray) else base.obj if type(base) is memoryview else None
    return ""


def _why_not_rows(rows: Any) -> str:
    """Why lists are no rows of numbers."""
    if set(map(type, rows)) not in ({list}, {tuple}) or len(set(map(len, rows))) > 1 or not rows[0]:
        return "a list of lists that differ in length"
    return f"a list of {len(rows) * len(rows[0])} numbers in lists" if len(rows) * len(rows[0]) > _NESTED_MAX else ""


def why_not_numbers(numbers: Any) -> str:
    """Why they are no numbers of one type that batches have; empty if they are."""
    kinds = set(map(type, numbers))
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind is None or not (kind in PYTHON or (issubclass(kind, np.generic) and np.dtype(kind).name in NUMPY_DTYPES)):
        return f"a {type(numbers).__name__}, not of numbers of one type"
    if kind is int and not -(2**63) <= min(numbers) <= max(numbers) < 2**63:
        return "a list with numbers that do not fit an int64"
    return why_not_collated(kind())


def why_not_collated(sample: Any) -> str:
    """Why torch's default_collate would make something else of samples like this one."""
    if isinstance(sample, torch.Tensor):
        return ""
    if type(sample) is np.uint64:
        return "of uint64, of which torch makes no batch"
    if not collates_plainly(sample):
        return f"of {type(sample).__name__}, for which default_collate_fn_map was changed"
    if default_device().type != "cpu":
        return f"not a tensor, and would go to the default device, {default_device()}"
    return ""
