"""What the datasets without images in of_*.py read, and how each of them is loaded."""

from __future__ import annotations

import csv
import json
import wave
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

COUNT = 40
WORDS = ["the", "of", "and", "to", "in", "is", "it", "you", "that", "he", "was", "for", "on", "are", "with"]


@dataclass
class Sampled:
    """A dataset, how it is loaded, and who makes its batches: "Go", "samples" (Go makes these, and Python calls the
    collate_fn) or "Python"; `alone`: without workers, if not so.

    make  gives the dataset, or (dataset, further options of the loader)
    """

    make: Callable[[Path], Any]
    state: str = "Go"
    options: dict[str, Any] = field(default_factory=dict)
    alone: str = ""


def fill(root: Path) -> Path:
    """Small files of every kind that the datasets read."""
    rng = np.random.default_rng(7)
    for folder in ("mels", "wavs/yes", "wavs/no", "clouds", "labels", "volumes"):
        (root / folder).mkdir(parents=True)
    np.save(root / "x.npy", rng.standard_normal((COUNT, 6, 5)).astype(np.float32))
    np.save(root / "y.npy", rng.integers(0, 7, COUNT))
    np.savez(root / "both.npz", data=rng.integers(0, 256, (COUNT, 9), dtype=np.uint8), target=rng.integers(0, 3, COUNT))
    rng.integers(0, 50000, 4000).astype(np.uint16).tofile(root / "train.bin")
    rng.standard_normal((COUNT, 12)).astype(np.float32).tofile(root / "table.dat")
    torch.save((torch.rand(COUNT, 4), torch.arange(COUNT) % 3), root / "pair.pt")
    for number in range(COUNT):
        length = 12 + number * 5 % 17
        np.save(root / "mels" / f"utt{number:03d}.npy", rng.standard_normal((8, length)).astype(np.float32))
        np.save(root / "volumes" / f"{number}.npy", rng.standard_normal((3, 4, 5)).astype(np.float32))
        np.savetxt(root / "clouds" / f"{number}.txt", rng.standard_normal((30 + number % 4, 3)), fmt="%.6f")
        np.savetxt(root / "labels" / f"{number}.txt", rng.integers(0, 4, 30 + number % 4), fmt="%d")
        with wave.open(
            str(root / "wavs" / ("yes", "no")[number % 2] / f"spk{number % 5}_nohash_{number}.wav"), "wb"
        ) as f:
            f.setnchannels(1)
            f.setsampwidth(2)
            f.setframerate(16000)
            f.writeframes(rng.integers(-9999, 9999, 80 + number * 7 % 31).astype("<i2").tobytes())
    (root / "metadata.csv").write_text(
        "".join(f"utt{n:03d}|{' '.join(rng.choice(WORDS, 3 + n % 6))}|{n % 3}\n" for n in range(COUNT))
    )
    with (root / "churn.csv").open("w", newline="") as f:
        writer = csv.writer(f)
        writer.writerow(["age", "income", "city", "tenure", "label"])
        for n in range(COUNT):
            writer.writerow([20 + n, round(float(rng.random() * 9e4), 2), "abc"[n % 3], n % 11, n % 2])
    with (root / "etth.csv").open("w", newline="") as f:
        writer = csv.writer(f)
        writer.writerow(["date", "HUFL", "HULL", "OT"])
        for n in range(160):
            writer.writerow([f"2016-07-{1 + n // 24:02d} {n % 24:02d}:00:00", *np.round(rng.standard_normal(3), 4)])
    with (root / "reviews.csv").open("w", newline="") as f:
        writer = csv.writer(f)
        writer.writerow(["review", "sentiment"])
        for n in range(COUNT):
            writer.writerow(
                [" ".join(rng.choice(WORDS, 2 + n % 9)).capitalize() + ".", ("positive", "negative")[n % 2]]
            )
    with (root / "qa.jsonl").open("w") as f:
        for n in range(COUNT):
            ids = rng.integers(5, 99, 4 + n % 7).tolist()
            f.write(json.dumps({"input_ids": ids, "labels": n % 4, "text": f"question {n}"}) + "\n")
    return root
