"""What users see of workers, wherever they run."""

from __future__ import annotations

import os
import random
import re
import signal
import sys
import traceback
import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import twins
from arguments import runs
from table import OWN, Kind, Own, World, behaviour
from torch.utils import data
from twins import Program


class Told(data.Dataset[Any]):
    """Samples that tell what a worker knows of itself."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> Any:
        info = data.get_worker_info()
        if info is None:
            return index, -1, -1, -1, os.getpid()
        assert info.dataset is not self or info.id < info.num_workers
        assert torch.initial_seed() == info.seed
        return index, info.id, info.num_workers, info.seed, os.getpid()


@behaviour("`get_worker_info()`", "id, number, seed and dataset in a worker, None outside", doors=OWN)
def worker_info(kind: Kind, world: World) -> Any:
    torch.manual_seed(5)
    found = [[tuple(sample[:-1]) for sample in kind(Told(), batch_size=None, num_workers=n)] for n in (0, 1, 3)]
    iterator = iter(kind(Told(), batch_size=None, num_workers=2))
    pids = [sample[-1] for sample in iterator]
    return found, [pids.index(worker.pid) for worker in iterator._workers], data.get_worker_info()


class Drawn(data.Dataset[Any]):
    """Samples that draw from everything."""

    def __len__(self) -> int:
        return 9

    def __getitem__(self, index: int) -> Any:
        return torch.rand(2), np.random.rand(), random.random()


@behaviour("random numbers in workers", "torch, numpy and random are seeded by worker, anew in each epoch", doors=OWN)
def seeds(kind: Kind, world: World) -> Any:
    found = []
    for persistent in (False, True):
        torch.manual_seed(1)
        loader = kind(Drawn(), batch_size=2, num_workers=2, persistent_workers=persistent)
        found += [[twins.bits(batch) for batch in loader] for _ in range(2)]
    return found


class Shard(data.IterableDataset[Any]):
    """Numbers, split over the workers; unequal shares."""

    def __init__(self, length: int | None = None) -> None:
        self.length = length

    def __iter__(self) -> Iterator[int]:
        info = data.get_worker_info()
        if info is None:
            yield from range(11)
        else:
            yield from range(info.id * 7, 11 if info.id else 7)


class Sized(Shard):
    def __len__(self) -> int:
        assert self.length is not None
        return self.length


@behaviour("`IterableDataset`", "each worker iterates its copy; short tails are kept or dropped by worker", doors=OWN)
def iterable(kind: Kind, world: World) -> Any:
    variants: tuple[dict[str, Any], ...] = (
        {"batch_size": 3},
        {"batch_size": 3, "drop_last": True},
        {"batch_size": None},
        {"batch_size": 2, "persistent_workers": True},
    )
    found = []
    for variant in variants:
        for n in (2,) if "persistent_workers" in variant else (0, 2):
            found.append(twins.run(kind, Program(twins.loader_of(Shard(), num_workers=n, **variant))))
    wrong = []
    for more in ({"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}):
        try:
            kind(Shard(), **more)
        except ValueError as error:
            wrong.append(str(error))
    return found, wrong


@behaviour(
    "length of an `IterableDataset`", "estimated; a warning for each batch beyond it once it was asked", doors=OWN
)
def length_warnings(kind: Kind, world: World) -> Any:
    found: list[Any] = []
    for length, batch_size, n in ((4, 1, 0), (4, None, 0), (9, 2, 0), (3, 2, 2), (99, 3, 2)):
        loader = kind(Sized(length), batch_size=batch_size, num_workers=n)
        found.append(twins.warned(lambda loader=loader: list(loader)))
        found.append(len(loader))
        found.append([re.sub("0x[0-9a-f]+", "", text) for _, text in twins.warned(lambda loader=loader: list(loader))])
    try:
        len(kind(Shard()))
    except TypeError as error:
        found.append(str(error))
    return found


class AtOnce(Own):
    """Has __getitems__."""

    def __getitems__(self, indices: Any) -> Any:
        return [(self.inner[i][0], len(indices)) for i in indices]


class Whole(Own):
    def __getitems__(self, indices: Any) -> Any:
        return torch.tensor(indices) * 2  # not a list: collate_fn gets it as it is


@behaviour("`__getitems__`", "called with the batch's indices, its result goes to collate_fn as it is", doors=OWN)
def getitems(kind: Kind, world: World) -> Any:
    inner = world.dataset().inner
    found = runs(kind, World("native", world.root, world.folder), {"batch_size": 5}, epochs=1)
    for make in (AtOnce, Whole):
        for n in (0, 2):
            for more in ({"batch_size": 5}, {"batch_size": None}):
                how = {"collate_fn": (lambda: lambda batch: batch)} if make is Whole else {}
                program = Program(twins.loader_of(make(inner), num_workers=n, **more, **how), epochs=1)
                found.append(twins.run(kind, program))
    return found


class Keyed(data.Dataset[Any]):
    def __getitem__(self, key: Any) -> Any:
        return str(key)


@behaviour("indices of any kind", "whatever a sampler yields reaches the dataset: strings, lists, tuples", doors=OWN)
def keys(kind: Kind, world: World) -> Any:
    found = []
    for n in (0, 2):
        for how in ({"sampler": ["a", "b", 3.5]}, {"batch_sampler": [[("x", 1), "y"], ["z"]]}):
            found.append(list(kind(Keyed(), num_workers=n, **how)))
        found.append(list(kind(Keyed(), batch_size=None, num_workers=n, sampler=[[1, 2], [3]])))
    return found


class Unusual(Exception):
    """Not to be made of one text."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(a, b)


class Messaged(Exception):
    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Failing(data.Dataset[Any]):
    errors: tuple[Callable[[], BaseException], ...] = (
        lambda: KeyError("who"),
        lambda: Unusual(1, 2),
        lambda: Messaged("well"),
        lambda: UnicodeDecodeError("utf-8", b"x", 0, 1, "no"),
        lambda: ValueError("first", "second"),
    )

    def __len__(self) -> int:
        return 2 * len(self.errors)

    def __getitem__(self, index: int) -> Any:
        if index % 2:
            raise self.errors[index // 2]()
        return index


@behaviour("errors", "the user's class with torch's text and the user's traceback; the next batch comes all the same")
def errors(kind: Kind, world: World) -> Any:
    found: list[Any] = []
    if world.door == "native":
        dataset = world.dataset()
        dataset.samples[3] = (str(world.folder / "missing.jpg"), 0)
        for n in (0, 2):
            found.append(twins.run(kind, Program(twins.loader_of(dataset, batch_size=3, num_workers=n), draw=True)))
        return found
    for n in (0, 2):
        found.append(twins.run(kind, Program(twins.loader_of(Failing(), num_workers=n), epochs=1)))
        iterator = iter(kind(Failing(), num_workers=n))
        next(iterator)
        try:
            next(iterator)
        except KeyError as error:
            text = "".join(traceback.format_exception(error))
            # The line of the user's own that failed.
            found.append("raise self.errors[index // 2]()" in text)
        if n:
            iterator._shutdown_workers()
    return found


class Dying(data.Dataset[Any]):
    def __init__(self, way: str) -> None:
        self.way = way

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> Any:
        if index == 3:
            if self.way == "exit":
                os._exit(7)
            os.kill(os.getpid(), getattr(signal, self.way))
        return index


@behaviour("a worker that dies", "RuntimeError in torch's words, at once; never a hang", doors=OWN)
def deaths(kind: Kind, world: World) -> Any:
    found = []
    for way in ("SIGKILL", "SIGTERM", "exit"):
        iterator = iter(kind(Dying(way), batch_size=2, num_workers=1))
        try:
            list(iterator)
        except RuntimeError as error:
            # Torch has two words for it, whichever of two watchers comes first.
            text = re.sub(r"\(pids?(\(s\))? \d+\)|\(pid \d+\)", "(pid)", str(error))
            found.append(re.sub("(exited unexpectedly|is killed by signal).*", "is dead", text, flags=re.DOTALL))
        iterator._shutdown_workers()
    return found


@behaviour("leaving an epoch early", "no worker, goroutine or thread stays; the next epoch begins as torch's")
def early(kind: Kind, world: World) -> Any:
    found = runs(kind, world, {"batch_size": 4, "shuffle": True}, epochs=3, leave=(1, 0, None))
    iterator = iter(kind(world.dataset(), num_workers=2))
    next(iterator)
    workers = list(getattr(iterator, "_workers", ()))
    del iterator
    for worker in workers:
        worker.join(20)
    return found, [worker.is_alive() for worker in workers if worker.is_alive()]


@behaviour("several iterators of a loader", "independent of each other, unless workers are persistent")
def several(kind: Kind, world: World) -> Any:
    found = []
    for n in (0, 2):
        torch.manual_seed(2)
        loader = kind(world.dataset(), batch_size=5, shuffle=True, num_workers=n)
        first, second = iter(loader), iter(loader)
        for _ in range(2):
            found += [twins.bits(next(first)), twins.bits(next(second))]
        found += [[twins.bits(batch) for batch in rest] for rest in (second, first)]
    return found


class Remembers(data.Dataset[Any]):
    """A worker's copy changes as it is used."""

    def __init__(self) -> None:
        self.seen = 0

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> int:
        self.seen += 1
        return self.seen


@behaviour("the dataset in workers", "a copy: persistent workers keep it, others start anew", doors=OWN)
def copies(kind: Kind, world: World) -> Any:
    found = []
    for n, persistent in ((0, False), (2, False), (2, True)):
        dataset = Remembers()
        loader = kind(dataset, num_workers=n, persistent_workers=persistent)
        found += [[int(seen) for seen in loader] for _ in range(2)] + [dataset.seen]
        if persistent:
            loader._iterator._shutdown_workers()
    return found


Point = namedtuple("Point", "x y")


class Structured(data.Dataset[Any]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> Any:
        return OrderedDict(
            point=Point(i, [float(i), str(i)]),
            arrays=(np.float32(i), np.full((2,), i, np.int16), torch.tensor(i, dtype=torch.bfloat16)),
            more={"flag": bool(i % 2), "complex": torch.tensor(1j * i), "bytes": b"x" * i},
        )


def shape(batch: Any) -> Any:
    if isinstance(batch, dict):
        return type(batch).__name__, {name: shape(value) for name, value in batch.items()}
    if isinstance(batch, list | tuple):
        return type(batch).__name__, [shape(value) for value in batch]
    return twins.bits(batch)


@behaviour(
    "structures of samples", "dicts, namedtuples, lists, strings, numpy, any dtype: torch's default_collate", doors=OWN
)
def structures(kind: Kind, world: World) -> Any:
    found = []
    for n in (0, 2):
        for size in (3, None):
            found.append([shape(batch) for batch in kind(Structured(), batch_size=size, num_workers=n)])
    return found


@behaviour("too many workers", "torch's warning, when a loader is made")
def too_many(kind: Kind, world: World) -> Any:
    return twins.warned(lambda: kind(world.dataset(), num_workers=500))


@behaviour("attributes", "torch's; those that may not change after the loader was made cannot")
def attributes(kind: Kind, world: World) -> Any:
    loader = kind(world.dataset(), batch_size=5, num_workers=2)
    said = []
    for name in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"):
        try:
            setattr(loader, name, None)
        except ValueError as error:
            said.append(str(error))
    loader.num_workers, loader.prefetch_factor, loader.timeout = 1, 4, 20
    return (
        said,
        [twins.bits(b)[1][1] for b in loader],
        len(loader),
        sorted(vars(loader).keys() - {"seek_index", "_goloader"}),
    )


@behaviour("a loader inside a worker", "works: as torch's, without workers of its own", doors=OWN)
def nested(kind: Kind, world: World) -> Any:
    inner = world.dataset().inner

    class Outer(data.Dataset[Any]):
        def __len__(self) -> int:
            return 2

        def __getitem__(self, index: int) -> Any:
            return next(iter(kind(inner, batch_size=4)))[1]

    return [twins.bits(batch) for batch in kind(Outer(), num_workers=1)]


@behaviour("batches", "ordinary tensors: writable, kept as long as you like, never overwritten")
def kept(kind: Kind, world: World) -> Any:
    found = []
    for n in (0, 2):
        torch.manual_seed(3)
        batches = list(kind(world.dataset(), batch_size=5, num_workers=n))
        before = [twins.bits(batch) for batch in batches]
        batches[0][0].mul_(2)
        found.append((before[1:] == [twins.bits(batch) for batch in batches][1:], before))
    return found


@behaviour(
    "worker processes",
    "`iter(loader)._workers`",
    differs="there are none: goroutines, which need no start and no pickling",
    instead=lambda theirs: (0, theirs[1]),
)
def processes(kind: Kind, world: World) -> Any:
    iterator = iter(kind(world.dataset(), batch_size=5, num_workers=2))
    return len(iterator._workers), len(list(iterator))


@behaviour(
    "shared memory",
    "`batch.is_shared()` of a worker's batch",
    doors=("native",),
    differs="False: it crossed from no other process",
    instead=lambda theirs: (theirs[0], False),
)
def shared(kind: Kind, world: World) -> Any:
    return tuple(next(iter(kind(world.dataset(), batch_size=5, num_workers=n)))[0].is_shared() for n in (0, 2))


@behaviour("profilers", "the range `enumerate(DataLoader)#...` that profiling tools look for")
def profiled(kind: Kind, world: World) -> Any:
    found = []
    for n in (0, 1):
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            next(iter(kind(world.dataset(), num_workers=n)))
        found.append(sum(e.count for e in profile.key_averages() if e.key.startswith("enumerate(DataLoader)#")))
    return found


@behaviour("Ctrl-C", "KeyboardInterrupt at once, and the loader can be used again")
def interrupted(kind: Kind, world: World) -> Any:
    found = []
    for n in (0, 2):
        loader = kind(world.dataset(), batch_size=5, num_workers=n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            iterator = iter(loader)
            next(iterator)
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                found.append("interrupted")
            del iterator
        found.append(len(list(loader)))
    assert sys.exc_info() == (None, None, None)
    return found
