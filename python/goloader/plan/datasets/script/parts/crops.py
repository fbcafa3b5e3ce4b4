"""Parts of arrays (wholes.py) at a place that code draws: windows of series, and crops of sounds, with zeros behind
short ones.

    if audio.size(0) >= self.segment:
        start = random.randint(0, audio.size(0) - self.segment)
        audio = audio[start : start + self.segment]
    else:
        audio = F.pad(audio, (0, self.segment - audio.size(0)))

The script says where in all arrays, one after the other, a sample's part begins; the core reads this alone. What is
done to each number, before and after, is a program as that of arrays (../computed/).
"""

from __future__ import annotations

import weakref
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ....bytecode import (
    IN_PLACE,
    NONE,
    Attribute,
    Binary,
    Call,
    Closed,
    Constant,
    Display,
    Drawn,
    Either,
    Expression,
    Filled,
    Index,
    Item,
    Name,
    Part,
    UnreadableError,
    Uses,
    parts_of,
)
from ....rows import Field
from ...computed import AnyLength, Computed, keys_of
from ...computed.arithmetic import Value, kind_of
from ...computed.functions import converts, makes_anew, method_of, rule_of
from ...own.bases import Base, like
from ...own.integers import INDEX as THE_INDEX
from ...reads.array_readers import reader_of as array_reader_of
from ...reads.sounds import reader_of
from ..numbers import arithmetic
from ..numbers.arithmetic import Number, Vector
from .wholes import All, RowsInput, VectorInput, Whole, WholeLeaf, WindowLeaf, varies

if TYPE_CHECKING:
    from ..compiler import Compiler

_ZERO = Number(0, "int")
_NOTHING = Constant(0, int)
_EVERY = Display(slice, (NONE, NONE))


@dataclass(frozen=True)
class Crop:
    """Some items of an array along an axis.

    of      the array, of which each number may have been made another
    axis    of the items, and
    ndim    how many it has
    whole   what it was made of, and
    base_axis  which of that one's axes it is
    start   the first item
    extent  how many there are, and
    length  the same, where that is known to be a number for all samples
    padded  beyond the array's end there are others, all of them
    fill    this number
    """

    of: Expression
    axis: int
    ndim: int
    whole: Whole
    base_axis: int
    start: Number
    extent: Number
    length: int | None = None
    padded: bool = False
    fill: float = 0

    def is_along(self, axis: int) -> bool:
        return -self.ndim <= axis < self.ndim and axis % self.ndim == self.axis


class Crops(Computed):
    """All of one class: what they are made of, as Computed has it, but for the structure of samples.

    c       the compiler
    fields  that the core makes
    places  which row a sample has of each array that they are made of
    examples  of each one
    alone   no field shares memory with the dataset, or with another one of its sample: one may be changed in place
    """

    def __init__(self, c: Compiler) -> None:
        self._begin(c.own, None, "")
        self.c: Compiler = weakref.proxy(c)  # which keeps it
        # By the id of an expression, which is kept, and the axis; what it is, and the block that says so.
        self._known: dict[tuple[int, int | None], tuple[Expression, Crop | None, list[Any]]] = {}
        self._leaves_by_axis: dict[int | None, WholeLeaf] = {}
        self._several: dict[int, tuple[Expression, Expression]] = {}
        self._alls: dict[Expression, All] = {}
        self._by_index: dict[int, Base] = {}
        self.fields: list[Field] = []
        self._read: list[Any] = []
        self.places: list[Number] = []
        self.examples: list[Any] = []
        self.alone = True
        self._held: set[Any] = set()

    @property
    def uses(self) -> Uses:
        return self.c.uses

    @property
    def reckons(self) -> bool:
        """Whether the index is more in paths than a place in lists."""
        return any(each.columns.reckons for each in self._ahead.values())

    @property
    def lengths(self) -> list[int]:
        """How many samples its files are of, and its arrays."""
        return [*map(len, self._ahead.values()), *(len(base.piece) for base in self._by_index.values())]

    # Arrays

    def _array(self, place: Expression, path: _Path = ()) -> Any:
        """The array, the tensor or the list of these that an expression stands for, or the list of records that have
        one at a place; None for anything else."""
        if not isinstance(place, Attribute | Name | Item) or varies(place):
            return None
        value = self.own.if_seen(place)
        listed = type(value) in (list, tuple) and len(value) > 0
        first = value[0] if listed else value
        for key, count in path:
            if not listed or type(first) not in (list, tuple, dict) or (count is not None and len(first) != count):
                return None
            if isinstance(first, dict) and count is not None:
                return None
            try:
                first = first[key]
            except (LookupError, TypeError):
                return None
        return value if type(first) in _ARRAYS and first.ndim else None

    def _place_of(self, of: Expression) -> tuple[Expression, Expression, _Path] | None:
        """What an item is taken of, by which key, and where in what is there an array is; None for what is none."""
        path: _Path = ()
        while True:
            match of:
                case Part(owner=owner, number=number, count=count):
                    path, of = ((number, count), *path), owner
                case Item(owner=owner, key=Constant(value=value)):
                    path, of = ((value, None), *path), owner
                case Item(owner=owner, key=key) if not isinstance(key, Display) and varies(key):
                    return None if self._array(owner, path) is None else (owner, key, path)
                case _:
                    return None

    def whole(self, of: Expression) -> Whole | None:
        """The row of an array that an item is, or the array that a record has; None for what is none. Raises
        UnreadableError."""
        found = self._place_of(of)
        if found is None:
            return None
        owner, key, path = found
        base = self._plain_base(owner, tuple(each for each, _ in path))
        if isinstance(key, Index):
            self._by_index[id(base)] = base
            base.reads(THE_INDEX)
        else:
            self._drawn_of.add(id(base))
        return Whole(base, base.first if base.is_list else like(base.array), key)

    def all_of(self, place: Expression) -> Whole:
        base = self._plain_base(place)
        return Whole(base, base.array)

    def _plain_base(self, place: Expression, path: tuple[Any, ...] = ()) -> Base:
        """Raises UnreadableError for arrays whose items lie in a way that is not taken."""
        base = self.base(place, path)
        array: Any = base.first if base.is_list else base.array
        size = array.itemsize
        strides = base.piece.array.strides
        begins = base.piece.array.begins if base.is_list else None
        if min(strides) < 0 or any(each % size for each in strides) or (begins is not None and (begins % size).any()):
            raise UnreadableError(f"takes items of {place}, which lies in memory in another way", place)
        return base

    def one_by_one(self, of: Item) -> Expression:
        """What takes the same item by one key after the other, where keys are of several kinds."""
        if id(of) not in self._several:
            self._several[id(of)] = of, self._apart(of)
        return self._several[id(of)][1]

    def _apart(self, of: Item) -> Expression:
        keys = keys_of(of.key)
        if len(keys) > 1 and not isinstance(keys[0], Display) and varies(keys[0]) and self._array(of.owner) is not None:
            return Item(Item(of.owner, keys[0]), _key(keys[1:]))
        moving = [n for n, key in enumerate(keys) if isinstance(key, Display) and varies(key)]
        if not moving or all(_is_every(key) for n, key in enumerate(keys) if n != moving[0]):
            return of
        n = moving[0]
        if any(isinstance(key, Constant) and key.value in (None, ...) for key in keys[:n]):
            return of
        window = Item(of.owner, _key([*[_EVERY] * n, keys[n]]))
        return Item(window, _key([*keys[:n], _EVERY, *keys[n + 1 :]]))

    # Numbers

    def _asked(self, of: Expression) -> tuple[Expression, int] | None:
        """What code asks for its extent, and along which axis; None for anything else."""
        match of:
            case Call(function=Name() as function, arguments=(whole,), options=()) if self.c.function(function) is len:
                return whole, 0
            case (
                Call(function=Attribute(owner=whole, name="size"), arguments=(axis,), options=())
                | Item(owner=Attribute(owner=whole, name="shape"), key=axis)
            ):
                at = self.c.own.if_seen(axis)
                return (whole, at) if type(at) is int else None
            case Attribute(owner=whole, name="size") if (crop := self.known_crop(whole)) is not None:
                return (whole, 0) if crop.ndim == 1 and isinstance(self.like(crop), np.ndarray) else None
        return None

    def number(self, of: Expression) -> Number | None:
        """What code asks of a sound: its extent along an axis, its rate; None for anything else."""
        asked = self._asked(of)
        if asked is None:
            return self._constant(of)
        whole, at = asked
        if self._array(whole) is not None:
            return self._extent(of, whole, at)
        crop = self.crop(whole, at) or self.crop(whole)
        if crop is None:
            return self._constant(of)
        if not -crop.ndim <= at < crop.ndim:
            return None
        self.c.account(of)
        if crop.is_along(at):
            return crop.extent
        return Number(np.shape(self.like(crop))[at], "int")

    def varying(self, of: Expression) -> Number | None:
        """How many items of an array there are, where that differs from sample to sample; None for anything else."""
        asked = self._asked(of)
        if asked is None or self._array(asked[0]) is not None:
            return None
        crop = self.known_crop(*asked)
        return None if crop is None or crop.extent.is_constant else crop.extent

    def _extent(self, of: Expression, place: Expression, at: int) -> Number | None:
        """How long an array is along an axis, which is to be the same from now on; so is a list's length."""

        def shape() -> tuple[int, ...]:
            whole = self.own.value(place)
            return (len(whole),) if type(whole) in (list, tuple) else tuple(whole.shape)

        extents = shape()
        if not -len(extents) <= at < len(extents):
            return None
        self.c.settings.append(shape)
        self.c.account(of)
        return Number(extents[at], "int")

    def _plain(self, axis: int | None = None) -> WholeLeaf:
        """What code makes of arrays, of which parts are taken along an axis."""
        if axis not in self._leaves_by_axis:
            self._leaves_by_axis[axis] = WholeLeaf(self, axis)
        return self._leaves_by_axis[axis]

    def _constant(self, of: Expression) -> Number | None:
        try:
            value = self._plain().value(of)
        except UnreadableError:
            return None
        if not isinstance(value, Value) or not value.constant:
            return None
        self.c.account(of)
        return arithmetic.constant(value.sample)

    def shape(self, of: Expression) -> tuple[int, ...] | None:
        """A size, an int or several, that is the same for all samples; None for another."""
        try:
            value = WindowLeaf(self).value(of)
        except UnreadableError:
            return None
        several = value if isinstance(value, list) else [value]
        if not all(isinstance(each, Value) and each.constant for each in several):
            return None
        found = [each.sample for each in several]
        if not isinstance(value, list) and isinstance(value.sample, tuple | list):
            found = [*value.sample]
        if any(type(each) is not int or each < 0 for each in found):
            return None
        self.c.account(of)
        return tuple(found)

    def chances(self, of: Expression) -> tuple[int, ...] | None:
        """The shape of a tensor of float32 that is the same for all samples, and from 0 to 1; None for another."""
        value = WindowLeaf(self).value(of)
        if not isinstance(value, Value) or not value.constant or kind_of(value.sample) != "tensor":
            return None
        if value.sample.dtype != torch.float32 or not bool(((value.sample >= 0) & (value.sample <= 1)).all()):
            return None
        self.c.account(of)
        return tuple(value.sample.shape)

    def shape_like(self, of: Expression) -> tuple[int, ...] | None:
        """The shape of a tensor of float32 whose items lie in order; None for another."""
        value = WindowLeaf(self).value(of)
        if not isinstance(value, Value) or kind_of(value.sample) != "tensor":
            return None
        if value.sample.dtype != torch.float32 or not value.sample.is_contiguous():
            return None
        self.c.account(of)
        return tuple(value.sample.shape)

    def own_rows(self, shuffle: Call) -> int | None:
        """Of an array of numpy's that was made for its sample, and that nothing else has, how many rows a call puts in
        order; None for another."""
        (of,) = shuffle.arguments
        leaf = WindowLeaf(self)
        value = leaf.value(of)
        array = isinstance(value, Value) and kind_of(value.sample) == "array"
        if not array or not value.sample.ndim or not leaf.is_new(of) or not self.uses.is_in_order_alone(shuffle):
            return None
        self.c.account(of)
        return int(value.sample.shape[0])

    # Crops

    def crop(self, of: Expression, at: int | None = None) -> Crop | None:
        """The items that an expression is, along an axis; None for what is none. Raises UnreadableError."""
        _, found, block = self._known.get((id(of), at), (of, None, []))
        if found is None or not self.c.is_in(block):
            found = self._crop(of, at)
            self._known[id(of), at] = of, found, self.c.into
        return found

    def known_crop(self, of: Expression, at: int | None = None) -> Crop | None:
        """The same; None where that is not known."""
        with suppress(UnreadableError):
            return self.crop(of, at)
        return None

    def _crop(self, of: Expression, at: int | None) -> Crop | None:
        match of:
            case Either():
                return self._one_of(of, at)
            case Attribute(owner=owner, name="data"):
                return self.crop(owner, at)
            case Item(owner=owner, key=key) if (frames := _slice_in(key)) is not None:
                place, (first, last) = frames
                if self._array(owner) is None:
                    crop = self.crop(owner, place)
                else:
                    crop = self.crop(self._alls.setdefault(owner, All(owner)), place)
                if crop is not None and crop.is_along(place) and (at is None or crop.is_along(at)):
                    return self._sliced(crop, first, last)
        longer = self._longer(of)
        if longer is not None:
            return longer if at is None or longer.is_along(at) else None
        return self._of_all(of, at) or self._as_another_type(of, at)

    def _longer(self, of: Expression) -> Crop | None:
        """Items with a number behind their end; None of what is none."""
        match of:
            case Filled(owner=owner) if owner == NONE:
                return self._set(of)
            case Call(function=function, arguments=(whole, ends, *mode), options=options) if (
                called := self.c.function(function)
            ) is torch.nn.functional.pad or called is np.pad:
                names = ("mode",) if called is np.pad else ("mode", "value")
                if len(mode) <= len(names):
                    named = dict(zip(names, mode, strict=False)) | dict(options)
                    return self._padded(whole, called is np.pad, ends, named)
            case Call(function=function, arguments=(Display(items=(_, _) as parts), *axes), options=options) if any(
                self.c.function(function) is each for each in _JOINING
            ):
                named = dict(zip(("dim",), axes, strict=False)) | dict(options)
                return self._joined(parts, self.c.function(function), named)
        return None

    def _as_another_type(self, of: Expression, at: int | None) -> Crop | None:
        """Items along the first axis that are converted: as some of all those that are converted."""
        method: Attribute | None = None
        match of:
            case Call(function=Attribute(owner=inner) as named) if self.own.if_seen(named) is None:
                method = named
            case Call(function=function, arguments=(inner, *_)) if converts(rule_of(self.own.if_seen(function))):
                pass
            case _:
                return None
        crop = self.crop(inner, at)
        if crop is None or crop.of is inner or crop.axis or crop.padded:
            return None
        if method is None:
            made: Expression = replace(of, arguments=(crop.of, *of.arguments[1:]))
        else:
            found = method_of(self.like(crop), method.name)
            if found is None or not converts(found[1]):
                return None
            made = replace(of, function=replace(method, owner=crop.of))
        with suppress(UnreadableError):
            value = self._plain(crop.base_axis).value(made)
            if isinstance(value, Value) and type(value.sample) is AnyLength and value.sample.axis == 0:
                return replace(crop, of=made)
        return None

    def _of_all(self, of: Expression, at: int | None) -> Crop | None:
        """All items of an array, or of a sound, along an axis; None: along that by which they differ."""
        for axis in (None,) if at is None else (None, *range(_AXES_MAX)):
            try:
                value = self._plain(axis).value(of)
            except UnreadableError:
                continue
            if not isinstance(value, Value) or type(value.sample) is not AnyLength or value.sample.axis is None:
                continue
            whole, shape = value.sample.base, np.shape(value.sample.first)
            if at is not None and not (-len(shape) <= at < len(shape) and at % len(shape) == value.sample.axis):
                continue
            base_axis = axis if whole.axis is None else whole.axis
            extent = whole.extent(self, base_axis)
            return Crop(
                of,
                value.sample.axis,
                len(shape),
                whole,
                base_axis,
                _ZERO,
                extent,
                extent.value if extent.is_constant else None,
            )
        return None

    def _one_of(self, of: Either, at: int | None) -> Crop | None:
        c = self.c
        if (way := c.decided(of)) is not None:
            return self.crop(way, at)
        sides = c.branches.get(of.number)
        if not isinstance(sides, tuple):
            return None
        found, values = [], []
        for side, each in zip(sides, (of.then, of.otherwise), strict=True):
            with c.inside(side):
                crop = self.crop(each, at)
            if crop is None:
                return None
            found.append(crop)
            values.append((crop.start, crop.extent))
        one, other = found
        if one.of != other.of or one.axis != other.axis:
            raise UnreadableError(f"takes one of two arrays: {of}", of)
        both = []
        for ours, theirs in zip(*values, strict=True):
            same = ours.json == theirs.json and ours.is_constant
            both.append(ours if same else c.on_sides(sides, ours, theirs))
        lengths = {each.length for each in found} - {None}
        length = lengths.pop() if len(lengths) == 1 else None
        fills = {each.fill for each in found if each.padded} or {0}
        if len({*map(repr, fills)}) > 1:
            raise UnreadableError(f"puts one of two numbers behind an array: {of}", of)
        padded = one.padded or other.padded
        return replace(one, start=both[0], extent=both[1], length=length, padded=padded, fill=fills.pop())

    def _sliced(self, crop: Crop, first: Expression, last: Expression) -> Crop:
        """Items from one up to another, which are in it."""
        c = self.c
        ends = [None if _is_none(each) else c.number(each) for each in (first, last)]
        if any(each is not None and each.kind not in arithmetic.INTEGERS for each in ends):
            raise UnreadableError("takes items by numbers that are no integers")
        behind = any(each is not None and each.is_constant and each.value < 0 for each in ends)
        if behind and crop.length is None:
            raise UnreadableError("takes items from behind of arrays that differ in length")
        if crop.length is not None and all(each is None or each.is_constant for each in ends):
            c.check(["==", crop.extent.json, crop.length])
            low, high, _ = slice(*(each and each.value for each in ends)).indices(crop.length)
            begin, end = Number(low, "int"), Number(max(low, high), "int")
        else:
            begin, end = ends[0] or _ZERO, ends[1] or crop.extent
            begin, end = begin._replace(kind="int"), end._replace(kind="int")
            c.check(["<=", 0, begin.json], ["<=", 0, end.json])
        length = end.value - begin.value if begin.is_constant and end.is_constant else None
        match last:
            case Binary(operator="+", left=left, right=right) if length is None:
                length = self._added(first, left, right)
        if end != crop.extent and crop.length is None:
            end = c.sure(arithmetic.extreme("min", [end, crop.extent]))
        extent = c.sure(arithmetic.binary("-", end, begin))
        c.check(["<=", begin.json, end.json], ["<=", end.json, crop.extent.json])
        start = c.sure(arithmetic.binary("+", crop.start, begin))
        return replace(crop, start=start, extent=extent, length=length)

    def between(self, first: Expression, last: Expression) -> int | None:
        """How far it is from one number to another, where that is the same for all samples; None for others."""
        match last:
            case Binary(operator="+", left=left, right=right):
                return self._added(first, left, right)
        ends = [self.c.number(each) for each in (first, last)]
        return ends[1].value - ends[0].value if all(each.is_constant for each in ends) else None

    def _added(self, first: Expression, *parts: Expression) -> int | None:
        """What is added to a number in a sum, where it is the same for all samples; None for another sum."""
        rest, left_out = [each for part in parts for each in _summands(part)], []
        for each in _summands(first):
            at = next((n for n, other in enumerate(rest) if other == each), None)
            if at is None:
                left_out.append(each)
            else:
                rest.pop(at)
        found, less = ([*map(self.c.number, each)] for each in (rest, left_out))
        if any(not each.is_constant or each.kind != "int" for each in (*found, *less)):
            return None
        return int(sum(each.value for each in found) - sum(each.value for each in less))

    def _padded(
        self, whole: Expression, by_numpy: bool, ends: Expression, options: dict[str, Expression]
    ) -> Crop | None:
        """With a number behind its end, as often as there is room; None of what is none."""
        c = self.c
        around = _ends_by_numpy(ends) if by_numpy else _ends_by_torch(ends)
        if around is None:
            return None
        moved = [axis for axis, each in around.items() if not all(map(_is_zero, each))]
        crop = self.crop(whole, moved[0]) if len(moved) == 1 else None
        if crop is None:
            return None
        before, behind = around[moved[0]]
        given = {name: c.constant(each) for name, each in options.items()}
        mode, value = given.pop("mode", "constant"), given.pop("constant_values" if by_numpy else "value", 0)
        value = 0 if value is None and not by_numpy else value
        plain = not given and mode == "constant" and type(value) in (int, float) and _is_zero(before)
        if not plain or (by_numpy and len(around) != crop.ndim):
            raise UnreadableError(f"pads an array by {ends}", ends)
        one: Any = self._one(crop)
        with suppress(Exception):
            padded = np.pad(one, (0, 1), constant_values=value) if by_numpy else _pad(torch.as_tensor(one), value)
            return self._behind(crop, behind, padded[1].item())
        raise UnreadableError(f"pads an array by {ends}", ends)

    def like(self, crop: Crop) -> Any:
        """An array of which it may be items."""
        return self._plain(crop.base_axis).value(crop.of).sample.first

    def _one(self, crop: Crop) -> Any:
        """One number of the type of its items."""
        sample = self.like(crop)
        return torch.zeros(1, dtype=sample.dtype) if isinstance(sample, torch.Tensor) else np.zeros(1, sample.dtype)

    def _joined(self, parts: tuple[Expression, ...], called: Any, options: dict[str, Expression]) -> Crop | None:
        """The same, as it is joined with an array that is made of one number; None of what is none."""
        c = self.c
        whole, filled = parts
        made = self.filled(filled)
        crop = None if made is None else self.known_crop(whole, 0)
        if made is None or crop is None or crop.extent.is_constant or not crop.whole.ends(crop.base_axis):
            return None
        if any(name not in ("dim", "axis") or c.constant(each) != 0 for name, each in options.items()):
            return None
        extents, one = made
        shape = np.shape(self.like(crop))
        if [c.number(each) for each in extents[1:]] != [Number(each, "int") for each in shape[1:]]:
            raise UnreadableError("joins arrays of other shapes")
        own = self._one(crop)
        if type(own) is not type(one) or called([own, one]).dtype != own.dtype:
            raise UnreadableError("joins arrays of several types")
        return self._behind(crop, extents[0], one.item())

    def _set(self, of: Filled) -> Crop | None:
        """The same of an array of one number, at whose beginning items of another were set; None of what is none."""
        c = self.c
        frames = _slice_in(of.key)
        if frames is None or frames[0] != 0 or not _is_none(frames[1][0]):
            return None
        crop = self.known_crop(of.item, 0)
        if crop is None or crop.extent.is_constant or not crop.whole.ends(crop.base_axis):
            return None
        before = WindowLeaf(self).value(of.of)
        if not isinstance(before, Value) or not before.constant or kind_of(before.sample) not in ("array", "tensor"):
            return None
        sample = self.like(crop)
        numbers_in = np.unique(np.asarray(before.sample))
        same = type(before.sample) is type(sample) and before.sample.dtype == sample.dtype and len(numbers_in) == 1
        if not same or before.sample.shape[1:] != sample.shape[1:]:
            return None
        c.equal(c.number(frames[1][1])._replace(kind="int"), crop.extent)
        length = Number(int(before.sample.shape[0]), "int")
        made = self._behind(crop, arithmetic.binary("-", length, crop.extent), numbers_in[0].item())
        return replace(made, length=length.value)

    def filled(self, of: Expression) -> tuple[list[Expression | Number], Any] | None:
        """The shape of an array of one number that code makes, and one like it of one item; None for anything else."""
        c = self.c
        if not isinstance(of, Call):
            return None
        called: Any = c.function(of.function)
        names: tuple[str, ...] = ("size", "fill_value") if called in (torch.full, np.full) else ("size",)
        if not any(called is each for each in _FILLING):
            return None
        arguments: list[Expression] = list(of.arguments)
        options = dict(of.options)
        if "shape" in options:
            options["size"] = options.pop("shape")
        by_extents = called in (torch.zeros, torch.ones) and len(arguments) > 1
        if by_extents:
            arguments = [Display(tuple, tuple(arguments))]
        if len(arguments) > len(names) + (called in (np.zeros, np.ones, np.full)):
            return None
        options |= dict(zip((*names, "dtype"), arguments, strict=False))
        size = options.pop("size", None)
        if size is None or not options.keys() <= {"dtype", "fill_value"}:
            return None
        try:
            extents = self._extents(size)
            constants = {name: WindowLeaf(self).value(each) for name, each in options.items()}
        except UnreadableError:
            return None
        if not all(isinstance(each, Value) and each.constant for each in constants.values()):
            return None
        given = {name: each.sample for name, each in constants.items()}
        value = [given.pop("fill_value")] if "fill_value" in given else []
        with suppress(Exception):
            return extents, called((1,), *value, **given)
        return None

    def runs(self, of: Expression) -> tuple[Number, int, Any] | None:
        """How often the first of two numbers is in an array that is made of these, one after the other, how many there
        are together, and an array like it of both once; None of what is none."""
        c = self.c
        match of:
            case Call(function=function, arguments=(Display(items=(one, other)),), options=options) if any(
                c.function(function) is each for each in _JOINING
            ):
                if any(name not in ("dim", "axis") or c.constant(each) != 0 for name, each in options):
                    return None
                both = self.filled(one), self.filled(other)
                if both[0] is None or both[1] is None or any(len(each[0]) != 1 for each in both if each):
                    return None
                counts = both[0][0][0], both[1][0][0]
                sample: Any = c.function(function)([both[0][1], both[1][1]])
            case Call(function=function, arguments=(Binary(operator="+", left=one, right=other),), options=options):
                called: Any = c.function(function)
                pair = self._repeated(one), self._repeated(other)
                if pair[0] is None or pair[1] is None or not any(called is each for each in _OF_LISTS):
                    return None
                named = {name: self._plain().value(each) for name, each in options}
                if not all(isinstance(each, Value) and each.constant for each in named.values()):
                    return None
                counts = pair[0][0], pair[1][0]
                sample = called([pair[0][1], pair[1][1]], **{name: each.sample for name, each in named.items()})
            case _:
                return None
        first, total = c.number(counts[0]), None
        match counts[1]:
            case Binary(operator="-", left=left, right=right) if right == counts[0] and c.number(left).is_constant:
                total = c.number(left).value
        return (first, total, sample) if first.kind == "int" and type(total) is int and total > 0 else None

    def _repeated(self, of: Expression) -> tuple[Expression, int] | None:
        """[number] * count, either way round."""
        match of:
            case (
                Binary(operator="*", left=Display(kind=kind, items=(item,)), right=count)
                | Binary(operator="*", left=count, right=Display(kind=kind, items=(item,)))
            ) if kind is list:
                value = self.c.constant(item)
                return (count, value) if type(value) is int else None
        return None

    def _extents(self, of: Expression) -> list[Expression | Number]:
        """What a size is made of. Raises UnreadableError."""
        c = self.c
        match of:
            case Display(kind=kind, items=items) if kind in (list, tuple):
                return [number for each in items for number in self._extents(each)]
            case Binary(operator="+", left=left, right=right) if isinstance(left, Display | Call | Binary):
                with suppress(UnreadableError):
                    c.number(of)
                    return [of]
                return [*self._extents(left), *self._extents(right)]
            case Call(function=Name() as function, arguments=(inner,), options=()) if c.function(function) in (
                list,
                tuple,
            ):
                return self._extents(inner)
            case Item(owner=Attribute(name="shape"), key=Display(kind=kind)) if kind is slice:
                shape = self.shape(of)
                if shape is None:
                    shape = self._rest(of)
                return [Number(each, "int") for each in shape]
        if c.number(of).kind not in arithmetic.PLACES:
            raise UnreadableError(f"makes an array of the size {of}", of)
        return [of]

    def _rest(self, of: Item) -> tuple[int, ...]:
        """All extents of a crop but the first."""
        assert isinstance(of.owner, Attribute) and isinstance(of.key, Display)
        crop = self.crop(of.owner.owner, 0)
        ends = [self.own.if_seen(each) for each in of.key.items]
        if crop is None or ends != [1, None]:
            raise UnreadableError(f"makes an array of the size {of}", of)
        return tuple(np.shape(self.like(crop))[1:])

    def _behind(self, crop: Crop, behind: Expression | Number, fill: float) -> Crop:
        """A crop with a number behind its end, so often."""
        c = self.c
        if not crop.whole.ends(crop.base_axis):
            raise UnreadableError("puts numbers behind an array that goes on where it lies")
        count, length = c.number(behind), None
        match behind:
            case Binary(operator="-", left=left) if c.number(left).is_constant:
                length = c.number(left).value
        if count.kind != "int" or (crop.padded and crop.fill != fill):
            raise UnreadableError("puts other numbers behind an array")
        extent = c.sure(arithmetic.binary("+", crop.extent, count))
        reached = arithmetic.binary("+", crop.start, crop.extent)
        left_out = arithmetic.binary("-", crop.whole.extent(self, crop.base_axis), reached)
        c.check(["<=", 0, count.json], ["<=", arithmetic.binary("*", count, left_out).json, 0])
        return replace(crop, extent=extent, length=length, padded=True, fill=fill)

    # What samples are given

    def give(self, of: Expression) -> int | None:
        """The number of the field that an expression is; None for what is made of no array, unless samples have nothing
        else. Raises UnreadableError."""
        sound = any(isinstance(each, Call) and self.reads(each) for each in parts_of(of))
        drawn = self.c.lacks_fields and of.has(Drawn)
        if not sound and not drawn and not self._takes_rows(of):
            return None
        leaf = WindowLeaf(self)
        try:
            value = leaf.value(of)
            if isinstance(value, Value) and value.constant:  # its rate, or its length
                return None
            if isinstance(value, Value) and type(value.sample) is AnyLength:
                raise UnreadableError(f"gives {of}, which differs in length from sample to sample", of)
            leaf.give(of, value)
            read = [each for each in leaf.inputs if isinstance(each, RowsInput)]
            if not read and kind_of(leaf.sample) == "number" and (self.fields or not drawn):
                return None
            known = all(isinstance(each, RowsInput | VectorInput) for each in leaf.inputs)
            if leaf.kind == "list" or not leaf.inputs or not known:
                raise UnreadableError(f"gives {of}", of)
            rows = list(map(self._row, read))
            field = leaf.field(len(self.fields))
        except UnreadableError:
            with suppress(UnreadableError):
                self.c.number(of)
                return None
            if not sound and not of.has(Drawn, Either):
                return None
            raise
        self.c.account(of)
        self.fields.append(field)
        self._read += [each.base for each in read]
        self.places += rows
        self.examples.append(leaf.sample)
        held = self._memory(of)
        self.alone = self.alone and held is not None and not held & self._held
        self._held |= held or set()
        return len(self.fields) - 1

    def _memory(self, of: Expression) -> set[Any] | None:
        """What tells the memory that a value may lie in, which was made for its sample; None: it may be another's."""
        match of:
            case Drawn(number=number):
                item = self.c.drawn.get(number)
                return self._memory(item) if isinstance(item, Expression) else {number}
            case Either() if (way := self.c.decided(of)) is not None:
                return self._memory(way)
            case Either(then=then, otherwise=otherwise):
                return self._memory_of(then, otherwise)
            case Binary(operator=operator, left=left) if operator in IN_PLACE:
                return self._memory(left)
            case Filled(of=before):
                return self._memory(before)
            case _ if makes_anew(self.own, of) or (isinstance(of, Call) and self.reads(of)):
                return {id(of)}
            case Call(function=function, arguments=arguments, options=options):
                values = [*arguments, *(value for _, value in options)]
                values += [function.owner] if isinstance(function, Attribute) else []
                return self._memory_of(*filter(varies, values))
            case Display(items=items):
                return self._memory_of(*filter(varies, items))
            case Item(owner=owner) | Part(owner=owner) | Attribute(owner=owner) | Closed(value=owner):
                return self._memory(owner)
        return None

    def _memory_of(self, *several: Expression) -> set[Any] | None:
        found: set[Any] = set()
        for each in several:
            held = self._memory(each)
            if held is None:
                return None
            found |= held
        return found

    def _takes_rows(self, of: Expression) -> bool:
        """Whether it is made of items of arrays, or of arrays that are drawn."""
        for part in parts_of(of):
            item = self.c.drawn.get(part.number) if isinstance(part, Drawn) else part
            if isinstance(item, Vector):
                return True
            if isinstance(item, Item) and varies(item.key) and self._array(item.owner) is not None:
                return True
            if isinstance(item, Item | Part) and self._place_of(item) is not None:
                return True
        return False

    def check_read(self) -> None:
        """Raises UnreadableError for a file of which nothing is given: to read it may fail."""
        for each in self._ahead.values():
            if not any(each is base for base in self._read):
                raise UnreadableError(f"opens {each.place} for nothing, where it may fail", each.place)

    def reads(self, call: Call) -> bool:
        """Whether a call reads a sound, or another array."""
        called: Any = self.c.function(call.function)
        return reader_of(called) is not None or array_reader_of(called) is not None

    def _row(self, read: RowsInput) -> Number:
        """Where its first item is among those of all arrays."""
        c, whole = self.c, read.whole
        begin = whole.begin(self)
        for crop in read.crops:
            assert crop.length is not None
            if crop.padded and len(read.crops) > 1:
                raise UnreadableError("puts numbers behind an array, of which parts are taken along other axes")
            everything = whole.extent(self, crop.base_axis)
            c.check(["<", crop.start.json, everything.json])
            if not crop.padded:
                end = arithmetic.binary("+", crop.start, crop.extent)
                c.check(["<=", end.json, everything.json])
            step = Number(whole.strides[crop.base_axis] // whole.unit, "int")
            begin = arithmetic.binary("+", begin, arithmetic.binary("*", crop.start, step))
        return c.let(begin.json, "int")


_ARRAYS = (np.ndarray, np.memmap, torch.Tensor)
# Keys that lead to an array in a record, and of what is unpacked how many there are.
_Path = tuple[tuple[Any, int | None], ...]
# Axes along which parts are looked for.
_AXES_MAX = 4


# What makes an array of one number, and what joins two.
_FILLING = (torch.zeros, torch.ones, torch.full, np.zeros, np.ones, np.full)
_OF_LISTS = (torch.tensor, torch.LongTensor, np.array)
_JOINING = (torch.cat, torch.concat, torch.concatenate, np.concatenate)


def _pad(one: torch.Tensor, value: float) -> torch.Tensor:
    return torch.nn.functional.pad(one, (0, 1), value=value)


def _is_zero(of: Expression) -> bool:
    return isinstance(of, Constant) and of.value == 0


def _ends_by_torch(ends: Expression) -> dict[int, tuple[Expression, Expression]] | None:
    """What torch puts before and behind, by the axis; None of what is no list of these."""
    if not isinstance(ends, Display) or ends.kind not in (list, tuple) or not ends.items or len(ends.items) % 2:
        return None
    return {-1 - n // 2: (ends.items[n], ends.items[n + 1]) for n in range(0, len(ends.items), 2)}


def _ends_by_numpy(ends: Expression) -> dict[int, tuple[Expression, Expression]] | None:
    """The same of numpy: of one axis, or of all."""
    if not isinstance(ends, Display) or ends.kind not in (list, tuple):
        return None
    pairs = ends.items if ends.items and all(isinstance(each, Display) for each in ends.items) else (ends,)
    found = [each.items for each in pairs if isinstance(each, Display)]
    if any(len(each) != 2 for each in found):
        return None
    return {n: (first, last) for n, (first, last) in enumerate(found)}


def _key(keys: list[Expression]) -> Expression:
    return keys[0] if len(keys) == 1 else Display(tuple, tuple(keys))


def _is_every(key: Expression) -> bool:
    return isinstance(key, Display) and key.kind is slice and all(map(_is_none, key.items))


def _summands(of: Expression) -> list[Expression]:
    """What a sum is of, as it is written."""
    if isinstance(of, Binary) and of.operator == "+":
        return [*_summands(of.left), *_summands(of.right)]
    return [of]


def _is_none(of: Expression) -> bool:
    return isinstance(of, Constant) and of.value is None


def _slice_in(key: Expression) -> tuple[int, tuple[Expression, Expression]] | None:
    """The axis along which items are taken by a slice, all of the others being taken whole, and its ends."""
    keys = keys_of(key)
    behind = isinstance(keys[0], Constant) and keys[0].value is ...
    found = None
    for at, each in enumerate(keys[1:], 1 - len(keys)) if behind else enumerate(keys):
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
