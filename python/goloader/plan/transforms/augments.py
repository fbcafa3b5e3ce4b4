"""torchvision's transforms of colour, its blur and its policies, lowered: what they draw, and steps for all of it.

They are for PIL images, or for tensors of bytes, whose arithmetic is another. What an operation of a policy does at a
level is asked of torchvision itself: on a ramp of all bytes where it changes each byte by itself, on an image without
pixels that notes what is done to it where it moves them.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from ... import _steps
from ... import transforms as T
from ...adapters.torch import convolves_plainly, multiplies_plainly
from ...selfcheck import value
from ..needs import require
from . import warps

Range = tuple[float, float]
_GRID = 1 << 24  # torch.rand gives multiples of 1 / _GRID
_FACTOR_MAX = 1e30


@dataclass(frozen=True)
class Pixels:
    """Images that a transform gets.

    channels   1 or 3
    size       (height, width), if it is the same for all
    is_tensor  they are tensors of bytes, not PIL images
    """

    channels: int
    size: T.Size | None = None
    is_tensor: bool = False

    def after(self, step: T.Geometry) -> Pixels:
        return Pixels(step.channels_after(self.channels), step.size_after(self.size), self.is_tensor)


@dataclass(frozen=True)
class TensorGrayscale(T.Geometry):
    """v2's Grayscale of a uint8 tensor; fused as ColorJitter has it."""

    op: ClassVar[str] = "torch_grayscale"
    passes: ClassVar[int] = 2
    channels: int
    fused: bool

    def channels_after(self, channels: int) -> int:
        return self.channels


@dataclass(frozen=True)
class GaussianBlur(T.Geometry):
    """GaussianBlur: weights for these places, made in one of the ways that torch has, for a sigma that is drawn."""

    op: ClassVar[str] = "torch_blur"
    random: ClassVar[bool] = True
    api: T.Api
    mkl: bool
    lanes: int
    across: tuple[float, ...]
    down: tuple[float, ...]
    sigma: Range

    def needs(self) -> tuple[str, ...]:
        return "torch.uniform", "torch.convolve", f"torchvision.weights.{self.api}"


@dataclass(frozen=True)
class Steps(T.Geometry):
    """Fixed steps, in wire form, that keep an image's size."""

    op: ClassVar[str] = "steps"
    steps: bytes

    def needs(self) -> tuple[str, ...]:
        return _needs((self.steps,))


@dataclass(frozen=True)
class RandomApply(T.Geometry):
    """Steps that happen where torch.rand gives less than p."""

    op: ClassVar[str] = "random_apply"
    random: ClassVar[bool] = True
    p: float
    transforms: tuple[T.Geometry, ...]

    @property
    def passes(self) -> int:  # type: ignore[override]
        return sum(step.passes for step in self.transforms)

    def needs(self) -> tuple[str, ...]:
        return "torch.rand", *(name for step in self.transforms for name in step.needs())

    def size_after(self, size: T.Size | None) -> T.Size | None:
        applied = size
        for step in self.transforms:
            applied = step.size_after(applied)
        return size if applied == size else None


@dataclass(frozen=True)
class ColorJitter(T.Geometry):
    """Factors are drawn from these ranges, and carried out in a random order; None leaves one out.

    fused  of uint8 tensors: whether torch adds a multiple with one rounding; None of PIL images
    """

    op: ClassVar[str] = "color_jitter"
    random: ClassVar[bool] = True
    brightness: Range | None
    contrast: Range | None
    saturation: Range | None
    hue: Range | None
    fused: bool | None = None

    @property
    def passes(self) -> int:  # type: ignore[override]
        return 4 - (self.brightness, self.contrast, self.saturation, self.hue).count(None)

    def to_plan(self) -> dict[str, Any]:
        return super().to_plan() | {"tensor": self.fused is not None, "fused": bool(self.fused)}

    def needs(self) -> tuple[str, ...]:
        names = ("brightness", "contrast", "saturation", "hue")
        of = "pillow" if self.fused is None else "torchvision.tensor"
        used = (f"{of}.{name}" for name in names if getattr(self, name) is not None)
        return "torch.randperm", "torch.uniform", "torch.add" if self.fused is not None else "pillow.luma", *used


@dataclass(frozen=True)
class PhotometricDistort(T.Geometry):
    """v2's RandomPhotometricDistort: each change happens where torch.rand gives less than p.

    fused  as ColorJitter's
    """

    op: ClassVar[str] = "random_photometric_distort"
    random: ClassVar[bool] = True
    passes: ClassVar[int] = 5
    p: float
    brightness: Range
    contrast: Range
    saturation: Range
    hue: Range
    fused: bool | None = None

    def to_plan(self) -> dict[str, Any]:
        return super().to_plan() | {"tensor": self.fused is not None, "fused": bool(self.fused)}

    def needs(self) -> tuple[str, ...]:
        return (
            "torch.rand",
            "torch.randperm",
            *ColorJitter(self.brightness, self.contrast, self.saturation, self.hue, self.fused).needs(),
        )


@dataclass(frozen=True)
class ChannelPermutation(T.Geometry):
    """v2's RandomChannelPermutation."""

    op: ClassVar[str] = "random_channel_permutation"
    random: ClassVar[bool] = True

    def needs(self) -> tuple[str, ...]:
        return ("torch.randperm",)


@dataclass(frozen=True)
class Choice:
    """An operation: its steps at each level, with both signs if one is drawn."""

    leveled: bool
    up: tuple[bytes, ...]
    down: tuple[bytes, ...]


@dataclass(frozen=True)
class Augment(T.Geometry):
    """RandAugment, TrivialAugmentWide."""

    op: ClassVar[str] = "augment"
    random: ClassVar[bool] = True
    rounds: int
    choices: tuple[Choice, ...]
    api: T.Api

    @property
    def passes(self) -> int:  # type: ignore[override]
        return self.rounds

    def needs(self) -> tuple[str, ...]:
        steps = (steps for each in self.choices for steps in (*each.up, *each.down))
        return "torch.rand", "torch.randint", *_needs(steps)


@dataclass(frozen=True)
class PolicyStep:
    """One half of a policy; it happens where torch.rand gives less than p."""

    p: float
    signed: bool
    up: bytes
    down: bytes


@dataclass(frozen=True)
class AutoAugment(T.Geometry):
    """AutoAugment."""

    op: ClassVar[str] = "auto_augment"
    random: ClassVar[bool] = True
    passes: ClassVar[int] = 2
    policies: tuple[tuple[PolicyStep, ...], ...]
    api: T.Api

    def needs(self) -> tuple[str, ...]:
        steps = (steps for policy in self.policies for half in policy for steps in (half.up, half.down))
        return "torch.rand", "torch.randint", *_needs(steps)


def _needs(wires: Iterable[bytes]) -> tuple[str, ...]:
    return tuple(sorted({name for wire in wires for name in _steps.needs(wire)}))


# Probabilities, as the p of `torch.rand(1) < p` in float32


def below(p: Any) -> float:
    """torch.rand(1) < p: torch compares float32."""
    return min(max(_probability(p), 0.0), 1.0)


def below_item(p: Any) -> float:
    """torch.rand(1).item() < p: Python compares float64."""
    return min(max(math.ceil(min(_probability(p), 2.0) * _GRID) / _GRID, 0.0), 1.0)


def up_to(p: Any) -> float:
    """torch.rand(1) <= p."""
    import torch

    rounded = torch.tensor(min(_probability(p), 2.0), dtype=torch.float32).item()
    return min(max((math.floor(rounded * _GRID) + 1) / _GRID, 0.0), 1.0)


def _probability(p: Any) -> float:
    if type(p) not in (int, float) or p != p:
        raise TypeError(f"p is {p!r}")
    return max(float(p), -1.0)


# Classes. `each` is the object, `channels` and `size` (height, width) those of the image it gets.


def _pillow_steps() -> Any:
    """Imported late: goloader does without Pillow until there are images."""
    from ... import _pillow_steps as steps

    return steps


def _color_jitter(api: T.Api, each: Any, pixels: Pixels) -> T.Geometry:
    brightness, contrast, saturation, hue = (
        None if getattr(each, name) is None else _range(each, name) for name in _JITTERED
    )
    factors = brightness, contrast, saturation, hue
    named = [name for name, drawn in zip(_JITTERED, factors, strict=True) if drawn is not None]
    return ColorJitter(*factors, _jittered(api, pixels, named))


_JITTERED = ("brightness", "contrast", "saturation", "hue")


def _range(each: Any, name: str) -> Range:
    """From where to where one of these factors is drawn."""
    low, high = drawn = getattr(each, name)
    least, most = (-0.5, 0.5) if name == "hue" else (0.0, T.SCALE_MAX)
    if type(low) not in (int, float) or type(high) not in (int, float) or not least <= low <= high <= most:
        raise ValueError(f"{name} is {drawn!r}")
    return float(low), float(high)


def _photometric_distort(api: T.Api, each: Any, pixels: Pixels) -> T.Geometry:
    brightness, contrast, saturation, hue = (_range(each, name) for name in _JITTERED)
    fused = _jittered(api, pixels, _JITTERED)
    return PhotometricDistort(below(each.p), brightness, contrast, saturation, hue, fused)


def _jittered(api: T.Api, pixels: Pixels, names: Sequence[str]) -> bool | None:
    """ColorJitter.fused, of one that changes these."""
    if not pixels.is_tensor:
        return None
    if pixels.channels != 3:
        raise ValueError(_OTHERWISE)
    for name in names:
        _fused(api, pixels, name)
    return value("torch.add") is True


# ---- what they do to PIL images, and to tensors of bytes

_OTHERWISE = "its arithmetic on tensors differs from that on PIL images"
_OF_PILLOW: dict[str, bytes | Callable[[float], bytes]] = {
    "autocontrast": _steps.AUTOCONTRAST, "equalize": _steps.EQUALIZE, "contrast": _steps.contrast,
    "saturation": _steps.saturation, "sharpness": _steps.sharpness,
}  # fmt: skip


def _colour(api: T.Api, pixels: Pixels, name: str, factor: float = 0.0) -> bytes:
    """The step for a colour by its name in _steps.torch_colour; empty if it does nothing."""
    if not pixels.is_tensor:
        step = _OF_PILLOW[name]
        return step if isinstance(step, bytes) else step(factor)
    fused = _fused(api, pixels, name)
    return b"" if name == "saturation" and pixels.channels == 1 else _steps.torch_colour(name, fused, factor)


def _fused(api: T.Api, pixels: Pixels, name: str) -> bool:
    """Whether torch adds a multiple in one rounding. Raises ValueError where v2's tensors of bytes are not known."""
    if api != "v2":
        raise ValueError(_OTHERWISE)
    size = pixels.size or ((2, 2) if name == "grey" else (0, 0))  # grey is the same of any size
    most = _steps.TORCH_MEAN_MAX
    if min(size) < 2 or (name == "contrast" and size[0] * size[1] > most):
        raise ValueError(f"the tensor's size is not known before, or has an edge of 1 or more than {most} pixels")
    require("transform", "torch.add", f"torchvision.tensor.{name}")
    return value("torch.add") is True


def _looked_up(api: T.Api, pixels: Pixels, name: str, *arguments: Any) -> bytes:
    """A function of torchvision's that changes each byte by itself."""
    if not pixels.is_tensor:
        from torchvision.transforms import _functional_pil as functional
    elif api == "v2":
        from torchvision.transforms.v2 import functional
    else:
        raise ValueError(_OTHERWISE)
    return _table(getattr(functional, name)(_ramp(pixels), *arguments))


def _ramp(pixels: Pixels) -> Any:
    """An image that has every byte in every channel."""
    if not pixels.is_tensor:
        return _pillow_steps().RAMPS[_mode(pixels.channels)]
    import torch

    return torch.arange(256, dtype=torch.uint8, device="cpu").expand(pixels.channels, 1, 256).clone()


def _table(ramp: Any) -> bytes:
    """The step for what has become of it."""
    by_channel = ramp.numpy().tobytes() if hasattr(ramp, "numpy") else _pillow_steps().by_channel(ramp)
    return _steps.lookup(by_channel)


def grayscale(api: T.Api, pixels: Pixels, channels: int) -> T.Geometry | None:
    """Luma in so many channels."""
    if channels == pixels.channels == 1:
        return None
    return TensorGrayscale(channels, _fused(api, pixels, "grey")) if pixels.is_tensor else T.Grayscale(channels)


def _at_random(step: Callable[[T.Api, Any, Pixels], bytes]) -> _Reader:
    def lower(api: T.Api, each: Any, pixels: Pixels) -> T.Geometry:
        chance = below_item if api == "v1" else below
        return RandomApply(chance(each.p), (Steps(step(api, each, pixels)),))

    return lower


def _random_grayscale(api: T.Api, each: Any, pixels: Pixels) -> T.Geometry:
    step = grayscale(api, pixels, pixels.channels)
    return RandomApply(below(each.p), () if step is None else (step,))


_SIGMA_MIN = 1e-3  # sigmaMin in core/plan


def _gaussian_blur(api: T.Api, each: Any, pixels: Pixels) -> T.Geometry:
    counts, (low, high) = tuple(each.kernel_size), each.sigma
    if len(counts) != 2 or not all(type(n) is int and 0 < n <= _steps.TAPS_MAX and n % 2 for n in counts):
        raise ValueError(f"kernel_size is {each.kernel_size!r}; up to {_steps.TAPS_MAX} is known")
    if not all(type(sigma) in (int, float) and _SIGMA_MIN <= sigma <= T.SCALE_MAX for sigma in (low, high)):
        raise ValueError(f"sigma is {each.sigma!r}")
    if pixels.size is None or counts[0] // 2 >= pixels.size[1] or counts[1] // 2 >= pixels.size[0]:
        raise ValueError("the size of its images is not known before they are opened, or smaller than its kernel")
    if not convolves_plainly() or (pixels.channels == 1 and min(counts) <= 3):
        raise ValueError("torch convolves by sums of another order")
    require("transform", f"torchvision.weights.{api}")
    return blur(api, value(f"torchvision.weights.{api}"), counts, (float(low), float(high)))


def blur(api: T.Api, way: tuple[str, int], counts: tuple[int, int], sigma: Range) -> GaussianBlur:
    """With so many weights across and down, made in a way of goloader.selfcheck's."""
    import torch

    def places(count: int) -> tuple[float, ...]:
        end = (count - 1) * 0.5 if api == "v1" else (count - 1) / (2.0 * math.sqrt(2.0))
        return tuple(torch.linspace(-end, end, steps=count, dtype=torch.float32, device="cpu").tolist())

    return GaussianBlur(api, way[0] == "mkl", way[1], places(counts[0]), places(counts[1]), sigma)


def _mode(channels: int) -> str:
    return "RGB" if channels == 3 else "L"


def _factor(value: Any) -> float:
    if type(value) not in (int, float) or not abs(value) < _FACTOR_MAX:
        raise TypeError(f"a factor is {value!r}")
    return float(value)


# Policies

_Reader = Callable[[T.Api, Any, Pixels], T.Geometry]
_remembered_steps: OrderedDict[Any, T.Geometry] = OrderedDict()
_REMEMBERED_MAX = 32


def arguments_of(each: Any) -> dict[str, Any]:
    """A transform's own attributes."""
    return {name: value for name, value in vars(each).items() if not name.startswith("_") and name != "training"}


def _remembered(lower: Callable[..., T.Geometry], api: T.Api, each: Any, pixels: Pixels) -> T.Geometry:
    """A plan is checked again at each epoch, and hundreds of levels take a while."""
    if pixels.size is None:
        raise ValueError("the size of its images is not known before they are opened")
    if api == "v2" and isinstance(each.fill, dict):
        raise TypeError(f"fill is {each.fill!r}")
    key = (type(each), repr(arguments_of(each)), pixels, multiplies_plainly())
    made = _remembered_steps.get(key)
    if made is None:
        made = _remembered_steps[key] = lower(api, each, _Operations(api, each, pixels))
        if len(_remembered_steps) > _REMEMBERED_MAX:
            _remembered_steps.popitem(last=False)
    return made


class _Operations:
    """What torchvision's operations do to images of one size."""

    def __init__(self, api: T.Api, each: Any, pixels: Pixels) -> None:
        assert pixels.size is not None
        self.api, self.each, self.pixels = api, each, pixels
        self.height, self.width = pixels.size

    def space(self, *bins: int) -> dict[str, tuple[Any, bool]]:
        """Operation -> magnitudes (a tensor; None if it has none), whether its sign is random."""
        if self.api == "v2":
            space = self.each._AUGMENTATION_SPACE
            return {name: (make(*bins, self.height, self.width), signed) for name, (make, signed) in space.items()}
        size = () if type(self.each).__name__ == "TrivialAugmentWide" else ((self.height, self.width),)
        made = self.each._augmentation_space(*bins, *size)
        return {name: (drawn if drawn.ndim else None, signed) for name, (drawn, signed) in made.items()}

    def steps(self, name: str, magnitude: float) -> bytes:
        """The steps of an operation, in wire form."""
        if name == "Identity":
            return b""
        if name in ("Brightness", "Posterize", "Solarize", "Invert"):
            return _table(self._apply(_ramp(self.pixels), name, magnitude))
        if name in _COLOURS_OF_POLICIES:
            return _colour(self.api, self.pixels, _COLOURS_OF_POLICIES[name], 1.0 + magnitude)
        if name not in ("ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate"):
            raise ValueError(f"{name} is not known")
        if self.pixels.is_tensor:
            if self.api != "v2":
                raise ValueError(_OTHERWISE)
            return warps.noted(lambda image: self._apply(image, name, magnitude), self.pixels, self.each)
        moved = self._apply(_noted(_mode(self.pixels.channels), (self.width, self.height)), name, magnitude)
        if moved.size != (self.width, self.height):
            raise ValueError(f"{name} changes the size of images")
        return bytes(moved.steps)

    def _apply(self, image: Any, name: str, magnitude: float) -> Any:
        each = self.each
        if self.api == "v2":
            options = {"interpolation": each.interpolation, "fill": each._fill}
            return each._apply_image_or_video_transform(image, name, magnitude, **options)
        from torchvision.transforms import autoaugment

        return autoaugment._apply_op(image, name, magnitude, interpolation=each.interpolation, fill=each.fill)

    def both(self, name: str, magnitude: float, signed: bool) -> tuple[bytes, bytes]:
        """The steps with both signs; the second are empty if none is drawn."""
        return self.steps(name, magnitude), self.steps(name, -magnitude) if signed else b""


_COLOURS_OF_POLICIES = {
    "Color": "saturation", "Contrast": "contrast", "Sharpness": "sharpness", "AutoContrast": "autocontrast",
    "Equalize": "equalize",
}  # fmt: skip


def _noted(mode: str, size: tuple[int, int]) -> Any:
    """An image without pixels that notes what is done to it."""
    from PIL import Image

    class Noted(Image.Image):
        def __init__(self, size: tuple[int, int], made: bytes) -> None:
            super().__init__()
            self._size, self.steps = size, made
            self.__dict__.update(_mode=mode, mode=mode)  # the latter is Pillow's up to 10.0

        def copy(self) -> Any:
            return self

        def transpose(self, method: Any) -> Any:
            done, turns = _pillow_steps().TRANSPOSES[int(method)]
            return Noted(self.size[::-1] if turns else self.size, self.steps + b"".join(done))

        def transform(
            self, size: Any, method: Any, data: Any = None, resample: int = 0, fill: int = 1, fillcolor: Any = None
        ) -> Any:
            step = _pillow_steps().transform_of(mode, size, method, data, resample, fillcolor)
            if step is None:
                raise ValueError(
                    f"Image.transform({size}, {method}, {data}, {resample}, fillcolor={fillcolor}) is not known"
                )
            return Noted(tuple(size), self.steps + step)

    return Noted(size, b"")


def _rand_augment(api: T.Api, each: Any, operations: _Operations) -> T.Geometry:
    if type(each.num_ops) is not int:
        raise TypeError(f"num_ops is {each.num_ops!r}")
    choices = []
    for name, (drawn, signed) in operations.space(each.num_magnitude_bins).items():
        magnitude = 0.0 if drawn is None else float(drawn[each.magnitude])
        up, down = operations.both(name, magnitude, signed)
        choices.append(Choice(False, (up,), (down,) if signed else ()))
    return Augment(each.num_ops, tuple(choices), api)


def _trivial_augment(api: T.Api, each: Any, operations: _Operations) -> T.Geometry:
    choices = []
    for name, (drawn, signed) in operations.space(each.num_magnitude_bins).items():
        magnitudes = [0.0] if drawn is None else [float(value) for value in drawn]
        pairs: Sequence[tuple[bytes, bytes]] = [operations.both(name, value, signed) for value in magnitudes]
        ups, downs = tuple(up for up, _ in pairs), tuple(down for _, down in pairs)
        choices.append(Choice(drawn is not None, ups, downs if signed else ()))
    return Augment(1, tuple(choices), api)


def _auto_augment(api: T.Api, each: Any, operations: _Operations) -> T.Geometry:
    space = operations.space(10)
    policies = []
    for policy in each.policies if api == "v1" else each._policies:
        halves = []
        for name, p, level in policy:
            drawn, signed = space[name]
            if (drawn is None) != (level is None):
                raise ValueError(f"{name} at level {level!r} is not known")
            up, down = operations.both(name, 0.0 if drawn is None else float(drawn[level]), signed)
            halves.append(PolicyStep(up_to(p), signed, up, down))
        policies.append(tuple(halves))
    return AutoAugment(tuple(policies), api)


READERS: dict[str, _Reader] = {
    "ColorJitter": _color_jitter,
    "RandomGrayscale": _random_grayscale,
    "RandomInvert": _at_random(lambda api, each, pixels: _looked_up(api, pixels, "invert")),
    "RandomPosterize": _at_random(lambda api, each, pixels: _looked_up(api, pixels, "posterize", each.bits)),
    "RandomSolarize": _at_random(lambda api, each, pixels: _looked_up(api, pixels, "solarize", each.threshold)),
    "RandomAutocontrast": _at_random(lambda api, each, pixels: _colour(api, pixels, "autocontrast")),
    "RandomEqualize": _at_random(lambda api, each, pixels: _colour(api, pixels, "equalize")),
    "RandomAdjustSharpness": _at_random(
        lambda api, each, pixels: _colour(api, pixels, "sharpness", _factor(each.sharpness_factor))
    ),
    "GaussianBlur": _gaussian_blur,
    "RandAugment": partial(_remembered, _rand_augment),
    "TrivialAugmentWide": partial(_remembered, _trivial_augment),
    "AutoAugment": partial(_remembered, _auto_augment),
}
READERS_OF_V2: dict[str, _Reader] = {
    "RandomPhotometricDistort": _photometric_distort,
    "RandomChannelPermutation": lambda api, each, pixels: ChannelPermutation(),
}
