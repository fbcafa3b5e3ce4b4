"""A class of the user's own that only takes rows: Go's batches are torch's. Whatever does more stays with torch."""

from __future__ import annotations

import functools
import mmap
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils import data
from torch.utils.data import ConcatDataset, Dataset, StackDataset, Subset, TensorDataset, random_split
from twins import Program, bits, changed, check, check_code, compare, errors, loader_of

import goloader

DTYPES = (
    "bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64",
    "complex64", "complex128",
)  # fmt: skip
WORKERS = pytest.mark.parametrize("num_workers", [0, 2])


class Base(Dataset[Any]):
    """Attributes of each kind that can be gathered."""

    def __init__(self, length: int = 23, seed: int = 0) -> None:
        noise = np.random.default_rng(seed)
        self.x = torch.from_numpy(noise.standard_normal((length, 3, 5)))
        self.y = torch.arange(length) + 100 * seed
        self.images = noise.integers(0, 256, (length, 4, 4), np.uint8)
        self.scores = noise.standard_normal(length).astype(np.float32)
        self.labels = [*range(length)]
        self.weights = tuple(noise.standard_normal(length).tolist())
        self.flags = [k % 3 == 0 for k in range(length)]
        self.ids = list(noise.integers(0, 9, length, np.int16))
        self.data = {"x": self.x, "more": [self.scores, {7: self.labels}]}

    def __len__(self) -> int:
        return len(self.x)


class Pair(Base):
    def __getitem__(self, index: int) -> Any:
        return self.x[index], self.y[index]


class Bare(Base):
    def __getitem__(self, index: int) -> Any:
        return self.images[index]


class Named(Base):
    def __getitem__(self, i: int) -> Any:
        """A dict, with a local variable or two."""
        image = self.images[i]
        label, weight = self.labels[i], self.weights[i]
        return {"image": image, "target": {"label": label, "weight": [weight, self.scores[i]]}}


class Everything(Base):
    def __getitem__(self, i: int) -> Any:
        a, b, c = self.flags[i], self.ids[i], self.data["more"][1][7][i]
        return [a, (b, c), self.data["x"][i], self.data["more"][-2][i], self.x[i]]


class Without(Base):
    __len__ = None  # type: ignore[assignment]

    def __getitem__(self, i: int) -> Any:
        return (self.y[i],)


class Shorter(Pair):
    def __len__(self) -> int:
        return 9


class NoDataset:
    def __init__(self) -> None:
        self.x = np.arange(24.0).reshape(12, 2)

    def __len__(self) -> int:
        return 12

    def __getitem__(self, i: int) -> Any:
        return {"one": self.x[i]}


class Optional(Base):
    def __getitem__(self, i: int, extra: int = 0) -> Any:
        return self.x[i]


class OfClass(Pair):
    def __init__(self) -> None:
        super().__init__()
        type(self).y = self.__dict__.pop("y")


class Through(Pair):
    def _row(self, rows: Any, i: int) -> Any:
        return rows[i]

    def __getitem__(self, i: int) -> Any:
        return self._row(self.x, i), self._row(rows=self.y, i=i)


@WORKERS
@pytest.mark.parametrize("kind", [Pair, Bare, Named, Everything, NoDataset, Shorter, Optional, OfClass, Through])
def test_gathers(kind: Any, num_workers: int) -> None:
    check(Program(loader_of(kind(), batch_size=4, shuffle=True, num_workers=num_workers), draw=True))


class FromNumpy(NoDataset):
    def __getitem__(self, i: int) -> Any:
        return torch.from_numpy(self.x[i].copy())


class AsTensor(NoDataset):
    def __getitem__(self, i: int) -> Any:
        return {"one": torch.as_tensor(self.x[i])}


class MadeTensor(NoDataset):
    def __getitem__(self, i: int) -> Any:
        return torch.tensor(self.x[i]), self.x[i].copy()


class OneTensor(NoDataset):
    def __getitem__(self, i: int) -> Any:
        return torch.tensor(self.x[i])


class Cloned(Base):
    def __getitem__(self, i: int) -> Any:
        return torch.as_tensor(self.x[i]).clone(), torch.tensor(self.labels[i])


class Rebound(NoDataset):
    """Only called torch."""

    def __getitem__(self, i: int) -> Any:
        torch = self.library
        return torch.from_numpy(self.x[i])

    class library:  # noqa: N801
        @staticmethod
        def from_numpy(row: Any) -> Any:
            return -row


@WORKERS
@pytest.mark.parametrize("kind", [FromNumpy, AsTensor, MadeTensor, Cloned])
def test_rows_that_become_tensors(kind: Any, num_workers: int) -> None:
    check(Program(loader_of(kind(), batch_size=4, shuffle=True, num_workers=num_workers), draw=True))


@pytest.mark.parametrize("kind", [FromNumpy, AsTensor, MadeTensor])
def test_arrays_that_become_tensors(kind: Any) -> None:
    """Of every dtype and some layouts; where torch refuses or warns it is torch that runs."""
    noise = np.random.default_rng(0).integers(0, 200, (9, 4, 6))
    for dtype in DTYPES:
        for layout in (lambda x: x, lambda x: x[:, ::2], lambda x: x.transpose(0, 2, 1), lambda x: x[:, 0]):
            dataset = kind()
            dataset.x = layout(noise.astype(dtype))
            check(Program(loader_of(dataset, batch_size=4, sampler=[3, -1, 8, 8, 0]), epochs=1))
    for odd in (noise[:, ::-1], noise[:, 0, 0], noise.astype(">i4"), np.broadcast_to(noise[:1], (9, 4, 6))):
        dataset = kind()
        dataset.x = odd
        native = goloader.DataLoader(dataset).explain().native
        check(Program(loader_of(dataset, batch_size=4, sampler=[3, -1]), epochs=1), native=native)


def test_numbers_that_become_tensors() -> None:
    for numbers in ([1, 2, 3], [True, False, True], [0.5, 1.5, 2.5], *(np.arange(3).astype(dtype) for dtype in DTYPES)):
        dataset = OneTensor()
        dataset.x = numbers  # type: ignore[assignment]
        native = not (isinstance(numbers, np.ndarray) and numbers.dtype == np.uint64)
        check(Program(loader_of(dataset, batch_size=2, shuffle=True), epochs=1), native=native)


def test_torch_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    check(Program(loader_of(Rebound(), batch_size=4), epochs=1))
    dataset = FromNumpy()
    ours, theirs = (kind(dataset, batch_size=4) for kind in (goloader.DataLoader, data.DataLoader))
    assert bits(list(ours)) == bits(list(theirs))
    original = torch.from_numpy
    monkeypatch.setattr(torch, "from_numpy", lambda array: -original(array))
    assert bits(list(ours)) == bits(list(theirs))
    monkeypatch.setattr(torch, "from_numpy", lambda array: original(array).exp())
    assert bits(list(ours)) == bits(list(theirs))
    assert not ours.explain().native


@WORKERS
def test_every_kind_of_index(num_workers: int) -> None:
    listed = [3, -1, 3, 22, -23, 0, 3]
    for kind in Pair, Everything, FromNumpy, OneTensor:
        for sampler in (
            listed,
            list(torch.tensor(listed)),
            list(np.array(listed)),
            list(np.array(listed, np.int8)),
            [True, True, True],
        ):
            check(Program(loader_of(kind(), batch_size=3, sampler=sampler, num_workers=num_workers), epochs=1))
    for kind in Shorter, Without:  # its length is not its own: rows are there beyond it, and -1 is the last of them
        check(Program(loader_of(kind(), batch_size=3, sampler=listed, num_workers=num_workers), epochs=1))
    slices = [slice(0, 2), slice(2, 4)]
    check(Program(loader_of(Pair(), batch_size=2, sampler=slices, num_workers=num_workers), epochs=1))


@WORKERS
def test_errors_are_those_of_the_class(num_workers: int) -> None:
    for bad in 23, -24, 1 << 70, "x", 1.5:
        for kind in Pair, Named:
            arguments = loader_of(kind(), batch_size=2, sampler=[0, 1, 2, bad, 4, 5], num_workers=num_workers)
            assert errors(check(Program(arguments, epochs=1)))


@WORKERS
def test_datasets_of_them(num_workers: int) -> None:
    tensors = TensorDataset(Pair(5, 1).x, Pair(5, 1).y)
    for made in (
        Subset(Named(), [5, 3, 3, -1, 22, 0]),
        ConcatDataset([Pair(5, 1), tensors, Pair(1, 2)]),
        ConcatDataset([Shorter(), Shorter()]),
        StackDataset(a=Pair(), b=Bare()),
        random_split(Everything(), [0.5, 0.5], torch.Generator().manual_seed(0))[1],
    ):
        check(Program(loader_of(made, batch_size=4, shuffle=True, num_workers=num_workers)))


@pytest.mark.parametrize("dtype", ["bool", "u1", "i1", "u2", "i2", "u4", "i4", "i8", "f2", "f4", "f8", "c8", "c16"])
def test_every_dtype_of_numpy(dtype: str) -> None:
    """Rows and single items, of any bits; of items, NaNs that signal are left out (see docs/differences.md)."""

    class Arrays(Dataset[Any]):
        def __init__(self) -> None:
            raw = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 256, 16 * 40, np.uint8)
            items = raw.view(dtype)
            self.rows = items[: len(items) // 3 * 3].reshape(-1, 3)
            self.items = np.nan_to_num(items)[: len(self.rows)]

        def __len__(self) -> int:
            return len(self.rows)

        def __getitem__(self, i: int) -> Any:
            return self.rows[i], self.items[i]

    check(Program(loader_of(Arrays(), batch_size=7), epochs=1))


def layouts() -> dict[str, Any]:
    base = np.arange(9 * 4 * 6, dtype=np.float32).reshape(9, 4, 6)
    return {
        "in Fortran's order": np.asfortranarray(base),
        "with gaps": np.arange(18 * 8 * 9.0).reshape(18, 8, 9)[::2, 1::2, ::3],
        "rows backwards": base[::-1],
        "rows broadcast": np.broadcast_to(base[0].copy(), (9, 4, 6)),
        "unaligned": np.zeros(9 * 8 + 1, np.uint8)[1:].view(np.float64).reshape(9, 1),
        "of bytes": np.frombuffer(bytes(range(72)), np.float64).reshape(9, 1),
        "empty rows": np.zeros((9, 0, 3)),
        "no rows": np.zeros((0, 3)),
    }


class One(Dataset[Any]):
    def __init__(self, x: Any) -> None:
        self.x = x

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, i: int) -> Any:
        return self.x[i]


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
@pytest.mark.parametrize("name", layouts())
def test_every_layout_of_numpy(name: str) -> None:
    check(Program(loader_of(One(layouts()[name]), batch_size=4), epochs=1))


def alike() -> dict[str, list[Any]]:
    """Lists of arrays and tensors of one shape that do not lie in one piece."""
    base = np.asfortranarray(np.random.default_rng(3).standard_normal((31, 5)))
    windows = [base[i : i + 4] for i in range(27)]
    images = torch.arange(27 * 4 * 6 * 3, dtype=torch.float32).reshape(27, 4, 6, 3)
    return {
        "windows in Fortran's order": windows,
        "columns": [base[3:, k % 5] for k in range(27)],
        "with gaps": [window[::2, 1::3] for window in windows],
        "broadcast": [np.lib.stride_tricks.as_strided(window[0], (3, 5), (0, window.strides[1])) for window in windows],
        "channels last": [image.permute(2, 0, 1) for image in images],
        "tensors transposed": [torch.from_numpy(window).t() for window in windows],
        "tensors expanded": [image[0].expand(2, 6, 3) for image in images],
    }


class Windows(One):
    def __getitem__(self, i: int) -> Any:
        window = self.x[i]
        return {"window": torch.as_tensor(window), "last": window[-1], "half": torch.as_tensor(window[:2]).float() / 2}


@WORKERS
@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
@pytest.mark.parametrize("kind", [One, Windows])
@pytest.mark.parametrize("name", alike())
def test_lists_of_what_lies_alike(name: str, kind: Any, num_workers: int) -> None:
    program = Program(loader_of(kind(alike()[name]), batch_size=4, shuffle=True, num_workers=num_workers))
    check(program, native=num_workers > 0 or kind is Windows)  # without workers, torch stacks a list's items as quickly


def lay_otherwise(dataset: Any, value: int) -> None:
    """Other values, other tensors, and the same ones read in another order."""
    dataset.x[value % 3][0] = value
    dataset.x[value % 7].t_()
    dataset.x[value % 27] = torch.full((5, 5), float(value))


@WORKERS
def test_a_change_of_layout_is_seen(num_workers: int) -> None:
    def make() -> Any:
        return One([torch.arange(k, k + 25.0).view(5, 5).t() for k in range(27)])

    compare(
        list(changed(goloader.DataLoader, make, lay_otherwise, batch_size=5, num_workers=num_workers)),
        list(changed(data.DataLoader, make, lay_otherwise, batch_size=5, num_workers=num_workers)),
    )


def test_what_lies_in_several_ways_stays_with_torch() -> None:
    mixed = [np.full((4, 5), float(k)) if k % 2 else np.asfortranarray(np.full((4, 5), float(k))) for k in range(9)]
    backwards = [np.arange(6.0)[::-1] for _ in range(9)]
    for each in (mixed, backwards):
        check(Program(loader_of(One(each), batch_size=4, num_workers=2), epochs=1), native=False)


# Changes by the user


def fill(dataset: Any, value: int) -> None:
    dataset.x[value % 7 :: 2] = value
    dataset.scores[value % 5 :: 2] = value


def relabel(dataset: Any, value: int) -> None:
    dataset.labels[value % 3 :: 3] = [value] * len(dataset.labels[value % 3 :: 3])


def retype(dataset: Any, value: int) -> None:
    dataset.labels[:] = [float(label) if value % 2 else bool(label) for label in dataset.labels]


def replace(dataset: Any, value: int) -> None:
    dataset.x = torch.full((23, 2), float(value))
    dataset.data["more"][0] = np.full(23, value)


def become(dataset: Any, value: int) -> None:
    dataset.__class__ = [Pair, Named, Counting][value % 3]


def shorten(dataset: Any, value: int) -> None:
    for name in "flags", "ids", "labels":
        del getattr(dataset, name)[-1]


def in_bulk(dataset: Any, value: int) -> None:
    dataset.__getitems__ = lambda indices: [torch.tensor(value) for _ in indices]


class Counting(Base):
    seen = 0

    def __getitem__(self, index: int) -> Any:
        self.seen += 1
        return self.x[index], self.seen


@WORKERS
@pytest.mark.parametrize("change", [fill, relabel, retype, replace, become, shorten, in_bulk])
def test_a_change_is_seen_when_torch_sees_it(change: Any, num_workers: int) -> None:
    compare(
        list(changed(goloader.DataLoader, Everything, change, batch_size=5, num_workers=num_workers)),
        list(changed(data.DataLoader, Everything, change, batch_size=5, num_workers=num_workers)),
    )


def seeds(worker: int) -> None:
    torch.manual_seed(worker)


def fills(worker: int) -> None:
    info = data.get_worker_info()
    assert info is not None
    vars(info.dataset)["scores"][3] = worker


def relabels(worker: int) -> None:
    info = data.get_worker_info()
    assert info is not None
    vars(info.dataset)["labels"][3] = 100 + worker


@pytest.mark.parametrize(("function", "native"), [(seeds, True), (fills, False), (relabels, False)])
def test_what_a_worker_init_fn_changes_is_seen(function: Any, native: bool) -> None:
    dataset = Everything()
    loader = goloader.DataLoader(dataset, batch_size=4, num_workers=2, worker_init_fn=function)
    assert [bits(batch) for batch in loader] == [
        bits(batch) for batch in data.DataLoader(dataset, batch_size=4, num_workers=2, worker_init_fn=function)
    ]
    assert loader.explain().native == native


@WORKERS
def test_another_method_is_seen(num_workers: int) -> None:
    def events(loader_kind: Any) -> Iterator[Any]:
        class Changing(Base):
            def __getitem__(self, i: int) -> Any:
                return self.x[i]

        loader = loader_kind(Changing(), batch_size=9, num_workers=num_workers)
        yield from (("batch", bits(batch)) for batch in loader)
        Changing.__getitem__.__code__ = Pair.__getitem__.__code__
        yield from (("batch", bits(batch)) for batch in loader)
        Changing.__getitem__ = lambda self, i: -self.y[i]  # type: ignore[method-assign]
        yield from (("batch", bits(batch)) for batch in loader)
        Changing.x = property(lambda self: self.images)  # type: ignore[assignment]
        Changing.__getitem__ = Bare.__getitem__  # type: ignore[method-assign]
        yield from (("batch", bits(batch)) for batch in loader)

    compare(list(events(goloader.DataLoader)), list(events(data.DataLoader)))


# What stays with torch


class Called(Base):
    def __getitem__(self, i: int) -> Any:
        return self.x[i].float(), self.y[i]


class Branching(Base):
    def __getitem__(self, i: int) -> Any:
        return self.x[i] if i % 2 else self.x[0]


class Guarded(Base):
    def __getitem__(self, i: int) -> Any:
        try:
            return self.x[i]
        except IndexError:
            return self.x[0]


class Shifted(Base):
    def __getitem__(self, i: int) -> Any:
        return self.x[i - 1]


class Reassigned(Base):
    def __getitem__(self, i: int) -> Any:
        i = 0
        return self.x[i]


class Fixed(Base):
    def __getitem__(self, i: int) -> Any:
        return self.x[0], self.y[i]


class Inner(Base):
    def __getitem__(self, i: int) -> Any:
        return self.x[i][0]


class Several(Base):
    def __getitem__(self, i: int) -> Any:
        return self.x[i, 0]


class Sliced(Base):
    def __getitem__(self, i: int) -> Any:
        return self.x[i:]


class Unused(Base):
    def __getitem__(self, i: int) -> Any:
        missing = self.nowhere[i]  # type: ignore[attr-defined] # noqa: F841
        return self.x[i]


class Itself(Base):
    def __getitem__(self, i: int) -> Any:
        return self.x[i], i


class Nothing(Base):
    def __getitem__(self, i: int) -> Any:
        return ()


class Deeper(Base):
    def __getitem__(self, i: int) -> Any:
        return self.x.T[i]


class Wrapped(Base):
    @functools.lru_cache  # noqa: B019
    def __getitem__(self, i: int) -> Any:
        return self.x[i]


class Getattr(Pair):
    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


class Getattribute(Pair):
    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        return -value if name == "y" else value


class Property(Pair):
    @property
    def y(self) -> Any:
        return self.x[:, 0, 0]

    @y.setter
    def y(self, value: Any) -> None:
        pass


class Descriptor:
    def __get__(self, instance: Any, owner: Any) -> Any:
        return torch.arange(23) if instance is None else torch.zeros(23)

    def __set__(self, instance: Any, value: Any) -> None:
        pass


class Described(Pair):
    y = Descriptor()  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        vars(self)["y"] = torch.ones(23)


class Slots:
    __slots__ = ("x",)

    def __init__(self) -> None:
        self.x = torch.arange(9)

    def __len__(self) -> int:
        return 9

    def __getitem__(self, i: int) -> Any:
        return self.x[i]


class OwnDict(Pair):
    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        return {"x": torch.zeros(23), "y": torch.zeros(23)}


class InBulk(Pair):
    def __getitems__(self, indices: Any) -> Any:
        return [self[i] for i in indices]


class Random(Base):
    def __getitem__(self, i: int) -> Any:
        return self.x[random.randrange(1)]


class Odd(np.ndarray[Any, Any]):
    def __getitem__(self, i: Any) -> Any:
        return super().__getitem__(0)


class OddList(list[int]):
    def __getitem__(self, i: Any) -> Any:
        return 7


class OddTensor(torch.Tensor):
    pass


def others() -> dict[str, Callable[[], Any]]:
    return {
        **{
            kind.__name__: kind
            for kind in (
                Reassigned, Sliced, Nothing, Deeper, Getattr, Getattribute, Property, Described, Slots, OwnDict, InBulk,
            )
        },
        "subclass of an array": lambda: One(np.arange(8.0).reshape(4, 2).view(Odd)),
        "matrix": lambda: One(np.arange(8.0).reshape(4, 2).view(np.matrix)),
        "masked": lambda: One(np.ma.masked_array(np.arange(8.0), np.arange(8) % 2)),
        "subclass of a list": lambda: One(OddList([1, 2, 3])),
        "subclass of a tensor": lambda: One(torch.arange(8.0).as_subclass(OddTensor)),
        "gradient": lambda: One(torch.ones(4, 2, requires_grad=True)),
        "numbers of two types": lambda: One([1, True, 2, 3]),
        "words": lambda: One(["a", "b", "c"]),
        "a dict": lambda: One(dict(enumerate("abc"))),
        "large ints": lambda: One([1, 2**63]),
        "nothing": lambda: One([]),
        "tensors and arrays in a list": lambda: One([torch.ones(2), np.ones(2, np.float32)]),
        "tensors that require grad": lambda: One([torch.ones(2, requires_grad=True), torch.ones(2)]),
        "tensors of other strides": lambda: One([torch.ones(2, 3).T, torch.ones(2, 3).T]),
        "mapped arrays in a list": lambda: One([np.frombuffer(mmap.mmap(-1, 8), np.uint8)] * 3),
        "objects": lambda: One(np.array(["a", None], object)),
        "text": lambda: One(np.array(["a", "b"])),
        "dates": lambda: One(np.zeros((3, 2), "M8[s]")),
        "records": lambda: One(np.zeros(3, [("a", "i4")])),
        "long double": lambda: One(np.zeros((3, 2), np.longdouble)),
        "other byte order": lambda: One(np.zeros((3, 2), np.dtype("f4").newbyteorder())),
        "items of uint64": lambda: One(np.zeros(3, np.uint64)),
        "backwards": lambda: One(np.zeros((3, 2))[:, ::-1]),
        "odd strides": lambda: One(np.zeros((4, 3), [("a", "u1"), ("b", "f4")])["b"]),
        "a mixed concat": lambda: ConcatDataset([One(np.zeros((3, 2))), One(torch.zeros(3, 2, dtype=torch.float64))]),
    }  # fmt: skip


@pytest.mark.parametrize("name", others())
def test_what_may_be_more_than_a_gather_runs_as_torchs(name: str) -> None:
    check(Program(loader_of(others()[name](), batch_size=2), epochs=1), native=False)


def test_what_only_looks_like_a_gather_stays_with_torch() -> None:
    for dataset in Unused(), Wrapped():
        assert not goloader.DataLoader(dataset).explain().native
    cached = Pair()
    cached.__getitem__ = lambda i: 0  # type: ignore[method-assign] # dataset[i] does not look there
    check(Program(loader_of(cached, batch_size=2), epochs=1))


def test_a_file_that_may_shrink_stays_with_torch(tmp_path: Any) -> None:
    np.save(tmp_path / "x.npy", np.arange(12.0).reshape(6, 2))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="c")
    for x in mapped, np.asarray(mapped), np.asarray(mapped)[1:]:
        check(Program(loader_of(One(x), batch_size=2), epochs=1), native=False)


def test_a_collate_function_for_numbers_is_called() -> None:
    table = data._utils.collate.default_collate_fn_map
    for kind, dataset in (float, One([1.5, 2.5])), (np.ndarray, One(np.zeros((3, 2)))), (int, One([True, False])):
        before = table[kind]
        table[kind] = lambda batch, *, collate_fn_map=None: len(batch)
        try:
            check(Program(loader_of(dataset, batch_size=2), epochs=1), native=False)
        finally:
            table[kind] = before


@WORKERS
@pytest.mark.parametrize("kind", [Branching, Guarded, Random])
def test_code_that_does_more_is_a_script(kind: Any, num_workers: int) -> None:
    (row,) = (row for row in goloader.DataLoader(kind()).explain() if row.stage == "source")
    assert row.why.startswith("its code is read from its bytecode, and runs in Go")
    check(Program(loader_of(kind(), batch_size=2, shuffle=True, num_workers=num_workers), epochs=2))
    check(Program(loader_of(kind(), batch_size=3, sampler=[3, 22, 23, 0], num_workers=num_workers), epochs=1))


def test_the_default_device_is_torchs_matter() -> None:
    dataset = One([1, 2, 3])
    assert goloader.DataLoader(dataset, num_workers=1).explain().native
    torch.set_default_device("meta")
    try:
        assert not goloader.DataLoader(dataset, num_workers=1).explain().native
    finally:
        torch.set_default_device(None)


def test_explain_says_what_was_read_and_what_was_not() -> None:
    (row,) = (row for row in goloader.DataLoader(Pair()).explain() if row.stage == "source")
    assert (row.where, row.why) == ("Go", "its __getitem__ only takes rows: read from its bytecode")
    for kind, why in {
        Sliced: "takes windows without an end, or backwards, in self.x[index:] (test_gathers_equal.py:",
        Property: "uses self.x[tuple(:, 0, 0)] (test_gathers_equal.py:",
        Wrapped: "not a plain function",
    }.items():
        (row,) = (row for row in goloader.DataLoader(kind()).explain() if row.stage == "source")
        assert row.where == "Python" and why in row.why, row


# Any function at all


@pytest.mark.parametrize("seed", range(30))
def test_any_function_gives_what_torch_gives(seed: int) -> None:
    """Random functions of few words: lowered or not, batches and errors are torch's; and some of each are met."""
    chance = random.Random(seed)
    names = ["x", "y", "images", "scores", "labels", "weights", "flags", "data", "nowhere"]

    def term(depth: int) -> str:
        kind = chance.randrange(12 if depth else 6)
        if kind < 5:
            return f"self.{chance.choice(names)}[{chance.choice(['i'] * 9 + ['0', '-1', 'i - 1', 'i, 0', ':2'])}]"
        if kind == 5:
            return chance.choice(["i", "self.data['x'][i]", "self.data['more'][0][i]", "a", "b", "len(self.x)"])
        inner = [term(depth - 1) for _ in range(chance.randrange(1, 4))]
        if kind < 8:
            return "(" + ", ".join(inner) + ",)"
        if kind < 10:
            return "[" + ", ".join(inner) + "]"
        return "{" + ", ".join(f"{chance.choice('pqr')!r}: {each}" for each in inner) + "}"

    def made(getitem: Any) -> Any:
        return type("Any", (Base,), {"__getitem__": getitem})(11)

    native = 0
    for _ in range(12):
        lines = [f"a = {term(0)}", f"b, a = {term(0)}, {term(0)}", "i = i + 0", "self = self", f"if i: {term(0)}"]
        body = [chance.choice(lines[:2]) for _ in range(chance.choice([0, 0, 1]))] + chance.choices(
            [[], lines[2:3], lines[3:4], lines[4:]], [6, 1, 1, 1]
        )[0]
        source = "\n    ".join(["def __getitem__(self, i):", *body, f"return {term(chance.choice([0, 1, 1, 2]))}"])
        native += check_code(source, {}, made, chance.choices(range(-11, 11), k=8))
    counted.append(native)


counted: list[int] = []


def test_some_of_any_functions_were_lowered() -> None:
    assert not counted or 0 < sum(counted) < 12 * len(counted)


def paired(x: Any, y: Any) -> Pair:
    made = Pair()
    made.x, made.y = x, y
    return made


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
@pytest.mark.parametrize("num_workers", [0, 2])
def test_mapped_arrays_are_read_from_their_files(num_workers: int, tmp_path: Any) -> None:
    noise = np.random.default_rng(0)
    np.save(tmp_path / "x.npy", noise.random((60, 3, 4), np.float32))
    np.save(tmp_path / "y.npy", noise.integers(0, 9, 60))
    x, y = (np.load(tmp_path / f"{name}.npy", mmap_mode="r+") for name in "xy")

    def write(epoch: int, loader: Any) -> None:
        x[:] = epoch
        y[:] = np.arange(60) * (epoch + 1)

    for first, second in ((x, y), (x[::2, 1:, ::3], y[30:]), (np.asarray(x), np.asarray(y))):
        dataset = paired(first, second)
        made = loader_of(dataset, batch_size=7, shuffle=True, num_workers=num_workers)
        check(Program(made, before=write))
    read_only = paired(np.load(tmp_path / "x.npy", mmap_mode="r"), y.tolist())
    check(Program(loader_of(read_only, batch_size=7, num_workers=num_workers)))
    copied = FromNumpy()
    copied.x = read_only.x
    check(Program(loader_of(copied, batch_size=7, shuffle=True, num_workers=num_workers)))


def test_a_mapped_file_that_is_cut_or_replaced(tmp_path: Any) -> None:
    np.save(tmp_path / "x.npy", np.arange(4000.0).reshape(40, 100))
    loader: Any = goloader.DataLoader(One(np.load(tmp_path / "x.npy", mmap_mode="r+")), 4)
    iterator = iter(loader)
    next(iterator)
    kept = (tmp_path / "x.npy").read_bytes()
    (tmp_path / "x.npy").write_bytes(kept[:9000])
    with pytest.raises(OSError, match=r"x\.npy.*the file has 9000"):
        list(iterator)
    (tmp_path / "x.npy").write_bytes(kept)
    (tmp_path / "x.npy").rename(tmp_path / "old.npy")
    np.save(tmp_path / "x.npy", np.zeros((40, 100)))
    assert torch.cat(list(loader)).sum() == np.arange(4000.0).sum()
