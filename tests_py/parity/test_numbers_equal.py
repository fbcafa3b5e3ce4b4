"""torchvision's transforms of float32 tensors, v1 and v2, drawn and carried out by the core: of files and of images in
memory, called by datasets of torchvision's and by code of the user's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms as T
from hypothesis import given, settings
from hypothesis import strategies as st
from photos import picture, save
from PIL import Image
from torch.utils.data import Dataset
from torchvision import tv_tensors
from torchvision.datasets import CIFAR10, ImageFolder
from torchvision.transforms import v2
from twins import Program, check, loader_of

import goloader
from goloader import selfcheck

APIS = pytest.mark.parametrize("api", [T, v2], ids=["v1", "v2"])
WORKERS = pytest.mark.parametrize("num_workers", [0, 2])
COUNT = 11
MEAN, STD = (0.4, 0.5, 0.6), (0.2, 0.3, 0.1)


class Arrays(CIFAR10):
    """CIFAR10 without its files."""

    def __init__(self, size: tuple[int, int], *transforms: Any) -> None:
        self.data = np.random.default_rng(0).integers(0, 256, (COUNT, *size, 3), dtype=np.uint8)
        self.targets = list(range(COUNT))
        self.transform, self.target_transform, self.transforms = T.Compose(transforms), None, None
        self.train, self.root = True, ""


class Photos(Dataset[Any]):
    """A class of the user's."""

    def __init__(self, root: Path, *transforms: Any) -> None:
        self.files = sorted(str(each) for each in (root / "a").iterdir())
        self.transform = T.Compose(transforms)

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.files[index]).convert("RGB")
        return self.transform(image), index


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("numbers")
    (folder / "a").mkdir()
    for k in range(COUNT):
        (folder / "a" / f"{k}.png").write_bytes(save(picture(40 + 3 * (k % 4), 36 + k, k), "PNG"))
    return folder


def begin(api: Any) -> list[Any]:
    """What makes a float32 tensor of an image."""
    return [T.ToTensor()] if api is T else [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]


def why(dataset: Any) -> str:
    """Why Python has it; nothing where Go has."""
    told = goloader.DataLoader(dataset, trace=False).explain()
    return "" if told.native else str(told)


def datasets(root: Path, size: tuple[int, int], *transforms: Any) -> list[Any]:
    """Images in memory and files, of that size when the transforms get them."""
    resize = T.Resize(size)
    folder = ImageFolder(str(root), T.Compose([resize, *transforms]))
    return [Arrays(size, *transforms), folder, Photos(root, resize, *transforms)]


# What is done to tensors, in pieces that may follow each other.

FILL = st.sampled_from([0, 1, 0.25, -1.5])


@st.composite
def moved(draw: st.DrawFn, api: Any) -> Any:
    """A crop, a border, a flip, or a rectangle."""
    mode = draw(st.sampled_from(["constant", "constant", "edge", "reflect", "symmetric"]))
    fill: Any = draw(FILL)
    if api is v2 and mode == "constant":
        fill = draw(st.sampled_from([fill, None, [fill], [0.5, fill, 2]]))
    border = st.integers(0, 9)
    padding = draw(st.sampled_from([4, (1, 5), tuple(draw(st.tuples(border, border, border, border)))]))
    size = draw(st.sampled_from([12, (17, 13), 16]))
    return draw(
        st.sampled_from(
            [
                api.Pad(padding, fill, mode),
                api.RandomCrop(size, padding, pad_if_needed=mode == "constant", fill=fill, padding_mode=mode),
                api.RandomCrop(size),
                api.CenterCrop(draw(st.sampled_from([12, 14, (40, 11)]))),
                api.RandomHorizontalFlip(),
                api.RandomVerticalFlip(),
                api.RandomErasing(0.8, value=draw(st.sampled_from([0, (1.5, 2, -3)]))),
                api.RandomErasing(0.8, (0.2, 0.4), value="random"),
            ]
        )
    )


@st.composite
def chains(draw: st.DrawFn, pieces: Any) -> list[Any]:
    api = draw(st.sampled_from([T, v2]))
    normal = api.Normalize(MEAN, STD)
    steps = [draw(pieces(api)) for _ in range(draw(st.integers(1, 4)))]
    for _ in range(draw(st.integers(0, 2))):
        steps.insert(draw(st.integers(0, len(steps))), normal)
    return [*begin(api), *steps, api.CenterCrop(12)]


@st.composite
def turned(draw: st.DrawFn, api: Any) -> Any:
    """A rotation or an affine transform, or something else."""
    if draw(st.integers(0, 3)) == 0:
        return draw(moved(api))
    fill = draw(st.sampled_from([0, 1.5, [0.25], (-1, 0.5, 2), *([None] if api is v2 else [])]))
    place = {
        "interpolation": draw(st.sampled_from([T.InterpolationMode.NEAREST, T.InterpolationMode.BILINEAR])),
        "center": draw(st.none() | st.tuples(st.integers(-5, 40), st.floats(-5, 40))),
        "fill": fill,
    }
    angle = draw(st.sampled_from([0, 90, 180, 270]) | st.floats(-400, 400))
    degrees = draw(st.sampled_from([(angle, angle), (angle - 20, angle)]))
    if draw(st.booleans()):
        return api.RandomRotation(degrees, **place)
    share = st.floats(0, 1)
    return api.RandomAffine(
        degrees,
        draw(st.none() | st.tuples(share, share)),
        draw(st.none() | st.tuples(st.floats(0.1, 1), st.floats(1, 3))),
        draw(st.none() | st.floats(0, 60)),
        **place,
    )


SIZE = st.tuples(st.integers(14, 40), st.integers(14, 40))
SEED = st.integers(0, 2**40)


@settings(max_examples=60)
@given(steps=chains(moved), size=SIZE, seed=SEED)
@pytest.mark.slow
def test_borders_crops_and_rectangles(root: Path, steps: list[Any], size: tuple[int, int], seed: int) -> None:
    for dataset in datasets(root, size, *steps):
        check(Program(loader_of(dataset, batch_size=4, shuffle=True), epochs=1, seed=seed), native=None)


needs_grids = pytest.mark.skipif(not selfcheck.holds("torch.grid"), reason="torch samples in another way here")


@settings(max_examples=60)
@given(steps=chains(turned), size=SIZE, square=st.booleans(), seed=SEED)
@pytest.mark.slow
@needs_grids
def test_rotations(root: Path, steps: list[Any], size: tuple[int, int], square: bool, seed: int) -> None:
    for dataset in datasets(root, (size[0], size[0]) if square else size, *steps):
        check(Program(loader_of(dataset, batch_size=4, shuffle=True), epochs=1, seed=seed), native=None)


def named(api: Any) -> dict[str, list[Any]]:
    """As scripts have them."""
    normal, crop, flip = api.Normalize(MEAN, STD), api.RandomCrop(32, padding=4), api.RandomHorizontalFlip()
    start = begin(api)
    return {
        "CIFAR": [*start, crop, flip, normal],
        "CIFAR, normalized first": [*start, normal, crop, flip],
        "CIFAR, cutout": [*start, normal, crop, flip, api.RandomErasing(0.9, value="random")],
        "a mirrored border": [*start, api.Pad(4, padding_mode="reflect"), api.RandomCrop(32), normal, flip],
        "fills of one colour": [*start, normal, api.Pad((1, 2, 3, 4), fill=0.25), api.RandomCrop(34, 2, fill=-1)],
        "normalized twice": [*start, normal, api.Pad(2), flip, api.Normalize((0.1,), (0.3,)), api.CenterCrop(40)],
        "turned": [*start, api.RandomRotation(15), flip, normal],
        "turned, normalized first": [*start, normal, api.RandomAffine(9, (0.1, 0.1), (0.9, 1.1), 5), crop],
        "bilinear": [*start, flip, api.RandomRotation(30, T.InterpolationMode.BILINEAR, fill=(0.1, 0.2, 3)), normal],
        "quarters": [*start, normal, flip, api.RandomRotation((90, 90)), api.RandomCrop(20), flip, crop],
        "as float32 again": [*start, normal, api.Pad(2), api.ConvertImageDtype(torch.float32), crop],
    }


@APIS
@WORKERS
@pytest.mark.parametrize("name", named(T))
def test_each_is_torchvisions(root: Path, api: Any, num_workers: int, name: str) -> None:
    for dataset in datasets(root, (32, 32), *named(api)[name]):
        assert not why(dataset)
        check(Program(loader_of(dataset, batch_size=4, shuffle=True, num_workers=num_workers), epochs=2))


@APIS
def test_grey_tensors(root: Path, api: Any) -> None:
    steps = [*begin(api), T.Normalize((0.1307,), (0.3081,)), api.RandomCrop(28, padding=4), api.RandomErasing()]
    images = ImageFolder(str(root), T.Compose([T.Grayscale(), T.Resize((28, 28)), *steps]))
    assert not why(images)
    check(Program(loader_of(images, batch_size=4), epochs=2))


@WORKERS
def test_samples_by_themselves(root: Path, num_workers: int) -> None:
    """Their type and their strides are as torch has them."""
    for end in ([], [v2.ToPureTensor()]):
        steps = [*begin(v2), v2.Normalize(MEAN, STD), v2.RandomCrop(32, padding=4), *end]
        for dataset in datasets(root, (32, 32), *steps):
            check(Program(loader_of(dataset, batch_size=None, num_workers=num_workers), epochs=1), native=None)


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([T.ToTensor(), T.Pad(2, fill=(0.1, 0.2, 0.3))], "its fill is"),
        ([T.ToTensor(), v2.Pad(2, fill={tv_tensors.Image: 3, "others": 0})], "its fill depends"),
        ([T.ToTensor(), T.Pad(40, padding_mode="reflect")], "not known, or is smaller"),
        ([T.ToTensor(), T.ConvertImageDtype(torch.float64), T.Pad(2, fill=0.3)], "a tensor of float64"),
        ([T.ToTensor(), T.Pad(2, fill=0.3), T.ConvertImageDtype(torch.float16)], "no function of bytes"),
        ([T.ToTensor(), T.Pad(2, fill=0.3), T.Resize(20)], "not uint8"),
        ([T.ToTensor(), T.Resize(20), T.Pad(2, fill=0.3)], "resized tensor"),
        ([T.ToTensor(), T.Resize(20), T.Pad(2)], "resized tensor"),
    ],
)
def test_what_is_not_known_stays_with_torch(root: Path, steps: list[Any], reason: str) -> None:
    images = Arrays((32, 32), *steps)
    assert reason in why(images)
    check(Program(loader_of(images, batch_size=4), epochs=1), native=None)
