"""What all iterators of this package have in common: their order, their ledger, and how they go on from a record."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .. import profile
from .._told import users
from ..adapters.torch import BaseIterator, begin, called_by, name_of_iterator, profiled
from ..on_error import Losses
from . import book, generators
from .ledger import Ledger, Record
from .order import Order, Sampling, own_generators


class Orders:
    """What stands where torch has its index sampler: iter() of it is the order of an epoch."""

    def __init__(self, loader: Any, losses: Losses | None, *, arrays: bool) -> None:
        self._sampling, self._arrays = Sampling.of(loader), arrays
        self._losses, self._dataset = losses, loader.dataset
        self._drew = book.of(loader).clock.drew
        # Nobody's sampler is asked for an iterator while torch's constructor runs on behalf of a resume.
        self.closed = False
        self.resumed: Record | None = None

    def __iter__(self) -> Iterator[Any]:
        if self.closed:
            return iter(())
        state = None if self.resumed is None else self.resumed.order
        known = None
        if self._losses is not None:
            known = self._losses.known(self._dataset, batched=self._sampling._auto_collation)
        return Order(self._sampling, arrays=self._arrays, state=state, bad=known, drew=self._drew)

    def __len__(self) -> int:
        return len(self._sampling._index_sampler)


class ResumableIterator(BaseIterator):
    """Goes behind torch's iterators in a class's bases: their constructors and _reset then begin epochs with a ledger.

    It must not hold the loader, which holds the iterator of persistent workers, nor its book: worker processes end when
    the last reference is gone, not when garbage is collected.

    A resume draws nothing from the process's generators: what torch draws for a new iterator was drawn when the
    interrupted one was made.
    """

    # Whether the order gives arrays of indices; the user's dataset gets what the sampler gives.
    _arrays = False
    _ledgers: type[Ledger] = Ledger

    def __getstate__(self) -> Any:
        """Raises NotImplementedError, by the name of torch's iterator that would be here."""
        raise NotImplementedError("{} cannot be pickled", name_of_iterator(self._num_workers))

    def __init__(self, loader: Any) -> None:
        self._rng = loader.rng
        resumed = self._resumed = book.of(loader).resumed
        self._losses = book.losses(loader)
        self._orders = Orders(loader, self._losses, arrays=self._arrays)
        self._orders.closed = resumed is not None
        with self._undrawn(loader):
            begin(super().__init__, loader)
        if resumed is not None:
            self._resume_seeds(resumed)
        if self._num_workers == 0:  # others call _reset
            self._open_order(loader)
            self._begin(loader)

    def _undrawn(self, loader: Any) -> AbstractContextManager[None]:
        """In which torch draws nothing that stays drawn, if a record is gone on from."""
        if self._resumed is None:
            return nullcontext()
        return generators.untouched(("torch",), list(own_generators(loader).values()))

    def _resume_seeds(self, resumed: Record) -> None:
        """Puts what torch drew for the iterator of the record in place of what it just drew."""
        assert resumed.base_seed is not None  # a record without one is of no epoch
        self._base_seed = resumed.base_seed

    @property
    def _index_sampler(self) -> Any:
        return self._orders

    @_index_sampler.setter
    def _index_sampler(self, sampler: Any) -> None:
        """torch's constructor assigns the loader's; the orders stand in front of it."""

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        self._orders.closed = self._resumed is not None
        with self._undrawn(loader):
            super()._reset(loader, first_iter)
        self._open_order(loader)
        self._begin(loader)

    def _open_order(self, loader: Any) -> None:
        """Puts a resumed order in place of the empty one."""
        self._orders.closed = False
        if self._resumed is None:
            return
        self._orders.resumed = self._resumed
        self._sampler_iter = iter(self._orders) if not self._resumed.finished else iter(())
        self._orders.resumed = None
        self._num_yielded = self._resumed.yielded

    def _begin(self, loader: Any) -> None:
        """Opens the ledger of an epoch."""
        resumed, self._resumed = self._resumed, None
        known = book.of(loader)
        seed = known.sample_seed(loader.generator) if loader.rng == "sample" else None
        self._ledger = self._ledgers(
            order=self._sampler_iter,
            epoch=known.next_epoch() if resumed is None else resumed.epoch,
            num_workers=self._num_workers,
            base_seed=int(self._base_seed),
            rng=seed,
        )
        if resumed is not None:
            self._ledger.yielded, self._ledger.finished = resumed.yielded, resumed.finished
        known.ledger = self._ledger
        self._clock, self._moments = known.clock, known.clock.moments
        self._clock.begin(self._num_workers)

    def __next__(self) -> Any:
        begun = time.perf_counter()
        try:
            batch = self._given()
            while self._losses is not None and self._losses.leaves_out(batch):
                batch = self._given()
        except StopIteration:
            self._clock.over(begun)
            self._finish()
            raise
        except BaseException as error:
            profile.note(error, self._doing())
            raise
        self._ledger.yielded += 1
        # A call would take as long as the rest of it, and all of it shows in a small batch.
        moments, now = self._moments, time.perf_counter()
        moments += begun, now
        clock = self._clock
        if len(moments) >= clock.most or clock.watched is not None:
            clock.took(begun, now)
        return batch

    def _given(self) -> Any:
        """What torch's next() gives, but for its entry in a profile that nobody makes, which takes as long as the rest
        of a small batch."""
        told = self._IterableDataset_len_called
        if told is not None and self._num_yielded >= told:
            return called_by(users(), super().__next__)  # it may warn that there are more than the length told
        if profiled():
            return super().__next__()
        batch: Any = self._next_data()
        self._num_yielded += 1
        return batch

    def _doing(self) -> str:
        """What goes on in the core, for the note of an error; "" if nothing does."""
        return ""

    def _finish(self) -> None:
        self._ledger.finished = True
        self._clock.end(self._ledger.epoch)
