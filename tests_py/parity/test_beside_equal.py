"""Samples of which Go makes the image, and Python what is beside it: boxes, key points, labels of several classes.

Their code sets items of arrays, goes by the image's size and by what it draws: batches are torch's.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from class_of_lines import dataset_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from photos import picture
from torch.utils.data import Dataset
from twins import Program, bits, changed, check, errors, loader_of

import goloader

COUNT = 11


class Base(Dataset[Any]):
    """Photos with as many boxes as each has, classes, and four key points."""

    def __init__(self, root: Path) -> None:
        noise = np.random.default_rng(5)
        self.files = [str(root / f"{number}.png") for number in range(COUNT)]
        counts = [1 + number % 3 for number in range(COUNT)]
        self.boxes = [noise.integers(0, 40, (count, 4)).tolist() for count in counts]
        self.floats = [[[float(each) / 3 for each in box] for box in boxes] for boxes in self.boxes]
        self.found = [
            [{"bbox": box, "category_id": number % 5} for number, box in enumerate(boxes)] for boxes in self.floats
        ]
        self.by_name = {Path(file).name: found for file, found in zip(self.files, self.found, strict=True)}
        self.names = [Path(file).name for file in self.files]
        self.classes = [sorted({box[0] % 6 for box in boxes}) for boxes in self.boxes]
        self.words = [" ".join(map(str, each)) for each in self.classes]
        self.points = noise.uniform(0, 40, (COUNT, 8))
        self.tensor = torch.from_numpy(noise.uniform(0, 1, (COUNT, 6)).astype("float32"))
        self.labels = torch.arange(COUNT) % 4
        self.few = [[number] * (number % 2) for number in range(COUNT)]
        self.rows = [np.arange(6.0).reshape(-1, 2)[: 1 + number % 3] for number in range(COUNT)]
        self.kinds = [np.array([number, 2]) if number % 3 else [number, 1] for number in range(COUNT)]

    def __len__(self) -> int:
        return COUNT


OPEN = "image = Image.open(self.files[i]).convert('RGB')"
FLIPS = ["if random.random() < 0.5:", "    image = F.hflip(image)"]
GIVES = "F.to_tensor(image)"
# What is between the opening of the image and the sample, and what is beside the image in that.
CODES: dict[str, tuple[list[str], str]] = {
    "constants": ([], "torch.tensor([1, 2]), torch.zeros(3)"),
    "classes": (["target = torch.zeros(6)", "target[self.classes[i]] = 1"], "target"),
    "classes by numpy": (
        ["target = np.zeros(6, dtype=np.float32)", "target[self.classes[i]] = 1"],
        "torch.from_numpy(target)",
    ),
    "classes in a loop": (
        ["target = torch.zeros(6)", "for each in self.words[i].split():", "    target[int(each)] = 1"],
        "target",
    ),
    "a loop by two": (
        ["target = torch.zeros(6)", "for each in self.classes[i]:", "    target[each] = each * 2.0"],
        "target.unsqueeze(0)",
    ),
    "a loop that may take no turn": (
        ["target = torch.zeros(6)", "for each in self.few[i]:", "    target[0] = 1"],
        "target",
    ),
    "a width on both ways": (
        [
            "w = image.width",
            "boxes = torch.tensor(self.floats[i])",
            "if random.random() < 0.5:",
            "    boxes[:, 0] = w - boxes[:, 0]",
            "else:",
            "    boxes[:, 1] = w + boxes[:, 1]",
        ],
        "boxes, boxes * w",
    ),
    "key points": (
        ["w, h = image.size", "points = self.points[i].reshape(-1, 2) * [16 / w, 16 / h]"],
        "torch.tensor(points, dtype=torch.float32)",
    ),
    "key points, mirrored": (
        [
            "points = self.points[i].reshape(-1, 2).copy()",
            "if random.random() < 0.5:",
            "    image = F.hflip(image)",
            "    points[:, 0] = image.width - 1 - points[:, 0]",
        ],
        "torch.from_numpy(points)",
    ),
    "corners": (
        [
            "boxes = []",
            "for each in self.found[i]:",
            "    x, y, w, h = each['bbox']",
            "    boxes.append([x, y, x + w, y + h])",
            "boxes = torch.as_tensor(boxes, dtype=torch.float32)",
            "area = (boxes[:, 3] - boxes[:, 1]) * (boxes[:, 2] - boxes[:, 0])",
        ],
        "{'boxes': boxes, 'area': area, 'iscrowd': torch.zeros((len(boxes),), dtype=torch.int64)}",
    ),
    "boxes, mirrored": (
        [
            "boxes = torch.tensor([each['bbox'] for each in self.by_name[self.names[i]]])",
            "boxes[:, 2:] += boxes[:, :2]",
            *FLIPS,
            "    boxes[:, [0, 2]] = image.width - boxes[:, [2, 0]]",
        ],
        "{'boxes': boxes, 'labels': torch.tensor([each['category_id'] for each in self.found[i]])}",
    ),
    "boxes, mirrored twice": (
        [
            "boxes = torch.tensor(self.floats[i])",
            *FLIPS,
            "    boxes[:, [0, 2]] = image.width - boxes[:, [2, 0]]",
            "if random.random() < 0.5:",
            "    image = F.vflip(image)",
            "    boxes[:, [1, 3]] = image.height - boxes[:, [3, 1]]",
        ],
        "boxes, boxes.clamp(min=0)",
    ),
    "by the size of a tensor": (
        ["boxes = torch.tensor(self.floats[i])", "x = F.to_tensor(image)"],
        "boxes / torch.tensor([x.shape[2], x.shape[1], x.shape[2], x.shape[1]])",
    ),
    "scaled": (
        [
            "boxes = np.array(self.boxes[i], dtype=np.float64)",
            "boxes[:, 0::2] *= 32 / image.width",
            "boxes[:, 1::2] *= 24 / image.height",
            "image = image.resize((32, 24))",
        ],
        "torch.from_numpy(boxes).float()",
    ),
    "a view that is given": (
        [
            "boxes = torch.tensor(self.floats[i])",
            "first = boxes[0]",
            "second = boxes[0] + 0",
            *FLIPS,
            "    boxes[0, 0] = 7",
        ],
        "first, second",
    ),
    "one way or another": (
        ["target = torch.ones(2, 4)", "if random.random() < 0.5:", "    target = torch.tensor(self.boxes[i])"],
        "target",
    ),
    "drawn numbers": (
        ["shift = random.randint(0, 5)", "scale = random.uniform(0.5, 2)"],
        "torch.tensor(self.boxes[i]) * scale + shift, torch.tensor([shift, i])",
    ),
    "an item of a tensor": ([], "self.tensor[i] * 2, self.labels[i], torch.tensor([image.width])"),
}  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("beside")
    for number in range(COUNT):
        picture(20 + 3 * (number % 4), 17 + 5 * (number % 3), seed=number).save(folder / f"{number}.png")
    return folder


def zipped(samples: Sequence[Any]) -> Any:
    return tuple(zip(*samples, strict=True))


def listed(samples: Sequence[Any]) -> Any:
    return [image for image, *_ in samples], [rest for _, *rest in samples]


@pytest.mark.parametrize("collate", [zipped, listed])
@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CODES)
def test_go_makes_the_image_and_python_what_is_beside(name: str, workers: int, collate: Any, root: Path) -> None:
    lines, beside = CODES[name]
    dataset = dataset_of(Base, [OPEN, *lines, f"{GIVES}, {beside}"], root)
    arguments = loader_of(dataset, batch_size=4, shuffle=True, num_workers=workers, collate_fn=lambda: collate)
    assert not errors(check(Program(arguments, seed=workers)))


@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["constants", "classes", "classes by numpy", "classes in a loop", "key points"])
def test_torch_puts_it_together(name: str, workers: int, root: Path) -> None:
    lines, beside = CODES[name]
    code = [OPEN, *lines, f"{GIVES}, {beside}"] if name == "classes" else [OPEN, *lines, "image = image.resize((9, 8))",
                                                                           f"{GIVES}, {beside}"]  # fmt: skip
    dataset = dataset_of(Base, code, root)
    # Images of several sizes are torch's error.
    check(Program(loader_of(dataset, batch_size=4, shuffle=True, num_workers=workers), seed=workers))


# Code that may be seen, or that changes what stays: Python's, and the same.
LEFT: dict[str, tuple[list[str], str]] = {
    "the dataset's own": (["self.tensor[i, 0] = random.random()"], "self.tensor[i] * 1"),
    "a view of the dataset's": (["points = self.points[i]", "points[0] = 3"], "torch.tensor(points)"),
    "shared with the dataset": (["row = torch.as_tensor(self.points[i])", "row[1] = 5"], "row + 0"),
    "twice in a turn": (
        [
            "target = torch.zeros(6)",
            "for each in self.classes[i]:",
            "    target[each] = 1",
            "    target[(each + 1) % 6] = 2",
        ],
        "target",
    ),
    "a list of the dataset's that has arrays": (["row = np.asarray(self.kinds[i])", "row[0] += 5"], "row + 0"),
    "never given": (["boxes = torch.tensor(self.floats[i])", "boxes[0, 9] = 1"], "1"),
    "counted by it": (
        ["target = torch.zeros(6)", "target[0] = i", "image = F.hflip(image) if target[0] > 4 else image"],
        "target",
    ),
}


@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", LEFT)
def test_what_stays_is_changed_as_by_torch(name: str, workers: int, root: Path) -> None:
    lines, beside = LEFT[name]

    def make() -> Any:
        return dataset_of(Base, [OPEN, *lines, f"{GIVES}, {beside}"], root)

    check(Program(loader_of(make, batch_size=4, num_workers=workers, collate_fn=lambda: listed)), native=None)


# Values that share memory with others of their sample, or with the dataset: whoever changes one changes the others.
SHARED: dict[str, tuple[list[str], str]] = {
    "a tensor twice": (["boxes = torch.tensor(self.floats[i])"], "boxes, boxes"),
    "a view of it": (["boxes = torch.tensor(self.floats[i])"], "boxes, boxes[0]"),
    "one in two dicts": (["boxes = torch.tensor(self.floats[i])"], "{'boxes': boxes}, {'boxes': boxes}"),
    "a list twice": (["pair = [i, 1]"], "pair, pair"),
    "a dict twice": (["pair = {'i': i}"], "pair, pair"),
    "an image twice": (["x = F.to_tensor(image)"], "x, x"),
    "the dataset's": ([], "self.tensor[i][1:3], 1"),
    "an array of the dataset's": ([], "torch.as_tensor(self.points[i].reshape(-1, 2)), 1"),
    "arrays of the dataset's that differ": ([], "self.rows[i], 1"),
    "nothing": (["boxes = torch.tensor(self.floats[i])"], "boxes, boxes.clamp(min=3)"),
}


def stacked(samples: Sequence[Any]) -> Any:
    return torch.stack([each[0] for each in samples]), [each[1] for each in samples], [each[2] for each in samples]


def _changed(of: Any) -> None:
    """Changes all that can be changed in a batch."""
    if isinstance(of, torch.Tensor | np.ndarray):
        of += 1
    elif isinstance(of, list | tuple | dict):
        for each in of.values() if isinstance(of, dict) else of:
            _changed(each)
        if isinstance(of, list):
            of.append(len(of))
        elif isinstance(of, dict):
            of[len(of)] = 0


@pytest.mark.parametrize("collate", [listed, stacked])
@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SHARED)
def test_what_shares_memory_is_changed_together(name: str, workers: int, collate: Any, root: Path) -> None:
    lines, beside = SHARED[name]

    def seen(kind: Any) -> Iterator[Any]:
        dataset = dataset_of(Base, [OPEN, "image = image.resize((9, 8))", *lines, f"{GIVES}, {beside}"], root)
        for _ in range(2):
            for batch in kind(dataset, batch_size=4, num_workers=workers, collate_fn=collate):
                _changed(batch)
                yield bits(batch)

    assert [*seen(goloader.DataLoader)] == [*seen(torch.utils.data.DataLoader)]


# Values that some numbers make fail: where Python makes them, the core has drawn for all samples of their batch.
FAILING = {
    "a place that is drawn": (["at = random.randint(0, 5)"], "torch.tensor(self.boxes[i][0])[at]"),
    "a length that is drawn": (["length = np.random.randint(-1, 4)"], "torch.zeros(length)"),
}


@pytest.mark.parametrize("workers", [0, *(pytest.param(each, marks=pytest.mark.slow) for each in (1, 2))])
@pytest.mark.parametrize("name", FAILING)
def test_generators_stand_where_a_value_that_fails_leaves_them(name: str, workers: int, root: Path) -> None:
    lines, beside = FAILING[name]
    dataset = dataset_of(Base, [OPEN, *lines, f"{GIVES}, {beside}"], root)
    arguments = loader_of(dataset, batch_size=3, num_workers=workers, collate_fn=lambda: listed)
    events = [each for number in range(3) for each in check(Program(arguments, seed=number))]
    assert errors(events)


@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_a_sample_whose_code_fails_is_torchs_error(workers: int, root: Path) -> None:
    lines, beside = CODES["boxes, mirrored twice"]
    dataset = dataset_of(Base, [OPEN, *lines, f"{GIVES}, {beside}"], root)
    dataset.floats[6] = []  # of which no columns can be taken
    assert errors(check(Program(loader_of(dataset, batch_size=4, num_workers=workers, collate_fn=lambda: listed))))


def _longer(dataset: Any, number: int) -> None:
    dataset.floats[3] = [*dataset.floats[3], [number, 2.0, 3.0, 4.0]]


def _in_place(dataset: Any, number: int) -> None:
    dataset.floats[2][0][1] = number + 0.5


@pytest.mark.parametrize("change", [_longer, _in_place])
@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_annotations_that_change(change: Any, workers: int, root: Path) -> None:
    lines, beside = CODES["boxes, mirrored twice"]

    def events(kind: Any) -> list[Any]:
        random.seed(3)
        make = lambda: dataset_of(Base, [OPEN, *lines, f"{GIVES}, {beside}"], root)  # noqa: E731
        return list(changed(kind, make, change, batch_size=4, num_workers=workers, collate_fn=listed))

    assert events(goloader.DataLoader) == events(torch.utils.data.DataLoader)


# Random code

ARRAYS = ["torch.tensor(self.floats[i])", "torch.tensor(self.boxes[i])", "np.array(self.floats[i])",
          "torch.as_tensor([each['bbox'] for each in self.found[i]])"]  # fmt: skip
KEYS = ["[:, 0]", "[0]", "[:, [0, 2]]", "[:, 1:3]", "[0, 1]", "[:, ::2]", "[-1]"]
IMAGES = ["image = F.hflip(image)", "image = image.resize((11, 9))", "drawn = image.width"]
NUMBERS = ["image.width", "w", "image.size[1]", "drawn", "2", "image.height - 1", "len(self.classes[i])", "1.5 * other"]


@st.composite
def codes(draw: st.DrawFn) -> tuple[list[str], str]:
    """Lines that make arrays, set items of them, also on ways of branches and in loops, and make others of them."""
    names = ["a", "b"]
    lines = [OPEN, "drawn = random.randint(1, 9)", "other = random.random()", "w = image.width"]
    lines += [f"{name} = {draw(st.sampled_from(ARRAYS))}" for name in names]
    lines += ["c = torch.zeros(9)"]
    given = [*names, "c"]

    def changes() -> str:
        name, key, by = (draw(st.sampled_from(each)) for each in (names, KEYS, NUMBERS))
        sign = draw(st.sampled_from(["+", "-", "*"]))
        lines = {
            "set": f"{name}{key} = {by}",
            "in place": f"{name}{key} {sign}= {by}",
            "other": f"{name}{key} = {by} {sign} {name}{key}",
            "image": draw(st.sampled_from(IMAGES)),
        }
        return lines[draw(st.sampled_from([*lines]))]

    for number in range(draw(st.integers(1, 6))):
        what = draw(st.sampled_from(["always", "branch", "both ways", "loop", "view", "new"]))
        if what in ("view", "new"):
            name, key, by = (draw(st.sampled_from(each)) for each in (names, KEYS, NUMBERS))
            lines.append(f"x{number} = {name}{key}" + (f" * {by}" if what == "new" else ""))
            given.append(f"x{number}")
        elif what == "loop":
            lists, key = draw(st.sampled_from(["classes", "few"])), draw(st.sampled_from(["each % 7", "2"]))
            lines += [
                f"for each in self.{lists}[i]:",
                f"    c[{key}] = {draw(st.sampled_from(['1', 'each', 'w', 'drawn']))}",
            ]
            lines += [f"    c[(each + 1) % 7] = {number}"] * draw(st.integers(0, 1))
        elif what == "always":
            lines.append(changes())
        else:
            lines += [f"if random.random() < 0.{draw(st.integers(2, 8))}:", f"    {changes()}"]
            lines += ["else:", f"    {changes()}"] * (what == "both ways")
    taken = draw(st.lists(st.sampled_from(given), max_size=2))
    return lines, ", ".join([*names, "c", *taken, "drawn"])


def _is_the_same(code: tuple[list[str], str], root: Path) -> bool:
    """Whether Go makes the images of a class with such lines; the same comes of it in any case."""
    lines, beside = code
    dataset = dataset_of(Base, [*lines, f"{GIVES}, {beside}"], root)
    arguments = loader_of(dataset, batch_size=4, shuffle=True, collate_fn=lambda: listed)
    native = goloader.DataLoader(**arguments()).explain().native
    try:
        check(Program(arguments, epochs=1), native=None)
    except AssertionError as error:
        raise AssertionError("\n".join([*lines, beside])) from error
    return bool(native)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(code=codes())
def test_random_code_beside_images(code: tuple[list[str], str], root: Path) -> None:
    _is_the_same(code, root)
