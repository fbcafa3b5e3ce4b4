"""Fields of samples that are no images, and that torch puts together in Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Beside:
    """What samples have beside image and label: texts, floats and the like, which torch puts together.

    values  of each sample, plain ones
    batch   what torch takes those of a batch from: a list or a tuple, which texts stay in
    make    what the dataset makes of one first; None if it is given as it is
    is_index  they are what the dataset was given for them
    labels  the same as int64, where that is what torch makes of those of a batch
    """

    values: Sequence[Any]
    batch: type = tuple
    make: Callable[[Any], Any] | None = None
    is_index: bool = False
    labels: NDArray[np.int64] | None = None

    @property
    def kind(self) -> Any:
        """What torch goes by where it puts these together, which is the same for all of them."""
        first = None if self.is_index or not len(self.values) else self[0]
        kind = int if type(first) is np.int64 else type(first)
        return self.is_index, kind, getattr(first, "dtype", None) if kind is not int else None

    def __getitem__(self, at: int) -> Any:
        return self.values[at] if self.make is None else self.make(self.values[at])
