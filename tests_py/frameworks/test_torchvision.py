"""The data part of torchvision's reference scripts for classification: presets, samplers, a loader for training, one
for evaluation, mixup in collate_fn, and a training loop that moves on epoch by epoch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torchvision.transforms as v1
import training
from torch import nn
from torch.utils import data
from torch.utils.data.dataloader import default_collate
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def for_training(version: str) -> Any:
    if version == "v1":
        steps = [v1.RandomResizedCrop(training.SIZE), v1.RandomHorizontalFlip(0.5), v1.PILToTensor()]
        return v1.Compose([*steps, v1.ConvertImageDtype(torch.float), v1.Normalize(MEAN, STD)])
    steps = [v2.RandomResizedCrop(training.SIZE, antialias=True), v2.RandomHorizontalFlip(0.5), v2.PILToTensor()]
    return v2.Compose([*steps, v2.ToDtype(torch.float, scale=True), v2.Normalize(MEAN, STD), v2.ToPureTensor()])


def for_evaluation() -> Any:
    steps = [v1.Resize(20, antialias=True), v1.CenterCrop(training.SIZE), v1.PILToTensor()]
    return v1.Compose([*steps, v1.ConvertImageDtype(torch.float), v1.Normalize(MEAN, STD)])


def train(root: Path, *, version: str, distributed: bool, mixup: bool, workers: int) -> training.Seen:
    dataset, test = ImageFolder(str(root), for_training(version)), ImageFolder(str(root), for_evaluation())
    train_sampler: Any
    if distributed:
        train_sampler = data.distributed.DistributedSampler(dataset, num_replicas=2, rank=1)
        test_sampler: Any = data.distributed.DistributedSampler(test, num_replicas=2, rank=1, shuffle=False)
    else:
        train_sampler, test_sampler = data.RandomSampler(dataset), data.SequentialSampler(test)
    mix = v2.MixUp(alpha=0.2, num_classes=training.CLASSES)
    loader = data.DataLoader(
        dataset,
        batch_size=4,
        sampler=train_sampler,
        num_workers=workers,
        collate_fn=(lambda batch: mix(*default_collate(batch))) if mixup else default_collate,
    )
    evaluating = data.DataLoader(test, batch_size=4, sampler=test_sampler, num_workers=workers)
    model = training.network()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    seen = training.Seen(loaders=[loader, evaluating])
    for epoch in range(2):
        if distributed:
            train_sampler.set_epoch(epoch)
        for images, labels in loader:
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen.step((images, labels), loss)
        with torch.inference_mode():
            for images, labels in evaluating:
                seen.step((images, labels), nn.functional.cross_entropy(model(images), labels))
    return seen


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("distributed", [False, True], ids=["alone", "distributed"])
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_the_reference_training_is_native_and_losses_equal(
    root: Path, version: str, distributed: bool, workers: int
) -> None:
    seen = training.same_with_both(
        lambda: train(root, version=version, distributed=distributed, mixup=False, workers=workers)
    )
    for loader in seen.loaders:
        assert loader.explain().native, loader.explain()


def test_mixup_in_collate_fn_mixes_what_go_made(root: Path) -> None:
    seen = training.same_with_both(lambda: train(root, version="v1", distributed=True, mixup=True, workers=1))
    assert [loader.explain().native for loader in seen.loaders] == [True, True]
