"""Images in a bucket, an object each or in shards, from a store that takes 20 or 100 ms for each answer.

    python -m bench.remote [--delays 20ms,100ms] [--count 2048] [--rounds 3] [--contenders goloader,boto3-8,boto3]

What: images per second over a whole shuffled epoch after a first one, of ~100 KB JPEGs with RandomResizedCrop(224),
flip, ToTensor and Normalize, batches of 64. A class that fetches each image with urllib, boto3, s3fs or
s3torchconnector runs under torch's DataLoader with 8 and 32 workers, and unchanged under goloader's with 2. webdataset
reads shards of 64 images over HTTP, under torch's with 8 workers and under goloader's with 2. MosaicML's streaming and
LitData read shards of their own formats, which are written before, with 8 workers. They keep them on a disk, as does
"cached".

How: a server on this machine (tests_go/source/bucket) waits before each answer. It takes some of the cores' time, from
everybody. A process a contender, in turn, every second round backwards; ours must come wholly from Go. "goloader" is
ImageFolder("s3://..."), "cached" that with cache= a fresh folder on this machine's disk, which the first epoch fills,
and "in memory" that over the same files without a server: what decoding on this machine allows.

How to read: the last column is a contender's figure over the best of torch's with the same library, and for those of
ImageFolder over the best of all that take an object for each image. Ratios are taken inside a round, their median is
shown.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import urlopen

import boto3
import s3fs
import torch
import webdataset
from PIL import Image
from s3torchconnector import S3ClientConfig, S3MapDataset
from torch.utils.data import DataLoader, Dataset
from torchvision.datasets import ImageFolder

import goloader
from bench import harness, keepers, photos
from bench.keepers import KEEPERS
from bench.storage import TRANSFORM, slow
from goloader.datasets import ImageFolder as RemoteFolder

SHARD = 64
WORKERS = 2
FOLDERS = {
    "goloader": "goloader, ImageFolder('s3://...')",
    "cached": "the same, kept on a disk",
    "in-memory": "the same, files in memory",
}
# Each with the numbers of torch's workers.
OBJECTS = {"urllib": (8, 32), "boto3": (8, 32), "s3fs": (8, 32), "s3torchconnector": (8, 32)}
LIBRARIES = OBJECTS | {"webdataset": (8,)}
KEPT = {f"{name}-8": f"{peer.title}, torch, 8 workers" for name, peer in KEEPERS.items()}
CONTENDERS = (
    FOLDERS
    | KEPT
    | {
        name: title
        for library, each in LIBRARIES.items()
        for name, title in (
            *((f"{library}-{workers}", f"{library}, torch, {workers} workers") for workers in each),
            (library, f"{library}, goloader, {WORKERS} workers"),
        )
    }
)


class Fetched(Dataset[Any]):
    """A bucket's images as people read them: each by a request of its own. Clients are made by the first sample."""

    def __init__(self, root: str) -> None:
        self.samples = [(str(path), label) for path, label in RemoteFolder(root).samples]
        self.client: Any = None

    def __len__(self) -> int:
        return len(self.samples)


class Urllib(Fetched):
    """With a connection for each image."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        server = os.environ["AWS_ENDPOINT_URL"]
        self.urls = [f"{server}/{quote(path.removeprefix('s3://'))}" for path, _ in self.samples]

    def __getitem__(self, index: int) -> Any:
        with urlopen(self.urls[index]) as answer:
            image = Image.open(io.BytesIO(answer.read())).convert("RGB")
        return TRANSFORM(image), self.samples[index][1]


class Boto3(Fetched):
    """With boto3's client."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.bucket = root.removeprefix("s3://")
        self.keys = [path.removeprefix(f"{root}/") for path, _ in self.samples]

    def __getitem__(self, index: int) -> Any:
        if self.client is None:
            self.client = boto3.client("s3")
        body = self.client.get_object(Bucket=self.bucket, Key=self.keys[index])["Body"].read()
        return TRANSFORM(Image.open(io.BytesIO(body)).convert("RGB")), self.samples[index][1]


class S3fs(Fetched):
    """With s3fs's file system."""

    def __getitem__(self, index: int) -> Any:
        if self.client is None:
            self.client = s3fs.S3FileSystem()
        path, label = self.samples[index]
        return TRANSFORM(Image.open(io.BytesIO(self.client.cat_file(path))).convert("RGB")), label


def labelled(reader: Any, classes: dict[str, int]) -> Any:
    """A sample of s3torchconnector's."""
    return TRANSFORM(Image.open(io.BytesIO(reader.read())).convert("RGB")), classes[reader.key.split("/")[-2]]


def connected(root: str) -> Any:
    """s3torchconnector's own dataset, as its readme has it."""
    folder = RemoteFolder(root)
    return S3MapDataset.from_objects(
        [str(path) for path, _ in folder.samples],
        region=os.environ["AWS_REGION"],
        endpoint=os.environ["AWS_ENDPOINT_URL"],
        transform=partial(labelled, classes=folder.class_to_idx),
        s3client_config=S3ClientConfig(force_path_style=True),
    )


def piped(root: str) -> Any:
    """webdataset's pipeline over shards of a web server."""
    urls = f"{os.environ['AWS_ENDPOINT_URL']}/{root.removeprefix('s3://')}"
    read = webdataset.WebDataset(urls, shardshuffle=100, nodesplitter=webdataset.split_by_node)
    return read.shuffle(512).decode("pil").to_tuple("jpg", "cls").map_tuple(TRANSFORM, int)


DATASETS: dict[str, Callable[[str], Any]] = {
    "goloader": lambda root: RemoteFolder(root, TRANSFORM),
    "in-memory": lambda root: ImageFolder(root, TRANSFORM),
    "urllib": Urllib,
    "boto3": Boto3,
    "s3fs": S3fs,
    "s3torchconnector": connected,
    "webdataset": piped,
}


def contend(name: str, root: str, count: int) -> None:
    """The child: prints the images per second of the second epoch."""
    torch.set_num_threads(1)
    library, _, workers = name.partition("-")
    with tempfile.TemporaryDirectory(prefix="goloader-bench-", ignore_cleanup_errors=True) as kept:  # it is written to
        of_torch = workers.isdecimal()
        loader: Any
        if name in KEPT:
            loader = keepers.loader(library, root, kept, TRANSFORM, int(workers))
        else:
            if name == "cached":
                dataset: Any = RemoteFolder(root, TRANSFORM, cache=kept)
            else:
                dataset = DATASETS[name if name in DATASETS else library](root)
            loader = (DataLoader if of_torch else goloader.DataLoader)(
                dataset,
                batch_size=64,
                shuffle=None if library == "webdataset" else True,
                num_workers=int(workers) if of_torch else WORKERS,
                persistent_workers=True,
            )
        for epoch in range(2):
            start = time.perf_counter()
            seen = sum(len(images) for images, _ in loader)
            rate = seen / (time.perf_counter() - start)
            harness.say(f"  epoch {epoch}: {rate:.0f} images/s")
            if seen != count:
                raise SystemExit(f"{name} gives {seen} images, not {count}")
        if not of_torch and not loader.explain().native:
            raise SystemExit(f"{name} does not come from Go:\n{loader.explain()}")
    print(json.dumps({"rate": rate}))


# What no contender takes, unless it hangs.
_RUN_S_MAX = 900


def run(name: str, root: str, count: int, shards: str = "") -> float:
    """One process. It writes shards, if it is given a folder for them."""
    python: Any = KEEPERS[name.partition("-")[0]].python if name in KEPT else sys.executable
    command = [python, "-W", "ignore", "-m", "bench.remote", f"--child={name}", f"--root={root}", f"--shards={shards}"]
    done = subprocess.run([*command, f"--count={count}"], stdout=subprocess.PIPE, check=True, timeout=_RUN_S_MAX)
    rate: float = json.loads(done.stdout.splitlines()[-1])["rate"]
    return rate


def rivals(name: str) -> list[str]:
    """What a contender is compared with."""
    if name in KEPT:
        return [name]
    libraries = OBJECTS if name in FOLDERS else [name.partition("-")[0]]
    return [f"{library}-{workers}" for library in libraries for workers in LIBRARIES[library]]


def table(found: dict[str, list[float]], delay: str) -> str:
    """A line a contender."""
    lines = [f"{delay} for each answer".ljust(36) + f"{'images/s':>10}{'/ torch best':>14}"]
    for name, rates in found.items():
        others = [found[rival] for rival in rivals(name) if rival in found]
        ratios = [rate / max(those) for rate, *those in zip(rates, *others, strict=True)] if others else []
        ratio = f"{statistics.median(ratios):.2f}x" if ratios else ""
        lines.append(f"{CONTENDERS[name]:36}{statistics.median(rates):10.0f}{ratio:>14}")
    if {"goloader", "cached", "in-memory"} <= found.keys():
        for name in ("goloader", "cached"):
            pairs = zip(found[name], found["in-memory"], strict=True)
            lines.append(f"{name} / in memory: {statistics.median(one / other for one, other in pairs):.2f}x")
    for name in KEPT.keys() & found.keys() if "cached" in found else ():
        pairs = zip(found["cached"], found[name], strict=True)
        lines.append(f"cached / {name}: {statistics.median(one / other for one, other in pairs):.2f}x")
    return "\n".join(lines)


def tables(found: dict[str, dict[str, list[float]]]) -> str:
    """One a delay."""
    return "\n\n".join(table(rates, delay) for delay, rates in found.items())


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Compare loaders over images in a bucket.")
    parser.add_argument("--delays", default="20ms,100ms", help="of each answer (default: %(default)s)")
    parser.add_argument("--count", type=int, default=2048, help="images (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each contender (default: %(default)s)")
    parser.add_argument("--contenders", help=f"comma-separated (default: all of {','.join(CONTENDERS)})")
    parser.add_argument("--output", type=Path, default=harness.RESULTS / "remote.json")
    parser.add_argument("--child", choices=CONTENDERS, help=argparse.SUPPRESS)
    parser.add_argument("--root", help=argparse.SUPPRESS)
    parser.add_argument("--shards", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.child:
        if arguments.shards:
            keepers.write(
                arguments.child.partition("-")[0], ImageFolder(arguments.root).samples, arguments.shards, SHARD
            )
            print(json.dumps({"rate": 0}))
        else:
            contend(arguments.child, arguments.root, arguments.count)
        return
    names = harness.chosen(parser, arguments.contenders, CONTENDERS, "contender")
    for name in [name for name in names if name in KEPT and not KEEPERS[name.partition("-")[0]].python.exists()]:
        harness.say(f"{name} is not installed: {KEEPERS[name.partition('-')[0]].install}")
        names.remove(name)
    about = {"date": harness.now(), "machine": harness.machine(), "count": arguments.count}
    folder = photos.ensure_photos(photos.Settings(count=arguments.count))
    os.environ |= {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_REGION": "us-east-1"}
    found: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory(prefix="goloader-bench-") as scratch:
        folders = dict.fromkeys(names, folder)
        for name in names:
            if name in KEPT or name.startswith("webdataset"):
                folders[name] = Path(scratch, name.partition("-")[0])
        urls = ""
        for name, shards in folders.items():
            if shards == folder or shards.exists():
                continue
            shards.mkdir()
            if name in KEPT:
                run(name, str(folder), arguments.count, str(shards))
            else:
                urls = photos.pack(ImageFolder(str(folder)).samples, shards, -(-arguments.count // SHARD))
        for delay in arguments.delays.split(","):
            rates = found.setdefault(delay, {name: [] for name in names})
            for turn in range(arguments.rounds):
                for name in names[:: 1 if turn % 2 == 0 else -1]:
                    harness.say(f"{delay}: {name} ...")
                    with slow(folders[name], delay, bucket=True) as there:
                        sharded = name.startswith("webdataset")
                        root = str(folder) if name == "in-memory" else f"{there}/{urls}" if sharded else there
                        try:
                            rates[name].append(run(name, root, arguments.count))
                        except subprocess.SubprocessError as error:
                            if name not in KEPT:
                                raise
                            harness.say(f"{name} is left out: {error}")
                            names.remove(name)
                            del rates[name]
            kept = {"scenario": "remote", **about, "contenders": found}
            arguments.output.write_text(json.dumps(kept, indent=2) + "\n")
    print(tables(found))


if __name__ == "__main__":
    main()
