"""The transforms that torchvision's weights bring along."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torchvision.transforms as T
from hypothesis import given, settings
from hypothesis import strategies as st
from torchvision.datasets import ImageFolder
from torchvision.models import get_weight
from torchvision.transforms._presets import ImageClassification
from twins import Program, check, loader_of

import goloader

FILTERS = [T.InterpolationMode(name) for name in ("nearest", "bilinear", "bicubic", "lanczos")]


def in_go(dataset: Any) -> bool:
    """Whether the plan has it, so that no Python runs for a sample."""
    explanation = goloader.DataLoader(dataset, trace=False).explain()
    return explanation.native


@pytest.mark.parametrize("name", ["ResNet50_Weights.IMAGENET1K_V2", "ViT_B_16_Weights.IMAGENET1K_SWAG_E2E_V1"])
def test_those_of_weights(kinds: Path, name: str) -> None:
    images = ImageFolder(str(kinds), get_weight(name).transforms())
    assert in_go(images)
    check(Program(loader_of(images, batch_size=5, shuffle=True, num_workers=2), epochs=1))


@settings(max_examples=15)
@given(
    crop=st.integers(1, 50),
    resize=st.integers(1, 60),
    filter=st.sampled_from(FILTERS),
    first=st.lists(st.just(T.RandomHorizontalFlip()), max_size=1),
    antialias=st.booleans(),
)
def test_any(kinds: Path, crop: int, resize: int, filter: Any, first: list[Any], antialias: bool) -> None:
    preset = ImageClassification(crop_size=crop, resize_size=resize, interpolation=filter, antialias=antialias)
    images = ImageFolder(str(kinds), T.Compose([*first, preset]))
    assert in_go(images)
    check(Program(loader_of(images, batch_size=5), epochs=1))


def test_what_changes_counts(kinds: Path) -> None:
    preset = ImageClassification(crop_size=20, resize_size=30)

    def change(epoch: int, _: Any) -> None:
        preset.crop_size, preset.mean = ([20], [0.5, 0.4, 0.3]) if epoch != 1 else ([13], [0.1, 0.4, 0.3])

    check(Program(loader_of(ImageFolder(str(kinds), preset), batch_size=5), epochs=3, before=change))


def test_others_stay_with_torch(kinds: Path) -> None:
    class Own(ImageClassification):
        def forward(self, img: Any) -> torch.Tensor:
            return super().forward(img) + 1

    hooked = ImageClassification(crop_size=20)
    hooked.register_forward_hook(lambda module, given, made: made + 1)
    odd = ImageClassification(crop_size=20)
    odd.resize_size = [30.5]
    for preset in (Own(crop_size=20), hooked, odd):
        assert not in_go(ImageFolder(str(kinds), preset))
