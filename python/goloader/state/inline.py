"""The iterator for num_workers=0 where Python runs the dataset: torch's, with a state."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import IterDataPipe
from torch.utils.data.graph_settings import apply_random_seed

from .._errors import StateError
from ..adapters.torch import PROFILED_INLINE, DatasetKind, InlineIterator
from .iterator import ResumableIterator
from .ledger import Ledger, Record
from .protocol import REPLAYED, has_state, restore
from .reports import describe
from .reshape import same_batches
from .seeded import SeededFetcher

_log = logging.getLogger(__name__)


@dataclass
class InlineLedger(Ledger):
    """With the objects that have a state of their own, which live in this process.

    fetcher  torch's, if its dataset or iterator has a state of its own: others are not kept longer than torch would
    """

    fetcher: Any = None
    iterable: bool = False
    shared_seed: int | None = None
    length_called: int | None = None

    def state(self) -> dict[str, Any]:
        record = self.record()
        order = record["order"] or {}
        none = {"dataset_iter_state": None, "fetcher_ended": False} if self.iterable else None
        told: dict[str, Any] = {"dataset_state": None, "fetcher_state": none}
        if self.fetcher is not None:
            told = describe(self.fetcher, self.iterable)
        return {
            "_index_sampler_state": order.get("index_sampler"),
            "_sampler_iter_state": order.get("iterator"),
            "_sampler_iter_yielded": order.get("batches", self.yielded),
            "_num_yielded": self.yielded,
            "_IterableDataset_len_called": self.length_called,
            "_shared_seed": self.shared_seed,
            **told,
            "_iterator_finished": self.finished,
            "goloader": record,
        }


class FetchingIterator(InlineIterator, ResumableIterator):
    """torch's iterator for num_workers=0, its batches and errors, with a state."""

    _record: Record | None
    _ledgers = InlineLedger

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        # The name under which torch's profiler shows it.
        self._profile_name = PROFILED_INLINE
        ledger = self._ledger
        if loader.rng == "sample":
            self._dataset_fetcher = SeededFetcher(
                self._dataset, self._auto_collation, self._collate_fn, self._drop_last
            )
            self._dataset_fetcher.begin(ledger.rng, ledger.epoch)
        assert isinstance(ledger, InlineLedger)
        ledger.iterable = self._dataset_kind == DatasetKind.Iterable
        if has_state(self._dataset) or has_state(getattr(self._dataset_fetcher, "dataset_iter", None)):
            ledger.fetcher = self._dataset_fetcher
        ledger.shared_seed, ledger.length_called = self._shared_seed, self._IterableDataset_len_called
        if self._record is not None:
            self._restore_iterator(loader, self._record, self._record.own)
            self._record = None

    def _begin(self, loader: Any) -> None:
        self._record = self._resumed
        super()._begin(loader)
        if self._record is not None:
            self._restore_dataset(self._record, self._record.own)

    def _restore_dataset(self, record: Record, own: Any) -> None:
        """What has to stand before iter(dataset): torch's constructor does that next."""
        if record.num_workers != 0 and (self._rng != "sample" or has_state(self._dataset)):
            raise StateError(f"the state is of a loader with num_workers={record.num_workers}, this one has 0")
        restore(self._dataset, own.get("dataset_state"))
        self._IterableDataset_len_called = own.get("_IterableDataset_len_called")
        if isinstance(self._dataset, IterDataPipe) and own.get("_shared_seed") is not None:
            self._shared_seed = own["_shared_seed"]
            self._dataset = apply_random_seed(self._dataset, torch.Generator().manual_seed(self._shared_seed))

    def _restore_iterator(self, loader: Any, record: Record, own: Any) -> None:
        if self._dataset_kind != DatasetKind.Iterable:
            return
        fetcher, state = self._dataset_fetcher, own.get("fetcher_state") or {}
        if has_state(self._dataset) or has_state(fetcher.dataset_iter):
            restore(fetcher.dataset_iter, state.get("dataset_iter_state"))
            fetcher.ended = state.get("fetcher_ended", False)
        elif record.yielded and not record.finished:
            same_batches(record, loader)
            _log.warning(REPLAYED, record.yielded)
            index = next(iter(loader._index_sampler))
            for _ in range(record.yielded):
                fetcher.fetch(index)
