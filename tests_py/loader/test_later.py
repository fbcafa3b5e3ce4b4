"""Loaders without workers, whose batches torch's way makes until Go pays: the same batches wherever Go takes over."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils import data
from torchvision import transforms

import goloader
from goloader.doors import choice
from goloader.doors.index import later

ROWS = 61


class Rows(data.Dataset[Any]):
    def __init__(self) -> None:
        self.x, self.y = torch.randn(ROWS, 3), np.arange(ROWS)

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: int) -> Any:
        return {"x": self.x[index], "y": self.y[index]}


class Drawing(Rows):
    """Of no plan."""

    def __getitem__(self, index: int) -> Any:
        return self.x[index] + torch.randn(3), random.random(), np.random.rand()


class Pictures(data.Dataset[Any]):
    """Of a plan that draws."""

    def __init__(self) -> None:
        self.images = np.random.randint(0, 256, (ROWS, 12, 10, 3), np.uint8)
        self.transform = transforms.Compose(
            [transforms.RandomCrop(8), transforms.RandomHorizontalFlip(), transforms.ToTensor()]
        )

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: int) -> Any:
        return self.transform(Image.fromarray(self.images[index])), index


class Backwards(data.Sampler[int]):
    """A sampler that nobody knows."""

    def __iter__(self) -> Iterator[int]:
        return iter([*range(ROWS - 1, -1, -1), *torch.randint(ROWS, (9,)).tolist()])


@pytest.fixture(autouse=True)
def _waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where tests do not ask for Go at once."""
    monkeypatch.setattr(later, "sandbox", SimpleNamespace(WAITS=False))


def take_over(monkeypatch: pytest.MonkeyPatch, batches: int) -> None:
    """Has Go asked after so many batches."""
    monkeypatch.setattr(later, "_BATCHES", batches)
    monkeypatch.setattr(later, "_LEFT_S", 0.0)


def never(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("_LEFT_S", "_LEFT_CLOCK_S", "_SPENT_S"):
        monkeypatch.setattr(later, limit, 1e9)


def epochs(loader: Any, count: int = 3) -> list[Any]:
    """All batches, and where the generators stand after each."""
    return [(batch, states()) for _ in range(count) for batch in loader] + [states()]


def states() -> Any:
    return torch.get_rng_state(), random.getstate(), np.random.get_state()[1:3]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return type(one) is type(other) and one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[name], other[name]) for name in one)
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def both(make: Callable[[Any], Any]) -> tuple[list[Any], list[Any], Any]:
    """What torch's loader gives and what ours does, and ours."""
    seed = random.randrange(1 << 30)
    given = []
    for kind in (data.DataLoader, goloader.DataLoader):
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)
        loader = make(kind)
        given.append(epochs(loader))
    return given[0], given[1], loader


@pytest.mark.parametrize("dataset", [Rows, Drawing, Pictures])
def test_batches_are_the_same_wherever_go_takes_over(
    dataset: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    size = random.randrange(1, 9)
    take_over(monkeypatch, random.randrange(1, ROWS // size))
    asked: list[int] = []
    core = choice.core
    monkeypatch.setattr(choice, "core", lambda *arguments: (asked.append(1), core(*arguments))[1])
    options: Any = random.choice(
        [{"shuffle": True}, {"sampler": Backwards()}, {"drop_last": True}, {"sampler": data.RandomSampler(range(ROWS))}]
    )
    theirs, ours, loader = both(lambda kind: kind(dataset(), batch_size=size, **options))
    assert same(theirs, ours)
    assert bool(asked) == (dataset is not Drawing)
    assert "SMALL_EPOCHS" not in loader.explain().codes


def test_small_epochs_are_torchs_until_they_have_taken_long(monkeypatch: pytest.MonkeyPatch) -> None:
    never(monkeypatch)
    theirs, ours, loader = both(lambda kind: kind(Rows(), batch_size=7, shuffle=True))
    assert same(theirs, ours)
    explanation = loader.explain()
    assert "SMALL_EPOCHS" in explanation.codes and not explanation.native
    monkeypatch.setattr(later, "_SPENT_S", 0.0)
    next(iter(loader))
    assert loader.explain().native


def test_go_makes_an_epoch_if_the_last_one_took_long(monkeypatch: pytest.MonkeyPatch) -> None:
    never(monkeypatch)

    def run(kind: Any) -> tuple[list[Any], Any]:
        torch.manual_seed(0)
        loader = kind(Pictures(), batch_size=7, shuffle=True)
        given = epochs(loader, 1)
        if kind is goloader.DataLoader:
            known = later.of(loader)
            assert known is not None and known.epoch == len(loader) and 0 < known.epoch_s <= known.spent_s
            monkeypatch.setattr(later, "_LEFT_S", 2 * known.epoch_s)
            assert later.of(loader) is known
            monkeypatch.setattr(later, "_LEFT_S", known.epoch_s)
        return given + epochs(loader, 1), loader

    np.random.seed(0)
    theirs, _ = run(data.DataLoader)
    np.random.seed(0)
    ours, loader = run(goloader.DataLoader)
    assert same(theirs, ours)
    assert loader.stats().samples == ROWS


def test_nothing_is_looked_at_before_go_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    never(monkeypatch)
    monkeypatch.setattr(choice, "decide", lambda loader: pytest.fail("it was looked at"))
    assert len(list(goloader.DataLoader(Rows(), batch_size=7))) == -(-ROWS // 7)


def test_what_go_has_later_than_torch_is_torchs_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(later, "_BATCHES_OF_GO", random.randrange(1, 5))

    def make(kind: Any) -> Any:
        loader = kind(Rows(), batch_size=7, shuffle=True)
        if kind is goloader.DataLoader:
            later._known[loader] = later.Later(over=True, least_s=0.0)
        return loader

    theirs, ours, loader = both(make)
    assert same(theirs, ours)
    assert "SMALL_BATCHES" in loader.explain().codes
    assert loader.stats().samples == later._BATCHES_OF_GO * 7


def test_epochs_that_go_takes_longer_to_begin_are_torchs_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(later, "_EPOCHS_OF_GO", 2)

    def make(kind: Any) -> Any:
        loader = kind(Rows(), batch_size=ROWS, shuffle=True)
        if kind is goloader.DataLoader:
            later._known[loader] = later.Later(over=True, least_s=later._LEFT_S / 2, least_begin_s=-1.0)
        return loader

    theirs, ours, loader = both(make)
    assert same(theirs, ours)
    assert "SMALL_BATCHES" in loader.explain().codes
    assert loader.stats().samples == 2 * ROWS


@pytest.mark.parametrize(("batches", "slower"), [(1, True), (1000, False)])
def test_what_an_epoch_takes_to_begin_counts_by_its_batches(batches: int, slower: bool) -> None:
    known = later.Later(least_s=20e-6, least_begin_s=100e-6, least_of_go_s=15e-6, of_go=16)
    for seconds in (9.0, 400e-6, 500e-6, 500e-6, 1e-6):
        known.began(seconds, batches, of_go=True)
    assert known.slower is slower
    assert known.least_begin_of_go_s == 400e-6


def _summed(batch: list[Any]) -> Any:
    return sum(each["x"] for each in batch)


@pytest.mark.parametrize(
    "change", [lambda loader: None, lambda loader: setattr(loader.dataset, "x", torch.zeros(ROWS, 3))]
)
def test_an_epoch_goes_on_with_the_collate_fn_that_it_was_begun_with(
    change: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the loader has by the time that Go is asked, or asked again since the dataset has changed."""
    take_over(monkeypatch, 3)

    def run(kind: Any, first: Any, then: Any) -> list[Any]:
        torch.manual_seed(0)
        loader = kind(Rows(), batch_size=7, collate_fn=first)
        given = []
        for n, batch in enumerate(loader):
            given.append(batch)
            if n == 0:
                loader.collate_fn = then
            if n == 5:
                change(loader)
        return [*given, *loader]

    for pair in (_summed, data.default_collate), (data.default_collate, _summed):
        assert same(run(data.DataLoader, *pair), run(goloader.DataLoader, *pair))


def test_an_epoch_that_was_begun_so_goes_on_from_its_state(monkeypatch: pytest.MonkeyPatch) -> None:
    take_over(monkeypatch, 4)
    for broken_off in (2, 6):
        torch.manual_seed(3)
        loader = goloader.DataLoader(Rows(), batch_size=7, shuffle=True)
        iterator = iter(loader)
        for _ in range(broken_off):
            next(iterator)
        state = loader.state_dict()
        rest = list(iterator)
        other = goloader.DataLoader(loader.dataset, batch_size=7, shuffle=True)
        other.load_state_dict(state)
        assert same(rest, list(other))


@pytest.mark.parametrize("options", [{"rng": "sample"}, {"on_error": "skip"}, {"on_fallback": "warn"}])
def test_whoever_asks_for_more_than_torch_gives_is_not_kept_waiting(options: Any) -> None:
    loader: Any = goloader.DataLoader(Rows(), batch_size=7, **options)
    assert later.of(loader) is None
    next(iter(loader))
    assert loader.explain().native


def test_a_loader_that_was_changed_since_its_last_epoch_is_looked_at_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    never(monkeypatch)

    def run(kind: Any) -> list[Any]:
        torch.manual_seed(0)
        loader = kind(Rows(), batch_size=7, shuffle=True)
        given = epochs(loader, 1)
        loader.num_workers, loader.prefetch_factor = 2, 2
        given += epochs(loader, 2)
        if kind is goloader.DataLoader:
            assert loader.explain().native
        loader.num_workers, loader.prefetch_factor = 0, None
        return given + epochs(loader, 1)

    assert same(run(data.DataLoader), run(goloader.DataLoader))
