"""s3torchconnector's S3MapDataset: Go fetches its objects as its client would, and batches are torch's."""

from __future__ import annotations

import io
import re
from collections import namedtuple
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import buckets
import numpy as np
import pytest
import torchvision.transforms as T
from buckets import BUCKET, KEY, SECRET, Server
from PIL import Image
from torch.utils import data
from twins import Program, check, errors, loader_of, run

import goloader
from goloader.datasets import ImageFolder
from goloader.doors.index import later

connector = pytest.importorskip("s3torchconnector")

COUNT = 13
CLASSES = {"cat": 0, "dog": 1}
TRANSFORM = T.Compose([T.RandomCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])


@pytest.fixture(scope="module")
def serving(request: pytest.FixtureRequest) -> Iterator[Server]:
    pixels = np.random.default_rng(0)
    with buckets.served(buckets.built(request.config.cache.mkdir("servers"))) as server:
        for n in range(COUNT):
            content, kind = io.BytesIO(), ("PNG" if n % 4 == 0 else "JPEG")
            Image.fromarray(pixels.integers(0, 256, (40, 30, 3), np.uint8)).save(content, kind)
            server.put(f"train/{'dog' if n % 3 else 'cat'}/{n}.{kind.lower()}", content.getvalue())
        server.put("broken/dog/0.png", b"no image")
        yield server


@pytest.fixture
def server(serving: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Server:
    for name in ("PROFILE", "SESSION_TOKEN", "REGION", "DEFAULT_REGION", "ENDPOINT_URL_S3"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")  # a dataset's own counts
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("GOLOADER_HEDGING", "off")  # requests are counted
    serving.asked.clear()
    return serving


def opened(file: Any) -> Any:
    return TRANSFORM(Image.open(file).convert("RGB"))


def labelled(file: Any) -> Any:
    return TRANSFORM(Image.open(file).convert("RGB")), CLASSES[file.key.split("/")[-2]]


def of_bytes(file: Any) -> Any:
    image = Image.open(io.BytesIO(file.read())).convert("RGB")
    return {"image": TRANSFORM(image), "label": CLASSES[file.key.rsplit("/", 2)[1]], "bucket": file.bucket}


class Loads:
    """An object that is called."""

    def __init__(self, transform: Any) -> None:
        self.transform = transform

    def __call__(self, file: Any) -> Any:
        with Image.open(file) as image:
            return self.transform(image.convert("RGB")), "dog" in file.key


def by(server: Server, transform: Any, prefix: str = "train/", **options: Any) -> Any:
    where = {"region": "eu-west-1", "endpoint": server.url} | options
    return connector.S3MapDataset.from_prefix(f"s3://{BUCKET}/{prefix}", transform=transform, **where)


def of_objects(server: Server, keys: list[str], transform: Any = labelled) -> Any:
    names = [f"s3://{BUCKET}/{key}" for key in keys]
    where = {"region": "eu-west-1", "endpoint": server.url}
    return connector.S3MapDataset.from_objects(names, transform=transform, **where)


KINDS = [opened, labelled, of_bytes, Loads(TRANSFORM), lambda file: (opened(file), file.key)]


@pytest.mark.parametrize("transform", KINDS, ids=["opened", "labelled", "of_bytes", "called", "lambda"])
def test_batches_are_those_of_the_library(server: Server, transform: Any) -> None:
    check(Program(loader_of(by(server, transform), batch_size=4, shuffle=True)))


@pytest.mark.parametrize("workers", [1, 3])
def test_workers_have_the_same(server: Server, workers: int) -> None:
    keys = [f"train/{'dog' if n % 3 else 'cat'}/{n}.{'jpeg' if n % 4 else 'png'}" for n in range(COUNT)]
    made = loader_of(lambda: of_objects(server, keys), batch_size=4, shuffle=True, num_workers=workers)
    check(Program(made))


def test_readers_in_ranges_have_the_same(server: Server) -> None:
    ranged = connector.S3ReaderConstructor.range_based(buffer_size=1024)
    check(Program(loader_of(by(server, labelled, reader_constructor=ranged), batch_size=4), epochs=1))


@pytest.mark.usefixtures("untried")
def test_go_asks_once_for_each_object(server: Server) -> None:
    loader: Any = goloader.DataLoader(by(server, labelled), 4)
    assert loader.explain().native
    server.asked.clear()
    list(loader)
    assert loader.stats().requests == len(server.asked) == COUNT


def test_errors_are_those_of_the_library(server: Server) -> None:
    keys = ["train/cat/0.png", "none/dog/1.png", "denied/dog/1.png", "broken/dog/0.png"]
    dataset = of_objects(server, keys)
    assert goloader.DataLoader(dataset).explain().native
    ours, theirs = (
        [re.sub("0x[0-9a-f]+", "", str(told)) for told in errors(run(kind, Program(loader_of(dataset, batch_size=1))))]
        for kind in (goloader.DataLoader, data.DataLoader)
    )
    assert ours == theirs
    assert [told.split("'")[1] for told in ours] == ["S3Exception", "S3Exception", "UnidentifiedImageError"] * 2


def test_a_bucket_that_is_not_there_is_an_error_of_the_library(server: Server) -> None:
    dataset = connector.S3MapDataset.from_prefix("s3://nobodys/", region="eu-west-1", endpoint=server.url)
    assert "has no length" in str(goloader.DataLoader(dataset).explain())
    with pytest.raises(Exception, match="does not exist"):
        list(goloader.DataLoader(dataset))


def test_a_profile_says_who_asks(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """It counts, and not what the environment says."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody-else")
    (tmp_path / "credentials").write_text(f"[ours]\naws_access_key_id={KEY}\naws_secret_access_key={SECRET}\n")
    dataset = by(server, labelled, s3client_config=connector.S3ClientConfig(profile="ours"))
    check(Program(loader_of(dataset, batch_size=4), epochs=1))
    nobody = by(server, labelled, s3client_config=connector.S3ClientConfig(unsigned=True))
    check(Program(loader_of(nobody, batch_size=4), epochs=1))


class Replaced(connector.S3MapDataset):  # type: ignore[misc]
    def _get_object(self, i: int) -> Any:
        return open("/dev/null", "rb")


def twice(file: Any) -> Any:
    return opened(file), opened(file)


def seeking(file: Any) -> Any:
    file.seek(0)
    return opened(file)


def identity_of(file: Any) -> Any:
    return file


def after_reading(file: Any) -> Any:
    begin = file.read()
    return len(begin), opened(file)


def test_what_is_not_known_is_left_to_the_library(server: Server) -> None:
    where = {"region": "eu-west-1", "endpoint": server.url.replace("127.0.0.1", "localhost")}
    keys = [f"s3://{BUCKET}/train/cat/0.png"]
    custom = partial(connector.s3reader.SequentialS3Reader, size=4)
    for dataset, why in (
        (connector.S3MapDataset.from_objects(keys, transform=labelled, **where), "without force_path_style"),
        (Replaced.from_objects(keys, transform=labelled, **where), "goloader does not know"),
        (by(server, labelled, reader_constructor=custom), "reads objects by"),
        (by(server, identity_of), "goloader does not know"),
    ):
        explanation = goloader.DataLoader(dataset).explain()
        assert not explanation.native
        assert why in str(explanation)


@pytest.mark.parametrize("transform", [seeking, after_reading, twice])
def test_files_that_are_read_in_other_ways_are_those_of_the_library(server: Server, transform: Any) -> None:
    dataset = by(server, transform)
    native = goloader.DataLoader(dataset, 4).explain().native
    check(Program(loader_of(dataset, batch_size=4), epochs=1), native=native)


def test_go_makes_the_first_batch_of_files_in_a_store(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(later, "sandbox", SimpleNamespace(WAITS=False))
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    of_ours = ImageFolder(f"s3://{BUCKET}/train", TRANSFORM)
    for dataset in (by(server, labelled), of_ours, data.Subset(of_ours, range(3))):
        loader: Any = goloader.DataLoader(dataset, 3)
        next(iter(loader))
        assert loader.stats().batches == 1


Sample = namedtuple("Sample", ["key", "label"])


class Named(data.Dataset[Any]):
    """Paths in records, as s3torchconnector keeps them."""

    def __init__(self, folder: Any) -> None:
        self.samples = [Sample(str(folder / f"{n}.png"), n % 3) for n in range(5)]

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> Any:
        sample = self.samples[index]
        return TRANSFORM(Image.open(sample.key).convert("RGB")), sample.label


def test_fields_of_records_are_those_of_the_code(tmp_path: Any) -> None:
    for n in range(5):
        Image.fromarray(np.full((20, 20, 3), 40 * n, np.uint8)).save(tmp_path / f"{n}.png")
    dataset = Named(tmp_path)
    check(Program(loader_of(dataset, batch_size=2, shuffle=True)))

    def change(epoch: int, loader: Any) -> None:
        loader.dataset.samples[1] = Sample(str(tmp_path / "4.png"), epoch)

    check(Program(loader_of(lambda: Named(tmp_path), batch_size=2), epochs=3, before=change))
