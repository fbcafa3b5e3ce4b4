"""The README's tables are what explain() says and what was measured; `GOLOADER_UPDATE=1 pytest tests_py/readme` writes
them anew."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import datasets as hugging_face
import h5py
import imageio
import imageio.v2
import imageio.v3
import matplotlib.image as mpimg
import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import safetensors.torch
import skimage.color
import skimage.io
import torch
import webdataset as wds
from PIL import Image, ImageFilter
from torch import nn
from torch.utils import data
from torchvision import datasets
from torchvision import transforms as v1
from torchvision.models import get_weight
from torchvision.transforms import v2

import goloader
from bench import against_table, against_torch, cache, gpu, harness, many_files, ranks, ray_data, remote
from bench.programs import table as programs_table
from bench.programs import turns
from goloader import ArrayDataset, DataLoader, Explanation, FileArray, TokenDataset
from goloader.datasets import TarImages
from tests_py.pages import REPOSITORY, part, require_part

README = REPOSITORY / "README.md"
TAIL = [v1.ToTensor()]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two classes of two images of 16x16."""
    folder = tmp_path_factory.mktemp("readme")
    pixels = np.random.default_rng(0).integers(0, 256, (16, 16, 3), np.uint8)
    for name in ("a/0.jpg", "a/1.png", "b/2.jpg", "b/3.jpg"):
        (folder / name).parent.mkdir(exist_ok=True)
        Image.fromarray(pixels).save(folder / name)
    return folder


def image_folder(root: Path, transform: Any = None) -> datasets.ImageFolder:
    return datasets.ImageFolder(root, v1.Compose(TAIL) if transform is None else transform)


class WithPaths(datasets.ImageFolder):
    def __getitem__(self, index: int) -> Any:
        return *super().__getitem__(index), self.imgs[index][0]


class Overridden(datasets.ImageFolder):
    def __getitem__(self, index: int) -> Any:
        image, label = super().__getitem__(index)
        return (image if index % 2 else image.flip(2)), label


class Photos(data.Dataset[torch.Tensor]):
    def __init__(self, root: Path) -> None:
        self.paths = sorted(root.glob("*/*"))

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> torch.Tensor:
        image = Image.open(self.paths[index]).convert("RGB")
        return v1.functional.to_tensor(v1.RandomResizedCrop(8)(image))


class Listed(data.Dataset[Any]):
    """A table of files and labels."""

    def __init__(self, root: Path, transform: Any) -> None:
        self.root, self.transform = str(root), transform
        self.rows = [{"file": str(path.relative_to(root)), "label": "3"} for path in sorted(root.glob("*/*"))]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Any:
        row = self.rows[index]
        image = Image.open(os.path.join(self.root, row["file"])).convert("RGB")
        if self.transform is not None:
            image = self.transform(image)
        return {"image": image, "label": int(row["label"]), "file": row["file"]}


class ReadAsArrays(data.Dataset[Any]):
    """Files that another library than Pillow reads."""

    def __init__(self, paths: list[str], read: Callable[[str], Any]) -> None:
        self.paths, self.read = paths, read

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        image = self.read(self.paths[index])
        if image.ndim == 2:
            image = skimage.color.gray2rgb(image)
        image = image[..., :3].astype(np.float32) / 255.0
        return torch.from_numpy(image[:, :, ::-1].transpose(2, 0, 1).copy()), index


class Views(Listed):
    """Two views of each image."""

    def __getitem__(self, index: int) -> Any:
        image = Image.open(os.path.join(self.root, self.rows[index]["file"])).convert("RGB")
        return self.transform(image), self.transform(image)


class Wrapping(data.Dataset[Any]):
    """A split with a transform of its own."""

    def __init__(self, subset: data.Subset[Any], transform: Any) -> None:
        self.subset, self.transform = subset, transform

    def __len__(self) -> int:
        return len(self.subset)

    def __getitem__(self, index: int) -> Any:
        image, label = self.subset[index]
        return self.transform(image), label


def open_file(path: str) -> Image.Image:
    with open(path, "rb") as file:
        return Image.open(file).convert("RGB")


class Touched(Photos):
    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.tensor(np.asarray(Image.open(self.paths[index])).mean())


class Streamed(data.IterableDataset[torch.Tensor]):
    def __init__(self, root: Path) -> None:
        self.photos = Photos(root)

    def __iter__(self) -> Iterator[torch.Tensor]:
        return map(self.photos.__getitem__, range(len(self.photos)))


class Stream(data.IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(4))


class Own(data.Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.tensor(index)


GEOMETRY = (
    "Resize",
    "CenterCrop",
    "RandomCrop",
    "RandomResizedCrop",
    "RandomHorizontalFlip",
    "RandomVerticalFlip",
    "Pad",
    "Grayscale",
)


COLOUR = (
    "ColorJitter",
    "RandomGrayscale",
    "RandomInvert",
    "RandomPosterize",
    "RandomSolarize",
    "RandomAutocontrast",
    "RandomEqualize",
    "RandomAdjustSharpness",
)
WEIGHTS = ("ResNet50_Weights", "ViT_B_16_Weights", "EfficientNet_B0_Weights")
ARGUMENTS = {
    "Resize": (8,), "CenterCrop": (8,), "RandomCrop": (8,), "RandomResizedCrop": (8,), "Pad": (2,),
    "ColorJitter": (0.5,), "RandomPosterize": (3,), "RandomSolarize": (9,), "RandomAdjustSharpness": (2,),
}  # fmt: skip
POLICIES = ("RandAugment", "TrivialAugmentWide", "AutoAugment")


def each_of(names: tuple[str, ...]) -> Callable[[Path], Iterator[data.Dataset[Any]]]:
    """Datasets with each transform named, of v1 and v2."""

    def make(root: Path) -> Iterator[data.Dataset[Any]]:
        for module in (v1, v2):
            for name in names:
                step = getattr(module, name)(*ARGUMENTS.get(name, ()))
                yield image_folder(root, v1.Compose([v1.Resize((9, 9)), step, v1.ToTensor()]))

    return make


def stacked(crops: Any) -> torch.Tensor:
    return torch.stack([v1.functional.to_tensor(crop) for crop in crops])


def pillow_blur(image: Image.Image) -> Image.Image:
    return image.filter(ImageFilter.GaussianBlur(1.5))


def pillow_box(image: Image.Image) -> Image.Image:
    return image.filter(ImageFilter.BoxBlur(2))


def sharpened(image: Image.Image) -> Image.Image:
    return image.filter(ImageFilter.SHARPEN)


def median(image: Image.Image) -> Image.Image:
    return image.filter(ImageFilter.MedianFilter)


def tails(root: Path) -> Iterator[data.Dataset[Any]]:
    half = (0.5, 0.5, 0.5)
    for tail in (
        [v1.ToTensor()],
        [v1.PILToTensor()],
        [v1.PILToTensor(), v1.ConvertImageDtype(torch.float16)],
        [v1.ToTensor(), v1.Normalize(half, half)],
        [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(half, half)],
    ):
        yield image_folder(root, v1.Compose(tail))


def datasets_of(
    *makers: Callable[[data.Dataset[Any]], data.Dataset[Any]],
) -> Callable[[Path], Iterator[data.Dataset[Any]]]:
    return lambda root: (make(image_folder(root)) for make in makers)


def tensors(root: Path) -> Iterator[data.Dataset[Any]]:
    one = data.TensorDataset(torch.zeros(4, 3, 2).transpose(1, 2), torch.zeros(4, dtype=torch.bfloat16))
    yield one
    yield data.ConcatDataset([one, data.Subset(one, [3, -1])])
    yield data.StackDataset(one, one)
    yield data.StackDataset(a=one, b=data.StackDataset(c=one))
    yield data.random_split(one, [1, 3])[0]


def made(kind: Any, **attributes: Any) -> Any:
    """A dataset of torchvision's as its constructor leaves it, without its files."""
    dataset = kind.__new__(kind)
    datasets.VisionDataset.__init__(dataset, "nowhere", transform=v1.Compose(TAIL))
    vars(dataset).update(attributes)
    return dataset


def arrays(root: Path) -> Iterator[data.Dataset[Any]]:
    rows = np.arange(12, dtype=np.uint16).reshape(4, 3)
    np.save(root / "rows.npy", rows)
    np.savez(root / "rows.npz", x=rows)
    torch.save({"x": torch.from_numpy(rows)}, root / "rows.pt")
    safetensors.torch.save_file({"x": torch.from_numpy(rows)}, root / "rows.safetensors")
    with h5py.File(root / "rows.h5", "w") as file:
        file["x"] = rows
    for name in ("rows.npy", "rows.npz", "rows.pt", "rows.safetensors", "rows.h5"):
        yield ArrayDataset(root / name, dtypes=torch.int64)
    yield ArrayDataset(rows, np.load(root / "rows.npy", mmap_mode="r"), torch.from_numpy(rows))
    yield ArrayDataset(x=FileArray(root / "rows.npy", dtype="uint16", shape=(4, 3), offset=128))


def tables(root: Path) -> Iterator[data.Dataset[Any]]:
    made = hugging_face.Dataset.from_dict({"ids": [[1, 2], [3, 4], [5, 6]], "label": [0, 1, 0], "score": [0.5, 1, 2]})
    made.save_to_disk(root.parent / "table")
    whole: Any = hugging_face.load_from_disk(root.parent / "table")
    for form in ("torch", "numpy"):
        yield whole.with_format(form)
        yield made.with_format(form, columns=["ids"]).shuffle(seed=1)
    yield whole.remove_columns("ids")
    yield data.Subset(hugging_face.concatenate_datasets([whole, made.select([0, 2])]).with_format("torch"), [3, 1])


def files_with_a_label(root: Path) -> Iterator[data.Dataset[Any]]:
    files, labels = ["0.jpg", "1.jpg"], [1, 0]
    pairs, loader = list(zip(files, labels, strict=True)), datasets.folder.default_loader  # type: ignore[attr-defined]
    for kind in datasets.ImageNet, datasets.EuroSAT, datasets.Country211:
        yield made(kind, samples=pairs, loader=loader)
    for kind in datasets.Food101, datasets.Flowers102, datasets.FGVCAircraft, datasets.SUN397, datasets.DTD:
        yield made(kind, _image_files=files, _labels=labels, loader=loader)
    yield made(datasets.CLEVRClassification, _image_files=files, _labels=labels, loader=loader)
    for kind in datasets.Imagenette, datasets.StanfordCars, datasets.RenderedSST2:
        yield made(kind, _samples=pairs, loader=loader)
    yield made(datasets.Places365, imgs=pairs, loader=loader)
    yield made(
        datasets.OxfordIIITPet, _images=files, _labels=labels, _bin_labels=labels, _target_types=["binary-category"]
    )
    yield made(datasets.LFWPeople, data=files, targets=labels, _loader=loader)
    yield made(datasets.Omniglot, target_folder="", _characters=["a", "b"], _flat_character_images=pairs, loader=None)
    for first in v1.Grayscale(3), v2.RGB():
        any_mode = {"transform": v1.Compose([first, *TAIL]), "categories": ["a", "b"], "index": [1, 1], "y": labels}
        yield made(datasets.Caltech101, **any_mode, target_type=["category"])
        yield made(datasets.Caltech256, **any_mode)
        index = {"all_categories": ["a", "b"], "categories_map": [{}, {}], "index": [(0, "0.jpg"), (1, "1.jpg")]}
        yield made(datasets.INaturalist, **any_mode | index, target_type=["full"], loader=None)


def images_and_masks(root: Path) -> Iterator[data.Dataset[Any]]:
    files, masks = [str(root / f"{k}.jpg") for k in range(2)], [str(root.parent / f"{k}.png") for k in range(2)]
    for path in masks:
        Image.new("P", (8, 8)).save(path)

    def each(transforms: Any) -> Iterator[Any]:
        yield made(datasets.VOCSegmentation, images=files, targets=masks, transforms=transforms)
        listed = {"_images": files, "_segs": masks, "_target_types": ["segmentation"]}
        yield made(datasets.OxfordIIITPet, **listed, transforms=transforms)
        targets = [[mask] for mask in masks]
        yield made(datasets.Cityscapes, images=files, targets=targets, target_type=["semantic"], transforms=transforms)

    crop = v2.Compose([v2.RandomResizedCrop(8), v2.RandomHorizontalFlip(), v2.ToImage()])
    yield from each(standard(v1.Compose([v1.RandomCrop(8), v1.PILToTensor()])))
    yield from each(crop)
    for dataset in each(crop):
        yield datasets.wrap_dataset_for_transforms_v2(dataset)


def standard(of_target: Any) -> Any:
    """A transform of its own for image and target."""
    return datasets.vision.StandardTransform(v1.Compose(TAIL), of_target)  # type: ignore[attr-defined]


class Annotations:
    """What CocoDetection asks of pycocotools."""

    def __init__(self, paths: list[str]) -> None:
        self.paths = paths

    def loadImgs(self, number: int) -> list[Any]:  # noqa: N802
        return [{"file_name": self.paths[number]}]

    def getAnnIds(self, number: int) -> list[int]:  # noqa: N802
        return [number]

    def loadAnns(self, numbers: list[int]) -> list[Any]:  # noqa: N802
        return [{"image_id": number} for number in numbers]


def images_with_annotations(root: Path) -> Iterator[data.Dataset[Any]]:
    paths = [str(root.parent / f"annotated{k}.jpg") for k in range(2)]
    for path in paths:
        Image.new("RGB", (9, 8)).save(path)
        Path(f"{path}.xml").write_text("<annotation><object><name>cat</name></object></annotation>")
        Path(f"{path}.txt").write_text("")
    counted = {"transforms": standard(len), "target_transform": len}
    yield made(datasets.VOCDetection, images=paths, targets=[f"{path}.xml" for path in paths], **counted)
    yield made(datasets.CocoDetection, ids=[0, 1], coco=Annotations(paths), **counted)
    yield made(datasets.Kitti, images=paths, targets=[f"{path}.txt" for path in paths], train=True, **counted)
    boxes = [{"img_path": path, "annotations": {}} for path in paths]
    yield made(datasets.WIDERFace, img_info=boxes, split="train", **counted)
    yield made(datasets.CelebA, base_folder="/", filename=paths, attr=torch.zeros(2, 40), target_type=["attr"])
    masks = {"_segs": paths, "_labels": [0, 1], "_target_types": ["category", "segmentation"]}
    yield made(datasets.OxfordIIITPet, _images=paths, **masks, **counted)


class Rows(data.Dataset[Any]):
    def __init__(self) -> None:
        self.x, self.y, self.extra = np.zeros((4, 2)), [0, 1, 2, 3], {"z": torch.zeros(4)}

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> Any:
        return {"x": self.x[index], "yz": (self.y[index], self.extra["z"][index])}


class CopiedRows(Rows):
    def __getitem__(self, index: int) -> Any:
        return torch.from_numpy(self.x[index].copy()), torch.tensor(self.x[index])


def rows(root: Path) -> Iterator[data.Dataset[Any]]:
    yield Rows()
    yield CopiedRows()
    yield data.Subset(Rows(), [3, -1])


class Reckoning(data.Dataset[Any]):
    """Windows, a normalised row, a one-hot label and the index."""

    def __init__(self) -> None:
        self.series, self.table = np.arange(40, dtype=np.uint16), np.ones((30, 3))
        self.labels = torch.arange(30) % 4
        self.mean = np.zeros(3)
        self.text = "characters of a text, and more of them"
        self.stoi = {each: number for number, each in enumerate(sorted(set(self.text)))}

    def __len__(self) -> int:
        return 30

    def __getitem__(self, i: int) -> Any:
        window = torch.from_numpy(self.series[i : i + 8].astype(np.int64))
        row = torch.tensor((self.table[i] - self.mean) / 2, dtype=torch.float32)
        return {
            "window": window,
            "row": torch.clamp(row, 0, 1).reshape(3, 1),
            "label": torch.nn.functional.one_hot(self.labels[i], 4),
            "large": torch.where(row > 0.1, row, -row),
            "both": torch.stack([row, row * 2]),
            "tokens": torch.tensor([self.stoi[c] for c in self.text[i : i + 8]]),
            "own": (row - row.mean()) / row.std(),
            "length": np.linalg.norm(self.table[i : i + 2], axis=1),
            "class": np.argmax(self.table[i]),
            "index": i,
        }


def arithmetic_of_your_own(root: Path) -> Iterator[data.Dataset[Any]]:
    yield Reckoning()
    yield data.Subset(Reckoning(), [4, 2])


def files_read_as_arrays(root: Path) -> Iterator[data.Dataset[Any]]:
    for read in (skimage.io.imread, imageio.imread, imageio.v2.imread, imageio.v3.imread, mpimg.imread, plt.imread):
        for kind in ("jpg", "png"):
            yield ReadAsArrays([str(path) for path in sorted(root.glob(f"*/*.{kind}"))], read)


def files_of_your_own(root: Path) -> Iterator[data.Dataset[Any]]:
    listed = Listed(root, v1.Compose([v1.RandomResizedCrop(8), *TAIL]))
    yield listed
    yield data.Subset(listed, [1, -1])
    yield data.ConcatDataset([listed, Listed(root, v1.Compose([v1.Resize((8, 8)), *TAIL]))])
    yield WithPaths(root, v1.Compose(TAIL))
    yield Views(root, v1.Compose([v1.RandomResizedCrop(8), *TAIL]))
    yield Wrapping(data.Subset(datasets.ImageFolder(root), [1, 0]), v1.Compose(TAIL))
    yield datasets.ImageFolder(root, v1.Compose(TAIL), loader=open_file)


def archives(root: Path) -> Iterator[data.Dataset[Any]]:
    path = root.parent / "shard.tar"
    with tarfile.open(path, "w") as archive:
        for number, file in enumerate(sorted(root.rglob("*.jpg"))):
            archive.add(file, f"{number}.jpg")
            label = tarfile.TarInfo(f"{number}.cls")
            label.size = 1
            archive.addfile(label, io.BytesIO(b"1"))
    dataset = TarImages(path, v1.ToTensor())
    yield from (dataset, data.Subset(dataset, [1, 0]), data.ConcatDataset([dataset, dataset]))


def pipelines(root: Path) -> Iterator[data.Dataset[Any]]:
    next(archives(root))
    shard = str(root.parent / "shard.tar")
    for dataset in (goloader.WebDataset(shard), wds.WebDataset(shard, shardshuffle=False)):
        shuffled = dataset.shuffle(9, seed=1).decode("pil").to_tuple("jpg", "cls")
        yield shuffled.map_tuple(v1.Compose([v1.RandomResizedCrop(8), *TAIL]))


def other_libraries(root: Path) -> Iterator[data.Dataset[Any]]:
    with zipfile.ZipFile(REPOSITORY / "tests_py/formats/written.zip") as written:
        written.extractall(root.parent / "written")
    for path, *fields in (
        ("mds", "jpeg", "a_int64"),
        ("litdata", "image", "class"),
        ("ffcv/set.beton", "photo", "label"),
        ("lmdb", "value", range(11)),
        ("tfrecord/*", "image/encoded", "image/class/label"),
    ):
        dataset = goloader.open(root.parent / "written" / path).images(*fields, v1.Compose([v1.Resize((8, 8)), *TAIL]))
        yield from (dataset, data.Subset(dataset, [1, 0]))
    yield goloader.open(root.parent / "written/megatron/tokens").windows(8)


def tokens(root: Path) -> Iterator[data.Dataset[Any]]:
    np.arange(100, dtype=np.uint16).tofile(root.parent / "tokens.bin")
    yield TokenDataset(root.parent / "tokens.bin", block_size=8)
    yield TokenDataset([root.parent / "tokens.bin"] * 2, block_size=8, stride=3)
    yield TokenDataset(root.parent / "tokens.bin", block_size=8, eos=7)


class TwoCrops(datasets.CIFAR10):
    def __getitem__(self, index: int) -> Any:
        image = Image.fromarray(self.data[index])
        return [self.transform(image), self.transform(image)], self.targets[index]


class InMemory(data.Dataset[Any]):
    def __init__(self, images: Any, transform: Any) -> None:
        self.images, self.transform = images, transform

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> Any:
        return self.transform(Image.fromarray(self.images[index]))


class OfTorchvision(InMemory):
    def __getitem__(self, index: int) -> Any:
        return self.transform(self.images[index].reshape(8, 8, 3))


def pictures(root: Path) -> Iterator[data.Dataset[Any]]:
    grey, labels = np.zeros((4, 8, 8), np.uint8), [0, 1, 2, 3]
    tensor = torch.from_numpy(grey)
    for kind in datasets.MNIST, datasets.FashionMNIST, datasets.KMNIST, datasets.EMNIST:
        yield made(kind, data=tensor, targets=torch.tensor(labels))
    yield made(datasets.QMNIST, data=tensor, targets=torch.zeros(4, 8).int(), compat=True)
    yield made(datasets.USPS, data=grey, targets=labels)
    yield made(datasets.SEMEION, data=grey, labels=np.array(labels))
    yield made(datasets.FER2013, _samples=[(each.clone(), label) for each, label in zip(tensor, labels, strict=True)])
    for kind in datasets.CIFAR10, datasets.CIFAR100:
        yield made(kind, data=np.zeros((4, 8, 8, 3), np.uint8), targets=labels)
    for kind in datasets.SVHN, datasets.STL10:
        yield made(kind, data=np.zeros((4, 3, 8, 8), np.uint8), labels=np.array(labels))
    yield data.ConcatDataset([data.Subset(made(datasets.USPS, data=grey, targets=labels), [1])] * 2)
    yield made(TwoCrops, data=np.zeros((4, 8, 8, 3), np.uint8), targets=labels)
    yield InMemory(np.zeros((4, 8, 8, 3), np.uint8), v1.Compose([v1.RandomResizedCrop(8), *TAIL]))
    for steps in ([v1.ToPILImage(), v1.RandomCrop(6), *TAIL], [*TAIL, v1.RandomHorizontalFlip()]):
        yield OfTorchvision(np.zeros((4, 8 * 8 * 3), np.uint8), v1.Compose(steps))


Table = list[tuple[str, str, Callable[[Path], Iterator[data.Dataset[Any]]]]]
DATASETS: Table = [
    (
        "datasets",
        "`ImageFolder`, `DatasetFolder` with torchvision's loader, `Subset`, `random_split`, `ConcatDataset` of them",
        datasets_of(
            lambda folder: folder,
            lambda folder: datasets.DatasetFolder(
                folder.root,
                datasets.folder.default_loader,
                (".jpg",),
                v1.Compose(TAIL),  # type: ignore[attr-defined]
            ),
            lambda folder: data.Subset(folder, [3, 1]),
            lambda folder: data.random_split(folder, [1, 3])[1],
            lambda folder: data.ConcatDataset([folder, folder]),
        ),
    ),
    (
        "tensors",
        "`TensorDataset` of any dtypes and strides, `StackDataset` (tuple or dict), `ConcatDataset`, `Subset` of them",
        tensors,
    ),
    (
        "arrays in memory and in files",
        "`goloader.ArrayDataset` of numpy arrays, memory maps, tensors, `.npy`, `.npz`, `.safetensors`, HDF5, Zarr, "
        "Parquet, Arrow, `torch.save` and raw files, with casts, and of `RaggedArray`s of these",
        arrays,
    ),
    (
        "tokens",
        "`goloader.TokenDataset` of one or many files of tokens: windows, and the same shifted by one token, as int64; "
        "across documents with `position_ids` and `cu_seqlens`, or split at their ends",
        tokens,
    ),
    (
        "Hugging Face's datasets",
        "`datasets.Dataset` of files or in memory: `with_format` 'torch' or 'numpy' with columns of numbers or lists "
        "of numbers, and without a format with columns of numbers, or of lists of them for a `collate_fn` that pads; "
        "selected, shuffled, filtered, joined; `Subset` of them",
        tables,
    ),
    (
        "tar archives",
        "`goloader.datasets.TarImages` of WebDataset's shards, read in place; `Subset`, `ConcatDataset` of them",
        archives,
    ),
    (
        "streams of shards",
        "`goloader.WebDataset` and `webdataset`'s pipelines over shards (plain, gzip or zstd) in files, at URLs and "
        "from commands ([streams.md](streams.md))",
        pipelines,
    ),
    (
        "files of other libraries",
        "`goloader.open(path)` of MosaicML's MDS, LitData, FFCV, TFRecord and LMDB: `images()`; of Megatron: "
        "`windows()`",
        other_libraries,
    ),
    (
        "files with a label",
        "`ImageNet`, `Imagenette`, `Places365`, `Food101`, `Flowers102`, `OxfordIIITPet` (classes), `StanfordCars`, "
        "`FGVCAircraft`, `SUN397`, `DTD`, `CLEVRClassification`, `EuroSAT`, `Country211`, `RenderedSST2`, `LFWPeople`, "
        "`Omniglot`, `Caltech101`, `Caltech256`, `INaturalist`: all but `ImageNet` and `Country211` compiled from "
        "torchvision's own code, with their options and a `target_transform` of yours",
        files_with_a_label,
    ),
    (
        "images and masks",
        "`VOCSegmentation`, `OxfordIIITPet` (segmentation), `Cityscapes` (one mask), plain or in torchvision's "
        "`wrap_dataset_for_transforms_v2`; separate transforms, or one of v2 for both",
        images_and_masks,
    ),
    (
        "images with annotations",
        "`VOCDetection`, `CocoDetection`, `Kitti`, `WIDERFace`, `CelebA`, `OxfordIIITPet` (mask and class), with any "
        "`collate_fn`: Python makes the annotations, Go makes the images",
        images_with_annotations,
    ),
    (
        "images in memory",
        "`MNIST`, `FashionMNIST`, `KMNIST`, `EMNIST`, `QMNIST`, `USPS`, `SEMEION`, `CIFAR10`, `CIFAR100`, `SVHN`, "
        "`STL10`, `FER2013`, subclasses of them, and your own classes that make an image with "
        "`Image.fromarray(self.images[index])` and transform it, once or twice (two crops), or that transform "
        "`self.images[index]`, of bytes, by what begins with `ToPILImage` or `ToTensor`, compiled from their "
        "bytecode; `Subset` and `ConcatDataset` of them",
        pictures,
    ),
    (
        "rows of your own",
        "a class that only returns rows, `return self.x[index], torch.from_numpy(self.y[index].copy())`, of tensors, "
        "numpy arrays, memory maps, arrays of h5py and zarr, and lists of numbers, of tensors, of arrays or of rows of "
        "numbers, in tuples and dicts; loops and comprehensions over objects that are the same for every index "
        "(compiled from its bytecode, CPython 3.10 to 3.14)",
        rows,
    ),
    (
        "arithmetic of your own",
        "a class that computes its samples from the index and from rows and windows of tensors, numpy arrays, memory "
        "maps and lists of numbers, also of one of several series, "
        "`self.x[k, s : s + n]`: casts, `+ - * / // %`, squares, comparisons, `where`, `clip`, `abs`, numpy's "
        "`sqrt`, `sum`, `mean`, `std`, `var`, `max`, `min` and `argmax` along any axes, `np.linalg.norm` along one, "
        "slices, `reshape`, `permute`, `stack`, `cat`, `one_hot`; `zeros`, `ones`, `full` and copies, and "
        "items of these that are set, `y[self.labels[i]] = 1`, `x[-4:] = 0`, `x[x < 0] = 0`; from the characters of "
        "a text, `[self.stoi[c] for c in self.text[i : i + n]]`. If numpy or torch would warn or fail for a batch, or "
        "a window ends beyond the data, the class itself makes that batch",
        arithmetic_of_your_own,
    ),
    (
        "files of your own",
        "a class that only opens an image, with `Image.open(path).convert(...)` or torchvision's loaders, and "
        "transforms it, or does so with two (views of one image, pairs, an image and its mask, each with its own "
        "transform). Paths, labels and other values come from lists, dicts, arrays, pandas' tables or the index. "
        "Compiled from its bytecode, with your own methods and functions, `with` blocks, a subclass of `ImageFolder`, "
        "a wrapped dataset",
        files_of_your_own,
    ),
    (
        "files read as arrays",
        "a class that reads an image with `skimage.io.imread(path)`, with `imread(path)` of `imageio`, `imageio.v2` or "
        "`imageio.v3`, or with `matplotlib`'s, and goes on with the array: `image.astype(np.float32) / 255.0`, "
        "`image[..., :3]`, `image[:, :, ::-1]`, `transpose`, `Image.fromarray(image)`. Files that these libraries read "
        "otherwise than Pillow are theirs: animations, palettes, 16 bits, TIFF",
        files_read_as_arrays,
    ),
    (
        "code of your own",
        "a `__getitem__`, a subclass, an image loader or a `Lambda` whose operations on an opened image can be "
        "recorded",
        lambda root: iter(
            (
                Photos(root),
                Overridden(root, v1.Compose(TAIL)),
                datasets.ImageFolder(root, v1.Compose(TAIL), loader=lambda path: Image.open(path).rotate(90)),
                image_folder(root, v1.Compose([v1.Lambda(lambda image: image.resize((7, 8))), *TAIL])),
            )
        ),
    ),
    (
        "streams",
        "an `IterableDataset` whose operations on images can be recorded: webdataset's pipelines with stages of your "
        "own, Hugging Face's streams, your own readers",
        lambda root: iter((Streamed(root),)),
    ),
    (
        "other datasets",
        "a `__getitem__` or `__iter__` that opens no image",
        lambda root: iter((Touched(root), Own(), Stream())),
    ),
]
TRANSFORMS: Table = [
    (
        "geometry, v1 and v2",
        ", ".join(f"`{name}`" for name in GEOMETRY) + ", with every filter and padding mode",
        each_of(GEOMETRY),
    ),
    (
        "to a tensor",
        "`ToTensor`, `PILToTensor`, `ToImage`, `ToDtype`, `ConvertImageDtype`, `Normalize`: any dtype",
        tails,
    ),
    (
        "containers",
        "`Compose`, `RandomApply`, `RandomChoice`, `RandomOrder`, v1 and v2; `nn.Sequential`, `Identity`",
        lambda root: (
            image_folder(root, transform)
            for transform in (
                nn.Sequential(v2.Compose([v2.Resize(8)]), v2.PILToTensor()),
                v2.Compose([v2.Identity(), *TAIL]),
                v1.Compose([v1.RandomApply([v1.RandomInvert()]), *TAIL]),
                v2.Compose([v2.RandomApply([v2.RandomInvert()]), *TAIL]),
                *(
                    v1.Compose([v1.Resize((8, 8)), kind([v1.RandomInvert(), v1.ColorJitter(0.2)]), *TAIL])
                    for api in (v1, v2)
                    for kind in (api.RandomChoice, api.RandomOrder)
                ),
            )
        ),
    ),
    (
        "transforms of weights",
        "`weights.transforms()` of models that classify images",
        lambda root: (image_folder(root, get_weight(f"{name}.DEFAULT").transforms()) for name in WEIGHTS),
    ),
    (
        "colour, v1 and v2",
        ", ".join(f"`{name}`" for name in COLOUR),
        each_of(COLOUR),
    ),
    (
        "colour, v2",
        "`RandomPhotometricDistort`, `RandomChannelPermutation`",
        lambda root: (
            image_folder(root, v2.Compose([v2.Resize((9, 9)), step, *TAIL]))
            for step in (v2.RandomPhotometricDistort(), v2.RandomChannelPermutation())
        ),
    ),
    (
        "sizes that are drawn, v2",
        "`RandomResize`, `RandomShortestSize`, `ScaleJitter`, `RandomZoomOut`",
        lambda root: (
            image_folder(root, v2.Compose([step, v2.CenterCrop(8), *TAIL]))
            for step in (
                v2.RandomResize(8, 12),
                v2.RandomShortestSize([8, 9], 20),
                v2.ScaleJitter((9, 9)),
                v2.RandomZoomOut(),
            )
        ),
    ),
    (
        "several crops, v1 and v2",
        "`FiveCrop`, `TenCrop`, and what puts their images in one tensor",
        lambda root: (
            image_folder(root, v1.Compose([step, v1.Lambda(stacked)]))
            for api in (v1, v2)
            for step in (api.FiveCrop(8), api.TenCrop(8))
        ),
    ),
    (
        "policies, v1 and v2",
        ", ".join(f"`{name}`" for name in POLICIES) + "; compiled if an earlier step fixes the size",
        each_of(POLICIES),
    ),
    (
        "rotations, v1 and v2",
        "`RandomRotation`, `RandomAffine`; `RandomPerspective` of v1, of files",
        lambda root: (
            image_folder(root, v1.Compose([step, v1.Resize((8, 8)), *TAIL]))
            for step in (
                *(made for api in (v1, v2) for made in (api.RandomRotation(9), api.RandomAffine(9))),
                v1.RandomPerspective(),
            )
        ),
    ),
    (
        "erasing, v1 and v2",
        "`RandomErasing` of a tensor, with a constant value, or with noise if an earlier step fixes the size",
        lambda root: (
            image_folder(root, v1.Compose([*steps, *TAIL, step]))
            for steps, step in (
                ([], v1.RandomErasing()),
                ([], v2.RandomErasing(value=(1, 2, 3))),
                ([v1.Resize((32, 32))], v1.RandomErasing(value="random")),
            )
        ),
    ),
    (
        "noise, v2",
        "`GaussianNoise` of float32 tensors, after PIL images were cropped and resized; `Normalize` may follow",
        lambda root: (
            image_folder(root, v2.Compose([v2.Resize((8, 8)), *steps, v2.GaussianNoise(), v2.Normalize([0.5], [0.5])]))
            for steps in ([v1.ToTensor()], [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])
        ),
    ),
    (
        "blurs",
        "`GaussianBlur`, v1 and v2, with up to 31 x 31 weights, if an earlier step fixes the size; Pillow's "
        "`ImageFilter.GaussianBlur`, `BoxBlur`, `Kernel`, `SHARPEN`, ... and `MedianFilter`, `MinFilter` and "
        "`MaxFilter` of 3 x 3",
        lambda root: (
            image_folder(root, v1.Compose([v1.Resize((20, 20)), step, *TAIL]))
            for step in (
                v1.GaussianBlur(31),
                v2.GaussianBlur(5),
                pillow_blur,
                pillow_box,
                sharpened,
                median,
            )
        ),
    ),
    (
        "other transforms",
        "`AugMix`, `ElasticTransform`, ...",
        lambda root: (
            image_folder(root, v1.Compose([step, *TAIL])) for step in (v1.ElasticTransform(sigma=0.5), v1.AugMix())
        ),
    ),
    (
        "geometry of uint8 tensors, v2",
        "`Resize`, `RandomResizedCrop`, `RandomResize` and `RandomShortestSize` without `max_size` (bilinear and "
        "bicubic, antialiased), `CenterCrop`, `RandomCrop` and `Pad` with one number or the edge, "
        "`RandomZoomOut` with one number, after `ToImage` or `PILToTensor`",
        lambda root: (
            image_folder(root, v2.Compose([maker, step, v2.CenterCrop(4), v2.ToDtype(torch.float32, scale=True)]))
            for maker in (v2.ToImage(), v2.PILToTensor(), v1.PILToTensor())
            for step in (
                v2.Resize(8),
                v2.Resize(8, v2.InterpolationMode.BICUBIC),
                v2.RandomResizedCrop(8),
                v2.RandomResize(8, 12),
                v2.RandomShortestSize([8, 9]),
                v2.RandomCrop(4, padding=2),
                v2.Pad(3, padding_mode="edge"),
                v2.RandomZoomOut(7),
            )
        ),
    ),
    (
        "rotations of uint8 tensors, v1 and v2",
        "`RandomRotation` without `expand` and `RandomAffine`, nearest or bilinear, after `ToImage` or `PILToTensor`; "
        "`RandomPerspective`, of files",
        lambda root: (
            image_folder(root, v2.Compose([v1.Resize((9, 9)), maker, step]))
            for api, maker in ((v1, v1.PILToTensor()), (v2, v2.ToImage()))
            for step in (
                api.RandomRotation(9, v2.InterpolationMode.BILINEAR, fill=(1, 2, 3)),
                api.RandomAffine(9, (0.1, 0.2), (0.9, 1.1), 5),
                api.RandomPerspective(p=1.0),
            )
        ),
    ),
    (
        "colours of uint8 tensors, v2",
        "all colours and policies named above, `Grayscale` and `GaussianBlur`, alone or in a `RandomApply`, if an "
        "earlier step fixes the size",
        lambda root: (
            image_folder(root, v2.Compose([v2.Resize((9, 9)), v2.ToImage(), step]))
            for step in (
                *(getattr(v2, name)(*ARGUMENTS.get(name, ())) for name in COLOUR),
                v2.RandomApply([v2.ColorJitter(0.4)], 0.8),
                v2.RandomPhotometricDistort(),
                v2.RandomChannelPermutation(),
                v2.Grayscale(1),
                v2.Grayscale(3),
                v2.GaussianBlur(5),
                *(getattr(v2, name)() for name in POLICIES),
            )
        ),
    ),
    (
        "moves of any tensor, v1 and v2",
        "`RandomHorizontalFlip`, `RandomVerticalFlip`, `RandomCrop` without padding",
        lambda root: (
            image_folder(root, v1.Compose([v1.Resize((9, 9)), *TAIL, step]))
            for api in (v1, v2)
            for step in (api.RandomHorizontalFlip(), api.RandomVerticalFlip(), api.RandomCrop(4))
        ),
    ),
    (
        "borders of float32 tensors, v1 and v2",
        "`Pad`, `RandomCrop` with padding and `CenterCrop`, filled with any number, with the edge, or mirrored if an "
        "earlier step fixes the size; what may follow is of these rows, or a `Normalize`",
        lambda root: (
            image_folder(root, v1.Compose([v1.Resize((9, 9)), *TAIL, step, v1.Normalize((0.5,), (0.5,))]))
            for api in (v1, v2)
            for step in (
                api.RandomCrop(9, padding=4),
                api.Pad(3, fill=0.25),
                api.Pad(3, padding_mode="reflect"),
                api.CenterCrop(20),
            )
        ),
    ),
    (
        "rotations of float32 tensors, v1 and v2",
        "`RandomRotation` without `expand` and `RandomAffine`, nearest or bilinear, filled with any number",
        lambda root: (
            image_folder(root, v1.Compose([v1.Resize((9, 9)), *TAIL, step, api.RandomCrop(8, padding=1)]))
            for api in (v1, v2)
            for step in (
                api.RandomRotation(9, v2.InterpolationMode.BILINEAR, fill=(0.1, 2, -3)),
                api.RandomAffine(9, (0.1, 0.2), (0.9, 1.1), 5),
            )
        ),
    ),
    (
        "resizes of float32 tensors, v1 and v2",
        "`Resize` and `RandomResizedCrop` (bilinear, antialiased) after `ToTensor` or `ToDtype`, with flips, crops and "
        "one `Normalize` behind it, where torch adds in a known order",
        lambda root: (
            image_folder(root, v1.Compose([v1.ToTensor(), step, api.CenterCrop(7), v1.Normalize((0.5,), (0.5,))]))
            for api in (v1, v2)
            for step in (api.Resize(8), api.RandomResizedCrop(8))
        ),
    ),
    (
        "resizes of uint8 tensors, v1",
        "`Resize` and `RandomResizedCrop` (bilinear, antialiased) after `PILToTensor`, where torch adds in a known "
        "order",
        lambda root: (
            image_folder(root, v1.Compose([v1.PILToTensor(), step])) for step in (v1.Resize(8), v1.RandomResizedCrop(8))
        ),
    ),
    (
        "other resizes of tensors",
        "v1's of uint8, and all after `ToTensor` or `ToDtype`, by other filters or with a `max_size`: their "
        "arithmetic is not Pillow's",
        lambda root: (
            image_folder(root, v2.Compose([v1.ToTensor(), step]))
            for step in (v2.Resize(8, v2.InterpolationMode.BICUBIC), v2.RandomResizedCrop(8, antialias=False))
        ),
    ),
]


def table(rows: Table, root: Path) -> str:
    lines = ["| | | runs in |", "|---|---|---|"]
    for kind, text, make in rows:
        native = {runs_in_go(DataLoader(each, batch_size=2)) for each in make(root)}
        assert len(native) == 1, f"{kind}: some in Go, some in Python"
        lines.append(f"| {kind} | {text} | {'Go' if native.pop() else 'Python, as torch runs it'} |")
    return "\n".join(lines) + "\n"


def runs_in_go(loader: DataLoader[Any]) -> bool:
    """What is known before the first epoch, or else when it is over."""
    if loader.explain().native:
        return True
    for _ in range(2):  # a first batch is made without stand-ins
        for _ in loader:
            pass
    return loader.explain().native


@pytest.mark.parametrize(
    ("page", "rows"), [("datasets", DATASETS), ("transforms", TRANSFORMS)], ids=["datasets", "transforms"]
)
def test_the_tables_of_what_runs_in_go_are_what_explain_says(root: Path, page: str, rows: Table) -> None:
    require_part(f"docs/{page}.md", page, table(rows, root))


def without_read_ahead(printed: str) -> str:
    """What the example printed, had its files come at once: how long a busy machine takes to read is no promise."""
    return re.sub(r" +\d+ of them read ahead by more threads, since reading is slow$", "", printed, flags=re.MULTILINE)


def test_read_ahead_is_told_in_the_words_that_are_left_out() -> None:
    counts = {"samples": 4, "batches": 1, "pillow_samples": 0, "read_retries": 0, "seek_entries": 0}
    quick, slow = (Explanation(()).counted({**counts, "read_ahead": files}) for files in (0, 3))
    assert str(slow) != str(quick)
    assert without_read_ahead(str(slow)) == str(quick)


def test_the_first_example_runs_and_prints_what_it_says(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    example, output = re.findall(r"```(?:python|text)\n(.*?)```", part("README.md", "example"), re.DOTALL)
    monkeypatch.chdir(root.parent)
    (root.parent / "photos").symlink_to(root)
    exec(compile(example, "README.md", "exec"), {})
    printed = without_read_ahead(capsys.readouterr().out)
    if os.environ.get("GOLOADER_UPDATE"):
        README.write_text(README.read_text().replace(f"```text\n{output}```", f"```text\n{printed}```"))
        return
    assert printed == output


@pytest.mark.slow
def test_the_first_example_prints_the_same_with_torch_s_import_and_our_command_line(root: Path, tmp_path: Path) -> None:
    example, output = re.findall(r"```(?:python|text)\n(.*?)```", part("README.md", "example"), re.DOTALL)
    (command,) = re.findall(r"^python (-m goloader run --explain .*)$", README.read_text(), re.MULTILINE)
    (tmp_path / "photos").symlink_to(root)
    script = example.replace("from goloader import", "from torch.utils.data import")
    assert script != example
    (tmp_path / "train.py").write_text(script)
    done = subprocess.run(
        [sys.executable, *command.split()], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120
    )
    assert without_read_ahead(done.stdout) == output
    assert done.stderr.startswith("goloader: DataLoader\nstage ")


def test_the_figures_are_those_of_the_kept_result() -> None:
    result = json.loads((harness.RESULTS / "image_folder.json").read_text())
    chart = "bench/results/image_folder.svg"
    assert (README.parent / chart).exists()
    made = f"![images a second, and CPU seconds for 1,000 images]({chart})\n\n```text\n{harness.table(result)}\n```\n"
    require_part("README.md", "bench", made)


def test_the_tables_against_torch_are_those_of_the_kept_results() -> None:
    cases = json.loads((harness.RESULTS / "against_torch.json").read_text())["cases"]
    assert list(cases) == list(against_torch.CASES), "python -m bench.against_torch --cases ... keeps what is missing"
    require_part("README.md", "against", against_table.short(cases, lambda case: case.headline))
    require_part("bench/README.md", "against", against_table.markdown(cases))


def test_the_table_of_programs_is_that_of_the_kept_result() -> None:
    programs = json.loads((harness.RESULTS / "programs.json").read_text())["programs"]
    assert set(programs) <= set(turns.names())
    require_part("docs/programs.md", "programs", programs_table.markdown(programs))


def test_the_memory_of_many_files_is_that_of_the_kept_result() -> None:
    found = json.loads((harness.RESULTS / "many_files.json").read_text())["contenders"]
    assert list(found) == list(many_files.CONTENDERS)
    require_part("docs/datasets.md", "many_files", f"```text\n{many_files.table(found)}\n```\n")


def test_the_speed_and_memory_of_ranks_are_those_of_the_kept_result() -> None:
    kept = json.loads((harness.RESULTS / "ranks.json").read_text())
    table = ranks.table(kept["ranks"], kept["machine"]["cores"])
    require_part("docs/distributed.md", "bench", f"```text\n{table}\n```\n")


def test_the_speed_in_ray_is_that_of_the_kept_result() -> None:
    found = json.loads((harness.RESULTS / "ray_data.json").read_text())["contenders"]
    assert list(found) == list(ray_data.CONTENDERS)
    require_part("docs/ray.md", "bench", f"```text\n{ray_data.table(found)}\n```\n")


def test_the_speed_from_a_bucket_is_that_of_the_kept_result() -> None:
    kept = json.loads((harness.RESULTS / "remote.json").read_text())
    require_part("docs/remote.md", "remote", f"```text\n{remote.tables(kept['contenders'])}\n```\n")


def test_the_hits_of_a_cache_are_those_of_the_kept_result() -> None:
    kept = json.loads((harness.RESULTS / "cache.json").read_text())
    require_part("docs/remote.md", "cache", f"```text\n{cache.table(kept)}\n```\n")


def test_the_speed_of_training_on_a_gpu_is_that_of_the_kept_result() -> None:
    kept = json.loads((harness.RESULTS / "gpu.json").read_text())
    require_part("README.md", "gpu", f"```text\n{gpu.table(kept)}\n```\n")


def test_the_example_that_resumes_runs(root: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", part("docs/resume.md", "resume"), re.DOTALL)
    augmented = image_folder(root, v1.Compose([v1.RandomResizedCrop(8), *TAIL]))
    exec(compile(example, "README.md", "exec"), {"DataLoader": DataLoader, "dataset": augmented})


def test_the_example_of_bad_samples_runs(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(root, tmp_path / "photos")
    (tmp_path / "photos/b/2.jpg").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", part("docs/errors.md", "errors"), re.DOTALL)
    said, names = io.StringIO(), {"dataset": image_folder(tmp_path / "photos")}
    with contextlib.redirect_stdout(said), pytest.warns(goloader.GoloaderWarning, match="is replaced"):
        exec(compile(example, "docs/errors.md", "exec"), names)
    assert example.rstrip().endswith(f"# {said.getvalue().rstrip()}")
    assert names["labels"].shape == (4,)
    (line,) = Path("bad.jsonl").read_text().splitlines()
    assert json.loads(line)["name"].endswith("photos/b/2.jpg")


def blocks_below(heading: str, page: str) -> list[str]:
    """The Python of one section of a page."""
    text = (REPOSITORY / page).read_text()
    (section,) = re.findall(rf"^## {heading}$(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


def test_the_example_of_arrays_in_files_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tokens = np.arange(4 * 1024, dtype=np.uint16).reshape(4, 1024)
    np.save("textures.npy", np.zeros((4, 3, 3), np.uint8))
    safetensors.torch.save_file({"x": torch.zeros(4)}, "features.safetensors")
    for name in ("tokens.bin", "a.bin", "b.bin"):
        tokens.tofile(name)
    example, _, of_tables = blocks_below("Arrays in files", "docs/arrays.md")
    names = {"np": np, "torch": torch, "tokens": tokens}
    made = []
    for line in example.splitlines(keepends=True):
        exec(compile(line, "README.md", "exec"), names)
        if line.startswith("dataset = "):
            loader = DataLoader(names["dataset"], batch_size=4)
            assert loader.explain().native
            made.append(next(iter(loader)))
    named, by_file, (cast,), (x, y) = made
    assert (named["x"].shape, named["y"].tolist()) == ((4, 3, 3), tokens.tolist())
    assert by_file["x"].equal(torch.zeros(4))
    assert (cast.dtype, cast.tolist()) == (torch.int64, tokens.tolist())
    assert (x.dtype, x.shape) == (torch.int64, (4, 1024))
    assert y[:, :-1].equal(x[:, 1:])
    table = pa.table({"x": [1.0, 2.0], "tokens": [[1], [2]], "caption": ["a", "b"], "y": [3.0, 4.0]})
    Path("shards").mkdir()
    for name in ("train.parquet", "shards/train-0.parquet", "shards/train-1.parquet"):
        pq.write_table(table, name)
    names |= {"goloader": goloader, "ArrayDataset": goloader.ArrayDataset, "open_arrays": goloader.open_arrays}
    made = []
    for line in of_tables.splitlines():
        exec(compile(line, "README.md", "exec"), names)
        made.append(names["dataset"][0])
    assert made[0].keys() == {"x", "tokens", "caption", "y"}
    assert made[1] == {"x": torch.tensor(1.0, dtype=torch.float64), "caption": "a"}
    assert (made[2]["y"].dtype, len(names["dataset"])) == (torch.float32, 4)


def test_the_example_of_sequences_of_different_lengths_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("tokens.npy", np.arange(6))
    np.save("offsets.npy", np.array([0, 1, 3, 6]))
    np.arange(4 * 1024, dtype=np.uint16).tofile("train.bin")
    example = blocks_below("Sequences of different lengths", "docs/arrays.md")[0]
    names: dict[str, Any] = {"labels": np.array([7, 8, 9])}
    exec(compile(example, "README.md", "exec"), names)
    assert names["loader"].explain().native
    ((tokens, labels),) = (batch.values() for batch in names["loader"])
    assert (tokens.tolist(), labels.tolist()) == ([[0, 0, 0], [1, 2, 0], [3, 4, 5]], [7, 8, 9])
    x, y, position_ids, cu_seqlens = names["dataset"][0]
    assert x.shape == y.shape == position_ids.shape == (1024,)
    assert cu_seqlens[:3].tolist() == [0, 1024, 1024]


def test_the_example_without_torch_runs(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "photos").symlink_to(root)
    monkeypatch.chdir(tmp_path)
    (example,) = blocks_below("Without torch", "docs/arrays.md")
    names: dict[str, Any] = {}
    exec(compile(example, "README.md", "exec"), names)
    images, labels = names["images"], names["labels"]
    assert (images.dtype, images.shape) == (np.float32, (4, 3, 224, 224))
    assert (labels.dtype, labels.shape) == (np.int64, (4,))
