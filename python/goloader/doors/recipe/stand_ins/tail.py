"""From an image's bytes to the numbers of an array or tensor: a function of each byte, hence a table.

A Tail is such a table. It is made by the very functions that it stands for, run once on small inputs that lie in memory
as the user's do, and checked: what they make of a byte must not depend on where it stands. Equal tables are one object.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cache, lru_cache
from itertools import combinations
from math import prod
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from ....plan.transforms.lowered import ITEMSIZES
from ....plan.transforms.tables import probes
from ...same import bits
from .. import switch
from ..recipe import ONE_CHANNEL

# Tables that one function makes of one table. Whoever scales by a random number has a new one for each sample; making
# it would take longer than the work it saves.
_FOLLOWERS_MAX = 16

_RECORDED_MAX = 256

OUTER = "0123456789"  # letters of a batch's extents


Ones = tuple["str | None", ...]


class Pattern(NamedTuple):
    """How numbers lie in memory where a function finds them, whatever the extents; one letter an extent.

    block    extents of the block as they lie in memory: "0", "1" ... of a stack, then of "h", "w" and "c"
    dims     extents of the view, in its order: those of the block that it has, and "_" of 1
    signs    -1 where the view goes backwards
    partial  extents of the block of which the view has only a part
    ones     the strides of extents of 1 (strides_of_ones)
    numpy    it is an array, not a tensor
    """

    block: str
    dims: str
    signs: tuple[int, ...]
    partial: str
    ones: Ones
    numpy: bool


class Tail:
    """A table.

    values       [channels, 256]: what each byte becomes
    channels     1 or 3
    dtype        of tensors, and array_dtype of arrays; None where numpy has no such
    by_core      the core knows the dtype
    data         the values' bytes
    is_identity  each byte becomes itself
    recorded     what value.record has made of samples with this table, by all that it goes by
    zoomed       what bytes become is resized by a step _steps.zoom: numbers of an image are no more those of the table
    """

    __slots__ = (
        "__weakref__", "_followers", "_picked", "array_dtype", "by_core", "channels", "data", "dtype", "is_identity",
        "recorded", "values", "zoomed",
    )  # fmt: skip

    def __init__(self, values: torch.Tensor, zoomed: bool) -> None:
        self.values = values.contiguous()
        self.zoomed = zoomed
        self.channels = len(values)
        self.dtype: torch.dtype = values.dtype
        # numpy has no bfloat16.
        self.array_dtype: Any = None if values.dtype == torch.bfloat16 else values.numpy().dtype
        self.by_core = str(values.dtype).removeprefix("torch.") in ITEMSIZES
        self.data: bytes = self.values.view(torch.uint8).numpy().tobytes()
        self.is_identity = self.dtype == torch.uint8 and self.data == bytes(range(256)) * len(values)
        self._followers: dict[Hashable, dict[Hashable, Followed | None]] = {}
        self._picked: dict[tuple[int, ...], Tail] = {tuple(range(len(values))): self}
        self.recorded: dict[Hashable, tuple[Any, ...]] = {}

    def note(self, place: Hashable, made: tuple[Any, ...]) -> None:
        """Keeps what value.record has made; images that differ in size make more than are kept."""
        if len(self.recorded) >= _RECORDED_MAX:
            self.recorded.clear()
        self.recorded[place] = made

    def pick(self, channels: tuple[int, ...]) -> Tail:
        """The table of some channels, in an order of their own."""
        made = self._picked.get(channels)
        if made is None:
            made = self._picked[channels] = _shared(self.values[list(channels)])
        return made


_tails: WeakValueDictionary[tuple[torch.dtype, bytes, bool], Tail] = WeakValueDictionary()


def _shared(values: torch.Tensor, zoomed: bool = False) -> Tail:
    made = Tail(values, zoomed)
    return _tails.setdefault((made.dtype, made.data, zoomed), made)


@cache
def identity(channels: int) -> Tail:
    """The table of bytes that stay what they are."""
    return _shared(torch.arange(256, dtype=torch.uint8).expand(channels, 256))


@lru_cache(maxsize=64)
def alike(numbers: bytes, dtype: torch.dtype) -> Tail:
    """The table in which all bytes of a channel become one number: those, of a type, that stand in memory so."""
    return _shared(torch.frombuffer(bytearray(numbers), dtype=dtype)[:, None].expand(-1, 256))


@lru_cache(maxsize=8)
def zoomed(channels: int, scale: float) -> Tail:
    """The table of bytes times `scale`, in float64, which are resized then."""
    return _shared((torch.arange(256, dtype=torch.float64) * scale).expand(channels, 256), zoomed=True)


class Followed(NamedTuple):
    """What a function makes.

    tail       of the result
    order      extents of the block that it makes, as they lie in memory; those of 1 are left out
    numpy      it makes an array, not a tensor
    ones       as in Pattern
    writeable  of arrays
    """

    tail: Tail
    order: str
    ones: tuple[str | None, ...]
    numpy: bool
    writeable: bool


_first: dict[Hashable, Followed | None] = {}


def first(key: Hashable, function: Callable[[Any], Any], dims: str, mode: str) -> Followed | None:
    """What a function makes of PIL images of a mode: RGB, YCbCr, L or P; None if it is none of each byte by itself.

    key   names the function and its arguments
    dims  extents of what it makes, as in Pattern
    """
    place = (key, mode)
    if place not in _first:
        channels = 1 if mode in ONE_CHANNEL else 3
        _first[place] = _follow(lambda pixels: (function(_image(pixels, mode)),), channels, dims)
    return _first[place]


def _image(pixels: NDArray[np.uint8], mode: str) -> Image.Image:
    image = Image.frombytes(mode, pixels.shape[1::-1], pixels.tobytes())
    if mode == "P":
        image.putpalette(bytes(range(256)) * 3)
    return image


def follow(
    key: tuple[Hashable, ...], function: Callable[..., Any], inputs: Sequence[tuple[Tail, Pattern]]
) -> Followed | None:
    """What `function(*inputs)` makes; None if it is no function of each byte by itself.

    key     the function's name, and its other arguments
    inputs  tables over the same bytes, and how the inputs lie in memory; all have the same extents
    """
    head, pattern = inputs[0]
    place = (key, *inputs[1:])
    known = head._followers.setdefault((key[0], pattern), {})
    if place in known:
        return known[place]
    if len(known) >= _FOLLOWERS_MAX:
        return None
    made = _follow(
        lambda pixels: (function(*(_place(tail.values, each, pixels) for tail, each in inputs)),),
        head.channels,
        pattern.dims,
    )
    if made is not None and any(tail.zoomed for tail, _ in inputs):
        made = made._replace(tail=_shared(made.tail.values, zoomed=True)) if _carries(key, head, made.tail) else None
    known[place] = made
    return made


# Names of functions that copy numbers, or cast them.
_CARRIERS = {
    "array", "asanyarray", "asarray", "ascontiguousarray", "astype", "copy", "as_tensor", "clone", "contiguous",
    "tensor", "to",
}  # fmt: skip


def _carries(key: tuple[Hashable, ...], before: Tail, after: Tail) -> bool:
    """Whether a function does to any number what the core does to one that it has resized in float64."""
    name = key[0] if isinstance(key[0], tuple) else (key[0],)
    casts = {torch.float64: (torch.float64, torch.float32), torch.float32: (torch.float32,)}
    return not _CARRIERS.isdisjoint(name) and after.dtype in casts.get(before.dtype, ())


def _follow(run: Callable[[NDArray[np.uint8]], tuple[Any]], channels: int, dims: str) -> Followed | None:
    values: torch.Tensor | None = None
    try:
        with switch.off(), torch.enable_grad(), np.errstate(all="ignore"):
            for pixels in probes(channels):
                (out,) = run(pixels)
                planes = _planes(out, dims, pixels.shape)
                if values is None:
                    values = planes[..., :, 0, :].reshape(-1, channels, 256)[0]
                want = torch.stack([row[index] for row, index in zip(values, _indices(pixels), strict=True)])
                if planes.dtype != values.dtype or not torch.equal(bits(planes), bits(want.expand(planes.shape))):
                    return None
            order = _order(out, dims)
    except Exception:  # whatever it is, the user's own call raises it
        return None
    if values is None or order is None:
        return None
    numpy = type(out) is np.ndarray
    return Followed(
        _shared(values),
        order,
        strides_of_ones(dims, tuple(out.shape), _strides(out)),
        numpy,
        not numpy or bool(out.flags.writeable),
    )


def _indices(pixels: NDArray[np.uint8]) -> torch.Tensor:
    """[channels, height, width]"""
    return torch.from_numpy(pixels.transpose(2, 0, 1).astype(np.int64))


def _place(values: torch.Tensor, pattern: Pattern, pixels: NDArray[np.uint8]) -> Any:
    """The array or tensor of these pixels, in memory as the pattern says."""
    image = torch.stack([row[index] for row, index in zip(values, _indices(pixels), strict=True)])
    letters = "chw" if "c" in pattern.block else "hw"
    if letters == "hw":
        image = image[0]
    outer = sum(letter in OUTER for letter in pattern.block)
    image = image.permute([letters.index(letter) for letter in pattern.block[outer:]])
    image = image.expand(*(2,) * outer, *image.shape)
    backwards = {letter for letter, sign in zip(pattern.dims, pattern.signs, strict=True) if sign < 0}
    image = image.flip([at for at, letter in enumerate(pattern.block) if letter in backwards])
    block = image.new_zeros(
        [n + (letter in pattern.partial) for n, letter in zip(image.shape, pattern.block, strict=True)]
    )
    block[tuple(map(slice, image.shape))] = image
    made: Any = block.numpy() if pattern.numpy else block
    parts: list[Any] = []
    for length, letter in zip(image.shape, pattern.block, strict=True):
        if letter not in pattern.dims:
            parts.append(0)
        else:
            parts.append(slice(length - 1, None, -1) if letter in backwards else slice(length))
    made = made[tuple(parts)]
    left = [letter for letter in pattern.block if letter in pattern.dims]
    order = [left.index(letter) for letter in pattern.dims if letter != "_"]
    made = made.transpose(order) if pattern.numpy else made.permute(order)
    made = made[tuple(None if letter == "_" else slice(None) for letter in pattern.dims)]
    if not pattern.ones:
        return made
    strides = strides_with_ones(pattern.dims, tuple(made.shape), _strides(made), pattern.ones)
    if pattern.numpy:
        return np.lib.stride_tricks.as_strided(made, made.shape, [stride * made.itemsize for stride in strides])
    return made.as_strided(made.shape, strides)


def _planes(out: Any, dims: str, shape: tuple[int, ...]) -> torch.Tensor:
    """[..., channels, height, width] of what a function made; raises if it is of another kind or shape."""
    if type(out) is np.ndarray:
        strides = out.strides
        # torch warns of arrays that cannot be written, and refuses negative strides.
        plain = out.flags.writeable and all(stride >= 0 for stride in strides)
        tensor = torch.from_numpy(out if plain else out.copy())
    elif type(out) is torch.Tensor and out.layout == torch.strided and out.device.type == "cpu":
        tensor = out
    else:
        raise TypeError
    lengths = {"h": shape[0], "w": shape[1], "c": shape[2], "_": 1}
    if tensor.requires_grad or tensor.shape != tuple(lengths.get(letter, 2) for letter in dims):
        raise ValueError
    if "c" not in dims:
        tensor, dims = tensor[None], f"c{dims}"
    for letter in "chw":
        at = dims.index(letter)
        tensor = tensor.movedim(at, -1)
        dims = dims[:at] + dims[at + 1 :] + letter
    return tensor


def _strides(out: Any) -> tuple[int, ...]:
    return tuple(stride // out.itemsize for stride in out.strides) if type(out) is np.ndarray else out.stride()


def strides_of_ones(dims: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> Ones:
    """Of each extent of 1, other extents whose lengths make up its stride, which nobody goes along and anybody may ask
    for; None for other strides."""
    if "_" not in dims:
        return ()
    found: list[str | None] = []
    letters = [(letter, length) for letter, length in zip(dims, shape, strict=True) if length > 1]
    for letter, stride in zip(dims, strides, strict=True):
        if letter == "_":
            sets = (each for count in range(len(letters) + 1) for each in combinations(letters, count))
            fits = (each for each in sets if prod(length for _, length in each) == stride)
            fit = next(fits, None)
            found.append(None if fit is None else "".join(letter for letter, _ in fit))
    return tuple(found)


def strides_with_ones(dims: str, shape: tuple[int, ...], strides: Sequence[int], ones: Ones) -> tuple[int, ...]:
    """Strides, of which those of extents of 1 are what strides_of_ones says."""
    if "_" not in dims:
        return tuple(strides)
    lengths, left = dict(zip(dims, shape, strict=True)), iter(ones)
    made = list(strides)
    for at, letter in enumerate(dims):
        if letter == "_":
            letters = next(left)
            made[at] = 0 if letters is None else prod(lengths.get(each, 1) for each in letters)
    return tuple(made)


def _order(out: Any, dims: str) -> str | None:
    """The letters of extents in the order in which they lie in memory; None if there are gaps, or it goes backwards."""
    found = sorted(zip(_strides(out), out.shape, dims, strict=True), reverse=True)
    found = [each for each in found if each[1] > 1]
    step = 1
    for stride, length, _ in reversed(found):
        if stride != step:
            return None
        step *= length
    order = "".join(letter for _, _, letter in found)
    outer = "".join(letter for letter in order if letter in OUTER)
    return order if order.startswith(outer) and outer == "".join(sorted(outer)) else None
