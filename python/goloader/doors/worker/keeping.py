"""An epoch of torch's workers whose samples are kept: Go makes the batches of those after it.

Only of a dataset whose samples are the same each time (plan/datasets/own/kept.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...plan import Plan, Refusal, planner
from ...plan.datasets import Arrays
from ...plan.datasets.own.kept import Alike, Handed
from ...plan.trust.look import name_of
from ...state import book
from ...state.ledger import read
from ...state.reports import ReportingWorker, Said
from ...state.workers import ReportedIterator

if TYPE_CHECKING:
    from ..._loader import DataLoader


def refusal(loader: DataLoader[Any], plan: Plan) -> Refusal | None:
    """Why a plan's batches are made by torch's workers in the next epoch; None if they are not."""
    if plan.samples is None or not plan.samples.waits:
        return None
    why = "its workers make each sample, once; of what they made Go makes the batches of later epochs"
    return Refusal("source", name_of(loader.dataset), why, "KEPT_LATER")


class KeepingWorker(ReportingWorker):
    """Says of each batch whether its samples are like others, and hands over what its batch does not show of them.

    stands  tells, behind worker_init_fn, whether the dataset is what it was; None if there is no such function
    """

    alike: Alike
    stands: Callable[[], bool] | None

    def began(self, arguments: dict[str, Any]) -> None:
        init_fn = arguments["init_fn"]
        self._same = init_fn is None
        if init_fn is not None:
            arguments["init_fn"] = partial(self._initialized, init_fn)
        super().began(arguments)
        self._collate = arguments["collate_fn"]
        self._handed: Handed = None
        arguments["collate_fn"] = self._collated

    def _initialized(self, init_fn: Callable[[int], None], worker: int) -> None:
        init_fn(worker)
        assert self.stands is not None
        self._same = self.stands()

    def _collated(self, samples: Any) -> Any:
        self._handed = self.alike.handed(samples) if self._same else None
        return self._collate(samples)

    def extra(self, *, over: bool) -> Said:
        return super().extra(over=over)._replace(handed=self._handed)


class KeepingIterator(ReportedIterator):
    """The iterator of such an epoch."""

    _kind = KeepingWorker

    def __init__(self, loader: DataLoader[Any], plan: Plan) -> None:
        self.plan, self._samples = plan, cast(Arrays, plan.samples)
        self._alike = self._samples.in_workers()
        # worker_init_fn may change what a worker loads: it sees to that itself, as it was forked.
        self._stands = partial(planner.loads_the_same, plan, loader) if loader.worker_init_fn is not None else None
        # What each batch is asked to have.
        self._indices: dict[int, Any] = {}
        super().__init__(loader)
        self._stands = None  # it has the loader

    def _worker(self) -> KeepingWorker:
        worker = cast(KeepingWorker, super()._worker())
        worker.alike, worker.stands = self._alike, self._stands
        return worker

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        self._indices.clear()
        super()._reset(loader, first_iter)

    def _next_index(self) -> Any:
        index = super()._next_index()
        self._indices[self._send_idx] = index
        return index

    def _accept(self, data: Any, worker: int) -> Any:
        indices, said = self._indices.pop(self._rcvd_idx - 1), getattr(data, "extra", None)
        batch = super()._accept(data, worker)
        known = all(type(each) is int and 0 <= each < self.plan.length for each in indices)
        if known and said is not None and said.handed is not None:
            self._samples.take(np.array(indices), batch, said.handed)
        return batch


def end(loader: DataLoader[Any]) -> None:
    """Ends persistent workers whose samples are all kept: the epoch that begins goes on with the seed that they had."""
    iterator = loader._iterator
    if type(iterator) is not KeepingIterator or refusal(loader, iterator.plan) is not None:
        return
    if not planner.unchanged(iterator.plan, loader):
        return  # they have the dataset as it was when they began
    iterator._shutdown_workers()
    loader._iterator = None
    book.of(loader).loaded = replace(read(iterator._ledger.record()), finished=True)
