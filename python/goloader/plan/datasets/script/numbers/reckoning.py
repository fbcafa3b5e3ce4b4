"""Numbers that code makes: of draws, sizes of images, lists, and of other numbers."""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ....bytecode import (
    Attribute,
    Binary,
    Call,
    Chosen,
    Constant,
    Display,
    Drawn,
    Either,
    Expression,
    Index,
    Item,
    Name,
    Part,
    Unary,
    UnreadableError,
)
from ....trust.look import is_a
from ..code import CHOSEN_MAX, NO_IMAGES
from ..images import arrays
from ..images.picture import PROBE, TENSORS, Picture
from . import arithmetic
from .arithmetic import INDEX, Number, Vector, constant
from .rows import Place, count_of, lists_of, members_of, tabled

if TYPE_CHECKING:
    from ..compiler import Compiler


def _both(one: Number, other: Number) -> Number:
    """Two conditions at once."""
    if one.is_constant:
        return other if one.value else one
    return Number(["*", one.json, other.json], "bool")


def number_of(c: Compiler, of: Expression) -> Number:
    """What an expression is, if it is a number. Raises UnreadableError."""
    match of:
        case Index():
            return INDEX
        case Place(number=found):
            return found
        case Chosen(drawn=Drawn(number=drawn), number=which) if drawn in c.places:
            return c.places[drawn][which]
        case Drawn(number=drawn):
            value = c.drawn.get(drawn)
            return _no_number(c, of) if value is None or isinstance(value, Vector) else c.number(value)
        case Either():
            return _number_of_two(c, of)
        case Binary(operator=name, left=left, right=right):
            return _compared(c, of) or arithmetic.binary(name, c.number(left), c.number(right))
        case Unary(operator="-", operand=operand):
            return arithmetic.unary("neg", c.number(operand))
        case Unary(operator="not", operand=operand):
            return arithmetic.unary("not", c.number(operand))
        case Attribute(owner=owner, name="width" | "height" as name) if c.form(owner) == "pil":
            return _extents(c, owner)[name == "height"]
        case Attribute(owner=owner, name="ndim") if c.form(owner) in ("array", *TENSORS):
            return Number(len(c.sure_picture(owner).axes()), "int")
        case Call(function=Attribute(owner=owner, name="dim" | "ndimension"), arguments=(), options=()) if (
            c.form(owner) in TENSORS
        ):
            return Number(len(c.sure_picture(owner).axes()), "int")
        case Part(owner=owner, number=place, count=count):
            return c.number(c.several(owner, count)[place])
        case Item(owner=owner, key=key):
            try:
                at = c.number(key)
                if at.is_constant:
                    with suppress(UnreadableError):
                        return _plain(c, of)
                if not at.is_constant and (in_table := tabled(c, of)) is not None:
                    return in_table
                if at.kind in arithmetic.PLACES and (lists := lists_of(c, owner)) is not None:
                    behind = at.is_constant and at.value < 0
                    return lists.item(arithmetic.binary("+", lists.length, at) if behind else at)
                items = c.several(owner)
            except UnreadableError:
                return _plain(c, of)
            if at.is_constant and type(at.value) is int and -len(items) <= at.value < len(items):
                return c.number(items[at.value])
            return _chosen(c, of, items, at)
        case Call():
            return _called(c, of)
    return _plain(c, of)


def _plain(c: Compiler, of: Expression) -> Number:
    found = constant(c.own.value(of))
    if found is None:
        _no_number(c, of)
    c.own.means(of)
    return found  # type: ignore[return-value]


def _no_number(c: Compiler, of: Expression) -> Number:
    raise UnreadableError(f"reckons with {of}", of)


def _chosen(c: Compiler, of: Expression, items: Sequence[Expression | Number], place: Number) -> Number:
    """An item of a few numbers, at a place that differs from sample to sample."""
    if place.kind not in arithmetic.PLACES or not 0 < len(items) <= CHOSEN_MAX or place.is_constant:
        return _no_number(c, of)
    found = list(map(c.number, items))
    if len({each.kind for each in found}) != 1:
        return _no_number(c, of)
    c.within(place, len(items))
    chosen = found[-1]
    for k in range(len(found) - 2, -1, -1):
        chosen = c.either(Number(["==", place.json, k], "bool"), found[k], chosen)
    return chosen


def _called(c: Compiler, call: Call) -> Number:
    match call:
        case Call(function=Attribute(owner=Drawn() as drawn, name="item"), arguments=(), options=()):
            found = c.number(drawn)
            if not found.is_python:
                return arithmetic.unary("float" if found.kind == "float32" else "int", found)
        case Call(function=Attribute(owner=owner, name="size"), arguments=(axis,), options=()) if (
            c.form(owner) in TENSORS
        ):
            shape, at = _shape(c, c.sure_picture(owner)), c.constant(axis)
            if type(at) is int and -len(shape) <= at < len(shape):
                return shape[at]
        case Call(function=Name() as function, arguments=arguments, options=()):
            called: Any = c.function(function)
            if any(called is each for each in (int, float, round, abs)) and len(arguments) == 1:
                return arithmetic.unary(called.__name__, c.number(arguments[0]))
            if (called is min or called is max) and arguments:
                values = c.several(arguments[0]) if len(arguments) == 1 else arguments
                return arithmetic.extreme(called.__name__, list(map(c.number, values)))
            if called is len and len(arguments) == 1:
                try:
                    return Number(len(c.several(arguments[0])), "int")
                except UnreadableError:
                    return count_of(c, arguments[0])
            if called is isinstance and len(arguments) == 2:
                if (form := c.form(arguments[0])) is not None:
                    return _is_instance(c, form, arguments[1])
                return _is_of_class(c, arguments[0], arguments[1])
    if not call.options and (called := c.function(call.function)) is not None:
        if called is torch.is_tensor and (form := c.form(call.arguments[0])) is not None:
            return Number(int(form in TENSORS), "bool")
        if called is operator.index and len(call.arguments) == 1:
            found = c.number(call.arguments[0])
            if found.kind not in (*arithmetic.INTEGERS, "bool"):
                raise UnreadableError(f"takes {call.arguments[0]} for a place", call)
            return found._replace(kind="int")
        if (of_numpy := _of_numpy(c, called, call.arguments)) is not None:
            return of_numpy
        for name, known in arithmetic.MATH.items():
            if called is known:
                return arithmetic.of_math(name, list(map(c.number, call.arguments)))
    with suppress(UnreadableError):
        return _plain(c, call)
    return _no_number(c, call)


def _of_numpy(c: Compiler, called: Any, arguments: Sequence[Expression]) -> Number | None:
    """A np.int64 that numpy makes of ints; None for all else."""
    clips = called is np.clip and arrays.is_shipped(called, "clip")
    bounds = ("max", "min") if clips else ("min",) if called is np.minimum else ("max",) if called is np.maximum else ()
    if len(arguments) != 1 + len(bounds) or not (clips or type(called) is np.ufunc):
        return None
    found, *others = map(c.number, arguments)
    if any(each.kind not in arithmetic.PLACES for each in (found, *others)):
        return None
    found = found._replace(kind="int")
    for name, each in zip(bounds, others, strict=True):
        found = arithmetic.extreme(name, [found, each._replace(kind="int")])
    return found._replace(kind="numpy")


def _is_of_class(c: Compiler, of: Expression, kinds: Expression) -> Number:
    """Whether a number is of some classes."""
    number = c.number(of)
    asked = [c.constant(each) for each in kinds.items] if isinstance(kinds, Display) else [c.constant(kinds)]
    if not number.is_python or not all(any(each is kind for kind in _CLASSES) for each in asked):
        raise UnreadableError(f"asks for the class of {of}", of)
    kind = {"int": int, "float": float, "bool": bool}[number.kind]
    return Number(int(issubclass(kind, tuple(asked))), "bool")


# Those of which it can be said whether a number is of them.
_CLASSES = (int, float, bool, str, list, tuple, dict, torch.Tensor, np.ndarray)


def _is_instance(c: Compiler, form: str, kinds: Expression) -> Number:
    """Whether an image of a form is of some classes."""
    asked = [c.constant(each) for each in kinds.items] if isinstance(kinds, Display) else [c.constant(kinds)]
    image = sys.modules["PIL.Image"].Image
    known = {torch.Tensor: TENSORS, np.ndarray: ("array",), image: ("pil",)}
    if not all(any(each is kind for kind in (*known, *NO_IMAGES)) for each in asked):
        raise UnreadableError("asks for the class of an image", kinds)
    return Number(int(any(form in known.get(each, ()) for each in asked)), "bool")


def mode_compared(c: Compiler, of: Binary) -> tuple[Picture, Any] | None:
    """A PIL image of which a comparison is about the mode, and what with."""
    for mode, other in ((of.left, of.right), (of.right, of.left)):
        match mode, other:
            case Attribute(owner=owner, name="mode"), Constant(value=value) if c.form(owner) == "pil":
                return c.sure_picture(owner), value
    return None


def dtypes(c: Compiler, of: Binary) -> bool | None:
    """How a comparison of an array's dtype comes out; None for others."""
    match of:
        case Binary(operator="==" | "!=" as sign, left=Attribute(owner=owner, name="dtype"), right=other) if c.form(
            owner
        ) in ("array", *TENSORS):
            other = c.constant(other)
            if type(other) in (str, type, np.dtype, torch.dtype) or is_a(other, np.dtype):
                return bool(c.sure_picture(owner).made().dtype == other) is (sign == "==")
    return None


def _compared(c: Compiler, of: Binary) -> Number | None:
    """A comparison of an image's mode or dtype, of two tuples of numbers, or of a number with None; whether one is in a
    list; None for all else."""
    match of:
        case Binary(operator="is" | "is not" as sign, left=left, right=Constant(value=None)):
            c.number(left)  # then it is none
            return Number(int(sign == "is not"), "bool")
        case Binary(operator="in" | "not in" as sign, left=Attribute(owner=owner, name="mode"), right=right) if (
            c.form(owner) == "pil"
        ):
            picture = c.use(c.sure_picture(owner))
            return Number(int((picture.mode in c.constant(right)) is (sign == "in")), "bool")
        case Binary(operator="in" | "not in" as sign, left=left, right=right):
            number = c.number(left)
            if number.kind not in arithmetic.PLACES or (has := members_of(c, right)) is None:
                return None
            return has(number) if sign == "in" else arithmetic.unary("not", has(number))
    if of.operator not in ("==", "!="):
        return None
    if (found := mode_compared(c, of)) is not None:
        picture, other = found
        c.use(picture)
        return Number(int((picture.mode == other) is (of.operator == "==")), "bool")
    if (same := dtypes(c, of)) is not None:
        return Number(int(same), "bool")
    sides = [each for each in (of.left, of.right) if _is_tuple(c, each)]
    if len(sides) < 2:
        return None
    items, others = map(c.several, sides)
    alike = Number(int(len(items) == len(others)), "bool")
    for one, another in zip(items, others, strict=False):
        alike = _both(alike, arithmetic.binary("==", c.number(one), c.number(another)))
    return alike if of.operator == "==" else arithmetic.unary("not", alike)


def _is_tuple(c: Compiler, of: Expression) -> bool:
    match of:
        case Display(kind=kind):
            return kind is tuple
        case Attribute(owner=owner, name="size" | "shape" as name):
            return c.form(owner) in (("pil",) if name == "size" else ("array", *TENSORS))
        case Item(owner=Attribute() as owner, key=Display(kind=kind)):
            return kind is slice and _is_tuple(c, owner)
    return False


def _number_of_two(c: Compiler, of: Either) -> Number:
    sides = c.branches.get(of.number)
    if sides is None and _is_of_constants(of):  # one of a list
        return c.either(c.number(of.condition), c.number(of.then), c.number(of.otherwise))
    if sides is None or of.number in c.conversions:
        return _no_number(c, of)
    if isinstance(sides, bool):
        return c.number(of.then if sides else of.otherwise)
    if of not in c.of_two:
        values = []
        for side, each in zip(sides, (of.then, of.otherwise), strict=True):
            with c.inside(side):
                values.append(c.number(each))
        kind = values[0].kind
        if kind != values[1].kind or kind not in (*arithmetic.PYTHON, "numpy"):
            raise UnreadableError(f"has numbers of several types in one place: {of}", of)
        c.of_two[of] = c.on_sides(sides, *values)
    found = c.of_two[of]
    assert isinstance(found, Number)
    return found


def _is_of_constants(of: Expression) -> bool:
    return isinstance(of, Constant) or (isinstance(of, Either) and all(map(_is_of_constants, (of.then, of.otherwise))))


def items_of(c: Compiler, of: Expression) -> Sequence[Expression | Number]:
    """The items of a tuple or list. Raises UnreadableError."""
    match of:
        case Either() if (way := c.decided(of)) is not None:
            return items_of(c, way)
        case Display(kind=kind, items=items, spread=False) if kind in (list, tuple):
            return items
        case Attribute(owner=owner, name="size") if c.form(owner) == "pil":
            return _extents(c, owner)
        case Attribute(owner=owner, name="shape") if c.form(owner) in ("array", *TENSORS):
            return _shape(c, c.sure_picture(owner))
        case Call(function=Attribute(owner=owner, name="size"), arguments=(), options=()) if c.form(owner) in TENSORS:
            return _shape(c, c.sure_picture(owner))
        case Item(
            owner=Attribute(name="shape") | Call(function=Attribute(name="size"), arguments=()) as whole,
            key=Display(kind=kind, items=ends),
        ) if kind is slice:
            return c.several(whole)[slice(*map(c.constant, ends))]
        case Call(function=function, arguments=(image,), options=()) if c.form(image) in ("pil", "tensor"):
            found = dimensions(c, c.function(function), image)
            if found is not None:
                return found
    value = c.own.value(of)
    c.own.means(of)
    if type(value) in (list, tuple):
        return [Constant(each, type(each)) for each in c.copied(of, value)]
    raise UnreadableError(f"takes the items of {of}", of)


def dimensions(c: Compiler, called: Any, image: Expression) -> Sequence[Number] | None:
    """What functions of torchvision's say of an image's size."""
    functional: Any = sys.modules.get("torchvision.transforms.functional")
    if functional is None:
        return None
    picture = c.sure_picture(image)
    if picture.form == "tensor":
        shape = _shape(c, picture)
        return shape if called is functional.get_dimensions and picture.axes() == "cyx" else None
    if called is functional.get_dimensions:
        width, height = _extents(c, image)
        return Number(picture.channels, "int"), height, width
    return _extents(c, image) if called is functional.get_image_size else None


def _extents(c: Compiler, image: Expression) -> tuple[Number, Number]:
    return c.sure_picture(image).extents()


def _shape(c: Compiler, picture: Picture) -> list[Number]:
    width, height = picture.extents()
    known = {PROBE[0]: height, PROBE[1]: width}
    return [known.get(extent, Number(int(extent), "int")) for extent in picture.made().shape]
