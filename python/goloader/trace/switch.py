"""Whether this thread records: the hooks look here first, and other threads never see a stand-in."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .session import Session

__all__ = ["current", "off", "recording"]


class _Local(threading.local):
    session: Session | None = None


_local = _Local()


def current() -> Session | None:
    """The session of this thread, if it records now."""
    return _local.session


@contextmanager
def recording(session: Session) -> Iterator[None]:
    """Within it, what this thread opens are stand-ins of that session."""
    before, _local.session = _local.session, session
    try:
        yield
    finally:
        _local.session = before


@contextmanager
def off() -> Iterator[None]:
    """Within it, this thread meets no stand-ins: for the real work behind one."""
    before, _local.session = _local.session, None
    try:
        yield
    finally:
        _local.session = before
