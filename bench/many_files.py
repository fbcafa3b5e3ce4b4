"""Memory of a loader over an image folder of millions of files.

    python -m bench.many_files [--files 5000000] [--workers 8] [--samples N] [--rounds 1] [--contenders goloader,torch]

What: how long the list of files takes, and the peak memory of the whole process tree, workers included, over a whole
shuffled epoch. Torch's list is one Python tuple and one string a file, which lie in one page with some forty others:
reading an entry counts a reference, and so each worker copies the page. By the end of an epoch every worker has nearly
all of them. goloader's list is one piece of memory that nobody copies.

How: a folder of classes that are links to a few real folders, so that it has millions of paths and few files; images
are PNGs of 8x8, so that decoding is nothing. A process a contender, in turn; memory is the sum of PSS (shared pages
counted once), sampled four times a second, less often where a sample takes long. Every contender reads the same number
of samples: the epoch, or the first --samples of it.

How to read: 'peak MiB' has what importing torch takes in it, 'list' is the same less the peak over a folder of one
class; 'bytes/file' is that list without the bytes of the paths themselves. 'torch / it' is to be TARGET or more. JPEGs
have a seek index besides, at most 512 MiB of it whatever their number.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from bench import harness

CLASSES, BATCH = 1000, 250
TARGET = 5  # times less memory than torch's
CONTENDERS = {
    "goloader": "goloader, its ImageFolder",
    "goloader_torchvision": "goloader, torchvision's ImageFolder",
    "torch": "torch, torchvision's ImageFolder",
}


def make_tree(root: Path, files: int, classes: int) -> None:
    """files paths in so many classes, all links to one folder."""
    real = root / "real"
    real.mkdir(parents=True)
    first = real / "0000000.png"
    Image.new("RGB", (8, 8), (200, 100, 50)).save(first)
    for number in range(1, files // classes):
        (real / f"{number:07}.png").hardlink_to(first)
    for label in range(classes):
        (root / "tree" / f"class_{label:05}").parent.mkdir(exist_ok=True)
        (root / "tree" / f"class_{label:05}").symlink_to(real)


def contend(name: str, root: str, workers: int, samples: int) -> None:
    """The child: lists the files, reads so many of an epoch, prints the seconds that listing and reading took."""
    import torch
    import torchvision.transforms as T
    from torch.utils.data import DataLoader
    from torchvision import datasets

    if name != "torch":
        from goloader import DataLoader
    if name == "goloader":
        from goloader import datasets
    torch.set_num_threads(1)
    start = time.perf_counter()
    dataset = datasets.ImageFolder(root, T.PILToTensor())
    list_s = time.perf_counter() - start
    options: dict[str, Any] = {"batch_size": BATCH, "shuffle": True, "persistent_workers": workers > 0}
    loader: Any = DataLoader(dataset, num_workers=workers, **options)
    seen, start = 0, time.perf_counter()
    for images, _ in loader:
        seen += len(images)
        if seen >= samples:
            break
    read_s = time.perf_counter() - start
    path_bytes = len(dataset.samples[0][0]) + 1
    print(
        json.dumps(
            {"list_s": list_s, "read_s": read_s, "samples": seen, "paths": len(dataset), "path_bytes": path_bytes}
        )
    )


def run(name: str, root: Path, workers: int, samples: int) -> dict[str, Any]:
    """One process, its memory watched."""
    command = [sys.executable, "-W", "ignore", "-m", "bench.many_files", "--child", name, "--root", str(root)]
    command += [f"--workers={workers}", f"--samples={samples}"]
    memory, over = harness.Memory(), threading.Event()
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen(command, stdout=out)
        watcher = threading.Thread(target=harness.watch_memory, args=(child.pid, memory, out.fileno(), over))
        watcher.start()
        status = child.wait()
        over.set()
        watcher.join()
        if status:
            raise SystemExit(f"{name} ended with {status}")
        out.seek(0)
        figures: dict[str, Any] = json.load(out)
    return figures | {"peak_mib": memory.pss}


def table(found: dict[str, list[dict[str, Any]]]) -> str:
    """Medians of the rounds, a line a contender."""
    median = {
        name: {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}
        for name, rounds in found.items()
    }
    first = next(iter(found.values()))[0]
    lines = [
        f"{first['paths']:,} files, {first['workers']} workers, {first['samples']:,} samples read;"
        f" {TARGET}x less than torch is wanted",
        f"{'':38}{'list s':>8}{'read s':>8}{'peak MiB':>10}{'list MiB':>10}{'bytes/file':>12}{'torch / it':>12}",
    ]
    for name, one in median.items():
        ratio = f"{median['torch']['peak_mib'] / one['peak_mib']:.1f}x" if "torch" in median else ""
        lines.append(
            f"{CONTENDERS[name]:38}{one['list_s']:8.1f}{one['read_s']:8.0f}{one['peak_mib']:10.0f}"
            f"{one['list_mib']:10.0f}{one['bytes_per_file']:12.0f}{ratio:>12}"
        )
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Compare the memory of loaders over millions of files.")
    parser.add_argument("--files", type=int, default=5_000_000, help="paths (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=8, help="(default: %(default)s)")
    parser.add_argument("--samples", type=int, help="read by each (default: the whole epoch)")
    parser.add_argument("--rounds", type=int, default=1, help="processes of each contender (default: %(default)s)")
    parser.add_argument("--contenders", default=",".join(CONTENDERS), help="comma-separated (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=harness.RESULTS / "many_files.json")
    parser.add_argument("--child", choices=CONTENDERS, help=argparse.SUPPRESS)
    parser.add_argument("--root", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    samples = arguments.samples or arguments.files
    if arguments.child:
        contend(arguments.child, arguments.root, arguments.workers, samples)
        return
    names = harness.chosen(parser, arguments.contenders, CONTENDERS, "contender")
    about = {"date": harness.now(), "machine": harness.machine()}
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory(prefix="goloader-bench-") as scratch:
        few, many = Path(scratch, "few"), Path(scratch, "many")
        make_tree(few, arguments.files // CLASSES, 1)
        make_tree(many, arguments.files, CLASSES)
        for _ in range(arguments.rounds):
            for name in names:
                harness.say(f"{name} ...")
                base = run(name, few / "tree", arguments.workers, samples)
                figures = run(name, many / "tree", arguments.workers, samples) | {"workers": arguments.workers}
                list_mib = figures["peak_mib"] - base["peak_mib"]
                beside = list_mib * 2**20 / figures["paths"] - figures["path_bytes"]
                found[name].append(figures | {"list_mib": list_mib, "bytes_per_file": beside})
    print(table(found))
    arguments.output.write_text(json.dumps({"scenario": "many_files", **about, "contenders": found}, indent=2) + "\n")


if __name__ == "__main__":
    main()
