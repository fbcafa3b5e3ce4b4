"""A forked child sees what its parent leased, for as long as it lives: such a slot is not used again before that.

A child made by fork has its parent's batches (`Process(target=..., args=(batch,))`), in the same shared memory. Its
parent may drop them at once; the slots would be filled with other batches under the child's eyes. So whoever forks
while it has leases opens a pipe that the child inherits: the pipe says when the child, and its own children, are gone.
"""

from __future__ import annotations

import contextlib
import os
import select
import weakref


class Guard:
    """The children of one fork, or of several in a row."""

    def __init__(self) -> None:
        self.open = True
        # To read from, and to write to until part().
        self._ends: list[int] = []
        # Without descriptors left these children count as alive for ever.
        with contextlib.suppress(OSError):
            self._ends += os.pipe()
        # Not a __del__: that would run when modules are torn down at exit, without those it needs.
        weakref.finalize(self, _close, os.getpid(), self._ends).atexit = False

    def part(self) -> None:
        """No more children: from now on the pipe has an end that only they hold."""
        if self.open and self._ends:
            os.close(self._ends.pop())
        self.open = False

    def gone(self) -> bool:
        """True if none of the children is left."""
        if not self._ends:
            return False
        self.part()
        poll = select.poll()
        poll.register(self._ends[0], 0)
        return bool(poll.poll(0))


def _close(pid: int, ends: list[int]) -> None:
    if os.getpid() == pid:  # in a child the pipe stays open: that is what it is for
        for end in ends:
            os.close(end)


_guard: Guard | None = None


def guard() -> Guard:
    """For the fork that is about to happen."""
    global _guard
    if _guard is None or not _guard.open:
        _guard = Guard()
    return _guard


def forget() -> None:
    """In a child: its own forks are others."""
    global _guard
    _guard = None
