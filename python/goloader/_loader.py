"""DataLoader: torch's, with the batches from Go where dataset, transforms, sampler and collate_fn are understood."""

from __future__ import annotations

from typing import TypeVar

from torch.utils import data
from torch.utils.data.dataloader import _BaseDataLoaderIter

from . import _doors
from ._iterators import InlineIterator, PrefetchingIterator
from .plan import Explanation, Refusal

T_co = TypeVar("T_co", covariant=True)


class DataLoader(data.DataLoader[T_co]):
    """torch.utils.data.DataLoader: its arguments, attributes, errors, order, random numbers and batches, bit for bit.

    What goloader understands runs in Go: no worker processes, no copies, no start of workers at each epoch. Everything
    else runs as torch runs it. `explain()` says which is which, and why. Batches are ordinary tensors; memory of a
    batch is used again only when the last tensor over it is gone.
    """

    def explain(self) -> Explanation:
        """Says, a line a stage, what runs in Go, what in Python, and why. str() of it is a table."""
        return _doors.explain(self)

    def _get_iterator(self) -> _BaseDataLoaderIter:
        decision = _doors.decide(self)
        if isinstance(decision, Refusal):
            return super()._get_iterator()
        core = _doors.core(self, decision)
        if self.num_workers == 0:
            return InlineIterator(self, core)
        self.check_worker_number_rationality()
        return PrefetchingIterator(self, core)
