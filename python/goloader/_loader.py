"""DataLoader: torch's, with batches from Go where dataset, transforms, sampler and collate_fn can run there."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import torch
from torch.utils import data
from torch.utils.data.dataloader import _BaseDataLoaderIter, _DatasetKind

from . import _auto, _cores, _equal_steps, _told
from ._core import Core
from ._equal_steps import EqualSteps
from ._errors import StateError
from ._told import Policy
from .adapters.torch import check_workers, in_order_argument
from .doors import allowed, choice
from .doors.index import init_fn, later
from .doors.index.iterators import InlineIterator, PrefetchingIterator
from .doors.recipe import door
from .doors.worker import keeping
from .doors.worker.iterator import without_slots
from .on_error import Action, OnError
from .plan import Explanation, Refusal
from .profile import Profile
from .seek_index import SeekIndex
from .state import book
from .state.inline import FetchingIterator
from .stats import Stats

if TYPE_CHECKING:
    from .doors.index.init_fn import Seeded
    from .state.ledger import Record

T_co = TypeVar("T_co", covariant=True)


class DataLoader(data.DataLoader[T_co]):
    """torch.utils.data.DataLoader with the work done in Go: same arguments, attributes, errors, order and batches.

    What goloader understands runs in Go, without worker processes; everything else runs as torch runs it. `explain()`
    says which is which, and why. Batches are ordinary tensors. The memory of a batch is reused only after the last
    tensor that refers to it is gone.

    The first 17 arguments are torch's. In addition:

    num_workers   "auto" chooses the number when the loader is made: one for each core that this process may use
                  (affinity, cgroup quota, divided among the ranks of a node), or 0 for a dataset that runs in Python,
                  draws no random numbers and is cheaper to load than to send from a worker. `loader.num_workers` is
                  then an int. Of Go's workers as many are at work as the program needs: fewer while it finds its
                  batches ready, which changes no batch. As with torch, the number decides the random numbers of a
                  sample: note it to get the same batches elsewhere
    seek_index    True: remembers in at most 512 MiB where parts of JPEG files begin, so that later epochs decode crops
                  faster; False: remembers nothing; SeekIndex(bytes_max=..., path=...): sets the limit and keeps it on
                  disk
    trace         False: never runs your own dataset with stand-ins for its images; True: does so where that is known to
                  give the same batches, and Go makes the pixels
    rng           "sample": the random numbers of a sample depend only on (seed, epoch, index). Before dataset[index] it
                  is as if torch's, Python's and numpy's generators had been seeded with that key (state/seeded.py), so
                  a sample is the same for any num_workers, batch size and number of ranks. The seed is that of
                  `generator`, or of torch's own, when the first epoch began (generator.initial_seed()). Epochs count
                  from 0, one for each iter(); see `set_epoch`. Draws of collate_fn are not keyed
    on_fallback   what iter() does if Python makes batches that Go could have made. "python": nothing; "warn": a
                  GoloaderWarning for each reason, once; "error": raises FallbackError with the reasons. None: "python",
                  or what goloader.strict() set
    on_error      what happens if the dataset raises an error for a sample. "raise": raises it, as torch does; "skip":
                  leaves the sample out of its batch; "replace": loads the next good sample instead; a function (index,
                  error): returns the sample. OnError(action, budget=..., quarantine=...) limits how many may be bad and
                  keeps a list of them (docs/errors.md)
    equal_steps   how the ranks of torch.distributed take equally many steps in an epoch. "truncate": all stop with the
                  first whose data are over; "repeat": that rank begins its data again; "pad": it gives its last batch
                  again. `padded` is True meanwhile. All ranks need the same value (docs/distributed.md)

    `state_dict()` and `load_state_dict()` have the semantics of torchdata's StatefulDataLoader.

    GOLOADER=off in the environment makes torch's own iterators make every batch. GOLOADER=door1, door2, door3 or
    several of them with commas limits goloader to these (docs/reasons.md).

    Raises what torch raises, and ValueError for rng or on_error with an IterableDataset or with GOLOADER=off.
    """

    # A loader has these among its own attributes only where they are not the default: then it has torch's.
    seek_index: bool | SeekIndex = True
    trace: bool = True
    rng: Literal["sample"] | None = None
    in_order: bool = True
    on_fallback: Policy | None = None
    on_error: OnError | Action = "raise"
    equal_steps: EqualSteps | None = None

    # Whether the last batch was given only so that this rank has as many steps as others.
    padded = False

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
        equal_steps: EqualSteps | None = None,
    ) -> None:
        off = allowed.off()  # raises now what would else be raised by the first epoch
        tolerant = OnError.of(on_error) is not None
        for name in ['rng="sample"'] * (rng == "sample") + ["on_error"] * tolerant:
            if off:
                raise ValueError(f"{name} is goloader's, and GOLOADER=off leaves torch's loader: leave one of them out")
        auto = isinstance(num_workers, str) and num_workers == "auto"
        # super() in one step: uninstall() in another thread may take this class from the loader's bases meanwhile.
        order = type(self).__mro__
        parents = order[order.index(DataLoader) + 1 :] if DataLoader in order else (data.DataLoader,)
        init = next(vars(kind)["__init__"] for kind in parents if "__init__" in vars(kind))
        init(
            self,
            dataset,
            batch_size,
            shuffle,
            sampler,
            batch_sampler,
            _cores.share() if auto else num_workers,  # torch has a word for other strings
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
        if _equal_steps.checked(equal_steps) is not None:
            self.equal_steps = equal_steps
        if auto:
            _auto.choose(self, choice.decide(self), ahead=prefetch_factor is not None)

    def explain(self) -> Explanation:
        """Returns, for each stage, whether it runs in Go or in Python, and why. str() of it is a table."""
        return choice.explain(self)

    def stats(self) -> Stats:
        """Returns what was done so far and how long the program waited for it. str() of it is a table; see Stats.

        At the end of each epoch its verdict goes to `logging.getLogger("goloader")` at level INFO.
        """
        losses = book.losses(self)
        return replace(book.of(self).clock.stats(), bad_samples={} if losses is None else dict(losses.kinds))

    def profile(self, path: str | os.PathLike[str], chart: str | os.PathLike[str] | None = None) -> Profile:
        """Returns a context manager that writes a timeline (Chrome trace) of its block to `path`; see Profile.

        chart  a file to draw the timeline to, with matplotlib

        Entering the context raises OSError if the file cannot be written, and for a chart ModuleNotFoundError without
        matplotlib.
        """
        return Profile(book.of(self).clock, path, chart)

    def state_dict(self) -> dict[str, Any]:
        """Returns the position of the most recent iterator, after the last batch that it yielded.

        Without an iterator it is the state that the first epoch will begin with. (A StatefulDataLoader makes an
        iterator, as torchdata's does, which draws random numbers and starts workers.)

        If Go makes the batches, the state is a small dict, valid JSON, for a dataset of any size (state/ledger.py). If
        Python makes them, it also has the states of samplers, datasets and their iterators that have a state_dict(), in
        torchdata's layout. If torch's own iterators make them (GOLOADER=off, no library), it is {}, with a warning.

        As with torchdata, the process's own random generators are not part of it: with num_workers=0, transforms draw
        from torch's, and saving torch.get_rng_state() is up to you.
        """
        return book.state_dict(self)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Drops the current iterator. The next iter() continues from a state that a state_dict() returned.

        No batch that was yielded is made again, unless an IterableDataset has no state of its own. The loader must have
        the arguments of the one that gave the state, except for

        - batch_size,
        - num_workers, if no random numbers are drawn in workers or with rng="sample",
        - the number of ranks, if docs/distributed.md has a rule for it. Then the state is of all ranks
          (goloader.distributed.gather_state), or all ranks were at the same step.

        The state of a finished epoch begins the next one; {} starts over. Raises StateError, a ValueError, for a state
        that does not fit: here, or in the next iter().
        """
        book.load_state_dict(self, state_dict)

    def set_epoch(self, epoch: int) -> None:
        """Sets the number of the epoch that the next iter() begins, for rng="sample". Samplers have their own."""
        book.of(self).epoch = epoch

    def __iter__(self) -> _BaseDataLoaderIter:
        if self.equal_steps is None or _equal_steps.alone():
            return self._epoch()
        return _equal_steps.equal(self, self._epoch)  # type: ignore[return-value] # with the attributes of one

    def _epoch(self) -> _BaseDataLoaderIter:
        asked = time.perf_counter()
        choice.tell(self)
        keeping.end(self)
        resumed = book.resumed(self)
        iterator = super().__iter__() if resumed is None else resumed
        book.of(self).clock.began(asked)
        return iterator

    def _get_iterator(self) -> _BaseDataLoaderIter:
        asked = time.perf_counter()
        choice.announce(self)
        known = book.of(self)
        resumed, given = known.resumed, 0 if known.ledger is None else known.ledger.yielded
        if allowed.off():
            if _needs_ours(self):
                raise StateError(
                    "GOLOADER=off leaves torch's loader, which neither goes on from a state nor has rng or on_error"
                )
            return super()._get_iterator()
        if self.num_workers and (self.num_workers < 0 or not self.prefetch_factor):
            return super()._get_iterator()  # they were set since it was made: torch has the error
        waiting = later.of(self) if resumed is None else None
        if waiting is not None:
            inline = InlineIterator(self, None, waiting)
            later.began(self, asked, given, of_go=False)
            return inline
        found = self._opened(resumed)
        if found is None:
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
        core, seeded = found
        if core.plan.stream is not None:
            from .doors.index.streams import InlineStream, PrefetchingStream

            if self.num_workers == 0:
                return InlineStream(self, core)
            check_workers(self)
            return PrefetchingStream(self, core)
        if self.num_workers == 0:
            inline = InlineIterator(self, core)
            later.began(self, asked, given, of_go=True)
            return inline
        check_workers(self)
        return PrefetchingIterator(self, core, seeded)

    def _opened(self, resumed: Record | None) -> tuple[Core, Seeded | None] | None:
        """The core that makes the batches of an epoch, and what worker_init_fn left; None where Python makes them."""
        decision = choice.decide(self)
        if isinstance(decision, Refusal):
            return None
        seeded = None
        if init_fn.wanted(self):
            seeded = init_fn.ahead(self, decision) if resumed is None else init_fn.again(self, decision, resumed)
        if isinstance(seeded, Refusal):
            choice.fell_back(self, [seeded])
            return None
        core = choice.core(self, decision, InlineIterator)
        return None if core is None else (core, seeded)


def _needs_ours(loader: DataLoader[Any]) -> bool:
    """Whether something is asked for that torch's own iterators do not have."""
    return loader.rng is not None or book.of(loader).resumed is not None or OnError.of(loader.on_error) is not None
