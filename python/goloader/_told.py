"""Warnings at the user's own line, a log, and errors where they were asked for.

Each reason is given once in a process. `logging.getLogger("goloader")` has decisions (INFO) and every warning
(WARNING). GOLOADER_LOG=off, error, warning, info or debug in the environment sets its level; its messages are then
printed on stderr, unless the program has a handler of its own.
"""

from __future__ import annotations

import logging
import os
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

_LEVELS = {"off": logging.CRITICAL + 1, "error": 40, "warning": 30, "info": 20, "debug": 10}


class _Printing(logging.StreamHandler):  # type: ignore[type-arg] # it takes none before Python 3.11
    """Prints what no handler of the program's own has, which may come later than this one."""

    def emit(self, record: logging.LogRecord) -> None:
        own = [each for each in log.handlers if each is not self]
        if not own and not (log.propagate and logging.getLogger().handlers):
            super().emit(record)


def configure(chosen: str) -> None:
    """Sets up the log as GOLOADER_LOG says; "" leaves it to the program."""
    level = _LEVELS.get(chosen.strip().lower())
    if level is not None:
        log.setLevel(level)
        handler = _Printing()
        handler.setFormatter(logging.Formatter("%(levelname)s:%(name)s:%(message)s"))
        log.addHandler(handler)
    elif chosen.strip():
        text = f"GOLOADER_LOG is {chosen!r}, not one of {', '.join(_LEVELS)}: it is ignored"
        warnings.warn(text, GoloaderWarning, stacklevel=2)


configure(os.environ.get("GOLOADER_LOG", ""))

# What loaders do that were not told.
_default: Policy = "python"
_told: set[str] = set()
# Frames of these packages are not the user's.
_INSIDE = ("goloader", "torch")


class strict:  # noqa: N801, users call it as a function
    """Makes iter() raise FallbackError for loaders that run in Python and have no on_fallback of their own.

    strict()           from now on, in this process; strict(False) ends it
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
    warn(f"goloader: {_said(reason)}: from now on this runs in Python, as with torch. {advice}".rstrip())


def warn(text: str) -> None:
    """A GoloaderWarning at the line of the user's that led here, and in the log; once for each text."""
    if text in _told:
        return
    _told.add(text)
    if log.hasHandlers():  # without any, Python would print what the warning prints anyway
        log.warning(text)
    frame = users()
    names = frame.f_globals
    warnings.warn_explicit(
        text,
        GoloaderWarning,
        frame.f_code.co_filename,
        frame.f_lineno,
        names.get("__name__", "<unknown>"),
        names.setdefault("__warningregistry__", {}),
    )


def note(error: BaseException, text: str) -> None:
    """Adds a note to an error that is the user's, if there is text. Before Python 3.11 errors have none: the log does.

    text  its first line begins with "goloader: " in the note; the others are indented
    """
    if not text:
        return
    text = "goloader: " + text.replace("\n", "\n  ")
    if hasattr(error, "add_note"):  # Python 3.11
        error.add_note(text)
    elif log.hasHandlers():
        log.warning("%s: %s", type(error).__name__, text)


def _said(reason: Refusal) -> str:
    return f"{reason} [{reason.code}]"


def users() -> FrameType:
    """The nearest frame outside of goloader and torch; the outermost one if all are inside, as in torch's threads."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _INSIDE:
        frame = frame.f_back
    return frame
