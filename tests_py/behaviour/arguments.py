"""What each argument of DataLoader does."""

from __future__ import annotations

import multiprocessing
import random
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import photos
import torch
import twins
from table import BOTH, Kind, World, argument
from torch.utils import data
from twins import Program

WORKERS = (0, 2)


def runs(kind: Kind, world: World, *variants: dict[str, Any], workers: tuple[int, ...] = WORKERS, **more: Any) -> Any:
    """The events of two epochs for each variant of the arguments; functions among these are called for each run."""
    return [
        twins.run(kind, Program(twins.loader_of(world.dataset(), num_workers=n, **variant), draw=True, **more))
        for variant in variants
        for n in workers
    ]


def refused(kind: Kind, *variants: dict[str, Any]) -> list[Any]:
    """How the class refuses arguments."""
    said: list[Any] = []
    for arguments in variants:
        try:
            kind(**arguments)
        except Exception as error:
            said.append((type(error).__name__, str(error)))
        else:
            said.append(None)
    return said


@argument("dataset", "anything with `__getitem__`, and `__len__` for the samplers that want it")
def dataset(kind: Kind, world: World) -> Any:
    found = runs(kind, world, {"batch_size": 5})
    if world.door == "own":
        arrays, text, items = np.arange(12).reshape(6, 2), "abcdef", {n: n * n for n in range(6)}
        found += [list(map(twins.bits, kind(any_, batch_size=4))) for any_ in (arrays, text, items, range(6))]
    return found


@argument("batch_size", "samples a batch, the last may have fewer; wrong values are refused")
def batch_size(kind: Kind, world: World) -> Any:
    wrong = ({"dataset": world.dataset(), "batch_size": size} for size in (0, -1, True, 1.5, "3"))
    return runs(kind, world, {"batch_size": 1}, {"batch_size": 7}, {"batch_size": 99}), refused(kind, *wrong)


@argument("batch_size", "samples one by one, as default_convert gives them", case="=None")
def batch_size_none(kind: Kind, world: World) -> Any:
    return runs(kind, world, {"batch_size": None}, {"batch_size": None, "sampler": lambda: [3, 1]})


@argument("shuffle", "the same permutation for the same seed, drawn at the same moment from the same generator")
def shuffle(kind: Kind, world: World) -> Any:
    empty = {"dataset": [], "shuffle": True}
    return runs(kind, world, {"batch_size": 5, "shuffle": True}, leave=(None, 2), epochs=3), refused(kind, empty)


class Backwards:
    """A sampler of the user's own, without a length."""

    def __iter__(self) -> Iterator[int]:
        return iter(range(9, -1, -1))


class Generated(data.Sampler[int]):
    """A sampler whose __iter__ is a generator that draws."""

    def __len__(self) -> int:
        return 10

    def __iter__(self) -> Iterator[int]:
        for _ in range(10):
            yield int(torch.randint(24, ()))


@argument("sampler", "torch's, a list, your own with or without a length, generators that draw as they go")
def sampler(kind: Kind, world: World) -> Any:
    variants = (
        lambda: data.WeightedRandomSampler(list(range(1, 25)), 10),
        lambda: data.SubsetRandomSampler(range(3, 20)),
        lambda: data.RandomSampler(range(24), replacement=True, num_samples=40),
        lambda: [5, 3, -1, 3],
        Backwards,
        Generated,
        lambda: (n for n in (4, 2)),
    )
    both = {"dataset": world.dataset(), "sampler": [1], "shuffle": True}
    return runs(kind, world, *({"batch_size": 4, "sampler": v} for v in variants)), refused(kind, both)


class Batches:
    """Batches of growing size."""

    def __iter__(self) -> Iterator[list[int]]:
        for size in range(1, 5):
            yield torch.randint(24, (size,)).tolist()


@argument("batch_sampler", "torch's, lists, generators, tensors, batches of any size; excludes what it replaces")
def batch_sampler(kind: Kind, world: World) -> Any:
    variants = (
        lambda: [[1, 2], [3], [4, 5, 6]],
        lambda: ((n, n + 1) for n in range(4)),
        lambda: iter([torch.tensor([3, 1]), np.array([2, 2])]),
        lambda: data.BatchSampler(data.RandomSampler(range(24)), 7, True),
        Batches,
    )
    excluded = ({"batch_size": 3}, {"shuffle": True}, {"sampler": [1]}, {"drop_last": True}, {"batch_size": None})
    wrong = ({"dataset": world.dataset(), "batch_sampler": [[1]], **more} for more in excluded)
    return runs(kind, world, *({"batch_sampler": v} for v in variants)), refused(kind, *wrong)


@argument("num_workers", "as many random streams; batch k comes from worker k mod num_workers")
def num_workers(kind: Kind, world: World) -> Any:
    found = runs(kind, world, {"batch_size": 3, "shuffle": True}, workers=(1, 2, 3))
    return found, refused(kind, {"dataset": [1], "num_workers": -1}, {"dataset": [1], "num_workers": "two"})


@argument(
    "num_workers",
    "as many as cores and costs suggest, an int from then on",
    case='="auto"',
    differs="an int, by cores and costs; torch refuses a string",
    differs_for=BOTH,
    instead=lambda theirs: [None],
)
def num_workers_auto(kind: Kind, world: World) -> Any:
    return refused(kind, {"dataset": world.dataset(), "num_workers": "auto"})


def stacked(samples: list[Any]) -> Any:
    return {"images": torch.stack([image for image, _ in samples]), "count": len(samples), "p": random.random()}


@argument("collate_fn", "gets the list of samples, runs in the worker, returns what it likes", native=None)
def collate_fn(kind: Kind, world: World) -> Any:
    variants = ({"batch_size": 5, "collate_fn": lambda f=f: f} for f in (lambda samples: len(samples), tuple))
    random.seed(4)
    torch.manual_seed(4)
    found = [[(sorted(b), b["count"], twins.bits(b["images"])) for b in kind(world.dataset(), 7, collate_fn=stacked)]]
    return found, runs(kind, world, *variants)


@argument("pin_memory", "without an accelerator torch's warning, once an iterator; with one, pinned tensors")
def pin_memory(kind: Kind, world: World) -> Any:
    def use() -> None:
        loader = kind(world.dataset(), batch_size=5, pin_memory=True, pin_memory_device="cuda")
        assert next(iter(loader))[0].is_pinned() == torch.accelerator.is_available()
        next(iter(loader))

    return twins.warned(use)


@argument("pin_memory_device", "torch's deprecation, and ignored")
def pin_memory_device(kind: Kind, world: World) -> Any:
    loader = kind(world.dataset(), pin_memory_device="cuda:7", pin_memory=True)
    return loader.pin_memory_device, twins.warned(lambda: iter(loader))


@argument("drop_last", "a short last batch is left out")
def drop_last(kind: Kind, world: World) -> Any:
    wrong = ({"dataset": [1], "drop_last": 1}, {"dataset": [1], "drop_last": True, "batch_size": None})
    return runs(kind, world, {"batch_size": 5, "drop_last": True}), refused(kind, *wrong)


class Sleeping(data.Dataset[int]):
    """Its sample 1 does not come, and has begun once sample 0 is on its way."""

    def __init__(self) -> None:
        self.begun = multiprocessing.Event()

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> int:
        if index == 1:
            self.begun.set()
            time.sleep(600)
        return index


@argument("timeout", "no batch for so many seconds: torch's RuntimeError; refused if negative, and without workers")
def timeout(kind: Kind, world: World) -> Any:
    found: list[Any] = [refused(kind, {"dataset": [1], "timeout": -1})]
    found += runs(kind, world, {"batch_size": 5, "timeout": 30}, workers=(2,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the iterator that was not finished
        try:
            iter(kind(world.dataset(), timeout=1))
        except AssertionError as error:
            found.append(str(error).replace("InlineIterator", ""))
    if world.door == "own":
        dataset = Sleeping()
        iterator = iter(kind(dataset, timeout=2, num_workers=1))
        dataset.begun.wait()
        found.append(next(iterator))
        try:
            next(iterator)
        except RuntimeError as error:
            found.append(str(error))
        for worker in iterator._workers:
            worker.kill()
            worker.join()
    return found


def reseed(worker_id: int) -> None:
    torch.manual_seed(77 + worker_id)


def seed_others(worker_id: int) -> None:
    seed = torch.initial_seed() % 2**32
    np.random.seed(seed)
    random.seed(seed)


def seed_by_drawing(worker_id: int) -> None:
    np.random.seed(int(torch.randint(2**31, ())))


def change_dataset(worker_id: int) -> None:
    info = data.get_worker_info()
    inner: Any = getattr(info.dataset, "inner", info.dataset)
    inner.samples = inner.samples[worker_id::2] * 2


def fail(worker_id: int) -> None:
    raise ValueError(f"not in worker {worker_id}")


@argument("worker_init_fn", "runs in each worker, behind the seeds, and may seed anew")
def worker_init_fn(kind: Kind, world: World) -> Any:
    functions = (reseed, seed_others, seed_by_drawing)
    variants = [{"batch_size": 5, "worker_init_fn": lambda f=f: f} for f in functions]
    found = runs(kind, world, *variants, {**variants[0], "persistent_workers": lambda: True}, workers=(2,))
    return found + runs(kind, world, {"worker_init_fn": lambda: fail, "batch_size": 5}, workers=(0,))


@argument("worker_init_fn", "changes the worker's copy", case="that changes the dataset", native=None)
def worker_init_fn_changes(kind: Kind, world: World) -> Any:
    return runs(kind, world, {"batch_size": 5, "worker_init_fn": lambda: change_dataset}, workers=(2,))


@argument("multiprocessing_context", "a start method or a context; torch's errors for anything else")
def multiprocessing_context(kind: Kind, world: World) -> Any:
    some = {"dataset": world.dataset(), "num_workers": 1}
    wrong = refused(
        kind,
        some | {"multiprocessing_context": "thread"},
        some | {"multiprocessing_context": 3},
        some | {"multiprocessing_context": "fork", "num_workers": 0},
    )
    variants = ({"batch_size": 8, "multiprocessing_context": method} for method in ("fork", "forkserver"))
    return wrong, [runs(kind, world, v, workers=(1,), epochs=1) for v in variants]


@argument("generator", "gives the order and the workers' seeds, as far as it has moved, epoch by epoch")
def generator(kind: Kind, world: World) -> Any:
    return runs(
        kind, world, {"batch_size": 5, "shuffle": True, "generator": twins.generator}, leave=(2, None), epochs=3
    )


@argument("prefetch_factor", "so many batches ahead a worker: indices are drawn that far; 2 by default, None without")
def prefetch_factor(kind: Kind, world: World) -> Any:
    drawn: list[int] = []

    def counting() -> Iterator[int]:
        for n in range(24):
            drawn.append(n)
            yield n

    ahead = []
    for factor in (None, 1, 3):
        drawn.clear()
        iterator = iter(kind(world.dataset(), sampler=counting(), num_workers=2, prefetch_factor=factor))
        for _ in range(3):
            ahead.append(len(drawn))
            next(iterator)
    wrong = ({"dataset": [1], "prefetch_factor": 2}, {"dataset": [1], "num_workers": 1, "prefetch_factor": -1})
    loaders = [kind([1], num_workers=n) for n in (0, 1)]
    return ahead, refused(kind, *wrong), [loader.prefetch_factor for loader in loaders]


@argument("persistent_workers", "workers, and their random numbers, live on: no new seeds, `iter()` is the same object")
def persistent_workers(kind: Kind, world: World) -> Any:
    arguments = {"batch_size": 5, "shuffle": True, "persistent_workers": lambda: True}
    loader = kind(world.dataset(), num_workers=1, persistent_workers=True)
    same = iter(loader) is iter(loader)
    loader._iterator._shutdown_workers()
    return runs(kind, world, arguments, workers=(2,), epochs=3, leave=(1, None, None)), same


class OneSlow(data.Dataset[int]):
    """Its sample 0 comes half a second after another worker has begun, however long it takes to start workers."""

    def __init__(self) -> None:
        self.begun = multiprocessing.Event()

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> int:
        if index == 0:
            self.begun.wait()
            time.sleep(0.5)
        else:
            self.begun.set()
        return index


@argument(
    "in_order",
    "False: batches come as they are ready; True: as the sampler gave them",
    differs="in order all the same, since goroutines share the work of one batch",
    instead=lambda theirs: [True, True],
)
def in_order(kind: Kind, world: World) -> Any:
    if world.door == "own":
        return [next(int(b) for b in kind(OneSlow(), num_workers=2, in_order=ordered)) for ordered in (True, False)]
    large = world.folder / "large.jpg"
    if not large.exists():
        photos.picture(6000, 6000, 1).save(large)
    dataset = world.dataset()
    dataset.samples = [(str(large), 0), *((path, n) for n, (path, _) in enumerate(dataset.samples[1:], 1))]
    loaders = (kind(dataset, num_workers=2, in_order=ordered) for ordered in (True, False))
    return [next(int(label) for _, label in loader) == 0 for loader in loaders]
