"""Blocks of memory that nobody has made yet: what is in them, and what views show of that.

A Value is what a block holds, as a function of images' bytes; it never changes. A Memory holds a Value, another one
once it is written into, and the real array or tensor once somebody needs that. Stand-ins for arrays and tensors are
views of a Memory, so that what shares memory in eager code shares it here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch
from PIL import Image

from .... import _steps
from .. import switch
from ..recipe import STEPS_MAX, Recipe
from ..session import Session, TroubleError
from .constant import Constant
from .layout import Layout, dense
from .patch import Patches, Rectangle, laid, shown, transposed
from .tail import OUTER, Followed, Pattern, Tail, alike, first, follow, identity, strides_of_ones, strides_with_ones


class Value:
    """The numbers of a block.

    images   recipes, in the order of the block's outer extents
    outer    these
    tail     what their bytes become
    axes     extents of an image as they lie in memory: "h", "w" and, of three channels, "c"
    make     makes a block of its own, as eager code does: an array or a tensor
    patches  what other numbers there are in each image; none at all if no image has any

    One without images is a canvas (canvas.py).
    """

    __slots__ = ("axes", "images", "make", "outer", "patches", "tail")

    def __init__(
        self,
        images: Sequence[Recipe],
        outer: tuple[int, ...],
        tail: Tail,
        axes: str,
        make: Callable[[], Any],
        patches: Sequence[Patches] = (),
    ) -> None:
        self.images, self.outer, self.tail, self.axes, self.make = images, outer, tail, axes, make
        self.patches = patches if any(patches) else ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents as they lie in memory."""
        width, height = self.images[0].size
        lengths = {"h": height, "w": width, "c": self.tail.channels}
        return (*self.outer, *(lengths[axis] for axis in self.axes))

    @property
    def block(self) -> str:
        """A letter for each extent, as in tail.Pattern."""
        return OUTER[: len(self.outer)] + self.axes

    @property
    def memories(self) -> list[Memory]:
        """Other blocks that it is made of as it stands."""
        return []

    @property
    def by_core(self) -> bool:
        """The core knows the numbers, and lays images out so."""
        return self.tail.by_core and self.axes in ("hw", "chw", "hwc")


class Memory:
    """A block.

    value  what it holds, until it is real
    real   the array or tensor that it is; None while it is nothing but a recipe
    """

    __slots__ = ("real", "session", "value")

    def __init__(self, value: Value, session: Session) -> None:
        self.value, self.session = value, session
        self.real: Any = None

    def become_real(self, what: str) -> Any:
        """The real array or tensor, which `what` needs."""
        if self.real is None:
            become_real_together([self, *self.value.memories], what, others=True)
        if self.real is None:
            session, parts = self.session, self.value.memories
            if switch.current() is session and (self.value.images or any(each.real is None for each in parts)):
                session.became_real(what)
            with session.noting_failure():
                self.make()
        return self.real

    def make(self) -> None:
        """Makes it as eager code does. Raises what that raises."""
        with switch.off():
            self.real = self.value.make()
            _check(self.real, self.value)


def become_real_together(memories: Sequence[Memory], what: str, others: bool = False) -> None:
    """Makes blocks real that `what` needs at once, as far as the core makes them sooner than eager code.

    So where one image of a stack became real, the others are not made one by one. What else there is stays as it is.

    others  of a collate_fn that has begun to look at samples: it goes on with those that it has not looked at
    """
    left = list({id(each): each for each in memories if each.real is None}.values())
    if others and left and left[0].session.collating:
        left += [each for each in _others(left[0]) if not any(each is known for known in left)]
    if not left:
        return
    for memory, real in zip(left, by_core(left[0].session, [each.value for each in left], what), strict=True):
        if real is not None:
            _check(real, memory.value)
            memory.real = real


def _others(memory: Memory) -> list[Memory]:
    """Blocks of the samples of which a collate_fn has begun to look at one."""
    if memory.value.outer:
        return []
    living = (each for each in memory.session.living() if not isinstance(each, Image.Image))
    found = {id(each.memory): each.memory for each in living if hasattr(each, "memory")}
    return [
        each
        for each in found.values()
        if each.real is None and each.value.tail is memory.value.tail and not each.value.outer
    ]


# Eager code makes one or two images as soon as the core if a __getitem__ has them decoded and no more, or if they have
# so few pixels that it takes longer to ask the core, 0.1 ms.
_FEW = 2
_PIXELS_MIN = 1 << 15
# Whoever looks at a file in more forms than these does so sooner where it is decoded once.
_LOOKS_MAX = 2


def by_core(session: Session, values: Sequence[Value], what: str) -> list[torch.Tensor | None]:
    """Blocks that `what` needs now, shaped as they lie in memory; None for those that eager code makes as soon."""
    made: list[torch.Tensor | None] = [None] * len(values)
    chosen = [at for at, value in enumerate(values) if value.by_core and not any(map(_is_known, value.images))]
    images = [image for at in chosen for image in values[at].images]
    pixels = sum(image.source.size[0] * image.source.size[1] for image in images)
    more = session.collating or not all(image.is_as_read for image in images)
    gains = len(images) > _FEW or (more and pixels >= _PIXELS_MIN)
    native = session.native if gains else None
    if native is None:
        return made
    if switch.current() is session:
        session.was_seen(what, len(images))
    for source in {id(image.source): image.source for image in images}.values():
        source.looks += 1
    with session.noting_failure():
        for at, block in zip(chosen, native.run([values[at] for at in chosen]), strict=True):
            made[at] = block
    return made


def _is_known(image: Recipe) -> bool:
    return image.is_at_hand or image.source.looks >= _LOOKS_MAX


def _check(real: Any, value: Value) -> None:
    if type(real) is np.ndarray:
        dtype, strides = value.tail.array_dtype, tuple(stride // real.itemsize for stride in real.strides)
    else:
        dtype, strides = value.tail.dtype, real.stride()
    found = sorted((-stride, length) for stride, length in zip(strides, real.shape, strict=True) if length > 1)
    shape = tuple(length for length in value.shape if length > 1)
    wanted = [(-stride, length) for stride, length in zip(dense(shape).strides, shape, strict=True)]
    if real.dtype != dtype or found != wanted:
        raise TroubleError(f"{real.dtype} {tuple(real.shape)} was made where {dtype} {value.shape} was expected")


def as_tensor(real: Any, layout: Layout) -> torch.Tensor:
    """A view of a block, as a tensor that nobody else refers to."""
    base = torch.from_numpy(real) if type(real) is np.ndarray else real
    made = torch.empty(0, dtype=base.dtype, device="cpu")
    offset = base.storage_offset() + layout.offset
    return made.set_(base.untyped_storage(), offset, layout.shape, layout.strides)


def as_array(real: Any, layout: Layout, writeable: bool = True) -> Any:
    """A view of a block, as an array: the block itself where that is all of it."""
    base = real.numpy() if isinstance(real, torch.Tensor) else real
    if writeable and not base.flags.writeable:
        about = base.__array_interface__ | {"data": (base.ctypes.data, False)}
        base = np.asarray(SimpleNamespace(__array_interface__=about, base=base))
    size = base.itemsize
    if base.flags.writeable and not writeable:
        base = base.view()
        base.flags.writeable = False
    strides = tuple(stride * size for stride in layout.strides)
    if layout.offset == 0 and (base.shape, base.strides) == (layout.shape, strides):
        return base
    flat = np.lib.stride_tricks.as_strided(base, (base.size,), (size,), writeable=base.flags.writeable)
    return np.ndarray(layout.shape, base.dtype, flat, layout.offset * size, strides)


# What a block holds, how a view of it lies, and whether that is an array.
View = tuple[Value, Layout, bool]


class Seen(NamedTuple):
    """What a view shows.

    images, outer, tail, patches  as a Value's: what steps on images and picked channels give
    pattern                       how it lies in memory
    """

    images: Sequence[Recipe]
    outer: tuple[int, ...]
    tail: Tail
    pattern: Pattern
    patches: Sequence[Patches]


class Window(NamedTuple):
    """Which part of a block a view shows.

    starts, lengths, backwards  along each axis of the block
    pattern                     how it lies in memory
    whole                       it is all of the block, and no axis goes backwards
    """

    starts: tuple[int, ...]
    lengths: tuple[int, ...]
    backwards: tuple[bool, ...]
    pattern: Pattern
    whole: bool


@lru_cache(maxsize=1024)  # most samples of a dataset have views of the same few kinds
def window(shape: tuple[int, ...], block: str, outer: int, layout: Layout, numpy: bool) -> Window | None:
    """The part of a block of these extents that a view shows; None if that is no rectangle, or in an odd order."""
    steps = dense(shape).strides
    signs: list[int] = []
    dims: list[str] = []
    lowest = layout.offset
    # Extents of 1 in the block have the stride of a neighbour, and no view goes along them.
    axes = {steps[at]: at for at in range(len(shape)) if shape[at] > 1}
    lengths = [1] * len(shape)
    backwards = [False] * len(shape)
    for length, stride in zip(layout.shape, layout.strides, strict=True):
        if length == 1:
            dims.append("_")
            signs.append(1)
            continue
        at = axes.pop(abs(stride), None)
        if at is None:
            return None
        lengths[at] = length
        dims.append(block[at])
        signs.append(1)
        if stride < 0:
            signs[-1] = -1
            backwards[at] = True
            lowest += (length - 1) * stride
    starts = []
    for at, step in enumerate(steps):
        start, lowest = divmod(lowest, step) if shape[at] > 1 else (0, lowest)
        if start < 0 or start + lengths[at] > shape[at]:
            return None
        starts.append(start)
    partial = "".join(block[at] for at in range(len(shape)) if lengths[at] != shape[at])
    ones = strides_of_ones("".join(dims), layout.shape, layout.strides)
    pattern = Pattern(block, "".join(dims), tuple(signs), partial, ones, numpy)
    kept = [letter for letter in pattern.dims if letter in block[:outer]]
    if kept != sorted(kept) or (kept and pattern.dims.lstrip("_")[: len(kept)] != "".join(kept)):
        return None
    whole = tuple(lengths) == tuple(shape) and not any(backwards)
    return Window(tuple(starts), tuple(lengths), tuple(backwards), pattern, whole)


def see(value: Value, layout: Layout, numpy: bool) -> Seen | None:
    """What a view shows; None if that is not a rectangle of images, or if their extents stand in an odd order."""
    shape, outer = value.shape, len(value.outer)
    shown_part = window(shape, value.block, outer, layout, numpy)
    if shown_part is None or not value.images:
        return None
    starts, lengths, backwards, pattern, whole = shown_part
    kept = tuple(length for length in lengths[:outer] if length > 1)
    images, tail, patches = value.images, value.tail, value.patches
    if whole and ("c" not in value.axes or tail.channels == 3):
        return Seen(images, kept, tail, pattern, patches)
    if any(lengths[at] != shape[at] or backwards[at] for at in range(outer)):
        numbers = np.arange(len(images)).reshape(value.outer)
        picked = numbers[tuple(slice(starts[at], starts[at] + lengths[at]) for at in range(outer))]
        picked = np.flip(picked, tuple(at for at in range(outer) if backwards[at]))
        images = [images[int(number)] for number in picked.flat]
        patches = [patches[int(number)] for number in picked.flat] if patches else ()
    places = {axis: outer + at for at, axis in enumerate(value.axes)}
    made: list[bytes] = []
    height, width = places["h"], places["w"]
    size = (lengths[width], lengths[height])
    if lengths[width] != shape[width] or lengths[height] != shape[height]:
        made.append(_steps.crop(starts[width], starts[height], *size))
    if backwards[width]:
        made.append(_steps.FLIP_HORIZONTAL)
    if backwards[height]:
        made.append(_steps.FLIP_VERTICAL)
    channel = places.get("c")
    chosen: tuple[int, ...] | None = None
    if channel is not None:
        chosen = tuple(range(starts[channel], starts[channel] + lengths[channel]))
        chosen = chosen[::-1] if backwards[channel] else chosen
        if chosen == (0, 1, 2):
            chosen = None
        elif len(chosen) == 2 or tail.zoomed:
            return None
        else:
            made.append(_steps.select(chosen))
            tail = tail.pick(chosen)
    if made:
        if len(images[0].steps) + len(made) > STEPS_MAX:
            return None
        mode = "RGB" if tail.channels == 3 else "L"
        images = [image.with_steps(tuple(made), size, mode) for image in images]
        part = Rectangle(starts[width], starts[height], *size)
        patches = [shown(each, part, backwards[width], backwards[height], chosen) for each in patches]
    return Seen(images, kept, tail, pattern, patches if any(patches) else ())


def bytes_of(seen: Seen) -> Seen | None:
    """The same with its table among the steps of its images, so that each byte is itself; None if it shows no bytes."""
    tail = seen.tail
    if seen.patches:
        return None
    if tail.is_identity:
        return seen
    if tail.dtype != torch.uint8 or len(seen.images[0].steps) == STEPS_MAX:
        return None
    steps, mode = (_steps.lookup(tail.data),), "RGB" if tail.channels == 3 else "L"
    images = [image.with_steps(steps, image.size, mode) for image in seen.images]
    return seen._replace(images=images, tail=identity(tail.channels))


_TURNED = str.maketrans("hw", "wh")


def upright(
    images: Sequence[Recipe], axes: str, patches: Sequence[Patches]
) -> tuple[Sequence[Recipe], str, Sequence[Patches]]:
    """The same numbers, of images whose rows and columns are exchanged where columns stand before rows."""
    if "w" not in axes or axes.find("h") < axes.index("w"):
        return images, axes, patches
    width, height = images[0].size
    turn = _steps.TRANSPOSE
    if len(images[0].steps) + len(turn) > STEPS_MAX or _steps.makes_numbers(images[0].steps):
        return images, axes, patches
    turned = [image.with_steps(turn, (height, width), image.mode) for image in images]
    return turned, axes.translate(_TURNED), [transposed(each) for each in patches]


class Noted(NamedTuple):
    """A call of a function of each number by itself.

    key     the function's name, and its other arguments: with an equal key it does the same to the views
    run     the call, of the real arrays or tensors that the views are
    views   what its stand-ins show, in their order: of one and the same image, and of the same extents
    others  extents of arrays among the other arguments
    """

    key: tuple[Hashable, ...]
    run: Callable[..., Any]
    views: tuple[View, ...]
    others: tuple[tuple[int, ...], ...] = ()


class Recorded(NamedTuple):
    """What a function makes: a block of its own, and how it lies there.

    numpy      it is an array, not a tensor
    writeable  of arrays
    """

    value: Value
    layout: Layout
    numpy: bool
    writeable: bool = True


def of_image(image: Recipe, key: Hashable, function: Callable[[Any], Any], dims: str) -> Recorded | None:
    """What a function makes of what a recipe's carry_out gives; None if it is no function of each byte by itself.

    key   names the function and its arguments
    dims  extents of the result, as in tail.Pattern
    """
    made = first(key, function, dims, image.mode) if all(map(_step_holds, image.steps)) else None
    if made is None:
        return None
    value = Value((image,), (), made.tail, made.order, lambda: function(image.carry_out()))
    lengths = {"h": image.size[1], "w": image.size[0], "c": made.tail.channels, "_": 1}
    layout = _layout_of(made, tuple(lengths[letter] for letter in dims), dims)
    return Recorded(value, layout, made.numpy, made.writeable)


def _step_holds(step: bytes) -> bool:
    """Whether the libraries do here what the core does in a step."""
    return _hold(_steps.kind(step))


@lru_cache(maxsize=256)
def _hold(kind: tuple[int, int]) -> bool:
    return switch.holds(*_steps.needed(kind))


@lru_cache(maxsize=256)
def _layout_of(made: Followed, shape: tuple[int, ...], dims: str) -> Layout:
    """How something of these extents lies that fills a block of its own; `dims` as in tail.Pattern."""
    lengths = dict(zip(dims, shape, strict=True))
    strides, step = {}, 1
    for letter in reversed(made.order):
        strides[letter] = step
        step *= lengths[letter]
    found = [strides.get(letter, 0) for letter in dims]
    return Layout(shape, strides_with_ones(dims, shape, found, made.ones))


def bytes_of_image(image: Recipe) -> Value | None:
    """The bytes of an image as they lie in memory; None if the core does not make them."""
    if image.mode not in ("RGB", "YCbCr", "L") or image.stored:
        return None
    made = of_image(image, "bytes of an image", np.asarray, "hw" if image.mode == "L" else "hwc")
    return None if made is None else made.value


def _shown_by(real: Any, layout: Layout, numpy: bool) -> Any:
    return as_array(real, layout) if numpy else as_tensor(real, layout)


def _view(value: Value, layout: Layout, numpy: bool) -> Any:
    return _shown_by(value.make(), layout, numpy)


def record(noted: Noted) -> Recorded | None:
    """Records a call; None if it is none of a function of each number by itself."""
    key, function, views, others = noted
    block = views[0][0]
    # What is asked of each sample anew.
    plain = len(views) == 1 and not block.outer and not block.patches
    place = (key, block.axes, block.images[0].size, *views[0][1:], *others) if plain else None
    known = None if place is None else block.tail.recorded.get(place)
    if known is not None:
        tail, axes, *rest = known
        value = Value(block.images, (), tail, axes, lambda: function(_view(*views[0])))
        return Recorded(value, *rest)
    seen = _see_all(views, others)
    if seen is None:
        return None
    head = seen[0]
    made = follow(key, function, [(each.tail, each.pattern) for each in seen])
    patches = None if made is None else _follow_patches(key, function, seen, made)
    if made is None or patches is None:
        return None
    images, axes, patches = upright(head.images, made.order.lstrip(OUTER), patches)
    value = Value(images, head.outer, made.tail, axes, lambda: function(*(_view(*each) for each in views)), patches)
    layout = _layout_of(made, views[0][1].shape, head.pattern.dims)
    if place is not None and images is block.images:
        block.tail.note(place, (made.tail, axes, layout, made.numpy, made.writeable))
    return Recorded(value, layout, made.numpy, made.writeable)


def write(noted: Noted) -> Value | None:
    """Records a call that writes into its first view and returns it; None if it cannot be.

    That must show all channels of all images of its block, or a rectangle of them. Returns what is in the block from
    then on.
    """
    function, (view, *rest) = noted.run, noted.views
    value, layout, numpy = view
    seen = _see_all(noted.views, noted.others)
    place = None if seen is None else _place_in(*view)
    if seen is None or place is None:
        return None
    key = (("write", noted.key[0]), *noted.key[1:])

    def shown_after(*real: Any) -> Any:
        """Without the gaps that a view may have."""
        return function(*real).copy() if numpy else function(*real).clone()

    made = follow(key, shown_after, [(each.tail, each.pattern) for each in seen])
    patches = None if made is None else _follow_patches(key, shown_after, seen, made)
    if made is None or patches is None or made.tail.dtype != value.tail.dtype:
        return None
    if patches and -1 in seen[0].pattern.signs:
        return None

    def make() -> Any:
        block = value.make()
        function(_shown_by(block, layout, numpy), *(_view(*each) for each in rest))
        return block

    if seen[0].pattern.partial:
        return _laid(value, place, made.tail, patches, make)
    return Value(value.images, value.outer, made.tail, value.axes, make, patches)


def fill(view: View, number: Constant) -> Value | None:
    """Records that numbers, one or one a channel, are written all over a view; None if it cannot be.

    Returns what is in the block from then on.
    """
    value, layout, numpy = view
    place = _place_in(value, layout, numpy)
    if place is None:
        return None
    seen = see(value, layout, numpy)
    if seen is None or seen.tail.zoomed:
        return None
    numbers = _numbers(seen, number)
    if numbers is None:
        return None

    def make() -> Any:
        block = value.make()
        _shown_by(block, layout, numpy)[...] = number.value
        return block

    tail = alike(numbers.contiguous().view(torch.uint8).numpy().tobytes(), numbers.dtype)
    if not seen.pattern.partial and "h" in seen.pattern.dims and "w" in seen.pattern.dims:
        return Value(value.images, value.outer, tail, value.axes, make)
    return _laid(value, place, tail, (), make)


def _numbers(seen: Seen, number: Constant) -> torch.Tensor | None:
    """What an array or tensor of the view's type holds, a number a channel, once `number` was written into it."""
    channels = seen.tail.channels
    shape = [channels if letter == "c" else 1 for letter in seen.pattern.dims]
    try:
        with switch.off(), np.errstate(all="ignore"):
            if seen.pattern.numpy:
                array = np.zeros(shape, seen.tail.array_dtype)
                array[...] = number.value
                written = torch.from_numpy(array)
            else:
                written = torch.zeros(shape, dtype=seen.tail.dtype)
                written[...] = number.value
            exact = torch.as_tensor(number.value, dtype=torch.float64)
    except Exception:  # whatever it is, the user's own call raises it
        return None
    whole = written.is_floating_point() or bool((written.to(torch.float64) == exact.trunc().expand(shape)).all())
    # Processors differ in what they make of numbers that a type cannot hold.
    return written.reshape(-1).expand(channels) if whole else None


def _place_in(value: Value, layout: Layout, numpy: bool) -> Rectangle | None:
    """Where a view lies in the images of its block; None if it does not show all channels of all of them, forwards."""
    part = window(value.shape, value.block, len(value.outer), layout, numpy)
    if part is None:
        return None
    starts, lengths, backwards, *_ = part
    for at, letter in enumerate(value.block):
        if letter not in "hw" and (lengths[at] != value.shape[at] or backwards[at]):
            return None
        if backwards[at] and part.pattern.partial:
            return None
    height, width = (len(value.outer) + value.axes.index(letter) for letter in "hw")
    return Rectangle(starts[width], starts[height], lengths[width], lengths[height])


def _laid(
    value: Value, place: Rectangle, tail: Tail, within: Sequence[Patches], make: Callable[[], Any]
) -> Value | None:
    """A block in a rectangle of whose images bytes become something else; `within` are patches of that."""
    if value.tail.zoomed:
        return None
    patches = []
    for number in range(len(value.images)):
        before = value.patches[number] if value.patches else ()
        made = laid(before, place, tail, within[number] if within else ())
        if made is None:
            return None
        patches.append(made)
    return Value(value.images, value.outer, value.tail, value.axes, make, patches)


def pasted(outside: Recorded, inside: Recorded, place: Rectangle, noted: Noted) -> Recorded | None:
    """What a call gives that is two recorded ones in turn, one of them in a rectangle of each image."""
    one, other = outside.value, inside.value
    alike_in_memory = one.axes == other.axes and outside.layout == inside.layout and outside.numpy == inside.numpy
    if not alike_in_memory or one.tail.dtype != other.tail.dtype:
        return None
    within = [shown(each, place, False, False, None) for each in other.patches]
    value = _laid(one, place, other.tail, within, lambda: noted.run(*(_view(*each) for each in noted.views)))
    return None if value is None else outside._replace(value=value)


def _follow_patches(
    key: tuple[Hashable, ...], function: Callable[..., Any], seen: Sequence[Seen], made: Followed
) -> Sequence[Patches] | None:
    """What a function makes of patches, as follow has it; None if they lie elsewhere in one input than in another."""
    several = [each for each in seen if each.patches]
    if not several:
        return ()
    found: list[Patches] = []
    for at, patches in enumerate(several[0].patches):
        places = [patch.place for patch in patches]
        if any([patch.place for patch in each.patches[at]] != places for each in several[1:]):
            return None
        row = []
        for number, patch in enumerate(patches):
            inputs = [(each.patches[at][number].tail if each.patches else each.tail, each.pattern) for each in seen]
            followed = follow(key, function, inputs)
            if followed is None or followed._replace(tail=made.tail) != made or followed.tail.dtype != made.tail.dtype:
                return None
            row.append(patch._replace(tail=followed.tail))
        found.append(tuple(row))
    return found


def copied(function: Callable[[Any], Any], view: View, shown: Layout) -> Recorded | None:
    """Records that a tensor is copied so that the copy shows what `shown`, a layout over the same block, would."""
    value, layout, numpy = view
    seen = see(value, shown, numpy)
    if seen is None or "h" not in seen.pattern.dims or "w" not in seen.pattern.dims:
        return None
    # Where the items of a copy lie does not depend on which they are.
    pattern = seen.pattern._replace(signs=(1,) * len(seen.pattern.signs))
    made = follow(("clone",), torch.clone, [(seen.tail, pattern)])
    if made is None:
        return None
    images, axes, patches = upright(seen.images, made.order.lstrip(OUTER), seen.patches)
    copy = Value(images, seen.outer, made.tail, axes, lambda: function(_view(value, layout, numpy)), patches)
    return Recorded(copy, _layout_of(made, shown.shape, pattern.dims), numpy)


def _see_all(inputs: Sequence[View], others: Sequence[tuple[int, ...]]) -> list[Seen] | None:
    """What all views show, if they show the same bytes and both height and width of them, and others differ by channel
    at most."""
    seen: list[Seen] = []
    for value, layout, numpy in inputs:
        each = see(value, layout, numpy)
        if each is None or "h" not in each.pattern.dims or "w" not in each.pattern.dims:
            return None
        if seen:
            head = seen[0]
            alike = each.outer == head.outer and each.pattern.dims == head.pattern.dims
            if not alike or layout.shape != inputs[0][1].shape or not all(map(_same_bytes, each.images, head.images)):
                return None
        seen.append(each)
    dims, channels = seen[0].pattern.dims, seen[0].tail.channels
    for extents in others:
        if len(extents) > len(dims):
            return None
        for length, letter in zip(reversed(extents), reversed(dims), strict=False):
            if length != 1 and (letter != "c" or length != channels):
                return None
    return seen


def _same_bytes(one: Recipe, other: Recipe) -> bool:
    return one is other or (one.source is other.source and one.steps == other.steps and one.size == other.size)


def joined(views: Sequence[View], function: Callable[[Sequence[Any]], Any], new: bool) -> Recorded | None:
    """Views that lie one behind the other in a block of their own: stacked, or joined along a first extent of 1.

    function  makes that of real ones
    new       along an extent of its own
    """
    seen = [see(*each) for each in views]
    head = seen[0]
    if head is None:
        return None
    shape, dims = views[0][1].shape, head.pattern.dims
    if any(each is not None and each.tail is not head.tail for each in seen):
        seen = [each and bytes_of(each) for each in seen]
        head = seen[0]
        if head is None:
            return None
    for each, view in zip(seen, views, strict=True):
        if each is None or each.tail is not head.tail or each.pattern.dims != dims or view[1].shape != shape:
            return None
    if not new and (not dims.startswith("_") or head.outer):
        return None
    several = [each for each in seen if each is not None]
    found = [image for each in several for image in each.images]
    laid_on = [of for each in several for of in each.patches or ((),) * len(each.images)]
    # An extent of 1 may stand anywhere.
    images, inner, patches = upright(found, "".join(letter for letter in dims if letter in "hwc"), laid_on)
    orders = ("chw", "hwc") if head.tail.channels == 3 else ("hw",)
    axes = next((order for order in orders if inner == "".join(letter for letter in order if letter in inner)), None)
    if axes is None:
        return None
    outer = (len(views), *head.outer)
    taken = tuple(views)
    value = Value(images, outer, head.tail, axes, lambda: function([_view(*each) for each in taken]), patches)
    made = shape if new else shape[1:]
    return Recorded(value, dense((len(views), *made)), views[0][2])
