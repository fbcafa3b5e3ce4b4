"""Whether a dataset's code opens images: samples are made once without stand-ins, in a process of their own, and every
call is looked at. Code that opens none needs no trial, which imports much and makes the samples several times.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from .. import sandbox
from ..worker import collate

__all__ = ["OPENERS", "opens"]

# What opens images for datasets.
OPENERS = frozenset(
    (
        "PIL.Image.open",
        "PIL.Image.fromarray",
        "cv2.imread",
        "cv2.imdecode",
        "torchvision.io.image.read_image",
        "torchvision.io.image.decode_image",
    )
)


class _OpenedError(Exception):
    """The answer is known."""


def opens(run: Callable[[], Any]) -> bool:
    """Whether `run`, which makes samples, calls what opens images, or fails before that can be told.

    For the process of a trial: `run` goes on in a fork of it. Raises OSError where there is none.
    """
    [found] = sandbox.run_apart(lambda: _watched(run))
    return bool(found)


def _watched(run: Callable[[], Any]) -> bool:
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

    def look(frame: FrameType, event: str, called: Any) -> None:
        nonlocal opened
        if (event == "call" and frame.f_code in codes) or (event == "c_call" and id(called) in functions):
            opened = True
            raise _OpenedError

    collate.apart = True
    with sandbox.restrict():
        threading.setprofile(look)
        sys.setprofile(look)
        try:
            run()
        except Exception:
            return True  # of the code's own, or ours
        finally:
            sys.setprofile(None)
    return opened
