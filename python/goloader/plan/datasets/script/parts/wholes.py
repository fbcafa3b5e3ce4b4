"""Arrays of which each sample has one, or a part: an item of an array or of a list of arrays, at a row that the index
says or that is drawn; all of an array; or a sound in a file.

Where a part begins is a number of the script: the core counts from the first of all bytes that the arrays lie in, by
the bytes of an item, or of a frame.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from .....arrays.file_array import contiguous
from ....bytecode import Attribute, Call, Drawn, Either, Expression, Filled, Index, Item, Name, Part, UnreadableError
from ....rows import Array, ArrayFiles, Field, View
from ...computed import AnyLength, Leaf
from ...computed.arithmetic import Arithmetic, Value, dtype_of, kind_of
from ...computed.leaf import RANGES
from ...known.arrays import is_scattered
from ...known.sequences import Sequences
from ...known.tensors import NAMES
from ...own.ahead import Ahead
from ...own.bases import Base
from ...own.integers import Integers
from ...reads.array_files import FilesAhead, WavAhead
from ..numbers import arithmetic, tables
from ..numbers.arithmetic import INDEX, Number, Vector
from ..numbers.rows import Place, tables_of

if TYPE_CHECKING:
    from ...computed.program import Items
    from .crops import Crop, Crops

_ZERO = Number(0, "int")
# Of an array on all of which numpy or torch is tried, item by item.
_BYTES_MAX = 1 << 26


@dataclass(frozen=True)
class All(Expression):
    """All of an array of which parts are taken."""

    spelling = "{0.place!s}"
    place: Expression


def varies(of: Expression) -> bool:
    """Whether it may differ from sample to sample."""
    return of.has(Index, Drawn, Either, Place)


@dataclass(frozen=True)
class Whole:
    """An array of which each sample has a part.

    base   what it is in
    first  one like it
    key    the row of the base that it is; None for all of the base, and for the index's file
    """

    base: Base | FilesAhead
    first: Any
    key: Expression | None = None

    @property
    def axis(self) -> int | None:
        """Along which parts are taken in any case: of arrays that differ in length, and of sounds."""
        return 0 if isinstance(self.base, WavAhead) or self.base.array is None else None

    @property
    def files(self) -> ArrayFiles | None:
        return self.base.piece.array.files if isinstance(self.base, FilesAhead) else None

    @property
    def differs(self) -> bool:
        """Whether the first extent is not the same for all."""
        return bool(self.base.piece.array.lengths is not None) and self.axis == 0

    @property
    def unit(self) -> int:
        """Bytes that the core counts by."""
        return self.base.frame if isinstance(self.base, WavAhead) else self.first.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes."""
        if isinstance(self.first, torch.Tensor):
            return tuple(stride * self.first.itemsize for stride in self.first.stride())
        if self.axis == 0:
            return contiguous(self.first.shape, self.first.itemsize)
        return tuple(self.first.strides)

    def row(self, crops: Crops) -> Number:
        """Which one of the base's it is; another than there are is left to the user's code."""
        c = crops.c
        if self.key is None or isinstance(self.key, Index):
            return INDEX
        row = c.number(self.key)
        if row.kind not in arithmetic.PLACES:
            raise UnreadableError(f"takes rows by {self.key}", self.key)
        c.within(row, len(self.base.piece))
        return row

    def extent(self, crops: Crops, axis: int) -> Number:
        if not self.differs or axis != 0:
            return Number(self.first.shape[axis], "int")
        return self._looked_up(crops, "extents", self.base.piece.array.lengths)

    def begin(self, crops: Crops) -> Number:
        """Where its first item is."""
        if self.files is not None and self.differs:
            return self._looked_up(crops, "begins", self.files.begins[:-1] // self.unit)
        if self.files is None and self.key is None:
            return _ZERO
        if isinstance(self.base.piece, Sequences):
            begins: Any = self.base.piece.array.begins
            return self._looked_up(crops, "begins", (begins - begins.min()) // self.unit)
        step = self.base.piece.array.strides[0] // self.unit
        return arithmetic.binary("*", self.row(crops), Number(step, "int"))._replace(kind="int")

    def _looked_up(self, crops: Crops, name: str, values: Any) -> Number:
        """Numbers of all arrays, by the row: these change with the arrays, of which the base knows."""
        base = self.base
        sources = base.columns.sources if isinstance(base, FilesAhead) else list
        table = tables_of(crops.c, (name, id(base)), lambda: tables.plain(values.tolist(), "int"), sources)
        if table is None:
            raise UnreadableError("takes parts of arrays, of too many items")
        return Number(["item", table, self.row(crops).json], "int")

    def ends(self, axis: int) -> bool:
        """Whether parts along an axis may go beyond where it ends: the core knows where that is."""
        return isinstance(self.base, WavAhead) or (axis == 0 and self._spans is not None)

    @cached_property
    def _spans(self) -> NDArray[np.int64] | None:
        """Where the base's arrays begin and end in memory, [arrays, 2], ascending; None where they do not lie apart."""
        piece = self.base.piece
        if not isinstance(piece, Sequences) or not piece.in_one_piece:
            return None
        each: Any = piece.array.lengths * (math.prod(self.first.shape[1:]) * self.first.itemsize)
        begins = np.asarray(piece.array.begins)
        spans = np.unique(np.stack([begins, begins + each], 1)[each > 0], axis=0)
        return spans if len(spans) and (spans[1:, 0] >= spans[:-1, 1]).all() else None

    def array(self, rows: tuple[int, ...], stored: str, *, ends: bool = False) -> Array:
        """Parts of this shape, one at each item, or frame.

        ends  they may go beyond where it ends
        """
        whole: Any = self.base.piece.array
        size, strides = self.first.itemsize, self.strides
        reach = _reach(rows, strides, size)
        if self.files is not None:
            if is_scattered(rows, strides, size):
                raise UnreadableError("takes items that are scattered over a file")
            # What lies in one piece ends where its file's array does (capi/exports.go).
            room = int(self.files.begins[-1]) - (0 if reach == math.prod(rows) * size else reach - size)
            places = max(0, room) // self.unit
            return Array(0, (places, *rows), (self.unit, *strides), self.files, stored, whole.path, files=self.files)
        address = whole.address
        if isinstance(self.base.piece, Sequences):
            begins, address = whole.begins, int(whole.begins.min())
            each = strides[0] * whole.lengths if self.differs else _reach(self.first.shape, strides, size)
            room = int((begins + each).max()) - address
        else:
            room = _reach(whole.shape, whole.strides, size)
        found = None
        if ends:
            assert self._spans is not None
            found, reach = self._spans[:, 1] - address, size
            room = int(found[-1])
        places = max(0, room - reach + size) // size
        return Array(
            address, (places, *rows), (size, *strides), whole.owner, stored, whole.path, whole.offset, whole.direct,
            ends=found,
        )  # fmt: skip


def _reach(shape: tuple[int, ...], strides: tuple[int, ...], size: int) -> int:
    """Bytes from the first item to the end of the last one."""
    return size + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))


@dataclass(frozen=True, eq=False)
class RowsInput:
    """What a program is given of an array: all of it, or so many items along some axes.

    rows   the shape
    crops  which part, an axis each; none for all
    """

    whole: Whole
    rows: tuple[int, ...]
    crops: tuple[Crop, ...] = ()

    @property
    def base(self) -> Base | FilesAhead:
        return self.whole.base


@dataclass(frozen=True, eq=False)
class VectorInput:
    """The same of a script's vector."""

    number: int
    base: None = None


class WholeLeaf(Leaf):
    """What code makes of such arrays.

    axis  along which parts are taken, item by item; of arrays that differ in length it is the first
    cuts  along other axes so many items are taken already
    """

    def __init__(self, crops: Crops, axis: int | None = None, cuts: tuple[Crop, ...] = ()) -> None:
        super().__init__(crops)
        self._crops: Crops = self._node  # type: ignore[assignment]
        self._axis, self._cuts = axis, cuts

    def _worked_out(self, expression: Expression) -> Value | None:
        return None

    def _depends(self, key: Expression) -> bool:
        return varies(key)

    def _compiled(self, expression: Expression) -> Any:
        match expression:
            case All(place=place):
                return self._of_whole(self._crops.all_of(place))
            case Item() | Part() if (whole := self._crops.whole(expression)) is not None:
                return self._of_whole(whole)
            case Item(key=key) if varies(key) and (cut := self._cut_by(expression)) is not None:
                return self._within(cut).value(cut.of)
            case Drawn(number=number) if isinstance(item := self._crops.c.drawn.get(number), Expression):
                return self.value(item)
            case Either() if (way := self._crops.c.decided(expression)) is not None:
                return self.value(way)
        return super()._compiled(expression)

    @property
    def _parts(self) -> tuple[Crop, ...]:
        return self._cuts

    def _cut_by(self, of: Item) -> Crop | None:
        """So many items along another axis; None of what is none."""
        crop = None if self._axis is None else self._crops.known_crop(of)
        if crop is None or crop.length is None or crop.padded or crop.of is of:
            return None
        return None if crop.base_axis in (self._axis, *(each.base_axis for each in self._cuts)) else crop

    def _within(self, cut: Crop) -> WholeLeaf:
        """A leaf of what is cut."""
        return WholeLeaf(self._crops, self._axis, (*self._cuts, cut))

    def _shape_of(self, whole: Whole) -> tuple[int, ...]:
        """With what is cut."""
        cut = {each.base_axis: each.length or 0 for each in self._cuts}
        return tuple(cut.get(axis, extent) for axis, extent in enumerate(whole.first.shape))

    def _of_files(self, base: FilesAhead) -> Value:
        first, axis = base.first, base.axis if base.array is None else None
        if kind_of(first) not in ("array", "tensor") or axis or (isinstance(base, WavAhead) and len(first) < 2):
            raise UnreadableError(f"opens {base.place}, of which it takes parts", base.place)
        return self._of_whole(Whole(base, first))

    def _of_whole(self, whole: Whole) -> Value:
        first, axis = whole.first, self._axis if whole.axis is None else whole.axis
        if self._cuts:
            first = first[tuple(slice(0, extent) for extent in self._shape_of(whole))]
        if axis is None:
            return self._input(whole, first)
        if not 0 <= axis < first.ndim or first.shape[axis] < 2:
            raise UnreadableError("takes parts of arrays of one item")
        one = first[(slice(None),) * axis + (slice(0, 1),)]
        return Value(AnyLength(first, whole, axis, self._input(whole, one)), make=self._input(whole, first).make)

    def _input(self, whole: Whole, sample: Any) -> Value:
        rows = tuple(np.shape(sample))

        def make() -> Items:
            self.inputs.append(RowsInput(whole, rows, self._parts))
            return self.writer.input(dtype_of(sample), rows)

        return Value(sample, make=make)

    def _of_any_length(self, base: Base | Ahead, rows: Integers, cuts: tuple[slice, ...] = ()) -> Value:
        raise UnreadableError("takes lists that differ in length")

    def _words(self, item: Expression, text: Expression) -> Value:
        raise UnreadableError("looks up words of texts")  # of which there may be many

    def _shape(self, value: Value) -> list[Value]:
        sample = value.sample
        if type(sample) is not AnyLength or not isinstance(sample.base, Whole):
            return super()._shape(value)
        if sample.base.differs:
            raise UnreadableError("reckons with how many items an array has")
        return [Value(extent, constant=True) for extent in sample.first.shape]

    def _item_by_item(self, value: Value, do: Callable[[Arithmetic, Value], Value]) -> Value:
        if value.sample.first.nbytes > _BYTES_MAX:
            raise UnreadableError("works with all of a large array, of which it takes a part")
        return super()._item_by_item(value, do)

    def _check_order(self, shape: tuple[int, ...], axis: int) -> None:
        """Parts lie in memory in any order."""


class PartLeaf(WholeLeaf):
    """The same of so many items along the axis, for another leaf, whose program it writes; for none it writes one that
    nobody has."""

    def __init__(
        self,
        crops: Crops,
        axis: int,
        length: int,
        crop: Crop | None = None,
        leaf: WholeLeaf | None = None,
        cuts: tuple[Crop, ...] = (),
    ) -> None:
        super().__init__(crops, axis, cuts)
        self._length, self._crop = length, crop
        if leaf is not None:
            self.writer, self.inputs, self._arithmetic = leaf.writer, leaf.inputs, leaf._arithmetic

    @property
    def _parts(self) -> tuple[Crop, ...]:
        return self._cuts if self._crop is None else (*self._cuts, self._crop)

    def _within(self, cut: Crop) -> WholeLeaf:
        assert self._axis is not None and cut.length is not None
        self._crops.c.equal(cut.extent, Number(cut.length, "int"))
        return PartLeaf(self._crops, self._axis, self._length, self._crop, self, (*self._cuts, cut))

    def _of_whole(self, whole: Whole) -> Value:
        axis = whole.axis if whole.axis is not None else self._axis
        assert axis is not None
        shape = tuple(self._length if n == axis else extent for n, extent in enumerate(self._shape_of(whole)))
        if isinstance(whole.first, torch.Tensor):
            return self._input(whole, torch.zeros(shape, dtype=whole.first.dtype))
        zeros = np.zeros(shape, whole.first.dtype)
        zeros.flags.writeable = whole.first.flags.writeable  # torch warns of one that is not
        return self._input(whole, zeros)

    def _compiled(self, expression: Expression) -> Any:
        match expression:
            case Attribute(name="shape" | "size") | Call(function=Name(name="len") | Attribute(name="size" | "numel")):
                raise UnreadableError("reckons with how many frames a sound has", expression)
        return super()._compiled(expression)


class WindowLeaf(WholeLeaf):
    """A field that is made of such arrays, of parts of them, and of numbers that the script has."""

    # The instructions on the side of a branch that is made; None for none.
    _side: list[Any] | None = None

    def _compiled(self, expression: Expression) -> Any:
        match expression:
            case Drawn(number=number, call=call):
                found = self._crops.c.drawn.get(number)
                if isinstance(found, Vector):
                    return self._of_vector(found)
                if isinstance(found, Number):
                    return self._of_number(found, call)
            case Either(number=number) if isinstance(sides := self._crops.c.branches.get(number), tuple):
                return self._one_of(expression, sides)
            case Item() if (several := self._crops.one_by_one(expression)) is not expression:
                return self.value(several)
            case Call(function=function) if any(self._crops.c.function(function) is each for each in RANGES):
                if (made := self._range(expression)) is not None:
                    return made
            case Attribute(owner=owner, name="dtype" | "ndim" as name) if (
                crop := self._crops.known_crop(owner)
            ) is not None:
                return Value(getattr(self._crops.like(crop), name), constant=True)
            case Call() | Item() if (extent := self._crops.varying(expression)) is not None:
                return self._of_number(extent)
            case Call() if (runs := self._crops.runs(expression)) is not None:
                return self._of_runs(*runs)
        if isinstance(expression, Item | Call | Filled) or is_data(expression):
            crop = self._crops.crop(expression)
            if crop is not None and (crop.length is not None or crop.of is not expression):
                return self._framed(expression, crop)
        if is_data(expression):
            raise UnreadableError("uses .data")
        return super()._compiled(expression)

    def is_new(self, of: Expression) -> bool:
        drawn = isinstance(of, Drawn) and isinstance(self._crops.c.drawn.get(of.number), Vector)
        return drawn or super().is_new(of)

    def _number(self, integers: Integers) -> Value:
        if integers.is_index:
            return self._of_number(INDEX)
        if integers.constant is None:
            raise UnreadableError("reckons with the index")
        return super()._number(integers)

    def _viewed(self, base: Base | Ahead, view: Any, rows: Integers, around: tuple[Any, ...], window: int = 0) -> Value:
        raise UnreadableError("takes rows that the index alone says")

    def _worked_out(self, expression: Expression) -> Value | None:
        """What is a number of the script's."""
        with suppress(UnreadableError):
            return self._of_number(self._crops.c.number(expression))
        return None

    def _of_number(self, number: Number, call: Expression | None = None) -> Value:
        if number.is_constant:
            return Value(number.value, constant=True)
        shape: tuple[int, ...] = ()
        match number.kind, call:
            case "int", _:
                sample: Any = 1
            case "float", _:
                sample = 0.5
            case "numpy", _:
                sample = np.int64(1)
            case "float32", Call(function=Attribute(name="uniform_")):  # of torch.empty(1)
                shape, sample = (1,), torch.ones(1, dtype=torch.float32)
            case "float32" | "int64", Call(arguments=arguments, options=options):  # torch's, of one item
                size = dict(options).get("size", arguments[-1] if arguments else None)
                if size is None or (found := self._crops.shape(size)) is None:
                    raise UnreadableError(f"reckons with {call}", call)
                shape, sample = found, torch.ones(found, dtype=getattr(torch, number.kind))
            case _:
                raise UnreadableError("reckons with a number of another type")

        def make() -> Items:
            kind = arithmetic.register_of(number.kind)
            vector = self._crops.c.fill(number.json, kind, 1)
            return self._vector(vector, "float64" if kind == "float" else "int64", shape, dtype_of(sample))

        return Value(sample, make=make, small=number.is_python)

    def _of_vector(self, vector: Vector) -> Value:
        stored = "int64" if vector.is_int else "float64"
        dtype = "float32" if vector.is_tensor and not vector.is_int else stored
        sample: Any = np.full(vector.shape, 0 if vector.is_int else 0.5, dtype)
        value = Value(
            torch.from_numpy(sample) if vector.is_tensor else sample,
            make=lambda: self._vector(vector.number, stored, vector.shape, dtype),
        )
        if vector.first is not None:
            value = self._arithmetic.viewed(lambda whole: whole[: vector.first], value, (), {})
        if vector.chances is not None:
            below = self._arithmetic.binary("<", value, self._single(vector.chances))
            return self._arithmetic.converted(lambda each: each.float(), below, [], {})
        if vector.scale is not None:
            value = self._arithmetic.binary("*", value, self._of_number(vector.scale))
        if vector.shift is not None:
            value = self._arithmetic.binary("+", value, self._of_number(vector.shift))
        return value

    def _vector(self, number: int, stored: str, shape: tuple[int, ...], dtype: str) -> Items:
        self.inputs.append(VectorInput(number))
        items = self.writer.input(stored, shape)
        return items if stored == dtype else self.writer.step("cast", (items,), dtype)

    def _one_of(self, of: Either, sides: tuple[list[Any], list[Any]]) -> Value:
        """A number, a part of an array, or what was made of these, by which way of a branch was gone."""
        with suppress(UnreadableError):
            return self._of_number(self._crops.c.number(of))
        with suppress(UnreadableError):
            crop = self._crops.crop(of)
            if crop is not None and crop.length is not None:
                return self._framed(of, crop)
        then, otherwise = (self._on_side(*each) for each in zip((of.then, of.otherwise), sides, strict=True))
        kind = kind_of(then.sample)
        if kind not in ("array", "tensor") or _form(then.sample) != _form(otherwise.sample):
            raise UnreadableError(f"has one of two values: {of}", of)
        c = self._crops.c
        register = c.register("int")
        for side, holds in zip(sides, (1, 0), strict=True):
            side.append({"do": "let", "number": register, "value": holds})

        def make() -> Items:
            return self._vector(c.fill(["number", register], "int", 1), "int64", (), "bool")

        condition = Value(torch.tensor(True) if kind == "tensor" else np.array(True), make=make)
        chosen = self._arithmetic.chosen(torch.where if kind == "tensor" else np.where, condition, then, otherwise)
        # What goes backwards on one way is to be used as if it did on both: all else that is made of it is the same.
        backwards = min((0, *np.asarray(otherwise.sample).strides)) < 0
        return replace(chosen, sample=otherwise.sample if backwards else then.sample)

    def _on_side(self, of: Expression, side: list[Any]) -> Value:
        """What a value is on one side of a branch: what it goes by has to hold there alone."""
        known, outer = self._known, self._side
        self._known, self._side = {**known}, side
        try:
            return self._single(of)
        finally:
            self._known, self._side = known, outer

    def _framed(self, of: Expression, crop: Crop) -> Value:
        if crop.length is None or crop.length < 1:
            raise UnreadableError(f"takes as many frames as there are: {of}", of)
        self._crops.c.equal(crop.extent, Number(crop.length, "int"))
        value: Value = PartLeaf(self._crops, crop.base_axis, crop.length, crop, self).value(crop.of)
        if crop.padded:
            value = self._filled_behind(of, crop, value)
        # Of a longer one, as torch has it: it may lie in several pieces.
        longer = PartLeaf(self._crops, crop.base_axis, crop.length + 1).value(crop.of).sample
        return replace(value, sample=longer[(slice(None),) * crop.axis + (slice(0, crop.length),)])

    def _range(self, call: Call) -> Value | None:
        """arange between numbers of the script's that are as far apart for all samples; None for another."""
        c = self._crops.c
        called: Any = c.function(call.function)
        given = dict(zip(("start", "end", "step"), call.arguments, strict=False)) | dict(call.options)
        given = {"end" if name == "stop" else name: each for name, each in given.items()}
        if "end" not in given or "start" not in given or not given.keys() <= {"start", "end", "step", "dtype"}:
            return None
        if "step" in given and self._crops.own.if_seen(given["step"]) != 1:
            return None
        if "dtype" in given and self._crops.own.if_seen(given["dtype"]) is not torch.int64:
            return None
        try:
            start, count = c.number(given["start"]), self._crops.between(given["start"], given["end"])
        except UnreadableError:
            return None
        if start.kind != "int" or count is None or count < 1:
            return None
        if start.is_constant:
            return Value(called(start.value, start.value + count), constant=True)
        return self._arithmetic.binary("+", Value(called(count), constant=True), self._of_number(start))

    def _of_runs(self, first: Number, total: int, sample: Any) -> Value:
        """An array of two numbers, one after the other: so many of the first, and others up to all."""
        c, library = self._crops.c, torch if kind_of(sample) == "tensor" else np
        with c.inside(c.into if self._side is None else self._side):
            c.check(["<=", 0, first.json], ["<=", first.json, total])
        places: Any = Value(library.arange(total), constant=True)
        condition = self._arithmetic.binary("<", places, self._of_number(first))
        return self._arithmetic.chosen(
            library.where, condition, Value(sample[0], constant=True), Value(sample[1], constant=True)
        )

    def _filled_behind(self, of: Expression, crop: Crop, value: Value) -> Value:
        """Items of a crop, with those beyond its array's end as they are to be: what is read there are zeros."""
        kept = np.asarray(value.sample)
        if kept.shape[crop.axis] != crop.length:
            raise UnreadableError(f"makes others of what is behind an array: {of}", of)
        if not kept.tobytes().strip(b"\0") and repr(crop.fill) in ("0", "0.0"):
            return value
        c, library = self._crops.c, torch if kind_of(value.sample) == "tensor" else np
        there = c.sure(arithmetic.binary("-", crop.whole.extent(self._crops, crop.base_axis), crop.start))
        assert crop.length is not None
        places: Any = np.arange(crop.length).reshape(-1, *(1 for _ in kept.shape[crop.axis + 1 :]))
        fill: Any = np.full((), crop.fill, kept.dtype)
        if library is torch:
            places, fill = torch.from_numpy(places), torch.from_numpy(fill)
        condition = self._arithmetic.binary("<", Value(places, constant=True), self._of_number(there))
        return self._arithmetic.chosen(library.where, condition, value, Value(fill, constant=True))

    def field(self, number: int) -> Field:
        items = self.items
        alone = len(self.inputs) == 1 and isinstance(self.inputs[0], RowsInput)
        how = self.writer.plain(items) if alone else ""
        stored = self.writer.inputs[0][0] if how == "cast" else ""
        read = [each for each in self.inputs if isinstance(each, RowsInput)]
        found = tuple(
            each.whole.array(each.rows, stored, ends=any(crop.padded for crop in each.crops)) for each in read
        )
        vectors = [each.number if isinstance(each, VectorInput) else None for each in self.inputs]
        program = None if how else self.writer.finished(items, vectors=vectors)
        spec = NAMES[getattr(torch, items.dtype)], items.shape
        arrays, inputs = (found, ()) if how else ((), tuple((each,) for each in found))
        return Field(*spec, arrays, None, items.dtype, False, (View((number,)),), program, inputs)


def _form(sample: Any) -> tuple[Any, ...]:
    """What arrays and tensors have in common that code cannot tell apart but by their numbers, and numpy's by which way
    they go."""
    strides = sample.stride() if isinstance(sample, torch.Tensor) else getattr(sample, "strides", ())
    return type(sample), getattr(sample, "dtype", None), np.shape(sample), tuple(map(abs, strides))


def is_data(of: Expression) -> bool:
    return isinstance(of, Attribute) and of.name == "data"
