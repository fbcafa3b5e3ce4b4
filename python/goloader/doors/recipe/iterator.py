"""torch's iterator over worker processes that record: what they could record whole is made by the core in this process.

Recipes go to the core as soon as they have arrived, so that pixels are made while the user's code runs; a batch waits
for its own as it is returned.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any

from torch.utils.data import _utils
from torch.utils.data._utils import pin_memory

from ...adapters.torch import StreamEnd
from ...state.workers import ReportedIterator
from ..worker.parcel import Delivered
from .arrival import Arrival, Finish
from .record import Record
from .worker import TracingWorker
from .workshop import Workshop

if TYPE_CHECKING:
    from ..._loader import DataLoader
    from .native import CoreNative

# Between two looks at what has arrived while a batch is waited for.
_WAIT_S = 0.01


class TracingIterator(ReportedIterator):
    """The iterator of a loader whose dataset is recorded in its num_workers > 0 processes."""

    def __init__(self, loader: DataLoader[Any], record: Record, workshop: Workshop) -> None:
        self._record, self._workshop = record, workshop
        self._native: CoreNative | None = None
        # Batches that wait for the core, in the order in which it was asked.
        self._asked: deque[Arrival] = deque()
        # Batches that the core could not make, by their numbers, and that their workers are making.
        self._unfinished: dict[int, Delivered] = {}
        # torch gives a worker no more batches than this before one of them is returned.
        self._ahead_max = (loader.prefetch_factor or 2) + 1
        self._error: Exception | None = None
        # That a worker's stream has no more, by the task that showed it: it may be asked for batches before that one.
        self._ends: dict[int, Any] = {}
        super().__init__(loader)

    def _worker(self) -> TracingWorker:
        return TracingWorker(self._slots, self._owner, self._board, self._every, self._record, self._ahead_max)

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        if self._native is not None:
            self._native.reset()
        self._asked.clear()
        self._unfinished.clear()
        self._ends.clear()
        super()._reset(loader, first_iter)

    def _try_get_data(self, timeout: float = _utils.MP_STATUS_CHECK_INTERVAL) -> tuple[bool, Any]:
        error, self._error = self._error, None
        if error is not None:
            raise error
        while self._rcvd_idx not in self._ends:
            got, item = self._next_arrived(timeout)
            if item is not None or not got:
                return got, item
        return True, (self._rcvd_idx, self._ends.pop(self._rcvd_idx))

    def _next_arrived(self, timeout: float) -> tuple[bool, Any]:
        """What came next, if anything; the core has begun with it if it is a batch. The end of a stream is kept."""
        got, item = super()._try_get_data(timeout)
        if not got:
            return False, None
        task, data = item
        if isinstance(data, StreamEnd):
            self._ends[task] = data
            return True, None
        arrival = data.batch if isinstance(data, Delivered) else None
        if isinstance(arrival, Arrival) and task in self._task_info:
            self._ask(arrival)
        return True, item

    def _ask(self, arrival: Arrival) -> None:
        """Has the core begin with a batch."""
        if not arrival.messages:
            return
        self._asked.append(arrival)
        try:
            if self._native is None:
                from .native import CoreNative  # no earlier than there is something recorded

                self._native = CoreNative(self._workshop.core())
            for message in arrival.messages:
                self._native.submit(message, pinned=self._pin_memory)
                arrival.submitted += 1
        except Exception as error:
            arrival.failed = error

    def _accept(self, data: Any, worker: int) -> Any:
        task = self._rcvd_idx - 1
        waiting = self._unfinished.pop(task, None)
        if waiting is not None:
            return self._finished(waiting, data, worker)
        if not isinstance(data, Delivered) or not isinstance(data.batch, Arrival):
            if isinstance(data, Delivered):
                self._record.hear()
                self._record.begun += not self._record.trusted
            return super()._accept(data, worker)
        arrival = data.batch
        try:
            self._take_arrived()
            begun = time.monotonic()
            while arrival in self._asked and arrival.failed is None:
                self._receive()
                if 0 < self._timeout < time.monotonic() - begun and arrival in self._asked:
                    raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
        except BaseException:
            # Ctrl-C, or time is up: the batch is the next one still.
            self._task_info[task] = (worker, data)
            self._rcvd_idx = task
            raise
        if arrival.failed is not None:
            self._unfinished[task] = data
            self._task_info[task] = (worker,)
            self._tasks_outstanding += 1
            self._rcvd_idx = task
            self._index_queues[worker].put(Finish(task))
            return self._next_data()  # type: ignore[no-untyped-call]
        return self._returned(data, worker)

    def _finished(self, waiting: Delivered, data: Any, worker: int) -> Any:
        """A batch for which its worker was asked, which has sent what the core could not make, or an error."""
        if not isinstance(data, Delivered):
            data.extra = waiting.extra
            return super()._accept(data, worker)
        waiting.batch.fill(data.batch.batch if isinstance(data.batch, Arrival) else data.batch)
        return self._returned(waiting, worker)

    def _returned(self, data: Delivered, worker: int) -> Any:
        arrival: Arrival = data.batch
        if arrival.messages and self._pin_memory:
            arrival.batch = pin_memory.pin_memory(arrival.batch, self._pin_memory_device)
        self._record.know(arrival.letter)
        return super()._accept(Delivered(arrival.batch, data.extra), worker)

    def _doing(self) -> str:
        return "" if self._native is None else self._native.doing()

    def _take_arrived(self) -> None:
        """Has the core begin with whatever has arrived."""
        while self._tasks_outstanding > 0 and not self._data_queue.empty():
            try:
                got, item = self._next_arrived(timeout=0)
            except Exception as error:
                self._error = error  # of another batch: when that is waited for
                return
            if not got:
                return
            if item is None:
                continue
            self._task_info[item[0]] += (item[1],)
            self._tasks_outstanding -= 1

    def _receive(self) -> None:
        """Takes from the core what it made next, and from the workers what has arrived meanwhile."""
        arrival = self._asked[0]
        if arrival.received == arrival.submitted:
            self._asked.popleft()
            return
        assert self._native is not None  # it was asked
        try:
            blocks = self._native.receive(_WAIT_S)
        except Exception as error:
            arrival.failed = error
            arrival.received += 1
        except BaseException:
            self._ask_again()
            raise
        else:
            if blocks is None:
                self._take_arrived()
            else:
                arrival.receive(blocks)

    def _ask_again(self) -> None:
        """What the core has given while Ctrl-C was heard is lost."""
        assert self._native is not None
        self._native.reset()
        asked = [arrival for arrival in self._asked if arrival.failed is None]
        self._asked.clear()
        for arrival in asked:
            arrival.forget()
            self._ask(arrival)
