"""torchvision's RandomRotation and RandomAffine of tensors, lowered: torch samples them by a grid in float32. And what
its functions do to one tensor of bytes, noted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch.overrides import TorchFunctionMode

from ... import _steps
from ... import transforms as T
from ...adapters.torch import multiplies_plainly
from ...selfcheck import value
from ..needs import require

if TYPE_CHECKING:
    from .augments import Pixels


@dataclass(frozen=True)
class OfTensor(T.Geometry):
    """What a step for PIL images is for tensors.

    zeros  are outside, in place of the fill
    fused  what goloader.selfcheck says of torch.grid
    """

    random: ClassVar[bool] = True
    step: T.RandomRotation | T.RandomAffine
    api: T.Api
    zeros: bool
    fused: int

    @property
    def op(self) -> str:  # type: ignore[override]
        return "tensor_rotation" if isinstance(self.step, T.RandomRotation) else "tensor_affine"

    @property
    def passes(self) -> int:  # type: ignore[override]
        return self.step.passes

    def to_plan(self) -> dict[str, Any]:
        given = self.step.to_plan() | {"op": self.op, "api": self.api, "zeros": self.zeros}
        given.pop("expand", None)
        return given | {"fused": bool(self.fused & 1), "fused_grid": bool(self.fused & 2)}

    def needs(self) -> tuple[str, ...]:
        return "torch.uniform", "pillow.angles", "torch.grid", f"torchvision.tensor.affine.{self.api}"


def of_tensor(step: T.RandomRotation | T.RandomAffine, api: T.Api, each: Any, *, of_bytes: bool) -> OfTensor:
    """A transform's step, which is for PIL images, for tensors. Raises ValueError where it is not known."""
    fill = sampling(each, api)[1]
    if of_bytes and fill is not None:
        bytes_of(fill)
    if isinstance(step, T.RandomRotation) and step.expand:
        raise ValueError("how far a tensor expands is torchvision's to say")
    fused = value("torch.grid")
    if fused is None:
        raise ValueError("torch samples by a grid in another way here")
    return OfTensor(step, api, fill is None, fused)


class _NotedError(Exception):
    """The numbers of an affine transform, or how many quarter turns there are in its place."""


class _Noting(TorchFunctionMode):
    """Ends torchvision's affine or rotate of a tensor where it has made its matrix, or begins to turn."""

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        options = kwargs or {}
        if func is torch.tensor and isinstance(args[0], list) and len(args[0]) == 6:
            raise _NotedError(args[0])
        if func is torch.rot90:
            raise _NotedError(args[1] if len(args) > 1 else options["k"])
        return func(*args, **options)


def noted(move: Callable[[torch.Tensor], Any], pixels: Pixels, each: Any) -> bytes:
    """What affine or rotate does to tensors of bytes, in wire form; `each` is the policy that calls it, of v2.

    Raises ValueError where it is not known, and RefusalError where torch samples in another way.
    """
    assert pixels.size is not None
    image = torch.zeros(1, 1, 1, dtype=torch.uint8, device="cpu").expand(pixels.channels, *pixels.size)
    try:
        with _Noting():
            move(image)
    except _NotedError as found:
        (numbers,) = found.args
    else:
        return b""  # by an angle of 0
    if isinstance(numbers, int):
        return _steps.ROTATE_90 * (numbers % 4)
    require("transform", "torch.grid", "torchvision.tensor.affine.v2")
    bilinear, fill = sampling(each, "v2")
    return _steps.torch_transform(numbers, bilinear, value("torch.grid"), "v2", fill and bytes_of(fill))


def sampling(each: Any, api: T.Api) -> tuple[bool, list[Any] | None]:
    """Whether it is bilinear, and what is outside. Raises ValueError."""
    if not multiplies_plainly():
        raise ValueError("torch multiplies with fewer bits")
    name = getattr(each.interpolation, "value", each.interpolation)
    if name not in _BILINEAR:
        raise ValueError("torchvision turns tensors by the nearest neighbour or bilinear")
    fill = each.fill
    if api == "v2":
        if set(each._fill) != {"others"}:
            raise ValueError("its fill depends on the type of an image")
        fill = each._fill["others"]
    if fill is None:
        return _BILINEAR[name], None
    return _BILINEAR[name], list(fill) if isinstance(fill, Sequence) else [fill]


def bytes_of(fill: Sequence[Any]) -> list[int]:
    """A fill, as that of a tensor of bytes. Raises ValueError."""
    if any(number not in range(256) for number in fill):
        raise ValueError(f"its fill is no byte: {fill!r}")
    return [int(number) for number in fill]


_BILINEAR = {"nearest": False, 0: False, "bilinear": True, 2: True}
