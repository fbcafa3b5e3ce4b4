"""What must hold with every version of torch, torchvision, Pillow, numpy and Python that is supported.

`make test-matrix` runs this file in an environment for each row of rows.py, which says what is on there; here it runs
with the versions that are installed, where every door is.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import matrix_samples as samples
import numpy as np
import pytest
import torch
from torch.utils import data
from torchvision.datasets import ImageFolder

import goloader
from goloader.doors.worker.iterator import WorkerIterator

HERE = Path(__file__).parent
# Installed from a wheel, or the source tree.
PACKAGE = Path(goloader.__file__).parents[1]
# The doors that are on with these versions, as the row says.
DOORS = frozenset(map(int, os.environ.get("GOLOADER_MATRIX_DOORS", "1 2 3").split()))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return samples.fill(tmp_path_factory.mktemp("photos"))


def bits(value: Any) -> Any:
    """A batch as something that == compares, bit for bit."""
    if isinstance(value, torch.Tensor):
        return value.dtype, tuple(value.shape), value.numpy().tobytes()
    if isinstance(value, dict):
        return {name: bits(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value), [bits(each) for each in value]
    return value


def epochs(loader: Any, count: int = 2) -> list[Any]:
    random.seed(7)
    torch.manual_seed(7)
    np.random.seed(7)
    found = [bits(batch) for _ in range(count) for batch in loader]
    return [*found, torch.rand(1).item(), np.random.rand()]


def check(dataset: Any, **arguments: Any) -> Any:
    """The batches are torch's; returns our loader."""
    loader: goloader.DataLoader[Any] = goloader.DataLoader(dataset, batch_size=5, **arguments)
    assert epochs(loader) == epochs(data.DataLoader(dataset, batch_size=5, **arguments))
    return loader


@pytest.mark.parametrize("workers", [0, 2])
def test_door_1_gives_torch_s_batches_where_it_is_on(root: Path, workers: int) -> None:
    loader = check(samples.folder(root), shuffle=True, num_workers=workers)
    assert loader.explain().native is (1 in DOORS), loader.explain()


@pytest.mark.parametrize("name", samples.augmented())
def test_other_transforms_give_torch_s_batches(root: Path, name: str) -> None:
    dataset = ImageFolder(str(root), samples.augmented()[name])
    loader = check(dataset, shuffle=True, num_workers=1)
    print(f"{name}: {'Go' if loader.explain().native else 'Python'}")


@pytest.mark.parametrize("workers", [0, 2])
def test_door_2_gives_torch_s_batches_where_it_is_on(root: Path, workers: int) -> None:
    loader = check(samples.Pairs(root), shuffle=True, num_workers=workers)
    assert loader.explain().native is (2 in DOORS), loader.explain()


@pytest.mark.parametrize("workers", [0, 2])
def test_numbers_are_those_of_python_s_c_library(root: Path, workers: int) -> None:
    """Whatever compiled the core."""
    loader = check(samples.Drawn(root), num_workers=workers)
    assert loader.explain().native is (2 in DOORS), loader.explain()


@pytest.mark.parametrize("workers", [0, 2])
def test_functions_that_change_only_what_they_make_are_called_beside_go(root: Path, workers: int) -> None:
    explained = check(samples.Captions(root), shuffle=True, num_workers=workers).explain()
    assert 1 not in DOORS or "Python makes 1 of its values" in str(explained), explained


@pytest.mark.parametrize("workers", [0, 2])
def test_arrays_are_reckoned_with_as_by_their_libraries(workers: int) -> None:
    loader = check(samples.Clouds(), shuffle=True, num_workers=workers)
    assert loader.explain().native, loader.explain()


@pytest.mark.parametrize("dataset", [samples.Numbers(), samples.Stream()], ids=["map", "iterable"])
def test_door_3_gives_torch_s_batches_through_slots(dataset: Any) -> None:
    loader = check(dataset, num_workers=2)
    assert not loader.explain().native
    iterator = iter(loader)
    assert isinstance(iterator, WorkerIterator) is (3 in DOORS)


def test_tensors_come_from_go_whatever_the_versions() -> None:
    dataset = data.TensorDataset(torch.arange(200.0).reshape(50, 4), torch.arange(50))
    assert check(dataset, shuffle=True, num_workers=2).explain().native


@pytest.mark.parametrize("package", ["torch.utils.data", "goloader"])
def test_no_argument_of_torch_s_loader_is_lost(package: str) -> None:
    """in_order is an argument where torch has one."""
    kind = data.DataLoader if package == "torch.utils.data" else goloader.DataLoader
    known = hasattr(data.DataLoader([]), "in_order")
    if known:
        assert kind([], num_workers=1, in_order=False).in_order is False
    else:
        with pytest.raises(TypeError, match="unexpected keyword argument 'in_order'"):
            kind([], num_workers=1, in_order=False)


@pytest.mark.slow
def test_workers_start_without_a_warning() -> None:
    """Since Python 3.12 a fork of a process with threads warns, and Go's are threads."""
    program = """if 1:
        import torch
        from torch.utils import data
        import goloader
        import matrix_samples as samples
        for kind in data.DataLoader, goloader.DataLoader:
            # Go has its threads before our workers start.
            list(kind(data.TensorDataset(torch.arange(9)), batch_size=2))
            for _ in range(2):
                print(sum(len(batch["name"]) for batch in kind(samples.Numbers(), batch_size=4, num_workers=2)))
    """
    assert run("-W", "error:This process:DeprecationWarning", "-c", program).split() == ["41"] * 4


@pytest.mark.slow
def test_no_gil_is_turned_on_for_us(root: Path) -> None:
    """A free-threaded CPython does that where a library is imported that asks for it."""
    program = """if 1:
        import sys, sysconfig
        from pathlib import Path
        import goloader
        import matrix_samples as samples
        root = Path(sys.argv[1])
        for dataset in samples.folder(root), samples.Pairs(root), samples.Numbers():
            list(goloader.DataLoader(dataset, batch_size=5, num_workers=2))
        on = getattr(sys, "_is_gil_enabled", lambda: True)()  # Python 3.13
        print(on, not sysconfig.get_config_var("Py_GIL_DISABLED"))
    """
    on, wanted = run("-c", program, str(root)).split()
    assert on == wanted


@pytest.mark.slow
def test_a_program_trains_as_with_torch_s_loader(root: Path) -> None:
    printed = run(str(HERE / "train.py"), str(root), "torch.utils.data", "goloader")
    _, theirs, ours = printed.split("package\n")
    assert ours == theirs
    assert theirs.count("torch.Size([8, 3, 64, 64])") == 24  # two datasets, two epochs of 6 whole batches


def run(*arguments: str) -> str:
    """What a program prints."""
    paths = os.pathsep.join([str(PACKAGE), str(HERE)])
    done = subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout
