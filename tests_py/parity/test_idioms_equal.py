"""The ways in which people write classes that open images: those that are read from their bytecode are torch's to the
bit; that each of them is read is part of the law."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import torch.nn.functional as F
import torchvision.transforms as T
from photos import native, picture
from PIL import Image
from torch.utils.data import ConcatDataset, Dataset, Subset
from torchvision.datasets import ImageFolder
from torchvision.datasets.folder import default_loader
from twins import Program, check, errors, loader_of

import goloader

WORKERS = pytest.mark.parametrize("num_workers", [0, 2])

COUNT = 11
CLASSES = ("cat", "dog")
TRAIN = T.Compose([T.RandomResizedCrop(20), T.RandomHorizontalFlip(), T.ToTensor()])
OTHER = T.Compose([T.Resize((24, 22)), T.RandomCrop(18), T.ToTensor(), T.Normalize((0.5,), (0.25,))])
GREY = T.Compose([T.Resize((20, 20), T.InterpolationMode.NEAREST), T.PILToTensor()])


class Config:
    mode = "RGB"
    column = "label"


def load_rgb(path: Any) -> Any:
    with open(path, "rb") as file:
        image = Image.open(file)
        return image.convert("RGB")


def load(path: Any, mode: str = "RGB", *, root: str | None = None) -> Any:
    if root is not None:
        path = os.path.join(root, path)
    return Image.open(path).convert(mode)


class Base(Dataset[Any]):
    """What constructors leave."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.folders = ImageFolder(root)
        self.paths = [path for path, _ in self.folders.samples]
        self.names = [os.path.relpath(path, root) for path in self.paths]
        self.labels = [label for _, label in self.folders.samples]
        self.samples = self.folders.samples
        self.rows = [(name, CLASSES[label], 0.5 * label) for name, label in zip(self.names, self.labels, strict=True)]
        self.dicts = [{"path": name, "label": word, "box": [1, 2]} for name, word, _ in self.rows]
        self.df = pd.DataFrame(self.rows, columns=["name", "label", "score"])
        self.class_to_idx = {"cat": 0, "dog": 1}
        self.transform: Any = TRAIN
        self.target_transform = None
        self.loader = default_loader
        self.args = SimpleNamespace(root=self.root, col="name")
        self.cfg = Config()
        self.cfg.column = "score"
        self.train = True
        self.partners = [3, 1, 0, 2, 9, 8, 4, 10, 5, 6, 7]

    def __len__(self) -> int:
        return COUNT


class Unpacked(Base):
    def __getitem__(self, index: int) -> Any:
        path, target = self.samples[index]
        image = self.loader(path)
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return image, target


class UnpackedRows(Base):
    def __getitem__(self, index: int) -> Any:
        name, word, score = self.rows[index]
        image = Image.open(os.path.join(self.root, name)).convert("RGB")
        return self.transform(image), self.class_to_idx[word], score, name


class LoadsByMethod(Base):
    def _path(self, index: int) -> str:
        return os.path.join(self.root, self.names[index])

    def _load(self, index: int) -> Any:
        return Image.open(self._path(index)).convert("RGB")

    def __getitem__(self, index: int) -> Any:
        return self.transform(self._load(index)), self.labels[index]


class LoadsStatically(Base):
    @staticmethod
    def load(path: str) -> Any:
        return Image.open(path).convert("RGB")

    def __getitem__(self, index: int) -> Any:
        return self.transform(self.load(self.paths[index])), LoadsStatically.label(self, index)

    def label(self, index: int) -> int:
        return self.labels[index]


class LoadsByFunction(Base):
    def __getitem__(self, index: int) -> Any:
        return self.transform(load(self.names[index], root=self.root)), load.__name__ and self.labels[index]


class LoadsByOwnLoader(Base):
    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.loader = load_rgb

    def __getitem__(self, index: int) -> Any:
        path, label = self.samples[index]
        return self.transform(self.loader(path)), label


class LoadsByLambda(Base):
    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.loader = lambda path: Image.open(path).convert("RGB")

    def __getitem__(self, index: int) -> Any:
        return self.transform(self.loader(self.paths[index])), self.labels[index]


class OpensFile(Base):
    def __getitem__(self, index: int) -> Any:
        with open(self.paths[index], "rb") as file:
            image = Image.open(file).convert("RGB")
        label = self.labels[index]
        if self.transform:
            image = self.transform(image)
        return image, label


class OpensImage(Base):
    def __getitem__(self, index: int) -> Any:
        with Image.open(self.paths[index]) as image:
            image = image.convert("RGB")
        return self.transform(image), self.labels[index]


class TransformsWithin(Base):
    def __getitem__(self, index: int) -> Any:
        with Image.open(self.paths[index]) as file:
            return self.transform(file.convert("RGB")), self.labels[index]


class ByLabels(Base):
    def __getitem__(self, idx: int) -> Any:
        path = self.df.loc[idx, "name"]
        image = Image.open(os.path.join(self.root, path)).convert("RGB")
        return self.transform(image), self.df.at[idx, "score"], self.df["score"][idx], self.df.score[idx]


class ByRowLabel(Base):
    def __getitem__(self, idx: int) -> Any:
        row = self.df.loc[idx]
        image = Image.open(f"{self.root}/{row['name']}").convert("RGB")
        label = torch.tensor(self.class_to_idx[row["label"]], dtype=torch.long)
        return {"image": self.transform(image), "label": label, "name": row["name"]}


class ByNameOfColumn(Base):
    def __getitem__(self, idx: int) -> Any:
        path = self.df.iloc[idx][self.args.col]
        image = Image.open(Path(self.args.root) / path).convert(Config.mode)
        return self.transform(image), self.df.iloc[idx][self.cfg.column], self.df.label.values[idx]


class Tensors(Base):
    def __getitem__(self, idx: int) -> Any:
        image = Image.open(self.paths[idx]).convert(mode="RGB")
        label, row = self.labels[idx], self.df.iloc[idx]
        made = torch.tensor([row["score"], row["score"]], dtype=torch.float32), torch.FloatTensor([label, 1])
        more = torch.tensor(label).float(), torch.tensor([label]), torch.LongTensor([label]), np.array(label)
        arrays = torch.from_numpy(np.array([int(label != 1)], dtype=np.float32)), np.array(label, dtype=np.int64)
        return self.transform(image), made, more, arrays, F.one_hot(torch.tensor(label), num_classes=2)


class Sliced(Base):
    def __getitem__(self, idx: int) -> Any:
        name = self.names[idx]
        stem, end = os.path.splitext(name)
        image = Image.open(os.path.join(self.root, stem + end)).convert("RGB")
        return self.transform(image), name[:-4], name.split("/")[0], int(name.startswith("cat")), end == ".jpg"


class Unused(Base):
    def __getitem__(self, idx: int) -> Any:
        word = self.dicts[idx]["label"]  # noqa: F841
        path, _ = self.samples[idx]
        return self.transform(Image.open(path).convert("RGB"))


class Computed(Base):
    @property
    def folder(self) -> str:
        return self.root + "/"

    def __getitem__(self, idx: int) -> Any:
        return self.transform(Image.open(self.folder + self.names[idx]).convert("RGB")), self.labels[idx]


class WithPath(ImageFolder):
    def __getitem__(self, index: int) -> Any:
        return super().__getitem__(index) + (self.imgs[index][0],)  # noqa: RUF005


class WithName(ImageFolder):
    def __getitem__(self, index: int) -> Any:
        image, label = super(WithName, self).__getitem__(index)  # noqa: UP008
        return {"image": image, "label": label, "name": self.samples[index][0].split("/")[-1]}


class Wraps(Base):
    """Gives a split a transform of its own."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.subset = Subset(self.folders, [3, 3, 1, 9, 0, 2, 7, 5, 4, 8, 10])

    def __getitem__(self, index: int) -> Any:
        image, label = self.subset[index]
        if self.transform:
            image = self.transform(image)
        return image, label


class WithIndex(Base):
    def __getitem__(self, index: int) -> Any:
        path, label = self.samples[index]
        return self.transform(self.loader(path)), label, index


class OnlyIndex(Base):
    def __getitem__(self, index: int) -> Any:
        return {"index": index, "image": self.transform(Image.open(self.paths[index]).convert("RGB"))}


class ViewsWithIndex(Base):
    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.paths[index]).convert("RGB")
        return index, (self.transform(image), self.transform(image))


class Held:
    """A transform of one's own that calls another."""

    def __init__(self, transform: Any) -> None:
        self.inner = transform

    def __call__(self, image: Any) -> Any:
        return self.inner(image)


class CallsObject(Base):
    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.transform = Held(TRAIN)

    def __getitem__(self, index: int) -> Any:
        return self.transform(Image.open(self.paths[index]).convert("RGB")), self.labels[index]


class Transforms(Base):
    """Its transform is a method."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        del self.transform

    def transform(self, image: Any) -> Any:  # type: ignore[no-redef]
        return TRAIN(image) if self.train else T.functional.to_tensor(image)

    def __getitem__(self, index: int) -> Any:
        return self.transform(Image.open(self.paths[index]).convert("RGB")), self.labels[index]


class Views(Base):
    """Two views of one image."""

    def __getitem__(self, index: int) -> Any:
        path, label = self.samples[index]
        image = Image.open(path).convert("RGB")
        return (self.transform(image), self.transform(image)), label


class ViewsSwapped(Base):
    def __getitem__(self, index: int) -> Any:
        image = self.loader(self.paths[index])
        first = self.transform(image)
        second = OTHER(image)
        return {"b": second, "name": self.names[index], "a": first, "label": torch.tensor(self.labels[index])}


class TwoCrops:
    def __init__(self, transform: Any) -> None:
        self.transform = transform

    def __call__(self, image: Any) -> Any:
        query = self.transform(image)
        key = self.transform(image)
        return [query, key]


class ByTwoCrops(Base):
    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.transform = TwoCrops(TRAIN)

    def __getitem__(self, index: int) -> Any:
        path, target = self.samples[index]
        return self.transform(self.loader(path)), target


class Siamese(Base):
    """Both are opened before the first is transformed."""

    def __getitem__(self, index: int) -> Any:
        one = Image.open(self.paths[index]).convert("RGB")
        other = Image.open(self.paths[self.partners[index]]).convert("L")
        if self.transform:
            one = self.transform(one)
            other = self.transform(other)
        return one, other, torch.tensor([int(self.labels[index] != self.labels[self.partners[index]])])


class SiameseInTurn(Base):
    def __getitem__(self, index: int) -> Any:
        one = self.transform(load_rgb(self.paths[self.partners[index]]))
        other = OTHER(load_rgb(self.paths[index]))
        return other, one


class Masks(Base):
    """An image and a mask with transforms of their own."""

    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.paths[index]).convert("RGB")
        mask = Image.open(self.paths[self.partners[index]]).convert("L")
        return TRAIN(image), GREY(mask)


GIVE_INDEX = (WithIndex, OnlyIndex, ViewsWithIndex)
TWO = (Views, ViewsSwapped, ByTwoCrops, Siamese, SiameseInTurn, Masks)


def _with_path(root: Path) -> Any:
    return WithPath(root, TRAIN)


def _with_name(root: Path) -> Any:
    return WithName(root, TRAIN)


def _with_loader(root: Path) -> Any:
    return ImageFolder(root, TRAIN, loader=load_rgb)


class Chooses(Base):
    def __getitem__(self, index: int) -> Any:
        image = Image.open(self.paths[index]).convert("RGB")
        return self.transform(image), self._label(index)

    def _label(self, index: int) -> int:
        if self.rows[index][1] == "cat":
            return 1
        return 0


IDIOMS = (
    Unpacked, UnpackedRows, LoadsByMethod, LoadsStatically, LoadsByOwnLoader, LoadsByLambda, OpensFile, OpensImage,
    TransformsWithin, ByLabels, ByRowLabel, ByNameOfColumn, Tensors, Sliced, Unused, Computed, Wraps, WithIndex,
    OnlyIndex, ViewsWithIndex, CallsObject, Transforms, Chooses, *TWO, _with_path, _with_name, _with_loader,
)  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("idioms")
    for k in range(COUNT):
        path = folder / CLASSES[k % 2] / f"{k:02}.jpg"
        path.parent.mkdir(exist_ok=True)
        picture(30 + k, 50 - k, k).save(path)
    return folder


@WORKERS
@pytest.mark.parametrize("kind", IDIOMS, ids=lambda kind: kind.__name__)
def test_idioms(kind: Any, root: Path, num_workers: int) -> None:
    check(Program(loader_of(kind(root), batch_size=4, shuffle=True, num_workers=num_workers)))


class RowsOfATable(Base):
    def __getitem__(self, idx: int) -> Any:
        path = self.df.iloc[[idx, 0]]
        return self.transform(Image.open(os.path.join(self.root, path)).convert("RGB"))


class PartOfATable(Base):
    def __getitem__(self, idx: int) -> Any:
        return self.transform(Image.open(self.paths[idx]).convert("RGB")), self.df.iloc[idx:1]


class TwoRowsOfATable(Base):
    def __getitem__(self, idx: int) -> Any:
        return self.transform(Image.open(self.paths[idx]).convert("RGB")), self.df.iloc[[idx, 1]]


@pytest.mark.parametrize("kind", [RowsOfATable, PartOfATable, TwoRowsOfATable])
def test_several_rows_of_a_table_are_no_item(kind: Any, root: Path) -> None:
    assert errors(check(Program(loader_of(kind(root), batch_size=4), epochs=1), native=False))


@WORKERS
@pytest.mark.parametrize("kind", [ByLabels, ByRowLabel, Unpacked, Wraps, LoadsByMethod, *GIVE_INDEX])
def test_indices_below_zero_and_out_of_range(kind: Any, root: Path, num_workers: int) -> None:
    for indices in [1, -1, 0], [0, COUNT, 1], [2, -COUNT - 1, 3]:
        check(Program(loader_of(kind(root), batch_size=2, sampler=indices, num_workers=num_workers), epochs=1))
        inside = Subset(kind(root), indices)
        native = kind not in GIVE_INDEX or min(indices) >= 0
        check(Program(loader_of(inside, batch_size=2, num_workers=num_workers), epochs=1), native=native)


@WORKERS
@pytest.mark.parametrize("kind", GIVE_INDEX)
def test_indices_that_are_given(kind: Any, root: Path, num_workers: int) -> None:
    inner = Subset(Subset(kind(root), [3, 3, 5, 0]), [-1, 2])
    dataset = ConcatDataset([inner, kind(root), Subset(kind(root), [10])])
    check(Program(loader_of(dataset, batch_size=4, shuffle=True, num_workers=num_workers)))
    for indices in [-1, 3, 2, -14], [np.int64(3), np.int64(-1)]:
        check(Program(loader_of(dataset, batch_size=2, sampler=indices, num_workers=num_workers), epochs=1))
    sampler = [torch.tensor(3), torch.tensor(1), np.int64(3), np.int64(-1), True, False]
    check(Program(loader_of(kind(root), batch_size=2, sampler=sampler, num_workers=num_workers), epochs=1))


@WORKERS
@pytest.mark.parametrize("kind", [OpensFile, OpensImage, TransformsWithin, LoadsByOwnLoader, _with_path])
def test_files_that_are_missing_or_broken(kind: Any, tmp_path: Path, num_workers: int) -> None:
    for k in range(COUNT):
        path = tmp_path / CLASSES[k % 2] / f"{k:02}.jpg"
        path.parent.mkdir(exist_ok=True)
        picture(40, 40, k).save(path)
    dataset = kind(tmp_path)
    (tmp_path / "dog/03.jpg").unlink()
    (tmp_path / "dog/05.jpg").write_bytes((tmp_path / "dog/05.jpg").read_bytes()[:300])
    (tmp_path / "cat/08.jpg").write_text("no image")
    made = check(Program(loader_of(dataset, batch_size=2, num_workers=num_workers), epochs=1))
    assert len(errors(made)) == 3


@WORKERS
@pytest.mark.parametrize("kind", TWO, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("broken", [["dog/03.jpg"], ["cat/08.jpg", "dog/07.jpg"], ["cat/00.jpg", "dog/01.jpg"]])
@pytest.mark.parametrize("how", ["missing", "cut", "text"])
def test_two_images_of_which_one_is_broken(
    kind: Any, broken: list[str], how: str, tmp_path: Path, num_workers: int
) -> None:
    for k in range(COUNT):
        path = tmp_path / CLASSES[k % 2] / f"{k:02}.jpg"
        path.parent.mkdir(exist_ok=True)
        picture(40, 40, k).save(path)
    dataset = kind(tmp_path)
    for name in broken:
        content = (tmp_path / name).read_bytes()
        (tmp_path / name).unlink()
        if how != "missing":
            (tmp_path / name).write_bytes(content[:300] if how == "cut" else b"no image")
    made = check(Program(loader_of(dataset, batch_size=3, num_workers=num_workers, shuffle=True), epochs=1))
    assert errors(made)


@WORKERS
def test_two_images_below_torch_s_containers(root: Path, num_workers: int) -> None:
    other = Siamese(root)
    other.transform = T.Compose([T.Resize((20, 20)), T.ToTensor()])
    dataset = ConcatDataset([Subset(Siamese(root), [3, 3, -1, 0]), Subset(other, [1, 10])])
    check(Program(loader_of(dataset, batch_size=4, shuffle=True, num_workers=num_workers)))
    check(Program(loader_of(Views(root), batch_size=2, sampler=[-1, 3, COUNT], num_workers=num_workers), epochs=1))


def test_files_of_any_kind_as_two_images(tmp_path: Path) -> None:
    for name, content in native().items():
        (tmp_path / "cat").mkdir(exist_ok=True)
        (tmp_path / "cat" / name).write_bytes(content)
    for kind in Views, Siamese, SiameseInTurn:
        dataset = kind(tmp_path)
        dataset.partners = [*range(len(dataset.paths))][::-1]
        check(Program(loader_of(dataset, batch_size=4, shuffle=True)))


# What is read differs as soon as what was read through does.


def _another_method(dataset: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LoadsByMethod, "_load", lambda self, index: Image.open(self.paths[0]).convert("RGB"))


def _method_of_its_own(dataset: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset._load = lambda index: Image.open(dataset.paths[1]).convert("RGB")


def _another_code(dataset: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def other(self: Any, index: int) -> str:
        return self.paths[index - 1]  # type: ignore[no-any-return]

    monkeypatch.setattr(LoadsByMethod._path, "__code__", other.__code__)


def _another_default(dataset: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset.loader = load
    monkeypatch.setattr(load, "__defaults__", ("L",))


def _another_inner(dataset: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset.transform.inner = T.Compose([T.CenterCrop(9), T.ToTensor()])


def _another_partner(dataset: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset.partners[3] = 7


def _another_second(dataset: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "OTHER", T.Compose([T.RandomCrop(18), T.ToTensor()]))


def _another_transform_inside(dataset: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset.folders.transform = T.CenterCrop(12)


CHANGES = (
    (LoadsByMethod, _another_method), (LoadsByMethod, _method_of_its_own), (LoadsByMethod, _another_code),
    (Unpacked, _another_default), (CallsObject, _another_inner), (Wraps, _another_transform_inside),
    (Siamese, _another_partner), (SiameseInTurn, _another_second), (Views, _another_second),
)  # fmt: skip


@WORKERS
@pytest.mark.parametrize(("kind", "change"), CHANGES, ids=lambda each: getattr(each, "__name__", ""))
def test_changes_of_what_was_read_through(kind: Any, change: Any, root: Path, num_workers: int) -> None:
    def arguments() -> dict[str, Any]:
        return {"dataset": kind(root), "batch_size": 4, "num_workers": num_workers}

    with pytest.MonkeyPatch.context() as monkeypatch:

        def before(epoch: int, loader: Any) -> None:
            if epoch == 0:
                monkeypatch.undo()
            if epoch == 1:
                change(loader.dataset, monkeypatch)

        check(Program(arguments, epochs=3, before=before))


# What is not read, and which line says so.


class Late(Base):
    def __getitem__(self, index: int) -> Any:
        with open(self.paths[index], "rb") as file:
            image = Image.open(file)
        return self.transform(image.convert("RGB")), self.labels[index]


class LabelledLate(Base):
    def __getitem__(self, index: int) -> Any:
        image = self.transform(Image.open(self.paths[0]).convert("RGB"))
        return image, self.labels[index]


class Relabelled(Base):
    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.df = self.df.iloc[::-1]

    def __getitem__(self, index: int) -> Any:
        return self.transform(Image.open(f"{self.root}/{self.df.loc[index, 'name']}").convert("RGB"))


REFUSED: dict[Any, str] = {
    Late: "uses Image.open(open(self.paths[index], 'rb')) behind the end of its with (test_idioms_equal.py:",
    LabelledLate: "takes items of no attribute (test_idioms_equal.py:",
    Relabelled: "takes items of a table by labels that are not the numbers of its rows",
}


@pytest.mark.parametrize("kind", REFUSED, ids=lambda kind: kind.__name__)
def test_what_is_not_read_says_where(kind: Any, root: Path) -> None:
    check(Program(loader_of(kind(root), batch_size=4, num_workers=2), epochs=1), native=False)
    (row,) = (row for row in goloader.DataLoader(kind(root)).explain() if row.stage == "source")
    assert row.where == "Python" and REFUSED[kind] in row.why, row
