"""plan/datasets: which file each index means, and what is refused because indexing does more than that."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision
import torchvision.transforms as T
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import ConcatDataset, Dataset, Subset, TensorDataset, random_split
from torchvision.datasets import DatasetFolder, ImageFolder
from torchvision.datasets.folder import default_loader, pil_loader

from goloader.plan import Refusal
from goloader.plan.datasets import Samples, Scripts, lower
from goloader.plan.datasets.tree import Column, _joined


def folder(root: Path, **arguments: Any) -> ImageFolder:
    return ImageFolder(str(root), **{"transform": T.ToTensor(), **arguments})


def lowered(dataset: Any) -> Samples:
    samples = lower(dataset)
    assert isinstance(samples, Samples), samples
    return samples


def refused(dataset: Any) -> str:
    result = lower(dataset)
    assert isinstance(result, Refusal)
    return str(result)


def path_and_label(dataset: Any, index: Any) -> tuple[str, int]:
    """What dataset[index] would load, found by the dataset's own code: its leaves only name the sample."""
    seen: list[Any] = []

    def leaf(leaf: Any, at: Any) -> Any:
        seen.append(leaf.samples[at])
        return seen[-1]

    original = DatasetFolder.__getitem__
    DatasetFolder.__getitem__ = leaf  # type: ignore[method-assign]
    try:
        found: tuple[str, int] = dataset[index]
    finally:
        DatasetFolder.__getitem__ = original  # type: ignore[method-assign]
    return found


def check_all(dataset: Any) -> Samples:
    """Every index, negative and out of range ones included, means what the dataset itself makes of it."""
    samples = lowered(dataset)
    assert samples.length == len(dataset)
    for index in range(-len(dataset) - 3, len(dataset) + 3):
        try:
            want = path_and_label(dataset, index)
        except (IndexError, ValueError):
            with pytest.raises(IndexError):
                samples.resolve(np.array([index]))
            continue
        row = int(samples.resolve(np.array([index]))[0])
        assert samples.files.name(row) == os.fsencode(want[0])
        assert samples.files[row][1] == want[1]
    return samples


def test_image_folder(photos: Path) -> None:
    samples = check_all(folder(photos))
    assert samples.index is None
    assert samples.foreign == 0
    assert samples.files == folder(photos).samples


def test_dataset_folder_with_torchvisions_loaders(photos: Path) -> None:
    for loader in (default_loader, pil_loader):
        check_all(DatasetFolder(str(photos), loader, (".jpg", ".png"), transform=T.ToTensor()))
        check_all(folder(photos, loader=loader))


def test_pathlib_and_bytes_paths(photos: Path) -> None:
    dataset = folder(photos)
    dataset.samples = [
        (Path(path) if i % 2 else os.fsencode(path), label) for i, (path, label) in enumerate(dataset.samples)
    ]
    check_all(dataset)


def test_random_split_names_each_sample_once(photos: Path) -> None:
    parts = random_split(folder(photos), [0.6, 0.4], torch.Generator().manual_seed(0))
    rows = [check_all(part).resolve(np.arange(len(part))) for part in parts]
    assert sorted(np.concatenate(rows)) == list(range(23))


@pytest.mark.parametrize(
    "indices",
    [
        [5, 3, 3, 22, 0],
        (1, -1, -23),
        range(20, 3, -2),
        np.array([4, -2, 7]),
        np.array([4, -2, 7], np.int32),
        torch.tensor([9, -3, 0]),
        torch.tensor([9, -3, 0], dtype=torch.int32),
        [np.int64(3), 4],
        [],
        [1, 23, -24, 2],
        [10**15, 1],
    ],
    ids=repr,
)
def test_subset_takes_any_list_of_ints(photos: Path, indices: Any) -> None:
    check_all(Subset(folder(photos), indices))


def test_concat_and_nesting(photos: Path) -> None:
    one, two = folder(photos), folder(photos)
    tree = ConcatDataset([Subset(two, [3, -1]), one, Subset(ConcatDataset([one, two]), range(40, 10, -3)), two])
    samples = check_all(tree)
    assert len(samples.parts) == 2
    check_all(Subset(tree, [0, -1, 60, 5, 7, 1000]))
    assert check_all(ConcatDataset([one, two])).index is None
    assert len(check_all(ConcatDataset([one, one])).parts) == 1


def test_no_part_of_a_concat_has_its_rows_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [TensorDataset(torch.rand(length, 2), torch.arange(length)) for length in range(1, 40)]
    calls = []
    arange = np.arange
    monkeypatch.setattr(np, "arange", lambda *given, **named: calls.append(given) or arange(*given, **named))
    assert lowered(ConcatDataset(parts)).index is None
    assert not calls
    lowered(ConcatDataset([*parts, parts[0]]))  # whose rows are there twice
    assert calls


def test_storage_that_parts_share_is_joined_once_whatever_its_length() -> None:
    shared, longer = range(5), range(15)  # of which a dataset has but ten rows
    joined = _joined([(Column((each,), "spec"), length) for each, length in ((shared, 5), (shared, 5), (longer, 10))])
    assert joined.pieces == (shared, longer) and joined.index is not None
    assert joined.index.tolist() == [*range(5), *range(5), *range(5, 15)]


def test_tensors_of_a_list_are_held_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = [torch.rand(3) for _ in range(20)]
    samples = lowered(tensors)
    samples.hold()
    calls = []
    empty = torch.empty
    monkeypatch.setattr(torch, "empty", lambda *given, **named: calls.append(given) or empty(*given, **named))
    samples.hold()  # as each epoch does
    assert len(calls) < len(tensors)
    for tensor in tensors:
        with pytest.raises(RuntimeError, match="not resizable"):
            tensor.resize_(100)


@given(data=st.data())
@settings(max_examples=60)
def test_any_tree_means_what_it_means(photos: Path, data: st.DataObject) -> None:
    leaves = [folder(photos), folder(photos)]

    def tree(depth: int) -> Any:
        kind = data.draw(st.sampled_from(["leaf", "subset", "concat"] if depth else ["leaf"]))
        if kind == "leaf":
            return data.draw(st.sampled_from(leaves))
        if kind == "subset":
            inner = tree(depth - 1)
            edge = len(inner) + 1
            return Subset(inner, data.draw(st.lists(st.integers(-edge, edge), max_size=8)))
        return ConcatDataset([tree(depth - 1) for _ in range(data.draw(st.integers(1, 3)))])

    check_all(tree(3))


# Changes between epochs


def test_nothing_changed(photos: Path) -> None:
    one = folder(photos)
    for dataset in (
        one,
        Subset(one, [1, 2]),
        Subset(one, torch.tensor([1])),
        ConcatDataset([one, Subset(one, range(3))]),
    ):
        assert lowered(dataset).unchanged(dataset)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.samples.append(d.samples[0]),
        lambda d: d.samples.__setitem__(3, (d.samples[3][0], 1000)),
        lambda d: d.samples.reverse(),
        lambda d: setattr(d, "samples", d.samples[:-1]),
        lambda d: setattr(d, "transform", T.PILToTensor()),
        lambda d: setattr(d, "transform", None),
        lambda d: setattr(d, "target_transform", str),
        lambda d: setattr(d, "loader", print),
        lambda d: d.transform.transforms.insert(0, T.Resize(5)),
        lambda d: setattr(d.transform.transforms[0], "p", 0.25),
        lambda d: setattr(d, "__getitems__", lambda indices: []),
    ],
)
def test_a_change_of_the_folder_is_seen(photos: Path, change: Any) -> None:
    dataset = folder(photos, transform=T.Compose([T.RandomHorizontalFlip(), T.ToTensor()]))
    tree = ConcatDataset([Subset(dataset, [0, 1])])
    direct, nested = lowered(dataset), lowered(tree)
    change(dataset)
    assert not direct.unchanged(dataset)
    assert not nested.unchanged(tree)


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.datasets[0].indices.append(3),
        lambda t: t.datasets[0].indices.__setitem__(0, 9),
        lambda t: setattr(t.datasets[0], "indices", (0, 1)),
        lambda t: t.datasets.append(t.datasets[0]),
        lambda t: t.cumulative_sizes.__setitem__(0, 1),
        lambda t: t.datasets[1].indices.__setitem__(0, 2),
        lambda t: setattr(t.datasets[0], "dataset", folder(Path(t.datasets[0].dataset.root))),
    ],
)
def test_a_change_of_the_tree_is_seen(photos: Path, change: Any) -> None:
    one = folder(photos)
    tree = ConcatDataset([Subset(one, [0, 1]), Subset(one, torch.tensor([5, 6]))])
    samples = lowered(tree)
    change(tree)
    assert not samples.unchanged(tree)


# Refusals


class Plain(ImageFolder):
    """Changes nothing of what an index means."""

    transform = None

    def find_classes(self, directory: Any) -> Any:
        return super().find_classes(directory)

    def describe(self) -> str:
        return "plain"


class WithPath(ImageFolder):
    def __getitem__(self, index: int) -> Any:
        return *super().__getitem__(index), self.samples[index][0]


class Short(ImageFolder):
    def __len__(self) -> int:
        return 3


class InBulk(ImageFolder):
    def __getitems__(self, indices: list[int]) -> Any:
        return [self[i] for i in indices]


class Mixin:
    def __getitems__(self, indices: list[int]) -> Any:
        return []


class Mixed(ImageFolder, Mixin):
    pass


class Looked(ImageFolder):
    def __getattribute__(self, name: str) -> Any:
        return super().__getattribute__(name)


class Computed(ImageFolder):
    @property
    def samples(self) -> Any:
        return self._samples

    @samples.setter
    def samples(self, value: Any) -> None:
        self._samples = value


class MySubset(Subset[Any]):
    pass


def test_a_subclass_that_changes_nothing_is_lowered(photos: Path) -> None:
    check_all(Plain(str(photos), transform=T.ToTensor()))


@pytest.mark.parametrize("kind", [WithPath, Short, Computed])
def test_a_subclass_that_changes_something_is_read(photos: Path, kind: Any) -> None:
    samples = lowered(kind(str(photos), transform=T.ToTensor()))
    assert isinstance(samples, Scripts) and samples.part.paths == [path for path, _ in folder(photos).samples]


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (InBulk, "__getitems__"),
        (Mixed, "__getitems__"),
        (Looked, "its own attribute lookup"),
    ],
)
def test_a_subclass_that_may_change_something_is_refused(photos: Path, kind: Any, why: str) -> None:
    assert why in refused(kind(str(photos), transform=T.ToTensor()))
    assert why in refused(Subset(kind(str(photos), transform=T.ToTensor()), [0]))


class Own(Dataset[Any]):
    def __getitem__(self, index: int) -> Any:
        return 0


def test_other_datasets_are_refused(photos: Path) -> None:
    for dataset in (Own(), {0: 1}):
        assert "does not know" in refused(dataset)
    assert "a list, not of numbers of one type" in refused([1, "a"])
    assert "torch.randn draws its images" in refused(torchvision.datasets.FakeData(3))
    assert "does not know" in refused(MySubset(folder(photos), [0]))
    assert "does not know" in refused(ConcatDataset([folder(photos), Own.__new__(Sized)]))


class Sized(Own):
    def __len__(self) -> int:
        return 2


def changed(dataset: Any, **attributes: Any) -> Any:
    for name, value in attributes.items():
        setattr(dataset, name, value)
    return dataset


def test_folders_that_do_more_are_refused(photos: Path) -> None:
    assert "target_transform" in refused(folder(photos, target_transform=lambda label: label**2))
    assert "loader" in refused(folder(photos, loader=lambda path: pil_loader(path).effect_spread(9)))
    assert "PIL images" in refused(folder(photos, transform=None))
    assert "GaussianBlur" in refused(folder(photos, transform=T.Compose([T.GaussianBlur(3), T.ToTensor()])))
    path = folder(photos).samples[0][0]
    for samples, why in (
        ([(path, None)], "NoneType"),
        ([(path, 2**63)], "do not fit"),
        ([(path, 1, 2)], "tuples"),
        ([(3, 1)], "paths of type int"),
        ([(path + "\0", 1)], "NUL"),
        (np.array([(path, 1)], dtype=object), "not a list"),
    ):
        assert why in refused(changed(folder(photos), samples=samples)), why
    for label in True, 1.0, np.int64(1):
        assert isinstance(lowered(changed(folder(photos), samples=[[path, label]])), Scripts)
    for indices in ([True, False], [1.0], np.array([1], np.uint8), torch.tensor([True]), np.array([[1]]), {0: 1}, "12"):
        assert "indices" in refused(Subset(folder(photos), indices))
    assert "replaced" in refused(changed(Subset(folder(photos), [0]), __getitems__=lambda indices: []))


def test_a_concat_whose_parts_grew_is_refused(photos: Path) -> None:
    dataset = folder(photos)
    tree = ConcatDataset([dataset, dataset])
    dataset.samples.append(dataset.samples[0])
    assert "the length of a dataset in it has changed" in refused(tree)


def test_patched_methods_are_refused(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = folder(photos)
    monkeypatch.setattr(DatasetFolder, "__getitem__", lambda self, index: 0)
    assert "__getitem__" in refused(dataset)
    monkeypatch.undo()
    monkeypatch.setattr(Subset, "__getitem__", lambda self, index: 0)
    assert "replaced" in refused(Subset(dataset, [0]))


def test_another_image_backend_is_refused(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = folder(photos)
    monkeypatch.setattr(torchvision, "_image_backend", "accimage")
    assert "accimage" in refused(dataset)
    lowered(folder(photos, loader=pil_loader))


def test_many_files_without_a_decoder_are_refused(photos: Path) -> None:
    dataset = folder(photos)
    assert {label for _, label in dataset.samples} == {0, 1, 2}
    dataset.samples = [*dataset.samples, ("x.ppm", 0), ("y.PGM", 0)]
    assert "only Pillow reads" in refused(dataset)
    assert lowered(Subset(dataset, range(23))).foreign == 0
    twenty = lowered(Subset(dataset, [*range(23), 23]))
    assert twenty.foreign == pytest.approx(1 / 24)
    assert "only Pillow reads" in refused(Subset(dataset, [23]))


def test_extensions_in_any_case(photos: Path) -> None:
    dataset = folder(photos)
    dataset.samples = [("A.JPG", 0), ("b.Jpeg", 1), ("c.PNG", 2), ("d.WebP", 0), ("e.BMP", 1), ("f.TiF", 2)]
    assert lowered(dataset).foreign == 0
