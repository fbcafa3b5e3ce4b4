"""Classes that read pictures as tensors, by torchvision.io: our batches are torch's.

WRITTEN are classes as people write them, which have to run in Go. Of odd files it does not matter who makes batches.
"""

from __future__ import annotations

import random
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import photos
import pytest
import torch
import torchvision
import torchvision.transforms as T
import torchvision.transforms.functional as F
from torch.utils import data
from torchvision.io import ImageReadMode, decode_image, decode_jpeg, decode_png, read_file, read_image
from torchvision.transforms import v2
from twins import Program, check, compare, loader_of, run

import goloader
from goloader import selfcheck

pytestmark = pytest.mark.filterwarnings("ignore")

SPACE = {
    "np": np, "torch": torch, "torchvision": torchvision, "T": T, "F": F, "v2": v2, "ImageReadMode": ImageReadMode,
    "random": random, "decode_image": decode_image, "decode_jpeg": decode_jpeg, "decode_png": decode_png,
    "read_file": read_file, "read_image": read_image,
}  # fmt: skip

READERS = {
    "read_image": "read_image(self.paths[i])",
    "of RGB": "torchvision.io.read_image(self.paths[i], ImageReadMode.RGB)",
    "decode_image": "decode_image(read_file(self.paths[i]), mode=ImageReadMode.RGB)",
    "decode_image, unchanged": "torchvision.io.decode_image(torchvision.io.read_file(self.paths[i]))",
}
OF_KIND = {"JPEG": "decode_jpeg(read_file(self.paths[i]))", "PNG": "decode_png(read_file(self.paths[i]))"}

FLOATS = T.Compose([T.ConvertImageDtype(torch.float32), T.Normalize((0.4, 0.5, 0.6), (0.2, 0.3, 0.1))])
VAL = v2.Compose([v2.Resize((21, 18)), v2.ToDtype(torch.float32, scale=True)])
SPACE |= {"FLOATS": FLOATS, "VAL": VAL}

WRITTEN = {
    "bytes": "x",
    "floats": "x.float() / 255.0, self.labels[i]",
    "divided": "x / 255, i",
    "normalized": "{'image': FLOATS(x), 'label': self.labels[i]}",
    "cut": "T.RandomCrop(12)(T.RandomHorizontalFlip()(x)), self.names[i]",
    "resized by v2": "VAL(x)",
    "to Pillow": "T.ToTensor()(F.to_pil_image(x).resize((20, 17)))",
}
SUMMED = {
    "resized": "T.Resize((17, 20))(x).float(), self.labels[i]",
    "resized by a function": "F.resize(x, [20, 31]) / 255, i",
    "cut and resized": "FLOATS(T.RandomResizedCrop(24)(x))",
    "numbers resized": "T.Resize((19, 18))(FLOATS(x))",
}
needs_sums = pytest.mark.skipif(not selfcheck.holds("torch.resize.float"), reason="torch adds in another order here")


class Photos(data.Dataset[Any]):
    """Its __getitem__ is one of those above."""

    def __init__(self, paths: list[Any]) -> None:
        self.paths = paths
        self.labels = [7 * n for n in range(len(paths))]
        self.names = [Path(path).name for path in paths]

    def __len__(self) -> int:
        return len(self.paths)


def class_of(reader: str, given: str) -> type[Photos]:
    space = {**SPACE}
    exec(f"def __getitem__(self, i):\n    x = {reader}\n    return {given}", space)
    return type("Written", (Photos,), {"__getitem__": space["__getitem__"], "__module__": __name__})


def written(folder: Path, kind: str, mode: str = "RGB") -> list[str]:
    """Paths of photos of one size; how many, and how large, is random."""
    width, height = random.randint(20, 60), random.randint(20, 60)
    count = random.randint(5, 13)
    files = [photos.save(photos.picture(width, height, seed).convert(mode), kind) for seed in range(count)]
    photos.lay(folder, {f"{n:02}.{kind.lower()}": content for n, content in enumerate(files)})
    return [str(each) for each in sorted(folder.iterdir())]


def cases() -> list[Any]:
    made = []
    for kind in ("JPEG", "PNG"):
        for name, reader in {**READERS, "of its kind": OF_KIND[kind]}.items():
            made += [pytest.param(reader, kind, given, id=f"{what}: {name}, {kind}") for what, given in WRITTEN.items()]
            made += [
                pytest.param(reader, kind, given, id=f"{what}: {name}, {kind}", marks=needs_sums)
                for what, given in SUMMED.items()
            ]
    return made


@pytest.mark.parametrize(("reader", "kind", "given"), cases())
def test_classes_run_in_go(tmp_path: Path, reader: str, kind: str, given: str, request: Any) -> None:
    number = zlib.crc32(request.node.name.encode())
    random.seed(number)
    paths = written(tmp_path, kind, random.choice(["RGB", "RGB", "L"]) if "FLOATS" not in given else "RGB")
    workers, shuffle = (0, 1, 3)[number % 3], bool(number & 8)
    arguments = {"batch_size": random.randint(1, 4), "shuffle": shuffle, "num_workers": workers}
    check(Program(loader_of(class_of(reader, given)(paths), **arguments), draw=True, seed=number))


# Of palettes of less than 8 bits torchvision leaves the ends of rows as memory was, unless they become RGB.
ODD = {name: content for name, content in photos.odd().items() if name != "two bits.png"}
GREY = "read_image(self.paths[i], ImageReadMode.GRAY)"


@pytest.mark.parametrize("reader", [*READERS.values(), *OF_KIND.values(), GREY])
@pytest.mark.parametrize("name", ODD)
def test_odd_files_are_as_torchvision_decodes_them(tmp_path: Path, reader: str, name: str) -> None:
    good = {f"{n}{Path(name).suffix}": photos.save(photos.picture(30, 24, n), photos.kind_of(name)) for n in range(3)}
    photos.lay(tmp_path, good | {name: ODD[name]})
    paths = [str(tmp_path / each) for each in (*good, name)]
    random.Random(name).shuffle(paths)
    for size in (1, 2):
        made = class_of(reader, "x.float(), self.names[i]")(paths)
        program = Program(loader_of(made, batch_size=size), epochs=1)
        compare(run(goloader.DataLoader, program), run(data.DataLoader, program))


OTHERS = (
    "read_image(self.paths[i], ImageReadMode.RGB_ALPHA)",
    "read_image(self.paths[i], ImageReadMode.GRAY)",
    "read_image(self.paths[i], apply_exif_orientation=True)",
    "decode_jpeg([read_file(self.paths[i])])[0]",
)


@pytest.mark.parametrize("reader", OTHERS)
def test_other_arguments_are_left_to_torchvision(tmp_path: Path, reader: str) -> None:
    made = class_of(reader, "x * 1")(written(tmp_path, "JPEG"))
    program = Program(loader_of(made, batch_size=1), epochs=1)
    assert not goloader.DataLoader(made, trace=False).explain().native
    compare(run(goloader.DataLoader, program), run(data.DataLoader, program))


def test_what_is_not_there_is_told_as_by_torchvision(tmp_path: Path) -> None:
    for reader in READERS.values():
        made = class_of(reader, "x * 1")([*written(tmp_path, "PNG")[:3], str(tmp_path / "none.png"), ""])
        for workers in (0, 1):
            program = Program(loader_of(made, batch_size=1, num_workers=workers), epochs=1)
            compare(run(goloader.DataLoader, program), run(data.DataLoader, program))


def test_functions_that_were_replaced_are_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = class_of("read_image(self.paths[i])", "x")(written(tmp_path, "JPEG"))
    loader = goloader.DataLoader(made, trace=False)
    assert loader.explain().native
    for name in ("decode_image", "read_file"):
        with monkeypatch.context() as patch:
            original = getattr(torchvision.io.image, name)
            patch.setattr(
                torchvision.io.image, name, lambda *given, original=original, **named: original(*given, **named)
            )
            assert not loader.explain().native, name
        assert loader.explain().native, name
