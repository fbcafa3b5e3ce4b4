"""equal_steps: as many steps of an epoch in all ranks of a job, also where their data are of different lengths.

Ranks of which the number of batches is certain agree on it once, as the epoch begins. Others say before each step
whether they have a batch, in one all-reduce of two bytes over gloo.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Literal, get_args

import torch
from torch import distributed

from . import _ranks, profile
from .adapters.torch import default_store, group_timeout
from .on_error import OnError
from .plan import Row, samplers
from .state import book
from .state.iterator import ResumableIterator

if TYPE_CHECKING:
    from ._loader import DataLoader

EqualSteps = Literal["truncate", "repeat", "pad"]

# How long to wait for ranks that may be gone to say that they are there.
_ROLL_CALL_S = 5.0


class _Vote(IntEnum):
    """What a rank says before a step; the least of all decides."""

    FAILED = 0
    OVER = 1
    MORE = 2


def checked(given: EqualSteps | None) -> EqualSteps | None:
    """The argument of a loader. Raises ValueError."""
    if given is not None and given not in get_args(EqualSteps):
        raise ValueError(f"equal_steps is None, {', '.join(map(repr, get_args(EqualSteps)))}, but got {given!r}")
    return given


def alone() -> bool:
    """Whether there is no other rank."""
    return not (distributed.is_available() and distributed.is_initialized()) or distributed.get_world_size() == 1


def row(loader: DataLoader[Any]) -> Row | None:
    """A line for explain(), if the loader has steps to be equal."""
    if loader.equal_steps is None:
        return None
    if alone():
        how = "there is one rank"
    elif batches_of(loader) is None:
        how = "ranks vote before each step, as only the end of the data tells its length"
    else:
        how = "the ranks' lengths are compared as an epoch begins"
    return Row("steps", f"equal_steps={loader.equal_steps!r}", "Python", how)


def batches_of(loader: DataLoader[Any]) -> int | None:
    """How many batches an epoch has; None where only its end tells, or where it goes on from a state."""
    policy = OnError.of(loader.on_error)
    skips = policy is not None and policy.action == "skip"
    if skips or book.of(loader).loaded is not None or samplers.known(loader) is None:
        return None
    return len(loader)


def equal(loader: DataLoader[Any], begin: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """An epoch of `loader` with as many steps as in other ranks; begin() gives this rank's own, as often as it is
    called. All ranks call it together.

    Raises ValueError if ranks have different arguments.
    """
    loader.__dict__.pop("padded", None)
    _ranks.join(load=True)
    mine = loader.equal_steps, batches_of(loader)
    told: list[Any] = [None] * distributed.get_world_size()
    distributed.all_gather_object(told, mine, _group())
    given, lengths = {each[0] for each in told}, {each[1] for each in told}
    if len(given) > 1:
        raise ValueError(f"all ranks need the same equal_steps, but have {', '.join(sorted(map(repr, given)))}")
    if None in lengths:
        return EqualIterator(loader, begin, None)
    if len(lengths) == 1:
        return begin()
    return EqualIterator(loader, begin, min(lengths) if loader.equal_steps == "truncate" else max(lengths))


class EqualIterator(Iterator[Any]):
    """An epoch that ends in all ranks after the same step. Its attributes are those of the rank's own iterator.

    steps  how many there are; None: ranks vote before each
    """

    def __init__(self, loader: DataLoader[Any], begin: Callable[[], Iterator[Any]], steps: int | None) -> None:
        self._iterator: Any = begin()
        self._loader, self._again, self._steps = loader, begin, steps
        self._ledger = book.of(loader).ledger
        self._given = 0
        self._over = False  # its own data
        self._last: list[Any] = []
        self._fillers: Iterator[Any] = iter(())

    def __getattr__(self, name: str) -> Any:
        if name == "_iterator":  # its constructor has raised
            raise AttributeError(name)
        return getattr(self._iterator, name)

    def __len__(self) -> int:
        return len(self._iterator) if self._steps is None else self._steps

    def __next__(self) -> Any:
        if self._steps is None:
            goes_on, batch = self._voted()
        else:
            goes_on = self._given < self._steps
            batch = self._taken() if goes_on else None
        if not goes_on:
            self._end()
            raise StopIteration
        if self._over:
            self._loader.padded = True
            batch = self._last[0] if self._last else self._filler()
        elif self._loader.equal_steps == "pad":
            self._last = [batch]
        self._given += 1
        return batch

    def _taken(self) -> Any:
        """The rank's next batch; None once its data are over. Raises ValueError if there never was one."""
        if self._over:
            return None
        try:
            return next(self._iterator)
        except StopIteration:
            self._over = True
        if self._ledger is not None:
            self._ledger.finished = False  # a state of now goes on in this epoch
        if self._iterator._num_yielded == 0 and self._loader.equal_steps != "truncate":
            raise ValueError(
                f"rank {distributed.get_rank()} has no batch, so equal_steps={self._loader.equal_steps!r} has nothing "
                'to give again: give each rank data, or take "truncate"'
            )
        return None

    def _filler(self) -> Any:
        """A batch of the rank's data, begun again."""
        for batch in self._fillers:
            return batch
        known = book.of(self._loader)
        known.epoch -= 1  # the number stays that which all ranks have
        self._fillers = self._again()
        known.ledger = self._ledger
        return next(self._fillers)

    def _voted(self) -> tuple[bool, Any]:
        """Whether the epoch goes on in all ranks, and the rank's next batch.

        Raises what the rank's own iterator raises, and RuntimeError with the ranks where that happened.
        """
        try:
            batch = self._taken()
        except Exception as error:
            self._vote(_Vote.FAILED)
            self._named(error)
            raise
        least, most = self._vote(_Vote.OVER if self._over else _Vote.MORE)
        if least == _Vote.FAILED:
            raise RuntimeError(self._named(None))
        return (least if self._loader.equal_steps == "truncate" else most) == _Vote.MORE, batch

    def _vote(self, mine: _Vote) -> tuple[int, int]:
        """The least and the greatest of all ranks' votes."""
        told = torch.tensor([mine, -mine], dtype=torch.int8, device="cpu")
        try:
            distributed.all_reduce(told, distributed.ReduceOp.MIN, _group())
        except RuntimeError as error:
            profile.note(error, f"equal_steps, step {self._given}: {_roll_call(self._given)}")
            raise
        return int(told[0]), -int(told[1])

    def _named(self, error: Exception | None) -> str:
        """Which ranks failed, and how."""
        told: list[Any] = [None] * distributed.get_world_size()
        distributed.all_gather_object(told, error and f"{type(error).__name__}: {error}", _group())
        failed = (f"rank {rank}: {why}" for rank, why in enumerate(told) if why is not None)
        return "\n".join((f"no step {self._given} in this rank, for others have failed:", *failed))

    def _end(self) -> None:
        self._steps = self._given
        self._last.clear()
        self._loader.__dict__.pop("padded", None)
        if not self._over and isinstance(self._iterator, ResumableIterator):
            self._iterator._finish()
        elif self._ledger is not None:
            self._ledger.finished = True


_groups: list[tuple[Any, Any]] = []


def _group() -> Any:
    """All ranks, over gloo: nothing waits for a GPU. Made once, when all ranks begin an epoch.

    Without a timeout it would wait for 30 minutes, whatever init_process_group() was told.
    """
    world = distributed.group.WORLD
    if not _groups or _groups[0][0] is not world:
        _groups[:] = [(world, distributed.new_group(backend="gloo", timeout=group_timeout(world)))]
    return _groups[0][1]


def _roll_call(step: int) -> str:
    """Says which ranks do not answer any more, for a message."""
    try:
        store, ranks = default_store(), range(distributed.get_world_size())
        key = f"goloader/equal_steps/{step}"
        store.set(f"{key}/{distributed.get_rank()}", "here")
        end, missing = time.monotonic() + _ROLL_CALL_S, list(ranks)
        while missing and time.monotonic() < end:
            missing = [rank for rank in missing if not store.check([f"{key}/{rank}"])]
            time.sleep(0.05)
    except Exception as error:  # the process that keeps the store may be the one that is gone
        return f"the ranks cannot be asked, {type(error).__name__}: {error}"
    here = {each.rank: f" ({each})" for each in _ranks.told()}
    named = ", ".join(f"{rank}{here.get(rank, '')}" for rank in missing)
    return f"rank {named} does not answer" if missing else "all ranks answer"
