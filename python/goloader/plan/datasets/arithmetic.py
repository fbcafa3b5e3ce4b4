"""What numpy, torch and Python make of values, as steps of a program: a table of functions and methods, and rules.

Of what type and shape a result is, the libraries say themselves: each operation is done once, ahead, to values of the
same types and shapes. What it makes of each item is the step's matter. Where numpy or Python would warn or fail for
some numbers, a step fails for them (`watch`, operations "..._checked"), and the user's own code makes the batch.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...adapters.python import caught_warnings
from ..bytecode import COMPARISONS, SIGNS, UnreadableError
from ..look import in_class
from .integers import Integers
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
    if isinstance(sample, np.generic):
        return "scalar"
    return "number" if type(sample) in _PYTHON else ""


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
            return [sample(each) for each in value] if isinstance(value, list) else value.sample

        settings = {} if _are_constant([*values, *(options or {}).values()]) else {"all": "ignore"}
        try:
            with caught_warnings() as warned, np.errstate(**settings), torch.no_grad():  # type: ignore[arg-type]
                made = function(*map(sample, values), **{name: sample(each) for name, each in (options or {}).items()})
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
        _check_operator(name, common, result)
        samples = (left.sample, right.sample)
        dtypes = {dtype_of(each) for each in samples}
        scalars = all(kind_of(each) != "array" for each in samples)
        plain = any(each.constant and kind_of(each.sample) == "number" for each in (left, right))
        if _LEGACY and len(dtypes) > 1 and not scalars and not plain:
            raise UnreadableError(
                "works with arrays and numbers of other types, which numpy 1 converts by their values"
            )
        for value in (left, right):
            varies = type(value.sample) is int and not value.constant
            if varies and _is_integer(common) and common != "int64":
                raise UnreadableError(f"works with {common} and a number that may not fit it")
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
        if function in _SIZED and kind not in ("array", "tensor") and type(value.sample) not in (list, tuple):
            raise UnreadableError("makes a tensor of a size, which nobody has set")
        if type(value.sample) in (list, tuple) and not value.constant:  # of numbers, which are converted one by one
            if type(value.sample[0]) not in _PYTHON:
                raise UnreadableError("makes an array of numpy's numbers in a list")
            kind = "number"
        if function in _WARNING and kind == "array" and not value.sample.flags.writeable:
            raise UnreadableError("makes tensors of arrays that cannot be written, of which torch warns")
        sample = self.done(function, [value, *options], named)
        if value.constant:
            return Value(sample, constant=True)
        if not kind_of(sample):
            raise UnreadableError(f"makes a {type(sample).__qualname__}")
        dtype, own = dtype_of(sample), dtype_of(value.sample)
        if own != dtype:
            if kind == "number" and ((_is_integer(dtype) and dtype != "int64") or own == "bool"):
                raise UnreadableError(f"makes {dtype} of a number that may not fit it")
            if kind == "number" and _is_integer(dtype) and own == "float64" and kind_of(sample) != "number":
                raise UnreadableError(f"makes {dtype} of a float")
            rounds = (kind, own, dtype) == ("array", "float64", "float32")
            if function in _EXACTLY and kind_of(value.sample) and not rounds:
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
                places: Any = torch.from_numpy(_places(whole)) if tensor else _places(whole)
                found = self.done(function, [Value(places), *options], named)
                strides = _strides_of(np.asarray(found))
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
        dtype = dtype_of(sample)
        if (
            _LEGACY
            and not isinstance(sample, torch.Tensor)
            and {dtype_of(left.sample), dtype_of(right.sample)} != {dtype}
        ):
            raise UnreadableError("chooses between types, which numpy 1 converts by their values")
        watch = not isinstance(sample, torch.Tensor)
        operands = (
            self.items(condition, "bool"),
            self.items(left, dtype, watch=watch, through=watch),
            self.items(right, dtype, watch=watch, through=watch),
        )
        return self.value(sample, lambda: self.writer.step("where", operands, dtype))

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

    def joined(self, function: Callable[..., Any], parts: Sequence[Value], stacked: bool) -> Value:
        """concatenate or stack along the first dimension; what makes an array of a list of numbers stacks them."""
        if any(isinstance(part, list) for part in parts):
            raise UnreadableError("joins lists of a list")
        sample = self.done(function, [list(parts)])
        if all(part.constant for part in parts):
            return Value(sample, constant=True)
        if not kind_of(sample) or not all(kind_of(part.sample) for part in parts):
            raise UnreadableError("joins what are no arrays")
        dtype, shape = dtype_of(sample), _shape(sample)
        numbers = all(kind_of(part.sample) in ("number", "scalar") for part in parts)
        places: list[tuple[Items, tuple[slice, ...]]] = []
        at = 0
        for part in parts:
            own = dtype_of(part.sample)
            if own != dtype and (numbers and (not _is_float(dtype) or own == "bool")):
                raise UnreadableError(f"makes {dtype} of {own} in a list")
            items = self.items(part, dtype, watch=numbers or not isinstance(sample, torch.Tensor), through=numbers)
            if stacked:
                items = Items(items.room, items.number, dtype, (1, *items.shape), items.offset, (0, *items.strides))
            if items.shape[1:] != shape[1:]:
                raise UnreadableError("joins values that differ in shape")
            places.append((items, (slice(at, at + items.shape[0]), *(slice(0, extent) for extent in shape[1:]))))
            at += items.shape[0]
        return self.value(sample, lambda: self.writer.joined(places, dtype, shape))

    def one_hot(self, function: Callable[..., Any], value: Value, classes: Value) -> Value:
        if not classes.constant or type(classes.sample) is not int or classes.sample < 1:
            raise UnreadableError("makes as many columns as the batch has classes")
        sample = torch.zeros((*_shape(value.sample), classes.sample), dtype=torch.int64)
        if type(value.sample) is not torch.Tensor or value.sample.dtype != torch.int64 or value.constant:
            raise UnreadableError("makes columns of what is no tensor of int64")
        hot = self._places(value.items, classes.sample)
        return self.value(sample, lambda: self.writer.step("cast", (hot,), "int64"))

    def put(self, whole: Value, key: Value, item: Value) -> Value:
        """What an array of one dimension, that the code has made, is after whole[key] = item."""
        sample = self.done(_put, [whole, key, item])
        number = dtype_of(key.sample)
        if np.ndim(whole.sample) != 1 or np.ndim(key.sample) or not _is_integer(number) or number == "uint8":
            raise UnreadableError("sets other items than one, by its place")
        if not item.constant or type(item.sample) not in (int, float, bool):
            raise UnreadableError("sets an item to what is no number, or not always the same")
        dtype = dtype_of(sample)
        put = self.first_put(whole, item)
        hot = self._places(self.items(key, "int64"), len(whole.sample))
        operands = hot, self.items(Value(put, constant=True), dtype), self.items(whole, dtype)
        return self.value(sample, lambda: self.writer.step("where", operands, dtype))

    def first_put(self, whole: Value, item: Value) -> Any:
        """What a number becomes where it is an array's first item."""
        return self.done(_put, [whole, Value(0, constant=True), item])[0]

    def _places(self, items: Items, count: int) -> Items:
        """For each number, which of so many places it is; samples of which it is none are left to the code itself."""
        step = self.writer.step
        limits = [self.writer.constant(np.array(each, np.int64)) for each in (0, count)]
        fits = step("and", (step("ge", (items, limits[0]), "bool"), step("lt", (items, limits[1]), "bool")), "bool")
        step("require", (fits,), "bool")
        wide = Items(items.room, items.number, items.dtype, (*items.shape, 1), items.offset, (*items.strides, 0))
        return step("eq", (wide, self.writer.constant(np.arange(count, dtype=np.int64))), "bool")


def _put(whole: Any, key: Any, item: Any) -> Any:
    made = whole.clone() if isinstance(whole, torch.Tensor) else whole.copy()
    made[key] = item
    return made


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


def _check_operator(name: str, common: str, result: str) -> None:
    if name in ("//", "%") and not _is_integer(common):
        raise UnreadableError(f"works with {name} of {common}")
    if common == "bool" and name not in (*COMPARISONS, "&", "|", "^"):
        raise UnreadableError(f"works with {name} of bools")
    if name in ("&", "|", "^") and _is_float(common):
        raise UnreadableError(f"works with {name} of {common}")
    if common not in DTYPES or result not in DTYPES:
        raise UnreadableError(f"reckons with {common if common not in DTYPES else result}")


def _places(items: Items) -> NDArray[np.int64]:
    """The number of each item in its value."""
    places = np.full(items.shape, items.offset, np.int64)
    for d, (extent, stride) in enumerate(zip(items.shape, items.strides, strict=True)):
        places += (np.arange(extent, dtype=np.int64) * stride).reshape(-1, *(1 for _ in items.shape[d + 1 :]))
    return places


def _strides_of(places: NDArray[Any]) -> tuple[int, tuple[int, ...]] | None:
    """The first place, and how far it is from one to the next of each dimension; None if that differs."""
    if not places.size:
        return 0, tuple(0 for _ in places.shape)
    first = places[tuple(0 for _ in places.shape)]
    strides = tuple(
        int(places[tuple(int(d == k) for d in range(places.ndim))] - first) if extent > 1 else 0
        for k, extent in enumerate(places.shape)
    )
    plain = Items("", 0, "int64", places.shape, int(first), strides)
    return (int(first), strides) if np.array_equal(_places(plain), places) else None


OPERATORS = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floordiv", "%": "mod", "&": "and", "|": "or", "^": "xor",
    "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne",
}  # fmt: skip

# What changes an array or a tensor, and gives it.
IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv, "//=": operator.ifloordiv,
    "%=": operator.imod, "&=": operator.iand, "|=": operator.ior, "^=": operator.ixor,
}  # fmt: skip

# The rules: what becomes of a call, by the function that is called.

Rule = Callable[[Arithmetic, Callable[..., Any], list[Any], dict[str, Any]], Value]


def _plain(values: Sequence[Any], options: Mapping[str, Any], count: int) -> Sequence[Value]:
    """The arguments of a function that takes so many, none of them a list. Raises UnreadableError."""
    if len(values) != count or options or not all(isinstance(each, Value) for each in values):
        raise UnreadableError("calls it with other arguments")
    return values


def _two(values: Sequence[Any], options: Mapping[str, Any]) -> tuple[Value, Value]:
    one, other = _plain(values, options, 2)
    return one, other


def _constants(values: Sequence[Any], options: Mapping[str, Any]) -> None:
    if not _are_constant([*values, *options.values()]):
        raise UnreadableError("calls it with arguments that depend on the index")


def _are_constant(values: Sequence[Any]) -> bool:
    return all(
        _are_constant(each) if isinstance(each, list) else isinstance(each, Value) and each.constant for each in values
    )


def _binary(name: str) -> Rule:
    return _item_by_item(lambda a, function, values, options: a.binary(name, *_two(values, options), function))


def _unary(op: str) -> Rule:
    return _item_by_item(lambda a, function, values, options: a.unary(op, function, *_plain(values, options, 1)))


_ITEM_BY_ITEM: set[Rule] = set()


def _item_by_item(rule: Rule) -> Rule:
    _ITEM_BY_ITEM.add(rule)
    return rule


@_item_by_item
def _convert(a: Arithmetic, function: Callable[..., Any], values: list[Any], options: dict[str, Any]) -> Value:
    first, *rest = values
    _constants(rest, options)
    if isinstance(first, list):
        if any(isinstance(each, Value) and kind_of(each.sample) == "array" for each in first) and function in _LISTED:
            raise UnreadableError("makes a tensor of a list of arrays, which torch warns of")
        named = {name: each.sample for name, each in options.items()}
        return a.joined(lambda parts: function(parts, *(each.sample for each in rest), **named), first, True)
    if len(rest) > 1 or not {*options} <= {"dtype", "copy"}:
        raise UnreadableError("calls it with other arguments")
    return a.converted(function, first, rest, options)


@_item_by_item
def _view(a: Arithmetic, function: Callable[..., Any], values: list[Any], options: dict[str, Any]) -> Value:
    first, *rest = values
    _constants(rest, options)
    if isinstance(first, list):
        raise UnreadableError("calls it with a list")
    return a.viewed(function, first, rest, options)


def _where(a: Arithmetic, function: Callable[..., Any], values: list[Any], options: dict[str, Any]) -> Value:
    return a.chosen(function, *_plain(values, options, 3))


@_item_by_item
def _clip(a: Arithmetic, function: Callable[..., Any], values: list[Any], options: dict[str, Any]) -> Value:
    first, *rest = values
    _constants(rest, options)
    names = [("min", "a_min"), ("max", "a_max")]
    if isinstance(first, list) or len(rest) > 2 or not {*options} <= {"min", "max", "a_min", "a_max"}:
        raise UnreadableError("calls it with other arguments")
    limits = [*rest, None, None][:2]
    for place, either in enumerate(names):
        for name in either:
            limits[place] = options.get(name, limits[place])
    return a.limited(function, first, limits, lambda: a.done(function, values, options))


def _join(stacked: bool) -> Rule:
    def rule(a: Arithmetic, function: Callable[..., Any], values: list[Any], options: dict[str, Any]) -> Value:
        if len(values) > 2 or not values or not isinstance(values[0], list):
            raise UnreadableError("joins what is no list of arrays")
        _constants(values[1:], options)
        if any(each.sample != 0 for each in (*values[1:], *options.values())) or not {*options} <= {"dim", "axis"}:
            raise UnreadableError("joins arrays along another dimension than the first")
        return a.joined(function, values[0], stacked)

    return rule


def _one_hot(a: Arithmetic, function: Callable[..., Any], values: list[Any], options: dict[str, Any]) -> Value:
    if options.keys() == {"num_classes"}:
        values, options = [*values, options["num_classes"]], {}
    value, classes = _plain(values, options, 2)
    return a.one_hot(function, value, classes)


def _filled(a: Arithmetic, function: Callable[..., Any], values: list[Any], options: dict[str, Any]) -> Value:
    """zeros(size) and the like, arange and eye."""
    _constants(values, options)
    if not {*options} <= {"dtype"}:
        raise UnreadableError("makes an array in another way")
    made = a.done(function, values, options)
    if function is torch.arange and made.is_floating_point():  # how floats are rounded is up to its threads
        raise UnreadableError("makes floats by torch.arange")
    return Value(made, constant=True)


def is_filled(called: Any) -> bool:
    """Whether it is a function that makes an array, which nobody else has, of numbers that are always the same."""
    return rule_of(called) is _filled


def _named(owner: Any, names: str, rule: Rule) -> list[tuple[Any, Rule]]:
    return [(getattr(owner, name), rule) for name in names.split() if hasattr(owner, name)]


# Functions, known by what they are.
_RULES: list[tuple[Any, Rule]] = [
    *_named(torch, "tensor as_tensor from_numpy Tensor FloatTensor LongTensor DoubleTensor IntTensor clone", _convert),
    *_named(np, "array asarray ascontiguousarray copy", _convert),
    *_named(np, "float32 float64 int64 int32 int16 int8 uint8 uint16 uint32", _convert),
    *[(kind, _convert) for kind in (int, float)],
    *_named(torch, "unsqueeze squeeze flatten permute reshape transpose movedim ravel flip fliplr flipud", _view),
    *_named(np, "expand_dims squeeze ravel transpose reshape moveaxis swapaxes flip fliplr flipud", _view),
    *_named(torch, "where", _where),
    *_named(np, "where", _where),
    *_named(torch, "clamp clip", _clip),
    *_named(np, "clip", _clip),
    *_named(torch, "cat concat concatenate", _join(False)),
    *_named(np, "concatenate", _join(False)),
    *_named(torch, "stack", _join(True)),
    *_named(np, "stack", _join(True)),
    (abs, _unary("abs")),
    *[pair for library in (torch, np) for pair in _named(library, "abs absolute", _unary("abs"))],
    *_named(np, "sqrt", _unary("sqrt")),  # torch's is not rounded as IEEE 754 has it
    *[pair for library in (torch, np) for pair in _named(library, "negative", _unary("neg"))],
    *[pair for library in (torch, np) for pair in _named(library, "logical_not", _unary("not"))],
    *[
        pair
        for names, sign in (
            ("add", "+"), ("subtract", "-"), ("multiply", "*"), ("divide true_divide", "/"), ("less", "<"),
            ("greater", ">"), ("equal", "=="), ("not_equal", "!="),
        )
        for library in ((torch, np) if sign not in ("==",) else (np,))
        for pair in _named(library, names, _binary(sign))
    ],
    (torch.nn.functional.one_hot, _one_hot),
    *[pair for library in (torch, np) for pair in _named(library, "zeros ones full arange eye", _filled)],
]  # fmt: skip


def converts(rule: Rule) -> bool:
    """Whether a rule is of what gives the same numbers as another type, or in another kind of container."""
    return rule is _convert


def goes_item_by_item(rule: Rule) -> bool:
    """Whether a rule is of what makes each number of one number, in its place, or gives them another shape."""
    return rule in _ITEM_BY_ITEM


def copies(function: Any) -> bool:
    """Whether it always gives an array or a tensor that nobody else has."""
    return any(function is known for known in _COPIES)


_COPIES = (np.array, np.copy, torch.tensor, torch.clone)


def rule_of(function: Any) -> Rule | None:
    return next((rule for known, rule in _RULES if known is function), None)


# What warns of arrays that cannot be written, and what takes numbers of its own type alone.
_EXACTLY = (torch.FloatTensor, torch.LongTensor, torch.DoubleTensor, torch.IntTensor)
# What makes a tensor of that size of a number.
_SIZED = (torch.Tensor, *_EXACTLY)
_WARNING = (torch.as_tensor, torch.from_numpy, *_SIZED)
# What warns of lists of arrays.
_LISTED = (torch.tensor, torch.as_tensor, *_SIZED)

# Methods, by the class that has them.
METHODS: dict[tuple[type, str], tuple[Any, Rule]] = {
    (owner, name): (in_class(owner, name), rule)
    for owner, names, rule in (
        (np.ndarray, "astype copy", _convert),
        (np.generic, "astype copy item", _convert),
        (np.ndarray, "reshape transpose swapaxes squeeze flatten ravel", _view),
        (np.ndarray, "clip", _clip),
        (torch.Tensor, "to type float double long int short bool clone contiguous detach cpu numpy item", _convert),
        (torch.Tensor, "view reshape permute transpose t unsqueeze squeeze flatten movedim flip", _view),
        (torch.Tensor, "clamp clip", _clip),
        (torch.Tensor, "abs", _unary("abs")),
        (torch.Tensor, "neg", _unary("neg")),
        (torch.Tensor, "add", _binary("+")),
        (torch.Tensor, "sub", _binary("-")),
        (torch.Tensor, "mul", _binary("*")),
        (torch.Tensor, "div", _binary("/")),
    )
    for name in names.split()
}


def method_of(sample: Any, name: str) -> tuple[Callable[..., Any], Rule] | None:
    """A method of a value, as a function that takes the value first, and its rule."""
    owner = {"tensor": torch.Tensor, "array": np.ndarray, "scalar": np.generic}.get(kind_of(sample))
    known = METHODS.get((owner, name)) if owner is not None else None
    if known is None or in_class(type(sample), name) is not known[0]:
        return None
    return operator_of(name), known[1]


def operator_of(name: str) -> Callable[..., Any]:
    return lambda value, *arguments, **options: getattr(value, name)(*arguments, **options)
