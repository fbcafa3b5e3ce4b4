"""A forked child sees what its parent leased, for as long as it lives: such a slot is not used again before that.

A child made by fork has its parent's batches (`Process(target=..., args=(batch,))`), in the same shared memory. Its
parent may drop them at once; the slots would be filled with other batches under the child's eyes. So whoever forks
while it has leases opens a pipe that the child inherits: the pipe says when the child, and its own children, are gone.
"""

from __future__ import annotations

import os
import select


class Guard:
    """The children of one fork, or of several in a row."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self.open = True
        try:
            self._read, self._write = os.pipe()
        except OSError:  # no descriptors left: these children count as alive for ever
            self._read = self._write = -1

    def part(self) -> None:
        """No more children: from now on the pipe has an end that only they hold."""
        if self.open and self._write >= 0:
            os.close(self._write)
        self.open = False

    def gone(self) -> bool:
        """True if none of the children is left."""
        if self._read < 0:
            return False
        self.part()
        poll = select.poll()
        poll.register(self._read, 0)
        return bool(poll.poll(0))

    def __del__(self) -> None:
        # In a child the pipe stays open: that is what it is for.
        if os.getpid() == self._pid and self._read >= 0:
            self.part()
            os.close(self._read)


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
