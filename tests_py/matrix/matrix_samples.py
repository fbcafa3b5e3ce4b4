"""Datasets that each of the three doors serves, in a module of its own: worker processes started afresh import it."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.utils import data
from torchvision import transforms as T
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

SIDE = 96
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def fill(root: Path, count: int = 48) -> Path:
    """A folder of two classes of photographs, JPEG and PNG, no two of a size."""
    rng = np.random.default_rng(5)
    for number in range(count):
        wide, high = 80 + number, 150 - number
        waves = np.sin(np.linspace(0, 9 + number, wide)) * np.cos(np.linspace(0, 7, high))[:, None]
        pixels = np.clip(waves[..., None] * (60, 90, 120) + 128 + rng.normal(0, 9, (high, wide, 3)), 0, 255)
        folder = root / ("cats" if number % 3 else "dogs")
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{number:03}.{'png' if number % 5 == 0 else 'jpg'}")
    return root


def training() -> Any:
    """What everybody trains with."""
    steps = [T.RandomResizedCrop(64), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(MEAN, STD)]
    return T.Compose(steps)


def augmented() -> dict[str, Any]:
    """What others train with: whether Go runs it hangs on how torch computes in floats here."""
    floats = v2.ToDtype(torch.float32, scale=True)
    images = v2.ToImage(), v2.RandomResizedCrop(64)
    blurs = [(api, api.RandomApply([api.GaussianBlur(9)])) for api in (T, v2)]
    return {
        **{f"blur of {api.__name__}": T.Compose([T.RandomResizedCrop(64), blur, T.ToTensor()]) for api, blur in blurs},
        "colours of tensors": v2.Compose(
            [
                *images,
                v2.ColorJitter(0.4, 0.4, 0.4, 0.1),
                v2.RandomGrayscale(0.4),
                v2.RandomEqualize(),
                blurs[1][1],
                floats,
            ]
        ),
        "rotations of tensors": v2.Compose([*images, v2.RandomRotation(20), v2.RandomAffine(9, (0.2, 0.2)), floats]),
        "floats of v1": T.Compose(
            [
                T.RandomResizedCrop(40),
                T.ToTensor(),
                T.Normalize(0.5, 0.2),
                T.RandomCrop(40, padding=4, fill=1),
                T.RandomAffine(9, (0.2, 0.2)),
                T.RandomErasing(value="random"),
            ]
        ),
        "floats of v2": v2.Compose(
            [
                *images,
                floats,
                v2.Normalize([0.5] * 3, [0.2] * 3),
                v2.RandomCrop(64, padding=4, fill=1),
                v2.RandomRotation(20, v2.InterpolationMode.BILINEAR),
                v2.RandomErasing(value="random"),
            ]
        ),
        "policies of tensors": v2.Compose([*images, v2.TrivialAugmentWide(), v2.RandAugment(), floats]),
    }


def folder(root: Path) -> ImageFolder:
    return ImageFolder(str(root), training())


class Pairs(data.Dataset[Any]):
    """A class of one's own, with code that has to be run: it tells files by a loop over their names."""

    def __init__(self, root: Path) -> None:
        self.paths = sorted(map(str, root.glob("*/*")))
        self.transform = training()

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        path = self.paths[index]
        label = 0
        for number, name in enumerate(("cats", "dogs")):
            if name in path:
                label = number
        with Image.open(path) as image:
            return self.transform(image.convert("RGB")), label


class Drawn(Pairs):
    """A class that is compiled, with numbers that hang on the last bit of the C library's sines and logarithms."""

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.paths[index]).convert("RGB")
        numbers = [random.gauss(0, 1), random.gauss(0, 1), math.sin(random.random()), math.exp(random.random())]
        return self.transform(image), numbers


class Captions(Pairs):
    """A compiled class whose texts Python makes numbers of, by loops that are not read through."""

    known = ("cats", "dogs", "png")

    def numbers(self, text: str) -> list[int]:
        found = [1]
        found += [self.known.index(word) for word in text.replace(".", "/").split("/") if word in self.known]
        return found

    def padded(self, text: str) -> torch.Tensor:
        made = torch.zeros(4, dtype=torch.long)
        for n, number in enumerate(self.numbers(text)):
            made[n] = number
        return made

    def __getitem__(self, index: int) -> Any:
        return self.transform(Image.open(self.paths[index]).convert("RGB")), self.padded(self.paths[index])


class Clouds(data.Dataset[Any]):
    """Points that numpy draws, and tensors, by their own means and deviations: sums hang on their order."""

    def __init__(self) -> None:
        rng = np.random.default_rng(3)
        self.points = rng.normal(size=(60, 300, 3)).astype(np.float32)
        self.series = torch.from_numpy(rng.normal(size=(60, 90, 7)).astype(np.float32))
        self.signals = rng.normal(size=(60, 9000))

    def __len__(self) -> int:
        return 60

    def __getitem__(self, index: int) -> Any:
        points = self.points[index][np.random.choice(300, 200, replace=True)] * random.uniform(0.8, 1.2)
        points = points - np.mean(points, axis=0)
        points = points / np.max(np.sqrt(np.sum(points**2, axis=1)))
        series, signal = self.series[index], self.signals[index]
        series = (series - series.mean(0)) / series.std(dim=0, unbiased=False)
        return points, series, series.sum() / series.std(), (signal - signal.mean()) / signal.std()


class Numbers(data.Dataset[Any]):
    """No images: Python makes the samples, with random numbers of each generator's own."""

    def __len__(self) -> int:
        return 41

    def __getitem__(self, index: int) -> Any:
        return {"x": torch.randn(3) + index, "name": str(index), "y": np.random.rand(2)}


class Stream(data.IterableDataset[Any]):
    def __iter__(self) -> Any:
        info = data.get_worker_info()
        first = 0 if info is None else info.id
        return (torch.full((5,), float(n)) for n in range(first, 11 + 3 * first))
