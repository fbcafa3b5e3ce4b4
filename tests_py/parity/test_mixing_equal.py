"""MixUp and CutMix of default_collate's batch: the core mixes in the batch's own memory, and all is as torch's is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import photos
import pytest
import torch
from torch.utils.data import default_collate
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2
from twins import Program, batches, check, errors, loader_of

import goloader
from goloader import selfcheck
from goloader.plan.bytecode import UnreadableError
from goloader.plan.collates.mixing import Mixing, _in_place
from goloader.plan.refusal import RefusalError

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")

COUNT, CLASSES = 13, 3
mixup, cutmix = v2.MixUp(alpha=0.2, num_classes=CLASSES), v2.CutMix(alpha=1.0, num_classes=CLASSES)
either = v2.RandomChoice([mixup, cutmix], p=[0.4, 0.6])
fails = v2.MixUp(num_classes=1)


def spread(batch: Any) -> Any:
    return either(*default_collate(batch))


def named(batch: Any) -> Any:
    images, labels = default_collate(batch)
    images, labels = either(images, labels)
    return [images, labels]


class Mixer:
    def __init__(self) -> None:
        self.transform = mixup

    def __call__(self, batch: Any) -> Any:
        return self.transform(torch.utils.data.default_collate(batch))


def too_few_classes(batch: Any) -> Any:
    return fails(*default_collate(batch))


def keeps_images(batch: Any) -> Any:
    images, labels = default_collate(batch)
    mixed, labels = either(images, labels)
    return images, mixed, labels


IN_PLACE: dict[str, Callable[[Any], Any]] = {
    "spread": spread, "named": named, "object": Mixer(), "fails": too_few_classes,
}  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return photos.fill(tmp_path_factory.mktemp("photos"), photos.plain(COUNT))


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("name", [*IN_PLACE, "keeps images"])
def test_mixed_batches_are_torchs(root: Path, name: str, workers: int) -> None:
    transform = v2.Compose([
        v2.RandomResizedCrop(20, antialias=True), v2.PILToTensor(), v2.ToDtype(torch.float, scale=True),
    ])  # fmt: skip
    given = loader_of(
        ImageFolder(root, transform),
        collate_fn=lambda: IN_PLACE.get(name, keeps_images),
        batch_size=4,
        shuffle=True,
        num_workers=workers,
    )
    loader: Any = goloader.DataLoader(**given())
    assert ("COLLATE_GOES_ON" in loader.explain().codes) == (name == "keeps images")
    events = check(Program(given, epochs=3, seed=7))
    assert bool(errors(events)) == (name == "fails")
    assert name == "fails" or batches(events)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_batches_of_any_shape_and_dtype_are_mixed_as_torchvision_does(dtype: torch.dtype) -> None:
    for seed in range(20):
        torch.manual_seed(seed)
        shape = [int(torch.randint(1, most, ())) for most in (6, 5, 40, 40)]
        images, labels = torch.randn(shape).to(dtype), torch.randint(CLASSES, shape[:1])
        made = []
        for mix in (either, _in_place(either)):
            torch.manual_seed(seed)
            mixed = mix(images.clone(), labels)
            made.append((*mixed, torch.get_rng_state()))
        for theirs, ours in zip(*made, strict=True):
            assert theirs.dtype == ours.dtype and theirs.stride() == ours.stride() and torch.equal(theirs, ours)


@pytest.mark.parametrize("name", IN_PLACE)
def test_the_memory_of_the_batch_is_that_of_what_is_mixed(name: str) -> None:
    assert selfcheck.holds("torchvision.mixing")
    mixed = Mixing(IN_PLACE[name]).now()
    assert mixed is not None
    images, labels = torch.rand(4, 3, 5, 6), torch.zeros(4, dtype=torch.int64)
    assert mixed([images, labels])[0] is images


def test_who_is_told_of_the_images_gets_them_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Mixing(spread).now() is not None
    handle = mixup.register_forward_hook(lambda *told: None)
    assert Mixing(spread).now() is None
    handle.remove()
    handle = torch.nn.modules.module.register_module_forward_pre_hook(lambda *told: None)
    assert Mixing(spread).now() is None
    handle.remove()
    assert Mixing(spread).now() is not None
    monkeypatch.setattr(v2.CutMix, "_mixup_label", lambda self, label, *, lam: label)
    assert Mixing(spread).now() is None
    with pytest.raises((RefusalError, UnreadableError)):
        Mixing(keeps_images)


def test_explain_says_who_mixes(root: Path) -> None:
    transform = v2.Compose([v2.Resize((8, 8)), v2.PILToTensor(), v2.ToDtype(torch.float, scale=True)])
    own = v2.MixUp(num_classes=CLASSES)
    loader: Any = goloader.DataLoader(
        ImageFolder(root, transform), batch_size=4, collate_fn=lambda batch: own(*default_collate(batch))
    )
    assert loader.explain().codes == () and loader.explain().rows[-1].where == "Go"
    handle = own.register_forward_hook(lambda *told: None)
    assert loader.explain().codes == ("COLLATE_GOES_ON",)
    handle.remove()
    assert loader.explain().codes == ()


def test_a_getter_of_the_users_own_gets_them_as_they_were() -> None:
    own = v2.MixUp(num_classes=CLASSES, labels_getter=lambda batch: batch[1])
    assert Mixing(lambda batch: own(*default_collate(batch))).now() is None
