"""Objects that a user's class fetches by boto3, s3fs, fsspec, smart_open, requests or urllib: Go fetches them as its
own client would, and whatever a client does beyond that is left to it."""

from __future__ import annotations

import ast
import datetime
import io
import os
import re
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import botocore.session
import buckets
import fsspec
import numpy as np
import pytest
import requests
import s3fs
import smart_open
import torchvision.transforms as T
from botocore import UNSIGNED
from botocore.config import Config
from botocore.credentials import RefreshableCredentials
from buckets import BUCKET, KEY, SECRET, Server
from PIL import Image
from torch.utils import data
from twins import Program, bits, check, errors, loader_of, run

import goloader

COUNT = 13
KEYS = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET, "region_name": "eu-west-1"}


@pytest.fixture(scope="module")
def serving(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder, pixels = tmp_path_factory.mktemp("images"), np.random.default_rng(0)
    for n in range(COUNT):
        content = pixels.integers(0, 256, (40, 30, 3), np.uint8)
        Image.fromarray(content).save(folder / f"é {n}.{'png' if n % 4 == 0 else 'jpg'}")
    with buckets.served(buckets.built(request.config.cache.mkdir("servers"))) as server:
        server.put_folder(folder, "train")
        server.put("train/broken.jpg", b"no image")
        yield server


@pytest.fixture
def server(serving: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Server]:
    """What the environment says is wrong: a client's own settings count."""
    for name in ("PROFILE", "SESSION_TOKEN", "REGION", "DEFAULT_REGION", "ENDPOINT_URL_S3"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    monkeypatch.delenv("NETRC", raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody-else")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("GOLOADER_HEDGING", "off")  # requests are counted
    serving.asked.clear()
    Photos.at = serving.url
    for name, value in (("AT", serving.url), ("KEY", KEY), ("SECRET", SECRET)):
        monkeypatch.setenv(f"PHOTOS_{name}", value)
    yield serving
    s3fs.S3FileSystem.clear_instance_cache()


def names(*more: str) -> list[str]:
    return [f"train/é {n}.{'png' if n % 4 == 0 else 'jpg'}" for n in range(COUNT)] + [f"train/{each}" for each in more]


class Photos(data.Dataset[Any]):
    """Photos of a bucket, each with a label. A subclass says how one is read."""

    at = ""

    def __init__(self, client: Any = None, keys: list[str] | None = None) -> None:
        self.client, self.bucket = client, BUCKET
        self.keys = names() if keys is None else keys
        self.labels = [n % 5 for n in range(len(self.keys))]
        self.transform = T.Compose([T.RandomCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, index: int) -> Any:
        return self.transform(self.read(self.keys[index])), self.labels[index]


class ByBoto3(Photos):
    def read(self, key: str) -> Any:
        body = self.client.get_object(Bucket=self.bucket, Key=key)["Body"].read()
        return Image.open(io.BytesIO(body)).convert("RGB")


class OfBody(Photos):
    def read(self, key: str) -> Any:
        answer = self.client.get_object(Bucket=self.bucket, Key=key)
        with Image.open(answer["Body"]) as image:
            return image.convert("RGB")


class Lazily(Photos):
    def read(self, key: str) -> Any:
        if self.client is None:
            self.client = boto3.client("s3", endpoint_url=self.at, aws_access_key_id=KEY, aws_secret_access_key=SECRET)
        return Image.open(io.BytesIO(self.client.get_object(Bucket=self.bucket, Key=key)["Body"].read())).convert("RGB")


class LazilyBySession(Photos):
    def read(self, key: str) -> Any:
        if self.client is None:
            session = boto3.session.Session(aws_access_key_id=KEY, aws_secret_access_key=SECRET)
            self.client = session.client("s3", endpoint_url=self.at)
        return Image.open(io.BytesIO(self.client.get_object(Bucket=self.bucket, Key=key)["Body"].read())).convert("RGB")


class WhereTheEnvironmentSays(Photos):
    def read(self, key: str) -> Any:
        if self.client is None:
            self.client = boto3.client(
                "s3", endpoint_url=os.environ["PHOTOS_AT"], aws_access_key_id=os.environ.get("PHOTOS_KEY", "nobody"),
                aws_secret_access_key=os.getenv("PHOTOS_SECRET"), region_name=os.environ.get("PHOTOS_IN", "eu-west-1"),
            )  # fmt: skip
        return Image.open(io.BytesIO(self.client.get_object(Bucket=self.bucket, Key=key)["Body"].read())).convert("RGB")


class ByResource(Photos):
    def read(self, key: str) -> Any:
        answer = self.client.Object(self.bucket, key).get()
        return Image.open(io.BytesIO(answer["Body"].read())).convert("RGB")


class ByNamesOfAResource(Photos):
    def read(self, key: str) -> Any:
        answer = self.client.Object(bucket_name=self.bucket, key=key).get()
        return Image.open(answer["Body"]).convert("RGB")


class ByBucketOfAResource(Photos):
    def read(self, key: str) -> Any:
        body = self.client.Bucket(self.bucket).Object(key).get()["Body"]
        return Image.open(io.BytesIO(body.read())).convert("RGB")


class ByBucket(Photos):
    def read(self, key: str) -> Any:
        return Image.open(io.BytesIO(self.client.Object(key).get()["Body"].read())).convert("RGB")


class LazilyByBucket(Photos):
    def read(self, key: str) -> Any:
        if self.client is None:
            made = boto3.resource("s3", endpoint_url=self.at, aws_access_key_id=KEY, aws_secret_access_key=SECRET)
            self.client = made.Bucket(self.bucket)
        return Image.open(io.BytesIO(self.client.Object(key).get()["Body"].read())).convert("RGB")


class ByS3fs(Photos):
    def read(self, key: str) -> Any:
        with self.client.open(f"s3://{self.bucket}/{key}", "rb") as file:
            return Image.open(file).convert("RGB")


class ReadByS3fs(Photos):
    def read(self, key: str) -> Any:
        with self.client.open(self.bucket + "/" + key) as file:
            content = file.read()
        return Image.open(io.BytesIO(content)).convert("RGB")


class Cat(Photos):
    def read(self, key: str) -> Any:
        return Image.open(io.BytesIO(self.client.cat_file(f"{self.bucket}/{key}"))).convert("RGB")


class LazilyByS3fs(Photos):
    def read(self, key: str) -> Any:
        if self.client is None:
            self.client = s3fs.S3FileSystem(key=KEY, secret=SECRET, client_kwargs={"endpoint_url": self.at})
        return Image.open(io.BytesIO(self.client.cat_file(f"{self.bucket}/{key}"))).convert("RGB")


class ByFsspec(Photos):
    def read(self, key: str) -> Any:
        with fsspec.open(f"s3://{self.bucket}/{key}", "rb", endpoint_url=self.at, key=KEY, secret=SECRET) as file:
            return Image.open(file).convert("RGB")


class PageByFsspec(Photos):
    def read(self, key: str) -> Any:
        with fsspec.open(f"{self.at}/{self.bucket}/{key}", "rb") as file:
            return Image.open(file).convert("RGB")


class BySmartOpen(Photos):
    def read(self, key: str) -> Any:
        with smart_open.open(f"s3://{self.bucket}/{key}", "rb", transport_params={"client": self.client}) as file:
            return Image.open(file).convert("RGB")


class ByRequests(Photos):
    def read(self, key: str) -> Any:
        return Image.open(io.BytesIO(requests.get(f"{self.at}/{self.bucket}/{key}", timeout=10).content)).convert("RGB")


class ByUrllib(Photos):
    def read(self, key: str) -> Any:
        with urllib.request.urlopen(f"{self.at}/{self.bucket}/{key}") as answer:
            return Image.open(io.BytesIO(answer.read())).convert("RGB")


def client(server: Server, **options: Any) -> Any:
    return boto3.client("s3", **({"endpoint_url": server.url} | KEYS | options))


def resource(server: Server, **options: Any) -> Any:
    return boto3.resource("s3", **({"endpoint_url": server.url} | KEYS | options))


def bucket(server: Server) -> Any:
    return resource(server).Bucket(BUCKET)


def file_system(server: Server, **options: Any) -> Any:
    return s3fs.S3FileSystem(endpoint_url=server.url, key=KEY, secret=SECRET, **options)


def nobody(server: Server) -> None:
    return None


SPELLINGS: list[tuple[type[Photos], Callable[[Server], Any]]] = [
    (ByBoto3, client), (OfBody, client), (Lazily, nobody), (ByS3fs, file_system), (ReadByS3fs, file_system),
    (Cat, file_system), (LazilyByS3fs, nobody), (ByFsspec, nobody), (BySmartOpen, client), (LazilyBySession, nobody),
    (WhereTheEnvironmentSays, nobody), (ByResource, resource), (ByNamesOfAResource, resource),
    (ByBucketOfAResource, resource), (ByBucket, bucket), (LazilyByBucket, nobody),
]  # fmt: skip
OF_THE_WEB: list[type[Photos]] = [ByRequests, ByUrllib, PageByFsspec]


UNKNOWN = "UnidentifiedImageError"


def same_errors(dataset: Photos, workers: int) -> list[str]:
    """The classes of an epoch's errors, which both loaders raise with the same words but for addresses."""
    assert goloader.DataLoader(dataset).explain().native

    def events(kind: Any) -> list[Any]:
        program = Program(loader_of(dataset, batch_size=1, num_workers=workers), epochs=1)
        return [(what, re.sub("0x[0-9a-f]+|pid [0-9]+", "", str(told))) for what, told in run(kind, program)]

    ours, theirs = map(events, (goloader.DataLoader, data.DataLoader))
    assert ours == theirs
    return [ast.literal_eval(told)[0] for what, told in ours if what == "error"]


def put_for_the_web(server: Server) -> list[str]:
    """Keys that need no escapes."""
    content = io.BytesIO()
    Image.fromarray(np.arange(2700, dtype=np.uint8).reshape(30, 30, 3)).save(content, "PNG")
    keys = [f"web/{n}.png" for n in range(4)]
    for key in keys:
        server.put(key, content.getvalue())
    return keys


@pytest.mark.parametrize(("kind", "client_of"), SPELLINGS, ids=[kind.__name__ for kind, _ in SPELLINGS])
def test_batches_are_those_of_the_code(server: Server, kind: type[Photos], client_of: Any) -> None:
    made = client_of(server)

    def dataset() -> Photos:
        return kind(made)

    check(Program(loader_of(dataset, batch_size=4, shuffle=True)))


def test_workers_have_the_same(server: Server) -> None:
    check(Program(loader_of(ByBoto3(client(server)), batch_size=4, shuffle=True, num_workers=2)))
    check(Program(loader_of(lambda: Lazily(), batch_size=4, shuffle=True, num_workers=2)))


@pytest.mark.parametrize("kind", OF_THE_WEB)
def test_pages_are_those_of_the_code(
    server: Server, kind: type[Photos], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # without a .netrc
    keys = put_for_the_web(server)
    check(Program(loader_of(kind(None, keys), batch_size=2)))
    error = {ByUrllib: "HTTPError", PageByFsspec: "FileNotFoundError"}.get(kind, UNKNOWN)
    assert same_errors(kind(None, [*keys, "web/none.png"]), 0) == [error]
    (tmp_path / ".netrc").write_text("")
    assert goloader.DataLoader(kind(None, keys), 2).explain().native == (kind is not ByRequests)


@pytest.mark.usefixtures("untried")
def test_go_asks_once_for_each_object(server: Server) -> None:
    loader: Any = goloader.DataLoader(ByBoto3(client(server)), 4)
    assert loader.explain().native
    assert "as its own client would" in str(loader.explain())
    server.asked.clear()
    list(loader)
    assert loader.stats().requests == sum("/train/" in path for path in server.asked) == COUNT  # others may be late


@pytest.mark.parametrize("kind", [ByBoto3, BySmartOpen])
def test_errors_are_those_of_the_code(server: Server, kind: type[Photos]) -> None:
    """Of an object that is not there, may not be read, or is no image."""
    dataset = kind(client(server), [*names()[:3], "none.jpg", "denied/one.jpg", "train/broken.jpg"])
    missing = ["OSError"] * 2 if kind is BySmartOpen else ["NoSuchKey", "AccessDenied"]
    assert same_errors(dataset, 0) == [*missing, UNKNOWN]


class Alone(Photos):
    def read(self, key: str) -> Any:
        with smart_open.open(f"s3://{self.bucket}/{key}", "rb") as file:
            return Image.open(file).convert("RGB")


def test_errors_in_workers_are_those_of_the_code(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a class whose workers can send them, and whose connections nobody inherits: boto3's own are not such."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    dataset = Alone(None, [*names()[:3], "none.jpg", "train/broken.jpg"])
    assert same_errors(dataset, 2) == ["OSError", UNKNOWN]


def test_errors_of_s3fs_are_those_of_the_code(server: Server) -> None:
    dataset = ByS3fs(file_system(server), [*names()[:3], "none.jpg", "denied/one.jpg", "train/broken.jpg"])
    assert same_errors(dataset, 0) == ["FileNotFoundError", "PermissionError", UNKNOWN]


def test_a_client_with_wrong_keys_is_refused_as_ever(server: Server) -> None:
    dataset = ByBoto3(client(server, aws_access_key_id="wrong"))
    events = check(Program(loader_of(dataset, batch_size=5), epochs=1))
    assert len(errors(events)) == 3
    nobody = ByBoto3(client(server, config=Config(signature_version=UNSIGNED)))
    check(Program(loader_of(nobody, batch_size=5), epochs=1))


@pytest.mark.usefixtures("untried")
def test_credentials_may_be_renewed(server: Server) -> None:
    """Go asks with those that the client has now."""
    late = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=5)

    def keys(key: str) -> dict[str, str]:
        return {"access_key": key, "secret_key": SECRET, "token": "", "expiry_time": late.isoformat()}

    session = botocore.session.Session()
    renewed = RefreshableCredentials.create_from_metadata(keys("old"), lambda: keys(KEY), "ours")
    session._credentials = renewed
    made = session.create_client("s3", endpoint_url=server.url, region_name="eu-west-1")
    loader: Any = goloader.DataLoader(ByBoto3(made), 4)
    assert loader.explain().native
    renewed._expiry_time = datetime.datetime.now(datetime.timezone.utc)
    server.asked.clear()
    assert len(list(loader)) == 4
    assert loader.stats().requests == len(server.asked) == COUNT  # none was refused


def hooked(server: Server) -> Any:
    made = client(server)
    made.meta.events.register("before-send.s3", lambda **_: None)
    return made


def replaced(server: Server) -> Any:
    made = client(server)
    made.get_object = lambda **_: {"Body": io.BytesIO()}
    return made


def hooked_resource(server: Server) -> Any:
    made = resource(server)
    made.meta.client.meta.events.register("before-send.s3", lambda **_: None)
    return made


def replaced_in(made: Any) -> Any:
    made.Object = lambda *_: None
    return made


@pytest.mark.parametrize(
    ("kind", "client_of", "why"),
    [
        (ByBoto3, hooked, "a hook of its own, test_clients"),
        (ByBoto3, replaced, "get_object was replaced"),
        (ByResource, hooked_resource, "a hook of its own, test_clients"),
        (ByResource, lambda server: replaced_in(resource(server)), "Object was replaced"),
        (ByBucket, lambda server: replaced_in(bucket(server)), "Object was replaced"),
        (ByBoto3, lambda server: client(server, config=Config(signature_version="s3")), "signs by s3"),
        (ByBoto3, lambda server: client(server, config=Config(s3={"addressing_style": "virtual"})), "virtual"),
        (ByBoto3, lambda server: client(server, config=Config(proxies={"http": "127.0.0.1:9"})), "a proxy"),
        (ByS3fs, lambda server: file_system(server, requester_pays=True), "requester_pays=True"),
        (ByS3fs, lambda server: file_system(server, s3_additional_kwargs={"SSECustomerKey": "k"}), "SSECustomerKey"),
    ],
    ids=[
        "hook",
        "replaced",
        "resource's hook",
        "replaced in it",
        "in a bucket",
        "signer",
        "virtual",
        "proxy",
        "requester pays",
        "SSE-C",
    ],
)
def test_what_a_client_does_beyond_reading_is_left_to_it(
    server: Server, kind: type[Photos], client_of: Any, why: str
) -> None:
    explanation = goloader.DataLoader(kind(client_of(server))).explain()
    assert not explanation.native
    assert why in str(explanation)


class Paid(Photos):
    def read(self, key: str) -> Any:
        answer = self.client.get_object(Bucket=self.bucket, Key=key, RequestPayer="requester")
        return Image.open(io.BytesIO(answer["Body"].read())).convert("RGB")


class Typed(Photos):
    def read(self, key: str) -> Any:
        answer = self.client.get_object(Bucket=self.bucket, Key=key)
        if answer["ContentType"] == "image/gif":
            raise ValueError(key)
        return Image.open(io.BytesIO(answer["Body"].read())).convert("RGB")


class Again(Photos):
    """What was read is not there any more."""

    def read(self, key: str) -> Any:
        body = self.client.get_object(Bucket=self.bucket, Key=key)["Body"]
        first = Image.open(io.BytesIO(body.read())).convert("RGB")
        return first, Image.open(io.BytesIO(body.read())).convert("RGB")

    def __getitem__(self, index: int) -> Any:
        first, second = self.read(self.keys[index])
        return self.transform(first), self.transform(second)


class AgainOfAnswer(Again):
    def read(self, key: str) -> Any:
        answer = self.client.get_object(Bucket=self.bucket, Key=key)
        first = Image.open(io.BytesIO(answer["Body"].read())).convert("RGB")
        return first, Image.open(io.BytesIO(answer["Body"].read())).convert("RGB")


@pytest.mark.parametrize("kind", [Again, AgainOfAnswer])
def test_a_body_is_read_once(server: Server, kind: type[Photos]) -> None:
    dataset = kind(client(server), names()[:1])
    for loader in (goloader.DataLoader(dataset), data.DataLoader(dataset)):
        with pytest.raises(Exception, match="cannot identify image file"):
            next(iter(loader))


@pytest.mark.parametrize("kind", [Paid, Typed])
def test_code_that_asks_for_more_is_left_to_python(server: Server, kind: type[Photos]) -> None:
    check(Program(loader_of(kind(client(server)), batch_size=4), epochs=1), native=False)


def test_keys_that_libraries_take_for_more_are_left_to_python(server: Server) -> None:
    server.put("train/a*.jpg", b"")
    assert not goloader.DataLoader(ByS3fs(file_system(server), ["train/a*.jpg"])).explain().native
    assert goloader.DataLoader(ByBoto3(client(server), ["train/a*.jpg"])).explain().native


@pytest.mark.parametrize("kind", [Lazily, LazilyBySession, LazilyByBucket, LazilyByS3fs])
def test_an_error_that_has_the_code_make_its_client_leaves_the_rest_to_go(server: Server, kind: type[Photos]) -> None:
    dataset = kind(None, [*names()[:2], "train/broken.jpg", *names()[2:] * 4])
    loader: Any = goloader.DataLoader(dataset, 1)
    given, iterator = 0, iter(loader)
    while True:
        try:
            next(iterator)
        except StopIteration:
            break
        except Exception as error:
            assert type(error).__name__ == UNKNOWN
        else:
            given += 1
    assert dataset.client is not None
    assert given == loader.stats().samples == len(dataset) - 1
    seen: list[str] = []
    if kind is Lazily:  # it is what the code makes until it is changed
        dataset.client.meta.events.register("before-send.s3", lambda **_: seen.append("sent"))
        next(iter(loader))
        assert seen == ["sent"]


def test_a_client_that_changes_is_seen_to(server: Server) -> None:
    """A hook that comes between epochs or within one, and another client."""
    seen: list[str] = []

    def note(**_: Any) -> None:
        seen.append("sent")

    made = client(server)
    dataset = ByBoto3(made)
    loader: Any = goloader.DataLoader(dataset, 4)
    first = list(map(bits, loader))
    assert not seen
    made.meta.events.register("before-send.s3", note)
    assert len(list(loader)) == len(first)
    assert len(seen) == COUNT
    made.meta.events.unregister("before-send.s3", note)
    iterator = iter(loader)
    next(iterator)
    made.meta.events.register("before-send.s3", note)
    list(iterator)
    assert len(seen) > COUNT
    dataset.client = client(server, aws_access_key_id="wrong")
    with pytest.raises(Exception, match="InvalidAccessKeyId"):
        list(loader)
