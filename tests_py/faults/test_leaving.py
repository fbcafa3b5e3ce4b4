"""Loaders left early, dropped, used by threads, interrupted, forgotten at exit: nothing stays, nothing hangs."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import photos
import psutil
import pytest
from torchvision.datasets import ImageFolder

import goloader
from goloader import _lease, _native

pytestmark = pytest.mark.alone

Script = Callable[..., str]

WORKERS = pytest.mark.parametrize("num_workers", [0, 2])

# `GOLOADER_EARLY_BREAKS=10000` for the whole of it.
EARLY_BREAKS = int(os.environ.get("GOLOADER_EARLY_BREAKS", "2000"))


@pytest.mark.slow
def test_thousands_of_early_breaks_do_not_grow(dataset: ImageFolder) -> None:
    process = psutil.Process()
    loaders = [
        goloader.DataLoader(
            dataset, batch_size=2, shuffle=True, num_workers=workers, prefetch_factor=2 if workers else None
        )
        for workers in (0, 1, 2)
    ]
    levels = []
    rounds = 10
    for _ in range(rounds):
        for number in range(EARLY_BREAKS // rounds):
            for _batch in loaders[number % 3]:
                break
        gc.collect()
        levels.append((process.memory_info().rss, process.num_threads(), process.num_fds(), _native.live()["handles"]))
    rss, threads, descriptors, handles = zip(*levels, strict=True)
    assert handles[-1] == handles[0] == 3
    # Go's poller opens two descriptors, once, when it is first needed.
    assert descriptors[-1] <= descriptors[0] + 2
    # Go makes a thread when all others are in C, or read; where reading is slow, 16 read at a time.
    assert threads[-1] <= threads[0] + 8 + 16
    assert rss[-1] - rss[2] < 24 << 20


@WORKERS
def test_loaders_dropped_in_mid_epoch(dataset: ImageFolder, num_workers: int) -> None:
    for step in range(60):
        loader = goloader.DataLoader(
            dataset, batch_size=2, num_workers=num_workers, persistent_workers=bool(num_workers) and step % 2
        )
        iterator = iter(loader)
        for _ in range(step % 5):
            next(iterator)
        if step % 3:
            del loader
        del iterator


def test_a_loader_in_a_reference_cycle_goes_with_it(dataset: ImageFolder) -> None:
    loader = goloader.DataLoader(dataset, batch_size=2, num_workers=2, persistent_workers=True)
    loader.itself = [loader, iter(loader)]
    next(loader.itself[1])
    before = _native.live()["handles"]
    del loader
    gc.collect()
    assert _native.live()["handles"] <= before - 2


def test_loaders_in_threads(dataset: ImageFolder) -> None:
    counts: dict[int, int] = {}

    def use(number: int) -> None:
        loader = goloader.DataLoader(dataset, batch_size=5, shuffle=True, num_workers=number % 3)
        counts[number] = sum(len(labels) for _ in range(6) for _, labels in loader)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert counts == dict.fromkeys(range(6), 6 * 24)


def test_batches_may_be_dropped_by_another_thread(dataset: ImageFolder) -> None:
    loader = goloader.DataLoader(dataset, batch_size=8, num_workers=2)
    batches: list[Any] = []
    done = threading.Event()

    def drop() -> None:
        while not done.is_set():
            batches.clear()

    thread = threading.Thread(target=drop)
    thread.start()
    for _ in range(20):
        batches.extend(loader)
    done.set()
    thread.join()


@WORKERS
@pytest.mark.parametrize("when", [1, 2, 3])
def test_an_interrupt_as_a_batch_arrives_loses_that_batch_only(
    dataset: ImageFolder, num_workers: int, when: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays, calls = _lease.arrays, []

    def interrupted(lib: Any, batch: Any) -> Any:
        calls.append(batch.sequence)
        if len(calls) == when:
            lib.gl_release(batch.lease)
            raise KeyboardInterrupt
        return arrays(lib, batch)

    monkeypatch.setattr(_lease, "arrays", interrupted)
    loader = goloader.DataLoader(dataset, batch_size=6, num_workers=num_workers, timeout=60 if num_workers else 0)
    iterator = iter(loader)
    labels: list[list[int]] = []
    for _ in range(6):
        try:
            labels.append(next(iterator)[1].tolist())
        except KeyboardInterrupt:
            labels.append([])
        except StopIteration:
            break
    whole = [dataset.targets[start : start + 6] for start in range(0, 24, 6)]
    assert [each for each in labels if each] == [each for number, each in enumerate(whole, 1) if number != when]


# In a process of its own


@pytest.mark.slow
def test_exit_with_running_loaders_says_nothing(script: Script) -> None:
    text = """
    dataset = folder()
    loaders = [goloader.DataLoader(dataset, batch_size=8, num_workers=n, persistent_workers=n > 0) for n in (0, 1, 3)]
    iterators = [iter(loader) for loader in loaders]
    kept = [next(iterator) for iterator in iterators for _ in range(2)]
    numbers = iter(goloader.NumpyLoader(sys.argv[1], [goloader.transforms.CenterCrop(48)], batch_size=4))
    kept.append(next(numbers))

    def forever():
        while True:
            for batch in goloader.NumpyLoader(sys.argv[1], [goloader.transforms.CenterCrop(48)], batch_size=4):
                pass

    if sys.argv[2] == "thread":
        threading.Thread(target=forever, daemon=True).start()
        time.sleep(0.2)
    if sys.argv[2] == "error":
        sys.excepthook = lambda *args: None
        raise ValueError
    print("end")
    """
    assert script(text, "plain") == "end\n"
    assert script(text, "thread") == "end\n"
    script(text, "error", code=1)


def test_a_killed_process_leaves_no_shared_memory(script: Script) -> None:
    shared = Path("/dev/shm")
    before = set(os.listdir(shared)) if shared.exists() else set()
    text = """
    iterator = iter(goloader.DataLoader(folder(), batch_size=8, num_workers=2))
    kept = next(iterator)
    os.kill(os.getpid(), signal.SIGKILL)
    """
    script(text, code=-9)
    left = set(os.listdir(shared)) - before if shared.exists() else set()
    deadline = time.monotonic() + 60
    while left:  # what others made meanwhile goes
        assert time.monotonic() < deadline, left
        time.sleep(0.05)
        left &= set(os.listdir(shared))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """160 names of one image that takes a tenth of a second: a batch of them keeps a machine busy for seconds."""
    root = tmp_path_factory.mktemp("large")
    (root / "a").mkdir()
    photos.picture(4000, 3000, 1).save(root / "a" / "000.jpg", quality=95)
    for number in range(1, 160):
        (root / "a" / f"{number:03}.jpg").symlink_to(root / "a" / "000.jpg")
    return root


@pytest.mark.slow
@WORKERS
def test_ctrl_c_is_heard_while_a_batch_is_made_and_the_loader_goes_on(
    script: Script, large: Path, num_workers: int
) -> None:
    text = """
    steps = [T.Resize((224, 224)), T.RandomHorizontalFlip(), T.ToTensor()]
    dataset = ImageFolder(sys.argv[2], T.Compose(steps))
    loader = goloader.DataLoader(dataset, batch_size=160, num_workers=int(sys.argv[3]))
    iterator = iter(loader)
    sent, asks = [], threading.Event()
    def interrupt():
        asks.wait()
        time.sleep(0.4)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=interrupt).start()
    try:
        asks.set()
        next(iterator)
        print("not interrupted")
    except KeyboardInterrupt:
        waited = time.monotonic() - sent[0]
    began = time.monotonic()
    del iterator
    gc.collect()
    waited = max(waited, time.monotonic() - began)
    began = time.monotonic()
    print(next(iter(loader))[0].shape[0])
    whole = time.monotonic() - began
    print("prompt" if waited < whole / 2 else f"waited {waited} s, a batch takes {whole} s")
    print(sum(1 for batch in goloader.DataLoader(folder(), batch_size=8, num_workers=int(sys.argv[3]))))
    """
    assert script(text, str(large), str(num_workers)) == "160\nprompt\n3\n"


def test_a_signal_handler_of_the_user_runs_while_a_batch_is_waited_for(script: Script, large: Path) -> None:
    text = """
    dataset = ImageFolder(sys.argv[2], T.Compose([T.Resize((224, 224)), T.ToTensor()]))
    rung = []
    signal.signal(signal.SIGALRM, lambda *args: rung.append(time.monotonic()))
    iterator = iter(goloader.DataLoader(dataset, batch_size=12, num_workers=1))
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    batch = next(iterator)
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(len(rung) > 3, batch[0].shape[0])  # one that waits until the end hears all of them as one
    """
    assert script(text, str(large)) == "True 12\n"


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
def test_faulthandler_beside_us(script: Script, when: str) -> None:
    # A thread of Python asks for the tracebacks, as faulthandler's watchdog (dump_traceback_later) looks at frames that
    # run meanwhile and crashes programs of pure Python too: https://github.com/python/cpython/issues/116008
    text = """
    import ctypes, faulthandler
    loader = goloader.DataLoader(folder(), batch_size=8, num_workers=2)
    if sys.argv[2] == "after":
        next(iter(loader))
    faulthandler.enable()
    done = threading.Event()

    def watch():
        with open(os.devnull, "w") as nowhere:
            while not done.wait(0.01):
                faulthandler.dump_traceback(nowhere)

    thread = threading.Thread(target=watch)
    thread.start()
    for _ in range(20):
        assert len(list(loader)) == 3
    done.set()
    thread.join()
    iterator = iter(loader)
    next(iterator)
    os.dup2(1, 2)
    print("fault", flush=True)
    ctypes.string_at(0)
    """
    said = script(text, when, code=-11)
    assert said.startswith("fault\nFatal Python error: Segmentation fault\n")
    assert "Current thread" in said and 'File "<string>", line' in said
