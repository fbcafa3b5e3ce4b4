"""What is trained by test_lightning.py and its ranks. Imported before install(), as frameworks are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lightning.pytorch as pl
import torch
import training
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, RandomSampler


class Net(pl.LightningModule):
    """Trains with the loader that `make` gives in the train_dataloader hook; None if fit() is given one."""

    def __init__(self, make: Callable[[], Any] | None) -> None:
        super().__init__()
        self.network = training.network()
        self.seen = training.Seen()
        if make is not None:
            self.train_dataloader = make

    def training_step(self, batch: Any, _: int) -> torch.Tensor:
        loss = nn.functional.cross_entropy(self.network(batch[0]), batch[1])
        self.seen.step(batch, loss)
        return loss

    def on_train_end(self) -> None:
        self.seen.loaders.append(self.trainer.train_dataloader)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), 0.1)


def trainer(**more: Any) -> pl.Trainer:
    return pl.Trainer(
        **{"accelerator": "cpu", "devices": 1, "max_epochs": 2} | more,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )


class KeepsItsArguments(DataLoader[Any]):
    """Lightning finds the argument as an attribute."""

    def __init__(self, dataset: Any, *, purpose: str, **arguments: Any) -> None:
        super().__init__(dataset, **arguments)
        self.purpose = purpose


class MakesItsDataset(DataLoader[Any]):
    """Lightning has to see the call of the constructor: nothing tells the folder afterwards."""

    def __init__(self, root: str, size: int, **arguments: Any) -> None:
        DataLoader.__init__(self, training.images(root), batch_size=size, **{"shuffle": True} | arguments)


class Batches(BatchSampler):
    """A batch sampler of the user's own, which Lightning makes anew around its sampler."""


LOADERS: dict[str, Callable[[str], DataLoader[Any]]] = {
    "torch's": lambda root: DataLoader(training.images(root), batch_size=4, shuffle=True, num_workers=2),
    "keeps its arguments": lambda root: KeepsItsArguments(training.images(root), purpose="train", batch_size=4),
    "makes its dataset": lambda root: MakesItsDataset(root, 4),
    "batch sampler": lambda root: DataLoader(
        training.images(root), batch_sampler=Batches(RandomSampler(range(26)), 4, drop_last=False)
    ),
}
