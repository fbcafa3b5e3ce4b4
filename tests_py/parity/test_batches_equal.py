"""Every batch of every epoch has the bits that torch's DataLoader gives, for any number of workers."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
import twins
from accelerator import Lent
from torch.utils import data
from torchvision.datasets import ImageFolder
from twins import Program, check, generator, loader_of

import goloader

WORKERS = pytest.mark.parametrize("num_workers", [0, 1, 2, 3])


@WORKERS
@pytest.mark.parametrize(
    "how",
    [
        {"batch_size": 8},
        {"batch_size": 8, "shuffle": True},
        {"batch_size": 8, "shuffle": True, "generator": generator},
        {"batch_size": 7, "shuffle": True, "drop_last": True},
        {"batch_size": 64, "shuffle": True},
        {"batch_size": 1, "shuffle": True, "generator": generator},
        {"batch_size": None, "shuffle": True},
        {"batch_size": None},
    ],
    ids=lambda how: re.sub(" at 0x[0-9a-f]+", "", str(how)),
)
def test_three_epochs_with_draws_of_the_user_between(
    dataset: ImageFolder, num_workers: int, how: dict[str, Any]
) -> None:
    check(Program(loader_of(dataset, num_workers=num_workers, **how), epochs=3, draw=True))


@WORKERS
@pytest.mark.parametrize("with_generator", [False, True])
def test_epochs_left_early(dataset: ImageFolder, num_workers: int, with_generator: bool) -> None:
    how: dict[str, Any] = {"generator": generator} if with_generator else {}
    check(
        Program(
            loader_of(dataset, batch_size=4, shuffle=True, num_workers=num_workers, **how),
            epochs=6,
            leave=(2, None, 0, 9, None),
            draw=True,
        )
    )


@pytest.mark.parametrize("num_workers", [1, 2, 3])
@pytest.mark.parametrize("with_generator", [False, True])
@pytest.mark.parametrize("prefetch_factor", [1, 2, 5])
def test_persistent_workers_go_on_where_they_were(
    dataset: ImageFolder, num_workers: int, with_generator: bool, prefetch_factor: int
) -> None:
    # Batches that were under way when an epoch was left have drawn from the workers' streams.
    how: dict[str, Any] = {"generator": generator} if with_generator else {}
    check(
        Program(
            loader_of(
                dataset,
                batch_size=4,
                shuffle=True,
                num_workers=num_workers,
                persistent_workers=True,
                prefetch_factor=prefetch_factor,
                **how,
            ),
            epochs=6,
            leave=(2, None, 0, 9, None),
            draw=True,
        )
    )


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**32 + 5, 2**63 - 1])
def test_any_seed(dataset: ImageFolder, seed: int) -> None:
    for num_workers in 0, 2:
        check(Program(loader_of(dataset, batch_size=8, shuffle=True, num_workers=num_workers), epochs=1, seed=seed))


@pytest.mark.parametrize("num_workers", [0, 2])
def test_three_loaders_interleaved(dataset: ImageFolder, num_workers: int) -> None:
    def run(kind: type[data.DataLoader[Any]]) -> list[Any]:
        torch.manual_seed(3)
        shared = generator()
        loaders = [
            kind(dataset, batch_size=5, shuffle=True, num_workers=num_workers),
            kind(dataset, batch_size=5, shuffle=True, num_workers=num_workers, generator=shared),
            kind(dataset, batch_size=3, shuffle=True, num_workers=num_workers, generator=shared),
        ]
        seen = []
        iterators = [iter(loader) for loader in loaders]
        for step in range(40):
            which = (step * step + step // 3) % 3
            batch = next(iterators[which], None)
            seen.append((which, twins.bits(batch)))
            if batch is None:
                iterators[which] = iter(loaders[which])
        return seen

    assert run(goloader.DataLoader) == run(data.DataLoader)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_two_epochs_of_one_loader_at_once(dataset: ImageFolder, num_workers: int) -> None:
    def run(kind: type[data.DataLoader[Any]]) -> list[Any]:
        torch.manual_seed(4)
        loader = kind(dataset, batch_size=5, shuffle=True, num_workers=num_workers)
        return [twins.bits(pair) for pair in zip(loader, loader, strict=True)]

    assert run(goloader.DataLoader) == run(data.DataLoader)


def test_a_loader_in_a_thread_gives_the_same(dataset: ImageFolder) -> None:
    import threading

    program = Program(loader_of(dataset, batch_size=5, shuffle=True, num_workers=2))
    events: list[Any] = []
    thread = threading.Thread(target=lambda: events.extend(twins.run(goloader.DataLoader, program)))
    thread.start()
    thread.join()
    twins.compare(events, twins.run(data.DataLoader, program))


def test_in_order_false_is_allowed_and_gives_the_batches_of_torch(dataset: ImageFolder) -> None:
    check(Program(loader_of(dataset, batch_size=5, shuffle=True, num_workers=1, in_order=False)))


@pytest.mark.parametrize("num_workers", [0, 2])
def test_batches_are_made_in_page_locked_memory(
    dataset: ImageFolder, num_workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for batch_size in 8, None:
        program = Program(
            loader_of(dataset, batch_size=batch_size, shuffle=True, num_workers=num_workers, pin_memory=True), draw=True
        )
        with monkeypatch.context() as patch:
            lent = Lent(patch)
            check(program)
            assert lent.blocks
            batch = next(iter(goloader.DataLoader(dataset, 8, num_workers=num_workers, pin_memory=True)))
            assert lent.has(batch[0])
