"""torchvision's datasets of images in memory: pixels go straight into the ops, and what comes out is torch's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms as T
from torch.utils.data import ConcatDataset, Subset, random_split
from torchvision import datasets
from torchvision.transforms import v2
from twins import Program, check, errors, loader_of

import goloader

# A hang is a failure.
pytestmark = pytest.mark.timeout(90)

WORKERS = pytest.mark.parametrize("num_workers", [0, 2])


def noise(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).integers(0, 256, shape, np.uint8)


def made(kind: Any, **attributes: Any) -> Any:
    """A dataset without its files: what its constructor would have read is given."""
    dataset = kind.__new__(kind)
    vars(dataset).update({"root": "nowhere", "transform": None, "target_transform": None, **attributes})
    return dataset


def labels(count: int) -> list[int]:
    return [(7 * k) % 10 for k in range(count)]


def mnist(kind: Any, transform: Any, count: int = 23, size: tuple[int, int] = (28, 28)) -> Any:
    data = torch.from_numpy(noise(count, *size))
    return made(kind, data=data, targets=torch.tensor(labels(count)), transform=transform, train=True)


def cifar(transform: Any, count: int = 23, kind: Any = datasets.CIFAR10) -> Any:
    planar = noise(count, 3, 32, 32).transpose(0, 2, 3, 1)  # as its constructor leaves it
    return made(kind, data=planar, targets=labels(count), transform=transform, train=True)


def pairs(count: int, height: int, width: int) -> list[Any]:
    """As FER2013 keeps its images: tensors of their own."""
    return [
        (torch.tensor(image), label) for image, label in zip(noise(count, height, width), labels(count), strict=True)
    ]


def all_kinds() -> dict[str, Callable[[Any], Any]]:
    targets = np.array(labels(23))
    table = torch.arange(23 * 8).view(23, 8)
    turned = noise(32, 32, 3, 23).transpose(3, 2, 0, 1)  # as SVHN's .mat files have it
    return {
        **{
            kind.__name__: lambda t, kind=kind: mnist(kind, t)
            for kind in (datasets.MNIST, datasets.FashionMNIST, datasets.KMNIST, datasets.EMNIST)
        },
        "QMNIST": lambda t: made(
            datasets.QMNIST,
            data=torch.from_numpy(noise(23, 28, 28)),
            targets=table,
            compat=True,
            transform=t,
            train=True,
        ),
        "SEMEION": lambda t: made(datasets.SEMEION, data=noise(23, 16, 16), labels=targets, transform=t),
        "USPS": lambda t: made(datasets.USPS, data=noise(23, 16, 16), targets=labels(23), transform=t),
        "CIFAR10": lambda t: cifar(t),
        "CIFAR100": lambda t: cifar(t, kind=datasets.CIFAR100),
        "CIFAR10, pixel by pixel": lambda t: made(
            datasets.CIFAR10, data=noise(23, 32, 32, 3), targets=labels(23), transform=t, train=True
        ),
        "SVHN": lambda t: made(datasets.SVHN, data=turned, labels=targets, transform=t, split="train"),
        "STL10": lambda t: made(
            datasets.STL10, data=noise(23, 3, 40, 24), labels=targets.astype(np.uint8), transform=t, split="train"
        ),
        "any strides": lambda t: made(
            datasets.CIFAR10,
            data=noise(46, 34, 68, 6)[::-2, 1:-1, ::2, ::2],
            targets=labels(23),
            transform=t,
            train=True,
        ),
        "FER2013": lambda t: made(datasets.FER2013, _samples=pairs(23, 48, 44), transform=t),
        "turned round": lambda t: mnist(datasets.MNIST, t, size=(20, 30)),
    }


HALF = (0.5, 0.4, 0.3)


def pipelines(channels: int) -> dict[str, Any]:
    normalize = [T.ToTensor(), T.Normalize(HALF[:channels], HALF[:channels])]
    return {
        "to a tensor": T.ToTensor(),
        "cifar": T.Compose([T.RandomCrop(16, padding=4), T.RandomHorizontalFlip(), *normalize]),
        "padding": T.Compose([T.Pad(3, 7), T.RandomCrop(20, padding=(1, 2, 3, 4), padding_mode="reflect"), *normalize]),
        "edges": T.Compose([T.RandomCrop(40, padding=9, pad_if_needed=True, padding_mode="edge"), *normalize]),
        "resized": T.Compose([T.RandomResizedCrop(24), T.RandomVerticalFlip(), *normalize]),
        "enlarged": T.Compose([T.Resize((40, 33), T.InterpolationMode.BICUBIC), *normalize]),
        "nearest": T.Compose([T.Resize(13, T.InterpolationMode.NEAREST), T.CenterCrop(13), T.PILToTensor()]),
        "grey": T.Compose([T.RandomCrop(12), T.Grayscale(), T.ToTensor()]),
        "three greys": T.Compose([T.Grayscale(3), T.RandomResizedCrop(12), T.ToTensor(), T.Normalize(HALF, HALF)]),
        "v2": v2.Compose([v2.RandomCrop(14, padding=2, fill=9), v2.ToImage(), v2.ToDtype(torch.float16, scale=True)]),
        "v2 resized": v2.Compose([v2.RandomResizedCrop((9, 30)), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]),
    }


@pytest.mark.parametrize("name", all_kinds())
def test_every_dataset(name: str) -> None:
    for num_workers, shuffle in (0, False), (2, True):
        dataset = all_kinds()[name](T.Compose([T.RandomCrop(14, padding=1), T.ToTensor()]))
        check(Program(loader_of(dataset, batch_size=4, shuffle=shuffle, num_workers=num_workers), draw=True))


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("name", pipelines(3))
def test_every_transform(name: str, channels: int) -> None:
    transform = pipelines(channels)[name]
    dataset = mnist(datasets.MNIST, transform) if channels == 1 else cifar(transform)
    check(Program(loader_of(dataset, batch_size=5, shuffle=True), draw=True))


def test_a_grey_image_spread_over_three_means() -> None:
    transform = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(HALF, HALF)])
    check(Program(loader_of(mnist(datasets.MNIST, transform), batch_size=5)))


@WORKERS
def test_subsets_and_chains(num_workers: int) -> None:
    crop = T.Compose([T.RandomCrop(14), T.ToTensor()])
    one, two = cifar(crop), cifar(T.Compose([T.RandomResizedCrop(14), T.ToTensor()]), 7)
    svhn = all_kinds()["SVHN"](crop)
    for tree in (
        Subset(one, [5, 3, 3, -1]),
        random_split(one, [0.5, 0.5], torch.Generator().manual_seed(1))[0],
        ConcatDataset([one, svhn, two, Subset(one, [2])]),
        Subset(ConcatDataset([one, two]), range(29, 0, -2)),
    ):
        check(Program(loader_of(tree, batch_size=4, shuffle=True, num_workers=num_workers), draw=True))
    check(Program(loader_of(one, batch_size=None, num_workers=num_workers), draw=True))


@WORKERS
def test_errors(num_workers: int) -> None:
    small = cifar(T.Compose([T.RandomCrop(40), T.ToTensor()]))
    assert errors(check(Program(loader_of(small, batch_size=4, shuffle=True, num_workers=num_workers), draw=True)))
    if num_workers == 0:  # with workers torch may speak of their shared memory instead
        grey = mnist(datasets.MNIST, T.Compose([T.Grayscale(3), T.ToTensor()]), 3)
        assert errors(check(Program(loader_of(ConcatDataset([cifar(T.ToTensor(), 3), grey]), batch_size=4))))
    listed = loader_of(cifar(T.ToTensor()), batch_size=2, sampler=[0, 1, 23, 2, -24, 3], num_workers=num_workers)
    assert errors(check(Program(listed)))


def change(epoch: int, loader: Any) -> None:
    dataset = loader.dataset
    dataset.data[epoch::2] = epoch
    dataset.targets[3] = 100 + epoch
    if epoch == 2:
        dataset.targets = [label + 1 for label in dataset.targets]
        dataset.data = dataset.data[:, :20].copy()
        dataset.transform = T.Compose([T.RandomCrop(8), T.ToTensor()])


@WORKERS
def test_changes_between_epochs_are_seen(num_workers: int) -> None:
    program = Program(lambda: {"dataset": cifar(T.ToTensor()), "batch_size": 4, "num_workers": num_workers}, epochs=4)
    program.before = change
    check(program)


@WORKERS
def test_changes_of_a_list_of_images_are_seen(num_workers: int) -> None:
    def change(epoch: int, loader: Any) -> None:
        samples = loader.dataset._samples
        samples[2] = samples[epoch]
        samples[3] = (samples[3][0], 70 + epoch)
        samples[4][0].zero_()
        samples[5][0].set_(torch.full((20, 30), epoch, dtype=torch.uint8))

    dataset = functools.partial(made, datasets.FER2013, transform=T.Compose([T.RandomCrop(8), T.ToTensor()]))
    program = Program(
        lambda: {"dataset": dataset(_samples=pairs(23, 20, 30)), "batch_size": 4, "num_workers": num_workers}, epochs=3
    )
    program.before = change
    check(program)


def test_changes_between_batches_are_seen_without_workers() -> None:
    def run(kind: Any) -> list[Any]:
        dataset = cifar(T.ToTensor())
        seen = []
        for number, batch in enumerate(kind(dataset, batch_size=4)):
            seen.append([tensor.clone() for tensor in batch])
            dataset.data[:] = number
            dataset.targets[(4 * number + 5) % 23] = 77
        return seen

    for ours, theirs in zip(run(goloader.DataLoader), run(torch.utils.data.DataLoader), strict=True):
        assert all(map(torch.equal, ours, theirs))


class Own(datasets.CIFAR10):
    def __getitem__(self, index: int) -> Any:
        image, label = super().__getitem__(index)
        return image, label, index


def test_what_stays_with_torch() -> None:
    crop = T.ToTensor()
    others = {
        "target_transform": cifar(crop),
        "no transform": cifar(None),
        "a subclass": cifar(crop, kind=Own),
        "labels as floats": cifar(crop),
        "labels as an array": cifar(crop),
        "not bytes": cifar(crop),
        "too few labels": cifar(crop),
        "whole rows": made(datasets.QMNIST, data=torch.zeros(3, 9, 9).byte(), targets=torch.zeros(3, 8), compat=False,
                           transform=crop, train=True),
        "no labels": made(datasets.STL10, data=noise(3, 3, 9, 9), labels=None, transform=crop, split="unlabeled"),
        "faces without labels": made(datasets.FER2013, _samples=[(torch.zeros(9, 9).byte(), None)], transform=crop),
        "faces of two sizes": made(datasets.FER2013, _samples=pairs(2, 9, 9) + pairs(2, 9, 8), transform=crop),
        "faces in floats": made(datasets.FER2013, _samples=[(torch.zeros(9, 9), 1)] * 2, transform=crop),
        "faces turned": made(datasets.FER2013, _samples=[(torch.zeros(9, 8).byte().T, 1)], transform=crop),
        "no faces": made(datasets.FER2013, _samples=[], transform=crop),
        "four channels": made(datasets.CIFAR10, data=noise(3, 9, 9, 4), targets=labels(3), transform=crop, train=True),
    }  # fmt: skip
    others["target_transform"].target_transform = str
    others["labels as floats"].targets = [float(label) for label in labels(23)]
    others["labels as an array"].targets = np.array(labels(23))
    others["not bytes"].data = others["not bytes"].data.astype(np.float32)
    others["too few labels"].targets.pop()
    for name, dataset in others.items():
        assert not goloader.DataLoader(dataset).explain().native, name
