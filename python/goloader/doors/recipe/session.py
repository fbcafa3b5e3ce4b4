"""One batch while it is recorded: its stand-ins, and what made some of them real."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from . import switch

if TYPE_CHECKING:
    import torch

    from ..._native import Library
    from .chains import Chain
    from .stand_ins.value import Value

__all__ = ["Native", "Session", "TroubleError", "user_line"]

# Frames of these are never the user's.
_LIBRARIES = (
    "/PIL/",
    "/torch/",
    "/torchvision/",
    "/numpy/",
    "/cv2/",
    "/albumentations/",
    "/albucore/",
    f"{os.path.dirname(os.path.dirname(__file__))}{os.sep}",
)


class TroubleError(RuntimeError):
    """A stand-in cannot be right here; the batch is run again without any, though the user's code may handle this."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        session = switch.current()
        if session is not None:
            session.failed = self


class Native:
    """Whoever has the core at hand.

    chains  containers of transforms that were met (chains.py)
    """

    def __init__(self) -> None:
        self.chains: dict[tuple[int, str], Chain] = {}

    def library(self) -> Library | None:
        """The library whose Go runs in this process; None where there is none."""
        raise NotImplementedError

    def opened(self) -> bool:
        """Whether there is a core: it may be opened only now, and that may fail."""
        return True

    def run(self, values: list[Value]) -> list[torch.Tensor]:
        """Blocks of memory that hold these values, made by the core, shaped as they lie in memory."""
        raise NotImplementedError


class Session:
    """One batch while it is recorded.

    streams    it comes from an IterableDataset: the code that made it cannot run again from there, and may keep samples
    kept       a stand-in for an array outlives its batch
    collating  the samples are there, and a collate_fn is at work on them
    reasons    (what was done, line of the user's code) -> how often Python had to make a stand-in real for that
    seen       the same of what native made
    made       what was done -> images that native made for that
    checked    chains of transforms that stood as they are when it began
    failed     what a stand-in could not become real for; the user's code may have handled it, at another line than
               without stand-ins
    """

    def __init__(self, native: Native | None = None, *, streams: bool = False, before: Session | None = None) -> None:
        """`native` makes real what the user's code touches; None to make it as eager code would.

        before  of the stream's last batch: what is left of that lives on here
        """
        self.recorder, self.kept, self.collating, self.streams = native, False, False, streams
        self.reasons: Counter[tuple[str, str]] = Counter()
        self.seen: Counter[tuple[str, str]] = Counter()
        self.made: Counter[str] = Counter()
        self.failed: Exception | None = None
        self.recorded = 0
        self._living: list[Any] = [] if before is None else list(before.living())
        self._parted: list[Any] = []
        self.checked: set[Chain] = set()
        self._prune_at = 2 * len(self._living) + _PRUNE_MIN

    def register(self, stand_in: Any) -> None:
        """Remembers a stand-in, for those that are alive at the end of the batch."""
        self.recorded += 1
        self._living.append(stand_in)
        if len(self._living) >= self._prune_at:
            self.living()
            self._prune_at = 2 * len(self._living) + _PRUNE_MIN

    def living(self) -> list[Any]:
        """The stand-ins that somebody else refers to; all others are forgotten."""
        self._living = _alive(self._living)
        return self._living

    def part(self, found: list[Any]) -> None:
        """The batch is a stream's and leads to these stand-ins: they are no longer among the living."""
        gone = set(map(id, found))
        self._living = [each for each in self._living if id(each) not in gone]
        self._parted = found

    def parted(self) -> list[Any]:
        """Those that somebody still refers to."""
        self._parted = _alive(self._parted)
        return self._parted

    @property
    def native(self) -> Native | None:
        """The core, where there is one."""
        return self.recorder if self.recorder is not None and self.recorder.opened() else None

    def became_real(self, what: str) -> None:
        """Notes what Python made a stand-in real for."""
        self.reasons[what, user_line()] += 1

    def was_seen(self, what: str, images: int) -> None:
        """Notes what the core made so many images for, before the batch was complete."""
        self.seen[what, user_line()] += 1
        self.made[f"for {what}"] += images

    @contextmanager
    def noting_failure(self) -> Iterator[None]:
        """Within it, a stand-in becomes real."""
        try:
            yield
        except Exception as error:
            self.failed = error
            raise

    def clear(self) -> None:
        """The batch is gone: forgets its stand-ins, but for those that a stream keeps."""
        self._parted = []
        if not self.streams:
            self._living = []


_PRUNE_MIN = 32


def _alive(kept: list[Any]) -> list[Any]:
    return [kept[i] for i in range(len(kept)) if sys.getrefcount(kept[i]) > _IDLE]


def _count_idle() -> int:
    kept = [object()]
    counts = [sys.getrefcount(kept[i]) for i in range(len(kept))]
    return counts[0]


# References to an object that only a list holds, counted as _alive does: interpreters differ.
_IDLE = _count_idle()


def user_line() -> str:
    """The innermost line that belongs to no library, as "file.py:12", and the transform that it called, if it did."""
    frame = sys._getframe(1)
    transform = ""
    while frame is not None:
        code = frame.f_code
        if not transform and code.co_name in ("forward", "__call__"):
            owner = frame.f_locals.get("self")
            name = type(owner).__name__
            if owner is not None and name not in ("Compose", "_Wrapped"):
                transform = f" in {name}"
        if not any(library in code.co_filename for library in _LIBRARIES) and not code.co_filename.startswith("<"):
            return f"{code.co_filename.rpartition('/')[2]}:{frame.f_lineno}{transform}"
        frame = frame.f_back  # type: ignore[assignment]
    return "?"
