"""What is found in an object without asking it is what inspect.getattr_static finds."""

from __future__ import annotations

import collections
import functools
import inspect
import random
import types
from typing import Any

import pytest
import torch
from torch.utils import data

from goloader.plan.trust import look


class Slotted:
    __slots__ = ("__dict__", "a")


class Bare:
    __slots__ = ("a",)


class Computed:
    @property
    def __dict__(self) -> Any:
        raise RuntimeError("somebody asked")


class Hiding:
    x = property(lambda self: 1)
    y = 3

    def __init__(self) -> None:
        vars(self)["x"] = 5
        self.y = self.z = 4


class Meta(type):
    a = 1


class Made(metaclass=Meta):
    b = 2


class Cached(dict[str, int]):
    @functools.cached_property
    def c(self) -> int:
        return 1


class Asked(dict[str, Any]):
    def get(self, *arguments: Any) -> Any:
        raise RuntimeError("somebody asked")

    keys = get


def odd_dict() -> Any:
    thing = Hiding()
    thing.__dict__ = Asked(y=5)
    return thing


THINGS = [
    *(Slotted(), Bare(), Computed(), Hiding(), Made(), Made, Meta, Cached(), odd_dict(), object(), int, 1, None, len),
    *(types.SimpleNamespace(a=1), collections.OrderedDict(a=1), collections.namedtuple("Pair", "x y")(1, 2), torch),
    *(torch.nn.Linear(1, 1), data.RandomSampler([1, 2]), data.TensorDataset(torch.zeros(2)), lambda: None),
]
NAMES = ["a", "b", "c", "x", "y", "z", "__dict__", "__class__", "__len__", "generator", "weight", "training", "forward"]
NOTHING = object()


@pytest.mark.parametrize("thing", THINGS, ids=lambda thing: type(thing).__name__)
def test_attributes_are_those_that_inspect_finds(thing: Any) -> None:
    names = [*NAMES, *random.Random(5).sample(dir(type(thing)), min(40, len(dir(type(thing)))))]
    for name in names:
        wanted = inspect.getattr_static(thing, name, NOTHING)
        assert look.has(thing, name) == (wanted is not NOTHING), name
        plain = wanted is not NOTHING and not hasattr(type(wanted), "__get__")
        assert look.attribute(thing, name, NOTHING) is (wanted if plain else NOTHING), name


def test_what_hides_an_attribute_of_the_class_is_named() -> None:
    assert sorted(look.hiding(Hiding())) == ["x", "y"]
    assert look.hiding(odd_dict()) == ["y"]
    assert look.hiding(torch.nn.Linear(1, 1)) == look.hiding(object()) == []
