"""A transform as the core runs it: geometry steps, then one look-up table; and the table of torch-less tails.

Whatever a pipeline does after it went from image to array is elementwise on bytes, so it is a function of 256 values
for each channel: a table, made once by the very code it replaces.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ... import transforms as T
from ...arrays.file_array import DTYPES
from ..refusal import RefusalError, TransformRefusal

# Output dtypes (core/tensor) by torch's names, and their bytes an element.
ITEMSIZES = {
    name: DTYPES[name].itemsize
    for name in ("bool", "uint8", "int8", "int16", "float16", "bfloat16", "int32", "float32", "int64", "float64")
}

Read = Literal["opened", "decoded", "unread"]

VERSION = 1  # core/plan.Version
PASSES_MAX = 32  # GL_PASSES_MAX in core/op/op.h


@dataclass(frozen=True)
class Lowered:
    """A transform, ready for the plan.

    steps       geometry, in order
    dtype       of the output, a key of ITEMSIZES
    channels    of the output, 1 or 3
    table       [channels, 256] items of dtype, little endian: what each byte becomes;
                then the same for each RandomErasing
    size        (height, width) of the output; None if it depends on the image
    names       the user's objects in order, for explain()
    notes       what explain() says besides
    tensor      the type of one sample on torch's path: "Tensor" or "Image" (tv_tensors); batches are Tensors
    contiguous  one sample is contiguous on torch's path; else it has an image's order of bytes (batches never have)
    pixel       strides of one sample of a single pixel on torch's path
    target      what becomes of the sample's target; None for a label
    """

    steps: tuple[T.Geometry, ...]
    dtype: str
    channels: int
    table: bytes
    size: T.Size | None
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    tensor: str = "Tensor"
    contiguous: bool = True
    pixel: tuple[int, ...] = (1, 1, 1)
    target: Target | None = None

    @property
    def random(self) -> bool:
        """True if a step draws random numbers."""
        return any(step.random for step in self.steps) or (self.target is not None and self.target.lowered.random)

    def to_plan(self, count: int) -> dict[str, Any]:
        """The JSON of one part of `count` samples."""
        part = {"count": count, **self._work()}
        if self.target is not None:
            part["target"] = {
                "mode": self.target.mode,
                "draws": "together" if self.target.together else "apart",
                "read": self.target.read,
                **self.target.lowered._work(),
            }
        return part

    def _work(self) -> dict[str, Any]:
        return {
            "transforms": [step.to_plan() for step in self.steps],
            "table": base64.b64encode(self.table).decode("ascii"),
        }


@dataclass(frozen=True)
class Target:
    """What becomes of a sample's target, if that is an image as well: a mask, or a second photo.

    lowered   its own transform
    mode      Pillow's, of the file: "P" (palette indices) or "L"; "RGB" for any file, made that
    together  its transform is the image's, which draws once for both
    read      how much of it is read before anything is drawn for the image: "opened", "decoded", or "unread"
    """

    lowered: Lowered
    mode: str
    together: bool
    read: Read


def walk(steps: Iterable[T.Geometry], channels: int = 3, size: T.Size | None = None) -> tuple[int, T.Size | None]:
    """Channels and size after `steps` on an image of a size, or of any. Raises RefusalError for too many passes."""
    passes = 0
    for step in steps:
        channels, size = step.channels_after(channels), step.size_after(size)
        passes += step.passes
    if passes > PASSES_MAX:
        raise TransformRefusal(f"{passes} passes", f"an image may take at most {PASSES_MAX} passes", "TRANSFORM_LIMIT")
    return channels, size


def lower_neutral(transforms: Sequence[T.Geometry | T.ToArray | T.Normalize]) -> Lowered:
    """Lower goloader's own transforms. Raises TypeError or ValueError for a list that makes no sense."""
    steps: list[T.Geometry] = []
    tail: list[T.ToArray | T.Normalize] = []
    for transform in transforms:
        if isinstance(transform, T.Geometry):
            if tail:
                raise ValueError(f"{transform} comes after {tail[-1]}: geometry works on images, so it comes first")
            steps.append(transform)
        elif isinstance(transform, T.ToArray):
            if tail:
                raise ValueError(f"{transform} comes after {tail[-1]}: there is one ToArray, before any Normalize")
            tail.append(transform)
        elif isinstance(transform, T.Normalize):
            if not tail:
                raise ValueError(f"{transform} needs a ToArray before it")
            tail.append(transform)
        else:
            raise TypeError(f"goloader.transforms has no {type(transform).__name__}: {transform!r}")
    try:
        channels, size = walk(steps)
    except RefusalError as refused:
        raise ValueError(str(refused)) from None
    table = _table(tail, channels)
    if table.shape[0] != channels:
        steps.append(T.Grayscale(3))
    return Lowered(
        steps=tuple(steps),
        dtype=table.dtype.name,
        channels=table.shape[0],
        table=np.ascontiguousarray(table).astype(table.dtype.newbyteorder("<")).tobytes(),
        size=size,
        names=tuple(map(str, transforms)),
    )


def _table(tail: Sequence[T.ToArray | T.Normalize], channels: int) -> NDArray[Any]:
    """[channels, 256]: the tail on every byte, rounded at each step as torch rounds it."""
    values: NDArray[Any] = np.tile(np.arange(256, dtype=np.uint8), (channels, 1))
    for transform in tail:
        if isinstance(transform, T.ToArray):
            values = values.astype(transform.dtype)
            if transform.scale and values.dtype.kind == "f":
                values = values / values.dtype.type(255)
        else:
            if values.dtype.kind != "f":
                raise ValueError(f"{transform} needs floats, but ToArray makes {values.dtype.name}")
            mean = np.array(transform.mean, values.dtype)[:, None]
            std = np.array(transform.std, values.dtype)[:, None]
            if not std.all():
                raise ValueError(f"std evaluated to zero after conversion to {values.dtype.name}")
            with np.errstate(all="ignore"):  # infinities and NaNs are what torch makes too, silently
                values = (values - mean) / std
    return values
