"""What every report is made of: the numbers of a loader since the last one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ..stats import Stats


class Measured(Protocol):
    """A loader of ours."""

    def stats(self) -> Stats: ...


class Report:
    """Called with the number of a step, reports what a loader did since the last call.

    loader  the first report covers everything since it was made
    write   called with (numbers by name, as Stats.scalars() gives them; step)
    """

    def __init__(
        self, loader: Measured, write: Callable[[dict[str, float], int | None], object], prefix: str = "loader/"
    ) -> None:
        self.loader = loader
        self._write, self._prefix, self._before = write, prefix, Stats()

    def __call__(self, step: int | None = None) -> None:
        now = self.loader.stats()
        self._write(now.since(self._before).scalars(self._prefix), step)
        self._before = now


def ours(*loaders: Any) -> list[Any]:
    """Those of the loaders that have stats(). Raises TypeError if none has."""
    found = [loader for loader in loaders if hasattr(loader, "stats")]
    if not found:
        kinds = ", ".join(type(loader).__qualname__ for loader in loaders)
        raise TypeError(
            f"training uses {kinds}, not goloader's DataLoader: call goloader.install() before they are made"
        )
    return found
