"""num_workers="auto": the number, chosen when the loader is made, as a plain int.

The number of workers is part of what torch's users reproduce: it says how many random streams there are, which worker
makes which batch, and how an IterableDataset is split. So timing may decide only where batches do not depend on the
number; everywhere else the choice follows from the cores alone, and is the same on every machine with as many.

What Go makes depends on the number alone, not on how many of the workers work: those are as many as the program needs,
from one to all of them, and change while it runs (core/pipeline/crew.go).

    what runs                                                            num_workers
    in Go                                                                a rank's cores (_cores.share)
    in Python, samples draw random numbers, or take long                 a rank's cores
    in Python, no random numbers, batches cheaper than handing them on   0
    IterableDataset that never asks get_worker_info()                    at most 1: a second would repeat the first

What samples cost and do is seen in a forked child, which makes a few batches and is gone: the process's random numbers,
the dataset and its open files stay as they were. Where that is impossible (no fork, a start method of the user's, an
error, no answer in time), the cores decide. Arguments that only workers can honour (persistent_workers,
prefetch_factor, timeout, worker_init_fn, multiprocessing_context) rule 0 out.
"""

from __future__ import annotations

import itertools
import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import get_worker_info

from ._beside import Beside
from .adapters.python import forked
from .adapters.torch import DatasetKind, worker
from .plan import Refusal, Row
from .state import generators

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from ._loader import DataLoader

# A batch of 64 (float, int) samples needs 0.3 to 0.6 ms through a worker's queues, and forking a worker 20 to 50 ms
# (torch 2.15, two cores). Below either a worker costs more than it brings.
_HANDOVER_S, _START_S = 0.5e-3, 20e-3
# Of a trial: enough for a steady figure, little for somebody who waits for a prompt.
_BATCHES, _BUDGET_S, _PATIENCE_S = 8, 0.25, 5.0

_why: Beside[DataLoader[Any], tuple[int, str]] = Beside()


@dataclass(frozen=True)
class Trial:
    """What a child saw.

    seconds  a batch took, at best
    drew     a sample moved torch's, numpy's or Python's own random numbers
    asked    get_worker_info() was called
    """

    seconds: float
    drew: bool
    asked: bool


def choose(loader: DataLoader[Any], decision: object, *, ahead: bool) -> None:
    """Settles num_workers of a loader that was made with a rank's cores. `ahead`: a prefetch_factor was asked for."""
    for_workers = (loader.persistent_workers, loader.timeout, loader.worker_init_fn, loader.multiprocessing_context)
    number, why = _choice(loader, decision, zero=not (ahead or any(for_workers)))
    if number != loader.num_workers:
        loader.num_workers = number
        if number == 0:
            loader.prefetch_factor = None
    _why[loader] = number, why


def row(loader: DataLoader[Any], native: bool) -> Row | None:
    """For explain(): the number and its reason; None if it was not chosen here, or changed since."""
    number, why = _why.get(loader) or (-1, "")
    if number != loader.num_workers:
        return None
    return Row("workers", f"num_workers={number}", "Go" if native else "Python", f"auto: {why}")


def _choice(loader: DataLoader[Any], decision: object, *, zero: bool) -> tuple[int, str]:
    cores = loader.num_workers
    one_a_core = "one for each core that this process may use"
    if not isinstance(decision, Refusal):
        return cores, f"{one_a_core}; as many work as the program needs"
    if zero and (get_worker_info() is not None or multiprocessing.current_process().daemon):
        return 0, "this process is itself a worker, and may have no workers"
    iterable = loader._dataset_kind == DatasetKind.Iterable
    if not zero and not (iterable and loader.worker_init_fn is None):
        return cores, one_a_core
    trial = _try(loader)
    if trial is None:
        return cores, f"{one_a_core}; what a batch costs could not be measured"
    if zero and not trial.drew and trial.seconds <= _HANDOVER_S:
        return 0, f"a batch costs {trial.seconds * 1e6:.0f} us, less than sending it from a worker"
    if zero and not trial.drew and (whole := _epoch(loader, trial)) is not None and whole <= _START_S:
        return 0, f"an epoch costs {whole * 1e3:.0f} ms, less than starting a worker"
    if iterable and not trial.asked:
        return 1, "the dataset does not call get_worker_info(), so a second worker would repeat its samples"
    cost = "samples draw random numbers" if trial.drew else f"a batch costs {trial.seconds * 1e3:.1f} ms"
    return cores, f"{one_a_core}; {cost}"


def _epoch(loader: DataLoader[Any], trial: Trial) -> float | None:
    if loader._dataset_kind == DatasetKind.Iterable:
        return None  # len() of such a loader is remembered, and warned of later
    try:
        return len(loader) * trial.seconds
    except TypeError:
        return None


def _try(loader: DataLoader[Any]) -> Trial | None:
    """A trial in a forked child; None if there is no fork, the user's code fails, or nothing comes in time."""
    context = loader.multiprocessing_context or multiprocessing
    if "fork" not in multiprocessing.get_all_start_methods() or context.get_start_method() != "fork":
        return None
    with forked(_report, loader) as child:
        try:
            answer: Trial | None = child.recv() if child.poll(_PATIENCE_S) else None
        except EOFError:  # it died
            return None
    return answer


def _report(answer: Connection, loader: DataLoader[Any]) -> None:
    try:
        trial = _run(loader)
    except BaseException:
        # The user's loop meets the error again, where it can be seen.
        trial = None
    answer.send(trial)


def _run(loader: DataLoader[Any]) -> Trial:
    """Makes a few batches as num_workers=0 would. In a child: it leaves torch's modules changed."""
    torch.set_num_threads(1)  # as torch's workers do
    asked = _watch(get_worker_info)
    batches = list(itertools.islice(iter(loader._index_sampler), _BATCHES))
    before = generators.capture(generators.PROCESS)
    fetcher = DatasetKind.create_fetcher(
        loader._dataset_kind, loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last
    )
    seconds = []
    end = time.perf_counter() + _BUDGET_S
    for indices in batches:
        start = time.perf_counter()
        try:
            fetcher.fetch(indices)
        except StopIteration:
            break
        now = time.perf_counter()
        seconds.append(now - start)
        if now > end:
            break
    # The first one also pays for imports and cold files.
    return Trial(min(seconds[1:] or seconds, default=0.0), drew=bool(generators.left(before)), asked=asked())


def _watch(function: Any) -> Callable[[], bool]:
    """Notes calls of get_worker_info, under whatever names it was imported, by giving it another body."""

    def body() -> Any:
        global _goloader_asked
        _goloader_asked = True  # type: ignore[name-defined]
        return _worker_info  # type: ignore[name-defined] # noqa: F821

    function.__code__ = body.__code__
    return lambda: vars(worker).get("_goloader_asked", False)
