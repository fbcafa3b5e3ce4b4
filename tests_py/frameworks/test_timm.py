"""timm: its loaders are torch's class looked up when they are made, or a subclass defined when timm was imported."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import training
from torch import nn

timm = pytest.importorskip("timm.data", reason="timm is not installed")


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


# What Go makes wholly, with timm's own dataset.
TRAIN = {"is_training": True, "interpolation": "random"}
NATIVE: dict[str, dict[str, Any]] = {
    "plain": {**TRAIN, "vflip": 0.3, "color_jitter": (0.1, 0.2, 0.3, 0.1)},
    "rand": {**TRAIN, "auto_augment": "rand-m7-mstd0.5-inc1"},
    "rand uniform": {**TRAIN, "auto_augment": "rand-m6-n3-p0.8-mstd101-inc1", "interpolation": "bilinear"},
    "original": {**TRAIN, "auto_augment": "original"},
    "originalr": {**TRAIN, "auto_augment": "originalr"},
    "v0r": {**TRAIN, "auto_augment": "v0r"},
    "3a": {**TRAIN, "auto_augment": "3a"},
    "not augmented": {"is_training": True, "no_aug": True},
    "evaluation": {"is_training": False, "crop_pct": 0.9, "interpolation": "bicubic"},
    "squashed": {"is_training": False, "crop_mode": "squash"},
}
OTHERS: dict[str, dict[str, Any]] = {
    "weighted": {**TRAIN, "auto_augment": "rand-m5-tweights"},
    "mixed": {**TRAIN, "auto_augment": "augmix-m5-w4-d2"},
    "erased": {**TRAIN, "re_prob": 0.5, "re_mode": "pixel"},
}
WORKERS = pytest.mark.parametrize("num_workers", [0, 1, 3])


def prefetched(options: dict[str, Any]) -> dict[str, Any]:
    return {"name": "", "use_prefetcher": True, "device": torch.device("cpu"), **options}


@WORKERS
@pytest.mark.parametrize("prefetch", [True, False], ids=["prefetched", "plain"])
@pytest.mark.parametrize("name", NATIVE)
def test_timm_s_own_code_runs_in_go(root: Path, name: str, prefetch: bool, num_workers: int) -> None:
    options = {**prefetched(NATIVE[name]), "use_prefetcher": prefetch, "num_workers": num_workers}
    if prefetch and options["is_training"]:
        options |= {"re_prob": 0.4, "re_mode": "pixel"}  # in the process of the loader
    (loader,) = training.same_with_both(lambda: epochs(root, **options)).loaders
    if num_workers:
        assert loader.explain().native, loader.explain()


@pytest.mark.parametrize("name", OTHERS)
def test_what_go_does_not_make_is_the_same(root: Path, name: str) -> None:
    options = {**prefetched(OTHERS[name]), "use_prefetcher": False, "num_workers": 2}
    training.same_with_both(lambda: epochs(root, **options))


def test_a_file_that_cannot_be_read_is_followed_by_the_next(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root, tmp_path / "set")
    broken = sorted((tmp_path / "set").rglob("*.jpg"))[4]
    broken.write_bytes(broken.read_bytes()[:300])
    options = prefetched({**TRAIN, "auto_augment": "rand-m5-mstd0.5", "num_workers": 2})
    (loader,) = training.same_with_both(lambda: epochs(tmp_path / "set", **options)).loaders
    assert loader.explain().native, loader.explain()


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
