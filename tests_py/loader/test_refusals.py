"""A loader that stays with torch is not looked at again in each epoch, but when something of it is another object."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from goloader import DataLoader
from goloader.plan import planner


class Rows(torch.utils.data.Dataset[Any]):
    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Any:
        return self.rows[index]


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The ids of loaders, each as often as it was looked at."""
    seen: list[int] = []
    make = planner.make

    def looking(loader: Any) -> Any:
        seen.append(id(loader))
        return make(loader)

    monkeypatch.setattr(planner, "make", looking)
    return seen


def codes(loader: Any) -> list[str]:
    return list(loader.explain().codes)


def test_a_refused_loader_is_looked_at_once(looks: list[int]) -> None:
    loader = DataLoader(Rows([torch.ones(3)] * 6), batch_size=2)
    for _ in range(3):
        assert torch.equal(torch.stack(list(loader)), torch.ones(3, 2, 3))
    assert len(looks) == 1
    assert "IN_LISTS" in codes(loader)
    assert len(looks) == 2


@pytest.mark.parametrize("of", ["dataset", "loader"])
def test_a_new_attribute_is_looked_at(of: str, looks: list[int]) -> None:
    dataset = Rows([torch.zeros(3)] * 6 if of == "dataset" else np.zeros((6, 3), np.float32))
    loader = DataLoader(dataset, batch_size=2, collate_fn=None if of == "dataset" else list)
    list(loader)
    if of == "dataset":
        dataset.rows = np.zeros((6, 3), np.float32)
    else:
        loader.collate_fn = torch.utils.data.default_collate
    assert torch.equal(torch.stack(list(loader)), torch.zeros(3, 2, 3))
    assert len(looks) == 2
    assert not codes(loader)


def test_rows_changed_in_their_list_are_in_the_next_batches() -> None:
    rows = [torch.ones(3) for _ in range(6)]
    loader = DataLoader(Rows(rows), batch_size=2)
    list(loader)
    rows[1] = torch.zeros(3)
    rows[5].mul_(5)
    assert torch.equal(torch.cat(list(loader)), torch.stack(rows))
    rows.append(torch.zeros(3))
    assert len(list(loader)) == 4
