"""What is known of the values that a collate_fn works with: fields of the samples, and what is made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from ...bytecode import UnreadableError


class Columns:
    """The columns of a batch, and what was made of them: each thing once, as the code makes it."""

    def __init__(self, columns: Sequence[Any]) -> None:
        self._columns = columns
        self._made: dict[int, Any] = {}

    def __getitem__(self, number: int) -> Any:
        return self._columns[number]

    def once(self, of: Any, make: Callable[[Columns], Any]) -> Any:
        if id(of) not in self._made:
            self._made[id(of)] = make(self)
        return self._made[id(of)]


@dataclass(frozen=True)
class Leaf:
    """A field of a sample: a tensor, an array, a list of ints, or a number.

    sample  of it, of the first sample
    front   items that are put in front of it, and
    back    behind it
    row     it has an extent of 1 in front
    listed  its column is a list of each sample's
    axis    of its extents, the one that differs from sample to sample; None if none does
    """

    number: int
    sample: Any = field(compare=False)
    listed: bool = field(default=False, compare=False)
    front: tuple[Any, ...] = ()
    back: tuple[Any, ...] = ()
    row: bool = False
    axis: int | None = None

    @property
    def is_tensor(self) -> bool:
        return type(self.sample) is torch.Tensor

    @property
    def dimensions(self) -> int:
        return 1 if self.is_list else self.sample.ndim if self.is_tensor or type(self.sample) is np.ndarray else 0

    @property
    def is_list(self) -> bool:
        return type(self.sample) is list

    def as_tensor(self) -> Leaf:
        """The same, of a list, in torch.tensor."""
        return replace(self, sample=torch.tensor(self.sample))


@dataclass(frozen=True)
class Same:
    """A tensor of one number for each sample, as long as a field.

    like  the field
    """

    like: Leaf
    number: int
    dtype: torch.dtype


@dataclass(frozen=True)
class Number:
    """A number of Python's for each sample.

    each  gives them of the columns
    of    the field whose extent along its axis it is, and the order of samples, if it is one
    most  the extent is no more than that
    """

    each: Callable[[Columns], list[Any]]
    of: tuple[Leaf, Made | None] | None = field(default=None, compare=False)
    most: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Scalar:
    """torch.tensor(number) for each sample."""

    number: Number
    options: tuple[tuple[str, Any], ...]


class Position:
    """The place of a sample in the batch."""


@dataclass(frozen=True)
class Picked:
    """The field of the sample that an order of the batch has at a position.

    order  numbers of samples; None: the field is that of one sample, whatever the position
    """

    leaf: Leaf
    order: Made | None


@dataclass(frozen=True)
class Head:
    """The first items of a field, or of a picked one, along its axis: so many, of those that it has."""

    of: Leaf | Picked
    count: Number


@dataclass(frozen=True)
class Place:
    """The number that an order of the batch has at a position."""

    order: Made


@dataclass(frozen=True)
class Shape:
    """The shape of a tensor, of a picked one, or of the first items of one."""

    of: Leaf | Picked | Head


@dataclass(frozen=True, eq=False)
class Parts:
    """A tuple, a list or a dict of values, or an iterator over them: object."""

    kind: type
    items: dict[Any, Any]


@dataclass(frozen=True, eq=False)
class Rows:
    """A value for each sample.

    kind  list, tuple, or object for an iterator
    """

    item: Any
    kind: type = list


@dataclass(frozen=True, eq=False)
class Made:
    """A value of the whole batch, and how it is made of the columns.

    rows   it is a tensor of one number for each sample; and
    order  these are the numbers of all samples, each once
    longest  it is the largest extent of that field
    """

    make: Callable[[Columns], Any]
    rows: bool = False
    order: bool = False
    longest: Leaf | None = None


@dataclass(frozen=True, eq=False)
class Fresh(Made):
    """A tensor that the code makes, and nobody else has.

    value  of all its items; None where they are set otherwise, or not yet
    fill   `make` does not set them
    dtype  of it
    """

    value: Any = None
    fill: bool = False
    dtype: torch.dtype = torch.float32

    def cast(self, dtype: torch.dtype) -> Fresh:
        """The same in another dtype, of a value that both have."""
        value = torch.tensor(self.value, dtype=self.dtype).to(dtype).item()
        if value != self.value:
            raise UnreadableError(f"makes {dtype} of {self.value}")
        return replace(self, make=lambda columns: self.make(columns).to(dtype), value=value, dtype=dtype)


@dataclass(frozen=True)
class Known:
    """What is the same for all batches."""

    value: Any


def leaves(sample: Any) -> Iterator[Leaf]:
    if isinstance(sample, Leaf):
        yield sample
    elif isinstance(sample, Parts):
        for each in sample.items.values():
            yield from leaves(each)
