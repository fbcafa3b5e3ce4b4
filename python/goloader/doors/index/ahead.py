"""Files that only Pillow reads, decoded by threads before the core asks for them.

torch's workers would decode them side by side; Pillow lets other threads run while it decodes.
"""

from __future__ import annotations

import os
import threading
import weakref
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

from ..._core import Run
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

    close  lets them end
    """

    def __init__(self, samples: Images, threads: int) -> None:
        self._samples, self._threads = samples, threads
        self._queue: SimpleQueue[tuple[int, Future[Pixels | None]] | None] = SimpleQueue()
        self._begun: dict[int, Future[Pixels | None]] = {}
        self._started = 0
        self.close = weakref.finalize(self, _end, self._queue, threads)
        self.close.atexit = False

    def take(self, run: Run, row: int) -> Pixels | None:
        """The pixels of a file that the core asks for, if a thread was given it and could; begins with others."""
        found = self._begun.pop(row, None)
        room = _WAITING_MAX * self._threads - len(self._begun)
        for other in run.doubts(room) if room > 0 else ():
            # Where a relative path begins is only known where the core asks.
            if other != row and os.path.isabs(self._samples.name(other)):
                self._begin(other)
        return None if found is None else found.result()

    def _begin(self, row: int) -> None:
        if row in self._begun:
            return
        made: Future[Pixels | None] = Future()
        self._begun[row] = made
        self._queue.put((row, made))
        if self._started < self._threads:
            self._started += 1
            threading.Thread(target=_serve, args=(self._queue, self._samples), daemon=True).start()

    def clear(self) -> None:
        """Forgets what was begun."""
        self._begun.clear()


def _end(queue: SimpleQueue[Any], threads: int) -> None:
    for _ in range(threads):
        queue.put(None)


def _serve(queue: SimpleQueue[Any], samples: Images) -> None:
    for row, made in iter(queue.get, None):
        try:
            made.set_result(pixels(samples, row))
        except Exception:  # it goes wrong again where the core asks
            made.set_result(None)
