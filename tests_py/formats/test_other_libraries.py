"""Other libraries' files, read in place: their samples, torch's batches, and errors that name the place of damage."""

from __future__ import annotations

import io
import json
import os
import pickle
import random
import re
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from make_written import comparable
from PIL import Image
from torch.utils import data
from torchvision import transforms as T
from torchvision.transforms import functional as F
from written import Written

import goloader
from goloader.cli import main
from tests_py.pages import REPOSITORY

AUGMENT = T.Compose([T.RandomResizedCrop(8), T.RandomHorizontalFlip(), T.ToTensor()])

# Of each format: the field with images and that with classes.
FIELDS = {
    "ffcv": ("photo", "label"),
    "lmdb": ("value", "key"),
    "mds": ("jpeg", "a_int64"),
    "litdata": ("image", "class"),
    "tfrecord": ("image/encoded", "image/class/label"),
}
every = pytest.mark.parametrize("written", FIELDS, indirect=True)


def of(*names: str) -> Any:
    return pytest.mark.parametrize("written", names, indirect=True)


def opened(written: Written, transform: Any = None) -> Any:
    """What goloader.open makes of the files."""
    inside = {"tfrecord": "*", "megatron": "tokens", "ffcv": "set.beton"}.get(written.path.name, "")
    return goloader.open(written.path / inside, transform)


def number(value: Any) -> int:
    """A class, as a field has it."""
    return int(value) if isinstance(value, bytes) else int(np.asarray(value).item())


def images_of(written: Written, transform: Any = None) -> Any:
    image, target = FIELDS[written.path.name]
    classes = [number(each[target]) for each in written.samples]
    return opened(written).images(image, classes if target == "key" else target, transform)


def same(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray | np.generic):
        return one.dtype == other.dtype and one.shape == other.shape and bool((one == other).all())
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def epochs(made: Any, dataset: Any, workers: int, **options: Any) -> Any:
    """The batches of two epochs, the random state afterwards, and the loader."""
    torch.manual_seed(5)
    loader = made(dataset, 4, shuffle=True, num_workers=workers, **options)
    return [batch for _ in range(2) for batch in loader], torch.rand(2), loader


@every
def test_samples_are_the_library_s(written: Written) -> None:
    dataset = opened(written)
    assert len(dataset) == len(written.samples)
    for i, want in enumerate(written.samples):
        assert same(comparable(dataset[i]), want), i
    assert same(comparable(dataset[-1]), written.samples[-1])
    assert same(comparable(pickle.loads(pickle.dumps(dataset))[np.int64(3)]), written.samples[3])
    with pytest.raises(IndexError):
        dataset[len(dataset)]


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("kind", ["whole", "subset", "concat"])
@every
def test_images_come_from_go_as_torch_s_loader_has_them(written: Written, kind: str, workers: int) -> None:
    dataset: Any = images_of(written, AUGMENT)
    _, target = FIELDS[written.path.name]
    assert dataset.targets.tolist() == [number(each[target]) for each in written.samples]
    if kind == "subset":
        dataset = data.Subset(dataset, [9, 2, 2, 7, -1])
    if kind == "concat":
        dataset = data.ConcatDataset([dataset, images_of(written, AUGMENT)])
    want, state, _ = epochs(data.DataLoader, dataset, workers)
    got, state_after, loader = epochs(goloader.DataLoader, dataset, workers)
    assert loader.explain().native
    assert same(got, want) and same(state_after, state)


class Prepared:
    """A transform of the whole sample."""

    def __init__(self, image: str, target: str) -> None:
        self.image, self.target = image, target

    def __call__(self, sample: dict[str, Any]) -> Any:
        image = sample[self.image]
        if isinstance(image, bytes):
            image = Image.open(io.BytesIO(image))
        if isinstance(image, torch.Tensor):
            image = F.to_pil_image(image)
        return AUGMENT(image.convert("RGB")), number(sample[self.target])


@pytest.mark.parametrize("workers", [0, 1, 3])
@every
def test_a_transform_of_whole_samples_gives_torch_s_batches(written: Written, workers: int) -> None:
    dataset = opened(written, Prepared(*FIELDS[written.path.name]))
    want, state, _ = epochs(data.DataLoader, dataset, workers)
    got, state_after, _ = epochs(goloader.DataLoader, dataset, workers)
    assert same(got, want) and same(state_after, state)


@every
def test_changed_files_and_attributes_count_as_they_do_with_torch(written: Written) -> None:
    """The transform is another from the second batch on, and a label is another."""

    def batches(made: Any) -> Any:
        dataset = images_of(written, AUGMENT)
        torch.manual_seed(5)
        found = []
        for number, batch in enumerate(made(dataset, 4)):
            found.append(batch)
            if number == 0:
                dataset.transform = T.Compose([T.Resize((8, 8)), T.ToTensor()])
            if number == 1:
                dataset.samples = [(path, label + 100) for path, label in dataset.samples]
        return found

    assert same(batches(goloader.DataLoader), batches(data.DataLoader))


def errors(batches: Any, path: str) -> int:
    """How many of the batches that are left are errors, which name a file."""
    found = 0
    while True:
        try:
            next(batches)
        except StopIteration:
            return found
        except OSError as error:
            assert path in str(error)
            found += 1


@pytest.mark.parametrize("workers", [0, 2])
@every
def test_a_file_that_is_cut_while_it_is_read_is_an_error_as_with_torch(written: Written, workers: int) -> None:
    """Of samples as the library gives them, and of images."""
    for dataset in (images_of(written, AUGMENT), opened(written, Prepared(*FIELDS[written.path.name]))):
        content = {path: Path(path).read_bytes() for path in opened(written).files}
        for made in (data.DataLoader, goloader.DataLoader):
            batches = iter(made(dataset, 1, num_workers=workers, prefetch_factor=1 if workers else None))
            next(batches)
            for path in content:
                os.truncate(path, 10)
            assert errors(batches, str(written.path))
            for path, each in content.items():
                Path(path).write_bytes(each)


@of("mds", "litdata")
def test_no_samples_are_no_samples(written: Written) -> None:
    _index(lambda index: index.update({"shards" if "shards" in index else "chunks": []}))(written.path)
    dataset = opened(written)
    assert len(dataset) == 0
    if "image" in dataset.fields:  # MDS has fields in its shards only
        assert len(dataset.images("image", "class")) == 0


@of(*FIELDS, "megatron")
def test_what_is_damaged_is_an_error_or_other_values_and_nothing_else(written: Written) -> None:
    """Bytes anywhere are set to other values, files cut, and pieces doubled; errors name a file."""
    fields = written.path.name in FIELDS
    files = {path: path.read_bytes() for path in written.files}
    errors = 0
    for seed in range(60):
        chosen = random.Random(seed)
        path, content = chosen.choice(list(files.items()))
        # Not in empty pages of FFCV's.
        at = int(chosen.choice(np.flatnonzero(np.frombuffer(content, np.uint8)[: None if seed % 2 else 400])))
        damaged = chosen.choice([
            content[:at],
            content[:at] + bytes([chosen.randrange(256)]) + content[at + 1 :],
            content[:at] + b"\xff" * 8 + content[at + 8 :],
            content[:at] + content[at // 2 :],
        ])  # fmt: skip
        path.write_bytes(damaged)
        try:
            dataset = opened(written)
            for i in range(len(dataset)):
                try:
                    dataset[i]
                except OSError as error:
                    assert str(written.path) in str(error)
                    errors += 1
        except (OSError, ValueError) as error:
            assert str(written.path) in str(error)
            errors += 1
        if fields:
            with suppress(OSError, ValueError):
                images_of(written)
        path.write_bytes(content)
    assert errors > 10


# What is no sound dataset: what is done to its files, and the words of the error.
def _index(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        path = folder / "index.json"
        index = json.loads(path.read_text())
        change(index)
        path.write_text(json.dumps(index))

    return apply


def _bytes(name: str, at: int, content: bytes) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        with open(folder / name, "r+b") as file:
            file.seek(at)
            file.write(content)

    return apply


def _shard(**values: Any) -> Callable[[Path], None]:
    return _index(lambda index: index["shards"][1].update(values))


def _config(**values: Any) -> Callable[[Path], None]:
    return _index(lambda index: index["config"].update(values))


def _root(page: int) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        for meta in (0, 4096):
            _bytes("data.mdb", meta + 16 + 24 + 48 + 40, page.to_bytes(8, "little"))(folder)

    return apply


def _zipped(folder: Path) -> None:
    _shard(compression="zstd:3", zip_data={"basename": "shard.00001.mds.zstd", "bytes": 3, "hashes": {}})(folder)
    (folder / "shard.00001.mds").unlink()


TRAIN = "train-00000-of-00003"

ODD: dict[str, tuple[str, Callable[[Path], None], type[Exception], str]] = {
    "another count": ("mds", _bytes("shard.00001.mds", 0, b"\7"), OSError, "shard.00001.mds: 7 samples at byte 0"),
    "an offset beyond": (
        "mds",
        _bytes("shard.00000.mds", 8, b"\xff" * 4),
        OSError,
        "shard.00000.mds: offset 4294967295",
    ),
    "a huge count": (
        "mds",
        lambda path: (_bytes("shard.00001.mds", 0, b"\xff" * 4)(path), _shard(samples=2**32 - 1)(path))[0],
        OSError,
        "ends within the offsets",
    ),
    "no shard": ("mds", lambda path: (path / "shard.00000.mds").unlink(), FileNotFoundError, "shard.00000.mds"),
    "another place": ("mds", _shard(raw_data={"basename": "../x"}), OSError, r"names '\.\./x'"),
    "not JSON": ("mds", _bytes("index.json", 0, b"x"), OSError, "index.json: Expecting value"),
    "no list": ("mds", _index(lambda index: index.update(shards=3)), OSError, "index.json: not lists"),
    "a key missing": ("mds", _index(lambda index: index["shards"][1].pop("samples")), OSError, "shard 1.*samples"),
    "compressed": ("mds", _zipped, ValueError, r"shard.00001.mds is only there compressed \(zstd:3\)"),
    "pickles": ("mds", _shard(column_encodings=["pkl"] * 22), ValueError, "unsafe type: pkl"),
    "unknown": ("mds", _shard(column_encodings=["new"] * 22), ValueError, "'new' of a column is not known"),
    "another length": ("tfrecord", _bytes(TRAIN, 0, b"\0"), ValueError, "unknown format"),
    "a length that is not sound": (
        "tfrecord",
        _bytes(TRAIN.replace("00-", "01-"), 0, b"\0"),
        OSError,
        "sample 0, at byte 0",
    ),
    "the end cut": ("tfrecord", lambda path: os.truncate(path / TRAIN, 900), OSError, "ends within sample 0"),
    "gzip": ("tfrecord", _bytes(TRAIN, 0, b"\x1f\x8b"), ValueError, "compressed by gzip"),
    "another count of LitData's": ("litdata", _bytes("chunk-0-1.bin", 0, b"\7"), OSError, "chunk-0-1.bin: 7 samples"),
    "LitData's pickles": ("litdata", _config(data_format=["pickle"] * 11), ValueError, "pickles"),
    "LitData's meshes": ("litdata", _config(data_format=["file:mesh"] * 11), ValueError, "'file:mesh' are read by"),
    "too few formats": ("litdata", _config(data_format=["int"]), OSError, "1 formats for 11 leaves"),
    "no tree": ("litdata", _config(data_spec=None), OSError, "index.json: "),
    "another tree": ("litdata", _config(data_spec="[7, {}]"), OSError, "index.json: "),
    "LitData's tokens": ("litdata", _config(item_loader="TokensLoader"), ValueError, "TokensLoader"),
    "LitData's zstd": ("litdata", _config(compression="zstd"), ValueError, "compressed"),
    "another version of FFCV's": ("ffcv", _bytes("set.beton", 0, b"\3"), OSError, "set.beton: version 3"),
    "more samples than there can be": ("ffcv", _bytes("set.beton", 8, b"\xff" * 8), OSError, "set.beton ends within"),
    "more fields than there can be": ("ffcv", _bytes("set.beton", 2, b"\xff" * 2), OSError, "set.beton ends within"),
    "a field of another kind": ("ffcv", _bytes("set.beton", 24, b"\xff"), ValueError, "'label' is of a kind"),
    "an LMDB cut": (
        "lmdb",
        lambda path: os.truncate(path / "data.mdb", 20_000),
        OSError,
        "data.mdb ends within|goes beyond",
    ),
    "a page of nowhere": ("lmdb", _root((1 << 50) + 7), OSError, "ends within the page at byte"),
    "a page of another kind": ("lmdb", _root(0), OSError, "at byte 0: it is page 0 of kind 8"),
    "no meta": ("lmdb", _bytes("data.mdb", 4096 + 16, b"x"), OSError, "at byte 4096 begins no LMDB"),
    "another version": ("megatron", _bytes("tokens.idx", 9, b"\2"), OSError, "tokens.idx: version 2"),
    "another type": ("megatron", _bytes("tokens.idx", 17, b"\x63"), OSError, "dtype 99"),
    "too many": ("megatron", _bytes("tokens.idx", 18, b"\xff" * 8), OSError, "do not fit into"),
    "a length": ("megatron", _bytes("tokens.idx", 34 + 4, b"\1"), OSError, "sequence 2, .*does not follow"),
    "below zero": ("megatron", _bytes("tokens.idx", 34 + 4, b"\xff" * 4), OSError, "sequence 1, of -1 tokens"),
    "a document": (
        "megatron",
        _bytes("tokens.idx", 34 + 12 * 11, b"\xff"),
        OSError,
        "the document index is not an ascending list",
    ),
    "tokens cut": (
        "megatron",
        lambda path: os.truncate(path / "tokens.bin", 100),
        OSError,
        "tokens.idx does not fit: .*but the file has 100",
    ),
    "an index cut": ("megatron", lambda path: os.truncate(path / "tokens.idx", 30), OSError, "ends within its header"),
    "another format": ("mds", _shard(format="json"), ValueError, "shards of format 'json'"),
}


@pytest.mark.parametrize(("written", "case"), [(ODD[case][0], case) for case in ODD], indirect=["written"])
def test_what_is_not_sound_is_named(written: Written, case: str) -> None:
    _, change, kind, words = ODD[case]
    change(written.path)
    with pytest.raises(kind, match=words):
        opened(written)


@of("mds")
def test_a_damaged_sample_is_named(written: Written) -> None:
    begin = struct.unpack_from("<I", (written.path / "shard.00000.mds").read_bytes(), 4)[0]
    _bytes("shard.00000.mds", begin, b"\xff\xff\xff\x7f")(written.path)
    dataset = opened(written)
    place = f"shard.00000.mds: sample 0 at byte {begin}: "
    with pytest.raises(OSError, match=place):
        dataset[0]
    with pytest.raises(OSError, match=place):
        dataset.images("jpeg", "a_int64")
    assert same(comparable(dataset[1]), written.samples[1])


@of("ffcv")
def test_what_ffcv_points_to_is_looked_at(written: Written) -> None:
    dataset = opened(written)
    for name, words in (("photo", "is not in the list"), ("bytes", "is not within"), ("array", "is not within")):
        path, rows = dataset.files[0], dataset.records._rows.dtype
        at = dataset.records._begin + rows.itemsize * 2 + rows.fields[name][1] + (5 if name == "photo" else 0)
        content = Path(path).read_bytes()
        _bytes("set.beton", at, (1 << 40).to_bytes(8, "little"))(written.path)
        with pytest.raises(OSError, match=f"set.beton: sample 2 at byte 0: '{name}'.* {words}"):
            opened(written)[2]
        assert same(comparable(opened(written)[3]), written.samples[3])
        Path(path).write_bytes(content)
    with pytest.raises(ValueError, match=r"set.beton: sample 0 .*'pixels' has pixels, not a file"):
        dataset.images("pixels", "label")


@of("tfrecord")
def test_bytes_that_were_not_written_are_an_error(written: Written) -> None:
    """Any one byte of a record; its checksum is looked at where a whole record is read."""
    dataset = opened(written)
    path, begin, size = dataset.records.place(0)
    content = Path(path).read_bytes()
    for at in random.Random(0).sample(range(begin, begin + size + 4), 40):
        _bytes(TRAIN, at, bytes([content[at] ^ 1 << at % 8]))(written.path)
        with pytest.raises(OSError, match=f"{TRAIN}: sample 0 at byte {begin}: its checksum"):
            dataset[0]
        _bytes(TRAIN, at, content[at : at + 1])(written.path)
    assert same(dataset[0], written.samples[0])


@of("mds", "litdata")
def test_pickles_are_read_where_that_is_asked_for(written: Written) -> None:
    """Fields of bytes are said to be pickles: they are none."""
    path = written.path / "index.json"
    index = json.loads(path.read_text())
    for kinds in (
        [index["config"]["data_format"]]
        if "config" in index
        else [shard["column_encodings"] for shard in index["shards"]]
    ):
        kinds[kinds.index("bytes")] = "pickle" if "config" in index else "pkl"
    path.write_text(json.dumps(index))
    with pytest.raises(ValueError, match="allow_unsafe_types"):
        goloader.open(written.path)
    with pytest.raises(OSError, match="'bytes'"):
        goloader.open(written.path, allow_unsafe_types=True)[0]


@of("mds")
def test_names_are_classes_in_their_order(written: Written) -> None:
    images = opened(written).images("png", "str", AUGMENT)
    names = sorted(each["str"] for each in written.samples)
    assert images.classes == names
    assert [names[label] for label in images.targets] == [each["str"] for each in written.samples]
    with pytest.raises(ValueError, match="'nothing'"):
        opened(written).images("nothing", "str")
    with pytest.raises(ValueError, match=r"0\.0 of sample 0 is not a class"):
        opened(written).images("png", "a_float16")


@of("megatron")
def test_sequences_are_those_of_megatron(written: Written) -> None:
    *want, documents = written.samples
    for name in ("tokens", "tokens.bin", "tokens.idx"):
        dataset = goloader.open(written.path / name)
        assert same([dataset[i] for i in range(len(dataset))], want)
        assert same(pickle.loads(pickle.dumps(dataset))[-1], want[-1])
    ends = np.cumsum([0, *map(len, want)])
    assert dataset.documents.tolist() == ends[documents].tolist()
    assert goloader.open(written.path / "tokens", len)[10] == len(want[10])


@pytest.mark.parametrize("workers", [0, 1, 3])
@of("megatron")
def test_windows_of_megatron_s_tokens_come_from_go(written: Written, workers: int) -> None:
    *sequences, _ = written.samples
    dataset = goloader.open(written.path / "tokens")
    tokens = np.concatenate(sequences).astype(np.int64)
    windows = dataset.windows(8)
    for number, (x, y, position_ids, _) in enumerate(windows):
        assert x.tolist() == tokens[8 * number : 8 * number + 8].tolist()
        assert y.tolist() == tokens[8 * number + 1 : 8 * number + 9].tolist()
        begin = dataset.documents[dataset.documents <= 8 * number].max()
        assert position_ids[0] == 0 and (8 * number in dataset.documents or begin < 8 * number)
    want, state, _ = epochs(data.DataLoader, windows, workers)
    got, state_after, loader = epochs(goloader.DataLoader, windows, workers)
    assert loader.explain().native
    assert same(got, want) and same(state_after, state)


@pytest.mark.parametrize("workers", [0, 1, 3])
@of("megatron")
def test_sequences_of_megatron_s_come_as_torch_s_loader_has_them(written: Written, workers: int) -> None:
    dataset = opened(written, Padded())
    want, state, _ = epochs(data.DataLoader, dataset, workers)
    got, state_after, _ = epochs(goloader.DataLoader, dataset, workers)
    assert same(got, want) and same(state_after, state)


class Padded:
    def __call__(self, tokens: Any) -> Any:
        return np.pad(tokens.astype(np.int64), (0, 20 - len(tokens)))


@every
def test_what_images_finds_is_kept_until_a_file_changes(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in written.files:
        os.utime(path, (1e9, 1e9))
    before = set(written.files)
    want = images_of(written)
    (index,) = set(written.files) - before
    with monkeypatch.context() as patched:
        patched.setattr(type(opened(written).records), "payload", None)  # nobody looks
        again = images_of(written)
    assert again.samples == want.samples and again.classes == want.classes
    data_file = opened(written).files[0]
    os.utime(data_file, (1e9, 1.1e9))
    with monkeypatch.context() as patched, pytest.raises(TypeError):
        patched.setattr(type(opened(written).records), "payload", None)
        images_of(written)
    for damaged in (index.read_bytes()[:-9], b"", b"x" * 100):
        index.write_bytes(damaged)
        assert images_of(written).samples == want.samples
        assert len(np.load(index)["spans"]) == len(want)
    os.utime(data_file)  # it may still be changing
    index.unlink()
    assert images_of(written).samples == want.samples
    assert set(written.files) == before


@of("mds")
def test_the_example_of_the_docs_runs(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its fields are called as there, which the index alone says."""

    def renamed(index: dict[str, Any]) -> None:
        for shard in index["shards"]:
            names = shard["column_names"]
            names[names.index("jpeg")], names[names.index("a_int64")] = "image", "label"

    _index(renamed)(written.path)
    written.path.rename(written.path.with_name("imagenet-mds"))
    monkeypatch.chdir(written.path.parent)
    (example,) = re.findall(
        r"```python\n(import goloader\n.*?)```", (REPOSITORY / "docs/datasets.md").read_text(), re.DOTALL
    )
    names: dict[str, Any] = {"transform": AUGMENT}
    exec(compile(example, "datasets.md", "exec"), names)
    (batch,) = names["loader"]
    assert batch[0].shape == (11, 3, 8, 8)
    assert names["loader"].explain().native


@of("mds", "megatron")
def test_inspect_says_what_files_hold(written: Written, capsys: pytest.CaptureFixture[str]) -> None:
    path = {"mds": written.path, "megatron": written.path / "tokens"}[written.path.name]
    assert main(["inspect", str(path)]) == 0
    size = sum(each.stat().st_size for each in written.files if each.name != "index.json")
    files, field = {"mds": (4, "  jpeg       jpeg\n"), "megatron": (2, "  tokens  uint16\n")}[written.path.name]
    printed = capsys.readouterr().out
    assert f": 11 samples, {size:,} bytes in {files} files\n" in printed
    assert field in printed
    with pytest.raises(SystemExit) as left:
        main(["inspect", str(written.path / "nothing")])
    assert left.value.code == 2


@of("lmdb_deep")
def test_a_deep_tree_is_read_in_the_order_of_its_keys(written: Written) -> None:
    for path in (written.path, written.path / "data.mdb"):
        dataset = goloader.open(path)
        assert len(dataset) == 3000
        assert [dataset[i] for i in range(3000)] == written.samples
    with pytest.raises(ValueError, match="2 classes for 3000 samples"):
        dataset.images("value", [1, 2])
    for classes in (range(3000), np.arange(3000), torch.arange(3000)):
        assert dataset.images("value", classes).targets.tolist() == list(range(3000))
    content = (written.path / "data.mdb").read_bytes()
    for page in range(2, len(content) // 4096):
        own, kind, lower = struct.unpack_from("<Q2xHH", content, page * 4096)
        if kind == 1 and own == page and lower > 16:  # its first child is itself
            (node,) = struct.unpack_from("<H", content, page * 4096 + 16)
            _bytes("data.mdb", page * 4096 + node, struct.pack("<I", page))(written.path)
    with pytest.raises(OSError, match=r"data.mdb: its tree has more pages than the file"):
        goloader.open(written.path)


def test_other_paths_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unknown format"):
        goloader.open(tmp_path)
    with pytest.raises(FileNotFoundError):
        goloader.open(tmp_path / "nothing")
    with pytest.raises(ValueError, match="on this machine only"):
        goloader.open("s3://bucket/index.json")
    (tmp_path / "text").write_text("words")
    with pytest.raises(ValueError, match="unknown format"):
        goloader.open(tmp_path / "text")
