"""numpy's behaviours: what its old generator draws, and in which order it adds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .behaviour import Behaviour, Late, digest, golden, numbers

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


def _sums() -> str | None:
    """Whether rows are summed as they are, or in pieces of 8,192 items: core/expr's name of either way."""
    made: list[Any] = []
    for dtype in ("float32", "float64"):
        for shape in ((5,), (8,), (127,), (1000,), (33, 40), (40, 3), (3, 40, 7)):
            array = numbers(*shape).astype(dtype)
            for axis in (None, 0, -1):
                made += [array.sum(axis), array.mean(axis, keepdims=True), array.std(axis), array.var(axis, ddof=1)]
            made.append(np.linalg.norm(array, axis=-1))
            made.append(array.T.sum(0))
        made.append(numbers(2, 8195).astype(dtype).sum(1))
    return {206119042: "sum_pairs", 3136441370: "sum_pieces"}.get(digest(map(np.asarray, made)))


BEHAVIOURS = {
    "numpy.random": golden("numpy", "numbers of numpy.random", _deviates, 123921507),
    "numpy.sum": Behaviour("numpy", "sum of floats", _sums, ("sum_pairs", "sum_pieces")),
}
