"""numpy's behaviours: what its old generator draws."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .behaviour import Late, golden

random: Any = Late("numpy.random")


def _deviates() -> Iterator[Any]:
    generator = random.RandomState(5489)
    for _ in range(3):
        yield generator.standard_normal()
        yield generator.standard_normal(5)
        yield generator.uniform(-0.3, 1.7, (2, 3))
        yield generator.random_sample(3)
        yield generator.normal(0.1, 0.7, (3, 2))
        yield generator.randn(2, 2)
        yield generator.normal(-2.5, 1.3)
        yield generator.rand(3)
        yield generator.permutation(9)
        yield generator.randint(-3, 700, 5)
        yield generator.choice(300, 4)
        yield generator.choice(7, 3, replace=False)
        rows = np.arange(22).reshape(11, 2)
        generator.shuffle(rows)
        yield rows


BEHAVIOURS = {"numpy.random": golden("numpy", "numbers of numpy.random", _deviates, 123921507)}
