"""Sums, means, deviations and extremes of arrays, along some of their axes.

A sum of floats depends on the order in which they are added. numpy and torch add in an order that depends on the shape
and on how the items lie in memory; it is written down here, and core/expr/reduce.h adds in it. Whether the installed
library keeps to it is tried first (goloader.selfcheck).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from ....arrays.file_array import contiguous
from ....selfcheck import value as behaviour
from ...bytecode import UnreadableError
from .arithmetic import Arithmetic, Rule, Value, are_constant, dtype_of, kind_of
from .program import Items

# torch shares more items than these out among threads.
_TORCH_MOST = 32768
# Sums of so many integers of 32 bits are the same as a double.
_EXACT_MOST = 1 << 21
# The bytes of torch's vectors, of which it adds the numbers side by side.
_VECTOR = 32


@dataclass(frozen=True)
class Along:
    """The axes of a value that are reduced. kept has their extents as 1 if they stay."""

    shape: tuple[int, ...]
    axes: frozenset[int]
    keep: bool

    @property
    def count(self) -> int:
        return math.prod(self.shape[axis] for axis in self.axes)

    @property
    def kept(self) -> tuple[int, ...]:
        return tuple(1 if d in self.axes else extent for d, extent in enumerate(self.shape))

    @property
    def result(self) -> tuple[int, ...]:
        return self.kept if self.keep else tuple(e for d, e in enumerate(self.shape) if d not in self.axes)


def rule(library: str, name: str) -> Rule:
    """What becomes of a call of numpy's or torch's function, or method, of that name: with an "array" or a "tensor"."""

    def reduced(a: Arithmetic, function: Callable[..., Any], values: list[Any], options: dict[str, Any]) -> Any:
        value, *rest = values
        if not isinstance(value, Value) or not are_constant([*rest, *options.values()]):
            raise UnreadableError("reduces what is no array, or in a way that depends on the index")
        sample = a.done(function, values, options)
        if value.constant:
            return Value(sample, constant=True)
        if kind_of(value.sample) != library or not value.sample.shape or 0 in value.sample.shape:
            raise UnreadableError("reduces what is no array, or an empty one")
        given = _given(library, name, [each.sample for each in rest], {n: each.sample for n, each in options.items()})
        return _Reduction(a, value, _along(value.sample, given), given).named(name, sample)

    return reduced


# What is given by its place, after the array.
_PLACES: dict[tuple[str, str], tuple[str, ...]] = {
    ("array", "norm"): ("ord", "axis", "keepdims"),
    ("tensor", "std"): ("dim", "unbiased", "keepdim"),
    ("tensor", "var"): ("dim", "unbiased", "keepdim"),
}
# And by its name. Torch's "correction" is a number; "unbiased" is its old name, for 0 and 1.
_NAMES = {
    "array": {"axis": "axis", "keepdims": "keep", "ddof": "correction", "ord": "order"},
    "tensor": {"dim": "axis", "keepdim": "keep", "correction": "correction", "unbiased": "correction"},
}
_ONLY = {"ddof": ("std", "var"), "correction": ("std", "var"), "unbiased": ("std", "var"), "ord": ("norm",)}


def _given(library: str, name: str, values: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, as "axis", "keep" and "correction"."""
    places = _PLACES.get((library, name), ("axis",) if library == "array" else ("dim", "keepdim"))
    if values and type(values[0]) is bool and "unbiased" in places:
        places = ("unbiased",)
    named = {**dict(zip(places, values, strict=False)), **options}
    names = _NAMES[library]
    if len(values) > len(places) or any(each not in names or name not in _ONLY.get(each, (name,)) for each in named):
        raise UnreadableError("calls it with other arguments")
    given = {"axis": None, "keep": False, "correction": int(library == "tensor"), "order": None}
    given |= {names[each]: argument for each, argument in named.items()}
    whole = type(given["correction"]) in (int, bool) and given["order"] in (None, 2)
    if type(given["keep"]) is not bool or not whole:
        raise UnreadableError("calls it with other arguments")
    return given


def _along(sample: Any, given: Mapping[str, Any]) -> Along:
    axis, ndim = given["axis"], sample.ndim
    axes = range(ndim) if axis is None else (axis,) if type(axis) is int else axis
    if not isinstance(axes, range | tuple | list) or not axes or any(type(each) is not int for each in axes):
        raise UnreadableError("reduces along what is no axis")
    return Along(tuple(sample.shape), frozenset(each % ndim for each in axes), given["keep"])


@dataclass
class _Reduction:
    """One call: the value that is reduced, along which axes, and what else was said."""

    a: Arithmetic
    value: Value
    along: Along
    given: Mapping[str, Any]

    def named(self, name: str, sample: Any) -> Any:
        match name:
            case "argmax" | "argmin":
                return self._found(name[3:], sample)
            case "max" | "min" | "amax" | "amin":
                if type(sample).__name__ in ("max", "min"):  # torch.return_types, a pair
                    return [self._extreme(name, sample[0]), self._found(name, sample[1])]
                return self._extreme(name, sample)
            case "norm":
                return self._norm(sample)
            case "std" | "var":
                return self._deviation(sample, root=name == "std")
            case _:
                return self._sum(sample, mean=name == "mean")

    # Extremes

    def _extreme(self, name: str, sample: Any) -> Value:
        dtype = dtype_of(sample)
        if dtype != dtype_of(self.value.sample) or dtype == "bool":
            raise UnreadableError(f"takes the largest of {dtype}")
        return self._result(sample, lambda: self._extreme_of(name[-3:], self.value.items))

    def _extreme_of(self, op: str, items: Items) -> Items:
        return self._reduced([(op, slice(None))], items, self._axes, replace(items, shape=self.along.kept))

    def _found(self, name: str, sample: Any) -> Value:
        """The first place at which the largest number is, along one axis, or in all."""
        axes = self.along.axes

        def made() -> Items:
            constant, step = self.a.writer.constant, self.a.writer.step
            own = dtype_of(self.value.sample)
            items = self.a.items(self.value, "uint8" if own == "bool" else own)
            most = self._extreme_of(name[-3:], items)
            count = self.along.count
            places = np.arange(count).reshape([e if d in axes else 1 for d, e in enumerate(self.along.shape)])
            is_most = step("eq", (items, most), "bool")
            where = step("where", (is_most, constant(places), constant(np.array(count))), "int64")
            return self._extreme_of("min", where)

        return self._result(sample, made)

    # Sums

    def _sum(self, sample: Any, *, mean: bool) -> Value:
        dtype, own = dtype_of(sample), dtype_of(self.value.sample)
        if own.startswith("float"):
            if dtype != own:
                raise UnreadableError(f"makes {dtype} of sums of {own}")
            total = self._adding(self.value)
        elif not mean:
            return self._result(sample, lambda: self._added("sum_each", self.a.items(self.value, dtype), self._axes))
        else:
            total = self._adding_integers()
        return self._result(sample, lambda: self._divided(total(), self.along.count) if mean else total())

    def _adding_integers(self) -> Callable[[], Items]:
        """What makes a sum as float64, which is the same in any order."""
        if "64" in dtype_of(self.value.sample) or self.along.count > _EXACT_MOST:
            raise UnreadableError("takes the mean of integers that a double may not be equal to")
        return lambda: self._added("sum_each", self.a.items(self.value, "float64"), self._axes)

    def _deviation(self, sample: Any, *, root: bool) -> Value:
        divisor = self.along.count - self.given["correction"]
        squares = self._squares_of_torch() if self._is_tensor else self._squares_of_numpy()

        def made() -> Items:
            items = self._divided(squares(), divisor)
            if root:
                items = self.a.writer.step("sqrt", (items,), items.dtype, watch=not self._is_tensor)
            dtype = dtype_of(sample)
            return items if items.dtype == dtype else self.a.writer.step("cast", (items,), dtype)

        return self._result(sample, made)

    def _squares_of_numpy(self) -> Callable[[], Items]:
        """What makes sum((array - mean) ** 2)."""
        axes = tuple(sorted(self.along.axes))
        average = self.a.done(lambda array: np.asarray(array.mean(axis=axes, keepdims=True)), [self.value])
        mean = replace(self, along=replace(self.along, keep=True))._sum(average, mean=True)
        apart = self.a.binary("-", self.value, mean)
        return self._adding(self.a.binary("*", apart, apart))

    def _squares_of_torch(self) -> Callable[[], Items]:
        """The same in float64: of several rows, each number is added while their means are made; else afterwards."""
        groups = self._groups_of_torch(self.value)
        fused = behaviour("torch.deviation")
        if fused is None or not dtype_of(self.value.sample).startswith("float"):
            raise UnreadableError("takes deviations, which torch does in another way here")
        if math.prod(self.along.result) > 1:
            op = "squares_fused" if fused else "squares"
            return lambda: self._added(op, self._in_order(groups, self.value.items), groups, "float64")
        total = self._adding(self.value)

        def made() -> Items:
            step = self.a.writer.step
            mean = step("cast", (self._divided(total(), self.along.count),), "float64")
            apart = step("sub", (self.a.items(self.value, "float64"), mean), "float64")
            squares = step("mul", (apart, apart), "float64")
            return self._added("sum_each", self._in_order(groups, squares), groups)

        return made

    def _norm(self, sample: Any) -> Value:
        """np.linalg.norm along one axis: sqrt(sum(array ** 2))."""
        if type(self.given["axis"]) is not int or not dtype_of(self.value.sample).startswith("float"):
            raise UnreadableError("takes the norm of more than rows of floats")
        total = self._adding(self.a.binary("*", self.value, self.value))
        return self._result(sample, lambda: self.a.writer.step("sqrt", (total(),), dtype_of(sample), watch=True))

    def _divided(self, items: Items, count: int) -> Items:
        number = self.a.writer.constant(np.array(count, items.dtype))
        return self.a.writer.step("div", (items, number), items.dtype, watch=not self._is_tensor)

    @property
    def _is_tensor(self) -> bool:
        return isinstance(self.value.sample, torch.Tensor)

    @property
    def _axes(self) -> list[list[int]]:
        """Each axis by itself."""
        return [[d] for d in range(len(self.along.shape))]

    def _result(self, sample: Any, make: Callable[[], Items]) -> Value:
        def made() -> Items:
            shape = self.along.result
            return replace(make(), shape=shape, strides=contiguous(shape))

        return self.a.value(sample, made)

    # The order of a sum

    def _adding(self, value: Value) -> Callable[[], Items]:
        """What adds its floats as its library does. Raises UnreadableError where that is not known."""
        return self._adding_of_torch(value) if self._is_tensor else self._adding_of_numpy(value)

    def _adding_of_numpy(self, value: Value) -> Callable[[], Items]:
        """np.add.reduce: along memory, row after row; a row that becomes one number by pairs of its parts."""
        op = behaviour("numpy.sum")
        if op is None:
            raise UnreadableError("takes a sum, which numpy does in another way here")
        strides, shape, axes = _strides(value.sample), self.along.shape, self.along.axes
        order = sorted((d for d, extent in enumerate(shape) if extent > 1), key=lambda d: -strides[d])
        groups = _joined(order, shape, strides, axes)
        reduced = [group for group in groups if group[0] in axes]
        if len(reduced) > 1 and groups[-1] is reduced[-1] and len(_joined(order, shape, strides, frozenset(order))) > 1:
            raise UnreadableError("takes the sum of an array with gaps, which numpy copies first")
        return lambda: self._added(op, self._in_order(groups, value.items), groups)

    def _adding_of_torch(self, value: Value) -> Callable[[], Items]:
        """Tensor.sum: in vectors, in four rows side by side, or in levels, as the row's place says."""
        if behaviour("torch.sum") is None:
            raise UnreadableError("takes a sum, which torch does in another way here")
        strides, shape = _strides(value.sample), self.along.shape
        groups = self._groups_of_torch(value)
        columns, row = ([[], *groups])[-2:]
        step, across = strides[row[-1]], strides[columns[-1]] if columns else 0
        items, count = (math.prod(shape[d] for d in group) for group in (row, columns))
        lanes = _VECTOR // value.sample.itemsize
        level = 0
        if step == 1 and items >= lanes:
            rest = "sum_lanes"
        else:
            rest = "sum_rows"
            if across == 1 and count >= lanes:
                level = count - count % (4 * lanes)
            elif columns and step >= across:
                level = count - count % 4
        parts = [(rest, slice(level or None, None))] if level < count else []
        if level:
            parts.append(("sum_levels", slice(0, level)))
        return lambda: self._added(parts, self._in_order(groups, value.items), groups)

    def _groups_of_torch(self, value: Value) -> list[list[int]]:
        """The axes from the outermost to the innermost, those together that are one to torch. The last are reduced."""
        strides, shape, axes = _strides(value.sample), self.along.shape, self.along.axes
        if math.prod(shape) >= _TORCH_MOST:
            raise UnreadableError("takes the sum of so many numbers that torch may share them out among threads")
        long = [d for d, extent in enumerate(shape) if extent > 1]
        rows = sorted((d for d in long if d in axes), key=lambda d: -strides[d])
        reduced = _joined(rows, shape, strides, axes)
        if len(reduced) != 1:
            raise UnreadableError("takes the sum of rows of one number, or of axes that are apart")
        kept = [d for d in long if d not in axes]
        return _joined(kept, shape, strides, frozenset(kept)) + reduced

    def _in_order(self, groups: list[list[int]], items: Items) -> Items:
        """The items with one axis for each group."""
        order = [d for group in groups for d in group]
        shape = tuple(items.shape[d] for d in order)
        moved = replace(items, shape=shape, strides=tuple(items.strides[d] for d in order))
        if any(len(_joined(group, items.shape, items.strides, frozenset(group))) > 1 for group in groups):
            moved = self.a.writer.step("copy", (moved,), moved.dtype)
        strides = dict(zip(order, moved.strides, strict=True))
        extents = tuple(math.prod(items.shape[d] for d in group) for group in groups)
        return replace(moved, shape=extents, strides=tuple(strides[group[-1]] for group in groups))

    def _added(self, op: str | _Parts, items: Items, groups: list[list[int]], dtype: str = "") -> Items:
        zero = self.a.writer.constant(np.zeros((1,) * len(self.along.shape), dtype or items.dtype))
        parts = [(op, slice(None))] if isinstance(op, str) else op
        return self._reduced(parts, items, groups, zero)

    def _reduced(self, parts: _Parts, items: Items, groups: list[list[int]], first: Items) -> Items:
        """What operations make of items with one axis for each group, each of some columns: of the last axis but one.

        first  what they go on with
        """
        made = self.a.writer.begun(first, self.along.kept)
        strides = tuple(0 if group[0] in self.along.axes else made.strides[group[-1]] for group in groups)
        into = replace(made, shape=items.shape, strides=strides)
        for op, columns in parts:
            whole, place = items, into
            if columns != slice(None):
                whole, place = (each.part(len(groups) - 2, columns) for each in (items, into))
            self.a.writer.reduce(op, whole, place, watch=not self._is_tensor)
        return made


# Operations, and the columns that each is for.
_Parts = list[tuple[str, slice]]


def _strides(sample: Any) -> tuple[int, ...]:
    """In items. Raises UnreadableError if some items lie where others do, or backwards."""
    if isinstance(sample, torch.Tensor):
        strides = sample.stride()
    else:
        strides = tuple(stride // sample.itemsize for stride in sample.strides)
    reach = 0
    for stride, extent in sorted(zip(strides, sample.shape, strict=True)):
        if extent > 1 and stride <= reach:
            raise UnreadableError("takes the sum of an array whose items lie in an order of their own")
        reach += stride * (extent - 1)
    return strides


def _joined(
    order: Sequence[int], shape: Sequence[int], strides: Sequence[int], axes: frozenset[int]
) -> list[list[int]]:
    """Dimensions in that order, those of `axes` together that go on where the next one ends."""
    groups: list[list[int]] = []
    for d in order:
        last = groups[-1][-1] if groups else None
        if last is not None and {last, d} <= axes and strides[last] == strides[d] * shape[d]:
            groups[-1].append(d)
        else:
            groups.append([d])
    return groups
