"""Steps of images that the installed libraries do otherwise than the core become real; others do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageFilter, ImageOps
from torchvision.transforms import functional as F
from torchvision.transforms.v2 import functional as F2

from goloader import selfcheck
from goloader.doors.recipe.stand_ins import value
from goloader.doors.same import difference


def opened(path: str) -> Any:
    return Image.open(path).convert("RGB")


STEPS: dict[str, Callable[[str], Any]] = {
    "pillow.resize.bilinear": lambda path: F.to_tensor(opened(path).resize((17, 13), 2)),
    "pillow.resize.nearest": lambda path: F.to_tensor(opened(path).resize((17, 13), 0)),
    "pillow.luma": lambda path: F.to_tensor(opened(path).convert("L")),
    "pillow.brightness": lambda path: F.to_tensor(ImageEnhance.Brightness(opened(path)).enhance(1.3)),
    "pillow.hue": lambda path: F.to_tensor(F.adjust_hue(opened(path), 0.2)),
    "pillow.equalize": lambda path: F.to_tensor(ImageOps.equalize(opened(path))),
    "pillow.affine.bicubic": lambda path: F.to_tensor(opened(path).transform((9, 8), 0, (1.1, 0.2, 0, 0.1, 1, 0), 3)),
    "pillow.blur": lambda path: F.to_tensor(opened(path).filter(ImageFilter.BoxBlur(2))),
    "pillow.rank": lambda path: F.to_tensor(opened(path).filter(ImageFilter.MedianFilter)),
    "pillow.ycbcr": lambda path: F.to_tensor(opened(path).convert("YCbCr").split()[0]),
    "torchvision.resize.bicubic": lambda path: (
        F2.resize(F2.pil_to_tensor(opened(path)), [9, 8], F2.InterpolationMode.BICUBIC) + 0
    ),
    "torchvision.tensor.contrast": lambda path: F2.adjust_contrast(F2.pil_to_tensor(opened(path)), 1.3) + 0,
    "opencv.resize.linear": lambda path: F.to_tensor(cv2.resize(cv2.imread(path), (17, 13))),
    "opencv.to_hsv": lambda path: F.to_tensor(cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2HSV)),
    "opencv.warp.linear": lambda path: F.to_tensor(cv2.warpAffine(cv2.imread(path), np.eye(2, 3) * 1.1, (9, 8))),
}


@pytest.fixture
def otherwise(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Has a behaviour be another."""

    def make(name: str) -> None:
        monkeypatch.setitem(selfcheck._found, name, None)
        value._hold.cache_clear()

    yield make
    value._hold.cache_clear()


@pytest.mark.parametrize("name", STEPS)
def test_what_behaves_otherwise_is_made_by_its_library(
    name: str, run: Any, jpeg: str, otherwise: Callable[[str], None]
) -> None:
    want = STEPS[name](jpeg)
    got, made, reasons = run(STEPS[name], jpeg)
    assert (difference(want, got), made, reasons) == (None, 1, [])
    otherwise(name)
    got, made, reasons = run(STEPS[name], jpeg)
    assert (difference(want, got), made) == (None, 0)
    assert reasons
    for other in STEPS:
        if other != name:
            assert run(STEPS[other], jpeg)[1:] == (1, []), other
