"""A worker process that records (tracer.py) once a trial has shown that it may; what that takes is imported then."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...adapters.torch import DatasetKind, ExceptionWrapper
from ...state.reports import ReportingWorker
from ..worker.process import Board
from ..worker.slots import Slots
from . import libraries
from .arrival import Finish
from .as_user import AS_USER
from .first import First
from .record import Record

if TYPE_CHECKING:
    from .tracer import Tracer

__all__ = ["TracingWorker"]

_HERE = os.path.dirname(__file__)


class TracingWorker(ReportingWorker):
    """Records the dataset's code in a worker process.

    record      as it stands where the worker is started
    ahead       batches of one worker that may be under way
    tries       trials are this worker's matter
    task_begun  number of the batch that is fetched
    streams     the dataset is an IterableDataset
    """

    tries = False
    task_begun = -1

    def __init__(self, slots: Slots, owner: int, board: Board, every: int | None, record: Record, ahead: int) -> None:
        super().__init__(slots, owner, board, restored=None, finished=False, every=every, seeded=False)
        self.record, self.ahead = record, ahead
        self._tracer: Tracer | None = None

    def began(self, arguments: dict[str, Any]) -> None:
        """Stands between torch's loop and its queues."""
        super().began(arguments)
        self.record.remote = True
        self.streams = arguments["dataset_kind"] == DatasetKind.Iterable
        # One worker tries for all that share the page of its answer.
        self.tries = arguments["worker_id"] == 0 or self.record.page.own
        self._results = arguments["data_queue"] = _Results(arguments["data_queue"])
        arguments["index_queue"] = _Tasks(arguments["index_queue"], self)

    def _made(self, make: Callable[[], Any], dataset: Any) -> Any:
        if self._tracer is not None:
            self._tracer.forget()
            self._tracer = None
        return First(super()._made(make, dataset), self.record, self._traced, tries=self.tries)

    def finish(self, task: Finish) -> None:
        """Makes a stream's batch that the core could not: torch's loop takes no tasks once its stream has ended."""
        assert self._tracer is not None  # it has recorded the batch
        made: Any
        try:
            made = self._tracer.fetch(task)
        except Exception:
            made = ExceptionWrapper(where=f"in DataLoader worker process {self._number}")
        self._results.put((task.task, made))

    def _traced(self, inner: Any) -> Any:
        """What fetches batches that may be recorded, or why nothing may."""
        unfit = None if self.record.trusted else libraries.refusal(hooked=False)
        if unfit is not None:
            return unfit
        from .tracer import Tracer

        self._tracer = Tracer(inner, self)
        return self._tracer


class _Tasks:
    """What torch's loop gets its tasks from."""

    def __init__(self, queue: Any, worker: TracingWorker) -> None:
        self._queue, self._worker = queue, worker

    def get(self, timeout: float) -> Any:
        task = self._queue.get(timeout)
        while type(task) is Finish:
            begun = self._queue.begin(task.task, task)
            if not self._worker.streams:
                return begun
            self._worker.finish(task)
            task = self._queue.get(timeout)
        if type(task) is tuple:
            self._worker.task_begun = task[0]
        return task


class _Results:
    """What torch's loop puts its batches into: errors are told as if it had called torch's fetcher."""

    def __init__(self, queue: Any) -> None:
        self._queue = queue

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)

    def put(self, item: tuple[Any, Any]) -> None:
        if isinstance(item[1], ExceptionWrapper):
            item[1].exc_msg = _without_our_frames(item[1].exc_msg)
        self._queue.put(item)


def _without_our_frames(text: str) -> str:
    """A traceback as it were if torch's fetcher had been called by torch's loop."""
    kept, ours = [], False
    for line in text.splitlines(keepends=True):
        if line.startswith('  File "'):
            ours = line.startswith(f'  File "{_HERE}') or line.endswith(f", in {AS_USER}\n")
        elif not line.startswith("    "):
            ours = False
        if not ours:
            kept.append(line)
    return "".join(kept)
