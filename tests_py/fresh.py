"""Programs in processes of their own, which begin where a new interpreter is once it has imported torch.

That takes a new interpreter 4 s of a slow core, and torchvision 8 s more. One process for each set of libraries imports
them, and forks for each program; nothing of goloader's is imported there. What has to begin or end as an interpreter
does, or has options of its own, is run by one.
"""

from __future__ import annotations

import atexit
import functools
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import IO, Any

ROOT = Path(__file__).parents[1]

# What a process imports before it forks; each process of the tests has one of each kind, once it is asked for.
LIBRARIES = {"torch": ("torch",), "images": ("torch", "torchvision.transforms.v2", "torchvision.datasets", "PIL.Image")}


def run(
    program: str,
    *arguments: object,
    libraries: str = "images",
    cwd: Path | None = None,
    timeout: float = 240,
    path: Sequence[Path] = (),
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """Runs a program, as `python -c` does, with these in sys.argv[1:], and returns what it printed.

    libraries    a name in LIBRARIES
    path         folders of modules that it imports, before goloader's package
    environment  what it has beside this process's own

    Its output ends where nobody who has its pipes is left, as with subprocess. After so many seconds all processes of
    its session are killed, and the test fails.
    """
    modules = [*map(str, path), str(ROOT / "python")]
    pipes = [os.pipe() for _ in range(3)]
    ends = [os.fdopen(read, "r") for read, _ in pipes]
    asked = {
        "program": program,
        "arguments": ["-c", *map(str, arguments)],
        "cwd": str(cwd or os.getcwd()),
        "path": ["", *modules, str(ROOT)],
        "environment": os.environ | {"PYTHONPATH": os.pathsep.join(modules)} | environment,
    }
    child = _server(libraries).fork(asked, [write for _, write in pipes])
    for _, write in pipes:
        os.close(write)
    said = ["", "", ""]
    readers = [threading.Thread(target=_read, args=(end, said, n), daemon=True) for n, end in enumerate(ends)]
    for each in readers:
        each.start()
    late = time.monotonic() + timeout
    for each in readers:
        each.join(max(0, late - time.monotonic()))
    hangs = any(each.is_alive() for each in readers)
    if hangs:
        os.killpg(child, signal.SIGKILL)
        for each in readers:
            each.join()
    out, err, status = said
    if hangs:
        import pytest  # not in the processes that fork

        pytest.fail(f"hung after {timeout} s, having said:\n{out}{err}")
    return subprocess.CompletedProcess(program, int(status), out, err)


def command(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """python -m goloader ARGUMENTS in a folder."""
    program = "import sys\nfrom goloader.cli import main\nsys.exit(main())"
    return run(program, *arguments, libraries="torch", cwd=cwd)


def _read(end: IO[str], into: list[str], number: int) -> None:
    with end:
        into[number] = end.read()


class _Server:
    def __init__(self, libraries: str) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # One message is a request, however long its program is.
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        line = [sys.executable, __file__, str(theirs.fileno()), *LIBRARIES[libraries]]
        self._process = subprocess.Popen(
            line, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True, cwd=ROOT
        )
        theirs.close()
        self._socket = ours
        atexit.register(self._end)

    def fork(self, asked: Mapping[str, Any], files: Sequence[int]) -> int:
        """The id of a process that runs a program: its stdout, its stderr, and what its status is written to."""
        socket.send_fds(self._socket, [pickle.dumps(asked)], files)
        return int(self._socket.recv(64))

    def _end(self) -> None:
        self._socket.close()
        self._process.wait()


@functools.cache
def _server(libraries: str) -> _Server:
    return _Server(libraries)


def _forked(asking: socket.socket) -> dict[str, Any]:
    """Forks for each request, and returns it in the child. Ends where nobody asks any more."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that wait for a program
    while True:
        message, files, _, _ = socket.recv_fds(asking, 1 << 20, 3)
        if not message:
            os._exit(0)
        if os.fork() == 0:
            break
        for each in files:
            os.close(each)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if child:
        asking.send(str(child).encode())
        for each in files[:2]:
            os.close(each)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.write(files[2], str(status).encode())
        os._exit(0)
    os.setsid()
    asking.close()
    for number, each in enumerate(files[:2], 1):
        os.dup2(each, number)
    for each in files:
        os.close(each)
    asked: dict[str, Any] = pickle.loads(message)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.argv = asked["arguments"]
    sys.path[:1] = asked["path"]
    # Shells' background jobs inherit an ignored SIGINT, and Python then leaves it so.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return asked


if __name__ == "__main__":
    import gc
    import importlib

    sys.modules["triton"] = None  # type: ignore[assignment] # which complains where those end that have frozen objects
    for name in sys.argv[2:]:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # a child that ends looks through all objects that may be in cycles, and copies the memory they are in
    _request = _forked(socket.socket(fileno=int(sys.argv[1])))
    _main = ModuleType("__main__")
    sys.modules["__main__"] = _main
    exec(compile(_request["program"], "<string>", "exec"), vars(_main))
