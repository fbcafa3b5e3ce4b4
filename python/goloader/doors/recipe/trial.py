"""Checks recording: a forked child loads samples with and without stand-ins, and says whether they are the same.

The child has this process's state: the dataset and all random generators, wherever they are. In this process the user's
code runs once a sample, as with torch, and has the same effects.
"""

from __future__ import annotations

import gc
import io
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from ...plan.refusal import Refusal
from ...state.generators import PROCESS, capture, same
from .. import sandbox
from ..same import difference
from ..worker import collate
from . import hooks
from .native import WorkerNative
from .opens import files_of
from .record import KEPT, Finding, no_gain
from .session import Session

if TYPE_CHECKING:
    from .fetch import Fetcher

__all__ = ["judge"]

# Recording has to take less than this share of the CPU time of eager code to go on, and not much longer by the clock.
_SHARE_MAX, _LONGER_MAX = (math.inf, math.inf) if sandbox.WAITS else (0.9, 3.0)
# How often a way is timed whose runs take no longer, by the clock and of CPU time together.
_RUNS_MAX, _SHORT_S = 4, 0.1
# Of a stream: images that are compared, and batches after which no more are waited for.
_IMAGES, _BATCHES_MAX = 8, 64
# Reasons that are told.
_REASONS_MAX = 20


class _Half(NamedTuple):
    """What one of both ways gave.

    batches  as torch saves them
    states   where torch's, Python's and numpy's generators stand
    seconds  of CPU time, and by the clock
    error    what the user's code raised, as text
    outside  what it tried to change outside of its process
    files    of all code that ran
    """

    batches: bytes
    states: Mapping[str, Any]
    seconds: tuple[float, float]
    error: str | None
    outside: str | None
    files: tuple[str, ...] = ()


class _Recorded(NamedTuple):
    """What the other way noted, as a Session's; `kept` if stand-ins outlived their batch, `refused` if nothing can be
    recorded here, and how many batches were asked for until some images were recorded in them."""

    half: _Half
    batches: int
    images: int
    kept: bool
    reasons: Counter[tuple[str, str]]
    seen: Counter[tuple[str, str]]
    refused: Refusal | None


def judge(fetcher: Fetcher, indices: Any) -> Finding:
    """In the process of a trial, what it found."""
    collate.apart = True
    try:
        if fetcher.streams:
            [recorded] = sandbox.run_apart(lambda: _recorded(fetcher, indices))
            [eager] = sandbox.run_apart(lambda: _eager(fetcher, indices, max(recorded.batches, 1)))
        else:
            eager, recorded = sandbox.run_apart(lambda: _eager(fetcher, indices), lambda: _recorded(fetcher, indices))
        return _found(eager, recorded, fetcher, indices)
    except Exception as error:
        return Finding.none(f"{type(error).__name__}: {error}")


def _found(eager: _Half, recorded: _Recorded, fetcher: Fetcher, indices: Any) -> Finding:
    reasons, seen = recorded.reasons.most_common(_REASONS_MAX), recorded.seen.most_common(_REASONS_MAX)

    def off(why: str, code: str = "RECORDING_ENDED") -> Finding:
        return Finding(Refusal("source", "trace", why, code), reasons=reasons, seen=seen, files=eager.files)

    if recorded.refused is not None:
        return Finding(recorded.refused)
    traced = recorded.half
    outside = eager.outside or traced.outside
    if outside is not None:
        return off(f"its code {outside}, which a check must not do", "OUTSIDE_EFFECTS")
    if eager.error is not None:
        return Finding(None, failed=True)
    if traced.error is not None:
        return off(f"its code failed with a stand-in: {traced.error}")
    if recorded.images == 0:
        return off(*no_gain(recorded.reasons))
    found = _difference(eager, traced)
    if found is not None:
        [again] = sandbox.run_apart(lambda: _eager(fetcher, indices, recorded.batches))
        if again.error is not None or _difference(eager, again) is not None:
            return off("the dataset gives different samples each time, from the same random state")
        lines = ", ".join(f"{what} at {line}" for what, line in list(recorded.reasons)[:3])
        what = type(fetcher.dataset).__qualname__
        refusal = Refusal("source", what, f"{found} when traced ({lines or 'all native'})", "SAMPLES_DIFFER")
        return Finding(refusal, warn=True, reasons=reasons, seen=seen)
    if recorded.kept:
        return off(*KEPT)
    for share, one, other in zip((_SHARE_MAX, _LONGER_MAX), traced.seconds, eager.seconds, strict=True):
        if one > other * share:
            took = f"{one * 1e3:.1f} ms with stand-ins, {other * 1e3:.1f} ms without"
            return off(f"recording saves no time: samples took {took}", "NO_GAIN")
    return Finding(None, reasons=reasons, seen=seen, files=eager.files)


def _difference(eager: _Half, other: _Half) -> str | None:
    if not all(same(eager.states[name], other.states[name]) for name in PROCESS):
        return "the random generators stand elsewhere"
    one, two = _batches(eager), _batches(other)
    if len(one) != len(two):
        return f"there are {len(two)} batches, not {len(one)},"
    return next(filter(None, map(difference, one, two)), None)


def _eager(fetcher: Fetcher, indices: Any, batches: int = 1) -> _Half:
    def run() -> list[Any]:
        return [fetcher.eager(indices, batches)]

    with sandbox.restrict():
        half = _timed_again(_timed(run), run)
        return half if half.error or fetcher.streams else half._replace(files=files_of(run))


def _recorded(fetcher: Fetcher, indices: Any) -> _Recorded:
    native = WorkerNative()
    native.opened()  # its library is a file to be written
    with hooks.held(), sandbox.restrict():
        session, images = fetcher.session(native), Counter[str]()
        tried = 0

        def run(session: Session, most: int, enough: float = math.inf) -> list[Any]:
            nonlocal tried
            made: list[Any] = []
            while len(made) < most and images.total() < enough:
                tried = len(made) + 1
                try:
                    [batch], leaves = fetcher.recorded(session, indices, native.run)
                except StopIteration:
                    if not made:
                        raise
                    break  # what it was asked for may have drawn: with drop_last a rest of samples is made and dropped
                images.update(leaves)
                made.append(batch)
                del batch
            return [made]

        # What comes out of a stream's buffers first was made without stand-ins.
        half = _timed(lambda: run(session, *((_BATCHES_MAX, _IMAGES) if fetcher.streams else (1,))))
        batches = tried
        if session.living():
            gc.collect()  # an error that was handled may hold what it came from
        kept = not fetcher.streams and bool(session.living())
        recorded = images.total()
        if recorded:
            half = _timed_again(half, lambda: run(session if fetcher.streams else Session(native), batches))
        return _Recorded(half, batches, recorded, kept, session.reasons, session.seen, hooks.refusal())


def _timed(run: Callable[[], list[Any]]) -> _Half:
    """`run` gives a list that alone holds batches."""
    begun = time.process_time(), time.perf_counter()
    try:
        held = run()
    except (Exception, sandbox.OutsideError) as error:
        return _Half(b"", {}, (0.0, 0.0), f"{type(error).__name__}: {error}", sandbox.touched())
    seconds = time.process_time() - begun[0], time.perf_counter() - begun[1]
    states = capture(PROCESS)
    content = io.BytesIO()
    torch.save(held.pop(), content)  # pickle alone does not know all dtypes
    return _Half(content.getvalue(), states, seconds, None, sandbox.touched())


def _timed_again(half: _Half, run: Callable[[], list[Any]]) -> _Half:
    """With the least seconds of later runs: what is made but once is made by then, and a short run tells little."""
    if math.isinf(_LONGER_MAX):  # nothing goes by them
        return half
    seconds: list[tuple[float, float]] = []
    while half.error is None and (not seconds or (len(seconds) < _RUNS_MAX and sum(seconds[-1]) < _SHORT_S)):
        again = _timed(run)
        if again.error is not None:
            break
        seconds.append(again.seconds)
    return half._replace(seconds=tuple(map(min, zip(*seconds, strict=True)))) if seconds else half


def _batches(half: _Half) -> list[Any]:
    found: list[Any] = torch.load(io.BytesIO(half.batches), weights_only=False)
    return found
