"""Classes of one's own that make samples of arrays, compiled: batches, errors and warnings are torch's."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from test_gathers_equal import Called, Fixed, Inner, Itself, Pair, Several, Shifted
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset
from twins import Program, bits, check, errors, loader_of

import goloader
from goloader import _told
from goloader.doors import choice
from goloader.doors.index import trial
from goloader.doors.index.iterators import InlineIterator
from goloader.doors.same import difference
from goloader.plan import Plan
from goloader.plan.datasets.computed import arithmetic
from goloader.plan.datasets.own.code import OwnCode
from goloader.plan.refusal import RefusalError

WORKERS = pytest.mark.parametrize("num_workers", [0, 2])


class Over(Dataset[Any]):
    """Takes its attributes as arguments."""

    length: int

    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)

    def __len__(self) -> int:
        return self.length


class Windows(Over):
    data: Any
    n: int

    def __getitem__(self, i: int) -> Any:
        x = torch.from_numpy(self.data[i : i + self.n].astype(np.int64))
        y = torch.from_numpy(self.data[i + 1 : i + 1 + self.n].astype(np.int64))
        return dict(x=x, y=y)  # noqa: C408 - as people write it


class Normalised(Over):
    x: Any
    mean: Any
    scale: Any

    def __getitem__(self, i: int) -> Any:
        return (self.x[i] - self.mean) / self.scale, i


class Looked(Over):
    x: Any
    order: Any

    def __getitem__(self, i: int) -> Any:
        return self.x[self.order[i]] * 2, torch.tensor(self.order[i])


class Hot(Over):
    y: Any

    def __getitem__(self, i: int) -> Any:
        return torch.nn.functional.one_hot(self.y[i], num_classes=4)


class Whole(Over):
    x: Any

    def __getitem__(self, i: int) -> Any:
        return self.x[i].astype(np.uint8)


def windows(length: int = 90, mapped: Any = None) -> Windows:
    data = np.arange(100, dtype=np.uint16) * 600
    if mapped is not None:
        data.tofile(mapped)
        data = np.memmap(mapped, np.uint16, "r")
    return Windows(data=data, n=9, length=length)


@WORKERS
def test_windows_are_torchs_in_memory_and_in_files(num_workers: int, tmp_path: Any) -> None:
    for dataset in windows(), windows(mapped=tmp_path / "tokens.bin"):
        check(Program(loader_of(dataset, batch_size=7, shuffle=True, num_workers=num_workers)))
        check(Program(loader_of(Subset(dataset, [3, 0, 88]), batch_size=2, num_workers=num_workers)))


@WORKERS
def test_windows_that_run_off_the_end_are_the_classs_own_matter(num_workers: int) -> None:
    if num_workers == 0:  # a worker of torch's stacks into shared memory, and says so where that fails
        check(Program(loader_of(windows(100), batch_size=8, num_workers=num_workers)))
    check(Program(loader_of(windows(100), batch_size=1, num_workers=num_workers)))
    check(Program(loader_of(Subset(windows(), [-1, 5, -95]), batch_size=1, num_workers=num_workers)))


@pytest.mark.parametrize("kind", ["array", "tensor", "strided", "map"])
@pytest.mark.parametrize(
    "source",
    [
        "(self.x[self.at[i][0], self.at[i][1] : self.at[i][2]], self.x[self.at[i][0], self.at[i][1]])",
        "(self.x[self.rows[i], self.starts[i] : self.starts[i] + 7, 1], self.x[self.rows[i], self.starts[i] + 2] * 2)",
        "(self.x[i // 9, i % 9 : i % 9 + 4 : 2], self.x[i // 9, i % 9, -1], self.x[(i + 1) // 7][i % 3])",
        "(self.x[i // 9][i % 4 : i % 4 + 3], self.x[i // 9][2], self.rows[i])",
    ],
)
def test_windows_of_one_of_several_series(source: str, kind: str, tmp_path: Any) -> None:
    """Also of places that are not there, or too near the end, which are the class's own matter."""
    noise = np.random.default_rng(len(source))
    x: Any = noise.normal(size=(8, 21, 3)).astype(np.float32)
    if kind == "map":
        x.tofile(tmp_path / "series")
        x = np.memmap(tmp_path / "series", np.float32, "r+", shape=x.shape)
    elif kind == "strided":
        x = noise.normal(size=(8, 30, 3))[:, 4:25]
    at = [
        (int(k), int(start), int(start) + 7)
        for k, start in zip(noise.integers(0, 8, 40), noise.integers(0, 15, 40), strict=True)
    ]
    for wrong in (None, (2, 18, 25), (-3, 4, 11), (8, 0, 7)):
        rows = [*at[:20], *([] if wrong is None else [wrong]), *at[20:]]
        dataset = function_dataset(source)(
            x=torch.from_numpy(x.copy()) if kind == "tensor" else x,
            at=rows, rows=[k for k, _, _ in rows], starts=np.array([start for _, start, _ in rows]), length=len(rows),
        )  # fmt: skip
        for num_workers in (0, 2):
            check(Program(loader_of(dataset, batch_size=6, shuffle=True, num_workers=num_workers)))


def test_several_datasets_of_windows_are_joined() -> None:
    check(Program(loader_of(ConcatDataset([windows(), windows()]), batch_size=7, shuffle=True)))


@WORKERS
def test_what_was_folded_in_is_looked_at(num_workers: int) -> None:
    for mean, scale in ((np.ones(3), np.full(3, 2.0)), (1.0, 2.0), (np.ones(3, np.float32), 3)):
        dataset = Normalised(x=np.arange(60.0).reshape(20, 3), mean=mean, scale=scale, length=20)

        def change(epoch: int, loader: Any) -> None:
            given = loader.dataset
            given.x[:] = np.arange(60.0).reshape(20, 3) + epoch
            if isinstance(given.mean, np.ndarray):
                given.mean[0] = 5 + epoch
            else:
                given.mean = 1.0 + epoch

        arguments = loader_of(dataset, batch_size=6, shuffle=True, num_workers=num_workers)
        check(Program(arguments, epochs=3, before=change))


def test_what_is_changed_in_an_epoch_is_seen_without_workers() -> None:
    made = []
    for kind in (goloader.DataLoader, DataLoader):
        dataset = Looked(x=np.arange(30.0).reshape(10, 3), order=np.arange(10), length=10)
        batches = []
        for number, batch in enumerate(kind(dataset, batch_size=2)):
            batches.append([part.tolist() for part in batch])
            dataset.order[5:] = dataset.order[5:][::-1].copy() if number == 1 else dataset.order[5:]
        made.append(batches)
    assert made[0] == made[1]


class Marked(Over):
    """Places below 0 are left to this code."""

    y: Any

    def __getitem__(self, i: int) -> Any:
        marks = np.zeros(4)
        marks[self.y[i] - 2] = 1
        return marks


class Counted(Over):
    """With numbers that are the same for all samples."""

    x: Any
    y: Any

    def __getitem__(self, i: int) -> Any:
        places = torch.arange(4)
        places[self.y[i]] = 9
        return self.x[i] + torch.arange(1, 7, 2), places, torch.eye(3), np.eye(4)[2] * self.y[i]


class Rounded(Over):
    """Floats of torch.arange are rounded as its threads take them."""

    def __getitem__(self, i: int) -> Any:
        return torch.arange(0, 1, 0.1)


@WORKERS
def test_arrays_that_are_the_same_for_all_samples(num_workers: int) -> None:
    dataset = Counted(x=torch.rand(12, 3), y=[k % 4 for k in range(12)], length=12)
    for native, each in ((False, Rounded(length=12)), (True, dataset)):
        check(Program(loader_of(each, batch_size=5, shuffle=True, num_workers=num_workers)), native=native)


def test_samples_left_to_code_are_of_what_was_changed_elsewhere() -> None:
    made = []
    for kind in (goloader.DataLoader, DataLoader):
        dataset, batches = Marked(y=[k % 4 for k in range(12)], length=12), []
        loader = kind(dataset, batch_size=2)
        for number, batch in enumerate(loader):
            batches.append(batch.tolist())
            if number == 1:
                dataset.y[0] = 3
                dataset.y[9] = 0
        made.append(batches)
        assert kind is DataLoader or loader.explain().native
    assert made[0] == made[1]


@pytest.mark.filterwarnings("ignore::goloader.GoloaderWarning")
def test_another_default_device_is_seen_in_an_epoch() -> None:
    devices = []
    for kind in (goloader.DataLoader, DataLoader):
        iterator = iter(kind(function_dataset("(self.x[i], i)")(x=torch.rand(6, 2), length=6), batch_size=2))
        batches = [next(iterator)]
        with torch.device("meta"):
            batches += iterator
        devices.append([part.device.type for batch in batches for part in batch])
    assert devices[0] == devices[1]
    assert "meta" in devices[0]


@WORKERS
def test_numbers_that_libraries_refuse_are_theirs_to_refuse(num_workers: int) -> None:
    classes = torch.tensor([0, 3, 1, 2, 4, 0, 1])
    check(Program(loader_of(Hot(y=classes, length=7), batch_size=2, num_workers=num_workers)))
    check(Program(loader_of(Looked(x=np.ones((4, 2)), order=[0, 3, 4, -1], length=4), num_workers=num_workers)))


@pytest.mark.parametrize(
    "source",
    [
        "self.x[i] * 3", "self.x[i] + self.x[i]", "-self.x[i] - 2**62", "self.x[i] - 1 + i * 2**60",
        "self.x[i] * self.x[i] // 2**90", "self.order[self.x[i] * 4]", "(self.x[i] - 2**62) * 2**40 // 2**39",
    ],
)  # fmt: skip
def test_integers_are_pythons_of_any_size(source: str) -> None:
    dataset = function_dataset(source)(x=[2**62 + k for k in range(9)], order=np.arange(90), length=9)
    native = goloader.DataLoader(dataset).explain().native
    check(Program(loader_of(dataset, batch_size=2), epochs=1), native=native)


@pytest.mark.parametrize(
    "source",
    [
        "torch.where(self.b[i] > 3, self.b[i], self.y[i])", "torch.where(self.f[i] > 0.3, self.f[i], self.large[i])",
        "np.where(self.b[i].numpy() > 3, self.b[i].numpy(), self.y[i])",
        "self.u[i] == self.s[i]", "self.s[i] < self.u[i]",
        "int(self.u[i, 0])", "self.u[i, 1].item()",
    ],
)  # fmt: skip
def test_numbers_that_do_not_fit_a_type_and_those_that_a_double_is_not(source: str) -> None:
    tensors = {"b": torch.arange(18, dtype=torch.uint8).reshape(9, 2), "f": torch.rand(9, 2)}
    lists = {"y": [3, 4, 5, 6, 300, 7, 8, -1, 2], "large": [1.5, 2.5, 3.5, 1e300, *map(float, range(5))]}
    around = {"u": np.full((9, 2), 2**53 + 1, np.uint64), "s": np.full((9, 2), 2**53, np.int64)}
    around["u"][5] = 2**63
    dataset = function_dataset(source)(**tensors, **lists, **around, length=9)
    check(Program(loader_of(dataset, batch_size=2), epochs=1), native=None)


@WORKERS
@pytest.mark.parametrize(
    "source",
    [
        "(lambda i: self.w[i // self.step * 7 : i // self.step * 7 + 7])(i * self.step)",
        "self.w[(i * 6 + 5) // 3 : (i * 6 + 5) // 3 + 4]",
        "self.w[(i * -6 + 50) // -3 + 20 : (i * -6 + 50) // -3 + 22]",
        "(self.w[(6 * i + 7) % 3 + i : 3 + i + 1], self.w[(4 * i - 7) % -4 + i + 9], self.w[(4 * i - 7) // 2 + 9])",
    ],
)  # fmt: skip
def test_windows_at_multiples_that_are_divided_again(source: str, num_workers: int) -> None:
    dataset = function_dataset(source)(w=np.arange(60), step=3, length=8)
    check(Program(loader_of(dataset, batch_size=3, shuffle=True, num_workers=num_workers), epochs=1))
    check(Program(loader_of(Subset(dataset, [-1, 3, 9]), batch_size=1, num_workers=num_workers), epochs=1))


@pytest.mark.parametrize("source", ["self.x[i][::-1]", "self.x[i].astype('>i4')", "self.w[i : i + 3][::-1]"])
def test_arrays_that_torch_does_not_take_are_its_to_refuse(source: str) -> None:
    dataset = function_dataset(source)(x=np.arange(18).reshape(9, 2), w=np.arange(20), length=9)
    assert errors(check(Program(loader_of(dataset, batch_size=2), epochs=1), native=False))


def function_dataset(source: str) -> type[Over]:
    """A class whose samples are an expression of `self` and `i`."""
    return type("Made", (Over,), {"__getitem__": eval(f"lambda self, i: {source}", globals())})


def test_a_tensor_of_tensors_of_one_item_and_of_none() -> None:
    dataset = function_dataset("torch.tensor([self.x[i], self.y[i]])")(x=torch.rand(6, 1), y=torch.rand(6), length=6)
    check(Program(loader_of(dataset, batch_size=2), epochs=1), native=False)


@WORKERS
@pytest.mark.parametrize("source", ["(self.y[i], 7 // self.y[i])", "self.w[i - 2 : i + 1]"])
def test_an_error_of_the_class_has_no_other_behind_it(source: str, num_workers: int) -> None:
    dataset = function_dataset(source)(y=torch.tensor([3, 1, 0, 2]), w=np.arange(20), length=4)
    raised = []
    for kind in (goloader.DataLoader, DataLoader):
        with pytest.raises(RuntimeError) as failed:
            next(iter(kind(dataset, batch_size=4, num_workers=num_workers)))
        raised.append((str(failed.value).splitlines()[-1], failed.value.__cause__, failed.value.__context__))
    assert raised[0] == raised[1]
    assert goloader.DataLoader(dataset, num_workers=num_workers).explain().native


class Unused(Over):
    x: Any
    y: Any

    def __getitem__(self, i: int) -> Any:
        ratio = 10 // self.y[i]  # noqa: F841
        return self.x[i]


@WORKERS
def test_what_is_worked_out_and_left_out_fails_all_the_same(num_workers: int) -> None:
    def first(batch: list[Any]) -> Any:
        return torch.stack([x for x, _ in batch])

    values = {"x": torch.rand(9, 30), "y": [3, 1, 0, 2, 5, 1, 0, 4, 6], "length": 9}
    given = function_dataset("(self.x[i], 10 // self.y[i])")(**values)
    for dataset, how in (Unused(**values), {}), (given, {"collate_fn": lambda: first}):
        arguments = loader_of(dataset, batch_size=3, num_workers=num_workers, **how)
        assert len(errors(check(Program(arguments, epochs=1), native=False))) == 2


def test_warnings_are_numpys() -> None:
    items = np.array([[1.0, 2.0], [3.0, 1e300], [np.inf, 1.0], [4.0, 5.0]])
    for dataset in (
        Whole(x=items, length=4),
        Normalised(x=items, mean=np.array([np.inf, 1.0]), scale=np.ones(2), length=4),
        Normalised(x=items, mean=np.ones(2), scale=np.full(2, 1e-300), length=4),
    ):
        told = []
        for kind in (goloader.DataLoader, DataLoader):
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                loader = kind(dataset, batch_size=2)
                assert kind is DataLoader or loader.explain().native
                batches = list(loader)
            told.append((str(batches), [(each.category, str(each.message)) for each in warned]))
        assert told[0] == told[1]
        assert told[0][1], "the law is about warnings"


@pytest.mark.parametrize(
    "source",
    [
        "torch.from_numpy(self.x[i]).permute(0, 3, 1, 2)",
        "torch.from_numpy(self.x[i]).permute(0, 3, 1, 2).float() / 255",
        "self.x[i].transpose(0, 3, 1, 2)",
        "(self.x[i : i + 2, 0].transpose(0, 3, 1, 2), i)",
        "torch.stack([torch.from_numpy(self.x[i, k]).permute(2, 0, 1) for k in (0, 1)])",
        "torch.from_numpy(self.x[i]).permute(0, 3, 1, 2).contiguous()",
    ],
)
def test_frames_are_in_the_order_in_which_torch_stacks_them(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    frames = np.random.default_rng(0).integers(0, 255, (9, 2, 4, 5, 3), np.uint8)
    dataset = function_dataset(source)(x=frames, length=7)
    batch = next(iter(DataLoader(dataset, 4)))
    native = (batch[0] if isinstance(batch, list) else batch).is_contiguous()
    check(Program(loader_of(dataset, batch_size=4), epochs=1), native=native)
    check(Program(loader_of(dataset, batch_size=4, num_workers=2), epochs=1))
    if not native:  # a trial with workers finds nothing
        monkeypatch.setattr("os.nice", lambda more: 0)
        loader = goloader.DataLoader(dataset, 4, num_workers=2)
        assert isinstance(plan := choice.decide(loader), Plan)
        assert trial._tried(loader, plan, InlineIterator) == trial._EQUAL


@pytest.mark.parametrize(
    "source",
    [
        "self.x[i] * 1e300",
        "self.x[i] + np.float32(1) * 3.5e38",
        "torch.FloatTensor([self.x[i]])",
        "torch.tensor([self.x[i], self.x[i]])",
        "torch.as_tensor([self.x[i]])",
    ],
)
def test_what_always_warns_warns(source: str) -> None:
    dataset = function_dataset(source)(x=np.zeros((4, 3), np.float32), length=4)
    torch.set_warn_always(True)
    try:
        told = []
        for kind in goloader.DataLoader, DataLoader:
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                list(kind(dataset, batch_size=2))
            told.append([(each.category, str(each.message)) for each in warned])
    finally:
        torch.set_warn_always(False)
    assert told[0] == told[1]
    assert told[1], "the law is about warnings"


@WORKERS
def test_small_classes(num_workers: int) -> None:
    for kind in Called, Fixed, Inner, Itself, Several, Shifted:
        check(Program(loader_of(kind(), batch_size=5, num_workers=num_workers), epochs=1))
    ragged = Pair()
    ragged.y = ragged.y[:-1]
    check(Program(loader_of(ragged, batch_size=5, num_workers=num_workers), epochs=1))


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_wrong_step_is_found_and_ends_it(num_workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(arithmetic.OPERATORS, "-", "add")
    monkeypatch.setattr(trial, "_known", set())
    monkeypatch.setattr(_told, "_told", set())
    dataset = Normalised(x=torch.rand(30, 3) + 1, mean=torch.rand(3), scale=torch.rand(3) + 1, length=30)
    loader = goloader.DataLoader(dataset, 4, num_workers=num_workers)
    with pytest.warns(goloader.GoloaderWarning, match="when Go makes it"):
        list(loader)
        while trial.running:  # beside the training, and heard when a batch is asked for
            time.sleep(0.02)
            list(loader)
    batches = list(loader)
    assert difference(list(DataLoader(dataset, 4)), batches) is None
    assert "SAMPLES_DIFFER" in loader.explain().codes


class Reckoned(Over):
    x: Any

    def __getitem__(self, i: int) -> Any:
        return self.x[i], i * 0.5, i


class Asking(Over):
    x: Any

    def __getitem__(self, i: Any) -> Any:
        if torch.is_tensor(i):
            i = i.item() - 1
        return self.x[i]


@pytest.mark.parametrize("kind", [lambda i: i, np.int64, np.int32, torch.tensor, lambda i: torch.tensor(i).int()])
def test_an_index_that_is_no_int_is_what_the_class_makes_of_it(kind: Any) -> None:
    listed = [kind(i) for i in (3, 1, 4, 1, 5, 9, 2, 6)]
    for made in Reckoned, Asking:
        dataset = made(x=torch.arange(20.0).reshape(10, 2), length=10)
        check(Program(loader_of(dataset, batch_size=3, sampler=listed)))
        batches = [torch.stack(list(map(torch.as_tensor, listed))), np.array(listed), listed]
        check(Program(loader_of(dataset, batch_sampler=batches), epochs=1))
    for indices in np.array(listed), torch.tensor(listed), listed:
        for whole in dataset, Reckoned(x=np.ones(10), length=10):
            subset = Subset(whole, indices)
            native = goloader.DataLoader(subset).explain().native
            check(Program(loader_of(subset, batch_size=3), epochs=1), native=native)
        sampler = torch.utils.data.SubsetRandomSampler(indices)
        check(Program(loader_of(Reckoned(x=np.ones(10), length=10), batch_size=3, sampler=sampler), epochs=1))


class Listed(Over):
    """Lists of what people keep in lists."""

    def __init__(self) -> None:
        noise = np.random.default_rng(0)
        super().__init__(length=20)
        self.encodings = {
            "ids": noise.integers(0, 99, (20, 6)).tolist(),
            "mask": torch.ones(20, 6),
            "more": [*range(20)],
        }
        self.labels = [*range(20)]
        self.pairs = [(noise.normal(size=3), k * k) for k in range(20)]
        self.records = [{"x": torch.full((2,), float(k)), "y": [k, 2 * k]} for k in range(20)]
        self.columns = [noise.normal(size=20), noise.normal(size=(20, 2)), [k / 3 for k in range(20)]]


class Encoded(Listed):
    def __getitem__(self, idx: int) -> Any:
        item = {key: torch.tensor(val[idx]) for key, val in self.encodings.items() if key != "mask"}
        item["labels"] = torch.tensor(self.labels[idx])
        item.update({"mask": self.encodings["mask"][idx]}, index=idx)
        return item


class Looped(Listed):
    def __getitem__(self, idx: int) -> Any:
        made = []
        for number, column in enumerate(self.columns):
            made.append(column[idx] * (number + 1))
        sequence, label = self.pairs[idx]
        return tuple(made), torch.from_numpy(sequence).float(), label, [self.columns[k][idx] for k in range(2)]


class Halved(Listed):
    def __getitem__(self, idx: int) -> Any:
        ids = self.encodings["ids"][idx]
        return torch.tensor(ids[:3]), np.array(ids[::-2][1:]), torch.FloatTensor(self.records[idx]["y"][-1:])


class Recorded(Listed):
    def __getitem__(self, idx: int) -> Any:
        whole = self.records[idx]
        return whole, whole["x"] * 2, {name: self.pairs[idx][k] for k, name in enumerate(("a", "b"))}


def rewrite(dataset: Any, k: int) -> None:
    """A change of one kind or another, of what lies inside of lists."""
    match k % 10:
        case 0:
            dataset.encodings["ids"][13][2] = -k
        case 1:
            dataset.encodings["ids"][13] = [k] * 6
        case 2:
            dataset.records[12]["y"][1] = True
        case 3:
            dataset.pairs[14] = (np.full(3, k), -1)
        case 4:
            dataset.pairs[15][0][:] = k
        case 5:
            dataset.records[13]["x"] = torch.full((2,), -1.0)
        case 6:
            dataset.columns[2][16] = -1.0
        case 7:
            dataset.columns[0] = dataset.columns[0] + 1
        case 8:
            dataset.encodings["labels"] = dataset.labels
        case 9:
            dataset.records[17] = {"y": dataset.records[17]["y"], "x": dataset.records[17]["x"]}


@WORKERS
@pytest.mark.parametrize("kind", [Encoded, Looped, Halved, Recorded])
def test_loops_and_lists(kind: Any, num_workers: int) -> None:
    check(Program(loader_of(kind(), batch_size=6, shuffle=True, num_workers=num_workers)))
    check(Program(loader_of(kind(), batch_size=6, sampler=[3, -1, 19, 20, 0], num_workers=num_workers), epochs=1))


@pytest.mark.parametrize("kind", [Encoded, Looped, Halved, Recorded])
@pytest.mark.parametrize("k", range(10))
def test_what_is_changed_inside_of_lists_is_seen(kind: Any, k: int) -> None:
    made = []
    for loader_kind in (goloader.DataLoader, DataLoader):
        dataset = kind()
        loader = loader_kind(dataset, batch_size=4)
        assert loader_kind is DataLoader or loader.explain().native
        shown = []
        for epoch in range(3):
            for number, batch in enumerate(loader):
                shown.append(bits(batch))
                if number == epoch:
                    rewrite(dataset, k)
        made.append(shown)
    assert made[0] == made[1]


@pytest.mark.parametrize("num_workers", [0, 1, 3])
@pytest.mark.slow
def test_a_list_is_a_dataset(num_workers: int) -> None:
    for dataset in (
        [(torch.rand(3), k) for k in range(10)],
        tuple({"a": k, "b": np.ones(2) * k} for k in range(10)),
        [[1, 2.5]] * 5,
        [*range(9)],
        [torch.rand(2) for _ in range(9)],
        ["a", "b"],
        [(1, "a")] * 4,
        [(1,), (1, 2)],
        [(torch.rand(k + 1), k) for k in range(10)],
    ):
        native = goloader.DataLoader(dataset, num_workers=num_workers).explain().native  # type: ignore[arg-type]
        assert not (native and num_workers == 0)
        for sampler in None, [0, -1, 1, 1], [0, 100]:
            program = Program(loader_of(dataset, batch_size=3, sampler=sampler, num_workers=num_workers), epochs=2)
            check(program, native=native)


def test_a_dataset_that_grows_is_not_lowered_for_ever() -> None:
    made = []
    for kind in (goloader.DataLoader, DataLoader):
        dataset = Encoded()
        loader = kind(dataset, batch_size=2)
        shown = []
        for batch in loader:
            shown.append(bits(batch))
            dataset.labels.append(7)
            dataset.encodings["ids"].append([1] * 6)
        made.append(shown)
    assert made[0] == made[1]


def unread() -> dict[str, Any]:
    def aliased(self: Any, i: int) -> Any:
        inner = {"x": self.labels[i]}
        outer = [inner]
        inner["y"] = self.labels[i]
        return outer

    def endless(self: Any, i: int) -> Any:
        while True:
            if self.labels is None:
                return 0

    def outside(self: Any, i: int) -> Any:
        self.seen["x"] = i
        return self.labels[i]

    def by_index(self: Any, i: int) -> Any:
        return [self.labels[k] for k in range(i)]

    def window(self: Any, i: int) -> Any:
        return self.labels[i : i + 3]

    def lists_of_a_list(self: Any, i: int) -> Any:
        return torch.tensor([[self.labels[i]], [i]]), np.concatenate([np.zeros(2), [self.labels[i]]])

    def taken_twice(self: Any, i: int) -> Any:
        items = (column[i] for column in self.columns)
        return [item for item in items], [item for item in items]  # noqa: C416

    def taken_later(self: Any, i: int) -> Any:
        n = 1
        items = (column[i] * n for column in self.columns)
        n = 2
        return list(items)

    return {
        each.__name__: each
        for each in (aliased, endless, outside, by_index, window, lists_of_a_list, taken_twice, taken_later)
    }


@pytest.mark.parametrize("name", unread())
def test_what_may_be_more_than_a_loop_stays_with_torch(name: str) -> None:
    dataset = type(name, (Listed,), {"__getitem__": unread()[name], "seen": {}})()
    if name == "endless":  # whoever runs it has to wait for ever, too
        with pytest.raises(RefusalError, match="a loop"):
            OwnCode(dataset)
        return
    told = goloader.DataLoader(dataset, num_workers=1).explain()
    assert not told.native
    assert "LOOKED_AT" not in told.codes
    check(Program(loader_of(Subset(dataset, [3, 3, 3])), epochs=1), native=False)


@pytest.mark.parametrize(
    "source",
    [
        "-self.t[i] * 0.5", "-self.t[i] + self.g[i]", "-self.n[i] * self.g[i]", "(1 - i, -self.n[i] * np.float32(0.5))",
        "-(self.n[i] + 1) * self.g[i]", "-(-self.t[i]) * 0.3", "(-i * self.g[i], -self.small[i] * self.g[i])",
        "self.g[-self.n[i]]", "self.t[-self.t[i]] * 0.5",
    ],
)  # fmt: skip
def test_a_negated_integer_stays_of_its_type(source: str) -> None:
    integers = np.arange(3, 12)
    dataset = function_dataset(source)(
        n=integers, t=torch.from_numpy(integers) % 7, g=np.linspace(0, 1, 12, dtype=np.float32),
        small=integers.astype(np.int32), length=9,
    )  # fmt: skip
    native = goloader.DataLoader(dataset).explain().native
    check(Program(loader_of(dataset, batch_size=2), epochs=1), native=native)


@WORKERS
@pytest.mark.parametrize(
    "source",
    [
        "self.x[[i, i + 3]]", "self.t[[i, i + 1]] * 2", "self.x[[i, 8], 0]", "self.t[:, [i % 3, 2]]",
        "self.x[[i, 9, 2]]", "self.t[[0, i + 1]]", "self.x[(i, i + 2),]",
    ],
)  # fmt: skip
def test_a_list_of_places_is_no_slice(source: str, num_workers: int) -> None:
    x = np.arange(36.0).reshape(12, 3)
    dataset = function_dataset(source)(x=x, t=torch.from_numpy(x), length=8)
    check(Program(loader_of(dataset, batch_size=3, num_workers=num_workers), epochs=1), native=False)
