"""Lightning: fit() patches the loader classes while it asks for loaders, and makes them anew, from signature and
attributes, to put a DistributedSampler into them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import training
from torch.utils import data

fabric = pytest.importorskip("lightning.fabric", reason="lightning is not installed")
lightning_module = pytest.importorskip("lightning_module", reason="lightning is not installed")

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
    pytest.mark.filterwarnings("ignore:The number of training batches"),
]


def fit(make: Any) -> training.Seen:
    model = lightning_module.Net(make)
    lightning_module.trainer().fit(model)
    return model.seen


@pytest.mark.parametrize("num_workers", [0, 2])
def test_fit_with_images_is_native_and_losses_equal(root: Path, num_workers: int) -> None:
    def make() -> data.DataLoader[Any]:
        return data.DataLoader(
            training.images(root), 5, shuffle=True, num_workers=num_workers, persistent_workers=num_workers > 0
        )

    for loader in training.same_with_both(lambda: fit(make)).loaders:
        assert loader.explain().native, loader.explain()


def test_fit_with_a_dataset_of_the_user_s_own(root: Path) -> None:
    training.same_with_both(lambda: fit(lambda: data.DataLoader(training.Numbers(), 5, shuffle=True, num_workers=1)))


def test_loaders_given_to_fit(root: Path) -> None:
    def run() -> training.Seen:
        model = lightning_module.Net(None)
        loader = data.DataLoader(training.images(root), 5, shuffle=True, drop_last=True)
        lightning_module.trainer(overfit_batches=3).fit(model, loader)
        return model.seen

    for loader in training.same_with_both(run).loaders:
        assert loader.explain().native, loader.explain()


def test_fabric_sets_loaders_up(root: Path) -> None:
    def run() -> training.Seen:
        machine = fabric.Fabric(accelerator="cpu", devices=1)
        loader = data.DataLoader(training.images(root), 5, shuffle=True, num_workers=2)
        seen = training.Seen(loaders=[loader])
        for _ in range(2):
            for batch in machine.setup_dataloaders(loader):
                seen.step(batch)
        return seen

    assert all(loader.explain().native for loader in training.same_with_both(run).loaders)


def test_two_ranks_get_distributed_samplers(torchrun: Any) -> None:
    first, second = torchrun("two_ranks_lightning.py")
    assert first.keys() == second.keys() == lightning_module.LOADERS.keys()
    for rank, cases in enumerate((first, second)):
        for name, case in cases.items():
            assert case["ours"]["steps"] == case["theirs"]["steps"] != [], (rank, name)
            assert case["ours"]["native"] and not case["theirs"]["native"], (rank, name)
            assert case["ours"]["kind"] == case["theirs"]["kind"]
            assert case["ours"]["sampler"] == case["theirs"]["sampler"] == "DistributedSampler"
    for name, case in first.items():
        batches = {digest for digest, _ in case["ours"]["steps"]}
        assert batches.isdisjoint(digest for digest, _ in second[name]["ours"]["steps"]), "the ranks saw the same"
