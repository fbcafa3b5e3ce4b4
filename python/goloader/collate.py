"""Collate functions for sequences of different lengths, for any DataLoader; goloader's makes their batches in Go.

A sequence is a tensor or a numpy array of at least one dimension, the first of which may differ from sample to
sample: [length, ...]. Everything else in a sample is put together as default_collate does; tuples, lists, dicts and
named tuples keep their form as there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import default_collate

__all__ = ["Jagged", "Pack", "Pad", "nested"]


class Sequences:
    """A collate function that has its own way with sequences: `join`."""

    def join(self, sequences: list[torch.Tensor]) -> Any:
        """What stands in the batch for the sequences of one field."""
        raise NotImplementedError

    def __call__(self, batch: Sequence[Any]) -> Any:
        first = batch[0]
        if isinstance(first, torch.Tensor | np.ndarray) and first.ndim > 0:
            return self.join([torch.as_tensor(each) for each in batch])
        if isinstance(first, Mapping):
            made = {key: self([sample[key] for sample in batch]) for key in first}
            try:
                return type(first)(made)  # type: ignore[call-arg]
            except TypeError:
                return made
        if isinstance(first, Sequence) and not isinstance(first, str | bytes):
            if len({len(sample) for sample in batch}) > 1:
                raise RuntimeError("each element in list of batch should be of equal size")
            fields = [self(field) for field in zip(*batch, strict=True)]
            return type(first)(*fields) if hasattr(first, "_fields") else fields
        return default_collate(batch)  # type: ignore[arg-type]


class Pad(Sequences):
    """collate_fn=Pad(...): sequences of different lengths become one tensor, as torch's pad_sequence makes it.

    batch_first         [batch, longest, ...]; else [longest, batch, ...], pad_sequence's own default
    padding_value       of what is missing
    pad_to_multiple_of  `longest` is rounded up to a multiple of this many items
    lengths             in place of each sequence stands a tuple: what was said above, and the lengths, [batch] int64

    Raises ValueError for a multiple below 1; for sequences that differ in more than their length, and for a value that
    their dtype does not have, what torch raises.
    """

    def __init__(
        self,
        batch_first: bool = False,
        padding_value: float = 0.0,
        pad_to_multiple_of: int | None = None,
        lengths: bool = False,
    ) -> None:
        if pad_to_multiple_of is not None and pad_to_multiple_of < 1:
            raise ValueError(f"pad_to_multiple_of should be a positive integer value, but got {pad_to_multiple_of}")
        self.batch_first, self.padding_value = batch_first, padding_value
        self.pad_to_multiple_of, self.lengths = pad_to_multiple_of, lengths

    def join(self, sequences: list[torch.Tensor]) -> Any:
        padded = pad_sequence(sequences, self.batch_first, self.padding_value)
        time = 1 if self.batch_first else 0
        missing = -padded.shape[time] % (self.pad_to_multiple_of or 1)
        if missing:
            behind = [0, 0] * (padded.ndim - 1 - time) + [0, missing]
            padded = functional.pad(padded, behind, value=self.padding_value)
        if not self.lengths:
            return padded
        return padded, torch.tensor([len(sequence) for sequence in sequences])

    def __repr__(self) -> str:
        return (
            f"Pad(batch_first={self.batch_first}, padding_value={self.padding_value}, "
            f"pad_to_multiple_of={self.pad_to_multiple_of}, lengths={self.lengths})"
        )


class Jagged(Sequences):
    """collate_fn=Jagged(): sequences become a nested tensor, as torch.nested.nested_tensor(..., layout=torch.jagged)
    makes it of them: [batch, j, ...], with no padding. Raises what torch raises for sequences that differ in more than
    their length.
    """

    def join(self, sequences: list[torch.Tensor]) -> torch.Tensor:
        lengths = torch.tensor([0, *(len(sequence) for sequence in sequences)])
        return nested(torch.cat(sequences), lengths.cumsum(0))

    def __repr__(self) -> str:
        return "Jagged()"


class Pack(Sequences):
    """collate_fn=Pack(): sequences follow each other without padding, for attention that stays within each of them.

    In place of each sequence stands a tuple: all items, [total, ...]; the place of each item in its sequence, [total]
    int64 (position_ids); and where sequences begin, and the last one ends, [batch + 1] int32 (cu_seqlens, as
    torch.nn.attention.varlen and FlashAttention take it). Raises what torch.cat raises for sequences that differ in
    more than their length.
    """

    def join(self, sequences: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        lengths = torch.tensor([0, *(len(sequence) for sequence in sequences)])
        places = torch.cat([torch.arange(len(sequence)) for sequence in sequences])
        return torch.cat(sequences), places, lengths.cumsum(0).int()

    def __repr__(self) -> str:
        return "Pack()"


def nested(values: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """The nested tensor of rows values[offsets[i]:offsets[i + 1]]; it knows its shortest and its longest row, as those
    do that torch makes of a list."""
    lengths = offsets.diff()
    made: torch.Tensor = torch.nested.nested_tensor_from_jagged(
        values, offsets, min_seqlen=int(lengths.min()), max_seqlen=int(lengths.max())
    )
    return made
