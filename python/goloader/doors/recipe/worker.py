"""What records in a worker process: torch's own fetcher behind stand-ins, whose recipes go home with the batch.

What the core cannot make of them is made here, as eager code makes it, from what was recorded.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch._utils import ExceptionWrapper

from ...state.reports import ReportingWorker
from ..worker.process import Board
from ..worker.slots import Slots
from . import switch
from .as_user import AS_USER
from .fetch import Fetcher
from .image import StandInImage
from .image import become_real as image_becomes_real
from .native import WorkerNative
from .record import Made, Record
from .session import Native, Session
from .shipment import Letter, Recipes, Shipment
from .tensor import StandInTensor
from .tensor import become_real as tensor_becomes_real

__all__ = ["Finish", "TracingWorker"]

_HERE = os.path.dirname(__file__)


@dataclass(frozen=True)
class Finish:
    """A task for a worker: to make what it has recorded of a batch, since the core could not."""

    task: int


class TracingWorker(ReportingWorker):
    """Records the dataset's code in a worker process.

    record  as it stands where the worker is started
    ahead   batches of one worker that may be under way
    """

    def __init__(self, slots: Slots, owner: int, board: Board, every: int | None, record: Record, ahead: int) -> None:
        super().__init__(slots, owner, board, restored=None, finished=False, every=every, seeded=False)
        self.record, self.ahead = record, ahead
        self.tracer: _Tracer | None = None

    def began(self, arguments: dict[str, Any]) -> None:
        """Stands between torch's loop and its queues."""
        super().began(arguments)
        self.record.remote = True
        # One worker tries for all that share the page of its answer.
        self.tries = arguments["worker_id"] == 0 or self.record.page.own
        arguments["index_queue"] = _Tasks(arguments["index_queue"], self)
        arguments["data_queue"] = _Results(arguments["data_queue"])

    def _made(self, make: Callable[[], Any], dataset: Any) -> Any:
        if self.tracer is not None:
            self.tracer.forget()
        self.tracer = _Tracer(super()._made(make, dataset), self.record, self.ahead, self.tries)
        return self.tracer


class _Tracer(Fetcher):
    """Records batches, and leaves to the main process what the core makes of them.

    task   number of the batch that is fetched next
    tries  trials are this worker's matter
    """

    def __init__(self, inner: Any, record: Record, ahead: int, tries: bool) -> None:
        super().__init__(inner, record, workshop=None)
        self.task, self.tries = -1, tries
        # Of batches that the core may fail to make.
        self._past: deque[tuple[int, Recipes]] = deque(maxlen=ahead)
        self._sessions: list[Session] = []
        self._core = WorkerNative()
        self._made: Made | None = None

    def fetch(self, indices: Any) -> Any:
        """The batch of these indices, with stand-ins where the core is to make tensors."""
        switch.pack(None)
        if type(indices) is Finish:
            return next(recipes for task, recipes in self._past if task == indices.task).made()
        if hasattr(type(indices), "__next__"):
            indices = list(indices)  # to go through them twice, in a trial
        self._made = None
        self.forget()
        batch = super().fetch(indices)
        record = self._record
        shipment = Shipment(Letter(self._made, record.trusted, record.off, record.warn), batch)
        self._past.append((self.task, shipment.recipes))
        return shipment

    def forget(self) -> None:
        """What outlives its batch is the dataset's, or another's: it becomes real."""
        sessions, self._sessions = self._sessions, []
        for session in sessions:
            for each in session.living():
                try:
                    if type(each) is StandInImage:
                        image_becomes_real(each, "", note=False)
                    elif isinstance(each, StandInTensor):
                        tensor_becomes_real(each, "")
                except Exception as error:  # whoever touches it gets it too
                    self._record.stop("trace", f"what outlives its batch cannot be made: {error}")
            session.clear()

    def _recorder(self) -> Native:
        return self._core

    def _record_and_make(self, session: Session, indices: Any) -> tuple[Any, Made]:
        held, leaves = self.recorded(session, indices, None)
        self._made = Made.of(self._count(indices), leaves, session)
        self._sessions.append(session)
        return held[0], self._made


class _Tasks:
    """What torch's loop gets its tasks from."""

    def __init__(self, queue: Any, worker: TracingWorker) -> None:
        self._queue, self._worker = queue, worker

    def get(self, timeout: float) -> Any:
        task = self._queue.get(timeout)
        if type(task) is Finish:
            return self._queue.begin(task.task, task)
        if type(task) is tuple and self._worker.tracer is not None:
            self._worker.tracer.task = task[0]
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
