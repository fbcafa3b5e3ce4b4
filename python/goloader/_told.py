"""What users are told while loaders run: warnings at their own lines, a log, and errors where they asked for them.

Each reason is told once in a process. `logging.getLogger("goloader")` has what is decided (INFO) and every warning
(WARNING).
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Literal

from ._errors import FallbackError, GoloaderWarning

if TYPE_CHECKING:
    from .plan.explain import Explanation
    from .plan.refusal import Refusal

Policy = Literal["python", "warn", "error"]

log = logging.getLogger("goloader")

# What loaders do that were not told.
_default: Policy = "python"
_told: set[str] = set()
# Frames of these packages are not the user's.
_INSIDE = ("goloader", "torch")


class strict:  # noqa: N801, users call it as a function
    """Sets what loaders do that run in Python and have no on_fallback of their own: raise FallbackError in iter().

    strict()           from here on, in this process; strict(False) goes back to saying nothing
    with strict(): ... within the block
    """

    def __init__(self, on: bool = True) -> None:
        global _default
        self._before, _default = _default, "error" if on else "python"

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _default
        _default = self._before


def policy(own: Policy | None) -> Policy:
    """What a loader does with that on_fallback."""
    return own or _default


def checked(own: Any) -> Policy | None:
    """An on_fallback. Raises ValueError if it is none."""
    if own not in (None, "python", "warn", "error"):
        raise ValueError(f'on_fallback is "python", "warn" or "error", but got on_fallback={own!r}')
    known: Policy | None = own
    return known


def fell_back(who: str, reasons: Sequence[Refusal], on_fallback: Policy, explanation: Explanation) -> None:
    """A loader runs in Python for these reasons. Raises FallbackError if that is to be an error."""
    if on_fallback == "warn":
        for reason in reasons:
            warn(f"goloader: {who} runs in Python: {_said(reason)}")
    elif on_fallback == "error":
        codes = dict.fromkeys(reason.code for reason in reasons)
        table = "\n".join(f"  {line}" for line in str(explanation).splitlines())
        raise FallbackError(
            f'{who} runs in Python, and on_fallback is "error": {"; ".join(map(_said, reasons))}\n{table}', tuple(codes)
        )


def stopped(reason: Refusal, advice: str = "") -> None:
    """What Go made until now, Python makes from here on: a warning, once for each reason.

    advice  a sentence or two on what the user can do
    """
    warn(f"goloader: {_said(reason)}: from here on Python does what Go did, as torch does it. {advice}".rstrip())


def warn(text: str) -> None:
    """A GoloaderWarning at the line of the user's that led here, and in the log; once for each text."""
    if text in _told:
        return
    _told.add(text)
    if log.hasHandlers():  # without any, Python would print what the warning prints anyway
        log.warning(text)
    frame = _users()
    names = frame.f_globals
    warnings.warn_explicit(
        text,
        GoloaderWarning,
        frame.f_code.co_filename,
        frame.f_lineno,
        names.get("__name__", "<unknown>"),
        names.setdefault("__warningregistry__", {}),
    )


def _said(reason: Refusal) -> str:
    return f"{reason} [{reason.code}]"


def _users() -> FrameType:
    """The nearest frame outside of goloader and torch; the outermost one if all are inside, as in torch's threads."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _INSIDE:
        frame = frame.f_back
    return frame
