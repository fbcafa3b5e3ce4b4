"""Results kept on disk: one small JSON file of what libraries do, and files of their own for what is larger. Each is
replaced whole.

Loading and storing raise nothing: what cannot be read or written is tried again next time.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

# False in a process that must not change files.
writes = True

_STAMPS_MAX = 32
_BYTES_MAX = 1 << 20


def folder() -> str:
    """Where goloader keeps files of its own: GOLOADER_CACHE, or goloader in the user's cache folder."""
    chosen = os.environ.get("GOLOADER_CACHE")
    if chosen:
        return chosen
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "goloader")


@contextmanager
def replacing(path: str) -> Iterator[IO[bytes]]:
    """A file that takes a path's place as the block ends: whole, or not at all. Raises OSError."""
    where = os.path.dirname(path)
    os.makedirs(where, exist_ok=True)
    number, temporary = tempfile.mkstemp(dir=where, prefix=".", suffix=".goloader")
    try:
        with os.fdopen(number, "wb") as file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _read(path: str) -> dict[str, dict[str, Any]]:
    with suppress(OSError, ValueError, RecursionError), open(path, "rb") as file:
        kept = json.loads(file.read(_BYTES_MAX))
        if isinstance(kept, dict):
            return {stamp: found for stamp, found in kept.items() if isinstance(found, dict)}
    return {}


def load(stamp: str) -> dict[str, Any]:
    """What was found under a stamp; nobody says that it makes sense."""
    return _read(os.path.join(folder(), "selfcheck.json")).get(stamp, {})


def store(stamp: str, found: dict[str, Any]) -> None:
    """Keeps more results under a stamp. The stamps that were written longest ago are forgotten."""
    where = folder()
    if not writes or not os.path.isabs(where):
        return
    path = os.path.join(where, "selfcheck.json")
    kept = _read(path)
    kept[stamp] = kept.pop(stamp, {}) | found
    newest = dict(list(kept.items())[-_STAMPS_MAX:])
    with suppress(OSError), replacing(path) as file:
        file.write(json.dumps(newest).encode())


def find(kind: str, name: str) -> dict[str, Any] | None:
    """What was kept of a kind by a name; nobody says that it makes sense."""
    with suppress(OSError, ValueError, RecursionError), open(_place(kind, name), "rb") as file:
        kept = json.loads(file.read(_BYTES_MAX))
        return kept if isinstance(kept, dict) else None
    return None


def keep(kind: str, name: str, value: dict[str, Any], kept_max: int) -> None:
    """Keeps something by a name. Of so many of a kind, those that were written longest ago are forgotten."""
    if not writes or not os.path.isabs(folder()):
        return
    path = _place(kind, name)
    with suppress(OSError):
        with replacing(path) as file:
            file.write(json.dumps(value).encode())
        with os.scandir(os.path.dirname(path)) as entries:
            files = sorted(entries, key=lambda entry: entry.stat().st_mtime_ns)
        for entry in files[:-kept_max]:
            os.unlink(entry.path)


def _place(kind: str, name: str) -> str:
    return os.path.join(folder(), kind, f"{name}.json")
