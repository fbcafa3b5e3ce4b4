"""How the rows of a field lie in a batch, and what torch's users get of it: core/collate's layouts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..arrays.table_column import made
from ..transforms import planned


class RowLayout:
    """A layout. Its tensors are those of the batch, in the core's order.

    kind  the core's name of it
    more  torch's dtypes of the tensors behind that of the rows
    """

    kind: ClassVar[str]
    more: ClassVar[tuple[str, ...]] = ()

    def to_plan(self) -> dict[str, Any]:
        return {"kind": self.kind, **planned(self)}

    def dtypes(self, dtype: str) -> tuple[str, ...]:
        """torch's dtypes of its tensors, for rows of `dtype`."""
        return (dtype, *self.more)

    def shapes(self, row: tuple[int, ...]) -> tuple[tuple[int, ...], ...] | None:
        """Of one sample's part of each; None if that depends on the batch."""
        return None

    def values(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """What stands in the batch, mostly one thing."""
        return tuple(tensors)


@dataclass(frozen=True)
class StackRows(RowLayout):
    """[batch, ...], as torch.stack makes it."""

    kind: ClassVar[str] = "stack"

    def shapes(self, row: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        return (row,)


STACKED = StackRows()


@dataclass(frozen=True)
class PadRows(RowLayout):
    """goloader.collate.Pad's.

    value    one number of what is missing, as it lies in memory
    left     what is missing stands in front of a row
    extents  of a row's shape, -1 for the last one, which differs; () where the first does
    """

    kind: ClassVar[str] = "pad"
    batch_first: bool
    value: bytes
    multiple_of: int
    lengths: bool
    extents: tuple[int, ...] = ()
    left: bool = False

    def to_plan(self) -> dict[str, Any]:
        plan = super().to_plan()
        strips = math.prod(plan.pop("extents")[:-1])
        return {**plan, "strips": strips}

    def dtypes(self, dtype: str) -> tuple[str, ...]:
        return (dtype, "int64") if self.lengths else (dtype,)

    def values(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        if self.extents:
            whole = tensors[0]
            tensors = [whole.view(len(whole), *self.extents[:-1], whole.shape[-1]), *tensors[1:]]
        return (tuple(tensors),) if self.lengths else tuple(tensors)


@dataclass(frozen=True)
class JaggedRows(RowLayout):
    """goloader.collate.Jagged's."""

    kind: ClassVar[str] = "jagged"
    more: ClassVar[tuple[str, ...]] = ("int64",)

    def values(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        from ..collate import nested

        return (nested(*tensors),)


@dataclass(frozen=True)
class ApartRows(RowLayout):
    """The rows one by one, each in its own shape, for a collate_fn that is called as it is.

    extents  of a row's shape, -1 for the one that differs
    """

    kind: ClassVar[str] = "jagged"
    more: ClassVar[tuple[str, ...]] = ("int64",)
    extents: tuple[int, ...]

    def to_plan(self) -> dict[str, Any]:
        return {"kind": self.kind}

    def values(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        rows = tensors[0].split(tensors[1].diff().tolist())
        return (rows if len(self.extents) == 1 else [row.view(self.extents) for row in rows],)


@dataclass(frozen=True)
class TextRows(RowLayout):
    """Texts, as default_collate leaves them: in a list, or in a tuple.

    text  what they are: "str" or "bytes"
    many  the type of what they are in
    """

    kind: ClassVar[str] = "jagged"
    more: ClassVar[tuple[str, ...]] = ("int64",)
    text: str
    many: type

    def to_plan(self) -> dict[str, Any]:
        return {"kind": self.kind}

    def values(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        content, ends = bytes(tensors[0].numpy()), tensors[1].tolist()
        return (self.many(made(self.text, content[low:high]) for low, high in itertools.pairwise(ends)),)


@dataclass(frozen=True)
class PackRows(RowLayout):
    """goloader.collate.Pack's."""

    kind: ClassVar[str] = "pack"
    more: ClassVar[tuple[str, ...]] = ("int64", "int32")

    def values(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        return (tuple(tensors),)


@dataclass(frozen=True)
class DocumentRows(RowLayout):
    """position_ids and cu_seqlens of windows of so many tokens; without `eos` rows say where documents begin."""

    kind: ClassVar[str] = "documents"
    tokens: int
    eos: int | None = None

    def dtypes(self, dtype: str) -> tuple[str, ...]:
        return "int64", "int32"

    def shapes(self, row: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        return (self.tokens,), (self.tokens + 1,)
