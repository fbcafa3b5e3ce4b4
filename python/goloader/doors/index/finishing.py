"""Runs what a collate_fn does after default_collate (plan/collates/finish.py), as torch's worker processes would.

It runs in the main process when a batch is handed out, with the random state that the batch's samples left in its
worker's generators, and with that worker's get_worker_info(). Samples of images draw from torch's generator alone,
those of a script from all: then the core says where these stand.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import torch

from ..._core import Run
from ...adapters.torch import within_worker, worker
from ...plan.collates.collation import After
from ...state.generators import PROCESS, Processes, capture, of_worker, put, same, untouched


class Finisher:
    """Of the workers of one iterator.

    draws     samples draw in the core: a batch draws when the one before it of its worker is done
    scripted  by a script, of whose generators there are so many a worker; 0 for none
    states    of the generators of each worker that has done something; each is replaced, and not changed
    """

    def __init__(
        self, finish: After, base_seed: int, num_workers: int, dataset: Any, *, draws: bool, scripted: int
    ) -> None:
        self._finish, self._base_seed, self._draws = finish, base_seed, draws
        self._info = num_workers, dataset
        self.scripted = scripted if draws else 0
        self._names = PROCESS if scripted else PROCESS[:1]
        self._in_core = np.zeros((num_workers, scripted, 8 * Processes.WORDS), np.uint8)
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
            for number, state in () if self.scripted else self.states.items():
                run.follow(number, state["torch"], each=self._moves)

    def batch(self, run: Run, number: int, batch: Any, count: int) -> Any:
        """What the collate_fn makes of a worker's batch; raises what it raises."""
        with self.working(run, number):
            return self._finish(batch, count)

    def as_worker(self, number: int) -> AbstractContextManager[None]:
        """In which get_worker_info() is a worker's."""
        workers, dataset = self._info
        info = worker.WorkerInfo(id=number, num_workers=workers, seed=self._base_seed + number, dataset=dataset)
        self._moved = False
        return within_worker(info)

    @contextmanager
    def working(self, run: Run, number: int) -> Generator[None]:
        """In which the process is as a worker whose batch's samples have drawn."""
        state = self._caught_up(run, number)
        with untouched(), self.as_worker(number):
            try:
                put(state)
                yield
            finally:
                after = capture(PROCESS)
                self._moved = self._draws and not all(same(state[name], after[name]) for name in self._names)
                self._moves = self._moved
                if not same(state, after):
                    self.states[number] = after

    def handed_out(self, run: Run, number: int) -> None:
        """A worker's batch is handed out, or lost: the core's streams go on from where it has left them."""
        if not self._draws:
            return
        state = self._caught_up(run, number)
        left = None
        if self._moved and self.scripted:
            left = torch.from_numpy(self._in_core[number].copy())
            left[: len(PROCESS)] = torch.from_numpy(Processes.of(state).data)
        elif self._moved:
            left = state["torch"]
            self._taken[number] = 0
        run.follow(number, left, each=self._moves)
        self._moved = False

    def _caught_up(self, run: Run, number: int) -> dict[str, Any]:
        """The state of a worker behind what the core has drawn for it."""
        state = self.states.get(number) or of_worker(self._base_seed, number)
        if not self._draws or self._moved:
            return state
        if self.scripted:
            run.position(self._in_core.reshape(-1).view(np.int64))
            with untouched():
                Processes(data=self._in_core[number, : len(PROCESS)]).put()
                return capture(PROCESS)
        run.position(self._words)
        words = int(self._words[number] - self._taken[number])
        if not words:
            return state
        self._taken[number] = self._words[number]
        self._generator.set_state(state["torch"])
        torch.empty(words, dtype=torch.int32, device="cpu").random_(generator=self._generator)
        state = self.states[number] = {**state, "torch": self._generator.get_state()}
        return state
