"""NumpyLoader gives the arrays that torch's DataLoader gives after torch.manual_seed(seed)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms as T
from torch.utils.data import DataLoader, TensorDataset
from torchvision.datasets import ImageFolder

from goloader import NumpyLoader
from goloader import transforms as G

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def equal(ours: Any, theirs: Any) -> None:
    for epoch in range(3):
        count = 0
        for got, want in zip(ours, theirs, strict=True):
            count += 1
            for one, other in zip(got, want, strict=True):
                assert one.dtype == other.numpy().dtype
                assert one.tobytes() == other.numpy().tobytes(), (epoch, count)
        assert count == len(ours) == len(theirs)


@pytest.mark.parametrize("num_workers", [1, 2, 3])
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("drop_last", [False, True])
def test_folder(root: Path, num_workers: int, shuffle: bool, drop_last: bool) -> None:
    arguments: dict[str, Any] = {
        "batch_size": 7,
        "shuffle": shuffle,
        "drop_last": drop_last,
        "num_workers": num_workers,
    }
    transforms = [G.RandomResizedCrop(32), G.RandomHorizontalFlip(), G.ToArray(), G.Normalize(MEAN, STD)]
    ours = NumpyLoader(root, transforms, seed=5, **arguments)
    steps = [T.RandomResizedCrop(32), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(MEAN, STD)]
    dataset = ImageFolder(str(root), T.Compose(steps))
    torch.manual_seed(5)
    equal(ours, DataLoader(dataset, **arguments))
    assert list(ours.classes) == dataset.classes
    assert ours.explain().native


@pytest.mark.parametrize("shuffle", [False, True])
def test_arrays(shuffle: bool) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.random((50, 3, 40, 17), np.float32), rng.integers(0, 9, 50), rng.random((50, 2)) < 0.5]
    ours = NumpyLoader(arrays, batch_size=8, shuffle=shuffle, num_workers=2, seed=3)
    torch.manual_seed(3)
    equal(ours, DataLoader(TensorDataset(*map(torch.from_numpy, arrays)), batch_size=8, shuffle=shuffle, num_workers=2))


def test_arrays_by_name_and_of_any_layout() -> None:
    base = np.arange(60.0).reshape(6, 10)
    for array in base, base[:, ::2], base[::-1], np.asfortranarray(base), base.astype(">f8"):
        for batch in NumpyLoader({"x": array}, batch_size=6):
            assert isinstance(batch, dict)
            assert np.array_equal(batch["x"], array)


def test_a_broken_file_raises_and_the_loader_can_be_used_again(tmp_path: Path, root: Path) -> None:
    import shutil

    shutil.copytree(root, tmp_path / "files")
    broken = sorted((tmp_path / "files").rglob("*.jpg"))[5]
    broken.write_bytes(b"no image")
    loader = NumpyLoader(tmp_path / "files", [G.CenterCrop(30)], batch_size=4)
    with pytest.raises(OSError, match="cannot identify image file"):
        list(loader)
    broken.unlink()
    with pytest.raises(FileNotFoundError):
        list(loader)
    shutil.copy(next(root.rglob("*.jpg")), broken)
    assert len(list(loader)) == len(loader)


def test_an_error_keeps_its_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "0.bmp").write_bytes(b"no image")
    loader = NumpyLoader(tmp_path)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(RuntimeError, match="Pillow is not installed") as raised:
        list(loader)
    assert isinstance(raised.value.__cause__, ImportError)


@pytest.mark.parametrize(
    "arguments",
    [{"batch_size": 0}, {"num_workers": 0}, {"batch_size": True}, {"prefetch_factor": -1}, {"num_workers": 1.5}],
    ids=str,
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="should be a positive integer value"):
        NumpyLoader([np.zeros(3)], **arguments)


def test_each_epoch_has_another_order_and_a_seed_of_the_system_differs() -> None:
    numbers = np.arange(1000)

    def order(loader: NumpyLoader) -> list[int]:
        return [int(n) for batch in loader for n in batch[0]]

    one, other = (NumpyLoader([numbers], batch_size=100, shuffle=True) for _ in range(2))
    orders = [order(one), order(one), order(other)]
    assert all(sorted(each) == list(range(1000)) for each in orders)
    assert len(set(map(tuple, orders))) == 3
