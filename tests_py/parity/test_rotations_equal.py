"""RandomRotation and RandomAffine, v1 and v2, drawn and carried out by the core: of files and of images in memory."""

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
from torchvision import tv_tensors
from torchvision.datasets import CIFAR10, ImageFolder
from torchvision.transforms import v2
from twins import Program, check, loader_of

import goloader
from goloader import selfcheck

APIS = st.sampled_from([T, v2])
TAIL = [T.ToTensor(), T.Normalize((0.4, 0.5, 0.6), (0.2, 0.3, 0.1))]
FILTER = st.sampled_from([T.InterpolationMode(name) for name in ("nearest", "bilinear", "bicubic", "nearest-exact")])
FILL = st.one_of(st.integers(-3, 300), st.floats(0, 255), st.lists(st.integers(0, 255), min_size=3, max_size=3))
CENTER = st.one_of(st.none(), st.tuples(st.integers(-5, 40), st.floats(-5, 40)))
ANGLE = st.one_of(st.sampled_from([-450, -90, 0, 45, 90, 180, 270, 360]), st.floats(-400, 400))


def between(ends: st.SearchStrategy[float]) -> st.SearchStrategy[list[float]]:
    """Two numbers, often one and the same."""
    return st.one_of(ends.map(lambda end: [end, end]), st.lists(ends, min_size=2, max_size=2).map(sorted))


@st.composite
def turned(draw: st.DrawFn) -> Any:
    api = draw(APIS)
    place = {"interpolation": draw(FILTER), "center": draw(CENTER), "fill": draw(FILL)}
    if draw(st.booleans()):
        return api.RandomRotation(draw(between(ANGLE)), expand=draw(st.booleans()), **place)
    share = st.floats(0, 1)
    shears = between(st.floats(-80, 80))
    return api.RandomAffine(
        draw(between(ANGLE)),
        draw(st.none() | st.tuples(share, share)),
        draw(st.none() | between(st.floats(0.05, 3))),
        draw(st.none() | shears | st.tuples(shears, shears).map(lambda pair: pair[0] + pair[1])),
        **place,
    )


NEAREST, BILINEAR = T.InterpolationMode.NEAREST, T.InterpolationMode.BILINEAR


@st.composite
def turned_tensor(draw: st.DrawFn) -> list[Any]:
    """What makes a uint8 tensor of an image, and turns it."""
    api = draw(APIS)
    byte = st.sampled_from([0, 255]) | st.integers(0, 255)
    fill = draw(byte | byte.map(float) | st.lists(byte, min_size=1, max_size=1) | st.tuples(byte, byte, byte))
    if api is v2:
        fill = draw(st.sampled_from([fill, fill, None]))
    place = {"interpolation": draw(st.sampled_from([NEAREST, BILINEAR])), "center": draw(CENTER), "fill": fill}
    share, shears = st.floats(0, 1), between(st.floats(-60, 60))
    turn = draw(
        st.sampled_from(
            [
                api.RandomRotation(draw(between(ANGLE)), **place),
                api.RandomAffine(
                    draw(between(ANGLE)),
                    draw(st.none() | st.tuples(share, share)),
                    draw(st.none() | between(st.floats(0.05, 3))),
                    draw(st.none() | shears | st.tuples(shears, shears).map(lambda pair: pair[0] + pair[1])),
                    **place,
                ),
            ]
        )
    )
    return [draw(st.sampled_from([api.PILToTensor(), *([v2.ToImage()] if api is v2 else [])])), turn]


class Arrays(CIFAR10):
    """CIFAR10 without its files."""

    def __init__(self, height: int, width: int, count: int, transform: Any) -> None:
        self.data = np.random.default_rng(0).integers(0, 256, (count, height, width, 3), dtype=np.uint8)
        self.targets = list(range(count))
        self.transform, self.target_transform, self.transforms = transform, None, None
        self.train, self.root = True, ""


def in_go(dataset: Any) -> bool:
    """Whether the plan has it, so that no Python runs for a sample."""
    explanation = goloader.DataLoader(dataset).explain()
    return explanation.native and "trace" not in str(explanation)


SEED = st.integers(0, 2**40)


@settings(max_examples=60)
@given(turn=turned(), height=st.integers(1, 40), width=st.integers(1, 40), square=st.booleans(), seed=SEED)
@pytest.mark.slow
def test_images_in_memory(turn: Any, height: int, width: int, square: bool, seed: int) -> None:
    images = Arrays(height, height if square else width, 13, T.Compose([turn, T.CenterCrop((24, 27)), *TAIL]))
    assert in_go(images)
    check(Program(loader_of(images, batch_size=4, shuffle=True), epochs=2, seed=seed))


@settings(max_examples=12)
@given(turns=st.lists(turned(), min_size=1, max_size=2), seed=SEED)
def test_files(kinds: Path, turns: list[Any], seed: int) -> None:
    steps = [T.RandomApply([turns[0]], 0.7), *turns[1:], T.Resize((20, 21))]
    images = ImageFolder(str(kinds), T.Compose([*steps, *TAIL]))
    assert in_go(images)
    check(Program(loader_of(images, batch_size=5), epochs=1, seed=seed))


needs_grids = pytest.mark.skipif(not selfcheck.holds("torch.grid"), reason="torch samples in another way here")
BYTES_TAIL = [T.ConvertImageDtype(torch.float32), TAIL[1]]


@settings(max_examples=60)
@given(turn=turned_tensor(), height=st.integers(1, 40), width=st.integers(1, 40), square=st.booleans(), seed=SEED)
@pytest.mark.slow
@needs_grids
def test_tensors_in_memory(turn: list[Any], height: int, width: int, square: bool, seed: int) -> None:
    images = Arrays(height, height if square else width, 13, T.Compose([*turn, *BYTES_TAIL]))
    assert in_go(images)
    check(Program(loader_of(images, batch_size=4, shuffle=True), epochs=2, seed=seed))


@settings(max_examples=12)
@given(turn=turned_tensor(), late=st.booleans(), seed=SEED)
@needs_grids
def test_tensors_of_files(kinds: Path, turn: list[Any], late: bool, seed: int) -> None:
    crop = v2.CenterCrop((50, 41))
    steps = [*turn, crop] if late else [crop, *turn]
    images = ImageFolder(str(kinds), T.Compose([*steps, v2.RandomHorizontalFlip(), *BYTES_TAIL]))
    assert in_go(images)
    check(Program(loader_of(images, batch_size=5), epochs=1, seed=seed))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("api", [T, v2], ids=["v1", "v2"])
@needs_grids
def test_grey_tensors(kinds: Path, api: Any, workers: int) -> None:
    steps = [api.Grayscale(), T.CenterCrop(40), T.PILToTensor(), api.RandomRotation(40, BILINEAR, fill=9)]
    images = ImageFolder(str(kinds), T.Compose([*steps, api.RandomAffine(0, (0.2, 0.2)), BYTES_TAIL[0]]))
    assert in_go(images)
    check(Program(loader_of(images, batch_size=5, num_workers=workers), epochs=2))


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("api", [T, v2], ids=["v1", "v2"])
def test_cifar_rotated(api: Any, workers: int) -> None:
    steps = [api.RandomCrop(32, padding=4), api.RandomHorizontalFlip(), api.RandomRotation(15)]
    images = Arrays(32, 32, 70, T.Compose([*steps, *TAIL]))
    assert in_go(images)
    check(Program(loader_of(images, batch_size=16, shuffle=True, num_workers=workers), epochs=2))


def test_what_changes_between_epochs_counts() -> None:
    turn = T.RandomRotation(15)
    images = Arrays(19, 23, 20, T.Compose([turn, *TAIL]))

    def change(epoch: int, _: Any) -> None:
        turn.degrees, turn.fill = ([-15.0, 15.0], 0) if epoch != 1 else ([80.0, 100.0], 7)

    check(Program(loader_of(images, batch_size=6), epochs=3, before=change))


class Own(T.RandomRotation):
    pass


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("degrees", [9, (80, 200)])
def test_a_subclass_is_read_from_its_code(degrees: Any, workers: int) -> None:
    images = Arrays(21, 18, 13, T.Compose([Own(degrees, T.InterpolationMode.BILINEAR, fill=7), *TAIL]))
    assert in_go(images)
    check(Program(loader_of(images, batch_size=4, num_workers=workers), epochs=2))


def test_tensors_of_which_not_all_is_known_stay_with_torch() -> None:
    made = [v2.ToImage()]
    for steps, why in (
        ([*made, v2.RandomRotation(9, T.InterpolationMode.BICUBIC)], "nearest neighbour or bilinear"),
        ([*made, v2.RandomRotation(9, T.InterpolationMode.NEAREST_EXACT)], "nearest neighbour or bilinear"),
        ([*made, v2.RandomRotation(9, expand=True)], "how far a tensor expands"),
        ([*made, v2.RandomAffine(9, fill=2.5)], "its fill is no byte"),
        ([T.PILToTensor(), T.RandomRotation(9, fill=(1, 2, 300))], "its fill is no byte"),
        ([*made, v2.RandomAffine(9, fill={tv_tensors.Image: 3, "others": 0})], "its fill depends"),
        ([*made, v2.ToDtype(torch.float16), v2.RandomRotation(9)], "a tensor of float16"),
    ):
        images = Arrays(8, 8, 3, v2.Compose(steps))
        explanation = goloader.DataLoader(images, trace=False).explain()
        assert not explanation.native and why in str(explanation), why


@pytest.mark.parametrize("precision", ["highest", "high", "medium"])
@needs_grids
def test_grids_of_fewer_bits_stay_with_torch(precision: str) -> None:
    """Of autocast's bmm; others have them on few processors, where they are noticed as well."""
    images = Arrays(19, 23, 20, v2.Compose([v2.ToImage(), v2.RandomRotation(20), v2.RandomAffine(9)]))
    torch.set_float32_matmul_precision(precision)
    try:
        check(Program(loader_of(images, batch_size=6), epochs=1))
        with torch.autocast("cpu"):
            explanation = goloader.DataLoader(images, trace=False).explain()
            assert not explanation.native and "fewer bits" in str(explanation)
            check(Program(loader_of(images, batch_size=6), epochs=1), native=False)
    finally:
        torch.set_float32_matmul_precision("highest")


def test_what_is_not_known_stays_with_torch() -> None:
    lanczos = T.RandomRotation(9, T.InterpolationMode.LANCZOS)
    upside_down = T.RandomRotation(9)
    upside_down.degrees = [3.0, 2.0]
    huge = T.RandomAffine(0, center=(1e9, 0))
    for turn, why in (
        (lanczos, "interpolation should be one of"),
        (upside_down, "degrees should be (min, max)"),
        (huge, "center should be within"),
        (v2.RandomRotation(9, fill={"others": (1, 2)}), "fill has 2 values for 3 channels"),
        (v2.RandomRotation(9, fill={Image.Image: 1, "others": 0}), "its fill depends on the type of an image"),
    ):
        explanation = goloader.DataLoader(Arrays(8, 8, 3, T.Compose([turn, *TAIL])), trace=False).explain()
        assert not explanation.native and why in str(explanation), why
