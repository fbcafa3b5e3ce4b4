"""What runs in a worker process: torch's own loop, between two queues that pack its batches and note its progress.

torch's loop, its seeds, its fetchers, the user's functions and their tracebacks are as they are; only what the loop
takes from its index queue and puts into its data queue passes through here.
"""

from __future__ import annotations

import gc
import inspect
import mmap
import multiprocessing
import os
import queue
import struct
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import reduction
from typing import Any, NamedTuple

from ...adapters.torch import ExceptionWrapper, Resume, StreamEnd, dataset_of
from . import collate
from .parcel import Packer
from .slots import Slots

# A record: batch, position in the batch, whether the index is a number, index, and the text of one that is not.
_TEXT_BYTES = 96
_RECORD = struct.Struct(f"qqqq{_TEXT_BYTES}s")
_NOTHING = -1


@dataclass(frozen=True)
class Progress:
    """What a worker was doing when somebody looked.

    batch     its number in the epoch; None before the first and between two
    position  of the sample in its batch; None if the dataset loads the whole batch, or collates it
    index     of the sample, as text; "" if not known
    """

    batch: int | None
    position: int | None
    index: str

    def __str__(self) -> str:
        if self.batch is None:
            return "had no batch to work on"
        if self.position is None:
            return f"worked on batch {self.batch}" + (f" (index {self.index})" if self.index else "")
        named = f" (index {self.index})" if self.index else ""
        return f"worked on batch {self.batch}, sample {self.position}{named}"


class Board:
    """A record for each worker, in memory that can be read after a worker was killed."""

    def __init__(self, workers: int) -> None:
        fd = os.memfd_create("goloader-board")
        os.ftruncate(fd, workers * _RECORD.size)
        self._keep(fd)
        for worker in range(workers):
            self.record(worker).cast("q")[0] = _NOTHING

    @classmethod
    def _open(cls, duplicate: Any) -> Board:
        self = cls.__new__(cls)
        self._keep(duplicate.detach())
        return self

    def __reduce__(self) -> tuple[Callable[..., Board], tuple[Any]]:
        return Board._open, (reduction.DupFd(self._fd),)

    def _keep(self, fd: int) -> None:
        self._fd, self._memory = fd, mmap.mmap(fd, 0)
        weakref.finalize(self, os.close, fd).atexit = False

    def record(self, worker: int) -> memoryview:
        """The bytes of one record."""
        return memoryview(self._memory)[worker * _RECORD.size : (worker + 1) * _RECORD.size]

    def read(self, worker: int) -> Progress:
        """What a worker was doing when it last wrote."""
        batch, position, numeric, number, text = _RECORD.unpack(self.record(worker))
        index = str(number) if numeric else text.partition(b"\0")[0].decode(errors="replace")
        return Progress(None if batch == _NOTHING else batch, None if position == _NOTHING else position, index)


class Greeting(NamedTuple):
    """What stands in place of a batch's number where a worker is ready for an epoch, the `start`th that it begins; or
    where it was asked for a greeting."""

    worker: int
    start: int
    asked: bool = False


class Ask(NamedTuple):
    """What the iterator sends in place of a task to be greeted."""


class Worker:
    """Goes to a worker process with torch's own arguments, by fork or as a pickle.

    A subclass may look at what torch's loop was given (`began`), may add something to whatever goes home (`greeting`
    and `extra`, which the iterator gets in `_greeted` and `_delivered`), and may have tasks of its own kind (`task`).
    """

    def __init__(self, slots: Slots, owner: int, board: Board) -> None:
        self.slots, self.owner, self.board = slots, owner, board
        self.starts = 0  # epochs begun
        self.greeted = False

    def began(self, arguments: dict[str, Any]) -> None:
        """Called once, in the worker process, with the arguments of torch's loop by their names; may replace them."""

    def resuming(self) -> None:
        """Called in a persistent worker before torch's loop makes the fetcher of another epoch."""

    def greeting(self) -> Any:
        """Small, to be pickled; asked for when the worker is ready for the tasks of an epoch."""
        return None

    def task(self, batch: int, index: Any) -> Any:
        """The index that torch's loop gets, for what the iterator sent for a batch."""
        return index

    def extra(self, *, over: bool) -> Any:
        """Small, to be pickled, for the batch that was just made, or for its error; `over` if there was nothing more.

        Must not raise.
        """
        return None

    def collates(self, empty: collate.Empty) -> None:
        """Has default_collate take its tensors from `empty`."""
        collate.install(empty)

    def run(self, loop: Callable[..., None], *positional: Any) -> None:
        """The worker process's target in place of torch's `loop`."""
        # A collection that goes through all objects of the process that this one was forked from has the system copy
        # their memory, page by page: 0.2 to 0.5 s. So they are left out of collections.
        gc.freeze()
        arguments = inspect.signature(loop).bind(*positional).arguments
        worker = arguments["worker_id"]
        progress = _Note(self.board.record(worker))
        packer = Packer(self.slots, self.owner)
        # Else the dataset itself is given the index: a list, say, of batch_size=None.
        singly = arguments["auto_collation"] and not hasattr(dataset_of(arguments), "__getitems__")
        self.collates(lambda shape, dtype: packer.empty(shape, dtype) if progress.collating else None)
        data_queue = _DataQueue(arguments["data_queue"], self, packer, progress, worker)
        arguments["index_queue"] = _IndexQueue(arguments["index_queue"], data_queue, self, progress, singly)
        arguments["data_queue"] = data_queue
        self.began(arguments)
        loop(**arguments)


class _Note:
    """Writes this worker's record."""

    def __init__(self, record: memoryview) -> None:
        self._record, self._words = record, record.cast("q")
        self.collating = False
        self.idle()

    def idle(self) -> None:
        self._words[0] = self._words[1] = _NOTHING

    def batch(self, number: int) -> None:
        self._words[1] = _NOTHING
        self._index(None)
        self._words[0] = number

    def sample(self, position: int, index: Any) -> None:
        self._index(index)
        self._words[1] = position

    def _index(self, index: Any) -> None:
        words = self._words
        if type(index) is int and -(2**63) <= index < 2**63:
            words[3] = index
            words[2] = 1
        elif index is None:
            words[2] = words[4] = 0
        else:
            text = repr(index).encode(errors="replace")[:_TEXT_BYTES]
            _RECORD.pack_into(self._record, 0, words[0], words[1], 0, 0, text)


class _Samples(list[Any]):
    """The indices of a batch, which note how far torch's fetcher has come with them."""

    note: _Note

    def __iter__(self) -> Iterator[Any]:
        note = self.note
        note.collating = False
        for position, index in enumerate(super().__iter__()):
            note.sample(position, index)
            yield index
        note.batch(note._words[0])
        note.collating = True


class _IndexQueue:
    """What torch's loop gets its tasks from.

    Ends the worker when the process that wants its batches is gone: torch's loop looks for the parent in the system's
    sense, and that of a worker from a fork server is the server, which lives as long as its workers do.
    """

    def __init__(self, tasks: Any, batches: _DataQueue, worker: Worker, note: _Note, singly: bool) -> None:
        self._tasks, self._batches, self._worker, self._note, self._singly = tasks, batches, worker, note, singly

    def get(self, timeout: float) -> Any:
        self._note.idle()  # also after a task that torch's loop has left alone, as it is to end
        if not self._worker.greeted:
            self._batches.greet()
        try:
            task = self._tasks.get(timeout=timeout)
            while type(task) is Ask:
                self._batches.greet(asked=True)
                task = self._tasks.get(timeout=timeout)
        except queue.Empty:
            parent = multiprocessing.parent_process()
            if parent is not None and not parent.is_alive():
                self._batches.cancel_join_thread()  # nobody takes what is in there
                raise SystemExit from None
            raise
        return self.begin(*task) if type(task) is tuple else task

    def begin(self, batch: int, index: Any) -> tuple[int, Any]:
        """A task, whose progress is noted."""
        note = self._note
        note.batch(batch)
        note.collating = True
        index = self._worker.task(batch, index)
        if type(index) is not list:
            note._index(index)
        elif self._singly:
            index = _Samples(index)
            index.note = note
        return batch, index


class _DataQueue:
    """What torch's loop puts its batches into."""

    def __init__(self, queue: Any, worker: Worker, packer: Packer, note: _Note, number: int) -> None:
        self._queue, self._worker, self._packer, self._note, self._number = queue, worker, packer, note, number

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)

    def greet(self, *, asked: bool = False) -> None:
        """Says that the worker is ready for an epoch, or how it is if it was asked."""
        worker = self._worker
        if not asked:
            worker.starts, worker.greeted = worker.starts + 1, True
        self._queue.put((Greeting(self._number, worker.starts, asked), worker.greeting()))

    def put(self, item: tuple[Any, Any]) -> None:
        task, made = item
        if type(task) is int:
            item = task, self._packed(made)
        elif isinstance(task, Resume):
            self._worker.resuming()
            self._worker.greeted = False
        self._packer.forget()
        self._queue.put(item)

    def _packed(self, made: Any) -> Any:
        """A batch as a parcel; what torch's loop puts in place of one with our extra as an attribute."""
        extra = self._worker.extra(over=isinstance(made, StreamEnd))
        if not isinstance(made, ExceptionWrapper | StreamEnd):
            try:
                return self._packer.pack(made, extra)
            except Exception:
                made = ExceptionWrapper(where=f"in DataLoader worker process {self._number}")
        object.__setattr__(made, "extra", extra)  # one of them is frozen
        return made
