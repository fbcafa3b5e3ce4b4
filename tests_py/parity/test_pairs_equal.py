"""torchvision's datasets of images and masks: both read by Go, and what comes out is torch's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms as T
from photos import picture
from PIL import Image
from torch.utils.data import ConcatDataset, Subset
from torchvision import datasets, tv_tensors
from torchvision.transforms import InterpolationMode, v2
from twins import Program, check, errors, loader_of

import goloader

WORKERS = pytest.mark.parametrize("num_workers", [0, 2])

COUNT = 9


def mask(width: int, height: int, seed: int, mode: str) -> Image.Image:
    """Blots of a few classes, and a border of 255 between some."""
    rng = np.random.default_rng(1000 + seed)
    coarse = rng.choice(np.array([0, 1, 2, 7, 20, 255], np.uint8), (height // 5 + 1, width // 4 + 1))
    image = Image.fromarray(np.kron(coarse, np.ones((5, 4), np.uint8))[:height, :width])
    if mode == "P":
        image.putpalette(rng.integers(0, 256, 768, dtype=np.uint8).tobytes())
    return image.convert(mode)


def write(image: Path, target: Path, seed: int, mode: str) -> None:
    size = 40 + seed, 52 - 2 * seed
    for path in (image, target):
        path.parent.mkdir(parents=True, exist_ok=True)
    picture(*size, seed).save(image)
    mask(*size, seed, mode).save(target)


def voc(root: Path, mode: str = "P", **transforms: Any) -> Any:
    base = root / "VOCdevkit/VOC2012"
    for k in range(COUNT):
        write(base / f"JPEGImages/{k}.jpg", base / f"SegmentationClass/{k}.png", k, mode)
    (base / "ImageSets/Segmentation").mkdir(parents=True)
    (base / "ImageSets/Segmentation/train.txt").write_text("".join(f"{k}\n" for k in range(COUNT)))
    return datasets.VOCSegmentation(root, **transforms)


def pets(root: Path, mode: str = "L", **transforms: Any) -> Any:
    base = root / "oxford-iiit-pet"
    for k in range(COUNT):
        write(base / f"images/pet_{k}.jpg", base / f"annotations/trimaps/pet_{k}.png", k, mode)
    (base / "annotations/trainval.txt").write_text("".join(f"pet_{k} 1 1 1\n" for k in range(COUNT)))
    return datasets.OxfordIIITPet(root, target_types="segmentation", **transforms)


def city(root: Path, mode: str = "L", target: str = "semantic", **transforms: Any) -> Any:
    suffix = {"semantic": "labelIds", "instance": "instanceIds", "color": "color"}[target]
    for k in range(COUNT):
        name = f"train/aachen/aachen_{k:06}_000019"
        write(root / f"leftImg8bit/{name}_leftImg8bit.png", root / f"gtFine/{name}_gtFine_{suffix}.png", k, mode)
    return datasets.Cityscapes(root, target_type=target, **transforms)


KINDS: dict[str, Callable[..., Any]] = {"voc": voc, "pets": pets, "city": city}

APART = {
    "random image": {
        "transform": T.Compose([T.RandomResizedCrop(20), T.RandomHorizontalFlip(), T.ToTensor()]),
        "target_transform": T.Compose([T.Resize((24, 17), InterpolationMode.NEAREST), T.PILToTensor()]),
    },
    "both random": {
        "transform": T.Compose([T.Resize(33), T.RandomCrop(24), T.ToTensor(), T.Normalize((0.4,) * 3, (0.2,) * 3)]),
        "target_transform": T.Compose([T.RandomCrop(50, pad_if_needed=True, fill=255), T.PILToTensor()]),
    },
    "bilinear masks": {  # which Pillow does of mode L and does not of mode P
        "transform": T.Compose([T.Resize((30, 20)), T.PILToTensor()]),
        "target_transform": T.Compose([T.Resize((30, 20)), T.RandomVerticalFlip(), T.ToTensor()]),
    },
    "padded": {
        "transform": v2.Compose([v2.CenterCrop(60), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]),
        "target_transform": v2.Compose(
            [v2.Pad([3, 5, 30, 40], padding_mode="symmetric"), v2.CenterCrop(60), v2.ToImage(), v2.ToDtype(torch.int64)]
        ),
    },
}

MASKS_TOO = {tv_tensors.Image: torch.float32, tv_tensors.Mask: torch.int64, "others": None}
TOGETHER = {
    "crops": v2.Compose(
        [
            v2.RandomResizedCrop(24),
            v2.RandomHorizontalFlip(),
            v2.ToImage(),
            v2.ToDtype(MASKS_TOO, scale=True),
            v2.Normalize((0.4,) * 3, (0.2,) * 3),
        ]
    ),
    "references": v2.Compose(
        [
            v2.Resize(36, antialias=True),
            v2.RandomVerticalFlip(),
            v2.RandomCrop(64, pad_if_needed=True, fill={tv_tensors.Mask: 255, "others": 0}),
            v2.ToImage(),
            v2.ToDtype(MASKS_TOO, scale=True),
            v2.ToPureTensor(),
        ]
    ),
    "tensors": v2.Compose(
        [
            v2.ToImage(),
            v2.RandomResizedCrop(21, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.ToDtype(MASKS_TOO, scale=True),
        ]
    ),
    "edges": v2.Compose(
        [v2.RandomCrop(44, padding=9, padding_mode="reflect"), v2.Pad(2, padding_mode="edge"), v2.ToImage()]
    ),
}


@WORKERS
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("transforms", APART.values(), ids=APART)
def test_transforms_of_their_own(name: str, transforms: dict[str, Any], num_workers: int, tmp_path: Path) -> None:
    dataset = KINDS[name](tmp_path, **transforms)
    check(Program(loader_of(dataset, batch_size=4, shuffle=True, num_workers=num_workers)))


@WORKERS
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("transforms", TOGETHER.values(), ids=TOGETHER)
def test_masks_of_the_wrapper(name: str, transforms: Any, num_workers: int, tmp_path: Path) -> None:
    dataset = datasets.wrap_dataset_for_transforms_v2(KINDS[name](tmp_path, transforms=transforms))
    check(Program(loader_of(dataset, batch_size=4, shuffle=True, num_workers=num_workers)))


@WORKERS
@pytest.mark.parametrize("name", KINDS)
def test_two_pictures_together(name: str, num_workers: int, tmp_path: Path) -> None:
    for number, transforms in enumerate(
        (
            v2.Compose([v2.RandomResizedCrop(24), v2.RandomHorizontalFlip(), v2.ToImage(), v2.ToDtype(torch.float32)]),
            v2.Compose(
                [v2.Resize((31, 29)), v2.RandomCrop(20), v2.PILToTensor(), v2.ToDtype(torch.float32, scale=True)]
            ),
        )
    ):
        dataset = KINDS[name](tmp_path / str(number), transforms=transforms)
        check(Program(loader_of(dataset, batch_size=4, shuffle=True, num_workers=num_workers)))


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_palettes_of_any_depth_keep_their_numbers(bits: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(bits)
    dataset = voc(
        tmp_path, transform=APART["padded"]["transform"], target_transform=APART["both random"]["target_transform"]
    )
    for path in dataset.masks:
        size = Image.open(path).size
        numbers = rng.integers(0, 1 << bits, size[::-1], dtype=np.uint8)
        image = Image.fromarray(numbers)
        image.putpalette(rng.integers(0, 256, 3 << bits, dtype=np.uint8).tobytes())
        image.save(path, bits=bits, transparency=int(rng.integers(1 << bits)))
        assert (np.asarray(Image.open(path)) == numbers).all()
    check(Program(loader_of(dataset, batch_size=4, num_workers=2)))


@WORKERS
@pytest.mark.parametrize(("name", "mode"), [("BMP", "P"), ("BMP", "L"), ("GIF", "P"), ("TIFF", "P"), ("TIFF", "L")])
def test_masks_of_other_formats(name: str, mode: str, num_workers: int, tmp_path: Path) -> None:
    dataset = voc(
        tmp_path, transform=APART["padded"]["transform"], target_transform=APART["both random"]["target_transform"]
    )
    for number, path in enumerate(dataset.masks):
        made = mask(*Image.open(path).size, number, mode)
        made.save(path, name)  # under the name of a PNG
        assert Image.open(path).mode == made.mode
    check(Program(loader_of(dataset, batch_size=4, shuffle=True, num_workers=num_workers)))
    assert "by Pillow" not in str(goloader.DataLoader(dataset).explain())


def damage(paths: list[Path]) -> None:
    """Files that are not there, that are none, and that end early, before and after the header."""
    paths[0].unlink()
    paths[1].write_bytes(b"no image at all")
    paths[2].write_bytes(paths[2].read_bytes()[:-30])
    paths[3].write_bytes(paths[3].read_bytes()[:20])


@WORKERS
@pytest.mark.parametrize("which", ["images", "targets"])
@pytest.mark.parametrize("how", ["apart", "together", "wrapped"])
def test_damaged_files(how: str, which: str, num_workers: int, tmp_path: Path) -> None:
    transforms: dict[str, Any] = APART["both random"] if how == "apart" else {"transforms": TOGETHER["crops"]}
    if how == "together":
        transforms = {"transforms": v2.Compose([v2.RandomVerticalFlip(), v2.RandomResizedCrop(24), v2.ToImage()])}
    dataset = voc(tmp_path, **transforms)
    damage([Path(path) for path in getattr(dataset, which)][2:6])
    if how == "wrapped":
        dataset = datasets.wrap_dataset_for_transforms_v2(dataset)
    for batch_size in (1, 3):
        program = Program(
            loader_of(dataset, batch_size=batch_size, shuffle=True, num_workers=num_workers), seed=batch_size
        )
        assert errors(check(program))


@WORKERS
def test_masks_of_another_size_than_their_images(num_workers: int, tmp_path: Path) -> None:
    for number, transforms in enumerate(
        (
            v2.Compose([v2.RandomHorizontalFlip(), v2.RandomCrop(20), v2.ToImage()]),
            v2.Compose([v2.RandomResizedCrop(20), v2.ToImage()]),
            v2.Compose([v2.RandomVerticalFlip(), v2.Resize((30, 30)), v2.RandomCrop(20), v2.ToImage()]),
        )
    ):
        dataset = voc(tmp_path / str(number), transforms=transforms)
        mask(35, 33, 1, "P").save(dataset.masks[4])
        program = Program(loader_of(dataset, batch_size=2, num_workers=num_workers), epochs=1)
        assert bool(errors(check(program))) == (number < 2)


@WORKERS
def test_crops_that_are_too_large(num_workers: int, tmp_path: Path) -> None:
    crops = {
        "transform": T.Compose([T.RandomCrop((36, 40)), T.ToTensor()]),
        "target_transform": T.Compose([T.RandomCrop((38, 30)), T.PILToTensor()]),
    }
    program = Program(loader_of(voc(tmp_path, **crops), batch_size=2, shuffle=True, num_workers=num_workers))
    assert errors(check(program))


def test_images_or_masks_of_a_batch_that_differ_in_size(tmp_path: Path) -> None:
    crop = T.Compose([T.RandomCrop(12), T.ToTensor()])
    for number, (transform, of_target) in enumerate(((T.ToTensor(), crop), (crop, T.ToTensor()), (T.ToTensor(),) * 2)):
        dataset = voc(tmp_path / str(number), transform=transform, target_transform=of_target)
        assert errors(check(Program(loader_of(dataset, batch_size=2))))


@WORKERS
@pytest.mark.parametrize(
    "transforms", [APART["both random"], {"transforms": TOGETHER["edges"]}], ids=["apart", "together"]
)
def test_what_only_pillow_reads(transforms: dict[str, Any], num_workers: int, tmp_path: Path) -> None:
    """An image and a mask that are PCX files, of the first sample of a batch, of the second, and both of one sample."""
    dataset = voc(tmp_path, **transforms)
    image, target = tmp_path / "image.jpg", tmp_path / "target.png"
    for path, picked in ((image, dataset.images[5]), (target, dataset.masks[5])):
        whole = Image.open(picked)
        whole.load()
        whole.save(path, "PCX")
    images, targets = dataset.images * 5, dataset.targets * 5
    for of_images, of_targets in (((4, 9), (8, 21)), ((0,), (0, 13)), ((), (0,))):
        dataset.images, dataset.targets = images.copy(), targets.copy()
        for k in {*of_images, *of_targets}:  # of one size
            dataset.images[k] = str(image) if k in of_images else images[5]
            dataset.targets[k] = str(target) if k in of_targets else targets[5]
        check(Program(loader_of(dataset, batch_size=4, num_workers=num_workers), epochs=1))


@WORKERS
def test_parts_of_datasets(num_workers: int, tmp_path: Path) -> None:
    one = voc(tmp_path / "voc", **APART["both random"])
    other = pets(tmp_path / "pets", **APART["both random"])
    dataset = ConcatDataset([Subset(one, [3, 1, -1]), Subset(other, [0, 8, 8, 2]), one])
    check(Program(loader_of(dataset, batch_size=5, shuffle=True, num_workers=num_workers, drop_last=True)))


def test_keyed_draws_do_not_depend_on_workers(tmp_path: Path) -> None:
    dataset = voc(tmp_path, **APART["both random"])
    runs = []
    for arguments in ({"num_workers": 0, "batch_size": 3}, {"num_workers": 2, "batch_size": 1}):
        loader = goloader.DataLoader(dataset, rng="sample", generator=torch.Generator().manual_seed(3), **arguments)
        assert loader.explain().native
        runs.append([torch.cat(each) for each in zip(*loader, strict=True)])
    assert all(map(torch.equal, *runs))


def test_an_epoch_goes_on_where_it_was_left(tmp_path: Path) -> None:
    dataset = voc(tmp_path, transforms=TOGETHER["edges"])

    def loader() -> Any:
        return goloader.DataLoader(dataset, shuffle=True, num_workers=2, generator=torch.Generator().manual_seed(5))

    first = loader()
    batches = iter(first)
    for _ in range(4):
        next(batches)
    resumed = loader()
    resumed.load_state_dict(first.state_dict())
    rest, again = list(batches), list(resumed)
    assert len(rest) == len(again) == COUNT - 4
    assert all(
        torch.equal(a, b) for one, other in zip(rest, again, strict=True) for a, b in zip(one, other, strict=True)
    )


def test_a_dataset_that_changes_between_epochs(tmp_path: Path) -> None:
    def change(epoch: int, loader: Any) -> None:
        dataset = loader.dataset
        if epoch == 1:
            dataset.images[2], dataset.targets[2] = dataset.images[0], dataset.targets[0]
        elif epoch == 2:
            dataset.transforms.target_transform = T.Compose([T.CenterCrop(9), T.PILToTensor()])

    number = iter(range(100))
    check(
        Program(
            lambda: {
                "dataset": voc(tmp_path / str(next(number)), **APART["random image"]),
                "batch_size": 4,
                "num_workers": 2,
            },
            epochs=3,
            before=change,
        )
    )


def test_a_mask_of_another_mode_is_named(tmp_path: Path) -> None:
    dataset = voc(tmp_path, **APART["random image"])
    loader = goloader.DataLoader(dataset, batch_size=4)
    assert loader.explain().native
    mask(30, 30, 0, "L").save(dataset.masks[6])
    next(batches := iter(loader))
    with pytest.raises(RuntimeError, match=r"6\.png is an image of mode L, where all targets were of mode P"):
        next(batches)
    assert len(next(batches)[0]) == 1


def test_what_stays_with_python(tmp_path: Path) -> None:
    numbers = iter(range(100))

    def made(**arguments: Any) -> Any:
        kind = arguments.pop("kind", voc)
        return kind(tmp_path / str(next(numbers)), **({**APART["random image"], **arguments}))

    one_mode = made()
    mask(30, 30, 0, "L").save(one_mode.masks[3])
    joint = {"transform": None, "target_transform": None}
    others = {
        "masks of two modes": one_mode,
        "a function of the user's": made(
            transform=None, target_transform=None, transforms=lambda image, target: (image, 1)
        ),
        "v1 of two": made(**joint, transforms=T.Compose([T.ToTensor()])),
        "no tensor": made(target_transform=None),
        "what a palette is in grey": made(target_transform=T.Compose([T.Grayscale(), T.PILToTensor()])),
        "polygons": made(kind=city, target="semantic"),
    }
    others["polygons"].target_type = ["polygon"]
    for name, dataset in others.items():
        assert not goloader.DataLoader(dataset).explain().native, name
    instances = city(tmp_path / "wrapped", target="instance", transforms=TOGETHER["crops"])
    assert not goloader.DataLoader(datasets.wrap_dataset_for_transforms_v2(instances)).explain().native


@WORKERS
def test_what_is_no_mask_for_all_that_the_class_says(num_workers: int, tmp_path: Path) -> None:
    numbers = iter(range(100))

    def made(kind: Callable[..., Any], **arguments: Any) -> Any:
        return kind(tmp_path / str(next(numbers)), **APART["random image"], **arguments)

    deep, in_tuple = made(city, target="instance"), made(voc)
    Image.fromarray(np.zeros((30, 30), np.uint16)).save(deep.targets[3][0])  # which its own code is left with
    in_tuple.targets = tuple(in_tuple.targets)
    for dataset in (deep, made(city, target="color", mode="RGB"), in_tuple):
        check(Program(loader_of(dataset, batch_size=3, num_workers=num_workers)))


@pytest.mark.parametrize("how", ["apart", "together", "wrapped"])
@pytest.mark.parametrize(("owner", "name"), [(Image, "open"), (Image.Image, "convert"), (Image.Image, "load")])
def test_a_replaced_function_is_the_users(
    how: str, owner: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transforms: dict[str, Any] = APART["random image"] if how == "apart" else {"transforms": TOGETHER["edges"]}
    dataset = voc(tmp_path, **transforms)
    if how == "wrapped":
        dataset = datasets.wrap_dataset_for_transforms_v2(dataset)
    loader = goloader.DataLoader(dataset, batch_size=4)
    assert loader.explain().native
    original = getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *args, **options: original(*args, **options))
    assert not loader.explain().native


def test_explain_tells_of_both(tmp_path: Path) -> None:
    dataset = voc(tmp_path, **APART["random image"])
    rows = [(row.stage, row.what) for row in goloader.DataLoader(dataset, batch_size=4).explain()]
    assert ("source", f"VOCSegmentation, {COUNT} samples") in rows
    assert ("transform", "ToTensor()") in rows
    assert ("transform", "of the target: PILToTensor()") in rows
