"""What torch keeps private about its DataLoader and pytrees, from 2.4 on. Only this file knows how versions differ."""

from __future__ import annotations

import dis
import functools
import inspect
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from types import CodeType, FrameType, FunctionType
from typing import Any

import torch
from torch import distributed
from torch._utils import ExceptionWrapper
from torch.utils import _pytree as pytree
from torch.utils._device import DeviceContext
from torch.utils.data import DataLoader, _utils
from torch.utils.data._utils import collate, fetch, worker
from torch.utils.data._utils.pin_memory import pin_memory
from torch.utils.data._utils.worker import _IterableDatasetStopIteration, _ResumeIteration
from torch.utils.data.dataloader import _BaseDataLoaderIter as BaseIterator
from torch.utils.data.dataloader import _DatasetKind as DatasetKind
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter, _SingleProcessDataLoaderIter

__all__ = [
    "POLL_S", "PROFILED_INLINE", "PROFILED_WORKERS", "BaseIterator", "DatasetKind", "ExceptionWrapper",
    "InlineIterator", "MapFetcher", "Resume", "StreamEnd", "WorkersIterator", "begin", "called_by", "check_workers",
    "collate", "convolves_plainly", "dataset_of", "default_device", "default_store", "exp", "fetch", "float_settings",
    "gives", "group_timeout", "in_order_argument", "instead", "jagged", "multiplies_plainly", "pin_memory", "placed",
    "profiled", "pytree", "storage_uses", "worker",
]  # fmt: skip

InlineIterator = _SingleProcessDataLoaderIter
MapFetcher = fetch._MapDatasetFetcher
# The names under which torch's profiler shows its iterators.
PROFILED_INLINE = f"enumerate(DataLoader)#{_SingleProcessDataLoaderIter.__name__}.__next__"
PROFILED_WORKERS = f"enumerate(DataLoader)#{_MultiProcessingDataLoaderIter.__name__}.__next__"
# Whether a profile is being made.
profiled: Callable[[], bool] = torch._C._autograd._profiler_enabled
# How many tensors and storages refer to a storage's memory, by its _cdata; 0: this version does not say.
storage_uses: Callable[[int], int] = getattr(torch._C, "_storage_Use_Count", lambda _: 0)
# What a worker puts in place of a batch where its IterableDataset has no more.
StreamEnd = _IterableDatasetStopIteration
# What a persistent worker gets, and gives back, as another epoch begins.
Resume = _ResumeIteration
# How long torch waits for a batch before it looks whether the workers live.
POLL_S: float = _utils.MP_STATUS_CHECK_INTERVAL

# torch 2.5 and older have no in_order: their batches always come in order.
_KNOWS_IN_ORDER = "in_order" in inspect.signature(DataLoader.__init__).parameters
# torch 2.6 and older do not say which worker made the batch that _process_data is given.
_SAYS_WORKER = "worker_idx" in inspect.signature(_MultiProcessingDataLoaderIter._process_data).parameters
# torch 2.5 and older count a batch as received in _process_data, later ones before they call it.
_COUNTS_LATE = "_rcvd_idx" in _MultiProcessingDataLoaderIter._process_data.__code__.co_names


_CPU = torch.device("cpu")
# What torch.get_default_device() looks at: how many function modes there are, and what set_default_device() has set.
_modes: Callable[[], int] = getattr(torch._C, "_len_torch_function_stack", lambda: 1)
_set = getattr(torch, "_GLOBAL_DEVICE_CONTEXT", None)


def default_device() -> torch.device:
    """torch.get_default_device(), which takes 10 us to say that none was set, and until torch 2.5 does not see
    `with torch.device(...)`."""
    none = _set is not None and not _modes() and getattr(_set, "device_context", None) is None
    if none:
        return _CPU
    modes = torch.overrides._get_current_function_mode_stack()
    devices = [mode.device for mode in modes if type(mode) is DeviceContext]
    return devices[-1] if devices else torch.get_default_device()


def default_store() -> Any:
    """The store by which the processes of torch.distributed found each other."""
    return distributed.distributed_c10d._get_default_store()


def group_timeout(group: Any) -> timedelta | None:
    """How long the processes of a group of torch.distributed wait for each other; None if it does not say."""
    backends = (group._get_backend(device) for device in group._device_types)
    found: timedelta | None = next((each.options._timeout for each in backends if hasattr(each, "options")), None)
    return found


def jagged(values: torch.Tensor, offsets: torch.Tensor, shortest: int, longest: int) -> torch.Tensor:
    """The nested tensor of rows values[offsets[i]:offsets[i + 1]], which knows how long these are, as one does that
    torch makes of a list."""
    known = {"min_seqlen": shortest, "max_seqlen": longest}
    make: Any = torch.nested.nested_tensor_from_jagged
    if "min_seqlen" in inspect.signature(make).parameters:
        made: torch.Tensor = make(values, offsets, **known)
        return made
    older: Any = make(values, offsets)  # torch 2.4
    older._metadata_cache = known
    return older  # type: ignore[no-any-return]


def in_order_argument(wanted: bool) -> dict[str, bool]:
    """The argument for torch's DataLoader. Raises TypeError, in torch's words, for False where torch has none."""
    return {"in_order": wanted} if _KNOWS_IN_ORDER or not wanted else {}


def dataset_of(arguments: dict[str, Any]) -> Any:
    """The dataset among the arguments of torch's loop of a worker, by their names."""
    return arguments["dataset_holder"][0] if "dataset_holder" in arguments else arguments["dataset"]


def _as_torch(call: Any, caller: Any, called: str) -> Any:
    """`call` as if from the line of torch's function that calls a method of that name: warnings name the line."""
    code = caller.__code__
    at = next((each.offset for each in dis.get_instructions(code) if each.argval == called), 0)
    line = [line for begin, line in dis.findlinestarts(code) if begin <= at][-1]
    return placed(call, code, line, caller.__globals__)


def placed(call: Any, code: CodeType, line: int, names: dict[str, Any]) -> Any:
    """`call`, a lambda, as if it stood at that line of other code."""
    here = call.__code__.replace(co_filename=code.co_filename, co_name=code.co_name, co_firstlineno=line)
    return FunctionType(here, names)


# Warns where a loader has more workers than there are cores, as torch does when it makes an iterator.
check_workers: Callable[[Any], None] = _as_torch(
    lambda loader: loader.check_worker_number_rationality(),
    DataLoader._get_iterator,
    "check_worker_number_rationality",
)


def called_by(frame: FrameType, call: Callable[[], Any]) -> Any:
    """call() as if from the line that a frame is at: a warning about the caller names that line."""
    return placed(lambda call: call(), frame.f_code, frame.f_lineno, frame.f_globals)(call)


# Calls the constructor of torch's base of all iterators, which warns where nothing can be page-locked.
_begin: Callable[[Callable[[Any], None], Any], None] = lambda begin, loader: begin(loader)  # noqa: E731
_begin_inline = _as_torch(_begin, _SingleProcessDataLoaderIter.__init__, "__init__")
_begin_workers = _as_torch(_begin, _MultiProcessingDataLoaderIter.__init__, "__init__")


def begin(constructor: Callable[[Any], None], loader: Any) -> None:
    """constructor(loader), for that of torch's base of all iterators: its warnings name the line that torch's do."""
    (_begin_inline if loader.num_workers == 0 else _begin_workers)(constructor, loader)


def name_of_iterator(workers: int) -> str:
    """What torch calls its iterator over so many workers."""
    return (_MultiProcessingDataLoaderIter if workers else _SingleProcessDataLoaderIter).__name__


class WorkersIterator(_MultiProcessingDataLoaderIter):
    """torch's iterator over worker processes; a subclass gets each batch, before it is returned, in `_accept`."""

    _in_order = True  # torch 2.5 and older set none of their own
    # As an interpreter ends, iterators may go when this module's names are gone already.
    _utils = _utils

    def _exiting(self) -> bool:
        """Whether the interpreter ends: torch leaves its workers to the system then."""
        return self._utils.python_exit_status is not False

    def _expect_deaths(self) -> None:
        """Workers may be ended by a signal from now on: torch raises an error in the main thread for those that are."""
        if self._worker_pids_set:
            self._utils.signal_handling._remove_worker_pids(id(self))  # type: ignore[attr-defined]
            self._worker_pids_set = False

    def _accept(self, data: Any, worker: int) -> Any:
        """What `next()` gives for what a worker sent for the batch `self._rcvd_idx - 1` (any, if not in order).

        Sends the next task to a worker; raises what `data` holds if it is an error.
        """
        self._rcvd_idx -= _COUNTS_LATE
        return super()._process_data(data, *((worker,) if _SAYS_WORKER else ()))  # type: ignore[no-untyped-call]

    def _process_data(self, data: Any, *worker: int) -> Any:
        self._rcvd_idx += _COUNTS_LATE
        return self._accept(data, *(worker or (self._tasks.taken,)))

    if not _SAYS_WORKER:
        # torch assigns a dict as an epoch begins, and takes a task out of it just before _process_data.
        @property
        def _task_info(self) -> _Tasks:
            return self._tasks

        @_task_info.setter
        def _task_info(self, tasks: dict[int, Any]) -> None:
            self._tasks = _Tasks(tasks)


class _Tasks(dict[int, tuple[Any, ...]]):
    """The tasks under way, each the number of its worker, and its batch if that is here. Remembers the one taken last.

    taken  the worker of that one
    """

    taken = -1

    def pop(self, task: int) -> tuple[Any, ...]:  # type: ignore[override]
        info = super().pop(task)
        self.taken = info[0]
        return info

    def __delitem__(self, task: int) -> None:
        self.pop(task)


class _Sample(Mapping[Any, Any]):
    """Stands for a sample of a batch that is there already, which default_collate then gives.

    It makes a batch of mappings that nobody can change by calling their class with a dict of all columns.
    """

    _now = threading.local()

    def __new__(cls, columns: dict[Any, Any] | None = None) -> Any:
        return super().__new__(cls) if columns is None else cls._now.batches.pop()

    def __getitem__(self, name: Any) -> Any:
        raise KeyError(name)

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0


_SAMPLE = _Sample()


@contextmanager
def instead(batch: Any, count: int) -> Iterator[list[Any]]:
    """A list in place of `count` samples, for which default_collate gives the batch: once, in this thread."""
    before, _Sample._now.batches = getattr(_Sample._now, "batches", None), [batch]
    try:
        yield [_SAMPLE] * count
    finally:
        _Sample._now.batches = before


@functools.cache
def gives() -> bool:
    """Whether default_collate does so here."""
    batch = object()
    with instead(batch, 2) as samples:
        return collate.default_collate(samples) is batch


def worker_info() -> tuple[int, int, int, int]:
    """Rank and number of ranks, worker and number of workers."""
    rank, ranks = 0, 1
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
        rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    elif torch.distributed.is_available() and torch.distributed.is_initialized():
        rank, ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
    info = worker.get_worker_info()
    return (rank, ranks, 0, 1) if info is None else (rank, ranks, info.id, info.num_workers)


def convolves_plainly() -> bool:
    """Whether conv2d is oneDNN's, and has all bits of a float32, whatever somebody has told torch."""
    enabled, *told = float_settings()
    return enabled and _has_all_bits("conv", *told)


def multiplies_plainly() -> bool:
    """Whether bmm has all bits of a float32, whatever somebody has told torch."""
    return _has_all_bits("matmul", *float_settings()[1:])


def float_settings() -> tuple[bool, bool, str, str, str]:
    """Whether torch goes to oneDNN, and what somebody has told it of how many bits will do: by autocast, for products,
    and for convolutions and products of oneDNN's."""
    mkldnn: Any = torch.backends.mkldnn
    # Until 2.9 torch had one setting of precision for all.
    conv, matmul = (getattr(getattr(mkldnn, part, None), "fp32_precision", "none") for part in ("conv", "matmul"))
    return bool(mkldnn.enabled), torch.is_autocast_enabled("cpu"), torch.get_float32_matmul_precision(), conv, matmul


@functools.cache
def _has_all_bits(part: str, autocast: bool, products: str, conv: str, matmul: str) -> bool:
    """Few processors do with fewer where they may: it is tried, with more numbers than are too few for oneDNN."""
    precision = conv if part == "conv" else matmul
    if not autocast and products == "highest" and precision in ("none", "ieee"):
        return True
    numbers = torch.arange(1, 3 * 1024 + 1, dtype=torch.float32, device="cpu").div_(3)
    if part == "matmul":
        given = numbers.view(1, 1024, 3)
        made = given.bmm(torch.eye(3, dtype=torch.float32, device="cpu")[None])
    else:
        given = numbers.view(1, 3, 32, 32)
        middle = torch.zeros(3, 1, 5, 5, dtype=torch.float32, device="cpu")
        middle[:, :, 2, 2] = 1
        made = torch.nn.functional.conv2d(given, middle, padding=2, groups=3)
    return made.dtype == torch.float32 and torch.equal(made, given)


@contextmanager
def within_worker(info: Any) -> Iterator[None]:
    """Within it, torch's get_worker_info() gives this."""
    before, worker._worker_info = worker._worker_info, info
    try:
        yield
    finally:
        worker._worker_info = before


def exp(x: float) -> float:
    """torch.exp of a float32."""
    return torch.exp(torch.tensor([x], dtype=torch.float32)).item()
