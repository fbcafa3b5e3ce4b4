"""albumentations over files that OpenCV reads: classes that call a Compose are compiled, and their batches are torch's.

Each transform draws from a generator of its own, whose state is compared too where there are no workers.
"""

# ruff: noqa: E501 - rows of tables

from __future__ import annotations

import copy
import os
import random
import warnings
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from photos import picture, save
from PIL import Image
from torch.utils import data
from torch.utils.data import Dataset
from twins import Program, batches, bits, check, errors, loader_of, seed

import goloader

A = pytest.importorskip("albumentations")
from albumentations.pytorch import ToTensorV2  # noqa: E402

from goloader.plan.datasets.script.images import albumentations as compiled  # noqa: E402

pytestmark = [
    pytest.mark.skipif(
        any(compiled.digest_of(code) != known for code, known in compiled._KNOWN.items()),
        reason="a release whose code is not known",
    ),
]

SEED = int(os.environ.get("GOLOADER_FUZZ_SEED", "20261127"))
COUNT = 14
TAIL = [A.Normalize(), ToTensorV2()]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Photos of several sizes and shapes."""
    folder = tmp_path_factory.mktemp("photos")
    for k in range(COUNT):
        size = [(48, 40), (200, 37), (33, 140), (64, 64), (97, 85)][k % 5]
        kind = "JPEG" if k % 3 else "PNG"
        (folder / f"{k:02}.{kind.lower()}").write_bytes(save(picture(*size, k), kind))
        mask = picture(*size, k).convert("L").point(lambda value: 255 if value > 120 else value // 30)
        masks = Path(str(folder).replace("photos", "masks"))
        masks.mkdir(exist_ok=True)
        (masks / f"{k:02}.{kind.lower()}.png").write_bytes(save(mask, "PNG"))
    return folder


class Photos(Dataset[Any]):
    def __init__(self, root: Path, transform: Any) -> None:
        self.paths = sorted(map(str, root.iterdir()))
        self.labels = np.arange(len(self.paths)) % 3
        self.transform = transform

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        image = cv2.imread(self.paths[index])
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
        if self.transform:
            augmented = self.transform(image=image)
            image = augmented["image"]
        return image, torch.tensor(self.labels[index]).long()


class InBGR(Photos):
    def __getitem__(self, index: int) -> Any:
        return self.transform(image=cv2.imread(self.paths[index]))["image"]


class ByPillow(Photos):
    def __getitem__(self, index: int) -> Any:
        image = np.array(Image.open(self.paths[index]).convert("RGB"))
        return self.transform(image=image)["image"], self.labels[index]


class TwoViews(Photos):
    """Draws twice, and something of the process's generator between."""

    def __getitem__(self, index: int) -> Any:
        image = cv2.cvtColor(cv2.imread(self.paths[index]), cv2.COLOR_BGR2RGB)
        one = self.transform(image=image)["image"]
        if random.random() < 0.5:
            image = cv2.flip(image, 1)
        return one, self.transform(image=image)["image"]


class WithMasks(Photos):
    """As networks that find regions are trained."""

    def __init__(self, root: Path, transform: Any) -> None:
        super().__init__(root, transform)
        self.masks = [path.replace("photos", "masks") + ".png" for path in self.paths]

    def __getitem__(self, index: int) -> Any:
        image = cv2.cvtColor(cv2.imread(self.paths[index]), cv2.COLOR_BGR2RGB)
        mask = cv2.imread(self.masks[index], cv2.IMREAD_GRAYSCALE)
        augmented = self.transform(image=image, mask=mask)
        return augmented["image"], augmented["mask"], self.labels[index]


class WithMasksByPillow(WithMasks):
    def __getitem__(self, index: int) -> Any:
        image = np.array(Image.open(self.paths[index]).convert("RGB"))
        mask = np.array(Image.open(self.masks[index]).convert("L"), dtype=np.float32)
        mask[mask == 255.0] = 1.0
        augmented = self.transform(mask=mask, image=image)
        image, mask = augmented["image"], augmented["mask"]
        return image, mask


def compose(*transforms: Any, seed: int | None = 42) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return A.Compose(copy.deepcopy(list(transforms)), seed=seed)


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    SIZED = A.Resize(40, 36)
    PIPELINES: dict[str, list[Any]] = {
        "a notebook": [
            A.RandomResizedCrop((32, 32)), A.Transpose(p=0.5), A.HorizontalFlip(p=0.5), A.VerticalFlip(p=0.5),
            A.ShiftScaleRotate(p=0.5),
        ],
        "validation": [A.Resize(32, 48)],
        "crops": [A.RandomCrop(28, 24), A.RandomRotate90(p=0.7), A.RandomCrop(20, 20)],
        "centre": [A.CenterCrop(30, 31), A.Transpose(p=1), A.CenterCrop(12, 8, p=1)],
        "crops that do not fit": [A.RandomResizedCrop((24, 20), scale=(0.9, 1.0), ratio=(2.0, 2.5))],
        "crops that hardly fit": [A.RandomResizedCrop((24, 20), scale=(0.5, 1.0), ratio=(0.3, 0.5))],
        "by area": [A.RandomResizedCrop((24, 20), area_for_downscale="image"), A.Resize(18, 30, area_for_downscale="image")],
        "nearest": [A.RandomResizedCrop((60, 20), interpolation=cv2.INTER_NEAREST)],
        "rotation": [SIZED, A.Rotate(limit=90, border_mode=cv2.BORDER_REFLECT_101, p=0.8)],
        "rotation of all sizes": [A.Rotate(limit=(-180, 180), border_mode=cv2.BORDER_REFLECT), A.CenterCrop(16, 16)],
        "a fill": [SIZED, A.Affine(rotate=(-30, 30), fill=(10, 200, 77), p=1)],
        "affine": [
            SIZED,
            A.Affine(scale={"x": (0.8, 1.2), "y": (0.5, 0.9)}, translate_percent=(-0.2, 0.2), rotate=(-20, 200), shear=(-10, 10),
                     border_mode=cv2.BORDER_REPLICATE, p=1),
        ],
        "affine that keeps the ratio": [SIZED, A.Affine(scale=(0.8, 1.2), keep_ratio=True, shear={"x": 0, "y": (-45, 45)}, p=0.9)],
        "brightness": [SIZED, A.RandomBrightnessContrast(p=0.9), A.RandomBrightnessContrast((-0.9, 0.9), (-1, 3), p=0.5)],
        "hue": [SIZED, A.HueSaturationValue(p=0.9), A.HueSaturationValue((-200, 300), (-90, 90), 0, p=0.5)],
        "no hue": [A.HueSaturationValue(0, (-3, 0.5), 0, p=1), A.CenterCrop(20, 20)],
        "affine by pixels": [SIZED, A.Affine(translate_px={"x": (-5, 9), "y": (-3, 0)}, rotate=(0, 10), p=1)],
        "affine that only shifts": [SIZED, A.ShiftScaleRotate(scale_limit=0, rotate_limit=0, p=1)],
        "affine that does nothing": [SIZED, A.Affine(p=1)],
        "affine that hardly does anything": [SIZED, A.Affine(rotate=(-0.0008, 0.0008), p=1), A.Affine(rotate=(-2e-3, 2e-3), p=1)],
        "never": [SIZED, A.HorizontalFlip(p=0), A.Rotate(p=0.0), A.RandomRotate90(p=0.1)],
    }  # fmt: skip


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_is_albumentations_own(name: str, num_workers: int, root: Path) -> None:
    made = lambda: Photos(root, compose(*PIPELINES[name], *TAIL))  # noqa: E731
    check(Program(loader_of(made, batch_size=4, shuffle=True, num_workers=num_workers), epochs=3))


@pytest.mark.parametrize("num_workers", [0, 3])
@pytest.mark.parametrize("kind", [InBGR, ByPillow, TwoViews])
def test_classes_that_read_images_otherwise(kind: Any, num_workers: int, root: Path) -> None:
    for fill in (0, (200, 100, 0)):
        steps = [*PIPELINES["a notebook"], A.Affine(rotate=(-30, 30), fill=fill, p=0.9), *TAIL]
        made = lambda: kind(root, compose(*steps, seed=7))  # noqa: B023, E731
        check(Program(loader_of(made, batch_size=3, num_workers=num_workers), epochs=2))


MASKED: dict[str, list[Any]] = {
    "a notebook": [
        A.Resize(40, 36), A.HorizontalFlip(p=0.5), A.VerticalFlip(p=0.5), A.RandomRotate90(p=0.5),
        A.HueSaturationValue(p=0.5), A.RandomBrightnessContrast(p=0.5), A.Resize(24, 24),
    ],
    "crops": [A.RandomCrop(28, 24), A.Transpose(p=0.5), A.CenterCrop(20, 20), A.RandomRotate90(p=1)],
    "resized crops": [A.RandomResizedCrop((32, 30), p=1), A.RandomResizedCrop((32, 30), area_for_downscale="image", p=0.5)],
}  # fmt: skip


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("kind", [WithMasks, WithMasksByPillow])
@pytest.mark.parametrize("name", MASKED)
def test_masks_go_with_their_images(name: str, kind: Any, num_workers: int, root: Path) -> None:
    dataset = kind(root, compose(*MASKED[name], *TAIL))
    check(Program(loader_of(lambda: copy.deepcopy(dataset), batch_size=4, num_workers=num_workers, shuffle=True)))


@pytest.mark.parametrize(
    "transform", [A.Rotate(p=1), A.Resize(20, 20, area_for_downscale="image_mask"), A.RandomScale(p=1)], ids=repr
)
def test_masks_are_not_moved_by_what_is_not_known(transform: Any, root: Path) -> None:
    dataset = WithMasks(root, compose(A.Resize(40, 36), transform, A.CenterCrop(12, 12), *TAIL))
    check(Program(loader_of(lambda: copy.deepcopy(dataset), batch_size=4)), native=False)


def test_a_mask_of_another_size_is_the_users_error(root: Path) -> None:
    dataset = WithMasks(root, compose(A.Resize(40, 36), *TAIL))
    dataset.masks[3] = dataset.masks[4]
    events = check(Program(loader_of(lambda: copy.deepcopy(dataset), batch_size=4), epochs=1))
    assert len(errors(events)) == 1


def test_an_array_that_is_changed_behind_a_compose_is_what_that_gave(root: Path) -> None:
    class Changed(Photos):
        def __getitem__(self, index: int) -> Any:
            image = cv2.resize(cv2.imread(self.paths[index]), (20, 20))
            augmented = self.transform(image=image)["image"]
            image[:5] = 7
            return augmented

    dataset = Changed(root, compose(A.HorizontalFlip(p=0.5)))
    check(Program(loader_of(lambda: copy.deepcopy(dataset), batch_size=4)), native=False)


def test_persistent_workers_draw_on(root: Path) -> None:
    made = lambda: Photos(root, compose(*PIPELINES["a notebook"], *TAIL))  # noqa: E731
    arguments = loader_of(made, batch_size=3, num_workers=2, persistent_workers=True)
    events = batches(check(Program(arguments, epochs=3)))
    assert events[:5] != events[5:10]


def random_pipeline(generator: random.Random) -> list[Any]:
    """Transforms of any kind and settings, which leave images of one size."""
    chance = lambda: generator.choice([0, 0.3, 0.5, 0.9, 1])  # noqa: E731
    border = lambda: generator.choice(  # noqa: E731
        [cv2.BORDER_CONSTANT, cv2.BORDER_REPLICATE, cv2.BORDER_REFLECT, cv2.BORDER_REFLECT_101]
    )
    low = generator.uniform(0.05, 1)
    makers = [
        lambda: A.HorizontalFlip(p=chance()),
        lambda: A.VerticalFlip(p=chance()),
        lambda: A.HueSaturationValue(
            generator.uniform(0, 180), generator.uniform(0, 99), generator.uniform(0, 99), p=chance()
        ),
        lambda: A.RandomBrightnessContrast(generator.random(), generator.random() * 2, p=chance()),
        lambda: A.Transpose(p=chance()),
        lambda: A.RandomRotate90(p=chance()),
        lambda: A.Rotate(limit=generator.uniform(1, 180), border_mode=border(), p=chance()),
        lambda: A.ShiftScaleRotate(border_mode=border(), fill=generator.randrange(256), p=chance()),
        lambda: A.RandomResizedCrop(
            (generator.randint(20, 60), generator.randint(20, 60)),
            scale=(low, generator.uniform(low, 1)),
            ratio=(generator.uniform(0.3, 0.9), generator.uniform(0.9, 3)),
            area_for_downscale=generator.choice([None, "image"]),
            p=chance(),
        ),
        lambda: A.Affine(
            scale=(generator.uniform(0.5, 1), generator.uniform(1, 1.5)),
            translate_percent=(-generator.random() / 4, generator.random() / 4),
            rotate=(-generator.uniform(0, 90), generator.uniform(0, 270)),
            shear=(-generator.uniform(0, 20), generator.uniform(0, 20)),
            border_mode=border(),
            p=chance(),
        ),
    ]
    return [generator.choice(makers)() for _ in range(generator.randint(1, 5))] + [A.Resize(31, 29)]


@pytest.mark.parametrize("number", range(12))
def test_any_pipeline_is_albumentations_own(number: int, root: Path) -> None:
    generator = random.Random(SEED + number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        steps = random_pipeline(generator)
    made = lambda: Photos(root, compose(*steps, *TAIL, seed=number))  # noqa: E731
    check(Program(loader_of(made, batch_size=5, shuffle=True, num_workers=2 * (number % 2)), epochs=2))


def states(transform: Any) -> list[Any]:
    return [each.py_random.getstate() for each in (transform, *transform.transforms)]


def test_generators_stand_where_albumentations_would_leave_them(root: Path) -> None:
    """Without a seed each has a state of its own, and without workers an epoch goes on where the last one ended."""
    transform = compose(*PIPELINES["a notebook"], *TAIL, seed=None)
    found = []
    for kind in (goloader.DataLoader, data.DataLoader):
        dataset = Photos(root, copy.deepcopy(transform))
        seed(1)
        loader: Any = kind(dataset, batch_size=4)
        made = [bits(batch) for _ in range(3) for batch in loader]
        found.append((made, states(dataset.transform)))
    assert found[0] == found[1]
    assert found[0][1] != states(transform)


def test_workers_leave_the_users_own_generators_alone(root: Path) -> None:
    dataset = Photos(root, compose(*PIPELINES["a notebook"], *TAIL))
    before = states(dataset.transform)
    loader: Any = goloader.DataLoader(dataset, batch_size=4, num_workers=2)
    assert [bits(batch) for batch in loader] == [bits(batch) for batch in loader]
    assert states(dataset.transform) == before
    assert loader.explain().native


@pytest.mark.parametrize("num_workers", [0, 2])
def test_files_that_the_core_leaves_are_the_codes(num_workers: int, root: Path, tmp_path: Path) -> None:
    """Generators go on behind batches that the user's own code makes, or fails at."""
    turned = picture(48, 40, 3)
    exif = Image.Exif()
    exif[0x0112] = 6
    turned.save(tmp_path / "turned.jpg", exif=exif)
    (tmp_path / "image.webp").write_bytes(save(turned, "WEBP"))
    (tmp_path / "cut.png").write_bytes(save(turned, "PNG")[:200])

    def made() -> Photos:
        dataset = Photos(root, compose(*PIPELINES["a notebook"], *TAIL))
        dataset.paths[2], dataset.paths[5] = str(tmp_path / "turned.jpg"), str(tmp_path / "image.webp")
        dataset.paths[9], dataset.paths[10] = str(tmp_path / "cut.png"), str(tmp_path / "missing.jpg")
        return dataset

    for batch_size in (1, 2):
        events = check(Program(loader_of(made, batch_size=batch_size, num_workers=num_workers), epochs=2))
        assert len(errors(events)) == {1: 4, 2: 4}[batch_size]
        assert batches(events)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_what_a_user_changes_is_seen(num_workers: int, root: Path) -> None:
    def before(epoch: int, loader: Any) -> None:
        transform = loader.dataset.transform
        if epoch == 1:
            transform.transforms[1].p = 1.0
        if epoch == 2:
            transform.set_random_seed(3)
        if epoch == 3:
            transform.transforms[4].border_mode = cv2.BORDER_REFLECT
        if epoch == 4:
            transform.transforms.insert(1, A.HorizontalFlip(p=1))
        if epoch == 5:
            loader.dataset.transform = compose(A.Resize(9, 9), *TAIL)

    made = lambda: Photos(root, compose(*PIPELINES["a notebook"], *TAIL))  # noqa: E731
    check(Program(loader_of(made, batch_size=4, num_workers=num_workers), epochs=6, before=before))


def reseeding(worker: int) -> None:
    info = data.get_worker_info()
    assert info is not None
    info.dataset.transform.set_random_seed(worker)


def test_a_worker_init_fn_that_seeds_the_transforms_is_heard(root: Path) -> None:
    made = lambda: Photos(root, compose(*PIPELINES["a notebook"], *TAIL))  # noqa: E731
    seeded = lambda: reseeding  # noqa: E731
    events = check(Program(loader_of(made, batch_size=4, num_workers=2, worker_init_fn=seeded)))
    plain = check(Program(loader_of(made, batch_size=4, num_workers=2)))
    assert batches(events) != batches(plain)


class Own(A.HorizontalFlip):
    pass


REFUSED = {
    "a class of the user's": lambda: compose(SIZED, Own(), *TAIL),
    "one that may be left out": lambda: A.Compose([A.Resize(9, 9), *copy.deepcopy(TAIL)], p=0.5, seed=1),
    "one of several": lambda: compose(SIZED, A.OneOf([A.HorizontalFlip(), A.VerticalFlip()]), *TAIL),
    "bytes that are floats": lambda: compose(SIZED, A.Normalize(), A.Resize(8, 8), ToTensorV2()),
    "wrapped around": lambda: compose(SIZED, A.Affine(rotate=(-9, 9), border_mode=cv2.BORDER_WRAP), *TAIL),
    "brightness by the mean": lambda: compose(SIZED, A.RandomBrightnessContrast(brightness_by_max=False), *TAIL),
    "cubic": lambda: compose(A.Resize(9, 9, interpolation=cv2.INTER_CUBIC), *TAIL),
    "for replay": lambda: A.ReplayCompose([A.Resize(9, 9), *copy.deepcopy(TAIL)]),
    "with boxes": lambda: A.Compose(
        [A.Resize(9, 9), *copy.deepcopy(TAIL)], keypoint_params=A.KeypointParams("xy"), seed=1
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_known_is_not_compiled(name: str, root: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loader: Any = goloader.DataLoader(Photos(root, REFUSED[name]()), batch_size=4)
    assert not any(row.where == "Go" and row.stage == "source" for row in loader.explain().rows)


def test_code_that_reads_otherwise_is_another_one(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(compiled._KNOWN, "Rotate", 1)
    loader: Any = goloader.DataLoader(Photos(root, compose(SIZED, A.Rotate(), *TAIL)), batch_size=4)
    assert "Rotate, whose code is not known" in str(loader.explain())


def test_opencv_without_the_processors_instructions_is_recorded(root: Path) -> None:
    def before(epoch: int, loader: Any) -> None:
        cv2.setUseOptimized(epoch != 1)

    made = lambda: Photos(root, compose(SIZED, A.Rotate(p=1), *TAIL))  # noqa: E731
    check(Program(loader_of(made, batch_size=4), epochs=3, before=before))


def test_a_replaced_function_is_the_users(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(A.Rotate, "apply", lambda self, img, **params: img)
    loader: Any = goloader.DataLoader(Photos(root, compose(SIZED, A.Rotate(), *TAIL)), batch_size=4)
    assert not any(row.where == "Go" and row.stage == "source" for row in loader.explain().rows)
