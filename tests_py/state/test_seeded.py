"""rng="sample": what a sample becomes depends on (seed, epoch, index) alone."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils import data
from torchvision.datasets import ImageFolder

from goloader import DataLoader, Subset
from goloader.state import seeded

MASK = 2**64 - 1


class Draws(data.Dataset[Any]):
    """Draws from everything that a sample may draw from."""

    def __len__(self) -> int:
        return 13

    def __getitem__(self, index: int) -> Any:
        return index, torch.rand(2), random.random(), np.random.rand()

    def __getitems__(self, indices: list[int]) -> list[Any]:
        raise AssertionError("the samples of a batch have generators of their own")


def mixed(x: int) -> int:
    """SplitMix64's next number from the state x, in Python's integers."""
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def test_keys_are_what_is_documented() -> None:
    assert mixed(0) == 0xE220A8397B1DCDAF  # the first number of SplitMix64 seeded with 0
    choose = random.Random(1)
    for _ in range(50):
        seed, epoch = choose.randrange(-(2**63), 2**64), choose.randrange(2**20)
        indices = np.array([choose.randrange(-(2**63), 2**63) for _ in range(5)], np.int64)
        want = [mixed((mixed((mixed(seed & MASK) + epoch) & MASK) + int(index)) & MASK) for index in indices]
        assert seeded.keys(seed, epoch, indices).tolist() == want
        assert [seeded.key(seed, epoch, int(index)) for index in indices] == want


def test_other_indices_have_keys_too() -> None:
    assert seeded.key(1, 2, np.int64(3)) == seeded.key(1, 2, torch.tensor(3)) == seeded.key(1, 2, 3)
    assert len({seeded.key(1, 2, index) for index in ("a", "b", ("a", 1), [1, 2], b"a", 3)} | {0}) == 7
    with pytest.raises(TypeError, match='rng="sample" needs indices'):
        seeded.key(1, 2, object())


def samples(loader: DataLoader[Any], epochs: int = 2) -> list[dict[bytes, Any]]:
    """Samples by their index or label and file, epoch by epoch."""
    found = []
    for _ in range(epochs):
        epoch: list[Any] = []
        for batch in loader:
            epoch += zip(*(each.tolist() for each in batch), strict=True)
        found.append(epoch)
    return found


@pytest.mark.parametrize("native", [True, False])
def test_a_sample_is_as_after_manual_seed(dataset: ImageFolder, native: bool) -> None:
    source: Any = dataset if native else Draws()
    torch.manual_seed(4)
    loader = DataLoader(source, 5, rng="sample")
    assert loader.explain().native == native
    for epoch in range(2):
        for at, batch in enumerate(loader):
            for position in range(len(batch[0])):
                index = 5 * at + position
                key = seeded.key(4, epoch, index)
                kept = torch.get_rng_state()
                torch.manual_seed(key)
                random.seed(key)
                np.random.seed(key % 2**32)
                for got, want in zip((each[position] for each in batch), source[index], strict=True):
                    assert torch.equal(got, torch.as_tensor(want, dtype=got.dtype))
                torch.set_rng_state(kept)


@pytest.mark.parametrize("native", [True, False])
def test_nothing_else_matters(dataset: ImageFolder, native: bool) -> None:
    source: Any = dataset if native else Draws()
    length = len(source)

    def run(batch_size: int, **arguments: Any) -> list[list[Any]]:
        torch.manual_seed(9)
        return samples(DataLoader(source, batch_size, rng="sample", **arguments))

    want = run(1)
    assert want[0] != want[1], "epochs differ"
    for batch_size, num_workers in ((4, 0), (3, 1), (1, 2), (7, 3)):
        if num_workers == 0 or native:
            assert run(batch_size, num_workers=num_workers) == want
            if num_workers:
                assert run(batch_size, num_workers=num_workers, persistent_workers=True) == want
    ranks = [
        run(
            2, num_workers=2 * native, sampler=data.DistributedSampler(source, num_replicas=2, rank=rank, shuffle=False)
        )
        for rank in range(2)
    ]
    for epoch in range(2):
        assert [ranks[at % 2][epoch][at // 2] for at in range(length)] == want[epoch]
    shuffled = run(4, shuffle=True)
    assert [sorted(map(repr, epoch)) for epoch in shuffled] == [sorted(map(repr, epoch)) for epoch in want]


def test_an_index_is_that_of_the_loader_s_own_dataset(dataset: ImageFolder) -> None:
    torch.manual_seed(1)
    whole = samples(DataLoader(dataset, 4, rng="sample"), 1)[0]
    part = samples(DataLoader(Subset(dataset, range(30)), 7, rng="sample"), 1)[0]
    assert part == whole


def test_the_process_s_generators_stay_as_they_were(dataset: ImageFolder) -> None:
    for source in (dataset, Draws()):
        loader = DataLoader(source, 4, rng="sample")
        iterator = iter(loader)
        before = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]
        next(iterator)
        assert torch.equal(torch.get_rng_state(), before[0])
        assert random.getstate() == before[1]
        assert np.random.get_state()[1].tolist() == before[2]  # type: ignore[index]


def test_the_seed_is_the_first_epoch_s_and_epochs_can_be_set(dataset: ImageFolder) -> None:
    torch.manual_seed(5)
    loader = DataLoader(dataset, 4, rng="sample")
    first = samples(loader, 1)
    torch.manual_seed(6)
    later = samples(loader, 2)
    torch.manual_seed(5)
    again = DataLoader(dataset, 4, rng="sample")
    again.set_epoch(1)
    assert samples(again, 2) == later
    again.set_epoch(0)
    assert samples(again, 1) == first
    generator = torch.Generator().manual_seed(5)
    torch.rand(3, generator=generator)
    assert samples(DataLoader(dataset, 4, rng="sample", generator=generator), 1) == first


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_state_goes_on_with_any_number_of_workers(dataset: ImageFolder, num_workers: int) -> None:
    torch.manual_seed(5)
    loader = DataLoader(dataset, 4, shuffle=True, rng="sample", num_workers=num_workers)
    samples(loader, 1)
    iterator = iter(loader)
    next(iterator)
    state = loader.state_dict()
    want = [image for images, _ in iterator for image in images]
    torch.manual_seed(99)
    for other in (0, 1, 3):
        resumed = DataLoader(dataset, 4, shuffle=True, rng="sample", num_workers=other)
        resumed.load_state_dict(state)
        got = [image for images, _ in resumed for image in images]
        assert len(got) == len(want)
        assert all(map(torch.equal, got, want))


def test_what_has_no_index_is_refused(dataset: ImageFolder) -> None:
    with pytest.raises(ValueError, match="map-style"):
        DataLoader(data.ChainDataset([]), rng="sample")
    with pytest.raises(ValueError, match="rng=3"):
        DataLoader(dataset, rng=3)  # type: ignore[arg-type]
