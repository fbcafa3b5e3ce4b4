"""Whether a loader takes door 2, and its record, kept from epoch to epoch."""

from __future__ import annotations

import sys
import weakref
from typing import TYPE_CHECKING, Any

from torch.utils.data import get_worker_info

from ... import _native
from ..._beside import Beside
from ...adapters.torch import DatasetKind, default_device
from ...on_error import OnError
from ...plan.refusal import Refusal
from ...seek_index import SeekIndex
from ...state.protocol import has_state
from ...state.workers import ReportedIterator
from .. import allowed, sandbox
from ..worker.iterator import without_slots
from . import kept, libraries
from .first import First
from .opens import OPENERS
from .record import Record
from .workshop import Workshop

if TYPE_CHECKING:
    from ..._loader import DataLoader

__all__ = ["fetcher", "iterator", "record", "refusal", "workshop"]

# Kept beside the loaders, so that these pickle and copy as torch's do.
_records: Beside[DataLoader[Any], Record] = Beside()
_workshops: Beside[DataLoader[Any], Workshop] = Beside()


def refusal(loader: DataLoader[Any], *, hooked: bool = True, ahead: bool = False) -> Refusal | None:
    """Why nothing of this loader may be recorded; None if it may be tried.

    hooked  as libraries.refusal takes it
    ahead   leave out what it says: that is looked at before anything is recorded, but not before the first batch
    """
    if not loader.trace:
        return Refusal("loader", "trace=False", "recording is turned off", "TRACE_OFF")
    closed = allowed.refusal(2)
    if closed is not None:
        return closed
    if loader.num_workers > 0 and not loader.in_order:
        return Refusal("loader", "in_order=False", "recorded batches can only come in order", "IN_ORDER")
    if loader.num_workers > 0 and without_slots(loader) is not None:
        return Refusal("loader", "slots", "batches of worker processes do not come through slots", "NO_SLOTS")
    if loader.num_workers > 0 and loader.rng is not None:
        return Refusal(
            "loader", f"rng={loader.rng!r}", "worker processes seed each sample, and are not recorded", "RNG_SAMPLE"
        )
    tolerant = OnError.of(loader.on_error)
    if tolerant is not None and (loader.num_workers > 0 or tolerant.sample_timeout is not None):
        return Refusal(
            "loader", "on_error", "a recorded sample may fail after the dataset's code has gone on", "ON_ERROR"
        )
    if loader._dataset_kind == DatasetKind.Map and has_state(loader.dataset):
        return Refusal(
            "source",
            type(loader.dataset).__qualname__,
            "it has a state_dict(), so samples may change its state",
            "DATASET_STATE",
        )
    if get_worker_info() is not None:
        return Refusal(
            "loader", type(loader).__qualname__, "it runs inside a worker process of another loader", "IN_WORKER"
        )
    if default_device().type != "cpu":
        return Refusal("loader", "torch.set_default_device", "tensors are made on another device", "TORCH_DEFAULTS")
    if not any(name.rpartition(".")[0] in sys.modules for name in OPENERS):
        return Refusal("trace", "images", "nothing has imported Pillow, OpenCV or torchvision's decoders", "NO_IMAGES")
    if ahead:
        return None
    unfit = libraries.refusal(hooked=hooked)
    if unfit is not None:
        return unfit
    # Nothing is made by the core in the process of a trial.
    missing = None if sandbox.here() else _native.missing()
    return None if missing is None else Refusal("loader", "goloader's library", missing, "LIBRARY")


def record(loader: DataLoader[Any]) -> Record:
    """What is known about a loader's dataset."""
    known = _records.get(loader)
    if known is None:
        name = kept.named(loader)
        found = None if sandbox.WAITS else kept.found(name)
        known = _records[loader] = Record(name=name)
        if found is not None:
            known.kept, known.before = found.off is None, found.off
            # The first batch may do what is done but once in a process, such as to open files.
            known.due = int(known.kept)
    return known


def workshop(loader: DataLoader[Any]) -> Workshop:
    """Where a loader's recipes are carried out."""
    known = _workshops.get(loader)
    if known is None:
        known = _workshops[loader] = Workshop(weakref.ref(loader))
    known.seek_index = SeekIndex.of(loader.seek_index)
    return known


def iterator(loader: DataLoader[Any]) -> ReportedIterator:
    """The iterator of a loader with num_workers > 0 and shared slots."""
    known = record(loader)
    known.hear()  # the answer to a trial of an earlier epoch may have come since
    # What records is imported here, once, where workers are to begin with it.
    if not known.on or refusal(loader, ahead=not (known.trusted or known.kept)) is not None:
        return ReportedIterator(loader)
    from .iterator import TracingIterator

    return TracingIterator(loader, known, workshop(loader))


def fetcher(loader: DataLoader[Any], inner: Any, pinned: bool) -> Any:
    """What fetches batches in place of torch's fetcher: that itself where nothing may be recorded.

    pinned  batches are to be page-locked
    """
    known = record(loader)
    if known.left is not None:
        from .stand_ins.escape import settle

        settle(known)  # another iterator's
    if not known.on or refusal(loader, ahead=True) is not None:
        return inner
    return First(inner, known, lambda inner: _fetcher(loader, inner, pinned))


def _fetcher(loader: DataLoader[Any], inner: Any, pinned: bool) -> Any:
    known = record(loader)
    unfit = known.off or refusal(loader, hooked=known.trusted)
    if unfit is not None:
        return unfit
    from .fetch import Fetcher

    return Fetcher(inner, known, workshop(loader), pinned)
