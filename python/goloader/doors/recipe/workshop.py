"""Where recipes are carried out."""

from __future__ import annotations

from ..._core import Core
from ...plan import Refusal, make_recipes
from ...seek_index import SeekIndex

__all__ = ["Workshop"]


class Workshop:
    """The core that carries out one loader's recipes: opened when first needed, kept from epoch to epoch.

    files, seek_index  as make_recipes takes them
    """

    def __init__(self) -> None:
        self.files = 0
        self.seek_index: SeekIndex | None = None
        self._core: Core | None = None

    def core(self) -> Core:
        """The core, opened anew if what it was opened with has changed. Raises RuntimeError where there can be none."""
        plan = make_recipes(self.files, self.seek_index)
        if isinstance(plan, Refusal):
            raise RuntimeError(str(plan))
        if self._core is None or self._core.text != plan.to_json():
            self._core = Core(plan)
        return self._core

    def stats(self) -> dict[str, int]:
        """Counters of the core; none if it was not needed."""
        return {} if self._core is None else self._core.stats()
