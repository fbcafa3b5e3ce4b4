"""Worker processes go on where others stood: what they load, what they draw, and what their datasets know.

The law is test_resume.py's. Every loader here is one that Python's worker processes serve.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import twins
from resumed import check, disturb, maker, take
from torch.utils import data

from goloader import DataLoader, StateError, StatefulDataLoader, get_worker_info


class Draws(data.Dataset[Any]):
    """The index and one of each kind of random number, by Python: torch's normal ones are not Go's."""

    def __init__(self, length: int = 26) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        if index == 99:
            random.random()
            raise KeyError(index)
        return index, torch.randn(2), random.gauss(0, 1), np.random.randn()


class Counting(Draws):
    """A state of its own: samples loaded in this process, over all epochs."""

    loads = 0

    def __getitem__(self, index: int) -> Any:
        self.loads += 1
        return index, self.loads, torch.rand(1)

    def state_dict(self) -> dict[str, Any]:
        return {"loads": self.loads}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.loads = state["loads"]


class Stream(data.IterableDataset[Any]):
    """Numbers, fewer from each further worker; the dataset has a state, or its iterator, or is its own, or neither."""

    def __init__(self, length: int, stateful: str) -> None:
        self.length, self.stateful, self.at, self.epoch, self.resume = length, stateful, 0, 0, 0
        if stateful == "dataset":
            self.__class__ = StatefulStream
        elif stateful == "itself":
            self.__class__ = OwnIterator

    def worker(self) -> int:
        info = get_worker_info()
        assert info is not None
        return int(info.id)

    def end(self) -> int:
        return self.length - 7 * self.worker()

    def __iter__(self) -> Iterator[Any]:
        return Numbers(self) if self.stateful == "iterator" else self.generate()

    def generate(self) -> Iterator[Any]:
        start, self.resume = self.resume, 0
        for at in range(start, self.end()):
            self.at = at + 1
            yield self.worker(), at, self.epoch, torch.rand(1)
        self.at = 0
        if self.stateful == "dataset":
            self.epoch += 1


class StatefulStream(Stream):
    def state_dict(self) -> dict[str, Any]:
        return {"at": self.at, "epoch": self.epoch}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.at = self.resume = state["at"]
        self.epoch = state["epoch"]


class OwnIterator(StatefulStream):
    def __iter__(self) -> Any:
        self.at = 0
        self.epoch += 1
        return self

    def __next__(self) -> Any:
        if self.at >= self.end():
            raise StopIteration
        self.at += 1
        return self.worker(), self.at, self.epoch, torch.rand(1)


class Numbers:
    """An iterator with a state."""

    def __init__(self, stream: Stream) -> None:
        self.stream, self.at = stream, 0

    def __iter__(self) -> Numbers:
        return self

    def __next__(self) -> Any:
        if self.at >= self.stream.end():
            raise StopIteration
        self.at += 1
        return self.stream.worker(), self.at, torch.rand(1)

    def state_dict(self) -> dict[str, Any]:
        return {"at": self.at}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.at = state["at"]


@pytest.mark.parametrize("persistent", [False, True])
def test_what_workers_load_and_draw_goes_on(persistent: bool) -> None:
    make = maker(DataLoader, Draws(), {"shuffle": True}, num_workers=2, persistent_workers=persistent)
    for before, steps in ((1, 3), (0, 0), (1, None)):
        check(make, before, steps, then=1)


class DrawsInGo(Draws):
    def __getitem__(self, index: int) -> Any:
        if index == 99:
            random.random()
            raise KeyError(index)
        return index, torch.rand(2), random.gauss(0, 1), np.random.randn()


@pytest.mark.parametrize("made", [Draws, DrawsInGo])
def test_errors_count_and_their_draws_too(made: Any) -> None:
    batches = [[1, 99], [3, 2], [5], [99, 7], [4, 8], [9, 10]]
    make = maker(DataLoader, made(), {"batch_sampler": batches}, num_workers=2)
    assert make().explain().native == (made is DrawsInGo)
    torch.manual_seed(1)
    loader = make()
    iterator = iter(loader)
    with pytest.raises(KeyError):
        next(iterator)
    next(iterator)
    state = json.loads(json.dumps(loader.state_dict()))
    resumed = make()
    resumed.load_state_dict(state)
    again = iter(resumed)
    assert resumed.state_dict() == state
    for _ in range(4):
        got, want = (_one(each) for each in (again, iterator))
        assert got == want


def _one(iterator: Any) -> Any:
    try:
        return twins.bits(next(iterator))
    except KeyError as error:
        return str(error)


def test_nothing_is_loaded_again(tmp_path: Path) -> None:
    class Noting(Draws):
        def __getitem__(self, index: int) -> Any:
            (tmp_path / f"{os.getpid()}-{time.monotonic_ns()}").write_text(str(index))
            return super().__getitem__(index)

    loader = DataLoader(Noting(), 2, num_workers=2)
    iterator = iter(loader)
    for _ in range(9):
        next(iterator)
    state = loader.state_dict()
    assert state["_steps_since_snapshot"] == 0
    del iterator
    for note in tmp_path.iterdir():
        note.unlink()
    resumed = DataLoader(Noting(), 2, num_workers=2)
    resumed.load_state_dict(state)
    assert len(list(resumed)) == 4
    assert sorted(int(note.read_text()) for note in tmp_path.iterdir()) == list(range(18, 26))


def test_a_state_without_draws_is_small() -> None:
    loader = DataLoader(range(1000), 4, num_workers=2)  # type: ignore[arg-type]
    next(iter(loader))
    assert len(json.dumps(loader.state_dict())) < 1200


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("every", [1, 4])
def test_a_dataset_with_a_state_goes_on(persistent: bool, every: int) -> None:
    make = maker(
        StatefulDataLoader,
        Counting(),
        {"shuffle": True},
        num_workers=2,
        persistent_workers=persistent,
        snapshot_every_n_steps=every,
    )
    check(make, 1, 5, then=1)
    check(make, 1, None, then=1)


@pytest.mark.parametrize("every", [1, 5, None])
@pytest.mark.parametrize("stateful", ["dataset", "iterator", "itself", "nothing"])
def test_iterable_datasets_go_on(stateful: str, every: int | None, caplog: pytest.LogCaptureFixture) -> None:
    persistent = every == 1
    make = maker(
        StatefulDataLoader,
        Stream(20, stateful),
        {},
        num_workers=2,
        persistent_workers=persistent,
        snapshot_every_n_steps=every,
    )
    # With workers at 20 and 13 numbers in fours, the second one is over after the seventh batch.
    for steps in {1: (2, 8, None), 5: (7, 8), None: (3,)}[every]:
        check(make, int(persistent and stateful != "nothing"), steps, then=1)
    assert ("once more and dropped" in caplog.text) == (stateful == "nothing")


def test_a_plain_loader_asks_datasets_now_and_then() -> None:
    loader = DataLoader(Counting(300), 1, num_workers=2)
    iterator = iter(loader)
    for _ in range(70):
        next(iterator)
    state = loader.state_dict()
    assert (state["_snapshot"]["_snapshot_step"], state["_steps_since_snapshot"]) == (64, 6)
    assert sum(each["dataset_state"]["loads"] for each in state["_snapshot"]["_worker_snapshots"].values()) == 64


def test_batches_that_came_early_are_neither_lost_nor_repeated() -> None:
    class Held(Draws):
        """Its sample 2 comes when it is let go."""

        def __init__(self, length: int) -> None:
            super().__init__(length)
            self.let_go = multiprocessing.Event()

        def __getitem__(self, index: int) -> Any:
            if index == 2:
                self.let_go.wait()
            return index

    def make() -> tuple[DataLoader[Any], Any]:
        dataset = Held(20)
        return DataLoader(dataset, 1, num_workers=2, in_order=False), dataset.let_go

    (loader, let_go), seen = make(), list[int]()
    iterator = iter(loader)
    for _ in range(6):
        seen += next(iterator).tolist()
    assert 2 not in seen
    state = loader.state_dict()
    assert state["_snapshot"]["_main_snapshot"]["ahead"]
    let_go.set()
    del iterator
    resumed, let_go = make()
    resumed.load_state_dict(state)
    iterator = iter(resumed)
    seen += next(iterator).tolist()
    assert 2 not in seen
    state = resumed.state_dict()
    let_go.set()
    del iterator
    resumed, let_go = make()
    resumed.load_state_dict(state)
    let_go.set()
    for batch in resumed:
        seen += batch.tolist()
    assert sorted(seen) == list(range(20))


def test_a_state_may_be_asked_for_before_workers_have_begun() -> None:
    class Lazy(StatefulStream):
        def __iter__(self) -> Iterator[Any]:
            time.sleep(0.5)
            return super().__iter__()

    dataset = Lazy(20, "dataset")
    dataset.__class__ = Lazy
    dataset.epoch = 3
    loader = DataLoader(dataset, 4, num_workers=2)
    iterator = iter(loader)
    workers = loader.state_dict()["_snapshot"]["_worker_snapshots"]
    assert [each["dataset_state"] for each in workers.values()] == [{"at": 0, "epoch": 3}] * 2
    assert len(list(iterator)) == 9


def test_a_state_that_cannot_be_told_is_an_error_of_state_dict_alone() -> None:
    class Broken(Counting):
        def state_dict(self) -> dict[str, Any]:
            raise OSError("no state today")

    loader = DataLoader(Broken(), 4, num_workers=1)
    iterator = iter(loader)
    next(iterator)
    with pytest.raises(OSError, match="no state today"):
        loader.state_dict()
    assert len(list(iterator)) == 6


def test_stateful_loaders_tell_of_workers_that_cannot_begin() -> None:
    def fail(worker: int) -> None:
        raise ValueError(f"worker {worker} cannot")

    with pytest.raises(ValueError, match="cannot"):
        iter(StatefulDataLoader(Draws(), 4, num_workers=2, worker_init_fn=fail))
    plain = iter(DataLoader(Draws(), 4, num_workers=2, worker_init_fn=fail))
    with pytest.raises(ValueError, match="cannot"):
        next(plain)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_any_start_method_goes_on(method: str) -> None:
    make = maker(DataLoader, Draws(), {"shuffle": True}, num_workers=1, multiprocessing_context=method)
    check(make, 0, 2, then=0)


@pytest.mark.slow
def test_loaders_inside_of_datasets_are_left_alone() -> None:
    class Nested(StatefulStream):
        def generate(self) -> Iterator[Any]:
            for part in super().generate():
                yield part, next(iter(data.DataLoader(range(3))))  # type: ignore[arg-type]

    dataset = Nested(9, "dataset")
    dataset.__class__ = Nested
    check(lambda: DataLoader(dataset, 2, num_workers=1), 0, 2, then=0)


def test_another_number_of_workers_is_refused_where_it_matters() -> None:
    for state_of in (DataLoader(Draws(), 4, num_workers=2), DataLoader(Draws(), 4)):
        next(iter(state_of))
        for num_workers in (0, 1, 2):
            if num_workers == state_of.num_workers:
                continue
            other = DataLoader(Draws(), 4, num_workers=num_workers)
            other.load_state_dict(state_of.state_dict())
            with pytest.raises(StateError, match=f"num_workers={state_of.num_workers}"):
                iter(other)


def test_a_damaged_state_is_refused() -> None:
    loader = DataLoader(Draws(), 4, num_workers=1)
    next(iter(loader))
    for spoil in (
        lambda state: state["_snapshot"].pop("_worker_snapshots"),
        lambda state: state["_snapshot"]["_worker_snapshots"]["worker_0"].update(generators={"torch": "????"}),
        lambda state: state["_snapshot"]["_main_snapshot"].pop("_num_workers"),
    ):
        state = loader.state_dict()
        spoil(state)
        other = DataLoader(Draws(), 4, num_workers=1)
        other.load_state_dict(state)
        with pytest.raises(StateError, match="not a state"):
            iter(other)


def test_keyed_draws_go_on_with_any_number_of_workers() -> None:
    def make(num_workers: int) -> DataLoader[Any]:
        return DataLoader(
            Draws(),
            4,
            shuffle=True,
            rng="sample",
            num_workers=num_workers,
        )

    torch.manual_seed(8)
    inline = make(0)
    want = take(inline, 2)
    torch.manual_seed(8)
    loader = make(2)
    assert take(loader, 1) == want[:1]
    iterator = iter(loader)
    got = [twins.bits(next(iterator)) for _ in range(2)]
    state = json.loads(json.dumps(loader.state_dict()))
    for num_workers in (0, 1, 2):
        disturb()
        other = make(num_workers)
        other.load_state_dict(state)
        assert got + take(other, 1)[0] == want[1]


_SCRIPT = """
import json, os, sys, time
sys.path[:0] = {paths!r}
import torch
from test_workers import Draws, Stream
from goloader import DataLoader

file, kill_after, num_workers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
loader = DataLoader(Draws(), 2, shuffle=True, num_workers=num_workers, rng="sample" if num_workers == 0 else None)
if os.path.exists(file):
    torch.manual_seed(int(time.time()))
    with open(file) as saved:
        loader.load_state_dict(json.load(saved))
else:
    torch.manual_seed(6)
done = 0
for index, *drawn in loader:
    state = json.dumps(loader.state_dict())
    with open(file + ".partial", "w") as saving:
        saving.write(state)
    os.replace(file + ".partial", file)
    print(json.dumps([index.tolist(), *(each.tolist() for each in drawn)]), flush=True)
    done += 1
    if done == kill_after:
        print("now", flush=True)
        time.sleep(60)
"""


@pytest.mark.slow
@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_run_killed_twice_is_the_run_that_was_not(tmp_path: Path, num_workers: int) -> None:
    script = _SCRIPT.format(paths=sys.path)

    def run(file: Path, kill_after: int) -> list[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", script, str(file), str(kill_after), str(num_workers)],
            stdout=subprocess.PIPE,
            text=True,
        )
        lines = []
        assert process.stdout is not None
        for line in process.stdout:
            if line == "now\n":
                process.send_signal(signal.SIGKILL)
                break
            lines.append(line)
        process.wait()
        process.stdout.close()
        return lines

    want = run(tmp_path / "whole", -1)
    assert len(want) == 13
    got = run(tmp_path / "state", 3) + run(tmp_path / "state", 4) + run(tmp_path / "state", -1)
    assert got == want


@pytest.mark.parametrize("persistent", [False, True])
def test_processes_end_with_the_last_reference(persistent: bool) -> None:
    gc.collect()
    before = set(multiprocessing.active_children())
    gc.disable()
    try:
        for asked in (False, True):
            loader = DataLoader(Draws(), 4, num_workers=1, persistent_workers=persistent)
            if asked:
                loader.state_dict()
            else:
                next(iter(loader))
            resumed = DataLoader(Draws(), 4, num_workers=1, persistent_workers=persistent)
            resumed.load_state_dict(loader.state_dict())
            next(iter(resumed))
            del loader, resumed
            assert set(multiprocessing.active_children()) <= before
    finally:
        gc.enable()
