"""A program for test_deaths: prints its workers' pids and its own, then kills itself, them, or both.

What it names in /dev/shm begins with a prefix of the test's, or as torch names what a process shares.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys

from samples import Mapped

import goloader


def main() -> None:
    method, whom, prefix = sys.argv[1:]
    multiprocessing.current_process()._config["semprefix"] = prefix  # type: ignore[attr-defined]
    loader = goloader.DataLoader(Mapped("tensor", 1000), batch_size=10, num_workers=2, multiprocessing_context=method)
    iterator = iter(loader)
    kept = [next(iterator) for _ in range(3)]
    pids = [worker.pid for worker in iterator._workers]
    print(*pids, os.getpid(), flush=True)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for pid in {"parent": [os.getpid()], "workers": pids, "all": [*pids, os.getpid()]}[whom]:
        os.kill(pid, signal.SIGKILL)
    assert len(kept) == 3
    os._exit(0)


if __name__ == "__main__":
    main()
