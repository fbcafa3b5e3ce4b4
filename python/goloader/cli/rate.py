"""How many samples a second a loader gives to a program that does nothing with them."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from typing import Any, NamedTuple

# Of the seconds that are measured, what passes before.
_EARLY = 0.25


class Measured(NamedTuple):
    """What a program that does nothing with the batches gets.

    rate     samples a second
    first_s  from iter() to the first batch
    cpu_s    of all processes, for 1,000 samples, but for what it takes to import and make everything
    """

    rate: float
    first_s: float
    cpu_s: float


def measured(loader: Any, seconds: float) -> Measured:
    """Takes batches of one epoch after another for so many seconds. Raises ValueError if an epoch has none."""
    from .._measure import cpu_s

    begun, start = cpu_s(), time.perf_counter()
    batches = _batches(loader)
    early, first = samples(next(batches)), time.perf_counter()
    # What was made ahead while the first batch was waited for is taken before the clock starts.
    early += sum(samples(batch) for batch in _until(batches, first + seconds * _EARLY))
    late = time.perf_counter()
    made = sum(samples(batch) for batch in _until(batches, late + seconds))
    rate = made / (time.perf_counter() - late)
    batches.close()
    del loader, batches  # and workers that persist
    return Measured(rate, first - start, (cpu_s() - begun) * 1000 / (early + made))


def samples(batch: Any) -> int:
    """How many samples a batch has: those of its first tensor, or of its first list."""
    from ..adapters.torch import pytree

    leaves = pytree.tree_leaves(batch)
    return next((len(leaf) for leaf in leaves if getattr(leaf, "ndim", 0)), len(leaves) or 1)


def _batches(loader: Any) -> Generator[Any, None, None]:
    while True:
        batch = None
        for batch in loader:
            yield batch
        if batch is None:
            raise ValueError("the loader has no batches")


def _until(batches: Iterator[Any], end: float) -> Iterator[Any]:
    """At least one batch, and those that come until then."""
    yield next(batches)
    while time.perf_counter() < end:
        yield next(batches)
