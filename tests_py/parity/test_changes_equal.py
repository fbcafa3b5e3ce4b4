"""Classes of one's own that take rows, changed in the middle of an epoch: without workers torch sees it at once."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils import data
from torch.utils.data._utils import collate, fetch, worker

import goloader
from goloader.doors.same import difference

SCALED = False


class Base(data.Dataset[Any]):
    def row(self, index: int) -> Any:
        return self.x[index]  # type: ignore[attr-defined]


def make() -> tuple[Any, type]:
    """A dataset of a class of its own, which may be spoilt."""

    class Rows(Base):
        twice = False

        def __init__(self) -> None:
            self.x, self.y = torch.arange(120.0).reshape(60, 2), torch.arange(60)
            self.other = -self.x
            self.transform: Any = None
            self.flag = True

        def __getitem__(self, index: int) -> Any:
            if torch.is_tensor(index):
                index = index.tolist()
            if self.transform is not None:
                return self.transform(self.x[index]), self.y[index]
            if self.flag:
                return self.row(index), self.y[index]
            if self.twice or SCALED:
                return self.y[index], self.y[index]
            return self.other[index], self.y[index]

        def __len__(self) -> int:
            return len(self.x)

    return Rows(), Rows


def _negative(self: Any, index: int) -> Any:
    return -self.x[index], self.y[index]


def _new_dict(dataset: Any, kind: Any) -> None:
    dataset.__dict__ = {**vars(dataset), "x": dataset.other}


def _new_class(dataset: Any, kind: Any) -> None:
    dataset.__class__ = type("Other", (kind,), {"__getitem__": _negative})


def _new_code(dataset: Any, kind: Any) -> None:
    kind.__getitem__.__code__ = _negative.__code__


def _new_collation(dataset: Any, kind: Any) -> None:
    collate.default_collate_fn_map[torch.Tensor] = lambda batch, *, collate_fn_map=None: len(batch)


def _set_flag_and_global(dataset: Any, kind: Any) -> None:
    dataset.flag = False
    globals()["SCALED"] = True


CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "attribute": lambda dataset, kind: setattr(dataset, "x", dataset.other),
    "in place": lambda dataset, kind: dataset.x.neg_(),
    "rows added": lambda dataset, kind: setattr(dataset, "y", torch.arange(100, 160)),
    "flag": lambda dataset, kind: setattr(dataset, "flag", False),
    "flag and class": lambda dataset, kind: (setattr(dataset, "flag", False), setattr(kind, "twice", True)),
    "flag and global": _set_flag_and_global,
    "transform": lambda dataset, kind: setattr(dataset, "transform", torch.neg),
    "dict": _new_dict,
    "class": _new_class,
    "code": _new_code,
    "__getitem__": lambda dataset, kind: setattr(kind, "__getitem__", _negative),
    "method": lambda dataset, kind: setattr(kind, "row", lambda self, index: self.other[index]),
    "method of the object": lambda dataset, kind: setattr(dataset, "row", lambda index: dataset.other[index]),
    "method of the base": lambda dataset, kind: setattr(Base, "row", lambda self, index: self.other[index]),
    "property": lambda dataset, kind: setattr(kind, "x", property(lambda self: self.other)),
    "default_collate": _new_collation,
    "__getattribute__": lambda dataset, kind: setattr(
        kind, "__getattribute__", lambda self, name: object.__getattribute__(self, {"x": "other"}.get(name, name))
    ),
    "__getitems__": lambda dataset, kind: setattr(
        kind, "__getitems__", lambda self, indices: [(self.other[i], self.y[i]) for i in indices]
    ),
}


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Base, "row", Base.row)
    monkeypatch.setitem(globals(), "SCALED", False)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("batches", [1, 6])
def test_a_change_in_an_epoch_is_seen_at_once(change: str, batches: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(loader: type[data.DataLoader[Any]]) -> list[Any]:
        with monkeypatch.context() as patch:
            patch.setattr(Base, "row", Base.row)
            patch.setitem(globals(), "SCALED", False)
            patch.setitem(collate.default_collate_fn_map, torch.Tensor, collate.collate_tensor_fn)
            dataset, kind = make()
            iterator = iter(loader(dataset, batch_size=5))
            seen = [next(iterator) for _ in range(batches)]
            CHANGES[change](dataset, kind)
            return [*seen, *iterator]

    ours, theirs = run(goloader.DataLoader), run(data.DataLoader)
    assert difference(theirs, ours) is None
    dataset, _ = make()
    assert goloader.DataLoader(dataset, batch_size=5).explain().native_fraction == 1


class Listed(data.Dataset[Any]):
    """Takes items of a list of tensors, which may be shorter than the loader's sampler knows."""

    def __init__(self) -> None:
        self.x, self.rows = torch.arange(60.0), [torch.full((2,), float(k)) for k in range(60)]

    def __getitem__(self, index: int) -> Any:
        return self.x[index] * 2, self.rows[index]

    def __len__(self) -> int:
        return 60


def test_the_error_of_a_dataset_that_shrinks_is_its_own() -> None:
    """None of a batch's indices has an item any more."""

    def run(kind: Any) -> list[str]:
        dataset, errors = Listed(), []
        iterator = iter(kind(dataset, batch_size=5))
        next(iterator)
        dataset.x, dataset.rows = dataset.x[:20], dataset.rows[:20]
        for _ in range(11):
            try:
                errors.append(str(next(iterator)))
            except IndexError as error:
                errors.append(str(error))
        return errors

    assert run(goloader.DataLoader) == run(data.DataLoader)


@pytest.mark.parametrize("drawn", [False, True])
def test_a_sample_that_is_left_to_changed_code_in_workers_is_an_error_that_says_so(drawn: bool) -> None:
    """What torch's workers say of it is known to the dataset that they were begun with alone."""
    dataset, kind = make()
    if drawn:
        kind.__getitem__ = lambda self, index: self.x[index] * random.random()  # type: ignore[attr-defined]
    loader = goloader.DataLoader(dataset, batch_size=1, sampler=[0, 1, 60, 2], num_workers=1)
    assert loader.explain().native
    batches = iter(loader)
    dataset.x = dataset.x[:50]
    assert len([next(batches) for _ in range(2)]) == 2
    with pytest.raises(RuntimeError, match="Rows: a sample of this batch is left to its code, and it was changed"):
        next(batches)
    assert len(list(batches)) == 1


def test_an_index_that_a_known_dataset_never_had_is_its_error() -> None:
    dataset = data.TensorDataset(torch.arange(6))
    for kind in (data.DataLoader, goloader.DataLoader):
        batches = iter(kind(dataset, batch_size=1, sampler=[0, 1, 6, 2], num_workers=1))
        dataset.tensors = (torch.arange(5),)
        assert len([next(batches) for _ in range(2)]) == 2
        with pytest.raises(IndexError, match="index 6 is out of bounds for dimension 0 with size 6"):
            next(batches)
        dataset.tensors = (torch.arange(6),)


def _other(self: Any, index: int) -> int:
    return -index


def _others(self: Any, indices: list[int]) -> list[int]:
    return [-index for index in indices]


KNOWN: dict[str, Callable[[], Any]] = {
    "TensorDataset": lambda: data.TensorDataset(torch.arange(60.0)),
    "ArrayDataset": lambda: goloader.ArrayDataset(np.arange(60.0)),
    "Subset": lambda: data.Subset(data.TensorDataset(torch.arange(70.0)), range(5, 65)),
    "ConcatDataset": lambda: data.ConcatDataset([data.TensorDataset(torch.arange(30.0))] * 2),
    "StackDataset": lambda: data.StackDataset(data.TensorDataset(torch.arange(60.0))),
}

REPLACED: dict[str, Callable[[Any, Any, pytest.MonkeyPatch], Any]] = {
    "class": lambda dataset, kind, patch: setattr(
        dataset, "__class__", type("Other", (kind,), {"__getitem__": _other, "__getitems__": _others})
    ),
    "__getitem__": lambda dataset, kind, patch: patch.setattr(kind, "__getitem__", _other),
    "__getitems__": lambda dataset, kind, patch: patch.setattr(kind, "__getitems__", _others, raising=False),
    "code": lambda dataset, kind, patch: patch.setattr(kind.__getitem__, "__code__", _other.__code__),
}


@pytest.mark.parametrize("replaced", REPLACED)
@pytest.mark.parametrize("name", KNOWN)
def test_methods_of_known_classes_that_are_replaced_in_an_epoch_are_called(
    name: str, replaced: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(loader: type[data.DataLoader[Any]]) -> list[Any]:
        with monkeypatch.context() as patch:
            dataset = KNOWN[name]()
            made = loader(dataset, batch_size=5)
            iterator = iter(made)
            seen = [next(iterator) for _ in range(3)]
            if isinstance(made, goloader.DataLoader):
                assert made.explain().native_fraction == 1
            REPLACED[replaced](dataset, type(dataset), patch)
            return [*seen, *iterator, *made]

    assert difference(run(data.DataLoader), run(goloader.DataLoader)) is None


class Numbers(data.Dataset[Any]):
    """Gives rows of numpy's."""

    def __init__(self) -> None:
        self.x = np.arange(120.0).reshape(60, 2)

    def __getitem__(self, index: int) -> Any:
        return self.x[index]

    def __len__(self) -> int:
        return 60


CALLED: dict[str, tuple[Any, str]] = {
    "torch.stack": (torch, "stack"),
    "torch.as_tensor": (torch, "as_tensor"),
    "collate": (collate, "collate"),
    "fetch": (fetch._MapDatasetFetcher, "fetch"),
}


@pytest.mark.parametrize("batches", [0, 3])
@pytest.mark.parametrize("name", CALLED)
def test_functions_that_torchs_loader_calls_may_be_replaced(
    name: str, batches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(loader: type[data.DataLoader[Any]]) -> list[Any]:
        with monkeypatch.context() as patch:
            made = loader(Numbers(), batch_size=5)
            iterator = iter(made)
            seen = [next(iterator) for _ in range(batches)]
            if batches and isinstance(made, goloader.DataLoader):
                assert made.explain().native_fraction == 1
            patch.setattr(*CALLED[name], lambda *arguments, **options: torch.zeros(1))
            return [*seen, *iterator, *made, *loader(Numbers(), batch_size=5)]

    assert difference(run(data.DataLoader), run(goloader.DataLoader)) is None


def test_a_loop_of_workers_that_was_replaced_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = worker._worker_loop
    monkeypatch.setattr(worker, "_worker_loop", lambda *arguments: loop(*arguments))
    explanation = goloader.DataLoader(Numbers(), batch_size=5, num_workers=1).explain()
    assert "FUNCTION_REPLACED" in explanation.codes and not explanation.native
    assert goloader.DataLoader(Numbers(), batch_size=5).explain().native
