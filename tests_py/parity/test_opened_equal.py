"""A class of the user's own that opens an image file and transforms it: read from its bytecode, it is torch's to the
bit. Whatever does more is not taken for one."""

from __future__ import annotations

import functools
import os
import random
import re
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import torchvision.transforms as T
from photos import picture
from PIL import Image
from torch.utils.data import ConcatDataset, Dataset, Subset
from torchvision.datasets.folder import default_loader, pil_loader
from torchvision.transforms import v2
from twins import Program, check, check_code, errors, loader_of

import goloader
from goloader.plan.datasets.own.columns import Columns

WORKERS = pytest.mark.parametrize("num_workers", [0, 2])

COUNT = 11
CROP = T.Compose([T.RandomResizedCrop(20), T.RandomHorizontalFlip(), T.ToTensor()])
FLIP = T.RandomHorizontalFlip()
TENSOR = v2.Compose([v2.Resize((20, 30)), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])
NOTE = "its code is read from its bytecode, and runs in Go with what it draws"


class Base(Dataset[Any]):
    """Paths and labels of each kind that classes keep them in."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.folder = root
        self.names = sorted(os.listdir(root))
        self.paths = [os.path.join(self.root, name) for name in self.names]
        self.files = [root / name for name in self.names]
        self.labels = [(7 * k) % 5 for k in range(COUNT)]
        self.tensor = torch.tensor(self.labels)
        self.array = np.array(self.labels)
        self.short = np.array(self.labels, np.int16)
        self.texts = np.array(self.paths)
        self.objects = np.array(self.paths, object)
        self.samples = list(zip(self.paths, self.labels, strict=True))
        self.rows = [{"file": name, "label": str(label)} for name, label in zip(self.names, self.labels, strict=True)]
        self.flags = [k % 3 == 0 for k in range(COUNT)]
        self.scores = np.arange(COUNT, dtype=np.float32) / 7
        self.table = pd.DataFrame(
            {"file": self.names, "label": self.labels, "score": np.arange(COUNT) / 3, "flag": self.flags}
        )
        self.infinite = float("inf")
        self.off = False
        self.series = self.table["label"]
        self.column = self.table["file"].values  # pandas' own kind of array
        self.classes = {str(label): label for label in self.labels}
        self.of = dict(zip(self.names, self.labels, strict=True))
        self.order = list(range(COUNT))[::-1]
        self.transform: Any = CROP
        self.target_transform = None
        self.loader = default_loader
        self.train = True
        self.split = "train"

    def __len__(self) -> int:
        return COUNT


class Plain(Base):
    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.paths[index]).convert("RGB")
        return self.transform(image), self.labels[index]


class Rows(Base):
    def __getitem__(self, idx: int) -> Any:
        row = self.rows[idx]
        image = Image.open(os.path.join(self.root, row["file"])).convert("RGB")
        return self.transform(image), int(row["label"])


class Tutorial(Base):
    """As in torch's own."""

    def __getitem__(self, idx: int) -> Any:
        if torch.is_tensor(idx):
            idx = idx.tolist()  # type: ignore[attr-defined]
        img_path = os.path.join(self.root, self.table.iloc[idx, 0])
        image = Image.open(img_path).convert("RGB")
        label = self.table.iloc[idx, 1]
        if self.transform:
            image = self.transform(image)
        if self.target_transform:
            label = self.target_transform(label)
        return image, label


class TableRows(Base):
    def __getitem__(self, idx: int) -> Any:
        row = self.table.iloc[idx]
        image = Image.open(f"{self.root}/{row['file']}").convert("RGB")
        return {"image": self.transform(image), "label": torch.tensor(row.label)}


class TableColumns(Base):
    def __getitem__(self, idx: int) -> Any:
        image = Image.open(self.root + "/" + self.table["file"].iloc[idx]).convert("RGB")
        return self.transform(image), self.table["label"].values[idx]


class TableTexts(Base):
    def __getitem__(self, idx: int) -> Any:
        name = self.column[idx]
        return self.transform(Image.open(f"{self.root}/{name}").convert("RGB")), name


class Samples(Base):
    def __getitem__(self, i: int) -> Any:
        path, label = self.samples[i][0], self.samples[i][1]
        return self.transform(Image.open(path).convert("RGB")), label


class Loaded(Base):
    def __getitem__(self, i: int) -> Any:
        image = self.loader(self.files[i])
        return self.transform(image), self.tensor[i]


class LoadedByPillow(Base):
    def __getitem__(self, i: int) -> Any:
        return self.transform(pil_loader(self.texts[i])), torch.tensor(self.labels[i], dtype=torch.long)


class Joined(Base):
    def __getitem__(self, i: int) -> Any:
        return self.transform(Image.open(self.folder / self.names[i]).convert("RGB")), self.array[i]


class Numbered(Base):
    def __getitem__(self, i: int) -> Any:
        path = "{}/{}.jpg".format(self.root, str(self.order[i]).zfill(2))  # noqa: UP032
        return self.transform(Image.open(path).convert("RGB")), self.labels[self.order[i]] - 1


class ByName(Base):
    def __getitem__(self, i: int) -> Any:
        path = self.files[i]
        label = self.of[path.name]
        return self.transform(Image.open(path).convert("RGB")), label


class ByPart(Base):
    def __getitem__(self, i: int) -> Any:
        path = self.objects[i]
        return self.transform(Image.open(path).convert("RGB")), self.of[path.split("/")[-1]]


class Converted(Base):
    def __getitem__(self, i: int) -> Any:
        return self.transform(Image.open(self.paths[i]).convert("RGB")), int(self.short[i])


class ConvertedByNumpy(Base):
    def __getitem__(self, i: int) -> Any:
        path, label = f"{self.paths[i]} {self.labels[i]}".split()
        image = self.transform(Image.open(path).convert("RGB"))
        return image, np.int32(label), np.int64(self.short[i]), np.float32(self.scores[i]), np.float64(self.flags[i])


class Items(Base):
    def __getitem__(self, i: int) -> Any:
        return self.transform(Image.open(self.paths[i]).convert("RGB")), self.tensor[i].item()


class Alone(Base):
    def __getitem__(self, i: int) -> Any:
        return self.transform(Image.open(self.paths[i]).convert("RGB"))


class Two(Base):
    def __getitem__(self, i: int) -> Any:
        image = FLIP(Image.open(self.paths[i]).convert("RGB"))
        image = self.transform(image)
        return image, self.labels[i]


class Branching(Base):
    def __getitem__(self, i: int) -> Any:
        assert self.train, "no labels"
        image = Image.open(self.paths[i]).convert("RGB")
        if self.split == "train" and self.transform is not None:
            image = self.transform(image)
        elif self.split in ("val", "test"):
            image = TENSOR(image)
        return image, self.labels[i] if self.train else -1


class Named(Base):
    def __getitem__(self, i: int) -> Any:
        return {"more": [(self.transform(Image.open(self.paths[i]).convert("RGB")), self.labels[i])]}


class Many(Base):
    def __getitem__(self, i: int) -> Any:
        image = Image.open(self.paths[i]).convert("RGB")
        label, row = self.labels[i], self.rows[i]
        target = torch.tensor(label, dtype=torch.float32), torch.tensor(label / 1 if self.off else float(label))
        extra = [float(row["label"]), self.flags[i], self.scores[i], self.short[i], self.texts[i]]
        return {"name": row["file"], "x": self.transform(image), "y": label, "z": target, "more": extra}


class Table(Base):
    def __getitem__(self, i: int) -> Any:
        row = self.table.iloc[i]
        return row["score"], row["flag"], self.table.iloc[i, 2], self.transform(pil_loader(f"{self.root}/{row.file}"))


class Grey(Base):
    def __getitem__(self, i: int) -> Any:
        return self.transform(Image.open(self.paths[i]).convert("L")), self.labels[i]


def opened(classes: dict[str, int], path: str, name: str, mode: str = "RGB", *, transform: Any = CROP) -> Any:
    return transform(Image.open(path).convert(mode)), classes[name]


class Defaults(Base):
    def __getitem__(self, i: int) -> Any:
        return opened(self.of, self.paths[i], self.names[i])


class Partial(Base):
    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.open = functools.partial(opened, self.of, transform=CROP)

    def __getitem__(self, i: int) -> Any:
        return self.open(self.paths[i], name=self.names[i])


KINDS = (
    Defaults, Partial,
    Plain, Rows, Tutorial, TableRows, TableColumns, TableTexts, Samples, Loaded, LoadedByPillow, Joined, Numbered,
    ByName, ByPart, Converted, ConvertedByNumpy, Items, Alone, Named, Many, Table, Two, Branching, Grey,
)  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Photos, a grey one and one of another kind among them."""
    folder = tmp_path_factory.mktemp("opened")
    for k in range(COUNT):
        picture(30 + k, 50 - k, k).convert("L" if k == 4 else "RGB").save(folder / f"{k:02}.jpg")
    return folder


@WORKERS
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_classes(kind: Any, root: Path, num_workers: int) -> None:
    dataset = kind(root)
    if kind is Numbered:
        dataset.order = [*range(COUNT)]
    check(Program(loader_of(dataset, batch_size=4, shuffle=True, num_workers=num_workers)))
    (row,) = (row for row in goloader.DataLoader(dataset).explain() if row.stage == "source")
    assert (row.where, row.why.partition(";")[0]) == ("Go", NOTE)


def test_any_mode_is_settled_by_the_transform(root: Path) -> None:
    class Unconverted(Base):
        def __getitem__(self, i: int) -> Any:
            return self.transform(Image.open(self.paths[i])), self.labels[i]

    dataset = Unconverted(root)
    dataset.transform = T.Compose([T.Grayscale(3), T.RandomCrop(20), T.ToTensor()])
    check(Program(loader_of(dataset, batch_size=4)))
    dataset.transform = CROP
    check(Program(loader_of(Subset(dataset, [0, 1, 2]), batch_size=3)))
    assert len(errors(check(Program(loader_of(dataset, batch_size=3), epochs=1)))) == 1  # of a grey one


@WORKERS
def test_below_torch_s_containers(root: Path, num_workers: int) -> None:
    dataset = ConcatDataset(
        [Subset(Plain(root), [3, 3, -1, 0]), Rows(root), Subset(Subset(Tutorial(root), [5, 6]), [1])]
    )
    check(Program(loader_of(dataset, batch_size=5, shuffle=True, num_workers=num_workers)))


class ImageFirst(Base):
    def __getitem__(self, i: int) -> Any:
        return {"image": self.transform(Image.open(self.paths[i]).convert("RGB")), "label": self.labels[i]}


class LabelFirst(Base):
    def __getitem__(self, i: int) -> Any:
        return {"label": self.labels[i], "image": self.transform(Image.open(self.paths[i]).convert("RGB"))}


class WithIndex(Base):
    def __getitem__(self, i: int) -> Any:
        return self.transform(Image.open(self.paths[i]).convert("RGB")), self.labels[i], i


class WithLabel(Base):
    def __getitem__(self, i: int) -> Any:
        return self.transform(Image.open(self.paths[i]).convert("RGB")), self.labels[i], self.labels[i]


class WithScore(Base):
    def __getitem__(self, i: int) -> Any:
        score = torch.tensor(self.scores[i], dtype=torch.float32)
        return self.transform(Image.open(self.paths[i]).convert("RGB")), self.labels[i], score


class WithDouble(Base):
    def __getitem__(self, i: int) -> Any:
        score = torch.tensor(self.scores[i], dtype=torch.float64)
        return self.transform(Image.open(self.paths[i]).convert("RGB")), self.labels[i], score


UNLIKE = {
    "int and tensor": (Plain, LoadedByPillow),
    "int and tensor's item": (Plain, Loaded),
    "order of names": (ImageFirst, LabelFirst),
    "index and label": (WithIndex, WithLabel),
    "index and tensor": (WithIndex, WithScore),
    "two dtypes": (WithScore, WithDouble),
}


@WORKERS
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("kind", UNLIKE, ids=lambda kind: kind.replace(" ", "-"))
def test_samples_that_torch_puts_together_in_several_ways(kind: str, order: int, root: Path, num_workers: int) -> None:
    dataset = ConcatDataset([each(root) for each in UNLIKE[kind][::order]])
    mixed = [0, 1, COUNT + 1, COUNT + 2]
    sampler = [*mixed, *mixed[::-1], *mixed[:2], *mixed[2:] * 3]
    check(Program(loader_of(dataset, batch_size=4, sampler=sampler, num_workers=num_workers), epochs=1), native=False)


@WORKERS
def test_ints_of_python_and_of_numpy_are_joined(root: Path, num_workers: int) -> None:
    dataset = ConcatDataset([Plain(root), Joined(root)])
    check(Program(loader_of(dataset, batch_size=4, shuffle=True, num_workers=num_workers)))


@WORKERS
@pytest.mark.parametrize("kind", [Plain, Tutorial, Loaded])
def test_indices(kind: Any, root: Path, num_workers: int) -> None:
    for indices in [-1, 0, 0, -COUNT], [0, COUNT, 1], [2, -COUNT - 1]:
        check(Program(loader_of(kind(root), batch_size=2, sampler=indices, num_workers=num_workers), epochs=1))


class OfTensors(Base):
    def __getitem__(self, i: Any) -> Any:
        if torch.is_tensor(i):
            return self.transform(Image.open(self.paths[i]).convert("RGB")), 77
        return self.transform(Image.open(self.paths[i]).convert("RGB")), self.labels[i]


class Asked(Base):
    def __getitem__(self, i: Any) -> Any:
        return self.transform(Image.open(self.paths[i]).convert("RGB")), i


def int32(index: int) -> torch.Tensor:
    return torch.tensor(index, dtype=torch.int32)


@WORKERS
@pytest.mark.parametrize("index", [torch.tensor, int32, np.int64, int], ids=lambda index: index.__name__)
def test_a_tensor_as_the_index_may_mean_another_sample(index: Any, root: Path, num_workers: int) -> None:
    sampler = [index(i) for i in (3, -1, 0, 0, 7)]
    mine = loader_of(OfTensors(root), batch_size=2, sampler=sampler, num_workers=num_workers)
    check(Program(mine))
    check(Program(loader_of(Tutorial(root), batch_size=2, sampler=sampler, num_workers=num_workers)))


@WORKERS
def test_ints_of_a_class_that_looks_for_tensors_stay_in_go(root: Path, num_workers: int) -> None:
    check(Program(loader_of(OfTensors(root), batch_size=4, shuffle=True, num_workers=num_workers)))


@WORKERS
@pytest.mark.parametrize("index", [np.uint8, np.int8, int32, np.int64, torch.tensor], ids=lambda index: index.__name__)
def test_the_index_is_given_in_its_own_type(index: Any, root: Path, num_workers: int) -> None:
    last = -1 if index is not np.uint8 else 2
    sampler = [index(i) for i in (3, COUNT + 4, 0, COUNT, last)]
    several = ConcatDataset([Asked(root), Subset(Asked(root), np.arange(3, 9, dtype=np.int32)), Asked(root)])
    check(Program(loader_of(several, batch_size=1, sampler=sampler, num_workers=num_workers)))


@WORKERS
def test_a_sample_of_one_pixel_has_the_strides_of_torchs(tmp_path: Path, num_workers: int) -> None:
    for k in range(COUNT):
        picture(1 + k % 2, 1 + k % 3, k).save(tmp_path / f"{k:02}.png")
    dataset = Plain(tmp_path)
    halved = T.ConvertImageDtype(torch.float16)
    for steps in [], [T.Normalize((0.5,) * 3, (0.5,) * 3)], [T.RandomErasing(1.0)], [halved]:
        dataset.transform = T.Compose([T.ToTensor(), *steps])
        check(Program(loader_of(dataset, batch_size=None, num_workers=num_workers), epochs=1))


@WORKERS
def test_a_file_that_is_missing_or_broken_is_an_error_of_the_class(tmp_path: Path, num_workers: int) -> None:
    for k in range(COUNT):
        picture(40, 40, k).save(tmp_path / f"{k:02}.jpg")
    dataset = Rows(tmp_path)
    (tmp_path / "03.jpg").unlink()
    (tmp_path / "05.jpg").write_bytes((tmp_path / "05.jpg").read_bytes()[:300])
    (tmp_path / "07.jpg").write_text("no image")
    made = check(Program(loader_of(dataset, batch_size=2, num_workers=num_workers), epochs=1))
    assert len(errors(made)) == 3


# Changes


def rename(dataset: Any) -> None:
    dataset.paths[3], dataset.paths[4] = dataset.paths[4], dataset.paths[3]
    dataset.rows[3]["file"], dataset.rows[4]["file"] = dataset.rows[4]["file"], dataset.rows[3]["file"]


def relabel(dataset: Any) -> None:
    dataset.labels[2] = 77
    dataset.rows[2]["label"] = "77"


def retable(dataset: Any) -> None:
    dataset.table.iloc[2, 1] = 77


def transform(dataset: Any) -> None:
    dataset.transform = TENSOR


def without(dataset: Any) -> None:
    dataset.labels.pop()


def double(dataset: Any) -> None:
    dataset.target_transform = lambda label: 2 * label


def more_given(dataset: Any) -> None:
    dataset.open.keywords["mode"] = "L"


def other_given(dataset: Any) -> None:
    dataset.open.keywords["transform"] = TENSOR


def other_class(dataset: Any) -> None:
    dataset.of[dataset.names[2]] = 77


def other_partial(dataset: Any) -> None:
    dataset.open = functools.partial(opened, dict.fromkeys(dataset.names, 5))


def other_default(dataset: Any) -> None:
    dataset.open = types.FunctionType(opened.__code__, globals(), argdefs=("L",))
    dataset.open.__kwdefaults__ = {"transform": TENSOR}
    dataset.open = functools.partial(dataset.open, dataset.of)


CHANGES: tuple[tuple[Any, Callable[[Any], None], bool], ...] = (
    (Plain, rename, True),
    (Rows, rename, True),
    (Plain, relabel, True),
    (Rows, relabel, True),
    (Tutorial, retable, True),
    (Tutorial, double, False),
    (Tutorial, transform, True),
    (Plain, transform, True),
    (Plain, without, False),
    (Partial, more_given, True),
    (Partial, other_given, True),
    (Partial, other_class, True),
    (Partial, other_partial, True),
    (Partial, other_default, True),
    (Many, relabel, True),
)


@WORKERS
@pytest.mark.parametrize(("kind", "change", "native"), CHANGES, ids=lambda each: getattr(each, "__name__", ""))
def test_changes_between_epochs_are_seen(kind: Any, change: Any, native: bool, root: Path, num_workers: int) -> None:
    def arguments() -> dict[str, Any]:
        return {"dataset": kind(root), "batch_size": 4, "num_workers": num_workers}

    def before(epoch: int, loader: Any) -> None:
        if epoch == 1:
            change(loader.dataset)

    check(Program(arguments, epochs=3, before=before))
    dataset = kind(root)
    change(dataset)
    assert goloader.DataLoader(dataset).explain().native is native


class Labelled(Base):
    """Its paths and labels are made of several attributes."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.step, self.zeros, self.kinds = 1, np.zeros(COUNT), {"a": 0}

    def __getitem__(self, i: int) -> Any:
        image = Image.open(os.path.join(self.root, self.names[i])).convert("RGB")
        label = self.labels[i] * self.step
        return self.transform(image), label, self.zeros[i], int(self.tensor[i]), self.kinds["a"]


@WORKERS
@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        lambda dataset: setattr(dataset, "step", 3),
        lambda dataset: setattr(dataset, "root", "/nowhere"),
        lambda dataset: setattr(dataset, "labels", [*map(bool, range(COUNT))]),
        lambda dataset: setattr(dataset, "zeros", -np.zeros(COUNT)),
        lambda dataset: dataset.tensor.add_(7),
        lambda dataset: dataset.tensor.set_(dataset.tensor.flip(0)),
        lambda dataset: setattr(dataset, "kinds", {"a": True}),
        lambda dataset: dataset.kinds.update(a=9),
        lambda dataset: dataset.names.reverse(),
    ],
)
def test_each_attribute_that_values_are_made_of_is_looked_at(change: Any, root: Path, num_workers: int) -> None:
    def arguments() -> dict[str, Any]:
        return {"dataset": Labelled(root), "batch_size": 4, "num_workers": num_workers}

    check(Program(arguments, epochs=3, before=lambda epoch, loader: change(loader.dataset) if epoch == 1 else None))


def test_changes_amid_an_epoch_are_seen_without_workers(root: Path) -> None:
    def run(kind: Any) -> list[Any]:
        dataset, seen = Rows(root), []
        for number, (_, labels) in enumerate(kind(dataset, batch_size=3)):
            seen.append(labels.tolist())
            if number == 1:
                dataset.rows[9]["label"] = "99"
        return seen

    assert run(goloader.DataLoader) == run(torch.utils.data.DataLoader)
    assert run(goloader.DataLoader)[-1][0] == 99


@pytest.mark.parametrize("fill", [{Image.Image: 200, "others": 10}, {"others": 10}, {Image.Image: 200}])
def test_a_fill_may_be_that_of_an_image_of_no_file(fill: Any, root: Path) -> None:
    class Unconverted(Base):
        def __getitem__(self, i: int) -> Any:
            return self.transform(Image.open(self.paths[i])), self.labels[i]

    for dataset in Unconverted(root), Plain(root):
        dataset.transform = v2.Compose([v2.Pad(3, fill=fill), v2.RGB(), v2.RandomCrop(20), v2.ToTensor()])
        for transform in v2.RandomRotation(20, fill=fill), v2.Pad(2, fill=fill):
            dataset.transform.transforms[0] = transform
            check(Program(loader_of(Subset(dataset, [0, 1, 2]), batch_size=3)), native=Image.Image not in fill)


def test_names_that_stand_for_something_else(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = Rows(root)
    loader = goloader.DataLoader(dataset, batch_size=4)
    assert loader.explain().native
    before = Image.open
    monkeypatch.setattr(Image, "open", lambda path: before(path).rotate(90))
    check(Program(loader_of(dataset, batch_size=4)), native=False)
    assert not loader.explain().native
    monkeypatch.setattr(Image, "open", before)
    monkeypatch.setitem(globals(), "int", lambda text: 5)
    check(Program(loader_of(dataset, batch_size=4)))
    monkeypatch.setitem(globals(), "int", functools.partial(float))
    check(Program(loader_of(dataset, batch_size=4)), native=False)
    monkeypatch.delitem(globals(), "int")
    assert loader.explain().native
    monkeypatch.setattr(os.path, "join", lambda *parts: "/".join(parts))
    check(Program(loader_of(dataset, batch_size=4)), native=False)


# What is more


class Touched(Base):
    def __getitem__(self, i: int) -> Any:
        image = Image.open(self.paths[i]).convert("RGB")
        return self.transform(image), np.asarray(image).mean()


class Thrice(Base):
    def __getitem__(self, i: int) -> Any:
        image = Image.open(self.paths[i]).convert("RGB")
        return self.transform(image), self.transform(image), self.transform(image)


class Same(Base):
    def __getitem__(self, i: int) -> Any:
        image = self.transform(Image.open(self.paths[i]).convert("RGB"))
        return image, image


class InTurn(Base):
    def __getitem__(self, i: int) -> Any:
        image = Image.open(self.paths[i]).convert("RGB")
        one, other = FLIP(image), FLIP(image)
        return self.transform(one), self.transform(other)


class Nothings(Base):
    def __getitem__(self, i: int) -> Any:
        return self.transform(Image.open(self.paths[i]).convert("RGB")), self.target_transform


class Lists(Base):
    def __getitem__(self, i: int) -> Any:
        return self.transform(Image.open(self.paths[i]).convert("RGB")), self.boxes[i]

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.boxes = [[k, 2.0] for k in range(COUNT)]


class Text(str):
    __slots__ = ()

    def __fspath__(self) -> str:
        raise AssertionError


class Counting(list[str]):
    def __getitem__(self, i: Any) -> Any:
        return super().__getitem__(0)


class OddTexts(Plain):
    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.paths = [Text(path) for path in self.paths]


class OddList(Plain):
    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.paths = Counting(self.paths)


class OddLabels(Rows):
    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.rows[5]["label"] = Seven()  # type: ignore[assignment]


class Seven:
    def __int__(self) -> int:
        return 7


class ByIndex(Base):
    def __getitem__(self, i: int) -> Any:
        image = Image.open(self.paths[i]).convert("RGB")
        return (self.transform(image) if i % 2 else CROP(image)), self.labels[i]


class Stateful(Base):
    def __getitem__(self, i: int) -> Any:
        self.seen = i
        return self.transform(Image.open(self.paths[i]).convert("RGB")), self.labels[i]


@WORKERS
@pytest.mark.parametrize(
    "kind",
    [Touched, Nothings, Lists, OddTexts, OddList, OddLabels, Stateful],
    ids=lambda kind: kind.__name__,
)
def test_what_does_more_is_not_taken_for_one(kind: Any, root: Path, num_workers: int) -> None:
    check(Program(loader_of(kind(root), batch_size=4, num_workers=num_workers), epochs=1), native=False)


@WORKERS
@pytest.mark.parametrize("kind", [Thrice, Same, InTurn, ByIndex], ids=lambda kind: kind.__name__)
def test_what_does_more_may_be_a_script(kind: Any, root: Path, num_workers: int) -> None:
    check(Program(loader_of(kind(root), batch_size=4, num_workers=num_workers), epochs=1))


def test_a_class_that_is_refused_is_not_looked_through(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at, work_out = [], Columns.work_out
    monkeypatch.setattr(
        Columns, "work_out", lambda self, at, *known: (looked_at.append(len(at)), work_out(self, at, *known))[1]
    )
    dataset = Plain(root)
    dataset.transform = T.Compose([T.Lambda(lambda image: image.effect_spread(3)), T.ToTensor()])
    for refused in dataset, Lists(root):
        assert not goloader.DataLoader(refused).explain().native
    assert max(looked_at) == 1
    assert goloader.DataLoader(Plain(root)).explain().native and max(looked_at) == COUNT


def test_rows_that_fail_are_errors_of_the_class(root: Path) -> None:
    dataset = Rows(root)
    dataset.rows[6]["label"] = "six"
    made = check(Program(loader_of(dataset, batch_size=2), epochs=1), native=False)
    assert len(errors(made)) == 1


class Overflowing(Base):
    def __getitem__(self, index: int) -> Any:
        return self.transform(Image.open(self.paths[index]).convert("RGB")), self.bytes[index] - 1


@WORKERS
def test_what_numpy_warns_of_is_left_to_the_class(num_workers: int, root: Path) -> None:
    dataset = Overflowing(root)
    dataset.bytes = np.arange(1, COUNT + 1, dtype=np.uint8)
    check(Program(loader_of(dataset, batch_size=4, num_workers=num_workers)))
    dataset.bytes[7] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loader = goloader.DataLoader(dataset, batch_size=4, num_workers=num_workers)
        assert not loader.explain().native
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(Program(loader_of(dataset, batch_size=4, num_workers=num_workers)), native=False)


def test_explain_says_why_not(root: Path) -> None:
    for kind, why in {
        Touched: "calls np.asarray(Image.open(self.paths[index]).convert('RGB')).mean",
        Lists: "gives a list",
        OddList: "takes items of self.paths, a Counting",
    }.items():
        (row,) = (row for row in goloader.DataLoader(kind(root)).explain() if row.stage == "source")
        assert row.where == "Python" and why in row.why, row


# Any function at all, of these words


def words(text: str) -> list[str]:
    return [word.strip() for word in text.replace("\n", "; ").split("; ") if word.strip()]


NAMES = words("""
    self.names[i]; row['file']; self.names[self.order[i]]; self.names[i - 1]; self.names[self.labels[i]]; '03.jpg'
    self.table.iloc[i, 0]; self.table.iloc[i]['file']; self.table.iloc[i].file; self.table['file'].iloc[i]
    self.table['file'].values[i]; self.files[i].name; self.texts[i].split('/')[-1]; self.samples[i][0][-6:]
    str(self.order[i]).zfill(2) + '.jpg'; os.path.basename(self.paths[i]); '{}.jpg'.format(self.names[i][:2])
""")
PATHS = words("""
    self.paths[i]; self.files[i]; self.texts[i]; self.objects[i]; self.samples[i][0]
    os.path.join(self.root, NAME); self.root + '/' + NAME; f"{self.root}/{NAME}"; self.folder / NAME
    '%s/' % self.root + NAME; Path(self.root) / NAME
""")
VALUES = words("""
    self.labels[i]; self.tensor[i]; self.tensor[i].item(); self.array[i]; self.short[i]; self.flags[i]; self.scores[i]
    self.samples[i][1]; int(row['label']); float(row['label']); row['label']; self.table.iloc[i, 1]; self.split
    self.table.iloc[i]['label']; self.table.iloc[i].score; self.table['flag'].iloc[i]; self.series.iloc[i]
    self.series.values[i]; self.labels[i].item(); self.table.iloc[i]; self.series[i]; self.of[self.names[i]]
    self.classes[row['label']]; self.labels[i] - 1; self.labels[i] + self.array[i]; int(self.scores[i])
    7; True; 2.5; 'a'; name; i; None; self.target_transform; self.rows[i]['nothing']; self.labels[i] * 2
    self.root; str(self.array[i]); self.table.iloc[i, 2]; 2 ** 63; -1; self.infinite
""")
MADE = words("""
    torch.tensor(VALUE); torch.tensor(VALUE, dtype=torch.float32); torch.tensor(VALUE, dtype=torch.int64)
    torch.tensor(VALUE, dtype=torch.uint8); torch.as_tensor(VALUE); int(VALUE); [VALUE, 1]
    np.int64(VALUE); np.int32(VALUE); np.float32(VALUE); np.float64(VALUE); np.float16(VALUE)
""")
IMAGES = words("""
    Image.open(PATH).convert('RGB'); Image.open(PATH).convert('RGB'); Image.open(PATH).convert('L'); Image.open(PATH)
    pil_loader(PATH); self.loader(PATH)
""")
TRANSFORMED = words("self.transform(IMAGE); self.transform(IMAGE); TENSOR(IMAGE); self.transform(FLIP(IMAGE))")
BRANCHES = [
    "if self.off: raise ValueError",
    "if self.split == 'test': i = 0",
    "if torch.is_tensor(i): i = i.item()",
    "if self.target_transform is not None: return 1",
    "assert self.train",
    "if i % 2: i = 0",
    "i = i + 0",
]


@pytest.mark.parametrize("seed", range(12))
def test_any_function_gives_what_torch_gives(seed: int, root: Path) -> None:
    """Random functions of few words: lowered or not, batches and errors are torch's; and some of each are met."""
    chance = random.Random(seed)

    def value() -> str:
        made = chance.choice(VALUES)
        return chance.choice(MADE).replace("VALUE", made) if chance.random() < 0.3 else made

    def image() -> str:
        path = chance.choice(PATHS).replace("NAME", chance.choice(NAMES))
        if path.startswith('f"'):
            path = f'f"{{self.root}}/{{{chance.choice(["self.names[i]", "name"])}}}"'
        return chance.choice(TRANSFORMED).replace("IMAGE", chance.choice(IMAGES).replace("PATH", path))

    def made(getitem: Any) -> Any:
        dataset = type("Any", (Base,), {"__getitem__": getitem})(root)
        dataset.order = dataset.order[::-1]
        return dataset

    native = 0
    for _ in range(10):
        parts = [
            *(image() for _ in range(chance.choice([1, 1, 2]))),
            *(value() for _ in range(chance.choice([0, 1, 1, 1, 2, 3]))),
        ]
        chance.shuffle(parts)
        items = ", ".join(parts)
        named = ", ".join(f"{key!r}: {part}" for key, part in zip("abcdef", parts, strict=False))
        result = chance.choice([f"({items},)", f"({items},)", f"[{items}]", f"{{{named}}}"])
        # What is evaluated and not used is more than can be read.
        lines = [f"{name} = self.{name}s[i]" for name in ("row", "name") if re.search(rf"\b{name}\b", result)]
        lines += chance.choice([[], [], [chance.choice(BRANCHES)]])
        source = "\n    ".join(["def __getitem__(self, i):", *lines, f"return {result}"])
        native += check_code(source, globals(), made, chance.choices(range(-COUNT, COUNT), k=8))
    counted.append(native)


counted: list[int] = []


def test_some_of_any_functions_were_lowered() -> None:
    assert not counted or 0 < sum(counted) < 10 * len(counted)
