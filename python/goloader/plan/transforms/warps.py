"""torchvision's RandomRotation and RandomAffine of uint8 tensors, lowered: torch samples them by a grid in float32."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ... import transforms as T
from ...selfcheck import value


@dataclass(frozen=True)
class OfTensor(T.Geometry):
    """What a step for PIL images is for uint8 tensors.

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


def of_tensor(step: T.RandomRotation | T.RandomAffine, api: T.Api, each: Any) -> OfTensor:
    """A transform's step, which is for PIL images, for uint8 tensors. Raises ValueError where it is not known."""
    if getattr(each.interpolation, "value", each.interpolation) not in ("nearest", "bilinear", 0, 2):
        raise ValueError("torchvision turns tensors by the nearest neighbour or bilinear")
    if isinstance(step, T.RandomRotation) and step.expand:
        raise ValueError("how far a tensor expands is torchvision's to say")
    fill = each.fill
    if api == "v2":
        if set(each._fill) != {"others"}:
            raise ValueError("its fill depends on the type of an image")
        fill = each._fill["others"]
    values = [0] if fill is None else list(fill) if isinstance(fill, Sequence) else [fill]
    if any(number not in range(256) for number in values):
        raise ValueError(f"its fill is no byte: {fill!r}")
    fused = value("torch.grid")
    if fused is None:
        raise ValueError("torch samples by a grid in another way here")
    return OfTensor(step, api, fill is None, fused)
