"""Images that calls, operators and items make of others; pil.py and arrays.py have what is known."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ....bytecode import (
    Attribute,
    Binary,
    Call,
    Closed,
    Constant,
    Display,
    Drawn,
    Either,
    Entered,
    Expression,
    Item,
    Part,
    UnreadableError,
)
from ....trust.look import is_a
from ...reads.images import converts_arrays, is_row, makes_image, opens, reads_by_opencv, warns_of
from ...reads.readers import array_reader, tensor_reader
from ..opening import as_array, of_array, open_file, read_as_array, read_as_tensor, read_by_opencv
from . import arrays, convolutions, noise
from .albumentations import composed, is_compose
from .changing import change
from .picture import TENSORS, Applied, InPlace, Picture
from .pil import ENHANCEMENTS, METHODS, bind, enhanced, function_row, is_in_place, known_transform
from .stack import Stack

if TYPE_CHECKING:
    from ..compiler import Compiler


def picture_of(c: Compiler, of: Expression) -> Picture | None:
    """The image that an expression is; None for what is none. Raises UnreadableError for one that is not known."""
    match of:
        case Closed(value=value):
            picture, loaded = c.picture(value), c.loaded.get(id(value))
            if picture is not None and picture.form == "pil" and (loaded is None or not c.is_in(loaded)):
                raise UnreadableError(f"uses {value} behind the end of its with", value)
            return picture
        case Entered(manager=inner):
            return c.picture(inner)
        case Either():
            return _picture_of_two(c, of)
        case Call():
            return _picture_of_call(c, of)
        case Binary():
            return noise.arithmetic(c, of) or _arithmetic(c, of)
        case Drawn(number=number):
            return c.noise.get(number)
        case Item(owner=owner, key=Constant(value=str(name))) if id(owner) in c.augmented:
            return c.augmented[id(owner)][1].get(name)
        case Part(
            owner=Call(function=function, arguments=(Display() as images,), options=()) as stack, number=number
        ) if len(images.items) == of.count and c.function(function) is torch.stack:
            return _of_stack(c, stack, images.items, number)
        case Part(owner=Call() as call, number=number, count=2) if (made := arrays.thresholded(c, call)) is not None:
            c.accounted.add(id(of))
            return made if number == 1 else None  # the limit is first
        case Item(owner=owner, key=key) if c.form(owner) in ("array", "tensor"):
            return arrays.indexed(c, c.sure_picture(owner), key)
    return None


def _of_stack(c: Compiler, stack: Call, images: Sequence[Expression], number: int) -> Picture | None:
    """One of the images that were put together, a copy. Raises UnreadableError for images that cannot be."""
    pictures = stacked_images(c, stack, images)
    if pictures is None or any(each.form != "tensor" for each in pictures):
        return None
    Stack.of(range(len(pictures)), [each.made() for each in pictures], 0, joins=False)
    c.account(stack)
    copied = Call(Attribute(images[number], "contiguous"), ())
    return arrays.METHODS["tensor", "contiguous"](c, pictures[number], copied)


def stacked_images(c: Compiler, stack: Call, images: Sequence[Expression]) -> list[Picture] | None:
    """The images that torch.stack or torch.cat put together; None for others. Raises UnreadableError for images of
    several sizes, and for those that were changed since."""
    if any(c.changed_at.get(id(c.itself(each)), 0) > c.taken_at.get(id(stack), 0) for each in images):
        raise UnreadableError("puts images together before they are changed", stack)
    pictures = [each for each in map(c.picture, images) if each is not None]
    if len(pictures) < len(images):
        return None
    if len({each.size for each in pictures} | {None}) != 2:
        raise UnreadableError("puts images together whose sizes may differ", stack)
    return pictures


def _picture_of_call(c: Compiler, call: Call) -> Picture | None:
    function, arguments = call.function, call.arguments
    match function:
        case Attribute(owner=Call(function=enhancer, arguments=(of,), options=()) as enhancing, name="enhance"):
            if (what := _enhancement(c, enhancer)) and c.form(of) == "pil":
                c.accounted |= {id(enhancing), id(function)}
                c.names.append(what)
                return enhanced(c, c.sure_picture(of), what, bind(call, ("factor",))["factor"])
    if isinstance(function, Attribute) and (owner := c.picture(function.owner)) is not None:
        if function.name == "load" or (function.name in arrays.ASKING and not arguments and not call.options):
            return None
        if function.name in ("size", "dim", "ndimension") and owner.form in TENSORS:
            return None
        if owner.form == "pil" and function.name in METHODS:
            names, row = METHODS[function.name]
            c.calls[sys.modules["PIL.Image"].Image, function.name] = None
            c.names.append(function.name)
            return row(c, owner, bind(call, names))
        if (made := noise.method(c, owner, call)) is not None:
            return made
        method = arrays.METHODS.get((owner.form, function.name))
        if method is not None:
            made = method(c, owner, call)
            if function.name in arrays.IN_PLACE_METHODS:
                c.check_tail(made)
                change(c, function.owner, made, call)
            return made
        raise UnreadableError(f"calls {function}", call)
    try:
        called = c.own.value(function)
    except UnreadableError:
        return None
    if opens(called):
        c.own.means(function)
        c.calls[sys.modules[called.__module__], called.__name__] = None
        path, *others = ("fp", "mode") if called is sys.modules["PIL.Image"].open else ("path",)
        given = bind(call, (path, *others))
        if path not in given or any(c.constant(given[each]) != "r" for each in others if each in given):
            raise UnreadableError(f"opens images by {call}", call)
        return open_file(c, given[path], called)
    if (reads := reads_by_opencv(called)) is not None:
        c.own.means(function)
        return read_by_opencv(c, call, reads)
    if (reader := array_reader(called)) is not None:
        c.own.means(function)
        return read_as_array(c, call, reader)
    if (decoder := tensor_reader(called)) is not None:
        c.own.means(function)
        return read_as_tensor(c, call, decoder)
    if makes_image(called):
        c.own.means(function)
        c.calls[sys.modules[called.__module__], called.__name__] = None
        if arguments and c.form(arguments[0]) == "array":
            made = arrays.to_pil(c, c.sure_picture(arguments[0]))
            given = bind(replace(call, arguments=arguments[1:]), ("mode",))
            mode = c.constant(given["mode"]) if given else None
            if mode not in (None, made.mode) or (mode is not None and warns_of(called, mode)):
                raise UnreadableError(f"makes images of mode {mode}", call)
            return made
        return of_array(c, call)
    if is_compose(called):
        c.own.means(function)
        c.augmented[id(call)] = call, composed(c, call, called)
        return None
    if not arguments:
        return None
    if called is np.where and len(arguments) == 3 and not call.options:
        return joined(c, np.where, arguments)
    is_function = is_a(called, FunctionType, BuiltinFunctionType, type)
    if is_function and (made := noise.called(c, called, call)) is not None:
        return made
    image = c.picture(arguments[0])
    if image is None and converts_arrays(called) and is_row(c.own, arguments[0]):
        image = as_array(c, arguments[0])
    if image is None:
        return None
    row_of = function_row(called, image)
    c.own.means(function)
    if row_of is None:
        if is_function:
            return None
        if len(arguments) > 1 or call.options:
            raise UnreadableError(f"calls {function} with an image", call)
        c.transforms.append(called)
        c.names.append(type(called).__name__)
        if image.form in ("tensor", "summed") and convolutions.takes(called):
            return convolutions.through(c, image, called)
        if noise.takes(image, called):
            return noise.transformed(c, image, called)
        made = _checked(c, image, arguments[0], known_transform(c, image, called))
        if is_in_place(called):
            change(c, arguments[0], made, call)
        return made
    names, row, place = row_of
    if place is not None:
        c.calls[place] = None
    c.names.append(getattr(called, "__name__", str(called)))
    behind, is_flip = replace(call, arguments=arguments[1:]), called is getattr(sys.modules.get("cv2"), "flip", None)
    given = bind(behind, (*names, "dst") if is_flip else names)
    made = _checked(c, image, arguments[0], row(c, image, given))
    if "inplace" in given and c.constant(given["inplace"]):
        change(c, arguments[0], made, call)
    if is_flip and "dst" in given:
        if given["dst"] is not arguments[0] or not c.memory.of(arguments[0]).compact:
            raise UnreadableError(f"writes to another array by {call}", call)
        change(c, arguments[0], made, call)
    return made


def _enhancement(c: Compiler, enhancer: Expression) -> str | None:
    """What one of Pillow's classes changes."""
    module = sys.modules.get("PIL.ImageEnhance")
    called = None if module is None else c.function(enhancer)
    for name, what in ENHANCEMENTS.items():
        if module is not None and called is not None and called is vars(module).get(name):
            c.calls |= {(called, "__init__"): None, (called, "enhance"): None}
            return what
    return None


def _checked(c: Compiler, before: Picture, of: Expression, made: Picture) -> Picture:
    """What is made of an image. Raises UnreadableError for a tensor of an array that goes backwards."""
    if before.form == "array" and made.form == "tensor" and not c.memory.of(of).forward:
        raise UnreadableError(f"makes a tensor of {of}, which goes backwards", of)
    return made


def _arithmetic(c: Compiler, of: Binary) -> Picture | None:
    for image, other, turned in ((of.left, of.right, False), (of.right, of.left, True)):
        picture = c.picture(image)
        if picture is None or picture.form not in ("array", "tensor"):
            continue
        if of.operator in arrays.ARITHMETIC:
            function = arrays.ARITHMETIC[of.operator]
            if c.picture(other) is not None:
                return joined(c, function, (of.left, of.right))
            return picture.then(Applied(function, (c.constant(other),), turned=turned))
        if of.operator in arrays.IN_PLACE and not turned:
            if c.picture(other) is not None:
                made = joined(c, arrays.COPIED[of.operator], (image, other))
                if made is None:
                    return None
                c.check_tail(made)
                change(c, image, made, of)
                return made
            value = c.constant(other)
            if type(value) not in (bool, int, float, list, tuple, np.ndarray):
                raise UnreadableError(f"changes an array by {other}", other)
            made = picture.then(InPlace(arrays.IN_PLACE[of.operator], value))
            c.check_tail(made)
            change(c, image, made, of)
            return made
    return None


def joined(c: Compiler, function: Any, parts: Sequence[Expression]) -> Picture | None:
    """A function of several arrays that are made of one image, and of constants."""
    found = [c.picture(each) for each in parts]
    pictures = [each for each in found if each is not None]
    if not pictures or any(each.form not in ("array", "tensor") for each in pictures):
        return None
    given = [c.constant(part) if picture is None else picture for part, picture in zip(parts, found, strict=True)]
    return arrays.joined(function, given, pictures)


def _picture_of_two(c: Compiler, of: Either) -> Picture | None:
    sides = c.branches.get(of.number)
    if sides is None:
        return None
    if of.number in c.conversions:
        converted, before = c.conversions[of.number]
        if {id(of.then), id(of.otherwise)} != {id(converted), id(before)}:
            return None
        return c.picture(converted)
    if isinstance(sides, bool):
        return c.picture(of.then if sides else of.otherwise)
    one, other = c.picture(of.then), c.picture(of.otherwise)
    if one is None or other is None:
        return _picture_or_none(of, sides, one, other)
    if not (one.plain and other.plain):
        one, other = c.use(one), c.use(other)
    if any(c.changed_at.get(id(c.itself(each)), 0) > c.began[of.number] for each in (of.then, of.otherwise)):
        raise UnreadableError(f"uses one of two arrays after it was changed: {of}", of)
    key = of.number, *((each.register, each.tails, each.summed) for each in (one, other))
    if key not in c.of_two:
        c.of_two[key] = c.one_of(of, sides, one, other)
    found = c.of_two[key]
    assert isinstance(found, Picture)
    return found


def _picture_or_none(
    of: Either, sides: tuple[list[Any], list[Any]], one: Picture | None, other: Picture | None
) -> Picture | None:
    """An image that is None on one way of a branch, which is left to the user's own code, and known on the other."""
    for image, value, side in ((one, of.otherwise, sides[1]), (other, of.then, sides[0])):
        if image is not None and isinstance(value, Constant) and value.value is None:
            side.append({"do": "fail"})
            return image
    return None
