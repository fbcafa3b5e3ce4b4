"""Trains one small network twice on a folder of photographs: with torch's DataLoader, then with goloader's.

    python -m demo.train                 # or: make demo

Same seed, same network, same machine; only the import of DataLoader differs. Every step's loss is compared, and the
largest difference must be exactly 0: the batches hold the same bits. The network is so small that loading is the
work, which is what the times are about. A chart of both goes to demo/out/demo.png.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import time
from pathlib import Path
from typing import Any, TypeAlias

import torch
from torch import nn
from torch.utils.data import DataLoader as TorchLoader
from torchvision import transforms as T
from torchvision.datasets import ImageFolder
from tqdm import tqdm

from bench.photos import PICTURES
from demo import chart
from demo.photos import ensure_folder

OUT = Path(__file__).parent / "out"
WIDTH = 96

LoaderClass: TypeAlias = Any  # torch's DataLoader or goloader's subclass of it


@dataclasses.dataclass
class Training:
    """What one training run did."""

    title: str
    losses: list[float]
    data_s: float  # the time spent waiting for batches
    total_s: float
    images: int
    explanation: str = ""

    @property
    def step_s(self) -> float:
        return self.total_s - self.data_s

    @property
    def images_per_s(self) -> float:
        return self.images / self.total_s


def photo_dataset(root: Path) -> ImageFolder:
    return ImageFolder(
        str(root),
        T.Compose(
            [
                T.RandomResizedCrop(224),
                T.RandomHorizontalFlip(),
                T.ToTensor(),
                T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
            ]
        ),
    )


def small_network(classes: int) -> nn.Module:
    """Two convolutions over a 28x28 summary of the image: about two milliseconds of training a batch."""
    return nn.Sequential(
        nn.AvgPool2d(8),
        nn.Conv2d(3, 24, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(24, 48, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.AvgPool2d(7),
        nn.Flatten(),
        nn.Linear(48, classes),
    )


def train(title: str, loader_class: LoaderClass, root: Path, arguments: argparse.Namespace) -> Training:
    """One training run from the seed on. Everything random happens after manual_seed."""
    torch.manual_seed(arguments.seed)
    dataset = photo_dataset(root)
    network = small_network(len(dataset.classes))
    optimizer = torch.optim.Adam(network.parameters(), lr=4e-3)
    loader = loader_class(
        dataset,
        batch_size=arguments.batch_size,
        shuffle=True,
        num_workers=arguments.workers,
        persistent_workers=arguments.workers > 0,
    )
    run = Training(title, [], 0.0, 0.0, len(dataset) * arguments.epochs)
    start = time.perf_counter()
    with tqdm(total=run.images, unit=" images", ncols=WIDTH, desc=f"  {title:<17}", disable=None) as bar:
        for epoch in range(1, arguments.epochs + 1):
            batches = iter(loader)
            while True:
                asked = time.perf_counter()
                batch = next(batches, None)
                run.data_s += time.perf_counter() - asked
                if batch is None:
                    break
                images, labels = batch
                loss = nn.functional.cross_entropy(network(images), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                run.losses.append(loss.item())
                bar.set_postfix_str(f"epoch {epoch}/{arguments.epochs}, loss {run.losses[-1]:.3f}", refresh=False)
                bar.update(len(labels))
    run.total_s = time.perf_counter() - start
    if hasattr(loader, "explain"):
        run.explanation = str(loader.explain())
    return run


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def print_losses(before: Training, after: Training, epochs: int) -> float:
    """Every step's loss, an epoch a paragraph; returns the largest difference."""
    steps = len(before.losses) // epochs
    for epoch in range(epochs):
        cells = []
        for step in range(epoch * steps, (epoch + 1) * steps):
            old, new = before.losses[step], after.losses[step]
            cells.append(f"{old:.6f} =" if old == new else f"{old:.6f} != {new:.6f}")
        for first in range(0, steps, 8):
            label = f"epoch {epoch + 1}" if first == 0 else ""
            print(f"  {label:<9}" + "  ".join(cells[first : first + 8]))
    return max(abs(old - new) for old, new in zip(before.losses, after.losses, strict=True))


def print_times(before: Training, after: Training) -> None:
    print(f"  {'':<22}{before.title:>18}{after.title:>12}")
    rows = [
        ("waiting for batches", before.data_s, after.data_s),
        ("training on them", before.step_s, after.step_s),
        ("both", before.total_s, after.total_s),
    ]
    for name, old, new in rows:
        ratio = f"   {old / new:.1f} times faster" if name != "training on them" else ""
        print(f"  {name:<22}{old:>16.2f} s{new:>10.2f} s{ratio}")
    print(f"  {'images a second':<22}{before.images_per_s:>18,.0f}{after.images_per_s:>12,.0f}")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Train a small network with torch's loader, then with goloader's.")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--each", type=int, default=80, help="images of each of the ten pictures (default: 80)")
    parser.add_argument("--batch-size", type=int, default=50)
    parser.add_argument("--workers", type=int, default=min(8, len(os.sched_getaffinity(0))))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=OUT, help="folder of the photos and the chart (default: demo/out)")
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    try:
        from goloader import DataLoader, LibraryError
    except ImportError as error:
        print(f"goloader is not installed here ({error}); `make build` does it.", file=sys.stderr)
        return 2
    # Without these torch's own sums may differ from run to run, and nothing could be said about the loaders.
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)

    progress = tqdm(PICTURES, desc=f"  {'cutting photos':<17}", unit=" pictures", ncols=WIDTH, disable=None, delay=0.5)
    root = ensure_folder(arguments.out, arguments.each, progress)
    progress.close()
    files = [file.read_bytes() for file in root.glob("*/*.jpg")]  # into the page cache: not a comparison of disks
    kilobytes = sum(map(len, files)) / len(files) / 1000
    print(f"{len(files)} photos in {len(PICTURES)} classes, {kilobytes:.0f} KB each: {root}")
    print(f"{arguments.epochs} epochs, batches of {arguments.batch_size}, {arguments.workers} workers")

    before = train("torch DataLoader", TorchLoader, root, arguments)
    try:
        after = train("goloader", DataLoader, root, arguments)
    except LibraryError as error:
        print(f"goloader is not built: {error}\n`make build` builds it.", file=sys.stderr)
        return 2

    heading("The loss of every step; = where both are the same float")
    difference = print_losses(before, after, arguments.epochs)
    print(f"\n  {len(before.losses)} steps compared; largest difference: {difference:g}")
    heading("Time")
    print_times(before, after)
    heading("loader.explain()")
    print(after.explanation)

    picture = arguments.out / "demo.png"
    chart.draw(before, after, picture)
    print(f"\nChart: {picture}")
    if before.losses != after.losses:
        print("The losses differ: that is a bug in goloader, please report it.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
