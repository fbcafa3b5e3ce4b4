"""Workers that share a process give the batches, errors and states of workers that have one each."""

from __future__ import annotations

import io
import itertools
import os
import random
import re
import signal
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import psutil
import pytest
import torch
import torchvision.transforms as T
import torchvision.transforms.functional as F
from PIL import Image
from torch.utils import data

import goloader
from goloader.doors.recipe import door
from goloader.doors.recipe.record import Record
from goloader.doors.recipe.same import difference

pytestmark = pytest.mark.timeout(120)

_measured = Record.tracers


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return datasets.fill(tmp_path_factory.mktemp("crew"))


@pytest.fixture(autouse=True)
def one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the first epoch on, whatever was measured."""
    monkeypatch.setattr(Record, "tracers", lambda self, workers: 1)


def outcomes(loader: Any, epochs: int = 2) -> tuple[list[Any], Any]:
    """Batches, and errors with their whole text, and where the generators stand afterwards."""
    torch.manual_seed(5)
    random.seed(5)
    np.random.seed(5)
    found: list[Any] = []
    for _ in range(epochs):
        iterator = iter(loader)
        while True:
            try:
                found.append(next(iterator))
            except StopIteration:
                break
            except Exception as error:
                found.append((type(error).__name__, str(error)))
    return found, (torch.rand(1).item(), random.random(), np.random.rand())


def compare(make: Any, **options: Any) -> Any:
    """Our loader, after what it gave was compared with what torch's gave. `make` makes a dataset."""
    options = {"batch_size": 2, "shuffle": True, "num_workers": 3} | options
    loader = goloader.DataLoader(make(), **options)
    assert difference(outcomes(data.DataLoader(make(), **options)), outcomes(loader)) is None
    return loader


def processes(iterator: Any) -> int:
    """How many the workers of an iterator have."""
    return len({worker.pid for worker in iterator._workers})


class Told(datasets.Files):
    """Draws from every generator, and tells where it runs."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, datasets.TRAIN)
        self.own = np.random.default_rng(3)

    def __getitem__(self, i: int) -> Any:
        info = data.get_worker_info()
        assert info is not None
        assert threading.current_thread() is threading.main_thread() and torch.get_num_threads() == 1
        assert torch.initial_seed() == info.seed and type(info.dataset) is Told
        drawn = random.random(), np.random.rand(), self.own.random(), torch.rand(1)
        return super().__getitem__(i), drawn, info.id, info.num_workers, info.seed


@pytest.mark.parametrize("persistent", [False, True])
def test_random_streams_are_those_of_each_worker(root: Path, persistent: bool) -> None:
    loader = compare(lambda: Told(root), num_workers=4, persistent_workers=persistent)
    assert door.record(loader).state == "native"
    assert processes(iter(loader)) == 1


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_any_start_method_will_do(root: Path, method: str) -> None:
    compare(lambda: Told(root), multiprocessing_context=method)


class Remembers(datasets.Files):
    """Samples that show what was loaded before: by a number, in containers, in an object of its own, by an image."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, T.Compose([T.Resize((20, 20)), T.ToTensor()]))
        self.calls = 0
        self.seen: list[int] = []
        self.known: dict[int, int] = {}
        self.steps = self.transform.transforms
        self.before = self.transform(Image.open(self.path(0)))

    def __getitem__(self, i: int) -> Any:
        self.calls += 1
        self.seen.append(i)
        self.steps[0].calls = self.known[i % 3] = self.calls
        image, self.before = self.before, super().__getitem__(i)[0]
        return image, self.calls, self.seen[-3:], sorted(self.known.items())


def listed(samples: list[Any]) -> list[Any]:
    return samples


def test_what_samples_leave_behind_is_found_by_their_own_worker_alone(root: Path) -> None:
    loader = compare(lambda: Remembers(root), collate_fn=listed)
    assert not door.record(loader).steady


class Seldom(datasets.Files):
    """Leaves something behind when nobody looks any more."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, datasets.VAL)
        self.odd = 0

    def __getitem__(self, i: int) -> Any:
        self.odd += i == 13
        return *super().__getitem__(i), self.odd


def test_what_is_left_behind_late_is_found_too(root: Path) -> None:
    loader = compare(lambda: Seldom(root), shuffle=False, batch_size=1, num_workers=2)
    assert door.record(loader).steady


class Counts(datasets.Files):
    """Counts in place, in an array and in a tensor, which its samples show late."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, datasets.TRAIN)
        self.array, self.tensor = np.zeros(1), torch.zeros(1)

    def __getitem__(self, i: int) -> Any:
        self.array += 1
        self.tensor += 1
        return super().__getitem__(i), bool(self.array[0] > 3), bool(self.tensor[0] > 3)


def test_what_is_written_in_place_is_found_by_its_own_worker_alone(root: Path) -> None:
    compare(lambda: Counts(root), num_workers=3, batch_size=2)


class Database(datasets.Files):
    """A connection that only its own thread may use."""

    connection: Any = None

    def __getitem__(self, i: int) -> Any:
        if self.connection is None:
            self.connection = sqlite3.connect(":memory:")
        (label,) = self.connection.execute("select ? + 1", (i,)).fetchone()
        return super().__getitem__(i)[0], label


def test_what_belongs_to_a_thread_can_be_used(root: Path) -> None:
    loader = compare(lambda: Database(root, datasets.TRAIN))
    assert door.record(loader).state == "native" and door.record(loader).steady


class Fails(datasets.Files):
    """Some samples raise, some files are damaged inside."""

    def __getitem__(self, i: int) -> Any:
        if i % 7 == 3:
            raise KeyError(f"no sample {i}")
        image = Image.open(self.path(i))
        if i % 5 == 2:
            content = Path(self.path(i)).read_bytes()
            image = Image.open(io.BytesIO(content[: len(content) // 2]))
        return F.to_tensor(image.convert("RGB").resize((9, 9))), torch.rand(1)


def test_errors_are_those_of_each_worker(root: Path) -> None:
    def told(loader: Any) -> Any:
        """Errors with the lines that name the worker and the user's code."""
        found, drawn = outcomes(loader)
        known = re.compile(r"Caught .*|  File .*(?:worker|fetch|test_crew)\.py.*|^\w+Error: .*", re.MULTILINE)
        return [known.findall(each[1]) if type(each) is tuple else each for each in found], drawn

    options: dict[str, Any] = {"batch_size": 2, "num_workers": 3}
    want = told(data.DataLoader(Fails(root), **options))
    assert difference(told(goloader.DataLoader(Fails(root), **options)), want) is None
    assert "in DataLoader worker process 2" in str(want)


def test_an_epoch_that_is_broken_off_leaves_nothing(root: Path) -> None:
    def some(loader: Any) -> Any:
        torch.manual_seed(1)
        return [list(itertools.islice(loader, count)) for count in (2, 30, 1, 30)]

    before = set(psutil.Process().children())
    for persistent in (False, True):
        options: dict[str, Any] = {"batch_size": 2, "num_workers": 3, "persistent_workers": persistent}
        want = some(data.DataLoader(Told(root), **options))
        assert difference(want, some(goloader.DataLoader(Told(root), **options))) is None
    assert set(psutil.Process().children()) <= before


def test_a_state_is_gone_on_with_by_a_process_for_each(root: Path) -> None:
    def make() -> Any:
        return goloader.DataLoader(datasets.Files(root, datasets.TRAIN), 2, shuffle=True, num_workers=3)

    loader = make()
    iterator = iter(loader)
    for _ in range(4):
        next(iterator)
    state, other = loader.state_dict(), make()
    assert processes(iterator) == 1
    other.load_state_dict(state)
    goes_on = iter(other)
    assert processes(goes_on) == 3
    assert difference(list(iterator), list(goes_on)) is None


class Deadly(datasets.Files):
    def __getitem__(self, i: int) -> Any:
        if i == 9:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(i)


def test_the_end_of_a_process_is_told_of_with_what_its_workers_did(root: Path) -> None:
    loader = goloader.DataLoader(Deadly(root, datasets.TRAIN), 2, num_workers=3)
    with pytest.raises(RuntimeError, match="exited unexpectedly") as raised:
        list(loader)
    assert re.search(
        r"worker 1 \(pid \d+\) was killed by SIGKILL while it worked on batch 4, sample 1", str(raised.value)
    )


class Interrupted(datasets.Files):
    def __getitem__(self, i: int) -> Any:
        if i == 9:
            signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore it
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)
        return super().__getitem__(i)


def test_ctrl_c_ends_the_process_of_all(root: Path) -> None:
    loader = goloader.DataLoader(Interrupted(root, datasets.TRAIN), 2, num_workers=3)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(loader)


class Slow(datasets.Files):
    def __getitem__(self, i: int) -> Any:
        time.sleep(0.02)
        return super().__getitem__(i)


@pytest.fixture
def as_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Record, "tracers", _measured)


@pytest.mark.usefixtures("as_measured")
def test_processes_are_as_many_as_there_is_work_for(root: Path) -> None:
    slow = goloader.DataLoader(Slow(root, datasets.TRAIN), 2, num_workers=2)
    assert [(processes(iterator := iter(slow)), len(list(iterator)))[0] for _ in range(3)] == [2, 2, 2]
    quick = goloader.DataLoader(datasets.Files(root, datasets.TRAIN), 2, num_workers=4)
    seen = []
    for _ in range(2):
        iterator = iter(quick)
        seen.append(processes(iterator))
        for _ in iterator:
            time.sleep(0.2)  # a step of training
    assert seen[0] == 4 and seen[1] < 4
    assert " for 4 workers" in str(quick.explain())


class Touches(datasets.Files):
    """Python makes some of its pixels."""

    def __getitem__(self, i: int) -> Any:
        image = Image.open(self.path(i)).convert("RGB")
        return self.transform(image), image.getpixel((0, 0))


class OwnGenerator(datasets.Files):
    """Has a generator from its first sample on."""

    generator: Any = None

    def __getitem__(self, i: int) -> Any:
        if self.generator is None:
            self.generator = np.random.default_rng(torch.initial_seed())
        return *super().__getitem__(i), self.generator.random()


@pytest.mark.usefixtures("as_measured")
@pytest.mark.parametrize("kind", [Touches, Seldom, OwnGenerator, datasets.Files])
def test_workers_have_a_process_each_where_more_than_pixels_is_at_stake(root: Path, kind: Any) -> None:
    dataset = kind(root) if kind is Seldom else kind(root, datasets.VAL)
    options: dict[str, Any] = {"worker_init_fn": torch.manual_seed} if kind is datasets.Files else {}
    loader = goloader.DataLoader(dataset, 7, sampler=[13, *range(20)], num_workers=2, **options)
    for _ in range(3):
        iterator = iter(loader)
        assert processes(iterator) == 2
        for _ in iterator:
            time.sleep(0.1)


@pytest.mark.parametrize(
    ("demand", "steady", "reasons", "processes"),
    [
        (None, True, 0, 8),
        (0.0, True, 0, 1),
        (0.4, True, 0, 1),
        (0.6, True, 0, 2),
        (3.9, True, 0, 8),
        (70.0, True, 0, 8),
        (0.0, False, 0, 8),
        (0.0, True, 1, 8),
    ],
)
def test_the_rule(demand: float | None, steady: bool, reasons: int, processes: int) -> None:
    record = Record(demand=demand, steady=steady)
    record.leaves["batch[0]"] = 5
    if reasons:
        record.reasons["a draw", "a line"] = reasons
    assert _measured(record, 8) == processes
