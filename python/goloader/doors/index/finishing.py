"""Runs what a collate_fn does after default_collate (plan/collates/finish.py), as torch's worker processes would.

It runs in the main process when a batch is handed out, with the random state that the batch's samples left in its
worker's generators, and with that worker's get_worker_info().
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from ..._core import Run
from ...adapters.torch import within_worker, worker
from ...plan.collates.collation import After
from ...state.generators import PROCESS, capture, of_worker, put, same, untouched


class Finisher:
    """Of the workers of one iterator.

    draws   samples draw from torch's generator in the core: a batch draws when the one before it of its worker is done
    states  of the generators of each worker that has done something; each is replaced, and not changed
    """

    def __init__(self, finish: After, base_seed: int, num_workers: int, dataset: Any, *, draws: bool) -> None:
        self._finish, self._base_seed, self._draws = finish, base_seed, draws
        self._info = num_workers, dataset
        self.states: dict[int, dict[str, Any]] = {}
        self._generator = torch.Generator()
        # Words that the core has drawn from each stream, and how many of them are in its worker's state.
        self._words, self._taken = np.zeros(num_workers, np.int64), np.zeros(num_workers, np.int64)
        # Whether the collate_fn drew from torch's generator last, and, for this batch, what the core does not know yet.
        self._moves, self._moved = draws, False

    def start(self, run: Run, states: Mapping[int, dict[str, Any]]) -> None:
        """Puts a run that has no batches yet, and the workers, to these states; others begin as torch's workers."""
        self.states.update(states)
        if self._draws:
            run.follow(0, None, each=self._moves)
            for number, state in self.states.items():
                run.follow(number, state["torch"], each=self._moves)

    def batch(self, run: Run, number: int, batch: Any, count: int) -> Any:
        """What the collate_fn makes of a worker's batch; raises what it raises."""
        with self.working(run, number):
            return self._finish(batch, count)

    @contextmanager
    def working(self, run: Run, number: int) -> Generator[None]:
        """In which the process is as a worker whose batch's samples have drawn."""
        state = self._caught_up(run, number)
        workers, dataset = self._info
        info = worker.WorkerInfo(id=number, num_workers=workers, seed=self._base_seed + number, dataset=dataset)
        with untouched(), within_worker(info):
            try:
                put(state)
                yield
            finally:
                after = capture(PROCESS)
                self._moved = self._moves = self._draws and not same(state["torch"], after["torch"])
                if not same(state, after):
                    self.states[number] = after

    def handed_out(self, run: Run, number: int) -> None:
        """A worker's batch is handed out, or lost: the core's streams go on from where it has left them."""
        if not self._draws:
            return
        state = self._caught_up(run, number)
        run.follow(number, state["torch"] if self._moved else None, each=self._moves)
        if self._moved:
            self._taken[number] = 0
        self._moved = False

    def _caught_up(self, run: Run, number: int) -> dict[str, Any]:
        """The state of a worker behind what the core has drawn for it."""
        state = self.states.get(number) or of_worker(self._base_seed, number)
        if not self._draws or self._moved:
            return state
        run.position(self._words)
        words = int(self._words[number] - self._taken[number])
        if not words:
            return state
        self._taken[number] = self._words[number]
        self._generator.set_state(state["torch"])
        torch.empty(words, dtype=torch.int32, device="cpu").random_(generator=self._generator)
        state = self.states[number] = {**state, "torch": self._generator.get_state()}
        return state
