"""An image folder, or rows of an array, on a storage that takes 50 ms for each opening and reading.

    python -m bench.storage [--delay 50ms] [--count 2048] [--rounds 3] [--contenders goloader,torch-2,torch-8,torch-32]
    python -m bench.storage --arrays --delay 10ms

What: images per second over a whole shuffled epoch after a first one, of ~100 KB JPEGs with RandomResizedCrop(224),
flip, ToTensor and Normalize, batches of 64: goloader with num_workers=2, torch's DataLoader with 2, 8 and 32.

How: the folder is mounted by FUSE (tests_go/source/faultfs, which needs /dev/fuse and root), which sleeps before it
opens a file and before each reading of it. A process a contender, in turn. The file system itself takes some of the
cores' time, from everybody. With --arrays all take the same ArrayDataset of a .npy file there, with rows of 128 KB:
shuffled, in batches of 16, again in a second epoch. Nothing of that file is in the page cache.

How to read: 'it / that' is goloader's figure over that one's. "in memory" is goloader over the same files without the
delay: what decoding on this machine allows.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torchvision.transforms as T
from torchvision.datasets import ImageFolder

import goloader
from bench import harness, photos

ROOT = Path(__file__).parents[1]
ROW_BYTES = 128 << 10
TRANSFORM = T.Compose(
    [
        T.RandomResizedCrop(224),
        T.RandomHorizontalFlip(),
        T.ToTensor(),
        T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    ]
)
CONTENDERS = {
    "goloader": "goloader, 2 workers",
    "in-memory": "goloader, 2 workers, in memory",
    "torch-2": "torch, 2 workers",
    "torch-8": "torch, 8 workers",
    "torch-32": "torch, 32 workers",
}


@contextmanager
def slow(folder: Path, delay: str, bucket: bool = False) -> Iterator[str]:
    """The folder at another place, where each opening and reading takes longer: a file system, or a bucket."""
    go = shutil.which("go")
    if go is None:
        raise SystemExit("go is needed: see scripts/setup.sh")
    with tempfile.TemporaryDirectory(prefix="goloader-bench-") as scratch:
        command, point = Path(scratch, "command"), Path(scratch, "slow")
        point.mkdir()
        source = "bucket" if bucket else "faultfs/mount"
        subprocess.run([go, "build", "-o", command, f"./tests_go/source/{source}"], cwd=ROOT, check=True)
        places = [folder] if bucket else [folder, point]
        server = subprocess.Popen(
            [command, "-delay", delay, *places], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert server.stdout is not None
        said = server.stdout.readline().strip()
        try:
            if bucket:
                os.environ["AWS_ENDPOINT_URL"] = said
                yield f"s3://{folder.name}"
            elif said == "mounted":
                yield str(point)
            else:
                raise SystemExit("the slow file system cannot be mounted: it needs /dev/fuse, and root")
        finally:
            server.communicate()


def write_rows(path: Path, count: int) -> None:
    """The number of each row at its beginning; the rest are holes of the file."""
    rows = np.lib.format.open_memmap(path, "w+", np.float32, (count, ROW_BYTES // 4))
    rows[:, 0] = np.arange(count)
    rows.flush()


def contend_arrays(name: str, path: str) -> None:
    """The child: prints the rows per second."""
    of_torch = name.startswith("torch")
    workers = int(name.removeprefix("torch-")) if of_torch else 2
    rows = goloader.ArrayDataset(path)
    loader: Any = (torch.utils.data.DataLoader if of_torch else goloader.DataLoader)(
        rows, batch_size=16, shuffle=True, num_workers=workers, persistent_workers=True
    )
    for epoch in range(2):
        start = time.perf_counter()
        seen = [int(number) for (batch,) in loader for number in batch[:, 0]]
        rate = len(seen) / (time.perf_counter() - start)
        harness.say(f"  epoch {epoch}: {rate:.0f} rows/s")
        if sorted(seen) != list(range(len(rows))):
            raise SystemExit(f"{name} gives other rows")
    if not of_torch and not loader.explain().native:
        raise SystemExit(f"the rows do not come from Go:\n{loader.explain()}")
    print(json.dumps({"rate": rate}))


def contend(name: str, root: str) -> None:
    """The child: prints the images per second of the second epoch."""
    torch.set_num_threads(1)
    if root.endswith(".npy"):
        contend_arrays(name, root)
        return
    of_torch = name.startswith("torch")
    workers = int(name.removeprefix("torch-")) if of_torch else 2
    loader: Any = (torch.utils.data.DataLoader if of_torch else goloader.DataLoader)(
        ImageFolder(root, TRANSFORM), batch_size=64, shuffle=True, num_workers=workers, persistent_workers=True
    )
    for epoch in range(2):
        start, seen = time.perf_counter(), 0
        for images, _ in loader:
            seen += len(images)
        rate = seen / (time.perf_counter() - start)
        harness.say(f"  epoch {epoch}: {rate:.0f} images/s")
    print(json.dumps({"rate": rate}))


def run(name: str, folder: str) -> float:
    """One process."""
    command = [sys.executable, "-W", "ignore", "-m", "bench.storage", "--child", name, "--root", folder]
    figures: dict[str, float] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return figures["rate"]


def table(found: dict[str, list[float]], delay: str, unit: str) -> str:
    """Medians of the rounds, a line a contender."""
    median = {name: statistics.median(rates) for name, rates in found.items()}
    lines = [f"{delay} for each opening and reading", f"{'':34}{unit:>10}{'it / that':>12}"]
    for name, rate in median.items():
        ratio = f"{median['goloader'] / rate:.2f}x" if "goloader" in median else ""
        lines.append(f"{CONTENDERS[name]:34}{rate:10.0f}{ratio:>12}")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Compare loaders over an image folder on a slow storage.")
    parser.add_argument("--delay", default="50ms", help="of each opening and reading (default: %(default)s)")
    parser.add_argument("--count", type=int, default=2048, help="images (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each contender (default: %(default)s)")
    parser.add_argument("--contenders", help=f"comma-separated (default: all of {','.join(CONTENDERS)})")
    parser.add_argument("--arrays", action="store_true", help="rows of a .npy file, not images")
    parser.add_argument("--output", type=Path, default=harness.RESULTS / "storage.json")
    parser.add_argument("--child", choices=CONTENDERS, help=argparse.SUPPRESS)
    parser.add_argument("--root", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.child:
        contend(arguments.child, arguments.root)
        return
    names = harness.chosen(parser, arguments.contenders, CONTENDERS, "contender")
    about = {"date": harness.now(), "machine": harness.machine(), "delay": arguments.delay, "count": arguments.count}
    found: dict[str, list[float]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory(prefix="goloader-bench-") as scratch:
        if arguments.arrays:
            folder, file = Path(scratch), "rows.npy"
            write_rows(folder / file, arguments.count)
        else:
            folder, file = photos.ensure_photos(photos.Settings(count=arguments.count)), ""
        with slow(folder, arguments.delay) as there:
            for _ in range(arguments.rounds):
                for name in names:
                    harness.say(f"{name} ...")
                    found[name].append(run(name, os.path.join(folder if name == "in-memory" else there, file)))
    print(table(found, arguments.delay, "rows/s" if arguments.arrays else "images/s"))
    scenario = "storage of arrays" if arguments.arrays else "storage"
    arguments.output.write_text(json.dumps({"scenario": scenario, **about, "contenders": found}, indent=2) + "\n")


if __name__ == "__main__":
    main()
