"""Who makes the batches of a loader without workers: torch's way until Go pays, and again where Go turns out slower.

To read what a dataset does, to load the library and to open a plan takes 10 to 50 ms: as long as some thousand rows
take torch. So an epoch with num_workers=0 begins as torch's does, and its first batch comes when torch's would. Go
takes over in the middle of an epoch where the rest would take torch longer than that, and as one begins where the last
one took it longer; and once all epochs together have taken some ten times as long. Until then nothing of the loader is
looked at but whether its files are in a store: of these Go makes the first batch, too.

Few small rows make a batch that torch has sooner than Go is asked for it, and an epoch of few batches is over before Go
has begun. So Go's first batches and epochs are timed, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from torch.utils.data import MapDataPipe, Subset

from ... import _told
from ..._beside import Beside
from ...adapters.torch import DatasetKind
from ...on_error import OnError
from ...plan import Refusal, samplers
from ...plan.datasets.known import s3torchconnector
from ...plan.paths import Files
from ...plan.trust.look import is_a, name_of
from ...state import book
from ...state.protocol import has_state
from .. import sandbox

if TYPE_CHECKING:
    from ..._loader import DataLoader

# The CPU time that is left of an epoch, as torch makes it, for which Go is asked; or, where it waits for files, the
# time by the clock. What all epochs may have taken before Go is asked.
_LEFT_S, _LEFT_CLOCK_S, _SPENT_S = 0.05, 0.5, 0.5
# So many batches tell how long one takes, torch's and Go's, or fewer that took so long by the clock, as of files in a
# store; and so many epochs of Go's how long they take to begin.
_BATCHES, _BATCHES_CLOCK_S, _BATCHES_OF_GO, _EPOCHS_OF_GO = 8, 0.1, 16, 4


@dataclass
class Later:
    """What is known of such a loader.

    spent_s   of CPU time, that torch's way has taken in all epochs
    epoch     the most batches that it has made in one
    epoch_s, epoch_clock_s  what these took: CPU time, and time by the clock
    least_s   by the clock, for one batch
    over      Go is asked from now on
    least_begin_s  the same, for the beginning of an epoch
    least_of_go_s, of_go  the same of Go's batches, and how many it has made
    least_begin_of_go_s, epochs_of_go  the same of its epochs, whose plan was there, and how many have begun
    given     batches of those that are over
    slower    it was slower, and is not asked any more
    """

    spent_s: float = 0.0
    epoch: int = 0
    epoch_s: float = 0.0
    epoch_clock_s: float = 0.0
    least_s: float = float("inf")
    least_begin_s: float = float("inf")
    over: bool = False
    least_of_go_s: float = float("inf")
    of_go: int = 0
    least_begin_of_go_s: float = float("inf")
    epochs_of_go: int = 0
    given: int = 0
    slower: bool = False

    def why(self, loader: DataLoader[Any]) -> Refusal:
        what = name_of(loader.dataset)
        if self.slower:
            took = [f"Go {self._batch_of_go_s * 1e6:.0f} us", f"torch {self._batch_s * 1e6:.0f} us"]
            share = ", its share of an epoch's beginning included," if self.given else ""
            return Refusal("source", what, f"a batch{share} took {', and '.join(took)}", "SMALL_BATCHES")
        spent = f"its epochs have taken {self.spent_s * 1e3:.0f} ms, in which Go would not even have begun"
        return Refusal("source", what, f"{spent}; after {_SPENT_S:g} s it takes over", "SMALL_EPOCHS")

    def timed(self, make: Callable[[], Any], made_once: Callable[[], bool]) -> Any:
        """A batch of Go's; it does not count where samples were made for it that are kept from now on."""
        begun = time.perf_counter()
        made = make()
        if made_once():
            return made
        self.least_of_go_s = min(self.least_of_go_s, time.perf_counter() - begun)
        self.of_go += 1
        if self.of_go == _BATCHES_OF_GO:
            self.slower = self._batch_of_go_s > self._batch_s
        return made

    def began(self, seconds: float, given: int, *, of_go: bool) -> None:
        """An epoch took so long to begin; so many batches of the one before were given."""
        if not of_go:
            self.least_begin_s = min(self.least_begin_s, seconds)
        elif self.epochs_of_go < _EPOCHS_OF_GO and self.least_s < _LEFT_S:
            if self.epochs_of_go:  # the first one made the plan
                self.least_begin_of_go_s = min(self.least_begin_of_go_s, seconds)
                self.given += given
            self.epochs_of_go += 1
            if self.epochs_of_go == _EPOCHS_OF_GO and self.of_go:
                self.slower = self._batch_of_go_s > self._batch_s

    @property
    def _batch_s(self) -> float:
        """For one batch, and its share of an epoch's beginning."""
        return self.least_s + self._share(self.least_begin_s)

    @property
    def _batch_of_go_s(self) -> float:
        return self.least_of_go_s + self._share(self.least_begin_of_go_s)

    def _share(self, begin_s: float) -> float:
        return begin_s * (self.epochs_of_go - 1) / self.given if self.given else 0.0


_known: Beside[DataLoader[Any], Later] = Beside()


def of(loader: DataLoader[Any]) -> Later | None:
    """What is known of a loader that Go is not asked for as an epoch begins; None for any other."""
    if not _may_wait(loader):
        return None
    known = _known.get(loader)
    if known is None:
        known = _known[loader] = Later()
    known.over = known.over or known.spent_s >= _SPENT_S or _is_long(known.epoch_s, known.epoch_clock_s)
    return None if known.over and not known.slower else known


def ran(loader: DataLoader[Any]) -> Later | None:
    """The same of a loader that has begun an epoch so."""
    known = _known.get(loader) if _may_wait(loader) else None
    return known if known is not None and (known.slower or (known.spent_s and not known.over)) else None


def began(loader: DataLoader[Any], asked: float, given: int, *, of_go: bool) -> None:
    """An epoch has begun, which was asked for at this time of perf_counter: made by Go, or in torch's way. So many
    batches of the one before were given."""
    known = _known.get(loader)
    if known is not None:
        known.began(time.perf_counter() - asked, given, of_go=of_go)


def timing(loader: DataLoader[Any]) -> Later | None:
    """The same of a loader of which Go makes batches that are to be timed."""
    known = _known.get(loader)
    return known if known is not None and known.of_go < _BATCHES_OF_GO and known.least_s < _LEFT_S else None


def _may_wait(loader: DataLoader[Any]) -> bool:
    return (
        loader.num_workers == 0
        and not sandbox.WAITS
        and loader._dataset_kind == DatasetKind.Map
        and loader.rng is None
        and OnError.of(loader.on_error) is None
        and _told.policy(loader.on_fallback) == "python"
        and book.of(loader).resumed is None
        and not has_state(loader.dataset)
        and not is_a(loader.dataset, MapDataPipe)
        and not in_store(loader.dataset)
    )


def in_store(dataset: Any) -> bool:
    """Whether the files of a dataset are in a remote store: of each, torch's way waits for an answer."""
    while type(dataset) is Subset:
        dataset = dataset.dataset
    files = getattr(dataset, "__dict__", {}).get("samples")
    return (type(files) is Files and files.remote) or s3torchconnector.is_dataset(dataset)


class Epoch:
    """One epoch of such a loader.

    batches  that torch's way has made
    spent_s  CPU time that they took
    clock_s  the same by the clock
    """

    def __init__(self, known: Later, loader: DataLoader[Any]) -> None:
        self._known, self._loader = known, loader
        self.batches, self.spent_s, self.clock_s = 0, 0.0, 0.0
        self._took = float("inf")  # the batch before, by the clock

    def made(self, make: Callable[[], Any]) -> Any:
        """A batch, as torch's way makes it."""
        cpu, clock = time.thread_time(), time.perf_counter()
        batch = make()
        spent, took = time.thread_time() - cpu, time.perf_counter() - clock
        self.batches += 1
        self.spent_s += spent
        self.clock_s += took
        known = self._known
        known.spent_s += spent
        if self.batches >= known.epoch:
            known.epoch, known.epoch_s, known.epoch_clock_s = self.batches, self.spent_s, self.clock_s
        # The last one may be smaller, and is not counted, unless it is the only one.
        known.least_s = min(known.least_s, took if self.batches == 1 else self._took)
        self._took = took
        return batch

    @cached_property
    def _length(self) -> int | None:
        """Of the epoch, as far as that is known: most are over before somebody asks."""
        if samplers.known(self._loader) is not None:
            with suppress(Exception):  # of the dataset's own __len__
                return len(self._loader._index_sampler)
        return None

    def over(self) -> bool:
        """Whether Go is to be asked for the next batch."""
        known = self._known
        few = self.batches < _BATCHES and self.spent_s < _LEFT_S and self.clock_s < _BATCHES_CLOCK_S
        if known.slower or not self.batches or few:
            return False
        if self._length is None and known.epoch <= self.batches:  # nobody knows what is left: as much again
            left = self.batches
        else:
            left = (self._length or known.epoch) - self.batches
        share = left / self.batches
        known.over = _is_long(self.spent_s * share, self.clock_s * share)
        return known.over


def _is_long(cpu_s: float, clock_s: float) -> bool:
    """Whether Go begins sooner than batches that take torch so long are made."""
    return cpu_s >= _LEFT_S or clock_s >= _LEFT_CLOCK_S
