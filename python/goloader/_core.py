"""An open plan in the core, and its run: the only way in which this package's loaders use the library."""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import struct
import sys
import time
import warnings
import weakref
from collections import deque
from collections.abc import Sequence
from ctypes import byref, c_int32, c_int64
from functools import cache, cached_property
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from . import _cores, _lease, _native, _ranks
from .arrays.chunked_array import Chunks
from .arrays.table_column import Parts
from .plan import Plan
from .plan.rows import Array, ArrayFiles
from .storage import remote

_BYTES = ctypes.c_char * 0

# What reads that did not come back may still write into.
_left: list[object] = []

# Ctrl-C that arrives just before a wait begins is heard when the wait ends.
_WAIT_MS = 100

# An exit waits no longer than this for seek indexes that are being written.
_SETTLE_MS = 5000


class States(Protocol):
    """States of a process's generators (state.generators.Processes)."""

    names: tuple[str, ...]

    @property
    def address(self) -> int: ...

    @property
    def size(self) -> int: ...


class Skipper(Protocol):
    """Makes batches by the user's own code."""

    def states(self) -> States:
        """Room for those of a worker's generators."""

    def batch(self, states: Any) -> tuple[Any, Exception | None]:
        """A batch, or its error, by generators in these states, which become those that they are left in."""


class Judge:
    """Says what becomes of samples of streams that the core cannot make: True leaves one out, False ends the stream
    there; else the pixels, width and height of an image. Raises what the batch is lost to."""

    def sample(self, files: dict[str, bytes], image: int, *, pixels: bool) -> bool | tuple[bytes, int, int]:
        """Of a sample; `image` counts those of the batch, and `pixels` says whether its pixels help."""
        raise NotImplementedError

    def shard(self, number: int, reason: str) -> bool:
        """Of what is left of a shard; -1: there was no sample at all."""
        raise OSError(reason)

    def exp(self, x: float) -> float:
        """torch.exp of a float32."""
        raise NotImplementedError


class Helper(Protocol):
    """What the core cannot know and asks for."""

    def pixels(self, row: int) -> tuple[bytes, int, int]:
        """(RGB interleaved, width, height) of a file that Pillow has to decode; raises what the dataset would raise, or
        LateError if that takes too long.

        Of a target that is an image the pixels are a byte each. `row` is the source's, a file's where a sample has
        several, or an image's number in its batch of recipes.
        """

    @property
    def skips(self) -> Skipper | None:
        """Who makes batches that the core leaves; None where it leaves none."""

    def refused(self, position: int, row: int, reason: str) -> Exception:
        """The error that the dataset raises for a sample whose transforms refuse it."""

    def exp(self, x: float) -> float:
        """torch.exp of a float32."""


class LateError(Exception):
    """What the core asked for is not there yet, and is not waited for any longer. The core asks again."""


class StreamEnd(Exception):
    """A stream's lane has no samples for a batch."""


def unpacked(packed: bytes) -> dict[str, bytes]:
    """A sample as core/source/stream packs it."""
    (count,) = struct.unpack_from("<Q", packed)
    sizes = struct.unpack_from(f"<{2 * count}Q", packed, 8)
    files, at = {}, 8 * (1 + 2 * count)
    for name, size in zip(sizes[::2], sizes[1::2], strict=True):
        files[packed[at : at + name].decode("utf-8", "surrogateescape")] = packed[at + name : at + name + size]
        at += name + size
    return files


class Rejected(Exception):
    """A batch is lost since one of its samples is in error."""

    def __init__(self, error: Exception, position: int, row: int) -> None:
        super().__init__(error, position, row)
        self.error, self.position, self.row = error, position, row


class Skipped(Exception):
    """A batch was made by the user's own code, or that failed."""

    def __init__(self, batch: Any, error: Exception | None) -> None:
        super().__init__(error)
        self.batch, self.error = batch, error


class Memory(Protocol):
    """Memory of the caller for a batch, held until that is received: a page-locked torch.Tensor of bytes."""

    def data_ptr(self) -> int: ...

    def numel(self) -> int: ...


class Core:
    """A plan over its source, opened in the core. Closed when the last reference is gone, after its runs.

    text     the plan, as the core was given it
    library  that it is opened in
    """

    _is_open = _is_over = False
    # At interpreter exit the kernel is quicker, and this module's names may be gone.
    _exits = staticmethod(sys.is_finalizing)

    def __init__(self, plan: Plan, lib: _native.Library | None = None) -> None:
        """`lib`: which library, if not this process's."""
        let_go()
        self.plan = plan
        self.library = self._lib = lib or _native.library()
        self.text = text = plan.to_json()
        if plan.rules is not None:  # images
            self._lib.find_libwebp()
        self._lib.find_mkl()
        self._reach()
        self._lib.join_ranks()
        source = _native.Source(plan.count, *_listed(plan, self._lib), _rows(plan), _address(plan.places))
        handle, error = c_int64(), _native.Error()
        self._lib.check(self._lib.gl_open(text, len(text), byref(source), byref(handle), byref(error)), error)
        self._handle = handle.value
        _warn(error)
        self._runs: set[int] = set()  # by their handles, those that are open: several threads may close runs
        self._is_open = True
        if plan.seek_index is not None and plan.seek_index.path is not None:
            _settle_at_exit(self._lib)

    def __del__(self) -> None:
        self._is_over = True
        self.close_after_runs()

    def begin_run(self, handle: int) -> None:
        """A run of it has begun."""
        self._runs.add(handle)

    def end_run(self, handle: int) -> None:
        """A run of it is closed."""
        self._runs.discard(handle)
        self.close_after_runs()

    def close_after_runs(self) -> None:
        """Closes it where nobody has it any more: the garbage collector may take it before its runs."""
        if self._is_open and self._is_over and not self._runs and not self._exits():
            self._is_open = False
            _close(self._lib, self._handle, self.plan)

    def _reach(self) -> None:
        """Has the core know how to reach the files of remote stores."""
        files, stream = self.plan.files, self.plan.stream
        if (files is not None and files.remote) or (stream is not None and stream.remote):
            remote.ready(self._lib)
        if files is not None and files.cache is not None:
            files.cache.stats()  # which warns of a disk that is full since

    def fits(self, plan: Plan) -> bool:
        """True if this core is that plan, Pillow's settings of this moment included."""
        return self.plan is plan and self.text == plan.to_json()

    def start(
        self,
        *,
        workers: int,
        streams: int,
        base_seed: int = 0,
        seeds: NDArray[np.uint64] | None = None,
        hold_directory: bool = False,
        sample_timeout: float | None = None,
    ) -> Run:
        """Starts goroutines; as many as `workers` asks and this process may use, 0 for its rank's share of the cores.

        With all of the share or more, there are more for as long as other ranks need fewer.

        Stream w is seeded with base_seed + w, or with seeds[w]: [streams] uint64. With `hold_directory` relative
        paths begin at the working directory of now. A sample whose file takes more than `sample_timeout` seconds to
        read is in error.
        """
        self._reach()
        allowed, cpus = _cores.allowed(), np.array(_cores.cpus(), np.int32)
        options = _native.RunOptions(
            workers=min(workers or _cores.share(), allowed),
            streams=streams,
            base_seed=base_seed,
            poison=os.environ.get("GOLOADER_POISON", "") not in ("", "0"),
            seeds=None if seeds is None else seeds.ctypes.data,
            hold_directory=hold_directory,
            sample_timeout_ms=0 if sample_timeout is None else max(1, int(sample_timeout * 1000)),
            nice=_cores.niceness(),
            ncpus=len(cpus),
            cpus=cpus.ctypes.data,
        )
        return Run(self, self._lib, self._handle, options)

    @cached_property
    def number(self) -> int:
        """What tells it from other cores of the process, in what `events` copies."""
        number: int = self._lib.json(self._lib.gl_stats, self._handle)["number"]
        return number

    def stats(self) -> dict[str, Any]:
        """Counters since the plan was opened: batches, samples, pillow_samples, bytes_read, ...

        With a cache also `cache`: what that did for all datasets of this process that share it.
        """
        counted = self._lib.json(self._lib.gl_stats, self._handle)
        cache = None if self.plan.files is None else self.plan.files.cache
        return counted if cache is None else counted | {"cache": cache.stats()}


class Run:
    """A plan at work. One thread at a time. Closed when the last reference is gone, if not before."""

    _is_open = False
    _exits = staticmethod(sys.is_finalizing)

    def __init__(self, core: Core, lib: _native.Library, loader: int, options: _native.RunOptions) -> None:
        self._lib = lib
        self._error = _native.Error()
        self._batch, self._ask = _native.Batch(sequence=-1), _native.Ask()
        self._error_at, self._received = byref(self._error), (byref(self._batch), byref(self._ask), byref(self._error))
        handle, fd = c_int64(), c_int32()
        lib.check(lib.gl_start(loader, byref(options), byref(handle), byref(fd), byref(self._error)), self._error)
        self._handle, self._fd = handle.value, fd.value
        # Memory of batches under way.
        self._lent: deque[Memory | None] = deque()
        self._core, self._is_open = core, True
        core.begin_run(self._handle)

    def close(self) -> None:
        """Stops the goroutines and waits for them, milliseconds. Batches handed out stay as they are.

        A read that does not come back is left after 50 ms.
        """
        if self._is_open and not self._exits():
            self._is_open = False
            _close(self._lib, self._handle, (self._core, self._lent))
            self._core.end_run(self._handle)

    def __del__(self) -> None:
        self.close()

    def submit(
        self, rows: NDArray[np.int64], lent: Memory | None = None, seeds: NDArray[np.uint64] | None = None
    ) -> None:
        """Asks for one more batch.

        rows   [n] int64, writable
        lent   memory for the batch
        seeds  [n] uint64: each sample draws from a generator of its own, seeded so, in place of the batch's stream
        """
        memory = (0, 0) if lent is None else _place(lent)
        if seeds is None:
            at = byref(_BYTES.from_buffer(rows.data))  # rows.ctypes.data takes three times as long
            status = self._lib.gl_submit(self._handle, at, len(rows), *memory, self._error_at)
            if status < _native.OK:
                self._check(status)
        else:
            self._call(self._lib.gl_submit_seeded, rows.ctypes.data, seeds.ctypes.data, len(rows), *memory)
        self._lent.append(lent)

    def open_lane(self, lane: int, order: dict[str, Any], state: dict[str, Any] | None, *, partial: bool) -> None:
        """Says what a lane of a plan of kind "stream" gives: core/source/stream, Order and State."""
        text = json.dumps({"order": order, "state": state}).encode()
        self._call(self._lib.gl_lane_open, lane, text, len(text), partial)

    def submit_next(self, lane: int, count: int) -> None:
        """Asks for one more batch, of the samples that a lane gives next."""
        self._call(self._lib.gl_submit_next, lane, count, None, 0)
        self._lent.append(None)

    def lane_state(self, lane: int) -> dict[str, Any]:
        """Where a lane stands behind the batches received."""
        size = c_int64(1 << 16)
        while True:
            text = ctypes.create_string_buffer(size.value)
            if self._call(self._lib.gl_lane_state, lane, text, len(text), byref(size)) == _native.OK:
                state: dict[str, Any] = json.loads(text.value)
                return state

    def asked_sample(self) -> dict[str, bytes]:
        """The files of the sample that the core asks about, and its "__key__" and "__shard__"."""
        data, size = ctypes.c_void_p(), c_int64()
        self._call(self._lib.gl_asked_sample, byref(data), byref(size))
        return unpacked(ctypes.string_at(data.value or 0, size.value))

    def submit_recipes(self, message: bytes, lent: Memory | None = None) -> None:
        """Asks for one more batch of a plan without a source, in wire form (core/recipe/batch.go).

        lent  memory for the batch
        """
        self._call(self._lib.gl_submit_recipes, message, len(message), *_place(lent))
        self._lent.append(lent)

    def receive(self, helper: Helper | Judge, timeout: float = 0) -> list[NDArray[Any]] | None:
        """The fields of the next batch, in the order of submit; None after `timeout` seconds, if that is not 0.

        Raises LookupError if no batch was submitted, StreamEnd if its lane has no samples, Rejected for a sample in
        error, and StackError if samples differ in shape; the next call then goes on with the next batch.
        """
        deadline = time.monotonic() + timeout if timeout else None
        begun = None
        while True:
            status = self._lib.gl_next(self._handle, *self._received)
            if begun is not None and status <= _native.OK:
                _ranks.came()
            if status <= _native.OK and self._lent:
                self._lent.popleft()
            if status < _native.OK:
                self._check(status)
            if status == _native.OK:
                return _lease.arrays(self._lib, self._batch)
            if status == _native.IDLE:
                raise LookupError("no batch is outstanding")
            if status == _native.END:
                self._lent.popleft()
                raise StreamEnd
            if status == _native.ASK:
                try:
                    self._answer(helper, self._ask)
                except LateError:
                    return None
            else:
                begun = begun or time.monotonic()
                _ranks.waits(begun)
                if not self._wait(deadline):
                    return None

    @property
    def taken(self) -> int:
        """Batches that the core has handed out, also those that an interrupt kept from being returned."""
        return int(self._batch.sequence) + 1

    def _wait(self, deadline: float | None) -> bool:
        """False if the deadline is over."""
        wait = _WAIT_MS
        if deadline is not None:
            left = int((deadline - time.monotonic()) * 1000)
            if left <= 0:
                return False
            wait = min(wait, left)
        self._lib.gl_wait(self._fd, wait)
        return True

    def _answer(self, helper: Helper | Judge, ask: _native.Ask) -> None:
        error: Exception
        if ask.kind == _native.ASK_EXP:
            self._call(self._lib.gl_answer_exp, ask.x, helper.exp(ask.x))
            return
        position, row = ask.position, ask.index
        if isinstance(helper, Judge):
            self._judge(helper, ask)
            return
        if ask.kind == _native.ASK_PIXELS:
            try:
                rgb, width, height = helper.pixels(row)
            except LateError:
                raise
            except Exception as raised:
                error = raised
            else:
                self._call(self._lib.gl_answer_pixels, rgb, width, height)
                return
        if helper.skips is not None:  # not as the error is handled, or the user's own would be told with it
            self._skip(helper.skips, ask)
        if ask.kind == _native.ASK_LATE:
            error = TimeoutError(ask.reason.decode(errors="replace"))
        elif ask.kind != _native.ASK_PIXELS:
            error = helper.refused(position, row, ask.reason.decode(errors="replace"))
        self._give_up(ask, self._lib.gl_reject)
        raise Rejected(error, position, row)

    def _give_up(self, ask: _native.Ask, function: Any, *arguments: Any) -> None:
        """Ends a batch that the core asks about, by a function of its: it gives none."""
        self._keep(self._call(function, *arguments))
        self._lent.popleft()
        self._batch.sequence = ask.sequence

    def _judge(self, judge: Judge, ask: _native.Ask) -> None:
        """Has Python say what becomes of a sample of a stream, or of a shard. Raises Rejected."""
        answer: bool | tuple[bytes, int, int]
        try:
            if ask.kind == _native.ASK_SHARD:
                answer = judge.shard(ask.index, ask.reason.decode(errors="replace"))
            else:
                answer = judge.sample(self.asked_sample(), ask.index, pixels=ask.kind == _native.ASK_PIXELS)
        except Exception as error:
            self._give_up(ask, self._lib.gl_reject)
            raise Rejected(error, ask.position, ask.index) from None
        if isinstance(answer, bool):
            self._keep(self._call(self._lib.gl_leave_out, not answer))
        else:
            self._call(self._lib.gl_answer_pixels, *answer)

    def _skip(self, skipper: Skipper, ask: _native.Ask) -> NoReturn:
        """Has the user's own code make the batch that is asked about. Raises Skipped."""
        states = skipper.states()
        self._call(self._lib.gl_asked_states, states.address, states.size)
        made = skipper.batch(states)
        self._give_up(ask, self._lib.gl_skip, states.address, states.size)
        raise Skipped(*made)

    def set_states(self, stream: int, states: States) -> None:
        """Lets a stream go on from these states, and its position count from there. No batch may be outstanding."""
        if len(states.names) == 1:
            self._call(self._lib.gl_rng_set, states.address, states.size)
        else:
            self._call(self._lib.gl_states_set, stream, states.address, states.size)

    def follow(self, stream: int, state: Memory | None, *, each: bool) -> None:
        """Says that Python's part of all batches received is done, and in which state, as torch.get_rng_state() gives
        it, that has left a stream, whose position counts from there; None if it has drawn nothing.

        each  from now on batches draw only after this was said of the one before them in their stream
        """
        self._call(self._lib.gl_follow, stream, *_place(state), each)

    def position(self, drawn: NDArray[np.int64]) -> None:
        """Writes how many words each stream has drawn for the batches received, lost ones included: [streams] int64.

        Of a script's streams [streams * 3], for torch's generator, Python's and numpy's; -1 where that is not known.
        """
        self._call(self._lib.gl_position, drawn.ctypes.data, len(drawn))

    def resume(self, sequence: int, drawn: NDArray[np.int64]) -> None:
        """Puts a new run to where another one stood: the number of its next batch, and what position() said."""
        self._call(self._lib.gl_resume, sequence, drawn.ctypes.data, len(drawn))
        self._batch.sequence = sequence - 1

    def reset(self) -> None:
        """Forgets batches that were submitted and not received, and starts counting at 0.

        A read that does not come back is left after 50 ms.
        """
        self._keep(self._call(self._lib.gl_reset))
        self._lent.clear()
        self._batch.sequence = -1

    def doubts(self, most: int) -> list[int]:
        """Which rows the helper will be asked the pixels of, by what is known now: at most so many, each once."""
        rows, count = np.empty(most, np.int64), c_int32()
        self._call(self._lib.gl_doubts, rows.ctypes.data, most, byref(count))
        found: list[int] = rows[: count.value].tolist()
        return found

    def doing(self) -> str:
        """Which batch is waited for, and what each worker does or did last, a line each; "" if none is outstanding."""
        text = ctypes.create_string_buffer(4096)
        # Asked for beside an error, which no other is to replace: a run that is closed, or of a forked child's parent.
        status = self._lib.gl_doing(self._handle, text, len(text), None)
        return text.value.decode(errors="replace") if status == _native.OK else ""

    def _keep(self, status: int) -> None:
        if status == _native.LEFT:
            _left.append((self._core, tuple(self._lent)))

    def _call(self, function: Any, *arguments: Any) -> int:
        return self._check(function(self._handle, *arguments, self._error_at))

    def _check(self, status: int) -> int:
        return self._lib.check(status, self._error)


def _place(lent: Memory | None) -> tuple[int, int]:
    """Address and bytes of memory; 0 of none."""
    return (0, 0) if lent is None else (lent.data_ptr(), lent.numel())


def _listed(plan: Plan, lib: _native.Library) -> tuple[Any, ...]:
    """Members of a gl_source: files, shared if the core has the list, else read where they are; or labels of pixels."""
    files = plan.files
    if files is None:
        return None, None, _address(plan.labels), None, 0, 0
    if files.handle and files.cache is None:
        return None, None, None, None, files.handle, 0
    arrays = files.paths, files.offsets, files.labels, files.spans
    return *map(_address, arrays), 0, 0 if files.cache is None else files.cache.handle(lib)


def _address(array: NDArray[Any] | None) -> int | None:
    return None if array is None else array.ctypes.data


def _rows(plan: Plan) -> ctypes.Array[_native.Rows]:
    """Of each field, or input of a field's program, or of each part of images in memory."""
    each = [(arrays, field.index) for field in plan.fields for arrays in field.sources] or [
        ((part.array,), None) for part in plan.pixels
    ]
    made = (_native.Rows * max(len(each), 1))()
    for rows, (arrays, index) in zip(made, each, strict=False):
        rows.arrays, rows.narrays = _arrays(arrays), len(arrays)
        rows.index = None if index is None else index.ctypes.data
    return made


def _arrays(arrays: Sequence[Array]) -> ctypes.Array[_native.Array]:
    made = (_native.Array * max(len(arrays), 1))()
    for slot, array in zip(made, arrays, strict=False):
        slot.data, slot.count, slot.bytes = array.address or None, len(array), array.bytes
        slot.begins = None if array.begins is None else array.begins.ctypes.data
        slot.lengths = None if array.lengths is None else array.lengths.ctypes.data
        if array.ends is not None:
            slot.ends, slot.nends = array.ends.ctypes.data, len(array.ends)
        if array.path is not None:
            slot.path, slot.offset, slot.direct = os.fsencode(array.path), array.offset, array.direct
        if array.chunks is not None:
            slot.chunks = ctypes.pointer(_chunks(array.chunks))
        if array.parts is not None:
            slot.column = ctypes.pointer(_column(array.parts))
        if array.files is not None:
            slot.files = ctypes.pointer(_files(array.files))
        slot.counts = array.counts
        slot.stride[: len(array.strides)] = array.strides
    return made


def _chunks(of: Chunks) -> _native.Chunks:
    sizes = c_int64 * len(of.shape)
    return _native.Chunks(
        sizes(*of.shape), sizes(*of.chunk), len(of.shape), len(of.fill), of.fill, of.places.ctypes.data,
        len(of.places), " ".join(of.filters).encode(), None if of.separator is None else of.separator.encode(),
        None if of.shard is None else sizes(*of.shard),
    )  # fmt: skip


def _column(of: Parts) -> _native.Column:
    paths, encodings = (b"\0".join(map(os.fsencode, texts)) + b"\0" for texts in (of.paths, of.encodings))
    return _native.Column(
        of.name.encode(), paths, len(of.paths), of.item, encodings, len(of.encodings), of.places.ctypes.data,
        len(of.places),
    )  # fmt: skip


def _files(of: ArrayFiles) -> _native.ArrayFiles:
    places = (of.files.paths, of.files.offsets, of.begins, of.extents)
    return _native.ArrayFiles(
        of.format.encode(), *map(_address, places), of.head.encode(), of.tail.encode(), len(of.files)
    )


def events(begin: int) -> tuple[NDArray[Any], int, int]:
    """What all loaders did in the core, from event `begin` on (negative: none), as _native.Event has it; the number to
    go on from, and how many in between are gone. Nothing while the library is not loaded."""
    room = np.empty(1 << 14 if begin >= 0 else 0, np.dtype(_native.Event))
    count, following, lost = c_int32(), c_int64(), c_int64()
    if _native.is_loaded():
        lib = _native.library()
        lib.call(lib.gl_events, begin, room.ctypes.data, len(room), byref(count), byref(following), byref(lost))
    return room[: count.value].copy(), following.value, lost.value  # a view would keep all of the room


def let_go() -> None:
    """Lets go of what was kept for reads that had not come back, if all have."""
    if _left and _native.available() and not _native.live()["reads_left"]:
        _left.clear()


class Drawn(NamedTuple):
    """What transforms do to an image.

    steps  in wire form
    size   (width, height) of what is made of it
    words  that were drawn from torch's generator, as random_() of an int32 gives them
    """

    steps: tuple[bytes, ...]
    size: tuple[int, int]
    words: bytes


class Augmentation:
    """Transforms of images that somebody records, opened in a core. Closed when the last reference is gone."""

    def __init__(self, text: bytes, lib: _native.Library) -> None:
        """`text`: as plan.transforms.Run has it."""
        lib.find_mkl()
        handle = c_int64()
        lib.call(lib.gl_augmentation_open, text, len(text), byref(handle))
        self._lib, self._handle = lib, handle.value
        weakref.finalize(self, _close, lib, self._handle, None).atexit = False
        # To make these anew takes longer than to draw.
        self._drawn, self._error = _native.Drawn(), _native.Error()

    def draw(self, width: int, height: int, state: int | None) -> Drawn | None:
        """What is done to an image; None where only torchvision can tell. One thread at a time may call.

        state  where the bytes of torch.get_rng_state() are; None if nothing is drawn
        """
        drawn, error = self._drawn, self._error
        drawn.width, drawn.height = width, height
        status = self._lib.gl_augmentation_draw(self._handle, state, byref(drawn), byref(error))
        if self._lib.check(status, error) == _native.EMPTY:
            return None
        ends, at = drawn.ends[: drawn.count], ctypes.addressof(drawn)
        wire = ctypes.string_at(at + _native.Drawn.steps.offset, ends[-1] if ends else 0)
        steps = tuple(wire[begin:end] for begin, end in zip([0, *ends], ends, strict=False))
        words = ctypes.string_at(at + _native.Drawn.word.offset, 4 * drawn.words)
        return Drawn(steps, (drawn.width, drawn.height), words)


def _close(lib: _native.Library, handle: int, kept: object) -> None:
    """Closes a handle; `kept` is what the core may still write into."""
    # A status is of no use to anybody here: the handle is closed, or belongs to the parent of a fork.
    error = _native.Error()
    status = lib.gl_close(handle, byref(error))
    if status >= _native.OK:
        _warn(error)
    if status == _native.LEFT:
        _left.append(kept)


@cache
def _settle_at_exit(lib: _native.Library) -> None:
    """Has the interpreter's exit wait for the seek indexes that runs' ends began to write."""
    atexit.register(_settle, lib)


def _settle(lib: _native.Library) -> None:
    error = _native.Error()
    if lib.gl_settle(_SETTLE_MS, byref(error)) == _native.OK:
        _warn(error)


def _warn(error: _native.Error) -> None:
    """What went wrong in a call that did what it was for."""
    if error.text:
        warnings.warn(error.text.decode(errors="replace"), RuntimeWarning, stacklevel=2)
