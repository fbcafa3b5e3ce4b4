"""Ranks of one machine that are killed, stopped and go on: the others take their cores for so long, and give the same
batches as ever."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import photos
import pytest
import torch
import torchvision.transforms as T
from torch.utils.data import ConcatDataset, DataLoader
from torchvision.datasets import ImageFolder

import goloader

PACKAGE = Path(__file__).parents[2] / "python"

# A rank on a machine of 8 cores. After each epoch it prints how many workers might work in most of it, and a sum.
_RANK = """
import os, statistics, sys, torch, torchvision.transforms as T
from torch.utils.data import ConcatDataset
from torchvision.datasets import ImageFolder
from goloader import DataLoader, _cores
_cores.allowed = lambda *_: 8
dataset = ImageFolder(sys.argv[1], T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor()]))
loader = DataLoader(ConcatDataset([dataset] * 4), 4, num_workers=4)
parent = os.getppid()
while os.getppid() == parent:
    torch.manual_seed(7)
    total, workers = 0, []
    for k, (images, _) in enumerate(loader):
        total += images.flatten()[::97].double().sum().item() * (k + 1)
        workers.append(loader.stats().workers)
    print(statistics.mode(workers), total, flush=True)
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 JPEG files that take long to decode: who iterates waits for Go, however busy the machine is."""
    return photos.fill(tmp_path_factory.mktemp("large"), photos.plain(24, width=1600, height=1200))


Start = Callable[[int], subprocess.Popen[str]]
StartRank = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start_rank() -> Iterator[StartRank]:
    """Starts a rank of two, by its program, its number, and arguments."""
    started = []

    def rank(program: str, number: int, *arguments: str) -> subprocess.Popen[str]:
        environment = {"PYTHONPATH": str(PACKAGE), "LOCAL_RANK": str(number), "LOCAL_WORLD_SIZE": "2"}
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", program, *arguments],
            env=os.environ | environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield rank
    for process in started:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        process.communicate()


@pytest.fixture
def start(start_rank: StartRank, root: Path) -> Start:
    return lambda number: start_rank(_RANK, number, str(root))


@pytest.mark.slow
def test_the_cores_of_a_rank_that_is_stopped_or_killed_go_to_the_other(start: Start, root: Path) -> None:
    sums = set()

    def until(process: subprocess.Popen[str], workers: int) -> None:
        """Reads epochs until so many workers might work in three of four: the other rank is idle between its own."""
        assert process.stdout is not None
        end = time.monotonic() + 60
        seen: deque[int] = deque(maxlen=4)
        for line in process.stdout:
            found, total = line.split()
            sums.add(total)
            seen.append(int(found))
            if seen.count(workers) >= 3:
                return
            assert time.monotonic() < end, f"{seen}, not {workers}"
        pytest.fail(f"it ended with {process.wait()}")

    first = start(0)
    until(first, 8)  # the other has not begun
    second = start(1)
    until(second, 4)
    until(first, 4)
    second.send_signal(signal.SIGSTOP)
    until(first, 8)
    second.send_signal(signal.SIGCONT)
    until(first, 4)
    until(second, 4)
    second.send_signal(signal.SIGKILL)
    until(first, 8)
    until(start(1), 4)  # begins again in its place
    until(first, 4)

    dataset = ImageFolder(str(root), T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor()]))
    torch.manual_seed(7)
    batches = enumerate(DataLoader(ConcatDataset([dataset] * 4), 4, num_workers=4))
    assert sums == {str(sum(images.flatten()[::97].double().sum().item() * (k + 1) for k, (images, _) in batches))}


# One of two ranks, with half of an image folder each. Prints how many files of the second epoch the seek index knew.
_LEARNS = """
import os, sys, time, torchvision.transforms as T
from pathlib import Path
from torch.utils.data import DistributedSampler
from torchvision.datasets import ImageFolder
from goloader import DataLoader
rank, all_ready = int(os.environ["LOCAL_RANK"]), Path(sys.argv[2])
dataset = ImageFolder(sys.argv[1], T.Compose([T.CenterCrop(48), T.ToTensor()]))
sampler = DistributedSampler(dataset, 2, rank)
loader = DataLoader(dataset, 4, sampler=sampler, num_workers=1, persistent_workers=True)
seen = []
for epoch in range(2):
    before = loader.stats().seek_hits # of the first epoch, too: a trial makes some samples beside it
    sampler.set_epoch(epoch)
    for _ in loader: pass
    seen.append(set(sampler))
    (all_ready / f"{epoch}-{rank}").touch()
    while len(list(all_ready.glob(f"{epoch}-*"))) < 2: time.sleep(0.01)
print(loader.stats().seek_hits - before, len(seen[0] & seen[1]), len(seen[1]))
"""


@pytest.mark.slow
def test_what_one_rank_learned_of_a_file_another_knows(root: Path, tmp_path: Path) -> None:
    ranks = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", _LEARNS, str(root), str(tmp_path)],
            env=os.environ | {"PYTHONPATH": str(PACKAGE), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": "2"},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    for each in ranks:
        hits, own, files = map(int, each.communicate()[0].split())
        assert own < files == 12, "it saw the same files again"
        assert hits == files


# A rank of two: the second one's samples take long. It prints what it is told of the ranks, again and again.
_TELLS = """
import os, sys, time, torch
from goloader import DataLoader, TensorDataset
from torch.utils.data import Dataset
class Late(Dataset):
    def __len__(self): return 1000
    def __getitem__(self, index):
        time.sleep(0.02)
        return index
late = os.environ["LOCAL_RANK"] == "1"
loader = DataLoader(Late() if late else TensorDataset(torch.arange(1000)), 2, num_workers=1)
assert loader.explain().native != late
parent = os.getppid()
while os.getppid() == parent:
    for _ in loader:
        time.sleep(0.002 if late else 0.05)
        ranks = [f"{each.rank} {each.waited > 0.5} {each.is_this} {each.state}" for each in loader.stats().ranks]
        print(loader.stats().verdict, *ranks, sep=" | ", flush=True)
"""


@pytest.mark.slow
def test_a_rank_that_waits_for_its_data_is_named_by_the_other(start_rank: StartRank) -> None:
    def until(process: subprocess.Popen[str], *parts: str) -> None:
        assert process.stdout is not None
        end, line = time.monotonic() + 40, ""
        for line in process.stdout:
            if all(part in line for part in parts):
                return
            assert time.monotonic() < end, line
        pytest.fail(f"it ended with {process.wait()}, {line}")

    fast, slow = start_rank(_TELLS, 0), start_rank(_TELLS, 1)
    named = "the loader keeps up; rank 1 waits for data longest of the ranks here, "
    until(fast, named, "| 0 False True runs | 1 True False runs")
    until(slow, "; the other ranks here wait less (", "| 0 False False runs | 1 True True runs")
    slow.send_signal(signal.SIGSTOP)
    until(fast, f"; rank 1, process {slow.pid} is stopped | 0 False True runs | 1 ")
    slow.send_signal(signal.SIGCONT)
    until(fast, named)
    slow.send_signal(signal.SIGKILL)
    until(fast, f"; rank 1, process {slow.pid} has ended | ")
    again = start_rank(_TELLS, 1)
    until(fast, named)
    until(again, "; the other ranks here wait less (")


def test_alone_it_is_told_of_no_ranks() -> None:
    loader = goloader.DataLoader(goloader.TensorDataset(torch.arange(8)), 2)
    list(loader)
    assert loader.stats().ranks == ()
