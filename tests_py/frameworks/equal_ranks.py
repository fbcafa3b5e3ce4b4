"""A rank of test_equal_steps.py: ranks have data of different lengths, and loaders with equal_steps."""

from __future__ import annotations

import io
import itertools
import json
import os
import signal
import sys
import tarfile
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from torch import distributed
from torch.utils.data import BatchSampler, IterableDataset, SequentialSampler, Subset

import goloader
from goloader import DataLoader, OnError, TensorDataset

POLICIES = ("truncate", "repeat", "pad")
KINDS = ("map", "batch sampler", "iterable", "shards", "skipped")
# Samples of each rank, of which batches of 3 are made.
SAMPLES = (19, 31, 11)


class Stream(IterableDataset[int]):
    def __init__(self, numbers: range) -> None:
        self.numbers = numbers

    def __iter__(self) -> Iterator[int]:
        info = torch.utils.data.get_worker_info()
        return iter(self.numbers[info.id :: info.num_workers] if info else self.numbers)


class Damaged(TensorDataset):
    """Every sample of a batch of three in which number 3 is cannot be read."""

    def __getitem__(self, index: int) -> Any:
        number = int(self.tensors[0][index])
        if 3 <= number % 100 < 6:
            raise OSError(f"number {number}")
        return super().__getitem__(index)


class Ragged(BatchSampler):
    """Its length is a guess."""

    def __len__(self) -> int:
        return 4


def shards(place: Path, numbers: range) -> str:
    for begin in range(0, len(numbers), 5):
        with tarfile.open(place / f"{numbers[0]}-{begin // 5:06d}.tar", "w") as archive:
            for number in numbers[begin : begin + 5]:
                member = tarfile.TarInfo(f"{number}.cls")
                member.size = len(text := str(number).encode())
                archive.addfile(member, io.BytesIO(text))
    last = (len(numbers) - 1) // 5
    return str(place / f"{numbers[0]}-{{000000..{last:06d}}}.tar")


def loader_of(kind: str, rank: int, place: Path, workers: int, **given: Any) -> Any:
    numbers = range(rank * 100, rank * 100 + SAMPLES[rank])
    given |= {"num_workers": workers, "persistent_workers": workers == 2}
    if kind == "iterable":
        return DataLoader(Stream(numbers), 3, **given)
    if kind == "shards":
        whole = shards(place, numbers)
        stream = goloader.WebDataset(whole, nodesplitter=lambda urls: urls, shardshuffle=False, empty_check=False)
        return DataLoader(stream.decode().to_tuple("cls"), 3, **given)
    if kind == "skipped":
        return DataLoader(Damaged(torch.tensor(numbers)), 3, on_error=OnError("skip", budget=None), **given)
    dataset = TensorDataset(torch.tensor(numbers))
    if kind == "map":
        return DataLoader(Subset(dataset, range(len(dataset))), 3, **given)
    return DataLoader(dataset, batch_sampler=Ragged(SequentialSampler(dataset), 3, drop_last=False), **given)


def epoch_of(loader: Any) -> list[Any]:
    """The numbers of each batch, and whether it only fills up."""
    return [(numbers_of(batch), loader.padded) for batch in loader]


def numbers_of(batch: Any) -> list[int]:
    return (batch[0] if isinstance(batch, list) else batch).tolist()


def compared(rank: int, place: Path) -> Any:
    """Of each case: the rank's own batches, and those of two epochs with each policy."""
    told = []
    for kind, workers in itertools.product(KINDS, (0, 2)):
        whole = "map" if kind == "skipped" else kind
        own = [numbers for numbers, _ in epoch_of(loader_of(whole, rank, place, workers))]
        if kind == "skipped":
            own.remove([rank * 100 + number for number in (3, 4, 5)])
        for policy in POLICIES:
            loader = loader_of(kind, rank, place, workers, equal_steps=policy)
            epochs = [epoch_of(loader), epoch_of(loader)]
            state = loader.state_dict()  # of a finished epoch: the next one begins at its first batch
            later = loader_of(kind, rank, place, workers, equal_steps=policy)
            later.load_state_dict(state)
            epochs.append(epoch_of(later))
            iterator = iter(loader)  # and in the middle of an epoch, in which the last rank's data are over
            middle = [numbers_of(batch) for batch in itertools.islice(iterator, 2 if policy == "truncate" else 5)]
            state = loader.state_dict()
            list(iterator)
            later = loader_of(kind, rank, place, workers, equal_steps=policy)
            later.load_state_dict(state)
            told.append(
                {
                    "case": [kind, workers, policy],
                    "own": own,
                    "epochs": epochs,
                    "middle": middle,
                    "rest": epoch_of(later),
                    "next": epoch_of(later),
                    "padded": loader.padded,
                }
            )
    return told


def failed(rank: int, place: Path, how: str) -> str:
    """What is raised where rank 1 fails at its second step, is gone or stopped, waits for a worker process that is, has
    nothing or another argument."""

    class Failing(Stream):
        def __iter__(self) -> Iterator[int]:
            for number in self.numbers:
                if rank == 1 and number == 104:
                    if how == "gone":
                        os._exit(0)
                    if how in ("hangs", "waits"):
                        (place / "stopped").write_text(str(os.getpid()))
                        os.kill(os.getpid(), signal.SIGSTOP)
                    raise OSError("number 104")
                yield number

    numbers = range(rank * 100, rank * 100 + (0 if how == "empty" and rank == 1 else 20))
    policy: Any = "truncate" if how == "other" and rank == 1 else "pad"
    try:
        list(DataLoader(Failing(numbers), 2, num_workers=how == "waits", equal_steps=policy))
    except Exception as error:
        return "\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
    return ""


def main(how: str, place: Path) -> None:
    distributed.init_process_group("gloo", timeout=timedelta(seconds=8 if how in ("hangs", "waits") else 120))
    rank = distributed.get_rank()
    (place / f"pid-{rank}").write_text(str(os.getpid()))
    told = compared(rank, place) if how == "compared" else [failed(rank, place, each) for each in how.split(",")]
    (place / f"result-{rank}.json").write_text(json.dumps(told))
    if how in ("hangs", "waits") and rank == 0:
        end = time.monotonic() + 60
        while not (place / "result-2.json").exists() and time.monotonic() < end:
            time.sleep(0.1)
        os.kill(int((place / "stopped").read_text()), signal.SIGCONT)
    os._exit(0)  # a group with a rank that is gone cannot be ended


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
