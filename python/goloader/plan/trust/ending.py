"""Whether code of the user's that is about to be run ahead comes to an end: a forked child runs it first."""

from __future__ import annotations

import gc
import os
import select
import signal
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress

from ...adapters.python import die_with_parent, fork, one_thread


def ended(functions: Sequence[Callable[[], object]], limit_s: float) -> int:
    """How many of these, which change nothing, end within so many seconds, all in all; an error is an end, too.

    0 where no process can be forked.
    """
    ready, told = os.pipe()
    child = fork()
    if child == 0:
        try:
            os.close(ready)
            _run(functions, told)
        finally:
            os._exit(0)
    os.close(told)
    try:
        return _heard(ready, len(functions), time.monotonic() + limit_s) if child > 0 else 0
    finally:
        os.close(ready)
        if child > 0:
            with suppress(OSError):  # somebody else may have waited for it
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)


def _run(functions: Sequence[Callable[[], object]], told: int) -> None:
    die_with_parent()
    gc.freeze()  # a collection would have the system copy all that the parent has
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    one_thread()
    warnings.simplefilter("ignore")
    for function in functions:
        with suppress(Exception):
            function()
        os.write(told, b".")


def _heard(ready: int, count: int, deadline: float) -> int:
    """How many bytes came in time."""
    heard = 0
    while heard < count and (left := deadline - time.monotonic()) > 0:
        if not select.select([ready], [], [], left)[0]:
            break
        new = len(os.read(ready, count))
        if not new:
            break
        heard += new
    return heard
