"""Makes written.zip: files that other libraries wrote, and what these libraries read in them.

    python tests_py/formats/make_written.py      in an environment with these libraries, some of which need another
                                                 numpy than goloader's tests

versions.json in the archive says which versions wrote. Values are pickled: only this program's own are read.
"""

from __future__ import annotations

import io
import json
import pickle
import sys
import tempfile
import zipfile
from collections.abc import Callable
from decimal import Decimal
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

COUNT = 11


def picture(seed: int, size: int = 9) -> Image.Image:
    rows, columns = size + seed % 5, 16 - seed % 4
    x = np.random.default_rng(seed).integers(0, 256, (rows, columns, 3), np.uint8)
    return Image.fromarray(x)


def file_of(seed: int, kind: str = "JPEG", size: int = 9) -> bytes:
    out = io.BytesIO()
    picture(seed, size).save(out, kind)
    return out.getvalue()


def comparable(value: Any) -> Any:
    """A sample without objects of the libraries: images as their kind, mode and pixels."""
    if isinstance(value, Image.Image):
        return type(value).__name__, value.mode, np.asarray(value)
    if isinstance(value, memoryview):  # LitData's name for bytes of a map
        return bytes(value)
    if isinstance(value, dict):
        return {key: comparable(each) for key, each in value.items()}
    return list(map(comparable, value)) if isinstance(value, list) else value


def mds(folder: Path) -> list[Any]:
    import streaming

    columns = {
        "bytes": "bytes", "str": "str", "int": "int", "json": "json", "str_int": "str_int", "str_float": "str_float",
        "decimal": "str_decimal", "any": "ndarray", "typed": "ndarray:uint16", "fixed": "ndarray:float32:3,2",
        "jpeg": "jpeg", "png": "png", "pil": "pil", "jpegs": "list[jpeg]", "array": "jpeg_array",
        **{f"a_{each}": each for each in ("uint8", "int8", "uint16", "int32", "int64", "float16", "float64")},
    }  # fmt: skip
    with streaming.MDSWriter(out=str(folder), columns=columns, size_limit=20_000) as out:
        for i in range(COUNT):
            out.write({
                "bytes": b"\0\xff" * i, "str": f"näme {i}", "int": i - 3, "json": {"a": [i, None]},
                "str_int": 10**30 + i, "str_float": i / 7, "decimal": Decimal(i) / 3,
                "any": np.arange(i + 1.0).reshape(1, -1),
                "typed": np.arange(i + 1, dtype=np.uint16), "fixed": np.full((3, 2), i, np.float32),
                "jpeg": Image.open(io.BytesIO(file_of(i))), "png": picture(i), "pil": picture(i).convert("L"),
                "jpegs": [picture(i), picture(i + 1)], "array": [file_of(i), file_of(i + 2)],
                **{f"a_{each}": i for each in ("uint8", "int8", "uint16", "int32", "int64", "float16", "float64")},
            })  # fmt: skip
    read = streaming.StreamingDataset(local=str(folder), batch_size=1)
    return [read[i] for i in range(len(read))]


def tfrecord(folder: Path) -> list[Any]:
    from tfrecord import TFRecordWriter, example_pb2, reader

    folder.mkdir()
    for shard in range(3):
        out = TFRecordWriter(str(folder / f"train-{shard:05}-of-00003"))
        for i in range(shard, COUNT + 2, 3):
            kinds: dict[str, Any] = {
                "image/encoded": (file_of(i, "PNG" if i % 4 == 1 else "JPEG"), "byte"),
                "image/class/label": (i * 3, "int"),
                "image/class/text": (f"näme {i}".encode(), "byte"),
                "box": ([i / 3, -i, 1e30], "float"),
                "numbers": ([-1, i, -(2**63), 2**63 - 1, 127, 128] * (1 + 40 * (i % 2)), "int"),
                "texts": ([b"a\0", b"", b"bb" * i], "byte"),
            }
            if i % 2 == 0:
                del kinds["box"]
            out.write(kinds)
        out.close()
    read = []
    for path in sorted(folder.iterdir()):
        records = reader.tfrecord_iterator(str(path))
        for sample, record in zip(reader.example_loader(str(path), None), records, strict=True):
            # Its reader makes an array of texts, which loses zeros at their ends.
            example = example_pb2.Example.FromString(bytes(record))
            read.append(sample | {"texts": list(example.features.feature["texts"].bytes_list.value)})
    return read


def litdata(folder: Path) -> list[Any]:
    import torch
    from litdata import StreamingDataset
    from litdata.streaming.cache import Cache

    folder.mkdir()
    cache = Cache(str(folder), chunk_size=3)
    pictures = folder.parent / "pictures"
    pictures.mkdir()
    for i in range(COUNT):
        exif = Image.Exif()
        exif[0x0112] = 1 + i % 8
        picture(i).save(pictures / f"{i}.jpg", **({"exif": exif} if i % 3 == 0 else {}))
        cache[i] = {
            "image": Image.open(pictures / f"{i}.jpg"), "class": 3 * i, "raw": picture(i).convert("L"), "x": i / 7,
            "yes": i % 3 == 0, "text": f"näme {i}", "bytes": b"\0\xff" * i,
            "nested": [torch.arange(i), {"a": np.full((2, i), i, np.int16), "b": torch.ones(i, 2).bool()}],
            "row": np.arange(i, dtype=np.float16),
        }  # fmt: skip
    cache.done()
    cache.merge()
    read = StreamingDataset(str(folder))
    return [read[i] for i in range(len(read))]


def ffcv(folder: Path) -> list[Any]:
    """FFCV decodes batches only, of one size: its samples are what was written, and what its JPEGs are by Pillow."""
    import torch
    from ffcv.fields import BytesField, FloatField, IntField, JSONField, NDArrayField, RGBImageField, TorchTensorField
    from ffcv.reader import Reader
    from ffcv.writer import DatasetWriter

    folder.mkdir()
    given = [
        {
            "label": 5 * i, "photo": np.asarray(picture(i)), "pixels": np.asarray(picture(i + 1)), "x": i / 7,
            "bytes": np.arange(3 * i, dtype=np.uint8), "array": np.full((2, 3), i, np.int16), "json": {"ä": [i, None]},
            "tensor": torch.full((4,), i / 3),
        }
        for i in range(COUNT)
    ]  # fmt: skip
    fields = {
        "label": IntField(), "photo": RGBImageField("jpg"), "pixels": RGBImageField("raw"), "x": FloatField(),
        "bytes": BytesField(), "array": NDArrayField(np.dtype(np.int16), (2, 3)), "json": JSONField(),
        "tensor": TorchTensorField(torch.float32, (4,)),
    }  # fmt: skip
    path = folder / "set.beton"
    DatasetWriter(str(path), fields, page_size=1 << 21, num_workers=1).from_indexed_dataset(
        [tuple(sample.values()) for sample in given]
    )
    reader, content = Reader(str(path)), path.read_bytes()
    sizes = {int(begin): int(size) for _, begin, size in reader.alloc_table}
    for sample, row in zip(given, reader.metadata, strict=True):
        begin = int(row["f1"]["data_ptr"])
        sample["photo"] = Image.open(io.BytesIO(content[begin : begin + sizes[begin]]))
        sample["pixels"] = Image.fromarray(sample["pixels"])
    return given


def lmdb(folder: Path) -> list[Any]:
    """Values that are in leaves, and values too large for them."""
    return database(folder, {b"%05d" % (3 * i): file_of(i, size=90 if i % 3 else 9) for i in range(COUNT)})


def lmdb_deep(folder: Path) -> list[Any]:
    chosen = np.random.default_rng(0).permutation(3000)
    return database(folder, {b"key%d" % i: b"%d" % i * (2000 if i % 500 == 3 else i % 40) for i in chosen.tolist()})


def database(folder: Path, content: dict[bytes, bytes]) -> list[Any]:
    import lmdb

    for part in (list(content)[::2], list(content)[1::2]):  # two transactions, and pages that the second lets go
        with lmdb.open(str(folder), map_size=1 << 24) as env, env.begin(write=True) as writer:
            for key in part:
                writer.put(key, content[key])
    with lmdb.open(str(folder), readonly=True, lock=False) as env, env.begin() as reader:
        (folder / "lock.mdb").unlink()
        return [{"key": key, "value": value} for key, value in reader.cursor()]


def megatron(folder: Path) -> list[Any]:
    import torch
    from megatron.core.datasets.indexed_dataset import IndexedDataset, IndexedDatasetBuilder

    folder.mkdir()
    prefix = str(folder / "tokens")
    builder = IndexedDatasetBuilder(f"{prefix}.bin", np.uint16)
    for i in range(COUNT):
        builder.add_item(torch.arange(i * 100, i * 100 + 7 * i % 19))
        if i % 3:
            builder.end_document()
    builder.finalize(f"{prefix}.idx")
    read = IndexedDataset(prefix)
    return [*(np.array(read[i]) for i in range(len(read))), read.document_indices.tolist()]


WRITERS: dict[str, tuple[str, Callable[[Path], list[Any]]]] = {
    "mds": ("mosaicml-streaming", mds),
    "tfrecord": ("tfrecord", tfrecord),
    "litdata": ("litdata", litdata),
    "ffcv": ("ffcv", ffcv),
    "lmdb": ("lmdb", lmdb),
    "lmdb_deep": ("lmdb", lmdb_deep),
    "megatron": ("megatron-core", megatron),
}


def main(out: Path) -> None:
    versions = {}
    with tempfile.TemporaryDirectory() as scratch, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (package, write) in WRITERS.items():
            folder = Path(scratch, name)
            samples = write(folder)
            versions[package] = metadata.version(package)
            for path in sorted(each for each in folder.rglob("*") if each.is_file()):
                archive.write(path, f"{name}/{path.relative_to(folder)}")
            archive.writestr(f"{name}.pickle", pickle.dumps(list(map(comparable, samples))))
        archive.writestr("versions.json", json.dumps(versions))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("written.zip"))
