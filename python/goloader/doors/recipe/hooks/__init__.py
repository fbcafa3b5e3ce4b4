"""The functions of other libraries behind which stand-ins are made and met, one file a library.

Each library has the versions whose code was read and compared. Where one is unknown nothing is installed, and no loader
records; a library that the user's program has not imported is not imported for this. A hook looks first whether its
thread records; to others it costs about 0.2 us a call.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata

from ....plan.refusal import Refusal
from .. import switch
from .front import Front
from .swap import Swap

__all__ = ["held", "hold", "release", "unknown_version"]


@dataclass(frozen=True)
class _Library:
    """A library and its hooks.

    name    of the distribution; None if the hooks look for themselves what they fit, and are harmless elsewhere
    module  whose import says that the program uses it
    hooks   the file here
    first   version that the hooks know
    behind  first version that they do not know any more
    needed  elsewhere nothing may be recorded at all; otherwise it is only left without hooks
    """

    name: str | None
    module: str
    hooks: str
    first: tuple[int, int]
    behind: tuple[int, int]
    needed: bool = True


_LIBRARIES = (
    _Library("torch", "torch", "torch", (2, 15), (2, 16)),
    _Library("numpy", "numpy", "numpy", (2, 0), (2, 5)),
    _Library("pillow", "PIL.Image", "pillow", (13, 0), (13, 1)),
    _Library("torchvision", "torchvision.transforms.functional", "torchvision_v1", (0, 29), (0, 30)),
    _Library("torchvision", "torchvision.transforms.v2", "torchvision_v2", (0, 29), (0, 30)),
    _Library(None, "cv2", "opencv", (5, 0), (5, 1)),
    _Library("albucore", "albucore", "albucore", (0, 0), (0, 1), needed=False),
    _Library("albumentations", "albumentations", "albumentations", (2, 0), (2, 1), needed=False),
)

_lock = threading.Lock()
_holders = 0
_installed: list[Swap] = []


def unknown_version() -> Refusal | None:
    """Why nothing may be recorded here, if a library that the program uses is not one of those that were checked."""
    return next((why for library in _used() if library.needed and (why := _unknown(library)) is not None), None)


def _used() -> list[_Library]:
    return [library for library in _LIBRARIES if library.module in sys.modules]


@cache
def _unknown(library: _Library) -> Refusal | None:
    if library.name is None:
        return None
    try:
        version = metadata.version(library.name)
    except metadata.PackageNotFoundError:
        return Refusal("loader", library.name, "nothing says its version", "BEHAVIOUR_UNKNOWN")
    numbers = tuple(int(part) for part in version.split("+")[0].split(".")[:2] if part.isdigit())
    if library.first <= numbers < library.behind:
        return None
    known = ".".join(map(str, library.first))
    return Refusal(
        "loader", f"{library.name} {version}", f"its hooks are known to fit {known}.x only", "BEHAVIOUR_UNKNOWN"
    )


@cache
def _swaps(library: _Library) -> tuple[Swap, ...]:
    swaps: tuple[Swap, ...] = import_module(f".{library.hooks}", __name__).swaps()
    return swaps


@cache
def _fronts(library: _Library) -> tuple[Front, ...]:
    fronts: tuple[Front, ...] = getattr(import_module(f".{library.hooks}", __name__), "fronts", tuple)()
    return fronts


def hold() -> None:
    """Installs the hooks of all libraries in use, until as many releases as holds were called."""
    global _holders
    with _lock:
        _holders += 1
        for library in _used():
            if _unknown(library) is not None:
                continue
            for swap in _swaps(library):
                if swap not in _installed:
                    swap.install()
                    _installed.append(swap)
            switch.fronts.update(_fronts(library))


def release() -> None:
    """Gives one hold back; the last one puts everything back as it was."""
    global _holders
    with _lock:
        _holders -= 1
        if _holders == 0:
            while _installed:
                _installed.pop().undo()
            switch.fronts.clear()


@contextmanager
def held() -> Iterator[None]:
    """Within it, the hooks are installed."""
    hold()
    try:
        yield
    finally:
        release()
