"""A server of one archive of images, in ranges, that waits before it sends some."""

from __future__ import annotations

import http.server
import io
import re
import tarfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def packed(images: Iterable[Path]) -> bytes:
    """An archive of these files, each with the label 3."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for path in images:
            archive.add(path, path.name)
            label = tarfile.TarInfo(f"{path.stem}.cls")
            label.size = 1
            archive.addfile(label, io.BytesIO(b"3"))
    return made.getvalue()


@contextmanager
def serving(content: bytes, wait: Callable[[int], object]) -> Iterator[str]:
    """The archive's URL. `wait` is called with the first byte that a request asks for, before it is answered.

    Nothing may be waiting at the end.
    """

    class Ranges(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *arguments: object) -> None:
            pass

        def do_GET(self) -> None:
            found = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "bytes=0-"))
            assert found is not None
            begin, whole = int(found[1]), len(content)
            part = content[begin : int(found[2] or whole) + 1]
            wait(begin)
            self.send_response(206)
            self.send_header("ETag", '"one"')
            self.send_header("Content-Range", f"bytes {begin}-{begin + len(part) - 1}/{whole}")
            self.send_header("Content-Length", str(len(part)))
            self.end_headers()
            with suppress(BrokenPipeError):
                self.wfile.write(part)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ranges)
    server.daemon_threads = True
    serves = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    serves.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/photos.tar"
    finally:
        server.shutdown()
        serves.join()
        server.server_close()
