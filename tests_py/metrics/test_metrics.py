"""goloader.metrics with the real libraries: each shows what loader.stats() says."""

from __future__ import annotations

import io
import itertools
import json
import pickle
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils import data

import goloader
from goloader import metrics
from goloader.stats import Stats
from tests_py.pages import part

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
    pytest.mark.filterwarnings("ignore:The number of training batches"),
]


def loader_of(samples: int = 24) -> Any:
    rows = data.TensorDataset(torch.rand(samples, 3), torch.rand(samples, 1))
    return goloader.DataLoader(rows, batch_size=4)


def test_a_report_is_of_what_was_done_since_the_last_one() -> None:
    loader, seen, known = loader_of(), list[Any](), [Stats()]
    report = metrics.Report(loader, lambda scalars, step: seen.append((step, scalars)), "train/")
    for step, _ in enumerate(loader):
        if step == 1:
            time.sleep(0.1)
        if step in (2, 5):
            report(step)
            known.append(loader.stats())
    (first, early), (second, late) = seen
    assert (first, second) == (2, 5)
    assert early.keys() == loader.stats().scalars("train/").keys()
    assert early.keys() - late.keys() == {"train/iter_ms", "train/iter_p95_ms"}  # in the first part alone
    assert early["train/samples_per_s"] < 12 / 0.1
    assert (early["train/samples_per_s"], late["train/samples_per_s"]) == tuple(
        after.since(before).scalars()["loader/samples_per_s"] for before, after in itertools.pairwise(known)
    )


def test_tensorboard_has_a_curve_of_each_number(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    loader = loader_of()
    with SummaryWriter(str(tmp_path)) as writer:
        report = metrics.tensorboard(loader, writer)
        for step, _ in enumerate(loader):
            report(step)
    written = EventAccumulator(str(tmp_path)).Reload()
    assert set(written.Tags()["scalars"]) == loader.stats().scalars().keys()
    for name in ("loader/waited", "loader/samples_per_s", "loader/next_ms", "loader/gather_p95_ms"):
        assert [event.step for event in written.Scalars(name)] == list(range(6))
        assert all(event.value >= 0 for event in written.Scalars(name))


WANDB = """
import json, sys, torch, wandb
from torch.utils.data import TensorDataset
from goloader import DataLoader, metrics

loader = DataLoader(TensorDataset(torch.rand(24, 3)), batch_size=4)
try:
    metrics.wandb(loader)
except ValueError as error:
    print(error)
with wandb.init(mode="offline", dir=sys.argv[1], settings=wandb.Settings(silent=True)) as run:
    report = metrics.wandb(loader)
    for step, _ in enumerate(loader):
        report(step)
    report()
    run.log({"own": 1.0})
    summary = {name: run.summary[name] for name in ("_step", "own", *loader.stats().scalars())}
print(json.dumps(summary))
"""


@pytest.mark.slow
def test_weights_and_biases_in_offline_mode(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WANDB, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=280)
    refused, *_, summary = done.stdout.splitlines()
    assert "wandb.init() before" in refused
    found = json.loads(summary)
    assert (found.pop("_step"), found.pop("own")) == (6, 1.0)
    assert found["loader/samples_per_s"] > 0
    assert len(list(tmp_path.glob("wandb/offline-run-*/*.wandb"))) == 1


def test_prometheus_scrapes_what_stats_says() -> None:
    import prometheus_client

    registry = prometheus_client.CollectorRegistry(auto_describe=True)
    train, other = loader_of(), loader_of(8)
    metrics.prometheus(registry, train=train, other=other)
    for loader in (train, other):
        for _ in loader:
            time.sleep(0.01)

    def scraped(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"goloader_{name}_total", labels)

    stats = train.stats()
    assert scraped("batches", loader="train") == 6
    assert scraped("samples", loader="other") == 8
    assert scraped("waited_seconds", loader="train") == pytest.approx(stats.waited_s)
    assert scraped("away_seconds", loader="train") == pytest.approx(stats.away_s)
    assert scraped("stage_seconds", loader="train", stage="next") == pytest.approx(stats.stages["next"].total_s)
    text = prometheus_client.generate_latest(registry).decode()
    assert text.count("# TYPE goloader_batches_total counter") == 1
    del train, loader
    assert scraped("batches", loader="train") is None
    assert scraped("batches", loader="other") == 2


def test_opentelemetry_observes_what_stats_says() -> None:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    reader = InMemoryMetricReader()
    provider = MeterProvider(metric_readers=[reader])
    loader = loader_of()
    metrics.opentelemetry(provider.get_meter("own"), train=loader)
    list(loader)
    (of_scope,) = reader.get_metrics_data().resource_metrics[0].scope_metrics
    found = {metric.name: metric for metric in of_scope.metrics}
    (batches,) = found["goloader.batches"].data.data_points
    assert (batches.value, batches.attributes, found["goloader.batches"].data.is_monotonic) == (
        6, {"loader": "train"}, True
    )  # fmt: skip
    (waited,) = found["goloader.waited"].data.data_points
    assert (found["goloader.waited"].unit, waited.value) == ("s", pytest.approx(loader.stats().waited_s))
    stages = {point.attributes["stage"]: point.value for point in found["goloader.stage"].data.data_points}
    assert stages == pytest.approx({name: stage.total_s for name, stage in loader.stats().stages.items()})
    provider.shutdown()


def test_a_bar_says_how_long_the_program_waits() -> None:
    loader, shown = loader_of(), io.StringIO()
    bar = metrics.tqdm(loader, file=shown, desc="epoch 1", mininterval=0)
    for _ in bar:
        time.sleep(0.01)
        bar.set_postfix(loss=0.5)
    assert bar.n == bar.total == 6
    last = shown.getvalue().rstrip().rpartition("\r")[2]
    waited, rate = re.fullmatch(
        r"epoch 1: 100%\|.*\| 6/6 \[.*, loss=0\.5, waiting (\d+)%, (\d+) samples/s\]", last
    ).groups()  # type: ignore[union-attr]
    assert 0 <= int(waited) <= 100
    assert 0 < int(rate) <= 24 / 0.05  # there are five steps between the first batch and the last


def test_the_example_of_the_documentation_runs(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    (example,) = re.findall(r"```python\n(.*?)```", part("docs/slow.md", "metrics"), re.DOTALL)
    with SummaryWriter(str(tmp_path)) as writer:
        names = {"loader": loader_of(208), "SummaryWriter": lambda: writer, "train": lambda *_: None}
        exec(compile(example, "docs/slow.md", "exec"), names)
    written = EventAccumulator(str(tmp_path)).Reload()
    assert [event.step for event in written.Scalars("loader/waited")] == [0, 50]


class Net:
    """A LightningModule, made where Lightning is imported."""

    def __new__(cls) -> Any:
        import lightning.pytorch as pl

        class Module(pl.LightningModule):
            def __init__(self) -> None:
                super().__init__()
                self.layer = torch.nn.Linear(3, 1)

            def training_step(self, batch: Any, _: int) -> torch.Tensor:
                batches = batch if isinstance(batch[0], list) else [batch]
                return sum((self.layer(x) - y).square().mean() for x, y in batches)  # type: ignore[return-value]

            def configure_optimizers(self) -> torch.optim.Optimizer:
                return torch.optim.SGD(self.parameters(), 0.1)

        return Module()


def fit(loaders: Any, path: Path, callback: Any) -> list[tuple[int, dict[str, float]]]:
    """What a logger of Lightning's is handed, by steps."""
    import lightning.pytorch as pl
    from lightning.pytorch.loggers import CSVLogger

    handed: list[Any] = []

    class Kept(CSVLogger):
        def log_metrics(self, metrics: Any, step: int | None = None) -> None:
            handed.append((step, metrics))

    pl.Trainer(
        accelerator="cpu", devices=1, max_epochs=2, log_every_n_steps=4, logger=Kept(str(path)), callbacks=[callback],
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    ).fit(Net(), loaders)  # fmt: skip
    return handed


@pytest.mark.slow
def test_lightning_s_loggers_are_handed_the_numbers(tmp_path: Path) -> None:
    callback = pickle.loads(pickle.dumps(metrics.lightning()))
    handed = fit(loader_of(), tmp_path, callback)
    assert [step for step, _ in handed] == [4, 6, 10, 12]
    assert all(numbers["loader/samples_per_s"] > 0 for _, numbers in handed)
    handed = fit([loader_of(), loader_of()], tmp_path, metrics.lightning())
    assert {name[:9] for name in handed[0][1]} == {"loader/0/"}
    assert {name[:9] for name in handed[1][1]} == {"loader/1/"}


@pytest.mark.slow
def test_lightning_with_torch_s_loader_is_told(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"not goloader's DataLoader: call goloader\.install\(\)"):
        fit(data.DataLoader(loader_of().dataset), tmp_path, metrics.lightning())


class Own(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 1)

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> Any:
        out = self.layer(x)
        return {"loss": (out - labels).square().mean(), "logits": out}


def named(samples: list[Any]) -> dict[str, torch.Tensor]:
    x, y = data.default_collate(samples)
    return {"x": x, "labels": y}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:'pin_memory' argument is set as true but no accelerator is found")
def test_transformers_trainer_logs_the_numbers(tmp_path: Path) -> None:
    import transformers

    def trainer() -> Any:
        options = transformers.TrainingArguments(
            output_dir=str(tmp_path), num_train_epochs=2, per_device_train_batch_size=4, logging_steps=4,
            save_strategy="no", remove_unused_columns=False, report_to=[], use_cpu=True, disable_tqdm=True,
        )  # fmt: skip
        made = transformers.Trainer(Own(), options, data_collator=named, train_dataset=loader_of().dataset)
        metrics.transformers(made)
        return made

    with pytest.raises(TypeError, match="before they are made"):
        trainer().train()
    goloader.install()
    try:
        made = trainer()
        made.train()
    finally:
        goloader.uninstall()
    logged = [entry for entry in made.state.log_history if "loader/waited" in entry]
    assert [entry["step"] for entry in logged] == [4, 8, 12]
    assert all(0 <= entry["loader/waited"] <= 1 and entry["loader/next_ms"] > 0 for entry in logged)


@pytest.mark.parametrize(
    ("module", "use"),
    [
        ("prometheus_client", "prometheus(train=loader)"),
        ("opentelemetry", "opentelemetry(train=loader)"),
        ("wandb", "wandb(loader)"),
        ("tqdm", "tqdm(loader)"),
        ("lightning", "lightning()"),
        ("transformers", "transformers(None)"),
    ],
)
def test_a_library_that_is_missing_is_told(module: str, use: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in sys.modules if each.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, "pytorch_lightning", None)
    metrics._bar.cache_clear()
    with pytest.raises(ModuleNotFoundError, match=r"goloader\.metrics needs .*: pip install"):
        eval(f"metrics.{use}", {"metrics": metrics, "loader": loader_of()})
