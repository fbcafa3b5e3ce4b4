"""What records in a worker process: torch's own fetcher behind stand-ins, whose recipes go home with the batch.

What the core cannot make of them is made here, as eager code makes it, from what was recorded.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from . import switch
from .arrival import Finish, Letter
from .fetch import Fetcher
from .native import WorkerNative
from .record import Made
from .session import Native, Session
from .shipment import Recipes, Shipment
from .stand_ins.array import StandInArray
from .stand_ins.escape import make_real

if TYPE_CHECKING:
    from .worker import TracingWorker

__all__ = ["Tracer"]


class Tracer(Fetcher):
    """Records batches, and leaves to the main process what the core makes of them.

    worker  whose batches these are
    """

    def __init__(self, inner: Any, worker: TracingWorker) -> None:
        super().__init__(inner, worker.record, workshop=None)
        self._worker, self.tries = worker, worker.tries
        # Of batches that the core may fail to make.
        self._past: deque[tuple[int, Recipes]] = deque(maxlen=worker.ahead)
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
        self._past.append((self._worker.task_begun, shipment.recipes))
        return shipment

    def forget(self) -> None:
        """What outlives its batch is the dataset's, or another's: it becomes real."""
        sessions, self._sessions = self._sessions, []
        for session in sessions:
            for each in session.parted() if self.streams else session.living():
                try:
                    if type(each) is not StandInArray:
                        make_real(each)
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
