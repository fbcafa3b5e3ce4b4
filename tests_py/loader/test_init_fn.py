"""worker_init_fn with batches from Go: what it does to random numbers is kept, all else stays outside."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import twins
from PIL import Image, ImageFile
from torch.utils import data
from torchvision.datasets import ImageFolder
from twins import Program, loader_of

import goloader
from goloader.arrays import TokenDataset


def same_as_torch_s(dataset: data.Dataset[Any], function: Callable[[int], Any], **more: Any) -> list[Any]:
    arguments = {"batch_size": 5, "num_workers": 2, "worker_init_fn": lambda: function} | more
    program = Program(loader_of(dataset, **arguments), draw=True)
    theirs = twins.run(data.DataLoader, program)
    twins.compare(twins.run(goloader.DataLoader, program), theirs)
    return theirs


def native_after_an_epoch(dataset: data.Dataset[Any], function: Callable[[int], Any]) -> bool:
    """Whether the loader itself is: pixels that worker processes leave to Go do not count."""
    loader = goloader.DataLoader(dataset, batch_size=5, num_workers=2, worker_init_fn=function, trace=False)
    assert loader.explain().native
    list(loader)
    return loader.explain().native


def nothing(worker_id: int) -> None:
    """Leaves everything as it is."""


def manual_seed(worker_id: int) -> None:
    torch.manual_seed(2**40 + worker_id)


def seed_and_draw(worker_id: int) -> None:
    torch.manual_seed(-5)
    torch.rand(worker_id * 3)
    torch.randint(9, ())


def as_documented(worker_id: int) -> None:
    seed = torch.initial_seed() % 2**32
    np.random.seed(seed)
    random.seed(seed)


def knows_its_place(worker_id: int) -> None:
    info = data.get_worker_info()
    assert (info.id, info.num_workers, len(info.dataset)) == (worker_id, 2, 24)
    torch.manual_seed(info.seed + np.random.randint(1000) + random.randrange(1000))


@pytest.mark.parametrize("function", [nothing, manual_seed, seed_and_draw, as_documented, knows_its_place])
@pytest.mark.parametrize("more", [{}, {"shuffle": True, "generator": twins.generator}, {"persistent_workers": True}])
def test_seeds_of_its_own_are_those_of_go_s_streams(
    dataset: ImageFolder, function: Callable[[int], Any], more: dict[str, Any]
) -> None:
    same_as_torch_s(dataset, function, **more)
    assert native_after_an_epoch(dataset, function)


def test_of_files_of_tokens_go_makes_all_batches(tmp_path: Path) -> None:
    """Nobody writes into such memory, which has no version to be looked at in the workers."""
    path = tmp_path / "tokens.bin"
    np.arange(500, dtype=np.uint16).tofile(path)
    tokens = TokenDataset(path, 8)
    loader = goloader.DataLoader(tokens, batch_size=4, num_workers=2, worker_init_fn=nothing)
    ours, theirs = list(loader), list(data.DataLoader(tokens, batch_size=4))
    assert all(
        torch.equal(x, y) for one, other in zip(ours, theirs, strict=True) for x, y in zip(one, other, strict=True)
    )
    assert [row.where for row in loader.explain() if row.stage == "so far"] == ["Go"]


def draw_normals(worker_id: int) -> None:
    torch.randn(3)


def draw_much(worker_id: int) -> None:
    torch.rand(100_000)


def change_transform(worker_id: int) -> None:
    data.get_worker_info().dataset.transform.transforms[0].scale = (0.5, 0.5 + worker_id / 10)


def change_samples(worker_id: int) -> None:
    if worker_id == 1:
        data.get_worker_info().dataset.samples.reverse()


def change_pillow(worker_id: int) -> None:
    ImageFile.LOAD_TRUNCATED_IMAGES = True


def change_limit(worker_id: int) -> None:
    Image.MAX_IMAGE_PIXELS = 10


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize(
    "function", [draw_normals, draw_much, change_transform, change_samples, change_pillow, change_limit]
)
def test_what_go_cannot_take_over_runs_in_workers_and_explain_says_so(
    dataset: ImageFolder, function: Callable[[int], Any]
) -> None:
    same_as_torch_s(dataset, function)
    if function is not change_limit:
        assert not native_after_an_epoch(dataset, function)


def double(worker_id: int) -> None:
    data.get_worker_info().dataset.tensors[0].mul_(2)


@pytest.mark.parametrize(("function", "native"), [(double, False), (nothing, True), (manual_seed, True)])
def test_tensors_that_it_writes_into(function: Callable[[int], Any], native: bool) -> None:
    numbers = data.TensorDataset(torch.arange(24.0).reshape(12, 2))
    same_as_torch_s(numbers, function)
    assert native_after_an_epoch(numbers, function) == native


def test_without_the_function_or_with_another_the_loader_is_native_again(dataset: ImageFolder) -> None:
    loader = goloader.DataLoader(dataset, batch_size=5, num_workers=2, worker_init_fn=change_samples, trace=False)
    for function, native in ((change_samples, False), (nothing, True), (change_samples, False), (None, True)):
        loader.worker_init_fn = function
        list(loader)
        assert loader.explain().native == native


class Drawing(data.Sampler[int]):
    """Draws as iter() is called, before the base seed is drawn."""

    def __init__(self) -> None:
        self.calls = 0

    def __iter__(self) -> Iterator[int]:
        self.calls += 1
        return iter(torch.randperm(20).tolist())

    def __len__(self) -> int:
        return 20


@pytest.mark.slow
def test_a_sampler_that_draws_ahead_of_the_base_seed(dataset: ImageFolder) -> None:
    for batch_size in 5, None:
        same_as_torch_s(dataset, manual_seed, batch_size=batch_size, sampler=Drawing)
        same_as_torch_s(dataset, nothing, batch_size=batch_size, sampler=Drawing)


def fail(worker_id: int) -> None:
    raise LookupError(f"nothing for worker {worker_id}")


@pytest.mark.slow
def test_an_error_in_it_is_torch_s(dataset: ImageFolder) -> None:
    for kind in goloader.DataLoader, data.DataLoader:
        with pytest.raises(LookupError, match=r"(?s)^Caught LookupError in DataLoader worker process 0\..*def|in fail"):
            next(iter(kind(dataset, num_workers=2, worker_init_fn=fail)))


def die(worker_id: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_death_in_it_is_torch_s(dataset: ImageFolder) -> None:
    iterator = iter(goloader.DataLoader(dataset, num_workers=1, worker_init_fn=die))
    with pytest.raises(RuntimeError, match="DataLoader worker"):
        next(iterator)
    iterator._shutdown_workers()


def test_nothing_else_of_it_reaches_the_user_s_process(
    dataset: ImageFolder, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def leave_traces(worker_id: int) -> None:
        os.environ["TRACE"] = "1"
        os.chdir(tmp_path)
        random.seed(0)
        np.random.seed(0)
        torch.manual_seed(0)
        torch.set_num_threads(1)
        dataset.classes = ["changed"]
        print("worker", worker_id, flush=True)
        (tmp_path / f"{worker_id}-{os.getpid()}").touch()

    def everything() -> Any:
        return (
            os.environ.get("TRACE"), os.getcwd(), random.getstate(), str(np.random.get_state()),
            torch.get_rng_state().tolist(), torch.get_num_threads(), list(dataset.classes), data.get_worker_info(),
        )  # fmt: skip

    loader = goloader.DataLoader(dataset, num_workers=2, worker_init_fn=leave_traces, generator=torch.Generator())
    before, children = everything(), multiprocessing.active_children()
    list(loader)
    assert everything() == before
    assert loader.explain().native
    assert sorted(path.name[0] for path in tmp_path.iterdir()) == ["0", "1"]
    assert sorted(capfd.readouterr().out.splitlines()) == ["worker 0", "worker 1"]
    assert set(multiprocessing.active_children()) <= set(children)


def test_start_methods_other_than_fork_are_torch_s(dataset: ImageFolder) -> None:
    loader = goloader.DataLoader(dataset, num_workers=1, worker_init_fn=nothing, multiprocessing_context="spawn")
    explanation = loader.explain()
    assert not explanation.native
    assert "only a forked process" in str(explanation)


def test_explain_names_it(dataset: ImageFolder) -> None:
    loader = goloader.DataLoader(dataset, num_workers=1, worker_init_fn=nothing)
    row = next(iter(loader.explain()))
    assert (row.stage, row.what, row.where) == ("workers", "worker_init_fn", "Python")
