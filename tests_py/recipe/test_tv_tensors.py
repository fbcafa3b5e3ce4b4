"""torchvision's tensors by way of decode_image, ToImage and v2: what the core makes is what they make."""

from __future__ import annotations

import copy
import io
import os
import pickle
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import photos
import pytest
import torch
from failing import batches
from PIL import Image
from torch.utils import data
from torchvision import transforms as T
from torchvision import tv_tensors
from torchvision.io import ImageReadMode, decode_image, read_file, read_image
from torchvision.transforms import v2
from torchvision.transforms.v2 import InterpolationMode, _utils
from torchvision.transforms.v2 import functional as F

import goloader
from goloader.doors.recipe import door
from goloader.doors.recipe.session import Session
from goloader.doors.same import difference
from goloader.selfcheck import holds

CHAINS = int(os.environ.get("GOLOADER_FUZZ_CHAINS", "400"))


def opened(r: random.Random, path: str) -> Any:
    """The file as a tensor, in one of the ways that people know."""
    mode = r.choice([ImageReadMode.UNCHANGED, ImageReadMode.RGB, "RGB", "unchanged", ImageReadMode.GRAY])
    return r.choice(
        [
            lambda: read_image(path, ImageReadMode[mode.upper()] if isinstance(mode, str) else mode),
            lambda: decode_image(path, mode),
            lambda: decode_image(read_file(path), mode),
            lambda: F.to_image(Image.open(path).convert("RGB")),
            lambda: tv_tensors.Image(Image.open(path).convert("L")),
            lambda: tv_tensors.Image(decode_image(path, "RGB")),
            lambda: tv_tensors.Mask(Image.open(path).convert("L")),
            lambda: tv_tensors.Mask(torch.from_numpy(np.array(Image.open(path).convert("L")))[None]),
            lambda: tv_tensors.Mask(decode_image(path, "RGB")),
        ]
    )()


def step(r: random.Random, x: Any) -> Any:
    height, width = x.shape[-2:]
    modes = InterpolationMode.BILINEAR, InterpolationMode.BICUBIC, InterpolationMode.NEAREST, "bilinear"
    mode = r.choice([InterpolationMode.BILINEAR, *modes])
    size = [r.randint(1, 40), r.randint(1, 40)]
    top, left = r.randint(-3, height - 1), r.randint(-3, width - 1)
    count = x.shape[-3]
    turns = {
        "interpolation": r.choice([*modes, InterpolationMode.NEAREST]),
        "fill": r.choice([None, 0, 9.0, [float(r.randint(0, 255)) for _ in range(count)], 2.5, 300]),
    }
    center = r.choice([None, None, [r.uniform(-9, 30), r.randint(0, 20)]])
    angle = r.choice([90, -180, 0, r.uniform(-400, 400)])
    return r.choice(
        [
            lambda: F.rotate(x, angle, center=center, expand=r.random() < 0.1, **turns),
            lambda: F.affine(x, angle, [3, -1.5], r.uniform(0.4, 2), [r.uniform(-30, 30), 4], center=center, **turns),
            lambda: F.perspective(
                x, None, None, coefficients=[0.9, r.gauss(0, 0.3), 2, r.gauss(0, 0.3), 1.1, -3, 0.001, -0.002], **turns
            ),
            lambda: v2.RandomPerspective(p=1.0, **turns)(x),
            lambda: v2.RandomAffine(20, (0.1, 0.2), (0.7, 1.3), 10, **turns)(x),
            lambda: T.functional.rotate(x, angle, center=center, **turns),
            lambda: T.RandomAffine(20, (0.1, 0.2), (0.7, 1.3), 10, turns["interpolation"], turns["fill"] or 0)(x),
            lambda: T.RandomPerspective(p=1.0)(x),
            lambda: F.resize(x, size, mode),
            lambda: F.resize(x, size[:1], mode),
            lambda: F.resize(x, size, r.choice([InterpolationMode.NEAREST, InterpolationMode.LANCZOS])),
            lambda: F.resize(x, size, antialias=False),
            lambda: F.resized_crop(x, top, left, *size, [17, 18], mode),
            lambda: F.crop(x, top, left, *size),
            lambda: F.center_crop(x, size),
            lambda: F.horizontal_flip(x),
            lambda: F.vertical_flip(x),
            lambda: F.to_dtype(x, torch.float32, scale=r.choice([True, False])),
            lambda: F.normalize(x, [0.4] * count, [0.2, 0.3, 0.1][:count]),
            lambda: F.pad(x, [1, 2, 3, 4], fill=r.choice([0, 7])),
            lambda: F.rgb_to_grayscale(x, r.choice([1, 1, 3])),
            lambda: r.choice([F.adjust_contrast, F.adjust_saturation, F.adjust_sharpness, F.adjust_brightness])(
                x, r.choice([0, 1, 0.3, 1.7, r.uniform(0, 2)])
            ),
            lambda: F.adjust_hue(x, r.choice([-0.5, 0.0, 0.1, r.uniform(-0.5, 0.5)])),
            lambda: r.choice([F.autocontrast, F.equalize, F.invert])(x),
            lambda: F.posterize(x, r.randint(0, 8)),
            lambda: F.solarize(x, r.choice([0, 128, 77.5])),
            lambda: v2.ColorJitter(0.4, 0.4, 0.4, 0.1)(x),
            lambda: v2.RandomPhotometricDistort(p=0.7)(x),
            lambda: F.permute_channels(x, r.choice([list(range(count))[::-1], torch.randperm(count), [-1] * count])),
            lambda: v2.ToPureTensor()(x),
            lambda: tv_tensors.Image(x),
            lambda: tv_tensors.wrap(x, like=x) if isinstance(x, tv_tensors.TVTensor) else x,
            lambda: tv_tensors.Mask(x),
            lambda: x.to(torch.float64),
            lambda: x.clone(),
            lambda: x.detach(),
            lambda: x * 2,
            lambda: x[..., 1:, 1:],
            lambda: x.flip(-1),
            lambda: v2.RandomResizedCrop(r.randint(2, 30))(x),
            lambda: v2.ToDtype({tv_tensors.Image: torch.float32, "others": None}, scale=True)(x),
            lambda: v2.ToDtype({tv_tensors.Image: torch.float64, tv_tensors.Mask: torch.int64, "others": None}, True)(
                x
            ),
            lambda: v2.Pad(2, fill={tv_tensors.Mask: 5, "others": 4})(x),
            lambda: F.pad(
                x, [r.randint(0, 3) for _ in range(4)], r.choice([None, 3, 2.5]), r.choice(["constant", "edge"])
            ),
            lambda: v2.Normalize([0.5], [0.5])(x),
            lambda: v2.Pad(2, fill={tv_tensors.Image: 3, "others": 4})(x),
            lambda: copy.deepcopy(x),
            lambda: pickle.loads(pickle.dumps(x)),
        ]
    )()


def told(x: Any) -> Any:
    """What can be asked without looking at a number."""
    classes = isinstance(x, tv_tensors.Image), isinstance(x, tv_tensors.Mask), isinstance(x, torch.Tensor)
    strides = [stride for length, stride in zip(x.shape, x.stride(), strict=True) if length > 1]
    return classes, x.shape, x.dtype, x.ndim, x.device, strides, x.requires_grad


def chain(path: str, seed: int) -> Any:
    """Tensors, a batch of the last, and errors on the way."""
    r = random.Random(seed)
    torch.manual_seed(seed)
    said: list[Any] = []
    tensors: list[Any] = []
    try:
        tensors.append(opened(r, path))
        for _ in range(r.randint(1, 6)):
            tensors.append(step(r, tensors[r.randrange(len(tensors))] if r.random() < 0.2 else tensors[-1]))
            said.append(told(tensors[-1]))
    except Exception as error:
        said.append((type(error).__name__, str(error)[:40]))
    return tensors, [torch.stack([each, each]) for each in tensors], said


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_random_chains_of_v2_s_functions(run: Any, files: list[str]) -> None:
    made = real = 0
    for number in range(CHAINS):
        path = files[number % len(files)]
        want = chain(path, number)
        got, count, reasons = run(chain, path, number)
        assert difference(want, got) is None, f"chain {number} on {path}"
        assert [type(each) for each in want[0]] == [type(each) for each in got[0]], f"chain {number}"
        made += count
        real += len(reasons)
    assert made > CHAINS / 2 and real > CHAINS / 4


@pytest.mark.parametrize("order", ["as decoded", "contiguous"])
@pytest.mark.parametrize("mode", ["RGB", "GRAY"])
def test_resizes_of_any_size_are_torch_s(run: Any, tmp_path: Path, order: str, mode: str) -> None:
    """Of whole images and of views, in both orders of memory."""
    rng = random.Random(5)
    path = str(tmp_path / "1.jpg")
    for _ in range(60):
        width, height = rng.randint(1, 90), rng.randint(1, 90)
        image = Image.effect_noise((width, height), 80).convert("RGB" if mode == "RGB" else "L")
        image.save(path, quality=95)
        box = rng.randint(0, height // 2), rng.randint(0, width // 2)
        size = [rng.randint(1, 120), rng.randint(1, 120)]
        filters = rng.choice([InterpolationMode.BILINEAR, InterpolationMode.BICUBIC, InterpolationMode.NEAREST])

        def resized(path: str, box: Any = box, size: Any = size, filters: Any = filters) -> Any:
            x = decode_image(path)
            if order == "contiguous":
                x = x.contiguous()
            try:
                made = F.resize(x[:, box[0] :, box[1] :], size, filters)
            except RuntimeError as error:
                return str(error)[:40]
            return made, told(made)

        want = resized(path)
        assert difference(want, run(resized, path)[0]) is None, (width, height, box, size)


def of_bytes(path: str, mode: Any) -> Any:
    return decode_image(read_file(path), mode)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", [ImageReadMode.UNCHANGED, ImageReadMode.RGB])
@pytest.mark.parametrize("read", [read_image, decode_image, of_bytes])
def test_files_of_every_kind_are_decoded_as_by_torchvision(run: Any, tmp_path: Path, read: Any, mode: Any) -> None:
    def decoded(path: Path) -> Any:
        try:
            made = read(str(path), mode)
        except RuntimeError as error:
            return str(error).splitlines()[0]
        return made, told(made)

    photos.lay(tmp_path, photos.odd())
    recorded = set()
    for path in sorted(tmp_path.iterdir()):
        if "bits" in path.name:
            continue  # torchvision leaves memory as it was
        want = decoded(path)
        got, count, _ = run(decoded, path)
        assert difference(want, got) is None, path.name
        recorded |= {path.name} if count else set()
    assert recorded >= {"grey.png", "turned.png", "a PNG.jpg", "a JPEG.png"}
    assert recorded.isdisjoint({"moving.png", "deep.png", "palette.png", "clear.png", "cut.png"})


def test_a_grey_file_that_is_only_decoded_is_not_made_by_the_core(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """torchvision decodes one or two as soon, grey or not."""
    made: list[str] = []
    monkeypatch.setattr(Session, "was_seen", lambda session, what, images: made.append(what))
    for mode in ("L", "RGB"):
        path = str(tmp_path / f"{mode}.png")
        Image.effect_noise((60, 50), 80).convert(mode).save(path)
        run(lambda path=path: torch.unique(read_image(path)))
    assert made == []


def test_types_are_those_of_torchvision(run: Any, jpeg: str) -> None:
    def types(path: str) -> Any:
        image = F.to_image(Image.open(path).convert("RGB"))
        made = [
            image, image.to(torch.float32), image.clone(), image + 1, image[0], image.flip(-1), F.horizontal_flip(image)
        ]  # fmt: skip
        classes = [(isinstance(each, tv_tensors.Image), isinstance(each, torch.Tensor)) for each in made]
        return made, classes

    want, got = types(jpeg), run(types, jpeg)[0]
    assert difference(want, got) is None
    assert [type(each) for each in want[0]] == [type(each) for each in got[0]]


def test_a_return_type_that_was_set_is_kept(run: Any, jpeg: str) -> None:
    def added(path: str) -> Any:
        with tv_tensors.set_return_type("TVTensor"):
            return F.to_image(Image.open(path).convert("RGB")) + 1

    want, got = added(jpeg), run(added, jpeg)[0]
    assert type(want) is type(got) is tv_tensors.Image and torch.equal(want, got)


def test_colours_of_another_default_dtype_are_torch_s(run: Any, jpeg: str) -> None:
    """Bytes times a factor are of the default dtype."""

    def coloured(path: str) -> Any:
        torch.set_default_dtype(torch.float64)
        try:
            image = F.to_image(Image.open(path).convert("RGB"))
            return [F.adjust_saturation(image, n / 7) + 0 for n in range(12)]
        finally:
            torch.set_default_dtype(torch.float32)

    assert holds("torchvision.tensor.saturation")
    want, got = coloured(jpeg), run(coloured, jpeg)[0]
    assert all(torch.equal(one, other) for one, other in zip(want, got, strict=True))


class Pairs(data.Dataset[Any]):
    """An image and its mask, whose file has a palette or is grey, moved together by v2."""

    def __init__(self, root: Path, opened: Any, transforms: Any) -> None:
        self.opened, self.transforms = opened, transforms
        self.paths = [(root / f"{k}.jpg", root / f"{k}.png") for k in range(13)]
        for k, (image, mask) in enumerate(self.paths):
            numbers = Image.fromarray(np.random.default_rng(k).integers(0, 22, (30 + k, 50 - k), np.uint8))
            Image.effect_noise(numbers.size, 90).convert("RGB").save(image)
            if k % 2:
                numbers.putpalette(bytes(range(66)))
            numbers.save(mask)

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        image, mask = self.paths[index]
        return self.transforms(
            Image.open(image).convert("RGB"), {"mask": self.opened(Image.open(mask)), "label": index}
        )


MASKS = {
    "of a file": tv_tensors.Mask,
    "by pil_to_tensor": lambda image: tv_tensors.Mask(F.pil_to_tensor(image)),
    "by numpy": lambda image: tv_tensors.Mask(torch.from_numpy(np.array(image))),
    "by numpy, one plane": lambda image: tv_tensors.Mask(np.array(image)[None]),
    "as classes": lambda image: tv_tensors.Mask(torch.from_numpy(np.array(image)).long()),
}
TAIL = [
    v2.ToDtype({tv_tensors.Image: torch.float32, tv_tensors.Mask: torch.int64, "others": None}, scale=True),
    v2.Normalize([0.4] * 3, [0.2] * 3),
]
FILL = {tv_tensors.Mask: 255, "others": 0}
TOGETHER = {
    "references": [
        v2.RandomResize(20, 60),
        v2.RandomHorizontalFlip(),
        v2.RandomCrop(40, pad_if_needed=True, fill=FILL),
        v2.ToImage(),
        *TAIL,
    ],
    "tensors": [
        v2.ToImage(),
        v2.RandomResizedCrop(24),
        v2.RandomVerticalFlip(),
        v2.Pad(3, padding_mode="edge"),
        *TAIL,
        v2.ToPureTensor(),
    ],
    "whole": [v2.Resize((30, 33)), v2.Pad(2, fill=FILL), v2.ToImage(), v2.ToDtype(torch.float32)],
}


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("transforms", TOGETHER.values(), ids=TOGETHER)
@pytest.mark.parametrize("opened", MASKS.values(), ids=MASKS)
def test_masks_move_with_their_images(opened: Any, transforms: Any, workers: int, tmp_path: Path) -> None:
    dataset = Pairs(tmp_path, opened, v2.Compose(transforms))

    def epochs(kind: Any) -> tuple[Any, Any]:
        torch.manual_seed(1)
        loader = kind(dataset, 4, shuffle=True, num_workers=workers)
        return [batch for _ in range(2) for batch in loader], loader

    (want, _), (got, loader) = epochs(data.DataLoader), epochs(goloader.DataLoader)
    assert difference(want, got) is None
    assert door.record(loader).leaves["batch[1]['mask']"] or opened is MASKS["as classes"], str(loader.explain())
    assert door.record(loader).leaves["batch[0]"], str(loader.explain())


class Photos(data.Dataset[Any]):
    def __init__(self, paths: list[str], transform: Any) -> None:
        self.paths, self.transform = paths, transform

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, i: int) -> Any:
        return self.transform(read_image(self.paths[i], ImageReadMode.RGB))


@pytest.mark.filterwarnings("ignore:The image decoding and encoding")
@pytest.mark.parametrize("workers", [0, 2])
def test_damaged_files_are_torchvision_s_matter(tmp_path: Path, workers: int) -> None:
    paths = []
    for i in range(40):
        file = io.BytesIO()
        Image.effect_noise((60, 50), 90).convert("RGB").save(file, "jpeg")
        content = bytearray(file.getvalue())
        if i == 17:  # libjpeg warns, and goes on
            content[len(content) // 2 : len(content) // 2 + 30] = bytes(30)
        if i == 22:
            content = content[:50]
        paths.append(str(tmp_path / f"{i}.jpg"))
        Path(paths[-1]).write_bytes(content)
    transform = v2.Compose([v2.RandomResizedCrop(24), v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True)])
    torch.manual_seed(4)
    want = batches(data.DataLoader(Photos(paths, transform), 4, num_workers=workers), RuntimeError)
    loader = goloader.DataLoader(Photos(paths, transform), 4, num_workers=workers)
    torch.manual_seed(4)
    assert difference(want, batches(loader, RuntimeError)) is None
    assert door.record(loader).on and door.record(loader).leaves


FILLS = ({Image.Image: (12, 34, 56), tv_tensors.Image: 7, "others": 0}, {tv_tensors.Mask: 3, "others": (9, 8, 7)}, 5)


def sample_with_boxes(path: str, seed: int, as_tensor: bool) -> Any:
    """What SSD's and DETR's training makes of an image and its boxes."""
    r = random.Random(seed)
    torch.manual_seed(seed)
    image: Any = Image.open(path)
    if r.random() < 0.9:
        image = image.convert("RGB")
    width, height = image.size
    if as_tensor:
        image = F.to_image(image)
    box = tv_tensors.BoundingBoxes([[1, 2, width - 1, height]], format="XYXY", canvas_size=(height, width))  # type: ignore[call-overload]
    steps = [
        v2.RandomPhotometricDistort(p=0.7),
        v2.RandomZoomOut(r.choice(FILLS), side_range=(1.0, 2.0)),
        v2.RandomIoUCrop(),
        v2.SanitizeBoundingBoxes(labels_getter=None),
        v2.RandomHorizontalFlip(),
        r.choice([v2.ScaleJitter((40, 40)), v2.RandomShortestSize((20, 30), max_size=50), v2.Identity()]),
    ]
    return v2.Compose([*steps, v2.PILToTensor(), v2.ToDtype(torch.float32, scale=True)])(image, {"boxes": box})


@pytest.mark.parametrize("as_tensor", [False, True])
def test_transforms_of_images_with_boxes(run: Any, files: list[str], as_tensor: bool) -> None:
    made = 0
    for seed in range(40):
        path = files[seed % len(files)]
        try:
            want = sample_with_boxes(path, seed, as_tensor)
        except Exception:
            continue  # of a file that is damaged, or of a mode that colours do not know
        got, count, reasons = run(sample_with_boxes, path, seed, as_tensor)
        assert difference(want, got) is None, f"sample {seed} of {path}"
        made += count > 0 and not reasons
    assert made >= 20


class OwnFills(data.Dataset[Any]):
    """Asks torchvision for a fill as its transforms do, with another image at hand."""

    def __init__(self, root: Path) -> None:
        self.paths = [str(root / f"{i}.jpg") for i in range(40)]
        for path in self.paths:
            Image.effect_noise((60, 50), 90).convert("RGB").save(path)
        self.fills = {Image.Image: 200, "others": 10}

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, i: int) -> Any:
        opened = Image.open(self.paths[i])
        image = opened.copy()
        return F.pil_to_tensor(self.padded(opened)), F.pil_to_tensor(self.padded(image))

    def padded(self, inpt: Any) -> Any:
        opened, inpt = inpt, Image.new("RGB", (2, 2))
        return F.pad(opened, [3], fill=_utils._get_fill(self.fills, type(opened)))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_fill_that_code_of_ones_own_asks_for_is_that_of_its_image(tmp_path: Path, workers: int) -> None:
    dataset = OwnFills(tmp_path)
    loader = goloader.DataLoader(dataset, 4, num_workers=workers)
    with warnings.catch_warnings():
        warnings.simplefilter("error", goloader.GoloaderWarning)
        got = list(loader)
    assert difference(list(data.DataLoader(dataset, 4)), got) is None
    assert not door.record(loader).on
