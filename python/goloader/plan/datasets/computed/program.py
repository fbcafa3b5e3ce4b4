"""Programs of fields: what the core does with rows of arrays to make one row (core/plan.Program)."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....arrays.file_array import contiguous
from ...bytecode import UnreadableError
from ...rows import DIMENSIONS_MAX, Program
from ..known.arrays import castable

# The types that programs have operations for (core/expr/kernels.c).
DTYPES = (
    "bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64",
)  # fmt: skip

# Of constants, which a plan has as text.
_CONSTANT_BYTES_MAX = 1 << 20

# Operations that never fail, unless they are watched.
_SURE = ("cast", "copy", "add", "sub", "mul", "div", "neg", "abs")

# Where items are.
INPUT, _CONSTANT, _VALUE = "input", "constant", "value"


@dataclass(frozen=True)
class Items:
    """Where the items of a value of a program are.

    room, number  an input, a constant, or what a step has made
    offset        of the first item, in items; so are
    strides       from one to the next of each dimension
    """

    room: str
    number: int
    dtype: str
    shape: tuple[int, ...]
    offset: int
    strides: tuple[int, ...]

    @property
    def is_whole(self) -> bool:
        """True if these are the items of a whole array, one after the other."""
        return self.offset == 0 and all(
            own == plain or extent == 1
            for own, plain, extent in zip(self.strides, contiguous(self.shape), self.shape, strict=True)
        )

    def over(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The strides to go over them as numpy broadcasts them."""
        missing = len(shape) - len(self.shape)
        own = (0 if extent == 1 else stride for extent, stride in zip(self.shape, self.strides, strict=True))
        return (*(0 for _ in range(missing)), *own)

    def part(self, axis: int, at: slice) -> Items:
        """Those of a slice, without a step, along one axis."""
        start, stop, _ = at.indices(self.shape[axis])
        shape = (*self.shape[:axis], stop - start, *self.shape[axis + 1 :])
        return replace(self, shape=shape, offset=self.offset + start * self.strides[axis])


@dataclass
class _Step:
    op: str
    watch: bool
    shape: tuple[int, ...]
    into: Items
    operands: tuple[Items, ...]
    taken: dict[str, int] | None = None


@dataclass
class Writer:
    """A program that is being written."""

    inputs: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    _constants: list[NDArray[Any]] = field(default_factory=list)
    _values: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    _steps: list[_Step] = field(default_factory=list)

    @property
    def reckons(self) -> bool:
        """True if steps make other numbers, which may fail."""
        return any(step.op != "copy" for step in self._steps)

    def input(self, dtype: str, shape: tuple[int, ...]) -> Items:
        """Rows of an array, of any type: steps take those of DTYPES."""
        self.inputs.append((dtype, shape))
        return self._of(INPUT, len(self.inputs) - 1, dtype, shape)

    def constant(self, value: NDArray[Any]) -> Items:
        """The same for each sample."""
        _check(value.dtype.name)
        value = np.ascontiguousarray(value).reshape(value.shape)
        if value.nbytes > _CONSTANT_BYTES_MAX:
            raise UnreadableError(f"uses an array of {value.nbytes} bytes that is the same for all samples")
        self._constants.append(value)
        return self._of(_CONSTANT, len(self._constants) - 1, value.dtype.name, value.shape)

    def step(self, op: str, operands: tuple[Items, ...], dtype: str, *, watch: bool = False) -> Items:
        """What an operation makes of each item, operands being broadcast."""
        _check(*(each.dtype for each in operands))
        shape = np.broadcast_shapes(*(each.shape for each in operands))
        made = self._value(dtype, shape)
        self._steps.append(_Step(op, watch, shape, made, operands))
        return made

    def taken(self, whole: Items, places: Items, axis: int) -> Items:
        """whole[places], along an axis: places are of int64, and may count from behind."""
        _check(whole.dtype)
        shape = (*whole.shape[:axis], *places.shape, *whole.shape[axis + 1 :])
        made = self._value(whole.dtype, shape)
        still = replace(whole, shape=shape, strides=(*whole.strides[:axis], 0, *whole.strides[axis + 1 :]))
        which = replace(places, shape=shape, strides=tuple(places.strides[0] * (d == axis) for d in range(len(shape))))
        taken = {"axis": axis, "extent": whole.shape[axis], "stride": whole.strides[axis]}
        self._steps.append(_Step("take", False, shape, made, (still, which), taken))
        return made

    def joined(self, parts: list[tuple[Items, tuple[slice, ...]]], dtype: str, shape: tuple[int, ...]) -> Items:
        """An array of which each part is copied from items of that type."""
        made = self._value(dtype, shape)
        for items, place in parts:
            starts = [each.indices(extent)[0] for each, extent in zip(place, shape, strict=True)]
            offset = sum(start * stride for start, stride in zip(starts, made.strides, strict=True))
            self.store(items, replace(made, shape=items.shape, offset=offset))
        return made

    def store(self, items: Items, into: Items) -> None:
        """Copies items, which are broadcast, to a part of an array that a step has made."""
        self._steps.append(_Step("copy", False, into.shape, into, (items,)))

    def begun(self, first: Items, shape: tuple[int, ...]) -> Items:
        """An array that `reduce` goes on with, of items that are broadcast."""
        made = self._value(first.dtype, shape)
        self._steps.append(_Step("copy", False, shape, made, (first,)))
        return made

    def reduce(self, op: str, whole: Items, into: Items, *, watch: bool) -> None:
        """Goes over all items, with what `begun` made: where its strides are 0, several go into one."""
        _check(whole.dtype)
        self._steps.append(_Step(op, watch, whole.shape, into, (whole,)))

    def settle(self, items: Items) -> tuple[Items, list[int]]:
        """The same items, and which inputs stay: steps that cannot fail, and make nothing of what is given, are left
        out, as of arrays that were asked for their shape, with the inputs that these alone are of."""
        used, steps = {(items.room, items.number)}, []
        for step in reversed(self._steps):
            if step.op in _SURE and not step.watch and (_VALUE, step.into.number) not in used:
                continue
            used |= {(each.room, each.number) for each in (*step.operands, step.into)}
            steps.append(step)
        kept = {
            room: [n for n in range(len(whole)) if (room, n) in used]
            for room, whole in ((INPUT, self.inputs), (_VALUE, self._values))
        }
        numbers = {(room, number): n for room, whole in kept.items() for n, number in enumerate(whole)}

        def moved(of: Items) -> Items:
            return replace(of, number=numbers.get((of.room, of.number), of.number))

        self._steps = [
            replace(step, into=moved(step.into), operands=tuple(map(moved, step.operands))) for step in reversed(steps)
        ]
        self.inputs = [self.inputs[n] for n in kept[INPUT]]
        self._values = [self._values[n] for n in kept[_VALUE]]
        return moved(items), kept[INPUT]

    def plain(self, items: Items) -> str:
        """How an input is handed out as it is: "row", or "cast" to another type. "" for more than that."""
        if len(self.inputs) != 1 or not items.is_whole or items.shape != self.inputs[0][1]:
            return ""
        if items.room == INPUT:
            return "row"
        if len(self._steps) != 1 or self._steps[0].op != "cast" or self._steps[0].watch or self._steps[0].into != items:
            return ""
        (given,) = self._steps[0].operands
        return "cast" if given.is_whole and castable(items.dtype, given.dtype) else ""

    def finished(
        self, items: Items, item: tuple[int, ...] | None = None, vectors: Sequence[int | None] | None = None
    ) -> Program:
        """The program that makes a row of these items.

        item     the shape of the only input's items, each of which it makes an item of: of a row that has any number
        vectors  of a script's, which one each input is; None for rows
        """
        if not (items.is_whole and items.room == _VALUE and items.shape == self._values[items.number][1]):
            items = self.step("copy", (items,), items.dtype)
        firsts = {INPUT: 0, _CONSTANT: len(self.inputs), _VALUE: len(self.inputs) + len(self._constants)}
        last = items.number
        row = firsts[_VALUE] + len(self._values) - 1

        def number(of: Items) -> int:
            if of.room == _VALUE and of.number >= last:
                return row if of.number == last else firsts[_VALUE] + of.number - 1
            return firsts[of.room] + of.number

        def place(of: Items, strides: tuple[int, ...]) -> dict[str, Any]:
            return {"value": number(of), "offset": of.offset, "strides": list(strides)}

        plan = {
            "inputs": [
                _spec(dtype, shape if item is None else item) | {"vector": vector}
                for (dtype, shape), vector in zip(self.inputs, vectors or [None] * len(self.inputs), strict=True)
            ],
            "constants": [
                _spec(each.dtype.name, each.shape) | {"data": base64.b64encode(each.tobytes()).decode("ascii")}
                for each in self._constants
            ],
            "values": [_spec(*each) for n, each in enumerate(self._values) if n != last],
            "steps": [
                {
                    "op": step.op,
                    "watch": step.watch,
                    "taken": step.taken,
                    "shape": list(step.shape),
                    "into": place(step.into, step.into.strides),
                    "from": [place(each, each.over(step.shape)) for each in step.operands],
                }
                for step in self._steps
            ],
        }
        return Program(plan)

    def _value(self, dtype: str, shape: tuple[int, ...]) -> Items:
        if len(shape) >= DIMENSIONS_MAX:
            raise UnreadableError(f"makes an array of {len(shape)} dimensions")
        _check(dtype)
        self._values.append((dtype, shape))
        return self._of(_VALUE, len(self._values) - 1, dtype, shape)

    def _of(self, room: str, number: int, dtype: str, shape: tuple[int, ...]) -> Items:
        return Items(room, number, dtype, shape, 0, contiguous(shape))


def _check(*dtypes: str) -> None:
    for dtype in dtypes:
        if dtype not in DTYPES:
            raise UnreadableError(f"reckons with {dtype}")


def _spec(dtype: str, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape)}
