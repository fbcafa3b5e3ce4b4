"""Collate functions for sequences of different lengths, for any DataLoader. In goloader's, Go makes the batches.

A sequence is a tensor or numpy array whose first dimension may differ from sample to sample, [length, ...]: tokens, or
the boxes of an image. Everything else in a sample goes to default_collate. Tuples, lists, dicts and named tuples keep
their structure, as there.

All functions take these keyword arguments:

fields  which tensors are sequences, if a sample has others too: keys of dicts and names in named tuples at any depth,
        or positions in a sample that is a tuple or a list. Everything below a field belongs to it. None: all tensors,
        even an image [3, height, width]
others  the collate function for everything that is not a sequence; `list` makes a list of images of different sizes
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import default_collate

from .adapters.torch import jagged

__all__ = ["Fields", "Jagged", "Pack", "Pad", "nested"]

Fields = str | int | Iterable[str | int] | None


class Sequences:
    """A collate function that treats sequences in its own way: `join`.

    Raises TypeError for `fields` that are neither names nor numbers, ValueError for none of them, and for a batch
    KeyError if a sample lacks a field.
    """

    def __init__(self, *, fields: Fields = None, others: Callable[[Any], Any] = default_collate) -> None:
        self.fields = None if fields is None else (fields,) if isinstance(fields, str | int) else tuple(fields)
        if self.fields is not None:
            if not all(isinstance(field, str | int) for field in self.fields):
                raise TypeError(f"fields should be names and numbers, but got {fields!r}")
            if not self.fields:
                raise ValueError("fields should name at least one field, or be None for all")
        self.others = others

    def join(self, sequences: list[torch.Tensor]) -> Any:
        """What stands in the batch for the sequences of one field."""
        raise NotImplementedError

    def __call__(self, batch: Sequence[Any]) -> Any:
        found = self._fields_in(batch[0], top=True)
        for field in self.fields or ():
            if field not in found:
                raise _not_everywhere(field)
        return self._put(batch, self.fields is None, top=True)

    def _put(self, batch: Sequence[Any], meant: bool, top: bool = False) -> Any:
        """What stands in the batch for values that have one place in the samples.

        meant  tensors among them are sequences
        top    they are the samples themselves
        """
        first = batch[0]
        if meant and isinstance(first, torch.Tensor | np.ndarray) and first.ndim > 0:
            return self.join([torch.as_tensor(each) for each in batch])
        if not meant and not self._fields_in(first, top):
            return self.others(batch)
        if isinstance(first, Mapping):
            if not meant:
                _check_keys(batch, self.fields or ())
            made = {key: self._put([sample[key] for sample in batch], meant or self._is_field(key)) for key in first}
            try:
                return type(first)(made)  # type: ignore[call-arg]
            except TypeError:
                return made
        if _is_sequence(first):
            if len({len(sample) for sample in batch}) > 1:
                raise RuntimeError("each element in list of batch should be of equal size")
            parts = [
                self._put(values, meant or any(map(self._is_field, names)))
                for names, values in zip(_names(first, top), zip(*batch, strict=True), strict=True)
            ]
            return type(first)(*parts) if hasattr(first, "_fields") else parts
        return self.others(batch)

    def _is_field(self, name: Any) -> bool:
        return self.fields is not None and name in self.fields

    def _fields_in(self, value: Any, top: bool = False) -> set[str | int]:
        """Those of `fields` that are in a value; `top`: it is a sample."""
        places: Iterable[tuple[tuple[Any, ...], Any]] = ()
        if self.fields is None:
            return set()
        if isinstance(value, Mapping):
            places = [((key,), each) for key, each in value.items()]
        elif _is_sequence(value):
            places = zip(_names(value, top), value, strict=True)
        found: set[str | int] = set()
        for names, each in places:
            found.update(filter(self._is_field, names), self._fields_in(each))
        return found

    def _said(self) -> str:
        """Of a repr, what all these functions have in common."""
        given = [] if self.fields is None else [f"fields={self.fields!r}"]
        if self.others is not default_collate:
            given.append(f"others={getattr(self.others, '__qualname__', self.others)}")
        return ", ".join(given)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _names(value: Sequence[Any], top: bool) -> list[tuple[str | int, ...]]:
    """What each place in a tuple, a named tuple or a list goes by."""
    named: list[tuple[str | int, ...]] = [(name,) for name in getattr(value, "_fields", ())] or [()] * len(value)
    return [(*names, place) for place, names in enumerate(named)] if top else named


def _check_keys(batch: Sequence[Mapping[Any, Any]], fields: Iterable[Any]) -> None:
    for field in fields:
        if 0 < sum(field in sample for sample in batch) < len(batch):
            raise _not_everywhere(field)


def _not_everywhere(field: Any) -> KeyError:
    return KeyError(f"not every sample of the batch has a field {field!r}")


class Pad(Sequences):
    """collate_fn=Pad(...): pads sequences of different lengths into one tensor, as torch's pad_sequence does.

    batch_first         True: [batch, longest, ...]; False: [longest, batch, ...], the default of pad_sequence
    padding_value       the value of missing items
    pad_to_multiple_of  rounds `longest` up to a multiple of this many items
    lengths             True: each field is a tuple of the padded tensor and the lengths, int64 [batch]

    Raises ValueError for a multiple below 1. Raises what torch raises for sequences that differ in more than their
    length, and for a value that their dtype lacks.
    """

    def __init__(
        self,
        batch_first: bool = False,
        padding_value: float = 0.0,
        pad_to_multiple_of: int | None = None,
        lengths: bool = False,
        *,
        fields: Fields = None,
        others: Callable[[Any], Any] = default_collate,
    ) -> None:
        super().__init__(fields=fields, others=others)
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
        given = (
            f"Pad(batch_first={self.batch_first}, padding_value={self.padding_value}, "
            f"pad_to_multiple_of={self.pad_to_multiple_of}, lengths={self.lengths}"
        )
        return f"{given}, {self._said()})" if self._said() else f"{given})"


class Jagged(Sequences):
    """collate_fn=Jagged(): makes a nested tensor [batch, j, ...] of sequences, without padding.

    The result is that of torch.nested.nested_tensor(..., layout=torch.jagged). Raises what torch raises for sequences
    that differ in more than their length.
    """

    def join(self, sequences: list[torch.Tensor]) -> torch.Tensor:
        lengths = torch.tensor([0, *(len(sequence) for sequence in sequences)])
        return nested(torch.cat(sequences), lengths.cumsum(0))

    def __repr__(self) -> str:
        return f"Jagged({self._said()})"


class Pack(Sequences):
    """collate_fn=Pack(): puts sequences one after the other without padding, for attention within each of them.

    Each field becomes a tuple: all items, [total, ...]; the position of each item in its sequence, int64 [total]
    (position_ids); and where sequences begin and the last one ends, int32 [batch + 1] (cu_seqlens, as
    torch.nn.attention.varlen and FlashAttention take it). Raises what torch.cat raises for sequences that differ in
    more than their length.
    """

    def join(self, sequences: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        lengths = torch.tensor([0, *(len(sequence) for sequence in sequences)])
        places = torch.cat([torch.arange(len(sequence)) for sequence in sequences])
        return torch.cat(sequences), places, lengths.cumsum(0).int()

    def __repr__(self) -> str:
        return f"Pack({self._said()})"


def nested(values: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """The nested tensor of rows values[offsets[i]:offsets[i + 1]]."""
    lengths = offsets.diff()
    return jagged(values, offsets, int(lengths.min()), int(lengths.max()))
