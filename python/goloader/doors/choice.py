"""Which door a loader takes, and the core that serves it; kept from epoch to epoch while nothing changes."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from torch.utils.data.dataloader import _BaseDataLoaderIter

from .. import _auto, _equal_steps, _native, _told
from .._beside import NAME, Beside, Notes
from .._core import Core
from .._errors import PlanError
from ..plan import Explanation, Plan, Refusal, Row, planner
from ..plan.explain import number_of
from ..plan.trust import look
from ..plan.trust.originals import package_of
from ..state import book
from ..state.ledger import Record
from ..state.workers import ReportedIterator
from . import allowed
from .index import init_fn, later, trial
from .recipe import door
from .recipe.record import Record as Recorded
from .worker import keeping
from .worker.iterator import without_slots

if TYPE_CHECKING:
    from .._loader import DataLoader

_FORKED = Refusal(
    "loader", "os.fork", "this process was forked after goloader was loaded, and Go does not survive a fork", "FORKED"
)

# Kept beside the loaders, so that these pickle and copy as torch's do.
_plans: Beside[DataLoader[Any], Plan] = Beside()
# Beside the datasets, where that may be: some programs make a loader anew for each epoch.
_refusals: Notes[Any, dict[tuple[Any, ...], dict[tuple[Any, ...], Refusal]]] = Notes()
_cores: Beside[DataLoader[Any], Core] = Beside()
_announced: Beside[DataLoader[Any], bool] = Beside()
_logged: Beside[DataLoader[Any], str] = Beside()

# Reasons in a user's own code and data, which take long to find: they stand until an attribute of the loader or of its
# dataset is another object, or explain() is asked. What has become Go's meanwhile stays torch's, and as right as that.
_STANDING = frozenset(
    ("CODE_UNREAD", "COLLATE_KEEPS", "COLLATE_OWN", "INDICES", "IN_LISTS", "ITERABLE", "PARTS_DIFFER", "SMALL_BATCHES")
)

_weakly = vars(type)["__weakrefoffset__"].__get__
# So many of one dataset's: of a loader for training and one for validation, say. Of one loader, after which nobody
# looks again: an attribute of its dataset is another object in each epoch, as one that counts them.
_STANDING_MAX, _LOOKS_MAX = 8, 4
_SAMPLERS = frozenset(("sampler", "batch_sampler"))
# Attributes of a loader that no refusal goes by.
_OF_ITERATORS = frozenset(("_iterator", "_book", "_IterableDataset_len_called", NAME))

# Whether each loader prints its explain() table when its first epoch begins: install(explain=True).
announcing = False


def decide(loader: DataLoader[Any]) -> Plan | Refusal:
    """The plan of a loader, made anew if the loader or its dataset changed since the last epoch."""
    owner, state = _owner(loader), _state(loader)
    attributes = tuple(map(id, look.attributes(loader.dataset)))
    known = _refusals.get(owner)
    were = {} if known is None else known.get(state, {})
    standing = were.get(attributes) or (next(reversed(were.values())) if len(were) >= _LOOKS_MAX else None)
    decision = _decided(loader, standing)
    if isinstance(decision, Plan):
        _plans[loader] = decision
        return keeping.refusal(loader, decision) or decision
    _plans.pop(loader)
    if standing is None and decision.code in _STANDING:
        if known is None or len(known) >= _STANDING_MAX:
            known = _refusals[owner] = {}
        known.setdefault(state, {})[attributes] = decision
    if loader in _cores and _native.available() and _recipes_refused(loader) is not None:
        _told.stopped(decision)
    return decision


def _decided(loader: DataLoader[Any], standing: Refusal | None) -> Plan | Refusal:
    closed = allowed.refusal(1)
    if closed is not None:
        return closed
    if not _native.available():
        return _FORKED
    if not _native.installed() and (missing := _native.missing()):
        return _no_library(missing)
    refused = init_fn.refused(loader)
    if refused is not None:
        return refused
    if callable(getattr(loader.on_error, "action", loader.on_error)):
        return Refusal("loader", "on_error", "a function replaces bad samples, and only Python can call it", "ON_ERROR")
    if standing is not None:
        return standing
    trial.hear()  # an answer may have come since the last epoch
    known = _plans.get(loader)
    if known is not None and planner.unchanged(known, loader):
        return trial.refused(loader, known) or known
    try:
        decision = planner.make(loader)
    except Exception as error:  # no code of a user's ends a program by being looked at
        why = f"{type(error).__name__} while it was looked at: {error}"
        return Refusal("loader", type(loader).__name__, why, "LOOKED_AT")
    # Loaded no earlier than it is needed: Python 3.12 and later warn at each fork from then on.
    missing = _native.missing() if isinstance(decision, Plan) else None
    if missing is not None:
        return _no_library(missing)
    return (trial.refused(loader, decision) if isinstance(decision, Plan) else None) or decision


def _owner(loader: DataLoader[Any]) -> Any:
    """What refusals are kept beside: a list cannot be referred to weakly."""
    return loader.dataset if _weakly(type(loader.dataset)) else loader


def _state(loader: DataLoader[Any]) -> tuple[Any, ...]:
    """What a refusal goes by, beside its dataset's attributes: which objects the attributes of a loader are.

    Of a sampler only its class: each loader has its own.
    """
    given = (
        type(each) if name in _SAMPLERS else id(each)
        for name, each in look.own(loader).items()
        if name not in _OF_ITERATORS
    )
    return type(loader), *given


def _no_library(why: str) -> Refusal:
    return Refusal("loader", "goloader's library", why, "LIBRARY")


def _recipes_refused(loader: DataLoader[Any]) -> Refusal | None:
    """Why nothing of a loader is recorded (any more); None if it is, or may be."""
    return door.record(loader).off or (door.refusal(loader) if _native.available() else _FORKED)


def _fallbacks(loader: DataLoader[Any]) -> list[Refusal]:
    """Why a loader runs in Python; nothing if Go makes its batches, or what can be recorded of them."""
    if not _ours(loader):
        return [_own_iterators(loader)]
    decision = decide(loader)
    refused = None if isinstance(decision, Plan) else _recipes_refused(loader)
    if isinstance(decision, Plan) or refused is None:
        return []
    return [decision] if refused.code == decision.code else [decision, refused]


def _ours(loader: DataLoader[Any]) -> bool:
    """False if its class makes its iterators itself."""
    return package_of(type(loader)._get_iterator) == "goloader"


def _own_iterators(loader: DataLoader[Any]) -> Refusal:
    return Refusal("loader", type(loader).__qualname__, "this class makes its iterators itself", "LOADER_ITERATOR")


def tell(loader: DataLoader[Any]) -> None:
    """Says in the log where the batches of an epoch that begins will come from, and does what on_fallback says.

    Raises FallbackError.
    """
    if _told.policy(loader.on_fallback) == "python" and not _told.log.isEnabledFor(logging.INFO):
        return
    reasons = _fallbacks(loader)
    over = f"{type(loader).__qualname__} over {type(loader.dataset).__qualname__}"
    text = f"{over}: {'; '.join(map(str, reasons)) or 'Go'}"
    if _logged.get(loader) != text:
        _logged[loader] = text
        _told.log.info("%s", text)
    fell_back(loader, reasons)


def fell_back(loader: DataLoader[Any], reasons: Sequence[Refusal]) -> None:
    """Does what on_fallback says of a loader that runs in Python for these reasons, if there are any.

    Raises FallbackError, but not where GOLOADER says that it is to be so: then an unchanged program must run.
    """
    on_fallback = _told.policy(loader.on_fallback)
    if on_fallback == "error" and any(reason.code == "DOOR_CLOSED" for reason in reasons):
        on_fallback = "warn"
    if reasons and on_fallback != "python":
        _told.fell_back(type(loader).__qualname__, reasons, on_fallback, explain(loader))


def core(loader: DataLoader[Any], decision: Plan, inline: trial.Inline) -> Core | None:
    """The plan opened in the core, from the last epoch if it still fits; `inline` is for a trial of it.

    None where the core does not take the plan: it and the planner understand something differently.
    Raises FallbackError.
    """
    before = _cores.get(loader)
    if before is not None and before.fits(decision):
        opened = before
    else:
        try:
            opened = _cores[loader] = Core(decision)
        except PlanError as error:
            refusal = trial.refuse(loader, decision, "PLAN", f"the core does not take its plan: {error}")
            fell_back(loader, [refusal])
            return None
        trial.begin(loader, decision, inline)
    book.of(loader).clock.use(opened)  # which asks the one before what it counted
    return opened


def traced(loader: DataLoader[Any], iterator: _BaseDataLoaderIter) -> _BaseDataLoaderIter:
    """torch's iterator, with its fetcher behind door 2 where the loader may take that."""
    if loader.num_workers > 0:
        return iterator
    # torch's name for what calls the dataset and the collate_fn.
    inline: Any = iterator
    torchs = inline._dataset_fetcher
    inline._dataset_fetcher = recording(loader, torchs, inline._pin_memory)
    losses = book.losses(loader)
    if losses is not None:
        inline._dataset_fetcher = losses.tolerant(inline._dataset_fetcher, torchs)
    return iterator


def recording(loader: DataLoader[Any], fetcher: Any, pinned: bool) -> Any:
    """torch's fetcher of a loader without workers, behind door 2 where that may be.

    pinned  as door.fetcher has it
    """
    if not _native.available():
        return fetcher
    book.of(loader).clock.use(door.workshop(loader))
    return door.fetcher(loader, fetcher, pinned)


def made(loader: DataLoader[Any], batches: int, cpu_s: float, clock_s: float) -> None:
    """So many batches were made before anything was recorded, which took so long."""
    record = door.record(loader)
    record.begun += batches
    record.spend(cpu_s, clock_s)


def working(loader: DataLoader[Any], resumed: Record | None) -> _BaseDataLoaderIter:
    """The iterator over worker processes, behind door 2 where the loader may take that and begins an epoch."""
    if resumed is not None or not _native.available():
        return ReportedIterator(loader)
    plan = _plans.get(loader)
    if plan is not None and keeping.refusal(loader, plan) is not None:
        return keeping.KeepingIterator(loader, plan)
    return door.iterator(loader)


def explain(loader: DataLoader[Any]) -> Explanation:
    """A line a stage, with what was counted so far."""
    ours = _ours(loader)
    _refusals.pop(_owner(loader))
    decision = decide(loader) if ours or loader in _cores else _own_iterators(loader)
    ran = later.ran(loader)
    if ran is not None and isinstance(decision, Plan):
        decision = ran.why(loader)
    chosen = _auto.row(loader, native=isinstance(decision, Plan))
    rows = [row for row in (_equal_steps.row(loader), chosen) if row is not None]
    if isinstance(decision, Plan):
        if init_fn.wanted(loader):
            how = "in a forked child for each worker; Go's random streams continue from the state it leaves"
            rows.insert(0, Row("workers", "worker_init_fn", "Python", how))
        explanation = Explanation([*rows, *decision.rows])
        opened = _cores.get(loader)
        return explanation if opened is None or opened.plan is not decision else explanation.counted(opened.stats())
    record = door.record(loader)
    record.hear()
    why = door.refusal(loader) if ours and _native.available() else _FORKED
    rows += planner.explain(loader, decision, _images(record) if ours and why is None else "Python")
    if allowed.off() or decision.code == "LIBRARY":  # one line says it all
        return Explanation(rows)
    if ours and why is not None and why != decision:
        rows.append(Row("trace", why.what, "Python", why.why, why.code))
    elif ours and why is None:
        rows += record.rows()
        if record.off is not None:  # which its last row tells of
            rows[-1] = replace(rows[-1], code=record.off.code)
    if ours and loader.num_workers > 0:
        workers, refused = number_of(loader.num_workers, "worker process", "worker processes"), without_slots(loader)
        how = (
            "they come through shared slots"
            if refused is None
            else f"they come through /dev/shm, as with torch: {refused}"
        )
        rows.append(Row("batches", f"made in {workers}", "Python", how))
    made = sum(record.leaves.values()) if record.on else 0
    known = made + sum(record.reasons.values())
    explanation = Explanation(rows, made / known if known else None)
    stats = door.workshop(loader).stats() if explanation.native else {}
    return explanation.counted(stats) if stats else explanation


def _images(record: Recorded) -> Literal["Go", "trace", "Python"]:
    """What becomes of images that may be recorded."""
    if record.on:
        return "Go" if record.leaves else "trace"
    return "trace" if record.leaves else "Python"


def announce(loader: DataLoader[Any]) -> None:
    """Prints the explain() table of a loader on stderr, once, if install() was asked for that."""
    if announcing and loader not in _announced:
        _announced[loader] = True
        rank = os.environ.get("RANK")
        who = type(loader).__qualname__ + ("" if rank is None else f", rank {rank}")
        # In one piece: several ranks may write to one terminal.
        sys.stderr.write(f"goloader: {who}\n{loader.explain()}\n")
        sys.stderr.flush()
