"""Which door a loader takes, and the core that serves it; kept from epoch to epoch while nothing changes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from torch.utils.data.dataloader import _BaseDataLoaderIter

from .. import _auto, _native, plan
from .._beside import Beside
from .._core import Core
from ..plan import Explanation, Plan, Refusal, Row
from ..plan.explain import number_of
from ..state.ledger import Record
from ..state.workers import ReportedIterator
from .index import init_fn
from .recipe import door
from .worker.iterator import without_slots

if TYPE_CHECKING:
    from .._loader import DataLoader

_FORKED = Refusal(
    "loader", "os.fork", "this process was forked after goloader was loaded, and Go does not survive a fork"
)

# Kept beside the loaders, so that these pickle and copy as torch's do.
_plans: Beside[DataLoader[Any], Plan] = Beside()
_cores: Beside[DataLoader[Any], Core] = Beside()
_announced: Beside[DataLoader[Any], bool] = Beside()

# Whether each loader prints its explain() table when its first epoch begins: install(explain=True).
announcing = False


def decide(loader: DataLoader[Any]) -> Plan | Refusal:
    """The plan of a loader, made anew if the loader or its dataset changed since the last epoch."""
    if not _native.available():
        return _FORKED
    refused = init_fn.refused(loader)
    if refused is not None:
        return refused
    known = _plans.get(loader)
    if known is not None and known.unchanged(loader):
        return known
    try:
        decision: Plan | Refusal = plan.make(loader)
    except Exception as error:  # no code of a user's ends a program by being looked at
        decision = Refusal("loader", type(loader).__name__, f"{type(error).__name__} while it was looked at: {error}")
    if isinstance(decision, Plan):
        _plans[loader] = decision
    else:
        _plans.pop(loader)
    return decision


def core(loader: DataLoader[Any], decision: Plan) -> Core:
    """The plan opened in the core, from the last epoch if it still fits."""
    opened = _cores.get(loader)
    if opened is None or not opened.fits(decision):
        opened = _cores[loader] = Core(decision)
    return opened


def traced(loader: DataLoader[Any], iterator: _BaseDataLoaderIter) -> _BaseDataLoaderIter:
    """torch's iterator, with its fetcher behind door 2 where the loader may take that."""
    if loader.num_workers == 0 and _native.available():
        # torch's name for what calls the dataset and the collate_fn.
        inline: Any = iterator
        inline._dataset_fetcher = door.fetcher(loader, inline._dataset_fetcher)
    return iterator


def working(loader: DataLoader[Any], resumed: Record | None) -> _BaseDataLoaderIter:
    """The iterator over worker processes, behind door 2 where the loader may take that and begins an epoch."""
    return ReportedIterator(loader) if resumed is not None or not _native.available() else door.iterator(loader)


def explain(loader: DataLoader[Any], *, ours: bool = True) -> Explanation:
    """A line a stage, with what was counted so far. `ours`: its class leaves the making of iterators to us."""
    if ours or loader in _cores:
        decision = decide(loader)
    else:
        decision = Refusal("loader", type(loader).__qualname__, "this class makes its iterators itself")
    rows = plan.explain(loader, decision)
    chosen = _auto.row(loader, native=isinstance(decision, Plan))
    if chosen is not None:
        rows = Explanation([chosen, *rows])
    batches: list[Row] = []
    if ours and isinstance(decision, Refusal) and loader.num_workers > 0:
        workers, refused = number_of(loader.num_workers, "worker process", "worker processes"), without_slots(loader)
        how = "they come through shared slots" if refused is None else f"they come torch's way: {refused}"
        batches = [Row("batches", f"made in {workers}", "Python", how)]
    if isinstance(decision, Plan) and init_fn.wanted(loader):
        how = "in a process for each worker as an epoch begins; Go draws on from where it leaves torch's generator"
        rows = Explanation([Row("workers", "worker_init_fn", "Python", how), *rows])
    if isinstance(decision, Refusal):
        why = door.refusal(loader) if _native.available() else _FORKED
        trace = [Row("trace", why.what, "Python", why.why)] if why is not None else door.record(loader).rows()
        shown = Explanation([*rows, *(trace if ours else ()), *batches])
        stats = door.workshop(loader).stats() if shown.native else {}
        return shown.counted(stats) if stats else shown
    opened = _cores.get(loader)
    return rows if opened is None or opened.plan is not decision else rows.counted(opened.stats())


def announce(loader: DataLoader[Any]) -> None:
    """Prints the explain() table of a loader on stderr, once, if install() was asked for that."""
    if announcing and loader not in _announced:
        _announced[loader] = True
        rank = os.environ.get("RANK")
        who = type(loader).__qualname__ + ("" if rank is None else f", rank {rank}")
        # In one piece: several ranks may write to one terminal.
        sys.stderr.write(f"goloader: {who}\n{loader.explain()}\n")
        sys.stderr.flush()
