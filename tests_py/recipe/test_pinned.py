"""Recorded batches with pin_memory=True: the core makes them in page-locked memory, and nothing copies them again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import classes
import pytest
import torch
import torchvision.transforms as T
from accelerator import Lent
from torch.utils import data

import goloader
from goloader.doors.recipe import door
from goloader.doors.same import difference

# The core copies fields of at most 64 KiB, so that keeping labels does not keep images.
LARGE = T.Compose([T.Resize((96, 96)), T.ToTensor()])


class Both(classes.Files):
    """An image of float32, one of bytes and a label."""

    def __getitem__(self, index: int) -> Any:
        image, label = super().__getitem__(index)
        return image, (image * 255).to(torch.uint8), label


@pytest.mark.parametrize("workers", [0, 2])
def test_recorded_batches_are_made_in_page_locked_memory(
    tmp_path: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lent, root = Lent(monkeypatch), classes.fill(tmp_path)
    options: dict[str, Any] = {"batch_size": 7, "num_workers": workers, "pin_memory": True}
    for kind in classes.Files, Both:
        dataset = kind(root, LARGE)
        torch.manual_seed(1)
        want = list(data.DataLoader(dataset, **options))
        torch.manual_seed(1)
        loader = goloader.DataLoader(dataset, **options)
        assert difference(want, list(loader)) is None
        assert door.record(loader).state == "native" and lent.blocks
        lent.blocks.clear()
        lent.copied.clear()
        batches = list(loader)
        assert difference(want, batches) is None
        assert all(lent.has(images) and not lent.has(labels) for images, *_, labels in batches)
        assert max(lent.copied) == batches[0][-1].nbytes, "labels, which Python makes"
