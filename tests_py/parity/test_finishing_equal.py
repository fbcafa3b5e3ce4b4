"""A collate_fn that goes on with default_collate's batch: Go makes that, Python mixes it, and all is as torch's is."""

from __future__ import annotations

import functools
import itertools
import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import photos
import pytest
import torch
from accelerator import Lent
from PIL import Image
from torch.utils import data
from torch.utils.data import default_collate, get_worker_info
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2
from twins import Program, batches, bits, check, compare, errors, loader_of, run, seed

import goloader
from goloader.plan.collates.finish import keeps

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")

SEED = int(os.environ.get("GOLOADER_FUZZ_SEED", "20261125"))
COUNT, CLASSES = 23, 3

mixup, cutmix = v2.MixUp(alpha=0.2, num_classes=CLASSES), v2.CutMix(alpha=1.0, num_classes=CLASSES)
either = v2.RandomChoice([mixup, cutmix])


def references(batch: Any) -> Any:
    return either(*default_collate(batch))


def named_anew(batch: Any) -> Any:
    batch = default_collate(batch)
    if random.random() < 0.5:
        batch = mixup(batch)
    return batch


def with_numpy(batch: Any) -> Any:
    images, labels = data.dataloader.default_collate(batch)
    share = np.random.beta(0.4, 0.4) if np.random.rand() < 0.9 else 1.0
    order = np.random.permutation(len(images))
    return images * share + images[order] * (1 - share), labels, labels[order], np.float32(share)


def draws_first(batch: Any) -> Any:
    chosen, scale = np.random.randint(2), torch.rand(())
    normal = random.gauss(0, 1) + float(torch.randn(1)) + np.random.normal()
    images, labels = torch.utils.data.default_collate(batch)
    return images * scale + normal, labels.flip(0) if chosen else labels, len(batch)


def fails_at_times(batch: Any) -> Any:
    images, labels = default_collate(batch)
    images += torch.rand(1)
    if torch.rand(1) < 0.4:
        raise ValueError(f"labels {labels.tolist()}")
    return images, labels


def in_place(batch: Any) -> Any:
    images, labels = default_collate(batch)
    images[torch.randperm(len(images))[0]] = 0
    images.mul_(torch.rand(len(images), 1, 1, 1))
    labels.add_(1)
    return {"images": images, "labels": labels}


def tells_where(batch: Any) -> Any:
    info = get_worker_info()
    where = () if info is None else (info.id, info.num_workers, info.seed, len(info.dataset), torch.get_num_threads())
    return [*default_collate(batch), *where, torch.initial_seed() if where else 0, torch.is_grad_enabled()]


def draws_nothing(batch: Any) -> Any:
    images, labels = default_collate(batch)
    try:
        return images.mean(dim=(2, 3)), functools.reduce(torch.add, labels)
    finally:
        labels.zero_()


def at_times(batch: Any) -> Any:
    """Draws for a batch in three, from torch's generator."""
    images, labels = default_collate(batch)
    return (images * torch.rand(1), labels) if labels.sum() % 3 == 0 else (images, labels)


def noise(batch: Any) -> Any:
    images, labels = default_collate(batch)
    return images + torch.randn_like(images) * 0.1, labels


def mixes(transform: Any, batch: Any, strength: float = 1.0) -> Any:
    """For a partial."""
    images, labels = transform(*default_collate(batch))
    return images * strength, labels


class Mixer:
    """With a method that the loader may be given, and as what it may be given."""

    def __init__(self, transform: Any, collate: Any = default_collate) -> None:
        self.transform, self.collate, self.calls = transform, collate, 0

    def __call__(self, batch: Any) -> Any:
        return self.mix(*self.collate(batch))

    def collate_fn(self, batch: Any) -> Any:
        return self.mix(*default_collate(batch))

    def mix(self, images: Any, labels: Any) -> Any:
        for _ in range(2):
            images, labels = self.transform(images, labels)
        return images, labels

    def reset(self) -> None:
        self.calls = 0


def closed_over() -> Any:
    transform, collate = cutmix, default_collate

    def collate_fn(batch: Any) -> Any:
        if torch.rand(1) < 0.5:
            return collate(batch)
        return transform(collate(batch))

    return collate_fn


COLLATES: dict[str, Callable[[], Any]] = {
    "references": lambda: references,
    "mixup": lambda: lambda batch: mixup(*default_collate(batch)),
    "cutmix": lambda: lambda batch: cutmix(default_collate(batch)),
    "within": lambda: lambda batch: references(batch),
    "named anew": lambda: named_anew,
    "numpy": lambda: with_numpy,
    "draws first": lambda: draws_first,
    "fails": lambda: fails_at_times,
    "in place": lambda: in_place,
    "where": lambda: tells_where,
    "draws nothing": lambda: draws_nothing,
    "at times": lambda: at_times,
    "noise": lambda: noise,
    "partial": lambda: partial(mixes, either, strength=0.5),
    "object": lambda: Mixer(either),
    "method": lambda: Mixer(mixup).collate_fn,
    "closed over": closed_over,
}

RANDOM = [v2.RandomResizedCrop(20, antialias=True), v2.RandomHorizontalFlip()]
FIXED = [v2.Resize((20, 20), antialias=True)]


def transform_of(first: list[Any]) -> Any:
    return v2.Compose([*first, v2.PILToTensor(), v2.ToDtype(torch.float, scale=True), v2.RandomErasing(0.3)])


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return photos.fill(tmp_path_factory.mktemp("photos"), photos.plain(COUNT))


def settings(number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Of a loader and of a program, by chance."""
    chance = random.Random(SEED + number)
    arguments: dict[str, Any] = {"batch_size": chance.choice((3, 4, 5)), "drop_last": chance.random() < 0.5}
    arguments["shuffle"] = chance.random() < 0.7
    if number % 4:
        arguments |= {"num_workers": number % 4, "persistent_workers": chance.random() < 0.5}
        arguments["prefetch_factor"] = chance.choice((1, 2, 3))
    leave = chance.choice(((None,), (2, None), (None, 1, None)))
    return arguments, {"epochs": 3, "leave": leave, "draw": chance.random() < 0.5, "seed": chance.randrange(2**40)}


def goes_on(loader: Any) -> bool:
    """Whether a collate_fn is given the batch of Go's default_collate, whoever does the rest."""
    return [row.where for row in loader.explain() if row.what == "default_collate"] == ["Go"]


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("name", COLLATES)
def test_batches_that_python_goes_on_with_are_torchs(root: Path, name: str, workers: int) -> None:
    number = 4 * list(COLLATES).index(name) + workers
    arguments, program = settings(number)
    transform = transform_of(FIXED if number % 3 == 0 else RANDOM)
    given = loader_of(ImageFolder(root, transform), collate_fn=COLLATES[name], **arguments)
    loader: Any = goloader.DataLoader(**given())
    assert goes_on(loader), loader.explain()
    events = check(Program(given, **program))
    assert batches(events)
    assert bool(errors(events)) == (name == "fails")


@pytest.mark.parametrize("workers", [0, 2])
def test_nothing_random_but_the_collate(root: Path, workers: int) -> None:
    transform = v2.Compose([*FIXED, v2.PILToTensor(), v2.ToDtype(torch.float, scale=True)])
    for name in ("references", "numpy", "draws nothing"):
        check(
            Program(
                loader_of(ImageFolder(root, transform), collate_fn=COLLATES[name], batch_size=4, num_workers=workers)
            )
        )


def test_samples_in_error_and_batches_of_theirs(root: Path, tmp_path: Path) -> None:
    files = photos.plain(14) | {"zz.jpg": b"no image", "zy.jpg": photos.plain(1)["000.jpg"][:600]}
    dataset = ImageFolder(photos.fill(tmp_path, files), transform_of(RANDOM))
    for workers in (0, 2):
        events = check(
            Program(
                loader_of(dataset, collate_fn=COLLATES["draws first"], batch_size=3, shuffle=True, num_workers=workers),
                epochs=3,
            )
        )
        assert errors(events)


class Drawing(data.Dataset[Any]):
    """Code that draws, and fails by what it has drawn: a script of the core."""

    def __init__(self, root: Path, fails: float = 0.0) -> None:
        folder = ImageFolder(root)
        self.samples, self.fails = folder.samples, fails
        self.transform = v2.Compose([*RANDOM, v2.PILToTensor(), v2.ToDtype(torch.float, scale=True)])

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> Any:
        path, label = self.samples[index]
        image = Image.open(path).convert("RGB")
        if random.random() < 0.5:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        if np.random.rand() < self.fails:
            raise ValueError(f"{torch.rand(1).item()}")
        return self.transform(image), label


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("fails", [0.0, 0.1])
@pytest.mark.parametrize("name", COLLATES)
def test_batches_of_scripts(root: Path, name: str, fails: float, workers: int) -> None:
    """Whose samples draw from all generators that the function draws from, and ask for the code's own way at times."""
    arguments, program = settings(4 * list(COLLATES).index(name) + workers)
    given = loader_of(Drawing(root, fails), collate_fn=COLLATES[name], **arguments)
    loader: Any = goloader.DataLoader(**given())
    assert goes_on(loader), loader.explain()
    check(Program(given, **program))


def told_by_settings(batch: Any) -> Any:
    images, labels = default_collate(batch)
    flat = images.flatten(1)[:, :300]
    with_errors = np.geterr()["divide"]
    return (
        flat @ torch.ones(300, 2, dtype=torch.float32),  # of bfloat16 where autocast is on
        labels * 0.5,
        torch.tensor(0.5),
        torch.ones(2, requires_grad=True).mul(2).requires_grad,
        (torch.get_num_threads(), torch.get_float32_matmul_precision(), with_errors),
        torch.get_deterministic_debug_mode(),
    )


@contextmanager
def other_settings() -> Iterator[None]:
    """What a training loop may have around it, or around its steps."""
    dtype, precision, threads = torch.get_default_dtype(), torch.get_float32_matmul_precision(), torch.get_num_threads()
    torch.set_default_dtype(torch.float64)
    torch.set_float32_matmul_precision("medium")
    torch.set_deterministic_debug_mode(1)
    torch.set_num_threads(2)
    try:
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16), np.errstate(divide="raise"):
            yield
    finally:
        torch.set_num_threads(threads)
        torch.set_deterministic_debug_mode(0)
        torch.set_float32_matmul_precision(precision)
        torch.set_default_dtype(dtype)


@pytest.mark.parametrize("workers", [0, 2])
def test_settings_are_those_of_when_the_workers_began(root: Path, workers: int) -> None:
    """Those of autocast among them, under which a batch is asked for, or an iterator made."""
    transform = v2.Compose([*FIXED, v2.PILToTensor(), v2.ToDtype(torch.float, scale=True)])
    found = []
    for kind in (data.DataLoader, goloader.DataLoader):
        loader: Any = kind(ImageFolder(root, transform), 4, num_workers=workers, collate_fn=told_by_settings)
        assert kind is data.DataLoader or "COLLATE_GOES_ON" in loader.explain().codes
        iterator = iter(loader)
        made = [next(iterator)]
        with other_settings():
            made += [next(iterator), next(iterator)]
            if workers:
                inside = iter(loader)
                made.append(next(inside))
        made += [next(inside), next(inside)] if workers else []
        made += list(iterator)
        found.append(list(map(bits, made)))
    assert found[1] == found[0]


kinds: tuple[type[BaseException], ...] = (ValueError,)


def ends_at_times(batch: Any) -> Any:
    images, labels = default_collate(batch)
    if torch.rand(1) < 0.4:
        raise kinds[0]
    return images * torch.rand(1), labels


@pytest.mark.parametrize("workers", [0, 2])
def test_an_interrupt_costs_one_batch(root: Path, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[list[Any]] = []
    for kind in (ValueError, KeyboardInterrupt):
        monkeypatch.setattr(sys.modules[__name__], "kinds", (kind,))
        seed(8)
        dataset = ImageFolder(root, transform_of(RANDOM))
        iterator = iter(goloader.DataLoader(dataset, batch_size=2, collate_fn=ends_at_times, num_workers=workers))
        found.append([])
        for _ in range(-(-COUNT // 2)):
            try:
                found[-1].append(bits(next(iterator)))
            except (KeyboardInterrupt, ValueError):
                found[-1].append("lost")
        with pytest.raises(StopIteration):
            next(iterator)
    assert found[0] == found[1]
    assert 0 < found[0].count("lost") < len(found[0])


@pytest.mark.parametrize("workers", [0, 2])
def test_what_the_collate_gives_is_page_locked(root: Path, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def epoch(**arguments: Any) -> list[Any]:
        seed(2)
        dataset = ImageFolder(root, transform_of(RANDOM))
        loader: Any = goloader.DataLoader(dataset, batch_size=4, collate_fn=in_place, num_workers=workers, **arguments)
        assert "COLLATE_GOES_ON" in loader.explain().codes
        return list(loader)

    plain = epoch()
    lent = Lent(monkeypatch)
    locked = epoch(pin_memory=True)
    assert not lent.blocks
    assert lent.copied == [tensor.nbytes for batch in locked for tensor in batch.values()]
    assert bits(plain) == bits(locked)


def test_each_sample_with_a_generator_of_its_own(root: Path) -> None:
    """Of rng="sample" the collate_fn draws as without: with and without workers from other generators."""
    for workers, dataset in itertools.product(
        (0, 2), (ImageFolder(root, transform_of(RANDOM)), Drawing(root), Drawing(root, 0.05))
    ):
        kept: list[list[Any]] = []
        for door in ("1", "2"):
            seed(5)
            given = {"batch_size": 4, "num_workers": workers, "rng": "sample", "trace": False}
            collate: Any = references
            if door == "2":  # Python makes it
                collate = partial(lambda samples: (len(samples[0]), references(samples))[1])
            loader: Any = goloader.DataLoader(dataset, collate_fn=collate, **given)
            assert goes_on(loader) == (door == "1")
            iterator = iter(loader)
            kept.append([])
            for _ in range(len(loader)):
                try:
                    kept[-1].append(bits(next(iterator)))
                except ValueError as error:
                    kept[-1].append(str(error).splitlines()[-1].removeprefix("ValueError: "))
        assert kept[0] == kept[1]


def seeds(worker: int) -> None:
    random.seed(worker)
    np.random.seed(torch.initial_seed() % 2**32)
    torch.manual_seed(torch.initial_seed() + 1)


def test_a_worker_init_fn_seeds_what_the_collate_draws_from(root: Path) -> None:
    for collate, dataset in itertools.product(
        (draws_first, references), (ImageFolder(root, transform_of(RANDOM)), Drawing(root, 0.1))
    ):
        given = loader_of(
            dataset,
            collate_fn=lambda collate=collate: collate,
            worker_init_fn=lambda: seeds,
            batch_size=4,
            num_workers=2,
        )
        check(Program(given))


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("kind", ["folder", "script"])
@pytest.mark.parametrize("name", ["references", "numpy", "draws first", "at times"])
def test_an_epoch_goes_on_where_it_was_left(root: Path, name: str, kind: str, workers: int) -> None:
    dataset: Any = ImageFolder(root, transform_of(RANDOM)) if kind == "folder" else Drawing(root)
    arguments = {"batch_size": 3, "shuffle": True, "num_workers": workers}
    given = loader_of(dataset, collate_fn=COLLATES[name], **arguments)
    for left in (1, 4, 8):
        seed(left)
        loader: Any = goloader.DataLoader(**given())
        iterator = iter(loader)
        for _ in range(left):
            next(iterator)
        state, process = loader.state_dict(), (torch.get_rng_state(), random.getstate(), np.random.get_state())
        rest = [bits(batch) for batch in iterator]
        assert rest or left == 8
        del iterator
        again: Any = goloader.DataLoader(**given())
        again.load_state_dict(state)
        if workers == 0:
            torch.set_rng_state(process[0])
            random.setstate(process[1])
            np.random.set_state(process[2])
        assert [bits(batch) for batch in again] == rest


def test_a_state_with_drawing_workers_wants_as_many(root: Path) -> None:
    arguments: dict[str, Any] = {"collate_fn": references, "batch_size": 3}
    dataset = ImageFolder(root, transform_of(FIXED))
    loader: Any = goloader.DataLoader(dataset, num_workers=2, **arguments)
    iterator = iter(loader)
    next(iterator)
    again: Any = goloader.DataLoader(dataset, num_workers=3, **arguments)
    with pytest.raises(goloader.StateError):
        again.load_state_dict(loader.state_dict())
        iter(again)


def test_a_state_of_a_script_wants_a_collate_fn_that_goes_on(root: Path) -> None:
    """Where none drew, too: the state has the states of all generators."""
    arguments: dict[str, Any] = {"batch_size": 3, "num_workers": 2}
    for collate, other in ((draws_nothing, None), (None, draws_nothing)):
        loader: Any = goloader.DataLoader(Drawing(root), collate_fn=collate, **arguments)
        next(iter(loader))
        again: Any = goloader.DataLoader(Drawing(root), collate_fn=other, **arguments)
        again.load_state_dict(loader.state_dict())
        with pytest.raises(goloader.StateError, match="draw otherwise"):
            iter(again)


# What is not known stays Python's.

history: list[float] = []
table = np.zeros(4)
own_generator = np.random.default_rng(0)


class Counts(Mixer):
    def mix(self, images: Any, labels: Any) -> Any:
        self.calls += 1
        return images * self.calls, labels


def counts_around() -> Any:
    count = 0

    def collate_fn(batch: Any) -> Any:
        nonlocal count
        count += 1
        return [*default_collate(batch), count]

    return collate_fn


def assigns_global(batch: Any) -> Any:
    global history
    history = [*history, 1.0]
    return default_collate(batch), len(history)


def appends(batch: Any) -> Any:
    history.append(1.0)
    return default_collate(batch), len(history)


def fills(batch: Any) -> Any:
    table[0] += 1
    return default_collate(batch), table.sum()


def draws_for_itself(batch: Any) -> Any:
    return default_collate(batch), own_generator.random()


def remembers(batch: Any, known: Any = {}) -> Any:  # noqa: B006
    known.setdefault(len(known), 1)
    return default_collate(batch), len(known)


KEEPS: dict[str, Any] = {
    "an attribute": Counts(mixup),
    "a variable around": counts_around(),
    "a global": assigns_global,
    "a list": appends,
    "an array": fills,
    "a generator": draws_for_itself,
    "a default": remembers,
    "an iterator": partial(lambda ticks, batch: (default_collate(batch), next(ticks)), iter(range(99))),
    "another's": partial(mixes, v2.Lambda(lambda batch: appends([batch]))),
}


@pytest.mark.parametrize("name", KEEPS)
def test_what_keeps_something_in_each_worker_runs_there(root: Path, name: str) -> None:
    assert keeps(KEEPS[name])
    arguments = {"batch_size": 4, "collate_fn": KEEPS[name]}
    loader: Any = goloader.DataLoader(ImageFolder(root, transform_of(RANDOM)), num_workers=2, **arguments)
    assert "COLLATE_KEEPS" in loader.explain().codes, loader.explain()
    loader = goloader.DataLoader(ImageFolder(root, transform_of(RANDOM)), **arguments)
    assert "COLLATE_GOES_ON" in loader.explain().codes, loader.explain()


@pytest.mark.parametrize("name", [name for name, make in COLLATES.items() if name != "where"])
def test_what_only_draws_keeps_nothing(name: str) -> None:
    assert keeps(COLLATES[name]()) == ""


def looks_first(batch: Any) -> Any:
    largest = max(image.max() for image, _ in batch)
    return default_collate(batch), largest * torch.rand(1)


def looks_behind(batch: Any) -> Any:
    images, labels = default_collate(batch)
    return images * torch.rand(1), labels, batch[0][1]


def looks_by_chance(batch: Any) -> Any:
    made = default_collate(batch) if torch.rand(1) < 0.5 else batch
    return made, torch.rand(1), batch if torch.rand(1) < 0.5 else 0


def twice(batch: Any) -> Any:
    images, _ = default_collate(batch)
    images.mul_(torch.rand(1))
    return images, default_collate(batch)


def in_a_loop(batch: Any) -> Any:
    return [default_collate(batch) for _ in range(2)], torch.rand(1)


def in_a_while(batch: Any) -> Any:
    made = []
    while len(made) < 2:
        made.append((default_collate(batch), torch.rand(1)))
    return made


def sorted_first(batch: Any) -> Any:
    batch.sort(key=lambda sample: sample[1])
    return default_collate(batch), torch.rand(1)


def caught(batch: Any) -> Any:
    try:
        if torch.rand(1) < 0.5:
            raise KeyError
        batch = default_collate(batch)
    except KeyError:
        batch = [batch[0]]
    return batch


def captured(batch: Any) -> Any:
    def first() -> Any:
        return batch[0]

    return default_collate(batch), first(), torch.rand(1)


def looked_up(batch: Any) -> Any:
    made = default_collate(batch)
    return made, locals()["batch"][0], torch.rand(1)


def one_of_two(batch: Any) -> Any:
    return (default_collate if torch.rand(1) < 0.5 else list)(batch)


def stacked(batch: Any) -> Any:
    return torch.stack([image for image, _ in batch]) * torch.rand(1)


OTHERS = [
    looks_first, looks_behind, looks_by_chance, twice, in_a_loop, in_a_while, sorted_first, caught, captured, looked_up,
    one_of_two, stacked,
]  # fmt: skip


@pytest.mark.parametrize("collate", OTHERS, ids=lambda collate: collate.__name__)
def test_what_does_more_with_the_samples_is_left_to_python(root: Path, collate: Any) -> None:
    given = loader_of(ImageFolder(root, transform_of(RANDOM)), collate_fn=lambda: collate, batch_size=4)
    loader: Any = goloader.DataLoader(**given())
    assert "COLLATE_OWN" in loader.explain().codes, loader.explain()
    compare(run(goloader.DataLoader, Program(given)), run(data.DataLoader, Program(given)))


def test_a_collate_that_is_another_one_since(root: Path) -> None:
    """From the next epoch on, and without workers from the next batch on."""

    def changes(kind: Any, workers: int) -> list[Any]:
        seed(3)
        dataset = ImageFolder(root, transform_of(RANDOM))
        collate = Mixer(mixup, default_collate)
        loader = kind(dataset, batch_size=5, collate_fn=collate.collate_fn, num_workers=workers)
        found = [bits(batch) for batch in loader]
        collate.transform = cutmix
        found += [bits(batch) for batch in loader]
        loader.__dict__["collate_fn"] = collate
        found += [bits(batch) for batch in loader]
        collate.collate = partial(mixes, mixup)
        assert kind is data.DataLoader or not goes_on(loader)
        found += [bits(batch) for batch in loader]
        loader.__dict__["collate_fn"] = draws_first
        found += [bits(batch) for batch in loader]
        loader.__dict__["collate_fn"] = stacked
        return found + [bits(batch) for batch in loader]

    for workers in (0, 2):
        assert changes(goloader.DataLoader, workers) == changes(data.DataLoader, workers)
