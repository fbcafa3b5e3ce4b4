"""Colour, blur, RandomApply and the policies, v1 and v2, drawn and carried out by the core, without stand-ins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms as T
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from torch import nn
from torch.utils.data import Dataset
from torchvision.datasets import MNIST, ImageFolder
from torchvision.transforms import v2
from twins import Program, check, loader_of

import goloader
from goloader.adapters.torch import convolves_plainly

APIS = pytest.mark.parametrize("api", [T, v2], ids=["v1", "v2"])
FILTERS = [T.InterpolationMode(name) for name in ("nearest", "bilinear", "bicubic")]
PROBABILITY = st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.7, 1.0])
FILL = st.one_of(st.none(), st.integers(0, 255), st.tuples(*[st.integers(0, 255)] * 3).map(list))


def folder(root: Path, api: Any, *transforms: Any) -> ImageFolder:
    tail = [T.ToTensor(), T.Normalize((0.4, 0.5, 0.6), (0.2, 0.3, 0.1))]
    return ImageFolder(str(root), api.Compose([api.RandomResizedCrop((28, 33)), *transforms, *tail]))


def in_go(dataset: Any) -> bool:
    """Whether the plan has it, so that no Python runs for a sample."""
    told = str(goloader.DataLoader(dataset).explain())
    return goloader.DataLoader(dataset).explain().native and "trace" not in told


def every_time(api: Any) -> dict[str, Any]:
    """One of each class, with arguments that matter."""
    return {
        "jitter": api.ColorJitter(0.4, 0.4, 0.4, 0.1),
        "hue alone": api.ColorJitter(hue=0.5),
        "ranges": api.ColorJitter((0.2, 3.0), (1.5, 1.5), 0, (-0.3, -0.1)),
        "grey": api.RandomGrayscale(0.4),
        "invert": api.RandomInvert(0.3),
        "posterize": api.RandomPosterize(3, 0.7),
        "solarize": api.RandomSolarize(101.5, 0.7),
        "autocontrast": api.RandomAutocontrast(0.7),
        "equalize": api.RandomEqualize(0.7),
        "sharpness": api.RandomAdjustSharpness(1.7, 0.7),
        "blur": api.GaussianBlur(9),
        "blur, wide": api.GaussianBlur((23, 5), (0.1, 7.5)),
        "blur, one sigma": api.GaussianBlur(3, 0.8),
        "blur, applied": api.RandomApply([api.GaussianBlur((1, 31), (0.001, 40.0))], 0.6),
        "apply": api.RandomApply([api.ColorJitter(0.8, 0.8, 0.8, 0.2), api.RandomHorizontalFlip()], 0.8),
        "apply within apply": api.RandomApply([api.RandomApply([api.RandomInvert()], 0.6), nn.Identity()], 0.4),
        "apply modules": api.RandomApply(nn.ModuleList([api.RandomCrop((28, 33), 4)]), 0.5),
        "RandAugment": api.RandAugment(),
        "RandAugment, thrice": api.RandAugment(3, 5, 10, FILTERS[1], [1, 2, 3]),
        "TrivialAugment": api.TrivialAugmentWide(),
        "TrivialAugment, bicubic": api.TrivialAugmentWide(5, FILTERS[2], 9),
        "AutoAugment": api.AutoAugment(),
        "AutoAugment, CIFAR": api.AutoAugment(T.AutoAugmentPolicy.CIFAR10, FILTERS[1]),
        "AutoAugment, SVHN": api.AutoAugment(T.AutoAugmentPolicy.SVHN, fill=77),
    }


@pytest.mark.parametrize("tensor", [False, True])
@pytest.mark.parametrize("each", [v2.RandomPhotometricDistort(), v2.RandomChannelPermutation()])
def test_colours_of_v2_alone(kinds: Path, each: Any, tensor: bool) -> None:
    steps = [v2.ToImage(), each] if tensor else [each, T.ToTensor()]
    dataset = ImageFolder(str(kinds), v2.Compose([v2.Resize((20, 21)), *steps]))
    assert in_go(dataset)
    for num_workers in (0, 1, 3):
        check(Program(loader_of(dataset, batch_size=7, shuffle=True, num_workers=num_workers), epochs=3))


def of_tensors() -> dict[str, Any]:
    """Those of v2 that are known of uint8 tensors of one channel, too."""
    known = every_time(v2)
    left = ("jitter", "hue alone", "ranges", "RandAugment", "TrivialAugment, ", "apply")
    bilinear, nearest = FILTERS[1::-1]
    return {
        **{name: each for name, each in known.items() if not name.startswith(left)},
        "apply": v2.RandomApply([v2.RandomSolarize(99), v2.RandomHorizontalFlip(), v2.RandomCrop((28, 33), 4)], 0.8),
        "grey again": v2.Grayscale(1),
        "RandAugment": v2.RandAugment(),
        "RandAugment, thrice": v2.RandAugment(3, 5, 10, bilinear, [7]),
        "TrivialAugment, bilinear": v2.TrivialAugmentWide(5, bilinear, 9),
        "TrivialAugment, 61": v2.TrivialAugmentWide(61, nearest),
    }


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("name", of_tensors())
def test_each_of_tensors_is_torchvisions(kinds: Path, name: str, channels: int) -> None:
    each = of_tensors()[name]
    first = [v2.RandomResizedCrop((28, 33)), v2.ToImage(), v2.Grayscale(channels)]
    dataset = ImageFolder(str(kinds), v2.Compose([*first, each, v2.ToDtype(torch.float32, scale=True)]))
    assert in_go(dataset) != (channels == 1 and name in ("blur, one sigma", "blur, applied"))
    check(Program(loader_of(dataset, batch_size=7, shuffle=True), epochs=2), native=in_go(dataset))
    check(Program(loader_of(dataset, batch_size=7, shuffle=True, num_workers=1), epochs=1), native=in_go(dataset))


def test_a_blur_of_v1_of_tensors(kinds: Path) -> None:
    steps = [T.RandomResizedCrop((28, 33)), T.PILToTensor(), T.GaussianBlur(5), T.ConvertImageDtype(torch.float32)]
    dataset = ImageFolder(str(kinds), T.Compose(steps))
    assert in_go(dataset)
    check(Program(loader_of(dataset, batch_size=7, shuffle=True), epochs=3))


@APIS
@pytest.mark.parametrize("name", every_time(T))
def test_each_is_torchvisions(kinds: Path, api: Any, name: str) -> None:
    if api is v2 and name.startswith("AutoAugment"):
        policy = v2.AutoAugmentPolicy[{"CIFAR": "CIFAR10", "SVHN": "SVHN"}.get(name.rpartition(" ")[2], "IMAGENET")]
        dataset = folder(kinds, api, v2.AutoAugment(policy, FILTERS[1]))
    else:
        dataset = folder(kinds, api, every_time(api)[name])
    assert in_go(dataset)
    check(Program(loader_of(dataset, batch_size=7, shuffle=True), epochs=5))
    check(Program(loader_of(dataset, batch_size=7, shuffle=True, num_workers=2), epochs=2))


RANGE = st.sampled_from([(0.5, 0.9), (0, 3.0), (1.5, 1.5)])
HUES = st.sampled_from([(-0.5, 0.5), (0.1, 0.2), (-0.05, 0)])
DISTORTION = st.builds(v2.RandomPhotometricDistort, RANGE, RANGE, RANGE, HUES, PROBABILITY)


def blurs(api: Any) -> st.SearchStrategy[Any]:
    counts = st.integers(0, 7).map(lambda n: 2 * n + 1)
    sigma = st.floats(0.001, 9)
    return st.builds(api.GaussianBlur, st.tuples(counts, counts), st.tuples(sigma, sigma).map(sorted))


@st.composite
def augmented(draw: st.DrawFn) -> tuple[Any, list[Any]]:
    api = draw(st.sampled_from([T, v2]))
    factor = st.sampled_from([0, 0.2, 0.8, (0.5, 0.9)])
    each = st.one_of(
        st.builds(api.ColorJitter, factor, factor, factor, st.sampled_from([0, 0.1, 0.5])),
        st.builds(api.RandomGrayscale, PROBABILITY),
        st.builds(api.RandomHorizontalFlip, PROBABILITY),
        st.builds(api.RandomPosterize, st.integers(1, 8), PROBABILITY),
        st.builds(api.RandomSolarize, st.integers(0, 256), PROBABILITY),
        st.builds(api.RandomAdjustSharpness, st.sampled_from([0, 0.5, 2]), PROBABILITY),
        st.builds(api.RandomEqualize, PROBABILITY),
        blurs(api),
        st.builds(api.RandAugment, st.integers(0, 3), st.integers(0, 8), st.just(9), st.sampled_from(FILTERS), FILL),
        st.builds(api.TrivialAugmentWide, st.integers(3, 40), st.sampled_from(FILTERS), FILL),
        st.builds(api.RandomResizedCrop, st.tuples(st.integers(8, 40), st.integers(8, 40))),
    )
    maybe = st.builds(api.RandomApply, st.lists(each, min_size=1, max_size=1), PROBABILITY)
    more = [DISTORTION, st.just(v2.RandomChannelPermutation())] if api is v2 else []
    return api, [*draw(st.lists(st.one_of(each, maybe, *more), max_size=2)), api.CenterCrop((20, 21))]


@settings(max_examples=25)
@given(drawn=augmented(), seed=st.integers(0, 2**40))
@pytest.mark.slow
def test_random_chains_are_torchs(kinds: Path, drawn: tuple[Any, list[Any]], seed: int) -> None:
    api, transforms = drawn
    dataset = folder(kinds, api, *transforms)
    check(Program(loader_of(dataset, batch_size=5), epochs=1, seed=seed))


FACTOR = st.sampled_from([0, 0.4, (0.5, 0.9), (1.5, 3.0)])
JITTER = st.builds(v2.ColorJitter, FACTOR, FACTOR, FACTOR, st.sampled_from([0, 0.1, 0.5, (-0.2, 0.1)]))


@settings(max_examples=25)
@given(
    jitters=st.lists(
        st.one_of(
            JITTER,
            DISTORTION,
            st.just(v2.RandomChannelPermutation()),
            st.builds(v2.RandomGrayscale, PROBABILITY),
            st.builds(v2.RandomInvert, PROBABILITY),
            st.builds(v2.RandomPosterize, st.integers(0, 8), PROBABILITY),
            st.builds(v2.RandomSolarize, st.floats(0, 256), PROBABILITY),
            st.builds(v2.RandomAutocontrast, PROBABILITY),
            st.builds(v2.RandomEqualize, PROBABILITY),
            st.builds(v2.RandomAdjustSharpness, st.floats(0, 3), PROBABILITY),
            st.builds(lambda each, p: v2.RandomApply([each, v2.RandomHorizontalFlip()], p), JITTER, PROBABILITY),
        ),
        min_size=1,
        max_size=2,
    ),
    size=st.tuples(st.integers(2, 60), st.integers(2, 60)),
    maker=st.sampled_from([v2.ToImage(), v2.PILToTensor()]),
    late=st.booleans(),
    seed=st.integers(0, 2**40),
)
@pytest.mark.slow
def test_colours_of_tensors(kinds: Path, jitters: list[Any], size: Any, maker: Any, late: bool, seed: int) -> None:
    crop = v2.RandomResizedCrop(size)
    first = [crop, maker] if late else [maker, crop]
    tail = [v2.RandomVerticalFlip(), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.4] * 3, [0.2] * 3)]
    dataset = ImageFolder(str(kinds), v2.Compose([*first, *jitters, *tail]))
    assert in_go(dataset)
    check(Program(loader_of(dataset, batch_size=7, shuffle=True), epochs=1, seed=seed))


def test_grey_images_in_memory(tmp_path: Path) -> None:
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for part, count in (("train", 40), ("t10k", 9)):
        for kind, shape, magic in (("images-idx3", (count, 28, 28), 3), ("labels-idx1", (count,), 1)):
            values = rng.integers(0, 10 if magic == 1 else 256, shape, dtype=np.uint8)
            head = b"".join(int(number).to_bytes(4, "big") for number in (2048 + magic, *shape))
            (raw / f"{part}-{kind}-ubyte").write_bytes(head + values.tobytes())
    transform = T.Compose(
        [
            T.RandomCrop(28, 2),
            T.ColorJitter(0.5, 0.5, 0.5, 0.2),
            T.RandomGrayscale(0.5),
            T.TrivialAugmentWide(),
            T.ToTensor(),
        ]
    )
    dataset = MNIST(str(tmp_path), transform=transform)
    assert in_go(dataset)
    check(Program(loader_of(dataset, batch_size=8, shuffle=True), epochs=4))


def test_what_is_not_known_is_refused_with_its_reason(kinds: Path) -> None:
    class Own(T.ColorJitter):
        def forward(self, img: Any) -> Any:
            print(end="")
            return super().forward(img)

    for transform, why in (
        (Own(0.1), "Own is not known"),
        (T.RandomApply([T.RandomErasing()]), "RandomErasing is not known"),
        (T.RandomApply([T.Grayscale()]), "number of channels"),
        (v2.RandAugment(fill={Image.Image: 3, "others": 0}), "fill is"),
    ):
        explanation = goloader.DataLoader(folder(kinds, T, transform), trace=False).explain()
        assert not explanation.native and why in str(explanation), why
    byte, jitter = v2.ToImage(), v2.ColorJitter(0.1, 0.1)
    for steps, why in (
        ([byte, jitter], "size is not known before"),
        ([v2.Resize((300, 300)), byte, jitter], "size is not known before, or has an edge of 1 or more than"),
        ([v2.Resize((30, 1)), byte, jitter], "has an edge of 1"),
        ([v2.Resize((30, 30)), byte, v2.RandAugment(interpolation=FILTERS[2])], "unsupported with Tensor input"),
        ([byte, v2.RandAugment()], "size of its images is not known"),
        ([byte, v2.GaussianBlur(3)], "size of its images is not known"),
        ([v2.Resize((30, 10)), byte, v2.GaussianBlur((23, 3))], "smaller than its kernel"),
        ([v2.Resize((99, 99)), byte, v2.GaussianBlur(33)], "up to 31 is known"),
        ([v2.Resize((30, 30)), byte, v2.ToDtype(torch.float32, scale=True), jitter], "a tensor that is not uint8"),
        ([v2.Grayscale(), v2.Resize((30, 30)), byte, jitter], "arithmetic on tensors"),
        ([v2.Resize((30, 30)), T.PILToTensor(), T.ColorJitter(0.1)], "arithmetic on tensors"),
        ([v2.Resize((30, 30)), T.PILToTensor(), T.RandomInvert()], "arithmetic on tensors"),
    ):
        explanation = goloader.DataLoader(ImageFolder(str(kinds), v2.Compose(steps)), trace=False).explain()
        assert not explanation.native and why in str(explanation), why
    images = folder(kinds, T, T.RandomApply([T.RandomErasing()]))  # which torchvision refuses where it is applied
    check(Program(loader_of(images, batch_size=1), epochs=2), native=False)
    early = ImageFolder(str(kinds), T.Compose([T.RandAugment(), T.Resize((9, 9)), T.ToTensor()]))
    assert "size of its images is not known" in str(goloader.DataLoader(early, trace=False).explain())


class Blurred(Dataset[Any]):
    """A class of the user's own that blurs."""

    def __init__(self, root: Path, transform: Any) -> None:
        self.files = sorted(map(str, root.glob("*/*.jpg")))
        self.transform = transform

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Any:
        return self.transform(Image.open(self.files[index]).convert("RGB")), index


@pytest.mark.parametrize("own", [False, True])
def test_without_onednn_a_blur_is_torchs(kinds: Path, own: bool) -> None:
    """torch then adds in another order, and is asked."""
    transform = T.Compose([T.Resize((20, 21)), T.RandomApply([T.GaussianBlur(5)]), T.ToTensor()])
    dataset: Any = Blurred(kinds, transform) if own else ImageFolder(str(kinds), transform)

    def before(epoch: int, loader: Any) -> None:
        torch.backends.mkldnn.enabled = epoch != 1
        if isinstance(loader, goloader.DataLoader):
            assert loader.explain().native == (epoch != 1)

    try:
        check(Program(loader_of(dataset, batch_size=5), epochs=3, before=before), native=None)
    finally:
        torch.backends.mkldnn.enabled = True


@pytest.mark.parametrize("precision", ["high", "medium"])
def test_where_fewer_bits_would_do_a_blur_is_torchs(kinds: Path, precision: str) -> None:
    """Most processors have all bits all the same."""
    dataset = ImageFolder(str(kinds), T.Compose([T.Resize((20, 21)), T.GaussianBlur(5), T.ToTensor()]))
    torch.set_float32_matmul_precision(precision)
    try:
        assert goloader.DataLoader(dataset, num_workers=1).explain().native == convolves_plainly()
        check(Program(loader_of(dataset, batch_size=5), epochs=2), native=convolves_plainly())
    finally:
        torch.set_float32_matmul_precision("highest")
