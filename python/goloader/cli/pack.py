"""python -m goloader pack and verify: samples into tar archives, as WebDataset has them, and whether they are whole."""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import re
import sys
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

from . import objects

# A sample's files: what stands behind the first dot of their names, and the bytes.
_Files: TypeAlias = dict[str, bytes]

# As sha256sum writes and checks it.
_SUMS = "SHA256SUMS"
_PART = ".part"


def add(commands: Any) -> None:
    parser = commands.add(
        "pack",
        _pack,
        help="write a folder of images or a dataset into tar archives",
        description=(
            "Writes tar archives in WebDataset's layout. The name of an archive has the numbers of its samples, and "
            f"{_SUMS} has the checksums. If it is interrupted, run it again: it continues after the last complete "
            "archive. A folder's images are copied unchanged, each with its class number (.cls). From a dataset, an "
            "image becomes .png, a tensor or array .npy, an int .cls, a text .txt and anything else .json. Bytes "
            "become a file with their name as suffix (jpg). The name in a dict or the position in a tuple comes first "
            "(image.png), except for a pair of an image, tensor or array and an int."
        ),
    )
    parser.add_argument(
        "source", metavar="FOLDER | MODULE:OBJECT", help=f"a folder of classes, or a dataset: {objects.HELP}"
    )
    parser.add_argument("out", metavar="OUT", type=Path, help="folder for the archives; created if it does not exist")
    parser.add_argument("--samples", type=int, default=4096, metavar="N", help="samples in an archive (%(default)s)")
    checker = commands.add(
        "verify",
        _verify,
        help="check archives that pack wrote",
        description=f"Compares archives with {_SUMS} and reads each.",
    )
    checker.add_argument("out", metavar="OUT", type=Path, help="the folder that pack wrote")
    checker.add_argument("--decode", action="store_true", help="also decode all images")


def _pack(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> int:
    if parsed.samples < 1:
        parser.error("--samples is below 1")
    count, files = _source(parser, parsed.source)
    out: Path = parsed.out
    out.mkdir(parents=True, exist_ok=True)
    sums = _read_sums(out)
    digits = max(len(str(count - 1)), 6)
    shards = {
        f"{begin:0{digits}}-{min(begin + parsed.samples, count) - 1:0{digits}}.tar": begin
        for begin in range(0, count, parsed.samples)
    }
    if strangers := sorted({path.name for path in out.glob("*.tar")} - set(shards)):
        print(f"goloader: {out / strangers[0]} is none of this set's archives: give another folder", file=sys.stderr)
        return 1
    for name, begin in shards.items():
        if name in sums and (out / name).exists():
            continue
        numbers = range(begin, min(begin + parsed.samples, count))
        try:
            sums[name] = _write(out / name, ((f"{i:0{digits}}", files(i)) for i in _shown(numbers, name)))
        except (OSError, TypeError, ValueError) as error:
            print(f"goloader: {error}", file=sys.stderr)
            return 1
        text = "".join(f"{sums[each]}  {each}\n" for each in shards if each in sums)
        _replace(out / _SUMS, lambda file, text=text: file.write(text.encode()))  # type: ignore[misc]
    print(f"{count} samples in {len(shards)} archives in {out}")
    return 0


def _shown(numbers: Iterable[int], name: str) -> Iterator[int]:
    """The numbers, with a progress bar on a terminal if tqdm is installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        return iter(numbers)
    return iter(tqdm(numbers, name, unit=" samples", disable=None))


def _source(parser: argparse.ArgumentParser, source: str) -> tuple[int, Callable[[int], _Files]]:
    """How many samples there are, and what gives the files of one."""
    if os.path.isdir(source):
        from ..datasets import ImageFolder

        try:
            samples = ImageFolder(source).samples
        except OSError as error:
            parser.error(str(error))

        def of_folder(number: int) -> _Files:
            path, target = samples[number]
            return {os.path.splitext(path)[1][1:].lower(): Path(path).read_bytes(), "cls": str(target).encode()}

        return len(samples), of_folder
    dataset = objects.find(parser, source)
    if not hasattr(type(dataset), "__getitem__") or not hasattr(type(dataset), "__len__"):
        parser.error(f"{source} gives a {type(dataset).__qualname__}, no dataset with a length and an index")
    return len(dataset), lambda number: _encoded(number, dataset[number])


def _encoded(number: int, sample: Any) -> _Files:
    """The files of a dataset's sample. Raises TypeError."""
    if isinstance(sample, Mapping):
        named = [(str(name), value) for name, value in sample.items() if not str(name).startswith("__")]
    else:
        parts = sample if isinstance(sample, tuple | list) else [sample]
        named = [(str(place), part) for place, part in enumerate(parts)]
    bodies: list[tuple[str, str, bytes]] = []
    for name, value in named:
        if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
            raise TypeError(f"sample {number}: {name!r} cannot be part of a file's name")
        try:
            bodies.append((name, *_file(value)))
        except Exception as error:
            raise TypeError(f"sample {number}: {name!r} is a {type(value).__qualname__}: {error}") from error
    # As ImageFolder has them.
    classified = not isinstance(sample, Mapping) and [each[1] for each in bodies] in (["png", "cls"], ["npy", "cls"])
    files: _Files = {}
    for name, suffix, body in bodies:
        full = suffix if classified or name == suffix else f"{name}.{suffix}".rstrip(".")
        if full.lower() in files:
            raise TypeError(f"sample {number} has two files .{full.lower()}")
        files[full.lower()] = body
    if not files:
        raise TypeError(f"sample {number} has nothing in it")
    return files


def _file(value: Any) -> tuple[str, bytes]:
    """The suffix and the bytes of the file that holds a value; of bytes no suffix."""
    import numpy as np
    import torch
    from PIL import Image

    file = io.BytesIO()
    match value:
        case bytes():
            return "", value
        case Image.Image():
            value.save(file, "PNG")
            return "png", file.getvalue()
        case torch.Tensor() | np.ndarray():
            np.save(file, np.asarray(value), allow_pickle=False)
            return "npy", file.getvalue()
        case str():
            return "txt", value.encode()
        case bool():
            return "json", json.dumps(value).encode()
        case int() | np.integer():
            return "cls", str(int(value)).encode()
    return "json", json.dumps(value).encode()


def _write(path: Path, samples: Iterable[tuple[str, _Files]]) -> str:
    """Writes an archive, whole or not at all; its checksum. The same samples make the same bytes."""

    def fill(file: Any) -> None:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for key, files in samples:
                for suffix, body in files.items():
                    member = tarfile.TarInfo(f"{key}.{suffix}")
                    member.size, member.mode = len(body), 0o644
                    archive.addfile(member, io.BytesIO(body))

    _replace(path, fill)
    return _sum(path)


def _replace(path: Path, fill: Callable[[Any], Any]) -> None:
    part = path.with_name(path.name + _PART)
    with part.open("wb") as file:
        fill(file)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def _sum(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _read_sums(out: Path) -> dict[str, str]:
    path = out / _SUMS
    lines = path.read_text().splitlines() if path.exists() else []
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def _verify(_: argparse.ArgumentParser, parsed: argparse.Namespace) -> int:
    from ..datasets import TarDataset

    out: Path = parsed.out
    sums = _read_sums(out)
    wrong = [] if sums else [f"{out / _SUMS} names no archives"]
    paths = {out / name for name in sums} | set(out.glob("*.tar"))
    count = 0
    for path in sorted(paths):
        if path.name not in sums:
            wrong.append(f"{path} is not in {_SUMS}")
        elif not path.exists():
            wrong.append(f"{path} is not there")
        elif _sum(path) != sums[path.name]:
            wrong.append(f"{path} is not what was written: its checksum differs")
        else:
            dataset = TarDataset(path, index=False)
            count += len(dataset)
            if parsed.decode:
                with ThreadPoolExecutor(os.cpu_count()) as pool:
                    wrong += filter(None, pool.map(_damage, dataset.members))
    print(*wrong, f"{count} samples in {len(paths)} archives are sound" if not wrong else "", sep="\n", end="")
    print()
    return 1 if wrong else 0


def _damage(listed: tuple[Any, int]) -> str:
    """What is wrong with a member that is to be an image."""
    from torchvision.datasets.folder import IMG_EXTENSIONS

    from ..plan.datasets.known.image_folders import open_member

    if listed[0].lower().endswith(IMG_EXTENSIONS):
        try:
            open_member(listed[0]).load()
        except Exception as error:
            return f"{listed[0]}: {error}"
    return ""
