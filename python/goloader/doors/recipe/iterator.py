"""torch's iterator over worker processes that record: what they could record whole is made by the core in this process.

Recipes go to the core as soon as they have arrived, so that pixels are made while the user's code runs; a batch waits
for its own as it is returned.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from torch.utils.data import MapDataPipe, _utils
from torch.utils.data._utils import pin_memory

from ...state.workers import ReportedIterator
from ..worker.iterator import Hire
from ..worker.parcel import Delivered
from .crew import Crews
from .native import CoreNative
from .record import Record
from .same import difference
from .shipment import Arrival
from .worker import Rewind, TracingWorker
from .workshop import Workshop

if TYPE_CHECKING:
    from ..._loader import DataLoader

__all__ = ["TracingIterator"]

# Between two looks at what has arrived while a batch is waited for.
_WAIT_S = 0.01


class TracingIterator(ReportedIterator):
    """The iterator of a loader whose dataset is recorded in its num_workers > 0 processes."""

    def __init__(self, loader: DataLoader[Any], record: Record, workshop: Workshop) -> None:
        self._record, self._workshop = record, workshop
        self._native: CoreNative | None = None
        # Batches that wait for the core, in the order in which it was asked.
        self._asked: deque[Arrival] = deque()
        # How often each worker was told to begin again.
        self._generations = [0] * loader.num_workers
        # torch gives a worker no more batches than this before one of them is returned.
        self._ahead_max = (loader.prefetch_factor or 2) + 1
        self._error: Exception | None = None
        super().__init__(loader)

    def _worker(self) -> TracingWorker:
        return TracingWorker(self._slots, self._owner, self._board, self._every, self._record, self._ahead_max)

    def _hire(self, loader: DataLoader[Any]) -> Hire:
        processes = self._record.tracers(loader.num_workers)
        # A worker_init_fn may do anything to its process, and torch has one for a pipe.
        prepared = loader.worker_init_fn is not None or isinstance(loader.dataset, MapDataPipe)
        if processes == loader.num_workers or prepared:
            self._record.crews = None
            return super()._hire(loader)
        self._record.crews = processes, loader.num_workers
        return Crews(self._worker(), loader.num_workers, processes).process

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        self._begun, self._busy = time.perf_counter(), 0.0
        if self._native is not None:
            self._native.reset()
        self._asked.clear()
        self._generations = [0] * len(self._generations)
        super()._reset(loader, first_iter)

    def _try_get_data(self, timeout: float = _utils.MP_STATUS_CHECK_INTERVAL) -> tuple[bool, Any]:
        error, self._error = self._error, None
        if error is not None:
            raise error
        while True:
            got, item = super()._try_get_data(timeout)
            if not got:
                return False, None
            task, data = item
            info = self._task_info.get(task) if type(task) is int else None
            if info is None:
                return True, item
            arrival = data.batch if isinstance(data, Delivered) else None
            letter = arrival.letter if isinstance(arrival, Arrival) else data
            # An error that arose only as the batch was packed does not say; it arises again.
            generation = self._generations[info[0]]
            if getattr(letter, "generation", generation) != generation:
                continue  # it is being made again
            if isinstance(arrival, Arrival):
                self._ask(arrival)
            return True, item

    def _ask(self, arrival: Arrival) -> None:
        """Has the core begin with a batch."""
        if not arrival.messages:
            return
        self._asked.append(arrival)
        try:
            if self._native is None:
                self._native = CoreNative(self._workshop.core())
            for message in arrival.messages:
                self._native.submit(message)
                arrival.submitted += 1
        except Exception as error:
            arrival.failed = error

    def _accept(self, data: Any, worker: int) -> Any:
        if not isinstance(data, Delivered) or not isinstance(data.batch, Arrival):
            return super()._accept(data, worker)
        arrival, task = data.batch, self._rcvd_idx - 1
        try:
            self._take_arrived()
            while arrival in self._asked and arrival.failed is None:
                self._receive()
            firsts = self._wrong(arrival, worker, task)
            if firsts is None and arrival.messages and self._pin_memory:
                arrival.batch = pin_memory.pin_memory(arrival.batch, self._pin_memory_device)
        except BaseException:
            # Ctrl-C: the batch is the next one still.
            self._task_info[task] = (worker, data)
            self._rcvd_idx = task
            raise
        if firsts is not None:
            self._task_info[task] = (worker, data)
            self._rcvd_idx = task
            self._make_again(firsts)
            return self._next_data()  # type: ignore[no-untyped-call]
        letter = arrival.letter
        self._busy += letter.work.seconds
        self._record.demand = self._busy / (time.perf_counter() - self._begun)
        self._record.steady &= letter.work.steady
        if letter.made is not None:
            self._record.add(letter.made)
            if arrival.check is not None:
                self._record.compared()
        if letter.off is not None and self._record.on:
            self._record.adopt(letter.off, letter.warn)
        return super()._accept(Delivered(arrival.batch, data.extra), worker)

    def _take_arrived(self) -> None:
        """Has the core begin with whatever has arrived."""
        while self._tasks_outstanding > 0 and not self._data_queue.empty():
            try:
                got, item = self._try_get_data(timeout=0)
            except Exception as error:
                self._error = error  # of another batch: when that is waited for
                return
            if not got:
                return
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
            arrays = self._native.receive(arrival.messages[arrival.received], _WAIT_S)
        except Exception as error:
            arrival.failed = error
            arrival.received += 1
        except BaseException:
            self._ask_again()
            raise
        else:
            if arrays is None:
                self._take_arrived()
            else:
                arrival.receive(arrays)

    def _ask_again(self) -> None:
        """What the core has given while Ctrl-C was heard is lost."""
        assert self._native is not None
        self._native.reset()
        asked = [arrival for arrival in self._asked if arrival.failed is None]
        self._asked.clear()
        for arrival in asked:
            arrival.forget()
            self._ask(arrival)

    def _wrong(self, arrival: Arrival, worker: int, task: int) -> dict[int, int] | None:
        """None if a batch can be returned; else the batch of each worker from which on all is to be made again."""
        record = self._record
        if arrival.failed is not None:
            if isinstance(arrival.failed, OSError):
                record.undecoded(arrival.failed)
            else:
                record.trouble(arrival.failed)
            return {worker: task}
        if arrival.check is None:
            return None
        try:
            found = difference(*arrival.check)
        except Exception as error:  # of a user's type
            record.stop("trace", f"samples could not be compared: {type(error).__name__}: {error}")
        else:
            if found is None:
                return None
            reasons = arrival.letter.made.reasons if arrival.letter.made is not None else Counter[tuple[str, str]]()
            record.differs(self._dataset, found, reasons)
        # Nothing that was recorded may be used any more.
        tasks = sorted(self._task_info.items(), reverse=True)
        return {info[0]: other for other, info in tasks} | {worker: task}

    def _make_again(self, firsts: dict[int, int]) -> None:
        """Has workers make a batch without stand-ins, and then all that they have made since."""
        for worker, first in firsts.items():
            for task, info in self._task_info.items():
                if info[0] == worker and task >= first and len(info) == 2:
                    self._task_info[task] = (worker,)
                    self._tasks_outstanding += 1
            self._generations[worker] += 1
            self._index_queues[worker].put(Rewind(first, self._record.off))
