"""Columns of Parquet and Arrow files: the same batches as torch's loader makes of what pyarrow reads."""

from __future__ import annotations

import os
import pickle
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from pyarrow import feather, parquet
from torch.utils import data

import goloader
from goloader import ArrayDataset, DataLoader, collate, open_arrays
from goloader.cli import main

NUMBERS = (
    pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.float16(),
    pa.float32(), pa.float64(),
)  # fmt: skip
ENCODINGS: dict[Any, tuple[str, ...]] = {
    **dict.fromkeys(NUMBERS[1:5], ("DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT")),
    **dict.fromkeys(NUMBERS[-3:], ("BYTE_STREAM_SPLIT",)),
    pa.string(): ("DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"),
    pa.binary(): ("DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"),
    pa.bool_(): ("RLE",),
}


def numbers(rng: random.Random, count: int, kind: Any) -> Any:
    """Arrow's numbers, some of few different ones, some of any."""
    noise = np.random.default_rng(rng.randrange(1 << 30))
    dtype = np.dtype(kind.to_pandas_dtype())
    if dtype == np.bool_:
        return pa.array(noise.random(count) < rng.choice((0.01, 0.5)), kind)
    if dtype.kind == "f":
        return pa.array(noise.choice((noise.random(count), np.round(noise.random(count), 1))).astype(dtype), kind)
    ends = np.iinfo(dtype)
    low, high = rng.choice(((ends.min, ends.max), (max(ends.min, -3), 5), (0, 100)))
    return pa.array(noise.integers(low, high, count, dtype, endpoint=True), kind)


def texts(rng: random.Random, count: int, kind: Any) -> Any:
    words = [os.urandom(rng.randint(0, 12)).hex() + "é" * rng.randint(0, 2) for _ in range(rng.choice((3, count)) + 1)]
    found: list[Any] = [rng.choice(words) for _ in range(count)]
    return pa.array([each.encode() for each in found] if "binary" in str(kind) else found, kind)


def table(rng: random.Random, count: int, arrow: bool) -> Any:
    """A table of all kinds of columns."""
    columns: dict[str, Any] = {f"{kind} n": numbers(rng, count, kind) for kind in rng.sample(NUMBERS, 4)}
    columns |= {
        str(kind): texts(rng, count, kind) for kind in (pa.string(), rng.choice((pa.large_binary(), pa.binary())))
    }
    width, depth = rng.randint(1, 4), rng.randint(1, 3)
    flat = numbers(rng, count * width * depth, rng.choice(NUMBERS))
    inner = pa.FixedSizeListArray.from_arrays(flat, width)
    columns["rows.of"] = pa.FixedSizeListArray.from_arrays(inner, depth)
    if not arrow:
        columns["category"] = texts(rng, count, pa.string()).dictionary_encode()
    made = pa.table(columns)
    fields = [field.with_nullable(rng.random() < 0.6) for field in made.schema]
    return pa.Table.from_arrays(made.columns, schema=pa.schema(fields))


def write(rng: random.Random, made: Any, path: Path) -> None:
    if path.suffix == ".parquet":
        encodings = {
            name: rng.choice(ENCODINGS[field.type])
            for name, field in zip(made.schema.names, made.schema, strict=True)
            if field.type in ENCODINGS and rng.random() < 0.6
        }
        parquet.write_table(
            made,
            path,
            row_group_size=rng.randint(1, 2 * made.num_rows),
            data_page_size=rng.choice((40, 300, None)),
            write_batch_size=rng.choice((3, 50, None)),
            data_page_version=rng.choice(("1.0", "2.0")),
            compression=rng.choice(("none", "snappy", "gzip", "zstd", "lz4")),
            use_dictionary=[name for name in made.schema.names if name not in encodings and rng.random() < 0.7],
            column_encoding=encodings or None,
            version=rng.choice(("1.0", "2.6")),
            write_page_checksum=rng.random() < 0.5,
            dictionary_pagesize_limit=rng.choice((100, None)),
            write_statistics=rng.random() < 0.7,
            store_schema=True,
        )
        return
    if path.suffix == ".feather":
        feather.write_feather(
            made, path, compression=rng.choice(("lz4", "zstd", "uncompressed")), chunksize=rng.randint(1, made.num_rows)
        )
        return
    kind = pa.ipc.new_file if path.suffix == ".arrow" else pa.ipc.new_stream
    options = pa.ipc.IpcWriteOptions(compression=rng.choice((None, "zstd")))
    with pa.OSFile(str(path), "wb") as out, kind(out, made.schema, options=options) as writer:
        writer.write_table(made, max_chunksize=rng.randint(1, made.num_rows))


class Rows(data.Dataset[Any]):
    """Rows of pyarrow's table: numbers as tensors, texts as they are."""

    def __init__(self, made: Any) -> None:
        self.columns: dict[str, Any] = {}
        for name, column in zip(made.schema.names, made.columns, strict=True):
            array = column.combine_chunks()
            if isinstance(array, pa.ChunkedArray):
                array = pa.concat_arrays(array.chunks)
            shape = [len(array)]
            while hasattr(array.type, "list_size"):
                shape.append(array.type.list_size)
                array = array.flatten()
            kind = str(array.type)
            is_text = "string" in kind or "binary" in kind
            self.columns[name] = (
                column.to_pylist()
                if is_text
                else torch.from_numpy(array.to_numpy(zero_copy_only=False).copy()).reshape(shape)
            )
        self.length = made.num_rows

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        return {name: column[index] for name, column in self.columns.items()}


def alike(ours: Any, theirs: Any) -> bool:
    if not isinstance(theirs, torch.Tensor):
        return type(ours) is type(theirs) and ours == theirs
    same = (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    return same and ours.numpy().tobytes() == theirs.numpy().tobytes()


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather", ".stream"])
@pytest.mark.parametrize("seed", range(12))
def test_batches_are_those_of_pyarrows_rows(suffix: str, seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    for number in range(5):
        made = table(rng, rng.randint(1, 300), suffix != ".parquet")
        path = tmp_path / f"{number}{suffix}"
        write(rng, made, path)
        if suffix == ".parquet":  # of which the first version has fewer types
            made = parquet.read_table(path)
        dataset = ArrayDataset(path)
        assert dataset.names == tuple(made.schema.names)
        settings: Any = {"batch_size": rng.randint(1, 40), "shuffle": rng.random() < 0.7}
        ours = DataLoader(dataset, num_workers=(0, 1, 3)[number % 3], **settings)
        assert ours.explain().native
        batches = []
        for loader in (ours, data.DataLoader(Rows(made), **settings)):
            torch.manual_seed(seed)
            batches.append([batch for _ in range(2) for batch in loader])
        for batch, expected in zip(*batches, strict=True):
            assert batch.keys() == expected.keys()
            for name in expected:
                assert alike(batch[name], expected[name]), name


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather", ".stream"])
def test_lists_of_any_length(suffix: str, tmp_path: Path) -> None:
    rng = random.Random(1)
    for number in range(6):
        lengths = [rng.randint(0, 5) for _ in range(90)]
        offsets = pa.array(np.cumsum([0, *lengths]), pa.int64() if number % 2 else pa.int32())
        kind, width = rng.choice(NUMBERS), rng.randint(1, 4)
        flat = numbers(rng, sum(lengths), kind)
        boxes = pa.FixedSizeListArray.from_arrays(numbers(rng, sum(lengths) * width, pa.float32()), width)
        of = pa.LargeListArray if number % 2 else pa.ListArray
        made = pa.table({"tokens": of.from_arrays(offsets, flat), "boxes": of.from_arrays(offsets, boxes)})
        made = made.slice(rng.randint(0, 20))
        path = tmp_path / f"{number}{suffix}"
        write(rng, made, path)
        loader = DataLoader(ArrayDataset(path), 7, num_workers=number % 3, collate_fn=collate.Pad(batch_first=True))
        assert loader.explain().native
        rows = [{name: torch.tensor(np.array(row[name])) for name in row} for row in made.to_pylist()]
        at = 0
        for batch in loader:
            for tokens, found in zip(batch["tokens"], batch["boxes"], strict=True):
                row = rows[at]
                assert tokens[: len(row["tokens"])].tolist() == row["tokens"].tolist()
                assert found[: len(row["boxes"])].tolist() == row["boxes"].tolist()
                at += 1
        assert at == len(rows)


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
@pytest.mark.parametrize("workers", [0, 2])
def test_torchs_loader_takes_them_too(suffix: str, workers: int, tmp_path: Path) -> None:
    made = table(random.Random(4), 50, True)
    path = tmp_path / f"a{suffix}"
    write(random.Random(3), made, path)
    dataset = pickle.loads(pickle.dumps(ArrayDataset(path)))
    for batch, expected in zip(
        data.DataLoader(dataset, 4, num_workers=workers), data.DataLoader(Rows(made), 4), strict=True
    ):
        assert all(alike(batch[name], expected[name]) for name in expected)
    assert dataset[-1]["string"] == made["string"][-1].as_py()
    tuples = ArrayDataset(*(open_arrays(path)[name] for name in ("string", "rows.of")))  # type: ignore[index]
    ours, theirs = (next(iter(loader(tuples, 5))) for loader in (DataLoader, data.DataLoader))
    assert type(ours[0]) is type(theirs[0]) is tuple
    assert ours[0] == theirs[0]


def test_folders_and_several_files_are_one_table(tmp_path: Path) -> None:
    rng = random.Random(5)
    made = pa.table({"x": range(100), "s": [f"{n}" for n in range(100)]})
    (tmp_path / "a" / "deep").mkdir(parents=True)
    names = ["a/0.parquet", "a/1.parquet", "a/deep/2.parquet", "a/z.parquet"]
    for number, name in enumerate(names):
        write(rng, made.slice(25 * number, 25), tmp_path / name)
    (tmp_path / "a" / "_SUCCESS").touch()
    expected = parquet.read_table(tmp_path / "a", columns=["x", "s"])
    (tmp_path / "a" / "README.md").touch()
    for given in (tmp_path / "a", [tmp_path / name for name in names]):
        loader = DataLoader(ArrayDataset(**open_arrays(given)), 30, num_workers=2)  # type: ignore[arg-type]
        assert loader.explain().native
        batches = list(loader)
        assert [x for batch in batches for x in batch["x"].tolist()] == expected["x"].to_pylist()
        assert [s for batch in batches for s in batch["s"]] == expected["s"].to_pylist()
    write(rng, made.drop_columns(["s"]), tmp_path / "a" / "more.parquet")
    with pytest.raises(ValueError, match=r"more.parquet: its columns are not those of .*0.parquet"):
        ArrayDataset(tmp_path / "a")
    (tmp_path / "b" / "year=2020").mkdir(parents=True)
    write(rng, made, tmp_path / "b" / "year=2020" / "0.parquet")
    with pytest.raises(ValueError, match="year=2020: a folder that is named for a column's value"):
        ArrayDataset(tmp_path / "b")


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_what_is_not_read_is_named(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    made = pa.table({
        "x": [1.0, 2.0], "when": pa.array([1, 2], pa.timestamp("us")), "holes": pa.array([1, None]),
        "lists": [[1], [None]], "of": [[1], None], "text": ["", None],
    })  # fmt: skip
    write(random.Random(0), made, path)
    with pytest.raises(ValueError, match=r"a.*: column 'when' is of timestamp\[us\], which is not read; `columns`"):
        ArrayDataset(path)
    for name in ("holes", "lists", "of", "text"):
        with pytest.raises((ValueError, OSError), match=f"column '{name}' has 1 values that are missing"):
            ArrayDataset(**open_arrays(path, columns=[name]))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="it has no column 'y', but 'x', 'when'"):
        open_arrays(path, columns=["y"])
    assert len(ArrayDataset(**open_arrays(path, columns=["x"]))) == 2  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="field 'x' has texts"):
        parquet.write_table(pa.table({"x": ["a"]}), tmp_path / "s.parquet")
        ArrayDataset(tmp_path / "s.parquet", dtypes={"x": torch.int64})


def test_missing_values_without_statistics_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"x": [1, None, 3]}), path, write_statistics=False)
    dataset = ArrayDataset(path)
    with pytest.raises(OSError, match=r'a.parquet: column "x" at byte \d+: .*1 values are missing'):
        list(DataLoader(dataset, 2))
    with pytest.raises(ValueError, match=r"a.parquet: column 'x' has 1 values that are missing"):
        dataset[0]


def test_casts(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"x": range(50), "y": np.arange(50, dtype=np.float32)}), path)
    loader = DataLoader(ArrayDataset(path, dtypes={"x": torch.float32}), 50)
    assert loader.explain().native
    assert torch.equal(next(iter(loader))["x"], torch.arange(50.0))


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather"])
def test_damaged_files_are_errors(suffix: str, tmp_path: Path) -> None:
    """Never a crash: a file with other bytes in it is an error, or other values."""
    rng = random.Random(6)
    errors = 0
    for number in range(60):
        made = table(rng, 40, suffix != ".parquet")
        path = tmp_path / f"{number}{suffix}"
        write(rng, made, path)
        content = bytearray(path.read_bytes())
        dataset: Any = ArrayDataset(path) if rng.random() < 0.5 else None
        end = len(content)
        if suffix == ".parquet":  # pyarrow reads the footer, and may end the process over a damaged one
            end -= 8 + int.from_bytes(content[-8:-4], "little")
        for _ in range(rng.randint(1, 4)):
            content[rng.randrange(end)] = rng.randrange(256)
        path.write_bytes(content[: rng.choice((len(content), rng.randint(8, len(content))))])
        try:
            for batch in DataLoader(dataset or ArrayDataset(path), 10, num_workers=1, timeout=60):
                assert batch
        except (ValueError, OSError, TypeError, MemoryError, OverflowError, RuntimeError) as error:
            assert "GL_BUG" not in str(error), error
            assert "panic" not in str(error), error
            errors += 1
    assert errors


def test_lengths_of_long_columns_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goloader.arrays.parquet._QUICK_BYTES", 0)
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"s": ["a", "bc", ""] * 5}), path)
    past = time.time_ns() - 10**11
    os.utime(path, ns=(past, past))
    assert ArrayDataset(path)[1] == {"s": "bc"}
    assert len(list(tmp_path.glob(".*.goloader"))) == 1
    monkeypatch.setattr("goloader.arrays.parquet._lengths", None)
    assert ArrayDataset(path)[4] == {"s": "bc"}


def double(sample: Any) -> Any:
    return sample["x"] * 2


def test_open_gives_tables(tmp_path: Path) -> None:
    made = pa.table({"x": range(30), "s": ["a"] * 30, "when": pa.array(range(30), pa.timestamp("s"))})
    for number in range(3):
        parquet.write_table(made.slice(10 * number, 10), tmp_path / f"{number}.parquet")
    feather.write_feather(made, tmp_path / "a.feather")
    for given in (tmp_path, tmp_path / "{0..2}.parquet", tmp_path / "a.feather"):
        if given == tmp_path:
            (tmp_path / "a.feather").rename(tmp_path / "a.kept")
        dataset = goloader.open(given, columns=["s", "x"])
        if given == tmp_path:
            (tmp_path / "a.kept").rename(tmp_path / "a.feather")
        assert isinstance(dataset, ArrayDataset)
        assert dataset[29] == {"s": "a", "x": torch.tensor(29)}
        doubled = goloader.open(given if given != tmp_path else tmp_path / "a.feather", double, columns=["x"])
        for workers in (0, 2):
            batches = list(DataLoader(doubled, 8, num_workers=workers))
            assert torch.equal(torch.cat(batches), 2 * torch.arange(30))
    with pytest.raises(ValueError, match=r"column 'when' is of timestamp\[s\]"):
        goloader.open(tmp_path / "a.feather")
    (tmp_path / "a.txt").write_text("none")
    with pytest.raises(ValueError, match="it is no table"):
        goloader.open(tmp_path / "a.txt", columns=["x"])


def test_inspect_names_the_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = pa.table({"x": [1.0], "text": ["a"], "ids": [[1, 2]]})
    parquet.write_table(made, tmp_path / "a.parquet")
    assert main(["inspect", str(tmp_path)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("a table: 1 samples, ")
    assert out[1:] == ["  x     float64[]", "  text  str", "  ids   int64[any]"]


def test_a_table_of_many_columns(tmp_path: Path) -> None:
    parquet.write_table(pa.table({f"c{n}": np.arange(9) + n for n in range(40)}), tmp_path / "a.parquet")
    loader = DataLoader(ArrayDataset(tmp_path / "a.parquet"), 4, num_workers=1)
    assert loader.explain().native
    assert [batch["c39"].tolist() for batch in loader] == [[39, 40, 41, 42], [43, 44, 45, 46], [47]]
