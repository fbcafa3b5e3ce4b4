"""A run that is interrupted, and the one that goes on: the same batches, bit for bit."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import twins

from goloader import DataLoader

Make = Callable[[], DataLoader[Any]]


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(5)


def maker(kind: type[DataLoader[Any]], dataset: Any, order: dict[str, Any], **arguments: Any) -> Make:
    def make() -> DataLoader[Any]:
        known = {} if "batch_sampler" in order else {"batch_size": 4}
        given = {name: value(dataset) if callable(value) else value for name, value in order.items()}
        return kind(dataset, **(known | given | arguments))

    return make


def by_json(state: dict[str, Any]) -> dict[str, Any]:
    text: dict[str, Any] = json.loads(json.dumps(state))
    return text


def by_torch(state: dict[str, Any]) -> dict[str, Any]:
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    loaded: dict[str, Any] = torch.load(file, weights_only=True)
    return loaded


def process() -> Any:
    return torch.get_rng_state(), random.getstate(), np.random.get_state()


def put(states: Any) -> None:
    torch.set_rng_state(states[0])
    random.setstate(states[1])
    np.random.set_state(states[2])


def disturb() -> None:
    torch.manual_seed(777)
    random.seed(777)
    np.random.seed(777)


def take(loader: DataLoader[Any], epochs: int) -> list[Any]:
    """Batches of whole epochs, an epoch a list."""
    return [[twins.bits(batch) for batch in loader] for _ in range(epochs)]


def check(make: Make, before: int, steps: int | None, *, carry: Any = by_json, then: int = 2) -> None:
    """Interrupts a run in epoch `before` after some steps, None for behind its end, and compares from there."""
    torch.manual_seed(1)
    random.seed(1)
    np.random.seed(1)
    loader = make()
    take(loader, before)
    iterator = iter(loader)
    for _ in iterator if steps is None else range(steps):
        if steps is not None:
            next(iterator)
    state, kept = loader.state_dict(), process()
    state = carry(state)
    want = [[twins.bits(batch) for batch in iterator], *take(loader, then)]
    del iterator

    disturb()
    resumed = make()
    resumed.load_state_dict(state)
    put(kept)
    if steps is None:
        want = want[1:]
    else:
        iterator = iter(resumed)
        assert all(map(np.array_equal, map(flat, process()), map(flat, kept))), "resuming draws"
        assert resumed.state_dict()["goloader"] == state["goloader"]
        got = [[twins.bits(batch) for batch in iterator]]
    got = [*(got if steps is not None else []), *take(resumed, then)]
    assert [len(epoch) for epoch in got] == [len(epoch) for epoch in want]
    assert got == want


def flat(state: Any) -> Any:
    return state if isinstance(state, torch.Tensor) else np.concatenate([np.ravel(part) for part in state[1:3]])
