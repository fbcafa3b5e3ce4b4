"""The iterators of door 1: batches from the core, in torch's order, with torch's random numbers and errors."""

from __future__ import annotations

import contextlib
import itertools
import math
import random
import time
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import _utils

from ... import _native, _told
from ..._core import Core, Rejected, Run, Skipped
from ..._errors import BadSamplesError, StackError, StateError, UnmadeError
from ...adapters.torch import ExceptionWrapper, exp
from ...on_error import LEFT_OUT, Failure, counts, limited
from ...plan import Plan, Refusal
from ...plan.collates.called import Called
from ...plan.collates.collation import as_sent
from ...plan.datasets import Arrays, Images, Scripts, fails_ahead
from ...plan.samplers import Foreign, is_index
from ...state import book
from ...state.generators import PROCESS, Processes, Twins, untouched, words_of
from ...state.iterator import ResumableIterator
from ...state.order import Mark
from ...state.seeded import SeededFetcher, key, keys
from .. import choice, lent
from ..worker.collate import as_in_a_worker
from . import init_fn, later, trial
from .ahead import Ahead, Pixels, pixels
from .directory import Directory
from .finishing import Finisher
from .settings import Settings

if TYPE_CHECKING:
    from ..._loader import DataLoader
    from ...state.ledger import Record
    from .init_fn import Seeded


# A dataset that has changed so often in an epoch, as one that grows, goes on with torch: to lower it takes long.
_ADAPTED_MAX = 3


# What the core says of a size without pixels, in Pillow's words.
_NO_PIXELS = "height and width must be > 0"


class _Task(NamedTuple):
    """A batch under way.

    rows      of the source that the core was given
    indices   as the sampler gave them
    ours      they were made for torch's own sampler: an array where torch has a list
    batched   they are several
    complete  the core got all of them; not so if one is not an index of the dataset.  torch's workers then load, and
              draw for, the samples before it and fail; so do we
    lent      page-locked memory for it
    mark      the place in the order behind it
    ahead     what Python has made of its samples
    """

    rows: NDArray[np.int64]
    indices: Any
    ours: bool
    batched: bool
    complete: bool
    lent: torch.Tensor | None
    mark: Mark
    ahead: dict[int, list[Any]]

    @property
    def asked(self) -> Any:
        """What torch's loader would ask the dataset for."""
        return self.indices.tolist() if self.ours and isinstance(self.indices, np.ndarray) else self.indices

    @property
    def given(self) -> list[Any]:
        """The indices of a batch, as the dataset would be asked for each."""
        return list(self.asked) if self.batched else [self.asked]

    def at(self, position: int) -> Any:
        # A batch may be a set or a dict as well as a list.
        return next(itertools.islice(self.asked, position, None)) if self.batched else self.asked


class _Lost(Exception):
    """A batch is lost to an error that torch's users would see.

    position  in the batch, of the sample that failed, if the core has said
    name      of its file
    asked     the dataset raised it, or default_collate: which sample failed can be found out
    """

    def __init__(
        self, error: Exception, position: int | None = None, name: str | None = None, *, asked: bool = False
    ) -> None:
        super().__init__(error)
        self.error, self.position, self.name, self.asked = error, position, name, asked


class _Again(Exception):
    """A batch is left to the dataset's own code, and later ones begin anew behind it."""


# A sample that is not there.
_NO_ROW = np.array([-1], np.int64)


def late(timeout: float) -> RuntimeError:
    """torch's error for a batch that does not come in time, which the next next() waits for again."""
    return RuntimeError(f"DataLoader timed out after {timeout} seconds")


class CoreIterator(ResumableIterator):
    """An iterator over batches from the core: of samples that have indices, or of a stream."""

    _run: Run | None = None

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if self._num_workers == 0:
            if self._timeout != 0:
                raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
            return
        assert loader.prefetch_factor is not None
        self._prefetch_factor: int = loader.prefetch_factor
        # Who looks for torch's processes here finds that there are none.
        self._workers: list[Any] = []

    def _doing(self) -> str:
        return "" if self._run is None else self._run.doing()

    def _pin(self, batch: Any) -> Any:
        # What is page-locked already stays where it is.
        return _utils.pin_memory.pin_memory(batch, self._pin_memory_device) if self._pin_memory else batch


def raise_from_worker(error: Exception, number: int) -> None:
    """Raises an error as torch does that one of its worker processes has sent."""
    where = f"in DataLoader worker process {number}"
    ExceptionWrapper((type(error), error, error.__traceback__), where).reraise()


class _NativeIterator(CoreIterator):
    """One of samples that have indices. torch's base class makes its draws, so they are torch's own."""

    _arrays = True
    # Where relative paths begin while Python loads something; where the process is.
    _directory: AbstractContextManager[None] = contextlib.nullcontext()

    def __init__(self, loader: DataLoader[Any], core: Core | None) -> None:
        if core is not None:
            _check_streams(book.of(loader).resumed, loader, core.plan)
        super().__init__(loader)
        if core is not None:
            self._use(core)
        self._fetcher: Any = (SeededFetcher if self._rng == "sample" else _utils.fetch._MapDatasetFetcher)(
            self._dataset, self._auto_collation, self._collate_fn, self._drop_last
        )

    def _use(self, core: Core) -> None:
        self._plan = core.plan
        assert core.plan.samples is not None  # make() gives them
        self._samples = core.plan.samples
        self._dtypes: list[torch.dtype] = [getattr(torch, name) for name in core.plan.dtypes]

    def _next_index(self) -> NDArray[np.int64] | Foreign:
        batch: NDArray[np.int64] | Foreign = next(self._sampler_iter)
        if not isinstance(batch, Foreign) or batch.same is None or self._run is None:
            return batch
        ints = batch.ints if self._samples.any_integer else None
        return batch if ints is None else ints

    def _task(self, batch: NDArray[np.int64] | Foreign) -> _Task:
        mark = self._sampler_iter.mark()
        rows, indices, complete = self._rows(batch)
        ours = isinstance(batch, np.ndarray)
        ahead: dict[int, list[Any]] = {}
        if complete:
            try:
                ahead = self._made_ahead(rows)
            except Exception:  # the dataset's own code makes the batch, or raises this again
                complete = False
                rows = rows[:0] if isinstance(self._samples, Arrays) else rows
        lent = self._pinned(len(rows)) if self._pin_memory else None
        return _Task(rows, indices, ours, self._auto_collation, complete, lent, mark, ahead)

    def _made_ahead(self, rows: NDArray[np.int64]) -> dict[int, list[Any]]:
        """What Python makes of samples before the core makes them; raises what the user's code raises."""
        return self._samples.ahead(rows, alone=False)

    def _submit(self, run: Run, task: _Task) -> None:
        """Raises IndexError, as of a Subset that lists a sample which is not there."""
        rows = task.rows
        keyed = self._plan.random and self._rng == "sample" and rows is not _NO_ROW
        seeds = self._seeds(task) if keyed else None
        run.submit(rows, task.lent, seeds)

    def _seeds(self, task: _Task) -> NDArray[np.uint64]:
        """A seed for each sample of a batch that the core is given."""
        seed, epoch = self._ledger.rng, self._ledger.epoch
        assert seed is not None
        if task.ours and isinstance(task.indices, np.ndarray):
            return keys(seed, epoch, task.indices)
        first = itertools.islice(task.indices if self._auto_collation else [task.indices], len(task.rows))
        return np.array([key(seed, epoch, index) for index in first], np.uint64)

    def _rows(self, batch: NDArray[np.int64] | Foreign) -> tuple[NDArray[np.int64], Any, bool]:
        """The source's rows of a batch as far as it has indices of the dataset, the batch, and if that is all."""
        if not isinstance(batch, Foreign):
            try:
                return self._samples.resolve(batch if batch.ndim else batch.reshape(-1)), batch, True
            except IndexError:
                batch = Foreign(batch.tolist())
        if batch.value is LEFT_OUT:
            return np.empty(0, np.int64), batch.value, True
        indices = batch.value if self._auto_collation else [batch.value]
        if isinstance(indices, Iterator):
            indices = list(indices)
        if isinstance(self._samples, Arrays):
            # Nothing is drawn for a sample, and the dataset may know more kinds of indices than ints.
            return np.empty(0, np.int64), indices if self._auto_collation else indices[0], False
        rows: list[int] = []
        complete = False
        # Not iterable, not an integer, out of range: where it ends, the dataset has the error to raise.
        takes = self._samples.takes
        with contextlib.suppress(TypeError, IndexError, OverflowError):
            known = all(map(is_index, indices)) if takes is None else {*map(type, indices)} <= takes
            if known and not fails_ahead(self._dataset, indices):
                for index in indices:
                    rows.append(self._samples.place(index))
                complete = True
        return np.array(rows, np.int64), indices if self._auto_collation else indices[0], complete

    def _pinned(self, count: int) -> torch.Tensor | None:
        """Page-locked memory for a batch."""
        if self._plan.shapes is None or count == 0 or self._plan.after is not None:
            return None
        fields = zip(self._dtypes, self._plan.shapes, strict=True)
        return lent.room(count * math.prod(shape) * dtype.itemsize for dtype, shape in fields)

    def _receive(self, run: Run, task: _Task) -> Any:
        """The batch of a task, collated as torch does. Raises _Lost, and RuntimeError if time is up."""
        try:
            deadline = time.monotonic() + self._timeout if self._timeout else None
            fields = run.receive(_Helper(self, task, deadline), self._timeout)
        except Skipped as skipped:
            if skipped.error is not None:  # on_error has had its say already
                raise _Lost(skipped.error) from None
            return self._pin(skipped.batch)
        except Rejected as rejected:
            assert isinstance(self._samples, Images)
            name = self._samples.name(rejected.row)
            _told.note(rejected.error, f"sample {task.at(rejected.position)}, {name}")
            raise _Lost(rejected.error, rejected.position, name) from None
        except StackError as error:
            raise _Lost(RuntimeError(*error.args).with_traceback(error.__traceback__)) from None
        except UnmadeError:
            fields = []
        except OSError as error:  # a file of arrays
            raise _Lost(error) from None
        if fields is None:
            raise late(self._timeout)
        if self._losses is not None and task.complete and not len(task.rows):
            return LEFT_OUT
        if not fields or not task.complete:
            return self._fetch(task)
        tensors = lent.tensors(fields, self._dtypes, task.lent)
        if not self._auto_collation and isinstance(self._samples, Images):
            images, labels = tensors
            return self._pin([self._samples.alone(int(task.rows[0]), images[0]), int(labels[0])])
        try:
            batch = self._made(run, tensors, task)
        except Exception as error:  # of a collate_fn of the user's own, or of what is made late
            if not self._samples.makes_late:
                raise _Lost(error) from None
            return self._left_to_code(task, error)
        return self._pinned_batch(batch) if self._pin_memory else batch

    def _left_to_code(self, task: _Task, error: Exception) -> Any:
        """The batch of a task that raised an error once all its samples were drawn for: the dataset's own code comes to
        it where torch's does. Raises _Lost, and _Again."""
        raise NotImplementedError

    def _made(self, run: Run, tensors: list[Any], task: _Task) -> Any:
        """The batch of a task, of the core's tensors and what Python puts together."""
        given = self._plan.columns(tensors), task.rows, lambda: task.given, task.ahead
        return self._plan.put(self._samples.put_together(*given))

    def _pinned_batch(self, batch: Any) -> Any:
        return self._pin(batch)

    @property
    def _sample_timeout(self) -> float | None:
        return None if self._losses is None else self._losses.policy.sample_timeout

    @property
    def _generators(self) -> tuple[str, ...]:
        """Those of a process that samples are drawn for by."""
        return PROCESS if self._plan.script is not None else PROCESS[:1]

    @property
    def _objects(self) -> tuple[random.Random, ...]:
        """Those of the user's own objects that samples are drawn for by."""
        return () if self._plan.script is None else self._plan.script.objects

    def _decoded(self, row: int, deadline: float | None) -> Pixels | None:
        """What Pillow makes of a file in another thread, if it is done there. Raises LateError."""
        return None

    def _made_by_code(self, task: _Task, states: Processes) -> tuple[Any, Exception | None]:
        """What the dataset's own code makes of a batch whose generators stand in these states, or its error; the states
        become those that it leaves."""
        try:
            with self._directory:
                return self._ask_dataset(task.asked), None
        except Exception as error:
            return None, error
        finally:
            states.capture()

    def _fetch(self, task: _Task) -> Any:
        """Lets the dataset answer for a batch with something that is not its index: it knows the error to raise."""
        try:
            if self._num_workers and not self._samples.unchanged(self._dataset):
                # torch's workers would ask the dataset that they were begun with; without workers it is asked as it is.
                raise self._samples.missing(task.given) or self._outdated()
            with self._directory, untouched(self._generators, objects=self._objects):
                batch = self._ask_dataset(task.asked)
        except Exception as error:
            raise _Lost(error, asked=True) from None
        return self._pin(batch)

    def _outdated(self) -> RuntimeError:
        why = "a sample of this batch is left to its code, and it was changed since the workers began"
        return RuntimeError(f"goloader: {type(self._dataset).__qualname__}: {why}")

    def _spared(self, task: _Task, lost: _Lost) -> _Task | None:
        """A batch that is lost, without the sample that failed or with another one in its place; None if on_error says
        nothing of the error, or fails."""
        if self._losses is None or self._losses.policy.raises:
            return None
        found = (self._found(task) or lost) if lost.asked else lost
        position = found.position
        if position is None or not counts(found.error):
            return None
        failure = Failure.of(task.at(position), found.error, found.name)
        try:
            left = self._losses.instead(failure, self._dataset)
        except Exception as error:
            lost.error = error
            return None
        if task.batched:
            given = task.given
            given[position : position + 1] = [] if left is LEFT_OUT else [left]
            left = given
        batch = np.array(left, np.int64) if task.ours and left is not LEFT_OUT else Foreign(left)
        return self._task(batch)._replace(mark=task.mark)

    def _found(self, task: _Task) -> _Lost | None:
        """The first error that the dataset raises for a sample of a batch, each asked for alone."""
        for position in range(len(task.given)):
            error = _Helper(self, task, None).error_of(position)
            if error is not None:
                return _Lost(error, position)
        return None

    def _ask_dataset(self, indices: Any) -> Any:
        if self._rng == "sample":
            self._fetcher.begin(self._ledger.rng, self._ledger.epoch)
        return self._fetcher.fetch(indices)


class InlineIterator(_NativeIterator):
    """num_workers=0: a batch is drawn from the process's own generator and made inside next(), by all cores at once.

    Without a core torch's way makes batches, until it pays to look for one.
    """

    _epoch: later.Epoch | None = None
    _timing: later.Later | None = None

    def __init__(self, loader: DataLoader[Any], core: Core | None, waiting: later.Later | None = None) -> None:
        """`waiting`: what is known of a loader that Go is not asked for yet."""
        self._arrays = core is not None
        super().__init__(loader, core)
        self._loader = loader
        self._twins = Twins()
        self._skipped = False
        self._adapted = 0
        if self._losses is not None:
            self._fetcher = self._losses.tolerant(self._fetcher, self._fetcher)
        if core is not None:
            self._run = self._start(core)
            self._timing = later.timing(loader)
        elif waiting is not None and not waiting.slower:
            self._epoch = later.Epoch(waiting, loader)

    def _start(self, core: Core) -> Run:
        self._core = core
        self._draws = core.plan.random and self._rng != "sample"
        self._words = np.zeros(len(self._generators) + len(self._objects), np.int64)
        return core.start(workers=0, streams=1, sample_timeout=self._sample_timeout)

    def _next_data(self) -> Any:
        if trial.running:
            trial.hear()
        if self._epoch is not None and self._epoch.over():
            self._look(self._epoch)
        if self._epoch is not None:
            batch = next(self._sampler_iter)
            return self._epoch.made(lambda: self._as_torch(batch))
        if self._timing is not None:
            return self._timed(self._timing)
        return self._next_batch()

    def _next_batch(self) -> Any:
        batch = self._next_index()
        if not _native.available():  # in a forked child: the generator stands where torch would go on from
            self._run = None
        if self._run is not None and not self._still_fits(batch):
            self._adapt(self._run)
        if self._run is None:
            return self._as_torch(_plain(batch) if self._arrays else batch)
        task = self._task(batch)
        if not task.complete or not len(task.rows):
            return self._as_torch(task.asked)
        try:
            state = self._ask(self._run, task)
        except IndexError:
            pass  # the dataset has an error of its own to raise, and no other belongs to it
        else:
            return self._make(self._run, task, state)
        return self._as_torch(task.asked)

    def _timed(self, timing: later.Later) -> Any:
        """_next_batch, and the end of Go's batches where torch's way has them sooner."""
        made = timing.timed(self._next_batch, lambda: self._samples.made_now)
        self._timing = later.timing(self._loader)
        if timing.slower and self._run is not None:
            self._run.close()
            self._run = None
        return made

    def _look(self, epoch: later.Epoch) -> None:
        """Has the core make the other batches, or what can be recorded of them."""
        self._epoch = None
        if not self._is_loaders():
            return
        if self._asks_core():
            self._sampler_iter.give_arrays()
            self._arrays = True
            self._timing = later.timing(self._loader)
        else:
            choice.made(self._loader, epoch.batches, epoch.spent_s, epoch.clock_s)
            self._fetcher = choice.recording(self._loader, self._fetcher, self._pin_memory)

    def batch(self, indices: NDArray[np.int64]) -> Any:
        """The core's batch of some indices, beside the order."""
        assert self._run is not None  # it was not closed
        task = self._task(indices)
        return self._make(self._run, task, self._ask(self._run, task))

    def _ask(self, run: Run, task: _Task, states: Processes | None = None) -> Processes | None:
        """Asks for a batch; where its draws begin, if there are any: at `states`, or where the process's generators
        are.

        Raises IndexError.
        """
        if states is None and self._draws:
            states = Processes(self._generators, objects=self._objects)
        if states is not None:
            run.set_states(0, states)
        self._submit(run, task)
        return states

    def _made_by_code(self, task: _Task, states: Processes) -> tuple[Any, Exception | None]:
        self._skipped = True
        return super()._made_by_code(task, states)  # the process's generators stand where the batch begins

    def _left_to_code(self, task: _Task, error: Exception) -> Any:
        made, raised = self._made_by_code(task, Processes.empty(self._objects))
        if raised is not None:
            raise _Lost(raised) from None
        return self._pin(made)

    def _make(self, run: Run, task: _Task, state: Processes | None) -> Any:
        """The batch that was asked for.

        As many words as it drew are then taken from the process's generators. If another thread has drawn since, they
        are not the same, and the batch is made again with those.
        """
        taken: Any = 0
        self._skipped = False
        while True:
            made, lost = self._result(run, task)
            spared = None if lost is None else self._spared(task, lost)
            if spared is not None:
                task = spared
                try:
                    self._ask(run, task, state)
                except IndexError:
                    return self._as_torch(task.asked)
                continue
            if state is None or self._skipped:
                break
            run.position(self._words)
            words = words_of(self._words)
            more = words > taken
            follow = self._twins.take(state, np.where(more, words, 0)) if more.any() else state
            if follow is state:
                self._twins.settle(state, self._words)
                break
            state, taken = follow, np.maximum(taken, words)
            self._ask(run, task, state)
        if lost is None:
            if self._plan.after is None or self._skipped:  # the dataset's code was given to the whole collate_fn
                return made
            begun = time.perf_counter()
            made = self._plan.after(made, len(task.rows))
            self._clock.did("collate", time.perf_counter() - begun)
            return self._pin(made)
        # Raised here, it is told with the errors that led to it where it comes from, and no others.
        try:
            raise lost.error
        finally:
            del lost  # its traceback has this frame

    def _pinned_batch(self, batch: Any) -> Any:
        # Python goes on with it when what its samples have drawn is taken from the process's generators.
        return self._pin(batch) if self._plan.after is None else batch

    def _result(self, run: Run, task: _Task) -> tuple[Any, _Lost | None]:
        """The batch that was asked for, or what it was lost to."""
        try:
            return self._receive(run, task), None
        except _Lost as lost:
            return None, lost
        except BaseException as error:
            _told.note(error, run.doing())
            run.reset()  # an interrupted wait leaves its batch behind
            raise

    def _still_fits(self, batch: NDArray[np.int64] | Foreign) -> bool:
        """False if the user changed the dataset since, which torch's loader sees at once without workers; or if a trial
        has found a difference."""
        if trial.refused(self._loader, self._plan) is not None:
            return False
        indices = batch.reshape(-1) if isinstance(batch, np.ndarray) else np.zeros(0, np.int64)
        collation = self._plan.collation
        return self._samples.unchanged(self._dataset, indices) and (collation is None or collation.unchanged())

    def _adapt(self, run: Run) -> None:
        """Goes on with the dataset as it is now."""
        run.close()
        self._run = None
        self._adapted += 1
        if self._adapted > _ADAPTED_MAX or not self._is_loaders():
            return
        self._asks_core()

    def _asks_core(self) -> bool:
        """Has the core make batches from now on, if there is a plan of the loader as it is now."""
        decision = choice.decide(self._loader)
        if not isinstance(decision, Plan):
            return False
        core = choice.core(self._loader, decision, InlineIterator)
        if core is None:
            return False
        self._use(core)
        self._run = self._start(core)
        return True

    def _is_loaders(self) -> bool:
        """False if the user has changed the loader since the epoch began, which goes on with what it was begun with."""
        return self._loader.dataset is self._dataset and self._loader.collate_fn is self._collate_fn

    def _as_torch(self, indices: Any) -> Any:
        """What torch's iterator does."""
        return self._pin(self._ask_dataset(indices))


def _plain(batch: NDArray[np.int64] | Foreign) -> Any:
    """A batch of indices as torch's samplers give it."""
    return batch.tolist() if isinstance(batch, np.ndarray) else batch.value


class PrefetchingIterator(_NativeIterator):
    """num_workers>0: batches are made ahead; batch k draws from stream k mod num_workers, as torch's workers do."""

    def __init__(self, loader: DataLoader[Any], core: Core, seeded: Seeded | None = None) -> None:
        super().__init__(loader, core)
        if seeded is not None and seeded.base_seed != self._base_seed:
            # iter() of the sampler has drawn from the generator first.
            again = init_fn.run(loader, core.plan, int(self._base_seed))
            if isinstance(again, Refusal):
                raise RuntimeError(f"{again}, but with the base seed {seeded.base_seed} it did not")
            seeded = again
        if core.plan.script is not None and self._losses is not None:
            # Its code draws: only as it makes a batch can it be told what a sample in error has drawn.
            self._fetcher = self._losses.tolerant(self._fetcher, self._fetcher)
        self._samples.hold()
        self._directory: Directory = Directory()
        # Whether Python makes something of each batch, as torch's workers do.
        own = core.plan.collation is not None and (not core.plan.collation.plain or core.plan.after is not None)
        self._own, self._settings = own or self._samples.by_python, Settings()
        self._made_ahead(_NO_ROW[:0])  # the sampler, which is asked next, may change the dataset
        # In one thread, as a worker: of small arrays, others would do little but wait for each other. Images are large.
        called = isinstance(core.plan.collation, Called) and core.plan.kind == "array"
        self._alone = core.plan.after is not None or called
        # The states that worker_init_fn left.
        self._seeded = {} if seeded is None else dict(enumerate(seeded.states))
        self._finisher: Finisher | None = None
        if core.plan.after is not None:
            scripted = 0 if core.plan.script is None else len(self._generators) + len(self._objects)
            self._finisher = Finisher(
                core.plan.after, int(self._base_seed), self._num_workers, self._dataset, draws=self._core_draws,
                scripted=scripted,
            )  # fmt: skip
        self._stream_seeds = None if seeded is None else seeded.seeds
        # As torch's workers have them, which are forked now.
        self._own_states = Processes((), objects=self._objects)
        self._core = core
        self._run = self._start()
        if seeded is not None and core.plan.script is None:
            drawn = np.zeros((self._num_workers, self._positions // self._num_workers), np.int64)
            drawn[:, 0] = seeded.drawn
            self._run.resume(0, drawn.reshape(-1))
        self._tasks: deque[_Task] = deque()
        # The first task is not the one that was submitted.
        self._behind = False
        samples = self._samples
        self._ahead = Ahead(samples, self._num_workers) if isinstance(samples, Images | Scripts) else None
        self._received = 0
        self._reset(loader, first_iter=True)

    @property
    def _core_draws(self) -> bool:
        """Whether samples draw from their worker's generator."""
        return self._plan.random and self._rng != "sample"

    def _start(self) -> Run:
        with self._directory:
            run = self._core.start(
                workers=self._num_workers,
                streams=self._num_workers,
                base_seed=int(self._base_seed),
                seeds=self._stream_seeds,
                hold_directory=True,
                sample_timeout=self._sample_timeout,
            )
        if self._plan.script is not None:
            for number in range(self._num_workers):
                seed = None if self._stream_seeds is None else int(self._stream_seeds[number])
                begun = Processes.of_worker(int(self._base_seed), number, seed)
                if number in self._seeded:
                    begun = Processes.of(self._seeded[number])
                run.set_states(number, begun.with_objects(self._own_states))
        return run

    @property
    def _keeps_states(self) -> bool:
        """Whether streams are told by their states: where code puts generators into some, words do not say enough."""
        script = self._plan.script
        return script is not None and (script.seeds or script.followed)

    @property
    def _positions(self) -> int:
        """How many numbers say where the streams stand."""
        each = Processes.WORDS if self._keeps_states else 1
        return self._num_workers * (len(self._generators) + len(self._objects)) * each

    def _made_by_code(self, task: _Task, states: Processes) -> tuple[Any, Exception | None]:
        if not self._samples.unchanged(self._dataset):  # a worker of torch's would ask the one that it was begun with
            return None, self._outdated()
        worker = self._received % self._num_workers
        inside: AbstractContextManager[None] = contextlib.nullcontext()
        if self._finisher is not None and not self._finisher.scripted:
            # Samples draw from generators of their own: these are the collate_fn's.
            assert self._run is not None  # it asks
            with self._finisher.working(self._run, worker):
                return super()._made_by_code(task, states)
        if self._finisher is not None:
            inside = self._finisher.as_worker(worker)
        with untouched(objects=self._objects), inside:
            states.put()
            return super()._made_by_code(task, states)

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        resumed = self._resumed
        if self._run is None:
            raise RuntimeError("this iterator was closed")
        # What is under way draws from its streams to the end, as in torch's persistent workers. Its user's state stays.
        if self._tasks:
            streams = self._ledger.streams
            told = self._ledger.generators
            self._ledger = replace(
                self._ledger,
                streams=None if streams is None else streams.copy(),
                generators=None if told is None else told.copy(),
            )
        while self._tasks:
            self._next_result(self._run)  # nobody wants it any more
            self._handed_out()
        super()._reset(loader, first_iter)
        self._run.reset()
        if self._ahead is not None:
            self._ahead.clear()
        if self._core_draws:
            self._ledger.streams, self._ledger.seeds = np.zeros(self._positions, np.int64), self._stream_seeds
        self._received = 0
        if resumed is not None:
            streams = resumed.streams if self._ledger.streams is not None else None
            if streams is None:
                streams = np.zeros(self._positions, np.int64)
            elif len(streams) != self._positions:
                raise StateError("the state is of an epoch whose samples, or whose collate_fn, draw otherwise")
            self._received = 0 if resumed.order is None else int(resumed.order["batches"])
            self._run.resume(self._received, streams)
        if self._finisher is not None:
            self._ledger.generators = self._finisher.states
            if first_iter:
                known = {} if resumed is None or resumed.generators is None else resumed.generators
                self._finisher.start(self._run, {**self._seeded, **known})
        if resumed is not None and resumed.finished:
            return  # the next epoch begins with another _reset
        self._mark(self._sampler_iter.mark())
        for _ in range(self._prefetch_factor * self._num_workers):
            self._try_put_index()

    def _try_put_index(self) -> None:
        try:
            batch = self._next_index()
        except StopIteration:
            return
        assert self._run is not None
        self._tasks.append(self._put(self._run, self._task(batch)))

    def _left_to_code(self, task: _Task, error: Exception) -> Any:
        streams = self._ledger.streams
        # Nobody can begin again behind what code has drawn.
        if not self._keeps_states and streams is not None and (streams < 0).any():
            raise _Lost(error) from None
        raise _Again

    def _made_ahead(self, rows: NDArray[np.int64]) -> dict[int, list[Any]]:
        if not self._samples.makes_ahead:
            return {}
        with self._settings.inside(alone=isinstance(self._samples, Arrays)):
            return self._samples.ahead(rows, alone=True)

    def _put(self, run: Run, task: _Task) -> _Task:
        if self._plan.script is not None and not task.complete:  # its code draws until it comes to the error
            task = task._replace(rows=_NO_ROW, complete=True, lent=None)
        try:
            self._submit(run, task)
        except IndexError:
            task = task._replace(complete=False, lent=None)
            run.submit(task.rows[:0])
        return task

    def _go_back(self) -> Run:
        """Begins again with the first task: what it draws decides where later ones begin to draw."""
        assert self._run is not None
        if self._ahead is not None:
            self._ahead.clear()
        self._run.close()
        self._run = run = self._start()
        streams = self._ledger.streams
        run.resume(self._received, np.zeros(self._positions, np.int64) if streams is None else streams)
        if self._finisher is not None:
            self._finisher.start(run, self._finisher.states)
        # A read that has not come back may still write into the memory that was lent.
        again = [
            task._replace(lent=None if task.lent is None else self._pinned(len(task.rows))) for task in self._tasks
        ]
        self._tasks = deque([self._put(run, task) for task in again])
        self._behind = False
        return run

    def _next_result(self, run: Run) -> tuple[Any, Exception | None]:
        """The batch of the first task, without what on_error leaves out, or what it was lost to."""
        while True:
            if self._behind:  # Ctrl-C may have come while it went back
                run = self._go_back()
            try:
                return self._receive(run, self._tasks[0]), None
            except _Again:
                self._tasks[0], self._behind = self._tasks[0]._replace(complete=False), True
            except _Lost as lost:
                spared = self._spared(self._tasks[0], lost)
                if spared is None:
                    return None, lost.error
                self._tasks[0], self._behind = spared, True

    def _next_data(self) -> Any:
        if trial.running:
            trial.hear()
        if not self._tasks or self._run is None:
            if not self._persistent_workers:
                self._shutdown_workers()
            raise StopIteration
        worker = self._received % self._num_workers
        try:
            batch, error = self._next_result(self._run)
        except BaseException:
            if not self._behind and self._run.taken > self._received:  # Ctrl-C came with the batch
                self._advance()
            raise
        if error is not None:
            self._advance()
            if isinstance(error, BadSamplesError):
                raise error
            raise_from_worker(error, worker)
        self._advance()
        return batch

    def _decoded(self, row: int, deadline: float | None) -> Pixels | None:
        assert self._run is not None  # it asks
        if self._ahead is None:
            return None
        try:
            return self._ahead.take(self._run, row, deadline, self._directory.is_here())
        except TimeoutError:  # its threads may all wait for what does not come
            self._ahead.close()
            self._ahead = Ahead(self._ahead.samples, self._num_workers)
            raise

    def _mark(self, mark: Mark) -> None:
        """Writes down how far this epoch is for its user."""
        self._ledger.mark = mark
        in_core = self._finisher is None or self._finisher.scripted
        if self._ledger.streams is not None and self._run is not None and in_core:
            self._run.position(self._ledger.streams)

    def _made(self, run: Run, tensors: list[Any], task: _Task) -> Any:
        if not self._own:
            return super()._made(run, tensors, task)
        with self._settings.inside(alone=self._alone):
            batch = super()._made(run, tensors, task)
            if self._finisher is not None:
                begun = time.perf_counter()
                batch = self._finisher.batch(run, self._received % self._num_workers, batch, len(task.rows))
                self._clock.did("collate", time.perf_counter() - begun)
            return batch

    def _ask_dataset(self, indices: Any) -> Any:
        collation = self._plan.collation
        with self._settings.inside(alone=True), as_in_a_worker():
            batch = super()._ask_dataset(indices)
        return as_sent(batch, collation.classes if isinstance(collation, Called) else ())

    def _handed_out(self) -> None:
        """The batch of the first task is handed out, or lost."""
        if self._finisher is not None and self._run is not None:
            self._finisher.handed_out(self._run, self._received % self._num_workers)
        self._mark(self._tasks.popleft().mark)
        self._received += 1

    def _advance(self) -> None:
        self._handed_out()
        self._try_put_index()

    def _shutdown_workers(self) -> None:
        """torch's name for it: stops the goroutines. Batches handed out stay."""
        if self._run is not None:
            self._run.close()
        self._run = None
        if self._ahead is not None:
            self._ahead.close()
        self._tasks.clear()


def _check_streams(resumed: Record | None, loader: DataLoader[Any], plan: Plan) -> None:
    """Raises StateError if a resumed epoch would need random streams that its state does not have."""
    if resumed is not None and resumed.generators and (plan.after is None or resumed.num_workers != loader.num_workers):
        raise StateError(
            f"the state is of an epoch with num_workers={resumed.num_workers}, whose collate_fn draws from generators "
            "of each worker: it can only continue with the same collate_fn and number of workers, not with "
            f"{loader.num_workers}"
        )
    if resumed is None or not plan.random or loader.rng == "sample":
        return
    if resumed.num_workers == loader.num_workers and (resumed.streams is not None or loader.num_workers == 0):
        return
    begun = resumed.order is None or resumed.order["batches"] > 0 or resumed.streams is None or resumed.streams.any()
    if begun or resumed.seeds is not None or loader.num_workers == 0:
        raise StateError(
            f"the state is of an epoch with num_workers={resumed.num_workers}, whose transforms draw from a generator "
            f"for each worker: it can only continue with the same number, not with {loader.num_workers}. With "
            "rng='sample' draws do not depend on workers"
        )


class _Helper:
    """Answers the core's questions for one batch."""

    __slots__ = "_deadline", "_iterator", "_task"

    def __init__(self, iterator: _NativeIterator, task: _Task, deadline: float | None) -> None:
        self._iterator, self._task, self._deadline = iterator, task, deadline

    def pixels(self, row: int) -> Pixels:
        samples = self._iterator._samples
        assert isinstance(samples, Images | Scripts)
        with limited(self._iterator._sample_timeout):
            made = self._iterator._decoded(row, self._deadline)
            if made is None:
                with self._iterator._directory:
                    made = pixels(samples, row)
            return made

    @property
    def skips(self) -> _Helper | None:
        return self if self._iterator._plan.script is not None else None

    def states(self) -> Processes:
        return Processes.empty(self._iterator._objects)

    def batch(self, states: Processes) -> tuple[Any, Exception | None]:
        return self._iterator._made_by_code(self._task, states)

    def refused(self, position: int, row: int, reason: str) -> Exception:
        error = self.error_of(position)
        if error is not None:
            return error
        try:
            if reason == _NO_PIXELS:  # of a size that was drawn: with other numbers the dataset takes the sample
                raise ValueError(reason)
            at = self._task.at(position)
            raise RuntimeError(f"goloader's core refuses sample {at}, but the dataset takes it: {reason}")
        except Exception as raised:  # with a traceback, which a worker's error shows
            return raised

    def error_of(self, position: int) -> Exception | None:
        """The error that the dataset raises for a sample of the batch; None if it raises none.

        It may have drawn by then, which is not to be seen: the core has drawn for it.
        """
        asked = self._iterator
        guard = untouched(asked._generators, objects=asked._objects)
        try:
            with asked._directory, guard, limited(asked._sample_timeout):
                asked._dataset[self._task.at(position)]
        except Exception as error:
            return error
        return None

    exp = staticmethod(exp)
