"""Columns that are parts of the same rows, so that a row is read once for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..row_layouts import STACKED, RowLayout
from ..rows import View


@dataclass(frozen=True, eq=False)
class Cut:
    """What a piece of a column (Column.pieces) is made of, its attribute `cut`.

    whole   names the rows: pieces with the same object are of the same rows
    skip    items that are left out in front of them
    drop    and at their end
    layout  how they lie in a batch, if that is not the collate function's matter
    value   which of the layout's values the column is
    """

    whole: Any
    skip: int = 0
    drop: int = 0
    layout: RowLayout = STACKED
    value: int = 0

    def like(self, view: View) -> bool:
        """True if the view is made so."""
        return (self.skip, self.drop, self.layout) == (view.skip, view.drop, view.layout)
