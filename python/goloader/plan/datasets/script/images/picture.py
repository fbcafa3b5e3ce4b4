"""An image on its way through a script, and the functions that make arrays and tensors of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..... import transforms as T
from ....bytecode import UnreadableError
from ....transforms.tables import as_pil
from ..numbers.arithmetic import Number

if TYPE_CHECKING:
    from .convolutions import Summed

# (height, width) of the image that functions of numbers are tried on: neither is a number of channels.
PROBE = (5, 7)

Tail = tuple[Callable[[Any], Any], ...]
# What is done to each number of a finished image (noise.py), in JSON.
Terms = tuple[tuple[Any, ...], ...]
# The forms of tensors whose shape is asked for.
TENSORS = ("tensor", "finished")


@dataclass(frozen=True)
class Picture:
    """An image on its way.

    register  of the script
    file      whose it is, by its number among those that a sample opens
    mode      Pillow's: "RGB", "L" or "P"
    form      what code holds: "pil" (PIL.Image), "array" (numpy), "tensor", "summed", "resized", "numbers" or
              "finished"
    tail      functions that make that of the PIL image, one after the other; of form "numbers" they are those before
              steps over numbers (transforms/numbers.py)
    size      (height, width), if it is the same for all
    extents   width and height as numbers, if they are known otherwise
    passes    how often the core goes over its pixels at most
    plain     it is a file's image as it is in the file
    reverse   the core's channels are in reverse order
    summed    of form "summed", a tensor that is being convolved: what is still to be done
    resized   of form "resized", a tensor whose numbers were resized: how much of the tail comes before that
    resize    how, if that was done last
    patched   rectangles of it were set: what is in them is made by these in place of the tail (patches.py)
    bare      the register before that
    last      the rectangle that was set last, and which of `patched` that is
    moved     pixels were moved behind the tail: torch's array or tensor may lie in memory otherwise than made()'s
    terms     of form "finished", a tensor with noise: what is still to be done to the finished image
    example   then: one like it, of PROBE's size
    """

    register: int
    file: int
    mode: str
    form: str = "pil"
    tail: Tail = ()
    size: T.Size | None = None
    known: tuple[Number, Number] | None = None
    passes: int = 0
    plain: bool = False
    reverse: bool = False
    summed: Summed | None = None
    resized: int | None = None
    resize: T.Resized | None = None
    patched: tuple[Tail, ...] = ()
    bare: int | None = None
    last: tuple[Any, int] | None = None
    moved: bool = False
    terms: Terms = ()
    example: torch.Tensor | None = None

    @property
    def channels(self) -> int:
        return 3 if self.mode == "RGB" else 1

    def extents(self) -> tuple[Number, Number]:
        """Width and height."""
        if self.size is not None:
            return Number(self.size[1], "int"), Number(self.size[0], "int")
        if self.known is not None:
            return self.known
        return Number(["width", self.register], "int"), Number(["height", self.register], "int")

    def then(self, function: Callable[[Any], Any], form: str | None = None) -> Picture:
        patched = tuple((*each, function) for each in self.patched)
        return replace(self, tail=(*self.tail, function), form=form or self.form, patched=patched)

    def whole(self) -> Picture:
        """Itself. Raises UnreadableError if rectangles of it were set."""
        if self.patched:
            raise UnreadableError("looks at an image of which rectangles were set, or makes another of its pixels")
        return self

    def begin(self, pixels: Any) -> Any:
        """A PIL image of its mode, of pixels [height, width, channels]."""
        image = as_pil(np.ascontiguousarray(pixels[:, :, ::-1]) if self.reverse else pixels)
        if self.mode == "P":
            image.putpalette(bytes(range(256)) * 3)
        return image

    def ramp(self) -> NDArray[np.uint8]:
        """Pixels that have all bytes, in one row."""
        return np.repeat(np.arange(256, dtype=np.uint8)[None, :, None], self.channels, axis=2)

    def made(self) -> Any:
        """What its functions make of a small black image."""
        if self.example is not None:
            return self.example
        made, *_ = [run(each, self.begin(np.zeros((*PROBE, self.channels), np.uint8))) for each in self.tails]
        return made

    def of_one_pixel(self) -> Any:
        """The same of an image of one pixel, whose strides need not be those of others."""
        if self.example is not None:
            raise UnreadableError("makes noise of one pixel")
        return run(self.tail, self.begin(np.zeros((1, 1, self.channels), np.uint8)))

    @property
    def tails(self) -> tuple[Tail, ...]:
        """What the whole is made by, and each kind of rectangle."""
        return self.tail, *self.patched

    def axes(self) -> str:
        """What its array's or tensor's dimensions are: "y", "x", "c" for channels, "1" for one that has one item."""
        names = {PROBE[0]: "y", PROBE[1]: "x", 1: "1", 3: "c"}
        return "".join(names[extent] for extent in self.made().shape)

    def moving(self) -> str:
        """The same, of one whose rows and columns may be moved. Raises UnreadableError."""
        axes = self.axes()
        if axes.count("y") != 1 or axes.count("x") != 1 or axes.index("y") > axes.index("x"):
            raise UnreadableError("moves pixels of what is no image")
        return axes


def run(tail: Tail, image: Any) -> Any:
    """What functions make of a PIL image."""
    for each in tail:
        image = each(image)
    return image


def tail_of_both(one: Picture, other: Picture) -> Tail | None:
    """What makes both of them, or None.

    A copy that one of them alone is may be made of the other, too, if its numbers lie in order already.
    """
    longer, shorter = sorted((one.tail, other.tail), key=len, reverse=True)
    if longer == shorter:
        return longer
    left = list(shorter)
    for number, each in enumerate(longer):
        if left and each == left[0]:
            del left[0]
            continue
        before = replace(one, tail=longer[:number], patched=(), example=None).made()
        if each not in _COPIES or one.patched or other.patched or not before.flags.c_contiguous:
            return None
    return None if left else longer


def _spelt(value: Any) -> Any:
    """What equals that of another value only if it is the same to the bit, and of one type."""
    match value:
        case tuple() | list():
            return type(value), *map(_spelt, value)
        case np.ndarray():
            return value.dtype.str, value.shape, value.tobytes()
        case torch.Tensor():
            return value.dtype, _spelt(value.numpy())
        case slice():
            return slice, _spelt((value.start, value.stop, value.step))
        case int() | float() | str() | None:
            return type(value), repr(value)
    return value


class Step:
    """A function of a tail, equal to others that do the same: 1 is not 1.0, and 0.0 not -0.0."""

    @cached_property
    def _spelt(self) -> Any:
        return type(self), *(_spelt(getattr(self, each.name)) for each in fields(self))  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Step) and self._spelt == other._spelt

    def __hash__(self) -> int:
        return hash(self._spelt)


@dataclass(frozen=True, eq=False)
class Applied(Step):
    """A function of a tail, with its arguments behind the image.

    function  what is called with it; a text is the name of a method
    turned    the image is the last argument
    """

    function: Any
    arguments: tuple[Any, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()
    turned: bool = False

    def __call__(self, made: Any) -> Any:
        options = dict(self.options)
        if isinstance(self.function, str):
            return getattr(made, self.function)(*self.arguments, **options)
        given = (*self.arguments, made) if self.turned else (made, *self.arguments)
        return self.function(*given, **options)


# Of arrays.
_COPIES = (Applied(np.ascontiguousarray), Applied("copy"))


@dataclass(frozen=True, eq=False)
class Joined(Step):
    """A function of several arrays that are made of one image; an argument that is no tail is the same for all."""

    function: Any
    arguments: tuple[Any, ...]

    def __call__(self, image: Any) -> Any:
        return self.function(*(run(each, image) if type(each) is tuple else each for each in self.arguments))


@dataclass(frozen=True, eq=False)
class Filled(Step):
    """A new array as large as an image.

    channels  dimensions behind rows and columns
    of_torch  a tensor
    """

    value: Any
    dtype: Any
    channels: tuple[int, ...] = ()
    of_torch: bool = False

    def __call__(self, image: Any) -> Any:
        if self.of_torch:
            return torch.full((*image.size[::-1], *self.channels), self.value, dtype=self.dtype)
        return np.full((*image.size[::-1], *self.channels), self.value, self.dtype)


@dataclass(frozen=True, eq=False)
class Changed(Step):
    """An array or a tensor after array[where] = value; `before` and `where` are tails of one image, `where` gives
    bools."""

    before: Tail
    where: Tail
    value: Any

    def __call__(self, image: Any) -> Any:
        array = _copied(run(self.before, image))
        array[run(self.where, image)] = self.value
        return array


@dataclass(frozen=True, eq=False)
class InPlace(Step):
    """An array or a tensor after `array += value` and the like."""

    function: Any
    value: Any

    def __call__(self, made: Any) -> Any:
        return self.function(_copied(made), self.value)


def _copied(made: Any) -> Any:
    return made.copy() if isinstance(made, np.ndarray) else made.clone()
