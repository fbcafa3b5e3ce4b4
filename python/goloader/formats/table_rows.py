"""Tables whose samples go through a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..arrays import ArrayDataset


class TransformedRows(ArrayDataset):
    """transform(sample) of each sample of an ArrayDataset."""

    def __init__(self, columns: Mapping[str, Any], transform: Callable[[Any], Any]) -> None:
        super().__init__(**columns)
        self.transform = transform

    def __getitem__(self, index: int) -> Any:
        return self.transform(super().__getitem__(index))
