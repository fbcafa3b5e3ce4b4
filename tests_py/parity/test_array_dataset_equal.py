"""ArrayDataset: rows of arrays in memory and in files, read by Go, are what torch makes of the same object."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch.utils.data import ConcatDataset, DataLoader, StackDataset, Subset, TensorDataset
from twins import Program, check, errors, loader_of

import goloader
from goloader import ArrayDataset, FileArray, open_arrays

WORKERS = pytest.mark.parametrize("num_workers", [0, 2])

COUNT = 37
NUMPY = ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32",
         "float64", "complex64", "complex128")  # fmt: skip
NUMBERS = ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "bfloat16",
           "float32", "float64")  # fmt: skip


def noise(shape: tuple[int, ...], dtype: str = "float32", seed: int = 0) -> Any:
    """Random bits, so that nothing about them is special; no NaN, of which there are many and casts keep none."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.random.default_rng(seed).integers(0, 2, shape).astype(bool)
    bits = np.random.default_rng(seed).integers(0, 256, (*shape, kind.itemsize), np.uint8).view(kind)[..., 0]
    return np.nan_to_num(bits) if kind.kind in "fc" else bits


def saved(tmp_path: Path, array: Any, name: str = "array") -> Path:
    np.save(tmp_path / f"{name}.npy", array)
    return tmp_path / f"{name}.npy"


def in_bin(tmp_path: Path) -> Any:
    array = noise((COUNT, 3, 4), "int16")
    (tmp_path / "raw.bin").write_bytes(b"header" + array.tobytes())
    return ArrayDataset(x=FileArray(tmp_path / "raw.bin", dtype="int16", shape=(-1, 3, 4), offset=6))


def in_npz(tmp_path: Path) -> Any:
    np.savez(tmp_path / "some.npz", x=noise((COUNT, 5)), y=np.arange(COUNT))
    return ArrayDataset(tmp_path / "some.npz")


def in_safetensors(tmp_path: Path) -> Any:
    save_file({"x": torch.randn(COUNT, 2).bfloat16(), "y": torch.arange(COUNT)}, tmp_path / "some.safetensors")
    return ArrayDataset(tmp_path / "some.safetensors")


def in_torch_file(tmp_path: Path) -> Any:
    torch.save({"x": torch.randn(COUNT, 4, 2).transpose(1, 2), "y": [torch.arange(COUNT)]}, tmp_path / "some.pt")
    return ArrayDataset(tmp_path / "some.pt")


def by_position(tmp_path: Path) -> Any:
    textures = np.load(saved(tmp_path, noise((COUNT, 8, 8, 13))), mmap_mode="r")
    return ArrayDataset(textures, noise((COUNT, 6), "int64"), torch.arange(COUNT))


def strided(tmp_path: Path) -> Any:
    mapped = np.load(saved(tmp_path, noise((2 * COUNT, 8, 9, 3))), mmap_mode="r+")
    return ArrayDataset(x=mapped[::2, 1:7, ::3, 1], y=noise((3, COUNT), "uint8").T, z=torch.rand(4, COUNT)[2])


def direct(tmp_path: Path) -> Any:
    try:
        return ArrayDataset(x=open_arrays(saved(tmp_path, noise((COUNT, 700))), direct=True))
    except OSError:
        pytest.skip("this file system has no O_DIRECT")


SOURCES: dict[str, Callable[[Path], Any]] = {
    "a .npy file": lambda tmp_path: ArrayDataset(saved(tmp_path, noise((COUNT, 3)))),
    "a .bin file": in_bin,
    "a .npz file": in_npz,
    "a .safetensors file": in_safetensors,
    "a file of torch.save": in_torch_file,
    "arrays by position, one of them mapped": by_position,
    "strides": strided,
    "past the page cache": direct,
    "no items in a row": lambda tmp_path: ArrayDataset(x=saved(tmp_path, noise((COUNT, 0, 3))), y=np.arange(COUNT)),
    "one row": lambda tmp_path: ArrayDataset(saved(tmp_path, noise((1, 3)))),
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_source(name: str, tmp_path: Path) -> None:
    dataset = SOURCES[name](tmp_path)
    check(Program(loader_of(dataset, batch_size=5, shuffle=True), draw=True))
    check(Program(loader_of(dataset, batch_size=5, shuffle=True, num_workers=2)))
    check(Program(loader_of(pickle.loads(pickle.dumps(dataset)), batch_size=8), epochs=1))


def test_every_dtype(tmp_path: Path) -> None:
    memory = {name: noise((COUNT, 3), name) for name in NUMPY}
    files = {f"stored {name}": saved(tmp_path, noise((COUNT, 2), name), name) for name in NUMPY}
    for each in (memory, files):
        check(Program(loader_of(ArrayDataset(**each), batch_size=7, shuffle=True), epochs=1))


@pytest.mark.parametrize("stored", NUMBERS)
def test_every_cast_is_torchs(stored: str, tmp_path: Path) -> None:
    if stored == "bfloat16":
        array = torch.from_numpy(noise((COUNT, 40))).bfloat16()
    else:
        array = torch.from_numpy(noise((COUNT, 40), stored))
    integers = [name for name in NUMBERS if "float" not in name and name != "bool"]
    floats = [name for name in NUMBERS if "float" in name]
    wanted = floats if "float" in stored else integers + floats
    fields = {f"to {name}": array for name in wanted}
    dataset = ArrayDataset(**fields, dtypes={f"to {name}": getattr(torch, name) for name in wanted})
    check(Program(loader_of(dataset, batch_size=8), epochs=1))
    if stored != "bfloat16":
        path = saved(tmp_path, array.numpy())
        check(Program(loader_of(ArrayDataset(path, dtypes="float32"), batch_size=8, shuffle=True), epochs=1))


@WORKERS
def test_trees_over_it(num_workers: int, tmp_path: Path) -> None:
    one, two = (ArrayDataset(saved(tmp_path, noise((COUNT, 3), seed=k), f"{k}")) for k in range(2))
    memory = ArrayDataset(noise((9, 3)))
    for tree in (
        Subset(one, [5, 3, 3, -1]),
        ConcatDataset([one, memory, two]),
        StackDataset(a=one, b=TensorDataset(torch.rand(COUNT))),
    ):
        check(Program(loader_of(tree, batch_size=4, shuffle=True, num_workers=num_workers), draw=True))


def test_indices_that_are_not_there() -> None:
    listed = loader_of(ArrayDataset(noise((9, 3))), batch_size=2, sampler=[0, 1, 9, 2, -9, -10, 3])
    assert len(errors(check(Program(listed, epochs=1)))) == 2


@WORKERS
def test_what_is_written_through_a_map_is_read(num_workers: int, tmp_path: Path) -> None:
    mapped = np.load(saved(tmp_path, noise((COUNT, 3))), mmap_mode="r+")

    def change(epoch: int, loader: Any) -> None:
        mapped[:] = noise((COUNT, 3), seed=epoch)

    dataset = ArrayDataset(mapped)
    check(Program(loader_of(dataset, batch_size=4, num_workers=num_workers), before=change))


def test_what_worker_init_fn_does_to_arrays_is_torchs(tmp_path: Path) -> None:
    array, path = noise((COUNT, 3)), saved(tmp_path, noise((COUNT, 3)))

    def seed(worker: int) -> None:
        torch.manual_seed(worker)

    def change(worker: int) -> None:
        array[:] = worker

    dataset = ArrayDataset(path, array)
    check(Program(loader_of(dataset, batch_size=4, num_workers=2, worker_init_fn=lambda: seed), epochs=1))
    check(Program(loader_of(dataset, batch_size=4, num_workers=2, worker_init_fn=lambda: change), epochs=1))


def test_a_map_with_changes_of_its_own_is_memory(tmp_path: Path) -> None:
    mapped = np.load(saved(tmp_path, noise((COUNT, 3))), mmap_mode="c")
    mapped[3] = 7
    dataset = ArrayDataset(mapped)
    assert dataset.fields[0].array is mapped
    check(Program(loader_of(dataset, batch_size=4)))


def test_a_file_that_was_replaced_is_not_read_in_the_place_of_a_map(tmp_path: Path) -> None:
    path = saved(tmp_path, noise((COUNT, 3)))
    mapped = np.load(path, mmap_mode="r")
    path.unlink()
    saved(tmp_path, noise((COUNT, 3), seed=1))
    assert torch.equal(ArrayDataset(mapped)[4][0], torch.from_numpy(np.array(mapped[4])))
    check(Program(loader_of(ArrayDataset(mapped), batch_size=4)))


@WORKERS
def test_a_file_that_is_cut_meanwhile_is_an_error_and_no_crash(num_workers: int, tmp_path: Path) -> None:
    path = saved(tmp_path, noise((COUNT, 1000)))
    dataset = ArrayDataset(x=np.load(path, mmap_mode="r"))
    loader = goloader.DataLoader(dataset, batch_size=1, num_workers=num_workers)
    assert loader.explain().native
    iterator = iter(loader)
    next(iterator)
    with path.open("r+b") as file:
        file.truncate(128 + 30 * 4000 + 17)
    seen = []
    for _ in range(COUNT - 1):
        try:
            seen.append(next(iterator))
        except OSError as error:
            assert "but the file has 120145" in str(error)
            assert str(path) in str(error)
    assert len(seen) == 29
    with pytest.raises(OSError, match="the file has 120145"):
        dataset[31]


@pytest.mark.slow  # many seconds
def test_what_stays_with_torch(tmp_path: Path) -> None:
    others = {
        "a float that becomes an int": ArrayDataset(noise((9, 3)), dtypes="int64"),
        "another byte order": ArrayDataset(noise((9, 3)).astype(">f4")),
        "rows scattered over a file": ArrayDataset(saved(tmp_path, np.asfortranarray(noise((9000, 30))))),
        "a subclass": type("Own", (ArrayDataset,), {"__getitem__": lambda self, index: index})(noise((9, 3))),
        "a gradient": ArrayDataset(torch.rand(9, 3, requires_grad=True)),
    }
    for name, dataset in others.items():
        assert not goloader.DataLoader(dataset).explain().native, name
        with torch.no_grad():
            for ours, theirs in zip(goloader.DataLoader(dataset), DataLoader(dataset), strict=True):
                assert type(ours) is type(theirs), name
                if isinstance(ours, list):
                    assert all(map(torch.equal, ours, theirs)), name
                else:
                    assert torch.equal(ours, theirs), name


def test_samples_are_tuples_or_dicts_of_tensors(tmp_path: Path) -> None:
    array = noise((4, 3))
    by_name = ArrayDataset(x=array, n=np.arange(4))
    assert list(by_name[2]) == ["x", "n"]
    assert by_name[-2]["n"].shape == () and by_name[2]["n"].dtype == torch.int64
    assert isinstance(ArrayDataset(array)[0], tuple)
    assert len(ArrayDataset(array)) == 4
    for bad, kind, why in (
        (lambda: ArrayDataset(), ValueError, "at least one"),
        (lambda: ArrayDataset(array, x=array), ValueError, "by position or by name"),
        (lambda: ArrayDataset(array, array[:2]), ValueError, "differ in length"),
        (lambda: ArrayDataset([1, 2]), TypeError, "is a list"),
        (lambda: ArrayDataset(np.array(["a"])), TypeError, "which torch does not have"),
        (lambda: ArrayDataset(np.float32(1)), TypeError, "is a float32"),
        (lambda: ArrayDataset(np.array(1.0)), ValueError, "no dimensions"),
        (lambda: ArrayDataset(array, dtypes={"x": "int8"}), ValueError, "dtypes names 'x'"),
        (lambda: ArrayDataset(array, dtypes="object"), TypeError, "torch has no dtype"),
        (lambda: ArrayDataset(tmp_path / "none.npy"), FileNotFoundError, "none.npy"),
        (lambda: ArrayDataset(array)[4], IndexError, "index 4"),
    ):
        with pytest.raises(kind, match=why):
            bad()


def test_rows_of_a_file_array(tmp_path: Path) -> None:
    array = noise((20, 3, 2), "int32")
    for each, order in itertools.product((array, array[:0]), "CF"):
        stored = open_arrays(saved(tmp_path, np.asarray(each, order=order), order))
        assert isinstance(stored, FileArray)
        assert stored.shape == each.shape and len(stored) == len(each) and stored.dtype == "int32"
        for part in (slice(None), slice(3, 9), slice(None, None, -2), [4, 4, -1] if len(each) else []):
            assert np.array_equal(stored[part], each[part])
        assert np.array_equal(np.asarray(stored), each)
        for index in (len(each), -len(each) - 1):
            with pytest.raises(IndexError):
                stored[index]


def test_numpy_loader_reads_files_too(tmp_path: Path) -> None:
    array = noise((COUNT, 3))
    stored = open_arrays(saved(tmp_path, array))
    mapped = np.load(tmp_path / "array.npy", mmap_mode="r")
    swapped = np.load(saved(tmp_path, array.astype(">f4"), "swapped"), mmap_mode="r")
    assert isinstance(stored, FileArray)
    loader = goloader.NumpyLoader({"a": stored, "b": mapped, "c": swapped, "d": array}, batch_size=4, num_workers=2)
    whole = {name: np.concatenate([batch[name] for batch in loader]) for name in "abcd"}
    assert all(np.array_equal(each, array) for each in whole.values())
    with pytest.raises(TypeError, match="another byte order"):
        goloader.NumpyLoader([open_arrays(tmp_path / "swapped.npy")])  # type: ignore[list-item]
