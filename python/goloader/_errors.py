"""The exceptions of goloader. Errors of a dataset, Pillow or torch are raised as they are.

RuntimeError                what users of torch's DataLoader already catch
  CoreError                 the core reports an error that has no class of its own
    ForkedError             a loader was used in a child made by fork
    BugError                a panic in the core; please report its text
    UnmadeError             a batch that your own code has to make; never leaves goloader
  LibraryError              the core's library is missing or does not fit
  FallbackError             a loader runs in Python although on_fallback is "error"
  BadSamplesError           more samples are bad than on_error allows
ValueError
  PlanError                 a plan or an argument was refused
  StateError                a state does not fit the loader; also an AssertionError
UserWarning
  GoloaderWarning           Python makes what Go made or could make; or a sample is bad, and on_error is not "raise"
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class CoreError(RuntimeError):
    """The core reports an error."""


class ForkedError(CoreError):
    """A loader was used in a child process made by fork, where Go cannot run."""


class BugError(CoreError):
    """A panic in the core, with its stack."""


class LibraryError(RuntimeError):
    """The core's library cannot be loaded. The text lists the likely causes; `line` has the likeliest in one line."""

    def __init__(self, why: str, causes: Sequence[str] = ()) -> None:
        super().__init__("\n- ".join([f"{why}. Likely causes:", *causes]) if causes else why)
        self.line = "; ".join([why, *causes[:1]])


class FallbackError(RuntimeError):
    """A loader with on_fallback="error" runs in Python. The text has its explain() table, `codes` has the reasons."""

    def __init__(self, text: str, codes: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.codes = tuple(codes)


class BadSamplesError(RuntimeError):
    """More samples are bad than on_error allows, or on_error cannot do its work; lists the first of them."""


class GoloaderWarning(UserWarning):
    """Something stops running in Go, runs in Python (on_fallback="warn"), or is a bad sample (on_error)."""


class StackError(CoreError):
    """Samples of a batch differ in shape, in torch.stack's words; users see it as RuntimeError."""


class UnmadeError(CoreError):
    """For the numbers of this batch your own code must make it, with its warnings and errors."""


class PlanError(ValueError):
    """The core refused a plan or an argument."""


class StateError(ValueError, AssertionError):
    """A state does not fit the loader. torchdata raises AssertionError for that."""


# goloader.h's gl_status -> class; what is not listed is a CoreError.
BY_STATUS: dict[int, type[Exception]] = {
    -3: PlanError, -4: ForkedError, -5: BugError, -6: MemoryError, -7: StackError, -8: IndexError, -9: OSError,
    -10: UnmadeError, -11: FileNotFoundError, -12: PermissionError,
}  # fmt: skip


def check_positive(**values: Any) -> None:
    """Raises ValueError, with torch's text, for an argument that is not an integer of at least 1."""
    for name, value in values.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name} should be a positive integer value, but got {name}={value!r}")
