"""Whatever yields indices, in whatever form, leads to torch's batches, errors and generator states."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import (
    BatchSampler,
    Dataset,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    Subset,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from torchvision.datasets import ImageFolder
from twins import Program, check, errors, generator, loader_of

LENGTH = 38

WORKERS = pytest.mark.parametrize("num_workers", [0, 2])


class Listed:
    """A user's sampler: any sequence."""

    def __init__(self, *values: Any) -> None:
        self.values = values

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)


class Drawing(Listed):
    """Draws from the process's generator for each index."""

    def __iter__(self) -> Iterator[int]:
        for _ in range(20):
            yield int(torch.randint(LENGTH, ()))


class Raising(Listed):
    def __iter__(self) -> Iterator[int]:
        yield from range(7)
        raise ValueError("no more of this")


class Moody(Listed):
    """Its end is not always its end."""

    def __iter__(self) -> Iterator[Any]:
        self.count = 0
        return self

    def __next__(self) -> list[int]:
        self.count += 1
        if self.count % 4 == 0:
            raise StopIteration
        if self.count > 11:
            raise KeyError("moody")
        return [self.count, self.count + 1]


class Stumbling(Listed):
    """Raises an error in the middle, and would go on."""

    def __iter__(self) -> Iterator[int]:
        return map(lambda k: 10 // (5 - k) and k, range(12))  # noqa: C417 - an error ends a generator


class Resuming(Listed):
    """Its iterator says that it is at its end, and goes on when it is asked again."""

    def __iter__(self) -> Iterator[int]:
        return self.Iterator()

    class Iterator(Iterator[int]):
        count = -1

        def __next__(self) -> int:
            self.count += 1
            if self.count % 7 == 6 or self.count > 40:
                raise StopIteration
            return self.count % LENGTH


@WORKERS
@pytest.mark.parametrize(
    "sampler",
    [
        lambda: SequentialSampler(range(LENGTH)),
        lambda: RandomSampler(range(LENGTH), replacement=True, num_samples=75),
        lambda: RandomSampler(range(LENGTH), replacement=True, num_samples=75, generator=generator()),
        lambda: RandomSampler(range(LENGTH), num_samples=75),
        lambda: RandomSampler(range(LENGTH), num_samples=20, generator=generator()),
        lambda: SubsetRandomSampler(range(3, 20)),
        lambda: SubsetRandomSampler([3, -1, 5, 5], generator=generator()),
        lambda: SubsetRandomSampler(torch.arange(30)),
        lambda: WeightedRandomSampler(torch.arange(LENGTH).double(), 33),
        lambda: WeightedRandomSampler(range(1, 1 + LENGTH), 33, replacement=False, generator=generator()),
        lambda: Listed(3, 1, -1, 2, np.int64(4), torch.tensor(5), True, np.uint8(7), np.array(8)),
        lambda: [5, 4, 3],
        lambda: range(9),
        lambda: Drawing(),
        lambda: Raising(),
        lambda: Stumbling(),
        lambda: Resuming(),
        lambda: 5,
    ],
)
def test_samplers(dataset: ImageFolder, num_workers: int, sampler: Any) -> None:
    check(
        Program(
            loader_of(dataset, batch_size=4, num_workers=num_workers, sampler=sampler), draw=True, leave=(None, 2, 12)
        )
    )


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("sampler", [lambda: Resuming(), lambda: Listed(*range(20)), lambda: Stumbling()])
def test_a_batch_size_that_is_changed(dataset: ImageFolder, sampler: Any, drop_last: bool) -> None:
    def arguments() -> dict[str, Any]:
        batches = BatchSampler(sampler(), 4, drop_last)
        return {"dataset": Subset(dataset, Resizing(batches)), "batch_sampler": batches}

    check(Program(arguments), native=False)


class Resizing:
    """Indices of a Subset; each that is looked up changes the size of batches."""

    def __init__(self, batches: BatchSampler) -> None:
        self.batches = batches

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> int:
        self.batches.batch_size = 2 + index % 3
        return index


@WORKERS
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("drop_last", [False, True])
def test_distributed_sampler(dataset: ImageFolder, num_workers: int, shuffle: bool, drop_last: bool) -> None:
    for replicas, rank in (3, 1), (4, 3), (1, 0):
        check(
            Program(
                loader_of(
                    dataset,
                    batch_size=4,
                    num_workers=num_workers,
                    sampler=lambda r=replicas, k=rank: DistributedSampler(
                        range(LENGTH), r, k, shuffle=shuffle, drop_last=drop_last
                    ),
                ),
                epochs=3,
                before=lambda epoch, loader: loader.sampler.set_epoch(epoch),
            )
        )


@WORKERS
@pytest.mark.parametrize(
    "sampler",
    [
        lambda: BatchSampler(RandomSampler(range(LENGTH), generator=generator()), 5, drop_last=True),
        lambda: (list(range(count)) for count in (3, 4, 5)),
        lambda: iter([[1, 2], [3]]),
        lambda: [[1, 2, 3], [], [4], (5, 6), range(3)],
        lambda: [np.array([1, 2]), np.array([3], np.uint8), torch.tensor([4, 5]), torch.tensor([6], dtype=torch.int32)],
        lambda: [[1], np.arange(4).reshape(2, 2), torch.arange(4).reshape(2, 2), [2]],
        lambda: [[1], np.array([True, False]), torch.tensor([1.0]), [2]],
        lambda: [[1], np.array([], np.int64), range(0), [2]],
        lambda: [{1, 2, 3}, {4: "a", 5: "b"}, {LENGTH}, "12"],
        lambda: [[1], 5, [2]],
        lambda: [[1], torch.tensor(3), np.array(2), None, [2]],
        lambda: Moody(),
    ],
)
def test_batch_samplers(dataset: ImageFolder, num_workers: int, sampler: Any) -> None:
    check(Program(loader_of(dataset, num_workers=num_workers, batch_sampler=sampler), draw=True, leave=(8,)))


class WithIndex(Dataset[Any]):
    """Images of a user's own class, and the index that each was asked for by."""

    def __init__(self, folder: ImageFolder) -> None:
        self.paths = [path for path, _ in folder.samples]
        self.transform = folder.transform

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, i: Any) -> Any:
        return self.transform(Image.open(self.paths[i]).convert("RGB")), i


@WORKERS
def test_an_index_that_a_sample_has_keeps_its_type(dataset: ImageFolder, num_workers: int) -> None:
    batches = [np.array([1, 2], dtype) for dtype in (np.uint8, np.int16, np.int32, np.int64)]
    events = check(Program(loader_of(WithIndex(dataset), num_workers=num_workers, batch_sampler=[*batches, [3, 4]])))
    assert not errors(events)


def test_batches_of_indices_that_can_be_read_once(dataset: ImageFolder) -> None:
    # Only without workers: no queue takes an iterator.
    def sampler() -> list[Any]:
        return [iter([1, 2, 3]), [4], map(int, "12"), iter([1, LENGTH]), (i for i in (5, 6))]

    check(Program(loader_of(dataset, batch_sampler=sampler), draw=True))


WRONG = {
    "string": [3, 1, "x", 4, 5],
    "float": [3, 1, 8.0, 4, 5],
    "none": [3, None, 1, 4, 5],
    "too large": [3, 1, LENGTH, 4, 5],
    "too small": [3, 1, -LENGTH - 1, 4, 5],
    "beyond int64": [3, 1, 2**70, 4, 5],
    "list": [3, [1, 2], 1, 4, 5],
    "slice": [3, slice(2), 1, 4, 5],
    "one batch, two errors": [3, LENGTH, "x", 4, 5],
    "all": [LENGTH] * 7,
}


@WORKERS
@pytest.mark.parametrize("batch_size", [3, None])
@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_index_raises_the_dataset_s_error_and_the_next_batch_comes(
    dataset: ImageFolder, num_workers: int, batch_size: int | None, name: str
) -> None:
    values = [*WRONG[name], *range(20)]
    events = check(
        Program(
            loader_of(dataset, batch_size=batch_size, num_workers=num_workers, sampler=lambda: Listed(*values)),
            draw=True,
        )
    )
    assert any(kind == "error" for kind, _ in events)
    assert events[-2][0] == "end"


@WORKERS
def test_wrong_indices_of_subsets(dataset: ImageFolder, num_workers: int) -> None:
    inner = Subset(dataset, [5, 3, -1, 30, 8, 9, 10, 2, 1, 0])
    cases: list[tuple[Any, list[int]]] = [
        (Subset(dataset, [1, 2, 99, 4, 5, -99, 6, 7]), list(range(8))),
        (inner, [0, 1, 10, 2, 3, 4, -11, 5, 6]),
        (Subset(inner, [0, 4, 5, 10, 2, 1, 3]), list(range(7))),
        # A Subset of a Subset looks all indices of a batch up before it loads the first.
        (Subset(inner, [0, 4, 5, 2, 1]), [0, 1, 5, 2, 3, 4, 0, -11, 1]),
    ]
    for subset, indices in cases:
        check(
            Program(
                loader_of(subset, batch_size=3, num_workers=num_workers, sampler=lambda i=indices: Listed(*i)),
                draw=True,
            )
        )
