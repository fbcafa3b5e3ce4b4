"""StatefulDataLoader: torchdata's class, for scripts that import it by that name."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeVar

import torch
from torch.utils import data

from ._equal_steps import EqualSteps
from ._loader import DataLoader
from ._told import Policy
from .on_error import Action, OnError
from .seek_index import SeekIndex
from .state.samplers import BatchSampler, RandomSampler

T_co = TypeVar("T_co", covariant=True)

_log = logging.getLogger(__name__)


class StatefulDataLoader(DataLoader[T_co]):
    """goloader.DataLoader with the name, the order and the extra argument of torchdata's StatefulDataLoader.

    shuffle=True            as torchdata, not as torch: one generator for all epochs, seeded when the loader is made
    snapshot_every_n_steps  how often, in batches, worker processes report the state of a dataset that has one. A resume
                            makes the batches since the last report again and drops them. No effect if Go makes the
                            batches
    """

    waits_for_workers = True

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
        snapshot_every_n_steps: int | None = 1,
        seek_index: bool | SeekIndex = True,
        trace: bool = True,
        rng: Literal["sample"] | None = None,
        on_fallback: Policy | None = None,
        on_error: OnError | Action = "raise",
        equal_steps: EqualSteps | None = None,
    ) -> None:
        own = sampler is None and batch_sampler is None and not isinstance(dataset, data.IterableDataset)
        if own and shuffle:
            sampler, shuffle = RandomSampler(dataset, generator=generator), None  # type: ignore[arg-type]
        super().__init__(
            dataset,
            batch_size,
            shuffle,
            sampler,
            batch_sampler,
            num_workers,
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
            seek_index=seek_index,
            trace=trace,
            rng=rng,
            on_fallback=on_fallback,
            on_error=on_error,
            equal_steps=equal_steps,
        )
        self.snapshot_every_n_steps = snapshot_every_n_steps
        if type(self.batch_sampler) is data.BatchSampler and batch_sampler is None:
            self.__dict__["batch_sampler"] = BatchSampler(self.sampler, self.batch_sampler.batch_size, drop_last)
        if self.num_workers > 0 and not in_order:
            _log.warning("with in_order=False a state is not exact: batches do not come in the order of the sampler")
