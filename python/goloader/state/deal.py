"""Divides an epoch's order among ranks, and divides the rest again among another number of ranks.

Places of the order go to ranks as torch's DistributedSampler has it: every ranks-th to each; where that does not come
out even, the first ones once more at the end, or with drop_last none of the last. Another number of ranks is dealt what
no rank has taken, in the same way. What it leaves is dealt again like that, and so on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils.data import DistributedSampler, RandomSampler, SequentialSampler

from ..plan.samplers import Indices
from ..plan.trust.look import is_a
from ..samplers import NumberedSampler
from . import generators
from .samplers import RandomSampler as StatefulRandomSampler

# What gives an order, where it is not a NumberedSampler: torch.randperm, or nothing.
_RANDPERM, _IN_SEQUENCE = "randperm", "in sequence"


@dataclass(frozen=True, eq=False)
class Rest:
    """The places of an order that nobody has taken, ascending.

    size   places of the order
    begin  from here on all are left
    early  [n] int64, those that are left before
    """

    size: int
    begin: int
    early: Indices

    @classmethod
    def of(cls, deal: Mapping[str, Any]) -> Rest:
        """What was dealt: a whole order if it does not say of which part."""
        return cls(deal["samples"], deal.get("begin", 0), np.array(deal.get("early", ()), np.int64))

    def __len__(self) -> int:
        return len(self.early) + self.size - self.begin

    def each(self, ranks: int, drop_last: bool) -> int:
        """How many places a rank is dealt."""
        return len(self) // ranks if drop_last else -(-len(self) // ranks)

    def share(self, rank: int, ranks: int, drop_last: bool) -> Indices:
        """The places that a rank is dealt, in this order."""
        dealt = np.arange(self.each(ranks, drop_last), dtype=np.int64) * ranks + rank
        return self._places(dealt % max(1, len(self)))

    def after(self, taken: Sequence[int]) -> Rest:
        """What is left when each of the ranks that it was dealt to has taken so many of its places."""
        ranks, by_all = len(taken), min(taken)
        first = min(by_all * ranks, len(self))
        more = [np.arange(by_all, count, dtype=np.int64) * ranks + rank for rank, count in enumerate(taken)]
        beyond = np.unique(np.concatenate(more) % max(1, len(self)))
        last = max(first, int(beyond[-1]) + 1) if len(beyond) else first
        skipped = np.setdiff1d(np.arange(first, last), beyond)
        early = np.concatenate([self._places(skipped), self.early[last:]])
        return Rest(self.size, self.begin + max(0, last - len(self.early)), early)

    def _places(self, numbers: Indices) -> Indices:
        """Those of its places that have these numbers, from 0."""
        early = len(self.early)
        found = self.begin - early + numbers
        found[numbers < early] = self.early[numbers[numbers < early]]
        return found


def whole(sampler: Any, epoch: int | None) -> dict[str, Any] | None:
    """What order a sampler deals in an epoch, as part of a state; None if it is none that ranks can share.

    order      what gives it
    samples    how many places it has
    drop_last  DistributedSampler's
    seed       DistributedSampler's, of the epoch; that of others stands elsewhere in a state
    """
    if is_a(sampler, NumberedSampler):
        return _order(type(sampler).__name__, sampler.num_samples)
    if is_a(sampler, DistributedSampler):
        order = _order(_RANDPERM if sampler.shuffle else _IN_SEQUENCE, len(sampler.dataset), sampler.drop_last)
        return order | {"seed": sampler.seed + epoch}
    if is_a(sampler, SequentialSampler):
        return _order(_IN_SEQUENCE, len(sampler.data_source))
    if is_a(sampler, RandomSampler, StatefulRandomSampler) and not sampler.replacement:
        samples = len(sampler.data_source)
        return _order(_RANDPERM, samples) if sampler.num_samples == samples else None
    return None


def _order(name: str, samples: int, drop_last: bool = False) -> dict[str, Any]:
    return {"order": name, "samples": samples, "drop_last": drop_last}


def alike(deal: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether who deals one order can deal another."""
    return bool(deal["order"] == other["order"] or {deal["order"], other["order"]} == {_RANDPERM, _IN_SEQUENCE})


def indices(sampler: Any, deal: Mapping[str, Any], places: Indices) -> Indices:
    """The indices at places of an order that was dealt: [n] int64 for [n] places.

    A NumberedSampler has to be one that deals such an order.
    """
    if deal["order"] == _IN_SEQUENCE:
        return places
    if deal["order"] != _RANDPERM:
        drawn: Indices = sampler.at(deal["seed"], places)
        return drawn
    generator = torch.Generator()
    if "generator" in deal:
        generator.set_state(generators.from_text(deal["generator"]))
    else:
        generator.manual_seed(deal["seed"])
    order: Indices = torch.randperm(deal["samples"], generator=generator).numpy()
    return order[places]
