"""DataLoader: torch's, with the batches from Go where dataset, transforms, sampler and collate_fn are understood."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeVar

import torch
from torch.utils import data
from torch.utils.data.dataloader import _BaseDataLoaderIter

from . import _auto, _cores, _doors, _init_fn
from ._iterators import InlineIterator, PrefetchingIterator
from .fallback import WorkerIterator
from .plan import Explanation, Plan, Refusal
from .seek_index import SeekIndex

T_co = TypeVar("T_co", covariant=True)


class DataLoader(data.DataLoader[T_co]):
    """torch.utils.data.DataLoader: its arguments, attributes, errors, order, random numbers and batches, bit for bit.

    What goloader understands runs in Go: no worker processes, no copies, no start of workers at each epoch. Everything
    else runs as torch runs it. `explain()` says which is which, and why. Batches are ordinary tensors; memory of a
    batch is used again only when the last tensor over it is gone.

    num_workers="auto" chooses when the loader is made, and `loader.num_workers` is then an int as any other: one for
    each core that this process may use (affinity, cgroup quota, divided by the ranks of a node), or, for a dataset that
    runs in Python, draws no random numbers and is cheaper to load here than to hand on, 0. The number decides which
    random numbers a sample gets, as with torch: write it down to have the same batches on a machine with more cores.

    seek_index=True remembers, in at most 512 MiB, where things are in JPEG files, so that later epochs decode crops
    sooner; False remembers nothing; SeekIndex(bytes_max=..., path=...) sets a limit, and keeps it between runs.

    trace=True lets a dataset of your own run with stand-ins for the images it opens, whose pixels then come from Go,
    where that is known to give the same batches; False never does, and GOLOADER_TRACE=0 in the environment stops it for
    all loaders.
    """

    # A loader has these among its own attributes only where they are not the default: then it has torch's.
    seek_index: bool | SeekIndex = True
    trace: bool = True

    def __init__(
        self,
        dataset: data.Dataset[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: data.Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: data.Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int | Literal["auto"] = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: torch.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        seek_index: bool | SeekIndex = True,
        trace: bool = True,
    ) -> None:
        auto = isinstance(num_workers, str) and num_workers == "auto"
        super().__init__(
            dataset,
            batch_size,
            shuffle,
            sampler,
            batch_sampler,
            _cores.share() if auto else num_workers,  # type: ignore[arg-type] # torch has a word for other strings
            collate_fn,
            pin_memory,
            drop_last,
            timeout,
            worker_init_fn,
            multiprocessing_context,
            generator,
            prefetch_factor=prefetch_factor,
            persistent_workers=persistent_workers,
            pin_memory_device=pin_memory_device,
            in_order=in_order,
        )
        SeekIndex.of(seek_index)  # raises now what would else be raised by the first epoch
        if seek_index is not True:
            self.seek_index = seek_index
        if trace is not True:
            self.trace = trace
        if auto:
            _auto.choose(self, _doors.decide(self), ahead=prefetch_factor is not None)

    def explain(self) -> Explanation:
        """Says, a line a stage, what runs in Go, what in Python, and why. str() of it is a table."""
        return _doors.explain(self, ours=type(self)._get_iterator is DataLoader._get_iterator)

    def _get_iterator(self) -> _BaseDataLoaderIter:
        _doors.announce(self)
        decision, seeded = _doors.decide(self), None
        if isinstance(decision, Plan) and _init_fn.wanted(self):
            seeded = _init_fn.ahead(self, decision)
        if isinstance(decision, Refusal) or isinstance(seeded, Refusal):
            if not _doors.slotted(self):
                return _doors.traced(self, super()._get_iterator())
            self.check_worker_number_rationality()
            return WorkerIterator(self)
        core = _doors.core(self, decision)
        if self.num_workers == 0:
            return InlineIterator(self, core)
        self.check_worker_number_rationality()
        return PrefetchingIterator(self, core, seeded)
