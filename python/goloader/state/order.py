"""The index batches of one epoch, counted, and the way back to any of them.

What a sampler yields depends on its generators. So an order keeps the states that these had when the sampler was asked
for its iterator and when it was asked for its first batch, and comes back by doing both again and leaving out the
batches that were yielded: without any sample being loaded, and for torch's own samplers without an index being made
in Python. Samplers with a state of their own are asked for it instead.
"""

from __future__ import annotations

import collections
import inspect
import itertools
import operator
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.utils.data import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from torch.utils.data.dataloader import _InfiniteConstantSampler

from .._errors import StateError
from ..on_error import LEFT_OUT, Known
from ..plan import samplers
from ..plan.trust.look import attribute, in_class, is_a
from ..plan.trust.originals import is_original
from ..samplers import BalancedSampler, MixtureSampler, NumberedSampler, WeightedSampler
from . import deal, generators
from .protocol import has_state, restore, saved
from .samplers import Batches
from .samplers import BatchSampler as StatefulBatchSampler
from .samplers import RandomSampler as StatefulRandomSampler

# Which of the process's generators a sampler may draw from; any other sampler: from all of them.
_DRAWS: dict[type, tuple[str, ...]] = {
    SequentialSampler: (), DistributedSampler: (), StatefulRandomSampler: (), _InfiniteConstantSampler: (),
    RandomSampler: ("torch",), SubsetRandomSampler: ("torch",), WeightedRandomSampler: ("torch",),
    BalancedSampler: ("torch",), MixtureSampler: ("torch",), WeightedSampler: ("torch",),
}  # fmt: skip

# Whoever makes them says which epoch it is.
_OF_EPOCHS = (DistributedSampler, NumberedSampler)

# Their order is another one for another number of samples.
_SHUFFLES = (RandomSampler, SubsetRandomSampler, WeightedRandomSampler, DistributedSampler, StatefulRandomSampler)


class Mark(NamedTuple):
    """A place in an order.

    batches  so many are before it
    taken    indices in them; as many as batches, if they are made by a batch sampler of another kind than torch's
    own      the states of samplers that have one
    """

    batches: int
    taken: int = 0
    own: dict[str, Any] | None = None


@dataclass(frozen=True)
class Sampling:
    """What an order needs of a loader, under the loader's names."""

    _index_sampler: Any
    _auto_collation: bool
    generator: torch.Generator | None

    @classmethod
    def of(cls, loader: Any) -> Sampling:
        return cls(loader._index_sampler, loader._auto_collation, loader.generator)


class Order(Iterator[Any]):
    """The index batches of one epoch, in place of iter(loader._index_sampler).

    arrays  they come as int64 arrays or Foreign (plan/samplers.py), else as the sampler gives them
    state   what state() gave, to go on from there
    bad     the samples that are known to be bad
    drew    is told how long each batch took the sampler, in seconds; iter() counts to the first
    """

    def __init__(
        self,
        loader: Sampling,
        *,
        arrays: bool,
        state: Mapping[str, Any] | None = None,
        bad: Known | None = None,
        drew: Callable[[float], object] | None = None,
    ) -> None:
        begun = time.perf_counter()
        self._arrays, self._batched, self._bad = arrays, loader._auto_collation, bad
        self._index_sampler, self._sampling = loader._index_sampler, loader
        inner: Any = sampler_of(loader)
        self._sampler, self._cut = inner, inner is not self._index_sampler
        self._names = _DRAWS.get(type(inner), generators.PROCESS)
        if type(inner) in _DRAWS and getattr(inner, "generator", None) is not None:
            self._names = ()
        self.generators = own_generators(loader)
        self._batches = self._taken = 0
        self._rest: Mapping[str, Any] | None = None
        self._epoch: int | None = None
        self._held: list[Any] = []
        self._made: dict[str, Any] = {}
        self._begun: dict[str, Any] | None = None
        self._seed: int | None = None
        if state is None:
            # Nothing is drawn by a generator's iter(): no state is looked at then, of which numpy's takes 50 us.
            drawless = _is_generator(type(self._index_sampler)) and not has_state(inner)
            before = {} if drawless else generators.capture(self._names) | self._own_states()
            self._iterator = self._iterate(loader, by_class=True)
            self._made = self._moved(before)
        else:
            self._return(loader, state)
        # An iterable dataset has no sampler.
        self._drew = None if is_a(inner, _InfiniteConstantSampler) else drew
        self._to_begin = time.perf_counter() - begun

    @cached_property
    def _known(self) -> bool:
        """Whether its samplers are known. Not asked where that may wait: their file is read for it."""
        return samplers.known(self._sampling) is not None

    @cached_property
    def _numbered(self) -> bool:
        """Whether draws go on from any of them: no other generator and nothing that was left out matters."""
        return is_a(self._sampler, NumberedSampler) and self._known

    def give_arrays(self) -> None:
        """Has the batches that are left come as arrays."""
        if not self._arrays:
            self._arrays = True
            self._iterator = samplers.as_arrays(self._iterator, batched=self._batched)

    def __next__(self) -> Any:
        begun = time.perf_counter()
        if self._begun is None:
            batch = self._first()
            begun -= self._to_begin
        else:
            batch = self._counted(self._held.pop() if self._held else next(self._iterator))
        if self._drew is not None:
            self._drew(time.perf_counter() - begun)
        return batch

    def _first(self) -> Any:
        own, before = self._own_states(), generators.capture(self._names)
        try:
            batch = next(self._iterator)
        finally:
            self._begun = own | self._moved(before)
            self._epoch = attribute(self._sampler, "epoch")
        return self._counted(batch)

    def _counted(self, batch: Any) -> Any:
        self._batches += 1
        self._taken += len(batch.value if isinstance(batch, samplers.Foreign) else batch) if self._cut else 1
        return batch if self._bad is None else self._spared(batch)

    def _spared(self, batch: Any) -> Any:
        """A batch without the indices that are known to be bad, or with others in their place."""
        assert self._bad is not None  # its callers look
        arrays = isinstance(batch, np.ndarray)
        value = batch.tolist() if arrays else batch.value if isinstance(batch, samplers.Foreign) else batch
        made = self._bad.spared(value)
        if made is None:
            return batch
        if arrays and made is not LEFT_OUT:
            return np.array(made, np.int64)
        return samplers.Foreign(made) if self._arrays else made

    @property
    def stateful(self) -> bool:
        """Whether a sampler or its iterator has a state of its own."""
        if self._known:
            return self._numbered
        if isinstance(self._source, Batches):
            return has_state(self._index_sampler) or self._source.stateful
        return has_state(self._index_sampler) or has_state(self._source)

    def mark(self) -> Mark:
        """This place."""
        plain = self._known and not self._numbered
        if plain or self._held or not self.stateful or (self._numbered and self._begun is None):
            return Mark(self._batches, self._taken)
        own = {
            "over": isinstance(self._source, Batches) and self._source.over,
            "index_sampler": saved(self._index_sampler),
            "iterator": saved(self._sampler if self._numbered else self._source),
        }
        return Mark(self._batches, self._taken, own | {"generators": _texts(self._own_states())})

    def state(self, mark: Mark) -> dict[str, Any]:
        """What Order(state=...) takes to go on from a mark: JSON, if the states of the samplers are.

        sampler, batch_size, ranks, samples, epoch  what made it
        batches, taken  how far it is (Mark)
        deal            what order it shares out (deal.whole), and if that is the rest of one, which part
        made, begun, started, seed  states of generators at iter() and before the first batch, and if that has come
        over, index_sampler, iterator, generators  in their place, of samplers that have a state
        """
        state: dict[str, Any] = {"sampler": name_of(self._sampler), "batches": mark.batches, "taken": mark.taken}
        state["batch_size"], state["ranks"] = batch_size_of(self._index_sampler), ranks_of(self._sampler)
        if type(self._sampler) in _SHUFFLES:
            state["samples"] = len(self._sampler)
        if is_a(self._sampler, *_OF_EPOCHS):
            state["epoch"] = self._sampler.epoch if self._begun is None else self._epoch
        if self._rest is not None:
            return state | {"deal": self._rest}
        if self._known:
            state["deal"] = deal.whole(self._sampler, state.get("epoch"))
        if mark.own is not None:
            return state | mark.own
        begun = self._own_states() if self._begun is None else dict(self._begun)
        if type(self._sampler) is RandomSampler and "torch" in begun:
            # All that it drew from there is one seed.
            drawn = torch.Generator()
            drawn.set_state(begun.pop("torch"))
            self._seed = int(torch.empty((), dtype=torch.int64).random_(generator=drawn).item())
        if self._seed is not None:
            state["seed"] = self._seed
        state["made"], state["begun"] = _texts(self._made), _texts(begun)
        state["started"] = self._begun is not None
        return state

    def between(self) -> dict[str, Any]:
        """The states between two epochs, for go_between."""
        return _between(self.generators, self._index_sampler)

    def _iterate(self, loader: Sampling, *, by_class: bool = False) -> Iterator[Any]:
        """The batches, as iter() of the index sampler gives them.

        by_class  a sampler's class is enough to know it by: nothing is to be left out
        """
        sampler, kind = self._index_sampler, type(self._sampler)
        self._source: Iterator[Any]
        if self._arrays and self._known:
            self._source = samplers.index_batches(loader)
            return self._source
        by_class = by_class and kind in _DRAWS and not has_state(self._sampler)
        looked_up = kind is SubsetRandomSampler or not (by_class or self._known)
        if looked_up and type(sampler) is BatchSampler and is_original(BatchSampler.__iter__, "torch"):
            self._source = Batches(sampler)
        else:
            self._source = iter(sampler)
        if not self._arrays:
            return self._source
        return samplers.as_arrays(self._source, batched=self._batched)

    def _return(self, loader: Sampling, state: Mapping[str, Any]) -> None:
        self._batches, self._taken = int(state["batches"]), int(state["taken"])
        if state["sampler"] != name_of(self._sampler):
            raise StateError(f"the state is of a loader with a {state['sampler']}, not a {name_of(self._sampler)}")
        if "samples" in state and state["samples"] != len(self._sampler):
            raise StateError(
                f"the state is of {state['samples']} shuffled samples, this loader has {len(self._sampler)}"
            )
        if state["batch_size"] != batch_size_of(self._index_sampler) and self._batched and not self._cut:
            raise StateError(
                f"the state is of batches of {state['batch_size']}, this loader's {state['sampler']} makes others"
            )
        if "begin" in (state.get("deal") or {}):
            self._return_dealt(loader, state["deal"], state["ranks"])
        elif "iterator" in state:
            self._return_by_state(loader, state)
        else:
            self._return_by_draws(loader, state)
        self._epoch = attribute(self._sampler, "epoch")

    def _return_dealt(self, loader: Sampling, dealt: Mapping[str, Any], ranks: int) -> None:
        """Goes on in what was left for another number of ranks. Nothing is drawn, the sampler is not asked."""
        places = deal.Rest.of(dealt).share(getattr(self._sampler, "rank", 0), ranks, dealt["drop_last"])
        share = deal.indices(self._sampler, dealt, places)
        self._use_known(loader, share=share)(self._taken)
        self._numbered, self._begun, self._rest = False, {}, dealt

    def _use_known(self, loader: Sampling, **known: Any) -> Callable[[int], None]:
        """Takes the batches from samplers.known_batches; gives what leaves indices out."""
        self._source, skip = samplers.known_batches(loader, **known)
        # What a user's dataset gets are Python's ints, as from torch's samplers.
        self._iterator = self._source if self._arrays else map(operator.methodcaller("tolist"), self._source)
        return skip

    def _return_by_state(self, loader: Sampling, state: Mapping[str, Any]) -> None:
        restore(self._index_sampler, state["index_sampler"])
        if self._numbered:
            restore(self._sampler, state["iterator"])
        self._iterator = self._iterate(loader)
        if not self._numbered:
            restore(self._source, state["iterator"])
        if state["over"] and isinstance(self._source, Batches):
            self._source.over, self._iterator = True, iter(())
        self._begun = {}
        self._put(_states(state["generators"]))
        if not self.stateful:
            raise StateError(f"the state is of a {state['sampler']} that has a state_dict(), which this one has not")

    def _return_by_draws(self, loader: Sampling, state: Mapping[str, Any]) -> None:
        made, begun = _states(state["made"]), _states(state["begun"])
        if self.generators.keys() != begun.keys() - set(generators.PROCESS):
            raise StateError(
                f"the state has generators of {_listed(begun)}, the loader has generators of {_listed(self.generators)}"
            )
        begins = is_a(self._sampler, _InfiniteConstantSampler) or self._batches == 0
        with generators.untouched(self._names):
            # Samplers draw when iter() is called, or when the first batch is wanted.
            self._put(made or begun)
            if state["started"] and self._known and (self._arrays or type(self._sampler) is not SubsetRandomSampler):
                skip = self._use_known(loader, seed=state.get("seed"))
            else:
                self._iterator, skip = self._iterate(loader), self._pull
            self._made, self._seed = made, state.get("seed")
            if made:
                self._put(begun)
            if not begins:
                skip(self._taken)
            if state["started"]:
                self._begun = begun
                if begins:
                    # The first batch is drawn here, from the generators of that time.
                    self._held = list(itertools.islice(self._iterator, 1))
        if not begins and self.stateful and not self._numbered:
            raise StateError(f"the state is of a {state['sampler']} without a state_dict(), but this one has one")

    def _pull(self, taken: int) -> None:
        """Leaves out what was taken by pulling it."""
        if isinstance(self._source, Batches):
            self._source.skip(taken)
        else:
            collections.deque(itertools.islice(self._source, self._batches if self._batched else taken), maxlen=0)

    def _own_states(self) -> dict[str, Any]:
        return {name: generator.get_state() for name, generator in self.generators.items()}

    def _moved(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """Those of the states that have changed since."""
        own = self.generators
        left = {
            name: state
            for name, state in before.items()
            if name in own and not generators.same(state, own[name].get_state())
        }
        return left | generators.left({name: state for name, state in before.items() if name not in own})

    def _put(self, states: Mapping[str, Any]) -> None:
        for name, state in states.items():
            if name in self.generators:
                self.generators[name].set_state(state)
        generators.put({name: state for name, state in states.items() if name in generators.PROCESS})


def sampler_of(loader: Any) -> Any:
    """A loader's sampler of single indices, or its batch sampler where that has none that is known."""
    index_sampler = loader._index_sampler
    # A subclass may draw anything, from anywhere.
    return index_sampler.sampler if type(index_sampler) in (BatchSampler, StatefulBatchSampler) else index_sampler


def set_epoch(sampler: Any, epoch: int) -> None:
    """Says to a sampler that is told so by whoever makes the epochs which one is next."""
    if is_a(sampler, *_OF_EPOCHS):
        sampler.set_epoch(epoch)


def ranks_of(sampler: Any) -> int:
    """How many ranks share a sampler's order, as far as it says: as torch's, or as accelerate's."""
    told = (attribute(sampler, "num_replicas"), attribute(sampler, "num_processes"))
    return next((ranks for ranks in told if type(ranks) is int), 1)


def batch_size_of(index_sampler: Any) -> int | None:
    """How many indices a batch has, as far as an index sampler says."""
    size: int | None = attribute(index_sampler, "batch_size")
    return size


def _is_generator(kind: type) -> bool:
    """Whether objects of a class have their __iter__ written with yield: none of it runs before the first next()."""
    function = in_class(kind, "__iter__")
    return type(function) is FunctionType and bool(function.__code__.co_flags & inspect.CO_GENERATOR)


def own_generators(loader: Any) -> dict[str, torch.Generator]:
    """The generators that a loader and its samplers were given."""
    index_sampler = loader._index_sampler
    given = {"loader": loader.generator, "sampler": attribute(index_sampler, "generator")}
    if is_a(index_sampler, BatchSampler):
        given["batch_sampler"] = given["sampler"]
        given["sampler"] = attribute(attribute(index_sampler, "sampler"), "generator")
    found: dict[str, torch.Generator] = {}
    for name, generator in given.items():
        known = generator is None or any(generator is other for other in found.values())
        if not known and is_a(generator, torch.Generator):
            found[name] = generator
    return found


def between(loader: Any) -> dict[str, Any]:
    """The states of a loader's generators and samplers between two epochs, for go_between."""
    return _between(own_generators(loader), loader._index_sampler)


def _between(own: Mapping[str, torch.Generator], index_sampler: Any) -> dict[str, Any]:
    return {
        "generators": _texts({name: generator.get_state() for name, generator in own.items()}),
        "index_sampler": _saved_between(index_sampler),
        "sampler": _saved_between(attribute(index_sampler, "sampler")),
    }


def _saved_between(sampler: Any) -> Any:
    # Their own state would say that nothing is left of the epoch, of the next one too.
    return {"epoch": sampler.epoch} if is_a(sampler, *_OF_EPOCHS) else saved(sampler)


def _restore_between(sampler: Any, state: Any) -> None:
    if is_a(sampler, *_OF_EPOCHS) and state is not None:
        sampler.set_epoch(state["epoch"])
    else:
        restore(sampler, state)


def go_between(loader: Any, state: Mapping[str, Any]) -> None:
    """Puts a loader's generators and samplers to where others stood between two epochs."""
    own, states = own_generators(loader), _states(state["generators"])
    if own.keys() != states.keys():
        raise StateError(f"the state has generators of {_listed(states)}, the loader has generators of {_listed(own)}")
    for name, generator in own.items():
        generator.set_state(states[name])
    _restore_between(loader._index_sampler, state["index_sampler"])
    _restore_between(attribute(loader._index_sampler, "sampler"), state["sampler"])


def name_of(sampler: Any) -> str:
    """A sampler's class, as states name it."""
    # torch has one of this name too, which draws otherwise.
    return "goloader.RandomSampler" if type(sampler) is StatefulRandomSampler else type(sampler).__name__


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(set(names) - set(generators.PROCESS))) or "nothing"


def _texts(states: Mapping[str, Any]) -> dict[str, str]:
    return {name: generators.to_text(state) for name, state in states.items()}


def _states(texts: Mapping[str, str]) -> dict[str, Any]:
    return {name: generators.from_text(text) for name, text in texts.items()}
