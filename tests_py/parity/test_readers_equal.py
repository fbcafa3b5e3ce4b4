"""Classes that read pictures as arrays, by imread of imageio, scikit-image and matplotlib: our batches are torch's.

WRITTEN are classes as people write them, which have to run in Go. Of odd files it does not matter who makes batches.
"""

from __future__ import annotations

import io
import random
import zlib
from pathlib import Path
from typing import Any

import cv2
import imageio
import imageio.v2
import imageio.v3
import matplotlib.image as mpimg
import matplotlib.pyplot as plt
import numpy as np
import photos
import pytest
import skimage.color
import skimage.io
import torch
import torchvision.transforms as T
from PIL import GifImagePlugin, Image
from torch.utils import data
from twins import Program, batches, check, compare, loader_of, run

import goloader

pytestmark = [pytest.mark.timeout(600), pytest.mark.filterwarnings("ignore")]

SPACE = {
    "np": np, "torch": torch, "T": T, "random": random, "cv2": cv2, "Image": Image, "skimage": skimage, "plt": plt,
    "io": skimage.io, "color": skimage.color, "imageio": imageio, "iio": imageio.v3, "mpimg": mpimg,
}  # fmt: skip

READERS = {
    "skimage": "io.imread", "imageio": "imageio.imread", "imageio 2": "imageio.v2.imread", "imageio 3": "iio.imread",
    "matplotlib": "mpimg.imread", "pyplot": "plt.imread",
}  # fmt: skip

BYTES = ("skimage", "imageio", "imageio 2", "imageio 3")

WRITTEN = {
    "to a tensor": "T.ToTensor()(a), self.labels[i]",
    "grey to colours": [
        "if a.ndim == 2: a = color.gray2rgb(a)",
        "{'image': torch.from_numpy(a.astype(np.float32).transpose(2, 0, 1) / 255.0), 'label': self.labels[i]}",
    ],
    "grey three times": [
        "if len(a.shape) == 2: a = np.stack([a, a, a], axis=-1)",
        "a = a.astype(np.float32) / 255.0",
        "torch.from_numpy(a).permute(2, 0, 1), i",
    ],
    "without alpha": ["a = a[..., :3]", "torch.from_numpy(a.transpose(2, 0, 1).copy()), self.names[i]"],
    "backwards": ["a = a[:, :, ::-1]", "torch.from_numpy(a.transpose((2, 0, 1)).copy())"],
    "cut": [
        "y, x = random.randint(0, 5), np.random.randint(0, 5)",
        "a = a[y:y + 12, x:x + 14]",
        "if random.random() < 0.5: a = np.fliplr(a)",
        "torch.from_numpy(np.ascontiguousarray(a.transpose(2, 0, 1)))",
    ],
}

# What needs bytes, as matplotlib does not give of PNG files.
OF_BYTES = {
    "to Pillow": ["x = Image.fromarray(a)", "T.ToTensor()(T.RandomCrop(12)(x.resize((20, 17)))), self.labels[i]"],
    "resized by OpenCV": ["a = cv2.resize(a, (16, 13))", "torch.from_numpy(a.transpose(2, 0, 1) / 255.0).float()"],
    "Retina": [
        "if len(a.shape) == 2: a = color.gray2rgb(a)",
        "a = a.astype(np.float32) / 255.0",
        "a = (a - np.array([[[0.485, 0.456, 0.406]]])) / np.array([[[0.229, 0.224, 0.225]]])",
        "torch.from_numpy(a).permute(2, 0, 1)",
    ],
}

# What may be written to: matplotlib's bytes may not.
WRITTEN_TO = {"changed": ["a[a > 200] = 7", "torch.from_numpy(a.transpose(2, 0, 1).copy())"]}


@pytest.fixture(autouse=True)
def _gifs_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """imageio changes how Pillow reads GIFs, for all of the process."""
    monkeypatch.setattr(GifImagePlugin, "LOADING_STRATEGY", GifImagePlugin.LOADING_STRATEGY)


class Photos(data.Dataset[Any]):
    """Its __getitem__ is one of those above."""

    def __init__(self, paths: list[Any], code: Any = None) -> None:
        self.paths, self.code = paths, code
        self.labels = [7 * n for n in range(len(paths))]
        self.names = [Path(path).name for path in paths]

    def __len__(self) -> int:
        return len(self.paths)


def class_of(reader: str, lines: str | list[str]) -> type[Photos]:
    *body, last = [lines] if isinstance(lines, str) else lines
    text = "\n    ".join(["def __getitem__(self, i):", f"a = {reader}(self.paths[i])", *body, f"return {last}"])
    space = {**SPACE}
    exec(text, space)
    return type("Written", (Photos,), {"__getitem__": space["__getitem__"], "__module__": __name__})


def written(folder: Path, kind: str, *, mode: str = "RGB", path: Any = str) -> list[Any]:
    """Paths of photos of one size; how many, and how large, is random."""
    width, height = random.randint(20, 60), random.randint(20, 60)
    files = [
        photos.save(photos.picture(width, height, seed).convert(mode), kind) for seed in range(random.randint(5, 13))
    ]
    ending = "jpg" if kind == "JPEG" else kind.lower()
    photos.lay(folder, {f"{n:02}.{ending}": content for n, content in enumerate(files)})
    return [path(each) for each in sorted(folder.iterdir())]


def cases() -> list[Any]:
    made = []
    for name, reader in READERS.items():
        for kind in ("JPEG", "PNG"):
            of_bytes = OF_BYTES if name in BYTES or kind == "JPEG" else {}
            written_to = WRITTEN_TO if name in BYTES else {}
            for what, lines in (WRITTEN | of_bytes | written_to).items():
                made.append(pytest.param(reader, kind, lines, id=f"{what} by {name} of {kind}"))
    return made


@pytest.mark.parametrize(("reader", "kind", "lines"), cases())
def test_classes_run_in_go(tmp_path: Path, reader: str, kind: str, lines: Any, request: Any) -> None:
    number = zlib.crc32(request.node.name.encode())
    random.seed(number)
    paths = written(tmp_path, kind, path=random.choice([str, Path]))
    workers, shuffle, size = number % 3, bool(number & 8), random.randint(1, 4)
    arguments = {"batch_size": size, "shuffle": shuffle, "num_workers": workers * (workers + 1) // 2}
    events = check(Program(loader_of(class_of(reader, lines)(paths), **arguments), seed=number))
    assert len(batches(events)) == 2 * -(-len(paths) // size)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_grey_files_run_in_go(tmp_path: Path, name: str, kind: str) -> None:
    random.seed(len(name))
    paths = written(tmp_path, kind, mode="L")
    for lines in ("T.ToTensor()(a)", ["a = a.astype(np.float32)[None]", "torch.from_numpy(a)"]):
        check(Program(loader_of(class_of(READERS[name], lines)(paths), batch_size=3, shuffle=True, num_workers=1)))


# ---- odd files


ODD = photos.odd()


@pytest.mark.parametrize("reader", READERS.values())
@pytest.mark.parametrize("name", ODD)
def test_odd_files_are_as_the_library_reads_them(tmp_path: Path, reader: str, name: str) -> None:
    good = {f"{n}{Path(name).suffix}": photos.save(photos.picture(30, 24, n), photos.kind_of(name)) for n in range(3)}
    photos.lay(tmp_path, good | {name: ODD[name]})
    paths = [str(tmp_path / each) for each in (*good, name)]
    random.Random(name).shuffle(paths)
    for size in (1, 2):
        made = class_of(reader, "T.ToTensor()(a), self.names[i]")(paths)
        program = Program(loader_of(made, batch_size=size), epochs=1)
        compare(run(goloader.DataLoader, program), run(data.DataLoader, program))


ELSEWHERE = ("missing.jpg", "~/missing.jpg", "file:///missing.jpg", "http://127.0.0.1:9/x.jpg", "imageio:none.png", "")


@pytest.mark.parametrize("reader", READERS.values())
@pytest.mark.parametrize("path", ELSEWHERE)
def test_what_is_not_there_is_told_as_by_torch(tmp_path: Path, reader: str, path: str) -> None:
    paths = [*written(tmp_path, "JPEG")[:3], path]
    for workers in (0, 1):
        made = class_of(reader, "T.ToTensor()(a)")(paths)
        program = Program(loader_of(made, batch_size=1, num_workers=workers), epochs=1)
        compare(run(goloader.DataLoader, program), run(data.DataLoader, program))


@pytest.mark.parametrize("reader", READERS.values())
def test_files_that_change_are_read_anew(tmp_path: Path, reader: str) -> None:
    def change(epoch: int, loader: Any) -> None:
        paths = loader.dataset.paths
        content = photos.save(photos.picture(30, 24, epoch), "JPEG" if epoch < 2 else "PNG")
        Path(paths[1]).write_bytes(content)
        if epoch == 3:
            paths[0] = paths[1]

    def arguments() -> dict[str, Any]:
        photos.lay(tmp_path, {f"{n}.jpg": photos.save(photos.picture(30, 24, n), "JPEG") for n in range(4)})
        paths = [str(tmp_path / f"{n}.jpg") for n in range(4)]
        return {"dataset": class_of(reader, "torch.from_numpy(a.transpose(2, 0, 1) * 1)")(paths), "batch_size": 1}

    check(Program(arguments, epochs=5, before=change))


def test_links_are_scikit_images(tmp_path: Path) -> None:
    """It goes by the name of what a link leads to."""
    (tmp_path / "a.tif").write_bytes(photos.save(photos.picture(30, 24, 1), "JPEG"))
    (tmp_path / "a.jpg").symlink_to(tmp_path / "a.tif")
    for reader in READERS.values():
        for path in (tmp_path / "a.jpg", str(tmp_path / "a.jpg")):
            program = Program(loader_of(class_of(reader, "T.ToTensor()(a)")([path]), batch_size=1), epochs=1)
            compare(run(goloader.DataLoader, program), run(data.DataLoader, program))


# ---- what is not as its library has it


def test_functions_that_were_replaced_are_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = written(tmp_path, "JPEG")
    from imageio.plugins.pillow import PillowPlugin

    for owner, name, reader in (
        (PillowPlugin, "read", "iio.imread"),
        (skimage.io._io, "call_plugin", "io.imread"),
        (mpimg, "pil_to_array", "plt.imread"),
        (imageio.v3, "imopen", "iio.imread"),
    ):
        dataset = class_of(reader, "T.ToTensor()(a)")(paths)
        with monkeypatch.context() as patch:
            original = getattr(owner, name)
            patch.setattr(owner, name, lambda *given, original=original, **named: original(*given, **named))
            assert not goloader.DataLoader(dataset).explain().native, name
        assert goloader.DataLoader(dataset).explain().native, name


def test_settings_of_the_libraries_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import imageio.config
    import skimage.io.manage_plugins as plugins

    dataset = class_of("io.imread", "T.ToTensor()(a)")(written(tmp_path, "JPEG"))
    loader = goloader.DataLoader(dataset)
    assert loader.explain().native
    (first, *_) = imageio.config.known_extensions[".jpg"]
    with monkeypatch.context() as patch:
        patch.setattr(first, "priority", ["JPEG-PIL", "pillow"])
        assert not loader.explain().native
    with monkeypatch.context() as patch:
        patch.setitem(plugins.plugin_store, "imread", [("mine", lambda path: np.zeros((3, 3, 3), np.uint8))])
        assert not loader.explain().native
    assert loader.explain().native


@pytest.mark.parametrize("call", ["io.imread(self.paths[i], as_gray=True)", "iio.imread(self.paths[i], mode='L')"])
def test_other_arguments_are_left_to_the_library(tmp_path: Path, call: str) -> None:
    lines = [f"a = {call}", "torch.from_numpy(a.copy())"]
    dataset = class_of("io.imread", lines)(written(tmp_path, "JPEG"))
    check(Program(loader_of(dataset, batch_size=2), epochs=1), native=False)


def test_a_file_that_is_open_is_left_to_the_library(tmp_path: Path) -> None:
    lines = ["with open(self.paths[i], 'rb') as f: a = iio.imread(f)", "torch.from_numpy(a.copy())"]
    dataset = class_of("iio.imread", lines)(written(tmp_path, "JPEG"))
    check(Program(loader_of(dataset, batch_size=2), epochs=1), native=False)
    assert isinstance(imageio.v3.imread(io.BytesIO(Path(dataset.paths[0]).read_bytes()), extension=".jpg"), np.ndarray)
