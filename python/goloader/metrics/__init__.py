"""Reports what loaders do to TensorBoard, Weights & Biases, Lightning, transformers, Prometheus, OpenTelemetry and
tqdm.

    report = metrics.tensorboard(loader, SummaryWriter())
    for step, batch in enumerate(loader):
        ...
        if step % 50 == 0:
            report(step)

Each function imports its library and raises ModuleNotFoundError if it is not installed.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from ..stats import Stats
from ._report import Measured, Report, ours

__all__ = ["Report", "lightning", "opentelemetry", "prometheus", "tensorboard", "tqdm", "transformers", "wandb"]


def tensorboard(loader: Measured, writer: Any, prefix: str = "loader/") -> Report:
    """Reports to TensorBoard. `writer` is a SummaryWriter, torch's or tensorboardX's."""

    def write(scalars: dict[str, float], step: int | None) -> None:
        for name, number in scalars.items():
            writer.add_scalar(name, number, step)

    return Report(loader, write, prefix)


def wandb(loader: Measured, run: Any = None, prefix: str = "loader/") -> Report:
    """Reports to Weights & Biases: to `run`, or to the run that wandb.init() began. Raises ValueError if there is none.

    Without a step, a report goes with what the program logs next.
    """
    run = run or _needed("wandb").run
    if run is None:
        raise ValueError("there is no run of Weights & Biases: call wandb.init() before, or give one as run=")
    return Report(loader, lambda scalars, step: run.log(scalars, step=step, commit=step is not None), prefix)


def lightning() -> Any:
    """Returns a callback for Lightning's Trainer that logs what the training loaders do.

    It logs every trainer.log_every_n_steps batches, and at the last batch of an epoch.
    """
    _needed("lightning.pytorch", "pytorch_lightning")
    from ._lightning import LoaderMetrics

    return LoaderMetrics()


def transformers(trainer: Any) -> None:
    """Makes transformers' Trainer log what its training loader does, as often as it logs the loss."""
    reports: list[Report] = []

    class LoaderMetrics(_needed("transformers").TrainerCallback):  # type: ignore[misc]
        def on_train_begin(self, *_: Any, train_dataloader: Any, **__: Any) -> None:
            reports[:] = [Report(loader, lambda scalars, _: trainer.log(scalars)) for loader in ours(train_dataloader)]

        def on_log(self, *_: Any, logs: Any = None, **__: Any) -> None:
            if "loss" in (logs or ()):  # and not what is logged here
                for report in reports:
                    report()

    trainer.add_callback(LoaderMetrics())


class _Total(NamedTuple):
    """Something that only grows, of one loader."""

    name: str
    unit: str
    what: str
    labels: dict[str, str]
    number: float


def _totals(loader: str, stats: Stats) -> Iterator[_Total]:
    own = {"loader": loader}
    yield _Total("batches", "", "batches that were taken", own, stats.batches)
    yield _Total("samples", "", "samples that Go made", own, stats.samples)
    yield _Total("waited", "seconds", "time that the program waited for batches", own, stats.waited_s)
    yield _Total("away", "seconds", "time between one next() and another", own, stats.away_s)
    yield _Total("read", "bytes", "bytes of files that Go read", own, stats.bytes_read)
    yield _Total("retries", "", "reads that were tried again", own, stats.retries)
    yield _Total("requests", "", "requests to remote stores", own, stats.requests)
    yield _Total("received", "bytes", "bytes of their answers", own, stats.received)
    yield _Total(
        "bad_samples", "", "samples in error that on_error did not raise", own, sum(stats.bad_samples.values())
    )
    for name, stage in stats.stages.items():
        yield _Total("stage", "seconds", "time that a stage took", own | {"stage": name}, stage.total_s)


def prometheus(registry: Any = None, /, **loaders: Measured) -> None:
    """Adds counters to Prometheus, for loaders by name: prometheus(train=loader, val=other), once for a registry.

    The counters are goloader_batches_total, goloader_waited_seconds_total and others, with a label `loader`. `registry`
    is prometheus_client's own if it is None. A loader that is gone has no counters.
    """
    library = _needed("prometheus_client.core", pip="prometheus-client")
    totals = _by_name(loaders)

    class Collector:
        def collect(self) -> Iterable[Any]:
            families: dict[str, Any] = {}
            for total in totals():
                if total.name not in families:
                    name, labels = "_".join(filter(None, ("goloader", total.name, total.unit))), list(total.labels)
                    families[total.name] = library.CounterMetricFamily(name, total.what, labels=labels)
                families[total.name].add_metric(list(total.labels.values()), total.number)
            return families.values()

    (registry or library.REGISTRY).register(Collector())


def opentelemetry(meter: Any = None, /, **loaders: Measured) -> None:
    """Adds the counters of `prometheus` to OpenTelemetry, goloader.batches and so on: opentelemetry(train=loader).

    `meter` comes from the global provider if it is None.
    """
    library = _needed("opentelemetry.metrics", pip="opentelemetry-sdk")
    meter = meter or library.get_meter("goloader")
    totals = _by_name(loaders)

    def observe(name: str) -> Callable[[object], list[Any]]:
        return lambda _: [library.Observation(total.number, total.labels) for total in totals() if total.name == name]

    for name, (unit, what) in {total.name: (total.unit, total.what) for total in totals()}.items():
        unit = {"seconds": "s", "bytes": "By"}.get(unit, "1")
        meter.create_observable_counter(f"goloader.{name}", [observe(name)], unit, what)


def _by_name(loaders: dict[str, Measured]) -> Callable[[], list[_Total]]:
    """Totals of loaders, which are not kept alive by it."""
    known = {name: weakref.ref(loader) for name, loader in loaders.items()}

    def totals() -> list[_Total]:
        alive = {name: loader for name, of in known.items() if (loader := of()) is not None}
        return [total for name, loader in alive.items() for total in _totals(name, loader.stats())]

    return totals


def tqdm(loader: Any, **options: Any) -> Any:
    """Returns tqdm.auto.tqdm(loader, **options) that also shows the share of the time spent waiting since it began:

    18%|...| 36/200 [00:09<00:41, 3.94it/s, waiting 63%, 252 samples/s]
    """
    return _bar()(loader, **options)


@cache  # each class of tqdm's has a thread, which keeps what that knows
def _bar() -> Any:
    class Bar(_needed("tqdm.auto", pip="tqdm").tqdm):  # type: ignore[misc]
        def __init__(self, loader: Any, **options: Any) -> None:
            self._loader, self._begun = loader, loader.stats()
            super().__init__(loader, **options)

        @property
        def format_dict(self) -> dict[str, Any]:
            shown: dict[str, Any] = super().format_dict
            scalars = self._loader.stats().since(self._begun).scalars("")
            said = [shown["postfix"], f"waiting {scalars['waited']:.0%}"]
            if "samples_per_s" in scalars:
                said.append(f"{scalars['samples_per_s']:.0f} samples/s")
            return shown | {"postfix": ", ".join(filter(None, said))}

    return Bar


def _needed(*modules: str, pip: str | None = None) -> Any:
    """The first of these modules that is installed. Raises ModuleNotFoundError that says what to install."""
    missing: ModuleNotFoundError | None = None
    for module in modules:
        try:
            return import_module(module)
        except ModuleNotFoundError as error:
            missing = missing or error
    package = pip or modules[0].partition(".")[0]
    raise ModuleNotFoundError(f"goloader.metrics needs {package}: pip install {package}", name=package) from missing
