"""python -m goloader tune: num_workers, prefetch_factor, batch_size and cache of a user's loader, measured in turn."""

from __future__ import annotations

import argparse
import copy
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from .. import _chart, _cores, _table
from . import objects, turns
from .rate import Measured, measured

_PREFETCH_FACTORS = (1, 2, 4, 8)
# The least that gives so much of the most is enough: what is between them is noise, or costs more than it brings.
_ENOUGH = 0.95


class Setting(NamedTuple):
    """Arguments of a loader; None for what it has no use for.

    cache  of its dataset, where what it keeps is read again
    """

    num_workers: int
    prefetch_factor: int | None
    batch_size: int | None
    cache: str | None = None

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self._asdict().items() if value is not None)


Results = dict[Setting, Measured]

_HEAD = (*Setting._fields, "samples/s", "first batch s", "CPU s/1k")


def add(commands: Any) -> None:
    parser = commands.add(
        "tune",
        _tune,
        help="measure num_workers, prefetch_factor, batch_size and a cache for your loader",
        description=(
            "Makes batches with one number of workers after another, then with other prefetch factors and batch sizes, "
            "and of remote files with a cache, each time in a new process. Prints samples a second, and the arguments "
            "to paste."
        ),
    )
    objects.takes_one(parser)
    parser.add_argument(
        "--workers", type=int, default=_cores.allowed(), metavar="N", help="measure 0 to N workers (number of cores)"
    )
    parser.add_argument("--seconds", type=float, default=3.0, metavar="S", help="seconds of each run (3)")
    parser.add_argument("--rounds", type=int, default=2, metavar="N", help="runs of each setting; the best counts (2)")
    parser.add_argument("--chart", metavar="FILE", help="draw the result to a .png, .svg or .pdf file, with matplotlib")


def _tune(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> int:
    if parsed.workers < 0 or parsed.seconds <= 0 or parsed.rounds < 1:
        parser.error("--workers is at least 0, --seconds more than 0, --rounds at least 1")
    if parsed.chart is not None:
        try:
            figure = _chart.figure(8, 4)
        except ModuleNotFoundError as error:
            raise SystemExit(f"python -m goloader tune: {error}") from None

    def apart(setting: Setting | None) -> dict[str, Any]:
        what = str(setting or "the arguments that it has")
        return turns.apart(lambda: _turn(parser, parsed, setting), "tune", what)

    first = apart(None)  # and files are in memory from now on
    own, results = Setting(*first["setting"]), Results()

    def measure(settings: list[Setting]) -> None:
        """Adds what is not known yet, to results."""
        wanted = [setting for setting in dict.fromkeys(settings) if setting not in results]
        for number in range(parsed.rounds):
            for setting in wanted[:: -1 if number % 2 else 1]:
                found = Measured(*apart(setting)["measured"])
                results[setting] = max(found, results.get(setting, found))

    counts = [_with(own, count) for count in _counts(parsed.workers)]
    measure([*counts, own])
    chosen = _least(counts, results)
    if chosen.num_workers:
        factors = [chosen._replace(prefetch_factor=factor) for factor in _PREFETCH_FACTORS]
        measure(factors)
        chosen = _least(factors, results)
    if own.batch_size is not None:  # which of them trains best is no question of speed: it is not chosen
        measure([chosen._replace(batch_size=size) for size in (own.batch_size // 2 or 1, own.batch_size * 2)])
    cached = chosen._replace(cache="ram") if first["remote"] else None
    measure([cached] if cached else [])
    gained = results[chosen].rate / results[own].rate
    print(f"{parsed.target}: the best of {parsed.rounds} turns of {parsed.seconds:g} s")
    print(_table.text(list(_rows(results)), right=range(len(_HEAD))))
    print(f"\n{chosen}: {gained:.2f} times the samples/s of {own}, as it is now. To paste:\n")
    print(f"DataLoader(dataset, ..., {chosen}{', persistent_workers=True' if chosen.num_workers else ''})")
    if cached:
        gained = results[cached].rate / results[chosen].rate
        print(f"\nWith a cache of the dataset's, later epochs: {gained:.2f} times these samples/s (docs/remote.md).")
    if parsed.chart is not None:
        _draw(figure, parsed.target, results, chosen)
        figure.savefig(parsed.chart)
    return 0


def _counts(most: int) -> list[int]:
    """Numbers of workers: each up to 4, and then twice as many."""
    return sorted({*range(min(most, 4) + 1), *(1 << power for power in range(most.bit_length())), most})


def _with(setting: Setting, num_workers: int) -> Setting:
    factor = (setting.prefetch_factor or 2) if num_workers else None
    return setting._replace(num_workers=num_workers, prefetch_factor=factor)


def _least(settings: list[Setting], results: Results) -> Setting:
    """The first that is as good as the best."""
    most = max(results[setting].rate for setting in settings)
    return next(setting for setting in settings if results[setting].rate >= _ENOUGH * most)


def _rows(results: Results) -> Iterator[tuple[str, ...]]:
    yield _HEAD
    for setting, found in results.items():
        arguments = ("-" if value is None else str(value) for value in setting)
        yield *arguments, f"{found.rate:.0f}", f"{found.first_s:.3f}", f"{found.cpu_s:.3f}"


def _turn(parser: argparse.ArgumentParser, parsed: argparse.Namespace, given: Setting | None) -> dict[str, Any]:
    loader = turns.seeded(parser, parsed.target)
    own = Setting(loader.num_workers, loader.prefetch_factor, loader.batch_size)
    setting = given or own
    remote = _cached(loader.dataset) is not None
    try:
        if setting.cache:
            loader = _of_a_cache(loader, setting, parsed.seconds)
        found = measured(_made_anew(loader, setting), parsed.seconds)
    except ValueError as error:
        raise SystemExit(f"python -m goloader tune: {error}") from None
    return {"setting": own, "remote": remote, "measured": found}


def _of_a_cache(loader: Any, setting: Setting, seconds: float) -> Any:
    """A loader of as many samples as it makes in so many seconds, all of them in a cache in memory."""
    from torch.utils.data import Subset

    import goloader

    count = max(1, int(measured(_made_anew(loader, setting), seconds).rate * seconds))
    dataset = Subset(_cached(loader.dataset), range(min(count, len(loader.dataset))))
    made = goloader.DataLoader(dataset, setting.batch_size, shuffle=True, collate_fn=loader.collate_fn, rng=loader.rng)
    for _ in _made_anew(made, setting):
        pass
    return made


def _cached(dataset: Any) -> Any:
    """A dataset that reads remote files, or part of one, behind a cache in memory; None for those that do not."""
    from torch.utils.data import Subset

    from ..plan.paths import Files
    from ..storage.cache import Cache

    if type(dataset) is Subset:
        inner = _cached(dataset.dataset)
        return None if inner is None else Subset(inner, dataset.indices)
    datasets = sys.modules.get("goloader.datasets")  # which imports torchvision: that takes seconds
    if datasets is None or not isinstance(dataset, datasets.ImageFolder | datasets.MemberImages):
        return None
    files = dataset.samples
    if type(files) is not Files or not files.remote or files.cache is not None:
        return None
    made, cache = copy.copy(dataset), Cache.of("ram")
    made.samples = made.imgs = Files(
        files.paths, files.offsets, files.labels, spans=files.spans, remote=True, cache=cache
    )
    return made


def _made_anew(loader: Any, setting: Setting) -> Any:
    """The same loader with other arguments."""
    import goloader

    kept = ("collate_fn", "pin_memory", "timeout", "worker_init_fn", "generator", "seek_index", "trace", "rng")
    arguments: dict[str, Any] = {name: getattr(loader, name) for name in (*kept, "on_error")}
    if loader.batch_sampler is not None and loader.batch_size is None:  # one of the user's own
        arguments["batch_sampler"] = loader.batch_sampler
    else:
        arguments |= {"batch_size": setting.batch_size, "drop_last": loader.drop_last}
        arguments |= {} if isinstance(loader.dataset, goloader.IterableDataset) else {"sampler": loader.sampler}
    if setting.num_workers:
        arguments |= {"prefetch_factor": setting.prefetch_factor, "persistent_workers": True}
        arguments["multiprocessing_context"] = loader.multiprocessing_context
    return goloader.DataLoader(loader.dataset, num_workers=setting.num_workers, **arguments)


def _draw(figure: Any, target: str, results: Results, chosen: Setting) -> None:
    axes = figure.add_subplot(title=target, xlabel="samples/s")
    names = [", ".join("-" if value is None else str(value) for value in setting) for setting in results]
    colours = ["tab:orange" if setting == chosen else "tab:blue" for setting in results]
    bars = axes.barh(names, [found.rate for found in results.values()], color=colours)
    axes.bar_label(bars, fmt="%.0f", padding=3)
    axes.invert_yaxis()
    axes.set_ylabel(", ".join(Setting._fields))
