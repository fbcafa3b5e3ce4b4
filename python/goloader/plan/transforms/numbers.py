"""torchvision's transforms of float32 tensors, lowered: those that are no function of each byte by itself, and what
comes behind them.

Up to the first of these all is one table (tables.py), by which bytes become numbers (ToNumbers); all behind it is done
to these, in order.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch

from ... import transforms as T
from ..refusal import TransformRefusal
from . import warps
from .augments import Pixels
from .erasing import RandomErasing
from .tables import Table


@dataclass(frozen=True)
class ToNumbers(T.Geometry):
    """Bytes become float32 by the table: all steps behind it are over these."""

    op: ClassVar[str] = "to_numbers"


@dataclass(frozen=True)
class Normalize(T.Geometry):
    """torchvision's, over numbers."""

    op: ClassVar[str] = "normalize"
    mean: tuple[float, ...]
    std: tuple[float, ...]

    def needs(self) -> tuple[str, ...]:
        return ("torch.elementwise",)


@dataclass(frozen=True)
class OverNumbers(T.Geometry):
    """What a step is over numbers: it fills with some of these, one for each channel."""

    op: ClassVar[str] = "over_numbers"
    step: T.Geometry
    filled: tuple[float, ...]

    @property
    def random(self) -> bool:  # type: ignore[override]
        return self.step.random

    @property
    def passes(self) -> int:  # type: ignore[override]
        return max(self.step.passes, 1)

    def to_plan(self) -> dict[str, Any]:
        return {"op": self.op, "transform": self.step.to_plan(), "fill": list(self.filled)}

    def needs(self) -> tuple[str, ...]:
        return self.step.needs()

    def size_after(self, size: T.Size | None) -> T.Size | None:
        return self.step.size_after(size)

    def channels_after(self, channels: int) -> int:
        return self.step.channels_after(channels)


Before = Callable[[], Table]  # makes the table of what comes before a transform


def step(api: T.Api, each: Any, of_images: T.Geometry, pixels: Pixels, before: Before | None) -> T.Geometry | None:
    """What a transform does to float32 tensors, of which `of_images` is what it does to PIL images.

    It is a step of bytes if it can be: where `before` is given, no step is over numbers yet. None where it is not known
    what it does. Raises ValueError.
    """
    black = (0.0,) * pixels.channels
    if isinstance(of_images, T.CenterCrop):
        is_black = before is not None and _bytes_of(black, before()) == [0] * pixels.channels
        return of_images if is_black else OverNumbers(of_images, black)
    if isinstance(of_images, T.RandomCrop | T.Pad):
        return _padded(api, each, of_images, pixels, before)
    if isinstance(of_images, T.RandomRotation | T.RandomAffine):
        made = warps.of_tensor(of_images, api, each, of_bytes=False)
        return OverNumbers(made, tuple(values_of(warps.sampling(each, api)[1], pixels.channels)))
    if isinstance(of_images, RandomErasing):
        fill = black if of_images.noise else tuple(values_of(each.value, pixels.channels))
        return OverNumbers(replace(of_images, table=0), fill)
    return None


def values_of(value: Any, channels: int) -> list[float]:
    """What a transform of torchvision's fills with, as float32 for each channel. Raises ValueError."""
    values = list(value) if isinstance(value, (list, tuple)) else [value or 0]
    if len(values) not in {1, channels} or not all(type(each) in (int, float) and abs(each) < 1e30 for each in values):
        raise ValueError(f"its fill is {value!r}")
    return [float(each) for each in np.broadcast_to(np.asarray(values, np.float32), channels)]


def _padded(api: T.Api, each: Any, step: T.RandomCrop | T.Pad, pixels: Pixels, before: Before | None) -> T.Geometry:
    if step.padding_mode != "constant":
        _check_mirrored(step, pixels.size)
        return step if before is not None else OverNumbers(step, (0.0,) * pixels.channels)
    if api == "v2" and set(each._fill) != {"others"}:
        raise ValueError("its fill depends on the type of an image")
    fill = each.fill if api == "v1" else each._fill["others"]
    if api == "v1" and type(fill) not in (int, float):
        raise ValueError(f"its fill is {fill!r}")
    values = values_of(fill, pixels.channels)
    bytes_ = None if before is None else _bytes_of(values, before())
    return OverNumbers(step, tuple(values)) if bytes_ is None else replace(step, fill=bytes_)


def _check_mirrored(step: T.RandomCrop | T.Pad, size: T.Size | None) -> None:
    """Raises ValueError where torch may fail: it mirrors no more than there is."""
    if step.padding_mode == "edge":
        return
    padding = T.borders(step.padding or 0)
    if size is None or max(padding) >= min(size) or (isinstance(step, T.RandomCrop) and step.pad_if_needed):
        raise ValueError(f"padding_mode={step.padding_mode!r} of tensors whose size is not known, or is smaller")


def _bytes_of(values: Sequence[float], table: Table) -> list[int] | None:
    """Bytes that become these numbers, to the bit."""
    found = []
    for channel, value in enumerate(values):
        row = table.data[1024 * channel :][:1024]
        places = [at for at in range(0, len(row), 4) if row[at : at + 4] == struct.pack("<f", value)]
        if not places:
            return None
        found.append(places[0] // 4)
    return found


def begin(name: str, table: Table, channels: int) -> ToNumbers:
    """The step behind which all are over what a table makes of bytes of so many channels. Raises RefusalError."""
    if table.dtype != "float32" or table.channels != channels:
        why = f"it is applied to a tensor of {table.dtype}, or of which Normalize has spread one channel"
        raise TransformRefusal(name, why, "TENSOR_GEOMETRY")
    return ToNumbers()


def converted(each: Any, channels: int) -> Normalize | None:
    """What one of torchvision's that change each number by itself does to float32 tensors; None for nothing. Raises
    ValueError."""
    if type(each).__name__ == "Normalize":
        mean, std = (np.asarray(numbers, np.float32).reshape(-1) for numbers in (each.mean, each.std))
        if {len(mean), len(std)} - {1, channels} or not np.isfinite([*mean, *std]).all() or not std.all():
            raise ValueError(f"it normalizes {channels} channels by {each.mean} and {each.std}")
        return Normalize(*(tuple(np.broadcast_to(numbers, channels).tolist()) for numbers in (mean, std)))
    probe = torch.tensor([-1.5, 0.0, 0.3, 1.0, 300.7], dtype=torch.float32, device="cpu").view(1, 1, 5)
    made = each(probe.expand(channels, 1, 5).clone())
    if made.dtype != torch.float32 or not torch.equal(made, probe.expand(channels, 1, 5)):
        raise ValueError("it changes numbers that are no function of bytes")
    return None
