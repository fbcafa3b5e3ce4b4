"""Stands in front of torch's fetcher, which calls the dataset and the collate_fn: batches are recorded, then made.

It is used once a check in a forked child has passed (first.py, trial.py). The user's code runs once a sample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch.utils.data import IterableDataset

from ...state.generators import PROCESS, capture, put
from . import hooks, trial
from .first import begin_trial
from .native import CoreNative
from .record import KEPT, Made, Record, places
from .session import Native, Session, TroubleError
from .stand_ins.array import StandInArray
from .stand_ins.escape import give_arrays, in_sight, make_real, reached, settle, without_stand_ins
from .stand_ins.image import StandInImage, is_made, prepare
from .stand_ins.image import become_real as image_becomes_real
from .stand_ins.tensor import StandInTensor, replace
from .stand_ins.value import Memory, Value, become_real_together
from .switch import off, recording
from .workshop import Workshop

__all__ = ["Fetcher", "finish"]

_NOTE = (
    "goloader stood in for images while your code ran, and an IterableDataset cannot be read again from there; "
    "DataLoader(trace=False) runs it without"
)

# What makes values by the core.
Run = Callable[[list[Value]], list[torch.Tensor]]

# What code raises that was given a stand-in where it needs the real thing.
_TROUBLE = (TypeError, AttributeError, ValueError, RuntimeError, BufferError, SystemError)


class Fetcher:
    """Fetches batches in the process that uses them (num_workers=0).

    tries    trials are begun here
    streams  the dataset is an IterableDataset
    pinned   what the core makes of a batch is to be page-locked

    inner     torch's fetcher
    record    of the loader
    workshop  of the loader; None in a worker process
    """

    tries = True

    def __init__(self, inner: Any, record: Record, workshop: Workshop | None, pinned: bool = False) -> None:
        self._inner, self._record, self._workshop, self._pinned = inner, record, workshop, pinned
        self.streams = isinstance(inner.dataset, IterableDataset)
        self._native: CoreNative | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def fetch(self, indices: Any) -> Any:
        """The batch of these indices, as torch's fetcher gives it; raises what that raises."""
        if not self._records(indices):
            settle(self._record)
            return self._inner.fetch(indices)
        start = {} if self.streams else capture(PROCESS)
        session = self.session(self._recorder())
        if self.streams:
            self._record.left = session
        try:
            batch, made = self._record_and_make(session, indices)
        except StopIteration:
            settle(self._record)
            raise
        except _TROUBLE as error:
            if not session.recorded:
                raise
            if self.streams:
                self._tell(error)
                raise
            trouble = error
        else:
            self._record.add(made)
            if session.kept:
                self._record.stop("trace", *KEPT)
            return batch
        session.clear()
        return self._again(indices, start, trouble)

    def _records(self, indices: Any) -> bool:
        """Whether a batch is to be recorded; begins trials when they are due."""
        record = self._record
        if not record.on:
            return False
        if self._inner.auto_collation and hasattr(type(indices), "__next__"):
            record.stop("trace", "a batch's indices are an iterator, which cannot be gone through twice")
            return False
        record.hear()
        if not record.on:
            return False
        if self.tries and record.due <= 0 and not record.page.running:
            begin_trial(record, indices, partial(trial.judge, self), batched=self._inner.auto_collation)
        record.begun += not record.trusted
        return record.on and record.trusted

    def _tell(self, error: Exception) -> None:
        """Says of an error of a stream, which cannot be read again from there, that a stand-in may be its cause.

        Raises RuntimeError where it surely is.
        """
        if isinstance(error, TroubleError):
            self._record.stop(type(self._inner.dataset).__qualname__, f"its code failed with a stand-in: {error}")
            raise RuntimeError(f"{error}: {_NOTE}") from error
        if in_sight(error) and hasattr(error, "add_note"):  # Python 3.11
            error.add_note(_NOTE)

    def _again(self, indices: Any, start: Mapping[str, Any], trouble: Exception) -> Any:
        """The batch without stand-ins, after `trouble` with them that no trial has seen.

        This is the one case in which the user's code runs again for samples.
        """
        put(start)
        batch = self._inner.fetch(indices)  # raises what is the user's own error
        self._record.stop(
            type(self._inner.dataset).__qualname__,
            f"the code failed with a stand-in, so one batch was loaded twice: {type(trouble).__name__}: {trouble}",
            warn=True,
        )
        return batch

    def _recorder(self) -> Native:
        """Who makes what the user's code looks at."""
        if self._native is None:
            assert self._workshop is not None  # only worker processes have none, and another recorder
            self._native = CoreNative(self._workshop.core())
        return self._native

    def _record_and_make(self, session: Session, indices: Any) -> tuple[Any, Made]:
        assert self._native is not None  # _recorder made it
        try:
            held, leaves = self.recorded(session, indices, partial(self._native.run, pinned=self._pinned))
        finally:
            session.clear()
        return held[0], Made.of(self._count(indices), leaves, session)

    def session(self, native: Native) -> Session:
        """For the next batch."""
        return Session(native, streams=self.streams, before=self._record.left)

    def eager(self, indices: Any, batches: int) -> list[Any]:
        """Batches of torch's fetcher: so many are asked for, and a stream may end before.

        Raises StopIteration if it has none.
        """
        settle(self._record)
        made: list[Any] = []
        for _ in range(batches):
            try:
                made.append(self._inner.fetch(indices))
            except StopIteration:
                if not made:
                    raise
                break
        return made

    def recorded(self, session: Session, indices: Any, run: Run | None) -> tuple[list[Any], Counter[str]]:
        """A batch, in a list that alone holds it, that was recorded and then made by `run`; and what finish() says.

        With None what the core makes is left to others.
        """
        inner, collate = self._inner, self._inner.collate_fn

        def noting(samples: Any) -> Any:
            session.collating = True
            start = capture(PROCESS) if session.streams else {}
            try:
                return collate(samples)
            except _TROUBLE as error:
                if not session.streams:
                    raise
                put(start)
                return self._collated(collate, samples, error)

        session.collating = False

        inner.collate_fn = noting
        try:
            with hooks.held(), recording(session):
                held = [inner.fetch(indices)]
        finally:
            inner.collate_fn = collate
        failed, session.failed = session.failed, None
        if failed is not None:
            raise failed
        return held, finish(session, held, run)

    def _collated(self, collate: Callable[[Any], Any], samples: Any, trouble: Exception) -> Any:
        """A stream's samples as the collate_fn makes a batch of them without stand-ins, after `trouble` with them."""
        for each in reached(samples):
            if type(each) is not StandInArray:
                make_real(each)
        samples = without_stand_ins(samples)
        with off():
            batch = collate(samples)  # raises what is the user's own error
        self._record.stop(
            type(self._inner.dataset).__qualname__,
            f"the collate_fn failed with a stand-in: {type(trouble).__name__}: {trouble}",
            warn=True,
        )
        return batch

    def _count(self, indices: Any) -> int:
        return len(indices) if self._inner.auto_collation and hasattr(indices, "__len__") else 1


_IMAGE = "a PIL image in the batch"


def finish(session: Session, held: list[Any], run: Run | None) -> Counter[str]:
    """Makes the stand-ins that a batch still refers to, wherever they are in it; says where and how many images.

    held  the batch, alone: it is another object afterwards if it is a stand-in for an array, or a tuple that has one.
          Nobody else may refer to it
    run   the core; None leaves to others what it would make
    """
    images: list[Any] = []
    views: list[StandInTensor | StandInArray] = []
    if session.streams:
        # It keeps samples for later batches, in buffers and in the variables of generators: they stay as they are.
        found = reached(held[0])
        session.part(found)
    else:
        found = session.living()
    for each in found:
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
        if not memory.value.images:
            session.was_seen("a batch that does not have all images", len(memory.value.memories))
            memory.become_real("")
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
    counts = {id(view): sizes.get(id(view.memory), 0) for view in views}
    leaves = places(held[0], lambda value: counts.get(id(value), 0))
    if len(leaves) < len(by_core):
        total = sum(len(memory.value.images) for memory in by_core)
        leaves["elsewhere in the batch"] += max(total - sum(leaves.values()), 1)
    if by_core and run is not None:
        try:
            reals = run([memory.value for memory in by_core])
        except Exception:  # a file that is damaged, or was changed: Pillow says so, or makes it
            for memory in by_core:
                memory.make()
        else:
            for memory, real in zip(by_core, reals, strict=True):
                memory.real = real
    arrays = any(type(view) is StandInArray for view in views)
    while views:
        view = views.pop()
        if isinstance(view, StandInTensor) and view.memory.real is not None:
            replace(view, view.memory.real)
    if arrays:
        del view, each, found
        held[0] = without_stand_ins(held[0])
        for kept in () if session.streams else session.living():
            if type(kept) is StandInArray:
                session.kept = True
                give_arrays(kept)
    return leaves + session.made


def _stays(view: StandInTensor | StandInArray) -> bool:
    """Whether a worker process makes it: what goes home without memory is a plain tensor there."""
    return type(view) is StandInArray or view.real_class is not torch.Tensor
