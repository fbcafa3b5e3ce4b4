"""Does a GPU wait for its data? Images a second of a training loop on a GPU, with each loader.

    python -m bench.gpu [--rounds N] [--batch 256] [--model resnet50]

What: a network of torchvision's trains on photos with the train transform: channels_last, bfloat16 by autocast, SGD.
Copies to the GPU are of page-locked memory and non-blocking. "kept" trains on one batch that stays on the GPU: what the
GPU can do, more than which no loader gives. "waited" is the share of the epoch that was spent in next().

How: one process; torch's DataLoader and goloader's in turn, an epoch each, every second round backwards, after an epoch
of each that is not counted. Workers are kept between epochs. Images of an epoch over its seconds, from iter() until the
GPU is done with the last step. Ratios are taken inside a round, their median is shown. Needs CUDA.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
import torchvision
from torch.utils.data import ConcatDataset, DataLoader
from torchvision.datasets import ImageFolder

import goloader
from bench import harness
from bench.contender import Job
from bench.peers.folders import train_transform
from bench.photos import Settings, ensure_photos
from goloader import _native

Step = Callable[[Any], None]


def trainer(model: str) -> Step:
    """One step of training on a batch of (images, labels)."""
    torch.backends.cudnn.benchmark = True
    network = torchvision.models.get_model(model).cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)

    def step(batch: Any) -> None:
        images = batch[0].cuda(non_blocking=True).to(memory_format=torch.channels_last)
        labels = batch[1].cuda(non_blocking=True)
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(network(images), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    return step


def epoch(batches: Iterable[Any], step: Step) -> tuple[float, float]:
    """(images a second, share of the time that was spent waiting for batches)."""
    count, waited = 0, 0.0
    torch.cuda.synchronize()
    start = time.perf_counter()
    iterator = iter(batches)
    while True:
        asked = time.perf_counter()
        batch = next(iterator, None)
        waited += time.perf_counter() - asked
        if batch is None:
            break
        step(batch)
        count += len(batch[1])
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    return count / seconds, waited / seconds


def table(result: dict[str, Any]) -> str:
    lines = [
        f"{result['model']}, batches of {result['batch']}, on one {result['machine']['gpu']}; "
        f"{result['workers']} workers on {result['machine']['cores']} cores",
        "",
        f"{'':<29} {'images/s':>8} {'waited':>7} {'x torch':>8} {'of the GPU':>11}",
    ]
    titles = {"kept": "one batch kept on the GPU", "torch": "torch DataLoader", "goloader": "goloader"}
    for name, found in result["contenders"].items():
        lines.append(
            f"{titles[name]:<29} {found['images_per_s']:>8,.0f} {found['waited']:>7.0%} {found['x_torch']:>8.2f} "
            f"{found['of_kept']:>11.0%}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Time training on a GPU with torch's loader and with goloader's.")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each loader (default: 3)")
    parser.add_argument("--model", default="resnet50", help="of torchvision.models (default: resnet50)")
    parser.add_argument("--batch", type=int, default=256, help="images a step (default: 256)")
    parser.add_argument("--count", type=int, default=2048, help="photos that are made (default: 2048)")
    parser.add_argument("--repeat", type=int, default=4, help="how often an epoch has each photo (default: 4)")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="default: the cores")
    parser.add_argument("--output", type=Path, default=harness.RESULTS / "gpu.json")
    arguments = parser.parse_args()
    root = ensure_photos(Settings(count=arguments.count))
    harness.read_all(Path(root))
    dataset: Any = ConcatDataset([ImageFolder(str(root), train_transform(Job(str(root), "")))] * arguments.repeat)
    options: dict[str, Any] = {
        "batch_size": arguments.batch,
        "shuffle": True,
        "drop_last": True,
        "num_workers": arguments.workers,
        "pin_memory": True,
        "persistent_workers": True,
    }
    kept = [next(iter(goloader.DataLoader(dataset, arguments.batch, shuffle=True)))]
    kept = [[tensor.cuda() for tensor in kept[0]]] * (len(dataset) // arguments.batch)
    loaders: dict[str, Iterable[Any]] = {
        "kept": kept,
        "torch": DataLoader(dataset, **options),
        "goloader": goloader.DataLoader(dataset, **options),
    }
    step = trainer(arguments.model)
    speeds: dict[str, list[tuple[float, float]]] = {name: [] for name in loaders}
    for turn in range(-1, arguments.rounds):
        for name in list(loaders)[:: 1 if turn % 2 else -1]:
            speed = epoch(loaders[name], step)
            print(f"{name}: {speed[0]:,.0f} images/s, waited {speed[1]:.0%}", flush=True)
            if turn >= 0:
                speeds[name].append(speed)
    result: dict[str, Any] = {
        "date": harness.now(),
        "machine": harness.machine() | {"gpu": torch.cuda.get_device_name()},
        "torch": torch.__version__,
        "kernels": _native.library().gl_kernels().decode(),
        **{name: getattr(arguments, name) for name in ("model", "batch", "workers")},
        "contenders": {},
    }
    for name, of_one in speeds.items():
        to = {
            other: statistics.median(mine[0] / its[0] for mine, its in zip(of_one, speeds[other], strict=True))
            for other in ("torch", "kept")
        }
        rate, waited = (statistics.median(values) for values in zip(*of_one, strict=True))
        result["contenders"][name] = {
            "images_per_s": rate, "waited": waited, "x_torch": to["torch"], "of_kept": to["kept"]
        }  # fmt: skip
    print(table(result))
    arguments.output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
