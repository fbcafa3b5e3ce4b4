"""Stands in front of torch's fetcher where nothing is known of a dataset so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .record import Record

__all__ = ["First"]


class First:
    """Fetches a dataset's first batch as torch does, for that is nobody's but the user's.

    What records is made with the second one, and what that takes is imported then; at once for a dataset that is known.

    inner   torch's fetcher of a map-style dataset
    record  of the loader
    then    gives what fetches the other batches, in front of `inner`
    """

    def __init__(self, inner: Any, record: Record, then: Callable[[Any], Any]) -> None:
        self._inner, self._record, self._then = inner, record, then
        self._fetcher: Any = then(inner) if record.begun or record.trusted else None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def fetch(self, indices: Any) -> Any:
        """The batch of these indices, as torch's fetcher gives it; raises what that raises."""
        if self._fetcher is None:
            if not self._record.begun:
                self._record.begun += 1
                return self._inner.fetch(indices)
            self._fetcher = self._then(self._inner)
        return self._fetcher.fetch(indices)
