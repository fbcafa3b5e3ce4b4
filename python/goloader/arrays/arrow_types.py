"""Which of Arrow's types are numbers, lists of numbers, and texts. Nothing here imports pyarrow."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Arrow's names of numbers, as numpy has them.
NUMBERS = {
    "bool": "bool",
    "double": "float64",
    "float": "float32",
    "halffloat": "float16",
    **{name: name for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")},
}
_TEXTS: dict[str, Literal["str", "bytes"]] = {
    "string": "str", "large_string": "str", "binary": "bytes", "large_binary": "bytes",
}  # fmt: skip


class Kind(NamedTuple):
    """What a column has.

    what   "number", "list" of any length, "str" or "bytes"
    dtype  of its numbers; "uint8" for texts
    row    shape of what a row has, or of an item of a list
    """

    what: Literal["number", "list", "str", "bytes"]
    dtype: str
    row: tuple[int, ...] = ()

    @property
    def item(self) -> int:
        """Bytes of a number."""
        return np.dtype(self.dtype).itemsize


def kind_of(path: str, name: str, given: Any) -> Kind:
    """Of a column's type. Raises ValueError for one that is not known."""
    found = _kind(given)
    if found is None:
        raise ValueError(
            f"{path}: column {name!r} is of {given}, which is not read; `columns` names those that are to be opened"
        )
    return found


def _kind(given: Any) -> Kind | None:
    if hasattr(given, "index_type"):  # of a dictionary, whose values come out
        inner = _kind(given.value_type)
        return inner if inner is not None and inner.what in ("str", "bytes") else None
    if str(given) in _TEXTS:
        return Kind(_TEXTS[str(given)], "uint8")
    fixed = _fixed(given)
    if fixed is not None:
        return Kind("number", *fixed)
    if _is_list(given):
        fixed = _fixed(given.value_type)
        return None if fixed is None else Kind("list", *fixed)
    return None


def _fixed(given: Any) -> tuple[str, tuple[int, ...]] | None:
    """dtype and shape of numbers, and of lists that have as many each."""
    if str(given) in NUMBERS:
        return NUMBERS[str(given)], ()
    if getattr(given, "extension_name", "") == "arrow.fixed_shape_tensor":
        if given.permutation is not None or str(given.value_type) not in NUMBERS or 0 in given.shape:
            return None
        return NUMBERS[str(given.value_type)], tuple(given.shape)
    if hasattr(given, "list_size"):
        inner = _fixed(given.value_type)
        return None if inner is None or not given.list_size else (inner[0], (given.list_size, *inner[1]))
    return None


def _is_list(given: Any) -> bool:
    return str(given).startswith(("list<", "large_list<"))


def leaves_of(given: Any) -> int:
    """How many columns of Parquet's such a type is stored in."""
    if hasattr(given, "storage_type"):
        return leaves_of(given.storage_type)
    if hasattr(given, "index_type"):
        return leaves_of(given.value_type)
    return sum(leaves_of(given.field(n).type) for n in range(given.num_fields)) or 1


def missing(array: Any) -> int:
    """How many values of an array are missing (null), those of lists included."""
    array = getattr(array, "storage", array)
    count: int = array.null_count
    if hasattr(array.type, "value_type") and not hasattr(array.type, "index_type"):
        count += missing(array.flatten())
    return count


def numbers_of(array: Any, kind: Kind) -> NDArray[Any]:
    """The numbers that an array has, in one dimension; of texts their bytes."""
    array = getattr(array, "storage", array)
    if kind.what in ("str", "bytes"):
        if hasattr(array.type, "index_type"):
            array = array.dictionary_decode()
        _, ends, content = array.buffers()
        wide = str(array.type).startswith("large")
        offsets = np.frombuffer(ends, np.int64 if wide else np.int32)[array.offset : array.offset + len(array) + 1]
        if content is None:
            return np.zeros(0, np.uint8)
        return np.frombuffer(content, np.uint8)[offsets[0] : offsets[-1]]
    while hasattr(array.type, "value_type"):
        array = array.flatten()
    made: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return made


def items_in(kind: Kind) -> int:
    """Numbers of a row, or of an item of a list."""
    return math.prod(kind.row)
