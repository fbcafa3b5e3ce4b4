"""The random generators that a dataset may draw from, saved and put back, so that a batch can be run again."""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import partial
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch.utils.data.dataloader import _BaseDataLoaderIter

from ...plan.datasets.own import is_of_library
from .reach import of_class, of_function, variables_set_by

__all__ = ["GENERATORS", "Generators", "same_states"]

# The classes of generators that a dataset may have.
GENERATORS = (torch.Generator, np.random.Generator, np.random.RandomState, random.Random)

# A dataset is looked through no further.
_OBJECTS_MAX = 5000
_DEPTH_MAX = 8
_ITEMS_MAX = 100


class Generators:
    """The generators of this process, and those that a dataset's code finds: in attributes, globals and closures.

    passing  what else it finds that moves on with each sample and cannot be put back; None if there is nothing
    """

    def __init__(self, *roots: Any) -> None:
        self.passing: str | None = None
        self._own: list[Any] = []
        self._seen: set[int] = set()
        for root in roots:
            self._find(root, 0)
        self._seen.clear()

    def _find(self, value: Any, depth: int) -> None:
        if depth > _DEPTH_MAX or id(value) in self._seen or len(self._seen) >= _OBJECTS_MAX:
            return
        self._seen.add(id(value))
        kind = type(value)
        items: Iterable[Any] = ()
        if isinstance(value, GENERATORS):
            self._own.append(value)
        elif kind in (list, tuple):
            items = value[:_ITEMS_MAX]
        elif kind is dict:
            items = list(value.values())[:_ITEMS_MAX]
        elif kind in (MethodType, BuiltinMethodType):
            items = value.__self__, getattr(value, "__func__", None)
        elif kind is FunctionType:
            items = of_function(value)
            for name in variables_set_by(value):
                self.passing = f"its code sets {name}, a variable outside of it"
        elif kind is partial:
            items = value.func, value.args, value.keywords
        elif hasattr(value, "__dict__") and not isinstance(value, (type, torch.Tensor, ModuleType)):
            items = [*vars(value).values(), *of_class(kind)]
            if not is_of_library(kind.__module__):
                for name, each in vars(value).items():
                    if _is_gone_through(type(each)):
                        self.passing = f"its {name} is an iterator"
        for item in items:
            self._find(item, depth + 1)

    def are(self, *roots: Any) -> bool:
        """Whether these are the generators that are found from these objects now."""
        return list(map(id, self._own)) == list(map(id, Generators(*roots)._own))

    def save(self) -> list[Any]:
        """What restore takes."""
        return [torch.get_rng_state(), random.getstate(), np.random.get_state(legacy=False), *map(_state, self._own)]

    def restore(self, states: list[Any]) -> None:
        """Puts all generators where they were."""
        torch.set_rng_state(states[0])
        random.setstate(states[1])
        np.random.set_state(states[2])
        for generator, state in zip(self._own, states[3:], strict=True):
            _set_state(generator, state)


def _is_gone_through(kind: type) -> bool:
    """Whether objects of a class are iterators: Python's, a loader's, or the user's. Files and cursors go back."""
    following = getattr(kind, "__next__", None)
    known = kind.__module__ in ("builtins", "itertools", "_csv") or issubclass(kind, _BaseDataLoaderIter)
    return following is not None and (known or (type(following) is FunctionType and not is_of_library(kind.__module__)))


def same_states(one: list[Any], other: list[Any]) -> bool:
    """Whether generators stood in the same place when each of these was saved."""
    return all(map(_equal, one, other))


def _state(generator: Any) -> Any:
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    if isinstance(generator, random.Random):
        return generator.getstate()
    return generator.get_state()


def _set_state(generator: Any, state: Any) -> None:
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif isinstance(generator, random.Random):
        generator.setstate(state)
    else:
        generator.set_state(state)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(_equal, one, other))
    return bool(one == other)
