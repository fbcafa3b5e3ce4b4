"""torch's iterator over worker processes, with batches that come home through slots."""

from __future__ import annotations

import itertools
import os
import signal
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from ... import _native, _ranks, _told
from ..._beside import Beside
from ...adapters.python import fork_unwarned, is_collected
from ...adapters.torch import POLL_S, PROFILED_WORKERS, StreamEnd, WorkersIterator
from .. import allowed
from . import budget
from .parcel import Delivered
from .process import Board, Greeting, Worker
from .slots import Slots

if TYPE_CHECKING:
    from ..._loader import DataLoader

# Makes the process of torch's next worker: of a multiprocessing context, torch's loop, and its arguments.
Hire = Callable[[Any, Callable[..., None], tuple[Any, ...]], Any]

# Kept beside the loaders from epoch to epoch, so that loaders pickle and copy as torch's do.
_slots: Beside[DataLoader[Any], Slots] = Beside()

# Who takes slots: the workers of one iterator.
_owners = itertools.count(1)


def slots_of(loader: DataLoader[Any]) -> Slots:
    """The slots of a loader, made when they are first asked for. Raises MemoryError if there cannot be any."""
    known = _slots.get(loader)
    if known is None:
        known = _slots[loader] = Slots(budget.bytes_max())
    return known


def without_slots(loader: DataLoader[Any]) -> str | None:
    """Why all batches of a loader's worker processes go torch's way; None if they come through slots."""
    closed = allowed.closed(3) or _native.missing()
    if closed:
        return closed
    if budget.bytes_max() == 0:
        return "GOLOADER_SLOTS_BYTES_MAX is 0"
    try:
        slots_of(loader)
    except MemoryError as error:
        return f"no memory to share, {error}"
    return None


class WorkerIterator(WorkersIterator):
    """torch's iterator for num_workers > 0: its processes, queues, order, shutdown and errors.

    Its processes run Worker.run around torch's own loop, and what comes from them is a Delivered.
    """

    # As an interpreter ends, iterators may go when this module's names are gone already.
    _getpid = staticmethod(os.getpid)

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._slots = slots_of(loader)
        self._owner = next(_owners)
        self._board = Board(loader.num_workers)
        self._pid = self._getpid()
        with fork_unwarned():
            super().__init__(Seen(loader, self._hire(loader)))
        # The range that tools look for in a profile.
        self._profile_name = PROFILED_WORKERS

    def _worker(self) -> Worker:
        """What goes to each worker process; a subclass may have its own."""
        return Worker(self._slots, self._owner, self._board)

    def _hire(self, loader: DataLoader[Any]) -> Hire:
        """What makes worker processes; a subclass may have several workers in one."""
        worker = self._worker()

        def process(context: Any, target: Callable[..., None], arguments: tuple[Any, ...]) -> Any:
            return context.Process(target=worker.run, args=(target, *arguments))

        return process

    def _greeted(self, greeting: Greeting, said: Any) -> None:
        """Called when a worker is ready for the tasks of an epoch, with its Worker.greeting."""

    def _delivered(self, worker: int, extra: Any) -> None:
        """Called as a batch is about to be returned, or its error raised, with what Worker.extra added to it."""

    def _over(self, worker: int, extra: Any) -> None:
        """Called when a worker says that its IterableDataset has no more, perhaps ahead of batches it made before."""

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        self._slots.trim()
        super()._reset(loader, first_iter)
        # A queue that has had nothing yet starts its thread with the word that ends its worker. Where the iterator goes
        # as part of a cycle, the thread would close descriptors that the collector closes as well.
        queues: list[Any] = self._index_queues
        for queue in queues:
            if queue._thread is None:
                queue._start_thread()

    def _accept(self, data: Any, worker: int) -> Any:
        self._delivered(worker, getattr(data, "extra", None))  # an error of the thread that pins has none
        batch = super()._accept(data, worker)
        return batch.batch if isinstance(batch, Delivered) else batch

    def _try_get_data(self, timeout: float = POLL_S) -> tuple[bool, Any]:
        begun = time.monotonic()
        deadline = begun + timeout
        while True:
            got, item = self._take(timeout)
            if not got:
                _ranks.waits(begun)
                return got, item
            if not self._listened(*item):
                _ranks.came()
                return got, item
            timeout = max(0, deadline - time.monotonic())

    def _listened(self, task: Any, data: Any) -> bool:
        """Hears what is said beside batches; True if there was nothing else."""
        if isinstance(task, Greeting):
            self._greeted(task, data)
            return True
        if isinstance(data, StreamEnd):
            self._over(data.worker_id, data.extra)  # type: ignore[attr-defined]
        return False

    def _take(self, timeout: float) -> tuple[bool, Any]:
        """What torch's _try_get_data does, with the deaths of workers in its words and ours."""
        try:
            got: tuple[bool, Any] = super()._try_get_data(timeout)  # type: ignore[no-untyped-call]
        except RuntimeError as error:
            deaths = self._deaths()
            if deaths:
                error.args = (f"{error}: {'; '.join(deaths)}",)
            raise
        return got

    def _get_data(self) -> Any:
        try:
            return super()._get_data()  # type: ignore[no-untyped-call]
        except RuntimeError as error:
            alive = [(number, worker.pid) for number, worker in enumerate(self._workers) if worker.is_alive()]
            for number, pid in alive if self._timeout > 0 else ():
                _told.note(error, f"worker {number} (pid {pid}) {self._board.read(number)}")
            raise

    def _deaths(self) -> list[str]:
        """How workers died, and what each was doing."""
        return [
            f"worker {number} (pid {worker.pid}) {_ending(worker.exitcode)} while it {self._board.read(number)}"
            for number, worker in enumerate(self._workers)
            if worker.exitcode
        ]

    def _shutdown_workers(self) -> None:
        # A process that was forked has the iterator, but its workers are not its children.
        if getattr(self, "_pid", None) != self._getpid():
            return
        if not getattr(self, "_shutdown", True) and not self._exiting():
            self._end_unreachable()
        super()._shutdown_workers()
        # Not at interpreter exit, when torch leaves its workers to the system, and we our memory.
        if getattr(self, "_shutdown", False) and not any(worker.is_alive() for worker in self._workers):
            self._slots.reclaim(self._owner)

    def _end_unreachable(self) -> None:
        """Ends workers whose queues were collected before this iterator, as happens in a cycle of references (an error
        that a batch raised makes one): they cannot be told to end, and torch waits 5 seconds for each of them."""
        left = {number for number, tasks in enumerate(self._index_queues) if is_collected(tasks)}
        if left:
            self._workers_done_event.set()  # they begin with no other batch
            self._expect_deaths()
        deadline = time.monotonic() + POLL_S
        while left and time.monotonic() < deadline:
            idle = {number for number in left if self._board.read(number).batch is None}
            for number in idle:
                self._workers[number].terminate()
            left -= idle
            if left:
                time.sleep(0.005)


def _ending(code: int) -> str:
    if code > 0:
        return f"exited with code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


class Seen:
    """A loader as torch's iterator sees it: with processes that run our worker."""

    def __init__(self, loader: DataLoader[Any], hire: Hire) -> None:
        self.loader = loader
        self.multiprocessing_context = _Context(loader.multiprocessing_context or torch.multiprocessing, hire)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)


class _Context:
    """A multiprocessing context, or module, whose processes run our worker around their target."""

    def __init__(self, context: Any, hire: Hire) -> None:
        self._context, self._hire = context, hire

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def Process(self, *, target: Callable[..., None], args: tuple[Any, ...]) -> Any:  # noqa: N802, torch calls it so
        return self._hire(self._context, target, args)
