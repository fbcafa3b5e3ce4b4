"""Whether a dataset's code opens images is seen from its calls, however it comes by them; it is not run to its end."""

from __future__ import annotations

import functools
import io
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image
from PIL.Image import open as open_image
from torchvision.io import decode_image, read_file

from goloader.doors import sandbox
from goloader.doors.recipe.opens import opens

PIXELS = np.arange(16 * 16 * 3, dtype=np.uint8).reshape(16, 16, 3)


def asked(run: Callable[[], Any]) -> bool:
    """As a trial asks: in a process of its own."""
    [found] = sandbox.run_apart(lambda: opens(run))
    return bool(found)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "image.png"
    Image.fromarray(PIXELS).save(path)
    return path


def in_a_try(file: Path) -> None:
    try:
        Image.open(file)
    except Exception:
        return


def in_a_thread(file: Path) -> None:
    thread = threading.Thread(target=Image.open, args=(file,))
    thread.start()
    thread.join()


OPENING: dict[str, Callable[[Path], Any]] = {
    "Image.open": lambda file: Image.open(file),
    "under another name": lambda file: open_image(file),
    "a partial": lambda file: functools.partial(Image.open, file)(),
    "of bytes": lambda file: Image.open(io.BytesIO(file.read_bytes())),
    "fromarray": lambda file: Image.fromarray(PIXELS),
    "imread": lambda file: cv2.imread(str(file)),
    "imdecode": lambda file: cv2.imdecode(np.frombuffer(file.read_bytes(), np.uint8), cv2.IMREAD_COLOR),
    "decode_image": lambda file: decode_image(read_file(str(file))),
    "in a try": in_a_try,
    "in a thread": in_a_thread,
    "an error before": lambda file: (file / "none").read_bytes(),
}
OTHERS: dict[str, Callable[[Path], Any]] = {
    "reads": lambda file: file.read_bytes(),
    "makes": lambda file: Image.new("RGB", (4, 4)),
    "resizes": lambda file: cv2.resize(PIXELS, (4, 4)),
}


@pytest.mark.parametrize("name", OPENING)
def test_what_opens_an_image_is_seen(name: str, file: Path) -> None:
    assert asked(lambda: OPENING[name](file))


@pytest.mark.parametrize("name", OTHERS)
def test_what_opens_none_is_known_by_it(name: str, file: Path) -> None:
    assert not asked(lambda: OTHERS[name](file))


def test_the_code_is_not_run_on_from_there(file: Path) -> None:
    def run() -> None:
        Image.open(file)
        threading.Event().wait()

    assert asked(run)
