"""Images of several sizes that a collate_fn copies into one tensor, or that are padded: batches are torch's.

The core makes them whole wherever all images are there.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import failing
import numpy as np
import pytest
import torch
import torchvision.transforms.functional as F
from photos import picture
from PIL import Image
from torch.nn import functional
from torch.utils import data

import goloader
from goloader.doors.recipe import door, hooks
from goloader.doors.same import difference

pytestmark = pytest.mark.skipif(hooks.refusal() is not None, reason="nothing is recorded with these versions")

COUNT = 17


def normalized(image: Any) -> Any:
    return F.normalize(F.to_tensor(image), [0.4, 0.5, 0.6], [0.2, 0.3, 0.1])


class Photos(data.Dataset[Any]):
    """Photos that are flipped, each of a size of its own; `made` makes a tensor of one."""

    def __init__(self, root: Path, made: Callable[[Any], Any] = normalized) -> None:
        self.root, self.made = root, made

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, i: int) -> Any:
        image = Image.open(self.root / f"{i}.jpg").convert("RGB")
        if random.random() < 0.5:
            image = F.hflip(image)
        return self.made(F.resize(image, random.choice([14, 17, 20])))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("padded")
    for k in range(COUNT):
        picture(40 + 3 * (k % 5), 30 + 2 * (k % 7), k).save(made / f"{k}.jpg")
    return made


def extents(images: Any) -> tuple[int, int]:
    return max(image.shape[-2] for image in images), max(image.shape[-1] for image in images)


def laid(batch: Any, images: Any) -> Any:
    for image, room in zip(images, batch, strict=False):
        room[..., : image.shape[-2], : image.shape[-1]].copy_(image)
    return batch


def zeros(images: Any) -> Any:
    return laid(torch.zeros((len(images), 3, *extents(images))), images)


def several(images: Any) -> Any:
    """maskrcnn-benchmark's: extents that 32 divides."""
    height, width = (-(-length // 32) * 32 for length in extents(images))
    return laid(images[0].new(len(images), 3, height, width).zero_(), images)


def full(images: Any) -> Any:
    return laid(torch.full((len(images), 3, *extents(images)), 0.25, dtype=images[0].dtype), images)


def full_of_integers(images: Any) -> Any:
    return laid(torch.full((len(images), 3, *extents(images)), 1), images)


def full_of_floats(images: Any) -> Any:
    return laid(torch.full((len(images), 3, *extents(images)), -0.0), images)


def new_full(images: Any) -> Any:
    return laid(images[0].new_full((len(images), 3, *extents(images)), 0.5), images)


def in_the_middle(images: Any) -> Any:
    height, width = extents(images)
    batch = images[0].new_ones(len(images), 3, height + 4, width + 3)
    for at, image in enumerate(images):
        top, left = (height + 4 - image.shape[1]) // 2, (width + 3 - image.shape[2]) // 2
        batch[at, :, top : top + image.shape[1], left : left + image.shape[2]] = image
    return batch


def backwards(images: Any) -> Any:
    batch = torch.zeros(len(images), 3, *extents(images))
    for at in reversed(range(len(images))):
        batch[at - len(images)][:, : images[at].shape[1], : images[at].shape[2]] = images[at]
    return batch


def then_scaled(images: Any) -> Any:
    return (zeros(images) * 2).sub_(0.5)


def then_flipped(images: Any) -> Any:
    return zeros(images).flip(-1), zeros(images)[:, :, 2:9, 3:], zeros(images)[-1]


def then_unbound(images: Any) -> Any:
    return [each * 3 for each in zeros(images)]


def of_views(images: Any) -> Any:
    return zeros([image[:, 1:-1, 2:].flip(-1) for image in images])


def of_two_kinds(images: Any) -> Any:
    return zeros([image * 2 if at % 2 else image for at, image in enumerate(images)])


def erased_before(images: Any) -> Any:
    for image in images:
        image[:, 2:5, 3:9] = 0.5
    return zeros(images)


def masks(images: Any) -> Any:
    """As torchvision's references do it for masks: whatever is no pixel is 255."""
    return laid(images[0].new(len(images), *extents(images)).fill_(255), images)


def stacked(images: Any) -> Any:
    height, width = extents(images)
    borders = [(0, width - each.shape[-1], 0, height - each.shape[-2]) for each in images]
    return torch.stack([functional.pad(*each, value=0.5) for each in zip(images, borders, strict=True)])


def around(images: Any) -> Any:
    both = functional.pad(images[0], [2, 1], "constant")
    return [functional.pad(image[None], (1, 2, 3, 4)) for image in images], both


def one_more(images: Any) -> Any:
    return laid(torch.zeros(len(images) + 1, 3, *extents(images)), images)


def one_less(images: Any) -> Any:
    return laid(torch.zeros(len(images), 3, *extents(images)), images[:-1])


def twice(images: Any) -> Any:
    return laid(zeros(images), images[::-1])


def twice_at_once(images: Any) -> Any:
    batch = torch.zeros(len(images), 3, *extents(images))
    for at in (0, *range(len(images))):
        batch[at, :, : images[at].shape[1], : images[at].shape[2]] = images[at]
    return batch


def looked_at(images: Any) -> Any:
    batch = torch.zeros(len(images), 3, *extents(images))
    before = batch.sum()
    return laid(batch, images), before


def looked_at_between(images: Any) -> Any:
    batch = torch.zeros(len(images), 3, *extents(images))
    batch[0, :, : images[0].shape[1], : images[0].shape[2]] = images[0]
    between = batch.mean()
    return laid(batch, images), between


def changed_afterwards(images: Any) -> Any:
    batch = zeros(images)
    for image in images:
        image.zero_()
    return batch, list(images)


def doubles(images: Any) -> Any:
    return laid(torch.zeros(len(images), 3, *extents(images), dtype=torch.float64), images)


def spread(images: Any) -> Any:
    batch = torch.zeros(len(images), 3, *extents(images))
    for at, image in enumerate(images):
        batch[at, :, :, :5] = image[:, :1, :5]
    return batch


def as_array(images: Any) -> Any:
    return zeros(images).numpy()


def raises(images: Any) -> Any:
    batch = torch.zeros(len(images), 3, *extents(images))
    try:
        batch[0, :, :2, :2].copy_(images[0])
    except RuntimeError:
        return laid(batch, images)
    return None


def cycled(images: Any) -> Any:
    """Whatever else torch.zeros and torch.ones are asked for."""
    shape = [len(images), 3, *extents(images)]
    others = torch.zeros(3), torch.ones(2, 2, 2), torch.zeros(size=(2, 3)), torch.full(shape, 7, dtype=None)
    return *others, zeros(images)


def of_numbers(images: Any) -> Any:
    """The same words for extents and for numbers."""
    shape = torch.Size([len(images), 3, *extents(images)])
    return images[0].new([len(images), 3, 20, 20]), laid(images[0].new(shape).zero_(), images)


def grey(image: Any) -> Any:
    return F.to_tensor(image.convert("L"))


def labels(image: Any) -> Any:
    return F.pil_to_tensor(image.convert("L"))[0].long()


def letterbox(image: Any) -> Any:
    x = F.to_tensor(image)
    return functional.pad(x, (3, 40 - x.shape[2], 1, 40 - x.shape[1]), "constant", 0.5)[:, 1:, 2:]


def channels(image: Any) -> Any:
    red, _, blue = F.to_tensor(image).unbind()
    return torch.stack([blue, red])


def greys(images: Any) -> Any:
    return laid(torch.zeros(len(images), 1, *extents(images)), images)


CASES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], str]] = {
    "zeros": (normalized, zeros, "native"),
    "zeros of bytes": (
        F.pil_to_tensor,
        lambda images: laid(images[0].new_zeros(len(images), 3, *extents(images)), images),
        "native",
    ),
    "zeros of half": (lambda image: normalized(image).half(), lambda images: new_full(images), "native"),
    "of grey": (grey, greys, "native"),
    "several of 32": (normalized, several, "native"),
    "full": (normalized, full, "native"),
    "full of integers": (normalized, full_of_integers, "looked at"),
    "full of floats": (normalized, full_of_floats, "native"),
    "new_full": (normalized, new_full, "native"),
    "in the middle": (normalized, in_the_middle, "native"),
    "backwards": (normalized, backwards, "native"),
    "then scaled": (normalized, then_scaled, "native"),
    "then flipped": (normalized, then_flipped, "native"),
    "then unbound": (normalized, then_unbound, "native"),
    "of views": (normalized, of_views, "native"),
    "of two kinds": (normalized, of_two_kinds, "native"),
    "erased before": (normalized, erased_before, "native"),
    "masks": (labels, masks, "native"),
    "stacked": (normalized, stacked, "native"),
    "around": (normalized, around, "native"),
    "letterbox": (letterbox, zeros, "native"),
    "channels": (channels, list, "native"),
    "changed afterwards": (normalized, changed_afterwards, "native"),
    "cycled": (normalized, cycled, "native"),
    "of numbers": (normalized, of_numbers, "looked at"),
    "one more": (normalized, one_more, "looked at"),
    "one less": (normalized, one_less, "looked at"),
    "twice": (normalized, twice, "looked at"),
    "twice at once": (normalized, twice_at_once, "looked at"),
    "looked at": (normalized, looked_at, "looked at"),
    "looked at between": (normalized, looked_at_between, "looked at"),
    "doubles": (normalized, doubles, "looked at"),
    "spread": (normalized, spread, "looked at"),
    "as array": (normalized, as_array, ""),
    "raises": (normalized, raises, ""),
}


def batches(loader: Any) -> tuple[list[Any], Any]:
    torch.manual_seed(3)
    random.seed(3)
    np.random.seed(3)
    made = [batch for _ in range(2) for batch in loader]
    return made, (torch.rand(1).item(), random.random())


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("name", CASES)
def test_a_padded_batch_is_torch_s(root: Path, name: str, workers: int) -> None:
    made, collate, state = CASES[name]
    options: Any = {"batch_size": 4, "shuffle": True, "num_workers": workers, "collate_fn": collate}
    want = batches(data.DataLoader(Photos(root, made), **options))
    loader = goloader.DataLoader(Photos(root, made), **options)
    got = batches(loader)
    assert difference(want, got) is None
    if state:
        assert door.record(loader).state == state, loader.explain()
    else:  # what Go made before it was known is not told by one word
        assert door.record(loader).on, loader.explain()


@pytest.mark.parametrize("workers", [0, 2])
def test_a_damaged_file_in_a_padded_batch_is_pillow_s_to_tell(root: Path, workers: int, tmp_path: Path) -> None:
    """Its header is fine, so that only whoever decodes it sees that it ends too early."""
    for file in root.iterdir():
        content = file.read_bytes()
        (tmp_path / file.name).write_bytes(content[: len(content) // 2] if file.name == "6.jpg" else content)

    def told(kind: Any) -> list[Any]:
        torch.manual_seed(3)
        random.seed(3)
        loader = kind(Photos(tmp_path), batch_size=4, num_workers=workers, collate_fn=zeros)
        return failing.batches(loader, Exception)

    want = told(data.DataLoader)
    assert [type(each) for each in want].count(tuple) == 1
    assert difference(want, told(goloader.DataLoader)) is None
