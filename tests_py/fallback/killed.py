"""A program for test_deaths: prints its workers' pids and what is in /dev/shm, then kills itself, them, or both."""

from __future__ import annotations

import os
import signal
import sys

from samples import Mapped

import goloader


def main() -> None:
    method, whom = sys.argv[1:]
    loader = goloader.DataLoader(Mapped("tensor", 1000), batch_size=10, num_workers=2, multiprocessing_context=method)
    iterator = iter(loader)
    kept = [next(iterator) for _ in range(3)]
    pids = [worker.pid for worker in iterator._workers]
    print(*pids, len(os.listdir("/dev/shm")), len(kept), flush=True)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for pid in {"parent": [os.getpid()], "workers": pids, "all": [*pids, os.getpid()]}[whom]:
        os.kill(pid, signal.SIGKILL)
    os._exit(0)


if __name__ == "__main__":
    main()
