"""SeekIndex: never a pixel changed by it, whatever becomes of the files and of what was saved."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import datasets
from torchvision import transforms as v1
from torchvision.transforms import v2

from goloader import DataLoader, NumpyLoader, SeekIndex, _core, _native
from goloader import transforms as T
from goloader.doors import choice as _doors
from goloader.doors.recipe import door, hooks
from tests_py import fresh

FILES, CROPS = 24, v2.Compose([v2.RandomResizedCrop(32), v2.PILToTensor()])


def write(path: Path, seed: int, quality: int = 90) -> None:
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:150, 0:200]
    pixels = np.stack([x + y, 255 - x, 2 * y], 2) % 256 + rng.normal(0, 9, (150, 200, 3))
    image = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
    image.save(path, "JPEG", quality=quality, subsampling=seed % 3, restart_marker_rows=seed % 2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for i in range(FILES):
        path = tmp_path / "photos" / f"class{i % 2}" / f"{i}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, i)
    return tmp_path / "photos"


def loader(folder: Path, **arguments: Any) -> DataLoader[Any]:
    dataset = datasets.ImageFolder(str(folder), CROPS)
    return DataLoader(dataset, batch_size=5, num_workers=2, shuffle=True, **arguments)


def epochs(loader: Any, n: int = 3) -> Iterator[torch.Tensor]:
    for epoch in range(n):
        torch.manual_seed(epoch)
        yield torch.cat([images for images, _ in loader])


def stats(loader: DataLoader[Any]) -> dict[str, int]:
    core = _doors._cores.get(loader)
    assert core is not None
    return core.stats()


@pytest.mark.parametrize("bytes_max", [1, 200 * FILES, 1 << 20])
def test_batches_are_the_same_with_any_index(folder: Path, bytes_max: int) -> None:
    small = loader(folder, seek_index=SeekIndex(bytes_max))
    for ours, without, torchs in zip(
        epochs(small),
        epochs(loader(folder, seek_index=False)),
        epochs(torch.utils.data.DataLoader(small.dataset, batch_size=5, num_workers=2, shuffle=True)),
        strict=True,
    ):
        assert torch.equal(ours, without)
        assert torch.equal(ours, torchs)
    counted = stats(small)
    assert counted["seek_bytes"] <= bytes_max
    assert counted["seek_hits"] == (0 if bytes_max == 1 else 2 * FILES)


class Own(datasets.ImageFolder):
    """Recorded, since its code asks for attributes by a name that it makes."""

    def __getitem__(self, index: int) -> Any:
        image = Image.open(getattr(self, "im" + "gs"[:2])[index][0]).convert("RGB")
        return v1.functional.pil_to_tensor(v1.RandomResizedCrop(32)(image)), index


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("index", [SeekIndex(1 << 20), SeekIndex(1 << 20, path="nowhere"), False])
def test_recorded_datasets_have_one_too(folder: Path, workers: int, index: SeekIndex | bool) -> None:
    options: dict[str, Any] = {"batch_size": 5, "num_workers": workers, "shuffle": True}
    recorded = DataLoader(Own(str(folder)), seek_index=index, **options)
    for ours, torchs in zip(
        epochs(recorded), epochs(torch.utils.data.DataLoader(recorded.dataset, **options)), strict=True
    ):
        assert torch.equal(ours, torchs)
    for _ in recorded:  # once more: the first batches were not the core's
        pass
    if hooks.refusal() is None:
        counted = door.workshop(recorded).stats()
        assert (counted["seek_hits"] >= 2 * FILES) == (index is not False)
        assert f"{counted['seek_hits']} with the seek index" in str(recorded.explain()) or not index
    assert not os.path.exists("nowhere")


def test_the_default_is_an_index_in_memory(folder: Path) -> None:
    plain = loader(folder)
    assert plain.seek_index is True
    row = next(row for row in plain.explain() if row.stage == "seek index")
    assert "512 MiB" in row.what
    for _ in epochs(plain, 2):
        pass
    assert stats(plain)["seek_entries"] == FILES
    assert f"{FILES} with the seek index" in str(plain.explain())
    assert not [row for row in loader(folder, seek_index=False).explain() if row.stage == "seek index"]


@pytest.mark.parametrize("hidden", [False, True])
def test_a_file_that_changes_between_epochs(folder: Path, hidden: bool) -> None:
    """Also one of the same length, with its time of modification set back."""
    ours, torchs = loader(folder), torch.utils.data.DataLoader(loader(folder).dataset, 5, True, num_workers=2)
    assert all(map(torch.equal, epochs(ours), epochs(torchs)))
    for i in range(FILES):
        path = folder / f"class{i % 2}" / f"{i}.jpg"
        before, old = path.stat(), path.read_bytes()
        write(path, i + 3 * FILES, quality=30 if hidden else 80)
        if hidden:
            new = path.read_bytes()
            assert len(new) < len(old)
            path.write_bytes(new + bytes(len(old) - len(new)))  # what follows the end of an image is nobody's business
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
            assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert all(map(torch.equal, epochs(ours), epochs(torchs)))


def test_an_index_is_saved_and_read_by_the_next_loader(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "cache" / "photos.seek"
    first = loader(folder, seek_index=SeekIndex(path=path))
    want = list(epochs(first))
    _core._settle(_native.library())
    assert path.exists()
    second = loader(folder, seek_index=SeekIndex(path=str(path)))
    assert all(map(torch.equal, epochs(second), want))
    assert stats(second)["seek_hits"] == 3 * FILES
    numpy = NumpyLoader(folder, [T.ToArray("uint8")], seek_index=SeekIndex(path=path))
    assert len(list(numpy)) == FILES
    assert "with the seek index" in str(numpy.explain())


def test_a_damaged_index_is_ignored_with_a_warning(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "photos.seek"
    want = list(epochs(loader(folder, seek_index=SeekIndex(path=path))))
    _core._settle(_native.library())
    saved = bytearray(path.read_bytes())
    saved[len(saved) // 2] ^= 1
    path.write_bytes(saved)
    ours = loader(folder, seek_index=SeekIndex(path=path))
    with pytest.warns(RuntimeWarning, match=r"photos\.seek: not a sound seek index"):
        got = list(epochs(ours))
    assert all(map(torch.equal, got, want))
    assert stats(ours)["seek_hits"] == 2 * FILES
    _core._settle(_native.library())
    assert list(epochs(loader(folder, seek_index=SeekIndex(path=path)), 1))  # it was replaced: no warning


@pytest.mark.filterwarnings("ignore:the saved seek index is not used")
def test_an_index_that_cannot_be_written_is_a_warning(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ours = loader(folder, seek_index=SeekIndex(path=tmp_path / "file" / "index"))
    with pytest.warns(RuntimeWarning, match="seek index is not saved"):
        assert len(list(epochs(ours, 1))) == 1
        gc.collect()
        _core._settle(_native.library())
    with pytest.warns(RuntimeWarning, match="seek index is not saved"):
        del ours
        gc.collect()


AT_EXIT = """
import sys, torch
from torchvision import datasets, transforms
from goloader import DataLoader, SeekIndex
crops = transforms.Compose([transforms.RandomResizedCrop(32), transforms.ToTensor()])
dataset = datasets.ImageFolder(sys.argv[1], crops)
loader = DataLoader(dataset, batch_size=4, num_workers=1, seek_index=SeekIndex(path=sys.argv[2]))
for _ in loader:
    pass
"""


@pytest.mark.slow
def test_an_exit_waits_for_the_index_and_says_what_could_not_be_written(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name, warned in (("index", False), ("file/index", True)):
        run = fresh.run(AT_EXIT, folder, tmp_path / name)
        assert run.returncode == 0, run.stderr
        assert ("the seek index is not saved" in run.stderr) == warned, run.stderr
        assert (tmp_path / name).exists() != warned
    assert {path.name for path in tmp_path.iterdir()} == {"photos", "file", "index"}


def test_arguments_are_checked_when_the_loader_is_made(folder: Path, tmp_path: Path) -> None:
    for wrong in ["path", 5, None]:
        with pytest.raises(TypeError, match="seek_index should be a bool or a SeekIndex"):
            loader(folder, seek_index=wrong)
    for wrong in [0, -1, 1.5, True]:
        with pytest.raises(ValueError, match="bytes_max should be a positive integer"):
            SeekIndex(wrong)  # type: ignore[arg-type]
    for wrong in ["", "a\0b", tmp_path, "\udcff", b"bytes"]:
        with pytest.raises(ValueError, match=r"path should be|can't encode"):
            SeekIndex(path=wrong)  # type: ignore[arg-type]
