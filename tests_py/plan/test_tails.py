"""Tables of what a tail makes of each byte: tried on all probes once, and again when it makes others."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torchvision.transforms import ToTensor

from goloader.plan.refusal import RefusalError
from goloader.plan.transforms.tables import probes, run_tail


class Scaled:
    """Counts the images that it is given; from `height` rows on it gives twice what it should."""

    def __init__(self, by: float) -> None:
        self.by, self.height, self.given = by, 1000, 0
        self.tail = [ToTensor(), self]

    def __call__(self, image: torch.Tensor) -> torch.Tensor:
        self.given += 1
        return image * self.by * (2 if image.shape[1] >= self.height else 1)

    def runs(self, proved: set[Any] | None) -> int:
        """How many images it is given for its table."""
        before = self.given
        run_tail(self.tail, 3, "scaled", proved=proved)
        return self.given - before


def test_two_probes_are_enough_for_a_table_that_all_have_shown() -> None:
    scaled, proved = Scaled(0.5), set[Any]()
    whole = len(list(probes(3))) + 1  # and one of a single pixel
    assert [scaled.runs(None), scaled.runs(None)] == [whole, whole]
    assert [scaled.runs(proved), scaled.runs(proved)] == [whole, 3]
    scaled.by = 0.25
    assert [scaled.runs(proved), scaled.runs(proved)] == [whole, 3]
    assert Scaled(0.25).runs(proved) == whole  # another function, though its table is the same


def test_a_position_counts_from_then_on() -> None:
    scaled, proved = Scaled(0.5), set[Any]()
    scaled.runs(proved)
    scaled.height = 2
    with pytest.raises(RefusalError, match="position"):
        scaled.runs(proved)
