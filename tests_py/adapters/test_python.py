"""Forks of ours are not warned of, and nothing else is hidden, forgotten or left behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import warnings

import pytest

from goloader.adapters.python import ForkLock, fork_unwarned

FORKED = "This process (pid=77) is multi-threaded, use of fork() may lead to deadlocks in the child."


@pytest.fixture(autouse=True)
def strict() -> None:
    warnings.simplefilter("error")  # pytest puts the filters back


def warn(text: str = FORKED, category: type[Warning] = DeprecationWarning) -> None:
    warnings.warn(text, category, stacklevel=2)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if there were no Python threads beside this one; what runs the tests may have some."""
    monkeypatch.setattr(threading, "active_count", lambda: 1)


@pytest.mark.usefixtures("alone")
def test_only_the_warning_of_a_fork_is_left_out_and_only_inside() -> None:
    before = list(warnings.filters)
    with fork_unwarned():
        warn()
        for other in ("another", "a fork of This process (pid=77) is multi-threaded"):
            with pytest.raises(DeprecationWarning):
                warn(other)
        with pytest.raises(RuntimeWarning):
            warn(category=RuntimeWarning)
    with pytest.raises(DeprecationWarning):
        warn()
    with pytest.raises(KeyError), fork_unwarned():
        raise KeyError
    assert list(warnings.filters) == before


def test_a_process_with_threads_of_its_own_is_warned_as_ever() -> None:
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    try:
        with fork_unwarned(), pytest.raises(DeprecationWarning):
            warn()
    finally:
        ended.set()
        thread.join()


@pytest.mark.usefixtures("alone")
def test_what_was_shown_once_is_not_shown_again() -> None:
    """warnings.catch_warnings makes Python forget what it has shown: the same text came once an epoch."""
    warnings.simplefilter("default")
    shown = []
    warnings.showwarning = lambda *arguments, **options: shown.append(arguments[0])  # pytest puts it back
    for _ in range(3):
        with fork_unwarned():
            warn()
        warnings.warn("once a place", UserWarning, stacklevel=1)
    assert list(map(str, shown)) == ["once a place"]


@pytest.mark.usefixtures("alone")
def test_a_child_warns_of_its_own_forks() -> None:
    with fork_unwarned():
        child = multiprocessing.get_context("fork").Process(target=_warns)
        child.start()
    child.join(60)
    assert child.exitcode == 0


def _warns() -> None:
    try:
        warn()
    except DeprecationWarning:
        return
    raise SystemExit(3)


@pytest.mark.parametrize("by_another_thread", [True, False])
def test_a_lock_that_was_held_across_a_fork_is_free_in_the_child(by_another_thread: bool) -> None:
    lock, held, done = ForkLock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            done.wait(60)

    def fork() -> int:
        with fork_unwarned(always=True):
            child = os.fork()
        if child == 0:
            signal.alarm(30)  # where it waits for ever
            with lock:
                pass
        return child

    if by_another_thread:
        thread = threading.Thread(target=hold)
        thread.start()
        held.wait(60)
        child = fork()
    else:
        with lock:
            child = fork()
    if child == 0:
        os._exit(7)
    done.set()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
