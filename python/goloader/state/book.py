"""What is known of a loader across its iterators."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from .. import _native, _told
from .._beside import Beside
from .._errors import StateError
from ..doors import allowed
from ..doors.worker.iterator import Seen, without_slots
from ..on_error import Losses, OnError
from ..stats import Clock
from .ledger import Ledger, Record, read, unbegun
from .order import between, go_between, sampler_of, set_epoch
from .reshape import fitted

if TYPE_CHECKING:
    from .._loader import DataLoader
    from ..adapters.torch import BaseIterator


@dataclass
class Book:
    """One loader's. Copies and pickles know of epochs and of a state to be loaded, but of no iterator.

    epoch    number of the next epoch to begin, from 0
    seed     of rng="sample", once it is known
    loaded   a state that the next iter() goes on from
    resumed  that state while the iterator is being made
    waiting  an iterator that state_dict() made, for the next iter()
    ledger   of the most recent iterator
    clock    measures all of them
    """

    epoch: int = 0
    seed: int | None = None
    loaded: Record | None = None
    resumed: Record | None = None
    waiting: BaseIterator | None = None
    ledger: Ledger | None = field(default=None, repr=False)
    clock: Clock = field(default_factory=Clock, repr=False)

    def __reduce__(self) -> Any:
        return Book, (self.epoch, self.seed, self.loaded)

    def next_epoch(self) -> int:
        """The number of an epoch that begins now."""
        epoch, self.epoch = self.epoch, self.epoch + 1
        return epoch

    def sample_seed(self, generator: torch.Generator | None) -> int:
        """The seed of rng="sample": what the generator, or torch's own, was seeded with when it was first needed."""
        if self.seed is None:
            self.seed = torch.initial_seed() if generator is None else generator.initial_seed()
        return self.seed


# Kept beside the loaders, which have torch's attributes; one with a state to be loaded has it among its own, so that
# copies and pickles do.
_books: Beside[Any, Book] = Beside()


_losses: Beside[Any, Losses] = Beside()


def of(loader: Any) -> Book:
    """The book of a loader, or of what torch's iterator sees in its place."""
    loader = _seen(loader)
    book: Book | None = vars(loader).get("_book") or _books.get(loader)
    if book is None:
        book = _books[loader] = Book()
    return book


def losses(loader: Any) -> Losses | None:
    """The bad samples of a loader, over all of its epochs; None with on_error="raise"."""
    policy = OnError.of(loader.on_error)
    if policy is None:
        return None
    loader = _seen(loader)
    known = _losses.get(loader)
    if known is None or known.policy != policy:
        known = _losses[loader] = Losses(policy, loader)
    return known


def _seen(loader: Any) -> Any:
    return loader.loader if isinstance(loader, Seen) else loader


def state_dict(loader: DataLoader[Any]) -> dict[str, Any]:
    """DataLoader.state_dict."""
    book = of(loader)
    if book.loaded is not None:
        return copy.deepcopy(dict(book.loaded.state))
    alone = "GOLOADER=off" if allowed.off() else _native.missing() if loader.num_workers > 0 else None
    if alone:
        _told.warn(f"goloader: {alone}: torch's own iterators keep no state, so a resume begins its epoch anew")
        return {}
    if book.ledger is None and not loader.waits_for_workers and book.waiting is None and loader._iterator is None:
        return unbegun(loader.num_workers, book.epoch, book.seed, between(loader))
    if book.ledger is None:
        book.waiting = iter(loader)
    if book.ledger is None:
        raise StateError(f"worker processes tell no state: {without_slots(loader)}")
    return book.ledger.state()


def load_state_dict(loader: DataLoader[Any], state: dict[str, Any]) -> None:
    """DataLoader.load_state_dict."""
    own = fitted(loader, state)
    record = None if own == {} else read(own)
    if record is not None and loader.rng == "sample" and record.rng is None and record.base_seed is not None:
        raise StateError('the state is of a loader without rng="sample"')
    loader.__dict__.pop("_book", None)
    _books.pop(loader)
    loader._iterator = None
    if record is None:
        return
    book = loader._book = Book()
    book.epoch, book.seed = record.epoch + 1, record.rng
    if record.base_seed is not None:
        book.loaded = record
    if record.between is not None:
        go_between(loader, record.between)
    elif record.order is not None and "epoch" in record.order:
        set_epoch(sampler_of(loader), record.order["epoch"])


def resumed(loader: DataLoader[Any]) -> BaseIterator | None:
    """An iterator that stands where a loaded state, or a state_dict() before, wants it; None if a new one will do."""
    book = of(loader)
    if book.waiting is not None:
        waiting, book.waiting = book.waiting, None
        return waiting
    record = book.loaded
    if record is None:
        return None
    persistent = loader.persistent_workers and loader.num_workers > 0
    iterator: BaseIterator | None = None
    if not record.finished or persistent or record.own.get("dataset_state") is not None:
        book.resumed = record
        try:
            iterator = loader._get_iterator()
        finally:
            book.resumed = None
    book.loaded = None
    if persistent and iterator is not None:
        loader._iterator = iterator
        if record.finished:
            iterator._reset(loader)
    return iterator if persistent or not record.finished else None
