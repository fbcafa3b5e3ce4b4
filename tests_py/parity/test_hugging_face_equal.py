"""Hugging Face's datasets: Go's batches of columns are torch's; whatever formats do otherwise stays Python's."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, StackDataset, Subset, TensorDataset
from twins import Program, check, loader_of

import goloader
from goloader.collate import Pad

datasets = pytest.importorskip("datasets")

FORMATS = ("torch", "numpy", None)


@pytest.fixture(autouse=True)
def _quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()


def columns(length: int, seed: int = 0) -> dict[str, Any]:
    """A column of each kind that Go reads."""
    noise = np.random.default_rng(seed)
    made: dict[str, Any] = {
        name: noise.integers(0, 100, length, name)
        for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")
    }
    made |= {name: noise.standard_normal(length).astype(name) for name in ("float32", "float64")}
    made["flag"] = noise.integers(0, 2, length).astype(bool)
    made["tokens"] = noise.integers(0, 50_000, (length, 7)).tolist()
    made["small"] = list(noise.integers(0, 200, (length, 3), np.uint8))
    made["scores"] = list(noise.standard_normal((length, 2)).astype(np.float32))
    return made


def table(length: int = 23, seed: int = 0) -> Any:
    return datasets.Dataset.from_dict(columns(length, seed))


def numbers(dataset: Any) -> list[str]:
    return [name for name in dataset.column_names if name not in ("tokens", "small", "scores")]


def formatted(dataset: Any, form: str | None) -> Any:
    return dataset.with_format(form, columns=numbers(dataset) if form is None else None)


def stored(dataset: Any, folder: Path, shards: int = 1) -> Any:
    """The same in files."""
    dataset.save_to_disk(folder, num_shards=shards)
    return datasets.load_from_disk(folder)


def rows_of(loader: Any) -> list[str]:
    return [row.where for row in loader.explain() if row.stage == "source"]


@pytest.mark.parametrize("num_workers", [0, 1, 3])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("shards", [0, 1, 3])
def test_columns_of_numbers_and_of_lists(tmp_path: Path, form: str | None, shards: int, num_workers: int) -> None:
    whole = stored(table(), tmp_path / "set", shards) if shards else table()
    check(Program(loader_of(formatted(whole, form), batch_size=4, shuffle=True, num_workers=num_workers)))


@pytest.mark.parametrize("form", FORMATS)
def test_what_selects_shuffles_and_joins(tmp_path: Path, form: str | None) -> None:
    whole = stored(table(), tmp_path / "set", 2)
    other = table(9, 1)
    for made in (
        whole.shuffle(seed=1),
        whole.select([5, 1, 1, 22]),
        whole.shuffle(seed=2).select(range(3, 20, 2)),
        whole.filter(lambda row: row["int8"] > 20),
        whole.train_test_split(0.3, seed=0)["train"],
        datasets.concatenate_datasets([whole, other, whole.select(range(2))]),
        whole.remove_columns(["flag"]).rename_column("int8", "labels"),
        whole.skip(4).take(11),
    ):
        check(Program(loader_of(formatted(made, form), batch_size=4, shuffle=True)))
    subset = Subset(formatted(whole, form), [3, 1, -2, 22])
    check(Program(loader_of(subset, batch_size=3, num_workers=2)))
    joined = ConcatDataset([subset, formatted(whole, form)])
    check(Program(loader_of(joined, batch_size=4, num_workers=2)), native=form != "numpy")  # numbers keep their dtype
    check(Program(loader_of(StackDataset(formatted(whole, form), TensorDataset(torch.arange(23))), batch_size=4)))


def test_columns_that_a_format_leaves_out(tmp_path: Path) -> None:
    whole = stored(datasets.Dataset.from_dict(columns(12) | {"text": ["a"] * 12}), tmp_path / "set")
    check(Program(loader_of(whole.with_format("torch", columns=["tokens", "int8"]), batch_size=4)))
    check(Program(loader_of(whole.with_format("torch"), batch_size=4)), native=False)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_lists_that_differ_in_length(tmp_path: Path, num_workers: int) -> None:
    lists = [list(range(k % 5 + 1)) for k in range(2500)]  # in several pieces
    made = datasets.Dataset.from_dict({"ids": lists, "y": list(range(2500))})
    for whole in (made, stored(made, tmp_path / "set", 2)):
        arguments = {"batch_size": 100, "num_workers": num_workers, "shuffle": True}
        check(Program(loader_of(whole.with_format("torch"), **arguments, collate_fn=lambda: Pad(padding_value=-1))))
        check(Program(loader_of(whole.with_format("torch"), **arguments), epochs=1), native=False)


@pytest.mark.parametrize(
    "made",
    [
        lambda: datasets.Dataset.from_dict({"x": [1, None, 3]}).with_format("torch"),
        lambda: datasets.Dataset.from_dict({"x": [[1, None], [3, 4]]}).with_format("torch"),
        lambda: datasets.Dataset.from_dict({"x": np.arange(4, dtype=np.uint64)}).with_format("torch"),
        lambda: datasets.Dataset.from_dict({"x": ["a", "b"]}).with_format("torch"),
        lambda: datasets.Dataset.from_dict({"x": [[[1, 2]], [[3, 4]]]}).with_format("torch"),
        lambda: datasets.Dataset.from_dict({"x": [{"y": 1}, {"y": 2}]}).with_format("torch"),
        lambda: datasets.Dataset.from_dict({"x": [[1, 2], [3, 4]]}),
        lambda: datasets.Dataset.from_dict({"x": [[True, False], [True, True]]}).with_format("torch"),
        lambda: table(5).with_format("torch", dtype=torch.int32),
        lambda: table(5).with_format("torch", columns=["int8"], output_all_columns=True),
        lambda: table(5).with_transform(lambda rows: {"x": [value + 1 for value in rows["int8"]]}),
        lambda: datasets.Dataset.from_dict({"x": []}).with_format("torch"),
    ],
)
def test_what_stays_with_python(made: Callable[[], Any]) -> None:
    check(Program(loader_of(made(), batch_size=2)), native=False)


def test_samples_beside_the_others_are_refused_in_the_same_words(tmp_path: Path) -> None:
    whole = stored(table(), tmp_path / "set").with_format("torch", columns=["int8", "tokens"])
    for sampler in ([0, -1, 5], [3, 23, 1], [-24, 0], [np.int64(2), 3], [torch.tensor(1), 0]):
        for num_workers in (0, 2):
            check(Program(loader_of(whole, batch_size=2, sampler=sampler, num_workers=num_workers)))
    check(Program(loader_of(whole, batch_size=None)), native=False)


def _change(whole: Any, kind: str) -> None:
    if kind == "format":
        whole.set_format("numpy")
    elif kind == "columns":
        whole.set_format("torch", columns=["int8"])
    elif kind == "transform":
        whole.set_transform(lambda rows: {"int8": [value + 1 for value in rows["int8"]]})
    elif kind == "data":
        whole._data = table(23, 5)._data
    elif kind == "function":
        whole.__class__ = type("Dataset", (type(whole),), {"__getitems__": lambda self, keys: [self[0]] * len(keys)})


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("kind", ["format", "columns", "transform", "data", "function"])
def test_changes_between_epochs_and_within(tmp_path: Path, kind: str, num_workers: int) -> None:
    base = stored(table(), tmp_path / "set")

    def run(loader_of_kind: Any) -> list[Any]:
        whole = base.with_format("torch")
        loader = loader_of_kind(whole, batch_size=5, num_workers=num_workers)
        batches = []
        for epoch in range(3):
            for number, batch in enumerate(loader):
                batches.append(batch)
                if (epoch, number) == (1, 1) and num_workers == 0:
                    _change(whole, kind)
            if epoch == 1 and num_workers:
                _change(whole, kind)
        return batches

    ours, theirs = run(goloader.DataLoader), run(torch.utils.data.DataLoader)
    for one, other in zip(ours, theirs, strict=True):
        assert list(one) == list(other)
        assert all(torch.equal(one[name], other[name]) and one[name].dtype == other[name].dtype for name in one)


def test_a_function_of_the_package_that_was_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = table().with_format("torch")
    formatter = datasets.formatting.TorchFormatter
    batch_of = formatter.format_batch
    monkeypatch.setattr(formatter, "format_batch", lambda self, rows: {"int8": batch_of(self, rows)["int8"] * 2})
    check(Program(loader_of(whole, batch_size=5)), native=False)


def test_a_subclass_is_python_s() -> None:
    class Doubled(datasets.Dataset):  # type: ignore[misc, name-defined, valid-type]
        def __getitems__(self, keys: list[int]) -> Any:
            return [{"x": 2 * key} for key in keys]

    whole = table().with_format("torch")
    whole.__class__ = Doubled
    check(Program(loader_of(whole, batch_size=5)), native=False)


def test_a_file_that_was_put_in_the_place_of_the_dataset_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goloader.plan.datasets.known.hugging_face._KEPT_BYTES_MAX", 0)
    whole = stored(table(), tmp_path / "set").with_format("torch", columns=["int64", "tokens"])
    other = stored(table(23, 1), tmp_path / "other")
    loader = goloader.DataLoader(whole, batch_size=5)
    before = list(loader)
    assert rows_of(loader) == ["Go"]
    (file,) = (each["filename"] for each in whole.cache_files)
    shutil.copy(other.cache_files[0]["filename"], tmp_path / "new.arrow")
    os.replace(tmp_path / "new.arrow", file)  # the dataset has the old one mapped
    for one, other_batch in zip(before, loader, strict=True):
        assert torch.equal(one["tokens"], other_batch["tokens"])
        assert torch.equal(one["int64"], other_batch["int64"])
