"""How an array or tensor lies in a block of memory: extents, and how far apart items are; and what changes only that.

Counted in items of the block, as torch does; numpy counts strides in bytes.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

from ...arrays.file_array import contiguous


class Layout(NamedTuple):
    """A view of a block.

    shape    extents
    strides  items between neighbours along each extent; numpy's may be negative
    offset   of the first item, from the block's first
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    def transposed(self, order: Any = None) -> Layout | None:
        """Extents in another order, by their numbers; None reverses them. None if that is no order of them."""
        ndim = len(self.shape)
        order = range(ndim)[::-1] if order is None else order
        try:
            places = [place + ndim if place < 0 else place for place in map(operator.index, order)]
        except TypeError:
            return None
        if sorted(places) != list(range(ndim)):
            return None
        return Layout(tuple(self.shape[p] for p in places), tuple(self.strides[p] for p in places), self.offset)

    def swapped(self, one: Any, other: Any) -> Layout | None:
        """Two extents exchanged."""
        order = list(range(len(self.shape)))
        try:
            order[one], order[other] = order[other], order[one]
        except (TypeError, IndexError):
            return None
        return self.transposed(order)

    def moved(self, source: Any, target: Any) -> Layout | None:
        """One extent moved to another place."""
        order = list(range(len(self.shape)))
        try:
            place = order.pop(source)
            order.insert(target + len(self.shape) if target < 0 else target, place)
        except (TypeError, IndexError):
            return None
        return self.transposed(order) if type(target) is int and -len(order) <= target < len(order) else None

    def mirrored(self, *dims: int) -> Layout | None:
        """Backwards along extents."""
        strides, offset = list(self.strides), self.offset
        if not are_places(dims, len(strides)):
            return None
        for dim in dims:
            if self.shape[dim] == 0:
                return None
            offset += (self.shape[dim] - 1) * strides[dim]
            strides[dim] = -strides[dim]
        return Layout(self.shape, tuple(strides), offset)

    def inserted(self, dim: Any) -> Layout | None:
        """With an extent of 1 in front of extent `dim`."""
        ndim = len(self.shape)
        if type(dim) is not int or not -ndim - 1 <= dim <= ndim:
            return None
        at = dim + ndim + 1 if dim < 0 else dim
        stride = self.shape[at] * self.strides[at] if at < ndim else 1
        return Layout(
            (*self.shape[:at], 1, *self.shape[at:]), (*self.strides[:at], stride, *self.strides[at:]), self.offset
        )

    def squeezed(self, dims: tuple[Any, ...] | None = None) -> Layout | None:
        """Without extents of 1: all, or some, of which others than 1 are left alone."""
        ndim = len(self.shape)
        if dims is not None and not are_places(dims, ndim):
            return None
        places = set(range(ndim)) if dims is None else {dim % ndim for dim in dims}
        kept = [at for at in range(ndim) if at not in places or self.shape[at] != 1]
        return Layout(tuple(self.shape[at] for at in kept), tuple(self.strides[at] for at in kept), self.offset)

    def indexed(self, key: Any, numpy: bool = False) -> Layout | None:
        """What integers, slices, None and ... pick; None for other keys, for none of the items, and for errors.

        numpy  says that the stride of a new extent is 0, torch what would follow it in memory
        """
        keys = key if type(key) is tuple else (key,)
        named = sum(1 for each in keys if each is not None and each is not Ellipsis)
        missing = len(self.shape) - named
        if missing < 0 or sum(1 for each in keys if each is Ellipsis) > 1:
            return None
        shape: list[int] = []
        strides: list[int] = []
        offset, at = self.offset, 0
        for each in keys:
            if each is None:
                shape.append(1)
                beyond = self.shape[at] * self.strides[at] if at < len(self.shape) else 1
                strides.append(0 if numpy else beyond)
            elif each is Ellipsis:
                shape += self.shape[at : at + missing]
                strides += self.strides[at : at + missing]
                at += missing
            elif type(each) is slice:
                try:
                    start, stop, step = each.indices(self.shape[at])
                except (TypeError, ValueError):
                    return None
                length = len(range(start, stop, step))
                if length == 0:
                    return None
                offset += start * self.strides[at]
                shape.append(length)
                strides.append(step * self.strides[at])
                at += 1
            elif type(each) is int:
                length = self.shape[at]
                if not -length <= each < length:
                    return None
                offset += each % length * self.strides[at]
                at += 1
            else:
                return None
        shape += self.shape[at:]
        strides += self.strides[at:]
        return Layout(tuple(shape), tuple(strides), offset)

    @property
    def is_contiguous(self) -> bool:
        """Whether items follow each other, the last extent fastest."""
        step = 1
        for length, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if length != 1:
                if stride != step:
                    return False
                step *= length
        return True


def are_places(dims: tuple[Any, ...], ndim: int) -> bool:
    """Whether these are numbers of as many extents."""
    return all(type(dim) is int and -ndim <= dim < ndim for dim in dims) and len({dim % ndim for dim in dims}) == len(
        dims
    )


def dense(shape: tuple[int, ...]) -> Layout:
    """A block of its own, whose last extent is the fastest."""
    return Layout(shape, contiguous(shape))
