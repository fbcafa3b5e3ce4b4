"""How the rows of a field lie in a batch, and what torch's users get of it: core/collate's layouts."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


class RowLayout:
    """A layout. Its tensors are those of the batch, in the core's order."""

    def to_plan(self) -> dict[str, Any]:
        raise NotImplementedError

    def dtypes(self, dtype: str) -> tuple[str, ...]:
        """torch's dtypes of its tensors, for rows of `dtype`."""
        raise NotImplementedError

    def shapes(self, row: tuple[int, ...]) -> tuple[tuple[int, ...], ...] | None:
        """Of one sample's part of each; None if that depends on the batch."""
        return None

    def values(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """What stands in the batch, mostly one thing."""
        raise NotImplementedError


@dataclass(frozen=True)
class StackRows(RowLayout):
    """[batch, ...], as torch.stack makes it."""

    def to_plan(self) -> dict[str, Any]:
        return {"kind": "stack"}

    def dtypes(self, dtype: str) -> tuple[str, ...]:
        return (dtype,)

    def shapes(self, row: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        return (row,)

    def values(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(tensors)


STACKED = StackRows()


@dataclass(frozen=True)
class PadRows(RowLayout):
    """goloader.collate.Pad's. value is one item of what is missing, as it lies in memory."""

    batch_first: bool
    value: bytes
    multiple_of: int
    lengths: bool

    def to_plan(self) -> dict[str, Any]:
        return {
            "kind": "pad",
            "batch_first": self.batch_first,
            "value": base64.b64encode(self.value).decode("ascii"),
            "multiple_of": self.multiple_of,
            "lengths": self.lengths,
        }

    def dtypes(self, dtype: str) -> tuple[str, ...]:
        return (dtype, "int64") if self.lengths else (dtype,)

    def values(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        return (tuple(tensors),) if self.lengths else tuple(tensors)


@dataclass(frozen=True)
class JaggedRows(RowLayout):
    """goloader.collate.Jagged's."""

    def to_plan(self) -> dict[str, Any]:
        return {"kind": "jagged"}

    def dtypes(self, dtype: str) -> tuple[str, ...]:
        return dtype, "int64"

    def values(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        from ..collate import nested

        return (nested(*tensors),)


@dataclass(frozen=True)
class PackRows(RowLayout):
    """goloader.collate.Pack's."""

    def to_plan(self) -> dict[str, Any]:
        return {"kind": "pack"}

    def dtypes(self, dtype: str) -> tuple[str, ...]:
        return dtype, "int64", "int32"

    def values(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        return (tuple(tensors),)


@dataclass(frozen=True)
class DocumentRows(RowLayout):
    """position_ids and cu_seqlens of windows of so many tokens; without `eos` rows say where documents begin."""

    tokens: int
    eos: int | None = None

    def to_plan(self) -> dict[str, Any]:
        return {"kind": "documents", "tokens": self.tokens, "eos": self.eos}

    def dtypes(self, dtype: str) -> tuple[str, ...]:
        return "int64", "int32"

    def shapes(self, row: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        return (self.tokens,), (self.tokens + 1,)

    def values(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(tensors)
