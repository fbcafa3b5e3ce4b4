"""What CPython has in some versions only."""

from __future__ import annotations

import array
import ctypes
import functools
import multiprocessing
import os
import random
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

# Python 3.12 and newer warn where a process forks that has several threads, native ones counted: Go's are.
_FORK_WARNED: Any = (
    "ignore",
    re.compile(r"This process \(pid=\d+\) is multi-threaded, use of fork\(\) may lead to deadlocks in the child"),
    DeprecationWarning,
    None,
    0,
)


# All warnings are told, as often as they come.
_TOLD: Any = ("always", None, Warning, None, 0)


_RANDOM_BYTES = 4 * (1 + 624)


def memory_of_random(generator: object) -> bytes | None:
    """What a random.Random draws from: its place among its words, and these; None of anything else, and where CPython
    does not keep them as _randommodule.c did until now. Its getstate() makes 625 ints of them, which takes 25 us."""
    return _memory(generator) if type(generator) is random.Random and _random_is_known() else None


def _memory(generator: random.Random) -> bytes:
    return ctypes.string_at(id(generator) + object.__basicsize__, _RANDOM_BYTES)


@functools.cache
def _random_is_known() -> bool:
    if random.Random.__basicsize__ < object.__basicsize__ + _RANDOM_BYTES:
        return False
    one = random.Random(1)
    one.random()
    *words, at = one.getstate()[1]
    return _memory(one) == array.array("I", (at, *words)).tobytes()


class ForkLock:
    """A lock that is free in a forked child, though another thread of the parent may have held it."""

    def __init__(self) -> None:
        self._renew()
        if hasattr(os, "register_at_fork"):  # not on Windows
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        if self._lock.locked():  # not in a child that was forked by who held it
            self._lock.release()


class Standing:
    """What is installed while somebody holds it: all of it, or nothing.

    parts  each has install() and undo()
    """

    def __init__(self) -> None:
        self.parts: list[Any] = []
        self._holders, self._lock = 0, ForkLock()

    def hold(self, find: Callable[[], Iterable[Any]]) -> None:
        """Installs what `find` gives, until as many releases as holds were called."""
        with self._lock:
            if not self._holders:
                try:
                    for part in find():
                        self.parts.append(part)
                        part.install()
                except BaseException:
                    self._undo()
                    raise
            self._holders += 1

    def release(self) -> None:
        """Gives one hold back; the last one puts everything back as it was."""
        with self._lock:
            self._holders -= 1
            if not self._holders:
                self._undo()

    def unless_held(self, function: Callable[[], object]) -> None:
        """Calls a function while nothing is installed, and nobody can begin to."""
        with self._lock:
            if not self._holders:
                function()

    def _undo(self) -> None:
        while self.parts:
            self.parts[-1].undo()
            self.parts.pop()


def is_collected(queue: Any) -> bool:
    """Whether the thread that writes a multiprocessing.Queue's items was told to end, as the queue is unreachable."""
    return queue._close is not None and not queue._close.still_active()


@contextmanager
def fork_unwarned(always: bool = False) -> Iterator[None]:
    """No warning that a fork in here is one of a process with threads.

    always  also if there are Python threads beside this one, of which torch's workers would be warned

    Our children run Python alone, never Go; and where there are no other threads, torch's workers start unwarned.

    warnings.catch_warnings would do, but makes Python forget which warnings it has shown: they come again.
    """
    if threading.active_count() > 1 and not always:
        yield
        return
    filters: Any = warnings.filters
    filters.insert(0, _FORK_WARNED)
    try:
        yield
    finally:
        _take_out(filters, _FORK_WARNED)


def fork() -> int:
    """os.fork, without its warning of threads: what runs in the child does without them. -1 where there is none."""
    if not hasattr(os, "fork"):
        return -1
    drawn = random.getstate()
    try:
        with fork_unwarned(always=True):
            child = os.fork()
    except OSError:
        return -1
    if child == 0:
        random.setstate(drawn)  # Python seeds its generator anew in a child
    return child


@functools.cache
def c_library() -> Any:
    """The C library, whose functions are called with the GIL held."""
    return ctypes.PyDLL(None)


def one_thread() -> None:
    """Pools of threads did not come along in the fork."""
    torch, cv2 = sys.modules.get("torch"), sys.modules.get("cv2")
    with suppress(Exception):
        if torch is not None:
            torch.set_num_threads(1)
    with suppress(Exception):
        if cv2 is not None:
            cv2.setNumThreads(0)


def die_with_parent() -> None:
    """In a child: it ends where the process that forked it does."""
    parent = os.getppid()
    c_library().prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(0)


@contextmanager
def caught_warnings() -> Iterator[list[Any]]:
    """What this thread warns of in here, which nobody is told.

    warnings.catch_warnings would do as well, but for what fork_unwarned says of it.
    """
    thread, told, caught = threading.get_ident(), warnings.showwarning, []

    def show(message: Any, *where: Any, **options: Any) -> None:
        if threading.get_ident() == thread:
            caught.append(message)
        else:
            told(message, *where, **options)

    filters: Any = warnings.filters
    filters.insert(0, _TOLD)
    warnings.showwarning = show
    try:
        yield caught
    finally:
        _take_out(filters, _TOLD)
        warnings.showwarning = told


@contextmanager
def forked(target: Callable[..., None], *arguments: Any) -> Iterator[Connection]:
    """A child made by fork runs target(connection, *arguments) until the end of the block; what it says to that."""
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe(duplex=False)
    child = fork.Process(target=target, args=(theirs, *arguments), daemon=True)
    with fork_unwarned():
        child.start()
    theirs.close()
    try:
        yield ours
    finally:
        child.kill()
        child.join()
        ours.close()


def _take_out(filters: Any, ours: Any) -> None:
    if ours in filters:
        filters.remove(ours)


# A worker warns of its own forks.
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=lambda: _take_out(warnings.filters, _FORK_WARNED))
