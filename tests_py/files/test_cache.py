"""What is read through a cache is what the storage has, and the storage is asked for it once."""

from __future__ import annotations

import copy
import gc
import math
import os
import pickle
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.transforms as T
from buckets import Server
from PIL import Image
from test_remote import TRANSFORM, local, program, same_batches, server, serving, url  # noqa: F401
from test_shards import samples, write
from torch.utils import data
from twins import Program, check, loader_of

import goloader
from goloader import _native
from goloader.cli import main
from goloader.datasets import CacheOptions, ImageFolder, TarDataset, TarImages
from goloader.doors import sandbox
from goloader.storage.cache import Cache

CACHES = ["ram", "ram:32MB", "disk", "both"]


@pytest.fixture(params=CACHES)
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Each kind of cache, as users write it."""
    disk = f"{tmp_path / 'kept'}:1GB"
    return {"disk": disk, "both": ["ram:1MB", disk]}.get(request.param, request.param)


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_batches_are_those_of_a_copy_and_the_second_epoch_asks_for_nothing(
    server: Server,  # noqa: F811
    local: Path,  # noqa: F811
    cache: Any,
    workers: int,
) -> None:
    arguments: dict[str, Any] = {"shuffle": True, "batch_size": 4, "num_workers": workers}
    folder = ImageFolder(url("train"), TRANSFORM, cache=cache)
    same_batches(folder, ImageFolder(local, TRANSFORM), **arguments)
    server.asked.clear()
    same_batches(folder, ImageFolder(local, TRANSFORM), **arguments)
    assert folder[0][0].shape == (3, 24, 24)  # Python's own reading, too
    # Worker processes of torch's loader have memory of their own, and a disk in common with all.
    if not (isinstance(cache, str) and cache.startswith("ram")):
        assert server.asked == []


@pytest.mark.slow  # it starts interpreters
def test_a_second_process_asks_for_the_list_only(server: Server, local: Path, tmp_path: Path) -> None:  # noqa: F811
    text = f"""
import torch, goloader
from goloader.datasets import ImageFolder
import torchvision.transforms as T
folder = ImageFolder({url("train")!r}, T.Compose([T.Resize((8, 8)), T.ToTensor()]), cache={str(tmp_path / "kept")!r})
loader = goloader.DataLoader(folder, 4, num_workers=2)
print(sum(float(images.sum()) for images, _ in loader), len(folder), folder.samples.cache.stats())
"""
    said = []
    for _ in range(2):
        server.asked.clear()
        said.append(subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout)
        objects = [path for path in server.asked if "list-type" not in path]
        assert len(objects) == (0 if len(said) == 2 else int(said[0].split()[1]))
    assert said[0].split()[:2] == said[1].split()[:2]


def test_an_object_that_is_replaced_is_read_anew(server: Server, local: Path, cache: Any) -> None:  # noqa: F811
    server.put_folder(local, "changing")
    try:
        for name in ("b/2.jpg", "b/10.PNG"):
            list(goloader.DataLoader(ImageFolder(url("changing"), TRANSFORM, cache=cache), 8))
            server.put("changing/b/2.jpg", (local / name).read_bytes())
            found = ImageFolder(url("changing"), cache=cache)
            place = next(i for i, (path, _) in enumerate(found.samples) if path.endswith("/2.jpg"))
            assert found.samples[place][0].read() == (local / name).read_bytes()
            want = np.asarray(Image.open(local / name).convert("RGB"))
            assert np.array_equal(np.asarray(found[place][0]), want)
    finally:
        server.put("changing/b/2.jpg", (local / "b" / "2.jpg").read_bytes())


@pytest.mark.parametrize("workers", [0, 2])
def test_folders_and_archives_of_this_machine_are_kept_too(
    local: Path,  # noqa: F811
    cache: Any,
    tmp_path: Path,
    workers: int,
) -> None:
    _aged(local)
    arguments: dict[str, Any] = {"shuffle": True, "batch_size": 4, "num_workers": workers}
    kept = ImageFolder(local, TRANSFORM, cache=cache)
    same_batches(kept, ImageFolder(local, TRANSFORM), **arguments)
    for number in range(2):
        write(tmp_path / f"s-{number}.tar", samples(5, number))
    _aged(tmp_path)
    shards = str(tmp_path / "s-{0,1}.tar")
    images: dict[str, Any] = {"transform": TRANSFORM, "image": ("jpg", "jpeg", "png", "gif", "webp")}
    archived = TarImages(shards, **images, cache=cache)
    same_batches(archived, TarImages(shards, **images), **arguments)
    both: list[Any] = [data.ConcatDataset([made, made]) for made in (archived, TarImages(shards, **images))]
    same_batches(*both, **arguments)
    plain, expected = TarDataset(shards, cache=cache), TarDataset(shards)
    assert list(plain) == list(expected)
    misses = plain.members.cache.stats()["misses"]
    assert list(plain) == list(expected)
    assert plain.members.cache.stats()["misses"] == misses
    check(Program(loader_of(plain, batch_size=3, num_workers=workers, collate_fn=list)), native=False)


STEPS: dict[str, list[Any]] = {
    "none": [],
    "drawn": [T.RandomResizedCrop(24), T.RandomHorizontalFlip()],
    "resized": [T.Resize(26), T.RandomCrop(24)],
    "fixed": [T.Resize((30, 21)), T.CenterCrop(20), T.Pad(2, 7), T.RandomVerticalFlip()],
    "enlarged": [T.Resize(70), T.RandomCrop(60, padding=3), T.RandomErasing(p=1)],
}


@pytest.fixture
def pictures(local: Path, tmp_path: Path) -> Path:  # noqa: F811
    """Also of modes other than RGB, and some that cannot be decoded or only by Pillow."""
    folder, pixels = tmp_path / "pictures", np.random.default_rng(3)
    shutil.copytree(local, folder)
    grey = Image.fromarray(pixels.integers(0, 256, (33, 50), np.uint8))
    grey.save(folder / "c" / "grey.jpg")
    grey.convert("P").save(folder / "c" / "palette.png")
    Image.fromarray(pixels.integers(0, 256, (31, 47, 4), np.uint8)).save(folder / "c" / "alpha.png")
    grey.convert("CMYK").save(folder / "c" / "cmyk.jpg")
    _aged(folder)
    return folder


def _transform(steps: list[Any]) -> Any:
    erasing = [each for each in steps if isinstance(each, T.RandomErasing)]
    last = [] if steps else [T.Resize((24, 24))]
    return T.Compose([*(each for each in steps if each not in erasing), *last, T.ToTensor(), *erasing])


@pytest.mark.slow  # many seconds
@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("workers", [0, 3])
@pytest.mark.parametrize("place", CACHES)
def test_decoded_images_are_those_of_a_copy(
    server: Server,  # noqa: F811
    local: Path,  # noqa: F811
    pictures: Path,
    tmp_path: Path,
    steps: list[Any],
    workers: int,
    place: str,
) -> None:
    disk = {"disk": tmp_path / "kept", "disk_size": "1GB"}
    options = {"ram": {"ram": "1GB"}, "ram:32MB": {"ram": "40KB"}, "disk": disk, "both": {"ram": "40KB", **disk}}[place]
    cache, transform = CacheOptions(**options, hold="decoded"), _transform(steps)
    arguments: dict[str, Any] = {"shuffle": True, "batch_size": 4, "num_workers": workers}
    for ours, theirs in ((url("train"), local), (pictures, pictures)):
        folder = ImageFolder(ours, transform, cache=cache)
        for _ in range(2):
            same_batches(folder, ImageFolder(theirs, transform), **arguments)
    found = folder.samples.cache.stats()
    assert found["ram_hits"] + found["disk_hits"] > 0
    assert found["ram_bytes"] <= 10**9


@pytest.mark.usefixtures("untried")
def test_later_epochs_read_no_image_that_go_decoded(server: Server, local: Path) -> None:  # noqa: F811
    folder = ImageFolder(url("train"), TRANSFORM, cache=CacheOptions(ram="1GB", hold="decoded"))
    loader: Any = goloader.DataLoader(folder, 4, num_workers=2)
    assert "images are kept decoded" in str(loader.explain())
    server.asked.clear()
    list(loader)
    assert len(server.asked) == len(folder)
    assert loader.stats().cache["misses"] == len(folder)
    server.asked.clear()
    list(loader)
    assert server.asked == []
    assert loader.stats().cache["ram_hits"] == len(folder)
    assert f"{len(folder)} reads from memory" in str(loader.explain())


def test_decoded_images_are_of_one_version_and_of_the_same_steps(pictures: Path) -> None:
    cache = CacheOptions(ram="1GB", hold="decoded")

    def check_all(steps: list[Any]) -> None:
        same_batches(
            ImageFolder(pictures, _transform(steps), cache=cache),
            ImageFolder(pictures, _transform(steps)),
            batch_size=5,
        )

    kept = ImageFolder(pictures, _transform([]), cache=cache)  # so that it lives on
    for steps in ([T.Resize(26), T.CenterCrop(20)], [T.Resize(27), T.CenterCrop(20)], [T.Resize(26), T.CenterCrop(22)]):
        check_all(steps)
        before = kept.samples.cache.stats()
        check_all(steps)
        assert kept.samples.cache.stats()["misses"] == before["misses"]
    path = pictures / "c" / "grey.jpg"
    Image.fromarray(np.random.default_rng(5).integers(0, 256, (61, 40), np.uint8)).save(path)
    os.utime(path, (1e9 + 7, 1e9 + 7))
    check_all(steps)


def _aged(folder: Path) -> None:
    """Files that were changed just now are not kept."""
    for path in folder.rglob("*"):
        os.utime(path, (1e9, 1e9))


def test_files_that_change_within_an_epoch_are_those_of_now(local: Path, cache: Any, tmp_path: Path) -> None:  # noqa: F811
    pixels = np.random.default_rng(1)

    def draw(number: int) -> None:
        path = tmp_path / "images" / "a" / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.integers(0, 256, (8, 8, 3), np.uint8)).save(path)

    for number in range(8):
        draw(number)
    _aged(tmp_path / "images")
    kept, plain = (ImageFolder(tmp_path / "images", T.ToTensor(), cache=each) for each in (cache, None))
    for _ in range(3):
        ours, theirs = iter(goloader.DataLoader(kept, 2)), iter(data.DataLoader(plain, 2))
        for step, (mine, its) in enumerate(zip(ours, theirs, strict=True)):
            assert torch.equal(mine[0], its[0])
            if step == 0:
                draw(7)
    assert kept.samples.cache.stats()["misses"] > 8


def test_loaders_share_it_and_explain_tells(server: Server, local: Path, tmp_path: Path) -> None:  # noqa: F811
    cache = ["ram:10MB", f"{tmp_path}:1GiB"]
    folder, other = (ImageFolder(url("train"), TRANSFORM, cache=cache) for _ in range(2))
    assert folder.samples.cache is other.samples.cache
    first, second = (goloader.DataLoader(each, 4, num_workers=2) for each in (folder, other))
    list(first)
    server.asked.clear()
    list(second)
    assert server.asked == []
    both: Any = data.ConcatDataset([folder, data.Subset(other, [3, 1])])
    same_batches(both, data.ConcatDataset([folder, data.Subset(folder, [3, 1])]), batch_size=4, num_workers=1)
    n = len(folder)
    counted = second.stats().cache
    assert counted["misses"] == n
    assert counted["ram_hits"] >= n
    assert counted["disk_hits"] == 0
    assert counted["ram_bytes"] > 0
    assert counted["disk_bytes"] >= n * 4096
    assert second.stats().since(second.stats()).cache["misses"] == 0
    text = str(second.explain())
    assert f"memory (10,000,000 bytes), then {tmp_path} (1,073,741,824 bytes)" in text
    assert f"{n} from the storage" in text


@pytest.mark.slow
def test_datasets_with_other_caches_are_joined_in_python(server: Server, local: Path) -> None:  # noqa: F811
    parts = [ImageFolder(url("train"), TRANSFORM, cache=cache) for cache in ("ram:1MB", "ram:2MB")]
    both: Any = data.ConcatDataset(parts)
    check(Program(loader_of(both, batch_size=7, num_workers=2)), native=False)
    assert "FILE_LIST" in goloader.DataLoader(both, 4).explain().codes


def test_a_list_of_its_samples_goes_through_it(server: Server, local: Path) -> None:  # noqa: F811
    ours, theirs = ImageFolder(url("train"), TRANSFORM, cache="ram"), ImageFolder(local, TRANSFORM)
    for each in (ours, theirs):
        each.samples = list(each.samples)[3:11]
    same_batches(ours, theirs, batch_size=3, num_workers=1)
    server.asked.clear()
    list(goloader.DataLoader(ours, 3, num_workers=1))
    assert server.asked == []


def test_a_loader_of_ones_own_reads_through_it_in_worker_processes(server: Server, tmp_path: Path) -> None:  # noqa: F811
    folder = ImageFolder(url("train"), loader=lambda path: torch.tensor(len(path.read())), cache=tmp_path / "kept")
    check(Program(loader_of(folder, batch_size=8, num_workers=2)), native=False)
    server.asked.clear()
    list(data.DataLoader(folder, 8, num_workers=2))
    assert server.asked == []


def test_trials_in_children_that_may_write_nothing_read_through_it(local: Path, tmp_path: Path) -> None:  # noqa: F811
    _aged(local)
    folder = ImageFolder(local, TRANSFORM, cache=["ram", str(tmp_path)])
    contents = [path.read() for path, _ in folder.samples[:3]]
    _native._copied.cache_clear()
    child = os.fork()
    if not child:
        with sandbox.restrict():
            os._exit([path.read() for path, _ in folder.samples[:6]][:3] != contents)
    assert os.waitpid(child, 0)[1] == 0


def test_a_pickle_has_its_description_only(server: Server, tmp_path: Path) -> None:  # noqa: F811
    cache = CacheOptions(ram="8MB", disk=tmp_path / "kept", disk_size=10**9)
    folder = ImageFolder(url("train"), TRANSFORM, cache=cache)
    before = len(pickle.dumps(folder))
    list(goloader.DataLoader(folder, 4))
    assert len(pickle.dumps(folder)) == before
    for twin in (pickle.loads(pickle.dumps(folder)), copy.deepcopy(folder)):
        assert twin.samples.cache is folder.samples.cache
        assert twin.samples == folder.samples
        assert twin.samples[0][0].read() == folder.samples[0][0].read()


def test_its_memory_goes_with_the_last_dataset(server: Server) -> None:  # noqa: F811
    folder = ImageFolder(url("train"), TRANSFORM, cache="ram:16MB")
    loader: Any = goloader.DataLoader(folder, 4, num_workers=2)
    list(loader)
    assert 0 < _native.live()["cached_bytes"] <= 16_000_000
    del folder
    gc.collect()
    assert _native.live()["cached_bytes"] > 0
    del loader
    gc.collect()
    assert _native.live()["cached_bytes"] == 0


def test_a_worker_process_has_its_share_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Cache.of("ram:8MB")
    assert made is not None
    assert made._ram() == 8_000_000
    info = type("Info", (), {"num_workers": 3})
    monkeypatch.setattr("torch.utils.data.get_worker_info", lambda: info)
    assert made._ram() == 8_000_000 // 3


_LIMITED = """
import resource, sys, warnings
import goloader, torchvision.transforms as T
from goloader.datasets import ImageFolder
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    folder = ImageFolder(sys.argv[1], T.Compose([T.Resize((8, 8)), T.ToTensor()]), cache=sys.argv[2])
    loader = goloader.DataLoader(folder, 4)
    sums = [sum(float(images.sum()) for images, _ in loader) for _ in range(3)]
assert len(set(sums)) == 1, sums
print(sum("goloader: cache" in str(each.message) for each in told))
"""


@pytest.mark.slow  # it starts interpreters
def test_a_disk_that_takes_no_more_is_one_warning(local: Path, tmp_path: Path) -> None:  # noqa: F811
    _aged(local)
    command = [sys.executable, "-c", _LIMITED, str(local), str(tmp_path / "kept")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "1\n"


def test_a_disk_that_cannot_be_written_is_a_warning(local: Path, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "file").touch()
    with pytest.warns(RuntimeWarning, match=f"cache {tmp_path}/file: .*not a directory"):
        folder = ImageFolder(local, TRANSFORM, cache=tmp_path / "file")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same_batches(folder, ImageFolder(local, TRANSFORM), batch_size=4, shuffle=True)


def test_what_is_written_as_a_cache() -> None:
    here = os.path.abspath("kept")
    cases: dict[Any, CacheOptions] = {
        "ram": CacheOptions(ram=math.inf),
        "ram:32GB": CacheOptions(ram=32 * 10**9),
        "ram:1.5 kib": CacheOptions(ram=1536),
        "kept": CacheOptions(disk=here),
        Path("kept"): CacheOptions(disk=here),
        "kept:500MiB": CacheOptions(disk=here, disk_size=500 << 20),
        "/a:b/c": CacheOptions(disk="/a:b/c"),
        "/a:9/c": CacheOptions(disk="/a:9/c"),
        "~/x:2TB": CacheOptions(disk=os.path.expanduser("~/x"), disk_size=2 * 10**12),
        ("ram:7B", "/a"): CacheOptions(ram=7, disk="/a"),
        ("/a:1KB", "ram"): CacheOptions(ram=math.inf, disk="/a", disk_size=1000),
    }
    for text, options in cases.items():
        found = CacheOptions.of(text)
        assert (found, str(found)) == (options, str(options)), text
    texts = ("ram:", "ram:all", "ram:32", "ram:0GB", "ram:3XB", "/a:5", "/a:0MB", ":5GB", "")
    for wrong in (*texts, ["ram", "ram:1GB"], ["/a", "/b"], []):
        with pytest.raises(ValueError, match=r"size|keeps nothing|is not a place|one size|give ram"):
            CacheOptions.of(wrong)
    for arguments in ({}, {"ram": "much"}, {"ram": -2}, {"disk": "/a", "disk_size": 0}, {"ram": 1, "hold": "raw"}):
        with pytest.raises(ValueError, match=r"size|keeps nothing|bytes|give ram|'decoded'"):
            CacheOptions(**arguments)
    with pytest.raises(ValueError, match="is_valid_file"):
        ImageFolder("/none", is_valid_file=bool, cache="ram")


def test_the_command_line_lists_checks_and_empties_it(
    local: Path,  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _aged(local)
    folder = ImageFolder(local, TRANSFORM, cache=tmp_path)
    list(goloader.DataLoader(folder, 4))
    n = len(folder)
    assert main(["cache", "ls", str(tmp_path)]) == 0
    assert f"{n} files" in capsys.readouterr().out
    next((tmp_path / "goloader-1").glob("??/*")).write_bytes(b"GLCACHE1")
    for removed in (1, 0):
        assert main(["cache", "verify", str(tmp_path)]) == 0
        assert f"; {removed} removed" in capsys.readouterr().out
    assert main(["cache", "rm", str(tmp_path)]) == 0
    assert f"{n - 1} files" in capsys.readouterr().out
    assert list((tmp_path / "goloader-1").glob("??/*")) == []
    with pytest.raises(SystemExit):
        main(["cache", "ls", str(tmp_path / "none")])
    assert "none" in capsys.readouterr().err


def test_the_examples_of_the_documentation_run(
    server: Server,  # noqa: F811
    local: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    for number in range(2):
        path = write(tmp_path / f"train-{number:06}.tar", samples(9, number))
        server.put(f"shards/{path.name}", path.read_bytes())
    text = (Path(__file__).parents[2] / "docs" / "remote.md").read_text()
    example = text.split("## Caches")[1].split("```python\n")[1].split("```")[0]
    places = {"/slow/nfs/train": local, "/nvme/cache": tmp_path / "kept"}
    for place, here in places.items():
        example = example.replace(place, str(here))
    names = {"ImageFolder": ImageFolder, "TarImages": TarImages, "CacheOptions": CacheOptions, "transform": TRANSFORM}
    for line in example.splitlines():
        made = eval(line, names)
        same_batches(made, made, batch_size=4)
        assert str(made.samples.cache) in str(goloader.DataLoader(made, 4).explain())
