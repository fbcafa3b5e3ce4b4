"""python -m goloader bench: torch's loader and ours in turn, over a loader or dataset of the user's."""

from __future__ import annotations

import argparse
import hashlib
import itertools
import random
import statistics
import time
from typing import Any

from .. import _table
from . import objects, turns

_LOADERS = ("torch", "goloader")
_EPOCHS = 2


def add(commands: Any) -> None:
    parser = commands.add(
        "bench",
        _bench,
        help="time your loader with torch and with goloader, in turn",
        description=(
            "Makes batches with torch's DataLoader and with goloader's, each time in a new process and from the same "
            "seeds. Says whether the batches are the same bit for bit, and how long a program would wait for "
            f"{_EPOCHS} epochs of them. Exits with code 1 if they differ."
        ),
    )
    objects.takes_one(parser)
    parser.add_argument("--batches", type=int, default=200, metavar="N", help="most batches of an epoch (200)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="runs of each loader (3)")


def _bench(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> int:
    if parsed.batches < 1 or parsed.rounds < 1:
        parser.error("--batches and --rounds are at least 1")

    def apart(loader: str, compared: bool) -> dict[str, Any]:
        off = {"GOLOADER": "off"} if loader == "torch" else None
        return turns.apart(lambda: _turn(parser, parsed, loader, compared), "bench", f"{loader}'s loader", off)

    theirs, ours = (apart(loader, compared=True) for loader in _LOADERS)
    if theirs["digests"] != ours["digests"] and apart("torch", compared=True)["digests"] == theirs["digests"]:
        print(f"{parsed.target}: the batches differ from torch's. Please report this, with what follows.")
        print(ours["explained"])
        return 1
    timed: dict[str, list[dict[str, Any]]] = {loader: [] for loader in _LOADERS}
    for number in range(parsed.rounds):
        for loader in _LOADERS[:: -1 if number % 2 else 1]:
            timed[loader].append(apart(loader, compared=False))
    same = theirs["digests"] == ours["digests"]
    print(f"{parsed.target}: {ours['batches']} batches an epoch, num_workers={ours['num_workers']}")
    if same:
        print("batches: torch's, bit for bit, and so are the random generators after each epoch")
    else:
        print("batches: not compared: with torch's own loader they differ from one run to another")
    print(_table.text(_rows(timed), right=range(4)))
    print("", ours["explained"], sep="\n")
    return 0


def _rows(timed: dict[str, list[dict[str, Any]]]) -> list[tuple[str, ...]]:
    """Seconds and ratios, medians over the rounds; a ratio is of two turns of one round."""
    rows: list[tuple[str, ...]] = [("", "torch s", "goloader s", "ratio")]
    for name, key, epoch in (
        *((f"epoch {epoch}", "seconds", epoch) for epoch in range(_EPOCHS)),
        ("CPU, all", "cpu_s", None),
    ):
        theirs, ours = (
            [each[key] if epoch is None else each[key][epoch] for each in timed[loader]] for loader in _LOADERS
        )
        ratio = statistics.median(one / max(other, 1e-9) for one, other in zip(theirs, ours, strict=True))
        rows.append((name, *(f"{statistics.median(each):.3f}" for each in (theirs, ours)), f"{ratio:.2f}x"))
    return rows


def _turn(parser: argparse.ArgumentParser, parsed: argparse.Namespace, loader: str, compared: bool) -> dict[str, Any]:
    import numpy as np
    import torch

    from .._measure import add, cpu_s

    made = turns.seeded(parser, parsed.target)
    seconds, digests, batches, begun = [], [], 0, cpu_s()
    for _ in range(_EPOCHS):
        seen, batches, start = hashlib.sha256(), 0, time.perf_counter()
        for batch in itertools.islice(made, parsed.batches):
            batches += 1
            if compared:
                add(seen, batch)
        seconds.append(time.perf_counter() - start)
        if compared:
            add(seen, [random.getstate(), np.random.get_state(), torch.get_rng_state()])
            digests.append(seen.hexdigest())
    found = {"seconds": seconds, "digests": digests, "batches": batches, "num_workers": made.num_workers}
    if loader == "goloader":
        found["explained"] = str(made.explain())
    del made  # and workers that persist
    return found | {"cpu_s": cpu_s() - begun}
