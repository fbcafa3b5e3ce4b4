"""worker_init_fn where Go makes the batches: run as torch's workers run it, in a forked process for each worker.

What such a function does to a worker is of three kinds, and each is seen from inside the process:

- It seeds. Torch's generator is then where torch.manual_seed puts it, perhaps some draws on: the seed and the position
  of a stream of Go's. A script's streams begin where it leaves all three generators.
- It changes what is loaded: the worker's dataset, Pillow's settings. Then the loader has to run in worker processes.
- Anything else (threads, files, affinity) concerns Python code that goroutines do not run. It ends with the process,
  and does not reach the user's.

It takes what torch takes to start its workers, and no more: the processes end before the first batch is asked for.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..._beside import Beside
from ...adapters.python import forked
from ...adapters.torch import worker
from ...plan import Plan, Refusal, planner
from ...state.generators import PROCESS, capture, plain

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from ..._loader import DataLoader
    from ...state.ledger import Record

# Draws after seeding that are recognised: a seed or two for other libraries need a few.
_DRAWN_MAX = 256

_CHANGES = "it changes what the workers load"
_FAILS = "it fails, or ends its process"
_OWN_STATE = "it leaves a generator in a state that is no seed's"

# The seed of torch's generator, the words drawn from it since, and the states of all generators, if they are wanted.
_Told = tuple[int, int, dict[str, Any]]

# Loaders whose function was seen to be of no use to Go, and that function.
_refused: Beside[DataLoader[Any], tuple[Any, Refusal]] = Beside()


@dataclass(frozen=True)
class Seeded:
    """Where worker_init_fn left torch's generator in each worker.

    base_seed  that the workers were seeded with
    seeds      [workers] uint64: the seed of each since
    drawn      [workers] int64: 32-bit words drawn from it
    states     of each worker's generators, if that was asked for
    """

    base_seed: int
    seeds: NDArray[np.uint64]
    drawn: NDArray[np.int64]
    states: tuple[dict[str, Any], ...] = ()


def wanted(loader: DataLoader[Any]) -> bool:
    return loader.worker_init_fn is not None and loader.num_workers > 0


def refused(loader: DataLoader[Any]) -> Refusal | None:
    """What an earlier epoch has shown of the loader's function."""
    function, refusal = _refused.get(loader) or (None, None)
    return refusal if wanted(loader) and function is loader.worker_init_fn else None


def ahead(loader: DataLoader[Any], plan: Plan) -> Seeded | Refusal:
    """Runs the function with the base seed that iter(loader) is about to draw; draws nothing itself."""
    generator = torch.default_generator if loader.generator is None else loader.generator
    state = generator.get_state()
    try:
        base_seed = int(torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item())
    finally:
        generator.set_state(state)
    return run(loader, plan, base_seed)


def again(loader: DataLoader[Any], plan: Plan, resumed: Record) -> Seeded | Refusal:
    """What the function did for the epoch that is gone on with; it runs only if the state does not say."""
    assert resumed.base_seed is not None
    known = resumed.seeds is not None and resumed.streams is not None and len(resumed.seeds) == loader.num_workers
    if not known or plan.script is not None:
        return run(loader, plan, resumed.base_seed)
    assert resumed.seeds is not None and resumed.streams is not None
    return Seeded(resumed.base_seed, resumed.seeds, resumed.streams)


def run(loader: DataLoader[Any], plan: Plan, base_seed: int) -> Seeded | Refusal:
    """Runs the function in a process for each worker, all at once, and waits for them."""
    with ExitStack() as ends:
        children = [
            ends.enter_context(forked(_work, loader, plan, base_seed, number)) for number in range(loader.num_workers)
        ]
        return _gathered(loader, base_seed, list(map(_received, children)))


def _received(answer: Connection) -> _Told | str:
    try:
        told: _Told | str = answer.recv()
        return told
    except EOFError:
        return _FAILS


def _gathered(loader: DataLoader[Any], base_seed: int, told: Sequence[_Told | str]) -> Seeded | Refusal:
    for what in told:
        if isinstance(what, str):
            refusal = Refusal("loader", "worker_init_fn", what, "INIT_FN")
            if what != _FAILS:  # it may not fail the next time
                _refused[loader] = loader.worker_init_fn, refusal
            return refusal
    found = [what for what in told if not isinstance(what, str)]
    return Seeded(
        base_seed,
        np.array([seed for seed, _, _ in found], np.uint64),
        np.array([drawn for _, drawn, _ in found], np.int64),
        tuple({**states, "torch": torch.from_numpy(states["torch"])} for _, _, states in found if states),
    )


def _work(answer: Connection, loader: DataLoader[Any], plan: Plan, base_seed: int, number: int) -> None:
    """In a child: what torch's worker does before its first batch, and then the answer in place of batches."""
    torch.set_num_threads(1)
    seed = base_seed + number
    random.seed(seed)
    torch.manual_seed(seed)
    np.random.seed(worker._generate_state(base_seed, number))
    worker._worker_info = worker.WorkerInfo(
        id=number, num_workers=loader.num_workers, seed=seed, dataset=loader.dataset
    )
    before = _settings(plan)
    try:
        assert loader.worker_init_fn is not None
        loader.worker_init_fn(number)
    except Exception:
        answer.send(_FAILS)  # torch's workers then say how
        return
    if not planner.loads_the_same(plan, loader) or _settings(plan) != before:
        answer.send(_CHANGES)
    else:
        position = _position()
        wanted = plan.after is not None or plan.script is not None
        states = {name: plain(state) for name, state in capture(PROCESS).items()} if wanted else {}
        known = position is not None and not (plan.script is not None and type(states["numpy"]) is dict)
        answer.send((*position, states) if known and position is not None else _OWN_STATE)


def _settings(plan: Plan) -> tuple[Any, ...]:
    """What decides on samples beside the dataset's objects: their memory, Pillow's settings, the working directory."""
    file: Any = sys.modules.get("PIL.ImageFile")
    contents = None if plan.samples is None else plan.samples.versions()
    moved = plan.files is not None and plan.files.relative()
    here = os.stat(".")[1:3] if moved else None  # inode and device
    own = () if plan.script is None else tuple(each.getstate() for each in plan.script.objects)
    return plan.to_json(), contents, getattr(file, "LOAD_TRUNCATED_IMAGES", None), here, own


def _position() -> tuple[int, int] | None:
    """The seed of torch's generator and the words drawn from it since; None if more was done to it."""
    state, seed = torch.get_rng_state(), torch.initial_seed()
    generator = torch.Generator().manual_seed(seed)
    word = torch.empty((), dtype=torch.int32)
    for drawn in range(_DRAWN_MAX):
        if torch.equal(generator.get_state(), state):
            return seed % 2**64, drawn
        word.random_(generator=generator)
    return None
