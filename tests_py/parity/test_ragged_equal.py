"""Rows of different lengths, put together by goloader.collate: torch's loader and ours over the same object."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils import data
from torch.utils.data import ConcatDataset, StackDataset, Subset, TensorDataset
from twins import Program, check, errors, loader_of

import goloader
from goloader import ArrayDataset, FileArray, RaggedArray, TokenDataset
from goloader.collate import Jagged, Pack, Pad
from goloader.samplers import LengthBatchSampler

WORKERS = pytest.mark.parametrize("num_workers", [0, 2])
COUNT = 41
DTYPES = [
    torch.bool, torch.uint8, torch.int8, torch.uint16, torch.int16, torch.uint32, torch.int32, torch.uint64,
    torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128,
]  # fmt: skip

COLLATES: dict[str, Callable[[], Any]] = {
    "pad": Pad,
    "pad, batch first": lambda: Pad(batch_first=True, padding_value=1),
    "pad to multiples": lambda: Pad(True, 7, pad_to_multiple_of=4, lengths=True),
    "pad, time first": lambda: Pad(pad_to_multiple_of=3, lengths=True),
    "jagged": Jagged,
    "pack": Pack,
}


class Flat:
    """A collate function whose nested tensors are handed out as what they are made of, so that bits can be compared."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    def __call__(self, batch: Any) -> Any:
        return opened(self.kind(batch))


def opened(batch: Any) -> Any:
    if isinstance(batch, torch.Tensor) and batch.is_nested:
        nested: Any = batch
        names = ("min_seqlen", "max_seqlen")  # torch 2.4 has no function that tells them
        known = [getattr(nested, f"_get_{n}", lambda n=n: nested._metadata_cache[n])() for n in names]  # type: ignore[misc]
        return "nested", nested._values, nested._offsets, *known
    if isinstance(batch, dict):
        return {name: opened(each) for name, each in batch.items()}
    return type(batch)(map(opened, batch)) if isinstance(batch, list | tuple) else batch


class Opening(goloader.DataLoader[Any]):
    def __iter__(self) -> Any:
        return map(opened, super().__iter__())


def lengths(seed: int = 0, longest: int = 20) -> Any:
    made = np.random.default_rng(seed).integers(0, longest, COUNT)
    made[[3, 4, 5]] = 0  # a batch of nothing
    return made


def bits_of(shape: tuple[int, ...], dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    if dtype == torch.bool:
        return torch.from_numpy(np.random.default_rng(seed).integers(0, 2, shape).astype(bool))
    noise = np.random.default_rng(seed).integers(0, 256, (*shape, dtype.itemsize), np.uint8)
    return torch.from_numpy(noise.reshape(-1)).view(dtype).reshape(shape)


class Lists(data.Dataset[Any]):
    """As people write it: lists of tensors and of arrays, and a label."""

    def __init__(self, dtype: torch.dtype = torch.float32, rest: tuple[int, ...] = ()) -> None:
        self.tokens = [bits_of((length, *rest), dtype, k) for k, length in enumerate(lengths())]
        self.features = [np.random.default_rng(k).random((length, 2)) for k, length in enumerate(lengths(1))]
        self.labels = list(range(COUNT))

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> Any:
        return {"tokens": self.tokens[index], "more": (self.features[index], self.labels[index])}


def ragged(dtype: str = "float32", rest: tuple[int, ...] = (3,), seed: int = 0) -> RaggedArray:
    long = lengths(seed)
    noise = np.random.default_rng(seed).integers(0, 200, (int(long.sum()), *rest)).astype(dtype)
    return RaggedArray(noise, np.concatenate([[0], np.cumsum(long)]))


def in_file(tmp_path: Path) -> Any:
    made = ragged("int16", ())
    (tmp_path / "raw.bin").write_bytes(b"header" + np.asarray(made.values).tobytes())
    np.save(tmp_path / "offsets.npy", made.offsets)
    values = FileArray(tmp_path / "raw.bin", dtype="int16", offset=6)
    return ArrayDataset(x=RaggedArray(values, tmp_path / "offsets.npy"), y=np.arange(COUNT), dtypes={"x": torch.int64})


def mapped(tmp_path: Path) -> Any:
    made = ragged()
    np.save(tmp_path / "values.npy", made.values)
    return ArrayDataset(RaggedArray(np.load(tmp_path / "values.npy", mmap_mode="r"), made.offsets))


SOURCES: dict[str, Callable[[Path], Any]] = {
    "lists": lambda tmp_path: Lists(),
    "lists of rows": lambda tmp_path: Lists(rest=(2, 3)),
    "a ragged array": lambda tmp_path: ArrayDataset(ragged(), torch.arange(COUNT)),
    "a ragged tensor": lambda tmp_path: ArrayDataset(
        x=RaggedArray(torch.from_numpy(np.asarray(ragged().values)), ragged().offsets), z=torch.rand(COUNT, 4)
    ),
    "a ragged array in a file, cast": in_file,
    "a ragged array over a memory map": mapped,
    "rows of one length": lambda tmp_path: TensorDataset(
        torch.rand(COUNT, 5, 2), torch.rand(COUNT, 0), torch.arange(COUNT)
    ),
    "trees": lambda tmp_path: StackDataset(
        Subset(ConcatDataset([ArrayDataset(ragged()), ArrayDataset(ragged(seed=1))]), [*range(60), -1, 0, 0]),
        Subset(ArrayDataset(x=ragged("uint8", ())), [0] * 63),
    ),
}  # fmt: skip


@WORKERS
@pytest.mark.parametrize("source", SOURCES)
def test_every_source(source: str, num_workers: int, tmp_path: Path) -> None:
    dataset = SOURCES[source](tmp_path)
    for name, kind in COLLATES.items():
        if name == "jagged":
            continue
        collate = kind()
        made = loader_of(dataset, batch_size=3, shuffle=True, num_workers=num_workers, collate_fn=lambda: collate)  # noqa: B023
        check(Program(made, epochs=1))


@WORKERS
def test_some_fields_are_sequences_and_others_are_stacked(num_workers: int) -> None:
    class Boxes(data.Dataset[Any]):
        """As people write them who keep everything in memory."""

        def __init__(self) -> None:
            self.images = torch.rand(COUNT, 3, 4, 5)
            self.boxes = [torch.rand(length, 4) for length in lengths()]
            self.labels = [np.arange(length) for length in lengths()]
            self.ids = list(range(COUNT))

        def __len__(self) -> int:
            return COUNT

        def __getitem__(self, index: int) -> Any:
            return self.images[index], {"boxes": self.boxes[index], "labels": self.labels[index], "id": self.ids[index]}

    even, flat = torch.rand(COUNT, 5, 2), torch.rand(COUNT)
    for dataset, fields in (
        (Boxes(), ("boxes", "labels")),
        (Boxes(), 1),
        (ArrayDataset(tokens=ragged(), image=np.random.rand(COUNT, 3, 2), label=flat), "tokens"),
        (TensorDataset(even, even, flat), (1,)),
        (TensorDataset(even, even, flat), (2,)),
        (StackDataset(a=TensorDataset(even, flat), b=ArrayDataset(ragged(), even)), "b"),
        (StackDataset(TensorDataset(even, flat), ArrayDataset(x=even, y=ragged())), ("y", 0)),
    ):
        for kind in (partial(Pad, True, 7, pad_to_multiple_of=4, lengths=True), Pad, Pack):
            collate = kind(fields=fields)
            made = loader_of(dataset, batch_size=3, shuffle=True, num_workers=num_workers, collate_fn=lambda: collate)  # noqa: B023
            check(Program(made, epochs=1))


@WORKERS
def test_halves_of_a_row_may_be_a_sequence_and_a_stack(num_workers: int, tmp_path: Path) -> None:
    """Which the core reads once."""
    dataset = TokenDataset(tokens(tmp_path / "a.bin"), 8)
    for fields in (0,), (1,), (0, 1):
        collate = Pad(lengths=True, fields=fields)
        check(Program(loader_of(dataset, batch_size=3, num_workers=num_workers, collate_fn=lambda: collate), epochs=1))  # noqa: B023


@WORKERS
@pytest.mark.parametrize("source", ["lists", "lists of rows", "a ragged array in a file, cast", "trees"])
def test_nested_tensors(source: str, num_workers: int, tmp_path: Path) -> None:
    dataset = SOURCES[source](tmp_path)
    loader = Opening(dataset, 4, collate_fn=Jagged(), num_workers=num_workers)
    assert loader.explain().native
    theirs = map(opened, data.DataLoader(dataset, 4, collate_fn=Jagged(), num_workers=num_workers))
    for ours, other in zip(loader, theirs, strict=True):
        assert repr(ours) == repr(other)


def test_a_nested_tensor_is_the_one_that_torch_makes() -> None:
    dataset = Lists(torch.int32)
    for number, batch in enumerate(goloader.DataLoader(dataset, 5, collate_fn=Jagged())):
        want = torch.nested.nested_tensor(dataset.tokens[5 * number : 5 * number + 5], layout=torch.jagged)
        got = batch["tokens"]
        assert type(got) is type(want) and got.dtype == want.dtype
        for ours, theirs in zip(opened(got)[1:], opened(want)[1:], strict=True):
            assert torch.equal(ours, theirs) if isinstance(ours, torch.Tensor) else ours == theirs
        assert (got * 2).to_padded_tensor(0.0).shape == want.to_padded_tensor(0.0).shape


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype(dtype: torch.dtype) -> None:
    for rest in (), (2,):
        dataset = Lists(dtype, rest)
        for name in "pad, batch first", "pad to multiples", "pack":
            collate = COLLATES[name]()
            check(Program(loader_of(dataset, batch_size=4, shuffle=True, collate_fn=lambda: collate), epochs=1))  # noqa: B023


def test_any_lengths_in_any_batches() -> None:
    chance = random.Random(0)
    for number in range(25):
        long = [chance.randrange(chance.choice([1, 2, 50])) for _ in range(chance.randrange(1, 30))]
        rest = tuple(chance.randrange(3) for _ in range(chance.randrange(3)))
        values = bits_of((sum(long), *rest), torch.int32, number)
        dataset = ArrayDataset(RaggedArray(values, np.concatenate([[0], np.cumsum(long)])))
        collate = Pad(chance.random() < 0.5, chance.randrange(-9, 9), chance.randrange(1, 9), chance.random() < 0.5)
        size, workers = chance.randrange(1, 9), chance.choice([0, 2])
        given = {"batch_size": size, "num_workers": workers, "shuffle": True, "collate_fn": lambda: collate}  # noqa: B023
        made = loader_of(dataset, **given)
        check(Program(made, epochs=1))


@WORKERS
def test_a_value_that_is_rounded(num_workers: int) -> None:
    collate = Pad(padding_value=2.75, pad_to_multiple_of=2)
    dataset = ArrayDataset(ragged("uint8", ()), ragged("float16"), ragged("int64"))
    check(Program(loader_of(dataset, batch_size=2, num_workers=num_workers, collate_fn=lambda: collate), epochs=1))


@WORKERS
def test_indices(num_workers: int) -> None:
    dataset = ArrayDataset(ragged())
    listed = loader_of(
        dataset, batch_size=3, sampler=[0, -1, 5, 5, -COUNT, 4], num_workers=num_workers, collate_fn=lambda: Pad()
    )
    check(Program(listed))
    beyond = loader_of(
        dataset, batch_size=2, sampler=[0, 1, COUNT, 2, 3], num_workers=num_workers, collate_fn=lambda: Pad()
    )
    assert len(errors(check(Program(beyond, epochs=1)))) == 1
    sampler = LengthBatchSampler(lengths(), 4, seed=1)
    check(Program(loader_of(dataset, batch_sampler=sampler, num_workers=num_workers, collate_fn=lambda: Pad())))


def test_rows_of_one_length_are_stacked_by_default() -> None:
    class Images(data.Dataset[Any]):
        def __init__(self, sizes: list[int]) -> None:
            self.images = [torch.rand(size, 4, 2) for size in sizes]
            self.scores = [torch.tensor(k / 2) for k in range(len(sizes))]
            self.arrays = [np.full(2, k) for k in range(len(sizes))]

        def __getitem__(self, index: int) -> Any:
            return self.images[index], self.scores[index], self.arrays[index]

        def __len__(self) -> int:
            return len(self.images)

    even = Images([3] * 20)
    for num_workers in 0, 2:
        arguments = loader_of(even, batch_size=4, shuffle=True, num_workers=num_workers)
        check(Program(arguments, draw=True), native=num_workers > 0)  # else torch is as quick
        uneven = loader_of(Images([3, 3, 2, 3]), batch_size=2, num_workers=num_workers)
        assert errors(check(Program(uneven, epochs=1), native=False))
    fixed = ArrayDataset(RaggedArray(torch.rand(12, 2), [0, 3, 6, 9, 12]))
    check(Program(loader_of(fixed, batch_size=2)))


@WORKERS
def test_a_change_of_a_list_is_seen(num_workers: int) -> None:
    def replaced(dataset: Lists) -> None:
        dataset.tokens[0] = torch.ones(7)

    def moved(dataset: Lists) -> None:
        dataset.tokens[1].set_(torch.ones(2))  # type: ignore[call-overload]

    def reshaped(dataset: Lists) -> None:
        dataset.features[9].shape = (2 * len(dataset.features[9]), 1)

    def written(dataset: Lists) -> None:
        dataset.tokens[2][:] = 3

    def tracked(dataset: Lists) -> None:
        dataset.tokens[2].requires_grad_()

    # torch sends no batch with a history home from a worker: it waits for ever.
    for change in (replaced, moved, reshaped, written, *([tracked] if num_workers == 0 else [])):
        both = []
        for kind in data.DataLoader, goloader.DataLoader:
            dataset = Lists()
            loader: Any = kind(dataset, 4, collate_fn=Pad(), num_workers=num_workers)
            found: list[Any] = []
            for epoch in range(2):
                try:
                    found += [repr((batch["tokens"].tolist(), batch["more"][0].tolist())) for batch in loader]
                except RuntimeError as error:
                    found.append(str(error).splitlines()[-1])
                if epoch == 0:
                    change(dataset)
            both.append(found)
        assert both[0] == both[1], change


def test_what_stays_with_torch() -> None:
    class Own(Pad):
        def join(self, sequences: Any) -> Any:
            return len(sequences)

    ints = ArrayDataset(ragged("uint8", ()))
    permuted = RaggedArray(torch.rand(3, 9).T, [0, 4, 9])
    for dataset, collate in (
        (ints, Own()),
        (ints, Flat(Pad())),
        (ints, Pad(padding_value=300)),  # an error, torch's
        (ArrayDataset(permuted), Pad()),
        (ArrayDataset(ragged()), None),
        (ArrayDataset(x=ragged(), y=ragged()), Pad(fields="x")),  # an error, as default_collate's of y
        (ArrayDataset(x=ragged()), Pad(fields="y")),
        (ArrayDataset(x=ragged(), y=np.arange(COUNT)), Pad(fields="x", others=list)),
    ):
        arguments = {} if collate is None else {"collate_fn": lambda: collate}  # noqa: B023
        check(Program(loader_of(dataset, batch_size=2, **arguments), epochs=1), native=False)


def tokens(path: Path, seed: int = 0, count: int = 700) -> Path:
    np.random.default_rng(seed).integers(0, 30, count, np.uint16).tofile(path)
    return path


@WORKERS
@pytest.mark.parametrize("bounds", ["eos", "offsets"])
def test_documents_are_split(tmp_path: Path, bounds: str, num_workers: int) -> None:
    paths = [tokens(tmp_path / "a.bin"), tokens(tmp_path / "b.bin", 1)]
    given: dict[str, Any] = {"eos": 5} if bounds == "eos" else {"offsets": [[0, 0, 1, 90, 90, 400, 699], [10, 700]]}
    for block, stride in (8, None), (50, 7), (1000, None):
        dataset = TokenDataset(paths, block, stride, documents="split", **given)
        for collate in Pad(True, -100), Pack():
            made = loader_of(dataset, batch_size=4, shuffle=True, num_workers=num_workers, collate_fn=lambda: collate)  # noqa: B023
            check(Program(made, epochs=1))


def test_windows_of_split_documents_predict_every_token_once(tmp_path: Path) -> None:
    path = tokens(tmp_path / "a.bin")
    stream = np.fromfile(path, np.uint16).astype(np.int64)
    ends = [k + 1 for k, token in enumerate(stream) if token == 5]
    for block in 1, 4, 1000:
        dataset = TokenDataset(path, block, eos=5, documents="split")
        got = [(x.tolist(), y.tolist()) for x, y in (dataset[k] for k in range(len(dataset)))]
        assert all(len(x) == len(y) <= block and x[1:] == y[:-1] for x, y in got)
        want = [stream[a + 1 : b].tolist() for a, b in zip([0, *ends], [*ends, len(stream)], strict=True)]
        assert [token for _, y in got for token in y] == [token for document in want for token in document]
        assert not any(5 in x for x, _ in got), "it ends its document"


@WORKERS
@pytest.mark.parametrize("bounds", ["eos", "offsets"])
def test_documents_are_packed(tmp_path: Path, bounds: str, num_workers: int) -> None:
    paths = [tokens(tmp_path / "a.bin"), tokens(tmp_path / "b.bin", 1)]
    given: dict[str, Any] = {"eos": 5} if bounds == "eos" else {"offsets": [[0, 0, 1, 90, 90, 400, 699], [10, 700]]}
    for block, stride in (8, None), (50, 7):
        dataset = TokenDataset(paths, block, stride, **given)
        check(Program(loader_of(dataset, batch_size=4, shuffle=True, num_workers=num_workers), epochs=1))
    subset = Subset(
        ConcatDataset([dataset, TokenDataset(paths[0], block, **given if bounds == "eos" else {"offsets": [3, 9]})]),
        [3, 0, 70],
    )
    check(Program(loader_of(subset, batch_size=2), epochs=1))  # fmt: skip


def test_offsets_give_the_documents_that_eos_gives(tmp_path: Path) -> None:
    path = tokens(tmp_path / "a.bin")
    ends = np.flatnonzero(np.fromfile(path, np.uint16) == 5) + 1
    by_eos, by_offsets = TokenDataset(path, 16, 5, eos=5), TokenDataset(path, 16, 5, offsets=[0, *ends, 700])
    for one, other in zip(by_eos, by_offsets, strict=False):
        assert all(map(torch.equal, one, other))


@pytest.mark.parametrize(
    ("make", "kind", "why"),
    [
        (lambda path: RaggedArray(np.zeros(5), [0, 6]), ValueError, r"offsets\[1\] is 6, but there are 5"),
        (lambda path: RaggedArray(np.zeros(5), [-1, 2]), ValueError, r"offsets\[0\] is -1"),
        (lambda path: RaggedArray(np.zeros(5), [0, 3, 2, 5]), ValueError, "decrease from 3 to 2 at row 1"),
        (lambda path: RaggedArray(np.zeros(5), np.array([0, 2**63 + 5], np.uint64)), ValueError, "9223372036854775813"),
        (lambda path: RaggedArray(np.zeros(5), [0.0, 5.0]), ValueError, "not integers"),
        (lambda path: RaggedArray(np.zeros(5), []), ValueError, "one more than rows"),
        (lambda path: RaggedArray(np.float32(3), [0]), ValueError, "no dimensions"),
        (lambda path: RaggedArray([1, 2], [0, 2]), TypeError, "values are a list"),
        (lambda path: RaggedArray.of([]), ValueError, "at least one row"),
        (lambda path: RaggedArray.of([[1]])[1], IndexError, "index 1 is out of range"),
        (lambda path: ArrayDataset(RaggedArray(np.array(["a"]), [0, 1])), TypeError, "which torch does not have"),
        (lambda path: TokenDataset(path, 4, documents="split"), ValueError, "needs eos or offsets"),
        (lambda path: TokenDataset(path, 4, documents="cut"), ValueError, "'pack' or 'split'"),
        (lambda path: TokenDataset(path, 4, eos=1, offsets=[0, 1]), ValueError, "not both"),
        (lambda path: TokenDataset(path, 4, offsets=[0, 701]), ValueError, r"a\.bin: offsets\[1\] is 701, but"),
        (lambda path: TokenDataset([path], 4, offsets=[]), ValueError, "0 lists of offsets for 1 files"),
        (lambda path: TokenDataset(path, 4, offsets=[0, 1, 2], documents="split"), ValueError, "two tokens of one"),
    ],
)  # fmt: skip
def test_damaged_input_is_named(tmp_path: Path, make: Any, kind: type[Exception], why: str) -> None:
    with pytest.raises(kind, match=why):
        make(tokens(tmp_path / "a.bin"))


def test_rows_of_a_ragged_array() -> None:
    made = RaggedArray.of([[1, 2], [], [3]])
    assert [made[k].tolist() for k in (0, 1, 2, -1)] == [[1, 2], [], [3], [3]] and len(made) == 3
    assert repr(made) == "RaggedArray(3 rows of int64, 3 items)"
    with pytest.raises(ValueError, match="read-only"):
        made.offsets[0] = 1


class Parts(data.Dataset[Any]):
    """Slices of sequences that differ in length, as language models have them, before and after they are converted."""

    def __init__(self, rows: list[Any], seed: int) -> None:
        draw = random.Random(seed)
        self.rows, self.most, self.last = rows, draw.randint(1, 6), draw.randint(1, 6)
        self.words = ["".join(draw.choice("abc") for _ in range(draw.randint(4, 12))) for _ in rows]
        self.numbers = {"a": 1, "b": 2}

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> Any:
        row, ids = self.rows[i], torch.tensor([self.numbers.get(each, 0) for each in self.words[i]])
        last = self._tensor(row)[-self.last :][: self.most]
        return self._tensor(row[:-1]), self._tensor(row)[1:], self._tensor(row[: self.most]), last, ids[2:], ids[:-2]

    def _tensor(self, row: Any) -> Any:
        return row


class PartsOfArrays(Parts):
    def _tensor(self, row: Any) -> Any:
        return torch.from_numpy(row)


class PartsOfLists(Parts):
    def _tensor(self, row: Any) -> Any:
        return torch.tensor(row, dtype=torch.long)


def sequences(kind: str, seed: int) -> tuple[list[Any], type[Parts]]:
    draw = np.random.default_rng(seed)
    counts = draw.integers(2 if kind == "lists" else 0, 9, COUNT)
    if kind == "lists":
        return [draw.integers(0, 99, count).tolist() for count in counts], PartsOfLists
    arrays = [draw.standard_normal((count, 3)).astype(np.float32) for count in counts]
    return ([torch.from_numpy(each) for each in arrays], Parts) if kind == "tensors" else (arrays, PartsOfArrays)


@WORKERS
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["lists", "tensors", "arrays"])
def test_parts_of_sequences(kind: str, seed: int, num_workers: int) -> None:
    rows, made = sequences(kind, seed)
    options = {"batch_size": 5, "shuffle": True, "num_workers": num_workers, "collate_fn": lambda: Pad(True)}
    events = check(Program(loader_of(lambda: made(rows, seed), **options)))
    assert not any(kind == "error" for kind, _ in events)


def test_parts_of_lists_that_are_empty() -> None:
    """torch makes floats of an empty list."""
    rows = [[1], [2, 3], [4, 5, 6]]
    check(Program(loader_of(lambda: PartsOfLists(rows, 0), batch_size=3, collate_fn=lambda: Pad(True))), native=None)


@WORKERS
def test_parts_of_one_length(num_workers: int) -> None:
    """They are stacked, and reckoned with."""

    class Stacked(Parts):
        def __getitem__(self, i: int) -> Any:
            row = self._tensor(self.rows[i][:4])
            return row, row * 2 + 1, self._tensor(self.rows[i])[-3:-1].float()

    class StackedArrays(Stacked, PartsOfArrays):
        pass

    class StackedLists(Stacked, PartsOfLists):
        pass

    draw = np.random.default_rng(0)
    for made in (StackedArrays, StackedLists):
        rows = [draw.integers(0, 99, count) for count in draw.integers(4, 9, COUNT)]
        given = [row.tolist() for row in rows] if made is StackedLists else rows
        check(Program(loader_of(made(given, 0), batch_size=5, shuffle=True, num_workers=num_workers)))
