"""Which loaders run in Go, which stay with torch, what explain() says of it, and that a change of either is seen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import photos
import pytest
import torch
import torchvision.transforms as T
import twins
from torch.utils import data
from torchvision.datasets import ImageFolder
from twins import Program, check

import goloader

TO_TENSOR = [T.CenterCrop(30), T.ToTensor()]


class Turned(ImageFolder):
    def __getitem__(self, index: int) -> Any:
        image, label = super().__getitem__(index)
        return torch.linalg.matrix_exp(image[:, :, :30]), label


class Renamed(ImageFolder):
    """Changes nothing of what an index gives."""

    name = "renamed"


class Subclassed(T.CenterCrop):
    pass


def own_loader(path: str) -> Any:
    from torchvision.datasets.folder import default_loader

    return default_loader(path).quantize(64).convert("RGB")


def own_collate(samples: Any) -> Any:
    return data.default_collate(list(reversed(samples)))


def with_attribute(**attributes: Any) -> Callable[[str], Any]:
    def make(root: str) -> Any:
        dataset = ImageFolder(root, T.Compose(TO_TENSOR))
        for name, value in attributes.items():
            setattr(dataset, name, value)
        return dataset

    return make


# name: (dataset, other arguments, what explain() names, a part of its reason)
REFUSALS: dict[str, tuple[Callable[[str], Any], dict[str, Any], str, str]] = {
    "overridden __getitem__": (lambda root: Turned(root, T.Compose(TO_TENSOR)), {}, "Turned", "__getitem__ "),
    "own loader": (with_attribute(loader=own_loader), {}, "ImageFolder", "own_loader"),
    "target_transform": (with_attribute(target_transform=repr), {}, "ImageFolder", "target_transform"),
    "a list": (lambda root: [str(i) for i in range(9)], {}, "list", "not of numbers"),
    "lambda": (
        lambda root: ImageFolder(root, T.Compose([*TO_TENSOR, lambda x: x.matrix_exp()])), {}, "lambda", "not known",
    ),
    "subclassed transform": (
        lambda root: ImageFolder(root, T.Compose([Subclassed(30), T.ToTensor()])), {}, "Subclassed", "not known",
    ),
    "unknown transform": (
        lambda root: ImageFolder(root, T.Compose([T.GaussianBlur(3), *TO_TENSOR])), {}, "GaussianBlur", "not known",
    ),
    "own collate_fn": (with_attribute(), {"collate_fn": own_collate}, "own_collate", "test_doors.py:"),
    "__getitems__": (with_attribute(__getitems__=None), {}, "ImageFolder", "__getitems__"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_what_is_not_lowered_runs_as_torch_s_and_explain_names_it(root: Path, name: str) -> None:
    make, arguments, what, why = REFUSALS[name]
    dataset = make(str(root))
    check(Program(lambda: {"dataset": dataset, "batch_size": 5, "shuffle": True} | arguments, draw=True), native=False)
    explanation = goloader.DataLoader(dataset, **arguments).explain()
    assert all(row.where == "Python" for row in explanation)
    assert any(what in row.what and why in row.why for row in explanation), explanation


def test_folders_of_which_pillow_reads_too_many_stay_with_torch(tmp_path: Path) -> None:
    dataset = ImageFolder(str(photos.fill(tmp_path, photos.foreign())), T.Compose(TO_TENSOR))
    check(Program(lambda: {"dataset": dataset, "batch_size": 5}), native=False)
    assert "only Pillow reads" in str(goloader.DataLoader(dataset).explain())


def test_an_iterable_dataset_runs_as_torch_s() -> None:
    class Count(data.IterableDataset[int]):
        def __iter__(self) -> Any:
            return iter(range(9))

    for num_workers in 0, 2:
        check(Program(lambda n=num_workers: {"dataset": Count(), "batch_size": 2, "num_workers": n}), native=False)


def test_a_subclass_that_changes_nothing_is_lowered(root: Path) -> None:
    check(Program(lambda: {"dataset": Renamed(str(root), T.Compose(TO_TENSOR)), "batch_size": 5}))


def test_explain_has_a_line_a_stage_and_counts_what_was_delivered(dataset: ImageFolder) -> None:
    loader = goloader.DataLoader(dataset, batch_size=5, shuffle=True, num_workers=2)
    rows = list(loader.explain())
    assert [row.stage for row in rows] == ["sampler", "source", "seek index", *["transform"] * 4, "collate"]
    assert [row.where for row in rows] == ["Python", *["Go"] * 7]
    assert "RandomSampler" in rows[0].what
    assert "24" in rows[1].what
    assert "RandomResizedCrop" in rows[3].what
    for epoch in 1, 2:
        assert len(list(loader)) == 5
        assert f"{24 * epoch} samples in {5 * epoch} batches" in str(loader.explain())


def test_explain_counts_pillow_s_samples_once(tmp_path: Path) -> None:
    files = photos.plain(24) | {"x.ppm": photos.foreign()["01.ppm"]}
    dataset = ImageFolder(str(photos.fill(tmp_path, files)), T.Compose(TO_TENSOR))
    for num_workers in 0, 2:
        loader = goloader.DataLoader(dataset, batch_size=5, num_workers=num_workers)
        assert len(list(loader)) == 5
        assert "25 samples in 5 batches" in str(loader.explain())
        assert "1 of them decoded by Pillow" in str(loader.explain())


def test_explain_does_not_move_random_numbers(dataset: ImageFolder) -> None:
    loader = goloader.DataLoader(dataset, shuffle=True)
    torch.manual_seed(0)
    before = torch.get_rng_state()
    loader.explain()
    assert torch.equal(torch.get_rng_state(), before)


# Changes between epochs


def switch_transform(epoch: int, loader: Any) -> None:
    if epoch == 1:
        loader.dataset.transform = T.Compose([T.RandomCrop(25), T.ToTensor()])


def change_transform_in_place(epoch: int, loader: Any) -> None:
    if epoch == 1:
        loader.dataset.transform.transforms[0].scale = (0.5, 0.6)
        loader.dataset.transform.transforms[3].mean = (0.0, 0.1, 0.2)


def drop_samples(epoch: int, loader: Any) -> None:
    if epoch == 1:
        loader.dataset.samples[3] = loader.dataset.samples[7]
        loader.dataset.samples[5] = (loader.dataset.samples[5][0], 77)


def to_unknown_and_back(epoch: int, loader: Any) -> None:
    transform = loader.dataset.transform
    if epoch == 1:
        transform.transforms.insert(1, T.GaussianBlur(3))
    elif epoch == 2:
        del transform.transforms[1]


def other_arguments(epoch: int, loader: Any) -> None:
    loader.num_workers, loader.prefetch_factor = ((0, None), (2, 1), (1, 3))[epoch]


def other_collate(epoch: int, loader: Any) -> None:
    if epoch == 1:
        loader.collate_fn = own_collate


def rewrite_file(epoch: int, loader: Any) -> None:
    if epoch == 1:
        Path(loader.dataset.samples[2][0]).write_bytes(photos.plain(9)["008.jpg"])


CHANGES = [
    switch_transform, change_transform_in_place, drop_samples, to_unknown_and_back,
    other_arguments, other_collate, rewrite_file,
]  # fmt: skip


@pytest.mark.parametrize(("num_workers", "persistent"), [(0, False), (2, False), (2, True)])
@pytest.mark.parametrize("change", CHANGES)
def test_changes_between_epochs_are_seen_where_torch_s_workers_see_them(
    tmp_path: Path, num_workers: int, change: Callable[[int, Any], None], persistent: bool
) -> None:
    def arguments() -> dict[str, Any]:
        # A dataset of its own for each run, with the same files.
        root = photos.fill(tmp_path / "files", photos.plain(24))
        steps = [
            T.RandomResizedCrop(32),
            T.RandomHorizontalFlip(),
            T.ToTensor(),
            T.Normalize((0.4, 0.5, 0.6), (0.2,) * 3),
        ]
        more = {"persistent_workers": True} if persistent else {}
        return {
            "dataset": ImageFolder(str(root), T.Compose(steps)),
            "batch_size": 5,
            "num_workers": num_workers,
            **more,
        }

    check(Program(arguments, epochs=3, before=change, draw=True))


def test_changes_within_an_epoch_are_seen_where_there_are_no_workers(root: Path) -> None:
    def run(kind: type[data.DataLoader[Any]]) -> list[Any]:
        dataset = ImageFolder(str(root), T.Compose([T.RandomCrop(30), T.ToTensor()]))
        torch.manual_seed(0)
        seen = []
        for step, batch in enumerate(kind(dataset, batch_size=4)):
            seen.append(twins.bits(batch))
            if step == 1:
                dataset.transform = T.Compose([T.RandomCrop(25), T.ToTensor()])
            if step == 3:
                dataset.samples[17] = (dataset.samples[1][0], 55)
        return seen

    assert run(goloader.DataLoader) == run(data.DataLoader)
