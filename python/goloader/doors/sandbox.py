"""A forked child that runs the user's code again without side effects.

The child has the state of this process as it was at the fork: the dataset, what it has counted and cached, and every
random generator, wherever they are. So nothing has to be looked for, and nothing is put back: the child ends.

What the child does stays in the child. Its files have positions of their own, its standard streams lead nowhere, shared
memory can only be read, and it cannot write files, connect, or start programs. Code that tries is told of.
"""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import pickle
import select
import signal
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ..adapters.python import c_library, die_with_parent, fork, one_thread
from ..selfcheck import memory
from ..storage import remote

_PAGE_BYTES = 1 << 15

# A child ends after this long, whatever its code waits for.
LIMIT_S = 30
# GOLOADER_TRIAL=wait: batches wait for the answers of trials, and what saves no time is recorded too. Where images are
# made does not depend on time then.
WAITS = os.environ.get("GOLOADER_TRIAL") == "wait"

# Between two looks at whether a child has died.
_LOOK_S = 0.05

_MAX_FDS = 1 << 16
_STDERR = 2

# What this process, a child of begin(), was kept from doing.
_touched: list[str] = []
_here = False


class OutsideError(BaseException):
    """Ends code that tries to reach outside of such a child. No Exception: clients that fetch try again after those."""


def here() -> bool:
    """Whether this process is such a child."""
    return _here


def touched() -> str | None:
    """What the code that ran here tried to do outside of this process, first of all."""
    return _touched[0] if _touched else None


class _Said(ctypes.Structure):
    """How a page begins; the last answer follows. Each number is written by itself, and `count` after the answer.

    count   of all answers
    length  of the last, in bytes
    child   the process that works on the next one; 0: none; -1: one is about to be forked
    begun   when it began, on time.monotonic()
    spent   seconds that all processes have spent on what a trial may save
    """

    _fields_ = [(name, ctypes.c_int64) for name in ("count", "length", "child")] + [
        (name, ctypes.c_double) for name in ("begun", "spent")
    ]
    count: int
    length: int
    child: int
    begun: float
    spent: float


_AT_ANSWER = ctypes.sizeof(_Said)


class Page:
    """What children answer, in memory that processes share: whoever began one may be gone when its answer comes.

    A page goes to worker processes by fork. As a pickle it arrives as a page of the worker's own.
    """

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _PAGE_BYTES)
        self._said = _Said.from_buffer(self._memory)
        self.address = ctypes.addressof(self._said)
        self._owner, self._seen, self._child = os.getpid(), 0, 0
        self._look_at = 0.0

    def __reduce__(self) -> tuple[type[Page], tuple[()]]:
        return Page, ()

    @property
    def own(self) -> bool:
        """Whether this process made the page."""
        return self._owner == os.getpid()

    @property
    def running(self) -> bool:
        """Whether a child is at work."""
        return bool(self._said.child)

    def spend(self, seconds: float) -> None:
        """Adds to `spent`. Of two processes that do so at once, one may be left out."""
        self._said.spent += seconds

    @property
    def spent(self) -> float:
        """Seconds that all processes have spent on what a trial may save."""
        return self._said.spent

    def begin(self, child: int) -> None:
        """A child of this process is at work; or is about to be, with a number of -1."""
        self._child = child
        if child <= 0:
            self._said.begun = time.monotonic()
        self._said.child = child

    def take(self, wait_s: float = 0) -> Any:
        """The last answer, if this process has not had it; else None. Raises LookupError where a child gave none.

        wait_s  how long to wait for a child that is at work
        """
        deadline, said = time.monotonic() + wait_s, self._said
        while True:
            child, count = said.child, said.count
            if count > self._seen:
                self._seen = count
                if child and child == self._child:  # it answered before it was known by its number
                    said.child = 0
                self._reap(0)
                return pickle.loads(self._memory[_AT_ANSWER : _AT_ANSWER + said.length])
            if child and self._is_over(child) and said.count == count:
                said.child = 0
                raise LookupError("the process that tried it did not end as it should have")
            if not child or time.monotonic() >= deadline:
                return None
            time.sleep(0.002)

    def answer(self, value: Any) -> None:
        """In a child: what take() gives."""
        content = pickle.dumps(value)
        self._memory[_AT_ANSWER : _AT_ANSWER + len(content)] = content
        self._said.length = len(content)
        self._said.count += 1
        self._said.child = 0

    def close(self) -> None:
        """Ends a child that is at work; for the process that made the page."""
        child = self._said.child
        if self.own and child > 0:
            with suppress(OSError):
                os.kill(child, signal.SIGKILL)
            self._reap(0)

    def _reap(self, options: int) -> bool:
        """Whether there is no child of this process any more."""
        with suppress(OSError):
            if self._child > 0 and os.waitpid(self._child, options)[0] == 0:
                return False
        self._child = 0
        return True

    def _is_over(self, child: int) -> bool:
        # Batches may ask more often than that costs nothing.
        now = time.monotonic()
        if now < self._look_at:
            return False
        self._look_at = now + _LOOK_S
        if self._child > 0:
            return self._reap(os.WNOHANG)
        if now - self._said.begun > LIMIT_S + 1:
            return True
        try:
            os.kill(child, 0) if child > 0 else None
        except OSError:
            return True
        return False


def begin(page: Page, work: Callable[[], Any]) -> None:
    """Forks a child that answers with what `work` gives, which must not raise. Raises OSError if that is not to be."""
    ready, told = os.pipe()
    positions = any(fd > _STDERR and _is_regular(fd) for fd in _open_files())
    page.begin(-1)
    child = fork()
    if child == 0:
        try:
            os.close(ready)
            _isolate(page, told)
            page.answer(work())
        finally:
            os._exit(0)
    os.close(told)
    if child < 0:
        os.close(ready)
        page.begin(0)
        raise OSError("no process could be forked")
    # It may have answered already.
    if page.running:
        page.begin(child)
    if positions:
        # Until it has positions of its own in files that both have open.
        select.select([ready], [], [], LIMIT_S)
    os.close(ready)


class Apart:
    """One half of what begin() runs: a process of its own, which gives what a function returns."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._fd, write = os.pipe()
        child = fork()
        if child == 0:
            try:
                os.close(self._fd)
                die_with_parent()
                for fd in filter(_is_regular, _open_files()):
                    _own(fd)  # what runs beside it, and after it, reads from where this one does
                content = pickle.dumps(_outcome(function))
                with open(write, "wb") as file:
                    file.write(content)
            finally:
                os._exit(0)
        os.close(write)
        if child < 0:
            os.close(self._fd)
            raise OSError("no process could be forked")

    def result(self) -> Any:
        """What the function returned. Raises what it raised, or EOFError where its process died."""
        with open(self._fd, "rb") as file:
            content = file.read()
        if not content:
            raise EOFError("the process that ran it died")
        value, error = pickle.loads(content)
        if error is not None:
            raise error
        return value


def run_apart(*functions: Callable[[], Any]) -> list[Any]:
    """What functions give, each in a process of its own, side by side."""
    return [each.result() for each in [Apart(function) for function in functions]]


def _outcome(function: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        value = function()
        pickle.dumps(value)
    except OutsideError as error:
        return None, RuntimeError(str(error))
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            return None, RuntimeError(f"{type(error).__name__}: {error}")
        return None, error
    return value, None


# Isolation


def _limits() -> Any:
    import resource  # not on Windows, where nothing forks

    return resource


def _isolate(page: Page, told: int) -> None:
    global _here
    _here = True
    gc.freeze()  # a collection would have the system copy all that the parent has
    for fd in _open_files():
        if fd != told:
            _own(fd)
    os.close(told)  # what follows is nobody's matter but ours
    memory.writes = False
    sys.dont_write_bytecode = True  # of what is imported here first
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(LIMIT_S)
    _limits().setrlimit(_limits().RLIMIT_CORE, (0, 0))
    _read_only(page)
    one_thread()


def _open_files() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        return list(range(min(_limits().getrlimit(_limits().RLIMIT_NOFILE)[0], _MAX_FDS)))


def _is_regular(fd: int) -> bool:
    try:
        return stat.S_ISREG(os.fstat(fd).st_mode)
    except OSError:
        return False


def _own(fd: int) -> None:
    """Gives a regular file a position of its own, to read only. All else leads nowhere."""
    try:
        regular = _is_regular(fd)
        own = os.open(f"/proc/self/fd/{fd}" if regular else os.devnull, os.O_RDONLY if regular else os.O_RDWR)
    except OSError:
        with suppress(OSError):
            os.close(fd)
        return
    if regular:
        with suppress(OSError):
            os.lseek(own, os.lseek(fd, 0, os.SEEK_CUR), os.SEEK_SET)
    os.dup2(own, fd)
    os.close(own)


def _read_only(page: Page) -> None:
    """Makes all memory that other processes share readable only: who writes there ends, and that is told of."""
    for first, last in _shared():
        if not first <= page.address < last:
            c_library().mprotect(ctypes.c_void_p(first), ctypes.c_size_t(last - first), mmap.PROT_READ)


def _shared() -> Iterator[tuple[int, int]]:
    """Where memory is that is shared and can be written; not that of devices."""
    with open("/proc/self/maps") as maps:
        lines = maps.read().splitlines()
    for line in lines:
        place, how, _, _, _, *path = line.split(maxsplit=5)
        device = bool(path) and path[0].startswith("/dev/") and not path[0].startswith(("/dev/shm/", "/dev/zero"))
        if how[1] == "w" and how[3] == "s" and not device:
            first, last = place.split("-")
            yield int(first, 16), int(last, 16)


# What reaches outside of a process, by the names of Python's audit events.
_OUTSIDE = frozenset(
    (
        *("os.chmod", "os.chown", "os.exec", "os.fork", "os.forkpty", "os.kill", "os.killpg", "os.link", "os.mkdir"),
        *("os.posix_spawn", "os.remove", "os.rename", "os.rmdir", "os.spawn", "os.symlink", "os.system", "os.truncate"),
        *("os.utime", "socket.bind", "socket.connect", "socket.sendmsg", "socket.sendto", "subprocess.Popen"),
    )
)
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        path, mode, flags = arguments
        writes = flags & _WRITES if isinstance(flags, int) else isinstance(mode, str) and set(mode) & set("wax+")
        if not writes or path == os.devnull or isinstance(path, int):  # a file that is open already
            return
        what = f"opens {path!r} to write"
    elif event in _OUTSIDE:
        what = f"calls {event}"
    else:
        return
    _touched.append(what)
    raise OutsideError(f"goloader: this is a check of the dataset, which {what}")


@contextmanager
def restrict() -> Iterator[None]:
    """Within it, nothing outside of this process can be changed, as far as the system lets us. In a child only."""
    remote.prepare()
    _forbid_writing()
    limits = _limits()
    before = limits.getrlimit(limits.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    sys.addaudithook(_audit)
    limits.setrlimit(limits.RLIMIT_FSIZE, (0, before[1]))
    yield
    limits.setrlimit(limits.RLIMIT_FSIZE, before)


# Landlock: the system calls' numbers, and all ways to change a file system that its first version knows.
_CREATE_RULESET, _RESTRICT_SELF = 444, 446
_CHANGES = 0b1_1111_1111_0010


def _forbid_writing() -> None:
    """Keeps code in C from changing files too, where the kernel has Landlock."""
    libc = c_library()
    attributes = ctypes.c_uint64(_CHANGES)
    ruleset = libc.syscall(_CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(8), ctypes.c_uint32(0))
    if ruleset < 0:
        return
    if libc.prctl(38, 1, 0, 0, 0) == 0:  # PR_SET_NO_NEW_PRIVS
        libc.syscall(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    os.close(ruleset)
