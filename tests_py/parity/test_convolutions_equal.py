"""Blurs of one's own by torch's convolutions, whose weights are drawn for each sample: our batches are torch's."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms as T
from blurs import Blur
from photos import picture, save
from PIL import Image
from torch import nn
from torch.utils.data import Dataset
from twins import Program, check, loader_of

from goloader import selfcheck

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(not selfcheck.holds("torch.convolve.axes"), reason="torch adds in another order here"),
]

COUNT = 7


class Uniform(Blur):
    """Weights that are no Gaussian, each step by step."""

    def weights(self) -> Any:
        a, b = random.random(), random.uniform(0.2, 0.4)
        x = np.square(np.arange(self.k)) * a + 0.5
        x = x - b
        return x / np.sum(x)


class Loose(Blur):
    """Without gradients, the weights one axis after the other, each image by the modules themselves."""

    requires_grad = False

    def set(self, x: Any) -> None:
        weights = torch.from_numpy(x)
        self.down.weight.data.copy_(weights.reshape(1, 1, self.k, 1).expand(3, 1, self.k, 1))
        self.across.weight.data.copy_(weights.view(1, 1, 1, -1))

    def blurred(self, img: Any) -> Any:
        return self.blur(img).squeeze(0)


class Flat(Blur):
    """A tensor of three dimensions, and two images one after the other."""

    def tensor(self, img: Any) -> Any:
        return self.to_tensor(img)

    def blurred(self, img: Any) -> Any:
        with torch.no_grad():
            return self.blur(img)


class Heavy(Blur):
    """Weights of more than 1 together now and then: what a byte is made of then, torch's own cast decides."""

    def weights(self) -> Any:
        x = np.arange(self.k) * random.random() + 1.0
        return x / (self.k * (2 - random.random()))


class AcrossFirst(Blur):
    def convolutions(self) -> list[nn.Module]:
        return [self.across, self.down]


class Doubled(Blur):
    def tensor(self, img: Any) -> Any:
        return (self.to_tensor(img) * 0.5).unsqueeze(0)


class Graded(Blur):
    """It raises where an image is made of a tensor with a gradient."""

    def blurred(self, img: Any) -> Any:
        with torch.no_grad():
            x = 1
        return self.blur(img).squeeze() if x else None


class Sometimes(Blur):
    """Weights that are left as they were for some samples."""

    def __call__(self, img: Any) -> Any:
        img = self.tensor(img)
        if random.random() < 0.5:
            self.set(self.weights())
        return self.to_pil(self.blurred(img))


class Biased(Blur):
    def set(self, x: Any) -> None:
        super().set(x)
        self.down.bias = self.down.bias or nn.Parameter(torch.full((3,), 0.1), requires_grad=False)


class Views(Dataset[Any]):
    def __init__(self, root: Path, blur: Blur, size: int) -> None:
        self.files = sorted(root.iterdir())
        self.transform = T.Compose(
            [
                T.RandomResizedCrop(size),
                T.RandomHorizontalFlip(),
                T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
                blur,
                T.ToTensor(),
            ]
        )

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, i: int) -> Any:
        img = Image.open(self.files[i]).convert("RGB")
        return [self.transform(img) for _ in range(2)], i


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("convolved")
    for k in range(COUNT):
        (folder / f"{k}.png").write_bytes(save(picture(50 + 3 * k, 60 - k, k), "PNG"))
    return folder


def program(root: Path, kind: type[Blur], kernel_size: int, size: int, **options: Any) -> Program:
    def dataset() -> Views:  # a new one for each run: its modules keep their weights
        torch.manual_seed(1)
        return Views(root, kind(kernel_size), size)

    return Program(loader_of(dataset, batch_size=3, shuffle=True, **options), epochs=2)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(("size", "kernel_size"), [(32, 3), (40, 9), (33, 22), (24, 31), (17, 5)])
@pytest.mark.parametrize("kind", [Blur, Uniform, Loose, Flat])
def test_a_blur_as_people_write_it(kind: type[Blur], size: int, kernel_size: int, workers: int, root: Path) -> None:
    check(program(root, kind, kernel_size, size, num_workers=workers))


def test_weights_that_are_too_heavy_are_left_to_the_code(root: Path) -> None:
    check(program(root, Heavy, 5, 20))


@pytest.mark.parametrize("kind", [AcrossFirst, Doubled, Graded, Sometimes, Biased])
def test_other_convolutions_are_pythons(kind: type[Blur], root: Path) -> None:
    check(program(root, kind, 5, 20), native=False)


@pytest.mark.parametrize("kernel_size", [1, 33, 63])
def test_weights_that_the_core_has_not(kernel_size: int, root: Path) -> None:
    check(program(root, Blur, kernel_size, 30), native=False)


def test_what_changes_between_epochs_is_seen(root: Path) -> None:
    """A hook, a border, a module in another's place, and torch without oneDNN."""
    blur = Blur(5)

    def before(epoch: int, loader: Any) -> None:
        torch.backends.mkldnn.enabled = epoch != 1
        blur.blur[0] = nn.ReflectionPad2d(2) if epoch != 2 else nn.ZeroPad2d(2)
        blur.down.stride = (1, 1)
        blur.r = 2
        handle = blur.down.register_forward_hook(lambda module, given, made: made * 0.5) if epoch == 3 else None
        hooks.append(handle)
        if epoch == 4:
            hooks[-2].remove()

    hooks: list[Any] = []
    try:
        check(Program(loader_of(Views(root, blur, 20), batch_size=3), epochs=6, before=before))
    finally:
        torch.backends.mkldnn.enabled = True
