"""What does it cost that a loader counts and times what it does?

    python -m bench.measuring [--rounds N]

What: epochs of small rows (64 of 8 floats a batch: the worst case, since hardly anything else is done for a batch) and
of photos, as they are and with the counting in Python taken out (stats.Clock), in turn. What Go counts cannot be taken
out; `go test -bench Track ./tests_go/stats` times it alone, a sample at a time.

How: CPU seconds of the process, all threads, in pairs that change their order each round; the least of each kind, since
whatever else runs only adds to them. The share of a batch is (with - without) / with.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import TensorDataset

import goloader
from bench import harness
from bench.own_classes import folder
from goloader import profile, stats
from goloader.state.iterator import ResumableIterator
from goloader.state.order import Order


def _nothing(*_: Any) -> None:
    pass


def _next(iterator: Any) -> Any:
    """ResumableIterator.__next__ without what it measures."""
    try:
        batch = iterator._given()
        while iterator._losses is not None and iterator._losses.leaves_out(batch):
            batch = iterator._given()
    except StopIteration:
        iterator._finish()
        raise
    except BaseException as error:
        profile.note(error, iterator._doing())
        raise
    iterator._ledger.yielded += 1
    return batch


def _next_indices(order: Any) -> Any:
    """Order.__next__ without what it measures."""
    if order._begun is None:
        return order._first()
    return order._counted(order._held.pop() if order._held else next(order._iterator))


@contextmanager
def unmeasured() -> Iterator[None]:
    """In which loaders neither time nor count what they do in Python."""
    others: dict[tuple[type, str], Callable[..., Any]] = {
        (stats.Clock, name): _nothing for name in ("begin", "began", "over", "did", "end")
    }
    others |= {(ResumableIterator, "__next__"): _next, (Order, "__next__"): _next_indices}
    kept = {(kind, name): vars(kind)[name] for kind, name in others}
    for (kind, name), method in others.items():
        setattr(kind, name, method)
    try:
        yield
    finally:
        for (kind, name), method in kept.items():
            setattr(kind, name, method)


def cpu_s(epoch: Callable[[], None]) -> float:
    begun = time.process_time()
    epoch()
    return time.process_time() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare epochs with and without what a loader measures.")
    parser.add_argument("--rounds", type=int, default=21, help="pairs of epochs (default: 21)")
    parser.add_argument("--output", type=Path, default=harness.RESULTS / "measuring.json")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="goloader-bench-") as scratch:
        rows = goloader.DataLoader(TensorDataset(torch.rand(64 * 500, 8)), batch_size=64)
        photos = goloader.DataLoader(folder(Path(scratch)), batch_size=16, num_workers=2)
        result: dict[str, Any] = {"machine": harness.machine()}
        for name, loader in {"rows": rows, "photos": photos}.items():

            def epoch(loader: Any = loader) -> None:
                for _ in loader:
                    pass

            epoch()
            spent: dict[bool, list[float]] = {True: [], False: []}
            # A short epoch is more likely to have its core for itself.
            for turn in range(arguments.rounds * (8 if name == "rows" else 1)):
                for measured in (True, False) if turn % 2 else (False, True):
                    if measured:
                        spent[True].append(cpu_s(epoch))
                    else:
                        with unmeasured():
                            spent[False].append(cpu_s(epoch))
            batch_us = min(spent[True]) / len(loader) * 1e6
            share = 1 - min(spent[False]) / min(spent[True])
            print(f"{name:<7} {batch_us:>8,.1f} us a batch, of which measuring {share:.2%}")
            result[name] = {"batch_us": batch_us, "share": share}
    arguments.output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
