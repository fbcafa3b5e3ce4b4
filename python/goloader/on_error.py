"""on_error: what happens to samples that cannot be loaded.

A batch is as if its sampler had never given the index of a bad sample (skip), or had given another index instead
(replace). Random numbers that a sample drew before it failed are put back. So batches do not depend on where samples
are loaded, on num_workers, or on whether a sample is already known to be bad.
"""

from __future__ import annotations

import copy
import itertools
import json
import operator
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Container, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import torch

from . import _told
from ._errors import BadSamplesError
from .state.generators import PROCESS, capture, put

__all__ = ["Action", "OnError"]

# A function is given the index and the error; it returns a sample, or raises.
Action = Literal["raise", "skip", "replace"] | Callable[[Any, Exception], Any]

# How many bad samples the text of an error lists.
_LISTED = 5


class _LeftOut(Enum):
    LEFT_OUT = 0


# In place of a batch, or of an index with batch_size=None, where nothing is left of it.
LEFT_OUT = _LeftOut.LEFT_OUT


@dataclass(frozen=True)
class OnError:
    """What a DataLoader does with samples for which its dataset raises an error.

    action      "raise": raises the error, as torch; "skip": leaves the sample out, so its batch is smaller; "replace":
                loads the next index of the dataset whose sample is good; a function (index, error): returns the sample,
                or raises
    budget      how many samples may be bad over all epochs of a loader; None: any number
    quarantine  a file of JSON lines to which bad samples are added. Later runs with this dataset do not try them
    sample_timeout  how many seconds a sample may take; one that takes longer is bad, by a TimeoutError. docs/errors.md
                says what can be interrupted

    Raises ValueError for other values.
    """

    action: Action = "skip"
    budget: int | None = 100
    quarantine: str | os.PathLike[str] | None = None
    sample_timeout: float | None = None

    def __post_init__(self) -> None:
        if not (callable(self.action) or self.action in ("raise", "skip", "replace")):
            raise ValueError(f'on_error is "raise", "skip", "replace" or a function, but got {self.action!r}')
        if self.budget is not None and (not isinstance(self.budget, int) or self.budget < 0):
            raise ValueError(f"budget is a number of samples, or None, but got {self.budget!r}")
        limit = self.sample_timeout
        if limit is not None and not (isinstance(limit, int | float) and limit > 0):
            raise ValueError(f"sample_timeout is a number of seconds above 0, or None, but got {limit!r}")

    @classmethod
    def of(cls, given: OnError | Action) -> OnError | None:
        """What a loader's argument says; None to do as torch. Raises ValueError."""
        if type(given) is str and given == "raise":
            return None
        policy = given if isinstance(given, cls) else cls(given)  # type: ignore[arg-type]
        return None if policy.raises and policy.sample_timeout is None else policy

    @property
    def raises(self) -> bool:
        return self.action == "raise"

    def instead(self, index: Any, bad: Container[Any], length: Callable[[], int]) -> Any:
        """The index that is loaded in place of a bad one; LEFT_OUT for none.

        Raises TypeError for an index that has no next one, and BadSamplesError if all are bad.
        """
        if self.action == "skip":
            return LEFT_OUT
        try:
            begin = operator.index(index)
        except TypeError:
            raise TypeError(f'on_error="replace" needs indices that are integers, not {index!r}') from None
        count = length()
        for other in ((begin + step) % count for step in range(1, count)):
            if other not in bad:
                return other
        raise BadSamplesError(f"all {count} samples of the dataset are bad")


class Failure(NamedTuple):
    """A sample that was not loaded. `name` is that of its file, if known; `kind` the class of the error."""

    index: Any
    name: str | None
    kind: str
    error: str

    @classmethod
    def of(cls, index: Any, error: Exception, name: str | None = None) -> Failure:
        file = getattr(error, "filename", None)
        with suppress(TypeError):  # numpy's integers and torch's
            index = operator.index(index)
        known = index if isinstance(index, int | str) else repr(index)
        return cls(known, name or (file if isinstance(file, str) else None), type(error).__name__, str(error))

    def __str__(self) -> str:
        named = "" if self.name is None else f" ({self.name})"
        return f"{self.index}{named}: {self.kind}: {self.error}"


def counts(error: Exception) -> bool:
    """Whether an error of a dataset is one of a sample: memory that is short and the end of an iterator are not."""
    return not isinstance(error, MemoryError | StopIteration | BadSamplesError)


@contextmanager
def limited(seconds: float | None) -> Generator[None]:
    """Raises TimeoutError in what takes longer, once Python or a call of the system can be interrupted.

    Uses SIGALRM, so it does nothing outside of the main thread. A timer that is running is set back by the time spent.
    """
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(number: int, frame: Any) -> None:
        raise TimeoutError(f"the sample takes longer than {seconds:g} s")

    handler, begun = signal.signal(signal.SIGALRM, late), time.monotonic()
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
        finally:  # it may have come just now
            signal.signal(signal.SIGALRM, handler)
            if left:
                signal.setitimer(signal.ITIMER_REAL, max(1e-6, left - (time.monotonic() - begun)), interval)


class Tolerant:
    """Stands in front of what fetches batches of a map-style dataset in Python.

    quarantined  indices that are not given in place of others
    failures     what fails is added to it
    inner        fetches batches
    torchs       torch's fetcher, which may be the same: it loads one sample at a time once a batch has failed
    """

    def __init__(
        self, policy: OnError, quarantined: frozenset[Any], failures: list[Failure], inner: Any, torchs: Any
    ) -> None:
        self._policy, self._quarantined, self._failures = policy, quarantined, failures
        self._inner, self._torchs = inner, torchs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def fetch(self, indices: Any) -> Any:
        """The batch of these indices without its bad samples; LEFT_OUT if nothing is left of it."""
        batched = self._torchs.auto_collation
        if isinstance(indices, Iterator):
            indices = list(indices)
        if indices is LEFT_OUT or (batched and hasattr(indices, "__len__") and not len(indices)):
            return LEFT_OUT
        if self._policy.sample_timeout is None:
            start = capture(PROCESS)
            try:
                return self._inner.fetch(indices)
            except Exception as error:
                if not counts(error):
                    raise
            put(start)
        self._failed: dict[Any, Failure] = {}
        # No error is being handled any more: what is raised from here on has no other one as its context.
        found = [self._sample(index) for index in (indices if batched else [indices])]
        samples = [sample for sample in found if sample is not LEFT_OUT]
        if not samples:
            return LEFT_OUT
        return self._torchs.collate_fn(samples if batched else samples[0])

    def take(self) -> tuple[Failure, ...]:
        """The samples that have failed since this was asked last."""
        failures = tuple(self._failures)
        self._failures.clear()
        return failures

    def _sample(self, index: Any) -> Any:
        one = copy.copy(self._torchs)
        one.collate_fn = operator.itemgetter(0) if one.auto_collation else _same
        tried = index
        while tried is not LEFT_OUT:
            start = capture(PROCESS)
            try:
                with limited(self._policy.sample_timeout):
                    return one.fetch([tried] if one.auto_collation else tried)
            except Exception as error:
                if self._policy.raises or not counts(error):
                    raise
                put(start)
                self._note(Failure.of(tried, error))
                if callable(self._policy.action):
                    return self._policy.action(index, error)
            tried = self._policy.instead(tried, {*self._quarantined, *self._failed}, lambda: len(one.dataset))
        return LEFT_OUT

    def _note(self, failure: Failure) -> None:
        self._failures.append(failure)
        self._failed[failure.index] = failure
        if self._policy.budget is not None and len(self._failed) > self._policy.budget:
            raise _over(list(self._failed.values()), self._policy.budget)


class Losses:
    """The bad samples of one loader, over all of its epochs, in the process that takes the batches.

    kinds  how many there are, a class of errors each, and "quarantined"
    """

    def __init__(self, policy: OnError, loader: Any) -> None:
        self.policy, self.kinds = policy, Counter[str]()
        dataset = loader.dataset
        self._of = {"dataset": type(dataset).__qualname__, "samples": len(dataset) if _sized(dataset) else None}
        self._ranks = getattr(getattr(loader.batch_sampler, "sampler", loader.sampler), "num_replicas", 1)
        self._equal_steps = loader.equal_steps is not None
        self._found: dict[Any, Failure] = {}
        self._noted: list[Failure] = []
        # Where it is when the first epoch begins, wherever the process goes then.
        self._path = None
        if policy.quarantine is not None and not policy.raises:
            self._path = os.path.abspath(policy.quarantine)
        self._quarantined = frozenset(self._read())
        if self._quarantined:
            self.kinds["quarantined"] = len(self._quarantined)
            count, kind = len(self._quarantined), self._of["dataset"]
            _told.warn(f"goloader: bad samples listed in {self._path} are not tried: {count} of {kind}")

    def worker(self) -> Callable[[Any, Any], Tolerant]:
        """Makes a Tolerant of its `inner` and `torchs` in a worker process, whose failures are noted here."""
        return partial(Tolerant, self.policy, self._quarantined, [])

    def tolerant(self, inner: Any, torchs: Any) -> Tolerant:
        """One in this process."""
        return Tolerant(self.policy, self._quarantined, self._noted, inner, torchs)

    def known(self, dataset: Any, *, batched: bool) -> Known | None:
        """For an epoch that begins now; None if no index is to be changed."""
        bad = frozenset((*self._quarantined, *self._found))
        return Known(self.policy, bad, dataset, batched) if bad and not callable(self.policy.action) else None

    def instead(self, failure: Failure, dataset: Any) -> Any:
        """Notes a failure; the index to be loaded in its place, or LEFT_OUT. Raises BadSamplesError."""
        self.note((failure,))
        self._settle()
        return self.policy.instead(failure.index, {*self._quarantined, *self._found}, lambda: len(dataset))

    def note(self, failures: tuple[Failure, ...]) -> None:
        """Keeps failures until leaves_out is asked."""
        self._noted += failures

    def leaves_out(self, batch: Any) -> bool:
        """True for what stands in place of a batch. Says and writes what has failed until then.

        Raises BadSamplesError over the budget, and, without equal_steps, where other ranks would have a step more.
        """
        self._settle()
        if batch is not LEFT_OUT:
            return False
        if not self._equal_steps and max(self._ranks, _world()) > 1:
            raise BadSamplesError(
                "all samples of a batch are bad, and without it this rank has fewer steps than the others: "
                'on_error="replace" or equal_steps gives each rank as many'
            )
        return True

    def _settle(self) -> None:
        noted = self._noted[:]
        self._noted.clear()
        for failure in noted:
            if failure.index in self._found or failure.index in self._quarantined:
                continue
            self._found[failure.index] = failure
            self.kinds[failure.kind] += 1
            self._write(failure)
            if len(self._found) == 1:
                what = {"skip": "left out", "replace": "replaced"}.get(str(self.policy.action), "handed to on_error")
                _told.warn(f"goloader: a sample failed and is {what}; stats() counts later ones: {failure}")
        if self.policy.budget is not None and len(self._found) > self.policy.budget:
            raise _over(list(self._found.values()), self.policy.budget)

    def _read(self) -> set[Any]:
        """The indices that the file lists of this dataset. Raises ValueError for a line that is not of such a file."""
        if self._path is None or not os.path.exists(self._path):
            return set()
        listed = set()
        with open(self._path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    entry = json.loads(line)
                    index, of = entry["index"], {name: entry[name] for name in self._of}
                except (ValueError, TypeError, KeyError):
                    raise ValueError(f"{self._path}:{number} is not a line of a quarantine file") from None
                if of == self._of:
                    listed.add(index)
        return listed

    def _write(self, failure: Failure) -> None:
        if self._path is None:
            return
        entry = {
            "index": failure.index,
            "name": failure.name,
            "error": f"{failure.kind}: {failure.error}",
            "first_seen": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        } | self._of
        # Several ranks may write to one file: a line that is appended in one call stays whole.
        fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            os.write(fd, (json.dumps(entry) + "\n").encode())
        finally:
            os.close(fd)


class Known:
    """The samples that are known to be bad as an epoch begins: they are not tried.

    batched  the sampler gives several indices at a time
    """

    def __init__(self, policy: OnError, bad: frozenset[Any], dataset: Any, batched: bool) -> None:
        self._policy, self._bad, self._dataset, self._batched = policy, bad, dataset, batched

    def spared(self, given: Any) -> Any:
        """What is to be loaded in place of what a sampler gave; None if that has no sample known to be bad."""
        if not self._batched:
            return self._instead(given) if self._is_bad(given) else None
        if not isinstance(given, list | tuple | set) or not any(map(self._is_bad, given)):
            return None
        made = (self._instead(index) if self._is_bad(index) else index for index in given)
        return [index for index in made if index is not LEFT_OUT]

    def _is_bad(self, index: Any) -> bool:
        return isinstance(index, int | str | np.integer) and index in self._bad

    def _instead(self, index: Any) -> Any:
        return self._policy.instead(index, self._bad, lambda: len(self._dataset))


def _over(failures: list[Failure], budget: int) -> BadSamplesError:
    first = "\n".join(f"  {failure}" for failure in itertools.islice(failures, _LISTED))
    return BadSamplesError(
        f"{len(failures)} bad samples are more than the budget of {budget}; the first ones:\n{first}"
    )


def _same(value: Any) -> Any:
    return value


def _sized(dataset: Any) -> bool:
    try:
        len(dataset)
    except (TypeError, NotImplementedError):
        return False
    return True


def _world() -> int:
    """How many ranks there are."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_world_size()
    return int(os.environ.get("WORLD_SIZE") or 1)
