"""Datasets as people write them, each with the state that tracing must reach: native, looked at, partly or
Python (trace/record.py).

They differ in how they open images, what they do to them, and how samples become a batch. Images are small: what is
compared is that each batch is torch's, bit for bit.
"""

from __future__ import annotations

import csv
import io
import random
import xml.etree.ElementTree as ElementTree
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import torch
import torchvision.transforms as T
import torchvision.transforms.functional as F
from PIL import Image, ImageDraw, ImageEnhance, ImageFilter, ImageOps
from torch.utils.data import Dataset, Subset, default_collate
from torchvision.datasets import ImageFolder
from torchvision.transforms.functional import to_tensor as imported_to_tensor

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
NORM = [T.ToTensor(), T.Normalize(MEAN, STD)]
TRAIN = T.Compose([T.RandomResizedCrop(32), T.RandomHorizontalFlip(), *NORM])
VAL = T.Compose([T.Resize(36), T.CenterCrop(32), *NORM])

COUNT = 21


def fill(root: Path) -> Path:
    """Photos, masks, boxes and a table of them, as the datasets below expect."""
    rng = np.random.default_rng(0)
    for folder in ("photos", "masks", "palette", "boxes", "grey", "png"):
        (root / folder).mkdir(parents=True)
    rows = []
    for i in range(COUNT):
        width, height = 40 + 3 * (i % 7), 60 - 2 * (i % 5)
        coarse = Image.fromarray(rng.integers(0, 256, (7, 8, 3), dtype=np.uint8))
        photo = coarse.resize((width, height), Image.Resampling.BICUBIC)
        photo.save(root / "photos" / f"{i}.jpg", subsampling=i % 3, progressive=i % 4 == 0)
        photo.save(root / "png" / f"{i}.png")
        photo.convert("L").save(root / "grey" / f"{i}.jpg")
        mask = Image.fromarray(rng.integers(0, 21, (6, 6), dtype=np.uint8)).resize((width, height), 0)
        mask.save(root / "masks" / f"{i}.png")
        mask.putpalette([value * 3 % 256 for value in range(768)])
        mask.save(root / "palette" / f"{i}.png")
        box = f"<a><o><x>{i}</x><y>3</y><w>{10 + i}</w><h>12</h></o><o><x>1</x><y>2</y><w>9</w><h>8</h></o></a>"
        (root / "boxes" / f"{i}.xml").write_text(box)
        rows.append({"file": f"photos/{i}.jpg", "label": i % 7, "weight": i / 4})
    with (root / "table.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["file", "label", "weight"])
        writer.writeheader()
        writer.writerows(rows)
    return root


class Files(Dataset[Any]):
    """Base of most: photo i of the folder, and a transform."""

    def __init__(self, root: Path, transform: Any = None) -> None:
        self.root, self.transform = root, transform

    def __len__(self) -> int:
        return COUNT

    def path(self, i: int, kind: str = "photos", end: str = "jpg") -> str:
        return f"{self.root}/{kind}/{i}.{end}"

    def __getitem__(self, i: int) -> Any:
        return self.transform(Image.open(self.path(i)).convert("RGB")), i


class Luma(Files):
    """Low and high resolution of the luma, as PyTorch's own example of super-resolution has them."""

    def __getitem__(self, i: int) -> Any:
        y, _, _ = Image.open(self.path(i)).convert("YCbCr").split()
        target = y.copy()
        return (
            T.Compose([T.CenterCrop(36), T.Resize(12), T.ToTensor()])(y),
            T.Compose([T.CenterCrop(36), T.ToTensor()])(target),
        )


class CsvTable(Files):
    """A csv file with a label and more; samples are dicts."""

    def __init__(self, root: Path, transform: Any) -> None:
        super().__init__(root, transform)
        with (root / "table.csv").open() as file:
            self.rows = list(csv.DictReader(file))

    def __getitem__(self, i: Any) -> Any:
        if torch.is_tensor(i):
            i = i.tolist()
        row = self.rows[i]
        path = self.root / row["file"]
        image = self.transform(PIL.Image.open(path).convert("RGB"))
        label = int(row["label"])
        onehot = torch.nn.functional.one_hot(torch.tensor(label), 7)
        return {"image": image, "label": label, "path": str(path), "weight": float(row["weight"]), "onehot": onehot}


class OwnFolder(ImageFolder):
    """A subclass of ImageFolder with a sample of its own shape."""

    def __getitem__(self, i: int) -> Any:
        image, label = super().__getitem__(i)
        return i, image, label


class WithBlock(Files):
    """As torchvision's pil_loader: an open file, in a with block."""

    def __getitem__(self, i: int) -> Any:
        with open(self.path(i), "rb") as file:
            image = Image.open(file)
            image = image.convert("RGB")
        return self.transform(image), i


class ImageWithBlock(Files):
    def __getitem__(self, i: int) -> Any:
        with Image.open(self.path(i)) as image:
            return self.transform(image.convert("RGB")), i


class Loaded(Files):
    """Forces the decoding, looks at size and mode, and fixes modes."""

    def __getitem__(self, i: int) -> Any:
        image = Image.open(self.path(i, "grey" if i % 2 else "photos"))
        image.load()
        assert isinstance(image, Image.Image) and image.width > image.size[0] - 1
        if image.mode != "RGB":
            image = image.convert("RGB")
        return self.transform(image), image.size[0]


class Store(Files):
    """Files kept in memory, as from LMDB or parquet."""

    def __init__(self, root: Path, transform: Any) -> None:
        super().__init__(root, transform)
        self.store = {i: Path(self.path(i)).read_bytes() for i in range(COUNT)}

    def __getitem__(self, i: int) -> Any:
        return self.transform(Image.open(io.BytesIO(self.store[i])).convert("RGB")), i


class GreyFiles(Files):
    def __getitem__(self, i: int) -> Any:
        return self.transform(Image.open(self.path(i, "grey"))), i


class Voc(Files):
    """Photo and mask, cropped and flipped alike by functions."""

    masks = "masks"

    def pair(self, i: int) -> tuple[Any, Any]:
        image = Image.open(self.path(i)).convert("RGB")
        mask = Image.open(self.path(i, self.masks, "png"))
        top, left, height, width = T.RandomCrop.get_params(image, (38, 36))
        image, mask = F.crop(image, top, left, height, width), F.crop(mask, top, left, height, width)
        image = F.resize(image, [32, 32])
        mask = F.resize(mask, [32, 32], F.InterpolationMode.NEAREST)
        if random.random() < 0.5:
            image, mask = F.hflip(image), F.hflip(mask)
        return image, mask

    def __getitem__(self, i: int) -> Any:
        image, mask = self.pair(i)
        return T.Compose(NORM)(image), F.pil_to_tensor(mask)


class VocLong(Voc):
    """Class numbers as torch's losses want them."""

    def __getitem__(self, i: int) -> Any:
        image, mask = self.pair(i)
        return imported_to_tensor(image), F.pil_to_tensor(mask).long()


class VocSqueezed(Voc):
    def __getitem__(self, i: int) -> Any:
        image, mask = self.pair(i)
        return T.Compose(NORM)(image), F.pil_to_tensor(mask).squeeze(0).long()


class VocPalette(Voc):
    masks = "palette"


class VocArray(Voc):
    """The mask through numpy, with one class renamed."""

    def __getitem__(self, i: int) -> Any:
        image, mask = self.pair(i)
        array = np.array(mask).astype("int64")
        array[array == 20] = -1
        return T.Compose(NORM)(image), torch.from_numpy(array)


class HandWritten(Files):
    """What torchvision does, by hand in numpy."""

    mean, std = np.array(MEAN, np.float32), np.array(STD, np.float32)

    def __getitem__(self, i: int) -> Any:
        image = np.array(Image.open(self.path(i)).convert("RGB").resize((34, 36)))
        if random.random() < 0.5:
            image = image[:, ::-1]
        top, left = np.random.randint(0, 4), random.randint(0, 2)
        image = image[top : top + 32, left : left + 32]
        image = image.astype(np.float32) / 255.0
        image = (image - self.mean) / self.std
        return torch.from_numpy(image.transpose(2, 0, 1).copy()), torch.tensor(i)


class InPlaceArrays(Files):
    """The same, written into the array, and through a tensor over it."""

    def __getitem__(self, i: int) -> Any:
        image = np.asarray(Image.open(self.path(i)).convert("RGB").resize((20, 22)), dtype=np.float32).copy()
        image /= 255
        image -= HandWritten.mean
        tensor = torch.from_numpy(image).permute(2, 0, 1)
        tensor.div_(torch.from_numpy(HandWritten.std)[:, None, None])
        return tensor, image.shape


class Bytes(Files):
    """Samples are arrays of bytes, as whoever scales on the GPU has them."""

    def __getitem__(self, i: int) -> Any:
        image = np.array(Image.open(self.path(i)).convert("RGB").resize((20, 22)))
        return {"rgb": image, "bgr": np.ascontiguousarray(image[..., ::-1]), "green": image[..., 1].copy()}


class Through(Files):
    """From Pillow to numpy and back, with torchvision behind."""

    def __getitem__(self, i: int) -> Any:
        array = np.asarray(Image.open(self.path(i)).convert("RGB"))
        image = Image.fromarray(array[2:, :-3]).resize((30, 28))
        return F.normalize(F.to_tensor(np.array(image)), MEAN, STD), F.hflip(F.to_tensor(image))


class Masks(Voc):
    """Classes of a mask, one renamed and one ignored, in numpy and in torch."""

    def __getitem__(self, i: int) -> Any:
        image, mask = self.pair(i)
        classes = np.array(mask, dtype=np.int64)
        classes[classes > 18] = 255
        labels = torch.as_tensor(np.asarray(mask), dtype=torch.long)
        labels[labels == 3] = -100
        some = np.where(np.array(mask) == 5, np.float32(1), np.float32(0))
        return torch.as_tensor(np.array(image)).permute(2, 0, 1).float() / 255, classes, labels, some[None]


class SameSeed(Voc):
    """An image and its mask, with the same random numbers for both."""

    def __getitem__(self, i: int) -> Any:
        image, mask = Image.open(self.path(i)).convert("RGB"), Image.open(self.path(i, "masks", "png"))
        seed = np.random.randint(2147483647)
        random.seed(seed)
        torch.manual_seed(seed)
        image = self.transform(image)
        random.seed(seed)
        torch.manual_seed(seed)
        mask = self.transform(mask.convert("L"))
        return image, mask


class Siamese(Files):
    """Two photos, of one label or of two, drawn until that is so."""

    def __init__(self, root: Path, transform: Any = None) -> None:
        super().__init__(root, transform)
        self.images = [(self.path(i), i % 5) for i in range(COUNT)]

    def __getitem__(self, i: int) -> Any:
        first = random.choice(self.images)
        if random.randint(0, 1):
            while True:
                second = random.choice(self.images)
                if first[1] == second[1]:
                    break
        else:
            while True:
                second = random.choice(self.images)
                if first[1] != second[1]:
                    break
        one = self.transform(Image.open(first[0]).convert("L"))
        other = self.transform(Image.open(second[0]).convert("L"))
        return one, other, torch.from_numpy(np.array([int(second[1] != first[1])], dtype=np.float32))


class SimClr(Files):
    """Two crops of one image."""

    def __getitem__(self, i: int) -> Any:
        image = Image.open(self.path(i)).convert("RGB")
        return [self.transform(image), self.transform(image)], i


class MocoBlur:
    """As MoCo's code has it: Pillow's blur, its strength by Python's random."""

    def __init__(self, sigma: tuple[float, float]) -> None:
        self.sigma = sigma

    def __call__(self, image: Image.Image) -> Image.Image:
        return image.filter(ImageFilter.GaussianBlur(radius=random.uniform(*self.sigma)))


class SimClrStacked(SimClr):
    def __getitem__(self, i: int) -> Any:
        views, _ = super().__getitem__(i)
        return torch.stack(views)


class Dino(Files):
    """Two large and four small crops of one image, in a list."""

    def __init__(self, root: Path) -> None:
        flip = T.RandomHorizontalFlip(0.5)
        large = T.Compose([T.RandomResizedCrop(32, (0.4, 1.0), interpolation=Image.BICUBIC), flip, *NORM])
        small = T.Compose([T.RandomResizedCrop(16, (0.05, 0.4), interpolation=Image.BICUBIC), flip, *NORM])
        super().__init__(root)
        self.transforms = [large, large, small, small, small, small]

    def __getitem__(self, i: int) -> Any:
        image = Image.open(self.path(i)).convert("RGB")
        return [transform(image) for transform in self.transforms], 0


class Chain(Files):
    """Everything by functions, with random's numbers."""

    def __getitem__(self, i: int) -> Any:
        image = Image.open(self.path(i)).convert("RGB")
        top, left, height, width = T.RandomResizedCrop.get_params(image, [0.3, 1.0], [0.75, 1.33])
        image = F.resized_crop(image, top, left, height, width, [33, 35], F.InterpolationMode.LANCZOS)
        if random.random() < 0.5:
            image = F.hflip(image)
        if random.random() < 0.5:
            image = F.vflip(image)
        if np.random.rand() < 0.5:
            image = F.rgb_to_grayscale(image, 3)
        image = F.pad(image, [1, 2, 3, 0], fill=(7, 8, 250))
        image = F.pad(image, [2], padding_mode=random.choice(["edge", "reflect", "symmetric"]))
        image = F.center_crop(image, [40, 30])
        return F.normalize(F.convert_image_dtype(F.pil_to_tensor(image), torch.float32), MEAN, STD), i


class PillowOnly(Files):
    """Pillow's methods and arithmetic on tensors."""

    def __getitem__(self, i: int) -> Any:
        image = Image.open(self.path(i)).convert("RGB").resize((34, 32), Image.BILINEAR)
        if random.random() < 0.5:
            image = image.transpose(Image.FLIP_LEFT_RIGHT)
        if random.random() < 0.5:
            image = ImageOps.flip(ImageOps.mirror(image))
        image = ImageOps.expand(image, 2, fill=0).crop((1, 1, 33, 33)).copy()
        return (imported_to_tensor(image) - 0.5) / 0.5, i


class Exif(Files):
    def __getitem__(self, i: int) -> Any:
        return self.transform(ImageOps.exif_transpose(Image.open(self.path(i))).convert("RGB")), i


class Described(Files):
    """Asks a file for what its header says."""

    def __getitem__(self, i: int) -> Any:
        image = Image.open(self.path(i))
        about = {"format": image.format, "dpi": image.info.get("jfif_density", 0)[0], "exif": len(image.getexif())}
        return self.transform(image.convert("RGB")), about | {"name": image.filename[-5:]}


class Detection(Files):
    """An image as it is, and its boxes: the batch is two lists."""

    def __getitem__(self, i: int) -> Any:
        image = Image.open(self.path(i)).convert("RGB")
        boxes = [
            [float(box.find(name).text) for name in "xywh"]  # type: ignore[union-attr,arg-type]
            for box in ElementTree.parse(self.path(i, "boxes", "xml")).getroot()
        ]
        target = {"boxes": torch.tensor(boxes), "labels": torch.ones(len(boxes), dtype=torch.int64), "image_id": i}
        if random.random() < 0.5:
            image = F.hflip(image)
            target["boxes"][:, 0] = image.width - target["boxes"][:, 0] - target["boxes"][:, 2]
        return F.to_tensor(image), target


class Mean(Files):
    """Looks at every pixel."""

    def __getitem__(self, i: int) -> Any:
        image = Image.open(self.path(i)).convert("RGB")
        return np.asarray(image).mean(), self.transform(image)


class Drawn(Files):
    """Draws into the image before and after a crop that is used too."""

    def __getitem__(self, i: int) -> Any:
        image = Image.open(self.path(i)).convert("RGB")
        before = F.to_tensor(image.crop((0, 0, 30, 30)))
        ImageDraw.Draw(image).rectangle((5, 5, 20, 20), fill=(255, 0, 0))
        image.putpixel((1, 2), (1, 2, 3))
        after = F.to_tensor(image.crop((0, 0, 30, 30)))
        return before, after


class Policies(Files):
    """What timm's and others' own augmentations call, with random's numbers."""

    def __getitem__(self, i: int) -> Any:
        image = Image.open(self.path(i)).convert("RGB").resize((40, 36), Image.BICUBIC)
        width, height = image.size
        level, sign = random.random(), random.choice([-1, 1])
        options = {"resample": random.choice([Image.BILINEAR, Image.BICUBIC]), "fillcolor": (124, 116, 104)}
        table = [min(255, v + int(110 * level)) if v < 128 else v for v in range(256)]
        policies = [
            lambda img: img.transform(img.size, Image.AFFINE, (1, 0.3 * sign * level, 0, 0, 1, 0), **options),
            lambda img: img.transform(img.size, Image.AFFINE, (1, 0, 0, 0, 1, sign * level * height), **options),
            lambda img: img.rotate(30 * sign * level, **options),
            lambda img: img.rotate(90 * sign, expand=True).resize((width, height)),
            lambda img: ImageOps.posterize(img, 4 + int(4 * level)),
            lambda img: ImageOps.solarize(img, int(256 * level)),
            lambda img: img.point(table * 3),
            ImageOps.autocontrast,
            ImageOps.equalize,
            ImageOps.invert,
            lambda img: ImageEnhance.Contrast(img).enhance(max(0.1, 1 + 0.9 * sign * level)),
            lambda img: ImageEnhance.Color(img).enhance(1 + 0.9 * level),
            lambda img: ImageEnhance.Brightness(img).enhance(1 - 0.9 * level),
            lambda img: ImageEnhance.Sharpness(img).enhance(1 + 0.9 * sign * level),
        ]
        for policy in random.sample(policies, 3):
            image = policy(image)
        return F.normalize(F.to_tensor(image), MEAN, STD), i


def pixels_after(*transforms: Any) -> Callable[[Path], Dataset[Any]]:
    """Random crops, these, and a normalised tensor."""
    return lambda root: Files(root, T.Compose([T.RandomResizedCrop(32), *transforms, *NORM]))


class InPlace(Files):
    """Writes into the tensor."""

    def __getitem__(self, i: int) -> Any:
        x = self.transform(Image.open(self.path(i)).convert("RGB"))
        x[:, :4, :4] = 0.0
        x.mul_(2)
        return x, x.mean().item()


class Cutout:
    """As published with "Improved Regularization of Convolutional Neural Networks with Cutout"."""

    def __init__(self, n_holes: int, length: int) -> None:
        self.n_holes, self.length = n_holes, length

    def __call__(self, img: Any) -> Any:
        h, w = img.size(1), img.size(2)
        mask = np.ones((h, w), np.float32)
        for _ in range(self.n_holes):
            y, x = torch.randint(h, ()).item(), torch.randint(w, ()).item()
            y1, y2 = np.clip(y - self.length // 2, 0, h), np.clip(y + self.length // 2, 0, h)
            x1, x2 = np.clip(x - self.length // 2, 0, w), np.clip(x + self.length // 2, 0, w)
            mask[y1:y2, x1:x2] = 0.0
        return img * torch.from_numpy(mask).expand_as(img)


class Holes(Files):
    """Writes into arrays of bytes."""

    def __getitem__(self, i: int) -> Any:
        image = np.array(Image.open(self.path(i)).convert("RGB").resize((40, 30)))
        for _ in range(2):
            y, x = torch.randint(25, (2,)).tolist()
            image[y : y + 8, x : x + 8] = (124, 116, 104)
        return F.normalize(F.to_tensor(image), (0.4, 0.5, 0.6), (0.2, 0.3, 0.1)), i


class Cached(Files):
    """Keeps what it made, as an epoch cache does."""

    def __init__(self, root: Path, transform: Any) -> None:
        super().__init__(root, transform)
        self.cache: dict[int, Any] = {}

    def __getitem__(self, i: int) -> Any:
        if i not in self.cache:
            image = Image.open(self.path(i)).convert("RGB")
            self.cache[i] = (image, F.to_tensor(image.resize((32, 32))))
        image, small = self.cache[i]
        return self.transform(image), small


class Batched(Files):
    """Fetches a whole batch by itself."""

    def __getitems__(self, indices: list[int]) -> list[Any]:
        return [self[i] for i in indices]


class OwnGenerator(Files):
    """Draws from generators of its own."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.rng, self.state = np.random.default_rng(5), random.Random(6)

    def __getitem__(self, i: int) -> Any:
        image = Image.open(self.path(i)).convert("RGB")
        left, top = int(self.rng.integers(0, 8)), self.state.randrange(8)
        return F.to_tensor(image.crop((left, top, left + 30, top + 30))), i


class Missing(Files):
    """Some files are not there, and some are not whole: another takes their place."""

    def __getitem__(self, i: int) -> Any:
        try:
            if i % 5 == 1:
                image = Image.open(self.path(i) + ".no")
            elif i % 5 == 2:
                image = Image.open(io.BytesIO(Path(self.path(i)).read_bytes()[:-100]))
            elif i % 5 == 3:
                image = Image.open(io.BytesIO(b"no image"))
            else:
                image = Image.open(self.path(i))
            image = image.convert("RGB")
        except OSError as error:
            return self[random.randrange(COUNT // 5) * 5][0], type(error).__name__
        return self.transform(image), ""


class Pngs(Files):
    def __getitem__(self, i: int) -> Any:
        return self.transform(Image.open(self.path(i, "png", "png"))), i


class Text(Files):
    """Opens no image at all."""

    def __getitem__(self, i: int) -> Any:
        return torch.tensor([ord(c) for c in Path(self.path(i, "boxes", "xml")).read_text()[:20]])


Named = namedtuple("Named", ["image", "label"])


class NamedTuples(Files):
    def __getitem__(self, i: int) -> Any:
        return Named(*super().__getitem__(i))


class Batch:
    """A batch type of the user's own, as many collate functions make."""

    def __init__(self, samples: list[Any]) -> None:
        self.images = torch.stack([image for image, _ in samples])
        self.labels = torch.tensor([label for _, label in samples])


def lists(samples: list[Any]) -> Any:
    return tuple(zip(*samples, strict=True))


def stacked(samples: list[Any]) -> Any:
    return {"x": torch.stack([x for x, _ in samples], dim=0), "y": torch.as_tensor([y for _, y in samples])}


def mixed(samples: list[Any]) -> Any:
    """Mixup: touches all pixels."""
    x, y = default_collate(samples)
    order = torch.randperm(len(x))
    share = float(np.random.beta(0.4, 0.4))
    return share * x + (1 - share) * x[order], y, y[order]


def padded(samples: list[Any]) -> Any:
    """DETR's: images of any size in one tensor."""
    images = [x for x, _ in samples]
    height, width = max(x.shape[1] for x in images), max(x.shape[2] for x in images)
    batch = torch.zeros(len(images), 3, height, width)
    for place, x in zip(batch, images, strict=True):
        place[:, : x.shape[1], : x.shape[2]].copy_(x)
    return batch, [target["image_id"] for _, target in samples]


def images_only(samples: list[Any]) -> Any:
    return samples


@dataclass(frozen=True)
class Case:
    """A dataset, how it is loaded, and where its pixels must come from; `alone`: without workers, if not so."""

    make: Callable[[Path], Any]
    state: str = "native"
    options: dict[str, Any] = field(default_factory=dict)
    alone: str = ""


CASES: dict[str, Case] = {
    "csv train": Case(lambda root: CsvTable(root, TRAIN)),
    "csv val": Case(lambda root: CsvTable(root, VAL)),
    "subset of csv": Case(lambda root: Subset(CsvTable(root, TRAIN), range(3, 20))),
    "subclass of ImageFolder": Case(lambda root: OwnFolder(str(root / "classes"), TRAIN)),
    "with open": Case(lambda root: WithBlock(root, TRAIN)),
    "with Image.open": Case(lambda root: ImageWithBlock(root, TRAIN)),
    "load() and modes": Case(lambda root: Loaded(root, VAL)),
    "BytesIO from a store": Case(lambda root: Store(root, VAL)),
    "png": Case(lambda root: Pngs(root, TRAIN)),
    "grey": Case(lambda root: GreyFiles(root, T.Compose([T.Resize((32, 30)), T.ToTensor(), T.Normalize(0.5, 0.5)]))),
    "grey to three": Case(
        lambda root: GreyFiles(root, T.Compose([T.Grayscale(3), T.RandomCrop(30, padding=4), T.ToTensor()]))
    ),
    "to grey": Case(lambda root: Files(root, T.Compose([T.RandomResizedCrop(24), T.Grayscale(), T.ToTensor()]))),
    "uint8": Case(lambda root: Files(root, T.Compose([T.Resize((24, 20)), T.PILToTensor()]))),
    "float64": Case(
        lambda root: Files(root, T.Compose([T.Resize((24, 20)), T.PILToTensor(), T.ConvertImageDtype(torch.float64)]))
    ),
    "five crops": Case(
        lambda root: Files(
            root, T.Compose([T.FiveCrop(20), T.Lambda(lambda crops: torch.stack([T.ToTensor()(c) for c in crops]))])
        )
    ),
    "random apply and choice": Case(
        lambda root: Files(
            root,
            T.Compose(
                [
                    T.RandomApply([T.Resize((50, 45))], 0.5),
                    T.RandomChoice([T.CenterCrop(60), T.RandomCrop(30, pad_if_needed=True), T.Pad(3, 255)]),
                    T.RandomVerticalFlip(),
                    T.Resize((20, 21), T.InterpolationMode.BICUBIC),
                    *NORM,
                ]
            ),
        )
    ),
    "VOC": Case(Voc),
    "VOC, long": Case(VocLong),
    "VOC, palette masks": Case(VocPalette),
    "VOC, mask in numpy": Case(VocArray),
    "VOC, squeezed": Case(VocSqueezed),
    "masks by class": Case(Masks),
    "the same seed for image and mask": Case(
        lambda root: SameSeed(root, T.Compose([T.RandomResizedCrop(30), T.RandomHorizontalFlip(), T.ToTensor()])),
    ),
    "siamese": Case(lambda root: Siamese(root, T.Compose([T.Resize((30, 32)), T.ToTensor()]))),
    "numpy by hand": Case(HandWritten),
    "numpy in place": Case(InPlaceArrays),
    "arrays of bytes": Case(Bytes),
    "arrays without batches": Case(Bytes, options={"batch_size": None}),
    "to numpy and back": Case(Through),
    "SimCLR": Case(lambda root: SimClr(root, TRAIN)),
    "SimCLR, stacked": Case(lambda root: SimClrStacked(root, TRAIN)),
    "SimCLR with blur": Case(
        lambda root: SimClr(
            root, T.Compose([T.RandomResizedCrop(32), T.RandomApply([T.GaussianBlur(7, (0.1, 2.0))], p=0.5), *NORM])
        )
    ),
    "MoCo v2": Case(
        lambda root: SimClr(
            root,
            T.Compose(
                [
                    T.RandomResizedCrop(32, scale=(0.2, 1.0)),
                    T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
                    T.RandomGrayscale(p=0.2),
                    T.RandomApply([MocoBlur((0.1, 2.0))], p=0.5),
                    T.RandomHorizontalFlip(),
                    *NORM,
                ]
            ),
        )
    ),
    "DINO": Case(Dino),
    "functional chain": Case(Chain),
    "Pillow's own methods": Case(PillowOnly),
    "exif_transpose": Case(lambda root: Exif(root, VAL)),
    "header": Case(lambda root: Described(root, VAL)),
    "detection": Case(Detection, options={"collate_fn": lists}),
    "detection, padded": Case(Detection, options={"collate_fn": padded}),
    "collate of one's own": Case(lambda root: Files(root, TRAIN), options={"collate_fn": stacked}),
    "batch of one's own": Case(lambda root: Files(root, TRAIN), options={"collate_fn": Batch}),
    "collate mixes": Case(lambda root: Files(root, TRAIN), "looked at", {"collate_fn": mixed}),
    "named tuples": Case(lambda root: NamedTuples(root, TRAIN)),
    "no batches": Case(lambda root: Files(root, TRAIN), options={"batch_size": None}),
    "no batches, uint8": Case(lambda root: Files(root, T.PILToTensor()), options={"batch_size": None}),
    "__getitems__": Case(lambda root: Batched(root, TRAIN)),
    "cache": Case(lambda root: Cached(root, VAL), "Python"),
    "generators of one's own": Case(OwnGenerator),
    "missing and broken files": Case(lambda root: Missing(root, VAL), "partly"),
    "touches pixels": Case(lambda root: Mean(root, VAL), "partly"),
    "draws": Case(Drawn, "partly"),
    "colour jitter": Case(pixels_after(T.ColorJitter(0.4, 0.4, 0.4, 0.1))),
    "SimCLR with colours": Case(
        lambda root: SimClr(
            root,
            T.Compose(
                [
                    T.RandomResizedCrop(32),
                    T.RandomHorizontalFlip(),
                    T.RandomApply([T.ColorJitter(0.8, 0.8, 0.8, 0.2)], p=0.8),
                    T.RandomGrayscale(p=0.2),
                    T.RandomSolarize(128, p=0.2),
                    *NORM,
                ]
            ),
        )
    ),
    "rotation": Case(lambda root: Files(root, T.Compose([T.RandomRotation(20), VAL]))),
    "affine and perspective": Case(
        pixels_after(
            T.RandomAffine(20, (0.1, 0.2), (0.8, 1.2), (-5, 5, -9, 9), T.InterpolationMode.BILINEAR, fill=7),
            T.RandomPerspective(0.4, p=0.7),
        )
    ),
    "RandAugment": Case(pixels_after(T.RandAugment())),
    "RandAugment, bicubic": Case(
        pixels_after(T.RandAugment(3, 12, interpolation=T.InterpolationMode.BICUBIC, fill=[9] * 3))
    ),
    "TrivialAugment": Case(pixels_after(T.TrivialAugmentWide(interpolation=T.InterpolationMode.BILINEAR))),
    "AutoAugment": Case(pixels_after(T.AutoAugment(), T.AutoAugment(T.AutoAugmentPolicy.CIFAR10))),
    "AutoAugment, grey": Case(
        lambda root: GreyFiles(
            root, T.Compose([T.Resize((32, 30)), T.AutoAugment(T.AutoAugmentPolicy.SVHN), T.ToTensor()])
        )
    ),
    "random colours": Case(
        pixels_after(
            T.RandomInvert(),
            T.RandomPosterize(3),
            T.RandomSolarize(100),
            T.RandomAdjustSharpness(2),
            T.RandomAutocontrast(),
            T.RandomEqualize(),
        )
    ),
    "policies of one's own": Case(Policies),
    "median filter": Case(pixels_after(T.Lambda(lambda image: image.filter(ImageFilter.MedianFilter(3))))),
    "luma": Case(Luma),
    "YCbCr": Case(pixels_after(T.Lambda(lambda image: image.convert("YCbCr")))),
    "YCbCr of arrays": Case(pixels_after(T.Lambda(lambda image: np.array(image.convert("YCbCr"))[:, ::-1].copy()))),
    "mode filter": Case(pixels_after(T.Lambda(lambda image: image.filter(ImageFilter.ModeFilter(3)))), "looked at"),
    "writes in place": Case(lambda root: InPlace(root, VAL), "looked at"),
    "random erasing": Case(lambda root: Files(root, T.Compose([VAL, T.RandomErasing(0.1)]))),
    "Cutout": Case(lambda root: Files(root, T.Compose([VAL, Cutout(1, 16)]))),
    "Cutout of arrays": Case(Holes),
    "PIL images": Case(lambda root: Files(root, T.Resize(20)), "looked at", {"collate_fn": images_only}),
    "text": Case(Text, "Python"),
}
