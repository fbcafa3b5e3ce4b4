"""on_error: batches are those of torch's loader whose sampler leaves out what is bad, wherever samples are loaded."""

from __future__ import annotations

import itertools
import json
import random
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import photos
import pytest
import torch
import torchvision.transforms as T
from PIL import Image
from torch.utils import data
from torchvision.datasets import ImageFolder

import goloader
from goloader import BadSamplesError, OnError, _core

pytestmark = pytest.mark.filterwarnings("ignore::goloader.GoloaderWarning")

WORKERS = pytest.mark.parametrize("num_workers", [0, 1, 3])
ACTIONS = pytest.mark.parametrize("action", ["skip", "replace"])

BAD = {
    2: lambda path: path.write_bytes(b""),
    3: lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    9: lambda path: path.unlink(),
    16: lambda path: (path.unlink(), path.mkdir()),
    25: lambda path: path.write_bytes(b"not an image"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> ImageFolder:
    """26 files, of which some were damaged since they were listed."""
    root = photos.fill(tmp_path_factory.mktemp("damaged"), photos.plain(26))
    steps = [T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.ToTensor()]
    listed = ImageFolder(str(root), T.Compose(steps))
    for index, damage in BAD.items():
        damage(Path(listed.samples[index][0]))
    return listed


class Recorded(data.Dataset[Any]):
    """Opens images in code of its own."""

    def __init__(self, folder: ImageFolder) -> None:
        self.paths, self.transform = [path for path, _ in folder.samples], folder.transform

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        with open(self.paths[index], "rb") as file:
            return self.transform(Image.open(file).convert("RGB")), index


class Scripted(data.Dataset[Any]):
    """Opens images in code that draws, and raises what depends on that."""

    def __init__(self, folder: ImageFolder) -> None:
        self.paths, self.transform = [path for path, _ in folder.samples], folder.transform

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        if index % 9 == 4 and random.random() < 0.5:
            raise KeyError(f"{np.random.rand()}")
        other = (index + random.randrange(3)) % len(self.paths)
        image = self.transform(Image.open(self.paths[other]).convert("RGB"))
        if index % 7 == 3 and torch.rand(1) < 0.5:
            raise ValueError("drawn")
        return image, index, random.random()


class Drawing(data.Dataset[Any]):
    """Numbers from all of the process's generators, some of them before a sample fails."""

    def __init__(self, length: int, bad: set[int]) -> None:
        self.length, self.bad = length, bad

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        drawn = torch.rand(2), np.random.rand(), random.random()
        if index in self.bad or not 0 <= index < self.length:
            raise KeyError(f"no {index}")
        return index, drawn


class AtOnce(Drawing):
    def __getitems__(self, indices: list[int]) -> list[Any]:
        return [self[index] for index in indices]


class Told(data.Sampler[Any]):
    """A sampler that knows what is bad."""

    def __init__(self, inner: Any, bad: set[int], action: str, length: int) -> None:
        self.inner, self.bad, self.action, self.length = inner, bad, action, length

    def __iter__(self) -> Iterator[list[int]]:
        for batch in self.inner:
            if self.action == "skip":
                yield [index for index in batch if index not in self.bad]
            else:
                yield [
                    next(i % self.length for i in range(index, 10**9) if i % self.length not in self.bad)
                    for index in batch
                ]


def collate(samples: list[Any]) -> Any:
    return data.default_collate(samples) if samples else None


def epochs(loader: Any, count: int = 2) -> list[Any]:
    """Batches, and where torch's generator stands after each epoch."""
    found: list[Any] = []
    for _ in range(count):
        found.append([batch for batch in loader if batch is not None])
        found.append(torch.get_rng_state())
    return found


def expected(
    dataset: Any, bad: set[int], action: str, batch_size: int, num_workers: int, **arguments: Any
) -> list[Any]:
    seed()
    inner = data.BatchSampler(data.RandomSampler(dataset), batch_size, False)
    sampler = Told(inner, bad, action, len(dataset))
    return epochs(
        data.DataLoader(dataset, batch_sampler=sampler, collate_fn=collate, num_workers=num_workers, **arguments)
    )


def seed(number: int = 7) -> None:
    torch.manual_seed(number)
    random.seed(number)
    np.random.seed(number)


def same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, list | tuple):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


@ACTIONS
@WORKERS
@pytest.mark.parametrize("door", ["door1", "door2,door3", "door3"])
def test_damaged_files(
    folder: ImageFolder, action: Any, num_workers: int, door: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    dataset = folder if door == "door1" else Recorded(folder)
    monkeypatch.setenv("GOLOADER", "door1,door3" if door == "door1" else door)
    persistent = num_workers == 3
    want = expected(dataset, set(BAD), action, 4, num_workers, persistent_workers=persistent)
    policy = OnError(action, quarantine=tmp_path / "bad.jsonl")
    for run in "finds", "knows":
        seed()
        loader = goloader.DataLoader(
            dataset, 4, shuffle=True, num_workers=num_workers, on_error=policy, persistent_workers=persistent
        )
        assert same(epochs(loader), want), run
        # What worker processes recorded may fail when they have gone on: they do not record then.
        assert loader.explain().native is (door == "door1" or (door != "door3" and num_workers == 0))
        counted = loader.stats().bad_samples
        assert sum(counted.values()) == len(BAD) and ("quarantined" in counted) is (run == "knows")
    entries = [json.loads(line) for line in (tmp_path / "bad.jsonl").read_text().splitlines()]
    assert {entry["index"] for entry in entries} == set(BAD) and len(entries) == len(BAD)
    if door == "door1":
        assert all(entry["name"] == folder.samples[entry["index"]][0] for entry in entries)


@ACTIONS
@WORKERS
def test_code_whose_errors_are_drawn(
    folder: ImageFolder, action: Any, num_workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Go leaves a batch with a sample in error to the code, with the numbers that it has for it."""

    def made(door: str, batch_size: int) -> list[Any]:
        monkeypatch.setenv("GOLOADER", door)
        seed()
        loader = goloader.DataLoader(
            Scripted(folder), batch_size, shuffle=True, num_workers=num_workers, on_error=action
        )
        assert loader.explain().native is (door == "door1")
        return [*epochs(loader, 3), np.random.rand(), random.random(), loader.stats().bad_samples]

    for batch_size in 1, 4:
        assert same(made("door1", batch_size), made("door3", batch_size))


@ACTIONS
@WORKERS
@pytest.mark.parametrize("kind", [Drawing, AtOnce])
@pytest.mark.parametrize("number", range(3))
def test_code_that_raises(kind: Callable[..., Any], action: Any, num_workers: int, number: int) -> None:
    chosen = random.Random(number)
    length, batch_size = chosen.randrange(5, 40), chosen.choice([1, 3, 8])
    dataset = kind(length, set(chosen.sample(range(length), length // 3)))
    want = expected(dataset, dataset.bad, action, batch_size, num_workers)
    after = np.random.rand(), random.random()
    seed()
    loader = goloader.DataLoader(dataset, batch_size, shuffle=True, num_workers=num_workers, on_error=action)
    assert same(epochs(loader), want)
    assert (np.random.rand(), random.random()) == after
    assert loader.stats().bad_samples == {"KeyError": len(dataset.bad)}


@WORKERS
def test_single_samples(num_workers: int) -> None:
    dataset = Drawing(9, {2, 3})
    left = [index for index, _ in goloader.DataLoader(dataset, None, num_workers=num_workers, on_error="skip")]
    assert left == [0, 1, 4, 5, 6, 7, 8]
    loader = goloader.DataLoader(dataset, None, num_workers=num_workers, on_error="replace")
    assert [[index for index, _ in loader] for _ in range(2)] == [[0, 1, 4, 4, 4, 5, 6, 7, 8]] * 2


@WORKERS
def test_single_images(folder: ImageFolder, num_workers: int) -> None:
    loader = goloader.DataLoader(folder, None, num_workers=num_workers, on_error="skip")
    good = [label for index, label in enumerate(folder.targets) if index not in BAD]
    assert [[label for _, label in loader] for _ in range(2)] == [good] * 2


@WORKERS
def test_a_batch_of_nothing_but_bad_samples_is_left_out(folder: ImageFolder, num_workers: int) -> None:
    batches = [[0, 1], [2, 3, 9], [16], [4, 25], [5]]
    for _ in range(2):
        loader = goloader.DataLoader(folder, batch_sampler=batches, num_workers=num_workers, on_error="skip")
        for _ in range(2):
            assert [len(labels) for _, labels in loader] == [2, 1, 1]


@WORKERS
def test_indices_that_are_not_there_are_bad(folder: ImageFolder, num_workers: int) -> None:
    numbers = data.TensorDataset(torch.arange(26))
    sampler: Any = [[1, 99], [-3, torch.tensor(5), 77], [np.int64(4)]]
    for dataset in numbers, folder:
        loader = goloader.DataLoader(dataset, batch_sampler=sampler, num_workers=num_workers, on_error="skip")
        for _ in range(2):
            assert [len(batch[0]) for batch in loader] == [1, 2, 1]
        assert loader.stats().bad_samples == {"IndexError": 2}


@ACTIONS
@WORKERS
@pytest.mark.parametrize("door", ["door1", "door3"])
def test_epochs_broken_off_and_workers_that_are_seeded(
    folder: ImageFolder, action: Any, num_workers: int, door: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken_off(loader: Any) -> list[Any]:
        found = []
        for taken in 1, 3, 99:
            found.append(list(itertools.islice(loader, taken)))
        return found

    monkeypatch.setenv("GOLOADER", f"{door},door3")
    arguments: dict[str, Any] = {"num_workers": num_workers, "persistent_workers": num_workers > 0}
    for init in None, lambda number: torch.manual_seed(50 + number):
        dataset = folder if door == "door1" else Recorded(folder)
        seed()
        inner = data.BatchSampler(data.RandomSampler(dataset), 3, False)
        told: Any = Told(inner, set(BAD), action, len(dataset))
        want = broken_off(
            data.DataLoader(dataset, batch_sampler=told, collate_fn=collate, worker_init_fn=init, **arguments)
        )
        seed()
        loader = goloader.DataLoader(dataset, 3, shuffle=True, on_error=action, worker_init_fn=init, **arguments)
        assert same(broken_off(loader), want)


@pytest.mark.slow
@ACTIONS
def test_what_is_started_afresh_knows_too(action: Any) -> None:
    dataset = Drawing(9, {2, 8})
    want = expected(dataset, dataset.bad, action, 4, 2)
    seed()
    loader = goloader.DataLoader(
        dataset, 4, shuffle=True, num_workers=2, on_error=action, multiprocessing_context="spawn"
    )
    assert same(epochs(loader), want)


@pytest.mark.parametrize("num_workers", [1, 3])
def test_ctrl_c_while_it_goes_back_loses_no_batch(
    folder: ImageFolder, num_workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    want = expected(folder, set(BAD), "skip", 4, num_workers)[0]
    resume, times = _core.Run.resume, itertools.count()

    def interrupted(*arguments: Any) -> None:
        if next(times) % 2 == 0:
            raise KeyboardInterrupt
        resume(*arguments)

    seed()
    batches = iter(goloader.DataLoader(folder, 4, shuffle=True, num_workers=num_workers, on_error="skip"))
    monkeypatch.setattr(_core.Run, "resume", interrupted)
    found = []
    while True:
        try:
            found.append(next(batches))
        except KeyboardInterrupt:
            continue
        except StopIteration:
            break
    assert same(found, want) and next(times) == 2 * len(BAD)


@ACTIONS
def test_draws_keyed_by_sample_do_not_depend_on_workers_or_doors(
    folder: ImageFolder, action: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for dataset in folder, Drawing(20, {3, 4, 19}):
        found = []
        for num_workers, door in itertools.product((0, 1, 3), ("door1,door3", "door3")):
            monkeypatch.setenv("GOLOADER", door)
            seed()
            loader = goloader.DataLoader(
                dataset, 4, shuffle=True, num_workers=num_workers, on_error=action, rng="sample"
            )
            found.append(epochs(loader)[::2])
        assert all(same(found[0], other) for other in found)


@ACTIONS
@WORKERS
@pytest.mark.parametrize("taken", [1, 3, 6])
def test_a_resumed_epoch_goes_on_in_the_right_place(
    folder: ImageFolder, action: Any, num_workers: int, taken: int
) -> None:
    for dataset in folder, Drawing(26, set(BAD)):

        def loader(dataset: Any = dataset) -> Any:
            seed()
            return goloader.DataLoader(dataset, 4, shuffle=True, num_workers=num_workers, on_error=action)

        whole, broken, other = loader(), loader(), loader()
        seed()
        first, second = list(whole), list(whole)
        seed()
        begun = iter(broken)
        for _ in range(taken):
            next(begun)
        state, process = broken.state_dict(), torch.get_rng_state()
        others = np.random.get_state(), random.getstate()
        del begun
        seed(8)
        other.load_state_dict(state)
        torch.set_rng_state(process)
        np.random.set_state(others[0])
        random.setstate(others[1])
        assert same(list(other), first[taken:])
        assert same(list(other), second)


@ACTIONS
@WORKERS
def test_ranks_have_as_many_steps(folder: ImageFolder, action: Any, num_workers: int) -> None:
    steps = []
    for rank in range(2):
        sampler: Any = data.DistributedSampler(folder, 2, rank, shuffle=True)
        loader = goloader.DataLoader(folder, 4, sampler=sampler, num_workers=num_workers, on_error=action)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            steps.append(len([labels for _, labels in loader]))
    assert set(steps) == {4}


@WORKERS
def test_a_rank_never_leaves_out_a_step(num_workers: int) -> None:
    dataset = Drawing(8, {0, 2})
    sampler: Any = data.DistributedSampler(dataset, 2, 0, shuffle=False)
    loader = goloader.DataLoader(dataset, 2, sampler=sampler, num_workers=num_workers, on_error="skip")
    for _ in range(2):
        with pytest.raises(BadSamplesError, match="fewer steps"):
            list(loader)
    loader = goloader.DataLoader(dataset, 2, sampler=sampler, num_workers=num_workers, on_error="replace")
    assert [indices.tolist() for indices, _ in loader] == [[1, 3], [4, 6]]


@WORKERS
@pytest.mark.parametrize("door", ["door1", "door3"])
def test_more_than_the_budget_raises_at_the_same_step(
    folder: ImageFolder, num_workers: int, door: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOLOADER", f"{door},door3")
    dataset = folder if door == "door1" else Recorded(folder)
    loader = goloader.DataLoader(dataset, 4, num_workers=num_workers, on_error=OnError("skip", budget=2))
    steps = 0
    with pytest.raises(BadSamplesError, match=r"budget of 2(.|\n)*\n  2.*\n  3.*: OSError: .*\n  9 ") as raised:
        for _ in loader:
            steps += 1
    assert steps == 2 and str(raised.value).count("\n  ") == 3
    nothing = goloader.DataLoader(Drawing(5, set(range(5))), 2, on_error=OnError("replace", budget=None))
    with pytest.raises(BadSamplesError, match="all 5 samples"):
        list(nothing)


@WORKERS
def test_a_function_gives_the_sample(folder: ImageFolder, num_workers: int) -> None:
    asked = []

    def instead(index: int, error: Exception) -> Any:
        asked.append(index)
        if index == 9:
            raise LookupError("no such file") from error
        return torch.zeros(3, 24, 24), -index

    dataset = data.Subset(folder, [0, 2, 5, 3, 16])
    seed()
    loader = goloader.DataLoader(
        dataset, 5, num_workers=num_workers, on_error=lambda i, e: instead(dataset.indices[i], e)
    )
    for _ in range(2):
        ((images, labels),) = loader
        assert labels.tolist() == [folder.targets[0], -2, folder.targets[5], -3, -16]
        assert not images[1].any() and images[0].any()
    assert asked == ([2, 3, 16] * 2 if num_workers == 0 else [])
    assert {row.code for row in loader.explain().rows} >= {"ON_ERROR"}
    with pytest.raises(LookupError, match="no such file"):
        list(goloader.DataLoader(folder, 13, num_workers=num_workers, on_error=instead))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("num_workers", "error"),
    [
        *((number, error) for number in (0, 1, 3) for error in (MemoryError, StopIteration)),
        *((0, error) for error in (KeyboardInterrupt, SystemExit)),  # they end a worker process
    ],
)
def test_errors_that_are_no_sample_s_are_torch_s(num_workers: int, error: type[BaseException]) -> None:
    class Ending(Drawing):
        def __getitem__(self, index: int) -> Any:
            if index == 3:
                raise error
            return index

    def ends(kind: Any, **arguments: Any) -> Any:
        taken = []
        try:
            for batch in kind(Ending(6, set()), 2, num_workers=num_workers, **arguments):
                taken.append(batch.tolist())
        except BaseException as raised:
            return taken, type(raised)
        return taken, None

    assert ends(goloader.DataLoader, on_error="skip") == ends(data.DataLoader)


@ACTIONS
@WORKERS
def test_a_collate_fn_s_errors_are_no_sample_s(folder: ImageFolder, action: Any, num_workers: int) -> None:
    ragged = ImageFolder(folder.root, T.ToTensor())
    ragged.samples = folder.samples
    for dataset in ragged, data.Subset(Recorded(ragged), range(len(ragged))):
        loader = goloader.DataLoader(dataset, 4, num_workers=num_workers, on_error=action)
        with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
            next(iter(loader))
        assert set(loader.stats().bad_samples) <= {"UnidentifiedImageError", "OSError"}


def test_a_quarantine_is_of_one_dataset(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    policy = OnError("skip", quarantine=path)
    list(goloader.DataLoader(Drawing(8, {1}), 4, on_error=policy))
    assert path.read_text().count("\n") == 1
    tried: list[int] = []

    class Drawn(Drawing):
        def __getitem__(self, index: int) -> Any:
            tried.append(index)
            return index

    Drawn.__qualname__ = "Drawing"
    for length in 8, 9:
        tried.clear()
        list(goloader.DataLoader(Drawn(length, set()), 4, on_error=policy))
        assert tried == [index for index in range(length) if index != 1 or length == 9]
    path.write_text("something else\n")
    with pytest.raises(ValueError, match=r"bad\.jsonl:1 is not a line"):
        list(goloader.DataLoader(Drawing(8, {1}), 4, on_error=policy))
    assert path.read_text() == "something else\n"


@WORKERS
def test_one_warning_a_loader(num_workers: int) -> None:
    class Failing(Drawing):
        def __getitem__(self, index: int) -> Any:
            if index in self.bad:
                raise LookupError(f"with {num_workers} workers")  # a text is told once in a process
            return index

    dataset = Failing(20, {2, 5})
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        loader = goloader.DataLoader(dataset, 4, num_workers=num_workers, on_error="skip")
        assert [len(list(loader)) for _ in range(2)] == [5, 5]
    (own,) = (each for each in told if each.category is goloader.GoloaderWarning)
    assert own.filename == __file__
    assert "left out; stats() counts later ones: 2: LookupError: with" in str(own.message)


def test_what_does_not_fit_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stream(data.IterableDataset[int]):
        def __iter__(self) -> Iterator[int]:
            return iter(range(3))

    with pytest.raises(ValueError, match="map-style"):
        goloader.DataLoader(Stream(), on_error="skip")
    for wrong in "ignore", None, 3:
        with pytest.raises(ValueError, match="on_error is"):
            goloader.DataLoader([1], on_error=wrong)
    with pytest.raises(ValueError, match="budget"):
        OnError("skip", budget=-1)
    with pytest.raises(TypeError, match="integers"):
        list(goloader.DataLoader({"a": 1}, sampler=["b"], on_error="replace"))  # type: ignore[arg-type]
    assert list(goloader.DataLoader({"a": 1}, sampler=["b", "a"], on_error="skip")) == [torch.tensor([1])]  # type: ignore[arg-type]
    monkeypatch.setenv("GOLOADER", "off")
    with pytest.raises(ValueError, match="GOLOADER=off"):
        goloader.DataLoader([1], on_error="skip")
