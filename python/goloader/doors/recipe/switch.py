"""Whether this thread records, or packs: the hooks look here first, and other threads never see a stand-in."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...adapters.python import Standing
from ...plan.needs import decoders as _decoders
from ...selfcheck import holds as _holds
from ...selfcheck import value as _value

if TYPE_CHECKING:
    from .hooks.front import Fronts
    from .session import Session
    from .shipment import Recipes

# What stands in front of modules' functions while any thread records; whoever holds the hooks says so.
fronts: tuple[Fronts, ...] = ()
_standing = Standing()


class _Local(threading.local):
    session: Session | None = None
    recipes: Recipes | None = None


_local = _Local()


def current() -> Session | None:
    """The session of this thread, if it records now."""
    return _local.session


@contextmanager
def recording(session: Session) -> Iterator[None]:
    """Within it, what this thread opens are stand-ins of that session."""
    _standing.hold(lambda: fronts)
    before, _local.session = _local.session, session
    try:
        yield
    finally:
        _local.session = before
        _standing.release()


@contextmanager
def off() -> Iterator[None]:
    """Within it, this thread meets no stand-ins: for the real work behind one."""
    before, _local.session = _local.session, None
    try:
        yield
    finally:
        _local.session = before


def packing() -> Recipes | None:
    """Where the recipes of stand-ins go that this thread pickles, if it packs a batch now."""
    return _local.recipes


def pack(recipes: Recipes | None) -> None:
    """From now on recipes of stand-ins go there; None ends it."""
    _local.recipes = recipes


# The formats beside JPEG and PNG that the core decodes; whether behaviours hold, and which variant of one (selfcheck):
# all are tried without stand-ins.
decoders, holds, value = off()(_decoders), off()(_holds), off()(_value)
