"""torchvision's datasets of image files, other than folders: read by Go, and what comes out is torch's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torchvision.transforms as T
from photos import picture
from torch.utils.data import ConcatDataset, Subset
from torchvision import datasets
from torchvision.datasets.folder import default_loader, pil_loader
from torchvision.transforms import v2
from twins import Program, check, errors, loader_of

import goloader

WORKERS = pytest.mark.parametrize("num_workers", [0, 2])

COUNT = 11
LABELS = [(3 * k) % 4 for k in range(COUNT)]
CROP = T.Compose([T.RandomResizedCrop(20), T.RandomHorizontalFlip(), T.ToTensor()])
ANY_MODE = {
    "grey": T.Compose([T.Grayscale(3), T.RandomCrop(20), T.ToTensor()]),
    "one plane": v2.Compose([v2.Grayscale(), v2.RandomCrop(20), v2.ToImage()]),
    "rgb": v2.Compose([v2.RGB(), v2.Resize((20, 30)), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]),
}


def write(path: Path, seed: int, mode: str = "RGB") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    picture(30 + seed, 50 - seed, seed).convert(mode).save(path)
    return path


def made(kind: Any, root: Path, **attributes: Any) -> Any:
    """A dataset as its constructor leaves it, which would ask for checksums of the real files."""
    dataset = kind.__new__(kind)
    datasets.VisionDataset.__init__(dataset, root, transform=CROP)
    vars(dataset).update(attributes)
    return dataset


def listed(kind: Any) -> Callable[[Path], Any]:
    def make(root: Path) -> Any:
        files = [write(root / f"{k}.jpg", k) for k in range(COUNT)]
        return made(kind, root, _image_files=files, _labels=LABELS.copy(), loader=default_loader)

    return make


def paired(kind: Any, name: str = "_samples", suffix: str = "jpg") -> Callable[[Path], Any]:
    def make(root: Path) -> Any:
        samples = [(str(write(root / f"{k}.{suffix}", k)), LABELS[k]) for k in range(COUNT)]
        return made(kind, root, **{name: samples}, loader=pil_loader)

    return make


def food(root: Path) -> Any:
    for k, label in enumerate(LABELS):
        write(root / f"food-101/images/class{label}/{k}.jpg", k)
    (root / "food-101/meta").mkdir()
    names = {f"class{at}": [f"class{at}/{k}" for k, label in enumerate(LABELS) if label == at] for at in range(4)}
    (root / "food-101/meta/train.json").write_text(json.dumps(names))
    return datasets.Food101(root, transform=CROP)


def pets(target: Any) -> Callable[[Path], Any]:
    def make(root: Path) -> Any:
        base = root / "oxford-iiit-pet"
        for k in range(COUNT):
            write(base / f"images/pet_{k}.jpg", k)
        (base / "annotations").mkdir()
        lines = [f"pet_{k} {label + 1} {label % 2 + 1} 1\n" for k, label in enumerate(LABELS)]
        (base / "annotations/trainval.txt").write_text("".join(lines))
        return datasets.OxfordIIITPet(root, target_types=target, transform=CROP)

    return make


def caltech101(root: Path) -> Any:
    for k, label in enumerate(LABELS):
        number = LABELS[:k].count(label) + 1
        write(root / f"caltech101/101_ObjectCategories/c{label}/image_{number:04d}.jpg", k, "L" if k % 3 else "RGB")
    (root / "caltech101/101_ObjectCategories/BACKGROUND_Google").mkdir()
    (root / "caltech101/Annotations").mkdir()
    return datasets.Caltech101(root, transform=ANY_MODE["rgb"])


def caltech256(root: Path) -> Any:
    for k, label in enumerate(LABELS):
        number = LABELS[:k].count(label) + 1
        folder = root / f"caltech256/256_ObjectCategories/{label + 1:03d}.c"
        write(folder / f"{label + 1:03d}_{number:04d}.jpg", k, ("RGB", "L", "CMYK")[k % 3])
    return datasets.Caltech256(root, transform=ANY_MODE["grey"])


def inaturalist(target: str, loader: Any = None) -> Callable[[Path], Any]:
    def make(root: Path) -> Any:
        names = [f"{at:05d}_a" for at in range(4)]
        for k, label in enumerate(LABELS):
            write(root / names[label] / f"{k}.jpg", k, "L" if loader is None and k % 3 else "RGB")
        return made(
            datasets.INaturalist,
            root,
            all_categories=names,
            categories_map=[{"super": at // 2, "kingdom": 7 - at} for at in range(4)],
            target_type=[target],
            index=[(label, f"{k}.jpg") for k, label in enumerate(LABELS)],
            loader=loader,
            transform=CROP if loader else ANY_MODE["one plane"],
        )

    return make


def omniglot(root: Path) -> Any:
    for k, label in enumerate(LABELS):
        write(root / f"set/character{label}/{k}.png", k, ("1", "RGB", "L")[k % 3])
    return made(
        datasets.Omniglot,
        root,
        target_folder=str(root / "set"),
        _characters=[f"character{at}" for at in range(4)],
        _flat_character_images=[(f"{k}.png", label) for k, label in enumerate(LABELS)],
        loader=None,
        transform=T.Compose([T.RandomCrop(24, padding=3, fill=255), T.ToTensor(), T.Normalize(0.5, 0.25)]),
    )


def lfw(root: Path) -> Any:
    files = [str(write(root / f"{k}.jpg", k)) for k in range(COUNT)]
    return made(datasets.LFWPeople, root, data=files, targets=LABELS.copy(), _loader=default_loader)


KINDS: dict[str, Callable[[Path], Any]] = {
    "Caltech101": caltech101,
    "Caltech256": caltech256,
    "CLEVRClassification": listed(datasets.CLEVRClassification),
    "DTD": listed(datasets.DTD),
    "FGVCAircraft": listed(datasets.FGVCAircraft),
    "Flowers102": listed(datasets.Flowers102),
    "Food101": food,
    "Imagenette": paired(datasets.Imagenette),
    "INaturalist": inaturalist("full"),
    "INaturalist by kingdom": inaturalist("kingdom", default_loader),
    "LFWPeople": lfw,
    "Omniglot": omniglot,
    "OxfordIIITPet": pets("category"),
    "OxfordIIITPet, cats and dogs": pets(["binary-category"]),
    "Places365": paired(datasets.Places365, "imgs"),
    "RenderedSST2": paired(datasets.RenderedSST2, suffix="png"),
    "StanfordCars": paired(datasets.StanfordCars),
    "SUN397": listed(datasets.SUN397),
}


@pytest.mark.parametrize("name", KINDS)
def test_every_dataset(name: str, tmp_path: Path) -> None:
    dataset = KINDS[name](tmp_path)
    check(Program(loader_of(dataset, batch_size=4, shuffle=True), draw=True))
    check(Program(loader_of(Subset(dataset, range(0, COUNT, 2)), batch_size=4, num_workers=2), draw=True))


@pytest.mark.parametrize("transform", ANY_MODE)
def test_files_of_any_mode(transform: str, tmp_path: Path) -> None:
    dataset = caltech256(tmp_path)
    dataset.transform = ANY_MODE[transform]
    check(Program(loader_of(dataset, batch_size=4, shuffle=True, num_workers=2)))


def test_datasets_of_all_kinds_in_a_row(tmp_path: Path) -> None:
    parts = [KINDS[name](tmp_path / name) for name in ("Food101", "OxfordIIITPet", "Imagenette")]
    check(Program(loader_of(ConcatDataset(parts), batch_size=4, shuffle=True, num_workers=2)))


def break_file(epoch: int, loader: Any) -> None:
    dataset = loader.dataset
    if epoch == 1:
        Path(dataset._images[3]).write_bytes(b"no image")
        dataset._images[5] = Path("missing.jpg")
    if epoch == 2:
        dataset._images.reverse()
        dataset._labels[2] = 77
        dataset.transforms = datasets.vision.StandardTransform(T.Compose([T.Resize((9, 9)), T.ToTensor()]))


@WORKERS
@pytest.mark.slow
def test_errors_and_changes_between_epochs_are_torchs(num_workers: int, tmp_path: Path) -> None:
    def run(kind: Any) -> list[Any]:
        torch.manual_seed(0)
        loader = kind(pets("category")(tmp_path / kind.__module__), batch_size=4, num_workers=num_workers)
        seen: list[Any] = []
        for epoch in range(3):
            break_file(epoch, loader)
            iterator = iter(loader)
            for _ in range(len(loader)):
                try:
                    seen.append([tensor.clone() for tensor in next(iterator)])
                except Exception as error:
                    seen.append(type(error))
        return seen

    ours, theirs = run(goloader.DataLoader), run(torch.utils.data.DataLoader)
    assert sum(isinstance(each, type) for each in theirs) >= 2
    for mine, its in zip(ours, theirs, strict=True):
        assert mine is its if isinstance(its, type) else all(map(torch.equal, mine, its))


@pytest.mark.parametrize("name", ["Food101", "OxfordIIITPet"])
def test_the_text_of_an_error(name: str, tmp_path: Path) -> None:
    dataset = KINDS[name](tmp_path)
    files = dataset._images if name == "OxfordIIITPet" else dataset._image_files
    files[2].write_bytes(b"no image")
    files[7].unlink()
    assert len(errors(check(Program(loader_of(dataset, batch_size=2, num_workers=2), epochs=1)))) == 2


def test_labels_of_other_kinds(tmp_path: Path) -> None:
    named, halves = KINDS["Imagenette"](tmp_path / "named"), KINDS["StanfordCars"](tmp_path / "halves")
    named.target_transform = str
    halves._samples = [(path, label + 0.5) for path, label in halves._samples]
    for dataset in (named, halves):
        check(Program(loader_of(dataset, batch_size=3, num_workers=2), epochs=2))
        assert goloader.DataLoader(dataset).explain().native


def with_(name: str, folder: Path, **attributes: Any) -> Any:
    dataset = KINDS[name](folder / f"{name}, {', '.join(attributes)}")
    vars(dataset).update(attributes)
    return dataset


@WORKERS
def test_options_of_the_datasets(num_workers: int, tmp_path: Path) -> None:
    """What a dataset does by them is read from its code."""
    for dataset in (
        with_("Caltech256", tmp_path, transform=CROP),  # its files are of three modes: most of them are torch's error
        pets(["category", "binary-category"])(tmp_path / "both"),
        with_("INaturalist", tmp_path, target_type=["full", "super"]),
        with_("Flowers102", tmp_path, target_transform=lambda label: label + 1),
    ):
        check(Program(loader_of(dataset, batch_size=4, shuffle=True, num_workers=num_workers), draw=True))


class Importing(datasets.Flowers102):
    """As Caltech101, whose code imports scipy for each sample and does not use it."""

    def __getitem__(self, index: int) -> Any:
        import none_of_that  # type: ignore[import-not-found]  # noqa: F401

        return super().__getitem__(index)


def test_a_module_that_is_not_installed_is_torchs_error(tmp_path: Path) -> None:
    dataset = listed(Importing)(tmp_path)
    assert errors(check(Program(loader_of(dataset, batch_size=4), epochs=1), native=False))


def test_what_stays_with_torch(tmp_path: Path) -> None:
    others = {
        "a loader of its own": with_(
            "Food101", tmp_path, loader=lambda path: pil_loader(path).quantize(9).convert("RGB")
        ),
        "a picture as target": pets("segmentation")(tmp_path / "picture"),
        "both at once": with_("OxfordIIITPet", tmp_path, transforms=lambda image, label: (image, label)),
        "labels of no use": with_("Places365", tmp_path, imgs=[("a.jpg", None)] * 3),
        "too few labels": with_("DTD", tmp_path, _labels=[1]),
        "a class that is not there": with_("Caltech256", tmp_path, y=[9] * COUNT),
    }
    for name, dataset in others.items():
        loader = goloader.DataLoader(dataset)
        assert not loader.explain().native, (name, str(loader.explain()))
    seeded = [row for row in goloader.DataLoader(datasets.FakeData(transform=CROP)).explain() if row.stage == "source"]
    assert "torch.randn" in seeded[0].why
