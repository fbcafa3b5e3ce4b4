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
import torch
from PIL import Image
from PIL.Image import open as open_image
from torch.utils import data
from torchvision.io import decode_image, read_file
from torchvision.transforms.functional import to_tensor

import goloader
from goloader.doors import sandbox
from goloader.doors.recipe.opens import opens

PIXELS = np.arange(16 * 16 * 3, dtype=np.uint8).reshape(16, 16, 3)


def asked(run: Callable[[], Any]) -> bool:
    """As a trial asks: in a process of its own."""
    [(opened, files)] = sandbox.run_apart(lambda: opens(run))
    assert opened or __file__ in files
    return bool(opened)


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


class Spectra(data.Dataset[Any]):
    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> Any:
        wave = torch.arange(32.0) * index
        return torch.fft.rfft(wave).abs(), {"text": str(index)}


class Careful(data.Dataset[Any]):
    """Goes on after whatever its samples raise."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> Any:
        try:
            return to_tensor(Image.open(self.file).convert("RGB")), index
        except Exception:
            return torch.zeros(3, 16, 16), -1


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_is_told_so(workers: int, file: Path) -> None:
    for dataset, code in (Spectra(), "NO_GAIN"), (Careful(file), None):
        loader: Any = goloader.DataLoader(dataset, batch_size=4, num_workers=workers)
        for _ in range(2):
            batches = list(loader)
        assert len(batches) == 16
        told = loader.explain()
        assert "RECORDING_ENDED" not in told.codes, told
        assert ("NO_GAIN" in told.codes) == (code is not None), told


def test_the_code_is_not_run_on_from_there(file: Path) -> None:
    def run() -> None:
        Image.open(file)
        threading.Event().wait()

    assert asked(run)
