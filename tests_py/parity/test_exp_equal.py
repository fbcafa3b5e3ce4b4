"""Crops stay equal over many draws.

torch.exp is not always the nearest float32: where a crop hangs on it, torch is asked.
"""

from __future__ import annotations

from typing import Any

import photos
import pytest
import torchvision.transforms as T
import twins
from photos import Make
from torch.utils.data import DataLoader, RandomSampler
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2
from twins import Program, loader_of

import goloader
from goloader.doors.index import iterators as _iterators


def equal_over(files: ImageFolder, num_workers: int, draws: int) -> None:
    arguments = loader_of(
        files,
        batch_size=500,
        num_workers=num_workers,
        sampler=lambda: RandomSampler(range(len(files)), replacement=True, num_samples=draws),
    )
    program = Program(arguments, epochs=1, draw=True)
    twins.compare(twins.run(goloader.DataLoader, program), twins.run(DataLoader, program))


@pytest.mark.parametrize("api", [T, v2])
@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.slow
def test_crops_of_which_some_hang_on_torch_s_exp(
    make: Make, api: Any, num_workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    answer = _iterators._Helper.exp
    monkeypatch.setattr(_iterators._Helper, "exp", staticmethod(lambda x: asked.append(x) or answer(x)))
    # The wider a crop, the likelier does the last bit of exp move its edge: these are thousands wide.
    wide = photos.save(photos.picture(9000, 8, 1).convert("L"), "JPEG")
    crop = api.RandomResizedCrop(
        (2, 40), scale=(0.05, 1.0), ratio=(300.0, 1500.0), interpolation=T.InterpolationMode.NEAREST
    )
    equal_over(make({"0.jpg": wide}, api.Compose([crop, T.PILToTensor()])), num_workers, 3000)
    assert asked


@pytest.mark.slow
def test_crops_over_many_draws(make: Make) -> None:
    crop = T.RandomResizedCrop(4, interpolation=T.InterpolationMode.NEAREST)
    equal_over(make(photos.plain(8), T.Compose([crop, T.PILToTensor()])), 0, 21_000)
