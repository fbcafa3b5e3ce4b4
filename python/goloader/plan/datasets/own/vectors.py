"""Values that are arrays or tensors: rows of the user's arrays and tables, and what code makes of them, for all indices
at once.

What a function makes of all rows is what it would make of each: it is called with the first one alone as well, and the
results have to agree to the bit.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch.utils.data import default_collate

from ...bytecode import SIGNS, UnreadableError
from ...trust.look import is_a
from ..computed.arithmetic import writable
from ..tree import alike
from .sources import FLOATS, INTS

# Bytes that are copied at most: values are kept, and torch reads the user's own.
BYTES_MAX = 1 << 28

_NUMBERS = "biuf"  # kinds of numpy's dtypes


def are_rows(values: Any) -> bool:
    """Whether values of samples are an array or a tensor, with a row for each."""
    return is_a(values, np.ndarray, torch.Tensor) and values.ndim > 1


def are_ragged(values: Any) -> bool:
    """Whether values of samples are arrays or tensors in a list, since they differ in length."""
    return type(values) is list and bool(values) and is_a(values[0], np.ndarray, torch.Tensor)


def take(container: Any, at: Sequence[int], rest: tuple[Any, ...] = ()) -> Any:
    """A copy of container[i, *rest] for each i, of an array or a tensor of numbers.

    Raises UnreadableError for others, and for one that is too large to be kept.
    """
    plain = (
        container.dtype.kind in _NUMBERS and container.dtype.isnative
        if type(container) is np.ndarray
        else type(container) is torch.Tensor and _is_plain(container)
    )
    if not plain:
        raise UnreadableError(f"gives rows of an array or a tensor of {container.dtype}")
    if container[:1].nbytes * len(at) > BYTES_MAX:
        raise UnreadableError(f"gives rows of an array of {container.nbytes >> 20} MiB")
    if type(container) is np.ndarray and min(container[:1][(slice(None), *rest)].strides) < 0:
        raise UnreadableError("gives rows that go backwards, which torch does not take")
    whole = container if at == range(len(container)) else container[list(at)]
    taken = whole[(slice(None), *rest)]
    if isinstance(taken, torch.Tensor):
        return taken.clone()
    taken = taken.copy()
    taken.flags.writeable = container.flags.writeable  # torch warns of one that is not
    return taken


def of_lists(function: Any, lists: Sequence[Any], options: dict[str, Any]) -> Any:
    """function(numbers) for lists of numbers: rows, or a list where they differ in length. Raises UnreadableError for
    other lists, and where not all that is made is of one kind."""
    shapes, kinds = _shapes_of(lists)
    _check_arguments(function, (), options)
    if kinds == {np.ndarray} and (function is np.array or function is np.asarray):
        return _of_arrays(function, lists, options)
    if not kinds or not kinds <= {bool, *INTS, *FLOATS} or not makes(function):
        raise UnreadableError("makes arrays or tensors of lists that are uneven, or hold no numbers")
    if len(shapes) == len(kinds) == 1:
        return _agreeing(lambda row: function(row, **options), lambda: function(list(lists), **options), lists)
    return _stacked(_checked(lambda: [function(row, **options) for row in lists]))


def _of_arrays(function: Any, lists: Sequence[Any], options: dict[str, Any]) -> Any:
    """The same of lists of arrays."""
    if len({each.dtype for row in lists for each in row}) > 1:
        raise UnreadableError("makes arrays of arrays of several dtypes")
    return _stacked(_checked(lambda: [function(row, **options) for row in lists]))


def _stacked(made: list[Any]) -> Any:
    """Arrays or tensors as rows, or as they are where they differ in shape. Raises UnreadableError for others."""
    if len({(each.dtype, each.ndim) for each in made}) > 1 or not _is_of_numbers(made[0]):
        raise UnreadableError("makes arrays or tensors of several kinds in one place")
    if len({each.shape for each in made}) > 1:
        return made
    return np.stack(made) if type(made[0]) is np.ndarray else torch.stack(made)


def _shapes_of(lists: Sequence[Any]) -> tuple[set[tuple[int, ...]], set[type]]:
    """The shapes of lists of numbers, or of lists that are alike; and the types of what is in them."""
    if {*map(type, lists)} <= {list, tuple}:  # in one go: there may be millions
        kinds = {*map(type, chain.from_iterable(lists))}
        if kinds.isdisjoint((list, tuple)):
            return {(count,) for count in {*map(len, lists)}}, kinds
    shapes, numbers = zip(*map(_shape_of, lists), strict=True)
    return {*shapes}, {type(each) for flat in numbers for each in flat}


def _shape_of(numbers: Any) -> tuple[tuple[int, ...], list[Any]]:
    """The shape of a list of numbers, or of lists that are alike; and these numbers."""
    shape, flat = [], [numbers]
    while flat and set(map(type, flat)) <= {list, tuple} and len(set(map(len, flat))) == 1:
        shape.append(len(flat[0]))
        flat = [each for whole in flat for each in whole]
    return tuple(shape), flat


def makes(function: Any) -> bool:
    """Whether it makes an array or a tensor of numbers."""
    return any(function is each for each, _ in _FUNCTIONS)


def called(function: Any, rows: Any, arguments: Sequence[Any] = (), options: dict[str, Any] | None = None) -> Any:
    """function(row, *arguments) for each row; the name of a function is that of a method.

    Raises UnreadableError where that is not known, or fails.
    """
    options = options or {}
    _check_arguments(function, arguments, options)
    of = "tensor" if isinstance(rows, torch.Tensor) else "array"
    if isinstance(function, str):
        for_all = _METHODS.get((of, function))
        of_one: Callable[[Any], Any] = operator.methodcaller(function, *arguments, **options)
    else:
        for_all = next((made for each, made in _FUNCTIONS if each is function), None)
        of_one = lambda row: function(row, *arguments, **options)  # noqa: E731
    if for_all is None:
        raise UnreadableError(f"calls {getattr(function, '__name__', function)} with a row")
    return _agreeing(of_one, lambda: for_all(rows, *arguments, **options), rows)


def _check_arguments(function: Any, arguments: Sequence[Any], options: dict[str, Any]) -> None:
    """Raises UnreadableError for any but dtypes and numbers: no device, and nothing that would be changed."""
    plain = (int, str, type, torch.dtype, np.dtype)
    flat = [part for each in arguments for part in (each if type(each) in (tuple, list) else (each,))]
    if not {*options} <= {"dtype"} or not all(is_a(each, *plain) for each in (*flat, *options.values())):
        raise UnreadableError(f"calls {getattr(function, '__name__', function)} with other arguments")
    if function == "to" and not all(type(each) is torch.dtype for each in flat):
        raise UnreadableError("moves rows to a device")


def reckoned(sign: str, rows: Any, number: Any, *, turned: bool) -> Any:
    """row + number and the like, for each row; `turned`: number + row. Raises UnreadableError as `called` does."""
    if sign not in RECKONED or type(number) not in (int, float):
        raise UnreadableError(f"reckons with rows by {sign}")
    function = SIGNS[sign]

    def reckon(of: Any) -> Any:
        return function(number, of) if turned else function(of, number)

    return _agreeing(reckon, lambda: reckon(rows), rows)


def expanded(rows: Any) -> Any:
    """row[None] for each row."""
    return rows[:, None]


def check_collated(rows: Any) -> None:
    """Raises UnreadableError unless torch puts rows together without an error or a warning."""
    first = writable(rows[:1])[0] if isinstance(rows, np.ndarray) else rows[0]
    _checked(lambda: default_collate([first] * 2))


def _agreeing(of_one: Callable[[Any], Any], of_all: Callable[[], Any], rows: Any) -> Any:
    """What `of_all` makes of all rows, if `of_one` makes the same of the first."""
    if not len(rows):
        raise UnreadableError("has no rows")
    made, first = _checked(of_all), _checked(lambda: of_one(rows[0]))
    if not _is_of_numbers(made) or len(made) != len(rows) or not alike(made[0], first):
        raise UnreadableError("makes of all rows something else than of one")
    return made


def _is_of_numbers(made: Any) -> bool:
    if type(made) is np.ndarray:
        return made.dtype.kind in _NUMBERS
    return type(made) is torch.Tensor and _is_plain(made)


def _is_plain(tensor: torch.Tensor) -> bool:
    strided = tensor.layout is torch.strided and tensor.device.type == "cpu"
    return strided and not (tensor.requires_grad or tensor.is_complex() or tensor.is_quantized)


def _checked(function: Callable[[], Any]) -> Any:
    """What a function gives. Raises UnreadableError where it raises, or numpy would warn."""
    try:
        with np.errstate(all="raise"):
            return function()
    except Exception as error:  # whatever a library raises
        raise UnreadableError(f"makes of rows what raises {type(error).__name__}: {error}") from None


def _shaped(rows: Any, *shape: Any, **options: Any) -> Any:
    (shape,) = shape if len(shape) == 1 and type(shape[0]) in (tuple, list) else (shape,)
    return rows.reshape((len(rows), *shape), **options)


def _flat(rows: Any) -> Any:
    return rows.reshape(len(rows), -1)


def _unsqueezed(rows: Any, dim: int) -> Any:
    return rows.unsqueeze(dim + 1 if dim >= 0 else dim)


def _of_dtype(dtype: torch.dtype, kinds: str) -> Callable[[Any], Any]:
    """What torch.FloatTensor and the like make of arrays of some kinds."""

    def make(rows: Any) -> Any:
        if not isinstance(rows, np.ndarray) or rows.dtype.kind not in kinds:
            raise UnreadableError(f"makes tensors of {rows.dtype}")
        return torch.tensor(rows, dtype=dtype)

    return make


def _shared(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda rows, **options: function(writable(rows) if isinstance(rows, np.ndarray) else rows, **options)


def _tensor(rows: Any, **options: Any) -> Any:
    if isinstance(rows, torch.Tensor):
        raise UnreadableError("makes a tensor of a tensor, of which torch warns")
    return torch.tensor(rows, **options)


RECKONED = ("+", "-", "*", "/")

_METHODS: dict[tuple[str, str], Callable[..., Any]] = {
    ("array", "astype"): np.ndarray.astype,
    ("array", "copy"): np.ndarray.copy,
    ("array", "flatten"): _flat,
    ("array", "ravel"): _flat,
    ("array", "reshape"): _shaped,
    **{
        ("tensor", name): getattr(torch.Tensor, name)
        for name in ("bool", "clone", "contiguous", "detach", "double", "float", "half", "int", "long", "to", "type")
    },
    ("tensor", "flatten"): _flat,
    ("tensor", "numpy"): torch.Tensor.numpy,
    ("tensor", "reshape"): _shaped,
    ("tensor", "unsqueeze"): _unsqueezed,
    ("tensor", "view"): _shaped,
}

# Found by what they are: some cannot be hashed.
_FUNCTIONS: tuple[tuple[Any, Callable[..., Any]], ...] = (
    (np.array, np.array),
    (np.asarray, np.asarray),
    (torch.tensor, _tensor),
    (torch.as_tensor, _shared(torch.as_tensor)),
    (torch.from_numpy, _shared(torch.from_numpy)),
    (torch.FloatTensor, _of_dtype(torch.float32, "biuf")),
    (torch.LongTensor, _of_dtype(torch.int64, "iu")),
)
