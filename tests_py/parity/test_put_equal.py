"""Arrays that a class makes, and of which it sets items at places that its labels say: as torch's, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from class_of_lines import dataset_of
from PIL import Image
from torch.utils.data import Dataset
from twins import Program, check, errors, loader_of

import goloader
from goloader.plan.datasets.own import kept


class Labelled(Dataset[Any]):
    """61 rows, with labels from 0 to 6 of several kinds."""

    def __init__(self, _: Any = None, labels: list[int] | None = None) -> None:
        chance = np.random.default_rng(3)
        self.x = chance.standard_normal((61, 5)).astype(np.float32)
        self.labels = chance.integers(0, 7, 61).tolist() if labels is None else labels
        self.y, self.short = np.array(self.labels), np.array(self.labels, np.int32)
        self.tensor = torch.tensor(self.labels)
        self.pairs = chance.integers(0, 7, (61, 2))
        self.weights = chance.random(61).tolist()
        self.w = chance.standard_normal((61, 4))
        self.classes, self.smooth = [*"abcdefg"], 0.1

    def __len__(self) -> int:
        return 61


LINES = {
    "torch's zeros": ["y = torch.zeros(7)", "y[self.labels[i]] = 1", "self.x[i], y"],
    "of a type": ["y = torch.zeros(7, dtype=torch.int32)", "y[self.labels[i]] = 1", "(y,)"],
    "numpy's zeros": ["y = np.zeros(len(self.classes))", "y[self.y[i]] = 1.0", "{'x': self.x[i], 'y': y}"],
    "numpy's of a type": ["y = np.zeros((7,), dtype=np.float32)", "y[self.short[i]] = 1", "torch.from_numpy(y)"],
    "a tensor's place": ["y = torch.zeros(7)", "y[self.tensor[i]] = 1", "y"],
    "smoothed": ["y = torch.full((7,), self.smooth / 7)", "y[self.labels[i]] = 1 - self.smooth + self.smooth / 7", "y"],
    "numpy's full": ["y = np.full(7, 3, np.uint8)", "y[self.labels[i]] = 255", "y"],
    "several": ["y = torch.zeros(7)", "y[self.pairs[i, 0]] = 1", "y[self.pairs[i, 1]] = 2", "y"],
    "the same place for all": ["y = np.ones(7)", "y[3] = 0", "y[self.labels[i]] = 5", "y * 2"],
    "by two names": ["y = torch.zeros(7)", "z = y", "z[self.labels[i]] = 1", "y + 1"],
    "cut off": ["y = np.zeros(7, np.int64)", "y[self.labels[i]] = 2.9", "y"],
    "to bool": ["y = torch.zeros(7, dtype=torch.bool)", "y[self.labels[i]] = 7", "y, torch.ones(2)"],
    "made by a helper": ["hot = lambda k: torch.zeros(k)", "y = hot(7)", "y[self.labels[i]] = 1", "y"],
    "of the index": ["y = torch.zeros(61)", "y[i] = 1", "y, self.x[i]"],
}


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("name", LINES)
def test_places_by_labels(name: str, num_workers: int, tmp_path: Path) -> None:
    dataset = dataset_of(Labelled, LINES[name], tmp_path)
    check(Program(loader_of(dataset, batch_size=8, shuffle=True, num_workers=num_workers)))


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("name", ["torch's zeros", "numpy's full", "several"])
def test_places_from_the_end_and_none(name: str, num_workers: int) -> None:
    """Labels below zero count from the end; one that is not there is an error."""
    for labels in ([-1, 2, -7, 6] * 16)[:61], ([0, 6, 7, 1] * 16)[:61], ([5, -8] * 31)[:61]:

        class Given(Labelled):
            def __init__(self, _: Any = None) -> None:
                super().__init__(labels=labels)  # noqa: B023
                self.pairs = np.array([labels, labels]).T  # noqa: B023

        dataset = dataset_of(Given, LINES[name], Path())
        events = check(Program(loader_of(dataset, batch_size=1, num_workers=num_workers), epochs=1))
        outside = any(not -7 <= each < 7 for each in labels)
        assert bool(errors(events)) == outside


def test_labels_that_change(tmp_path: Path) -> None:
    for num_workers in (0, 2):
        dataset = dataset_of(Labelled, LINES["torch's zeros"], tmp_path)
        loader = goloader.DataLoader(dataset, batch_size=61, num_workers=num_workers)
        for label in (2, 5):
            dataset.labels[7] = label
            assert [y[7].argmax().item() for _, y in loader] == [label]


SET = {
    "the end of a copy": ["y = self.x[i].copy()", "y[-2:] = 0", "y"],
    "a tensor's": ["y = torch.from_numpy(self.x[i]).clone()", "y[1:3] = 0.1", "y[0] += 2", "y"],
    "times": ["y = self.x[i].copy()", "y[1:4] *= 3", "y[::2] -= y[0]", "y"],
    "another type's": ["y = self.x[i].astype(np.float64)", "y[2:4] = self.x[i][:2]", "y[4] = self.y[i] / 3", "y"],
    "two axes": ["y = np.zeros((3, 5))", "y[1, :4] = 2", "y[..., -1] = self.x[i, :3]", "y"],
    "in steps": ["y = self.x[i] * 2", "y[::2] = -y[::2]", "y"],
    "a row for all": ["y = torch.zeros(3, 5)", "y[:] = torch.tensor(self.x[i])", "y"],
    "from a label on": ["y = self.x[i].copy()", "y[self.labels[i] :] = 0", "y"],
    "from a label up to the last": [
        "y = self.x[i].copy()",
        "y[self.labels[i] : -1] = 0",
        "y[-9 : i % 3] = 1",
        "y",
    ],
    "between labels": ["y = torch.ones(2, 9)", "y[:, self.labels[i] : self.labels[i] + 2] = 0.5", "y"],
    "one of two axes": ["y = torch.zeros(3, 7, dtype=torch.int64)", "y[1, self.labels[i]] = self.labels[i]", "y"],
    "by comparison": ["y = self.x[i].copy()", "y[y < 0] = 0", "y"],
    "to another's": ["y, z = self.x[i].copy(), self.x[(i + 1) % 61] * 2", "m = y < z", "y[m] = z[m]", "y, m"],
    "by a mask of rows": ["y = torch.zeros(5, 2)", "y[torch.from_numpy(self.x[i]) > 0] = 1", "y"],
    "to its mean": ["y = self.x[i].copy()", "y[y > 0.5] = y.mean()", "y"],
    "of what is given on": ["y = torch.from_numpy(self.x[i].copy())", "y[0] = 0", "y"],
    "a float's of a double": ["z = self.x[i] * 1.5", "y = torch.from_numpy(self.w[i]).float()", "y[1] = 3", "y, z"],
    "and used before": ["y = self.x[i].copy()", "z = y * 2", "y[0] = y.shape[0]", "y[1] = z[0]", "y, z"],
    "to another type's": ["y = np.zeros(5, np.float32)", "y[1:3] = self.weights[i]", "y"],
}


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("name", SET)
def test_items_that_are_set(name: str, num_workers: int, tmp_path: Path) -> None:
    dataset = dataset_of(Labelled, SET[name], tmp_path)
    check(Program(loader_of(dataset, batch_size=8, shuffle=True, num_workers=num_workers)))


CHANCE = {
    "masked frames": [
        "y = np.stack([self.x[i], self.x[i] * 2, -self.x[i]])",
        "f = np.random.randint(0, 3)",
        "k = np.random.randint(0, y.shape[1] - f)",
        "y[:, k : k + f] = 0",
        "t = np.random.randint(0, 2)",
        "k = np.random.randint(0, 3 - t)",
        "y[k : k + t, :] = 1.5",
        "y",
    ],
    "in a loop": ["y = self.x[i].copy()", "for _ in range(3): y[random.randint(0, 4)] = random.random()", "y"],
    "by chance": ["y = torch.tensor(self.x[i])", "m = torch.rand(5) < 0.3", "y[m] = 0", "y, m"],
    "another's by chance": [
        "y = self.x[i].copy()", "m = np.random.rand(5) < 0.4", "z = self.x[random.randint(0, 60)]", "y[m] = z[m]", "y",
    ],
    "on one way": ["y = self.x[i].copy()", "if random.random() < 0.5: y[random.randint(0, 3) :] = 0", "y"],
    "on both ways": [
        "y = self.x[i].copy()",
        "a = random.randint(0, 4)",
        "if random.random() < 0.5: y[:a] = 0",
        "else: y[a:] = -1",
        "y",
    ],
    "of numbers that are drawn": ["y = torch.rand(9)", "y[y < 0.5] = 0", "y"],
    "by a helper": [
        "def masked(a):\n            a = a.copy()\n            k = random.randint(0, 3)\n            a[k : k + 2] = 0\n"
        "            return a",
        "masked(self.x[i])",
    ],
    "some before the first": ["y = self.x[i].copy()", "k = np.random.randint(-2, 4)", "y[k : k + 2] = 0", "y"],
}  # fmt: skip


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("name", CHANCE)
def test_items_that_are_set_by_chance(name: str, num_workers: int, tmp_path: Path) -> None:
    dataset = dataset_of(Labelled, CHANCE[name], tmp_path)
    check(Program(loader_of(dataset, batch_size=8, shuffle=True, num_workers=num_workers)))


OTHERS = {
    "a view before": ["y = self.x[i].copy()", "z = y[:2]", "y[0] = 5", "y, z"],
    "a view of a view": ["y = self.x[i].copy()", "z = y[:4][1:]", "y[1:3] = 5", "z * 2"],
    "a view later": ["y = self.x[i].copy()", "z = y[:2]", "z[0] = 5", "y"],
    "over itself": ["y = self.x[i].copy()", "y[1:] = y[:-1]", "y"],
    "a tensor over its array": ["y = self.x[i].copy()", "z = torch.from_numpy(y)", "y[0] = 5", "z"],
    "an array under its tensor": ["y = self.x[i].copy()", "z = torch.from_numpy(y)", "z[0] = 5", "y"],
    "the dataset's, as the same type": ["y = torch.from_numpy(self.x[i]).float()", "y[0] = 7", "y"],
    "kept in a list": ["y = self.x[i].copy()", "z = [y, y]", "y[0] = 5", "z"],
    "with a copy before": ["y = self.x[i].copy()", "z = y.copy()", "y[0] = 5", "y, z"],
    "the dataset's, changed for good": ["self.x[i][0] = 9", "self.x[i]"],
    "by two of one name": ["y = z = self.x[i] + 1", "z[1] = 0", "y[2] = 0", "y, z"],
    "to what does not fit": ["y = np.zeros(5, np.uint8)", "y[0] = self.labels[i] + 100", "y"],
    "to a float of ints": ["y = np.zeros(5, np.int64)", "y[1] = self.weights[i] * 9", "y"],
    "a bool's place": ["y = self.x[i].copy()", "y[self.labels[i] > 3] = 0", "y"],
    "of a slice that is set": ["y = self.x[i].copy()", "y[:3][1] = 0", "y"],
    "by places": ["y = self.x[i].copy()", "y[[0, 2]] = 0", "y[np.array([1, 1])] = 4", "y"],
    "by places of a row": ["y = torch.zeros(7)", "y[self.pairs[i]] = 1", "y"],
    "looked at before": ["y = torch.zeros(7)", "z = y + 1", "w = y[:2]", "y[self.labels[i]] = 1", "y, z, w"],
    "in a list": ["y = torch.zeros(7)", "all = [y]", "y[self.labels[i]] = 1", "all[0]"],
    "the dataset's own": ["y = self.x[i]", "y[2] = 5", "y"],
    "a view of the dataset's": ["y = torch.from_numpy(self.x[i])", "y[2] = 5", "y * 1"],
    "a copy": ["y = self.x[i].copy()", "y[self.labels[i] % 5] = 0", "y"],
    "a slice": ["y = torch.zeros(7)", "y[:3] = 1", "y"],
    "a row": ["y = torch.zeros(3, 7)", "y[1] = 1", "y"],
    "two places": ["y = torch.zeros(3, 7)", "y[1, self.labels[i]] = 1", "y"],
    "by bool": ["y = torch.zeros(7)", "y[self.labels[i] > 3] = 1", "y"],
    "a mask": ["y = torch.zeros(7)", "y[torch.arange(7) > self.labels[i]] = 1", "y"],
    "a float's place": ["y = torch.zeros(7)", "y[int(self.weights[i] * 7)] = 1", "y"],
    "another number for each": ["y = torch.zeros(7)", "y[self.labels[i]] = self.weights[i]", "y"],
    "in one way": ["y = torch.zeros(7)", "if self.labels[i] > 3: y[self.labels[i]] = 1", "y"],
    "in a loop": ["y = torch.zeros(7)", "for k in self.pairs[i]: y[k] = 1", "y"],
    "within": ["y = torch.zeros(7)", "def put(): y[self.labels[i]] = 1", "put()", "y"],
    "by a helper": ["def put(a): a[self.labels[i]] = 1", "y = torch.zeros(7)", "put(y)", "y"],
    "and given up": ["y = torch.zeros(7)", "y[self.labels[i] + 1] = 1", "self.x[i]"],
    "of objects": ["y = np.zeros(7, object)", "y[self.labels[i]] = 1", "y.astype(int)"],
    "of no size": ["y = np.zeros(())", "y[()] = self.labels[i]", "y"],
    "with a gradient": ["y = torch.zeros(7, requires_grad=True)", "y.detach()[self.labels[i]] = 1", "y.detach()"],
    "a class's own": ["y = [0] * 7", "y[self.labels[i]] = 1", "y"],
}


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("name", OTHERS)
def test_other_ways_to_set_items(name: str, num_workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In Go or not: the same."""
    monkeypatch.setattr(kept, "_KEPT_BYTES_MAX", 0)
    dataset = dataset_of(Labelled, OTHERS[name], tmp_path)
    native = goloader.DataLoader(dataset, num_workers=1).explain().native
    check(Program(loader_of(dataset, batch_size=8, shuffle=True, num_workers=num_workers)), native=native)


BESIDE = {
    "torch's zeros": ["y = torch.zeros(7)", "y[self.labels[i]] = 1"],
    "numpy's": ["y = np.zeros(7, dtype=np.float32)", "y[self.labels[i]] = 1.0"],
    "smoothed": ["y = torch.full((7,), 0.02)", "y[self.labels[i]] = 0.9"],
}


class Photographed(Labelled):
    """The same beside an image."""

    def __init__(self, root: Path, labels: list[int] | None = None) -> None:
        super().__init__(labels=labels)
        self.paths = [str(root / f"{number % 8}.png") for number in range(61)]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photographed")
    for number in range(8):
        pixels = np.random.default_rng(number).integers(0, 256, (9, 12, 3), np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
    return folder


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("name", BESIDE)
def test_beside_images(name: str, num_workers: int, root: Path) -> None:
    lines = [*BESIDE[name], "F.to_tensor(Image.open(self.paths[i]).convert('RGB')), y"]
    dataset = dataset_of(Photographed, lines, root)
    check(Program(loader_of(dataset, batch_size=8, shuffle=True, num_workers=num_workers)))


# Behind a flip that is drawn.
DRAWN = {
    "in any case": (["y[self.labels[i]] = 1"], True),
    "in one way": (["if turned < 0.5: y[self.labels[i]] = 1"], False),
    "where it is drawn": (["y[random.randrange(7)] = 1"], False),
    "twice": (["y[self.labels[i]] = 1", "y[self.labels[i] - 1] = 1"], False),
}


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("name", DRAWN)
def test_beside_images_that_are_flipped(name: str, num_workers: int, root: Path) -> None:
    lines, native = DRAWN[name]
    before = ["turned = random.random()", "image = Image.open(self.paths[i]).convert('RGB')"]
    before += ["if turned < 0.4: image = image.transpose(0)", "y = np.zeros(7, np.float32)"]
    dataset = dataset_of(Photographed, [*before, *lines, "F.to_tensor(image), y"], root)
    check(Program(loader_of(dataset, batch_size=8, shuffle=True, num_workers=num_workers)), native=native)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_beside_images_with_labels_that_are_none(num_workers: int, root: Path) -> None:
    class Given(Photographed):
        def __init__(self, root: Path) -> None:
            super().__init__(root, ([3, -1, 5, 7] * 16)[:61])

    lines = [*BESIDE["torch's zeros"], "F.to_tensor(Image.open(self.paths[i]).convert('RGB')), y"]
    loader = loader_of(dataset_of(Given, lines, root), batch_size=3, num_workers=num_workers)
    assert errors(check(Program(loader, epochs=1), native=False))


@pytest.mark.filterwarnings("ignore::goloader.GoloaderWarning")
def test_another_default_type(tmp_path: Path) -> None:
    dataset = dataset_of(Labelled, LINES["torch's zeros"], tmp_path)
    loader = goloader.DataLoader(dataset, batch_size=61, num_workers=1)
    assert [y.dtype for _, y in loader] == [torch.float32]
    torch.set_default_dtype(torch.float64)
    try:
        assert [y.dtype for _, y in loader] == [torch.float64]
    finally:
        torch.set_default_dtype(torch.float32)
