"""What trials of recording found, kept on disk, for code whose files are as they were.

Where batches may be recorded, a loader of the same kind begins with that, and a trial in its own process checks it
meanwhile. Where nothing was gained, it tries again only after much time: its images may be larger than those before.
"""

from __future__ import annotations

import hashlib
import os
import sys
import sysconfig
from collections.abc import Iterable
from contextlib import suppress
from enum import Enum
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from ...plan.refusal import Refusal
from ...plan.trust.look import name_of, own
from ...plan.trust.originals import module_of
from ...selfcheck import libraries, memory

if TYPE_CHECKING:
    from ..._loader import DataLoader

_KIND, _KEPT_MAX = "recordings", 500
# What is looked at of a dataset, at most.
_THINGS_MAX, _ITEMS_MAX, _TEXT_MAX = 400, 16, 24

_PLAIN = (type(None), bool, int, float)
# Files of Python's own do not change without it; a goloader of another version has another library.
_OURS = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
_PYTHONS = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib")})


def named(loader: DataLoader[Any]) -> str:
    """What a loader's dataset and collate_fn are kept under: which classes they are of, and their settings.

    Looking at them runs no code of theirs.
    """
    told: list[Any] = [libraries.core(), sys.version]
    work: list[Any] = [loader.dataset, loader.collate_fn]
    seen: dict[int, Any] = {}  # which are kept, so that no other has the same id
    while work and len(told) < _THINGS_MAX:
        thing = work.pop()
        kind = type(thing)
        if kind in _PLAIN:
            told.append(repr(thing))
        elif kind is str:  # longer ones, and paths, are no settings
            told.append(thing if len(thing) <= _TEXT_MAX and os.sep not in thing else "")
        elif issubclass(kind, Enum) or kind is FunctionType:
            told.append(name_of(thing) if kind is FunctionType else str(vars(thing).get("_name_")))
        else:
            told.append(f"{module_of(kind)}.{name_of(thing)}")
            if id(thing) in seen:
                continue
            seen[id(thing)] = thing
            inside = thing if kind in (list, tuple) else thing.items() if kind is dict else own(thing).items()
            if len(inside) <= _ITEMS_MAX or kind not in (list, tuple, dict):
                work += inside
    return hashlib.blake2b(repr(told).encode(errors="surrogatepass"), digest_size=16).hexdigest()


class Kept(NamedTuple):
    """What the last trial found.

    off  why nothing may be recorded; None if it may
    """

    off: Refusal | None


def found(name: str) -> Kept | None:
    """What is kept by a name, if the code is what it was."""
    kept = memory.find(_KIND, name) or {}
    try:
        files, off = kept["files"], kept["off"]
        if not files or any(_about(path) != tuple(about) for path, about in files.items()):
            return None
        if off is None:
            return Kept(None)
        stage, what, why, code = off
        told = isinstance(off, list) and all(isinstance(each, str) for each in off)
        return Kept(Refusal(stage, what, why, code)) if told else None
    except (OSError, AttributeError, KeyError, TypeError, ValueError):  # whatever the file holds
        return None


def keep(name: str, files: Iterable[str], off: Refusal | None) -> None:
    """Keeps what a trial found, where such files had all code that ran."""
    told = None if off is None else [off.stage, off.what, off.why, off.code]
    with suppress(OSError):  # code that is in no file
        memory.keep(_KIND, name, {"files": {path: _about(path) for path in files}, "off": told}, _KEPT_MAX)


def matters(path: str) -> bool:
    """Whether a file with code that ran may change what samples are."""
    return not path.startswith((_OURS, *_PYTHONS)) or "site-packages" in path


def _about(path: str) -> tuple[int, int]:
    about = os.stat(path)
    return about.st_size, about.st_mtime_ns
