"""Folders of WebP, BMP, GIF and TIFF: torch's batches, made without Pillow where it behaves as is known."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import GifImagePlugin, Image
from torch.utils import data
from torchvision import transforms as T
from torchvision.datasets import ImageFolder

import goloader
from goloader import selfcheck
from goloader.plan import needs

FORMATS = ("webp", "bmp", "gif", "tiff")
ENDINGS = {"gif": "bmp"}  # torchvision lists no .gif


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """24 pictures of each format, with and without alpha, in different ways."""
    rng = np.random.default_rng(1)
    options: dict[str, list[dict[str, Any]]] = {
        "webp": [{}, {"lossless": True}, {"quality": 30}],
        "bmp": [{}],
        "gif": [{}, {"interlace": 0}],
        "tiff": [{}, {"compression": "tiff_lzw"}, {"compression": "tiff_adobe_deflate"}, {"compression": "packbits"}],
    }
    found = {}
    for name in FORMATS:
        root = found[name] = tmp_path_factory.mktemp(name)
        for number in range(24):
            few = rng.integers(0, 256, (number + 2, 20, 4), np.uint8)
            image = Image.fromarray(few).resize((90 + number, 130 - 3 * number))
            image = image if number % 3 == 0 and name != "gif" else image.convert("P" if number % 3 == 1 else "RGB")
            made = io.BytesIO()
            image.save(made, name.upper(), **options[name][number % len(options[name])])
            folder = root / "ab"[number % 2]
            folder.mkdir(exist_ok=True)
            (folder / f"{number:02}.{ENDINGS.get(name, name)}").write_bytes(made.getvalue())
    return found


def dataset(root: Path) -> ImageFolder:
    return ImageFolder(str(root), T.Compose([T.RandomResizedCrop(48), T.RandomHorizontalFlip(), T.ToTensor()]))


def batches(loader: Any) -> list[torch.Tensor]:
    torch.manual_seed(3)
    return [each for _ in range(3) for batch in loader for each in batch]


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("name", FORMATS)
def test_a_folder_of_one_format_needs_no_pillow(folders: dict[str, Path], name: str, num_workers: int) -> None:
    files = dataset(folders[name])
    options: dict[str, Any] = {"batch_size": 5, "shuffle": True, "num_workers": num_workers}
    ours = goloader.DataLoader(files, **options)
    for mine, other in zip(batches(ours), batches(data.DataLoader(files, **options)), strict=True):
        assert torch.equal(mine, other)
    told = str(ours.explain())
    assert "72 samples in 15 batches" in told
    assert "by Pillow" not in told


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_that_pillow_decodes_otherwise_goes_to_pillow(
    folders: dict[str, Path], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("goloader.plan.datasets.FOREIGN_SHARE_MAX", 1.0)
    monkeypatch.setitem(selfcheck._found, f"pillow.decode.{name}", None)
    files = dataset(folders[name])
    ours = goloader.DataLoader(files, 5)
    for mine, other in zip(batches(ours), batches(data.DataLoader(files, 5)), strict=True):
        assert torch.equal(mine, other)
    assert "72 of them decoded by Pillow" in str(ours.explain())


def test_a_plugin_or_a_setting_of_somebody_s_takes_a_format_away(monkeypatch: pytest.MonkeyPatch) -> None:
    Image.init()
    assert needs.decoders() == [*FORMATS]
    with monkeypatch.context() as patch:
        patch.setitem(Image.OPEN, "WEBP", (dataset, None))
        assert needs.decoders() == ["bmp", "gif", "tiff"]
    with monkeypatch.context() as patch:
        patch.setattr(GifImagePlugin, "LOADING_STRATEGY", GifImagePlugin.LoadingStrategy.RGB_ALWAYS)
        assert needs.decoders() == ["webp", "bmp", "tiff"]
    with monkeypatch.context() as patch:
        patch.setitem(Image.DECODERS, "raw", dataset)
        assert needs.decoders() == ["gif"]
    assert needs.decoders() == [*FORMATS]
