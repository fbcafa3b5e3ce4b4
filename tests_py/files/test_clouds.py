"""Folders and archives of Google's and of Azure's storage are those of a local copy; real emulators serve them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import azure.storage.blob as azure_blob
import buckets
import numpy as np
import pytest
import torchvision.transforms as T
from PIL import Image
from test_remote import same_batches
from test_shards import samples, write
from torchvision import datasets

import goloader
from goloader.datasets import ImageFolder, TarImages
from goloader.storage import remote, stores

pytestmark = pytest.mark.slow  # the servers are built, or installed, first

TRANSFORM = T.Compose([T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.ToTensor()])
_GOOGLE = "github.com/fsouza/fake-gcs-server@v1.56.1"
_AZURE = "azurite@3.37.0"
_ACCOUNT = stores._DEVELOPMENT
_VARIABLES = [
    name for scheme in ("gs://", "az://") for names in stores.STORES[scheme].settings.values() for name in names
]


class Cloud(NamedTuple):
    """scheme       and bucket, as URLs begin
    environment  that leads there
    at           the server
    """

    scheme: str
    environment: dict[str, str]
    at: str

    def put(self, key: str, content: bytes) -> None:
        if self.scheme.startswith("az"):
            _container().upload_blob(key, content, overwrite=True)
        else:
            url = f"{self.at}/upload/storage/v1/b/bucket/o?uploadType=media&name={quote(key, safe='')}"
            urllib.request.urlopen(urllib.request.Request(url, data=content, method="POST")).close()


def _connection(port: int) -> str:
    return ";".join(
        f"{name}={value}"
        for name, value in {**_ACCOUNT, "BlobEndpoint": f"http://127.0.0.1:{port}/{_ACCOUNT['AccountName']}"}.items()
    )


_azure_port = 0


def _container() -> Any:
    service = azure_blob.BlobServiceClient.from_connection_string(_connection(_azure_port))
    return service.get_container_client("bucket")


def _google(folder: Path) -> list[str]:
    program = folder / "fake-gcs-server"
    if not program.exists():
        with tempfile.TemporaryDirectory(dir=folder) as made:  # another process may build it, too
            environment = {**os.environ, "GOBIN": made, "CGO_ENABLED": "0", "GOFLAGS": ""}
            subprocess.run(["go", "install", _GOOGLE], env=environment, cwd=folder, check=True, capture_output=True)
            os.replace(Path(made, program.name), program)
    return [str(program), *["-scheme", "http", "-backend", "memory", "-host", "127.0.0.1", "-log-level", "error"]]


def _azurite(folder: Path) -> list[str]:
    if shutil.which("npm") is None:
        pytest.skip("no npm here")
    program = folder / "azurite" / "node_modules" / ".bin" / "azurite-blob"
    if not program.exists():
        with tempfile.TemporaryDirectory(dir=folder) as made:
            command = ["npm", "install", "--prefix", made, "--no-audit", "--no-fund", "--silent", _AZURE]
            subprocess.run(command, check=True, capture_output=True)
            shutil.rmtree(folder / "azurite", ignore_errors=True)
            os.replace(Path(made), folder / "azurite")
            os.mkdir(made)
    return [str(program), *["--inMemoryPersistence", "--silent", "--skipApiVersionCheck", "--disableTelemetry"]]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("images")
    pixels = np.random.default_rng(0)
    names = ["b/2.jpg", "b/deep/er/1.jpg", "a b+c/é #1?%41.jpeg", "c/x&y=1.jpg"] + [
        f"c/more/{n:02}.jpg" for n in range(8)
    ]
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.integers(0, 256, (40, 30, 3), np.uint8)).save(folder / name)
    (folder / "b" / "note.txt").write_text("no image")
    return folder


@pytest.fixture(scope="module", params=["gs", "az"])
def serving(request: pytest.FixtureRequest, local: Path) -> Iterator[Cloud]:
    global _azure_port
    folder, port = request.config.cache.mkdir("servers"), buckets.free_port()
    if request.param == "gs":
        command = [*_google(folder), "-port", str(port), "-public-host", f"127.0.0.1:{port}"]
        cloud = Cloud("gs://bucket", {"STORAGE_EMULATOR_HOST": f"127.0.0.1:{port}"}, f"http://127.0.0.1:{port}")
    else:
        command = [*_azurite(folder), "--blobPort", str(port)]
        cloud = Cloud("az://bucket", {"AZURE_STORAGE_CONNECTION_STRING": _connection(port)}, f"http://127.0.0.1:{port}")
        _azure_port = port
    with buckets.running(command, port):
        if request.param == "gs":
            made = json.dumps({"name": "bucket"}).encode()
            urllib.request.urlopen(urllib.request.Request(f"{cloud.at}/storage/v1/b", data=made)).close()
        else:
            _container().create_container()
        for path in sorted(local.rglob("*")):
            if path.is_file():
                cloud.put(f"train/{path.relative_to(local)}", path.read_bytes())
        yield cloud


@pytest.fixture
def cloud(serving: Cloud, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cloud:
    for name in _VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in serving.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return serving


@pytest.mark.parametrize("workers", [0, 2])
def test_folders_are_those_of_the_copy(cloud: Cloud, local: Path, workers: int) -> None:
    ours, theirs = ImageFolder(f"{cloud.scheme}/train"), datasets.ImageFolder(local)
    assert (ours.classes, ours.class_to_idx) == (theirs.classes, theirs.class_to_idx)
    root = f"{cloud.scheme}/train"
    assert [(f"{local}{path.removeprefix(root)}", label) for path, label in ours.samples] == theirs.samples
    remote = ImageFolder(root, TRANSFORM)
    same_batches(remote, ImageFolder(local, TRANSFORM), num_workers=workers, shuffle=True, batch_size=4)


def test_archives_are_those_of_the_copy(cloud: Cloud, tmp_path: Path) -> None:
    archive = tmp_path / "photos.tar"
    write(archive, samples(12))
    cloud.put("shards/photos.tar", archive.read_bytes())
    ours, theirs = (TarImages(f"{root}/photos.tar", TRANSFORM) for root in (f"{cloud.scheme}/shards", tmp_path))
    same_batches(ours, theirs, num_workers=1, shuffle=True, batch_size=5)
    write(archive, samples(13))
    cloud.put("shards/photos.tar", archive.read_bytes())
    with pytest.raises(OSError, match="it is not the version that was listed"):
        list(goloader.DataLoader(ours, 4))


def test_what_was_read_is_kept(cloud: Cloud, tmp_path: Path, local: Path) -> None:
    remote = ImageFolder(f"{cloud.scheme}/train", TRANSFORM, cache=str(tmp_path / "kept"))
    loader: Any = goloader.DataLoader(remote, 4, num_workers=1)
    for _ in range(2):
        list(loader)
    assert loader.stats().cache["disk_hits"] == len(remote)


def test_what_is_not_there_is_named(cloud: Cloud) -> None:
    with pytest.raises(FileNotFoundError, match=f"{cloud.scheme}/train/none.jpg"):
        remote.fetch(f"{cloud.scheme}/train/none.jpg")
    with pytest.raises(FileNotFoundError, match="another"):
        ImageFolder(cloud.scheme.replace("bucket", "another"))
    with pytest.raises(OSError, match=f"want {cloud.scheme[:5]}"):
        remote.fetch(cloud.scheme)


@pytest.mark.parametrize("serving", ["az"], indirect=True)
def test_who_asks_azure(cloud: Cloud, local: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_CONNECTION_STRING")
    name = f"{cloud.scheme}/train/c/x&y=1.jpg"
    want = (local / "c" / "x&y=1.jpg").read_bytes()
    with pytest.raises(OSError, match="Set AZURE_STORAGE_ACCOUNT_NAME"):
        remote.fetch(name)
    endpoint = f"BlobEndpoint={cloud.at}/{_ACCOUNT['AccountName']}"
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", endpoint)
    with pytest.raises(PermissionError, match="the environment names no credentials"):
        remote.fetch(name)
    signature = azure_blob.generate_container_sas(
        _ACCOUNT["AccountName"], "bucket", account_key=_ACCOUNT["AccountKey"],
        permission=azure_blob.ContainerSasPermissions(read=True, list=True),
        expiry=datetime.now(timezone.utc) + timedelta(hours=1),
    )  # fmt: skip
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", f"{endpoint};SharedAccessSignature={signature}")
    assert remote.fetch(name) == want
    assert remote.folders(f"{cloud.scheme}/train") == ["a b+c", "b", "c"]
    wrong = signature.replace("sig=", "sig=x")
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", f"{endpoint};SharedAccessSignature={wrong}")
    with pytest.raises(PermissionError) as caught:
        remote.fetch(name)
    assert wrong not in str(caught.value)
    key = f"{endpoint};AccountName={_ACCOUNT['AccountName']};AccountKey=!"
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", key)
    with pytest.raises(OSError, match="key is not base64"):
        remote.fetch(name)


def test_what_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in _VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))

    def said(scheme: str) -> dict[str, str]:
        return {name: value for name, value in stores.settings(stores.known())[scheme].items() if value}

    assert said("gs://") == said("az://") == {}
    (tmp_path / "application_default_credentials.json").write_text("{}")
    assert said("gs://") == {"credentials": "{}"}
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none"))
    with pytest.raises(ValueError, match="names a file that is not there"):
        said("gs://")
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "localhost:4443")
    assert said("gs://") == {"endpoint": "http://localhost:4443"}
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", "mine")
    monkeypatch.setenv("AZURE_STORAGE_KEY", "a2V5")
    assert said("az://") == {"account": "mine", "key": "a2V5"}
    monkeypatch.setenv(
        "AZURE_STORAGE_CONNECTION_STRING", "AccountName=other;AccountKey=a==;EndpointSuffix=chinacloudapi.cn"
    )
    assert said("az://") == {
        "account": "other", "key": "a==", "endpoint": "https://other.blob.chinacloudapi.cn",
    }  # fmt: skip
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", "UseDevelopmentStorage=true")
    assert said("az://")["endpoint"] == _ACCOUNT["BlobEndpoint"]
