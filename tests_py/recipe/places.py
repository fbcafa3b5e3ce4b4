"""Places in which a dataset may keep a random generator, or a state, and code of it that uses them.

`python -m tests_py.recipe.places FOLDER` runs each in a process of its own under torch's loader, in another under
goloader's, and prints what differs, as JSON.
"""

from __future__ import annotations

import array
import collections
import contextvars
import ctypes
import dataclasses
import functools
import gc
import hashlib
import itertools
import json
import multiprocessing
import os
import queue
import random
import sys
import threading
import types
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
import torchvision.transforms.functional as F
from PIL import Image
from torch.utils import data

# What processes share: the order in which workers come to it is anybody's.
SHARED = {"a_shared_tensor", "a_value_of_multiprocessing", "an_open_file", "an_open_file_without_buffer", "a_log"}

Number = Callable[[int], Any]
PLACES: dict[str, Callable[[], Number]] = {}
COUNT = 40


def place(make: Callable[[], Number]) -> Callable[[], Number]:
    PLACES[make.__name__] = make
    return make


class Slotted:
    __slots__ = ("count", "generator")


class Holder:
    pass


Pair = collections.namedtuple("Pair", "name generator")


@dataclasses.dataclass
class Table:
    rows: Any


MODULE = types.ModuleType("module_of_a_user")
LOCAL = threading.local()
CONTEXT: contextvars.ContextVar[Any] = contextvars.ContextVar("generator")


# Random generators


@place
def behind_a_hundred_records() -> Number:
    rows = [[float(i)] * 20 for i in range(150)]
    rows.append([random.Random(1)])  # type: ignore[list-item]
    return lambda i: rows[-1][0].random()  # type: ignore[attr-defined]


@place
def in_slots() -> Number:
    holder = Slotted()
    holder.generator = np.random.default_rng(2)
    return lambda i: holder.generator.random()


@place
def in_a_set() -> Number:
    held = {random.Random(3)}
    return lambda i: next(iter(held)).random()


@place
def in_a_deque() -> Number:
    held = collections.deque([np.random.RandomState(4)])
    return lambda i: held[0].rand()


@place
def in_a_namedtuple() -> Number:
    held = Pair("a", torch.Generator().manual_seed(5))
    return lambda i: torch.rand(1, generator=held.generator).item()


@place
def in_a_subclass_of_list() -> Number:
    held = type("Mine", (list,), {})([random.Random(6)])
    return lambda i: held[0].random()


@place
def in_a_subclass_of_dict() -> Number:
    held = type("Mine", (dict,), {})(a=random.Random(7))
    return lambda i: held["a"].random()


@place
def ten_levels_down() -> Number:
    held: Any = random.Random(8)
    for _ in range(10):
        held = [held]

    def number(i: int) -> Any:
        found = held
        while isinstance(found, list):
            found = found[0]
        return found.random()

    return number


@place
def made_when_needed() -> Number:
    holder = Holder()

    def number(i: int) -> Any:
        if not hasattr(holder, "generator"):
            holder.generator = np.random.default_rng(9)  # type: ignore[attr-defined]
        return holder.generator.random()  # type: ignore[attr-defined]

    return number


@place
def attribute_of_a_module() -> Number:
    MODULE.generator = random.Random(10)  # type: ignore[attr-defined]
    return lambda i: MODULE.generator.random()


@place
def imported_in_the_method() -> Number:
    sys.modules["module_of_a_user"] = MODULE
    MODULE.generator = np.random.default_rng(11)  # type: ignore[attr-defined]

    def number(i: int) -> Any:
        import module_of_a_user  # type: ignore[import-not-found]

        return module_of_a_user.generator.random()

    return number


@place
def in_thread_locals() -> Number:
    LOCAL.generator = random.Random(12)
    return lambda i: LOCAL.generator.random()


@place
def in_a_context_variable() -> Number:
    CONTEXT.set(random.Random(13))
    return lambda i: CONTEXT.get().random()


@place
def a_cached_property() -> Number:
    class Mine:
        @functools.cached_property
        def generator(self) -> Any:
            return random.Random(14)

    mine = Mine()
    return lambda i: mine.generator.random()


@place
def behind_lru_cache() -> Number:
    @functools.lru_cache
    def generator() -> Any:
        return np.random.default_rng(15)

    return lambda i: generator().random()


@place
def opencv_s_own() -> Number:
    cv2.setRNGSeed(16)
    return lambda i: cv2.randu(np.zeros(1, np.float32), 0, 1).item()


@place
def opencv_s_normal() -> Number:
    cv2.setRNGSeed(17)
    return lambda i: cv2.randn(np.zeros(1, np.float32), 0, 1).item()


@place
def of_the_c_library() -> Number:
    libc = ctypes.CDLL(None)
    libc.srand(18)
    return lambda i: libc.rand()


@place
def bound_method_of_a_generator() -> Number:
    draw = random.Random(19).random
    return lambda i: draw()


@place
def python_s_and_numpy_s() -> Number:
    return lambda i: (random.random(), float(np.random.rand()), torch.rand(1).item())


@place
def numpy_shuffles_an_array_of_its_own() -> Number:
    numbers = np.arange(1000)

    def number(i: int) -> Any:
        np.random.shuffle(numbers)
        return int(numbers[0])

    return number


@place
def a_generator_function() -> Number:
    def draws() -> Any:
        generator = random.Random(20)
        while True:
            yield generator.random()

    made = draws()
    return lambda i: next(made)


# States


@place
def a_large_array() -> Number:
    seen = np.zeros(5000, np.int64)

    def number(i: int) -> Any:
        seen[i] += 1
        return int(seen.sum())

    return number


@place
def a_large_tensor() -> Number:
    seen = torch.zeros(5000)

    def number(i: int) -> Any:
        seen[i] += 1
        return seen.sum().item()

    return number


@place
def a_shared_tensor() -> Number:
    seen = torch.zeros(10).share_memory_()

    def number(i: int) -> Any:
        seen[0] += 1
        return seen[0].item()

    return number


@place
def a_value_of_multiprocessing() -> Number:
    count = multiprocessing.Value("q", 0)

    def number(i: int) -> Any:
        with count.get_lock():
            count.value += 1
        return count.value

    return number


@place
def a_bytearray() -> Number:
    held = bytearray(8)

    def number(i: int) -> Any:
        held[0] = (held[0] + 1) % 256
        return held[0]

    return number


@place
def an_array_array() -> Number:
    held = array.array("q", [0])

    def number(i: int) -> Any:
        held[0] += 1
        return held[0]

    return number


@place
def a_long_list() -> Number:
    held = list(range(200_000))

    def number(i: int) -> Any:
        held[i] += 1
        return held[i]

    return number


@place
def pops_from_a_list() -> Number:
    held = list(range(1000))
    return lambda i: held.pop()


@place
def a_large_dict() -> Number:
    held = dict.fromkeys(range(200_000), 0)

    def number(i: int) -> Any:
        held[i] += 1
        return held[i]

    return number


@place
def a_simple_namespace() -> Number:
    held = types.SimpleNamespace(count=0)

    def number(i: int) -> Any:
        held.count += 1
        return held.count

    return number


@place
def a_slot() -> Number:
    held = Slotted()
    held.count = 0

    def number(i: int) -> Any:
        held.count += 1
        return held.count

    return number


@place
def an_attribute_of_a_function() -> Number:
    def number(i: int) -> Any:
        number.count = getattr(number, "count", 0) + 1  # type: ignore[attr-defined]
        return number.count  # type: ignore[attr-defined]

    return number


@place
def an_attribute_of_a_class() -> Number:
    def number(i: int) -> Any:
        Holder.count = getattr(Holder, "count", 0) + 1  # type: ignore[attr-defined]
        return Holder.count  # type: ignore[attr-defined]

    return number


@place
def an_attribute_of_a_library_s_module() -> Number:
    def number(i: int) -> Any:
        np.count_of_a_user = getattr(np, "count_of_a_user", 0) + 1  # type: ignore[attr-defined]
        return np.count_of_a_user  # type: ignore[attr-defined]

    return number


@place
def the_environment() -> Number:
    def number(i: int) -> Any:
        os.environ["COUNT"] = str(int(os.environ.get("COUNT", "0")) + 1)
        return int(os.environ["COUNT"])

    return number


@place
def appears_late() -> Number:
    seen: list[int] = []
    holder = Holder()

    def number(i: int) -> Any:
        seen.append(i)
        if len(seen) > 10:
            holder.late = getattr(holder, "late", 0) + 1  # type: ignore[attr-defined]
        return len(seen), getattr(holder, "late", 0)

    return number


@place
def a_running_mean() -> Number:
    mean = np.zeros(4096)

    def number(i: int) -> Any:
        mean[:] = 0.9 * mean + 0.1 * i
        return float(mean[0])

    return number


@place
def a_queue() -> Number:
    held: queue.Queue[int] = queue.Queue()
    for i in range(1000):
        held.put(i)
    return lambda i: held.get()


@place
def a_counter_of_itertools() -> Number:
    count = itertools.count()
    return lambda i: next(count)


@place
def weak_references() -> Number:
    held: Any = weakref.WeakValueDictionary()
    kept: list[Any] = []

    def number(i: int) -> Any:
        kept.append(Table(i))
        held[len(kept)] = kept[-1]
        return len(held)

    return number


@place
def an_open_file() -> Number:
    with open("numbers.txt", "w") as file:
        file.write("\n".join(map(str, range(1000))))
    held = open("numbers.txt")  # noqa: SIM115, as a dataset keeps it
    return lambda i: int(held.readline())


@place
def an_open_file_without_buffer() -> Number:
    with open("bytes.bin", "wb") as file:
        file.write(bytes(range(256)) * 40)
    held = open("bytes.bin", "rb", buffering=0)  # noqa: SIM115
    return lambda i: held.read(1)[0]


@place
def a_log() -> Number:
    held = open("log.txt", "a+")  # noqa: SIM115

    def number(i: int) -> Any:
        held.write(f"{i}\n")
        held.flush()
        return os.path.getsize("log.txt")

    return number


# Caches


@place
def a_cache_of_arrays_that_change() -> Number:
    kept: dict[int, Any] = {}

    def number(i: int) -> Any:
        if i not in kept:
            kept[i] = np.array(Image.open(f"{i}.jpg").convert("RGB"))
        kept[i] ^= 1
        return int(kept[i].sum())

    return number


@place
def a_cache_of_tensors_that_change() -> Number:
    kept: dict[int, Any] = {}

    def number(i: int) -> Any:
        if i not in kept:
            kept[i] = F.to_tensor(Image.open(f"{i}.jpg").convert("RGB"))
        kept[i].mul_(0.5)
        return kept[i].clone()

    return number


@place
def lru_cache_of_images() -> Number:
    @functools.cache
    def opened(i: int) -> Any:
        return np.array(Image.open(f"{i}.jpg").convert("RGB"))

    return lambda i: torch.from_numpy(opened(i)).float().mean(0)


@place
def a_cache_that_begins_late() -> Number:
    kept: dict[int, Any] = {}
    calls: list[int] = []

    def number(i: int) -> Any:
        calls.append(i)
        if i in kept:
            kept[i] += 1
            return torch.from_numpy(kept[i].copy())
        image = np.array(Image.open(f"{i}.jpg").convert("RGB"))
        if len(calls) > COUNT // 2:
            kept[i] = image
        return torch.from_numpy(image.copy())

    return number


class Pictures(data.Dataset[Any]):
    def __init__(self, number: Number) -> None:
        self.number = number

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, i: int) -> Any:
        image = F.to_tensor(Image.open(f"{i}.jpg").convert("RGB").resize((20, 20)))
        return image, self.number(i)


def fill(folder: Path) -> None:
    numbers = np.random.default_rng(0)
    for i in range(COUNT):
        pixels = numbers.integers(0, 256, (6, 8, 3), dtype=np.uint8)
        Image.fromarray(pixels).resize((64, 48), Image.Resampling.BICUBIC).save(folder / f"{i}.jpg")


def epochs(name: str, ours: bool, workers: int) -> list[Any]:
    """Digests of the batches of three epochs, and of all generators."""
    torch.manual_seed(7)
    random.seed(7)
    np.random.seed(7)
    dataset = Pictures(PLACES[name]())
    loader: Any
    if ours:
        import goloader

        loader = goloader.DataLoader(dataset, 5, shuffle=True, num_workers=workers, persistent_workers=workers > 0)
    else:
        loader = data.DataLoader(dataset, 5, shuffle=True, num_workers=workers, persistent_workers=workers > 0)
    digests = []
    for _ in range(3):
        for images, numbers in loader:
            digest = hashlib.sha256(images.numpy().tobytes())
            digest.update(repr([each.tolist() for each in torch.utils._pytree.tree_leaves(numbers)]).encode())
            digests.append(digest.hexdigest())
    return [digests, torch.rand(1).item(), random.random(), float(np.random.rand())]


def run(name: str, ours: bool, workers: int, folder: Path) -> Any:
    """What epochs() gives in a process of its own."""
    ready, answer = os.pipe()
    if os.fork() == 0:
        try:
            os.chdir(folder)
            for left in ("log.txt",):
                Path(left).unlink(missing_ok=True)
            value: Any = epochs(name, ours, workers)
        except BaseException as error:
            value = f"{type(error).__name__}: {error}"
        with open(answer, "w") as file:
            json.dump(value, file)
        os._exit(0)
    os.close(answer)
    with open(ready) as told:
        text = told.read()
    os.wait()
    return json.loads(text) if text else "it died"


def main() -> None:
    """Prints {place: what differs} of all places, or of those that are named behind the folder."""
    folder = Path(sys.argv[1])
    fill(folder)
    torch.set_num_threads(1)
    # A child that ends looks through all objects that may be in cycles, and copies the memory they are in.
    gc.collect()
    gc.freeze()
    different = {}
    for name in sys.argv[2:] or PLACES:
        for workers in (0, 1 if name in SHARED else 2):
            theirs, ours = (run(name, each, workers, folder) for each in (False, True))
            if theirs != ours or isinstance(theirs, str):
                different[f"{name}, {workers} workers"] = [str(theirs)[:200], str(ours)[:200]]
    json.dump(different, sys.stdout)


if __name__ == "__main__":
    main()
