"""Classes whose images are rows of an array or a tensor in memory, of which torchvision makes an image or a tensor, by
ToPILImage or ToTensor: their batches, and errors, are torch's."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms as T
import torchvision.transforms.functional as F
from PIL import Image
from torch.utils.data import Dataset
from torchvision.transforms import v2
from twins import Program, batches, check, compare, errors, loader_of, run

import goloader

COUNT, HEIGHT, WIDTH = 13, 12, 15


def noise(*shape: int) -> Any:
    return np.random.default_rng(zlib.crc32(repr(shape).encode())).integers(0, 256, (COUNT, *shape), np.uint8)


def planes(*shape: int) -> Any:
    return torch.from_numpy(noise(*shape))


# What rows are, and how code has them: expressions of x.
Rows = dict[str, tuple[Callable[[], Any], str]]
GREYS: Rows = {
    "an array": (lambda: noise(HEIGHT, WIDTH), "x"),
    "an array of one channel": (lambda: noise(HEIGHT, WIDTH, 1), "x"),
    "an array of one plane": (lambda: noise(1, HEIGHT, WIDTH), "x.transpose(1, 2, 0)"),
    "numbers": (lambda: noise(HEIGHT * WIDTH), f"x.reshape({HEIGHT}, {WIDTH})"),
    "numbers of a channel": (lambda: noise(HEIGHT * WIDTH), f"x.reshape(({HEIGHT}, -1, 1)).astype(np.uint8)"),
    "lines": (lambda: noise(HEIGHT, WIDTH, 1), f"x.astype('uint8').reshape({HEIGHT}, {WIDTH})"),
    "turned": (lambda: noise(WIDTH, HEIGHT), "np.transpose(x, (1, 0))"),
    "every second column": (lambda: noise(HEIGHT, 2 * WIDTH)[:, :, ::2], "x"),
    "a tensor's numbers": (lambda: planes(HEIGHT, WIDTH), "x.numpy()"),
    "a tensor's lines": (lambda: planes(HEIGHT * WIDTH), f"x.view({HEIGHT}, {WIDTH}).numpy()"),
}
COLOURS: Rows = {
    "an array": (lambda: noise(HEIGHT, WIDTH, 3), "x"),
    "planes": (lambda: noise(3, HEIGHT, WIDTH), "np.transpose(x, [1, 2, 0])"),
    "planes of numbers": (lambda: noise(3 * HEIGHT * WIDTH), f"x.reshape(3, {HEIGHT}, {WIDTH}).transpose((1, 2, 0))"),
    "planes by columns": (lambda: noise(3, WIDTH, HEIGHT), "x.transpose(2, 1, 0)"),
    "a tensor's planes": (lambda: planes(3, HEIGHT, WIDTH), "x.permute(1, 2, 0).numpy()"),
    "a tensor's array": (lambda: planes(3, HEIGHT, WIDTH), "x.numpy().transpose(1, 2, 0)"),
}
# Of which ToPILImage alone makes images.
TENSORS: Rows = {
    "a tensor": (lambda: planes(HEIGHT, WIDTH), "x"),
    "a tensor of one plane": (lambda: planes(1, HEIGHT, WIDTH), "x"),
    "a tensor by lines": (lambda: planes(HEIGHT * WIDTH), f"x.reshape(1, {HEIGHT}, {WIDTH})"),
    "a tensor of planes": (lambda: planes(3, HEIGHT, WIDTH), "x"),
    "a tensor of channels": (lambda: planes(HEIGHT, WIDTH, 3), "x.permute(2, 0, 1)"),
    "a tensor, turned": (lambda: planes(3, WIDTH, HEIGHT), "x.permute((0, 2, 1))"),
}
HALF = (0.5,)
IMAGES: dict[str, Any] = {
    "images": T.Compose([T.ToPILImage(), T.ToTensor()]),
    "cropped": T.Compose(
        [T.ToPILImage(), T.RandomCrop(10, padding=2), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(HALF, HALF)]
    ),
    "resized": T.Compose([T.ToPILImage(), T.RandomResizedCrop(9), T.PILToTensor()]),
    "rotated": T.Compose([T.ToPILImage(), T.RandomRotation(20), T.Resize(8), T.ToTensor()]),
    "v2": v2.Compose(
        [
            v2.ToPILImage(),
            v2.RandomCrop(9),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(HALF, HALF),
        ]
    ),
}
NUMBERS: dict[str, Any] = {
    "numbers": T.ToTensor(),
    "normalized": T.Compose([T.ToTensor(), T.Normalize(HALF, (0.25,))]),
    "normalized in place": T.Compose([T.ToTensor(), T.Normalize(HALF, (0.25,), inplace=True)]),
    "flipped": T.Compose([T.ToTensor(), T.RandomHorizontalFlip(), T.RandomVerticalFlip(), T.Normalize(HALF, HALF)]),
    "cut": T.Compose([T.ToTensor(), T.RandomCrop(9), T.RandomHorizontalFlip()]),
}
# Where code calls functions: lines of which the last one gives x.
FUNCTIONS = {
    "to_pil_image": ["x = F.to_pil_image(x)", "if random.random() < 0.5:", "    x = F.hflip(x)", "x = F.to_tensor(x)"],
    "by Pillow": ["x = F.to_pil_image(x).resize((9, 8))", "x = F.to_tensor(x) * 2"],
    "to_tensor": ["x = F.normalize(F.to_tensor(x), [0.5], [0.25])"],
    "to_tensor in place": ["x = F.to_tensor(x)", "x.mul_(2).sub_(1)"],
    "an object": ["x = T.ToPILImage()(x)", "x = T.RandomCrop(9)(x)", "x = T.ToTensor()(x)"],
}


class Data(Dataset[Any]):
    def __init__(self, x: Any, transform: Any = None) -> None:
        self.x, self.transform, self.labels = x, transform, [3 * n for n in range(COUNT)]

    def __len__(self) -> int:
        return COUNT


class Inverted:
    def __call__(self, x: Any) -> Any:
        return Image.fromarray(255 - np.asarray(x)[:3, :3])


Other = type("ToPILImage", (Inverted,), {})

SPACE = {
    "Other": Other,
    "np": np,
    "torch": torch,
    "random": random,
    "T": T,
    "F": F,
    "v2": v2,
    "Image": Image,
    "Data": Data,
}


def kind_of(row: str, *lines: str) -> Any:
    """A class whose samples are x and its label."""
    body = [f"        {line}" for line in ("x = self.x[i]", f"x = {row}", *lines, "return x, self.labels[i]")]
    space = dict(SPACE)
    exec("\n".join(["class Made(Data):", "    def __getitem__(self, i):", *body]), space)
    return space["Made"]


def same(make: Callable[[], Any], num_workers: int) -> Any:
    arguments = {"batch_size": 4, "shuffle": True, "num_workers": num_workers}
    return check(Program(lambda: {"dataset": make(), **arguments}, draw=True))


# Rows with transforms that take them, and how many workers there are: each of these comes with each at some time.
ROWS: dict[str, Rows] = {"grey": GREYS, "coloured": COLOURS, "a tensor": TENSORS}
PAIRS = [
    (of, row, name, (0, 1, 3)[(number + place) % 3])
    for of, rows in ROWS.items()
    for number, row in enumerate(rows)
    for place, name in enumerate(IMAGES if of == "a tensor" else IMAGES | NUMBERS)
]


@pytest.mark.parametrize(("of", "row", "name", "num_workers"), PAIRS)
def test_transforms_of_rows(of: str, row: str, name: str, num_workers: int) -> None:
    make, code = ROWS[of][row]
    kind = kind_of(code, "x = self.transform(x)")
    same(lambda: kind(make(), (IMAGES | NUMBERS)[name]), num_workers)


@pytest.mark.parametrize("num_workers", [0, 1, 3])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_rows(name: str, num_workers: int) -> None:
    for of, rows in ROWS.items():
        if of == "a tensor" and "to_tensor" in name:
            continue
        for make, code in [*rows.values()][: 1 + num_workers]:
            kind = kind_of(code, *FUNCTIONS[name])
            same(partial(kind, make()), num_workers)


TWO_VIEWS = ["y = self.transform(x)", "x = torch.stack([self.transform(x), y])"]
CLASSES = {
    "two views": TWO_VIEWS,
    "two views of an image": ["x = T.ToPILImage()(x)", *TWO_VIEWS],
    "another row": ["j = random.randrange(13)", "x = self.transform(x), self.transform(self.x[j])"],
    "a plain image beside": ["x = self.transform(x), T.ToTensor()(x)"],
    "if there is a transform": ["if self.transform:", "    x = self.transform(x)"],
}


@pytest.mark.parametrize("num_workers", [0, 3])
@pytest.mark.parametrize("name", CLASSES)
def test_classes(name: str, num_workers: int) -> None:
    transform = IMAGES["cropped"] if "of an image" not in name else T.Compose(IMAGES["cropped"].transforms[1:])
    same(lambda: kind_of("x", *CLASSES[name])(noise(HEIGHT, WIDTH, 3), transform), num_workers)


MODES: list[tuple[Callable[[], Any], str | None, bool]] = [
    (lambda: noise(9, 8), "L", True),
    (lambda: noise(9, 8, 1), "L", True),
    (lambda: planes(1, 9, 8), "L", True),
    (lambda: noise(9, 8, 3), "RGB", True),
    (lambda: planes(3, 9, 8), "RGB", True),
    (lambda: noise(9, 8, 3), "YCbCr", False),
    (lambda: planes(3, 9, 8), "HSV", False),
    (lambda: noise(9, 8), "P", False),
    (lambda: noise(9, 8), "RGB", False),
    (lambda: noise(9, 8, 3), "L", False),
    (lambda: planes(9, 8), "1", False),
    (lambda: noise(9, 8, 4), None, False),
    (lambda: planes(2, 9, 8), None, False),
    (lambda: noise(9, 8, 5), None, False),
    (lambda: planes(3, 3, 9, 8), None, False),
    (lambda: noise(9), None, False),
    (lambda: noise(9, 8).astype(np.int16), None, False),
    (lambda: planes(3, 9, 8).float() / 255, None, False),
    (lambda: planes(3, 9, 8).to(torch.int8), None, False),
    (lambda: noise(9, 8, 3).view(np.bool_), None, False),
    (lambda: [*noise(9, 8, 3)], None, False),
    (lambda: noise(9, 0, 3), None, False),
]


@pytest.mark.parametrize(("make", "mode", "native"), MODES)
def test_modes_and_shapes_of_images(make: Any, mode: str | None, native: bool) -> None:
    """An image of another kind is left to torchvision, as are its errors."""
    for way in (T.ToPILImage(mode), v2.ToPILImage(mode)):
        transform = T.Compose([way, T.ToTensor()])
        check(Program(loader_of(kind_of("x", "x = self.transform(x)")(make(), transform), batch_size=4)), native=native)
    called = kind_of("x", "x = F.to_tensor(F.to_pil_image(x, self.transform))")(make(), mode)
    check(Program(loader_of(called, batch_size=4)), native=native)
    called = kind_of("x", "x = F.to_tensor(F.to_pil_image(x, mode=self.transform))")(make(), mode)
    check(Program(loader_of(called, batch_size=4)), native=native)


LEFT: dict[str, tuple[Callable[[], Any], str]] = {
    "a tensor to ToTensor": (lambda: planes(3, 9, 8), "F.to_tensor(x)"),
    "four channels": (lambda: noise(9, 8, 4), "F.to_tensor(x)"),
    "other numbers": (lambda: noise(9, 8, 3).astype(np.int32), "F.to_tensor(x)"),
    "other numbers as bytes": (lambda: noise(9, 8, 3).astype(np.int32), "F.to_tensor(x.astype(np.uint8))"),
    "bytes as other numbers": (lambda: noise(9, 8, 3), "F.to_tensor(x.astype(np.float32))"),
    "backwards": (lambda: noise(9, 8, 3)[:, :, ::-1], "F.to_tensor(x)"),
    "a shape that is none": (lambda: noise(72), "F.to_tensor(x.reshape(9, 9))"),
    "shaped by columns": (lambda: noise(72), "F.to_tensor(x.reshape((9, 8), order='F'))"),
    "shaped when turned": (lambda: noise(9, 8, 3), "F.to_tensor(x.transpose(1, 0, 2).reshape(9, 8, 3))"),
    "shaped with gaps": (lambda: noise(9, 16)[:, :, ::2], "F.to_tensor(x.reshape(8, 9))"),
    "viewed with gaps": (lambda: planes(9, 16)[:, :, ::2], "F.to_tensor(F.to_pil_image(x.view(8, 9)))"),
    "turned in part": (lambda: noise(9, 8, 3), "F.to_tensor(x.transpose(1, 0))"),
    "a tensor to Pillow": (lambda: planes(9, 8), "F.to_tensor(Image.fromarray(x))"),
    "a channel to Pillow": (lambda: noise(9, 8, 1), "F.to_tensor(Image.fromarray(x))"),
    "in two ways": (lambda: noise(8, 8, 3), "torch.stack([F.to_tensor(x), F.to_tensor(x.transpose(1, 0, 2))])"),
    "in two shapes": (lambda: noise(72), "F.to_tensor(x.reshape(8, 9)), F.to_tensor(x.reshape(9, 8))"),
    "in two ways to Pillow": (
        lambda: noise(3, 8, 3),
        "F.to_tensor(Image.fromarray(x)), F.to_tensor(Image.fromarray(np.transpose(x, (1, 2, 0))))",
    ),
    "changed before": (lambda: noise(8, 9), "F.to_tensor(np.add(x, 1, out=x))"),
    "by a class of that name": (lambda: noise(8, 9, 3), "F.to_tensor(Other()(np.array(x)))"),
    "by one of a tensor": (lambda: planes(3, 8, 9), "F.to_tensor(Other()(x))"),
    "a part of a row": (lambda: noise(3, 9, 8), "F.to_tensor(self.x[i, 0])"),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left_to_torchvision(name: str) -> None:
    make, given = LEFT[name]
    kind = kind_of("x", f"x = {given}")
    check(Program(loader_of(lambda: kind(make()), batch_size=4)), native=None)


def test_rows_that_are_shaped_go_to_pillow() -> None:
    lines = ["x = Image.fromarray(x.reshape(3, 9, 8).transpose(1, 2, 0))", "x = self.transform(x)"]
    same(lambda: kind_of("x", *lines)(noise(3 * 9 * 8), T.Compose([T.RandomCrop(7), T.ToTensor()])), 0)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_images_without_batches(num_workers: int) -> None:
    shapes: list[tuple[int, ...]] = [(9, 8), (9, 8, 1), (9, 8, 3), (3, 9, 8)]
    for shape in shapes:
        kind = kind_of("x.transpose(1, 2, 0)" if shape[0] == 3 else "x", "x = F.to_tensor(x)")
        loader = loader_of(kind(noise(*shape)), batch_size=None, num_workers=num_workers)
        check(Program(loader), native=None)


def test_errors_are_torch_s() -> None:
    dataset = kind_of("x", "x = self.transform(x)")(noise(9, 8, 3), T.Compose([T.ToPILImage(), T.RandomCrop(10)]))
    assert errors(check(Program(loader_of(dataset, batch_size=4)), native=None))


# What is done to the dataset before each epoch.
def given(epochs: int, name: str, value: Callable[[Any], Any]) -> Callable[[Any, int], None]:
    """Gives a dataset another value of an attribute, made of that which it has; epochs are bits of a number."""

    def change(dataset: Any, epoch: int) -> None:
        if epochs >> epoch & 1:
            setattr(dataset, name, value(getattr(dataset, name)))

    return change


def change_pixels(dataset: Any, epoch: int) -> None:
    dataset.x[epoch::2] = epoch


def change_mode(dataset: Any, epoch: int) -> None:
    dataset.transform.transforms[0].mode = [None, "YCbCr", "RGB"][epoch]


def change_list(dataset: Any, epoch: int) -> None:
    if epoch == 1:
        del dataset.transform.transforms[0]


CHANGES: dict[str, Callable[[Any, int], None]] = {
    "pixels": change_pixels,
    "another array": given(6, "x", lambda x: 255 - x),
    "another size": given(6, "x", lambda x: x[:, :11]),
    "other numbers": given(2, "x", lambda x: x.astype(np.int32)),
    "a tensor": given(2, "x", lambda x: torch.from_numpy(x).permute(0, 3, 1, 2)),
    "grey": given(2, "x", lambda x: x[..., :1].copy()),
    "backwards": given(6, "x", lambda x: x[:, ::-1]),
    "the mode": change_mode,
    "the first transform": change_list,
    "another transform": given(2, "transform", lambda transform: lambda x: torch.zeros(3)),
}


@pytest.mark.parametrize("transform", ["cropped", "flipped"])
@pytest.mark.parametrize("name", CHANGES)
def test_changes_between_epochs_are_seen(name: str, transform: str) -> None:
    def dataset() -> Any:
        given = T.Compose([*(IMAGES | NUMBERS)[transform].transforms])
        if name == "the mode":
            given.transforms[0] = T.ToPILImage()
        return kind_of("x", "x = self.transform(x)")(noise(12, 12, 3), given)

    if name == "the mode" and transform == "flipped":
        return
    change = CHANGES[name]
    loader = loader_of(dataset, batch_size=4, shuffle=True)
    check(Program(loader, epochs=3, before=lambda epoch, loader: change(loader.dataset, epoch)))


def test_storage_of_a_tensor_that_is_another_is_seen() -> None:
    """The object and its shape stay."""

    def before(epoch: int, loader: Any) -> None:
        loader.dataset.x.data = planes(3, 9, 8) + epoch

    kind = kind_of("x", "x = self.transform(x)")
    check(Program(lambda: {"dataset": kind(planes(3, 9, 8), IMAGES["images"]), "batch_size": 4}, before=before))


def dark(*given: Any, **options: Any) -> Any:
    return Image.new("RGB", (11, 10))


def zeros(*given: Any, **options: Any) -> Any:
    return torch.zeros(3, 10, 11)


REPLACED: dict[str, tuple[Any, str, Any, list[str]]] = {
    "to_pil_image": (F, "to_pil_image", dark, ["x = self.transform(x)"]),
    "to_pil_image that is called": (F, "to_pil_image", dark, ["x = F.to_tensor(F.to_pil_image(x))"]),
    "to_pil_image of v2": (v2.functional, "to_pil_image", dark, ["x = v2.ToPILImage()(x)", "x = F.to_tensor(x)"]),
    "ToPILImage": (T.ToPILImage, "__call__", dark, ["x = self.transform(x)"]),
    "ToPILImage of v2": (v2.ToPILImage, "transform", dark, ["x = v2.ToPILImage()(x)", "x = F.to_tensor(x)"]),
    "to_tensor": (F, "to_tensor", zeros, ["x = T.ToTensor()(x)"]),
    "to_tensor that is called": (F, "to_tensor", zeros, ["x = F.to_tensor(x)"]),
    "ToTensor": (T.ToTensor, "__call__", zeros, ["x = T.ToTensor()(x)"]),
    "frombuffer": (Image, "frombuffer", dark, ["x = self.transform(x)"]),
}


@pytest.mark.parametrize("when", [0, 1])
@pytest.mark.parametrize("name", REPLACED)
def test_functions_that_are_replaced_are_called(name: str, when: int) -> None:
    owner, attribute, other, lines = REPLACED[name]
    program = Program(lambda: {"dataset": kind_of("x", *lines)(noise(9, 8, 3), IMAGES["images"]), "batch_size": 4})
    seen = []
    for kind in (goloader.DataLoader, torch.utils.data.DataLoader):
        with pytest.MonkeyPatch.context() as patch:

            def before(epoch: int, loader: Any, patch: pytest.MonkeyPatch = patch) -> None:
                if epoch == when:
                    patch.setattr(owner, attribute, other)

            program.before = before
            seen.append(run(kind, program))
    compare(*seen)
    assert batches(seen[1])
