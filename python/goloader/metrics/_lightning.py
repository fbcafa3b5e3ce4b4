"""A callback of Lightning's: in a module of its own, so that a process that is started afresh can unpickle it."""

from __future__ import annotations

from typing import Any

from ..adapters.torch import pytree
from ._report import Report, ours

try:
    from lightning.pytorch import Callback
except ModuleNotFoundError:
    from pytorch_lightning import Callback  # type: ignore[assignment, unused-ignore]


class LoaderMetrics(Callback):  # type: ignore[misc, unused-ignore]
    """See goloader.metrics.lightning."""

    def __init__(self) -> None:
        self._reports: list[Report] = []

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Raises TypeError if none of the training loaders is ours."""
        loaders = ours(*pytree.tree_leaves(trainer.train_dataloader))
        if [report.loader for report in self._reports] == loaders:
            return

        def write(scalars: dict[str, float], step: int | None) -> None:
            for logger in trainer.loggers:
                logger.log_metrics(scalars, step)

        named = ["loader/"] if len(loaders) == 1 else [f"loader/{number}/" for number in range(len(loaders))]
        self._reports = [Report(loader, write, prefix) for loader, prefix in zip(loaders, named, strict=True)]

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if trainer.is_last_batch or (batch_idx + 1) % trainer.log_every_n_steps == 0:
            for report in self._reports:
                report(trainer.global_step)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._reports = []
