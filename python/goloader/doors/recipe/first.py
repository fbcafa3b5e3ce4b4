"""Stands in front of torch's fetcher until a check says whether the dataset's batches may be recorded."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from ...plan.refusal import Refusal
from .. import sandbox
from .opens import opens
from .record import Finding, Record
from .session import TroubleError

__all__ = ["First", "begin_trial"]

# Samples of a trial.
_SAMPLES = 8


class First:
    """Fetches batches as torch does, until a trial has shown that they may be recorded; then `then` makes who does.

    The first batch is nobody's but the user's, unless a trial in another process has shown that. The trial begins with
    the second one, once batches have taken some time, and what it takes is imported in its own process: a dataset that
    gains nothing by being recorded pays for a fork.

    inner   torch's fetcher of a map-style dataset
    record  of the loader
    then    gives what fetches the other batches, in front of `inner`, or why nothing may be recorded
    tries   trials are begun here
    """

    def __init__(self, inner: Any, record: Record, then: Callable[[Any], Any], *, tries: bool = True) -> None:
        self._inner, self._record, self._then, self._tries = inner, record, then, tries
        self._fetcher: Any = None
        self._threads: set[threading.Thread] = set()  # that the dataset began
        if record.trusted:
            self._follow()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def fetch(self, indices: Any) -> Any:
        """The batch of these indices, as torch's fetcher gives it; raises what that raises."""
        if self._fetcher is None and self._known(indices):
            self._follow()
        if self._fetcher is not None:
            return self._fetcher.fetch(indices)
        cpu, clock, before = time.thread_time(), time.perf_counter(), threading.enumerate()
        try:
            return self._inner.fetch(indices)
        finally:
            self._threads.update({*threading.enumerate()}.difference(before))
            self._record.spend(time.thread_time() - cpu, time.perf_counter() - clock)

    def _follow(self) -> None:
        made = self._then(self._inner)
        self._fetcher = self._inner if isinstance(made, Refusal) else made
        if self._record.kept:  # it is tried while batches are recorded
            self._record.kept, self._record.trusted = False, True

    def _known(self, indices: Any) -> bool:
        """Whether others fetch from here on; begins a trial when it is due."""
        record = self._record
        if record.kept:
            return True
        if not record.begun:
            record.begun += 1
            return False
        if not record.on:
            # A page of this process's own is read by nobody else: that nothing is recorded goes home with the batches.
            return record.remote and record.page.own
        page = record.page
        if page.spent < record.due_s:  # nobody has begun a trial
            record.begun += 1
            return False
        if self._inner.auto_collation and hasattr(type(indices), "__next__"):
            return True
        record.hear()
        if self._tries and record.on and not record.trusted and not page.running:
            # The trial's process will not have them.
            in_threads = any(each.is_alive() and not _begins_anew(each) for each in self._threads)
            begin_trial(
                record, indices, _waits_for_ever if in_threads else self._found, batched=self._inner.auto_collation
            )
        record.begun += not record.trusted
        return record.trusted

    def _found(self, indices: Any) -> Finding:
        """In the process of a trial."""
        try:
            if not hasattr(self._inner, "dataset_iter"):
                opened, files = opens(lambda: self._inner.fetch(indices))
                if not opened:
                    return Finding(Refusal("source", "trace", "it opens no images", "NO_GAIN"), files=files)
            made = self._then(self._inner)
            if isinstance(made, Refusal):
                return Finding(made)
            from . import trial
        except Exception as error:
            return Finding.none(f"{type(error).__name__}: {error}")
        return trial.judge(made, indices)


def _begins_anew(thread: threading.Thread) -> bool:
    """Whether nobody waits for a thread in a forked process: fsspec begins its own anew there, tqdm's only watches."""
    return thread.name == "fsspecIO" or type(thread).__module__.startswith("tqdm")


def _waits_for_ever(indices: Any) -> Finding:
    """What a trial would find of a dataset whose threads did not come along."""
    return Finding.none("it reads in threads, for which code would wait there")


def begin_trial(record: Record, indices: Any, judge: Callable[[Any], Finding], *, batched: bool) -> None:
    """Begins a trial of the first of a batch's indices, in a process of its own, where `judge` says what it found."""
    try:
        chosen = _few(indices) if batched else indices
        sandbox.begin(record.page, lambda: judge(chosen))
    except (OSError, TroubleError) as error:
        record.stop("trace", f"samples cannot be tried apart: {error}")
    else:
        record.hear()


def _few(indices: Any) -> Any:
    """The first indices of a batch. Raises TroubleError."""
    if isinstance(indices, Mapping):
        return dict(itertools.islice(indices.items(), _SAMPLES))
    if isinstance(indices, (list, tuple)):
        return indices[:_SAMPLES]
    if isinstance(indices, set):
        return set(itertools.islice(indices, _SAMPLES))
    raise TroubleError(f"indices are a {type(indices).__name__}")
