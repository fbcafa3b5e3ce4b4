"""Ranks of one machine: images a second and memory with 1, 2, 4 and 8 of them, ours and torch's loaders.

    python -m bench.ranks [--count 2048] [--ranks 1,2,4,8] [--rounds 3]

What: torchrun starts so many processes on this machine's cores, each with a loader over its share of one image folder
(DistributedSampler): RandomResizedCrop(224), flip, ToTensor, Normalize, batches of 64. All ranks have as many workers
together as there are cores, at least one each.

How: each contender is a torchrun of its own, in turn, every second round backwards. After an epoch that is not
counted, whose batches are checksummed (ours must be torch's in each rank), all ranks start together on EPOCHS more:
ours on so many more that both take about as long, for the kernel is the fairer the longer it shares out. "img/s" are
of all ranks, until the last is done; "CPU s/1k" are of the ranks' processes and their workers, for 1,000 images.
Memory is the peak of the sum of PSS over all of them, torchrun's included. "least" is the slowest rank's images a
second over the mean of the ranks; FAIR or more is wanted. "cpu_s" in the results tells what is behind it: where ranks
need the same CPU seconds, they do the same work, and the slowest one was given a core less often, by the kernel or for
other programs. "/ plan" is img/s over what the model of `python -m goloader plan` says of this machine's cores, from
the CPU seconds with the least ranks. Ratios are taken inside a round, their median is shown.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import harness
from bench.photos import Settings, ensure_photos
from goloader.cli import sizing

BATCH = 64
EPOCHS = {"goloader": 45, "torch": 3}
FAIR = 0.9


def cpu_seconds() -> float:
    """Of this process and of those below it that are alive."""
    ticks = 0
    for pid in harness.process_tree(os.getpid()):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])  # utime and stime of proc(5)
    return ticks / os.sysconf("SC_CLK_TCK")


def contend(name: str, root: str, folder: str) -> None:
    """One rank: writes its figures into a file of the folder."""
    import torch
    import torchvision.transforms as T
    from torch import distributed
    from torch.utils.data import DataLoader, DistributedSampler
    from torchvision.datasets import ImageFolder

    if name == "goloader":
        from goloader import DataLoader
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    torch.manual_seed(rank)
    normalize = T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    chain = T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor(), normalize])
    dataset = ImageFolder(root, chain)
    sampler: Any = DistributedSampler(dataset)
    workers = max(1, len(os.sched_getaffinity(0)) // ranks)
    loader: Any = DataLoader(dataset, BATCH, sampler=sampler, num_workers=workers, persistent_workers=True)
    checksum = 0
    for images, labels in loader:
        checksum = zlib.crc32(labels.numpy(), zlib.crc32(images.numpy(), checksum))
    distributed.barrier()
    Path(folder, "timed").write_text("all ranks are ready")
    start, before = time.perf_counter(), cpu_seconds()
    seen = 0
    for epoch in range(1, EPOCHS[name] + 1):
        sampler.set_epoch(epoch)
        for images, _ in loader:
            images.flatten()[::16].sum()  # a number of each cache line
            seen += len(images)
    spent = time.perf_counter() - start
    figures = {"images": seen, "seconds": spent, "cpu_s": cpu_seconds() - before, "checksum": checksum}
    Path(folder, f"{rank}.json").write_text(json.dumps(figures))
    distributed.barrier()
    distributed.destroy_process_group()


def run(name: str, root: Path, ranks: int) -> dict[str, Any]:
    """One torchrun, its memory watched."""
    with tempfile.TemporaryDirectory(prefix="goloader-bench-") as folder:
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
        command += ["-m", "bench.ranks", "--child", name, "--root", str(root), "--folder", folder]
        memory, over = harness.Memory(), threading.Event()
        with open(Path(folder, "timed"), "w+") as timed:
            child = subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"})
            watcher = threading.Thread(target=harness.watch_memory, args=(child.pid, memory, timed.fileno(), over))
            watcher.start()
            status = child.wait()
            over.set()
            watcher.join()
        if status:
            raise SystemExit(f"{name} with {ranks} ranks ended with {status}")
        each = [json.loads(Path(folder, f"{rank}.json").read_text()) for rank in range(ranks)]
    images = sum(one["images"] for one in each)
    rates = [one["images"] / one["seconds"] for one in each]
    return {
        "images_per_s": images / max(one["seconds"] for one in each),
        "cpu_s_per_1k": 1000 * sum(one["cpu_s"] for one in each) / images,
        "cpu_s": [one["cpu_s"] for one in each],
        "least": min(rates) / statistics.mean(rates),
        "peak_mib": memory.pss,
        "checksums": [one["checksum"] for one in each],
    }


def planned(ranks: int, decode: float, cores: int) -> float:
    """The images a second of all ranks that the model of `python -m goloader plan` expects."""
    job = sizing.Job(
        nodes=1, gpus=ranks, rate=1e6, images=10**6, image_bytes=1e5, batch=BATCH, ahead=2, cores=cores, decode=decode,
        store=sizing.Store(1e-6, 2e-6, 1e12),
    )  # fmt: skip
    return job.images / sizing.needs(job).seconds


def table(found: dict[str, dict[str, list[dict[str, Any]]]], cores: int) -> str:
    """Medians of the rounds, a line a contender of each number of ranks, on so many cores."""
    lines = [
        f"{'':16}{'img/s':>8}{'CPU s/1k':>10}{'peak MiB':>10}{f'least ({FAIR})':>13}{'img/s, x torch':>16}"
        f"{'memory / torch':>16}{'/ plan':>8}"
    ]
    alone = {
        name: statistics.median(one["cpu_s_per_1k"] for one in rounds)
        for name, rounds in next(iter(found.values())).items()
    }
    for ranks, contenders in found.items():
        for name, rounds in contenders.items():
            wall, cpu, memory, least = (
                statistics.median(one[key] for one in rounds)
                for key in ("images_per_s", "cpu_s_per_1k", "peak_mib", "least")
            )
            faster, smaller = (
                statistics.median(one[key] / other[key] for one, other in zip(rounds, contenders["torch"], strict=True))
                for key in ("images_per_s", "peak_mib")
            )
            title = f"{ranks} x {name}"
            lines.append(
                f"{title:16}{wall:8.0f}{cpu:10.2f}{memory:10.0f}{least:13.2f}{faster:15.2f}x{smaller:16.2f}"
                f"{wall / planned(int(ranks), 1000 / alone[name], cores):8.2f}"
            )
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Compare loaders in several ranks of one machine.")
    parser.add_argument("--count", type=int, default=2048, help="images (default: %(default)s)")
    parser.add_argument("--ranks", default="1,2,4,8", help="comma-separated (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="(default: %(default)s)")
    parser.add_argument("--output", type=Path, default=harness.RESULTS / "ranks.json")
    parser.add_argument("--child", choices=EPOCHS, help=argparse.SUPPRESS)
    parser.add_argument("--root", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.child:
        contend(arguments.child, arguments.root, arguments.folder)
        return
    root = ensure_photos(Settings(count=arguments.count))
    harness.read_all(root)
    about = {"date": harness.now(), "machine": harness.machine(), "count": arguments.count}
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for ranks in arguments.ranks.split(","):
        found[ranks] = {name: [] for name in EPOCHS}
        for turn in range(arguments.rounds):
            for name in list(EPOCHS)[:: 1 if turn % 2 == 0 else -1]:
                harness.say(f"{ranks} x {name} ...")
                found[ranks][name].append(run(name, root, int(ranks)))
        if len({json.dumps(one["checksums"]) for rounds in found[ranks].values() for one in rounds}) > 1:
            raise SystemExit(f"batches differ with {ranks} ranks")
    print(table(found, about["machine"]["cores"]))
    arguments.output.write_text(json.dumps({"scenario": "ranks", **about, "ranks": found}, indent=2) + "\n")


if __name__ == "__main__":
    main()
