"""What runs in a worker process: torch's own loop, between two queues that pack its batches and note its progress.

torch's loop, its seeds, its fetchers, the user's functions and their tracebacks are as they are; only what the loop
takes from its index queue and puts into its data queue passes through here.
"""

from __future__ import annotations

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
from typing import Any

from torch._utils import ExceptionWrapper
from torch.utils.data._utils.worker import _IterableDatasetStopIteration

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


class Worker:
    """Goes to a worker process with torch's own arguments, by fork or as a pickle.

    A subclass may add something to every batch (`extra`, which the iterator gets in `_received`) and may look at what
    torch's loop was given (`began`).
    """

    def __init__(self, slots: Slots, owner: int, board: Board) -> None:
        self.slots, self.owner, self.board = slots, owner, board

    def began(self, arguments: dict[str, Any]) -> None:
        """Called once, in the worker process, with the arguments of torch's loop by their names; may replace them."""

    def extra(self) -> Any:
        """Small, to be pickled, for the batch that was just made."""
        return None

    def run(self, loop: Callable[..., None], *positional: Any) -> None:
        """The worker process's target in place of torch's `loop`."""
        arguments = inspect.signature(loop).bind(*positional).arguments
        worker = arguments["worker_id"]
        progress = _Note(self.board.record(worker))
        packer = Packer(self.slots, self.owner)
        dataset = arguments["dataset_holder"][0] if "dataset_holder" in arguments else arguments["dataset"]
        whole = hasattr(dataset, "__getitems__")
        del dataset
        collate.install(lambda shape, dtype: packer.empty(shape, dtype) if progress.collating else None)
        data_queue = arguments["data_queue"]
        arguments["index_queue"] = _IndexQueue(arguments["index_queue"], progress, whole, data_queue.cancel_join_thread)
        arguments["data_queue"] = _DataQueue(data_queue, self, packer, progress, worker)
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

    def __init__(self, tasks: Any, note: _Note, whole: bool, leave: Callable[[], None]) -> None:
        """`leave` lets the worker end with batches that nobody took."""
        self._tasks, self._note, self._whole, self._leave = tasks, note, whole, leave

    def get(self, timeout: float) -> Any:
        try:
            task = self._tasks.get(timeout=timeout)
        except queue.Empty:
            parent = multiprocessing.parent_process()
            if parent is not None and not parent.is_alive():
                self._leave()
                raise SystemExit from None
            raise
        return self._begin(*task) if type(task) is tuple else task

    def _begin(self, batch: int, index: Any) -> tuple[int, Any]:
        note = self._note
        note.batch(batch)
        note.collating = True
        if type(index) is not list:
            note._index(index)
        elif not self._whole:
            index = _Samples(index)
            index.note = note
        return batch, index


class _DataQueue:
    """What torch's loop puts its batches into."""

    def __init__(self, queue: Any, worker: Worker, packer: Packer, note: _Note, number: int) -> None:
        self._queue, self._worker, self._packer, self._note, self._number = queue, worker, packer, note, number

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)

    def put(self, item: tuple[Any, Any]) -> None:
        task, batch = item
        if type(task) is int and not isinstance(batch, ExceptionWrapper | _IterableDatasetStopIteration):
            try:
                item = task, self._packer.pack(batch, self._worker.extra())
            except Exception:
                item = task, ExceptionWrapper(where=f"in DataLoader worker process {self._number}")
        self._packer.forget()
        self._note.idle()
        self._queue.put(item)
