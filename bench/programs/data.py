"""What the programs read: sets in the layouts of the public ones, made here of the bench's photographs and of noise.

`ensure(kind, count)` is the folder of a set, made first if it is not there; all is a function of (kind, count). Photos
are made once and linked into the sets that have photos.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import pickle
import string
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image, ImageDraw
from scipy.io import wavfile
from torchvision import datasets

from bench import photos
from bench.programs import place

Fill: TypeAlias = Callable[[Path, int], None]

KINDS: dict[str, Fill] = {}
SIZES = ((256, 192), (192, 256), (256, 256), (240, 160))
CLASSES = 10
WORDS = ["".join(np.random.default_rng(i).choice(list(string.ascii_lowercase), 2 + i % 7)) for i in range(800)]


def kind(fill: Fill) -> Fill:
    KINDS[fill.__name__] = fill
    return fill


def ensure(name: str, count: int) -> Path:
    return photos.made_whole(place.of(name, count), lambda draft: KINDS[name](draft, count))


def generator(number: int) -> np.random.Generator:
    return np.random.default_rng((place.RECIPE, number))


def picture(number: int, size: tuple[int, int]) -> Image.Image:
    """A crop of a photograph with a camera's grain."""
    rng = generator(number)
    crop = photos.random_crop(photos.load_picture(photos.SCENES[number % len(photos.SCENES)]), size, rng)
    pixels = photos.jittered(crop, rng) + 4 * photos.random_grain((size[1], size[0]), rng)
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def blobs(number: int, size: tuple[int, int], most: int) -> tuple[Image.Image, list[tuple[int, int, int, int]]]:
    """A mask of 1 to `most` ellipses, numbered from 1, and their boxes."""
    rng = generator(number)
    mask, boxes = Image.new("L", size), []
    for label in range(1, int(rng.integers(1, most + 1)) + 1):
        width, height = (int(side * rng.uniform(0.2, 0.5)) for side in size)
        x, y = int(rng.integers(size[0] - width)), int(rng.integers(size[1] - height))
        boxes.append((x, y, x + width, y + height))
        ImageDraw.Draw(mask).ellipse(boxes[-1], fill=label)
    return mask, boxes


def sentence(number: int, low: int, high: int) -> str:
    rng = generator(number)
    return " ".join(rng.choice(WORDS, int(rng.integers(low, high))))


def table(file: Path, head: list[str], rows: Iterator[list[Any]]) -> None:
    with file.open("w", newline="") as lines:
        writer = csv.writer(lines)
        writer.writerow(head)
        writer.writerows(rows)


@kind
def photo(root: Path, count: int) -> None:
    for number in range(count):
        picture(number, SIZES[number % len(SIZES)]).save(root / f"{number:06d}.jpg", quality=90)


def link_photos(folder: Path, count: int, name: str = "{:06d}.jpg") -> list[Path]:
    """The photos in a folder, under names of their number."""
    made = []
    for number in range(count):
        made.append(folder / name.format(number, cls=number % CLASSES))
        made[-1].parent.mkdir(parents=True, exist_ok=True)
        os.link(ensure("photo", count) / f"{number:06d}.jpg", made[-1])
    return made


def size_of(number: int) -> tuple[int, int]:
    return SIZES[number % len(SIZES)]


@kind
def folder(root: Path, count: int) -> None:
    """ImageNet's layout."""
    link_photos(root / "train", count, "n{cls:08d}/{0:06d}.JPEG")


@kind
def domains(root: Path, count: int) -> None:
    """CycleGAN's: two folders of unpaired images."""
    link_photos(root / "trainA", count)
    for number in range(count):
        (root / "trainB").mkdir(exist_ok=True)
        picture(number, (256, 256)).convert("L").convert("RGB").save(root / "trainB" / f"{number}.jpg", quality=90)


@kind
def facades(root: Path, count: int) -> None:
    """pix2pix's: both images of a pair side by side in one file."""
    (root / "train").mkdir()
    for number in range(count):
        both, image = Image.new("RGB", (512, 256)), picture(number, (256, 256))
        both.paste(image, (0, 0))
        both.paste(image.quantize(8).convert("RGB"), (256, 0))
        both.save(root / "train" / f"{number}.jpg", quality=90)


@kind
def carvana(root: Path, count: int) -> None:
    """Photos, and masks of two values as GIF."""
    (root / "masks").mkdir()
    for number, path in enumerate(link_photos(root / "imgs", count)):
        mask = blobs(number, size_of(number), 2)[0].point(lambda value: 255 if value else 0)
        mask.convert("1").save(root / "masks" / f"{path.stem}_mask.gif")


@kind
def voc(root: Path, count: int) -> None:
    base = root / "VOCdevkit" / "VOC2012"
    for name in ("SegmentationClass", "ImageSets/Segmentation"):
        (base / name).mkdir(parents=True)
    names = [path.stem for path in link_photos(base / "JPEGImages", count)]
    for number, name in enumerate(names):
        mask = blobs(number, size_of(number), 3)[0]
        mask.putpalette([value for i in range(256) for value in (i * 37 % 256, i * 91 % 256, i)])
        mask.save(base / "SegmentationClass" / f"{name}.png")
    (base / "ImageSets/Segmentation/train.txt").write_text("\n".join(names) + "\n")


@kind
def pedestrians(root: Path, count: int) -> None:
    """PennFudan's: PNG photos, and masks whose values are the numbers of persons."""
    for name in ("PNGImages", "PedMasks"):
        (root / name).mkdir()
    for number in range(count):
        picture(number, size_of(number)).save(root / "PNGImages" / f"FudanPed{number:05d}.png")
        blobs(number, size_of(number), 3)[0].save(root / "PedMasks" / f"FudanPed{number:05d}_mask.png")


@kind
def coco(root: Path, count: int) -> None:
    link_photos(root / "train2017", count, "{:012d}.jpg")
    made: dict[str, Any] = {"images": [], "annotations": []}
    for number in range(count):
        width, height = size_of(number)
        name = f"{number:012d}.jpg"
        made["images"].append({"id": number, "file_name": name, "height": height, "width": width})
        for x, y, right, bottom in blobs(number, size_of(number), 4)[1]:
            box = [x, y, right - x, bottom - y]
            about = {"bbox": box, "area": box[2] * box[3], "iscrowd": 0, "category_id": 1 + (x + y) % 80}
            made["annotations"].append({"id": len(made["annotations"]), "image_id": number, **about})
    (root / "annotations").mkdir()
    (root / "annotations" / "instances_train2017.json").write_text(json.dumps(made))


@kind
def darknet(root: Path, count: int) -> None:
    """YOLO's: a list of files, and a text of boxes for each."""
    (root / "labels").mkdir()
    listed = []
    for number, path in enumerate(link_photos(root / "images", count)):
        listed.append(str(path.relative_to(root)))
        width, height = size_of(number)
        lines = [
            f"{(x + y) % 80} {(x + right) / 2 / width:.6f} {(y + bottom) / 2 / height:.6f}"
            f" {(right - x) / width:.6f} {(bottom - y) / height:.6f}\n"
            for x, y, right, bottom in blobs(number, size_of(number), 4)[1]
        ]
        (root / "labels" / f"{path.stem}.txt").write_text("".join(lines))
    (root / "train.txt").write_text("\n".join(listed) + "\n")


@kind
def competition(root: Path, count: int) -> None:
    """A Kaggle competition's: a folder, and a csv of names and labels."""
    names = [path.name for path in link_photos(root / "train_images", count)]
    rows = ([name, generator(i).integers(5)] for i, name in enumerate(names))
    table(root / "train.csv", ["image_id", "label"], rows)


@kind
def div2k(root: Path, count: int) -> None:
    """Super-resolution's: PNG photos, and the same at a quarter of their size."""
    for name in ("HR", "LR"):
        (root / name).mkdir()
    for number in range(count):
        image = picture(number, (256, 192))
        image.save(root / "HR" / f"{number:04d}.png")
        image.resize((64, 48), Image.Resampling.BICUBIC).save(root / "LR" / f"{number:04d}.png")


@kind
def flickr8k(root: Path, count: int) -> None:
    names = [path.name for path in link_photos(root / "Images", count)]
    table(root / "captions.txt", ["image", "caption"], ([n, sentence(i, 6, 16) + " ."] for i, n in enumerate(names)))


@kind
def pairs_of_text(root: Path, count: int) -> None:
    """Images and titles in a csv separated by tabs, as image-text models take them."""
    paths = link_photos(root / "images", count)
    lines = [f"images/{path.name}\t{sentence(i, 4, 12)}\n" for i, path in enumerate(paths)]
    (root / "train.csv").write_text("filepath\ttitle\n" + "".join(lines))


@kind
def faces(root: Path, count: int) -> None:
    """The faces of torch's tutorial: a csv with 68 points for each image."""
    names = [path.name for path in link_photos(root, count)]
    head = ["image_name", *(f"part_{i}_{axis}" for i in range(68) for axis in "xy")]
    rows = ([n, *generator(i).integers(20, 160, 136)] for i, n in enumerate(names))
    table(root / "face_landmarks.csv", head, rows)


def noise_images(number: int, *shape: int) -> npt.NDArray[np.uint8]:
    return generator(number).integers(0, 256, shape, np.uint8)


def write_cifar(root: Path, parts: list[str], count: int, labels: str, classes: int) -> None:
    root.mkdir()
    for number, name in enumerate(parts):
        share = count // len(parts)
        marks = generator(number).integers(0, classes, share).tolist()
        (root / name).write_bytes(pickle.dumps({"data": noise_images(number, share, 3072), labels: marks}))
    meta = "batches.meta" if classes == 10 else "meta"
    names = "label_names" if classes == 10 else "fine_label_names"
    (root / meta).write_bytes(pickle.dumps({names: [str(i) for i in range(classes)]}))


@kind
def cifar10(root: Path, count: int) -> None:
    parts = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]
    write_cifar(root / "cifar-10-batches-py", parts, count * 6 // 5, "labels", 10)


@kind
def cifar100(root: Path, count: int) -> None:
    write_cifar(root / "cifar-100-python", ["train", "test"], 2 * count, "fine_labels", 100)


def accept_cifar(root: Path) -> None:
    """Tells torchvision the sums of the files made here, in place of those of the ones to be downloaded."""
    for each in (datasets.CIFAR10, datasets.CIFAR100):
        base = root / each.base_folder
        if base.is_dir():
            sums = {path.name: hashlib.md5(path.read_bytes()).hexdigest() for path in base.iterdir()}
            each.train_list = [[name, sums[name]] for name, _ in each.train_list]
            each.test_list = [[name, sums[name]] for name, _ in each.test_list]
            each.meta = {**each.meta, "md5": sums[each.meta["filename"]]}


@kind
def mnist(root: Path, count: int) -> None:
    raw = root / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for part in ("train", "t10k"):
        images = noise_images(0, count, 28, 28)
        (raw / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 2051, count, 28, 28) + images.tobytes())
        labels = (np.arange(count) * 7 % 10).astype(np.uint8)
        (raw / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, count) + labels.tobytes())


@kind
def ett(root: Path, count: int) -> None:
    """A multivariate series with a date each hour; as many windows as samples are asked for."""
    rows = 12 * 30 * 24 + 4 * 30 * 24 * 2
    values = generator(0).normal(size=(rows, 7)).cumsum(0).round(3)
    dates = np.datetime64("2016-07-01T00:00:00") + np.arange(rows) * np.timedelta64(1, "h")
    lines = ([str(date).replace("T", " "), *row] for date, row in zip(dates, values.tolist(), strict=True))
    table(root / "ETTh1.csv", ["date", "HUFL", "HULL", "MUFL", "MULL", "LUFL", "LULL", "OT"], lines)


@kind
def prices(root: Path, count: int) -> None:
    values = 100 + generator(0).normal(size=(count + 60, 5)).cumsum(0).round(3)
    table(root / "stock.csv", ["Open", "High", "Low", "Close", "Volume"], iter(values.tolist()))


@kind
def churn(root: Path, count: int) -> None:
    """A table of categories and numbers."""
    rng = generator(0)
    rows = (
        [i, rng.choice(["France", "Spain", "Germany"]), rng.choice(["Male", "Female"]), rng.integers(18, 92), *more]
        for i in range(count)
        for more in [(round(rng.normal(650, 90), 1), round(rng.normal(7e4, 2e4), 2), rng.integers(2))]
    )
    table(root / "churn.csv", ["RowNumber", "Geography", "Gender", "Age", "CreditScore", "Balance", "Exited"], rows)


@kind
def ratings(root: Path, count: int) -> None:
    rng = generator(0)
    rows = np.stack([rng.integers(1, 200, count), rng.integers(1, 500, count), rng.integers(1, 6, count)], 1)
    np.savetxt(root / "ratings.dat", rows, "%d", delimiter="::")


@kind
def speech(root: Path, count: int) -> None:
    """Speech commands: a folder of one-second recordings a word."""
    for number in range(count):
        word = root / WORDS[number % CLASSES]
        word.mkdir(exist_ok=True)
        rng = generator(number)
        waves = (8000 * rng.normal(size=int(rng.integers(10000, 16000)))).clip(-32768, 32767).astype(np.int16)
        wavfile.write(word / f"{number:06d}_nohash_0.wav", 16000, waves)


@kind
def mels(root: Path, count: int) -> None:
    """Spectrograms of 80 bands and different lengths, and a list of files and texts."""
    lines = []
    for number in range(count):
        frames = generator(number).normal(size=(80, int(generator(number).integers(120, 400))))
        np.save(root / f"LJ{number:05d}.npy", frames.astype(np.float32))
        lines.append(f"LJ{number:05d}.npy|{sentence(number, 5, 18)}\n")
    (root / "filelist.txt").write_text("".join(lines))


@kind
def news(root: Path, count: int) -> None:
    rows = ([i % 4 + 1, sentence(i, 3, 8), sentence(i + count, 12, 50)] for i in range(count))
    with (root / "train.csv").open("w", newline="") as lines:
        csv.writer(lines).writerows(rows)


@kind
def multi30k(root: Path, count: int) -> None:
    for number, language in enumerate(("de", "en")):
        lines = [sentence(i + number * count, 5, 25) + "\n" for i in range(count)]
        (root / f"train.{language}").write_text("".join(lines))


@kind
def book(root: Path, count: int) -> None:
    (root / "input.txt").write_text("\n".join(sentence(i, 8, 14) for i in range(max(count // 50, 8))))


@kind
def tokens(root: Path, count: int) -> None:
    generator(0).integers(0, 50257, count * 256 + 1).astype(np.uint16).tofile(root / "train.bin")


@kind
def shapes(root: Path, count: int) -> None:
    """ShapeNet's: a text of points, and one of their parts, for each object."""
    listed = []
    for number in range(count):
        category = root / f"{number % CLASSES:08d}"
        for name in ("points", "points_label"):
            (category / name).mkdir(parents=True, exist_ok=True)
        rng = generator(number)
        points = rng.normal(size=(int(rng.integers(400, 700)), 3)).astype(np.float32)
        np.savetxt(category / "points" / f"{number}.pts", points, "%.6f")
        np.savetxt(category / "points_label" / f"{number}.seg", rng.integers(1, 5, len(points)), "%d")
        listed.append(f"shape_data/{category.name}/{number}")
    (root / "shuffled_train_file_list.json").write_text(json.dumps(listed))


@kind
def volumes(root: Path, count: int) -> None:
    """Medical slices: an .npz of an image and a label each, and a list of their names."""
    for number in range(count):
        image = generator(number).random((128, 128), np.float32)
        label = np.asarray(blobs(number, (128, 128), 4)[0]).astype(np.float32)
        np.savez(root / f"case{number:04d}.npz", image=image, label=label)
    (root / "train.txt").write_text("".join(f"case{number:04d}\n" for number in range(count)))


@kind
def molecules(root: Path, count: int) -> None:
    """Graphs of 10 to 30 nodes, as one file of torch's."""
    made = []
    for number in range(count):
        rng = generator(number)
        nodes = int(rng.integers(10, 30))
        edges = torch.from_numpy(rng.integers(0, nodes, (2, 3 * nodes)))
        made.append({"x": torch.from_numpy(rng.random((nodes, 9), np.float32)), "edge_index": edges, "y": number % 2})
    torch.save(made, root / "data.pt")


@kind
def episodes(root: Path, count: int) -> None:
    """Steps of an offline reinforcement learning set."""
    rng = generator(0)
    fields: dict[str, Any] = {
        "observations": rng.random((count, 17), np.float32),
        "actions": rng.random((count, 6), np.float32),
    }
    fields |= {"next_observations": rng.random((count, 17), np.float32), "rewards": rng.random(count, np.float32)}
    fields["terminals"] = rng.random(count) < 0.01
    np.savez(root / "halfcheetah.npz", **fields)
