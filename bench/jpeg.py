"""Where the time of a JPEG goes: our decoder stage by stage, beside libjpeg-turbo and simplejpeg. One core.

    python -m bench.jpeg [--rounds N] [--photos N] [--large N]

What: microseconds of CPU an image, for the bench's photos (500x375, 95 KB) and for 12-megapixel ones. Our rows end in
a finished training sample: a window like those of RandomResizedCrop, decoded, resized to 224x224, normalised, float32,
in a slot. 'one lane' gives a worker one image at a time, 'two lanes' sixteen, which it decodes by turns, two in one
loop; 'index' is a visit to files of which a seek index is kept. libjpeg-turbo makes the same samples (region decode,
then our resize), and also whole images, as simplejpeg does: bare decoding to RGB in memory, nothing else.

How: bench/jpeg_stages.c is compiled with the core's own C sources and run once a round, pinned to one core, then
simplejpeg over the same files; every file is in memory. All figures are medians over rounds of CPU seconds of the
thread, so that other load matters less; ratios are taken inside a round. A stage is what decoding takes with it, less
what it takes without; 'sample' is the product's own worker: they add up nearly.

How to read: 'simplejpeg / it' is how many times simplejpeg's bare decode of a whole image the row's sample fits into.
The target is 2.2.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import io
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import simplejpeg
from PIL import Image

from bench import photos
from bench.harness import RESULTS, machine, say
from bench.peers import ROOT

Figures: TypeAlias = dict[str, Any]

LARGE_SIZE = (4000, 3000)
LARGE_QUALITY = 90
STAGES = ("parse", "unstuff", "entropy", "idct", "colour", "resample", "store", "sample", "decode")
SIMPLEJPEG = "simplejpeg, whole"


def large_photo(number: int) -> bytes:
    """A photo of 12 megapixels, 4:2:0, a function of its number alone."""
    rng = np.random.default_rng((12, number))
    picture = photos.load_picture(photos.SCENES[number % len(photos.SCENES)])
    pixels = photos.jittered(photos.random_crop(picture, LARGE_SIZE, rng), rng)
    grained = pixels + 5 * photos.random_grain(pixels.shape[:2], rng)
    out = io.BytesIO()
    Image.fromarray(np.clip(grained, 0, 255).astype(np.uint8)).save(out, "JPEG", quality=LARGE_QUALITY)
    return out.getvalue()


def ensure_large(count: int) -> Path:
    def fill(draft: Path) -> None:
        for number in range(count):
            (draft / f"{number:03d}.jpg").write_bytes(large_photo(number))

    return photos.made_whole(photos.DATA / f"large-{count}-{photos.RECIPE}", fill)


def build(folder: Path) -> Path:
    """Compiles jpeg_stages.c with the core's sources, as Go compiles them. Raises CalledProcessError."""
    program = folder / "jpeg_stages"
    sources = [ROOT / "bench" / "jpeg_stages.c"]
    for part in ("decode/jpeg", "op"):
        sources += sorted((ROOT / "core" / part).glob("*.c"))
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-std=gnu11", "-O3", *map(str, sources), "-ljpeg", "-lm", "-o", str(program)], check=True)
    return program


def time_simplejpeg(files: Sequence[bytes]) -> float:
    """Microseconds of CPU an image."""
    start = time.process_time()
    for data in files:
        simplejpeg.decode_jpeg(data)
    return (time.process_time() - start) / len(files) * 1e6


def one_round(program: Path, paths: Sequence[Path], files: Sequence[bytes], backwards: bool) -> Figures:
    """Figures by variant and stage. simplejpeg comes first in every second round."""
    figures: Figures = {}

    def ours() -> None:
        run = subprocess.run([str(program), *map(str, paths)], capture_output=True, text=True, check=True)
        figures.update(json.loads(run.stdout))

    def theirs() -> None:
        figures[SIMPLEJPEG] = {"decode": time_simplejpeg(files)}

    steps: list[Callable[[], None]] = [ours, theirs]
    for step in reversed(steps) if backwards else steps:
        step()
    behind = {stage: figures.pop(stage) for stage in ("resample", "store")}
    for variant in figures.values():
        if isinstance(variant, dict) and "entropy" in variant:
            variant |= behind
    return figures


def measure(program: Path, paths: Sequence[Path], rounds: int) -> Figures:
    files = [path.read_bytes() for path in paths]
    taken = []
    for number in range(rounds):
        taken.append(one_round(program, paths, files, backwards=number % 2 == 1))
        say(f"round {number + 1}/{rounds}  {len(paths)} files")
    variants: Figures = {}
    for name, first in taken[0].items():
        if not isinstance(first, dict):
            continue
        entry = {stage: round(statistics.median(figures[name][stage] for figures in taken), 1) for stage in first}
        whole = [figures[name].get("sample", figures[name].get("decode")) for figures in taken]
        ratios = [figures[SIMPLEJPEG]["decode"] / us for figures, us in zip(taken, whole, strict=True)]
        variants[name] = {"us": entry, "simplejpeg_over_it": round(statistics.median(ratios), 3), "rounds_us": whole}
    return {
        "images": len(paths),
        "mean_kb": round(sum(map(len, files)) / len(files) / 1000, 1),
        "kernels": taken[0]["kernels"],
        "variants": variants,
    }


def table(title: str, result: Figures) -> str:
    shown = [stage for stage in STAGES if any(stage in entry["us"] for entry in result["variants"].values())]
    rows = [["", *shown, "simplejpeg / it"]]
    for name, entry in result["variants"].items():
        cells = [f"{entry['us'][stage]:.0f}" if stage in entry["us"] else "" for stage in shown]
        rows.append([name, *cells, f"{entry['simplejpeg_over_it']:.2f}x"])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    lines.insert(1, "-" * len(lines[0]))
    about = f"{title}: {result['images']} files, {result['mean_kb']:.0f} KB each, us an image, {result['kernels']}"
    return "\n".join([about, "", *lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description="Time our JPEG decoder stage by stage, beside others.")
    parser.add_argument("--rounds", type=int, default=5, help="default: %(default)s")
    parser.add_argument("--photos", type=int, default=512, help="of the bench's 2048 (default: %(default)s)")
    parser.add_argument("--large", type=int, default=8, help="12-megapixel photos (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=RESULTS / "jpeg.json", help="default: bench/results/jpeg.json")
    arguments = parser.parse_args()

    # Neighbours in the folder differ in everything but their class: a stride takes some of each.
    everything = sorted(photos.ensure_photos(photos.Settings()).glob("*/*.jpg"))
    sets = {
        "photos": everything[:: max(1, len(everything) // arguments.photos)][: arguments.photos],
        "12 megapixels": sorted(ensure_large(arguments.large).glob("*.jpg")),
    }
    about = machine()
    os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        results = {title: measure(program, paths, arguments.rounds) for title, paths in sets.items()}
    kept = {
        "scenario": "jpeg",
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": shlex.join(["python", "-m", "bench.jpeg", *sys.argv[1:]]),
        "machine": about,
        "versions": {name: importlib.metadata.version(name) for name in ("simplejpeg", "pillow", "numpy")},
        "rounds": arguments.rounds,
        "sets": results,
    }
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(kept, indent=2) + "\n")
    for title, result in results.items():
        print(table(title, result))
    print(f"kept in {arguments.output}")


if __name__ == "__main__":
    main()
