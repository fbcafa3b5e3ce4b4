"""A cache for images in a bucket: how many reads it serves where a part of them fits, and later epochs from a disk.

    python -m bench.cache [--count 1024] [--epochs 4] [--rounds 6]

What: the share of the reads that a cache serves in shuffled epochs after the first, where a quarter, a half and three
quarters of the images' bytes fit into it, in memory and on a disk; and what a cache of as many bytes would have served
of the same order that evicts what was used longest ago. Then, images a second and CPU time of epochs that a disk serves
whole, over those of the same files in a local folder, both by goloader.

How: a server on this machine (tests_go/source/bucket) answers after 1 ms. Images and transform are those of
bench.remote. Hits are those that goloader counts. Speeds are of one process, an epoch of each in turn, every second
round backwards. The ratio is taken inside a round, and the median is shown.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Sampler
from torchvision.datasets import ImageFolder

import goloader
from bench import harness, photos
from bench.storage import TRANSFORM, slow
from goloader.datasets import CacheOptions
from goloader.datasets import ImageFolder as RemoteFolder

SHARES = (25, 50, 75)
ARGUMENTS: dict[str, Any] = {"batch_size": 64, "num_workers": 2, "persistent_workers": True}
# A file on a disk has a head, and takes whole blocks.
HEAD, BLOCK = 64, 4096


class Noted(Sampler[int]):
    """Random orders, kept."""

    def __init__(self, count: int) -> None:
        self.count, self.asked = count, list[int]()

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[int]:
        order = torch.randperm(self.count).tolist()
        self.asked += order
        return iter(order)


def least_recently_used(asked: Sequence[int], sizes: Sequence[int], limit: int) -> list[bool]:
    """Which reads a cache of so many bytes would serve that evicts what was used longest ago."""
    kept, used, served = OrderedDict[int, int](), 0, []
    for index in asked:
        served.append(index in kept)
        if index in kept:
            kept.move_to_end(index)
            continue
        kept[index] = sizes[index]
        used += sizes[index]
        while used > limit:
            used -= kept.popitem(last=False)[1]
    return served


def hits(root: str, sizes: Sequence[int], cache: CacheOptions, limit: int, epochs: int) -> dict[str, float]:
    """The share of the reads after the first epoch that ours serves, and that the other would."""
    folder, order = RemoteFolder(root, TRANSFORM, cache=cache), Noted(len(sizes))
    loader: Any = goloader.DataLoader(folder, sampler=order, **ARGUMENTS)
    counted = []
    for _ in range(epochs):
        for _ in loader:
            pass
        found = loader.stats().cache
        counted.append(found["ram_hits"] + found["disk_hits"])
    reads = (epochs - 1) * len(sizes)
    lru = least_recently_used(order.asked, sizes, limit)
    return {"ours": (counted[-1] - counted[0]) / reads, "lru": sum(lru[len(sizes) :]) / reads}


def speeds(root: str, local: Path, kept: Path, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Images a second and CPU seconds of each round, after an epoch of each that does not count."""
    sets: dict[str, Any] = {
        "cached": RemoteFolder(root, TRANSFORM, cache=kept),
        "local": ImageFolder(str(local), TRANSFORM),
    }
    loaders: dict[str, Any] = {
        name: goloader.DataLoader(each, shuffle=True, **ARGUMENTS) for name, each in sets.items()
    }
    found: dict[str, dict[str, list[float]]] = {name: {"rate": [], "cpu_s": []} for name in sets}
    for turn in range(rounds + 1):
        for name in list(sets)[:: 1 if turn % 2 == 0 else -1]:
            start, before = time.perf_counter(), time.process_time()
            seen = sum(len(images) for images, _ in loaders[name])
            if turn > 0:
                found[name]["rate"].append(seen / (time.perf_counter() - start))
                found[name]["cpu_s"].append(time.process_time() - before)
    if loaders["cached"].stats().cache["misses"] != len(sets["cached"]):
        raise SystemExit("the disk does not serve all later epochs")
    return found


def table(kept: dict[str, Any]) -> str:
    """A line a share, and the speed."""
    lines = [f"{'of the bytes fit':20}{'in memory':>12}{'on a disk':>12}{'LRU, as many bytes':>21}"]
    for share, each in kept["hits"].items():
        figures = [each["ram"]["ours"], each["disk"]["ours"], each["ram"]["lru"]]
        cells = (f"{figure:{width}.1%}" for figure, width in zip(figures, (12, 12, 21), strict=True))
        lines.append(f"{share + '%':20}{''.join(cells)}")
    for figure, title in (("rate", "images a second"), ("cpu_s", "CPU time")):
        pairs = zip(kept["speeds"]["cached"][figure], kept["speeds"]["local"][figure], strict=True)
        ratio = statistics.median(one / other for one, other in pairs)
        lines.append(f"{title} from a disk / from the local folder: {ratio:.2f}x")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Measure a cache for images in a bucket.")
    parser.add_argument("--count", type=int, default=1024, help="images (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=4, help="for hits, one to fill it (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=6, help="epochs of each for the speed (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=harness.RESULTS / "cache.json")
    arguments = parser.parse_args(argv)
    about = {"date": harness.now(), "machine": harness.machine(), "count": arguments.count}
    torch.set_num_threads(1)
    folder = photos.ensure_photos(photos.Settings(count=arguments.count))
    sizes = [Path(path).stat().st_size for path, _ in ImageFolder(str(folder)).samples]
    taken = [-(-(HEAD + size) // BLOCK) * BLOCK for size in sizes]
    os.environ |= {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_REGION": "us-east-1"}
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="goloader-bench-") as scratch, slow(folder, "1ms", bucket=True) as root:
        for share in SHARES:
            harness.say(f"{share}% ...")
            ram, disk = (sum(bytes_of) * share // 100 for bytes_of in (sizes, taken))
            place = Path(scratch, str(share))
            found[str(share)] = {
                "ram": hits(root, sizes, CacheOptions(ram=ram), ram, arguments.epochs),
                "disk": hits(root, taken, CacheOptions(disk=place, disk_size=disk), disk, arguments.epochs),
            }
        harness.say("speed ...")
        measured = speeds(root, folder, Path(scratch, "whole"), arguments.rounds)
    kept = {"scenario": "cache", **about, "hits": found, "speeds": measured}
    print(table(kept))
    arguments.output.write_text(json.dumps(kept, indent=2) + "\n")


if __name__ == "__main__":
    main()
