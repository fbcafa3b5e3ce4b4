"""timm: its loaders are torch's class looked up when they are made, or a subclass defined when timm was imported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import training
from torch import nn

timm = pytest.importorskip("timm.data", reason="timm is not installed")

pytestmark = pytest.mark.timeout(120)


def epochs(root: Path, **options: Any) -> training.Seen:
    dataset = timm.create_dataset(options.pop("name", "torch/image_folder"), root=str(root), split="")
    loader = timm.create_loader(
        dataset,
        input_size=(3, training.SIZE, training.SIZE),
        batch_size=5,
        persistent_workers=False,
        **{"use_prefetcher": False, "pin_memory": False} | options,
    )
    model = training.network()
    seen = training.Seen(loaders=[getattr(loader, "loader", loader)])
    for _ in range(2):
        for images, labels in loader:
            seen.step((images, labels), nn.functional.cross_entropy(model(images), labels))
    return seen


OPTIONS: dict[str, dict[str, Any]] = {
    "training": {"is_training": True, "num_workers": 2},
    "training here": {"is_training": True, "num_workers": 0, "hflip": 0.5, "auto_augment": "rand-m9-n1"},
    "a loader for many epochs": {"is_training": True, "num_workers": 2, "use_multi_epochs_loader": True},
    "prefetched": {"is_training": True, "num_workers": 2, "use_prefetcher": True, "device": torch.device("cpu")},
    "its own dataset": {"name": "", "is_training": True, "num_workers": 1},
    "evaluation": {"is_training": False, "num_workers": 2},
    "evaluation here": {"is_training": False, "num_workers": 0},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_batches_and_losses_are_the_same(root: Path, name: str) -> None:
    training.same_with_both(lambda: epochs(root, **OPTIONS[name]))


def test_a_loader_with_torchvision_s_transforms_is_native(root: Path) -> None:
    def run() -> training.Seen:
        dataset = timm.create_dataset("torch/image_folder", root=str(root), split="")
        loader = timm.create_loader(
            dataset,
            input_size=(3, training.SIZE, training.SIZE),
            batch_size=5,
            is_training=True,
            use_prefetcher=False,
            num_workers=0,
            persistent_workers=False,
        )
        dataset.transform = training.images(root).transform
        seen = training.Seen(loaders=[loader])
        for batch in loader:
            seen.step(batch)
        return seen

    (loader,) = training.same_with_both(run).loaders
    assert loader.explain().native, loader.explain()
