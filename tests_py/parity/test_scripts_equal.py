"""A class of the user's own, or a transform of theirs, that draws for itself, branches by what it drew, opens files
that it draws, or makes several images of one: compiled to a script of the core, it is torch's to the bit."""

from __future__ import annotations

import math
import os
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms as T
import torchvision.transforms.functional as F
from photos import picture, save
from PIL import Image, ImageEnhance, ImageFilter, ImageOps
from torch.utils.data import ConcatDataset, Dataset, Subset
from torchvision.datasets import ImageFolder
from twins import Program, bits, check, errors, loader_of, seed

import goloader
from goloader.doors import choice
from goloader.doors.index import trial
from goloader.doors.index.iterators import InlineIterator
from goloader.plan import Plan
from goloader.plan.bytecode import Constant
from goloader.plan.datasets.script.code import ScriptCode
from goloader.plan.datasets.script.node import Scripted
from tests_py.pages import part

WORKERS = pytest.mark.parametrize("num_workers", [0, 1, 3])

COUNT = 13


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Photos of several sizes, with masks of theirs."""
    folder = tmp_path_factory.mktemp("scripts")
    for k in range(COUNT):
        image = picture(40 + 3 * (k % 4), 36 + 5 * (k % 3), k)
        for name, kind in (("a", "JPEG"), ("b", "PNG")):
            (folder / name).mkdir(exist_ok=True)
            (folder / name / f"{k:02}.{kind.lower()}").write_bytes(save(image, kind))
        (folder / "masks").mkdir(exist_ok=True)
        mask = Image.fromarray((np.asarray(image.convert("L")) // 64).astype(np.uint8))
        (folder / "masks" / f"{k:02}.png").write_bytes(save(mask, "PNG"))
    (folder / "broken.jpeg").write_bytes(save(picture(40, 36, 0), "JPEG")[:400])
    return folder


class Base(Dataset[Any]):
    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.a = sorted(str(path) for path in (root / "a").iterdir())
        self.b = sorted(str(path) for path in (root / "b").iterdir())
        self.masks = sorted(str(path) for path in (root / "masks").iterdir())
        self.labels = [k % 5 for k in range(COUNT)]
        self.array = np.arange(COUNT) * 2
        self.p = 0.5
        self.size = 24
        self.choices = [16, 20, 28]

    def __len__(self) -> int:
        return COUNT


CROP = T.Compose([T.RandomResizedCrop(20), T.RandomHorizontalFlip(), T.ToTensor()])
PLAIN = T.Compose([T.Resize((20, 24)), T.ToTensor()])


class Blur:
    def __init__(self, sigma: list[float]) -> None:
        self.sigma = sigma

    def __call__(self, x: Any) -> Any:
        return x.filter(ImageFilter.GaussianBlur(radius=random.uniform(self.sigma[0], self.sigma[1])))


class Solarize:
    def __call__(self, image: Any) -> Any:
        if random.random() < 0.4:
            return ImageOps.solarize(image, 100)
        return image


class Two:
    def __init__(self, base: Any) -> None:
        self.base = base

    def __call__(self, x: Any) -> Any:
        return [self.base(x), self.base(x)]


class Many(torch.nn.Module):
    def __init__(self, base: Any, other: Any, count: int) -> None:
        super().__init__()
        self.base, self.other, self.count = base, other, count

    def forward(self, image: Any) -> Any:
        crops = [self.base(image)]
        for _ in range(self.count):
            crops.append(self.other(image))
        return crops


CONTRASTIVE = T.Compose(
    [
        T.RandomResizedCrop(20, scale=(0.2, 1.0)),
        T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
        T.RandomGrayscale(p=0.2),
        T.RandomApply([Blur([0.1, 2.0])], p=0.5),
        Solarize(),
        T.RandomHorizontalFlip(),
        T.ToTensor(),
        T.Normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4)),
    ]
)


class Unpaired(Base):
    """CycleGAN's."""

    def __getitem__(self, index: int) -> Any:
        a = self.a[index % len(self.a)]
        other = random.randint(0, len(self.b) - 1)
        b = self.b[other]
        one, two = Image.open(a).convert("RGB"), Image.open(b).convert("RGB")
        return {"A": CROP(one), "B": CROP(two), "A_path": a, "B_path": b, "other": other}


class Flipped(Base):
    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.a[index]).convert("RGB").resize((30, 26))
        mask = Image.open(self.masks[index]).convert("L").resize((30, 26), Image.NEAREST)
        if random.random() < self.p:
            image = image.transpose(Image.FLIP_LEFT_RIGHT)
            mask = mask.transpose(Image.FLIP_LEFT_RIGHT)
        if random.random() > 0.5:
            image, mask = F.vflip(image), F.vflip(mask)
        return F.to_tensor(image), torch.from_numpy(np.array(mask)).long(), self.labels[index]


class Cropped(Base):
    """Sizes, and draws that depend on them."""

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.a[index])
        w, h = image.size
        x, y = np.random.randint(0, w - self.size), np.random.randint(0, h - self.size + 1)
        image = image.crop((x, y, x + self.size, y + self.size))
        return F.to_tensor(image), x, y, w / h, index


class Resized(Base):
    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.b[index]).convert("RGB")
        size = random.randint(26, 40)
        image = F.resize(image, size)
        if min(image.size) < 30:
            ow, oh = image.size
            padh = 30 - oh if oh < 30 else 0
            padw = 30 - ow if ow < 30 else 0
            image = F.pad(image, (0, 0, padw, padh), fill=7)
        top, left, height, width = T.RandomCrop.get_params(image, (26, 26))
        return F.normalize(F.to_tensor(F.crop(image, top, left, height, width)), [0.5] * 3, [0.25] * 3), size


class Chosen(Base):
    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.a[index]).convert("RGB")
        side = random.choice(self.choices)
        image = image.resize((side, side), Image.BICUBIC).resize((22, 22))
        if torch.rand(1) < 0.3:
            image = ImageOps.mirror(image)
        if torch.rand(1).item() < 0.7:
            image = ImageOps.invert(image)
        k = torch.randint(0, 5, (1,)).item()
        return F.to_tensor(image), side, k


class Triplets(Base):
    """Rows of an array, others of which are drawn."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.data = np.random.default_rng(0).integers(0, 256, (COUNT, 20, 22, 3), dtype=np.uint8)
        self.grey = torch.from_numpy(self.data[..., 0].copy())
        self.transform = T.Compose([T.RandomCrop(16, padding=2), T.ToTensor()])

    def __getitem__(self, index: int) -> Any:
        anchor = Image.fromarray(self.data[index])
        other = np.random.randint(COUNT)
        third = np.random.randint(0, COUNT)
        images = (
            self.transform(anchor),
            self.transform(Image.fromarray(self.data[other])),
            self.transform(Image.fromarray(self.data[third])),
        )
        return images, self.labels[index]


class Twice(Base):
    """The low resolution of a crop, SRGAN's."""

    def __getitem__(self, index: int) -> Any:
        high = T.RandomCrop(24)(Image.open(self.b[index])) if False else self.high(Image.open(self.b[index]))
        return self.low(high), high

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.high = T.Compose([T.RandomCrop(24), T.ToTensor()])
        self.low = T.Compose([T.ToPILImage(), T.Resize(6, interpolation=Image.BICUBIC), T.ToTensor()])


def _part(image: Any, place: Any, size: int) -> Any:
    w, h = image.size
    if w > size or h > size:
        return image.crop((*place, place[0] + size, place[1] + size))
    return image


def _steps(load: int, size: int, chosen: dict[str, Any]) -> Any:
    steps = [T.Resize([load, load], T.InterpolationMode.BICUBIC)]
    steps.append(T.Lambda(lambda image: _part(image, chosen["place"], size)))
    if chosen["flip"]:
        steps.append(T.Lambda(lambda image, how=Image.FLIP_LEFT_RIGHT: image.transpose(how)))
    steps += [T.ToTensor(), T.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))]
    return T.Compose(steps)


class Aligned(Base):
    """pix2pix's: transforms that are made for each sample, with functions of what was drawn."""

    def __getitem__(self, index: int) -> Any:
        both = Image.open(self.a[index]).convert("RGB")
        w, h = both.size
        half = int(w / 2)
        one, two = both.crop((0, 0, half, h)), both.crop((half, 0, w, h))
        x, y = random.randint(0, max(0, 30 - 26)), random.randint(0, max(0, 30 - 26))
        chosen = {"place": (x, y), "flip": random.random() > 0.5}
        return {"A": _steps(30, 26, chosen)(one), "B": _steps(30, 26, chosen)(two)}


class Segmented(Base):
    """torchvision's references: crops by *parameters, masks as their files have them, imports within."""

    def __getitem__(self, index: int) -> Any:
        import numpy as arrays
        from torchvision.transforms import functional as functions

        image, mask = Image.open(self.a[index]), Image.open(self.masks[index])
        size = random.randint(26, 40)
        image = functions.resize(image, size, antialias=True)
        mask = functions.resize(mask, size, interpolation=T.InterpolationMode.NEAREST)
        where = T.RandomCrop.get_params(image, (24, 24))
        image, mask = functions.crop(image, *where), functions.crop(mask, *where)
        return functions.pil_to_tensor(image), torch.as_tensor(arrays.array(mask), dtype=torch.int64)


class Halves(Base):
    """Functions made within, one of which uses another."""

    def __getitem__(self, index: int) -> Any:
        k = random.randint(18, 24)

        def sized(image: Any, by: int = 1) -> Any:
            return image.resize((k * by, k))

        def both(image: Any) -> Any:
            return [turn(sized(image, n)) for n in (1, 2) for turn in (F.hflip,)]

        one, two = both(Image.open(self.b[index]).convert("RGB"))
        return F.to_tensor(one.resize((20, 20))), F.to_tensor(two.resize((40, 20)))


class Siamese(Base):
    """Files, ways and what is done on them, all drawn from one generator."""

    def __getitem__(self, index: int) -> Any:
        one = Image.open(self.a[index]).convert("RGB").resize((28, 28))
        same = random.random() < 0.5
        if same:
            other = index
        else:
            other = random.randrange(len(self.b))
            one = one.crop((2, 2, 2 + random.randint(16, 20), 22)).resize((28, 28))
        two = Image.open(self.b[other]).convert("RGB").resize((28, 28))
        if random.random() < self.p:
            two = ImageOps.mirror(two) if random.random() < 0.5 else ImageOps.flip(two)
        left, top = np.random.randint(0, 8), np.random.randint(0, 8)
        return CROP(one), F.to_tensor(two.crop((left, top, left + 20, top + 20))), int(same), other


class Signs(Base):
    """Numbers that are equal, and not the same."""

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.a[index]).convert("RGB").resize((20, 20))
        if random.random() < 0.5:
            zero, half = 0.0, 1
        else:
            zero, half = -0.0, 2
        return F.to_tensor(image), zero, -zero, (0.0 if half == 1 else -0.0)


def shear(image: Any, by: float, **options: Any) -> Any:
    return image.transform(image.size, Image.AFFINE, (1, by, 0, 0, 1, 0), **_filter(options))


def _filter(options: dict[str, Any]) -> dict[str, Any]:
    _check_filter(options)
    return options


def _check_filter(options: dict[str, Any]) -> None:
    chosen = options.pop("resample", Image.BICUBIC)
    options["resample"] = random.choice(chosen) if isinstance(chosen, tuple) else chosen


def turn(image: Any, by: float, **options: Any) -> Any:
    return image.rotate(30 * by, **_filter(options))


def lighten(image: Any, by: float, limit: int = 200, **__: Any) -> Any:
    table = []
    for value in range(256):
        table.append(min(255, value + int(40 * abs(by))) if value < limit else value)
    if image.mode == "RGB" and len(table) == 256:
        table = table + table + table
    return image.point(table)


FILTERS = (Image.Resampling.BILINEAR, Image.Resampling.BICUBIC)
OPERATIONS: list[Any] = [
    (shear, -0.3, 0.3),
    (turn, -1.0, 1.0),
    (lighten, 0.0, 1.0),
    (lambda image, by, **__: ImageEnhance.Brightness(image).enhance(by), 0.2, 1.8),
    (lambda image, by, **__: ImageEnhance.Color(image).enhance(by), 0.2, 1.8),
    (lambda image, by, **__: ImageEnhance.Contrast(image).enhance(by), 0.2, 1.8),
    (lambda image, by, **__: ImageEnhance.Sharpness(image).enhance(by), 0.2, 1.8),
    (lambda image, by, **__: ImageOps.posterize(image, int(by)), 1, 8.9),
    (lambda image, by, **__: ImageOps.solarize(image, by), 0, 256),
    (lambda image, by, **__: ImageOps.autocontrast(image), 0, 1),
    (lambda image, by, **__: ImageOps.equalize(image), 0, 1),
]


class Augmented(Base):
    """FixMatch's and others': functions that are drawn of a list, by numbers that are drawn."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.options = {"fillcolor": (128, 0, 255), "resample": FILTERS}

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.a[index]).convert("RGB").resize((30, 30))
        for operation, low, high in random.choices(OPERATIONS, k=2):
            by = low + (high - low) * random.random()
            if random.random() < 0.8:
                image = operation(image, by, **self.options)
        for kind in np.random.choice([shear, turn], 2):
            image = kind(image, max(-1.0, min(random.gauss(0, 0.3), 1.0)))
        policy = random.choice([[OPERATIONS[3][0]], [OPERATIONS[8][0], OPERATIONS[9][0]]])
        for one in policy:
            image = one(image, 0.7)
        return F.to_tensor(image), index


class Tried(Base):
    """A file that cannot be read, for which the next one is taken."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.a[4] = str(root / "broken.jpeg")
        self.retries = 3

    def __getitem__(self, index: int) -> Any:
        for _ in range(self.retries):
            try:
                path, label, *rest = self.a[index], self.labels[index], index
                image = Image.open(open(path, "rb"))  # noqa: SIM115 - as people write it
                image = image.convert("RGB")
                break
            except OSError:
                index = (index + 1) % len(self.a)
        else:
            raise RuntimeError("no file can be read")
        if label is None:
            label = -1
        return CROP(image), label, rest[0]


class Attempts(Base):
    """A crop that is drawn until it fits, of an area and a ratio."""

    area = (0.2, 1.6)
    ratio = (0.5, 2.0)

    def place(self, image: Any) -> tuple[int, int, int, int]:
        width, height = F.get_image_size(image)
        for _ in range(4):
            area = random.uniform(*self.area) * width * height
            ratio = math.exp(random.uniform(*(math.log(self.ratio[0]), math.log(self.ratio[1]))))
            w, h = round(math.sqrt(area * ratio)), int(math.sqrt(area / ratio) + 0.5)
            if w <= width and h <= height:
                return random.randint(0, height - h), random.randint(0, width - w), h, w
        h = width if width / height < 1 else height
        return (height - h) // 2, (width - h) // 2, h, h

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.a[index]).convert("RGB")
        top, left, height, width = self.place(image)
        image = F.resized_crop(image, top, left, height, width, [20, 22], T.InterpolationMode.BICUBIC)
        tried = 0
        for number in range(3):
            tried = number
            if random.random() < 0.4:
                break
            image = ImageOps.mirror(image)
        sign = int(math.copysign(random.randint(0, 3), math.cos(index) - 0.2))
        return F.to_tensor(image), (top, left), tried, sign


def folder(transform: Any) -> Callable[[Path], Any]:
    def make(root: Path) -> Any:
        dataset = ImageFolder(str(root), transform)
        return Subset(dataset, list(range(2 * COUNT))[::-1])

    return make


KINDS: dict[str, Callable[[Path], Any]] = {
    **{kind.__name__: kind for kind in (Unpaired, Flipped, Cropped, Resized, Chosen, Triplets, Twice, Aligned)},
    **{kind.__name__: kind for kind in (Segmented, Halves, Siamese, Signs, Augmented, Tried, Attempts)},
    "joined": lambda root: ConcatDataset([Flipped(root)]),
    "two crops": folder(Two(CONTRASTIVE)),
    "many crops": folder(Many(CONTRASTIVE, CROP, 3)),
    "one's own transform": folder(T.Compose([Blur([0.5, 1.0]), CROP])),
    "lambda": folder(T.Compose([T.Lambda(lambda image: image.convert("RGB")), CROP])),
}


@WORKERS
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.replace(" ", "-"))
def test_a_script_is_its_code(kind: str, root: Path, num_workers: int) -> None:
    dataset = KINDS[kind](root)
    check(Program(loader_of(dataset, batch_size=4, shuffle=True, num_workers=num_workers), epochs=3, seed=5))


@WORKERS
def test_the_example_of_the_page(root: Path, num_workers: int) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", part("docs/datasets.md", "script"), re.DOTALL)
    names = {**globals()}
    exec(example.replace("256", "24"), names)
    dataset = names["Unpaired"]()
    dataset.photos, dataset.paintings, dataset.transform = Base(root).a, Base(root).b, PLAIN
    names["Unpaired"].__len__ = lambda self: COUNT
    check(Program(loader_of(dataset, batch_size=4, shuffle=True, num_workers=num_workers), epochs=2))


@pytest.mark.parametrize("kind", ["Unpaired", "Cropped", "two crops"], ids=lambda kind: kind.replace(" ", "-"))
def test_generators_go_on_from_epoch_to_epoch(kind: str, root: Path) -> None:
    arguments = loader_of(KINDS[kind](root), batch_size=3, num_workers=2, persistent_workers=True, shuffle=True)
    check(Program(arguments, epochs=3, leave=(None, 2, None)))


class Members(Base):
    """Draws one of a list, which is empty for some samples: these are left to the code."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.members = [[], [1], [2, 3], [4], [5, 6]]

    def __getitem__(self, index: int) -> Any:
        image = CROP(Image.open(self.a[index]).convert("RGB"))
        if np.random.choice(self.members[self.labels[index]]) > 3:
            image = F.hflip(image)
        return image, self.labels[index]


def test_the_code_does_not_make_samples_of_a_dataset_that_workers_began_without(root: Path) -> None:
    dataset = Members(root)
    loader = goloader.DataLoader(dataset, 1, num_workers=1, persistent_workers=True)
    assert loader.explain().native

    def epoch() -> list[str]:
        found, batches = [], iter(loader)
        for _ in range(COUNT):
            try:
                found.append(str(next(batches)[1].item()))
            except (ValueError, RuntimeError) as error:
                found.append(str(error).splitlines()[-1])
        return found

    before = epoch()
    assert [each[:40] for each in before] == [
        str(k % 5) if k % 5 else "ValueError: 'a' cannot be empty unless n" for k in range(COUNT)
    ]
    dataset.labels[:] = [1] * COUNT
    after = epoch()  # of torch's workers, which have the old labels, the same as before
    told = "Original RuntimeError: goloader: Members: a sample of this batch is left to its code, and it was changed"
    assert [each[: len(told)] for each in after] == [str(k % 5) if k % 5 else told for k in range(COUNT)]


def test_samples_that_only_the_code_knows_are_not_tried(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.nice", lambda more: 0)
    loader = goloader.DataLoader(Subset(Flipped(root), [3, 3, -1, 0]), 2)
    assert isinstance(plan := choice.decide(loader), Plan)
    assert trial._tried(loader, plan, InlineIterator) == trial._EQUAL


class Moded(Base):
    """Converts what is not RGB."""

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.a[index])
        if image.mode != "RGB":
            image = image.convert("RGB")
        return CROP(image), image.width


class AsItIs(Base):
    """Takes files as they are."""

    def __getitem__(self, index: int) -> Any:
        return T.functional.pil_to_tensor(Image.open(self.a[index]).resize((18, 16))), random.random()


@WORKERS
@pytest.mark.parametrize("kind", [Moded, AsItIs])
@pytest.mark.parametrize("first", ["RGB", "L", "P"])
def test_files_of_several_modes(root: Path, num_workers: int, kind: Any, first: str, tmp_path: Path) -> None:
    dataset = kind(root)
    modes = [first, *(mode for mode in ("RGB", "L", "P", "RGBA", "1", "LA", "I;16", "CMYK") if mode != first)]
    for k, mode in enumerate(modes):
        image = picture(30 + k, 31, k)
        made = (
            image.quantize(20)
            if mode == "P"
            else Image.new(mode, image.size, 300)
            if mode == "I;16"
            else image.convert(mode)
        )
        made.save(tmp_path / f"{k}.{'jpg' if mode == 'CMYK' else 'png'}")
    dataset.a[: len(modes)] = sorted(map(str, tmp_path.iterdir()))
    check(Program(loader_of(dataset, batch_size=1, num_workers=num_workers), epochs=2))


class Greyed(Base):
    """Makes grey of files as they are."""

    def __getitem__(self, index: int) -> Any:
        return GREY(Image.open(self.a[index])), random.random()


GREY = T.Compose([T.CenterCrop(20), T.Grayscale(), T.PILToTensor()])


@WORKERS
@pytest.mark.parametrize("mode", ["L", "P"])
def test_palette_indices_are_no_grey(root: Path, num_workers: int, mode: str, tmp_path: Path) -> None:
    dataset = Greyed(root)
    for k in range(len(dataset.a)):
        image = picture(30 + k, 31, k)
        (image.quantize(20) if mode == "P" else image.convert(mode)).save(tmp_path / f"{k}.png")
    dataset.a[:] = sorted(map(str, tmp_path.iterdir()))
    check(Program(loader_of(dataset, batch_size=3, num_workers=num_workers)), native=mode == "L")


@WORKERS
@pytest.mark.parametrize("kind", [AsItIs, Greyed, Moded])
def test_grey_files_are_taken_as_they_are(root: Path, num_workers: int, kind: Any, tmp_path: Path) -> None:
    """Of all formats: those that the core decodes, and those that it leaves to Pillow, which are cut or unusual."""
    dataset = kind(root)
    for k in range(len(dataset.a)):
        image = picture(50 + 9 * k, 31 + k, k).convert("L")
        options: dict[str, Any] = [{}, {"progressive": True}, {"restart_marker_rows": 1}, {"quality": 100}][k % 4]
        ways = {"JPEG": options, "PNG": {}, "BMP": {}, "TIFF": {}, "GIF": {}, "PPM": {}}
        way = "JPEG" if k % 2 == 0 else [*ways][k % len(ways)]
        content = save(image, way, **ways[way])
        (tmp_path / f"{k:02}").write_bytes(content[:-2] if k == 4 else content)
    colours = picture(40, 40, 3)
    (tmp_path / "06").write_bytes(save(colours, "JPEG"))
    dataset.a[:] = sorted(map(str, tmp_path.iterdir()))
    assert {Image.open(path).mode for path in dataset.a} == {"L", "RGB"}
    check(Program(loader_of(dataset, batch_size=1, shuffle=True, num_workers=num_workers)))


class Strange(Base):
    """Ways that raise an error: what they make of a batch is their own."""

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.a[index]).convert("RGB").resize((20, 20))
        if random.random() < 0.1:
            raise ValueError(f"{random.gauss(0, 1):.3f}")
        assert np.random.rand() < 0.95, "drawn"
        return F.to_tensor(image), random.random(), self.labels[random.randint(0, COUNT)]


@WORKERS
def test_ways_that_raise_are_left_to_the_code(root: Path, num_workers: int) -> None:
    check(Program(loader_of(Strange(root), batch_size=2, num_workers=num_workers), epochs=4, seed=2))


class Odd(Base):
    """Files of other modes, some of which cannot be read."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.paths = list(self.a)

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.paths[index])
        if random.random() < 0.5:
            image = F.hflip(image)
        return F.to_tensor(image.resize((18, 18)))


@WORKERS
def test_files_that_the_core_leaves_are_the_codes(root: Path, num_workers: int, tmp_path: Path) -> None:
    dataset = Odd(root)
    image = picture(30, 30, 1)
    for k, (name, content) in enumerate(
        {
            "grey.png": save(image.convert("L"), "PNG"),
            "webp.webp": save(image, "WEBP"),
            "cut.jpg": save(image, "JPEG")[:300],
            "nothing.jpg": b"",
            "palette.png": save(image.quantize(9), "PNG"),
        }.items()
    ):
        (tmp_path / name).write_bytes(content)
        dataset.paths[2 * k] = str(tmp_path / name)
    dataset.paths[11] = str(tmp_path / "missing.jpg")
    check(Program(loader_of(dataset, batch_size=1, num_workers=num_workers), epochs=2))
    check(Program(loader_of(dataset, batch_size=2, num_workers=num_workers), epochs=2))


class Whole(Base):
    """A file by the index; of others by what is drawn."""

    transform = CROP

    def __getitem__(self, index: int) -> Any:
        image = self.transform(Image.open(self.a[index]).convert("RGB"))
        return image, {"label": self.labels[index], "path": self.a[index], "drawn": random.random(), "at": index}


class Others(Whole):
    """Another list, two more numbers that are drawn, and values of rows that are drawn."""

    def __getitem__(self, index: int) -> Any:
        other = np.random.randint(len(self.b) - 4)
        image = Image.open(self.b[other]).convert("RGB")
        if torch.rand(1) < 0.5:
            image = F.hflip(image)
        k = random.randint(0, 3)
        drawn = k / 2 + random.random()
        return self.transform(image), {"label": k, "path": self.b[other], "drawn": drawn, "at": index}


def several(root: Path) -> Any:
    """Parts one of which is there twice, below torch's containers."""
    one, other, third = Whole(root), Whole(root), Whole(root)
    other.a, other.labels = other.b[:5], [7, 8, 9, 10, 11]
    other.transform = PLAIN_20
    third.transform = T.Compose([T.Resize(30), CROP])
    return ConcatDataset([one, Subset(other, [4, 0, 0]), ConcatDataset([third, Subset(one, [2, 12])])])


PLAIN_20 = T.Compose([T.Resize((20, 20)), T.ToTensor()])


def in_memory(root: Path) -> Any:
    one, other = Triplets(root), Triplets(root)
    other.data = np.ascontiguousarray(other.data[:7, ::-1, :18])
    other.labels = other.labels[3:10]
    return ConcatDataset([one, Subset(other, [6, 3])])


def drawn_alike(root: Path) -> Any:
    one, other = Siamese(root), Siamese(root)
    other.a, other.b = other.b, other.a[:6]
    return ConcatDataset([one, other])


class Labelled(Base):
    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.a[index]).convert("RGB")
        return CROP(F.vflip(image) if random.random() < 0.5 else image), self.labels[index]


class Plainly(Base):
    def __getitem__(self, index: int) -> Any:
        return PLAIN_20(Image.open(self.b[index]).convert("RGB")), self.labels[index]


def with_others(root: Path) -> Any:
    """Datasets that are no scripts by themselves."""
    return ConcatDataset([ImageFolder(root, CROP, is_valid_file=is_a, allow_empty=True), Labelled(root), Plainly(root)])


def is_a(path: str) -> bool:
    return path.endswith(".jpeg") and "broken" not in path


SEVERAL = {each.__name__: each for each in (several, in_memory, drawn_alike, with_others)}


@WORKERS
@pytest.mark.parametrize("kind", SEVERAL)
def test_several_datasets(kind: str, root: Path, num_workers: int) -> None:
    dataset = SEVERAL[kind](root)
    check(Program(loader_of(dataset, batch_size=4, shuffle=True, num_workers=num_workers), epochs=3, seed=5))
    check(Program(loader_of(dataset, batch_size=3, sampler=[-1, 0, 99, 3], num_workers=num_workers), epochs=1))


@WORKERS
def test_several_datasets_that_make_images_of_several_sizes(root: Path, num_workers: int) -> None:
    one, other = Whole(root), Whole(root)
    other.transform = T.Compose([T.Resize((20, 22)), T.ToTensor()])
    dataset = ConcatDataset([one, other])
    made = check(Program(loader_of(dataset, batch_size=4, num_workers=num_workers), epochs=2))
    assert len(errors(made)) == 2


@WORKERS
def test_several_datasets_one_of_which_draws_before_it_opens_files(root: Path, num_workers: int) -> None:
    """Numbers of one generator that say which files are opened, and that others draw when files are known."""

    class Drawn(Whole):
        def __getitem__(self, index: int) -> Any:
            other = int(torch.randint(0, 5, (1,)))
            image = PLAIN_20(Image.open(self.a[other]).convert("RGB"))
            return image, {"label": other, "path": self.a[index], "drawn": random.random(), "at": index}

    for dataset, native in ((ConcatDataset([Others(root), Others(root)]), True), (several(root), True),
                            (ConcatDataset([Drawn(root), Whole(root)]), False)):  # fmt: skip
        check(Program(loader_of(dataset, batch_size=4, shuffle=True, num_workers=num_workers)), native=native)


class LabelledByTensors(Base):
    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.a[index]).convert("RGB")
        return CROP(F.vflip(image) if random.random() < 0.5 else image), torch.tensor(self.labels[index])


class LabelledByName(Base):
    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.a[index]).convert("RGB")
        return {"image": CROP(F.vflip(image) if random.random() < 0.5 else image), "label": self.labels[index]}


class NamedLastly(Base):
    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.a[index]).convert("RGB")
        return {"label": self.labels[index], "image": CROP(F.vflip(image) if random.random() < 0.5 else image)}


@WORKERS
@pytest.mark.parametrize("kinds", [(Labelled, LabelledByTensors), (LabelledByName, NamedLastly)])
def test_several_datasets_whose_values_torch_puts_together_in_other_ways(
    kinds: tuple[Any, Any], root: Path, num_workers: int
) -> None:
    for one, other in kinds, kinds[::-1]:
        dataset = ConcatDataset([one(root), other(root)])
        sampler = [0, 1, COUNT, COUNT + 1, COUNT + 2, 0, 3, 4]
        arguments = loader_of(dataset, batch_size=4, sampler=sampler, num_workers=num_workers)
        check(Program(arguments, epochs=1), native=False)


class SometimesAnInt(Base):
    """Of a sample without a label: its batch is left to the code."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.known: list[int | None] = [*self.labels]
        self.known[5] = None

    def __getitem__(self, index: int) -> Any:
        image = CROP(Image.open(self.a[index]).convert("RGB"))
        if self.known[index] is None:
            return image, 0
        return image, torch.tensor(self.known[index])


@WORKERS
def test_the_error_of_values_that_are_no_tensors_like_others(root: Path, num_workers: int) -> None:
    made = check(Program(loader_of(SometimesAnInt(root), batch_size=4, num_workers=num_workers)))
    assert len(errors(made)) == 2


def test_a_change_of_any_dataset_is_seen(root: Path) -> None:
    def change(epoch: int, loader: Any) -> None:
        parts = loader.dataset.datasets
        if epoch == 1:
            parts[2].datasets[0].labels[3] = 77
        if epoch == 2:
            parts[1].dataset.transform = CROP
        if epoch == 3:
            parts[0].a.reverse()

    for num_workers in 0, 2:
        arguments = loader_of(lambda: several(root), batch_size=4, num_workers=num_workers)
        check(Program(arguments, epochs=4, before=change))


# What gives images of one channel, whose strides are anybody's choice, or of no tensor.
NOT_SINGLE = {"Flipped", "Segmented", "joined"}


@WORKERS
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.replace(" ", "-"))
def test_samples_that_are_in_no_batch(kind: str, root: Path, num_workers: int) -> None:
    arguments = loader_of(KINDS[kind](root), batch_size=None, shuffle=True, num_workers=num_workers)
    check(Program(arguments, epochs=2, draw=True), native=kind not in NOT_SINGLE)


class OfAnySize(Base):
    """Images of one pixel have strides of their own, by what was done to them; values are parts of the dataset."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.table = torch.arange(2 * COUNT).view(COUNT, 2)
        self.half = T.ConvertImageDtype(torch.float16)
        self.normal = T.Normalize((0.5,) * 3, (0.5,) * 3)

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.a[index]).convert("RGB")
        if random.random() < 0.3:
            image = image.crop((1, 1, 2 + random.randrange(2), 2 + random.randrange(2)))
        tensor = F.to_tensor(image)
        named = {"table": self.table[index], "array": self.array[index], "index": index, "label": self.labels[index]}
        return [tensor, (F.pil_to_tensor(image), self.normal(tensor))], self.half(tensor), named


@WORKERS
def test_samples_of_any_size_that_are_in_no_batch(
    root: Path, num_workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(Program(loader_of(OfAnySize(root), batch_size=None, num_workers=num_workers), epochs=2))
    seed(1)
    batches = goloader.DataLoader(OfAnySize(root), batch_size=None, num_workers=num_workers)
    monkeypatch.setattr("os.nice", lambda more: 0)
    assert isinstance(plan := choice.decide(batches), Plan)
    assert trial._tried(batches, plan, InlineIterator) == trial._EQUAL
    (*_, named), dataset = next(iter(batches)), batches.dataset
    named["table"].fill_(-1)
    assert (dataset.table[0].tolist() == [-1, -1]) is (num_workers == 0)  # type: ignore[attr-defined]


class CutTensors(Base):
    """A crop of a tensor is a view of it, with its strides; what is made of it lies as torch has it."""

    def __init__(self, root: Path, by: Callable[[Any], Any]) -> None:
        super().__init__(root)
        self.by = by

    def __getitem__(self, index: int) -> Any:
        tensor = F.to_tensor(Image.open(self.a[index]).convert("RGB").resize((16, 16)))
        return self.by(tensor)


@WORKERS
@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize(
    "by", [T.RandomCrop(12), T.CenterCrop((12, 16)), T.Compose([T.RandomCrop(12), T.Normalize([0.5] * 3, [0.5] * 3)])]
)
def test_strides_of_tensors_that_are_cut(by: Any, alone: bool, root: Path, num_workers: int) -> None:
    how: dict[str, Any] = {"batch_size": None} if alone else {"batch_size": 3, "collate_fn": tuple}
    check(Program(loader_of(CutTensors(root, by), num_workers=num_workers, **how), epochs=2), native=None)


@WORKERS
def test_single_samples_that_fail(root: Path, num_workers: int) -> None:
    check(Program(loader_of(Strange(root), batch_size=None, num_workers=num_workers), epochs=4, seed=2))


@pytest.mark.parametrize("kind", [*KINDS, *SEVERAL, "Strange"], ids=lambda kind: kind.replace(" ", "-"))
def test_draws_keyed_by_sample_do_not_depend_on_workers_or_doors(
    kind: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = {**KINDS, **SEVERAL, "Strange": Strange}[kind](root)

    def epochs(door: str, batch_size: int, num_workers: int) -> list[Any]:
        monkeypatch.setenv("GOLOADER", door)
        seed(3)
        loader = goloader.DataLoader(dataset, batch_size, num_workers=num_workers, rng="sample", shuffle=True)
        assert loader.explain().native is (door == "door1")
        made = []
        for _ in range(2):
            batches = iter(loader)
            for _ in range(-(-len(dataset) // batch_size)):
                try:
                    made.append(bits(next(batches)))
                except (AssertionError, IndexError, ValueError) as error:
                    made.append((type(error), str(error).splitlines()[-1].rpartition(": ")[2]))
        return made

    for batch_size in 1, 4:
        want = epochs("door3", batch_size, 0)
        for num_workers in 0, 3:
            assert epochs("door1", batch_size, num_workers) == want


class Three(Base):
    def __getitem__(self, index: int) -> Any:
        return tuple(CROP(Image.open(paths[index]).convert("RGB")) for paths in (self.a, self.b, self.masks))


@WORKERS
@pytest.mark.parametrize("name", ["a", "b", "masks"])
@pytest.mark.parametrize("how", ["missing", "cut", "text"])
def test_any_of_a_samples_files_may_be_broken(
    name: str, how: str, root: Path, num_workers: int, tmp_path: Path
) -> None:
    dataset = Three(root)
    paths = getattr(dataset, name)
    for at in (3, 4, 9):
        content = Path(paths[at]).read_bytes()
        paths[at] = str(tmp_path / f"{at}{Path(paths[at]).suffix}")
        if how != "missing":
            Path(paths[at]).write_bytes(content[: len(content) // 2] if how == "cut" else b"no image")
    made = check(Program(loader_of(dataset, batch_size=2, num_workers=num_workers), epochs=2))
    assert len(errors(made)) == 6


@WORKERS
def test_one_of_several_transforms(root: Path, num_workers: int) -> None:
    """RandomChoice draws from the random module, by weights that may change; its code runs by others."""
    inner = T.RandomChoice([T.RandomHorizontalFlip(1.0), T.Compose([T.ColorJitter(0.3), T.RandomRotation(20)])])
    choice = T.RandomChoice([T.Grayscale(3), Blur([0.5, 1.0]), inner])
    dataset = ImageFolder(str(root), T.Compose([T.RandomResizedCrop(20), choice, T.ToTensor()]))

    def before(epoch: int, loader: Any) -> None:
        choice.p = [None, [0.2, 0.3, 0.5], (1, 0, 2), [0.0, 0, 1e-300], None, np.array([1.0, 2.0, 3.0])][epoch]
        if isinstance(loader, goloader.DataLoader):
            assert bool(loader.explain().codes) == (epoch == 5)

    arguments = loader_of(dataset, batch_size=4, shuffle=True, num_workers=num_workers)
    check(Program(arguments, epochs=6, before=before, seed=3))


def as_it_is(image: Any) -> Any:
    return image


class ByWeights(Base):
    """Chooses by weights that it reckons."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.changes = [F.hflip, F.vflip, as_it_is]
        self.weights = np.array([0.9, 0.1, 0.0])

    def __getitem__(self, index: int) -> Any:
        image = F.resize(Image.open(self.a[index]).convert("RGB"), [20, 20])
        (change,) = np.random.choice(self.changes, 1, True, self.weights * 1)
        return F.to_tensor(change(image))


@WORKERS
def test_weights_that_are_reckoned(root: Path, num_workers: int) -> None:
    check(Program(loader_of(ByWeights(root), batch_size=4, num_workers=num_workers), seed=3), native=False)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_what_a_user_changes_is_seen(root: Path, num_workers: int) -> None:
    """Between epochs: attributes, items of lists, and functions of libraries."""

    def before(epoch: int, loader: Any) -> None:
        dataset = loader.dataset
        if epoch == 1:
            dataset.p = 0.9
        if epoch == 2:
            dataset.a[3] = dataset.a[5]
        if epoch == 3:
            dataset.labels[2] = 17
        if epoch == 4:
            dataset.p = 0.5
            dataset.a[3] = dataset.a[3].replace("05", "03")
            dataset.labels[2] = 2

    dataset = Flipped(root)
    check(Program(loader_of(dataset, batch_size=4, num_workers=num_workers), epochs=5, before=before))


def test_values_are_looked_up_once_for_each_epoch(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What expressions have in common is not looked up anew for each, and what is kept for that is not kept on."""
    dataset = Flipped(root)
    own = Scripted(ScriptCode(dataset)).own
    seen: list[Any] = []
    look_up = ScriptCode._settled

    def counted(own: ScriptCode, expression: Any) -> Any:
        seen.append(expression)
        return look_up(own, expression)

    monkeypatch.setattr(ScriptCode, "_settled", counted)
    assert own.unchanged(dataset)
    looked = [each for each in seen if not isinstance(each, Constant)]
    assert len(looked) > 10 and len(looked) == len(set(looked))
    monkeypatch.setattr(F, "vflip", F.hflip)
    assert not own.unchanged(dataset)
    monkeypatch.undo()
    assert own.unchanged(dataset)


class Written(Base):
    """Only opens files, and has numbers beside them."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.numbers = ([0.0, 1.5, float("nan")] * COUNT)[:COUNT]

    def __getitem__(self, index: int) -> Any:
        return PLAIN(Image.open(self.a[index]).convert("RGB")), self.numbers[index]


class Drawn(Written):
    """The same as a script."""

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.a[index]).convert("RGB")
        if random.random() < 0.5:
            image = F.hflip(image)
        return PLAIN(image), self.numbers[index]


class Weighted(Dataset[Any]):
    def __init__(self, root: Path) -> None:
        self.paths = sorted((root / "a").iterdir())

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.paths[index]).convert("RGB")
        if random.random() < 0.5:
            image = ImageOps.mirror(image)
        return F.to_tensor(image.resize((8, 8))), torch.tensor([0.25, index])


@pytest.mark.parametrize("num_workers", [0, 2])
def test_workers_keep_the_default_dtype_that_they_began_with(root: Path, num_workers: int) -> None:
    found = []
    for kind in (torch.utils.data.DataLoader, goloader.DataLoader):
        seed(3)
        loader: Any = kind(Weighted(root), 2, num_workers=num_workers)
        assert kind is torch.utils.data.DataLoader or loader.explain().native
        iterator = iter(loader)
        made = [next(iterator)]
        torch.set_default_dtype(torch.float64)
        try:
            made += list(iterator)
        finally:
            torch.set_default_dtype(torch.float32)
        found.append(list(map(bits, made)))
    assert found[1] == found[0]


@pytest.mark.parametrize("kind", [Written, Drawn])
def test_another_sign_of_a_zero_is_seen_in_an_epoch(kind: Any, root: Path) -> None:
    """It equals what was there. A NaN, which does not equal itself, is no change."""

    def run(loader: Any) -> list[Any]:
        random.seed(0)
        dataset = kind(root)
        batches = []
        for batch in loader(dataset, batch_size=2):
            batches.append((batch[0].tolist(), batch[1].view(torch.int64).tolist()))
            dataset.numbers[:] = [-0.0 if number == 0 else number for number in dataset.numbers]
        return batches

    assert run(goloader.DataLoader) == run(torch.utils.data.DataLoader)
    loader = goloader.DataLoader(kind(root), batch_size=2)
    random.seed(0)
    list(loader)
    assert "13 samples in 7 batches" in str(loader.explain())


class Grouped(Base):
    """Opens another file of the same list, by tables of its own."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.kinds = {label: [k for k in range(COUNT) if self.labels[k] == label] for label in range(5)}
        self.places = {label: np.array(kind) for label, kind in self.kinds.items()}
        self.known = set(self.labels)

    def __getitem__(self, index: int) -> Any:
        label = self.labels[index]
        other = random.choice(list(self.known - set([label])))  # noqa: C405 # as people write it
        one, two = random.choice(self.kinds[other]), np.random.choice(self.places[label])
        image = PLAIN(Image.open(self.a[index]).convert("RGB"))
        return image, PLAIN(Image.open(self.a[one])), PLAIN(Image.open(self.a[two])), label


def _replaced(dataset: Grouped) -> None:
    dataset.a[::2] = dataset.a[::2][::-1]


CHANGES: dict[str, Callable[[Grouped], Any]] = {
    "a list of paths": _replaced,
    "a label": lambda dataset: dataset.labels.__setitem__(slice(4, None), [0] * 9),
    "a set": lambda dataset: dataset.known.discard(3),
    "a list in a dict": lambda dataset: dataset.kinds[2].append(0),
    "a dict": lambda dataset: dataset.kinds.update({1: [0], 3: [0]}),
    "an array": lambda dataset: dataset.places[1].__setitem__(0, 12),
    "nothing": lambda dataset: None,
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_samples_draw_from_is_looked_at_in_an_epoch(change: str, root: Path) -> None:
    def run(loader: Any) -> list[Any]:
        random.seed(0)
        np.random.seed(0)
        dataset, batches = Grouped(root), []
        for number, batch in enumerate(loader(dataset, batch_size=2, sampler=[*range(COUNT)] * 4)):
            batches.append([each.tolist() for each in batch])
            if number == 3:
                CHANGES[change](dataset)
        return [*batches, random.random(), np.random.random()]

    assert goloader.DataLoader(Grouped(root)).explain().native
    assert run(goloader.DataLoader) == run(torch.utils.data.DataLoader)


class Reckoned(Base):
    """What it gives depends on the index's type, as arithmetic of numpy's and torch's numbers is their own."""

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.a[index]).convert("RGB").resize((20, 20))
        if random.random() < 0.5:
            image = F.hflip(image)
        return F.to_tensor(image), index / 2, index * 30


INDICES: list[Callable[[int], Any]] = [np.int64, np.uint8, torch.tensor, lambda k: torch.tensor([k])]


@pytest.mark.parametrize("num_workers", [0, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", INDICES)
def test_an_index_that_is_no_int_is_what_the_code_makes_of_it(kind: Any, root: Path, num_workers: int) -> None:
    sampler = [kind(k) for k in (3, 1, 4, 1, 5, 9, 2, 6)]
    check(Program(loader_of(Reckoned(root), batch_size=3, sampler=sampler, num_workers=num_workers)))


class Labelled(Base):
    """Of a list, an index of one item takes what its int takes; of a tensor, something else."""

    def __init__(self, root: Path, flips: bool) -> None:
        super().__init__(root)
        self.tensor, self.flips = torch.arange(COUNT), flips

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.a[index]).convert("RGB").resize((20, 20))
        if self.flips and random.random() < 0.5:
            image = F.hflip(image)
        return F.to_tensor(image), self.tensor[index]


@pytest.mark.parametrize("num_workers", [0, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("flips", [False, True])
@pytest.mark.parametrize("kind", [*INDICES, lambda k: torch.tensor(k, dtype=torch.uint8), bool])
def test_an_index_that_is_no_integer(kind: Any, flips: bool, root: Path, num_workers: int) -> None:
    sampler = [kind(k) for k in (3, 1, 4, 1, 5, 9, 2, 6)]
    check(Program(loader_of(Labelled(root, flips), batch_size=2, sampler=sampler, num_workers=num_workers)))


def test_a_replaced_function_is_the_users(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function of theirs in a library's place is read as any other; what calls it within the library stays Python."""
    monkeypatch.setattr(F, "hflip", lambda image: F.vflip(image))
    check(Program(loader_of(Odd(root), batch_size=4)))
    monkeypatch.undo()
    monkeypatch.setattr(random, "random", lambda: 0.25)
    check(Program(loader_of(Odd(root), batch_size=4)))
    monkeypatch.undo()
    monkeypatch.setattr(Image.Image, "transpose", lambda image, method: image.rotate(90))
    check(Program(loader_of(Odd(root), batch_size=4)), native=False)


@pytest.mark.slow  # many seconds
def test_resume_goes_on_in_the_middle_of_an_epoch(root: Path) -> None:
    for kind in ("Unpaired", "two crops", "Augmented"):
        for num_workers in (0, 2):
            arguments = loader_of(KINDS[kind](root), batch_size=2, shuffle=True, num_workers=num_workers)()
            seed(3)
            loader: Any = goloader.DataLoader(**arguments)
            whole = [str(batch) for batch in loader]
            seed(3)
            loader = goloader.DataLoader(**arguments)
            iterator = iter(loader)
            begun = [str(next(iterator)) for _ in range(3)]
            state = loader.state_dict()
            del iterator
            again: Any = goloader.DataLoader(**arguments)
            again.load_state_dict(state)
            assert begun + [str(batch) for batch in again] == whole, (kind, num_workers)


# Any code at all, of these words

DRAWS = [
    "random.random()", "random.uniform(0.2, 0.9)", "np.random.rand()", "np.random.uniform(0, 1)",
    "torch.rand(1).item()", "random.randint(0, 3) / 3", "np.random.randint(4) / 4",
    "torch.randint(0, 9, (1,)).item() / 9", "max(0.1, min(random.gauss(0.5, 0.2), 0.9))",
    "random.choice([math.sqrt, math.sin])(random.random())",
]  # fmt: skip
STEPS = [
    "image = image.transpose(Image.FLIP_TOP_BOTTOM)",
    "image = F.hflip(image)",
    "image = image.filter(ImageFilter.GaussianBlur(0.2 + DRAW))",
    "image = ImageOps.solarize(image, 77)",
    "w, h = image.size; s = int(20 + 10 * DRAW); image = image.resize((s, s))",
    "w, h = image.size; x = int((w - 18) * DRAW); image = image.crop((x, 0, x + 18, h))",
    "n = round(3 * DRAW); image = F.pad(image, [n, 0, 1, n], fill=3)",
    "image = CROP.transforms[0](image)",
    "total = total + DRAW",
    "image = F.resize(image, 20 + int(4 * DRAW))",
    "k = random.choice([1, 2, 3])",
    "total = total * 2 - (1 if DRAW < 0.4 else k)",
    "k = max(k, 1) // 2 + w % 7",
    "image = T.Compose([T.Resize((22, 21)), T.Lambda(lambda picture: F.pad(picture, [k % 3, 1]))])(image)",
    "steps.append(F.hflip if DRAW < 0.5 else F.vflip); image = steps[-1](image)",
    "steps += [lambda picture, by=k: picture.resize((20 + by % 5, 24))]; image = steps[-1](image)",
    "image = [F.crop(image, *place) for place in [(0, 0, 18, 18), T.RandomCrop.get_params(image, (17, 16))]][-1]",
    "import math as numbers; k = k + int(numbers.pi)",
]


def _block(chance: random.Random, depth: int, count: int) -> list[str]:
    lines = []
    for _ in range(count):
        step = chance.choice(STEPS)
        while "DRAW" in step:
            step = step.replace("DRAW", chance.choice(DRAWS), 1)
        if depth and chance.random() < 0.35:
            condition = (
                f"{chance.choice(DRAWS)} {chance.choice(['<', '>', '<=', '>='])} {chance.choice(['0.5', '0.3'])}"
            )
            if chance.random() < 0.3:
                condition = f"{condition} {chance.choice(['and', 'or'])} w > 40"
            lines.append(f"if {condition}:")
            lines += [f"    {line}" for line in _block(chance, depth - 1, chance.randint(1, 2))]
            if chance.random() < 0.4:
                lines += ["else:", *(f"    {line}" for line in _block(chance, depth - 1, 1))]
        else:
            lines.append(step)
    return lines


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 120))])
def test_any_code_gives_what_torch_gives(seed: int, root: Path) -> None:
    chance = random.Random(seed)
    lines = [
        "image = Image.open(self.a[i]).convert('RGB')", "w, h = image.size", "k, total, steps = 1, 0.5, []",
        *_block(chance, 2, chance.randint(2, 5)),
        "return F.to_tensor(image.resize((16, 16))), total, k",
    ]  # fmt: skip
    source = "def __getitem__(self, i):\n" + "\n".join(f"    {line}" for line in lines)
    names = {"random": random, "np": np, "torch": torch, "Image": Image, "ImageFilter": ImageFilter, "F": F}
    space: dict[str, Any] = {**names, "ImageOps": ImageOps, "CROP": CROP, "os": os, "T": T}
    exec(source, space)
    kind = type("Any", (Base,), {"__getitem__": space["__getitem__"]})
    dataset = kind(root)
    for num_workers in (0, 2):
        arguments = loader_of(dataset, batch_size=3, shuffle=True, num_workers=num_workers)
        native = goloader.DataLoader(**arguments()).explain().native
        try:
            check(Program(arguments, epochs=2, seed=seed), native=native)
        except AssertionError as error:
            raise AssertionError(source) from error


class Coloured(Base):
    """torchvision's functions of colours, by numbers that torch draws; a jitter that is drawn once for two images."""

    jitter = T.ColorJitter(0.4, 0.3, 0, (-0.5, 0.5))

    def __getitem__(self, index: int) -> Any:
        one, other = Image.open(self.a[index]).convert("RGB"), Image.open(self.b[index]).convert("RGB")
        order, *factors = T.ColorJitter.get_params(
            self.jitter.brightness, self.jitter.contrast, self.jitter.saturation, self.jitter.hue
        )
        for n in order:
            if n == 0:
                one, other = F.adjust_brightness(one, factors[0]), F.adjust_brightness(other, factors[0])
            elif n == 1:
                one, other = F.adjust_contrast(one, factors[1]), F.adjust_contrast(other, factors[1])
            elif n == 3:
                one, other = F.adjust_hue(one, factors[3]), F.adjust_hue(other, factors[3])
        shift = torch.empty(1).uniform_(-0.6, 0.6).item()
        if random.random() < self.p:
            one = F.adjust_saturation(one, float(torch.empty(1).uniform_(0, index / 5)))
            one = F.adjust_sharpness(one, sharpness_factor=random.uniform(-1, 3))
        if shift < 0.5:
            one = F.adjust_hue(one, max(shift, -0.5))
        grey = F.adjust_contrast(Image.open(self.masks[index]), shift + 1)
        return PLAIN(one), PLAIN(other), F.pil_to_tensor(grey.resize((20, 20))), shift


@WORKERS
def test_functions_of_colours(root: Path, num_workers: int) -> None:
    check(Program(loader_of(Coloured(root), batch_size=4, shuffle=True, num_workers=num_workers), epochs=3))


class TooFar(Base):
    """Changes the hue by more than torchvision does, now and then, or draws from a range that is none."""

    def __getitem__(self, index: int) -> Any:
        shift = torch.empty(1).uniform_(-0.6, 0.6 if index < 7 else -0.7).item()
        return PLAIN(F.adjust_hue(Image.open(self.a[index]).convert("RGB"), shift))


def test_hues_that_are_refused(root: Path) -> None:
    made = check(Program(loader_of(TooFar(root), batch_size=1), epochs=1))
    assert len(errors(made)) >= COUNT - 7
    assert any(kind == "batch" for kind, _ in made)
