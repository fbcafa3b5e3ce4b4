"""An image on its way through a script, and the functions that make arrays and tensors of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .... import transforms as T
from ...bytecode import UnreadableError
from ...tables import as_pil
from .numbers import Number

if TYPE_CHECKING:
    from .convolutions import Summed

# (height, width) of the image that functions of numbers are tried on: neither is a number of channels.
PROBE = (5, 7)

Tail = tuple[Callable[[Any], Any], ...]


@dataclass(frozen=True)
class Picture:
    """An image on its way.

    register  of the script
    file      whose it is, by its number among those that a sample opens
    mode      Pillow's: "RGB", "L" or "P"
    form      what code holds: "pil" (PIL.Image), "array" (numpy), "tensor" or "summed"
    tail      functions that make that of the PIL image, one after the other
    size      (height, width), if it is the same for all
    extents   width and height as numbers, if they are known otherwise
    passes    how often the core goes over its pixels at most
    plain     it is a file's image as it is in the file
    reverse   the core's channels are in reverse order
    summed    of form "summed", a tensor that is being convolved: what is still to be done
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
        return replace(self, tail=(*self.tail, function), form=form or self.form)

    def begin(self, pixels: Any) -> Any:
        """A PIL image of its mode, of pixels [height, width, channels]."""
        image = as_pil(np.ascontiguousarray(pixels[:, :, ::-1]) if self.reverse else pixels)
        if self.mode == "P":
            image.putpalette(bytes(range(256)) * 3)
        return image

    def made(self) -> Any:
        """What its functions make of a small black image."""
        return run(self.tail, self.begin(np.zeros((*PROBE, self.channels), np.uint8)))

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


@dataclass(frozen=True)
class Applied:
    """A function of a tail, with its arguments behind the image; equal to others that do the same.

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


@dataclass(frozen=True)
class Joined:
    """A function of several arrays that are made of one image; an argument that is no tail is the same for all."""

    function: Any
    arguments: tuple[Any, ...]

    def __call__(self, image: Any) -> Any:
        return self.function(*(run(each, image) if type(each) is tuple else each for each in self.arguments))


@dataclass(frozen=True)
class Filled:
    """A new array as large as an image.

    channels  dimensions behind rows and columns
    """

    value: Any
    dtype: Any
    channels: tuple[int, ...] = ()

    def __call__(self, image: Any) -> Any:
        return np.full((*image.size[::-1], *self.channels), self.value, self.dtype)


@dataclass(frozen=True)
class Changed:
    """An array after array[where] = value; `before` and `where` are tails of one image, `where` gives bools."""

    before: Tail
    where: Tail
    value: Any

    def __call__(self, image: Any) -> Any:
        array = np.array(run(self.before, image))
        array[run(self.where, image)] = self.value
        return array


@dataclass(frozen=True)
class InPlace:
    """An array or a tensor after `array += value` and the like."""

    function: Any
    value: Any

    def __call__(self, made: Any) -> Any:
        return self.function(made.copy() if isinstance(made, np.ndarray) else made.clone(), self.value)
