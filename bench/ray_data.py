"""Ray Data: its own reading of images and torchvision, beside goloader.ray.Transform.

    python -m bench.ray_data [--count 1024] [--rounds 3]

What: a folder of JPEGs becomes tensors in blocks, RandomResizedCrop(224), flip, ToTensor, Normalize, and the program
takes batches of 64. "Ray Data" is read_images() and map() with the transform, as Ray's documentation has it; ours is
read_binary_files() and map_batches(), by tasks, and by actors, which keep what the core has allocated.

How: one Ray on this machine, each pipeline executed in turn, after a round that is not counted, in which processes
start and import torch. "img/s" are of the whole execution; "img / CPU s" are of the tasks that read and transform, by
Ray's own count of their CPU time, and say what a core of a cluster does. Ratios are taken inside a round, their median
is shown; TARGET times as many images a CPU second are wanted.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torchvision.transforms as T
from PIL import Image

from bench import harness
from bench.photos import Settings, ensure_photos
from goloader.ray import Transform

BATCH = 64
TARGET = 3
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}


def transform() -> Any:
    return T.Compose(
        [
            T.RandomResizedCrop(224),
            T.RandomHorizontalFlip(),
            T.ToTensor(),
            T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        ]
    )


class Row:
    """A row of read_images(), transformed."""

    def __init__(self) -> None:
        self.transform = transform()

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        return {"image": self.transform(Image.fromarray(row["image"])).numpy()}


def rays(root: str) -> Any:
    import ray

    return ray.data.read_images(root, mode="RGB", file_extensions=["jpg"]).map(Row())


def by_tasks(root: str) -> Any:
    import ray

    ours = Transform(transform())
    return ray.data.read_binary_files(root, file_extensions=["jpg"]).map_batches(
        ours, batch_size=BATCH, batch_format="pyarrow"
    )


def by_actors(root: str) -> Any:
    import ray

    return ray.data.read_binary_files(root, file_extensions=["jpg"]).map_batches(
        Transform,
        fn_constructor_args=(transform(),),
        batch_size=BATCH,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=1),
    )


CONTENDERS: dict[str, Callable[[str], Any]] = {
    "Ray Data, torchvision": rays,
    "goloader, tasks": by_tasks,
    "goloader, actors": by_actors,
}


def cpu_seconds(stats: str) -> float:
    """Of all operators of an execution, as Dataset.stats() tells them."""
    found = re.findall(r"Remote cpu time:.* ([\d.]+)(s|ms|us) total", stats)
    return sum(float(number) * UNITS[unit] for number, unit in found)


def execute(dataset: Any, count: int) -> dict[str, float]:
    start, seen = time.perf_counter(), 0
    for batch in dataset.iter_batches(batch_size=BATCH):
        if batch["image"].shape[1:] != (3, 224, 224) or batch["image"].dtype != "float32":
            raise ValueError(f"a batch is {batch['image'].dtype}{list(batch['image'].shape)}")
        seen += len(batch["image"])
    if seen != count:
        raise ValueError(f"{seen} images, not {count}")
    spent = time.perf_counter() - start
    return {"images_per_s": count / spent, "images_per_cpu_s": count / cpu_seconds(dataset.stats())}


def table(found: dict[str, list[dict[str, float]]]) -> str:
    """Medians of the rounds, a line a contender."""
    base, *_ = found
    lines = [f"{'':24}{'img/s':>9}{'img / CPU s':>13}{'x Ray Data':>12}"]
    for name, rounds in found.items():
        wall, cpu = (statistics.median(one[key] for one in rounds) for key in ("images_per_s", "images_per_cpu_s"))
        pairs = zip(rounds, found[base], strict=True)
        ratio = statistics.median(one["images_per_cpu_s"] / other["images_per_cpu_s"] for one, other in pairs)
        wanted = f" ({TARGET}x)" if name != base else ""
        lines.append(f"{name:24}{wall:9.0f}{cpu:13.0f}{ratio:11.2f}x{wanted}")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Compare Ray Data's way from files to tensors with ours.")
    parser.add_argument("--count", type=int, default=1024, help="images (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="(default: %(default)s)")
    parser.add_argument("--output", type=Path, default=harness.RESULTS / "ray_data.json")
    arguments = parser.parse_args(argv)
    import ray

    root = ensure_photos(Settings(count=arguments.count))
    harness.read_all(root)
    about = {"date": harness.now(), "machine": harness.machine(), "ray": ray.__version__, "count": arguments.count}
    ray.init(num_cpus=len(os.sched_getaffinity(0)), include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    found: dict[str, list[dict[str, float]]] = {name: [] for name in CONTENDERS}
    for turn in range(arguments.rounds + 1):
        for name in list(CONTENDERS)[:: 1 if turn % 2 else -1]:
            harness.say(f"{name} ...")
            figures = execute(CONTENDERS[name](str(root)), arguments.count)
            if turn:
                found[name].append(figures)
    ray.shutdown()
    print(table(found))
    arguments.output.write_text(json.dumps({"scenario": "ray_data", **about, "contenders": found}, indent=2) + "\n")


if __name__ == "__main__":
    main()
