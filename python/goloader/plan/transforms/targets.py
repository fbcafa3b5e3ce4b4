"""Transforms of samples whose target is an image as well: a mask, as datasets for segmentation have them.

A pair of files is lowered as two images. Either each has a transform of its own (transform and target_transform), and
draws for itself, the image first; or one transform of v2 takes both and draws once, so that the core draws the same
numbers for the target again. The target is what its file holds, one 8-bit plane: palette indices (mode P) or grey (L),
as a PIL image or, where torchvision's wrapper stands before the transforms, as a tv_tensors.Mask.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from ... import transforms as T
from ..refusal import TransformRefusal, granted
from .augments import Pixels
from .lowered import Lowered, Target
from .tables import Table, as_pil, run_tail
from .torchvision import Form, Operation, fill_of, lower, read

Kind = Literal["P", "L", "Mask"]  # what a target is: a PIL image of that mode, or a tv_tensors.Mask


def lower_apart(transform: Any, target_transform: Any, kind: Kind, mode: str) -> Lowered:
    """What two transforms make of an image, RGB, and its target. Raises RefusalError."""
    if target_transform is None and kind == "Mask":
        target_transform = torch.nn.Identity()
    image, target = _lowered(transform, Form(3)), _lowered(target_transform, _TargetForm(kind))
    return _paired(image, target, kind, mode, together=False)


def lower_together(transforms: Any, kind: Kind, mode: str) -> Lowered:
    """What a transform of v2 makes of an image, RGB, and its target. Raises RefusalError."""
    image, target = _lowered(transforms, _JointImageForm(kind)), _lowered(transforms, _JointTargetForm(kind))
    return _paired(image, target, kind, mode, together=True)


def _lowered(transform: Any, form: Form) -> Lowered:
    return granted(lower(transform, form))


def _paired(image: Lowered, target: Lowered, kind: Kind, mode: str, *, together: bool) -> Lowered:
    names = image.names
    if not together:
        names += tuple(f"of the target: {name}" for name in target.names)
    made = Target(target, mode, together, "decoded" if kind == "Mask" else "opened")
    return replace(image, target=made, names=names)


def _refused(each: Any, why: str, code: str = "MASK_TRANSFORM") -> TransformRefusal:
    return TransformRefusal(type(each).__name__, why, code)


# What is known of masks.
_MASK_STEPS = (
    T.Resize,
    T.CenterCrop,
    T.RandomCrop,
    T.RandomResizedCrop,
    T.RandomHorizontalFlip,
    T.RandomVerticalFlip,
    T.Pad,
)


class _TargetForm(Form):
    """A target by itself."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(1)
        self.kind = kind
        self.is_tensor = kind == "Mask"

    def key(self) -> Hashable:
        return type(self), self.kind

    def step(self, operation: Operation, each: Any, channels: int) -> T.Geometry | None:
        step = read(operation, self._adapted(each), Pixels(channels))
        if step is not None and not isinstance(step, _MASK_STEPS):
            if isinstance(step, T.Grayscale) and self.kind != "P":
                return step if self.kind == "L" else None  # what is done to colours leaves masks alone
            raise _refused(step, f"goloader does not know what it does to a {self.kind} target")
        if isinstance(step, T.Resized) and self.kind != "L":
            # Pillow resizes a palette's indices by no other filter, and torch has a nearest neighbour of its own.
            return replace(step, interpolation="nearest" if self.kind == "P" else T.TORCH_NEAREST)
        return step

    def step_of_tensor(self, operation: Operation, each: Any, tail: list[Any], pixels: Pixels) -> T.Geometry | None:
        # Behind ToImage alone v2 still knows what is an image and what a mask.
        if self.kind != "Mask" or any(type(each) is not _v2().ToImage for each in tail):
            raise _refused(each, "goloader does not know what it does to a tensor target")
        return self.step(operation, each, pixels.channels)

    def _adapted(self, each: Any) -> Any:
        """A transform of geometry with the attributes that are those for such targets."""
        fills: dict[Any, Any] = getattr(each, "_fill", {})
        if self.kind == "Mask":
            if not isinstance(each, _v2().Transform):
                raise _refused(each, "torchvision's v1 has no masks")
            exact = "nearest-exact", sys.modules["torchvision.transforms.functional"].InterpolationMode.NEAREST_EXACT
            if getattr(each, "interpolation", None) in exact:
                raise _refused(each, "nearest-exact is not known for masks")
            fill = fill_of(each, _mask()) if fills else 0
            if type(fill) in (list, tuple):
                raise _refused(each, f"its fill is {fill!r}")
            return SimpleNamespace(**{**vars(each), "_fill": {"others": fill}})
        if self.kind == "P" and type(each).__name__ in ("Grayscale", "RGB"):
            raise _refused(each, "palette indices have no colours of their own")
        if set(fills) - {"others"}:
            # torchvision looks a PIL image's own class up, which is another as long as it is a file's.
            raise _refused(each, "its fill depends on the type of an image")
        return each

    def make(self, pixels: NDArray[np.uint8]) -> Any:
        """The target of pixels, [height, width, 1]."""
        if self.kind == "Mask":
            return _mask()(torch.from_numpy(pixels.transpose(2, 0, 1).copy()))
        image = as_pil(pixels)
        if self.kind == "P":
            image.putpalette(bytes(range(256)) * 3)
        return image

    def table(self, tail: Sequence[Any], channels: int, names: str, key: str) -> Table:
        return run_tail(tail, channels, names, self.make, key)


class _Joint(_TargetForm):
    """One of an image and its target, which a transform takes together."""

    place: int

    joint = True

    def check(self, each: Any, geometry: bool) -> None:
        if not isinstance(each, _v2().Transform):
            raise _refused(each, "only torchvision's v2 takes image and target together", "TRANSFORM_JOINT")

    def table(self, tail: Sequence[Any], channels: int, names: str, key: str) -> Table:
        def both(each: Any) -> Callable[[Any], Any]:
            return lambda pair: each(*pair)

        def begin(pixels: NDArray[np.uint8]) -> Any:
            other = np.zeros((*pixels.shape[:2], 1 if self.place == 0 else 3), np.uint8)
            image, target = (pixels, other) if self.place == 0 else (other, pixels)
            return as_pil(image), self.make(target)

        return run_tail([*map(both, tail), lambda pair: pair[self.place]], channels, names, begin, key)


class _JointTargetForm(_Joint):
    place = 1


class _JointImageForm(_Joint):
    place = 0

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind)
        self.channels, self.is_tensor = 3, False

    def step(self, operation: Operation, each: Any, channels: int) -> T.Geometry | None:
        return Form.step(self, operation, each, channels)

    def step_of_tensor(self, operation: Operation, each: Any, tail: list[Any], pixels: Pixels) -> T.Geometry | None:
        return Form.step_of_tensor(self, operation, each, tail, pixels)


def _v2() -> Any:
    return sys.modules.get("torchvision.transforms.v2", SimpleNamespace(Transform=()))


def _mask() -> Any:
    return sys.modules["torchvision.tv_tensors"].Mask
