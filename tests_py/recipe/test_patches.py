"""Rectangles that are written into images, and masks with a hole: what torch and numpy give, made by the core."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms as T
import torchvision.transforms.functional as F
from PIL import Image
from torchvision.transforms import v2

from goloader.doors.same import difference

NORMALIZE = T.Normalize((0.4, 0.5, 0.6), (0.2, 0.3, 0.1))


def rgb(path: str) -> Any:
    return Image.open(path).convert("RGB")


def tensor(path: str) -> Any:
    return F.to_tensor(rgb(path))


def written(x: Any, *lines: Callable[[Any], Any]) -> Any:
    for line in lines:
        line(x)
    return x


def cutout(x: Any, holes: int = 1, dtype: Any = np.float32) -> Any:
    """As in "Improved Regularization of Convolutional Neural Networks with Cutout"."""
    height, width = x.shape[1:]
    mask = np.ones((height, width), dtype)
    for _ in range(holes):
        y, w = random.randrange(height), random.randrange(width)
        mask[max(y - 8, 0) : y + 8, max(w - 8, 0) : w + 8] = 0
    return x * torch.from_numpy(mask).expand_as(x)


def put(key: Any, value: Any) -> Callable[[Any], Any]:
    return lambda x: x.__setitem__(key, value)


PART = (slice(None), slice(3, 9), slice(2, 12))
LAST = (slice(3, 9), slice(2, 12))

RECORDED: dict[str, Callable[[str], Any]] = {
    "a number": lambda path: written(tensor(path), put(PART, 0.0)),
    "a number a channel": lambda path: written(tensor(path), put(PART, torch.tensor([0.1, 2, 3])[:, None, None])),
    "to an edge": lambda path: written(tensor(path), put((..., slice(-4, None), slice(-3, 99)), 1)),
    "of one row": lambda path: written(tensor(path), put((..., slice(4, 5), slice(1, 9)), 1)),
    "two that overlap": lambda path: written(tensor(path), put(PART, 0.0), put((..., slice(5, 12), slice(4, 9)), 1.0)),
    "under another": lambda path: written(tensor(path), put((..., slice(4, 6), slice(4, 9)), 1.0), put(PART, 0.0)),
    "filled": lambda path: written(tensor(path), lambda x: x[PART].fill_(0.7)),
    "zeroed": lambda path: written(tensor(path), lambda x: x[PART].zero_()),
    "all of it": lambda path: written(tensor(path), lambda x: x.zero_()),
    "scaled": lambda path: written(tensor(path), lambda x: x[PART].mul_(0.5)),
    "scaled by an operator": lambda path: written(tensor(path), lambda x: x.__setitem__(PART, x[PART].__imul__(0.5))),
    "scaled, within": lambda path: written(tensor(path), put(PART, 0.25), lambda x: x[:, 1:5, :6].mul_(2).sub_(1)),
    "then scaled": lambda path: written(tensor(path), put(PART, 0.25)) * 3 - 1,
    "then normalized": lambda path: NORMALIZE(written(tensor(path), put(PART, 0.25))),
    "then cast": lambda path: written(tensor(path), put(PART, 0.25)).double(),
    "then cropped": lambda path: written(tensor(path), put(PART, 0.25))[:, 5:20, 4:],
    "then a channel": lambda path: written(tensor(path), put(PART, torch.tensor([0.1, 2, 3])[:, None, None]))[1],
    "then flipped": lambda path: written(tensor(path), put(PART, 0.25)).flip(-1).flip(1),
    "then stacked": lambda path: torch.stack(
        [written(tensor(path), put(PART, 0.25)), tensor(path), cutout(tensor(path))]
    ),
    "into a stack": lambda path: written(torch.stack([tensor(path), tensor(path)]), put((slice(None), *PART), 0.25)),
    "of a stack": lambda path: torch.stack([tensor(path), written(tensor(path), put(PART, 0.25))])[1],
    "bytes": lambda path: written(F.pil_to_tensor(rgb(path)), put(PART, 77)),
    "grey": lambda path: written(F.to_tensor(Image.open(path).convert("L")), put(PART, 0.5)),
    "half": lambda path: written(tensor(path).half(), put(PART, 0.3)),
    "bfloat16": lambda path: written(tensor(path).bfloat16(), put(PART, 0.3)),
    "RandomErasing": lambda path: T.RandomErasing(1, value=(1, 2, 3))(tensor(path)),
    "RandomErasing in place": lambda path: T.RandomErasing(1, inplace=True)(tensor(path)),
    "RandomErasing, v2": lambda path: v2.RandomErasing(1, value=0.3)(v2.functional.to_image(rgb(path))),
    "RandomErasing, twice": lambda path: T.Compose([T.RandomErasing(1), T.RandomErasing(1, value=1), NORMALIZE])(
        tensor(path)
    ),
    "Cutout": lambda path: cutout(NORMALIZE(tensor(path))),
    "Cutout of bytes": lambda path: cutout(F.pil_to_tensor(rgb(path))),
    "Cutout by bytes": lambda path: cutout(F.pil_to_tensor(rgb(path)), dtype=np.uint8),
    "Cutout, then normalized": lambda path: NORMALIZE(cutout(tensor(path))),
    "Cutout, twice": lambda path: cutout(cutout(tensor(path))),
    "no hole": lambda path: written(tensor(path), put(PART, 2)) * torch.ones(1, 1, 1),
    "where": lambda path: torch.where(hole(tensor(path)), tensor(path), 0.5),
    "masked_fill": lambda path: tensor(path).masked_fill(hole(tensor(path))[None], 0.5),
    "array": lambda path: written(np.array(rgb(path)), put(LAST, 0)),
    "array, a number a channel": lambda path: written(np.array(rgb(path)), put(LAST, (1, 2, 3))),
    "array, an array": lambda path: written(np.array(rgb(path)), put(LAST, np.array([1, 2, 3], np.uint8))),
    "array, scaled": lambda path: written(np.array(rgb(path)).astype(np.float32), lambda a: a[LAST].__imul__(0.5)),
    "array, then tensor": lambda path: F.to_tensor(written(np.array(rgb(path)), put(LAST, 0))),
    "array, by a tensor": lambda path: written(torch.from_numpy(np.array(rgb(path))), put(LAST, 3)).numpy(),
    "array, mask": lambda path: np.array(rgb(path)) * hole(tensor(path)).numpy()[:, :, None],
    "array, mirrored": lambda path: written(np.array(rgb(path)), put(LAST, 9))[::-1, ::-1],
}


def hole(x: Any) -> torch.Tensor:
    mask = torch.ones(x.shape[1:], dtype=torch.bool)
    mask[2:7, :5] = False
    return mask


@pytest.mark.parametrize("name", RECORDED)
def test_what_is_recorded_is_made_by_the_core(name: str, files: list[str], run: Any) -> None:
    for path in files[:3] + files[6:8]:
        torch.manual_seed(5)
        random.seed(5)
        want = RECORDED[name](path)
        torch.manual_seed(5)
        random.seed(5)
        got, made, real = run(RECORDED[name], path)
        assert difference(want, got) is None
        assert made and not real, real
        assert type(got) is type(want)


# What cannot be recorded is torch's and numpy's own.
REAL: dict[str, Callable[[str], Any]] = {
    "noise": lambda path: T.RandomErasing(1, value="random")(tensor(path)),
    "a channel": lambda path: written(tensor(path), put((0, slice(3, 9)), 0.5)),
    "every other": lambda path: written(tensor(path), put((..., slice(None, None, 2)), 0.5)),
    "another part": lambda path: written(tensor(path), lambda x: x.__setitem__(PART, x[:, 9:15, 2:12].clone())),
    "wrong size": lambda path: written(tensor(path), put(PART, torch.zeros(3, 2, 2))),
    "too many": lambda path: written(tensor(path), *(put((..., slice(i, i + 1), slice(4)), i) for i in range(12))),
    "two holes": lambda path: cutout(tensor(path), 2),
    "bytes that do not fit": lambda path: written(F.pil_to_tensor(rgb(path)), put(PART, 300.0)),
    "array of bytes that do not fit": lambda path: written(np.array(rgb(path)), put(LAST, 300)),
    "read only": lambda path: written(np.asarray(rgb(path)), put(LAST, 3)),
    "a mask of another size": lambda path: tensor(path) * torch.ones(5, 6),
    "a mask of many numbers": lambda path: tensor(path) * torch.rand(tensor(path).shape[1:]),
    "resized": lambda path: v2.functional.resize(written(F.pil_to_tensor(rgb(path)), put(PART, 3)), [9, 9]),
    "to an image": lambda path: np.array(Image.fromarray(written(np.array(rgb(path)), put(LAST, 3))).resize((9, 9))),
}


@pytest.mark.parametrize("name", REAL)
def test_what_is_not_recorded_is_torch_s_and_numpy_s(name: str, files: list[str], run: Any) -> None:
    for path in files[:2]:
        torch.manual_seed(5)
        random.seed(5)
        try:
            want: Any = REAL[name](path)
        except Exception as error:
            with pytest.raises(type(error)):
                run(REAL[name], path)
            continue
        torch.manual_seed(5)
        random.seed(5)
        got, _, real = run(REAL[name], path)
        assert difference(want, got) is None
        assert real


def step(r: random.Random, x: Any) -> Any:
    """Something new that is made of a tensor or an array, or nothing where that is only written into."""
    is_array = isinstance(x, np.ndarray)
    height, width = x.shape[:2] if is_array else x.shape[-2:]
    top, left = r.randint(0, height - 1), r.randint(0, width - 1)
    rows, columns = slice(top, top + r.randint(1, 20)), slice(left, left + r.randint(1, 20))
    part = (rows, columns) if is_array else (..., rows, columns)
    value = r.choice([0, 1, 77, 3.5])
    mask = np.ones((height, width), r.choice([np.float32, np.uint8, np.int64]))
    mask[rows, columns] = r.choice([0, 2])
    laid = mask[:, :, None] if is_array else torch.from_numpy(mask)
    return r.choice(
        [
            lambda: x.__setitem__(part, value),
            lambda: x.__setitem__(part, np.float32([1, 2, 3]) if is_array else torch.ones(3, 1, 1)),
            lambda: x[part].__imul__(2),
            lambda: x[part].__isub__(1),
            lambda: x[part],
            lambda: x[::-1] if is_array else x.flip(-1),
            lambda: x * laid,
            lambda: x * 2,
            lambda: x - 1,
            lambda: x.copy() if is_array else x.clone(),
            lambda: x.astype(np.float64) if is_array else x.double(),
            lambda: x.__imul__(2),
        ]
    )()


def chain(path: str, seed: int) -> Any:
    """Tensors or arrays of which parts are written, and errors."""
    r = random.Random(seed)
    image = rgb(path).resize((r.randint(2, 30), r.randint(2, 30)))
    begin = r.choice([F.to_tensor, F.pil_to_tensor, np.array, lambda image: np.array(image).astype(np.float32)])
    held, said = [begin(image)], []
    for _ in range(r.randint(1, 7)):
        try:
            made = step(r, r.choice(held))
        except Exception as error:
            said.append(type(error).__name__)
            continue
        if made is not None:
            held.append(made)
    return held, said


@pytest.mark.slow
def test_random_chains(files: list[str], run: Any) -> None:
    made = real = 0
    for number in range(400):
        path = files[number % 8]
        want = chain(path, number)
        got, count, reasons = run(chain, path, number)
        assert difference(want, got) is None, number
        made += count
        real += len(reasons)
    assert made > 400 and real
