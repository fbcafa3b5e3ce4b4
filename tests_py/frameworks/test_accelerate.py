"""accelerate: prepare() rebuilds loaders with classes of its own around the name DataLoader that it imported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import training
from torch import nn
from torch.utils import data

accelerate = pytest.importorskip("accelerate", reason="accelerate is not installed")


def train(loader: Any, options: dict[str, Any], skip: int = 0) -> training.Seen:
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    accelerate.state.GradientState._reset_state()
    accelerator = accelerate.Accelerator(
        cpu=True, dataloader_config=accelerate.utils.DataLoaderConfiguration(**options)
    )
    model = training.network()
    model, optimizer, loader = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 0.1), loader)
    seen = training.Seen(loaders=[loader])
    for epoch in range(2):
        batches = accelerator.skip_first_batches(loader, skip) if skip and epoch == 0 else loader
        seen.loaders.append(batches)
        for images, labels in batches:
            loss = nn.functional.cross_entropy(model(images), labels)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            seen.step((images, labels), loss)
    return seen


OPTIONS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "a sampler of its own": {"use_seedable_sampler": True},
    "batches split": {"split_batches": True},
    "dispatched": {"dispatch_batches": True},
}


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("options", OPTIONS)
def test_prepared_loaders_are_native_and_losses_equal(root: Path, options: str, num_workers: int) -> None:
    def run() -> training.Seen:
        dataset = training.images(root)
        loader = data.DataLoader(dataset, batch_size=5, shuffle=True, num_workers=num_workers)
        return train(loader, OPTIONS[options])

    for loader in training.same_with_both(run).loaders:
        assert loader.explain().native, loader.explain()


def test_batches_may_be_skipped(root: Path) -> None:
    seen = training.same_with_both(
        lambda: train(data.DataLoader(training.images(root), batch_size=5, shuffle=True), {}, skip=2)
    )
    assert len(seen.steps) == 6 + 6 - 2
    assert all(loader.explain().native for loader in seen.loaders)


def test_a_dataset_of_the_user_s_own_runs_as_torch_s() -> None:
    training.same_with_both(
        lambda: train(data.DataLoader(training.Numbers(), batch_size=5, shuffle=True, num_workers=2), {})
    )


def test_stateful_loaders_go_on_as_torchdata_has_them(root: Path) -> None:
    pytest.importorskip("torchdata", reason="torchdata is not installed")
    training.same_with_both(
        lambda: train(
            data.DataLoader(training.images(root), batch_size=5, shuffle=True), {"use_stateful_dataloader": True}
        )
    )


@pytest.mark.slow
def test_two_ranks(torchrun: Any) -> None:
    for rank, cases in enumerate(torchrun("two_ranks_accelerate.py")):
        assert cases.keys() == {"as it is", "batches split", "dispatched", "dispatched, with workers"}
        for name, case in cases.items():
            assert case["ours"] == case["theirs"] != [], (rank, name)
            assert case["native"] == [False, True], (rank, name)
