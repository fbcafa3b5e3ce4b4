"""Classes of one's own over h5py's and zarr's objects: batches are torch's, and the core reads the rows."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2  # noqa: F401 - with it classes are looked at for images, too
import h5py
import numpy as np
import pytest
import torch
from torch.utils import data

import goloader

try:
    import zarr
except ImportError:
    zarr = None

COUNT = 37


def arrays(seed: int) -> dict[str, Any]:
    noise = np.random.default_rng(seed)
    return {
        "images": noise.integers(0, 255, (COUNT, 6, 5, 3), np.uint8),
        "labels": noise.integers(0, 9, COUNT),
        "deep/features": noise.random((COUNT, 7)).astype(np.float32),
        "deep/er/wave": noise.random(400).astype(np.float64),
        "mask": noise.random((COUNT, 4)) < 0.5,
    }


def in_hdf5(path: Path, seed: int) -> str:
    with h5py.File(path, "w") as file:
        for number, (name, array) in enumerate(arrays(seed).items()):
            chunks = (1 + (seed + number) % 9, *array.shape[1:])
            packed: Any = {"chunks": chunks, "compression": "gzip", "shuffle": True} if (seed + number) % 3 else {}
            file.create_dataset(name, data=array, **packed)
    return str(path)


def in_zarr(path: Path, seed: int) -> str:
    group = zarr.open_group(path, mode="w", zarr_format=2 + seed % 2)
    for name, array in arrays(seed).items():
        made = group.create_array(name, shape=array.shape, chunks=(5, *array.shape[1:]), dtype=array.dtype)
        made[...] = array
    return str(path)


FORMATS = pytest.mark.parametrize(
    "write", [in_hdf5, pytest.param(in_zarr, marks=pytest.mark.skipif(zarr is None, reason="needs zarr"))]
)


def opened(path: str) -> Any:
    """Run by classes in their __init__."""
    return h5py.File(path, "r") if os.path.isfile(path) else zarr.open(path, mode="r")


class Base(data.Dataset[Any]):
    def __init__(self, path: str) -> None:
        self.path = path
        self.is_zarr = os.path.isdir(path)
        self.file: Any = None
        self.begin()

    def begin(self) -> None:
        """What else the class does at first."""

    def __len__(self) -> int:
        return COUNT


class InInit(Base):
    def begin(self) -> None:
        self.file = opened(self.path)

    def __getitem__(self, i: int) -> Any:
        return torch.from_numpy(self.file["images"][i]).permute(2, 0, 1).float() / 255, self.file["labels"][i]


class Arrays(Base):
    def begin(self) -> None:
        file = opened(self.path)
        self.images, self.labels = file["images"], file["labels"]
        self.order = np.random.default_rng(0).permutation(COUNT)

    def __getitem__(self, i: int) -> Any:
        j = self.order[i]
        return {"image": self.images[j].astype(np.float32), "label": int(self.labels[j]), "i": i}


class Lazy(Base):
    def __getitem__(self, i: int) -> Any:
        if self.file is None:
            self.file = zarr.open(self.path, mode="r") if self.is_zarr else h5py.File(self.path, "r")
        x = torch.as_tensor(self.file["deep"]["features"][i], dtype=torch.float64)
        return x, torch.tensor(self.file["labels"][i], dtype=torch.long)


class LazyMethod(Base):
    def open(self) -> None:
        if self.is_zarr:
            self.root = zarr.open_group(store=self.path, mode="r")
        else:
            self.root = h5py.File(self.path, libver="latest")
        self.waves = self.root["deep/er/wave"]

    def __getitem__(self, i: int) -> Any:
        if not hasattr(self, "root"):
            self.open()
        window = self.waves[i : i + 16]
        return torch.from_numpy(window).float(), self.root["mask"][i]


class ForEach(Base):
    def __getitem__(self, i: int) -> Any:
        with h5py.File(self.path, "r") as file:
            image = file["images"][i]
            label = file["labels"][i]
        return torch.from_numpy(image).float(), torch.tensor(label)


class Parts(Base):
    def begin(self) -> None:
        self.file = opened(self.path)

    def __getitem__(self, i: int) -> Any:
        images = self.file["images"]
        return images[i, 1:4, :, 0], images[i, ..., 1], images[i, :, ::2], images[i, -1], images[i][::-1].copy()


class Numbers(Base):
    def begin(self) -> None:
        self.file = opened(self.path)

    def __getitem__(self, i: int) -> Any:
        label = self.file["labels"][i]
        return label, label * 2, float(label), np.int32(label), self.file["mask"][i, 2]


CLASSES = [InInit, Arrays, Lazy, LazyMethod, ForEach, Parts, Numbers]


def bits(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: bits(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value), [bits(each) for each in value]
    return value.dtype, value.shape, value.stride(), value.numpy().tobytes()


def batches(loader: Any, seed: int) -> list[Any]:
    torch.manual_seed(seed)
    return [bits(batch) for _ in range(2) for batch in loader]


# Of zarr's nothing is opened for each sample.
EACH = [(write, kind) for write in (in_hdf5, in_zarr) for kind in CLASSES if write is in_hdf5 or kind is not ForEach]


@pytest.mark.parametrize(
    ("write", "kind"),
    [
        pytest.param(*each, marks=pytest.mark.skipif(each[0] is in_zarr and zarr is None, reason="needs zarr"))
        for each in EACH
    ],
)
@pytest.mark.parametrize("num_workers", [0, 1, 3])
def test_batches_are_torchs(write: Callable[..., str], kind: Any, num_workers: int, tmp_path: Path) -> None:
    for seed in range(num_workers % 2, 3, 2):
        path = write(tmp_path / str(seed), seed)
        settings: Any = {"batch_size": 1 + 4 * seed, "shuffle": seed != 1, "drop_last": seed == 2}
        ours = goloader.DataLoader(kind(path), num_workers=num_workers, **settings)
        assert ours.explain().native, ours.explain()
        assert batches(ours, seed) == batches(data.DataLoader(kind(path), **settings), seed)


@FORMATS
def test_subsets_and_negative_indices(write: Callable[..., str], tmp_path: Path) -> None:
    path = write(tmp_path / "a", 1)
    for kind in (InInit, Lazy):
        made = [
            data.ConcatDataset([data.Subset(kind(path), [3, -1, 0]), kind(path)])
            for _ in range(2)
        ]  # fmt: skip
        ours = goloader.DataLoader(made[0], 4, num_workers=2)
        assert ours.explain().native, str(ours.explain())
        assert batches(ours, 0) == batches(data.DataLoader(made[1], 4), 0)


def test_what_changes_is_noticed(tmp_path: Path) -> None:
    path = in_hdf5(tmp_path / "a.h5", 0)
    dataset = Lazy(path)
    loader = goloader.DataLoader(dataset, 8, num_workers=1)
    first = batches(loader, 0)
    assert dataset.file is None
    in_hdf5(tmp_path / "b.h5", 2)
    os.replace(tmp_path / "b.h5", path)
    second = batches(loader, 0)
    assert first != second == batches(data.DataLoader(Lazy(path), 8), 0)
    # A file that is open is the old one, which h5py goes on reading.
    held = InInit(path)
    loader = goloader.DataLoader(held, 8)
    before = batches(loader, 0)
    in_hdf5(tmp_path / "b.h5", 4)
    os.replace(tmp_path / "b.h5", path)
    assert not goloader.DataLoader(held, 8).explain().native
    assert batches(loader, 0) == before
    held.file.close()
    with pytest.raises((KeyError, ValueError), match=r"invalid identifier|Invalid location|Not a location"):
        list(loader)


def test_a_file_that_may_be_written_to_is_left_to_h5py(tmp_path: Path) -> None:
    path = in_hdf5(tmp_path / "a.h5", 0)
    dataset = InInit(path)
    dataset.file.close()
    dataset.file = h5py.File(path, "r+")
    loader = goloader.DataLoader(dataset, 8)
    assert "not opened for reading alone" in str(loader.explain())
    assert batches(loader, 0) == batches(data.DataLoader(InInit(path), 8), 0)


class Outside(Base):
    """Uses what is closed."""

    def __getitem__(self, i: int) -> Any:
        with h5py.File(self.path, "r") as file:
            images = file["images"]
        return images[i]


class Backwards(Base):
    def begin(self) -> None:
        self.file = opened(self.path)

    def __getitem__(self, i: int) -> Any:
        return self.file["images"][i, ::-1]


class Others(Base):
    def begin(self) -> None:
        self.file = opened(self.path)

    def __getitem__(self, i: int) -> Any:
        return self.file["deep/features"][int(self.file["labels"][i])]


class Kept(Base):
    """Sets more than a file."""

    def __getitem__(self, i: int) -> Any:
        if self.file is None:
            self.file = h5py.File(self.path, "r")
        self.last = i
        return self.file["images"][i]


@pytest.mark.parametrize("kind", [Outside, Backwards, Others, Kept])
def test_what_is_not_known_is_left_to_python(kind: Any, tmp_path: Path) -> None:
    path = in_hdf5(tmp_path / "a.h5", 0)
    loader = goloader.DataLoader(kind(path), 8)
    assert not loader.explain().native
    found = []
    for each in (loader, data.DataLoader(kind(path), 8)):
        try:
            found.append(batches(each, 0))
        except (ValueError, TypeError, RuntimeError) as error:
            found.append([type(error)])
    assert found[0] == found[1]


@pytest.mark.skipif(zarr is None, reason="needs zarr")
@pytest.mark.parametrize("num_workers", [0, 1])
@pytest.mark.parametrize("form", [2, 3, "shards"])
def test_a_zip_store(tmp_path: Path, form: Any, num_workers: int) -> None:
    """Its files are stored as they are; shards hold several chunks each, the last ones some beyond the array.

    torch's workers read the archive at one position that all of them have, and fail: its batches are those without.
    """
    path = str(tmp_path / "set.zip")
    with zarr.storage.ZipStore(path, mode="w") as store:
        group = zarr.open_group(store, mode="w", zarr_format=2 if form == 2 else 3)
        for name, array in arrays(4).items():
            shards = {"shards": (10, *array.shape[1:])} if form == "shards" else {}
            made = group.create_array(
                name, shape=array.shape, chunks=(5, *array.shape[1:]), dtype=array.dtype, **shards
            )
            made[: len(array) - 7] = array[: len(array) - 7]  # some chunks are never written
    for kind in (InZip, ArraysInZip):
        dataset = kind(path)
        assert goloader.DataLoader(dataset).explain().native
        seen = [
            [bits(batch) for batch in kind_of(dataset, batch_size=4, num_workers=workers)]
            for kind_of, workers in ((data.DataLoader, 0), (goloader.DataLoader, num_workers))
        ]
        assert seen[0] == seen[1]


class InZip(InInit):
    def begin(self) -> None:
        self.file = zarr.open(zarr.storage.ZipStore(self.path, mode="r"), mode="r")


class ArraysInZip(Arrays):
    def begin(self) -> None:
        file = zarr.open(zarr.storage.ZipStore(self.path, mode="r"), mode="r")
        self.images, self.labels = file["images"], file["labels"]
        self.order = np.random.default_rng(0).permutation(COUNT)


@pytest.mark.skipif(zarr is None, reason="needs zarr")
def test_a_zip_store_that_is_compressed_stays_with_python(tmp_path: Path) -> None:
    path = str(tmp_path / "set.zip")
    with zarr.storage.ZipStore(path, mode="w", compression=8) as store:
        zarr.open_group(store, mode="w").create_array("images", data=np.zeros((COUNT, 2)))
    explanation = goloader.DataLoader(InZip(path)).explain()
    assert not explanation.native
    assert "compressed" in str(explanation.rows[0].why)
