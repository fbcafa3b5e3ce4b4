"""RandomResizedCrop draws and crops as torchvision's own code does, whatever its arguments and the image's size."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from torch.utils import data
from torchvision.transforms import InterpolationMode, RandomResizedCrop
from torchvision.transforms.functional import pil_to_tensor

import goloader
from goloader.doors.recipe import door, hooks

COUNT = 12


class Crops(data.Dataset[Any]):
    def __init__(self, root: Path, crop: RandomResizedCrop) -> None:
        self.paths, self.crop = sorted(root.iterdir()), crop

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> Any:
        return pil_to_tensor(self.crop(Image.open(self.paths[index]).convert("RGB")))


class Own(RandomResizedCrop):
    """Draws something of its own."""

    @staticmethod
    def get_params(img: Any, scale: Any, ratio: Any) -> Any:
        return 1, 2, 3 + int(torch.randint(4, ())), 5


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("seed", range(6))
def test_crops_are_torchvision_s(tmp_path: Path, seed: int, dtype: torch.dtype) -> None:
    chance = random.Random(seed)
    for i in range(COUNT):
        # Some are so long that ten draws may not fit, and the centre is taken.
        size = chance.choice([(chance.randint(8, 60), chance.randint(8, 60)), (120, 9), (9, 120), (11, 13)])
        Image.effect_noise(size, 80).save(tmp_path / f"{i}.png")
    kind = Own if seed == 5 else RandomResizedCrop
    crop = kind(
        chance.choice([(11, 13), 7, [13, 11]]),  # of some images that is their size
        scale=chance.choice([(0.08, 1.0), [0.5, 1], (0.9, 1.0)]),
        ratio=chance.choice([(3 / 4, 4 / 3), [1, 1], (0.3, 0.5), (2, 3.0)]),
        interpolation=chance.choice([InterpolationMode.BILINEAR, InterpolationMode.BICUBIC, InterpolationMode.NEAREST]),
    )
    dataset = Crops(tmp_path, crop)
    torch.set_default_dtype(dtype)
    try:
        results = []
        loaders = data.DataLoader(dataset, batch_size=4, shuffle=True), goloader.DataLoader(dataset, 4, shuffle=True)
        for loader in loaders:
            torch.manual_seed(seed)
            results.append(torch.cat([batch for _ in range(3) for batch in loader]).tolist() + torch.rand(2).tolist())
    finally:
        torch.set_default_dtype(torch.float32)
    assert results[0] == results[1]
    if hooks.refusal() is None:
        assert door.record(loaders[1]).state == "native"  # type: ignore[arg-type]
