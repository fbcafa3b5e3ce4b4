"""Images with a border of one number, and blocks that a collate_fn makes to copy images of several sizes into.

The core adds the border to the bytes, where it costs least, and patches (patch.py) make it the number that it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from .... import _steps
from ....plan.transforms.erasing import PATCHES_MAX
from ..recipe import STEPS_MAX, Recipe, Size
from ..session import Session
from .layout import Layout, dense
from .patch import Patch, Patches, Rectangle
from .tail import OUTER, Tail, alike
from .value import Memory, Recorded, Seen, Value, View, as_tensor, see, window

_CHANNELS = (1, 3)


class _Placed(NamedTuple):
    """An image that was copied into a canvas.

    place   where it lies
    seen    what the view showed that was copied
    memory  what that was a view of when it was copied, and how the view lay there
    """

    place: Rectangle
    seen: Seen
    memory: Memory
    layout: Layout


class Canvas(Value):
    """A block full of one number, into which images are copied: no more than one for each of its outer extent.

    `with_image` gives an ordinary Value once there are as many. Until then nothing else is recorded of it.

    placed  the images, by their numbers
    """

    __slots__ = ("_lengths", "placed")

    def __init__(self, lengths: tuple[int, ...], tail: Tail, placed: Mapping[int, _Placed]) -> None:
        """`lengths` are extents as they lie in memory, `tail` is the number's, as tail.alike gives it."""
        self._lengths, self.tail, self.placed = lengths, tail, placed
        self.images: Sequence[Recipe] = ()
        self.patches: Sequence[Patches] = ()
        self.outer = lengths[:1]
        self.axes = "chw"[-len(lengths) + 1 :]

    @property
    def shape(self) -> tuple[int, ...]:
        """As Value's."""
        return self._lengths

    @property
    def by_core(self) -> bool:
        """Not before all images are there."""
        return False

    @property
    def memories(self) -> list[Memory]:
        """Blocks that have the images."""
        return [each.memory for each in self.placed.values()]

    def make(self) -> torch.Tensor:
        """The block, as eager code makes it."""
        channels = self.tail.values[:, :1, None] if "c" in self.axes else self.tail.values[0, 0]
        block = torch.empty(self._lengths, dtype=self.tail.dtype)
        block[...] = channels
        for number, ((left, top, width, height), _, memory, layout) in self.placed.items():
            if memory.real is None:
                memory.make()
            room = block[number, ..., top : top + height, left : left + width]
            room.copy_(as_tensor(memory.real, layout).reshape(room.shape))
        return block

    def filled(self, layout: Layout, number: Any) -> Canvas | None:
        """The same, full of another number; None if it has images already, or `layout` is not all of it."""
        tail = None if self.placed or layout != self.layout(len(layout.shape)) else _alike(self.tail, number)
        return None if tail is None else Canvas(self._lengths, tail, {})

    def layout(self, ndim: int) -> Layout:
        """How a tensor of 3 or 4 extents lies that is all of it."""
        return dense(self._lengths if ndim == len(self._lengths) else (self._lengths[0], 1, *self._lengths[1:]))

    def with_image(self, layout: Layout, view: View, session: Session) -> Value | None:
        """Records that what a view shows is copied into a part of it; None if it cannot be."""
        part, seen = window(self.shape, self.block, 1, layout, False), see(*view)
        if part is None or seen is None or seen.outer or layout.shape != view[1].shape:
            return None
        (number, *_, top, left), (count, *_, height, width) = part.starts, part.lengths
        dims = part.pattern.dims
        alike = dims == seen.pattern.dims and dims.replace("_", "") == self.axes and count == 1
        if not alike or seen.tail.dtype != self.tail.dtype or seen.tail.zoomed or number in self.placed:
            return None
        memory = Memory(view[0], session)
        placed = {**self.placed, number: _Placed(Rectangle(left, top, width, height), seen, memory, view[1])}
        canvas = Canvas(self._lengths, self.tail, placed)
        return canvas if len(placed) < self._lengths[0] else canvas._whole() or canvas

    def _whole(self) -> Value | None:
        """The block with all images; None if it is none that the core makes."""
        size = self._lengths[-1], self._lengths[-2]
        tail = self.placed[0].seen.tail
        images, patches = [], []
        for number in range(self._lengths[0]):
            place, seen, *_ = self.placed[number]
            inner = seen.patches[0] if seen.patches else ()
            if seen.tail is not tail:
                inner = (Patch(Rectangle(0, 0, place.width, place.height), seen.tail), *inner)
            made = _bordered(seen.images[0], inner, place, size, self.tail)
            if made is None:
                return None
            images.append(made[0])
            patches.append(made[1])
        return Value(images, self.outer, tail, self.axes, self.make, patches)


def canvas_for(
    session: Session, images: Sequence[tuple[Value, Layout]], shape: tuple[int, ...], dtype: torch.dtype, number: Any
) -> Memory | None:
    """A block of these extents, full of a number, if images like these are likely to be copied into it."""
    count, *inner, height, width = shape
    if not 0 < sum(_fits(each, layout, dtype, (*inner, height, width)) for each, layout in images) >= count > 0:
        return None
    if len(inner) > 1 or (inner and inner[0] not in _CHANNELS):
        return None
    channels = inner[0] if inner else 1
    tail = _alike(alike(bytes(channels * dtype.itemsize), dtype), number)
    lengths = shape if channels > 1 else (count, height, width)
    return None if tail is None else Memory(Canvas(lengths, tail, {}), session)


def _fits(value: Value, layout: Layout, dtype: torch.dtype, room: tuple[int, ...]) -> bool:
    """Whether all that a view shows fits into a room."""
    *inner, height, width = layout.shape if len(layout.shape) > 1 else (0, 0, 0)
    if not value.images or value.outer or value.tail.dtype != dtype or value.tail.zoomed:
        return False
    return tuple(inner) == room[:-2] and height <= room[-2] and width <= room[-1]


def _alike(tail: Tail, number: Any) -> Tail | None:
    """The table of one number in all channels of a table; None if its type cannot hold it as it is."""
    if type(number) not in (int, float, bool):
        return None
    try:
        numbers = torch.full((tail.channels,), number, dtype=tail.dtype)
    except (RuntimeError, TypeError, OverflowError):  # the user's own call raises it
        return None
    if not numbers.is_floating_point() and int(numbers[0]) != number:
        return None
    return alike(numbers.view(torch.uint8).numpy().tobytes(), tail.dtype)


def padded(
    view: View, border: tuple[int, int, int, int], number: Any, function: Callable[[Any], Any]
) -> Recorded | None:
    """Records that a tensor gets a border (left, top, right, bottom) of a number; None if it cannot be.

    function  makes that of a real one, and a contiguous tensor
    """
    value, layout, numpy = view
    seen = see(value, layout, numpy)
    if seen is None or numpy or seen.pattern.dims.replace("_", "").lstrip(OUTER) != "chw"[-len(value.axes) :]:
        return None
    tail = _alike(seen.tail, number)
    if tail is None or seen.tail.zoomed:
        return None
    (*inner, height, width), (left, top, right, bottom) = layout.shape, border
    place, size = Rectangle(left, top, width, height), (left + width + right, top + height + bottom)
    images, patches = [], []
    for at, image in enumerate(seen.images):
        made = _bordered(image, seen.patches[at] if seen.patches else (), place, size, tail)
        if made is None:
            return None
        images.append(made[0])
        patches.append(made[1])

    def make() -> Any:
        return function(as_tensor(value.make(), layout))

    made_of = Value(images, seen.outer, seen.tail, value.axes if "c" not in value.axes else "chw", make, patches)
    return Recorded(made_of, dense((*inner, size[1], size[0])), False)


def _bordered(
    image: Recipe, patches: Patches, place: Rectangle, size: Size, tail: Tail
) -> tuple[Recipe, Patches] | None:
    """An image as large as `size`, that lies at a place in it, and around that what a table says; None if the core
    takes no more."""
    (left, top, width, height), (wide, high) = place, size
    right, bottom = left + width, top + height
    around = [
        Rectangle(0, 0, wide, top),
        Rectangle(0, bottom, wide, high - bottom),
        Rectangle(0, top, left, height),
        Rectangle(right, top, wide - right, height),
    ]
    laid = [Patch(each, tail) for each in around if each.width and each.height]
    border = left, top, wide - right, high - bottom
    steps = (_steps.pad(*border, "constant"),) if laid else ()
    laid += [Patch(Rectangle(left + x, top + y, *extents), of) for (x, y, *extents), of in patches]
    if len(image.steps) + len(steps) > STEPS_MAX or len(laid) > PATCHES_MAX or (steps and image.stored):
        return None
    return image.with_steps(steps, size, image.mode) if steps else image, tuple(laid)
