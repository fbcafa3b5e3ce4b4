"""RandomErasing, v1 and v2, drawn and carried out by the core."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms as T
from hypothesis import given, settings
from hypothesis import strategies as st
from torchvision.datasets import CIFAR10, ImageFolder
from torchvision.transforms import v2
from twins import Program, check, loader_of

import goloader

APIS = pytest.mark.parametrize("api", [T, v2], ids=["v1", "v2"])
NORMALIZE = T.Normalize((0.4, 0.5, 0.6), (0.2, 0.3, 0.1))


def folder(root: Path, *transforms: Any, size: tuple[int, int] = (28, 33)) -> ImageFolder:
    return ImageFolder(str(root), T.Compose([T.RandomResizedCrop(size), *transforms]))


def why(dataset: Any) -> str:
    """Why Python has it; nothing where Go has."""
    told = goloader.DataLoader(dataset, trace=False).explain()
    return "" if told.native else str(told)


def pipelines(api: Any) -> dict[str, list[Any]]:
    """What stands before and behind it."""
    tensor, erase = T.ToTensor(), api.RandomErasing
    return {
        "last": [tensor, NORMALIZE, erase(0.7)],
        "before Normalize": [tensor, erase(0.7, value=(0.1, 0.2, 0.9)), NORMALIZE],
        "one value": [tensor, NORMALIZE, erase(1, value=0.25, inplace=True)],
        "twice": [tensor, erase(0.8, value=1), NORMALIZE, erase(0.8, (0.2, 0.9), value=(3, 2, 1))],
        "never fits": [tensor, erase(1, (0.9, 1.0), (30, 40))],
        "of one pixel, or none": [tensor, erase(1, (0.0, 0.003), (0.01, 90.0))],
        "uint8": [T.PILToTensor(), erase(0.7, value=(1, 200, 255))],
        "float64": [T.ToTensor(), T.ConvertImageDtype(torch.float64), erase(0.7, value=0.1)],
        "float16": [T.ToTensor(), T.ConvertImageDtype(torch.float16), erase(0.7, value=0.1)],
        "noise": [tensor, NORMALIZE, erase(0.8, value="random")],
        "noise before Normalize": [tensor, erase(0.8, value="random"), NORMALIZE],
        "noise, and one value": [tensor, erase(0.8, value="random"), NORMALIZE, erase(0.8, value=(3, 2, 1))],
        "noise that is flipped": [tensor, erase(0.8, value="random"), v2.RandomHorizontalFlip(), erase(0.8)],
        "moved": [tensor, erase(0.8, value=2), NORMALIZE, api.RandomCrop(20), erase(0.8), v2.RandomHorizontalFlip()],
        "noise in one of many": [tensor, *[erase(0.5)] * 3, erase(0.5, value="random"), NORMALIZE, *[erase(0.5)] * 6],
    }


@APIS
@pytest.mark.parametrize("name", pipelines(T))
def test_each_is_torchvisions(kinds: Path, api: Any, name: str) -> None:
    dataset = folder(kinds, *pipelines(api)[name])
    assert not why(dataset)
    check(Program(loader_of(dataset, batch_size=7, shuffle=True), epochs=5))
    check(Program(loader_of(dataset, batch_size=7, shuffle=True, num_workers=2), epochs=2))


def test_images_in_memory_of_any_size(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (40, 32, 32, 3), dtype=np.uint8)
    dataset = CIFAR10.__new__(CIFAR10)
    steps = [T.RandomCrop(32, 4), T.RandomHorizontalFlip(), T.ToTensor(), NORMALIZE, T.RandomErasing(0.8)]
    for name, value in {
        "data": pixels,
        "targets": [0] * 40,
        "train": True,
        "root": str(tmp_path),
        "transform": T.Compose(steps),
        "target_transform": None,
        "transforms": None,
    }.items():
        setattr(dataset, name, value)
    assert not why(dataset)
    check(Program(loader_of(dataset, batch_size=8, shuffle=True), epochs=4))


def test_images_of_different_sizes(kinds: Path) -> None:
    dataset = ImageFolder(str(kinds), T.Compose([T.Resize(20), T.ToTensor(), T.RandomErasing(0.9, (0.1, 0.6))]))
    assert not why(dataset)
    check(Program(loader_of(dataset, batch_size=1, shuffle=True), epochs=3))


@pytest.mark.slow
@given(
    api=st.sampled_from([T, v2]),
    size=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    p=st.sampled_from([0.0, 0.1, 0.7, 1.0]),
    scale=st.lists(st.floats(0, 1), min_size=2, max_size=2).map(sorted),
    ratio=st.lists(st.floats(0.01, 100), min_size=2, max_size=2).map(sorted),
    value=st.one_of(st.floats(-3, 3), st.tuples(*[st.floats(-3, 3)] * 3), st.just("random")),
)
@settings(max_examples=40)
def test_any_arguments(
    kinds: Path, api: Any, size: tuple[int, int], p: float, scale: list[float], ratio: list[float], value: Any
) -> None:
    erase = api.RandomErasing(p, scale, ratio, value)
    dataset = folder(kinds, T.ToTensor(), erase, NORMALIZE, size=size)
    reason = why(dataset)
    assert not reason or (value == "random" and "noise for few pixels" in reason)
    check(Program(loader_of(dataset, batch_size=5, shuffle=True), epochs=2), native=not reason)


@APIS
def test_what_is_not_known_is_refused_with_its_reason(kinds: Path, api: Any) -> None:
    for steps, reason in (
        ([T.PILToTensor(), api.RandomErasing(value="random")], "it is applied to a tensor of uint8"),
        ([T.ToTensor(), api.RandomErasing(scale=(0.001, 1), value="random")], "noise for few pixels"),
        ([T.PILToTensor(), api.RandomErasing(value=300)], "uint8 does not hold value="),
        ([T.ToTensor(), api.RandomErasing(value=(1, 2))], "value has 2 numbers for 3 channels"),
        ([T.PILToTensor(), api.RandomErasing(), v2.RandomHorizontalFlip()], "to a tensor of uint8"),
        ([api.RandomErasing(), T.ToTensor()], "RandomErasing is not known"),
        ([T.ToTensor(), api.RandomErasing(scale=(np.float64(0.1), 0.2))], "are not plain"),
    ):
        assert reason in why(folder(kinds, *steps)), reason
