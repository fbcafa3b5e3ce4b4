"""What keeps a loader with torch is found once for a dataset, also where each epoch has a loader of its own."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils.data import IterableDataset

from goloader import DataLoader
from goloader.plan import planner


class Stream(IterableDataset[Any]):
    def __iter__(self) -> Any:
        return iter(torch.arange(8))


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    seen: list[Any] = []
    make = planner.make
    monkeypatch.setattr(planner, "make", lambda loader: seen.append(loader) or make(loader))
    return seen


def test_a_loader_for_each_epoch_is_looked_at_once(looks: list[Any]) -> None:
    dataset = Stream()
    epochs = [torch.cat(list(DataLoader(dataset, batch_size=2))).tolist() for _ in range(3)]
    assert epochs == [list(range(8))] * 3
    assert len(looks) == 1


def test_another_dataset_or_a_changed_one_is_looked_at_again(looks: list[Any]) -> None:
    dataset = Stream()
    for each in (dataset, Stream()):
        list(DataLoader(each, batch_size=2))
    dataset.more = object()  # type: ignore[attr-defined]
    list(DataLoader(dataset, batch_size=2))
    assert len(looks) == 3
