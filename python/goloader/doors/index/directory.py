"""The working directory that torch's workers would have: that of the moment they were forked."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref

# Of two threads in directories of their own, one waits.
_elsewhere = threading.RLock()


class Directory:
    """The working directory of this moment. A with statement is in it: for Python's part of what an epoch loads.

    The process goes there and back, which its other threads see; but only if it has left since.
    """

    def __init__(self) -> None:
        self._fd = _here()
        self._left: list[int | None] = []
        if self._fd is not None:
            weakref.finalize(self, os.close, self._fd).atexit = False

    def __enter__(self) -> None:
        left = None
        _elsewhere.acquire()
        if self._fd is not None and not self.is_here():
            left = _here()
            # One that must not be entered any more leaves the loading to fail where it is.
            with contextlib.suppress(OSError):
                os.fchdir(self._fd)
        self._left.append(left)

    def __exit__(self, *raised: object) -> None:
        left = self._left.pop()
        if left is not None:
            os.fchdir(left)
            os.close(left)
        _elsewhere.release()

    def is_here(self) -> bool:
        """Whether the process is in it."""
        if self._fd is None:
            return False
        try:
            return os.path.samestat(os.stat("."), os.fstat(self._fd))
        except OSError:
            return False


def _here() -> int | None:
    """A descriptor of the working directory; None where it must not be opened."""
    try:
        return os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
