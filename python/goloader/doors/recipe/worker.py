"""What records in a worker process: torch's own fetcher behind stand-ins, whose recipes go home with the batch.

A batch that the core could not make is begun again here, without stand-ins, from where the random generators stood; so
are those that this worker has recorded since, since they may draw other numbers now.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch._utils import ExceptionWrapper

from ...state.reports import ReportingWorker
from ..worker.process import Board
from ..worker.slots import Slots
from . import switch
from .fetch import Fetcher, finish
from .image import StandInImage
from .image import become_real as image_becomes_real
from .native import WorkerNative
from .record import Record
from .session import Session
from .shipment import Letter, Shipment, Work
from .state import State
from .tensor import StandInTensor
from .tensor import become_real as tensor_becomes_real

if TYPE_CHECKING:
    from ..worker.collate import Empty
    from .crew import Seat

__all__ = ["Rewind", "TracingWorker"]

_HERE = os.path.dirname(__file__)

# Batches of an epoch after which a worker looks whether the dataset has changed.
_LOOKS = 4


@dataclass(frozen=True)
class Rewind:
    """A task for a worker: to make a batch again without stand-ins, and then all that came after it.

    off  why nothing is to be recorded any more, if so
    """

    task: int
    off: Any


class TracingWorker(ReportingWorker):
    """Records the dataset's code in a worker process.

    record  as it stands where the worker is started
    ahead   batches of one worker that may be under way
    seat    among the workers of one process; None if it has a process to itself
    """

    seat: Seat | None = None

    def __init__(self, slots: Slots, owner: int, board: Board, every: int | None, record: Record, ahead: int) -> None:
        super().__init__(slots, owner, board, restored=None, finished=False, every=every, seeded=False)
        self.record, self.ahead = record, ahead
        self.tracer: _Tracer | None = None

    def began(self, arguments: dict[str, Any]) -> None:
        """Stands between torch's loop and its queues."""
        super().began(arguments)
        self.record.remote = True
        arguments["index_queue"] = _Tasks(arguments["index_queue"], self)
        arguments["data_queue"] = _Results(arguments["data_queue"], self)

    def _made(self, make: Callable[[], Any], dataset: Any) -> Any:
        if self.tracer is not None:
            self.tracer.forget()
        self.tracer = _Tracer(super()._made(make, dataset), self.record, self.ahead)
        return self.tracer if self.seat is None else _Seated(self.tracer, self.seat)

    def collates(self, empty: Empty) -> None:
        """In a slot of this worker's."""
        if self.seat is None:
            super().collates(empty)
        else:
            self.seat.empty = empty


class _Tracer(Fetcher):
    """Records batches, and leaves to the main process what the core makes of them.

    task        number of the batch that is fetched next
    generation  how often something was begun again
    steady      no sample has changed what another may be made from
    """

    def __init__(self, inner: Any, record: Record, ahead: int) -> None:
        super().__init__(inner, record, workshop=None)
        self.task, self.generation = -1, 0
        self._fresh, self._looks = State(inner.dataset, inner.collate_fn), _LOOKS
        self.steady = True
        # Batches that may have to be made again: number, indices, and where the generators stood.
        self._past: deque[tuple[int, Any, list[Any]]] = deque(maxlen=ahead)
        self._waiting: deque[tuple[int, Any]] = deque()
        self._eager: int | None = None
        self._sessions: list[Session] = []
        self._core = WorkerNative()
        self._made: Record | None = None
        self._check: tuple[Any, Any] | None = None

    def fetch(self, indices: Any) -> Any:
        """The batch of these indices, with stand-ins where the core is to make tensors."""
        begun = time.perf_counter()
        switch.pack(None)
        if hasattr(indices, "__next__"):
            indices = list(indices)  # to go through them again
        self._past.append((self.task, indices, self._generators.save()))
        self._made = self._check = None
        self.forget()
        batch = self._inner.fetch(indices) if self.task == self._eager else super().fetch(indices)
        check = None if self._made is None else self._check
        record = self._record
        # A look at the first batches shows whether samples leave anything to those that come after them.
        if self._looks and self.steady:
            self._looks -= 1
            self.steady = self._fresh.holds() and self._generators.are(self._inner.dataset, self._inner.collate_fn)
        work = Work(time.perf_counter() - begun, self.steady)
        return Shipment(Letter(self.generation, self._made, record.off, record.warn, work), batch, check)

    def rewind(self, order: Rewind) -> tuple[int, Any]:
        """Goes back to a batch, and gives it; those after it come from `again`."""
        self.generation += 1
        if order.off is not None:
            self._record.off = order.off
        past = [*self._past]
        at = next(place for place, (task, *_) in enumerate(past) if task == order.task)
        self._past = deque(past[:at], self._past.maxlen)
        self._generators.restore(past[at][2])
        self._eager = order.task
        self._waiting.extend((task, indices) for task, indices, _ in past[at + 1 :])
        return past[at][:2]

    def again(self) -> tuple[int, Any] | None:
        """A batch that is to be made again."""
        return self._waiting.popleft() if self._waiting else None

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
                    self._record.trouble(error)

    def _accept(self, made: Record) -> None:
        super()._accept(made)
        self._made = made

    def _difference(self, eager: Any, traced: Any) -> str | None:
        # The core is not here: the main process compares.
        self._check = eager, traced
        return None

    def _make_all(self) -> None:
        for session in self._sessions:
            for each in session.living():
                if isinstance(each, StandInTensor) and each.memory.real is None:
                    each.memory.value.make()

    def _unsure(self, found: str | None) -> bool:
        return found is not None or self._record.checks == 0

    def _record_and_make(self, indices: Any, made: Record) -> Any:
        session = Session(self._core, not self._record.keeps)
        held = self._recorded(session, indices)
        made.count(self._count(indices), finish(session, held, None), session)
        self._sessions.append(session)
        return held[0]


class _Seated:
    """A fetcher that fetches where the user's code is to run."""

    def __init__(self, tracer: _Tracer, seat: Seat) -> None:
        self._tracer, self._seat = tracer, seat

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tracer, name)

    def fetch(self, indices: Any) -> Any:
        """The batch of these indices."""
        return self._seat.call(self._tracer.fetch, indices)


class _Tasks:
    """What torch's loop gets its tasks from: first of all those that are made again."""

    def __init__(self, queue: Any, worker: TracingWorker) -> None:
        self._queue, self._worker = queue, worker

    def get(self, timeout: float) -> Any:
        tracer = self._worker.tracer
        if tracer is None:
            return self._queue.get(timeout)
        again = tracer.again()
        if again is None:
            task = self._queue.get(timeout)
            if type(task) is not Rewind:
                if type(task) is tuple:
                    tracer.task = task[0]
                return task
            again = tracer.rewind(task)
        tracer.task = again[0]
        return self._queue.begin(*again)


class _Results:
    """What torch's loop puts its batches into: errors say, too, how often the worker had begun again."""

    def __init__(self, queue: Any, worker: TracingWorker) -> None:
        self._queue, self._worker = queue, worker

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)

    def put(self, item: tuple[Any, Any]) -> None:
        tracer = self._worker.tracer
        if tracer is not None and isinstance(item[1], ExceptionWrapper):
            item[1].generation = tracer.generation  # type: ignore[attr-defined]
            item[1].exc_msg = _without_our_frames(item[1].exc_msg)
        self._queue.put(item)


def _without_our_frames(text: str) -> str:
    """A traceback as it were if torch's fetcher had been called by torch's loop."""
    kept, ours = [], False
    for line in text.splitlines(keepends=True):
        if line.startswith('  File "'):
            ours = line.startswith(f'  File "{_HERE}')
        elif not line.startswith("    "):
            ours = False
        if not ours:
            kept.append(line)
    return "".join(kept)
