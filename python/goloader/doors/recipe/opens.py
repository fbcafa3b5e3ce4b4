"""Whether a dataset's code opens images: samples are made once without stand-ins, in a process of their own, and every
call is looked at. Code that opens none needs no trial, which imports much and makes the samples several times.

The same look tells in which files the code is that ran: what was found holds while they are as they were (kept.py).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from .. import sandbox
from ..worker import collate
from . import kept

__all__ = ["OPENERS", "files_of", "opens"]

# What opens images for datasets.
OPENERS = frozenset(
    (
        "PIL.Image.open", "PIL.Image.fromarray", "cv2.imread", "cv2.imdecode", "torchvision.io.image.read_image",
        "torchvision.io.image.decode_image",
    )
)  # fmt: skip

# Characters of all paths that a trial answers, whose answer has to fit a page (sandbox.py).
_PATHS_MAX = 1 << 14


class _OpenedError(Exception):
    """The answer is known."""


def opens(run: Callable[[], Any]) -> tuple[bool, tuple[str, ...]]:
    """Whether `run`, which makes samples, calls what opens images, or fails before that can be told; if not, the files
    of all code that ran.

    For the process of a trial: `run` goes on in a fork of it. Raises OSError where there is none.
    """
    [(opened, files)] = sandbox.run_apart(lambda: _watched(run))
    return opened, files


def files_of(run: Callable[[], Any]) -> tuple[str, ...]:
    """The files of all code that runs, but Python's own and ours; of code that fails, up to there."""
    ran: set[str] = set()
    with suppress(Exception), _calls(lambda frame, event, _: _note(frame, ran) if event == "call" else None):
        run()
    return _told(ran)


def _told(ran: Iterable[str]) -> tuple[str, ...]:
    """What a trial answers of the files of all code that ran; nothing where they are too many for that."""
    files = tuple(filter(kept.matters, ran))
    return files if sum(map(len, files)) < _PATHS_MAX else ()


def _note(frame: FrameType, ran: set[str]) -> None:
    """Adds the file of code that is called."""
    path, scope = frame.f_code.co_filename, frame.f_globals
    if not path.startswith("<"):
        ran.add(path)
    elif not str(scope.get("__name__")).startswith(("importlib.", "namedtuple_")):
        ran.add(str(scope.get("__file__", path)))  # what Python writes for a dataclass; or code of no file


@contextmanager
def _calls(look: Callable[[FrameType, str, Any], Any]) -> Iterator[None]:
    """Within it, every call is looked at."""
    threading.setprofile(look)
    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(None)


def _watched(run: Callable[[], Any]) -> tuple[bool, tuple[str, ...]]:
    codes, functions = set(), set()
    for name in OPENERS:
        module, _, attribute = name.rpartition(".")
        opener = vars(sys.modules[module]).get(attribute) if module in sys.modules else None
        code = getattr(opener, "__code__", None)
        if code is not None:
            codes.add(code)
        elif opener is not None:
            functions.add(id(opener))
    opened = False
    ran: set[str] = set()

    def look(frame: FrameType, event: str, called: Any) -> None:
        nonlocal opened
        if event == "call":
            _note(frame, ran)
        if (event == "call" and frame.f_code in codes) or (event == "c_call" and id(called) in functions):
            opened = True
            raise _OpenedError

    collate.apart = True
    with sandbox.restrict():
        try:
            with _calls(look):
                run()
        except (Exception, sandbox.OutsideError):
            return True, ()  # of the code's own, or ours
    return opened, () if opened else _told(ran)
