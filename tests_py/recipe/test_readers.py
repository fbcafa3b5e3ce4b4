"""Files by way of imread of imageio, scikit-image and matplotlib: what is recorded is what they make."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import imageio
import imageio.v2
import imageio.v3
import matplotlib.image
import matplotlib.pyplot
import photos
import pytest
import skimage.io
import torch
from PIL import GifImagePlugin, Image

from goloader.doors.same import difference

READERS = {
    "imageio": imageio.imread, "imageio 2": imageio.v2.imread, "imageio 3": imageio.v3.imread,
    "skimage": skimage.io.imread, "matplotlib": matplotlib.image.imread, "pyplot": matplotlib.pyplot.imread,
}  # fmt: skip

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def _gifs_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """imageio changes how Pillow reads GIFs, for all of the process."""
    monkeypatch.setattr(GifImagePlugin, "LOADING_STRATEGY", GifImagePlugin.LOADING_STRATEGY)


@pytest.fixture(scope="module")
def kinds(files: list[str], tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The files of the other tests, and such as these read otherwise than Pillow."""
    folder = tmp_path_factory.mktemp("read")
    base, turned = photos.picture(31, 22, 1), Image.Exif()
    turned[0x0112] = 6
    others = [photos.picture(31, 22, seed) for seed in (2, 3)]
    jpeg = photos.save(base, "JPEG", exif=turned)
    made = {
        "turned.jpg": jpeg,
        "turned by no order.jpg": jpeg.replace(b"MM\0*", b"XX\0*").replace(b"II*\0", b"XX*\0"),
        "turned.png": photos.save(base, "PNG", exif=turned),
        "moving.png": photos.save(base, "PNG", save_all=True, append_images=others),
        "moving.gif": photos.save(base, "GIF", save_all=True, append_images=others),
        "shallow.png": photos.save(base.convert("L").quantize(4), "PNG", bits=2),
        "see.png": photos.save(base, "PNG", transparency=(1, 2, 3)),
        "cut.jpg": jpeg[:-200],
        "empty.jpg": b"",
        "words.png": b"no image at all",
        **photos.foreign(),
    }
    photos.lay(folder, made)
    shutil.copy(files[0], folder / "none")
    return [*files, *sorted(map(str, folder.iterdir())), str(folder / "missing.jpg"), str(folder)]


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except Exception as error:
        return type(error).__name__, str(error)


def read(imread: Callable[[Any], Any], path: Any) -> Any:
    array = imread(path)
    return [torch.from_numpy(array.copy())], array.shape, array.dtype.str


@pytest.mark.parametrize("name", READERS)
def test_files_are_read_as_these_read_them(run: Any, kinds: list[str], name: str) -> None:
    made = 0
    for path in kinds:
        given = random.choice([str, Path])(path)
        want = outcome(read, READERS[name], given)
        got, count, _ = run(outcome, read, READERS[name], given)
        assert difference(want, got) is None, path
        made += count
    assert made > 20
