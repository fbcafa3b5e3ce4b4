"""Reports: what worker processes say of their states, so that the main process can tell them.

A report goes with every batch that a resume may go back to. It is bytes, pickled at once: the dataset goes on, and the
main process opens no report but those that somebody asks for.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..adapters.torch import DatasetKind, ExceptionWrapper, dataset_of, fetch
from ..doors.worker.process import Board, Worker
from ..doors.worker.slots import Slots
from ..on_error import Failure, Tolerant
from . import generators
from .protocol import has_state, restore, saved
from .seeded import SeededFetcher

# Of a worker, pickled; or why there is none; None if there is nothing new to say.
Report = bytes | ExceptionWrapper | None


class Said(NamedTuple):
    """What a worker adds to a batch: the batch's number, its report, how many seconds it took, the samples that
    failed for it, and what a KeepingIterator is handed of its samples."""

    batch: int
    report: Report
    took: float
    failures: tuple[Failure, ...]
    handed: bytes | None = None


class Ready(NamedTuple):
    """What a worker says as an epoch begins: why it cannot, and its report."""

    failed: ExceptionWrapper | None
    report: Report


class Keyed(NamedTuple):
    """A task of rng="sample"."""

    index: Any
    seed: int
    epoch: int


class ReportingWorker(Worker):
    """Reports the state of its dataset, of its iterator and of the process's generators; goes on from such states.

    restored  what was reported, opened, a worker each; None at the beginning
    finished  it was reported at the end of an epoch: the next one comes
    every     how often datasets that have a state are asked for it, in batches; None for never
    seeded    rng="sample"
    tolerant  makes what stands in front of a fetcher where on_error is not "raise"
    """

    def __init__(
        self,
        slots: Slots,
        owner: int,
        board: Board,
        *,
        restored: Sequence[Mapping[str, Any] | None] | None,
        finished: bool,
        every: int | None,
        seeded: bool,
        tolerant: Callable[[Any, Any], Tolerant] | None = None,
    ) -> None:
        super().__init__(slots, owner, board)
        self.restored, self.finished, self.every, self.seeded = restored, finished, every, seeded
        self.tolerant = tolerant

    def began(self, arguments: dict[str, Any]) -> None:
        self._number, self._workers = arguments["worker_id"], arguments["num_workers"]
        self._iterable = arguments["dataset_kind"] == DatasetKind.Iterable
        self._batch = -1
        self._failed: ExceptionWrapper | None = None
        self._watch: generators.Watch | None = None
        self._fetcher: Any = None
        self._state = self.restored[self._number] if self.restored is not None else None
        self._between = False
        # Whether there is more to report than generators.
        self._asks = self._iterable or has_state(dataset_of(arguments))
        # torch's loop makes its fetcher where only this can be seen from outside.
        arguments["init_fn"] = partial(self._initialize, arguments["init_fn"])

    def resuming(self) -> None:
        self._failed = None
        self._swap()

    def greeting(self) -> Ready:
        return Ready(self._failed, self._report(whole=True))

    def task(self, batch: int, index: Any) -> Any:
        self._batch, self._begun = batch, time.perf_counter()
        if isinstance(index, Keyed):
            if self._fetcher is not None:  # it could not be made, and torch's loop is about to say why
                self._fetcher.begin(index.seed, index.epoch)
            return index.index
        return index

    def extra(self, *, over: bool) -> Said:
        failures = self._fetcher.take() if isinstance(self._fetcher, Tolerant) else ()
        took = time.perf_counter() - self._begun
        if over:
            self._fetcher = _Over(self._fetcher)
        elif self._asks and (not self.every or self._batch % self.every < self.every - self._workers):
            return Said(self._batch, None, took, failures)
        return Said(self._batch, self._report(whole=over), took, failures)

    def _report(self, *, whole: bool) -> Report:
        """None if there is no news since the last one; `whole` if that counts for nothing."""
        if self._watch is None or self._fetcher is None:
            return None
        try:
            told = describe(self._fetcher, self._iterable) if self._asks else {}
            # In the middle of an epoch that would be made again from its beginning, generators are of no use.
            if whole or not self._asks or not replayed(told):
                news = self._watch.look()
                if not told and not news and not (whole and self._watch.moved):
                    return None
            moved = {name: generators.plain(state) for name, state in self._watch.moved.items()}
            return pickle.dumps(told | {"generators": moved}, pickle.HIGHEST_PROTOCOL)
        except Exception:
            return ExceptionWrapper(where=f"in state_dict() of a dataset in DataLoader worker process {self._number}")

    # The fetcher

    def _initialize(self, init_fn: Callable[[int], None] | None, worker: int) -> None:
        """worker_init_fn, and what comes behind it."""
        if init_fn is not None:
            try:
                init_fn(worker)
            except Exception:
                self._failed = ExceptionWrapper(where=f"in DataLoader worker process {worker}")
                raise
        self._swap()

    def _swap(self) -> None:
        """Has the next fetcher made by _make, and no other: user code has loaders too."""
        originals = {name: getattr(fetch, name) for name in ("_MapDatasetFetcher", "_IterableDatasetFetcher")}
        for name in originals:
            setattr(fetch, name, partial(self._make, originals, name))

    def _make(self, originals: Mapping[str, Any], kind: str, *arguments: Any) -> Any:
        for name, original in originals.items():
            setattr(fetch, name, original)
        if self._watch is None:
            self._watch = generators.Watch()
        try:
            self._fetcher = self._made(
                partial(SeededFetcher if self.seeded else originals[kind], *arguments), arguments[0]
            )
        except Exception:
            self._failed = ExceptionWrapper(where=f"in DataLoader worker process {self._number}")
            raise
        if self.tolerant is not None and not isinstance(self._fetcher, _Over):
            self._fetcher = self.tolerant(self._fetcher, self._fetcher)
        return self._fetcher

    def _made(self, make: Callable[[], Any], dataset: Any) -> Any:
        state, self._state = self._state, None
        if state is None:
            return make()
        if self._between:
            generators.put(state["generators"])
            return make()
        restore(dataset, state["dataset_state"])
        over = state["fetcher_state"] is not None and state["fetcher_state"]["fetcher_ended"]
        fetcher = None
        # A dataset that is its own iterator may take a state only when it is one.
        if not (over or self.finished) or iterator_state(state) is not None:
            fetcher = make()
            if self._iterable:
                restore(fetcher.dataset_iter, iterator_state(state))
        if self.finished:
            # The epoch that is about to come begins with another fetcher.
            self._between, self._state = True, state
        generators.put(state["generators"])
        return _Over(fetcher, state) if over or self.finished else fetcher


class _Over:
    """In place of a fetcher that has no more. `state` is what it was when it had none before."""

    def __init__(self, fetcher: Any, state: Mapping[str, Any] | None = None) -> None:
        self.fetcher, self.state = fetcher, state

    def fetch(self, index: Any) -> Any:
        raise StopIteration


def iterator_state(state: Mapping[str, Any]) -> Any:
    """Of the iterator of an IterableDataset."""
    return None if state["fetcher_state"] is None else state["fetcher_state"]["dataset_iter_state"]


def replayed(state: Mapping[str, Any]) -> bool:
    """Whether these are of an IterableDataset that has no state, nor its iterator: it starts again from the first."""
    return state["fetcher_state"] is not None and state["dataset_state"] is None and iterator_state(state) is None


def describe(fetcher: Any, iterable: bool) -> dict[str, Any]:
    """The states of a fetcher's dataset and iterator, in torchdata's words."""
    over = isinstance(fetcher, _Over)
    if over:
        if fetcher.fetcher is None:
            return {name: fetcher.state[name] for name in ("dataset_state", "fetcher_state")}
        fetcher = fetcher.fetcher
    if not iterable:
        return {"dataset_state": saved(fetcher.dataset), "fetcher_state": None}
    iterator = fetcher.dataset_iter
    return {
        # A dataset that is its own iterator has one state, not two.
        "dataset_state": None if iterator is fetcher.dataset else saved(fetcher.dataset),
        "fetcher_state": {"dataset_iter_state": saved(iterator), "fetcher_ended": over or fetcher.ended},
    }
