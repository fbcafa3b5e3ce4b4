"""Crops of sounds that are in a file each (../sounds.py), at a place that code draws, and zeros behind short ones.

    if audio.size(0) >= self.segment:
        start = random.randint(0, audio.size(0) - self.segment)
        audio = audio[start : start + self.segment]
    else:
        audio = F.pad(audio, (0, self.segment - audio.size(0)))

The script says where in all sounds, one after the other, a sample's frames begin; the core reads these alone. What is
done to each number, before and after, is a program as that of arrays (../computed.py).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ....arrays.file_array import contiguous
from ...bytecode import (
    Attribute,
    Binary,
    Call,
    Constant,
    Display,
    Either,
    Expression,
    Item,
    Name,
    UnreadableError,
    parts_of,
)
from ...rows import Array, Field, View
from ..arithmetic import Value
from ..array_files import FilesAhead, WavAhead
from ..computed import AnyLength, Computed, Input, Leaf, same
from ..integers import INDEX as EVERY
from ..sounds import reader_of
from ..tensors import NAMES
from . import numbers, tables
from .numbers import INDEX, Number
from .rows import tables_of

if TYPE_CHECKING:
    from ..program import Items
    from .compiler import Compiler

_ZERO = Number(0, "int")


@dataclass(frozen=True)
class Crop:
    """Some frames of a sound.

    of      the sound, of which each number may have been made another
    axis    of its frames
    base    its files
    start   the first frame
    extent  how many there are, and
    length  the same, where that is known to be a number for all samples
    padded  beyond the sound's end there are zeros
    """

    of: Expression
    axis: int
    base: WavAhead
    start: Number
    extent: Number
    length: int | None = None
    padded: bool = False


class Crops(Computed):
    """All of one class: what they are made of, as Computed has it, but for the structure of samples."""

    def __init__(self, c: Compiler) -> None:
        self._begin(c.own, None, "")
        self._c = c
        # By the id of an expression, which is kept; what it is, and the block of instructions that says so.
        self._known: dict[int, tuple[Expression, Crop | None, list[Any]]] = {}
        self._plain = _Whole(self)
        self.fields: list[Field] = []
        self._read: list[FilesAhead] = []
        self.places: list[Number] = []
        self.examples: list[Any] = []

    def unchanged_files(self) -> bool:
        """Whether paths, and arrays that go into arithmetic, are what they were."""
        kept = all(same(self._own.value(place), was) for place, was in self._kept)
        return (
            kept and torch.get_default_dtype() is self._dtype and all(e.unchanged(None) for e in self._ahead.values())
        )

    @property
    def reckons(self) -> bool:
        """Whether the index is more in paths than a place in lists."""
        return any(each.columns.reckons for each in self._ahead.values())

    @property
    def lengths(self) -> list[int]:
        """How many samples its files are of."""
        return [len(each) for each in self._ahead.values()]

    # Numbers

    def number(self, of: Expression) -> Number | None:
        """What code asks of a sound: its extent along an axis, its rate; None for anything else."""
        match of:
            case Call(function=Name() as function, arguments=(whole,), options=()) if self._c.function(function) is len:
                crop, at = self.crop(whole), 0
            case Call(function=Attribute(owner=whole, name="size"), arguments=(axis,), options=()):
                crop, at = self.crop(whole), self._c.own.if_seen(axis)
            case Item(owner=Attribute(owner=whole, name="shape"), key=axis):
                crop, at = self.crop(whole), self._c.own.if_seen(axis)
            case _:
                return self._constant(of)
        if crop is None or type(at) is not int:
            return None
        shape = np.shape(self._plain.value(crop.of).sample.first)
        if not -len(shape) <= at < len(shape):
            return None
        self._c.account(of)
        return crop.extent if at % len(shape) == crop.axis else Number(shape[at], "int")

    def _constant(self, of: Expression) -> Number | None:
        try:
            value = self._plain.value(of)
        except UnreadableError:
            return None
        if not isinstance(value, Value) or not value.constant:
            return None
        self._c.account(of)
        return numbers.constant(value.sample)

    def _table(self, name: str, base: FilesAhead, values: Any) -> Number:
        """Numbers of files, by the index."""
        key = (name, base.place)
        table = tables_of(self._c, key, lambda: tables.plain(values.tolist(), "int"), base.columns.sources)
        if table is None:
            raise UnreadableError(f"opens {base.place}, of too many frames", base.place)
        return Number(["item", table, INDEX.json], "int")

    def _check(self, *holds: Any) -> None:
        """What does not hold for a sample leaves it to the user's code."""
        for each in holds:
            self._c.into.append({"do": "if", "condition": each, "then": [], "else": [{"do": "fail"}]})

    # Crops

    def crop(self, of: Expression) -> Crop | None:
        """The frames that an expression is; None for what is none. Raises UnreadableError."""
        _, found, block = self._known.get(id(of), (of, None, []))
        if found is None or not self._c.is_in(block):
            found = self._crop(of)
            self._known[id(of)] = of, found, self._c.into
        return found

    def _crop(self, of: Expression) -> Crop | None:
        match of:
            case Either():
                return self._one_of(of)
            case Attribute(owner=owner, name="data"):
                return self.crop(owner)
            case Item(owner=owner, key=key) if (frames := _slice_in(key)) is not None:
                at, (first, last) = frames
                crop = self.crop(owner)
                if crop is not None and at == crop.axis:
                    return self._sliced(crop, first, last)
            case Call(function=function, arguments=(whole, ends, *mode), options=options):
                called = self._c.function(function)
                if (called is torch.nn.functional.pad or called is np.pad) and (crop := self.crop(whole)) is not None:
                    names = ("mode",) if called is np.pad else ("mode", "value")
                    if len(mode) <= len(names):
                        return self._padded(
                            crop, called is np.pad, ends, dict(zip(names, mode, strict=False)) | dict(options)
                        )
        return self._sound(of)

    def _sound(self, of: Expression) -> Crop | None:
        """All frames of a sound."""
        try:
            value = self._plain.value(of)
        except UnreadableError:
            return None
        if not isinstance(value, Value) or type(value.sample) is not AnyLength or value.sample.axis is None:
            return None
        base = value.sample.base
        first = len(base.first)
        extent = Number(first, "int") if base.lengths is None else self._table("frames", base, base.lengths)
        return Crop(of, value.sample.axis, base, _ZERO, extent, first if base.lengths is None else None)

    def _one_of(self, of: Either) -> Crop | None:
        c = self._c
        sides = c.branches.get(of.number)
        if isinstance(sides, bool):
            return self.crop(of.then if sides else of.otherwise)
        if sides is None:
            return None
        outer, found, values = c.into, [], []
        for c.into, each in zip(sides, (of.then, of.otherwise), strict=True):
            try:
                crop = self.crop(each)
            finally:
                c.into = outer
            if crop is None:
                return None
            found.append(crop)
            values.append((crop.start, crop.extent))
        one, other = found
        if one.of is not other.of or one.axis != other.axis:
            raise UnreadableError(f"takes one of two sounds: {of}", of)
        both = []
        for ours, theirs in zip(*values, strict=True):
            if ours.json == theirs.json and ours.is_constant:
                both.append(ours)
                continue
            register = c.register("int")
            for side, value in zip(sides, (ours, theirs), strict=True):
                side.append({"do": "let", "number": register, "value": value.json})
            both.append(Number(["number", register], "int"))
        lengths = {each.length for each in found} - {None}
        length = lengths.pop() if len(lengths) == 1 else None
        return replace(one, start=both[0], extent=both[1], length=length, padded=one.padded or other.padded)

    def _sliced(self, crop: Crop, first: Expression, last: Expression) -> Crop:
        """Frames from one up to another, which are in it."""
        c = self._c
        begin = _ZERO if _is_none(first) else c.number(first)
        end = crop.extent if _is_none(last) else c.number(last)
        if begin.kind != "int" or end.kind != "int":
            raise UnreadableError("takes frames of a sound by numbers that are not Python's")
        length = end.value - begin.value if begin.is_constant and end.is_constant else None
        match last:
            case Binary(operator="+", left=left, right=right) if length is None:
                for place, count in ((left, right), (right, left)):
                    if place is first and c.number(count).is_constant:
                        length = c.number(count).value
        extent = c.sure(numbers.binary("-", end, begin))
        self._check(["<=", 0, begin.json], ["<=", begin.json, end.json], ["<=", end.json, crop.extent.json])
        start = c.sure(numbers.binary("+", crop.start, begin))
        return replace(crop, start=start, extent=extent, length=length)

    def _padded(self, crop: Crop, by_numpy: bool, ends: Expression, options: dict[str, Expression]) -> Crop:
        """With zeros behind its end."""
        c = self._c
        shape = np.shape(self._plain.value(crop.of).sample.first)
        given = {name: c.constant(each) for name, each in options.items()}
        mode, value = given.pop("mode", "constant"), given.pop("constant_values" if by_numpy else "value", 0)
        zeros = mode == "constant" and (repr(value) in ("0", "0.0") or (value is None and not by_numpy))
        if given or not zeros or not isinstance(ends, Display) or len(ends.items) != 2:
            raise UnreadableError(f"pads a sound by {ends}", ends)
        before, behind = ends.items
        if c.number(before) != _ZERO or crop.axis != len(shape) - 1 or (by_numpy and len(shape) > 1):
            raise UnreadableError(f"pads a sound by {ends}", ends)
        count, length = c.number(behind), None
        match behind:
            case Binary(operator="-", left=left) if c.number(left).is_constant:
                length = c.number(left).value
        if count.kind != "int":
            raise UnreadableError(f"pads a sound by {ends}", ends)
        extent = c.sure(numbers.binary("+", crop.extent, count))
        reached = numbers.binary("+", crop.start, crop.extent)
        whole = self._sound(crop.of)
        assert whole is not None
        self._check(["<=", 0, count.json], ["<=", whole.extent.json, reached.json])
        return replace(crop, extent=extent, length=length, padded=True)

    # What samples are given

    def give(self, of: Expression) -> int | None:
        """The number of the field that an expression is; None for what is made of no sound. Raises UnreadableError."""
        if not any(isinstance(each, Call) and self.reads(each) for each in parts_of(of)):
            return None
        leaf = _Window(self)
        try:
            value = leaf.value(of)
        except UnreadableError:
            with suppress(UnreadableError):
                self._c.number(of)
                return None
            raise
        if leaf.crop is None:  # its rate, or its length
            return None
        leaf.give(of, value)
        if leaf.kind not in ("tensor", "array") or len(leaf.inputs) != 1:
            raise UnreadableError(f"gives {of}", of)
        self._c.account(of)
        self.fields.append(leaf.field(len(self.fields)))
        self._read.append(leaf.crop.base)
        self.places.append(self._row(leaf.crop))
        self.examples.append(torch.as_tensor(leaf.sample))
        return len(self.fields) - 1

    def check_read(self) -> None:
        """Raises UnreadableError for a file of which nothing is given: to read it may fail."""
        for each in self._ahead.values():
            if not any(each is base for base in self._read):
                raise UnreadableError(f"opens {each.place} for nothing, where it may fail", each.place)

    def reads(self, call: Call) -> bool:
        """Whether a call reads a sound."""
        return reader_of(self._c.function(call.function)) is not None

    def _row(self, crop: Crop) -> Number:
        """Where its first frame is among those of all sounds."""
        assert crop.length is not None
        c, base = self._c, crop.base
        whole = self._sound(crop.of)
        assert whole is not None
        self._check(["==", crop.extent.json, crop.length], ["<", crop.start.json, whole.extent.json])
        if not crop.padded:
            end = numbers.binary("+", crop.start, crop.extent)
            self._check(["<=", end.json, whole.extent.json])
        begins = base.piece.array.files.begins[:-1] // base.frame
        return c.let(numbers.binary("+", self._table("begins", base, begins), crop.start).json, "int")


class _Whole(Leaf):
    """What code makes of sounds of any length, item by item."""

    def __init__(self, node: Crops) -> None:
        super().__init__(node)
        self._crops = node

    def _worked_out(self, expression: Expression) -> Value | None:
        return None

    def _of_files(self, base: FilesAhead) -> Value:
        if not isinstance(base, WavAhead) or len(base.first) < 2:
            raise UnreadableError(f"opens {base.place}, of which it takes frames", base.place)

        def make() -> Items:
            return self.writer.input(str(base.first.dtype), (1, *base.first.shape[1:]))

        one = Value(base.first[:1].copy(), make=make)
        return Value(AnyLength(base.first, base, 0, one), make=make)

    def _shape(self, value: Value) -> list[Value]:
        sample = value.sample
        if type(sample) is AnyLength and sample.base.lengths is None:
            return [Value(extent, constant=True) for extent in sample.first.shape]
        return super()._shape(value)


class _Frames(_Whole):
    """The same of as many frames as a crop has."""

    def __init__(self, leaf: _Window, length: int) -> None:
        super().__init__(leaf._crops)
        self.writer, self.inputs, self._arithmetic = leaf.writer, leaf.inputs, leaf._arithmetic
        self._length = length

    def _of_files(self, base: FilesAhead) -> Value:
        shape = (self._length, *base.first.shape[1:])

        def make() -> Items:
            self.inputs.append(Input(base, None, EVERY))
            return self.writer.input(str(base.first.dtype), shape)

        return Value(np.zeros(shape, base.first.dtype), make=make)

    def _compiled(self, expression: Expression) -> Any:
        match expression:
            case Attribute(name="shape" | "size") | Call(function=Name(name="len") | Attribute(name="size" | "numel")):
                raise UnreadableError("reckons with how many frames a sound has", expression)
        return super()._compiled(expression)


class _Window(_Whole):
    """A field that is made of one crop.

    crop  None as long as there is none
    """

    crop: Crop | None = None

    def _compiled(self, expression: Expression) -> Any:
        if isinstance(expression, Either | Item | Call) or _is_data(expression):
            crop = self._crops.crop(expression)
            if crop is not None and (crop.length is not None or crop.of is not expression):
                return self._framed(expression, crop)
        if _is_data(expression):
            raise UnreadableError("uses .data")
        return super()._compiled(expression)

    def _framed(self, of: Expression, crop: Crop) -> Value:
        if crop.length is None or crop.length < 1:
            raise UnreadableError(f"takes as many frames as there are: {of}", of)
        if self.crop is not None and self.crop is not crop:
            raise UnreadableError(f"puts several crops together: {of}", of)
        self.crop = crop
        value: Value = _Frames(self, crop.length).value(crop.of)
        kept = np.asarray(value.sample)
        if crop.padded and (kept.tobytes().strip(b"\0") or kept.shape[crop.axis] != crop.length):
            raise UnreadableError(f"makes no zeros of a sound's zeros, behind which it puts some: {of}", of)
        return value

    def field(self, number: int) -> Field:
        assert self.crop is not None and self.crop.length is not None
        base, items = self.crop.base, self.items
        item, size = base.first.shape[1:], base.first.itemsize
        how = self.writer.plain(items)
        whole = base.piece.array
        frames = int(whole.files.begins[-1]) // base.frame
        rows = (self.crop.length, *item)
        array = Array(
            0, (frames, *rows), (base.frame, *contiguous(rows, size)), whole.files,
            self.writer.inputs[0][0] if how == "cast" else "", whole.path, files=whole.files,
        )  # fmt: skip
        program = None if how else self.writer.finished(items)
        spec = NAMES[getattr(torch, items.dtype)], items.shape
        arrays, inputs = ((array,), ()) if how else ((), ((array,),))
        return Field(*spec, arrays, None, items.dtype, False, (View((number,)),), program, inputs)


def _is_data(of: Expression) -> bool:
    return isinstance(of, Attribute) and of.name == "data"


def _is_none(of: Expression) -> bool:
    return isinstance(of, Constant) and of.value is None


def _slice_in(key: Expression) -> tuple[int, tuple[Expression, Expression]] | None:
    """The axis along which items are taken by a slice, all of the others being taken whole, and its ends."""
    keys = key.items if isinstance(key, Display) and key.kind is tuple else (key,)
    found = None
    for at, each in enumerate(keys):
        if not isinstance(each, Display) or each.kind is not slice:
            return None
        first, last, *step = each.items
        if any(not _is_none(part) for part in step):
            return None
        if not (_is_none(first) and _is_none(last)):
            if found is not None:
                return None
            found = at, (first, last)
    return found
