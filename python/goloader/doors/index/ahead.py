"""Files that only Pillow reads, decoded by threads before the core asks for them.

torch's workers would decode them side by side; Pillow lets other threads run while it decodes.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from queue import SimpleQueue
from typing import Any

from ..._core import LateError, Run
from ...plan.datasets import Images, Scripts

# RGB interleaved, or a byte each of a target; width; height.
Pixels = tuple[bytes, int, int]

# Decoded images that wait to be asked for, a thread.
_WAITING_MAX = 4


def pixels(samples: Images | Scripts, row: int) -> Pixels:
    """What Pillow makes of a file; raises what the dataset raises."""
    image = samples.load(row)
    return image.tobytes(), image.width, image.height


class Ahead:
    """As many threads as there would be workers. They are daemons, so that a read that hangs does not hold up an exit.

    samples  whose files they decode
    close    lets them end
    """

    def __init__(self, samples: Images | Scripts, threads: int) -> None:
        self.samples, self._threads = samples, threads
        self._queue: SimpleQueue[tuple[int, Future[Pixels | None]] | None] = SimpleQueue()
        self._begun: dict[int, Future[Pixels | None]] = {}
        self._started = 0
        self.close = weakref.finalize(self, _end, self._queue, threads)
        self.close.atexit = False

    def take(self, run: Run, row: int, deadline: float | None, here: bool) -> Pixels | None:
        """The pixels of a file that the core asks for, if a thread was given it and could; begins with others.

        deadline  when to raise LateError, on time.monotonic(). With one every file is given to a thread, since a read
                  that hangs cannot be left by who makes it
        here      relative paths begin where the process is
        """
        if deadline is not None:
            self._begin(row, here=here)
        room = _WAITING_MAX * self._threads - len(self._begun)
        for other in run.doubts(room) if room > 0 else ():
            if other != row:
                self._begin(other)
        found = self._begun.get(row)
        if found is None:
            return None
        try:
            made = found.result(None if deadline is None else max(0.0, deadline - time.monotonic()))
        except FutureTimeoutError:
            if deadline is None or time.monotonic() < deadline:  # the limit of a sample, which interrupts
                raise
            raise LateError from None
        del self._begun[row]
        return made

    def _begin(self, row: int, *, here: bool = False) -> None:
        # The process may be elsewhere before a thread comes to a relative path that nobody waits for.
        if row in self._begun or not (here or os.path.isabs(self.samples.name(row))):
            return
        made: Future[Pixels | None] = Future()
        self._begun[row] = made
        self._queue.put((row, made))
        if self._started < self._threads:
            self._started += 1
            threading.Thread(target=_serve, args=(self._queue, self.samples), daemon=True).start()

    def clear(self) -> None:
        """Forgets what was begun."""
        self._begun.clear()


def _end(queue: SimpleQueue[Any], threads: int) -> None:
    for _ in range(threads):
        queue.put(None)


def _serve(queue: SimpleQueue[Any], samples: Images | Scripts) -> None:
    for row, made in iter(queue.get, None):
        try:
            made.set_result(pixels(samples, row))
        except Exception:  # it goes wrong again where the core asks
            made.set_result(None)
