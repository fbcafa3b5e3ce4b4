"""Reads the samples of one shard through the core, for stages that run in Python."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _native
from ._core import Core, Judge, Run, StreamEnd, unpacked
from .plan import Plan
from .plan.needs import Rules
from .plan.paths import is_url
from .plan.pipeline import Column, Pipeline, environment_of

# Samples in a batch of the core's, and such batches that are read ahead.
_SAMPLES, _AHEAD = 16, 2


@dataclass(frozen=True)
class _Whole(Pipeline):
    """All files of each sample."""

    reaches: bool = False

    @property
    def remote(self) -> bool:
        return self.reaches


def _core(library: _native.Library, remote: bool) -> Core:
    whole = _Whole(
        *("", (), None, (), (), False, 1, -1, 0, True, None, (), (Column("sample", ()),), (), (), None), reaches=remote
    )
    rules = Rules("shrink_first", fma=True, correctly_rounded_exp=False)
    return Core(Plan(kind="stream", length=0, parts=(), rules=rules, rows=(), stream=whole), library)


def samples(url: str, library: _native.Library) -> Iterator[dict[str, Any]]:
    """A shard's samples as dicts. Raises OSError."""
    run = _core(library, is_url(url)).start(workers=1, streams=1, hold_directory=True)
    try:
        order = {"shards": [url], "rounds": 1, "limit": -1, "environment": environment_of([url])}
        run.open_lane(0, order, None, partial=True)
        for _ in range(_AHEAD):
            run.submit_next(0, _SAMPLES)
        yield from _received(run, url)
    finally:
        run.close()


class _Later(Judge):
    """Keeps the error of a shard until all samples before it were given."""

    error: OSError | None = None

    def shard(self, number: int, reason: str) -> bool:
        self.error = OSError(reason)
        return True


def _received(run: Run, url: str) -> Iterator[dict[str, Any]]:
    judge = _Later()
    while True:
        try:
            fields = run.receive(judge)
        except StreamEnd:
            if judge.error is not None:
                raise judge.error from None
            return
        assert fields is not None  # there is no timeout
        run.submit_next(0, _SAMPLES)
        ends, packed = fields
        for begin, end in np.stack([np.append(0, ends[:-1]), ends], 1).tolist():
            files = unpacked(packed[begin:end].tobytes())
            key = files.pop("__key__").decode("utf-8", "surrogateescape")
            del files["__shard__"]
            yield described(key, url, files)


def described(key: str, url: str, files: dict[str, bytes]) -> dict[str, Any]:
    """A sample with at least one file, its entries in webdataset's order."""
    first = next(iter(files))
    local = {} if is_url(url) or url.startswith("pipe:") else {"__local_path__": url}
    return {"__key__": key, "__url__": url, first: files[first]} | local | files
