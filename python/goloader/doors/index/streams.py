"""The iterators of streams: batches from the core's lanes, in the order of torch's workers over an IterableDataset."""

from __future__ import annotations

import contextlib
import io
from collections import deque
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ... import _native, _told
from ..._core import Core, Judge, Rejected, Run, StreamEnd
from ..._errors import StackError, StateError
from ..._streams import described
from ...adapters.torch import exp
from ...plan import Plan
from ...plan.pipeline import Pipeline
from ...plan.streams import handler, rest
from ...state.generators import PROCESS, Processes, Twins
from ...webdataset import EMPTY, combined, reraise_exception, warn_and_continue
from .. import lent
from .directory import Directory
from .iterators import CoreIterator, late, raise_from_worker
from .settings import Settings

if TYPE_CHECKING:
    from ..._loader import DataLoader


class _Lanes:
    """An epoch's lanes, each what one of torch's workers does; one, if there are none.

    orders  of each
    ended   those that have no more
    next    whose batch comes next
    """

    def __init__(self, run: Run, pipeline: Pipeline, count: int, workers: int, *, partial: bool) -> None:
        self.run, self._pipeline, self._count, self._partial = run, pipeline, count, partial
        self._workers = max(1, workers)
        self.orders: list[dict[str, Any]] = []
        self.ended: set[int] = set()
        self.tasks: deque[int] = deque()
        self.next = self.last = 0

    def begin(self, epoch: int, state: dict[str, Any] | None) -> None:
        """Opens the lanes, at their beginning or where state() was asked for."""
        self.ended, self.next = set(), 0
        self.tasks.clear()
        places: list[Any] = [None] * self._workers
        if state is None:
            self.orders = [self._pipeline.order(lane, self._workers, epoch) for lane in range(self._workers)]
        else:
            self.orders, places = state["orders"], state["places"]
            self.ended, self.next = set(state["ended"]), state["next"]
        shards = self._pipeline.shards()
        for lane, (order, place) in enumerate(zip(self.orders, places, strict=True)):
            self.run.open_lane(lane, order | shards, place, partial=self._partial)

    def submit(self) -> None:
        """Asks the next lane for a batch, if there is one that has some."""
        for _ in range(self._workers):
            lane, self.next = self.next, (self.next + 1) % self._workers
            if lane not in self.ended:
                self.run.submit_next(lane, self._count)
                self.tasks.append(lane)
                return

    def state(self) -> dict[str, Any]:
        """Where they stand behind the batches that were received: JSON."""
        return {
            "orders": self.orders,
            "places": [self.run.lane_state(lane) for lane in range(self._workers)],
            "ended": sorted(self.ended),
            "next": self.tasks[0] if self.tasks else self.next,
        }


class _Lost(Exception):
    """A batch is lost to an error that torch's users would see; with `ends` its lane has no more."""

    def __init__(self, error: Exception, *, ends: bool) -> None:
        super().__init__(error)
        self.error, self.ends = error, ends


class _StreamIterator(CoreIterator):
    """One of batches of lanes."""

    def __init__(self, loader: DataLoader[Any], core: Core) -> None:
        assert core.plan.stream is not None  # make() gives it
        self._plan, self._pipeline = core.plan, core.plan.stream
        self._core = core
        self._dtypes = _dtypes(core.plan)
        super().__init__(loader)

    def _lanes_of(self, run: Run, loader: DataLoader[Any]) -> _Lanes:
        count, short = loader.batch_size or 1, not loader.drop_last
        return _Lanes(run, self._pipeline, count, self._num_workers, partial=short or self._pipeline.batch > 0)

    def __del__(self) -> None:
        # The ledger outlives the iterator, but not what it reads with.
        ledger = vars(self).get("_ledger")
        if ledger is None or ledger.lanes is None or ledger.finished or not _native.available():
            return
        with contextlib.suppress(Exception):
            ledger.lanes = partial(dict, ledger.lanes())

    def _receive(self, run: Run) -> Any:
        """The next batch. Raises StreamEnd and _Lost, and RuntimeError if time is up."""
        try:
            fields = run.receive(_Judge(self._pipeline), self._timeout)
        except Rejected as rejected:
            raise _Lost(rejected.error, ends=True) from None
        except StackError as error:
            shapes = AssertionError(f"all shapes must be equal in collation: {error}")
            raise _Lost(shapes if self._pipeline.batch else RuntimeError(*error.args), ends=False) from None
        except OSError as error:
            raise _Lost(error, ends=False) from None
        if fields is None:
            raise late(self._timeout)
        try:
            batch = self._put(lent.tensors(fields, self._dtypes, None))
        except Exception as error:  # of a function of the pipeline's
            raise _Lost(error, ends=True) from None
        return self._pin(batch)

    def _put(self, tensors: list[Any]) -> Any:
        """A batch of the core's arrays."""
        pipeline, at = self._pipeline, len(self._pipeline.images)
        values: list[Any] = tensors[:at]
        for number, column in enumerate(pipeline.columns):
            if column.kind == "int":
                values.append(tensors[at])
                at += 1
                continue
            ends, content = tensors[at].tolist(), tensors[at + 1].numpy().tobytes()
            at += 2
            contents = [content[begin:end] for begin, end in zip([0, *ends[:-1]], ends, strict=True)]
            made: Any = pipeline.values(number, contents)
            if pipeline.batch:
                made = combined(made)
            elif pipeline.keys is None:  # default_collate has a tuple of each entry
                made = tuple(made)
            values.append(self._collate_fn(made))
        placed = [values[place] for place in pipeline.places]
        return placed if pipeline.keys is None else dict(zip(pipeline.keys, placed, strict=True))


def _dtypes(plan: Plan) -> list[torch.dtype]:
    assert plan.stream is not None  # its callers look
    names = [image.lowered.dtype for image in plan.stream.images]
    for column in plan.stream.columns:
        names += ["int64"] if column.kind == "int" else ["int64", "uint8"]
    return [getattr(torch, name) for name in names]


class InlineStream(_StreamIterator):
    """num_workers=0: a batch is drawn from the process's own generator and made inside next()."""

    def __init__(self, loader: DataLoader[Any], core: Core) -> None:
        self._begun = False
        self._twins = Twins()
        resumed_lanes = _resumed_lanes(loader)
        super().__init__(loader, core)
        self._run = core.start(workers=0, streams=1)
        self._lanes = self._lanes_of(self._run, loader)
        self._lanes.begin(0, resumed_lanes)
        for counter, order in zip(self._pipeline.counters, _seeds(self._lanes.orders[0]), strict=True):
            if resumed_lanes is not None and order is not None:
                counter.epoch = order - counter.seed
                self._begun = True
        self._ledger.lanes = self._lanes.state

    def _next_data(self) -> Any:
        run = self._run
        if run is None:
            raise StopIteration
        if not _native.available():
            raise RuntimeError("this process was forked in the middle of an epoch, and Go does not survive a fork")
        if not self._begun:
            self._begun = True
            for counter in self._pipeline.counters:
                counter.epoch += 1
        states = None
        if self._plan.random:
            states = Processes(PROCESS[:1])
            run.set_states(0, states)
        if not self._lanes.tasks:
            self._lanes.submit()
        if not self._lanes.tasks:
            raise StopIteration
        batch: Any = None
        error: BaseException | None = None
        try:
            batch = self._receive(run)
        except StreamEnd:
            self._lanes.ended.add(0)
            error = StopIteration()
        except _Lost as lost:
            if lost.ends:
                self._lanes.ended.add(0)
            error = lost.error
        except BaseException as interrupt:
            _told.note(interrupt, run.doing())
            raise
        self._lanes.tasks.popleft()
        if states is not None:  # also for samples that are too few for a batch
            words = np.zeros(1, np.int64)
            run.position(words)
            self._twins.take(states, words)
        if error is not None:
            raise error
        return batch


def _seeds(order: dict[str, Any]) -> list[int | None]:
    """Of what counts epochs the seeds that were made of them."""
    stages = [*order["shard_stages"], *order["stages"]]
    draws = [stage["shuffle"]["draws"] for stage in stages if "shuffle" in stage]
    made: list[int | None] = [each["seed"] for each in draws if each.get("each")]
    return made + ([None] if "resample" in order else [])


def _resumed_lanes(loader: DataLoader[Any]) -> dict[str, Any] | None:
    from ...state import book

    record = book.of(loader).resumed
    if record is None or record.finished:
        return None
    if record.lanes is None:
        raise StateError("the state is of an epoch whose samples Python read: trace=False goes on from it")
    if record.num_workers != loader.num_workers:
        raise StateError(
            f"the state is of an epoch with num_workers={record.num_workers}, between which shards were split: it goes "
            f"on with as many only, not with {loader.num_workers}"
        )
    return dict(record.lanes)


class PrefetchingStream(_StreamIterator):
    """num_workers>0: batches are made ahead; each lane draws from a generator of its own, as torch's workers do."""

    def __init__(self, loader: DataLoader[Any], core: Core) -> None:
        self._resumed_lanes = _resumed_lanes(loader)
        super().__init__(loader, core)
        self._directory, self._settings = Directory(), Settings()
        with self._directory:
            self._run = core.start(
                workers=self._num_workers,
                streams=self._num_workers,
                base_seed=int(self._base_seed),
                hold_directory=True,
            )
        self._lanes = self._lanes_of(self._run, loader)
        self._epochs = 0
        self._reset(loader, first_iter=True)

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        if self._run is None:
            raise RuntimeError("this iterator was closed")
        resumed = self._resumed
        if not first_iter:
            while self._lanes.tasks:  # as torch's persistent workers make what they were asked for
                self._next_result(self._run)
                self._taken()
            self._ledger = replace(self._ledger, lanes=None)
        super()._reset(loader, first_iter)
        streams = np.zeros(self._num_workers, np.int64)
        if not first_iter:
            self._run.position(streams)
            self._run.reset()
            self._epochs += 1
        if self._plan.random:
            self._ledger.streams = np.zeros(self._num_workers, np.int64)
        if resumed is not None and not resumed.finished and resumed.streams is not None:
            self._run.resume(0, resumed.streams)
        if resumed is not None and resumed.finished:
            return  # the next epoch begins with another _reset
        lanes, self._resumed_lanes = self._resumed_lanes, None
        self._lanes.begin(self._epochs, lanes)
        self._ledger.lanes = self._lanes.state
        self._position()
        for _ in range(self._prefetch_factor * self._num_workers):
            self._lanes.submit()

    def _put(self, tensors: list[Any]) -> Any:
        with self._settings.inside():
            return super()._put(tensors)

    def _position(self) -> None:
        if self._ledger.streams is not None and self._run is not None:
            self._run.position(self._ledger.streams)

    def _taken(self) -> None:
        self._lanes.tasks.popleft()
        self._position()
        self._lanes.submit()

    def _next_result(self, run: Run) -> tuple[Any, Exception | None]:
        """The batch of the first task that has one, or what it was lost to. Raises StopIteration."""
        while self._lanes.tasks:
            lane = self._lanes.tasks[0]
            try:
                batch = self._receive(run)
            except StreamEnd:
                self._lanes.ended.add(lane)
                self._taken()
                continue
            except _Lost as lost:
                if lane in self._lanes.ended:  # behind an error of its own
                    self._taken()
                    continue
                if lost.ends:
                    self._lanes.ended.add(lane)
                return None, lost.error
            if lane in self._lanes.ended:
                self._taken()
                continue
            return batch, None
        raise StopIteration

    def _next_data(self) -> Any:
        run = self._run
        if run is None:
            raise StopIteration
        try:
            batch, error = self._next_result(run)
        except StopIteration:
            if not self._persistent_workers:
                self._shutdown_workers()
            raise
        lane = self._lanes.tasks[0]
        self._taken()
        if error is not None:
            raise_from_worker(error, lane)
        return batch

    def _shutdown_workers(self) -> None:
        """torch's name for it: stops the goroutines. Batches handed out stay."""
        if self._run is not None:
            self._ledger.lanes = None
            self._run.close()
        self._run = None


class _Judge(Judge):
    """Lets the pipeline's own stages say what becomes of a sample, and its handlers what becomes of an error."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    def shard(self, number: int, reason: str) -> bool:
        if number < 0:
            raise ValueError(EMPTY)
        return _handled(OSError(reason), handler(self._pipeline, shards=True))

    exp = staticmethod(exp)

    def sample(self, files: dict[str, bytes], image: int, *, pixels: bool) -> bool | tuple[bytes, int, int]:
        number = int(files.pop("__shard__"))
        key = files.pop("__key__").decode("utf-8", "surrogateescape")
        sample: Any = described(key, self._pipeline.urls[number], files)
        of = self._pipeline.images[image % len(self._pipeline.images)].of
        suffix = next((each for each in of if each in files), "")
        for stage in rest(self._pipeline):
            try:
                with torch.random.fork_rng(devices=()):  # the core has drawn, or will
                    (sample,) = stage.f(iter([sample]), *stage.args, **(stage.kw | {"handler": reraise_exception}))
            except Exception as error:
                return _handled(error, stage.kw.get("handler", reraise_exception))
        if not pixels:
            raise RuntimeError(f"goloader's core refuses sample {key!r} of {self._pipeline.urls[number]}")
        return _pixels(files[suffix])


def _handled(error: Exception, handler: Any) -> bool:
    """Whether a stream goes on after an error. Raises it."""
    if handler.__name__ == warn_and_continue.__name__:  # webdataset's sleeps: in a worker, which nobody waits for
        handler = warn_and_continue
    return bool(handler(error))


def _pixels(content: bytes) -> tuple[bytes, int, int]:
    """What Pillow makes of an image, as webdataset decodes it."""
    from PIL import Image

    with io.BytesIO(content) as stream:
        opened = Image.open(stream)
        opened.load()
        image = opened.convert("RGB")
    return image.tobytes(), image.width, image.height
