"""A user's own class whose `__getitem__` only takes rows of attributes, as `return self.x[index], self.y[index]`.

That it does is read from its bytecode (plan/bytecode.py), and what it takes rows of from the object: tensors, numpy
arrays, lists of numbers, and lists of tensors or of arrays that differ in length at most. Nothing of the class is run.
Whatever makes attribute look-up or indexing more than that (properties, slots, `__getattr__`, subclasses of arrays)
keeps the dataset with torch.
"""

from __future__ import annotations

import dataclasses
import mmap
import operator
import os
import zlib
from typing import Any

import numpy as np
import torch

from ...arrays.mapped import file_of
from ..bytecode import Attribute, Call, Display, Expression, Index, Item, Mapping, UnreadableError
from ..collate import collates_plainly
from ..look import is_a, name_of
from ..refusal import RefusalError
from ..rows import DIMENSIONS_MAX, Array
from ..structure import Structure
from .arrays import scattered
from .own import OwnCode
from .sequences import Sequences, why_not_sequences
from .tensors import Tensor
from .tree import Column, Indices, Node

__all__ = ["Gather"]


@dataclasses.dataclass(frozen=True)
class Row:
    """place[index]

    place  an attribute, or what constant keys lead to from there
    calls  what is made of it, one after the other: methods, and functions of torch's
    """

    place: Expression
    calls: tuple[str, ...] = ()

    def __str__(self) -> str:
        return str(self.place).removeprefix("self.")


class Gather(Node):
    """A dataset of a class of the user's.

    Its length is that of the attributes, whatever `__len__` says: that is what `__getitem__` goes by.
    """

    note = "its __getitem__ only takes rows: read from its bytecode"

    def __init__(self, own: OwnCode) -> None:
        self.dataset = own.dataset
        self._own = own
        self.rows: list[Row] = []
        try:
            for loose in own.reading.loose:
                raise UnreadableError(f"evaluates what it does not give: {loose}", loose)
            self.structure = self._structure(own.reading.result)
            self.pieces = [_piece(own, row) for row in self.rows]
        except UnreadableError as error:
            raise own.unread(error) from None
        self.length = len(self.pieces[0])
        if any(len(piece) != self.length for piece in self.pieces):
            raise own.refusal("attributes differ in length")
        self.columns = tuple(Column((piece,), piece.spec) for piece in self.pieces)
        self._row_places = tuple(row.place for row in self.rows)

    def _structure(self, given: Expression) -> Structure:
        """The structure of a sample; numbers its fields."""
        if isinstance(given, Display) and given.items:
            return tuple(map(self._structure, given.items))
        if isinstance(given, Mapping) and given.items:
            return dict(zip(given.names, map(self._structure, given.items), strict=True))
        self.rows.append(self._row(given))
        return len(self.rows) - 1

    def _row(self, given: Expression) -> Row:
        """A row that is given. Raises UnreadableError if it is anything else."""
        match given:
            case Item(owner=place, key=Index()):
                return Row(place)
            case Call(function=Attribute(owner=inner, name=name), arguments=(), options=()) if name in _METHODS:
                row = self._row(inner)
                return Row(row.place, (*row.calls, name))
            case Call(function=function, arguments=(inner,), options=()):
                called = self._own.means(function)
                name = next((name for name, known in _FUNCTIONS.items() if called is known), "")
                if name:
                    row = self._row(inner)
                    return Row(row.place, (*row.calls, name))
        raise UnreadableError(f"does more than take rows of attributes: it gives {given}", given)

    def unchanged(self, dataset: Any, at: Indices | None) -> bool:
        return self._own.unchanged(dataset) and all(
            piece.unchanged(value, at) if isinstance(piece, _Numbers | Sequences) else piece.unchanged(value)
            for piece, value in zip(self.pieces, self._places(), strict=True)
        )

    def _places(self) -> list[Any]:
        """What rows are taken of; None where that is not there any more."""
        try:
            return self._own.values(self._row_places)
        except UnreadableError:
            return [None] * len(self.rows)


def _why_not_called(value: Any, row: Row) -> str:
    """Why the calls of a row fail, warn, or give other numbers; empty if they do not."""
    kind = "tensor" if is_a(value, torch.Tensor) else "array"
    if not is_a(value, torch.Tensor, np.ndarray):
        kind = "number"
    warns = kind == "array" and not value.flags.writeable
    if kind == "array" and value.ndim == 1:
        kind = "number"  # of numpy's
    for name in row.calls:
        known = {
            "array": ("copy", "as_tensor", "from_numpy", "tensor"),
            "number": ("as_tensor", "tensor"),
            "tensor": ("as_tensor", "clone"),
        }[kind]
        if name not in known:
            return f"of {kind}s, of which it calls {name}"
        if isinstance(value, list | tuple) and type(value[0]) is float:
            return "of Python's floats, which become torch's default dtype"
        if name in ("as_tensor", "from_numpy") and kind == "array" and warns:
            return "of arrays that cannot be written, of which torch warns"
        warns = warns and name != "copy"
        kind = "tensor" if name in _FUNCTIONS else kind
    return ""


def _piece(own: OwnCode, row: Row) -> Tensor | _NumpyArray | _Numbers | Sequences:
    value = own.value(row.place)
    if is_a(value, torch.Tensor):
        if why := _why_not_called(value, row):
            raise own.refusal(f"its {row} is {why}")
        try:
            return Tensor(value)
        except RefusalError as error:
            raise own.refusal(error.refusal.why) from None
    if type(value) in (np.ndarray, np.memmap):
        why = _why_not_array(value)
    elif type(value) in (list, tuple):
        if value and is_a(value[0], torch.Tensor, np.ndarray):
            why = "a list of which it calls more than rows" if row.calls else ""
            why = why or why_not_sequences(value) or _why_not_mapped(value) or _why_not_numpy(value[0])
            if not why:
                return Sequences(value)
        else:
            why = _why_not_numbers(value)
    else:
        why = f"a {name_of(value)}, not a tensor, a numpy array or a list of numbers, tensors or arrays"
    if why := why or _why_not_called(value, row):
        raise own.refusal(f"its {row} is {why}")
    tensors = any(call in _FUNCTIONS for call in row.calls)
    return _NumpyArray(value, tensors) if isinstance(value, np.ndarray) else _Numbers(value, tensors)


class _NumpyArray:
    """A numpy array, of which torch makes tensors: of rows (numpy arrays), or of single items (numpy scalars).

    tensors  the user's code makes them itself
    """

    def __init__(self, array: Any, tensors: bool) -> None:
        self.given = array
        self._layout = _layout(array)
        # A map's file may shrink, which kills whoever looks at the map: its rows are read from the file.
        self.file = file_of(array)
        self._inode = self._stat()
        self.array = dataclasses.replace(Array.of(self.file or array), owner=self)
        kind = "numpy array" if array.ndim > 1 else "numpy scalar"
        spec = (array.dtype.name, tuple(array.shape[1:]), _torch_name(array.dtype))
        self.spec = spec if tensors else (*spec, kind)

    def __len__(self) -> int:
        return len(self.array)

    def _stat(self) -> Any:
        try:
            return None if self.file is None else os.stat(self.file.path)[1:3]  # inode and device
        except OSError:
            return False

    def unchanged(self, array: Any) -> bool:
        return array is self.given and _layout(array) == self._layout and self._stat() == self._inode

    def version(self) -> int:
        """Another number once the items were changed: numpy keeps none, so they are all looked at.

        A map that workers share is the file itself, whoever writes into it.
        """
        if self.file is not None:
            return 0
        items: Any = np.ascontiguousarray(self.given).reshape(-1).view(np.uint8)
        return zlib.crc32(items)

    def hold(self) -> None:
        """Nothing to do: ndarray.resize() refuses an array that somebody else refers to."""


class _Numbers:
    """A list of Python's numbers, or of numpy's, as an array of our own.

    tensors  the user's code makes tensors of them
    """

    def __init__(self, numbers: Any, tensors: bool) -> None:
        self._numbers = list(numbers)
        kind = type(self._numbers[0])
        self.items = np.array(self._numbers, _NUMBERS.get(kind, kind))
        self.array = dataclasses.replace(Array.of(self.items), owner=self)
        spec = (self.items.dtype.name, (), _torch_name(self.items.dtype))
        self.spec = spec if tensors else (*spec, kind.__name__)
        self.given = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def unchanged(self, numbers: Any, at: Indices | None) -> bool:
        """True if the same objects are in it: equal ones (1 and True) may not make the same batch."""
        if numbers is not self.given or len(numbers) != len(self._numbers):
            return False
        if at is None:
            return all(map(operator.is_, numbers, self._numbers))
        return all(numbers[i] is self._numbers[i] for i in at.tolist())

    def version(self) -> int:
        """Always 0: `unchanged` sees a change of a list."""
        return 0

    def hold(self) -> None:
        """Nothing to do: the array is ours."""


# What torch makes of Python's numbers in a batch.
_NUMBERS: dict[type, Any] = {int: np.int64, float: np.float64, bool: np.bool_}

# What may be called of a row, and of torch with one: its numbers stay as they are.
_METHODS = ("clone", "copy")
_FUNCTIONS = {name: getattr(torch, name) for name in ("as_tensor", "from_numpy", "tensor")}

# numpy's dtypes that torch has too.
_DTYPES = (
    "bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64",
    "complex64", "complex128",
)  # fmt: skip


def _layout(array: Any) -> tuple[Any, ...]:
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype


def _torch_name(dtype: np.dtype[Any]) -> str:
    return str(torch.from_numpy(np.empty(0, dtype)).dtype).removeprefix("torch.")


def _why_not_array(array: Any) -> str:
    """Why batches of rows of a numpy array are not what lies in memory; empty if they are."""
    if array.dtype.name not in _DTYPES or array.dtype != np.dtype(array.dtype.name):
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
    return _why_not_numpy(array[:1] if array.ndim > 1 else array.dtype.type())


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


def _why_not_numbers(numbers: Any) -> str:
    kinds = set(map(type, numbers))
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind is None or not (kind in _NUMBERS or (issubclass(kind, np.generic) and np.dtype(kind).name in _DTYPES)):
        return f"a {type(numbers).__name__}, not of numbers of one type"
    if kind is int and not -(2**63) <= min(numbers) <= max(numbers) < 2**63:
        return "a list with numbers that do not fit an int64"
    return _why_not_numpy(kind())


def _why_not_numpy(sample: Any) -> str:
    """Why torch's default_collate would make something else of samples like this one."""
    if isinstance(sample, torch.Tensor):
        return ""
    if type(sample) is np.uint64:
        return "of uint64, of which torch makes no batch"
    if not collates_plainly(sample):
        return f"of {type(sample).__name__}, for which default_collate_fn_map was changed"
    if torch.get_default_device().type != "cpu":
        return f"not a tensor, and would go to the default device, {torch.get_default_device()}"
    return ""
