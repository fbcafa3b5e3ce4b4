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
from types import FunctionType, GetSetDescriptorType
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from ...arrays.mapped import file_of
from ..bytecode import FUNCTIONS, Composed, Row, UnreadableError, rows_of
from ..collate import collates_plainly
from ..refusal import RefusalError
from ..rows import DIMENSIONS_MAX, Array
from ..structure import Structure
from .arrays import scattered
from .sequences import Sequences, why_not_sequences
from .tensors import Tensor
from .tree import Column, Indices, Node, name_of

__all__ = ["Gather"]


class Gather(Node):
    """A dataset of a class of the user's.

    Its length is that of the attributes, whatever `__len__` says: that is what `__getitem__` goes by.
    """

    note = "its __getitem__ only takes rows: read from its bytecode"

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        self.kind = type(dataset)
        self.function = _getitem(dataset)
        self.code = self.function.__code__
        try:
            composed = rows_of(self.function)
        except UnreadableError as error:
            raise _refusal(dataset, f"__getitem__ {error}") from None
        self.rows: list[Row] = []
        self.structure = self._structure(composed)
        if why := _why_not_looked_up(dataset, self.rows) or _why_not_torch(self.function, self.rows):
            raise _refusal(dataset, why)
        self.pieces = [_piece(dataset, row) for row in self.rows]
        self.length = len(self.pieces[0])
        if any(len(piece) != self.length for piece in self.pieces):
            raise _refusal(dataset, "attributes differ in length")
        self.columns = tuple(Column((piece,), piece.spec) for piece in self.pieces)

    def _structure(self, composed: Composed) -> Structure:
        """The structure of a sample; numbers its fields."""
        if isinstance(composed, Row):
            self.rows.append(composed)
            return len(self.rows) - 1
        if isinstance(composed, dict):
            return {name: self._structure(each) for name, each in composed.items()}
        return tuple(map(self._structure, composed))

    def unchanged(self, dataset: Any, at: Indices | None) -> bool:
        if dataset is not self.dataset or type(dataset) is not self.kind:
            return False
        try:
            function = _getitem(dataset)
        except RefusalError:
            return False
        return (
            function is self.function
            and function.__code__ is self.code
            and not _why_not_looked_up(dataset, self.rows)
            and not _why_not_torch(function, self.rows)
            and all(
                piece.unchanged(_attribute(dataset, row), at)
                if isinstance(piece, _Numbers | Sequences)
                else piece.unchanged(_attribute(dataset, row))
                for piece, row in zip(self.pieces, self.rows, strict=True)
            )
        )


def _refusal(dataset: Any, why: str) -> RefusalError:
    kind = type(dataset)
    return RefusalError(
        "source", name_of(dataset), f"goloader does not know {kind.__module__}.{kind.__qualname__}: {why}"
    )


def _in_class(kind: type, name: str) -> Any:
    """What a class, or a base of it, has by that name; None for nothing. Runs no descriptor."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)


def _getitem(dataset: Any) -> FunctionType:
    """The function that `dataset[index]` calls. Raises RefusalError unless attributes of it are looked up as usual."""
    kind = type(dataset)
    function = _in_class(kind, "__getitem__")
    if type(function) is not FunctionType:
        raise _refusal(dataset, f"its __getitem__ is a {type(function).__name__}, not a plain function")
    plain = (
        _in_class(kind, "__getattribute__") is vars(object)["__getattribute__"]
        and _in_class(kind, "__getattr__") is _in_class(Dataset, "__getattr__")
        and type(_in_class(kind, "__dict__")) is GetSetDescriptorType
        and type(vars(dataset)) is dict
    )
    if not plain:
        raise _refusal(dataset, "its class has a way of its own to look attributes up")
    if _in_class(kind, "__getitems__") is not None or "__getitems__" in vars(dataset):
        raise _refusal(dataset, "it has __getitems__")
    return function


def _why_not_looked_up(dataset: Any, rows: list[Row]) -> str:
    """Why attributes may be something else than what the object's own dict has; empty if they are that."""
    for row in rows:
        shared = type(_in_class(type(dataset), row.attribute))
        if hasattr(shared, "__set__") or hasattr(shared, "__delete__"):
            return f"its {row.attribute} is computed"
        if row.attribute not in vars(dataset):
            return f"it has no attribute {row.attribute} of its own"
    return ""


def _why_not_torch(function: FunctionType, rows: list[Row]) -> str:
    """Why what a function calls `torch` may not be torch as it came; empty if it is, or if it calls nothing of that."""
    called = {name for row in rows for name in row.calls if name in FUNCTIONS}
    if not called:
        return ""
    if function.__globals__.get("torch") is not torch:
        return "what it calls torch is something else"
    replaced = sorted(name for name in called if getattr(torch, name) is not _TORCH[name])
    return f"torch.{replaced[0]} was replaced" if replaced else ""


def _why_not_called(value: Any, row: Row) -> str:
    """Why the calls of a row fail, warn, or give other numbers; empty if they do not."""
    kind = "tensor" if isinstance(value, torch.Tensor) else "array"
    if not isinstance(value, torch.Tensor | np.ndarray):
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
        kind = "tensor" if name in FUNCTIONS else kind
    return ""


def _attribute(dataset: Any, row: Row) -> Any:
    """What a row is taken of; None if that cannot be seen without running anything."""
    value = vars(dataset)[row.attribute]
    for key in row.keys:
        if type(value) is dict:
            value = value.get(key)
        elif type(value) in (list, tuple) and type(key) is int and -len(value) <= key < len(value):
            value = value[key]
        else:
            return None
    return value


def _piece(dataset: Any, row: Row) -> Tensor | _NumpyArray | _Numbers | Sequences:
    value = _attribute(dataset, row)
    name = "".join([row.attribute, *(f"[{key!r}]" for key in row.keys)])
    if isinstance(value, torch.Tensor):
        if why := _why_not_called(value, row):
            raise _refusal(dataset, f"its {name} is {why}")
        try:
            return Tensor(value)
        except RefusalError as error:
            raise _refusal(dataset, error.refusal.why) from None
    if type(value) in (np.ndarray, np.memmap):
        why = _why_not_array(value)
    elif type(value) in (list, tuple):
        if value and isinstance(value[0], torch.Tensor | np.ndarray):
            why = "a list of which it calls more than rows" if row.calls else ""
            why = why or why_not_sequences(value) or _why_not_mapped(value) or _why_not_numpy(value[0])
            if not why:
                return Sequences(value)
        else:
            why = _why_not_numbers(value)
    else:
        why = f"a {type(value).__qualname__}, not a tensor, a numpy array or a list of numbers, tensors or arrays"
    if why := why or _why_not_called(value, row):
        raise _refusal(dataset, f"its {name} is {why}")
    tensors = any(call in FUNCTIONS for call in row.calls)
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

# As they came.
_TORCH = {name: getattr(torch, name) for name in FUNCTIONS}

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
        while base is not None and id(base) not in seen and not isinstance(base, torch.Tensor):
            seen.add(id(base))
            if isinstance(base, mmap.mmap | np.memmap):
                return "mapped from a file, which may shrink while it is read"
            base = base.base if isinstance(base, np.ndarray) else getattr(base, "obj", None)
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
