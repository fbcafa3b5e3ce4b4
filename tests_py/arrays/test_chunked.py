"""Arrays in chunks of HDF5 and Zarr: the same batches as torch's loader makes of what their own libraries read."""

from __future__ import annotations

import itertools
import pickle
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from torch.utils import data

from goloader import ArrayDataset, DataLoader, NumpyLoader, RaggedArray, collate, open_arrays
from goloader._crc import crc32c

try:
    import numcodecs
    import zarr
    from zarr import codecs
except ImportError:
    zarr = None
WITH_ZARR = pytest.mark.skipif(zarr is None, reason="needs zarr")

DTYPES = ("bool", "uint8", "int16", "int32", "uint64", "float16", "float32", "float64", "complex64")


def noise(rng: random.Random, shape: tuple[int, ...], dtype: str) -> Any:
    """Items of few different bytes, so that they can be compressed."""
    bits = np.random.default_rng(rng.randrange(1 << 30))
    size = np.dtype(dtype).itemsize
    items = bits.integers(0, 2 if dtype == "bool" else 3, (*shape, size), np.uint8)
    return items.view(dtype)[..., 0]


def layout(rng: random.Random, count: int, beyond: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of an array and of its chunks, which may be larger by so much."""
    shape = (count, *(rng.randint(1, 12) for _ in range(rng.randint(0, 3))))
    return shape, tuple(rng.randint(1, extent + beyond) for extent in shape)


def in_hdf5(rng: random.Random, path: Path, count: int) -> dict[str, Any]:
    """Writes arrays and gives what h5py reads."""
    found = {}
    with h5py.File(path, "w") as file:
        for name in ("a", "b/c", "b/d/e"):
            shape, chunk = layout(rng, count, 0)
            dtype = rng.choice(DTYPES)
            settings = {
                "chunks": chunk,
                "compression": rng.choice((None, "gzip", "gzip", "lzf")),
                "shuffle": rng.random() < 0.5,
                "fletcher32": rng.random() < 0.3,
                "fillvalue": None if dtype == "complex64" else rng.choice((None, 1)),
            }
            made = file.create_dataset(name, shape, dtype, maxshape=(None, *shape[1:]), **settings)
            end = rng.choice((count, rng.randint(0, count)))  # chunks behind it are never written
            made[:end] = noise(rng, shape, dtype)[:end]
            found[name] = made[...]
    return found


def compressors2(rng: random.Random) -> Any:
    blosc = numcodecs.Blosc(
        rng.choice(("lz4", "lz4hc", "zlib", "zstd")), rng.choice((0, 1, 9)), rng.choice((-1, 0, 1, 2)),
        blocksize=rng.choice((0, 256, 1000)),
    )  # fmt: skip
    return rng.choice((None, numcodecs.Zlib(), numcodecs.GZip(), numcodecs.Zstd(), blosc, blosc, blosc))


def compressors3(rng: random.Random) -> Any:
    blosc = codecs.BloscCodec(
        cname=rng.choice(("lz4", "zstd", "zlib")), shuffle=rng.choice(("shuffle", "noshuffle", "bitshuffle"))
    )
    zstd = codecs.ZstdCodec(checksum=rng.random() < 0.5)
    return rng.choice((None, codecs.GzipCodec(), zstd, blosc, blosc, (zstd, codecs.Crc32cCodec())))


def in_zarr(rng: random.Random, path: Path, count: int) -> dict[str, Any]:
    """Writes arrays and gives what zarr reads."""
    version, found = rng.choice((2, 3)), {}
    root = zarr.open_group(path, mode="w", zarr_format=version)
    root.create_group("b").create_group("d")
    for name in ("a", "b/c", "b/d/e"):
        shape, chunk = layout(rng, count, 2)
        dtype = rng.choice(DTYPES)
        settings: dict[str, Any] = {"compressors": (compressors2 if version == 2 else compressors3)(rng)}
        if version == 2 and rng.random() < 0.3:
            settings["filters"] = [numcodecs.Shuffle(np.dtype(dtype).itemsize)]
        keys = {"name": "v2" if version == 2 else rng.choice(("default", "v2")), "separator": rng.choice("./")}
        if version == 3 and rng.random() < 0.6:
            settings["shards"] = tuple(extent * rng.choice((1, 2, 3)) for extent in chunk)
        made = root.create_array(
            name, shape=shape, chunks=chunk, dtype=dtype, fill_value=rng.choice((0, 1)), chunk_key_encoding=keys,
            **settings,
        )  # fmt: skip
        end = rng.choice((count, rng.randint(0, count)))
        made[:end] = noise(rng, shape, dtype)[:end]
        found[name] = made[...]
    return found


FORMATS = pytest.mark.parametrize("write", [in_hdf5, pytest.param(in_zarr, marks=WITH_ZARR)])


def alike(ours: Any, theirs: Any) -> bool:
    """The same bits: NaN is not NaN, and 0.0 is -0.0."""
    return (ours.dtype, ours.shape) == (
        theirs.dtype,
        theirs.shape,
    ) and ours.numpy().tobytes() == theirs.numpy().tobytes()


@FORMATS
@pytest.mark.parametrize("seed", range(12))
def test_batches_are_those_of_the_formats_own_library(write: Any, seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    for number in range(4):
        path = tmp_path / str(number)
        arrays = write(rng, path, rng.randint(1, 40))
        dataset = ArrayDataset(path)
        assert set(dataset.names or ()) == arrays.keys()
        theirs = data.StackDataset(**{name: torch.from_numpy(array) for name, array in arrays.items()})
        settings: Any = {"batch_size": rng.randint(1, 9), "shuffle": rng.random() < 0.5}
        batches = []
        for loader, workers in ((data.DataLoader(theirs, **settings), 0), (dataset, (0, 1, 3)[number % 3])):
            if isinstance(loader, ArrayDataset):
                loader = DataLoader(loader, num_workers=workers, **settings)
                assert loader.explain().native
            torch.manual_seed(seed)
            batches.append([batch for _ in range(2) for batch in loader])
        for ours, expected in zip(*reversed(batches), strict=True):
            assert all(alike(ours[name], expected[name]) for name in arrays)


@FORMATS
@pytest.mark.parametrize("workers", [0, 2])
def test_torchs_loader_takes_them_too(write: Any, workers: int, tmp_path: Path) -> None:
    arrays = write(random.Random(7), tmp_path / "a", 23)
    dataset = ArrayDataset(tmp_path / "a")
    for name, array in arrays.items():
        stored = open_arrays(tmp_path / "a")[name]  # type: ignore[index]
        assert stored[:].tobytes() == array.tobytes()
        assert pickle.loads(pickle.dumps(stored))[5].tobytes() == array[5].tobytes()
    rows = [{name: torch.from_numpy(array[i : i + 1])[0] for name, array in arrays.items()} for i in range(23)]
    assert all(alike(dataset[3][name], row) for name, row in rows[3].items())
    for batch, expected in zip(
        data.DataLoader(dataset, 4, num_workers=workers),
        data.DataLoader(rows, 4),
        strict=True,  # type: ignore[arg-type]
    ):
        assert all(alike(batch[name], expected[name]) for name in arrays)


def test_casts_ragged_rows_and_numpy(tmp_path: Path) -> None:
    values = np.random.default_rng(0).integers(0, 999, (500, 3), np.uint16)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=values, chunks=(64, 2), compression="gzip")
    stored = open_arrays(tmp_path / "a.h5")["x"]  # type: ignore[index]
    loader = DataLoader(ArrayDataset(stored, dtypes=torch.float32), 7)
    assert loader.explain().native
    assert torch.equal(torch.cat([x for (x,) in loader]), torch.from_numpy(values.astype(np.float32)))
    offsets = np.array([0, 3, 3, 200, 500])
    loader = DataLoader(
        ArrayDataset(RaggedArray(stored, offsets)), 1, shuffle=True, collate_fn=collate.Pad(batch_first=True)
    )
    assert loader.explain().native
    rows = {end - begin: values[begin:end] for begin, end in itertools.pairwise(offsets)}
    found = [x[0] for (x,) in loader]
    assert {len(row) for row in found} == rows.keys()
    assert all((row.numpy() == rows[len(row)]).all() for row in found)
    assert all(
        (batch["x"] == values[9 * i :][:9]).all() for i, batch in enumerate(NumpyLoader({"x": stored}, batch_size=9))
    )


def test_damaged_chunks_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        made = file.create_dataset("x", data=np.arange(400.0).reshape(100, 4), chunks=(10, 4), compression="gzip")
        spoiled = made.id.get_chunk_info(3)
    content = bytearray(path.read_bytes())
    content[spoiled.byte_offset + 5 : spoiled.byte_offset + 25] = bytes(20)
    path.write_bytes(content)
    loader = DataLoader(ArrayDataset(path), 10)
    with pytest.raises(OSError, match=rf"a.h5: chunk \[3 0\] at byte {spoiled.byte_offset}: .*damaged"):
        list(loader)
    path.write_bytes(content[: spoiled.byte_offset + 5])
    with pytest.raises(OSError, match=r"chunk \[3 0\]: .*a.h5: .*the file has \d+"):
        list(loader)


def sharded(chunk: Sequence[int] = (1,), index: Sequence[str] = ("bytes", "crc32c"), at: str = "end") -> dict[str, Any]:
    """A codec that puts several chunks into a file."""
    return {
        "name": "sharding_indexed",
        "configuration": {
            "chunk_shape": list(chunk), "codecs": [{"name": "bytes"}], "index_location": at,
            "index_codecs": [{"name": name} for name in index],
        },
    }  # fmt: skip


def zarr3(folder: Path, **changed: Any) -> None:
    """An array of Zarr, written by hand."""
    import json

    about = {
        "zarr_format": 3, "node_type": "array", "shape": [6], "data_type": "int32", "fill_value": 7, "attributes": {},
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    }  # fmt: skip
    (folder / "c").mkdir(parents=True)
    (folder / "zarr.json").write_text(json.dumps(about | changed))
    (folder / "c/0").write_bytes(np.arange(2, dtype="<i4").tobytes())
    (folder / "c/2").write_bytes(np.arange(2, dtype="<i4").tobytes())


@pytest.mark.parametrize("at", ["start", "end"])
def test_damaged_shards_are_told_with_their_byte(at: str, tmp_path: Path) -> None:
    zarr3(tmp_path / "a", codecs=[sharded(at=at)])

    def shard(*places: tuple[int, int], damage: bytes = b"") -> None:
        index = np.array(places, "<u8").tobytes()
        index += crc32c(index).to_bytes(4, "little")
        items = np.array([5, 6], "<i4").tobytes()
        (tmp_path / "a/c/0").write_bytes((items + index if at == "end" else index + items) + damage)
        (tmp_path / "a/c/2").unlink(missing_ok=True)

    begin, nothing = 0 if at == "end" else 36, 2**64 - 1
    shard((begin + 4, 4), (nothing, nothing))
    assert [batch["x"].tolist() for batch in DataLoader(ArrayDataset(x=tmp_path / "a"), 6)] == [[6, 7, 7, 7, 7, 7]]
    shard((begin, 4), (begin + 3, 2**63))
    with pytest.raises(OSError, match="a/c/0: its index has chunks beyond its 44 bytes"):
        open_arrays(tmp_path / "a")
    shard((begin, 4), (nothing, nothing))
    content = bytearray((tmp_path / "a/c/0").read_bytes())
    content[8 if at == "end" else 0] ^= 1
    (tmp_path / "a/c/0").write_bytes(content)
    at_byte = 40 if at == "end" else 32
    with pytest.raises(OSError, match=f"a/c/0: the checksum of its index, at byte {at_byte}, is wrong"):
        open_arrays(tmp_path / "a")
    (tmp_path / "a/c/0").write_bytes(bytes(35))
    with pytest.raises(OSError, match="a/c/0: 35 bytes, fewer than the 36 of a shard's index"):
        open_arrays(tmp_path / "a")


def test_a_zarr_array_needs_no_zarr_package(tmp_path: Path) -> None:
    zarr3(tmp_path / "a")
    dataset = ArrayDataset(x=tmp_path / "a")
    assert [batch["x"].tolist() for batch in DataLoader(dataset, 6)] == [[0, 1, 7, 7, 0, 1]]
    (tmp_path / "a/c/2").write_bytes(b"short")
    with pytest.raises(OSError, match=r"a/c/2: chunk \[2\] at byte 0: .*5 bytes come out of it, not 8"):
        list(DataLoader(dataset, 6))
    (tmp_path / "a/c/2").unlink()
    with pytest.raises(OSError, match=r"a/c/2: .*no such file"):  # and not the fill value
        list(DataLoader(dataset, 6))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"data_type": "string"}, "of string"),
        ({"shape": []}, "no rows"),
        ({"codecs": [{"name": "transpose", "configuration": {}}]}, "codec transpose"),
        ({"codecs": [{"name": "sharding_indexed", "configuration": {}}]}, "KeyError: 'index_codecs'"),
        ({"codecs": [sharded(index=("bytes", "gzip"))]}, "an index with zlib"),
        ({"codecs": [sharded(chunk=[3])]}, r"chunks \[3\] in shards \[2\]"),
        ({"fill_value": "0x7fc00001", "data_type": "float32"}, "fill value '0x7fc00001'"),
        ({"surprise": {}}, "surprise"),
        ({"shape": [-1]}, r"zarr.json: not metadata of an array: .*\[-1\]"),
        ({"shape": None}, "zarr.json: not metadata of an array"),
        ({"chunk_grid": 3}, "zarr.json: not metadata of an array"),
        ({"fill_value": [1, 2]}, "zarr.json: not metadata of an array"),
    ],
)
def test_what_of_zarr_is_left_out_is_said(changed: Any, message: str, tmp_path: Path) -> None:
    zarr3(tmp_path / "a", **changed)
    with pytest.raises(ValueError, match=message):
        open_arrays(tmp_path / "a")


def test_a_folder_that_is_no_zarr_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no Zarr"):
        open_arrays(tmp_path)
