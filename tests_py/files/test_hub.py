"""Folders and archives on the Hugging Face Hub are those of a local copy; a server of this file's plays the Hub."""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np
import pytest
import torchvision.transforms as T
from PIL import Image
from test_remote import same_batches
from test_shards import samples, write
from torchvision import datasets

import goloader
from goloader.datasets import ImageFolder, TarImages
from goloader.storage import remote

TRANSFORM = T.Compose([T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.ToTensor()])
REPOSITORY = "datasets/owner/name"
URL = f"hf://{REPOSITORY}@v1"
TOKEN = "hf_ours"


class Hub:
    """The files of a folder as a repository's, at its revision v1; large ones lie elsewhere, on another server.

    asked  the paths of all requests to the Hub itself
    """

    def __init__(self, root: Path) -> None:
        self.root, self.asked = root, list[str]()
        self._servers = [http.server.ThreadingHTTPServer((host, 0), self._handler()) for host in ("127.0.0.1", "")]
        for server in self._servers:
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        self.url, self._place = (
            f"http://{host}:{server.server_port}"
            for host, server in zip(("127.0.0.1", "localhost"), self._servers, strict=True)
        )

    def close(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def tree(self, folder: str, recursive: bool) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for path in sorted((self.root / folder).glob("**/*" if recursive else "*")):
            entry = {"path": str(path.relative_to(self.root)), "type": "directory", "oid": "of a folder"}
            if path.is_file():
                entry |= {"type": "file", "lfs": {"oid": hashlib.sha256(path.read_bytes()).hexdigest()}}
            found.append(entry)
        return found

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        hub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *arguments: object) -> None:
                pass

            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                path = unquote(parts.path)
                if path.startswith("/place/"):
                    self._give(hub.root / path.removeprefix("/place/"))
                    return
                hub.asked.append(path)
                resolve, tree = f"/{REPOSITORY}/resolve/v1/", f"/api/{REPOSITORY}/tree/v1/"
                if self.headers["Authorization"] != f"Bearer {TOKEN}":
                    self._answer(401, b"")
                elif path.startswith(tree):
                    recursive = parse_qs(parts.query)["recursive"] == ["true"]
                    self._answer(200, json.dumps(hub.tree(path.removeprefix(tree), recursive)).encode())
                elif path.startswith(resolve) and (hub.root / path.removeprefix(resolve)).is_file():
                    content = (hub.root / path.removeprefix(resolve)).read_bytes()
                    place = f"{hub._place}/place/{parts.path.removeprefix(resolve)}"
                    self._answer(
                        302, b"", Location=place, **{"X-Linked-Etag": f'"{hashlib.sha256(content).hexdigest()}"'}
                    )
                else:
                    self._answer(404, b"")

            def _give(self, path: Path) -> None:
                content = path.read_bytes()
                asked = self.headers.get("Range", "")
                if not asked:
                    self._answer(200, content)
                    return
                first, last = asked.removeprefix("bytes=").split("-")
                part = content[int(first) : int(last or len(content)) + 1]
                span = f"bytes {first}-{int(first) + len(part) - 1}/{len(content)}"
                self._answer(206, part, **{"Content-Range": span})

            def _answer(self, status: int, body: bytes, **headers: str) -> None:
                self.send_response(status)
                for name, value in ({"Content-Length": str(len(body))} | headers).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

        return Handler


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    root = tmp_path / "repository"
    pixels = np.random.default_rng(0)
    for number in range(24):
        path = root / "photos" / ("a", "b ü%")[number % 2] / f"{number:02}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.integers(0, 256, (40, 30, 3), np.uint8)).save(path)
    hub = Hub(root)
    for name in ("HF_TOKEN_PATH", "HUGGING_FACE_HUB_TOKEN", "HF_HOME", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    monkeypatch.setenv("GOLOADER_HEDGING", "off")  # requests are counted
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield hub
    hub.close()


def test_a_repositorys_folder_is_its_copy(hub: Hub) -> None:
    theirs = datasets.ImageFolder(hub.root / "photos")
    ours = ImageFolder(f"{URL}/photos")
    assert (ours.classes, ours.class_to_idx) == (theirs.classes, theirs.class_to_idx)
    assert [str(path) for path, _ in ours.samples] == [
        f"{URL}{path[len(str(hub.root)) :]}" for path, _ in theirs.samples
    ]
    theirs.transform = TRANSFORM
    same_batches(ImageFolder(f"{URL}/photos", TRANSFORM), theirs, batch_size=5, shuffle=True, num_workers=2)


def test_a_repositorys_archives_are_read_where_they_lie(hub: Hub) -> None:
    for number in range(2):
        write(hub.root / f"shard-{number}.tar", samples(12, seed=number))
    theirs = TarImages(str(hub.root / "shard-{0..1}.tar"), TRANSFORM)
    ours = TarImages(f"{URL}/shard-{{0..1}}.tar", TRANSFORM)
    hub.asked.clear()
    same_batches(ours, theirs, batch_size=5, shuffle=True, num_workers=2)
    assert len(hub.asked) < len(ours)  # its places are asked for once in each process


def test_what_was_read_is_kept(hub: Hub, tmp_path: Path) -> None:
    dataset = ImageFolder(f"{URL}/photos", T.ToTensor(), cache=str(tmp_path / "kept"))
    loader = goloader.DataLoader(dataset, batch_size=8, num_workers=2)
    for _ in range(2):
        first = len(list(loader))
        asked = len(hub.asked)
    assert first == 3 and len(hub.asked) == asked
    kept = ImageFolder(f"{URL}/photos", T.ToTensor(), cache=str(tmp_path / "kept"))
    hub.asked.clear()
    assert len(list(goloader.DataLoader(kept, batch_size=8))) == 3
    assert not hub.asked  # its list came before


def test_a_token_is_of_the_environment_or_of_a_file(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"{URL}/photos/a/00.jpg"
    want = (hub.root / "photos" / "a" / "00.jpg").read_bytes()
    assert remote.fetch(name) == want
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(PermissionError, match="the environment names no credentials"):
        remote.fetch(name)
    for variable, file in (("HF_TOKEN_PATH", "mine"), ("HF_HOME", "home/token")):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(f"{TOKEN}\n")
        monkeypatch.setenv(variable, str(tmp_path / (file if variable == "HF_TOKEN_PATH" else "home")))
        assert remote.fetch(name) == want
        monkeypatch.delenv(variable)
    monkeypatch.setenv("HF_TOKEN", "another's")
    with pytest.raises(PermissionError):
        remote.fetch(name)


def test_what_is_not_there_is_named(hub: Hub) -> None:
    with pytest.raises(FileNotFoundError, match=f"{URL}/none.jpg"):
        remote.fetch(f"{URL}/none.jpg")
    with pytest.raises(OSError, match="want hf://datasets/owner/name/path"):
        remote.fetch("hf://datasets/owner")
