"""Workers and parents that are killed, hang, or fail to start: a clear error, and nothing left."""

from __future__ import annotations

import gc
import multiprocessing
import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from samples import Mapped, image
from torch.utils import data

import goloader

pytestmark = pytest.mark.alone

Script = Callable[..., str]


class Deadly(data.Dataset[Any]):
    """One sample ends its worker."""

    def __init__(self, how: str, deadly: int = 5) -> None:
        self.how, self.deadly = how, deadly

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> Any:
        if self.how == "slow":
            time.sleep(0.2)
        if index == self.deadly:
            if self.how == "exit":
                os._exit(7)
            if self.how == "sleep":
                time.sleep(1000)
            os.kill(os.getpid(), getattr(signal, self.how))
            time.sleep(1000)
        return image(index)


def deadly_collate(samples: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    ("how", "words"), [("SIGKILL", "was killed by SIGKILL"), ("exit", "exited with code 7"), ("SIGUSR1", "SIGUSR1")]
)
def test_a_dead_worker_is_told_of_with_what_it_was_doing(how: str, words: str) -> None:
    with pytest.raises(RuntimeError, match=r"^DataLoader worker \(pid\(s\) \d+\) exited unexpectedly") as raised:
        list(goloader.DataLoader(Deadly(how), batch_size=2, num_workers=2))
    text = str(raised.value)
    assert words in text
    assert re.search(r": worker 0 \(pid \d+\) .* while it worked on batch 2, sample 1 \(index 5\)$", text), text


def test_a_worker_that_dies_in_collate_or_start_is_told_of() -> None:
    loader = goloader.DataLoader(Mapped("int"), batch_size=2, num_workers=1, collate_fn=deadly_collate)
    with pytest.raises(RuntimeError, match=r"while it worked on batch 0$"):
        list(loader)
    loader = goloader.DataLoader(Mapped("int"), batch_size=2, num_workers=1, worker_init_fn=deadly_collate)
    with pytest.raises(RuntimeError, match=r"while it had no batch to work on$"):
        list(loader)


def test_an_index_of_any_kind_is_told_of() -> None:
    class Named(Deadly):
        def __getitem__(self, index: Any) -> Any:
            return super().__getitem__({"five": 5}.get(index, 0))

    loader = goloader.DataLoader(Named("SIGKILL"), batch_size=2, num_workers=1, sampler=["one", "five"])
    with pytest.raises(RuntimeError, match=r"sample 1 \(index 'five'\)$"):
        list(loader)


def test_a_timeout_tells_what_the_workers_are_doing() -> None:
    loader = goloader.DataLoader(Deadly("sleep"), batch_size=2, num_workers=2, timeout=5, trace=False)
    with pytest.raises(RuntimeError, match=r"^DataLoader timed out after 5 seconds") as raised:
        list(loader)
    if hasattr(raised.value, "__notes__"):  # Python 3.11
        notes = "\n".join(raised.value.__notes__)
        assert re.search(
            r"^goloader: worker 0 \(pid \d+\) worked on batch 2, sample 1 \(index 5\)$", notes, re.MULTILINE
        )


def test_after_a_death_the_loader_goes_on_with_its_slots(tmp_path: Path) -> None:
    dataset = Deadly("SIGKILL")
    loader = goloader.DataLoader(dataset, batch_size=2, num_workers=2)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="exited unexpectedly"):
            list(loader)
    dataset.deadly = -1
    batches = list(loader)
    assert torch.equal(torch.cat(batches), torch.stack([image(index) for index in range(8)]))


@pytest.mark.parametrize(("pinned", "how"), [(False, "none"), (True, "none"), (False, "slow")])
def test_workers_of_an_iterator_in_a_cycle_end_at_once(monkeypatch: pytest.MonkeyPatch, pinned: bool, how: str) -> None:
    """torch waits for each of them, which its queues, collected first, can tell nothing any more.

    Those that are slow have tasks left, which they are to leave alone.
    """
    monkeypatch.setattr("torch.utils.data._utils.MP_STATUS_CHECK_INTERVAL", 1000.0)
    gc.collect()
    before = set(multiprocessing.active_children())
    loader = goloader.DataLoader(Deadly(how, -1), batch_size=1, num_workers=2, pin_memory=pinned, prefetch_factor=4)
    iterator = iter(loader)
    next(iterator)
    workers = set(multiprocessing.active_children()) - before
    assert len(workers) == 2
    cycle: list[Any] = [iterator]
    cycle.append(cycle)
    del iterator, loader, cycle
    gc.collect()
    for worker in workers:
        worker.join()
    assert {worker.exitcode for worker in workers} <= {0, -signal.SIGTERM}


def test_workers_that_such_a_signal_kills_are_no_error() -> None:
    """As those that have hardly begun: torch raises one for a worker that dies, whatever the program does then."""
    loader = goloader.DataLoader(Deadly("none", -1), batch_size=2, num_workers=2, worker_init_fn=dies_of_sigterm)
    iterator = iter(loader)
    next(iterator)
    cycle: list[Any] = [iterator]
    cycle.append(cycle)
    del iterator, cycle
    gc.collect()


def dies_of_sigterm(worker: int) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
@pytest.mark.parametrize("whom", ["parent", "workers", "all"])
def test_nothing_is_left_after_a_kill(script: Script, method: str, whom: str) -> None:
    prefix = f"/killed-{os.getpid()}-{method}-{whom}"
    program = f"import runpy; runpy.run_path({str(Path(__file__).with_name('killed.py'))!r}, run_name='__main__')"
    code = 0 if whom == "workers" else -9
    first, second, parent = map(int, script(program, method, whom, prefix, code=code).split())
    deadline = time.monotonic() + 120
    while any(psutil.pid_exists(pid) for pid in (first, second)):
        assert time.monotonic() < deadline, "a worker outlived its parent"
        time.sleep(0.1)
    starts = f"sem.{prefix[1:]}", *(f"torch_{pid}_" for pid in (first, second, parent))
    # Python's resource tracker takes its semaphores away once all processes are gone.
    while left := [name for name in os.listdir("/dev/shm") if name.startswith(starts)]:
        assert time.monotonic() < deadline, f"left in /dev/shm: {left}"
        time.sleep(0.1)
