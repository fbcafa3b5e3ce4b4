"""Epochs in which some batches fail."""

from __future__ import annotations

from typing import Any


def batches(loader: Any, *errors: type[Exception]) -> list[Any]:
    """An epoch; in the place of a batch that failed with one of these, that error's class and last line."""
    iterator, seen = iter(loader), []
    while True:
        try:
            seen.append(next(iterator))
        except StopIteration:
            return seen
        except errors as error:
            seen.append((type(error).__name__, str(error).splitlines()[-1]))
