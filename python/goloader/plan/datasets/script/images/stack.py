"""Several images of a sample in one tensor: torch.stack or torch.cat of them, as clips of a video are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from ....bytecode import UnreadableError


@dataclass(frozen=True)
class Stack:
    """Images in one tensor.

    images  by their numbers among the fields
    order   of the dimensions: 0 is that of the images, the others are an image's
    joins   they are put one behind the other in their first dimension, of channels
    moved   the tensor is a view of one in which its dimensions have another order
    """

    images: tuple[int, ...]
    order: tuple[int, ...]
    joins: bool = False
    moved: bool = False

    @classmethod
    def of(cls, images: Sequence[int], made: Sequence[Any], dim: Any, *, joins: bool) -> Stack:
        """torch.stack(made, dim), or torch.cat if it joins. Raises UnreadableError for what is not known."""
        first = made[0]
        kinds = {(type(each), each.shape, each.dtype) for each in made}
        if kinds != {(torch.Tensor, first.shape, first.dtype)}:
            raise UnreadableError("puts images of several kinds together")
        dimensions = first.ndim + 1
        if type(dim) is not int or not -dimensions <= dim < dimensions:
            raise UnreadableError(f"puts images together by dimension {dim!r}")
        if joins and (dim % first.ndim or first.ndim != 3):
            raise UnreadableError("puts images together otherwise than by channels")
        others = list(range(1, dimensions))
        order = tuple(range(dimensions)) if joins else (*others[: dim % dimensions], 0, *others[dim % dimensions :])
        return cls(tuple(images), order, joins)._checked()

    def then(self, name: str, arguments: tuple[Any, ...]) -> Stack:
        """What Tensor.permute, transpose or contiguous makes of it. Raises UnreadableError."""
        order = list(self.order)
        dims = arguments[0] if len(arguments) == 1 and type(arguments[0]) in (list, tuple) else arguments
        if name == "contiguous" and not dims:
            return replace(self, moved=False)
        if self.joins or any(type(each) is not int or not -len(order) <= each < len(order) for each in dims):
            raise UnreadableError(f"moves dimensions by {name}")
        dims = [each % len(order) for each in dims]
        if name == "transpose" and len(dims) == 2:
            one, other = dims
            order[one], order[other] = order[other], order[one]
        elif name == "permute" and sorted(dims) == list(range(len(order))):
            order = [order[each] for each in dims]
        else:
            raise UnreadableError(f"moves dimensions by {name}")
        return replace(self, order=tuple(order), moved=True)._checked()

    def _checked(self) -> Stack:
        """Raises UnreadableError where torch.stack lays samples out in another way than dimension by dimension."""
        sizes = torch.empty([*range(2, len(self.order) + 2)])
        sample = sizes.permute(self.order)
        if not torch.stack([sample, sample]).is_contiguous():
            raise UnreadableError("puts images together in channels_last")
        return self

    def of_batch(self, fields: Sequence[Any]) -> torch.Tensor:
        """Of the fields [batch, ...] of a batch: [batch, ...], each image copied once."""
        first = fields[self.images[0]]
        batch, *image = first.shape
        sizes = [len(self.images), *image]
        made = first.new_empty((batch, *(sizes[each] for each in self.order)))
        if self.joins:
            apart = made
            made = made.view(batch, sizes[0] * sizes[1], *sizes[2:])
        else:
            apart = made.permute(0, *(1 + self.order.index(each) for each in range(len(self.order))))
        for place, number in enumerate(self.images):
            apart[:, place].copy_(fields[number])
        return made  # type: ignore[no-any-return]
