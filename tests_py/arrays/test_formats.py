"""Files of arrays: what their own libraries read is read, damage is a clear error, and nothing in a file is run."""

from __future__ import annotations

import io
import json
import pickle
import struct
import sys
import tracemalloc
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file
from torch import nn
from torch.utils import data

from goloader import ArrayDataset, DataLoader, FileArray, open_arrays

FLOAT8 = [torch.float8_e4m3fn, torch.float8_e5m2]
DTYPES = [
    torch.bool, torch.uint8, torch.int8, torch.uint16, torch.int16, torch.uint32, torch.int32, torch.uint64,
    torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, *FLOAT8,
]  # fmt: skip


def some(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    size = torch.empty(0, dtype=dtype).element_size()
    if dtype == torch.bool:
        return torch.rand(shape) < 0.5
    return torch.randint(0, 256, (*shape, size), dtype=torch.uint8).view(dtype)[..., 0]


def same(stored: FileArray, tensor: torch.Tensor) -> bool:
    """Whether an array in a file has a tensor's dtype, shape and bits."""
    bits = tensor.contiguous().view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
    return (stored.dtype, stored.shape) == (str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape)) and stored[
        :
    ].tobytes() == bits


def test_safetensors(tmp_path: Path) -> None:
    tensors = {str(dtype): some(dtype, 4, 3) for dtype in DTYPES}
    save_file(tensors, tmp_path / "a", metadata={"by": "us"})
    opened = open_arrays(tmp_path / "a")
    assert isinstance(opened, dict)
    assert opened.keys() == tensors.keys()
    assert all(same(opened[name], tensor) for name, tensor in tensors.items())


def test_hdf5(tmp_path: Path) -> None:
    """Arrays in one piece and in chunks; those in the header, of text or without items are left out."""
    path = tmp_path / "a.h5"
    arrays = {
        name: np.random.default_rng(0).integers(0, 2, (5, 3)).astype(name)
        for name in ("bool", "uint8", "int16", ">i4", "int64", "float16", "float32", ">f8", "complex64")
    }
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[f"group/{name}"] = array
        file.create_dataset("zipped", data=np.zeros((5, 3)), compression="gzip")
        file.create_dataset("scaled", data=np.zeros((5, 3)), scaleoffset=2)
        file["text"], file["scalar"] = ["a", "b"], 3
        file.create_dataset("unwritten", (5, 3), "f4")
        file.create_dataset("elsewhere", (5,), "f4", external=[(str(tmp_path / "raw"), 0, 20)])
        file["again"] = h5py.SoftLink("/group/bool")
    opened = open_arrays(path)
    assert isinstance(opened, dict)
    arrays = {f"group/{name}": array for name, array in arrays.items()} | {"zipped": np.zeros((5, 3))}
    assert opened.keys() == arrays.keys()
    for name, array in arrays.items():
        stored = opened[name]
        assert (stored[:].dtype, stored.shape) == (array.dtype.newbyteorder("="), array.shape)
        assert (stored[:] == array).all()


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_hdf5_s_batches_are_those_of_torchs_loader(tmp_path: Path, workers: int) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = np.random.default_rng(0).random((11, 4, 2), np.float32)
        file["y"] = np.arange(11)
    dataset = ArrayDataset(tmp_path / "a.h5")
    found = []
    for made in (data.DataLoader, DataLoader):
        torch.manual_seed(2)
        loader = made(dataset, 4, shuffle=True, num_workers=workers)
        found.append([(batch["x"], batch["y"]) for _ in range(2) for batch in loader])
    assert loader.explain().native
    for theirs, ours in zip(*found, strict=True):
        assert all(map(torch.equal, ours, theirs))


def test_hdf5_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("scaled", data=np.zeros((50, 30)), scaleoffset=2)
        file["text"] = ["a", "b"]
    with pytest.raises(ValueError, match=r"a.h5: it has no array that can be read: scaled .*, text \(of object\)"):
        open_arrays(path)
    content = path.read_bytes()
    path.write_bytes(content[:900])
    with pytest.raises(ValueError, match=r"a.h5: .*truncated"):
        open_arrays(path)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ValueError, match=r"a.h5: h5py, .* is not installed"):
        open_arrays(path)


def test_torch_save(tmp_path: Path) -> None:
    whole = some(torch.float32, 6, 5)
    tensors = {str(dtype): some(dtype, 4, 3) for dtype in DTYPES}
    saved = {
        "all": tensors,
        "views": [whole.T, whole[1:4, ::2], whole, whole[:0], torch.tensor(3.0)],
        "other": (1, None, "text", 2.5, {3: whole[2]}, np.float64(3), {"a set"}, Path("a")),
        "parameter": nn.Parameter(torch.rand(3)),
    }
    torch.save(saved, tmp_path / "a")
    opened = open_arrays(tmp_path / "a")
    assert isinstance(opened, dict)
    want = {f"all.{name}": tensor for name, tensor in tensors.items()}
    want |= {f"views.{k}": view for k, view in enumerate(saved["views"][:4])}  # type: ignore[index]
    want |= {"other.4.3": whole[2], "parameter": saved["parameter"].detach()}  # type: ignore[union-attr]
    assert list(opened) == list(want)
    for name, tensor in want.items():
        assert same(opened[name], tensor), name

    torch.save(whole.T, tmp_path / "b")
    one = open_arrays(tmp_path / "b")
    assert isinstance(one, FileArray)
    assert same(one, whole.T)

    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    torch.save(model.state_dict(), tmp_path / "c")
    state = open_arrays(tmp_path / "c")
    assert isinstance(state, dict)
    for name, tensor in model.state_dict().items():
        assert not tensor.ndim or same(state[name], tensor)


def test_npy_and_npz(tmp_path: Path) -> None:
    arrays = {"a": np.arange(12).reshape(3, 4), "b": np.asfortranarray(np.random.rand(5, 2, 3)), "c": np.zeros((0, 2))}
    np.savez(tmp_path / "all.npz", **arrays)
    opened = open_arrays(tmp_path / "all.npz")
    assert isinstance(opened, dict)
    for name, array in arrays.items():
        np.save(tmp_path / "one.npy", array)
        one = open_arrays(tmp_path / "one.npy")
        assert np.array_equal(opened[name], array) and np.array_equal(one, array)  # type: ignore[arg-type]
    with open(tmp_path / "two.npy", "wb") as file:
        np.lib.format.write_array(file, np.arange(3, dtype=">i4"), version=(2, 0))
    two = open_arrays(tmp_path / "two.npy")
    assert isinstance(two, FileArray)
    assert two[1:].tolist() == [1, 2]


def test_raw_files(tmp_path: Path) -> None:
    path = tmp_path / "raw"
    path.write_bytes(np.arange(24, dtype=np.uint16).tobytes())
    assert FileArray(path, dtype="uint16")[5] == 5
    assert FileArray(path, dtype=torch.uint16, shape=(-1, 4), offset=16)[0].tolist() == [8, 9, 10, 11]
    assert FileArray(path, dtype=np.dtype(">u2"), shape=(3, 2))[0].tolist() == [0, 256]
    strided = FileArray(path, dtype="uint8", shape=(5, 2), strides=(8, 2))
    assert strided[:].tolist() == [[4 * k, 4 * k + 1] for k in range(5)]
    for arguments, kind, why in (
        ({"dtype": "uint16", "shape": (25,)}, ValueError, r"ends at byte 50, but the file has 48"),
        ({"dtype": "uint16", "shape": (-1, 5)}, ValueError, "24 items are not a multiple of 5"),
        ({"dtype": "uint16", "shape": (-1, -1)}, ValueError, "the shape"),
        ({"dtype": "uint16", "shape": (-1, 0)}, ValueError, "not a multiple of 0"),
        ({"dtype": "uint16", "shape": ()}, ValueError, "0 dimensions"),
        ({"dtype": "uint16", "shape": (1 << 70,)}, ValueError, "the shape"),
        ({"dtype": "uint16", "offset": 49}, ValueError, "byte 49 of a file of 48"),
        ({"dtype": "uint16", "offset": -1}, ValueError, "byte -1"),
        ({"dtype": "uint16", "shape": (3, 2), "strides": (2,)}, ValueError, "strides"),
        ({"dtype": "uint16", "shape": (3,), "strides": (-2,)}, ValueError, "strides"),
        ({"dtype": "uint16", "shape": (3,), "strides": (40,)}, ValueError, "ends at byte 82"),
        ({"dtype": "datetime64[s]"}, TypeError, "torch has no dtype"),
    ):
        with pytest.raises(kind, match=why):
            FileArray(path, **arguments)  # type: ignore[arg-type]


# Damage


class Bomb:
    """What runs if it is unpickled."""

    def __reduce__(self) -> Any:
        return exec, ("raise SystemExit('it was run')",)


def npy_with_a_header(text: str) -> bytes:
    header = text.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(64)


def safetensors_with(header: Any) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(64)


def torch_file_with(pickled: bytes, **members: bytes) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
        for name, content in {"data/0": bytes(64), **members}.items():
            archive.writestr(f"archive/{name}", content)
    return data.getvalue()


def torch_file_of(value: Any) -> bytes:
    data = io.BytesIO()
    torch.save(value, data)
    return data.getvalue()


def npz(compressed: bool = False, **arrays: Any) -> bytes:
    data = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(data, **arrays)
    return data.getvalue()


def misplaced(archive: bytes) -> bytes:
    second = archive.index(b"PK\x03\x04", 4)
    return archive[:second] + b"...." + archive[second + 4 :]


def objects() -> bytes:
    data = io.BytesIO()
    np.save(data, np.array([Bomb()], dtype=object), allow_pickle=True)
    return data.getvalue()


# A tensor up to its storage of 16 items, member data/0; offset, shape, stride and the rest are to follow.
TENSOR = (
    b"ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\n"
    b"X\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x10tQ"
)

DAMAGED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "begins with b''"),
    "text": (b"hello, world", "neither"),
    "objects": (objects(), "pickles are not read"),
    "a header of npy that is code": (
        npy_with_a_header("__import__('os').abort()"), "byte 0: not a .npy header"),
    "a shape that lies": (
        npy_with_a_header("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000,)}"), "but the file has"),
    "a shape without end": (
        npy_with_a_header(f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({1 << 62}, {1 << 62})}}"),
        "but the file has"),
    "a negative shape": (
        npy_with_a_header("{'descr': '<f4', 'fortran_order': False, 'shape': (-4,)}"), "shape"),
    "a dtype that torch lacks": (
        npy_with_a_header("{'descr': '<U4', 'fortran_order': False, 'shape': (4,)}"), "torch has no dtype"),
    "no dimensions": (npy_with_a_header("{'descr': '<f4', 'fortran_order': False, 'shape': ()}"), "has no rows"),
    "another version of npy": (b"\x93NUMPY\x09\x00" + bytes(64), "version"),
    "a compressed archive": (npz(compressed=True, x=np.zeros(1000)), "'x.npy' is compressed"),
    "an archive of other things": (npz(x=np.zeros(3)).replace(b"x.npy", b"x.txt"), "is no .npy file"),
    "a directory of an archive that is cut off": (npz(x=np.zeros(1000))[:-30], "a damaged zip archive"),
    "an entry that lies about its place": (
        misplaced(npz(x=np.zeros(9), y=np.zeros(9))), "no header of member 'y.npy'"),
    "a header that is no json": (safetensors_with(b"{]" + b" " * 30), "byte 8: not a header of safetensors"),
    "deep json": (safetensors_with(b"[" * 100_000), "byte 8: not a header of safetensors"),
    "a list": (safetensors_with([1, 2]), "not list"),
    "no offsets": (safetensors_with({"x": {"dtype": "F32", "shape": [1]}}), "'x' has no dtype, shape and"),
    "an unknown dtype": (safetensors_with({"x": {"dtype": "F3", "shape": [1], "data_offsets": [0, 4]}}), "dtype 'F3'"),
    "offsets that lie": (
        safetensors_with({"x": {"dtype": "F32", "shape": [4], "data_offsets": [0, 12]}}), "but F32 .4. is 16 bytes"),
    "offsets behind the file": (
        safetensors_with({"x": {"dtype": "F32", "shape": [4], "data_offsets": [1 << 60, (1 << 60) + 16]}}), "bytes"),
    "negative offsets": (
        safetensors_with({"x": {"dtype": "F32", "shape": [4], "data_offsets": [-8, 8]}}), "begins at -8"),
    "floats for a shape": (
        safetensors_with({"x": {"dtype": "F32", "shape": [4.0], "data_offsets": [0, 16]}}), "no rows"),
    "a pickle that is cut off": (torch_file_with(b"\x80\x02}q\x00"), "data.pkl"),
    "a pickle of an old kind": (torch_file_with(b"(i__main__\nA\n."), "opcode INST"),
    "a tensor of a negative shape": (
        torch_file_with(TENSOR + b"K\x00J\xff\xff\xff\xff\x85K\x01\x85\x89NtR."), "do not fit"),
    "a tensor longer than its storage": (
        torch_file_with(TENSOR + b"K\x00K\x60\x85K\x01\x85\x89NtR."), "longer than its storage|but the file has"),
    "a tensor of a missing storage": (
        torch_file_with(TENSOR.replace(b"\x000X", b"\x007X") + b"K\x00K\x02\x85K\x01\x85\x89NtR."),
        "'archive/data/7' is missing"),
    "a memo without end": (torch_file_with(b"\x80\x02K\x01r\xff\xff\xff\x7fh\x00."), "KeyError"),
    "a string longer than the file": (torch_file_with(b"\x80\x04\x8e" + struct.pack("<Q", 1 << 40) + b"."), "expected"),
    "nothing on the stack": (torch_file_with(b"\x80\x02R."), "IndexError"),
    "another byte order": (torch_file_with(b"\x80\x02}.", byteorder=b"big"), "another byte order"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_is_named(name: str, tmp_path: Path) -> None:
    data, why = DAMAGED[name]
    path = tmp_path / "damaged"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=why) as raised:
        open_arrays(path)
    assert str(path) in str(raised.value)


def test_what_a_pickle_calls_is_not_called(tmp_path: Path) -> None:
    for protocol in range(2, 6):
        data = io.BytesIO()
        torch.save(OrderedDict(x=torch.arange(3), bomb=Bomb()), data, pickle_protocol=protocol)
        (tmp_path / "a").write_bytes(data.getvalue())
        opened = open_arrays(tmp_path / "a")
        assert isinstance(opened, dict)
        assert list(opened) == ["x"]
    (tmp_path / "a").write_bytes(torch_file_with(pickle.dumps(Bomb(), 2)))
    assert open_arrays(tmp_path / "a") == {}
    with pytest.raises(SystemExit):  # it is a bomb
        pickle.loads(pickle.dumps(Bomb()))


def valid() -> dict[str, bytes]:
    data = io.BytesIO()
    np.save(data, np.arange(20).reshape(4, 5))
    header = {"x": {"dtype": "F32", "shape": [4, 4], "data_offsets": [0, 64]}, "__metadata__": {}}
    return {
        "npy": data.getvalue(),
        "npz": npz(x=np.arange(6), y=np.zeros((2, 3), np.float32)),
        "safetensors": safetensors_with(header),
        "torch": torch_file_of({"x": torch.rand(3, 4), "y": [torch.arange(5), "text"]}),
    }


VALID = valid()


@settings(max_examples=400)
@given(
    name=st.sampled_from(sorted(VALID)),
    places=st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), max_size=4),
    cut=st.integers(0, 1 << 16),
    keep=st.booleans(),
)
def test_any_damage_is_an_error_or_harmless(
    tmp_path: Path, name: str, places: list[tuple[int, int]], cut: int, keep: bool
) -> None:
    data = bytearray(VALID[name])
    for place, value in places:
        data[place % len(data)] = value
    path = tmp_path / "damaged"
    path.write_bytes(data if keep else data[: cut % (len(data) + 1)])
    tracemalloc.start()
    try:
        opened = open_arrays(path)
        for array in opened.values() if isinstance(opened, dict) else [opened]:
            if array.nbytes <= 1 << 20:  # a stride of 0 may repeat what is there
                array[:]
    except ValueError as error:
        assert str(path) in str(error)
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 16 << 20
