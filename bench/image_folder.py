"""Training from a folder of JPEGs: RandomResizedCrop(224), flip, ToTensor, Normalize, batches of 64, shuffled.

    python -m bench.image_folder [--rounds N] [--peers goloader,torch_pil] [--count N]

What: how many images a second each loader turns from JPEG files (about 500x375, 100 KB, in the page cache) into float32
batches that are read once and dropped. No model: this is the ceiling that a loader sets for a training loop.

How: see bench/harness.py (processes, rounds, ratios) and bench/contender.py (what is timed, counted and checked). Each
process runs one cold epoch and then the timed warm ones; every epoch must deliver each sample exactly once.

How to read: 'ours / it' is goloader's img/s over the row's, the median over rounds. 'CPU s/1k' is what 1,000 images
take from the machine; a loader that is fast by burning more of it slows the training beside it. '1st batch s' counts
from iter() in a fresh process. 'peak MiB' is the whole process tree, what importing torch takes
included.
"""

from __future__ import annotations

import argparse
import dataclasses

from bench import harness, photos
from bench.contender import Job
from bench.peers import PEERS


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare loaders on a folder of photo-like JPEGs.")
    harness.add_arguments(parser)
    parser.add_argument("--count", type=int, default=photos.Settings.count, help="images (default: %(default)s)")
    parser.add_argument("--mean-bytes", type=int, default=photos.Settings.mean_bytes, help="mean file size aimed at")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    peers = harness.chosen(parser, arguments.peers, PEERS, "peer")

    settings = photos.Settings(arguments.count, arguments.mean_bytes, seed=arguments.seed)
    root = photos.ensure_photos(settings)
    scratch = photos.DATA / "converted" / root.name
    scratch.mkdir(parents=True, exist_ok=True)
    job = Job(
        str(root), str(scratch), workers=arguments.workers, seed=arguments.seed, warm_epochs=arguments.warm_epochs
    )
    about = {"images": dataclasses.asdict(settings) | photos.describe(root)}
    harness.report(harness.compare("image_folder", job, peers, arguments.rounds, about), arguments.output)


if __name__ == "__main__":
    main()
