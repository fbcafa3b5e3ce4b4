"""Masks whose file has a palette: what is done to their indices is done in Go, and to the bit what Pillow does."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms.functional as F
from PIL import Image, ImageOps
from torch.utils import data
from torchvision.transforms import InterpolationMode

import goloader
from goloader.doors.recipe import door, hooks
from goloader.doors.same import difference

pytestmark = pytest.mark.skipif(hooks.refusal() is not None, reason="nothing is recorded with these versions")

COUNT = 12


@pytest.fixture(scope="module")
def masks(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """PNG files of 1, 2, 4 and 8 bits a pixel, some with a transparent colour."""
    rng = np.random.default_rng(0)
    paths = []
    for k in range(COUNT):
        bits = (1, 2, 4, 8)[k % 4]
        image = Image.fromarray(rng.integers(0, 1 << bits, (30 + k, 41 - 2 * k), dtype=np.uint8))
        image.putpalette(rng.integers(0, 256, 3 << bits, dtype=np.uint8).tobytes())
        paths.append(tmp_path_factory.mktemp("masks") / f"{k}.png")
        image.save(paths[-1], bits=bits, **({"transparency": 0} if k % 3 == 0 else {}))
    return paths


class Masks(data.Dataset[Any]):
    def __init__(self, paths: list[Path], make: Callable[[Any], Any]) -> None:
        self.paths, self.make = paths, make

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        return self.make(Image.open(self.paths[index]))


def resized(mask: Any) -> Any:
    """Every filter: Pillow takes the nearest neighbour whatever is asked for."""
    for number in range(6):
        mask = mask.resize((20 + number, 33 - 2 * number), number)
    return F.pil_to_tensor(mask)


def augmented(mask: Any) -> Any:
    mask = F.resize(mask, [30, 28], InterpolationMode.BILINEAR)
    if random.random() < 0.5:
        mask = F.hflip(mask)
    top, left = random.randrange(9), random.randrange(7)
    return torch.from_numpy(np.array(F.crop(mask, top, left, 21, 22), dtype=np.int64))


def bordered(mask: Any) -> Any:
    mask = ImageOps.expand(mask.crop((-3, 2, 25, 27)), 4, 1)
    for mode in ("constant", "edge", "reflect", "symmetric"):
        mask = F.pad(mask, [1, 2, 3, 4], 255, mode)
    return F.to_tensor(mask.transpose(Image.Transpose.ROTATE_90))


def coloured(mask: Any) -> Any:
    return F.to_tensor(mask.convert("RGB").resize((19, 17), Image.Resampling.BICUBIC))


def both(mask: Any) -> Any:
    """Indices and colours of one file."""
    return F.pil_to_tensor(mask.crop((1, 2, 15, 16))), F.pil_to_tensor(mask.convert("RGB").crop((2, 1, 16, 15)))


def array(mask: Any) -> Any:
    return np.asarray(mask.crop((0, 0, 15, 20)))[2:, 3:].copy()


def coloured_late(mask: Any) -> Any:
    return F.to_tensor(mask.resize((19, 17)).convert("RGB"))


def turned(mask: Any) -> Any:
    return F.pil_to_tensor(F.rotate(mask.resize((20, 20)), 30))


def grey(mask: Any) -> Any:
    return F.pil_to_tensor(F.to_grayscale(mask.resize((20, 20))))


NATIVE = (resized, augmented, bordered, coloured, both, array)
REAL = (coloured_late, turned, grey)


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("make", NATIVE + REAL, ids=lambda make: make.__name__)
def test_what_is_done_to_palette_indices(make: Any, num_workers: int, masks: list[Path]) -> None:
    def epochs(kind: Any) -> tuple[Any, Any]:
        torch.manual_seed(1)
        random.seed(1)
        loader = kind(Masks(masks, make), batch_size=4, shuffle=True, num_workers=num_workers)
        return [batch for _ in range(3) for batch in loader], loader

    (want, _), (got, loader) = epochs(data.DataLoader), epochs(goloader.DataLoader)
    assert difference(want, got) is None
    assert (door.record(loader).state == "native") == (make in NATIVE), loader.explain()


def test_a_damaged_mask_raises_pillow_s_error(tmp_path: Path, masks: list[Path]) -> None:
    broken = tmp_path / "broken.png"
    whole = masks[3].read_bytes()
    at = whole.index(b"IDAT") + 12
    broken.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])

    def outcomes(kind: Any) -> list[str]:
        loader = kind(Masks([masks[2], broken, masks[4]], resized))
        found = []
        iterator = iter(loader)
        for _ in range(3):
            try:
                found.append(str(next(iterator).sum()))
            except Exception as error:
                found.append(f"{type(error).__name__}: {error}")
        return found

    assert outcomes(goloader.DataLoader) == outcomes(data.DataLoader)


def test_an_image_is_what_pillow_opens(masks: list[Path], traced: Any) -> None:
    def look(path: Path) -> Any:
        image = Image.open(path)
        small = image.resize((9, 8))
        return image.mode, image.getpalette(), small.mode, small.tobytes(), image.getbands(), small.palette is not None

    assert traced(look, masks[5])[0] == look(masks[5])
