"""A pipeline of shards as the core runs it: its stages, what is made of each sample, and the orders of an epoch."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..adapters.torch import worker_info
from .paths import is_url
from .transforms.lowered import Lowered

# Of so many shards it is looked at how large they are, and so many files are remembered at most.
_SHARDS_LOOKED_AT, _FILES_MAX = 4096, 1 << 24

_CONVERTERS: Mapping[str, Callable[[bytes], Any]] = {
    "text": lambda content: content.decode("utf-8"),
    "json": json.loads,
    "bytes": lambda content: content,
}


@dataclass(frozen=True)
class Draws:
    """Where a shuffle's numbers come from.

    kind  "seed", "rng" (a random.Random), "each" (another one in each epoch) or "none" (they are the same never)
    of    the seed, or the generator
    by    the object that counts epochs
    """

    kind: str
    of: Any = None
    by: Any = field(default=None, compare=False)

    def order(self, epoch: int) -> dict[str, Any]:
        """As an order of the core's has it; epoch counts those of this iterator."""
        if self.kind == "each":
            return {"seed": self.of + self.by.epoch + 1 + epoch, "each": True}
        if self.kind == "none":
            return {"seed": int.from_bytes(os.urandom(7), "little")}
        state = (self.of if self.kind == "rng" else random.Random(self.of)).getstate()[1]
        words = b"".join(word.to_bytes(4, "little") for word in state)
        return {"state": base64.b64encode(words).decode("ascii"), "through": self.kind == "rng"}


@dataclass(frozen=True)
class Stage:
    """A shuffle, a slice, or one of the ways to split shards ("node", "worker")."""

    kind: str
    numbers: tuple[Any, ...] = ()
    draws: Draws | None = None

    def order(self, lane: int, lanes: int, epoch: int) -> dict[str, Any]:
        """The same for one of a loader's lanes."""
        if self.kind == "shuffle":
            assert self.draws is not None
            size, initial = self.numbers
            return {"shuffle": {"size": size, "initial": initial, "draws": self.draws.order(epoch)}}
        start, stop, step = self.numbers or (0, -1, 1)
        if self.kind == "node":
            start, _, _, _ = worker_info()
            step = worker_info()[1]
        elif self.kind == "worker":
            start, step = lane, lanes
        return {"slice": {"start": start, "stop": stop, "step": step}}


@dataclass(frozen=True)
class Image:
    """An image of each sample, and its transform."""

    of: tuple[str, ...]
    lowered: Lowered

    def to_plan(self) -> dict[str, Any]:
        made = self.lowered.to_plan(0)
        return {
            "of": list(self.of),
            "output": {"dtype": self.lowered.dtype, "channels": self.lowered.channels},
            "transforms": made["transforms"],
            "table": made["table"],
        }


@dataclass(frozen=True)
class Column:
    """What Python puts together of each sample.

    kind       as the core has it: "int", "text", "json", "bytes"
    functions  that each value is given to
    """

    kind: str
    of: tuple[str, ...]
    functions: tuple[Any, ...] = ()

    def to_plan(self) -> dict[str, Any]:
        names = ["__shard__" if name == "__url__" else name for name in self.of]
        return {"kind": self.kind, "of": names}


@dataclass(frozen=True)
class Pipeline:
    """A pipeline as the core runs it.

    name          of its class
    urls          shards
    resampled     None, or the draws of shards at random, without end or so many a round
    shard_stages, stages, not_empty, rounds, limit, batch, partial   of the core's orders
    keys          of samples that are dicts; None: they are tuples
    images        and columns: of batches
    places        of each of a sample's entries, the number of its image, or of its column behind the images
    raising       errors of samples and shards are raised; else they are left out
    rows          (what, why) of each stage, for explain()
    dataset       itself, which is asked for errors
    """

    name: str
    urls: tuple[str, ...]
    resampled: tuple[Draws, int, bool] | None
    shard_stages: tuple[Stage, ...]
    stages: tuple[Stage, ...]
    not_empty: bool
    rounds: int
    limit: int
    batch: int
    partial: bool
    keys: tuple[str, ...] | None
    images: tuple[Image, ...]
    columns: tuple[Column, ...]
    places: tuple[int, ...]
    rows: tuple[tuple[str, str], ...] = field(compare=False)
    dataset: Any = field(compare=False)

    @property
    def remote(self) -> bool:
        """Whether shards are in stores that have to be reached."""
        return any(map(is_url, self.urls))

    @property
    def draws(self) -> list[Draws]:
        """Those of all shuffles."""
        return [stage.draws for stage in (*self.shard_stages, *self.stages) if stage.draws is not None]

    @property
    def counters(self) -> list[Any]:
        """The objects that count epochs."""
        counted = [draws.by for draws in self.draws if draws.kind == "each"]
        return counted + ([] if self.resampled is None else [self.resampled[0].by])

    def files(self) -> int:
        """About how many files its shards have whose places are known: as many as photos of 64 KiB."""
        if len(self.urls) > _SHARDS_LOOKED_AT:
            return 0
        size = 0
        for url in self.urls:
            if not is_url(url) and not url.startswith("pipe:"):
                with contextlib.suppress(OSError, ValueError):
                    size += os.path.getsize(url)
        return min((size >> 16) + 64, _FILES_MAX) if size else 0

    @property
    def fields(self) -> int:
        """Arrays in a batch of the core's."""
        return len(self.images) + sum(1 if column.kind == "int" else 2 for column in self.columns)

    def to_plan(self) -> dict[str, Any]:
        return {
            "kind": "stream",
            "images": [image.to_plan() for image in self.images],
            "columns": [column.to_plan() for column in self.columns],
        }

    def order(self, lane: int, lanes: int, epoch: int) -> dict[str, Any]:
        """What a lane does in an epoch, but for the names of shards."""
        made: dict[str, Any] = {
            "shard_stages": [stage.order(lane, lanes, epoch) for stage in self.shard_stages],
            "stages": [stage.order(lane, lanes, epoch) for stage in self.stages],
            "not_empty": self.not_empty,
            "rounds": self.rounds,
            "limit": self.limit,
            "batch": self.batch,
            "partial": self.partial,
        }
        if self.resampled is not None:
            draws, count, made_seed = self.resampled
            made["resample"] = {"count": count, "draws": {"seed": draws.of} if made_seed else draws.order(epoch)}
            if made_seed:
                rank = worker_info()[0]
                made["resample"] |= {
                    "made": True,
                    "worker": rank * 1000 + lane,
                    "epoch": draws.by.epoch + 1 + epoch,
                }
        return made

    def shards(self) -> dict[str, Any]:
        """The rest of an order."""
        return {"shards": list(self.urls), "environment": environment_of(self.urls)}

    def values(self, column: int, contents: list[bytes]) -> list[Any]:
        """What samples have in a column that is no number."""
        of = self.columns[column]
        if of.of == ("__url__",):
            made: list[Any] = [self.urls[int(content)] for content in contents]
        else:
            convert = _CONVERTERS[of.kind]
            made = [convert(content) for content in contents]
        for function in of.functions:
            made = [function(each) for each in made]
        return made


def environment_of(urls: Sequence[str]) -> list[str]:
    """What commands among shards find in their environment."""
    pipes = any(url.startswith("pipe:") for url in urls)
    return [f"{name}={value}" for name, value in os.environ.items()] if pipes else []
