"""Classes of one's own that load a .npy file for each sample, look numbers up, or number the words of a text: batches,
errors and what is seen of changes are torch's."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import ConcatDataset, Dataset, Subset
from twins import Program, batches, check, errors, loader_of

import goloader

WORKERS = pytest.mark.parametrize("num_workers", [0, 1, 3])
COUNT = 17
NAMES = [f"sample{number}" for number in range(COUNT)]
TEXTS = ["a b b", "c", "b c a a c", "b", "a a"]


class Over(Dataset[Any]):
    """Takes its attributes as arguments."""

    names: Any = NAMES
    root: Any
    kinds: Any
    kind_of: Any
    texts: Any
    table: Any

    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)

    def __len__(self) -> int:
        return len(self.names)


class Joined(Over):
    def __getitem__(self, i: int) -> Any:
        x = np.load(os.path.join(self.root, self.names[i] + ".npy"))
        return torch.from_numpy(x), i


class Formatted(Over):
    def __getitem__(self, i: int) -> Any:
        return np.load(f"{self.root}/{self.names[i]}.npy", allow_pickle=True)


class ByNumber(Over):
    def __getitem__(self, i: int) -> Any:
        return {"x": np.load(f"{self.root}/sample{i}.npy").astype(np.float32)}


class Reckoned(Over):
    def __getitem__(self, i: int) -> Any:
        x = torch.from_numpy(np.load(Path(self.root) / f"{self.names[i]}.npy").astype(np.float32)) / 255.0
        return x.permute(1, 0).unsqueeze(0), self.kind_of[self.kinds[i]]


class Both(Over):
    """An array and another beside it, of which some is given."""

    def __getitem__(self, i: int) -> Any:
        x = np.load(os.path.join(self.root, self.names[i] + ".npy"))
        y = np.load(os.path.join(self.root, "masks", self.names[i] + ".npy"))
        return x[:2] * 2, torch.as_tensor(y), torch.tensor(x.shape[0])


class Worded(Over):
    def __getitem__(self, i: int) -> Any:
        return torch.tensor([self.table[word] for word in self.texts[i].split()]), torch.LongTensor(
            [self.table.get(each, 7) for each in self.texts[i]]
        )


class Spoken(Over):
    """A text and an array, as models of speech have them."""

    def get_text(self, text: str) -> torch.Tensor:
        return torch.IntTensor([self.table[each] for each in text])

    def __getitem__(self, i: int) -> Any:
        text = self.get_text(self.kinds[i])
        return text, torch.from_numpy(np.load(os.path.join(self.root, self.names[i] + ".npy"))).float()


def padded(batch: Any) -> Any:
    firsts = pad_sequence([each[0] for each in batch], batch_first=True)
    seconds = pad_sequence([each[1] for each in batch], batch_first=True, padding_value=9)
    return firsts, seconds, torch.tensor([len(each[1]) for each in batch])


def first_padded(batch: Any) -> Any:
    return pad_sequence([each[0] for each in batch], batch_first=True)


def save(folder: Path, shape: Callable[[int], tuple[int, ...]], dtype: Any = np.int16) -> Path:
    """A file for each name."""
    folder.mkdir(exist_ok=True)
    for number, name in enumerate(NAMES):
        noise = np.random.default_rng(number).integers(0, 100, shape(number))
        np.save(folder / f"{name}.npy", noise.astype(dtype))
    return folder


def program(dataset: Any, num_workers: int, **arguments: Any) -> Program:
    return Program(loader_of(dataset, **{"batch_size": 4, "shuffle": True, "num_workers": num_workers, **arguments}))


@WORKERS
def test_arrays_of_files_are_torchs(num_workers: int, tmp_path: Path) -> None:
    save(tmp_path, lambda number: (3, 5))
    save(tmp_path / "masks", lambda number: (2, 2), np.uint8)
    kinds = [f"kind{number % 3}" for number in range(COUNT)]
    of_kind = {"kind0": 5, "kind1": 0, "kind2": -1}
    for dataset in (
        Joined(root=str(tmp_path)),
        Formatted(root=tmp_path),
        ByNumber(root=str(tmp_path)),
        Reckoned(root=str(tmp_path), kinds=kinds, kind_of=of_kind),
        Both(root=str(tmp_path)),
    ):
        assert batches(check(program(dataset, num_workers)))
    parts = [Subset(Formatted(root=tmp_path), [3, 0, 16]), Formatted(root=tmp_path)]
    check(program(ConcatDataset(parts), num_workers))


@WORKERS
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32", "float64", "complex64"])
def test_each_type_of_item_is_torchs(dtype: str, num_workers: int, tmp_path: Path) -> None:
    check(program(Formatted(root=save(tmp_path / "numbers", lambda number: (), dtype)), num_workers))
    check(program(Formatted(root=save(tmp_path / "arrays", lambda number: (40, 3), dtype)), num_workers))


@pytest.mark.slow  # many seconds
@WORKERS
def test_arrays_that_differ_in_length_are_put_together_by_go(num_workers: int, tmp_path: Path) -> None:
    kinds = [TEXTS[number % len(TEXTS)] for number in range(COUNT)]
    table = {" ": 3, "a": 0, "b": 70000, "c": 2}
    shapes: list[Callable[[int], tuple[int, ...]]] = [
        lambda number: (1 + number % 5,),
        lambda number: (9 - number % 4, 2, 3),
    ]
    for number, shape in enumerate(shapes):
        root = str(save(tmp_path / str(number), shape))
        dataset = Spoken(root=root, kinds=kinds, table=table)
        assert batches(check(program(dataset, num_workers, collate_fn=lambda: padded)))
        check(program(Joined(root=root), num_workers, collate_fn=lambda: first_padded))
        assert errors(check(program(Joined(root=root), num_workers), native=False))


@WORKERS
def test_words_and_characters_are_numbered(num_workers: int) -> None:
    texts = [TEXTS[number % len(TEXTS)] for number in range(200)]
    table = {"a": 0, "b": 70000, "c": 2}
    dataset = Worded(texts=texts, table=table, names=texts)
    check(program(dataset, num_workers, batch_size=100, collate_fn=lambda: padded))

    def change(epoch: int, loader: Any) -> None:
        loader.dataset.texts[3] = "c c c c c c c c"
        loader.dataset.table["a"] = epoch

    arguments = loader_of(dataset, batch_size=100, num_workers=num_workers, collate_fn=lambda: padded)
    check(Program(arguments, epochs=3, before=change))
    # A word that has no number is an error of the class's.
    lacking = Worded(texts=["a", "d"], table=table, names=texts[:2])
    assert errors(check(program(lacking, num_workers, collate_fn=lambda: padded), native=False))


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def behead(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:60])


def empty(file: Path) -> None:
    file.write_bytes(b"")


def lengthen(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"more")


def pickled(file: Path) -> None:
    np.save(file, np.array([{}, None], object))


def widen(file: Path) -> None:
    np.save(file, np.ones((3, 5)))


def of_fortran(file: Path) -> None:
    np.save(file, np.asfortranarray(np.arange(15, dtype=np.int16).reshape(3, 5)))


def swapped(file: Path) -> None:
    np.save(file, np.arange(15, dtype=">i2").reshape(3, 5))


def other_version(file: Path) -> None:
    with open(file, "wb") as opened:
        np.lib.format.write_array(opened, np.arange(15, dtype=np.int16).reshape(3, 5), version=(2, 0))


def otherwise_written(file: Path) -> None:
    content = file.read_bytes().replace(b"(3, 5), }  ", b"(3,   5),} ")
    assert b"(3,   5)" in content
    file.write_bytes(content)


def compressed(file: Path) -> None:
    np.savez(file.with_suffix(".npz"), x=np.ones(3))
    os.replace(file.with_suffix(".npz"), file)


def folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def longer(file: Path) -> None:
    np.save(file, np.ones((4, 5), np.int16))


def other_numbers(file: Path) -> None:
    np.save(file, np.full((3, 5), -1, np.int16))


CHANGES = [
    Path.unlink, truncate, behead, empty, lengthen, pickled, widen, of_fortran, swapped, other_version,
    otherwise_written, compressed, folder, longer, other_numbers,
]  # fmt: skip


@WORKERS
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("differ", [False, True])
def test_files_that_change_are_seen(change: Any, differ: bool, num_workers: int, tmp_path: Path) -> None:
    def begin(epoch: int, loader: Any) -> None:
        """The second epoch finds another file, the third the first one again."""
        shutil.rmtree(tmp_path / "files", ignore_errors=True)
        save(tmp_path / "files", lambda number: (3 + (differ and number % 2), 5))
        if epoch == 1:
            change(tmp_path / "files" / f"{NAMES[8]}.npy")

    begin(0, None)
    collate = padded if differ else None
    dataset = Spoken if differ else Joined
    attributes = {"kinds": NAMES, "table": dict.fromkeys("".join(NAMES), 1)} if differ else {}
    given = dataset(root=str(tmp_path / "files"), **attributes)
    arguments = loader_of(given, batch_size=4, num_workers=num_workers, collate_fn=lambda: collate)
    check(Program(arguments, epochs=3, before=begin))


@WORKERS
@pytest.mark.parametrize("change", [of_fortran, swapped, pickled, Path.unlink, compressed, empty])
def test_other_files_than_numpys_plain_ones_are_torchs(change: Any, num_workers: int, tmp_path: Path) -> None:
    save(tmp_path, lambda number: (3, 5))
    for name in NAMES:
        change(tmp_path / f"{name}.npy")
    check(program(Joined(root=str(tmp_path)), num_workers), native=False)


@WORKERS
def test_few_files_of_another_kind_are_read_by_the_class(num_workers: int, tmp_path: Path) -> None:
    names = [f"sample{number}" for number in range(120)]
    for number, name in enumerate(names):
        np.save(tmp_path / f"{name}.npy", np.full((1 + number % 3, 2), number, np.float32))
    np.save(tmp_path / "sample50.npy", np.ones((0, 2), np.float32))
    dataset = Spoken(root=str(tmp_path), names=names, kinds=names, table=dict.fromkeys("".join(names), 1))
    check(program(dataset, num_workers, collate_fn=lambda: padded))
    (tmp_path / "sample50.npy").unlink()
    assert errors(check(program(dataset, num_workers, collate_fn=lambda: padded)))


@WORKERS
def test_paths_and_numbers_that_change_are_seen(num_workers: int, tmp_path: Path) -> None:
    save(tmp_path / "one", lambda number: (3, 5))
    save(tmp_path / "other", lambda number: (3, 5), np.float64)
    dataset = Reckoned(root=str(tmp_path / "one"), kinds=["a", "b"] * 9, kind_of={"a": 1, "b": 2})
    dataset.names = list(NAMES)

    def change(epoch: int, loader: Any) -> None:
        given = loader.dataset
        if epoch == 1:
            given.names[2], given.kind_of["a"] = NAMES[5], 9
        if epoch == 2:
            given.root, given.kinds[4] = str(tmp_path / "other"), "b"
        if epoch == 3:
            given.names.append("missing")
            given.kinds[5] = "c"

    arguments = lambda: {"dataset": Reckoned(**{**vars(dataset), "names": list(NAMES), "kinds": ["a", "b"] * 9,  # noqa: E731
        "kind_of": {"a": 1, "b": 2}}), "batch_size": 4, "num_workers": num_workers}  # fmt: skip
    check(Program(arguments, epochs=4, before=change))


@WORKERS
def test_a_relative_path_begins_where_torchs_does(
    num_workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path / "one", lambda number: (3, 5))
    (tmp_path / "two").mkdir()
    save(tmp_path / "two" / "one", lambda number: (3, 5), np.int16)
    np.save(tmp_path / "two" / "one" / f"{NAMES[4]}.npy", np.zeros((3, 5), np.int16))

    def move(epoch: int, loader: Any) -> None:
        monkeypatch.chdir(tmp_path / ("two" if epoch == 1 else ""))

    monkeypatch.chdir(tmp_path)
    check(Program(loader_of(Joined(root="one"), batch_size=4, num_workers=num_workers), epochs=3, before=move))


class ForNothing(Over):
    def __getitem__(self, i: int) -> Any:
        x = np.load(os.path.join(self.root, self.names[i] + ".npy"))
        return torch.tensor(x.shape[0] + i)


class Mapped(Over):
    def __getitem__(self, i: int) -> Any:
        return np.array(np.load(os.path.join(self.root, self.names[i] + ".npy"), mmap_mode="r"))


class Named(Over):
    def __getitem__(self, i: int) -> Any:
        path = os.path.join(self.root, self.names[i] + ".npy")
        return torch.from_numpy(np.load(path)), self.names[i], {"path": path, "more": (i, os.path.basename(path))}


class NamedRows(Over):
    def __getitem__(self, i: int) -> Any:
        return {"name": self.names[i], "x": self.texts[i], "kind": self.kinds[i][0]}


class OnlyNames(Over):
    def __getitem__(self, i: int) -> Any:
        return self.names[i], self.names[i].upper()


def named(batch: Any) -> Any:
    return [each[1] for each in batch], torch.stack([each[0] for each in batch]), [each[2] for each in batch]


@WORKERS
def test_texts_are_beside_arrays(num_workers: int, tmp_path: Path) -> None:
    save(tmp_path, lambda number: (3, 5))
    dataset = Named(root=str(tmp_path))
    assert batches(check(program(dataset, num_workers)))
    assert batches(check(program(dataset, num_workers, collate_fn=lambda: named)))
    parts = [Subset(Named(root=str(tmp_path)), [3, 0, 16]), Named(root=str(tmp_path))]
    check(program(ConcatDataset(parts), num_workers))
    check(program(Subset(dataset, [5, 5, 1]), num_workers))
    rows = NamedRows(texts=torch.rand(COUNT, 3), kinds=[[name, "more"] for name in NAMES])
    check(program(rows, num_workers))
    check(program(OnlyNames(), num_workers), native=False)


@WORKERS
def test_texts_that_change_are_seen(num_workers: int, tmp_path: Path) -> None:
    save(tmp_path, lambda number: (3, 5))

    def change(epoch: int, loader: Any) -> None:
        if epoch == 1:
            loader.dataset.kinds[4] = ["other"]
        if epoch == 2:
            loader.dataset.kinds[4] = [7]  # of which torch makes an error

    def made() -> Any:
        return NamedRows(texts=torch.rand(COUNT, 3), kinds=[[name] for name in NAMES])

    found = check(Program(loader_of(made, batch_size=4, num_workers=num_workers), epochs=3, before=change))
    assert errors(found)


@pytest.mark.parametrize("kind", [ForNothing, Mapped])
def test_what_does_more_is_torchs(kind: Any, tmp_path: Path) -> None:
    save(tmp_path, lambda number: (3, 5))
    check(program(kind(root=str(tmp_path)), 0), native=False)


def dropped(batch: Any) -> Any:
    return torch.stack([each[1] for each in batch])


class Twice(Over):
    def __getitem__(self, i: int) -> Any:
        x = np.load(os.path.join(self.root, self.names[i] + ".npy"))
        return torch.from_numpy(x), torch.tensor(i)


@WORKERS
def test_a_file_that_a_collate_fn_leaves_out_may_be_missing(num_workers: int, tmp_path: Path) -> None:
    save(tmp_path, lambda number: (3, 5))
    (tmp_path / f"{NAMES[7]}.npy").unlink()
    assert errors(check(program(Twice(root=str(tmp_path)), num_workers, collate_fn=lambda: dropped)))


def test_np_load_that_was_replaced_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path, lambda number: (3, 5))
    loader: Any = goloader.DataLoader(Formatted(root=tmp_path), batch_size=4)
    first = [each.clone() for each in loader]
    load = np.load
    monkeypatch.setattr(np, "load", lambda *given, **named: load(*given, **named) + 1)
    assert all(torch.equal(after, before + 1) for after, before in zip(loader, first, strict=True))
    check(program(Formatted(root=tmp_path), 0), native=False)


class Given(Dataset[Any]):
    """Records that are given as they are, beside the index."""

    def __init__(self, records: Any) -> None:
        self.records = records

    def __getitem__(self, i: int) -> Any:
        return self.records[i], i

    def __len__(self) -> int:
        return len(self.records)


LONGER = {
    "lists": [[k] * (3 + (k > 5)) for k in range(12)],
    "tuples of texts": [("a", str(k)) + ("b",) * (k > 5) for k in range(12)],
    "dicts": [{"x": k, "y": k / 2} | ({"z": 1} if k > 5 else {}) for k in range(12)],
    "names in another order": [{"x": k, "y": 2} if k > 5 else {"y": 2, "x": k} for k in range(12)],
    "lists in dicts": [{"x": [k] * (2 + (k > 5))} for k in range(12)],
    "several types": [[k, k] if k > 5 else (k, k) for k in range(12)],
}


@pytest.mark.parametrize("records", LONGER.values(), ids=LONGER)
@pytest.mark.parametrize("batch_size", [1, 4])
def test_records_that_differ_are_given_whole(batch_size: int, records: Any) -> None:
    check(Program(loader_of(Given(records), batch_size=batch_size)), native=False)


@pytest.mark.parametrize(
    ("record", "change"),
    [
        ([1, 2], lambda record: record.append(3)),
        ({"x": 1, "name": "a"}, lambda record: record.update(y=2)),
        ({"name": "a"}, lambda record: record.update(more="b")),
    ],
)
@WORKERS
def test_records_that_grow_are_seen(num_workers: int, record: Any, change: Any) -> None:
    def grow(epoch: int, loader: Any) -> None:
        if epoch == 1:
            change(loader.dataset.records[5])

    def made() -> Any:
        return Given([record.copy() for _ in range(12)])

    check(Program(loader_of(made, batch_size=4, num_workers=num_workers), before=grow))
