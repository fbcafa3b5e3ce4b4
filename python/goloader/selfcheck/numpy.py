"""numpy's behaviours: what its old generator draws."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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


BEHAVIOURS = {"numpy.random": golden("numpy", "numbers of numpy.random", _deviates, 2233517697)}
