"""Lightning: fit() patches the loader classes while it asks for loaders, and makes them anew, from signature and
attributes, to put a DistributedSampler into them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import training
from torch.utils import data

import goloader

fabric = pytest.importorskip("lightning.fabric", reason="lightning is not installed")
lightning_module = pytest.importorskip("lightning_module", reason="lightning is not installed")

pytestmark = [
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


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_checkpoint_in_the_middle_of_an_epoch_is_gone_on_from(tmp_path: Path, num_workers: int) -> None:
    """torch's loader begins the epoch again; that of the interrupted run is the law here."""
    lightning = pytest.importorskip("lightning")
    file = tmp_path / "middle.ckpt"

    class Save(lightning.Callback):  # type: ignore[misc, name-defined]
        def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
            if trainer.global_step == 8:
                trainer.save_checkpoint(file)

    def fit(batch_size: int = 4, **more: Any) -> list[Any]:
        class Net(lightning.LightningModule):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.layer, self.seen = torch.nn.Linear(1, 1), list[Any]()

            def training_step(self, batch: torch.Tensor, at: int) -> torch.Tensor:
                self.seen.append((self.current_epoch, at, batch.tolist()))
                return self.layer(batch[:, None].float()).sum()

            def configure_optimizers(self) -> Any:
                return torch.optim.SGD(self.parameters(), 1e-6)

        generator = torch.Generator().manual_seed(3)
        loader = goloader.DataLoader(range(24), batch_size, True, num_workers=num_workers, generator=generator)  # type: ignore[arg-type]
        net, silent = Net(), {"enable_progress_bar": False, "enable_model_summary": False, "logger": False}
        trainer = lightning.Trainer(max_epochs=3, accelerator="cpu", enable_checkpointing=False, **silent, **more)
        trainer.fit(net, loader, ckpt_path=None if more else file)
        return net.seen

    whole = fit(callbacks=[Save()])
    assert fit() == whole[8:]
    # Then Lightning counts steps of both sizes, and draws for the next epoch where it would not.
    assert flat(fit(batch_size=2))[:16] == flat(whole[8:12])


def flat(seen: list[Any]) -> list[Any]:
    return [(epoch, number) for epoch, _, batch in seen for number in batch]


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


@pytest.mark.slow
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
