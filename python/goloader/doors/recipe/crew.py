"""Several workers in one process: tracers are as many as there is work for, random streams as many as workers.

Each worker is torch's own loop, in a thread of its own with its own tasks. They take turns, the earliest batch first.
The user's code runs in the process's main thread, and finds random generators, get_worker_info() and what the dataset
keeps in plain attributes and containers as its worker left them, as if each had a process to itself.
"""

from __future__ import annotations

import copy
import heapq
import inspect
import queue
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data._utils import worker as torch_worker

from ...adapters.torch import dataset_of
from ..worker import collate
from .rng import Generators
from .state import State

if TYPE_CHECKING:
    from .worker import TracingWorker

__all__ = ["Crews", "Seat"]

Loop = Callable[..., None]

# The turn of who has no batch: it is about to greet, or to begin an epoch.
_FIRST = -1


class Crews:
    """Deals workers out to processes, as torch's iterator starts them one by one.

    worker     what runs around torch's loop in each
    workers    how many there are
    processes  how many they share, no more than workers
    """

    def __init__(self, worker: TracingWorker, workers: int, processes: int) -> None:
        self._worker, self._started = worker, 0
        self._crews = [_Hired(len(range(number, workers, processes))) for number in range(processes)]

    def process(self, context: Any, loop: Loop, arguments: tuple[Any, ...]) -> _Member:
        """What torch's iterator takes for the next worker's process."""
        hired = self._crews[self._started % len(self._crews)]
        self._started += 1
        return _Member(hired, context, self._worker, loop, arguments)


class _Hired:
    """Workers that are waiting for the last of them, and then their process."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.members: list[tuple[Loop, tuple[Any, ...]]] = []
        self.process: Any = None


class _Member:
    """Stands for a worker's process, which is the whole crew's."""

    daemon = True  # torch says so before it starts one

    def __init__(
        self, hired: _Hired, context: Any, worker: TracingWorker, loop: Loop, arguments: tuple[Any, ...]
    ) -> None:
        self._hired, self._context, self._worker = hired, context, worker
        self._task = loop, arguments

    def start(self) -> None:
        hired = self._hired
        hired.members.append(self._task)
        if len(hired.members) == hired.size:
            hired.process = self._context.Process(target=_run, args=(self._worker, hired.members))
            hired.process.daemon = True
            hired.process.start()
            hired.members = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hired.process, name)


def _run(worker: TracingWorker, members: Sequence[tuple[Loop, tuple[Any, ...]]]) -> None:
    """The target of a crew's process."""
    # As torch's loops do for the threads that they run in.
    torch.set_num_threads(1)
    torch.multiprocessing._set_thread_name("pt_data_worker")
    _Crew(worker, members).run()


class _Crew:
    """The workers of a process, and whose turn it is."""

    def __init__(self, worker: TracingWorker, members: Sequence[tuple[Loop, tuple[Any, ...]]]) -> None:
        tasks = [(loop, inspect.signature(loop).bind(*arguments).arguments) for loop, arguments in members]
        first = tasks[0][1]
        roots = dataset_of(first), first["collate_fn"]
        self.generators, self.fresh = Generators(*roots), State(*roots)
        self.roots = roots
        outbox = _Outbox(first["data_queue"], len(tasks))
        self.seats = [Seat(self, copy.copy(worker), loop, arguments, outbox) for loop, arguments in tasks]
        self._calls: queue.SimpleQueue[Callable[[], None] | Seat] = queue.SimpleQueue()
        self._condition = threading.Condition()
        self._taken = False
        self._waiting: list[int] = []
        self._last: Seat | None = None

    def run(self) -> None:
        """Runs what workers ask for in this thread, until all have ended. Raises what ended one of them."""
        collate.install(lambda shape, dtype: None if self._last is None else self._last.empty(shape, dtype))
        for seat in self.seats:
            threading.Thread(target=self._work, args=(seat,), daemon=True).start()
        left = len(self.seats)
        while left:
            try:
                call = self._calls.get()
                if isinstance(call, Seat):
                    left -= 1
                    if call.error is not None:
                        raise call.error
                else:
                    call()
            except KeyboardInterrupt:
                return  # as torch's loop ends

    def _work(self, seat: Seat) -> None:
        try:
            self.take(seat, _FIRST)
            seat.run()
        except SystemExit:
            pass
        except BaseException as error:
            seat.error = error
        finally:
            self.give(seat)
            self._calls.put(seat)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function gives, or raises, in the process's main thread, which ends at anything but an Exception."""
        answer: queue.SimpleQueue[tuple[Any, Exception | None]] = queue.SimpleQueue()

        def run() -> None:
            try:
                answer.put((function(*arguments), None))
            except Exception as error:
                answer.put((None, error))

        self._calls.put(run)
        made, error = answer.get()
        if error is None:
            return made
        try:
            raise error
        finally:
            del error  # it has this frame

    def take(self, seat: Seat, batch: int) -> None:
        """Waits until it is this worker's turn, before those with later batches."""
        with self._condition:
            heapq.heappush(self._waiting, batch)
            self._condition.wait_for(lambda: not self._taken and self._waiting[0] == batch)
            heapq.heappop(self._waiting)
            self._taken = seat.has_turn = True
        if self._last is not seat:
            if self._last is not None:
                self._last.leave()
            seat.enter()
            self._last = seat

    def give(self, seat: Seat) -> None:
        """Ends a turn."""
        with self._condition:
            if seat.has_turn:
                self._taken = seat.has_turn = False
                self._condition.notify_all()


class Seat:
    """A worker among others, and what it finds where its turn begins.

    empty     where its collated tensors go
    error     what ended it
    has_turn  it may run
    """

    def __init__(self, crew: _Crew, worker: TracingWorker, loop: Loop, arguments: dict[str, Any], outbox: Any) -> None:
        self._crew, self._worker, self._loop = crew, worker, loop
        worker.seat = self
        self._arguments = arguments | {"index_queue": _Inbox(arguments["index_queue"], self), "data_queue": outbox}
        self.empty: collate.Empty = lambda shape, dtype: None
        self.error: BaseException | None = None
        self.has_turn = False
        self._streams = crew.generators.save()
        self._info: Any = None
        self._state: State | None = None

    def run(self) -> None:
        """torch's loop."""
        self._worker.run(self._loop, *self._arguments.values())

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function gives, or raises, in the process's main thread."""
        return self._crew.call(function, *arguments)

    def enter(self) -> None:
        """Puts back what this worker left."""
        self._crew.generators.restore(self._streams)
        torch_worker._worker_info = self._info
        if self._state is not None:
            self._state.restore()

    def leave(self) -> None:
        """Notes how this worker leaves things, and puts back what all had found at first."""
        self._streams = self._crew.generators.save()
        self._info = torch_worker._worker_info
        if not self._crew.fresh.holds():
            self._state = State(*self._crew.roots)
            self._crew.fresh.restore()

    def rest(self) -> None:
        """Lets others have a turn."""
        self._crew.give(self)

    def go_on(self, batch: int) -> None:
        """Waits for a turn."""
        self._crew.take(self, batch)


class _Inbox:
    """A worker's queue of tasks: others have their turn while it waits."""

    def __init__(self, tasks: Any, seat: Seat) -> None:
        self._tasks, self._seat = tasks, seat

    def get(self, timeout: float) -> Any:
        self._seat.rest()
        task = self._tasks.get(timeout=timeout)
        self._seat.go_on(task[0] if type(task) is tuple else _FIRST)
        return task


class _Outbox:
    """The queue of batches, which the last worker closes."""

    def __init__(self, batches: Any, users: int) -> None:
        self._batches, self._users = batches, users
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batches, name)

    def close(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._batches.close()
