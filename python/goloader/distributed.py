"""One state for the loaders of all ranks, so that a job can continue with another number of ranks."""

from __future__ import annotations

import pickle
from datetime import timedelta
from typing import Any

from torch import distributed

from ._errors import StateError
from ._loader import DataLoader
from .state.ledger import read
from .state.reshape import RANKS, place

__all__ = ["Gathered", "gather_state"]


def gather_state(loader: DataLoader[Any], group: Any = None, timeout: timedelta | None = None) -> dict[str, Any]:
    """Returns the state of all ranks' loaders, for load_state_dict() in a job of any number of ranks.

    Every process of the group calls it, and all get the same: plain types, JSON if the loaders' states are, a few
    hundred bytes a rank. Processes with the same rank of the sampler (tensor parallelism, say) count once. Without
    torch.distributed it is the state of this loader alone. docs/distributed.md says how a job continues.

    group    of torch.distributed; None: all processes
    timeout  how long to wait before rank 0 names the ranks that do not answer, with
             torch.distributed.monitored_barrier, which needs gloo; None: as long as the group waits

    Raises StateError if a loader has no state, or the group lacks a rank of the sampler; RuntimeError for processes
    that do not answer.
    """
    try:
        mine: Any = (*place(loader), loader.state_dict(), None)
    except Exception as error:  # others wait for an answer
        mine = (0, 0, None, f"{type(error).__name__}: {error}")
    told = [mine]
    if distributed.is_available() and distributed.is_initialized():
        if timeout is not None:
            distributed.monitored_barrier(group, timeout, wait_all_ranks=True)
        told = [None] * distributed.get_world_size(group)
        distributed.all_gather_object(told, mine, group)
    failed = [f"process {number}: {why}" for number, (*_, why) in enumerate(told) if why is not None]
    if failed:
        raise StateError("\n".join(["no state of the job:", *failed]))
    states: dict[int, Any] = {}
    for rank, _, state, _ in told:
        if _step(states.setdefault(rank, state)) != _step(state):
            raise StateError(f"processes of rank {rank} stand at different steps")
    missing = sorted(set(range(told[0][1])) - states.keys())
    if missing:
        raise StateError(f"no process of the group has rank {', '.join(map(str, missing))} of {told[0][1]}")
    return {RANKS: [states[rank] for rank in sorted(states)]}


def _step(state: dict[str, Any]) -> tuple[int, int] | None:
    if state == {}:
        return None
    record = read(state)
    return record.epoch, record.yielded


class Gathered:
    """A loader that torch.distributed.checkpoint saves and loads with the state of all ranks.

        checkpoint = {"model": model, "loader": goloader.distributed.Gathered(loader)}
        torch.distributed.checkpoint.save(checkpoint, checkpoint_id=folder)

    The checkpoint keeps one value for each name, from any rank. The loader itself would be saved in parts of several
    ranks.
    """

    def __init__(self, loader: DataLoader[Any], group: Any = None) -> None:
        self._loader, self._group = loader, group

    def state_dict(self) -> dict[str, Any]:
        """Returns gather_state() as one pickled value. All ranks call it together."""
        return {"state": pickle.dumps(gather_state(self._loader, self._group))}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continues from what state_dict() returned in a job of any number of ranks. Raises StateError."""
        self._loader.load_state_dict(pickle.loads(state_dict["state"]))
