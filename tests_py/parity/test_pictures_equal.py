"""torchvision's datasets of images in memory: pixels go straight into the ops, and what comes out is torch's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms as T
from PIL import Image
from torch.utils.data import ConcatDataset, Dataset, Subset, random_split
from torchvision import datasets
from torchvision.transforms import v2
from twins import Program, check, errors, loader_of

import goloader

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


class Pair(datasets.CIFAR10):
    """As papers on contrastive learning have it."""

    def __getitem__(self, index: int) -> Any:
        image, target = self.data[index], self.targets[index]
        image = Image.fromarray(image)
        if self.transform is not None:
            one, other = self.transform(image), self.transform(image)
        return one, other, target


class TwoCrops:
    def __init__(self, transform: Any, second: Any = None) -> None:
        self.transform, self.second = transform, second or transform

    def __call__(self, image: Any) -> Any:
        return [self.transform(image), self.second(image)]


class Memory(Dataset[Any]):
    """A class of one's own over an array."""

    def __init__(self, data: Any, transform: Any) -> None:
        self.data, self.transform = data, transform
        self.labels = labels(len(data))

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> Any:
        return self.transform(Image.fromarray(self.data[index])), self.labels[index]


class Listed(Memory):
    """Tensors of their own in a list."""

    def __getitem__(self, index: int) -> Any:
        return self.transform(Image.fromarray(self.data[index].numpy())), self.labels[index]


class Converted(Memory):
    def __getitem__(self, index: int) -> Any:
        image = Image.fromarray(self.data[index].astype(np.uint8)).convert("L")
        return {"image": self.transform(image), "label": self.labels[index], "index": index}


class Coloured(Memory):
    def __getitem__(self, index: int) -> Any:
        image = Image.fromarray(self.data[index].numpy(), mode="L").convert("RGB")
        return self.transform(image), torch.tensor(self.labels[index])


class Turned(Memory):
    def __getitem__(self, index: int) -> Any:
        return self.transform(Image.fromarray(np.transpose(self.data[index], (1, 2, 0))))


JITTER = [T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8), T.RandomGrayscale(p=0.2)]
VIEW = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), *JITTER, T.ToTensor()])
CROP = T.Compose([T.RandomCrop(14, padding=1), T.ToTensor()])
WEAK = T.Compose([T.RandomCrop(20, padding=4), T.ToTensor(), T.Normalize((0.5,) * 3, (0.5,) * 3)])


def read() -> dict[str, Callable[[], Any]]:
    """Datasets of images in memory in which something is the user's own."""
    grey = torch.from_numpy(noise(23, 28, 28))
    return {
        "a subclass": lambda: cifar(CROP, kind=Own),
        "a target_transform of rows": lambda: made(
            datasets.QMNIST,
            data=grey,
            targets=torch.arange(23 * 8).view(23, 8),
            compat=True,
            transform=CROP,
            target_transform=str,
            train=True,
        ),
        "a target_transform": lambda: made(
            datasets.CIFAR10, data=noise(23, 32, 32, 3), targets=labels(23), transform=CROP, target_transform=str
        ),
        "labels as floats": lambda: made(
            datasets.CIFAR10, data=noise(23, 32, 32, 3), targets=list(map(float, labels(23))), transform=CROP
        ),
        "labels as an array": lambda: made(
            datasets.CIFAR10, data=noise(23, 32, 32, 3), targets=np.array(labels(23)), transform=CROP
        ),
        "two crops": lambda: cifar(TwoCrops(VIEW)),
        "a weak and a strong one": lambda: cifar(TwoCrops(WEAK, VIEW)),
        "two crops of planes": lambda: made(
            datasets.STL10, data=noise(23, 3, 40, 24), labels=np.array(labels(23)), transform=TwoCrops(VIEW)
        ),
        "two crops of greys": lambda: mnist(datasets.MNIST, TwoCrops(CROP)),
        "a pair": lambda: cifar(VIEW, kind=Pair),
        "an array": lambda: Memory(noise(23, 20, 30, 3), VIEW),
        "an array of greys": lambda: Memory(noise(23, 20, 30), CROP),
        "made grey": lambda: Converted(noise(23, 20, 30, 3), CROP),
        "made coloured": lambda: Coloured(grey, T.Compose([T.RandomCrop(9), *JITTER, T.ToTensor()])),
        "a list": lambda: Listed(list(grey), CROP),
        "turned": lambda: Turned(noise(23, 3, 20, 30), VIEW),
    }


@WORKERS
@pytest.mark.parametrize("name", read())
def test_code_that_takes_images_of_an_array(name: str, num_workers: int) -> None:
    make = read()[name]
    check(Program(lambda: {"dataset": make(), "batch_size": 4, "shuffle": True, "num_workers": num_workers}, draw=True))


@WORKERS
def test_two_views_below_torch_s_containers(num_workers: int) -> None:
    one, two = cifar(TwoCrops(VIEW)), cifar(TwoCrops(VIEW), 7)
    for tree in (Subset(one, [5, 3, 3, -1]), ConcatDataset([one, two, Subset(one, [2])])):
        check(Program(loader_of(tree, batch_size=4, shuffle=True, num_workers=num_workers), draw=True))


@WORKERS
def test_errors_of_the_second_view(num_workers: int) -> None:
    """It is too small for its crop: the first view has drawn by then."""
    dataset = cifar(TwoCrops(VIEW, T.Compose([T.RandomCrop(40), T.ToTensor()])))
    assert errors(check(Program(loader_of(dataset, batch_size=4, shuffle=True, num_workers=num_workers), draw=True)))


def change_array(epoch: int, loader: Any) -> None:
    dataset = loader.dataset
    dataset.data[epoch::2] = epoch
    dataset.labels[3] = 100 + epoch
    if epoch == 2:
        dataset.data = dataset.data[:, :18].copy()
        dataset.transform = CROP


@WORKERS
def test_changes_of_an_array_are_seen(num_workers: int) -> None:
    make = functools.partial(Memory, transform=VIEW)
    arguments = {"batch_size": 4, "num_workers": num_workers}
    check(Program(lambda: {"dataset": make(noise(23, 20, 30, 3)), **arguments}, epochs=4, before=change_array))


class Rows(Memory):
    def __getitem__(self, index: int) -> Any:
        return self.transform(Image.fromarray(self.data[index, :9])), self.labels[index]


class OtherMode(Memory):
    def __getitem__(self, index: int) -> Any:
        return self.transform(Image.fromarray(self.data[index], "YCbCr").convert("RGB")), self.labels[index]


class Mixed(Memory):
    def __getitem__(self, index: int) -> Any:
        return self.transform(Image.fromarray(self.data[index])), Image.open(self.labels[index])


@pytest.mark.parametrize(
    "dataset",
    [
        Rows(noise(23, 20, 30, 3), CROP),
        OtherMode(noise(23, 20, 30, 3), CROP),
        Mixed(noise(23, 20, 30, 3), CROP),
        Memory(noise(23, 20, 30, 4), CROP),
        Memory(noise(23, 20, 30, 3).astype(np.int16), CROP),
        Memory(list(noise(23, 20, 30, 3)), CROP),
        Memory(noise(23, 20, 30, 3).view(np.memmap), CROP),
        cifar(TwoCrops(VIEW, np.asarray)),
    ],
)
def test_what_does_more_is_not_taken_for_images_of_an_array(dataset: Any) -> None:
    assert not goloader.DataLoader(dataset).explain().native


def test_what_stays_with_torch() -> None:
    crop = T.ToTensor()
    others = {
        "no transform": cifar(None),
        "not bytes": cifar(crop),
        "too few labels": cifar(crop),
        "no labels": made(datasets.STL10, data=noise(3, 3, 9, 9), labels=None, transform=crop, split="unlabeled"),
        "faces without labels": made(datasets.FER2013, _samples=[(torch.zeros(9, 9).byte(), None)], transform=crop),
        "faces of two sizes": made(datasets.FER2013, _samples=pairs(2, 9, 9) + pairs(2, 9, 8), transform=crop),
        "faces in floats": made(datasets.FER2013, _samples=[(torch.zeros(9, 9), 1)] * 2, transform=crop),
        "faces turned": made(datasets.FER2013, _samples=[(torch.zeros(9, 8).byte().T, 1)], transform=crop),
        "no faces": made(datasets.FER2013, _samples=[], transform=crop),
        "four channels": made(datasets.CIFAR10, data=noise(3, 9, 9, 4), targets=labels(3), transform=crop, train=True),
    }  # fmt: skip
    others["not bytes"].data = others["not bytes"].data.astype(np.float32)
    others["too few labels"].targets.pop()
    for name, dataset in others.items():
        assert not goloader.DataLoader(dataset).explain().native, name


def test_rows_of_labels() -> None:
    """As QMNIST has them with compat=False."""
    data, targets = torch.tensor(noise(5, 20, 20)), torch.arange(40).view(5, 8)
    dataset = made(datasets.QMNIST, data=data, targets=targets, compat=False, transform=T.ToTensor(), train=True)
    check(Program(loader_of(dataset, batch_size=2, shuffle=True), epochs=2))
