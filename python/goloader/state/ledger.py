"""What a resume needs to know of one epoch of an iterator, and the record in which state_dict() gives it.

A record is JSON:

    goloader     version of this format
    epoch        number of the epoch, from 0
    finished     the epoch is over: the next iter() begins a new one
    yielded      batches yielded in it (an error in place of a batch is none)
    num_workers  of the loader
    base_seed    worker w was seeded with base_seed + w; null before the first epoch
    streams      32-bit words that each worker's generator has drawn for batches yielded; null if Go draws nothing
    seeds        of these generators, where worker_init_fn has seeded them; else null
    rng          null, or the seed of rng="sample"
    lanes        of a stream alone: where the core's lanes stand (doors/index/streams.py)
    generators   where Python goes on with Go's batches: the states of the generators of each worker that has drawn, by
                 its number (generators.to_text); left out where none has
    order        where the index sampler stands (order.py); null if finished
    between      if finished, the states of the loader's generators and of samplers that have one (order.py)

Python's iterators give the states of the user's objects in torchdata's layout, with the record under "goloader".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._errors import StateError
from .generators import from_text, to_text
from .order import Mark, Order

VERSION = 2


@dataclass
class Ledger:
    """One epoch of an iterator, which it outlives.

    order    of the epoch
    mark     how far batches were yielded, where the order is ahead of that; None where it never is
    streams  [num_workers] int64, words drawn for batches yielded; None if nothing draws from streams
    seeds    [num_workers] uint64, of the streams, if worker_init_fn has chosen them
    lanes    where those of a stream stand, for batches yielded; None where there are none
    generators  states of those of workers, for batches yielded; None where no Python draws in them
    """

    order: Order
    epoch: int
    num_workers: int
    base_seed: int
    rng: int | None
    mark: Mark | None = None
    streams: NDArray[np.int64] | None = None
    seeds: NDArray[np.uint64] | None = None
    yielded: int = 0
    finished: bool = False
    lanes: Callable[[], dict[str, Any]] | None = None
    generators: dict[int, dict[str, Any]] | None = None

    def record(self) -> dict[str, Any]:
        """The record of this moment."""
        told = _record(
            finished=self.finished,
            yielded=self.yielded,
            streams=None if self.streams is None else self.streams.tolist(),
            seeds=None if self.seeds is None else self.seeds.tolist(),
            **{name: getattr(self, name) for name in ("epoch", "num_workers", "base_seed", "rng")},
        )
        if self.generators:
            told["generators"] = {
                str(number): {name: to_text(state) for name, state in each.items()}
                for number, each in self.generators.items()
            }
        if self.finished:
            return told | {"between": self.order.between()}
        lanes = {} if self.lanes is None else {"lanes": self.lanes()}
        return told | {"order": self.order.state(self.mark or self.order.mark())} | lanes

    def state(self) -> dict[str, Any]:
        """What state_dict() gives; Python's iterators have more to tell."""
        return self.record()


@dataclass(frozen=True)
class Record:
    """A state to go on from, read and checked."""

    state: Mapping[str, Any] = field(repr=False)
    epoch: int
    finished: bool
    yielded: int
    num_workers: int
    base_seed: int | None
    streams: NDArray[np.int64] | None
    seeds: NDArray[np.uint64] | None
    rng: int | None
    order: Mapping[str, Any] | None
    between: Mapping[str, Any] | None
    lanes: Mapping[str, Any] | None = None
    generators: Mapping[int, dict[str, Any]] | None = None

    @property
    def own(self) -> Mapping[str, Any]:
        """torchdata's part: states of datasets and their iterators. Empty if there is none."""
        return {} if isinstance(self.state.get("goloader"), int) else self.state


def _record(**told: Any) -> dict[str, Any]:
    """A record that says so, and nothing of the rest."""
    names = ("epoch", "finished", "yielded", "num_workers", "base_seed", "streams", "seeds", "rng", "order", "between")
    return {"goloader": VERSION, **dict.fromkeys(names), **told}


def unbegun(num_workers: int, epoch: int, rng: int | None, between: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a loader that has begun no epoch; `epoch` will be its first."""
    return _record(epoch=epoch - 1, finished=True, yielded=0, num_workers=num_workers, rng=rng, between=dict(between))


def dealt(base: Record, num_workers: int, order: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a rank that goes on in the epoch of another's, with an order of its own."""
    return _record(
        epoch=base.epoch,
        finished=False,
        yielded=0,
        num_workers=num_workers,
        base_seed=base.base_seed,
        streams=[0] * num_workers or None,
        rng=base.rng,
        order=order,
    )


def read(state: Mapping[str, Any]) -> Record:
    """A state_dict as a Record. Raises StateError for what is none."""
    if not isinstance(state, Mapping):
        raise StateError(f"a state is a dict that state_dict() returned, not a {type(state).__name__}")
    found = state.get("goloader")
    record = state if isinstance(found, int) else found
    if not isinstance(record, Mapping):
        raise StateError(f"not a state that goloader gave: it has {', '.join(map(str, state)) or 'nothing'}")
    if record.get("goloader") != VERSION:
        raise StateError(f"the state has format {record.get('goloader')}, this goloader reads format {VERSION}")
    try:
        streams, seeds = record["streams"], record["seeds"]
        return Record(
            state=state,
            epoch=int(record["epoch"]),
            finished=bool(record["finished"]),
            yielded=int(record["yielded"]),
            num_workers=int(record["num_workers"]),
            base_seed=None if record["base_seed"] is None else int(record["base_seed"]),
            streams=None if streams is None else np.array(streams, np.int64),
            seeds=None if seeds is None else np.array(seeds, np.uint64),
            rng=record["rng"],
            order=record["order"],
            between=record["between"],
            lanes=record.get("lanes"),
            generators={
                int(number): {name: from_text(text) for name, text in states.items()}
                for number, states in (record.get("generators") or {}).items()
            },
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StateError(f"not a state of a loader: {type(error).__name__}: {error}") from None
