"""Stands in front of torch's fetcher, which calls the dataset and the collate_fn: batches are recorded, then made.

A batch is the same as if it had been fetched without: where anything is in the way (an error of any kind, a file that
cannot be decoded), the random generators go back to where the batch began and torch's fetcher runs again, alone. So the
user's own code raises or handles its errors, at its own lines.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import torch

from . import hooks
from .array import StandInArray
from .escape import give_arrays, without_stand_ins
from .image import StandInImage, is_made, prepare
from .image import become_real as image_becomes_real
from .native import CoreNative
from .record import CHECK_SAMPLES, Record, places
from .rng import Generators, same_states
from .same import difference
from .session import Session, TroubleError
from .state import State
from .switch import recording
from .tensor import StandInTensor, replace
from .value import Memory, Value, become_real_together
from .workshop import Workshop

__all__ = ["Fetcher"]


class Fetcher:
    """Fetches batches in the process that uses them (num_workers=0).

    inner     torch's fetcher of a map-style dataset
    record    of the loader
    workshop  of the loader; None in a worker process
    """

    def __init__(self, inner: Any, record: Record, workshop: Workshop | None) -> None:
        self._inner, self._record, self._workshop = inner, record, workshop
        self._generators = Generators(inner.dataset, inner.collate_fn)
        self._native: CoreNative | None = None
        if record.on and self._generators.passing is not None:
            record.stop("trace", f"{self._generators.passing}, so that samples cannot be loaded again")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def fetch(self, indices: Any) -> Any:
        """The batch of these indices, as torch's fetcher gives it; raises what that raises."""
        record = self._record
        if self._inner.auto_collation and hasattr(indices, "__next__"):
            record.stop("trace", "a batch's indices are an iterator, which cannot be gone through again")
        if not record.on:
            return self._inner.fetch(indices)
        start = self._generators.save()
        before = State(self._inner.dataset, self._inner.collate_fn) if record.due <= 0 else None
        made = Record()
        try:
            batch = self._record_and_make(indices, made)
        except Exception as error:
            trouble: Exception | None = error
        else:
            if before is None or self._passes(indices, start, before, made):
                self._accept(made)
                return batch
            trouble = None
        self._generators.restore(start)
        if before is not None:
            before.restore()
        return self._inner.fetch(indices) if trouble is None else self._again(indices, trouble)

    def _again(self, indices: Any, trouble: Exception) -> Any:
        """The batch without stand-ins, after `trouble` with them."""
        try:
            batch = self._inner.fetch(indices)
        except Exception as error:
            if type(error) is not type(trouble):
                self._record.trouble(trouble)
            raise
        if isinstance(trouble, OSError):
            self._record.undecoded(trouble)
        else:
            self._record.trouble(trouble)
        return batch

    def _passes(self, indices: Any, start: list[Any], before: State, made: Record) -> bool:
        """Whether a batch that was just recorded may be used; `made` says what was.

        Its first samples are run with and without stand-ins, from where the batch began, and a difference ends tracing.
        Where no stand-in was made there is nothing to compare. State and generators are left as the batch left them.
        """
        record = self._record
        if made.recorded:
            end, after = self._generators.save(), State(self._inner.dataset, self._inner.collate_fn)
            self._compare(indices, start, before, made)
            after.restore()
            self._generators.restore(end)
            return record.on and record.due > 0
        return True

    def _compare(self, indices: Any, start: list[Any], before: State, made: Record) -> None:
        record = self._record

        def run(fetch: Callable[[Any], Any]) -> tuple[Any, float, list[Any]]:
            few = _few(indices) if self._inner.auto_collation else indices
            before.restore()
            self._generators.restore(start)
            begun = time.perf_counter()
            batch = fetch(few)
            return batch, time.perf_counter() - begun, self._generators.save()

        try:
            eager, eager_s, stands = run(self._inner.fetch)
            changed = before.changed()
            if changed is not None:
                record.stop("trace", f"the dataset's attribute {changed!r} changes as samples are loaded")
                return
            traced, traced_s, stands_traced = run(lambda few: self._record_and_make(few, Record()))
            found = None if same_states(stands, stands_traced) else "the random generators stand elsewhere"
            found = found or self._difference(eager, traced)
            if found is not None:
                self._make_all()
            # Where another process compares, this one says before whether there is any sense in it.
            steady = difference(eager, run(self._inner.fetch)[0]) is None if self._unsure(found) else True
        except OSError as error:
            record.undecoded(error)
            return
        except Exception as error:  # of a user's type that cannot be compared, of a collate_fn that wants whole batches
            record.failed(f"samples could not be compared: {type(error).__name__}: {error}")
            return
        if not steady:
            record.stop("trace", "the dataset gives other samples each time, whatever its random state")
        elif found is None:
            record.passed(eager_s, traced_s)
        else:
            record.differs(self._inner.dataset, found, made.reasons)

    def _make_all(self) -> None:
        """Raises OSError if a file of the samples cannot be decoded, which eager code may have seen and handled."""

    def _unsure(self, found: str | None) -> bool:
        return found is not None

    def _accept(self, made: Record) -> None:
        """The batch that was just recorded is used."""
        self._record.add(made)

    def _difference(self, eager: Any, traced: Any) -> str | None:
        return difference(eager, traced)

    def _record_and_make(self, indices: Any, made: Record) -> Any:
        if self._native is None:
            assert self._workshop is not None  # only worker processes have none, and record otherwise
            self._native = CoreNative(self._workshop.core())
        session = Session(self._native, not self._record.keeps)
        try:
            held = self._recorded(session, indices)
            leaves = finish(session, held, self._native.run)
        finally:
            session.clear()
        made.count(self._count(indices), leaves, session)
        return held[0]

    def _recorded(self, session: Session, indices: Any) -> list[Any]:
        """The batch, in a list that alone holds it, of torch's fetcher with stand-ins."""
        inner, collate = self._inner, self._inner.collate_fn

        def noting(samples: Any) -> Any:
            session.collating = True
            return collate(samples)

        inner.collate_fn = noting
        try:
            hooks.hold()
            try:
                with recording(session):
                    held = [inner.fetch(indices)]
            finally:
                hooks.release()
        finally:
            inner.collate_fn = collate
        if session.failed is not None:
            raise session.failed
        return held

    def _count(self, indices: Any) -> int:
        return len(indices) if self._inner.auto_collation and hasattr(indices, "__len__") else 1


_IMAGE = "a PIL image in the batch"


def finish(session: Session, held: list[Any], run: Callable[[list[Value]], list[Any]] | None) -> Counter[str]:
    """Makes the stand-ins that a batch still refers to, wherever they are in it; says where and how many images.

    held  the batch, alone: it is another object afterwards if it is a stand-in for an array, or a tuple that has one.
          Nobody else may refer to it
    run   the core; None leaves to others what it would make
    """
    images: list[Any] = []
    views: list[StandInTensor | StandInArray] = []
    for each in session.living():
        if type(each) is StandInImage:
            images.append(each)
        elif isinstance(each, StandInTensor) or type(each) is StandInArray:
            views.append(each)
    sizes = {id(view.memory): len(view.memory.value.images) for view in views if view.memory.real is None}
    prepare(images, "")
    if run is None:
        become_real_together([view.memory for view in views if _stays(view)], "")
    while images:
        each = images.pop()
        if is_made(each):
            session.was_seen(_IMAGE, 1)
        else:
            session.became_real(_IMAGE)
        image_becomes_real(each, "", note=False)
    by_core: list[Memory] = []
    for view in views:
        memory = view.memory
        if memory.real is not None or any(memory is other for other in by_core):
            continue
        if not memory.value.by_core:
            why = f"{memory.value.tail.dtype} in an order that the core does not know"
        elif run is None and _stays(view):
            why = "an array in the batch" if type(view) is StandInArray else "a tv_tensor in the batch"
        else:
            by_core.append(memory)
            continue
        session.became_real(why)
        memory.become_real("")
        del sizes[id(memory)]
    by_core = [memory for memory in by_core if memory.real is None]
    found = {id(view): sizes.get(id(view.memory), 0) for view in views}
    leaves = places(held[0], lambda value: found.get(id(value), 0))
    if len(leaves) < len(by_core):
        total = sum(len(memory.value.images) for memory in by_core)
        leaves["elsewhere in the batch"] += max(total - sum(leaves.values()), 1)
    if by_core and run is not None:
        for memory, real in zip(by_core, run([memory.value for memory in by_core]), strict=True):
            memory.real = real
    arrays = any(type(view) is StandInArray for view in views)
    while views:
        view = views.pop()
        if isinstance(view, StandInTensor) and view.memory.real is not None:
            replace(view, view.memory.real)
    if arrays:
        del view, each
        held[0] = without_stand_ins(held[0])
        for kept in session.living():
            if type(kept) is StandInArray:
                session.arrays = False
                give_arrays(kept)
    return leaves + session.made


def _stays(view: StandInTensor | StandInArray) -> bool:
    """Whether a worker process makes it: what goes home without memory is a plain tensor there."""
    return type(view) is StandInArray or view.real_class is not torch.Tensor


def _few(indices: Any) -> Any:
    """The first indices of a batch."""
    if isinstance(indices, Mapping):
        return dict(itertools.islice(indices.items(), CHECK_SAMPLES))
    if isinstance(indices, (list, tuple)):
        return indices[:CHECK_SAMPLES]
    if isinstance(indices, set):
        return set(itertools.islice(indices, CHECK_SAMPLES))
    raise TroubleError(f"indices are a {type(indices).__name__}")
