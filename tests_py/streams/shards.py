"""Shards of photos, and loaders over them that are compared."""

from __future__ import annotations

import io
import json
import random
import re
import tarfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torchvision.transforms as T
from PIL import Image
from torch.utils import data

import goloader
from goloader.doors.same import difference

SHARDS, SAMPLES = 5, 11

train = T.Compose(
    [T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize((0.5,) * 3, (0.2,) * 3)]
)
crop = T.Compose([T.CenterCrop(20), T.ToTensor()])


def jpeg(number: int, **options: Any) -> bytes:
    """A photo-like image of 40 x 30 pixels, or so."""
    small = np.random.default_rng(number).integers(0, 256, (5, 6, 3), np.uint8)
    image = Image.fromarray(small).resize((40 + number % 3, 30 + number % 5), Image.Resampling.BICUBIC)
    content = io.BytesIO()
    image.save(content, **({"format": "JPEG", "quality": 90} | options))
    return content.getvalue()


def write(path: Path, samples: list[dict[str, Any]], mode: Any = "w") -> str:
    """A shard of samples, each a dict of a key and of files by their suffixes."""
    with tarfile.open(path, mode) as archive:
        for sample in samples:
            for suffix, content in sample.items():
                if suffix != "__key__":
                    member = tarfile.TarInfo(f"{sample['__key__']}.{suffix}")
                    member.size = len(content)
                    archive.addfile(member, io.BytesIO(content))
    return str(path)


def sample(number: int, ending: str = "jpg", **options: Any) -> dict[str, Any]:
    """An image, a class, a caption and what JSON says of it."""
    return {
        "__key__": f"{number:05d}",
        ending: jpeg(number, **options),
        "cls": str(number % 7).encode(),
        "txt": f"caption {number}, größer".encode(),
        "json": json.dumps({"caption": f"of {number}", "number": number, "tags": [number % 2]}).encode(),
    }


def shards(folder: Path, samples: int = SAMPLES) -> list[str]:
    """The usual ones: JPEG and PNG, and one that only Pillow decodes."""
    kinds: list[tuple[str, dict[str, Any]]] = [
        ("jpg", {}), ("jpg", {"progressive": True}), ("png", {"format": "PNG"}), ("jpg", {"format": "PPM"}),
    ]  # fmt: skip
    made = []
    for number in range(SHARDS):
        numbers = range(samples * number, samples * (number + 1))
        files = [sample(at, kinds[at % 4][0], **kinds[at % 4][1]) for at in numbers]
        made.append(write(folder / f"s{number}.tar", files))
    return made


def identity(value: Any) -> Any:
    """Itself."""
    return value


def seed() -> None:
    """All of the process's generators."""
    torch.manual_seed(5)
    random.seed(5)
    np.random.seed(5)


def run(kind: Any, make: Callable[[], Any], options: dict[str, Any], epochs: int = 3) -> tuple[Any, float, Any]:
    """Batches and errors, where torch's generator stands afterwards, and the loader."""
    seed()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loader = kind(make(), **options)
        results: list[Any] = []
        for _ in range(epochs):
            iterator = iter(loader)
            for _ in range(200):
                try:
                    results.append(next(iterator))
                except StopIteration:
                    break
                except Exception as error:
                    text = str(error).rstrip().rpartition("\n")[2]
                    results.append((type(error).__name__, re.sub("0x[0-9a-f]+", "", text)))
    return results, torch.rand(1).item(), loader


def native(loader: Any) -> bool:
    """Whether lanes of the core's made its batches."""
    return any(row.stage == "source" and row.where == "Go" for row in loader.explain())


def compare(theirs: Callable[[], Any], ours: Callable[[], Any], **options: Any) -> Any:
    """Our loader over one dataset, after its batches were compared with those of torch's over another."""
    want, stand, _ = run(data.DataLoader, theirs, options)
    got, stands, loader = run(goloader.DataLoader, ours, options)
    assert difference(want, got) is None
    assert stand == stands
    assert len(want) > 3
    return loader
