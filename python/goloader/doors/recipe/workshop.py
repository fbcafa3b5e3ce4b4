"""Where recipes are carried out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._core import Core
from ...plan import Refusal
from ...plan.neutral import make_recipes
from ...seek_index import SeekIndex


class Workshop:
    """The core that carries out one loader's recipes: opened when first needed, kept from epoch to epoch.

    seek_index  as make_recipes takes it
    """

    def __init__(self, loader: Callable[[], Any] = lambda: None) -> None:
        """`loader`: a weak reference."""
        self._loader = loader
        self.seek_index: SeekIndex | None = None
        self._core: Core | None = None

    def core(self) -> Core:
        """The core, opened anew if what it was opened with has changed. Raises RuntimeError where there can be none."""
        plan = make_recipes(self._files(), self.seek_index)
        if isinstance(plan, Refusal):
            raise RuntimeError(str(plan))
        if self._core is None or self._core.text != plan.to_json():
            self._core = Core(plan)
        return self._core

    def _files(self) -> int:
        """About how many files recipes will name. A dataset is asked only once it is recorded: it runs its own code."""
        try:
            return len(self._loader().dataset)
        except Exception:  # a dataset needs no length; a sampler may know it
            return 0

    @property
    def number(self) -> int | None:
        """The core's."""
        return None if self._core is None else self._core.number

    def stats(self) -> dict[str, int]:
        """Counters of the core; none if it was not needed."""
        return {} if self._core is None else self._core.stats()
