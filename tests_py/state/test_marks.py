"""States that are taken before each batch are those that the generators have, however little is looked at."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
import torch

from goloader.state.generators import PROCESS, Marks, capture, same

DRAWS: dict[str, Callable[[], object]] = {
    "nothing": lambda: None,
    "torch": lambda: torch.rand(2),
    "random": random.random,
    "numpy": np.random.rand,
    "a gauss": np.random.randn,
    "two gausses": lambda: np.random.randn(2),
    "a seed": lambda: np.random.seed(5),
}


@pytest.mark.parametrize("second", DRAWS)
@pytest.mark.parametrize("first", DRAWS)
def test_marks_are_the_generators_states(first: str, second: str) -> None:
    np.random.seed(1)
    marks = Marks()
    for draw in ("nothing", first, second, "nothing", "a gauss", first, "a gauss", second):
        DRAWS[draw]()
        taken, captured = marks.take(), capture(PROCESS)
        assert taken.keys() == captured.keys()
        assert all(same(taken[name], captured[name]) for name in PROCESS), draw
