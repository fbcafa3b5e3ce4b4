"""Folders and archives in buckets and behind HTTP are those of a local copy, with any loader; errors name the place."""

from __future__ import annotations

import gc
import os
import pickle
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import buckets
import numpy as np
import pytest
import torch
import torchvision.transforms as T
from buckets import BUCKET, KEY, SECRET, Server
from PIL import Image
from test_shards import samples, write
from torch.utils import data
from torchvision import datasets
from torchvision.datasets.folder import pil_loader
from twins import Program, batches, check, compare, errors, loader_of, run

import goloader
from goloader.datasets import ImageFolder, TarDataset, TarImages
from goloader.doors import sandbox
from goloader.plan.paths import Object
from goloader.storage import stores

TRANSFORM = T.Compose([T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.ToTensor()])


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images at several depths, of several kinds, with names that URLs have to escape."""
    folder = tmp_path_factory.mktemp("images")
    pixels = np.random.default_rng(0)
    names = ["b/2.jpg", "b/10.PNG", "b/deep/er/1.jpg", "b/deep.er/1.jpg", "a b+c/é #1?%41.jpeg", "c/x&y=1.jpg"]
    for name in names + [f"c/more/{n:02}.jpg" for n in range(12)] + ["b/one.webp", "b/two.bmp"]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.integers(0, 256, (40, 30, 3), np.uint8)).save(folder / name)
    (folder / "b" / "note.txt").write_text("no image")
    return folder


@pytest.fixture(scope="module")
def program(request: pytest.FixtureRequest) -> Path:
    return buckets.built(request.config.cache.mkdir("servers"))


@pytest.fixture(scope="module")
def serving(program: Path, local: Path) -> Iterator[Server]:
    with buckets.served(program) as server:
        server.put_folder(local, "train")
        yield server


@pytest.fixture
def server(serving: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Server:
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", serving.url)
    monkeypatch.setenv("GOLOADER_HEDGING", "off")  # requests are counted
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    serving.faults = 0.0
    serving.asked.clear()
    return serving


def url(path: str) -> str:
    return f"s3://{BUCKET}/{path}"


def same_batches(remote: Any, local: Any, **arguments: Any) -> None:
    """Both loaders give of the remote dataset what torch's gives of the local one; ours by Go."""
    program = Program(loader_of(remote, **arguments))
    compare(check(program), run(data.DataLoader, Program(loader_of(local, **arguments))))


def test_a_buckets_folder_is_its_copy(server: Server, local: Path) -> None:
    theirs = datasets.ImageFolder(local)
    for root in (url("train"), url("train/")):
        ours = ImageFolder(root)
        assert (ours.classes, ours.class_to_idx) == (theirs.classes, theirs.class_to_idx)
        assert [(f"{local}{path.removeprefix(url('train'))}", label) for path, label in ours.samples] == theirs.samples
        assert ours.targets.tolist() == theirs.targets
        for (path, _), (copy, _) in zip(ours.samples, theirs.samples, strict=True):
            assert path.read() == Path(copy).read_bytes()
    whole = ImageFolder(f"s3://{BUCKET}")
    assert whole.classes == ["train"]
    assert len(whole) == len(theirs)


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_batches_are_those_of_the_copy(server: Server, local: Path, workers: int) -> None:
    for arguments in ({"shuffle": True, "batch_size": 4}, {"batch_size": 7, "drop_last": True}):
        same_batches(
            ImageFolder(url("train"), TRANSFORM), ImageFolder(local, TRANSFORM), num_workers=workers, **arguments
        )


@pytest.mark.usefixtures("untried")
def test_requests_and_bytes_are_counted(server: Server, local: Path) -> None:
    folder = ImageFolder(url("train"), TRANSFORM)
    loader: Any = goloader.DataLoader(folder, 4, num_workers=2)
    server.asked.clear()
    list(loader)
    stats = loader.stats()
    sizes = [Path(path.replace(url("train"), str(local))).stat().st_size for path, _ in folder.samples]
    assert stats.requests == len(server.asked) == len(folder)
    assert stats.hedged == 0
    assert stats.received >= sum(sizes)
    assert stats.cost(cost_per_1000_requests=2, cost_per_gb=3) == pytest.approx(
        stats.requests * 2e-3 + stats.received * 3e-9
    )
    assert f"{stats.requests} requests" in str(loader.explain())


def test_parts_and_sums_of_it_are_those_of_the_copy(server: Server, local: Path) -> None:
    def made(root: Any) -> Any:
        folder = ImageFolder(root, TRANSFORM)
        part = data.Subset(ImageFolder(root, T.Compose([T.Resize((24, 24)), T.ToTensor()])), [3, 1, 3])
        return data.ConcatDataset([folder, part])

    same_batches(made(url("train")), made(local), batch_size=5, shuffle=True, num_workers=2)


@pytest.mark.slow  # many seconds
def test_a_list_of_its_samples_is_read_by_go_too(server: Server, local: Path) -> None:
    ours, theirs = ImageFolder(url("train"), TRANSFORM), ImageFolder(local, TRANSFORM)
    for each in (ours, theirs):
        each.samples = list(each.samples)[3:11]
    same_batches(ours, theirs, batch_size=3, num_workers=1)
    both: Any = data.ConcatDataset([ImageFolder(url("train"), TRANSFORM), ImageFolder(local, TRANSFORM)])
    check(Program(loader_of(both, batch_size=9, num_workers=1)), native=False)


def test_trials_in_children_that_may_write_nothing_read_them(server: Server) -> None:
    path = Object(url("train/b/2.jpg"))
    content = path.read()
    child = os.fork()
    if not child:
        with sandbox.restrict():
            os._exit(path.read() != content)
    assert os.waitpid(child, 0)[1] == 0


def test_nothing_is_held_after_a_loader(server: Server) -> None:
    folder = ImageFolder(url("train"), TRANSFORM)

    def sockets() -> int:
        gc.collect()
        names = (os.path.join("/proc/self/fd", each) for each in os.listdir("/proc/self/fd"))
        return sum(os.path.islink(name) and os.readlink(name).startswith("socket:") for name in names)

    before = sockets()
    loader: Any = goloader.DataLoader(folder, 2, num_workers=2)
    iterator = iter(loader)
    next(iterator)
    assert sockets() > before
    del loader, iterator, folder
    deadline = time.monotonic() + 60  # the server's ends are in this process, too
    while sockets() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert sockets() <= before


@pytest.mark.slow
def test_it_is_pickled_to_workers_that_are_spawned(server: Server) -> None:
    arguments = {"batch_size": 8, "num_workers": 1, "multiprocessing_context": "spawn"}
    check(Program(loader_of(ImageFolder(url("train"), TRANSFORM), **arguments), epochs=1))


def test_a_loader_that_opens_paths_has_torchs_error(server: Server) -> None:
    folder = ImageFolder(url("train"), TRANSFORM, loader=pil_loader)
    events = check(Program(loader_of(folder, batch_size=8)), native=False)
    assert errors(events)[0][0] == "FileNotFoundError"


def test_somebodys_own_loader_reads_them(server: Server) -> None:
    folder = ImageFolder(url("train"), loader=lambda path: torch.tensor(len(path.read())))
    check(Program(loader_of(folder, batch_size=8, num_workers=2)), native=False)


@pytest.fixture
def archive(server: Server, tmp_path: Path) -> Path:
    """Three archives, in the bucket as well, the last one without samples."""
    for number, count in enumerate((9, 4, 0)):
        path = write(tmp_path / f"s-{number}.tar", samples(count, number))
        server.put(f"shards/{path.name}", path.read_bytes())
    return tmp_path


@pytest.mark.parametrize("scheme", ["s3", "http"])
@pytest.mark.slow
def test_archives_are_those_of_a_copy(server: Server, archive: Path, scheme: str) -> None:
    place = url("shards") if scheme == "s3" else f"{server.url}/{BUCKET}/shards"
    arguments: dict[str, Any] = {"transform": TRANSFORM, "image": ("jpg", "jpeg", "png", "gif", "webp")}
    ours = TarImages(f"{place}/s-{{0..2}}.tar", **arguments)
    theirs = TarImages(str(archive / "s-{0..2}.tar"), **arguments)
    assert [(path.replace(place, str(archive)), label) for path, label in ours.samples] == list(theirs.samples)
    same_batches(ours, theirs, batch_size=4, shuffle=True, num_workers=2)
    for each in (ours, theirs):
        each.samples = list(each.samples)[2:8]
    same_batches(ours, theirs, batch_size=4, num_workers=1)

    plain, copy = TarDataset(f"{place}/s-{{0,1,2}}.tar"), TarDataset(str(archive / "s-{0,1,2}.tar"))
    for mine, its in zip(plain, copy, strict=True):
        assert mine | {"__url__": mine["__url__"].replace(place, str(archive))} == its
    check(Program(loader_of(plain, batch_size=3, num_workers=1, collate_fn=list)), native=False)


def test_an_index_counts_until_an_archive_changes(server: Server, archive: Path) -> None:
    def listed() -> tuple[int, int]:
        server.asked.clear()
        found = len(TarImages(url("shards/s-0.tar")))
        return found, len(server.asked)

    first = listed()
    again = listed()
    assert (first[0], again) == (9, (9, 1))
    server.put("shards/s-0.tar", (archive / "s-1.tar").read_bytes())
    assert listed()[0] == 4


def test_an_archive_that_is_replaced_is_an_error_that_names_it(server: Server, archive: Path) -> None:
    old = TarImages(url("shards/s-0.tar"), TRANSFORM)
    under_way = iter(goloader.DataLoader(old, 2, num_workers=1))
    next(under_way)
    server.put("shards/s-0.tar", (archive / "s-1.tar").read_bytes())
    new = TarImages(url("shards/s-0.tar"), TRANSFORM)
    events = check(Program(loader_of(old, batch_size=2, num_workers=1)))
    assert not batches(events)
    for kind, _, last in errors(events):
        assert kind == "OSError"
        assert url("shards/s-0.tar at byte ") in last
    with pytest.raises(OSError, match=url("shards/s-0.tar at byte ")):
        list(under_way)
    check(Program(loader_of(new, batch_size=2)))


def test_errors_name_bucket_key_and_what_the_server_said(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.put("denied/a.jpg", b"")
    cases = {
        url("none.jpg"): (FileNotFoundError, "NoSuchKey"),
        "s3://nowhere/none.jpg": (FileNotFoundError, "NoSuchBucket"),
        url("denied/a.jpg"): (PermissionError, "AccessDenied"),
        f"{server.url}/{BUCKET}/none.jpg": (FileNotFoundError, "404"),
        "s3:///a.jpg": (OSError, "s3://bucket/key"),
    }
    folder = ImageFolder(url("train"), TRANSFORM)
    for name, (kind, said) in cases.items():
        with pytest.raises(kind, match=said) as error:
            Object(name).read()
        assert name in str(error.value)
        folder.samples = [(Object(url("train/b/2.jpg")), 0), (Object(name), 1), (Object(url("train/b/2.jpg")), 2)]
        events = check(Program(loader_of(folder, batch_size=1, num_workers=1), epochs=1))
        ((told, _, last),) = errors(events)
        assert told == kind.__name__
        assert name in last
    for root, kind in (("s3://nowhere/train", FileNotFoundError), (url("none"), FileNotFoundError)):
        with pytest.raises(kind, match=root):
            ImageFolder(root)
    with pytest.raises(OSError, match="no list"):
        ImageFolder(server.url)
    with pytest.raises(FileNotFoundError, match="NoSuchKey"):
        TarImages(url("shards/none.tar"))
    with pytest.raises(ValueError, match="no index"):
        ImageFolder(url("train"), index=True)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "another")
    with pytest.raises(PermissionError, match="InvalidAccessKeyId"):
        ImageFolder(url("train"))


def test_credentials_stay_where_they_are(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ImageFolder(url("train"), TRANSFORM)
    loader: Any = goloader.DataLoader(folder, 4, num_workers=1)
    list(loader)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "another")
    with pytest.raises(PermissionError) as error:
        folder[0]
    texts = [pickle.dumps(folder), repr(folder), str(loader.explain()), str(error.value), repr(loader)]
    assert not any(SECRET in str(text) or KEY in str(text) for text in texts)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(ValueError, match="only one"):
        folder[0]
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    folder[0]  # nobody in particular may read this bucket
    with pytest.raises(PermissionError, match="names no credentials"):
        Object(url("denied/a.jpg")).read()


def test_what_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, server: Server) -> None:
    config, credentials = tmp_path / "config", tmp_path / "credentials"
    config.write_text("[default]\nregion = here\n[profile work]\nregion = there\nendpoint_url = http://work\n")
    credentials.write_text("[work]\naws_access_key_id = k\naws_secret_access_key = s\naws_session_token = t\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(credentials))

    def found() -> tuple[str, ...]:
        return tuple(stores.settings(stores.known())["s3://"].values())

    assert found()[:5] == (server.url, "here", KEY, SECRET, "")
    monkeypatch.setenv("AWS_PROFILE", "work")
    assert found()[:5] == (server.url, "there", KEY, SECRET, "")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    assert found()[:5] == (server.url, "there", "k", "s", "t")
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    monkeypatch.setenv("AWS_REGION", "elsewhere")
    assert found()[:5] == ("http://work", "elsewhere", "k", "s", "t")
    credentials.write_text("")
    assert found()[2:5] == ("", "", "")


@pytest.mark.slow
def test_many_objects_under_faults(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """1% of the requests are reset, 1% stall, 1% are refused for a moment: nothing is lost, and nothing twice."""
    monkeypatch.delenv("GOLOADER_HEDGING")
    count = int(os.environ.get("GOLOADER_TEST_OBJECTS", "2000"))
    chosen = random.Random(0)
    pixels = np.random.default_rng(0)
    for number in range(count):
        path = tmp_path / "many" / str(number % 7) / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        size = (chosen.randrange(8, 20), chosen.randrange(8, 20), 3)
        Image.fromarray(pixels.integers(0, 256, size, np.uint8)).save(path)
    server.put_folder(tmp_path / "many", "many")
    transform = T.Compose([T.RandomCrop(8), T.ToTensor()])
    server.faults, server.stall = 0.01, 10
    arguments = {"batch_size": max(64, count // 400), "shuffle": True, "num_workers": 2}
    remote = loader_of(ImageFolder(url("many"), transform), **arguments)
    assert goloader.DataLoader(**remote()).explain().native
    copy = loader_of(ImageFolder(tmp_path / "many", transform), **arguments)
    compare(run(goloader.DataLoader, Program(remote, epochs=1)), run(data.DataLoader, Program(copy, epochs=1)))
    assert server.spoilt > count // 70
