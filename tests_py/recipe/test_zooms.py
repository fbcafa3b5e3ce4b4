"""scikit-image's resize: what the core makes is what it makes, and what goes on from there is as it was."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import skimage.io
import torch
from PIL import Image
from skimage import transform
from skimage.transform import rescale, resize

from goloader import selfcheck
from goloader.doors.recipe.hooks import skimage_resize
from goloader.doors.same import difference

CHAINS = int(os.environ.get("GOLOADER_FUZZ_CHAINS", "400")) // 4


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except Exception as error:
        return type(error).__name__, str(error)


def made(change: Callable[[Any], Any], path: str) -> Any:
    result = change(skimage.io.imread(path))
    return [torch.stack([result if isinstance(result, torch.Tensor) else torch.from_numpy(result)])]


def chw(image: Any) -> Any:
    return torch.from_numpy(image.transpose((2, 0, 1)))


def filled(image: Any) -> Any:
    image[1:4, 2:5] = 0.25
    return image


RECORDED: dict[str, Callable[[Any], Any]] = {
    "smaller": lambda image: resize(image, (9, 7)),
    "larger": lambda image: resize(image, (60, 70)),
    "lower and wider": lambda image: resize(image, (11, 90)),
    "as it was": lambda image: resize(image, image.shape[:2]),
    "a list with channels": lambda image: resize(image, [13, np.int64(14), 3]),
    "numbers as they were": lambda image: resize(image, (9, 7), preserve_range=True),
    "not smoothed": lambda image: resize(image, (9, 7), anti_aliasing=False),
    "smoothed": lambda image: resize(image, (9, 70), order=1, mode="reflect", anti_aliasing=True),
    "of a part": lambda image: resize(image[3:15, 2:19], (8, 9)),
    "mirrored before": lambda image: resize(image[:, ::-1], (8, 9)),
    "grey": lambda image: resize(image[..., 1], (8, 9)),
    "a part": lambda image: resize(image, (12, 13))[2:9, 3:7],
    "channels first": lambda image: chw(resize(image, (12, 13))),
    "float32": lambda image: chw(resize(image, (12, 13))).float(),
    "float32 array": lambda image: resize(image, (12, 13)).astype(np.float32),
    "a tensor of its own": lambda image: torch.tensor(resize(image, (12, 13)), dtype=torch.float32),
    "mirrored": lambda image: resize(image, (12, 13))[::-1, ::-1].copy(),
    "a mirrored tensor": lambda image: chw(resize(image, (12, 13))).flip(-1),
    "contiguous": lambda image: chw(resize(image, (12, 13))).contiguous(),
}

OTHERS: dict[str, Callable[[Any], Any]] = {
    "one channel": lambda image: resize(image, (12, 13))[..., 0],
    "channels turned": lambda image: resize(image, (12, 13))[..., ::-1].copy(),
    "columns first": lambda image: resize(image, (12, 13)).transpose(1, 0, 2).copy(),
    "normalized": lambda image: (resize(image, (12, 13)) - 0.5) / 0.25,
    "clipped": lambda image: np.clip(resize(image, (12, 13)), 0.0, 0.5),
    "compared": lambda image: resize(image, (12, 13)) > 0.5,
    "bytes again": lambda image: resize(image, (12, 13), preserve_range=True).astype(np.uint8),
    "float64 of float32": lambda image: chw(resize(image, (12, 13))).float().double(),
    "half": lambda image: chw(resize(image, (12, 13))).half(),
    "filled in part": lambda image: filled(resize(image, (12, 13))),
    "filled": lambda image: chw(resize(image, (12, 13))).fill_(0.5),
    "padded": lambda image: torch.nn.functional.pad(chw(resize(image, (12, 13))), (1, 2, 3, 4)),
    "twice": lambda image: resize(resize(image, (12, 13)), (5, 6)),
    "another border": lambda image: resize(image, (12, 13), mode="edge"),
    "cubic": lambda image: resize(image, (12, 13), order=3),
    "nearest": lambda image: resize(image, (12, 13), order=0),
    "not clipped": lambda image: resize(image, (12, 13), clip=False),
    "another smoothing": lambda image: resize(image, (12, 13), anti_aliasing_sigma=1.5),
    "far smaller": lambda image: resize(image, (1, 1)),
    "rescaled": lambda image: rescale(image, 0.5, channel_axis=-1),
    "a third axis": lambda image: resize(image, (12, 13, 2)),
    "wrong": lambda image: resize(image, (12,)),
    "wrong numbers": lambda image: resize(image, (12.5, 13)),
    "nothing left": lambda image: resize(image, (0, 13)),
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    pixels = np.random.default_rng(1).integers(40, 201, (37, 51, 3), dtype=np.uint8)
    written = tmp_path_factory.mktemp("zoomed") / "photo.png"
    Image.fromarray(pixels).save(written)
    return str(written)


@pytest.mark.parametrize("name", RECORDED)
def test_a_resize_is_recorded(run: Any, path: str, name: str) -> None:
    want = made(RECORDED[name], path)
    got, count, reasons = run(made, RECORDED[name], path)
    assert difference(want, got) is None
    assert (count, reasons) == (1, [])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OTHERS)
def test_what_is_not_recorded_is_scikit_images(run: Any, path: str, name: str) -> None:
    want = outcome(made, OTHERS[name], path)
    got, *_ = run(outcome, made, OTHERS[name], path)
    assert difference(want, got) is None


def test_random_resizes_are_scikit_images(run: Any, files: list[str]) -> None:
    recorded = 0
    for _ in range(CHAINS):
        path = random.choice(files)
        size = random.randint(1, 60), random.randint(1, 60)
        keep, smooth = random.choice((False, True)), random.choice((None, None, True, False))
        start = random.randint(0, 3)

        def change(image: Any, size: Any = size, keep: Any = keep, smooth: Any = smooth, start: int = start) -> Any:
            image = resize(image[start:], size, preserve_range=keep, anti_aliasing=smooth)
            return (image if random.random() < 0.5 else image[:, ::-1].copy())[size[0] // 3 :]

        seed = random.random()
        random.seed(seed)
        want = outcome(made, change, path)
        random.seed(seed)
        got, count, _ = run(outcome, made, change, path)
        assert difference(want, got) is None, (path, size, keep, smooth)
        recorded += count
    assert recorded > CHAINS // 3


def test_nothing_is_recorded_where_scikit_image_makes_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    behaviour, found = selfcheck.tried("skimage.resize") or (None, None)
    assert found is True
    assert behaviour is not None
    monkeypatch.setattr(transform, "resize", lambda *given, **options: resize(*given, **options) * (1 + 2**-52))
    assert selfcheck.found_now(behaviour) is None
    monkeypatch.setitem(selfcheck._found, "skimage.resize", None)
    assert skimage_resize.hooks() == ()
