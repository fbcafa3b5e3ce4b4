"""What goloader can do to an image, as plain data: no torch, no torchvision.

The classes carry torchvision's names, arguments, defaults and meaning (as torchvision has them for PIL images), so that
`goloader.transforms.RandomResizedCrop(224)` reads as users know it. They serve the loader that runs without torch, and
they are what `goloader.plan` lowers torchvision's own objects to. None of them touches a pixel: `to_plan()` is the step
as the core reads it.

Geometry: Resize, CenterCrop, RandomCrop, RandomResizedCrop, RandomHorizontalFlip, RandomVerticalFlip, RandomRotation,
          RandomAffine, Pad, Grayscale.
Tail:     ToArray, Normalize (they come last, in this order).
"""

from __future__ import annotations

import base64
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, ClassVar, Literal

import numpy as np

__all__ = [
    "CenterCrop",
    "Geometry",
    "Grayscale",
    "Normalize",
    "Pad",
    "RandomAffine",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomVerticalFlip",
    "Resize",
    "ToArray",
]

Api = Literal["v1", "v2"]
Size = tuple[int, int]  # height, width

# Pillow's numbers (Image.Resampling) and torchvision's names of the filters. On PIL images torchvision treats
# nearest-exact as nearest.
FILTERS = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}
# What torch makes of uint8 tensors with antialias=True; its weights are rounded otherwise than Pillow's.
TENSOR_FILTERS = ("torch_bilinear", "torch_bicubic")
# torch's own nearest neighbour, by which torchvision resizes masks that are tensors.
TORCH_NEAREST = "torch_nearest"
# torch's bilinear resize with antialias=True by sums of float32: of the numbers that bytes have become, and of bytes,
# which the sums are rounded to. Behind each stands how many products it rounds at a time, as in "torch_float_8".
TORCH_FLOAT, TORCH_CAST = "torch_float_", "torch_cast_"
# Those that Pillow warps with.
WARP_FILTERS = ("nearest", "bilinear", "bicubic")
PADDING_MODES = ("constant", "edge", "reflect", "symmetric")

# Longest edge a step may ask for (sizeMax in core/plan): far above any picture, far below any overflow.
EDGE_MAX = 1 << 20

# Bounds within which the core's float32 arithmetic of RandomResizedCrop has neither overflow nor subnormal numbers.
SCALE_MAX = 1e6
LOG_RATIO_MAX = 80
DEGREES_MAX = 1e6  # angleMax in core/plan


class Geometry:
    """A step that moves pixels.

    op      the core's name of it
    random  whether it draws
    passes  how often it goes over the pixels at most
    """

    op: ClassVar[str]
    random: ClassVar[bool] = False
    passes: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Checks arguments, and keeps them in one form: equal steps compare equal however they were spelled."""
        step: Any = self
        for each in fields(step):
            value = getattr(step, each.name)
            if each.name in _CHECKS and (value is not None or each.default is not None):
                _set(step, **{each.name: _CHECKS[each.name](value)})

    def to_plan(self) -> dict[str, Any]:
        """The step as the core's plan has it: its arguments, but for antialias, which has no effect."""
        given: dict[str, Any] = planned(self)
        given.pop("antialias", None)
        if "interpolation" in given:
            given["filter"] = given.pop("interpolation")
        return {"op": self.op, **given}

    def needs(self) -> tuple[str, ...]:
        """The behaviours (goloader.selfcheck) of the libraries in whose place the core takes the step."""
        return ()

    def size_after(self, size: Size | None) -> Size | None:
        """(height, width) after the step for an image of `size`; None while it depends on the image."""
        return size

    def channels_after(self, channels: int) -> int:
        """Channels after the step for an image of `channels`."""
        return channels


@dataclass(frozen=True)
class Resize(Geometry):
    """Resize to (h, w); or with one number the shorter edge to it, keeping the aspect ratio.

    size           int, (int,), (h, w), or None: then the longer edge becomes max_size
    interpolation  "nearest", "nearest-exact", "bilinear", "bicubic", "box", "hamming", "lanczos", or Pillow's number;
                   "torch_bilinear" and "torch_bicubic" are torch's, of uint8 tensors
    max_size       upper bound of the longer edge; only where size is one number or None
    antialias      accepted as torchvision does, without effect: Pillow's filters always are
    """

    size: int | Sequence[int] | None
    interpolation: str | int = "bilinear"
    max_size: int | None = None
    antialias: bool | None = True
    op: ClassVar[str] = "resize"

    def __post_init__(self) -> None:
        size = () if self.size is None else edges(self.size, "size", counts=(1, 2))
        max_size = None if self.max_size is None else edges(self.max_size, "max_size", counts=(1,))[0]
        if not size and max_size is None:
            raise ValueError("max_size must be an integer when size is None, but got None instead.")
        if max_size is not None and len(size) == 2:
            raise ValueError("max_size should only be passed if size is None or the length of the smaller edge")
        if max_size is not None and size and max_size <= size[0]:
            raise ValueError(
                f"max_size = {max_size} must be strictly greater than the requested size for the smaller edge "
                f"size = {size[0]}"
            )
        _set(self, size=size, max_size=max_size, interpolation=filter_name(self.interpolation), antialias=True)

    def to_plan(self) -> dict[str, Any]:
        return super().to_plan() | {"size": list(self._size) or None}

    def needs(self) -> tuple[str, ...]:
        return (_resize_of(self.interpolation),)

    def size_after(self, size: Size | None) -> Size | None:
        wanted = self._size
        if len(wanted) == 2:
            return wanted[0], wanted[1]
        if size is None:
            return None
        # torchvision.transforms.functional._compute_resized_output_size, its order of float steps included.
        height, width = size
        short, long = (width, height) if width <= height else (height, width)
        if not wanted:
            assert self.max_size is not None
            new_short, new_long = int(self.max_size * short / long), self.max_size
        else:
            new_short, new_long = wanted[0], int(wanted[0] * long / short)
            if self.max_size is not None and new_long > self.max_size:
                new_short, new_long = int(self.max_size * new_short / new_long), self.max_size
        return (new_long, new_short) if width <= height else (new_short, new_long)

    @property
    def _size(self) -> tuple[int, ...]:
        assert isinstance(self.size, tuple)
        return self.size


@dataclass(frozen=True)
class _ToSize(Geometry):
    """What makes images of one size, whatever theirs is."""

    size: int | Sequence[int]

    def size_after(self, size: Size | None) -> Size | None:
        return _pair(self.size)


@dataclass(frozen=True)
class CenterCrop(_ToSize):
    """Keep the middle (h, w); an image that is smaller is padded with zeros first.

    size  int for a square, (int,), or (h, w)
    """

    op: ClassVar[str] = "center_crop"
    passes: ClassVar[int] = 2

    def needs(self) -> tuple[str, ...]:
        return "pillow.crop", "pillow.expand"


@dataclass(frozen=True)
class RandomCrop(_ToSize):
    """Keep (h, w) at a random place.

    size           int for a square, (int,), or (h, w)
    padding        None, int, (left/right, top/bottom), or (left, top, right, bottom): added first
    pad_if_needed  pad an image that is still smaller than size; else that image is an error
    fill           0..255, or one for each of R, G and B; with padding_mode "constant"
    padding_mode   "constant", "edge", "reflect" or "symmetric"
    api            which torchvision's order of random numbers: v1 draws both places at once or none, v2 each if needed
    """

    padding: int | Sequence[int] | None = None
    pad_if_needed: bool = False
    fill: float | Sequence[float] = 0
    padding_mode: str = "constant"
    api: Api = field(default="v2", kw_only=True)
    op: ClassVar[str] = "random_crop"
    random: ClassVar[bool] = True

    @property
    def passes(self) -> int:  # type: ignore[override]
        return 1 if self.padding is None and not self.pad_if_needed else 4

    def needs(self) -> tuple[str, ...]:
        return "torch.randint", "pillow.crop", "pillow.expand"


@dataclass(frozen=True)
class RandomResizedCrop(_ToSize):
    """Keep a rectangle of random area and aspect ratio, then resize it to (h, w).

    size           int for a square, (int,), or (h, w)
    scale          lower and upper bound of the area, as a share of the image's
    ratio          lower and upper bound of width / height
    interpolation  as for Resize
    antialias      accepted, without effect
    log_ratio      float32 logarithms of ratio; None computes the nearest. torch's own may differ in the last bit
    """

    scale: Sequence[float] = (0.08, 1.0)
    ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0)
    interpolation: str | int = "bilinear"
    antialias: bool | None = True
    api: Api = field(default="v2", kw_only=True)
    log_ratio: Sequence[float] | None = field(default=None, kw_only=True)
    op: ClassVar[str] = "random_resized_crop"
    random: ClassVar[bool] = True
    passes: ClassVar[int] = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        scale = _bounds(self.scale, "scale", 0.0, SCALE_MAX)
        ratio = _bounds(self.ratio, "ratio", float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max))
        if self.log_ratio is None:
            # By way of float64, since numpy's float32 logarithm depends on the processor.
            log_ratio = tuple(float(np.float32(math.log(np.float32(value)))) for value in ratio)
        else:
            log_ratio = tuple(float(np.float32(value)) for value in self.log_ratio)
        if len(log_ratio) != 2 or not -LOG_RATIO_MAX <= log_ratio[0] <= log_ratio[1] <= LOG_RATIO_MAX:
            raise ValueError(
                f"ratio should stay between exp(-{LOG_RATIO_MAX}) and exp({LOG_RATIO_MAX}), but got {ratio}"
            )
        _set(self, scale=scale, ratio=ratio, log_ratio=log_ratio, antialias=True)

    def needs(self) -> tuple[str, ...]:
        return "torch.uniform", "torch.randint", "pillow.crop", _resize_of(self.interpolation)


@dataclass(frozen=True)
class _RandomFlip(Geometry):
    p: float = 0.5
    random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0.0 <= self.p <= 1.0:
            raise ValueError("`p` should be a floating point value in the interval [0.0, 1.0].")
        # torch compares a float32 draw with p rounded to float32.
        _set(self, p=float(np.float32(self.p)))

    def needs(self) -> tuple[str, ...]:
        return "torch.rand", "pillow.transpose"


@dataclass(frozen=True)
class RandomHorizontalFlip(_RandomFlip):
    """Mirror left and right with probability p (kept as a float32, as torch compares it)."""

    op: ClassVar[str] = "random_horizontal_flip"


@dataclass(frozen=True)
class RandomVerticalFlip(_RandomFlip):
    """Mirror top and bottom with probability p (kept as a float32, as torch compares it)."""

    op: ClassVar[str] = "random_vertical_flip"


@dataclass(frozen=True)
class RandomRotation(Geometry):
    """Turn counter-clockwise by a random angle.

    degrees        lower and upper bound of the angle; one number d stands for (-d, d)
    interpolation  "nearest", "bilinear" or "bicubic", or Pillow's number
    expand         the image grows until all of it is seen
    center         (x, y) in pixels from the upper left; None is the middle
    fill           0..255, or one for each of R, G and B
    """

    degrees: float | Sequence[float]
    interpolation: str | int = "nearest"
    expand: bool = False
    center: Sequence[float] | None = None
    fill: float | Sequence[float] = 0
    op: ClassVar[str] = "random_rotation"
    random: ClassVar[bool] = True
    passes: ClassVar[int] = 3  # a quarter turn and two flips

    def __post_init__(self) -> None:
        super().__post_init__()
        _one_of(str(self.interpolation), WARP_FILTERS, "interpolation")

    def needs(self) -> tuple[str, ...]:
        return "torch.uniform", "pillow.transpose", "pillow.angles", f"pillow.affine.{self.interpolation}"

    def size_after(self, size: Size | None) -> Size | None:
        return None if self.expand else size


@dataclass(frozen=True)
class RandomAffine(Geometry):
    """Turn, move, scale and shear at random.

    degrees    lower and upper bound of the angle, clockwise; one number d stands for (-d, d)
    translate  None, or the most that it moves, as shares of width and height
    scale      None, or lower and upper bound
    shear      None, or bounds in degrees: a number d for (-d, d) across, two across, four across and down
    interpolation, center, fill  as for RandomRotation
    """

    degrees: float | Sequence[float]
    translate: Sequence[float] | None = None
    scale: Sequence[float] | None = None
    shear: float | Sequence[float] | None = None
    interpolation: str | int = "nearest"
    fill: float | Sequence[float] = 0
    center: Sequence[float] | None = None
    api: Api = field(default="v2", kw_only=True)
    op: ClassVar[str] = "random_affine"
    random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        _one_of(str(self.interpolation), WARP_FILTERS, "interpolation")
        shear = () if self.shear is None else self.shear
        across = shear if not isinstance(shear, Sequence) or len(shear) != 4 else shear[:2]
        down = shear[2:] if isinstance(shear, Sequence) else ()
        _set(
            self,
            scale=None if self.scale is None else _bounds(self.scale, "scale", 1 / SCALE_MAX, SCALE_MAX),
            shear=tuple(_degrees(each) for each in (across, down) if each != ()),
        )

    def needs(self) -> tuple[str, ...]:
        return "torch.uniform", "pillow.angles", f"pillow.affine.{self.interpolation}"


@dataclass(frozen=True)
class Pad(Geometry):
    """Add pixels on all sides.

    padding       int, (int,), (left/right, top/bottom), or (left, top, right, bottom); none negative
    fill          0..255, or one for each of R, G and B; with padding_mode "constant"
    padding_mode  "constant", "edge", "reflect" or "symmetric"
    """

    padding: int | Sequence[int]
    fill: float | Sequence[float] = 0
    padding_mode: str = "constant"
    op: ClassVar[str] = "pad"

    def needs(self) -> tuple[str, ...]:
        return ("pillow.expand",)

    def size_after(self, size: Size | None) -> Size | None:
        if size is None:
            return None
        assert isinstance(self.padding, tuple)
        left, top, right, bottom = self.padding
        return size[0] + top + bottom, size[1] + left + right


@dataclass(frozen=True)
class Grayscale(Geometry):
    """ITU-R 601 luma, to one channel or to three equal ones."""

    num_output_channels: int = 1
    op: ClassVar[str] = "grayscale"

    def __post_init__(self) -> None:
        if self.num_output_channels not in (1, 3):
            raise ValueError(f"num_output_channels must be 1 or 3, got {self.num_output_channels}.")
        _set(self, num_output_channels=int(self.num_output_channels))

    def to_plan(self) -> dict[str, Any]:
        return {"op": self.op, "channels": self.num_output_channels}

    def needs(self) -> tuple[str, ...]:
        return ("pillow.luma",)

    def channels_after(self, channels: int) -> int:
        return self.num_output_channels


@dataclass(frozen=True)
class ToArray:
    """Height x width x channels uint8 becomes channels x height x width of dtype.

    dtype  "uint8", "float16", "float32" or "float64"
    scale  divide by 255, in dtype; only floating dtypes have it
    """

    dtype: str = "float32"
    scale: bool = True

    def __post_init__(self) -> None:
        _one_of(self.dtype, ("uint8", "float16", "float32", "float64"), "dtype")


@dataclass(frozen=True)
class Normalize:
    """(x - mean) / std for each channel, in the array's dtype: mean and std are on the scale that ToArray left."""

    mean: Sequence[float]
    std: Sequence[float]

    def __post_init__(self) -> None:
        mean, std = tuple(map(float, self.mean)), tuple(map(float, self.std))
        if not all(std):
            raise ValueError("std evaluated to zero, leading to division by zero.")
        if len(mean) not in (1, 3) or len(std) not in (1, 3):
            raise ValueError(f"mean and std should have a value for each channel, but got {len(mean)} and {len(std)}")
        _set(self, mean=mean, std=std)


# What resizes to a size, or to one with the shorter edge.
Resized = Resize | RandomResizedCrop


def edges(value: int | Sequence[int], name: str, *, counts: tuple[int, ...]) -> tuple[int, ...]:
    """Lengths of edges in pixels: as many as one of `counts`, each at least 1."""
    values = tuple(map(operator.index, value)) if isinstance(value, Sequence) else (operator.index(value),)
    if len(values) not in counts:
        raise ValueError(f"{name} should have {' or '.join(map(str, counts))} values, but got {value!r}")
    if not all(1 <= edge <= EDGE_MAX for edge in values):
        raise ValueError(f"{name} should be between 1 and {EDGE_MAX}, but got {value!r}")
    return values


def edge_pair(value: int | Sequence[int]) -> Size:
    """(height, width); one number stands for both."""
    values = edges(value, "size", counts=(1, 2))
    return values[0], values[-1]


def borders(value: int | Sequence[int]) -> tuple[int, int, int, int]:
    """(left, top, right, bottom) from one, two (left/right, top/bottom) or four numbers."""
    values = tuple(map(operator.index, value)) if isinstance(value, Sequence) else (operator.index(value),)
    if len(values) not in (1, 2, 4):
        raise ValueError(f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(values)} element tuple")
    if not all(0 <= border <= EDGE_MAX for border in values):
        raise ValueError(f"padding should be between 0 and {EDGE_MAX}, but got {value!r}")
    left, top = values[0], values[1 % len(values)]
    return (left, top, values[2], values[3]) if len(values) == 4 else (left, top, left, top)


def colour(value: float | Sequence[float]) -> tuple[int, ...]:
    """One byte, or one each for R, G and B: fractions are cut off and numbers clipped, as by torchvision and Pillow."""
    values = tuple(value) if isinstance(value, Sequence) else (value,)
    if len(values) not in (1, 3) or not all(isinstance(number, int | float) for number in values):
        raise ValueError(f"fill should be a number, or one for each of R, G and B, but got {value!r}")
    return tuple(min(max(int(number), 0), 255) for number in values)


def filter_name(value: str | int) -> str:
    """A filter's name in the plan, from torchvision's name or Pillow's number."""
    name = FILTERS.get(int(value)) if isinstance(value, int) else value
    if name == "nearest-exact":
        return "nearest"
    if name is None or (name not in (*FILTERS.values(), *TENSOR_FILTERS, TORCH_NEAREST) and not _sums_floats(name)):
        raise ValueError(f"interpolation should be one of {', '.join(FILTERS.values())}, but got {value!r}")
    return name


def _resize_of(filter: str | int) -> str:
    """The behaviour of a resize by the filter of that name."""
    name = str(filter)
    if _sums_floats(name):
        return "torch.resize.float"
    if name == TORCH_NEAREST:
        return "torch.resize.nearest"
    return f"torchvision.resize.{name[6:]}" if name in TENSOR_FILTERS else f"pillow.resize.{name}"


def _sums_floats(filter: str) -> bool:
    return filter.startswith((TORCH_FLOAT, TORCH_CAST))


def _bounds(value: Sequence[float], name: str, least: float, most: float) -> tuple[float, float]:
    """Two numbers in least..most, the smaller first."""
    low, high = _two(value, name, least, most)
    if low > high:
        raise ValueError(f"{name} should be (min, max), but got {value!r}")
    return low, high


def _two(value: Sequence[float], name: str, least: float, most: float) -> tuple[float, float]:
    """Two numbers in least..most."""
    if not isinstance(value, Sequence) or len(value) != 2:
        raise TypeError(f"{name.capitalize()} should be a sequence of two floats.")
    if not all(least <= each <= most for each in value):
        raise ValueError(f"{name} should be within {least:g} and {most:g}, but got {value!r}")
    return float(value[0]), float(value[1])


def _degrees(value: float | Sequence[float]) -> tuple[float, float]:
    if not isinstance(value, Sequence):
        value = (-value, value)
    return _bounds(value, "degrees", -DEGREES_MAX, DEGREES_MAX)


def _one_of(value: str, names: tuple[str, ...], argument: str) -> str:
    if value not in names:
        raise ValueError(f"{argument} should be one of {', '.join(names)}, but got {value!r}")
    return value


# What arguments become, by their names; None stays where it is the default.
_CHECKS: dict[str, Callable[[Any], Any]] = {
    "api": lambda value: _one_of(value, ("v1", "v2"), "api"),
    "center": lambda value: _two(value, "center", -EDGE_MAX, EDGE_MAX),
    "degrees": _degrees,
    "expand": bool,
    "fill": colour,
    "interpolation": filter_name,
    "pad_if_needed": bool,
    "padding": borders,
    "padding_mode": lambda value: _one_of(value, PADDING_MODES, "padding_mode"),
    "size": edge_pair,
    "translate": lambda value: _two(value, "translate", 0.0, 1.0),
}


def _set(step: object, **values: object) -> None:
    """Writes to a frozen dataclass."""
    for name, value in values.items():
        object.__setattr__(step, name, value)


def planned(step: Any) -> dict[str, Any]:
    """The fields of a dataclass as JSON has them, bytes by base64."""
    return {each.name: _json(getattr(step, each.name)) for each in fields(step)}


def _json(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(map(_json, value))
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Geometry):
        return value.to_plan()
    return planned(value) if is_dataclass(value) else value


def _pair(size: int | Sequence[int]) -> Size:
    assert isinstance(size, tuple)
    return size[0], size[1]
