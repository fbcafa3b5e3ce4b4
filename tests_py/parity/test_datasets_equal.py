"""Folders of every kind of file, and subsets and chains of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import photos
import pytest
import torch
import torchvision.transforms as T
from photos import Make, tail
from PIL import Image
from torch.utils.data import ConcatDataset, Subset, random_split
from torchvision.datasets import DatasetFolder, ImageFolder
from torchvision.datasets.folder import IMG_EXTENSIONS, default_loader
from torchvision.transforms import v2
from twins import Program, check, generator, loader_of

WORKERS = pytest.mark.parametrize("num_workers", [0, 2])


@pytest.fixture
def any_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders stay native however many of their files only Pillow reads."""
    monkeypatch.setattr("goloader.plan.datasets.FOREIGN_SHARE_MAX", 1.0)


@WORKERS
@pytest.mark.usefixtures("any_share")
def test_subsets_and_splits(dataset: ImageFolder, num_workers: int) -> None:
    inner = Subset(dataset, [5, 3, -1, 30, 8, 9, 10, 2, 1, 0])
    many: list[Any] = [
        inner,
        Subset(inner, range(7)),
        Subset(dataset, torch.arange(11)),
        Subset(dataset, [3] * 9),
        *random_split(dataset, [0.7, 0.3], generator=generator()),
    ]
    for each in many:
        check(Program(loader_of(each, batch_size=4, shuffle=True, num_workers=num_workers), draw=True))
    check(Program(loader_of(Subset(dataset, []), batch_size=4, num_workers=num_workers)))


@WORKERS
def test_chains_with_transforms_of_their_own(dataset: ImageFolder, make: Make, num_workers: int) -> None:
    other = make(photos.plain(13), T.Compose([T.Resize((32, 32)), T.RandomVerticalFlip(), *tail()]))
    third = make(photos.plain(5), v2.Compose([v2.CenterCrop(32), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]))
    chain = ConcatDataset([dataset, other, Subset(dataset, [4, 5, 6]), third, dataset])
    for each in chain, Subset(chain, range(0, len(chain), 3)), ConcatDataset([chain, other]):
        check(Program(loader_of(each, batch_size=9, shuffle=True, num_workers=num_workers), draw=True))


@WORKERS
@pytest.mark.usefixtures("any_share")
@pytest.mark.parametrize("batch_size", [5, None])
def test_files_that_only_pillow_reads_or_that_lie_about_their_kind(
    make: Make, num_workers: int, batch_size: int | None
) -> None:
    files = make(photos.foreign())
    check(Program(loader_of(files, batch_size=batch_size, shuffle=True, num_workers=num_workers), draw=True))


@WORKERS
def test_dataset_folder(kinds: Path, augment: Any, num_workers: int) -> None:
    for how in {"extensions": IMG_EXTENSIONS}, {"is_valid_file": lambda path: path.endswith("g")}:
        files = DatasetFolder(str(kinds), default_loader, transform=augment, **how)
        check(Program(loader_of(files, batch_size=5, shuffle=True, num_workers=num_workers)))


@WORKERS
def test_names_and_links(tmp_path: Path, augment: Any, num_workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = photos.fill(tmp_path / "elsewhere", photos.plain(8))
    root = tmp_path / "root with space"
    (root / "klaß" / "deeper").mkdir(parents=True)
    (root / "linked").symlink_to(elsewhere / "a")
    content = next(iter(photos.plain(1).values()))
    for name in ("line\nbreak.jpg", "ünï.JPG", "deeper/x.jpeg", " .jpg", os.fsdecode(b"\xff\xfe.jpg"), "-n.jpg"):
        (root / "klaß" / name).write_bytes(content)
    (root / "klaß" / "soft.jpg").symlink_to(elsewhere / "b" / "001.jpg")
    os.link(elsewhere / "b" / "001.jpg", root / "klaß" / "hard.jpg")
    check(Program(loader_of(ImageFolder(str(root), augment), batch_size=4, num_workers=num_workers)))
    # A relative path is looked up from where the process stands then.
    monkeypatch.chdir(tmp_path)
    relative = ImageFolder("root with space", augment)
    check(Program(loader_of(relative, batch_size=4, num_workers=num_workers)))
    monkeypatch.chdir("/")
    check(Program(loader_of(relative, batch_size=4, num_workers=num_workers)))


def tails() -> dict[str, list[Any]]:
    """What makes a tensor of an image, in all dtypes."""
    table: dict[str, list[Any]] = {
        "v1 uint8": [T.PILToTensor()],
        "v1 float": [T.ToTensor()],
        "v1 grey": [T.Grayscale(), T.ToTensor()],
        "v1 grey uint8": [T.Grayscale(), T.PILToTensor()],
        "v2 grey uint8": [T.Grayscale(), v2.ToImage()],
        "v1 convert": [T.PILToTensor(), T.ConvertImageDtype(torch.float64), T.Normalize((0.5,) * 3, (0.1, 0.2, 0.3))],
        "v1 half": [T.PILToTensor(), T.ConvertImageDtype(torch.float16)],
        "v2 uint8": [v2.ToImage()],
        "v2 PILToTensor": [v2.PILToTensor()],
    }
    for dtype in torch.uint8, torch.int16, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64:
        for scale in False, True:
            table[f"v2 {dtype} scale={scale}"] = [v2.ToImage(), v2.ToDtype(dtype, scale=scale)]
    for dtype in torch.float16, torch.bfloat16, torch.float64:
        table[f"v2 normalized {dtype}"] = [
            v2.ToImage(),
            v2.ToDtype(dtype, scale=True),
            v2.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        ]
    return table


@pytest.mark.parametrize("name", tails())
def test_every_dtype_with_torch_s_strides(make: Make, name: str) -> None:
    for size in (30, (1, 5), (1, 1)):
        files = make(photos.plain(9), T.Compose([T.RandomCrop(size), *tails()[name]]))
        for batch_size in 1, 4:
            for num_workers in 0, 1:
                check(Program(loader_of(files, batch_size=batch_size, num_workers=num_workers), epochs=1, draw=True))


@pytest.mark.parametrize("name", tails())
def test_samples_without_batches_keep_their_strides(make: Make, name: str) -> None:
    # Lowered or not: what comes out is torch's.
    import goloader

    files = make(photos.plain(5), T.Compose([T.RandomCrop(30), *tails()[name]]))
    native = goloader.DataLoader(files, batch_size=None).explain().native
    check(Program(loader_of(files, batch_size=None, num_workers=0), epochs=1, draw=True), native=native)


@WORKERS
def test_labels_of_any_size(make: Make, num_workers: int) -> None:
    files = make(photos.plain(9))
    files.samples = [(path, (-1) ** n * 2 ** (7 * n)) for n, (path, _) in enumerate(files.samples)]
    for batch_size in 4, None:
        check(Program(loader_of(files, batch_size=batch_size, num_workers=num_workers)))


@WORKERS
def test_large_images_shrunk_a_lot(tmp_path: Path, num_workers: int) -> None:
    (tmp_path / "a").mkdir()
    for seed, size in enumerate([(1501, 20), (19, 1400), (900, 700), (640, 480)]):
        photos.picture(*size, seed).save(tmp_path / "a" / f"{seed}.jpg", quality=90)
    files = ImageFolder(str(tmp_path), T.Compose([T.Resize(24, Image.Resampling.BICUBIC), T.RandomCrop(24), *tail()]))
    check(Program(loader_of(files, batch_size=3, num_workers=num_workers), epochs=1))
