"""A rank of test_elastic.py: goes through an epoch, saves what the job has seen, and may be killed in the middle."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from torch import distributed
from torch.distributed import checkpoint
from torch.utils.data import DistributedSampler

from goloader import DataLoader, TensorDataset
from goloader.distributed import Gathered, gather_state

SAMPLES = 211


class Counted:
    """What all ranks have seen in the epoch, in the checkpoint."""

    def __init__(self) -> None:
        self.before: list[int] = []
        self.mine: list[int] = []

    def together(self) -> list[int]:
        told: list[Any] = [None] * distributed.get_world_size()
        distributed.all_gather_object(told, self.mine)
        return self.before + [number for each in told for number in each]


def save(way: str, place: Path, loader: DataLoader[Any], seen: Counted) -> None:
    together = seen.together()
    if way == "dcp":
        checkpoint.save({"loader": Gathered(loader), "seen": together}, checkpoint_id=place / f"{len(together)}")
    state = gather_state(loader, timeout=timedelta(seconds=60))
    if distributed.get_rank() == 0:
        (place / "new").write_text(json.dumps({"state": state, "seen": together}))
        (place / "new").rename(place / "last")
    distributed.barrier()


class Failing(DataLoader[Any]):
    def state_dict(self) -> dict[str, Any]:
        raise OSError("no state today")


def told_of(way: str) -> str:
    """The error that gather_state raises where rank 1 has no state, or does not answer."""
    rank, late = distributed.get_rank(), way == "late"
    loader = (Failing if rank == 1 and not late else DataLoader)(range(9))  # type: ignore[arg-type]
    try:
        if rank == 1 and late:
            time.sleep(4)
        else:
            gather_state(loader, timeout=timedelta(seconds=1 if late else 60))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def main(way: str, place: Path, epoch: int, batch_size: int, workers: int, drop_last: bool, kill_at: int) -> None:
    distributed.init_process_group("gloo")
    rank = distributed.get_rank()
    if way in ("fails", "late"):
        (place / f"result-{rank}.json").write_text(json.dumps(told_of(way)))
        os._exit(0)  # the group is of no use any more
    dataset = TensorDataset(torch.arange(SAMPLES))
    sampler: Any = DistributedSampler(dataset, seed=epoch, drop_last=drop_last)
    loader = DataLoader(dataset, batch_size, sampler=sampler, num_workers=workers)
    seen = Counted()
    if (place / "last").exists():
        last = json.loads((place / "last").read_text())
        seen.before = last["seen"]
        if way == "dcp":
            loaded: dict[str, Any] = {"loader": Gathered(loader)}
            checkpoint.load(loaded, checkpoint_id=place / f"{len(seen.before)}")
        else:
            loader.load_state_dict(last["state"])
    sampler.set_epoch(epoch)
    for step, (batch,) in enumerate(loader):
        seen.mine += batch.tolist()
        if step % 2 == 1:
            save(way, place, loader, seen)
        if step == kill_at and rank == distributed.get_world_size() - 1:
            os.kill(os.getpid(), signal.SIGKILL)
    together = seen.together()
    sampler.set_epoch(epoch + 1)
    later = [number for (batch,) in loader for number in batch.tolist()]
    (place / f"result-{rank}.json").write_text(json.dumps({"seen": together, "later": later}))
    distributed.destroy_process_group()


if __name__ == "__main__":
    way, place, *given = sys.argv[1:]
    epoch, batch_size, workers, drop_last, kill_at = map(int, given)
    main(way, Path(place), epoch, batch_size, workers, bool(drop_last), kill_at)
