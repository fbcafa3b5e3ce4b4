"""v2's transforms that change an image's size at random, lowered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ... import transforms as T


@dataclass(frozen=True)
class _Resize(T.Geometry):
    """One that draws the size to which it resizes an image."""

    random: ClassVar[bool] = True
    interpolation: str | int

    def needs(self) -> tuple[str, ...]:
        return "torch.rand", "torch.randint", *T.Resize(1, self.interpolation).needs()

    def size_after(self, size: T.Size | None) -> T.Size | None:
        return None

    @property
    def least(self) -> int:
        """An edge that it makes is at least as long; 0 if it may be of any length."""
        return 0


@dataclass(frozen=True)
class RandomResize(_Resize):
    """The shorter edge becomes one of sizes[0] ... sizes[1] - 1."""

    op: ClassVar[str] = "random_resize"
    sizes: tuple[int, int]

    @property
    def least(self) -> int:
        return self.sizes[0]


@dataclass(frozen=True)
class RandomShortestSize(_Resize):
    """The shorter edge becomes one of `sizes`, or one less."""

    op: ClassVar[str] = "random_shortest_size"
    sizes: tuple[int, ...]
    max_size: int | None

    @property
    def least(self) -> int:
        return min(self.sizes) - 1 if self.max_size is None else 0


@dataclass(frozen=True)
class ScaleJitter(_Resize):
    """The largest size within `target` times a number in `scale`."""

    op: ClassVar[str] = "random_scale_jitter"
    target: tuple[int, int]
    scale: tuple[float, float]


@dataclass(frozen=True)
class RandomZoomOut(T.Geometry):
    """A border around an image that makes it so many times as large."""

    op: ClassVar[str] = "random_zoom_out"
    random: ClassVar[bool] = True
    p: float
    sides: tuple[float, float]
    fill: float | Sequence[float]

    def needs(self) -> tuple[str, ...]:
        return "torch.rand", "pillow.expand"

    def size_after(self, size: T.Size | None) -> T.Size | None:
        return None


def resize(each: Any, name: str, filter: str) -> T.Geometry:
    """One of the first three, by torchvision's name, of an object of it. Raises TypeError or ValueError."""
    if name == "RandomResize":
        low, high = edges = each.min_size, each.max_size
        if not _are_edges(edges) or low >= high:
            raise ValueError(f"sizes are {low!r} and {high!r}")
        return RandomResize(filter, (low, high))
    if name == "RandomShortestSize":
        sizes, longest = each.min_size, each.max_size
        if type(sizes) is not list or not sizes or not _are_edges([*sizes, *([] if longest is None else [longest])]):
            raise ValueError(f"sizes are {sizes!r}, and {longest!r} at most")
        return RandomShortestSize(filter, tuple(sizes), longest)
    target, (low, high) = each.target_size, each.scale_range
    if type(target) not in (list, tuple) or len(target) != 2 or not _are_edges(target):
        raise ValueError(f"target_size is {target!r}")
    return ScaleJitter(filter, tuple(target), _range(low, high, "scale_range", 0))


def zoom_out(each: Any, p: float, fill: float | Sequence[float]) -> T.Geometry:
    """What an object of v2's RandomZoomOut does with a probability. Raises TypeError or ValueError."""
    low, high = each.side_range
    return RandomZoomOut(p, _range(low, high, "side_range", 1), fill)


def of_tensor(step: T.Geometry) -> T.Geometry | None:
    """What one of these is for uint8 tensors; None where that is not known."""
    if isinstance(step, RandomZoomOut):
        return step
    name = f"torch_{getattr(step, 'interpolation', '')}"
    # torch fails where one pixel comes out.
    if not isinstance(step, _Resize) or name not in T.TENSOR_FILTERS or step.least < 2:
        return None
    return replace(step, interpolation=name)


def _are_edges(values: Sequence[Any]) -> bool:
    return all(type(each) is int and 1 <= each <= T.EDGE_MAX for each in values)


def _range(low: Any, high: Any, name: str, least: float) -> tuple[float, float]:
    if type(low) not in (int, float) or type(high) not in (int, float) or not least <= low <= high <= T.SCALE_MAX:
        raise ValueError(f"{name} is {low!r} to {high!r}")
    return float(low), float(high)
