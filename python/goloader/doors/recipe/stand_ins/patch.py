"""Rectangles of an image whose numbers are not those of the rest: something was written there, or a mask laid on.

A patch is a rectangle and the table of what bytes become in it. Numbers that do not depend on the bytes are such a
table too, with equal entries.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....plan.transforms.erasing import PATCHES_MAX
from .tail import Tail


class Rectangle(NamedTuple):
    """Of an image, in pixels."""

    left: int
    top: int
    width: int
    height: int

    def holds(self, other: Rectangle) -> bool:
        """Whether all of another is inside."""
        return (
            self.left <= other.left
            and self.top <= other.top
            and other.left + other.width <= self.left + self.width
            and other.top + other.height <= self.top + self.height
        )

    def common(self, other: Rectangle) -> Rectangle | None:
        left, top = max(self.left, other.left), max(self.top, other.top)
        right = min(self.left + self.width, other.left + other.width)
        bottom = min(self.top + self.height, other.top + other.height)
        return Rectangle(left, top, right - left, bottom - top) if left < right and top < bottom else None


class Patch(NamedTuple):
    """A rectangle, and what bytes become there."""

    place: Rectangle
    tail: Tail


Patches = tuple[Patch, ...]  # of an image; where they overlap the last counts


def shown(
    patches: Patches, window: Rectangle, horizontally: bool, vertically: bool, channels: tuple[int, ...] | None
) -> Patches:
    """What a view shows of patches: a window, mirrored, of channels in an order of their own (None: as they are)."""
    made = []
    for place, tail in patches:
        common = place.common(window)
        if common is None:
            continue
        left, top, width, height = common
        left = window.left + window.width - left - width if horizontally else left - window.left
        top = window.top + window.height - top - height if vertically else top - window.top
        made.append(Patch(Rectangle(left, top, width, height), tail if channels is None else tail.pick(channels)))
    return tuple(made)


def transposed(patches: Patches) -> Patches:
    """Those of an image whose rows and columns are exchanged."""
    return tuple(Patch(Rectangle(top, left, height, width), tail) for (left, top, width, height), tail in patches)


def laid(patches: Patches, place: Rectangle, tail: Tail, within: Patches) -> Patches | None:
    """Patches with a new one on them, in which are others, counted from its corner; None if the core takes no more."""
    made = [each for each in patches if not place.holds(each.place)]
    made.append(Patch(place, tail))
    for (left, top, width, height), other in within:
        made.append(Patch(Rectangle(place.left + left, place.top + top, width, height), other))
    return tuple(made) if len(made) <= PATCHES_MAX else None


class Cut(NamedTuple):
    """An array that holds one number but for a rectangle of another.

    outside, inside  an item each, as arrays of one
    place            the rectangle
    """

    outside: Any
    inside: Any
    place: Rectangle


def cut(mask: Any) -> Cut | None:
    """What a real array [height, width] holds, if that is it; bits are compared, not numbers."""
    if mask.ndim != 2 or mask.size < 2 or mask.dtype.hasobject or mask.itemsize not in (1, 2, 4, 8):
        return None
    bits = np.ascontiguousarray(mask).view(f"u{mask.itemsize}")
    differs = bits != bits[0, 0]
    for inner in (differs, ~differs):
        rows, columns = inner.any(1), inner.any(0)
        if not rows.any():
            return None
        top, left = int(rows.argmax()), int(columns.argmax())
        bottom, right = len(rows) - int(rows[::-1].argmax()), len(columns) - int(columns[::-1].argmax())
        if not inner[top:bottom, left:right].all():
            continue
        outer = ~inner
        if not outer.any():
            return None
        first = np.unravel_index(int(outer.argmax()), outer.shape)
        if (bits[outer] == bits[first]).all() and (bits[inner] == bits[top, left]).all():
            place = Rectangle(left, top, right - left, bottom - top)
            return Cut(mask[first].reshape(1), mask[top, left].reshape(1), place)
    return None
