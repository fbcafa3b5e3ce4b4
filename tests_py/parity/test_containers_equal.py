"""Transforms in an order that is drawn, one of several, and one of a list at a place that is drawn: torchvision's
containers of both apis, and code of the user's own, compiled, are torch's to the bit."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from photos import fill, picture, save
from PIL import Image
from torch.utils.data import Dataset
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder
from torchvision.transforms import functional as F
from torchvision.transforms import v2
from twins import Program, check, errors, loader_of

import goloader
from goloader.plan.bytecode.made import Lists

WORKERS = pytest.mark.parametrize("num_workers", [0, 1, 3])
API = pytest.mark.parametrize("api", [v1, v2], ids=["v1", "v2"])


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """13 photos of several sizes."""
    files = {f"{k:02}.jpg": save(picture(40 + 3 * (k % 4), 36 + 5 * (k % 3), k), "JPEG") for k in range(13)}
    return fill(tmp_path_factory.mktemp("containers"), files)


class Own(Dataset[Any]):
    def __init__(self, root: Path, transform: Any = None) -> None:
        self.files = sorted(map(str, root.glob("*/*")))
        self.transform = transform
        self.transforms = [v1.RandomHorizontalFlip(), v1.RandomRotation(20), shrunk, lambda image: image]

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Any:
        return self.transform(Image.open(self.files[index]).convert("RGB")), index


def shrunk(image: Any) -> Any:
    return image.resize((20, 20))


def of(api: Any, chance: random.Random, depth: int = 0) -> Any:
    """One of the transforms that keep an image's size, or some in a container."""
    leaves: list[Callable[[], Any]] = [
        lambda: api.RandomHorizontalFlip(chance.random()),
        lambda: api.ColorJitter(chance.random(), chance.random()),
        lambda: api.RandomRotation(chance.randint(1, 90)),
        lambda: api.RandomAdjustSharpness(2),
        lambda: api.RandomSolarize(chance.randint(0, 255)),
    ]
    if depth == 2 or chance.random() < 0.3 * depth:
        return chance.choice(leaves)()
    inner = [of(api, chance, depth + 1) for _ in range(chance.randint(1, 3))]
    weights = chance.choice([None, [chance.random() for _ in inner], [1, *(0 for _ in inner[1:])]])
    kinds = [api.Compose, api.RandomApply, lambda each: api.RandomChoice(each, weights)]
    # In each place of an order it is taken that the longest of all has its turn.
    return chance.choice([*kinds, api.RandomOrder] if depth else kinds)(inner if depth < 2 else inner[:2])


@WORKERS
@API
def test_any_containers(root: Path, num_workers: int, api: Any) -> None:
    """One in another, in a folder of torchvision's and in a class of the user's."""
    for seed in range(2):
        chance = random.Random(seed)
        first = chance.choice([api.RandomResizedCrop(24), api.Resize((20, 28))])
        transform = v1.Compose([first, api.RandomOrder([of(api, chance), of(api, chance)]), v1.ToTensor()])
        for dataset in (ImageFolder(str(root), transform), Own(root, transform)):
            arguments = loader_of(dataset, batch_size=4, shuffle=True, num_workers=num_workers)
            check(Program(arguments, epochs=2, seed=seed))


@WORKERS
@API
def test_tensors(root: Path, num_workers: int, api: Any) -> None:
    inner = [v2.RandomHorizontalFlip(), v2.RandomVerticalFlip(), v2.RandomCrop(20)]
    steps = [v2.Resize((24, 24)), v2.PILToTensor(), api.RandomOrder(inner), api.RandomChoice(inner), v2.CenterCrop(20)]
    arguments = loader_of(ImageFolder(str(root), v2.Compose(steps)), batch_size=4, num_workers=num_workers)
    check(Program(arguments, seed=1))


class Listed(Own):
    """One of a list, at a place that is drawn in some way."""

    def __init__(self, root: Path, place: Callable[[], Any]) -> None:
        super().__init__(root)
        self.place = place

    def __getitem__(self, index: int) -> Any:
        image = self.transforms[self.place()](Image.open(self.files[index]).convert("RGB"))
        return F.to_tensor(image.resize((24, 24)))


@WORKERS
@pytest.mark.parametrize(
    "place",
    [
        lambda: random.randint(0, 3),
        lambda: int(4 * random.random()),
        lambda: np.random.randint(4),
        lambda: torch.randint(0, 4, (1,)).item(),
        lambda: torch.randint(4, (1,)),
        lambda: random.randrange(4) if random.random() < 0.5 else 1,
        lambda: random.randint(-4, -1),  # counted from behind
        lambda: int(torch.multinomial(torch.tensor([0.1, 0.5, 0, 2]), 1)),
        lambda: torch.randperm(4)[1],
    ],
)
def test_places_that_are_drawn(root: Path, num_workers: int, place: Callable[[], Any]) -> None:
    check(Program(loader_of(Listed(root, place), batch_size=4, num_workers=num_workers), seed=5))


def test_places_outside_of_the_list(root: Path) -> None:
    """The user's own code raises the error."""
    made = check(Program(loader_of(Listed(root, lambda: random.randint(0, 9)), batch_size=1), epochs=1))
    assert errors(made)


def test_places_that_are_no_ints(root: Path) -> None:
    made = check(Program(loader_of(Listed(root, lambda: random.random() * 4)), epochs=1), native=False)
    assert errors(made)


class Shuffled(Own):
    """All of a list, in an order that is drawn."""

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB").resize((20, 22))
        order = [0, 1, 3]
        random.shuffle(order)
        for n in order:
            image = self.transforms[n](image)
        changes = [F.hflip, F.vflip]
        random.shuffle(changes)
        for each in torch.randperm(2):
            if each == 1:
                image = changes[0](image)
        return F.to_tensor(image), order[0]


@WORKERS
def test_orders_of_the_users(root: Path, num_workers: int) -> None:
    check(Program(loader_of(Shuffled(root), batch_size=4, num_workers=num_workers), seed=2))


class InPlace(Own):
    """Puts a list of its own in another order, for all samples to come."""

    def __getitem__(self, index: int) -> Any:
        random.shuffle(self.transforms)
        return F.to_tensor(self.transforms[0](Image.open(self.files[index]).convert("RGB")).resize((20, 20)))


def test_a_list_that_stays(root: Path) -> None:
    check(Program(loader_of(lambda: InPlace(root)), epochs=2), native=False)


@API
def test_what_a_user_changes_is_seen(root: Path, api: Any) -> None:
    """Between epochs: transforms, their number, and weights."""
    solarize, flip = api.RandomSolarize(99), api.RandomVerticalFlip(1.0)
    inner = [api.RandomRotation(20), api.RandomHorizontalFlip(1.0), solarize]
    choice, order = api.RandomChoice(inner[:2], [0.5, 0.5]), api.RandomOrder(inner)
    dataset = ImageFolder(str(root), v1.Compose([v1.Resize((20, 20)), order, choice, v1.ToTensor()]))

    def before(epoch: int, loader: Any) -> None:
        choice.p = [[0.5, 0.5], [0.9, 0.1], [0.9, 0.1], [0.0, 1.0], [-1.0, 1.0]][epoch]
        inner[2] = solarize if epoch < 4 else flip
        order.transforms = inner if epoch == 3 else inner[1:]
        if isinstance(loader, goloader.DataLoader):
            assert loader.explain().native == (epoch < 4)

    made = check(Program(loader_of(dataset, batch_size=5), epochs=5, before=before))
    assert api is v1 or errors(made)


def test_lists_that_ways_have_in_common_are_known_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known of lists would double where two ways of a branch meet, until the memory is full."""
    counts, begin = [], Lists.__init__

    def counted(self: Lists, *lists: Any) -> None:
        begin(self, *lists)
        counts.append(len(self.all))

    monkeypatch.setattr(Lists, "__init__", counted)
    order = v1.RandomOrder([v1.RandomVerticalFlip(0.1 * k) for k in range(5)])
    dataset = ImageFolder(str(root), v1.Compose([v1.Resize((20, 20)), order, v1.ToTensor()]))
    check(Program(loader_of(dataset, batch_size=5), epochs=1))
    assert max(counts) < 100


def stacked(crops: Any) -> torch.Tensor:
    return torch.stack([F.to_tensor(crop) for crop in crops])


def apart(crops: Any) -> list[torch.Tensor]:
    return [v1.Normalize((0.4, 0.5, 0.6), (0.2, 0.3, 0.1))(F.to_tensor(crop)) for crop in crops]


def of_tensors(crops: Any) -> torch.Tensor:
    return torch.stack(crops)


@pytest.mark.slow  # many seconds
@WORKERS
@API
def test_several_crops(root: Path, num_workers: int, api: Any) -> None:
    chance = random.Random(num_workers)
    crops = [api.FiveCrop(24), api.TenCrop((20, 17)), api.TenCrop((30, 31), vertical_flip=True), api.FiveCrop((24, 7))]
    for crop, then in zip(crops, [stacked, apart, v1.Lambda(stacked), of_tensors], strict=True):
        makers = [v1.ToTensor()] if then is of_tensors else []
        transform = v1.Compose([v1.RandomResizedCrop(chance.randint(31, 50)), *makers, crop, then])
        for dataset in (ImageFolder(str(root), transform), Own(root, transform)):
            check(Program(loader_of(dataset, batch_size=4, shuffle=True, num_workers=num_workers)))


@API
def test_crops_of_images_that_are_too_small(root: Path, api: Any) -> None:
    made = check(Program(loader_of(ImageFolder(str(root), v1.Compose([api.FiveCrop(44), stacked])), batch_size=1)))
    assert errors(made)
    assert len([kind for kind, _ in made if kind == "batch"])


class Cropped(Own):
    """Calls torchvision's functions."""

    size = (12, 10)

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB")
        first = F.five_crop(image, (20, 22))
        return stacked(first), torch.stack([F.to_tensor(each) for each in F.ten_crop(image, self.size, True)])


@WORKERS
def test_crops_by_functions(root: Path, num_workers: int) -> None:
    check(Program(loader_of(Cropped(root), batch_size=4, num_workers=num_workers)))


class Views(Own):
    """Of one file several images: they begin alike or not, in colours and in grey."""

    cut = v1.Compose([v1.RandomResizedCrop(20, (0.7, 1.0)), v1.RandomHorizontalFlip()])
    small = v1.RandomCrop(9)
    even = v1.Resize((24, 26))

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB")
        grey = self.even(Image.open(self.files[index]).convert("L"))
        views = [self.cut(image), self.cut(image), grey, self.small(grey), self.small(image)]
        return [F.to_tensor(view) for view in views]


@WORKERS
def test_views_of_one_file(root: Path, num_workers: int) -> None:
    loader = loader_of(Views(root), batch_size=4, shuffle=True, num_workers=num_workers)
    check(Program(loader, epochs=2))


# What people make of a grey image for a network of RGB, and of numbers.
SPREADS: list[Callable[[torch.Tensor], torch.Tensor]] = [
    lambda x: x.repeat(3, 1, 1),
    lambda x: x.expand(3, -1, -1),
    lambda x: x * 2 - 1,
]


@WORKERS
@API
@pytest.mark.parametrize("spread", SPREADS, ids=["repeat", "expand", "numbers"])
def test_functions_of_the_users(root: Path, num_workers: int, api: Any, spread: Callable[[Any], Any]) -> None:
    tail = [v1.ToTensor()] if api is v1 else [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
    for transform in (
        api.Compose([api.Resize((20, 21)), api.Grayscale(), *tail, api.Lambda(spread)]),
        api.Compose([api.RandomCrop(20), api.Grayscale(), *tail, api.Lambda(spread), api.Normalize((0.4,), (0.2,))]),
    ):
        dataset = ImageFolder(str(root), transform)
        assert goloader.DataLoader(dataset, num_workers=1, trace=False).explain().native
        check(Program(loader_of(dataset, batch_size=5, shuffle=True, num_workers=num_workers), epochs=2))


def test_a_lambda_of_v2_whose_types_change(root: Path) -> None:
    each = v2.Lambda(lambda x: x * 2 - 1)
    dataset = ImageFolder(str(root), v2.Compose([v2.Resize((20, 21)), v1.ToTensor(), each]))

    def before(epoch: int, loader: Any) -> None:
        each.types = (object,) if epoch != 1 else (str,)

    check(Program(loader_of(dataset, batch_size=5), epochs=3, before=before), native=None)
