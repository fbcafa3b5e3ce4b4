"""goloader.WebDataset and the webdataset package, under goloader's loader, against that package under torch's.

Samples, their order, errors, and where the generators stand afterwards are compared, for three epochs. Where a pipeline
is known Go makes all of its batches; where it is not, Python does, and explain() says why.
"""

from __future__ import annotations

import http.server
import os
import random
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import torchvision.transforms as T
import webdataset as wds
from torch.utils import data

import goloader
from goloader import webdataset as own
from goloader.doors.same import difference
from tests_py.streams.shards import SAMPLES, SHARDS, compare, crop, identity, native, run, seed, shards, train


@pytest.fixture(scope="module")
def urls(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return shards(tmp_path_factory.mktemp("shards"))


def theirs(urls: Any, **options: Any) -> Any:
    return wds.WebDataset(urls, **({"shardshuffle": False} | options))


def ours(urls: Any, **options: Any) -> Any:
    return goloader.WebDataset(urls, **({"shardshuffle": False} | options))


def caption(about: Any) -> str:
    return str(about["caption"]).upper()


def is_even(sample: Any) -> bool:
    return bool(sample["cls"] % 2 == 0)


def fields(sample: dict[str, Any]) -> Any:
    return train(sample["jpg"] if "jpg" in sample else sample["png"]), sample["__key__"]


Make = Callable[[Any, list[str]], Any]

# Pipelines that both have, what a DataLoader takes besides them, and whether Go runs them.
BOTH: dict[str, tuple[Make, dict[str, Any], bool]] = {
    "plain": (lambda w, u: w(u).decode("pil").to_tuple("jpg;png", "cls").map_tuple(train), {}, True),
    "shuffled": (
        lambda w, u: w(u).shuffle(9, seed=3).decode("pil").to_tuple("jpg;png", "cls").map_tuple(train, identity),
        {},
        True,
    ),
    "by a generator": (
        lambda w, u: w(u).shuffle(7, rng=random.Random(3)).decode("pil").to_tuple("jpg;png").map_tuple(train),
        {},
        True,
    ),
    "little to begin with": (
        lambda w, u: w(u).shuffle(30, initial=4, seed=0).decode("pil").to_tuple("jpg;png", "__key__").map_tuple(crop),
        {"drop_last": True},
        True,
    ),
    "twice": (
        lambda w, u: (
            w(u, shardshuffle=3, seed=8).shuffle(5, seed=2).shuffle(4, seed=9).decode("pil")
            .to_tuple("__key__", "__url__", "jpg;png").map_tuple(None, None, train)
        ),
        {},
        True,
    ),
    "detshuffle": (
        lambda w, u: w(u, shardshuffle=4, detshuffle=True, seed=2).decode("pil").to_tuple("jpg;png").map_tuple(crop),
        {},
        True,
    ),
    "detshuffle, workers that stay": (
        lambda w, u: w(u, shardshuffle=4, detshuffle=True, seed=2).decode("pil").to_tuple("jpg;png").map_tuple(train),
        {"persistent_workers": True},
        True,
    ),
    "epochs": (
        lambda w, u: w(u).shuffle(9, seed=1).decode("pil").to_tuple("jpg;png", "cls").map_tuple(train).with_epoch(23),
        {},
        True,
    ),
    "rounds": (lambda w, u: w(u[:2]).decode("pil").to_tuple("jpg;png").map_tuple(train).repeat(2), {}, True),
    "slice": (lambda w, u: w(u).slice(2, 29, 3).decode("pil").to_tuple("jpg;png", "txt").map_tuple(train), {}, True),
    "texts": (
        lambda w, u: w(u).decode("pil").to_tuple("txt", "jpg;png", "json", "cls").map_tuple(str.upper, crop),
        {},
        False,  # str.upper may be anything's
    ),
    "JSON": (
        lambda w, u: w(u).decode("pil").to_tuple("jpg;png", "json", "txt").map_tuple(
            crop, lambda about: about["number"] * 2, lambda text: text[:9].upper()
        ),
        {},
        True,
    ),
    "whole JSON": (lambda w, u: w(u).decode("pil").to_tuple("jpg;png", "json").map_tuple(crop), {}, True),
    "renamed": (
        lambda w, u: (
            w(u).decode("pil").rename(image="jpg;png", text="txt").map_dict(image=train, text=lambda t: len(t))
            .to_tuple("image", "text", "cls")
        ),
        {},
        True,
    ),
    "torchrgb": (
        lambda w, u: w(u).decode("torchrgb").to_tuple("jpg;png").map_tuple(T.Normalize((0.5,) * 3, (0.2,) * 3)),
        {"batch_size": 1},
        True,
    ),
    "torchrgb8": (
        lambda w, u: w(u).decode("torchrgb8").to_tuple("jpg;png", "cls").map_tuple(T.RandomCrop(12)), {}, True
    ),
    "twice the image": (
        lambda w, u: w(u).decode("pil").to_tuple("jpg;png", "jpg;png").map_tuple(train, train), {}, True
    ),
    "batched": (
        lambda w, u: w(u).decode("pil").to_tuple("jpg;png", "cls", "txt").map_tuple(train).batched(6),
        {"batch_size": None},
        True,
    ),
    "batched, short ones left out": (
        lambda w, u: (
            w(u).decode("pil").to_tuple("jpg;png", "json").map_tuple(train, lambda a: a["number"])
            .batched(6, partial=False).with_epoch(nbatches=7)
        ),
        {"batch_size": None},
        True,
    ),
    "pinned": (
        lambda w, u: w(u).decode("pil").to_tuple("jpg;png", "cls").map_tuple(train), {"pin_memory": True}, True
    ),
    "select": (lambda w, u: w(u).decode("pil").select(is_even).to_tuple("jpg;png").map_tuple(train), {}, False),
    "own function": (lambda w, u: w(u).decode("pil").map(fields), {}, False),
    "shuffled late": (
        lambda w, u: w(u).decode("pil").to_tuple("jpg;png", "cls").map_tuple(train).shuffle(8, initial=8, seed=4),
        {},
        False,
    ),
    "listed": (
        lambda w, u: w(u).decode("pil").to_tuple("jpg;png").map_tuple(train).batched(4, collation_fn=None),
        {"batch_size": None},
        False,
    ),
    "a function of what JSON says": (
        lambda w, u: w(u).decode("pil").to_tuple("jpg;png", "json").map_tuple(train, caption), {}, True
    ),
}  # fmt: skip


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("name", BOTH)
def test_pipelines_give_what_webdataset_gives_under_torch_s_loader(name: str, workers: int, urls: list[str]) -> None:
    make, options, known = BOTH[name]
    options = {"batch_size": 5, "num_workers": workers} | options
    if not workers:
        options.pop("persistent_workers", None)
    if options.get("pin_memory") and not torch.cuda.is_available():
        options["pin_memory"] = False
    # A generator that its user may draw from, too; draws for a batch that comes.
    ahead = workers == 0 and name in ("by a generator", "batched", "batched, short ones left out")
    for kind in (ours, theirs):
        loader = compare(partial(make, theirs, urls), partial(make, kind, urls), **options)
        assert native(loader) == (known and not ahead), loader.explain()


# What only one of them has, or has otherwise.
def test_to_dict_gives_dicts(urls: list[str]) -> None:
    def make(kind: Any) -> Any:
        return kind(urls).decode("pil").rename(image="jpg;png", label="cls", keep=False).map_dict(image=train)

    loader = compare(partial(make, theirs), partial(make, ours), batch_size=5, num_workers=2)
    assert native(loader)
    dataset = ours(urls).decode("pil").to_dict(image="jpg;png", label="cls").map_dict(image=train)
    (batch, *_) = goloader.DataLoader(dataset, batch_size=5)
    assert list(batch) == ["image", "label"]


def test_a_data_pipeline_of_webdataset_s_is_known_stage_by_stage(urls: list[str]) -> None:
    def make() -> Any:
        return wds.DataPipeline(
            wds.SimpleShardList(urls), wds.split_by_node, wds.split_by_worker, wds.tarfile_to_samples(),
            wds.shuffle(5, seed=3), wds.decode("pil", handler=wds.ignore_and_continue),
            wds.to_tuple("jpg;png", "cls"), wds.map_tuple(train, identity), wds.batched(4, partial=False),
        ).with_epoch(9)  # fmt: skip

    assert native(compare(make, make, batch_size=None, num_workers=2))


def test_resampled_shards_with_a_seed_are_webdataset_s(urls: list[str]) -> None:
    def make() -> Any:
        shards = wds.ResampledShards(urls, deterministic=True, seed=4)
        stages = wds.tarfile_to_samples(), wds.decode("pil"), wds.to_tuple("jpg;png"), wds.map_tuple(train)
        return wds.DataPipeline(shards, *stages).with_epoch(17)

    def own_one() -> Any:
        dataset = ours(urls, resampled=True, seed=4, empty_check=False, nodesplitter=None, workersplitter=None)
        return dataset.decode("pil").to_tuple("jpg;png").map_tuple(train).with_epoch(17)

    for workers in (1, 3):
        for dataset in (make, own_one):
            assert native(compare(make, dataset, batch_size=4, num_workers=workers))


def test_samples_of_resampled_shards_without_a_seed_are_others_each_time(urls: list[str]) -> None:
    # Of some hundred shards that are drawn from a few the same ones come once in 10**20 times.
    dataset = ours(urls, resampled=True).decode("pil").to_tuple("jpg;png", "__key__").map_tuple(crop).with_epoch(1200)
    loader = goloader.DataLoader(dataset, batch_size=40)
    first, second = ([key for _, keys in loader for key in keys] for _ in range(2))
    assert first != second and len(first) == 1200


def test_a_web_loader_is_goloader_s_where_that_is_installed(urls: list[str]) -> None:
    def epochs() -> Any:
        seed()
        dataset = theirs(urls).shuffle(9, seed=1).decode("pil").to_tuple("jpg;png", "cls").map_tuple(train).batched(4)
        loader = wds.WebLoader(dataset, batch_size=None, num_workers=2).unbatched().batched(6)
        return loader, [list(loader) for _ in range(2)]

    _, want = epochs()
    goloader.install()
    try:
        loader, got = epochs()
    finally:
        goloader.uninstall()
    assert difference(want, got) is None
    assert native(loader.pipeline[0]), loader.pipeline[0].explain()


def test_samples_themselves_are_webdataset_s(urls: list[str]) -> None:
    assert difference(list(theirs(urls)), list(ours(urls))) is None
    for stage in (lambda d: d.shuffle(7, seed=1), lambda d: d.slice(3, 9), lambda d: d.rename(a="jpg;png")):
        assert difference(list(stage(theirs(urls))), list(stage(ours(urls)))) is None
    batches = [list(kind(urls).to_tuple("cls", "txt").batched(4).unbatched()) for kind in (theirs, ours)]
    assert difference(*batches) is None


@pytest.mark.parametrize("pattern", ["a{0..12}.tar", "a{08..11}.tar", "{a,b}{1..2}.tar", "x::y{1..2}", "x"])
def test_braces_are_written_out_as_webdataset_does(pattern: str) -> None:
    assert own.expand_urls(pattern) == wds.shardlists.expand_urls(pattern)


# ---- how shards are stored


def packed(url: str, folder: Path) -> dict[str, str]:
    """A shard as it may be stored, by the way in which."""
    zipped, squeezed = folder / "s.tar.gz", folder / "s.tar.zst"
    subprocess.run(f"gzip -c {url} > {zipped}", shell=True, check=True)
    subprocess.run([sys.executable, "-c", _ZSTD, url, str(squeezed)], check=True)
    return {"gzip": str(zipped), "zstd": str(squeezed), "pipe": f"pipe:cat {url}", "packed pipe": f"pipe:gzip -c {url}"}


# A frame of zstd that stores: magic, a header with a window of 1 MiB, blocks as they are.
_ZSTD = """
import sys
data = open(sys.argv[1], "rb").read()
blocks = [data[at : at + 65536] for at in range(0, len(data), 65536)]
with open(sys.argv[2], "wb") as out:
    out.write(bytes.fromhex("28b52ffd") + bytes([0, 0x50]))
    for number, block in enumerate(blocks):
        out.write((len(block) << 3 | (number == len(blocks) - 1)).to_bytes(3, "little") + block)
"""


@pytest.mark.slow  # many seconds
@pytest.mark.parametrize("workers", [0, 2])
def test_shards_are_the_same_however_they_are_stored(workers: int, urls: list[str], tmp_path: Path) -> None:
    def make(urls: list[str], stage: Callable[[Any], Any]) -> Any:
        return stage(ours(urls).shuffle(4, seed=2).decode("pil").to_tuple("jpg;png", "cls")).map_tuple(train)

    stored = packed(urls[0], tmp_path)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(_Ranges, folder=Path(urls[0]).parent))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    stored["server"] = f"http://127.0.0.1:{server.server_port}/s0.tar"
    options = {"batch_size": 4, "num_workers": workers}
    for name, url in stored.items():
        for stage in (identity, lambda d: d.select(bool)):  # which Python runs, on what Go read
            want, _, _ = run(data.DataLoader, partial(make, [urls[0], urls[1]], identity), options, epochs=1)
            got, _, loader = run(goloader.DataLoader, partial(make, [url, urls[1]], stage), options, epochs=1)
            assert difference(want, got) is None, name
            assert native(loader) == (stage is identity)
    server.shutdown()


class _Ranges(http.server.SimpleHTTPRequestHandler):
    """Gives ranges, as servers do, but not Python's own."""

    def __init__(self, *arguments: Any, folder: Path) -> None:
        self.folder = folder
        super().__init__(*arguments)

    def do_GET(self) -> None:
        content = (self.folder / self.path[1:]).read_bytes()
        first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
        part = content[int(first) : int(last) + 1]
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{int(first) + len(part) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(part)))
        self.send_header("ETag", '"one"')
        self.end_headers()
        self.wfile.write(part)

    def log_message(self, *_: Any) -> None:
        pass


def test_a_command_finds_the_environment_of_now(urls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHARD_OF_TEST", urls[0])
    dataset = ours(['pipe:cat "$SHARD_OF_TEST"']).decode("pil").to_tuple("jpg;png", "__key__").map_tuple(crop)
    (batch,) = goloader.DataLoader(dataset, batch_size=100)
    assert len(batch[1]) == SAMPLES


# ---- resume


@pytest.mark.parametrize(
    ("name", "workers"),
    [
        *((name, workers) for name in ("shuffled", "twice", "epochs", "detshuffle") for workers in (0, 1, 3)),
        ("batched, short ones left out", 2),
    ],
)
def test_a_stream_goes_on_from_a_state(name: str, workers: int, urls: list[str]) -> None:
    make, options, _ = BOTH[name]
    options = {"batch_size": 5, "num_workers": workers} | options

    def loader() -> Any:
        return goloader.DataLoader(make(ours, urls), **options)

    seed()
    first = loader()
    list(first)
    states, batches, generators = [], [], []
    for batch in first:
        states.append(first.state_dict())
        batches.append(batch)
        generators.append(torch.get_rng_state())
    want = batches, list(first)
    for at in (0, 3, len(states) - 1):
        seed()
        again = loader()
        again.load_state_dict(states[at])
        torch.set_rng_state(generators[at])
        rest = list(again)
        assert native(again)
        assert difference(want[0][at + 1 :], rest) is None, at
    if workers == 0:  # else the next epoch's seeds come from the process's generator
        assert difference(want[1], list(again)) is None
    assert len(str(states[0])) < 40_000


def test_a_state_of_other_streams_is_refused(urls: list[str]) -> None:
    def loader(workers: int) -> Any:
        return goloader.DataLoader(BOTH["shuffled"][0](ours, urls), batch_size=5, num_workers=workers)

    first = loader(2)
    next(iter(first))
    state = first.state_dict()
    with pytest.raises(goloader.StateError):
        other = loader(3)
        other.load_state_dict(state)
        next(iter(other))


# ---- errors


def damaged(folder: Path, urls: list[str], kind: str) -> list[str]:
    """Shards of which the second is not sound from somewhere in it on."""
    content = Path(urls[1]).read_bytes()
    made, at = bytearray(content), content.index(b"00012.jpg") + 512
    if kind == "image":
        made[at : at + 300] = bytes(300)
    elif kind == "class":
        made[content.index(b"00015.cls") + 512] = ord("x")
    elif kind == "cut":
        made = made[: at + 100]
    path = folder / f"{kind}.tar"
    path.write_bytes(made)
    return [urls[0], str(path), *urls[2:]]


HANDLERS = ["reraise_exception", "ignore_and_continue", "warn_and_continue"]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """webdataset's handlers that warn take half a second each."""
    monkeypatch.setattr(wds.handlers.time, "sleep", lambda seconds: None)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("handler", HANDLERS)
@pytest.mark.parametrize("kind", ["image", "class"])
def test_samples_that_are_not_sound_are_dropped_or_raised_as_with_webdataset(
    kind: str, handler: str, workers: int, urls: list[str], tmp_path: Path
) -> None:
    bad = damaged(tmp_path, urls, kind)

    def make(web: Any, handlers: Any) -> Any:
        each = getattr(handlers, handler)
        dataset = web(bad).shuffle(5, seed=1).decode("pil", handler=each).to_tuple("jpg;png", "cls", handler=each)
        return dataset.map_tuple(train, handler=each)

    options = {"batch_size": 4, "num_workers": workers}
    loader = compare(partial(make, theirs, wds), partial(make, theirs, wds), **options)
    assert native(loader)
    if handler != "reraise_exception":  # whose error has a class of its own
        assert native(compare(partial(make, theirs, wds), partial(make, ours, own), **options))


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("workers", [0, 2])
def test_a_shard_that_breaks_off_is_an_error_with_its_place_or_left_out(
    workers: int, urls: list[str], tmp_path: Path
) -> None:
    bad = damaged(tmp_path, urls, "cut")

    def make(web: Any, each: Any) -> Any:
        dataset = web(bad, handler=each).decode("pil").to_tuple("jpg;png", "__key__")
        return dataset.map_tuple(train)

    options = {"batch_size": 4, "num_workers": workers}
    got, _, _ = run(goloader.DataLoader, partial(make, ours, own.reraise_exception), options, epochs=1)
    errors = [each for each in got if isinstance(each, tuple)]
    assert len(errors) == 1 and errors[0][0] == "OSError" and "cut.tar" in errors[0][1] and "00012.jpg" in errors[0][1]
    got, _, _ = run(goloader.DataLoader, partial(make, ours, own.ignore_and_continue), options, epochs=1)
    keys = [key for _, keys in got for key in keys]
    assert sorted(keys) == [f"{number:05d}" for number in range(SHARDS * SAMPLES) if not 12 <= number < 22]


def test_a_stream_without_a_sample_is_webdataset_s_error(urls: list[str]) -> None:
    def make(web: Any) -> Any:
        return web(urls[:1]).decode("pil").to_tuple("jpg;png").map_tuple(train)

    loader = compare(partial(make, theirs), partial(make, ours), batch_size=4, num_workers=3)
    assert native(loader)


def test_a_missing_shard_is_an_error_that_names_it() -> None:
    dataset = ours(["/no/such.tar"]).decode("pil").to_tuple("jpg").map_tuple(train)
    with pytest.raises(OSError, match=r"/no/such\.tar"):
        list(goloader.DataLoader(dataset))
    with pytest.raises(OSError, match=r"/no/such\.tar"):
        list(ours(["/no/such.tar"]))


def test_nothing_lives_behind_an_early_break(urls: list[str]) -> None:
    from goloader import _native

    before = _native.live()
    for workers in (0, 3):
        loader = goloader.DataLoader(BOTH["shuffled"][0](ours, urls), batch_size=2, num_workers=workers)
        for _ in range(3):
            iterator = iter(loader)
            next(iterator)
            del iterator
        del loader
    assert _native.live()["handles"] == before["handles"]


# ---- without the library


@pytest.mark.slow
def test_with_goloader_off_python_reads(urls: list[str]) -> None:
    code = f"""
import goloader, torchvision.transforms as T
dataset = goloader.WebDataset({urls!r}).decode("pil").to_tuple("jpg;png", "__key__")
dataset = dataset.map_tuple(T.Compose([T.CenterCrop(8), T.ToTensor()]))
print(sum(len(keys) for _, keys in goloader.DataLoader(dataset, batch_size=4, num_workers=2)))
"""
    made = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "GOLOADER": "off"}, capture_output=True, text=True, check=True
    )
    assert made.stdout.strip() == str(SHARDS * SAMPLES)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_a_state_can_be_asked_for_when_the_iterator_is_gone(urls: list[str]) -> None:
    from goloader import _native

    for workers in (0, 2):
        loader = goloader.DataLoader(BOTH["plain"][0](ours, urls), batch_size=5, num_workers=workers)
        before = _native.live()["handles"]
        iterator = iter(loader)
        next(iterator)
        want = loader.state_dict()
        del iterator
        assert loader.state_dict() == want
        assert _native.live()["handles"] <= before + 1  # the loader's, but for no run


@pytest.mark.parametrize("workers", ["auto", 2])
def test_the_number_of_workers_may_be_goloader_s_choice(workers: Any, urls: list[str]) -> None:
    loader = goloader.DataLoader(BOTH["plain"][0](ours, urls), batch_size=5, num_workers=workers)
    assert sum(len(labels) for _, labels in loader) == SHARDS * SAMPLES
    assert native(loader)


def test_a_dataset_pickles(urls: list[str]) -> None:
    import pickle

    dataset = ours(urls).shuffle(5, seed=1).decode("pil").to_tuple("jpg;png", "cls").map_tuple(train).with_epoch(9)
    again = pickle.loads(pickle.dumps(dataset))
    first, second = (
        run(goloader.DataLoader, lambda each=each: each, {"batch_size": 3}, 1)[0] for each in (dataset, again)
    )
    assert difference(first, second) is None
