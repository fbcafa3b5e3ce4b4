"""States that are asked for before each batch are those that the generators have, however little is looked at."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
import torch

from goloader.adapters.python import memory_of_random
from goloader.state.generators import PROCESS, Watch, capture, same

DRAWS: dict[str, Callable[[], object]] = {
    "nothing": lambda: None,
    "torch": lambda: torch.rand(2),
    "random": random.random,
    "a gauss of random's": lambda: random.gauss(0, 1),
    "a seed of random's": lambda: random.seed(5),
    "numpy": np.random.rand,
    "a gauss": np.random.randn,
    "two gausses": lambda: np.random.randn(2),
    "a seed": lambda: np.random.seed(5),
}


def asked() -> dict[str, object]:
    return {"torch": torch.get_rng_state(), "random": random.getstate(), "numpy": np.random.get_state()}


@pytest.mark.parametrize("second", DRAWS)
@pytest.mark.parametrize("first", DRAWS)
def test_captured_states_are_the_generators(first: str, second: str) -> None:
    np.random.seed(1)
    random.seed(1)
    watch, last, moved = Watch(), asked(), set()
    for draw in (
        "nothing",
        first,
        second,
        "nothing",
        "a gauss",
        first,
        "a gauss of random's",
        first,
        "a gauss",
        second,
    ):
        DRAWS[draw]()
        captured, want = capture(PROCESS), asked()
        assert captured.keys() == want.keys()
        assert all(same(captured[name], want[name]) for name in PROCESS), draw
        news = {name for name in PROCESS if not same(last[name], want[name])}
        moved |= news
        assert watch.look() == bool(news)
        assert watch.moved.keys() == moved
        last = want


def test_a_state_is_asked_for_once_where_nothing_was_drawn() -> None:
    random.seed(1)
    np.random.seed(1)
    one, other = capture(PROCESS), capture(PROCESS)
    assert one["random"] is other["random"]
    assert one["numpy"] is other["numpy"]


def test_the_memory_of_a_generator_says_what_it_draws() -> None:
    one, other = random.Random(3), random.Random(4)
    assert memory_of_random(one) != memory_of_random(other)
    other.setstate(one.getstate())
    assert memory_of_random(one) == memory_of_random(other)
    one.random()
    assert memory_of_random(one) != memory_of_random(other)
    assert memory_of_random(random.SystemRandom()) is None
