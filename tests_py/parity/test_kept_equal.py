"""Classes whose samples their own code makes, each once (plan/datasets/own/kept.py): our batches are torch's."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch.utils import data
from twins import Program, check, generator, loader_of, run

import goloader
from goloader.doors.same import difference
from goloader.plan import planner
from goloader.plan.collates.own import compiler
from goloader.plan.datasets.own import kept

COUNT = 23
TEXTS = [" ".join("abcdefgh"[(n + k) % 8] * (1 + k % 3) for k in range(2 + n % 7)) for n in range(COUNT)]
SCALE = 2.0


@pytest.fixture(autouse=True)
def at_any_price(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small samples are kept even where to look at what they are made of takes longer."""
    monkeypatch.setattr(kept, "LOOK_MAX", math.inf)
    monkeypatch.setattr(kept, "SAMPLE_S_MIN", 0.0)
    monkeypatch.setattr(kept, "ALL_S_MAX", math.inf)
    monkeypatch.setattr(compiler, "PAYS_FROM", dict.fromkeys(compiler.PAYS_FROM, 0))


class Base(data.Dataset[Any]):
    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.x = rng.standard_normal((COUNT, 4, 3)).astype(np.float32)
        self.tensor = torch.from_numpy(rng.standard_normal((COUNT, 5)))
        self.rows = [rng.standard_normal(n % 5 + 1).astype(np.float32) for n in range(COUNT)]
        self.texts, self.vocab = list(TEXTS), {word: n for n, word in enumerate(sorted({*" ".join(TEXTS).split()}))}
        self.df = pd.DataFrame({"a": np.arange(COUNT) / 7, "b": np.arange(COUNT), "name": TEXTS})
        self.stride = 2

    def __len__(self) -> int:
        return COUNT


class Standardised(Base):
    def __getitem__(self, i: int) -> Any:
        row = self.tensor[i]
        return torch.sigmoid((row - row.mean()) / (row.std() + 1e-6)), int(i % self.stride), float(i) / 3


class Padded(Base):
    def __getitem__(self, i: int) -> Any:
        ids = [self.vocab.get(word, 0) for word in self.texts[i].split()][:5]
        mask = [1] * len(ids) + [0] * (5 - len(ids))
        ids = ids + [0] * (5 - len(ids))
        return {"ids": torch.tensor(ids), "mask": np.array(mask), "text": self.texts[i], "flag": bool(ids[0] % 2)}


class Table(Base):
    def __getitem__(self, i: int) -> Any:
        row = self.df.iloc[i]
        return np.array([row["a"], row["b"]], dtype=np.float32) * SCALE, [np.float32(self.df["a"].mean()), row["name"]]


class Columns(Base):
    """Columns of a table as pandas gives them, and as numpy has them."""

    def __init__(self) -> None:
        super().__init__()
        self.names, self.objects = self.df["name"].values, np.array(self.texts, object)

    def __getitem__(self, i: int) -> Any:
        words = [*self.names[i].split(), *self.objects[i].split()]
        return torch.tensor([self.vocab.get(word, 0) for word in words][:4]), str(self.names[i])


class OneHot(Base):
    def __getitem__(self, i: int) -> Any:
        onehot = torch.zeros(8)
        onehot[self.vocab[self.texts[i].split()[0]] % 8] = 1.0
        return onehot, torch.sigmoid(self.tensor[i]), self.x[i].transpose(1, 0).copy()


class Ragged(Base):
    def __getitem__(self, i: int) -> Any:
        row = torch.from_numpy(self.rows[i])
        return torch.cumsum(row, 0), row.sum().item()


def padded(batch: Any) -> Any:
    rows = torch.nn.utils.rnn.pad_sequence([row for row, _ in batch], batch_first=True)
    return rows, torch.tensor([y for _, y in batch])


KINDS: dict[str, tuple[type[Base], dict[str, Any]]] = {
    "standardised": (Standardised, {}),
    "padded": (Padded, {}),
    "table": (Table, {}),
    "columns": (Columns, {}),
    "one hot": (OneHot, {}),
    "ragged": (Ragged, {"collate_fn": lambda: padded}),
}


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_batches_are_torch_s(kind: str, workers: int) -> None:
    made, options = KINDS[kind]
    arguments = loader_of(lambda: made(), batch_size=4, shuffle=True, num_workers=workers, **options)
    check(Program(arguments, epochs=3))
    assert "each sample, once" in str(goloader.DataLoader(**arguments()).explain())


@pytest.mark.parametrize("workers", [0, 2])
def test_in_other_datasets(workers: int) -> None:
    def joined() -> Any:
        one, two = Padded(), Padded()
        return data.ConcatDataset([data.Subset(one, [3, 1, 3]), two, data.Subset(one, range(20))])

    check(Program(loader_of(joined, batch_size=4, shuffle=True, num_workers=workers)))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("integers", [np.array, torch.tensor])
def test_subsets_by_integers_that_are_no_ints(integers: Any, workers: int) -> None:
    places = integers([3, 1, 4, 1, 5])
    check(Program(loader_of(lambda: data.Subset(Padded(), places), batch_size=2, shuffle=True, num_workers=workers)))
    check(Program(loader_of(Padded(), batch_size=2, sampler=[*places], num_workers=workers)))


class GivesIndex(Padded):
    def __getitem__(self, i: int) -> Any:
        return super().__getitem__(i)["ids"], torch.tensor(i / 3)


def test_a_subset_by_integers_of_what_reckons_with_the_index() -> None:
    check(Program(loader_of(lambda: data.Subset(GivesIndex(), np.arange(9)), num_workers=1)), native=False)


def test_what_is_refused_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looks, made = [], planner.make
    monkeypatch.setattr(planner, "make", lambda loader: looks.append(loader) or made(loader))  # type: ignore[func-returns-value]
    for refused in (data.Subset(GivesIndex(), np.arange(9)), data.ConcatDataset([GivesIndex(), OneHot()])):
        looks.clear()
        loader: Any = goloader.DataLoader(refused, num_workers=1)
        for _ in range(3):
            iter(loader)
        assert len(looks) == 1


def test_what_is_refused_is_not_looked_at_in_each_epoch_that_changes_an_attribute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks, made = [], planner.make
    monkeypatch.setattr(planner, "make", lambda loader: looks.append(loader) or made(loader))  # type: ignore[func-returns-value]
    loader: Any = goloader.DataLoader(NoneAtTimes(), num_workers=1)
    for epoch in range(9):
        loader.dataset.epoch = epoch
        iter(loader)
    assert len(looks) == 4


class ChangesIt(data.Sampler[int]):
    """Changes its dataset as it is asked for indices, when torch's workers have theirs."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __iter__(self) -> Iterator[int]:
        for n in range(COUNT):
            self.dataset.stride = 2 + n // 5
            yield n


@pytest.mark.parametrize("workers", [0, 2])
def test_a_sampler_that_changes_the_dataset(workers: int) -> None:
    def arguments() -> dict[str, Any]:
        dataset = Standardised()
        return {"dataset": dataset, "sampler": ChangesIt(dataset), "batch_size": 4, "num_workers": workers}

    check(Program(arguments, epochs=3))


def set_item(dataset: Any) -> None:
    dataset.texts[5] = "a bb"


CHANGES: dict[str, tuple[type[Base], Callable[[Any], Any]]] = {
    "a tensor, in place": (Standardised, lambda dataset: dataset.tensor.mul_(3)),
    "a tensor, by its array": (Standardised, lambda dataset: dataset.tensor.numpy().__setitem__(3, 7.0)),
    "an attribute": (Standardised, lambda dataset: setattr(dataset, "stride", 3)),
    "a list's item": (Padded, set_item),
    "a dict's item": (Padded, lambda dataset: dataset.vocab.update(a=77)),
    "a table's cell": (Table, lambda dataset: dataset.df.__setitem__("a", dataset.df["a"] + 1)),
    "a column's item": (Columns, lambda dataset: dataset.names.__setitem__(3, "a bb c dd")),
    "an array's object": (Columns, lambda dataset: dataset.objects.__setitem__(0, "a bb c dd")),
    "a table's item, in place": (Table, lambda dataset: dataset.df.iloc.__setitem__((4, 0), -3.0)),
    "a global variable": (Table, lambda dataset: globals().__setitem__("SCALE", 5.0)),
    "the length": (Padded, lambda dataset: dataset.texts.append("a")),
    "a list's array, in place": (Ragged, lambda dataset: dataset.rows[2].__setitem__(0, 9.0)),
    "its code": (
        Standardised,
        lambda dataset: setattr(dataset, "__class__", type("Other", (Base,), {"__getitem__": OneHot.__getitem__})),
    ),
}


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("what", CHANGES)
def test_what_is_changed_between_epochs_is_seen(what: str, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, change = CHANGES[what]
    options = {"collate_fn": lambda: padded} if kind is Ragged else {}
    monkeypatch.setitem(globals(), "SCALE", 2.0)

    def before(epoch: int, loader: Any) -> None:
        globals()["SCALE"] = 2.0 if epoch == 0 else SCALE
        if epoch == 1:
            change(loader.dataset)

    check(Program(loader_of(lambda: kind(), batch_size=4, num_workers=workers, **options), epochs=3, before=before))


@pytest.mark.parametrize("what", CHANGES)
def test_what_is_changed_in_an_epoch_is_seen_in_the_next_batch(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, change = CHANGES[what]
    seen = []
    for loaders in (goloader.DataLoader, data.DataLoader):
        monkeypatch.setitem(globals(), "SCALE", 2.0)
        loader: Any = loaders(kind(), batch_size=4, collate_fn=padded if kind is Ragged else None)
        batches = []
        for number, batch in enumerate(loader):
            batches.append(batch)
            if number == 1:
                change(loader.dataset)
        seen.append(batches)
    assert difference(*seen) is None


class Fails(Base):
    def __getitem__(self, i: int) -> Any:
        return torch.tensor([self.vocab[self.texts[i].split()[0]], 1.0 / (i - 9)])


class Differs(Base):
    """Sample 10 is unlike the others, and none of those that are looked at beforehand."""

    def __getitem__(self, i: int) -> Any:
        row = self.tensor[i] - self.tensor[i].mean()
        return row.float() if i == 10 else row


class DiffersFirst(Base):
    """The same in front of a batch: a worker makes all of it of that one's dtype."""

    def __getitem__(self, i: int) -> Any:
        row = self.tensor[i] - self.tensor[i].mean()
        return {"x": row.float() if i == 8 else row, "y": row.sum().item()}


class Longer(Base):
    def __getitem__(self, i: int) -> Any:
        row = self.tensor[i] - self.tensor[i].mean()
        return torch.cat([row, row]) if i == 10 else row


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", [Fails, Differs, DiffersFirst, Longer])
def test_samples_that_fail_or_differ_are_their_own_code_s(kind: type[Base], workers: int) -> None:
    check(Program(loader_of(lambda: kind(), batch_size=1 if kind is Longer else 4, num_workers=workers)))


class Draws(Standardised):
    def __getitem__(self, i: int) -> Any:
        return torch.special.gammaln(self.tensor[i].abs() + 1).mean() + random.random()


class DrawsByTorch(Standardised):
    def __getitem__(self, i: int) -> Any:
        return torch.special.gammaln(self.tensor[i].abs() + 1).mean() + torch.rand(1)


class Counts(Standardised):
    def __getitem__(self, i: int) -> Any:
        self.stride += 1
        return self.tensor[i].mean() + self.stride


class Caches(Standardised):
    def __getitem__(self, i: int) -> Any:
        self.texts.append("a")
        return self.tensor[i].mean() + len(self.texts)


class Writes(Standardised):
    def __getitem__(self, i: int) -> Any:
        row = self.tensor[i]
        row[0] += 1
        return row.mean()


class WritesThroughAView(Standardised):
    def __getitem__(self, i: int) -> Any:
        row = torch.from_numpy(self.x[i])
        row += 1
        return row.mean()


class Opens(Standardised):
    def __getitem__(self, i: int) -> Any:
        return self.tensor[i].mean() + len(open("/proc/self/stat").read())


class Warns(Standardised):
    def __getitem__(self, i: int) -> Any:
        return torch.tensor(self.tensor[i]).mean()


def by_names(i: int) -> Any:
    return random.random()


class OfLists(Base):
    def __init__(self) -> None:
        super().__init__()
        self.df["lists"] = [[n] for n in range(COUNT)]

    def __getitem__(self, i: int) -> Any:
        return torch.special.gammaln(self.tensor[i].abs() + 1).mean() + self.df["lists"][i][0]


class CallsOthers(Standardised):
    def __getitem__(self, i: int) -> Any:
        return torch.special.gammaln(self.tensor[i].abs() + 1).mean() + by_names(i)


class NoneAtTimes(Standardised):
    def __getitem__(self, i: int) -> Any:
        return self.tensor[i] - self.tensor[i].mean() if i % 3 == 0 else None


@pytest.mark.parametrize(
    "kind",
    [Draws, DrawsByTorch, Counts, Caches, Writes, WritesThroughAView, Opens, Warns, OfLists, CallsOthers, NoneAtTimes],
)
def test_code_that_may_do_more_is_run_each_time(kind: type[Base]) -> None:
    """Such a class is torch's, and gives what it gives there."""
    program = Program(loader_of(lambda: kind(), batch_size=4), before=lambda epoch, loader: random.seed(epoch))
    if kind is not Opens:
        check(program, native=False)
    assert goloader.DataLoader(kind(), batch_size=4).explain().codes[0] == "CODE_UNREAD"


class Codec:
    def bytes(self, text: str) -> list[int]:
        return [len(word) for word in text.split()][:2]


class NamedAsNumpyOnceWas(Base):
    """numpy warns of `np.bytes` where it is asked for that."""

    def __init__(self) -> None:
        super().__init__()
        self.codec = Codec()

    def __getitem__(self, i: int) -> Any:
        return torch.tensor(self.codec.bytes(self.texts[i])), i


class CollateNamedAsNumpyOnceWas:
    def bytes(self, x: Any) -> Any:
        return x + 1

    def __call__(self, batch: Any) -> Any:
        return [self.bytes(x) for x, _ in batch], [y if y % 2 else None for _, y in batch]


@pytest.mark.parametrize("collate", [None, CollateNamedAsNumpyOnceWas()])
def test_no_library_is_asked_for_what_a_program_names(collate: Any) -> None:
    numbers = torch.arange(COUNT)
    dataset: Any = data.TensorDataset(numbers, numbers) if collate else NamedAsNumpyOnceWas()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        want = [*data.DataLoader(dataset, 4, collate_fn=collate)]
        assert difference(want, [*goloader.DataLoader(dataset, 4, collate_fn=collate, num_workers=1)]) is None
    assert not [each for each in caught if each.category is FutureWarning]


def test_each_sample_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    keep = kept.Kept._keep
    monkeypatch.setattr(kept.Kept, "_keep", lambda self, rows, them: made.extend(rows) or keep(self, rows, them))
    loader = goloader.DataLoader(Padded(), batch_size=4)
    assert loader.explain().native
    for _ in range(3):
        list(loader)
    assert sorted(made) == list(range(COUNT))


def test_more_samples_than_workers_share_are_made_by_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "ALL_S_MAX", 0.0)
    assert goloader.DataLoader(Padded(), num_workers=0).explain().native
    explained = goloader.DataLoader(Padded(), num_workers=2, in_order=False).explain()
    assert not explained.native and "which workers share" in str(explained)


@pytest.fixture
def by_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept is taken from batches of torch's workers."""
    monkeypatch.setattr(kept, "ALL_S_MAX", 0.0)


@pytest.mark.usefixtures("by_workers")
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_workers_make_samples_once(kind: str, workers: int) -> None:
    made, options = KINDS[kind]
    arguments = loader_of(lambda: made(), batch_size=4, shuffle=True, num_workers=workers, **options)
    check(Program(arguments, epochs=4), native=False)
    loader: goloader.DataLoader[Any] = goloader.DataLoader(**arguments())
    assert "KEPT_LATER" in loader.explain().codes
    list(loader)
    assert loader.explain().native


@pytest.mark.usefixtures("by_workers")
@pytest.mark.parametrize("leave", [(None,), (2, None), (0, 1, None), (3,)], ids=str)
@pytest.mark.parametrize(
    "options",
    [
        {"drop_last": True, "shuffle": True, "generator": generator},
        {"sampler": lambda: data.WeightedRandomSampler([1.0] * COUNT, COUNT)},
        {"batch_sampler": lambda: [[3, 1, 3], [22], [*range(20)]]},
        {"sampler": lambda: [-1, 5, -3, 2]},
        {"sampler": lambda: [torch.tensor(3), 1, np.int64(2), True]},
        {"persistent_workers": True},
        {"worker_init_fn": lambda: seeded},
        {"worker_init_fn": lambda: strided},
        {"batch_size": None},
        {"collate_fn": lambda: list},
    ],
    ids=lambda options: next(iter(options)),
)
def test_epochs_of_workers_of_every_kind(options: dict[str, Any], leave: tuple[int | None, ...]) -> None:
    own = {} if {"batch_size", "batch_sampler"} & {*options} else {"batch_size": 4}
    arguments = loader_of(lambda: Standardised(), num_workers=2, **own, **options)
    check(Program(arguments, epochs=5, leave=leave, draw=True), native=None)


@pytest.mark.usefixtures("by_workers")
def test_workers_that_are_not_forked_make_samples_once() -> None:
    arguments = loader_of(lambda: Padded(), batch_size=4, num_workers=1, multiprocessing_context="spawn")
    check(Program(arguments, epochs=2), native=False)
    loader: goloader.DataLoader[Any] = goloader.DataLoader(**arguments())
    list(loader)
    assert loader.explain().native


@pytest.mark.usefixtures("by_workers")
@pytest.mark.parametrize("leave", [(None,), (2, None), (None, 2)], ids=str)
@pytest.mark.parametrize("changed", [None, 1, 2, 3])
def test_persistent_workers_end_once_all_is_kept(changed: int | None, leave: tuple[int | None, ...]) -> None:
    """They have the dataset as it was when they began."""
    begun: list[Any] = []

    def before(epoch: int, loader: Any) -> None:
        if type(loader) is goloader.DataLoader:
            begun.append(getattr(loader._iterator, "_workers", None))
        if epoch == changed:
            loader.dataset.tensor.mul_(2)

    arguments = loader_of(
        lambda: Standardised(), batch_size=4, shuffle=True, num_workers=2, persistent_workers=True, generator=generator
    )
    program = Program(arguments, epochs=5, leave=leave, draw=True, before=before)
    check(program, native=False)
    assert [None if each is None else len(each) for each in begun][:3] == [
        None,
        2,
        2 if changed == 1 or leave[0] else 0,
    ]


def seeded(worker: int) -> None:
    random.seed(worker)


def strided(worker: int) -> None:
    """Changes what a worker's samples are made of."""
    info: Any = data.get_worker_info()
    info.dataset.stride = 3 + worker


@pytest.mark.usefixtures("by_workers")
@pytest.mark.parametrize("init_fn", [seeded, strided])
def test_samples_of_a_changed_dataset_are_not_kept(init_fn: Callable[[int], None]) -> None:
    def before(epoch: int, loader: Any) -> None:
        loader.worker_init_fn = init_fn if epoch == 0 else None

    check(
        Program(loader_of(lambda: Standardised(), batch_size=4, num_workers=2), epochs=3, before=before), native=False
    )


@pytest.mark.usefixtures("by_workers")
@pytest.mark.parametrize("what", [name for name, (kind, _) in CHANGES.items() if kind is not Ragged])
@pytest.mark.parametrize("epoch", [1, 2])
def test_changes_between_epochs_of_workers_are_seen(what: str, epoch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, change = CHANGES[what]
    monkeypatch.setitem(globals(), "SCALE", 2.0)

    def before(now: int, loader: Any) -> None:
        globals()["SCALE"] = 2.0 if now == 0 else SCALE
        if now == epoch:
            change(loader.dataset)

    check(Program(loader_of(lambda: kind(), batch_size=4, num_workers=2), epochs=5, before=before), native=False)


@pytest.mark.usefixtures("by_workers")
def test_a_change_in_an_epoch_of_workers_is_seen_after_it() -> None:
    seen = []
    for loaders in (goloader.DataLoader, data.DataLoader):
        loader: Any = loaders(Standardised(), batch_size=4, num_workers=2)
        epochs = []
        for epoch in range(4):
            for batch in loader:
                epochs.append(batch)
                if epoch == 0:
                    loader.dataset.tensor.add_(1)  # of the parent's dataset alone
        seen.append(epochs)
    assert difference(*seen) is None


class DiffersInType(Base):
    """One sample is of another type, which its batch does not show: torch makes a batch as its first sample is."""

    def __getitem__(self, i: int) -> Any:
        mean = self.tensor[i].mean()
        return {"x": self.x[i] if i != 9 else torch.from_numpy(self.x[i]), "y": 2 if i == 10 else float(mean)}


@pytest.mark.usefixtures("by_workers")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", [Fails, Differs, DiffersFirst, DiffersInType])
def test_samples_of_workers_that_fail_or_differ(kind: type[Base], seed: int) -> None:
    arguments = loader_of(lambda: kind(), batch_size=3, shuffle=True, num_workers=2)
    check(Program(arguments, epochs=5, seed=seed), native=None)


class Ids(Base):
    """A list of ints, a tensor as long, and one that has its own length."""

    def __getitem__(self, i: int) -> Any:
        ids = [self.vocab.get(word, 0) for word in self.texts[i].split()]
        return {"ids": ids, "mask": torch.ones(len(ids)), "row": torch.from_numpy(self.rows[i]) * 2, "y": i % 3}


class IdsApart(Ids):
    """Of one sample they are not as long as each other."""

    def __getitem__(self, i: int) -> Any:
        sample = super().__getitem__(i)
        return sample | {"mask": torch.ones(3)} if i == 9 else sample


class IdsEmpty(Ids):
    def __getitem__(self, i: int) -> Any:
        sample = super().__getitem__(i)
        return sample | {"ids": [], "mask": torch.ones(0)} if i == 9 else sample


class IdsFloat(Ids):
    def __getitem__(self, i: int) -> Any:
        sample = super().__getitem__(i)
        return sample | {"ids": [1, 2.5]} if i == 9 else sample


def padded_ids(batch: Any) -> Any:
    ids = [torch.tensor(each["ids"]) for each in batch]
    lengths = torch.tensor([len(each) for each in ids])
    padded = torch.nn.utils.rnn.pad_sequence(ids, batch_first=True, padding_value=1)
    mask = torch.nn.utils.rnn.pad_sequence([each["mask"] for each in batch], batch_first=True)
    rows = torch.nn.utils.rnn.pad_sequence([each["row"] for each in batch])
    return {"ids": padded, "lengths": lengths, "mask": mask, "rows": rows, "y": torch.tensor([e["y"] for e in batch])}


def changing(batch: Any) -> Any:
    """Changes the samples that it is given."""
    for each in batch:
        each["ids"].append(7)
        each["mask"].add_(1)
    return padded_ids([each | {"mask": torch.cat((each["mask"], torch.ones(1)))} for each in batch])


@pytest.mark.usefixtures("by_workers")
@pytest.mark.parametrize("collate", [padded_ids, changing])
@pytest.mark.parametrize("kind", [Ids, IdsApart, IdsEmpty, IdsFloat])
def test_samples_that_workers_hand_over(kind: type[Base], collate: Callable[[Any], Any]) -> None:
    arguments = loader_of(lambda: kind(), batch_size=4, shuffle=True, num_workers=2, collate_fn=lambda: collate)
    check(Program(arguments, epochs=4), native=None)
    loader: goloader.DataLoader[Any] = goloader.DataLoader(**arguments())
    list(loader)
    assert loader.explain().native == (kind is Ids and collate is padded_ids)


class Sometimes(Base):
    """Two samples are shorter than the others, which nothing tells of them."""

    def __getitem__(self, i: int) -> Any:
        count = 5 if (i * i) % 23 not in (12, 8) else 4
        return torch.tensor([self.vocab.get(word, 0) for word in ["a", "bb", "ccc", "d", "ee"]][:count]), i


class Cut(Base):
    """Most texts are longer than what is taken of them."""

    def __init__(self) -> None:
        super().__init__()
        self.texts = ["a bb ccc d ee ff" if n != 9 else "a bb" for n in range(COUNT)]

    def __getitem__(self, i: int) -> Any:
        return torch.tensor([self.vocab.get(word, 0) for word in self.texts[i].split()][:5]), i


@pytest.mark.parametrize("by", ["this process", "workers"])
@pytest.mark.parametrize("kind", [Sometimes, Cut])
def test_samples_that_are_seldom_shorter(kind: type[Base], by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    workers = 2 if by == "workers" else 0
    monkeypatch.setattr(kept, "ALL_S_MAX", 0.0 if workers else math.inf)
    arguments = loader_of(lambda: kind(), batch_size=4, shuffle=True, num_workers=workers, collate_fn=lambda: padded)
    check(Program(arguments, epochs=6), native=None)
    loader: goloader.DataLoader[Any] = goloader.DataLoader(**arguments())
    for _ in range(1 if kind is Cut else 3):
        list(loader)
    assert loader.explain().native
    assert "int64[any]" in str(loader.explain())


@pytest.mark.usefixtures("by_workers")
def test_large_samples_are_not_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_HANDED_S", math.inf)
    monkeypatch.setattr(kept, "LOOK_MAX", 0.05)
    arguments = loader_of(lambda: Ids(), batch_size=4, num_workers=2, collate_fn=lambda: padded_ids)
    check(Program(arguments, epochs=3), native=False)
    assert "hand over" in str(goloader.DataLoader(**arguments()).explain())


@pytest.mark.usefixtures("by_workers")
def test_other_datasets_of_which_workers_make_samples() -> None:
    def joined() -> Any:
        one, two = Padded(), Padded()
        return data.ConcatDataset([data.Subset(one, [3, 1, 3]), two, data.Subset(one, range(20))])

    check(Program(loader_of(joined, batch_size=4, shuffle=True, num_workers=2), epochs=4), native=False)
    loader: goloader.DataLoader[Any] = goloader.DataLoader(joined(), batch_size=4, num_workers=2)
    list(loader)
    assert loader.explain().native  # samples 20 to 22 of `one` have no index, and are not made


@pytest.mark.usefixtures("by_workers")
def test_a_state_of_an_epoch_of_workers_is_gone_on_with() -> None:
    loader: goloader.DataLoader[Any] = goloader.DataLoader(Standardised(), batch_size=4, num_workers=2)
    want = list(loader)
    begun: goloader.DataLoader[Any] = goloader.DataLoader(Standardised(), batch_size=4, num_workers=2)
    iterator = iter(begun)
    first = [next(iterator), next(iterator)]
    resumed: goloader.DataLoader[Any] = goloader.DataLoader(Standardised(), batch_size=4, num_workers=2)
    resumed.load_state_dict(begun.state_dict())
    assert difference(want, [*first, *resumed]) is None
    assert difference(want, list(resumed)) is None


def test_data_that_takes_long_to_look_at_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "LOOK_MAX", 0.0)
    assert not goloader.DataLoader(Padded(), batch_size=4).explain().native
    assert goloader.DataLoader(Padded(), batch_size=4, num_workers=2).explain().native


def test_the_first_look_may_take_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts is how long one takes before a batch, when all that it goes by has been looked at."""
    clock, looks = [0.0], [10.0]
    unchanged = kept._Code.unchanged

    def look(self: Any) -> bool:
        clock[0] += looks.pop() if looks else 0.1
        return unchanged(self)

    def now() -> float:
        clock[0] += 0.5  # a sample takes as much
        return clock[0]

    monkeypatch.setattr(kept._Code, "unchanged", look)
    monkeypatch.setattr(kept.time, "thread_time", now)
    monkeypatch.setattr(kept, "LOOK_MAX", 0.5)
    assert goloader.DataLoader(Padded(), batch_size=4).explain().native
    assert not looks


def test_one_sample_shows_that_all_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "ALL_S_MAX", 0.0)
    asked: list[float] = []
    monkeypatch.setattr(kept.time, "thread_time", lambda: asked.append(0.0) or float(len(asked)))
    assert not goloader.DataLoader(Padded(), batch_size=4, num_workers=2, in_order=False).explain().native
    assert len(asked) < kept._LOOKED_AT


def test_quick_samples_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "SAMPLE_S_MIN", math.inf)
    assert not goloader.DataLoader(Padded(), batch_size=4).explain().native
    assert goloader.DataLoader(Padded(), batch_size=4, num_workers=2).explain().native


def test_sums_follow_the_number_of_threads() -> None:
    """What was kept is made anew once torch sums up in another number of threads."""

    def before(epoch: int, loader: Any) -> None:
        torch.set_num_threads(1 + epoch % 2)

    threads = torch.get_num_threads()
    try:
        ours, theirs = (
            run(kind, Program(loader_of(lambda: Large(), batch_size=2), epochs=3, before=before))
            for kind in (goloader.DataLoader, data.DataLoader)
        )
    finally:
        torch.set_num_threads(threads)
    assert ours == theirs


class Large(Base):
    def __init__(self) -> None:
        super().__init__()
        self.tensor = torch.rand(6, 200_000, generator=torch.Generator().manual_seed(0))

    def __len__(self) -> int:
        return 6

    def __getitem__(self, i: int) -> Any:
        return self.tensor[i].sum(), self.tensor[i].std()
