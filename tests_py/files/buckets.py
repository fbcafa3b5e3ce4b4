"""A real server that speaks S3, with buckets in its memory, and one in front of it that can fail."""

from __future__ import annotations

import http.client
import http.server
import os
import random
import socket
import struct
import subprocess
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

# Built by the go command as it stands, in seconds, so that what it needs is not needed here.
_SERVER = "github.com/johannesboyne/gofakes3/cmd/gofakes3@v1.2.0"
BUCKET = "bucket"
# What a request's signature must name, where it has one.
KEY, SECRET = "our-key", "our-secret-text"

_KEPT = ("etag", "last-modified", "content-range")
_DENIED = b"<Error><Code>%s</Code><Message>Nobody may.</Message></Error>"


def built(folder: Path) -> Path:
    """The server's program, built once for a folder."""
    program = folder / "gofakes3"
    if not program.exists():
        with tempfile.TemporaryDirectory(dir=folder) as made:  # another process may build it, too
            environment = {**os.environ, "GOBIN": made, "CGO_ENABLED": "0", "GOFLAGS": ""}
            subprocess.run(["go", "install", _SERVER], env=environment, cwd=folder, check=True, capture_output=True)
            os.replace(Path(made, program.name), program)
    return program


class Server:
    """Both servers, at `url`.

    faults  share of the requests that are reset, that stall, and that are refused with 503; those reset or stalled
            have no answer, or half of one
    stall   seconds
    asked   paths of all requests
    spoilt  how many were
    """

    def __init__(self, behind: int) -> None:
        self.behind, self.faults, self.stall, self.asked = behind, 0.0, 3.0, list[str]()
        self.spoilt = 0
        self.chosen = random.Random(0)
        outer = self

        class Front(_Front):
            server_of = outer

        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Front)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def put(self, key: str, content: bytes) -> None:
        url = f"http://127.0.0.1:{self.behind}/{BUCKET}/{quote(key)}"
        urllib.request.urlopen(urllib.request.Request(url, data=content, method="PUT")).close()

    def put_folder(self, root: Path, prefix: str) -> None:
        for path in sorted(root.rglob("*")):
            if path.is_file():
                self.put(f"{prefix}/{path.relative_to(root)}", path.read_bytes())


class _Front(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_of: Server

    def log_message(self, format: str, *arguments: object) -> None:
        pass

    def do_GET(self) -> None:
        server = self.server_of
        server.asked.append(self.path)
        fault, half = server.chosen.random(), server.chosen.random() < 0.5
        server.spoilt += fault < 3 * server.faults
        if fault < 2 * server.faults:
            if half:
                self._answer(*self._asked_behind(), share=0.5)
            if fault < server.faults:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
            else:
                time.sleep(server.stall)
            self.close_connection = True
        elif fault < 3 * server.faults:
            self._answer(503, [("Retry-After", "0")], _DENIED % b"SlowDown")
        elif f"Credential={KEY}/" not in self.headers.get("Authorization", f"Credential={KEY}/"):
            self._answer(403, [], _DENIED % b"InvalidAccessKeyId")
        elif "/denied/" in self.path:
            self._answer(403, [], _DENIED % b"AccessDenied")
        else:
            self._answer(*self._asked_behind())

    def _asked_behind(self) -> tuple[int, list[tuple[str, str]], bytes, str | None]:
        behind = http.client.HTTPConnection("127.0.0.1", self.server_of.behind)
        behind.request(self.command, self.path, headers={k: v for k, v in self.headers.items() if k != "Host"})
        answer = behind.getresponse()
        kept = [(k, v) for k, v in answer.getheaders() if k.lower() in _KEPT]
        found = answer.status, kept, answer.read(), answer.getheader("Content-Length")
        behind.close()
        return found

    def do_HEAD(self) -> None:
        self.do_GET()

    def _answer(
        self, status: int, headers: list[tuple[str, str]], body: bytes, size: str | None = None, share: float = 1
    ) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        is_head = self.command == "HEAD"
        self.send_header("Content-Length", (size if is_head else None) or str(len(body)))
        self.end_headers()
        if not is_head:
            self.wfile.write(body[: int(share * len(body))])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def running(command: list[str], port: int) -> Iterator[None]:
    """Runs a server, from when it listens."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(1500):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.02)
        yield
    finally:
        process.kill()
        process.wait()


@contextmanager
def served(program: Path) -> Iterator[Server]:
    """Runs both servers."""
    port = free_port()
    arguments = ["-backend", "memory", "-initialbucket", BUCKET, "-host", f"127.0.0.1:{port}", "-quiet"]
    with running([str(program), *arguments], port):
        server = Server(port)
        try:
            yield server
        finally:
            server.close()
