"""DataLoader: torch's, with the batches from Go where dataset, transforms, sampler and collate_fn are understood."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Literal, TypeVar

import torch
from torch.utils import data
from torch.utils.data.dataloader import _BaseDataLoaderIter, _DatasetKind

from . import _auto, _cores, _told
from ._errors import StateError
from ._told import Policy
from .adapters.torch import check_workers, in_order_argument
from .doors import allowed, choice
from .doors.index import init_fn, later
from .doors.index.iterators import InlineIterator, PrefetchingIterator
from .doors.recipe import door
from .doors.worker.iterator import without_slots
from .on_error import Action, OnError
from .plan import Explanation, Plan, Refusal
from .profile import Profile
from .seek_index import SeekIndex
from .state import book
from .state.inline import FetchingIterator
from .stats import Stats

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
    where that is known to give the same batches; False never does.

    on_fallback says what iter() does where Python makes the batches that Go could have made: "python" nothing, "warn" a
    GoloaderWarning, once for each reason, and "error" raises FallbackError with the reasons; None is "python", or what
    goloader.strict() set. GOLOADER=off in the environment has torch's own iterators make every batch, and
    GOLOADER=door1, door2, door3 or several with commas narrows goloader to these (docs/reasons.md).

    rng="sample" keys the random numbers of a sample by (seed, epoch, index): before dataset[index] it is as if torch's,
    Python's and numpy's generators had been seeded with that key (state/seeded.py). A sample of an epoch is then the
    same for any num_workers, batch size and number of ranks. The seed is what `generator`, or torch's own, was seeded
    with when the first epoch began (generator.initial_seed()); epochs count from 0, one for each iter(); see
    `set_epoch`. What collate_fn draws is not keyed. ValueError for an IterableDataset.

    on_error says what becomes of samples for which the dataset raises an error: "raise" raises it, as torch does,
    "skip" leaves them out of their batches, "replace" loads the next good ones in their place, and a function
    (index, error) gives the sample; OnError(action, budget=..., quarantine=...) says how many may be bad, and keeps a
    list of them (docs/errors.md). ValueError for an IterableDataset.

    state_dict() and load_state_dict() have the semantics of torchdata's StatefulDataLoader; see there.
    """

    # A loader has these among its own attributes only where they are not the default: then it has torch's.
    seek_index: bool | SeekIndex = True
    trace: bool = True
    rng: Literal["sample"] | None = None
    in_order: bool = True
    on_fallback: Policy | None = None
    on_error: OnError | Action = "raise"

    # How often, in batches, worker processes tell the state of a dataset that has one, and whether iter() waits until
    # they are ready: of more use to a StatefulDataLoader than to somebody who may never ask for a state.
    snapshot_every_n_steps: int | None = 64
    waits_for_workers = False

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
        rng: Literal["sample"] | None = None,
        on_fallback: Policy | None = None,
        on_error: OnError | Action = "raise",
    ) -> None:
        off = allowed.off()  # raises now what would else be raised by the first epoch
        tolerant = OnError.of(on_error) is not None
        for name in ['rng="sample"'] * (rng == "sample") + ["on_error"] * tolerant:
            if off:
                raise ValueError(f"{name} is goloader's, and GOLOADER=off leaves torch's loader: leave one of them out")
        auto = isinstance(num_workers, str) and num_workers == "auto"
        try:
            init = super().__init__
        except TypeError:  # uninstall(), in another thread, has just taken this class from the bases of the loader's
            init = functools.partial(data.DataLoader.__init__, self)
        init(
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
            **in_order_argument(in_order),
        )
        SeekIndex.of(seek_index)  # raises now what would else be raised by the first epoch
        if seek_index is not True:
            self.seek_index = seek_index
        if trace is not True:
            self.trace = trace
        if rng not in (None, "sample"):
            raise ValueError(f'rng is None (random numbers as torch draws them) or "sample", but got rng={rng!r}')
        if rng is not None and self._dataset_kind == _DatasetKind.Iterable:
            raise ValueError('rng="sample" needs a map-style dataset: samples of an IterableDataset have no index')
        if rng is not None:
            self.rng = rng
        if _told.checked(on_fallback) is not None:
            self.on_fallback = on_fallback
        if tolerant and self._dataset_kind == _DatasetKind.Iterable:
            raise ValueError("on_error needs a map-style dataset: an IterableDataset that has failed may not go on")
        if tolerant:
            self.on_error = on_error
        if auto:
            _auto.choose(self, choice.decide(self), ahead=prefetch_factor is not None)

    def explain(self) -> Explanation:
        """Says, a line a stage, what runs in Go, what in Python, and why. str() of it is a table."""
        return choice.explain(self)

    def stats(self) -> Stats:
        """What was done so far, and how long the program waited for it; str() of it is a table. See Stats.

        `logging.getLogger("goloader")` has its verdict as each epoch ends, at level INFO.
        """
        losses = book.losses(self)
        return replace(book.of(self).clock.stats(), bad_samples={} if losses is None else dict(losses.kinds))

    def profile(self, path: str | os.PathLike[str], chart: str | os.PathLike[str] | None = None) -> Profile:
        """A context manager that writes a timeline of what happens in it to a file, as a Chrome trace, and draws it to
        another one by matplotlib, if there is a `chart`. See Profile.

        Raises OSError where the file cannot be written, as the context is entered, and ModuleNotFoundError.
        """
        return Profile(book.of(self).clock, path, chart)

    def state_dict(self) -> dict[str, Any]:
        """Where the most recent iterator stands, after the last batch it yielded. If there was none, what the first
        epoch will begin with (a StatefulDataLoader makes an iterator, as torchdata's, which draws and starts workers).

        Where torch's iterators make the batches (GOLOADER=off, no library) it is {}, with a warning: they have none.
        Where Go makes them it is a small dict, JSON, whatever the size of the dataset (state/ledger.py); otherwise one
        with the states of samplers, datasets and their iterators that have a state_dict() of their own,
        in torchdata's layout. The process's own random generators are not in it, as they are not in torchdata's: with
        num_workers=0 transforms draw from torch's, whose torch.get_rng_state() is the caller's to keep.
        """
        return book.state_dict(self)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Drops the current iterator; the next iter() goes on from a state that state_dict() gave, here or elsewhere.

        No batch that was yielded is made again, unless an IterableDataset has no state of its own. The loader has to
        be made as the one that gave the state, but for its batch_size, for num_workers if no random numbers are drawn
        in workers, or with rng="sample", and for the number of ranks, if docs/distributed.md has a rule for that: then
        the state is of all ranks (goloader.distributed.gather_state), or all stand where this one stood. A state of a
        finished epoch begins the next one; {} starts all over. Raises StateError, a ValueError, for what does not fit:
        here, or in the next iter().
        """
        book.load_state_dict(self, state_dict)

    def set_epoch(self, epoch: int) -> None:
        """Sets the number of the epoch that the next iter() begins, for rng="sample". Samplers have their own."""
        book.of(self).epoch = epoch

    def __iter__(self) -> _BaseDataLoaderIter:
        asked = time.perf_counter()
        choice.tell(self)
        resumed = book.resumed(self)
        iterator = super().__iter__() if resumed is None else resumed
        book.of(self).clock.began(asked)
        return iterator

    def _get_iterator(self) -> _BaseDataLoaderIter:
        choice.announce(self)
        known = book.of(self)
        resumed = known.resumed
        if allowed.off():
            if _needs_ours(self):
                raise StateError(
                    "GOLOADER=off leaves torch's loader, which neither goes on from a state nor has rng or on_error"
                )
            return super()._get_iterator()
        if resumed is None and later.of(self) is not None:
            return InlineIterator(self, None)
        decision, seeded = choice.decide(self), None
        if isinstance(decision, Plan) and init_fn.wanted(self):
            seeded = init_fn.ahead(self, decision) if resumed is None else init_fn.again(self, decision, resumed)
            if isinstance(seeded, Refusal):
                choice.fell_back(self, [seeded])
        if isinstance(decision, Refusal) or isinstance(seeded, Refusal):
            if self.num_workers == 0:
                return choice.traced(self, FetchingIterator(self))
            known.clock.use(door.workshop(self))
            why = without_slots(self)
            if why is not None:
                if _needs_ours(self):
                    raise StateError(f"torch's worker processes have no on_error, rng or state to go on from: {why}")
                return super()._get_iterator()
            check_workers(self)
            return choice.working(self, resumed)
        core = choice.core(self, decision)
        if decision.stream is not None:
            from .doors.index.streams import InlineStream, PrefetchingStream

            if self.num_workers == 0:
                return InlineStream(self, core)
            check_workers(self)
            return PrefetchingStream(self, core)
        if self.num_workers == 0:
            return InlineIterator(self, core)
        check_workers(self)
        return PrefetchingIterator(self, core, seeded)


def _needs_ours(loader: DataLoader[Any]) -> bool:
    """Whether something is asked for that torch's own iterators do not have."""
    return loader.rng is not None or book.of(loader).resumed is not None or OnError.of(loader.on_error) is not None
