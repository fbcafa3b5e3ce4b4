"""num_workers="auto": an int once the loader is made, and by timing only where the batches do not depend on it."""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
import twins
from torch.utils import data
from torchvision.datasets import ImageFolder

import goloader
from goloader import _auto, _cores
from goloader.state import generators


@pytest.fixture(params=[1, 3], ids=["1 core", "3 cores"], autouse=True)
def cores(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    number: int = request.param
    monkeypatch.setattr(_cores, "share", lambda: number)
    # A busy machine may take seconds to start a child; the test that is about patience has less.
    monkeypatch.setattr(_auto, "_PATIENCE_S", 60.0)
    return number


class Made(data.Dataset[Any]):
    """Samples that a function makes."""

    def __init__(self, make: Callable[[int], Any], length: int = 5000) -> None:
        self.make, self.length, self.calls = make, length, 0

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        self.calls += 1
        return self.make(index)


def slow(index: int) -> int:
    time.sleep(1e-3)
    return index


def fails(index: int) -> int:
    raise LookupError(index)


def dies(index: int) -> int:
    os._exit(3)


def test_a_native_loader_has_a_worker_a_core_and_the_batches_of_that_number(dataset: ImageFolder, cores: int) -> None:
    arguments = {"batch_size": 5, "shuffle": True}
    loader = goloader.DataLoader(dataset, num_workers="auto", **arguments)
    assert loader.explain().native
    assert (type(loader.num_workers), loader.num_workers, loader.prefetch_factor) == (int, cores, 2)
    torch.manual_seed(3)
    ours = [twins.bits(batch) for batch in loader]
    torch.manual_seed(3)
    assert ours == [twins.bits(batch) for batch in data.DataLoader(dataset, num_workers=cores, **arguments)]


def test_cheap_samples_are_loaded_here() -> None:
    for batch_size, shuffle in ((4, False), (4, True), (None, False)):
        loader = goloader.DataLoader(Made(lambda i: i), batch_size, shuffle, num_workers="auto")
        assert (loader.num_workers, loader.prefetch_factor) == (0, None)
        assert "less than sending it from a worker" in str(loader.explain())


def test_an_epoch_shorter_than_the_start_of_a_worker_is_loaded_here(
    monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    # Two batches of 1.2 ms or, on a busy machine, much more: dearer than handing one on, and between these starts.
    dataset = Made(lambda index: time.sleep(3e-4) or index, 8)
    for start, number in ((60.0, 0), (2e-3, cores)):
        monkeypatch.setattr(_auto, "_START_S", start)
        assert goloader.DataLoader(dataset, batch_size=4, num_workers="auto").num_workers == number


def test_samples_that_cost_something_are_loaded_by_workers(cores: int) -> None:
    loader = goloader.DataLoader(Made(slow), batch_size=4, num_workers="auto")
    assert loader.num_workers == cores


@pytest.mark.parametrize(
    "make",
    [lambda i: torch.rand(1), lambda i: random.random(), lambda i: np.random.rand()],
    ids=["torch", "random", "numpy"],
)
def test_where_samples_draw_random_numbers_cores_decide_however_cheap_they_are(
    make: Callable[[int], Any], cores: int
) -> None:
    loader = goloader.DataLoader(Made(make), batch_size=4, num_workers="auto")
    assert loader.num_workers == cores
    assert "random numbers" in str(loader.explain())


def test_a_random_sampler_says_nothing_of_the_samples() -> None:
    generator = torch.Generator().manual_seed(3)
    loader = goloader.DataLoader(Made(lambda i: i), 4, shuffle=True, generator=generator, num_workers="auto")
    assert loader.num_workers == 0


def test_a_trial_leaves_no_trace(cores: int) -> None:
    def draw(index: int) -> float:
        return random.random() + np.random.rand() + float(torch.rand(1, generator=generator)) + float(torch.rand(1))

    generator = torch.Generator().manual_seed(1)
    dataset = Made(draw)
    before, own = generators.capture(generators.PROCESS), generator.get_state()
    children = multiprocessing.active_children()
    loader = goloader.DataLoader(dataset, 4, shuffle=True, generator=generator, num_workers="auto")
    assert loader.num_workers == cores
    assert (generators.left(before), dataset.calls) == ({}, 0)
    assert torch.equal(generator.get_state(), own)
    assert set(multiprocessing.active_children()) <= set(children)
    assert "_goloader_asked" not in vars(_auto.worker)


@pytest.mark.slow
@pytest.mark.parametrize("make", [fails, dies])
def test_a_dataset_that_fails_leaves_it_to_the_cores_and_fails_where_it_is_used(
    make: Callable[[int], Any], cores: int
) -> None:
    loader = goloader.DataLoader(Made(make), num_workers="auto")
    assert loader.num_workers == cores
    assert "could not be measured" in str(loader.explain())
    with pytest.raises(LookupError if make is fails else RuntimeError):
        next(iter(loader))


@pytest.mark.slow
def test_a_dataset_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    monkeypatch.setattr(_auto, "_PATIENCE_S", 0.3)
    children = multiprocessing.active_children()
    assert goloader.DataLoader(Made(lambda i: time.sleep(1000)), num_workers="auto").num_workers == cores
    assert set(multiprocessing.active_children()) <= set(children)


def test_a_start_method_of_the_user_s_is_not_replaced_by_fork(cores: int) -> None:
    class Unforkable(Made):
        def __getitem__(self, index: int) -> Any:
            raise AssertionError("nobody asked for this sample")

    loader = goloader.DataLoader(Unforkable(slow), num_workers="auto", multiprocessing_context="spawn")
    assert loader.num_workers == cores


@pytest.mark.parametrize(
    "arguments",
    [
        {"persistent_workers": True},
        {"prefetch_factor": 3},
        {"timeout": 9},
        {"worker_init_fn": id},
        {"multiprocessing_context": "fork"},
    ],
    ids=lambda arguments: next(iter(arguments)),
)
def test_arguments_for_workers_make_workers(arguments: dict[str, Any], cores: int) -> None:
    loader = goloader.DataLoader(Made(lambda i: i), num_workers="auto", **arguments)
    assert loader.num_workers == cores
    for name, value in arguments.items():
        if name != "multiprocessing_context":
            assert getattr(loader, name) == value


class Counting(data.IterableDataset[int]):
    def __init__(self, wait: float = 0) -> None:
        self.wait = wait

    def __iter__(self) -> Iterator[int]:
        for number in range(12):
            time.sleep(self.wait)
            yield number


class Split(Counting):
    def __iter__(self) -> Iterator[int]:
        info = data.get_worker_info()
        numbers = super().__iter__()
        return numbers if info is None else (n for n in numbers if n % info.num_workers == info.id)


def test_an_iterable_dataset_that_does_not_ask_which_worker_it_is_never_gets_two() -> None:
    for wait, number in ((0, 0), (2e-3, 1)):
        loader = goloader.DataLoader(
            Counting(wait), batch_size=1, num_workers="auto"
        )  # the quickest of several batches counts
        assert loader.num_workers == number
        assert torch.cat(list(loader)).tolist() == list(range(12))
    assert goloader.DataLoader(Counting(), num_workers="auto", persistent_workers=True).num_workers == 1


def test_an_iterable_dataset_that_asks_gets_all(cores: int) -> None:
    loader = goloader.DataLoader(Split(2e-3), batch_size=1, num_workers="auto")
    assert loader.num_workers == cores
    assert sorted(torch.cat(list(loader)).tolist()) == list(range(12))


def test_a_trial_does_not_count_as_asking_for_the_length() -> None:
    loader = goloader.DataLoader(Counting(), num_workers="auto")
    assert loader._IterableDataset_len_called is None


def number_inside(index: int) -> int:
    return goloader.DataLoader(Made(slow), num_workers="auto").num_workers


def test_a_worker_has_no_workers() -> None:
    assert torch.cat(list(goloader.DataLoader(Made(number_inside, 2), num_workers=1))).tolist() == [0, 0]


@pytest.mark.parametrize("text", ["Auto", "", "2"])
def test_other_strings_are_refused_in_torch_s_words(dataset: ImageFolder, text: str) -> None:
    errors = []
    for kind in goloader.DataLoader, data.DataLoader:
        with pytest.raises(TypeError) as raised:
            kind(dataset, num_workers=text)
        errors.append(str(raised.value))
    assert errors[0] == errors[1]


def test_explain_gives_the_reason_until_the_number_is_changed(dataset: ImageFolder, cores: int) -> None:
    loader = goloader.DataLoader(dataset, num_workers="auto")
    row = next(iter(loader.explain()))
    assert (row.stage, row.what, row.where) == ("workers", f"num_workers={cores}", "Go")
    assert row.why.startswith("auto: ")
    loader.num_workers = cores + 1
    assert next(iter(loader.explain())).stage == "sampler"
