"""The iterator for num_workers>0 where Python runs the dataset: torch's worker processes, with a state."""

from __future__ import annotations

import logging
import pickle
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from torch.utils.data import IterDataPipe

from .._errors import StateError
from ..adapters.torch import POLL_S, DatasetKind, ExceptionWrapper
from ..doors.worker.iterator import WorkerIterator
from ..doors.worker.parcel import Delivered
from ..doors.worker.process import Ask, Greeting
from . import book, generators
from .iterator import ResumableIterator
from .ledger import Ledger, Record
from .order import Mark, Order
from .protocol import REPLAYED, has_state
from .reports import Keyed, Ready, Report, ReportingWorker, Said, replayed
from .reshape import same_batches

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Snapshot:
    """What a resume goes back to, to make whatever came later once more.

    mark       the place in the order
    delivered  batches and errors of this epoch until then
    last       the worker of the last one
    reports    the last one of each worker; without one it stands as it did at its greeting
    ahead      batches of the order behind `mark` that are delivered all the same (in_order=False)
    """

    mark: Mark
    delivered: int
    last: int
    reports: Mapping[int, Report] = field(default_factory=dict)
    ahead: tuple[int, ...] = ()


@dataclass
class WorkerLedger(Ledger):
    """With what worker processes report.

    greetings  the report of each worker as the epoch began, as they come in
    listen     waits for greetings that are still to come, as long as there is an iterator
    """

    snapshot: Snapshot = field(default_factory=lambda: Snapshot(Mark(0), 0, 0))
    delivered: int = 0
    greetings: dict[int, Report] = field(default_factory=dict)
    listen: Callable[[], Callable[[], None] | None] = lambda: None
    length_called: int | None = None
    shared_seed: int | None = None

    def state(self) -> dict[str, Any]:
        listen = self.listen()
        if listen is not None:
            listen()
        snapshot = self.snapshot
        workers = {f"worker_{number}": self._worker(number) for number in range(self.num_workers)}
        # Where nothing has a state, the epoch is made once more.
        back = 0 if any(map(replayed, workers.values())) else snapshot.delivered
        if not self.finished and back < snapshot.delivered:
            for number, told in enumerate(workers.values()):
                told["generators"] = _opened(number, self.greetings.get(number))["generators"]
        self.mark = snapshot.mark
        record = self.record()
        order = record["order"] or {}
        return {
            "_snapshot": {
                "_snapshot_step": snapshot.delivered,
                "_last_yielded_worker_id": snapshot.last,
                "_main_snapshot": {
                    "_num_workers": self.num_workers,
                    "_index_sampler_state": order.get("index_sampler"),
                    "_sampler_iter_state": order.get("iterator"),
                    "_sampler_iter_yielded": snapshot.mark.batches,
                    "_IterableDataset_len_called": self.length_called,
                    "_shared_seed": self.shared_seed,
                    "_base_seed": self.base_seed,
                    "ahead": list(snapshot.ahead),
                },
                "_worker_snapshots": workers,
            },
            "_steps_since_snapshot": 0 if self.finished else self.delivered - back,
            "_iterator_finished": self.finished,
            "goloader": record,
        }

    def _worker(self, number: int) -> dict[str, Any]:
        return _opened(number, self.snapshot.reports.get(number, self.greetings.get(number)))


class ReportedIterator(WorkerIterator, ResumableIterator):
    """Worker processes that run the user's dataset as torch's do, with a state.

    Of a dataset and an iterator that have a state of their own, worker processes tell it every
    `loader.snapshot_every_n_steps` batches; of others, where the process's random generators stand, after each batch.
    """

    _ledger: WorkerLedger
    _ledgers = WorkerLedger
    _kind: type[ReportingWorker] = ReportingWorker

    def __init__(self, loader: Any) -> None:
        book.of(loader)  # torch's constructor sees a stand-in for the loader
        resumed = book.of(loader).resumed
        self._losses = book.losses(loader)
        iterable = loader._dataset_kind == DatasetKind.Iterable
        self._every: int | None = loader.snapshot_every_n_steps
        if not iterable and not has_state(loader.dataset):
            self._every = 1  # an index is all that it takes
        self._keyed = loader.rng == "sample"
        self._back = None if resumed is None else _Back.of(resumed, loader)
        self._starts = 1
        self._greeted_by: set[int] = set()
        self._failed: ExceptionWrapper | None = None
        self._early: deque[Any] = deque()
        self._dropping = False
        super().__init__(loader)
        if resumed is not None:
            self._go_on(resumed)
        if loader.waits_for_workers:
            self._listen()
            if self._failed is not None:
                self._failed.reraise()

    def _worker(self) -> ReportingWorker:
        back = self._back
        return self._kind(
            self._slots,
            self._owner,
            self._board,
            restored=None if back is None else back.workers,
            finished=back is not None and back.finished,
            every=self._every,
            seeded=self._keyed,
            tolerant=None if self._losses is None else self._losses.worker(),
        )

    # Epochs

    def _resume_seeds(self, resumed: Record) -> None:
        super()._resume_seeds(resumed)
        if self._back is not None and isinstance(self._dataset, IterDataPipe):
            self._shared_seed = self._back.shared_seed

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        self._starts += not first_iter
        self._greeted_by.clear()
        self._early.clear()
        self._failed = None
        self._reports: dict[int, Report] = {}
        self._marks: dict[int, Mark] = {}
        # Workers whose dataset has no more, by the task that showed it.
        self._ended: dict[int, tuple[int, Report]] = {}
        # in_order=False: the first task that is not delivered, and those behind it that are.
        self._base, self._ahead = 0, dict[int, int]()
        self._passed: frozenset[int] = frozenset() if self._back is None else self._back.ahead
        self._turn = 0 if self._back is None else self._back.turn
        seed = self._shared_seed
        super()._reset(loader, first_iter)
        # The first epoch's workers had theirs before torch drew another one.
        self._ledger.shared_seed = seed if first_iter else self._shared_seed
        self._ledger.length_called = self._IterableDataset_len_called
        self._back = None

    def _begin(self, loader: Any) -> None:
        super()._begin(loader)
        mark = self._sampler_iter.mark() if isinstance(self._sampler_iter, Order) else Mark(0)
        if self._back is not None:
            self._ledger.delivered = self._back.delivered
            self._IterableDataset_len_called = self._back.length_called  # type: ignore[assignment]
        delivered, last = self._ledger.delivered, (self._turn - 1) % self._num_workers
        self._ledger.snapshot = Snapshot(mark, delivered, last, ahead=tuple(sorted(self._passed)))
        self._ledger.listen = weakref.WeakMethod(self._listen)

    def _go_on(self, resumed: Record) -> None:
        """Makes once more, and drops, what came after the snapshot."""
        steps = resumed.own.get("_steps_since_snapshot", 0)
        if steps and any(map(replayed, resumed.own["_snapshot"]["_worker_snapshots"].values())):
            _log.warning(REPLAYED, steps)
        self._dropping = True
        try:
            for step in range(steps):
                try:
                    self._next_data()  # type: ignore[no-untyped-call]
                except StopIteration:
                    raise StateError(
                        f"the state is {steps} batches further on, but the dataset ends after {step}"
                    ) from None
        finally:
            self._dropping = False
        self._num_yielded = resumed.yielded

    # Tasks

    def _next_index(self) -> Any:
        for _ in range(self._turn):
            next(self._worker_queue_idx_cycle)
        self._turn = 0
        index = super()._next_index()  # type: ignore[no-untyped-call]
        mark = self._sampler_iter.mark()
        while mark.batches in self._passed:
            index = super()._next_index()  # type: ignore[no-untyped-call]
            mark = self._sampler_iter.mark()
        if self._dataset_kind == DatasetKind.Map:
            self._marks[self._send_idx] = mark
        if self._keyed:
            assert self._ledger.rng is not None
            return Keyed(index, self._ledger.rng, self._ledger.epoch)
        return index

    def _accept(self, data: Any, worker: int) -> Any:
        if self._dropping and isinstance(data, ExceptionWrapper):
            data = Delivered(None, getattr(data, "extra", None))  # its user has seen the error before
        return super()._accept(data, worker)

    def _delivered(self, worker: int, extra: Said | None) -> None:
        batch, report = self._rcvd_idx - 1, None
        if extra is not None:
            batch, report = extra.batch, extra.report
            self._clock.did("python", extra.took)
            if extra.failures and self._losses is not None:
                self._losses.note(extra.failures)
        ledger = self._ledger
        ledger.delivered += 1
        if report is not None:
            self._reports[worker] = report
        self._settle(batch)
        mark = self._place(batch)
        if self._every and (batch + 1) % self._every == 0:
            ledger.snapshot = Snapshot(mark, ledger.delivered, worker, dict(self._reports), self._ahead_of(mark))

    def _place(self, batch: int) -> Mark:
        """The place in the order up to which all is delivered, now that a batch is."""
        mark = self._ledger.snapshot.mark
        if self._dataset_kind == DatasetKind.Iterable:
            return mark  # an iterable dataset has no order but its own
        if self._in_order:
            return self._marks.pop(batch)
        self._ahead[batch] = self._marks[batch].batches
        while self._base in self._ahead:
            del self._ahead[self._base]
            mark = self._marks.pop(self._base)
            self._base += 1
        return mark

    def _ahead_of(self, mark: Mark) -> tuple[int, ...]:
        return tuple(sorted({*self._ahead.values(), *(at for at in self._passed if at > mark.batches)}))

    def _settle(self, batch: int | None = None) -> None:
        """Believes workers that had no more before a batch's turn, or at all."""
        for task in list(self._ended):
            if batch is None or task < batch or not self._in_order:
                worker, report = self._ended.pop(task)
                self._reports[worker] = report

    def __next__(self) -> Any:
        try:
            return super().__next__()
        except StopIteration:
            ledger = self._ledger
            self._settle()
            ledger.snapshot = Snapshot(ledger.snapshot.mark, ledger.delivered, 0, dict(self._reports))
            raise

    # What workers say

    def _greeted(self, greeting: Greeting, said: Ready) -> None:
        if greeting.start != self._starts:
            return
        self._greeted_by.add(greeting.worker)
        if greeting.asked:
            self._reports[greeting.worker] = said.report
        else:
            self._failed = self._failed or said.failed
            self._ledger.greetings[greeting.worker] = said.report

    def _over(self, worker: int, extra: Said) -> None:
        self._ended[extra.batch] = worker, extra.report

    def _take(self, timeout: float) -> tuple[bool, Any]:
        return (True, self._early.popleft()) if self._early else super()._take(timeout)

    def _listen(self) -> None:
        """Waits until each worker has said how it begins. Raises RuntimeError if one has died.

        Persistent workers that were not asked after the last batch of an epoch are asked now.
        """
        ask = self._ledger.finished and self._every != 1 and self._dataset_kind == DatasetKind.Map
        if ask and not self._shutdown:
            self._greeted_by.clear()
            for queue in self._index_queues:
                queue.put(Ask())
        while len(self._greeted_by) < self._num_workers and not self._shutdown:
            got, item = super()._take(POLL_S)
            if not got:
                continue
            if isinstance(item[0], Greeting):
                self._greeted(*item)
            else:
                self._early.append(item)
        if ask:
            self._ledger.snapshot = replace(self._ledger.snapshot, reports=dict(self._reports))


@dataclass(frozen=True)
class _Back:
    """A record as worker processes go back to it.

    workers  the state of each, its generators opened; None if all begin anew
    turn     the worker whose turn it is
    """

    workers: Sequence[Mapping[str, Any]] | None
    finished: bool
    turn: int = 0
    delivered: int = 0
    ahead: frozenset[int] = frozenset()
    length_called: int | None = None
    shared_seed: int | None = None

    @classmethod
    def of(cls, record: Record, loader: Any) -> _Back:
        """Raises StateError if this loader's workers cannot go on from there."""
        snapshot = record.own.get("_snapshot")
        if snapshot is None:
            _check_foreign(record, loader)
            batches = 0 if record.order is None else int(record.order["batches"])
            return cls(None, record.finished, batches % loader.num_workers, batches)
        try:
            return cls._of(record, snapshot, loader)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            if isinstance(error, StateError):
                raise
            raise StateError(f"not a state of worker processes: {type(error).__name__}: {error}") from None

    @classmethod
    def _of(cls, record: Record, snapshot: Mapping[str, Any], loader: Any) -> _Back:
        snapshots, main = snapshot["_worker_snapshots"], snapshot["_main_snapshot"]
        told = [snapshots[f"worker_{number}"] for number in range(main["_num_workers"])]
        if main["ahead"] or record.own["_steps_since_snapshot"]:
            same_batches(record, loader)
        same = len(told) == loader.num_workers
        if not same and (loader.rng != "sample" or any(_has_state(state) for state in told)):
            raise StateError(
                f"the state is of a loader with num_workers={len(told)}, this one has {loader.num_workers}: what a "
                "worker process loads and draws is its own"
            )
        anew = any(map(replayed, told)) and not record.finished
        opened = [
            {**state, "generators": {n: generators.from_text(text) for n, text in state["generators"].items()}}
            | ({"fetcher_state": None} if anew else {})
            for state in told
        ]
        delivered = 0 if anew else snapshot["_snapshot_step"]
        return cls(
            workers=opened if same else None,
            finished=record.finished,
            turn=0 if anew or record.finished else (snapshot["_last_yielded_worker_id"] + 1) % loader.num_workers,
            delivered=delivered,
            ahead=frozenset(main["ahead"]),
            length_called=main["_IterableDataset_len_called"],
            shared_seed=main["_shared_seed"],
        )


def _check_foreign(record: Record, loader: Any) -> None:
    """Raises StateError if a state that no worker process gave says less than worker processes need."""
    if loader.rng == "sample" and record.own.get("dataset_state") is None:
        return
    if record.num_workers != loader.num_workers:
        raise StateError(
            f"the state is of a loader with num_workers={record.num_workers}, this one has {loader.num_workers}"
        )
    if record.generators or (record.streams is not None and record.streams.any()):
        raise StateError(
            "the state is of batches that Go made, with random numbers that worker processes cannot go on with; "
            "explain() says why they are made in Python now"
        )


def _has_state(state: Mapping[str, Any]) -> bool:
    return bool(state["dataset_state"] is not None or state["fetcher_state"] is not None or state["generators"])


def _opened(number: int, report: Report) -> dict[str, Any]:
    """What a worker has reported, its generators as text. Raises what kept it from doing so."""
    if isinstance(report, ExceptionWrapper):
        report.reraise()
    told: dict[str, Any] = {"worker_id": number, "dataset_state": None, "fetcher_state": None, "generators": {}}
    if isinstance(report, bytes):
        told |= pickle.loads(report)
    told["generators"] = {name: generators.to_text(state) for name, state in told["generators"].items()}
    return told
