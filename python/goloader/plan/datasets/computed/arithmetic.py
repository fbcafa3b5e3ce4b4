"""What numpy, torch and Python make of values, as steps of a program.

Of what type and shape a result is, the libraries say themselves: each operation is done once, ahead, to values of the
same types and shapes. What it makes of each item is the step's matter. Where numpy or Python would warn or fail for
some numbers, a step fails for them (`watch`, operations "..._checked"), and the user's own code makes the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PosixPath
from types import BuiltinFunctionType, FunctionType, MethodType, SimpleNamespace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ....adapters.python import caught_warnings
from ...bytecode import COMPARISONS, SIGNS, UnreadableError
from ...trust.look import is_a
from ...trust.originals import module_of
from ..own.integers import Integers
from .program import DTYPES, Items, Writer

_PYTHON = (bool, int, float)
_LEGACY = int(np.__version__.partition(".")[0]) < 2
# Numbers below are the same as a double.
_EXACT = 1 << 53


@dataclass(eq=False)
class Value:
    """A value that a sample is made with.

    sample    what it is for one of the samples: of the same type, dtype, shape and layout for all
    constant  it is this very object for all of them
    make      gives the items that a program has of it
    integers  what it is, if it is a number that is known for each index
    small     it is a number of Python's that a double is equal to
    """

    sample: Any
    constant: bool = False
    make: Callable[[], Items] | None = None
    integers: Integers | None = None
    small: bool = False
    _items: Items | None = None

    @property
    def items(self) -> Items:
        if self._items is None:
            assert self.make is not None
            self._items = self.make()
        return self._items


def kind_of(sample: Any) -> str:
    """ "tensor", "array", "scalar" (numpy's), "number" (Python's), or "" for anything else."""
    if type(sample) is torch.Tensor:
        return "tensor"
    if type(sample) in (np.ndarray, np.memmap):
        return "array"
    if is_a(sample, np.generic):
        return "scalar"
    return "number" if type(sample) in _PYTHON else ""


def _is_known(value: Any) -> bool:
    """Whether no code of a user's runs where something is done with a value."""
    kind = type(value)
    if kind in (list, tuple, set, frozenset, dict):
        inside = (*value, *value.values()) if kind is dict else value
        return {*map(type, inside)} <= _KNOWN or all(map(_is_known, inside))
    if kind is np.ndarray or kind is np.memmap:
        return not value.dtype.hasobject
    return kind in _KNOWN or module_of(kind).partition(".")[0] in ("numpy", "torch")


# Of what is no array or tensor.
_KNOWN = {
    bool, int, float, complex, str, bytes, range, slice, type(None), type(...), type, FunctionType, BuiltinFunctionType,
    MethodType, PosixPath,
}  # fmt: skip


def dtype_of(sample: Any) -> str:
    """The name of its items' type."""
    if isinstance(sample, torch.Tensor):
        return str(sample.dtype).removeprefix("torch.")
    if isinstance(sample, np.ndarray | np.generic):
        return str(sample.dtype.name)
    if type(sample) in (list, tuple):
        return dtype_of(sample[0])
    return {bool: "bool", int: "int64", float: "float64"}[type(sample)]


def _shape(sample: Any) -> tuple[int, ...]:
    if type(sample) in (list, tuple):
        return (len(sample),)
    return tuple(sample.shape) if isinstance(sample, torch.Tensor | np.ndarray) else ()


def _is_float(dtype: str) -> bool:
    return dtype.startswith("float")


def _is_integer(dtype: str) -> bool:
    return "int" in dtype


class Arithmetic:
    """Values of one program."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer

    def done(
        self, function: Callable[..., Any], values: Sequence[Any], options: Mapping[str, Any] | None = None
    ) -> Any:
        """What a function makes of samples. Raises UnreadableError where it fails or warns, and of what is no mere
        sample, but the same each time, where numpy warns.
        """

        def sample(value: Any) -> Any:
            if isinstance(value, list):
                return [sample(each) for each in value]
            if value.constant and not _is_known(value.sample):
                raise UnreadableError("works with an object whose class may run code of its own")
            return value.sample

        settings = {} if are_constant([*values, *(options or {}).values()]) else {"all": "ignore"}
        try:
            with caught_warnings() as warned, np.errstate(**settings), torch.no_grad():  # type: ignore[arg-type]
                made = function(*map(sample, values), **{name: sample(each) for name, each in (options or {}).items()})
        except UnreadableError:
            raise
        except Exception as error:
            raise UnreadableError(f"does what fails ({type(error).__name__}: {error})") from None
        if warned:
            raise UnreadableError(f"does what warns ({warned[0]})")
        return made

    def items(self, value: Value, dtype: str, *, watch: bool = False, through: bool = False) -> Items:
        """Its items as that type.

        watch    an overflow is a failure
        through  an integer becomes a float by way of a double
        """
        if value.constant:
            return self.writer.constant(_converted(value.sample, dtype, watch=watch))
        own = value.items
        if own.dtype == dtype:
            return own
        if through and dtype == "float32" and own.dtype in ("int64", "uint64"):
            own = self.writer.step("cast", (own,), "float64")
        narrower = own.dtype == "float64" and dtype == "float32"
        return self.writer.step("cast", (own,), dtype, watch=watch and narrower)

    def value(self, sample: Any, make: Callable[[], Items], *, small: bool = False) -> Value:
        """A value of which the steps were written. Raises UnreadableError if it is none that programs can have."""
        if not kind_of(sample):
            raise UnreadableError(f"makes a {type(sample).__qualname__}")
        if isinstance(sample, torch.Tensor) and (sample.layout != torch.strided or sample.device.type != "cpu"):
            raise UnreadableError("makes a tensor that is not a plain one of the CPU")
        items = make()
        if items.dtype != dtype_of(sample) or items.shape != _shape(sample):
            raise UnreadableError(f"makes {dtype_of(sample)}{list(_shape(sample))}")
        return Value(sample, _items=items, small=small)

    def binary(self, name: str, left: Value, right: Value, function: Callable[..., Any] | None = None) -> Value:
        """left operator right."""
        function = function or SIGNS[name]
        sample = self.done(function, [left, right])
        if left.constant and right.constant:
            return Value(sample, constant=True)
        kinds = {kind_of(left.sample), kind_of(right.sample)}
        if "" in kinds or not kind_of(sample):
            raise UnreadableError(
                f"works with a {type(left.sample).__qualname__} and a {type(right.sample).__qualname__}"
            )
        if "tensor" in kinds:
            if kinds - {"tensor", "number"}:
                raise UnreadableError("works with a tensor and something of numpy's")
            return self._of_torch(name, left, right, sample)
        if kinds == {"number"}:
            return self._of_python(name, left, right, sample)
        return self._of_numpy(name, left, right, sample)

    def _of_torch(self, name: str, left: Value, right: Value, sample: Any) -> Value:
        result, common = dtype_of(sample), str(torch.result_type(left.sample, right.sample)).removeprefix("torch.")
        if name == "/":
            common = result
        name = _BOOLS.get(name, name) if common == "bool" else name
        _check_operator(name, common, result)
        for value in (left, right):
            if value.constant and kind_of(value.sample) == "number" and _is_integer(common):
                _check_fits(value.sample, common)
            if type(value.sample) is int and _is_float(common) and not (value.small or _is_small(value)):
                raise UnreadableError("works with floats and an integer that a double may not be equal to")
        operands = self.items(left, common), self.items(right, common)
        if name == "/" and kind_of(left.sample) == "number":  # torch.Tensor.__rdiv__ multiplies by the reciprocal
            one = self.writer.constant(np.ones((), common))
            operands, name = (self.writer.step("div", (one, operands[1]), common), operands[0]), "*"
        return self.value(sample, lambda: self.writer.step(OPERATORS[name], operands, result))

    def _of_numpy(self, name: str, left: Value, right: Value, sample: Any) -> Value:
        result = dtype_of(sample)
        common = result
        if name in COMPARISONS:
            common = dtype_of(self.done(np.add, [left, right]))
        name = _BOOLS.get(name, name) if common == "bool" else name
        _check_operator(name, common, result)
        samples = (left.sample, right.sample)
        dtypes = {dtype_of(each) for each in samples}
        scalars = all(kind_of(each) != "array" for each in samples)
        _check_values_tell_nothing(left, right)
        _check_all_fit(common, left, right)
        if name in COMPARISONS and _is_float(common) and all(map(_is_integer, dtypes)):
            raise UnreadableError("compares int64 with uint64")  # which numpy does without a double
        if scalars and len({_is_float(each) for each in dtypes}) > 1 and name in COMPARISONS:
            raise UnreadableError("compares an integer with a float")
        watch = _is_float(common) and name not in COMPARISONS
        operands = (
            self.items(left, common, watch=True, through=True),
            self.items(right, common, watch=True, through=True),
        )
        op = OPERATORS[name]
        if scalars and _is_integer(common) and op in ("add", "sub", "mul"):
            op += "_checked"
        return self.value(sample, lambda: self.writer.step(op, operands, result, watch=watch))

    def _of_python(self, name: str, left: Value, right: Value, sample: Any) -> Value:
        types = {type(left.sample), type(right.sample)}
        if bool in types:
            raise UnreadableError("works with a bool")
        exact = all(each.small or type(each.sample) is float or _is_small(each) for each in (left, right))
        if (name == "/" or (len(types) > 1 and name in COMPARISONS)) and not exact:
            raise UnreadableError("works with integers that a double may not be equal to")
        common = "int64" if types == {int} and name != "/" else "float64"
        _check_operator(name, common, dtype_of(sample))
        operands = self.items(left, common), self.items(right, common)
        op = OPERATORS[name]
        if common == "int64" and op in ("add", "sub", "mul"):
            op += "_checked"
        watch = common == "float64" and name not in COMPARISONS
        return self.value(sample, lambda: self.writer.step(op, operands, dtype_of(sample), watch=watch))

    def unary(self, op: str, function: Callable[..., Any], value: Value) -> Value:
        """An operation on each item."""
        sample = self.done(function, [value])
        if value.constant:
            return Value(sample, constant=True)
        kind, dtype = kind_of(value.sample), dtype_of(sample)
        if op == "sqrt" and (not _is_float(dtype) or kind in ("number", "tensor")):
            raise UnreadableError("takes a square root of what is no float of numpy's")
        if op in ("neg", "abs") and "bool" in (dtype, dtype_of(value.sample)):
            raise UnreadableError("works with a bool")
        if op == "not" and kind == "number":
            raise UnreadableError("works with the bits of a number of Python's")
        if op == "abs" and dtype.startswith("uint"):
            return Value(sample, _items=value.items)
        operand = self.items(value, dtype, watch=kind != "tensor", through=kind != "tensor")
        checked = op in ("neg", "abs") and _is_integer(dtype) and kind in ("scalar", "number")
        if checked and dtype.startswith("uint"):
            raise UnreadableError(f"changes the sign of {dtype}")
        watch = kind != "tensor" and _is_float(dtype)
        return self.value(
            sample, lambda: self.writer.step(op + "_checked" if checked else op, (operand,), dtype, watch=watch)
        )

    def converted(
        self, function: Callable[..., Any], value: Value, options: Sequence[Any], named: Mapping[str, Any]
    ) -> Value:
        """The same numbers as another type, or in another kind of container."""
        kind = kind_of(value.sample)
        if function in SIZED and kind != "tensor" and not np.ndim(value.sample):
            raise UnreadableError("makes a tensor of a size, which nobody has set")
        if type(value.sample) in (list, tuple) and not value.constant:  # of numbers, which are converted one by one
            if type(value.sample[0]) not in _PYTHON:
                raise UnreadableError("makes an array of numpy's numbers in a list")
            kind = "number"
        if function in _WARNING and kind == "array":
            value = replace(value, sample=writable(value.sample))
        sample = self.done(function, [value, *options], named)
        if value.constant:
            return Value(sample, constant=True)
        if not kind_of(sample):
            raise UnreadableError(f"makes a {type(sample).__qualname__}")
        dtype, own = dtype_of(sample), dtype_of(value.sample)
        if own != dtype:
            if type(sample) is int and own == "uint64":
                raise UnreadableError("makes an int of uint64, for which int64 may have no room")
            if kind == "number" and ((_is_integer(dtype) and dtype != "int64") or own == "bool"):
                raise UnreadableError(f"makes {dtype} of a number that may not fit it")
            if kind == "number" and _is_integer(dtype) and own == "float64" and kind_of(sample) != "number":
                raise UnreadableError(f"makes {dtype} of a float")
            rounds = (kind, own, dtype) == ("array", "float64", "float32")
            if function in EXACTLY and kind_of(value.sample) and not rounds:
                raise UnreadableError(f"makes {dtype} of {own} item by item")
        # Python's numbers, and single ones of numpy's, are converted by way of a double, and fail if they do not fit.
        single = kind in ("number", "scalar")
        numpy_made = kind_of(sample) in ("array", "scalar") or single
        small = kind_of(sample) == "number" and (value.small or own not in ("int64", "uint64"))
        made = self.value(sample, lambda: self.items(value, dtype, watch=numpy_made, through=single), small=small)
        if own in ("int64", "int32", "int16", "int8", "uint8", "uint16", "uint32") and _is_integer(dtype):
            made.integers = value.integers if kind_of(sample) == "number" else None
        return made

    def viewed(
        self, function: Callable[..., Any], value: Value, options: Sequence[Any], named: Mapping[str, Any]
    ) -> Value:
        """The same items in another order or shape, or some of them."""
        sample = self.done(function, [value, *options], named)
        if value.constant:
            return Value(sample, constant=True)
        if kind_of(value.sample) not in ("tensor", "array"):
            raise UnreadableError(f"works with a {type(value.sample).__qualname__} as with an array")
        tensor = isinstance(value.sample, torch.Tensor)

        def made() -> Items:
            for items in (value.items, None):
                whole = items or self.writer.step("copy", (value.items,), value.items.dtype)
                places: Any = torch.from_numpy(places_of(whole)) if tensor else places_of(whole)
                found = self.done(function, [Value(places), *options], named)
                strides = strides_of(np.asarray(found))
                if strides is not None:
                    return Items(whole.room, whole.number, whole.dtype, tuple(found.shape), *strides)
            raise UnreadableError("takes items in an order of its own")

        return self.value(sample, made)

    def chosen(self, function: Callable[..., Any], condition: Value, left: Value, right: Value) -> Value:
        """where(condition, left, right)"""
        sample = self.done(function, [condition, left, right])
        if condition.constant and left.constant and right.constant:
            return Value(sample, constant=True)
        if dtype_of(condition.sample) != "bool" or "" in map(kind_of, (left.sample, right.sample)):
            raise UnreadableError("chooses by numbers")
        dtype, tensor = dtype_of(sample), isinstance(sample, torch.Tensor)
        if tensor:
            _check_all_fit(dtype, left, right)
        else:
            _check_values_tell_nothing(left, right)
        operands = (
            self.items(condition, "bool"),
            *(
                self.items(each, dtype, watch=not tensor or kind_of(each.sample) == "number", through=not tensor)
                for each in (left, right)
            ),
        )
        return self.value(sample, lambda: self.writer.step("where", operands, dtype))

    def filled(self, function: Callable[..., Any], value: Value, mask: Value, item: Value) -> Value:
        """masked_fill(value, mask, item): one number where the mask says so."""
        sample = self.done(function, [value, mask, item])
        if value.constant and mask.constant and item.constant:
            return Value(sample, constant=True)
        if not item.constant or kind_of(item.sample) != "number" or kind_of(mask.sample) != "tensor":
            raise UnreadableError("fills a tensor with more than a number")
        one = Value(torch.zeros((), dtype=sample.dtype), constant=True)
        put = self.done(function, [one, Value(torch.tensor(True), constant=True), item])
        operands = self.items(mask, "bool"), self.writer.constant(put.numpy()), self.items(value, dtype_of(sample))
        return self.value(sample, lambda: self.writer.step("where", operands, dtype_of(sample)))

    def limited(
        self, function: Callable[..., Any], value: Value, limits: Sequence[Value | None], call: Callable[[], Any]
    ) -> Value:
        """clip or clamp, between constants."""
        sample = call()
        if value.constant:
            return Value(sample, constant=True)
        tensor = isinstance(value.sample, torch.Tensor)
        dtype = dtype_of(sample)
        if kind_of(value.sample) not in ("tensor", "array") or dtype == "bool" or dtype != dtype_of(value.sample):
            raise UnreadableError("limits what is no array of that type")
        items = value.items
        for op, limit in zip(("least", "most"), limits, strict=True):
            if limit is None or limit.sample is None:
                continue
            if not limit.constant or kind_of(limit.sample) != "number" or limit.sample != limit.sample:
                raise UnreadableError("limits numbers by more than constants")
            if _is_integer(dtype):
                _check_fits(limit.sample, dtype)
            items = self.writer.step(
                f"{op}_torch" if tensor else f"{op}_numpy", (items, self.items(limit, dtype)), dtype
            )
        return self.value(sample, lambda: items)

    def taken(self, function: Callable[..., Any], value: Value, axis: int, places: Value) -> Value:
        """Items along an axis, at places that an array or a list says: what function(value, places) gives."""
        sample = self.done(function, [value, places])
        if value.constant and places.constant:
            return Value(sample, constant=True)
        if kind_of(value.sample) not in ("tensor", "array") or 0 in (*_shape(value.sample), *_shape(sample)):
            raise UnreadableError("takes items by an array of what is none, or of nothing")
        plain = sample.is_contiguous() if isinstance(sample, torch.Tensor) else sample.flags.c_contiguous
        if not plain or not (places.constant or dtype_of(places.sample) == "int64"):
            raise UnreadableError("takes items by an array in a way that is not known")

        def made() -> Items:
            if not places.constant:
                which = places.items
            else:
                known = np.asarray(places.sample)
                which = self.writer.constant(np.flatnonzero(known) if known.dtype == bool else known.astype(np.int64))
            return self.writer.taken(self.items(value, dtype_of(value.sample)), which, axis)

        return self.value(sample, made)

    def joined(self, function: Callable[..., Any], parts: Sequence[Value], stacked: bool, axis: int = 0) -> Value:
        """concatenate or stack along a dimension; what makes an array of a list of numbers stacks them."""
        if any(isinstance(part, list) for part in parts):
            raise UnreadableError("joins lists of a list")
        sample = self.done(function, [list(parts)])
        if all(part.constant for part in parts):
            return Value(sample, constant=True)
        if not kind_of(sample) or not all(kind_of(part.sample) for part in parts):
            raise UnreadableError("joins what are no arrays")
        dtype, shape = dtype_of(sample), _shape(sample)
        axis = axis + len(shape) if axis < 0 else axis
        numbers = all(kind_of(part.sample) in ("number", "scalar") for part in parts)
        places: list[tuple[Items, tuple[slice, ...]]] = []
        at = 0
        for part in parts:
            own = dtype_of(part.sample)
            single = numbers or (kind_of(part.sample) == "tensor" and not isinstance(sample, torch.Tensor))
            if own != dtype and single and (not _is_float(dtype) or own == "bool"):
                raise UnreadableError(f"makes {dtype} of {own} in a list")
            items = self.items(part, dtype, watch=numbers or not isinstance(sample, torch.Tensor), through=numbers)
            if stacked:
                extents, strides = ((*of[:axis], one, *of[axis:]) for of, one in ((items.shape, 1), (items.strides, 0)))
                items = Items(items.room, items.number, dtype, extents, items.offset, strides)
            extent = items.shape[axis] if len(items.shape) == len(shape) else 0
            if items.shape != (*shape[:axis], extent, *shape[axis + 1 :]):
                raise UnreadableError("joins values that differ in shape")
            place = [slice(0, each) for each in shape]
            place[axis] = slice(at, at + extent)
            places.append((items, tuple(place)))
            at += extent
        return self.value(sample, lambda: self.writer.joined(places, dtype, shape))

    def one_hot(self, function: Callable[..., Any], value: Value, classes: Value) -> Value:
        if not classes.constant or type(classes.sample) is not int or classes.sample < 1:
            raise UnreadableError("makes as many columns as the batch has classes")
        sample = torch.zeros((*_shape(value.sample), classes.sample), dtype=torch.int64)
        if type(value.sample) is not torch.Tensor or value.sample.dtype != torch.int64 or value.constant:
            raise UnreadableError("makes columns of what is no tensor of int64")
        hot = self.places(value.items, classes.sample)
        return self.value(sample, lambda: self.writer.step("cast", (hot,), "int64"))

    def require(self, items: Items, end: int | None = None) -> None:
        """Leaves samples to the code itself unless integers are 0 or more, and less than an end."""
        step = self.writer.step
        fits = step("ge", (items, self.writer.constant(np.array(0, np.int64))), "bool")
        if end is not None:
            below = step("lt", (items, self.writer.constant(np.array(end, np.int64))), "bool")
            fits = step("and", (fits, below), "bool")
        step("require", (fits,), "bool")

    def places(self, items: Items, count: int) -> Items:
        """For each number, which of so many places it is; samples of which it is none are left to the code itself."""
        self.require(items, count)
        wide = Items(items.room, items.number, items.dtype, (*items.shape, 1), items.offset, (*items.strides, 0))
        return self.writer.step("eq", (wide, self.writer.constant(np.arange(count, dtype=np.int64))), "bool")


def writable(array: NDArray[Any]) -> NDArray[Any]:
    """The same memory as an array that may be written, which nobody does: of others torch warns, once in a process."""
    if array.flags.writeable:
        return array
    interface = array.__array_interface__
    given = {**interface, "data": (interface["data"][0], False)}
    return np.asarray(SimpleNamespace(__array_interface__=given, of=array))


def _is_small(value: Value) -> bool:
    return value.constant and type(value.sample) is int and abs(value.sample) < _EXACT


def _converted(sample: Any, dtype: str, *, watch: bool) -> NDArray[Any]:
    array: NDArray[Any] = sample.numpy() if isinstance(sample, torch.Tensor) else np.asarray(sample)
    with np.errstate(all="ignore"):
        converted = array.astype(dtype)
    if watch and _is_float(dtype) and (np.isinf(converted) & np.isfinite(array)).any():
        raise UnreadableError(f"makes {dtype} of {sample}, of which numpy warns")
    return converted


def _check_fits(number: Any, dtype: str) -> None:
    if type(number) is bool or number != int(number) or not np.iinfo(dtype).min <= number <= np.iinfo(dtype).max:
        raise UnreadableError(f"works with {dtype} and {number}")


def _check_all_fit(dtype: str, *values: Value) -> None:
    """Raises UnreadableError for integers of Python's that may be another for each sample: libraries fail for one that
    does not fit."""
    for value in values:
        if type(value.sample) is int and not value.constant and _is_integer(dtype) and dtype != "int64":
            raise UnreadableError(f"works with {dtype} and a number that may not fit it")


def _check_values_tell_nothing(*values: Value) -> None:
    """Raises UnreadableError where numpy 1 chooses a type by what single numbers are, beside arrays. Of a float it asks
    whether an array's type has room for it, which a step does by its overflow."""
    dtypes = [dtype_of(each.sample) for each in values]
    single = [each for each in values if not np.ndim(each.sample)]
    plain = any(each.constant and kind_of(each.sample) == "number" for each in single)
    wide = any(dtype == "float64" and np.ndim(each.sample) for each, dtype in zip(values, dtypes, strict=True))
    alike = len({*dtypes}) == 1 or len(single) == len(values) or wide
    if _LEGACY and not alike and not plain and not all(_is_float(dtype_of(each.sample)) for each in single):
        raise UnreadableError("works with arrays and integers of other types, which numpy 1 converts by their values")


def _check_operator(name: str, common: str, result: str) -> None:
    if name in ("//", "%") and not _is_integer(common):
        raise UnreadableError(f"works with {name} of {common}")
    if common == "bool" and name not in (*COMPARISONS, "&", "|", "^"):
        raise UnreadableError(f"works with {name} of bools")
    if common not in DTYPES or result not in DTYPES:
        raise UnreadableError(f"reckons with {common if common not in DTYPES else result}")


def places_of(items: Items) -> NDArray[np.int64]:
    """The number of each item in its value."""
    places = np.full(items.shape, items.offset, np.int64)
    for d, (extent, stride) in enumerate(zip(items.shape, items.strides, strict=True)):
        places += (np.arange(extent, dtype=np.int64) * stride).reshape(-1, *(1 for _ in items.shape[d + 1 :]))
    return places


def strides_of(places: NDArray[Any]) -> tuple[int, tuple[int, ...]] | None:
    """The first place, and how far it is from one to the next of each dimension; None if that differs."""
    if not places.size:
        return 0, tuple(0 for _ in places.shape)
    first = places[tuple(0 for _ in places.shape)]
    strides = tuple(
        int(places[tuple(int(d == k) for d in range(places.ndim))] - first) if extent > 1 else 0
        for k, extent in enumerate(places.shape)
    )
    plain = Items("", 0, "int64", places.shape, int(first), strides)
    return (int(first), strides) if np.array_equal(places_of(plain), places) else None


OPERATORS = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floordiv", "%": "mod", "&": "and", "|": "or", "^": "xor",
    "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne",
}  # fmt: skip

# What arithmetic of bools is.
_BOOLS = {"*": "&", "+": "|"}

# What warns of arrays that cannot be written, and what takes numbers of its own type alone.
EXACTLY = (torch.FloatTensor, torch.LongTensor, torch.DoubleTensor, torch.IntTensor)
# What makes a tensor of that size of a number.
SIZED = (torch.Tensor, *EXACTLY)
_WARNING = (torch.as_tensor, torch.from_numpy, *SIZED)


def are_constant(values: Sequence[Any]) -> bool:
    return all(
        are_constant(each) if isinstance(each, list) else isinstance(each, Value) and each.constant for each in values
    )


Rule = Callable[[Arithmetic, Callable[..., Any], list[Any], dict[str, Any]], Any]
