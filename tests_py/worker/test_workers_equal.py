"""Batches from worker processes are torch's: values, types, dtypes, strides, storages, containers, order, errors."""

from __future__ import annotations

import collections
import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from samples import COLLATES, REFUSED, SAMPLES, Bulk, Drawn, Failing, Mapped, Record, Stream, see
from torch.utils import data
from torch.utils.data._utils import collate

import goloader
from goloader.doors.worker.iterator import WorkerIterator


def told(error: Exception) -> tuple[str, ...]:
    """An error's class, and of its text the first line, the last one, and which functions its traceback names.

    Tensors are collated by a function of ours around torch's.
    """
    lines = str(error).splitlines()
    frames = [line for line in lines if line.strip().startswith("File ") and "goloader" not in line]
    return type(error).__name__, lines[0], *frames, lines[-1]


def events(kind: type[data.DataLoader[Any]], epochs: int = 1, **arguments: Any) -> list[Any]:
    """What a user sees of a loader's epochs."""
    torch.manual_seed(3)
    seen: list[Any] = []
    loader = kind(**arguments)
    for _ in range(epochs):
        iterator = iter(loader)
        assert kind is data.DataLoader or isinstance(iterator, WorkerIterator)
        while True:
            try:
                seen.append(see(next(iterator)))
            except StopIteration:
                break
            except Exception as error:
                seen.append(told(error))
        seen.append(torch.initial_seed())
    if loader._iterator is not None:
        loader._iterator._shutdown_workers()
    return seen


def same(**arguments: Any) -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = events(goloader.DataLoader, **arguments), events(data.DataLoader, **arguments)
    for number, (got, want) in enumerate(itertools.zip_longest(ours, theirs)):
        assert got == want, f"event {number}"
    return theirs


# Loaders of many kinds in one process are slow to start: all structures go through one loader each, batch after batch.


@pytest.mark.parametrize("kind", SAMPLES)
def test_default_collate_gives_torch_s_batches(kind: str) -> None:
    assert len(same(dataset=Mapped(kind), batch_size=4, num_workers=1)) == 5


@pytest.mark.parametrize("kind", REFUSED)
def test_what_default_collate_refuses_is_refused_in_torch_s_words(kind: str) -> None:
    errors = same(dataset=Mapped(kind, 6), batch_size=3, num_workers=1)
    assert all("Error" in event[0] for event in errors[:-1])


@pytest.mark.parametrize("name", COLLATES)
def test_a_collate_fn_s_results_arrive_as_torch_s(name: str) -> None:
    same(dataset=Mapped("int", 8), batch_size=4, num_workers=2, collate_fn=COLLATES[name])


@pytest.mark.parametrize("name", ["tuple", "nested", "str"])
@pytest.mark.parametrize(
    "arguments",
    [
        {"num_workers": 2, "shuffle": True},
        {"num_workers": 3, "prefetch_factor": 1, "drop_last": True},
        {"num_workers": 2, "persistent_workers": True, "shuffle": True, "epochs": 3},
        {"num_workers": 2, "epochs": 2, "timeout": 30},
        {"num_workers": 2, "batch_size": None},
        {"num_workers": 1, "in_order": False, "prefetch_factor": 3},
    ],
    ids=str,
)
def test_loaders_of_every_kind_give_torch_s_batches(name: str, arguments: dict[str, Any]) -> None:
    same(**{"dataset": Mapped(name), "batch_size": 3} | arguments)


@pytest.mark.parametrize("dataset", [Bulk("tuple"), Stream("nested"), Drawn()], ids=lambda d: type(d).__name__)
@pytest.mark.parametrize("persistent", [False, True])
def test_datasets_of_every_kind_give_torch_s_batches(dataset: Any, persistent: bool) -> None:
    same(dataset=dataset, batch_size=3, num_workers=2, persistent_workers=persistent, epochs=2)


def test_batch_samplers_may_yield_anything() -> None:
    for batches in [(1, 2), (3,)], [{4, 5}], [[6], [0, 7]], [{1: "a", 2: "b"}]:
        same(dataset=Mapped("tuple"), batch_sampler=batches, num_workers=1)


class Handed(data.Dataset[Any]):
    """Gives back what it is asked for, and its class, as text."""

    def __getitem__(self, index: Any) -> Any:
        return index, f"{type(index)} {index}"

    def __len__(self) -> int:
        return 4


def test_without_batches_a_dataset_is_given_the_sampler_s_own_objects() -> None:
    sampler = [[0, 1], [[2], 3], (1,), slice(2), {3}]
    assert "list" in str(same(dataset=Handed(), batch_size=None, sampler=sampler, num_workers=1))


class AtOnce(Handed):
    def __init__(self, container: Any) -> None:
        self.container = container

    def __getitems__(self, indices: list[int]) -> Any:
        return self.container(torch.ones(len(indices), 2))


@pytest.mark.parametrize("container", [list, tuple, torch.clone, collections.deque])
def test_a_batch_that_is_no_list_is_stacked_or_refused_as_torch_does(container: Any) -> None:
    same(dataset=AtOnce(container), batch_size=2, num_workers=1)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_every_start_method_gives_torch_s_batches(method: str) -> None:
    want = events(data.DataLoader, dataset=Mapped("nested"), batch_size=4, num_workers=2)
    arguments = {"dataset": Mapped("nested"), "batch_size": 4, "num_workers": 2, "multiprocessing_context": method}
    assert events(goloader.DataLoader, **arguments) == want


def test_errors_are_torch_s_and_the_epoch_goes_on() -> None:
    assert "ValueError" in str(same(dataset=Failing(), batch_size=2, num_workers=2))


def test_out_of_order_batches_are_the_same_ones() -> None:
    def batches(kind: type[data.DataLoader[Any]]) -> list[Any]:
        loader = kind(Mapped("tuple"), batch_size=2, num_workers=2, in_order=False)
        return sorted((see(batch) for batch in loader), key=str)

    assert batches(goloader.DataLoader) == batches(data.DataLoader)


def collate_records(batch: list[Record], *, collate_fn_map: Any = None) -> Any:
    return Record(torch.stack([record.image for record in batch]), ",".join(record.name for record in batch))


def collate_padded(batch: list[torch.Tensor], *, collate_fn_map: Any = None) -> Any:
    return torch.nn.utils.rnn.pad_sequence(batch, batch_first=True, padding_value=-1)


@pytest.mark.parametrize(("kind", "of", "function"), [
    ("dataclass", Record, collate_records), ("shapes", torch.Tensor, collate_padded),
    ("tuple", torch.Tensor, collate_padded), ("nested", (int, str), lambda batch, **_: tuple(batch)),
])  # fmt: skip
def test_default_collate_extended_by_the_user_is_used(
    kind: str, of: Any, function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(collate.default_collate_fn_map, of, function)
    batches = same(dataset=Mapped(kind), batch_size=4, num_workers=2)
    assert not any("Error" in str(batch[0]) for batch in batches[:-1])


def extend_in_worker(worker_id: int) -> None:
    collate.default_collate_fn_map[torch.Tensor] = collate_padded


def test_default_collate_extended_in_a_worker_is_used() -> None:
    batches = same(dataset=Mapped("shapes"), batch_size=4, num_workers=1, worker_init_fn=extend_in_worker)
    assert not any("Error" in str(batch[0]) for batch in batches[:-1])


def test_what_is_shared_within_a_batch_stays_shared() -> None:
    loader = goloader.DataLoader(Mapped("int", 4), batch_size=4, num_workers=1, collate_fn=COLLATES["shared parts"])
    (batch,) = loader
    batch["whole"][0, 0, 0] = -1
    assert batch["first"][0, 0] == batch["flat"][0] == batch["half"][0, 0, 0] == -1
    assert batch["again"] is batch["whole"]


def shared_dataset() -> torch.Tensor:
    return torch.zeros(5000).share_memory_()


def test_a_tensor_that_the_dataset_shares_is_the_same_memory_here() -> None:
    shared = shared_dataset()
    loader = goloader.DataLoader([shared], batch_size=None, num_workers=1)
    (batch,) = loader
    batch[3] = 8
    assert shared[3] == 8


def unpicklable(samples: list[Any]) -> Any:
    return (lambda: samples) if 2 in samples else samples


def test_a_batch_that_cannot_be_pickled_is_an_error_of_that_batch() -> None:
    loader = goloader.DataLoader(Mapped("int", 6), batch_size=2, num_workers=1, collate_fn=unpicklable)
    iterator: Iterator[Any] = iter(loader)
    assert next(iterator) == [0, 1]
    with pytest.raises(Exception, match=r"Caught .*Error in DataLoader worker process 0"):
        next(iterator)
    assert list(iterator) == [[4, 5]]


def test_num_workers_0_is_torch_s_own_iterator() -> None:
    iterator = iter(goloader.DataLoader(Mapped("tuple"), batch_size=3))
    assert isinstance(iterator, data.dataloader._SingleProcessDataLoaderIter)
