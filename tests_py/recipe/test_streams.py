"""IterableDatasets that open images: webdataset's and Hugging Face's pipelines, and readers of one's own.

Each runs under torch's loader and under ours, from the same random state, for three epochs. The first one is torch's
until a trial has ended, so that what it left in buffers meets what is recorded. Batches, errors, warnings and where the
generators stand are compared.
"""

from __future__ import annotations

import io
import random
import re
import tarfile
import warnings
import weakref
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import datasets as hf
import numpy as np
import pytest
import torch
import torchvision.transforms as T
import webdataset as wds
from PIL import Image
from torch.utils import data
from torchvision.transforms import v2

import goloader
from goloader.doors.recipe import door
from goloader.doors.same import difference

SHARDS, SAMPLES = 4, 13


def jpeg(number: int, **options: Any) -> bytes:
    """A photo-like image of 40 x 30 pixels, or so."""
    noise = np.random.default_rng(number)
    small = noise.integers(0, 256, (5, 6, 3), np.uint8)
    image = Image.fromarray(small).resize((40 + number % 3, 30 + number % 5), Image.Resampling.BICUBIC)
    content = io.BytesIO()
    image.save(content, **({"format": "JPEG", "quality": 90} | options))
    return content.getvalue()


def shard(path: Path, contents: list[bytes], ending: str = "jpg") -> str:
    with wds.TarWriter(str(path)) as writer:
        for number, content in enumerate(contents):
            name = f"{path.stem}_{number:04d}"
            writer.write({"__key__": name, ending: content, "cls": number % 7, "json": {"number": number}})
    return str(path)


@pytest.fixture(scope="module")
def urls(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("shards")
    kinds: list[dict[str, Any]] = [{}, {"progressive": True}, {"format": "PNG"}, {"subsampling": 0}]
    return [
        shard(folder / f"s{number}.tar", [jpeg(100 * number + at, **kinds[at % 4]) for at in range(SAMPLES)])
        for number in range(SHARDS)
    ]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Parquet file with images as bytes."""
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    images = [{"bytes": jpeg(number), "path": None} for number in range(SHARDS * SAMPLES)]
    features = hf.Features({"image": hf.Image(), "label": hf.Value("int64")})
    table = {"image": images, "label": list(range(len(images)))}
    hf.Dataset.from_dict(table, features=features).to_parquet(str(path))
    return str(path)


def seed() -> None:
    torch.manual_seed(5)
    random.seed(5)
    np.random.seed(5)


def run(kind: Any, make: Callable[[], Any], options: dict[str, Any], epochs: int = 3) -> tuple[Any, Any, Any]:
    """Batches and errors, what was warned of, where generators stand afterwards; and the loader."""
    seed()
    loader = kind(make(), **options)
    results: list[Any] = []
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(epochs):
            iterator = iter(loader)
            for _ in range(100):
                try:
                    results.append(next(iterator))
                except StopIteration:
                    break
                except Exception as error:
                    text = str(error).rstrip().rpartition("\n")[2]
                    results.append((type(error).__name__, re.sub("0x[0-9a-f]+", "", text)))
            else:
                pytest.fail("it does not end")
    told = [
        (each.category.__name__, re.sub("0x[0-9a-f]+", "", str(each.message)))
        for each in seen
        if "worker processes in total" not in str(each) and each.category is not ResourceWarning  # at any collection
    ]
    return (results, told), (torch.rand(1).item(), random.random(), np.random.rand()), loader


def compare(make: Callable[[], Any], *, warned: bool = True, **options: Any) -> Any:
    """Our loader, after its batches were compared with torch's, and what was warned of."""
    want, stand, _ = run(data.DataLoader, make, options)
    got, stands, loader = run(goloader.DataLoader, make, options)
    assert difference(want[: 1 + warned], got[: 1 + warned]) is None
    assert stand == stands
    assert len(want[0]) > 3
    return loader


def in_go(loader: Any) -> int:
    """How many images Go made for a loader's batches, of its own streams, or of what was recorded."""
    made = re.search(r"so far +(\d+) samples?.* Go", str(loader.explain()))
    return sum(door.record(loader).leaves.values()) or (0 if made is None else int(made[1]))


train = T.Compose(
    [T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize((0.5,) * 3, (0.2,) * 3)]
)
crop = T.Compose([T.CenterCrop(20), T.ToTensor()])


def identity(value: Any) -> Any:
    return value


def web(urls: list[str], **options: Any) -> Any:
    return wds.WebDataset(urls, **({"shardshuffle": False} | options))


def numbers(sample: Any) -> Any:
    return sample["number"]


def both(sample: dict[str, Any]) -> dict[str, Any]:
    return {"pixels": train(sample["jpg"]), "label": sample["cls"], "key": sample["__key__"]}


def to_image(sample: dict[str, Any]) -> tuple[Any, int]:
    with io.BytesIO(sample["jpg"]) as stream:
        image = Image.open(stream).convert("RGB")
    return train(image), int(sample["cls"])


def as_arrays(sample: Any) -> Any:
    return np.asarray(sample)[:20, :20, ::-1].copy()


class Tars(data.IterableDataset[Any]):
    """A reader of tars as people write it; a worker has every nth of them."""

    def __init__(self, urls: list[str], transform: Any = train) -> None:
        self.urls, self.transform = urls, transform

    def __iter__(self) -> Iterator[Any]:
        worker = data.get_worker_info()
        urls = self.urls if worker is None else self.urls[worker.id :: worker.num_workers]
        for url in urls:
            with tarfile.open(url) as archive:
                for member in archive:
                    if member.name.endswith(".jpg"):
                        content = archive.extractfile(member)
                        assert content is not None
                        yield self.transform(Image.open(io.BytesIO(content.read())).convert("RGB")), member.name


class Steps(data.IterableDataset[Any]):
    """An iterator with a __next__ of its own, which goes on after errors, and keeps what it made before."""

    def __init__(self, urls: list[str]) -> None:
        self.urls, self.kept = urls, []  # type: ignore[var-annotated]

    def __iter__(self) -> Iterator[Any]:
        self.contents = (content for url in self.urls for content in contents(url))
        return self

    def __next__(self) -> Any:
        made = train(Image.open(io.BytesIO(next(self.contents))).convert("RGB"))
        self.kept = [*self.kept[-9:], made]
        return made, random.choice(self.kept) * 2


def contents(url: str) -> Iterator[bytes]:
    with tarfile.open(url) as archive:
        for member in archive:
            if member.name.endswith(".jpg"):
                found = archive.extractfile(member)
                assert found is not None
                yield found.read()


def parquet(rows: str) -> Any:
    return hf.load_dataset("parquet", data_files=rows, split="train", streaming=True)


def transformed(row: dict[str, Any]) -> dict[str, Any]:
    row["image"] = train(row["image"].convert("RGB"))
    return row


def fresh() -> random.Random:
    return random.Random(3)


# Each a pipeline of shards or rows, and what a DataLoader takes besides it.
PIPELINES: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "shuffled": (
        lambda urls: web(urls).shuffle(9, rng=fresh()).decode("pil").to_tuple("jpg", "cls").map_tuple(train),
        {},
    ),
    "shuffled late": (
        lambda urls: web(urls).decode("pil").to_tuple("jpg", "cls").map_tuple(train).shuffle(8, initial=8, rng=fresh()),
        {},
    ),
    "images shuffled": (
        lambda urls: web(urls).decode("pil").shuffle(7, rng=fresh()).to_tuple("jpg", "json").map_tuple(crop, numbers),
        {"drop_last": True},
    ),
    "detshuffle": (lambda urls: web(urls, detshuffle=True).decode("pil").map(both), {}),
    "batched": (
        lambda urls: web(urls).decode("pil").to_tuple("jpg", "cls").map_tuple(train, identity).batched(6),
        {"batch_size": None},
    ),
    "batched, short ones left out": (
        lambda urls: web(urls).decode("pil").to_tuple("jpg", "cls").map_tuple(train).batched(6, partial=False),
        {"batch_size": None},
    ),
    "rgb8": (lambda urls: web(urls).decode("rgb8").to_tuple("jpg", "cls").map_tuple(as_arrays), {}),
    "torchrgb": (lambda urls: web(urls).decode("torchrgb").to_tuple("jpg").map_tuple(v2.CenterCrop(20)), {}),
    "images themselves": (lambda urls: web(urls).decode("pil").to_tuple("jpg", "cls"), {"collate_fn": identity}),
    "arrays themselves": (lambda urls: web(urls).decode("rgb8").to_tuple("jpg", "cls"), {"collate_fn": identity}),
    "dicts": (
        lambda urls: (
            web(urls).decode("pil").rename(image="jpg;png", label="cls").map_dict(image=train).to_tuple("image")
        ),
        {},
    ),
    "map_dict": (
        lambda urls: web(urls).decode("pil").map_dict(jpg=train, json=numbers).rename_keys(x="jpg", y="json"),
        {},
    ),
    "own decoder": (lambda urls: web(urls).map(to_image), {}),
    "with handlers": (
        lambda urls: (
            web(urls, handler=wds.ignore_and_continue)
            .decode("pil", handler=wds.ignore_and_continue)
            .to_tuple("jpg", "cls", handler=wds.ignore_and_continue)
            .map_tuple(train, identity, handler=wds.ignore_and_continue)
        ),
        {},
    ),
    "with_epoch": (lambda urls: web(urls).repeat().decode("pil").to_tuple("jpg").map_tuple(train).with_epoch(30), {}),
    "slice": (lambda urls: web(urls).slice(23).decode("pil").to_tuple("jpg").map_tuple(train), {}),
    "select": (lambda urls: web(urls).decode("pil").select(lambda sample: sample["cls"] > 2).map(both), {}),
    "DataPipeline": (
        lambda urls: wds.DataPipeline(
            wds.SimpleShardList(urls),
            wds.split_by_node,
            wds.split_by_worker,
            wds.tarfile_to_samples(),
            wds.shuffle(5, rng=fresh()),
            wds.decode("pil"),
            wds.to_tuple("jpg", "cls"),
            wds.map_tuple(train, identity),
        ),
        {},
    ),
    "resampled": (
        lambda urls: wds.DataPipeline(
            wds.ResampledShards(urls, deterministic=True, worker_seed=lambda: 4),
            wds.tarfile_to_samples(),
            wds.decode("pil"),
            wds.map(both),
        ).with_epoch(30),
        {},
    ),
    "one shard": (lambda urls: web(urls[:1], empty_check=False).decode("pil").to_tuple("jpg").map_tuple(train), {}),
    "own tars": (Tars, {}),
    "own tars, in the workers' own order": (Tars, {"persistent_workers": True}),
    "own iterator": (Steps, {"batch_size": 7}),
    "in pairs": (
        lambda urls: web(urls).decode("pil").map(lambda sample: (train(sample["jpg"]), train(sample["jpg"]))),
        {"pin_memory": False},
    ),
}

ROWS: dict[str, Callable[..., Any]] = {
    "map": lambda rows: parquet(rows).map(transformed),
    "shuffled": lambda rows: parquet(rows).shuffle(seed=3, buffer_size=11).map(transformed),
    "with_format": lambda rows: parquet(rows).map(transformed).with_format("torch"),
}


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines_give_torch_s_batches(name: str, workers: int, urls: list[str]) -> None:
    make, options = PIPELINES[name]
    options = {"batch_size": 5, "num_workers": workers} | options
    if not workers:
        options.pop("persistent_workers", None)
    loader = compare(lambda: make(urls), **options)
    assert in_go(loader) > 0, loader.explain()


# Arrow's threads read on, and are not there in a fork: what is not read yet then may be left to Python.
@pytest.mark.parametrize(("name", "workers"), [("map", 0), ("map", 1), ("shuffled", 1), ("with_format", 0)])
def test_hugging_face_s_streams_give_torch_s_batches(name: str, workers: int, rows: str) -> None:
    loader = compare(lambda: ROWS[name](rows), batch_size=5, num_workers=workers)
    assert name != "map" or in_go(loader) > 0, loader.explain()


class Prefetching(data.IterableDataset[Any]):
    """Reads the next file in a thread, as Hugging Face's shuffled streams read their next shards."""

    def __init__(self, urls: list[str]) -> None:
        self.contents = [content for url in urls for content in contents(url)]

    def __iter__(self) -> Iterator[Any]:
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(io.BytesIO, self.contents[0])
            for content in self.contents[1:]:
                found, waiting = waiting.result(), pool.submit(io.BytesIO, content)
                yield crop(Image.open(found).convert("RGB"))


@pytest.mark.parametrize("workers", [0, 1])
def test_a_stream_that_reads_in_threads_is_not_checked_in_a_process_that_would_wait_for_them(
    workers: int, urls: list[str]
) -> None:
    loader = compare(lambda: Prefetching(urls), batch_size=4, num_workers=workers)
    assert "it reads in threads" in str(loader.explain())


class Listed(data.IterableDataset[Any]):
    def __init__(self, files: list[str]) -> None:
        self.files = files

    def __iter__(self) -> Iterator[Any]:
        for file in self.files:
            yield train(Image.open(file).convert("RGB"))


def test_samples_that_are_dropped_at_a_stream_s_end_make_no_difference(files: list[str]) -> None:
    loader = compare(lambda: Listed(files[:16]), batch_size=7, num_workers=0, drop_last=True)
    assert "SAMPLES_DIFFER" not in loader.explain().codes


class Rows:
    """A map-style dataset of Hugging Face whose transform is set, and set anew between epochs."""

    def __init__(self, rows: str) -> None:
        self.rows = hf.load_dataset("parquet", data_files=rows, split="train").with_transform(columns)

    def __call__(self, kind: Any, **options: Any) -> Any:
        loader, batches = kind(self.rows, **options), []
        for _ in range(3):
            batches += list(loader)
            self.rows.set_transform(lambda row: {"image": [crop(each.convert("RGB")) for each in row["image"]]})
        return loader, batches


def columns(rows: dict[str, list[Any]]) -> dict[str, Any]:
    return {"image": [train(each.convert("RGB")) for each in rows["image"]], "label": rows["label"]}


@pytest.mark.parametrize("workers", [0, 1])
def test_hugging_face_s_transforms_that_are_set_give_torch_s_batches(workers: int, rows: str) -> None:
    want = (seed(), Rows(rows)(data.DataLoader, batch_size=5, shuffle=True, num_workers=workers)[1])[1]
    loader, got = (seed(), Rows(rows)(goloader.DataLoader, batch_size=5, shuffle=True, num_workers=workers))[1]
    assert difference(want, got) is None
    assert in_go(loader) > 0, loader.explain()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_a_web_loader_of_an_installed_goloader_gives_torch_s_batches(workers: int, urls: list[str]) -> None:
    def epochs() -> Any:
        seed()
        dataset = web(urls).shuffle(9, rng=fresh()).decode("pil").to_tuple("jpg", "cls").map_tuple(train).batched(4)
        loader = wds.WebLoader(dataset, batch_size=None, num_workers=workers).unbatched().batched(6)
        return loader, [list(loader) for _ in range(3)]

    _, want = epochs()
    goloader.install()
    try:
        loader, got = epochs()
    finally:
        goloader.uninstall()
    assert difference(want, got) is None
    assert in_go(loader.pipeline[0]) > 0, loader.pipeline[0].explain()


@pytest.mark.slow  # many seconds
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", ["own tars", "shuffled late", "arrays themselves"])
def test_a_stream_goes_on_from_a_state(name: str, workers: int, urls: list[str]) -> None:
    make, options = PIPELINES[name]

    def loader(trace: bool = True) -> Any:
        return goloader.DataLoader(make(urls), batch_size=5, num_workers=workers, trace=trace, **options)

    def rest(state: Any, trace: bool, epochs: int = 2) -> Any:
        seed()
        again = loader(trace)
        again.load_state_dict(state)
        return again, [list(again) for _ in range(epochs)]

    first = loader()
    list(first)
    states = [first.state_dict() for _ in first]
    assert in_go(first) > 0, first.explain()
    for at in (0, 3, len(states) - 2):
        _, want = rest(states[at], trace=False)
        again, got = rest(states[at], trace=True)
        assert difference(want, got) is None
        assert len(want[0]) == len(states) - at - 1
    assert in_go(again) > 0, again.explain()


# ---- damage


def bad(number: int) -> bytes:
    """A member that nobody can decode, or that takes an error to show."""
    whole, small = jpeg(number), jpeg(number, format="PNG")
    middle = len(small) // 2
    return [
        whole[: len(whole) // 2],
        b"",
        b"no image",
        whole[:30],
        small[:middle],
        small[:middle] + bytes(40) + small[middle + 40 :],
        whole[:-2],
        whole.replace(b"\xff\xda", b"\xff\x00"),
        whole[:400] + bytes(60) + whole[460:],
    ][number % 9]


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Shards of which the first samples are sound, for trials, and every third one after them is not."""
    folder = tmp_path_factory.mktemp("damaged")
    members = [jpeg(at) if at < 20 or at % 3 else bad(at // 3) for at in range(56)]
    return [shard(folder / f"d{number}.tar", members) for number in range(3)]


HANDLERS = (wds.ignore_and_continue, wds.warn_and_continue, wds.reraise_exception, wds.ignore_and_stop)


class Careful(data.IterableDataset[Any]):
    """Leaves out what it cannot read, and tells of it."""

    def __init__(self, urls: list[str]) -> None:
        self.urls = urls

    def __iter__(self) -> Iterator[Any]:
        lost = 0
        for number, content in enumerate(content for url in self.urls for content in contents(url)):
            try:
                image = Image.open(io.BytesIO(content))
                image.load()
                made = train(image.convert("RGB"))
            except Exception as error:
                warnings.warn(f"{number}: {type(error).__name__}: {error}".partition(" <")[0], stacklevel=1)
                lost += 1
                continue
            yield made, lost


def late(sample: dict[str, Any]) -> Any:
    """Decodes no earlier than in the transform."""
    return train(Image.open(io.BytesIO(sample["jpg"])).convert("RGB")), sample["__key__"]


def of_array(sample: dict[str, Any]) -> Any:
    pixels = np.asarray(Image.open(io.BytesIO(sample["jpg"])).convert("RGB"))
    return torch.from_numpy(pixels[:20, :20].copy()), sample["__key__"]


DAMAGED: dict[str, Callable[..., Any]] = {
    "decode": lambda urls, handler: web(urls).decode("pil", handler=handler).to_tuple("jpg", "cls").map_tuple(train),
    "torchrgb": lambda urls, handler: (
        web(urls).decode("torchrgb", handler=handler).to_tuple("jpg").map_tuple(v2.CenterCrop(20))
    ),
    "map": lambda urls, handler: web(urls).map(late, handler=handler),
    "arrays": lambda urls, handler: web(urls).map(of_array, handler=handler),
}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """webdataset's handlers that warn take half a second each."""
    monkeypatch.setattr(wds.handlers.time, "sleep", lambda seconds: None)


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("handler", HANDLERS)
@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_members_are_dropped_or_raised_as_with_torch(
    name: str, handler: Any, workers: int, damaged: list[str]
) -> None:
    lanes = name == "decode"  # of the core's: its loader's process warns where torch's workers do
    loader = compare(
        lambda: DAMAGED[name](damaged, handler), warned=not lanes or not workers, batch_size=4, num_workers=workers
    )
    # Arrays are real where a handler may end an error.
    assert in_go(loader) > 0 or (name in ("arrays", "torchrgb") and handler is not wds.reraise_exception)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 1, 3])
def test_readers_with_a_try_of_their_own_leave_out_what_they_leave_out_with_torch(
    workers: int, damaged: list[str]
) -> None:
    loader = compare(lambda: Careful(damaged), batch_size=4, num_workers=workers)
    assert in_go(loader) > 0, loader.explain()


# ---- errors that only a stand-in causes, where no trial has been


def digest(pixels: Any) -> int:
    """C code that wants an ndarray's memory."""
    return zlib.crc32(pixels)


def refused(content: bytes, number: int) -> Any:
    """From the 30th image on, what it does first a stand-in for an array cannot."""
    image = Image.open(io.BytesIO(content)).convert("RGB")
    if number < 30:
        return train(image), 0
    pixels = np.asarray(image)
    return train(image), digest(pixels)


def of_memory(content: bytes, number: int) -> Any:
    """The same of a tensor: a weak reference, for which a stand-in cannot become real."""
    made = train(Image.open(io.BytesIO(content)).convert("RGB"))
    if number < 30:
        return made, 0
    kept = weakref.ref(made)
    return made, int(made.sum() * 0) + (kept() is made)


class Swallowing(data.IterableDataset[Any]):
    def __init__(self, urls: list[str], make: Callable[[bytes, int], Any]) -> None:
        self.urls, self.make = urls, make

    def __iter__(self) -> Iterator[Any]:
        for number, content in enumerate(content for url in self.urls for content in contents(url)):
            try:
                made = self.make(content, number)
            except Exception:
                continue
            yield made


class SwallowingMap(data.Dataset[Any]):
    """The next image in place of one that cannot be made."""

    def __init__(self, urls: list[str], make: Callable[[bytes, int], Any]) -> None:
        self.contents = [content for url in urls for content in contents(url)]
        self.make = make

    def __len__(self) -> int:
        return len(self.contents)

    def __getitem__(self, index: int) -> Any:
        try:
            return self.make(self.contents[index], index)
        except Exception:
            return self[(index + 1) % 20]


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("kind", [Swallowing, SwallowingMap])
def test_an_array_is_real_where_an_error_would_be_ended(kind: Any, workers: int, urls: list[str]) -> None:
    options = {"batch_size": 4, "num_workers": workers}
    loader = compare(lambda: kind(urls, refused), **options)
    assert in_go(loader) > 0, loader.explain()


def test_a_dataset_whose_code_ends_a_stand_in_s_error_is_loaded_again(urls: list[str]) -> None:
    want, stand, _ = run(data.DataLoader, lambda: SwallowingMap(urls, of_memory), {"batch_size": 4})
    got, stands, loader = run(goloader.DataLoader, lambda: SwallowingMap(urls, of_memory), {"batch_size": 4})
    assert difference(want[0], got[0]) is None
    assert stand == stands
    assert "the code failed with a stand-in" in str(loader.explain())


@pytest.mark.parametrize("workers", [0, 1])
def test_a_stream_whose_code_ends_a_stand_in_s_error_stops_loudly(workers: int, urls: list[str]) -> None:
    loader = goloader.DataLoader(Swallowing(urls, of_memory), batch_size=4, num_workers=workers)
    with pytest.raises(RuntimeError, match=r"DataLoader\(trace=False\) runs it without"):
        for _ in range(3):
            list(loader)
